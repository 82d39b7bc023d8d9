// Every ceiling of the HTTP server, just below it, on it and just above it.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import {
    assertError,
    Connection,
    eventually,
    exchange,
    get,
    openFiles,
    pause,
    processorMs,
    request,
    startTestServer,
    testServer,
    testServerArgs,
} from "./support/server.mjs";
import { slowness, startProgram } from "./support/programs.mjs";

let server;
before(async () => {
    server = await startTestServer({
        target_size: 100,
        header_size: 1024,
        header_fields: 10,
        body_size: 1000,
        stream_queue: 8192,
    });
});
after(() => server.stop());

// A request that is refused and closes the connection, with nothing behind it run.
async function assertRefused(text, status, code) {
    const c = await Connection.open(server);
    await c.send(text + get("/canary/behind"));
    const answer = await c.response();
    assertError(answer, status, code);
    assert.equal(answer.headers.get("connection"), "close");
    await c.closed();
    assert.equal(c.buffer.length, 0);
}

async function assertServed(text) {
    const c = await Connection.open(server);
    await c.send(text + get("/item/behind"));
    const { status, text: body } = await c.response();
    assert.equal(status, 200, body);
    assert.equal((await c.response()).text, "behind");
    c.close();
}

test("threat-A8: a target may have as many bytes as the ceiling says", async () => {
    const target = (size) => get(`/item/${"t".repeat(size - 6)}`);
    await assertServed(target(99));
    await assertServed(target(100));
    await assertRefused(target(101), 414, "uri_too_long");
    await assertRefused(target(700), 414, "uri_too_long");
});

test("a target that never ends is refused when the ceiling is passed", async () => {
    const c = await Connection.open(server);
    await c.send(`GET /${"x".repeat(150)}`);
    assertError(await c.response(), 414, "uri_too_long");
    await c.closed();
});

test("threat-A8: a head may have as many bytes as the ceiling says", async () => {
    const bare = get("/echo", { "X-Pad": "" }).length;
    const head = (size) => get("/echo", { "X-Pad": "h".repeat(size - bare) });
    assert.equal(head(1024).length, 1024);
    await assertServed(head(1023));
    await assertServed(head(1024));
    await assertRefused(head(1025), 431, "header_too_large");
    await assertRefused(head(5000), 431, "header_too_large");
});

test("a head that never ends is refused when the ceiling is passed", async () => {
    const c = await Connection.open(server);
    await c.send(`GET /echo HTTP/1.1\r\nHost: localhost\r\nX-Pad: ${"x".repeat(1024)}`);
    assertError(await c.response(), 431, "header_too_large");
    await c.closed();
});

test("threat-A8: a head may have as many fields as the ceiling says", async () => {
    const fields = (count) => get("/echo", { X: Array.from({ length: count - 1 }, () => "y") });
    await assertServed(fields(9));
    await assertServed(fields(10));
    await assertRefused(fields(11), 431, "header_too_large");
});

test("a body may declare as many bytes as the ceiling says", async () => {
    const body = (size) => request("POST", "/echo", {}, "b".repeat(size));
    await assertServed(body(999));
    await assertServed(body(1000));
    await assertRefused(body(1001), 413, "payload_too_large");
});

test("threat-A8, fault-B10: a declared body above the ceiling is refused before any of it comes", async () => {
    for (const size of ["1001", "4294967296", "999999999999999999"]) {
        const c = await Connection.open(server);
        await c.send(request("POST", "/echo", { "Content-Length": size }));
        assertError(await c.response(), 413, "payload_too_large");
        await c.closed();
    }
});

test("threat-A8: a chunked body may have as many bytes as the ceiling says", async () => {
    const headers = { "Transfer-Encoding": "chunked" };
    const chunk = (size) => `${size.toString(16)}\r\n${"c".repeat(size)}\r\n`;
    const body = (...sizes) => request("POST", "/echo", headers, sizes.map(chunk).join("") + "0\r\n\r\n");
    await assertServed(body(999));
    await assertServed(body(1000));
    await assertServed(body(500, 499, 1));
    await assertRefused(body(1001), 413, "payload_too_large");
    await assertRefused(body(1000, 1), 413, "payload_too_large");
    await assertRefused(body(...Array.from({ length: 1001 }, () => 1)), 413, "payload_too_large");
    // A chunk that only says that it is too large.
    await assertRefused(request("POST", "/echo", headers, "3e9\r\n"), 413, "payload_too_large");
});

