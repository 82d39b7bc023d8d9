// Methods, targets and the head of an answer.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { assertError, Connection, exchange, get, request, startTestServer } from "./support/server.mjs";
import { randomFrom } from "./support/statistics.mjs";

let server;
before(async () => (server = await startTestServer()));
after(() => server.stop());

test("HEAD has the head of GET and no body", async () => {
    const c = await Connection.open(server);
    for (const target of ["/2k", "/item/abc", "/big?100000", "/no/such/path", "/echo"]) {
        await c.send(get(target));
        const full = await c.response();
        await c.send(request("HEAD", target));
        const head = await c.response({ method: "HEAD" });
        assert.equal(head.status, full.status);
        if (target !== "/echo") {
            assert.equal(head.headers.get("content-length"), String(full.body.length));
        }
        assert.equal(head.headers.get("content-type"), full.headers.get("content-type"));
    }
    await c.assertAlive();
    c.close();
});

test("HEAD of a stream has no body and closes, since its end is unknown", async () => {
    for (const target of ["/flood?100000", "/events?2"]) {
        const c = await Connection.open(server);
        await c.send(request("HEAD", target));
        const { status, headers } = await c.response({ method: "HEAD" });
        assert.equal(status, 200);
        assert.equal(headers.get("transfer-encoding"), "chunked");
        assert.equal(headers.get("connection"), "close");
        await c.closed();
        assert.equal(c.buffer.length, 0);
    }
});

test("OPTIONS names the methods of a path", async () => {
    const c = await Connection.open(server);
    const expected = {
        "/2k": "GET, HEAD, OPTIONS",
        "/echo": "GET, HEAD, POST, PUT, OPTIONS",
        "/item/7": "GET, HEAD, OPTIONS",
        "*": "GET, HEAD, POST, OPTIONS",
    };
    for (const [target, allow] of Object.entries(expected)) {
        await c.send(request("OPTIONS", target));
        const { status, headers, body } = await c.response();
        assert.equal(status, 204);
        assert.equal(headers.get("allow"), allow);
        assert.equal(headers.has("content-length"), false);
        assert.equal(body.length, 0);
    }
    await c.send(request("OPTIONS", "/no/such/path"));
    assertError(await c.response(), 404, "not_found");
    await c.assertAlive();
    c.close();
});

test("a method that a path has not got is 405 with Allow, and the connection goes on", async () => {
    const c = await Connection.open(server);
    for (const method of ["POST", "PUT", "DELETE", "PATCH", "TRACE"]) {
        await c.send(request(method, "/2k"));
        const answer = await c.response();
        assertError(answer, 405, "method_not_allowed");
        assert.equal(answer.headers.get("allow"), "GET, HEAD, OPTIONS");
    }
    await c.assertAlive();
    c.close();
});

test("a method that nobody knows is 501", async () => {
    const c = await Connection.open(server);
    for (const method of ["BREW", "get", "Get", "M-SEARCH", "!#$%&'*+-.^_`|~"]) {
        await c.send(request(method, "/2k"));
        assertError(await c.response(), 501, "not_implemented");
    }
    await c.assertAlive();
    c.close();
});

test("a refused request with a body closes the connection instead of reading it", async () => {
    const refused = [
        request("POST", "/2k", {}, "body"),
        request("POST", "/none", {}, "body"),
        request("BREW", "/2k", {}, "body"),
        request("DELETE", "/echo", { "Transfer-Encoding": "chunked" }, "4\r\nbody\r\n0\r\n\r\n"),
    ];
    for (const text of refused) {
        const c = await Connection.open(server);
        await c.send(text + get("/canary/behind"));
        const { status, headers } = await c.response();
        assert.ok(status >= 400, String(status));
        assert.equal(headers.get("connection"), "close");
        await c.closed();
        assert.equal(c.buffer.length, 0);
    }
});

