// Clients and programs of others at the built-in authorization server: oauth4webapi and openid-client, which check
// every answer strictly, mcp-remote, the Inspector and the conformance suite.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { bearer, call, discover, startAccounts } from "./support/accounts.mjs";
import { navigate, openConsent, sendDecision } from "./support/authorize.mjs";
import { freePort } from "./support/ports.mjs";
import { keepFolder } from "./support/kept.mjs";
import { hiddenField, logIn, sameOrigin } from "./support/login.mjs";
import { rpc } from "./support/mcp.mjs";
import { Program, root } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";

// Nothing is visible without a login.
const roles = { anonymous: [], authenticated: [discover, call, "access content"], editor: [] };
const redirect = "http://127.0.0.1:9/callback";
const secret = "a-secret-of-forty-characters-or-so-0123";
const insecure = { [oauth.allowInsecureRequests]: true };

let server;
let browser;
let conformancePort;
before(async () => {
    conformancePort = await freePort();
    const secret_file = path.join(keepFolder(), "robot.secret");
    writeFileSync(secret_file, `${secret}\n`, { mode: 0o600 });
    server = await startAccounts({
        config: {
            roles,
            access: {
                server: {
                    enabled: true,
                    clients: [
                        { id: "robot", secret_file, account: "alice", scopes: ["content:read"] },
                        { id: "tv", device: true },
                        { id: "open", redirect_uris: [`http://127.0.0.1:${conformancePort}/callback`] },
                    ],
                },
            },
        },
    });
    await server.untilLogged(/catalogue published tools=[1-9]/);
    browser = await logIn(server, "alice", "s3cret");
});
after(() => server?.stop());

// A person opens an address of /authorize and allows all: where the browser is sent.
async function allow(opened) {
    const { origin, pathname, searchParams } = new URL(opened);
    assert.equal(`${origin}${pathname}`, `${server.url}/authorize`);
    const page = await openConsent(server, browser, searchParams.toString());
    assert.equal(page.status, 200, page.text);
    const scopes = [...page.text.matchAll(/name="scope" value="([^"]*)"/g)].map(([, scope]) => scope);
    const answer = await sendDecision(server, browser, hiddenField(page.text, "consent"), { scopes });
    assert.equal(answer.status, 303, answer.text);
    return new URL(answer.headers.get("location"));
}
const nameOf = async (token) => {
    const { json } = await rpc(server, { method: "test.caller", id: 1 }, bearer(token));
    return json.result?.name;
};

