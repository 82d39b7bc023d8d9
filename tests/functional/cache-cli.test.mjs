// causeway cache rebuild|invalidate: the running server clears its caches and answers.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { bearer, call, cli, databasePath, discover, startAccounts } from "./support/accounts.mjs";
import { permissions, startBridge, untilTool } from "./support/mcp.mjs";
import { runCauseway, timeLimit, writeConfig } from "./support/programs.mjs";
import { get } from "./support/rest.mjs";
import { eventually } from "./support/server.mjs";

const list = "/mcp/tools/list";
const documents = [list, "/mcp/tools/describe?name=test.echo", "/jsonrpc/methods", "/jsonrpc/methods/test.echo"];
// The same whatever anybody may do.
const card = "/mcp/server-card";
const roles = { anonymous: permissions, authenticated: permissions };
const state = async (server, target) => (await get(server, target)).headers["x-causeway-cache"];

async function start(t, config = {}) {
    const all = { debug_headers: true, loops: 1, roles, ...config };
    const server = await startAccounts({ config: all, accounts: false });
    t.after(() => server.stop());
    await untilTool(server, "test.echo");
    return server;
}

// Every document is kept, and stays so for as long as the server takes to look at the database.
async function warm(server) {
    for (const target of [...documents, card]) {
        await get(server, target);
        assert.equal(await state(server, target), "HIT", target);
    }
}

const untilMiss = (server, target) =>
    eventually(async () => (await state(server, target)) === "MISS", `${target} anew within a second`, 1_000);

suite("invalidate", () => {
    test("check-67: jsonrpc_mcp:discovery drops every document, which is the same afterwards", async (t) => {
        const server = await start(t);
        const targets = [...documents, card];
        await warm(server);
        const before = await Promise.all(targets.map((target) => get(server, target)));
        await server.cli("cache", "invalidate", "jsonrpc_mcp:discovery");
        // Only the order drops this one; the others go before, since the database has changed.
        await untilMiss(server, card);
        for (const [i, target] of targets.entries()) {
            const { headers, text } = await get(server, target);
            assert.equal(headers["x-causeway-cache"], target === card ? "HIT" : "MISS", target);
            assert.equal(headers.etag, before[i].headers.etag);
            assert.equal(text, before[i].text);
            assert.equal(await state(server, target), "HIT", target);
        }
    });

    test("user.permissions drops what depends on the caller, and nothing else", async (t) => {
        const server = await start(t);
        await warm(server);
        await server.cli("cache", "invalidate", "user.permissions");
        await untilMiss(server, list);
        // These go whenever the database has changed; that the order was followed is in the log.
        await server.untilLogged(/cache invalidated.*user\.permissions/);
        for (const target of documents.slice(1)) {
            assert.equal(await state(server, target), "MISS", target);
        }
        assert.equal(await state(server, card), "HIT");
    });

    test("the tags in the headers are those that a document is dropped by", async (t) => {
        const server = await start(t);
        const tags = async (target) => (await get(server, target)).headers["x-causeway-cache-tags"];
        for (const target of documents) {
            assert.equal(await tags(target), "jsonrpc_mcp:discovery user.permissions");
        }
        assert.equal(await tags(card), "jsonrpc_mcp:discovery");
    });

    test("every loop drops its own", async (t) => {
        const server = await start(t, { loops: 2 });
        // Connections at the same time, so that both loops have some.
        const misses = async () => {
            const all = Array.from({ length: 24 }, () => state(server, card));
            return (await Promise.all(all)).filter((one) => one === "MISS").length;
        };
        for (let round = 0; round < 3; round++) {
            let seen = 0;
            const both = async () => (seen += await misses()) >= 2;
            await eventually(both, "a MISS on each loop");
            assert.equal(seen, 2);
            assert.equal(await misses(), 0);
            await server.cli("cache", "invalidate", "jsonrpc_mcp:discovery");
        }
    });

    test("an unknown tag is refused with those that exist", async () => {
        const config = writeConfig({ store: { path: databasePath() } });
        for (const tag of ["user", "rebuild", "", "JSONRPC_MCP:DISCOVERY"]) {
            const { code, stderr } = await runCauseway(["cache", "invalidate", tag, "--config", config]);
            assert.equal(code, 2, tag);
            assert.match(stderr, /jsonrpc_mcp:discovery and user\.permissions/);
        }
        const { code, stderr } = await runCauseway(["cache", "invalidate", "--config", config]);
        assert.equal(code, 2);
        assert.match(stderr, /cache invalidate TAG/);
    });
});

