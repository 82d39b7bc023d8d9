// Time limits: each slow client is cut off in time, and no client that is quick enough.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { patience, stopwatch, slowness } from "./support/programs.mjs";
import {
    assertError,
    Connection,
    eventually,
    exchange,
    get,
    getJson,
    openFiles,
    paddedGet,
    pause,
    request,
    startTestServer,
} from "./support/server.mjs";

const limit = Math.min(patience(400), 1_600 * slowness); // slower clients would fall below the least rate
const late = limit + patience(1_500); // what a busy machine may add

// How long `work` took; must lie between the limit (less a timer's grain) and `late`, without a standstill of the machine.
async function assertTakesTheLimit(work, from = Date.now()) {
    const elapsed = stopwatch();
    await work();
    const ms = Date.now() - from;
    assert.ok(ms >= limit - 20, `after ${ms} ms, before the limit of ${limit}`);
    assert.ok(elapsed() <= late, `only after ${elapsed()} ms, limit ${limit}`);
}

// For clients that are quick enough: a pause of the whole machine may make one late, not three.
async function assertNotCutOff(work) {
    for (let tries = 1; ; tries++) {
        try {
            return await work();
        } catch (error) {
            if (tries === 3) {
                throw error;
            }
        }
    }
}

// Send one byte after the other until the server ends the connection.
async function drip(c, bytes, everyMs) {
    for (const byte of bytes) {
        if (c.ended) {
            return;
        }
        await c.send(byte);
        await pause(everyMs);
    }
}

suite("the limit for a head", { concurrency: true }, () => {
    let server;
    before(async () => (server = await startTestServer({ header_ms: limit, idle_ms: 60_000 })));
    after(() => server.stop());

    test("a connection that sends nothing is closed without an answer", async () => {
        await assertTakesTheLimit(async () => {
            const c = await Connection.open(server);
            await c.closed();
            assert.equal(c.total, 0);
        });
    });

    test("half a head is answered with 408", async () => {
        await assertTakesTheLimit(async () => {
            const c = await Connection.open(server);
            await c.send("GET /echo HTTP/1.1\r\nHost: local");
            const answer = await c.response();
            assertError(answer, 408, "request_timeout");
            assert.equal(answer.headers.get("connection"), "close");
            await c.closed();
        });
    });

    test("threat-A7: one byte at a time does not extend it", async () => {
        await assertTakesTheLimit(async () => {
            const c = await Connection.open(server);
            drip(c, get("/echo", { "X-Pad": "x".repeat(2_000) }), 10);
            assertError(await c.response(), 408, "request_timeout");
            await c.closed();
        });
    });

    test("empty lines ahead of a request do not extend it", async () => {
        await assertTakesTheLimit(async () => {
            const c = await Connection.open(server);
            drip(c, ["\r\n", "\r\n", "G", "E", "T"], limit / 8);
            assertError(await c.response(), 408, "request_timeout");
        });
    });

    test("it counts a later request from its first byte", async () => {
        const c = await Connection.open(server);
        await c.assertAlive();
        await pause(limit * 1.2);
        await c.assertAlive();
        await assertTakesTheLimit(async () => {
            await c.send("G");
            assertError(await c.response(), 408, "request_timeout");
            await c.closed();
        });
    });

    test("it counts a pipelined request from the answer before it", async () => {
        const c = await Connection.open(server);
        const wait = Math.round(limit * 1.2);
        // The answer may be read long after the server sent it.
        const answered = Date.now() + wait;
        await c.send(`${get(`/later?${wait}`)}GET /item/x HTTP/1.1\r\n`);
        assert.equal((await c.response()).status, 200);
        await assertTakesTheLimit(async () => {
            assertError(await c.response(), 408, "request_timeout");
        }, answered);
    });

    test("a head that comes slowly but in time is served", async () => {
        const parts = ["GET /item/slow HTTP", "/1.1\r\nHost: loc", "alhost\r\n", "\r\n"];
        await assertNotCutOff(async () => {
            const c = await Connection.open(server);
            await drip(c, parts, limit / 10);
            assert.equal((await c.response()).text, "slow");
            c.close();
        });
    });

    test("a slow call is nobody's head", async () => {
        const c = await Connection.open(server);
        await c.send(get(`/later?${Math.round(limit * 1.5)}`));
        assert.equal((await c.response()).status, 200);
        await c.assertAlive();
        c.close();
    });

    test("heads that are cut across reads have their own time each", async () => {
        const text = paddedGet("/item/x", 200);
        const half = text.length / 2;
        const c = await assertNotCutOff(async () => {
            const one = await Connection.open(server);
            await one.send(text.slice(0, half));
            for (let i = 0; i < 12; i++) {
                await pause(limit / 8);
                await one.send(text.slice(half) + text.slice(0, half));
                assert.equal((await one.response()).status, 200);
            }
            await one.send(text.slice(half));
            assert.equal((await one.response()).status, 200);
            return one;
        });
        // One that is slow by itself is still refused.
        await c.send(text.slice(0, half));
        assertError(await c.response(), 408, "request_timeout");
    });
});

