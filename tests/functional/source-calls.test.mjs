// What goes to a service and what comes back: calls that are repeated, merged and kept, params and
// results that the operator has changed, and our credentials there.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, suite, test } from "node:test";
import { basic, bearer, startAccounts } from "./support/accounts.mjs";
import { startProxy } from "./support/fault-proxy.mjs";
import { keepFolder } from "./support/kept.mjs";
import {
    assertSoon,
    assertToolError,
    callTool,
    callToolWell,
    modern,
    permissions,
    reloadBridge,
    startBridge,
    untilTool,
} from "./support/mcp.mjs";
import { scrape } from "./support/metrics.mjs";
import { runCauseway, patience, slowness } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";
import { openRpc, startService, writeOpenRpc } from "./support/service.mjs";

const numbers = { a: 40, b: 2 };
const methodsOf = (proxy) => proxy.requests.map(({ message }) => message?.method);
const countOf = (proxy, method) => methodsOf(proxy).filter((name) => name === method).length;

// A service behind a proxy, and a causeway with it as source "s" with the prefix "s.".
async function start(t, more = {}, { document, config, ...options } = {}) {
    const service = await startService();
    const proxy = await startProxy(service, options.proxy);
    const source = {
        name: "s",
        url: proxy.url,
        openrpc: writeOpenRpc(document),
        prefix: "s.",
        timeout: "2m", // longer than the machine stands still
        methods: ["*"],
        ...more,
    };
    const roles = { anonymous: [...permissions, "view metrics"] };
    const all = { loops: 1, log: { level: "debug" }, roles, ...config, sources: [source] };
    const server = await startBridge({ plugins: [], ...options, config: all });
    t.after(() => server.stop());
    return { service, proxy, server };
}

// Requests that come to the proxy wait for the function that this returns.
function hold(proxy) {
    let release;
    const released = new Promise((resolve) => (release = resolve));
    proxy.gate = async () => {
        await released;
        return false;
    };
    return release;
}

// Until the server has so many calls of the source, sent or not.
async function untilCalls(server, n) {
    const running = async () => (await scrape(server)).value("causeway_calls_running", { source: "s" });
    await eventually(async () => (await running()) === n, `${n} calls`, 10_000);
}

const readOnly = { method: "add", read_only: true };
const idempotent = { method: "add", annotations: { idempotentHint: true } };
const plain = { method: "add" };

// ---- once more ----

suite("a call that was lost", { concurrency: true }, () => {
    const lost = ["a reset", "a close", "a page of HTML with status 502"];
    for (const [what, method, isRepeated] of [
        ["read only", readOnly, true],
        ["idempotent", idempotent, true],
        ["neither", plain, false],
        ["not read only for the operator", { method: "add", annotations: { readOnlyHint: false } }, false],
    ]) {
        for (const fault of lost) {
            test(`is ${isRepeated ? "" : "not "}sent again where it is ${what}: ${fault}`, async (t) => {
                const { proxy, server } = await start(t, { methods: [method], retries: 1 });
                proxy.fault = fault;
                proxy.times = 1;
                const answer = await callTool(server, "s.add", numbers);
                assert.equal(answer.json.result.isError ?? false, !isRepeated, answer.text);
                assert.equal(proxy.requests.length, isRepeated ? 2 : 1);
            });
        }
    }

    test("is sent as often as the operator says, and no more", async (t) => {
        for (const retries of [0, 1, 3]) {
            const { proxy, server } = await start(t, { methods: [readOnly], retries });
            proxy.fault = "a reset";
            assertToolError(await callTool(server, "s.add", numbers));
            assert.equal(proxy.requests.length, retries + 1, `${retries} retries`);
        }
    });

    test("on a kept connection is not sent again unless that is harmless", async (t) => {
        const { proxy, server } = await start(t, { methods: [plain], retries: 3 });
        await callToolWell(server, "s.add", numbers);
        proxy.fault = "a reset";
        assertToolError(await callTool(server, "s.add", numbers));
        assert.equal(proxy.requests.length, 2);
    });

    for (const fault of ["garbage for JSON", "a page of HTML", "silence", "1 GB"]) {
        test(`is not sent again where the service has it: ${fault}`, async (t) => {
            const more = { methods: [readOnly], retries: 3, timeout: `${patience(300)}ms` };
            const { proxy, server } = await start(t, more);
            proxy.fault = fault;
            assertToolError(await callTool(server, "s.add", numbers));
            assert.equal(proxy.requests.length, 1);
        });
    }

    test("is not sent again behind the end of its time", async (t) => {
        const { proxy, server } = await start(t, {
            methods: [readOnly],
            retries: 10,
            timeout: `${350 * slowness}ms`,
        });
        proxy.fault = "a reset";
        assertToolError(await assertSoon(patience(450), () => callTool(server, "s.add", numbers)));
        await pause(100); // one that left in time may still be on its way
        const asked = proxy.requests.length;
        await pause(400);
        assert.equal(proxy.requests.length, asked);
    });

    test("reports what the service says as it is, without asking twice", async (t) => {
        const { proxy, server } = await start(t, { methods: [{ method: "fail", read_only: true }] });
        assertToolError(await callTool(server, "s.fail", {}), /no luck/);
        assert.equal(proxy.requests.length, 1);
    });
});

