// Failed logins of servers that share a database: an attempt on one server counts on all.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { basic, cli, startAccounts } from "./support/accounts.mjs";
import { rpc } from "./support/mcp.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";
import { eventually } from "./support/server.mjs";

const caller = { method: "test.caller", id: 1 };
const alice = basic("alice", "s3cret");

suite("servers that share a database", { skip: skipped, timeout: 300_000 }, () => {
    let postgres;
    let database;
    const servers = [];
    // Each test has addresses of its own, so that one does not delay another.
    const config = { loops: 1, trusted_proxies: ["127.0.0.0/8"], access: { allow_plaintext_passwords: true } };
    before(async () => {
        postgres = await startPostgres();
        const store = { url: postgres.newDatabase() };
        database = `db${postgres.databases}`;
        servers.push(await startAccounts({ config: { ...config, store } }));
        servers.push(await startAccounts({ config: { ...config, store }, accounts: false }));
    });
    after(async () => {
        await Promise.all(servers.map((server) => server.stop()));
        await postgres?.stop();
    });

    const from = (server, address, credentials) => rpc(server, caller, { ...credentials, "X-Forwarded-For": address });
    const status = async (...words) => (await from(...words)).status;
    const failures = (who) => postgres.run(`SELECT n FROM failure WHERE who = '${who}'`, database);
    // Wrong passwords, by turns on both servers.
    const guess = async (name, address, n) => {
        for (let i = 0; i < n; i += 1) {
            assert.equal(await status(servers[i % 2], address, basic(name, `guess ${i}`)), 401, `guess ${i}`);
        }
    };
    // As after some more failures: a delay of a minute outlasts the test on a busy machine.
    const prolong = (who) =>
        postgres.run(`UPDATE failure SET n = n + 12, at = ${Date.now()} WHERE who = '${who}'`, database);

    test("threat-C9: count the failures of an account together", async () => {
        await guess("nobody", "192.0.2.1", 5);
        assert.equal(failures("account:nobody"), "5");
        assert.equal(failures("guess:192.0.2.1"), "5");
        prolong("account:nobody");
        assert.equal(await status(servers[0], "192.0.2.2", basic("nobody", "x")), 429);
        assert.equal(await status(servers[1], "192.0.2.3", basic("nobody", "x")), 429);
        assert.equal(failures("account:nobody"), "17", "a delayed attempt is no failure");
    });

    test("threat-C9: attempts at one server delay the first attempt at the other", async () => {
        for (let i = 0; i < 5; i += 1) {
            assert.equal(await status(servers[0], "192.0.2.10", basic("bob", `guess ${i}`)), 401);
        }
        prolong("account:bob");
        const refused = await from(servers[1], "192.0.2.11", basic("bob", "b0b"));
        assert.equal(refused.status, 429);
        assert.ok(Number(refused.headers.get("retry-after")) > 10, refused.headers.get("retry-after"));
    });

    test("threat-C9: count the failures of a network together, whatever the names", async () => {
        for (let i = 0; i < 20; i += 1) {
            const credentials = basic(`nobody ${i}`, "x");
            assert.equal(await status(servers[i % 2], "2001:db8::1", credentials), 401, `guess ${i}`);
        }
        for (const who of ["guess:2001:db8::", "guess:2001:db8::/56", "guess:2001:db8::/48"]) {
            assert.equal(failures(who), "20", who);
        }
        prolong("guess:2001:db8::");
        assert.equal(await status(servers[1], "2001:db8::2", basic("another", "x")), 429, "the same /64");
        assert.equal(await status(servers[1], "2001:db8:0:1::2", basic("another", "x")), 401, "another /64");
    });

    test("an account has a counter for each network that it is known in, on all servers", async () => {
        assert.equal(await status(servers[0], "192.0.2.20", alice), 200);
        await guess("alice", "192.0.2.21", 5);
        prolong("account:alice");
        assert.equal(await status(servers[1], "192.0.2.22", alice), 429, "an unknown network");
        assert.equal(await status(servers[1], "192.0.2.20", alice), 200, "the known one");
        assert.equal(failures("account:alice"), "17", "guesses of others");
        await guess("alice", "192.0.2.20", 2);
        assert.equal(failures("pair:alice:192.0.2.20"), "2");
    });

    test("a success, a new password and time end the delay on all servers", async () => {
        const names = ["carol", "dave", "erin"];
        const right = (name) => basic(name, `${name}-s3cret`);
        for (const [i, name] of names.entries()) {
            await cli(servers[0].config, "account", "add", name, "--role", "editor", { input: `${name}-s3cret` });
            await guess(name, `192.0.2.3${i}`, 5);
        }
        // The delay is a second now. The first server lets the right password in.
        const isIn = async () => (await status(servers[0], "192.0.2.40", right("carol"))) === 200;
        await eventually(isIn, "the end of a delay", 10_000);
        assert.equal(failures("account:carol"), "");
        await guess("carol", "192.0.2.41", 4);
        assert.equal(failures("account:carol"), "4");

        prolong("account:dave");
        prolong("account:erin");
        for (const server of servers) {
            assert.equal(await status(server, "192.0.2.42", right("dave")), 429);
            assert.equal(await status(server, "192.0.2.43", right("erin")), 429);
        }
        await cli(servers[0].config, "account", "password", "dave", { input: "dave-changed" });
        // Its last failure was 15 minutes ago.
        postgres.run("UPDATE failure SET at = at - 900000 WHERE who = 'account:erin'", database);
        for (const [i, server] of servers.entries()) {
            const address = `192.0.2.5${i}`;
            const changed = async () => (await status(server, address, basic("dave", "dave-changed"))) === 200;
            await eventually(changed, "the new password", 10_000);
            await eventually(async () => (await status(server, address, right("erin"))) === 200, "time", 10_000);
        }
    });

    test("failures that cannot be written count here, and later on all servers", async () => {
        const body = "LANGUAGE plpgsql AS $$ BEGIN RAISE 'no space'; END $$";
        postgres.run(`CREATE FUNCTION fill() RETURNS trigger ${body}`, database);
        postgres.run("CREATE TRIGGER fill BEFORE INSERT ON failure EXECUTE FUNCTION fill()", database);
        for (let i = 0; i < 4; i += 1) {
            assert.equal(await status(servers[0], "192.0.2.60", basic("mallory", `guess ${i}`)), 401);
        }
        assert.equal(failures("account:mallory"), "");
        postgres.run("DROP TRIGGER fill ON failure", database);
        assert.equal(await status(servers[0], "192.0.2.60", basic("mallory", "guess 5")), 401);
        assert.equal(failures("account:mallory"), "5");
        prolong("account:mallory");
        assert.equal(await status(servers[1], "192.0.2.61", basic("mallory", "x")), 429);
    });
});
