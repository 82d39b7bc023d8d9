// Rotation of the key that seals what clients carry: sessions, cursors, states of calls, OAuth clients and tokens.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { databasePath, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { logIn } from "./support/login.mjs";
import { legacy, metaKey, modern, permissions, reloadBridge, startBridge } from "./support/mcp.mjs";
import { allow, token } from "./support/oauth-server.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";
import { noDatabase, oneReplica, patience, runCauseway, writeConfig } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";

const plugins = ["conformance"];
const roles = { anonymous: permissions, authenticated: permissions, editor: [] };
const capabilities = { elicitation: { form: {} } };
const meta = { [metaKey("clientCapabilities")]: capabilities };
const redirect_uri = "http://127.0.0.1:9/callback";
const sealKeys = async (server) =>
    JSON.parse(await server.cli("key", "list", "--json")).filter(({ use }) => use === "seal");
const statesOf = async (server) => (await sealKeys(server)).map(({ id, state }) => `${id} ${state}`);

// ---- what clients carry ----

async function openSession(server) {
    const params = { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "test", version: "1" } };
    const answer = await legacy(server, "initialize", params);
    assert.equal(answer.status, 200, answer.text);
    return { "Mcp-Session-Id": answer.headers.get("mcp-session-id") };
}

const pingStatus = async (server, headers) => (await legacy(server, "ping", undefined, { headers })).status;

async function firstPage(server) {
    const { json, text } = await modern(server, "tools/list");
    assert.ok(json?.result?.nextCursor, text);
    return json.result.nextCursor;
}

const nextPage = (server, cursor) => modern(server, "tools/list", { cursor });
const question = { name: "test_elicitation", arguments: { message: "Who?" } };

async function askQuestion(server) {
    const { json, text } = await modern(server, "tools/call", question, { meta });
    assert.equal(json?.result?.resultType, "input_required", text);
    return json.result.requestState;
}

const user = { action: "accept", content: { username: "ada", email: "e@example.org" } };
const answerQuestion = (server, requestState) =>
    modern(server, "tools/call", { ...question, inputResponses: { user }, requestState }, { meta });

const carry = async (server) => ({
    session: await openSession(server),
    cursor: await firstPage(server),
    state: await askQuestion(server),
});

async function assertOpens(server, { session, cursor, state }) {
    assert.equal(await pingStatus(server, session), 200);
    assert.ok((await nextPage(server, cursor)).json?.result?.tools);
    const answered = await answerQuestion(server, state);
    assert.match(answered.text, /action=accept/);
}

// What the documentation promises of texts whose key has left.
async function assertEnded(server, { session, cursor, state }) {
    assert.equal(await pingStatus(server, session), 404);
    assert.match((await nextPage(server, cursor)).json.error.message, /cursor is not one of this list/);
    assert.match((await answerQuestion(server, state)).json.error.message, /requestState is not valid/);
}

// ---- OAuth clients ----

async function register(server) {
    const answer = await fetch(`${server.url}/register`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ redirect_uris: [redirect_uri] }),
    });
    assert.equal(answer.status, 201);
    return await answer.json();
}

// The tokens of a dynamic client that authenticates with its secret.
async function grantTo(server, cookie, { client_id, client_secret }) {
    const given = await allow(server, cookie, { client_id, redirect_uri });
    const fields = { grant_type: "authorization_code", code: given.code, code_verifier: given.verifier, redirect_uri };
    const answer = await token(server, { ...fields, client_id, client_secret });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
}

const refresh = (server, { client_id, client_secret }, refresh_token) =>
    token(server, { grant_type: "refresh_token", refresh_token, client_id, client_secret });

// ---- rotations ----

const rotate = (server, ...more) => server.cli("key", "rotate", "--seal", ...more);

// A new key seals ten seconds after its rotation. Returns whether that time, counted from now, still runs.
function beginWait() {
    const begin = Date.now();
    return () => Date.now() - begin < 10_000;
}

// The states of the keys while the newest one waits. A machine that stood still may be too late to see them.
async function assertStates(server, expected, isWaiting) {
    const states = await statesOf(server);
    if (isWaiting()) {
        assert.deepEqual(states, expected);
    }
}

// Wait as long as the product does.
async function untilSealing(server, id) {
    const isCurrent = async () => (await statesOf(server)).includes(`${id} current`);
    await eventually(isCurrent, `${id} seals`, patience(15_000));
    // The servers have the time of the database, which may be some ms behind.
    await pause(200);
}

// Let the newest key begin at once. Servers that run have read it, and wait all the same.
const hurry = `UPDATE secret SET begins = ${Date.now()} WHERE begins > ${Date.now()}`;

