// What an identification costs the database: one statement, and no library that is not needed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, suite, test } from "node:test";
import { basic, bearer, startAccounts } from "./support/accounts.mjs";
import { cookiesOf, openForm, proofOf, sendForm, sessionCookie } from "./support/login.mjs";
import { rpc } from "./support/mcp.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";
import { eventually } from "./support/server.mjs";

const caller = { method: "test.caller", id: 1 };
const alice = basic("alice", "s3cret");
const libraries = (server) => readFileSync(`/proc/${server.pid}/maps`, "latin1");

test("a server with a file loads no library of PostgreSQL", async () => {
    const server = await startAccounts();
    assert.equal((await rpc(server, caller, alice)).status, 200);
    assert.doesNotMatch(libraries(server), /libpq/);
    assert.match(libraries(server), /libsqlite3/);
    await server.stop();
});

suite("on PostgreSQL", { skip: skipped, timeout: 300_000 }, () => {
    let postgres;
    let server;
    let database;
    let known;
    before(async () => {
        postgres = await startPostgres();
        await postgres.stop();
        await postgres.start(["shared_preload_libraries=pg_stat_statements"]);
        const store = { url: postgres.newDatabase() };
        database = `db${postgres.databases}`;
        postgres.run("CREATE EXTENSION pg_stat_statements", database);
        server = await startAccounts({ config: { loops: 1, store } });
        await server.untilLogged(/catalogue published tools=[1-9]/);
        known = await server.token("alice");
    });
    after(async () => {
        await server?.stop();
        await postgres?.stop();
    });

    // The statements about callers that `work` made the server send.
    const count = async (work) => {
        postgres.run("SELECT pg_stat_statements_reset()", database);
        await work();
        const tables = "'(FROM|JOIN|INTO|UPDATE) (account|token|session|account_role|role_permission|token_scope)\\y'";
        // The last uses of tokens are written together, some time later.
        const isLater = "query LIKE 'INSERT INTO token_use %'";
        const rows = postgres.run(
            `SELECT json_agg(json_build_array(calls, query)) FROM pg_stat_statements WHERE query ~ ${tables} AND NOT ${isLater}`,
            database,
        );
        return rows ? JSON.parse(rows).flatMap(([calls, query]) => Array(calls).fill(query)) : [];
    };
    const use = async ({ token }) => assert.equal((await rpc(server, caller, bearer(token))).status, 200);
    // A new token, after the server has noticed that the account has changed: it reads its callers again.
    const newToken = async (...words) => {
        await eventually(async () => (await count(() => use(known))).length === 0, "a caller that is cached");
        const made = await server.token("alice", ...words);
        await eventually(async () => (await count(() => use(known))).length > 0, "the change");
        return made;
    };
    const assertOne = (statements, pattern) => {
        assert.equal(statements.length, 1, statements.join("\n"));
        assert.match(statements[0], pattern);
    };

    test("a token that is not cached takes one statement, and then none", async () => {
        const { token } = await newToken("--scope", "content:read", "--scope", "content:write");
        const call = async () => {
            const answer = await rpc(server, { method: "test.scoped", id: 1 }, bearer(token));
            assert.equal(answer.status, 200, answer.text);
        };
        assertOne(await count(call), /FROM token t/);
        assert.deepEqual(await count(call), []);
    });

    test("a token that does not exist takes one statement", async () => {
        const { token } = await newToken();
        const unknown = token.slice(0, -4) + (token.endsWith("AAAA") ? "BBBB" : "AAAA");
        const statements = await count(async () => {
            assert.equal((await rpc(server, caller, bearer(unknown))).status, 401);
        });
        assert.ok(statements.length <= 1, statements.join("\n"));
    });

    test("a session that is not cached takes one statement, and then none", async () => {
        const form = await openForm(server);
        const answer = await sendForm(server, { ...form, name: "alice", password: "s3cret" });
        const cookie = `${sessionCookie}=${cookiesOf(answer.headers)[sessionCookie].value}`;
        assertOne(await count(() => proofOf(server, cookie)), /FROM session s/);
        assert.deepEqual(await count(() => proofOf(server, cookie)), []);
    });

    test("a password takes one statement before it is verified, and one after", async () => {
        const statements = await count(async () => {
            const answer = await rpc(server, caller, alice);
            assert.equal(answer.status, 200, answer.text);
        });
        assert.equal(statements.length, 2, statements.join("\n"));
        statements.forEach((statement) => assert.match(statement, /FROM account a/));
    });
});
