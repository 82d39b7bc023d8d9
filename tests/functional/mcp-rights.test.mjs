// Rights that are taken away while something lasts: a call that waits for its client, a stream, a
// subscription. And what many callers do to what is remembered of others' sessions.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { suite, test } from "node:test";
import { basic, bearer, call, databasePath, discover, startAccounts } from "./support/accounts.mjs";
import {
    assertRpcError,
    both,
    callTool,
    EventStream,
    legacy,
    modern,
    modernParts,
    onAllLoops,
    ownName,
    post,
    startBridge,
    toolNames,
    untilTool,
} from "./support/mcp.mjs";
import { noDatabase, oneProcess, oneReplica } from "./support/programs.mjs";
import { compilePlugin } from "./support/plugins.mjs";
import { Connection, eventually, inParallel, pause, request } from "./support/server.mjs";

const source = `#include <causeway/plugin.h>
#include <causeway/mcp.h>
CW_PLUGIN("vault", "1.0");
static void open_it(cw_call *c)
{
    if (cw_ask_form(c, "u", "Sure?", CW_JSON({"type": "object"})))
        cw_content_text(c, "opened");
}
CW_METHOD(open_it, "vault.open", .usage = "Asks, then opens.", .permissions = {"open vault"});
CW_TOOL(open_it);
static void scoped(cw_call *c) { open_it(c); }
CW_METHOD(scoped, "vault.scoped", .usage = "The same for tokens.");
CW_TOOL(scoped, .scopes = {"vault:open"}, .visibility = "challenge");
static void prompt(cw_call *c) { open_it(c); }
CW_METHOD(prompt, "vault.prompt", .usage = "The same as a prompt.", .permissions = {"open vault"});
CW_PROMPT(prompt);
static void secret(cw_call *c) { open_it(c); }
CW_METHOD(secret, "vault.secret", .usage = "The same as a resource.", .permissions = {"open vault"});
CW_RESOURCE(secret, .uri = "vault://secret", .name = "secret", .mime_type = "text/plain");
static void open_to_all(cw_call *c) { cw_content_text(c, "all"); }
CW_METHOD(open_to_all, "vault.public", .usage = "For everybody.");
CW_RESOURCE(open_to_all, .uri = "vault://public", .name = "public", .mime_type = "text/plain");
static void touch(cw_call *c)
{
    cw_resource_updated(c, "vault://secret");
    cw_resource_updated(c, "vault://public");
    cw_content_text(c, "touched");
}
CW_METHOD(touch, "vault.touch", .usage = "Both resources have changed.");
CW_TOOL(touch);
static void say(cw_call *c)
{
    cw_call_log(c, CW_LEVEL_ERROR, "said");
    cw_result_text(c, "said");
}
CW_METHOD(say, "vault.say", .usage = "Writes a log line.");
CW_TOOL(say);
`;

const roles = {
    anonymous: [discover, call],
    authenticated: [discover, call],
    editor: ["open vault"],
};
const alice = basic("alice", "s3cret");
const bob = basic("bob", "b0b");
const accept = { action: "accept", content: {} };

async function withVault(t, server) {
    t.after(() => server.stop());
    compilePlugin(server.plugins, "vault", source);
    const there = async () => (await modern(server, "tools/list")).json.result.tools.length > 0;
    await eventually(() => onAllLoops(there), "the vault", 10_000);
    return server;
}

const start = async (t, config = {}) =>
    withVault(t, await startAccounts({ plugins: [], config: { loops: 2, roles, ...config } }));

async function openSession(server, headers = {}) {
    const params = {
        protocolVersion: "2025-11-25",
        capabilities: { elicitation: {} },
        clientInfo: { name: "test", version: "1" },
    };
    const { status, headers: got, text } = await legacy(server, "initialize", params, { headers });
    assert.equal(status, 200, text);
    return { ...headers, "Mcp-Session-Id": got.get("mcp-session-id") };
}

const send = (server, headers, method, params) =>
    EventStream.of(server, {
        method: "POST",
        body: JSON.stringify({ jsonrpc: "2.0", id: 7, method, params }),
        headers: { "Content-Type": "application/json", ...both, ...headers },
    });

