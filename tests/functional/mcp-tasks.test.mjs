// Tasks (io.modelcontextprotocol/tasks): which calls become one, its states, its questions, its end,
// and whose it is. The conformance suite has the rest (tests/conformance).
import assert from "node:assert/strict";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { basic, call, discover, startAccounts } from "./support/accounts.mjs";
import {
    assertRpcError,
    assertToolError,
    callTool,
    EventStream,
    initialize,
    legacy,
    metaKey,
    modern,
    rpc,
    startBridge,
    untilTool,
} from "./support/mcp.mjs";
import { keepFolder } from "./support/kept.mjs";
import { compilePlugin } from "./support/plugins.mjs";
import { oneReplica, replicaCount, runCauseway, slowness } from "./support/programs.mjs";
import { readAudit } from "./support/round-robin.mjs";
import { eventually, residentKb } from "./support/server.mjs";
import {
    beginTask,
    cancelTask,
    getTask,
    openTaskSession,
    taskOf as newTask,
    tasks,
    untilStatus as untilTask,
    withTasks,
} from "./support/tasks.mjs";

const source = `#include <causeway/plugin.h>
#include <time.h>
CW_PLUGIN("jobs", "1.0");
static void wait_ms(cw_call *call, long ms)
{
    const struct timespec step = {.tv_nsec = 5000000};
    for (long i = 0; i < ms / 5 && !cw_call_cancelled(call); i++)
        (void)nanosleep(&step, NULL);
}
static void run(cw_call *call)
{
    cw_call_progress(call, 1, 4, "one part");
    wait_ms(call, cw_arg_int(call, "ms", 0));
    if (!cw_call_cancelled(call))
        cw_result_format(call, "%s", cw_arg_text(call, "text", "done"));
}
#define PARAMS .params = {{"ms", .schema = CW_JSON({"type": "integer"})}, {"text", .schema = CW_JSON({"type": "string"})}, \\
    {"list", .schema = CW_JSON({"type": "array"})}}
#define JOB(name, rule) \\
    static void name(cw_call *call) { run(call); } \\
    CW_METHOD(name, "jobs." #name, PARAMS); \\
    CW_TOOL(name, .task = rule)
JOB(never, "never");
JOB(always, "always");
JOB(required, "required");
static void unmarked(cw_call *call) { run(call); }
CW_METHOD(unmarked, "jobs.unmarked", PARAMS);
CW_TOOL(unmarked);
static void late(cw_call *call)
{
    wait_ms(call, 20);
    if (cw_arg_has(call, "ms"))
        cw_task_begin(call);
    cw_task_status(call, "%s", "after\\na while");
    run(call);
}
CW_METHOD(late, "jobs.late", PARAMS);
CW_TOOL(late, .task = "auto");
static void quiet(cw_call *call)
{
    cw_task_begin(call);
    cw_task_begin(call);
    cw_task_status(call, "file %d of %d", 3, 7);
    wait_ms(call, cw_arg_int(call, "ms", 0));
    cw_result_format(call, "quiet");
}
CW_METHOD(quiet, "jobs.quiet", PARAMS);
CW_TOOL(quiet);
static void never_late(cw_call *call) { cw_task_begin(call); run(call); }
CW_METHOD(never_late, "jobs.never_late", PARAMS);
CW_TOOL(never_late, .task = "never");
static void secret(cw_call *call) { run(call); }
CW_METHOD(secret, "jobs.secret", PARAMS, .permissions = {"access content"});
CW_TOOL(secret, .task = "always");
static void dies(cw_call *call) { (void)call; __builtin_trap(); }
CW_METHOD(dies, "jobs.dies");
CW_TOOL(dies, .task = "always");
static void says_no(cw_call *call) { cw_error(call, 7, "no"); }
CW_METHOD(says_no, "jobs.says_no");
CW_TOOL(says_no, .task = "always");
/* Two rounds of questions under the same name. */
static void asks(cw_call *call)
{
    const char *form = CW_JSON({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    const cw_value *first = cw_ask_form(call, "n", "The first?", form);
    if (!first)
        return;
    if (!cw_state(call))
    {
        cw_state_set(call, "second");
        cw_ask_form(call, "m", "The second?", form);
        return;
    }
    const cw_value *second = cw_ask_form(call, "m", "The second?", form);
    if (second)
        cw_result_format(call, "%ld", (long)(cw_value_int(call, cw_value_get(cw_answer_content(first), "n"), 0)
                         + cw_value_int(call, cw_value_get(cw_answer_content(second), "n"), 0)));
}
CW_METHOD(asks, "jobs.asks");
CW_TOOL(asks, .task = "always");
`;