test("threat-B4: the bodies of all requests together may be as large as the ceiling says", async () => {
    // Bodies count in units of 16 KB: ten of them, and ten of another client.
    const limited = await startTestServer({ body_size: 200_000, body_memory: 327_680, loops: 2, body_ms: 600_000 });
    const to = { host: "127.0.0.1", port: limited.port };
    const other = { localAddress: "127.0.0.2" };
    const status = async (size) => (await exchange(limited, request("POST", "/echo", {}, "m".repeat(size)))).status;
    // The server must have all of it before another body competes for what is left: whose bytes come
    // last is refused. That may be this one, while the body of an answer that its client has still counts.
    const hold = () =>
        eventually(async () => {
            const c = await Connection.open(to, other);
            await c.send(request("POST", "/echo", { "Content-Length": 163_841 }, "h".repeat(163_840)));
            await c.untilRead();
            if ((await status(163_841)) === 503 && c.buffer.length === 0) {
                return c;
            }
            c.close();
            return null;
        }, "a body that is held");
    let held = await hold();
    const c = await Connection.open(limited);
    await c.send(request("POST", "/echo", {}, "m".repeat(163_841)) + get("/canary/behind"));
    assertError(await c.response(), 503, "unavailable");
    await c.closed();
    assert.equal(c.buffer.length, 0);
    // A body counts until its answer is out: the loop may be a moment behind its client.
    const isTaken = (size) => eventually(async () => (await status(size)) === 200, `${size} bytes`);
    await isTaken(163_840);
    await isTaken(147_456);
    // Once it is answered, or its client has gone, it counts no more.
    await held.send("h");
    assert.equal((await held.response()).status, 200);
    await isTaken(163_841);
    held.close();
    held = await hold();
    held.close();
    await isTaken(163_841);
    await limited.stop();
});

test("small bodies are not counted, and one large body always fits", async () => {
    const limited = await startTestServer({ body_size: 200_000, body_memory: 0, body_ms: 600_000 });
    const held = await Connection.open(limited);
    await held.send(request("POST", "/echo", { "Content-Length": 200_000 }, "h".repeat(199_999)));
    await held.untilRead();
    const send = (size) => exchange(limited, request("POST", "/echo", {}, "m".repeat(size)));
    await eventually(async () => (await send(20_000)).status === 503, "the first body counts");
    assert.equal((await send(16_000)).status, 200);
    await held.send("h");
    assert.equal((await held.response()).status, 200);
    // The body of an answer may count a moment longer than its client waits.
    await eventually(async () => (await send(200_000)).status === 200, "the first body counts no more");
    await limited.stop();
});

test("chunk extensions and trailers have ceilings of their own", async () => {
    const headers = { "Transfer-Encoding": "chunked" };
    const send = (body) => request("POST", "/echo", headers, body);
    await assertServed(send(`1;${"e".repeat(200)}\r\na\r\n0\r\n\r\n`));
    await assertServed(send(`1\r\na\r\n0\r\nX-T: ${"t".repeat(4000)}\r\n\r\n`));
    for (const body of [`1;${"e".repeat(400)}\r\na\r\n0\r\n\r\n`, `1\r\na\r\n0\r\nX-T: ${"t".repeat(9000)}\r\n\r\n`]) {
        const c = await Connection.open(server);
        await c.send(send(body) + get("/canary/behind"));
        const { status } = await c.response();
        assert.ok([400, 413, 431].includes(status), String(status));
        await c.closed();
        assert.equal(c.buffer.length, 0);
    }
});

test("a stream's queue takes a piece as large as the ceiling says", async () => {
    const frame = 24; // what a chunk may add
    const body = async (size) => (await exchange(server, get(`/piece?${size}`))).body.length;
    assert.equal(await body(8192 - frame - 1), 8192 - frame - 1);
    assert.equal(await body(8192 - frame), 8192 - frame);
    assert.equal(await body(8192 - frame + 1), "refused".length);
});

async function openAll(count, to, options) {
    return await Promise.all(
        Array.from({ length: count }, async () => {
            const c = await Connection.open(to, options);
            await c.assertAlive();
            return c;
        }),
    );
}

// The 503 comes without a request: what is full does not read.
async function assertTurnedAway(to, options) {
    const c = await Connection.open(to, options);
    const answer = await c.response();
    assertError(answer, 503, "unavailable");
    assert.equal(answer.headers.get("retry-after"), "1");
    assert.equal(answer.headers.get("connection"), "close");
    await c.closed();
    assert.equal(c.buffer.length, 0);
}

// A place is free again a moment after its client has left.
async function openWhenFree(to, options) {
    return await eventually(async () => {
        const c = await Connection.open(to, options);
        try {
            await c.assertAlive();
            return c;
        } catch {
            return null;
        }
    }, "a free place");
}

