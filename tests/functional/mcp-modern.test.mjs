// POST /mcp in the modern era (2026-07-28): what every request must carry, what every answer has,
// and which mistake gets which status and code.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { databasePath } from "./support/accounts.mjs";
import {
    assertPlain,
    assertRpcError,
    assertToolError,
    both,
    callTool,
    callToolWell,
    envelope,
    EventStream,
    extensions,
    metaKey,
    modern,
    modernParts,
    modernVersion,
    ownName,
    post,
    startBridge,
    toolRequest,
} from "./support/mcp.mjs";
import { Connection, exchange, request } from "./support/server.mjs";

const codes = { parse: -32700, invalid: -32600, method: -32601, params: -32602 };
const mismatch = -32020;
const unsupported = -32022;
const message = "hello";

let server;
before(async () => (server = await startBridge()));
after(() => server?.stop());

function assertComplete({ status, headers, text, json }, id = 1) {
    assert.equal(status, 200, text);
    assert.match(headers.get("content-type"), /^application\/json/);
    assert.equal(json.jsonrpc, "2.0");
    assert.deepEqual(json.id, id);
    assert.equal(json.result?.resultType, "complete", text);
    const about = json.result._meta?.[metaKey("serverInfo")];
    assert.equal(typeof about?.name, "string", text);
    assert.equal(typeof about.version, "string");
    return json.result;
}

function assertCacheable(result) {
    assert.ok(Number.isInteger(result.ttlMs) && result.ttlMs >= 0, JSON.stringify(result));
    assert.ok(["public", "private"].includes(result.cacheScope));
}

function assertDiscovered(answer) {
    const result = assertComplete(answer);
    assertCacheable(result);
    assert.deepEqual(result.supportedVersions, [modernVersion]);
    assert.deepEqual(result.capabilities, { tools: { listChanged: true }, logging: {}, extensions });
}

// The same request over a socket, so that the bytes of its head are exactly these.
async function postRaw(method, params, headers) {
    const { body } = modernParts(method, params);
    const all = { "Content-Type": "application/json", ...both, ...headers };
    const answer = await exchange(server, request("POST", "/mcp", all, JSON.stringify(body)));
    return { ...answer, json: JSON.parse(answer.text) };
}

