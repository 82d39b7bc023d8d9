// Clients that authenticate with a JWT that they sign (private_key_jwt).
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { auth } from "@modelcontextprotocol/sdk/client/auth.js";
import { PrivateKeyJwtProvider } from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import { exportJWK, exportPKCS8, generateKeyPair, SignJWT } from "jose";
import { bearer, call, discover, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { logIn } from "./support/login.mjs";
import { rpc } from "./support/mcp.mjs";
import { allow, send, token } from "./support/oauth-server.mjs";
import { replicaCount, runCauseway, writeConfig } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";

const redirect_uri = "http://127.0.0.1:9/callback";
const roles = { anonymous: [discover, call], authenticated: [discover, call], editor: ["access content"] };
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

async function makeKey(alg, kid) {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } };
}

// An assertion of a client; `claims` and `header` replace what is right.
async function sign(key, client, aud, claims = {}, header = {}) {
    const now = Math.floor(Date.now() / 1000);
    const right = { iss: client, sub: client, aud, exp: now + 60, iat: now, jti: randomUUID() };
    const all = Object.entries({ ...right, ...claims }).filter(([, value]) => value !== undefined);
    return new SignJWT(Object.fromEntries(all))
        .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
        .sign(key.privateKey);
}

const proof = (client_assertion) => ({ client_assertion_type: assertionType, client_assertion });

