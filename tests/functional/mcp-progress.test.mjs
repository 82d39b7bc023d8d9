// Calls that report progress, and callers that leave: what runs for them is ended down to the plugin.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
    callTool,
    callToolWell,
    EventStream,
    legacy,
    modernParts,
    permissions,
    rpc,
    startBridge,
    workersOf,
} from "./support/mcp.mjs";
import { patience, slowness, timeLimit } from "./support/programs.mjs";
import { rawExchange, splitResponses } from "./support/raw.mjs";
import { Connection, eventually, inParallel, pause, request, residentKb } from "./support/server.mjs";

const long = 600_000;

// The time limit of calls is longer than any of them, also on a machine that stands still for a while.
async function start(t, { plugins, ...config } = {}) {
    const roles = { anonymous: [...permissions, "view traffic"] };
    const server = await startBridge({ config: { roles, ...config, plugins: { timeout: "20m", ...plugins } } });
    t.after(() => server.stop());
    return server;
}

async function ask(server, method, params = {}) {
    const { json, text } = await rpc(server, { method, params, id: 1 });
    assert.ok(json.result, text);
    return json.result.calls;
}

// Wait until so many calls of a tool run, and so many wait for a worker.
async function untilCalls(server, tool, running, waiting = 0) {
    const look = async () => {
        const calls = (await ask(server, "causeway.calls.running")).filter((call) => call.tool === tool);
        const count = (state) => calls.filter((call) => call.state === state).length;
        return count("running") === running && count("waiting") === waiting;
    };
    await eventually(look, `${running} calls of ${tool} that run and ${waiting} that wait`, 10_000);
}

// The result of `work`, which may take `ms` at most.
async function within(ms, what, work) {
    const left = timeLimit(ms);
    const value = await work();
    assert.ok(left() > 0, `${what}: ${Math.round(-left())} ms too late`);
    return value;
}

const nextCall = (server, ms = 1_000) =>
    within(ms, "the next call", () => callToolWell(server, "test.echo", { message: "x" }));

const open = (server, args, { token = "t", ...options } = {}) =>
    EventStream.open(
        server,
        "tools/call",
        { name: "test.progress", arguments: args },
        { meta: { progressToken: token }, ...options },
    );

function rawCall(name, args, token) {
    const meta = token === undefined ? {} : { progressToken: token };
    const { body, headers } = modernParts("tools/call", { name, arguments: args }, { meta });
    const all = { "Content-Type": "application/json", ...headers };
    return request("POST", "/mcp", all, JSON.stringify(body));
}

