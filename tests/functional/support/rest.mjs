// What tests of the REST doors share: requests with every header under control, and a server with
// as many tools as a test wants.
//
//     const server = await startExamples();
//     const { status, headers, json } = await get(server, "/mcp/tools/list");
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { keepFolder } from "./kept.mjs";
import { addPlugin, makePluginFolder, permissions, startBridge, untilSources } from "./mcp.mjs";
import { buildFolder, root, startCauseway, writeConfig } from "./programs.mjs";
import { eventually } from "./server.mjs";

// One request; unlike fetch this adds no header. json is undefined when the body is none.
export function send(server, method, target, { headers = {}, body } = {}) {
    return new Promise((resolve, reject) => {
        const options = { method, headers, agent: false };
        const request = http.request(`${server.url}${target}`, options, (answer) => {
            const chunks = [];
            answer.on("data", (chunk) => chunks.push(chunk));
            answer.on("end", () => {
                const bytes = Buffer.concat(chunks);
                const text = bytes.toString("utf8");
                const { statusCode: status } = answer;
                resolve({ status, headers: answer.headers, bytes, text, json: parse(text) });
            });
        });
        request.on("error", reject);
        request.end(body);
    });
}

function parse(text) {
    try {
        return JSON.parse(text);
    } catch {
        return undefined;
    }
}

export const get = (server, target, headers) => send(server, "GET", target, { headers });

export function post(server, target, body, headers = {}) {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const all = { "Content-Type": "application/json", ...headers };
    return send(server, "POST", target, { headers: all, body: text });
}

export const invoke = (server, name, args, headers) =>
    post(server, "/mcp/tools/invoke", { name, arguments: args }, headers);

// Every error of these doors: JSON with code and message, and never stored.
export function assertRestError(answer, status, code, message = /\S/) {
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.headers["content-type"], "application/json");
    assert.equal(answer.headers["cache-control"], "no-store");
    assert.deepEqual(Object.keys(answer.json), ["error"]);
    assert.equal(answer.json.error.code, code, answer.text);
    assert.match(answer.json.error.message, message);
    return answer.json.error;
}

// The example plugin with its content (then changed by `sql`), and beside it any test plugins and
// what `prepare` puts into the folder.
export async function startExamples(options = {}) {
    const { plugins = [], config = {}, roles, sql = "", prepare = () => {} } = options;
    const folder = makePluginFolder([]);
    const file = path.join(folder, "examples.so");
    copyFileSync(path.join(buildFolder, "plugins", "examples.so"), file);
    const content = readFileSync(path.join(root, "plugins", "examples", "content.sql"), "utf8");
    const database = path.join(folder, "examples.db");
    execFileSync("sqlite3", ["-bail", database], { input: `${content}${sql}` });
    plugins.forEach((name) => addPlugin(folder, name));
    await prepare(folder);
    const all = {
        roles: roles ?? { anonymous: permissions },
        ...config,
        plugins: { ...config.plugins, directory: folder },
    };
    const configFile = writeConfig(all);
    const server = await startCauseway({ args: ["--config", configFile] });
    Object.assign(server, { plugins: folder, config: configFile, settings: all });
    // A server listens after three seconds, whether or not its plugins are loaded.
    await untilSources(server, plugins.length + 1);
    return server;
}

export const toolName = (i) => `t.${String(i).padStart(5, "0")}`;

let described = 0;

// A server with `n` tools, or those of a list (names, or entries of `methods`), of a service that is
// described by a file and never there.
export async function startMany(n, config = {}) {
    const entries = Array.isArray(n) ? n : Array.from({ length: n }, (_, i) => toolName(i));
    const names = entries.map((entry) => entry.method ?? entry);
    described += 1;
    const openrpc = path.join(keepFolder(), `many-${described}.json`);
    const methods = names.map((name) => ({
        name,
        summary: `Tool ${name}`,
        params: [{ name: "x", schema: { type: "integer" } }],
        result: { name: "r", schema: {} },
    }));
    const info = { title: "many", version: "1" };
    writeFileSync(openrpc, JSON.stringify({ openrpc: "1.3.2", info, methods }));
    const source = { name: "many", url: "http://127.0.0.1:9/", openrpc, methods: entries };
    const server = await startBridge({ plugins: [], config: { sources: [source], ...config } });
    const hasAll = async () => (await get(server, "/mcp/tools/list")).json?.tools.length > 0;
    await eventually(hasAll, "the tools");
    return server;
}

// All pages from the first on; `visit` sees each of them.
export async function allPages(server, visit = () => {}) {
    const tools = [];
    let target = "/mcp/tools/list";
    for (let pages = 0; pages < 10_000; pages++) {
        const answer = await get(server, target);
        assert.equal(answer.status, 200, answer.text);
        visit(answer);
        tools.push(...answer.json.tools);
        if (answer.json.nextCursor === null) {
            return tools;
        }
        target = `/mcp/tools/list?cursor=${encodeURIComponent(answer.json.nextCursor)}`;
    }
    assert.fail("the list has no end");
}
