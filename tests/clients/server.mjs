// The server that clients connect to: the built program with its default settings, the example plugin, the source of one
// recipe and a source with difficult schemas. Each run gets an address, or a command, of its own that records what passes.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { listen } from "./recorder.mjs";
import { openRpc } from "./shapes.mjs";

export const root = path.resolve(import.meta.dirname, "..", "..");
export const build = process.env.CAUSEWAY_BUILD ?? path.join(root, "build", "release");
export const binary = process.env.CAUSEWAY_BIN ?? path.join(build, "causeway");

const START_MS = 20_000;
// Rights to use the example plugin.
export const permissions = ["access mcp tool discovery", "use jsonrpc services", "access content"];

// ---- services behind the server ----

// The methods of aria2 that docs/recipes/aria2.md exposes, and a service with difficult schemas.
const results = {
    "system.listMethods": () =>
        ["addUri", "tellStatus", "tellActive", "remove", "getVersion", "getGlobalStat"].map((one) => `aria2.${one}`),
    "aria2.getVersion": () => ({ version: "1.36.0 (stand-in)", enabledFeatures: [] }),
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
        // Some products start programs without the variables of their own environment.
        .replace("secret: {environment: ARIA2_SECRET}", `secret: {file: ${path.join(folder, "secret")}}`)
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
export async function untilPrinted(child, pattern) {
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

export async function end(child) {
    const ended = once(child, "close");
    child.kill();
    await ended;
    running.delete(child);
}

export const piped = { stdio: ["ignore", "pipe", "pipe"] };

// Keys and ends of sessions are kept beside the configuration, and not with those of the user who runs the tests.
export const stateOf = (config) => ({
    STATE_DIRECTORY: undefined,
    XDG_STATE_HOME: path.join(path.dirname(config), "state"),
});

export async function serve(config, env = process.env) {
    const child = spawn(binary, ["serve", "--config", config], { env: { ...env, ...stateOf(config) }, ...piped });
    return { url: `${await untilPrinted(child, /listening on (http:\S+)/)}/mcp`, close: () => end(child) };
}

// { url, command, mcp, close() }. `command` starts the same over stdio.
export async function startServer({ folder, mcp, bare = false }) {
    const services = await startServices();
    const config = path.join(folder, "causeway.yaml");
    writeFileSync(path.join(folder, "secret"), "the secret of the stand-in", { mode: 0o600 });
    writeFileSync(config, configuration({ services, folder, mcp, bare }));
    const server = await serve(config);
    const close = async () => {
        await server.close();
        services.close();
    };
    const command = [binary, "stdio", "--config", config];
    return { url: server.url, command, mcp, close };
}
