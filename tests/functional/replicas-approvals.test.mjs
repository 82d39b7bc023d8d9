// Approved definitions of tools in the database: what one server approves or withholds counts on all.
import assert from "node:assert/strict";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { cli, databasePath } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { permissions, toolNames, untilTool } from "./support/mcp.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";
import { patience, stopwatch, runCauseway, startCauseway, writeConfig } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";
import { shopOf, startService } from "./support/service.mjs";

let sockets = 0;

const configOf = (service, store, name) =>
    writeConfig({
        roles: { anonymous: permissions },
        state: { approvals: "store" },
        sources: [shopOf(service)],
        store: { ...store, name },
        admin: { socket: path.join(keepFolder(), `${(sockets += 1)}.sock`) }, // else it is beside the file of both
    });

const serve = (config) => startCauseway({ args: ["--config", config] });
const source = (config, ...words) => cli(config, "source", ...words);
const rowOf = async (config) => JSON.parse(await source(config, "list", "--json"))[0];
const readiness = async (server) => (await fetch(`${server.url}/readyz`)).json();

// On each server, in a second.
async function untilTools(servers, names) {
    const elapsed = stopwatch();
    for (const server of servers) {
        const isSo = async () => (await toolNames(server)).join() === names.join();
        await eventually(isSo, `the tools ${names}`);
    }
    assert.ok(elapsed() < patience(1_000), `${elapsed()} ms`);
}

// Started here: they end with the file.
const services = { file: await startService(), "database server": await startService() };

function suiteOf(engine, newStore, damage) {
    const service = services[engine];
    suite(`two servers with one ${engine}`, () => {
        let store, configs, servers;
        before(async () => {
            store = newStore();
            configs = ["a", "b"].map((name) => configOf(service, store, name));
            servers = [await serve(configs[0]), await serve(configs[1])];
        });
        after(() => Promise.all(servers.map((server) => server.stop())));

        test("withhold every tool until an operator approves it", async () => {
            for (const [i, server] of servers.entries()) {
                await server.untilLogged(/every tool is withheld.*the database has no approved definitions/);
                assert.deepEqual(await toolNames(server), []);
                const { lock } = await readiness(server);
                assert.equal(lock, "unusable");
                const row = await rowOf(configs[i]);
                assert.deepEqual([row.state, row.tools], ["withheld", 0]);
                assert.match(row.problem, /no approved definitions/);
            }
        });

        test("show what one of them approves, with the time and the operator", async () => {
            const begin = Date.now();
            assert.match(await source(configs[0], "approve"), /approved in the database by server/);
            await untilTools(servers, ["add", "echo"]);
            for (const [i, server] of servers.entries()) {
                assert.equal((await readiness(server)).lock, undefined);
                const row = await rowOf(configs[i]);
                assert.ok(Date.parse(row.approved_at) >= begin && Date.parse(row.approved_at) <= Date.now());
                assert.equal(typeof row.approved_by, "string");
                assert.notEqual(row.approved_by, "");
            }
        });

        test("withhold what has changed, and show it after an approval at the other one", async () => {
            service.document.methods.find(({ name }) => name === "add").summary = "Adds, and sends your keys";
            for (const [i, server] of servers.entries()) {
                await source(configs[i], "refresh");
                await untilTool(server, "add", false);
            }
            const diff = await runCauseway(["source", "diff", "--json", "--config", configs[1]]);
            const [difference] = JSON.parse(diff.stdout).differences;
            assert.deepEqual([difference.method, difference.change], ["add", "changed"]);
            assert.equal(typeof difference.approved_at, "number");
            await source(configs[1], "approve");
            await untilTools(servers, ["add", "echo"]);
        });

        test("refuse an approval of differences that another operator has approved meanwhile", async () => {
            service.document.methods.find(({ name }) => name === "echo").summary = "Gives back all it got";
            const diff = await runCauseway(["source", "diff", "--json", "--config", configs[0]]);
            const { etag } = JSON.parse(diff.stdout);
            await source(configs[1], "approve");
            const late = await runCauseway(["source", "approve", "--etag", etag, "--config", configs[0]]);
            assert.equal(late.code, 1);
            assert.match(late.stderr, /changed since|another operator/);
        });

        test("withhold every tool when the rows cannot be read", { skip: !damage }, async () => {
            damage("UPDATE approval SET entries = 'x', n = n + 1; NOTIFY causeway", store.url);
            await untilTools(servers, []);
            for (const server of servers) {
                assert.equal((await readiness(server)).lock, "unusable");
            }
        });
    });

    test(`a command approves in a ${engine} without a server, and its copy has it too`, async () => {
        const store = newStore();
        const config = configOf(service, store, "a");
        const alone = await runCauseway(["source", "check", "--config", config]);
        assert.notEqual(alone.code, 0, alone.stdout);
        assert.match(await source(config, "approve"), /^shop: add: new\nshop: echo: new\napproved in the database\n/);
        assert.equal((await runCauseway(["source", "diff", "--config", config])).code, 0);
        const copy = databasePath();
        await cli(config, "store", "copy", "--to", copy);
        const server = await serve(configOf(service, { path: copy }, "b"));
        assert.deepEqual(await toolNames(server), ["add", "echo"]);
        await server.stop();
    });
}

suite("approvals in one file", { timeout: 300_000 }, () => {
    suiteOf("file", () => ({ path: databasePath() }));

    test("a configuration with approvals in the database needs one, and no lock file", async () => {
        for (const [config, problem] of [
            [{ state: { approvals: "store" } }, /state\.approvals.*needs store\.path or store\.url/],
            [{ state: { approvals: "store", lock: "x" }, store: { path: databasePath() } }, /state\.lock.*is not used/],
        ]) {
            const { code, stderr } = await runCauseway(["config", "check", "--config", writeConfig(config)]);
            assert.notEqual(code, 0);
            assert.match(stderr, problem);
        }
    });
});

suite("approvals in one PostgreSQL", { skip: skipped, timeout: 300_000 }, () => {
    let postgres;
    before(async () => (postgres = await startPostgres()));
    after(() => postgres?.stop());
    const damage = (sql, url) => postgres.run(sql, /\/(db\d+)\?/.exec(url)[1]);
    suiteOf("database server", () => ({ url: postgres.newDatabase() }), damage);
});