// What a call ends with that was answered with these headers.
async function answered(server, stream, headers) {
    const { id } = await stream.next();
    const body = { jsonrpc: "2.0", id, result: accept };
    assert.equal((await post(server, "/mcp", body, { ...both, ...headers })).status, 202);
    const [last, ...more] = await stream.rest();
    assert.deepEqual(more, []);
    assert.equal(last.id, 7);
    return last;
}

async function revoke(server) {
    await server.cli("account", "revoke", "alice", "editor");
    const look = async () => {
        const { json } = await modern(server, "tools/list", {}, { headers: alice });
        return !json.result.tools.some((tool) => ownName(tool) === "vault.open");
    };
    await eventually(() => onAllLoops(look), "the role is gone");
}

const ways = [
    ["tools/call", { name: "vault.open", arguments: {} }, -32602, "Unknown tool: vault.open"],
    ["prompts/get", { name: "vault.prompt" }, -32602, "Unknown prompt: vault.prompt"],
    ["resources/read", { uri: "vault://secret" }, -32002, "Resource not found: vault://secret"],
];

suite("a call that waited for its client", { concurrency: true }, () => {
    test("threat-C13: runs with the rights that the answering caller has by then", async (t) => {
        const server = await start(t);
        const session = await openSession(server, alice);
        // Several of each, so that answers come through the other loop as well.
        const open = () =>
            Promise.all([...ways, ...ways].map(([method, params]) => send(server, session, method, params)));
        for (const stream of await open()) {
            const { result } = await answered(server, stream, session);
            assert.match(JSON.stringify(result), /opened/);
        }
        const waiting = await open();
        await revoke(server);
        for (const [i, stream] of waiting.entries()) {
            const [, , code, message] = ways[i % ways.length];
            const { error } = await answered(server, stream, session);
            assert.deepEqual([error?.code, error?.message], [code, message]);
        }
    });

    test("threat-C13: is refused when a weaker credential of its account answers", async (t) => {
        const server = await start(t);
        const { token } = await server.token("alice", "--scope", "vault:open");
        const strong = await openSession(server, bearer(token));
        const weak = { ...strong, ...alice };
        const params = { name: "vault.scoped", arguments: {} };
        const good = await answered(server, await send(server, strong, "tools/call", params), strong);
        assert.match(JSON.stringify(good.result), /opened/);
        const bad = await answered(server, await send(server, strong, "tools/call", params), weak);
        assert.equal(bad.error?.code, -32000, JSON.stringify(bad));
        assert.deepEqual(bad.error.data.required_scopes, ["vault:open"]);
    });

    test("threat-C13: is refused when calling is no longer allowed at all", { skip: noDatabase }, async (t) => {
        const may = { anonymous: [discover, call, "open vault"] };
        const server = await withVault(t, await startBridge({ plugins: [], roles: may }));
        const session = await openSession(server);
        const stream = await send(server, session, "tools/call", ways[0][1]);
        await stream.next();
        stream.taken = 0;
        reload(server, { roles: { anonymous: [discover] } });
        const refused = async () => (await callTool(server, "vault.say", {})).json.result?.isError === true;
        await eventually(() => onAllLoops(refused), "the roles");
        const { error } = await answered(server, stream, session);
        assert.equal(error?.code, -32000);
    });
});

function reload(server, change) {
    const config = JSON.parse(readFileSync(server.config, "utf8"));
    writeFileSync(server.config, JSON.stringify({ ...config, ...change }));
    server.child.kill("SIGHUP");
}

const updated = (uri) => ({ method: "notifications/resources/updated", uri });
const told = ({ method, params }) => ({ method, uri: params?.uri });
const touch = (server) => callTool(server, "vault.touch", {});