suite("oauth4webapi 3.8.8", () => {
    const discovered = async () => {
        const issuer = new URL(server.url);
        const answer = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
        return await oauth.processDiscoveryResponse(issuer, answer);
    };
    const registered = async (as, metadata = {}) => {
        const answer = await oauth.dynamicClientRegistrationRequest(
            as,
            { redirect_uris: [redirect], client_name: "strict", token_endpoint_auth_method: "none", ...metadata },
            insecure,
        );
        return await oauth.processDynamicClientRegistrationResponse(answer);
    };
    const begin = async (as, client, more = {}) => {
        const verifier = oauth.generateRandomCodeVerifier();
        const state = oauth.generateRandomState();
        const url = new URL(as.authorization_endpoint);
        const challenge = await oauth.calculatePKCECodeChallenge(verifier);
        const query = { client_id: client.client_id, redirect_uri: redirect, response_type: "code", state, ...more };
        url.search = new URLSearchParams({ ...query, code_challenge: challenge, code_challenge_method: "S256" });
        return { url, verifier, state };
    };
    const finish = async (as, client, authentication, { url, verifier, state }, more = {}) => {
        const params = oauth.validateAuthResponse(as, client, await allow(url), state);
        const options = { ...insecure, additionalParameters: more };
        const answer = await oauth.authorizationCodeGrantRequest(
            as,
            client,
            authentication,
            params,
            redirect,
            verifier,
            options,
        );
        return await oauth.processAuthorizationCodeResponse(as, client, answer);
    };

    test("AS4 AS9 AS10 AS11 AS19 AS23 AS26 discovers, registers, logs in, refreshes and revokes", async () => {
        const as = await discovered();
        assert.equal(as.authorization_response_iss_parameter_supported, true);
        const client = await registered(as);
        const scope = "content:read offline_access";
        const tokens = await finish(as, client, oauth.None(), await begin(as, client, { scope }));
        assert.equal(tokens.scope, "content:read");
        assert.equal(await nameOf(tokens.access_token), "alice");
        const answer = await oauth.refreshTokenGrantRequest(as, client, oauth.None(), tokens.refresh_token, insecure);
        const fresh = await oauth.processRefreshTokenResponse(as, client, answer);
        assert.notEqual(fresh.refresh_token, tokens.refresh_token);
        const revoked = await oauth.revocationRequest(as, client, oauth.None(), fresh.refresh_token, insecure);
        await oauth.processRevocationResponse(revoked);
        assert.equal(await nameOf(fresh.access_token), undefined);
    });

    test("AS20 AS21 T22 T24 a registration with a secret works by Basic and in the form, and not without", async () => {
        const as = await discovered();
        for (const token_endpoint_auth_method of [undefined, "client_secret_post", "client_secret_basic"]) {
            const client = await registered(as, { token_endpoint_auth_method });
            assert.match(client.client_secret, /^[\w-]+$/);
            for (const method of [oauth.ClientSecretBasic, oauth.ClientSecretPost]) {
                const tokens = await finish(as, client, method(client.client_secret), await begin(as, client));
                assert.equal(await nameOf(tokens.access_token), "alice");
            }
            await assert.rejects(finish(as, client, oauth.None(), await begin(as, client)), {
                error: "invalid_client",
            });
        }
    });

    test("AS12 AS22 T26 errors have the codes of the standards, and leave the refresh token good", async () => {
        const as = await discovered();
        const client = await registered(as);
        const resource = `${server.url}/mcp`;
        const started = await begin(as, client, { resource });
        const tokens = await finish(as, client, oauth.None(), started, { resource });
        const refreshed = async (token, additionalParameters = {}, by = client) => {
            const options = { ...insecure, additionalParameters };
            const answer = await oauth.refreshTokenGrantRequest(as, by, oauth.None(), token, options);
            return await oauth.processRefreshTokenResponse(as, by, answer);
        };
        const other = await registered(as, { client_name: "another" });
        const { refresh_token } = tokens;
        await assert.rejects(refreshed(refresh_token, {}, other), { error: "invalid_grant" });
        await assert.rejects(refreshed(refresh_token, { scope: "content:write" }), { error: "invalid_scope" });
        await assert.rejects(refreshed(refresh_token, { resource: "https://a.example/" }), { error: "invalid_target" });
        await assert.rejects(refreshed("cwr_x"), { error: "invalid_grant" });
        assert.ok((await refreshed(refresh_token, { resource })).access_token);
        const unknown = { client_id: "nobody" };
        await assert.rejects(refreshed(refresh_token, {}, unknown), { error: "invalid_client" });
    });

    test("AS32 a client with an account of its own gets tokens", async () => {
        const as = await discovered();
        assert.ok(as.grant_types_supported.includes("client_credentials"));
        const client = { client_id: "robot" };
        for (const method of [oauth.ClientSecretBasic(secret), oauth.ClientSecretPost(secret)]) {
            const answer = await oauth.clientCredentialsGrantRequest(as, client, method, {}, insecure);
            const tokens = await oauth.processClientCredentialsResponse(as, client, answer);
            assert.equal(tokens.refresh_token, undefined);
            assert.equal(await nameOf(tokens.access_token), "alice");
        }
    });
});

