// What tests of the bridge share: a causeway with test plugins, and requests to its doors.
//
//     const server = await startBridge({ plugins: ["echo"] });
//     const { status, json } = await modern(server, "tools/list");
//     const answer = await rpc(server, { method: "test.echo", params: {…}, id: 1 });
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after } from "node:test";
import { keepFolder } from "./kept.mjs";
import { buildFolder, patience, replicaCount, startCauseway, stopwatch, writeConfig } from "./programs.mjs";
import { newSharedStore, startReplicated } from "./round-robin.mjs";
import { eventually, request } from "./server.mjs";

export const modernVersion = "2026-07-28";
export const legacyVersions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
export const permissions = ["access mcp tool discovery", "use jsonrpc services", "access content"];

const namespace = "io.modelcontextprotocol";
export const metaKey = (name) => `${namespace}/${name}`;

// What a server offers to every modern client beside its tools.
export const extensions = { [metaKey("tasks")]: {} };

// ---- the server ----

export const pluginFile = (name) => path.join(buildFolder, "tests", "plugins", `${name}.so`);

let folders = 0;

// A folder of its own with copies of these test plugins.
export function makePluginFolder(names = []) {
    folders += 1;
    const folder = path.join(keepFolder(), `plugins-${folders}`);
    mkdirSync(folder, { recursive: true });
    names.forEach((name) => addPlugin(folder, name));
    return folder;
}

// Copied beside and renamed: the server never sees half a file.
export function addPlugin(folder, name, as = name) {
    const half = path.join(folder, `${as}.part`);
    copyFileSync(pluginFile(name), half);
    renameSync(half, path.join(folder, `${as}.so`));
}

// Start with `plugins` and wait until their tools are there. `config` is put over the default one,
// and `config.plugins` over its plugins. With CAUSEWAY_TEST_REPLICAS, so many servers of one database take turns.
export async function startBridge({ plugins = ["echo"], config = {}, roles, ...options } = {}) {
    const folder = makePluginFolder(plugins);
    const isReplicated = replicaCount > 1;
    const file = writeConfig({
        roles: roles ?? { anonymous: permissions },
        ...(isReplicated ? { store: await newSharedStore() } : {}),
        ...config,
        plugins: { directory: folder, ...config.plugins },
    });
    const { args = [], ...rest } = options;
    const server = isReplicated
        ? await startReplicated({ ...rest, args, file })
        : await startCauseway({ ...rest, args: [...args, "--config", file] });
    server.plugins = folder;
    server.config = file;
    if (roles === undefined) {
        const first = {
            checked: "checked.order",
            conformance: "first_tool",
            echo: "test.echo",
            faults: "faults.ok",
        };
        for (const name of plugins) {
            await untilTool(server, first[name]);
        }
    } else if (plugins.length > 0 && /starting before all sources have responded/.test(server.stderr)) {
        await untilSources(server, plugins.length).catch(() => {}); // some tests have plugins that never load
    }
    return server;
}

// Put `more` over the configuration that it was started with, and wait until it was read again.
export async function reloadBridge(server, more = {}) {
    const count = () => server.stderr.split("configuration read again").length;
    const before = count();
    const config = JSON.parse(readFileSync(server.config, "utf8"));
    writeFileSync(server.config, JSON.stringify({ ...config, ...more }));
    server.child.kill("SIGHUP");
    await server.until(() => count() >= before + replicaCount, "a reload");
}

// The tool's own name. Lists on /mcp have portable ones.
export const ownName = (tool) => tool._meta?.["causeway/name"] ?? tool.name;

export async function toolNames(server) {
    const { json } = await modern(server, "tools/list");
    return json.result.tools.map(ownName);
}

export async function toolOf(server, name) {
    const { json } = await modern(server, "tools/list");
    return json.result.tools.find((tool) => ownName(tool) === name);
}

export async function untilTool(server, name, there = true) {
    const look = async () => (await toolNames(server)).includes(name) === there;
    await eventually(look, `${name} ${there ? "in" : "gone from"} the list`, 10_000);
}

// A server starts without plugins that take long to load. For callers who see none of their tools: wait until so many
// sources are in its catalogue.
export async function untilSources(server, n) {
    const published = /catalogue published .*sources=(\d+)/g;
    const has = ({ stderr }) => [...stderr.matchAll(published)].some(([, count]) => Number(count) >= n);
    await server.until(() => (server.servers ?? [server]).every(has), `${n} sources in the catalogue`);
}

