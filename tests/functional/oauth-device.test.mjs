// The device grant (RFC 8628): a program without a browser, and a person with one elsewhere.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { bearer, call, discover, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { hiddenField, logIn, sameOrigin, visit } from "./support/login.mjs";
import { rpc } from "./support/mcp.mjs";
import { send, token } from "./support/oauth-server.mjs";
import { oneReplica, patience } from "./support/programs.mjs";
import { readAudit } from "./support/round-robin.mjs";
import { eventually } from "./support/server.mjs";

const redirect_uri = "http://127.0.0.1:9/callback";
const roles = { anonymous: [discover, call], authenticated: [discover, call], editor: ["access content"] };
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

async function startServer() {
    const audit = path.join(keepFolder(), "device-audit.log");
    const clients = [
        { id: "tv", name: "Tele <b>vision</b>", device: true },
        { id: "other-tv", device: true },
        { id: "app", redirect_uris: [redirect_uri] },
    ];
    const server = await startAccounts({
        config: { roles, audit: { path: audit }, access: { server: { enabled: true, clients } } },
    });
    server.auditFile = audit;
    return server;
}

const ask = (server, fields = {}) => send(server, "/device_authorization", { client_id: "tv", ...fields });
const poll = (server, device_code, more = {}) =>
    token(server, { grant_type: deviceGrant, device_code, client_id: "tv", ...more });
const post = (server, cookie, form) =>
    visit(server, "/device", { method: "POST", headers: { ...sameOrigin(server), Cookie: cookie }, form });

// Open the page, enter a code: the next page.
async function enter(server, cookie, user_code) {
    const page = await visit(server, "/device", { headers: { Cookie: cookie } });
    assert.equal(page.status, 200, page.text);
    return post(server, cookie, { csrf: hiddenField(page.text, "csrf"), user_code });
}

async function decide(server, cookie, user_code, decision) {
    const page = await enter(server, cookie, user_code);
    assert.equal(page.status, 200, page.text);
    return post(server, cookie, { consent: hiddenField(page.text, "consent"), decision });
}

function isError({ status, json, headers }, expected, error) {
    assert.deepEqual([status, json.error], [expected, error]);
    assert.equal(headers.get("cache-control"), "no-store");
}

