// A service that drops what it required of callers, in all the ways in which that could go unnoticed.
import assert from "node:assert/strict";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { databasePath } from "./support/accounts.mjs";
import { startSite } from "./support/drupal.mjs";
import { newFolder } from "./support/plugins.mjs";
import { callTool, reloadBridge, rpc, startBridge, toolNames, untilTool } from "./support/mcp.mjs";
import { runCauseway } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";
import { openRpc, startService } from "./support/service.mjs";

// A document in which "echo" has these requirements; undefined: none.
function documentOf(auth, more = {}) {
    const document = openRpc();
    const echo = document.methods.find(({ name }) => name === "echo");
    if (auth !== undefined) echo["x-mcp-tool"] = { annotations: { auth } };
    Object.assign(echo, more);
    return document;
}

const a = { scopes: ["a"] };

async function start(t, auth, { state = newFolder("state"), lock, ...more } = {}) {
    const service = await startService();
    service.document = documentOf(auth);
    const source = { name: "shop", url: service.url, refresh: "0s", methods: ["*"], ...more };
    const config = { store: { path: databasePath() }, state: { directory: state, lock }, sources: [source] };
    const server = await startBridge({ plugins: [], config });
    t.after(() => server.stop());
    await (lock ? server.untilLogged(/every tool is withheld/) : untilTool(server, "add"));
    const cli = (...args) => runCauseway([...args, "--config", server.config]);
    return {
        ...{ service, server, cli },
        refresh: async () => (await cli("source", "refresh")).stdout,
        select: (methods) => reloadBridge(server, { sources: [{ ...source, methods }] }),
        status: async () => (await callTool(server, "echo", { message: "x" })).status,
    };
}

const dropped = /^shop: stale, .*'echo': the service no longer asks for/;

