// Questions to clients: answers that arrive on another loop, late, twice, from others, or never.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { basic, roles, startAccounts } from "./support/accounts.mjs";
import {
    assertRpcError,
    assertToolError,
    both,
    callTool,
    EventStream,
    legacy,
    metaKey,
    modernParts,
    permissions,
    post,
    rpc,
    startBridge,
    untilTool,
} from "./support/mcp.mjs";
import { compilePlugin, newFolder } from "./support/plugins.mjs";
import { timeLimit } from "./support/programs.mjs";
import { invoke } from "./support/rest.mjs";
import { Connection, inParallel, pause, request } from "./support/server.mjs";

const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const accept = { action: "accept", content: { username: "u", email: "e@example.org" } };

async function start(t, config = {}, plugins = ["conformance"]) {
    const server = await startBridge({ plugins, config: { loops: 2, ...config } });
    t.after(() => server.stop());
    return server;
}

async function openSession(server, headers = {}) {
    const params = {
        protocolVersion: "2025-11-25",
        capabilities,
        clientInfo: { name: "test", version: "1" },
    };
    const answer = await legacy(server, "initialize", params, { headers });
    return { ...headers, "Mcp-Session-Id": answer.headers.get("mcp-session-id") };
}

const call = (server, headers, name, args, id = 1) =>
    EventStream.of(server, {
        method: "POST",
        body: JSON.stringify({
            jsonrpc: "2.0",
            id,
            method: "tools/call",
            params: { name, arguments: args },
        }),
        headers: { "Content-Type": "application/json", ...both, ...headers },
    });

const elicit = (server, headers, id, message = "Who?") => call(server, headers, "test_elicitation", { message }, id);

// Two questions one after the other, and two at once.
const questions = `#include <causeway/mcp.h>
CW_PLUGIN("questions", "1.0");
static void rounds(cw_call *call)
{
    const cw_value *name = cw_ask_form(call, "name", "Who?",
        CW_JSON({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}));
    if (!name)
        return;
    const cw_value *where = cw_ask_roots(call, "where");
    if (where)
        cw_content_format(call, "%s %s", cw_value_json(call, name), cw_value_json(call, where));
}
CW_METHOD(rounds, "questions.rounds", .usage = "Asks twice.", .permissions = {"access content"});
CW_TOOL(rounds);
static void together(cw_call *call)
{
    const cw_value *a = cw_ask_roots(call, "a");
    const cw_value *b = cw_ask_url(call, "b", "Go", "https://example.org/");
    if (a && b)
        cw_content_format(call, "%s %s", cw_value_json(call, a), cw_value_json(call, b));
}
CW_METHOD(together, "questions.together", .usage = "Asks two things.", .permissions = {"access content"});
CW_TOOL(together);
`;

async function startQuestions(t) {
    const server = await start(t);
    compilePlugin(server.plugins, "questions", questions);
    await untilTool(server, "questions.together");
    return server;
}

const answer = (server, headers, id, rest) =>
    post(server, "/mcp", { jsonrpc: "2.0", id, ...rest }, { ...both, ...headers });

