// Errors of the MCP doors: the reason in the message, the id of the request wherever it can be had, and
// refusals that a model can act on as results of the tool.
import assert from "node:assert/strict";
import { existsSync, renameSync } from "node:fs";
import { after, before, suite, test } from "node:test";
import { basic, bearer, startAccounts } from "./support/accounts.mjs";
import {
    assertPlain,
    assertRpcError,
    assertToolError,
    callTool,
    initialize,
    legacy,
    legacyVersions,
    modern,
    modernParts,
    post,
    rpc,
    startBridge,
} from "./support/mcp.mjs";
import { slowness } from "./support/programs.mjs";
import { Connection, eventually, request } from "./support/server.mjs";
import { startStdio } from "./support/stdio.mjs";

const wrong = bearer("not a token");
const json = { "Content-Type": "application/json" };
const mebibyte = 1024 * 1024;

suite("the reason of an error", () => {
    let server;
    before(async () => {
        server = await startBridge({ plugins: ["conformance"] });
    });
    after(() => server?.stop());

    test("stands in the message, and data stays for programs", async () => {
        const cases = [
            ["tools/call", {}, "Invalid params: name must be a string", "name must be a string"],
            ["prompts/get", {}, "Invalid params: name must be a string", "name must be a string"],
            [
                "tools/list",
                { cursor: "x" },
                "Invalid params: cursor is not one of this list",
                "cursor is not one of this list",
            ],
        ];
        for (const [method, params, message, data] of cases) {
            for (const ask of [modern, legacy]) {
                const { error } = (await ask(server, method, params)).json;
                assert.deepEqual(error, { code: -32602, message, data });
            }
        }
    });

    test("names the argument that a prompt misses", async () => {
        for (const ask of [modern, legacy]) {
            const answer = await ask(server, "prompts/get", { name: "test_prompt_with_arguments" });
            const { message, code, data } = answer.json.error;
            assert.equal(code, -32602);
            assert.equal(message, "Invalid params: missing required parameter: arg1");
            assert.equal(data, "Missing required parameter: arg1");
        }
    });

    test("names the method that is unknown, and not more than 200 bytes of it", async () => {
        const { error } = (await legacy(server, "tools/call/x")).json;
        assert.deepEqual(error, { code: -32601, message: "Method not found: tools/call/x" });
        const { message } = (await legacy(server, "é".repeat(50_000))).json.error;
        assert.equal(message, `Method not found: ${"é".repeat(100)}`);
    });

    test("names the capability that the client lacks", async () => {
        const answer = await callTool(server, "test_input_required_result_elicitation", {});
        const error = assertRpcError(answer, 400, -32021, 1);
        assert.equal(error.message, "Missing client capability: elicitation");
        assert.deepEqual(error.data, { requiredCapabilities: { elicitation: {} } });
    });

    test("of a session that is not there is never called a server error", async () => {
        const headers = { "Mcp-Session-Id": "x" };
        const answer = await legacy(server, "ping", {}, { headers, id: "a" });
        assert.equal(assertRpcError(answer, 404, -32001, "a").message, "Session not found");
    });
});

