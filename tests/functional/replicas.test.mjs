// Several servers on one database: what they share, and how an operator sees them.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { basic, bearer, cli, databasePath, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { both, callToolWell, EventStream, initialize, legacy, modern, ownName, post } from "./support/mcp.mjs";
import { poolerSkipped, skipped, startPooler, startPostgres } from "./support/postgres.mjs";
import { patience, timeLimit } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";

const plugins = ["echo", "conformance"];
const alice = basic("alice", "s3cret");
const bob = basic("bob", "b0b");
const second = 1_000;

// Calls have more time than those that a test cancels, also on a machine that stands still for a while.
async function startReplicas(store, configs) {
    const start = (config, accounts) => {
        const all = { ...config, store: { ...store, ...config.store }, plugins: { timeout: "20m" } };
        return startAccounts({ plugins, config: all, accounts });
    };
    const first = await start(configs[0], true);
    return [first, ...(await Promise.all(configs.slice(1).map((config) => start(config, false))))];
}

// The tools of both plugins are there.
async function untilLoaded(server) {
    const isLoaded = async () => {
        const { json } = await modern(server, "tools/list", {}, { headers: alice });
        const names = json.result.tools.map(ownName);
        return ["test.sleep", "test_elicitation"].every((name) => names.includes(name));
    };
    await eventually(isLoaded, "the tools of both plugins", 10_000);
}

// Two replicas that know of each other, and have numbers.
async function startPair(store) {
    const pair = await startReplicas(store, [{ store: { name: "a" } }, { store: { name: "b" } }]);
    await Promise.all(pair.map((server) => server.untilLogged(/number of servers .*others=1/, patience(5_000))));
    await Promise.all(pair.map(untilLoaded));
    return pair;
}

const capabilities = { elicitation: { form: {} } };

async function openSession(server, headers = {}) {
    const params = { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "test", version: "1" } };
    const answer = await legacy(server, "initialize", params, { headers });
    assert.equal(answer.status, 200, answer.text);
    return { ...headers, "Mcp-Session-Id": answer.headers.get("mcp-session-id") };
}

const send = (server, session, message) =>
    post(server, "/mcp", { jsonrpc: "2.0", ...message }, { ...both, ...session });

const callFor = (server, session, name, args, id) =>
    EventStream.of(server, {
        method: "POST",
        body: JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } }),
        headers: { "Content-Type": "application/json", ...both, ...session },
    });

const accepted = (name) => ({ result: { action: "accept", content: { username: name, email: "e@example.org" } } });

async function isWithin(ms, work) {
    const left = timeLimit(ms);
    await work();
    assert.ok(left() > 0, `${-left()} ms too late`);
}

const replicasOf = async (server) => JSON.parse(await server.cli("status", "--all", "--json")).replicas;

async function untilReplicas(server, test, what) {
    let found;
    await eventually(async () => test((found = await replicasOf(server))), what);
    return found;
}

