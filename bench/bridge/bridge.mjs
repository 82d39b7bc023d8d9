// What the parts that measure calls share: a causeway with the echo plugin or a remote service, the
// requests, and pairs of runs.
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build, causeway, cpuNs, folder, median, Process, runLoad, sleep } from "../http/servers.mjs";

export const connections = 32;
export const message = "A bridge you can walk across, from one side to the other.";
const version = "2026-07-28";
export const permissions = ["access mcp tool discovery", "use jsonrpc services", "access content"];

let files = 0;
export function write(name, text) {
    files += 1;
    const file = path.join(folder, `${files}-${name}`);
    writeFileSync(file, text);
    return file;
}

// ---- requests ----

const meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientCapabilities": {},
};

export function mcpRequest(method, params) {
    return {
        headers: {
            "Content-Type": "application/json",
            Accept: "application/json, text/event-stream",
            "MCP-Protocol-Version": version,
            "Mcp-Method": method,
            ...(params.name ? { "Mcp-Name": params.name } : {}),
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } }),
    };
}

export const callOf = (name, args) => mcpRequest("tools/call", { name, arguments: args });
export const list = mcpRequest("tools/list", {});

// A request as a file of bytes, for the load programs.
export function writeRequest(method, target, { headers = {}, body = "" }) {
    const all = { Host: "localhost", ...headers, ...(body && { "Content-Length": body.length }) };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return write("request", `${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
}

export function callFile(name, more = {}) {
    const { headers, body } = callOf(name, { message });
    return writeRequest("POST", "/mcp", { headers: { ...headers, ...more }, body });
}
export const listFile = () => writeRequest("POST", "/mcp", list);
export const lineFile = () => write("line", `${list.body}\n`);
export const listenFile = () =>
    writeRequest("POST", "/mcp", mcpRequest("subscriptions/listen", { notifications: { toolsListChanged: true } }));
export const getFile = (target = "/") => writeRequest("GET", target, {});

async function ask(server, { headers, body }) {
    const answer = await fetch(`http://${server.address}/mcp`, { method: "POST", headers, body });
    return { status: answer.status, json: JSON.parse(await answer.text()) };
}

export async function listTools(server) {
    const { json } = await ask(server, list);
    // Their own names: lists show portable ones.
    return (json.result?.tools ?? []).map(({ name, _meta }) => _meta?.["causeway/name"] ?? name);
}

// One call, to see that it is answered well before thousands are counted.
export async function tryCall(server, name, args = { message }, expected = "walk across") {
    const { status, json } = await ask(server, callOf(name, args));
    const text = JSON.stringify(json);
    if (status !== 200 || json.result?.isError || !text.includes(expected)) {
        server.fail(`${name} was answered with ${status} ${text}`);
    }
}

// ---- servers ----

// `under` is a command line that runs it, such as valgrind's; `role` says on which processor it runs.
export async function startWith(configFile, under = [], role = "server") {
    const serve = ["serve", "--config", configFile, "--listen", "127.0.0.1:0"];
    const [program, ...args] = [...under, causeway, ...serve];
    const server = new Process(role, program, args);
    server.address = /:\/\/(\S+)/.exec(await server.line(0))[1];
    return server;
}

// One loop, no access log, and whatever `config` adds; waits for the tool.
export const startConfigured = (config, under, role) => {
    const roles = { anonymous: permissions };
    const all = { loops: 1, access_log: false, roles, ...config };
    return startWith(write("causeway.yaml", JSON.stringify(all)), under, role);
};

export async function startBridge(tool, config, role) {
    const server = await startConfigured(config, [], role);
    for (let tries = 0; !(await listTools(server)).includes(tool); tries += 1) {
        if (tries > 200) {
            server.fail(`does not list ${tool}`);
        }
        await sleep(25);
    }
    await tryCall(server, tool);
    return server;
}

// A plugin folder with copies of these plugins.
export function pluginFolder(...plugins) {
    files += 1;
    const here = path.join(folder, `${files}-plugins`);
    mkdirSync(here);
    plugins.forEach((file) => copyFileSync(file, path.join(here, path.basename(file))));
    return here;
}

export const startEcho = (more = {}, role = "server") =>
    startBridge(
        "test.echo",
        { plugins: { directory: pluginFolder(path.join(build, "tests", "plugins", "echo.so")) }, ...more },
        role,
    );

// What `make run` serves, as a configuration (path) of its own.
export function writeExamplesConfig() {
    const roles = { anonymous: permissions };
    const config = { roles, plugins: { directory: path.join(build, "plugins") } };
    return write("examples.yaml", JSON.stringify(config));
}

// ---- measuring ----

// `expected` stands in every good answer: a tool's error has status 200 too.
export async function load({ server, file, expected = "walk across" }, seconds, rate = 0) {
    const args = [server.address, connections, seconds, rate, file, expected];
    const result = await runLoad("load", args, { group: "bridge" });
    if (result.failed > 0) {
        server.fail(`${result.failed} of ${result.requests} answers were wrong\n${result.said}`);
    }
    return result;
}

async function measure(side, seconds) {
    const { server } = side;
    const before = cpuNs(server);
    const { requests, perSecond } = await load(side, seconds);
    return { cpuUs: (cpuNs(server) - before) / requests / 1000, perSecond };
}

const middle = (runs) => ({
    cpuUs: median(runs.map((run) => run.cpuUs)),
    perSecond: median(runs.map((run) => run.perSecond)),
});

// Both sides in turn, the order turned round in every other pair; each is { server, file, expected }.
export async function runPairs(sides, { pairs, seconds, say }) {
    const names = Object.keys(sides);
    for (const name of names) {
        await load(sides[name], 1);
    }
    const runs = Object.fromEntries(names.map((name) => [name, []]));
    for (let pair = 0; pair < pairs; pair += 1) {
        for (const name of pair % 2 ? names.toReversed() : names) {
            runs[name].push(await measure(sides[name], seconds));
        }
        const times = names.map((name) => `${name} ${runs[name].at(-1).cpuUs.toFixed(2)}`);
        say(`pair ${pair + 1}: ${times.join(", ")} µs per call`);
    }
    const ratios = runs[names[0]].map(({ cpuUs }, i) => cpuUs / runs[names[1]][i].cpuUs);
    return {
        pairs,
        seconds,
        connections,
        ...Object.fromEntries(names.map((name) => [name, middle(runs[name])])),
        ratios,
    };
}