suite("the rows of the protocol notes", { concurrency: true }, () => {
    test("server/discover names version, capabilities, identity and how long it holds", async () => {
        assertDiscovered(await modern(server, "server/discover"));
    });

    test("tools/call without arguments is a call with none", async () => {
        const answer = await modern(server, "tools/call", { name: "test.caller" });
        const result = assertComplete(answer);
        assert.equal(result.content[0].type, "text");
        assert.equal("isError" in result && result.isError, false);
    });

    test("tools/call with a progress token is answered by a stream that ends with the result", async () => {
        const params = { name: "test.progress", arguments: { steps: 3 } };
        const stream = await EventStream.open(server, "tools/call", params, {
            meta: { progressToken: "t" },
        });
        assert.equal(stream.status, 200);
        assert.match(stream.type, /^text\/event-stream/);
        assert.equal(stream.headers.get("cache-control"), "no-store, no-transform"); // once
        assert.equal(stream.headers.get("x-accel-buffering"), "no");
        const all = await stream.rest();
        const last = all.pop();
        assert.equal(last.id, 1);
        assert.equal(last.result.resultType, "complete");
        assert.ok(all.length >= 1);
        for (const {
            method,
            params: { progressToken },
        } of all) {
            assert.equal(method, "notifications/progress");
            assert.equal(progressToken, "t");
        }
        const lines = stream.events.flatMap((event) => event.lines);
        assert.ok(!lines.some((line) => line.startsWith("id:")), "events have no ids");
    });

    test("an unknown method is 404 and -32601", async () => {
        assertRpcError(await modern(server, "tools/lust"), 404, codes.method, 1);
    });

    test("an unknown tool is 200 and -32602", async () => {
        assertRpcError(await callTool(server, "test.nothing", {}), 200, codes.params, 1);
    });

    test("Mcp-Name without a name in the body is 400 and -32020", async () => {
        for (const [method, params] of [
            ["tools/call", { arguments: {} }],
            ["tools/call", { name: 5, arguments: {} }],
            ["prompts/get", {}],
            ["resources/read", {}],
        ]) {
            const named = { headers: { "Mcp-Name": "test.echo" } };
            const { data } = assertRpcError(await modern(server, method, params, named), 400, -32020, 1);
            assert.deepEqual(data, { mismatch: { header: "test.echo", body: "" } });
            const plain = { headers: { "Mcp-Name": undefined } };
            assertRpcError(await modern(server, method, params, plain), 200, -32602, 1);
        }
    });

    test("Mcp-Name that differs from the name in the body is 400 and -32020", async () => {
        const options = { headers: { "Mcp-Name": "test.other" } };
        assertRpcError(await callTool(server, "test.echo", { message }, options), 400, mismatch, 1);
    });

    test("no MCP-Protocol-Version header is 400 and -32020", async () => {
        const options = { headers: { "MCP-Protocol-Version": undefined } };
        assertRpcError(await modern(server, "server/discover", {}, options), 400, mismatch, 1);
    });

    for (const [row, version] of [
        ["M8", "2099-01-01"],
        ["M10", "2025-11-25"],
    ]) {
        test(`${row}: version ${version} in header and body is 400 and -32022 with what is supported`, async () => {
            const error = assertRpcError(
                await modern(
                    server,
                    "server/discover",
                    {},
                    {
                        meta: { [metaKey("protocolVersion")]: version },
                        headers: { "MCP-Protocol-Version": version },
                    },
                ),
                400,
                unsupported,
                1,
            );
            assert.deepEqual(error.data, { supported: [modernVersion], requested: version });
        });
    }

    test("the modern header without _meta is 400 and -32602", async () => {
        const { headers } = modernParts("tools/list");
        for (const params of [undefined, {}, { _meta: {} }, { _meta: { progressToken: 1 } }]) {
            const body = { jsonrpc: "2.0", id: 9, method: "tools/list", params };
            assertRpcError(await post(server, "/mcp", body, headers), 400, codes.params, 9);
        }
    });

    test("a notification with the modern header and no envelope is 202 without a body", async () => {
        const body = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 5 } };
        const headers = { ...both, "MCP-Protocol-Version": modernVersion };
        const { status, text } = await post(server, "/mcp", body, headers);
        assert.equal(status, 202);
        assert.equal(text, "");
    });

    test("Accept with JSON only is enough for what is answered with JSON", async () => {
        const options = { headers: { Accept: "application/json" } };
        assertDiscovered(await modern(server, "server/discover", {}, options));
    });

    test("subscriptions/listen is acknowledged first, with the id of the request", async () => {
        const wanted = { notifications: { toolsListChanged: true } };
        const stream = await EventStream.open(server, "subscriptions/listen", wanted, { id: 13 });
        assert.equal(stream.status, 200);
        assert.match(stream.type, /^text\/event-stream/);
        assert.deepEqual(await stream.next(), {
            jsonrpc: "2.0",
            method: "notifications/subscriptions/acknowledged",
            params: { ...wanted, _meta: { [metaKey("subscriptionId")]: 13 } },
        });
        stream.close();
    });

    test("an array with a modern request is 400 and -32600 without an id", async () => {
        const { body, headers } = modernParts("server/discover");
        assertRpcError(await post(server, "/mcp", [body], headers), 400, codes.invalid, undefined);
        assertRpcError(await post(server, "/mcp", [body, body], headers), 400, codes.invalid);
    });

    test("a stale session id and a last event id are ignored", async () => {
        const headers = { "Mcp-Session-Id": "stale", "Last-Event-ID": "7" };
        assertDiscovered(await modern(server, "server/discover", {}, { headers }));
    });
});

