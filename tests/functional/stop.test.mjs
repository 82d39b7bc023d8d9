// Stopping: what runs is finished, what idles is closed, nobody new is taken, and it ends in time.
import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { suite, test } from "node:test";
import { databasePath } from "./support/accounts.mjs";
import { patience, slowness, startCauseway, timeLimit } from "./support/programs.mjs";
import {
    Connection,
    eventually,
    exchange,
    get,
    pause,
    request,
    soonEnded,
    startTestServer,
} from "./support/server.mjs";
import { newSocketPath } from "./support/kept.mjs";
import { existsSync } from "node:fs";
import { startHostile } from "./support/hostile-plugin.mjs";
import { assertRpcError, startBridge, toolRequest } from "./support/mcp.mjs";
import { assertRestError } from "./support/rest.mjs";

// A stop that takes as long as a test needs for its steps.
const patient = { drain: "10m", linger: "10m", header: "10m" };
const patientMs = { drain_ms: 600_000, linger_ms: 600_000, header_ms: 600_000, body_ms: 600_000, write_ms: 600_000 };

// Wait for the end and check that it was clean; returns how long it took. The limit stands still with the machine.
async function assertEnds(server, { within = 1_500, from = Date.now() } = {}) {
    const left = timeLimit(within);
    let end;
    server.exited.then((how) => (end = how));
    await eventually(() => end !== undefined, "the end of the program", within + 5_000);
    const ms = Date.now() - from;
    server.assertNoReports();
    assert.deepEqual(end, { code: 0, signal: null });
    assert.ok(left() > 0, `took ${ms} ms`);
    return ms;
}

async function assertRefusesNewOnes(server) {
    await eventually(async () => {
        const c = new Connection(server.port);
        const error = await c.opened.then(
            () => null,
            ({ code }) => code,
        );
        c.close();
        return error === "ECONNREFUSED";
    }, "new connections are refused");
}

