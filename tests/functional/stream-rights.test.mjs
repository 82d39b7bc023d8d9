// Streams and the rights of their callers: a revoked token ends the streams it opened and no others,
// and a reload without a change ends none.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { basic, bearer, call, discover, roles, startAccounts } from "./support/accounts.mjs";
import { close, startForger } from "./support/issuer.mjs";
import { freePort } from "./support/ports.mjs";
import { keepFolder } from "./support/kept.mjs";
import {
    EventStream,
    initialize,
    legacy,
    modern,
    ownName,
    reloadBridge,
    startBridge,
    untilSources,
    untilTool,
} from "./support/mcp.mjs";
import { oneProcess, patience } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";
import { startService } from "./support/service.mjs";

const alice = basic("alice", "s3cret");
const bob = basic("bob", "b0b");
const listChanged = "notifications/tools/list_changed";
// The time in which a change takes effect on all loops, and a margin.
const quiet = () => pause(900);

// A server whose plugin is loaded: tools that come later are news for its streams.
async function start(t, begin = startAccounts, options = {}) {
    const server = await begin(options);
    t.after(() => server.stop());
    await untilSources(server, 1);
    return server;
}

// A count as soon as it stays what it is.
async function settled(count) {
    for (;;) {
        const before = count();
        await quiet();
        if (count() === before) {
            return before;
        }
    }
}

async function listen(server, headers) {
    const params = { notifications: { toolsListChanged: true } };
    const stream = await EventStream.open(server, "subscriptions/listen", params, { headers });
    assert.equal(stream.status, 200);
    await stream.next();
    return stream;
}

async function listenAll(server, all) {
    const streams = {};
    for (const [name, headers] of Object.entries(all)) {
        streams[name] = await listen(server, headers);
    }
    return streams;
}

async function assertEnds(stream, why) {
    await eventually(() => stream.ended, `the end of the stream: ${why}`, patience(2_000));
    assert.equal(stream.events.at(-1).json.result.resultType, "complete");
}

function assertOpen(streams, why) {
    for (const [name, stream] of Object.entries(streams)) {
        assert.ok(!stream.ended, `${name} is open: ${why}`);
        assert.equal(stream.events.length, 1, `${name} got nothing: ${why}`);
    }
}

suite("a stream", { concurrency: true }, () => {
    test("ends when its own token is revoked, and no other stream does", async (t) => {
        const server = await start(t);
        const [one, two] = [await server.token("alice"), await server.token("alice")];
        const { revoked, ...others } = await listenAll(server, {
            revoked: bearer(one.token),
            kept: bearer(two.token),
            password: alice,
            bob,
            anonymous: {},
        });
        await server.cli("token", "revoke", String(one.id));
        await assertEnds(revoked, "its token is revoked");
        await quiet();
        assertOpen(others, "another token was revoked");
        await server.cli("token", "revoke", String(two.id));
        const { kept, ...rest } = others;
        await assertEnds(kept, "its token is revoked");
        await quiet();
        assertOpen(rest, "both tokens were revoked");
    });

    test("still gets what changes after other credentials were revoked", async (t) => {
        const server = await start(t);
        const [one, two] = [await server.token("alice"), await server.token("alice")];
        const kept = await listen(server, bearer(two.token));
        await server.cli("token", "revoke", String(one.id));
        await reloadBridge(server, { plugins: { directory: `${server.plugins}/none` } });
        assert.equal((await kept.next()).method, listChanged);
        assert.ok(!kept.ended);
    });

    test("ends when its account is blocked, removed, or has another password", async (t) => {
        const server = await start(t);
        await server.cli("account", "add", "carol", { input: "c" });
        const { token } = await server.token("bob");
        const { carol, ...others } = await listenAll(server, {
            carol: basic("carol", "c"),
            alice,
            bob,
            token: bearer(token),
        });
        await server.cli("account", "block", "carol");
        await assertEnds(carol, "the account is blocked");
        await server.cli("account", "password", "alice", { input: "another1" });
        await assertEnds(others.alice, "the password was changed");
        await quiet();
        assertOpen({ bob: others.bob, token: others.token }, "other accounts were changed");
        await server.cli("account", "remove", "bob");
        await Promise.all([
            assertEnds(others.bob, "the account was removed"),
            assertEnds(others.token, "the account of its token was removed"),
        ]);
    });

    test("ends when the rights of its caller change, and only then", async (t) => {
        const server = await start(t);
        const { token } = await server.token("alice");
        let streams = await listenAll(server, { alice, token: bearer(token), bob });
        await server.cli("role", "add", "guests");
        await server.cli("role", "allow", "guests", "access content");
        await quiet();
        assertOpen(streams, "a role of no account was changed");
        await server.cli("account", "grant", "bob", "guests");
        await assertEnds(streams.bob, "it was given a role");
        assert.equal(streams.bob.events.at(-2).json.method, listChanged);
        streams = { alice: streams.alice, token: streams.token, bob: await listen(server, bob) };
        await server.cli("role", "deny", "guests", "access content");
        await assertEnds(streams.bob, "its role lost a permission");
        assert.equal(streams.bob.events.at(-2).json.method, listChanged);
        await quiet();
        assertOpen({ alice: streams.alice, token: streams.token }, "a role of another was changed");
        await server.cli("account", "revoke", "alice", "editor");
        await Promise.all([
            assertEnds(streams.alice, "a role was revoked"),
            assertEnds(streams.token, "a role of its account was revoked"),
        ]);
    });
});

