// Rates of servers that share a database: together they let through the limit and one call each at most.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { callTool, startBridge } from "./support/mcp.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";
import { timeLimit } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";

suite("servers that share a database", { skip: skipped, timeout: 300_000 }, () => {
    let postgres;
    const servers = [];
    before(async () => (postgres = await startPostgres()));
    after(async () => {
        await Promise.all(servers.map((server) => server.stop()));
        await postgres?.stop();
    });

    const call = async (server) =>
        (await callTool(server, "test__echo", { message: "x" })).json?.result?.isError !== true;
    // Call all of these servers until none lets a call through for some seconds: how many passed, and how many more
    // than the bucket held may have. A server without a lease refuses calls until it has asked for another one.
    const empty = async (all, perHour) => {
        const begin = Date.now();
        let passed = 0;
        let quiet = timeLimit(4_000);
        const isEmpty = async () => {
            const n = (await Promise.all(all.map(call))).filter(Boolean).length;
            passed += n;
            quiet = n ? timeLimit(4_000) : quiet;
            await pause(20);
            return quiet() <= 0;
        };
        await eventually(isEmpty, "an empty bucket", 30_000);
        return { passed, refilled: Math.floor(((Date.now() - begin) / 3_600_000) * perHour) };
    };
    const start = async (n, tool) => {
        const config = { store: { url: postgres.newDatabase() }, limits: { rates: { tool } } };
        const all = await Promise.all(Array.from({ length: n }, () => startBridge({ config })));
        servers.push(...all);
        const name = /\/(db\d+)/.exec(config.store.url)[1];
        await eventually(() => postgres.run("SELECT count(*) FROM replica", name) === String(n), "rows of all servers");
        all.seen = () => postgres.run("SELECT seen FROM replica ORDER BY node", name).split("\n");
        return all;
    };

    test("keep a rate together: the limit, and one more call for each at most", async () => {
        const all = await start(3, "24/h burst 24");
        const { passed, refilled } = await empty(all, 24);
        assert.ok(passed >= 24 && passed <= 24 + 3 + refilled, `${passed} calls`);
    });

    test("give a client of one server the whole rate, and the others notice", async () => {
        const all = await start(2, "12/h burst 12");
        const { passed, refilled } = await empty([all[0]], 12);
        assert.ok(passed >= 12 && passed <= 14 + refilled, `${passed} calls`);
        const late = [await call(all[1]), await call(all[1]), await call(all[1])];
        assert.ok(late.filter(Boolean).length <= 1, String(late));
    });

    test("have shares of it while the database is away", async () => {
        const all = await start(2, "20/h burst 20");
        await eventually(() => call(all[0]), "a first call");
        // Servers count each other every five seconds, when they have written their rows.
        const before = all.seen();
        const haveWritten = () => all.seen().every((at, i) => at !== before[i]);
        await eventually(haveWritten, "all servers write their rows again", 20_000);
        await pause(1_500);
        postgres.pause();
        try {
            // The first report has to fail before the server knows.
            let passed = 0;
            let refused = 0;
            await eventually(
                async () => {
                    (await call(all[0])) ? (passed += 1) : (refused += 1);
                    await pause(20);
                    return passed > 6 && refused > 200;
                },
                "a share",
                30_000,
            );
            // Half of the rate, and what was leased before.
            assert.ok(passed <= 15, `${passed} calls`);
        } finally {
            postgres.resume();
        }
        await eventually(() => call(all[0]), "the rest of the rate", 20_000);
    });
});