suite("the envelope", { concurrency: true }, () => {
    test("needs the client's capabilities", async () => {
        const meta = { [metaKey("clientCapabilities")]: undefined };
        assertRpcError(await modern(server, "tools/list", {}, { meta }), 400, codes.params, 1);
    });

    test("needs capabilities that are an object", async () => {
        for (const wrong of [null, [], "sampling", 1]) {
            const meta = { [metaKey("clientCapabilities")]: wrong };
            assertRpcError(await modern(server, "tools/list", {}, { meta }), 400, codes.params, 1);
        }
    });

    test("needs no clientInfo", async () => {
        const meta = { [metaKey("clientInfo")]: { name: "somebody", version: "1" } };
        assertComplete(await modern(server, "tools/list", {}, { meta }));
        assertComplete(await modern(server, "tools/list"));
    });

    test("with a version that is no string is refused", async () => {
        for (const wrong of [null, 20260728, {}]) {
            const meta = { [metaKey("protocolVersion")]: wrong };
            const answer = await modern(server, "tools/list", {}, { meta });
            assertRpcError(answer, 400, codes.params, 1);
        }
    });

    test("that differs from the header is a mismatch before it is unsupported", async () => {
        const meta = { [metaKey("protocolVersion")]: "v999" };
        assertRpcError(await modern(server, "server/discover", {}, { meta }), 400, mismatch, 1);
    });

    test("makes initialize and ping unknown methods", async () => {
        for (const method of ["initialize", "ping", "logging/setLevel", "resources/subscribe"]) {
            assertRpcError(await modern(server, method), 404, codes.method, 1);
        }
    });
});

suite("headers", { concurrency: true }, () => {
    const good = {
        "MCP-Protocol-Version": modernVersion,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "test.echo",
    };
    const params = { name: "test.echo", arguments: { message } };

    test("are found whatever the case of their names", async () => {
        const upper = Object.entries(good).map(([name, value]) => [name.toUpperCase(), value]);
        const lower = Object.entries(good).map(([name, value]) => [name.toLowerCase(), value]);
        for (const headers of [upper, lower]) {
            assertComplete(await postRaw("tools/call", params, Object.fromEntries(headers)));
        }
    });

    test("have spaces and tabs around their values trimmed", async () => {
        const padded = Object.entries(good).map(([name, value]) => [name, ` \t${value}\t  `]);
        assertComplete(await postRaw("tools/call", params, Object.fromEntries(padded)));
    });

    test("have values whose case matters", async () => {
        for (const [name, value] of [
            ["Mcp-Method", "Tools/Call"],
            ["Mcp-Name", "TEST.echo"],
        ]) {
            const answer = await postRaw("tools/call", params, { ...good, [name]: value });
            assertRpcError(answer, 400, mismatch, 1);
        }
    });

    test("threat-A5: may not be missing", async () => {
        for (const name of Object.keys(good)) {
            const answer = await postRaw("tools/call", params, { ...good, [name]: undefined });
            assertRpcError(answer, 400, mismatch, 1);
        }
    });

    test("threat-A5: may not stand twice with two values", async () => {
        for (const [name, value] of Object.entries(good)) {
            const answer = await postRaw("tools/call", params, { ...good, [name]: [value, "x"] });
            assert.equal(answer.status, 400, answer.text);
        }
    });

    const base64 = (text) => `=?base64?${Buffer.from(text).toString("base64")}?=`;

    test("may hold the name in base64", async () => {
        const headers = { ...good, "Mcp-Name": base64("test.echo") };
        assertComplete(await postRaw("tools/call", params, headers));
    });

    test("threat-A5: in base64 are compared after decoding", async () => {
        const headers = { ...good, "Mcp-Name": base64("test.other") };
        assertRpcError(await postRaw("tools/call", params, headers), 400, mismatch, 1);
    });

    for (const [what, value] of Object.entries({
        "wrong padding": "=?base64?dGVzdC5lY2hv=?=",
        "a character outside the alphabet": "=?base64?dGVzdC5l_2hv?=",
        "white space": "=?base64?dGVz dC5lY2hv?=",
        "a marker in capitals": "=?BASE64?dGVzdC5lY2hv?=",
        "no end": "=?base64?dGVzdC5lY2hv",
        "bits behind the end": "=?base64?dGVzdC5lY2hvIA=?=",
    })) {
        test(`in base64 with ${what} are refused`, async () => {
            const headers = { ...good, "Mcp-Name": value };
            assertRpcError(await postRaw("tools/call", params, headers), 400, mismatch, 1);
        });
    }

    test("can name an unknown tool that only base64 can carry", async () => {
        const name = "наука и жизнь";
        const answer = await callTool(server, name, {}, { headers: { "Mcp-Name": base64(name) } });
        assertRpcError(answer, 200, codes.params, 1);
    });

    test("with unknown Mcp-Param names are ignored", async () => {
        const headers = { ...good, "Mcp-Param-Nothing": "=?base64?!?=" };
        assertComplete(await postRaw("tools/call", params, headers));
    });

    const doubled = {
        "Mcp-Name twice": "Mcp-Name: test.echo",
        "another Mcp-Name behind the right one": "mcp-name: test.fail",
        "Mcp-Method twice": "Mcp-Method: tools/call",
        "MCP-Protocol-Version twice": "MCP-Protocol-Version: 2026-07-28",
        "a legacy version beside the modern one": "MCP-Protocol-Version: 2025-06-18",
    };
    for (const [name, line] of Object.entries(doubled)) {
        test(`${name} is refused as a mismatch`, async () => {
            const text = toolRequest("test.echo", { message: "x" });
            const twice = text.replace("\r\n\r\n", `\r\n${line}\r\n\r\n`);
            const answer = await exchange(server, twice);
            assertRpcError({ ...answer, json: JSON.parse(answer.text) }, 400, -32020, 1);
        });
    }

    test("two legacy versions are refused", async () => {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
        const version = { "MCP-Protocol-Version": "2025-06-18", "mcp-protocol-version": "2025-11-25" };
        const headers = { "Content-Type": "application/json", ...version };
        const answer = await exchange(server, request("POST", "/mcp", headers, body));
        assertRpcError({ ...answer, json: JSON.parse(answer.text) }, 400, -32020, 1);
    });

    test("a stream says Cache-Control once", async () => {
        const client = await Connection.open(server);
        await client.send(toolRequest("test.progress", {}, { meta: { progressToken: 1 } }));
        const head = await client.text(/\r\n\r\n/);
        assert.match(head, /^content-type: text\/event-stream\r$/im);
        const lines = head.match(/^cache-control: .*$/gim);
        assert.deepEqual(lines, ["Cache-Control: no-store, no-transform"]);
        client.close();
    });
});

