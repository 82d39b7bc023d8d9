// Who is told of changes: what sources tell themselves, to modern subscriptions and to the streams
// of legacy sessions (GET), and how those end (DELETE).
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import {
    addPlugin,
    assertRpcError,
    callToolWell,
    EventStream,
    initialize,
    legacy,
    metaKey,
    modern,
    modernParts,
    startBridge,
    untilTool,
} from "./support/mcp.mjs";
import { patience } from "./support/programs.mjs";
import { Connection, eventually, inParallel, openFiles, pause, request } from "./support/server.mjs";

const watched = "test://watched-resource";
const changed = (list) => `notifications/${list}/list_changed`;
const updated = "notifications/resources/updated";
const trigger = (server, what) => callToolWell(server, `test_trigger_${what}`, {});

let server;
before(async () => (server = await startBridge({ plugins: ["conformance"] })));
after(() => server?.stop());

async function listen(to, notifications, id = 1) {
    const params = { notifications };
    const stream = await EventStream.open(to, "subscriptions/listen", params, { id });
    assert.equal(stream.status, 200);
    const { method, params: acknowledged } = await stream.next();
    assert.equal(method, "notifications/subscriptions/acknowledged");
    stream.honoured = acknowledged.notifications;
    return stream;
}

// The headers of a new session.
async function newSession(to, version = "2025-11-25") {
    const { headers } = await initialize(to, version);
    const id = headers.get("mcp-session-id");
    assert.match(id, /^[\x21-\x7e]+$/);
    return { "Mcp-Session-Id": id };
}

async function openSession(to) {
    const headers = await newSession(to);
    const stream = await EventStream.get(to, headers);
    assert.equal(stream.status, 200);
    assert.match(stream.type, /^text\/event-stream/);
    return { headers, stream };
}

const subscribe = (to, headers, uri = watched, method = "subscribe") =>
    legacy(to, `resources/${method}`, { uri }, { headers });

const remove = (to, headers) => fetch(`${to.url}/mcp`, { method: "DELETE", headers });

