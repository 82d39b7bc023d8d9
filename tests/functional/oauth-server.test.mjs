// The built-in authorization server, from its token endpoint inwards: codes, refresh tokens, access
// tokens, their ends and their limits.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import * as client1 from "@modelcontextprotocol/sdk/client/auth.js";
import { bearer, call, discover, startAccounts } from "./support/accounts.mjs";
import { navigate, register } from "./support/authorize.mjs";
import { keepFolder } from "./support/kept.mjs";
import { hiddenField, logIn, sameOrigin, visit } from "./support/login.mjs";
import { rpc } from "./support/mcp.mjs";
import { allow, send, token } from "./support/oauth-server.mjs";
import { patience, replicaCount, runCauseway, writeConfig } from "./support/programs.mjs";
import { readAudit } from "./support/round-robin.mjs";
import { eventually, pause } from "./support/server.mjs";

const redirect_uri = "http://127.0.0.1:9/callback";
const app = { client_id: "app", redirect_uri };
const secret = "a-secret-of-forty-characters-or-so-0123";

const roles = {
    anonymous: [discover, call],
    authenticated: [discover, call],
    editor: ["access content", "administer access", "view audit"],
    reader: ["access content"],
};

async function startServer(more = {}, folder = keepFolder()) {
    const server = await startAccounts({
        config: {
            roles,
            audit: { path: path.join(folder, "audit.log") },
            access: {
                server: {
                    enabled: true,
                    clients: [
                        { id: "app", redirect_uris: [redirect_uri] },
                        { id: "other", redirect_uris: [redirect_uri] },
                    ],
                    ...more,
                },
            },
        },
    });
    server.auditFile = path.join(folder, "audit.log");
    return server;
}

const exchange = (server, { code, verifier }, more = {}, headers = {}) =>
    token(
        server,
        { grant_type: "authorization_code", code, code_verifier: verifier, client_id: "app", redirect_uri, ...more },
        headers,
    );
const refresh = (server, refresh_token, more = {}) =>
    token(server, { grant_type: "refresh_token", refresh_token, client_id: "app", ...more });
const who = async (server, accessToken) => await rpc(server, { method: "test.caller", id: 1 }, bearer(accessToken));
const isGood = async (server, accessToken) => (await who(server, accessToken)).status !== 401;

// At once where the token was ended; other servers that know it notice that a little later.
async function assertEnded(server, accessToken) {
    if (replicaCount > 1) {
        await eventually(async () => !(await isGood(server, accessToken)), "the end of the token");
    }
    assert.equal(await isGood(server, accessToken), false);
}

