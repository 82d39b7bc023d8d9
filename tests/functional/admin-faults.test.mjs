// Administration calls that do not come to their end: clients that leave, servers that stop.
import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import http from "node:http";
import { test } from "node:test";
import { databasePath } from "./support/accounts.mjs";
import { startBridge } from "./support/mcp.mjs";
import { patience, runCauseway } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";

// A service whose description comes when it is let go.
async function startSlowService(t) {
    const waiting = [];
    const service = http.createServer((_, response) => waiting.push(response));
    await new Promise((resolve) => service.listen(0, "127.0.0.1", resolve));
    t.after(() => service.close());
    t.after(() => service.closeAllConnections());
    const release = () => waiting.splice(0).forEach((response) => response.writeHead(500).end());
    return { url: `http://127.0.0.1:${service.address().port}/`, waiting, release };
}

async function start(t, service) {
    const path = databasePath();
    const sources = [{ name: "slow", url: service.url, discovery: "openrpc" }];
    const server = await startBridge({ config: { store: { path }, sources, loops: 2, timeouts: { drain: "500ms" } } });
    t.after(() => server.stop());
    server.socket = `${path}.sock`;
    return server;
}

function begin(socketPath, method, params = {}) {
    const options = { socketPath, method: "POST", path: "/jsonrpc", headers: { "Content-Type": "application/json" } };
    const answer = Promise.withResolvers();
    const request = http.request(options, async (response) => {
        answer.resolve(JSON.parse((await response.toArray()).join("")));
    });
    request.on("error", () => answer.resolve(undefined));
    request.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
    return { request, answer: answer.promise };
}

test("a client that leaves while a service is asked harms nothing", async (t) => {
    const service = await startSlowService(t);
    const server = await start(t, service);
    const calls = Array.from({ length: 20 }, () => begin(server.socket, "causeway.sources.refresh"));
    await eventually(() => service.waiting.length > 0, "the service is asked");
    await pause(200);
    for (const { request } of calls.slice(0, 15)) request.destroy();
    await pause(100);
    // It is asked again for calls that came late.
    const releasing = setInterval(service.release, 100);
    t.after(() => clearInterval(releasing));
    const answers = await Promise.all(calls.slice(15).map(({ answer }) => answer));
    for (const answer of answers) {
        assert.equal(answer.result.sources[0].name, "slow");
        assert.equal(answer.result.sources[0].state, "down");
    }
    const { answer } = begin(server.socket, "causeway.status");
    assert.ok((await answer).result.server.pid);
});

test("the catalogue can be read while the database is out of order", async (t) => {
    const path = databasePath();
    const server = await startBridge({ config: { store: { path } } });
    t.after(() => server.stop());
    const ask = (params) => begin(`${path}.sock`, "causeway.tools.list", params).answer;
    const all = (await ask({})).result.tools.length;
    assert.ok(all > 0);
    // The gate needs the roles of the database to answer for a caller.
    const caller = { role: "anonymous" };
    assert.equal((await ask(caller)).result.caller.name, "anonymous");
    writeFileSync(`${path}.new`, "no database".repeat(1_000));
    renameSync(`${path}.new`, path);
    const isOut = async () => (await ask(caller)).error?.code === -32013;
    await eventually(isOut, "the server to see another file");
    assert.equal((await ask({})).result.tools.length, all);
});

test("a server that stops ends the calls that wait", async (t) => {
    const service = await startSlowService(t);
    const server = await start(t, service);
    const methods = ["causeway.sources.refresh", "causeway.status", "causeway.reload", "causeway.config.show"];
    const calls = Array.from({ length: 40 }, (_, i) => begin(server.socket, methods[i % methods.length]));
    await pause(50);
    await server.stop(); // which asserts its exit code
    await Promise.all(calls.map(({ answer }) => answer));
});

// Every command that takes --server, with the fewest arguments.
const commands = [
    ["access", "matrix"],
    ["account", "add", "x", "--no-password"],
    ["account", "grant", "x", "y"],
    ["account", "list"],
    ["account", "show", "x"],
    ["audit"],
    ["cache", "rebuild"],
    ["describe", "x"],
    ["doctor"],
    ["list"],
    ["permission", "list"],
    ["reload"],
    ["role", "list"],
    ["session", "list"],
    ["source", "approve"],
    ["source", "diff"],
    ["source", "list"],
    ["source", "refresh"],
    ["status"],
    ["token", "create", "x"],
    ["token", "list"],
    ["upgrade"],
    ["why", "x", "--anonymous"],
];

// Each member of a result that a command reads, with a value.
function resultWith(value) {
    const names = `access accounts applied approved caller cells changed components config connections damaged
        decisions differences discover etag expires id level listen methods more name names pid problem problems
        records restart roles rows rules scopes sessions sources token tokens tool tools unknown_scopes upgraded
        version`;
    const members = names.split(/\s+/).map((name) => [name, value]);
    return { ...Object.fromEntries(members), server: { version: "0.1.0", pid: 1, started: 1 } };
}

test("a server elsewhere that returns nonsense neither ends a command by a signal nor drives the terminal", {
    timeout: patience(120_000),
}, async (t) => {
    const hostile = "\u001b]0;title\u0007";
    const values = [
        null,
        7,
        hostile,
        true,
        {},
        { a: hostile },
        [],
        [7, null, hostile],
        [[]],
        [{}],
        [{ kind: "service" }],
    ];
    const service = { kind: "service", name: hostile, source: hostile, method: hostile, problem: hostile };
    const replies = [...values, [service]].map((value) => ({ result: resultWith(value) }));
    for (const code of [-32601, -32602, -32010, -1]) replies.push({ error: { code, message: `${hostile}\n` } });
    const page = { tools: [{ name: "a" }], rows: [{ name: "a", cells: ["yes"] }], caller: { discover: true } };
    replies.push({ result: { ...page, more: true } }, { result: { ...page, tools: [], rows: [], more: true } });
    replies.push({ result: {} }, { result: [] }, { result: hostile }, { error: hostile });
    let reply;
    const other = http.createServer((request, response) => {
        request.resume().on("end", () => response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, ...reply })));
    });
    await new Promise((resolve) => other.listen(0, "127.0.0.1", resolve));
    t.after(() => other.close());
    const target = ["--server", `http://127.0.0.1:${other.address().port}`];
    const env = { CAUSEWAY_TOKEN: "x" };
    for (reply of replies) {
        const run = async (words) => {
            const { code, signal, stdout, stderr } = await runCauseway([...words, ...target], { env });
            const about = `${words.join(" ")}: ${JSON.stringify(reply).slice(0, 200)}: ${stdout}${stderr}`;
            assert.equal(signal, null, about);
            assert.ok(code <= 2, about);
            assert.doesNotMatch(stdout + stderr, /[\u001b\u0007]/, about);
        };
        for (let i = 0; i < commands.length; i += 4) await Promise.all(commands.slice(i, i + 4).map(run));
    }
});
