// Jobs of a service (sources[].jobs): what is removed, and the ceilings.
import assert from "node:assert/strict";
import http from "node:http";
import { after, suite, test } from "node:test";
import { startBridge, toolRequest, untilTool } from "./support/mcp.mjs";
import { startScript } from "./support/mcp-script.mjs";
import { connect } from "./support/raw.mjs";
import { eventually } from "./support/server.mjs";
import { writeOpenRpc } from "./support/service.mjs";
import { beginTask, cancelTask, getTask, taskOf, untilStatus, withTasks } from "./support/tasks.mjs";

// A service with jobs. `holds` are methods whose responses wait for release(); `most` counts polls at once.
async function startJobs() {
    const service = { calls: [], holds: new Set(), held: [], n: 0, polls: 0, most: 0, status: "active" };
    const results = {
        "job.start": () => `job-${(service.n += 1)}`,
        "job.status": () => ({ status: service.status }),
        "job.remove": () => true,
    };
    service.release = () => {
        service.holds.clear();
        service.held.splice(0).forEach((answer) => answer());
    };
    const server = http.createServer(async (request, response) => {
        let body = "";
        for await (const piece of request) body += piece;
        const { id, method, params } = JSON.parse(body);
        service.calls.push({ method, params });
        const isPoll = method === "job.status";
        service.polls += isPoll ? 1 : 0;
        service.most = Math.max(service.most, service.polls);
        const answer = () => {
            service.polls -= isPoll ? 1 : 0;
            response.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method]() }));
        };
        if (service.holds.has(method)) service.held.push(answer);
        else answer();
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    after(() => {
        server.closeAllConnections();
        server.close();
    });
    service.seen = (name) => service.calls.filter(({ method }) => method === name);
    service.url = `http://127.0.0.1:${server.address().port}/rpc`;
    return service;
}

const method = (name) => ({
    name,
    summary: name,
    params: [{ name: "of", schema: {} }],
    result: { name: "r", schema: {} },
});
const document = { openrpc: "1.3.2", info: { title: "jobs", version: "1" }, methods: [method("job.start")] };
const rule = {
    methods: ["job.start"],
    poll: { method: "job.status", params: ["$job"] },
    status: "/status",
    done: ["complete"],
    cancel: { method: "job.remove", params: ["$job"] },
    interval: "100ms",
};

// So many calls, pipelined on a few connections, and all that is returned.
async function sendAll(server, n, connections = 16) {
    const request = toolRequest("job.start", {}, withTasks());
    const port = Number(new URL(server.url).port);
    const parts = Array.from({ length: connections }, (_, i) => Math.floor((n + i) / connections));
    const send = (count) =>
        new Promise((resolve, reject) => {
            const socket = connect(port);
            const text = [];
            socket.on("error", reject);
            socket.on("data", (data) => text.push(data));
            socket.on("end", () => {
                socket.destroy();
                resolve(Buffer.concat(text).toString("latin1"));
            });
            socket.write(request.repeat(count - 1) + request.replace("\r\n", "\r\nConnection: close\r\n"));
        });
    return (await Promise.all(parts.map(send))).join("");
}

// `others` are services with the same methods, whose names begin with other0, other1, …
async function start(t, { more = {}, source = {}, limits = {}, others = [] } = {}) {
    const service = await startJobs();
    service.others = others;
    const sources = [service, ...others].map(({ url }, i) => ({
        name: i ? `other${i - 1}` : "jobs",
        url,
        ...(i ? { prefix: `other${i - 1}.` } : {}),
        openrpc: writeOpenRpc(document),
        methods: [{ method: "job.start", task: "always" }],
        jobs: [{ ...rule, ...more }],
        ...source,
    }));
    const server = await startBridge({ plugins: [], config: { loops: 1, sources, mcp: { tasks: limits } } });
    t.after(() => server.stop());
    await untilTool(server, "job.start");
    return { service, server };
}