suite("an error before the message is read", () => {
    let server, session;
    before(async () => {
        server = await startAccounts({ config: { limits: { body_size: "64KB" } } });
        session = (await initialize(server, legacyVersions[0])).headers.get("mcp-session-id");
    });
    after(() => server?.stop());

    test("has the request's id: wrong credentials", async () => {
        for (const id of [7, "seven", "é\n"]) {
            const answer = await legacy(server, "ping", {}, { id, headers: wrong });
            assert.equal(assertRpcError(answer, 401, -32000, id).message, "Invalid credentials");
            assert.match(answer.headers.get("www-authenticate"), /invalid_token/);
        }
    });

    test("has no other call's id, however the message is written", async () => {
        const nested = { arguments: { id: 5 }, name: "x" };
        const last = `{"method":"tools/call","params":${JSON.stringify(nested)},"jsonrpc":"2.0","id":1}`;
        assertRpcError(await post(server, "/mcp", last, wrong), 401, -32000, 1);
        const without = [
            { jsonrpc: "2.0", method: "notifications/cancelled", params: { id: 5 } },
            { jsonrpc: "2.0", id: 5, result: {} },
            { jsonrpc: "2.0", id: 5, error: { code: 1, message: "method" } },
            [{ jsonrpc: "2.0", id: 5, method: "ping" }],
        ].map((message) => JSON.stringify(message));
        for (const body of [...without, '{"id":5,"method":"ping","id":5}', '{"id":5,"method":"ping"', ""]) {
            assertPlain(await post(server, "/mcp", body, wrong), 401, /^Invalid credentials\.$/);
        }
    });

    test("is a sentence where no request is: GET and DELETE", async () => {
        for (const method of ["GET", "DELETE"]) {
            const answer = await fetch(`${server.url}/mcp`, {
                method,
                headers: { ...wrong, "Mcp-Session-Id": session },
            });
            const text = await answer.text();
            assertPlain({ status: answer.status, headers: answer.headers, text }, 401, /^Invalid credentials\.$/);
        }
    });

    test("has the request's id: a media type that is not allowed", async () => {
        const { body } = modernParts("ping", {}, { id: "m" });
        const answer = await post(server, "/mcp", body, { "Content-Type": "text/plain" });
        const error = assertRpcError(answer, 415, -32000, "m");
        assert.equal(error.message, "Content-Type must be application/json");
    });

    test("without an id stays JSON-RPC for no JSON and for no message", async () => {
        assert.match(assertRpcError(await post(server, "/mcp", "{"), 400, -32700).message, /^Parse error: line 1/);
        const { message } = assertRpcError(await post(server, "/mcp", "5"), 400, -32600);
        assert.match(message, /^Invalid Request: a message must be an object/);
    });

    test("without an id is a sentence for a notification of an unknown session", async () => {
        const message = { jsonrpc: "2.0", method: "notifications/initialized" };
        const answer = await post(server, "/mcp", message, { "Mcp-Session-Id": "x" });
        assertPlain(answer, 404, /^Session not found\.$/);
    });

    test("of the other doors is as it was", async () => {
        assertRpcError(await rpc(server, { method: "test.echo", id: 7 }, wrong), 401, -32000, null);
        const rest = await post(server, "/mcp/tools/invoke", {}, wrong);
        assert.equal(rest.json.error.code, "unauthorized");
    });
});

suite("an error while the database is away", () => {
    test("has the request's id", async () => {
        const server = await startAccounts();
        for (const side of ["", "-wal", "-shm"]) {
            if (existsSync(server.database + side)) {
                renameSync(server.database + side, `${server.database}${side}.away`);
            }
        }
        let n = 0;
        const ask = () => legacy(server, "ping", {}, { id: "away", headers: basic(`x ${(n += 1)}`, "x") });
        await eventually(async () => (await ask()).status === 503, "503", 5_000 * slowness);
        const answer = await ask();
        assert.match(assertRpcError(answer, 503, -32000, "away").message, /^Logging in is not possible/);
        assert.ok(Number(answer.headers.get("retry-after")) >= 1);
        await server.stop();
    });
});

suite("a request that is too large", () => {
    const most = 64 * 1024;
    let server;
    before(async () => {
        server = await startBridge({ config: { limits: { body_size: most } } });
    });
    after(() => server?.stop());

    const large = (size, id = 1) =>
        `{"method":"tools/call","params":{"arguments":{"id":5,"x":"${"x".repeat(size)}"}},"jsonrpc":"2.0","id":${id}}`;

    test("is 413 with its id, which comes last", async () => {
        for (const size of [most, 4 * mebibyte, 15 * mebibyte]) {
            const error = assertRpcError(await post(server, "/mcp", large(size)), 413, -32600, 1);
            assert.equal(error.message, "Request too large");
        }
    });

    test("is 413 with its id in chunks of any size", async () => {
        const text = large(most, '"a"');
        for (const size of [1000, 40_000, text.length]) {
            const c = await Connection.open(server);
            c.send(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
                    "Transfer-Encoding: chunked\r\n\r\n",
            );
            for (let at = 0; at < text.length; at += size) {
                const piece = text.slice(at, at + size);
                c.send(`${piece.length.toString(16)}\r\n${piece}\r\n`);
            }
            c.send("0\r\n\r\n");
            const answer = await c.response();
            assert.equal(answer.status, 413);
            assert.equal(JSON.parse(answer.body.toString()).id, "a");
            c.close();
        }
    });

    test("is a sentence where no id is: a batch, a response, too much more, and a client that asks first", async () => {
        const response = `{"jsonrpc":"2.0","id":1,"result":{"x":"${"x".repeat(most)}"}}`;
        for (const body of [`[${large(most)}]`, response, large(17 * mebibyte)]) {
            assertPlain(await post(server, "/mcp", body), 413, /^Request too large\.$/);
        }
        const c = await Connection.open(server);
        c.send(request("POST", "/mcp", { ...json, "Content-Length": most + 1, Expect: "100-continue" }));
        const answer = await c.response();
        assert.deepEqual([answer.status, answer.body.toString()], [413, "Request too large."]);
        c.close();
    });

    test("that never ends is refused in the end", async (t) => {
        const impatient = await startBridge({ config: { limits: { body_size: most }, timeouts: { body: "1s" } } });
        t.after(() => impatient.stop());
        const c = await Connection.open(impatient);
        c.send(request("POST", "/mcp", { ...json, "Content-Length": most + 1000 }));
        c.send(large(most).slice(0, most));
        const answer = await c.response({ timeoutMs: 60_000 * slowness });
        assert.deepEqual([answer.status, answer.body.toString()], [413, "Request too large."]);
        c.close();
    });

    test("is as before on the other doors", async () => {
        for (const target of ["/jsonrpc", "/mcp/tools/invoke"]) {
            const answer = await post(server, target, large(most));
            assert.equal(answer.status, 413);
            assert.equal(answer.json.error.code, "payload_too_large");
        }
    });
});

