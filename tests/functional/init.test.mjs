// causeway init: a first configuration, by keys on a terminal and by options in a pipe.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import http from "node:http";
import {
    chmodSync,
    chownSync,
    existsSync,
    mkdirSync,
    mkdtempSync,
    readdirSync,
    readFileSync,
    rmSync,
    statSync,
    symlinkSync,
    writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { keepFolder } from "./support/kept.mjs";
import { binary, patience, root, runCauseway, startProgram, withoutLeakCheck } from "./support/programs.mjs";
import { freePort } from "./support/ports.mjs";
import { eventually } from "./support/server.mjs";
import { startService } from "./support/service.mjs";

const run = promisify(execFile);
let made = 0;

function newFolder() {
    made += 1;
    return path.join(keepFolder(), `init-${made}`);
}

async function init(folder, ...words) {
    const { code, stdout, stderr } = await runCauseway(["init", folder, "--yes", ...words]);
    assert.equal(code, 0, stderr);
    return stdout;
}

const snippetOf = (text) => JSON.parse(/^\{\n[\s\S]*?^\}$/m.exec(text)[0]);
const configOf = (folder) => path.join(folder, "causeway.yaml");

async function serve(t, folder) {
    const server = await startProgram(binary, ["serve", "--config", configOf(folder)]);
    t.after(() => server.stop());
    await eventually(() => server.stdout.includes("listening on"), "the server");
    // A busy machine may load the examples later than the start waits for them.
    if (/starting before all sources have responded/.test(server.stderr)) {
        await server.untilLogged(/catalogue published/);
    }
    return server;
}

async function assertHealthy(folder) {
    const { code, stdout, stderr } = await runCauseway(["doctor", "--json", "--config", configOf(folder)]);
    assert.equal(code, 0, stdout + stderr);
}

// What the snippet is for: the Inspector takes it as it is printed.
async function inspect(snippet, ...words) {
    const launcher = path.join(root, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    const file = path.join(keepFolder(), `snippet-${Math.random().toString(36).slice(2)}.json`);
    writeFileSync(file, JSON.stringify(snippet));
    const fixed = ["--cli", "--config", file, "--server", "causeway", "--format", "json"];
    const { stdout } = await run(process.execPath, [launcher, ...fixed, ...words], { timeout: patience(60_000) });
    return stdout;
}

test("a shell runs the printed commands as they stand, whatever the directory and the account are called", async () => {
    const folder = path.join(newFolder(), "Ada's $HOME; `x` (1)");
    mkdirSync(path.dirname(folder));
    const text = await init(folder, "--account", `O'Neil "$USER"`, "--examples");
    const commands = text.split("\n").filter((line) => line.startsWith("  causeway "));
    assert.deepEqual(
        commands.map((line) => line.split(" ")[3]),
        ["doctor", "serve", "list"],
    );
    const words = commands.find((line) => line.includes(" list ")).replace("  causeway", `"${binary}"`);
    const { stdout } = await run("/bin/sh", ["-c", words], { timeout: patience(60_000) });
    assert.match(stdout, /examples\.articles\.list/);
});

test("options in a pipe give a configuration whose snippet works with the Inspector", async (t) => {
    const folder = newFolder();
    const port = await freePort();
    const text = await init(folder, "--listen", `127.0.0.1:${port}`, "--account", "ann", "--examples");
    const { code, stderr } = await runCauseway(["config", "check", configOf(folder)]);
    assert.equal(code, 0, stderr);
    await assertHealthy(folder);
    const server = await serve(t, folder);
    assert.doesNotMatch(server.stderr, /a role has a permission that no method requires/);
    await assertHealthy(folder);
    const snippet = snippetOf(text);
    assert.equal(snippet.mcpServers.causeway.url, `http://127.0.0.1:${port}/mcp`);
    assert.match(await inspect(snippet, "--method", "tools/list"), /examples__articles__list/);
    const call = ["--method", "tools/call", "--tool-name", "examples__articles__list"];
    assert.match(await inspect(snippet, ...call), /content/);
    // It requires scopes, which the printed token has.
    const types = ["--method", "tools/call", "--tool-name", "examples__contentTypes__list"];
    assert.match(await inspect(snippet, ...types), /article/);
    assert.equal((text.match(/^ {2}causeway /gm) ?? []).length, 3, "the next three commands");
});

test("--json prints the same for programs, of a new and of an existing configuration", async () => {
    const folder = newFolder();
    const port = await freePort();
    const made = JSON.parse(await init(folder, "--json", "--listen", `127.0.0.1:${port}`, "--account", "ann"));
    const token = readFileSync(path.join(folder, "token"), "utf8").trim();
    assert.deepEqual(
        [made.config, made.account, made.url, made.token],
        [configOf(folder), "ann", `http://127.0.0.1:${port}/mcp`, token],
    );
    const entry = { type: "http", url: made.url, headers: { Authorization: `Bearer ${token}` } };
    assert.deepEqual(made.client, { mcpServers: { causeway: entry } });
    const words = ["init", "--json", "--config", configOf(folder), "--account", "bob"];
    const { code, stdout, stderr } = await runCauseway(words);
    assert.equal(code, 0, stderr);
    const added = JSON.parse(stdout);
    assert.deepEqual([added.config, added.account, added.url], [configOf(folder), "bob", made.url]);
    assert.notEqual(added.token, token);
});

test("callers without the token may do nothing", async (t) => {
    const folder = newFolder();
    const port = await freePort();
    await init(folder, "--listen", `127.0.0.1:${port}`, "--examples");
    const server = await serve(t, folder);
    const warnings = server.stderr.split("\n").filter((line) => / warn /.test(line));
    const others = warnings.filter((line) => !/starting before all sources have responded/.test(line));
    assert.deepEqual(others, [], "a first start has no warnings");
    const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
    const answer = await fetch(`http://127.0.0.1:${port}/mcp`, { method: "POST", headers, body });
    assert.equal(answer.status, 401);
});

test("secrets are for their owner alone, and nothing else can be read from the token file", async () => {
    const folder = newFolder();
    const text = await init(folder, "--account", "ann");
    const token = readFileSync(path.join(folder, "token"), "utf8").trim();
    assert.equal(snippetOf(text).mcpServers.causeway.headers.Authorization, `Bearer ${token}`);
    for (const name of [".", "token", "causeway.db", "state"]) {
        assert.equal(statSync(path.join(folder, name)).mode & 0o077, 0, name);
    }
    assert.ok(!readFileSync(configOf(folder), "utf8").includes(token));
});

test("account and token are as the commands make them, and both are recorded", async () => {
    const folder = newFolder();
    await init(folder, "--account", "ann", "--examples");
    const read = async (...words) =>
        JSON.parse((await runCauseway([...words, "--json", "--config", configOf(folder)])).stdout);
    const [account, ...others] = await read("account", "list");
    assert.deepEqual(others, []);
    assert.deepEqual([account.name, account.state, account.roles], ["ann", "active", ["editor"]]);
    const tokens = await read("token", "list");
    assert.deepEqual(
        tokens.map(({ account: owner, name, state, scopes }) => [owner, name, state, scopes]),
        [["ann", "init", "active", ["tutorial:read", "tutorial:search"]]],
    );
    const audit = path.join(folder, "audit.log");
    const records = readFileSync(audit, "utf8").trim().split("\n").map(JSON.parse);
    assert.deepEqual(
        records.map(({ kind, method, detail, outcome }) => [kind, method, detail, outcome]),
        [
            ["change", "account add", "ann", "ok"],
            ["change", "token create", "ann init", "ok"],
        ],
    );
    assert.ok(!readFileSync(audit, "utf8").includes(readFileSync(path.join(folder, "token"), "utf8").trim()));
});

test("a first service is detected as import does, and no method is a tool yet", async () => {
    const service = await startService();
    const folder = newFolder();
    const text = await init(folder, "--service", service.url, "--account", "ann");
    assert.match(text, /methods of .* set "tool: true"/s);
    await assertHealthy(folder);
    const overlays = readdirSync(folder).filter((name) => name.endsWith(".overlay.yaml"));
    assert.equal(overlays.length, 1);
    const checked = await runCauseway(["config", "check", configOf(folder)]);
    assert.equal(checked.code, 0, checked.stderr);
    const { stdout } = await runCauseway(["list", "--as", "ann", "--json", "--config", configOf(folder)]);
    assert.deepEqual(JSON.parse(stdout), []);
});

test("nothing is overwritten, and a failure leaves nothing behind", async () => {
    const folder = newFolder();
    await init(folder);
    const before = readFileSync(configOf(folder), "utf8");
    const again = await runCauseway(["init", folder, "--yes"]);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /causeway\.yaml' exists already, and init overwrites nothing/);
    assert.equal(readFileSync(configOf(folder), "utf8"), before);
    // A file of the user that has the name of the overlay stays.
    const service = await startService();
    const taken = newFolder();
    await init(taken, "--service", service.url);
    const overlay = readdirSync(taken).find((name) => name.endsWith(".overlay.yaml"));
    const third = newFolder();
    mkdirSync(third);
    writeFileSync(path.join(third, overlay), "mine");
    const refused = await runCauseway(["init", third, "--yes", "--service", service.url]);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /exists already/);
    assert.deepEqual(readdirSync(third), [overlay]);
    assert.equal(readFileSync(path.join(third, overlay), "utf8"), "mine");
    const port = await freePort();
    const other = newFolder();
    const failed = await runCauseway(["init", other, "--yes", "--service", `http://127.0.0.1:${port}/`]);
    assert.equal(failed.code, 1);
    assert.match(failed.stderr, /cannot be reached/);
    assert.ok(!existsSync(other));
});

test("nothing is written through a link, and a link of others stays", async () => {
    const target = path.join(keepFolder(), "not-of-init");
    for (const name of ["causeway.yaml", "causeway.db", "token", "audit.log", "state", "plugin-data"]) {
        const folder = newFolder();
        mkdirSync(folder);
        symlinkSync(target, path.join(folder, name));
        const { code, stderr } = await runCauseway(["init", folder, "--yes", "--examples"]);
        assert.equal(code, 1, name);
        assert.match(stderr, new RegExp(`${name}' exists already, and init overwrites nothing`));
        assert.deepEqual(readdirSync(folder), [name]);
        assert.ok(!existsSync(target), name);
    }
});

test("a directory whose result would not pass doctor is refused before anything is made", async () => {
    const open = newFolder();
    mkdirSync(open);
    for (const mode of [0o777, 0o770]) {
        chmodSync(open, mode);
        const { code, stderr } = await runCauseway(["init", open, "--yes"]);
        assert.equal(code, 1);
        assert.match(stderr, /others may write to '.*', so they could replace the database; use chmod go-w/);
        assert.deepEqual(readdirSync(open), []);
    }
    const long = path.join(keepFolder(), "x".repeat(120));
    const { code, stderr } = await runCauseway(["init", long, "--yes"]);
    assert.equal(code, 1);
    assert.match(stderr, /is too long for the socket of commands: it has \d+ bytes, and at most 90 are possible/);
    assert.ok(!existsSync(long));
});

test("a wrong value is named with what is expected, before anything is made", async () => {
    for (const [words, expected] of [
        [["--listen", "nonsense"], /--listen: "nonsense"; expected HOST:PORT/],
        [["--public-url", "ftp://x"], /--public-url: "ftp:\/\/x"; expected a URL/],
        [["--certificate", "/none"], /--certificate: "\/none"; expected a file/],
        [["--certificate", binary], /--certificate and --key belong together/],
        [["--account", "a\u0001"], /--account: .*; expected a name/],
        [["--account", "a:b"], /--account: .*; expected a name/],
    ]) {
        const folder = newFolder();
        const { code, stderr } = await runCauseway(["init", folder, "--yes", ...words]);
        assert.equal(code, 2, stderr);
        assert.match(stderr, expected);
        assert.ok(!existsSync(folder));
    }
});

test("questions are answered by keys on a terminal, and a wrong answer is asked again", async (t) => {
    const folder = newFolder();
    const port = await freePort();
    const socket = path.join(keepFolder(), `tmux-${made}`);
    const tmux = async (...words) => (await run("tmux", ["-S", socket, "-f", "/dev/null", ...words])).stdout;
    // Wide, so that no line is wrapped; it stays when the command has ended.
    const line = `'${binary}' init '${folder}'; echo "ended: $?"; sleep 900`;
    await tmux("new-session", "-d", "-x", "200", "-y", "80", line);
    t.after(() => tmux("kill-server"));
    const screen = () => tmux("capture-pane", "-p");
    const type = async (prompt, keys) => {
        await eventually(async () => (await screen()).trimEnd().endsWith(prompt), prompt, patience(10_000));
        await tmux("send-keys", "-l", keys);
        await tmux("send-keys", "Enter");
    };
    await type("Address to listen on [127.0.0.1:8080]:", "nonsense");
    await type(
        "Expected HOST:PORT, such as 127.0.0.1:8080.\nAddress to listen on [127.0.0.1:8080]:",
        `127.0.0.1:${port}`,
    );
    await type("by another name:", "");
    await type("empty: no TLS:", "");
    await eventually(async () => /Name of the first account \[.+\]:/.test(await screen()), "the account");
    await tmux("send-keys", "-l", "kay");
    await tmux("send-keys", "Enter");
    await type("empty: none:", "");
    await type("(yes or no) [no]:", "");
    await type("(yes or no) [yes]:", "");
    await type("Serve the console, pages for browsers (yes or no) [no]:", "yes");
    await eventually(async () => /ended: \d/.test(await screen()), "the end", patience(10_000));
    const text = await screen();
    assert.match(text, /ended: 0/, text);
    assert.match(text, /the account "kay"/);
    assert.match(text, new RegExp(`http://console\\.localhost:${port}/console/`));
    assert.match(text, /causeway account password kay --config /);
    await assertHealthy(folder);
    await serve(t, folder);
    assert.equal(await statusAt("console.localhost", port, "/console/"), 200);
    assert.match(
        await inspect(snippetOf(text.replace(/ +$/gm, "")), "--method", "tools/list"),
        /examples__articles__list/,
    );
});

// Node resolves no names below localhost.
const statusAt = (host, port, target) =>
    new Promise((resolve, reject) => {
        const options = { host: "127.0.0.1", port, path: target, headers: { Host: `${host}:${port}` }, agent: false };
        http.get(options, (answer) => {
            answer.resume();
            resolve(answer.statusCode);
        }).on("error", reject);
    });

test("--console serves the console for an operator, and needs a listener on loopback", async (t) => {
    const folder = newFolder();
    const port = await freePort();
    await init(folder, "--listen", `127.0.0.1:${port}`, "--account", "ann", "--console");
    await serve(t, folder);
    assert.equal(await statusAt("console.localhost", port, "/console/"), 200);
    const { stdout } = await runCauseway(["account", "list", "--json", "--config", configOf(folder)]);
    assert.deepEqual(JSON.parse(stdout)[0].roles, ["operator"]);
    // One password serves both.
    const both = await runCauseway(["init", newFolder(), "--yes", "--account", "ann", "--oauth", "--console"]);
    assert.equal(both.stdout.match(/causeway account password ann/g)?.length, 1, both.stdout);
    assert.match(both.stdout, /console\.localhost/);
    const open = await runCauseway(["init", newFolder(), "--yes", "--listen", "0.0.0.0:0", "--console"]);
    assert.equal(open.code, 2);
    assert.match(open.stderr, /--console is for an address on loopback/);
});

test("AS1: init offers the built-in authorization server", async (t) => {
    const folder = newFolder();
    const port = await freePort();
    const text = await init(folder, "--listen", `127.0.0.1:${port}`, "--account", "ann", "--oauth");
    assert.match(text, /causeway account password ann --config /);
    assert.ok(text.includes(`http://127.0.0.1:${port}/mcp`));
    await serve(t, folder);
    const metadata = await fetch(`http://127.0.0.1:${port}/.well-known/oauth-authorization-server`);
    assert.equal(metadata.status, 200);
    assert.equal((await metadata.json()).issuer, `http://127.0.0.1:${port}`);
    const outside = newFolder();
    const words = ["init", outside, "--yes", "--oauth", "--listen", `0.0.0.0:${port}`];
    const { code, stderr } = await runCauseway(words);
    assert.notEqual(code, 0);
    assert.match(stderr, /needs public_url/);
    assert.equal(existsSync(outside), false);
});

// ---- a configuration that exists ----

async function writeExisting(folder, text = "store: {path: causeway.db}\n") {
    const port = await freePort();
    mkdirSync(folder, { recursive: true });
    writeFileSync(
        configOf(folder),
        `listen: 127.0.0.1:${port}\nroles: {authenticated: [access mcp tool discovery, use jsonrpc services]}\n${text}`,
    );
}

async function statusOf(entry) {
    const { url, headers } = entry.mcpServers.causeway;
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
    const answer = await fetch(url, {
        method: "POST",
        headers: { ...headers, "Content-Type": "application/json" },
        body,
    });
    await answer.text();
    return answer.status;
}

test("--config adds an account and a token, with and without a running server", async (t) => {
    const folder = newFolder();
    await writeExisting(folder);
    const before = readFileSync(configOf(folder), "utf8");
    const add = async (name) => {
        const words = ["init", "--yes", "--config", configOf(folder), "--account", name];
        const { code, stdout, stderr } = await runCauseway(words);
        assert.equal(code, 0, stderr);
        return snippetOf(stdout);
    };
    const ann = await add("ann");
    assert.equal(readFileSync(configOf(folder), "utf8"), before);
    await serve(t, folder);
    const bob = await add("bob");
    assert.equal(await statusOf(ann), 200);
    assert.equal(await statusOf(bob), 200);
    const again = await runCauseway(["init", "--yes", "--config", configOf(folder), "--account", "ann"]);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /ann/);
});

