// Tasks of protocol version 2025-11-25 (mcp.tasks.legacy): off by default, and with the SDK and the library
// that know them.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { Client as NewClient, StreamableHTTPClientTransport as NewTransport } from "@modelcontextprotocol/client";
import {
    createTaskSessionFromClient,
    resultFromTaskOutcome,
    toolDeclarationFromMcpTool,
} from "@modelcontextprotocol/ext-tasks/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, TaskStatusNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { call, discover } from "./support/accounts.mjs";
import { assertRpcError, initialize, legacy, modern, ownName, startBridge, untilTool } from "./support/mcp.mjs";
import { scrape } from "./support/metrics.mjs";
import { compilePlugin } from "./support/plugins.mjs";
import { eventually } from "./support/server.mjs";
import { taskOf, untilStatus } from "./support/tasks.mjs";
import { oneReplica, replicaCount } from "./support/programs.mjs";

const source = `#include <causeway/plugin.h>
#include <time.h>
CW_PLUGIN("jobs", "1.0");
static void run(cw_call *call)
{
    const struct timespec step = {.tv_nsec = 5000000};
    cw_call_progress(call, 1, 2, "half");
    for (long i = 0; i < cw_arg_int(call, "ms", 0) / 5 && !cw_call_cancelled(call); i++)
        (void)nanosleep(&step, NULL);
    cw_result_text(call, "done");
}
#define JOB(name, rule) \\
    static void name(cw_call *call) { run(call); } \\
    CW_METHOD(name, "jobs." #name, .params = {{"ms", .schema = CW_JSON({"type": "integer"})}}); \\
    CW_TOOL(name, .task = rule)
JOB(never, "never");
JOB(often, "auto");
JOB(required, "required");
static void fails(cw_call *call) { cw_error(call, 7, "no"); }
CW_METHOD(fails, "jobs.fails");
CW_TOOL(fails);
static void dies(cw_call *call) { (void)call; __builtin_trap(); }
CW_METHOD(dies, "jobs.dies");
CW_TOOL(dies);
static void asks(cw_call *call)
{
    if (!cw_client_can(call, "elicitation"))
        cw_result_text(call, "no question");
    else
        cw_ask_form(call, "n", "What?", CW_JSON({"type": "object", "properties": {}}));
}
CW_METHOD(asks, "jobs.asks");
CW_TOOL(asks);
`;

async function start(tasks) {
    const config = { mcp: { tasks, tool_names: "exact" } };
    const roles = { anonymous: [discover, call, "view metrics"] };
    const server = await startBridge({ plugins: [], roles, config });
    compilePlugin(server.plugins, "jobs", source);
    await untilTool(server, "jobs.never");
    return server;
}

// Requests of one session of the version that has these tasks.
async function openSession(server, version = "2025-11-25") {
    const hello = await initialize(server, version);
    const headers = { "Mcp-Session-Id": hello.headers.get("mcp-session-id") };
    const ask = (method, params) => legacy(server, method, params, { version, headers });
    return { capabilities: hello.json.result.capabilities, ask };
}

const begin = ({ ask }, name, args = {}) => ask("tools/call", { name, arguments: args, task: { ttl: 60_000 } });

