// Streams: server-sent events, their keep-alive, slow readers, and clients that leave.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { patience, slowness, timeLimit } from "./support/programs.mjs";
import { rawExchange, splitResponses } from "./support/raw.mjs";
import {
    Connection,
    eventually,
    exchange,
    get,
    getJson,
    openFiles,
    pause,
    processorMs,
    request,
    residentKb,
    startTestServer,
} from "./support/server.mjs";

let server;
before(async () => (server = await startTestServer()));
after(() => server.stop());

// The fields of each event: [{ event, data }].
function readEvents(text) {
    const blocks = text
        .replace(/^:.*\n/gm, "")
        .split("\n\n")
        .filter((block) => block !== "");
    return blocks.map((block) => {
        const fields = block.split("\n").map((line) => line.split(": "));
        const data = fields.filter(([name]) => name === "data").map(([, value]) => value);
        return { event: fields.find(([name]) => name === "event")?.[1], data: data.join("\n") };
    });
}

test("events arrive as an event stream, each with its lines of data", async () => {
    const c = await Connection.open(server);
    await c.send(get("/events?3"));
    const { status, headers, text } = await c.response();
    assert.equal(status, 200);
    assert.equal(headers.get("content-type"), "text/event-stream");
    assert.equal(headers.get("cache-control"), "no-store, no-transform");
    assert.equal(headers.get("x-accel-buffering"), "no");
    assert.equal(headers.get("transfer-encoding"), "chunked");
    assert.equal(headers.has("content-length"), false);
    const expected = [3, 2, 1].map((n) => ({ event: "tick", data: `tick\n${n}` }));
    assert.deepEqual(readEvents(text), expected);
    await c.assertAlive();
    c.close();
});

test("each event is sent when it happens", async () => {
    const c = await Connection.open(server);
    // There is no last one that the first could wait for.
    await c.send(get("/events"));
    await c.text(/event: tick/, 2_000);
    assert.ok(!c.buffer.includes("0\r\n\r\n"));
    c.close();
});

test("fetch reads a stream", async () => {
    const response = await fetch(`${server.url}/events?2`);
    assert.equal(readEvents(await response.text()).length, 2);
});

