// The methods that change access: on /jsonrpc, on the local socket, and by commands here and elsewhere.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { basic, bearer, cli, roles, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { logIn, session } from "./support/login.mjs";
import { rpc } from "./support/mcp.mjs";
import { runCauseway } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";

const admin = "administer access";
const password = "c4nary-password";
const oldLogin = -32012;
const notFound = -32010;
const invalid = -32602;

// Every method, with params that are valid for a server that has the account "target".
const readingMethods = {
    "accounts.list": {},
    "roles.list": {},
    "tokens.list": {},
    "sessions.list": {},
    "clients.list": {},
    "grants.list": {},
    "keys.list": {},
};
const changingMethods = {
    "accounts.add": { name: "somebody" },
    "accounts.remove": { name: "target" },
    "accounts.block": { name: "target" },
    "accounts.unblock": { name: "target" },
    "accounts.grant": { name: "target", role: "editor" },
    "accounts.revoke": { name: "target", role: "editor" },
    "accounts.password": { name: "target", password },
    "roles.add": { role: "some-role" },
    "roles.remove": { role: "some-role" },
    "roles.allow": { role: "anonymous", permission: "x" },
    "roles.deny": { role: "anonymous", permission: "x" },
    "tokens.create": { account: "target" },
    "tokens.revoke": { id: 1 },
    "sessions.end": { id: 1 },
    "clients.add": { id: "some-client", redirect_uris: ["http://127.0.0.1/callback"] },
    "clients.remove": { id: "some-client" },
    "clients.deny": { id: "some-client" },
    "grants.revoke": { id: 1 },
    "keys.rotate": { lost: true },
};
const allMethods = { ...readingMethods, ...changingMethods };

const call = (server, method, params, headers) => rpc(server, { id: 1, method: `causeway.${method}`, params }, headers);

async function resultOf(server, method, params, headers) {
    const { json, text } = await call(server, method, params, headers);
    assert.ok(json?.result, `${method}: ${text}`);
    assert.equal(json.result.server.pid, server.pid);
    return json.result;
}

async function errorOf(server, method, params, headers) {
    const { json, text } = await call(server, method, params, headers);
    assert.ok(json?.error, `${method}: ${text}`);
    return json.error;
}

// A server with the account "root", whose role may administer access, and its token.
async function startAdministered(config = {}) {
    const server = await startAccounts({
        config: { ...config, roles: { ...roles, operator: [admin] } },
    });
    await server.cli("account", "add", "root", "--role", "operator", { input: "r00t" });
    server.root = bearer((await server.token("root")).token);
    return server;
}

const nameOf = (server) => new RegExp(`by server \\d+\\.\\d+\\.\\d+ \\(pid ${server.pid}\\)\n$`);

