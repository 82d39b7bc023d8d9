// What lists cost: lean lists by toolset or client, the cost of tools, and toolsets that are searched.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import * as sdk2 from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { keepFolder } from "./support/kept.mjs";
import {
    assertRpcError,
    assertToolError,
    EventStream,
    legacy,
    metaKey,
    modern,
    reloadBridge,
    startBridge,
} from "./support/mcp.mjs";
import { runCauseway } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";
import { startService, writeOpenRpc } from "./support/service.mjs";

const about = { name: "test", version: "1.0.0" };
const service = await startService();
service.results = { "invoice.get": { id: "7", lines: [] }, "invoice.delete": { gone: true } };

const text = { type: "string" };
const result = { name: "r", schema: { type: "object", properties: { id: { ...text, description: "A.\nB." } } } };
const long = "Returns one invoice, e.g. number 7.  It has\n lines. Use it often.\n\nMore about it.";
const methods = [
    {
        name: "invoice.get",
        description: long,
        params: [{ name: "id", required: true, description: "Its number. Seven digits.", schema: text }],
        result,
    },
    { name: "invoice.delete", description: "Deletes an invoice.", params: [], result },
    { name: "getUserInfo", description: "Tells who somebody is.", params: [], result },
    { name: "mail.send", description: "Sends a letter to a customer.", params: [], result },
];
const toolsets = {
    lean: { output_schemas: "none", descriptions: "short" },
    signatures: { output_schemas: "none", descriptions: "short", input_schemas: "signature" },
    search: { mode: "search", title: "Everything", exclude: ["mail.*"] },
    reading: { mode: "search", read_only: true },
};

function makeConfig(more = {}) {
    const openrpc = writeOpenRpc({ openrpc: "1.3.2", info: { title: "test", version: "1" }, methods });
    const entries = [{ method: "invoice.get", read_only: true }, { method: "*" }];
    return {
        sources: [{ name: "office", url: service.url, openrpc, methods: entries }],
        toolsets,
        mcp: { tool_names: "exact", ...more.mcp },
        ...more.config,
    };
}

async function start(more) {
    const server = await startBridge({ plugins: [], config: makeConfig(more) });
    await eventually(async () => (await list(server)).length === methods.length, "the tools");
    return server;
}

const at = (name) => ({ path: `/mcp/x/${name}` });
const list = async (server, where = {}, meta = {}) => {
    const { json, text: body } = await modern(server, "tools/list", {}, { ...where, meta });
    assert.ok(json?.result, body);
    return json.result.tools;
};
const named = (tools, name) => tools.find((tool) => tool.name === name);

