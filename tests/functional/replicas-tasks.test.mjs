// Tasks behind a load balancer: any server of a database reads, answers, cancels and lists them, and ends those of
// a server that was lost.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, suite, test } from "node:test";
import { basic, call, databasePath, discover, startAccounts } from "./support/accounts.mjs";
import { assertRpcError, EventStream, legacy, modern, untilTool } from "./support/mcp.mjs";
import { compilePlugin, newFolder } from "./support/plugins.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";
import { binary, patience, startProgram } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";
import { modes, startService, writeOpenRpc } from "./support/service.mjs";
import { cancelTask, getTask, taskOf, untilStatus, withTasks } from "./support/tasks.mjs";

const source = `#include <causeway/plugin.h>
#include <time.h>
CW_PLUGIN("jobs", "1.0");
static void slow(cw_call *call)
{
    const struct timespec step = {.tv_nsec = 5000000};
    cw_call_progress(call, 1, 4, "one part");
    for (long i = 0; i < cw_arg_int(call, "ms", 0) / 5 && !cw_call_cancelled(call); i++)
        (void)nanosleep(&step, NULL);
    cw_result_text(call, "slow");
}
CW_METHOD(slow, "jobs.slow", .params = {{"ms", .schema = CW_JSON({"type": "integer"})}});
CW_TOOL(slow, .task = "always");
static void asks(cw_call *call)
{
    const char *form = CW_JSON({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    const cw_value *answer = cw_ask_form(call, "n", "How many?", form);
    if (answer)
        cw_result_format(call, "%ld", (long)cw_value_int(call, cw_value_get(cw_answer_content(answer), "n"), 0));
}
CW_METHOD(asks, "jobs.asks");
CW_TOOL(asks, .task = "always");
static void asks_editors(cw_call *call) { asks(call); }
CW_METHOD(asks_editors, "jobs.asks_editors", .permissions = {"access content"});
CW_TOOL(asks_editors, .task = "always");
`;

const long = 600_000;
const alice = { headers: basic("alice", "s3cret") };
const bob = { headers: basic("bob", "b0b") };
const permissions = [discover, call];
const service = await startService();
const directory = newFolder("jobs");
compilePlugin(directory, "jobs", source);

const configOf = (store) => ({
    store,
    roles: { anonymous: permissions, authenticated: permissions, editor: ["access content"] },
    mcp: { tasks: { legacy: true } },
    plugins: { directory, timeout: "20m" },
    sources: [
        {
            name: "shop",
            url: service.url,
            openrpc: writeOpenRpc(),
            prefix: "shop.",
            timeout: "10m",
            connections: 256,
            methods: ["echo", "wait"].map((method) => ({ method, task: "always" })),
        },
    ],
});

async function startServers(store, n) {
    const start = (accounts) => startAccounts({ plugins: [], config: configOf(store), accounts });
    const first = await start(true);
    const servers = [first, ...(await Promise.all(Array.from({ length: n - 1 }, () => start(false))))];
    await Promise.all(
        servers.map((server) => untilTool(server, "shop.echo").then(() => untilTool(server, "jobs.asks"))),
    );
    const seen = new RegExp(`number of servers .*others=${n - 1}`);
    await Promise.all(servers.map((server) => server.untilLogged(seen, patience(10_000))));
    return servers;
}

const stateOf = async (server, taskId, options) => (await getTask(server, taskId, options)).json.result;
const update = (server, taskId, inputResponses, options) =>
    modern(server, "tasks/update", { taskId, inputResponses }, withTasks(options));
// The answer to its only question.
const accept = ({ inputRequests }, n) => ({ [Object.keys(inputRequests)[0]]: { action: "accept", content: { n } } });

async function openSession(server) {
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const answer = await legacy(server, "initialize", params, alice);
    return { headers: { ...alice.headers, "Mcp-Session-Id": answer.headers.get("mcp-session-id") } };
}

async function kill(server) {
    server.child.kill("SIGKILL");
    await server.exited;
}

const takeovers = (servers) => servers.map(({ stderr }) => stderr.split("have failed").length - 1);

// One of them has logged that it ended the tasks of the server that was lost, once.
async function assertOneTakeover(servers) {
    await eventually(() => takeovers(servers).some((n) => n > 0), "the line in the log");
    assert.deepEqual(takeovers(servers).toSorted(), [0, 1]);
}