// ---- merged and kept ----

suite("equal calls", { concurrency: true }, () => {
    // So many calls that are all under way before the first one is answered.
    const many = async ({ proxy, server }, work, count = 20) => {
        const release = hold(proxy);
        const calls = Promise.all(Array.from({ length: count }, (_, i) => work(i)));
        await Promise.race([untilCalls(server, count), calls]);
        release();
        return await calls;
    };

    test("of a read-only tool become one while it is under way", async (t) => {
        const { proxy, server } = await start(t, { methods: [readOnly] });
        const results = await many({ proxy, server }, () => callToolWell(server, "s.add", numbers));
        assert.ok(results.every(({ structuredContent }) => structuredContent === 42));
        assert.equal(proxy.requests.length, 1);
        await callToolWell(server, "s.add", numbers);
        assert.equal(proxy.requests.length, 2, "it is over: the next one is sent");
    });

    test("of another tool, or with other arguments, do not", async (t) => {
        const { proxy, server } = await start(t, { methods: [readOnly, { method: "wait", read_only: true }] });
        await many({ proxy, server }, (i) => callToolWell(server, "s.add", { a: i % 4, b: 1 }));
        assert.equal(proxy.requests.length, 4);
        const other = await start(t, { methods: [plain] });
        await many(other, () => callToolWell(other.server, "s.add", numbers));
        assert.equal(other.proxy.requests.length, 20);
    });

    test("share an error too", async (t) => {
        const { proxy, server } = await start(t, { methods: [readOnly], retries: 0 });
        proxy.fault = "a reset";
        const answers = await many({ proxy, server }, () => callTool(server, "s.add", numbers), 10);
        answers.forEach((answer) => assertToolError(answer));
        assert.equal(proxy.requests.length, 1);
    });

    test("go on when one of their callers leaves, and end with the last", async (t) => {
        const { proxy, server } = await start(t, { methods: [{ method: "wait", read_only: true }] });
        const release = hold(proxy);
        const aborters = Array.from({ length: 3 }, () => new AbortController());
        const calls = aborters.map(({ signal }) =>
            callTool(server, "s.wait", { ms: 1 }, { fetch: { signal } }).catch(() => "left"),
        );
        await untilCalls(server, 3);
        aborters[0].abort();
        assert.equal(await calls[0], "left");
        await untilCalls(server, 2);
        release();
        assert.equal((await calls[1]).json.result.structuredContent, true);
        assert.equal((await calls[2]).json.result.structuredContent, true);
        assert.equal(proxy.requests.length, 1);
    });

    test("get a kept result until its time is over", async (t) => {
        const short = 300;
        const { proxy, server } = await start(t, {
            methods: [
                { ...readOnly, cache: "1h" },
                { method: "echo", read_only: true, cache: `${short}ms` },
            ],
        });
        for (let i = 0; i < 5; i += 1) {
            assert.equal((await callToolWell(server, "s.add", numbers)).structuredContent, 42);
        }
        assert.equal(proxy.requests.length, 1);
        await callToolWell(server, "s.add", { a: 1, b: 1 });
        assert.equal(proxy.requests.length, 2, "other arguments");
        await callToolWell(server, "s.echo", { message: "x" });
        await pause(short + 100);
        await callToolWell(server, "s.echo", { message: "x" });
        assert.equal(countOf(proxy, "echo"), 2, "its time is over");
    });

    test("do not get an error that was kept, nor anything of a tool that changes things", async (t) => {
        const { proxy, server } = await start(t, {
            methods: [
                { ...readOnly, cache: "1h" },
                { method: "echo", cache: "1h" },
            ],
        });
        proxy.fault = "garbage for JSON";
        proxy.times = 1;
        assertToolError(await callTool(server, "s.add", numbers));
        await callToolWell(server, "s.add", numbers);
        assert.equal(proxy.requests.length, 2);
        await callToolWell(server, "s.echo", { message: "x" });
        await callToolWell(server, "s.echo", { message: "x" });
        assert.equal(countOf(proxy, "echo"), 2);
    });
});

// ---- ceilings ----