suite("lean lists", () => {
    let server;
    before(async () => {
        const clients = [
            { name: "tiny", output_schemas: "none", descriptions: "short" },
            { name: "whole", output_schemas: "full", descriptions: "full" },
        ];
        server = await start({ mcp: { clients } });
    });
    after(() => server?.stop());

    const short = "Returns one invoice, e.g. number 7.";

    test("a toolset leaves out output schemas and all but first sentences", async () => {
        const full = named(await list(server), "invoice.get");
        assert.equal(full.description, long);
        assert.ok(full.outputSchema);
        const lean = named(await list(server, at("lean")), "invoice.get");
        assert.equal(lean.description, short);
        assert.equal("outputSchema" in lean, false);
        assert.equal(lean.inputSchema.properties.id.description, "Its number.");
        assert.deepEqual(lean.inputSchema.required, ["id"]);
        assert.deepEqual(lean.annotations, full.annotations);
    });

    test("a tool with neither arguments nor a text has no description beside signatures", async (t) => {
        const openrpc = writeOpenRpc({
            openrpc: "1.3.2",
            info: { title: "plain", version: "1" },
            methods: [
                { name: "stop", params: [], result },
                { name: "wait", params: [{ name: "seconds", schema: { type: "integer" } }], result },
            ],
        });
        const config = { sources: [{ name: "plain", url: service.url, openrpc, methods: ["*"] }] };
        const plain = await startBridge({ plugins: [], config: { ...config, toolsets } });
        t.after(() => plain.stop());
        await eventually(async () => (await list(plain)).length === 2, "the tools");
        const tools = await list(plain, at("signatures"));
        assert.deepEqual(named(tools, "stop"), { name: "stop", inputSchema: { type: "object" } });
        assert.equal(named(tools, "wait").description, "(seconds?:int)");
        assert.equal(named(await list(plain, at("lean")), "stop").description, "stop");
    });

    test("a toolset shows signatures in place of input schemas, and validates as before", async () => {
        const tools = await list(server, at("signatures"));
        const get = named(tools, "invoice.get");
        assert.equal(get.description, `${short} (id:str)`);
        assert.deepEqual(get.inputSchema, { type: "object" });
        assert.equal(named(tools, "invoice.delete").description, "Deletes an invoice. ()");
        const call = (args) => modern(server, "tools/call", { name: "invoice.get", arguments: args }, at("signatures"));
        assertToolError(await call({ id: 7 }), /id.*string/);
        assertToolError(await call({}), /id/);
        assert.ok((await call({ id: "7" })).json.result.structuredContent);
    });

    test("results stay as they are", async () => {
        const call = { name: "invoice.get", arguments: { id: "7" } };
        const { json } = await modern(server, "tools/call", call, at("lean"));
        assert.deepEqual(json.result.structuredContent, service.results["invoice.get"]);
    });

    test("a client's setting wins over that of the toolset, in both eras", async () => {
        const meta = (name) => ({ [metaKey("clientInfo")]: { name, version: "1" } });
        assert.equal(named(await list(server, {}, meta("tiny")), "invoice.get").description, short);
        assert.equal(named(await list(server, at("lean"), meta("whole")), "invoice.get").description, long);
        const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "tiny", version: "1" } };
        const { headers } = await legacy(server, "initialize", params);
        const session = { "Mcp-Session-Id": headers.get("mcp-session-id") };
        const { json } = await legacy(server, "tools/list", {}, { headers: session });
        const tool = named(json.result.tools, "invoice.get");
        assert.deepEqual([tool.description, "outputSchema" in tool], [short, false]);
    });

    test("a reload that changes the form notifies the toolset's clients", async () => {
        const filter = { notifications: { toolsListChanged: true } };
        const stream = await EventStream.open(server, "subscriptions/listen", filter, at("lean"));
        assert.match((await stream.next()).method, /acknowledged$/);
        await reloadBridge(server, { toolsets: { ...toolsets, lean: { output_schemas: "none" } } });
        assert.equal((await stream.next()).method, "notifications/tools/list_changed");
        assert.equal(named(await list(server, at("lean")), "invoice.get").description, long);
        await reloadBridge(server, { toolsets });
    });

    test("a reload that changes only the input schemas has an effect", async () => {
        const { input_schemas, ...others } = toolsets.signatures;
        const { inputSchema } = named(await list(server, at("signatures")), "invoice.get");
        assert.deepEqual([input_schemas, inputSchema.properties], ["signature", undefined]);
        await reloadBridge(server, { toolsets: { ...toolsets, signatures: others } });
        const isFull = async () =>
            named(await list(server, at("signatures")), "invoice.get").inputSchema.properties !== undefined;
        await eventually(isFull, "the whole schema");
        await reloadBridge(server, { toolsets });
    });
});