const unknown = -32602;
const undeclared = -32021;

const start = (options = {}) => startBridge({ plugins: [], roles: { anonymous: [discover, call] }, ...options });

const long = 600_000;

// Calls have more time than `long`, also on a machine that stands still for a while.
async function startJobs(options = {}) {
    const mcp = { tasks: { grace: "300ms", ...options.tasks } };
    const plugins = { timeout: "20m", ...options.config?.plugins };
    const own = await start({ config: { mcp, ...options.config, plugins } });
    compilePlugin(own.plugins, "jobs", source);
    await untilTool(own, "jobs.never");
    return own;
}

let server;
const auditFile = path.join(keepFolder(), "audit.jsonl");
before(async () => (server = await startJobs({ config: { audit: { path: auditFile } } })));
after(() => server?.stop());

const begin = (name, args, options, to = server) => beginTask(to, name, args, options);
const get = (taskId, options, to = server) => getTask(to, taskId, options);
const cancel = (taskId, options, to = server) => cancelTask(to, taskId, options);
const update = (taskId, inputResponses, options = {}, to = server) =>
    modern(to, "tasks/update", { taskId, inputResponses }, withTasks(options));
const taskOf = (name, args, options, to = server) => newTask(to, name, args, options);
const untilStatus = (taskId, status, options, to = server) => untilTask(to, taskId, status, options);

// At once; where servers take turns, the one that runs the task may learn of it from another.
async function assertCancelled(taskId, to = server) {
    const state =
        replicaCount > 1 ? await untilStatus(taskId, "cancelled", {}, to) : (await get(taskId, {}, to)).json.result;
    assert.equal(state.status, "cancelled");
}

suite("a call becomes a task", { concurrency: true }, () => {
    const isTask = ({ json }) => json.result.resultType === "task";
    const textOf = ({ json }) => json.result.content[0].text;

    test("unless it ends within the time of grace", async (t) => {
        // Much more than a busy machine needs for a call that does nothing.
        const own = await startJobs({ tasks: { grace: "10m" } });
        t.after(() => own.stop());
        assert.equal(textOf(await begin("jobs.unmarked", { ms: 0 }, {}, own)), "done");
        assert.equal(textOf(await begin("jobs.late", {}, {}, own)), "done");
    });

    test("by the rule of its tool", async () => {
        assert.equal(textOf(await begin("jobs.never", { ms: 600, text: "plain" })), "plain");
        assert.ok(isTask(await begin("jobs.always")));
        assert.ok(isTask(await begin("jobs.required")));
        assert.ok(isTask(await begin("jobs.unmarked", { ms: 2000 })));
    });

    test("when its method says so, with the status that it sets", async () => {
        const { json } = await begin("jobs.quiet", { ms: long });
        assert.equal(json.result.resultType, "task", "before the time of grace is over");
        const { taskId } = json.result;
        const isSaid = async () => (await get(taskId)).json.result.statusMessage === "file 3 of 7";
        await eventually(isSaid, "its status");
        await cancel(taskId);
        assert.ok(isTask(await begin("jobs.late", { ms: 2000 })));
        assert.equal(textOf(await begin("jobs.never_late", { text: "plain" })), "plain");
        assert.equal(textOf(await callTool(server, "jobs.quiet", {})), "quiet");
    });

    test("only for a client that declares tasks", async () => {
        assert.equal(textOf(await callTool(server, "jobs.always", {})), "done");
        assert.equal(textOf(await callTool(server, "jobs.unmarked", { ms: 500 })), "done");
        const error = assertRpcError(await callTool(server, "jobs.required", {}), 400, undeclared, 1);
        assert.deepEqual(error.data.requiredCapabilities, { extensions: { [metaKey("tasks")]: {} } });
    });

    test("never in an older version of the protocol, nor at /jsonrpc", async () => {
        const { headers } = await initialize(server, "2025-11-25");
        const session = { "Mcp-Session-Id": headers.get("mcp-session-id") };
        const of = (name) => legacy(server, "tools/call", { name, arguments: {} }, { headers: session });
        assert.equal(textOf(await of("jobs.always")), "done");
        assert.match((await of("jobs.required")).json.error.message, /task/);
        assert.equal((await rpc(server, { method: "jobs.required", id: 1 })).json.result, "done");
    });

    test("only if its arguments are right", async () => {
        assertToolError(await begin("jobs.always", { ms: "long" }), /ms/);
        assertToolError(await begin("jobs.required", { other: 1 }), /other/);
    });
});

