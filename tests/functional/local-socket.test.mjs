// The unix socket through which commands reach a running server.
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import {
    chmodSync,
    chownSync,
    existsSync,
    mkdirSync,
    mkdtempSync,
    readFileSync,
    rmdirSync,
    rmSync,
    statSync,
    writeFileSync,
} from "node:fs";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { basic, bearer, databasePath, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { startBridge } from "./support/mcp.mjs";
import { binary, patience, runCauseway, startProgram, withoutLeakCheck, writeConfig } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";

const run = promisify(execFile);
const timeout = patience(60_000);
const isRoot = process.getuid() === 0;

// One JSON-RPC call over a unix socket.
function callSocket(socketPath, method, params = {}, headers = {}) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    return new Promise((resolve, reject) => {
        const options = { socketPath, method: "POST", path: "/jsonrpc", headers };
        const request = http.request(options, async (response) => {
            const text = (await response.toArray()).join("");
            resolve({ status: response.statusCode, json: JSON.parse(text) });
        });
        request.setHeader("Content-Type", "application/json");
        request.on("error", reject).end(body);
    });
}

async function start(t, options = {}) {
    const server = await startAccounts(options);
    t.after(() => server.stop());
    server.socket = `${server.database}.sock`;
    return server;
}

test("has mode 0600 beside the database, and goes with the server", async () => {
    const server = await startAccounts();
    const socket = `${server.database}.sock`;
    assert.equal(statSync(socket).mode & 0o777, 0o600);
    await server.stop();
    assert.ok(!existsSync(socket));
});

test("a user of this machine may administer, and the audit has the user's name", async (t) => {
    const audit = path.join(keepFolder(), "socket-audit.log");
    const server = await start(t, { config: { audit: { path: audit } } });
    const { status, json } = await callSocket(server.socket, "causeway.status");
    assert.equal(status, 200, JSON.stringify(json));
    assert.ok(json.result.server.pid > 0);
    await server.stop();
    const records = readFileSync(audit, "utf8").trim().split("\n").map(JSON.parse);
    const record = records.find(({ method }) => method === "causeway.status");
    assert.equal(record.caller_id, `uid:${process.getuid()}`);
    assert.equal(record.outcome, "ok");
});

test("gives no right to call other methods", async (t) => {
    const server = await start(t);
    const { json } = await callSocket(server.socket, "test.echo", { message: "x" });
    assert.equal(json.error.code, -32601);
});

test("credentials on it count as anywhere else", async (t) => {
    const server = await start(t);
    const { token } = await server.token("bob");
    for (const headers of [basic("bob", "b0b"), bearer(token)]) {
        const { json } = await callSocket(server.socket, "causeway.status", {}, headers);
        assert.equal(json.error?.code, -32601);
    }
    const { status } = await callSocket(server.socket, "causeway.status", {}, bearer("cw_wrong"));
    assert.equal(status, 401);
});

test("other listeners give anonymous callers nothing of it", async (t) => {
    const server = await start(t);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "causeway.status" });
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(`${server.url}/jsonrpc`, { method: "POST", headers, body });
    assert.equal((await answer.json()).error.code, -32601);
});

test("another user is refused, even if the file lets everyone in", {
    timeout,
    skip: !isRoot && "needs root",
}, async (t) => {
    const server = await start(t);
    chmodSync(server.socket, 0o666);
    for (let folder = path.dirname(server.socket); folder !== "/"; folder = path.dirname(folder)) {
        const mode = statSync(folder).mode & 0o7777;
        if (mode & 0o001) continue;
        chmodSync(folder, mode | 0o001);
        t.after(() => chmodSync(folder, mode));
    }
    const words = [
        "--reuid",
        "65534",
        "--regid",
        "65534",
        "--clear-groups",
        "curl",
        "-s",
        "--unix-socket",
        server.socket,
    ];
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "causeway.status" });
    const header = ["-H", "Content-Type: application/json"];
    const refused = run("setpriv", [...words, ...header, "-d", body, "http://localhost/jsonrpc"]);
    await assert.rejects(refused, ({ code, stdout }) => code !== 0 && stdout === "");
    await server.untilLogged(/another user was refused on the local socket.*65534/);
});

// A server as the systemd unit of the package runs it: processes of other users are invisible.
const invisible = ["-m", "sh", "-c", 'mount -t proc -o hidepid=invisible,subset=pid proc /proc && exec "$@"', "sh"];
const canHide = isRoot && spawnSync("unshare", [...invisible, "true"]).status === 0;

const asNobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];