suite("with the permission", () => {
    let server;
    before(async () => (server = await startAdministered()));
    after(() => server?.stop());
    const done = (method, params) => resultOf(server, method, params, server.root);
    const refused = (method, params) => errorOf(server, method, params, server.root);
    const statusOf = async (headers) => (await rpc(server, { method: "test.caller", id: 1 }, headers)).status;
    const accountOf = async (name) => (await done("accounts.list", { name })).accounts[0];

    test("accounts are added, changed and removed, and each change applies to the next call", async () => {
        const added = await done("accounts.add", { name: "carol", password, roles: ["editor"], language: "de" });
        assert.equal(added.changed, true);
        const { created, ...carol } = await accountOf("carol");
        assert.deepEqual(carol, {
            id: added.id,
            name: "carol",
            state: "active",
            password: true,
            language: "de",
            roles: ["editor"],
        });
        assert.ok(Math.abs(created - Date.now()) < 60_000);
        assert.equal(await statusOf(basic("carol", password)), 200);
        await done("accounts.block", { name: "carol" });
        assert.equal(await statusOf(basic("carol", password)), 401);
        await done("accounts.unblock", { name: "carol" });
        assert.equal(await statusOf(basic("carol", password)), 200);
        assert.equal((await done("accounts.revoke", { name: "carol", role: "editor" })).changed, true);
        assert.equal((await done("accounts.revoke", { name: "carol", role: "editor" })).changed, false);
        assert.equal(await statusOf(basic("carol", password)), 400);
        assert.equal((await done("accounts.grant", { name: "carol", role: "editor" })).changed, true);
        assert.equal((await done("accounts.grant", { name: "carol", role: "editor" })).changed, false);
        assert.equal(await statusOf(basic("carol", password)), 200);
        await done("accounts.password", { name: "carol", password: "an0ther-password" });
        assert.equal(await statusOf(basic("carol", password)), 401);
        assert.equal(await statusOf(basic("carol", "an0ther-password")), 200);
        await done("accounts.password", { name: "carol", password: null });
        assert.equal((await accountOf("carol")).password, false);
        await done("accounts.remove", { name: "carol" });
        assert.equal((await refused("accounts.list", { name: "carol" })).code, notFound);
        const { accounts } = await done("accounts.list", {});
        assert.deepEqual(
            accounts.map(({ name }) => name),
            ["alice", "bob", "root"],
        );
    });

    test("roles are added, changed and removed", async () => {
        await done("roles.add", { role: "judge" });
        assert.equal((await done("roles.allow", { role: "judge", permission: "judge all" })).changed, true);
        assert.equal((await done("roles.allow", { role: "judge", permission: "judge all" })).changed, false);
        const listed = await done("roles.list", {});
        assert.equal(listed.authenticated_inherits, true);
        const named = (name) => listed.roles.filter((role) => role.name === name);
        assert.deepEqual(named("judge"), [{ name: "judge", from: "database", permissions: ["judge all"] }]);
        assert.deepEqual(named("operator"), [{ name: "operator", from: "configuration", permissions: [admin] }]);
        assert.equal((await done("roles.deny", { role: "judge", permission: "judge all" })).changed, true);
        assert.equal((await done("roles.deny", { role: "judge", permission: "judge all" })).changed, false);
        await done("roles.remove", { role: "judge" });
        assert.equal((await refused("roles.remove", { role: "judge" })).code, notFound);
    });

    test("threat-C13: a token is created and returned once, and ends with the answer of its revocation", async () => {
        const lifetime = 3_600_000;
        const made = await done("tokens.create", {
            account: "alice",
            name: "ci",
            scopes: ["content:read", "odd"],
            lifetime,
        });
        assert.match(made.token, /^cw_[\w-]{43}$/);
        assert.deepEqual(made.unknown_scopes, ["odd"]);
        const { tokens } = await done("tokens.list", { account: "alice" });
        const { created, ...token } = tokens.at(-1);
        assert.ok(Math.abs(created - Date.now()) < 60_000);
        assert.equal(made.expires, created + lifetime);
        assert.deepEqual(token, {
            id: made.id,
            account: "alice",
            name: "ci",
            state: "active",
            expires: created + lifetime,
            revoked: null,
            used: null,
            used_from: "",
            scopes: ["content:read", "odd"],
        });
        // On several connections, so that more than one loop has it in its cache.
        const useIt = () => Promise.all(Array.from({ length: 8 }, () => statusOf(bearer(made.token))));
        assert.deepEqual(new Set(await useIt()), new Set([200]));
        assert.equal((await done("tokens.revoke", { id: made.id })).changed, true);
        assert.deepEqual(new Set(await useIt()), new Set([401]));
        assert.equal((await done("tokens.revoke", { id: made.id })).changed, false);
        assert.equal((await done("tokens.list", { account: "alice" })).tokens.at(-1).state, "revoked");
    });

    test("the last use of a token is listed, with its address, and is written once a minute", async () => {
        const make = (name) => done("tokens.create", { account: "alice", name });
        const [made, other] = [await make("used"), await make("other")];
        const find = async ({ id }) => (await done("tokens.list", {})).tokens.find((token) => token.id === id);
        const useOf = (token) => eventually(async () => (await find(token)).used, "a use is recorded");
        const begin = Date.now();
        assert.equal(await statusOf(bearer(made.token)), 200);
        const used = await useOf(made);
        assert.ok(used >= begin && used <= Date.now());
        assert.equal((await find(made)).used_from, "127.0.0.1");
        // A change of rights has all loops read the token again.
        await done("roles.add", { role: "unrelated" });
        await Promise.all(Array.from({ length: 8 }, () => statusOf(bearer(made.token))));
        assert.equal(await statusOf(bearer(other.token)), 200);
        await useOf(other);
        assert.equal((await find(made)).used, used);
        const minute = new Date(used).toISOString().slice(0, 16);
        const line = new RegExp(`^ *${made.id} +alice +used +active +never +${minute}`, "m");
        assert.match(await server.cli("token", "list", "alice"), line);
    });

    test("a session is listed and ended", async () => {
        const browser = await logIn(server, "alice", "s3cret");
        assert.equal(await statusOf(session(server, browser)), 200);
        const { sessions } = await done("sessions.list", { account: "alice" });
        const { id, created, used, expires, ...rest } = sessions.at(-1);
        assert.deepEqual(rest, { account: "alice" });
        assert.ok(created <= used && used < expires);
        await done("sessions.end", { id });
        assert.equal(await statusOf(session(server, browser)), 401);
        assert.equal((await refused("sessions.end", { id })).code, notFound);
        assert.deepEqual((await done("sessions.list", { account: "bob" })).sessions, []);
    });

    test("params that make no sense are refused with a sentence", async () => {
        for (const [method, params, code, message] of [
            ["accounts.add", { name: "a:b" }, invalid, /not the name of an account/],
            ["accounts.add", { name: "x", password: "short" }, invalid, /too short: it needs 8 characters/],
            ["accounts.add", { name: "x", password: "" }, invalid, /password is empty/],
            ["accounts.add", { name: "x", password: "x".repeat(1025) }, invalid, /1 to 1024 bytes/],
            ["accounts.add", { name: "x", roles: ["nope"] }, notFound, /no role 'nope'/],
            ["accounts.add", { name: "x", language: "a\nb" }, invalid, /not the name of a language/],
            ["accounts.add", { name: "alice" }, invalid, /'alice' exists already/],
            ["accounts.add", { name: "x", roles: "editor" }, invalid, /./],
            ["accounts.password", { name: "alice" }, invalid, /./],
            ["accounts.password", { name: "nobody", password }, notFound, /no account 'nobody'/],
            ["accounts.grant", { name: "alice", role: "nope" }, notFound, /no role 'nope'/],
            ["accounts.block", { name: "nobody" }, notFound, /no account 'nobody'/],
            ["roles.add", { role: "a\u0000b" }, invalid, /not the name of a role/],
            ["roles.add", { role: "r".repeat(129) }, invalid, /1 to 128 bytes/],
            ["roles.remove", { role: "anonymous" }, invalid, /built in/],
            ["roles.allow", { role: "nope", permission: "x" }, notFound, /no role 'nope'/],
            ["roles.allow", { role: "anonymous", permission: "" }, invalid, /not the name of a permission/],
            ["tokens.create", { account: "nobody" }, notFound, /no account 'nobody'/],
            ["tokens.create", { account: "alice", scopes: ["a b"] }, invalid, /not a scope/],
            ["tokens.create", { account: "alice", lifetime: 0 }, invalid, /1 ms to 36500 days/],
            ["tokens.create", { account: "alice", lifetime: 36_500 * 86_400_000 + 1 }, invalid, /1 ms to 36500 days/],
            ["tokens.create", { account: "alice", name: "a\nb" }, invalid, /not the name of a token/],
            ["tokens.revoke", { id: 77_777 }, notFound, /no token 77777/],
            ["tokens.list", { account: "nobody" }, notFound, /no account 'nobody'/],
        ]) {
            const error = await refused(method, params);
            assert.equal(error.code, code, `${method} ${JSON.stringify(params)}: ${error.message}`);
            assert.match(error.message, message);
        }
    });

    test("passwords that are hashed delay neither the database nor the server", async () => {
        const ended = [];
        const names = Array.from({ length: 12 }, (_, i) => `hashed-${i}`);
        const adds = names.map(async (name) => {
            await done("accounts.add", { name, password });
            ended.push("add");
        });
        await pause(20);
        await done("roles.list", {});
        ended.push("list");
        await Promise.all(adds);
        // With the hashes on the store's thread, the list would be the last.
        assert.ok(ended.indexOf("list") < names.length, ended.join(" "));
        await Promise.all(names.map((name) => done("accounts.remove", { name })));
    });
});

