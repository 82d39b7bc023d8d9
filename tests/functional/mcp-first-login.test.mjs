// Log in at the first connection: a caller who sees nothing is challenged at once where callers can log
// in, and nothing leads to a login where none exists.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { basic, call, databasePath, discover, startAccounts } from "./support/accounts.mjs";
import {
    assertToolError,
    callTool,
    EventStream,
    initialize,
    legacy,
    modern,
    ownName,
    post,
    reloadBridge,
    startBridge,
    toolNames,
    untilTool,
} from "./support/mcp.mjs";
import { get, invoke } from "./support/rest.mjs";
import { eventually, pause } from "./support/server.mjs";
import { freePort } from "./support/ports.mjs";

const version = "2025-11-25";
const alice = basic("alice", "s3cret");
const bob = basic("bob", "b0b");

async function start(t, anonymous, more = {}) {
    const roles = { anonymous, authenticated: [], editor: [discover, call, "access content"] };
    const server = await startAccounts({ config: { roles, ...more } });
    t.after(() => server.stop());
    return server;
}

suite("where callers can log in", { concurrency: true }, () => {
    for (const [what, anonymous] of [
        ["may not list", []],
        ["may list, and sees nothing", [discover, call]],
    ]) {
        test(`an anonymous caller who ${what} is challenged by the first request of both eras`, async (t) => {
            const server = await start(t, anonymous, { access: { authenticated_only_own: true } });
            const there = async () => (await modern(server, "tools/list", {}, { headers: alice })).status === 200;
            assert.ok(await there());
            await untilLoaded(server);
            for (const answer of [await initialize(server, version), await modern(server, "server/discover")]) {
                assert.equal(answer.status, 401, answer.text);
                assert.match(answer.headers.get("www-authenticate"), /^Bearer/);
                assert.equal(answer.json.id, 1);
                assert.equal(answer.headers.get("mcp-session-id"), null);
            }
            // With credentials both answer, also for a caller who may list nothing.
            for (const headers of [alice, bob]) {
                assert.equal((await initialize(server, version, headers)).status, 200);
                assert.equal((await modern(server, "server/discover", {}, { headers })).status, 200);
            }
            const forbidden = await modern(server, "tools/list", {}, { headers: bob });
            assert.equal(forbidden.status, 403, forbidden.text);
            await server.untilLogged(/call refused caller="?bob"? verdict="?forbidden"? door="?mcp"?/); // a list has no method
            assert.equal((await legacy(server, "ping")).status, 200);
            for (const path of ["/.well-known/mcp.json", "/mcp/server-card"]) {
                assert.equal((await get(server, path)).status, 200, path);
            }
        });
    }

    test("one who sees something is not, and gets all capabilities that a login may need", async (t) => {
        const server = await start(t, [discover, call, "access content"]);
        await untilTool(server, "test.echo");
        const { status, json } = await initialize(server, version);
        assert.equal(status, 200);
        const { tools, prompts, resources, completions } = json.result.capabilities;
        assert.deepEqual(tools, { listChanged: true });
        assert.deepEqual(prompts, { listChanged: true });
        assert.deepEqual(resources, { listChanged: true, subscribe: true });
        assert.deepEqual(completions, {});
        // Another era, and another caller: as they see things.
        const about = await modern(server, "server/discover");
        assert.equal("prompts" in about.json.result.capabilities, false);
        const own = await initialize(server, version, alice);
        assert.equal("prompts" in own.json.result.capabilities, false);
    });

    test("OAuth clients are told to send a token where no issuer is configured", async (t) => {
        const server = await start(t, []);
        const { status, json } = await post(server, "/register", { redirect_uris: [] });
        assert.equal(status, 400);
        assert.match(json.error_description, /Send an API token/);
        assert.equal((await get(server, "/.well-known/oauth-authorization-server")).status, 404);
    });
});

// The sources are loaded: until then the catalogue may still have something for the caller.
async function untilLoaded(server) {
    await server.until(() => /plugin loaded|test\.echo|listening/.test(server.stderr + server.stdout), "the plugins");
    const isListed = async () => {
        const { json } = await modern(server, "tools/list", {}, { headers: alice });
        return json.result.tools.some((tool) => ownName(tool) === "test.echo");
    };
    await eventually(isListed, "test.echo in the list", 10_000);
}

