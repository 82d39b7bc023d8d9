// Bearer tokens of other issuers, against a real authorization server (npm's oidc-provider) and
// against one that says whatever a test wants.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { exportSPKI, SignJWT } from "jose";
import { basic, bearer, call, cli, databasePath, discover } from "./support/accounts.mjs";
import { base64url, close, foreign, secret, startForger, startProvider } from "./support/issuer.mjs";
import { freePort } from "./support/ports.mjs";
import { keepFolder } from "./support/kept.mjs";
import { callTool, modern, rpc, startBridge, untilSources } from "./support/mcp.mjs";
import { writeConfig } from "./support/programs.mjs";
import { get, invoke, send } from "./support/rest.mjs";
import { eventually, pause } from "./support/server.mjs";

const secretFile = path.join(keepFolder(), "client-secret");
writeFileSync(secretFile, `${secret}\n`, { mode: 0o600 });

const roles = {
    anonymous: [discover, call, "access content"],
    authenticated: [discover, call],
    editor: ["access content"],
};

// A causeway whose public address is its real one.
async function startResource(issuersOf, { config = {}, roles: more = roles } = {}) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const issuers = await issuersOf(url);
    const server = await startBridge({
        roles: more,
        args: ["--listen", `127.0.0.1:${port}`],
        config: {
            public_url: url,
            log: { level: "debug" },
            ...config,
            access: { issuers, ...config.access },
        },
    });
    // Lists and scopes do not wait for a plugin that loads.
    await untilSources(server, 1);
    return server;
}

const issuerOf = (issuer, more = {}) => ({
    issuer: issuer.url,
    allow_private: true,
    scopes: { "content:read": ["access content"] },
    ...more,
});

const caller = async (server, token) => {
    const { status, json, text } = await rpc(server, { method: "test.caller", id: 1 }, bearer(token));
    assert.equal(status, 200, text);
    return json.result;
};

// What every door says to these headers about the scoped tool.
const doors = {
    list: (server, headers) => get(server, "/mcp/tools/list", headers),
    invoke: (server, headers) => invoke(server, "test.scoped", {}, headers),
    tool: (server, headers) =>
        send(server, "POST", "/mcp/tools/test.scoped", {
            headers: { "Content-Type": "application/json", ...headers },
            body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "test.scoped" }),
        }),
    jsonrpc: (server, headers) => rpc(server, { method: "test.scoped", id: 1 }, headers),
    mcp: (server, headers) => callTool(server, "test.scoped", {}, { headers }),
};
// On /mcp an unknown tool is 200 as well, and a list may lack it.
function assertWorks(door, { status, text }) {
    assert.equal(status, 200, `${door}: ${text}`);
    assert.match(text, door === "list" ? /"test\.scoped"/ : /in scope/, door);
}

const challengeOf = ({ headers }) =>
    headers instanceof Headers ? headers.get("www-authenticate") : headers["www-authenticate"];

// All of an answer but its date.
function wholeOf({ status, headers, text }) {
    const all = headers instanceof Headers ? Object.fromEntries(headers) : { ...headers };
    delete all.date;
    delete all["x-request-id"];
    const { "www-authenticate": challenge, ...others } = all;
    return [status, challenge, JSON.stringify(others), text].join("\n");
}

for (const alg of ["RS256", "ES256", "EdDSA"]) {
    test(`a token of client credentials, signed with ${alg}, works on every door`, async () => {
        let issuer;
        const server = await startResource(async (url) => {
            issuer = await startProvider({ resource: `${url}/mcp`, alg });
            return [issuerOf(issuer)];
        });
        const token = await issuer.token();
        for (const [name, ask] of Object.entries(doors)) {
            assertWorks(name, await ask(server, bearer(token)));
        }
        const who = await caller(server, token);
        assert.equal(who.name, "machine");
        assert.equal(who.id, `${issuer.url}#machine`);
        await server.stop();
        await close(issuer.server);
    });
}

