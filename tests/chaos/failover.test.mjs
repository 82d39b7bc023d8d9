// The primary is paused, killed, and replaced by its standby, under load.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { bearer } from "../functional/support/accounts.mjs";
import { changeMs, graceMs, startLoad, startTrio, statusOf, stranger } from "../functional/support/chaos.mjs";
import { rejected, timeoutMs } from "../functional/support/chaos.mjs";
import { timed } from "../functional/support/mcp.mjs";
import { skipped, startPostgres, startStandby } from "../functional/support/postgres.mjs";
import { patience } from "../functional/support/programs.mjs";
import { eventually, pause } from "../functional/support/server.mjs";

suite("the primary", { skip: skipped, timeout: 1_800_000 }, () => {
    let primary, standby, trio;
    before(async () => {
        primary = await startPostgres();
        standby = await startStandby(primary);
        primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'");
        primary.run("SELECT pg_reload_conf()");
        const isSynchronous = () => primary.run("SELECT sync_state FROM pg_stat_replication") === "sync";
        await eventually(isSynchronous, "the standby", 20_000);
        primary.run("CREATE DATABASE shared");
        trio = await startTrio(`postgresql://causeway@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/shared`);
    });
    after(async () => {
        await trio?.stop();
        await standby?.stop();
    });

    test("paused: known callers are served for a minute, others get 503, and all are back with it", async () => {
        // Of another account: a change of an account makes the replicas verify its callers again.
        const known = await trio.newToken(trio.replicas[0], "bob");
        const revoked = await trio.newToken();
        for (const replica of trio.replicas) {
            for (const { token } of [known, revoked]) {
                assert.equal(await statusOf(replica, bearer(token)), 200);
            }
        }
        const verified = performance.now();
        await trio.admin(trio.replicas[0], "tokens.revoke", { id: revoked.id });
        primary.pause();
        const [first] = trio.replicas;
        // The replica that has acknowledged a revocation rejects the token from then on.
        assert.notEqual(await statusOf(first, bearer(revoked.token)), 200);
        for (const replica of trio.replicas) {
            const { value, ms } = await timed(() => statusOf(replica, stranger()));
            assert.equal(value, 503);
            assert.ok(ms < patience(timeoutMs + 1_000), `the first 503 took ${ms} ms`);
        }
        const later = await timed(() => Promise.all(trio.replicas.map((replica) => statusOf(replica, stranger()))));
        assert.deepEqual(later.value, [503, 503, 503]);
        assert.ok(later.ms < patience(timeoutMs + 1_000), `later ones took ${later.ms} ms`);
        const load = startLoad(trio, { headers: bearer(known.token), strangers: true });
        const anonymous = startLoad(trio, {});
        // Half of the minute, in which all are served.
        await pause(graceMs / 2 - (performance.now() - verified));
        assert.deepEqual(load.wrong(200), [], "known callers");
        // From the end of the minute on, none is.
        await pause(graceMs + 1_000 - (performance.now() - verified));
        for (const replica of trio.replicas) {
            for (const { token } of [known, revoked]) {
                assert.equal(await statusOf(replica, bearer(token)), 503);
            }
        }
        primary.resume();
        const back = await timed(() => trio.untilBack());
        assert.ok(back.ms < patience(2_500), `back after ${back.ms} ms`);
        await trio.untilRefused(revoked.token);
        for (const replica of trio.replicas) {
            assert.equal(await statusOf(replica, bearer(known.token)), 200);
        }
        await Promise.all([load.stop(), anonymous.stop()]);
        assert.deepEqual(load.wrong(200, 503), []);
        assert.deepEqual(load.wrongStrangers(503, ...rejected), []);
        assert.deepEqual(anonymous.wrong(200), [], "anonymous callers");
        console.log(`# paused: back ${back.ms.toFixed(0)} ms after it; ${load.counts()}`);
    });

    test("killed in writes: the standby takes over with all that was acknowledged", async () => {
        // Of another account: a change of an account makes the replicas verify its callers again.
        const known = await trio.newToken(trio.replicas[0], "bob");
        const revoked = await trio.newToken();
        for (const replica of trio.replicas) {
            assert.equal(await statusOf(replica, bearer(known.token)), 200);
        }
        await trio.admin(trio.replicas[0], "tokens.revoke", { id: revoked.id });
        const writers = trio.startWriters("failover");
        const load = startLoad(trio, { headers: bearer(known.token), strangers: true });
        await pause(500);
        await primary.kill();
        await eventually(async () => (await statusOf(trio.replicas[0], stranger())) === 503, "503");
        standby.run("ALTER SYSTEM SET synchronous_standby_names = ''");
        standby.run("SELECT pg_reload_conf()");
        standby.promote();
        const back = await timed(() => trio.untilBack());
        assert.ok(back.ms < patience(5_000), `back after ${back.ms} ms`);
        await pause(changeMs);
        await writers.stop();
        await load.stop();
        // A change of a role concerns all callers: who was not verified since gets 503 too.
        assert.deepEqual(load.wrong(200, 503), [], "known callers");
        assert.deepEqual(load.wrongStrangers(503, ...rejected), []);
        await trio.checkWritten(writers.written);
        await trio.untilRefused(revoked.token);
        console.log(`# failover: back ${back.ms.toFixed(0)} ms after the promotion; ${load.counts()}`);
    });
});
