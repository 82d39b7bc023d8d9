// Host and Origin allow-lists: judged before routing, so the same for every path, unknown ones too.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { startCauseway } from "./support/programs.mjs";
import {
    assertError,
    Connection,
    exchange,
    get,
    getJson,
    makeCertificate,
    request,
    startTestServer,
} from "./support/server.mjs";

const routes = [
    ...["/2k", "/echo", "/later?1", "/gone", "/events?1", "/flood?10", "/piece?1", "/hold?1", "/big?10"],
    ...["/item/x", "/badheader", "/canary/x", "/canaries"],
    ...["/", "/nothing", "/item/", "/item/a/b", "/ECHO"], // 404
];

const goodHosts = [
    ...["localhost", "LOCALHOST", "LocalHost", "localhost.", "localhost:80", "localhost:8080"],
    ...["localhost.:1", "127.0.0.1", "127.0.0.1:65535", "[::1]", "[::1]:80"],
    ...["[0:0:0:0:0:0:0:1]", "[0000::0001]:8080", "[::0.0.0.1]"],
];
// Well-formed names of somebody else: what a rebound DNS name looks like.
const foreignHosts = [
    ...["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost.example:80"],
    ...["evillocalhost", "xlocalhost", "localhostx", "local-host", "notlocalhost:80"],
    ...["127.0.0.2", "127.1", "0.0.0.0", "2130706433", "0x7f000001", "0177.0.0.1", "10.0.0.1"],
    ...["[::2]", "[::]", "[::ffff:127.0.0.1]", "[fe80::1]", "192.168.1.1:80"],
];
// What is no host at all.
const brokenHosts = [
    ...["", " ", "local host", "localhost:", "localhost:x", "localhost:65536", "localhost:-1"],
    ...["localhost..", "..localhost", ".localhost", "::1", "[::1", "::1]", "[::1]x", "[::g]", "[]"],
    ...["user@localhost", "localhost/", "localhost/x", "localhost,localhost", "localhost%00"],
    ...["http://localhost", "localhost#x", "localhost?x", "*", "[::1%25lo]"],
];

