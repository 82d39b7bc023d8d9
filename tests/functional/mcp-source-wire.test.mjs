// What an MCP server receives from a bridge: headers, _meta, sessions.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { callTool, callToolWell, startBridge, untilTool } from "./support/mcp.mjs";
import { echoTool, startScript } from "./support/mcp-script.mjs";
import { eventually } from "./support/server.mjs";

async function scripted(t, options, source = {}, config = {}) {
    const upstream = await startScript(options);
    const server = await startBridge({
        plugins: [],
        ...config,
        config: {
            ...config.config,
            sources: [{ name: "srv", dialect: "mcp", prefix: "s.", methods: ["*"], url: upstream.url, ...source }],
        },
    });
    t.after(() => server.stop());
    await untilTool(server, "s.echo");
    return { upstream, server };
}

const property = (type, header) => ({ type, "x-mcp-header": header });

suite("a modern server", { concurrency: true }, () => {
    test("gets the method, the name and the arguments that it wants in headers", async (t) => {
        const tool = {
            name: "echo",
            description: "Wants headers",
            inputSchema: {
                type: "object",
                properties: {
                    region: property("string", "Region"),
                    count: property("integer", "Count"),
                    dry: property("boolean", "Dry"),
                    other: property("string", "Other"),
                    message: { type: "string" },
                },
            },
        };
        const { upstream, server } = await scripted(t, { era: "modern", tools: [tool, echoTool("größe")] });
        const args = { region: "ž-1", count: 42, dry: true, message: "x" };
        const base64 = (text) => `=?base64?${Buffer.from(text).toString("base64")}?=`;
        // The bridge itself wants these headers of its own clients, too.
        const own = { "Mcp-Param-Region": base64("ž-1"), "Mcp-Param-Count": "42", "Mcp-Param-Dry": "true" };
        await callToolWell(server, "s.echo", args, { headers: own });
        const { headers } = upstream.seen("tools/call")[0];
        assert.equal(headers["mcp-protocol-version"], "2026-07-28");
        assert.equal(headers["mcp-method"], "tools/call");
        assert.equal(headers["mcp-name"], "echo");
        assert.equal(headers["mcp-param-region"], base64("ž-1"));
        assert.equal(headers["mcp-param-count"], "42");
        assert.equal(headers["mcp-param-dry"], "true");
        assert.ok(!("mcp-param-other" in headers), "an argument that was not given has no header");
        assert.ok(!("mcp-session-id" in headers));
    });

    test("is not asked again for a result that is kept", async (t) => {
        const methods = [{ method: "echo", read_only: true, cache: "1h" }];
        const { upstream, server } = await scripted(t, { era: "modern" }, { methods }, { config: { loops: 1 } });
        const first = await callToolWell(server, "s.echo", {});
        assert.deepEqual((await callToolWell(server, "s.echo", {})).content, first.content);
        assert.equal(upstream.seen("tools/call").length, 1);
    });

    test("that needs a capability of the client is understood", async (t) => {
        const { upstream, server } = await scripted(t, { era: "modern" });
        const data = { requiredCapabilities: { sampling: {} } };
        upstream.on["tools/call"] = ({ message, response }) => {
            response.writeHead(400, { "Content-Type": "application/json" });
            const error = { code: -32021, message: "Missing client capability: sampling", data };
            response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, error }));
        };
        const { status, json } = await callTool(server, "s.echo", {});
        assert.equal(status, 400);
        assert.equal(json.error.code, -32021);
        assert.deepEqual(json.error.data, data);
    });
});

test("a legacy server gets no headers of modern ones", async (t) => {
    const { upstream, server } = await scripted(t, { era: "legacy" });
    await callToolWell(server, "s.echo", { message: "x" });
    const { headers } = upstream.seen("tools/call")[0];
    assert.equal(headers["mcp-protocol-version"], "2025-11-25");
    assert.equal(headers["mcp-session-id"], "session-2");
    assert.ok(!("mcp-method" in headers) && !("mcp-name" in headers));
});

test("clients with other capabilities have other sessions, and the server learns just these", async (t) => {
    // Each loop has sessions of its own, and connections that a client opens again may come to another one.
    const own = { config: { loops: 1 } };
    const { upstream, server } = await scripted(t, { era: "legacy" }, { questions: ["form", "sampling"] }, own);
    const as = (capabilities) => ({ meta: { "io.modelcontextprotocol/clientCapabilities": capabilities } });
    await callToolWell(server, "s.echo", {}, as({}));
    await callToolWell(server, "s.echo", {}, as({ elicitation: { form: {}, url: {} }, roots: {} }));
    await callToolWell(server, "s.echo", {}, as({ sampling: {} }));
    await callToolWell(server, "s.echo", {}, as({ sampling: {} }));
    const told = upstream.seen("initialize").map(({ message }) => message.params.capabilities);
    // The first one is that of the discovery.
    assert.deepEqual(told, [{}, {}, { elicitation: { form: {} } }, { sampling: {} }]);
    const used = new Set(upstream.seen("tools/call").map(({ headers }) => headers["mcp-session-id"]));
    assert.equal(used.size, 3);
    await eventually(() => upstream.streams.size === 4, "a stream for each session");
});