function isError({ status, json, headers }, expected, error) {
    assert.deepEqual([status, json.error], [expected, error]);
    assert.equal(headers.get("cache-control"), "no-store");
    assert.match(json.error_description, /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
}

suite("the built-in authorization server", () => {
    let server;
    let cookie;
    before(async () => {
        server = await startServer();
        ({ cookie } = await logIn(server, "alice", "s3cret"));
    });
    after(() => server?.stop());

    const grant = async (more) => (await exchange(server, await allow(server, cookie, { ...app, ...more }))).json;

    test("AS2, AS4: the metadata names the issuer and only what works", async () => {
        const answer = await fetch(`${server.url}/.well-known/oauth-authorization-server`, {
            headers: { Origin: "https://example.org" },
        });
        assert.equal(answer.status, 200);
        assert.equal(answer.headers.get("access-control-allow-origin"), "*");
        assert.equal(answer.headers.get("cache-control"), "max-age=300");
        const json = await answer.json();
        assert.equal(json.issuer, server.url);
        assert.equal(json.token_endpoint, `${server.url}/token`);
        assert.deepEqual(json.code_challenge_methods_supported, ["S256"]);
        assert.deepEqual(json.grant_types_supported, ["authorization_code", "refresh_token"]);
        assert.equal(json.authorization_response_iss_parameter_supported, true);
        assert.equal("jwks_uri" in json, false);
    });

    test("AS3: it is no OpenID provider: 404 as JSON", async () => {
        const answer = await fetch(`${server.url}/.well-known/openid-configuration`);
        assert.equal(answer.status, 404);
        assert.match(answer.headers.get("content-type"), /^application\/json/);
    });

    test("AS5: the resource's metadata lists this issuer first", async () => {
        const answer = await fetch(`${server.url}/.well-known/oauth-protected-resource/mcp`);
        const json = await answer.json();
        assert.equal(json.authorization_servers[0], server.url);
        assert.equal(json.scopes_supported?.includes("offline_access") ?? false, false);
    });

    test("AS5: behind another address, the metadata has that one everywhere", async () => {
        const headers = { Host: "localhost:4711" };
        const { status, text } = await navigate(server, "/.well-known/oauth-protected-resource/mcp", { headers });
        assert.equal(status, 200, text);
        const { resource, authorization_servers } = JSON.parse(text);
        assert.deepEqual([resource, authorization_servers], ["http://localhost:4711/mcp", ["http://localhost:4711"]]);
    });

    test("AS10: a code becomes an access token of the account, with a refresh token", async () => {
        const answer = await exchange(server, await allow(server, cookie, app));
        assert.equal(answer.status, 200, answer.text);
        assert.equal(answer.headers.get("cache-control"), "no-store");
        assert.equal(answer.headers.get("pragma"), "no-cache");
        assert.match(answer.json.access_token, /^cwa_[\w-]{43}$/);
        assert.match(answer.json.refresh_token, /^cwr_[\w-]{70}$/);
        assert.equal(answer.json.token_type, "Bearer");
        assert.equal(answer.json.expires_in, 1800);
        const { json } = await who(server, answer.json.access_token);
        assert.equal(json.result.name, "alice");
    });

    test("AS16: no grant carries administration, whatever its account may do", async () => {
        const { json } = await who(server, (await grant()).access_token);
        assert.deepEqual(json.result.permissions.toSorted(), ["access content", discover, call].toSorted());
    });

    test("AS9, T5: a verifier that is missing, too short or another one gets nothing", async () => {
        const given = await allow(server, cookie, app);
        isError(await exchange(server, { ...given, verifier: "" }), 400, "invalid_request");
        isError(await exchange(server, { ...given, verifier: "short" }), 400, "invalid_request");
        isError(await exchange(server, { ...given, verifier: "x".repeat(43) }), 400, "invalid_grant");
        assert.equal((await exchange(server, given)).status, 200);
    });

    test("T6: of fifty exchanges at once one succeeds, and the grant of the code ends", async () => {
        const given = await allow(server, cookie, app);
        const answers = await Promise.all(Array.from({ length: 50 }, () => exchange(server, given)));
        const good = answers.filter(({ status }) => status === 200);
        assert.equal(good.length, 1);
        const others = answers.filter(({ status }) => status !== 200);
        assert.ok(others.every(({ status, json }) => status === 429 || json.error === "invalid_grant"));
        await eventually(async () => !(await isGood(server, good[0].json.access_token)), "end of the token");
    });

    test("T6: a replay with anything wrong changes nothing", async () => {
        const given = await allow(server, cookie, app);
        const { json } = await exchange(server, given);
        isError(await exchange(server, { ...given, verifier: "x".repeat(43) }), 400, "invalid_grant");
        assert.equal(await isGood(server, json.access_token), true);
        isError(await exchange(server, given), 400, "invalid_grant");
        await assertEnded(server, json.access_token);
    });

    test("T7, T8: a wrong client, address or resource does not consume a code", async () => {
        const given = await allow(server, cookie, app);
        isError(await exchange(server, given, { client_id: "other" }), 400, "invalid_grant");
        isError(await exchange(server, given, { redirect_uri: "http://127.0.0.1:8/callback" }), 400, "invalid_grant");
        isError(await exchange(server, given, { resource: "https://example.org/mcp" }), 400, "invalid_target");
        isError(await exchange(server, given, { client_id: "nobody" }), 401, "invalid_client");
        assert.equal((await exchange(server, given, { resource: `${server.url}/mcp` })).status, 200);
    });

    test("AS21, T28: two authentications, and a secret of a public client, are rejected", async () => {
        const given = await allow(server, cookie, app);
        const basic = { Authorization: `Basic ${Buffer.from("app:x").toString("base64")}` };
        isError(await exchange(server, given, { client_secret: "x" }, basic), 400, "invalid_request");
        const wrong = await exchange(server, given, {}, basic);
        isError(wrong, 401, "invalid_client");
        assert.match(wrong.headers.get("www-authenticate"), /^Basic /);
        isError(await exchange(server, given, { client_secret: "x" }), 401, "invalid_client");
    });

    test("AS22, T29: only one form of one media type is read", async () => {
        for (const type of ["application/json", "multipart/form-data; boundary=x", "text/plain, " + "a/b"]) {
            const headers = { "Content-Type": type };
            isError(await send(server, "/token", { grant_type: "refresh_token" }, headers), 400, "invalid_request");
        }
        isError(await token(server, { grant_type: "password", client_id: "app" }), 400, "unsupported_grant_type");
        const twice = [
            ["grant_type", "refresh_token"],
            ["grant_type", "refresh_token"],
        ];
        isError(await token(server, twice), 400, "invalid_request");
    });

    test("AS23, T25: each refresh gives the next token; a lost answer is given again", async () => {
        const first = await grant();
        const second = (await refresh(server, first.refresh_token)).json;
        assert.notEqual(second.refresh_token, first.refresh_token);
        const again = (await refresh(server, first.refresh_token)).json;
        assert.equal(again.refresh_token, second.refresh_token);
        assert.equal(await isGood(server, again.access_token), true);
        const third = (await refresh(server, second.refresh_token)).json;
        assert.notEqual(third.refresh_token, second.refresh_token);
    });

    test("T25: fifty refreshes at once end with one successor", async () => {
        const { refresh_token } = await grant();
        const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(server, refresh_token)));
        assert.ok(answers.every(({ status }) => status === 200));
        assert.equal(new Set(answers.map(({ json }) => json.refresh_token)).size, 1);
    });

    test("T25: a token two generations old ends the grant; a forged one does not", async () => {
        const first = await grant();
        const second = (await refresh(server, first.refresh_token)).json;
        const third = (await refresh(server, second.refresh_token)).json;
        const last = third.refresh_token.at(-2) === "A" ? "B" : "A";
        const forged = third.refresh_token.slice(0, -2) + last + third.refresh_token.at(-1);
        isError(await refresh(server, forged), 400, "invalid_grant");
        assert.equal(await isGood(server, third.access_token), true);
        isError(await refresh(server, first.refresh_token), 400, "invalid_grant");
        isError(await refresh(server, third.refresh_token), 400, "invalid_grant");
        await assertEnded(server, third.access_token);
    });

    test("AS24, T26: another client, a wider scope or another resource leaves the token good", async () => {
        const first = await grant();
        isError(await refresh(server, first.refresh_token, { client_id: "other" }), 400, "invalid_grant");
        isError(await refresh(server, first.refresh_token, { scope: "content:write" }), 400, "invalid_scope");
        isError(
            await refresh(server, first.refresh_token, { resource: "https://example.org/" }),
            400,
            "invalid_target",
        );
        assert.equal((await refresh(server, first.refresh_token)).status, 200);
    });

    test("AS26, T27: a client revokes its own tokens only", async () => {
        const first = await grant();
        const revoke = (tokenText, client_id) => send(server, "/revoke", { token: tokenText, client_id });
        assert.equal((await revoke(first.access_token, "other")).status, 200);
        assert.equal((await revoke(first.refresh_token, "other")).status, 200);
        assert.equal((await revoke("unknown", "app")).status, 200);
        assert.equal(await isGood(server, first.access_token), true);
        assert.equal((await revoke(first.access_token, "app")).status, 200);
        await assertEnded(server, first.access_token);
        const second = (await refresh(server, first.refresh_token)).json;
        assert.equal((await revoke(second.refresh_token, "app")).status, 200);
        await assertEnded(server, second.access_token);
        isError(await refresh(server, second.refresh_token), 400, "invalid_grant");
        isError(await revoke("x", "nobody"), 401, "invalid_client");
    });

    test("AS27, T31: no credential passes in the place of another", async () => {
        const given = await allow(server, cookie, app);
        const { access_token, refresh_token } = (await exchange(server, given)).json;
        for (const wrong of [refresh_token, given.code, `${access_token}x`]) {
            assert.equal((await who(server, wrong)).status, 401);
        }
        isError(await refresh(server, access_token), 400, "invalid_grant");
        isError(await exchange(server, { ...given, code: refresh_token }), 400, "invalid_grant");
    });

    test("AS28: an operator lists and ends grants", async () => {
        const { access_token } = await grant();
        const list = JSON.parse(await server.cli("grant", "list", "alice", "--json"));
        assert.equal(list[0].client, "app");
        assert.doesNotMatch(JSON.stringify(list), /cw[acr]_|hash|"secret"/);
        await server.cli("grant", "revoke", String(list[0].id));
        await eventually(async () => !(await isGood(server, access_token)), "end of the grant", patience(1_000));
    });

    test("AS28: a client that an operator denies has neither tokens nor grants", async () => {
        await server.cli("client", "add", "cli-app", "--redirect-uri", redirect_uri);
        const given = await allow(server, cookie, { client_id: "cli-app", redirect_uri });
        const { json } = await exchange(server, given, { client_id: "cli-app" });
        assert.equal(await isGood(server, json.access_token), true);
        await server.cli("client", "deny", "cli-app");
        await eventually(async () => !(await isGood(server, json.access_token)), "end of the token", patience(1_000));
        isError(await refresh(server, json.refresh_token, { client_id: "cli-app" }), 401, "invalid_client");
        assert.match(await server.cli("client", "list"), /cli-app .* denied/);
        await server.cli("client", "remove", "cli-app");
    });

    test("AS20, T24: a secret works by Basic, raw and form-encoded, and in the form", async () => {
        const made = (await server.cli("client", "add", "web", "--redirect-uri", redirect_uri, "--secret")).trim();
        assert.match(made, /^[\w-]+$/);
        const encoded = encodeURIComponent("web").replace("w", "%77");
        for (const [fields, pair] of [
            [{ client_id: "", client_secret: "" }, `web:${made}`],
            [{ client_id: "", client_secret: "" }, `${encoded}:${made.replace("c", "%63")}`],
            [{ client_id: "web", client_secret: made }],
        ]) {
            const given = await allow(server, cookie, { client_id: "web", redirect_uri });
            const headers = pair ? { Authorization: `Basic ${Buffer.from(pair).toString("base64")}` } : {};
            const answer = await exchange(server, given, fields, headers);
            assert.equal(answer.status, 200, answer.text);
        }
        const given = await allow(server, cookie, { client_id: "web", redirect_uri });
        isError(await exchange(server, given, { client_id: "web" }), 401, "invalid_client");
        isError(await exchange(server, given, { client_id: "web", client_secret: "x" }), 401, "invalid_client");
    });

    test("AS25, T32: a block, a new password and a lost role count within a second", async () => {
        const { cookie: bobs } = await logIn(server, "bob", "b0b");
        const bob = async (session) => (await exchange(server, await allow(server, session, app))).json;
        const first = await bob(bobs);
        const soon = patience(1_000);
        await server.cli("account", "grant", "bob", "reader");
        const permissionsOf = async () => (await who(server, first.access_token)).json.result?.permissions ?? [];
        await eventually(async () => (await permissionsOf()).includes("access content"), "new role", soon);
        await server.cli("account", "revoke", "bob", "reader");
        await eventually(async () => !(await permissionsOf()).includes("access content"), "lost role", soon);
        await server.cli("account", "password", "bob", { input: "another-b0b" });
        await eventually(async () => !(await isGood(server, first.access_token)), "new password", soon);
        isError(await refresh(server, first.refresh_token), 400, "invalid_grant");
        const { cookie: again } = await logIn(server, "bob", "another-b0b");
        const second = await bob(again);
        await server.cli("account", "block", "bob");
        await eventually(async () => !(await isGood(server, second.access_token)), "block", soon);
    });

    test("AS29, T35: the audit has grants, and no secret is in it or in the database", async () => {
        const given = await allow(server, cookie, app);
        const first = (await exchange(server, given)).json;
        const second = (await refresh(server, first.refresh_token)).json;
        const records = () => readAudit(server.auditFile);
        await eventually(() => /"kind":"grant".*"outcome":"refreshed"/.test(records()), "a record");
        assert.match(records(), /"kind":"grant".*"outcome":"issued"/);
        assert.match(records(), /"kind":"grant".*"outcome":"reused"/);
        const stored = server.databaseFiles().map((file) => readFileSync(file, "latin1"));
        for (const secretText of [given.code, first.access_token, first.refresh_token, second.refresh_token]) {
            assert.equal(records().includes(secretText.slice(4)), false);
            assert.ok(stored.every((text) => !text.includes(secretText.slice(4))));
        }
    });

    test("AS28, AS29: a grant that a person ends on the page is dead, and in the audit", async () => {
        const { access_token, refresh_token } = await grant();
        assert.equal(await isGood(server, access_token), true);
        const own = { Cookie: cookie };
        const page = await visit(server, "/account/grants", { headers: own });
        const fields = ["csrf", "grant"].map((name) => [name, hiddenField(page.text, name)]);
        const answer = await visit(server, "/account/grants", {
            method: "POST",
            headers: { ...sameOrigin(server), ...own },
            form: Object.fromEntries(fields),
        });
        assert.equal(answer.status, 303, answer.text);
        isError(await refresh(server, refresh_token), 400, "invalid_grant");
        await eventually(async () => !(await isGood(server, access_token)), "the end of the token");
        const records = () => readAudit(server.auditFile);
        await eventually(() => /"kind":"grant".*"door":"account".*"outcome":"revoked"/.test(records()), "a record");
    });

    test("AS30: failures of one client from one network do not stop another client", async () => {
        const answers = [];
        // Each server counts the failures of clients that nobody has registered.
        for (let i = 0; i < 150 * replicaCount; i++) {
            answers.push(await refresh(server, "cwr_x", { client_id: "noisy" }));
        }
        // A pause of the machine lets some more through.
        const late = answers.find(({ status }) => status === 429);
        assert.ok(late, "none was refused");
        assert.equal(late.json.error, "temporarily_unavailable");
        assert.ok(Number(late.headers.get("retry-after")) >= 1);
        assert.equal((await exchange(server, await allow(server, cookie, app))).status, 200);
    });

    test("AS12, T34: the issuer is that of the server, whatever a proxy field says", async () => {
        const headers = { "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https" };
        const answer = await fetch(`${server.url}/.well-known/oauth-authorization-server`, { headers });
        assert.equal((await answer.json()).issuer, server.url);
    });

    test("AS2, AS5, T34: behind a proxy with a path the issuer is public_url, and other hosts get nothing", async (t) => {
        const issuer = "https://tools.example.org/base";
        const behind = await startAccounts({
            config: { public_url: issuer, hosts: ["tools.example.org"], access: { server: { enabled: true } } },
        });
        t.after(() => behind.stop());
        const inserted = "/.well-known/oauth-authorization-server/base";
        const get = (where, headers) => navigate(behind, where, { headers });
        const Host = "tools.example.org";
        for (const headers of [
            { Host },
            { Host, "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http", Forwarded: "host=evil.example" },
            { Host, "X-Forwarded-Prefix": "/evil", "X-Original-URL": "/evil" },
        ]) {
            const { status, text } = await get(inserted, headers);
            assert.equal(status, 200, text);
            const metadata = JSON.parse(text);
            assert.equal(metadata.issuer, issuer);
            for (const name of ["authorization", "token", "registration", "revocation"]) {
                assert.equal(new URL(metadata[`${name}_endpoint`]).href.startsWith(`${issuer}/`), true, name);
            }
        }
        assert.equal((await get(inserted, { Host: "evil.example" })).status, 421);
        const resource = await get("/.well-known/oauth-protected-resource/base/mcp", { Host });
        assert.equal(JSON.parse(resource.text).authorization_servers[0], issuer);
        assert.equal((await get("/.well-known/oauth-authorization-server/other", { Host })).status, 404);
    });

    test("AS12, T31: a token for a toolset is valid there only", async (t) => {
        const toolsets = { small: { sources: ["echo"] } };
        const other = await startAccounts({
            config: {
                roles,
                toolsets,
                access: { server: { enabled: true, clients: [{ id: "app", redirect_uris: [redirect_uri] }] } },
            },
        });
        t.after(() => other.stop());
        const { cookie: alice } = await logIn(other, "alice", "s3cret");
        const resource = `${other.url}/mcp/x/small`;
        const { json } = await exchange(other, await allow(other, alice, { ...app, resource }));
        assert.equal((await who(other, json.access_token)).status, 401);
        const answer = await fetch(resource, {
            method: "POST",
            headers: {
                ...bearer(json.access_token),
                "Content-Type": "application/json",
                Accept: "application/json, text/event-stream",
            },
            body: JSON.stringify({
                jsonrpc: "2.0",
                id: 1,
                method: "initialize",
                params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
            }),
        });
        assert.equal(answer.status, 200);
    });

    test("AS19, AS23: the SDK's client registers, logs in and refreshes", async () => {
        const metadata = await client1.discoverAuthorizationServerMetadata(server.url);
        assert.equal(metadata.issuer, server.url);
        const clientInformation = await client1.registerClient(server.url, {
            metadata,
            clientMetadata: { client_name: "sdk", redirect_uris: [redirect_uri], token_endpoint_auth_method: "none" },
        });
        const resource = new URL(`${server.url}/mcp`);
        const { authorizationUrl, codeVerifier } = await client1.startAuthorization(server.url, {
            metadata,
            clientInformation,
            redirectUrl: redirect_uri,
            resource,
        });
        const { url } = await allow(server, cookie, Object.fromEntries(authorizationUrl.searchParams));
        assert.equal(url.searchParams.get("iss"), server.url);
        const tokens = await client1.exchangeAuthorization(server.url, {
            metadata,
            clientInformation,
            authorizationCode: url.searchParams.get("code"),
            codeVerifier,
            redirectUri: redirect_uri,
            resource,
        });
        const fresh = await client1.refreshAuthorization(server.url, {
            metadata,
            clientInformation,
            refreshToken: tokens.refresh_token,
            resource,
        });
        assert.equal(await isGood(server, fresh.access_token), true);
    });
});

