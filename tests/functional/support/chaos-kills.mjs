// Kill replicas and the database server at random moments during writes, and check what was acknowledged.
import assert from "node:assert/strict";
import { bearer } from "./accounts.mjs";
import { startTrio, statusOf } from "./chaos.mjs";
import { startPostgres } from "./postgres.mjs";
import { slowness } from "./programs.mjs";
import { eventually, pause } from "./server.mjs";

async function killPrimary(postgres) {
    await postgres.kill();
    await postgres.start();
}

// Tasks that are accepted while the database is away are in memory alone, and are written when it is back.
async function untilWritten(postgres, database, tasks) {
    const ids = tasks.map(({ id }) => `'${id}'`).join();
    const count = () => Number(postgres.run(`SELECT count(*) FROM task WHERE id IN (${ids})`, database));
    await eventually(() => tasks.length === 0 || count() === tasks.length, "the rows of the tasks", 10_000);
}

async function killReplica(trio, replica) {
    await replica.kill();
    await trio.restart(replica);
}

// One kill, two of three times of a replica. A token that all replicas know is revoked during the writes.
async function killOnce(trio, { postgres, database }, n, total) {
    const { token, id } = await trio.newToken();
    for (const replica of trio.replicas) {
        await eventually(async () => (await statusOf(replica, bearer(token))) === 200, "the token is known");
    }
    const writers = trio.startWriters(`kill${n}`);
    let revoking;
    try {
        await pause((20 + Math.random() * 180) * slowness);
        revoking = trio.admin(trio.replicas[n % 3], "tokens.revoke", { id }).catch(() => undefined);
        await (n % 3 === 2 ? killPrimary(postgres) : killReplica(trio, trio.replicas[(n + 1) % 3]));
    } finally {
        await writers.stop();
    }
    await trio.untilBack();
    if (n % 3 === 2) {
        await untilWritten(postgres, database, writers.written.tasks);
    }
    let took = 0;
    if (await revoking) {
        took = await trio.untilRefused(token);
    }
    for (const [kind, list] of Object.entries(writers.written)) {
        total[kind].push(...list);
    }
    return took;
}

export async function killAtRandom(kills) {
    const postgres = await startPostgres();
    const url = postgres.newDatabase();
    const database = /\/(db\d+)/.exec(url)[1];
    const trio = await startTrio(url);
    const total = { accounts: [], roles: [], tokens: [], revoked: [], tasks: [] };
    let longest = 0;
    try {
        for (let n = 0; n < kills; n += 1) {
            longest = Math.max(longest, await killOnce(trio, { postgres, database }, n, total));
        }
        await trio.checkWritten(total);
        const counts = Object.entries(total).map(([kind, { length }]) => `${length} ${kind}`);
        console.log(`# ${kills} kills; acknowledged and kept: ${counts.join(", ")}`);
        console.log(`# a revocation counted everywhere after at most ${longest.toFixed(0)} ms`);
        assert.ok(total.accounts.length >= kills && total.tasks.length >= kills / 3, counts.join());
        await trio.stop();
    } catch (error) {
        // Its service would keep the file from ending.
        await trio.stop().catch(() => {});
        throw error;
    } finally {
        await postgres.stop();
    }
}
