// Anthropic Messages, as far as agent frameworks use it.
export const api = "anthropic";
export const path = /\/messages$/;

export const isStream = (body) => body.stream === true;

// Tools with another type run at the provider and have no schema.
export const toolsOf = ({ tools = [] }) =>
    tools
        .filter(({ type }) => type === undefined || type === null || type === "custom")
        .map(({ name, input_schema }) => ({ name, schema: input_schema }));

const textOf = (content) => (Array.isArray(content) ? content.map(({ text }) => text ?? "").join("") : (content ?? ""));

export const resultsOf = ({ messages = [] }) =>
    messages
        .flatMap(({ content }) => (Array.isArray(content) ? content : []))
        .filter(({ type }) => type === "tool_result")
        .map(({ content }) => textOf(content));

export const rejection = ({ text }, index) => ({
    type: "error",
    error: {
        type: "invalid_request_error",
        message: index < 0 ? `tools: ${text}` : `tools.${index}.custom: ${text}`,
    },
});

const frame = (body, { id }, content, stop_reason) => ({
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model: body.model ?? "fake",
    content,
    stop_reason,
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
});

const blockOf = ({ id, name, input, text }) =>
    name === undefined ? { type: "text", text } : { type: "tool_use", id, name, input };
const reasonOf = ({ name }) => (name === undefined ? "end_turn" : "tool_use");

export const reply = (body, action) => frame(body, action, [blockOf(action)], reasonOf(action));

export function* stream(body, action) {
    const block = blockOf(action);
    const isText = block.type === "text";
    const delta = isText
        ? { type: "text_delta", text: block.text }
        : { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
    const events = [
        { type: "message_start", message: frame(body, action, [], null) },
        {
            type: "content_block_start",
            index: 0,
            content_block: { ...block, ...(isText ? { text: "" } : { input: {} }) },
        },
        { type: "content_block_delta", index: 0, delta },
        { type: "content_block_stop", index: 0 },
        {
            type: "message_delta",
            delta: { stop_reason: reasonOf(action), stop_sequence: null },
            usage: { input_tokens: 10, output_tokens: 5 },
        },
        { type: "message_stop" },
    ];
    yield* events.map((data) => ({ event: data.type, data }));
}