suite("a task", { concurrency: true }, () => {
    test("has an id of 256 random bits, times, and a life", async () => {
        const { json } = await begin("jobs.always", { ms: 100 });
        const { taskId, status, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs } = json.result;
        assert.match(taskId, /^[0-9a-f]{68}$/);
        assert.equal(status, "working");
        assert.equal(new Date(createdAt).toISOString(), createdAt);
        assert.ok(lastUpdatedAt >= createdAt);
        assert.deepEqual([ttlMs, pollIntervalMs], [3_600_000, 1000]);
        assert.deepEqual(
            ["task", "result", "error", "inputRequests", "requestState"].filter((k) => k in json.result),
            [],
        );
    });

    test("ends with what a plain call would have returned", async () => {
        const plain = await callTool(server, "jobs.always", { text: "same" });
        const done = await untilStatus(await taskOf("jobs.always", { text: "same" }), "completed");
        assert.deepEqual(done.result, plain.json.result);
        const refused = await untilStatus(await taskOf("jobs.says_no"), "completed");
        assert.equal(refused.result.isError, true);
    });

    test("whose method did not run to its end has failed", async () => {
        const { error, statusMessage, result } = await untilStatus(await taskOf("jobs.dies"), "failed");
        assert.equal(error.code, -32603);
        assert.match(error.message, /ended unexpectedly/);
        assert.equal(statusMessage, error.message);
        assert.equal(result, undefined);
    });

    test("tells its progress", async () => {
        const taskId = await taskOf("jobs.always", { ms: long });
        await eventually(async () => (await get(taskId)).json.result.statusMessage === "one part (1 of 4)", "progress");
        await cancel(taskId);
    });

    test("is cancelled, down to its worker, and stays so", async () => {
        const own = await startJobs({ config: { loops: 1, plugins: { workers: 1 } } });
        try {
            const taskId = await taskOf("jobs.always", { ms: long }, {}, own);
            const ack = await cancel(taskId, {}, own);
            assert.deepEqual(Object.keys(ack.json.result).sort(), ["_meta", "resultType"]);
            await assertCancelled(taskId, own);
            assert.equal((await cancel(taskId, {}, own)).json.result.resultType, "complete");
            // There is one worker: the next call runs because the first one has left it.
            const next = await taskOf("jobs.always", { text: "next" }, {}, own);
            await untilStatus(next, "completed", {}, own);
            assert.equal((await get(taskId, {}, own)).json.result.status, "cancelled");
        } finally {
            await own.stop();
        }
    });

    test("is in the audit: its creation, its answers, its cancel and its end", async () => {
        const accept = { action: "accept", content: { n: 1 } };
        const taskId = await taskOf("jobs.asks");
        const { inputRequests } = await untilStatus(taskId, "input_required");
        await update(taskId, { [Object.keys(inputRequests)[0]]: accept });
        await cancel(taskId);
        await cancel(taskId);
        const done = await taskOf("jobs.always");
        await untilStatus(done, "completed");
        const recorded = (id) =>
            readAudit(auditFile)
                .split("\n")
                .filter((line) => line.includes('"kind":"task"'))
                .map((line) => JSON.parse(line))
                .filter(({ detail }) => detail === id.slice(0, 10));
        const isWhole = () => recorded(done).length === 2 && recorded(taskId).length === 4;
        await eventually(isWhole, "the records of both tasks", 10_000);
        // The request that cancels and the call that ends may be on two loops.
        assert.deepEqual(
            recorded(taskId)
                .map(({ outcome }) => outcome)
                .sort(),
            ["answered", "cancel", "cancelled", "created"],
        );
        assert.deepEqual(
            recorded(done).map(({ method, caller, door, outcome }) => [method, caller, door, outcome]),
            [
                ["jobs.always", "anonymous", "mcp", "created"],
                ["jobs.always", "anonymous", "mcp", "completed"],
            ],
        );
        assert.equal(readAudit(auditFile).includes(taskId), false);
    });

    test("goes on without the connection that began it", async () => {
        const taskId = await taskOf("jobs.always", { ms: 300 }, { headers: { Connection: "close" } });
        await untilStatus(taskId, "completed");
    });

    test("asks in rounds, and no key is used twice", async () => {
        const taskId = await taskOf("jobs.asks");
        const first = await untilStatus(taskId, "input_required");
        const [key] = Object.keys(first.inputRequests);
        assert.equal(first.inputRequests[key].method, "elicitation/create");
        const accept = (n) => ({ action: "accept", content: { n } });
        assertRpcError(await update(taskId, { [key]: accept("x") }), 200, unknown, 1);
        assertRpcError(await update(taskId, "x"), 200, unknown, 1);
        assert.equal((await update(taskId, { nothing: { ignored: true } })).json.result.resultType, "complete");
        assert.equal((await get(taskId)).json.result.status, "input_required");
        await update(taskId, { [key]: accept(30) });
        let second;
        await eventually(async () => {
            second = (await get(taskId)).json.result;
            return second.inputRequests && !(key in second.inputRequests);
        }, "the second question");
        const [other] = Object.keys(second.inputRequests);
        await update(taskId, { [key]: accept(1000), [other]: accept(12) });
        const done = await untilStatus(taskId, "completed");
        assert.equal(done.result.content[0].text, "42");
    });

    test("is not asked what its client did not declare", async () => {
        const meta = { [metaKey("clientCapabilities")]: { extensions: tasks.extensions } };
        const { json } = await callTool(server, "jobs.asks", {}, { meta });
        const { error } = await untilStatus(json.result.taskId, "failed");
        assert.equal(error.code, undeclared);
    });

    test("is announced to those who listen to it", async () => {
        const taskId = await taskOf("jobs.asks");
        await untilStatus(taskId, "input_required");
        const named = { notifications: { taskIds: [taskId, "00".repeat(33), 5, taskId] } };
        const stream = await EventStream.open(server, "subscriptions/listen", named, withTasks());
        const acknowledged = await stream.next();
        assert.deepEqual(acknowledged.params.notifications, { taskIds: [taskId] });
        const now = await stream.next();
        assert.equal(now.method, "notifications/tasks");
        assert.equal(now.params.status, "input_required");
        assert.equal(now.params._meta[metaKey("subscriptionId")], 1);
        const read = (await get(taskId)).json.result;
        assert.deepEqual(now.params.inputRequests, read.inputRequests);
        await cancel(taskId);
        assert.equal((await stream.next()).params.status, "cancelled");
        stream.close();
        const { status, json } = await modern(server, "subscriptions/listen", named);
        assert.deepEqual([status, json.error.code], [400, undeclared]);
    });
});

