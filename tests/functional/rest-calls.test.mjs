// Calling tools: POST /mcp/tools/invoke, GET and POST /mcp/tools/{name}, GET /jsonrpc.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { assertRpcError, permissions, startBridge } from "./support/mcp.mjs";
import { assertRestError, get, invoke, post, send, startExamples, startMany } from "./support/rest.mjs";
import { eventually } from "./support/server.mjs";

const article = "examples.article.toMarkdown";
const codes = { parse: -32700, invalid: -32600, method: -32601, params: -32602, internal: -32603 };
const call = (method, params, id = 1) => ({ jsonrpc: "2.0", method, params, id });
const query = (message) => `?query=${encodeURIComponent(JSON.stringify(message))}`;
const tool = (name) => `/mcp/tools/${name}`;

// The helper of the JSON-RPC doors wants headers as fetch has them.
function assertRpc(answer, status, code, id) {
    assert.equal(answer.headers["cache-control"], "no-store");
    const headers = { get: (name) => answer.headers[name] };
    return assertRpcError({ ...answer, headers }, status, code, id);
}

let server;
before(async () => {
    const roles = { anonymous: permissions };
    server = await startExamples({ plugins: ["echo", "faults"], roles });
    const hasAll = async () => {
        const { json } = await get(server, "/mcp/tools/list");
        return ["test.echo", "faults.ok"].every((one) => json.tools.some(({ name }) => name === one));
    };
    await eventually(hasAll, "the tools of all plugins");
});
after(() => server?.stop());

