// Results that are too large for a client: the part that it gets, and the rest as a resource that its
// caller can read in parts for some time.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import * as sdk2 from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { basic, cli, databasePath } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import {
    assertRpcError,
    assertToolError,
    callTool,
    legacy,
    modern,
    permissions,
    post,
    reloadBridge,
    startBridge,
    toolOf,
} from "./support/mcp.mjs";
import { eventually } from "./support/server.mjs";
import { startService, writeOpenRpc } from "./support/service.mjs";
import { startStdio } from "./support/stdio.mjs";

const about = { name: "test", version: "1.0.0" };
const size = 65_536;
const service = await startService();
const row = (i) => ({ id: i, name: `row ${i} žluťoučký`, text: "x".repeat(80) });
const rows = Array.from({ length: 3_000 }, (_, i) => row(i));
const rowSchema = { type: "object", required: ["id"], properties: { id: { type: "integer" } } };

// Each method returns what its name says; `schema` is that of its result.
const results = {
    list: { value: rows },
    open: { value: rows, schema: {} },
    small: { value: rows.slice(0, 3) },
    text: { value: "žluťoučký kůň ".repeat(20_000) },
    tree: { value: { page: 1, data: { rows } } },
    listed: { value: rows, schema: { type: "array", items: rowSchema } },
    paged: {
        value: { total: rows.length, rows },
        schema: { type: "object", required: ["rows"], properties: { rows: { type: "array", items: rowSchema } } },
    },
    exact: { value: rows, schema: { type: "array", minItems: 3_000 } },
    many: { value: Array.from({ length: 40 }, () => rows) },
};

function makeSource(overlay = {}) {
    service.results = Object.fromEntries(Object.entries(results).map(([name, { value }]) => [name, value]));
    const methods = Object.entries(results).map(([name, { schema }]) => ({
        name,
        params: [],
        ...(schema && { result: { name: "r", schema } }),
    }));
    const openrpc = writeOpenRpc({ openrpc: "1.3.2", info: { title: "test", version: "1" }, methods });
    return { name: "s", url: service.url, prefix: "s.", openrpc, methods: [{ method: "*", ...overlay }] };
}

async function start(t, { overlay, ...config } = {}) {
    const server = await startBridge({ plugins: [], config: { sources: [makeSource(overlay)], ...config } });
    t?.after(() => server.stop());
    await eventually(async () => (await modern(server, "tools/list")).json?.result?.tools.length > 0, "the tools");
    return server;
}

async function call(send, server, name, options) {
    const answer = await send(server, "tools/call", { name: `s.${name}`, arguments: {} }, options);
    assert.equal(answer.status, 200, answer.text);
    assert.ok(answer.json.result, answer.text);
    assert.ok(answer.text.length < 4 * size, `${answer.text.length}`);
    return answer.json.result;
}

const linkOf = (result) => result.content.find(({ type }) => type === "resource_link");

async function read(send, server, uri, options) {
    const { json, text } = await send(server, "resources/read", { uri }, options);
    assert.ok(json.result, text);
    const [content, ...more] = json.result.contents;
    assert.equal(more.length, 0);
    return content;
}

// All parts, in order.
async function readAll(send, server, uri, options) {
    const parts = [];
    for (let next = uri; next !== undefined; ) {
        const part = await read(send, server, next, options);
        parts.push(part);
        assert.ok(part.text.length <= size + 2);
        assert.equal(part._meta["causeway/part"], parts.length);
        next = part._meta["causeway/next"];
    }
    assert.equal(parts.length, parts[0]._meta["causeway/parts"]);
    return parts;
}

const lists = (parts) => parts.flatMap(({ text }) => JSON.parse(text));
const joined = (parts) => parts.map(({ text }) => text).join("");

const recent = (server, method, params, options) =>
    legacy(server, method, params, { version: "2025-11-25", ...options });

