// Documents with addresses in them: a client that makes up hosts and ports has nothing written,
// compressed or kept for each of them.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { get, startMany } from "./support/rest.mjs";

const methods = "/jsonrpc/methods";
const small = [
    "/jsonrpc/methods/t.00001",
    "/.well-known/mcp.json",
    "/mcp/server-card",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
];
// Without one, no document describes the protected resource.
const issuers = [{ issuer: "http://127.0.0.1:9", audience: ["https://t.example.org"], allow_private: true }];
const gzip = { "Accept-Encoding": "gzip" };

suite("threat-A7: without public_url", () => {
    let server, own;
    before(async () => {
        server = await startMany(500, {
            debug_headers: true,
            loops: 1,
            hosts: ["localhost", "127.0.0.1", "[::1]", "*.example.org"],
            access: { issuers },
        });
        own = `localhost:${new URL(server.url).port}`;
    });
    after(() => server?.stop());

    const ask = (target, host, headers = {}) => get(server, target, { Host: host, ...headers });
    const state = ({ headers }) => headers["x-causeway-cache"];

    test("a host of the configuration has documents of its own, compressed", async () => {
        for (const host of [own, "localhost"]) {
            assert.equal(state(await ask(methods, host)), "MISS");
            const packed = await ask(methods, host, gzip);
            assert.equal(state(packed), "HIT");
            assert.equal(packed.headers["content-encoding"], "gzip");
            const { links } = JSON.parse(gunzipSync(packed.bytes));
            assert.equal(links.self, `http://${host}${methods}`);
        }
    });

    test("any other shares one that is written once, and is not compressed", async () => {
        const others = [
            ...Array.from({ length: 20 }, (_, i) => `localhost:${20_000 + i}`),
            own.replace("localhost", "LocalHost"),
            own.replace("localhost", "localhost."),
            "localhost:0080",
            "localhost.",
            "[0:0:0::1]",
            "a.example.org",
            "b.a.example.org:81",
        ];
        const states = new Set();
        const tags = new Set();
        for (const host of others) {
            const answer = await ask(methods, host, gzip);
            assert.equal(answer.status, 200, host);
            assert.equal(answer.headers["content-encoding"], undefined);
            assert.equal(answer.json.links.self, `http://${host}${methods}`);
            const { links } = answer.json.data.at(-1);
            assert.equal(links.self, `http://${host}${methods}/t.00499`);
            assert.equal(links.collection, `http://${host}${methods}`);
            tags.add(answer.headers.etag);
            states.add(`${host === others[0] ? "first" : "later"} ${state(answer)}`);
        }
        assert.deepEqual([...states], ["first MISS", "later HIT"]);
        assert.equal(tags.size, others.length);
        // What was there before still is.
        assert.equal(state(await ask(methods, own)), "HIT");
    });

    test("so do small documents", async () => {
        for (const target of small) {
            const states = [];
            for (const host of [
                "localhost:30000",
                "LocalHost:30001",
                "localhost.",
                "f.example.org",
                "g.example.org:1",
            ]) {
                const answer = await ask(target, host, gzip);
                assert.equal(answer.status, 200, `${target} ${answer.text}`);
                assert.equal(answer.headers["content-encoding"], undefined, target);
                assert.ok(answer.text.includes(host.toLowerCase()) || answer.text.includes(host), answer.text);
                states.push(state(answer));
            }
            assert.deepEqual(states, ["MISS", "HIT", "HIT", "HIT", "HIT"], target);
        }
    });

    test("the bytes are those of a document of its own, and 304 works", async () => {
        for (const target of [methods, ...small]) {
            const mine = await ask(target, own);
            const other = await ask(target, "c.example.org", gzip);
            assert.equal(other.status, 200, other.text);
            assert.equal(other.text, mine.text.replaceAll(own, "c.example.org"), target);
            const { etag } = other.headers;
            const again = await ask(target, "c.example.org", { "If-None-Match": etag });
            assert.equal(again.status, 304);
            assert.equal(again.headers.etag, etag);
            assert.equal((await ask(target, "d.example.org", { "If-None-Match": etag })).status, 200);
        }
    });

    test("documents without addresses do not depend on it", async () => {
        await ask("/mcp/tools/list", own);
        const answer = await ask("/mcp/tools/list", "e.example.org:7", gzip);
        assert.equal(state(answer), "HIT");
        assert.equal(answer.headers["content-encoding"], "gzip");
    });
});

test("threat-A7: with public_url there is one document", async (t) => {
    const server = await startMany(500, { debug_headers: true, loops: 1, public_url: "https://t.example.org/x" });
    t.after(() => server.stop());
    for (let i = 0; i < 5; i += 1) {
        const { headers, bytes } = await get(server, methods, { Host: `localhost:${i + 1}`, ...gzip });
        assert.equal(headers["x-causeway-cache"], i ? "HIT" : "MISS");
        assert.match(gunzipSync(bytes).toString(), /"self":"https:\/\/t\.example\.org\/x\/jsonrpc\/methods"/);
    }
});

test("threat-A7: what is not kept is not compressed", async (t) => {
    const server = await startMany(500, { debug_headers: true, limits: { cache_size: 0 } });
    t.after(() => server.stop());
    for (const target of [methods, "/mcp/tools/list"]) {
        const { headers, json } = await get(server, target, gzip);
        assert.equal(headers["x-causeway-cache"], "MISS");
        assert.equal(headers["content-encoding"], undefined);
        assert.ok(json);
    }
});