suite("POST /mcp/tools/invoke", { concurrency: true }, () => {
    test("check-71: a call gives its result and nothing else", async () => {
        const { status, headers, json } = await invoke(server, "examples.articles.list", {});
        assert.equal(status, 200);
        assert.equal(headers["content-type"], "application/json");
        assert.equal(headers["cache-control"], "no-store");
        assert.deepEqual(Object.keys(json), ["result"]);
        assert.ok(Array.isArray(json.result) && json.result.length > 0);
    });

    test("arguments may be empty, as {} or [], and by position", async () => {
        for (const none of [{}, []]) {
            assert.equal((await invoke(server, "examples.articles.list", none)).status, 200);
        }
        const { json } = await invoke(server, "test.echo", ["hi"]);
        assert.deepEqual(json, { result: { message: "hi" } });
    });

    test("check-72: an unknown tool is 404", async () => {
        const error = assertRestError(await invoke(server, "nope", {}), 404, "tool_not_found");
        assert.equal(error.message, "Tool 'nope' not found or access denied");
    });

    test("fault-B4: unmarked and forbidden tools are as unknown ones", async () => {
        for (const name of ["test.unmarked", "test.admin"]) {
            const error = assertRestError(await invoke(server, name, {}), 404, "tool_not_found");
            assert.equal(error.message, `Tool '${name}' not found or access denied`);
        }
    });

    test("check-73, check-75: what is missing is 400", async () => {
        const bodies = [
            [{}, /"name"/],
            [[], /"name"/],
            [{ name: 1, arguments: {} }, /"name"/],
            [{ name: null, arguments: {} }, /"name"/],
            [{ name: "nope" }, /"arguments"/],
            [{ name: "test.echo" }, /"arguments"/],
            [{ name: "test.echo", arguments: null }, /"arguments"/],
            [{ name: "test.echo", arguments: "x" }, /"arguments"/],
            [{ name: "test.echo", arguments: {} }, /Missing required parameter: message/],
        ];
        for (const [body, message] of bodies) {
            const answer = await post(server, "/mcp/tools/invoke", body);
            assertRestError(answer, 400, "missing_parameter", message);
        }
    });

    test("check-74: no JSON is 400", async () => {
        const bodies = ["{invalid json}", "", "1", '"x"', "null", '{"name":"a","name":"b"}', "[".repeat(500)];
        for (const body of bodies) {
            assertRestError(await post(server, "/mcp/tools/invoke", body), 400, "invalid_json");
        }
    });

    test("row-D11, fault-B28: arguments are checked before the tool is run", async () => {
        const cases = [
            [article, { nid: "1" }, /^\/nid: expected integer, got string$/],
            [article, { nid: 0 }, /^\/nid: /],
            [article, { nid: 1, nidd: 2 }, /^Unknown parameter: nidd; did you mean nid\?$/],
            [article, [1, 2], /^Too many parameters/],
            ["examples.articles.list", { page: { limit: -1 } }, /^\/page\/limit: /],
        ];
        for (const [name, args, message] of cases) {
            assertRestError(await invoke(server, name, args), 400, "invalid_arguments", message);
        }
    });

    test("check-75: what the method reports is 500 execution_error with its text", async () => {
        const answer = await invoke(server, article, { nid: 99_999 });
        assertRestError(answer, 500, "execution_error", /Node 99999 not found or not an article/);
    });

    test("threat-D5, fault-B5: a method that cannot be run to its end tells nothing of the inside", async () => {
        const error = assertRestError(await invoke(server, "faults.segv", {}), 500, "execution_error");
        assert.doesNotMatch(error.message, /\.so|\/|signal|0x/i);
    });

    test("a result that is not what its schema says is 500 internal_error", async (t) => {
        const own = await startBridge({ plugins: ["checked"] });
        t.after(() => own.stop());
        const claim = (result) => invoke(own, "checked.claim", { result });
        assert.deepEqual((await claim({ id: 1 })).json, { result: { id: 1 } });
        assertRestError(await claim({ id: "one" }), 500, "internal_error");
    });

    test("a tool that needs a login is 401 with a challenge and names the scopes", async () => {
        const answer = await invoke(server, "examples.contentTypes.list", {});
        assert.equal(answer.status, 401);
        assert.equal(answer.json.error.code, "unauthorized");
        assert.match(answer.headers["www-authenticate"], /^Bearer realm=/);
        const scopes = ["tutorial:read", "tutorial:search"];
        assert.deepEqual(answer.json.error.data.required_scopes, scopes);
        assert.equal(answer.headers["cache-control"], "no-store");
    });

    test("another media type is 415", async () => {
        for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"]) {
            const headers = { "Content-Type": type };
            const answer = await post(server, "/mcp/tools/invoke", "{}", headers);
            assertRestError(answer, 415, "unsupported_media_type");
        }
    });

    test("a body that is too large is 413", async () => {
        const answer = await send(server, "POST", "/mcp/tools/invoke", {
            headers: { "Content-Type": "application/json", "Content-Length": "5000000" },
            body: "{",
        }).catch((error) => ({ error }));
        if (!answer.error) {
            assertRestError(answer, 413, "payload_too_large");
        }
    });

    test("a service that is away is 503", async (t) => {
        const away = await startMany(1);
        t.after(() => away.stop());
        assertRestError(await invoke(away, "t.00000", {}), 503, "unavailable");
    });

    test("without `use jsonrpc services` it is 403, whatever is asked", async (t) => {
        const roles = { anonymous: ["access mcp tool discovery", "access content"] };
        const closed = await startExamples({ roles });
        t.after(() => closed.stop());
        const texts = new Set();
        for (const body of ['{"name":"examples.articles.list","arguments":{}}', '{"name":"x"}', "{"]) {
            const answer = await post(closed, "/mcp/tools/invoke", body);
            assertRestError(answer, 403, "access_denied");
            texts.add(answer.text);
        }
        assert.equal(texts.size, 1);
    });
});