// A server of another user that sees no process of root. `outer` comes before it changes its user, `inner` after that.
async function startHidden(t, outer = [], inner = []) {
    const folder = mkdtempSync(path.join(tmpdir(), "causeway-socket-"));
    t.after(() => rmSync(folder, { recursive: true }));
    chownSync(folder, 65534, 65534);
    const config = path.join(folder, "causeway.yaml");
    writeFileSync(config, JSON.stringify({ listen: "127.0.0.1:0", store: { path: path.join(folder, "db") } }));
    const command = [...invisible, ...outer, ...asNobody, ...inner, binary, "serve", "--config", config];
    const server = await startProgram("unshare", command, { env: withoutLeakCheck });
    t.after(() => server.stop());
    await eventually(() => server.stdout.includes("listening on"), "the server");
    return { server, config };
}

test("root is served where the server cannot see processes of other users", {
    timeout,
    skip: !canHide && "needs root and mounts",
}, async (t) => {
    const { server, config } = await startHidden(t);
    const { code, stdout, stderr } = await runCauseway(["status", "--config", config]);
    assert.equal(code, 0, stderr + server.stderr);
    assert.match(stdout, /^running/);
});

let groups = 0;

// A control group, as the service manager makes one for a unit.
function newGroup() {
    const line = readFileSync("/proc/mounts", "utf8")
        .split("\n")
        .find((text) => text.split(" ")[2] === "cgroup2");
    const folder = path.join(line?.split(" ")[1] ?? "/nowhere", `causeway-test-${process.pid}-${(groups += 1)}`);
    try {
        mkdirSync(folder);
    } catch {
        return null;
    }
    return { folder, enter: ["sh", "-c", `echo $$ >${folder}/cgroup.procs && exec "$@"`, "sh"] };
}

// With users of its own (PrivateUsers=), a server sees no process outside of them, whatever its user.
const ownUsers = ["unshare", "-U", "--map-user=65534", "--map-group=65534"];
const canOwnUsers = canHide && spawnSync("env", [...asNobody, ...ownUsers, "true"]).status === 0;

for (const [name, inner] of Object.entries({ "": [], " that has users of its own": ownUsers })) {
    test(`the own user is served outside the control group of a server${name}`, {
        timeout,
        skip: !(name ? canOwnUsers : canHide) && "needs root, mounts and namespaces",
    }, async (t) => {
        const group = newGroup();
        if (!group) return t.skip("needs control groups");
        const { server, config } = await startHidden(t, group.enter, inner);
        t.after(() => rmdirSync(group.folder)); // empty, as the server has ended
        const status = [...asNobody, binary, "status", "--config", config];
        const { stdout } = await run("env", status);
        assert.match(stdout, /^running/);
        // A program of the server may hide its parents as well. It cannot leave the group.
        const [shell, ...words] = [...group.enter, ...status];
        await assert.rejects(run(shell, words), /the running server does not answer/);
        await eventually(() => /a program of this server was refused/.test(server.stderr), "a line of the log");
    });
}