test("a large body that nobody reads does not destroy the answer that refuses it", async () => {
    const body = "b".repeat(2_000_000);
    const refused = {
        404: request("POST", "/none", { Connection: "close" }, body),
        405: request("POST", "/2k", { Connection: "close" }, body),
        415: request("POST", "/echo", { Connection: "close", "Content-Encoding": "gzip" }, body),
        421: request("POST", "/echo", { Connection: "close", Host: "evil.example" }, body),
        501: request("BREW", "/echo", { Connection: "close" }, body),
    };
    for (const [status, text] of Object.entries(refused)) {
        for (const version of ["1.1", "1.0"]) {
            const c = await Connection.open(server);
            c.send(text.replace("HTTP/1.1", `HTTP/${version}`));
            await c.closed();
            assert.equal(String((await c.response()).status), status);
            assert.ok(c.closedCleanly, `${status}: ${c.error}`);
        }
    }
});

test("an unknown path is 404 and names nothing", async () => {
    for (const target of ["/", "/secret-name", "/item/", "/item/a/b", "/2K", "/2k/", "/echo;x=1", "/?x"]) {
        const answer = await exchange(server, get(target));
        assertError(answer, 404, "not_found");
        assert.ok(!answer.text.includes("secret"));
    }
});

test("a path is percent-decoded exactly once", async () => {
    const cases = {
        "/item/a%20b": "a b",
        "/item/%61": "a",
        "/item/%2525": "%25",
        "/item/%25zz": "%zz",
        "/item/%C3%A4": "\u00c3\u00a4", // the two bytes of U+00E4, read as latin1
        "/item/a+b": "a+b",
        "/item/%3F%23": "?#",
        "/item/x?id=y": "x",
        "/%69tem/x": "x",
    };
    for (const [target, expected] of Object.entries(cases)) {
        const { status, text } = await exchange(server, get(target));
        assert.equal(status, 200, target);
        assert.equal(text, expected, target);
    }
});

test("threat-D10: a path with two meanings is refused", async () => {
    const bad = [
        ...["/item/%2e%2e/x", "/item/../2k", "/./2k", "/item/.", "/item/%2E"],
        ...["/item/a%2Fb", "/item/a%5cb", "/item/%2f"],
        ...["/item/%00", "/item/%0d%0a", "/item/%7f", "/item/%C2%85"],
        ...["/item/%", "/item/%4", "/item/%gg", "/item/%C3", "/item/%ED%A0%80", "/item/%c0%af"],
        ...["//2k", "/item/\\x", "/item/<x>", '/item/"x"', "/item/{x}", "/item/x#y"],
        ...["2k", "item/x", "http:/x", "ftp://localhost/2k", "localhost:80"],
    ];
    for (const target of bad) {
        const { status, headers } = await exchange(server, get(target));
        assert.equal(status, 400, target);
        assert.equal(headers.get("connection"), "close", target);
    }
});

test("the absolute form of a target is served when its host is the Host header's", async () => {
    const good = [
        ["http://localhost/item/x", "localhost"],
        ["HTTP://LOCALHOST/item/x", "localhost"],
        ["https://localhost/item/x", "localhost"],
        ["http://127.0.0.1:8080/item/x?y", "127.0.0.1:8080"],
        ["http://[::1]:80/item/x", "[0:0::1]:80"],
    ];
    for (const [target, host] of good) {
        const { status, text } = await exchange(server, get(target, { Host: host }));
        assert.equal(status, 200, target);
        assert.equal(text, "x");
    }
    const bad = [
        ["http://localhost/item/x", "127.0.0.1"],
        ["http://localhost:81/item/x", "localhost:82"],
        ["http://localhost:81/item/x", "localhost"],
        ["http://evil.example/item/x", "localhost"],
        ["http://user@localhost/item/x", "localhost"],
        ["http:///item/x", "localhost"],
    ];
    for (const [target, host] of bad) {
        const { status } = await exchange(server, get(target, { Host: host }));
        assert.equal(status, 400, target);
    }
});

test("the Date of an answer is now, in the form of RFC 9110", async () => {
    const begin = Date.now();
    const { headers } = await exchange(server, get("/2k"));
    const date = headers.get("date");
    assert.match(date, /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/);
    assert.equal(new Date(date).toUTCString(), date);
    assert.ok(Date.parse(date) > begin - 1_000 && Date.parse(date) <= Date.now(), date); // whole seconds
});

