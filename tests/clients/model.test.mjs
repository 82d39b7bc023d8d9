// The test model: in each wire format it follows its script, streams, and rejects what the real APIs reject.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { script, startModel } from "./model.mjs";

const schema = { type: "object", properties: { nid: { type: "integer" } }, required: ["nid"] };
const target = "examples__article__toMarkdown";

// Each wire format: how a client writes requests and reads responses. `turns` are texts of results so far.
const formats = {
    "openai-chat": {
        path: "/v1/chat/completions",
        body: (name, turns) => ({
            model: "m",
            tools: [{ type: "function", function: { name, parameters: schema } }],
            messages: [
                { role: "user", content: "go" },
                ...turns.map((content) => ({ role: "tool", tool_call_id: "call_1", content })),
            ],
        }),
        call: ({ choices: [{ message, finish_reason }] }) =>
            finish_reason === "tool_calls" && {
                name: message.tool_calls[0].function.name,
                input: JSON.parse(message.tool_calls[0].function.arguments),
            },
        text: ({ choices: [{ message }] }) => message.content,
        streamed: (events) => events[0].choices[0].delta.tool_calls[0].function.name,
        message: ({ error }) => error.message,
    },
    "openai-responses": {
        path: "/v1/responses",
        body: (name, turns) => ({
            model: "m",
            tools: [{ type: "function", name, parameters: schema }],
            input: [
                { role: "user", content: "go" },
                ...turns.map((output) => ({ type: "function_call_output", call_id: "call_1", output })),
            ],
        }),
        call: ({ output: [item] }) =>
            item.type === "function_call" && { name: item.name, input: JSON.parse(item.arguments) },
        text: ({ output: [item] }) => item.content[0].text,
        streamed: (events) => events.find(({ type }) => type === "response.output_item.done").item.name,
        message: ({ error }) => error.message,
    },
    anthropic: {
        path: "/v1/messages",
        body: (name, turns) => ({
            model: "m",
            max_tokens: 100,
            tools: [{ name, input_schema: schema }],
            messages: [
                { role: "user", content: "go" },
                ...turns.map((content) => ({
                    role: "user",
                    content: [
                        { type: "tool_result", tool_use_id: "call_1", content: [{ type: "text", text: content }] },
                    ],
                })),
            ],
        }),
        call: ({ content: [block] }) => block.type === "tool_use" && { name: block.name, input: block.input },
        text: ({ content: [block] }) => block.text,
        streamed: (events) => events.find(({ type }) => type === "content_block_start").content_block.name,
        message: ({ error }) => error.message,
    },
    gemini: {
        path: "/v1beta/models/fake:generateContent",
        streamPath: "/v1beta/models/fake:streamGenerateContent?alt=sse",
        body: (name, turns) => ({
            tools: [{ functionDeclarations: [{ name, parametersJsonSchema: schema }] }],
            contents: [
                { role: "user", parts: [{ text: "go" }] },
                ...turns.map((output) => ({
                    role: "user",
                    parts: [{ functionResponse: { name, response: { output } } }],
                })),
            ],
        }),
        call: ({ candidates: [{ content }] }) =>
            content.parts[0].functionCall && {
                name: content.parts[0].functionCall.name,
                input: content.parts[0].functionCall.args,
            },
        text: ({ candidates: [{ content }] }) => content.parts[0].text,
        streamed: (events) => events[0].candidates[0].content.parts[0].functionCall.name,
        message: ({ error }) => error.message,
    },
};

// Each suite has a model of its own: a model counts its calls.
let model;
const useModel = () => {
    before(async () => (model = await startModel()));
    after(() => model.close());
};
const post = (path, body) => fetch(`${model.url}${path}`, { method: "POST", body: JSON.stringify(body) });

