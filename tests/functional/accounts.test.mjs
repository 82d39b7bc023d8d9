// Accounts, roles and tokens: who is let in, what they see, and how soon a change counts.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import {
    basic,
    bearer,
    call,
    cli,
    databasePath,
    discover,
    roles,
    shortToken,
    startAccounts,
} from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { assertRpcError, EventStream, modern, ownName, rpc, startBridge } from "./support/mcp.mjs";
import { scrape } from "./support/metrics.mjs";
import { noDatabase, oneReplica, patience, stopwatch, runCauseway, writeConfig } from "./support/programs.mjs";
import { send } from "./support/rest.mjs";
import { eventually, inParallel, pause } from "./support/server.mjs";

const caller = { method: "test.caller", id: 1 };
const alice = basic("alice", "s3cret");
const bob = basic("bob", "b0b");
const soon = patience(1_000);

// What could tell two answers apart.
function shown({ status, headers, text }) {
    return { status, text, headers: [...headers].filter(([name]) => name !== "date" && name !== "x-request-id") };
}

async function assertCalls(server, headers) {
    const answer = await rpc(server, caller, headers);
    assert.equal(answer.status, 200, answer.text);
    return answer.json.result;
}

// Until an answer has this status; it must come within a second of the change.
async function untilStatus(server, headers, status, message = caller) {
    const look = async () => (await rpc(server, message, headers)).status === status;
    await eventually(look, `the status ${status}`, soon);
}

