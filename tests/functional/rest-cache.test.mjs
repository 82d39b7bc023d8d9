// What the REST doors say about caching, and when they write a document anew.
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { addPlugin } from "./support/mcp.mjs";
import { assertRestError, get, invoke, post, send, startExamples, startMany } from "./support/rest.mjs";
import { eventually } from "./support/server.mjs";

const list = "/mcp/tools/list";
const describe = "/mcp/tools/describe?name=examples.articles.list";
const cached = [list, describe, "/jsonrpc/methods", "/jsonrpc/methods/examples.articles.list"];
const state = async (server, target) => (await get(server, target)).headers["x-causeway-cache"];
const gzip = { "Accept-Encoding": "gzip" };

suite("with debug headers", () => {
    let server;
    // One loop: each has a cache of its own.
    before(async () => {
        server = await startExamples({ config: { debug_headers: true, loops: 1 } });
    });
    after(() => server?.stop());

    test("check-61, check-63: tags, contexts and a permanent age", async () => {
        for (const target of [list, describe]) {
            const { headers } = await get(server, target);
            const tags = headers["x-causeway-cache-tags"].split(" ");
            const contexts = headers["x-causeway-cache-contexts"].split(" ");
            assert.deepEqual(tags, ["jsonrpc_mcp:discovery", "user.permissions"]);
            const argument = target === list ? "cursor" : "name";
            assert.ok(contexts.includes("user") && contexts.includes(`url.query_args:${argument}`));
            assert.equal(headers["x-causeway-cache-max-age"], "-1");
        }
    });

    test("check-62: with a cursor it is the same", async () => {
        const { headers } = await get(server, `${list}?cursor=NTA=`);
        assert.match(headers["x-causeway-cache-contexts"], /url\.query_args:cursor/);
        assert.equal(headers["x-causeway-cache-max-age"], "-1");
    });

    test("a document is written once", async () => {
        for (const target of [...cached, "/.well-known/mcp.json"]) {
            await get(server, target);
            assert.equal(await state(server, target), "HIT", target);
        }
        // No cursor of ours leads there, so nobody is expected to ask again.
        await get(server, `${list}?cursor=MQ==`);
        assert.equal(await state(server, `${list}?cursor=MQ==`), "MISS");
    });

    test("check-65, check-66: a plugin that comes or goes is a MISS, and the list is right", async () => {
        const names = async () => (await get(server, list)).json.tools.map(({ name }) => name);
        await get(server, list);
        assert.equal(await state(server, list), "HIT");
        const before = (await get(server, list)).headers.etag;
        addPlugin(server.plugins, "echo");
        await eventually(async () => (await names()).includes("test.echo"), "the new tool");
        assert.equal(await state(server, list), "HIT");
        assert.notEqual((await get(server, list)).headers.etag, before);
        rmSync(path.join(server.plugins, "echo.so"));
        await eventually(async () => !(await names()).includes("test.echo"), "without it");
        assert.equal((await get(server, list)).headers.etag, before);
    });

    test("check-67, check-68, row-D3: after a reload with a change it is a MISS with the same bytes and tag", async () => {
        for (const [i, target] of cached.entries()) {
            const before = await get(server, target);
            assert.equal(await state(server, target), "HIT");
            // A change that no document shows.
            const limits = { ...server.settings.limits, detached_calls: 100 + i };
            writeFileSync(server.config, JSON.stringify({ ...server.settings, limits }));
            server.child.kill("SIGHUP");
            let fresh;
            const isFresh = async () => {
                fresh = await get(server, target);
                return fresh.headers["x-causeway-cache"] === "MISS";
            };
            await eventually(isFresh, "a document that was written anew");
            assert.equal(fresh.text, before.text);
            assert.equal(fresh.headers.etag, before.headers.etag);
            assert.equal(await state(server, target), "HIT");
        }
    });

    test("after a reload without a change it is still a HIT", async () => {
        const reloads = () => server.stderr.split("configuration read again").length;
        const before = reloads();
        await get(server, list);
        server.child.kill("SIGHUP");
        await eventually(() => reloads() > before, "the line of the reload");
        assert.equal(await state(server, list), "HIT");
    });

    test("fault-B19: a changed role counts at once", async () => {
        assert.ok((await get(server, list)).json.tools.length > 0);
        const { roles, ...others } = server.settings;
        const fewer = { anonymous: roles.anonymous.filter((one) => one !== "access content") };
        writeFileSync(server.config, JSON.stringify({ ...others, roles: fewer }));
        server.child.kill("SIGHUP");
        const isEmpty = async () => (await get(server, list)).json.tools.length === 0;
        await eventually(isEmpty, "an empty list");
        writeFileSync(server.config, JSON.stringify({ ...others, roles }));
        server.child.kill("SIGHUP");
        await eventually(async () => !(await isEmpty()), "the old list");
    });
});

test("check-64: callers who see different lists get the same metadata", async (t) => {
    const config = { debug_headers: true };
    const seen = [];
    for (const more of [[], ["administer site"]]) {
        const anonymous = ["access mcp tool discovery", "use jsonrpc services", ...more];
        const server = await startExamples({ plugins: ["echo"], config, roles: { anonymous } });
        t.after(() => server.stop());
        const { headers, json } = await get(server, list);
        const names = ["tags", "contexts", "max-age"].map((name) => headers[`x-causeway-cache-${name}`]);
        seen.push({ names: [...names, headers.vary, headers["cache-control"]], tools: json.tools });
    }
    assert.deepEqual(seen[0].names, seen[1].names);
    assert.notDeepEqual(seen[0].tools, seen[1].tools);
});