suite("progress", { concurrency: true }, () => {
    for (const token of ["t", "", 0, 7, "ž 1"]) {
        test(`carries the token ${JSON.stringify(token)}, grows, and comes before the result`, async (t) => {
            const server = await start(t);
            const stream = await open(server, { steps: 5, ms: 5 }, { token });
            assert.match(stream.type, /^text\/event-stream/);
            const all = await stream.rest();
            const last = all.pop();
            assert.equal(last.result.structuredContent.steps, 5);
            let reached = 0;
            for (const { jsonrpc, method, params, ...other } of all) {
                assert.equal(jsonrpc, "2.0");
                assert.equal(method, "notifications/progress");
                assert.deepEqual(other, {});
                assert.deepEqual(params.progressToken, token);
                assert.equal(params.total, 5);
                assert.equal(params.message, "working");
                assert.ok(params.progress > reached);
                reached = params.progress;
            }
            assert.ok(all.length >= 1);
        });
    }

    test("arrives while the call runs", async (t) => {
        const server = await start(t);
        // The whole call would take ten minutes: what comes before that has not waited for its end.
        const stream = await open(server, { steps: long / 100, ms: 100 });
        for (let i = 1; i <= 3; i++) assert.equal((await stream.next()).method, "notifications/progress");
        stream.close();
    });

    test("is not sent to whoever did not ask, and the answer is plain JSON", async (t) => {
        const server = await start(t);
        const answer = await callTool(server, "test.progress", { steps: 3 });
        assert.match(answer.headers.get("content-type"), /^application\/json/);
        assert.equal(answer.json.result.structuredContent.steps, 3);
    });

    test("is not sent to whoever takes no stream", async (t) => {
        const server = await start(t);
        const options = { meta: { progressToken: 1 }, headers: { Accept: "application/json" } };
        const answer = await callTool(server, "test.progress", { steps: 3 }, options);
        assert.match(answer.headers.get("content-type"), /^application\/json/);
        assert.equal(answer.json.result.structuredContent.steps, 3);
    });

    test("asked for in vain is answered with plain JSON", async (t) => {
        const server = await start(t);
        const options = { meta: { progressToken: 1 } };
        const answer = await callTool(server, "test.echo", { message: "x" }, options);
        assert.equal(answer.status, 200);
        assert.match(answer.headers.get("content-type"), /^application\/json/);
    });

    test("needs a token that is a string or an integer", async (t) => {
        const server = await start(t);
        for (const progressToken of [null, 1.5, {}, [], true]) {
            const options = { meta: { progressToken } };
            const { json } = await callTool(server, "test.progress", {}, options);
            assert.equal(json.error?.code, -32602, JSON.stringify(progressToken));
        }
    });

    test("of many calls at once goes to each its own", async (t) => {
        const server = await start(t, { plugins: { workers: 8 } });
        await inParallel(Array.from({ length: 24 }), 8, async (_, i) => {
            const stream = await open(server, { steps: 3, ms: 2 }, { token: `t${i}`, id: i });
            const all = await stream.rest();
            assert.equal(all.pop().id, i);
            all.forEach(({ params }) => assert.equal(params.progressToken, `t${i}`));
        });
    });

    test("comes to legacy clients too", async (t) => {
        const server = await start(t);
        const params = {
            name: "test.progress",
            arguments: { steps: 3 },
            _meta: { progressToken: "t" },
        };
        const { status, headers, text } = await legacy(server, "tools/call", params);
        assert.equal(status, 200);
        assert.match(headers.get("content-type"), /^(text\/event-stream|application\/json)/);
        assert.match(text, /"steps":3/);
    });

    test("is thinned out for a reader that is slow, and costs no memory", async (t) => {
        // Whoever takes nothing for so long is disconnected, also by a machine that stands still.
        const timeouts = { write: "10m" };
        const server = await start(t, { loops: 1, limits: { stream_queue: "64KB" }, timeouts });
        await callToolWell(server, "test.progress", { steps: 1, ms: 0 });
        const before = residentKb(server.pid);
        // More than the kernel keeps for a connection.
        const steps = 4_000;
        const message = "x".repeat(4_000);
        const c = await Connection.open(server);
        c.socket.pause();
        await c.send(rawCall("test.progress", { steps, ms: 0, message }, "t"));
        // It ends while nothing is read.
        const ended = async () =>
            (await ask(server, "causeway.calls.recent")).filter(({ tool }) => tool === "test.progress").length === 2;
        await eventually(ended, "the end of the call", 20_000);
        const grown = residentKb(server.pid) - before;
        // Sanitizers keep what was freed.
        assert.ok(slowness > 1 || grown < 8_192, `${grown} KB more`);
        c.socket.resume();
        const { status, text } = await c.response({ timeoutMs: 20_000 });
        assert.equal(status, 200);
        const all = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data));
        assert.equal(all.pop().result.structuredContent.steps, steps);
        assert.ok(all.length < steps, `${all.length} of ${steps} reports came`);
        const values = all.map(({ params }) => params.progress);
        values.forEach((value, i) => assert.ok(i === 0 || value > values[i - 1]));
        c.close();
    });

    test("is followed by a result that is larger than the queue of the stream", async (t) => {
        const server = await start(t, { limits: { stream_queue: "64KB" } });
        const c = await Connection.open(server);
        await c.send(rawCall("test.large", { bytes: 3_000_000 }, "t"));
        const { status, body } = await c.response({ timeoutMs: 10_000 });
        assert.equal(status, 200);
        assert.ok(body.length > 3_000_000);
        c.close();
    });
});