test("as many connections as the ceiling says are served, others turned away", async () => {
    for (const loops of [1, 3]) {
        const limited = await startTestServer({ connections: 5, loops });
        const open = await openAll(5, limited);
        await assertTurnedAway(limited);
        await assertTurnedAway(limited);
        await Promise.all(open.map((c) => c.assertAlive()));
        open.pop().close();
        open.push(await openWhenFree(limited));
        await assertTurnedAway(limited);
        open.forEach((c) => c.close());
        await openWhenFree(limited);
        await limited.stop();
    }
});

test("threat-A7: each address has its own ceiling of connections", async () => {
    const limited = await startTestServer({ per_address: 3, listen: "0.0.0.0:0", loops: 2 });
    const to = { host: "127.0.0.1", port: limited.port };
    const open = await openAll(3, to);
    await assertTurnedAway(to);
    // Another loopback address is another client.
    const other = { localAddress: "127.0.0.2" };
    const others = await openAll(3, to, other);
    await assertTurnedAway(to, other);
    open.pop().close();
    open.push(await openWhenFree(to));
    await assertTurnedAway(to);
    [...open, ...others].forEach((c) => c.close());
    await limited.stop();
});

test("without a ceiling of its own the loopback address is not counted", async () => {
    const open = await openAll(600, server);
    assert.ok(openFiles(server.pid) >= server.files + 600);
    open.forEach((c) => c.close());
    await eventually(() => openFiles(server.pid) <= server.files, "all connections closed");
});

test("large bodies at once get 503 above the ceiling of their memory", async () => {
    const size = 200_000;
    const own = await startTestServer({ body_size: size, body_memory: 300_000, body_ms: 600_000 });
    const body = "b".repeat(size);
    for (let round = 0; round < 4; round++) {
        const clients = await Promise.all(Array.from({ length: 4 }, () => Connection.open(own)));
        // All but the last byte: two of these are too much.
        await Promise.all(clients.map((c) => c.send(request("POST", "/echo", {}, body).slice(0, -1))));
        const refused = () => clients.filter(({ buffer }) => buffer.length > 0);
        await eventually(() => refused().length === 3, "three are refused");
        for (const c of refused()) {
            assertError(await c.response(), 503, "unavailable");
            await c.closed();
        }
        const last = clients.find(({ ended }) => !ended);
        if (round % 2) {
            await last.send("b");
            const { status, text } = await last.response();
            assert.equal(status, 200);
            assert.equal(JSON.parse(text).body, body);
            await last.assertAlive();
        }
        clients.forEach((c) => c.close());
        await eventually(() => openFiles(own.pid) <= own.files, "no body is left");
    }
    await own.stop();
});

test("one body of the greatest size always fits", async () => {
    const size = 200_000;
    const own = await startTestServer({ body_size: size, body_memory: 1 });
    const c = await Connection.open(own);
    for (let i = 0; i < 5; i++) {
        await c.send(request("POST", "/echo", {}, "b".repeat(size)));
        assert.equal((await c.response()).status, 200);
    }
    c.close();
    await own.stop();
});

suite("no descriptors left", () => {
    for (const loops of [1, 2]) {
        test(`those who wait are served when others leave, with ${loops} loops`, async () => {
            const args = testServerArgs({ loops, idle_ms: 600_000, header_ms: 600_000 });
            const script = 'ulimit -n 60; exec "$@"';
            const own = await startProgram("sh", ["-c", script, "sh", testServer, ...args]);
            const files = openFiles(own.pid);
            const clients = await Promise.all(Array.from({ length: 100 }, () => Connection.open(own)));
            clients.forEach((c) => c.send(get("/item/x")));
            // Every descriptor is in use, some clients are served, the others wait in the kernel.
            await eventually(() => openFiles(own.pid) >= 55, "descriptors are used up");
            const served = () => clients.filter((c) => c.total > 0);
            await eventually(() => served().length >= 60 - files - 5, "the first ones are served");
            const before_ = processorMs(own.pid);
            await pause(1_000);
            const used = processorMs(own.pid) - before_;
            assert.ok(used < 200 * slowness, `${used} ms of processor time while waiting`);
            assert.ok(served().length < 100);
            // Each one that leaves makes room for one that waits.
            await eventually(
                () => {
                    for (const c of clients.filter(({ total }) => total > 0)) {
                        c.close();
                    }
                    return served().length === 100;
                },
                "all are served in the end",
                20_000,
            );
            await eventually(() => openFiles(own.pid) <= files, "all descriptors are free again");
            assert.equal((await exchange(own, get("/item/y"))).text, "y");
            await own.stop();
        });
    }
});