suite("messages", { concurrency: true }, () => {
    for (const id of [0, 1, -7, 9007199254740991, "1", "", "žluťoučký", "a".repeat(200)]) {
        test(`come back with the id ${JSON.stringify(id).slice(0, 20)} and its type`, async () => {
            assertComplete(await modern(server, "tools/list", {}, { id }), id);
            assertRpcError(await modern(server, "no/such", {}, { id }), 404, codes.method, id);
            assertRpcError(await callTool(server, "test.nothing", {}, { id }), 200, codes.params, id);
        });
    }

    for (const id of [null, true, [1], { a: 1 }, 1.5]) {
        test(`with the id ${JSON.stringify(id)} are refused without an id`, async () => {
            const { body, headers } = modernParts("tools/list");
            const answer = await post(server, "/mcp", { ...body, id }, headers);
            assertRpcError(answer, 400, codes.invalid, undefined);
        });
    }

    test("that are no JSON are 400 and -32700 without an id", async () => {
        const { headers } = modernParts("tools/list");
        for (const text of ["{", "", "tools/list", '{"a":1,}', '{"id":1}{"id":2}', "\u0000"]) {
            assertRpcError(await post(server, "/mcp", text, headers), 400, codes.parse, undefined);
        }
    });

    test("with the same key twice are refused", async () => {
        const { body, headers } = modernParts("tools/list");
        const text = JSON.stringify(body).replace('"id":1', '"id":1,"id":2');
        const answer = await post(server, "/mcp", text, headers);
        assert.equal(answer.status, 400, answer.text);
        assert.ok([codes.parse, codes.invalid].includes(answer.json.error.code));
    });

    test("that are JSON but not JSON-RPC are 400 and -32600", async () => {
        const { headers } = modernParts("tools/list");
        const { body } = modernParts("tools/list");
        const wrong = [1, "x", null, true, {}, { ...body, jsonrpc: "1.0" }, { ...body, method: 1 }];
        for (const one of wrong) {
            const answer = await post(server, "/mcp", JSON.stringify(one), headers);
            assert.equal(answer.status, 400, answer.text);
            assert.equal(answer.json.error.code, codes.invalid, answer.text);
            assert.notEqual(answer.json.id, null);
        }
    });

    test("with params that are no object are refused", async () => {
        const { headers } = modernParts("tools/list");
        for (const params of [[], [1], "x", 1]) {
            const body = { jsonrpc: "2.0", id: 1, method: "tools/list", params };
            const answer = await post(server, "/mcp", body, headers);
            assert.equal(answer.status, 400, answer.text);
        }
    });

    test("of a content type that is not JSON are 415", async () => {
        const { body, headers } = modernParts("tools/list");
        for (const type of ["text/plain", "application/x-www-form-urlencoded"]) {
            const answer = await post(server, "/mcp", body, { ...headers, "Content-Type": type });
            assert.equal(answer.status, 415, answer.text);
        }
        const type = "application/json; charset=utf-8";
        assertComplete(await post(server, "/mcp", body, { ...headers, "Content-Type": type }));
    });

    test("that are notifications are 202 whatever they say", async () => {
        for (const method of ["notifications/initialized", "notifications/nobody/knows"]) {
            const { body, headers } = modernParts(method);
            delete body.id;
            const { status, text } = await post(server, "/mcp", body, headers);
            assert.equal(status, 202, text);
            assert.equal(text, "");
        }
    });

    for (const method of ["GET", "DELETE", "PUT", "HEAD"]) {
        test(`cannot come by ${method}`, async () => {
            const headers = { Accept: "text/event-stream", "MCP-Protocol-Version": modernVersion };
            const answer = await fetch(`${server.url}/mcp`, { method, headers });
            const text = await answer.text();
            assert.equal(answer.status, 405);
            assert.equal(answer.headers.get("allow"), "POST, OPTIONS");
            if (method !== "HEAD") {
                assertPlain({ status: answer.status, headers: answer.headers, text }, 405);
            }
            const options = await fetch(`${server.url}/mcp`, { method: "OPTIONS", headers });
            assert.equal(options.headers.get("allow"), "POST, OPTIONS");
        });
    }

    test("with a foreign Origin are 403, with a foreign Host 421", async () => {
        const origin = { Origin: "http://evil.example.com" };
        assert.equal((await modern(server, "tools/list", {}, { headers: origin })).status, 403);
        const host = { Host: "evil.example.com", "MCP-Protocol-Version": modernVersion };
        const { body } = modernParts("tools/list");
        const all = { "Content-Type": "application/json", ...host };
        const answer = await exchange(server, request("POST", "/mcp", all, JSON.stringify(body)));
        assert.equal(answer.status, 421);
    });
});