test("the stream of a session also gets list_changed before a change of rights ends it", async (t) => {
    const server = await start(t);
    const begun = await initialize(server, "2025-11-25", bob);
    const session = { ...bob, "Mcp-Session-Id": begun.headers.get("mcp-session-id") };
    const stream = await EventStream.get(server, session);
    await server.cli("account", "grant", "bob", "editor");
    assert.equal((await stream.next(patience(2_000))).method, listChanged);
    assert.deepEqual(await stream.rest(), []);
    const { json } = await legacy(server, "tools/list", {}, { headers: session });
    assert.ok(json.result.tools.some((tool) => ownName(tool) === "test.echo"));
    // Credentials that are gone send nothing.
    const again = await EventStream.get(server, session);
    await server.cli("account", "block", "bob");
    assert.deepEqual(await again.rest(), []);
});

test("a change of an issuer ends the streams of its tokens, and no others", async (t) => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const forger = await startForger({ audience: `${url}/mcp` });
    t.after(() => close(forger.server));
    const issuer = { issuer: forger.url, allow_private: true };
    const server = await start(t, startAccounts, {
        args: ["--listen", `127.0.0.1:${port}`],
        config: { public_url: url, access: { issuers: [issuer] } },
    });
    const issued = bearer(await forger.sign({ exp: Math.floor(Date.now() / 1000) + 600 }));
    const streams = await listenAll(server, {
        issued,
        token: bearer((await server.token("bob")).token),
        alice,
    });
    await reloadBridge(server);
    await server.cli("account", "add", "eve", { input: "e" });
    await quiet();
    assertOpen(streams, "nothing of these callers was changed");
    await reloadBridge(server, { access: { issuers: [{ ...issuer, leeway: "7s" }] } });
    await assertEnds(streams.issued, "its issuer was changed");
    await quiet();
    assertOpen({ token: streams.token, alice: streams.alice }, "an issuer was changed");
    // The rights of a token without an account come from the database too.
    const again = await listen(server, issued);
    await server.cli("role", "allow", "authenticated", "more");
    await assertEnds(again, "its role has another permission");
});

for (const database of [true, false]) {
    const where = database ? "with" : "without";
    test(`new keys of one of two issuers end the streams of withdrawn keys only, ${where} a database`, {
        skip: oneProcess,
    }, async (t) => {
        const port = await freePort();
        const url = `http://127.0.0.1:${port}`;
        const [one, two] = [
            await startForger({ audience: `${url}/mcp` }),
            await startForger({ audience: `${url}/mcp` }),
        ];
        t.after(() => Promise.all([close(one.server), close(two.server)]));
        const [first, second] = [one, two].map((forger) => ({ issuer: forger.url, allow_private: true }));
        const options = {
            args: ["--listen", `127.0.0.1:${port}`],
            config: { public_url: url, access: { issuers: [first, second] }, log: { level: "debug" } },
        };
        const server = await start(t, database ? startAccounts : startBridge, { roles, ...options });
        const newKeys = (forger) =>
            server.stderr.split("new keys of an issuer").filter((line) => line.includes(forger.url));
        const tokenOf = async (forger) => bearer(await forger.sign({ exp: Math.floor(Date.now() / 1000) + 600 }));
        const of = { first: await tokenOf(one), second: await tokenOf(two) };
        const streams = await listenAll(server, of);
        // A second key beside the first: no token has lost its key.
        const key1 = one.publicJwk;
        await one.rotate("key-2");
        one.keys = [one.publicJwk, key1];
        await reloadBridge(server);
        await eventually(() => newKeys(one).length === 2, "the second key");
        of.third = await tokenOf(one);
        streams.third = await listen(server, of.third);
        await quiet();
        assertOpen(streams, "a key was added");
        // The first key is withdrawn.
        one.keys = [one.publicJwk];
        await reloadBridge(server);
        await assertEnds(streams.first, "the key of its token was withdrawn");
        await quiet();
        assertOpen({ second: streams.second, third: streams.third }, "another key was withdrawn");
        const status = async (headers) => (await modern(server, "tools/list", {}, { headers })).status;
        const isRefused = (headers) => eventually(async () => (await status(headers)) === 401, "the refusal");
        await isRefused(of.first);
        assert.equal(await status(of.second), 200);
        assert.equal(await status(of.third), 200);
        // An issuer that is changed or removed takes only its own streams along.
        await reloadBridge(server, { access: { issuers: [second] } });
        await assertEnds(streams.third, "its issuer was removed");
        await quiet();
        assertOpen({ second: streams.second }, "another issuer was removed");
        await isRefused(of.third);
        assert.equal(newKeys(two).length, 1);
    });
}