suite("without the permission", () => {
    let server;
    before(async () => (server = await startAdministered()));
    after(() => server?.stop());

    // What could tell two answers apart.
    const shown = ({ status, headers, text }) => ({
        status,
        text,
        headers: [...headers].filter(([name]) => name !== "date" && name !== "x-request-id"),
    });

    test("threat-C2: each method has the answer of an unknown one, and nothing changes", async () => {
        const before = await resultOf(server, "accounts.list", {}, server.root);
        const token = bearer((await server.token("alice")).token);
        for (const headers of [{}, token, basic("alice", "s3cret")]) {
            const unknown = shown(await call(server, "accounts.nonsense", {}, headers));
            assert.equal(JSON.parse(unknown.text).error.code, -32601);
            for (const [method, params] of Object.entries(allMethods)) {
                assert.deepEqual(shown(await call(server, method, params, headers)), unknown, method);
            }
        }
        const after = await resultOf(server, "accounts.list", {}, server.root);
        assert.deepEqual(after.accounts, before.accounts);
    });
});

suite("the local socket", () => {
    let server;
    before(async () => (server = await startAdministered()));
    after(() => server?.stop());

    // POST /jsonrpc through the socket beside the database.
    const send = (method, params) =>
        new Promise((resolve, reject) => {
            const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: `causeway.${method}`, params });
            const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
            const request = http.request(
                { socketPath: `${server.database}.sock`, path: "/jsonrpc", method: "POST", headers },
                (answer) => {
                    let text = "";
                    answer.setEncoding("utf8").on("data", (piece) => (text += piece));
                    answer.on("end", () => resolve(JSON.parse(text)));
                },
            );
            request.on("error", reject).end(body);
        });

    test("offers each method to the user of the server, without a token", async () => {
        await send("accounts.add", { name: "target" });
        for (const [method, params] of Object.entries(allMethods)) {
            const { error } = await send(method, params);
            assert.ok(!error || error.code === notFound, `${method}: ${JSON.stringify(error)}`);
            if (method === "accounts.remove") {
                assert.equal(error, undefined);
                await send("accounts.add", { name: "target" });
            }
        }
    });
});

