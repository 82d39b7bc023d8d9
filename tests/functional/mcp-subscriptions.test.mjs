// subscriptions/listen: who listens is told that the list of tools has changed, and nothing else.
import assert from "node:assert/strict";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import {
    addPlugin,
    assertRpcError,
    both,
    callToolWell,
    EventStream,
    metaKey,
    modern,
    startBridge,
    toolNames,
    untilTool,
} from "./support/mcp.mjs";
import { runCauseway } from "./support/programs.mjs";
import { eventually, openFiles, pause } from "./support/server.mjs";

const wanted = { notifications: { toolsListChanged: true } };

async function start(t, options) {
    const server = await startBridge(options);
    t.after(() => server.stop());
    return server;
}

async function listen(server, { id = 1, params = wanted } = {}) {
    const stream = await EventStream.open(server, "subscriptions/listen", params, { id });
    assert.equal(stream.status, 200);
    const first = await stream.next();
    assert.equal(first.method, "notifications/subscriptions/acknowledged");
    assert.deepEqual(first.params._meta, { [metaKey("subscriptionId")]: id });
    stream.honoured = first.params.notifications;
    return stream;
}

async function assertChanged(stream, id = 1) {
    assert.deepEqual(await stream.next(), {
        jsonrpc: "2.0",
        method: "notifications/tools/list_changed",
        params: { _meta: { [metaKey("subscriptionId")]: id } },
    });
}

const file = (server, name) => path.join(server.plugins, name);

suite("who listens", { concurrency: true }, () => {
    test("is told when a plugin is added, and the list is new by then", async (t) => {
        const server = await start(t, { plugins: ["echo"] });
        const stream = await listen(server);
        addPlugin(server.plugins, "faults");
        await assertChanged(stream);
        assert.ok((await toolNames(server)).includes("faults.ok"));
        await callToolWell(server, "faults.ok", {});
    });

    test("is told when a plugin is removed", async (t) => {
        const server = await start(t, { plugins: ["echo", "faults"] });
        const stream = await listen(server);
        rmSync(file(server, "faults.so"));
        await assertChanged(stream);
        assert.ok(!(await toolNames(server)).includes("faults.ok"));
        assertRpcError(await modern(server, "tools/call", { name: "faults.ok" }), 200, -32602, 1);
        await callToolWell(server, "test.echo", { message: "x" });
    });

    test("is told when a plugin is disabled and enabled by its file's name", async (t) => {
        const server = await start(t, { plugins: ["echo", "faults"] });
        const stream = await listen(server);
        renameSync(file(server, "faults.so"), file(server, "faults.so.disabled"));
        await assertChanged(stream);
        assert.ok(!(await toolNames(server)).includes("faults.ok"));
        renameSync(file(server, "faults.so.disabled"), file(server, "faults.so"));
        await assertChanged(stream);
        assert.ok((await toolNames(server)).includes("faults.ok"));
    });

    test("is told when a plugin is disabled and enabled by the program", async (t) => {
        const server = await start(t, { plugins: ["echo", "faults"] });
        const stream = await listen(server);
        const plugin = (...args) => runCauseway(["plugin", ...args, "--config", server.config]);
        assert.equal((await plugin("disable", "faults")).code, 0);
        await assertChanged(stream);
        assert.match((await plugin("list")).stdout, /faults/);
        assert.equal((await plugin("enable", "faults")).code, 0);
        await assertChanged(stream);
        await callToolWell(server, "faults.ok", {});
    });

    test("is not told when a plugin is replaced by the same or a broken one is added", async (t) => {
        const server = await start(t, { plugins: ["echo"] });
        const stream = await listen(server);
        addPlugin(server.plugins, "echo");
        writeFileSync(file(server, "broken.so"), "not a shared object");
        await server.untilLogged(/broken/);
        await pause(700);
        assert.equal(stream.events.length, 1, JSON.stringify(stream.events));
        await callToolWell(server, "test.echo", { message: "x" });
    });

    test("keeps the old version of a plugin that is replaced by a broken file", async (t) => {
        const server = await start(t, { plugins: ["echo"] });
        writeFileSync(file(server, "echo.part"), "not a shared object");
        renameSync(file(server, "echo.part"), file(server, "echo.so"));
        await server.untilLogged(/echo/);
        await pause(700);
        await callToolWell(server, "test.echo", { message: "x" });
    });

    test("is told with the id of its own request, whatever its type", async (t) => {
        const server = await start(t, { plugins: ["echo"] });
        const ids = [7, "7", "a b", 0];
        const streams = await Promise.all(ids.map((id) => listen(server, { id })));
        addPlugin(server.plugins, "faults");
        await Promise.all(streams.map((stream, i) => assertChanged(stream, ids[i])));
    });

    test("gets only what it asked for and what there is", async (t) => {
        const server = await start(t, { plugins: ["echo"] });
        const nothing = await listen(server, { params: { notifications: {} } });
        assert.deepEqual(nothing.honoured, {});
        const all = {
            toolsListChanged: true,
            promptsListChanged: true,
            resourcesListChanged: true,
            resourceSubscriptions: ["test://x"],
        };
        const greedy = await listen(server, { params: { notifications: all } });
        const { resourceSubscriptions, ...lists } = all;
        assert.deepEqual(greedy.honoured, lists, `${resourceSubscriptions} is not there`);
        const no = await listen(server, { params: { notifications: { toolsListChanged: false } } });
        assert.equal(no.honoured.toolsListChanged ?? false, false);
        addPlugin(server.plugins, "faults");
        await assertChanged(greedy);
        await pause(200);
        assert.equal(nothing.events.length, 1);
        assert.equal(no.events.length, 1);
    });

    test("must say what it wants", async (t) => {
        const server = await start(t, { plugins: ["echo"] });
        for (const params of [{}, { notifications: null }, { notifications: [] }]) {
            const { json } = await modern(server, "subscriptions/listen", params);
            assert.equal(json.error.code, -32602);
        }
    });

    test("must accept a stream", async (t) => {
        const server = await start(t, { plugins: ["echo"] });
        const headers = { ...both, Accept: "application/json" };
        const { status } = await modern(server, "subscriptions/listen", wanted, { headers });
        assert.equal(status, 406);
    });

    test("leaves without a trace", async (t) => {
        const server = await start(t, { plugins: ["echo"] });
        const files = openFiles(server.pid);
        for (let round = 0; round < 5; round += 1) {
            const streams = await Promise.all(Array.from({ length: 20 }, () => listen(server)));
            streams.forEach((stream) => stream.close());
        }
        await eventually(() => openFiles(server.pid) <= files + 2, "connections are closed");
        addPlugin(server.plugins, "faults");
        await untilTool(server, "faults.ok");
    });
});

suite("a server that stops", { concurrency: true }, () => {
    test("ends every subscription with its result", async () => {
        const server = await startBridge({ plugins: ["echo"] });
        const streams = await Promise.all([1, "two"].map((id) => listen(server, { id })));
        const stopped = server.stop();
        for (const [i, id] of [1, "two"].entries()) {
            const rest = await streams[i].rest();
            assert.equal(rest.length, 1);
            assert.equal(rest[0].id, id);
            assert.equal(rest[0].result.resultType, "complete");
            assert.equal(rest[0].result._meta[metaKey("subscriptionId")], id);
        }
        await stopped;
    });
});
