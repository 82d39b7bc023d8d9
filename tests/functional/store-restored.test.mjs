// `causeway store restored`: the rights that a restore has revived, by the audit.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { basic, bearer, cli, databasePath, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { rpc } from "./support/mcp.mjs";
import { runCauseway, writeConfig } from "./support/programs.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";
import { eventually } from "./support/server.mjs";

let files = 0;
const newFile = (name) => path.join(keepFolder(), `${(files += 1)}-${name}`);
const statusOf = async (server, headers) => (await rpc(server, { method: "test.caller", id: 1 }, headers)).status;
const run = (config, ...words) => runCauseway(["store", "restored", ...words, "--config", config]);

async function listed(config, ...words) {
    const { code, stdout, stderr } = await run(config, "--json", ...words);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
}

const short = (rows) => rows.map(({ kind, account, name }) => [kind, account, name]);

async function makeToken(config, ...words) {
    return JSON.parse(await cli(config, "token", "create", "--json", ...words));
}

// A database with accounts, an audit beside it, and no server. `take` saves the database, `restore` brings it back.
async function begin(engine) {
    const { store, take, restore } = engine();
    const audit = newFile("audit.jsonl");
    const config = writeConfig({ store, audit: { path: audit } });
    await cli(config, "account", "add", "alice", { input: "s3cret" });
    await cli(config, "account", "add", "bob", { input: "b0b" });
    return { store, audit, config, take, restore };
}

function fileEngine() {
    const database = databasePath();
    const saved = newFile("saved.db");
    return {
        store: { path: database },
        take: () => copyFileSync(database, saved),
        restore: () => {
            rmSync(`${database}-wal`, { force: true });
            rmSync(`${database}-shm`, { force: true });
            copyFileSync(saved, database);
        },
    };
}