function sharingOf(engine, newStore, restore) {
    suite(`two servers with one ${engine}`, () => {
        let a, b, shared;
        before(async () => ([a, b] = await startPair((shared = newStore()))));
        after(() => Promise.all([a, b].map((server) => server?.stop())));

        test("take the answer to a question at either of them, with the rights of its sender", async () => {
            for (const headers of [{}, alice]) {
                const session = await openSession(a, headers);
                const stream = await callFor(a, session, "test_elicitation", { message: "Who?" }, 7);
                const question = await stream.next();
                assert.equal(question.method, "elicitation/create");
                assert.ok(Number.isSafeInteger(question.id));
                // Somebody else's answer, and one without rights, changes nothing.
                const other = await openSession(b, headers === alice ? bob : alice);
                assert.equal((await send(b, other, { id: question.id, ...accepted("eve") })).status, 202);
                assert.equal((await send(b, session, { id: question.id, ...accepted("ada") })).status, 202);
                const [last, ...more] = await stream.rest();
                assert.deepEqual(more, []);
                assert.match(last.result.content[0].text, /ada/);
                // It is answered: another one is too late, and an id of no server is unknown.
                assert.equal((await send(b, session, { id: question.id, ...accepted("late") })).status, 202);
                assert.equal((await send(b, session, { id: 1023 * 2 ** 43, ...accepted("nobody") })).status, 202);
            }
        });

        test("end a session for both, also for one that starts later", async () => {
            const session = await openSession(a, alice);
            const stream = await EventStream.get(b, session);
            assert.equal((await legacy(b, "ping", undefined, { headers: session })).status, 200);
            const running = legacy(
                b,
                "tools/call",
                { name: "test.sleep", arguments: { ms: 60_000 } },
                { headers: session },
            );
            assert.equal((await fetch(`${a.url}/mcp`, { method: "DELETE", headers: session })).status, 204);
            const isGone = async () => (await legacy(b, "ping", undefined, { headers: session })).status === 404;
            await isWithin(second, () => eventually(isGone, "the end at the other server"));
            await stream.rest();
            await running;
            const later = await startAccounts({ plugins, config: { store: shared }, accounts: false });
            const isGoneThere = async () =>
                (await legacy(later, "ping", undefined, { headers: session })).status === 404;
            await eventually(isGoneThere, "the end at a server that started later");
            await later.stop();
        });

        // Ids as long as a message would make letters as long.
        for (const [kind, id] of [
            ["", 9],
            [", also by an id that is longer than a letter", "i".repeat(1_100_000)],
        ])
            test(`cancel a call that the other one runs${kind}`, async () => {
                const session = await openSession(a, alice);
                const running = callFor(a, session, "test.sleep", { ms: 600_000 }, id);
                let isDone = false;
                const ended = running.then((stream) => stream.rest(60_000)).then(() => (isDone = true));
                await isWithin(10_000, async () => {
                    while (!isDone) {
                        await send(b, session, { method: "notifications/cancelled", params: { requestId: id } });
                        await pause(50);
                    }
                    await ended;
                });
            });

        test("keep one stream of a session: a second one at the other server closes the first", async () => {
            const session = await openSession(a, alice);
            const first = await EventStream.get(a, session);
            await pause(2); // of two streams in one millisecond, either may be closed
            const next = await EventStream.get(b, session);
            await isWithin(second, () => first.rest());
            assert.equal(next.ended, false);
            next.close();
        });

        test("tell their subscribers of changes that only the other one learned of", async () => {
            const resource = "test://watched-resource";
            const notifications = { promptsListChanged: true, resourceSubscriptions: [resource] };
            const stream = await EventStream.open(b, "subscriptions/listen", { notifications }, { headers: alice });
            assert.equal((await stream.next()).method, "notifications/subscriptions/acknowledged");
            const session = await openSession(b, alice);
            const older = await EventStream.get(b, session);
            await legacy(b, "resources/subscribe", { uri: resource }, { headers: session });
            await isWithin(second, async () => {
                await callToolWell(a, "test_trigger_resource_update", {}, { headers: alice });
                for (const each of [stream, older]) {
                    const { method, params } = await each.next();
                    assert.deepEqual([method, params.uri], ["notifications/resources/updated", resource]);
                }
            });
            await callToolWell(a, "test_trigger_prompt_change", {}, { headers: alice });
            assert.equal((await stream.next()).method, "notifications/prompts/list_changed");
            // Many within a second are few, and the last one arrives.
            for (let i = 0; i < 20; i++) {
                await callToolWell(a, "test_trigger_resource_update", {}, { headers: alice });
            }
            // The notification is repeated if the catalogue of the other server has changed meanwhile.
            let last = await stream.next();
            while (last.method === "notifications/prompts/list_changed") {
                last = await stream.next();
            }
            assert.equal(last.params.uri, resource);
            stream.close();
            older.close();
        });

        test("verify all callers again when the database was restored", { skip: engine === "file" }, async () => {
            const { token } = await a.token("alice");
            const statusOf = async (server) => (await initialize(server, "2025-11-25", bearer(token))).status;
            assert.deepEqual([await statusOf(a), await statusOf(b)], [200, 200]);
            // As a restore does: rows are others, and nothing has noted that.
            restore("SET session_replication_role = replica; DELETE FROM token", shared.url);
            const audit = path.join(keepFolder(), "empty.jsonl");
            writeFileSync(audit, "");
            await a.cli("store", "restored", "--audit", audit);
            const areRefused = async () => (await statusOf(a)) === 401 && (await statusOf(b)) === 401;
            await isWithin(second, () => eventually(areRefused, "401 everywhere"));
        });

        test("verify only the callers of an account that has changed", async () => {
            const { token } = await a.token("alice");
            const streams = await Promise.all(
                [a, b].map((server) => openSession(server, bob).then((session) => EventStream.get(server, session))),
            );
            const mine = await EventStream.get(b, await openSession(b, bearer(token)));
            const [{ id }] = JSON.parse(await a.cli("token", "list", "alice", "--json")).slice(-1);
            await a.cli("token", "revoke", String(id));
            await isWithin(second, () => mine.rest());
            const isRefused = async (server) => (await initialize(server, "2025-11-25", bearer(token))).status === 401;
            await isWithin(second, () =>
                Promise.all([a, b].map((server) => eventually(() => isRefused(server), "401"))),
            );
            for (const stream of streams) {
                assert.equal(stream.ended, false);
                stream.close();
            }
        });
    });
}