suite("a legacy client", { concurrency: true }, () => {
    test("is asked on the stream of its call; the answer may come through any loop", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        // So many that both loops ask and both are answered to.
        await inParallel(
            Array.from({ length: 60 }, (_, i) => i),
            15,
            async (i) => {
                const stream = await elicit(server, session, i, `q${i}`);
                const question = await stream.next();
                assert.equal(question.method, "elicitation/create");
                assert.equal(question.params.message, `q${i}`);
                const content = { username: `u${i}`, email: "e" };
                const result = { action: "accept", content };
                const { status } = await answer(server, session, question.id, { result });
                assert.equal(status, 202);
                const [last, ...more] = await stream.rest();
                assert.deepEqual(more, []);
                assert.equal(last.id, i);
                assert.ok(last.result.content[0].text.includes(`u${i}"`), JSON.stringify(last));
            },
        );
    });

    test("is asked again in the same call, and every answer reaches the method", async (t) => {
        const server = await startQuestions(t);
        const session = await openSession(server);
        const stream = await call(server, session, "questions.rounds", {});
        const first = await stream.next();
        assert.equal(first.method, "elicitation/create");
        assert.equal(first.params.message, "Who?");
        await answer(server, session, first.id, { result: { action: "accept", content: { n: 1 } } });
        const second = await stream.next();
        assert.equal(second.method, "roots/list");
        assert.equal((await answer(server, session, second.id, { result: { roots: [] } })).status, 202);
        const [last, ...more] = await stream.rest();
        assert.deepEqual(more, []);
        assert.equal(last.id, 1);
        assert.equal(last.result.content[0].text, '{"action":"accept","content":{"n":1}} {"roots":[]}');
    });

    // Both questions of `questions.together`, in the order of their keys.
    async function askTwo(server, session) {
        const stream = await call(server, session, "questions.together", {});
        const both = [await stream.next(), await stream.next()];
        assert.deepEqual(
            both.map(({ method }) => method),
            ["roots/list", "elicitation/create"],
        );
        assert.equal(both[1].params.url, "https://example.org/");
        assert.match(both[1].params.elicitationId, /^[0-9a-f]{32}$/);
        assert.ok(both.every(({ id }) => Number.isSafeInteger(id) && id > 0));
        assert.notEqual(both[0].id, both[1].id);
        return { stream, ids: both.map(({ id }) => id) };
    }

    test("is asked two things at once; the first answer to each counts", async (t) => {
        const server = await startQuestions(t);
        const session = await openSession(server);
        const { stream, ids } = await askTwo(server, session);
        await answer(server, session, ids[1], { result: { action: "accept" } });
        const { status } = await answer(server, session, ids[1], { result: { action: "decline" } });
        assert.equal(status, 202);
        await answer(server, session, ids[0], { result: { roots: [] } });
        const [last] = await stream.rest();
        assert.equal(last.result.content[0].text, '{"roots":[]} {"action":"accept"}');
    });

    test("has an open question taken back when another one fails", async (t) => {
        const server = await startQuestions(t);
        const session = await openSession(server);
        const { stream, ids } = await askTwo(server, session);
        await answer(server, session, ids[1], { result: {} });
        const all = await stream.rest();
        assert.equal(all.pop().result.isError, true);
        const taken = all.map(({ method, params }) => [method, params.requestId]);
        assert.deepEqual(taken, [["notifications/cancelled", ids[0]]]);
    });

    test("that lacks the capability is not asked", async (t) => {
        const server = await start(t);
        const params = { protocolVersion: "2025-11-25", capabilities: { roots: {} }, clientInfo: {} };
        const { headers } = await legacy(server, "initialize", params);
        const session = { "Mcp-Session-Id": headers.get("mcp-session-id") };
        const plain = { name: "test_elicitation", arguments: { message: "x" } };
        assertToolError(await legacy(server, "tools/call", plain, { headers: session }), /elicitation/);
    });

    test("threat-C4: cannot answer for another session or another caller", async (t) => {
        const server = await startAccounts({
            plugins: ["conformance"],
            config: { loops: 2, roles: { ...roles, anonymous: permissions, authenticated: permissions } },
        });
        t.after(() => server.stop());
        await untilTool(server, "test_elicitation");
        const alice = basic("alice", "s3cret");
        const mine = await openSession(server, alice);
        const others = [await openSession(server, alice), await openSession(server), {}];
        const stream = await elicit(server, mine, 1);
        const question = await stream.next();
        for (const other of others) {
            const { status } = await answer(server, other, question.id, {
                result: { action: "cancel" },
            });
            assert.equal(status, 202);
        }
        // Nor take the call back, nor guess a question.
        const taken = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
        assert.equal((await post(server, "/mcp", taken, { ...both, ...others[0] })).status, 202);
        const guesses = [question.id + 1, String(question.id), question.id + 0.5, -1, 2 ** 53 - 1, 2 ** 63, "x"];
        for (const id of guesses) {
            assert.equal((await answer(server, mine, id, { result: accept })).status, 202);
        }
        // My session, shown by nobody in particular.
        const { status } = await answer(server, { "Mcp-Session-Id": mine["Mcp-Session-Id"] }, question.id, {
            result: accept,
        });
        assert.equal(status, 404);
        await answer(server, mine, question.id, { result: accept });
        const [last] = await stream.rest();
        assert.match(last.result.content[0].text, /action=accept/);
    });

    test("that answers nonsense, with an error or not at all is told what was missing", async (t) => {
        const server = await start(t);
        // A short time only where nobody answers.
        const hasty = await start(t, { mcp: { elicitation_timeout: "1s" } });
        const [session, hastySession] = [await openSession(server), await openSession(hasty)];
        const rows = [
            [{ result: { action: "accept", content: { username: 1, email: "e" } } }, /username/],
            [{ result: { action: "accept", content: {} } }, /'username'/],
            [{ result: { action: "accept" } }, /has no content/],
            [{ result: {} }, /makes no sense/],
            [{ result: 7 }, /makes no sense/],
            [{ result: { action: "maybe" } }, /makes no sense/],
            [{ error: { code: -1, message: "User said no" } }, /elicitation\/create': User said no/],
            [{ error: {} }, /says nothing/],
            // Cut where a character ends.
            [{ error: { code: -1, message: `${"ä".repeat(86)}x${"ä".repeat(50)}` } }, /[^\ufffd]ä$/u],
            [undefined, /did not answer in time/],
        ];
        for (const [reply, pattern] of rows) {
            const stream = await (reply ? elicit(server, session, 7) : elicit(hasty, hastySession, 7));
            const { id } = await stream.next();
            if (reply !== undefined) {
                await answer(server, session, id, reply);
            }
            const all = await stream.rest();
            const last = all.pop();
            assert.equal(last.result.isError, true);
            assert.match(last.result.content[0].text, pattern);
            const taken = all.map(({ method, params }) => [method, params.requestId]);
            assert.deepEqual(taken, reply ? [] : [["notifications/cancelled", id]]);
        }
    });

    test("that takes its call back has the question taken back", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        for (const id of [7, "x"]) {
            const stream = await elicit(server, session, id);
            const question = await stream.next();
            const taken = {
                jsonrpc: "2.0",
                method: "notifications/cancelled",
                params: { requestId: id },
            };
            const { status } = await post(server, "/mcp", taken, { ...both, ...session });
            assert.equal(status, 202);
            const [last, ...more] = await stream.rest();
            assert.deepEqual(more, []);
            assert.equal(last?.method, "notifications/cancelled");
            assert.equal(last.params.requestId, question.id);
            // The answer comes too late, and is taken.
            assert.equal((await answer(server, session, question.id, { result: accept })).status, 202);
        }
    });

    test("may vanish while it is asked, or read nothing at all", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        const body = JSON.stringify({
            jsonrpc: "2.0",
            id: 1,
            method: "tools/call",
            params: { name: "test_elicitation", arguments: { message: "x".repeat(10_000) } },
        });
        const headers = { "Content-Type": "application/json", ...both, ...session };
        const text = request("POST", "/mcp", headers, body);
        const deaf = [];
        for (let i = 0; i < 40; i++) {
            const connection = await Connection.open(server);
            connection.send(text);
            if (i % 2) {
                connection.socket.pause();
                deaf.push(connection);
            } else {
                setTimeout(() => connection.close(), i * 3);
            }
        }
        await pause(300);
        const stream = await elicit(server, session, 2);
        await answer(server, session, (await stream.next()).id, { result: accept });
        assert.equal((await stream.rest()).length, 1);
        deaf.forEach((connection) => connection.close());
    });

    test("does not keep the server from stopping", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        const stream = await elicit(server, session, 1);
        const { id } = await stream.next();
        const left = timeLimit(3_000);
        await server.stop();
        assert.ok(left() > 0, `${-left()} ms too late`);
        const [taken, last] = await stream.rest();
        assert.deepEqual([taken.method, taken.params.requestId], ["notifications/cancelled", id]);
        assert.match(JSON.stringify(last), /The server is stopping/);
    });
});