suite("tools", { concurrency: true }, () => {
    test("are listed by name, each with a description and an object as input schema", async () => {
        const result = assertComplete(await modern(server, "tools/list"));
        assertCacheable(result);
        const names = result.tools.map(ownName);
        assert.deepEqual(names, names.toSorted());
        assert.ok(names.includes("test.echo"));
        for (const { description, inputSchema } of result.tools) {
            assert.ok(description.length > 0);
            assert.equal(inputSchema.type, "object");
        }
        const again = assertComplete(await modern(server, "tools/list"));
        assert.deepEqual(again.tools, result.tools);
    });

    test("without a mark are not listed and cannot be called here", async () => {
        const { json } = await modern(server, "tools/list");
        assert.ok(!json.result.tools.some((tool) => ownName(tool) === "test.unmarked"));
        const unknown = await callTool(server, "test.unmarkee", {});
        const unmarked = await callTool(server, "test.unmarked", {});
        assert.equal(unmarked.text.replaceAll("unmarked", "unmarkee"), unknown.text);
    });

    test("whose permission the caller lacks look like tools that do not exist", async () => {
        const { json } = await modern(server, "tools/list");
        assert.ok(!json.result.tools.some((tool) => ownName(tool) === "test.admin"));
        const unknown = await callTool(server, "test.admim", {});
        const hidden = await callTool(server, "test.admin", {});
        assertRpcError(hidden, 200, codes.params, 1);
        assert.equal(hidden.text.replaceAll("admin", "admim"), unknown.text);
    });

    test("whose scopes the caller lacks are listed, and a call is challenged, where callers can log in", async (t) => {
        const server = await startBridge({ config: { store: { path: databasePath() } } });
        t.after(() => server.stop());
        const { json } = await modern(server, "tools/list");
        assert.ok(json.result.tools.some((tool) => ownName(tool) === "test.scoped"));
        const answer = await callTool(server, "test.scoped", {});
        assert.equal(answer.status, 401, answer.text);
        assert.match(answer.headers.get("www-authenticate"), /^Bearer/);
    });

    test("give their result as text and as structured content", async () => {
        const result = await callToolWell(server, "test.echo", { message });
        assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
        assert.match(result.content[0].text, new RegExp(message));
    });

    test("pass every kind of text on unharmed", async () => {
        for (const text of ["", '"\\/\b\f\n\r\t\u0001', "漢字 👍🏽 é e\u0301", "x".repeat(100_000)]) {
            const result = await callToolWell(server, "test.echo", { message: text });
            assert.ok(JSON.stringify(result.structuredContent).includes(JSON.stringify(text)));
        }
    });

    test("that report an error give a result with isError", async () => {
        assertToolError(await callTool(server, "test.fail", {}));
    });

    test("called with wrong arguments give a result with isError that helps", async () => {
        assertToolError(await callTool(server, "test.echo", { massage: "x" }), /massage.*message/s);
    });

    test("called with arguments that are no object are -32602", async () => {
        for (const args of [[], "x", 1, null]) {
            const answer = await callTool(server, "test.echo", args);
            assert.equal(answer.json?.error?.code, codes.params, answer.text);
            assert.equal(answer.json.id, 1);
        }
    });

    test("called without a name are -32602", async () => {
        const { body, headers } = modernParts("tools/call", { arguments: {} });
        const answer = await post(server, "/mcp", body, headers);
        assert.ok([codes.params, mismatch].includes(answer.json.error.code), answer.text);
    });

    test("cannot be listed from a cursor that was never given out", async () => {
        for (const cursor of ["", "x", "AAAA"]) {
            assertRpcError(await modern(server, "tools/list", { cursor }), 200, codes.params, 1);
        }
    });

    test("answer with no-store", async () => {
        const { headers } = await callTool(server, "test.echo", { message });
        assert.match(headers.get("cache-control"), /no-store/);
    });

    test("may take the envelope's other keys along", async () => {
        const meta = { ...envelope(), traceparent: "00-0-0-00", "example.com/x": [1] };
        await callToolWell(server, "test.echo", { message }, { meta });
    });
});