suite("with oidc-provider", () => {
    let issuer;
    let server;
    before(async () => {
        server = await startResource(async (url) => {
            issuer = await startProvider({ resource: `${url}/mcp` });
            return [issuerOf(issuer)];
        });
    });
    after(async () => {
        await server?.stop();
        await close(issuer.server);
    });

    test("a person logs in with a code and PKCE", async () => {
        const tokens = await issuer.login({ name: "alice", scope: "openid content:read" });
        const who = await caller(server, tokens.access_token);
        assert.equal(who.name, "alice");
        // The ID token of the same login is no access token.
        const refused = await rpc(server, { method: "test.caller", id: 1 }, bearer(tokens.id_token));
        assert.equal(refused.status, 401);
    });

    test("threat-C5, fault-B7: a token for another audience is refused", async () => {
        const token = await issuer.token({ to: foreign });
        const answer = await rpc(server, { method: "test.caller", id: 1 }, bearer(token));
        assert.equal(answer.status, 401);
    });

    test("check-81: a token without one of two scopes is told which, on REST and on MCP", async () => {
        const token = await issuer.token({ scope: "content:read" });
        const rest = await doors.tool(server, bearer(token));
        assert.equal(rest.status, 403);
        assert.equal(
            challengeOf(rest),
            'Bearer realm="MCP Tools", error="insufficient_scope", ' +
                `resource_metadata="${server.url}/.well-known/oauth-protected-resource", ` +
                'scope="content:write"',
        );
        const mcp = await doors.mcp(server, bearer(token));
        assert.equal(mcp.status, 403);
        assert.equal(
            challengeOf(mcp),
            'Bearer realm="MCP Tools", error="insufficient_scope", ' +
                `resource_metadata="${server.url}/.well-known/oauth-protected-resource/mcp", ` +
                'scope="content:read content:write"',
        );
    });

    test("keys that are replaced while the server runs are found, and the old ones forgotten", async () => {
        const old = await issuer.token();
        assert.equal((await caller(server, old)).name, "machine");
        await issuer.rotate();
        const fresh = await issuer.token();
        assert.equal((await caller(server, fresh)).name, "machine");
        const refused = await rpc(server, { method: "test.caller", id: 1 }, bearer(old));
        assert.equal(refused.status, 401);
    });
});

suite("opaque tokens", () => {
    let issuer;
    let server;
    before(async () => {
        server = await startResource(async (url) => {
            issuer = await startProvider({ resource: `${url}/mcp`, format: "opaque" });
            return [issuerOf(issuer, { client_id: "causeway", client_secret_file: secretFile })];
        });
    });
    after(async () => {
        await server?.stop();
        await close(issuer.server);
    });

    test("are good when the issuer says so, and asked about once", async () => {
        const token = await issuer.token();
        assert.ok(!token.includes("."), token);
        const asked = () => issuer.seen.filter((url) => url === "/token/introspection").length;
        const before = asked();
        assert.equal((await caller(server, token)).name, "machine");
        for (let i = 0; i < 5; i++) {
            await caller(server, token);
        }
        assert.ok(asked() - before <= 4, `${asked() - before} introspections`); // one per loop
        assertWorks("mcp", await doors.mcp(server, bearer(token)));
    });

    test("that are revoked, for others or made up are refused", async () => {
        const token = await issuer.token();
        await issuer.post("/token/revocation", { token });
        const bad = [
            token,
            await issuer.token({ to: foreign }),
            "made-up-token",
            "e30.e30.e30",
            `cw_${"A".repeat(43)}`,
        ];
        const answers = new Set();
        for (const one of bad) {
            answers.add(wholeOf(await rpc(server, { method: "test.caller", id: 1 }, bearer(one))));
        }
        assert.equal(answers.size, 1, [...answers].join("\n\n"));
        assert.match([...answers][0], /^401\nBearer realm="MCP Tools", error="invalid_token", /);
    });

    test("are answered with 503 while the issuer is down", async () => {
        const token = await issuer.token();
        await close(issuer.server);
        const answer = await rpc(server, { method: "test.caller", id: 1 }, bearer(token));
        assert.equal(answer.status, 503);
        assert.ok(answer.headers.get("retry-after"));
    });
});