suite("ceilings", { concurrency: true }, () => {
    test("a tool's own time counts", async (t) => {
        const short = 250 * slowness;
        const { server } = await start(t, {
            methods: [{ method: "wait", timeout: `${short}ms` }, "echo"],
        });
        const begun = performance.now();
        const call = () => callTool(server, "s.wait", { ms: 100_000 });
        assertToolError(await assertSoon(short + patience(100), call));
        assert.ok(performance.now() - begun >= short - 20, "not before its time is over");
    });

    for (const framing of [undefined, "lines"]) {
        const over = framing ? "a stream" : "HTTP";
        test(`a tool may take longer than the others of its source, over ${over}`, async (t) => {
            const more = {
                framing,
                timeout: `${200 * slowness}ms`,
                methods: [{ method: "wait", timeout: "2m" }, "echo"],
            };
            const { proxy, server } = await start(t, more, { proxy: { framing } });
            const slow = callToolWell(server, "s.wait", { ms: 900 * slowness });
            await eventually(() => proxy.requests.length === 1, "it is under way");
            // Nothing else came meanwhile: that is no reason to hang up.
            proxy.fault = "silence";
            assertToolError(await callTool(server, "s.echo", { message: "" }));
            await slow;
        });
    }

    test("a call that was given up before it was sent is not sent", async (t) => {
        const more = {
            framing: "lines",
            init_calls: [{ method: "wait", params: { ms: Math.min(patience(1_500), 10_000) } }],
            methods: [{ method: "add", timeout: `${250 * slowness}ms` }, "echo"],
        };
        const { proxy, server } = await start(t, more, { proxy: { framing: "lines" } });
        assertToolError(await callTool(server, "s.add", numbers));
        await callToolWell(server, "s.echo", { message: "after the prelude" });
        assert.deepEqual(methodsOf(proxy), ["wait", "echo"]);
    });

    test("an answer that does not begin is given up earlier, where that is said", async (t) => {
        const { proxy, server } = await start(t, { first_byte_timeout: `${250 * slowness}ms` });
        proxy.fault = "silence";
        const answer = await assertSoon(patience(350), () => callTool(server, "s.add", numbers));
        assertToolError(answer, /did not begin to answer in time/);
    });

    test("who finds the queue full is told at once", async (t) => {
        const { proxy, server } = await start(t, { connections: 1, queue: 2, methods: ["wait"] });
        const release = hold(proxy);
        const calls = Array.from({ length: 3 }, () => callTool(server, "s.wait", { ms: 1 }));
        await eventually(() => proxy.requests.length === 1, "the first is under way");
        await untilCalls(server, 3);
        const answer = await assertSoon(patience(200), () => callTool(server, "s.wait", { ms: 1 }));
        assertToolError(answer, /Too many calls wait for the service 's'/);
        release();
        const answers = await Promise.all(calls);
        const worked = answers.filter(({ json }) => !json.result.isError);
        assert.ok(worked.length >= 2, `${worked.length} of 3`);
        await callToolWell(server, "s.wait", { ms: 1 });
    });
});

// ---- results ----

// echo with any value, and more params.
function anything() {
    const document = openRpc();
    const echo = document.methods.find(({ name }) => name === "echo");
    echo.params = [
        { name: "message", schema: {} },
        { name: "token", schema: { type: "string" } },
        { name: "limit", schema: { type: "integer" } },
        { name: "kind", schema: { type: "string" }, required: true },
    ];
    return document;
}

