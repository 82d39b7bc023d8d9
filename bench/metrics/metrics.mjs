// The cost of metrics: counting one call, and writing one scrape (the program of bench/metrics); and
// how long scrapes hold the event loop of a server.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { listTools, permissions, startConfigured, write } from "../bridge/bridge.mjs";
import { build, Process, sleep } from "../http/servers.mjs";

const program = path.join(build, "bench", "metrics", "bench_metrics");
const callTarget = 100; // ns
const scrapeTarget = 5; // ms
const holdTarget = 200; // µs
const names = { sources: 50, tools: 4 }; // tools of each source

// ---- the loop of a server ----

// A service that has a result for every method.
async function startService() {
    const server = http.createServer(async (request, response) => {
        const { id } = JSON.parse((await request.toArray()).join(""));
        response.writeHead(200, { "Content-Type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result: "done" }));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return server;
}

function describe() {
    const methods = Array.from({ length: names.tools }, (_, i) => ({
        name: `example.content.tool${i}`,
        params: [],
        result: { name: "result", schema: { type: "string" } },
    }));
    return write("openrpc.json", JSON.stringify({ openrpc: "1.3.2", info: { title: "t", version: "1" }, methods }));
}

function startServer(service) {
    const openrpc = describe();
    const url = `http://127.0.0.1:${service.address().port}/`;
    const source = (_, i) => {
        const name = `service-${i}`;
        return { name, url, openrpc, prefix: `${name}.`, methods: ["*"] };
    };
    return startConfigured({
        roles: { anonymous: [...permissions, "view metrics"] },
        sources: Array.from({ length: names.sources }, source),
    });
}

async function untilTools(server, n) {
    for (let tries = 0; (await listTools(server)).length < n; tries += 1) {
        if (tries === 600) {
            server.fail("has too few tools");
        }
        await sleep(100);
    }
}

// CPU time of the threads of a process, by their number.
function threadTimes(pid) {
    const folder = `/proc/${pid}/task`;
    const read = (task) => Number(readFileSync(`${folder}/${task}/schedstat`, "latin1").split(" ")[0]);
    return new Map(readdirSync(folder).map((task) => [task, read(task)]));
}

// A thread that a request of another kind keeps busy: the loop's.
async function findLoop(server) {
    const before = threadTimes(server.pid);
    for (let i = 0; i < 300; i += 1) {
        await (await fetch(`http://${server.address}/healthz`)).text();
    }
    const used = [...threadTimes(server.pid)].map(([task, ns]) => [task, ns - (before.get(task) ?? ns)]);
    return used.toSorted(([, a], [, b]) => b - a)[0][0];
}

// µs of the loop's thread for one scrape, and the bytes of the response.
async function measureLoop(server, loop, encoding, n) {
    let bytes = 0;
    const headers = { Accept: "application/openmetrics-text", "Accept-Encoding": encoding };
    const before = threadTimes(server.pid).get(loop);
    const agent = new http.Agent({ keepAlive: true });
    for (let i = 0; i < n; i += 1) {
        const request = http.get(`http://${server.address}/metrics`, { agent, headers });
        const [response] = await once(request, "response");
        bytes = Buffer.concat(await response.toArray()).length;
    }
    agent.destroy();
    return { us: (threadTimes(server.pid).get(loop) - before) / n / 1000, bytes };
}

async function measureHold(quick, say) {
    const service = await startService();
    const server = await startServer(service);
    await untilTools(server, names.sources * names.tools);
    for (const name of await listTools(server)) {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: name, params: {} });
        const headers = { "Content-Type": "application/json" };
        await (await fetch(`http://${server.address}/jsonrpc`, { method: "POST", headers, body })).text();
    }
    const loop = await findLoop(server);
    const n = quick ? 20 : 200;
    const packed = await measureLoop(server, loop, "gzip", n);
    const plain = await measureLoop(server, loop, "identity", n);
    await server.stop();
    service.closeAllConnections();
    service.close();
    say(JSON.stringify({ packed, plain }));
    return { packed, plain };
}

// ---- all ----

export async function run({ quick, say }) {
    const target = path.relative(build, program);
    const { status, stdout } = spawnSync("ninja", ["-C", build, "--quiet", target]);
    if (status !== 0) {
        throw new Error(`cannot build ${target}:\n${stdout}`);
    }
    const runs = [];
    for (let i = 0; i < (quick ? 1 : 5); i += 1) {
        const bench = new Process("server", program, []);
        runs.push(JSON.parse((await bench.finish(120_000)).join("\n")));
        say(JSON.stringify(runs.at(-1)));
    }
    const hold = await measureHold(quick, say);
    const worst = (name) => Math.max(...runs.map((one) => one[name]));
    return {
        runs,
        hold,
        figures: [
            {
                name: "metrics: CPU of all counts of a call",
                target: `≤ ${callTarget} ns`,
                shown: `${worst("call_ns")} ns`,
                ok: worst("call_ns") <= callTarget,
            },
            {
                name: "metrics: memory that counting calls allocates",
                target: "0 bytes",
                shown: `${worst("call_bytes")} bytes`,
                ok: worst("call_bytes") === 0,
            },
            {
                name: "metrics: CPU of a scrape of 200 tools and 50 sources",
                target: `≤ ${scrapeTarget} ms`,
                shown: `${(worst("scrape_us") / 1000).toFixed(1)} ms`,
                ok: worst("scrape_us") <= scrapeTarget * 1000,
            },
            {
                name: "metrics: CPU of an event loop for a scrape with gzip",
                target: `≤ ${holdTarget} µs`,
                shown: `${hold.packed.us.toFixed(0)} µs`,
                ok: hold.packed.us <= holdTarget,
            },
        ],
    };
}
