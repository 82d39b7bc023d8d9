// Request bodies: by length, in chunks, announced with Expect.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { rawExchange, splitResponses } from "./support/raw.mjs";
import { assertError, Connection, exchange, get, pause, request, startTestServer } from "./support/server.mjs";

let server;
// Requests that come in pieces are not late when the machine is.
before(async () => (server = await startTestServer({ header_ms: 60_000, body_ms: 60_000 })));
after(() => server.stop());

const chunked = { "Transfer-Encoding": "chunked" };
const echoed = ({ status, text }) => {
    assert.equal(status, 200, text);
    return JSON.parse(text);
};

test("a body comes back byte for byte", async () => {
    for (const size of [0, 1, 2, 1_000, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, 1_000_000]) {
        const body = Array.from({ length: 64 }, (_, i) => String.fromCharCode(48 + i)).join("");
        const sent = body.repeat(Math.ceil(size / 64)).slice(0, size);
        const answer = await exchange(server, request("POST", "/echo", {}, sent));
        assert.equal(echoed(answer).body, sent, `${size} bytes`);
    }
});

test("a request without a length has no body", async () => {
    const c = await Connection.open(server);
    await c.send(request("POST", "/echo") + get("/item/next"));
    assert.equal(echoed(await c.response()).body, "");
    assert.equal((await c.response()).text, "next");
    c.close();
});

test("chunks are put together, whatever their sizes and extensions", async () => {
    const texts = {
        abc: "3\r\nabc\r\n0\r\n\r\n",
        abcdef: "1\r\na\r\n2\r\nbc\r\n003\r\ndef\r\n0\r\n\r\n",
        ab: "1;x\r\na\r\n1;name=value\r\nb\r\n0;last\r\n\r\n",
        "0123456789abcdef": '10 ; a = "quoted \\" ; text" ;b\r\n0123456789abcdef\r\n000\r\n\r\n',
        ABCDEFGHIJ: "A\r\nABCDEFGHIJ\r\n0\r\n\r\n",
        abcdefghij: "a\r\nabcdefghij\r\n0\r\n\r\n",
        "": "0\r\n\r\n",
    };
    const c = await Connection.open(server);
    for (const [expected, text] of Object.entries(texts)) {
        await c.send(request("POST", "/echo", chunked, text));
        assert.equal(echoed(await c.response()).body, expected, text);
    }
    await c.assertAlive();
    c.close();
});

test("a chunked body may be cut at any byte", async () => {
    const text = request(
        "POST",
        "/echo",
        chunked,
        '5;ext="a"\r\nhello\r\n6\r\n world\r\n0\r\nX-Trailer: t\r\nx-sum: 1\r\n\r\n',
    );
    const cuts = Array.from({ length: text.length - 1 }, (_, i) => [i + 1]);
    const whole = rawExchange(server.port, text, { splitEvery: 1, responses: 1 });
    const parts = cuts.map((splitAt) => rawExchange(server.port, text, { splitAt, responses: 1 }));
    for (const { bytes } of await Promise.all([whole, ...parts])) {
        const [answer] = splitResponses(bytes);
        assert.equal(JSON.parse(answer.body).body, "hello world");
    }
});

test("trailers do not reach the handler as headers", async () => {
    const body = "1\r\na\r\n0\r\nX-Trailer: injected\r\nX-Test: injected\r\n\r\n";
    const answer = await exchange(server, request("POST", "/echo", { ...chunked, "X-Test": "real" }, body));
    const seen = echoed(answer);
    assert.equal(seen["x-trailer"], undefined);
    assert.equal(seen["x-test"], "real");
});

test("trailers that would change the message are refused", async () => {
    for (const name of ["Content-Length", "Transfer-Encoding", "Host"]) {
        const body = `1\r\na\r\n0\r\n${name}: 5\r\n\r\n`;
        const c = await Connection.open(server);
        await c.send(request("POST", "/echo", chunked, body) + get("/canary/x"));
        assertError(await c.response(), 400, "bad_request");
        await c.closed();
        assert.equal(c.buffer.length, 0, name);
    }
});