suite("a listener", { concurrency: true }, () => {
    const uris = ["vault://secret", "vault://public"];

    test("threat-C13: of a session hears nothing of what it may not see any more", { skip: oneReplica }, async (t) => {
        const server = await start(t);
        const session = await openSession(server, alice);
        for (const uri of uris) {
            const { json } = await legacy(server, "resources/subscribe", { uri }, { headers: session });
            assert.deepEqual(json.result, {});
        }
        const before = await EventStream.get(server, session);
        await touch(server);
        assert.deepEqual([told(await before.next()), told(await before.next())], uris.map(updated));
        await revoke(server);
        await before.rest();
        const after = await EventStream.get(server, session);
        assert.equal(after.status, 200);
        await touch(server);
        assert.deepEqual(told(await after.next()), updated("vault://public"));
        await pause(100);
        assert.equal(after.events.length, 1, JSON.stringify(after.events));
    });

    test("threat-C13: of subscriptions/listen neither, and of no list when listing is over", {
        skip: noDatabase,
    }, async (t) => {
        const may = (...more) => ({ roles: { anonymous: [call, ...more] } });
        const server = await withVault(t, await startBridge({ plugins: [], ...may(discover, "open vault") }));
        const params = { notifications: { resourceSubscriptions: uris, toolsListChanged: true } };
        const stream = await EventStream.open(server, "subscriptions/listen", params);
        assert.deepEqual((await stream.next()).params.notifications.resourceSubscriptions, uris);
        await touch(server);
        assert.deepEqual([told(await stream.next()), told(await stream.next())], uris.map(updated));
        reload(server, may(discover));
        assert.match((await stream.next()).method, /tools\/list_changed$/);
        await untilTool(server, "vault.open", false);
        await touch(server);
        assert.deepEqual(told(await stream.next()), updated("vault://public"));
        reload(server, may());
        const isEmpty = async () => (await toolNames(server)).length === 0;
        await eventually(() => onAllLoops(isEmpty), "the roles");
        await touch(server);
        const [last, ...more] = await stream.rest();
        assert.equal(last.result?.resultType, "complete", JSON.stringify(last));
        assert.deepEqual(more, []);
    });

    test("that is read slowly still gets list_changed before a change of rights ends it", {
        skip: oneProcess,
    }, async (t) => {
        // A reader that takes nothing for that long is closed; on a busy machine the calls below may last longer.
        const timeouts = { write: "10m" };
        const server = await start(t, { loops: 1, limits: { stream_queue: "64KB" }, timeouts });
        const c = await Connection.open(server);
        // An id that makes each message long: they are soon more than the kernel keeps.
        const id = "i".repeat(10_000);
        const notifications = { toolsListChanged: true, resourceSubscriptions: uris };
        const { body, headers } = modernParts("subscriptions/listen", { notifications }, { id, headers: alice });
        const all = { "Content-Type": "application/json", ...headers };
        await c.send(request("POST", "/mcp", all, JSON.stringify(body)));
        // The login of a busy machine takes longer than all that follows.
        await c.until(() => c.buffer.includes("acknowledged"), "the subscription", 20_000);
        c.socket.pause();
        await inParallel(Array.from({ length: 800 }), 20, () => touch(server));
        await revoke(server);
        await pause(100);
        assert.ok(!c.ended);
        c.socket.resume();
        await c.until(() => c.ended || c.buffer.includes("\r\n0\r\n\r\n"), "the end", 20_000);
        const at = ["notifications/tools/list_changed", '"resultType":"complete"'].map((text) =>
            c.buffer.indexOf(text),
        );
        assert.ok(at[0] > 0 && at[0] < at[1], at.join());
        assert.equal(c.buffer.lastIndexOf("notifications/tools/list_changed"), at[0]);
        // The queue was full: many updates are not among what came.
        assert.ok(c.buffer.toString().split("notifications/resources/updated").length < 1_500);
        c.close();
    });

    test("threat-C13: there is none in either era for a caller who may list nothing", {
        skip: noDatabase,
    }, async (t) => {
        const roles = { anonymous: [] };
        const server = await startBridge({ plugins: [], roles });
        t.after(() => server.stop());
        const session = await openSession(server);
        // A stream would keep the test from ending.
        const aborter = new AbortController();
        t.after(() => aborter.abort());
        const answer = await fetch(`${server.url}/mcp`, {
            headers: { Accept: "text/event-stream", ...session },
            signal: aborter.signal,
        });
        // A 401 would keep clients from the request that is challenged.
        assert.equal(answer.status, 405);
        assert.equal(answer.headers.get("allow"), "POST, DELETE, OPTIONS");
        assert.equal((await answer.text()).trim(), "This caller has no stream.");
        const listen = (to) => modern(to, "subscriptions/listen", { notifications: {} });
        const { json } = await legacy(server, "tools/list", {}, { headers: session });
        assert.deepEqual(json.result.tools, []);
        assert.match(assertRpcError(await listen(server), 200, -32000, 1).message, /^This request requires a login/);
        const guarded = await startBridge({ plugins: [], roles, config: { store: { path: databasePath() } } });
        t.after(() => guarded.stop());
        const list = await legacy(guarded, "tools/list");
        assert.deepEqual([list.status, (await listen(guarded)).status], [401, 401]);
    });
});

