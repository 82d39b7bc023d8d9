// Instructions of the causeway process per request, by callgrind: the difference of two runs with
// different numbers of requests, so that start-up and shutdown do not count. One event loop, one
// connection, one request after the other. The plugin worker and the service do not count.
import { readFileSync } from "node:fs";
import path from "node:path";
import { build, program, runLoad } from "../http/servers.mjs";
import { callOf, list, message, pluginFolder } from "./bridge.mjs";
import { startConfigured, tryCall, write, writeRequest } from "./bridge.mjs";
import { echoSource } from "./forward.mjs";
import { startService } from "./service.mjs";

const legacyVersion = "2025-11-25";
const json = { "Content-Type": "application/json" };
const both = { ...json, Accept: "application/json, text/event-stream" };
const large = 65_536;
// The load program replaces it by the id of the request, which has as many digits.
const place = "@TOKEN@";
const ids = (n) => Array.from({ length: n }, (_, i) => 1_000_000 + i);

// ---- requests ----

// The bytes of a request whose JSON-RPC id is filled in by the load program.
function requestFile(target, { headers, body }) {
    const { id, ...rest } = JSON.parse(body);
    const text = JSON.stringify({ ...rest, id: place }).replace(`"${place}"`, place);
    return writeRequest("POST", target, { headers, body: text });
}

const mcp = (request) => () => requestFile("/mcp", request);

function jsonrpc(method, params) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    return () => requestFile("/jsonrpc", { headers: json, body });
}

// tools/list of a client that has initialized a session.
async function legacyList(server) {
    const ask = (method, params) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const clientInfo = { name: "bench", version: "1" };
    const params = { protocolVersion: legacyVersion, capabilities: {}, clientInfo };
    const answer = await fetch(`http://${server.address}/mcp`, {
        method: "POST",
        headers: both,
        body: ask("initialize", params),
    });
    await answer.text();
    const session = answer.headers.get("mcp-session-id") ?? server.fail("issues no session");
    const headers = { ...both, "MCP-Protocol-Version": legacyVersion, "Mcp-Session-Id": session };
    return requestFile("/mcp", { headers, body: ask("tools/list", {}) });
}

// ---- rows ----

const echo = path.join(build, "bench", "bridge", "echo.so");
const plugin = { tool: "test.echo", config: () => ({ plugins: { directory: pluginFolder(echo) } }) };

export const pluginCall = { ...plugin, request: mcp(callOf("test.echo", { message })) };

// A call of a service over `scheme`, with a result of `length` bytes.
const forwarded = (scheme, length) => ({
    tool: "service.echo",
    length,
    config: ({ [scheme]: url }) => ({ sources: [echoSource(url, large)] }),
    request: mcp(callOf("service.echo", { message })),
});

const legacy = `tools/list, MCP ${legacyVersion}`;
const modern = "tools/list, MCP 2026-07-28";
const overHttp = "tools/call forwarded over HTTP";
const overSocket = "tools/call forwarded over a WebSocket";

// `most`: the count at commit abdafe6 (gcc 12, x86-64) plus 3 %, or minus 10 % over a WebSocket.
const rows = [
    { name: legacy, most: 26_160, ...plugin, expected: "test.echo", request: legacyList },
    { name: modern, most: 12_820, ...plugin, expected: "test.echo", request: mcp(list) },
    { name: "tools/call of a plugin", most: 20_520, ...pluginCall },
    {
        name: "/jsonrpc call of a plugin",
        most: 16_120,
        ...plugin,
        request: jsonrpc("test.echo", { message }),
    },
    { name: overHttp, most: 25_650, ...forwarded("http", 128) },
    { name: `${overHttp}, 64 KB result`, most: 458_900, ...forwarded("http", large) },
    { name: overSocket, most: 27_500, ...forwarded("ws", 128) },
    { name: `${overSocket}, 64 KB result`, most: 611_400, ...forwarded("ws", large) },
];

// ---- counting ----

// So many that two counts of the same program differ by less than 0.5 %. The start of a plugin
// differs by some 100,000 instructions from run to run.
const numbers = { small: [1000, 11_000], large: [200, 1200] };
export const shown = (instructions) => Math.round(instructions).toLocaleString("en");

// valgrind 3.19 has no pidfd_open, without which no plugin starts: see pidfd.c.
const callgrind = [
    "env",
    `BENCH_PIDFD=${program("open_pidfd", "bridge")}`,
    `LD_PRELOAD=${path.join(build, "bench", "bridge", "pidfd.so")}`,
    ..."valgrind --tool=callgrind --callgrind-out-file=/dev/null".split(" "),
];

// Starts Causeway under callgrind. Polling for the tool would cost a different number of
// instructions in each run, so this waits for the log.
async function start({ tool, config }, service) {
    const log = write("callgrind.log", "");
    const server = await startConfigured(config(service), [...callgrind, `--log-file=${log}`]);
    server.log = log;
    await server.said(/catalogue published tools=1 /, 30_000);
    await tryCall(server, tool);
    return server;
}

// The instructions of a whole run with `n` requests.
async function count(row, n, service) {
    const server = await start(row, service);
    const file = await row.request(server);
    const tokens = write("ids", ids(n).join("\n"));
    const args = [server.address, 1, 600, 0, file, row.expected ?? "walk across", tokens];
    const { requests, failed, said } = await runLoad("load", args, { group: "bridge" });
    if (failed > 0 || requests !== n) {
        server.fail(`${failed} of ${requests} responses were wrong\n${said}`);
    }
    await server.stop();
    const [, collected] = /Collected : (\d+)/.exec(readFileSync(server.log, "latin1")) ?? server.fail("no count");
    return Number(collected);
}

export async function countRow(row, quick) {
    const [few, many] = quick ? [20, 120] : numbers[row.length === large ? "large" : "small"];
    const service = row.length && (await startService(row.length));
    const counts = [await count(row, few, service), await count(row, many, service)];
    service?.stop();
    return { name: row.name, most: row.most, few, many, each: (counts[1] - counts[0]) / (many - few) };
}

export async function run({ quick, say }) {
    const found = [];
    for (const row of rows) {
        const one = await countRow(row, quick);
        found.push(one);
        say(`${one.name}: ${shown(one.each)} instructions (${one.few} and ${one.many} requests)`);
    }
    const figures = found.map(({ name, most, each }) => ({
        name: `${name}: instructions per request`,
        target: `≤ ${shown(most)}`,
        shown: shown(each),
        ok: each <= most,
    }));
    return { rows: found, figures };
}
