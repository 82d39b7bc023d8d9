// Calls as they end, on a subscription: the live data of the console.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { EventStream, permissions, startBridge, untilTool } from "./support/mcp.mjs";
import { patience, startCauseway } from "./support/programs.mjs";
import { eventually, exchange, request } from "./support/server.mjs";

const roles = { anonymous: [...permissions, "view traffic"] };
const listen = (server, notifications) => EventStream.open(server, "subscriptions/listen", { notifications });
const call = (server, method, params) =>
    exchange(
        server,
        request(
            "POST",
            "/jsonrpc",
            { "Content-Type": "application/json" },
            JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
        ),
    );
const rpc = async (server, method, params) => JSON.parse((await call(server, method, params)).text);
const isTraffic = ({ method }) => method === "notifications/causeway/traffic";

async function nextCalls(stream) {
    for (;;) {
        const message = await stream.next();
        if (isTraffic(message)) return message.params;
    }
}

suite("a subscription to calls", () => {
    let server;
    before(async () => {
        server = await startBridge({ roles, plugins: ["echo"] });
        await untilTool(server, "test.echo");
    });
    after(() => server?.stop());

    test("gets each call with its outcome, and how many were left out", async () => {
        const stream = await listen(server, { "causeway/traffic": {} });
        const first = await stream.next();
        assert.equal(first.method, "notifications/subscriptions/acknowledged");
        assert.deepEqual(first.params.notifications, { "causeway/traffic": true });
        await call(server, "test.echo", { message: "hello" });
        const { calls, left_out, last, _meta } = await nextCalls(stream);
        assert.equal(left_out, 0);
        assert.equal(calls.length, 1);
        assert.equal(calls[0].seq, last);
        assert.equal(calls[0].tool, "test.echo");
        assert.equal(calls[0].outcome, "ok");
        assert.ok(_meta["io.modelcontextprotocol/subscriptionId"] !== undefined);
        stream.close();
    });

    test("gets at most 20 calls at a time, and only those that it selects", async () => {
        const all = await listen(server, { "causeway/traffic": {} });
        const some = await listen(server, { "causeway/traffic": { outcome: "invalid" } });
        await all.next();
        await some.next();
        await Promise.all(Array.from({ length: 60 }, () => call(server, "test.echo", { message: "x" })));
        await call(server, "test.echo", { wrong: 1 });
        let seen = 0;
        while (seen < 61) {
            const { calls, left_out } = await nextCalls(all);
            assert.ok(calls.length <= 20);
            seen += calls.length + left_out;
        }
        assert.equal(seen, 61);
        for (;;) {
            const { calls } = await nextCalls(some);
            for (const { outcome } of calls) assert.equal(outcome, "invalid");
            if (calls.length) break;
        }
        all.close();
        some.close();
    });
});

const isStats = ({ method }) => method === "notifications/causeway/stats";
const arrays = ["p50_us", "p95_us", "p99_us", "running"];

test("a subscription to statistics gets each step once, and no calls if it wants none", async () => {
    const server = await startBridge({ roles, plugins: ["echo"] });
    await untilTool(server, "test.echo");
    const stream = await listen(server, { "causeway/traffic": { calls: false, stats: true } });
    await stream.next();
    const steps = [];
    while (steps.length < 2) {
        await call(server, "test.echo", { message: "hello" });
        const message = await stream.next(15_000); // a step is five seconds
        assert.ok(isStats(message), message.method);
        steps.push(message.params.stats);
    }
    for (const step of steps) {
        assert.equal(step.step_s, 5);
        assert.ok(step.until > step.from);
        for (const name of arrays) assert.equal(step[name].length, 1, name);
        assert.equal(step.calls.ok.length, 1);
        assert.ok(step.sources.some(({ name, state }) => name === "echo" && state === "ready"));
    }
    assert.equal(steps[1].from, steps[0].until, "no step is missing");
    assert.equal(steps[0].calls.ok[0] + steps[1].calls.ok[0] > 0, true);
    stream.close();
    await server.stop();
});

test("console.history limits the steps of causeway.stats", async () => {
    const server = await startBridge({ roles, plugins: ["echo"], config: { console: { history: 0 } } });
    const stats = async () => (await rpc(server, "causeway.stats")).result;
    await eventually(async () => (await stats()).running.length === 1, "a step", patience(15_000));
    const first = await stats();
    assert.equal(first.history_s, 0);
    await eventually(async () => (await stats()).from > first.from, "the next step", patience(15_000));
    assert.equal((await stats()).running.length, 1);
    await server.stop();
});

test("callers without the permission get no calls", async () => {
    const server = await startBridge({ plugins: ["echo"], roles: { anonymous: permissions } });
    const stream = await listen(server, { toolsListChanged: true, "causeway/traffic": {} });
    assert.deepEqual((await stream.next()).params.notifications, { toolsListChanged: true });
    stream.close();
    await server.stop();
});

test("streams beyond limits.console_streams get 503, and other subscriptions do not count", async () => {
    const server = await startBridge({ roles, plugins: ["echo"], config: { limits: { console_streams: 2 } } });
    const open = [];
    for (let i = 0; i < 2; i++) open.push(await listen(server, { "causeway/traffic": {} }));
    const third = await listen(server, { "causeway/traffic": {} });
    assert.equal(third.status, 503);
    const plain = await listen(server, { toolsListChanged: true });
    assert.equal(plain.status, 200);
    open.forEach((stream) => stream.close());
    plain.close();
    await server.stop();
});

test("the demo's console gets calls, and other clients of the demo do not", async () => {
    const server = await startCauseway();
    const stream = await listen(server, { "causeway/traffic": {} });
    assert.deepEqual((await stream.next()).params.notifications, {});
    stream.close();
    await server.stop();
});