suite("a modern subscription", { concurrency: true }, () => {
    test("is told what sources tell, as far as it asked", async () => {
        const all = await listen(server, {
            toolsListChanged: true,
            promptsListChanged: true,
            resourcesListChanged: true,
            resourceSubscriptions: [watched, "test://template/1/data", "test://nothing", 5],
        });
        assert.deepEqual(all.honoured, {
            toolsListChanged: true,
            promptsListChanged: true,
            resourcesListChanged: true,
            resourceSubscriptions: [watched, "test://template/1/data"],
        });
        const one = await listen(server, { resourceSubscriptions: [watched] }, "one");
        const other = await listen(server, { resourceSubscriptions: ["test://static-text"] });
        const _meta = { [metaKey("subscriptionId")]: 1 };
        await trigger(server, "tool_change");
        assert.deepEqual(await all.next(), {
            jsonrpc: "2.0",
            method: changed("tools"),
            params: { _meta },
        });
        await trigger(server, "prompt_change");
        assert.equal((await all.next()).method, changed("prompts"));
        await trigger(server, "resource_update");
        assert.deepEqual(await all.next(), {
            jsonrpc: "2.0",
            method: updated,
            params: { uri: watched, _meta },
        });
        assert.deepEqual((await one.next()).params, {
            uri: watched,
            _meta: { [metaKey("subscriptionId")]: "one" },
        });
        await pause(100);
        assert.equal(other.events.length, 1);
    });

    test("is told of prompts and resources of a plugin that comes and goes", async (t) => {
        const own = await startBridge({ plugins: ["echo"] });
        t.after(() => own.stop());
        const wishes = { promptsListChanged: true, resourcesListChanged: true };
        const stream = await listen(own, wishes);
        const twice = [changed("prompts"), changed("resources")];
        addPlugin(own.plugins, "conformance");
        assert.deepEqual([(await stream.next()).method, (await stream.next()).method], twice);
        rmSync(path.join(own.plugins, "conformance.so"));
        assert.deepEqual([(await stream.next()).method, (await stream.next()).method], twice);
        addPlugin(own.plugins, "faults");
        await untilTool(own, "faults.ok");
        await pause(100);
        assert.equal(stream.events.length, 5);
    });

    test("names no more resources than can be looked for and acknowledged", async () => {
        const ask = (resourceSubscriptions) => {
            const params = { notifications: { resourceSubscriptions } };
            // A stream would have no end.
            const fetch = { signal: AbortSignal.timeout(patience(60_000)) };
            return modern(server, "subscriptions/listen", params, { fetch });
        };
        const uri = (i, n = 1) => `test://template/${i}${"x".repeat(n)}/data`;
        const many = (n, of) => Array.from({ length: n }, (_, i) => of(i));
        const most = await listen(server, { resourceSubscriptions: many(1_000, (i) => uri(i)) });
        assert.equal(most.honoured.resourceSubscriptions.length, 1_000);
        // Of more than that the first are honoured.
        const more = await listen(server, { resourceSubscriptions: many(1_500, (i) => uri(i)) });
        assert.deepEqual(more.honoured, most.honoured);
        for (const of of [(i) => `test://nothing/${i}`, () => 5]) {
            const none = await listen(server, { resourceSubscriptions: [...many(1_000, of), uri(1)] });
            assert.deepEqual(none.honoured, {});
        }
        for (const named of [
            many(40, (i) => uri(i, 4_000)),
            // A quotation mark is said with two bytes.
            many(20, (i) => `test://template/${i}${'"'.repeat(4_000)}/data`),
        ]) {
            assertRpcError(await ask(named), 200, -32602, 1);
        }
    });

    test("that is read slowly is told of every resource in the end", async (t) => {
        const own = await startBridge({
            plugins: ["conformance"],
            // It is not given up while nothing is read.
            config: { loops: 1, limits: { stream_queue: "64KB" }, timeouts: { write: "10m" } },
        });
        t.after(() => own.stop());
        const c = await Connection.open(own);
        const uris = Array.from({ length: 200 }, (_, i) => `test://template/${i}/data`);
        const wishes = { toolsListChanged: true, resourceSubscriptions: [watched, ...uris] };
        // An id that makes each message long: they are soon more than the kernel keeps.
        const id = "i".repeat(10_000);
        const { body, headers } = modernParts("subscriptions/listen", { notifications: wishes }, { id });
        const all = { "Content-Type": "application/json", ...headers };
        c.socket.pause();
        await c.send(request("POST", "/mcp", all, JSON.stringify(body)));
        for (let i = 0; i < 1_500; i += 50) {
            await Promise.all(Array.from({ length: 50 }, () => trigger(own, "resource_update")));
        }
        c.socket.resume();
        const isTold = (uri) => c.buffer.includes(`"params":{"uri":"${uri}"`);
        const isOver = () => c.ended || c.buffer.includes("\r\n0\r\n\r\n");
        await c.until(() => isOver() || uris.every(isTold), "word of every resource", 20_000);
        assert.ok(!isOver(), "the stream has ended");
        // It goes on as before.
        await trigger(own, "tool_change");
        await c.until(() => c.buffer.includes(changed("tools")), "the next change");
        c.close();
    });

    test("is refused when there are too many, and has room again when one has left", async (t) => {
        const own = await startBridge({ config: { limits: { subscriptions: 3 } } });
        t.after(() => own.stop());
        const wishes = { toolsListChanged: true };
        const open = [await listen(own, wishes), await listen(own, wishes), await listen(own, wishes)];
        const refused = () => modern(own, "subscriptions/listen", { notifications: wishes });
        assertRpcError(await refused(), 503, -32603, 1);
        open[0].close();
        const again = async () => {
            const stream = await EventStream.open(own, "subscriptions/listen", {
                notifications: wishes,
            });
            return stream.status === 200;
        };
        await eventually(again, "room for another one");
    });
});