function suiteOf(engine, newStore, restore) {
    sharingOf(engine, newStore, restore);

    test(`servers with one ${engine} see each other, and what differs`, async () => {
        const store = newStore();
        const named = (name, more = {}) => ({ store: { name }, ...more });
        const servers = await startReplicas(store, [named("a"), named("b"), named("c", { page_size: 7 })]);
        await Promise.all(servers.map(untilLoaded));
        const expected = [
            { name: "a", state: "running", answers: true, differs: [] },
            { name: "b", state: "running", answers: false, differs: [] },
            { name: "c", state: "running", answers: false, differs: ["config"] },
        ];
        const shown = (list) => list.map(({ name, state, answers, differs }) => ({ name, state, answers, differs }));
        // Each writes its catalogue and its number at a time of its own.
        const settled = (list) =>
            isDeepStrictEqual(shown(list), expected) &&
            list.every(({ catalogue, number }) => !/^0*$/.test(catalogue) && number > 0);
        const found = await untilReplicas(servers[0], settled, "three replicas, one of them with another config");
        assert.equal(new Set(found.map(({ node }) => node)).size, 3);
        assert.deepEqual(found.map(({ number }) => number).sort(), [1, 2, 3]);
        const isPrinted = async () => /^c .* another config$/m.test(await servers[0].cli("status", "--all"));
        await eventually(isPrinted, "the difference in the table");

        await servers[2].stop();
        assert.deepEqual(
            (await replicasOf(servers[0])).map(({ name }) => name),
            ["a", "b"],
            "a server that stops removes its row",
        );
        servers[1].child.kill("SIGKILL");
        const isLost = (list) => list.some(({ name, state }) => name === "b" && state === "lost");
        await untilReplicas(servers[0], isLost, "a lost replica");
        const config = servers[0].config;
        await servers[0].stop();
        const alone = JSON.parse(await cli(config, "status", "--all", "--json")).replicas;
        assert.deepEqual(
            alone.map(({ name, state, answers }) => [name, state, answers]),
            [["b", "lost", false]],
            "also without a server",
        );
    });
}

suite("replicas on one file", { timeout: 300_000 }, () => {
    suiteOf("file", () => ({ path: databasePath() }));
});

suite("replicas on one PostgreSQL", { skip: skipped, timeout: 600_000 }, () => {
    let postgres;
    before(async () => (postgres = await startPostgres()));
    after(() => postgres?.stop());
    const restore = (sql, url) => postgres.run(sql, /\/(db\d+)\?/.exec(url)[1]);
    suiteOf("database server", () => ({ url: postgres.newDatabase() }), restore);

    test("a server behind a pooler says that notifications do not arrive", { skip: poolerSkipped }, async (t) => {
        const url = postgres.newDatabase();
        const pooler = await startPooler(postgres);
        t.after(() => pooler.stop());
        const server = await startAccounts({ config: { store: { url: pooler.url(/\/(db\d+)\?/.exec(url)[1]) } } });
        t.after(() => server.stop());
        await server.untilLogged(/notifications of the database do not arrive/, patience(15_000));
        const quiet = await startAccounts({ config: { store: { url, listen_url: "off" } }, accounts: false });
        const listeners = () => postgres.run("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'");
        assert.equal(listeners(), "0");
        await quiet.stop();
    });
});
