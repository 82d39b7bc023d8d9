// POST /mcp in the legacy era: the handshake of 2024-11-05 to 2025-11-25, sessionless.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import {
    assertPlain,
    assertRpcError,
    both,
    initialize,
    legacy,
    legacyVersions,
    metaKey,
    modernVersion,
    ownName,
    post,
    startBridge,
} from "./support/mcp.mjs";
import { noDatabase } from "./support/programs.mjs";
import { Connection, request } from "./support/server.mjs";

const codes = { parse: -32700, invalid: -32600, method: -32601, params: -32602 };
const newest = legacyVersions[0];
const message = "hello";

let server;
before(async () => (server = await startBridge()));
after(() => server?.stop());

function assertResult({ status, headers, text, json }, id = 1) {
    assert.equal(status, 200, text);
    assert.match(headers.get("content-type"), /^application\/json/);
    assert.equal(json?.jsonrpc, "2.0", text);
    assert.deepEqual(json.id, id);
    assert.ok(json.result, text);
    for (const modernOnly of ["resultType", "ttlMs", "cacheScope"]) {
        assert.equal(modernOnly in json.result, false, text);
    }
    return json.result;
}

suite("initialize", { concurrency: true }, () => {
    for (const version of legacyVersions) {
        test(`agrees to ${version}`, { skip: noDatabase }, async () => {
            const answer = await initialize(server, version);
            const result = assertResult(answer);
            assert.equal(result.protocolVersion, version);
            assert.deepEqual(result.capabilities, { tools: { listChanged: true }, logging: {} });
            assert.equal(typeof result.serverInfo.name, "string");
            assert.equal(typeof result.serverInfo.version, "string");
        });
    }

    for (const version of ["1999-01-01", modernVersion, "x", ""]) {
        test(`offers ${newest} to a client that asks for ${JSON.stringify(version)}`, async () => {
            assert.equal(assertResult(await initialize(server, version)).protocolVersion, newest);
        });
    }

    test("with the modern header is a mismatch", async () => {
        const answer = await initialize(server, newest, { "MCP-Protocol-Version": modernVersion });
        assertRpcError(answer, 400, -32020, 1);
    });

    test("without a version, or with one that is no string, is -32602", async () => {
        for (const params of [{}, { protocolVersion: 1 }, undefined]) {
            const answer = await legacy(server, "initialize", params);
            assert.equal(answer.json?.error?.code, codes.params, answer.text);
        }
    });

    test("is followed by a notification that is 202 without a body", async () => {
        const body = { jsonrpc: "2.0", method: "notifications/initialized" };
        const { status, text } = await post(server, "/mcp", body, both);
        assert.equal(status, 202);
        assert.equal(text, "");
    });

    test("with a foreign Origin is 403", async () => {
        const answer = await initialize(server, newest, { Origin: "http://evil.example.com" });
        assert.equal(answer.status, 403);
    });
});

for (const version of [undefined, ...legacyVersions]) {
    suite(`with the version header ${version}`, { concurrency: true }, () => {
        const options = { version };

        test("ping is answered with an empty object", async () => {
            assert.deepEqual(assertResult(await legacy(server, "ping", undefined, options)), {});
            assert.deepEqual(assertResult(await legacy(server, "ping", {}, options)), {});
        });

        test("tools/list lists the tools", async () => {
            const { tools } = assertResult(await legacy(server, "tools/list", {}, options));
            const echo = tools.find(({ name }) => name === "test__echo");
            assert.equal(echo.inputSchema.type, "object");
            assert.ok(!tools.some((tool) => ownName(tool) === "test.admin"));
            for (const { outputSchema } of tools) {
                assert.equal(outputSchema?.type ?? "object", "object");
            }
        });

        test("tools/call calls", async () => {
            const params = { name: "test.echo", arguments: { message } };
            const result = assertResult(await legacy(server, "tools/call", params, options));
            assert.equal(result.content[0].type, "text");
            assert.match(result.content[0].text, /hello/);
            assert.equal(result._meta?.[metaKey("serverInfo")], undefined);
        });

        test("structured content is an object", async () => {
            const params = { name: "test.echo", arguments: { message } };
            const result = assertResult(await legacy(server, "tools/call", params, options));
            const { structuredContent } = result;
            assert.ok(structuredContent === undefined || isObject(structuredContent));
        });
    });
}