test("a server that stops while passwords are hashed ends well", async () => {
    for (const drain of ["0s", "30s"]) {
        const server = await startAdministered({ timeouts: { drain } });
        const names = Array.from({ length: 16 }, (_, i) => `late-${i}`);
        const adds = names.map((name) =>
            call(server, "accounts.add", { name, password }, server.root).catch(() => undefined),
        );
        await Promise.race(adds);
        await server.stop();
        const answers = await Promise.all(adds);
        const added = answers.filter((answer) => answer?.json?.result);
        // An answer is true whatever the others got.
        const { length } = JSON.parse(await server.cli("account", "list", "--json"));
        assert.ok(added.length >= 1 && length >= added.length + 3, `${added.length} of ${length}`);
    }
});

suite("secrets", () => {
    test("threat-C11: are in no log line, audit record, list or file", async () => {
        const audit = path.join(keepFolder(), "secrets.jsonl");
        const server = await startAdministered({
            log: { level: "debug" },
            audit: { path: audit, arguments: true },
        });
        const done = (method, params) => resultOf(server, method, params, server.root);
        const secrets = ["c4nary-add", "c4nary-change", "c4nary-command", "c4nary-invalid"];
        await done("accounts.add", { name: "eve", password: secrets[0] });
        await done("accounts.password", { name: "eve", password: secrets[1] });
        await server.cli("account", "password", "eve", { input: secrets[2] });
        await errorOf(server, "accounts.password", { name: "eve", password: [secrets[3]] }, server.root);
        const { token } = await done("tokens.create", { account: "eve", name: "c4nary-label" });
        secrets.push(token, (await server.token("eve")).token, server.root.Authorization.split(" ")[1]);
        assert.equal((await call(server, "roles.list", {}, bearer(token))).json.error.code, -32601);
        await done("roles.add", { role: "c4nary-role" });
        const lists = await Promise.all(
            Object.entries(readingMethods).map(async ([name, params]) => JSON.stringify(await done(name, params))),
        );
        await server.stop();
        const log = readFileSync(server.logFile, "utf8");
        const records = readFileSync(audit, "utf8");
        // Other arguments are recorded, and so are the targets of these calls.
        assert.match(records, /"arguments":\{"role":"c4nary-role"\}/);
        assert.match(records, /"detail":"eve c4nary-label"/);
        assert.match(log, / debug serve: /);
        const texts = [log, records, ...lists];
        for (const end of ["", "-wal"]) {
            texts.push(readFileSync(`${server.database}${end}`, { encoding: "latin1", flag: "a+" }));
        }
        for (const secret of secrets) {
            for (const text of texts) {
                assert.ok(!text.includes(secret), `${secret} in ${text.slice(0, 80)}`);
            }
        }
    });
});

