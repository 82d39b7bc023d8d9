// Toolsets: parts of the catalogue at addresses of their own. They narrow what a caller sees and never
// widen it, and a tool outside a toolset is answered like one that does not exist.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { promisify } from "node:util";
import * as sdk2 from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { basic, bearer, databasePath } from "./support/accounts.mjs";
import { close, startForger } from "./support/issuer.mjs";
import {
    assertPlain,
    assertRpcError,
    EventStream,
    initialize,
    legacy,
    modern,
    ownName,
    permissions,
    reloadBridge,
    startBridge,
} from "./support/mcp.mjs";
import { root, runCauseway, writeConfig } from "./support/programs.mjs";
import { get } from "./support/rest.mjs";
import { eventually } from "./support/server.mjs";
import { startService, writeOpenRpc } from "./support/service.mjs";
import { startStdio } from "./support/stdio.mjs";

const about = { name: "test", version: "1.0.0" };

const service = await startService();

// Two services. Methods of "shop" have tags; of "desk" the operator sets them.
function makeSources() {
    const method = (name, tags) => ({
        name,
        summary: `Runs ${name}.`,
        tags,
        params: [],
        result: { name: "r", schema: { type: "string" } },
    });
    const document = (...methods) => writeOpenRpc({ openrpc: "1.3.2", info: { title: "test", version: "1" }, methods });
    const shop = ["item.get", "item.list", "item.delete", "order.create"];
    service.results = Object.fromEntries([...shop, "note.add", "note.read"].map((name) => [name, `${name} ran`]));
    const reads = { read_only: true };
    return [
        {
            name: "shop",
            url: service.url,
            prefix: "shop.",
            openrpc: document(
                method("item.get", [{ name: "items" }]),
                method("item.list", [{ name: "items" }, "lists"]),
                method("item.delete", [{ name: "items" }]),
                method("order.create"),
            ),
            methods: [
                { method: "item.get", ...reads },
                { method: "item.list", ...reads },
                { method: "item.delete" },
                { method: "order.create", permissions: ["sell"] },
            ],
        },
        {
            name: "desk",
            url: service.url,
            prefix: "desk.",
            openrpc: document(method("note.add"), method("note.read", ["items"])),
            methods: [
                { method: "note.add", tags: ["notes"] },
                { method: "note.read", tags: ["notes"], ...reads },
            ],
        },
    ];
}

const toolsets = {
    shop: { title: "The shop", sources: ["shop"], instructions: "Items and orders.\nRead before you change." },
    items: { tags: ["items"] },
    mixed: { sources: ["desk"], tools: ["shop.item.*"], exclude: ["*.delete", "desk.note.add"] },
    safe: { read_only: true },
    none: { tools: ["nothing.*"] },
};
const members = {
    shop: ["shop.item.delete", "shop.item.get", "shop.item.list"],
    items: ["shop.item.delete", "shop.item.get", "shop.item.list"],
    mixed: ["desk.note.read", "shop.item.get", "shop.item.list"],
    safe: ["desk.note.read", "shop.item.get", "shop.item.list"],
    none: [],
};
const readOnly = {
    shop: ["shop.item.get", "shop.item.list"],
    items: ["shop.item.get", "shop.item.list"],
    mixed: members.mixed,
    safe: members.safe,
    none: [],
};

const at = (name) => ({ path: `/mcp/x/${name}` });
const listed = async (server, where, headers = {}) => {
    const { json, text } = await modern(server, "tools/list", {}, { ...where, headers });
    assert.ok(json?.result, text);
    return json.result.tools.map(ownName);
};

async function startToolsets(t, more = {}) {
    const sources = makeSources();
    const server = await startBridge({ plugins: [], config: { sources, toolsets, ...more } });
    t.after(() => server.stop());
    // This list has one page. A source that is loaded later would be a change.
    await eventually(async () => (await get(server, "/mcp/tools/list")).json.tools?.length === 5, "the tools");
    return server;
}