function isError({ status, json, headers }, expected, error) {
    assert.deepEqual([status, json.error], [expected, error]);
    assert.equal(headers.get("cache-control"), "no-store");
    assert.match(json.error_description, /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
}

suite("clients with keys", () => {
    let server;
    let cookie;
    let ec;
    let rsa;
    let stranger;
    before(async () => {
        [ec, rsa, stranger] = [await makeKey("ES256", "1"), await makeKey("RS256", "2"), await makeKey("ES256", "1")];
        const jwks_file = path.join(keepFolder(), "web.jwks");
        writeFileSync(jwks_file, JSON.stringify({ keys: [rsa.jwk] }));
        server = await startAccounts({
            config: {
                roles,
                access: {
                    server: {
                        enabled: true,
                        clients: [
                            { id: "robot", jwks: { keys: [ec.jwk, rsa.jwk] }, account: "alice" },
                            {
                                id: "old-robot",
                                jwks: { keys: [ec.jwk] },
                                account: "alice",
                                assertion_audience: "token_endpoint",
                            },
                            { id: "web", jwks_file, redirect_uris: [redirect_uri] },
                            { id: "app", redirect_uris: [redirect_uri] },
                        ],
                    },
                },
            },
        });
        await server.untilLogged(/catalogue published tools=[1-9]/);
        ({ cookie } = await logIn(server, "alice", "s3cret"));
    });
    after(() => server?.stop());

    const askRobot = (assertion, more = {}) =>
        token(server, { grant_type: "client_credentials", ...proof(assertion), ...more });
    const nameOf = async (accessToken) =>
        (await rpc(server, { method: "test.caller", id: 1 }, bearer(accessToken))).json.result?.name;

    test("AS4, AS33: the metadata names the method and its algorithms", async () => {
        const answer = await fetch(`${server.url}/.well-known/oauth-authorization-server`);
        const json = await answer.json();
        assert.ok(json.token_endpoint_auth_methods_supported.includes("private_key_jwt"));
        assert.deepEqual(json.token_endpoint_auth_signing_alg_values_supported, [
            "ES256",
            "ES384",
            "RS256",
            "PS256",
            "EdDSA",
        ]);
        assert.ok(json.grant_types_supported.includes("client_credentials"));
    });

    test("AS32, AS33: a client gets a token with each of its keys, with and without client_id", async () => {
        for (const [key, more] of [
            [ec, {}],
            [rsa, { client_id: "robot" }],
        ]) {
            const { status, json, text } = await askRobot(await sign(key, "robot", server.url), more);
            assert.equal(status, 200, text);
            assert.equal(await nameOf(json.access_token), "alice");
            assert.equal("refresh_token" in json, false);
        }
    });

    test("AS33: an assertion works once", async () => {
        const assertion = await sign(ec, "robot", server.url);
        const answers = await Promise.all(Array.from({ length: 10 }, () => askRobot(assertion)));
        assert.equal(answers.filter(({ status }) => status === 200).length, 1);
        isError(await askRobot(assertion), 401, "invalid_client");
        const fresh = await askRobot(await sign(ec, "robot", server.url));
        assert.equal(fresh.status, 200);
    });

    test("AS33: twenty assertions with one thing wrong get nothing", async () => {
        const now = Math.floor(Date.now() / 1000);
        const url = server.url;
        const cases = [
            [{ iss: "other" }],
            [{ iss: undefined }],
            [{ sub: "other" }],
            [{ sub: undefined }],
            [{ aud: "https://example.org" }],
            [{ aud: undefined }],
            [{ aud: `${url}/` }],
            [{ aud: `${url}/token` }],
            [{ aud: [url, "https://example.org"] }],
            [{ aud: [] }],
            [{ exp: undefined }],
            [{ exp: now - 61 }],
            [{ exp: now + 3600 }],
            [{ exp: "soon" }],
            [{ nbf: now + 3600 }],
            [{ iat: now + 3600 }],
            [{ jti: undefined }],
            [{ jti: "x".repeat(257) }],
            [{}, { typ: "at+jwt" }],
            [{}, { kid: "3" }],
        ];
        for (const [claims, header] of cases) {
            const answer = await askRobot(await sign(ec, "robot", url, claims, header), { client_id: "robot" });
            assert.equal(answer.json.error, "invalid_client", JSON.stringify([claims, header, answer.json]));
        }
        const forged = await askRobot(await sign(stranger, "robot", url), { client_id: "robot" });
        isError(forged, 401, "invalid_client");
    });

    test("AS33: the audience of a client can be the token endpoint instead", async () => {
        const endpoint = await sign(ec, "old-robot", `${server.url}/token`);
        assert.equal((await askRobot(endpoint)).status, 200);
        isError(await askRobot(await sign(ec, "old-robot", server.url)), 401, "invalid_client");
    });

    test("AS21, AS33: a client authenticates once, and as it is registered", async () => {
        const assertion = await sign(rsa, "web", server.url);
        isError(await askRobot(assertion, { client_secret: "x" }), 400, "invalid_request");
        const basic = { Authorization: `Basic ${Buffer.from("web:x").toString("base64")}` };
        isError(
            await token(server, { grant_type: "client_credentials", ...proof(assertion) }, basic),
            400,
            "invalid_request",
        );
        isError(
            await token(server, { grant_type: "client_credentials", client_assertion: assertion }),
            400,
            "invalid_request",
        );
        const fields = { grant_type: "refresh_token", refresh_token: "x" };
        isError(await token(server, { ...fields, client_id: "web" }), 401, "invalid_client");
        isError(await token(server, { ...fields, client_id: "web", client_secret: "x" }), 401, "invalid_client");
        const asApp = proof(await sign(rsa, "app", server.url));
        isError(await token(server, { ...fields, ...asApp }), 401, "invalid_client");
        isError(await askRobot(await sign(rsa, "web", server.url)), 400, "unauthorized_client");
    });

    test("AS10, AS23, AS26, AS33: a code, a refresh token and a revocation need an assertion each", async () => {
        const given = await allow(server, cookie, { client_id: "web", redirect_uri });
        const fields = {
            grant_type: "authorization_code",
            code: given.code,
            code_verifier: given.verifier,
            redirect_uri,
        };
        isError(await token(server, { ...fields, client_id: "web" }), 401, "invalid_client");
        const fresh = async () => proof(await sign(rsa, "web", server.url));
        const first = await token(server, { ...fields, ...(await fresh()) });
        assert.equal(first.status, 200, first.text);
        const { refresh_token } = first.json;
        isError(
            await token(server, { grant_type: "refresh_token", refresh_token, client_id: "web" }),
            401,
            "invalid_client",
        );
        const second = await token(server, { grant_type: "refresh_token", refresh_token, ...(await fresh()) });
        assert.equal(second.status, 200, second.text);
        assert.equal(await nameOf(second.json.access_token), "alice");
        const end = { token: second.json.refresh_token };
        isError(await send(server, "/revoke", { ...end, client_id: "web" }), 401, "invalid_client");
        assert.equal((await send(server, "/revoke", { ...end, ...(await fresh()) })).status, 200);
        const isGone = async () => (await nameOf(second.json.access_token)) === undefined;
        assert.ok(replicaCount > 1 ? await eventually(isGone, "the end everywhere", 1_000) : await isGone());
    });

    test("AS32, AS33: the SDK's provider logs a program in", async () => {
        const provider = new PrivateKeyJwtProvider({
            clientId: "robot",
            privateKey: await exportPKCS8(ec.privateKey),
            algorithm: "ES256",
            expectedIssuer: server.url,
        });
        assert.equal(await auth(provider, { serverUrl: `${server.url}/mcp` }), "AUTHORIZED");
        assert.equal(await nameOf(provider.tokens().access_token), "alice");
    });
});

test("AS33: keys that cannot be used are mistakes of the configuration", async () => {
    const { privateKey, jwk } = await makeKey("ES256", "1");
    const secret = await exportJWK(privateKey);
    for (const [client, reason] of [
        [{ jwks: { keys: [jwk] }, secret_file: "x" }, /one of secret_file, jwks and jwks_file/],
        [{ jwks: { keys: [jwk] }, jwks_file: "x" }, /one of secret_file, jwks and jwks_file/],
        [{ account: "alice" }, /account needs secret_file, jwks or jwks_file/],
        [{ id: "https://example.org/client.json", jwks: { keys: [jwk] } }, /no secret and no keys/],
    ]) {
        const clients = [{ id: "app", redirect_uris: [redirect_uri], ...client }];
        const config = writeConfig({ store: { path: "x.db" }, access: { server: { enabled: true, clients } } });
        const { code, stderr } = await runCauseway(["config", "check", "--config", config]);
        assert.notEqual(code, 0);
        assert.match(stderr, reason);
    }
    for (const [keys, reason] of [
        [[], /the set is empty/],
        [[secret], /keys of client 'app': none can be used/],
    ]) {
        const clients = [{ id: "app", redirect_uris: [redirect_uri], jwks: { keys } }];
        const store = { path: path.join(keepFolder(), "keys.db") };
        const config = writeConfig({ listen: "127.0.0.1:0", store, access: { server: { enabled: true, clients } } });
        const { code, stderr } = await runCauseway(["serve", "--config", config]);
        assert.notEqual(code, 0);
        assert.match(stderr, reason);
    }
});