test("without a database a role of the configuration ends the streams of issuers' tokens", async (t) => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const forger = await startForger({ audience: `${url}/mcp` });
    t.after(() => close(forger.server));
    const server = await start(t, startBridge, {
        roles,
        args: ["--listen", `127.0.0.1:${port}`],
        config: { public_url: url, access: { issuers: [{ issuer: forger.url, allow_private: true }] } },
    });
    const headers = bearer(await forger.sign({ exp: Math.floor(Date.now() / 1000) + 600 }));
    const stream = await listen(server, headers);
    await reloadBridge(server, { debug_headers: true });
    await quiet();
    assertOpen({ stream }, "no right was changed");
    await reloadBridge(server, { roles: { ...roles, authenticated: [discover, call, "more"] } });
    await assertEnds(stream, "its role has another permission");
});

suite("a reload", { concurrency: true }, () => {
    const startLogged = async (t) => {
        const server = await start(t, startAccounts, { config: { log: { level: "debug" } } });
        server.published = () => server.stderr.split("state published").length - 1;
        return server;
    };
    const everyone = async (server) =>
        listenAll(server, { alice, token: bearer((await server.token("bob")).token), anonymous: {} });

    test("without a change publishes nothing and keeps every stream", async (t) => {
        const server = await startLogged(t);
        const streams = await everyone(server);
        const before = await settled(server.published);
        assert.ok(before > 0);
        await reloadBridge(server);
        await reloadBridge(server);
        await quiet();
        assertOpen(streams, "nothing was changed");
        assert.equal(server.published(), before);
    });

    test("publishes nothing for a service that describes itself as before", { skip: oneProcess }, async (t) => {
        const service = await startService();
        const secret = path.join(keepFolder(), `secret-${Math.random().toString(36).slice(2)}`);
        writeFileSync(secret, "one");
        const methods = [{ method: "echo", tool: true }];
        const entry = { name: "svc", prefix: "svc.", url: service.url, secret: { file: secret }, methods };
        const server = await startBridge({ config: { sources: [entry], log: { level: "debug" } } });
        t.after(() => server.stop());
        await untilTool(server, "svc.echo");
        const published = () => server.stderr.split("state published").length - 1;
        const discovered = () => service.calls.filter(({ method }) => method === "rpc.discover").length;
        const stream = await listen(server, {});
        const before = await settled(published);
        const asked = discovered();
        await reloadBridge(server);
        await eventually(() => discovered() > asked);
        await quiet();
        assert.equal(published(), before);
        assertOpen({ stream }, "the service offers the same");
        // Another secret makes another source, and another description another list.
        writeFileSync(secret, "two");
        await reloadBridge(server);
        await eventually(() => published() === before + 1);
        service.document.methods.find(({ name }) => name === "echo").summary = "Something else";
        await reloadBridge(server);
        assert.equal((await stream.next()).method, listChanged);
        // The log has a writer of its own: its line may come after the notification.
        await eventually(() => published() === before + 2);
        await quiet();
        assert.equal(published(), before + 2);
    });

    test("of a role ends the streams it concerns, and sends one list_changed to the others", {
        skip: oneProcess,
    }, async (t) => {
        const server = await startLogged(t);
        const streams = await everyone(server);
        const before = await settled(server.published);
        const anonymous = [discover, call, "access content"];
        await reloadBridge(server, { roles: { ...roles, anonymous } });
        assert.equal((await streams.anonymous.next()).method, listChanged);
        await assertEnds(streams.token, "everyone may do more");
        await quiet();
        assert.equal(streams.anonymous.events.length, 2);
        assert.ok(!streams.alice.ended, "an editor had the permission before");
        assert.equal(server.published(), before + 1);
    });

    test("of a setting publishes once", { skip: oneProcess }, async (t) => {
        const server = await startLogged(t);
        const streams = await everyone(server);
        const before = await settled(server.published);
        await reloadBridge(server, { debug_headers: true });
        await eventually(() => server.published() > before, "what is published");
        await quiet();
        assertOpen(streams, "no list and no right was changed");
        assert.equal(server.published(), before + 1);
    });

    test("is not caused by a change of the database that concerns no caller", async (t) => {
        const server = await startLogged(t);
        const before = await settled(server.published);
        await server.cli("account", "add", "dave", { input: "d" });
        await quiet();
        assert.equal(server.published(), before);
        assert.equal((await modern(server, "tools/list", {}, { headers: basic("dave", "d") })).status, 200);
    });
});
