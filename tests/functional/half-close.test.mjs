// A client that ends its side of the connection behind a request (a half-close) and still reads. It
// looks like one that has left, so doors that cancel the calls of clients that left cancel these as
// well: /jsonrpc, the REST doors and modern MCP. Legacy MCP answers, as docs/mcp.md says.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { basic, startAccounts } from "./support/accounts.mjs";
import { callToolWell, initialize, modernParts, permissions, startBridge, timed, untilTool } from "./support/mcp.mjs";
import { scrape } from "./support/metrics.mjs";
import { Connection, eventually, get, pause, request } from "./support/server.mjs";

const json = { "Content-Type": "application/json" };
const rpcOf = (method, params, id = 1) => ({ jsonrpc: "2.0", id, method, params });
const postOf = (target, body, headers = {}) => request("POST", target, { ...json, ...headers }, JSON.stringify(body));

function modernCall(name, args, meta) {
    const { body, headers } = modernParts("tools/call", { name, arguments: args }, { meta });
    return postOf("/mcp", body, headers);
}

async function start(t) {
    // One worker: the next call shows whether the one before was cancelled.
    const server = await startBridge({
        roles: { anonymous: [...permissions, "view metrics"] },
        config: { loops: 1, plugins: { workers: 1 } },
    });
    t.after(() => server.stop());
    await untilTool(server, "test.echo");
    await callToolWell(server, "test.echo", { message: "x" });
    return server;
}

// Send a request, end our side `after` ms later (0: at once, maybe in the same packet).
async function sendAndEnd(server, text, after) {
    const c = await Connection.open(server, { stays: true });
    if (after === 0) {
        c.socket.end(text);
        return c;
    }
    await c.send(text);
    await pause(after);
    c.socket.end();
    return c;
}

const long = { ms: 20_000 };
const calls = {
    "/jsonrpc": postOf("/jsonrpc", rpcOf("test.sleep", long)),
    "/jsonrpc, a batch": postOf("/jsonrpc", [rpcOf("test.sleep", long), rpcOf("test.sleep", long, 2)]),
    "/mcp/tools/invoke": postOf("/mcp/tools/invoke", { name: "test.sleep", arguments: long }),
    "the address of a tool": postOf("/mcp/tools/test.sleep", rpcOf("test.sleep", long)),
    "modern MCP": modernCall("test.sleep", long),
};

suite("a half-close cancels a call", { concurrency: 2 }, () => {
    for (const [door, text] of Object.entries(calls)) {
        for (const [when, after] of Object.entries({ "at once": 0, "while it runs": 150 })) {
            test(`of ${door}, ${when}`, async (t) => {
                const server = await start(t);
                const c = await sendAndEnd(server, text, after);
                await c.closed(5_000);
                assert.equal(c.buffer.length, 0, "there is no answer");
                const { awake } = await timed(() => callToolWell(server, "test.echo", { message: "x" }));
                assert.ok(awake < long.ms - 1_000, `the next call took ${awake.toFixed(0)} ms`);
            });
        }
    }
});

suite("a half-close while a password is checked", { concurrency: 2 }, () => {
    async function startWithAccounts(t) {
        const server = await startAccounts({
            config: {
                ...{ loops: 1, plugins: { workers: 1 } },
                roles: { anonymous: permissions, authenticated: permissions, editor: permissions },
            },
        });
        t.after(() => server.stop());
        await callToolWell(server, "test.echo", { message: "x" });
        return server;
    }
    const login = basic("alice", "s3cret");

    test("cancels a call of /jsonrpc", async (t) => {
        const server = await startWithAccounts(t);
        const c = await sendAndEnd(server, postOf("/jsonrpc", rpcOf("test.sleep", long), login), 0);
        await c.closed(5_000);
        assert.equal(c.buffer.length, 0, "there is no answer");
        const { awake } = await timed(() => callToolWell(server, "test.echo", { message: "x" }));
        assert.ok(awake < long.ms - 1_000, `the next call took ${awake.toFixed(0)} ms`);
    });

    test("does not cancel a legacy MCP call", async (t) => {
        const server = await startWithAccounts(t);
        const params = { name: "test.sleep", arguments: { ms: 300 } };
        const c = await sendAndEnd(server, postOf("/mcp", rpcOf("tools/call", params), login), 0);
        assert.equal((await c.response()).status, 200);
        await c.closed();
    });
});

suite("a half-close does not cancel", { concurrency: 2 }, () => {
    for (const [when, after] of Object.entries({ "at once": 0, "while it runs": 100 })) {
        test(`a legacy MCP call, ${when}: it is answered, and then the connection ends`, async (t) => {
            const server = await start(t);
            const { headers } = await initialize(server, "2025-11-25");
            const session = { "Mcp-Session-Id": headers.get("mcp-session-id") };
            const params = { name: "test.sleep", arguments: { ms: 400 } };
            for (const more of [{}, session]) {
                const text = postOf("/mcp", rpcOf("tools/call", params), more);
                const c = await sendAndEnd(server, text, after);
                const answer = await c.response();
                assert.equal(answer.status, 200);
                assert.equal(JSON.parse(answer.text).id, 1);
                await c.closed();
            }
        });
    }

    test("notifications of /jsonrpc, which are run to their end", async (t) => {
        const server = await start(t);
        const text = postOf("/jsonrpc", { jsonrpc: "2.0", method: "test.sleep", params: { ms: 700 } });
        const c = await sendAndEnd(server, text, 0);
        assert.equal((await c.response()).status, 204);
        const ends = async () =>
            (await scrape(server))
                .find("causeway_calls_total", { tool: "test.sleep" })
                .filter(({ value }) => value > 0);
        await eventually(async () => (await ends()).length > 0, "the end of the call", 10_000);
        assert.deepEqual(
            (await ends()).map(({ labels, value }) => [labels.outcome, value]),
            [["ok", 1]],
        );
    });

    test("what is answered at once: lists, documents, errors", async (t) => {
        const server = await start(t);
        for (const [text, status] of [
            [get("/mcp/tools/list"), 200],
            [get("/jsonrpc/methods"), 200],
            [get("/healthz"), 200],
            [postOf("/jsonrpc", rpcOf("no.such", {})), 400],
        ]) {
            const c = await sendAndEnd(server, text, 0);
            assert.equal((await c.response()).status, status);
            await c.closed();
        }
    });
});