suite("a server with the default lists", () => {
    let server;
    before(async () => (server = await startTestServer()));
    after(() => server.stop());

    const ask = (target, headers) => exchange(server, get(target, headers));

    test("answers for every spelling of a loopback name", async () => {
        for (const host of goodHosts) {
            assert.equal((await ask("/echo", { Host: host })).status, 200, host);
        }
    });

    test("threat-A1: answers 421 to every foreign name on every path", async () => {
        const c = await Connection.open(server);
        for (const host of foreignHosts) {
            for (const target of routes) {
                await c.send(get(target, { Host: host }));
                assertError(await c.response(), 421, "misdirected_request");
            }
        }
        await c.assertAlive();
        c.close();
    });

    test("answers 400 to what is no host, on every path", async () => {
        for (const host of brokenHosts) {
            for (const target of ["/echo", "/nothing"]) {
                const { status, headers } = await ask(target, { Host: host });
                assert.equal(status, 400, JSON.stringify(host));
                assert.equal(headers.get("connection"), "close");
            }
        }
    });

    test("runs nothing for a foreign name", async () => {
        const { canaries } = await getJson(server, "/canaries");
        for (const host of foreignHosts) {
            await ask("/canary/x", { Host: host });
            await exchange(server, request("POST", "/canary/x", { Host: host }, "body"));
        }
        assert.equal((await getJson(server, "/canaries")).canaries, canaries);
    });

    test("judges every method, OPTIONS and unknown ones too", async () => {
        for (const method of ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"]) {
            const text = request(method, "/echo", { Host: "evil.example" });
            assert.equal((await exchange(server, text, { method })).status, 421, method);
        }
        const all = request("OPTIONS", "*", { Host: "evil.example" });
        assert.equal((await exchange(server, all)).status, 421);
    });

    test("judges the host of an absolute target", async () => {
        for (const host of ["evil.example", "localhost.evil.example"]) {
            const text = get(`http://${host}/echo`, { Host: host });
            assert.equal((await exchange(server, text)).status, 421);
        }
        const mixed = get("http://localhost/echo", { Host: "evil.example" });
        assert.equal((await exchange(server, mixed)).status, 400);
        const old = await exchange(server, "GET http://evil.example/echo HTTP/1.0\r\n\r\n");
        assert.equal(old.status, 421);
    });

    test("needs no Host from HTTP/1.0, but judges one that is there", async () => {
        assert.equal((await exchange(server, "GET /echo HTTP/1.0\r\n\r\n")).status, 200);
        const foreign = await exchange(server, "GET /echo HTTP/1.0\r\nHost: evil.example\r\n\r\n");
        assert.equal(foreign.status, 421);
        assert.equal((await exchange(server, "GET /echo HTTP/1.1\r\n\r\n")).status, 400);
    });

    test("takes pages of its own host and port only", async () => {
        const good = [
            ["localhost", "http://localhost"],
            ["localhost:80", "http://localhost"],
            ["localhost", "http://localhost:80"],
            ["localhost:8080", "http://localhost:8080"],
            ["LOCALHOST:8080", "http://localhost:8080"],
            ["localhost.:8080", "http://localhost:8080"],
            ["127.0.0.1:8080", "http://127.0.0.1:8080"],
            ["[::1]:8080", "http://[0:0:0:0:0:0:0:1]:8080"],
        ];
        for (const [host, origin] of good) {
            const { status } = await ask("/echo", { Host: host, Origin: origin });
            assert.equal(status, 200, `${origin} to ${host}`);
        }
        const bad = [
            ["localhost:8080", "http://localhost"],
            ["localhost:8080", "http://localhost:8081"],
            ["localhost:8080", "https://localhost"],
            ["localhost:8080", "https://localhost:8080"],
            ["localhost", "https://localhost"],
            ["localhost:443", "https://localhost"],
            ["localhost", "http://127.0.0.1"],
            ["127.0.0.1:8080", "http://localhost:8080"],
            ["localhost", "http://localhost.evil.example"],
            ["localhost", "http://evillocalhost"],
            ["localhost", "http://evil.example"],
            ["localhost", "https://evil.example:443"],
            ["localhost", "ftp://localhost"],
            ["localhost", "file://localhost"],
            ["localhost", "chrome-extension://localhost"],
        ];
        for (const [host, origin] of bad) {
            for (const target of ["/echo", "/nothing"]) {
                const answer = await ask(target, { Host: host, Origin: origin });
                assertError(answer, 403, "origin_not_allowed");
            }
        }
    });

    test("threat-A1: answers 403 to a foreign or opaque origin on every path", async () => {
        const origins = ["http://evil.example", "null", "NULL", "*", "", "localhost", "http://", "x"];
        const c = await Connection.open(server);
        for (const origin of origins) {
            for (const target of routes) {
                await c.send(get(target, { Origin: origin }));
                assertError(await c.response(), 403, "origin_not_allowed");
            }
        }
        c.close();
    });

    test("answers 403 to an origin with a path, a user or a list in it", async () => {
        for (const origin of [
            "http://localhost/",
            "http://localhost/path",
            "http://user@localhost",
            "http://localhost http://evil.example",
            "http://localhost, http://evil.example",
            "http://localhost:",
            "http://localhost:80x",
            "http:localhost",
            "http:/localhost",
            "//localhost",
        ]) {
            assert.equal((await ask("/echo", { Origin: origin })).status, 403, origin);
        }
    });

    test("threat-A2: sends no header that would open it to other pages", async () => {
        for (const origin of [undefined, "http://localhost"]) {
            for (const method of ["GET", "OPTIONS"]) {
                const text = request(method, "/echo", { Origin: origin });
                const { headers } = await exchange(server, text);
                const open = [...headers.keys()].filter((name) => name.startsWith("access-control"));
                assert.deepEqual(open, []);
            }
        }
    });

    test("an error never repeats what the client sent", async () => {
        const mark = "zq7marker";
        const texts = [
            get(`/${mark}`),
            get("/echo", { Host: `${mark}.example` }),
            get("/echo", { Origin: `http://${mark}` }),
            request(mark.toUpperCase(), "/echo"),
            `GET /echo HTTP/1.1\r\nHost: localhost\r\n${mark} : x\r\n\r\n`,
            `GET /%zz${mark} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
        ];
        for (const text of texts) {
            const answer = await exchange(server, text);
            assert.ok(answer.status >= 400);
            assert.ok(!answer.text.toLowerCase().includes(mark), answer.text);
        }
    });
});

suite("a server with lists of its own", () => {
    let server;
    before(async () => {
        server = await startCauseway({
            config: {
                hosts: ["api.example.org", "only.example:8443", "*.wild.example", "[2001:db8::1]"],
                origins: ["https://page.example", "http://dev.example:3000", "https://*.apps.example", "null"],
            },
        });
    });
    after(() => server.stop());

    async function assertStatus(status, headers) {
        for (const [target, found] of [
            ["/healthz", 200],
            ["/readyz", 200],
            ["/nothing", 404],
        ]) {
            const answer = await exchange(server, get(target, headers));
            assert.equal(answer.status, status === 200 ? found : status, JSON.stringify(headers));
        }
    }

    test("answers for those hosts and no other, not even localhost", async () => {
        for (const host of [
            ...["api.example.org", "API.Example.ORG.", "api.example.org:1234"],
            ...["only.example:8443", "a.wild.example", "a.b.wild.example:99", "A.WILD.example."],
            ...["[2001:db8::1]", "[2001:0DB8:0::0001]:80"],
        ]) {
            await assertStatus(200, { Host: host });
        }
        for (const host of [
            ...["localhost", "127.0.0.1", "[::1]", "example.org", "x.api.example.org"],
            ...["only.example", "only.example:443", "x.only.example:8443"],
            ...["wild.example", "xwild.example", "wild.example.org", "a.wild.example.evil.example"],
            ...["[2001:db8::2]", "api.example.org.evil.example", "api-example.org"],
        ]) {
            await assertStatus(421, { Host: host });
        }
    });

    test("takes those origins and its own pages", async () => {
        const Host = "api.example.org";
        for (const origin of [
            ...["https://page.example", "HTTPS://PAGE.EXAMPLE", "https://page.example:443"],
            ...["http://dev.example:3000", "https://a.apps.example", "https://a.b.apps.example"],
            ...["null", "http://api.example.org"],
        ]) {
            await assertStatus(200, { Host, Origin: origin });
        }
        for (const origin of [
            ...["http://page.example", "https://page.example:8443", "https://sub.page.example"],
            ...["http://dev.example", "https://dev.example:3000", "https://apps.example"],
            ...["https://xapps.example", "https://a.apps.example.evil.example", "http://localhost"],
            ...["https://page.example.evil.example", "https://a.wild.example", "NULL"],
            ...["https://api.example.org", "http://api.example.org:443"],
        ]) {
            await assertStatus(403, { Host, Origin: origin });
        }
    });

    test("judges the host first", async () => {
        await assertStatus(421, { Host: "evil.example", Origin: "https://page.example" });
        await assertStatus(421, { Host: "evil.example", Origin: "http://evil.example" });
    });
});

suite("threat-A1: the scheme of Origin counts", () => {
    const status = async (to, headers, options) => (await exchange(to, get("/healthz", headers), options)).status;

    test("behind a trusted proxy, it is the scheme that the proxy names", async () => {
        const config = { trusted_proxies: ["127.0.0.1"], hosts: ["api.example.org"] };
        const server = await startCauseway({ config });
        const Host = "api.example.org";
        const secure = { Host, "X-Forwarded-Proto": "https" };
        assert.equal(await status(server, { ...secure, Origin: "https://api.example.org" }), 200);
        assert.equal(await status(server, { ...secure, Origin: "http://api.example.org" }), 403);
        assert.equal(await status(server, { Host, Origin: "http://api.example.org" }), 200);
        assert.equal(await status(server, { Host, Origin: "https://api.example.org" }), 403);
        await server.stop();
    });

    test("the address of public_url is the server's own", async () => {
        const config = { public_url: "https://api.example.org/tools", hosts: ["api.example.org"] };
        const server = await startCauseway({ config });
        const Host = "api.example.org";
        assert.equal(await status(server, { Host, Origin: "https://api.example.org" }), 200);
        assert.equal(await status(server, { Host, Origin: "https://api.example.org:8443" }), 403);
        assert.equal(await status(server, { Host: "evil.example", Origin: "https://api.example.org" }), 421);
        await server.stop();
    });

    test("with TLS it is https", async () => {
        const server = await startCauseway({
            listen: false,
            config: { listen: [{ address: "127.0.0.1:0", tls: true }], tls: makeCertificate("origin") },
        });
        const tls = { rejectUnauthorized: false };
        const own = new URL(server.url).host;
        assert.equal(await status(server, { Host: own, Origin: `https://${own}` }, { tls }), 200);
        assert.equal(await status(server, { Host: own, Origin: `http://${own}` }, { tls }), 403);
        await server.stop();
    });
});

test("every answer forbids guessing its type, and caches keep origins apart", async () => {
    const server = await startCauseway({ config: { origins: ["https://page.example"], limits: { connections: 1 } } });
    const c = await Connection.open(server);
    for (const [text, expected] of [
        [get("/healthz"), 200],
        [request("OPTIONS", "/mcp"), 204],
        [get("/nothing"), 404],
        [get("/mcp/tools/list"), undefined],
        [get("/mcp/tools/list", { Origin: "https://page.example" }), undefined],
        [get("/mcp/tools/list", { Origin: "https://evil.example" }), 403],
        [request("PATCH", "/healthz"), 405],
    ]) {
        await c.send(text);
        const { status, headers } = await c.response();
        assert.equal(headers.get("x-content-type-options"), "nosniff", text);
        assert.ok(expected === undefined || status === expected, `${status}: ${text}`);
        const mayBeCached = !/no-store/.test(headers.get("cache-control") ?? "") && text.startsWith("GET");
        assert.ok(!mayBeCached || /\bOrigin\b/.test(headers.get("vary")), text);
    }
    const full = await exchange(server, get("/healthz"));
    assert.deepEqual([full.status, full.headers.get("x-content-type-options")], [503, "nosniff"]);
    await c.send("nonsense\r\n\r\n");
    const broken = await c.response();
    assert.deepEqual([broken.status, broken.headers.get("x-content-type-options")], [400, "nosniff"]);
    await server.stop();
});

test("a star opens the lists to everybody", async () => {
    const server = await startCauseway({ config: { hosts: ["*"], origins: ["*"] } });
    for (const headers of [
        { Host: "evil.example" },
        { Host: "evil.example:99", Origin: "null" },
        { Host: "[::2]", Origin: "https://other.example" },
    ]) {
        assert.equal((await exchange(server, get("/healthz", headers))).status, 200);
    }
    assert.equal((await exchange(server, get("/healthz", { Host: "a b" }))).status, 400);
    await server.stop();
});