suite("rebuild", () => {
    test("check-68: discovers everything anew and empties the caches", async (t) => {
        const server = await start(t);
        await warm(server);
        const before = await get(server, list);
        const catalogues = () => server.stderr.split("catalogue published").length - 1;
        await eventually(() => catalogues() > 0, "the first catalogue in the log");
        const published = catalogues();
        await server.cli("cache", "rebuild");
        await untilMiss(server, list);
        await eventually(() => catalogues() > published, "another catalogue");
        await eventually(async () => (await state(server, card)) === "HIT", "all to be kept");
        const fresh = await get(server, list);
        assert.equal(fresh.text, before.text);
        await server.untilLogged(/cache rebuild/);
    });

    test("without a server there is nothing to clear, and a later start is not affected", async (t) => {
        const database = databasePath();
        const file = writeConfig({ roles, store: { path: database } });
        assert.match(await cli(file, "cache", "rebuild"), /no server runs/);
        assert.match(await cli(file, "cache", "invalidate", "user.permissions"), /no server runs/);
        const server = await start(t, { store: { path: database } });
        await warm(server);
        assert.equal(await state(server, list), "HIT");
        assert.doesNotMatch(server.stderr, /cache (rebuild|invalidated)/);
        assert.match(await cli(file, "cache", "rebuild"), /rebuild begun by server \d+\.\d+\.\d+ \(pid \d+\)/);
        await untilMiss(server, card);
    });

    test("calls go on while everything is discovered anew", async (t) => {
        const server = await start(t);
        const target = `${server.url}/mcp/tools/test.echo`;
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "test.echo", params: { message: "x" } });
        let isOver = false;
        const headers = { "Content-Type": "application/json" };
        const work = (async () => {
            let n = 0;
            for (; !isOver; n++) {
                const answer = await fetch(target, { method: "POST", headers, body });
                assert.equal(answer.status, 200, await answer.text());
            }
            return n;
        })();
        for (let i = 0; i < 5; i++) {
            await server.cli("cache", "rebuild");
        }
        await new Promise((resolve) => setTimeout(resolve, 500));
        isOver = true;
        assert.ok((await work) > 5);
    });
});

test("fault-B19: what a role may do now shows in the list within a second", async (t) => {
    const some = { anonymous: [discover, call], authenticated: [discover, call], editor: [] };
    const server = await startAccounts({ config: { debug_headers: true, loops: 2, roles: some } });
    t.after(() => server.stop());
    await server.untilLogged(/catalogue published tools=[1-9]/);
    const tools = async (headers) => (await get(server, list, headers)).json.tools.length;
    // Unlike a password, a token is verified in no time.
    const bob = bearer((await server.token("bob")).token);
    const [anonymous, before] = [await tools({}), await tools(bob)];
    for (const [word, shown] of [
        ["allow", true],
        ["deny", false],
    ]) {
        await server.cli("role", word, "anonymous", "access content");
        await server.cli("role", word, "authenticated", "access content");
        const left = timeLimit(1_000);
        await eventually(async () => (await tools({})) > anonymous === shown, "the anonymous list");
        await eventually(async () => (await tools(bob)) > before === shown, "bob's list");
        assert.ok(left() > 0, `${-left()} ms too late`);
    }
});

test("a server without a database is reached through the state directory", async (t) => {
    const server = await startBridge({ roles, config: { loops: 1, roles } });
    t.after(() => server.stop());
    const words = ["cache", "invalidate", "user.permissions", "--config", server.config];
    const { code, stdout, stderr } = await runCauseway(words);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /documents dropped by server/);
});