test("root sends nothing to a socket that another user put there", {
    timeout,
    skip: !isRoot && "needs root",
}, async (t) => {
    const folder = path.join(keepFolder(), "foreign");
    mkdirSync(folder);
    const config = writeConfig({ store: { path: path.join(folder, "db") } });
    const socket = path.join(folder, "db.sock");
    let received = 0;
    const trap = net.createServer((client) => client.on("data", () => (received += 1)).on("error", () => {}));
    await new Promise((resolve) => trap.listen(socket, resolve));
    t.after(() => trap.close());
    chownSync(socket, 65534, 65534);
    const add = () => runCauseway(["account", "add", "eve", "--config", config], { input: "s3cret\n" });
    // A folder of root, one that every user may write to, and one of a third user.
    for (const [owner, mode] of [
        [0, 0o755],
        [0, 0o1777],
        [65534, 0o777],
        [65533, 0o755],
    ]) {
        chownSync(folder, owner, owner);
        chmodSync(folder, mode);
        const { code, stderr } = await add();
        assert.equal(code, 1, stderr);
        assert.match(stderr, /db\.sock' belongs to another user \(uid 65534\)/);
    }
    assert.equal(received, 0);
});

test("a socket that a killed server left is replaced", async (t) => {
    const config = { store: { path: databasePath() } };
    const socket = `${config.store.path}.sock`;
    const left = net.createServer().listen(socket);
    await new Promise((resolve) => left.once("listening", resolve));
    // Closing would remove the file; a killed server does not.
    await run("ln", [socket, `${socket}.kept`]);
    left.close();
    await run("mv", [`${socket}.kept`, socket]);
    const alone = await runCauseway(["status", "--config", writeConfig(config)]);
    assert.equal(alone.code, 1);
    assert.match(alone.stderr, /no server runs/);
    const server = await start(t, { config, accounts: false });
    const { json } = await callSocket(server.socket, "causeway.status");
    assert.ok(json.result, JSON.stringify(json));
});

test("a path that is too long is named, with the limit and what to do", async () => {
    const socket = path.join(keepFolder(), "x".repeat(120));
    const { code, stderr } = await runCauseway(["serve", "--config", writeConfig({ admin: { socket } })]);
    assert.equal(code, 1);
    assert.match(stderr, /admin\.socket: .*at most 107 bytes, this one has \d+; set admin\.socket/);
});

test("a command that needs a server gives the reason why it cannot be reached", async () => {
    const deep = path.join(keepFolder(), "y".repeat(120));
    mkdirSync(deep);
    const long = writeConfig({ store: { path: path.join(deep, "db") } });
    const { code, stderr } = await runCauseway(["status", "--config", long]);
    assert.equal(code, 1);
    assert.match(stderr, /no server runs with this configuration, or commands cannot reach it: .*at most 107 bytes/);
});

test("a folder that others may write to is refused", async (t) => {
    const folder = path.join(keepFolder(), "open-folder");
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    const socket = path.join(folder, "s");
    const { code, stderr } = await runCauseway(["serve", "--config", writeConfig({ admin: { socket } })]);
    assert.equal(code, 1);
    assert.match(stderr, /others may write to '.*open-folder'.*chmod go-w/);
    // One that is chosen by itself is left out, and the server runs.
    const server = await startBridge({ config: { store: { path: path.join(folder, "db") } } });
    t.after(() => server.stop());
    await server.untilLogged(/commands cannot reach this server.*others may write/);
    assert.ok(!existsSync(path.join(folder, "db.sock")));
});

test("a file that is no socket is neither used nor removed", async () => {
    const socket = path.join(keepFolder(), "plain");
    writeFileSync(socket, "kept");
    const config = writeConfig({ admin: { socket } });
    const served = await runCauseway(["serve", "--config", config]);
    assert.equal(served.code, 1);
    const { code, stderr } = await runCauseway(["status", "--config", config]);
    assert.equal(code, 1);
    assert.match(stderr, /is not a socket/);
    assert.equal(readFileSync(socket, "utf8"), "kept");
});

test("admin.enabled: false offers neither socket nor methods", async (t) => {
    const server = await start(t, { config: { admin: { enabled: false } } });
    assert.ok(!existsSync(server.socket));
    const { code, stderr } = await runCauseway(["status", "--config", server.config]);
    assert.equal(code, 1);
    assert.match(stderr, /no server runs.*admin\.enabled is false/);
});

test("it is reached when all connections are taken", async (t) => {
    const server = await start(t, { config: { limits: { connections: 2 }, loops: 1 } });
    const { port, hostname } = new URL(server.url);
    const held = [net.connect(port, hostname), net.connect(port, hostname)];
    t.after(() => held.forEach((one) => one.destroy()));
    await Promise.all(held.map((one) => new Promise((resolve) => one.once("connect", resolve))));
    const { json } = await callSocket(server.socket, "causeway.status");
    assert.ok(json.result, JSON.stringify(json));
});

test("status and reload tell what the server is and what has changed", async (t) => {
    const server = await start(t, { config: { admin: { tools: ["causeway.status"] } } });
    await server.untilLogged(/published tools=[1-9]/); // its plugin is loaded
    const status = await server.cli("status");
    assert.match(status, /^running +server \d+\.\d+\.\d+ \(pid \d+\), for \d+ min /);
    const parsed = JSON.parse(await server.cli("status", "--json"));
    assert.equal(parsed.config, server.config);
    // The same numbers as in the log: administration is not counted, also where it is a tool.
    const counted = new RegExp(`published tools=${parsed.tools} methods=${parsed.methods} sources=1\\b`);
    await server.untilLogged(counted);
    assert.match(
        status,
        new RegExp(`^catalogue +${parsed.tools} tools, ${parsed.methods} methods of plugins and`, "m"),
    );
    const { methods } = (await callSocket(server.socket, "causeway.sources.list")).json.result.sources[0];
    assert.equal(parsed.methods, methods);
    const file = JSON.parse(readFileSync(server.config, "utf8"));
    const write = (more) => writeFileSync(server.config, JSON.stringify({ ...file, ...more }));
    assert.match(await server.cli("reload"), /no value changed/);
    write({ page_size: 7, loops: 1 });
    assert.match(await server.cli("reload"), /changed +page_size\nrestart for +loops\n/);
    // A key waits until its value is that of the start again.
    assert.match(await server.cli("reload"), /no change takes effect without a restart.*\nrestart for +loops\n/);
    write({ page_size: 7 });
    assert.doesNotMatch(await server.cli("reload"), /restart for/);
    assert.deepEqual(JSON.parse(await server.cli("status", "--json")).restart, []);
    write({ page_size: "many" });
    const wrong = await runCauseway(["reload", "--config", server.config]);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /:\d+:\d+: page_size: expected/);
    assert.match(wrong.stderr, /rejected; a running server keeps its previous configuration\n$/);
    const json = await runCauseway(["reload", "--json", "--config", server.config]);
    assert.equal(json.code, 2);
    const { applied, problems } = JSON.parse(json.stdout);
    assert.equal(applied, false);
    assert.equal(problems.length, 1);
    assert.match(problems[0], /:\d+:\d+: page_size: expected/);
});

