// The server that clients connect to: the built program with its default settings, the example plugin, the source of one
// recipe and a source with difficult schemas. Each run gets an address, or a command, of its own that records what passes.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import path from "node:path";
import { openRpc } from "./shapes.mjs";

export const root = path.resolve(import.meta.dirname, "..", "..");
const build = process.env.CAUSEWAY_BUILD ?? path.join(root, "build", "release");
const binary = process.env.CAUSEWAY_BIN ?? path.join(build, "causeway");

const START_MS = 20_000;
const permissions = ["access mcp tool discovery", "use jsonrpc services", "access content"];

async function listen(handler) {
    const server = createServer(handler);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const close = () => {
        server.closeAllConnections();
        server.close();
    };
    return { port: server.address().port, close };
}

// ---- services behind the server ----

// The methods of aria2 that docs/recipes/aria2.md exposes, and a service with difficult schemas.
const results = {
    "system.listMethods": () =>
        ["addUri", "tellStatus", "tellActive", "remove", "getVersion", "getGlobalStat"].map((one) => `aria2.${one}`),
    "aria2.getVersion": () => ({ version: "1.36.0", enabledFeatures: [] }),
    "rpc.discover": openRpc,
};

async function startServices() {
    const { port, close } = await listen(async (request, response) => {
        let text = "";
        for await (const chunk of request.setEncoding("utf8")) {
            text += chunk;
        }
        const { id, method } = JSON.parse(text);
        const answer = results[method]
            ? { result: results[method]() }
            : { error: { code: -32601, message: "Method not found" } };
        response.setHeader("Content-Type", "application/json").end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    });
    return { url: `http://127.0.0.1:${port}`, close };
}

const recipe = () => {
    const page = readFileSync(path.join(root, "docs", "recipes", "aria2.md"), "utf8");
    return /^```yaml\n([\s\S]*?)^```/m.exec(page)[1];
};

// The recipe of aria2, the service with difficult schemas and the example plugin; `mcp` holds further keys of that
// section. `bare` omits the sources.
function configuration({ services, folder, mcp, bare }) {
    const text = recipe()
        .replace("listen: 127.0.0.1:8080", "listen: 127.0.0.1:0")
        .replace("/var/lib/causeway", folder)
        .replace("http://127.0.0.1:6800/jsonrpc", services.url)
        .replace("use jsonrpc services]", "use jsonrpc services, access content]")
        .replace(/^sources:[\s\S]*/m, (sources) => (bare ? "" : sources));
    const shapes = bare ? "" : `  - {name: shapes, url: "${services.url}", methods: [{method: "shapes.*"}]}\n`;
    const plugins = `plugins: {directory: ${JSON.stringify(path.join(build, "plugins"))}}\n`;
    return `${text}${shapes}${plugins}${mcp ? `mcp: ${JSON.stringify(mcp)}\n` : ""}`;
}

// ---- the program ----

const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill()));

// The first match of a pattern in the standard output of a program that has just been started.
async function untilPrinted(child, pattern) {
    let output = "";
    const timer = setTimeout(() => child.kill(), START_MS);
    running.add(child);
    child.stderr.setEncoding("utf8").on("data", (text) => (output += text));
    // The loop must not end the stream, or the program could not write any more.
    for await (const chunk of child.stdout.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
        output += chunk;
        const match = pattern.exec(output);
        if (match) {
            clearTimeout(timer);
            child.stdout.resume();
            return match[1];
        }
    }
    throw new Error(`${path.basename(child.spawnfile)} did not start:\n${output}`);
}

async function end(child) {
    const ended = once(child, "close");
    child.kill();
    await ended;
    running.delete(child);
}

const piped = { stdio: ["ignore", "pipe", "pipe"] };

async function serve(config, env = process.env) {
    const child = spawn(binary, ["serve", "--config", config], { env, ...piped });
    return { url: `${await untilPrinted(child, /listening on (http:\S+)/)}/mcp`, close: () => end(child) };
}

// { url, command, env, mcp, close() }. `command` starts the same over stdio.
export async function startServer({ folder, mcp, bare = false }) {
    const services = await startServices();
    const config = path.join(folder, "causeway.yaml");
    writeFileSync(config, configuration({ services, folder, mcp, bare }));
    const env = { ...process.env, ARIA2_SECRET: "the secret of the stand-in" };
    const server = await serve(config, env);
    const close = async () => {
        await server.close();
        services.close();
    };
    const command = [binary, "stdio", "--config", config];
    return { url: server.url, env: { ARIA2_SECRET: env.ARIA2_SECRET }, command, mcp, close };
}