function sharingOf(newStore) {
    let a, b;
    before(async () => ([a, b] = await startServers(newStore(), 2)));
    after(() => Promise.all([a, b].map((server) => server?.stop())));

    test("is the same at the other server, while it runs and after its end", async () => {
        const taskId = await taskOf(a, "jobs.slow", { ms: long }, alice);
        const reported = async () => (await stateOf(b, taskId, alice)).statusMessage === "one part (1 of 4)";
        await eventually(reported, "its progress", 10_000);
        assert.deepEqual(await stateOf(b, taskId, alice), await stateOf(a, taskId, alice));
        await cancelTask(a, taskId, alice);
        const done = await taskOf(a, "shop.echo", { message: "kept" }, alice);
        const ended = await untilStatus(a, done, "completed", alice);
        assert.deepEqual(await stateOf(b, done, alice), ended, "at once");
        assert.equal((await stateOf(b, taskId, alice)).status, "cancelled");
    });

    test("ends at its server when the other one cancels it", async () => {
        for (const options of [alice, {}]) {
            const taskId = await taskOf(a, "shop.wait", { ms: long }, options);
            await eventually(() => service.open === 1, "the call");
            for (let i = 0; i < 2; i += 1) assert.ok((await cancelTask(b, taskId, options)).json.result);
            assert.equal((await stateOf(b, taskId, options)).status, "cancelled", "at once");
            await eventually(() => service.open === 0, "the end of the call");
            assert.deepEqual(await stateOf(a, taskId, options), await stateOf(b, taskId, options));
        }
    });

    test("takes its answers from the other one, with the rights of their sender", async () => {
        for (const options of [alice, {}]) {
            const taskId = await taskOf(a, "jobs.asks", {}, options);
            const asked = await untilStatus(b, taskId, "input_required", options);
            assert.equal(Object.values(asked.inputRequests)[0].params.message, "How many?");
            assertRpcError(await update(b, taskId, accept(asked, "many"), options), 200, -32602, 1);
            assertRpcError(await update(b, taskId, accept(asked, 1), bob), 200, -32602, 1);
            assert.ok((await update(b, taskId, { other: { action: "cancel" } }, options)).json.result);
            assert.ok((await update(b, taskId, accept(asked, 42), options)).json.result);
            const { result } = await untilStatus(b, taskId, "completed", options);
            assert.equal(result.content[0].text, "42");
            assert.deepEqual(await stateOf(a, taskId, options), await stateOf(b, taskId, options));
            assert.ok((await update(b, taskId, accept(asked, 7), options)).json.result, "too late, and ignored");
        }
    });

    test("is unknown to everybody else, in the same words", async () => {
        const taskId = await taskOf(a, "jobs.asks_editors", {}, alice);
        await untilStatus(b, taskId, "input_required", alice);
        const bytes = async (server, method, id, as) => {
            const { status, text } = await modern(server, method, { taskId: id, inputResponses: {} }, withTasks(as));
            return `${status} ${text.replaceAll(id, "ID")}`;
        };
        const numbers = [taskId.slice(0, 4), "0000", "03ff", "ffff"];
        for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
            const wanted = await bytes(a, method, "0".repeat(68), alice);
            assert.match(wanted, /-32602/);
            for (const server of [a, b]) {
                assert.equal(await bytes(server, method, taskId, bob), wanted);
                assert.equal(await bytes(server, method, taskId, {}), wanted);
                for (const number of numbers)
                    assert.equal(await bytes(server, method, `${number}${"1".repeat(64)}`, alice), wanted);
            }
        }
        assert.equal((await stateOf(a, taskId, alice)).status, "input_required");
        // Its owner loses the right to call the tool.
        await a.cli("account", "revoke", "alice", "editor");
        const wanted = await bytes(b, "tasks/get", "0".repeat(68), alice);
        for (const server of [a, b])
            await eventually(async () => (await bytes(server, "tasks/get", taskId, alice)) === wanted, "its refusal");
        for (const server of [a, b])
            for (const method of ["tasks/update", "tasks/cancel"])
                assert.equal(
                    await bytes(server, method, taskId, alice),
                    await bytes(server, method, "0".repeat(68), alice),
                );
        await a.cli("task", "cancel", taskId);
        await a.cli("account", "grant", "alice", "editor");
        for (const server of [a, b])
            await eventually(async () => (await getTask(server, taskId, alice)).json.result, "its rights");
    });

    test("is shown, awaited and cancelled in protocol version 2025-11-25, too", async () => {
        const session = await openSession(a);
        const begin = async (name, args) => {
            const { json } = await legacy(a, "tools/call", { name, arguments: args, task: {} }, session);
            return json.result.task.taskId;
        };
        const ask = (server, method, taskId) => legacy(server, method, { taskId }, session);
        const taskId = await begin("jobs.slow", { ms: 4000 });
        const result = ask(b, "tasks/result", taskId);
        assert.equal((await ask(b, "tasks/get", taskId)).json.result.status, "working");
        assert.equal((await result).json.result.content[0].text, "slow");
        assert.deepEqual(
            (await ask(b, "tasks/get", taskId)).json.result,
            (await ask(a, "tasks/get", taskId)).json.result,
        );
        for (const server of [a, b]) {
            const waiting = await begin("shop.wait", { ms: long });
            await eventually(() => service.open === 1, "the call");
            assert.equal((await ask(server, "tasks/cancel", waiting)).json.result.status, "cancelled");
            await eventually(() => service.open === 0, "the end of the call");
            for (const other of [a, b]) assertRpcError(await ask(other, "tasks/cancel", waiting), 200, -32602, 1);
            assert.match((await ask(b, "tasks/result", waiting)).json.error.message, /cancelled/);
        }
    });

    test("is announced to a subscriber of the other one", async () => {
        const taskId = await taskOf(a, "jobs.asks", {}, alice);
        const named = { notifications: { taskIds: [taskId, taskId, "0".repeat(68), taskId] } };
        const stream = await EventStream.open(b, "subscriptions/listen", named, withTasks(alice));
        assert.deepEqual((await stream.next()).params.notifications, { taskIds: [taskId] });
        const until = async (status) => {
            for (;;) {
                const { method, params } = await stream.next(patience(10_000));
                assert.equal(method, "notifications/tasks");
                if (params.status === status) return params;
            }
        };
        await update(b, taskId, accept(await until("input_required"), 3), alice);
        assert.equal((await until("completed")).result.content[0].text, "3");
        stream.close();
        const foreign = await EventStream.open(b, "subscriptions/listen", named, withTasks(bob));
        assert.deepEqual((await foreign.next()).params.notifications, {});
        foreign.close();
    });

    test("is listed, shown and cancelled by operators of either, with its node", async () => {
        const mine = await taskOf(a, "shop.wait", { ms: long }, alice);
        const other = await taskOf(b, "shop.wait", { ms: long }, alice);
        const replicas = JSON.parse(await a.cli("status", "--all", "--json")).replicas;
        const listed = await Promise.all([a, b].map(async (s) => JSON.parse(await s.cli("task", "list", "--json"))));
        for (const list of listed) {
            const node = (id) => list.find((task) => task.id === id).node;
            assert.equal(new Set([node(mine), node(other)]).size, 2);
            for (const id of [mine, other]) assert.ok(replicas.some((replica) => replica.node === node(id)));
        }
        assert.deepEqual(
            listed[0].map(({ id, status, caller, tool }) => [id, status, caller, tool]),
            listed[1].map(({ id, status, caller, tool }) => [id, status, caller, tool]),
        );
        assert.equal(JSON.parse(await b.cli("task", "show", mine)).status, "working");
        await b.cli("task", "cancel", mine);
        await a.cli("task", "cancel", other);
        await eventually(() => service.open === 0, "the end of the calls");
        assert.equal((await stateOf(a, mine, alice)).status, "cancelled");
        await assert.rejects(b.cli("task", "show", "0".repeat(68)), /no task has this id/);
        await assert.rejects(b.cli("task", "cancel", "0".repeat(68)), /no task has this id/);
    });
}