test("a result that is too large for a subscription is read with tasks/get", async () => {
    const text = "x".repeat(300_000);
    const large = await taskOf("jobs.always", { ms: 500, text });
    const other = await taskOf("jobs.asks");
    await untilStatus(other, "input_required");
    const named = { notifications: { taskIds: [large, other] } };
    const stream = await EventStream.open(server, "subscriptions/listen", named, withTasks());
    const untilEnd = async (taskId) => {
        for (;;) {
            const { params } = await stream.next();
            if (params.taskId === taskId && !["working", "input_required"].includes(params.status)) return params;
        }
    };
    const { status, result } = await untilEnd(large);
    assert.deepEqual([status, result], ["completed", undefined]);
    assert.equal((await get(large)).json.result.result.content[0].text, text);
    await cancel(other);
    assert.equal((await untilEnd(other)).status, "cancelled", "the subscription goes on");
    stream.close();
});

suite("the methods of tasks", { concurrency: true }, () => {
    test("need the declaration, before the id is looked up", async () => {
        for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
            assertRpcError(await modern(server, method, { taskId: "x", inputResponses: {} }), 400, undeclared, 1);
        }
    });

    test("are three", async () => {
        for (const method of ["tasks/list", "tasks/result"]) {
            assertRpcError(await modern(server, method, {}, withTasks()), 404, -32601, 1);
        }
    });

    test("compare the header with the id", async () => {
        const taskId = await taskOf("jobs.always");
        assertRpcError(await get(taskId, { headers: { "Mcp-Name": "other" } }), 400, -32020, 1);
        assertRpcError(await get(taskId, { headers: { "Mcp-Name": undefined } }), 400, -32020, 1);
        assertRpcError(await modern(server, "tasks/get", {}, withTasks()), 200, unknown, 1);
    });
});