suite("/mcp/tools/{name}", { concurrency: true }, () => {
    test("check-76, row-D1, fault-B11: every listed tool has an address", async () => {
        const { json } = await get(server, "/mcp/tools/list");
        for (const { name } of json.tools) {
            const answer = await post(server, tool(name), { jsonrpc: "2.0", id: 1, params: { no: 1 } });
            assert.notEqual(answer.status, 404, name);
        }
    });

    test("the same call through all doors has the same result", async () => {
        const params = { nid: 1 };
        const answers = [
            (await invoke(server, article, params)).json.result,
            (await post(server, tool(article), call(article, params))).json.result,
            (await post(server, "/jsonrpc", call(article, params))).json.result,
            (await get(server, tool(article) + query(call(article, params)))).json.result,
            (await get(server, `/jsonrpc${query(call(article, params))}`)).json.result,
        ];
        assert.match(answers[0], /^# /);
        assert.equal(new Set(answers).size, 1);
    });

    test("row-D16: a message without a method means the tool, the same one may be named", async () => {
        for (const message of [{ jsonrpc: "2.0", params: { nid: 1 }, id: 1 }, call(article, { nid: 1 })]) {
            const { status, headers, json } = await post(server, tool(article), message);
            assert.equal(status, 200);
            assert.equal(headers["cache-control"], "no-store");
            assert.deepEqual(Object.keys(json).sort(), ["id", "jsonrpc", "result"]);
        }
    });

    test("threat-A6, fault-B1, row-D16: nothing but the tool of the address can be run", async () => {
        for (const method of ["test.caller", "test.unmarked", "test.scoped", "nope", "rpc.discover", ""]) {
            const answer = await post(server, tool("test.echo"), call(method, { message: "x" }, 7));
            const error = assertRpc(answer, 400, codes.invalid, 7);
            assert.equal(error.message, "Invalid Request");
        }
        const batch = [
            call("test.echo", { message: "a" }, 1),
            call("test.caller", {}, 2),
            { jsonrpc: "2.0", params: { message: "c" }, id: 3 },
            { jsonrpc: "2.0", method: "test.unmarked" },
        ];
        const { status, json } = await post(server, tool("test.echo"), batch);
        assert.equal(status, 200);
        assert.deepEqual(json.map(({ id }) => id).slice(0, 3), [1, 2, 3]);
        assert.deepEqual(json[0].result, { message: "a" });
        assert.equal(json[1].error.code, codes.invalid);
        assert.deepEqual(json[2].result, { message: "c" });
        for (const answer of json.slice(3)) {
            assert.equal(answer.error.code, codes.invalid);
        }
    });

    test("fault-B4, row-D13: unknown, unmarked and forbidden are 404 to the byte", async () => {
        const texts = new Set();
        for (const name of ["nope", "test.unmarked", "test.admin", "..x", "%22", "x".repeat(500)]) {
            for (const answer of [
                await post(server, tool(name), call("nope")),
                await post(server, tool(name), "{"),
                await get(server, tool(name)),
            ]) {
                assertRpc(answer, 404, codes.method, null);
                texts.add(answer.text);
            }
        }
        assert.deepEqual(
            [...texts],
            ['{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":null}'],
        );
    });

    test("check-77, row-D12, fault-B2, fault-B12, fault-B13: a scoped tool challenges on every door", async () => {
        const name = "examples.contentTypes.list";
        const message = call(name, {}, 1);
        for (const answer of [
            await post(server, tool(name), message),
            await post(server, tool(name), "{"),
            await post(server, tool(name), { jsonrpc: "2.0", method: name }),
            await get(server, tool(name) + query(message)),
            await post(server, "/jsonrpc", message),
            await get(server, `/jsonrpc${query(message)}`),
            await invoke(server, name, {}),
        ]) {
            assert.equal(answer.status, 401, answer.text);
            assert.match(answer.headers["www-authenticate"], /^Bearer realm="/);
            assert.equal(answer.headers["cache-control"], "no-store");
        }
    });

    test("check-78: a wrong token is 401 invalid_token, whatever the tool", async () => {
        const texts = new Set();
        for (const name of ["test.echo", "examples.contentTypes.list", "nope"]) {
            for (const token of ["garbage", "cw_" + "A".repeat(43)]) {
                const headers = { Authorization: `Bearer ${token}` };
                const answer = await post(server, tool(name), call(name), headers);
                assert.equal(answer.status, 401);
                assert.match(answer.headers["www-authenticate"], /error="invalid_token"/);
                texts.add(answer.text);
            }
        }
        assert.equal(texts.size, 1);
    });

    test("check-83: GET with query is as POST, for tools that only read", async () => {
        for (const message of [call(article, { nid: 1 }, "a"), call(article, { nid: 99_999 }, 2)]) {
            const [viaGet, viaPost] = [
                await get(server, tool(article) + query(message)),
                await post(server, tool(article), message),
            ];
            assert.equal(viaGet.status, viaPost.status);
            assert.equal(viaGet.text, viaPost.text);
            assert.equal(viaGet.headers["cache-control"], "no-store");
        }
    });

    test("threat-A3, fault-B3: GET runs nothing that may change something", async () => {
        const message = call("test.caller", {}, 5);
        for (const target of [tool("test.caller") + query(message), `/jsonrpc${query(message)}`]) {
            const answer = await get(server, target);
            assertRpc(answer, 405, codes.invalid, 5);
            assert.match(answer.headers.allow, /POST/);
        }
        const batch = await get(server, `/jsonrpc${query([message, call("test.echo", { message: "x" }, 6)])}`);
        assert.equal(batch.status, 200);
        assert.equal(batch.json[0].error.code, codes.invalid);
        assert.deepEqual(batch.json[1].result, { message: "x" });
        const { id, ...notification } = message;
        assert.equal((await get(server, `/jsonrpc${query(notification)}`)).status, 204);
    });

    test("a GET without one query is 400", async () => {
        for (const target of [tool("test.echo"), "/jsonrpc"]) {
            assertRpc(await get(server, target), 400, codes.invalid, null);
            assertRpc(await get(server, `${target}?query=1&query=2`), 400, codes.invalid, null);
            assertRpc(await get(server, `${target}?query[]=1`), 400, codes.invalid, null);
            assertRpc(await get(server, `${target}?query=%7B`), 400, codes.parse, null);
            assertRpc(await get(server, `${target}?query=1`), 400, codes.invalid, null);
            assertRpc(await get(server, `${target}?query=`), 400, codes.parse, null);
        }
    });

    test("check-85: errors are JSON-RPC's", async () => {
        const echo = tool("test.echo");
        assertRpc(await post(server, echo, "{"), 400, codes.parse, null);
        assertRpc(await post(server, echo, "[]"), 400, codes.invalid, null);
        assertRpc(await post(server, echo, { jsonrpc: "1.0", id: 3 }), 400, codes.invalid, 3);
        assertRpc(await post(server, echo, call("test.echo", {}, 4)), 400, codes.params, 4);
        const failed = await post(server, tool("test.fail"), call("test.fail", { code: 7, message: "m" }));
        assert.equal(failed.status, 200);
        assert.equal(failed.json.error.code, 7);
        const crashed = await post(server, tool("faults.segv"), call("faults.segv"));
        assertRpc(crashed, 500, codes.internal, 1);
    });

    test("row-D17: a notification is 204 and empty", async () => {
        const { status, text, headers } = await post(server, tool("test.echo"), {
            jsonrpc: "2.0",
            params: { message: "x" },
        });
        assert.equal(status, 204);
        assert.equal(text, "");
        assert.equal(headers["cache-control"], "no-store");
    });

    test("fault-B15: other verbs are 405", async () => {
        for (const method of ["PUT", "DELETE", "PATCH"]) {
            assertRestError(await send(server, method, tool("test.echo")), 405, "method_not_allowed");
            assertRestError(await send(server, method, "/mcp/tools/invoke"), 405, "method_not_allowed");
        }
    });
});

suite("the examples through /jsonrpc", { concurrency: true }, () => {
    const rpc = (method, params) => post(server, "/jsonrpc", call(method, params));

    test("check-87, check-90, check-100: Markdown, and exactly jsonrpc, id and result", async () => {
        const { status, json } = await rpc(article, { nid: 1 });
        assert.equal(status, 200);
        assert.deepEqual(Object.keys(json).sort(), ["id", "jsonrpc", "result"]);
        assert.equal(typeof json.result, "string");
        assert.match(json.result, /^# \S/);
    });

    test("check-88, check-89, fault-B4: missing, unpublished and no article are one text", async () => {
        const texts = new Set();
        for (const nid of [4, 5, 7, 99_999]) {
            const { status, json } = await rpc(article, { nid });
            assert.equal(status, 200);
            texts.add(`${json.error.message} ${json.error.data}`.replace(nid, "N"));
        }
        assert.equal(texts.size, 1);
        assert.match([...texts][0], /Node N not found or not an article/);
    });

    test("check-102: limit and offset are honoured", async () => {
        const all = (await rpc("examples.articles.list", {})).json.result;
        const { json } = await rpc("examples.articles.list", { page: { limit: 2, offset: 1 } });
        assert.deepEqual(json.result, all.slice(1, 3));
    });

    test("check-103: a missing parameter is 400 and says which", async () => {
        const { status, json } = await rpc(article, {});
        assert.equal(status, 400);
        const data = "Missing required parameter: nid";
        const error = { code: -32602, message: "Invalid params", data };
        assert.deepEqual(json, { jsonrpc: "2.0", error, id: 1 });
    });
});

suite("GET /jsonrpc", { concurrency: true }, () => {
    test("check-101: the GET form works", async () => {
        const { status, json } = await get(server, `/jsonrpc${query(call("test.echo", { message: "x" }))}`);
        assert.equal(status, 200);
        assert.deepEqual(json, { jsonrpc: "2.0", result: { message: "x" }, id: 1 });
    });

    test("check-99: who may not call is asked to log in", async (t) => {
        const closed = await startExamples({ roles: { anonymous: ["access content"] } });
        t.after(() => closed.stop());
        const message = call("examples.articles.list", {}, 1);
        for (const answer of [
            await get(closed, `/jsonrpc${query(message)}`),
            await post(closed, "/jsonrpc", message),
        ]) {
            assert.equal(answer.status, 401);
            assert.ok(answer.headers["www-authenticate"]);
        }
    });
});

test("threat-D4, fault-B14: names stay apart, and a tool called list keeps its other doors", async (t) => {
    const names = ["a.b", "a_b", "describe", "invoke", "list", "x/y"];
    const many = await startMany(names);
    t.after(() => many.stop());
    const { json } = await get(many, "/mcp/tools/list");
    assert.deepEqual(
        json.tools.map(({ name }) => name),
        ["a.b", "a_b", "describe", "invoke", "list", "x.y"],
    );
    for (const { name } of json.tools) {
        const { json: described } = await get(many, `/mcp/tools/describe?name=${name}`);
        assert.equal(described.tool.name, name);
        // The service is away: found, and not run.
        assertRestError(await invoke(many, name, {}), 503, "unavailable");
    }
    for (const [name, method] of [
        ["a.b", "a.b"],
        ["a_b", "a_b"],
        ["x.y", "x/y"],
        ["x.y", "x.y"],
    ]) {
        assertRpc(await post(many, tool(name), call(method)), 500, codes.internal, 1);
    }
    assertRpc(await post(many, tool("a.b"), call("a_b")), 400, codes.invalid, 1);
    const { json: methods } = await get(many, "/jsonrpc/methods");
    for (const { id, links } of methods.data) {
        const { json: method } = await get(many, links.self.slice(many.url.length));
        assert.equal(method.id, id);
    }
});
