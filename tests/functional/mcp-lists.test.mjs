// How MCP clients read the list of tools: pages and cursors, for whom a list may be kept, hints,
// names and schemas that fit the client, and arguments that stand in headers too.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { basic, roles, startAccounts } from "./support/accounts.mjs";
import {
    addPlugin,
    assertRpcError,
    callTool,
    callToolWell,
    EventStream,
    initialize,
    legacy,
    metaKey,
    modern,
    ownName,
    modernParts,
    permissions,
    post,
    reloadBridge,
    startBridge,
    untilTool,
} from "./support/mcp.mjs";
import { runCauseway } from "./support/programs.mjs";
import { get, send, startMany, toolName } from "./support/rest.mjs";
import { eventually } from "./support/server.mjs";
import { startService, writeOpenRpc } from "./support/service.mjs";

const portable = /^[A-Za-z][A-Za-z0-9_-]{0,47}$/;

// A server with tools that all give back their arguments: { name, params, result, mark }.
async function startEcho(t, tools, config = {}, given = undefined, others = []) {
    const service = given ?? (await startService());
    const methods = tools.map(({ name = "echo", params = [], result = { type: "object" } }) => ({
        name,
        summary: `Tool ${name}`,
        params,
        ...(result ? { result: { name: "r", schema: result } } : {}),
    }));
    const info = { title: "echoes", version: "1" };
    const source = {
        name: "echoes",
        url: service.url,
        openrpc: writeOpenRpc({ openrpc: "1.3.2", info, methods }),
        methods: [...tools.map(({ name = "echo", mark = {} }) => ({ method: name, ...mark })), ...others],
    };
    const server = await startBridge({ plugins: [], config: { ...config, sources: [source] } });
    t.after(() => server.stop());
    await eventually(async () => {
        const { json } = await get(server, "/mcp/tools/list");
        return json.tools.length === tools.length;
    }, "the tools");
    return server;
}

const listTools = async (server, params, options) => {
    const { json, text } = await modern(server, "tools/list", params, options);
    assert.ok(json?.result, text);
    return json.result;
};

// All pages of a list.
async function readPages(server, visit = () => {}) {
    const names = [];
    let cursor;
    do {
        const page = await listTools(server, cursor === undefined ? {} : { cursor });
        visit(page);
        names.push(...page.tools.map(ownName));
        cursor = page.nextCursor;
    } while (cursor !== undefined);
    return names;
}