suite("the client of the extension", { concurrency: true }, () => {
    const openSession = (onInputRequest) => openTaskSession(server, onInputRequest);

    async function using(onInputRequest, run) {
        const { client, session } = await openSession(onInputRequest);
        try {
            await run(session);
        } finally {
            await session.close();
            await client.close();
        }
    }

    test("gets the results of tasks and of plain calls", () =>
        using(undefined, async (session) => {
            const long = await session.callTool("jobs.always", { ms: 300, text: "long" });
            assert.equal(long.kind, "task");
            const { outcome } = await long.settle();
            assert.equal(resultFromTaskOutcome(outcome).content[0].text, "long");
            const short = await session.callTool("jobs.never", { text: "short" });
            assert.equal(short.kind, "immediate");
            assert.equal(resultFromTaskOutcome((await short.settle()).outcome).content[0].text, "short");
        }));

    test("gets the reason of a task that failed", () =>
        using(undefined, async (session) => {
            const execution = await session.callTool("jobs.dies", {});
            const { outcome } = await execution.settle();
            assert.throws(() => resultFromTaskOutcome(outcome), /ended unexpectedly/);
        }));

    test("answers questions of a task", () => {
        let n = 20;
        const answer = () => Promise.resolve({ action: "accept", content: { n: n++ } });
        return using(answer, async (session) => {
            const { outcome } = await (await session.callTool("jobs.asks", {})).settle();
            assert.equal(resultFromTaskOutcome(outcome).content[0].text, "41");
        });
    });

    test("cancels a task", () =>
        using(undefined, async (session) => {
            const execution = await session.callTool("jobs.always", { ms: long });
            await execution.cancel();
            await assertCancelled(execution.handle.taskId);
        }));

    test("takes a task up again in another session", async () => {
        // Its session would cancel the task at its end: the first client just disconnects.
        const { client, session } = await openSession();
        const execution = await session.callTool("jobs.always", { ms: 500, text: "later" });
        const reference = execution.serializeReference();
        await client.close();
        await using(undefined, async (other) => {
            const { outcome } = await (await other.resumeTask(reference)).settle();
            assert.equal(resultFromTaskOutcome(outcome).content[0].text, "later");
        });
    });
});