const isObject = (v) => typeof v === "object" && v !== null && !Array.isArray(v);

suite("errors", { concurrency: true }, () => {
    test("of an unknown method are 200 and -32601", async () => {
        assertRpcError(await legacy(server, "no/such", {}), 200, codes.method, 1);
        assertRpcError(await legacy(server, "server/discover", {}), 200, codes.method, 1);
    });

    test("of an unknown tool are -32602, and a forbidden one is the same", async () => {
        const call = (name) => legacy(server, "tools/call", { name, arguments: {} });
        assertRpcError(await call("test.admim"), 200, codes.params, 1);
        const hidden = await call("test.admin");
        const unknown = await call("test.admim");
        assert.equal(hidden.text.replaceAll("admin", "admim"), unknown.text);
    });

    test("of a tool are results", async () => {
        const answer = await legacy(server, "tools/call", { name: "test.fail", arguments: {} });
        assert.equal(assertResult(answer).isError, true);
    });

    test("of broken JSON are 400 and -32700 without an id", async () => {
        assertRpcError(await post(server, "/mcp", "{", both), 400, codes.parse, undefined);
    });

    test("of JSON that is no message are 400 and -32600 without an id", async () => {
        for (const text of ["{}", "1", '{"jsonrpc":"2.0"}', '{"hello":"world"}']) {
            assertRpcError(await post(server, "/mcp", text, both), 400, codes.invalid, undefined);
        }
    });

    for (const version of ["1999-01-01", "x", "2025-11-26"]) {
        test(`of the version header ${version} are 400`, async () => {
            const answer = await legacy(server, "ping", {}, { version });
            assert.equal(answer.status, 400, answer.text);
            assert.ok(answer.json.error);
            assert.notEqual(answer.json.id, null);
        });
    }

    test("of a content type that is not JSON are 415", async () => {
        const headers = { ...both, "Content-Type": "text/plain" };
        const { status } = await post(server, "/mcp", '{"jsonrpc":"2.0","id":1,"method":"ping"}', headers);
        assert.equal(status, 415);
    });
});

