// What a task costs: processor time of creating one, finishing it and reading its result once, next to
// a plain call of the same method, with a database that keeps the tasks; and the memory of ten thousand
// tasks that run in a service.
import path from "node:path";
import { cpuNs, folder, median, rssBytes, sleep } from "../http/servers.mjs";
import { callOf, message, mcpRequest, startBridge } from "./bridge.mjs";
import { echoSource } from "./forward.mjs";
import { startWebSocketService } from "./websocket.mjs";

const most = { ratio: 6, bytes: 8192 };
const extension = { "io.modelcontextprotocol/tasks": {} };
const limits = { max: 100_000, max_per_caller: 100_000, max_size: "1GB", max_size_per_caller: "1GB" };
const atOnce = 50;

async function start(service, name) {
    const source = { ...echoSource(service.url), timeout: "10m", connections: 10_000 };
    source.methods = [{ method: "echo", task: "always", max_result_size: 0 }];
    return startBridge("service.echo", {
        sources: [source],
        limits: { max_calls: 1_000_000 },
        mcp: { tasks: limits },
        store: { path: path.join(folder, `${name}.db`) },
    });
}

// ---- requests ----

const withTasks = (request) => {
    const body = JSON.parse(request.body);
    body.params._meta["io.modelcontextprotocol/clientCapabilities"] = { extensions: extension };
    return { ...request, body: JSON.stringify(body) };
};
const plain = callOf("service.echo", { message });
const asTask = withTasks(plain);
const getOf = (taskId) => {
    const request = withTasks(mcpRequest("tasks/get", { taskId }));
    request.headers["Mcp-Name"] = taskId;
    return request;
};

async function ask(server, { headers, body }) {
    const answer = await fetch(`http://${server.address}/mcp`, { method: "POST", headers, body });
    const { result } = await answer.json();
    return result ?? server.fail("answers with an error");
}

async function runPlain(server) {
    const { content } = await ask(server, plain);
    if (!content) server.fail("has no result");
}

// The service answers at once, so that the first read finds the result. Another read is waste that counts.
async function runTask(server) {
    const { taskId } = await ask(server, asTask);
    for (;;) {
        const { status, result } = await ask(server, getOf(taskId));
        if (result) return;
        if (status !== "working") server.fail(`has a task that is ${status}`);
        await sleep(5);
    }
}

async function inParallel(n, work) {
    let left = n;
    const worker = async () => {
        while (left-- > 0) await work();
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
}

async function cpuOf(server, n, work) {
    const before = cpuNs(server);
    await inParallel(n, () => work(server));
    return (cpuNs(server) - before) / 1000 / n;
}

// ---- measuring ----

async function measureCost(service, { quick, say }) {
    const server = await start(service, "cost");
    const [rounds, n] = quick ? [1, 200] : [9, 2000];
    const found = { plain: [], task: [] };
    for (let round = 0; round <= rounds; round += 1) {
        const sides = [
            ["plain", runPlain],
            ["task", runTask],
        ];
        for (const [name, work] of round % 2 ? sides.reverse() : sides) {
            const us = await cpuOf(server, n, work);
            if (round > 0) found[name].push(us); // the first one warms up
        }
        say(
            `CPU: ${Object.entries(found)
                .map(([name, all]) => `${name} ${all.at(-1)?.toFixed(1)}`)
                .join(", ")} µs`,
        );
    }
    await server.stop();
    const ratio = median(found.task.map((us, i) => us / found.plain[i]));
    return { n, rounds, plainUs: median(found.plain), taskUs: median(found.task), ratio };
}

async function measureMemory(service, { quick, say }) {
    const server = await start(service, "memory");
    const n = quick ? 500 : 10_000;
    const held = withTasks(callOf("service.echo", { message: service.hold }));
    const create = async () => {
        const { taskId } = await ask(server, held);
        if (!taskId) server.fail("makes no task");
    };
    await inParallel(500, create); // the queue has room for them
    const before = rssBytes(server);
    await inParallel(n, create);
    const each = (rssBytes(server) - before) / n;
    say(`${n} running tasks: ${Math.round(each)} bytes each`);
    await server.stop();
    return { tasks: n, each };
}

export async function run(options) {
    const service = await startWebSocketService();
    const cost = await measureCost(service, options);
    const memory = await measureMemory(service, options);
    service.stop();
    const figures = [
        {
            name: "a task created, finished and read once: CPU, to a plain call",
            target: `≤ ${most.ratio} ×`,
            shown: `${cost.ratio.toFixed(2)} ×`,
            ok: cost.ratio <= most.ratio,
        },
        {
            name: `memory of a running task of a service, of ${memory.tasks.toLocaleString("en")}`,
            target: `≤ ${most.bytes.toLocaleString("en")} bytes`,
            shown: `${Math.round(memory.each).toLocaleString("en")} bytes`,
            ok: memory.each <= most.bytes,
        },
    ];
    return { cost, memory, figures };
}
