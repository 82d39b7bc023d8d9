// A catalogue of 100,000 tools: how long it takes to make, what it needs, and what it needs while
// all of it is replaced.
import { readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { median, sleep } from "../http/servers.mjs";
import { fetchPage, few, many, startTools } from "./lists.mjs";

const tools = 100_000;

// The server alone: what a plugin needs to describe itself is its own.
function read(server) {
    const status = readFileSync(`/proc/${server.pid}/status`, "latin1");
    const bytes = (name) => Number(new RegExp(`^${name}:\\s*(\\d+) kB`, "m").exec(status)[1]) * 1024;
    const fields = readFileSync(`/proc/${server.pid}/stat`, "latin1").split(") ").at(-1).split(" ");
    const cpuMs = (Number(fields[11]) + Number(fields[12])) * 10;
    return { rss: bytes("VmRSS"), peak: bytes("VmHWM"), cpuMs };
}

// Until nothing is done any more.
async function settle(server) {
    for (let calm = 0, last = read(server); calm < 10; ) {
        await sleep(100);
        const now = read(server);
        calm = now.cpuMs === last.cpuMs && now.rss === last.rss ? calm + 1 : 0;
        last = now;
    }
    return read(server);
}

// Bytes of a tool as clients read it, mean of a page from the middle.
async function definitionBytes(server) {
    const page = JSON.parse(await fetchPage(server, Buffer.from(String(tools / 2)).toString("base64")));
    const sizes = page.tools.map((tool) => Buffer.byteLength(JSON.stringify(tool)));
    return sizes.reduce((a, b) => a + b) / sizes.length;
}

async function measure() {
    const small = await startTools(few(), 100);
    const base = await settle(small);
    await small.stop();

    const plugins = many();
    const server = await startTools(plugins, tools);
    const built = await settle(server);
    writeFileSync(`/proc/${server.pid}/clear_refs`, "5"); // the peak starts anew
    const now = new Date();
    readdirSync(plugins).forEach((name) => utimesSync(path.join(plugins, name), now, now));
    await sleep(2000);
    const reloaded = await settle(server);
    const definition = await definitionBytes(server);
    await server.stop();
    return {
        definition,
        buildMs: built.cpuMs - base.cpuMs,
        bytes: (built.rss - base.rss) / tools,
        afterBytes: (reloaded.rss - base.rss) / tools,
        steady: built.rss,
        peak: reloaded.peak,
    };
}

export async function run({ quick, say }) {
    const runs = [];
    for (let i = 0; i < (quick ? 1 : 3); i += 1) {
        runs.push(await measure());
        const { buildMs, bytes, afterBytes, peak, steady } = runs.at(-1);
        say(
            `built in ${buildMs} ms, ${bytes.toFixed(0)} bytes a tool, ${afterBytes.toFixed(0)} after a ` +
                `reload, whose peak was ${(peak / steady).toFixed(2)} ×`,
        );
    }
    const middle = (name) => median(runs.map((one) => one[name]));
    const definition = middle("definition");
    const most = 1024 + 1.5 * definition;
    const bytes = Math.max(middle("bytes"), middle("afterBytes"));
    const ratio = median(runs.map(({ peak, steady }) => peak / steady));
    return {
        runs,
        tools,
        definition,
        figures: [
            {
                name: "catalogue of 100,000 tools: built in (CPU of the server)",
                target: "< 2 s",
                shown: `${(middle("buildMs") / 1000).toFixed(2)} s`,
                ok: middle("buildMs") < 2000,
            },
            {
                name: `catalogue of 100,000 tools of ${Math.round(definition)} B: memory each`,
                target: `≤ ${Math.round(most)} B`,
                shown: `${Math.round(bytes)} B`,
                ok: bytes <= most,
            },
            {
                name: "catalogue of 100,000 tools: peak of a reload, times the steady state",
                target: "≤ 2.2 ×",
                shown: `${ratio.toFixed(2)} ×`,
                ok: ratio <= 2.2,
            },
        ],
    };
}