suite("pages", { concurrency: true }, () => {
    const all = (n) => Array.from({ length: n }, (_, i) => toolName(i));

    test("a list that fits one page has no cursor, and 1,000 tools fit", async (t) => {
        const server = await startMany(1_000);
        t.after(() => server.stop());
        const { tools, nextCursor } = await listTools(server);
        assert.equal(tools.length, 1_000);
        assert.equal(nextCursor, undefined);
    });

    test("more go on at nextCursor, in both eras", async (t) => {
        const server = await startMany(1_001);
        t.after(() => server.stop());
        const sizes = [];
        assert.deepEqual(await readPages(server, ({ tools }) => sizes.push(tools.length)), all(1_001));
        assert.deepEqual(sizes, [1_000, 1]);
        const first = (await legacy(server, "tools/list")).json.result;
        const second = (await legacy(server, "tools/list", { cursor: first.nextCursor })).json.result;
        assert.deepEqual(second.tools.map(ownName), [toolName(1_000)]);
        assert.equal("nextCursor" in second, false);
    });

    test("the size is mcp.page_size, and every page says the same of caching", async (t) => {
        const server = await startMany(10, { mcp: { page_size: 3 } });
        t.after(() => server.stop());
        const said = new Set();
        const names = await readPages(server, ({ ttlMs, cacheScope }) => said.add(`${ttlMs} ${cacheScope}`));
        assert.deepEqual(names, all(10));
        assert.deepEqual([...said], ["5000 public"]);
    });

    test("threat-C4: a cursor that is empty, tampered with, of another list or no string is -32602", async (t) => {
        const server = await startMany(5, { mcp: { page_size: 2 } });
        t.after(() => server.stop());
        const { nextCursor } = await listTools(server);
        const middle = nextCursor.length >> 1;
        const flipped = nextCursor[middle] === "A" ? "B" : "A";
        const tampered = `${nextCursor.slice(0, middle)}${flipped}${nextCursor.slice(middle + 1)}`;
        const bad = ["", "x", "MQ==", tampered, nextCursor.slice(1), `${nextCursor}A`, 5, null, ["x"]];
        for (const cursor of bad) {
            assertRpcError(await modern(server, "tools/list", { cursor }), 200, -32602, 1);
            assertRpcError(await legacy(server, "tools/list", { cursor }), 200, -32602, 1);
        }
        assertRpcError(await modern(server, "prompts/list", { cursor: nextCursor }), 200, -32602, 1);
        assert.equal((await listTools(server, { cursor: nextCursor })).tools.length, 2);
    });

    test("nothing of a cursor can be read, and another server cannot use it", async (t) => {
        const servers = await Promise.all([1, 2].map(() => startMany(3, { mcp: { page_size: 1 } })));
        t.after(() => Promise.all(servers.map((server) => server.stop())));
        const { nextCursor } = await listTools(servers[0]);
        assert.ok(!Buffer.from(nextCursor, "base64url").includes(toolName(0)));
        assertRpcError(await modern(servers[1], "tools/list", { cursor: nextCursor }), 200, -32602, 1);
    });

    test("a cursor stays good while tools come and go", async (t) => {
        const server = await startBridge({ config: { mcp: { page_size: 2 } } });
        t.after(() => server.stop());
        const before = await readPages(server);
        const { tools, nextCursor } = await listTools(server);
        addPlugin(server.plugins, "faults");
        // They sort ahead of the others: what was read is not read again, nothing is left out.
        await eventually(async () => (await readPages(server)).includes("faults.ok"), "the plugin");
        const rest = [];
        for (let cursor = nextCursor; cursor; ) {
            const page = await listTools(server, { cursor });
            rest.push(...page.tools.map(ownName));
            cursor = page.nextCursor;
        }
        assert.deepEqual([...tools.map(ownName), ...rest], before);
    });
});

suite("cacheScope", { concurrency: true }, () => {
    const scopes = async (server, options) => {
        const discover = (await modern(server, "server/discover", {}, options)).json.result;
        return [discover.cacheScope, (await listTools(server, {}, options)).cacheScope];
    };

    test("is public where nobody can log in", async (t) => {
        const server = await startBridge();
        t.after(() => server.stop());
        assert.deepEqual(await scopes(server), ["public", "public"]);
    });

    test("threat-C2: is private where other callers may see other tools", async (t) => {
        const server = await startAccounts({ config: { roles: { ...roles, anonymous: permissions } } });
        t.after(() => server.stop());
        assert.deepEqual(await scopes(server), ["private", "private"]);
    });

    test("is private where clients read different names", async (t) => {
        const clients = [{ name: "plain*", tool_names: "exact" }];
        const server = await startBridge({ config: { mcp: { clients } } });
        t.after(() => server.stop());
        assert.deepEqual(await scopes(server), ["private", "private"]);
    });
});

suite("hints", () => {
    test("fault-B26: known ones get the protocol's names, the rest goes to _meta", async (t) => {
        const annotations = {
            destructive: false,
            category: "content",
            readOnlyHint: true,
            auth: { scopes: [], level: "none" },
        };
        const server = await startEcho(t, [{ mark: { annotations } }]);
        for (const tools of [(await listTools(server)).tools, (await legacy(server, "tools/list")).json.result.tools]) {
            assert.deepEqual(tools[0].annotations, { destructiveHint: false, readOnlyHint: true });
            const { category, auth } = annotations;
            assert.deepEqual(tools[0]._meta, { "causeway/annotations": { category, auth } });
        }
        // The doors of the original show them as it does.
        const { json } = await get(server, "/mcp/tools/describe?name=echo");
        assert.deepEqual(json.tool.annotations, annotations);
        assert.equal("_meta" in json.tool, false);
    });

    test("fault-B26: results that are no objects are wrapped where the era wants it", async (t) => {
        const params = [{ name: "message", schema: { type: "string" } }];
        const result = { type: ["object", "array"] };
        const server = await startEcho(t, [{ params, result }]);
        const old = (await legacy(server, "tools/list")).json.result.tools[0].outputSchema;
        const mark = { "x-fastmcp-wrap-result": true };
        assert.deepEqual(old, { type: "object", properties: { result }, required: ["result"], ...mark });
        assert.deepEqual((await listTools(server)).tools[0].outputSchema, result);
        const call = { name: "echo", arguments: { message: "x" } };
        const wrapped = (await legacy(server, "tools/call", call)).json.result.structuredContent;
        assert.deepEqual(wrapped, { result: { message: "x" } });
        const { structuredContent } = await callToolWell(server, "echo", { message: "x" });
        assert.deepEqual(structuredContent, { message: "x" });
    });
});