test("AS1: without access.server.enabled there is no route and no metadata", async (t) => {
    const server = await startAccounts();
    t.after(() => server.stop());
    for (const where of ["/.well-known/oauth-authorization-server", "/authorize", "/account/grants"]) {
        assert.equal((await fetch(`${server.url}${where}`)).status, 404);
    }
    assert.notEqual((await fetch(`${server.url}/token`, { method: "POST" })).status, 200);
    assert.equal((await fetch(`${server.url}/revoke`, { method: "POST" })).status, 404);
});

test("AS5: a server that others could overhear, or without accounts, does not start", async () => {
    for (const [config, reason] of [
        [{ access: { server: { enabled: true } } }, /needs store\.path/],
        [
            { store: { path: "x.db" }, access: { server: { enabled: true }, login: { enabled: false } } },
            /needs access\.login\.enabled/,
        ],
        [
            { store: { path: "x.db" }, public_url: "http://example.org", access: { server: { enabled: true } } },
            /public_url with https/,
        ],
        [{ store: { path: "x.db" }, listen: "0.0.0.0:0", access: { server: { enabled: true } } }, /needs public_url/],
    ]) {
        const { code, stderr } = await runCauseway(["config", "check", "--config", writeConfig(config)]);
        assert.notEqual(code, 0);
        assert.match(stderr, reason);
    }
});

