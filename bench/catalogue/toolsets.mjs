// Lists of many sources, lean lists, and search.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { cpuNs, folder, median, root, sleep } from "../http/servers.mjs";
import { callOf, list, listFile, runPairs, startConfigured, write } from "../bridge/bridge.mjs";
import { catalogue, document, ownTools } from "./catalogue.mjs";

const nowhere = "http://127.0.0.1:9/rpc";
const writeDocument = (tools) => write("openrpc.json", JSON.stringify(document(tools)));
const source = (name, tools) => ({ name, url: nowhere, openrpc: writeDocument(tools), methods: ["*"] });

async function start(config, tools) {
    const server = await startConfigured(config);
    await server.said(new RegExp(`catalogue published tools=${tools} `));
    return server;
}

async function post(server, target, { headers, body }) {
    const answer = await fetch(`http://${server.address}${target}`, { method: "POST", headers, body });
    return await answer.text();
}

// ---- ten sources ----

async function compareSources({ quick, say }) {
    const tools = catalogue(1_000);
    const parts = Array.from({ length: 10 }, (_, i) => source(`part${i}`, tools.slice(i * 100, (i + 1) * 100)));
    const ten = await start({ sources: parts }, tools.length);
    const one = await start({ sources: [source("whole", tools)] }, tools.length);
    const expected = tools[0].name;
    const file = listFile();
    const measured = await runPairs(
        { ten: { server: ten, file, expected }, one: { server: one, file, expected } },
        { pairs: quick ? 2 : 5, seconds: quick ? 1 : 2, say },
    );
    await ten.stop();
    await one.stop();
    return { ratio: median(measured.ratios), tools: tools.length };
}

// ---- lean lists ----

const has = (program) => spawnSync("which", [program]).status === 0;

// The monitor of a virtual machine that never starts.
function startQemu() {
    const socket = path.join(folder, "qmp.sock");
    const args = ["-machine", "none", "-display", "none", "-S", "-qmp", `unix:${socket},server=on,wait=off`];
    const child = spawn("qemu-system-x86_64", args, { stdio: "ignore" });
    return { child, socket };
}

// Legacy clients read larger output schemas: each is wrapped in an object.
const legacyList = {
    headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
};

async function measureLean(config) {
    const server = await startConfigured({
        ...config,
        toolsets: { lean: { output_schemas: "none", descriptions: "short", input_schemas: "signature" } },
    });
    await server.said(/catalogue published tools=[1-9]/, 30_000);
    const tokens = async (target, request) => Math.ceil((await post(server, target, request)).length / 4);
    const both = async (request) => ({
        full: await tokens("/mcp", request),
        lean: await tokens("/mcp/x/lean", request),
    });
    const tools = JSON.parse(await post(server, "/mcp", list)).result.tools.length;
    const found = { tools, ...(await both(legacyList)), modern: await both(list) };
    await server.stop();
    return found;
}

async function measureQmp(say) {
    if (!has("qemu-system-x86_64")) {
        say("QMP: skipped, qemu-system-x86_64 is not installed");
        return null;
    }
    const { child, socket } = startQemu();
    for (let i = 0; i < 100 && !existsSync(socket); i += 1) {
        await sleep(100);
    }
    try {
        const qemu = { name: "qemu", preset: "qmp", url: `unix:${socket}`, methods: ["*"] };
        return await measureLean({ sources: [qemu] });
    } finally {
        child.kill("SIGKILL");
    }
}

async function measureDeltaChat(say) {
    if (!has("deltachat-rpc-server")) {
        say("Delta Chat: skipped, deltachat-rpc-server is not installed");
        return null;
    }
    const { stdout } = spawnSync("deltachat-rpc-server", ["--openrpc"], { maxBuffer: 2 ** 24 });
    const openrpc = write("deltachat.json", stdout);
    return await measureLean({ sources: [{ name: "chat", url: nowhere, openrpc, methods: ["*"] }] });
}

// ---- search ----

const read = (name) => JSON.parse(readFileSync(path.join(root, "bench", "catalogue", name), "utf8"));
const questions = read("questions.json");
// Requests that nothing was changed for: the first were written before the thesaurus of the search, the others after it.
const heldOut = read("held-out-questions.json").map((one) => ({ ...one, heldOut: "first" }));
const later = read("later-questions.json").map((one) => ({ ...one, heldOut: "later" }));

async function startSearch(n) {
    const toolsets = { all: { mode: "search" } };
    const mcp = { tool_names: "exact" };
    return await start({ sources: [source("company", catalogue(n))], toolsets, mcp }, n);
}

async function ask(server, question) {
    const request = callOf("find_tools", { query: question, limit: 8, detail: "brief" });
    const { result } = JSON.parse(await post(server, "/mcp/x/all", request));
    return JSON.parse(result.content[0].text).tools.map(({ name }) => name);
}

async function measureHits() {
    const server = await startSearch(ownTools);
    const places = [];
    for (const { question, tool, ...kind } of [...questions, ...heldOut, ...later]) {
        const found = await ask(server, question);
        places.push({ place: found.indexOf(tool) + 1, ...kind });
    }
    await server.stop();
    const from = (set) => places.filter((one) => one.heldOut === set);
    const committed = from(undefined);
    const part = (some, most) => some.filter(({ place }) => place > 0 && place <= most).length / some.length;
    const rates = (some) => [1, 5, 8].map((most) => part(some, most));
    return {
        all: rates(committed),
        own: rates(committed.filter(({ paraphrased }) => !paraphrased)),
        paraphrased: rates(committed.filter(({ paraphrased }) => paraphrased)),
        heldOut: rates(from("first")),
        later: rates(from("later")),
    };
}

// Processor time of the server for one query, the request around it included.
async function measureQuery(n) {
    const server = await startSearch(n);
    await ask(server, questions[0].question);
    const before = cpuNs(server);
    for (const { question } of questions) {
        await ask(server, question);
    }
    const ms = (cpuNs(server) - before) / 1e6 / questions.length;
    await server.stop();
    return ms;
}

const percent = (part) => `${(part * 100).toFixed(1)} %`;

function leanFigure(name, measured) {
    const part = measured.lean / measured.full;
    return {
        name: `lean list of ${name} for a legacy client: tokens, part of the full list`,
        target: "≤ 45 %",
        shown: percent(part),
        ok: part <= 0.45,
    };
}

export async function run({ quick, say }) {
    const sources = await compareSources({ quick, say });
    const lean = { QMP: await measureQmp(say), "Delta Chat": await measureDeltaChat(say) };
    const hits = await measureHits();
    const queryMs = await measureQuery(10_000);
    const measured = Object.entries(lean).filter(([, one]) => one);
    return {
        ...{ sources, lean, hits, queryMs, questions: questions.length, searched: ownTools },
        figures: [
            {
                name: "tools/list of ten sources: CPU, times one source of as many tools",
                target: "≤ 1.1 ×",
                shown: `${sources.ratio.toFixed(2)} ×`,
                ok: sources.ratio <= 1.1,
            },
            ...measured.map(([name, one]) => leanFigure(name, one)),
            {
                name: `search: the right one of ${ownTools.toLocaleString("en")} tools among the first 8`,
                target: "≥ 95 %",
                shown: `${percent(hits.all[2])} (paraphrased: ${percent(hits.paraphrased[2])})`,
                ok: hits.all[2] >= 0.95,
            },
            {
                name: "search among 10,000 tools: CPU of a query",
                target: "< 1 ms",
                shown: `${queryMs.toFixed(2)} ms`,
                ok: queryMs < 1,
            },
        ],
    };
}