suite("threat-C7: tokens that are not what they seem", () => {
    let forger;
    let server;
    before(async () => {
        const make = async (url) => {
            forger = await startForger({ audience: `${url}/mcp` });
            return [issuerOf(forger)];
        };
        // Room for more than a token may have.
        server = await startResource(make, { config: { limits: { header_size: "32KB" } } });
    });
    after(async () => {
        await server?.stop();
        await close(forger.server);
    });

    const now = () => Math.floor(Date.now() / 1000);
    const cases = {
        "of no form": () => "abc",
        "of the form of our own": () => `cw_${"A".repeat(43)}`,
        "with two parts": async () => (await forger.sign()).split(".").slice(0, 2).join("."),
        "with a stripped signature": async () => `${(await forger.sign()).split(".", 2).join(".")}.`,
        "with another signature": async () => {
            const [head, body] = (await forger.sign()).split(".");
            return [head, body, (await forger.sign({ sub: "other" })).split(".")[2]].join(".");
        },
        "with changed claims": async () => {
            const parts = (await forger.sign()).split(".");
            parts[1] = Buffer.from(JSON.stringify(forger.claims({ sub: "root" }))).toString("base64url");
            return parts.join(".");
        },
        "with alg none": () => forger.join({ alg: "none", typ: "at+jwt" }, forger.claims()),
        "with alg None": () => forger.join({ alg: "None", typ: "at+jwt" }, forger.claims()),
        "signed with HS256 and the public key": () =>
            new SignJWT(forger.claims())
                .setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid: forger.kid })
                .sign(new TextEncoder().encode(JSON.stringify(forger.publicJwk))),
        "signed with HS256 and the public key as PEM": async () =>
            new SignJWT(forger.claims())
                .setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid: forger.kid })
                .sign(new TextEncoder().encode(await exportSPKI(forger.pair.publicKey))),
        // Signed as it should be: nothing is wrong but that.
        "with crit": () =>
            new SignJWT(forger.claims())
                .setProtectedHeader(forger.header({ crit: ["urn:x"], "urn:x": 1 }))
                .sign(forger.pair.privateKey, { crit: { "urn:x": true } }),
        "larger than tokens may be": async () => {
            const token = await forger.sign({ more: "x".repeat(13_000) });
            assert.ok(token.length > 16_384, `${token.length} bytes`);
            return token;
        },
        "with an empty key id": () => forger.sign({}, { kid: "" }),
        "with an unknown key id": () => forger.sign({}, { kid: "../../etc/passwd" }),
        "with SQL for a key id": () => forger.sign({}, { kid: "' OR 1=1 --" }),
        "with a key id that is no text": () => forger.join({ ...forger.header(), kid: 7 }, forger.claims(), "AA"),
        "with a key of its own": async () =>
            forger.sign({}, { kid: "mine", jwk: forger.publicJwk, jku: "http://127.0.0.1:9/" }),
        "of another type": () => forger.sign({}, { typ: "JWT" }),
        "without a type": () => forger.sign({}, { typ: undefined }),
        "from another issuer": () => forger.sign({ iss: "https://issuer.example" }),
        "from an issuer with one slash more": () => forger.sign({ iss: `${forger.url}/` }),
        "without an issuer": () => forger.sign({ iss: undefined }),
        "for somebody else": () => forger.sign({ aud: foreign }),
        "for nobody": () => forger.sign({ aud: undefined }),
        "for something below us": () => forger.sign({ aud: `${server.url}/mcp/x` }),
        expired: () => forger.sign({ exp: now() - 120 }),
        "without an end": () => forger.sign({ exp: undefined }),
        "not valid yet": () => forger.sign({ nbf: now() + 3_600, exp: now() + 7_200 }),
        "issued in the future": () => forger.sign({ iat: now() + 120 }),
        "bound to a key": () => forger.sign({ cnf: { jkt: "x" } }),
        "with scopes that are a number": () => forger.sign({ scope: 7 }),
        "with a subject that is a list": () => forger.sign({ sub: ["a"] }),
        "of three parts that are no JSON": () => "x".repeat(200) + "." + "y".repeat(11_000) + "." + "z".repeat(200),
    };

    for (const door of Object.keys(doors)) {
        test(`threat-C7: each is refused with the same bytes: ${door}`, async () => {
            const good = await doors[door](server, bearer(await forger.sign()));
            assertWorks(door, good);
            const answers = new Map();
            for (const [name, make] of Object.entries(cases)) {
                const answer = await doors[door](server, bearer(await make()));
                const text = wholeOf(answer);
                answers.set(text, [...(answers.get(text) ?? []), name]);
            }
            assert.equal(answers.size, 1, JSON.stringify([...answers], null, 1));
            const metadata = `${server.url}/.well-known/oauth-protected-resource`;
            const [text] = answers.keys();
            assert.match(text, /^401\nBearer realm="MCP Tools", error="invalid_token", /);
            assert.ok(text.includes(`resource_metadata="${metadata}${door === "mcp" ? "/mcp" : ""}"`));
            assert.ok(text.includes('scope="content:read content:write"'), text);
        });
    }

    test("threat-C11: a token in the query is not looked at", async () => {
        const token = await forger.sign();
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "test.scoped" });
        const headers = { "Content-Type": "application/json" };
        const target = `/mcp/tools/test.scoped?access_token=${token}`;
        const answer = await send(server, "POST", target, { headers, body });
        assert.equal(answer.status, 401, answer.text);
        assert.doesNotMatch(challengeOf(answer), /error=/); // as one who shows nothing
        await server.untilLogged(/tools\/test\.scoped\?/);
        assert.ok(!server.stderr.includes(token));
    });

    test("two Authorization headers are refused", async () => {
        const one = `Bearer ${await forger.sign()}`;
        const answer = await get(server, "/mcp/tools/list", { Authorization: [one, one] });
        assert.equal(answer.status, 400);
    });

    test("threat-C7: made-up key ids make us ask once a minute at most", async () => {
        const before = forger.seen.filter((url) => url === "/jwks").length;
        const begun = performance.now();
        for (let i = 0; i < 20; i++) {
            const token = await forger.sign({}, { kid: `unknown-${i}` });
            assert.equal((await get(server, "/mcp/tools/list", bearer(token))).status, 401);
        }
        const asked = forger.seen.filter((url) => url === "/jwks").length - before;
        const minutes = Math.ceil((performance.now() - begun) / 60_000);
        assert.ok(asked <= minutes, `${asked} times`);
    });

    test("the scheme is read without regard to letter case", async () => {
        const answer = await get(server, "/mcp/tools/list", {
            Authorization: `bEaReR ${await forger.sign()}`,
        });
        assert.equal(answer.status, 200);
    });

    test("old keys stay while the issuer is down", async () => {
        await close(forger.server);
        const { status } = await get(server, "/mcp/tools/list", bearer(await forger.sign()));
        assert.equal(status, 200);
    });
});