suite("causeway list --cost", () => {
    let server;
    before(async () => (server = await start()));
    after(() => server?.stop());

    const cost = async (...args) => {
        const { code, stdout, stderr } = await runCauseway(["list", "--cost", "--config", server.config, ...args]);
        assert.equal(code, 0, stderr);
        return stdout;
    };

    test("adds up to what clients read, the largest first", async () => {
        const { tokens, tools, sources, toolsets: sets, estimate } = JSON.parse(await cost("--json"));
        const listed = await list(server);
        const bytes = listed.reduce((sum, tool) => sum + JSON.stringify(tool).length + 1, 0);
        assert.ok(Math.abs(tokens - bytes / 4) <= 2, `${tokens} ${bytes / 4}`);
        assert.equal(estimate, "bytes / 4");
        assert.equal(tools[0].name, "invoice.get");
        assert.deepEqual(
            tools.map((tool) => tool.tokens),
            tools.map((tool) => tool.tokens).toSorted((a, b) => b - a),
        );
        assert.deepEqual(sources, [{ name: "office", tools: 4, tokens }]);
        const lean = sets.find(({ name }) => name === "lean");
        assert.equal(lean.tools, 4);
        assert.ok(lean.tokens < tokens * 0.7, `${lean.tokens} of ${tokens}`);
        assert.deepEqual(
            sets.filter(({ search }) => search).map(({ name }) => name),
            ["reading", "search"],
        );
    });

    test("prints tables, the sum and how it is estimated", async () => {
        const shown = await cost();
        assert.match(shown, /TOKENS +OUTPUT +SOURCE +TOOL\n.*invoice\.get\n/);
        assert.match(shown, /TOKENS +TOOLS +SOURCE\n/);
        assert.match(shown, /TOKENS +TOOLS +TOOLSET\n/);
        assert.match(shown, /4 tools, about \d+ tokens \(bytes \/ 4\)\n/);
    });

    test("warns of too many tools, long descriptions, long names and large output schemas", async (t) => {
        const method = (name, more = {}) => ({ name, description: "Does it.", params: [], ...more });
        const properties = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`member${i}`, text]));
        const many = [
            ...Array.from({ length: 130 }, (_, i) => method(`many.tool${i}`)),
            method("wordy", { description: "word ".repeat(500) }),
            method(`n${"a".repeat(70)}`),
            method("large", { result: { name: "r", schema: { type: "object", properties } } }),
        ];
        const openrpc = writeOpenRpc({ openrpc: "1.3.2", info: { title: "test", version: "1" }, methods: many });
        const config = {
            sources: [{ name: "office", url: service.url, openrpc, methods: ["*"] }],
            toolsets: { some: { tools: ["many.tool?", "many.tool??"] } },
            mcp: { tool_names: "exact" },
        };
        const other = await startBridge({ plugins: [], config });
        t.after(() => other.stop());
        await eventually(async () => (await list(other)).length === many.length, "the tools");
        const args = ["list", "--cost", "--json", "--config", other.config];
        const { warnings } = JSON.parse((await runCauseway(args)).stdout);
        assert.deepEqual(warnings.toSorted(), [
            "large: its output schema is larger than the rest of it",
            `n${"a".repeat(70)}: with the prefix of clients its name has 86 characters; many model APIs reject over 64`,
            "the endpoint has 133 tools: VS Code and Copilot reject more than 128",
            "the toolset some has 100 tools: Cursor uses about 40, and models choose worse from more",
            "wordy: its description has 2500 characters; Claude Code cuts it at 2048",
        ]);
    });
});

