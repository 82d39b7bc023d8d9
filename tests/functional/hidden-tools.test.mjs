// What a caller may not see leaves no trace: two servers that differ in hidden tools only give the
// anonymous caller the same bytes at every door.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { basic, startAccounts } from "./support/accounts.mjs";
import {
    addPlugin,
    callTool,
    callToolWell,
    EventStream,
    legacy,
    modern,
    onAllLoops,
    permissions,
    reloadBridge,
    rpc,
    toolNames,
} from "./support/mcp.mjs";
import { get, invoke, send } from "./support/rest.mjs";
import { eventually, pause } from "./support/server.mjs";
import { startService, writeOpenRpc } from "./support/service.mjs";

const seen = ["mid.one", "pub.get", "pub.set", "x..y"];
// Beside each of the others, before, between and behind them, and enough to move every page.
const hidden = [
    ...Array.from({ length: 130 }, (_, i) => `aaa.${i}`),
    "mid_one",
    "pub-get",
    "pub__get",
    "pub_get",
    "pub_set",
    "pub.gets",
    "zzz.last",
];
const secret = { permissions: ["know secrets"] };

async function sourceOf(names) {
    const service = await startService();
    const methods = names.map((name) => ({
        name,
        summary: `Tool ${name}`,
        params: [{ name: "message", schema: { type: "string" } }],
        result: { name: "r", schema: { type: "object" } },
    }));
    const info = { title: "t", version: "1" };
    return {
        name: "service",
        url: service.url,
        openrpc: writeOpenRpc({ openrpc: "1.3.2", info, methods }),
        methods: names.map((method) => ({ method, ...(hidden.includes(method) ? secret : {}) })),
    };
}

async function start(names, accounts = true) {
    const config = {
        roles: { anonymous: permissions, authenticated: permissions, editor: secret.permissions },
        sources: [await sourceOf(names)],
        mcp: { tool_names: "portable", page_size: 2 },
        toolsets: { found: { mode: "search", tools: ["*"] } },
        page_size: 2,
        public_url: "http://127.0.0.1:1",
        debug_headers: true,
        loops: 1,
    };
    const server = await startAccounts({ plugins: [], config, accounts });
    await eventually(async () => (await get(server, "/mcp/tools/list")).json.tools.length === 2, "the tools");
    return server;
}

const servers = {};
before(async () => {
    servers.bare = await start(seen, false);
    servers.full = await start([...seen, ...hidden]);
});
after(() => Promise.all(Object.values(servers).map((one) => one.stop())));

// An answer without what differs between any two answers.
function strip({ status, headers, text }) {
    const all = headers instanceof Headers ? Object.fromEntries(headers) : { ...headers };
    delete all.date;
    delete all["x-request-id"];
    // A cursor of /mcp is sealed anew each time.
    return { status, headers: all, text: text.replace(/"nextCursor":"[\w-]{40,}"/, '"nextCursor":"C"') };
}

async function assertSame(ask) {
    const answers = [];
    for (const server of [servers.bare, servers.full]) {
        answers.push(strip(await ask(server)));
    }
    assert.deepEqual(answers[1], answers[0]);
    return answers[0];
}

// All pages that `ask` gives for a cursor.
async function assertSamePages(ask, nextOf) {
    const cursors = new Map();
    let n = 0;
    do {
        n += 1;
        await assertSame(async (server) => {
            const answer = await ask(server, cursors.get(server));
            cursors.set(server, nextOf(answer.json));
            return answer;
        });
        assert.equal(Boolean(cursors.get(servers.full)), Boolean(cursors.get(servers.bare)));
    } while (cursors.get(servers.bare));
    return n;
}

