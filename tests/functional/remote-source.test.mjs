// A remote JSON-RPC service as a source: what of it is exposed, and what a caller hears when the
// service misbehaves.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { keepFolder } from "./support/kept.mjs";
import {
    assertRpcError,
    assertSoon,
    assertToolError,
    callTool,
    callToolWell,
    modern,
    rpc,
    startBridge,
    toolNames,
    untilTool,
} from "./support/mcp.mjs";
import { patience, timeLimit } from "./support/programs.mjs";
import { assertRestError, invoke } from "./support/rest.mjs";
import { eventually } from "./support/server.mjs";
import { modes, openRpc, startService, writeOpenRpc } from "./support/service.mjs";
import { freePort } from "./support/ports.mjs";

// The time of calls is long, but in tests about its end.
function source(service, more = {}) {
    return {
        name: "shop",
        url: service.url,
        openrpc: writeOpenRpc(),
        prefix: "shop.",
        timeout: "10m",
        methods: ["add", "echo", "fail", "wait"].map((method) => ({ method })),
        ...more,
    };
}

async function start(t, service, more, config = {}) {
    const server = await startBridge({
        plugins: ["echo"],
        config: { ...config, sources: [source(service, more)] },
    });
    t.after(() => server.stop());
    return server;
}

suite("a service described by a file", { concurrency: true }, () => {
    test("has the named methods as tools, and no others", async (t) => {
        const server = await start(t, await startService());
        await untilTool(server, "shop.add");
        const names = (await toolNames(server)).filter((name) => name.startsWith("shop."));
        assert.deepEqual(names, ["shop.add", "shop.echo", "shop.fail", "shop.wait"]);
        assertRpcError(await callTool(server, "shop.secret", {}), 200, -32602, 1);
        assertRpcError(await rpc(server, { method: "shop.secret", id: 1 }), 400, -32601, 1);
    });

    test("threat-D2: exposes nothing when nothing is named", async (t) => {
        const server = await start(t, await startService(), { methods: [] });
        assert.ok(!(await toolNames(server)).some((name) => name.startsWith("shop.")));
        assertRpcError(await rpc(server, { method: "shop.add", id: 1 }), 400, -32601, 1);
    });

    test("is called by tools/call and by /jsonrpc", async (t) => {
        const service = await startService();
        const server = await start(t, service);
        const result = await callToolWell(server, "shop.add", { a: 40, b: 2 });
        assert.equal(result.content[0].text, "42");
        assert.equal(result.structuredContent, 42);
        const answer = await rpc(server, { method: "shop.echo", params: { message: "ž" }, id: "x" });
        assert.deepEqual(answer.json, { jsonrpc: "2.0", result: { message: "ž" }, id: "x" });
        assert.deepEqual(
            service.calls.map(({ method }) => method),
            ["add", "echo"],
        );
    });

    test("is asked for what was in the document, by name", async (t) => {
        const service = await startService();
        const server = await start(t, service);
        const params = [1, 2];
        assert.equal((await rpc(server, { method: "shop.add", params, id: 1 })).json.result, 3);
        assert.deepEqual(service.calls.at(-1).params, { a: 1, b: 2 });
    });

    test("keeps its connections", async (t) => {
        const service = await startService();
        const server = await start(t, service, {}, { loops: 1 });
        const sockets = new Set();
        service.http.on("connection", (socket) => sockets.add(socket));
        for (let i = 0; i < 20; i += 1) {
            await callToolWell(server, "shop.add", { a: i, b: 1 });
        }
        assert.equal(sockets.size, 1);
    });

    test("threat-C5: does not see the caller's headers", async (t) => {
        const service = await startService();
        const server = await start(t, service);
        const headers = { Cookie: "a=b", "X-Private": "1" };
        await callToolWell(server, "shop.add", { a: 1, b: 1 }, { headers });
        const seen = Object.keys(service.headers.at(-1));
        assert.ok(!seen.some((name) => ["cookie", "x-private", "authorization"].includes(name)));
        assert.ok(!seen.some((name) => name.startsWith("mcp-")), seen.join());
    });

    test("has its own errors passed on with code, message and data", async (t) => {
        const server = await start(t, await startService());
        const answer = await rpc(server, { method: "shop.fail", id: 1 });
        const error = assertRpcError(answer, 200, 42, 1);
        assert.deepEqual(error, { code: 42, message: "no luck", data: { why: "never" } });
        assertToolError(await callTool(server, "shop.fail", {}), /no luck/);
        const rest = await invoke(server, "shop.fail", {});
        assertRestError(rest, 500, "execution_error", /^no luck$/);
        assert.deepEqual(rest.json.error.data, { why: "never" });
    });

    test("has of the data of its errors what is safe passed on", async (t) => {
        const service = await startService();
        const file = path.join(keepFolder(), "shop-token");
        writeFileSync(file, "hunter2");
        const server = await start(t, service, { secret: { file } });
        await untilTool(server, "shop.fail");
        const says = async (data) => {
            modes.fails = ({ jsonrpc, id }, response) =>
                response.end(JSON.stringify({ jsonrpc, id, error: { code: 7, message: "no", data } }));
            service.mode = "fails";
            const { error } = (await rpc(server, { method: "shop.fail", id: 1 })).json;
            const rest = (await invoke(server, "shop.fail", {})).json.error;
            assert.deepEqual(rest.data, error.data);
            return error.data;
        };
        const traceback = 'Traceback (most recent call last):\n  File "/srv/app/main.py", line 3';
        assert.deepEqual(await says({ field: "nid", traceback, at: "/srv/app/main.py" }), {
            field: "nid",
            at: "[path]",
        });
        assert.equal(await says({ token: "hunter2" }), undefined);
        assert.equal(await says({ traceback }), undefined);
        assert.equal(await says("x".repeat(5000)), undefined);
        assert.deepEqual(await says([1, { a: null }]), [1, { a: null }]);
    });

    test("has a method that may be called but is no tool", async (t) => {
        const methods = [
            { method: "add", tool: false, expose_on_jsonrpc: true },
            { method: "echo", tool: false },
        ];
        const server = await start(t, await startService(), { methods });
        assert.ok(!(await toolNames(server)).some((name) => name.startsWith("shop.")));
        const add = { method: "shop.add", params: { a: 1, b: 2 }, id: 1 };
        assert.equal((await rpc(server, add)).json.result, 3);
        const echo = { method: "shop.echo", params: { message: "" }, id: 1 };
        assertRpcError(await rpc(server, echo), 400, -32601, 1);
    });

    test("threat-D2: asks for scopes also where a method may be called but is no tool", async (t) => {
        const own = { scopes: ["op:scope"], auth_level: "required" };
        const call = { tool: false, expose_on_jsonrpc: true };
        const document = openRpc();
        const its = { annotations: { auth: { scopes: ["its:scope"] } } };
        document.methods.find(({ name }) => name === "echo")["x-mcp-tool"] = its;
        const methods = [
            { method: "add", ...call, ...own },
            { method: "echo", ...call },
        ];
        const server = await start(t, await startService(), { methods, openrpc: writeOpenRpc(document) });
        for (const [method, params, scopes] of [
            ["shop.add", { a: 1, b: 2 }, ["op:scope"]],
            ["shop.echo", { message: "" }, ["its:scope"]],
        ]) {
            const { status, json } = await rpc(server, { method, params, id: 1 });
            assert.equal(status, 401, method);
            assert.deepEqual(json.error.data.required_scopes, scopes);
        }
    });

    test("threat-D2: has the title, description, annotations and permissions that the operator gave", async (t) => {
        const annotations = { readOnlyHint: true };
        const methods = [
            { method: "add", title: "Sum", description: "Sums up", annotations },
            { method: "echo", permissions: ["administer site"] },
        ];
        const server = await start(t, await startService(), { methods });
        await untilTool(server, "shop.add");
        const { json } = await modern(server, "tools/list");
        const shop = json.result.tools.filter(({ name }) => name.startsWith("shop__"));
        assert.equal(shop.length, 1);
        assert.equal(shop[0].title, "Sum");
        assert.equal(shop[0].description, "Sums up");
        assert.deepEqual(shop[0].annotations, annotations);
        assertRpcError(await callTool(server, "shop.echo", { message: "" }), 200, -32602, 1);
    });

    test("threat-D2, threat-A3: a service's own word that a tool only reads is shown, and opens nothing", async (t) => {
        const document = openRpc();
        const hints = { readOnlyHint: true, idempotentHint: true };
        for (const method of document.methods) {
            method["x-mcp-tool"] = { title: "Mine", annotations: hints };
        }
        const methods = ["add", { method: "echo", read_only: true, expose_on_jsonrpc: true }];
        const service = await startService();
        const server = await start(t, service, { methods, openrpc: writeOpenRpc(document) });
        await untilTool(server, "shop.add");
        const { json } = await modern(server, "tools/list");
        const [add] = json.result.tools.filter(({ name }) => name === "shop__add");
        assert.deepEqual([add.title, add.annotations], ["Mine", hints]);
        const get = (method, params) => {
            const query = encodeURIComponent(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
            return fetch(`${server.url}/jsonrpc?query=${query}`);
        };
        assert.equal((await get("shop.add", { a: 1, b: 2 })).status, 405);
        assert.equal(service.calls.length, 0);
        const answer = await get("shop.echo", { message: "x" });
        assert.deepEqual((await answer.json()).result, { message: "x" });
    });

    test("asks for the scopes that a method has elsewhere in its document", async (t) => {
        const document = openRpc();
        const [add, echo] = document.methods;
        const auth = { scopes: ["admin"], level: "required" };
        const marked = { ...add, "x-mcp-tool": { title: "Mine", annotations: { auth } } };
        document.components = { methods: { marked, again: { $ref: "#/components/methods/marked" } } };
        document.methods = [{ $ref: "#/components/methods/again" }, echo];
        const openrpc = writeOpenRpc(document);
        const service = await startService();
        const server = await start(t, service, { methods: ["add", "echo"], openrpc });
        await callTool(server, "shop.add", { a: 1, b: 2 });
        assert.equal(service.calls.length, 0);
        await callToolWell(server, "shop.echo", { message: "x" });
    });

    test("threat-D8: is read at once however often its document repeats a large part", async (t) => {
        const document = openRpc();
        const large = { enum: Array.from({ length: 100_000 }, (_, i) => i) };
        document.components = { schemas: { large } };
        const schema = { allOf: [{ $ref: "#/components/schemas/large" }] };
        const params = Array.from({ length: 250 }, (_, i) => ({ name: `p${i}`, schema }));
        document.methods.push({ name: "large", params, result: { name: "r", schema: {} } });
        const openrpc = writeOpenRpc(document);
        const server = await start(t, await startService(), { openrpc });
        await callToolWell(server, "shop.add", { a: 1, b: 2 });
        await server.untilLogged(/method 'large': param 'p\d+': schema: .*too much for one document/);
    });

    test("keeps its other methods where the document has references that lead nowhere", async (t) => {
        const document = openRpc();
        const [add, echo, fail] = document.methods;
        add.params[1].schema = { $ref: "#/components/schemas/None" };
        add.result.schema = "integer";
        echo.params[0].schema = { items: { $ref: "https://example.org/schema.json" } };
        fail.params = [{ $ref: "#/components/contentDescriptors/None" }];
        document.methods.push({ $ref: "#/components/methods/None" });
        const service = await startService();
        const server = await start(t, service, { openrpc: writeOpenRpc(document) });
        await untilTool(server, "shop.add");
        const names = (await toolNames(server)).filter((name) => name.startsWith("shop."));
        assert.deepEqual(names, ["shop.add", "shop.echo", "shop.fail", "shop.wait"]);
        await callToolWell(server, "shop.add", { a: 1, b: 2 });
        assertToolError(await callTool(server, "shop.add", { a: "x", b: 2 }));
        for (const line of [
            /method 'add': param 'b': schema: \$ref '#\/components\/schemas\/None' leads nowhere/,
            /method 'add': result: schema: expected an object, got string/,
            /method 'echo'.*https:\/\/example\.org\/schema\.json/,
            /a param that cannot be used is left out: method 'fail': params\[0\]: \$ref/,
            /a method that cannot be used is left out: methods\[5\]: \$ref/,
        ]) {
            await server.untilLogged(line);
        }
    });

    test("may be down when the server starts", async (t) => {
        const url = `http://127.0.0.1:${await freePort()}/rpc`;
        const server = await start(t, { url }, { timeout: `${patience(500)}ms` });
        assertToolError(await assertSoon(patience(600), () => callTool(server, "shop.add", { a: 1, b: 2 })));
    });
});

suite("a service that describes itself", { concurrency: true }, () => {
    test("is asked by rpc.discover", async (t) => {
        const service = await startService();
        const server = await start(t, service, { openrpc: undefined });
        await untilTool(server, "shop.add");
        assert.equal(service.calls[0].method, "rpc.discover");
        assert.equal((await callToolWell(server, "shop.add", { a: 1, b: 2 })).content[0].text, "3");
    });

    test("is asked again until it is there", async (t) => {
        const service = await startService();
        const { port } = service;
        await service.stop();
        const server = await start(t, service, { openrpc: undefined });
        assert.ok(!(await toolNames(server)).includes("shop.add"));
        await service.start();
        assert.equal(service.port, port);
        await untilTool(server, "shop.add");
        await callToolWell(server, "shop.add", { a: 1, b: 2 });
    });

    for (const mode of ["garbage for JSON", "no JSON-RPC", "too much"]) {
        test(`and answers with ${mode} is left out until it makes sense`, async (t) => {
            const service = await startService();
            service.mode = mode;
            const server = await start(t, service, { openrpc: undefined });
            assert.ok(!(await toolNames(server)).includes("shop.add"));
            await callToolWell(server, "test.echo", { message: "x" });
            service.mode = null;
            await untilTool(server, "shop.add");
        });
    }

    test("starts at once when a file describes it and there is nothing else", async (t) => {
        const service = await startService();
        t.after(() => service.stop());
        const left = timeLimit(2_000);
        const server = await startBridge({ plugins: [], config: { sources: [source(service)] } });
        t.after(() => server.stop());
        assert.ok(left() > 0, "start");
        assert.deepEqual(await toolNames(server), ["shop.add", "shop.echo", "shop.fail", "shop.wait"]);
    });

    test("in a document that is no OpenRPC is left out", async (t) => {
        const service = await startService();
        const openrpc = writeOpenRpc({ hello: "world" });
        const server = await start(t, service, { openrpc });
        assert.ok(!(await toolNames(server)).some((name) => name.startsWith("shop.")));
        await server.untilLogged(/shop/);
    });

    test("with an overlay that names a method it does not have has the others, and it is said", async (t) => {
        const methods = [{ method: "add" }, { method: "sum" }];
        const server = await start(t, await startService(), { methods });
        await untilTool(server, "shop.add");
        const names = (await toolNames(server)).filter((name) => name.startsWith("shop."));
        assert.deepEqual(names, ["shop.add"]);
        await server.untilLogged(/loaded with a warning source="shop" warning="method 'sum': the service has no such/);
    });

    test("with an overlay that names nothing but methods it does not have is left out and said", async (t) => {
        const methods = [{ method: "plus" }, { method: "sum" }];
        const server = await start(t, await startService(), { methods });
        assert.ok(!(await toolNames(server)).some((name) => name.startsWith("shop.")));
        await server.untilLogged(/not loaded source="shop" problem="method 'sum': the service has no such/);
    });

    test("keeps every keyword of its schemas", async (t) => {
        const document = openRpc();
        const schema = { type: "string", pattern: "^a+$", "x-own": [1, { b: null }], maxLength: 9 };
        document.methods.find(({ name }) => name === "echo").params[0].schema = schema;
        const server = await start(t, await startService(), { openrpc: writeOpenRpc(document) });
        await untilTool(server, "shop.echo");
        const { json } = await modern(server, "tools/list");
        const echo = json.result.tools.find(({ name }) => name === "shop__echo");
        assert.deepEqual(echo.inputSchema.properties.message, schema);
        assert.deepEqual(echo.inputSchema.required, ["message"]);
    });
});

// One after the other: the services run in this process, and so do the clocks.
suite("a service that misbehaves", () => {
    for (const mode of Object.keys(modes)) {
        test(`threat-D8: (${mode}) makes an error within its time and 100 ms, and is used again after`, async (t) => {
            const service = await startService();
            const timeout = patience(500);
            const server = await start(t, service, { timeout: `${timeout}ms` });
            const isThere = async () => !(await callTool(server, "shop.add", { a: 1, b: 2 })).json.result?.isError;
            await eventually(isThere, "a call that has an answer in time");
            service.mode = mode;
            const call = () => callTool(server, "shop.add", { a: 1, b: 2 });
            const calls = () => Promise.all(Array.from({ length: 8 }, call));
            for (const answer of await assertSoon(timeout + patience(100), calls)) {
                assert.doesNotMatch(assertToolError(answer), /Traceback|main\.py|127\.0\.0\.1/);
            }
            service.mode = null;
            await eventually(async () => {
                const { json } = await callTool(server, "shop.add", { a: 1, b: 2 });
                return json.result.content[0].text === "3";
            }, "the service is used again");
            await callToolWell(server, "test.echo", { message: "untouched" });
        });
    }

    for (const read_only of [true, false]) {
        const what = read_only ? "is asked once more without a word" : "is not asked for a change once more";
        test(`by closing kept connections ${what}`, async (t) => {
            const service = await startService();
            const used = new Set();
            let closed = 0;
            const serve = service.on.bind(service);
            service.on = (request, response) => {
                if (used.has(request.socket)) {
                    closed += 1;
                    request.socket.destroy();
                    return undefined;
                }
                used.add(request.socket);
                return serve(request, response);
            };
            const methods = [{ method: "add", read_only }];
            const server = await start(t, service, { methods, retries: 0 }, { loops: 1 });
            const call = () => callTool(server, "shop.add", { a: 40, b: 2 });
            assert.equal((await call()).json.result.structuredContent, 42);
            const second = await call();
            assert.equal(closed, 1);
            if (read_only) {
                assert.equal(second.json.result.structuredContent, 42);
            } else {
                assertToolError(second, /closed the connection without an answer/);
            }
            assert.equal(service.calls.length, read_only ? 2 : 1);
            assert.equal((await call()).json.result.structuredContent, 42);
        });
    }

    test("by going away answers with an error and recovers when it comes back", async (t) => {
        const service = await startService();
        const timeout = patience(500);
        const server = await start(t, service, { timeout: `${timeout}ms` });
        const isThere = async () => !(await callTool(server, "shop.add", { a: 1, b: 2 })).json.result?.isError;
        await eventually(isThere, "a call that has an answer in time");
        await service.stop();
        const call = () => callTool(server, "shop.add", { a: 1, b: 2 });
        assertToolError(await assertSoon(timeout + patience(100), call));
        const rpcAnswer = await rpc(server, { method: "shop.add", params: [1, 2], id: 1 });
        assertRpcError(rpcAnswer, 500, -32603, 1);
        await service.start();
        await eventually(async () => {
            const { json } = await callTool(server, "shop.add", { a: 1, b: 2 });
            return !json.result.isError;
        }, "the service is used again");
    });

    test("threat-D8: by answering too much is stopped at the limit of an answer", async (t) => {
        const service = await startService();
        const server = await start(t, service, {}, { limits: { max_result_size: "64KB" } });
        const message = (n) => ({ message: "x".repeat(n) });
        await callToolWell(server, "shop.echo", message(60_000));
        const text = assertToolError(await callTool(server, "shop.echo", message(70_000)));
        assert.ok(text.length < 1000);
        await callToolWell(server, "shop.echo", message(60_000));
    });
});

function leaver() {
    const aborter = new AbortController();
    return { signal: aborter.signal, leave: () => aborter.abort() };
}

suite("a caller that leaves", { concurrency: true }, () => {
    for (const meta of [{}, { progressToken: 1 }]) {
        test(`closes the connection to the service, with ${JSON.stringify(meta)}`, async (t) => {
            const service = await startService();
            const server = await start(t, service);
            const { signal, leave } = leaver();
            const options = { meta, fetch: { signal } };
            const call = callTool(server, "shop.wait", { ms: 300_000 }, options);
            const left = call.catch(() => "left");
            await eventually(() => service.open === 1, "the call has reached the service");
            leave();
            assert.equal(await left, "left");
            await eventually(() => service.gone === 1, "the service sees it", 1_000);
        });
    }

    test("does not disturb those that stay", async (t) => {
        const service = await startService();
        const server = await start(t, service, {}, { loops: 1 });
        const answers = [];
        modes.held = ({ jsonrpc, id }, response) =>
            answers.push(() => response.end(JSON.stringify({ jsonrpc, id, result: true })));
        service.mode = "held";
        const aborters = Array.from({ length: 10 }, () => new AbortController());
        const leaving = aborters.map(({ signal }) =>
            callTool(server, "shop.wait", { ms: 1 }, { fetch: { signal } }).catch(() => "left"),
        );
        const staying = Array.from({ length: 10 }, () => callToolWell(server, "shop.wait", { ms: 1 }));
        await eventually(() => service.open === 20, "all have reached the service");
        aborters.forEach((aborter) => aborter.abort());
        await Promise.all(leaving);
        await eventually(() => service.gone === 10, "the service sees who left");
        assert.equal(service.open, 10);
        answers.forEach((answer) => answer());
        await Promise.all(staying);
        await eventually(() => service.open === 0, "nothing is left");
        assert.equal(service.gone, 10);
    });
});
