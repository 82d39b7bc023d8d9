// Tasks in the store: what was reported survives the process that ran it, however that ended.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { suite, test } from "node:test";
import { resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { basic, call, discover, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { assertRpcError, modern, untilTool } from "./support/mcp.mjs";
import { closeIdleConnections, startCauseway } from "./support/programs.mjs";
import { eventually, inParallel } from "./support/server.mjs";
import { startService, writeOpenRpc } from "./support/service.mjs";
import { cancelTask, getTask, openTaskSession, taskOf, untilStatus, withTasks } from "./support/tasks.mjs";
import { startUpgradable, stopUpgraded, upgrade } from "./support/upgrade.mjs";

const long = 600_000;
const alice = { headers: basic("alice", "s3cret") };
const bob = { headers: basic("bob", "b0b") };
const permissions = [discover, call, "access content"];

const service = await startService();

const configOf = (mcp = {}) => ({
    roles: { anonymous: permissions, authenticated: permissions, editor: [] },
    mcp,
    sources: [
        {
            name: "shop",
            url: service.url,
            openrpc: writeOpenRpc(),
            prefix: "shop.",
            timeout: "10m",
            connections: 256,
            methods: [
                { method: "echo", task: "always" },
                { method: "wait", task: "always" },
            ],
        },
    ],
});

async function start(t, mcp) {
    const server = await startAccounts({ plugins: [], config: configOf(mcp) });
    await untilTool(server, "shop.echo");
    t.after(() => server.child.kill("SIGKILL"));
    return server;
}

async function startAgain(t, { config }) {
    closeIdleConnections();
    const server = await startCauseway({ args: ["--config", config] });
    t.after(() => server.child.kill("SIGKILL"));
    return server;
}

async function kill(server) {
    server.child.kill("SIGKILL");
    await server.exited;
}

const stateOf = async (server, taskId, options) => (await getTask(server, taskId, options)).json.result;

suite("after a restart", () => {
    test("a task that had ended is the same, for its owner alone", async (t) => {
        const first = await start(t);
        const done = await taskOf(first, "shop.echo", { message: "kept" }, alice);
        const ended = await untilStatus(first, done, "completed", alice);
        const gone = await taskOf(first, "shop.wait", { ms: long }, alice);
        await cancelTask(first, gone, alice);
        const cancelled = await untilStatus(first, gone, "cancelled", alice);
        await first.stop();
        const second = await startAgain(t, first);
        assert.deepEqual(await stateOf(second, done, alice), ended);
        assert.deepEqual(await stateOf(second, gone, alice), cancelled);
        for (const options of [bob, {}]) assertRpcError(await getTask(second, done, options), 200, -32602, 1);
        const listed = JSON.parse(await first.cli("task", "list", "--json"));
        assert.deepEqual(
            listed.map(({ id, status }) => [id, status]).toSorted(),
            [
                [done, "completed"],
                [gone, "cancelled"],
            ].toSorted(),
        );
        await second.stop();
    });

    test("a task that ran has failed, and says why", async (t) => {
        const first = await start(t);
        const running = await taskOf(first, "shop.wait", { ms: long });
        await first.stop();
        const second = await startAgain(t, first);
        const stopped = await stateOf(second, running);
        assert.equal(stopped.status, "failed");
        assert.equal(stopped.error.message, "The server is stopping.");
        const another = await taskOf(second, "shop.wait", { ms: long });
        await kill(second);
        const third = await startAgain(t, first);
        assert.deepEqual(await stateOf(third, running), stopped);
        const lost = await untilStatus(third, another, "failed");
        assert.equal(lost.error.message, "The server has ended while the task ran.");
        assert.equal(lost.statusMessage, lost.error.message);
        await third.stop();
    });

    test("the client of the extension takes its task up again", async (t) => {
        const first = await start(t);
        const { client, session } = await openTaskSession(first);
        const execution = await session.callTool("shop.echo", { message: "later" });
        const reference = execution.serializeReference();
        await untilStatus(first, execution.handle.taskId, "completed");
        await client.close();
        await kill(first);
        const second = await startAgain(t, first);
        const other = await openTaskSession(second);
        const { outcome } = await (await other.session.resumeTask(reference)).settle();
        assert.match(resultFromTaskOutcome(outcome).content[0].text, /later/);
        await other.session.close();
        await other.client.close();
        await second.stop();
    });

    test("tasks whose time is over are unknown", async (t) => {
        const first = await start(t, { tasks: { ttl: "1s" } });
        const taskId = await taskOf(first, "shop.echo", { message: "short" });
        await first.stop();
        const second = await startAgain(t, first);
        await eventually(async () => (await getTask(second, taskId)).json.error, "the end of its time");
        assertRpcError(await getTask(second, taskId), 200, -32602, 1);
        await second.stop();
    });
});

// Another process that changes the database: until release(), no row is written.
async function holdDatabase(file) {
    const child = spawn("sqlite3", [file], { stdio: ["pipe", "pipe", "inherit"] });
    const held = new Promise((resolve) => child.stdout.on("data", resolve));
    child.stdin.write("BEGIN IMMEDIATE;\nSELECT 'held';\n");
    await held;
    return async () => {
        child.stdin.end("COMMIT;\n");
        await new Promise((resolve) => child.on("close", resolve));
    };
}

test("a client that leaves before it has the id leaves no task behind", async (t) => {
    const server = await start(t);
    if (!server.database) return t.skip("the database of this test is a file");
    const tasks = async () => JSON.parse(await server.cli("task", "list", "--json"));
    const ended = async () => {
        const [{ status }] = (await tasks()).slice(-1);
        return status !== "working" && status;
    };
    // The server may answer in the moment in which the client leaves.
    for (let i = 0; i < 10; i += 1) {
        const release = await holdDatabase(server.database);
        const aborter = new AbortController();
        const params = { name: "shop.wait", arguments: { ms: long } };
        const left = modern(server, "tools/call", params, withTasks({ fetch: { signal: aborter.signal } }));
        await eventually(() => service.open > 0, "the call");
        aborter.abort();
        const isLeft = await left.then(
            () => false,
            () => true,
        );
        await release();
        if (isLeft && (await eventually(ended, "its end").catch(() => false)) === "cancelled") {
            await eventually(() => service.open === 0, "the end of the call");
            await server.stop();
            return;
        }
        for (const { id } of await tasks()) await cancelTask(server, id);
        await eventually(() => service.open === 0, "the end of the call");
    }
    assert.fail("no task was cancelled");
});

test("an upgrade leaves running tasks with the old process, and finds their ends", async (t) => {
    const store = { path: path.join(keepFolder(), "upgraded.db") };
    const server = await startUpgradable({ plugins: [], config: { ...configOf(), store } });
    t.after(() => stopUpgraded(server));
    await untilTool(server, "shop.echo");
    const done = await taskOf(server, "shop.echo", { message: "old" });
    const ended = await untilStatus(server, done, "completed");
    const running = await taskOf(server, "shop.wait", { ms: long });
    await upgrade(server);
    assert.deepEqual(await stateOf(server, done), ended);
    const state = await untilStatus(server, running, "failed");
    assert.equal(state.error.message, "The server is stopping.");
});

test("20 kills lose no result that was reported, and no task", { timeout: 600_000 }, async (t) => {
    let server = await start(t, { tasks: { max_per_caller: 10_000 } });
    const first = server;
    const ids = new Set();
    const text = async (taskId) => (await getTask(server, taskId)).text;
    for (let round = 0; round < 20; round += 1) {
        const known = []; // their clients got the ids
        const reported = new Map(); // of results
        const create = async (_, i) => {
            const [name, args] = i % 2 ? ["shop.wait", { ms: long }] : ["shop.echo", { message: `${round} ${i}` }];
            const taskId = await taskOf(server, name, args);
            known.push(taskId);
            const answer = i % 2 ? "" : await text(taskId);
            if (answer.includes('"status":"completed"')) reported.set(taskId, answer);
        };
        // Some rounds end in the middle of the creation.
        const killed =
            round % 2 ? eventually(() => known.length > round * 8, "some tasks").then(() => kill(server)) : null;
        const made = inParallel(Array.from({ length: 200 }), 20, create);
        await (killed ? made.catch(() => {}) : made);
        await (killed ?? kill(server));
        server = await startAgain(t, first);
        for (const taskId of known) {
            assert.ok(!ids.has(taskId));
            ids.add(taskId);
            const answer = await text(taskId);
            if (reported.has(taskId)) assert.equal(answer, reported.get(taskId));
            else assert.match(answer, /"status":"(failed|completed)"/);
        }
    }
    await server.stop();
});
