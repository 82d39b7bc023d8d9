// A causeway with a database of accounts, and the commands that change it.
//
//     const server = await startAccounts();
//     await server.cli("account", "add", "bob", { input: "s3cret" });
//     await rpc(server, { method: "test.caller", id: 1 }, basic("bob", "s3cret"));
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { keepFolder } from "./kept.mjs";
import { startBridge } from "./mcp.mjs";
import { replicaCount, runCauseway, writeConfig } from "./programs.mjs";
import { sharedServer } from "./round-robin.mjs";

export const discover = "access mcp tool discovery";
export const call = "use jsonrpc services";

let databases = 0;

export function databasePath() {
    databases += 1;
    return path.join(keepFolder(), `accounts-${databases}.db`);
}

// A new database: a file, or one on the server that useServer names.
let databaseServer;

export function useServer(server) {
    databaseServer = server;
}

async function newStore() {
    if (replicaCount > 1 && !databaseServer) {
        useServer(await sharedServer());
    }
    return databaseServer ? { url: databaseServer.newDatabase() } : { path: databasePath() };
}

// What the database holds, in files.
function filesOf({ path: file, url }) {
    if (url === undefined) {
        return [file, `${file}-wal`].filter((name) => existsSync(name));
    }
    const dump = path.join(keepFolder(), "dump.sql");
    writeFileSync(dump, databaseServer.dump(url), "latin1");
    return [dump];
}

// Who may do what unless a test says otherwise: the echo plugin's tools need "access content".
export const roles = {
    anonymous: [discover, call],
    authenticated: [discover, call],
    editor: ["access content"],
};

// Tests write short passwords; what is set and what is shown is as long as a password must be.
export const longEnough = (password) =>
    password.length > 0 && password.length < 8 ? password.padEnd(8, "-") : password;

// Run a command that must succeed; what it printed.
export async function cli(config, ...words) {
    const { input, ...more } = typeof words.at(-1) === "object" ? words.pop() : {};
    const isPassword = words[0] === "account" && input !== undefined;
    const options = isPassword ? { ...more, input: longEnough(input.trimEnd()) } : { ...more, input };
    const { code, stdout, stderr } = await runCauseway([...words, "--config", config], options);
    assert.equal(code, 0, `causeway ${words.join(" ")}: ${stderr}`);
    return stdout;
}

export async function startAccounts({ config = {}, accounts = true, ...options } = {}) {
    const store = config.store ?? (await newStore());
    const all = { roles, ...config, store };
    if (accounts) {
        const file = writeConfig({ roles: all.roles, store });
        await cli(file, "account", "add", "alice", "--role", "editor", { input: "s3cret\n" });
        await cli(file, "account", "add", "bob", { input: "b0b" });
    }
    const server = await startBridge({ ...options, roles: all.roles, config: all });
    server.database = store.path;
    server.databaseFiles = () => filesOf(store);
    // Everything in the database as SQL, without the rows that a server writes from time to time: of itself, and of
    // used tokens. pg_dump writes a random word.
    server.dump = () =>
        store.url
            ? databaseServer
                  .dump(store.url)
                  .replace(/^COPY \S*\b(replica|token_use) [\s\S]*?^\\\.\n|^\\(un)?restrict .*\n/gm, "")
            : execFileSync("sqlite3", [store.path, ".dump"], { encoding: "utf8" }).replace(
                  /^INSERT INTO (replica|token_use) .*\n/gm,
                  "",
              );
    server.cli = (...words) => cli(server.config, ...words);
    server.token = async (...words) => JSON.parse(await server.cli("token", "create", "--json", ...words));
    return server;
}

export const basic = (name, password) => ({
    Authorization: `Basic ${Buffer.from(`${name}:${longEnough(password)}`).toString("base64")}`,
});

export const bearer = (token) => ({ Authorization: `Bearer ${token}` });

// A token that expires soon, and was good before. A busy machine may need longer than its time to use it once.
export async function shortToken(make, isGood) {
    for (let seconds = 1; seconds < 120; seconds *= 2) {
        const made = await make("--expires", `${seconds}s`);
        if (await isGood(made.token)) {
            return made;
        }
    }
    throw new Error("no token could be used before it expired");
}
