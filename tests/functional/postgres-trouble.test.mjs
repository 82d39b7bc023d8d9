// PostgreSQL in trouble: certificates that prove nothing, a primary that is lost, and no connection left.
import assert from "node:assert/strict";
import { after, suite, test } from "node:test";
import { basic, bearer, startAccounts } from "./support/accounts.mjs";
import { cookiesOf, openForm, sendForm, sessionCookie, visit } from "./support/login.mjs";
import { rpc } from "./support/mcp.mjs";
import { patience, runCauseway, writeConfig } from "./support/programs.mjs";
import { makeServerCertificate, skipped, startPostgres, startStandby } from "./support/postgres.mjs";
import { Connection, eventually, pause, request } from "./support/server.mjs";

const caller = { method: "test.caller", id: 1 };
const statusOf = async (server, headers) => (await rpc(server, caller, headers)).status;
let fresh = 0;
const stranger = () => basic(`stranger ${(fresh += 1)}`, "x");

// How long a server waits for its database before it returns 503.
const timeout = `${patience(2_000)}ms`;

suite("PostgreSQL in trouble", { skip: skipped, timeout: patience(300_000) }, () => {
    const running = [];
    after(async () => {
        for (const one of running) {
            await one.stop().catch(() => {});
        }
    });

    test("a certificate of another authority, or for another name, is rejected", async () => {
        const postgres = await startPostgres();
        running.push(postgres);
        const right = makeServerCertificate(postgres, "localhost");
        const other = makeServerCertificate(postgres, "db.example");
        const use = async ({ certificate, key }) => {
            await postgres.stop();
            await postgres.start([
                "ssl=on",
                `ssl_cert_file=${certificate}`,
                `ssl_key_file=${key}`,
                "listen_addresses=localhost",
            ]);
        };
        const check = (authority) => {
            const parameters = `sslmode=verify-full&sslrootcert=${authority.certificate}`;
            const url = `postgresql://causeway@localhost:${postgres.port}/postgres?${parameters}`;
            return runCauseway(["store", "migrate", "--config", writeConfig({ store: { url } })]);
        };
        await use(right);
        const accepted = await check(right);
        assert.equal(accepted.code, 0, accepted.stderr);
        const foreign = await check(other);
        assert.equal(foreign.code, 1);
        assert.match(foreign.stderr, /certificate verify failed/);
        await use(other);
        const misnamed = await check(other);
        assert.equal(misnamed.code, 1);
        assert.match(misnamed.stderr, /does not match host name/);
    });

    test("a primary that is killed is replaced by its standby, and nothing acknowledged is lost", async () => {
        const primary = await startPostgres();
        const standby = await startStandby(primary);
        running.push(standby);
        primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'");
        primary.run("SELECT pg_reload_conf()");
        await eventually(
            () => primary.run("SELECT sync_state FROM pg_stat_replication") === "sync",
            "the standby",
            20_000,
        );
        primary.run("CREATE DATABASE shared");
        const url = `postgresql://causeway@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/shared`;
        const server = await startAccounts({ config: { loops: 1, store: { url, timeout } } });
        const made = [];
        for (let i = 0; i < 3; i += 1) {
            made.push((await server.token("alice")).token);
        }
        assert.equal(await statusOf(server, bearer(made[0])), 200);
        await primary.kill();
        await eventually(async () => (await statusOf(server, stranger())) === 503, "strangers get 503", 10_000);
        standby.promote();
        await eventually(async () => (await statusOf(server, stranger())) === 401, "the new primary", 5_000);
        for (const token of made) {
            assert.equal(await statusOf(server, bearer(token)), 200);
        }
        assert.equal((await server.token("alice")).token.length > 0, true, "changes work");
        await server.stop();
    });

    test("a page that needs a session is 503 while it is away, and a browser may leave meanwhile", async () => {
        const postgres = await startPostgres();
        running.push(postgres);
        const store = { url: postgres.newDatabase(), timeout };
        const server = await startAccounts({ config: { loops: 1, store, access: { server: { enabled: true } } } });
        // A session that no loop remembers yet.
        const { next, ...form } = await openForm(server);
        const entered = await sendForm(server, { ...form, next, name: "alice", password: "s3cret" });
        const headers = { Cookie: `${sessionCookie}=${cookiesOf(entered.headers)[sessionCookie].value}` };
        postgres.pause();
        try {
            const leaving = await Connection.open(server);
            await leaving.send(request("GET", "/account/grants", headers));
            await pause(200);
            leaving.socket.resetAndDestroy();
            const answer = await visit(server, "/account/grants", { headers });
            assert.equal(answer.status, 503, answer.text);
            assert.match(answer.text, /This is not possible at the moment/);
            assert.equal(answer.headers.get("retry-after"), "1");
        } finally {
            postgres.resume();
        }
        await eventually(
            async () => (await visit(server, "/account/grants", { headers })).status === 200,
            "the page",
            10_000,
        );
        await server.stop();
    });

    test("a server without a free connection costs strangers 503, and is asked again", async () => {
        const postgres = await startPostgres();
        running.push(postgres);
        const url = postgres.newDatabase();
        const server = await startAccounts({ config: { loops: 1, store: { url, timeout } } });
        const alice = basic("alice", "s3cret");
        assert.equal(await statusOf(server, alice), 200);
        const name = /\/(db\d+)/.exec(url)[1];
        postgres.run(`ALTER DATABASE ${name} CONNECTION LIMIT 0; ALTER ROLE causeway NOSUPERUSER`);
        postgres.run("SELECT 1");
        await postgres.kill();
        await postgres.start();
        await eventually(async () => (await statusOf(server, stranger())) === 503, "strangers get 503", 10_000);
        assert.equal(await statusOf(server, alice), 200, "a cached caller is served");
        postgres.run(`ALTER DATABASE ${name} CONNECTION LIMIT -1`);
        await eventually(async () => (await statusOf(server, stranger())) === 401, "a connection again", 20_000);
        await server.stop();
    });
});
