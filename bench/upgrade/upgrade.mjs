// A server that is reloaded and replaced under load: 20 reloads and 5 upgrades with 1,000 requests a
// second and 500 streams, in both eras. Counts what fails, how long streams are away, and what they miss.
import { copyFileSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { build, countFiles, median, rssBytes, sleep } from "../http/servers.mjs";
import { pluginFolder, startBridge } from "../bridge/bridge.mjs";
import { Client, legacyCall, modernCall, newSession, Stream } from "./clients.mjs";

const rate = 1_000;
const tickMs = 10;
const plugin = (name) => path.join(build, "tests", "plugins", `${name}.so`);

// ---- load ----

class Load {
    constructor(server, sessions) {
        this.clients = { kept: [], fresh: [] };
        this.requests = [modernCall, ...sessions.map(legacyCall)];
        this.server = server;
        this.sent = 0;
        this.times = [];
        this.failures = [];
        this.pending = 0;
    }

    // An idle client, or a new one: a slow response must not delay the others.
    client(kind) {
        const all = this.clients[kind];
        let client = all.find(({ isBusy }) => !isBusy);
        if (client === undefined) {
            client = new Client(this.server, { isFresh: kind === "fresh" });
            all.push(client);
        }
        // To the end, so that connections of all are used in turn.
        all.splice(all.indexOf(client), 1);
        all.push(client);
        return client;
    }

    async request() {
        const n = this.sent++;
        const isLegacy = n % 4 >= 2;
        const request = isLegacy ? this.requests[1 + (n % (this.requests.length - 1))] : this.requests[0];
        const begin = performance.now();
        this.pending += 1;
        const failure = await this.client(n % 2 ? "fresh" : "kept").send(request);
        this.pending -= 1;
        this.times.push(performance.now() - begin);
        if (failure !== undefined) {
            this.failures.push(`${n % 2 ? "fresh" : "kept"}, ${isLegacy ? "legacy" : "modern"}: ${failure}`);
        }
    }

    // Requests are due by the clock, however slow the ones before are.
    start() {
        const begin = performance.now() - this.sent * (1_000 / rate);
        this.timer = setInterval(() => {
            const due = Math.min((performance.now() - begin) / (1_000 / rate), this.sent + rate / 10);
            while (this.sent < due) {
                this.request();
            }
        }, tickMs);
    }

    // Wait until nothing is under way.
    async pause() {
        clearInterval(this.timer);
        while (this.pending > 0) {
            await sleep(10);
        }
    }

    close() {
        Object.values(this.clients)
            .flat()
            .forEach((client) => client.close());
    }
}

async function until(check, what, timeoutMs = 30_000) {
    const deadline = performance.now() + timeoutMs;
    while (!check()) {
        if (performance.now() > deadline) {
            throw new Error(`not in time: ${what}`);
        }
        await sleep(5);
    }
}

// ---- the server ----

async function upgrade(server) {
    const before = server.current;
    process.kill(server.current, "SIGUSR2");
    await until(() => {
        const pids = [...server.stderr.matchAll(/has taken over pid=(\d+)/g)];
        server.current = Number(pids.at(-1)?.[1] ?? before);
        return server.current !== before;
    }, "a take-over");
}

// Toggle a plugin, so that the list of tools changes.
function changeTools(folder, isThere) {
    const file = path.join(folder, "faults.so");
    if (isThere) {
        copyFileSync(plugin("faults"), `${file}.part`);
        renameSync(`${file}.part`, file);
    } else {
        rmSync(file);
    }
}

const isGone = (pid) => {
    try {
        process.kill(pid, 0);
        return false;
    } catch {
        return true;
    }
};

// After some seconds of load, with all streams open and no request under way: descriptors of the server, those of
// all with its plugin workers, and the memory of all.
async function weigh(server, load) {
    await sleep(3_000);
    await load.pause();
    load.close();
    await sleep(1_000);
    const one = { pid: server.current };
    const own = readdirSync(`/proc/${one.pid}/fd`).length;
    return { files: own, all: countFiles(one), bytes: rssBytes(one) };
}

// ---- the run ----

async function openStreams(server, n, state) {
    const streams = [];
    for (let i = 0; i < n; i += 1) {
        const session = i % 2 ? await newSession(server) : undefined;
        const onBack = (ms) => state.away.push(ms);
        const onFailure = (text) => state.failures.push(text);
        streams.push(new Stream(server, { session, onBack, onFailure }));
    }
    await until(() => streams.every(({ isOpen }) => isOpen), "all streams are open");
    return streams;
}

async function runCycle(server, streams, state, { isThere, upgrades }) {
    const change = performance.now();
    changeTools(server.folder, isThere);
    process.kill(server.current, "SIGHUP");
    await sleep(400);
    if (upgrades) {
        await upgrade(server);
        await until(() => streams.every(({ isOpen, opened }) => isOpen && opened > change), "all streams are back");
    }
    await until(() => streams.every((one) => one.knows(change)), "a change is known", 5_000).catch(() => {
        state.missed += streams.filter((one) => !one.knows(change)).length;
    });
    await sleep(400);
}

export async function run({ quick, say }) {
    const [reloads, every, n] = quick ? [4, 2, 50] : [20, 4, 500];
    const folder = pluginFolder(plugin("echo"));
    // One worker for each loop, so that as many are there before as after.
    const server = await startBridge("test.echo", { loops: 2, plugins: { directory: folder, workers: 1 } });
    Object.assign(server, { folder, current: server.pid });
    const pids = [server.pid];
    process.on("exit", () => pids.forEach((pid) => isGone(pid) || process.kill(pid, "SIGKILL")));
    const state = { away: [], failures: [], missed: 0 };
    const sessions = await Promise.all(Array.from({ length: 20 }, () => newSession(server)));
    const load = new Load(server, sessions);
    const streams = await openStreams(server, n, state);
    load.start();
    const before = await weigh(server, load);
    load.start();
    const begin = performance.now();
    const firstSent = load.sent;
    for (let i = 1; i <= reloads; i += 1) {
        await runCycle(server, streams, state, { isThere: i % 2 === 1, upgrades: i % every === 0 });
        pids.push(server.current);
    }
    const perSecond = ((load.sent - firstSent) / (performance.now() - begin)) * 1_000;
    const after = await weigh(server, load);
    const processes = new Set(pids);
    await until(() => [...processes].every((pid) => pid === server.current || isGone(pid)), "old processes end");
    streams.forEach((one) => one.close());
    process.kill(server.current, "SIGTERM");
    await server.ended;
    const failed = [...load.failures, ...state.failures];
    failed.slice(0, 10).forEach(say);
    const sorted = load.times.toSorted((a, b) => a - b);
    const at = (part) => sorted[Math.floor(sorted.length * part)];
    const slowest = Math.max(...state.away);
    const upgrades = processes.size - 1;
    say(
        `${load.sent} requests, ${failed.length} failed; ${upgrades} upgrades; streams back after ${slowest.toFixed(0)} ms`,
    );
    const figure = (name, target, shown, ok) => ({ name, target, shown: String(shown), ok });
    const what = `${reloads} reloads and ${upgrades} upgrades`;
    return {
        ...{
            reloads,
            upgrades,
            streams: n,
            requests: load.sent,
            perSecond,
            failed: failed.length,
            missed: state.missed,
        },
        ...{ before, after, p50: at(0.5), p99: at(0.99), p999: at(0.999), longest: sorted.at(-1) },
        away: { median: median(state.away), longest: slowest, times: state.away.length },
        figures: [
            figure(`${what}: failed requests and streams`, "0", failed.length, failed.length === 0),
            figure(`${what}: changes that a stream missed`, "0", state.missed, state.missed === 0),
            figure("a stream is back after an upgrade", "≤ 2 s", `${(slowest / 1_000).toFixed(2)} s`, slowest <= 2_000),
            figure(
                "descriptors after all upgrades",
                "as before",
                `${before.files} → ${after.files}`,
                after.files <= before.files,
            ),
            figure(
                "memory after all upgrades, resident",
                "≤ 1.1 × before",
                `${(after.bytes / before.bytes).toFixed(2)} ×`,
                after.bytes <= 1.1 * before.bytes,
            ),
        ],
    };
}