suite("causeway", { concurrency: true }, () => {
    for (const signal of ["SIGTERM", "SIGINT"]) {
        test(`ends with 0 after ${signal} when nobody is there`, async () => {
            const server = await startCauseway();
            server.child.kill(signal);
            await assertEnds(server);
            assert.match(server.stderr, /serve: stopping /);
            assert.match(server.stderr, /serve: stopped/);
        });
    }

    test("ends with 0 while its database is still being read", async () => {
        // Side by side, so that the threads of a server do not run at the same time.
        for (let round = 0; round < 4; round += 1) {
            const start = () => startCauseway({ config: { store: { path: databasePath() } } });
            const servers = await Promise.all(Array.from({ length: 8 }, start));
            servers.forEach((server) => server.child.kill("SIGTERM"));
            await Promise.all(servers.map((server) => assertEnds(server, { within: 5_000 })));
        }
    });

    test("answers the next request of idle connections, and closes them after it", async () => {
        const server = await startCauseway({ config: { timeouts: patient } });
        const idle = await Promise.all(Array.from({ length: 20 }, () => Connection.open(server)));
        await Promise.all(idle.map((c) => c.assertAlive("/healthz")));
        server.child.kill("SIGTERM");
        await assertRefusesNewOnes(server);
        await pause(300);
        for (const c of idle) {
            assert.equal(c.ended, false);
            await c.send(get("/healthz"));
            const answer = await c.response();
            assert.equal(answer.status, 200);
            assert.equal(answer.headers.get("connection"), "close");
            await c.closed();
            assert.ok(c.closedCleanly);
        }
        await assertEnds(server);
    });

    test("closes idle connections without a request after the linger time", async () => {
        const server = await startCauseway({ config: { timeouts: { linger: `${400 * slowness}ms` } } });
        const idle = await Promise.all(Array.from({ length: 5 }, () => Connection.open(server)));
        await Promise.all(idle.map((c) => c.assertAlive("/healthz")));
        const from = Date.now();
        server.child.kill("SIGTERM");
        const ms = await assertEnds(server, { from, within: 2_500 });
        assert.ok(ms >= 400 * slowness - 50, `already after ${ms} ms`);
        for (const c of idle) {
            await c.closed();
            assert.ok(c.closedCleanly);
        }
    });

    test("closes idle connections at once if they shall not linger", async () => {
        const server = await startCauseway({ config: { timeouts: { linger: 0 } } });
        const idle = await Promise.all(Array.from({ length: 20 }, () => Connection.open(server)));
        await Promise.all(idle.map((c) => c.assertAlive("/healthz")));
        server.child.kill("SIGTERM");
        await assertEnds(server);
        for (const c of idle) {
            await c.closed();
            assert.ok(c.closedCleanly);
        }
    });

    test("serves the first request of connections that it had taken", async () => {
        const server = await startCauseway({ config: { timeouts: patient } });
        const fresh = await Promise.all(Array.from({ length: 10 }, () => Connection.open(server)));
        server.child.kill("SIGTERM");
        await server.untilLogged(/stopping/);
        for (const c of fresh) {
            await c.send(get("/readyz"));
            const answer = await c.response();
            assert.equal(answer.status, 503);
            assert.deepEqual(JSON.parse(answer.text), { status: "stopping" });
            assert.equal(answer.headers.get("connection"), "close");
            await c.closed();
        }
        await assertEnds(server);
    });

    test("accepts connections during timeouts.lame_duck, and is not ready", async () => {
        const server = await startCauseway({ config: { timeouts: { lame_duck: "1h" } } });
        const early = await Connection.open(server);
        await early.assertAlive("/readyz");
        server.child.kill("SIGTERM");
        await server.untilLogged(/stopping/);
        const late = await Connection.open(server);
        for (const c of [early, late]) {
            await c.send(get("/readyz"));
            assert.equal((await c.response()).status, 503);
            await c.assertAlive("/healthz");
            c.close();
        }
        server.child.kill("SIGTERM");
        await assertEnds(server);
        // It lasts as long as it is configured.
        const other = await startCauseway({ config: { timeouts: { lame_duck: `${1_000 * slowness}ms` } } });
        const idle = await Connection.open(other);
        await idle.assertAlive("/readyz");
        const began = Date.now();
        other.child.kill("SIGTERM");
        await assertEnds(other, { within: 8_000 });
        assert.ok(Date.now() - began >= 1_000 * slowness - 20);
    });

    test("answers calls that wait for a source, at every door", async (t) => {
        const silent = net.createServer(() => {}).listen(0, "127.0.0.1");
        await once(silent, "listening");
        t.after(() => silent.close());
        const url = `http://127.0.0.1:${silent.address().port}/`;
        const sources = [{ name: "slow", url, discovery: "openrpc", timeout: "60s" }];
        const server = await startBridge({ plugins: [], config: { sources } });
        const message = (id) => ({ jsonrpc: "2.0", method: "x", id });
        const post = (target, body) =>
            request("POST", target, { "Content-Type": "application/json" }, JSON.stringify(body));
        const requests = [
            toolRequest("x", {}),
            post("/mcp/tools/invoke", { name: "x", arguments: {} }),
            post("/mcp/tools/x", message(9)),
            post("/jsonrpc", message(3)),
            post("/jsonrpc", [message(1), message(2)]),
        ];
        const begun = performance.now();
        const send = async (text) => {
            const c = await Connection.open(server);
            await c.send(text);
            await c.untilRead();
            return c;
        };
        const connections = await Promise.all(requests.map(send));
        await pause(200);
        const answered = connections.filter((c) => c.buffer.length > 0).length;
        // They wait ten seconds, during which the machine may have stood still.
        if (performance.now() - begun < 10_000) assert.equal(answered, 0);
        const left = timeLimit(1_500);
        server.child.kill("SIGTERM");
        const answers = await Promise.all(connections.map((c) => c.response()));
        assert.ok(left() > 0, "none waits until the loading ends");
        const [tool, rest, address, one, batch] = answers.map((got) => ({ ...got, json: JSON.parse(got.text) }));
        assertRpcError(tool, 200, -32602, 1);
        assertRestError({ ...rest, headers: Object.fromEntries(rest.headers) }, 404, "tool_not_found");
        assert.deepEqual([address.status, address.json.error.code], [404, -32601]);
        assert.deepEqual([one.json.id, one.json.error.code], [3, -32601]);
        const codes = batch.json.map(({ id, error }) => [id, error.code]);
        assert.deepEqual(
            codes,
            [1, 2].map((id) => [id, -32601]),
        );
        await assertEnds(server, { within: 4_000 });
    });

    test("does not wait for ever for a connection that sends nothing", async () => {
        const server = await startCauseway({ config: { timeouts: { linger: "2s" } } });
        const silent = await Connection.open(server);
        server.child.kill("SIGTERM");
        await assertEnds(server, { within: 4_000 });
        silent.close();
    });

    test("ends at once after a second signal", async () => {
        const server = await startCauseway({
            config: { timeouts: { drain: "1h", header: "1h" } },
        });
        const half = await Connection.open(server);
        await half.send("GET /healthz HT");
        await half.untilRead();
        server.child.kill("SIGTERM");
        await server.untilLogged(/stopping/);
        await assertRefusesNewOnes(server);
        assert.equal(server.child.exitCode, null, "it waits for the rest of the request");
        const from = Date.now();
        server.child.kill("SIGTERM");
        await assertEnds(server, { from });
        assert.match(server.stderr, /stopping now/);
        await half.closed();
    });

    test("gives half a request the time to become a whole one", async () => {
        const server = await startCauseway({ config: { timeouts: patient } });
        const half = await Connection.open(server);
        await half.send("GET /healthz HTTP/1.1\r\nHost: loc");
        await half.untilRead();
        server.child.kill("SIGTERM");
        await assertRefusesNewOnes(server);
        await half.send("alhost\r\n\r\n");
        const answer = await half.response();
        assert.equal(answer.status, 200);
        assert.equal(answer.headers.get("connection"), "close");
        await assertEnds(server);
    });

    test("cuts off what is not finished within the drain time", async () => {
        const server = await startCauseway({
            config: { timeouts: { drain: `${400 * slowness}ms`, header: "1h" } },
        });
        const half = await Connection.open(server);
        await half.send("GET /healthz HT");
        await half.untilRead();
        const from = Date.now();
        server.child.kill("SIGTERM");
        const ms = await assertEnds(server, { from, within: 2_500 });
        assert.ok(ms >= 400 * slowness - 50, `already after ${ms} ms`);
        await half.closed();
    });
});