test("AS16: the ceiling of the server and of a client bound permissions", async (t) => {
    const server = await startServer({
        ceiling: ["reader"],
        clients: [
            { id: "app", redirect_uris: [redirect_uri] },
            { id: "admin", redirect_uris: [redirect_uri], ceiling: ["editor"] },
        ],
    });
    t.after(() => server.stop());
    const { cookie } = await logIn(server, "alice", "s3cret");
    const permissionsOf = async (client_id) => {
        const given = await allow(server, cookie, { client_id, redirect_uri });
        const { json } = await exchange(server, given, { client_id });
        return (await who(server, json.access_token)).json.result.permissions;
    };
    assert.equal((await permissionsOf("app")).includes("administer access"), false);
    assert.equal((await permissionsOf("app")).includes("access content"), true);
    assert.equal((await permissionsOf("admin")).includes("administer access"), true);
});

// A client that acts for alice without her.
function robotOf(name) {
    const secret_file = path.join(keepFolder(), `${name}.secret`);
    writeFileSync(secret_file, `${secret}\n`, { mode: 0o600 });
    return [{ id: "robot", secret_file, account: "alice" }];
}

test("AS32: a client with an account of its own gets tokens without a person", async (t) => {
    const server = await startServer({ clients: robotOf("robot") });
    t.after(() => server.stop());
    const ask = (client_secret) =>
        token(server, { grant_type: "client_credentials", client_id: "robot", client_secret });
    const { status, json } = await ask(secret);
    assert.equal(status, 200);
    assert.equal("refresh_token" in json, false);
    assert.equal((await who(server, json.access_token)).json.result.name, "alice");
    assert.equal((await ask(`${secret}x`)).status, 401);
    await ask(secret);
    assert.equal(JSON.parse(await server.cli("grant", "list", "--json")).length, 1);
});