// A port that was free a moment ago.
async function freePort() {
    const { port, close } = await listen(() => {});
    close();
    return port;
}

// A server that can be started anew at the same address, behind a recorder: { url, restart(), close() }.
export async function startRestartable({ folder, transcript, mcp }) {
    const port = await freePort();
    const recorder = await startRecorder(`http://127.0.0.1:${port}/mcp`, transcript);
    const config = path.join(folder, "restart.yaml");
    const plugins = { directory: path.join(build, "plugins") };
    const settings = { listen: `127.0.0.1:${port}`, roles: { anonymous: permissions }, plugins, mcp };
    writeFileSync(config, JSON.stringify(settings));
    // Files that outlive the server stay in the folder of this run.
    const env = { ...process.env, XDG_STATE_HOME: path.join(folder, "state"), STATE_DIRECTORY: "" };
    let server = await serve(config, env);
    const restart = async () => {
        await server.close();
        server = await serve(config, env);
    };
    const close = async () => {
        recorder.close();
        await server.close();
    };
    return { url: recorder.url, restart, close };
}

// A server that rejects callers without a login, behind a recorder, and its authorization server.
export async function startLoginServer({ folder, transcript, mcp }) {
    const port = await freePort();
    const recorder = await startRecorder(`http://127.0.0.1:${port}/mcp`, transcript);
    const resource = recorder.url;
    const issuer = spawn(process.execPath, [path.join(import.meta.dirname, "issuer.mjs"), resource], piped);
    const issuerUrl = await untilPrinted(issuer, /^(http:\S+)/m);
    const config = path.join(folder, "login.yaml");
    const settings = {
        listen: `127.0.0.1:${port}`,
        public_url: new URL(resource).origin,
        roles: { authenticated: permissions },
        access: { issuers: [{ issuer: issuerUrl, allow_private: true }] },
        plugins: { directory: path.join(build, "plugins") },
        mcp,
    };
    writeFileSync(config, JSON.stringify(settings));
    const server = await serve(config);
    const close = async () => {
        recorder.close();
        await Promise.all([server.close(), end(issuer)]);
    };
    return { url: resource, close };
}

// ---- records ----

// An address that passes everything on to the server and writes a transcript.
export async function startRecorder(url, file) {
    const to = new URL(url);
    const note = (sign) => (chunk) => appendFileSync(file, `${sign} ${chunk}\n`);
    const { port, close } = await listen((request, response) => {
        note(">")(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
        const headers = { ...request.headers, host: to.host };
        const options = { host: to.hostname, port: to.port, method: request.method, path: request.url, headers };
        const onward = httpRequest(options, (answer) => {
            note("<")(`${answer.statusCode} ${JSON.stringify(answer.headers)}`);
            const { connection, ...passed } = answer.headers;
            response.writeHead(answer.statusCode, passed);
            response.flushHeaders();
            answer.on("end", drain);
            answer.on("data", note("<")).pipe(response);
            answer.on("error", () => response.destroy());
        });
        // A server may answer and close before it has read all of a request; the client must be able to read the answer.
        const drain = () => request.unpipe(onward).resume();
        onward.on("error", () => {
            drain();
            if (!response.headersSent) {
                response.destroy();
            }
        });
        response.on("close", () => onward.destroy());
        request.on("data", note(">")).pipe(onward);
    });
    return { url: `http://127.0.0.1:${port}${to.pathname}`, close };
}

// The command of a program behind tap.mjs.
export const tapped = (command, file) => [
    process.execPath,
    path.join(import.meta.dirname, "tap.mjs"),
    file,
    ...command,
];

// The protocol version of a transcript: a modern request names it, else the response to `initialize` does.
export function revisionOf(transcript) {
    const lines = transcript.split("\n");
    const named = (pattern, line) => pattern.exec(line)?.[1];
    const modern = lines
        .filter((line) => /"tools\/(call|list)"/.test(line))
        .map((line) => named(/"io\.modelcontextprotocol\/protocolVersion"\s*:\s*"([0-9-]+)"/, line));
    const legacy = lines
        .filter((line) => line.startsWith("<"))
        .map((line) => named(/"protocolVersion"\s*:\s*"([0-9-]+)"/, line));
    return [...modern, ...legacy].find((version) => version !== undefined) ?? null;
}