suite("results", { concurrency: true }, () => {
    test("are the part that a pointer names", async (t) => {
        const methods = [{ method: "echo", result_pointer: "/message/list/1" }];
        const { server } = await start(t, { methods }, { document: anything() });
        const message = { list: [1, { x: "ž" }] };
        const { structuredContent } = await callToolWell(server, "s.echo", { kind: "k", message });
        assert.deepEqual(structuredContent, { x: "ž" });
        assertToolError(await callTool(server, "s.echo", { kind: "k", message: {} }));
    });

    test("that are too large come in parts, where the tool is read only", async (t) => {
        const methods = [{ method: "echo", result_pointer: "/message", max_result_size: "1KB", read_only: true }];
        const { server } = await start(t, { methods }, { document: anything() });
        const message = Array.from({ length: 100 }, (_, i) => ({ i, text: "x".repeat(20) }));
        const items = [];
        let args = { kind: "k", message };
        let parts = 0;
        for (; args !== null && parts < 50; parts += 1) {
            const { structuredContent: part } = await callToolWell(server, "s.echo", args);
            assert.ok(JSON.stringify(part).length < 1400);
            items.push(...part.items);
            args = part.continuation ? { kind: "k", message, continuation: part.continuation } : null;
        }
        assert.deepEqual(items, message);
        assert.ok(parts > 2);
        const small = await callToolWell(server, "s.echo", { kind: "k", message: [1] });
        assert.match(JSON.stringify(small.structuredContent), /\[1\]/);
        const bad = { kind: "k", message, continuation: "next-zz" };
        assertToolError(await callTool(server, "s.echo", bad), /continuation/);
    });

    test("that are texts come in parts too, whole characters each", async (t) => {
        const methods = [{ method: "echo", result_pointer: "/message", max_result_size: "1KB", read_only: true }];
        const { server } = await start(t, { methods }, { document: anything() });
        const message = "žluťoučký kůň ".repeat(200);
        let text = "";
        let continuation;
        do {
            const args = { kind: "k", message, ...(continuation ? { continuation } : {}) };
            const { structuredContent: part } = await callToolWell(server, "s.echo", args);
            assert.doesNotMatch(part.text, /\ufffd/);
            text += part.text;
            continuation = part.continuation;
        } while (continuation);
        assert.ok(text === message || JSON.parse(text) === message);
    });

    test("that have changed between two parts are an error", async (t) => {
        const methods = [{ method: "echo", result_pointer: "/message", max_result_size: "1KB", read_only: true }];
        const { server } = await start(t, { methods }, { document: anything() });
        const message = Array.from({ length: 100 }, (_, i) => i * 1000);
        const first = await callToolWell(server, "s.echo", {
            kind: "k",
            message: [...message, ...message, ...message],
        });
        const { continuation } = first.structuredContent;
        assert.ok(continuation);
        assertToolError(await callTool(server, "s.echo", { kind: "k", message: ["other"], continuation }), /changed/);
    });

    test("of tools that change things are cut, and say so", async (t) => {
        const methods = [{ method: "echo", result_pointer: "/message", max_result_size: "1KB" }];
        const { proxy, server } = await start(t, { methods }, { document: anything() });
        const message = Array.from({ length: 1000 }, (_, i) => i);
        const { structuredContent } = await callToolWell(server, "s.echo", { kind: "k", message });
        assert.equal(structuredContent.truncated, true);
        assert.equal("continuation" in structuredContent, false);
        assert.equal(proxy.requests.length, 1);
    });
});

// ---- params ----

suite("params", { concurrency: true }, () => {
    const params = {
        token: { value: "fixed-token" },
        limit: { default: 10 },
        kind: { rename: "sort", description: "What kind" },
        message: { hidden: true },
    };

    test("that are fixed, hidden, renamed or preset are shown and sent as the operator says", async (t) => {
        const { proxy, server } = await start(t, { methods: [{ method: "echo", params }] }, { document: anything() });
        const { json } = await modern(server, "tools/list");
        const { inputSchema } = json.result.tools[0];
        assert.deepEqual(Object.keys(inputSchema.properties).sort(), ["limit", "sort"]);
        assert.deepEqual(inputSchema.required, ["sort"]);
        assert.equal(inputSchema.properties.sort.description, "What kind");
        const sent = async (args) => {
            await callToolWell(server, "s.echo", args);
            return proxy.requests.at(-1).message.params;
        };
        assert.deepEqual(await sent({ sort: "a" }), { token: "fixed-token", limit: 10, kind: "a" });
        assert.deepEqual(await sent({ sort: "a", limit: 3 }), { token: "fixed-token", limit: 3, kind: "a" });
        for (const args of [{ sort: "a", token: "mine" }, { sort: "a", message: 1 }, { kind: "a" }]) {
            const before = proxy.requests.length;
            assertToolError(await callTool(server, "s.echo", args));
            assert.equal(proxy.requests.length, before);
        }
    });

    test("go by position where the service wants that", async (t) => {
        const methods = [{ method: "echo", params: { token: { value: "x" }, limit: { default: 10 } } }];
        const more = { params: "positional", methods };
        const { proxy, server } = await start(t, more, { document: anything() });
        await callToolWell(server, "s.echo", { kind: "a", message: { m: 1 } });
        assert.deepEqual(proxy.requests.at(-1).message.params, [{ m: 1 }, "x", 10, "a"]);
        await callToolWell(server, "s.echo", { kind: "a" });
        assert.deepEqual(proxy.requests.at(-1).message.params, [null, "x", 10, "a"]);
    });

    test("that the service does not have are told when it is loaded", async (t) => {
        const { server } = await start(
            t,
            { methods: [{ method: "echo", params: { limmit: { value: 1 }, kinds: { hidden: true } } }] },
            { document: anything() },
        );
        await server.untilLogged(/did you mean/);
    });
});

// ---- our credentials ----