test("metadata of another issuer is not believed, nor keys without it", async () => {
    let forger;
    const server = await startResource(async (url) => {
        forger = await startForger({ audience: url });
        forger.metadata.issuer = `${forger.url}/`;
        return [issuerOf(forger)];
    });
    const answer = await get(server, "/mcp/tools/list", bearer(await forger.sign()));
    assert.equal(answer.status, 503);
    assert.ok(!forger.seen.includes("/jwks"));
    await eventually(() => server.stderr.includes("of another issuer"), "the log");
    await server.stop();
    await close(forger.server);
});

test("an issuer with a path is looked for where RFC 8414 and OpenID Connect say", async () => {
    let forger;
    const server = await startResource(async (url) => {
        forger = await startForger({ audience: url });
        const plain = forger.url;
        forger.url = `${plain}/realms/one`;
        forger.paths["/.well-known/oauth-authorization-server"] = undefined;
        forger.metadata = { issuer: forger.url, jwks_uri: `${plain}/jwks` };
        forger.publish("/realms/one/.well-known/openid-configuration", () => forger.metadata);
        return [issuerOf(forger)];
    });
    const answer = await get(server, "/mcp/tools/list", bearer(await forger.sign()));
    assert.equal(answer.status, 200);
    assert.deepEqual(forger.seen, [
        "/.well-known/oauth-authorization-server/realms/one",
        "/.well-known/openid-configuration/realms/one",
        "/realms/one/.well-known/openid-configuration",
        "/jwks",
    ]);
    await server.stop();
    await close(forger.server);
});

test("threat-D1: without allow_private no service on this machine is asked; no redirect is followed", async () => {
    const forger = await startForger({ audience: "https://tools.example" });
    forger.paths["/moved"] = (req, res) => res.writeHead(302, { Location: "/jwks" }).end();
    const common = { audience: "https://tools.example", scopes: {} };
    const server = await startResource(() => [
        { ...common, issuer: forger.url.replace("http", "https") },
        { ...common, issuer: forger.url, jwks_uri: `${forger.url}/moved`, allow_private: true },
    ]);
    await eventually(() => server.stderr.includes("its address is private"), "the refusal");
    await eventually(() => server.stderr.includes("the answer is not 200"), "the redirect");
    assert.deepEqual([...new Set(forger.seen)], ["/moved"]);
    const answer = await get(server, "/mcp/tools/list", bearer(await forger.sign()));
    assert.equal(answer.status, 503);
    await server.stop();
    await close(forger.server);
});

suite("whose token it is", () => {
    let forger;
    let server;
    before(async () => {
        const database = databasePath();
        const setup = writeConfig({ roles, store: { path: database } });
        await cli(setup, "account", "add", "alice", "--role", "editor", { input: "s3cret\n" });
        await cli(setup, "account", "add", "eve", { input: "s3cret\n" });
        server = await startResource(
            async (url) => {
                forger = await startForger({ audience: url });
                return [issuerOf(forger, { account_claim: "/preferred_username", roles: ["/realm/roles"] })];
            },
            { config: { store: { path: database } } },
        );
        server.cli = (...words) => cli(server.config, ...words);
    });
    after(async () => {
        await server?.stop();
        await close(forger.server);
    });

    test("an account's, when a claim names one", async () => {
        const who = await caller(server, await forger.sign({ preferred_username: "alice" }));
        assert.equal(who.name, "alice");
        assert.match(who.id, /^[0-9]+$/);
    });

    test("nobody's, when the account is not there, is blocked or is no name", async () => {
        await server.cli("account", "block", "eve");
        for (const name of ["nobody", "eve", "", 7, undefined, "anonymous"]) {
            const token = await forger.sign({ preferred_username: name });
            const { status } = await get(server, "/mcp/tools/list", bearer(token));
            assert.equal(status, 401, String(name));
        }
    });

    test("threat-C13: an account that is blocked is refused within a second", async () => {
        const token = await forger.sign({ preferred_username: "alice" });
        await caller(server, token);
        await server.cli("account", "block", "alice");
        const refused = async () => (await get(server, "/mcp/tools/list", bearer(token))).status === 401;
        await eventually(refused, "the refusal", 1_000);
        await server.cli("account", "unblock", "alice");
    });

    test("passwords and tokens of our own work beside it", async () => {
        const { status } = await get(server, "/mcp/tools/list", basic("alice", "s3cret"));
        assert.equal(status, 200);
    });
});

test("roles in a claim give their permissions", async () => {
    let forger;
    const server = await startResource(
        async (url) => {
            forger = await startForger({ audience: url });
            return [issuerOf(forger, { scopes: {}, roles: ["/realm/roles"] })];
        },
        { config: { access: { authenticated_only_own: true } } },
    );
    const ask = async (claims) =>
        (await rpc(server, { method: "test.caller", id: 1 }, bearer(await forger.sign(claims)))).status;
    assert.equal(await ask({ realm: { roles: ["editor"] } }), 200);
    assert.equal(await ask({ realm: { roles: ["anonymous"] } }), 200);
    assert.equal(await ask({ realm: { roles: ["other"] } }), 400); // as if it did not exist
    assert.equal(await ask({}), 400);
    await server.stop();
    await close(forger.server);
});