suite("a job", { concurrency: true }, () => {
    test("whose task is cancelled before its id is known is removed when the id arrives", async (t) => {
        const { service, server } = await start(t);
        service.holds.add("job.start");
        const taskId = await taskOf(server, "job.start", {});
        await eventually(() => service.held.length === 1, "the service has the call");
        await cancelTask(server, taskId);
        await untilStatus(server, taskId, "cancelled");
        assert.equal(service.seen("job.remove").length, 0);
        service.release();
        await eventually(() => service.seen("job.remove").length === 1, "the job is removed");
        assert.deepEqual(service.seen("job.remove")[0].params, ["job-1"]);
        assert.equal(service.seen("job.status").length, 0);
    });

    test("whose client leaves before its id is known is removed too", async (t) => {
        const { service, server } = await start(t, { source: { methods: ["job.start"] } });
        service.holds.add("job.start");
        const abort = new AbortController();
        const call = beginTask(server, "job.start", {}, { fetch: { signal: abort.signal } });
        await eventually(() => service.held.length === 1, "the service has the call");
        abort.abort();
        await assert.rejects(call);
        await server.until(() => /status=499/.test(server.stderr), "the server has noticed");
        service.release();
        await eventually(() => service.seen("job.remove").length === 1, "the job is removed");
        assert.deepEqual(service.seen("job.remove")[0].params, ["job-1"]);
    });

    test("whose call is over the ceiling of tasks is not followed: the result is its id", async (t) => {
        const { service, server } = await start(t, { limits: { max: 2 } });
        for (let i = 0; i < 2; i++) await taskOf(server, "job.start", {});
        const { json } = await beginTask(server, "job.start", {});
        assert.equal(json.result.resultType, "complete");
        const { text } = json.result.content[0];
        assert.match(text, /^job-[123]$/);
        await eventually(() => service.seen("job.status").length > 4, "the others are followed");
        assert.ok(service.seen("job.status").every(({ params }) => params[0] !== text));
    });

    test("waits for its turn: a source has at most 16 polls at once", async (t) => {
        const { service, server } = await start(t, { source: { connections: 128, timeout: "10m" } });
        service.holds.add("job.status");
        const ids = await Promise.all(Array.from({ length: 40 }, () => taskOf(server, "job.start", {})));
        await eventually(() => service.held.length === 16, "16 polls");
        // Calls have places of their own.
        await taskOf(server, "job.start", {});
        assert.equal(service.most, 16);
        service.status = "complete";
        service.release();
        for (const id of ids) await untilStatus(server, id, "completed");
        assert.equal(service.most, 16);
    });

    test("that waits for its turn gets the place of one whose task is cancelled", async (t) => {
        // One poll at once, and no call that cancels a job.
        const { service, server } = await start(t, {
            more: { cancel: undefined },
            source: { connections: 4, timeout: "10m" },
            others: [await startJobs()],
        });
        service.holds.add("job.status");
        const first = await taskOf(server, "job.start", {});
        await eventually(() => service.held.length === 1, "the poll of the first job");
        service.holds.clear();
        service.status = "complete";
        const second = await taskOf(server, "job.start", {});
        // A job of another service, with the same interval and begun later: the second is due before it is polled.
        const [clock] = service.others;
        await taskOf(server, "other0.job.start", {});
        await eventually(() => clock.seen("job.status").length > 0, "a poll of the other service");
        await cancelTask(server, first);
        await untilStatus(server, first, "cancelled");
        await untilStatus(server, second, "completed");
    });

    // A loop has 10,000 calls, those that are jobs included, and one caller three quarters of them.
    test("counts as a running call: what is over the ceiling is refused, and no job is lost", async (t) => {
        const limits = { max: 20_000, max_per_caller: 20_000, ttl: "10m" };
        const source = { methods: ["job.start"], connections: 32 };
        const { service, server } = await start(t, { limits, source, more: { interval: "1m" } });
        const n = 7_600;
        const bytes = await sendAll(server, n);
        const ids = [...bytes.matchAll(/"taskId":"([0-9a-f]+)"/g)].map(([, id]) => id);
        const refused = bytes.split("Too many calls are running. Try again").length - 1;
        assert.equal(ids.length, 7_500);
        assert.equal(refused, n - ids.length);
        assert.equal(service.seen("job.start").length, ids.length, "a call that is refused begins no job");
        for (const id of ids.filter((_, i) => i % 500 === 0)) {
            assert.equal((await getTask(server, id)).json.result.status, "working");
        }
    });
});

test("a task of an MCP server whose id is too long fails with the reason", async (t) => {
    const upstream = await startScript({ era: "modern" });
    const sources = [{ name: "srv", dialect: "mcp", methods: ["*"], url: upstream.url }];
    const server = await startBridge({ plugins: [], config: { sources } });
    t.after(() => server.stop());
    await untilTool(server, "echo");
    const at = new Date().toISOString();
    upstream.on["tools/call"] = ({ reply }) =>
        reply({
            resultType: "task",
            taskId: "x".repeat(300),
            status: "working",
            createdAt: at,
            lastUpdatedAt: at,
            ttlMs: null,
        });
    const { text } = await beginTask(server, "echo", {});
    const found = /"taskId":"([0-9a-f]+)"/.exec(text);
    const { error } = found ? await untilStatus(server, found[1], "failed") : JSON.parse(text);
    assert.match(error.message, /a task whose id is too long/);
});