test("a stream to HTTP/1.0 has no chunks and ends with the connection", async () => {
    const c = await Connection.open(server);
    await c.send("GET /events?2 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    await c.closed();
    assert.ok(c.closedCleanly);
    const [head, ...rest] = c.buffer.toString("latin1").split("\r\n\r\n");
    assert.match(head, /^HTTP\/1\.1 200 OK\r\n/);
    assert.match(head, /\r\nConnection: close/);
    assert.doesNotMatch(head, /transfer-encoding|content-length/i);
    const events = rest.join("\r\n\r\n");
    assert.deepEqual(
        readEvents(events).map(({ data }) => data),
        ["tick\n2", "tick\n1"],
    );
    assert.ok(events.startsWith("event: tick\n") && events.endsWith("\n\n"));
});

test("requests behind a stream are answered after it", async () => {
    const c = await Connection.open(server);
    await c.send(get("/events?5") + get("/item/a") + get("/flood?100000") + get("/item/b"));
    const [first, second, third, fourth] = await c.responses(4);
    assert.equal(readEvents(first.text).length, 5);
    assert.equal(second.text, "a");
    assert.equal(third.body.length, 100_000);
    assert.equal(fourth.text, "b");
    c.close();
});

suite("keep-alive comments", { concurrency: true }, () => {
    const ping = 100;
    let pinging;
    before(async () => (pinging = await startTestServer({ ping_ms: ping, idle_ms: 200 })));
    after(() => pinging.stop());

    test("cross a silent event stream", async () => {
        const c = await Connection.open(pinging);
        const start = Date.now();
        await c.send(get("/events?0"));
        await c.text(/(2\r\n:\n\r\n){5}/);
        assert.ok(Date.now() - start >= 5 * ping - 50, `five in ${Date.now() - start} ms`);
        assert.doesNotMatch(c.buffer.toString("latin1"), /data/);
        c.close();
    });

    test("are not needed by one that speaks", async () => {
        const text = (await exchange(pinging, get("/events?20"))).text;
        assert.equal(readEvents(text).length, 20);
        assert.ok(!text.startsWith(":"));
    });

    test("stay out of a stream that is no event stream", async () => {
        const { text } = await exchange(pinging, get("/hold?600"));
        assert.equal(text, "ab");
    });

    test("stay out of the answer to HEAD", async () => {
        const c = await Connection.open(pinging);
        await c.send(request("HEAD", "/events?30"));
        assert.equal((await c.response({ method: "HEAD" })).status, 200);
        await pause(3 * ping);
        await c.closed();
        assert.equal(c.buffer.length, 0);
    });
});

suite("a client that does not read", () => {
    const size = 500_000_000;
    const allowedKb = (slowness === 1 ? 8 : 350) * 1024; // sanitizers keep freed memory for a while

    test("costs the server the queue's ceiling, not the stream's size", async () => {
        const one = await startTestServer({ write_ms: 60_000, drain_ms: 0 });
        await exchange(one, get("/flood?1000000"));
        const before_ = residentKb(one.pid);
        const clients = await Promise.all(
            Array.from({ length: 4 }, async () => {
                const c = await Connection.open(one);
                c.socket.pause();
                await c.send(get(`/flood?${size}`));
                return c;
            }),
        );
        for (let i = 0; i < 10; i++) {
            await pause(50);
            const grown = residentKb(one.pid) - before_;
            assert.ok(grown < allowedKb, `${grown} KB more`);
        }
        // Others are served meanwhile.
        assert.equal((await exchange(one, get("/item/other"))).text, "other");
        clients.forEach((c) => c.close());
        await eventually(async () => (await getJson(one, "/gone")).gone === 4, "all four noticed");
        await one.stop();
    });

    test("gets every byte when it reads at last", async () => {
        const c = await Connection.open(server);
        c.socket.pause();
        await c.send(get("/flood?20000000"));
        await pause(200);
        c.socket.resume();
        const { body } = await c.response({ timeoutMs: 20_000 });
        assert.equal(body.length, 20_000_000);
        assert.ok(body.every((byte) => byte === 0x78));
        await c.assertAlive();
        c.close();
    });

    test("a small queue carries a large stream", async () => {
        const one = await startTestServer({ stream_queue: 4096 });
        const { body } = await exchange(one, get("/flood?3000000"), { timeoutMs: 20_000 });
        assert.equal(body.length, 3_000_000);
        await one.stop();
    });

    test("a writer that was told to wait goes on, although its own writes emptied the queue", async () => {
        const one = await startTestServer({ stream_queue: 65_536 });
        const { text } = await exchange(one, get("/refill"), { timeoutMs: 20_000 });
        assert.ok(text.endsWith("."), text.slice(-20));
        await one.stop();
    });

    test("a stream of half a gigabyte passes in constant memory", async () => {
        const one = await startTestServer();
        await exchange(one, get("/flood?1000000"));
        const before_ = residentKb(one.pid);
        const c = await Connection.open(one);
        let total = 0;
        c.socket.removeAllListeners("data");
        c.socket.on("data", (chunk) => {
            total += chunk.length;
            c.waiting?.();
        });
        await c.send(get(`/flood?${size}`));
        await c.until(() => total >= size, "half a gigabyte", 60_000);
        const grown = residentKb(one.pid) - before_;
        assert.ok(grown < allowedKb, `${grown} KB more`);
        c.close();
        await one.stop();
    });
});

// The server has one loop, which reads what came first: it has read all that was sent before this.
const untilRead = () => getJson(server, "/gone");

suite("a client that leaves", () => {
    const soon = 100;

    // Let `leave(c)` happen to a running call; returns how long the server took to notice, in ms.
    async function timeToNotice(target, leave) {
        const { gone } = await getJson(server, "/gone");
        const watcher = await Connection.open(server);
        const c = await Connection.open(server);
        await c.send(get(target));
        await pause(50);
        assert.equal((await getJson(server, "/gone")).gone, gone, "it is not gone yet");
        leave(c);
        const start = Date.now();
        const left = timeLimit(5_000);
        for (;;) {
            await watcher.send(get("/gone"));
            if (JSON.parse((await watcher.response()).text).gone > gone) {
                break;
            }
            assert.ok(left() > 0, "never noticed");
        }
        watcher.close();
        c.close();
        return Date.now() - start;
    }

    // One busy moment of the machine must not fail the test, so the best of three counts.
    async function assertNoticedSoon(target, leave) {
        const times = [];
        while (times.length < 3 && !(times.at(-1) < soon * slowness)) {
            times.push(await timeToNotice(target, leave));
        }
        assert.ok(Math.min(...times) < patience(soon), `noticed after ${times} ms`);
    }

    const targets = {
        "a call": "/later?60000",
        "an event stream": "/events",
        "a silent stream": "/events?0",
        "a flood": "/flood?500000000",
    };
    const ways = {
        "by closing": (c) => c.close(),
        "by a reset": (c) => c.socket.resetAndDestroy(),
        "by ending its side only": (c) => c.socket.end(),
    };
    for (const [what, target] of Object.entries(targets)) {
        for (const [how, leave] of Object.entries(ways)) {
            if (what === "a flood" && how === "by ending its side only") {
                continue; // it still reads
            }
            test(`${what} is noticed at once, ${how}`, () => assertNoticedSoon(target, leave));
        }
    }

    test("a call that minds it only later is ended then", async () => {
        const { gone } = await getJson(server, "/gone");
        const c = await Connection.open(server, { stays: true });
        const ms = 500;
        const sent = performance.now();
        await c.send(get(`/mind-later?${ms}`));
        await untilRead();
        c.socket.end();
        await pause(50);
        const { gone: later } = await getJson(server, "/gone");
        // Unless the machine stood still for so long.
        if (performance.now() - sent < ms) {
            assert.equal(later, gone, "it is not gone yet");
        }
        await eventually(async () => (await getJson(server, "/gone")).gone > gone, "it is noticed");
        await c.closed();
    });

    test("a call with pipelined requests behind it is noticed at once", async () => {
        await assertNoticedSoon("/later?60000", async (c) => {
            await c.send(get("/canary/never"));
            c.close();
        });
        assert.equal((await getJson(server, "/canaries")).canaries, 0);
    });

    test("a thousand calls are all noticed and leave nothing behind", async () => {
        const { gone } = await getJson(server, "/gone");
        const clients = await Promise.all(
            Array.from({ length: 1_000 }, async (_, i) => {
                const c = await Connection.open(server);
                await c.send(get(i % 2 ? "/later?60000" : "/events"));
                return c;
            }),
        );
        await eventually(() => openFiles(server.pid) >= server.files + 1_000, "all are accepted");
        await untilRead();
        clients.forEach((c) => c.close());
        await eventually(() => openFiles(server.pid) <= server.files, "no connection left");
        await eventually(async () => (await getJson(server, "/gone")).gone >= gone + 990, "those that ran were told");
    });
});

suite("a client that has sent everything and ends its side", () => {
    const options = { halfClose: true, timeoutMs: 10_000 };

    test("is answered by whom it is all the same to, then the connection is closed", async () => {
        const { gone } = await getJson(server, "/gone");
        for (const delay of [0, 1, 20, 200]) {
            const { bytes, closed, reset } = await rawExchange(server.port, get(`/later-anyway?${delay}`), options);
            const [answer] = splitResponses(bytes);
            assert.deepEqual({ status: answer?.status, closed, reset }, { status: 200, closed: true, reset: false });
        }
        assert.equal((await getJson(server, "/gone")).gone, gone);
    });

    test("gets the answers to all that it has sent ahead", async () => {
        const three = get("/later-anyway?50") + get("/later-anyway?0") + get("/2k");
        const { bytes, closed } = await rawExchange(server.port, three, options);
        assert.deepEqual(
            splitResponses(bytes).map(({ status }) => status),
            [200, 200, 200],
        );
        assert.equal(closed, true);
    });

    test("costs nothing while it waits", async () => {
        const spent = () => processorMs(server.pid);
        const before = spent();
        const { bytes } = await rawExchange(server.port, get("/later-anyway?1500"), options);
        assert.equal(splitResponses(bytes)[0]?.status, 200);
        assert.ok(spent() - before < 700, `${spent() - before} ms of processor time`);
    });

    test("and then breaks the connection is gone", async () => {
        const { gone } = await getJson(server, "/gone");
        const c = await Connection.open(server, { stays: true });
        await c.send(get("/later-anyway?60000"));
        c.socket.end();
        await pause(100);
        await untilRead();
        c.socket.resetAndDestroy();
        await eventually(async () => (await getJson(server, "/gone")).gone > gone, "it is noticed");
    });
});

test("HEAD on a stream says that the connection will close", async () => {
    const c = await Connection.open(server);
    await c.send(request("HEAD", "/events?3"));
    const { status, headers } = await c.response({ method: "HEAD" });
    assert.equal(status, 200);
    assert.equal(headers.get("connection"), "close");
    await c.closed();
    assert.equal(c.buffer.length, 0);
});
