// Parked calls of another process: a request that continues one gets an error if the process or server is gone, and
// waits if only letters are lost.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { call, databasePath, discover, startAccounts } from "./support/accounts.mjs";
import { callTool, modern, reloadBridge, startBridge, untilTool } from "./support/mcp.mjs";
import { startScript } from "./support/mcp-script.mjs";
import { newFolder } from "./support/plugins.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";
import { patience, root, startProgram } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";

const fixture = path.join(root, "tests/functional/support/mcp-server.mjs");
const meta = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } };
const isOver = /The call that asked is over/;

// The params of the request that continues the call.
async function park(server, name = "s.ask_form") {
    const headers = { Connection: "close" };
    const { json, text } = await callTool(server, name, {}, { meta, headers });
    assert.equal(json.result.resultType, "input_required", text);
    const [key] = Object.keys(json.result.inputRequests);
    return {
        name,
        arguments: {},
        inputResponses: { [key]: { action: "accept", content: { name: "Ada" } } },
        requestState: json.result.requestState,
    };
}
const resume = async (server, params, fetch) => (await modern(server, "tools/call", params, { meta, fetch })).text;

const sqlite = (database, sql) =>
    execFileSync("sqlite3", ["-cmd", ".timeout 60000", database, sql], { encoding: "utf8" }).trim();

// A busy machine may give the second server the lower number.
const numberOf = (database, server) =>
    Number(sqlite(database, `SELECT number FROM replica WHERE process LIKE '%/${server.child.pid}/%'`));

// Two servers of one database, which have this tool of their sources.
async function startTwo(store, sources, tool, sourcesOfB = sources) {
    const everything = [discover, call];
    const config = { store, roles: { anonymous: everything, authenticated: everything, editor: [] } };
    const servers = [await startAccounts({ plugins: [], config: { ...config, sources } })];
    const second = { ...config, sources: sourcesOfB };
    servers.push(await startAccounts({ plugins: [], config: second, accounts: false }));
    await Promise.all(
        servers.flatMap((server) => [
            server.untilLogged(/number of servers .*others=1/, patience(10_000)),
            untilTool(server, tool),
        ]),
    );
    return servers;
}

suite("a request that continues a parked call", { timeout: 120_000 }, () => {
    let upstream;
    before(async () => {
        upstream = await startProgram(process.execPath, [fixture, "sessions"], { name: "mcp-sessions" });
    });
    after(() => upstream?.stop().catch(() => {}));

    const sources = () => [{ name: "srv", dialect: "mcp", prefix: "s.", methods: ["*"], url: `${upstream.url}/mcp` }];

    test("fails if the loop of the call is none of the next process", async () => {
        const secret_file = path.join(newFolder("seal"), "seal.key");
        fs.writeFileSync(secret_file, crypto.randomBytes(32), { mode: 0o600 });
        const start = async (loops) => {
            const server = await startBridge({
                plugins: [],
                config: { loops, mcp: { secret_file }, sources: sources() },
            });
            await untilTool(server, "s.ask_form");
            return server;
        };
        const before = await start(8);
        const parked = [];
        for (let n = 0; n < 8; n += 1) parked.push(await park(before));
        await before.stop();
        const next = await start(1);
        for (const text of await Promise.all(parked.map((params) => resume(next, params)))) assert.match(text, isOver);
        await next.stop();
    });

    test("fails if the server of the call has stopped", async () => {
        const [a, b] = await startTwo({ path: databasePath() }, sources(), "s.ask_form");
        const params = await park(a);
        await a.stop();
        assert.match(await resume(b, params), isOver);
        await b.stop();
    });
});

