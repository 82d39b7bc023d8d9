// Several servers on one database: what they share, and how an operator sees them.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { cli, databasePath, startAccounts } from "./support/accounts.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";
import { eventually } from "./support/server.mjs";

async function startReplicas(store, configs) {
    const first = await startAccounts({ config: { ...configs[0], store: { ...store, ...configs[0].store } } });
    const others = configs
        .slice(1)
        .map((config) =>
            startAccounts({ config: { ...config, store: { ...store, ...config.store } }, accounts: false }),
        );
    return [first, ...(await Promise.all(others))];
}

const replicasOf = async (server) => JSON.parse(await server.cli("status", "--all", "--json")).replicas;

async function untilReplicas(server, test, what) {
    let found;
    await eventually(async () => test((found = await replicasOf(server))), what);
    return found;
}

function suiteOf(engine, newStore) {
    test(`servers with one ${engine} see each other, and what differs`, async () => {
        const store = newStore();
        const named = (name, more = {}) => ({ store: { name }, ...more });
        const servers = await startReplicas(store, [named("a"), named("b"), named("c", { page_size: 7 })]);
        const settled = (list) => list.length === 3 && list.every(({ catalogue }) => !/^0*$/.test(catalogue));
        const found = await untilReplicas(servers[0], settled, "three replicas");
        assert.deepEqual(
            found.map(({ name, state, answers, differs }) => ({ name, state, answers, differs })),
            [
                { name: "a", state: "running", answers: true, differs: [] },
                { name: "b", state: "running", answers: false, differs: [] },
                { name: "c", state: "running", answers: false, differs: ["config"] },
            ],
        );
        assert.equal(new Set(found.map(({ node }) => node)).size, 3);
        assert.deepEqual(found.map(({ number }) => number).sort(), [1, 2, 3]);
        assert.match(await servers[0].cli("status", "--all"), /^c .* another config$/m);

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
    suiteOf("database server", () => ({ url: postgres.newDatabase() }));
});