suite("with one server and a file", { skip: oneReplica }, () => {
    const store = { path: databasePath() };
    const audit = path.join(keepFolder(), `seal-audit-${randomBytes(4).toString("hex")}.log`);
    let server, cookie;
    const begin = (accounts) =>
        startAccounts({
            plugins,
            accounts,
            config: {
                roles,
                store,
                mcp: { page_size: 1 },
                audit: { path: audit },
                access: { server: { enabled: true, token_format: "jwt", dynamic_registration: true } },
            },
        });
    before(async () => {
        server = await begin(true);
        ({ cookie } = await logIn(server, "alice", "s3cret"));
    });
    after(() => server?.stop());
    const hurryUp = () => execFileSync("sqlite3", ["-cmd", ".timeout 5000", store.path, hurry]);

    test("old texts live for two rotations, and end with the third", { timeout: 120_000 }, async () => {
        assert.deepEqual(await statesOf(server), ["seal/1 current"]);
        const old = await carry(server);
        const client = await register(server);
        const tokens = await grantTo(server, cookie, client);
        const idle = await grantTo(server, cookie, client);
        const isWaiting = beginWait();
        assert.match(await rotate(server), /^key seal\/2 seals what clients carry from \d{4}-.*Z on$/m);
        const early = await runCauseway(["key", "rotate", "--seal", "--now", "--config", server.config]);
        assert.notEqual(early.code, 0);
        assert.match(early.stderr, /the newest key begins to seal in \d+ s: wait until then/);
        await assertStates(server, ["seal/2 next", "seal/1 current"], isWaiting);
        const between = await carry(server);
        await untilSealing(server, "seal/2");
        const fresh = await carry(server);
        for (const texts of [old, between, fresh]) {
            await assertOpens(server, texts);
        }
        // The client keeps its id and secret, and its refresh token.
        const renewed = await refresh(server, client, tokens.refresh_token);
        assert.equal(renewed.status, 200, renewed.text);
        const wrong = await refresh(server, { ...client, client_secret: "x" }, renewed.json.refresh_token);
        assert.equal(wrong.status, 401, wrong.text);
        const second = await register(server);
        assert.notEqual(second.client_id, client.client_id);
        await rotate(server);
        hurryUp();
        await assertOpens(server, old);
        // Sessions of the oldest key are alive: the next rotation would end them.
        const third = await runCauseway(["key", "rotate", "--seal", "--config", server.config]);
        assert.notEqual(third.code, 0);
        assert.match(third.stderr, /sessions may be alive until .*Z.* or end them with --now/);
        await assertOpens(server, old);
        const isWaitingAgain = beginWait();
        await rotate(server, "--now");
        await assertStates(server, ["seal/4 next", "seal/3 current", "seal/2 old"], isWaitingAgain);
        await assertEnded(server, old);
        await assertEnded(server, between);
        await assertOpens(server, fresh);
        assert.equal((await refresh(server, client, idle.refresh_token)).json.error, "invalid_client");
        const kept = await grantTo(server, cookie, second);
        assert.equal((await refresh(server, second, kept.refresh_token)).status, 200);
    });

    test("a list that was cached gets cursors of the new key", async () => {
        const cursor = await firstPage(server);
        for (let i = 0; i < 3; i += 1) {
            hurryUp();
            await rotate(server, "--now");
            assert.ok((await nextPage(server, await firstPage(server))).json?.result?.tools);
        }
        assert.ok((await nextPage(server, cursor)).json.error);
    });

    test("a rotation without a server counts, and all that the database keeps survives", async () => {
        const texts = await carry(server);
        await server.stop();
        hurryUp();
        const alone = await runCauseway(["key", "rotate", "--seal", "--now", "--config", server.config]);
        assert.equal(alone.code, 0, alone.stderr);
        server = await begin(false);
        assert.equal((await sealKeys(server)).length, 3);
        await assertOpens(server, texts);
        // The key that signs access tokens was made six keys ago.
        ({ cookie } = await logIn(server, "alice", "s3cret"));
        const client = await register(server);
        assert.match((await grantTo(server, cookie, client)).access_token, /^ey/);
    });

    test("each rotation is in the audit, and no key is printed", async () => {
        const lines = () => readFileSync(audit, "utf8").trim().split("\n").map(JSON.parse);
        const isRotation = (line) => /causeway\.keys\.rotate|key rotate/.test(JSON.stringify(line));
        await eventually(() => lines().filter(isRotation).length >= 7, "records of rotations");
        const alone = lines().filter((line) => JSON.stringify(line).includes('"key rotate'));
        assert.equal(alone.length, 1);
        assert.match(JSON.stringify(alone[0]), /seal/);
        const listed = await server.cli("key", "list", "--json");
        const stored = execFileSync("sqlite3", [store.path, "SELECT lower(hex(value)) FROM secret"], {
            encoding: "utf8",
        });
        for (const key of stored.trim().split("\n")) {
            const base64 = Buffer.from(key, "hex").toString("base64url");
            assert.ok(!listed.includes(key) && !listed.includes(base64));
        }
        assert.match(await server.cli("key", "list"), /^seal\/\d+ +seal +XC20P +(next|current|old) /m);
    });
});

