// Two servers of one PostgreSQL that is paused or killed meanwhile: ends of sessions reach the other one all the same.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { startAccounts } from "./support/accounts.mjs";
import { legacy } from "./support/mcp.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";
import { patience } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";

const plugins = ["conformance"];
const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };

async function openSession(server) {
    const answer = await legacy(server, "initialize", params);
    assert.equal(answer.status, 200, answer.text);
    return { "Mcp-Session-Id": answer.headers.get("mcp-session-id") };
}

const waits = "letters to all servers wait for it";
const sent = "letters to all servers that waited are sent";

const statusOf = async (server, headers) => (await legacy(server, "ping", undefined, { headers })).status;
const end = async (server, headers) => (await fetch(`${server.url}/mcp`, { method: "DELETE", headers })).status;
const isAway = async (server) => (await fetch(`${server.url}/readyz?store=1`)).status === 503;

suite("a session that ends while the database is away", { skip: skipped, timeout: 300_000 }, () => {
    let postgres, a, b;
    before(async () => {
        postgres = await startPostgres();
        const store = { url: postgres.newDatabase() };
        a = await startAccounts({ plugins, config: { loops: 1, store: { ...store, name: "a" } } });
        b = await startAccounts({ plugins, config: { loops: 1, store: { ...store, name: "b" } }, accounts: false });
        await Promise.all([a, b].map((server) => server.untilLogged(/number of servers .*others=1/, patience(10_000))));
    });
    after(async () => {
        await Promise.all([a, b].map((server) => server?.stop()));
        await postgres?.stop();
    });

    const faults = [
        ["paused", () => postgres.pause(), () => postgres.resume()],
        ["killed", () => postgres.kill(), () => postgres.start()],
    ];
    for (const [name, begin, back] of faults) {
        test(`and ${name} ends at the other server when it is back`, async () => {
            const [first, second, kept] = [await openSession(a), await openSession(a), await openSession(a)];
            for (const session of [first, second, kept]) {
                assert.equal(await statusOf(b, session), 200);
            }
            const countOf = (line) => a.stderr.split(line).length;
            const [waited, before] = [countOf(waits), countOf(sent)];
            await begin();
            try {
                await eventually(() => isAway(a), "the database is away", patience(10_000));
                assert.deepEqual([await end(a, first), await end(a, second)], [204, 204]);
                await a.until(() => countOf(waits) > waited, waits, patience(10_000));
                assert.deepEqual([await statusOf(a, first), await statusOf(a, second)], [404, 404]);
                assert.equal(await statusOf(b, first), 200, "the other one cannot know yet");
            } finally {
                await back();
            }
            for (const session of [first, second]) {
                await eventually(async () => (await statusOf(b, session)) === 404, "404", patience(15_000));
            }
            assert.equal(await statusOf(b, kept), 200);
            await eventually(() => countOf(sent) === before + 1, "one line in the log");
        });
    }
});