test("an operator lists, reads and cancels the tasks of all callers", async () => {
    const run = async (...words) => {
        const { code, stdout, stderr } = await runCauseway(["task", ...words, "--config", server.config]);
        return { code, stdout, stderr };
    };
    const taskId = await taskOf("jobs.always", { ms: long, text: "hush" });
    const { stdout } = await run("list", "--json");
    const listed = JSON.parse(stdout).find(({ id }) => id === taskId);
    assert.deepEqual([listed.status, listed.tool, listed.method], ["working", "jobs.always", "jobs.always"]);
    const table = (await run("list")).stdout.split("\n").map((row) => row.trim().split(/\s{2,}/));
    assert.deepEqual(table[0], ["ID", "STATUS", "TOOL", "CALLER", "NODE", "CREATED"]);
    const row = table.find(([id]) => id === taskId);
    assert.deepEqual(row.slice(1), ["working", "jobs.always", listed.caller, listed.node, listed.created]);
    const shown = await run("show", taskId);
    const { id, created, updated, expires } = JSON.parse(shown.stdout);
    assert.equal(id, taskId);
    for (const date of [created, updated, expires]) assert.equal(new Date(date).toISOString(), date);
    assert.doesNotMatch(stdout + shown.stdout, /hush/);
    assert.match((await run("cancel", taskId)).stdout, /is cancelled/);
    await assertCancelled(taskId);
    assert.match((await run("cancel", taskId)).stdout, /has ended already/);
    const none = await run("show", "0".repeat(68));
    assert.notEqual(none.code, 0);
    assert.match(none.stderr, /no task has this id/);
});

test("a task of one caller does not exist for another", async () => {
    const own = await startAccounts({ plugins: [] });
    try {
        compilePlugin(own.plugins, "jobs", source);
        const alice = { headers: basic("alice", "s3cret") };
        const bob = { headers: basic("bob", "b0b") };
        await eventually(async () => {
            const { json } = await begin("jobs.always", {}, alice, own);
            return json.result?.resultType === "task";
        }, "a task");
        const taskId = await taskOf("jobs.asks", {}, alice, own);
        await untilStatus(taskId, "input_required", alice, own);
        const nothing = "0".repeat(68);
        const bytes = async (method, id, as) => {
            const { status, text } = await modern(own, method, { taskId: id, inputResponses: {} }, withTasks(as));
            return `${status} ${text.replaceAll(id, "ID")}`;
        };
        for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
            const wanted = await bytes(method, nothing, alice);
            assert.match(wanted, /-32602/);
            assert.equal(await bytes(method, taskId, bob), wanted);
            assert.equal(await bytes(method, taskId, {}), wanted);
        }
        const named = { notifications: { taskIds: [taskId] } };
        const stream = await EventStream.open(own, "subscriptions/listen", named, withTasks(bob));
        assert.deepEqual((await stream.next()).params.notifications, {});
        stream.close();
        assert.equal((await get(taskId, alice, own)).json.result.status, "input_required");
        // A right that is taken away ends the use of a task.
        const secret = await taskOf("jobs.secret", { ms: 0 }, alice, own);
        await untilStatus(secret, "completed", alice, own);
        await own.cli("account", "revoke", "alice", "editor");
        await eventually(async () => (await get(secret, alice, own)).json.error?.code === unknown, "no task");
        assert.equal(await bytes("tasks/get", secret, alice), await bytes("tasks/get", nothing, alice));
    } finally {
        await own.stop();
    }
});

