// Servers of single runs, for what one server for all cannot show: restarts, logins, errors, and a change of rights.
//
// Each function returns what the client needs in its environment and what must be closed: { env, close() }.
import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { changeInto, kindsOf, wrongAnswers } from "./errors.mjs";
import { listen, startRecorder } from "./recorder.mjs";
import { binary, build, end, permissions, piped, serve, untilPrinted } from "./server.mjs";

const here = import.meta.dirname;
const plugins = { directory: path.join(build, "plugins") };
// The tool of the example plugin that requires a login, and its scopes.
const LATER = "contentTypes__list";

// A port that was free a moment ago.
async function freePort() {
    const { port, close } = await listen(() => {});
    close();
    return port;
}

// The path of a configuration file in the folder of the run.
function configure(folder, settings) {
    const config = path.join(folder, "causeway.yaml");
    writeFileSync(config, JSON.stringify({ plugins, ...settings }));
    return config;
}

// ---- restart ----

// The server restarts between the two calls of the model, without any configuration for it.
export async function startRestartable({ folder, transcript, mcp }) {
    const port = await freePort();
    const recorder = await startRecorder(`http://127.0.0.1:${port}/mcp`, transcript);
    const settings = { listen: `127.0.0.1:${port}`, roles: { anonymous: permissions }, mcp };
    const config = configure(folder, settings);
    let server = await serve(config);
    const restart = async () => {
        await server.close();
        server = await serve(config);
    };
    const close = async () => {
        recorder.close();
        await server.close();
    };
    return { env: { MCP_URL: recorder.url }, onCall: (n) => n === 2 && restart(), close };
}

// ---- login ----

const browser = JSON.stringify([process.execPath, path.join(here, "browser.mjs")]);

// A server and an authorization server. Anonymous callers can do nothing, or (`late`) all but call one tool.
async function startLoginServer({ folder, transcript, mcp, late }) {
    const port = await freePort();
    const recorder = await startRecorder(`http://127.0.0.1:${port}/mcp`, transcript);
    const issuer = spawn(process.execPath, [path.join(here, "issuer.mjs"), recorder.url], piped);
    const issuerUrl = await untilPrinted(issuer, /^(http:\S+)/m);
    const roles = { authenticated: permissions, ...(late && { anonymous: permissions }) };
    const config = configure(folder, {
        listen: `127.0.0.1:${port}`,
        public_url: new URL(recorder.url).origin,
        roles,
        access: { issuers: [{ issuer: issuerUrl, allow_private: true }] },
        mcp,
    });
    const server = await serve(config);
    const close = async () => {
        recorder.close();
        await Promise.all([server.close(), end(issuer)]);
    };
    return { env: { MCP_URL: recorder.url, LOGIN: browser, ...(late && { LATER }) }, close };
}

export const startLogin = (run) => startLoginServer({ ...run, late: false });
export const startLateLogin = (run) => startLoginServer({ ...run, late: true });

// ---- accounts ----

function run(config, ...words) {
    const { status, stdout, stderr } = spawnSync(binary, [...words, "--config", config], { encoding: "utf8" });
    if (status !== 0) {
        throw new Error(`causeway ${words.join(" ")}: ${stderr}`);
    }
    return stdout;
}

// An account with a role, and a token of it.
function addAccount(config, name, ...roles) {
    run(config, "account", "add", name, "--no-password", ...roles.flatMap((role) => ["--role", role]));
    return JSON.parse(run(config, "token", "create", "--json", name)).token;
}

// The example plugin, and the one that has prompts and asks the user.
function copyPlugins(folder) {
    const directory = path.join(folder, "plugins");
    mkdirSync(directory);
    copyFileSync(path.join(build, "plugins", "examples.so"), path.join(directory, "examples.so"));
    copyFileSync(path.join(build, "tests", "plugins", "conformance.so"), path.join(directory, "conformance.so"));
    return { directory };
}

// ---- errors ----

// All errors, one after the other. problem() is what the server did wrong, or null.
export async function startErrors({ folder, transcript, mcp, era, client }) {
    const wanted = kindsOf(era, client.survivesAll);
    const database = path.join(folder, "accounts.db");
    const config = configure(folder, {
        listen: "127.0.0.1:0",
        roles: { anonymous: permissions, reader: permissions },
        access: { authenticated_only_own: true },
        store: { path: database },
        plugins: copyPlugins(folder),
        limits: { tools: [{ name: "test_simple_prompt", rate: "1/h burst 1" }] },
        mcp,
    });
    const tokens = { plain: addAccount(config, "plain", "reader"), poor: addAccount(config, "poor") };
    const server = await serve(config);
    const seen = {};
    const change = changeInto({ url: server.url, database, tokens }, seen);
    const recorder = await startRecorder(server.url, transcript, change);
    const close = async () => {
        recorder.close();
        await server.close();
    };
    const problem = () => wrongAnswers(seen, wanted).join(", ") || null;
    return { env: { MCP_URL: recorder.url, ERRORS: JSON.stringify(wanted) }, close, problem };
}

// ---- a role ----

// An account that sees one tool less than after the command $GRANT.
export async function startGrant({ folder, transcript, mcp }) {
    const config = configure(folder, {
        listen: "127.0.0.1:0",
        roles: { authenticated: permissions, editor: ["create content"] },
        store: { path: path.join(folder, "accounts.db") },
        mcp,
    });
    const token = addAccount(config, "alice");
    const server = await serve(config);
    const recorder = await startRecorder(server.url, transcript);
    const close = async () => {
        recorder.close();
        await server.close();
    };
    const GRANT = JSON.stringify([binary, "account", "grant", "alice", "editor", "--config", config]);
    return { env: { MCP_URL: recorder.url, TOKEN: token, GRANT }, close };
}
