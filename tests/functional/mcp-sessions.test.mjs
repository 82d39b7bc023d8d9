// Sessions of the handshake: whose they are, how long they last, and what clients send in them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { suite, test } from "node:test";
import { basic, databasePath, roles, startAccounts } from "./support/accounts.mjs";
import {
    assertPlain,
    assertRpcError,
    both,
    initialize,
    legacy,
    legacyVersions,
    permissions,
    post,
    startBridge,
} from "./support/mcp.mjs";
import { oneProcess, oneReplica, patience, slowness } from "./support/programs.mjs";
import { Connection, inParallel, pause, request, residentKb } from "./support/server.mjs";

async function start(t, config = {}) {
    const server = await startBridge({ config });
    t.after(() => server.stop());
    return server;
}

async function openSession(server, version = "2025-11-25", headers = {}) {
    const answer = await initialize(server, version, headers);
    assert.equal(answer.status, 200, answer.text);
    const session = answer.headers.get("mcp-session-id");
    assert.match(session, /^[\x21-\x7e]+$/u);
    return { "Mcp-Session-Id": session };
}

const ping = (server, headers, id = 1) => legacy(server, "ping", undefined, { id, headers });

suite("a session", { concurrency: true }, () => {
    test("is given with the handshake, each time another one, and only then", async (t) => {
        const server = await start(t, { loops: 2 });
        const seen = new Set();
        for (const version of [...legacyVersions, "1999-01-01"]) {
            seen.add((await openSession(server, version))["Mcp-Session-Id"]);
        }
        assert.equal(seen.size, legacyVersions.length + 1);
        const [name] = seen;
        const answer = await ping(server, { "Mcp-Session-Id": name });
        assert.deepEqual(answer.json, { jsonrpc: "2.0", result: {}, id: 1 });
        assert.equal(answer.headers.get("mcp-session-id"), null);
        // A second handshake in a session makes a new one.
        const again = await openSession(server, "2025-11-25", { "Mcp-Session-Id": name });
        assert.notEqual(again["Mcp-Session-Id"], name);
    });

    test("may be left out; an unknown one is refused in every kind of message", async (t) => {
        const server = await start(t);
        assert.equal((await ping(server, {})).status, 200);
        const unknown = { "Mcp-Session-Id": "made-up" };
        assertRpcError(await ping(server, unknown), 404, -32001, 1);
        const messages = [
            { jsonrpc: "2.0", method: "notifications/initialized" },
            { jsonrpc: "2.0", id: "causeway-0-00", result: {} },
            [{ jsonrpc: "2.0", id: 1, method: "ping" }],
        ];
        for (const message of messages) {
            const answer = await post(server, "/mcp", message, { ...both, ...unknown });
            assertPlain(answer, 404, /^Session not found\.$/);
        }
    });

    test("threat-C3: cannot be made up: no character of its name may change", async (t) => {
        const server = await start(t);
        const session = (await openSession(server))["Mcp-Session-Id"];
        for (let i = 0; i < session.length; i++) {
            const other = session[i] === "A" ? "B" : "A";
            const changed = session.slice(0, i) + other + session.slice(i + 1);
            assert.equal((await ping(server, { "Mcp-Session-Id": changed })).status, 404, changed);
        }
        assert.equal((await ping(server, { "Mcp-Session-Id": session })).status, 200);
    });

    test("ends after its time", async (t) => {
        const seconds = Math.ceil(patience(1_000) / 1_000);
        const server = await start(t, { mcp: { session_lifetime: `${seconds}s` } });
        const begun = performance.now();
        const session = await openSession(server);
        const { status } = await ping(server, session);
        // A machine that stood still may have ended it already.
        assert.ok(status === 200 || performance.now() - begun > seconds * 1_000, String(status));
        await pause(seconds * 1_000 + 200);
        assert.equal((await ping(server, session)).status, 404);
    });

    test("is not given when sessions are off, and then nobody looks at one", async (t) => {
        const server = await start(t, { mcp: { legacy_sessions: false } });
        const answer = await initialize(server, "2025-11-25");
        assert.equal(answer.headers.get("mcp-session-id"), null);
        assert.equal((await ping(server, { "Mcp-Session-Id": "stale" })).status, 200);
    });

    test("threat-C3: belongs to the caller who opened it with credentials", async (t) => {
        const server = await startAccounts({ config: { roles: { ...roles, anonymous: permissions } } });
        t.after(() => server.stop());
        const nobodys = await openSession(server);
        const alices = await openSession(server, "2025-11-25", basic("alice", "s3cret"));
        const answers = await Promise.all([
            ping(server, { ...nobodys, ...basic("alice", "s3cret") }),
            ping(server, alices),
            ping(server, { ...alices, ...basic("alice", "s3cret") }),
        ]);
        assert.deepEqual(
            answers.map(({ status }) => status),
            [200, 404, 200],
        );
    });

    test("is still known after a restart when there is a database, and by another server of it", {
        skip: oneProcess,
    }, async (t) => {
        const config = { store: { path: databasePath() } };
        const first = await start(t, config);
        const session = await openSession(first);
        const second = await start(t, config);
        assert.equal((await ping(second, session)).status, 200);
        await first.stop();
        const third = await start(t, config);
        assert.equal((await ping(third, session)).status, 200);
        // Without one each process has a key of its own.
        const other = await start(t);
        assert.equal((await ping(other, session)).status, 404);
    });
});

