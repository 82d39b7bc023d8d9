// Several callers in one session: one that was opened anonymously goes on with credentials, and
// everything in it belongs to one caller. A caller with other credentials who has the id reaches nothing.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { basic, call, discover, startAccounts } from "./support/accounts.mjs";
import { both, callTool, EventStream, legacy, ownName, post, untilTool } from "./support/mcp.mjs";
import { compilePlugin } from "./support/plugins.mjs";
import { oneReplica, patience, replicaCount, timeLimit } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";

const source = `#include <causeway/plugin.h>
#include <causeway/mcp.h>
#include <unistd.h>
CW_PLUGIN("shared", "1.0");
static void ask(cw_call *c)
{
    const cw_value *first = cw_ask_form(c, "first", "Sure?", CW_JSON({"type": "object"}));
    if (first && cw_ask_form(c, "second", "Really?", CW_JSON({"type": "object"})))
        cw_content_text(c, "asked");
}
CW_METHOD(ask, "shared.ask", .usage = "Asks twice.");
CW_TOOL(ask);
static void members(cw_call *c) { cw_content_text(c, "for members"); }
CW_METHOD(members, "shared.members", .usage = "For members.", .permissions = {"be a member"});
CW_TOOL(members);
static void page(cw_call *c) { cw_content_text(c, "page"); }
CW_METHOD(page, "shared.page", .usage = "A page.");
CW_RESOURCE(page, .uri = "shared://page", .name = "page", .mime_type = "text/plain");
static void touch(cw_call *c)
{
    cw_resource_updated(c, "shared://page");
    cw_content_text(c, "touched");
}
CW_METHOD(touch, "shared.touch", .usage = "The page has changed.");
CW_TOOL(touch);
static void say(cw_call *c)
{
    cw_call_log(c, CW_LEVEL_DEBUG, "a detail");
    cw_result_text(c, "said");
}
CW_METHOD(say, "shared.say", .usage = "Writes a log line.");
CW_TOOL(say);
static void hold(cw_call *c)
{
    cw_call_log(NULL, CW_LEVEL_WARN, "a call holds on");
    while (!cw_call_cancelled(c))
        usleep(1000);
}
CW_METHOD(hold, "shared.hold", .usage = "Ends when it is cancelled.");
CW_TOOL(hold);
`;

const may = [discover, call, "access content"];
const roles = { anonymous: may, authenticated: may, editor: ["be a member"] };
const alice = basic("alice", "s3cret");
const bob = basic("bob", "b0b");
const outsiders = { "the anonymous caller": {}, bob };
const uri = "shared://page";

const long = 600_000;

// Calls have more time than `long`, also on a machine that stands still for a while.
async function start(t) {
    const server = await startAccounts({ config: { loops: 2, roles, plugins: { timeout: "20m" } } });
    t.after(() => server.stop());
    compilePlugin(server.plugins, "shared", source);
    await untilTool(server, "shared.touch");
    await untilTool(server, "test.sleep");
    return server;
}

async function openSession(server, headers = {}) {
    const params = {
        protocolVersion: "2025-11-25",
        capabilities: { elicitation: {} },
        clientInfo: { name: "test", version: "1" },
    };
    const answer = await legacy(server, "initialize", params, { headers });
    assert.equal(answer.status, 200, answer.text);
    return { "Mcp-Session-Id": answer.headers.get("mcp-session-id") };
}

const ping = async (server, headers) => (await legacy(server, "ping", undefined, { headers })).status;
const remove = async (server, headers) => (await fetch(`${server.url}/mcp`, { method: "DELETE", headers })).status;
const subscribe = (server, headers, method = "resources/subscribe") => legacy(server, method, { uri }, { headers });
const setLevel = (server, headers) => legacy(server, "logging/setLevel", { level: "debug" }, { headers });

const begin = (server, headers, name, args = {}, id = 7) =>
    EventStream.of(server, {
        method: "POST",
        body: JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } }),
        headers: { "Content-Type": "application/json", ...both, ...headers },
    });

async function answer(server, headers, id) {
    const body = { jsonrpc: "2.0", id, result: { action: "accept", content: {} } };
    assert.equal((await post(server, "/mcp", body, { ...both, ...headers })).status, 202);
}

