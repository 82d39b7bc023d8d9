// Tasks of MCP servers that are sources: a Causeway behind a Causeway, and the library of the extension in
// front of both. The conformance suite runs through two servers as well (tests/conformance).
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { callTool, initialize, legacy, metaKey, modern, startBridge, untilTool } from "./support/mcp.mjs";
import { startScript } from "./support/mcp-script.mjs";
import { compilePlugin } from "./support/plugins.mjs";
import { patience } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";
import { beginTask, cancelTask, getTask, openTaskSession, taskOf, untilStatus, withTasks } from "./support/tasks.mjs";

const source = `#include <causeway/plugin.h>
#include <time.h>
CW_PLUGIN("jobs", "1.0");
static void run(cw_call *call)
{
    const struct timespec step = {.tv_nsec = 5000000};
    long ms = (long)cw_arg_int(call, "ms", 0);
    cw_call_progress(call, 1, 4, "one part");
    for (long i = 0; i < ms / 5 && !cw_call_cancelled(call); i++)
        (void)nanosleep(&step, NULL);
    if (cw_call_cancelled(call))
        cw_call_log(NULL, CW_LEVEL_WARN, "ended early: %s", cw_arg_text(call, "text", ""));
    else
        cw_result_format(call, "%s", cw_arg_text(call, "text", "done"));
}
#define PARAMS .params = {{"ms", .schema = CW_JSON({"type": "integer"})}, {"text", .schema = CW_JSON({"type": "string"})}}
static void always(cw_call *call) { run(call); }
CW_METHOD(always, "jobs.always", PARAMS);
CW_TOOL(always, .task = "always");
static void required(cw_call *call) { run(call); }
CW_METHOD(required, "jobs.required", PARAMS);
CW_TOOL(required, .task = "required");
static void dies(cw_call *call) { (void)call; __builtin_trap(); }
CW_METHOD(dies, "jobs.dies");
CW_TOOL(dies, .task = "always");
static void asks(cw_call *call)
{
    const char *form = CW_JSON({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    const cw_value *first = cw_ask_form(call, "n", "The first?", form);
    const cw_value *second = cw_ask_form(call, "m", "The second?", form);
    if (first && second)
        cw_result_format(call, "%ld", (long)(cw_value_int(call, cw_value_get(cw_answer_content(first), "n"), 0)
                         + cw_value_int(call, cw_value_get(cw_answer_content(second), "n"), 0)));
}
CW_METHOD(asks, "jobs.asks");
CW_TOOL(asks, .task = "always");
`;

async function startBehind(config = {}) {
    const own = await startBridge({
        plugins: [],
        config: { mcp: { tool_names: "exact", tasks: { poll_interval: "100ms" } }, ...config },
    });
    compilePlugin(own.plugins, "jobs", source);
    await untilTool(own, "jobs.always");
    return own;
}

async function startFront(url, more = {}) {
    const sources = [{ name: "behind", dialect: "mcp", url: `${url}/mcp`, methods: ["*"], ...more }];
    const own = await startBridge({ plugins: [], config: { sources } });
    await untilTool(own, "jobs.always");
    return own;
}

const textOf = ({ json }) => json.result.content[0].text;

let behind, server;
before(async () => {
    behind = await startBehind();
    server = await startFront(behind.url);
});
after(async () => {
    await server?.stop();
    await behind?.stop();
});