// One worker only, so that whatever it still does is felt by the next call.
const single = { loops: 1, plugins: { workers: 1, grace: `${300 * slowness}ms` } };
// A worker that is not killed: only a method that ends frees it.
const patient = { loops: 1, plugins: { workers: 1, grace: "1h" } };

// A call that leave() takes back by closing its connection.
function begin(server, name, args, options = {}) {
    const aborter = new AbortController();
    const fetchOptions = { fetch: { signal: aborter.signal } };
    const call = callTool(server, name, args, { ...options, ...fetchOptions }).catch(() => "left");
    const leave = async () => {
        aborter.abort();
        return await call;
    };
    return { leave };
}

async function leaveAfter(server, ms, name, args) {
    const { leave } = begin(server, name, args);
    await pause(ms);
    return await leave();
}

suite("a caller that leaves", { concurrency: true }, () => {
    test("frees the worker at once when the method looks for it", async (t) => {
        const server = await start(t, patient);
        await callToolWell(server, "test.echo", { message: "x" });
        const workers = workersOf(server);
        for (const meta of [{}, { progressToken: 1 }]) {
            const { leave } = begin(server, "test.sleep", { ms: long }, { meta });
            await untilCalls(server, "test.sleep", 1);
            assert.equal(await leave(), "left");
            await nextCall(server);
        }
        assert.deepEqual(workersOf(server), workers, "the worker lives");
    });

    test("has its worker killed after the grace when the method does not look", async (t) => {
        const server = await start(t, single);
        await callToolWell(server, "test.echo", { message: "x" });
        const workers = workersOf(server);
        const { leave } = begin(server, "test.sleep_deaf", { ms: long });
        await untilCalls(server, "test.sleep_deaf", 1);
        assert.equal(await leave(), "left");
        await nextCall(server, 2_000);
        assert.notDeepEqual(workersOf(server), workers, "another worker");
    });

    test("in the middle of a stream ends the method", async (t) => {
        const server = await start(t, patient);
        const stream = await open(server, { steps: long / 10, ms: 10 });
        await stream.next();
        await stream.next();
        stream.close();
        await nextCall(server);
    });

    test("while it waits for a worker never runs", async (t) => {
        const server = await start(t, patient);
        const first = begin(server, "test.sleep", { ms: long });
        await untilCalls(server, "test.sleep", 1);
        const others = Array.from({ length: 20 }, () => begin(server, "test.sleep", { ms: long }));
        await untilCalls(server, "test.sleep", 1, 20);
        await Promise.all(others.map(({ leave }) => leave()));
        await untilCalls(server, "test.sleep", 1);
        await first.leave();
        await nextCall(server);
    });

    test("by ending its side counts as gone", async (t) => {
        const server = await start(t, patient);
        const c = await Connection.open(server, { stays: true });
        await c.send(rawCall("test.sleep", { ms: long }));
        await untilCalls(server, "test.sleep", 1);
        c.socket.end();
        await nextCall(server);
        await c.closed();
    });

    test("does not end what others have called", async (t) => {
        const server = await start(t, { loops: 1, plugins: { workers: 4 } });
        const staying = Array.from({ length: 4 }, () => callToolWell(server, "test.sleep", { ms: 400 }));
        const leaving = Array.from({ length: 8 }, () => leaveAfter(server, 100, "test.sleep", { ms: long }));
        await Promise.all(leaving);
        await Promise.all(staying);
    });

    test("of the legacy era does not cancel", async (t) => {
        const server = await start(t, single);
        const params = { name: "test.sleep", arguments: { ms: 600 } };
        const c = await Connection.open(server);
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
        await c.send(request("POST", "/mcp", { "Content-Type": "application/json" }, body));
        await untilCalls(server, "test.sleep", 1);
        c.close();
        await callToolWell(server, "test.echo", { message: "x" });
        const [slept] = (await ask(server, "causeway.calls.recent")).filter(({ tool }) => tool === "test.sleep");
        assert.equal(slept.outcome, "ok");
        assert.ok(slept.us >= 600_000, `the sleep went on: ${slept.us} us`);
    });

    test("of the legacy era may end its side and is answered, then the connection ends", async (t) => {
        const server = await start(t);
        const params = { name: "test.sleep", arguments: { ms: 20 } };
        const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
        for (const body of [message, [message, { ...message, id: 2 }]]) {
            const text = request("POST", "/mcp", { "Content-Type": "application/json" }, JSON.stringify(body));
            for (let i = 0; i < 10; i += 1) {
                const { bytes, closed } = await rawExchange(server.port, text, { halfClose: true });
                const [answer] = splitResponses(bytes);
                assert.equal(answer?.status, 200);
                assert.ok(JSON.parse(answer.body));
                assert.ok(closed);
            }
        }
    });

    test("at any moment of a call leaves nothing behind", async (t) => {
        const server = await start(t, {
            loops: 2,
            limits: { max_calls: 64 },
            plugins: { workers: 2, grace: `${200 * slowness}ms` },
        });
        const kinds = [
            ["test.echo", { message: "x".repeat(1000) }],
            ["test.sleep", { ms: 30 }],
            ["test.progress", { steps: 20, ms: 2 }, "t"],
            ["test.sleep_deaf", { ms: 20 }],
            ["test.large", { bytes: 300_000 }],
        ];
        await inParallel(Array.from({ length: 400 }), 16, async (_, i) => {
            const [name, args, token] = kinds[i % kinds.length];
            const text = rawCall(name, args, token);
            const c = await Connection.open(server);
            // Some leave with half a request, the others a moment later than the one before.
            const cut = i % 7 === 0 ? Math.floor((text.length * (i % 50)) / 50) : text.length;
            await c.send(text.slice(0, cut));
            await pause(i % 40);
            c.close();
        });
        // More calls than the limit allows would be refused if the others still counted.
        await eventually(async () => {
            const calls = Array.from({ length: 30 }, () => callTool(server, "test.sleep", { ms: 20 }));
            const all = await Promise.all(calls);
            return all.every(({ json }) => !json.result.isError);
        }, "all places are free");
        server.assertNoReports();
    });
});