suite("what a toolset has", () => {
    let server;
    before(async () => {
        const sources = makeSources();
        server = await startBridge({ plugins: [], config: { sources, toolsets } });
        await eventually(async () => (await listed(server, {})).length === 5, "the tools");
    });
    after(() => server?.stop());

    test("sources, tools and tags add, exclude and read_only take away", async () => {
        for (const [name, tools] of Object.entries(members)) {
            assert.deepEqual(await listed(server, at(name)), tools, name);
            assert.deepEqual(await listed(server, at(`${name}/`)), tools, name);
        }
    });

    test("behind /readonly are those that the operator calls read-only", async () => {
        for (const [name, tools] of Object.entries(readOnly)) {
            assert.deepEqual(await listed(server, at(`${name}/readonly`)), tools, name);
            assert.deepEqual(await listed(server, at(`${name}/readonly/`)), tools, name);
        }
    });

    test("a tool outside a toolset is answered like one that does not exist, in both eras", async () => {
        const outside = { name: "desk.note.add", arguments: {} };
        const missing = { name: "desk.note.odd", arguments: {} };
        for (const send of [modern, legacy]) {
            const one = await send(server, "tools/call", outside, at("items"));
            const other = await send(server, "tools/call", missing, at("items"));
            assertRpcError(one, 200, -32602, 1);
            assert.equal(one.text.replaceAll("note.add", "note.odd"), other.text);
            const ran = await send(server, "tools/call", outside);
            assert.equal(ran.json.result.content[0].text, "note.add ran");
        }
        const portable = await modern(server, "tools/call", { name: "desk__note__add" }, at("items"));
        assertRpcError(portable, 200, -32602, 1);
    });

    test("a tool that the caller may not see is not in any toolset", async () => {
        for (const name of ["shop", "safe", "items"]) {
            const answer = await modern(server, "tools/call", { name: "shop.order.create" }, at(name));
            assertRpcError(answer, 200, -32602, 1);
        }
    });

    test("an unknown toolset is 404, for every method and whoever asks", async () => {
        for (const path of ["/mcp/x/nothing", "/mcp/x/nothing/readonly", "/mcp/x/Shop"]) {
            const answer = await modern(server, "tools/list", {}, { path, headers: basic("eve", "wrong") });
            assertRpcError(answer, 404, -32000, 1);
            const stream = await get(server, path, { Accept: "text/event-stream" });
            assertPlain(stream, 404, /no toolset/);
        }
        for (const path of ["/mcp/x", "/mcp/x/", "/mcp/x/shop/other", "/mcp/x/shop/readonly/x"]) {
            assert.equal((await modern(server, "tools/list", {}, { path })).status, 404, path);
        }
    });

    test("pages go on in the toolset", async (t) => {
        const small = await startToolsets(t, { mcp: { page_size: 2 } });
        const first = (await modern(small, "tools/list", {}, at("shop"))).json.result;
        const { nextCursor } = first;
        const second = (await modern(small, "tools/list", { cursor: nextCursor }, at("shop"))).json.result;
        assert.deepEqual([...first.tools, ...second.tools].map(ownName), members.shop);
    });

    test("other doors do not know toolsets", async () => {
        assert.equal((await get(server, "/mcp/tools/list")).json.tools.length, 5);
        assert.equal((await get(server, "/mcp/x/shop/tools/list")).status, 404);
    });
});