suite("what is remembered of a session", { concurrency: true }, () => {
    const silent = { log_level: "off" }; // only a level that was set brings lines
    const setLevel = (server, headers) => legacy(server, "logging/setLevel", { level: "error" }, { headers });
    const remove = (server, headers) => fetch(`${server.url}/mcp`, { method: "DELETE", headers });
    const ping = async (server, headers) => (await legacy(server, "ping", {}, { headers })).status;
    const from = (address) => ({ "X-Forwarded-For": address });

    async function hearsLog(server, headers) {
        const stream = await send(server, headers, "tools/call", { name: "vault.say" });
        return (await stream.rest()).some(({ method }) => method === "notifications/message");
    }

    test("threat-A7: is not pushed out by others, who are told that there is no more room", {
        skip: oneReplica,
    }, async (t) => {
        const server = await start(t, { mcp: silent, trusted_proxies: ["127.0.0.0/8"] });
        const [listening, ended] = [await openSession(server, alice), await openSession(server, bob)];
        const neighbour = await openSession(server, from("203.0.113.9"));
        const stream = await EventStream.get(server, listening);
        await legacy(server, "resources/subscribe", { uri: "vault://public" }, { headers: listening });
        assert.deepEqual((await setLevel(server, neighbour)).json.result, {});
        assert.equal((await remove(server, ended)).status, 204);
        const seen = { kept: 0, refused: 0 };
        await inParallel(
            Array.from({ length: 4_200 }, (_, i) => i),
            20,
            async (i) => {
                const session = await openSession(server, from("203.0.113.66"));
                const { json, text } = await setLevel(server, session);
                assert.ok(json.result || json.error?.code === -32000, text);
                seen[json.result ? "kept" : "refused"] += 1;
                if (i % 2) {
                    assert.equal((await remove(server, session)).status, 204);
                }
            },
        );
        assert.ok(seen.refused > 0, JSON.stringify(seen));
        assert.ok(await hearsLog(server, neighbour));
        assert.equal(await ping(server, ended), 404);
        await touch(server);
        assert.deepEqual(told(await stream.next()), updated("vault://public"));
        // Others have room.
        assert.deepEqual((await setLevel(server, await openSession(server, alice))).json.result, {});
        const other = await openSession(server, from("203.0.113.10"));
        assert.deepEqual((await setLevel(server, other)).json.result, {});
    });

    test("gives way to a newer one of the same caller only when it is ended", { skip: oneReplica }, async (t) => {
        const server = await start(t, { mcp: silent });
        const sessions = [];
        for (let i = 0; i < 256; i += 1) {
            sessions.push(await openSession(server, bob));
            assert.deepEqual((await setLevel(server, sessions[i])).json.result, {});
        }
        const next = await openSession(server, bob);
        const { message } = assertRpcError(await setLevel(server, next), 200, -32000, 1);
        assert.match(message, /^Too much is remembered/);
        assert.ok(await hearsLog(server, sessions[0]));
        assert.equal((await remove(server, sessions[0])).status, 204);
        assert.deepEqual((await setLevel(server, next)).json.result, {});
        assert.equal(await ping(server, sessions[0]), 404);
        assert.ok(await hearsLog(server, next));
    });
});