test("AS4 AS10 AS11 AS23 AS26 openid-client 6.8.9 discovers, logs in, refreshes and revokes", async () => {
    const execute = [openid.allowInsecureRequests];
    const timeout = 600; // seconds; a machine may stand still for longer than the default
    const issuer = new URL(server.url);
    const metadata = { redirect_uris: [redirect], client_name: "openid-client" };
    const config = await openid.dynamicClientRegistration(issuer, metadata, undefined, {
        algorithm: "oauth2",
        execute,
        timeout,
    });
    const verifier = openid.randomPKCECodeVerifier();
    const state = openid.randomState();
    const url = openid.buildAuthorizationUrl(config, {
        redirect_uri: redirect,
        scope: "content:read",
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
    });
    const checks = { pkceCodeVerifier: verifier, expectedState: state };
    const tokens = await openid.authorizationCodeGrant(config, await allow(url), checks);
    assert.equal(await nameOf(tokens.access_token), "alice");
    const fresh = await openid.refreshTokenGrant(config, tokens.refresh_token);
    assert.equal(await nameOf(fresh.access_token), "alice");
    await openid.tokenRevocation(config, fresh.access_token);
    assert.equal(await nameOf(fresh.access_token), undefined);
    const robot = await openid.discovery(issuer, "robot", secret, undefined, { algorithm: "oauth2", execute, timeout });
    assert.equal(await nameOf((await openid.clientCredentialsGrant(robot)).access_token), "alice");
});

// ---- programs ----

// What they would open a page with: the test reads its address instead.
const noBrowser = { BROWSER: "/bin/true", PATH: "/nonexistent", DISPLAY: undefined };