for (const [era, send] of Object.entries({ modern, legacy: recent })) {
    suite(`${era} clients`, () => {
        let server;
        before(async () => {
            server = await start(null, { mcp: { kept_results: { max_size_per_caller: "8MB" } } });
        });
        after(() => server?.stop());

        test("get the first items of a list, how many there are, and a link to the whole", async () => {
            const result = await call(send, server, "list");
            const { items, total, truncated, rest } = result.structuredContent;
            assert.equal(total, rows.length);
            assert.equal(truncated, true);
            assert.deepEqual(items, rows.slice(0, items.length));
            assert.ok(JSON.stringify(result.structuredContent).length <= size);
            assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
            assert.match(result.content[1].text, new RegExp(`${items.length} of 3000 elements of the list`));
            const link = linkOf(result);
            assert.match(link.uri, /^causeway:\/\/results\/[0-9a-f]{32}$/);
            assert.equal(rest, `${link.uri}/1`);
            assert.ok(link.size > 300_000);
            const parts = await readAll(send, server, link.uri);
            assert.equal(parts[0].uri, rest);
            assert.equal(parts[0].mimeType, "application/json");
            assert.deepEqual(lists(parts), rows);
            assert.ok(parts.length > 4);
        });

        test("get the items of a list in the same form where the schema allows anything", async () => {
            const { structuredContent } = await call(send, server, "open");
            const { total, items } = era === "legacy" ? structuredContent.result : structuredContent;
            assert.equal(total, rows.length);
            assert.deepEqual(items, rows.slice(0, items.length));
        });

        test("get a result that is small as it is", async () => {
            const result = await call(send, server, "small");
            assert.equal(result.content.length, 1);
            assert.deepEqual(JSON.parse(result.content[0].text), rows.slice(0, 3));
        });

        test("get the beginning of a text, in whole characters", async () => {
            const result = await call(send, server, "text");
            assert.equal("structuredContent" in result, false);
            const [{ text }] = result.content;
            assert.ok(results.text.value.startsWith(text));
            assert.ok(text.length > size / 3);
            const parts = await readAll(send, server, linkOf(result).uri);
            assert.equal(joined(parts), results.text.value);
            assert.equal(parts[0].mimeType, "text/plain");
        });

        test("get an object with its largest list cut", async () => {
            const { structuredContent, content } = await call(send, server, "tree");
            const { data } = structuredContent;
            assert.equal(structuredContent.page, 1);
            assert.deepEqual(data.rows, rows.slice(0, data.rows.length));
            assert.match(content[1].text, /elements of the list at \/data\/rows\./);
            const parts = await readAll(send, server, content[2].uri);
            assert.deepEqual(JSON.parse(joined(parts)), results.tree.value);
        });

        test("get a value that matches the output schema, where there is one", async () => {
            const listed = (await call(send, server, "listed")).structuredContent;
            const items = era === "legacy" ? listed.result : listed;
            assert.ok(Array.isArray(items) && items.length > 100);
            assert.deepEqual(items, rows.slice(0, items.length));
            const { structuredContent: paged } = await call(send, server, "paged");
            assert.equal(paged.total, rows.length);
            assert.deepEqual(paged.rows, rows.slice(0, paged.rows.length));
        });

        test("get an error with the beginning, where no part would match it", async () => {
            const result = await call(send, server, "exact");
            assert.equal(result.isError, true);
            const [{ text }] = result.content;
            assert.match(text, /^The call succeeded, but its result of \d+ bytes is too large/);
            assert.ok(text.includes('It begins with: [{"id":0,'));
            const uri = /causeway:\/\/results\/[0-9a-f]{32}/.exec(text)[0];
            assert.deepEqual(lists(await readAll(send, server, uri)), rows);
        });

        test("get no link to what is larger than a caller's share", async () => {
            const result = await call(send, server, "many");
            assert.equal(linkOf(result), undefined);
            assert.match(result.content[1].text, /The rest is not available/);
        });

        test("get one answer for every address that is not there", async () => {
            const { uri } = linkOf(await call(send, server, "list"));
            const other = `causeway://results/${"0".repeat(32)}`;
            const wrong = [`${uri}/0`, `${uri}/01`, `${uri}/999`, `${uri}/1/`, `${uri}x`, `${uri}/1x`, other];
            for (const address of [...wrong, "causeway://results/", "causeway://results"]) {
                const { json } = await send(server, "resources/read", { uri: address });
                assert.equal(json.error.message, `Resource not found: ${address}`);
            }
        });
    });
}