suite("threat-A5: Mcp-Method and Mcp-Name of a client that need not send them", { concurrency: true }, () => {
    const echo = { name: "test.echo", arguments: { message: "x" } };
    const mismatches = [
        ["tools/call", echo, { "Mcp-Method": "tools/list" }],
        ["tools/call", echo, { "Mcp-Method": "Tools/Call" }],
        ["tools/call", echo, { "Mcp-Method": "" }],
        ["tools/call", echo, { "Mcp-Method": "tools/call", "Mcp-Name": "test.other" }],
        ["tools/call", echo, { "Mcp-Name": "test.other" }],
        ["tools/call", echo, { "Mcp-Name": "=?base64?dGVzdC5vdGhlcg==?=" }],
        ["tools/call", { arguments: {} }, { "Mcp-Name": "test.echo" }],
        ["tools/list", {}, { "Mcp-Method": "tools/call" }],
        ["resources/read", { uri: "test://a" }, { "Mcp-Name": "test://b" }],
        ["prompts/get", { name: "a" }, { "Mcp-Name": "b" }],
        ["ping", undefined, { "Mcp-Method": "tools/list" }],
    ];
    for (const version of [...legacyVersions, undefined]) {
        test(`threat-A5: are compared with the body, version header ${version}`, async () => {
            for (const [method, params, headers] of mismatches) {
                const answer = await legacy(server, method, params, { version, headers });
                const { data } = assertRpcError(answer, 400, -32020, 1);
                assert.equal(typeof data.mismatch.header, "string", answer.text);
            }
            for (const headers of [
                { "Mcp-Method": "tools/call", "Mcp-Name": "test.echo" },
                { "Mcp-Name": "=?base64?dGVzdC5lY2hv?=" },
            ]) {
                const answer = await legacy(server, "tools/call", echo, { version, headers });
                assert.equal(answer.status, 200, answer.text);
                assert.ok(answer.json.result, answer.text);
            }
        });
    }

    test("threat-A5: initialize, notifications and answers are compared too", async () => {
        const wrong = { "Mcp-Method": "tools/list" };
        assertRpcError(await initialize(server, newest, wrong), 400, -32020, 1);
        const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
        assertPlain(await post(server, "/mcp", cancelled, { ...both, ...wrong }), 400, /^Header mismatch/);
        const right = { ...both, "Mcp-Method": "notifications/cancelled" };
        assert.equal((await post(server, "/mcp", cancelled, right)).status, 202);
        const reply = { jsonrpc: "2.0", id: 7, result: {} };
        assertPlain(await post(server, "/mcp", reply, { ...both, ...wrong }), 400, /^Header mismatch/);
    });

    test("threat-A5: a message of a batch that differs does not run", async () => {
        const message = (id, method, params) => ({ jsonrpc: "2.0", id, method, params });
        const batch = [message(1, "tools/list", {}), message(2, "tools/call", echo)];
        const headers = { ...both, "MCP-Protocol-Version": "2025-03-26", "Mcp-Method": "tools/list" };
        const { json, text } = await post(server, "/mcp", batch, headers);
        assert.ok(json.find(({ id }) => id === 1).result, text);
        assert.equal(json.find(({ id }) => id === 2).error.code, -32020, text);
    });
});

suite("batches", { concurrency: true }, () => {
    const ping = (id) => ({ jsonrpc: "2.0", id, method: "ping" });
    const batch = [ping(9), { jsonrpc: "2.0", method: "notifications/initialized" }, ping("ten")];

    for (const version of [undefined, "2025-03-26"]) {
        test(`are answered by a batch with the version header ${version}`, async () => {
            const headers = { ...both, "MCP-Protocol-Version": version };
            const { status, json, text } = await post(server, "/mcp", batch, headers);
            assert.equal(status, 200, text);
            assert.deepEqual(json.map(({ id }) => id).sort(), [9, "ten"]);
            json.forEach(({ result }) => assert.deepEqual(result, {}));
        });
    }

    test("of notifications and answers alone are 202", async () => {
        const quiet = [batch[1], { jsonrpc: "2.0", id: 4, result: {} }];
        const { status, text } = await post(server, "/mcp", quiet, both);
        assert.equal(status, 202);
        assert.equal(text, "");
    });

    for (const version of ["2025-06-18", "2025-11-25"]) {
        test(`are refused since ${version}`, async () => {
            const headers = { ...both, "MCP-Protocol-Version": version };
            assertRpcError(await post(server, "/mcp", batch, headers), 400, codes.invalid, undefined);
        });
    }

    test("that are empty or too long are refused, and told why", async () => {
        const empty = await post(server, "/mcp", [], both);
        assert.match(assertRpcError(empty, 400, codes.invalid, undefined).data, /empty/);
        const long = Array.from({ length: 101 }, (_, id) => ping(id));
        const refused = await post(server, "/mcp", long, both);
        assert.match(assertRpcError(refused, 400, codes.invalid, undefined).data, /at most 100 /);
        assert.equal((await post(server, "/mcp", long.slice(1), both)).status, 200);
    });
});

