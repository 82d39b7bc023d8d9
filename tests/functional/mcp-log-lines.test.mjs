// Log lines of methods for MCP clients: the level before and after logging/setLevel, in both eras.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
    assertRpcError,
    both,
    EventStream,
    initialize,
    legacy,
    makePluginFolder,
    metaKey,
    permissions,
    reloadBridge,
    startBridge,
} from "./support/mcp.mjs";
import { writeConfig } from "./support/programs.mjs";
import { StdioClient } from "./support/stdio.mjs";

const levels = ["error", "warn", "info", "debug"];

async function start(t, mcp) {
    const server = await startBridge({ config: { mcp } });
    t.after(() => server.stop());
    return server;
}

async function openSession(server) {
    const { headers } = await initialize(server, "2025-11-25");
    return { "Mcp-Session-Id": headers.get("mcp-session-id") };
}

const call = (level) => ({ name: "test.log", arguments: { message: level, level } });
const dataOf = (messages) =>
    messages.filter(({ method }) => method === "notifications/message").map(({ params }) => params.data);

// The levels whose lines reach a session.
async function received(server, headers) {
    const lines = [];
    for (const level of levels) {
        const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: call(level) };
        const answer = await fetch(`${server.url}/mcp`, {
            method: "POST",
            body: JSON.stringify(body),
            headers: { "Content-Type": "application/json", ...both, ...headers },
        });
        const text = await answer.text();
        const isStream = answer.headers.get("content-type").startsWith("text/event-stream");
        const data = isStream ? [...text.matchAll(/^data: ?(.*)$/gm)].map(([, json]) => json) : [text];
        const messages = data.map((json) => JSON.parse(json));
        assert.equal(messages.at(-1).result.structuredContent.result, true, text);
        lines.push(...dataOf(messages));
    }
    return lines;
}

const setLevel = (server, headers, level) => legacy(server, "logging/setLevel", { level }, { headers });

suite("log lines of a session", { concurrency: true }, () => {
    test("begin with info, and then have the level that the client sets", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        assert.deepEqual(await received(server, session), ["error", "warn", "info"]);
        // An emergency is more severe than all lines: the client gets none.
        for (const [level, expected] of [
            ["debug", levels],
            ["emergency", []],
            ["warning", ["error", "warn"]],
        ]) {
            assert.deepEqual((await setLevel(server, session, level)).json.result, {});
            assert.deepEqual(await received(server, session), expected, level);
        }
        assert.deepEqual(await received(server, await openSession(server)), ["error", "warn", "info"]);
    });

    test("begin with mcp.log_level, which a reload changes", async (t) => {
        const server = await start(t, { log_level: "error" });
        const [silent, other] = [await openSession(server), await openSession(server)];
        await setLevel(server, silent, "emergency");
        assert.deepEqual(await received(server, other), ["error"]);
        await reloadBridge(server, { mcp: { log_level: "debug" } });
        assert.deepEqual(await received(server, other), levels);
        assert.deepEqual(await received(server, silent), []);
        await reloadBridge(server, { mcp: { log_level: "off" } });
        assert.deepEqual(await received(server, other), []);
    });

    test("a request without a session, and one of 2026-07-28 without a level, get none", async (t) => {
        const server = await start(t);
        assert.deepEqual(await received(server, {}), []);
        const linesOf = async (meta) => {
            const stream = await EventStream.open(server, "tools/call", call("error"), { meta });
            return dataOf(await stream.rest());
        };
        assert.deepEqual(await linesOf({ progressToken: 1 }), []);
        assert.deepEqual(await linesOf({ [metaKey("logLevel")]: "info" }), ["error"]);
    });

    test("are not offered without sessions", async (t) => {
        const server = await start(t, { legacy_sessions: false });
        const { json } = await initialize(server, "2025-11-25");
        assert.deepEqual(json.result.capabilities, { tools: {} });
        const { message } = assertRpcError(await setLevel(server, {}, "info"), 200, -32601, 1);
        assert.equal(message, "Method not found: logging/setLevel");
        assert.deepEqual(await received(server, {}), []);
    });
});

suite("log lines on standard output", { concurrency: true }, () => {
    const startStdio = (mcp) => {
        const plugins = { directory: makePluginFolder(["echo"]) };
        return new StdioClient(["--config", writeConfig({ roles: { anonymous: permissions }, plugins, mcp })]);
    };

    async function receivedBy(client) {
        const before = client.messages.length;
        for (const level of levels) {
            const { result } = await client.ask("tools/call", call(level));
            assert.equal(result.structuredContent.result, true);
        }
        return dataOf(client.messages.slice(before));
    }

    for (const [mcp, expected] of [
        [{}, ["error", "warn", "info"]],
        [{ log_level: "error", legacy_sessions: false }, ["error"]],
    ]) {
        test(`begin with ${mcp.log_level ?? "info"}`, async () => {
            const client = startStdio(mcp);
            const { result } = await client.initialize();
            assert.deepEqual(result.capabilities.logging, {});
            assert.deepEqual(await receivedBy(client), expected);
            assert.deepEqual((await client.ask("logging/setLevel", { level: "emergency" })).result, {});
            assert.deepEqual(await receivedBy(client), []);
            await client.end();
        });
    }
});
