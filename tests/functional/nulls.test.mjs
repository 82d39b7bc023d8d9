// Null for an argument that a model left out: dropped for MCP clients if the schema rejects it, and nowhere else.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { keepFolder } from "./support/kept.mjs";
import { assertToolError, callTool, legacy, rpc, startBridge, untilTool } from "./support/mcp.mjs";
import { eventually } from "./support/server.mjs";
import { openRpc, startService, writeOpenRpc } from "./support/service.mjs";

const text = { type: "string" };
const inner = { type: "object", properties: { x: text, y: { type: ["string", "null"] } }, additionalProperties: text };

// The method `echo` with optional arguments of all kinds.
function makeDocument() {
    const document = openRpc();
    const echo = document.methods.find(({ name }) => name === "echo");
    echo.params = [
        { name: "message", required: true, schema: text },
        { name: "count", schema: { type: "integer", default: 5 } },
        { name: "inner", schema: inner },
        { name: "list", schema: { type: "array", items: inner } },
        { name: "any", schema: {} },
    ];
    return document;
}

async function start(t, { method = {}, config = {} } = {}) {
    const service = await startService();
    const source = {
        name: "s",
        url: service.url,
        openrpc: writeOpenRpc(makeDocument()),
        methods: [{ method: "echo", ...method }],
    };
    const server = await startBridge({ plugins: [], config: { ...config, sources: [source] } });
    t.after(() => server.stop());
    await untilTool(server, "echo");
    // The arguments that the service received, or the answer that refuses them.
    const call = async (args, by = callTool) => {
        const n = service.calls.length;
        const answer = await by(server, "echo", args);
        return service.calls.length > n ? service.calls.at(-1).params : answer;
    };
    return { server, call };
}

const callLegacy = (server, name, args) => legacy(server, "tools/call", { name, arguments: args });
const callRpc = (server, method, params) => rpc(server, { method, params, id: 1 });

suite("null for an optional argument", { concurrency: true }, () => {
    test("is dropped where the schema rejects it", async (t) => {
        const { call } = await start(t);
        const defaults = { message: "m", count: 5 };
        assert.deepEqual(await call({ message: "m", count: null }), defaults);
        assert.deepEqual(await call({ message: "m", count: null, inner: null, any: null }), { ...defaults, any: null });
        assert.deepEqual(await call({ message: "m", inner: { x: null, y: null } }), {
            ...defaults,
            inner: { y: null },
        });
        assert.deepEqual(await call({ message: "m", list: [{ x: null }, {}] }), { ...defaults, list: [{}, {}] });
        assert.deepEqual(await call({ message: "m", count: null }, callLegacy), defaults);
    });

    test("stays where it is valid, beside others that are dropped or not", async (t) => {
        const { call } = await start(t);
        assert.deepEqual(await call({ message: "m", any: null, count: 1 }), { message: "m", any: null, count: 1 });
    });

    test("is an error for required arguments, items and entries of maps", async (t) => {
        const { call } = await start(t);
        assertToolError(await call({ message: null }), /\/message: expected string, got null/);
        assertToolError(await call({ message: "m", list: [null] }), /\/list\/0: expected object, got null/);
        assertToolError(await call({ message: "m", inner: { z: null } }), /\/inner\/z: expected string, got null/);
        // Only the problem that remains is described.
        const answer = await call({ message: 5, count: null });
        assertToolError(answer, /\/message: expected string, got integer/);
        assert.doesNotMatch(answer.text, /count/);
    });

    test("is an error on other doors", async (t) => {
        const { call } = await start(t);
        const { json } = await call({ message: "m", count: null }, callRpc);
        assert.match(JSON.stringify(json.error), /\/count: expected integer, got null/);
    });

    test("is an error where it is switched off, for all or for one tool", async (t) => {
        for (const how of [{ config: { mcp: { null_is_absent: false } } }, { method: { null_is_absent: false } }]) {
            const { call } = await start(t, how);
            assertToolError(await call({ message: "m", count: null }), /\/count: expected integer, got null/);
        }
    });

    test("is not in the audit, which has what was executed", async (t) => {
        const file = path.join(keepFolder(), `audit-${Math.random().toString(36).slice(2)}`);
        const { call } = await start(t, { config: { audit: { path: file, arguments: true } } });
        await call({ message: "m", count: null });
        await call({ message: "m" });
        const records = await eventually(() => {
            const lines = readFileSync(file, "utf8")
                .split("\n")
                .filter(Boolean)
                .map((line) => JSON.parse(line));
            const calls = lines.filter(({ method }) => method === "echo");
            return calls.length === 2 && calls;
        }, "two records");
        assert.deepEqual(records[0].arguments, { message: "m", count: 5 });
        assert.equal(records[0].arguments_hash, records[1].arguments_hash);
    });
});