suite("a browser session", () => {
    const change = { role: "made-by-browser" };

    test("that is young may change access", async () => {
        const server = await startAdministered();
        const browser = session(server, await logIn(server, "root", "r00t"));
        assert.equal((await resultOf(server, "roles.add", change, browser)).changed, true);
        await server.stop();
    });

    test("threat-C10: that is old must log in again; tokens and passwords need not", async () => {
        const server = await startAdministered({ admin: { recent_login: "1s" } });
        const browser = session(server, await logIn(server, "root", "r00t"));
        await pause(1_100);
        for (const [method, params] of Object.entries(changingMethods)) {
            const error = await errorOf(server, method, params, browser);
            assert.deepEqual([error.code, error.message], [oldLogin, "Log in again: this method needs a recent login"]);
        }
        for (const [method, params] of Object.entries(readingMethods)) {
            await resultOf(server, method, params, browser);
        }
        const { roles: listed } = await resultOf(server, "roles.list", {}, server.root);
        assert.ok(!listed.some(({ name }) => name === "some-role"));
        await resultOf(server, "roles.add", { role: "made-by-token" }, server.root);
        await resultOf(server, "roles.add", { role: "made-by-password" }, basic("root", "r00t"));
        await server.stop();
    });
});

suite("a command with a running server", () => {
    let server;
    before(async () => (server = await startAdministered()));
    after(() => server?.stop());

    test("prints what was done, and by which server", async () => {
        const name = nameOf(server);
        const lines = [
            [["account", "add", "dora", "--no-password"], "account dora added "],
            [["account", "grant", "dora", "editor"], "account dora has the role editor "],
            [["account", "grant", "dora", "editor"], "account dora has the role editor already "],
            [["account", "block", "dora"], "account dora is blocked "],
            [["account", "unblock", "dora"], "account dora is active "],
            [["account", "password", "dora", "--no-password"], "password of dora changed "],
            [["role", "add", "judge"], "role judge added "],
            [["role", "allow", "judge", "access content"], "role judge may access content "],
            [["role", "deny", "judge", "access content"], "role judge may not access content "],
            [["role", "remove", "judge"], "role judge removed "],
            [["account", "revoke", "dora", "editor"], "account dora does not have the role editor "],
            [["account", "remove", "dora"], "account dora removed "],
        ];
        for (const [words, line] of lines) {
            const text = await server.cli(...words);
            assert.match(text, name);
            assert.equal(text.replace(name, ""), line);
        }
        const { id, token } = await server.token("alice");
        assert.match(await server.cli("token", "revoke", String(id)), new RegExp(`^token ${id} is revoked by server`));
        assert.equal((await rpc(server, { method: "test.caller", id: 1 }, bearer(token))).status, 401);
        const created = await runCauseway(["token", "create", "alice", "--config", server.config]);
        assert.match(created.stdout, /^cw_\S{43}\n$/);
        assert.match(
            created.stderr,
            new RegExp(`token \\d+, created by server .* \\(pid ${server.pid}\\); it is shown`),
        );
    });

    test("lists the same as without one", async () => {
        await logIn(server, "alice", "s3cret");
        await server.token("alice", "--scope", "content:read");
        const commands = [
            ["account", "list"],
            ["account", "list", "--json"],
            ["account", "show", "alice"],
            ["role", "list"],
            ["role", "list", "--json"],
            ["permission", "list"],
            ["permission", "list", "--json"],
            ["token", "list"],
            ["token", "list", "alice", "--json"],
            ["session", "list", "--json"],
        ];
        const withServer = [];
        for (const words of commands) withServer.push(await server.cli(...words));
        await server.stop();
        for (const [i, words] of commands.entries()) {
            assert.equal(await server.cli(...words), withServer[i], words.join(" "));
        }
        assert.equal(await server.cli("role", "add", "alone"), "role alone added\n");
    });
});