// Each loop takes what is published a moment later, and has connections of its own: whether all of some agree.
export const onAllLoops = async (look) => (await Promise.all(Array.from({ length: 8 }, () => look()))).every(Boolean);

// ---- requests ----

// POST, and the answer as { status, headers, text, json }; json is undefined when it is none.
export async function post(server, target, body, headers = {}, options = {}) {
    const sent = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
    const all = { "Content-Type": "application/json", ...headers };
    const given = Object.entries(all).filter(([, value]) => value !== undefined);
    const answer = await fetch(`${server.url}${target}`, {
        method: "POST",
        body: sent,
        headers: Object.fromEntries(given),
        ...options,
    }).catch((error) => {
        // "fetch failed" alone does not name the reason.
        if (error.cause) error.message += `: ${error.cause.code ?? ""} ${error.cause.message}`;
        throw error;
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, json: parse(text) };
}

function parse(text) {
    try {
        return JSON.parse(text);
    } catch {
        return undefined;
    }
}

export const both = { Accept: "application/json, text/event-stream" };

export function envelope(more = {}) {
    return {
        [metaKey("protocolVersion")]: modernVersion,
        [metaKey("clientCapabilities")]: {},
        ...more,
    };
}

// The body and headers of a well-made modern request; a header that is undefined is left out.
export function modernParts(method, params = {}, { id = 1, meta, headers = {} } = {}) {
    const value = method === "resources/read" ? params.uri : (params.taskId ?? params.name);
    const name = value === undefined ? {} : { "Mcp-Name": value };
    return {
        body: { jsonrpc: "2.0", id, method, params: { ...params, _meta: envelope(meta) } },
        headers: {
            ...both,
            "MCP-Protocol-Version": modernVersion,
            "Mcp-Method": method,
            ...name,
            ...headers,
        },
    };
}

// A call of a tool as bytes for a raw connection; `lines` are put among the headers.
export function toolRequest(name, args, { lines = "", meta } = {}) {
    const { body, headers } = modernParts("tools/call", { name, arguments: args }, { meta });
    const all = { "Content-Type": "application/json", ...headers };
    const text = request("POST", "/mcp", all, JSON.stringify(body));
    return text.replace("\r\n", `\r\n${lines}`);
}

export async function modern(server, method, params, options = {}) {
    const { body, headers } = modernParts(method, params, options);
    return await post(server, options.path ?? "/mcp", body, headers, options.fetch);
}

export const callTool = (server, name, args, options) =>
    modern(server, "tools/call", { name, arguments: args }, options);

// The result of a tool that must work.
export async function callToolWell(server, name, args, options) {
    const answer = await callTool(server, name, args, options);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.json?.result?.isError ?? false, false, answer.text);
    assert.ok(answer.json.result, answer.text);
    return answer.json.result;
}

// The text of a tool error: an ordinary result with isError.
export function assertToolError({ status, text, json }, pattern = /\S/) {
    assert.equal(status, 200, text);
    assert.equal(json?.result?.isError, true, text);
    assert.equal(json.result.content[0].type, "text");
    assert.match(json.result.content[0].text, pattern);
    return json.result.content[0].text;
}

export async function legacy(server, method, params, { id = 1, version, headers = {}, path = "/mcp" } = {}) {
    const body = { jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) };
    const all = { ...both, "MCP-Protocol-Version": version, ...headers };
    return await post(server, path, body, all);
}

export const initialize = (server, protocolVersion, headers) =>
    legacy(
        server,
        "initialize",
        { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } },
        { headers },
    );

export const rpc = (server, message, headers) =>
    post(server, "/jsonrpc", Array.isArray(message) ? message : { jsonrpc: "2.0", ...message }, headers);

// An error answer of a door: its status, its code, and its id (undefined: there must be none).
export function assertRpcError(answer, status, code, id) {
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.headers.get("content-type") ?? "", /^application\/json/);
    assert.equal(answer.json?.jsonrpc, "2.0", answer.text);
    assert.equal(answer.json.error?.code, code, answer.text);
    assert.equal(typeof answer.json.error.message, "string");
    assert.equal("result" in answer.json, false);
    assert.deepEqual(answer.json.id, id, answer.text);
    assert.equal("id" in answer.json, id !== undefined, answer.text);
    return answer.json.error;
}

// An error of an MCP door without an id: one sentence that no client takes for an answer.
export function assertPlain(answer, status, pattern = /./) {
    assert.equal(answer.status, status, answer.text);
    const type = answer.headers.get ? answer.headers.get("content-type") : answer.headers["content-type"];
    assert.match(type, /^text\/plain/);
    assert.match(answer.text, /^[A-Z][^\n]*\.$/);
    assert.match(answer.text, pattern);
}