suite("metadata", () => {
    let forger;
    let server;
    before(async () => {
        server = await startResource(async (url) => {
            forger = await startForger({ audience: url });
            return [issuerOf(forger)];
        });
    });
    after(async () => {
        await server?.stop();
        await close(forger.server);
    });

    for (const [place, resource] of [
        ["", ""],
        ["/mcp", "/mcp"],
    ]) {
        test(`of the protected resource: ${place || "root"}`, async () => {
            const target = `/.well-known/oauth-protected-resource${place}`;
            const answer = await get(server, target, { Origin: "https://any.example" });
            assert.equal(answer.status, 200);
            assert.equal(answer.headers["content-type"], "application/json");
            assert.equal(answer.headers["access-control-allow-origin"], "*");
            assert.deepEqual(answer.json, {
                resource: `${server.url}${resource}`,
                authorization_servers: [forger.url],
                scopes_supported: ["content:read", "content:write"],
                bearer_methods_supported: ["header"],
                resource_name: "Causeway",
            });
        });
    }

    test("threat-A11: forwarded headers of others change nothing", async () => {
        const target = "/.well-known/oauth-protected-resource";
        const answer = await get(server, target, {
            "X-Forwarded-Host": "evil.example",
            "X-Forwarded-Proto": "https",
            Forwarded: "host=evil.example;proto=https",
        });
        assert.equal(answer.json.resource, server.url);
    });

    test("fault-B6: every challenge of every door names it, and one realm", async () => {
        const few = await forger.sign({ scope: "content:read" });
        const credentials = { nobody: {}, "a wrong token": bearer("x"), "a token with few scopes": bearer(few) };
        for (const [who, headers] of Object.entries(credentials)) {
            for (const [door, ask] of Object.entries(doors)) {
                const answer = await ask(server, headers);
                if (door === "list" && who !== "a wrong token") {
                    assert.equal(answer.status, 200, `${door}, ${who}`);
                    continue;
                }
                assert.equal(answer.status, who === "a token with few scopes" ? 403 : 401, `${door}, ${who}`);
                const place = door === "mcp" ? "/mcp" : "";
                const challenge = challengeOf(answer);
                assert.match(challenge, /^Bearer realm="MCP Tools", /, `${door}, ${who}`);
                assert.equal(challenge.match(/realm=/g).length, 1, challenge);
                const url = `${server.url}/.well-known/oauth-protected-resource${place}`;
                assert.ok(challenge.includes(`resource_metadata="${url}"`), `${door}, ${who}: ${challenge}`);
                assert.equal((await fetch(url)).status, 200);
            }
        }
    });

    test("fault-B9: it names scopes that the asker lacks, and no tool", async () => {
        const { json, text } = await get(server, "/.well-known/oauth-protected-resource");
        assert.deepEqual(json.scopes_supported, ["content:read", "content:write"]);
        assert.equal("authorization_details_types_supported" in json, false);
        assert.doesNotMatch(text, /test\./);
    });

    test("anonymous callers are sent to it", async () => {
        const answer = await doors.mcp(server, {});
        assert.equal(answer.status, 401);
        assert.equal(
            challengeOf(answer),
            'Bearer realm="MCP Tools", ' +
                `resource_metadata="${server.url}/.well-known/oauth-protected-resource/mcp", ` +
                'scope="content:read content:write"',
        );
    });
});

test("without an issuer there is no metadata, and challenges stay as they were", async () => {
    const server = await startBridge({ roles });
    assert.equal((await get(server, "/.well-known/oauth-protected-resource")).status, 404);
    const answer = await doors.tool(server, {});
    assert.equal(challengeOf(answer), 'Bearer realm="MCP Tools", scope="content:read content:write"');
    await server.stop();
});

test("behind a proxy that is trusted, its word counts where public_url is not set", async () => {
    const forger = await startForger({ audience: "https://tools.example/mcp" });
    const server = await startBridge({
        roles,
        config: {
            hosts: ["localhost", "127.0.0.1", "tools.example"],
            trusted_proxies: ["127.0.0.0/8"],
            access: { issuers: [issuerOf(forger, { audience: "https://tools.example/mcp" })] },
        },
    });
    const ask = async (headers) =>
        (await get(server, "/.well-known/oauth-protected-resource/mcp", headers)).json.resource;
    const forwarded = { "X-Forwarded-Proto": "https", "X-Forwarded-Host": "tools.example" };
    assert.equal(await ask(forwarded), "https://tools.example/mcp");
    assert.equal(await ask({}), `${server.url}/mcp`);
    const evil = { ...forwarded, "X-Forwarded-Host": "evil.example" };
    assert.equal(await ask(evil), `${server.url.replace("http", "https")}/mcp`);
    const { status } = await modern(
        server,
        "tools/list",
        {},
        {
            headers: bearer(await forger.sign()),
        },
    );
    assert.equal(status, 200);
    await get(server, "/healthz", { "X-Forwarded-For": "203.0.113.9, 127.0.0.5" });
    await eventually(() => server.stderr.includes("203.0.113.9"), "the client in the log");
    // A client that has written the header itself, and a proxy that adds a line of its own.
    await get(server, "/healthz", { "X-Forwarded-For": ["198.51.100.1", "203.0.113.77"] });
    await eventually(() => server.stderr.includes("203.0.113.77"), "what the proxy says");
    assert.doesNotMatch(server.stderr, /198\.51\.100\.1/);
    await server.stop();
    await close(forger.server);
});