suite("texts", { concurrency: true }, () => {
    const text = { type: "string", minLength: 1 };
    const tools = [
        { name: "declared", result: text },
        { name: "other", result: null },
    ];
    const seen = async (server) => {
        const { json } = await legacy(server, "tools/list");
        const all = [...json.result.tools, ...(await listTools(server)).tools];
        return all.filter(({ name }) => name === "declared").map(({ outputSchema }) => outputSchema);
    };
    const call = (server, name) => callToolWell(server, name, {});

    test("stay plain: no schema of the result, and no structured content", async (t) => {
        const service = await startService();
        service.results = { declared: "# Text\n", other: "# Text\n" };
        const server = await startEcho(t, tools, {}, service);
        assert.deepEqual(await seen(server), [undefined, undefined]);
        for (const name of ["declared", "other"]) {
            assert.deepEqual((await call(server, name)).content, [{ type: "text", text: "# Text\n" }]);
            assert.equal("structuredContent" in (await call(server, name)), false);
            const old = (await legacy(server, "tools/call", { name, arguments: {} })).json.result;
            assert.equal("structuredContent" in old, false);
        }
        // REST keeps the schema, and the result is checked all the same.
        assert.deepEqual((await get(server, "/mcp/tools/describe?name=declared")).json.tool.outputSchema, text);
        service.results.declared = "";
        assert.equal((await callTool(server, "declared", {})).json.result.isError, true);
    });

    test("are structured too with mcp.structured_text", async (t) => {
        const service = await startService();
        service.results.declared = "x";
        const server = await startEcho(t, tools, { mcp: { structured_text: true } }, service);
        assert.deepEqual((await seen(server))[1], text);
        assert.equal((await call(server, "declared")).structuredContent, "x");
        const old = (await legacy(server, "tools/call", { name: "declared", arguments: {} })).json.result;
        assert.deepEqual(old.structuredContent, { result: "x" });
    });
});

