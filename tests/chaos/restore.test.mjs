// The database is replaced by an old backup while the replicas run.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { bearer } from "../functional/support/accounts.mjs";
import { startTrio, statusOf } from "../functional/support/chaos.mjs";
import { keepFolder } from "../functional/support/kept.mjs";
import { initialize, legacy } from "../functional/support/mcp.mjs";
import { skipped, startPostgres } from "../functional/support/postgres.mjs";
import { eventually } from "../functional/support/server.mjs";

suite("an old backup", { skip: skipped, timeout: 600_000 }, () => {
    let postgres, trio, url, name, audit;
    before(async () => {
        postgres = await startPostgres();
        url = postgres.newDatabase();
        name = /\/(db\d+)/.exec(url)[1];
        audit = path.join(keepFolder(), "audit");
        trio = await startTrio(url, { more: (i) => ({ audit: { path: `${audit}-${i}.log` } }) });
    });
    after(async () => {
        await trio?.stop();
        await postgres?.stop();
    });

    // As operators restore: connections end, and the database is filled anew.
    function restore(file) {
        postgres.run(`DROP DATABASE ${name} WITH (FORCE)`);
        postgres.run(`CREATE DATABASE ${name}`);
        execFileSync("pg_restore", ["-d", url, file], { stdio: "pipe" });
    }

    test("is noticed by all replicas, and what was revoked since is revoked again from the audit", async () => {
        const file = path.join(keepFolder(), "old.dump");
        const kept = await trio.newToken();
        const revoked = await trio.newToken();
        execFileSync("pg_dump", ["-Fc", "-f", file, url]);
        const lost = await trio.newToken();
        for (const replica of trio.replicas) {
            for (const { token } of [kept, revoked, lost]) {
                assert.equal(await statusOf(replica, bearer(token)), 200);
            }
        }
        await trio.admin(trio.replicas[0], "tokens.revoke", { id: revoked.id });
        await trio.untilRefused(revoked.token);
        restore(file);
        // A token that the backup does not have is rejected, although each replica had verified it.
        await trio.untilBack();
        await trio.untilRefused(lost.token);
        // The documented way: all callers are verified again, and what the audits name is revoked again.
        const files = trio.replicas.flatMap((_, i) => ["--audit", `${audit}-${i}.log`]);
        const rows = JSON.parse(await trio.cli("store", "restored", "--json", "--revoke", ...files));
        assert.deepEqual(
            rows.map(({ kind, id, revoked_again: again }) => [kind, id, again]),
            [["token", revoked.id, true]],
        );
        await trio.untilRefused(revoked.token);
        for (const replica of trio.replicas) {
            assert.equal(await statusOf(replica, bearer(kept.token)), 200);
        }
    });

    test("numbers of changes that were used before do not hide new ones", async () => {
        const file = path.join(keepFolder(), "old.dump");
        for (let round = 0; round < 3; round += 1) {
            restore(file);
            await trio.untilBack();
            const { token, id } = await trio.newToken();
            for (const replica of trio.replicas) {
                assert.equal(await statusOf(replica, bearer(token)), 200);
            }
            await trio.admin(trio.replicas[round], "tokens.revoke", { id });
            await trio.untilRefused(token);
            // So do letters: a session that ends at one replica ends at all.
            const begun = await initialize(trio.replicas[0], "2025-11-25");
            const headers = { "Mcp-Session-Id": begun.headers.get("mcp-session-id") };
            const { url: at } = trio.replicas[1];
            assert.equal((await fetch(`${at}/mcp`, { method: "DELETE", headers })).status, 204);
            for (const replica of trio.replicas) {
                const isGone = async () => (await legacy(replica, "ping", undefined, { headers })).status === 404;
                await eventually(isGone, "the end of the session");
            }
        }
    });
});
