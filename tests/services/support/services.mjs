// What tests of real services share: the service, started on an address of this test's own and
// stopped by its pid; a causeway with the configuration of the service's recipe; an MCP client.
//
//     const test = testsOf({ aria2c: "aria2" });        // skipped, by name, where it is not installed
//     const aria2 = await startService("aria2c", […], { ready: () => answers(port) });
//     const bridge = await startRecipe(t, "aria2", { [address]: ours }, { env });
//     const client = await connect(t, bridge);
import assert from "node:assert/strict";
import { accessSync, constants, existsSync, mkdirSync, readFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { after, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { checkTools, describe, toolsOfList } from "../../clients/rules.mjs";
import { keepFolder } from "../../functional/support/kept.mjs";
import { callTool, ownName } from "../../functional/support/mcp.mjs";
import { patience, Program, root, slowness, startCauseway } from "../../functional/support/programs.mjs";
import { eventually } from "../../functional/support/server.mjs";
import { freePort } from "../../functional/support/ports.mjs";

export { freePort, eventually, patience, slowness };
export { rpc, timed } from "../../functional/support/mcp.mjs";
export { pause } from "../../functional/support/server.mjs";

// ---- what is installed ----

// Daemons lie in sbin, which is not in everybody's PATH.
const folders = [...(process.env.PATH ?? "").split(":"), "/usr/sbin", "/sbin"];

function find(program) {
    const files = folders.map((folder) => path.join(folder, program));
    return files.find((file) => {
        try {
            accessSync(file, constants.X_OK);
            return true;
        } catch {
            return false;
        }
    });
}

// A `test` for those programs, each with the Debian package that it comes in.
export function testsOf(programs) {
    const missing = Object.entries(programs).filter(([program]) => find(program) === undefined);
    const what = missing.map(([program, name]) => `${program} (package ${name})`).join(", ");
    const skip = missing.length > 0 && `not installed: ${what}`;
    return (name, work) => test(name, { skip }, work);
}

// ---- services ----

let made = 0;

// A folder that goes when the tests of the file have passed.
export function makeFolder(name) {
    made += 1;
    const folder = path.join(keepFolder(), `${made}-${name}`);
    mkdirSync(folder, { recursive: true });
    return folder;
}

// A path for a socket: those may have 107 bytes, and the folder of a test can be deep.
export function socketPath(folder) {
    const file = path.join(folder, "socket");
    assert.ok(Buffer.byteLength(file) < 108, `too long for a socket: ${file}`);
    return file;
}

// Whether somebody accepts connections there: a port of loopback, or the path of a socket.
export function accepts(where) {
    const to = typeof where === "number" ? { port: where, host: "127.0.0.1" } : { path: where };
    return new Promise((resolve) => {
        const socket = net.connect(to, () => {
            socket.destroy();
            resolve(true);
        });
        socket.on("error", () => resolve(false));
    });
}

const services = new Set();
after(() => Promise.all([...services].map((service) => service.end())));

class Service extends Program {
    // How it ends is its own affair; that it has ended is ours.
    async end(signal = "SIGTERM") {
        services.delete(this);
        this.child.kill(signal);
        const timer = setTimeout(() => this.child.kill("SIGKILL"), 10_000);
        await this.exited.catch(() => {});
        clearTimeout(timer);
    }
}

// Start a program and wait until `ready()` is true.
export async function startService(program, args, { ready, env, cwd } = {}) {
    const service = new Service(find(program), args, { env, cwd, name: program });
    services.add(service);
    let end = null;
    service.exited.then(
        (how) => (end = how),
        (error) => (end = error),
    );
    const look = async () => {
        assert.equal(end, null, `${program} ended:\n${service.stdout}${service.stderr}`);
        return await ready(service);
    };
    await eventually(look, `${program} is ready`, 30_000);
    return service;
}

// ---- recipes ----

// The configuration that the page of a service shows.
export function recipe(name) {
    const file = path.join(root, "docs", "recipes", `${name}.md`);
    const block = /^```yaml\n([\s\S]*?)^```$/m.exec(readFileSync(file, "utf8"));
    assert.ok(block, `${file} has no block of YAML`);
    return block[1];
}

// It with addresses, paths and secrets of a test in place of those on the page. All of them must be
// there.
export function recipeFor(name, replacements) {
    let text = recipe(name);
    for (const [from, to] of Object.entries(replacements)) {
        assert.ok(text.includes(from), `the recipe of ${name} does not say ${from}`);
        text = text.replaceAll(from, to);
    }
    return text;
}

// Start causeway with it. The state is kept in a folder of its own unless one is given.
export async function startRecipe(t, name, replacements, { env, state, stops = true } = {}) {
    const folder = state ?? makeFolder("state");
    const config = recipeFor(name, { "/var/lib/causeway": folder, ...replacements });
    const bridge = await startCauseway({ config, env });
    bridge.state = folder;
    bridge.text = config;
    if (stops) {
        t.after(() => bridge.stop());
    }
    return bridge;
}

// ---- the client ----

const about = { name: "services", version: "1.0.0" };

// Calls wait for sources that are loaded, but for some seconds only: on a busy machine services may need longer.
// Without `hasTools` nothing is waited for.
export async function connect(t, bridge, { hasTools = true } = {}) {
    const client = new Client(about, { versionNegotiation: { mode: "auto" } });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${bridge.url}/mcp`)));
    t.after(() => client.close());
    const isThere = async () => !hasTools || (await client.listTools()).tools.length > 0;
    await eventually(isThere, "the tools", 20_000);
    return client;
}

// Tools by name. No model API may reject the list.
export async function toolsOf(client) {
    const { tools } = await client.listTools();
    assert.deepEqual(checkTools(toolsOfList(tools)).map(describe), []);
    return Object.fromEntries(tools.map((tool) => [ownName(tool), tool]));
}

// The result of a tool that must work: its structured content, the JSON of its text, or the text.
export async function call(client, name, args = {}) {
    const result = await client.callTool({ name, arguments: args });
    assert.equal(result.isError ?? false, false, `${name}: ${JSON.stringify(result.content)}`);
    return result.structuredContent ?? parse(result.content[0]?.text ?? "");
}

function parse(text) {
    try {
        return JSON.parse(text);
    } catch {
        return text;
    }
}

// The text of a call that must fail, as a model reads it. It is short and has nothing of the inside
// of a service in it.
export async function callFails(client, name, args, pattern) {
    const result = await client.callTool({ name, arguments: args });
    const text = result.content.map((part) => part.text ?? "").join("\n");
    assert.equal(result.isError, true, `${name}: ${text}`);
    assert.match(text, pattern);
    assertClean(JSON.stringify(result));
    return text;
}

// Whether a tool can be called just now, for tests that wait until it can.
export async function works(bridge, name, args = {}) {
    const { json } = await callTool(bridge, name, args);
    return json?.result !== undefined && json.result.isError !== true;
}

export function assertClean(text) {
    assert.ok(text.length < 2_000, `an error of ${text.length} bytes`);
    assert.doesNotMatch(text, /Traceback|\.py\b|File \\?"|\/usr\/|\/home\/|\/var\//);
}

export const stateFile = (bridge, name) => JSON.parse(readFileSync(path.join(bridge.state, name), "utf8"));

// The status of a source, as soon as it is this one. It is written after the tools are there.
export function untilState(bridge, source, state) {
    const file = `${source}.status.json`;
    const look = () => {
        const status = existsSync(path.join(bridge.state, file)) && stateFile(bridge, file);
        return status?.state === state && status;
    };
    return eventually(look, `${source} is ${state}`, 20_000);
}

// The methods that discovery found, by name, as in the description that is kept. It is written after the tools are there.
export async function described(bridge, source) {
    const file = `${source}.description.json`;
    await eventually(() => existsSync(path.join(bridge.state, file)), file);
    const { methods } = stateFile(bridge, file).openrpc;
    return Object.fromEntries(methods.map((method) => [method.name, method]));
}