// One after the other: all listen to the same server.
suite("GET", () => {
    const status = async (headers, to = server) => (await EventStream.get(to, headers)).status;

    test("needs a session that is there, and an Accept that allows events", async () => {
        const headers = await newSession(server);
        const none = await EventStream.get(server);
        assert.deepEqual([none.status, none.headers.get("allow")], [405, "POST, DELETE, OPTIONS"]);
        assert.match(none.type, /^text\/plain/);
        assert.equal(await status({ "Mcp-Session-Id": "nobody" }), 404);
        const id = headers["Mcp-Session-Id"];
        const forged = id.slice(0, -1) + (id.endsWith("A") ? "B" : "A");
        assert.equal(await status({ "Mcp-Session-Id": forged }), 404);
        assert.equal(await status({ ...headers, Accept: "application/json" }), 406);
        assert.equal(await status({ ...headers, "MCP-Protocol-Version": "1999-01-01" }), 400);
        assert.equal(await status({ "MCP-Protocol-Version": "2026-07-28" }), 405);
    });

    test("and DELETE take every spoken version in their header", async () => {
        for (const version of ["2026-07-28", "2025-11-25", "2025-06-18", "2024-11-05"]) {
            const headers = { ...(await newSession(server)), "MCP-Protocol-Version": version };
            assert.equal(await status(headers), 200, version);
            assert.equal((await remove(server, headers)).status, 204, version);
        }
    });

    test("and POST and DELETE work with a slash behind the path", async () => {
        const headers = await newSession(server);
        const url = `${server.url}/mcp/`;
        const answer = await fetch(url, { headers: { ...headers, Accept: "text/event-stream" } });
        assert.equal(answer.status, 200);
        await answer.body.cancel();
        const { body, headers: own } = modernParts("tools/list");
        const list = await fetch(url, {
            method: "POST",
            headers: { "Content-Type": "application/json", ...own },
            body: JSON.stringify(body),
        });
        assert.ok((await list.json()).result.tools.length > 0);
        assert.equal((await fetch(url, { method: "PUT" })).status, 405);
        assert.equal((await fetch(url, { method: "DELETE", headers })).status, 204);
    });

    test("and subscriptions/listen tell when to connect again, in front of the first event", async (t) => {
        const own = await startBridge({ plugins: ["conformance"], config: { timeouts: { sse_keepalive: "100ms" } } });
        t.after(() => own.stop());
        const { headers, stream } = await openSession(own);
        await eventually(() => stream.comments >= 2, "comments");
        assert.ok(headers);
        assert.match(stream.text, /^retry: \d+\n$/);
        await trigger(own, "tool_change");
        await stream.next();
        assert.match(stream.events[0].lines[0], /^retry: \d+$/);
        assert.match(stream.events[0].lines[1], /^event: message$/);
        const listening = await listen(own, { toolsListChanged: true });
        assert.match(listening.events[0].lines[0], /^retry: \d+$/);
        const progress = await EventStream.open(
            own,
            "tools/call",
            {
                name: "test_tool_with_progress",
                arguments: {},
            },
            { meta: { progressToken: 1 } },
        );
        await progress.rest();
        assert.ok(progress.events.length > 1);
        assert.ok(progress.events.every(({ lines }) => !lines.some((line) => line.startsWith("retry"))));
    });

    test("and DELETE are 405 without sessions", async (t) => {
        const own = await startBridge({ config: { mcp: { legacy_sessions: false } } });
        t.after(() => own.stop());
        const { headers, json } = await initialize(own, "2025-11-25");
        assert.equal(headers.get("mcp-session-id"), null);
        assert.deepEqual(json.result.capabilities.tools, {});
        const stream = await EventStream.get(own, { "Mcp-Session-Id": "x" });
        assert.equal(stream.status, 405);
        assert.equal(stream.headers.get("allow"), "POST, OPTIONS");
        assert.equal((await remove(own, { "Mcp-Session-Id": "x" })).status, 405);
    });

    test("tells of lists, and of resources that the session has subscribed to", async () => {
        const { headers, stream } = await openSession(server);
        const { stream: other } = await openSession(server);
        await trigger(server, "tool_change");
        assert.deepEqual(await stream.next(), { jsonrpc: "2.0", method: changed("tools") });
        assert.equal((await other.next()).method, changed("tools"));
        assert.deepEqual((await subscribe(server, headers)).json.result, {});
        assert.deepEqual((await subscribe(server, headers)).json.result, {});
        await trigger(server, "resource_update");
        assert.deepEqual(await stream.next(), {
            jsonrpc: "2.0",
            method: updated,
            params: { uri: watched },
        });
        const taken = await subscribe(server, headers, watched, "unsubscribe");
        assert.deepEqual(taken.json.result, {});
        await trigger(server, "resource_update");
        await trigger(server, "prompt_change");
        const [mine, others] = [await stream.next(), await other.next()];
        assert.equal(mine.method, changed("prompts"), JSON.stringify(stream.events));
        assert.equal(others.method, changed("prompts"));
    });

    test("of a session that has one already takes its place", async () => {
        const { headers, stream } = await openSession(server);
        const newer = await EventStream.get(server, headers);
        assert.equal(newer.status, 200);
        assert.deepEqual(await stream.rest(), []);
        await trigger(server, "tool_change");
        assert.equal((await newer.next()).method, changed("tools"));
    });

    test("of a session that opens two at the same moment stays: the two do not close each other", async (t) => {
        const own = await startBridge({ plugins: ["conformance"], config: { loops: 4 } });
        t.after(() => own.stop());
        const pairs = [];
        await inParallel(Array.from({ length: 200 }), 20, async () => {
            const headers = await newSession(own);
            pairs.push(await Promise.all([EventStream.get(own, headers), EventStream.get(own, headers)]));
        });
        await trigger(own, "tool_change");
        const isTold = (pair) => pair.some(({ events }) => events.length > 0);
        await eventually(() => pairs.every(isTold), "a message for each session", 20_000);
    });

    test("leaves without a trace", async () => {
        const { stream } = await openSession(server);
        const before_ = openFiles(server.pid);
        stream.close();
        await eventually(() => openFiles(server.pid) < before_, "the connection is closed");
        await trigger(server, "tool_change");
    });
});