suite("a modern client", { concurrency: true }, () => {
    const meta = { [metaKey("clientCapabilities")]: capabilities };

    test("threat-C4: brings back what it was given", async (t) => {
        const server = await start(t);
        const args = { message: "Who?" };
        const first = await callTool(server, "test_elicitation", args, { meta });
        const { resultType, inputRequests, requestState } = first.json.result;
        assert.equal(resultType, "input_required");
        assert.doesNotMatch(first.text, /elicitationId/);
        assert.deepEqual(Object.keys(inputRequests), ["user"]);
        const send = (more) => {
            const params = { name: "test_elicitation", arguments: args, ...more };
            const { body, headers } = modernParts("tools/call", params, { id: 2, meta });
            return post(server, "/mcp", body, headers);
        };
        const inputResponses = { user: accept, nobodyAsked: { action: "accept" } };
        const good = await send({ requestState, inputResponses });
        assert.match(good.json.result.content[0].text, /action=accept/);
        assert.doesNotMatch(good.text, /nobodyAsked/);
        // What is missing or does not fit is asked again.
        for (const responses of [{}, { user: { action: "accept", content: { username: 7 } } }]) {
            const again = await send({ requestState, inputResponses: responses });
            assert.equal(again.json.result.resultType, "input_required", again.text);
        }
        // For this call only, unchanged, and of the right types.
        const other = requestState[20] === "A" ? "B" : "A";
        const changed = requestState.slice(0, 20) + other + requestState.slice(21);
        const wrong = [
            { requestState: `${requestState}A`, inputResponses },
            { requestState: requestState.slice(1), inputResponses },
            { requestState: changed, inputResponses },
            { requestState: 7, inputResponses },
            { requestState: "", inputResponses },
            { requestState, inputResponses: [] },
            { requestState, inputResponses, arguments: { message: "Who else?" } },
        ];
        for (const params of wrong) {
            assertRpcError(await send(params), 200, -32602, 2);
        }
    });

    test("threat-C4: cannot use what was given to another caller, or for another tool", async (t) => {
        const server = await startAccounts({
            plugins: ["conformance"],
            config: { roles: { ...roles, authenticated: permissions } },
        });
        t.after(() => server.stop());
        await server.untilLogged(/catalogue published tools=[1-9]/);
        const [alice, bob] = [basic("alice", "s3cret"), basic("bob", "b0b")];
        const [mine, other] = ["elicitation", "sampling"].map((name) => `test_input_required_result_${name}`);
        const send = (headers, name, more) => {
            const parts = modernParts("tools/call", { name, arguments: {}, ...more }, { meta, headers });
            return post(server, "/mcp", parts.body, parts.headers);
        };
        const { requestState } = (await send(alice, mine)).json.result;
        const inputResponses = { user_name: { action: "accept", content: { name: "Ada" } } };
        for (const [headers, name] of [
            [bob, mine],
            [alice, other],
        ]) {
            assertRpcError(await send(headers, name, { requestState, inputResponses }), 200, -32602, 1);
        }
        const good = await send(alice, mine, { requestState, inputResponses });
        assert.equal(good.json.result.content[0].text, "Hello, Ada!", good.text);
    });

    test("may spell its arguments in another way when it comes back", async (t) => {
        const server = await start(t);
        const ask = async (tool, args, more = {}) => {
            const params = { name: tool, ...more };
            const { body, headers } = modernParts("tools/call", params, { id: 2, meta });
            const text = JSON.stringify(body).replace('"params":{', `"params":{${args}`);
            return await post(server, "/mcp", text, headers);
        };
        const rows = [
            [
                "test_elicitation",
                '"arguments":{"message":"hi"},',
                String.raw`"arguments":{"message":"h\u0069"},`,
                { user: accept },
            ],
            ["test_input_required_result_elicitation", "", '"arguments":{},', undefined],
            ["test_input_required_result_elicitation", '"arguments":{},', "", undefined],
        ];
        for (const [tool, first, second, given] of rows) {
            const asked = await ask(tool, first);
            const { requestState, inputRequests } = asked.json.result;
            const keys = Object.keys(inputRequests);
            const inputResponses = given ?? Object.fromEntries(keys.map((key) => [key, accept]));
            const done = await ask(tool, second, { requestState, inputResponses });
            assert.equal(done.json.error, undefined, done.text);
        }
    });

    test("is told which capability it lacks", async (t) => {
        const server = await start(t);
        const refused = await callTool(server, "test_elicitation", { message: "x" });
        const error = assertRpcError(refused, 400, -32021, 1);
        assert.deepEqual(error.data, { requiredCapabilities: { elicitation: {} } });
    });

    test("threat-C4: has to hurry: a state is good for as long as a question may wait", async (t) => {
        const server = await start(t, { mcp: { elicitation_timeout: "1s" } });
        const first = await callTool(server, "test_elicitation", { message: "x" }, { meta });
        const { requestState } = first.json.result;
        await pause(1_300);
        const { body, headers } = modernParts(
            "tools/call",
            {
                name: "test_elicitation",
                arguments: { message: "x" },
                requestState,
                inputResponses: { user: accept },
            },
            { meta },
        );
        assertRpcError(await post(server, "/mcp", body, headers), 200, -32602, 1);
    });
});

