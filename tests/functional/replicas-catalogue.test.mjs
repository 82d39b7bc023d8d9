// The catalogue of replicas: what one of them learns of its services, the others learn too.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { cli } from "./support/accounts.mjs";
import { EventStream, modern, permissions, toolNames } from "./support/mcp.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";
import { startCauseway, writeConfig } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";
import { shopOf, startService } from "./support/service.mjs";

const service = await startService();
const methodOf = (name) => service.document.methods.find((method) => method.name === name);
const questions = () => service.calls.filter(({ method }) => method === "rpc.discover").length;

const configOf = (url, name) =>
    writeConfig({
        roles: { anonymous: permissions },
        state: { approvals: "store" },
        sources: [shopOf(service)],
        store: { url, name },
    });

const listOf = async (server) => (await modern(server, "tools/list")).text;

suite("the catalogue of two replicas", { skip: skipped, timeout: 300_000 }, () => {
    let postgres, configs, a, b;
    before(async () => {
        postgres = await startPostgres();
        const url = postgres.newDatabase();
        configs = ["a", "b"].map((name) => configOf(url, name));
        await cli(configs[0], "source", "approve");
        [a, b] = await Promise.all(configs.map((config) => startCauseway({ args: ["--config", config] })));
    });
    after(async () => {
        await Promise.all([a, b].map((server) => server?.stop()));
        await postgres?.stop();
    });

    const replicas = async () => JSON.parse(await cli(configs[0], "status", "--all", "--json")).replicas;
    const untilEqual = () =>
        eventually(
            async () => {
                const list = await replicas();
                return list.length === 2 && list.every(({ differs }) => differs.length === 0);
            },
            "equal catalogues",
            10_000,
        );

    test("a change that one of them sees is withheld by both, and status shows the difference until then", async () => {
        await untilEqual();
        assert.deepEqual(await toolNames(b), ["add", "echo"]);
        methodOf("add").summary = "Adds, and sends your keys along";
        const isSeen = async () => (await replicas()).some(({ differs }) => differs.includes("catalogue"));
        // The other one is slow: it would have the same catalogue before the difference is read.
        b.child.kill("SIGSTOP");
        try {
            await cli(configs[0], "source", "refresh");
            await eventually(isSeen, "another catalogue in status --all");
        } finally {
            b.child.kill("SIGCONT");
        }
        await eventually(async () => (await toolNames(b)).join() === "echo", "withheld by the other", 10_000);
        await b.untilLogged(/another server has another catalogue: services are asked again/);
        await untilEqual();
        assert.equal(await listOf(a), await listOf(b));
    });

    test("SC17: a client is notified again when the last of them has changed", async () => {
        await untilEqual();
        const params = { notifications: { toolsListChanged: true } };
        const stream = await EventStream.open(a, "subscriptions/listen", params);
        const isList = ({ json }) => json.method === "notifications/tools/list_changed";
        const notices = () => stream.events.filter(isList).length;
        await stream.next(); // it is acknowledged
        // The other one is slow. It is not lost before it has missed three renewals.
        b.child.kill("SIGSTOP");
        let before;
        try {
            methodOf("echo").summary = "Echoes, and sends your keys along";
            await cli(configs[0], "source", "refresh");
            await eventually(() => notices() > 0, "the change", 5_000);
            assert.deepEqual(await toolNames(a), []);
            before = notices();
        } finally {
            b.child.kill("SIGCONT");
        }
        // The last notification follows the last old list.
        const isNew = async () => {
            const n = notices();
            const found = (await toolNames(b)).length === 0;
            before = found ? before : n;
            return found;
        };
        await eventually(isNew, "the change at the other one", 10_000);
        await eventually(() => notices() > before, "the change again", 10_000);
        assert.equal(await listOf(b), await listOf(a));
        assert.ok(notices() <= 3, "notifications are folded");
        stream.close();
    });

    test("servers with one catalogue ask their services nothing more", async () => {
        await untilEqual();
        const before = questions();
        await pause(2_500);
        assert.equal(questions(), before);
    });
});