suite("names", { concurrency: true }, () => {
    const about = (name) => ({ meta: { [metaKey("clientInfo")]: { name, version: "1" } } });
    const names = async (server, options) => (await listTools(server, {}, options)).tools.map(({ name }) => name);

    test("fault-B27: portable names are the default, every model API takes them, and calls by them work", async (t) => {
        const server = await startBridge({ roles: { anonymous: permissions } });
        t.after(() => server.stop());
        await untilTool(server, "test.echo");
        const { tools } = await listTools(server);
        for (const { name } of tools) {
            assert.match(name, portable);
        }
        // The own name is there where it is another one.
        const echo = tools.find(({ name }) => name === "test__echo");
        assert.equal(echo._meta["causeway/name"], "test.echo");
        assert.ok(echo.title);
        assert.ok(tools.filter(({ name }) => !name.includes("__")).every((tool) => !tool._meta?.["causeway/name"]));
        for (const name of ["test__echo", "test.echo"]) {
            const { structuredContent } = await callToolWell(server, name, { message: "hi" });
            assert.ok(JSON.stringify(structuredContent).includes("hi"));
        }
        assertRpcError(await callTool(server, "test__nothing", {}), 200, -32602, 1);
        // The doors of the original keep the original's names.
        const { json } = await get(server, "/mcp/tools/describe?name=test.echo");
        assert.equal(json.tool.name, "test.echo");
    });

    test("fault-B27: exact names are those of the methods, and there are no others then", async (t) => {
        const server = await startBridge({ config: { mcp: { tool_names: "exact" } } });
        t.after(() => server.stop());
        const { tools } = await listTools(server);
        assert.ok(tools.some(({ name }) => name === "test.echo"));
        assert.ok(tools.every((tool) => !tool._meta?.["causeway/name"]));
        assertRpcError(await callTool(server, "test__echo", { message: "x" }), 200, -32602, 1);
    });

    test("a client is known by what it calls itself, in both eras", async (t) => {
        const clients = [{ name: "Plain*", tool_names: "exact" }];
        const server = await startBridge({ config: { mcp: { clients } } });
        t.after(() => server.stop());
        assert.ok((await names(server, about("plain-client"))).includes("test.echo"));
        assert.ok((await names(server, about("other"))).includes("test__echo"));
        assert.ok((await names(server)).includes("test__echo"));

        const params = { protocolVersion: "2025-11-25", capabilities: {} };
        for (const [name, expected] of [
            ["PLAIN", "test.echo"],
            ["other", "test__echo"],
        ]) {
            const clientInfo = { name, version: "1" };
            const { headers } = await legacy(server, "initialize", { ...params, clientInfo });
            const session = { headers: { "Mcp-Session-Id": headers.get("mcp-session-id") } };
            const { json } = await legacy(server, "tools/list", {}, session);
            assert.ok(
                json.result.tools.some((tool) => tool.name === expected),
                name,
            );
        }
        assert.equal((await initialize(server, "2025-11-25")).status, 200);
    });

    test("another form is announced to all, and counts for sessions that began before", async (t) => {
        const server = await startAccounts({
            config: { roles: { anonymous: permissions, authenticated: permissions, editor: [] } },
        });
        t.after(() => server.stop());
        await untilTool(server, "test.echo");
        const { headers } = await initialize(server, "2025-11-25");
        const session = { headers: { "Mcp-Session-Id": headers.get("mcp-session-id") } };
        const shown = async () =>
            (await legacy(server, "tools/list", {}, session)).json.result.tools.map((tool) => tool.name);
        assert.ok((await shown()).includes("test__echo"));
        const notifications = { toolsListChanged: true };
        const streams = [];
        for (const given of [{}, basic("alice", "s3cret")]) {
            const stream = await EventStream.open(
                server,
                "subscriptions/listen",
                { notifications },
                { headers: given },
            );
            assert.match((await stream.next()).method, /acknowledged$/);
            streams.push(stream);
        }
        await reloadBridge(server, { mcp: { tool_names: "exact" } });
        for (const stream of streams) {
            assert.match((await stream.next()).method, /tools\/list_changed$/);
        }
        assert.ok((await shown()).includes("test.echo"));
    });

    test("--tool-names comes before the configuration, and takes two words only", async (t) => {
        const server = await startBridge({ args: ["--tool-names", "exact"] });
        t.after(() => server.stop());
        assert.ok((await names(server)).includes("test.echo"));
        const { code, stderr } = await runCauseway(["serve", "--tool-names", "strict", "--config", server.config]);
        assert.equal(code, 2);
        assert.match(stderr, /--tool-names: .*portable.*exact/);
    });

    test("the log names two tools with one, and settings that have a portable name", async (t) => {
        const twin = "shadow.tool.with.a.name.that.is.long.enough.";
        const tools = [{ name: `${twin}9a431` }, { name: `${twin}25bebd` }, { name: "d.e" }];
        const config = { limits: { tools: [{ name: "d__e", calls: 1 }] } };
        const server = await startEcho(t, tools, config);
        await server.untilLogged(/two tools have the same portable name: .*shadow_tool_with.*9a431/);
        await server.untilLogged(/limits\.tools has a portable name: .*name="d__e" tool="d\.e"/);
        assert.deepEqual(await names(server), ["d__e"]);
        const wrong = await startEcho(t, [{ name: "d.e" }], {}, undefined, ["d__e"]);
        await wrong.untilLogged(/method 'd__e' is the portable name of 'd\.e': use that one here/);
    });

    test("two tools never share one, and long names are cut", async (t) => {
        const long = `deep.${"x".repeat(100)}`;
        const all = ["a.b_c", "a_b.c", "d.e", "d_e", "d__e", "1.x", "x..y", long];
        const tools = all.map((name) => ({ name }));
        const service = await startService();
        const server = await startEcho(t, tools, {}, service);
        const shown = await names(server);
        assert.equal(new Set(shown).size, tools.length);
        for (const name of shown) {
            assert.match(name, portable);
        }
        assert.deepEqual(shown.filter((name) => !name.includes("___")).toSorted(), ["a__b_c", "a_b__c", "d__e", "d_e"]);
        for (const name of shown) {
            await callTool(server, name, {});
        }
        assert.deepEqual(service.calls.map(({ method }) => method).toSorted(), all.toSorted());
        await callTool(server, "1.x", {});
        assert.equal(service.calls.at(-1).method, "1.x");
        assertRpcError(await callTool(server, "a_b_c", {}), 200, -32602, 1);
    });

    test("a text that is the own name of one tool and the portable name of another means what the client's list has", async (t) => {
        const tools = ["d.e", "d__e"].map((name) => ({ name }));
        const service = await startService();
        const clients = [{ name: "plain", tool_names: "exact" }];
        const server = await startEcho(t, tools, { mcp: { clients } }, service);
        for (const [client, method] of [
            ["plain", "d__e"],
            ["other", "d.e"],
        ]) {
            service.calls.length = 0;
            await callTool(server, "d__e", {}, about(client));
            assert.deepEqual(
                service.calls.map((one) => one.method),
                [method],
                client,
            );
        }
    });
});