suite("a call", { concurrency: true }, () => {
    test("fault-B10: that takes too long is ended at its time limit with an error that says so", async (t) => {
        const timeout = Math.min(patience(300), 5_000 * slowness); // the other calls have the same
        const server = await start(t, {
            loops: 1,
            plugins: { workers: 1, timeout: `${timeout}ms`, grace: "50ms" },
        });
        // A machine that stands still may take this one beyond its time, too.
        const works = async () => !(await callTool(server, "test.echo", { message: "x" })).json.result.isError;
        await eventually(works, "a worker");
        for (const name of ["test.sleep", "test.sleep_deaf"]) {
            const begun = performance.now();
            const { json } = await within(timeout + 100, name, () => callTool(server, name, { ms: long }));
            assert.equal(json.result.isError, true);
            assert.match(json.result.content[0].text, /longer than/);
            assert.ok(performance.now() - begun >= timeout - 5, `${performance.now() - begun} ms`);
            await eventually(works, "a worker that is free");
        }
    });

    test("that reports progress may not outlive its time limit", async (t) => {
        const timeout = `${Math.min(patience(300), 5_000 * slowness)}ms`;
        const server = await start(t, { plugins: { timeout, grace: "50ms" } });
        // On a machine that stands still, the time may be over before the first report.
        const hasReported = async () => {
            const stream = await open(server, { steps: long / 10, ms: 10 });
            const all = await stream.rest();
            if (!stream.type.startsWith("text/event-stream")) return false;
            assert.equal(all.at(-1).result.isError, true);
            return all.length > 2;
        };
        await eventually(hasReported, "a call that reported progress and was ended", 20_000);
    });
});