suite("a line of standard input that is too long", () => {
    test("is answered with its id, and is no parse error", async () => {
        const client = startStdio();
        await client.ask("ping");
        const x = "x".repeat(5 * mebibyte);
        client.write(`{"method":"ping","params":{"id":5,"x":"${x}"},"jsonrpc":"2.0","id":"long"}\n`);
        client.write(`{"jsonrpc":"2.0","id":5,"result":{"x":"${x}"}}\n`);
        assert.ok((await client.ask("ping")).result);
        const errors = client.messages.filter((one) => one.error);
        assert.deepEqual(errors, [
            { jsonrpc: "2.0", error: { code: -32600, message: "Request too large" }, id: "long" },
            { jsonrpc: "2.0", error: { code: -32600, message: "Request too large" } },
        ]);
        await client.end();
    });
});

suite("a scope that the caller lacks", () => {
    test("is named in the message, on MCP doors only", async () => {
        const server = await startAccounts();
        const { token } = await server.token("alice", "--scope", "content:read");
        const headers = bearer(token);
        const answer = await callTool(server, "test.scoped", {}, { headers });
        const error = assertRpcError(answer, 403, -32000, 1);
        assert.equal(error.message, "Insufficient scope: needs content:write");
        assert.deepEqual(error.data.missing_scopes, ["content:write"]);
        const other = await rpc(server, { method: "test.scoped", id: 1 }, headers);
        assert.equal(other.json.error.message, "Insufficient scope");
        await server.stop();
    });
});

suite("a call that is refused for now", () => {
    test("for its rate is a result that says when to try again", async () => {
        const tools = [{ name: "test.echo", rate: "1/h burst 1" }];
        const server = await startBridge({ config: { limits: { tools } } });
        const params = { name: "test.echo", arguments: { message: "x" } };
        assert.equal((await modern(server, "tools/call", params)).json.result.isError, undefined);
        for (const ask of [modern, legacy]) {
            const answer = await ask(server, "tools/call", params, { id: 9 });
            assertToolError(answer, /^Too many calls of test\.echo: try again in \d+ s$/);
            const ms = answer.json.result._meta["causeway/retryAfterMs"];
            assert.ok(ms > 3_500_000 && ms <= 3_600_000, `${ms}`);
            assert.equal(answer.json.id, 9);
            const isModern = ask === modern;
            assert.equal(answer.json.result.resultType, isModern ? "complete" : undefined);
            assert.equal("io.modelcontextprotocol/serverInfo" in answer.json.result._meta, isModern);
        }
        assert.equal((await rpc(server, { method: "test.echo", params: params.arguments, id: 1 })).status, 429);
        await server.stop();
    });

    test("for the number of calls at once is such a result too", async () => {
        const tools = [{ name: "test.sleep", calls: 1 }];
        const server = await startBridge({ config: { limits: { tools } } });
        const calls = Array.from({ length: 4 }, (_, id) =>
            callTool(server, "test.sleep", { ms: 1_500 * slowness }, { id }),
        );
        const refused = (await Promise.all(calls)).filter(({ json }) => json.result.isError);
        assert.ok(refused.length > 0);
        for (const answer of refused) {
            assertToolError(answer, /^Too many calls of test\.sleep are running: try again in 1 s$/);
            assert.equal(answer.json.result._meta["causeway/retryAfterMs"], 1000);
        }
        await server.stop();
    });

    test("by a full queue is such a result too", async () => {
        const server = await startBridge({ config: { loops: 1, plugins: { workers: 1, queue: 1 } } });
        const busy = Array.from({ length: 12 }, (_, id) =>
            callTool(server, "test.sleep_deaf", { ms: 300 * slowness }, { id }),
        );
        const answers = await Promise.all(busy);
        const refused = answers.filter(({ json }) => json.result.isError);
        assert.ok(refused.length > 0);
        for (const answer of refused) {
            assertToolError(answer, /^Too many calls .*\. Try again in 1 s\.$/);
            assert.equal(answer.json.result._meta["causeway/retryAfterMs"], 1000);
        }
        await server.stop();
    });
});
