// Where secrets of the built-in authorization server may be, and where they may not: pages, interfaces, logs, files,
// the process, and the places of other credentials.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { basic, bearer, call, discover, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { logIn, session, sessionCookie, visit } from "./support/login.mjs";
import { modern, rpc } from "./support/mcp.mjs";
import { allow, send, token } from "./support/oauth-server.mjs";
import { register } from "./support/authorize.mjs";
import { eventually } from "./support/server.mjs";

const redirect_uri = "http://127.0.0.1:9/callback";
const secret = "a-secret-of-forty-characters-or-so-0123";
const auditFile = path.join(keepFolder(), "audit.log");

let server;
let alice;
const secrets = {}; // name -> text
before(async () => {
    const secret_file = path.join(keepFolder(), "web.secret");
    writeFileSync(secret_file, `${secret}\n`, { mode: 0o600 });
    server = await startAccounts({
        config: {
            log: { level: "debug" },
            audit: { path: auditFile },
            roles: {
                anonymous: [discover, call],
                authenticated: [discover, call],
                editor: ["access content", "administer access", "view audit"],
            },
            access: {
                server: {
                    enabled: true,
                    clients: [
                        { id: "app", redirect_uris: [redirect_uri] },
                        { id: "web", secret_file, redirect_uris: [redirect_uri] },
                    ],
                },
            },
        },
    });
    alice = await logIn(server, "alice", "s3cret");
    const dynamic = await register(server, { token_endpoint_auth_method: "client_secret_post" });
    const unused = await allow(server, alice.cookie, { client_id: "app", redirect_uri });
    const used = await allow(server, alice.cookie, { client_id: "web", redirect_uri });
    const { status, json } = await token(server, {
        grant_type: "authorization_code",
        code: used.code,
        code_verifier: used.verifier,
        client_id: "web",
        client_secret: secret,
    });
    assert.equal(status, 200);
    const fresh = await token(server, {
        grant_type: "refresh_token",
        refresh_token: json.refresh_token,
        client_id: "web",
        client_secret: secret,
    });
    assert.equal(fresh.status, 200);
    Object.assign(secrets, {
        "access token": fresh.json.access_token,
        "first access token": json.access_token,
        "refresh token": fresh.json.refresh_token,
        "first refresh token": json.refresh_token,
        code: unused.code,
        "used code": used.code,
        verifier: unused.verifier,
        "used verifier": used.verifier,
        "secret of a client": secret,
        "secret of a dynamic client": dynamic.client_secret,
        session: alice.cookie.slice(sessionCookie.length + 1),
        "token of the operator": (await server.token("alice")).token,
    });
});
after(() => server?.stop());

// A secret, without the prefix that names its kind, and its hashes.
const forms = (text) => {
    const hash = createHash("sha256").update(text).digest();
    return [text.replace(/^cw[acr]?_/, ""), hash.toString("hex"), hash.toString("base64url").slice(0, 40)];
};

function assertNone(where, text) {
    for (const [name, value] of Object.entries(secrets)) {
        for (const form of forms(value)) {
            assert.equal(text.includes(form), false, `${where} has the ${name} or its hash`);
        }
    }
}

test("T30 no page, command or method returns a hash or a token", async () => {
    const page = await visit(server, "/account/grants", { headers: { Cookie: alice.cookie } });
    assert.equal(page.status, 200);
    assert.match(page.text, /web/);
    assertNone("/account/grants", page.text);
    for (const words of [
        ["grant", "list", "--json"],
        ["grant", "list"],
        ["client", "list", "--json"],
        ["client", "list"],
        ["account", "list", "--json"],
        ["token", "list", "alice", "--json"],
        ["config", "show"],
    ]) {
        assertNone(words.join(" "), await server.cli(...words));
    }
    for (const method of ["grants.list", "clients.list", "sessions.list", "tokens.list", "accounts.list"]) {
        const { status, text } = await rpc(server, { method: `causeway.${method}`, id: 1 }, session(server, alice));
        assert.equal(status, 200);
        assert.match(text, /"result"/, text);
        assertNone(method, text);
    }
});

test("T35 secrets are in no log, audit, database, command line or environment", async () => {
    const records = () => readFileSync(auditFile, "utf8");
    await eventually(() => records().split('"outcome":"refreshed"').length > 1, "the record of a refresh");
    assertNone("the audit", records());
    assertNone("the log", server.stderr);
    assertNone("the standard output", server.stdout);
    for (const name of ["cmdline", "environ"]) {
        assertNone(name, readFileSync(`/proc/${server.pid}/${name}`, "latin1"));
    }
    // A hash is what the database is for.
    for (const file of server.databaseFiles()) {
        const text = readFileSync(file, "latin1");
        for (const [name, value] of Object.entries(secrets)) {
            assert.equal(text.includes(forms(value)[0]), false, `${file} has the ${name}`);
        }
    }
});

// Only as root the tests start a server that keeps its memory to itself: others must look into it.
const mayLook = process.getuid() === 0 ? false : "needs root";
test("T35 the memory of the server is in no core dump", { skip: mayLook }, () => {
    assert.match(readFileSync(`/proc/${server.pid}/limits`, "latin1"), /^Max core file size +0 +0 /m);
});

suite("T31 each credential in the place of every other one", () => {
    const isAccepted = async (headers) => (await rpc(server, { method: "test.caller", id: 1 }, headers)).status === 200;
    // What passes where.
    const places = {
        "as a bearer token": {
            accepts: ["access token", "first access token", "token of the operator"],
            use: (text) => isAccepted(bearer(text)),
        },
        "as a bearer token at /mcp": {
            accepts: ["access token", "first access token", "token of the operator"],
            use: async (text) => (await modern(server, "tools/list", {}, { headers: bearer(text) })).status === 200,
        },
        "as a password": {
            accepts: [],
            only: ["access token", "refresh token", "secret of a client"], // hashes are slow
            use: (text) => isAccepted(basic("alice", text)),
        },
        "as a session": {
            accepts: ["session"],
            use: (text) => isAccepted({ ...session(server, alice), Cookie: `${sessionCookie}=${text}` }),
        },
        "as a code": {
            accepts: [],
            use: async (code) => {
                const verifier = secrets["used verifier"];
                const fields = { grant_type: "authorization_code", code, code_verifier: verifier, client_id: "app" };
                return (await token(server, fields)).status === 200;
            },
        },
        "as a refresh token": {
            accepts: ["refresh token"],
            use: async (refresh_token) => {
                const who = { client_id: "web", client_secret: secret };
                return (await token(server, { grant_type: "refresh_token", refresh_token, ...who })).status === 200;
            },
        },
        "as a client secret": {
            accepts: ["secret of a client"],
            use: async (client_secret) => {
                const who = { client_id: "web", client_secret };
                return (await send(server, "/revoke", { token: "x", ...who })).status === 200;
            },
        },
    };
    for (const [name, { accepts, only, use }] of Object.entries(places)) {
        test(name, async () => {
            for (const [kind, text] of Object.entries(secrets)) {
                const wouldEnd = kind === "first refresh token" || kind === "used code"; // the grant
                if (wouldEnd || (only && !only.includes(kind))) continue;
                assert.equal(await use(text), accepts.includes(kind), `${kind} ${name}`);
            }
        });
    }
});
