// Everything that Causeway offers, through the official SDKs of both lines: the same tests for the
// SDK 1.32.2 and for the client 2.4.0 in each of its three ways to agree on a version.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import * as sdk2 from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as types1 from "@modelcontextprotocol/sdk/types.js";
import { metaKey, startBridge, untilTool } from "./support/mcp.mjs";
import { eventually, pause } from "./support/server.mjs";

const about = { name: "test", version: "1.0.0" };
const capabilities = { elicitation: {}, sampling: {}, roots: {} };

let server;
before(async () => {
    server = await startBridge({ plugins: ["conformance"] });
    await untilTool(server, "test_simple_text");
});
after(() => server?.stop());

const endpoint = () => new URL(`${server.url}/mcp`);

// What a client is asked, and what it answers.
const answers = {
    "elicitation/create": () => ({
        action: "accept",
        content: {
            username: "ada",
            email: "ada@example.org",
            name: "Ada",
            color: "blue",
            context: "bridges",
        },
    }),
    "sampling/createMessage": () => ({
        role: "assistant",
        model: "test",
        content: { type: "text", text: "Paris" },
    }),
    "roots/list": () => ({ roots: [{ uri: "file:///home/ada", name: "home" }] }),
};

const updated = "notifications/resources/updated";
const notices = [
    "notifications/message",
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    updated,
];

// The line 1 names methods by their schemas.
const schemas1 = {
    "elicitation/create": types1.ElicitRequestSchema,
    "sampling/createMessage": types1.CreateMessageRequestSchema,
    "roots/list": types1.ListRootsRequestSchema,
    "notifications/message": types1.LoggingMessageNotificationSchema,
    "notifications/tools/list_changed": types1.ToolListChangedNotificationSchema,
    "notifications/prompts/list_changed": types1.PromptListChangedNotificationSchema,
    [updated]: types1.ResourceUpdatedNotificationSchema,
};

// A connected client; `heard` are the notifications that came, `asked` the requests.
async function connect(t, { make, transport, keys }) {
    const client = make();
    client.heard = [];
    client.asked = [];
    const taking = (method, answer) => (message) => {
        client.asked.push(method);
        return answer(message);
    };
    for (const [method, answer] of Object.entries(answers)) {
        client.setRequestHandler(keys(method), taking(method, answer));
    }
    for (const method of notices) {
        client.setNotificationHandler(keys(method), (notice) => {
            client.heard.push(notice);
        });
    }
    await client.connect(transport());
    t.after(() => client.close());
    return client;
}

// Other tests change lists meanwhile, and everybody is told.
const heardOf = (client, method) => client.heard.filter((notice) => notice.method === method);

// Call a tool that has something told, until it is heard: a legacy client opens the stream that
// brings it behind the caller's back.
const tell = (client, tool, method) =>
    eventually(async () => {
        await client.callTool({ name: tool });
        return heardOf(client, method).length > 0;
    }, method);

const textOf = ({ content }) => content.map(({ text }) => text).join("\n");

const second = (mode) => ({
    make: () => new sdk2.Client(about, { capabilities, versionNegotiation: { mode } }),
    transport: () => new sdk2.StreamableHTTPClientTransport(endpoint()),
    keys: (method) => method,
    beforeOptions: [],
    notFound: -32602, // whatever the server says
});

const kinds = {
    "client 2.4.0, pinned to 2026-07-28": { ...second({ pin: "2026-07-28" }), isModern: true },
    "client 2.4.0, auto": { ...second("auto"), isModern: true },
    "client 2.4.0, legacy": { ...second("legacy"), isModern: false },
    "SDK 1.32.2": {
        make: () => new Client1(about, { capabilities }),
        transport: () => new Http1(endpoint()),
        keys: (method) => schemas1[method],
        beforeOptions: [types1.CallToolResultSchema],
        notFound: -32002,
        isModern: false,
    },
};