suite("what a client is told", () => {
    let server;
    before(async () => {
        const sources = makeSources();
        server = await startBridge({ plugins: [], config: { sources, toolsets } });
        await eventually(async () => (await listed(server, {})).length === 5, "the tools");
    });
    after(() => server?.stop());

    const said = async (where) => {
        const modernAnswer = await modern(server, "server/discover", {}, where);
        const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: about };
        const legacyAnswer = await legacy(server, "initialize", params, where);
        const { instructions } = modernAnswer.json.result;
        assert.equal(legacyAnswer.json.result.instructions, instructions);
        return instructions;
    };

    test("the operator's instructions of a toolset", async () => {
        assert.equal(await said(at("shop")), toolsets.shop.instructions);
        assert.equal(await said(at("shop/readonly")), toolsets.shop.instructions);
    });

    test("else what the caller's sources have, the largest first, and nothing hidden", async () => {
        const lines = [
            "5 tools, by source:",
            "- shop: 3 tools, such as shop__item__delete, shop__item__get, shop__item__list",
            "- desk: 2 tools, such as desk__note__add, desk__note__read",
        ];
        assert.equal(await said({}), lines.join("\n"));
        assert.match(
            await said(at("mixed")),
            /^3 tools, by source:\n- shop: 2 .*\n- desk: 1 tool, such as desk__note__read$/,
        );
        assert.equal(await said(at("none")), undefined);
    });

    test("mcp.instructions are those of the server, and not of toolsets", async () => {
        await reloadBridge(server, { mcp: { instructions: "Ask first." } });
        assert.equal(await said({}), "Ask first.");
        assert.match(await said(at("items")), /^3 tools/);
        await reloadBridge(server, { mcp: {} });
    });

    test("many sources make at most 2,000 characters", async (t) => {
        const [source] = makeSources();
        const sources = Array.from({ length: 60 }, (_, i) => ({
            ...source,
            name: `source-with-a-long-name-${i}`,
            prefix: `a-prefix-that-takes-room-${i}.`,
        }));
        const many = await startBridge({ plugins: [], config: { sources } });
        t.after(() => many.stop());
        await eventually(async () => (await listed(many, {})).length === 180, "the tools");
        const { instructions } = (await modern(many, "server/discover")).json.result;
        assert.ok(instructions.length <= 2_000, `${instructions.length}`);
        assert.match(instructions, /^180 tools, by source:\n- source-with.*\n- and \d+ more sources$/s);
    });
});

suite("clients of others at a toolset", () => {
    let server;
    before(async () => {
        const sources = makeSources();
        server = await startBridge({ plugins: [], config: { sources, toolsets } });
        await eventually(async () => (await listed(server, {})).length === 5, "the tools");
    });
    after(() => server?.stop());

    async function assertNarrow(client) {
        const { tools } = await client.listTools();
        assert.deepEqual(
            tools.map(({ name }) => name),
            ["shop__item__get", "shop__item__list"],
        );
        const result = await client.callTool({ name: "shop__item__get", arguments: {} });
        assert.equal(result.content[0].text, "item.get ran");
        await assert.rejects(client.callTool({ name: "shop__item__delete", arguments: {} }), { code: -32602 });
        assert.equal(client.getInstructions(), toolsets.shop.instructions);
    }

    const address = () => new URL(`${server.url}/mcp/x/shop/readonly`);

    for (const mode of ["auto", "legacy"]) {
        test(`the SDK 2.4.0, ${mode}`, async (t) => {
            const client = new sdk2.Client(about, { versionNegotiation: { mode } });
            await client.connect(new sdk2.StreamableHTTPClientTransport(address()));
            t.after(() => client.close());
            await assertNarrow(client);
        });
    }

    test("the SDK 1.32.2", async (t) => {
        const client = new Client1(about);
        await client.connect(new Http1(address()));
        t.after(() => client.close());
        await assertNarrow(client);
    });

    test("the Inspector", async () => {
        const launcher = path.join(
            root,
            "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
        );
        const args = [launcher, "--cli", address().href, "--transport", "http", "--method", "tools/list"];
        const { stdout } = await promisify(execFile)(process.execPath, args);
        const names = JSON.parse(stdout).tools.map(({ name }) => name);
        assert.deepEqual(names, ["shop__item__get", "shop__item__list"]);
    });

    test("standard input with --toolset", async () => {
        const client = startStdio({ args: ["--config", server.config, "--toolset", "shop/readonly"] });
        const { result } = await client.initialize();
        assert.equal(result.instructions, toolsets.shop.instructions);
        const { result: list } = await client.ask("tools/list", {});
        assert.deepEqual(list.tools.map(ownName), readOnly.shop);
        assert.equal((await client.callTool("shop.item.delete")).error.code, -32602);
        await client.end();
    });

    test("--toolset of a toolset that is not configured is refused", async () => {
        for (const [toolset, code, pattern] of [
            ["nothing", 1, /no toolset 'nothing'/],
            ["shop/else", 2, /NAME or NAME\/readonly/],
        ]) {
            const stdio = await runCauseway(["stdio", "--config", server.config, "--toolset", toolset], { input: "" });
            assert.equal(stdio.code, code, stdio.stderr);
            assert.match(stdio.stderr, pattern);
            const args = ["install", "cursor", "--print", "--config", server.config, "--toolset", toolset];
            const install = await runCauseway(args);
            assert.equal(install.code, code, install.stderr);
        }
    });

    test("install writes the toolset into the entry", async () => {
        const print = async (...args) => {
            const { code, stdout, stderr } = await runCauseway(["install", "cursor", "--print", ...args]);
            assert.equal(code, 0, stderr);
            return JSON.parse(stdout).mcpServers.causeway;
        };
        const entry = await print("--config", server.config, "--toolset", "shop");
        assert.deepEqual(entry.args.slice(-2), ["--toolset", "shop"]);
        const { url } = await print("--url", `${server.url}/mcp`, "--toolset", "shop/readonly");
        assert.equal(url, address().href);
        const slash = await print("--url", `${server.url}/mcp/`, "--toolset", "shop");
        assert.equal(slash.url, `${server.url}/mcp/x/shop`);
    });
});

