// The console in Chromium with 10,000 tools, 500 sources and 1,000 calls a second: the time to the first useful paint of each
// page, the JavaScript heap of a page that is live, and the processor time of the server for each open console.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";
import { callFile, permissions, pluginFolder, startWith, tryCall, write } from "../bridge/bridge.mjs";
import { build, causeway, cpuNs, folder, median, Process, program, sleep } from "../http/servers.mjs";

const tools = 10_000;
const sources = 500;
const perSecond = 1_000;
const consoles = 20;
const targets = { paintMs: 1_000, heapMb: 50, percent: 1 };
const executablePath = "/usr/bin/chromium";
const password = "correct horse battery staple";
const range = (n) => Array.from({ length: n }, (_, i) => i);

export const isPossible = () => existsSync(executablePath);

// The login page has no script: it shows how long the browser takes for any page.
const pages = {
    "Login, no script": "/login",
    Overview: "/console/",
    Sources: "/console/sources",
    Tools: "/console/tools",
    Tool: "/console/tools/test.echo",
    "Who may": "/console/who",
    Calls: "/console/calls",
    Audit: "/console/audit",
    Accounts: "/console/access/accounts",
    Tokens: "/console/access/tokens",
    About: "/console/about",
};

// ---- the server ----

function sourceOf(i) {
    const methods = range(tools / sources).map((j) => ({
        name: `entries${j}`,
        summary: `Finds entries of ledger ${i}, page ${j}, by their text and date.`,
        params: [{ name: "text", required: true, schema: { type: "string", maxLength: 100 } }],
        result: { name: "found", schema: { type: "integer" } },
    }));
    const info = { title: `ledger ${i}`, version: "1" };
    const openrpc = write(`ledger-${i}.json`, JSON.stringify({ openrpc: "1.3.2", info, methods }));
    const name = `ledger${i}`;
    const marked = methods.map((method) => ({ method: method.name, tool: true }));
    return { name, url: "http://127.0.0.1:9/rpc", openrpc, prefix: `${name}.`, methods: marked };
}

function command(config, ...words) {
    const { status, stdout, stderr } = spawnSync(causeway, [...words, "--config", config], { input: password });
    if (status !== 0) {
        throw new Error(`${words.join(" ")}: ${stderr}`);
    }
    return stdout;
}

async function startConsole() {
    const admin = ["use console", "view traffic", "view audit", "administer sources", "administer access"];
    const config = {
        loops: 1,
        access_log: false,
        roles: { anonymous: permissions, authenticated: permissions, operator: [...permissions, ...admin] },
        store: { path: path.join(folder, "console.db") },
        audit: { path: path.join(folder, "console-audit.jsonl") },
        console: { enabled: true },
        plugins: { directory: pluginFolder(path.join(build, "tests", "plugins", "echo.so")) },
        sources: range(sources).map(sourceOf),
    };
    const file = write("console.yaml", JSON.stringify(config));
    command(file, "account", "add", "alice", "--role", "operator");
    const { token } = JSON.parse(command(file, "token", "create", "alice", "--json"));
    const server = await startWith(file);
    server.token = token;
    await server.said(/catalogue published tools=10\d\d\d /);
    await tryCall(server, "test.echo");
    server.origin = `http://console.localhost:${server.address.split(":").at(-1)}`;
    return server;
}

// 1,000 calls of a plugin's tool a second, until it is stopped.
function startCalls(server) {
    const args = [server.address, 8, 100_000, perSecond, callFile("test.echo"), "walk across"];
    return new Process("load", program("load", "bridge"), args.map(String));
}

// ---- the browser ----