suite("a caller who may do nothing", { concurrency: true }, () => {
    test("is asked to log in before it may list, where callers can log in", async (t) => {
        const roles = { anonymous: [] };
        const closed = await startBridge({ roles, config: { store: { path: databasePath() } } });
        t.after(() => closed.stop());
        const answer = await modern(closed, "tools/list");
        assert.equal(answer.status, 401, answer.text);
        assert.match(answer.headers.get("www-authenticate"), /^Bearer/);
        // A challenge would lead nowhere.
        const without = await startBridge({ roles });
        t.after(() => without.stop());
        for (const cursor of [undefined, "x"]) {
            const { status, headers, json } = await modern(without, "tools/list", { cursor });
            assert.deepEqual([status, headers.get("www-authenticate"), json.result.tools], [200, null, []]);
        }
    });

    test("is asked to log in before it may call, where callers can log in", async (t) => {
        const roles = { anonymous: ["access mcp tool discovery"] };
        const closed = await startBridge({ roles, config: { store: { path: databasePath() } } });
        t.after(() => closed.stop());
        await closed.untilLogged(/catalogue published tools=[1-9]/);
        assert.equal((await modern(closed, "tools/list")).status, 200);
        assert.equal((await callTool(closed, "test.echo", { message })).status, 401);
        const without = await startBridge({ roles });
        t.after(() => without.stop());
        await without.untilLogged(/catalogue published tools=[1-9]/);
        assertToolError(await callTool(without, "test.echo", { message }), /^This tool requires a login/);
    });
});