suite("schemas", () => {
    test("are shown without references to clients that cannot follow them", async (t) => {
        const text = { type: "string", minLength: 1 };
        const schema = { $ref: "#/$defs/text", $defs: { text } };
        const clients = [{ name: "plain", schemas: "exact" }];
        const server = await startEcho(t, [{ params: [{ name: "message", schema }] }], { mcp: { clients } });
        const plain = { meta: { [metaKey("clientInfo")]: { name: "plain", version: "1" } } };
        const [inlined] = (await listTools(server)).tools;
        assert.deepEqual(inlined.inputSchema.properties.message, text);
        const [faithful] = (await listTools(server, {}, plain)).tools;
        assert.deepEqual(faithful.inputSchema.properties.message, {
            $ref: "#/properties/message/$defs/text",
            $defs: { text },
        });
    });
});

suite("x-mcp-header", { concurrency: true }, () => {
    const params = [
        { name: "region", schema: { type: "string", "x-mcp-header": "Region" } },
        { name: "count", schema: { type: "integer", "x-mcp-header": "Count" } },
        { name: "dry", schema: { type: "boolean", "x-mcp-header": "Dry" } },
        { name: "message", schema: { type: "string" } },
    ];
    const call = (server, args, headers) => callTool(server, "echo", args, { headers });
    const encode = (value) => `=?base64?${Buffer.from(value).toString("base64")}?=`;

    test("threat-A5: headers must say what the arguments say", async (t) => {
        const server = await startEcho(t, [{ params }]);
        const args = { region: "eu", count: 42, dry: true };
        const right = { "Mcp-Param-Region": "eu", "Mcp-Param-Count": "42", "Mcp-Param-Dry": "true" };
        for (const headers of [
            right,
            { ...right, "Mcp-Param-Count": "42.0" },
            { ...right, "Mcp-Param-Count": "4.2e1" },
            { ...right, "mcp-param-region": undefined, "MCP-PARAM-REGION": "eu", "Mcp-Param-Region": undefined },
            { ...right, "Mcp-Param-Region": encode("eu") },
            { ...right, "Mcp-Param-Unknown": "whatever" },
        ]) {
            const answer = await call(server, args, headers);
            assert.deepEqual(answer.json?.result?.structuredContent, args, answer.text);
        }
        for (const headers of [
            {},
            { ...right, "Mcp-Param-Region": undefined },
            { ...right, "Mcp-Param-Region": "us" },
            { ...right, "Mcp-Param-Region": "EU" },
            { ...right, "Mcp-Param-Region": "=?base64?ZXU?=" },
            { ...right, "Mcp-Param-Region": "=?base64?Z_U=?=" },
            { ...right, "Mcp-Param-Count": "43" },
            { ...right, "Mcp-Param-Count": "forty-two" },
            { ...right, "Mcp-Param-Dry": "false" },
            { ...right, "Mcp-Param-Dry": "1" },
        ]) {
            assertRpcError(await call(server, args, headers), 400, -32020, 1);
        }
        // Twice: who routes by it may have read either.
        for (const regions of [
            ["eu", "us"],
            ["eu", "eu"],
        ]) {
            const { body, headers } = modernParts("tools/call", { name: "echo", arguments: args });
            const all = { ...headers, ...right, "Mcp-Param-Region": regions, "Content-Type": "application/json" };
            const { status, json } = await send(server, "POST", "/mcp", { headers: all, body: JSON.stringify(body) });
            assert.deepEqual([status, json.error.code], [400, -32020]);
        }
    });

    test("what is null or not there has no header", async (t) => {
        const schema = { ...params[0].schema };
        const server = await startEcho(t, [{ params: [{ name: "region", schema }, params[3]] }]);
        const args = { message: "x" };
        assert.deepEqual((await call(server, args)).json.result.structuredContent, args);
        assertRpcError(await call(server, args, { "Mcp-Param-Region": "eu" }), 400, -32020, 1);
        // The schema rejects null, so that it stands for an argument that was left out.
        assert.deepEqual((await call(server, { region: null })).json.result.structuredContent, {});
    });

    test("a value that no header can carry is encoded", async (t) => {
        const server = await startEcho(t, [{ params }]);
        const args = { region: " Ž\n" };
        const answer = await call(server, args, { "Mcp-Param-Region": encode(args.region) });
        assert.deepEqual(answer.json?.result?.structuredContent, args, answer.text);
    });

    test("counts in the modern era only, for a method that is known", async (t) => {
        const server = await startEcho(t, [{ params }]);
        const asked = { name: "echo", arguments: { region: "eu" } };
        const { json } = await legacy(server, "tools/call", asked);
        assert.deepEqual(json.result.structuredContent, asked.arguments);
        assertRpcError(await callTool(server, "nothing", { region: "eu" }), 200, -32602, 1);
        const [tool] = (await listTools(server)).tools;
        assert.equal(tool.inputSchema.properties.region["x-mcp-header"], "Region");
    });

    test("declarations that are not right are left out, and the log says so", async (t) => {
        const twice = { name: "again", schema: { type: "string", "x-mcp-header": "rEGION" } };
        const server = await startEcho(t, [{ params: [...params, twice] }]);
        const [tool] = (await listTools(server)).tools;
        assert.ok(!JSON.stringify(tool).includes("x-mcp-header"));
        assert.ok((await call(server, { region: "eu" })).json.result);
        await server.untilLogged(/x-mcp-header names the same header twice/);
    });
});

suite("fault-B25: a client speaks MCP to it without a second program", () => {
    test("fault-B25: handshake, capabilities, content blocks, structured content, isError", async (t) => {
        const server = await startBridge();
        t.after(() => server.stop());
        const { json } = await initialize(server, "2025-11-25");
        assert.equal(json.result.protocolVersion, "2025-11-25");
        assert.ok(json.result.capabilities.tools);
        assert.ok(json.result.serverInfo.name);
        const good = await callToolWell(server, "test.echo", { message: "hello" });
        assert.equal(good.content[0].type, "text");
        assert.ok(good.structuredContent);
        const bad = await callTool(server, "test.fail", {});
        assert.equal(bad.json.result.isError, true);
    });

    test("fault-B25: the address of the list works as the endpoint too", async (t) => {
        const server = await startBridge();
        t.after(() => server.stop());
        const body = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
        const { json } = await post(server, "/mcp/tools/list", body);
        assert.ok(json.result.tools.some(({ name }) => name === "test__echo"));
    });
});