async function cancel(server, headers, requestId) {
    const body = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } };
    assert.equal((await post(server, "/mcp", body, { ...both, ...headers })).status, 202);
}

// A call that waits for an answer, and the id of its question.
async function asked(server, headers) {
    const stream = await begin(server, headers, "shared.ask");
    return { stream, id: (await stream.next()).id };
}

async function assertNoEvent(stream, why) {
    const { length } = stream.events;
    await pause(200);
    assert.equal(stream.events.length, length, why);
    assert.ok(!stream.ended, why);
}

const text = (message) => message?.result?.content?.[0]?.text;

suite("a session that was opened anonymously", { concurrency: true }, () => {
    test("goes on with credentials, and its requests have their rights", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        const list = async (headers) => {
            const { status, json } = await legacy(server, "tools/list", {}, { headers: { ...session, ...headers } });
            assert.equal(status, 200);
            return json.result.tools.map(ownName).includes("shared.members");
        };
        assert.deepEqual(
            [await list({}), await list(alice), await list(bob), await list({})],
            [false, true, false, false],
        );
        const body = { name: "shared.members", arguments: {} };
        const { json } = await legacy(server, "tools/call", body, { headers: { ...session, ...alice } });
        assert.equal(text(json), "for members");
        assert.equal(await ping(server, { ...session, ...basic("alice", "wrong") }), 401);
    });

    test("threat-C3: one that was opened with credentials is its caller's alone", async (t) => {
        const server = await start(t);
        const session = await openSession(server, alice);
        for (const [name, headers] of Object.entries(outsiders)) {
            const other = { ...session, ...headers };
            assert.deepEqual([await ping(server, other), await remove(server, other)], [404, 404], name);
        }
        assert.equal(await ping(server, { ...session, ...alice }), 200);
    });

    test("threat-C3: a question is answered by its caller alone", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        const mine = { ...session, ...alice };
        const { stream, id } = await asked(server, mine);
        for (const [name, headers] of Object.entries(outsiders)) {
            await answer(server, { ...session, ...headers }, id);
            await assertNoEvent(stream, `${name} has answered`);
        }
        await answer(server, mine, id);
        await answer(server, mine, (await stream.next()).id);
        assert.equal(text(await stream.next()), "asked");
    });

    test("threat-C3: who logs in answers what was asked before, and from then on the call is theirs", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        const mine = { ...session, ...alice };
        const { stream, id } = await asked(server, session);
        await answer(server, mine, id);
        const second = await stream.next();
        assert.equal(second.method, "elicitation/create");
        for (const [name, headers] of Object.entries(outsiders)) {
            await answer(server, { ...session, ...headers }, second.id);
            await cancel(server, { ...session, ...headers }, 7);
            await assertNoEvent(stream, `${name} has answered or cancelled`);
        }
        await answer(server, mine, second.id);
        assert.equal(text(await stream.next()), "asked");
    });

    test("threat-C3: a call is cancelled by its caller alone", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        const mine = { ...session, ...alice };
        const cancelled = async (headers, by, ms) => {
            let ended = false;
            const body = { name: "test.sleep", arguments: { ms } };
            const running = legacy(server, "tools/call", body, { id: 7, headers }).finally(() => (ended = true));
            while (!ended) {
                await cancel(server, by, 7);
            }
            return (await running).status === 202;
        };
        for (const [name, headers] of Object.entries(outsiders)) {
            assert.equal(await cancelled(mine, { ...session, ...headers }, 700), false, name);
        }
        assert.equal(await cancelled(mine, mine, long), true);
        // One that goes on with credentials may cancel what it began without them.
        assert.equal(await cancelled(session, mine, long), true);
    });

    test("threat-C3: subscriptions and their notices are one caller's", { skip: oneReplica }, async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        const mine = { ...session, ...alice };
        assert.deepEqual((await subscribe(server, mine)).json.result, {});
        const stream = await EventStream.get(server, mine);
        const others = [];
        for (const headers of Object.values(outsiders)) {
            others.push(await EventStream.get(server, { ...session, ...headers }));
            const gone = await subscribe(server, { ...session, ...headers }, "resources/unsubscribe");
            assert.deepEqual(gone.json.result, {});
        }
        await callTool(server, "shared.touch", {});
        assert.equal((await stream.next()).params.uri, uri);
        await pause(100);
        assert.deepEqual(
            others.map(({ events }) => events.length),
            [0, 0],
        );
    });

    test("threat-C3: a stream is replaced by a second one of its caller, and by no other", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        const mine = { ...session, ...alice };
        const first = await EventStream.get(server, mine);
        for (const [name, headers] of Object.entries(outsiders)) {
            const other = await EventStream.get(server, { ...session, ...headers });
            assert.equal(other.status, 200);
            await assertNoEvent(first, `the stream of ${name}`);
        }
        const second = await EventStream.get(server, mine);
        await eventually(() => first.ended, "the end of the first", patience(2_000));
        await assertNoEvent(second, "the newer one stays");
    });

    test("threat-C3: the log level is one caller's", { skip: oneReplica }, async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        const mine = { ...session, ...alice };
        const hears = async (headers) => {
            const stream = await begin(server, headers, "shared.say");
            return (await stream.rest()).some(({ method }) => method === "notifications/message");
        };
        assert.deepEqual((await setLevel(server, mine)).json.result, {});
        assert.deepEqual(
            [await hears(mine), await hears({ ...session, ...bob }), await hears(session)],
            [true, false, false],
        );
        assert.deepEqual((await setLevel(server, session)).json.result, {});
        assert.deepEqual([await hears({ ...session, ...bob }), await hears(session)], [false, true]);
    });

    test("threat-C3: DELETE ends one caller's part, with its streams, calls and questions, at once", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        const mine = { ...session, ...alice };
        const stream = await EventStream.get(server, mine);
        const { stream: asking } = await asked(server, mine);
        const holding = legacy(server, "tools/call", { name: "shared.hold", arguments: {} }, { id: 8, headers: mine });
        await server.untilLogged(/a call holds on/);
        for (const [name, headers] of Object.entries(outsiders)) {
            assert.equal(await remove(server, { ...session, ...headers }), 204, name);
            const isGone = async () => (await ping(server, { ...session, ...headers })) === 404;
            assert.ok(replicaCount > 1 ? await eventually(isGone, name, 1_000) : await isGone(), name);
            await assertNoEvent(stream, name);
            await assertNoEvent(asking, name);
        }
        assert.equal(await ping(server, mine), 200);
        const left = timeLimit(5_000);
        assert.equal(await remove(server, mine), 204);
        await eventually(() => stream.ended && asking.ended, "the end of both streams", patience(2_000));
        const { method } = asking.events.at(-1).json;
        assert.equal(method, "notifications/cancelled");
        const answered = await holding;
        assert.deepEqual([answered.status, answered.text], [202, ""]);
        assert.ok(left() > 0, "the call ends at once");
        const isGone = async () => (await ping(server, mine)) === 404;
        assert.ok(replicaCount > 1 ? await eventually(isGone, "404 everywhere", 1_000) : await isGone());
    });

    test("DELETE of one that logged in also ends what it began anonymously", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        const stream = await EventStream.get(server, session);
        const { stream: asking } = await asked(server, session);
        assert.equal(await remove(server, { ...session, ...alice }), 204);
        await eventually(() => stream.ended && asking.ended, "the end of both streams", patience(2_000));
        assert.equal(await ping(server, session), 404);
        // Another caller in it is not concerned.
        assert.equal(await ping(server, { ...session, ...bob }), 200);
    });

    test("threat-A7: what is remembered counts for the caller, not for the session", {
        skip: oneReplica,
    }, async (t) => {
        const server = await start(t);
        const sessions = [];
        for (let i = 0; i < 257; i += 1) {
            sessions.push(await openSession(server));
            const { json } = await setLevel(server, { ...sessions[i], ...bob });
            assert.equal("result" in json, i < 256, `session ${i}`);
        }
        for (const headers of [alice, {}]) {
            assert.deepEqual((await setLevel(server, { ...sessions[256], ...headers })).json.result, {});
        }
    });
});