for (const [name, kind] of Object.entries(kinds)) {
    const { isModern } = kind;

    suite(name, { concurrency: 4 }, () => {
        test(`${name}: reads every list`, async (t) => {
            const client = await connect(t, kind);
            const { tools } = await client.listTools();
            const { prompts } = await client.listPrompts();
            const { resources } = await client.listResources();
            const { resourceTemplates } = await client.listResourceTemplates();
            assert.ok(tools.some((tool) => tool.name === "test_simple_text"));
            assert.ok(prompts.some((prompt) => prompt.name === "test_simple_prompt"));
            assert.ok(resources.some(({ uri }) => uri === "test://static-text"));
            assert.equal(resourceTemplates[0].uriTemplate, "test://template/{id}/data");
        });

        test(`${name}: gets every kind of content`, async (t) => {
            const client = await connect(t, kind);
            const first = async (tool) => (await client.callTool({ name: tool })).content[0];
            assert.equal((await first("test_simple_text")).type, "text");
            assert.equal((await first("test_image_content")).mimeType, "image/png");
            assert.equal((await first("test_audio_content")).mimeType, "audio/wav");
            const { resource } = await first("test_embedded_resource");
            assert.equal(resource.uri, "test://embedded-resource");
            assert.equal((await first("test_resource_link")).type, "resource_link");
        });

        test(`${name}: hears of progress`, async (t) => {
            const client = await connect(t, kind);
            const seen = [];
            const onprogress = ({ progress }) => seen.push(progress);
            const params = { name: "test_tool_with_progress" };
            await client.callTool(params, ...kind.beforeOptions, { onprogress });
            assert.deepEqual(seen, [0, 50, 100]);
        });

        test(`${name}: hears what a tool logs`, async (t) => {
            const client = await connect(t, kind);
            const params = { name: "test_tool_with_logging" };
            const lines = () => heardOf(client, "notifications/message").map((notice) => notice.params.data);
            if (isModern) {
                await client.callTool(params);
                assert.deepEqual(lines(), []); // nobody asked for them
                await client.callTool({ ...params, _meta: { [metaKey("logLevel")]: "info" } });
            } else {
                await client.setLoggingLevel("error");
                await client.callTool(params);
                assert.deepEqual(lines(), []);
                await client.setLoggingLevel("info");
                await client.callTool(params);
            }
            const expected = ["started", "processing data", "completed"];
            assert.equal(lines().length, expected.length, lines());
            expected.forEach((text, i) => assert.ok(lines()[i].endsWith(text), lines()[i]));
        });

        test(`${name}: gets prompts`, async (t) => {
            const client = await connect(t, kind);
            const args = { arg1: "one", arg2: "two" };
            const filled = await client.getPrompt({
                name: "test_prompt_with_arguments",
                arguments: args,
            });
            assert.match(filled.messages[0].content.text, /arg1='one', arg2='two'/);
            const asked = await client.getPrompt({ name: "test_input_required_result_prompt" });
            assert.match(asked.messages[0].content.text, /bridges/);
            const missing = client.getPrompt({ name: "test_prompt_with_arguments" });
            await assert.rejects(missing, ({ code, data }) => {
                assert.equal(code, -32602);
                assert.match(data, /Missing required parameter: arg1/);
                return true;
            });
        });

        test(`${name}: reads resources`, async (t) => {
            const client = await connect(t, kind);
            const read = async (uri) => (await client.readResource({ uri })).contents[0];
            assert.match((await read("test://static-text")).text, /static text/);
            const { blob, mimeType } = await read("test://static-binary");
            assert.equal(mimeType, "image/png");
            assert.deepEqual([...Buffer.from(blob, "base64").subarray(1, 4)], [0x50, 0x4e, 0x47]);
            const filled = await read("test://template/123/data");
            assert.equal(JSON.parse(filled.text).id, "123");
            await assert.rejects(read("test://nothing"), ({ code }) => {
                assert.equal(code, kind.notFound);
                return true;
            });
        });

        test(`${name}: completes arguments`, async (t) => {
            const client = await connect(t, kind);
            const { completion } = await client.complete({
                ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
                argument: { name: "arg1", value: "par" },
            });
            assert.deepEqual(completion.values, ["paris", "park", "party"]);
            const ids = await client.complete({
                ref: { type: "ref/resource", uri: "test://template/{id}/data" },
                argument: { name: "id", value: "1" },
            });
            assert.equal(ids.completion.values.length, 100);
            assert.equal(ids.completion.hasMore, true);
        });

        test(`${name}: answers what tools ask`, async (t) => {
            const client = await connect(t, kind);
            const form = await client.callTool({
                name: "test_elicitation",
                arguments: { message: "Who are you?" },
            });
            assert.match(textOf(form), /action=accept.*ada@example\.org/);
            const sampled = await client.callTool({
                name: "test_sampling",
                arguments: { prompt: "What is the capital of France?" },
            });
            assert.equal(textOf(sampled), "LLM response: Paris");
            const roots = await client.callTool({ name: "test_input_required_result_list_roots" });
            assert.match(textOf(roots), /file:\/\/\/home\/ada/);
            const all = await client.callTool({
                name: "test_input_required_result_multiple_inputs",
            });
            assert.match(textOf(all), /Ada[\s\S]*Paris[\s\S]*home\/ada/);
            const twice = await client.callTool({ name: "test_input_required_result_multi_round" });
            assert.equal(twice.isError ?? false, false, textOf(twice));
            assert.equal(client.asked.length, 8);
        });

        test(`${name}: hears that lists have changed`, async (t) => {
            const client = await connect(t, kind);
            if (isModern) {
                await client.listen({ toolsListChanged: true, promptsListChanged: true });
            }
            await tell(client, "test_trigger_tool_change", "notifications/tools/list_changed");
            await tell(client, "test_trigger_prompt_change", "notifications/prompts/list_changed");
        });

        test(`${name}: hears that a resource has changed`, async (t) => {
            const client = await connect(t, kind);
            const uri = "test://watched-resource";
            if (isModern) {
                await client.listen({ resourceSubscriptions: [uri] });
                await tell(client, "test_trigger_resource_update", updated);
            } else {
                await client.subscribeResource({ uri });
                // Then its stream is open, and one update is enough.
                await tell(client, "test_trigger_tool_change", "notifications/tools/list_changed");
                await client.callTool({ name: "test_trigger_resource_update" });
                await eventually(() => heardOf(client, updated).length === 1, updated);
            }
            assert.equal(heardOf(client, updated)[0].params.uri, uri);
            if (!isModern) {
                await client.unsubscribeResource({ uri });
                await client.callTool({ name: "test_trigger_resource_update" });
                await pause(100);
                assert.equal(heardOf(client, updated).length, 1);
            }
        });

        test(`${name}: tells errors apart`, async (t) => {
            const client = await connect(t, kind);
            const failed = await client.callTool({ name: "test_error_handling" });
            assert.equal(failed.isError, true);
            assert.match(textOf(failed), /intentionally/);
            const wrong = await client.callTool({ name: "test_sampling", arguments: { prompt: 5 } });
            assert.equal(wrong.isError, true);
            assert.match(textOf(wrong), /\/prompt: expected string, got integer/);
            const unknown = client.callTool({ name: "test_nothing" });
            await assert.rejects(unknown, ({ code }) => code === -32602);
            const prompt = client.getPrompt({ name: "test_nothing" });
            await assert.rejects(prompt, ({ code }) => code === -32602);
        });
    });
}
