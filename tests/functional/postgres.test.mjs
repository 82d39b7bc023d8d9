// The database on a PostgreSQL server: several servers share it, and it may be away, paused or killed.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { basic, bearer, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { rpc } from "./support/mcp.mjs";
import { runCauseway, timeLimit, writeConfig } from "./support/programs.mjs";
import { poolerSkipped, skipped, startPooler, startPostgres } from "./support/postgres.mjs";
import { eventually, pause } from "./support/server.mjs";

const caller = { method: "test.caller", id: 1 };
const alice = basic("alice", "s3cret");

// Credentials that no loop has cached: each is another.
let fresh = 0;
const stranger = () => basic(`stranger ${(fresh += 1)}`, "x");

const statusOf = async (server, headers) => (await rpc(server, caller, headers)).status;

async function untilStatus(server, headers, status, timeoutMs = 10_000) {
    const look = async () => (await statusOf(server, headers())) === status;
    await eventually(look, `the status ${status}`, timeoutMs);
}

suite("a database on a server", { skip: skipped, timeout: 600_000 }, () => {
    let postgres;
    before(async () => (postgres = await startPostgres()));
    after(() => postgres?.stop());

    // A database that is there may need longer on a busy machine than the default.
    const timeout = "1m";
    const start = (url, store = {}) => startAccounts({ config: { store: { url, timeout, ...store } } });

    test("is shared: a change by one counts on all within a second", async () => {
        const url = postgres.newDatabase();
        const first = await start(url);
        const second = await startAccounts({ config: { store: { url, timeout } }, accounts: false });
        const { token } = await first.token("alice");
        for (const server of [first, second]) {
            assert.equal(await statusOf(server, bearer(token)), 200);
        }
        const [{ id }] = JSON.parse(await second.cli("token", "list", "alice", "--json"));
        await second.cli("token", "revoke", String(id));
        const left = timeLimit(1_000);
        await Promise.all([first, second].map((server) => untilStatus(server, () => bearer(token), 401)));
        assert.ok(left() > 0, `${-left()} ms too late`);
        await first.stop();
        await second.stop();
    });

    test("that is killed loses nothing that was acknowledged", async () => {
        const url = postgres.newDatabase();
        const server = await start(url);
        const tokens = [];
        for (let round = 0; round < 5; round += 1) {
            let isKilled = false;
            const writing = (async () => {
                while (!isKilled) {
                    const made = await runCauseway(["token", "create", "alice", "--json", "--config", server.config]);
                    if (made.code === 0) {
                        tokens.push(JSON.parse(made.stdout).token);
                    }
                }
            })();
            await eventually(() => tokens.length > round * 2, "a token");
            await pause(Math.random() * 100);
            await postgres.kill();
            isKilled = true;
            await writing;
            await postgres.start();
            await untilStatus(server, stranger, 401);
        }
        for (const token of tokens) {
            assert.equal(await statusOf(server, bearer(token)), 200);
        }
        const listed = JSON.parse(await server.cli("token", "list", "alice", "--json"));
        assert.ok(listed.length >= tokens.length);
        await server.stop();
    });

    test("that does not respond costs strangers 503 in time, and cached callers nothing", async () => {
        const url = postgres.newDatabase();
        const server = await startAccounts({ config: { loops: 1, store: { url, timeout: "2s" } } });
        assert.equal(await statusOf(server, alice), 200);
        postgres.pause();
        try {
            const first = timeLimit(2_600);
            await untilStatus(server, stranger, 503, 5_000);
            assert.ok(first() > 0, "the first waits for the timeout alone");
            const others = timeLimit(2_000);
            for (let i = 0; i < 20; i += 1) {
                assert.equal(await statusOf(server, stranger()), 503);
                assert.equal(await statusOf(server, alice), 200);
            }
            assert.ok(others() > 0, "the others do not wait");
            assert.equal((await rpc(server, { method: "test.nothing", id: 1 })).status, 400);
            const ready = await fetch(`${server.url}/readyz`);
            assert.deepEqual([ready.status, await ready.json()], [200, { status: "degraded", store: "away" }]);
            const strict = await fetch(`${server.url}/readyz?store=1`);
            assert.deepEqual([strict.status, await strict.json()], [503, { status: "unavailable", store: "away" }]);
        } finally {
            postgres.resume();
        }
        await untilStatus(server, stranger, 401);
        assert.equal((await fetch(`${server.url}/readyz?store=1`)).status, 200);
        assert.equal(await statusOf(server, alice), 200);
        await server.untilLogged(/the database can be used again/);
        await server.stop();
    });

    test("that is away at the start is waited for", async () => {
        const url = postgres.newDatabase();
        const first = await start(url);
        await first.stop();
        await postgres.kill();
        const server = await startAccounts({ config: { store: { url } }, accounts: false });
        assert.equal(await statusOf(server, alice), 503);
        const { code, stderr } = await runCauseway(["account", "list", "--config", first.config]);
        assert.equal(code, 1);
        assert.match(stderr, /database '.*db\d+'/);
        await postgres.start();
        await untilStatus(server, () => alice, 200);
        await server.stop();
    });

    test("is changed back after a lost connection: what was revoked meanwhile is refused", async () => {
        const url = postgres.newDatabase();
        const server = await start(url);
        const { token } = await server.token("alice");
        assert.equal(await statusOf(server, bearer(token)), 200);
        const name = /\/(db\d+)/.exec(url)[1];
        postgres.run(
            `UPDATE token SET revoked = 1;
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'causeway'`,
            name,
        );
        const left = timeLimit(1_000);
        await untilStatus(server, () => bearer(token), 401);
        assert.ok(left() > 0, `${-left()} ms too late`);
        await server.stop();
    });

    test("needs its password from a file, and prints it nowhere", async () => {
        const url = postgres.newDatabase({ tcp: true });
        postgres.run("CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'c4nary-password'");
        const access = path.join(postgres.data, "pg_hba.conf");
        const trusted = readFileSync(access, "utf8");
        writeFileSync(access, `host all guarded 127.0.0.1/32 scram-sha-256\n${trusted}`);
        postgres.run("SELECT pg_reload_conf()");
        const guarded = url.replace("causeway@", "guarded@");
        const file = path.join(keepFolder(), "db.secret");
        writeFileSync(file, "c4nary-password\n", { mode: 0o600 });
        const server = await start(guarded, { password_file: file });
        assert.equal(await statusOf(server, alice), 200);
        const shown = await server.cli("config", "show");
        assert.match(shown, /guarded@127/);
        for (const text of [shown, server.stderr, readFileSync(`/proc/${server.pid}/cmdline`, "latin1")]) {
            assert.ok(!text.includes("c4nary"));
        }
        await server.stop();
        writeFileSync(file, "c4nary-wrong\n");
        const config = writeConfig({ store: { url: guarded, password_file: file } });
        const { code, stderr } = await runCauseway(["account", "list", "--config", config]);
        assert.equal(code, 1);
        assert.match(stderr, /password authentication failed/);
        assert.ok(!stderr.includes("c4nary"));
        for (const bad of [guarded.replace("guarded@", "guarded:c4nary@"), `${guarded}&password=c4nary`]) {
            const answer = await runCauseway(["config", "show", "--config", writeConfig({ store: { url: bad } })]);
            assert.notEqual(answer.code, 0);
            assert.match(answer.stderr, /store\.url: holds a password/);
            assert.ok(!answer.stderr.includes("c4nary"), answer.stderr);
        }
    });

    test("is filled from a file, backed up to one, and copied back", async () => {
        const plain = await startAccounts();
        const { token } = await plain.token("alice");
        await plain.stop();
        const columns = "id, owner, caller, tool, method, process, status, message, payload, created, ended, expires";
        const task = "'t', '+1', 'alice', 'tool', 'm', 'p', 2, 'all', '{}', 5, 6, 9000000000000";
        const sqlite = (database, sql) => execFileSync("sqlite3", [database, sql], { encoding: "utf8" }).trim();
        sqlite(
            plain.database,
            `INSERT INTO task (${columns}, alive, node, updated) VALUES (${task}, 7, 'the node', 8)`,
        );
        const taskOf = `SELECT ${columns}, alive, node, updated FROM task`;
        const name = /\/(db\d+)/.exec(postgres.newDatabase())[1];
        const url = postgres.url(name);
        const copied = /copied 2 accounts, 2 roles, 1 tokens, 0 sessions/;
        assert.match(await plain.cli("store", "copy", "--to", url), copied);
        const again = await runCauseway(["store", "copy", "--to", url, "--config", plain.config]);
        assert.equal(again.code, 1);
        assert.match(again.stderr, /not empty/);
        assert.equal(postgres.run(taskOf, name), sqlite(plain.database, taskOf));
        assert.match(postgres.run(taskOf, name), /\|the node\|8$/);
        const server = await startAccounts({ config: { store: { url } }, accounts: false });
        assert.equal(await statusOf(server, alice), 200);
        assert.equal(await statusOf(server, bearer(token)), 200);
        assert.match(await server.cli("store", "check"), /version (\d+) of \1$/m);
        assert.match(await server.cli("store", "migrate"), /version (\d+) of \1$/m);
        const file = path.join(keepFolder(), "backup.db");
        assert.match(await server.cli("store", "backup", file), copied);
        assert.equal(statSync(file).mode & 0o777, 0o600);
        assert.equal(sqlite(file, taskOf), sqlite(plain.database, taskOf));
        const twice = await runCauseway(["store", "backup", file, "--config", server.config]);
        assert.match(twice.stderr, /exists already/);
        await server.stop();
        const restored = await startAccounts({ config: { store: { path: file } }, accounts: false });
        assert.equal(await statusOf(restored, bearer(token)), 200);
        await restored.stop();
    });

    test("is reached through pgbouncer in transaction mode", { skip: poolerSkipped }, async () => {
        const name = /\/(db\d+)/.exec(postgres.newDatabase())[1];
        const pooler = await startPooler(postgres);
        const server = await start(pooler.url(name));
        const { token } = await server.token("alice");
        assert.equal(await statusOf(server, bearer(token)), 200);
        const [{ id }] = JSON.parse(await server.cli("token", "list", "alice", "--json"));
        await server.cli("token", "revoke", String(id));
        await eventually(async () => (await statusOf(server, bearer(token))) === 401, "a revocation", 1_000);
        assert.equal(await statusOf(server, alice), 200);
        await server.stop();
        await pooler.stop();
    });

    test("needs libpq, which a server with a file does not load", async () => {
        const server = await start(postgres.newDatabase());
        const plain = await startAccounts();
        assert.equal(await statusOf(plain, alice), 200);
        const loads = (of) => readFileSync(`/proc/${of.pid}/maps`, "latin1").includes("libpq");
        assert.ok(loads(server));
        assert.ok(!loads(plain));
        assert.doesNotMatch(execFileSync("ldd", [`/proc/${plain.pid}/exe`], { encoding: "utf8" }), /libpq/);
        await server.stop();
        await plain.stop();
    });
});