suite("clients of others", () => {
    let server;
    before(async () => {
        server = await start();
    });
    after(() => server?.stop());

    async function follow(client) {
        for (const name of ["listed", "paged", "list", "tree"]) {
            const result = await client.callTool({ name: `s__${name}`, arguments: {} });
            assert.notEqual(result.isError, true);
            const { contents } = await client.readResource({ uri: linkOf(result).uri });
            assert.ok(contents[0].text.length > 1_000);
        }
        const exact = await client.callTool({ name: "s__exact", arguments: {} });
        assert.equal(exact.isError, true);
    }

    for (const mode of ["auto", "legacy"]) {
        test(`the SDK 2.4.0, ${mode}, validates the part and follows the link`, async (t) => {
            const client = new sdk2.Client(about, { versionNegotiation: { mode }, enforceStrictCapabilities: true });
            await client.connect(new sdk2.StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
            t.after(() => client.close());
            await client.listTools();
            await follow(client);
        });
    }

    test("the SDK 1.32.2 does too", async (t) => {
        const client = new Client1(about, { enforceStrictCapabilities: true });
        await client.connect(new Http1(new URL(`${server.url}/mcp`)));
        t.after(() => client.close());
        await client.listTools();
        await follow(client);
    });

    test("standard input and output", async () => {
        const client = startStdio({ args: ["--config", server.config] });
        await client.initialize();
        const { result } = await client.callTool("s.list");
        const { uri } = linkOf(result);
        const { result: part } = await client.ask("resources/read", { uri });
        assert.deepEqual(JSON.parse(part.contents[0].text)[0], rows[0]);
        // The results of another process are not there.
        assertRpcError(await legacy(server, "resources/read", { uri }), 200, -32002, 1);
        await client.end();
    });

    test("a client of a version without links gets the address as a text", async () => {
        const { content } = await call(legacy, server, "list", { version: "2024-11-05" });
        assert.ok(content.every(({ type }) => type === "text"));
        assert.match(content[2].text, /^causeway:\/\/results\//);
    });
});

suite("work", () => {
    test("threat-B6: a part is validated with the work that its result has left", async (t) => {
        const callWith = async (validation_steps) => {
            const server = await start(t, { limits: { validation_steps } });
            const answer = await modern(server, "tools/call", { name: "s.listed", arguments: {} });
            await server.stop();
            return answer.json.result;
        };
        // The least work that the whole needs: nothing is left for a part of it.
        let [few, enough] = [1_000, 1_000_000];
        while (enough - few > enough / 20) {
            const middle = Math.round((few + enough) / 2);
            const [{ text }] = (await callWith(middle)).content;
            if (/too much work/.test(text)) few = middle;
            else enough = middle;
        }
        const result = await callWith(enough);
        assert.equal(result.isError, true);
        assert.match(result.content[0].text, /^The call succeeded, but its result of \d+ bytes is too large/);
        assert.ok((await callWith(3 * enough)).structuredContent.length > 100);
    });
});

suite("other doors", () => {
    test("JSON-RPC and REST return whole results, unless a size is configured", async (t) => {
        const server = await start(t);
        const answer = await post(
            server,
            "/jsonrpc",
            JSON.stringify({ jsonrpc: "2.0", id: 1, method: "s.list", params: {} }),
        );
        assert.deepEqual(answer.json.result, rows);
        const invoke = await post(server, "/mcp/tools/invoke", JSON.stringify({ name: "s.list", arguments: {} }));
        assert.deepEqual(invoke.json.result, rows);
    });
});

suite("a size that is configured", () => {
    test("is announced, has a total in each part, and a link in the first", async (t) => {
        const server = await start(t, { overlay: { max_result_size: "8KB", read_only: true } });
        const tool = await toolOf(server, "s.list");
        assert.equal(tool._meta["anthropic/maxResultSizeChars"], 8_192);
        const result = await call(modern, server, "list");
        const { items, total, continuation } = result.structuredContent;
        assert.equal(total, rows.length);
        assert.ok(items.length < 100);
        assert.ok(continuation);
        assert.deepEqual(lists(await readAll(modern, server, linkOf(result).uri)), rows);
        const next = (await modern(server, "tools/call", { name: "s.list", arguments: { continuation } })).json.result;
        assert.equal(next.structuredContent.total, rows.length);
        assert.equal(linkOf(next), undefined);
        const text = await call(modern, server, "text");
        assert.equal(text.structuredContent.total, Buffer.byteLength(results.text.value));
        const over = await post(
            server,
            "/jsonrpc",
            JSON.stringify({ jsonrpc: "2.0", id: 1, method: "s.list", params: {} }),
        );
        assert.equal(over.json.result.total, rows.length);
    });

    test("of zero is no limit, and nothing is announced by default or above the ceiling", async (t) => {
        const server = await start(t, { overlay: { max_result_size: 0 } });
        const { json } = await modern(server, "tools/call", { name: "s.list", arguments: {} });
        assert.deepEqual(json.result.structuredContent, rows);
        assert.equal((await toolOf(server, "s.list"))._meta["anthropic/maxResultSizeChars"], undefined);
        const large = await start(t, { overlay: { max_result_size: "1MB" } });
        assert.equal((await toolOf(large, "s.list"))._meta["anthropic/maxResultSizeChars"], 500_000);
        const plain = await start(t);
        assert.equal((await toolOf(plain, "s.list"))._meta["anthropic/maxResultSizeChars"], undefined);
    });
});

suite("what is kept", () => {
    const exists = async (server, uri, options) =>
        (await modern(server, "resources/read", { uri }, options)).json.result !== undefined;

    test("belongs to its caller alone, as long as it may call the tool", async (t) => {
        const roles = { anonymous: [...permissions], authenticated: [...permissions], seller: ["sell"] };
        const config = { store: { path: databasePath() }, roles };
        const server = await startBridge({
            plugins: [],
            roles,
            config: { ...config, sources: [makeSource({ permissions: ["access content"] })] },
        });
        t.after(() => server.stop());
        const [ada, bob] = ["ada", "bob"].map((name) => ({ headers: basic(name, name) }));
        for (const name of ["ada", "bob"]) {
            await cli(server.config, "account", "add", name, { input: name });
        }
        await eventually(async () => (await modern(server, "tools/list")).json?.result?.tools.length > 0, "the tools");
        const { uri } = linkOf(await call(modern, server, "list", ada));
        assert.equal(await exists(server, uri, ada), true);
        // For others it is unknown: the answer is the one for an address that never was.
        const never = `causeway://results/${"a".repeat(32)}`;
        for (const other of [bob, {}]) {
            const one = await modern(server, "resources/read", { uri }, other);
            const two = await modern(server, "resources/read", { uri: never }, other);
            assert.equal(one.text.replaceAll(uri, never), two.text);
        }
        const anonymous = linkOf(await call(modern, server, "list")).uri;
        assert.equal(await exists(server, anonymous), true);
        assert.equal(await exists(server, anonymous, ada), false);
        // A caller that may not call the tool any more cannot read what it returned.
        // The source is described again after the configuration is read.
        await reloadBridge(server, { sources: [makeSource({ permissions: ["sell"] })] });
        await eventually(async () => !(await exists(server, uri, ada)), "the end of the right");
        await reloadBridge(server, { sources: [makeSource({ permissions: ["access content"] })] });
        await eventually(() => exists(server, uri, ada), "the right");
    });

    test("is in the audit each time that a part of it is read", async (t) => {
        const file = path.join(keepFolder(), "reads.audit");
        const server = await start(t, { audit: { path: file } });
        const { uri } = linkOf(await call(modern, server, "list"));
        await read(modern, server, uri);
        await read(modern, server, `${uri}/2`);
        const records = () =>
            readFileSync(file, "utf8")
                .split("\n")
                .slice(0, -1) // whole lines
                .map((line) => JSON.parse(line))
                .filter(({ method }) => method === "s.list");
        await eventually(() => existsSync(file) && records().length === 3, "the records");
        assert.deepEqual(
            records().map(({ kind, outcome, detail }) => [kind, outcome, detail]),
            [
                ["call", "ok", undefined],
                ["call", "ok", uri],
                ["call", "ok", `${uri}/2`],
            ],
        );
    });

    test("is dropped when a caller's share is full, the oldest first", async (t) => {
        const server = await start(t, { mcp: { kept_results: { max_size_per_caller: "1MB" } } });
        const uris = [];
        for (let i = 0; i < 4; i += 1) {
            uris.push(linkOf(await call(modern, server, "list")).uri);
        }
        const there = await Promise.all(uris.map((uri) => exists(server, uri)));
        assert.deepEqual(there, [false, false, true, true]);
    });

    test("is dropped after its time, and not kept where that is zero", async (t) => {
        const server = await start(t);
        // A busy machine may need longer than its time to read it once.
        let uri;
        for (let seconds = 1, isThere = false; !isThere; seconds *= 2) {
            assert.ok(seconds < 120, "a result that can be read before its time is over");
            await reloadBridge(server, { mcp: { kept_results: { ttl: `${seconds}s` } } });
            ({ uri } = linkOf(await call(modern, server, "list")));
            isThere = await exists(server, uri);
        }
        await eventually(async () => !(await exists(server, uri)), "the end of the result", 130_000);
        await reloadBridge(server, { mcp: { kept_results: { ttl: 0 } } });
        const result = await call(modern, server, "list");
        assert.equal(linkOf(result), undefined);
        assert.equal("rest" in result.structuredContent, false);
    });

    test("is bounded for all callers together", async (t) => {
        const server = await start(t, { mcp: { kept_results: { max_size: 0 } } });
        assert.equal(linkOf(await call(modern, server, "list")), undefined);
    });
});

test("errors of tools are not cut", async (t) => {
    const server = await start(t);
    assertToolError(await callTool(server, "s.list", { nothing: 1 }));
});