test("a database that somebody has locked costs nothing but sessions after a restart", {
    skip: oneProcess,
}, async (t) => {
    const path = databasePath();
    await (await startBridge({ config: { store: { path } } })).stop();
    const locker = spawn("sqlite3", ["-batch", path], { stdio: ["pipe", "pipe", "inherit"] });
    t.after(() => locker.kill());
    locker.stdin.write("PRAGMA locking_mode=EXCLUSIVE;\nBEGIN EXCLUSIVE;\n");
    locker.stdin.write("INSERT INTO role(name) VALUES ('locker');\nSELECT 'locked';\n");
    await once(locker.stdout, "data");
    const server = await start(t, { store: { path } });
    const session = await openSession(server);
    assert.equal((await ping(server, session)).status, 200);
    await server.untilLogged(/sessions of clients end with this process/);
});

test("threat-A7: one caller begins and ends more sessions than are remembered of it, and none fails", {
    skip: oneReplica,
}, async (t) => {
    const server = await start(t, { loops: 2 });
    const first = await openSession(server);
    const end = async (session) => (await fetch(`${server.url}/mcp`, { method: "DELETE", headers: session })).status;
    assert.equal(await end(first), 204);
    let last;
    const all = Array.from({ length: 4_200 }, (_, i) => i);
    await inParallel(all, 16, async () => {
        last = await openSession(server);
        assert.equal(await end(last), 204);
    });
    assert.equal((await ping(server, last)).status, 404);
    // The oldest end is forgotten. That opens nothing: a session grants nothing.
    assert.equal((await ping(server, first)).status, 200);
});

suite("messages in a session", { concurrency: true }, () => {
    test("batches are taken by the version of the header, else of the session", async (t) => {
        const server = await start(t, { limits: { batch: 10_000 } });
        const batch = [
            { jsonrpc: "2.0", id: 1, method: "ping" },
            { jsonrpc: "2.0", method: "notifications/initialized" },
        ];
        for (const version of legacyVersions) {
            const session = await openSession(server, version);
            const has = version === "2025-03-26";
            const plain = await post(server, "/mcp", batch, { ...both, ...session });
            assert.equal(plain.status, has ? 200 : 400, `${version}: ${plain.text}`);
            const headers = { ...both, ...session, "MCP-Protocol-Version": version };
            assert.equal((await post(server, "/mcp", batch, headers)).status, has ? 200 : 400);
        }
        const old = await openSession(server, "2025-03-26");
        const newer = { ...both, ...old, "MCP-Protocol-Version": "2025-06-18" };
        assert.equal((await post(server, "/mcp", batch, newer)).status, 400);
        const many = Array.from({ length: 10_000 }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" }));
        const answer = await post(server, "/mcp", many, both);
        assert.equal(answer.json.length, 10_000);
        assert.deepEqual(answer.json.at(-1), { jsonrpc: "2.0", result: {}, id: 9_999 });
        assertRpcError(await post(server, "/mcp", [...many, many[0]], both), 400, -32600);
    });

    test("ids come back as they were sent, and what is no id is refused", async (t) => {
        const server = await start(t);
        const ids = ['"a"', '""', '"\\u00e4\\n\\"x\\""', "0", "-7", "9007199254740993", `1${"0".repeat(30)}`];
        for (const id of ids) {
            const { status, text } = await post(server, "/mcp", `{"jsonrpc":"2.0","id":${id},"method":"ping"}`, both);
            assert.equal(status, 200, text);
            assert.equal(text, `{"jsonrpc":"2.0","result":{},"id":${id}}`);
        }
        for (const id of ["null", "1.5", "true", "{}", "[]", "[1]"]) {
            const answer = await post(server, "/mcp", `{"jsonrpc":"2.0","id":${id},"method":"ping"}`, both);
            assertRpcError(answer, 400, -32600);
        }
    });

    test("threat-B7: one id in two sessions and twice in one: each request gets its own answer", async (t) => {
        const server = await start(t, { loops: 2 });
        const sessions = [await openSession(server), await openSession(server)];
        await inParallel(
            Array.from({ length: 200 }, (_, i) => i),
            20,
            async (i) => {
                const answer = await legacy(
                    server,
                    "tools/call",
                    { name: "test.echo", arguments: { message: `m${i}` } },
                    { id: 1, headers: sessions[i % 2] },
                );
                assert.ok(answer.text.includes(`m${i}`), answer.text);
            },
        );
    });

    test("bad input ends cleanly: nesting, size, half requests", { skip: oneProcess }, async (t) => {
        const server = await start(t, { limits: { body_size: "64MB" }, timeouts: { body: "10m" } });
        const session = await openSession(server);
        const headers = { ...both, ...session };
        const deep = `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}}`;
        const answer = await post(server, "/mcp", deep, headers);
        assertRpcError(answer, 400, -32700);
        const large = `{"jsonrpc":"2.0","id":"causeway-0-${"0".repeat(32)}","result":"${"x".repeat(60 << 20)}"}`;
        assert.equal((await post(server, "/mcp", large, headers)).status, 202);
        const before = residentKb(server.pid);
        for (let i = 0; i < 6; i++) {
            assert.equal((await post(server, "/mcp", large, headers)).status, 202);
        }
        const whole = request("POST", "/mcp", { "Content-Type": "application/json", ...headers }, "{}");
        for (let i = 1; i < 20; i++) {
            const connection = await Connection.open(server);
            await connection.send(whole.slice(0, Math.floor((whole.length * i) / 20)));
            connection.close();
        }
        assert.equal((await ping(server, session)).status, 200);
        const grown = residentKb(server.pid) - before;
        // Six bodies that stayed would be 360 MB; sanitizers keep what was freed for a while.
        assert.ok(grown < (slowness > 1 ? 330_000 : 150_000), `${grown} KB more`);
    });
});