suite("what HTTP refuses is a sentence, or an error with the request's id", { concurrency: true }, () => {
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

    test("too much, in a coding, or by another method", async (t) => {
        const small = await startBridge({ config: { limits: { body_size: "1KB" } } });
        t.after(() => small.stop());
        const large = { ...ping, params: { x: "x".repeat(2_000) } };
        assertRpcError(await post(small, "/mcp", large, both), 413, -32600, 1);
        const coded = { ...both, "Content-Encoding": "gzip" };
        assertPlain(await post(small, "/mcp", ping, coded), 415, /Content-Encoding/);
        for (const method of ["PUT", "PATCH"]) {
            const answer = await post(small, "/mcp", ping, both, { method });
            assertPlain(answer, 405);
        }
        // Other paths have their own form, also on the same connection.
        const c = await Connection.open(small);
        for (const [path, form] of [
            ["/mcp", /^This resource/],
            ["/healthz", /^\{"error":/],
            ["/mcp", /^This resource/],
        ]) {
            await c.send(request("PUT", path));
            const { status, text } = await c.response();
            assert.equal(status, 405);
            assert.match(text, form);
        }
        c.close();
    });

    test("a body that does not come", async (t) => {
        const config = { timeouts: { body: "300ms" } };
        const slow = await startBridge({ config });
        t.after(() => slow.stop());
        const c = await Connection.open(slow);
        const head = request("POST", "/mcp", { "Content-Type": "application/json" }, "x".repeat(100));
        await c.send(head.slice(0, -50));
        assertPlain(await c.response(), 408, /too slowly/);
        c.close();
    });

    test("and Allow is the same everywhere", async (t) => {
        const none = await startBridge({ config: { mcp: { legacy_sessions: false } } });
        t.after(() => none.stop());
        for (const [to, expected] of [
            [server, "GET, POST, DELETE, OPTIONS"],
            [none, "POST, OPTIONS"],
        ]) {
            for (const method of ["OPTIONS", "HEAD", "PUT", "PATCH"]) {
                const answer = await fetch(`${to.url}/mcp`, { method });
                await answer.text();
                assert.equal(answer.status, method === "OPTIONS" ? 204 : 405);
                assert.equal(answer.headers.get("allow"), expected, method);
            }
        }
    });

    test("an answer without a body has no type", async () => {
        const note = { jsonrpc: "2.0", method: "notifications/initialized" };
        const answer = await post(server, "/mcp", note, both);
        assert.equal(answer.status, 202);
        assert.equal(answer.headers.get("content-type"), null);
        assert.equal(answer.headers.get("content-length"), "0");
    });
});

suite("the rest", { concurrency: true }, () => {
    test("an answer that is posted is 202", async () => {
        for (const part of [{ result: {} }, { error: { code: 1, message: "x" } }]) {
            const body = { jsonrpc: "2.0", id: 1, ...part };
            const { status, text } = await post(server, "/mcp", body, both);
            assert.equal(status, 202);
            assert.equal(text, "");
        }
    });

    test("a progress token alone does not make a request modern", async () => {
        const params = { _meta: { progressToken: 1 } };
        assertResult(await legacy(server, "tools/list", params, { version: newest }));
    });

    test("answers come in JSON also where a stream is accepted first", async () => {
        const headers = { Accept: "text/event-stream, application/json;q=0.5" };
        assertResult(await legacy(server, "ping", {}, { headers }));
    });
});

test("a header that names another version than the session agreed upon is 400", async () => {
    for (const agreed of legacyVersions) {
        const { headers } = await initialize(server, agreed);
        const session = { "Mcp-Session-Id": headers.get("mcp-session-id") };
        for (const version of legacyVersions) {
            const said = { ...both, ...session, "MCP-Protocol-Version": version };
            const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
            const note = { jsonrpc: "2.0", method: "notifications/initialized" };
            const answers = [];
            for (const body of [ping, note, [ping]]) {
                answers.push(await post(server, "/mcp", body, said));
            }
            const hasBatches = version === "2025-03-26";
            const right = [200, 202, hasBatches ? 200 : 400];
            assert.deepEqual(
                answers.map(({ status }) => status),
                version === agreed ? right : [400, 400, 400],
                `${agreed}, ${version}`,
            );
            if (version !== agreed) {
                assertRpcError(answers[0], 400, -32000, 1);
            }
        }
    }
});