test("Expect: 100-continue is answered before the body is sent", async () => {
    const c = await Connection.open(server);
    for (const expect of ["100-continue", "100-Continue"]) {
        await c.send(request("POST", "/echo", { Expect: expect, "Content-Length": 5 }));
        const interim = await c.response();
        assert.equal(interim.status, 100);
        assert.equal(interim.headers.size, 0);
        await pause(30);
        assert.equal(c.buffer.length, 0, "nothing more comes before the body");
        await c.send("hello");
        assert.equal(echoed(await c.response()).body, "hello");
    }
    await c.send(request("POST", "/echo", { Expect: "100-continue", ...chunked }));
    assert.equal((await c.response()).status, 100);
    await c.send("2\r\nok\r\n0\r\n\r\n");
    assert.equal(echoed(await c.response()).body, "ok");
    c.close();
});

test("Expect: 100-continue is not answered where the request is refused or empty", async () => {
    const expect = { Expect: "100-continue", "Content-Length": 5 };
    for (const [target, headers, status] of [
        ["/nothing", {}, 404],
        ["/2k", {}, 405],
        ["/echo", { Host: "evil.example" }, 421],
        ["/echo", { Origin: "http://evil.example" }, 403],
        ["/echo", { "Content-Encoding": "gzip" }, 415],
        ["/echo", { "Content-Length": 1e12 }, 413],
    ]) {
        const c = await Connection.open(server);
        await c.send(request("POST", target, { ...expect, ...headers }));
        assert.equal((await c.response()).status, status);
        await c.closed();
    }
    const { status } = await exchange(server, get("/echo", { Expect: "100-continue" }));
    assert.equal(status, 200);
});

test("HTTP/1.0 gets no interim answer", async () => {
    const c = await Connection.open(server);
    await c.send("POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok");
    assert.equal(echoed(await c.response()).body, "ok");
    c.close();
});

test("an expectation that nobody knows is 417", async () => {
    for (const expect of ["200-ok", "100-continue, x", "x=y"]) {
        const c = await Connection.open(server);
        await c.send(request("POST", "/echo", { Expect: expect, "Content-Length": 5 }));
        assertError(await c.response(), 417, "expectation_failed");
        await c.closed();
    }
});

test("threat-A9: a compressed body is 415, one that says it is not is read", async () => {
    for (const coding of ["gzip", "br", "deflate", "x-gzip", "identity, gzip", "gzip, gzip"]) {
        const c = await Connection.open(server);
        await c.send(request("POST", "/echo", { "Content-Encoding": coding }, "\x1f\x8b"));
        assertError(await c.response(), 415, "unsupported_media_type");
        await c.closed();
    }
    const plain = request("POST", "/echo", { "Content-Encoding": "Identity" }, "x");
    assert.equal(echoed(await exchange(server, plain)).body, "x");
});

test("a second Content-Encoding is not overlooked behind an identity", async () => {
    const text = request("POST", "/echo", { "Content-Encoding": ["identity", "gzip"] }, "\x1f\x8b");
    assertError(await exchange(server, text), 415, "unsupported_media_type");
});

test("a body that nobody wanted is no reason to reset the connection", async () => {
    const half = "x".repeat(150_000);
    for (let good = 0; good < 5; ) {
        const c = await Connection.open(server, { stays: true });
        const begin = performance.now();
        const headers = { Connection: "close", "Content-Length": 2 * half.length };
        await c.send(request("POST", "/nothing", headers));
        assertError(await c.response(), 404, "not_found");
        for (const part of [half, half]) {
            await c.send(part);
            await pause(10);
        }
        // A client that needs longer than two seconds is not waited for.
        const took = performance.now() - begin;
        assert.ok(c.error === null || took > 1_900, `${c.error} after ${took.toFixed(0)} ms`);
        good += c.error === null ? 1 : 0;
        c.close();
    }
});