let files = 0;
function secretFile(text) {
    files += 1;
    const file = path.join(keepFolder(), `secret-${files}`);
    writeFileSync(file, `${text}\n`, { mode: 0o600 });
    return file;
}

suite("our secret there", { concurrency: true }, () => {
    const secret = "sEcReT-0123456789";
    const env = { SERVICE_SECRET: secret };
    const environment = "SERVICE_SECRET";
    const cases = {
        "as a bearer": [{ as: "bearer", environment }, ({ headers }) => headers.authorization, `Bearer ${secret}`],
        "from a file": [
            { as: "bearer", file: secretFile(secret) },
            ({ headers }) => headers.authorization,
            `Bearer ${secret}`,
        ],
        "as name and password": [
            { as: "basic", prefix: "robot:", environment },
            ({ headers }) => headers.authorization,
            basic("robot", secret).Authorization,
        ],
        "as a header": [
            { as: "header", name: "X-Api-Key", environment },
            ({ headers }) => headers["x-api-key"],
            secret,
        ],
        "as a member of params": [
            { as: "param", name: "auth", environment },
            ({ message }) => message.params.auth,
            secret,
        ],
        "as the first param": [
            { as: "first_param", prefix: "token:", environment },
            ({ message }) => message.params[0],
            `token:${secret}`,
            { params: "positional" },
        ],
    };
    for (const [what, [given, find, expected, more = {}]] of Object.entries(cases)) {
        test(`threat-C5: ${what} goes there and nowhere else`, async (t) => {
            const source = { secret: given, ...more, methods: ["add", "echo", "fail"] };
            const { proxy, server } = await start(t, source, { env });
            await callTool(server, "s.add", numbers);
            assert.equal(find(proxy.requests.at(-1)), expected);
            proxy.fault = "garbage for JSON";
            const spoiled = await callTool(server, "s.add", numbers);
            proxy.fault = null;
            const told = [];
            const says = async (answer) => {
                proxy.gate = (request, response, message) => {
                    const all = JSON.stringify([request.headers, message.params]);
                    response.end(answer({ ...message, all }));
                    return true;
                };
                const { text: shown } = await callTool(server, "s.fail", {});
                assert.match(shown, /"isError":true/);
                told.push(shown);
            };
            const refuse = (id, error) => JSON.stringify({ jsonrpc: "2.0", id, error: { code: 1, ...error } });
            await says(({ id, params }) => refuse(id, { message: "no", data: params }));
            await says(({ id, all }) => refuse(id, { message: `Invalid: ${all}` }));
            await says(({ id, all }) => refuse(id, { message: "no", data: { message: all, traceback: all } }));
            await says(({ all }) => `<h1>${all}</h1>`);
            await server.untilLogged(/\[secret\]/);
            const { text: list } = await modern(server, "tools/list");
            for (const text of [server.stderr, server.stdout, spoiled.text, list, ...told]) {
                assert.ok(!text.includes(secret), text);
                assert.ok(!text.includes(Buffer.from(`robot:${secret}`).toString("base64")));
            }
        });
    }

    test("threat-C5: is in no log, state or listing when the service repeats it", async () => {
        const folder = path.join(keepFolder(), "repeats");
        const service = http.createServer((request, response) => {
            const error = { code: 1, message: `Unauthorized: ${request.headers.authorization}` };
            response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, error }));
        });
        await new Promise((resolve) => service.listen(0, "127.0.0.1", resolve));
        after(() => service.close());
        const url = `http://127.0.0.1:${service.address().port}/`;
        const given = { as: "bearer", environment };
        const source = { name: "w", url, discovery: "system", secret: given, methods: ["x"] };
        const config = { state: { directory: folder }, sources: [source] };
        const server = await startBridge({ plugins: [], env, config });
        after(() => server.stop());
        await server.untilLogged(/Unauthorized: Bearer \[secret\]/);
        const status = path.join(folder, "w.status.json");
        const said = /Unauthorized: Bearer \[secret\]/;
        await eventually(() => existsSync(status) && said.test(readFileSync(status, "utf8")));
        assert.ok(!(readFileSync(status, "utf8") + server.stderr).includes(secret));
        const words = ["import", url, "--secret-env", environment, "--secret-as", "bearer"];
        const { stdout, stderr } = await runCauseway(words, { env });
        assert.match(stderr, /\[secret\]/);
        assert.ok(!(stdout + stderr).includes(secret), stderr);
    });

    test("threat-C5: is not in the log when a program repeats it", async (t) => {
        const script = path.join(keepFolder(), "repeats.mjs");
        writeFileSync(
            script,
            `
            import { createInterface } from "node:readline";
            for await (const line of createInterface({ input: process.stdin })) {
                const { id, params } = JSON.parse(line);
                console.error("bad login: " + line);
                console.log(JSON.stringify({ nonsense: params }));
                console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: 1, message: line } }));
            }`,
        );
        const { server } = await start(
            t,
            {
                url: undefined,
                command: [process.execPath, script],
                params: "positional",
                secret: { as: "first_param", prefix: "token:", environment },
            },
            { env },
        );
        const { text: shown } = await callTool(server, "s.fail", {});
        assert.match(shown, /token:\[secret\]/);
        await server.untilLogged(/standard error.*token:\[secret\]/);
        await server.untilLogged(/makes no sense.*token:\[secret\]/);
        assert.ok(!(server.stderr + shown).includes(secret), server.stderr);
    });

    test("that is not there keeps the source away, and says which", async (t) => {
        const { server } = await start(t, { secret: { as: "bearer", environment: "NO_SUCH_VARIABLE" } });
        await server.untilLogged(/NO_SUCH_VARIABLE/);
        const missing = await start(t, { secret: { as: "bearer", file: "/nonexistent/secret" } });
        await missing.server.untilLogged(/nonexistent/);
    });

    test("is not the caller's: neither token nor password nor cookie goes on", async (t) => {
        const service = await startService();
        const proxy = await startProxy(service);
        const sources = [{ name: "s", url: proxy.url, openrpc: writeOpenRpc(), methods: ["add"] }];
        const server = await startAccounts({ config: { sources }, plugins: [] });
        t.after(() => server.stop());
        const { token } = await server.token("alice");
        for (const headers of [bearer(token), { ...basic("alice", "s3cret"), Cookie: "session=1" }]) {
            await callToolWell(server, "add", numbers, { headers });
            const sent = JSON.stringify(proxy.requests.at(-1));
            assert.ok(!sent.includes(token) && !sent.includes("authorization") && !sent.includes("cookie"), sent);
            assert.ok(!sent.includes("alice"));
        }
    });
});