test("AS30: a further access token of a grant ends the oldest, here at once", async (t) => {
    const server = await startServer({ clients: robotOf("busy-robot"), access_tokens: 2 });
    t.after(() => server.stop());
    const robot = { grant_type: "client_credentials", client_id: "robot", client_secret: secret };
    const all = [];
    for (let i = 0; i < 3; i += 1) {
        all.push((await token(server, robot)).json.access_token);
        assert.ok(await isGood(server, all[i]));
        await pause(2); // those of one millisecond have no order
    }
    await eventually(async () => !(await isGood(server, all[0])), "the end of the first");
    assert.deepEqual([await isGood(server, all[1]), await isGood(server, all[2])], [true, true]);
});

test("AS12, AS32: without a person too, a token is for the resource that was asked for", async (t) => {
    const clients = robotOf("narrow-robot");
    const server = await startAccounts({
        config: {
            roles,
            toolsets: { small: { sources: ["echo"] } },
            access: { server: { enabled: true, token_format: "jwt", clients } },
        },
    });
    t.after(() => server.stop());
    const ask = async (more) => {
        const robot = { client_id: "robot", client_secret: secret };
        const { json } = await token(server, { grant_type: "client_credentials", ...robot, ...more });
        return json.access_token;
    };
    const audienceOf = (jwt) => JSON.parse(Buffer.from(jwt.split(".")[1], "base64url")).aud;
    const resource = `${server.url}/mcp/x/small`;
    const narrow = await ask({ resource });
    assert.equal(audienceOf(narrow), resource);
    assert.equal((await who(server, narrow)).status, 401);
    const there = await fetch(resource, { method: "POST", headers: bearer(narrow) });
    assert.notEqual(there.status, 401);
    const wide = await ask({});
    assert.equal(audienceOf(wide), server.url);
    assert.equal((await who(server, wide)).json.result.name, "alice");
    assert.equal(audienceOf(await ask({ resource })), resource);
    assert.equal((await who(server, narrow)).status, 401);
    assert.equal(JSON.parse(await server.cli("grant", "list", "--json")).length, 2);
});