suite("a task of an MCP server", { concurrency: true }, () => {
    test("is a task of ours, with another id and its progress", async () => {
        // It runs until its progress was seen.
        const taskId = await taskOf(server, "jobs.always", { ms: 600_000 });
        await eventually(
            async () => (await getTask(server, taskId)).json.result.statusMessage === "one part (1 of 4)",
            "its progress is passed on",
        );
        const { json } = await getTask(behind, taskId);
        assert.equal(json.error.code, -32602, "the server behind does not know the id");
        await cancelTask(server, taskId);
        const far = await taskOf(server, "jobs.always", { ms: 300, text: "far" });
        const { result } = await untilStatus(server, far, "completed");
        assert.equal(result.content[0].text, "far");
        assert.equal(result.resultType, "complete");
    });

    test("is followed for a client that has no tasks, which gets the result", async () => {
        assert.equal(textOf(await callTool(server, "jobs.always", { ms: 300, text: "plain" })), "plain");
        assert.equal(textOf(await callTool(server, "jobs.required", { text: "required" })), "required");
        const { headers } = await initialize(server, "2025-11-25");
        const session = { "Mcp-Session-Id": headers.get("mcp-session-id") };
        const call = { name: "jobs.required", arguments: { text: "old" } };
        assert.equal(textOf(await legacy(server, "tools/call", call, { headers: session })), "old");
    });

    test("is cancelled at the server", async () => {
        const taskId = await taskOf(server, "jobs.always", { ms: 60_000, text: "unwanted" });
        await eventually(
            async () => (await getTask(server, taskId)).json.result.statusMessage !== undefined,
            "it runs behind",
        );
        await cancelTask(server, taskId);
        await untilStatus(server, taskId, "cancelled");
        await behind.until(() => behind.stderr.includes("ended early: unwanted"), "the call ends behind");
    });

    test("that fails is failed here, with the words of the server", async () => {
        const taskId = await taskOf(server, "jobs.dies");
        const { error } = await untilStatus(server, taskId, "failed");
        assert.match(error.message, /ended unexpectedly/);
    });

    test("asks its questions here, one by one", async () => {
        const taskId = await taskOf(server, "jobs.asks");
        const { inputRequests } = await untilStatus(server, taskId, "input_required");
        await eventually(
            async () => Object.keys((await getTask(server, taskId)).json.result.inputRequests ?? {}).length === 2,
            "both questions are here",
        );
        const all = (await getTask(server, taskId)).json.result.inputRequests;
        const messages = Object.values(all).map(({ params }) => params.message);
        assert.deepEqual(messages.sort(), ["The first?", "The second?"]);
        assert.ok(
            Object.keys(inputRequests).every((key) => key in all),
            "keys stay",
        );
        const update = (inputResponses) => modern(server, "tasks/update", { taskId, inputResponses }, withTasks());
        const answer = (n) => ({ action: "accept", content: { n } });
        const [one, two] = Object.keys(all);
        await update({ [one]: answer(40) });
        const { inputRequests: left } = (await getTask(server, taskId)).json.result;
        assert.deepEqual(Object.keys(left), [two]);
        await update({ [two]: answer(1) });
        assert.equal((await untilStatus(server, taskId, "completed")).result.content[0].text, "41");
    });

    test("works with the library of the extension", async (t) => {
        const { client, session } = await openTaskSession(server, async () => ({
            action: "accept",
            content: { n: 4 },
        }));
        t.after(async () => {
            await session.close();
            await client.close();
        });
        const long = await (await session.callTool("jobs.always", { ms: 300, text: "long" })).settle();
        assert.equal(resultFromTaskOutcome(long.outcome).content[0].text, "long");
        const asked = await (await session.callTool("jobs.asks", {})).settle();
        assert.equal(resultFromTaskOutcome(asked.outcome).content[0].text, "8");
        const execution = await session.callTool("jobs.always", { ms: 60_000 });
        await execution.cancel();
        assert.equal((await getTask(server, execution.handle.taskId)).json.result.status, "cancelled");
    });
});

test("a question that the server takes back is closed, and the other one can be answered", async (t) => {
    const extensions = { [metaKey("tasks")]: {} };
    const upstream = await startScript({ era: "modern", capabilities: { extensions } });
    const form = { mode: "form", message: "?", requestedSchema: { type: "object", properties: {} } };
    const open = new Set(["first", "second"]);
    const state = (status, more = {}) => {
        const times = { createdAt: "2026-11-18T00:00:00Z", lastUpdatedAt: "2026-11-18T00:00:00Z", ttlMs: 600_000 };
        return { resultType: "complete", taskId: "far", status, ...times, pollIntervalMs: 100, ...more };
    };
    upstream.on["tools/call"] = ({ reply }) => reply(state("working", { resultType: "task" }));
    upstream.on["tasks/update"] = ({ message, reply }) => {
        for (const key of Object.keys(message.params.inputResponses)) open.delete(key);
        reply({ resultType: "complete" });
    };
    upstream.on["tasks/get"] = ({ reply }) => {
        const questions = [...open].map((key) => [key, { method: "elicitation/create", params: form }]);
        const result = { resultType: "complete", content: [{ type: "text", text: "answered" }] };
        if (open.size) reply(state("input_required", { inputRequests: Object.fromEntries(questions) }));
        else reply(state("completed", { result }));
    };
    const sources = [{ name: "far", dialect: "mcp", url: upstream.url, methods: ["*"] }];
    const front = await startBridge({ plugins: [], config: { sources } });
    t.after(() => front.stop());
    await untilTool(front, "echo");
    const taskId = await taskOf(front, "echo", {});
    const asked = async () => Object.keys((await getTask(front, taskId)).json.result.inputRequests ?? {});
    await eventually(async () => (await asked()).length === 2, "both questions");
    const before = await asked();
    open.delete("first");
    await eventually(async () => (await asked()).length === 1, "the question is closed");
    const [left] = await asked();
    const answer = (key) =>
        modern(front, "tasks/update", { taskId, inputResponses: { [key]: { action: "decline" } } }, withTasks());
    await answer(before.find((key) => key !== left));
    await answer(left);
    assert.equal((await untilStatus(front, taskId, "completed")).result.content[0].text, "answered");
});

test("a task fails when its server dies", async (t) => {
    const far = await startBehind();
    const front = await startFront(far.url, { timeout: `${patience(2_000)}ms` });
    t.after(() => front.stop());
    const taskId = await taskOf(front, "jobs.always", { ms: 60_000 });
    far.child.kill("SIGKILL");
    await far.exited;
    await eventually(async () => (await getTask(front, taskId)).json.result.status === "failed", "it fails", 60_000);
    assert.match((await getTask(front, taskId)).json.result.error.message, /cannot be asked about the job any more/);
    const { json } = await beginTask(front, "jobs.always", {});
    assert.equal(json.result.isError, true);
});
