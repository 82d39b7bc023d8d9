// Every request and response that the documents of the original system print, compared as a whole. A comment gives
// the reason where a response differs.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { promisify } from "node:util";
import { bearer, call as mayCall, cli, databasePath, discover } from "./support/accounts.mjs";
import { permissions, startBridge, untilTool } from "./support/mcp.mjs";
import { root, writeConfig } from "./support/programs.mjs";
import { get, post, send, startExamples, startMany, toolName } from "./support/rest.mjs";

const run = promisify(execFile);
const administer = "administer site configuration";
const list = "/mcp/tools/list";
const describe = (name) => `/mcp/tools/describe?name=${name}`;

// The order of members is that in which the original sent them.
const cacheRebuild = {
    name: "cache.rebuild",
    description: "Rebuilds the Drupal system cache.",
    inputSchema: { type: "object", properties: {} },
    outputSchema: { type: "boolean" },
    title: "Rebuild Drupal Cache",
    annotations: { category: "system", destructive: false },
};
const nodeCreate = {
    name: "node.create",
    description: "Creates a new content node.",
    inputSchema: {
        type: "object",
        properties: {
            title: { type: "string", description: "The node title" },
            type: { type: "string", description: "The content type machine name" },
        },
        required: ["title", "type"],
    },
    title: "Create Content Node",
};
const ofInput = (description) => ({
    type: "object",
    properties: { input: { type: "string", description } },
    required: ["input"],
});
const outputOfResult = { type: "object", properties: { result: { type: "string" } } };
const testExample = {
    name: "test.example",
    description: "Test method for MCP",
    inputSchema: ofInput("Test input"),
    outputSchema: outputOfResult,
    title: "Test MCP Tool",
    annotations: { category: "testing" },
};
const doSomething = {
    name: "mymodule.doSomething",
    description: "Performs a custom operation",
    inputSchema: ofInput("The input value"),
    outputSchema: outputOfResult,
    title: "Do Something Custom",
    annotations: { category: "custom" },
};

// Status, type and the whole body, with the members in this order.
function assertAnswer(answer, status, body) {
    assert.equal(answer.text, JSON.stringify(body));
    assert.equal(answer.status, status);
    assert.equal(answer.headers["content-type"], "application/json");
}

// The order of the members of a JSON-RPC answer is nobody's business.
function assertRpcResult(answer, id, result) {
    assert.deepEqual(answer.json, { jsonrpc: "2.0", id, result });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers["content-type"], "application/json");
}

const error = (code, message) => ({ error: { code, message } });
const notFound = (name) => error("tool_not_found", `Tool '${name}' not found or access denied`);

suite("somebody who sees cache.rebuild alone", () => {
    let server;
    before(async () => {
        server = await startExamples({ roles: { anonymous: [discover, mayCall, administer] } });
        await untilTool(server, "cache.rebuild");
    });
    after(() => server?.stop());

    test("lists it", async () => {
        assertAnswer(await get(server, list), 200, { tools: [cacheRebuild], nextCursor: null });
    });

    test("describes it", async () => {
        assertAnswer(await get(server, describe("cache.rebuild")), 200, { tool: cacheRebuild });
    });

    test("invokes it", async () => {
        const body = { name: "cache.rebuild", arguments: {} };
        assertAnswer(await post(server, "/mcp/tools/invoke", body), 200, { result: true });
    });

    const request = { jsonrpc: "2.0", method: "cache.rebuild", params: {}, id: 1 };
    const ofGet = `/mcp/tools/cache.rebuild?query=${encodeURIComponent(JSON.stringify(request))}`;

    test("calls it at its own address", async () => {
        const answer = await post(server, "/mcp/tools/cache.rebuild", request);
        assertRpcResult(answer, 1, true);
    });

    // GET calls only tools with readOnlyHint, and this one has none.
    test("does not call it with GET", async () => {
        assert.equal((await get(server, ofGet)).status, 405);
    });

    test("must name what to describe", async () => {
        const answer = await get(server, "/mcp/tools/describe");
        const message = 'Required parameter "name" is missing';
        assertAnswer(answer, 400, error("missing_parameter", message));
    });

    test("describes nothing else", async () => {
        for (const name of ["invalid.name", "node.create", "examples.articles.list"]) {
            assertAnswer(await get(server, describe(name)), 404, notFound(name));
        }
    });

    test("hears what is wrong with a call", async () => {
        const invoke = (body) => post(server, "/mcp/tools/invoke", body);
        const codeOf = async (body, status) => {
            const answer = await invoke(body);
            assert.equal(answer.status, status, answer.text);
            assert.deepEqual(Object.keys(answer.json.error), ["code", "message"]);
            return answer.json.error.code;
        };
        assert.equal(await codeOf("{invalid json}", 400), "invalid_json");
        assert.equal(await codeOf({ arguments: {} }, 400), "missing_parameter");
        assert.equal(await codeOf({ name: "cache.rebuild" }, 400), "missing_parameter");
        assertAnswer(await invoke({ name: "invalid.name", arguments: {} }), 404, notFound("invalid.name"));
    });

    test("cannot list from a cursor that is none", async () => {
        const answer = await get(server, `${list}?cursor=!!!`);
        assert.equal(answer.status, 400);
        assert.equal(answer.json.error.code, "invalid_cursor"); // a code of our own
    });

    test("asks for the head of the list", async () => {
        const whole = await get(server, list);
        const head = await send(server, "HEAD", list);
        assert.equal(head.status, 200);
        assert.equal(head.text, "");
        for (const name of ["cache-control", "etag", "vary", "content-type", "content-length"]) {
            assert.ok(head.headers[name], name);
            assert.equal(head.headers[name], whole.headers[name], name);
        }
    });

    // The command of the documents, with the installed version.
    test("points the Inspector at the list", async () => {
        const launcher = path.join(
            root,
            "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
        );
        const words = ["--cli", `${server.url}${list}`, "--transport", "http", "--method", "tools/list"];
        const { stdout } = await run(process.execPath, [launcher, ...words], { cwd: root });
        assert.deepEqual(
            JSON.parse(stdout).tools.map(({ name }) => name),
            ["cache__rebuild"],
        );
    });

    test("hears that a method failed, and not why", async () => {
        writeFileSync(path.join(server.plugins, "examples.db"), "no database ".repeat(1000));
        const body = { name: "cache.rebuild", arguments: {} };
        const answer = await post(server, "/mcp/tools/invoke", body);
        assert.equal(answer.status, 500, answer.text);
        assert.equal(answer.json.error.code, "execution_error");
        assert.doesNotMatch(answer.text, /sqlite|examples\.db|not a database/i);
    });
});

