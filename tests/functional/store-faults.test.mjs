// The database is missing, damaged or locked: 503 for whoever has to be looked up, everybody else goes
// on, one log line, and it heals by itself.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { suite, test } from "node:test";
import { basic, bearer, startAccounts } from "./support/accounts.mjs";
import { assertRpcError, rpc } from "./support/mcp.mjs";
import { runCauseway, slowness } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";

const caller = { method: "test.caller", id: 1 };
const alice = basic("alice", "s3cret");
const unknown = { method: "test.nothing", id: 1 };
const sides = ["", "-wal", "-shm"];

// Credentials that no loop remembers: each is another.
let fresh = 0;
const somebody = () => basic(`somebody ${(fresh += 1)}`, "x");

async function untilStatus(server, headers, status) {
    const look = async () => (await rpc(server, caller, headers())).status === status;
    await eventually(look, `the status ${status}`, 5_000 * slowness);
}

async function assertDown(server) {
    await untilStatus(server, somebody, 503);
    const answer = await rpc(server, caller, somebody());
    assertRpcError(answer, 503, -32000, null);
    assert.ok(Number(answer.headers.get("retry-after")) >= 1);
    assert.equal(answer.headers.get("cache-control"), "no-store");
    // Whoever shows no credentials is served as ever.
    assert.equal((await rpc(server, unknown)).status, 400);
}

async function assertHealed(server) {
    await untilStatus(server, () => alice, 200);
    const count = (text) => server.stderr.split(text).length - 1;
    await server.untilLogged(/the database can be used again/);
    assert.equal(count("database unavailable: logins fail"), 1, server.stderr);
    assert.equal(count("the database can be used again"), 1, server.stderr);
    await server.stop();
}

function move(from, to) {
    for (const side of sides) {
        if (existsSync(from + side)) {
            renameSync(from + side, to + side);
        }
    }
}

suite("a database", { concurrency: true }, () => {
    test("that is moved away is missed, and found again", async () => {
        const server = await startAccounts();
        move(server.database, `${server.database}.away`);
        await assertDown(server);
        assert.ok(!existsSync(server.database));
        move(`${server.database}.away`, server.database);
        await assertHealed(server);
    });

    test("that is replaced by garbage is refused until it is right again", async () => {
        const server = await startAccounts();
        move(server.database, `${server.database}.away`);
        writeFileSync(server.database, "no database ".repeat(1_000));
        await assertDown(server);
        rmSync(server.database);
        move(`${server.database}.away`, server.database);
        await assertHealed(server);
    });

    test("that is replaced by another one counts at once", async () => {
        const server = await startAccounts();
        const other = await startAccounts();
        await other.cli("account", "add", "new", "--role", "editor", { input: "n" });
        await other.stop();
        await untilStatus(server, () => basic("new", "n"), 401);
        // The server makes a new file if it finds none, so it must not look while the other one is copied.
        copyFileSync(other.database, `${server.database}.new`);
        move(server.database, `${server.database}.away`);
        renameSync(`${server.database}.new`, server.database);
        await untilStatus(server, () => basic("new", "n"), 200);
        await server.stop();
    });

    test("that is damaged is named by commands that work alone, with and without an account", async (t) => {
        const server = await startAccounts();
        t.after(() => server.stop());
        await server.stop();
        for (const side of sides) rmSync(server.database + side, { force: true });
        writeFileSync(server.database, "no database".repeat(1_000));
        const commands = [
            ["list"],
            ["list", "--as", "alice"],
            ["describe", "test.caller"],
            ["call", "test.caller", "--as", "alice"],
            ["why", "test.caller", "--as", "alice"],
            ["access", "matrix"],
            ["token", "list"],
        ];
        for (const words of commands) {
            const { code, stdout, stderr } = await runCauseway([...words, "--config", server.config]);
            assert.deepEqual([code, stdout], [1, ""], words.join(" "));
            assert.match(stderr, /\ncauseway: database '[^']+': file is not a database\n$|^causeway: database '/);
        }
    });

    test("that somebody locks is waited for", async () => {
        const first = await startAccounts();
        await first.stop();
        const locker = spawn("sqlite3", ["-batch", first.database], { stdio: ["pipe", "pipe", "inherit"] });
        locker.stdin.write("PRAGMA locking_mode=EXCLUSIVE;\nBEGIN EXCLUSIVE;\n");
        locker.stdin.write("INSERT INTO role(name) VALUES ('locker');\nSELECT 'locked';\n");
        let said = "";
        locker.stdout.on("data", (text) => (said += text));
        await eventually(() => said.includes("locked"), "the lock");
        const server = await startAccounts({ config: { store: { path: first.database } }, accounts: false });
        await assertDown(server);
        locker.stdin.end("ROLLBACK;\n");
        await once(locker, "exit");
        await assertHealed(server);
    });

    test("that somebody writes to is read all the same", async () => {
        const server = await startAccounts();
        const { token } = await server.token("alice");
        const writer = spawn("sqlite3", ["-batch", server.database], { stdio: ["pipe", "pipe", "inherit"] });
        let said = "";
        writer.stdout.on("data", (text) => (said += text));
        writer.stdin.write("BEGIN IMMEDIATE;\nSELECT 'writing';\n");
        await eventually(() => said.includes("writing"), "the writer");
        assert.equal((await rpc(server, caller, bearer(token))).status, 200);
        assert.equal((await rpc(server, caller, alice)).status, 200);
        writer.stdin.end("ROLLBACK;\n");
        await once(writer, "exit");
        await server.stop();
    });
});