suite("the HTTP layer", { concurrency: true }, () => {
    for (const loops of [1, 4]) {
        test(`finishes running calls and takes nobody new, with ${loops} loops`, async () => {
            const server = await startTestServer({ ...patientMs, loops, linger_ms: 0 });
            const wait = Math.min(patience(600), 10_000);
            const calls = await Promise.all(Array.from({ length: 8 }, () => Connection.open(server)));
            const idle = await Promise.all(Array.from({ length: 8 }, () => Connection.open(server)));
            await Promise.all(idle.map((c) => c.assertAlive()));
            const begun = performance.now();
            await Promise.all(calls.map((c) => c.send(get(`/later?${wait}`))));
            await Promise.all(calls.map((c) => c.untilRead()));
            server.child.kill("SIGTERM");
            await assertRefusesNewOnes(server);
            await Promise.all(idle.map((c) => c.closed()));
            const answered = calls.filter((c) => c.buffer.length > 0).length;
            const hasEnded = server.child.exitCode !== null;
            // A machine that stood still meanwhile has ended the calls as well.
            if (performance.now() - begun < wait) {
                assert.equal(answered, 0, "idle ones are closed before the calls are done");
                assert.ok(!hasEnded);
            }
            for (const c of calls) {
                const { status, headers, text } = await c.response();
                assert.equal(status, 200);
                assert.equal(text, '{"later":true}');
                assert.equal(headers.get("connection"), "close");
                await c.closed();
                assert.ok(c.closedCleanly);
            }
            await assertEnds(server);
        });
    }

    test("tells event streams, which end properly", async () => {
        const server = await startTestServer();
        const streams = await Promise.all(Array.from({ length: 5 }, () => Connection.open(server)));
        await Promise.all(streams.map((c) => c.send(get("/events"))));
        await Promise.all(streams.map((c) => c.text(/event: tick/)));
        server.child.kill("SIGTERM");
        for (const c of streams) {
            const { status, complete } = await c.response();
            assert.equal(status, 200);
            assert.ok(complete, "the last chunk came");
            await c.closed();
        }
        await assertEnds(server);
    });

    test("reads a body that has begun and answers it", async () => {
        const server = await startTestServer(patientMs);
        const c = await Connection.open(server);
        await c.send(request("POST", "/echo", { "Content-Length": 10 }) + "01234");
        await c.untilRead();
        server.child.kill("SIGTERM");
        await assertRefusesNewOnes(server);
        await c.send("56789");
        const { status, text, headers } = await c.response();
        assert.equal(status, 200);
        assert.equal(JSON.parse(text).body, "0123456789");
        assert.equal(headers.get("connection"), "close");
        await assertEnds(server);
    });

    test("sends a large answer to its end", async () => {
        const server = await startTestServer(patientMs);
        const c = await Connection.open(server);
        c.socket.pause();
        await c.send(get("/big?20000000"));
        await c.untilRead();
        server.child.kill("SIGTERM");
        await assertRefusesNewOnes(server);
        c.socket.resume();
        assert.equal((await c.response({ timeoutMs: 20_000 })).body.length, 20_000_000);
        await assertEnds(server);
    });

    test("runs no request that lies behind the last one", async () => {
        const server = await startTestServer({ ...patientMs, loops: 1 });
        const c = await Connection.open(server);
        await c.send(get("/park") + get("/canary/x"));
        await c.untilRead();
        // The call ends when the rest of this request comes.
        const other = await Connection.open(server);
        const release = get("/release");
        await other.send(release.slice(0, -1));
        await other.untilRead();
        server.child.kill("SIGTERM");
        await assertRefusesNewOnes(server);
        assert.equal(c.buffer.length, 0);
        await other.send(release.slice(-1));
        assert.equal((await c.response()).headers.get("connection"), "close");
        await c.closed();
        assert.equal(c.buffer.length, 0);
        await other.closed();
        await assertEnds(server);
    });

    test("cuts off calls after the drain time and ends", async () => {
        const server = await startTestServer({ drain_ms: 300 * slowness, loops: 2 });
        const calls = await Promise.all(Array.from({ length: 6 }, () => Connection.open(server)));
        await Promise.all(calls.map((c, i) => c.send(get(i % 2 ? "/later?60000" : "/flood?500000000"))));
        calls.forEach((c) => c.socket.pause());
        await Promise.all(calls.map((c) => c.untilRead()));
        const from = Date.now();
        server.child.kill("SIGTERM");
        const ms = await assertEnds(server, { from, within: 2_500 });
        assert.ok(ms >= 300 * slowness - 50, `already after ${ms} ms`);
        calls.forEach((c) => c.close());
    });

    test("cuts off everything at the second signal", async () => {
        const server = await startTestServer({ drain_ms: 600_000, loops: 2 });
        const calls = await Promise.all(Array.from({ length: 6 }, () => Connection.open(server)));
        await Promise.all(calls.map((c, i) => c.send(get(i % 2 ? "/later?600000" : "/hold?600000"))));
        await Promise.all(calls.map((c) => c.untilRead()));
        server.child.kill("SIGTERM");
        await assertRefusesNewOnes(server);
        const from = Date.now();
        server.child.kill("SIGTERM");
        await assertEnds(server, { from });
        await Promise.all(calls.map((c) => c.closed()));
    });

    test("answers every connection that it took while clients keep coming", async () => {
        const server = await startTestServer({ loops: 2 });
        const counts = { answered: 0, refused: 0, other: [] };
        let stopped = false;
        const client = async () => {
            while (!counts.refused) {
                const c = new Connection(server.port);
                try {
                    await c.opened;
                    await c.send(get("/item/x", { Connection: "close" }));
                    assert.equal((await c.response()).text, "x");
                    counts.answered += 1;
                } catch (error) {
                    if (error.code === "ECONNREFUSED") {
                        counts.refused += 1;
                    } else {
                        counts.other.push(`${stopped ? "after" : "before"} the stop: ${error.message}`);
                    }
                }
                c.close();
            }
        };
        const clients = Array.from({ length: 16 }, client);
        await eventually(() => counts.answered > 200, "clients are served");
        stopped = true;
        server.child.kill("SIGTERM");
        await Promise.all(clients);
        await assertEnds(server);
        // What the kernel took in the moment of the stop, after the server looked for the last
        // time, is reset; no more than a handful.
        assert.ok(counts.other.length <= 16, counts.other.join("\n"));
        assert.ok(
            counts.other.every((text) => text.startsWith("after")),
            counts.other.join("\n"),
        );
    });
});