test("a method that asks is an error where nobody can be asked", async (t) => {
    const server = await start(t);
    const plain = await legacy(server, "tools/call", {
        name: "test_elicitation",
        arguments: { message: "x" },
    });
    assertToolError(plain, /asks something/);
});

test("doors that cannot ask say how the method can be called", async (t) => {
    const server = await start(t);
    const params = { message: "x" };
    const own = assertRpcError(await rpc(server, { method: "test_elicitation", params, id: 1 }), 200, -32021, 1);
    assert.match(own.message, /Call it as a tool through MCP/);
    const rest = await invoke(server, "test_elicitation", params);
    assert.match(rest.text, /Call it as a tool through MCP/);
});

// The library refuses the 33rd question: a plugin that is not honest writes to the socket itself.
const manyQuestions = String.raw`#include <causeway/mcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
CW_PLUGIN("many", "1.0");
static void many(cw_call *call)
{
    static uint64_t id;
    char frame[8192];
    int n = snprintf(frame + 12, sizeof frame - 12, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"asks\":{", (int)++id);
    for (int64_t i = 0; i < cw_arg_int(call, "n", 0); i++)
        n += snprintf(frame + 12 + n, sizeof frame - 12 - n,
                      "%s\"q%d\":{\"method\":\"roots/list\",\"params\":{}}", i ? "," : "", (int)i);
    uint32_t length = n + snprintf(frame + 12 + n, sizeof frame - 12 - n, "}}");
    memcpy(frame, &length, 4);
    memcpy(frame + 4, &id, 8);
    if (write(3, frame, 12 + length) < 0)
        cw_result_text(call, "nothing was asked");
}
CW_METHOD(many, "many.ask", .usage = "Asks much.",
          .params = {{"n", .schema = CW_JSON({"type": "integer"}), .required = true}});
CW_TOOL(many);
`;

test("a method may ask 32 questions at once, and no more", async (t) => {
    const folder = newFolder("questions");
    compilePlugin(folder, "many", manyQuestions);
    const config = { loops: 1, log: { level: "debug" }, plugins: { directory: folder } };
    const server = await start(t, config, []);
    await untilTool(server, "many.ask");
    const meta = { [metaKey("clientCapabilities")]: capabilities };
    // Its second answer to the same call costs it its worker: the next call waits for that.
    let ended = 0;
    const untilEnded = async () => {
        ended += 1;
        const all = () => server.stderr.split("a call that it does not have").length > ended;
        await server.until(all, "the end of the worker");
    };
    const { result } = (await callTool(server, "many.ask", { n: 32 }, { meta })).json;
    assert.equal(Object.keys(result.inputRequests).length, 32);
    await untilEnded();
    assertToolError(await callTool(server, "many.ask", { n: 33 }, { meta }), /asks too much/);
    await untilEnded();
    const params = { name: "many.ask", arguments: { n: 33 } };
    const headers = await openSession(server);
    assertToolError(await legacy(server, "tools/call", params, { headers }), /asks too much/);
});
