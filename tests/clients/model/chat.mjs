// OpenAI Chat Completions, as far as agent frameworks use it.
export const api = "openai-chat";
export const path = /\/chat\/completions$/;

export const isStream = (body) => body.stream === true;

export const toolsOf = ({ tools = [] }) =>
    tools
        .filter(({ type }) => type === "function")
        .map(({ function: { name, parameters, strict } }) => ({
            name,
            schema: parameters ?? { type: "object" },
            strict,
        }));

const textOf = (content) => (Array.isArray(content) ? content.map(({ text }) => text ?? "").join("") : (content ?? ""));

export const resultsOf = ({ messages = [] }) =>
    messages.filter(({ role }) => role === "tool").map(({ content }) => textOf(content));

export const rejection = ({ text }, index) => ({
    error: {
        message: index < 0 ? `Invalid 'tools': ${text}` : `Invalid 'tools[${index}].function': ${text}`,
        type: "invalid_request_error",
        param: index < 0 ? "tools" : `tools[${index}].function`,
        code: "invalid_value",
    },
});

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

function messageOf({ id, name, input, text }) {
    if (name === undefined) {
        return { role: "assistant", content: text, refusal: null };
    }
    const call = { id, type: "function", function: { name, arguments: JSON.stringify(input) } };
    return { role: "assistant", content: null, refusal: null, tool_calls: [call] };
}

const reasonOf = ({ name }) => (name === undefined ? "stop" : "tool_calls");
const frame = (body, { id }, kind) => ({
    id: `chatcmpl-${id}`,
    object: kind,
    created: Math.floor(Date.now() / 1000),
    model: body.model ?? "fake",
});

export const reply = (body, action) => ({
    ...frame(body, action, "chat.completion"),
    choices: [{ index: 0, message: messageOf(action), logprobs: null, finish_reason: reasonOf(action) }],
    usage,
});

export function* stream(body, action) {
    const chunk = (delta, finish_reason = null) => ({
        ...frame(body, action, "chat.completion.chunk"),
        choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    });
    const { tool_calls, ...message } = messageOf(action);
    const indexed = tool_calls?.map((call, index) => ({ index, ...call }));
    yield { data: chunk(indexed ? { ...message, tool_calls: indexed } : message) };
    yield { data: chunk({}, reasonOf(action)) };
    if (body.stream_options?.include_usage) {
        yield { data: { ...frame(body, action, "chat.completion.chunk"), choices: [], usage } };
    }
    yield { data: "[DONE]" };
}