for (const [api, format] of Object.entries(formats)) {
    suite(api, () => {
        useModel();
        const ask = async (turns) => (await post(format.path, format.body(target, turns))).json();

        test("calls the tool twice, then answers with text", async () => {
            assert.deepEqual(format.call(await ask([])), { name: target, input: script.inputs[0] });
            assert.deepEqual(format.call(await ask(["# Title"])), { name: target, input: script.inputs[1] });
            assert.equal(format.text(await ask(["# Title", "Node not found"])), script.answer);
            assert.ok(model.record.seen.includes("Node not found"));
        });

        test("streams a call as events", async () => {
            const path = format.streamPath ?? format.path;
            const response = await post(path, { ...format.body(target, ["one result"]), stream: true });
            assert.equal(response.headers.get("content-type"), "text/event-stream");
            const lines = (await response.text()).split("\n").filter((line) => /^data: \{/.test(line));
            assert.equal(format.streamed(lines.map((line) => JSON.parse(line.slice(6)))), target);
        });

        test("gives each response an id of its own", async () => {
            const ids = [await ask(["a", "b"]), await ask(["a", "b"])].map(({ id, responseId }) => id ?? responseId);
            assert.notEqual(ids[0], ids[1]);
        });

        test("rejects a whole request for one bad tool, and records the breach", async () => {
            const bad = `bad name! article.toMarkdown`;
            const response = await post(format.path, format.body(bad, []));
            assert.equal(response.status, 400);
            assert.match(format.message(await response.json()), /tools.*(pattern|Invalid function name)/);
            const { rule, tool } = model.record.rejections.at(-1);
            assert.deepEqual({ rule, tool }, { rule: "tool name", tool: bad });
        });
    });
}

suite("every API", () => {
    useModel();

    test("finds the tool behind prefixes of clients and with other separators", () => {
        for (const name of [
            "examples.article.toMarkdown",
            "mcp__causeway__examples__article__toMarkdown",
            "causeway_examples_article_toMarkdown",
            "examples-article-toMarkdown",
            "examples_article_to_markdown",
        ]) {
            assert.ok(script.isTarget({ name }), name);
        }
        assert.ok(!script.isTarget({ name: "examples__articles__list" }));
    });

    test("a client that shows no results comes to an end", async () => {
        const body = JSON.stringify(formats.anthropic.body(target, []));
        const asked = [];
        for (let i = 0; i < 4; i++) {
            const response = await fetch(`${model.url}/v1/messages`, { method: "POST", body });
            asked.push((await response.json()).stop_reason);
        }
        assert.deepEqual(asked, ["tool_use", "tool_use", "end_turn", "end_turn"]);
    });

    test("an agent that needs a final_answer tool call gets it", async () => {
        const { body } = formats.anthropic;
        const request = body(target, ["a", "b"]);
        request.tools.push({ name: "final_answer", input_schema: { type: "object" } });
        const response = await fetch(`${model.url}/v1/messages`, { method: "POST", body: JSON.stringify(request) });
        assert.equal((await response.json()).content[0].name, "final_answer");
    });

    test("a tool of the recipe is called after the articles", async () => {
        const own = await startModel();
        const { body, call, text } = formats["openai-chat"];
        const ask = async (turns) => {
            const request = body(target, turns);
            const recipe = { name: "causeway_aria2__getVersion", parameters: { type: "object" } };
            request.tools.push({ type: "function", function: recipe });
            const options = { method: "POST", body: JSON.stringify(request) };
            return (await fetch(`${own.url}/v1/chat/completions`, options)).json();
        };
        assert.deepEqual(call(await ask([])), { name: target, input: script.inputs[0] });
        const last = { name: "causeway_aria2__getVersion", input: script.recipeInput };
        assert.deepEqual(call(await ask(["a", "b"])), last);
        assert.equal(text(await ask(["a", "b", "c"])), script.answer);
        await own.close();
    });

    test("waits for its owner before it sends a call", async () => {
        const order = [];
        const onCall = async (n) => {
            await new Promise((resolve) => setTimeout(resolve, 20));
            order.push(n);
        };
        const own = await startModel({ onCall });
        const body = JSON.stringify(formats.anthropic.body(target, []));
        await fetch(`${own.url}/v1/messages`, { method: "POST", body });
        order.push("sent");
        await own.close();
        assert.deepEqual(order, [1, "sent"]);
    });

    test("a tool in a namespace is called with it", async () => {
        const tools = [
            {
                type: "namespace",
                name: "mcp__causeway",
                tools: [{ type: "function", name: target, parameters: schema }],
            },
        ];
        const response = await post("/v1/responses", {
            tools,
            input: [{ type: "function_call_output", output: "one" }],
        });
        const [item] = (await response.json()).output;
        assert.deepEqual([item.namespace, item.name], ["mcp__causeway", target]);
    });

    test("unknown paths are recorded", async () => {
        assert.equal((await post("/v1/embeddings", {})).status, 404);
        assert.deepEqual(model.record.unknown, ["POST /v1/embeddings"]);
    });
});