test("an unknown key id waits for the keys that are being fetched", async () => {
    let forger;
    const server = await startResource(async (url) => {
        forger = await startForger({ audience: url });
        return [issuerOf(forger)];
    });
    assert.equal((await caller(server, await forger.sign())).name, "sam");
    await forger.rotate("key-2");
    const answer = forger.paths["/jwks"];
    const held = [];
    forger.paths["/jwks"] = (req, res) => held.push(() => answer(req, res));
    const ask = async () => (await rpc(server, { method: "test.caller", id: 1 }, bearer(await forger.sign()))).status;
    const first = ask();
    await eventually(() => held.length === 1, "the refresh");
    const others = [ask(), ask(), ask()];
    await pause(200);
    held.forEach((go) => go());
    assert.deepEqual(await Promise.all([first, ...others]), [200, 200, 200, 200]);
    await server.stop();
    await close(forger.server);
});

test("permissions that the database gives to everybody who has logged in count for tokens", async () => {
    const database = databasePath();
    const setup = writeConfig({ roles, store: { path: database } });
    await cli(setup, "role", "allow", "authenticated", "access content");
    let forger;
    const server = await startResource(
        async (url) => {
            forger = await startForger({ audience: url });
            return [issuerOf(forger, { scopes: {} })];
        },
        { config: { store: { path: database }, access: { authenticated_only_own: true } } },
    );
    const token = await forger.sign();
    assert.equal((await caller(server, token)).name, "sam");
    await cli(server.config, "role", "deny", "authenticated", "access content");
    const message = { method: "test.caller", id: 1 };
    const refused = async () => (await rpc(server, message, bearer(token))).status === 400;
    await eventually(refused, "the permission is gone", 1_000);
    await server.stop();
    await close(forger.server);
});

test("an issuer that does not introspect is named in the log, once a minute", async () => {
    let forger;
    const server = await startResource(async (url) => {
        forger = await startForger({ audience: url });
        forger.metadata.introspection_endpoint = `${forger.url}/introspect`;
        forger.paths["/introspect"] = (req, res) => res.writeHead(401).end("{}");
        return [issuerOf(forger, { client_id: "us", client_secret_file: secretFile })];
    });
    const begun = performance.now();
    for (const token of ["opaque-1", "opaque-2", "opaque-3"]) {
        const { status } = await rpc(server, { method: "test.caller", id: 1 }, bearer(token));
        assert.equal(status, 503);
    }
    await server.untilLogged(/an issuer cannot introspect tokens.*\n/);
    const told = [...server.stderr.matchAll(/warn access: an issuer cannot introspect tokens.*/g)];
    assert.ok(told.length <= Math.ceil((performance.now() - begun) / 60_000), server.stderr);
    assert.match(told[0][0], /problem="the answer is 401: client_id or its secret is wrong"/);
    assert.ok(told[0][0].includes(`issuer="${forger.url}"`));
    await server.stop();
    await close(forger.server);
});

// Introspection that knows tokens with this in them, or says what a function says, and takes
// `asked.ms`. Whatever it says, the claims are good.
function introspect(forger, known, ms = 0) {
    const asked = Object.assign([], { ms });
    forger.metadata.introspection_endpoint = `${forger.url}/introspect`;
    forger.paths["/introspect"] = async (req, res) => {
        let form = "";
        for await (const chunk of req) {
            form += chunk;
        }
        const token = new URLSearchParams(form).get("token");
        asked.push(token);
        await pause(asked.ms);
        const active = typeof known === "function" ? known(token) : token.includes(known);
        res.setHeader("Content-Type", "application/json");
        res.end(JSON.stringify({ ...forger.claims(), active }));
    };
    return asked;
}

test("an opaque token counts only where its issuer says that it is active", async () => {
    const said = { good: true, ended: false, text: "true", number: 1, nothing: undefined };
    let forger;
    const server = await startResource(async (url) => {
        forger = await startForger({ audience: url });
        introspect(forger, (token) => said[token]);
        return [issuerOf(forger, { client_id: "us", client_secret_file: secretFile })];
    });
    for (const [token, active] of Object.entries(said)) {
        const { status } = await rpc(server, { method: "test.caller", id: 1 }, bearer(token));
        assert.equal(status, active === true ? 200 : 401, token);
    }
    await server.stop();
    await close(forger.server);
});

