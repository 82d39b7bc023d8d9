// The audit: each call, refusal, login and change once, whatever becomes of disk and files.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
    appendFileSync,
    copyFileSync,
    existsSync,
    mkdirSync,
    readFileSync,
    readdirSync,
    renameSync,
    rmSync,
    statSync,
    writeFileSync,
} from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { basic, bearer, call, discover, roles, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import {
    assertRpcError,
    callTool,
    EventStream,
    envelope,
    initialize,
    legacy,
    makePluginFolder,
    metaKey,
    modern,
    permissions,
    post,
    rpc,
} from "./support/mcp.mjs";
import { scrape } from "./support/metrics.mjs";
import { binary, Program, root, runCauseway, writeConfig } from "./support/programs.mjs";
import { invoke } from "./support/rest.mjs";
import { eventually, pause } from "./support/server.mjs";
import { StdioClient } from "./support/stdio.mjs";

const alice = basic("alice", "s3cret");
let files = 0;

function auditPath() {
    files += 1;
    const folder = path.join(keepFolder(), `audit-${files}`);
    mkdirSync(folder, { recursive: true });
    return path.join(folder, "audit.jsonl");
}

// A rotation may rename the file at any time: then it has no records.
function recordsOf(file) {
    try {
        const lines = readFileSync(file, "utf8").split("\n");
        return lines.filter(Boolean).map((line) => JSON.parse(line));
    } catch (error) {
        assert.equal(error.code, "ENOENT", error.stack);
        return [];
    }
}

// A login is verified again whenever the database has changed.
const isRepeated = ({ kind, outcome, caller }) => kind === "login" && outcome === "ok" && caller === "alice";

// The records that come while `work` runs, once there are `n` of them and no more follow.
async function recorded(server, n, work) {
    const before = recordsOf(server.audit).length;
    const fresh = () =>
        recordsOf(server.audit)
            .slice(before)
            .filter((record) => !isRepeated(record));
    await work();
    await eventually(() => fresh().length >= n, `${n} records`);
    await pause(60);
    const all = fresh();
    assert.equal(all.length, n, JSON.stringify(all, null, 1));
    return all;
}

async function startAudited(audit = {}, config = {}) {
    const file = auditPath();
    const server = await startAccounts({ config: { loops: 1, audit: { path: file, ...audit }, ...config } });
    server.audit = file;
    return server;
}

suite("threat-D11: every decision has one record", () => {
    let server, token;
    before(async () => {
        server = await startAudited({}, { roles: { ...roles, editor: [...roles.editor, "view metrics"] } });
        await recorded(server, 1, async () => {
            token = (await server.token("alice", "--scope", "content:read")).token;
        });
        await recorded(server, 1, () => rpc(server, { method: "test.caller", id: 1 }, alice));
        await recorded(server, 1, () => rpc(server, { method: "test.caller", id: 1 }, bearer(token)));
    });
    after(() => server?.stop());

    test("threat-D11, fault-B10: a call on each door, with who, what, how and how long", async () => {
        const doors = [
            ["jsonrpc", () => rpc(server, { method: "test.echo", params: { message: "x" }, id: 1 }, alice)],
            ["jsonrpc", () => rpc(server, { method: "test.echo", params: { message: "x" } }, alice)],
            ["rest", () => invoke(server, "test.echo", { message: "x" }, alice)],
            [
                "rest",
                () =>
                    post(
                        server,
                        "/mcp/tools/test.echo",
                        { jsonrpc: "2.0", id: 1, method: "test.echo", params: { message: "x" } },
                        alice,
                    ),
            ],
            ["mcp", () => callTool(server, "test.echo", { message: "x" }, { headers: alice })],
            [
                "mcp",
                () =>
                    legacy(
                        server,
                        "tools/call",
                        { name: "test.echo", arguments: { message: "x" } },
                        { version: "2025-06-18", headers: alice },
                    ),
            ],
        ];
        const hash = execFileSync("b2sum", ["-l", "256"], { input: '{"message":"x"}' });
        for (const [door, work] of doors) {
            const begin = Date.now();
            const [record] = await recorded(server, 1, work);
            const { time, us, request_id, node, seq, ...rest } = record;
            assert.deepEqual(rest, {
                kind: "call",
                door,
                caller: "alice",
                caller_id: "1",
                method: "test.echo",
                outcome: "ok",
                address: "127.0.0.1",
                arguments_hash: hash.toString().split(" ")[0],
            });
            const now = Date.now();
            assert.ok(Date.parse(time) >= begin - 1 && Date.parse(time) <= now, time);
            assert.ok(us > 0 && us < (now - begin + 1) * 1000, String(us));
            assert.match(request_id, /^[0-9a-f]{16}$/);
            assert.match(node, /^[0-9a-f]{16}$/);
            assert.ok(seq > 0);
        }
        const all = recordsOf(server.audit);
        assert.equal(new Set(all.map(({ node }) => node)).size, 1);
        assert.deepEqual(
            all.map(({ seq }) => seq),
            all.map((_, i) => i + 1),
        );
    });

    test("each message of a batch", async () => {
        const messages = [1, 2, 3].map((id) => ({ jsonrpc: "2.0", method: "test.caller", id }));
        const all = await recorded(server, 3, () => rpc(server, messages, alice));
        assert.deepEqual(
            all.map(({ outcome }) => outcome),
            ["ok", "ok", "ok"],
        );
    });

    test("what came of a call", async () => {
        const cases = [
            ["error", { method: "test.fail", params: { code: -5 }, id: 1 }],
            ["invalid", { method: "test.echo", params: { message: 7 }, id: 1 }],
            ["invalid", { method: "test.echo", id: 1 }],
        ];
        for (const [outcome, message] of cases) {
            const [record] = await recorded(server, 1, () => rpc(server, message, alice));
            assert.equal(record.kind, "call");
            assert.equal(record.outcome, outcome);
            assert.equal(record.code, outcome === "error" ? -5 : undefined);
        }
        const stop = new AbortController();
        const [record] = await recorded(server, 1, async () => {
            const options = { signal: stop.signal };
            const body = { jsonrpc: "2.0", id: 1, method: "test.sleep", params: { ms: 500_000 } };
            const left = post(server, "/jsonrpc", body, alice, options).catch(() => {});
            const running = async () => (await scrape(server, alice)).value("causeway_calls_running");
            await eventually(async () => (await running()) === 1, "the call runs");
            stop.abort();
            await left;
        });
        assert.equal(record.outcome, "cancelled");
        assert.match(record.request_id, /^[0-9a-f]{16}$/);
        assert.equal(record.method, "test.sleep");
    });

    test("threat-D11: refusals of the gate, hidden and unknown names, on each door", async () => {
        const scoped = { name: "test.scoped", arguments: {} };
        const cases = [
            ["jsonrpc", "login", "test.scoped", () => rpc(server, { method: "test.scoped", id: 1 }, alice)],
            ["jsonrpc", "scopes", "test.scoped", () => rpc(server, { method: "test.scoped", id: 1 }, bearer(token))],
            ["jsonrpc", "hidden", "test.admin", () => rpc(server, { method: "test.admin", id: 1 }, alice)],
            ["jsonrpc", "hidden", "no.such", () => rpc(server, { method: "no.such", id: 1 }, alice)],
            ["jsonrpc", "hidden", "test.admin", () => rpc(server, { method: "test.admin" }, alice)],
            ["rest", "login", "test.scoped", () => invoke(server, "test.scoped", {}, alice)],
            ["rest", "hidden", "test.admin", () => invoke(server, "test.admin", {}, alice)],
            ["rest", "hidden", "test.admin", () => post(server, "/mcp/tools/test.admin", "{}", alice)],
            ["rest", "scopes", "test.scoped", () => post(server, "/mcp/tools/test.scoped", "{}", bearer(token))],
            ["mcp", "scopes", "test.scoped", () => modern(server, "tools/call", scoped, { headers: bearer(token) })],
            ["mcp", "hidden", "test.admin", () => callTool(server, "test.admin", {}, { headers: alice })],
            [
                "mcp",
                "hidden",
                "no.such",
                () =>
                    legacy(
                        server,
                        "tools/call",
                        { name: "no.such", arguments: {} },
                        { version: "2025-06-18", headers: alice },
                    ),
            ],
        ];
        for (const [door, outcome, method, work] of cases) {
            const [record] = await recorded(server, 1, work);
            assert.deepEqual(
                [record.kind, record.door, record.outcome, record.method],
                ["refusal", door, outcome, method],
            );
            assert.equal(record.caller, "alice");
        }
    });

    test("threat-D11: names that are asked for without a call", async () => {
        const { headers } = await initialize(server, "2025-11-25", alice);
        const session = { headers: { ...alice, "Mcp-Session-Id": headers.get("mcp-session-id") } };
        const complete = (ref) =>
            legacy(server, "completion/complete", { ref, argument: { name: "a", value: "" } }, session);
        const listen = async (...resourceSubscriptions) => {
            const params = { notifications: { resourceSubscriptions } };
            const stream = await EventStream.open(server, "subscriptions/listen", params, { headers: alice });
            await stream.next();
            stream.close();
        };
        const cases = [
            ["mcp", "no.such", () => complete({ type: "ref/prompt", name: "no.such" })],
            ["mcp", "no://such", () => complete({ type: "ref/resource", uri: "no://such" })],
            ["mcp", "no://such", () => legacy(server, "resources/subscribe", { uri: "no://such" }, session)],
            ["rest", "test.admin", () => fetch(`${server.url}/jsonrpc/methods/test.admin`, { headers: alice })],
            ["mcp", "no://such", () => listen("no://such")],
            // One record for one request, however many it names.
            ["mcp", "no://1", () => listen("no://1", "no://2", 5, "no://3"), "and 2 more"],
        ];
        for (const [door, method, work, detail] of cases) {
            const [record] = await recorded(server, 1, work);
            assert.deepEqual(
                [record.kind, record.door, record.outcome, record.method, record.detail, record.caller],
                ["refusal", door, "hidden", method, detail, "alice"],
            );
        }
    });

    test("threat-D11: the gate comes before all that is wrong with a request", async () => {
        const bad = [
            { meta: { progressToken: {} } },
            { meta: { [metaKey("logLevel")]: "loud" } },
            { requestState: "A".repeat(90) },
            { requestState: 7 },
        ];
        for (const { meta, ...more } of bad) {
            const send = (name) =>
                modern(server, "tools/call", { name, arguments: {}, ...more }, { meta, headers: alice });
            const [refused] = await recorded(server, 1, async () => {
                const answer = await send("test.scoped");
                assert.equal(answer.status, 401, answer.text);
                assert.ok(answer.headers.get("www-authenticate"));
            });
            assert.deepEqual([refused.kind, refused.outcome, refused.method], ["refusal", "login", "test.scoped"]);
            const [invalid] = await recorded(server, 1, async () =>
                assertRpcError(await send("test.caller"), 200, -32602, 1),
            );
            assert.deepEqual([invalid.kind, invalid.outcome, invalid.method], ["call", "invalid", "test.caller"]);
        }
    });

    test("logins: once when they are verified, and each that fails", async () => {
        await recorded(server, 1, () => server.cli("account", "add", "carol", "--role", "editor", { input: "c" }));
        const carol = basic("carol", "c");
        const ask = (headers) => rpc(server, { method: "test.caller", id: 1 }, headers);
        const first = await recorded(server, 2, () => ask(carol));
        assert.deepEqual(
            first.map(({ kind, outcome, caller }) => [kind, outcome, caller]),
            [
                ["login", "ok", "carol"],
                ["call", "ok", "carol"],
            ],
        );
        assert.equal(first[0].detail, "password");
        const [wrong] = await recorded(server, 1, () => ask(basic("carol", "sw0rdfish")));
        assert.deepEqual(
            [wrong.kind, wrong.outcome, wrong.caller, wrong.address],
            ["login", "wrong", "carol", "127.0.0.1"],
        );
        const [unknown] = await recorded(server, 1, () => ask(bearer("cw_" + "A".repeat(43))));
        assert.deepEqual([unknown.kind, unknown.outcome, unknown.detail], ["login", "wrong", "token"]);
        const [mcp] = await recorded(server, 1, () =>
            modern(server, "tools/list", {}, { headers: basic("carol", "sw0rdfish") }),
        );
        assert.equal(mcp.door, "mcp");
        assert.ok(!readFileSync(server.audit, "utf8").includes("sw0rdfish"));
    });

    // Commands that change access: the command, the method that a server runs, and the target.
    const changes = (id) => [
        ["account add", ["dave"], "accounts.add", { input: "d4ve" }],
        ["account grant", ["dave", "editor"], "accounts.grant"],
        ["account revoke", ["dave", "editor"], "accounts.revoke"],
        ["account password", ["dave"], "accounts.password", { input: "d5ve" }],
        ["account block", ["dave"], "accounts.block"],
        ["account unblock", ["dave"], "accounts.unblock"],
        ["token revoke", [id], "tokens.revoke"],
        ["account remove", ["dave"], "accounts.remove"],
        ["role add", ["judge"], "roles.add"],
        ["role allow", ["judge", "access content"], "roles.allow"],
        ["role deny", ["judge", "access content"], "roles.deny"],
        ["role remove", ["judge"], "roles.remove"],
    ];
    const idOf = async (words) => String((await server.token(...words)).id);
    const removeNobody = async () => {
        const words = ["account", "remove", "nobody", "--config", server.config];
        assert.equal((await runCauseway(words)).code, 1);
    };
    const noSecrets = () =>
        assert.doesNotMatch(readFileSync(server.audit, "utf8"), /d4ve|d5ve|s3cret|cw_[A-Za-z0-9_-]{43}/);

    test("changes by commands on the server, and reloads, with who made them and no secrets", async () => {
        let id;
        const [created] = await recorded(server, 1, async () => (id = await idOf(["bob", "--name", "laptop"])));
        assert.deepEqual([created.method, created.detail], ["causeway.tokens.create", "bob laptop"]);
        for (const [command, target, method, options = {}] of changes(id)) {
            const [record] = await recorded(server, 1, () => server.cli(...command.split(" "), ...target, options));
            assert.deepEqual(
                [record.kind, record.door, record.outcome, record.method, record.detail],
                ["change", "jsonrpc", "ok", `causeway.${method}`, target.join(" ")],
            );
            assert.deepEqual([record.caller_id, record.address], [`uid:${process.getuid()}`, "unix"]);
        }
        const [failed] = await recorded(server, 1, removeNobody);
        assert.deepEqual([failed.outcome, failed.code, failed.detail], ["error", -32010, "nobody"]);
        const [rebuilt] = await recorded(server, 1, () => server.cli("cache", "rebuild"));
        assert.equal(rebuilt.method, "causeway.cache.rebuild");
        const [reload] = await recorded(server, 1, () => server.child.kill("SIGHUP"));
        assert.deepEqual([reload.kind, reload.door, reload.method], ["change", "signal", "config reload"]);
        noSecrets();
    });

    test("changes by commands without a server", async () => {
        await server.stop();
        let id;
        const [created] = await recorded(server, 1, async () => (id = await idOf(["bob", "--name", "phone"])));
        assert.deepEqual([created.method, created.detail], ["token create", "bob phone"]);
        for (const [command, target, , options = {}] of changes(id)) {
            const [record] = await recorded(server, 1, () => server.cli(...command.split(" "), ...target, options));
            assert.deepEqual(
                [record.kind, record.door, record.outcome, record.method, record.detail],
                ["change", "cli", "ok", command, target.join(" ")],
            );
            assert.equal(record.caller_id, `uid:${process.getuid()}`);
        }
        const [failed] = await recorded(server, 1, removeNobody);
        assert.equal(failed.outcome, "failed");
        await recorded(server, 0, () => server.cli("account", "list"));
        noSecrets();
    });

    test("listings that are refused", async () => {
        await server.stop();
        server = await startAudited({}, { roles: { ...roles, anonymous: [call] } });
        const [rest] = await recorded(server, 1, () => fetch(`${server.url}/mcp/tools/list`));
        assert.deepEqual([rest.kind, rest.door, rest.outcome, rest.caller], ["refusal", "rest", "login", "anonymous"]);
        const [mcp] = await recorded(server, 1, () => modern(server, "tools/list"));
        assert.deepEqual([mcp.kind, mcp.door, mcp.outcome], ["refusal", "mcp", "login"]);
    });
});

test("a call that comes too often, and one that takes too long, have a record that says so", async (t) => {
    const server = await startAudited(
        {},
        {
            limits: { tools: [{ name: "test.caller", rate: "1/h" }] },
            plugins: { timeout: "300ms", grace: "100ms" },
        },
    );
    t.after(() => server.stop());
    const send = (method, params) => rpc(server, { method, params, id: 1 }, alice);
    await recorded(server, 1, () => send("test.caller"));
    const [refused] = await recorded(server, 1, () => send("test.caller"));
    assert.deepEqual([refused.kind, refused.outcome, refused.caller], ["refusal", "too_many", "alice"]);
    assert.match(refused.detail, /^Too many calls of test\.caller: try again in \d+ s$/);
    const [late] = await recorded(server, 1, () => send("test.sleep", { ms: 20_000 }));
    assert.deepEqual([late.kind, late.outcome, late.detail], ["call", "failed", "timeout"]);
});

test("standard input is a door too", async () => {
    const audit = auditPath();
    const source = await startAccounts({ accounts: true });
    const file = writeConfig({
        roles: { authenticated: [discover, call], editor: ["access content"] },
        store: { path: source.database },
        plugins: { directory: source.plugins },
        audit: { path: audit },
    });
    await source.stop();
    const client = new StdioClient(["--config", file, "--as", "alice"]);
    await client.modern("tools/call", { name: "test.caller", arguments: {} });
    await client.end();
    const [record] = recordsOf(audit);
    assert.deepEqual(
        [record.kind, record.door, record.caller, record.outcome, record.address],
        ["call", "stdio", "alice", "ok", undefined],
    );
});

test("a call that standard input leaves behind is recorded as cancelled", async () => {
    for (const handshake of [true, false]) {
        const audit = auditPath();
        const file = writeConfig({
            roles: { anonymous: permissions },
            plugins: { directory: makePluginFolder(["echo"]) },
            audit: { path: audit },
        });
        const client = new StdioClient(["--config", file]);
        const params = { name: "test.sleep", arguments: { ms: 60_000 } };
        if (handshake) {
            await client.initialize();
            client.begin("tools/call", params);
        } else {
            client.begin("tools/call", { ...params, _meta: envelope() });
        }
        await client.ask("ping");
        await client.end();
        const [record] = recordsOf(audit);
        assert.deepEqual([record.kind, record.outcome, record.detail], ["call", "cancelled", undefined]);
    }
});

test("threat-C11: arguments are recorded when the configuration asks, without what it redacts", async () => {
    const server = await startAudited({ arguments: true, arguments_size: 64, redact: ["/message"] });
    await recorded(server, 1, () => rpc(server, { method: "test.caller", id: 1 }, alice));
    const send = (params) => rpc(server, { method: "test.fail", params, id: 1 }, alice);
    const [record] = await recorded(server, 1, () => send({ code: 1, message: "s3cret-canary" }));
    assert.deepEqual(record.arguments, { code: 1, message: "[redacted]" });
    const [listed] = await recorded(server, 1, () => send([2, "s3cret-canary"]));
    assert.deepEqual(listed.arguments, { code: 2, message: "[redacted]" });
    const [long] = await recorded(server, 1, () => send({ code: 1, data: "x".repeat(100) }));
    assert.equal(long.arguments, undefined);
    assert.equal(long.arguments_left_out, true);
    const refused = { method: "test.scoped", params: ["s3cret-canary"], id: 1 };
    const [hidden] = await recorded(server, 1, () => rpc(server, refused, alice));
    assert.equal(hidden.arguments_left_out, true);
    assert.ok(!readFileSync(server.audit, "utf8").includes("s3cret-canary"));
    await server.stop();
});

test("a file that cannot be written stops the start, not the running server", async () => {
    const server = await startAudited();
    const folder = path.dirname(server.audit);
    const gone = `${folder}.gone`;
    renameSync(folder, gone);
    const answer = await rpc(server, { method: "test.caller", id: 1 }, alice);
    assert.equal(answer.status, 200);
    const health = async () => (await (await fetch(`${server.url}/healthz`)).json()).status;
    await eventually(async () => (await health()) === "degraded", "a degraded health");
    await server.untilLogged(/error audit: records cannot be written; they are queued/);
    const ready = await fetch(`${server.url}/readyz`);
    assert.deepEqual([ready.status, await ready.json()], [200, { status: "degraded", audit: "failing" }]);
    renameSync(gone, folder);
    await eventually(async () => (await health()) === "ok", "a good health");
    await server.untilLogged(/info audit: records can be written again/);
    await eventually(() => recordsOf(server.audit).length >= 2, "the records that waited");
    await server.stop();
    const kinds = recordsOf(server.audit).map(({ kind }) => kind);
    assert.ok(kinds.includes("login") && kinds.includes("call"), kinds.join());
    rmSync(folder, { recursive: true });
    const { code, stderr } = await runCauseway(["serve", "--config", server.config, "--listen", "127.0.0.1:0"]);
    assert.equal(code, 1);
    assert.match(stderr, /audit: cannot open/);
});

test("a file that cannot be written is no trouble of a server whose audit is switched off", async () => {
    const server = await startAudited();
    rmSync(path.dirname(server.audit), { recursive: true });
    assert.equal((await rpc(server, { method: "test.caller", id: 1 }, alice)).status, 200);
    const health = async () => (await (await fetch(`${server.url}/healthz`)).json()).status;
    await eventually(async () => (await health()) === "degraded", "a degraded health");
    const { audit, ...rest } = JSON.parse(readFileSync(server.config, "utf8"));
    assert.ok(audit.path);
    writeFileSync(server.config, JSON.stringify(rest));
    server.child.kill("SIGHUP");
    await eventually(async () => (await health()) === "ok", "a good health");
    await server.stop();
});

suite("causeway audit", () => {
    let server;
    before(async () => {
        server = await startAudited({ rotate_size: "4KB", files: 20 });
        // Records that wait together are written together, however large the file becomes. So each one
        // is written before the next comes.
        const folder = path.dirname(server.audit);
        const ours = (name) => name.startsWith(path.basename(server.audit));
        const files = () => readdirSync(folder).filter(ours);
        const inodes = () => files().map((name) => statSync(path.join(folder, name), { throwIfNoEntry: false })?.ino);
        // The count of one moment, without a rotation between the reads.
        const written = () => {
            const before = String(inodes());
            const n = files().flatMap((name) => recordsOf(path.join(folder, name))).length;
            return String(inodes()) === before ? n : written();
        };
        for (let i = 0; i < 30; i += 1) {
            const before = written();
            await rpc(server, { method: "test.echo", params: { message: String(i) }, id: i }, alice);
            await eventually(() => written() > before, "the record of a call");
        }
        await rpc(server, { method: "test.fail", id: 1 }, alice);
        await rpc(server, { method: "test.scoped", id: 1 }, alice);
        await eventually(
            () => recordsOf(server.audit).some(({ method }) => method === "test.scoped"),
            "the last record",
        );
    });
    after(() => server?.stop());

    const lines = async (...words) =>
        (await server.cli("audit", "--json", ...words)).split("\n").filter(Boolean).map(JSON.parse);

    test("reads all files, the oldest first", async () => {
        assert.ok(existsSync(`${server.audit}.1`));
        assert.ok(statSync(`${server.audit}.1`).size <= 4096);
        const all = await lines();
        assert.equal(all.filter(({ method }) => method === "test.echo").length, 30);
        assert.deepEqual(
            all.map(({ time }) => time),
            all.map(({ time }) => time).sort(),
        );
    });

    test("reads older files while the newest one is missing, as in a rotation", async () => {
        const folder = path.join(keepFolder(), "rotating");
        mkdirSync(folder);
        copyFileSync(`${server.audit}.1`, path.join(folder, "audit.1"));
        const config = writeConfig({ audit: { path: path.join(folder, "audit") } });
        const { code, stdout } = await runCauseway(["audit", "--json", "--config", config]);
        assert.equal(code, 0);
        assert.equal(stdout, readFileSync(path.join(folder, "audit.1"), "utf8"));
    });

    test("refuses words that no record has, and takes all that are explained", async () => {
        for (const [option, word] of [
            ["--kind", "foo"],
            ["--outcome", "okk"],
            ["--outcome", "ok,"],
        ]) {
            const { code, stdout, stderr } = await runCauseway(["audit", option, word, "--config", server.config]);
            assert.deepEqual([code, stdout], [2, ""]);
            assert.match(stderr, new RegExp(`${option} takes one of .*, not "${word}"`));
        }
        const page = readFileSync(path.join(root, "docs", "audit.md"), "utf8");
        const rows = [...page.matchAll(/^\| (?:`(\w+)`)? ?\| (`[^|]*`) \| /gm)];
        const words = rows.flatMap(([, , cell]) => [...cell.matchAll(/`(\w+)`/g)].map(([, word]) => word));
        assert.ok(words.length >= 16, words.join());
        for (const word of new Set(words)) {
            const { code, stderr } = await runCauseway(["audit", "--outcome", word, "--config", server.config]);
            assert.equal(code, 0, stderr);
        }
    });

    test("filters by caller, tool, outcome, kind and time", async () => {
        assert.equal((await lines("--tool", "test.echo")).length, 30);
        assert.equal((await lines("--outcome", "error")).length, 1);
        assert.equal((await lines("--kind", "refusal"))[0].method, "test.scoped");
        assert.equal((await lines("--caller", "nobody")).length, 0);
        assert.equal((await lines("--caller", "1", "--tool", "test.fail")).length, 1);
        assert.equal((await lines("--since", "1h", "--tool", "test.echo")).length, 30);
        assert.equal((await lines("--since", "2099-01-01")).length, 0);
        const { code, stderr } = await runCauseway(["audit", "--since", "soon", "--config", server.config]);
        assert.equal(code, 2);
        assert.match(stderr, /not a time: soon/);
    });

    test("prints lines for people", async () => {
        const text = await server.cli("audit", "--tool", "test.fail");
        assert.match(
            text,
            /^\S+Z {2}call {5}error {8}jsonrpc {2}alice {13}test\.fail {2}\d+\.\d+ ms {2}code -32000 {2}127\.0\.0\.1\n$/,
        );
    });

    test("leaves damaged lines out and says how many", async () => {
        appendFileSync(server.audit, 'garbage\n{"time":"20');
        const words = ["audit", "--json", "--tool", "test.echo", "--config", server.config];
        const { code, stdout, stderr } = await runCauseway(words);
        assert.equal(code, 0);
        assert.equal(stdout.split("\n").length, 31);
        assert.match(stderr, /damaged lines left out: 2/);
    });

    test("follows across rotations", async () => {
        const words = ["audit", "--follow", "--json", "--tool", "test.progress", "--config", server.config];
        const follower = new Program(binary, words, { name: "follow" });
        const seen = () =>
            follower.stdout
                .split("\n")
                .slice(0, -1) // without a line that is not complete yet
                .map((line) => JSON.parse(line));
        for (let i = 1; i <= 60; i += 1) {
            const params = { steps: i, ms: 0 };
            await rpc(server, { method: "test.progress", params, id: i }, alice);
            if (i === 5) {
                await eventually(() => seen().length === 5, "the first five");
            }
        }
        await eventually(() => seen().length === 60, "all of them");
        follower.child.kill("SIGKILL");
        await follower.exited;
    });
});

test("without a path there is nothing to print, and nothing is recorded", async () => {
    const file = writeConfig({});
    const { code, stderr } = await runCauseway(["audit", "--config", file]);
    assert.equal(code, 2);
    assert.match(stderr, /set audit\.path/);
});

test("a file without a first record is named with the reason", async () => {
    const file = writeConfig({ audit: { path: path.join(keepFolder(), "not-yet.jsonl") } });
    const own = await runCauseway(["audit", "--config", file]);
    assert.equal(own.code, 1);
    assert.match(own.stderr, /not-yet\.jsonl' cannot be read: No such file or directory; the first record makes it\n$/);
    const named = await runCauseway(["audit", "/no/such.jsonl"]);
    assert.equal(named.code, 1);
    assert.match(named.stderr, /'\/no\/such\.jsonl' cannot be read: No such file or directory\n$/);
});

suite("threat-D11: records that anonymous requests cause", () => {
    const far = (address) => ({ "X-Forwarded-For": address, "X-Forwarded-Proto": "https" });
    const flood = async (n, work) => {
        for (let i = 0; i < n; i += 20) {
            await Promise.all(Array.from({ length: 20 }, (_, j) => work(i + j)));
        }
    };
    // How many requests the records of one kind stand for, and how many records that takes.
    const sum = (records, kind, outcome) => {
        const wanted = records.filter((r) => r.kind === kind && r.outcome === outcome);
        const last = wanted.findLast((r) => r.count > 1);
        return { n: wanted.reduce((total, r) => total + (r.count ?? 1), 0), lines: wanted.length, last };
    };
    const floods = [
        [
            "refusals",
            "refusal",
            "hidden",
            (server, i, headers) => rpc(server, { method: `no.such${i}`, id: 1 }, headers),
        ],
        [
            "unknown tokens",
            "login",
            "wrong",
            (server, i, headers) => invoke(server, "test.echo", {}, { ...headers, ...bearer(`made-up-${i}`) }),
        ],
        [
            "calls with wrong arguments",
            "call",
            "invalid",
            (server, i, headers) => rpc(server, { method: "test.echo", params: { nothing: i }, id: 1 }, headers),
        ],
        [
            "calls that ran",
            "call",
            "ok",
            (server, i, headers) => rpc(server, { method: "test.echo", params: { message: "x" }, id: 1 }, headers),
            600,
        ],
    ];
    for (const [name, kind, outcome, work, free = 60] of floods) {
        test(`threat-D11: ${name} beyond a rate become one record with a count`, async () => {
            const server = await startAudited(
                {},
                {
                    trusted_proxies: ["127.0.0.0/8"],
                    roles: { ...roles, anonymous: [discover, call, "access content"] },
                },
            );
            // A slow machine gets some of its budget back while the flood runs: that of a minute in a minute.
            const began = Date.now();
            const back = () => Math.ceil(((Date.now() - began) / 60_000) * free);
            let n = 0;
            for (let more = free + 600; more > 0; more = n < free + back() + 300 ? 300 : 0) {
                const first = n;
                await flood(more, (i) => work(server, first + i, far("203.0.113.7")));
                n += more;
            }
            const most = free + back(); // that have a record of their own
            // A neighbour and a caller with a login keep their records.
            await flood(20, () => rpc(server, { method: "nothing.here", id: 1 }, far("203.0.113.8")));
            await flood(100, () => rpc(server, { method: "not.there", id: 1 }, { ...alice, ...far("203.0.113.7") }));
            await server.stop();
            const records = recordsOf(server.audit);
            const mine = records.filter((r) => r.address === "203.0.113.7" && r.caller !== "alice");
            const found = sum(mine, kind, outcome);
            assert.equal(found.n, n);
            assert.ok(found.lines < most + 100, `${found.lines} records of ${n}`);
            assert.ok(found.last, "a record with a count");
            assert.ok(found.last.since <= found.last.time);
            assert.equal(records.filter((r) => r.method === "nothing.here").length, 20);
            assert.equal(records.filter((r) => r.method === "not.there" && r.caller === "alice").length, 100);
            if (kind === "refusal") {
                // The log has a line for each record, and no more.
                const counts = mine.filter((r) => r.kind === kind && r.count);
                const lines = server.stderr.split("\n").filter((line) => /\bcall refused\b.*no\.such/.test(line));
                assert.equal(lines.length, found.lines - counts.length);
                const summed = server.stderr
                    .split("\n")
                    .filter((line) => /\bcalls refused\b.*203\.0\.113\.7/.test(line));
                assert.deepEqual(
                    summed.map((line) => Number(/count=(\d+)/.exec(line)?.[1])),
                    counts.map((r) => r.count),
                );
            }
            const shown = await runCauseway(["audit", "--config", server.config, "--kind", kind]);
            assert.match(shown.stdout, new RegExp(`  count ${found.last.count} since ${found.last.since}  203`));
        });
    }
});

test("threat-D11: a password that was not even tried, since others could listen, has a record", async (t) => {
    // A proxy that is trusted says that its client is far away and came without TLS.
    const server = await startAudited({}, { trusted_proxies: ["127.0.0.0/8"] });
    t.after(() => server.stop());
    const [record] = await recorded(server, 1, async () => {
        const far = { "X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "http" };
        const answer = await rpc(server, { method: "test.caller", id: 1 }, { ...alice, ...far });
        assert.equal(answer.status, 403, answer.text);
    });
    const { kind, outcome, caller, address, detail } = record;
    assert.deepEqual(
        { kind, outcome, caller, address, detail },
        { kind: "login", outcome: "clear_text", caller: "alice", address: "203.0.113.7", detail: "password" },
    );
});

test("the records of several servers are printed together, and missing ones are counted", async () => {
    const servers = [await startAudited(), await startAudited()];
    for (let i = 0; i < 6; i += 1) {
        await rpc(servers[i % 2], { method: "test.caller", id: 1 }, alice);
    }
    for (const server of servers) {
        await server.stop();
    }
    const files = servers.map((server) => server.audit);
    const print = (...args) => runCauseway(["audit", "--json", ...args]);
    const { code, stdout, stderr } = await print(...files);
    assert.deepEqual([code, stderr], [0, ""]);
    const all = stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
    assert.equal(all.length, files.flatMap(recordsOf).length);
    assert.equal(new Set(all.map(({ node }) => node)).size, 2);
    const times = all.map(({ time }) => time);
    assert.deepEqual(times, times.toSorted());
    const calls = (await print("--kind", "call", ...files)).stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
    assert.equal(calls.length, 6);
    const nodes = calls.map(({ node }) => node);
    assert.deepEqual([nodes[0] !== nodes[1], nodes[0] === nodes[2]], [true, true]);
    const lines = readFileSync(files[0], "utf8").split("\n");
    writeFileSync(files[0], lines.toSpliced(1, 1).join("\n"));
    const { node } = JSON.parse(lines[0]);
    assert.equal((await print(...files)).stderr, `causeway: records of node ${node} that are missing: 1\n`);
    assert.equal((await print("--follow", ...files)).code, 2);
    assert.equal((await print("/no/such/file")).code, 1);
});
