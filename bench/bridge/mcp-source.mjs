// An MCP server as a source: a call through causeway to a second causeway, next to nginx passing the
// same request on, and lists of ten such sources next to one of as many tools.
import { median, startNginxProxy } from "../http/servers.mjs";
import { catalogue, document } from "../catalogue/catalogue.mjs";
import { callFile, listFile, runPairs, startBridge, startConfigured, startEcho, write } from "./bridge.mjs";
import { timeCalls } from "./forward.mjs";

const exact = { mcp: { tool_names: "exact" } };
const source = (name, url, more = {}) => ({ name, dialect: "mcp", url, methods: ["*"], ...more });

// ---- calls ----

async function measureCalls({ quick, say, pairs, seconds }) {
    // nginx names its group of servers as the host.
    const upstream = await startEcho({ ...exact, hosts: ["service", "localhost", "127.0.0.1"] }, "load");
    const sources = [source("up", `http://${upstream.address}/mcp`, { prefix: "up." })];
    const ours = await startBridge("up.test.echo", { sources, ...exact });
    const nginx = await startNginxProxy(upstream.address);
    const both = {
        ours: { server: ours, file: callFile("up.test.echo") },
        nginx: { server: nginx, file: callFile("test.echo") },
    };
    const service = { server: upstream, file: callFile("test.echo") };
    const measured = await runPairs(both, { pairs, seconds, say });
    const slower = Math.min(measured.ours.perSecond, measured.nginx.perSecond);
    const rate = Math.max(1, Math.round(slower / 2));
    const time = await timeCalls({ ...both, service }, rate, { rounds: quick ? 1 : 9, say });
    await ours.stop();
    await nginx.stop("SIGQUIT");
    await upstream.stop();
    return { ...measured, time };
}

// ---- lists ----

const nSources = 10;

// A causeway with the tools in ten toolsets: each has an address of its own.
async function startParts(tools) {
    const size = tools.length / nSources;
    const sources = Array.from({ length: nSources }, (_, i) => ({
        name: `part${i}`,
        url: "http://127.0.0.1:9/rpc",
        openrpc: write("openrpc.json", JSON.stringify(document(tools.slice(i * size, (i + 1) * size)))),
        methods: ["*"],
    }));
    const toolsets = Object.fromEntries(sources.map(({ name }) => [name, { sources: [name] }]));
    return await startListed({ sources, toolsets }, tools.length, "load");
}

async function startListed(config, tools, role) {
    const server = await startConfigured({ ...config, ...exact }, [], role);
    await server.said(new RegExp(`catalogue published tools=${tools} `), 30_000);
    return server;
}

async function compareLists({ quick, say }) {
    const tools = catalogue(1_000);
    const upstream = await startParts(tools);
    const at = (path) => `http://${upstream.address}${path}`;
    const parts = Array.from({ length: nSources }, (_, i) => source(`part${i}`, at(`/mcp/x/part${i}`)));
    const ten = await startListed({ sources: parts }, tools.length);
    const one = await startListed({ sources: [source("whole", at("/mcp"))] }, tools.length);
    const side = (server) => ({ server, file: listFile(), expected: tools[0].name });
    const measured = await runPairs(
        { ten: side(ten), one: side(one) },
        { pairs: quick ? 2 : 5, seconds: quick ? 1 : 2, say },
    );
    await Promise.all([ten.stop(), one.stop(), upstream.stop()]);
    return { ...measured, tools: tools.length };
}

// ---- the part ----

export async function run({ quick, say }) {
    const options = { quick, say, ...(quick ? { pairs: 2, seconds: 1 } : { pairs: 9, seconds: 2 }) };
    const calls = await measureCalls(options);
    const lists = await compareLists(options);
    const cpu = median(calls.ratios);
    const listCpu = median(lists.ratios);
    const { added, addedByNginx } = calls.time;
    return {
        ...{ calls, lists },
        figures: [
            {
                name: "call of an MCP server's tool: CPU, times nginx proxy_pass",
                target: "≤ 2.0 ×",
                shown: `${cpu.toFixed(2)} ×`,
                ok: cpu <= 2,
            },
            {
                name: "the same: added to the time of the server, p50",
                target: "≤ nginx",
                shown: `${added.toFixed(0)} µs, nginx ${addedByNginx.toFixed(0)} µs`,
                ok: added <= addedByNginx,
            },
            {
                name: "tools/list of ten MCP servers: CPU, times one of as many tools",
                target: "≤ 1.1 ×",
                shown: `${listCpu.toFixed(2)} ×`,
                ok: listCpu <= 1.1,
            },
        ],
    };
}