suite("a password", () => {
    let server;
    before(async () => (server = await startAccounts()));
    after(() => server?.stop());

    test("lets an account in, and the method learns who calls", async () => {
        const result = await assertCalls(server, alice);
        assert.equal(result.name, "alice");
        assert.equal(result.id, "1");
        assert.equal(result.language, "en");
        assert.deepEqual(result.permissions, ["access content", discover, call]);
        assert.ok(!JSON.stringify(result).includes("s3cret"));
    });

    test("is quick the second time", async () => {
        await assertCalls(server, alice);
        await assertCalls(server, alice);
        const elapsed = stopwatch();
        for (let i = 0; i < 20; i += 1) {
            await assertCalls(server, alice);
        }
        assert.ok(elapsed() < patience(1_000), `${elapsed()} ms`);
    });

    test("threat-C8: that is wrong, of no account, or of a blocked account is refused with the same bytes", async () => {
        await server.cli("account", "add", "mallory", { input: "m" });
        await server.cli("account", "block", "mallory");
        const wrong = await rpc(server, caller, basic("alice", "wrong"));
        assertRpcError(wrong, 401, -32000, null);
        const challenge = wrong.headers.get("www-authenticate");
        assert.match(challenge, /^Bearer realm="MCP Tools", error="invalid_token"/);
        assert.match(challenge, /, Basic realm="MCP Tools", charset="UTF-8"$/);
        for (const [name, password] of [
            ["nobody", "x"],
            ["mallory", "m"],
            ["Alice", "s3cret"],
        ]) {
            const answer = await rpc(server, caller, basic(name, password));
            assert.deepEqual(shown(answer), shown(wrong));
        }
    });

    test("that is wrong is refused before anything else is looked at", async () => {
        const headers = { ...basic("alice", "wrong again"), "Content-Type": "text/plain" };
        assert.equal((await rpc(server, caller, headers)).status, 401);
        assert.equal((await modern(server, "no/such", {}, { headers })).status, 401);
    });

    test("threat-C12, check-84: does not satisfy scopes", async () => {
        const answer = await rpc(server, { method: "test.scoped", id: 1 }, alice);
        const { data } = assertRpcError(answer, 401, -32000, 1);
        assert.equal(data.missing_scopes.length, data.required_scopes.length);
        assert.match(answer.headers.get("www-authenticate"), /^Bearer realm="MCP Tools", scope="/);
    });

    test("does not matter to whoever shows none", async () => {
        const { status } = await rpc(server, { method: "test.nothing", id: 1 });
        assert.equal(status, 400);
    });

    test("is not taken twice in one request", async () => {
        const { status } = await fetch(`${server.url}/jsonrpc`, {
            method: "POST",
            headers: [
                ["Authorization", alice.Authorization],
                ["authorization", bob.Authorization],
            ],
            body: "{}",
        });
        assert.equal(status, 401);
    });

    test("threat-C11: is found neither in the database nor in the log", async () => {
        const { token } = await server.token("alice");
        await assertCalls(server, bearer(token));
        await rpc(server, caller, basic("alice", "c4nary-password"));
        for (const file of [...server.databaseFiles(), server.logFile]) {
            const text = readFileSync(file, "latin1");
            for (const secret of ["s3cret", "c4nary-password", token]) {
                assert.ok(!text.includes(secret), `${secret} in ${file}`);
            }
        }
    });
});

suite("what an account sees", () => {
    let server;
    before(async () => (server = await startAccounts()));
    after(() => server?.stop());

    const names = async (headers) => {
        const { status, json } = await modern(server, "tools/list", {}, { headers });
        assert.equal(status, 200);
        assert.equal(json.result.cacheScope, "private");
        return json.result.tools.map(ownName);
    };

    test("depends on its roles", async () => {
        assert.deepEqual(await names({}), []);
        assert.deepEqual(await names(bob), []);
        assert.ok((await names(alice)).includes("test.echo"));
        assert.ok(!(await names(alice)).includes("test.admin"));
    });

    test("is the same for what is unknown and what is forbidden", async () => {
        const forbidden = await rpc(server, { method: "test.admin", id: 1 }, alice);
        const unknown = await rpc(server, { method: "test.admim", id: 1 }, alice);
        assertRpcError(forbidden, 400, -32601, 1);
        assert.deepEqual(shown(forbidden), shown(unknown));
    });

    test("changes within a second", async () => {
        await untilStatus(server, bob, 400);
        await server.cli("account", "grant", "bob", "editor");
        await untilStatus(server, bob, 200);
        await server.cli("account", "revoke", "bob", "editor");
        await untilStatus(server, bob, 400);
        await server.cli("role", "add", "guests");
        await server.cli("account", "grant", "bob", "guests");
        await server.cli("role", "allow", "guests", "access content");
        await untilStatus(server, bob, 200);
        await server.cli("role", "deny", "guests", "access content");
        await untilStatus(server, bob, 400);
        await server.cli("role", "allow", "authenticated", "access content");
        await untilStatus(server, bob, 200);
        await server.cli("role", "deny", "authenticated", "access content");
        await server.cli("role", "remove", "guests");
        await untilStatus(server, bob, 400);
    });

    test("threat-C13: ends within a second when it is blocked, removed or given another password", async () => {
        await server.cli("account", "add", "carol", "--role", "editor", { input: "1" });
        const carol = basic("carol", "1");
        await assertCalls(server, carol);
        await server.cli("account", "block", "carol");
        await untilStatus(server, carol, 401);
        await server.cli("account", "unblock", "carol");
        await untilStatus(server, carol, 200);
        await server.cli("account", "password", "carol", { input: "2" });
        await untilStatus(server, carol, 401);
        await assertCalls(server, basic("carol", "2"));
        await server.cli("account", "remove", "carol");
        await untilStatus(server, basic("carol", "2"), 401);
    });

    test("includes what the anonymous role is given in the database", async () => {
        await untilStatus(server, {}, 400);
        await server.cli("role", "allow", "anonymous", "access content");
        await untilStatus(server, {}, 200);
        await server.cli("role", "deny", "anonymous", "access content");
        await untilStatus(server, {}, 400);
    });

    test("is told as its own language", async () => {
        const words = ["--role", "editor", "--language", "de"];
        await server.cli("account", "add", "dora", ...words, { input: "d" });
        assert.equal((await assertCalls(server, basic("dora", "d"))).language, "de");
    });

    test("threat-C13: is listened to by a stream that ends when accounts change", async () => {
        const params = { notifications: { toolsListChanged: true } };
        const stream = await EventStream.open(server, "subscriptions/listen", params, {
            headers: alice,
        });
        assert.equal(stream.status, 200);
        await stream.next();
        await server.cli("account", "revoke", "alice", "editor");
        assert.equal((await stream.next()).method, "notifications/tools/list_changed");
        const { result } = await stream.next();
        assert.equal(result.resultType, "complete");
        await server.cli("account", "grant", "alice", "editor");
    });
});

suite("a token", () => {
    let server;
    before(async () => (server = await startAccounts()));
    after(() => server?.stop());
    const scoped = { method: "test.scoped", id: 1 };

    test("names its account", async () => {
        const { token } = await server.token("alice");
        assert.match(token, /^cw_[A-Za-z0-9_-]{43}$/);
        assert.equal((await assertCalls(server, bearer(token))).name, "alice");
        const { status } = await rpc(server, caller, { Authorization: `bEARER  ${token}` });
        assert.equal(status, 200);
    });

    test("with all scopes may call (check-82), and with some is told which are missing (check-81)", async () => {
        const none = await rpc(server, scoped, bearer((await server.token("alice")).token));
        const required = assertRpcError(none, 403, -32000, 1).data.required_scopes;
        assert.equal(required.length, 2);
        const [first, second] = required;
        const one = await rpc(server, scoped, bearer((await server.token("alice", "-s", first)).token));
        const { data, message } = assertRpcError(one, 403, -32000, 1);
        assert.equal(message, "Insufficient scope");
        const expected = { required_scopes: required, missing_scopes: [second], current_scopes: [first] };
        assert.deepEqual(data, expected);
        assert.equal(
            one.headers.get("www-authenticate"),
            `Bearer realm="MCP Tools", error="insufficient_scope", scope="${second}"`,
        );
        const both = await server.token("alice", "-s", first, "-s", second);
        assert.equal((await rpc(server, scoped, bearer(both.token))).status, 200);
        const tools = await modern(
            server,
            "tools/call",
            { name: "test.scoped" },
            {
                headers: bearer(both.token),
            },
        );
        assert.equal(tools.status, 200, tools.text);
    });

    test("threat-C12, row-D15: on /mcp is told all scopes that are needed", async () => {
        const { token } = await server.token("alice", "-s", "a:read");
        const headers = bearer(token);
        const answer = await modern(server, "tools/call", { name: "test.scoped" }, { headers });
        assert.equal(answer.status, 403, answer.text);
        const { required_scopes: required } = answer.json.error.data;
        const challenge = answer.headers.get("www-authenticate");
        assert.ok(challenge.endsWith(`scope="${required.join(" ")}"`), challenge);
    });

    test("without the permissions does not learn that the method exists", async () => {
        const { token } = await server.token("bob", "-s", "admin:access");
        assert.equal((await rpc(server, scoped, bearer(token))).status, 400);
    });

    test("that is garbage, expired or revoked is refused with the same bytes (check-78 to check-80)", async () => {
        const isGood = async (token) => (await rpc(server, caller, bearer(token))).status === 200;
        const short = await shortToken((...words) => server.token("alice", ...words), isGood);
        const revoked = await server.token("alice");
        await assertCalls(server, bearer(revoked.token));
        await server.cli("token", "revoke", String(revoked.id));
        await untilStatus(server, bearer(revoked.token), 401);
        await pause(Math.max(0, Date.parse(short.expires) - Date.now()) + 50);
        const garbage = await rpc(server, caller, bearer("garbage"));
        assertRpcError(garbage, 401, -32000, null);
        for (const token of [short.token, revoked.token, `cw_${"A".repeat(43)}`, ""]) {
            assert.deepEqual(shown(await rpc(server, caller, bearer(token))), shown(garbage));
        }
    });

    test("of a blocked account is refused within a second", async () => {
        await server.cli("account", "add", "eve", "--no-password", "--role", "editor");
        const { token } = await server.token("eve");
        await assertCalls(server, bearer(token));
        assert.equal((await rpc(server, caller, basic("eve", ""))).status, 401);
        await server.cli("account", "block", "eve");
        await untilStatus(server, bearer(token), 401);
    });
});

suite("the discovery permission", () => {
    let server;
    before(async () => {
        server = await startAccounts({ config: { roles: { authenticated: [call] } }, accounts: false });
        await server.cli("account", "add", "bob", { input: "b0b" });
    });
    after(() => server?.stop());

    test("missing on /mcp challenges the anonymous and refuses an account", async () => {
        const anonymous = await modern(server, "tools/list");
        assert.equal(anonymous.status, 401);
        assert.equal(
            anonymous.headers.get("www-authenticate"),
            'Bearer realm="MCP Tools", Basic realm="MCP Tools", charset="UTF-8"',
        );
        const account = await modern(server, "tools/list", {}, { headers: bob });
        assert.equal(account.status, 403);
        assert.equal(account.headers.get("www-authenticate"), null);
    });
});

suite("failures", () => {
    test("threat-C9: of one account make it wait, with and without an account behind the name", async () => {
        const server = await startAccounts();
        await assertCalls(server, alice);
        await assertCalls(server, alice);
        for (const name of ["alice", "nobody"]) {
            const guess = (i) => rpc(server, caller, basic(name, `guess ${i}`));
            for (let i = 0; i < 5; i += 1) {
                assert.equal((await guess(i)).status, 401, `guess ${i}`);
            }
            // The delay is a second, and twice as long after each failure: a busy machine may outlast the first ones.
            let refused;
            for (let i = 5, inARow = 0; inARow < 2; i += 1) {
                assert.ok(i < 12, "two guesses in a row have to wait");
                refused = await guess(i);
                inARow = refused.status === 429 ? inARow + 1 : 0;
            }
            assertRpcError(refused, 429, -32000, null);
            assert.ok(Number(refused.headers.get("retry-after")) >= 1);
            assert.equal(refused.headers.get("cache-control"), "no-store");
        }
        await server.stop();
    });

    test("threat-C9: of one address make it wait whatever the names", async () => {
        const server = await startAccounts();
        let status = 401;
        for (let i = 0; i < 25 && status === 401; i += 1) {
            status = (await rpc(server, caller, basic(`nobody ${i}`, "x"))).status;
        }
        assert.equal(status, 429);
        const { token } = await server.token("alice");
        await assertCalls(server, bearer(token));
        await server.stop();
    });

    const behindProxy = {
        loops: 1,
        trusted_proxies: ["127.0.0.0/8"],
        access: { allow_plaintext_passwords: true },
    };
    const from = (server, address, credentials) => rpc(server, caller, { ...credentials, "X-Forwarded-For": address });

    // Guesses from many networks, until the next one has to wait for some seconds.
    async function untilDelayed(server, name) {
        let seconds = 0;
        let asked;
        for (let i = 0; i < 20 && seconds < 4; i += 1) {
            await pause(seconds * 1_000);
            asked = Date.now();
            const answer = await from(server, `203.0.113.${i}`, basic(name, `guess ${i}`));
            seconds = Number(answer.headers.get("retry-after") ?? 0);
        }
        assert.ok(seconds >= 4, `${seconds} s`);
        return { seconds, asked };
    }

    test("threat-C9: guesses of others do not lock out a network that logged in before", async () => {
        const server = await startAccounts({ config: behindProxy });
        assert.equal((await from(server, "192.0.2.1", alice)).status, 200);
        // A new password, so that nothing that is remembered helps.
        await cli(server.config, "account", "password", "alice", { input: "n3w-s3cret" });
        const changed = basic("alice", "n3w-s3cret");
        const isOld = async () => (await from(server, "192.0.2.77", alice)).status === 401;
        await eventually(isOld, "the new password");
        // Until the right password has to wait, too, in a network that is unknown.
        for (let round = 1, status = 200; status !== 429; round += 1) {
            const { seconds, asked } = await untilDelayed(server, "alice");
            ({ status } = await from(server, `198.51.${round}.1`, changed));
            // Unless the machine stood still for so long.
            assert.ok(status === 429 || (round < 5 && Date.now() - asked > (seconds - 1) * 1_000), `${status}`);
        }
        assert.equal((await from(server, "192.0.2.1", changed)).status, 200);
        await server.stop();
    });

    test("threat-C9: every spelling of a header is one login", async () => {
        const audit = path.join(keepFolder(), "spellings.jsonl");
        const server = await startAccounts({ config: { loops: 1, audit: { path: audit } } });
        const loginsOf = (name) =>
            readFileSync(audit, "utf8")
                .split("\n")
                .filter((line) => line.includes('"login"') && line.includes(`"caller":"${name}"`));
        // A server that has just started may still read the database: then logins are verified again.
        const isSettled = async () => {
            await rpc(server, caller, bob);
            await eventually(() => existsSync(audit) && loginsOf("bob").length > 0, "a login of bob");
            const before = loginsOf("bob").length;
            await pause(300);
            await rpc(server, caller, bob);
            await pause(50);
            return loginsOf("bob").length === before;
        };
        await eventually(isSettled, "a login that is kept", 10_000);
        const [, secret] = alice.Authorization.split(" ");
        for (const header of [`Basic ${secret}`, `basic ${secret}`, `BASIC    ${secret}`, `bAsIc ${secret}`]) {
            await assertCalls(server, { Authorization: header });
        }
        await server.stop();
        assert.equal(loginsOf("alice").length, 1, loginsOf("alice").join("\n"));
    });

    test("threat-C9: do not delay credentials that another event loop has verified", { skip: oneReplica }, async () => {
        const anonymous = [discover, call, "view metrics"];
        const server = await startAccounts({
            config: { ...behindProxy, loops: 4, roles: { ...roles, anonymous } },
        });
        // Logins that a loop does not know itself.
        const lookedUp = async () =>
            (await scrape(server)).value("causeway_logins_total", { credentials: "password", outcome: "ok" });
        for (let round = 1, isShown = false; !isShown; round += 1) {
            assert.ok(round < 10, "the account must wait until all have logged in");
            const name = `user ${round}`;
            await server.cli("account", "add", name, "--role", "editor", { input: "s3cret" });
            const right = basic(name, "s3cret");
            assert.equal((await from(server, "192.0.2.1", right)).status, 200);
            await untilDelayed(server, name);
            const before = await lookedUp();
            // Each comes on a connection of its own, and from a network that is unknown.
            const answers = [];
            await inParallel([...Array(32).keys()], 8, async (i) => {
                const answer = await send(server, "POST", "/jsonrpc", {
                    headers: {
                        ...{ "Content-Type": "application/json", "X-Forwarded-For": `198.51.${round}.${i + 1}` },
                        ...right,
                    },
                    body: JSON.stringify({ jsonrpc: "2.0", ...caller }),
                });
                answers.push(answer.status);
            });
            assert.deepEqual([...new Set(answers)], [200]);
            assert.ok((await lookedUp()) >= before + 2, "several loops");
            // Unless the machine stood still for so long, unknown credentials had to wait all the time.
            isShown = (await from(server, `198.51.${round}.100`, basic(name, "wrong"))).status === 429;
        }
        await server.stop();
    });

    test("threat-C9: in a flood leave other callers alone", async () => {
        const server = await startAccounts();
        const { token } = await server.token("alice");
        await assertCalls(server, bearer(token));
        const flood = Array.from({ length: 300 }, (_, i) => rpc(server, caller, basic(`nobody ${i}`, "x")));
        const times = [];
        for (let i = 0; i < 30; i += 1) {
            const begin = performance.now();
            await assertCalls(server, bearer(token));
            times.push(performance.now() - begin);
        }
        times.sort((a, b) => a - b);
        assert.ok(times[15] < patience(250), `median ${times[15]} ms`);
        const statuses = new Set((await Promise.all(flood)).map(({ status }) => status));
        assert.deepEqual([...statuses].sort(), [401, 429]);
        await server.stop();
    });
});

suite("clear text", () => {
    const address = Object.values(networkInterfaces())
        .flat()
        .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

    test("threat-A12: passwords of other machines are refused, tokens are not", { skip: !address }, async () => {
        for (const clear_text_passwords of [false, true]) {
            const server = await startAccounts({
                config: { access: { allow_plaintext_passwords: clear_text_passwords }, hosts: ["*"] },
                args: ["--listen", "0.0.0.0:0"],
            });
            await server.untilLogged(/passwords are (refused|taken) from other machines/);
            const outside = { url: `http://${address}:${server.port}` };
            const { token } = await server.token("alice");
            const answer = await rpc(outside, caller, alice);
            assert.equal(answer.status, clear_text_passwords ? 200 : 403, answer.text);
            assert.equal((await rpc(outside, caller, bearer(token))).status, 200);
            await server.stop();
        }
    });
});

suite("without a database", () => {
    test("credentials are wrong ones, as they always were", { skip: noDatabase }, async () => {
        const server = await startBridge();
        const answer = await rpc(server, caller, alice);
        assertRpcError(answer, 401, -32000, null);
        assert.ok(!answer.headers.get("www-authenticate").includes("Basic"));
        await server.stop();
    });

    test("the commands say what is missing", async () => {
        const config = writeConfig({});
        for (const words of [
            ["account", "list"],
            ["role", "list"],
            ["token", "list"],
        ]) {
            const { code, stderr } = await runCauseway([...words, "--config", config]);
            assert.equal(code, 2);
            assert.match(stderr, /set store\.path in the configuration/);
        }
        const path = databasePath();
        const absent = await runCauseway(["account", "list", "--config", writeConfig({ store: { path } })]);
        assert.equal(absent.code, 1);
        assert.match(absent.stderr, /does not exist/);
    });
});

suite("the commands", () => {
    let config;
    before(() => {
        const path = databasePath();
        config = writeConfig({ store: { path }, roles: { editor: ["edit"], anonymous: ["see"] } });
    });
    const run = (...words) => {
        const options = typeof words.at(-1) === "object" ? words.pop() : {};
        return runCauseway([...words, "--config", config], options);
    };

    test("add, list, show and remove accounts", async () => {
        const added = await run("account", "add", "zoë", "--role", "editor", { input: "x-23456 8\n" });
        assert.equal(added.stdout, "account zoë added\n");
        const [account] = JSON.parse((await run("account", "list", "--json")).stdout);
        assert.equal(account.name, "zoë");
        assert.deepEqual(account.roles, ["editor"]);
        assert.equal(account.state, "active");
        assert.match((await run("account", "list")).stdout, /^zoë +active +editor$/m);
        const { permissions } = JSON.parse((await run("account", "show", "zoë")).stdout);
        // "see" is what the role "anonymous" has; every account has it, too.
        assert.deepEqual(permissions, ["edit", "see"]);
        assert.equal((await run("account", "remove", "zoë")).code, 0);
        assert.deepEqual(JSON.parse((await run("account", "list", "--json")).stdout), []);
    });

    test("refuse passwords that are too short, by characters", async () => {
        const add = (name, input, ...more) => run("account", "add", name, ...more, { input });
        const refused = await add("shorty", "1234567");
        assert.equal(refused.code, 1);
        assert.match(refused.stderr, /too short: it needs 8 characters \(access\.password_length\)/);
        assert.equal((await add("umlaut", "öäüßöäü")).code, 1);
        assert.equal((await add("umlaut", "öäüßöäüß")).code, 0);
        const changed = await run("account", "password", "umlaut", { input: "1234567" });
        assert.equal(changed.code, 1);
        const strict = writeConfig({
            roles: { editor: ["edit"] },
            store: { path: databasePath() },
            access: { password_length: 12 },
        });
        const words = ["account", "add", "ada", "--config", strict];
        assert.match((await runCauseway(words, { input: "12345678901" })).stderr, /needs 12 characters/);
        assert.equal((await runCauseway(words, { input: "123456789012" })).code, 0);
    });

    test("refuse what makes no sense, and say why", async () => {
        await run("account", "add", "zed", "--no-password");
        for (const [words, code, message] of [
            [["account", "add", "zed", "--no-password"], 1, /'zed' exists already/],
            [["account", "add", "a:b"], 2, /not the name of an account/],
            [["account", "add", "anonymous"], 2, /not the name of an account/],
            [["account", "add", "y", "--role", "nope", "--no-password"], 1, /no role 'nope'.*"causeway role add"/],
            [["account", "add", "y"], 1, /password is empty/],
            [["account", "add"], 2, /name the account/],
            [["account", "grant", "zed"], 2, /usage/],
            [["account", "block", "nobody"], 1, /no account 'nobody'/],
            [["account", "password", "nobody", "--no-password"], 1, /no account 'nobody'/],
            [["role", "remove", "anonymous"], 1, /built in/],
            [["role", "allow", "nope", "x"], 1, /no role 'nope'.*"causeway role add"/],
            [["role", "add", ""], 2, /not the name of a role/],
            [["token", "create", "nobody"], 1, /no account 'nobody'/],
            [["token", "create", "zed", "--expires", "soon"], 2, /not a time/],
            [["token", "create", "zed", "--scope", "a b"], 2, /not a scope/],
            [["token", "revoke", "77"], 1, /no token 77/],
            [["token", "revoke", "x"], 2, /number of the token/],
        ]) {
            const answer = await run(...words);
            assert.equal(answer.code, code, `${words.join(" ")}: ${answer.stderr}`);
            assert.match(answer.stderr, message);
            assert.equal(answer.stdout, "");
        }
    });

    test("threat-C11: read passwords from a file or standard input only", async () => {
        const help = (await run("account", "add", "--help")).stdout;
        assert.ok(!/--password[ =]/.test(help));
        const file = writeConfig("fr0m-file\n");
        assert.equal((await run("account", "add", "f", "--password-file", file)).code, 0);
        assert.equal((await run("account", "add", "g", "--password-file", "-", { input: "p-345678" })).code, 0);
        assert.match((await run("account", "add", "h", "--password-file", "/nonexistent")).stderr, /open/);
        const long = { input: "x".repeat(1025) };
        assert.match((await run("account", "add", "i", long)).stderr, /1 to 1024 bytes/);
    });

    test("suggest the permission that a typing error is near to, and leave right ones alone", async () => {
        await run("role", "add", "watchers");
        const allow = async (permission) => (await run("role", "allow", "watchers", permission)).stdout;
        assert.match(
            await allow("view traffics"),
            /\nno method requires view traffics; did you mean "view traffic"\?\n$/,
        );
        for (const permission of ["view traffic", "view audit", "view arguments", call]) {
            assert.equal(await allow(permission), `role watchers may ${permission}\n`);
        }
        await run("role", "remove", "watchers");
    });

    test("list roles, permissions, scopes and tokens", async () => {
        await run("role", "add", "writers");
        await run("role", "allow", "writers", "write");
        const roles = JSON.parse((await run("role", "list", "--json")).stdout);
        assert.deepEqual(
            roles.find(({ name }) => name === "writers"),
            {
                name: "writers",
                from: "database",
                permissions: ["write"],
            },
        );
        assert.ok(roles.some(({ name, from }) => name === "editor" && from === "configuration"));
        // One line for each permission; a role without permissions has one line.
        await run("role", "add", "idle");
        const lines = (await run("role", "list")).stdout.split("\n");
        assert.deepEqual(
            lines.filter((line) => /^(writers|idle) /.test(line)).map((line) => line.split(/\s+/)),
            [
                ["idle", "database", "-"],
                ["writers", "database", "write"],
            ],
        );
        await run("role", "remove", "idle");
        const permissions = JSON.parse((await run("permission", "list", "--json")).stdout);
        assert.deepEqual(permissions, [discover, "edit", "see", call, "write"]);
        const scopes = JSON.parse((await runCauseway(["scope", "list", "--json"])).stdout);
        assert.equal(scopes.length, 8);
        const labelled = writeConfig({ access: { scopes: { "stock:write": "Change Stock", profile: "x" } } });
        const plain = writeConfig({ access: { scopes: ["stock:read", "profile"] } });
        const listed = async (file) => JSON.parse(await cli(file, "scope", "list", "--json")).slice(8);
        assert.deepEqual(await listed(labelled), [{ name: "stock:write", label: "Change Stock", description: "" }]);
        assert.deepEqual(await listed(plain), [{ name: "stock:read", label: "", description: "" }]);
        assert.match(await cli(labelled, "scope", "list"), /^stock:write +Change Stock *$/m);
        const made = await run("token", "create", "zed", "-n", "ci", "-s", "odd", "--expires", "30d");
        assert.match(made.stdout, /^cw_\S{43}\n$/);
        assert.match(made.stderr, /the scope "odd" is not one of/);
        const [token] = JSON.parse((await run("token", "list", "zed", "--json")).stdout);
        assert.equal(token.name, "ci");
        assert.deepEqual(token.scopes, ["odd"]);
        assert.equal(token.state, "active");
        assert.ok(Math.abs(Date.parse(token.expires) - Date.now() - 30 * 86_400_000) < 60_000);
        assert.ok(!JSON.stringify(token).includes(made.stdout.trim()));
        await run("token", "revoke", String(token.id));
        assert.match((await run("token", "list")).stdout, /revoked/);
    });
});
