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
    startBridge,
} from "./support/mcp.mjs";
import { Connection, inParallel, pause, request } from "./support/server.mjs";

const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const accept = { action: "accept", content: { username: "u", email: "e@example.org" } };

async function start(t, config = {}) {
    const server = await startBridge({ plugins: ["conformance"], config: { loops: 2, ...config } });
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

const elicit = (server, headers, id, message = "Who?") =>
    call(server, headers, "test_elicitation", { message }, id);

const answer = (server, headers, id, rest) =>
    post(server, "/mcp", { jsonrpc: "2.0", id, ...rest }, { ...both, ...headers });

suite("a legacy client", { concurrency: true }, () => {
    test("is asked on the stream of its call; the answer may come through any loop", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        // So many that both loops ask and both are answered to.
        await inParallel(Array.from({ length: 60 }, (_, i) => i), 15, async (i) => {
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
        });
    });

    test("threat-C4: cannot answer for another session or another caller", async (t) => {
        const server = await startAccounts({
            plugins: ["conformance"],
            config: { loops: 2, roles: { ...roles, anonymous: permissions, authenticated: permissions } },
        });
        t.after(() => server.stop());
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
        // My session, shown by nobody in particular.
        const { status } = await answer(
            server,
            { "Mcp-Session-Id": mine["Mcp-Session-Id"] },
            question.id,
            { result: accept },
        );
        assert.equal(status, 404);
        await answer(server, mine, question.id, { result: accept });
        const [last] = await stream.rest();
        assert.match(last.result.content[0].text, /action=accept/);
    });

    test("that answers nonsense, with an error or not at all is told what was missing", async (t) => {
        const server = await start(t, { mcp: { ask_timeout: "1s" } });
        const session = await openSession(server);
        const rows = [
            [{ result: { action: "accept", content: { username: 1, email: "e" } } }, /username/],
            [{ result: {} }, /makes no sense/],
            [{ error: { code: -1, message: "User said no" } }, /User said no/],
            [undefined, /did not answer in time/],
        ];
        for (const [reply, pattern] of rows) {
            const stream = await elicit(server, session, 7);
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
        await stream.next();
        const begin = performance.now();
        await server.stop();
        assert.ok(performance.now() - begin < 3_000);
        const all = await stream.rest();
        assert.match(JSON.stringify(all.at(-1)), /The server is stopping/);
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
        assert.deepEqual(Object.keys(inputRequests), ["user"]);
        const send = (more) => {
            const params = { name: "test_elicitation", arguments: args, ...more };
            const { body, headers } = modernParts("tools/call", params, { id: 2, meta });
            return post(server, "/mcp", body, headers);
        };
        const inputResponses = { user: accept, nobodyAsked: { action: "accept" } };
        const good = await send({ requestState, inputResponses });
        assert.match(good.json.result.content[0].text, /action=accept/);
        // What is missing or does not fit is asked again.
        for (const responses of [{}, { user: { action: "accept", content: { username: 7 } } }]) {
            const again = await send({ requestState, inputResponses: responses });
            assert.equal(again.json.result.resultType, "input_required", again.text);
        }
        // For this call only, unchanged, and of the right types.
        const wrong = [
            { requestState: `${requestState}A`, inputResponses },
            { requestState: requestState.slice(1), inputResponses },
            { requestState: 7, inputResponses },
            { requestState: "", inputResponses },
            { requestState, inputResponses: [] },
            { requestState, inputResponses, arguments: { message: "Who else?" } },
        ];
        for (const params of wrong) {
            assertRpcError(await send(params), 200, -32602, 2);
        }
    });

    test("is told which capability it lacks", async (t) => {
        const server = await start(t);
        const refused = await callTool(server, "test_elicitation", { message: "x" });
        const error = assertRpcError(refused, 400, -32021, 1);
        assert.deepEqual(error.data, { requiredCapabilities: { elicitation: {} } });
    });

    test("threat-C4: has to hurry: a state is good for as long as a question may wait", async (t) => {
        const server = await start(t, { mcp: { ask_timeout: "1s" } });
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