test("made-up opaque tokens of one network do not shut out those of others", async () => {
    let forger;
    let asked;
    const server = await startResource(
        async (url) => {
            forger = await startForger({ audience: url });
            asked = introspect(forger, "good", 100);
            return [issuerOf(forger, { client_id: "us", client_secret_file: secretFile })];
        },
        { config: { loops: 1, trusted_proxies: ["127.0.0.0/8"] } },
    );
    const from = async (address, token) =>
        await rpc(
            server,
            { method: "test.caller", id: 1 },
            {
                ...bearer(token),
                "X-Forwarded-For": address,
            },
        );
    assert.equal((await from("203.0.113.5", "good-before")).status, 200);
    const flood = Array.from({ length: 300 }, (_, i) => from("203.0.113.5", `made-up-${i}`));
    await pause(20);
    const others = Array.from({ length: 10 }, (_, i) => from("198.51.100.7", `good-${i}`));
    for (const { status, text } of await Promise.all(others)) {
        assert.equal(status, 200, text);
    }
    for (const { status } of await Promise.all(flood)) {
        assert.ok([401, 429, 503].includes(status), String(status));
    }
    // One after another they are all asked about, until there were too many. Tokens that were good are remembered for a
    // minute only.
    asked.ms = 0;
    let answer;
    for (let i = 0; i < 300 && answer?.status !== 429; i += 1) {
        answer = await from("203.0.113.5", `again-${i}`);
    }
    assert.equal(answer.status, 429);
    assert.ok(Number(answer.headers.get("retry-after")) >= 1);
    assert.equal((await from("203.0.113.5", "good-before")).status, 200);
    assert.equal((await from("198.51.100.7", "good-after")).status, 200);
    await server.stop();
    await close(forger.server);
});

test("threat-C7: a network that makes up signatures must wait; others and known tokens do not", async () => {
    let forger;
    const server = await startResource(
        async (url) => {
            forger = await startForger({ audience: url });
            return [issuerOf(forger)];
        },
        { config: { loops: 1, trusted_proxies: ["127.0.0.0/8"] } },
    );
    const from = async (address, token) =>
        await rpc(
            server,
            { method: "test.caller", id: 1 },
            {
                ...bearer(token),
                "X-Forwarded-For": address,
            },
        );
    const [header, , signature] = (await forger.sign({}, { kid: undefined })).split(".");
    const madeUp = (i) => `${header}.${base64url(forger.claims({ jti: `made-up ${i}` }))}.${signature}`;
    const good = await forger.sign();
    assert.equal((await from("203.0.113.5", good)).status, 200);
    let answer;
    for (let i = 0; i < 150 && answer?.status !== 429; i += 1) {
        answer = await from("203.0.113.5", madeUp(i));
        assert.ok([401, 429].includes(answer.status), answer.text);
        assert.ok(i >= 100 || answer.status === 401, `429 after ${i}`);
    }
    assert.equal(answer.status, 429);
    assert.ok(Number(answer.headers.get("retry-after")) >= 1);
    // The wait is a second, and twice as long after each further failure: at last longer than a request takes.
    const mustWait = async () => (await from("203.0.113.5", await forger.sign())).status === 429;
    for (let i = 150; !(await mustWait()); i += 1) {
        assert.ok(i < 160, "its good tokens never wait");
        await from("203.0.113.5", madeUp(i));
    }
    assert.equal((await from("203.0.113.5", good)).status, 200);
    assert.equal((await from("198.51.100.7", await forger.sign())).status, 200);
    // An expired token of the issuer is not made up, however often it comes.
    for (let i = 0; i < 120; i += 1) {
        const token = await forger.sign({ exp: Math.floor(Date.now() / 1000) - 120 });
        assert.equal((await from("192.0.2.1", token)).status, 401);
    }
    await server.stop();
    await close(forger.server);
});

test("threat-C7: of a token without a key id one key is tried", async () => {
    let forger;
    const server = await startResource(async (url) => {
        forger = await startForger({ audience: url });
        forger.first = forger.pair.privateKey;
        const firstKeys = forger.keys;
        await forger.rotate("key-2");
        forger.keys = [...firstKeys, ...forger.keys];
        return [issuerOf(forger)];
    });
    const status = async (...signed) =>
        (await get(server, "/mcp/tools/list", bearer(await forger.sign(...signed)))).status;
    assert.equal(await status({}, { kid: "key-1" }, forger.first), 200);
    assert.equal(await status({}, { kid: "key-2" }), 200);
    assert.equal(await status({}, { kid: undefined }, forger.first), 200);
    assert.equal(await status({}, { kid: undefined }), 401);
    await eventually(() => server.stderr.includes("the first key that fits"), "the log says why");
    await server.stop();
    await close(forger.server);
});

