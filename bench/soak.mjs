// `make soak`: keeps the product and the test server busy for SOAK_SECONDS (600) with clients of
// every kind, reloads the product every ten seconds, and watches memory and descriptors. Before that,
// one caller begins and ends SOAK_SESSIONS (100,000) sessions of MCP. At the end, pages of the console are
// live for SOAK_CONSOLE_SECONDS (SOAK_SECONDS) in Chromium, where it is installed; 0 leaves them out.
//
// Fails when memory goes on growing after the warm-up, descriptors do not come back, a request that
// should succeed does not, or a server does not stop cleanly. The samples stay in
// build/bench/soak.json.
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import * as pages from "./console/console.mjs";
import { visitAll } from "./http/mix.mjs";
import { causeway, certificate, countFiles, cpuNs, folder, median } from "./http/servers.mjs";
import { Process, root, rssBytes, sleep, startOurs } from "./http/servers.mjs";
import { runWrk } from "./http/throughput.mjs";

const seconds = Number(process.env.SOAK_SECONDS ?? 600);
const sessions = Number(process.env.SOAK_SESSIONS ?? 100_000);
const consoleSeconds = Number(process.env.SOAK_CONSOLE_SECONDS ?? seconds);
const sampleMs = Math.min(5000, seconds * 50);
const reloadMs = Math.min(10_000, seconds * 100);
// Half of a core: a quarter for each server.
const share = 0.25;
const restMs = 10;
const mostPerHour = 2 ** 20;
// A few pages more are no leak: fragments settle, and a short run cannot tell them from one.
const toleranceBytes = 256 * 1024;

const failures = [];
function onFailure(text) {
    failures.push(text);
    if (failures.length <= 20) {
        console.error(`   failure: ${text}`);
    }
}

async function startProduct() {
    const tls = certificate();
    const config = {
        listen: ["127.0.0.1:0", { address: "127.0.0.1:0", tls: true }],
        loops: 1,
        tls,
        log: { file: "/dev/null" },
    };
    const file = path.join(folder, "soak.yaml");
    writeFileSync(file, JSON.stringify(config));
    const product = new Process("server", causeway, ["serve", "--config", file]);
    product.name = "causeway";
    [product.url, product.secure] = await Promise.all(
        [0, 1].map(async (line) => /https?:\/\/\S+/.exec(await product.line(line))[0]),
    );
    return product;
}

async function startTest() {
    const test = await startOurs();
    test.url = `http://${test.address}`;
    return test;
}

// wrk with pauses: enough connections, each resting between requests, for a part of what the server
// could do.
async function steadyLoad(server, route) {
    const address = new URL(server.url).host;
    const { perSecond } = await runWrk(address, 1, route);
    const connections = Math.max(2, Math.round((perSecond * share * restMs) / 1000));
    const script = path.join(folder, "rest.lua");
    writeFileSync(script, `function delay()\n    return ${restMs}\nend\n`);
    const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "-s", script];
    const load = new Process("load", "wrk", [...args, `http://${address}${route}`]);
    return { load, connections };
}

async function checkLoad({ load }) {
    const text = (await load.finish((seconds + 60) * 1000)).join("\n");
    const complaint = /^.*(?:Socket errors|Non-2xx).*$/m.exec(text);
    if (complaint) {
        onFailure(`wrk: ${complaint[0].trim()}`);
    }
    return Number(/(\d+) requests in/.exec(text)[1]);
}

function sample(server, begin) {
    return {
        at: (Date.now() - begin) / 1000,
        rss: rssBytes(server),
        files: countFiles(server),
        cpu: cpuNs(server) / 1e9,
    };
}

// The median of the slopes between all pairs of samples (Theil and Sen): a single step or a few
// outliers do not move it. In bytes per hour.
function slopeOf(samples) {
    const slopes = samples.flatMap((a, i) => samples.slice(i + 1).map((b) => (b.rss - a.rss) / (b.at - a.at)));
    return median(slopes) * 3600;
}

function judgeMemory(name, samples) {
    const steady = samples.filter(({ at }) => at > Math.min(120, seconds / 4));
    const quarter = Math.ceil(steady.length / 4);
    const level = (part) => median(part.map(({ rss }) => rss));
    const growth = level(steady.slice(-quarter)) - level(steady.slice(0, quarter));
    const slope = slopeOf(steady);
    const leaks = slope > mostPerHour && growth > toleranceBytes;
    const [last] = samples.slice(-1);
    const mb = (bytes) => (bytes / 2 ** 20).toFixed(2);
    const load = (last.cpu - samples[0].cpu) / (last.at - samples[0].at);
    console.log(
        `${name}: ${mb(last.rss)} MB, slope ${mb(slope)} MB/h, growth after the warm-up ` +
            `${mb(growth)} MB, ${Math.round(load * 100)} % of a core`,
    );
    if (leaks) {
        onFailure(`${name} grows by ${mb(slope)} MB/h`);
    }
    return { slope, growth, load };
}