test("threat-C11: config.show masks values that can be secrets, and shows the others", async (t) => {
    const program = { name: "local", command: ["/bin/cat", "--key=c4nary-1"], environment: { API_KEY: "c4nary-2" } };
    const init_calls = [{ method: "login", params: { password: "c4nary-3" } }, { method: "hello" }];
    const url = "http://127.0.0.1:1/rpc?key=c4nary-4";
    const service = { name: "far", url, headers: { "X-Key": "c4nary-5" }, discovery: "openrpc" };
    const subscribe = { method: "subscribe", params: { key: "c4nary-6" } };
    const poll = { method: "state", params: { key: "c4nary-7" } };
    const own = {
        events: { news: { subscribe } },
        jobs: [{ methods: ["begin"], poll, status: "/state", done: ["done"] }],
        answers_to_service: { "workspace/key": "c4nary-8" },
        methods: [{ method: "add", params: { key: { value: "c4nary-9" }, more: { default: "c4nary-10" } } }],
    };
    const traces = { endpoint: "http://127.0.0.1:1/v1/traces", headers: { "X-Team": "c4nary-11" } };
    const sources = [{ ...program, init_calls, ...own }, service];
    const server = await start(t, { config: { sources, traces } });
    const { result } = (await callSocket(server.socket, "causeway.config.show")).json;
    assert.doesNotMatch(JSON.stringify(result), /c4nary/);
    const [local, far] = result.config.sources;
    assert.deepEqual(local.command, ["/bin/cat", "***"]);
    assert.deepEqual(local.environment, { API_KEY: "***" });
    assert.deepEqual(
        local.init_calls.map(({ method, params }) => [method, params]),
        [
            ["login", "***"],
            ["hello", null],
        ],
    );
    assert.deepEqual(local.headers, {});
    assert.deepEqual(local.events.news.subscribe, { method: "subscribe", params: "***" });
    assert.equal(local.jobs[0].poll.method, "state");
    assert.deepEqual(local.answers_to_service, { "workspace/key": "***" });
    assert.equal(local.methods[0].method, "add");
    assert.equal(local.methods[0].params.key.value, "***");
    assert.deepEqual(result.config.traces.headers, { "X-Team": "***" });
    assert.equal(result.config.traces.endpoint, traces.endpoint);
    assert.equal(far.url, "http://127.0.0.1:1/rpc?***");
    assert.deepEqual(far.headers, { "X-Key": "***" });
    assert.equal(result.config.store.path, server.database);
    assert.equal(result.server.pid, server.pid);
});

test("log.level with a time returns to the configured level", async (t) => {
    const server = await start(t, { config: { log: { level: "info" } } });
    const late = await runCauseway(["log", "level", "debug", "--for", "2d", "--config", server.config]);
    assert.equal(late.code, 2);
    assert.match(late.stderr, /--for: expected a duration up to 24h/);
    assert.match(
        await server.cli("log", "level", "net=debug", "--for", "1s"),
        /^log level info, net=debug until \d{4}-\d\d-\d\dT\S+Z, set by server/,
    );
    await server.untilLogged(/the level of the log is the configured one again/);
});