suite("where no login exists", { concurrency: true }, () => {
    test("tools that require one are not listed on MCP doors, and a call is one sentence", async (t) => {
        const server = await startBridge();
        t.after(() => server.stop());
        assert.ok(!(await toolNames(server)).includes("test.scoped"));
        const { json } = await get(server, "/mcp/tools/list");
        assert.ok(
            json.tools.some(({ name }) => name === "test.scoped"),
            "REST lists it as before",
        );
        const text = assertToolError(await callTool(server, "test.scoped", {}), /^This tool requires a login/);
        assert.match(text, /^[^.]*\.$/, "one sentence");
        const old = await legacy(server, "tools/call", { name: "test.scoped", arguments: {} });
        assertToolError(old);
        assert.equal((await invoke(server, "test.scoped", {})).status, 401);
        await server.untilLogged(/not listed to MCP clients.*test\.scoped/);
        assert.equal(server.stderr.split("not listed to MCP clients").length, 2, "one line");
        // Nothing is challenged at the first request.
        const closed = await startBridge({ roles: { anonymous: [call, "access content"] } });
        t.after(() => closed.stop());
        await closed.untilLogged(/MCP clients see no tools:.* permission="access mcp tool discovery".*test\.echo/);
        assert.equal((await initialize(closed, version)).status, 200);
        assert.equal((await modern(closed, "server/discover")).status, 200);
    });

    test("with a store they are listed and challenged", async (t) => {
        const server = await startBridge({ config: { store: { path: databasePath() } } });
        t.after(() => server.stop());
        assert.ok((await toolNames(server)).includes("test.scoped"));
        assert.equal((await callTool(server, "test.scoped", {})).status, 401);
        assert.doesNotMatch(server.stderr, /not listed to MCP clients/);
    });

    test("a reload that takes or brings the only issuer sends list_changed to anonymous callers", async (t) => {
        const issuers = [{ issuer: `http://127.0.0.1:${await freePort()}`, allow_private: true }];
        const public_url = "http://127.0.0.1";
        const server = await startBridge({ config: { public_url, access: { issuers } } });
        t.after(() => server.stop());
        const { headers } = await initialize(server, version);
        const session = await EventStream.get(server, { "Mcp-Session-Id": headers.get("mcp-session-id") });
        const filter = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
        const listen = await EventStream.open(server, "subscriptions/listen", { notifications: filter });
        assert.match((await listen.next()).method, /acknowledged$/);
        const isListed = async () => (await toolNames(server)).includes("test.scoped");
        assert.ok(await isListed());
        for (const [left, lists] of [
            [[], false],
            [issuers, true],
        ]) {
            await reloadBridge(server, { access: { issuers: left } });
            for (const stream of [session, listen]) {
                assert.equal((await stream.next()).method, "notifications/tools/list_changed");
            }
            assert.equal(await isListed(), lists);
        }
        // No list differs, so that nothing is sent.
        await reloadBridge(server, {
            access: { issuers: [...issuers, { ...issuers[0], issuer: "http://127.0.0.1:9" }] },
        });
        await pause(100);
        assert.deepEqual(
            [session, listen].map(({ events, taken }) => events.length - taken),
            [0, 0],
        );
    });

    test("OAuth clients read what to do instead", async (t) => {
        const server = await startBridge();
        t.after(() => server.stop());
        const documents = [
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-authorization-server",
            "/.well-known/oauth-authorization-server/mcp",
            "/.well-known/openid-configuration",
            "/.well-known/openid-configuration/mcp",
        ];
        for (const path of documents) {
            const { status, json } = await get(server, path);
            assert.equal(status, 404, path);
            assert.equal(json.error, "not_found");
            assert.match(json.error_description, /^This server has no logins\./);
        }
        for (const path of ["/register", "/token"]) {
            const { status, json } = await post(server, path, { redirect_uris: ["http://127.0.0.1/"] });
            assert.equal(status, 400, path);
            assert.equal(json.error, "invalid_request");
            assert.match(json.error_description, /^This server has no logins\./);
        }
        const query = "redirect_uri=https%3A%2F%2Fexample.org%2Fcanary&state=canary";
        const page = await fetch(`${server.url}/authorize?${query}`, { redirect: "manual" });
        assert.equal(page.status, 404);
        assert.match(page.headers.get("content-type"), /^text\/html/);
        assert.equal(page.headers.get("location"), null);
        const text = await page.text();
        assert.match(text, /This server has no logins/);
        assert.doesNotMatch(text, /canary|example\.org/);
    });
});