async function logIn(server, browser) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${server.origin}/console/`);
    await page.fill("#name", "alice");
    await page.fill("#password", password);
    await page.click("button");
    await page.waitForSelector("body[data-ready=yes]");
    const storageState = await context.storageState();
    await context.close();
    return storageState;
}

// The time at which the page has its data, in ms since the navigation began, and the processor time of the page's
// main thread until then. Nothing is cached. Other programs on the machine lengthen the first and not the second.
async function paint(server, browser, storageState, address) {
    const context = await browser.newContext({ storageState });
    const page = await context.newPage();
    await page.addInitScript(() => {
        const look = () => {
            if (!document.querySelector("body[data-ready=yes], body.login #password")) {
                requestAnimationFrame(look);
            } else {
                requestAnimationFrame(() => (window.painted = performance.now()));
            }
        };
        look();
    });
    const client = await context.newCDPSession(page);
    await client.send("Performance.enable", { timeDomain: "threadTicks" });
    await page.goto(server.origin + address);
    const handle = await page.waitForFunction(() => window.painted);
    const ms = await handle.jsonValue();
    const { metrics } = await client.send("Performance.getMetrics");
    const cpuMs = metrics.find(({ name }) => name === "TaskDuration").value * 1000;
    const problems = await page.locator(".notice").count();
    await context.close();
    if (problems > 0) {
        throw new Error(`${address} shows a problem`);
    }
    return { ms, cpuMs };
}

async function paints(server, browser, storageState, times, say) {
    const all = {};
    for (const [name, address] of Object.entries(pages)) {
        const runs = [];
        for (let i = 0; i < times; i += 1) {
            runs.push(await paint(server, browser, address === "/login" ? undefined : storageState, address));
        }
        const paintsMs = runs.map(({ ms }) => ms);
        all[name] = {
            median: median(paintsMs),
            worst: Math.max(...paintsMs),
            cpuMs: median(runs.map(({ cpuMs }) => cpuMs)),
        };
        const { median: half, worst, cpuMs } = all[name];
        say(`${name}: ${Math.round(half)} ms, at most ${Math.round(worst)} ms, ${Math.round(cpuMs)} ms of processor`);
    }
    return all;
}

// The heap of live pages after a collection.
async function heaps(server, browser, storageState, seconds, say) {
    const all = {};
    const open = [];
    for (const name of ["Overview", "Sources", "Calls"]) {
        const context = await browser.newContext({ storageState });
        const page = await context.newPage();
        await page.goto(server.origin + pages[name]);
        await page.waitForSelector("body[data-live=yes]");
        open.push({ name, page, context, client: await context.newCDPSession(page) });
    }
    await sleep(seconds * 1000);
    for (const { name, page, context, client } of open) {
        const live = await page.evaluate(() => document.body.dataset.live);
        await client.send("HeapProfiler.collectGarbage");
        const { usedSize } = await client.send("Runtime.getHeapUsage");
        all[name] = usedSize / 2 ** 20;
        say(`${name}: ${all[name].toFixed(1)} MB of heap after ${seconds} s${live === "yes" ? "" : ", not live"}`);
        if (live !== "yes") {
            throw new Error(`${name} is not live any more`);
        }
        await context.close();
    }
    return all;
}

// ---- the server's part ----

// What the page Calls subscribes to: calls and statistics.
async function watch(server, signal) {
    const meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    };
    const notifications = { toolsListChanged: true, "causeway/traffic": { stats: true } };
    const params = { notifications, _meta: meta };
    const answer = await fetch(`http://${server.address}/mcp`, {
        method: "POST",
        signal,
        headers: {
            "Content-Type": "application/json",
            Accept: "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "subscriptions/listen",
            Authorization: `Bearer ${server.token}`,
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params }),
    });
    if (answer.status !== 200) {
        throw new Error(`a stream: ${answer.status}`);
    }
    for await (const _ of answer.body);
}

async function share(server, seconds) {
    const before = cpuNs(server);
    await sleep(seconds * 1000);
    return (cpuNs(server) - before) / (seconds * 1e9);
}

// Both states in turn, so that the load of other programs is in both.
async function perConsole(server, seconds, rounds, say) {
    const differences = [];
    for (let i = 0; i < rounds; i += 1) {
        const alone = await share(server, seconds);
        const stop = new AbortController();
        const streams = range(consoles).map(() => watch(server, stop.signal).catch(() => {}));
        await sleep(1000);
        const watched = await share(server, seconds);
        stop.abort();
        await Promise.all(streams);
        differences.push(((watched - alone) * 100) / consoles);
        say(
            `${consoles} consoles: ${(alone * 100).toFixed(1)} % of a core without, ${(watched * 100).toFixed(1)} % with`,
        );
    }
    return median(differences);
}

export async function measure({ seconds, times, rounds, say }) {
    const server = await startConsole();
    const calls = startCalls(server);
    const browser = await chromium.launch({ executablePath, args: ["--disable-gpu", "--no-first-run"] });
    const storageState = await logIn(server, browser);
    const painted = await paints(server, browser, storageState, times, say);
    const heap = await heaps(server, browser, storageState, seconds, say);
    await browser.close();
    const percent = await perConsole(server, Math.min(seconds, 20), rounds, say);
    calls.child.kill("SIGKILL");
    await calls.ended;
    await server.stop();
    return { painted, heap, percent, seconds, times, rounds };
}

function figuresOf({ painted, heap, percent, seconds }) {
    const slowest = Math.max(...Object.values(painted).map((page) => page.median));
    const largest = Math.max(...Object.values(heap));
    return [
        {
            name: "console, 10,000 tools, 500 sources, 1,000 calls/s: first useful paint, slowest page",
            target: `< ${targets.paintMs} ms`,
            shown: `${Math.round(slowest)} ms`,
            ok: slowest < targets.paintMs,
        },
        {
            name: `console: JavaScript heap of a page after ${seconds} s live`,
            target: `< ${targets.heapMb} MB`,
            shown: `${largest.toFixed(1)} MB`,
            ok: largest < targets.heapMb,
        },
        {
            name: "console: processor time of the server for each open console",
            target: `< ${targets.percent} % of a core`,
            shown: `${percent.toFixed(2)} %`,
            ok: percent < targets.percent,
        },
    ];
}

export async function run({ quick, seconds = quick ? 10 : 60, say }) {
    const measured = await measure({ seconds, times: quick ? 1 : 5, rounds: quick ? 1 : 3, say });
    return { ...measured, figures: figuresOf(measured) };
}
