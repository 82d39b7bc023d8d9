// Errors name what was wrong with a request, and repeat at most 200 bytes of it.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { both, legacy, legacyVersions, metaKey, modern, post, rpc, startBridge } from "./support/mcp.mjs";
import { get, invoke } from "./support/rest.mjs";

const most = 200;
// Characters of 1, 2, 3 and 4 bytes, and those that JSON escapes.
const fillers = { letters: "a", umlauts: "ä", signs: "€", emoji: "😀", quotes: '"', controls: "\u0001" };
const kilobytes = 100;

let server;
before(async () => (server = await startBridge({ plugins: ["echo", "conformance"] })));
after(() => server?.stop());

// The longest part of the answer that the filler makes up, in bytes of UTF-8.
function repeated(value, filler) {
    if (typeof value === "string") {
        const runs = value.split(new RegExp(`((?:${filler})+)`, "u")).filter((part, i) => i % 2);
        return Math.max(0, ...runs.map((run) => Buffer.byteLength(run)));
    }
    if (value === null || typeof value !== "object") {
        return 0;
    }
    return Math.max(
        0,
        ...Object.entries(value)
            .flat()
            .map((part) => repeated(part, filler)),
    );
}

const call = (version) => (name, params) => legacy(server, name, params, { version });
const cases = {
    "JSON-RPC: a method": (text) => rpc(server, { method: text, id: 1 }),
    "JSON-RPC: an argument's name": (text) =>
        rpc(server, { method: "test.echo", params: { message: "x", [text]: 1 }, id: 1 }),
    "JSON-RPC: a member": (text) => rpc(server, { method: "test.echo", id: 1, [text]: 1 }),
    "JSON-RPC: a wrong argument": (text) => rpc(server, { method: "test.echo", params: { message: [text] }, id: 1 }),
    "REST: a tool": (text) => invoke(server, text, {}),
    "REST: an argument's name": (text) => invoke(server, "test.echo", { message: "x", [text]: 1 }),
    "REST: a tool to be described": (text) =>
        get(server, `/mcp/tools/describe?name=${encodeURIComponent(text.slice(0, 600))}`),
    "REST: a tool in the path": (text) => get(server, `/mcp/tools/${encodeURIComponent(text.slice(0, 600))}`),
    "REST: a cursor": (text) => get(server, `/mcp/tools/list?cursor=${encodeURIComponent(text.slice(0, 600))}`),
    "MCP: a method": (text) => call("2025-11-25")(text, {}),
    "MCP: a tool": (text) => call("2025-11-25")("tools/call", { name: text, arguments: {} }),
    "MCP: a prompt": (text) => call("2025-11-25")("prompts/get", { name: text }),
    "MCP: a resource": (text) => call("2025-11-25")("resources/read", { uri: `test://${text}` }),
    "MCP: a subscription": (text) => call("2025-11-25")("resources/subscribe", { uri: `test://${text}` }),
    "MCP: a version": (text) =>
        call()("initialize", { protocolVersion: text, capabilities: {}, clientInfo: { name: "t", version: "1" } }),
    "MCP: a log level": (text) => call("2025-11-25")("logging/setLevel", { level: text }),
    "MCP: a cursor": (text) => call("2025-11-25")("tools/list", { cursor: text }),
    "MCP: an argument's name": (text) =>
        call("2025-11-25")("tools/call", { name: "test.echo", arguments: { message: "x", [text]: 1 } }),
    "MCP: a completion": (text) =>
        call("2025-11-25")("completion/complete", {
            ref: { type: "ref/prompt", name: text },
            argument: { name: text, value: text },
        }),
    "MCP: a kind of reference": (text) =>
        call("2025-11-25")("completion/complete", {
            ref: { type: text, name: "x" },
            argument: { name: "a", value: "" },
        }),
    "modern MCP: a tool": (text) =>
        modern(server, "tools/call", { name: text, arguments: {} }, { headers: encoded(text) }),
    "modern MCP: a name beside another header": (text) =>
        modern(server, "tools/call", { name: text, arguments: {} }, { headers: { "Mcp-Name": "other" } }),
    "modern MCP: a method beside another header": (text) =>
        modern(server, text, {}, { headers: { "Mcp-Method": "other", "Mcp-Name": undefined } }),
    "modern MCP: a version": (text) =>
        post(
            server,
            "/mcp",
            {
                jsonrpc: "2.0",
                id: 1,
                method: "tools/list",
                params: { _meta: { [metaKey("protocolVersion")]: text, [metaKey("clientCapabilities")]: {} } },
            },
            { ...both, "MCP-Protocol-Version": "2026-07-28" },
        ),
};
const encoded = (text) => ({ "Mcp-Name": `=?base64?${Buffer.from(text).toString("base64")}?=` });

suite("what an error repeats of a request", () => {
    for (const [name, send] of Object.entries(cases)) {
        test(`${name} of ${kilobytes} KB`, async () => {
            for (const [kind, filler] of Object.entries(fillers)) {
                const n = Math.floor((kilobytes * 1024) / Buffer.byteLength(filler));
                const isHeader = name === "modern MCP: a tool";
                const answer = await send(filler.repeat(isHeader ? 300 : n));
                assert.ok(
                    answer.text.length < 4096,
                    `${kind}: ${answer.text.length} bytes: ${answer.text.slice(0, 300)}`,
                );
                const json = answer.text ? JSON.parse(answer.text) : null;
                const longest = repeated(json, filler);
                assert.ok(longest <= most, `${kind}: ${longest} bytes: ${answer.text.slice(0, 300)}`);
                assert.ok(!answer.text.includes("\uFFFD"), kind);
            }
        });
    }

    test("a name of 200 bytes is repeated as it is", async () => {
        const name = "a".repeat(most);
        for (const answer of [
            await call(legacyVersions[0])("tools/call", { name, arguments: {} }),
            await call(legacyVersions[0])("resources/read", { uri: name }),
        ]) {
            assert.ok(answer.text.includes(name), answer.text);
            assert.ok(!answer.text.includes(`${name}…`), answer.text);
        }
    });
});
