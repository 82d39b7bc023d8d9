// Streams end when the token expires that opened them; those of others go on.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { basic, bearer, call, discover, shortToken, startAccounts } from "./support/accounts.mjs";
import { close, startForger } from "./support/issuer.mjs";
import { freePort } from "./support/ports.mjs";
import { EventStream, initialize, metaKey, startBridge } from "./support/mcp.mjs";
import { pause } from "./support/server.mjs";

async function listen(server, headers) {
    const params = { notifications: { toolsListChanged: true } };
    const stream = await EventStream.open(server, "subscriptions/listen", params, { headers });
    assert.equal(stream.status, 200);
    await stream.next();
    return stream;
}

// Both kinds of streams, or undefined if the token of these headers has expired before they were open.
async function openBoth(server, headers) {
    const params = { notifications: { toolsListChanged: true } };
    const modern = await EventStream.open(server, "subscriptions/listen", params, { headers });
    const isAcknowledged = modern.status === 200 && (await modern.next())?.method?.endsWith("/acknowledged");
    const answer = await initialize(server, "2025-11-25", headers);
    const session = { "Mcp-Session-Id": answer.headers.get("mcp-session-id") };
    const legacy = session["Mcp-Session-Id"] && (await EventStream.get(server, { ...headers, ...session }));
    return isAcknowledged && legacy?.status === 200 ? { modern, legacy } : undefined;
}

// Both streams, which were opened with these headers, end when the token does.
async function assertEnds(server, { modern, legacy }, headers, expires) {
    const ended = async (stream) => {
        const end = stream.reading.then(() => Date.now());
        while (Date.now() < expires) await pause(expires - Date.now());
        const rest = await stream.rest(1_000);
        assert.ok((await end) >= expires, `${expires - (await end)} ms before the token`);
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
        const longer = await listen(server, bearer(await forger.sign()));
        const anonymous = await listen(server, {});
        const sign = async (_, lifetime) => {
            const exp = Math.floor(Date.now() / 1000) + Number.parseInt(lifetime, 10);
            return { exp, token: await forger.sign({ exp }) };
        };
        let both;
        const isOpen = async (token) => (both = await openBoth(server, bearer(token)));
        const { token, exp } = await shortToken(sign, isOpen);
        await assertEnds(server, both, bearer(token), (exp + leeway) * 1_000);
        assert.ok(!longer.ended && !anonymous.ended);
    });

    test("with a token of our own ends when that expires", async (t) => {
        const server = await startAccounts();
        t.after(() => server.stop());
        const endless = await listen(server, bearer((await server.token("alice")).token));
        const person = await listen(server, basic("alice", "s3cret"));
        const others = [endless, person];
        let both;
        const isOpen = async (token) => (both = await openBoth(server, bearer(token)));
        const { token, expires } = await shortToken((...words) => server.token("alice", ...words), isOpen);
        await assertEnds(server, both, bearer(token), Date.parse(expires));
        assert.ok(others.every((stream) => !stream.ended));
    });
});