suite("the limit for a body", { concurrency: true }, () => {
    const length = 10_000;
    let server;
    let unlimited;
    before(async () => {
        const options = { body_ms: limit, header_ms: 60_000 };
        server = await startTestServer({ ...options, min_rate: 200 });
        unlimited = await startTestServer({ ...options, min_rate: 0 });
    });
    after(() => Promise.all([server.stop(), unlimited.stop()]));

    const head = request("POST", "/echo", { "Content-Length": length });

    test("a body that stops is answered with 408", async () => {
        await assertTakesTheLimit(async () => {
            const c = await Connection.open(server);
            await c.send(`${head}abc`);
            const answer = await c.response();
            assertError(answer, 408, "request_timeout");
            assert.equal(answer.headers.get("connection"), "close");
            await c.closed();
        });
    });

    test("threat-A7, fault-B10: a body that drips below the rate is cut off", async () => {
        await assertTakesTheLimit(async () => {
            const c = await Connection.open(server);
            await c.send(head);
            drip(c, "b".repeat(length), limit / 20); // 50 bytes a second
            assertError(await c.response(), 408, "request_timeout");
        });
    });

    test("chunks that drip below the rate are cut off", async () => {
        await assertTakesTheLimit(async () => {
            const c = await Connection.open(server);
            await c.send(request("POST", "/echo", { "Transfer-Encoding": "chunked" }));
            drip(c, "1\r\nb\r\n".repeat(length), limit / 20);
            assertError(await c.response(), 408, "request_timeout");
        });
    });

    test("a body that drips above the rate is read to its end", async () => {
        const parts = Array.from({ length: 25 }, () => "b".repeat(length / 25));
        await assertNotCutOff(async () => {
            const c = await Connection.open(server);
            await c.send(head);
            const start = Date.now();
            await drip(c, parts, limit / 8); // three limits long, 40 times the rate
            assert.ok(Date.now() - start > 2 * limit);
            assert.equal(JSON.parse((await c.response()).text).body.length, length);
            c.close();
        });
    });

    test("without a least rate only a body that brings nothing is cut off", async () => {
        await assertNotCutOff(async () => {
            const slow = await Connection.open(unlimited);
            await slow.send(request("POST", "/echo", { "Content-Length": 12 }));
            await drip(slow, "0123456789ab", limit / 4);
            assert.equal(JSON.parse((await slow.response()).text).body, "0123456789ab");
            slow.close();
        });
        await assertTakesTheLimit(async () => {
            const c = await Connection.open(unlimited);
            await c.send(head);
            assertError(await c.response(), 408, "request_timeout");
        });
    });
});