async function testTakeover(store) {
    const [a, b, c] = await startServers(store, 3);
    const running = await Promise.all(Array.from({ length: 5 }, () => taskOf(a, "shop.wait", { ms: long }, alice)));
    const asking = await taskOf(a, "jobs.asks", {}, alice);
    await untilStatus(b, asking, "input_required", alice);
    const done = await taskOf(a, "shop.echo", { message: "kept" }, alice);
    const ended = await untilStatus(a, done, "completed", alice);
    const stream = await EventStream.open(
        c,
        "subscriptions/listen",
        { notifications: { taskIds: [asking] } },
        withTasks(alice),
    );
    await kill(a);
    for (const taskId of [...running, asking]) {
        const states = [await untilStatus(b, taskId, "failed", alice), await untilStatus(c, taskId, "failed", alice)];
        assert.deepEqual(states[0], states[1]);
        assert.equal(states[0].error.message, "The server has ended while the task ran.");
    }
    for (const server of [b, c]) assert.deepEqual(await stateOf(server, done, alice), ended);
    await assertOneTakeover([b, c]);
    for (let status; status !== "failed"; ) status = (await stream.next(patience(10_000))).params.status;
    stream.close();
    await Promise.all([b, c].map((server) => server.stop()));
}

const isolated = ["--pid", "--fork", "--kill-child", "--mount-proc"];
const canHide = process.getuid() === 0 && spawnSync("unshare", [...isolated, "true"]).status === 0;