test("a draining server leaves the unix socket of its successor alone", async () => {
    const socket = newSocketPath();
    const start = () => startTestServer({ ...patientMs, listen: ["127.0.0.1:0", `unix:${socket}`] });
    const old = await start();
    const c = await Connection.open({ path: socket });
    await c.assertAlive();
    // It drains until the last byte of this has come.
    const text = request("POST", "/echo", {}, "body");
    await c.send(text.slice(0, -1));
    old.child.kill("SIGTERM");
    await assertRefusesNewOnes(old);
    const successor = await start();
    assert.equal((await exchange({ path: socket }, get("/item/new"))).text, "new");
    assert.equal(old.child.exitCode, null, "it still drains");
    await c.send(text.slice(-1));
    assert.equal((await c.response()).status, 200);
    assert.equal((await soonEnded(old)).code, 0);
    assert.ok(existsSync(socket));
    assert.equal((await exchange({ path: socket }, get("/item/still"))).text, "still");
    await successor.stop();
    assert.equal(existsSync(socket), false);
});

test("signals in the last phase of a stop do not kill", async () => {
    for (let i = 0; i < 12; i++) {
        const server = await startCauseway();
        server.child.kill("SIGTERM");
        // Without a pause, until it has surely ended.
        const until = Date.now() + 60 * slowness;
        while (Date.now() < until) {
            ["SIGTERM", "SIGINT", "SIGHUP"].forEach((name) => server.child.kill(name));
        }
        assert.equal((await soonEnded(server)).code, 0);
    }
});

test("a stream that begins after the order to stop hears of it", async () => {
    const server = await startTestServer(patientMs);
    const fresh = await Connection.open(server);
    await fresh.assertAlive();
    server.child.kill("SIGTERM");
    await assertRefusesNewOnes(server);
    await fresh.send(get("/events"));
    const { status, complete } = await fresh.response();
    assert.equal(status, 200);
    assert.ok(complete);
    assert.equal((await soonEnded(server, 4_000)).code, 0);
});

test("the last answer of a call is sent before the end", async (t) => {
    const server = await startHostile(t);
    const client = await Connection.open(server);
    await client.assertAlive("/healthz");
    await client.send(toolRequest("hostile.nap", { ms: 400 }, { lines: "Connection: close\r\n" }));
    await pause(150);
    const stopped = server.stop();
    assert.equal((await client.response()).status, 200);
    await stopped;
});