function commonOf(title, newEngine, options = {}) {
    suite(title, { timeout: 300_000, ...options }, () => {
        test("lists the tokens that were revoked after the backup, and revokes them once more", async () => {
            const { config, audit, take, restore } = await begin(newEngine);
            const early = await makeToken(config, "alice", "--name", "early");
            const revived = await makeToken(config, "alice", "--name", "ci");
            const kept = await makeToken(config, "bob", "--name", "kept");
            await cli(config, "token", "revoke", String(early.id));
            take();
            await cli(config, "token", "revoke", String(revived.id));
            assert.deepEqual(await listed(config), [], "nothing is revived without a restore");
            restore();
            const [row, ...others] = await listed(config);
            assert.deepEqual(others, [], "neither a token that stays nor one that the backup has as revoked");
            const { revoked, by, ...what } = row;
            assert.deepEqual(what, { kind: "token", id: revived.id, account: "alice", name: "ci" });
            assert.ok(Math.abs(Date.parse(revoked) - Date.now()) < 120_000, revoked);
            assert.equal(typeof by, "string");

            const text = await run(config);
            assert.equal(text.code, 0, text.stderr);
            assert.match(text.stdout, /^KIND +ID +ACCOUNT +NAME +REVOKED +BY$/m);
            assert.match(text.stdout, new RegExp(`^token +${revived.id} +alice +ci +${revoked} +\\S`, "m"));
            assert.match(text.stdout, /--revoke/);

            const recorded = () => readFileSync(audit, "utf8").split('"method":"token revoke"').length - 1;
            const before = recorded();
            const [again] = await listed(config, "--revoke");
            assert.deepEqual([again.id, again.revoked_again], [revived.id, true]);
            assert.equal(recorded(), before + 1, "as every change, it is in the audit");
            const states = JSON.parse(await cli(config, "token", "list", "--json")).map(({ id, state }) => [id, state]);
            assert.deepEqual(states, [
                [early.id, "revoked"],
                [revived.id, "revoked"],
                [kept.id, "active"],
            ]);
            assert.deepEqual(await listed(config), []);
        });

        test("does not list a new token that has the number of a revoked one", async () => {
            const { config, take, restore } = await begin(newEngine);
            take();
            const lost = await makeToken(config, "alice");
            await cli(config, "token", "revoke", String(lost.id));
            restore();
            const fresh = await makeToken(config, "bob");
            assert.equal(fresh.id, lost.id, "the number is used a second time");
            assert.deepEqual(await listed(config, "--revoke"), []);
            const { code, stderr } = await run(config);
            assert.equal(code, 0);
            assert.match(stderr, new RegExp(`if the clocks of servers differ.* token revoke ${fresh.id}\\n`));
            await cli(config, "token", "revoke", String(fresh.id));
            assert.deepEqual(await listed(config), []);
        });

        test("lists accounts, roles and permissions, and what was given again not", async () => {
            const { config, take, restore } = await begin(newEngine);
            await cli(config, "account", "add", "carol", { input: "c4rol" });
            await cli(config, "account", "add", "dave", { input: "d4ve" });
            for (const role of ["writer", "reader", "gone"]) {
                await cli(config, "role", "add", role);
            }
            for (const permission of ["read it", "write it"]) {
                await cli(config, "role", "allow", "writer", permission);
            }
            await cli(config, "account", "grant", "alice", "writer");
            await cli(config, "account", "grant", "alice", "reader");
            take();
            await cli(config, "account", "revoke", "alice", "writer");
            await cli(config, "account", "revoke", "alice", "reader");
            await cli(config, "account", "grant", "alice", "reader");
            await cli(config, "role", "deny", "writer", "write it");
            await cli(config, "role", "remove", "gone");
            await cli(config, "account", "block", "bob");
            await cli(config, "account", "block", "dave");
            await cli(config, "account", "unblock", "dave");
            await cli(config, "account", "remove", "carol");
            restore();
            assert.deepEqual(short(await listed(config)), [
                ["account_role", "alice", "writer"],
                ["block", "bob", null],
                ["account", "carol", null],
                ["role", null, "gone"],
                ["permission", null, "writer"],
            ]);
            const done = await listed(config, "--revoke");
            assert.ok(done.every(({ revoked_again: again }) => again));
            assert.deepEqual(await listed(config), []);
            const accounts = JSON.parse(await cli(config, "account", "list", "--json"));
            assert.deepEqual(
                accounts.map(({ name, state, roles }) => [name, state, roles]),
                [
                    ["alice", "active", ["reader"]],
                    ["bob", "blocked", []],
                    ["dave", "active", []],
                ],
            );
        });

        test("lists what a removal took along, also if the same name was added again", async () => {
            const { config, take, restore } = await begin(newEngine);
            await makeToken(config, "alice", "--name", "old");
            for (const words of [
                ["role", "add", "writer"],
                ["role", "allow", "writer", "delete it"],
                ["role", "allow", "writer", "read it"],
                ["account", "grant", "bob", "writer"],
            ]) {
                await cli(config, ...words);
            }
            take();
            await cli(config, "account", "remove", "alice");
            await cli(config, "account", "add", "alice", { input: "s3cret-2" });
            await cli(config, "role", "remove", "writer");
            await cli(config, "role", "add", "writer");
            await cli(config, "role", "allow", "writer", "read it");
            assert.deepEqual(await listed(config), []);
            restore();
            const rows = await listed(config);
            assert.deepEqual(short(rows), [
                ["account_role", "bob", "writer"],
                ["account", "alice", null],
                ["permission", null, "writer"],
            ]);
            assert.equal(rows[2].permission, "delete it");
            assert.ok((await listed(config, "--revoke")).every(({ revoked_again: again }) => again));
            assert.deepEqual(await listed(config), []);
        });

        test("lists OAuth clients that were denied or removed, and denies or removes them again", async () => {
            const { config, take, restore } = await begin(newEngine);
            const [document, long] = ["https://a.example/c.json", `https://a.example/${"c".repeat(300)}`];
            await cli(config, "client", "add", "gone", "--redirect-uri", "https://gone.example/cb");
            await cli(config, "client", "add", "kept", "--redirect-uri", "https://kept.example/cb");
            await cli(config, "client", "deny", "https://b.example/c.json");
            take();
            await cli(config, "client", "remove", "gone");
            for (const id of [document, "kept", "https://undone.example/c.json", long]) {
                await cli(config, "client", "deny", id);
            }
            await cli(config, "client", "remove", "https://undone.example/c.json");
            assert.deepEqual(await listed(config), []);
            restore();
            const { code, stdout, stderr } = await run(config, "--json", "--revoke");
            assert.equal(code, 1, "an id of which the audit has the beginning only");
            assert.match(stderr, /only the beginning of its id.*: https:\/\/a\.example\/cccc/);
            const found = JSON.parse(stdout);
            assert.deepEqual(short(found), [
                ["client", null, "gone"],
                ["client_denial", null, document],
                ["client_denial", null, "kept"],
            ]);
            assert.ok(found.every(({ revoked_again: again }) => again));
            await cli(config, "client", "deny", long);
            assert.deepEqual(await listed(config), []);
            const clients = JSON.parse(await cli(config, "client", "list", "--json"));
            assert.deepEqual(
                clients.filter(({ id }) => id !== long).map(({ id, state }) => [id, state]),
                [
                    [document, "denied"],
                    ["https://b.example/c.json", "denied"],
                    ["kept", "denied"],
                ],
            );
        });

        test("lists passwords that were changed since the backup, and leaves them to an operator", async () => {
            const { config, take, restore } = await begin(newEngine);
            take();
            await cli(config, "account", "password", "bob", { input: "b0b-b0b-2" });
            restore();
            const without = await run(config, "--json");
            assert.deepEqual([without.code, without.stdout.trim()], [0, "[]"]);
            assert.match(without.stderr, /passwords are listed with --since/);
            const [row, ...others] = await listed(config, "--since", "1h", "--revoke");
            assert.deepEqual([row.kind, row.account, row.revoked_again, others], ["password", "bob", false, []]);
            const text = await run(config, "--since", "1h");
            assert.match(text.stdout, /set the passwords again/);
            assert.doesNotMatch(text.stdout, /--revoke/);
        });
    });
}