suite("changes", () => {
    test("a reload changes toolsets and notifies their clients, anonymous ones too", async (t) => {
        const server = await startToolsets(t);
        const filter = { notifications: { toolsListChanged: true } };
        const inShop = await EventStream.open(server, "subscriptions/listen", filter, at("shop"));
        const inItems = await EventStream.open(server, "subscriptions/listen", filter, at("items"));
        const { headers } = await initialize(server, "2025-11-25");
        const session = headers.get("mcp-session-id");
        const legacyStream = await EventStream.get(server, { "Mcp-Session-Id": session }, "/mcp/x/shop");
        for (const stream of [inShop, inItems]) {
            assert.match((await stream.next()).method, /acknowledged$/);
        }
        await reloadBridge(server, { toolsets: { ...toolsets, shop: { sources: ["desk"] } } });
        for (const stream of [inShop, legacyStream]) {
            assert.equal((await stream.next()).method, "notifications/tools/list_changed");
        }
        assert.deepEqual(await listed(server, at("shop")), ["desk.note.add", "desk.note.read"]);
        // The other toolset has not changed; what it is told next is about its own change.
        await reloadBridge(server, { toolsets: { items: { tags: ["lists"] } } });
        assert.equal((await inItems.next()).method, "notifications/tools/list_changed");
        assert.deepEqual(await listed(server, at("items")), ["shop.item.list"]);
        // A toolset that is gone: its clients are told, and their streams end.
        assert.equal((await inShop.next()).method, "notifications/tools/list_changed");
        assert.equal((await modern(server, "tools/list", {}, at("shop"))).status, 404);
    });

    test("a source that changes is told where its tools are", async (t) => {
        const server = await startToolsets(t);
        const filter = { notifications: { toolsListChanged: true } };
        const inMixed = await EventStream.open(server, "subscriptions/listen", filter, at("mixed"));
        assert.match((await inMixed.next()).method, /acknowledged$/);
        const sources = makeSources().filter(({ name }) => name === "shop");
        await reloadBridge(server, { sources });
        assert.equal((await inMixed.next()).method, "notifications/tools/list_changed");
        assert.deepEqual(await listed(server, at("mixed")), ["shop.item.get", "shop.item.list"]);
    });
});