test("AS28: a person with very many grants sees all of them, and can end each", async (t) => {
    const server = await startServer();
    t.after(() => server.stop());
    const { cookie } = await logIn(server, "alice", "s3cret");
    const { client_id } = await register(server, { client_name: "&".repeat(64), redirect_uris: [redirect_uri] });
    for (let i = 0; i < 200; i++) {
        const { status, text } = await exchange(server, await allow(server, cookie, { ...app, client_id }), {
            client_id,
        });
        assert.equal(status, 200, text);
    }
    const grants = [];
    let where = "/account/grants";
    let page;
    for (; where !== undefined; where = /<a href="([^"]*\?before=\d+)">/.exec(page.text)?.[1]) {
        page = await visit(server, where, { headers: { Cookie: cookie } });
        assert.equal(page.status, 200, page.text);
        grants.push(...[...page.text.matchAll(/name="grant" value="(\d+)"/g)].map(([, id]) => Number(id)));
    }
    assert.equal(new Set(grants).size, 200);
    assert.deepEqual(
        grants,
        grants.toSorted((a, b) => b - a),
    );
    const answer = await visit(server, "/account/grants", {
        method: "POST",
        headers: { ...sameOrigin(server), Cookie: cookie },
        form: { csrf: hiddenField(page.text, "csrf"), grant: grants.at(-1) },
    });
    assert.equal(answer.status, 303, answer.text);
    assert.equal(JSON.parse(await server.cli("grant", "list", "--json")).length, 199);
    for (const before of ["x", "-1", "99999999999999999999999", ""]) {
        const wrong = await visit(server, `/account/grants?before=${before}`, { headers: { Cookie: cookie } });
        assert.equal(hiddenField(wrong.text, "grant"), String(grants[0]));
    }
});

// Of its own: failures of a network beyond a rate become one record a minute.
test("AS29: a client that proves neither itself nor its grant is in the audit", async (t) => {
    const folder = path.join(keepFolder(), "failures");
    mkdirSync(folder);
    const server = await startServer({}, folder);
    t.after(() => server.stop());
    isError(await refresh(server, "cwr_x", { client_id: "stranger", client_secret: "gue55ed" }), 401, "invalid_client");
    isError(await refresh(server, "cwr_x", { client_id: "other" }), 400, "invalid_grant");
    const text = () => readAudit(server.auditFile);
    const failures = () =>
        text()
            .split("\n")
            .filter((line) => line.includes('"door":"oauth"'))
            .map((line) => JSON.parse(line))
            .map(({ kind, caller, outcome, detail, address }) => [kind, caller, outcome, detail, address]);
    await eventually(() => failures().length === 2, "two records");
    assert.deepEqual(failures(), [
        ["login", "stranger", "wrong", "invalid_client", "127.0.0.1"],
        ["login", "other", "wrong", "invalid_grant", "127.0.0.1"],
    ]);
    assert.equal(text().includes("gue55ed"), false);
});