test("the Date moves on", async () => {
    const c = await Connection.open(server);
    const read = async () => {
        await c.send(get("/2k"));
        return Date.parse((await c.response()).headers.get("date"));
    };
    const begin = Date.now();
    const first = await read();
    const second = (await new Promise((resolve) => setTimeout(resolve, 1_050)), await read());
    assert.ok(second - first >= 1_000 && second - first <= Date.now() - begin + 1_000, `${second - first}`);
    c.close();
});

test("threat-A10: an answer with a line break in a header becomes a 500", async () => {
    const c = await Connection.open(server);
    await c.send(get("/badheader"));
    const answer = await c.response();
    assertError(answer, 500, "internal_error");
    assert.equal(answer.headers.has("set-cookie"), false);
    assert.equal(answer.headers.has("x-bad"), false);
    await c.assertAlive();
    c.close();
});

test("threat-A10: whatever a header is made of, an answer has it whole or is a 500", async () => {
    const c = await Connection.open(server);
    const random = randomFrom(10);
    const pick = (items) => items[Math.floor(random() * items.length)];
    const odd = [
        "\r",
        "\n",
        "\r\n",
        "\r\nSet-Cookie: a=b",
        "\r\n\r\n",
        "\0",
        ":",
        " ",
        "\t",
        "\x7f",
        "\x80",
        "\xff",
        '"',
        ";",
    ];
    const make = (n) =>
        Array.from({ length: Math.floor(random() * n) }, () =>
            random() < 0.2 ? pick(odd) : String.fromCharCode(0x21 + Math.floor(random() * 0x5e)),
        ).join("");
    const outcomes = new Map();
    for (let i = 0; i < 10_000; i += 1) {
        const name = random() < 0.5 ? "X-Value" : make(6).replaceAll("=", "");
        const value = make(12);
        await c.send(request("POST", "/badheader", {}, `${name}=${value}`));
        const { status, headers, body } = await c.response();
        const names = [...headers.keys()].sort();
        const what = JSON.stringify([name, value, names]);
        outcomes.set(status, (outcomes.get(status) ?? 0) + 1);
        const isToken = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);
        const isValue = !/[\0-\x08\x0a-\x1f\x7f]/.test(value);
        assert.equal(status, isToken && isValue ? 200 : 500, what);
        const own = status === 200 ? [name.toLowerCase()] : [];
        const usual = ["content-length", "date", "x-content-type-options", "x-request-id"];
        if (status === 500) {
            usual.push("cache-control", "content-type"); // the other has no body
        }
        assert.deepEqual(names, [...usual, ...own].sort(), what);
        if (status === 200) {
            assert.equal(headers.get(name.toLowerCase()), value.replace(/^[ \t]+|[ \t]+$/g, ""), what);
            assert.equal(body.length, 0);
        }
    }
    assert.ok(outcomes.get(200) > 500 && outcomes.get(500) > 500, JSON.stringify([...outcomes]));
    await c.assertAlive();
    c.close();
});

test("names and values of request headers reach the handler as they were sent", async () => {
    const { text } = await exchange(server, get("/echo", { "x-TEST": '  a "b"\t, c \u00e4  ', Connection: "close" }));
    assert.equal(Buffer.from(text, "latin1").toString("utf8").includes('a \\"b\\"\\t, c '), true);
});

test("a higher minor version is read as 1.1, another major version refused", async () => {
    const send = (version) => exchange(server, `GET /item/v ${version}\r\nHost: localhost\r\n\r\n`);
    for (const version of ["HTTP/1.1", "HTTP/1.2", "HTTP/1.9"]) {
        const { status, minor } = await send(version);
        assert.equal(status, 200, version);
        assert.equal(minor, 1);
    }
    for (const version of ["HTTP/2.0", "HTTP/0.9", "HTTP/3.1"]) {
        assert.equal((await send(version)).status, 505, version);
    }
});