suite("on the wire", () => {
    let server;
    before(async () => (server = await startExamples({ plugins: ["echo"] })));
    after(() => server?.stop());

    test("row-D3: to be asked for again, and private", async () => {
        for (const target of cached) {
            const { headers } = await get(server, target);
            assert.equal(headers["cache-control"], "no-cache, private");
            assert.equal(headers.vary, "Authorization, Cookie, Accept-Language, Accept-Encoding, Origin");
            assert.match(headers.etag, /^"[0-9a-f]{32}"$/);
        }
    });

    test("without debug_headers there are none", async () => {
        const { headers } = await get(server, list);
        assert.deepEqual(
            Object.keys(headers).filter((name) => name.startsWith("x-")),
            ["x-content-type-options", "x-request-id"],
        );
    });

    test("If-None-Match is 304 with the same headers and no body", async () => {
        for (const target of cached) {
            const { headers } = await get(server, target);
            for (const value of [headers.etag, `W/${headers.etag}`, `"x", ${headers.etag}`, "*"]) {
                const again = await get(server, target, { "If-None-Match": value });
                assert.equal(again.status, 304, value);
                assert.equal(again.text, "");
                assert.equal(again.headers["content-type"], undefined);
                for (const name of ["etag", "cache-control", "vary"]) {
                    assert.equal(again.headers[name], headers[name]);
                }
            }
            for (const value of ['"x"', "x", headers.etag.slice(1, -1), ""]) {
                const again = await get(server, target, { "If-None-Match": value });
                assert.equal(again.status, 200, value);
            }
        }
    });

    test("a client that has the other form has what it asks for", async () => {
        const plain = (await get(server, list)).headers.etag;
        const packed = (await get(server, list, gzip)).headers.etag;
        assert.notEqual(plain, packed);
        for (const [etag, more] of [
            [packed, {}],
            [plain, gzip],
        ]) {
            const { status, headers } = await get(server, list, { "If-None-Match": etag, ...more });
            assert.equal(status, 304);
            assert.equal(headers.etag, etag);
        }
    });

    test("gzip is sent when it is wanted and pays", async () => {
        const plain = await get(server, list);
        const packed = await get(server, list, gzip);
        assert.equal(packed.headers["content-encoding"], "gzip");
        assert.equal(gunzipSync(packed.bytes).toString(), plain.text);
        assert.ok(packed.bytes.length < plain.bytes.length / 2);
        assert.notEqual(packed.headers.etag, plain.headers.etag);
        assert.equal(packed.headers.vary, plain.headers.vary);
        const headers = { ...gzip, "If-None-Match": packed.headers.etag };
        const again = await get(server, list, headers);
        assert.equal(again.status, 304);
        assert.equal(again.headers.etag, packed.headers.etag);
        const head = await send(server, "HEAD", list, { headers: gzip });
        assert.equal(head.headers["content-length"], String(packed.bytes.length));
        const wanted = { "gzip;q=0.5": true, "*": true, "br, gzip": true, GZIP: true };
        const unwanted = { "": false, identity: false, "gzip;q=0": false, "*;q=1, gzip;q=0": false };
        for (const [value, isPacked] of Object.entries({ ...wanted, ...unwanted })) {
            const answer = await get(server, list, { "Accept-Encoding": value });
            assert.equal(answer.headers["content-encoding"] === "gzip", isPacked, value);
        }
        const small = await get(server, "/mcp/tools/describe?name=test.caller", gzip);
        assert.equal(small.headers["content-encoding"], undefined);
    });

    test("row-D4, fault-B18: no error is stored", async () => {
        assertRestError(await get(server, "/mcp/tools/describe?name=nope"), 404, "tool_not_found");
        assertRestError(await get(server, "/mcp/tools/describe"), 400, "missing_parameter");
        assertRestError(await get(server, `${list}?cursor=x`), 400, "invalid_cursor");
        assertRestError(await get(server, "/nothing/here"), 404, "not_found");
        assertRestError(await send(server, "PUT", list), 405, "method_not_allowed");
        assertRestError(await get(server, list, { Host: "evil.example" }), 421, "misdirected_request");
        for (const answer of [
            await post(server, "/mcp/tools/nope", {}),
            await post(server, "/jsonrpc", "{"),
            await get(server, "/jsonrpc"),
        ]) {
            assert.ok(answer.status >= 400);
            assert.equal(answer.headers["cache-control"], "no-store");
            assert.equal(answer.headers.etag, undefined);
        }
    });

    test("no call is stored", async () => {
        const { headers, status } = await invoke(server, "examples.articles.list", {});
        assert.equal(status, 200);
        assert.equal(headers["cache-control"], "no-store");
    });
});

test("limits.cache_size is the ceiling: with 0 nothing is kept", async (t) => {
    const server = await startMany(10, { debug_headers: true, limits: { cache_size: 0 } });
    t.after(() => server.stop());
    for (let i = 0; i < 3; i++) {
        assert.equal(await state(server, list), "MISS");
    }
    const small = await startMany(2_000, {
        debug_headers: true,
        loops: 1,
        limits: { cache_size: "64KB" },
    });
    t.after(() => small.stop());
    for (let offset = 0; offset < 2_000; offset += 50) {
        const cursor = Buffer.from(String(offset)).toString("base64");
        await get(small, `${list}?cursor=${cursor}`);
    }
    assert.equal(await state(small, list), "MISS");
    assert.equal(await state(small, list), "HIT");
});