// ---- answers that are streams ----

const streams = new Set();
after(() => streams.forEach((stream) => stream.close()));

// A POST whose answer is read event by event: status, headers, next() and events.
export class EventStream {
    static async open(server, method, params, options = {}) {
        const { body, headers } = modernParts(method, params, options);
        const request = {
            method: "POST",
            body: JSON.stringify(body),
            headers: { "Content-Type": "application/json", ...headers },
        };
        return await EventStream.of(server, request, options.path);
    }

    // GET: the stream of a legacy session.
    static async get(server, headers = {}, path = "/mcp") {
        return await EventStream.of(server, { headers: { Accept: "text/event-stream", ...headers } }, path);
    }

    static async of(server, request, path = "/mcp") {
        const stream = new EventStream();
        streams.add(stream);
        const answer = await fetch(`${server.url}${path}`, {
            ...request,
            signal: stream.aborter.signal,
        });
        stream.status = answer.status;
        stream.headers = answer.headers;
        stream.type = answer.headers.get("content-type");
        stream.reading = stream.read(answer.body);
        return stream;
    }

    constructor() {
        this.aborter = new AbortController();
        this.events = []; // all that came, as { lines, data, at }
        this.comments = 0;
        this.taken = 0;
        this.ended = false;
        this.text = "";
    }

    async read(body) {
        const decoder = new TextDecoder();
        try {
            for await (const chunk of body) {
                this.text += decoder.decode(chunk, { stream: true });
                this.split();
            }
        } catch (error) {
            this.error = error;
        }
        this.ended = true;
    }

    split() {
        this.text = this.text.replace(/^:.*\n/gm, () => {
            this.comments += 1;
            return "";
        });
        for (;;) {
            const match = /\r?\n\r?\n/.exec(this.text);
            if (match === null) {
                return;
            }
            const lines = this.text.slice(0, match.index).split(/\r?\n/);
            this.text = this.text.slice(match.index + match[0].length);
            const data = lines.filter((line) => line.startsWith("data:"));
            assert.ok(data.length > 0, `an event without data: ${lines}`);
            const json = JSON.parse(data.map((line) => line.slice(5).trimStart()).join("\n"));
            this.events.push({ lines, json, at: performance.now() });
        }
    }

    // The next message, or undefined at the end of the stream.
    async next(timeoutMs = 5_000) {
        const look = () => this.taken < this.events.length || this.ended;
        await eventually(look, "the next event", timeoutMs);
        return this.taken < this.events.length ? this.events[this.taken++].json : undefined;
    }

    async rest(timeoutMs = 10_000) {
        await eventually(() => this.ended, "the end of the stream", timeoutMs);
        const left = this.events.slice(this.taken).map(({ json }) => json);
        this.taken = this.events.length;
        return left;
    }

    // Leave: the connection is closed.
    close() {
        streams.delete(this);
        this.aborter.abort();
    }
}

// ---- the server from outside ----

// The worker processes that the server has now.
export function workersOf(server) {
    const tasks = readdirSync(`/proc/${server.pid}/task`);
    const lists = tasks.map((task) => {
        try {
            return readFileSync(`/proc/${server.pid}/task/${task}/children`, "latin1");
        } catch {
            return ""; // a thread that has ended meanwhile
        }
    });
    return lists.flatMap((list) => list.split(" ").filter(Boolean).map(Number));
}

// ---- time ----

// `ms` by the clock on the wall; `awake` without pauses of the whole machine, for upper bounds.
export async function timed(work) {
    const [begin, elapsed] = [performance.now(), stopwatch()];
    const value = await work();
    return { value, ms: performance.now() - begin, awake: elapsed() };
}

// Whether the machine has stood still meanwhile: time limits of a server may be over then.
export const stoodStill = ({ ms, awake }) => ms - awake > 200;

// Work that takes at most `limit` ms, without pauses of the machine. A busy machine may delay some tries.
export async function assertSoon(limit, work) {
    for (let attempt = 1; ; attempt += 1) {
        const { value, awake } = await timed(work);
        if (awake <= limit) return value;
        assert.ok(attempt < 5, `${awake.toFixed(0)} ms, not ${limit}`);
    }
}

export function assertWithin(ms, limit, what) {
    const most = patience(limit);
    assert.ok(ms <= most, `${what}: ${ms.toFixed(0)} ms, not ${most}`);
}