suite("devices", () => {
    let server;
    let cookie;
    before(async () => {
        server = await startServer();
        ({ cookie } = await logIn(server, "alice", "s3cret"));
    });
    after(() => server?.stop());

    const nameOf = async (accessToken) =>
        (await rpc(server, { method: "test.caller", id: 1 }, bearer(accessToken))).json.result?.name;

    test("AS4, AS31: the metadata names the endpoint and the grant", async () => {
        const json = await (await fetch(`${server.url}/.well-known/oauth-authorization-server`)).json();
        assert.equal(json.device_authorization_endpoint, `${server.url}/device_authorization`);
        assert.ok(json.grant_types_supported.includes(deviceGrant));
    });

    test("AS31: a device gets two codes, and no address has the user code in it", async () => {
        const { status, json, headers, text } = await ask(server);
        assert.equal(status, 200, text);
        assert.equal(headers.get("cache-control"), "no-store");
        assert.equal(headers.get("access-control-allow-origin"), "*");
        assert.match(json.device_code, /^cwd_[\w-]{43}$/);
        assert.match(json.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
        assert.equal(json.verification_uri, `${server.url}/device`);
        assert.deepEqual([json.expires_in, json.interval], [600, 5]);
        assert.equal("verification_uri_complete" in json, false);
    });

    test("AS13, AS31: the page needs a login", async () => {
        const page = await visit(server, "/device");
        assert.equal(page.status, 303);
        assert.match(page.headers.get("location"), /\/login\?next=%2Fdevice$/);
    });

    test("AS14, AS31: a person sees who asks, from where and when, and allows it", async () => {
        const { json } = await ask(server);
        isError(await poll(server, json.device_code), 400, "authorization_pending");
        const page = await enter(server, cookie, json.user_code.toLowerCase().replace("-", " "));
        assert.equal(page.status, 200, page.text);
        assert.match(page.text, /Tele &lt;b&gt;vision&lt;\/b&gt;/);
        assert.match(page.text, /from the address <strong>127\.0\.0\.1<\/strong>/);
        assert.match(page.text, /at <strong>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d<\/strong> UTC/);
        assert.ok(page.text.includes(json.user_code));
        assert.match(page.headers.get("content-security-policy"), /form-action 'self'/);
        const consent = hiddenField(page.text, "consent");
        const end = await post(server, cookie, { consent, decision: "allow" });
        assert.equal(end.status, 200, end.text);
        assert.match(end.text, /The device is logged in/);
        const answer = await poll(server, json.device_code);
        assert.equal(answer.status, 200, answer.text);
        assert.equal(await nameOf(answer.json.access_token), "alice");
        assert.match(answer.json.refresh_token, /^cwr_/);
        const fresh = await token(server, {
            grant_type: "refresh_token",
            refresh_token: answer.json.refresh_token,
            client_id: "tv",
        });
        assert.equal(fresh.status, 200);
        isError(await poll(server, json.device_code), 400, "invalid_grant");
        assert.equal((await post(server, cookie, { consent, decision: "allow" })).status, 400);
    });

    test("AS31: a scope that a device names twice is on the page once", async () => {
        const { json } = await ask(server, { scope: Array(200).fill("content:read").join(" ") });
        const page = await enter(server, cookie, json.user_code);
        assert.equal(page.status, 200, page.text);
        assert.equal(page.text.split('value="content:read"').length - 1, 1);
    });

    test("AS31: a denied device hears of it", async () => {
        const { json } = await ask(server);
        const end = await decide(server, cookie, json.user_code, "deny");
        assert.match(end.text, /The device has no access/);
        isError(await poll(server, json.device_code), 400, "access_denied");
    });

    test("AS31: a device that asks too often must wait longer", async () => {
        const { json } = await ask(server);
        isError(await poll(server, json.device_code), 400, "authorization_pending");
        await eventually(async () => {
            const answers = await Promise.all(Array.from({ length: 4 }, () => poll(server, json.device_code)));
            return answers.some((answer) => answer.json.error === "slow_down");
        }, "slow_down");
        await decide(server, cookie, json.user_code, "allow");
        assert.equal((await poll(server, json.device_code)).status, 200);
    });

    test("AS31: the code of one client is nothing for another, and only registered clients get one", async () => {
        const { json } = await ask(server);
        isError(await poll(server, json.device_code, { client_id: "other-tv" }), 400, "invalid_grant");
        isError(await poll(server, "cwd_x"), 400, "invalid_grant");
        isError(await poll(server, json.user_code), 400, "invalid_grant");
        isError(await ask(server, { client_id: "app" }), 400, "unauthorized_client");
        isError(await ask(server, { client_id: "nobody" }), 401, "invalid_client");
        isError(await ask(server, { client_id: "https://example.org/client.json" }), 400, "unauthorized_client");
        const answer = await fetch(`${server.url}/register`, {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify({ redirect_uris: [redirect_uri], token_endpoint_auth_method: "none" }),
        });
        const { client_id } = await answer.json();
        isError(await ask(server, { client_id }), 400, "unauthorized_client");
        isError(await ask(server, { scope: "no:such" }), 400, "invalid_scope");
        isError(await ask(server, { resource: "https://example.org/" }), 400, "invalid_target");
    });

    test("T10, T12: a form without proof, of another session, or of another page decides nothing", async () => {
        const { json } = await ask(server);
        const { cookie: bobs } = await logIn(server, "bob", "b0b");
        assert.equal((await post(server, cookie, { user_code: json.user_code })).status, 403);
        const page = await enter(server, cookie, json.user_code);
        const consent = hiddenField(page.text, "consent");
        assert.equal((await post(server, bobs, { consent, decision: "allow" })).status, 403);
        const headers = { Origin: "https://evil.example", Cookie: cookie };
        const form = { consent, decision: "allow" };
        assert.equal((await visit(server, "/device", { method: "POST", headers, form })).status, 403);
        const elsewhere = await visit(server, "/authorize", {
            method: "POST",
            headers: { ...sameOrigin(server), Cookie: cookie },
            form,
        });
        assert.equal(elsewhere.status, 403);
        isError(await poll(server, json.device_code), 400, "authorization_pending");
    });

    test("AS25: a new password ends what the account allowed before the device asked again", async () => {
        const { json } = await ask(server);
        const { cookie: bobs } = await logIn(server, "bob", "b0b");
        await decide(server, bobs, json.user_code, "allow");
        await server.cli("account", "password", "bob", { input: "another-b0b" });
        isError(await poll(server, json.device_code), 400, "invalid_grant");
    });

    test("AS29, T35: decisions and grants are in the audit, and no code is in the database", async () => {
        const { json } = await ask(server);
        await decide(server, cookie, json.user_code, "allow");
        await poll(server, json.device_code);
        const records = () => readAudit(server.auditFile);
        await eventually(
            () => /"kind":"consent".*"door":"device".*"outcome":"allowed"/.test(records()),
            "a record",
            patience(2_000),
        );
        assert.match(records(), /"kind":"consent".*"door":"device".*"outcome":"denied"/);
        assert.equal(records().includes(json.device_code.slice(4)), false);
        assert.equal(records().includes(json.user_code), false);
        const stored = server.databaseFiles().map((file) => readFileSync(file, "latin1"));
        for (const secret of [json.device_code.slice(4), json.user_code, json.user_code.replace("-", "")]) {
            assert.ok(stored.every((text) => !text.includes(secret)));
        }
    });

    test("AS31: five wrong codes are free, then an account and a network must wait", async () => {
        const { json } = await ask(server);
        assert.equal((await enter(server, cookie, "not a code")).status, 400);
        for (let i = 0; i < 5; i++) {
            const page = await enter(server, cookie, "BBBB-BBBB");
            assert.equal(page.status, 400);
            assert.match(page.text, /No device waits for this code/);
        }
        await eventually(async () => {
            await enter(server, cookie, "BBBB-BBBB");
            const right = await enter(server, cookie, json.user_code);
            return right.status === 429 && Number(right.headers.get("retry-after")) >= 1;
        }, "a wait after wrong codes");
    });
});

test("AS30, AS31: one IPv6 network cannot keep the devices of others from a login", { skip: oneReplica }, async (t) => {
    const server = await startAccounts({
        config: {
            roles,
            trusted_proxies: ["127.0.0.1"],
            access: { server: { enabled: true, clients: [{ id: "tv", device: true }] } },
        },
    });
    t.after(() => server.stop());
    const from = async (address) => {
        const headers = { "X-Forwarded-For": address, "X-Forwarded-Host": "localhost" };
        return (await send(server, "/device_authorization", { client_id: "tv" }, headers)).status;
    };
    const answers = [];
    for (let i = 0; i < 5; i++) {
        const requests = Array.from({ length: 50 }, () => from(`2001:db8:1:${i}::1`));
        answers.push(...(await Promise.all(requests)));
    }
    assert.deepEqual([...new Set(answers.slice(0, 200))], [200]);
    assert.equal(answers.filter((status) => status === 429).length, 10);
    assert.equal(await from("2001:db8:1:ffff::1"), 429);
    assert.equal(await from("2001:db8:2::1"), 200);
    assert.equal(await from("192.0.2.1"), 200);
});

test("AS1, AS31: without a client for it there is no device grant", async (t) => {
    const clients = [{ id: "app", redirect_uris: [redirect_uri] }];
    const server = await startAccounts({ config: { roles, access: { server: { enabled: true, clients } } } });
    t.after(() => server.stop());
    const json = await (await fetch(`${server.url}/.well-known/oauth-authorization-server`)).json();
    assert.equal("device_authorization_endpoint" in json, false);
    assert.deepEqual(json.grant_types_supported, ["authorization_code", "refresh_token"]);
    isError(await ask(server, { client_id: "app" }), 400, "unauthorized_client");
});
