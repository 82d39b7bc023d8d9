// Plugins that crash, hang or talk nonsense, a hundred times each while others are called: whoever
// called the broken method hears of it at once, and nobody else notices anything.
import assert from "node:assert/strict";
import { copyFileSync, renameSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { keepFolder } from "./support/kept.mjs";
import {
    assertRpcError,
    assertToolError,
    callTool,
    callToolWell,
    rpc,
    startBridge,
    workersOf,
    stoodStill,
    timed,
} from "./support/mcp.mjs";
import { buildFolder, patience, slowness } from "./support/programs.mjs";
import { eventually, inParallel, openFiles, pause } from "./support/server.mjs";
import { startHostile } from "./support/hostile-plugin.mjs";

const times = 100;
const timeout = Math.min(patience(300), 5_000 * slowness);
const grace = Math.min(patience(100), 1_000 * slowness);
// For tests that are about no time limit: longer than the machine stands still.
const unhurried = "2m";
// More than hang or die at once, so that healthy calls of the same plugin find one. On a busy machine
// the successor of one that was killed takes seconds to start.
const workers = 24;
// Sanitizers map far more than any limit allows; there the method gives up by itself.
const memory = slowness > 1 ? 0 : "64MB";

// What a faulty method may take before its caller hears of it. A crash is heard of 50 ms after the
// death; starting the worker that dies, and this machine's other work, come on top.
const crash = () => patience(500);
const hang = () => timeout + patience(1_000);
const kinds = {
    segv: crash,
    abort: crash,
    exit: crash,
    garbage: crash,
    half: crash,
    oversized: crash,
    memory: crash,
    hang,
    deadlock: hang,
};
// What crashes again and again while nothing else of the plugin works is paused: so only two at
// once, each with a healthy call after it. What hangs only takes its time.
const atOnce = new Map([
    [crash, 2],
    [hang, 4],
]);

async function start(t, { plugins = {}, ...config } = {}) {
    const server = await startBridge({
        plugins: ["echo", "faults"],
        config: {
            ...config,
            plugins: { timeout: `${timeout}ms`, grace: `${grace}ms`, max_memory: memory, workers, ...plugins },
        },
    });
    t.after(() => server.stop());
    return server;
}

// A call that must succeed, unless its time limit was over because the machine stood still.
async function callHealthy(server, name, args) {
    const took = await timed(() => callTool(server, name, args));
    assert.equal(took.value.status, 200, took.value.text);
    assert.ok(took.value.json.result, took.value.text);
    assert.ok(!took.value.json.result.isError || stoodStill(took), took.value.text);
}

// Calls that must all succeed, from now until stop(): of another plugin, and of the faulty one. `between` is the pause of
// a caller between its calls, in ms.
function startHealthy(server, between = 0, callers = 4) {
    let go = true;
    const all = { calls: 0 };
    const run = async (i) => {
        while (go) {
            const name = i % 2 ? "faults.ok" : "test.echo";
            const args = i % 2 ? {} : { message: `caller ${i}` };
            await callHealthy(server, name, args);
            all.calls += 1;
            if (between > 0) await pause(between);
        }
    };
    const running = Promise.all(Array.from({ length: callers }, (_, i) => run(i)));
    running.catch(() => {}); // seen by stop()
    const stop = async () => {
        go = false;
        await running;
        return all;
    };
    return stop;
}

suite("a method of a plugin", () => {
    for (const [kind, limit] of Object.entries(kinds)) {
        test(`threat-D6: that fails by ${kind} ${times} times harms nobody else`, async (t) => {
            // A crash has a limit of its own, so the time limit of calls need not be short.
            const slow = { plugins: { timeout: `${timeout + patience(5_000)}ms` } };
            const server = await start(t, limit === crash ? slow : {});
            // What hangs takes most of a minute, in which a call each 10 ms finds all that goes wrong.
            const stop = startHealthy(server, limit === hang ? 10 : 0);
            const files = openFiles(server.pid);
            const waits = [];
            const most = limit();
            await inParallel(Array.from({ length: times }), atOnce.get(limit), async () => {
                const { value, ...took } = await timed(() => callTool(server, `faults.${kind}`, {}));
                const text = assertToolError(value);
                assert.doesNotMatch(text, /unavailable|paused/i, "it was run, not refused");
                assert.doesNotMatch(text, /\.so\b|0x[0-9a-f]{4}|\//, "nothing of the inside");
                waits.push(took);
                await callHealthy(server, "faults.ok", {});
            });
            const { calls } = await stop();
            const slowest = Math.max(...waits.map(({ awake }) => awake));
            t.diagnostic(`slowest ${slowest.toFixed(0)} ms, ${calls} healthy calls`);
            // The machine may be busier now than it was in the beginning.
            assert.ok(slowest <= Math.max(most, limit()), `${slowest.toFixed(0)} ms`);
            if (limit === hang) {
                assert.ok(Math.min(...waits.map(({ ms }) => ms)) >= timeout - 5, "not before its time is up");
            }
            assert.ok(calls >= 10, `${calls} healthy calls`);
            await server.untilLogged(/faults/);
            const back = () => openFiles(server.pid) <= files + 60;
            await eventually(back, "descriptors are given back");
        });
    }
});

suite("calls", { concurrency: true }, () => {
    test("that wait behind one whose worker is killed are answered", async (t) => {
        const server = await start(t, { loops: 1, plugins: { workers: 1, timeout: unhurried } });
        await callToolWell(server, "faults.ok", {});
        const good = () => Promise.all(Array.from({ length: 20 }, () => callToolWell(server, "faults.ok", {})));
        for (const kind of ["segv", "exit", "garbage", "half"]) {
            const bad = callTool(server, `faults.${kind}`, {});
            await Promise.all([good(), bad]);
            assertToolError(await bad);
        }
        // Killed by us, because nobody waits for it any more.
        const aborter = new AbortController();
        const options = { fetch: { signal: aborter.signal } };
        const left = callTool(server, "faults.hang", {}, options).catch(() => "left");
        await pause(50);
        const waiting = good();
        aborter.abort();
        await waiting;
        assert.equal(await left, "left");
    });

    test("that wait longer than their time are answered in time", async (t) => {
        const server = await start(t, { loops: 1, plugins: { workers: 1, queue: 1000 } });
        const calls = Array.from({ length: 20 }, () => timed(() => callTool(server, "faults.hang", {})));
        for (const { value, awake } of await Promise.all(calls)) {
            assertToolError(value);
            assert.ok(awake <= hang(), `${awake.toFixed(0)} ms`);
        }
        await callHealthy(server, "faults.ok", {});
    });

    test("for which there is no room are refused at once", async (t) => {
        const patient = { timeout: `${timeout + 5_000}ms` }; // all of them arrive before the first one is given up
        const server = await start(t, { loops: 1, plugins: { workers: 1, queue: 4, ...patient } });
        await callToolWell(server, "faults.ok", {});
        // In the order in which they were answered: those that are refused do not wait for those that hang.
        const texts = [];
        const call = async () => texts.push(assertToolError(await callTool(server, "faults.hang", {})));
        await Promise.all(Array.from({ length: 40 }, call));
        const refused = texts.filter((text) => text === texts[0]);
        assert.ok(refused.length >= 20, texts.join("\n"));
        assert.ok(
            texts.slice(0, 20).every((text) => text === texts[0]),
            texts.join("\n"),
        );
        assert.notEqual(texts.at(-1), texts[0]);
    });

    test("threat-D6: of a method that dies every time are refused after a while, others are not", async (t) => {
        const server = await start(t, { loops: 1, plugins: { timeout: unhurried } });
        let refused = false;
        for (let i = 0; i < 20 && !refused; i += 1) {
            refused = /paus|unavailable/i.test(assertToolError(await callTool(server, "faults.segv", {})));
        }
        assert.ok(refused, "the method is paused");
        await callToolWell(server, "faults.ok", {});
        await callToolWell(server, "test.echo", { message: "x" });
    });

    test("that die are -32603 and 500 on /jsonrpc", async (t) => {
        const server = await start(t);
        for (const kind of ["segv", "hang", "garbage"]) {
            assertRpcError(await rpc(server, { method: `faults.${kind}`, id: 1 }), 500, -32603, 1);
        }
    });
});

suite("a worker", { concurrency: true }, () => {
    test("that is killed from outside is replaced", async (t) => {
        const server = await start(t, { loops: 1, plugins: { timeout: unhurried } });
        for (let i = 0; i < 3; i += 1) {
            await callToolWell(server, "test.echo", { message: "x" });
            workersOf(server).forEach((pid) => process.kill(pid, "SIGKILL"));
            await eventually(async () => {
                const { json } = await callTool(server, "test.echo", { message: "x" });
                return !json.result.isError;
            }, "a new worker");
        }
    });

    test("is stopped and continued without harm", async (t) => {
        const server = await start(t, { loops: 1, plugins: { timeout: unhurried } });
        await callToolWell(server, "test.echo", { message: "x" });
        const workers = workersOf(server);
        workers.forEach((pid) => process.kill(pid, "SIGSTOP"));
        const call = callToolWell(server, "test.echo", { message: "x" });
        setTimeout(() => workers.forEach((pid) => process.kill(pid, "SIGCONT")), 200);
        await call;
    });

    test("that has had nothing to do for long is ended, but for the last one", async (t) => {
        const idle = `${200 * slowness}ms`;
        const plugins = { idle_timeout: idle, timeout: unhurried };
        const server = await start(t, { loops: 1, plugins });
        // The first one still sleeps when the worker of the last one is started.
        const ms = patience(1_500);
        const sleeps = Array.from({ length: 6 }, () => callToolWell(server, "test.sleep", { ms }));
        await eventually(() => workersOf(server).length >= 6, "six workers");
        await Promise.all(sleeps);
        await eventually(() => workersOf(server).length <= 2, "one for each plugin");
        await callToolWell(server, "test.echo", { message: "x" });
    });

    test("that cannot be started fails the calls that need it, and is started when it can be", async (t) => {
        const host = path.join(keepFolder(), "host");
        const hidden = `${host}.hidden`;
        copyFileSync(path.join(buildFolder, "src", "host", "causeway-plugin-host"), host);
        const plugins = { host, load_timeout: `${patience(500)}ms`, timeout: unhurried };
        const server = await start(t, { loops: 1, plugins });
        await callToolWell(server, "test.echo", { message: "x" });
        renameSync(host, hidden);
        assertToolError(await callTool(server, "faults.exit", {}));
        const calls = Array.from({ length: 100 }, () => timed(() => callTool(server, "faults.ok", {})));
        await callToolWell(server, "test.echo", { message: "untouched" });
        for (const { value, awake } of await Promise.all(calls)) {
            assertToolError(value);
            assert.ok(awake < patience(2_000), `${awake} ms`);
        }
        renameSync(hidden, host);
        await eventually(async () => {
            const { json } = await callTool(server, "faults.ok", {});
            return !json.result.isError;
        }, "a new worker");
    });

    test("is not left behind when the server ends", async () => {
        const server = await startBridge({ plugins: ["echo", "faults"] });
        await callToolWell(server, "test.echo", { message: "x" });
        callTool(server, "faults.hang", {}).catch(() => {});
        await eventually(() => workersOf(server).length >= 2, "workers");
        const workers = workersOf(server);
        server.child.kill("SIGKILL");
        await server.exited;
        const gone = (pid) => {
            try {
                process.kill(pid, 0);
                return false;
            } catch {
                return true;
            }
        };
        await eventually(() => workers.every(gone), "no worker outlives the server");
    });
});

suite("a worker that writes without end", { concurrency: 2 }, () => {
    for (const params of [{ call: true }, { call: false }, { call: false, fork: true }]) {
        test(`does not keep its loop from others: ${JSON.stringify(params)}`, async (t) => {
            const timeout = Math.min(patience(300), 6_000); // the other calls have the same
            const server = await startHostile(t, {
                loops: 1,
                plugins: { timeout: `${timeout}ms`, grace: `${100 * slowness}ms` },
            });
            const flood = rpc(server, { method: "hostile.flood", params, id: 1 });
            const until = performance.now() + 3 * timeout;
            while (performance.now() < until) {
                let answered = false;
                const call = callHealthy(server, "test.echo", { message: "x" }).finally(() => (answered = true));
                call.catch(() => {}); // seen below
                await eventually(() => answered, "an answer beside the flood", 2_000);
                await call;
                await pause(20);
            }
            assert.equal((await flood).status, 500);
        });
    }
});