test("an opaque token is shown to its own issuer only", async () => {
    const forgers = [];
    const asked = [];
    const server = await startResource(async (url) => {
        const issuers = [];
        for (const prefix of ["red_", "blue_"]) {
            const forger = await startForger({ audience: url });
            forgers.push(forger);
            asked.push(introspect(forger, "good"));
            const login = { client_id: "us", client_secret_file: secretFile, token_prefix: prefix };
            issuers.push(issuerOf(forger, login));
        }
        return issuers;
    });
    assert.equal((await caller(server, "blue_good")).name, "sam");
    const statusOf = async (token) => (await rpc(server, { method: "test.caller", id: 1 }, bearer(token))).status;
    assert.equal(await statusOf("red_unknown"), 401);
    assert.equal(await statusOf("green_good"), 401);
    await close(forgers[0].server); // one that is down is no matter for the other's
    assert.equal(await statusOf("blue_unknown"), 401);
    const shown = asked.map((tokens) => [...new Set(tokens)]);
    assert.deepEqual(shown, [["red_unknown"], ["blue_good", "blue_unknown"]]);
    await server.stop();
    await close(forgers[1].server);
});

for (const store of [false, true]) {
    test(`a token has one login record when it is accepted first (database: ${store})`, async () => {
        const file = path.join(keepFolder(), `logins-${store}.jsonl`);
        let forger;
        const server = await startResource(
            async (url) => {
                forger = await startForger({ audience: url });
                return [issuerOf(forger)];
            },
            {
                config: {
                    loops: 1,
                    audit: { path: file },
                    store: store ? { path: databasePath() } : undefined,
                },
            },
        );
        const logins = () =>
            (existsSync(file) ? readFileSync(file, "utf8") : "")
                .split("\n")
                .slice(0, -1) // the last line may be half written
                .filter((line) => line.includes('"kind":"login"'))
                .map((line) => JSON.parse(line));
        const token = await forger.sign();
        // The database is new, and what changes it counts: until nothing was published for a second.
        const published = () => server.stderr.split("state published").length;
        for (let before = 0; store && before !== published(); ) {
            before = published();
            await pause(1_000);
        }
        await Promise.all([1, 2, 3].map(() => caller(server, token)));
        await caller(server, token);
        await caller(server, await forger.sign({ sub: "tom" }));
        const bad = await rpc(server, { method: "test.caller", id: 1 }, bearer("bad"));
        assert.equal(bad.status, 401);
        await eventually(() => logins().length >= 3, "the records");
        await pause(100);
        assert.deepEqual(
            logins().map(({ outcome, detail, caller: name }) => [outcome, detail, name]),
            [
                ["ok", "token", "sam"],
                ["ok", "token", "tom"],
                ["wrong", "token", undefined],
            ],
        );
        await server.stop();
        await close(forger.server);
    });
}

test("threat-C12: scopes_supported and challenges name the scopes of all tools, or of visible ones", async () => {
    // Without "access content" nobody sees test.scoped; a token's scope would give it.
    const hidden = { anonymous: [discover, call], authenticated: [discover, call] };
    for (const [advertised, wanted] of [
        ["all", ["content:read", "content:write"]],
        ["visible", undefined],
    ]) {
        let forger;
        const server = await startResource(
            async (url) => {
                forger = await startForger({ audience: url });
                return [issuerOf(forger)];
            },
            { roles: hidden, config: { access: { advertised_scopes: advertised } } },
        );
        const { json } = await get(server, "/.well-known/oauth-protected-resource");
        assert.deepEqual(json.scopes_supported, wanted, advertised);
        const refused = await get(server, "/mcp/tools/list", bearer("bad"));
        assert.ok(challengeOf(refused).includes(`scope="${(wanted ?? []).join(" ")}"`), advertised);
        assertWorks("invoke", await doors.invoke(server, bearer(await forger.sign())));
        await server.stop();
        await close(forger.server);
    }
});

test("a configuration with issuers that cannot be used changes nothing, not even the audit", async () => {
    // A library that is none: the first issuer needs libcurl.
    const folder = path.join(keepFolder(), "no-curl");
    mkdirSync(folder, { recursive: true });
    ["libcurl.so.4", "libcurl-gnutls.so.4"].forEach((name) => writeFileSync(path.join(folder, name), ""));
    const [before, later] = ["before", "later"].map((name) => path.join(folder, `${name}.jsonl`));
    const config = {
        store: { path: databasePath() },
        public_url: "https://tools.example",
        audit: { path: before },
    };
    const server = await startBridge({ roles, config, env: { LD_LIBRARY_PATH: folder } });
    const bad = {
        ...JSON.parse(readFileSync(server.config, "utf8")),
        audit: { path: later },
        access: { issuers: [{ issuer: "https://issuer.example" }] },
    };
    writeFileSync(server.config, JSON.stringify(bad));
    server.child.kill("SIGHUP");
    await server.untilLogged(/configuration refused, the old one stays/);
    assert.equal((await rpc(server, { method: "test.caller", id: 1 })).status, 200);
    await server.stop();
    assert.match(readFileSync(before, "utf8"), /"method":"config reload","outcome":"failed"/);
    assert.match(readFileSync(before, "utf8"), /"test\.caller"/);
    assert.equal(existsSync(later) ? readFileSync(later, "utf8") : "", "");
});