suite("threat-C2: hidden tools change nothing for others", () => {
    test("lists: order, pages, aliases, cacheScope", async () => {
        const next = ({ result }) => result.nextCursor;
        const modernList = (server, cursor) => modern(server, "tools/list", cursor ? { cursor } : {});
        const legacyList = (server, cursor) => legacy(server, "tools/list", cursor ? { cursor } : {});
        const rest = (server, cursor) => get(server, `/mcp/tools/list${cursor ? `?cursor=${cursor}` : ""}`);
        assert.equal(await assertSamePages(modernList, next), 2);
        assert.equal(await assertSamePages(legacyList, next), 2);
        assert.equal(await assertSamePages(rest, ({ nextCursor }) => nextCursor), 2);
        const { text } = await assertSame((server) => modern(server, "tools/list"));
        assert.match(text, /"cacheScope":"private"/);
        assert.match(text, /"mid__one"/);
    });

    test("documents: methods, capabilities, well-known addresses", async () => {
        for (const target of [
            "/jsonrpc/methods",
            "/jsonrpc/methods/pub.get",
            "/jsonrpc/methods?cursor=MTAwMA",
            "/mcp/tools/describe?name=pub.get",
            "/mcp/tools/list?cursor=NA==",
            "/mcp/tools/list?cursor=NTA=",
            "/.well-known/mcp.json",
            "/mcp/server-card",
            "/readyz",
        ]) {
            await assertSame((server) => get(server, target));
            await assertSame((server) => send(server, "HEAD", target));
        }
        await assertSame((server) => modern(server, "server/discover"));
        for (const list of ["prompts", "resources", "resources/templates"]) {
            await assertSame((server) => modern(server, `${list}/list`));
        }
    });

    test("calls by names and aliases, of tools that are there or not", async () => {
        const odd = ["pub__get", "pub_get", "pub-get", "mid_one", "zzz__last", "x..y", "aaa__7", ""];
        for (const name of [...seen, ...hidden.slice(100), ...odd]) {
            const args = { massage: "x" };
            await assertSame((server) => callTool(server, name, args));
            await assertSame((server) => legacy(server, "tools/call", { name, arguments: args }));
            await assertSame((server) => invoke(server, name, args));
            await assertSame((server) => rpc(server, { id: 1, method: name, params: args }));
            await assertSame((server) => get(server, `/mcp/tools/describe?name=${name}`));
            await assertSame((server) => get(server, `/jsonrpc/methods/${name || "-"}`));
        }
    });

    test("searches: what is found, in which order, and how many", async () => {
        const path = "/mcp/x/found";
        await assertSame((server) => modern(server, "tools/list", {}, { path }));
        for (const query of ["get", "gets", "set one", "one set", "last", "pubs", "tool set", "aaa"]) {
            const search = { name: "find_tools", arguments: { query } };
            await assertSame((server) => modern(server, "tools/call", search, { path }));
        }
        for (const name of [...seen, ...hidden.slice(-8)]) {
            const call = { name: "call_tool", arguments: { name, arguments: {} } };
            await assertSame((server) => modern(server, "tools/call", call, { path }));
        }
    });

    test("and those who may see them do", async () => {
        const headers = basic("alice", "s3cret");
        const { json } = await modern(servers.full, "tools/list", {}, { headers });
        assert.deepEqual(
            json.result.tools.map(({ name }) => name),
            ["aaa__0", "aaa__1"],
        );
    });
});

suite("threat-C2: news of hidden tools", () => {
    const open = async (server, headers) => {
        const notifications = { toolsListChanged: true, promptsListChanged: true };
        const stream = await EventStream.open(server, "subscriptions/listen", { notifications }, { headers });
        assert.match((await stream.next()).method, /acknowledged$/);
        return stream;
    };

    test("a catalogue that differs in them is no news", async (t) => {
        const server = await start([...seen, "pub_get"]);
        t.after(() => server.stop());
        const stream = await open(server);
        const headers = basic("alice", "s3cret");
        const has = async (name) => (await callTool(server, name, {}, { headers })).json.result !== undefined;
        for (const names of [[...seen, "pub_get", "zzz.last"], seen]) {
            await reloadBridge(server, { sources: [await sourceOf(names)] });
            await eventually(async () => (await has("zzz.last")) === names.includes("zzz.last"), "the change");
        }
        await reloadBridge(server, { sources: [await sourceOf(seen.slice(1))] });
        assert.match((await stream.next()).method, /tools\/list_changed$/);
        await pause(100);
        assert.equal(stream.events.length, 2);
    });

    test("what a source announces is told to those who see something of it", async (t) => {
        const server = await startAccounts({
            plugins: ["conformance"],
            config: { roles: { anonymous: permissions, authenticated: permissions, editor: [] } },
        });
        t.after(() => server.stop());
        addPlugin(server.plugins, "hidden");
        // Tools that come later, on any loop, are news as well.
        const hasAll = async () => {
            const names = await toolNames(server);
            return ["hidden.challenged", "test_trigger_prompt_change"].every((name) => names.includes(name));
        };
        await eventually(() => onAllLoops(hasAll), "the tools", 10_000);
        const stream = await open(server);
        await callToolWell(server, "hidden.announce", {}, { headers: basic("bob", "b0b") });
        assert.match((await stream.next()).method, /tools\/list_changed$/);
        await callToolWell(server, "test_trigger_prompt_change", {});
        assert.match((await stream.next()).method, /prompts\/list_changed$/);
    });
});