suite("a command with --server", () => {
    let server, tokenFile;
    const fileWith = (text, name) => {
        const file = path.join(keepFolder(), name);
        writeFileSync(file, text, { mode: 0o600 });
        return file;
    };
    before(async () => {
        server = await startAdministered();
        tokenFile = fileWith(`${server.root.Authorization.split(" ")[1]}\n`, "root-token");
    });
    after(() => server?.stop());
    const run = (words, options) => runCauseway([...words, "--server", server.url], options);

    test("and a token file, or a token in the environment, changes that server", async () => {
        const { code, stdout, stderr } = await run(["role", "add", "far", "--token-file", tokenFile]);
        assert.equal(code, 0, stderr);
        assert.match(stdout, nameOf(server));
        const env = { CAUSEWAY_TOKEN: readFileSync(tokenFile, "utf8").trim() };
        const listed = await run(["role", "list", "--json"], { env });
        assert.ok(JSON.parse(listed.stdout).some(({ name }) => name === "far"));
        const added = await run(["account", "add", "far", "--token-file", tokenFile], { input: "long-enough" });
        assert.equal(added.code, 0, added.stderr);
        const shown = await run(["account", "show", "far", "--token-file", tokenFile]);
        assert.equal(JSON.parse(shown.stdout).account.password, true);
        const made = await run(["token", "create", "far", "--json", "--token-file", tokenFile]);
        assert.match(JSON.parse(made.stdout).token, /^cw_/);
        const short = await run(["account", "add", "short", "--token-file", tokenFile], { input: "short" });
        assert.match(short.stderr, /too short/);
        assert.equal(short.code, 2);
    });

    test("and a wrong token, a token without the permission, or none, is refused", async () => {
        const wrong = fileWith(`cw_${"A".repeat(43)}`, "wrong-token");
        const alice = fileWith((await server.token("alice")).token, "alice-token");
        for (const [words, code, message] of [
            [["--token-file", wrong], 1, /the server rejects the token/],
            [["--token-file", alice], 1, /offers no method causeway\.roles\.add to this caller/],
            [["--token-file", "/nonexistent"], 2, /--token-file: .*No such file/],
            [[], 2, /--server needs a token/],
        ]) {
            const answer = await run(["role", "add", "never", ...words]);
            assert.equal(answer.code, code, answer.stderr);
            assert.match(answer.stderr, message);
            assert.equal(answer.stdout, "");
        }
        assert.doesNotMatch(await cli(server.config, "role", "list"), /never/);
    });

    test("against something that is no Causeway fails, and never prints what that sent as a token", async (t) => {
        const bodies = [
            [200, "<h1>It works!</h1>"],
            [404, "not found"],
            [200, '{"jsonrpc":"2.0","id":1,"result":{"token":"\\u001b[31mred"}}'],
            [200, '{"jsonrpc":"2.0","id":1,"result":7}'],
            [200, '{"jsonrpc":"2.0","id":1,"error":"no"}'],
            [200, "[]"],
        ];
        let body;
        const other = http.createServer((request, answer) => {
            request.resume().on("end", () => answer.writeHead(body[0]).end(body[1]));
        });
        await new Promise((resolve) => other.listen(0, "127.0.0.1", resolve));
        t.after(() => other.close());
        const url = `http://127.0.0.1:${other.address().port}`;
        for (body of bodies) {
            const words = ["token", "create", "alice", "--server", url, "--token-file", tokenFile];
            const { code, stdout, stderr } = await runCauseway(words);
            assert.equal(code, 1, `${body[1]}: ${stderr}`);
            assert.match(stderr, /not as a Causeway server does|returned no token/);
            assert.equal(stdout, "");
        }
        body = [200, '{"jsonrpc":"2.0","id":1,"result":{"accounts":{"a":1},"tokens":[1,{"id":"x"}],"roles":[[]]}}'];
        for (const noun of ["account", "role", "token", "session", "permission"]) {
            for (const more of [[], ["--json"]]) {
                const words = [noun, "list", ...more, "--server", url, "--token-file", tokenFile];
                const { signal, stdout } = await runCauseway(words);
                assert.equal(signal, null, words.join(" "));
                assert.ok(!stdout.includes("\u001b"));
            }
        }
        other.closeAllConnections();
        other.close();
        const gone = await runCauseway(["role", "list", "--server", url, "--token-file", tokenFile]);
        assert.equal(gone.code, 1);
        assert.match(gone.stderr, /127\.0\.0\.1/);
    });
});
