// One replica is cut off from the database, and the others are not.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { bearer } from "../functional/support/accounts.mjs";
import { graceMs, startLoad, startTrio, startWay, statusOf, stranger } from "../functional/support/chaos.mjs";
import { changeMs, rejected, timeoutMs } from "../functional/support/chaos.mjs";
import { timed } from "../functional/support/mcp.mjs";
import { skipped, startPostgres } from "../functional/support/postgres.mjs";
import { patience } from "../functional/support/programs.mjs";
import { pause } from "../functional/support/server.mjs";

suite("a replica without its database", { skip: skipped, timeout: 1_800_000 }, () => {
    let postgres, way, trio, near, cutOff;
    before(async () => {
        postgres = await startPostgres();
        const url = postgres.newDatabase();
        const name = /\/(db\d+)/.exec(url)[1];
        way = await startWay(postgres.port);
        trio = await startTrio((i) => (i === 2 ? `postgresql://causeway@127.0.0.1:${way.port}/${name}` : url));
        near = trio.replicas.slice(0, 2);
        cutOff = trio.replicas[2];
    });
    after(async () => {
        way?.heal();
        await trio?.stop();
        await way?.stop();
        await postgres?.stop();
    });

    // A change of an account makes the replicas verify its callers again: one token for each account.
    async function newKnownToken(account) {
        const made = await trio.newToken(near[0], account);
        for (const replica of trio.replicas) {
            assert.equal(await statusOf(replica, bearer(made.token)), 200);
        }
        return made;
    }

    test("serves known callers for a minute, rejects others, and rejects the revoked one within that minute", async () => {
        const known = await newKnownToken("bob");
        const revoked = await newKnownToken("alice");
        const verified = performance.now();
        way.cut();
        await trio.admin(near[0], "tokens.revoke", { id: revoked.id });
        await trio.untilRefused(revoked.token, near);
        const first = await timed(() => statusOf(cutOff, stranger()));
        assert.equal(first.value, 503);
        assert.ok(first.ms < patience(timeoutMs + 1_000), `the first 503 took ${first.ms} ms`);
        const load = startLoad({ replicas: [cutOff] }, { headers: bearer(known.token), strangers: true });
        const others = startLoad({ replicas: near }, { headers: bearer(known.token), strangers: true });
        await pause(graceMs / 2 - (performance.now() - verified));
        assert.deepEqual(load.wrong(200), []);
        await pause(graceMs + 1_000 - (performance.now() - verified));
        assert.equal(await statusOf(cutOff, bearer(revoked.token)), 503, "a revoked token, a minute later");
        assert.equal(await statusOf(cutOff, bearer(known.token)), 503);
        assert.equal(await statusOf(cutOff, {}), 200, "an anonymous caller");
        way.heal();
        await trio.untilBack();
        await trio.untilRefused(revoked.token);
        assert.equal(await statusOf(cutOff, bearer(known.token)), 200);
        await Promise.all([load.stop(), others.stop()]);
        assert.deepEqual(load.wrong(200, 503), []);
        assert.deepEqual(load.wrongStrangers(503, ...rejected), []);
        assert.deepEqual(others.wrong(200), []);
        assert.deepEqual(others.wrongStrangers(...rejected), []);
        console.log(`# cut off: ${load.counts()}; the others: ${others.counts()}`);
    });

    test("rejects what was revoked meanwhile as soon as it is back", async () => {
        for (let round = 0; round < 5; round += 1) {
            const revoked = await newKnownToken("alice");
            way.cut();
            await trio.admin(near[1], "tokens.revoke", { id: revoked.id });
            await pause(2 * changeMs + round * 500);
            way.heal();
            await trio.untilBack();
            assert.equal(await statusOf(cutOff, bearer(revoked.token)), 401, `round ${round}`);
        }
    });
});