suite("logins", () => {
    let server, issuer;
    before(async () => {
        issuer = await startForger({ audience: "https://tools.example/mcp" });
        const sources = makeSources();
        const config = {
            sources,
            toolsets,
            store: { path: databasePath() },
            public_url: "https://tools.example",
            roles: { anonymous: [], authenticated: [...permissions, "sell"] },
            access: { issuers: [{ issuer: issuer.url, allow_private: true }] },
        };
        server = await startBridge({ plugins: [], roles: config.roles, config });
        const headers = bearer(await issuer.sign());
        await eventually(async () => (await listed(server, {}, headers)).length === 6, "the tools");
    });
    after(async () => {
        await server?.stop();
        await close(issuer.server);
    });

    test("each address has resource metadata of its own, and its challenge names it", async () => {
        for (const path of ["/mcp", "/mcp/x/shop", "/mcp/x/shop/readonly"]) {
            const refused = await modern(server, "tools/list", {}, { path });
            assert.equal(refused.status, 401);
            const link = /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate"))[1];
            assert.equal(link, `https://tools.example/.well-known/oauth-protected-resource${path}`);
            const { json } = await get(server, new URL(link).pathname);
            assert.equal(json.resource, `https://tools.example${path}`);
            assert.deepEqual(json.authorization_servers, [issuer.url]);
        }
        const wrong = await modern(server, "tools/list", {}, { path: "/mcp/x/items", headers: bearer("x.y.z") });
        assert.match(wrong.headers.get("www-authenticate"), /oauth-protected-resource\/mcp\/x\/items"/);
        const missing = await get(server, "/.well-known/oauth-protected-resource/mcp/x/nothing");
        assert.equal(missing.status, 404);
    });

    test("one audience covers all addresses, and a token for a toolset is a token for this server", async () => {
        for (const aud of ["/mcp", "/mcp/x/shop", "/mcp/x/items/readonly"]) {
            const headers = bearer(await issuer.sign({ aud: `https://tools.example${aud}` }));
            for (const path of ["/mcp", "/mcp/x/shop", "/mcp/x/mixed/readonly"]) {
                assert.equal((await modern(server, "tools/list", {}, { path, headers })).status, 200, `${aud} ${path}`);
            }
        }
        const headers = bearer(await issuer.sign({ aud: "https://tools.example/mcp/x/nothing" }));
        assert.equal((await modern(server, "tools/list", {}, { headers, ...at("shop") })).status, 401);
    });

    test("a caller sees what it may see of the toolset", async () => {
        const headers = bearer(await issuer.sign());
        assert.deepEqual(await listed(server, at("shop"), headers), [...members.shop, "shop.order.create"]);
    });
});

suite("configuration", () => {
    test("a source that does not exist is a warning", async () => {
        const file = writeConfig({ toolsets: { ops: { sources: ["shop"] } }, sources: [], roles: {} });
        const { code, stdout, stderr } = await runCauseway(["config", "check", "--config", file]);
        assert.equal(code, 0, stderr);
        assert.match(stdout + stderr, /toolsets\.ops\.sources: warning: no plugin and no entry .* 'shop'/);
    });

    test("mistakes are named", async () => {
        for (const [config, pattern] of [
            [{ toolsets: { "Bad Name": {} } }, /toolsets\."Bad Name".*lower-case/],
            [{ toolsets: { ops: { source: ["x"] } } }, /toolsets\.ops\.source: unknown key; did you mean "sources"/],
            [{ toolsets: { ops: { instructions: "x".repeat(2_001) } } }, /2000 characters/],
            [{ mcp: { instructions: "x".repeat(2_001) } }, /2000 characters/],
        ]) {
            const { code, stderr } = await runCauseway(["config", "check", "--config", writeConfig(config)]);
            assert.equal(code, 2, stderr);
            assert.match(stderr, pattern);
        }
    });
});