test("--config needs a database, and no option of a new configuration", async () => {
    const folder = newFolder();
    await writeExisting(folder, "");
    const fails = async (code, text, ...words) => {
        const result = await runCauseway(["init", "--yes", "--config", configOf(folder), ...words]);
        assert.equal(result.code, code, result.stderr);
        assert.match(result.stderr, text);
    };
    await fails(1, /has no store\.path for accounts/);
    await fails(2, /change it with an editor/, "--listen", "127.0.0.1:0");
    await fails(2, /change it with an editor/, "--examples");
    await fails(2, /exclude each other/, path.join(folder, "new"));
    assert.deepEqual(readdirSync(folder), ["causeway.yaml"]);
});

const isRoot = process.getuid() === 0;
const serverUser = 65534;

// A configuration of root, with the database in a directory of the server's user. Below a folder that
// every user may enter.
async function writeForeign(t) {
    const folder = mkdtempSync(path.join(tmpdir(), "causeway-init-"));
    t.after(() => rmSync(folder, { recursive: true }));
    chmodSync(folder, 0o755);
    const data = path.join(folder, "data");
    mkdirSync(data);
    chownSync(data, serverUser, serverUser);
    await writeExisting(folder, "store: {path: data/causeway.db}\naudit: {path: data/audit.log}\n");
    return { folder, data };
}