suite("threat-D3: a requirement is not forgotten", { concurrency: 3 }, () => {
    test("when the method could not be read in between", async (t) => {
        const { service, server, refresh, status } = await start(t, a);
        assert.equal(await status(), 401);
        service.document = documentOf(undefined, { params: 5 });
        assert.match(await refresh(), /^shop: ready/);
        service.document = documentOf(undefined);
        assert.match(await refresh(), dropped);
        assert.ok(!(await toolNames(server)).includes("echo"));
    });

    test("when a changed configuration drops the source, and there is no state folder", async (t) => {
        const { service, server, refresh } = await start(t, a, { state: null });
        const { port } = service;
        await service.stop();
        const { sources } = JSON.parse(readFileSync(server.config));
        await reloadBridge(server, { sources: [{ ...sources[0], timeout: "19s" }] });
        await untilTool(server, "add", false);
        service.document = documentOf(undefined);
        service.port = port;
        await service.start();
        assert.match(await refresh(), /^shop: down, .*'echo': the service no longer asks for/);
        assert.deepEqual(await toolNames(server), []);
    });

    // The lines of the methods fill their maximum of 65536 bytes to the last one.
    test("when so many methods drop it that they fill the report", async (t) => {
        const { service, refresh, cli } = await start(t, undefined);
        const line = (name) => `method '${name}': the service no longer asks for a login`;
        const names = Array.from({ length: 1_100 }, (_, i) => `m${i}`.padEnd(63 - line("").length, "x"));
        const withMethods = (marks) => {
            const document = openRpc();
            const add = (name) =>
                document.methods.push({ name, params: [], result: { name: "r", schema: {} }, ...marks });
            names.forEach(add);
            return document;
        };
        service.document = withMethods({ "x-mcp-tool": { annotations: { auth: a } } });
        assert.match(await refresh(), /^shop: ready/);
        service.document = withMethods({});
        assert.match(await refresh(), /^shop: stale, /);
        const [row] = JSON.parse((await cli("source", "list", "--json")).stdout);
        assert.equal(row.state, "stale");
        assert.ok(row.problem.includes(line(names[0])), row.problem.slice(0, 200));
        assert.match(row.problem, /it is not used until `causeway source accept shop`$/);
    });

    test("when it was invalid, and the method was not selected while it was dropped", async (t) => {
        const { service, server, refresh, select } = await start(t, { scopes: "a" });
        assert.ok(!(await toolNames(server)).includes("echo"));
        await select(["add"]);
        service.document = documentOf(undefined);
        assert.match(await refresh(), /^shop: ready/);
        await select(["*"]);
        await untilTool(server, "wait");
        assert.match(await refresh(), /^shop: stale, .*'echo': the service asks for no login in place of invalid/);
        assert.ok(!(await toolNames(server)).includes("echo"));
    });

    for (const [what, overlay] of [
        ["asked for no login", { auth_level: "none" }],
        ["asked for the same", { scopes: ["a"], auth_level: "required" }],
    ]) {
        test(`when the operator ${what} at that time`, async (t) => {
            const methods = [{ method: "echo", tool: true, ...overlay }, "add"];
            const { service, refresh, select, cli, status } = await start(t, a, { methods });
            service.document = documentOf(undefined);
            assert.match(await refresh(), /^shop: ready/);
            await select(["echo", "add"]);
            await eventually(async () => dropped.test(await refresh()), "it is noticed");
            assert.equal(await status(), 401);
            assert.equal((await cli("source", "accept", "shop")).code, 0);
            await eventually(async () => (await status()) === 200, "it is accepted");
        });
    }

    // An optional login asks for no scope. The operator's scopes make it a required one.
    test("when it has an effect only with scopes of the operator", async (t) => {
        const methods = [{ method: "echo", tool: true, scopes: ["b"] }, "add"];
        const { service, server, refresh, select } = await start(t, { ...a, level: "optional" }, { methods });
        const scopes = async () => {
            const { json } = await rpc(server, { method: "echo", params: { message: "x" }, id: 1 });
            return json.error.data.required_scopes.sort();
        };
        assert.deepEqual(await scopes(), ["a", "b"]);
        await select(["add"]);
        service.document = documentOf(undefined);
        assert.match(await refresh(), /^shop: ready/);
        await select(methods);
        await eventually(async () => dropped.test(await refresh()), "it is noticed");
        assert.deepEqual(await scopes(), ["a", "b"]);
    });

    test("when an operator accepts its loss and that cannot be stored", async (t) => {
        const parent = newFolder("parent");
        const { service, refresh, cli, status } = await start(t, a, { state: path.join(parent, "state") });
        service.document = documentOf(undefined);
        assert.match(await refresh(), dropped);
        renameSync(parent, `${parent}-away`);
        writeFileSync(parent, "no folder");
        const { code, stdout, stderr } = await cli("source", "accept", "shop");
        assert.equal(code, 1, stdout);
        assert.match(stderr, /the description could not be stored: .*Not a directory/);
        rmSync(parent);
        renameSync(`${parent}-away`, parent);
        assert.match(await refresh(), dropped);
        assert.equal(await status(), 401);
    });

    test("when there are too many to keep: the description is not used", async (t) => {
        const { service, server, refresh, cli } = await start(t, undefined);
        const scopes = (n) => Array.from({ length: 1000 }, (_, i) => `${n}-${i}-${"s".repeat(100)}`);
        const plain = service.document;
        const large = Array.from({ length: 11 }, (_, n) => ({
            name: `m${n}`,
            params: [],
            "x-mcp-tool": { annotations: { auth: { scopes: scopes(n) } } },
        }));
        service.document = { ...plain, methods: [...plain.methods, ...large] };
        assert.match(await refresh(), /^shop: ready/);
        service.document = plain;
        assert.match(
            await refresh(),
            /^shop: stale, .*the requirements of \d methods? that no longer exist are over the limit/,
        );
        assert.ok((await toolNames(server)).includes("m10"));
        assert.equal((await cli("source", "accept", "shop")).code, 0);
        await untilTool(server, "m10", false);
    });
});

test("a loss that an operator accepts counts more than a requirement that could not be written", async (t) => {
    const parent = newFolder("parent");
    const { service, refresh, cli, status } = await start(t, undefined, { state: path.join(parent, "state") });
    renameSync(parent, `${parent}-away`);
    service.document = documentOf(a);
    assert.match(await refresh(), /^shop: ready/);
    assert.equal(await status(), 401);
    renameSync(`${parent}-away`, parent);
    service.document = documentOf(undefined);
    assert.equal((await cli("source", "accept", "shop")).code, 0);
    await eventually(async () => (await status()) === 200, "it is accepted");
});

test("without a state folder the message names a restart, as no command helps", async (t) => {
    const { service, server, refresh } = await start(t, a, { state: null });
    service.document = documentOf(undefined);
    assert.match(await refresh(), dropped);
    await server.untilLogged(/it is not used until a restart, since state\.directory is not set/);
});

