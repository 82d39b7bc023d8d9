// The built-in authorization server as operators see it: decisions explained, and changes while it runs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { decodeJwt } from "jose";
import { bearer, call, discover, startAccounts } from "./support/accounts.mjs";
import { navigate } from "./support/authorize.mjs";
import { keepFolder } from "./support/kept.mjs";
import { logIn } from "./support/login.mjs";
import { rpc } from "./support/mcp.mjs";
import { allow, token } from "./support/oauth-server.mjs";
import { runCauseway } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";

const redirect_uri = "http://127.0.0.1:9/callback";
const roles = {
    anonymous: [discover, call],
    authenticated: [discover, call],
    editor: ["access content"],
    reader: ["access content"],
};
const clients = [
    { id: "app", redirect_uris: [redirect_uri] },
    { id: "reader-app", redirect_uris: [redirect_uri], ceiling: ["reader"] },
];

async function tokenFile(server, cookie, client_id) {
    const given = await allow(server, cookie, { client_id, redirect_uri });
    const fields = { grant_type: "authorization_code", code: given.code, code_verifier: given.verifier };
    const { json } = await token(server, { ...fields, client_id, redirect_uri });
    const file = path.join(keepFolder(), `${client_id}.token`);
    writeFileSync(file, `${json.access_token}\n`, { mode: 0o600 });
    return file;
}

for (const token_format of ["opaque", "jwt"]) {
    test(`AS16, AS45: why names the grant, the client and the ceiling of an access token (${token_format})`, async (t) => {
        const server = await startAccounts({
            config: { roles, access: { server: { enabled: true, clients, token_format } } },
        });
        t.after(() => server.stop());
        const { cookie } = await logIn(server, "alice", "s3cret");
        const why = async (client, ...more) => {
            const file = await tokenFile(server, cookie, client);
            return await runCauseway(["why", "test.caller", "--token-file", file, "--config", server.config, ...more]);
        };
        const first = await why("app");
        assert.match(
            first.stdout,
            /^grant \d+ of the client app \(registered\) for \/mcp; ceiling: all but administration$/m,
        );
        const second = await why("reader-app");
        assert.match(second.stdout, /^grant \d+ of the client reader-app \(registered\) for \/mcp; ceiling: reader$/m);
        const { grant } = JSON.parse((await why("reader-app", "--json")).stdout);
        assert.deepEqual([grant.client, grant.kind, grant.ceiling], ["reader-app", "registered", ["reader"]]);
        const [{ id }] = JSON.parse(await server.cli("grant", "list", "--json"));
        assert.equal(grant.id, id);
    });
}

test("AS1: a reload turns the server off and on, without a restart", async (t) => {
    const server = await startAccounts({ config: { roles, access: { server: { enabled: true, clients } } } });
    t.after(() => server.stop());
    const turn = async (enabled) => {
        const config = JSON.parse(readFileSync(server.config, "utf8"));
        config.access.server.enabled = enabled;
        writeFileSync(server.config, JSON.stringify(config));
        await server.cli("reload");
    };
    const statusOf = async (where, method = "GET") => (await fetch(`${server.url}${where}`, { method })).status;
    const metadata = "/.well-known/oauth-authorization-server";
    const everything = async (expected) => {
        for (const where of [metadata, "/jwks", "/account/grants", "/authorize", "/device"]) {
            if ((await statusOf(where)) !== expected) return false;
        }
        return (await statusOf("/token", "POST")) === expected && (await statusOf("/register", "POST")) === expected;
    };
    assert.equal(await statusOf(metadata), 200);
    const { cookie } = await logIn(server, "alice", "s3cret");
    const given = await allow(server, cookie, { client_id: "app", redirect_uri });
    const fields = { grant_type: "authorization_code", code: given.code, code_verifier: given.verifier };
    const { status, json } = await token(server, { ...fields, client_id: "app", redirect_uri });
    assert.equal(status, 200);
    const caller = async () => (await rpc(server, { method: "test.caller", id: 1 }, bearer(json.access_token))).status;
    assert.equal(await caller(), 200);
    await turn(false);
    await eventually(async () => await everything(404), "the server is off");
    await eventually(async () => (await caller()) === 401, "the token is not good");
    await turn(true);
    await eventually(async () => (await caller()) === 200, "the token is good again");
});

test("AS22: errors before the endpoint have its form too", async (t) => {
    const server = await startAccounts({
        config: { roles, limits: { body_size: "4KB" }, access: { server: { enabled: true, clients } } },
    });
    t.after(() => server.stop());
    for (const where of ["/token", "/revoke", "/register", "/device_authorization"]) {
        const large = await fetch(`${server.url}${where}`, {
            method: "POST",
            headers: { "Content-Type": "application/x-www-form-urlencoded" },
            body: "x".repeat(8192),
        });
        assert.equal(large.status, 413);
        assert.equal((await large.json()).error, "invalid_request");
        const wrong = await fetch(`${server.url}${where}`, { method: "PUT" });
        assert.equal(wrong.status, 405);
        assert.equal((await wrong.json()).error, "invalid_request");
    }
});

test("AS12, T34: behind a proxy everything has the address of public_url", async (t) => {
    const public_url = "https://tools.example.org/base";
    const secret_file = path.join(keepFolder(), "robot.secret");
    writeFileSync(secret_file, "a-secret-of-forty-characters-or-so-0123\n", { mode: 0o600 });
    const all = [...clients, { id: "robot", secret_file, account: "alice" }];
    const server = await startAccounts({
        config: {
            roles,
            public_url,
            hosts: ["127.0.0.1", "tools.example.org"],
            access: { server: { enabled: true, token_format: "jwt", clients: all } },
        },
    });
    t.after(() => server.stop());
    const forged = { Host: "tools.example.org", "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http" };
    for (const headers of [{}, forged]) {
        const answer = await navigate(server, "/.well-known/oauth-authorization-server/base", { headers });
        assert.equal(answer.status, 200, answer.text);
        const json = JSON.parse(answer.text);
        assert.equal(json.issuer, public_url);
        assert.equal(json.token_endpoint, `${public_url}/token`);
        assert.equal(json.jwks_uri, `${public_url}/jwks`);
    }
    assert.equal((await navigate(server, "/jwks", { headers: { Host: "evil.example" } })).status, 421);
    const robot = { grant_type: "client_credentials", client_id: "robot" };
    const client_secret = "a-secret-of-forty-characters-or-so-0123";
    const good = await token(server, { ...robot, client_secret, resource: `${public_url}/mcp` });
    assert.equal(good.status, 200, good.text);
    assert.equal(decodeJwt(good.json.access_token).iss, public_url);
    const other = await token(server, { ...robot, client_secret, resource: `${server.url}/mcp` });
    assert.equal(other.json.error, "invalid_target");
});

test("AS25: a clock that is behind the newest grant is reported at the start", async (t) => {
    const store = { path: path.join(keepFolder(), "clock.db") };
    const config = { roles, store, access: { server: { enabled: true, clients } } };
    const first = await startAccounts({ config });
    const { cookie } = await logIn(first, "alice", "s3cret");
    await tokenFile(first, cookie, "app");
    await first.stop();
    const later = Date.now() + 3_600_000;
    execFileSync("sqlite3", [store.path, `UPDATE oauth_grant SET created = ${later}`]);
    const second = await startAccounts({ config, accounts: false });
    t.after(() => second.stop());
    await eventually(() => /clock is behind the newest grant/.test(second.stderr), "the warning");
});