function assertOwner(data, ...expected) {
    const names = readdirSync(data);
    assert.ok(
        expected.every((name) => names.includes(name)),
        names.join(),
    );
    for (const name of names) {
        const { uid, mode } = statSync(path.join(data, name));
        assert.equal(uid, serverUser, name);
        assert.equal(mode & 0o077, 0, name);
    }
}

const recordsIn = (data) =>
    readFileSync(path.join(data, "audit.log"), "utf8")
        .trim()
        .split("\n")
        .map(JSON.parse)
        .map((r) => [r.caller_id, r.method, r.outcome]);

test("root adds the account as the owner of the database's directory", { skip: !isRoot }, async (t) => {
    const { folder, data } = await writeForeign(t);
    const made = await runCauseway(["init", "--yes", "--config", configOf(folder), "--account", "ann"], {
        env: withoutLeakCheck,
    });
    assert.equal(made.code, 0, made.stderr);
    assert.deepEqual(recordsIn(data), [
        ["uid:0", "account add", "ok"],
        ["uid:0", "token create", "ok"],
    ]);
    assertOwner(data, "causeway.db", "audit.log");
});

test("root's other changes leave files to the server's user, and follow no link to files of root", {
    skip: !isRoot,
}, async (t) => {
    const { folder, data } = await writeForeign(t);
    const victim = path.join(folder, "victim");
    symlinkSync(victim, path.join(data, "audit.log"));
    const change = (...words) => runCauseway([...words, "--config", configOf(folder)], { env: withoutLeakCheck });
    const added = await change("account", "add", "ann", "--no-password");
    assert.equal(added.code, 0, added.stderr);
    assert.match(added.stderr, /this is not recorded: .*Permission denied/);
    assert.ok(!existsSync(victim));
    rmSync(path.join(data, "audit.log"));
    assert.equal((await change("role", "add", "writer")).code, 0);
    assert.deepEqual(recordsIn(data), [["uid:0", "role add", "ok"]]);
    assertOwner(data, "causeway.db", "audit.log");
});
