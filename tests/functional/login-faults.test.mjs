// Logins that are in the way of something: clients that leave, memory that is short, a server that
// reloads or stops, and commands that fail half way or come all at once.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { basic, bearer, databasePath, roles, startAccounts } from "./support/accounts.mjs";
import { assertRpcError, rpc } from "./support/mcp.mjs";
import { runCauseway, slowness, writeConfig } from "./support/programs.mjs";
import { Connection, eventually, openFiles, request } from "./support/server.mjs";

const caller = { method: "test.caller", id: 1 };
const body = JSON.stringify({ jsonrpc: "2.0", ...caller });
const asking = (headers) => request("POST", "/jsonrpc", { "Content-Type": "application/json", ...headers }, body);
const isSanitized = slowness > 1;

suite("a login", { concurrency: true }, () => {
    test("without memory for its hash is 503, not wrong, and is no failure", { skip: isSanitized }, async () => {
        const server = await startAccounts();
        const size = Number(/VmSize:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "latin1"))[1]);
        const limit = (bytes) => execFileSync("prlimit", ["--pid", String(server.pid), `--as=${bytes}:`]);
        limit((size + 32 * 1024) * 1024);
        for (let i = 0; i < 8; i += 1) {
            assertRpcError(await rpc(server, caller, basic("alice", "s3cret")), 503, -32000, null);
        }
        limit("unlimited");
        assert.equal((await rpc(server, caller, basic("alice", "s3cret"))).status, 200);
        await server.stop();
    });

    test("whose client leaves leaves nothing behind", async () => {
        const server = await startAccounts();
        // The first login of all opens the database.
        await rpc(server, caller, basic("gone", "s3cret"));
        const files = openFiles(server.pid);
        for (let round = 0; round < 10; round += 1) {
            const all = await Promise.all(Array.from({ length: 20 }, () => Connection.open(server)));
            // Some of them wait for the same answer, the others each for their own.
            await Promise.all(
                all.map((c, i) => c.send(asking(basic(i % 2 ? "alice" : `gone ${round}.${i}`, "s3cret")))),
            );
            all.forEach((c) => c.socket.resetAndDestroy());
        }
        await eventually(() => openFiles(server.pid) <= files + 2, "the connections are gone");
        await eventually(
            async () => (await rpc(server, caller, basic("alice", "s3cret"))).status === 200,
            "alice can log in",
            20_000,
        );
        await server.stop();
    });

    test("is answered when the server reloads or stops meanwhile", async () => {
        const server = await startAccounts();
        const { token } = await server.token("alice");
        for (const signal of ["SIGHUP", "SIGHUP", "SIGTERM"]) {
            const c = await Connection.open(server);
            const d = await Connection.open(server);
            // Nobody remembers these: the spelling of the scheme is another one each time.
            const scheme = { SIGHUP: "basic", SIGTERM: "BASIC" }[signal];
            const { Authorization: header } = basic("alice", "s3cret");
            await Promise.all([
                c.send(asking({ Authorization: header.replace("Basic", scheme) })),
                d.send(asking(bearer(token))),
            ]);
            server.child.kill(signal);
            assert.equal((await c.response()).status, 200, signal);
            assert.equal((await d.response()).status, 200, signal);
            c.close();
            d.close();
        }
        const { code } = await server.exited;
        assert.equal(code, 0);
        server.assertNoReports();
    });
});

suite("a command", { concurrency: true }, () => {
    const config = () => writeConfig({ roles, store: { path: databasePath() } });
    const run = (file, words, options) => runCauseway([...words, "--config", file], options);

    test("that adds an account with roles adds all of it or nothing", async () => {
        const path = databasePath();
        const file = writeConfig({ roles, store: { path } });
        assert.equal((await run(file, ["role", "add", "second"])).code, 0);
        execFileSync("sqlite3", [
            path,
            "CREATE TRIGGER t BEFORE INSERT ON account_role WHEN NEW.role = 'second'" +
                " BEGIN SELECT RAISE(ABORT, 'no'); END",
        ]);
        const words = ["account", "add", "carol", "--no-password", "--role", "editor", "--role", "second"];
        const { code, stdout } = await run(file, words);
        assert.notEqual(code, 0);
        assert.equal(stdout, "");
        assert.deepEqual(JSON.parse((await run(file, ["account", "list", "--json"])).stdout), []);
    });

    test("that comes to a new database together with others finds it", async () => {
        for (let round = 0; round < 10; round += 1) {
            const file = config();
            const all = Array.from({ length: 8 }, (_, i) => run(file, ["role", "add", `r${i}`]));
            for (const { code, stderr } of await Promise.all(all)) {
                assert.equal(code, 0, stderr);
            }
        }
    });

    test("takes a password as long as the ceiling says, and never a part of one", async () => {
        const file = config();
        const add = async (name, input) => (await run(file, ["account", "add", name], { input })).code;
        const longest = "p".repeat(1024);
        for (const end of ["", "\n", "\r\n"]) {
            assert.equal(await add(`a${end.length}`, longest + end), 0);
        }
        for (const more of ["p", "p\n", "\r\nmore", "\n\n", "\nx"]) {
            assert.notEqual(await add("b", longest + more), 0, JSON.stringify(more));
        }
    });

    test("refuses a token that would be good for longer than dates can say", async () => {
        const file = config();
        assert.equal((await run(file, ["account", "add", "a", "--no-password"])).code, 0);
        for (const time of ["999999999h", "36501d", "876001h", "0d", "0s", "-1d", "1e3d", "99999999999999999999d"]) {
            const { code, stderr } = await run(file, ["token", "create", "a", "--expires", time]);
            assert.equal(code, 2, `${time}: ${stderr}`);
        }
        for (const time of ["36500d", "876000h", "1ms", "never"]) {
            assert.equal((await run(file, ["token", "create", "a", "--expires", time])).code, 0, time);
        }
    });
});
