// OpenAI Responses, as far as agent frameworks use it.
export const api = "openai-responses";
export const path = /\/responses$/;

export const isStream = (body) => body.stream === true;

// Codex groups the tools of a server in a namespace; a call names both.
const flat = (tools, namespace) =>
    tools.flatMap((tool) => {
        if (tool.type === "namespace") {
            return flat(tool.tools ?? [], tool.name);
        }
        const { type, name, parameters, strict } = tool;
        return type === "function" ? [{ name, namespace, schema: parameters ?? { type: "object" }, strict }] : [];
    });

export const toolsOf = ({ tools = [] }) => flat(tools);

const textOf = (output) => (Array.isArray(output) ? output.map(({ text }) => text ?? "").join("") : String(output));

export const resultsOf = ({ input = [] }) =>
    (Array.isArray(input) ? input : [])
        .filter(({ type }) => type === "function_call_output")
        .map(({ output }) => textOf(output));

export const rejection = ({ text }, index) => ({
    error: {
        message: index < 0 ? `Invalid 'tools': ${text}` : `Invalid 'tools[${index}]': ${text}`,
        type: "invalid_request_error",
        param: index < 0 ? "tools" : `tools[${index}]`,
        code: "invalid_value",
    },
});

function itemOf({ id, name, namespace, input, text }) {
    if (name === undefined) {
        const part = { type: "output_text", text, annotations: [], logprobs: [] };
        return { id: `msg_${id}`, type: "message", status: "completed", role: "assistant", content: [part] };
    }
    const call = { id: `fc_${id}`, type: "function_call", status: "completed", call_id: id, name };
    return { ...call, ...(namespace && { namespace }), arguments: JSON.stringify(input) };
}

const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 15,
};

const frame = (body, id, status, output) => ({
    id: `resp_${id}`,
    object: "response",
    created_at: Math.floor(Date.now() / 1000),
    status,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    model: body.model ?? "fake",
    output,
    parallel_tool_calls: true,
    tool_choice: "auto",
    tools: body.tools ?? [],
    temperature: 1,
    top_p: 1,
    usage: status === "completed" ? usage : null,
});

export const reply = (body, action) => frame(body, action.id, "completed", [itemOf(action)]);

function* partsOf(item) {
    const at = { item_id: item.id, output_index: 0 };
    if (item.type === "function_call") {
        yield { type: "response.function_call_arguments.delta", ...at, delta: item.arguments };
        yield { type: "response.function_call_arguments.done", ...at, name: item.name, arguments: item.arguments };
        return;
    }
    const [part] = item.content;
    const inside = { ...at, content_index: 0 };
    yield { type: "response.content_part.added", ...inside, part: { ...part, text: "" } };
    yield { type: "response.output_text.delta", ...inside, delta: part.text, logprobs: [] };
    yield { type: "response.output_text.done", ...inside, text: part.text, logprobs: [] };
    yield { type: "response.content_part.done", ...inside, part };
}

function* eventsOf(body, action) {
    const item = itemOf(action);
    const empty = item.type === "message" ? { content: [] } : { arguments: "" };
    yield { type: "response.created", response: frame(body, action.id, "in_progress", []) };
    yield { type: "response.in_progress", response: frame(body, action.id, "in_progress", []) };
    yield { type: "response.output_item.added", output_index: 0, item: { ...item, ...empty, status: "in_progress" } };
    yield* partsOf(item);
    yield { type: "response.output_item.done", output_index: 0, item };
    yield { type: "response.completed", response: reply(body, action) };
}

export function* stream(body, action) {
    let sequence_number = 0;
    for (const event of eventsOf(body, action)) {
        yield { event: event.type, data: { ...event, sequence_number: sequence_number++ } };
    }
}