test("log.level changes the log at once, and until the next reload", async (t) => {
    const server = await start(t, { config: { log: { level: "info" } } });
    const setLevel = (params) => callSocket(server.socket, "causeway.log.level", params);
    assert.equal((await setLevel({ level: "loud" })).json.error.code, -32602);
    assert.equal((await setLevel({ level: "info", components: "net=loud" })).json.error.code, -32602);
    const { result } = (await setLevel({ level: "error" })).json;
    assert.deepEqual([result.level, result.components, result.server.pid], ["error", "", server.pid]);
    assert.match(
        await server.cli("log", "level", "error", "net=debug", "tls=off"),
        /^log level error, net=debug,tls=off until the next reload, set by server \S+ \(pid \d+\)\n$/,
    );
    assert.equal(JSON.parse(await server.cli("log", "level", "error", "--json")).level, "error");
    const wrong = await runCauseway(["log", "level", "loud", "--config", server.config]);
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /Invalid params: \/level: expected one of "error", "warn", .*, got "loud"\n$/);
    await callSocket(server.socket, "causeway.status");
    await server.cli("reload");
    await callSocket(server.socket, "causeway.status");
    const request = " info access: request ";
    await server.untilLogged(new RegExp(`configuration read again([^]*${request}){2}`));
    // Two calls were wrong, and two came with the reload and after it; those between are not logged.
    assert.equal(server.stderr.split(request).length - 1, 4, server.stderr);
});

test("config show prints the masked configuration of a server elsewhere", async (t) => {
    const roles = {
        anonymous: [],
        authenticated: ["use jsonrpc services"],
        operator: ["administer sources"],
        editor: [],
    };
    const sources = [
        { name: "far", url: "http://127.0.0.1:1/rpc", headers: { "X-Key": "c4nary" }, discovery: "openrpc" },
    ];
    const server = await start(t, { config: { roles, sources } });
    await server.cli("account", "grant", "alice", "operator");
    const env = { CAUSEWAY_TOKEN: (await server.token("alice")).token };
    const shown = await runCauseway(["config", "show", "--server", server.url], { env });
    assert.equal(shown.code, 0, shown.stderr);
    assert.doesNotMatch(shown.stdout, /c4nary/);
    const { config, server: answered } = JSON.parse(shown.stdout);
    assert.deepEqual(config.sources[0].headers, { "X-Key": "***" });
    assert.equal(answered.pid, server.pid);
});

test("a command for another server needs a token, and names what is wrong", async (t) => {
    const roles = { anonymous: [], authenticated: ["use jsonrpc services"], operator: ["view traffic"], editor: [] };
    const server = await start(t, { config: { roles } });
    await server.cli("account", "grant", "alice", "operator");
    const file = path.join(keepFolder(), "operator-token");
    writeFileSync(file, `${(await server.token("alice")).token}\n`);
    const ask = (...words) => runCauseway(["status", "--server", server.url, ...words]);
    const good = await ask("--token-file", file);
    assert.equal(good.code, 0, good.stderr);
    assert.match(good.stdout, /running +server/);
    const none = await ask();
    assert.equal(none.code, 2);
    assert.match(none.stderr, /--token-file, or set CAUSEWAY_TOKEN/);
    for (const url of ["http://tools.example", "http://127.0.0.1.tools.example", "http://203.0.113.9"]) {
        const open = await runCauseway(["status", "--server", url, "--token-file", file]);
        assert.equal(open.code, 2, url);
        assert.match(open.stderr, /use https:\/\/, because a token would be readable on the way/);
    }
    writeFileSync(`${file}-bob`, (await server.token("bob")).token);
    const bob = await ask("--token-file", `${file}-bob`);
    assert.equal(bob.code, 1);
    assert.match(bob.stderr, /no method causeway\.status to this caller: a permission is missing, or/);
    writeFileSync(`${file}-wrong`, "cw_wrong");
    const wrong = await ask("--token-file", `${file}-wrong`);
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /the server rejects the token/);
});

test("a server of another version, and one that is no Causeway, are named", async (t) => {
    const results = ['{"jsonrpc":"2.0","id":1,"result":{"server":{"version":"99.1.2","pid":1,"started":1}}}', "<html>"];
    const server = http.createServer((_, response) => response.end(results.shift()));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => server.close());
    const url = `http://127.0.0.1:${server.address().port}`;
    const env = { CAUSEWAY_TOKEN: "x" };
    const other = await runCauseway(["status", "--server", url], { env });
    assert.equal(other.code, 0, other.stderr);
    assert.match(other.stderr, /the server has version "99\.1\.2", this command has \d/);
    const foreign = await runCauseway(["status", "--server", url], { env });
    assert.equal(foreign.code, 1);
    assert.match(foreign.stderr, /not as a Causeway server does/);
});