suite("somebody who may create content", () => {
    let server;
    before(async () => {
        server = await startExamples({ roles: { anonymous: [...permissions, "create content"] } });
        await untilTool(server, "node.create");
    });
    after(() => server?.stop());

    test("sees the tool made from node.create", async () => {
        assertAnswer(await get(server, describe("node.create")), 200, { tool: nodeCreate });
        const { json } = await get(server, list);
        assert.deepEqual(
            json.tools.find(({ name }) => name === "node.create"),
            nodeCreate,
        );
    });

    test("creates a node and hears its id", async () => {
        const body = { name: "node.create", arguments: { title: "Stepping stones", type: "article" } };
        assertAnswer(await post(server, "/mcp/tools/invoke", body), 200, { result: 9 });
        const params = { page: { limit: 1 } };
        const articles = { jsonrpc: "2.0", method: "examples.articles.list", params, id: 1 };
        const { json } = await post(server, "/mcp/tools/examples.articles.list", articles);
        assert.equal(json.result[0].title, "Stepping stones");
    });

    test("calls a tool that only reads with GET as with POST", async () => {
        const name = "examples.article.toMarkdown";
        const request = { jsonrpc: "2.0", method: name, params: { nid: 1 }, id: 1 };
        const query = encodeURIComponent(JSON.stringify(request));
        const byPost = await post(server, `/mcp/tools/${name}`, request);
        const byGet = await get(server, `/mcp/tools/${name}?query=${query}`);
        assert.equal(byPost.status, 200);
        assertAnswer(byGet, 200, byPost.json);
        assert.match(byGet.json.result, /^# Building a causeway\n\nA causeway is /);
    });
});

test("the methods that the documents declare for tests are shown as they declare them", async () => {
    const anonymous = [...permissions, administer];
    const server = await startExamples({ plugins: ["documents"], roles: { anonymous } });
    await untilTool(server, "test.example");
    await untilTool(server, "cache.rebuild");
    for (const tool of [cacheRebuild, testExample, doSomething]) {
        assertAnswer(await get(server, describe(tool.name)), 200, { tool });
    }
    for (const { name } of [testExample, doSomething]) {
        const body = { name, arguments: { input: "in" } };
        assertAnswer(await post(server, "/mcp/tools/invoke", body), 200, { result: { result: "in" } });
    }
    await server.stop();
});

suite("a list of more than one page", () => {
    let server;
    before(async () => {
        server = await startMany(75);
    });
    after(() => server?.stop());

    const namesOf = ({ json }) => json.tools.map(({ name }) => name);
    const names = (from, to) => Array.from({ length: to - from }, (_, i) => toolName(from + i));

    test("says where the second one begins", async () => {
        const first = await get(server, list);
        assert.deepEqual(namesOf(first), names(0, 50));
        assert.equal(first.json.nextCursor, "NTA=");
    });

    test("goes on there, with the padding and without", async () => {
        for (const cursor of ["NTA=", "NTA"]) {
            const second = await get(server, `${list}?cursor=${cursor}`);
            assert.equal(second.status, 200);
            assert.deepEqual(namesOf(second), names(50, 75));
            assert.equal(second.json.nextCursor, null);
        }
    });
});

test("cache.rebuild with scopes wants a token that has both", async () => {
    const store = { path: databasePath() };
    const roles = { anonymous: [discover, mayCall, administer], admin: [discover, mayCall, administer] };
    const file = writeConfig({ roles, store });
    await cli(file, "account", "add", "root", "--role", "admin", { input: "r00t" });
    const words = ["--scope", "mcp_tools", "--scope", "content_management"];
    const { token } = JSON.parse(await cli(file, "token", "create", "root", "--json", ...words));
    const server = await startBridge({ plugins: ["cache-scoped"], roles, config: { store, roles } });
    await untilTool(server, "cache.rebuild");
    const request = { jsonrpc: "2.0", method: "cache.rebuild", params: {}, id: 1 };
    const call = (headers) => post(server, "/mcp/tools/cache.rebuild", request, headers);
    const auth = { level: "required", scopes: ["mcp_tools", "content_management"] };
    const tool = { ...cacheRebuild, annotations: { ...cacheRebuild.annotations, auth } };
    assertAnswer(await get(server, describe("cache.rebuild")), 200, { tool });
    assert.equal((await call({})).status, 401);
    assertRpcResult(await call(bearer(token)), 1, true);
    await server.stop();
});

test("who may not list is refused", async () => {
    const server = await startExamples({ roles: { anonymous: [mayCall, "access content"] } });
    const answer = await get(server, list);
    assert.equal(answer.status, 403); // 401 is for invalid credentials only
    assert.equal(answer.json.error.code, "access_denied");
    const bad = await get(server, list, bearer("nonsense"));
    assert.equal(bad.status, 401);
    await server.stop();
});