// A token endpoint: counts, and hands out token-1, token-2, …
async function startTokens({ expires_in } = {}) {
    const self = { seen: [], status: 200, ms: 0 };
    const server = http.createServer(async (request, response) => {
        let body = "";
        for await (const chunk of request.setEncoding("utf8")) {
            body += chunk;
        }
        self.seen.push({ headers: request.headers, form: new URLSearchParams(body) });
        const access_token = self.token ?? `token-${self.seen.length}`;
        const token = { access_token, token_type: "Bearer", expires_in };
        await pause(self.ms);
        response.writeHead(self.status, { "Content-Type": "application/json" });
        response.end(JSON.stringify(self.status === 200 ? token : { error: "invalid_client" }));
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    after(() => server.closeAllConnections() ?? server.close());
    self.url = `http://127.0.0.1:${server.address().port}/token`;
    return self;
}

suite("a token of an authorization server", { concurrency: true }, () => {
    const secret = "client s3cret/+";
    const oauthOf = (tokens) => ({
        token_url: tokens.url,
        client_id: "causeway client",
        client_secret_file: secretFile(secret),
        scope: "read write",
        audience: "https://service.example",
    });
    const sent = (proxy) => proxy.requests.map(({ headers }) => headers.authorization);

    test("is asked for once, and used", async (t) => {
        const tokens = await startTokens({ expires_in: 3600 });
        const { proxy, server } = await start(t, { oauth: oauthOf(tokens) });
        await Promise.all([1, 2, 3].map((a) => callToolWell(server, "s.add", { a, b: 1 })));
        await callToolWell(server, "s.add", numbers);
        assert.equal(tokens.seen.length, 1);
        assert.deepEqual(new Set(sent(proxy)), new Set(["Bearer token-1"]));
        const [{ headers, form }] = tokens.seen;
        const pair = ["causeway client", secret].map(encodeURIComponent).join(":");
        assert.equal(headers.authorization, `Basic ${Buffer.from(pair).toString("base64")}`);
        assert.deepEqual(Object.fromEntries(form), {
            grant_type: "client_credentials",
            scope: "read write",
            audience: "https://service.example",
        });
        assert.doesNotMatch(server.stderr, /token-1|s3cret/);
    });

    test("threat-C5: is not passed on when the service repeats it", async (t) => {
        const tokens = await startTokens({ expires_in: 3600 });
        const { proxy, server } = await start(t, { oauth: oauthOf(tokens) });
        proxy.gate = ({ headers }, response, { id }) => {
            const error = { code: 1, message: `bad ${headers.authorization}`, data: headers };
            response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
            return true;
        };
        assertToolError(await callTool(server, "s.add", numbers), /bad Bearer \[secret\]/);
        assert.doesNotMatch(server.stderr, /token-1|s3cret/);
    });

    test("is asked for anew when the service refuses it, and the call repeated", async (t) => {
        const tokens = await startTokens({ expires_in: 3600 });
        const { proxy, server } = await start(t, { oauth: oauthOf(tokens) });
        await callToolWell(server, "s.add", numbers);
        proxy.gate = (request, response) =>
            request.headers.authorization === "Bearer token-1" &&
            (response.writeHead(401, { "WWW-Authenticate": 'Bearer error="invalid_token"' }).end(), true);
        assert.equal((await callToolWell(server, "s.add", numbers)).structuredContent, 42);
        assert.deepEqual(sent(proxy), ["Bearer token-1", "Bearer token-1", "Bearer token-2"]);
        await callToolWell(server, "s.add", numbers);
        assert.equal(tokens.seen.length, 2);
    });

    test("is asked for anew when its time is over", async (t) => {
        const tokens = await startTokens({ expires_in: 1 });
        const { server } = await start(t, { oauth: oauthOf(tokens) });
        await callToolWell(server, "s.add", numbers);
        await pause(1100);
        await callToolWell(server, "s.add", numbers);
        assert.equal(tokens.seen.length, 2);
    });

    test("that the service never takes is an error, not a loop", async (t) => {
        const tokens = await startTokens({ expires_in: 3600 });
        const { proxy, server } = await start(t, { oauth: oauthOf(tokens) });
        proxy.gate = (request, response) => (response.writeHead(401).end(), true);
        assertToolError(await callTool(server, "s.add", numbers), /HTTP status 401/);
        assert.equal(proxy.requests.length, 2);
        assert.equal(tokens.seen.length, 2);
    });

    test("that cannot be sent is an error, also of a source that was replaced meanwhile", async (t) => {
        const tokens = await startTokens({ expires_in: 3600 });
        tokens.token = "a\nb";
        tokens.ms = 400 * slowness;
        const { proxy, server } = await start(t, { oauth: oauthOf(tokens), retries: 0 });
        const [source] = JSON.parse(readFileSync(server.config, "utf8")).sources;
        const calls = [1, 2].map((a) => callTool(server, "s.add", { a, b: 1 }));
        await eventually(() => tokens.seen.length > 0, "a token is asked for");
        await reloadBridge(server, { sources: [{ ...source, timeout: `${3000 * slowness}ms` }] });
        for (const answer of await Promise.all(calls)) {
            assertToolError(answer, /cannot be reached/);
        }
        assert.equal(proxy.requests.length, 0);
        tokens.token = undefined;
        await callToolWell(server, "s.add", numbers);
    });

    test("that is not given is a clear error in time, and asked for again later", async (t) => {
        const tokens = await startTokens();
        tokens.status = 401;
        const { proxy, server } = await start(t, { oauth: oauthOf(tokens) });
        assertToolError(await callTool(server, "s.add", numbers), /'s' refuses our credentials/);
        assert.equal(proxy.requests.length, 0);
        tokens.status = 200;
        await callToolWell(server, "s.add", numbers);
    });
});

suite("a login before the first call", { concurrency: true }, () => {
    const login = { method: "login", params: { user: "robot", password: "pass-1234" } };
    // Cookies that are good are "session=N" of the last login.
    function guard(proxy) {
        let n = 0;
        const self = { logins: 0, sent: [], end: () => (n += 1) };
        proxy.gate = (request, response, { id, method, params }) => {
            const answer = (status, body, headers = {}) => {
                response.writeHead(status, { "Content-Type": "application/json", ...headers });
                response.end(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
                return true;
            };
            if (method === "login") {
                self.logins += 1;
                n += 1;
                self.params = params;
                const cookies = [`session=${n}; HttpOnly; Path=/`, "language=cs"];
                return answer(200, { result: true }, { "Set-Cookie": cookies });
            }
            self.sent.push(request.headers.cookie);
            return request.headers.cookie?.includes(`session=${n}`)
                ? false
                : answer(401, { error: { code: 401, message: "log in" } });
        };
        return self;
    }

    test("gives a cookie that goes with every call, and is renewed", async (t) => {
        const { proxy, server } = await start(t, { init_calls: [login] });
        const guarded = guard(proxy);
        await Promise.all([1, 2, 3].map((a) => callToolWell(server, "s.add", { a, b: 1 })));
        assert.equal(guarded.logins, 1);
        assert.deepEqual(guarded.params, login.params);
        assert.ok(
            guarded.sent.every((cookie) => cookie === "session=1; language=cs"),
            guarded.sent.join(),
        );
        guarded.end();
        assert.equal((await callToolWell(server, "s.add", numbers)).structuredContent, 42);
        assert.equal(guarded.logins, 2);
        assert.doesNotMatch(server.stderr, /pass-1234|session=/);
    });

    test("threat-C5: is not passed on when the service repeats it", async (t) => {
        const { proxy, server } = await start(t, { init_calls: [login] });
        proxy.gate = (request, response, { id, method }) => {
            const cookies = ["session=0123456789abcdef; Path=/", "language=cs"];
            const error = { code: 1, message: `bad ${request.headers.cookie}, pass-1234` };
            const body = method === "login" ? { result: 1 } : { error };
            response.writeHead(200, { "Set-Cookie": cookies });
            response.end(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
            return true;
        };
        const answer = await callTool(server, "s.add", numbers);
        assertToolError(answer, /bad session=\[secret\]; language=cs, \[secret\]/);
        assert.doesNotMatch(server.stderr, /pass-1234|0123456789abcdef/);
    });

    test("that is refused is a clear error", async (t) => {
        const { proxy, server } = await start(t, { init_calls: [login] });
        proxy.gate = (request, response, { id }) => {
            const error = { code: 7, message: "wrong password" };
            response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
            return true;
        };
        assertToolError(await callTool(server, "s.add", numbers), /'s' refuses our credentials/);
        assert.deepEqual([...new Set(methodsOf(proxy))], ["login"]);
    });

    test("that never ends is given up, and tried again by the next call", async (t) => {
        const limit = Math.min(patience(300), 3_000 * slowness);
        const { proxy, server } = await start(t, { init_calls: [login], timeout: `${limit}ms` });
        const silent = () => true;
        proxy.gate = silent;
        for (let i = 0; i < 2; i += 1) {
            assertToolError(await assertSoon(limit + patience(100), () => callTool(server, "s.add", numbers)));
        }
        const guarded = guard(proxy);
        let calls = 0;
        await eventually(async () => {
            calls += 1;
            const { json } = await callTool(server, "s.add", numbers);
            return json.result.structuredContent === 42;
        }, "it has logged in");
        // A call that was late on a busy machine may have logged in, too.
        assert.ok(guarded.logins >= 1 && guarded.logins <= calls, `${guarded.logins} logins, ${calls} calls`);
    });

    test("may be a header that the first answer gives", async (t) => {
        const handshake = { status: 409, header: "X-Session-Id" };
        const { proxy, server } = await start(t, { handshake });
        let current = "one";
        proxy.gate = (request, response) => {
            if (request.headers["x-session-id"] === current) {
                return false;
            }
            response.writeHead(409, { "X-Session-Id": current }).end("<h1>409: Conflict</h1>");
            return true;
        };
        await callToolWell(server, "s.add", numbers);
        await callToolWell(server, "s.add", numbers);
        assert.equal(proxy.requests.length, 3);
        current = "two";
        await callToolWell(server, "s.add", numbers);
        assert.equal(proxy.requests.length, 5);
        proxy.gate = (request, response) => (response.writeHead(409, { "X-Session-Id": "ever" }).end(), true);
        assertToolError(await callTool(server, "s.add", numbers), /HTTP status 409/);
        assert.equal(proxy.requests.length, 7, "once, not for ever");
    });
});

test("a secret that is wrong is sent a few times, then after a reload only", async (t) => {
    const wrong = secretFile("wrong");
    const { proxy, server } = await start(t, { secret: { file: wrong } });
    const isRight = ({ headers }) => headers.authorization === "Bearer right";
    proxy.gate = (request, response) => !isRight(request) && (response.writeHead(401).end("no"), true);
    for (let i = 0; i < 6; i += 1) {
        assertToolError(await callTool(server, "s.add", numbers), /credentials/);
    }
    assert.equal(proxy.requests.length, 3);
    writeFileSync(wrong, "right");
    server.child.kill("SIGHUP");
    const isWell = async () => (await callTool(server, "s.add", numbers)).json.result?.structuredContent === 42;
    await eventually(isWell, "the new secret is used");
});

test("a description is asked for with the same credentials", async (t) => {
    const tokens = await startTokens({ expires_in: 3600 });
    const service = await startService();
    const proxy = await startProxy(service);
    proxy.gate = (request, response) =>
        request.headers.authorization !== "Bearer token-1" &&
        !request.headers.authorization?.startsWith("Bearer token-") &&
        (response.writeHead(401).end(), true);
    const oauth = { token_url: tokens.url, client_id: "c", client_secret_file: secretFile("x") };
    const source = { name: "s", url: proxy.url, discovery: "openrpc", oauth, methods: ["*"] };
    const server = await startBridge({ plugins: [], config: { sources: [source] } });
    t.after(() => server.stop());
    await untilTool(server, "add");
    await callToolWell(server, "add", numbers);
});