// Without a state folder, no older description can be read with new rules.
suite("threat-D3: rules that an operator changes hold although the service", { concurrency: 2 }, () => {
    test("drops a requirement: an overlay file that closes a method ends the old source", async (t) => {
        const overlay = path.join(newFolder("rules"), "overlay.yaml");
        writeFileSync(overlay, "methods: [add, echo]\n");
        const { service, server, refresh } = await start(t, a, { state: null, methods: [], overlay });
        service.document = documentOf(undefined);
        assert.match(await refresh(), dropped);
        assert.equal((await callTool(server, "add", { a: 1, b: 2 })).status, 200);
        // A file that cannot be read is no rule.
        writeFileSync(overlay, "methods: [");
        await reloadBridge(server);
        assert.match(await refresh(), /^shop: stale/);
        assert.equal((await callTool(server, "add", { a: 1, b: 2 })).status, 200);
        writeFileSync(overlay, "methods: [echo, {method: add, scopes: [x]}]\n");
        await reloadBridge(server);
        await untilTool(server, "add", false);
        assert.match(await refresh(), /^shop: down/);
        service.document = documentOf(a);
        assert.match(await refresh(), /^shop: ready/);
        assert.equal((await callTool(server, "add", { a: 1, b: 2 })).status, 401);
    });

    test("does not describe itself: an approval that is removed ends the old source, and no other", async (t) => {
        const lock = path.join(newFolder("rules"), "lock.json");
        const { service, server, cli, refresh } = await start(t, undefined, { state: null, lock });
        assert.equal((await cli("source", "approve")).code, 0);
        await untilTool(server, "add");
        const write = (sources) => writeFileSync(lock, JSON.stringify({ ...entries, sources }));
        const entries = JSON.parse(readFileSync(lock));
        write(entries.sources);
        assert.match(await refresh(), /^shop: ready/);
        service.mode = "an error page";
        write({ ...entries.sources, other: entries.sources.shop });
        assert.match(await refresh(), /^shop: stale/);
        assert.ok((await toolNames(server)).includes("add"));
        const { add, ...others } = entries.sources.shop;
        assert.ok(add);
        write({ ...entries.sources, shop: others });
        assert.match(await refresh(), /^shop: down/);
        await untilTool(server, "add", false);
        service.mode = null;
        assert.match(await refresh(), /^shop: ready/);
        assert.ok(!(await toolNames(server)).includes("add"));
    });

    test("offers two tools of one name: an overlay file that closes a method ends the old source", async (t) => {
        const overlay = path.join(newFolder("rules"), "overlay.yaml");
        writeFileSync(overlay, "methods: ['*']\n");
        const { service, server } = await start(t, undefined, { state: null, methods: [], overlay });
        const plain = service.document;
        const twice = ["x/y", "x.y"].map((name) => ({ name, params: [] }));
        service.document = { ...plain, methods: [...plain.methods, ...twice] };
        writeFileSync(overlay, "methods: ['*', {method: add, scopes: [x]}]\n");
        await reloadBridge(server);
        await untilTool(server, "add", false);
        service.document = plain;
        await reloadBridge(server);
        await untilTool(server, "add");
        assert.equal((await callTool(server, "add", { a: 1, b: 2 })).status, 401);
    });

    test("does not describe itself: a lock that is configured, and has nothing of it, ends the old source", async (t) => {
        const { service, server } = await start(t, undefined, { state: null });
        service.mode = "an error page";
        const lock = path.join(newFolder("rules"), "lock.json");
        writeFileSync(lock, JSON.stringify({ version: 1, sources: {} }));
        await reloadBridge(server, { state: { directory: null, lock } });
        await untilTool(server, "add", false);
        service.mode = null;
    });

    test("describes itself without end: a changed configuration ends the old source", async (t) => {
        const more = { preset: "drupal", timeout: "3s", discovery: "drupal" };
        const site = await startSite({ kind: "tools" });
        const source = { name: "site", url: site.url, refresh: "0s", methods: ["*"], ...more };
        const server = await startBridge({ plugins: [], config: { sources: [source] } });
        t.after(() => server.stop());
        await untilTool(server, "examples.articles.list");
        let pages = 0;
        site.front = ({ target }, response) => {
            if (!target.startsWith("/mcp/tools/list")) {
                return false;
            }
            pages += 1;
            setTimeout(() => site.sendJson(response, 200, { tools: [], nextCursor: `c${pages}` }), 300);
            return true;
        };
        await reloadBridge(server, { sources: [{ ...source, methods: ["examples.contentTypes.list"] }] });
        // That is 30 s, and more if a page came late, which ends a try for another reason.
        await server.untilLogged(/not loaded.*the description takes too long/, 120_000);
        assert.ok(pages > 5, `${pages} pages`);
        await untilTool(server, "examples.articles.list", false);
    });
});

test("a service that mends invalid requirements has its tool back, with them", async (t) => {
    const { service, server, refresh, status } = await start(t, { scopes: "a" });
    assert.ok(!(await toolNames(server)).includes("echo"));
    service.document = documentOf(a);
    assert.match(await refresh(), /^shop: ready/);
    assert.equal(await status(), 401);
});