async function untilFilesBack(server, files) {
    let left = Infinity;
    for (let tries = 0; tries < 200 && left > 0; tries += 1) {
        left = countFiles(server) - files;
        await sleep(left > 0 ? 100 : 0);
    }
    if (left > 0) {
        onFailure(`${server.name}: ${left} descriptors did not come back`);
    }
}

// Every sampleMs a sample of each server, every reloadMs a reload, now and then a line.
async function watch(servers, product, begin) {
    const samples = servers.map(() => []);
    let [reloads, said] = [0, 0];
    for (let at = sampleMs; at < seconds * 1000; at += sampleMs) {
        await sleep(begin + at - Date.now());
        servers.forEach((server, i) => samples[i].push(sample(server, begin)));
        if (at >= (reloads + 1) * reloadMs) {
            reloads += 1;
            product.child.kill("SIGHUP");
        }
        if (at >= (said + 1) * 30_000) {
            said += 1;
            const state = samples.map((all, i) => {
                const { rss, files } = all.at(-1);
                return `${servers[i].name} ${(rss / 2 ** 20).toFixed(2)} MB, ${files} files`;
            });
            console.log(`   ${Math.round(at / 1000)} s: ${state.join("; ")}; ${failures.length} failures`);
        }
    }
    return { samples, reloads };
}

const handshake = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "soak", version: "1" } },
});
const accepts = { Accept: "application/json, text/event-stream", "Content-Type": "application/json" };

// Frameworks open a session for each call: many more than are remembered of one caller.
async function beginAndEnd({ url }) {
    const begun = await fetch(`${url}/mcp`, { method: "POST", headers: accepts, body: handshake });
    await begun.arrayBuffer();
    const headers = { "Mcp-Session-Id": begun.headers.get("mcp-session-id") };
    const ended = await fetch(`${url}/mcp`, { method: "DELETE", headers });
    await ended.arrayBuffer();
    if (begun.status !== 200 || ended.status !== 204) {
        onFailure(`a session: ${begun.status} and ${ended.status}`);
    }
}

async function endSessions(product) {
    const begin = Date.now();
    let left = sessions;
    const work = async () => {
        while (left-- > 0) {
            await beginAndEnd(product);
        }
    };
    await Promise.all(Array.from({ length: 16 }, work));
    console.log(`${sessions} sessions in ${Math.round((Date.now() - begin) / 1000)} s; ${failures.length} failures`);
}

// The console under load: a missed figure is a failure.
async function watchConsole() {
    if (!consoleSeconds || !pages.isPossible()) {
        console.log("the console: left out");
        return null;
    }
    const say = (text) => console.log(`   ${text}`);
    const result = await pages.run({ quick: false, seconds: consoleSeconds, say });
    for (const { name, target, shown, ok } of result.figures) {
        console.log(`${name}: ${shown}`);
        if (!ok) {
            onFailure(`${name}: ${shown}, and the target is ${target}`);
        }
    }
    return result;
}

async function main() {
    const product = await startProduct();
    await endSessions(product);
    const test = await startTest();
    const servers = [product, test];
    const where = { product: product.url, secure: product.secure, test: test.url };
    const files = servers.map(countFiles);
    const warm = Date.now() + 2000;
    await visitAll(where, () => Date.now() > warm, onFailure);
    const loads = [await steadyLoad(product, "/healthz"), await steadyLoad(test, "/2k")];
    const begin = Date.now();
    console.log(`${seconds} s; wrk with ${loads.map(({ connections: n }) => n).join(" and ")} connections`);

    const over = () => Date.now() - begin >= seconds * 1000;
    const visiting = visitAll(where, over, onFailure);
    const { samples, reloads } = await watch(servers, product, begin);
    const visits = await visiting;
    const requests = await Promise.all(loads.map(checkLoad));

    console.log(`${reloads} reloads; requests by wrk ${requests.join(" and ")}; visits:`);
    console.log(
        `   ${Object.entries(visits)
            .map((pair) => pair.join(" "))
            .join(", ")}`,
    );
    const verdicts = servers.map(({ name }, i) => judgeMemory(name, samples[i]));
    for (const [i, server] of servers.entries()) {
        await untilFilesBack(server, files[i]);
        await server.stop().catch((error) => onFailure(error.message));
    }
    const live = await watchConsole();
    const file = path.join(root, "build", "bench", "soak.json");
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify({ seconds, visits, requests, verdicts, live, samples, failures }, null, 1));
    console.log(failures.length > 0 ? `FAILED: ${failures.length} failures; ${file}` : `ok; ${file}`);
    process.exitCode = failures.length > 0 ? 1 : 0;
}

await main();