// In a namespace of its own, whose processes the other servers cannot know.
async function testDistantTakeover(store) {
    const [b, c] = await startServers(store, 2);
    const args = [...isolated, binary, "serve", "--listen", "127.0.0.1:0", "--config", b.config];
    const a = await startProgram("unshare", args, { name: "causeway" });
    await untilTool(a, "shop.wait");
    const taskId = await taskOf(a, "shop.wait", { ms: long }, alice);
    const begin = performance.now();
    await kill(a);
    const { status } = await stateOf(b, taskId, alice);
    // Unless the machine stood still meanwhile.
    assert.ok(status === "working" || performance.now() - begin > 5_000, status);
    const hasFailed = async () => (await stateOf(c, taskId, alice)).status === "failed";
    await eventually(hasFailed, "its end", 30_000);
    assert.equal((await stateOf(b, taskId, alice)).status, "failed");
    await assertOneTakeover([b, c]);
    await Promise.all([b, c].map((server) => server.stop()));
}

const onFile = () => ({ path: databasePath() });
const postgres = skipped ? undefined : await startPostgres();
const onServer = () => ({ url: postgres.newDatabase() });
after(() => postgres?.stop());

suite("a task on one file", { timeout: 300_000 }, () => sharingOf(onFile));
suite("a task on one PostgreSQL", { skip: skipped, timeout: 300_000 }, () => sharingOf(onServer));

suite("a task whose server is killed", { concurrency: true, timeout: 300_000 }, () => {
    test("fails once, and a result stays, on one file", () => testTakeover(onFile()));
    test("fails once, and a result stays, on one PostgreSQL", { skip: skipped }, () => testTakeover(onServer()));
    test("fails within 30 s if the others cannot see the process", { skip: skipped || !canHide }, () =>
        testDistantTakeover(onServer()),
    );
});

suite("a task while the database is away", { skip: skipped, timeout: 300_000 }, () => {
    test("shows its end when that is written, the same one at all servers", async (t) => {
        const own = await startPostgres();
        t.after(() => own.stop());
        const [a, b] = await startServers({ url: own.newDatabase() }, 2);
        t.after(() => Promise.all([a, b].map((server) => server.stop())));
        // Only a server that looks after its tasks for others writes how far they are.
        const other = await taskOf(a, "jobs.slow", { ms: long });
        await eventually(async () => (await stateOf(b, other))?.statusMessage, "its progress", 10_000);
        await cancelTask(a, other);
        const open = service.open;
        // It ends when the database is away.
        let end;
        modes.held = ({ id }, response) => {
            end = () => response.end(JSON.stringify({ jsonrpc: "2.0", id, result: true }));
        };
        service.mode = "held";
        t.after(() => (service.mode = null));
        const taskId = await taskOf(a, "shop.wait", { ms: 0 });
        await eventually(async () => (await stateOf(b, taskId))?.status === "working", "the task at both");
        await eventually(() => end, "the call");
        await own.kill();
        end();
        await eventually(() => service.open === open, "the end of the call");
        // Another server may have ended it meanwhile, as far as this one knows.
        for (let i = 0; i < 20; i += 1) {
            assert.equal((await stateOf(a, taskId)).status, "working");
            await pause(20);
        }
        await own.start();
        // One may notice later than the other that the database is back.
        for (const server of [a, b]) {
            await eventually(async () => (await stateOf(server, taskId))?.status === "completed", "its end", 20_000);
        }
        assert.deepEqual(await stateOf(b, taskId), await stateOf(a, taskId));
    });
});
