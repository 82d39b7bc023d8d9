// 1,000 clients ask for a list of 645 KB at once and read it slowly, while a healthy client makes calls. nginx sends the
// same bytes from a file to the same readers, while the healthy client fetches a small response from it.
//
// The readers are a process of their own with the lowest priority, so that cores are not the contest. They connect from
// 127.0.0.2, the healthy client from 127.0.0.1.
import path from "node:path";
import { callFile, callOf, getFile, list, message, pluginFolder } from "../bridge/bridge.mjs";
import { startConfigured, tryCall, writeRequest } from "../bridge/bridge.mjs";
import { build, cpuNs, median, Process, program, rssBytes, runLoad, sleep, startNginxFiles } from "./servers.mjs";

const rate = 200;
const connections = 4;
const most = 2;
const tools = 890; // 645 KB

async function startOurs() {
    const echo = path.join(build, "tests", "plugins", "echo.so");
    const many = path.join(build, "bench", "catalogue", "many0.so");
    const plugins = { directory: pluginFolder(echo, many), load_timeout: "60s" };
    const server = await startConfigured({ plugins, mcp: { page_size: tools } });
    await server.said(/catalogue published tools=1\d{4} /);
    await tryCall(server, "test.echo");
    return server;
}

async function fetchText(server, request) {
    const answer = await fetch(`http://${server.address}/mcp`, { method: "POST", ...request });
    return await answer.text();
}

// The healthy client begins first, so that the burst of connections counts.
async function measure({ server, large, small }, { readers, bytes, seconds }) {
    const args = [server.address, connections, seconds, rate, small, "walk across"];
    const healthy = runLoad("load", args, { group: "bridge" });
    await sleep(500);
    const before = cpuNs(server);
    const crowd = new Process("load", program("readers"), [server.address, readers, large, bytes].map(String));
    let rss = 0;
    const watching = setInterval(() => (rss = Math.max(rss, rssBytes(server))), 500);
    const { p50, p99, max, failed } = await healthy;
    clearInterval(watching);
    const cpuMs = (cpuNs(server) - before) / 1e6;
    crowd.child.stdin.end();
    const read = JSON.parse((await crowd.finish()).at(-1));
    await sleep(500);
    return { p50, p99, max, failed, rss, cpuMs, ...read };
}

const ms = (us) => `${(us / 1000).toFixed(2)} ms`;

async function runRounds(sides, { rounds, say, ...how }) {
    const names = Object.keys(sides);
    const runs = Object.fromEntries(names.map((name) => [name, []]));
    for (let round = 0; round < rounds; round += 1) {
        for (const name of round % 2 ? names.toReversed() : names) {
            runs[name].push(await measure(sides[name], how));
        }
        const shown = names.map((name) => {
            const { p50, p99, max, rss, cpuMs } = runs[name].at(-1);
            const used = `${Math.round(cpuMs)} ms of CPU, ${rss >> 20} MB`;
            return `${name} p50 ${ms(p50)}, p99 ${ms(p99)}, max ${ms(max)}, ${used}`;
        });
        say(`round ${round + 1}: ${shown.join("; ")}`);
    }
    return runs;
}

const middle = (runs) =>
    Object.fromEntries(Object.keys(runs[0]).map((name) => [name, median(runs.map((run) => run[name]))]));

export async function run({ quick, say }) {
    const how = { readers: quick ? 200 : 1000, bytes: 8192, seconds: quick ? 3 : 8, rounds: quick ? 2 : 7 };
    const server = await startOurs();
    const body = await fetchText(server, list);
    const call = await fetchText(server, callOf("test.echo", { message }));
    const peer = await startNginxFiles({ "list.json": body, "call.json": call });
    const runs = await runRounds(
        {
            ours: { server, large: writeRequest("POST", "/mcp", list), small: callFile("test.echo") },
            nginx: { server: peer, large: getFile("/list.json"), small: getFile("/call.json") },
        },
        { ...how, say },
    );
    await server.stop();
    await peer.stop("SIGQUIT");
    const [ours, nginx] = [middle(runs.ours), middle(runs.nginx)];
    const failed = runs.ours.reduce((n, one) => n + one.failed, 0);
    const ratio = ours.p99 / nginx.p99;
    return {
        ...how,
        size: body.length,
        rate,
        ours,
        nginx,
        ratios: runs.ours.map(({ p99 }, i) => p99 / runs.nginx[i].p99),
        figures: [
            {
                name: `${how.readers.toLocaleString("en")} slow readers of a large list: healthy p99, times nginx`,
                target: `≤ ${most} ×, none fails`,
                shown: `${ratio.toFixed(2)} × (${ms(ours.p99)}, ${ms(nginx.p99)}), ${failed} failed`,
                ok: ratio <= most && failed === 0,
            },
        ],
    };
}