suite("a full table", { concurrency: true }, () => {
    test("runs what may be plain, and refuses what may not", { skip: oneReplica }, async () => {
        const own = await startJobs({ tasks: { max_per_caller: 2 } });
        try {
            const kept = [await taskOf("jobs.always", {}, {}, own), await taskOf("jobs.always", {}, {}, own)];
            const plain = await begin("jobs.always", { text: "plain" }, {}, own);
            assert.equal(plain.json.result.content[0].text, "plain");
            const slow = await begin("jobs.unmarked", { ms: 500 }, {}, own);
            assert.equal(slow.json.result.content[0].text, "done");
            assertToolError(await begin("jobs.required", {}, {}, own), /Too many tasks/);
            for (const id of kept) {
                await untilStatus(id, "completed", {}, own);
            }
        } finally {
            await own.stop();
        }
    });

    test("counts arguments for the task and for its call, while it runs", { skip: oneReplica }, async () => {
        const own = await startJobs({ tasks: { max_size_per_caller: "1MB" } });
        try {
            const args = { ms: 25_000, text: "x".repeat(400_000) };
            const taskId = await taskOf("jobs.required", args, {}, own);
            assertToolError(await begin("jobs.required", args, {}, own), /Too many tasks/);
            await cancel(taskId, {}, own);
            const hasRoom = async () => (await begin("jobs.required", args, {}, own)).json.result.resultType === "task";
            await eventually(hasRoom, "room for another task");
        } finally {
            await own.stop();
        }
    });

    test("keeps arguments as text", { skip: slowness > 1 && "a sanitizer keeps what was freed" }, async () => {
        const own = await startJobs({ config: { loops: 1 } });
        try {
            const list = Array.from({ length: 200_000 }, () => []);
            await taskOf("jobs.always", { ms: 25_000, list }, {}, own);
            const before = residentKb(own.pid);
            for (let i = 0; i < 10; i++) await taskOf("jobs.always", { ms: 25_000, list }, {}, own);
            const grown = residentKb(own.pid) - before;
            assert.ok(grown < 10 * 4 * 600, `${grown} KB for 10 times 600 KB`);
        } finally {
            await own.stop();
        }
    });

    test("keeps no result that is larger than its caller's share", async () => {
        const own = await startJobs({ tasks: { max_size_per_caller: "128KB" } });
        try {
            const taskId = await taskOf("jobs.always", { text: "x".repeat(50_000) }, {}, own);
            const { error } = await untilStatus(taskId, "failed", {}, own);
            assert.match(error.message, /too large/);
        } finally {
            await own.stop();
        }
    });
});

test("a task is gone when its time is over, and its call with it", async () => {
    const own = await startJobs({ tasks: { ttl: "1s" } });
    try {
        const taskId = await taskOf("jobs.always", { ms: long }, {}, own);
        await eventually(async () => (await get(taskId, {}, own)).json.error?.code === unknown, "the end", 10_000);
        // A busy machine may need longer than the time of one task for a new worker.
        const completes = async () => {
            const next = await taskOf("jobs.always", {}, {}, own);
            const isOver = async () => (await get(next, {}, own)).json.result?.status !== "working";
            await eventually(isOver, "its end", 10_000);
            return (await get(next, {}, own)).json.result?.status === "completed";
        };
        await eventually(completes, "a task that completes");
    } finally {
        await own.stop();
    }
});

test("a server that stops does not wait for its tasks", async () => {
    // Longer than stop() has patience.
    const own = await startJobs({ config: { timeouts: { drain: "20m" } } });
    const ids = [];
    for (let i = 0; i < 3; i++) {
        ids.push(await taskOf("jobs.always", { ms: long }, {}, own));
    }
    ids.push(await taskOf("jobs.asks", {}, {}, own));
    assert.equal(new Set(ids).size, 4);
    await own.stop();
});

test("tasks can be turned off", async () => {
    const own = await startJobs({ tasks: { enabled: false } });
    try {
        const { json } = await begin("jobs.always", { text: "plain" }, {}, own);
        assert.equal(json.result.content[0].text, "plain");
        assert.match((await begin("jobs.required", {}, {}, own)).json.error.message, /task/);
        assertRpcError(await get("x", {}, own), 404, -32601, 1);
        const discovered = await modern(own, "server/discover");
        assert.equal("extensions" in discovered.json.result.capabilities, false);
    } finally {
        await own.stop();
    }
});
