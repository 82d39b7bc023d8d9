// Streams end when the token expires that opened them; those of others go on.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { basic, bearer, call, discover, startAccounts } from "./support/accounts.mjs";
import { close, startForger } from "./support/issuer.mjs";
import { freePort } from "./support/ports.mjs";
import { EventStream, initialize, metaKey, startBridge } from "./support/mcp.mjs";
import { patience, slowness } from "./support/programs.mjs";

const lifetime = 2 * slowness; // seconds
const late = patience(1_000);

async function listen(server, headers) {
    const params = { notifications: { toolsListChanged: true } };
    const stream = await EventStream.open(server, "subscriptions/listen", params, { headers });
    assert.equal(stream.status, 200);
    await stream.next();
    return stream;
}

async function openSession(server, headers) {
    const answer = await initialize(server, "2025-11-25", headers);
    const session = { "Mcp-Session-Id": answer.headers.get("mcp-session-id") };
    const stream = await EventStream.get(server, { ...headers, ...session });
    assert.equal(stream.status, 200);
    return stream;
}

// Both kinds of streams, opened with these headers, end when the token does.
async function assertEnds(server, headers, expires) {
    const [modern, legacy] = [await listen(server, headers), await openSession(server, headers)];
    const ended = async (stream) => {
        const rest = await stream.rest(lifetime * 1_000 + 5_000);
        const after = Date.now() - expires;
        assert.ok(after >= 0 && after < late, `${after} ms after the token`);
        return rest;
    };
    const [answer, nothing] = await Promise.all([ended(modern), ended(legacy)]);
    assert.equal(answer.length, 1);
    assert.equal(answer[0].result._meta[metaKey("subscriptionId")], 1);
    assert.deepEqual(nothing, []);
    const again = await EventStream.open(server, "subscriptions/listen", { notifications: {} }, { headers });
    assert.equal(again.status, 401);
}

suite("a stream that was opened", { concurrency: true }, () => {
    test("with the token of an issuer ends when that expires, leeway included", async (t) => {
        const port = await freePort();
        const url = `http://127.0.0.1:${port}`;
        const forger = await startForger({ audience: `${url}/mcp` });
        t.after(() => close(forger.server));
        const leeway = 1;
        const issuer = { issuer: forger.url, allow_private: true, leeway: `${leeway}s` };
        const server = await startBridge({
            roles: { anonymous: [discover, call], authenticated: [discover, call] },
            args: ["--listen", `127.0.0.1:${port}`],
            config: { public_url: url, access: { issuers: [issuer] } },
        });
        t.after(() => server.stop());
        const exp = Math.floor(Date.now() / 1000) + lifetime;
        const headers = bearer(await forger.sign({ exp }));
        const longer = await listen(server, bearer(await forger.sign({ exp: exp + 60 })));
        const anonymous = await listen(server, {});
        await assertEnds(server, headers, (exp + leeway) * 1_000);
        assert.ok(!longer.ended && !anonymous.ended);
    });

    test("with a token of our own ends when that expires", async (t) => {
        const server = await startAccounts();
        t.after(() => server.stop());
        const endless = await listen(server, bearer((await server.token("alice")).token));
        const person = await listen(server, basic("alice", "s3cret"));
        const { token, expires } = await server.token("alice", "--expires", `${lifetime + 1}s`);
        const others = [endless, person];
        await assertEnds(server, bearer(token), Date.parse(expires));
        assert.ok(others.every((stream) => !stream.ended));
    });
});