suite("three servers with one PostgreSQL", { skip: skipped || oneReplica }, () => {
    let postgres, servers, url;
    const begin = (accounts) =>
        startAccounts({ plugins, accounts, config: { roles, store: { url }, mcp: { page_size: 1 } } });
    before(async () => {
        postgres = await startPostgres();
        url = postgres.newDatabase();
        servers = [await begin(true)];
        servers.push(...(await Promise.all([begin(false), begin(false)])));
    });
    after(async () => {
        await Promise.all((servers ?? []).map((server) => server.stop()));
        await postgres?.stop();
    });
    const hurryUp = () => postgres.run(hurry, new URL(url.replace("@/", "@x/")).pathname.slice(1));

    // Each text is made at one server, and used at the next, again and again, until `isOver`.
    async function useAll(isOver) {
        const kept = [];
        let turn = 0;
        const next = () => servers[(turn += 1) % servers.length];
        const oldest = await openSession(next());
        while (!isOver()) {
            const texts = await carry(next());
            kept.push(texts);
            await assertOpens(next(), texts);
            assert.equal(await pingStatus(next(), oldest), 200);
            assert.equal(await pingStatus(next(), kept[Math.floor(kept.length / 2)].session), 200);
        }
        return kept;
    }

    test("SC13: a rotation under load loses no session", { timeout: 180_000 }, async () => {
        let isOver = false;
        const clients = Array.from({ length: 4 }, () => useAll(() => isOver));
        const used = Promise.all(clients);
        used.catch(() => (isOver = true));
        await pause(1_000);
        const old = await carry(servers[0]);
        const isWaiting = beginWait();
        await rotate(servers[1]);
        await assertStates(servers[2], ["seal/2 next", "seal/1 current"], isWaiting);
        await untilSealing(servers[2], "seal/2");
        const fresh = await carry(servers[1]);
        await pause(2_000);
        isOver = true;
        const kept = (await used).flat();
        assert.ok(kept.length > 20, `${kept.length} rounds`);
        for (const server of servers) {
            for (const { session } of kept) {
                assert.equal(await pingStatus(server, session), 200);
            }
            await assertOpens(server, old);
            await assertOpens(server, fresh);
        }
        // A server that starts later opens them too.
        const later = await begin(false);
        servers.push(later);
        await assertOpens(later, old);
        await assertOpens(later, fresh);
        await assertOpens(servers[0], await carry(later));
        // Two rotations later the first key is gone: only its texts end, everywhere within a second or two.
        await rotate(servers[2]);
        hurryUp();
        const alone = writeConfig({ roles, store: { url } });
        const { code, stderr } = await runCauseway(["key", "rotate", "--seal", "--now", "--config", alone]);
        assert.equal(code, 0, stderr);
        for (const server of servers) {
            const isGone = async () => (await pingStatus(server, old.session)) === 404;
            await eventually(isGone, "the end of the first key", patience(3_000));
            await assertEnded(server, old);
            await assertOpens(server, fresh);
        }
    });
});

suite("keys in files", { skip: noDatabase }, () => {
    const secretFile = () => {
        const file = path.join(keepFolder(), `seal-${randomBytes(8).toString("hex")}.secret`);
        writeFileSync(file, randomBytes(48), { mode: 0o600 });
        return file;
    };

    test("secrets are replaced by reloads, and former ones open", async (t) => {
        const [first, second] = [secretFile(), secretFile()];
        const mcp = { page_size: 1 };
        const server = await startBridge({ plugins, roles, config: { mcp: { ...mcp, secret_file: first } } });
        t.after(() => server.stop());
        const old = await carry(server);
        await reloadBridge(server, { mcp: { ...mcp, secret_file: second, old_secret_files: [first] } });
        await assertOpens(server, old);
        const fresh = await carry(server);
        await assertOpens(server, fresh);
        await reloadBridge(server, { mcp: { ...mcp, secret_file: second } });
        await assertEnded(server, old);
        await assertOpens(server, fresh);
        // A list that cannot be read changes nothing.
        const before = server.stderr.length;
        const config = JSON.parse(readFileSync(server.config, "utf8"));
        config.mcp = { ...mcp, secret_file: first, old_secret_files: ["/nonexistent/secret"] };
        writeFileSync(server.config, JSON.stringify(config));
        server.child.kill("SIGHUP");
        await server.until(() => /old_secret_files/.test(server.stderr.slice(before)), "a failed reload");
        await assertOpens(server, fresh);
    });

    test("the command does not rotate them, and says what to do", async (t) => {
        const server = await startBridge({ plugins: ["echo"] });
        t.after(() => server.stop());
        const run = (config) => runCauseway(["key", "rotate", "--seal", "--config", config]);
        const without = await run(server.config);
        assert.notEqual(without.code, 0);
        assert.match(without.stderr, /without a database the key of the seal is the file seal-DIGEST/);
        const store = { path: databasePath() };
        const named = await run(writeConfig({ store, mcp: { secret_file: secretFile() } }));
        assert.notEqual(named.code, 0);
        assert.match(named.stderr, /mcp\.secret_file has the key of the seal.*mcp\.old_secret_files/);
        const early = await run(writeConfig({ store }));
        assert.notEqual(early.code, 0);
        assert.match(early.stderr, /the database does not exist yet/);
    });
});