suite("tasks of 2025-11-25", () => {
    let server;
    before(async () => (server = await start({ legacy: true })));
    after(() => server?.stop());

    test("are offered to this version, and to no other", async () => {
        const session = await openSession(server);
        assert.deepEqual(session.capabilities.tasks, { cancel: {}, requests: { tools: { call: {} } } });
        const support = async (from) => {
            const { json } = await from.ask("tools/list", {});
            return Object.fromEntries(json.result.tools.map((tool) => [ownName(tool), tool.execution?.taskSupport]));
        };
        const shown = await support(session);
        assert.equal(shown["jobs.often"], "optional");
        assert.equal(shown["jobs.required"], "optional");
        assert.equal(shown["jobs.never"], undefined);
        const older = await openSession(server, "2025-06-18");
        assert.equal(older.capabilities.tasks, undefined);
        assert.deepEqual([...new Set(Object.values(await support(older)))], [undefined]);
        assert.equal((await begin(older, "jobs.often")).json.result.content[0].text, "done");
        const { json } = await modern(server, "server/discover");
        assert.equal(json.result.capabilities.tasks, undefined);
    });

    test("have the members of their version, and a result that waits", async () => {
        const session = await openSession(server);
        const { json } = await begin(session, "jobs.often", { ms: 2_000 });
        const { task } = json.result;
        delete task.statusMessage; // its first progress may come before the response
        assert.deepEqual(Object.keys(task).sort(), [
            "createdAt",
            "lastUpdatedAt",
            "pollInterval",
            "status",
            "taskId",
            "ttl",
        ]);
        assert.equal(task.status, "working");
        const { taskId } = task;
        const result = await session.ask("tasks/result", { taskId });
        assert.equal(result.json.result.content[0].text, "done");
        assert.deepEqual(result.json.result._meta["io.modelcontextprotocol/related-task"], { taskId });
        const end = (await session.ask("tasks/get", { taskId })).json.result;
        assert.equal(end.status, "completed");
        assert.equal(end.result, undefined);
        assertRpcError(await session.ask("tasks/cancel", { taskId }), 200, -32602, 1);
        assertRpcError(await session.ask("tasks/list", {}), 200, -32601, 1);
    });

    test("fail with a tool's error, and with an error of the protocol", async () => {
        const session = await openSession(server);
        const { taskId } = (await begin(session, "jobs.fails")).json.result.task;
        assert.equal((await session.ask("tasks/result", { taskId })).json.result.isError, true);
        assert.equal((await session.ask("tasks/get", { taskId })).json.result.status, "failed");
        const lost = (await begin(session, "jobs.dies")).json.result.task.taskId;
        const error = assertRpcError(await session.ask("tasks/result", { taskId: lost }), 200, -32603, 1);
        assert.match(error.message, /ended unexpectedly/);
    });

    test("are cancelled, and a waiting request learns of it", async () => {
        const session = await openSession(server);
        const { taskId } = (await begin(session, "jobs.often", { ms: 20_000 })).json.result.task;
        const received = async () => (await scrape(server)).value("causeway_mcp_messages_total");
        const before = await received();
        const waiting = session.ask("tasks/result", { taskId });
        if (replicaCount === 1) {
            await eventually(async () => (await received()) > before, "the request that waits");
        }
        const { json } = await session.ask("tasks/cancel", { taskId });
        assert.equal(json.result.status, "cancelled");
        assertRpcError(await waiting, 200, -32603, 1);
    });

    test("are of no use to others, nor in the other era", async () => {
        const session = await openSession(server);
        const wrong = (method, taskId) => session.ask(method, { taskId });
        for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
            assertRpcError(await wrong(method, "0".repeat(68)), 200, -32602, 1);
            assertRpcError(await wrong(method, 7), 200, -32602, 1);
        }
        assertRpcError(await begin(session, "jobs.never"), 200, -32601, 1);
        const id = await taskOf(server, "jobs.required", { ms: 0 });
        await untilStatus(server, id, "completed");
    });

    test("ask nothing", async () => {
        const session = await openSession(server);
        const { taskId } = (await begin(session, "jobs.asks")).json.result.task;
        assert.match((await session.ask("tasks/result", { taskId })).json.result.content[0].text, /no question/);
    });

    test("work with the SDK 1.32.2, which gets notifications", { skip: oneReplica }, async () => {
        const client = new Client({ name: "old", version: "1" }, { capabilities: { tasks: {} } });
        const told = [];
        client.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => told.push(params.status));
        await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
        try {
            // It opens the stream of its session by itself.
            const hasStream = async () => (await scrape(server)).value("causeway_streams", { kind: "get" }) > 0;
            await eventually(hasStream, "the stream for notifications");
            const seen = [];
            const stream = client.experimental.tasks.callToolStream(
                { name: "jobs.often", arguments: { ms: 1500 } },
                CallToolResultSchema,
                { task: { ttl: 60_000 } },
            );
            for await (const message of stream) seen.push(message);
            assert.equal(seen[0].type, "taskCreated");
            assert.equal(seen.at(-1).type, "result", JSON.stringify(seen.at(-1)));
            assert.equal(seen.at(-1).result.content[0].text, "done");
            await eventually(() => told.includes("completed"), "a notification of the end", 10_000);
            const plain = await client.callTool({ name: "jobs.often", arguments: {} });
            assert.equal(plain.content[0].text, "done");
        } finally {
            await client.close();
        }
    });

    test("work with ext-tasks 0.2.2", async () => {
        const client = new NewClient({ name: "v1", version: "1" }, { versionNegotiation: { mode: "legacy" } });
        await client.connect(new NewTransport(new URL(`${server.url}/mcp`)));
        const session = createTaskSessionFromClient(client, { endpointId: "test" });
        try {
            const { tools } = await client.listTools();
            const declaration = tools.find(({ name }) => name === "jobs.often");
            const execution = await session.callTool(
                "jobs.often",
                { ms: 200 },
                { declaration: toolDeclarationFromMcpTool(declaration), task: { preference: "require" } },
            );
            assert.equal(execution.kind, "task");
            const { outcome } = await execution.settle();
            assert.equal(resultFromTaskOutcome(outcome).content[0].text, "done");
        } finally {
            await session.close();
            await client.close();
        }
    });
});

test("tasks of 2025-11-25 are off by default", async (t) => {
    const server = await start({});
    t.after(() => server.stop());
    const session = await openSession(server);
    assert.equal(session.capabilities.tasks, undefined);
    assert.equal((await begin(session, "jobs.often")).json.result.content[0].text, "done");
    assertRpcError(await session.ask("tasks/get", { taskId: "x" }), 200, -32601, 1);
    assertRpcError(await session.ask("tasks/result", { taskId: "x" }), 200, -32601, 1);
});