suite("the limit for an idle connection", { concurrency: true }, () => {
    let server;
    before(async () => (server = await startTestServer({ idle_ms: limit })));
    after(() => server.stop());

    test("a connection between requests is closed without an answer", async () => {
        const c = await Connection.open(server);
        // The answer may be read long after the server sent it.
        const from = Date.now();
        await c.assertAlive();
        await assertTakesTheLimit(() => c.closed(), from);
        assert.equal(c.buffer.length, 0);
        assert.ok(c.closedCleanly);
    });

    test("each request starts it anew", async () => {
        await assertNotCutOff(async () => {
            const c = await Connection.open(server);
            const start = Date.now();
            while (Date.now() - start < 3 * limit) {
                await c.assertAlive();
                await pause(limit / 8);
            }
            c.close();
        });
    });

    test("a running call is not idle", async () => {
        await assertNotCutOff(async () => {
            const c = await Connection.open(server);
            await c.send(get(`/later?${limit * 2}`));
            assert.equal((await c.response()).status, 200);
            await c.assertAlive();
            c.close();
        });
    });

    test("an open stream is not idle", async () => {
        await assertNotCutOff(async () => {
            const c = await Connection.open(server);
            await c.send(get(`/events?${Math.round((limit * 2) / 10)}`));
            assert.equal((await c.response({ timeoutMs: 4 * limit })).status, 200);
            await c.assertAlive();
            c.close();
        });
    });
});

suite("the limit for a reader", { concurrency: true }, () => {
    let server;
    before(async () => {
        server = await startTestServer({ write_ms: limit, min_rate: 100_000, header_ms: 60_000 });
    });
    after(() => server.stop());

    const size = 30_000_000; // far more than the kernel buffers

    // A client that asks and then does not read.
    async function openStuck(to, target) {
        const c = await Connection.open(to);
        c.socket.pause();
        await c.send(get(target));
        return c;
    }

    test("threat-A7: a client that reads neither an answer nor a stream is cut off", async () => {
        const one = await startTestServer({ write_ms: limit, min_rate: 100_000 });
        await assertTakesTheLimit(async () => {
            const stuck = await Promise.all([openStuck(one, `/big?${size}`), openStuck(one, `/flood?${size}`)]);
            await eventually(async () => (await getJson(one, "/gone")).gone === 1, "the stream's owner was told", late);
            await eventually(() => openFiles(one.pid) === one.files, "both connections closed", late);
            for (const c of stuck) {
                c.socket.resume();
                await c.closed();
                assert.ok(c.total < size, `${c.total} bytes`);
            }
        });
        await one.stop();
    });

    test("without a least rate a client that reads nothing is cut off too", async () => {
        const one = await startTestServer({ write_ms: limit, min_rate: 0 });
        await assertTakesTheLimit(async () => {
            const c = await openStuck(one, `/flood?${size}`);
            await eventually(async () => (await getJson(one, "/gone")).gone === 1, "cut off", late);
            c.close();
        });
        await one.stop();
    });

    test("a client that reads slowly but above the rate gets everything", async () => {
        const read = async (target, size) => {
            const c = await Connection.open(server);
            await c.send(get(target));
            const start = Date.now();
            while (c.total < size) {
                assert.ok(!c.ended, `ended after ${c.total} bytes`);
                const goal = c.total + size / 40;
                c.socket.resume();
                await c.until(() => c.ended || c.total >= Math.min(goal, size), "more");
                c.socket.pause();
                await pause(limit / 15);
            }
            assert.ok(Date.now() - start > 2 * limit);
            c.socket.resume();
            await c.until(() => c.buffer.length > size, "all of the answer");
            c.close();
        };
        await Promise.all([
            assertNotCutOff(() => read("/big?8000000", 8_000_000)),
            assertNotCutOff(() => read("/flood?8000000", 8_000_000)),
        ]);
    });
});

test("a client that stays after the last answer is closed after a while", async (t) => {
    const server = await startTestServer();
    const c = await Connection.open(server, { stays: true });
    const start = Date.now(); // the answer may be read long after the server sent it
    await c.send("nonsense\r\n\r\n");
    assert.equal((await c.response()).status, 400);
    await c.closed();
    const sending = setInterval(() => c.socket.write("more and more nonsense"), 50);
    t.after(() => clearInterval(sending));
    await eventually(() => openFiles(server.pid) === server.files, "the connection is gone", 4_000);
    clearInterval(sending);
    assert.ok(Date.now() - start > 500, "time for the answer to reach a client that still sends");
    c.close();
    assert.equal((await exchange(server, get("/echo"))).status, 200);
    await server.stop();
});