suite("search", () => {
    let server;
    const audit = path.join(keepFolder(), "search-audit.log");
    before(async () => (server = await start({ config: { audit: { path: audit } } })));
    after(() => server?.stop());

    const find = async (args, where = at("search")) => {
        const { json, text: body } = await modern(server, "tools/call", { name: "find_tools", arguments: args }, where);
        assert.equal(json?.result?.isError ?? false, false, body);
        return JSON.parse(json.result.content[0].text);
    };
    const names = async (query, where) => (await find({ query }, where)).tools.map(({ name }) => name);
    const callTool = (name, args, where = at("search")) =>
        modern(server, "tools/call", { name: "call_tool", arguments: { name, arguments: args } }, where);

    test("the list has two tools, whose texts tell what is behind them", async () => {
        const tools = await list(server, at("search"));
        assert.deepEqual(
            tools.map(({ name }) => name),
            ["find_tools", "call_tool"],
        );
        assert.match(tools[0].description, /3 tools, by source:\n- office: 3 tools/);
        assert.equal(tools[0].annotations.readOnlyHint, true);
        assert.equal(tools[1].annotations.destructiveHint, true);
        const [, reading] = await list(server, at("reading"));
        assert.equal(reading.annotations.readOnlyHint, true);
        assert.ok(JSON.stringify(tools).length / 4 < 1_000);
    });

    test("words, parts of identifiers, forms of words and names find tools", async () => {
        assert.deepEqual((await names("delete an invoice")).slice(0, 1), ["invoice.delete"]);
        assert.deepEqual((await names("removing invoices")).slice(0, 1), ["invoice.delete"]);
        assert.deepEqual(await names("user info"), ["getUserInfo"]);
        assert.deepEqual((await names("invoice.get")).slice(0, 1), ["invoice.get"]);
        assert.deepEqual((await names("getU")).slice(0, 1), ["getUserInfo"]);
        assert.deepEqual(await names("zebra"), []);
    });

    test("what is not in the toolset, or hidden, is not found", async () => {
        assert.deepEqual(await names("send a letter to a customer"), []);
        assert.deepEqual(await names("mail.send"), []);
        assert.deepEqual(await names("invoice", at("reading")), ["invoice.get"]);
    });

    test("detail decides how much of a tool is returned, and limit how many", async () => {
        const [brief] = (await find({ query: "invoice.get", detail: "brief" })).tools;
        assert.deepEqual(brief, { name: "invoice.get", description: "Returns one invoice, e.g. number 7." });
        const [params] = (await find({ query: "invoice.get" })).tools;
        assert.ok(params.inputSchema.properties.id);
        assert.equal("outputSchema" in params, false);
        const [full] = (await find({ query: "invoice.get", detail: "full" })).tools;
        assert.equal(full.description, long);
        assert.ok(full.outputSchema);
        const one = await find({ query: "invoice", limit: 1 });
        assert.deepEqual([one.tools.length, one.total], [1, 2]);
    });

    test("wrong arguments are results with a sentence", async () => {
        for (const args of [{}, { query: 5 }, { query: "x", limit: 0 }, { query: "x", detail: "all" }, { q: "x" }]) {
            const answer = await modern(server, "tools/call", { name: "find_tools", arguments: args }, at("search"));
            assertToolError(answer, /^Invalid params: /);
        }
    });

    test("call_tool is a call of the real tool: gate, schemas and audit", async () => {
        const { json } = await callTool("invoice.get", { id: "7" });
        assert.deepEqual(json.result.structuredContent, service.results["invoice.get"]);
        assertToolError(await callTool("invoice.get", { id: 7 }), /id/);
        const outside = await callTool("mail.send", {});
        assertRpcError(outside, 200, -32602, 1);
        const missing = await callTool("mail.sent", {});
        assert.equal(outside.text.replaceAll("mail.send", "mail.sent"), missing.text);
        assertRpcError(await callTool("find_tools", { query: "x" }), 200, -32602, 1);
        assertRpcError(await callTool("invoice.delete", {}, at("reading")), 200, -32602, 1);
        await eventually(() => readFileSync(audit, "utf8").includes("mail.sent"), "the records");
        const recorded = readFileSync(audit, "utf8");
        assert.match(recorded, /"invoice\.get"/);
        assert.doesNotMatch(recorded, /call_tool/);
        for (const args of [{}, { name: 5 }, { name: "invoice.get", arguments: [] }]) {
            const wrong = await modern(server, "tools/call", { name: "call_tool", arguments: args }, at("search"));
            assertRpcError(wrong, 200, -32602, 1);
        }
    });

    test("the two exist at no other address", async () => {
        for (const name of ["find_tools", "call_tool"]) {
            const answer = await modern(server, "tools/call", { name, arguments: { query: "x", name: "invoice.get" } });
            assertRpcError(answer, 200, -32602, 1);
        }
    });

    test("the SDKs use it in both eras", async (t) => {
        const address = new URL(`${server.url}/mcp/x/search`);
        const newest = new sdk2.Client(about, { versionNegotiation: { mode: "auto" } });
        await newest.connect(new sdk2.StreamableHTTPClientTransport(address));
        const older = new Client1(about);
        await older.connect(new Http1(address));
        t.after(() => Promise.all([newest.close(), older.close()]));
        for (const client of [newest, older]) {
            const found = await client.callTool({ name: "find_tools", arguments: { query: "invoice get" } });
            const { name } = JSON.parse(found.content[0].text).tools[0];
            const called = await client.callTool({ name: "call_tool", arguments: { name, arguments: { id: "7" } } });
            assert.deepEqual(called.structuredContent, service.results["invoice.get"]);
        }
    });
});