// A call at `a` that has asked, and the request at `b` that brings the answer and waits. `upstream.end` ends the call,
// `upstream.ask` asks again.
// `between`: before the request. `limitAtB`: the time limit of a call, as `b` has it.
async function startAnswering(t, store, { between = () => {}, limitAtB = "10m" } = {}) {
    const upstream = await startScript();
    upstream.on["tools/call"] = ({ message, response }) => {
        const send = (more) => response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...more })}\n\n`);
        const params = { message: "?", requestedSchema: { type: "object", properties: {} } };
        response.writeHead(200, { "Content-Type": "text/event-stream" });
        upstream.ask = (id) => send({ id, method: "elicitation/create", params });
        upstream.ask(1);
        upstream.end = () => send({ id: message.id, result: { content: [{ type: "text", text: "the result" }] } });
    };
    const sourcesOf = (timeout) => {
        const methods = [{ method: "*", timeout }];
        return [{ name: "srv", dialect: "mcp", prefix: "s.", methods, url: upstream.url }];
    };
    const [a, b] = await startTwo(store, sourcesOf("10m"), "s.echo", sourcesOf(limitAtB));
    t.after(() => Promise.all([a.child.signalCode ? undefined : a.stop(), b.stop()]));
    const params = await park(a, "s.echo");
    await between();
    const resumed = resume(b, params);
    let ended;
    resumed.then((text) => (ended = text));
    // The request asks for its call every 10 seconds. Databases are asked by a program, for which this one waits, so it
    // must not ask all the time.
    const untilCount = async (count, least, what, ms = 60_000) => {
        const look = async () => {
            await pause(200);
            assert.equal(ended, undefined, `the request ended before ${what}`);
            return count() >= least;
        };
        await eventually(look, what, ms);
    };
    const untilAnswered = (ms) => untilCount(() => (upstream.answerTo(1) ? 1 : 0), 1, "the answer", ms);
    const cancels = () => upstream.seen("notifications/cancelled").length;
    return { a, b, upstream, params, resumed, untilAnswered, untilCount, cancels };
}

// The same, and the call has its answer.
async function startWaiting(t, store, options) {
    const parts = await startAnswering(t, store, options);
    await parts.untilAnswered(10_000);
    return parts;
}

// Count the letters to each server from now on. Those with one of the numbers `lost` do not reach server `to`, as if it
// had too many of them.
function watchLetters(database, to, lost) {
    const n = (number) => `(SELECT count(*) FROM sent WHERE number = ${number})`;
    const number = numberOf(database, to);
    const isLost = `${number} = (SELECT number FROM replica WHERE node = NEW.to_node) AND ${n(number)} IN (${lost})`;
    sqlite(
        database,
        `CREATE TABLE sent (number INTEGER);
        CREATE TRIGGER watch BEFORE INSERT ON letter BEGIN
            INSERT INTO sent SELECT number FROM replica WHERE node = NEW.to_node;
            SELECT CASE WHEN ${isLost} THEN RAISE(IGNORE) END;
        END`,
    );
    return (server) => Number(sqlite(database, `SELECT ${n(numberOf(database, server))}`));
}

suite("a request that waits for a parked call of another server", { concurrency: true, timeout: 300_000 }, () => {
    test("gets the result, also if some of its checks did not reach that server", async (t) => {
        const path = databasePath();
        const { a, upstream, resumed, untilCount, cancels } = await startWaiting(t, { path });
        const sentTo = watchLetters(path, a, [1, 3]);
        await untilCount(() => sentTo(a), 4, "four checks");
        upstream.end();
        assert.match(await resumed, /the result/);
        assert.equal(cancels(), 0);
    });

    test("fails if three checks in a row did not reach that server, and the call is cancelled", async (t) => {
        const path = databasePath();
        const { a, resumed, cancels } = await startWaiting(t, { path });
        watchLetters(path, a, [1, 2, 3]);
        assert.match(await resumed, isOver);
        await eventually(() => cancels() === 1, "the end of the call", 10_000);
    });

    test("fails if no reply to three checks in a row came back, and the call is cancelled", async (t) => {
        const path = databasePath();
        const { b, resumed, cancels } = await startWaiting(t, { path });
        watchLetters(path, b, [1, 2, 3, 4, 5, 6]);
        assert.match(await resumed, isOver);
        await eventually(() => cancels() === 1, "the end of the call", 10_000);
    });

    // Its row in the database counts as that of a running server for some time.
    test("fails if that server was killed", async (t) => {
        const { a, resumed } = await startWaiting(t, { path: databasePath() });
        a.child.kill("SIGKILL");
        await a.exited;
        assert.match(await resumed, isOver);
    });

    // The second one is told that it is too late, but that letter is lost. The reply to a check of the first one may
    // leave before it. The third letter is lost no longer: it follows a check that left after the second one.
    test("gets the result, also if a second one with the same answers came and left", async (t) => {
        const path = databasePath();
        const { a, b, upstream, params, resumed, untilCount, cancels } = await startWaiting(t, { path });
        const sentTo = watchLetters(path, b, [1, 2]);
        const client = new AbortController();
        const second = resume(b, params, { signal: client.signal });
        await untilCount(() => sentTo(b), 1, "the refusal, or a reply to the first one");
        const before = sentTo(a);
        client.abort();
        await assert.rejects(second, { name: "AbortError" });
        await untilCount(() => sentTo(a), before + 2, "its end, and a check of the first one");
        await untilCount(() => sentTo(b), 3, "the refusal, and two replies to the first one");
        upstream.end();
        assert.match(await resumed, /the result/);
        assert.equal(cancels(), 0);
    });

    // One of the two may be the reply to a check. The question is sent again for each check.
    test("gets the next question, also if it was lost at first", async (t) => {
        const path = databasePath();
        const { b, upstream, resumed, cancels } = await startWaiting(t, { path });
        watchLetters(path, b, [1, 2]);
        upstream.ask(2);
        assert.match(await resumed, /"resultType":"input_required"/);
        assert.equal(cancels(), 0);
    });

    test("gets the result, also if its server has got another number", async (t) => {
        const path = databasePath();
        const { a, b, upstream, resumed, untilCount } = await startWaiting(t, { path });
        const sentTo = watchLetters(path, a, [0]);
        sqlite(path, `UPDATE replica SET number = 99 WHERE number = ${numberOf(path, b)}`);
        // The server writes its row again, and reads its number.
        await reloadBridge(b, { mcp: { instructions: "Other ones." } });
        await untilCount(() => sentTo(b), 1, "a reply to the new number");
        upstream.end();
        assert.match(await resumed, /the result/);
    });

    // The result is lost, and no check leaves. A call takes at most 20 times its limit, here 20 seconds.
    test("fails after the longest time of a call and 40 seconds, if the database takes no letters", async (t) => {
        const path = databasePath();
        let began;
        const between = () => (began = performance.now());
        const { upstream, resumed } = await startWaiting(t, { path }, { between, limitAtB: "1s" });
        sqlite(path, "CREATE TRIGGER refuse BEFORE INSERT ON letter BEGIN SELECT RAISE(ABORT, 'no letters'); END");
        upstream.end();
        assert.match(await resumed, isOver);
        assert.ok(performance.now() - began >= 60_000, "not before");
    });
});

suite("a request for another server's call", { concurrency: true, skip: skipped, timeout: 300_000 }, () => {
    let postgres;
    before(async () => {
        postgres = await startPostgres();
    });
    after(() => postgres?.stop());

    // A database, and a function that runs SQL there.
    const newDatabase = () => {
        const url = postgres.newDatabase();
        return { url, run: (sql) => postgres.run(sql, /\/(db\d+)/.exec(url)[1]) };
    };
    // A sequence counts on when its transaction fails.
    const makeTrigger = (run, body, when) =>
        run(`CREATE SEQUENCE sent;
            CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} END $$;
            CREATE ${when} FOR EACH ROW EXECUTE FUNCTION act()`);
    const refuse = (run) =>
        makeTrigger(
            run,
            "PERFORM nextval('sent'); RAISE EXCEPTION 'no letters';",
            "TRIGGER act BEFORE INSERT ON letter",
        );
    const accept = (run) => run("DROP TRIGGER act ON letter");
    const countOf = (run) => Number(run("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM sent"));
    const callsOf = (upstream) => upstream.seen("tools/call").length;

    test("gets the result, also if the database took no letters for some time", async (t) => {
        const { url, run } = newDatabase();
        const { upstream, resumed, untilCount, cancels } = await startWaiting(t, { url });
        refuse(run);
        await untilCount(() => countOf(run), 3, "three checks");
        accept(run);
        upstream.end();
        assert.match(await resumed, /the result/);
        assert.equal(cancels(), 0);
    });

    test("gets the result, also if the database did not take the answers at first", async (t) => {
        const { url, run } = newDatabase();
        const between = () => refuse(run);
        const { upstream, resumed, untilAnswered, untilCount } = await startAnswering(t, { url }, { between });
        await untilCount(() => countOf(run), 2, "the answers and a check");
        accept(run);
        await untilAnswered();
        upstream.end();
        assert.match(await resumed, /the result/);
        assert.equal(callsOf(upstream), 1);
    });

    // The commit takes longer than the server waits for it.
    test("gets the result, also if the database took answers that it seemed to refuse", async (t) => {
        const { url, run } = newDatabase();
        const ms = Math.min(patience(1_000), 5_000);
        const body = `IF nextval('sent') = 1 THEN PERFORM pg_sleep(${ms / 1_000 + 3}); END IF; RETURN NULL;`;
        const when = "CONSTRAINT TRIGGER act AFTER INSERT ON letter DEFERRABLE INITIALLY DEFERRED";
        const between = () => makeTrigger(run, body, when);
        const store = { url, timeout: `${ms}ms` };
        const { upstream, resumed, untilAnswered, untilCount, cancels } = await startAnswering(t, store, { between });
        await untilAnswered();
        await untilCount(() => countOf(run), 3, "a check, and its reply");
        upstream.end();
        assert.match(await resumed, /the result/);
        assert.deepEqual([callsOf(upstream), cancels()], [1, 0]);
    });
});