suite("resources/subscribe", { concurrency: true }, () => {
    test("needs a session and a resource that the caller sees", async () => {
        const headers = await newSession(server);
        assertRpcError(await subscribe(server, {}), 200, -32600, 1);
        const { data } = assertRpcError(await subscribe(server, headers, "test://nothing"), 200, -32002, 1);
        assert.deepEqual(data, { uri: "test://nothing" });
        for (const uri of [5, null, undefined, ""]) {
            const answer = await legacy(server, "resources/subscribe", { uri }, { headers });
            assertRpcError(answer, 200, -32602, 1);
        }
        assert.deepEqual((await subscribe(server, headers, "test://template/7/data")).json.result, {});
        assertRpcError(await modern(server, "resources/subscribe", { uri: watched }), 404, -32601, 1);
    });

    test("has a ceiling for each session", async () => {
        const headers = await newSession(server);
        const uri = (i) => `test://template/${i}${"x".repeat(6_000)}/data`;
        let refused = 0;
        for (let i = 0; i < 12; i += 1) {
            const { json } = await subscribe(server, headers, uri(i));
            refused += json.error ? 1 : 0;
        }
        assert.equal(refused, 2);
        await subscribe(server, headers, uri(0), "unsubscribe");
        assert.deepEqual((await subscribe(server, headers, uri(11))).json.result, {});
    });
});

suite("DELETE", { concurrency: true }, () => {
    test("ends the session and its stream", async () => {
        const { headers, stream } = await openSession(server);
        await subscribe(server, headers);
        const answer = await remove(server, headers);
        assert.equal(answer.status, 204);
        assert.deepEqual(await stream.rest(), []);
        assertRpcError(await legacy(server, "ping", {}, { headers }), 404, -32001, 1);
        assert.equal((await EventStream.get(server, headers)).status, 404);
        assert.equal((await remove(server, headers)).status, 404);
    });

    test("needs a session", async () => {
        assert.equal((await remove(server, {})).status, 400);
        assert.equal((await remove(server, { "Mcp-Session-Id": "nobody" })).status, 404);
    });

    test("of a version that is not spoken ends nothing", async () => {
        const headers = await newSession(server);
        const other = { ...headers, "MCP-Protocol-Version": "2025-03-27" };
        assert.equal((await remove(server, other)).status, 400);
        assert.equal((await legacy(server, "ping", {}, { headers })).status, 200);
    });
});

suite("a server that stops", { concurrency: true }, () => {
    test("ends the streams of sessions", async () => {
        const own = await startBridge({ plugins: ["echo"] });
        const { stream } = await openSession(own);
        const stopped = own.stop();
        assert.deepEqual(await stream.rest(), []);
        await stopped;
    });

    test("spreads the ends of many streams, so that their clients do not come back at one moment", async () => {
        const streams = 300;
        const own = await startBridge({ plugins: ["echo"], config: { loops: 1 } });
        const params = { notifications: { toolsListChanged: true } };
        const open = await Promise.all(
            Array.from({ length: streams }, () => EventStream.open(own, "subscriptions/listen", params)),
        );
        await Promise.all(open.map((stream) => stream.next()));
        await own.stop();
        for (const stream of open) {
            const [last] = await stream.rest();
            assert.ok(last.result, "each one ends with its result");
        }
        // By the clock of the server: one a millisecond, in groups.
        const ends = own.stderr
            .split("\n")
            .filter((line) => /request peer=.* target="\/mcp" status=200 .* us=\d+/.test(line))
            .slice(-streams)
            .map((line) => Date.parse(line.slice(0, line.indexOf(" "))));
        assert.equal(ends.length, streams);
        const took = ends.at(-1) - ends[0];
        assert.ok(took >= streams / 2, `all ended within ${took} ms`);
    });
});