commonOf("store restored with a file", fileEngine);

suite("store restored with PostgreSQL", { skip: skipped, timeout: 600_000 }, () => {
    let postgres;
    before(async () => (postgres = await startPostgres()));
    after(() => postgres?.stop());
    commonOf("a database server", () => {
        const url = postgres.newDatabase();
        const name = /\/(db\d+)/.exec(url)[1];
        const saved = newFile("saved.dump");
        return {
            store: { url },
            take: () => execFileSync("pg_dump", ["-Fc", "-f", saved, url]),
            restore: () => {
                postgres.run(`DROP DATABASE ${name} WITH (FORCE)`);
                postgres.run(`CREATE DATABASE ${name}`);
                execFileSync("pg_restore", ["-d", url, saved], { stdio: "pipe" });
            },
        };
    });
});

suite("the audit of store restored", { timeout: 300_000 }, () => {
    async function revive() {
        const made = await begin(fileEngine);
        const token = await makeToken(made.config, "alice", "--name", "ci");
        made.take();
        await cli(made.config, "token", "revoke", String(token.id));
        made.restore();
        return { ...made, token };
    }

    test("may be several files, one of each server, with their rotated ones", async () => {
        const { store, audit, token } = await revive();
        const other = writeConfig({ store });
        assert.deepEqual(short(await listed(other, "--audit", audit)), [["token", "alice", "ci"]]);
        const empty = newFile("empty.jsonl");
        writeFileSync(empty, "");
        renameSync(audit, `${audit}.3`);
        writeFileSync(audit, "not a record\n");
        const both = await run(other, "--json", "--audit", empty, "--audit", audit);
        assert.equal(both.code, 0, both.stderr);
        assert.match(both.stderr, /damaged lines left out: 1/);
        assert.deepEqual(JSON.parse(both.stdout)[0].id, token.id);
    });

    test("the newest record of all files decides", async () => {
        const { store, audit, config } = await begin(fileEngine);
        await cli(config, "account", "block", "bob");
        await cli(config, "account", "unblock", "bob");
        const [block, unblock] = readFileSync(audit, "utf8").trim().split("\n").slice(-2);
        const [first, second] = [newFile("a.jsonl"), newFile("b.jsonl")];
        writeFileSync(first, `${block}\n`);
        writeFileSync(second, `${unblock}\n`);
        const other = writeConfig({ store });
        assert.deepEqual(short(await listed(other, "--audit", first)), [["block", "bob", null]]);
        for (const order of [
            [first, second],
            [second, first],
        ]) {
            assert.deepEqual(await listed(other, ...order.flatMap((file) => ["--audit", file])), []);
        }
    });

    test("is read from the time of the backup on", async () => {
        const { config } = await revive();
        assert.equal((await listed(config, "--since", "1h")).length, 1);
        assert.deepEqual(await listed(config, "--since", "2999-01-01T00:00:00Z"), []);
        const wrong = await run(config, "--since", "yesterday");
        assert.equal(wrong.code, 2);
        assert.match(wrong.stderr, /not a time: yesterday/);
    });

    test("names grants and sessions, but not a grant that was used after its client had revoked a token", async () => {
        const { store, config } = await begin(fileEngine);
        await cli(config, "account", "list");
        const now = Date.now();
        const grant = (id) =>
            `(${id}, 1, 'client-${id}', '{}', '', '', '', ${now - 60_000}, ${now}, ${now + 3_600_000}, 1, 0, NULL)`;
        const session = (id, created) => `(${id}, 1, x'0${id}', ${created}, ${now})`;
        const sql = `INSERT INTO oauth_grant VALUES ${[1, 2, 3].map(grant).join()};
            INSERT INTO session VALUES ${session(1, now - 60_000)}, ${session(2, now)};`;
        execFileSync("sqlite3", [store.path, sql]);
        const record = (ago, more) =>
            JSON.stringify({ time: new Date(now - ago).toISOString(), caller: "op", ...more });
        const file = newFile("grants.jsonl");
        const lines = [
            record(9_000, { kind: "grant", outcome: "revoked", method: "1" }),
            record(8_000, { kind: "grant", outcome: "refreshed", method: "1" }),
            record(7_000, { kind: "grant", outcome: "reused", method: "2" }),
            record(6_000, { kind: "change", outcome: "failed", method: "causeway.grants.revoke", detail: "3" }),
            record(5_000, { kind: "change", outcome: "ok", method: "causeway.sessions.end", detail: "1.0" }),
            record(4_000, { kind: "change", outcome: "ok", method: "causeway.sessions.end", detail: "2" }),
            record(3_000, { kind: "lost", security: 3, calls: 9 }),
        ];
        writeFileSync(file, `${lines.join("\n")}\n`);
        const { code, stdout, stderr } = await run(config, "--json", "--audit", file);
        assert.equal(code, 0, stderr);
        assert.match(stderr, /changes that were not recorded: 3/);
        assert.deepEqual(
            JSON.parse(stdout).map(({ kind, id, account, name, by }) => [kind, id, account, name, by]),
            [
                ["grant", 2, "alice", "client-2", "op"],
                ["session", 1, "alice", null, "op"],
            ],
        );
        await listed(config, "--revoke", "--audit", file);
        const left = "SELECT group_concat(id) FROM oauth_grant; SELECT group_concat(id) FROM session";
        assert.equal(execFileSync("sqlite3", [store.path, left], { encoding: "utf8" }), "1,3\n2\n");
    });

    test("records a block or a new password: sessions and grants from before it are listed", async () => {
        const { store, config } = await begin(fileEngine);
        await cli(config, "account", "list");
        const now = Date.now();
        const session = (id, account, ago) => `(${id}, ${account}, x'0${id}', ${now - ago}, ${now})`;
        const sql = `INSERT INTO session VALUES ${session(1, 1, 9_000)}, ${session(2, 1, 1_000)},
            ${session(3, 2, 9_000)}, ${session(4, 2, 1_000)};`;
        execFileSync("sqlite3", [store.path, `UPDATE account SET created = 1; ${sql}`]);
        const record = (ago, method, detail) =>
            JSON.stringify({ time: new Date(now - ago).toISOString(), kind: "change", outcome: "ok", method, detail });
        const file = newFile("ends.jsonl");
        const lines = [
            record(6_000, "account block", "alice"),
            record(5_000, "account unblock", "alice"),
            record(4_000, "causeway.accounts.password", "bob"),
        ];
        writeFileSync(file, `${lines.join("\n")}\n`);
        const rows = await listed(config, "--audit", file);
        assert.deepEqual(
            rows.map(({ kind, id }) => [kind, id]),
            [
                ["session", 1],
                ["session", 3],
            ],
        );
    });

    test("has a ceiling: the newest records count, and the command says that older ones were not read", async () => {
        const { store, audit, token } = await revive();
        const revocation = readFileSync(audit, "utf8").trim().split("\n").at(-1);
        const others = Array.from({ length: 100_000 }, (_, i) =>
            revocation.replace(/"detail":"\d+"/, `"detail":"${i + 1_000}"`),
        );
        const other = writeConfig({ store });
        const file = newFile("many.jsonl");
        writeFileSync(file, `${[revocation, ...others].join("\n")}\n`);
        const late = await run(other, "--json", "--audit", file);
        assert.equal(late.code, 1);
        assert.match(late.stderr, /records before 2\d{3}-.*Z were not read: too many changes/);
        assert.deepEqual(JSON.parse(late.stdout), []);
        writeFileSync(file, `${[...others, revocation].join("\n")}\n`);
        const early = await run(other, "--json", "--audit", file);
        assert.equal(early.code, 1);
        assert.equal(JSON.parse(early.stdout)[0].id, token.id);
    });

    test("is missing, or cannot be read: the database is marked, and the command says what is missing", async () => {
        const { store, audit, config } = await revive();
        const without = await run(writeConfig({ store }));
        assert.equal(without.code, 1);
        assert.match(without.stdout, /all servers verify all callers again/);
        assert.doesNotMatch(without.stdout, /no right/);
        assert.match(without.stderr, /nothing is recorded/);
        const partly = await run(writeConfig({ store }), "--json", "--audit", audit, "--audit", `${audit}-none`);
        assert.equal(partly.code, 1);
        assert.match(partly.stderr, /open '.*-none'/);
        assert.equal(JSON.parse(partly.stdout).length, 1, "what the other one names is listed");
        rmSync(audit);
        const gone = await run(config);
        assert.equal(gone.code, 1);
        assert.match(gone.stderr, /open '/);
    });

    test("of a running server counts, and so does a revocation while it runs", async () => {
        const audit = newFile("audit.jsonl");
        const server = await startAccounts({ config: { store: { path: databasePath() }, audit: { path: audit } } });
        const { token, id } = await server.token("alice", "--name", "ci");
        const backup = newFile("backup.db");
        await server.cli("store", "backup", backup);
        await server.cli("token", "revoke", String(id));
        await eventually(async () => (await statusOf(server, bearer(token))) === 401, "the revocation");
        await server.stop();
        const config = { store: { path: backup }, audit: { path: audit } };
        const again = await startAccounts({ config, accounts: false });
        assert.equal(await statusOf(again, bearer(token)), 200, "it is revived");
        const rows = JSON.parse(await again.cli("store", "restored", "--json", "--revoke"));
        assert.deepEqual(short(rows), [["token", "alice", "ci"]]);
        await eventually(async () => (await statusOf(again, bearer(token))) === 401, "the second revocation");
        assert.equal(await statusOf(again, basic("alice", "s3cret")), 200);
        await again.stop();
    });
});