// The address that a program asks a person to open.
async function openedBy(program, seen = 0) {
    const found = () =>
        [...`${program.stdout}${program.stderr}`.matchAll(/https?:\/\/[^\s"']+\/authorize\?[^\s"'\u0007\u001b]+/g)].map(
            ([url]) => url,
        );
    await program.until(() => found().length > seen, "an address to open", 60_000);
    return found().at(-1);
}

// A person opens it, and the browser goes where it is sent, on a connection of its own. The program may open its port
// late.
async function visit(url) {
    const location = await allow(url);
    const go = () =>
        new Promise((resolve) => {
            const request = http.get(location, { agent: false }, (answer) => {
                answer.resume().on("end", () => resolve(answer.statusCode));
            });
            request.on("error", (error) => resolve(error.code === "ECONNREFUSED" ? undefined : error.code));
        });
    assert.equal(await eventually(go, "a program that listens", 20_000), 200);
}

suite("mcp-remote 0.15.1", () => {
    const file = path.join(root, "node_modules/mcp-remote/dist/proxy.js");
    // A local server for a client that knows only standard input.
    function start(name, ...args) {
        const home = path.join(keepFolder(), name);
        mkdirSync(home, { recursive: true });
        const env = { HOME: home, MCP_REMOTE_CONFIG_DIR: home, ...noBrowser };
        const all = [file, `${server.url}/mcp`, "--transport", "http-only", "--auth-timeout", "600", ...args];
        const program = new Program(process.execPath, all, { name: "mcp-remote", env });
        const send = (message) => program.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
        program.ask = async (id, method, params = {}) => {
            send({ id, method, params });
            const lines = () =>
                program.stdout
                    .split("\n")
                    .slice(0, -1)
                    .map((line) => JSON.parse(line));
            await program.until(() => lines().some((line) => line.id === id), `an answer to ${method}`, 60_000);
            return lines().find((line) => line.id === id);
        };
        program.initialize = async () => {
            const clientInfo = { name: "causeway-tests", version: "1.0.0" };
            const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
            const { result } = await program.ask(0, "initialize", params);
            assert.ok(result.serverInfo);
            send({ method: "notifications/initialized" });
        };
        program.end = async () => {
            program.child.kill("SIGTERM");
            await program.exited;
        };
        return program;
    }
    const assertTools = async (program, id) => {
        const { result } = await program.ask(id, "tools/list");
        assert.ok(result.tools.length > 0);
    };

    test("AS7 AS19 AS23 registers, logs a person in, and refreshes what it has stored in a second start", async () => {
        const first = start("stored");
        const initialized = first.initialize();
        await visit(await openedBy(first));
        await initialized;
        await assertTools(first, 1);
        await first.end();
        // The tokens that it has stored are good; as if the access token had expired, it must be refreshed.
        const kept = path.join(keepFolder(), "stored");
        const files = readdirSync(kept, { recursive: true }).filter((name) => name.endsWith("_tokens.json"));
        assert.equal(files.length, 1, files.join());
        const where = path.join(kept, files[0]);
        const tokens = JSON.parse(readFileSync(where, "utf8"));
        writeFileSync(where, JSON.stringify({ ...tokens, access_token: `cwa_${"A".repeat(43)}`, expires_in: -1 }));
        const second = start("stored");
        await second.initialize();
        await assertTools(second, 1);
        assert.doesNotMatch(second.stderr, /authorize this client/);
        await second.end();
        const fresh = JSON.parse(readFileSync(where, "utf8"));
        assert.notEqual(fresh.refresh_token, tokens.refresh_token);
    });

    test("AS31 shows a code without a browser, and goes on when a person has entered it elsewhere", async () => {
        const program = start("tv", "--device-code", "--static-oauth-client-info", JSON.stringify({ client_id: "tv" }));
        const initialized = program.initialize();
        const shown = /enter the code:\s*([A-Z]{4}-[A-Z]{4})/;
        await program.until(() => shown.test(program.stderr), "a code", 60_000);
        const own = { Cookie: browser.cookie };
        const send = (form) =>
            navigate(server, "/device", { method: "POST", headers: { ...sameOrigin(server), ...own }, form });
        const form = await navigate(server, "/device", { headers: own });
        const [, user_code] = shown.exec(program.stderr);
        const page = await send({ csrf: hiddenField(form.text, "csrf"), user_code });
        assert.equal(page.status, 200, page.text);
        const end = await send({ consent: hiddenField(page.text, "consent"), decision: "allow" });
        assert.match(end.text, /The device is logged in/);
        await initialized;
        await assertTools(program, 1);
        await program.end();
    });

    test("AS32 logs in as a client with an account of its own", async () => {
        const info = JSON.stringify({ client_id: "robot", client_secret: secret });
        const program = start("robot", "--client-credentials", "--static-oauth-client-info", info);
        await program.initialize();
        await assertTools(program, 1);
        await program.end();
    });
});

test("AS7 AS19 AS23 the Inspector 2.12.0 logs a person in, and uses what it has stored", async () => {
    const launcher = path.join(root, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    const home = path.join(keepFolder(), "inspector");
    mkdirSync(home, { recursive: true });
    const env = { HOME: home, MCP_AUTO_OPEN_ENABLED: "true", MCP_INSPECTOR_SECRET_STORE: "file", ...noBrowser };
    const callback = `http://127.0.0.1:${await freePort()}/oauth/callback`;
    const inspect = (...more) => {
        const fixed = [launcher, "--cli", `${server.url}/mcp`, "--transport", "http", "--callback-url", callback];
        const args = [...fixed, "--connect-timeout", "0", "--method", "tools/list", ...more];
        return new Program(process.execPath, args, { name: "inspector", env });
    };
    const first = inspect();
    await visit(await openedBy(first));
    assert.equal((await first.exited).code, 0, first.stderr);
    assert.match(first.stdout, /"tools"/);
    const second = inspect("--stored-auth-only");
    assert.equal((await second.exited).code, 0, second.stderr);
    assert.match(second.stdout, /"tools"/);
});

// With a secret the suite cannot be used: it prefers "none" wherever a server offers that, also for a client that has a
// secret.
test("AS2 AS4 AS10 AS11 the conformance suite's scenarios for authorization servers pass", async () => {
    const file = path.join(root, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
    const out = path.join(keepFolder(), "conformance");
    const about = ["--url", server.url, "--client-id", "open", "--port", String(conformancePort)];
    const args = [file, "authorization", ...about, "--resource", `${server.url}/mcp`, "-o", out];
    const program = new Program(process.execPath, args, { name: "conformance" });
    await visit(await openedBy(program));
    const { code } = await program.exited;
    const scenarios = readdirSync(out);
    const checks = scenarios.flatMap((folder) =>
        JSON.parse(readFileSync(path.join(out, folder, "checks.json"), "utf8")),
    );
    const told = checks.map(({ id, status, errorMessage }) => `${id} ${status} ${errorMessage ?? ""}`.trim());
    assert.equal(code, 0, told.join("\n"));
    assert.equal(scenarios.length, 2);
    assert.deepEqual(told.sort(), [
        "authorization-code-grant SUCCESS",
        "authorization-server-metadata SUCCESS",
        "authorization-server-metadata-cimd SUCCESS",
    ]);
});
