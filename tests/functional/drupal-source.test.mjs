// A Drupal site as a source, of both kinds: what is read from its lists, and how calls are forwarded.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { bearer } from "./support/accounts.mjs";
import { login, manyTools, phpJson, siteRoot, sourceOf, startSite, startWithSite as start } from "./support/drupal.mjs";
import { startForger } from "./support/issuer.mjs";
import { freePort } from "./support/ports.mjs";
import { keepFolder } from "./support/kept.mjs";
import {
    assertRpcError,
    assertToolError,
    callTool,
    callToolWell,
    permissions,
    rpc,
    startBridge,
    toolNames,
    toolOf,
    untilTool,
} from "./support/mcp.mjs";
import { patience, runCauseway, writeConfig } from "./support/programs.mjs";
import { haveRecordings, readRecordings, replay } from "./support/recordings.mjs";
import { get, invoke } from "./support/rest.mjs";
import { eventually, pause } from "./support/server.mjs";

const examples = ["examples.article.toMarkdown", "examples.articles.list", "examples.contentTypes.list"];

// A site without tools, and a causeway that has it as a source.
async function plain(t) {
    const site = await startSite();
    return [site, await start(t, site)];
}

// ---- the stand-in itself ----

// What was recorded of jsonrpc 2.0.5, in short: request, status, then the code of an error or
// nothing, and the id.
const recorded = [
    ["R1", { method: "echo", params: { input: "hi" }, id: 1 }, 200, undefined, 1],
    ["R3", { method: "echo", params: { input: "hi", zzz: 1 }, id: 1 }, 200, undefined, 1],
    ["R5", { method: "list", params: {}, id: 1 }, 200, undefined, 1],
    ["R6", { method: "noparams", id: 1 }, 200, undefined, 1],
    ["R9", { method: "true", id: 0 }, 200, undefined, 0],
    ["R10", { method: "true", id: 1.5 }, 200, undefined, 1.5],
    ["R12", { method: "noparams", params: {}, id: 1 }, 400, -32602, 1],
    ["R13", { method: "echo", params: {}, id: 7 }, 400, -32602, 7],
    ["R14", { method: "echo", params: { input: null }, id: 7 }, 400, -32602, 7],
    ["R15", { method: "echo", params: ["hi"], id: 1 }, 400, -32602, 1],
    ["R16", { method: "echo", params: { input: 5 }, id: 7 }, 400, -32602, null],
    ["R17", { method: "echo", params: { input: "x", n: "5" }, id: 7 }, 400, -32602, null],
    ["R18", { method: "echo", params: { input: "x", n: 0 }, id: 7 }, 400, -32602, null],
    ["R19", { method: "page", params: { page: { limit: -1, offset: 0 } }, id: 7 }, 400, -32602, null],
    ["R20", { method: "nope", id: 9 }, 400, -32601, 9],
    ["R21", { method: "nope", id: 0 }, 400, -32601, null],
    ["R22", { method: "secret", id: 9 }, 200, -32600, null],
    ["R23", { method: "fail", id: 9 }, 200, -32602, null],
    ["R24", { method: "boom", id: 9 }, 200, -32603, 9],
    ["R25", { method: "bad", id: 9 }, 500, -32603, null],
    ["R26", { method: "null", id: 9 }, 200, -32603, 9],
    ["R28", { method: "boom" }, 200, -32603, null],
    ["R29", { method: "nope" }, 400, -32601, null],
    ["R34", { jsonrpc: "1.0", method: "true", id: 1 }, 400, -32603, null],
    ["R36", { method: 5, id: 1 }, 400, -32603, null],
    ["R37", { method: "true", params: "x", id: 1 }, 400, -32603, null],
    ["R38", { method: "true", id: null }, 400, -32603, null],
    ["R39", { method: "true", id: true }, 400, -32603, null],
];

suite("the stand-in", () => {
    const ask = async (site, body) => {
        const answer = await fetch(site.url, { method: "POST", body });
        const text = await answer.text();
        return { status: answer.status, type: answer.headers.get("content-type"), text };
    };

    test("answers single calls as jsonrpc 2.0.5 was recorded to", async () => {
        const site = await startSite();
        for (const [name, request, status, code, id] of recorded) {
            const answer = await ask(site, JSON.stringify({ jsonrpc: "2.0", ...request }));
            assert.equal(answer.status, status, name);
            assert.equal(answer.type, "application/json", name);
            const json = JSON.parse(answer.text);
            assert.deepEqual([json.error?.code, json.id], [code, id], name);
        }
        const notice = await ask(site, '{"jsonrpc":"2.0","method":"true"}');
        assert.deepEqual([notice.status, notice.type], [500, "text/html; charset=UTF-8"], "R27");
    });

    test("writes JSON as PHP does", () => {
        assert.equal(phpJson({ a: `<'"&/é` }), '{"a":"\\u003C\\u0027\\u0022\\u0026\\/\\u00E9"}');
    });

    const skip = haveRecordings ? false : "no recordings: set CAUSEWAY_TEST_DATA";
    test("answers as the recorded site with jsonrpc_mcp did", { skip }, async () => {
        const methods = { "cache.rebuild": { usage: "", access: "administer site configuration" } };
        const site = await startSite({ kind: "tools", methods });
        const isServed = ({ request: { method, target } }) =>
            /^\/(jsonrpc(\/methods.*)?|mcp\/tools\/list)(\?.*)?$/.test(target) &&
            !/cursor\[\]=/.test(target) &&
            (method === "GET" || (method === "POST" && target === "/jsonrpc"));
        const list = readRecordings("anon-granted-nocache").filter(isServed);
        assert.ok(list.length > 30, `${list.length} recordings`);
        site.linksTo = "http://127.0.0.1";
        const framework = new Set(["vary", "allow"]);
        for (const { name, differences } of await replay(list, { url: site.origin })) {
            const real = differences.filter(({ where }) => !framework.has(where));
            assert.deepEqual(real, [], name);
        }
    });
});

// ---- what is imported ----

suite("a list of tools", { concurrency: true }, () => {
    test("fault-B30: gives title, annotations and schemas, and the level of each tool", async (t) => {
        const scoped = (auth) => ({ usage: "Scoped", run: () => "ran", tool: { annotations: { auth } } });
        const site = await startSite({
            kind: "tools",
            methods: {
                "level.derived": scoped({ scopes: ["user:read"] }),
                "level.none": scoped({ scopes: ["user:read"], level: "none" }),
                "level.optional": scoped({ scopes: ["user:read"], level: "optional" }),
                "level.empty": scoped({ scopes: [] }),
            },
        });
        const server = await start(t, site, { discovery: "drupal-tools" });
        await untilTool(server, examples[0]);
        const markdown = await toolOf(server, examples[0]);
        assert.equal(markdown.title, "Get Article as Markdown");
        assert.equal(markdown.description, "Retrieves an article node and formats it as markdown");
        assert.deepEqual(markdown.inputSchema.properties, {
            nid: { type: "integer", minimum: 1, description: "The node ID of the article" },
        });
        assert.deepEqual(markdown.inputSchema.required, ["nid"]);
        assert.match(JSON.stringify(markdown), /"returns":"markdown"/);
        const rest = await get(server, `/mcp/tools/describe?name=${examples[2]}`);
        assert.deepEqual(rest.json.tool.annotations.auth.scopes, ["tutorial:read", "tutorial:search"]);
        assert.equal(rest.json.tool.annotations.category, "discovery");
        assert.equal(rest.json.tool.outputSchema.type, "array");
        for (const [name, status] of [
            [examples[2], 401],
            ["level.derived", 401],
            ["level.none", 200],
            ["level.optional", 200],
            ["level.empty", 200],
        ]) {
            const answer = await callTool(server, name, {});
            assert.equal(answer.status, status, `${name}: ${answer.text}`);
        }
    });

    test("fault-B30: is followed page by page", async (t) => {
        const site = await startSite({ kind: "tools", methods: manyTools(120) });
        const server = await start(t, site, { discovery: "drupal-tools" });
        await untilTool(server, "many.119");
        const names = await toolNames(server);
        assert.equal(names.length, 123);
        assert.deepEqual(
            site.asked("/mcp/tools/list").map(({ target }) => target.split("?")[1] ?? ""),
            ["", "cursor=NTA%3D", "cursor=MTAw"],
        );
        assert.equal((await callToolWell(server, "many.119", {})).content[0].text, "many.119");
    });

    for (const [what, nextCursor, pages] of [
        ["names the same page again and again", () => "NTA=", 2],
        ["goes round in a circle", (next) => btoa(String(next === 150 ? 50 : next)), 3],
        ["begins anew", () => "abc", 2],
    ]) {
        test(`that ${what} is read as far as it goes, and said`, async (t) => {
            const site = await startSite({ kind: "tools", methods: manyTools(120), nextCursor });
            const server = await start(t, site, { discovery: "drupal-tools" });
            await untilTool(server, "many.000");
            await server.untilLogged(/leads back to a page/);
            assert.equal(site.asked("/mcp/tools/list").length, pages);
            const names = await toolNames(server);
            assert.equal(new Set(names).size, names.length);
        });
    }

    test("that does not end is cut", async (t) => {
        const site = await startSite({ kind: "tools", nextCursor: (next) => btoa(String(next)) });
        const server = await start(t, site, { discovery: "drupal-tools" });
        await server.untilLogged(/does not end/, 60_000);
        assert.equal(site.asked("/mcp/tools/list").length, 1000);
        await untilTool(server, examples[0]);
    });

    test("check-109: has objects where PHP wrote empty lists", async (t) => {
        const nested = { type: "object", properties: [], default: [] };
        const site = await startSite({
            kind: "tools",
            methods: {
                "empty.nested": {
                    usage: "Has objects without members",
                    params: { a: { schema: nested }, b: { schema: { items: [], enum: [[]] } } },
                    output: { type: "object", properties: [] },
                    tool: { title: "Empty", annotations: { auth: [] } },
                    run: () => ({}),
                },
            },
        });
        const server = await start(t, site, { discovery: "drupal-tools" });
        await untilTool(server, "empty.nested");
        const none = await toolOf(server, examples[2]);
        assert.deepEqual(none.inputSchema.properties, {});
        const { inputSchema, outputSchema } = await toolOf(server, "empty.nested");
        assert.deepEqual(inputSchema.properties.a, { type: "object", properties: {}, default: {} });
        // MCP clients see the type that the values share.
        assert.deepEqual(inputSchema.properties.b, { items: {}, enum: [[]], type: "array" });
        assert.deepEqual(outputSchema.properties, {});
        assert.doesNotMatch(server.stderr, /cannot be used/);
    });

    test("check-108, fault-B30: is asked for with the account of the source, by every page", async (t) => {
        const site = await startSite({
            kind: "tools",
            login: "Bearer site-token-1",
            methods: {
                ...manyTools(60),
                "admin.only": { usage: "x", access: "administer", tool: {}, run: () => "ok" },
            },
        });
        const secret = path.join(keepFolder(), "site-token");
        writeFileSync(secret, "site-token-1\n", { mode: 0o600 });
        const server = await start(t, site, { secret: { as: "bearer", file: secret } });
        await untilTool(server, "admin.only");
        await callToolWell(server, "admin.only", {}, { headers: { Cookie: "a=b" } });
        assert.ok(site.seen.length >= 3);
        for (const { headers, target } of site.seen) {
            assert.equal(headers.authorization, "Bearer site-token-1", target);
            assert.equal(headers.cookie, undefined);
        }
        assert.doesNotMatch(server.stderr, /site-token-1/);
    });

    test("check-108: is asked for with a name and a password", async (t) => {
        const site = await startSite({ login });
        const server = await start(
            t,
            site,
            { secret: { environment: "SITE_LOGIN" } },
            {
                env: { SITE_LOGIN: "robot:pa ss:word" },
            },
        );
        await untilTool(server, "cache.rebuild");
        assert.ok(site.seen.every(({ headers }) => headers.authorization === login));
        assert.doesNotMatch(server.stderr, /pa ss:word/);
    });

    test("fault-B30: that is empty does not keep the server from starting, nor is it an error", async (t) => {
        const site = await startSite({ kind: "tools" });
        const { methods } = site;
        site.methods = {};
        const server = await start(t, site, { discovery: "drupal-tools", refresh: "500ms" });
        await server.untilLogged(/shows nothing to this account/);
        assert.deepEqual(await toolNames(server), []);
        assert.equal((await get(server, "/readyz")).status, 200);
        site.methods = methods;
        await untilTool(server, examples[0]);
    });
});

suite("a list that is faulty", { concurrency: true }, () => {
    const page =
        (text, status = 200, type = "application/json") =>
        ({ target }, response) => {
            if (!target.startsWith("/mcp/tools/list")) {
                return false;
            }
            response.writeHead(status, { "Content-Type": type }).end(text);
            return true;
        };
    const faults = {
        "with status 500": [page("<h1>Error</h1>", 500, "text/html"), /HTTP status 500/],
        "with status 503, in maintenance": [page("<h1>Wait</h1>", 503, "text/html"), /HTTP status 503/],
        "with JSON and status 400": [page('{"error":{}}', 400), /HTTP status 400/],
        "that is no JSON": [page("{nonsense"), /no JSON/],
        "that is a page": [page("<!DOCTYPE html><p>Log in</p>", 200, "text/html"), /no JSON/],
        "without tools": [page('{"data":[]}'), /has no \\?"tools\\?"/],
        "that never comes": [({ target }) => target.startsWith("/mcp/tools/list"), /no answer (with)?in /],
        "that leads elsewhere": [
            ({ target }, response) => {
                response.writeHead(302, { Location: "/en" + target }).end();
                return true;
            },
            /HTTP status 302/,
        ],
    };
    for (const [what, [front, pattern]] of Object.entries(faults)) {
        test(`check-107, fault-B30: ${what} is reported, asked for again, and not replaced by methods`, async (t) => {
            const site = await startSite({ kind: "tools", front });
            const isSilent = what === "that never comes";
            const server = await start(t, site, isSilent ? { timeout: `${patience(1_000)}ms` } : {});
            await server.untilLogged(/not loaded/);
            const line = server.stderr.split("\n").find((text) => text.includes("not loaded"));
            assert.match(line, pattern);
            assert.match(line, /site/);
            assert.deepEqual(await toolNames(server), []);
            assert.equal(site.asked("/jsonrpc/methods").length, 0);
            site.front = null;
            await untilTool(server, examples[0]);
        });
    }

    test("check-107: with tools that have no name or no description is used without the former", async (t) => {
        const site = await startSite({ kind: "tools", methods: { x: { usage: "  ", tool: {}, run: () => 1 } } });
        const listTools = site.listTools.bind(site);
        site.listTools = (cursor) => {
            const list = listTools(cursor);
            list.tools.push({ description: "nameless" }, { name: "  ", description: "blank" }, { name: 5 }, null);
            return list;
        };
        const server = await start(t, site, { discovery: "drupal-tools" });
        await untilTool(server, "x");
        assert.deepEqual((await toolNames(server)).sort(), [...examples, "x"]);
        await server.untilLogged(/a tool without a name is left out/);
        await server.untilLogged(/tool 'x' has no description/);
    });

    test("check-111: with schemas that make no sense keeps the tools, and says what it left out", async (t) => {
        const odd = { type: "string", minLength: "five" };
        const params = { a: { schema: odd }, b: { schema: { type: "integer" } } };
        const methods = {
            "odd.input": { usage: "Odd", params, tool: {}, run: () => 1 },
            "odd.output": { usage: "Odd", output: { type: "foo" }, tool: {}, run: () => 1 },
        };
        const site = await startSite({ kind: "tools", methods });
        const server = await start(t, site, { discovery: "drupal-tools" });
        await untilTool(server, "odd.input");
        await server.untilLogged(/a schema that cannot be used is left out/);
        await callToolWell(server, "odd.input", { a: "x", b: 1 });
        assertToolError(await callTool(server, "odd.input", { b: "no integer" }));
        await callToolWell(server, "odd.output", {});
        await callToolWell(server, examples[0], { nid: 1 });
    });
});

suite("a list of methods", { concurrency: true }, () => {
    test("is used by a site without tools, and chosen by the preset", async (t) => {
        const [site, server] = await plain(t);
        await untilTool(server, "echo");
        assert.ok(!(await toolNames(server)).includes("secret"));
        const echo = await toolOf(server, "echo");
        assert.equal(echo.description, "Gives back what it got.");
        assert.deepEqual(echo.inputSchema.required, ["input"]);
        assert.deepEqual(echo.inputSchema.properties.n, { type: "integer", minimum: 1 });
        assert.equal(echo.inputSchema.properties.input.description, "What is given back");
        const page = await toolOf(server, "page");
        assert.equal(page.inputSchema.properties.page.properties.limit.minimum, 0);
        assert.equal(site.asked("/mcp/tools/list").length, 1);
    });

    test("with its own name is asked for at once, and gives output schemas where it has them", async (t) => {
        const site = await startSite({ kind: "tools" });
        const server = await start(t, site, { discovery: "drupal-methods" });
        await untilTool(server, examples[1]);
        assert.equal(site.asked("/mcp/tools/list").length, 0);
        const { json } = await get(server, `/mcp/tools/describe?name=${examples[1]}`);
        assert.equal(json.tool.outputSchema.items.properties.nid.description, "Node ID");
    });

    for (const linksTo of [undefined, "http://site.example", "http://site.example/x", "http://127.0.0.1:1/x"]) {
        test(`has each method's own page asked for where params are left out (links to ${linksTo ?? "itself"})`, async (t) => {
            const site = await startSite({ hidesParams: true, linksTo });
            const server = await start(t, site);
            await untilTool(server, "echo");
            assert.deepEqual((await toolOf(server, "echo")).inputSchema.required, ["input"]);
            assert.equal(site.asked("/jsonrpc/methods/echo").length, 1);
            assert.deepEqual((await toolOf(server, "list")).inputSchema.properties, {});
        });
    }

    test("says nothing about the params of a method whose own page fails", async (t) => {
        const site = await startSite({ hidesParams: true });
        const name = "maintenance_mode.isEnabled"; // it sets what it is given
        site.methods[name] = { usage: "Sets.", params: { on: { schema: { type: "boolean" } } }, run: () => true };
        site.front = ({ target }, response) =>
            target.endsWith(name) && (site.showPage(response, 500, "The website encountered an error"), true);
        const server = await start(t, site);
        await untilTool(server, name);
        assert.deepEqual(Object.keys((await toolOf(server, name)).inputSchema.properties), ["params"]);
        await server.untilLogged(/the params of 1 method are unknown: pages cannot be read/);
        const output = path.join(keepFolder(), "failing-page.yaml");
        const { stdout } = await runCauseway(["import", site.url, "--preset", "drupal", "--json", "--output", output]);
        const { methods } = JSON.parse(stdout);
        assert.equal(methods.find((method) => method.name === name).guess, "changes");
    });

    test("tolerates the schema that the core module has wrong", async (t) => {
        const site = await startSite({ login });
        const env = { SITE_LOGIN: "robot:pa ss:word" };
        const server = await start(t, site, { secret: { environment: "SITE_LOGIN" } }, { env });
        await untilTool(server, "user_permissions.list");
        await server.untilLogged(/cannot be used/);
        await callToolWell(server, "user_permissions.list", {});
        await callToolWell(server, "plugins.list", { service: "x", page: { limit: 1, offset: 0 } });
    });
});

// ---- forwarding ----

suite("calls", { concurrency: true }, () => {
    test("have an id that is a text and not zero, and go one by one", async (t) => {
        const [site, server] = await plain(t);
        await untilTool(server, "echo");
        const batch = ["a", "b", "c"].map((input, id) => ({
            jsonrpc: "2.0",
            method: "echo",
            params: { input },
            id,
        }));
        await Promise.all(batch.map(({ params }) => callToolWell(server, "echo", params)));
        for (const request of site.asked("/jsonrpc")) {
            assert.equal(typeof request.rpc.id, "string");
            assert.notEqual(request.rpc.id, "0");
            assert.notEqual(request.rpc.id, "");
            assert.equal(Array.isArray(request.rpc), false);
        }
        assert.equal(site.calls.length, 3);
    });

    test("of a batch to us, and notifications to us, are single calls with ids there", async (t) => {
        const site = await startSite();
        const server = await start(t, site, { methods: [{ method: "*", expose_on_jsonrpc: true }] });
        await untilTool(server, "true");
        const answer = await rpc(server, [
            { jsonrpc: "2.0", method: "true", id: 1 },
            { jsonrpc: "2.0", method: "echo", params: { input: "x" } },
            { jsonrpc: "2.0", method: "noparams", id: 2 },
        ]);
        assert.deepEqual(answer.json.map(({ id }) => id).sort(), [1, 2]);
        await eventually(() => site.calls.length === 3, "all three have come");
        assert.ok(site.calls.every(({ id }) => typeof id === "string" && id.length > 0));
        assert.equal((await rpc(server, { method: "true" })).status, 204);
        await eventually(() => site.calls.length === 4, "the notification has come");
    });

    test("have no params where there are none", async (t) => {
        const [site, server] = await plain(t);
        await untilTool(server, "noparams");
        const result = await callToolWell(server, "noparams", {});
        assert.equal(result.structuredContent[0].label, "It's <b>&");
        assert.equal("params" in site.calls.at(-1), false);
        await callToolWell(server, "list", {});
        await callToolWell(server, "page", {});
        assert.equal("params" in site.calls.at(-1), false);
    });

    test("are answered by what came back in the same exchange, whatever its id", async (t) => {
        const [site, server] = await plain(t);
        await untilTool(server, "true");
        site.front = ({ rpc: { params } }, response) => {
            const body = { jsonrpc: "2.0", id: params ? "another" : null, result: { result: "mine" } };
            response.writeHead(200, { "Content-Type": "application/json" }).end(phpJson(body));
            return true;
        };
        for (const [name, args] of [
            ["echo", { input: "x" }],
            ["empty", {}],
        ]) {
            assert.match((await callToolWell(server, name, args)).content[0].text, /mine/);
        }
    });

    test("that are refused, not found or thrown out are errors of the tool (status 200)", async (t) => {
        const site = await startSite();
        const openrpc = writeManifest(["secret", "fail", "boom", "null", "bad", "true", "nope"]);
        const server = await start(t, site, { openrpc, methods: [{ method: "*", expose_on_jsonrpc: true }] });
        const errors = {
            secret: [-32600, /^Access Denied: The 'administer site configuration' permission is required\.$/],
            fail: [-32602, /^Node with ID 99999 not found$/],
            boom: [-32603, /^boom detail$/],
            null: [-32603, /on line 81$/],
            bad: [-32603, /returned invalid output data/],
            nope: [-32601, /^The method 'nope' does not exist\/is not available\.$/],
        };
        for (const [method, [code, pattern]] of Object.entries(errors)) {
            const text = assertToolError(await callTool(server, method, {}));
            const { json } = await rpc(server, { method, id: 1 });
            assert.equal(json.error.code, code, method);
            assert.match(json.error.message, pattern, method);
            assert.equal(text, `${json.error.message} (error ${code})`);
            // Where the site has it: programs that were written for the site read it there.
            assert.equal(json.error.data, json.error.message, method);
            const { error } = (await invoke(server, method, {})).json;
            assert.deepEqual(error, {
                code: "execution_error",
                message: json.error.message,
                data: json.error.data,
            });
            assert.equal("result" in json, false);
        }
        assert.equal((await callToolWell(server, "true", {})).structuredContent, true);
    });

    test("threat-D8: do not show paths and classes of the site", async (t) => {
        const site = await startSite();
        const openrpc = writeManifest(["null", "bad", "echo"]);
        const server = await start(t, site, { openrpc, methods: [{ method: "*", expose_on_jsonrpc: true }] });
        for (const [method, args] of [
            ["null", {}],
            ["bad", {}],
            ["echo", { params: { input: 5 } }],
        ]) {
            const { text } = await callTool(server, method, args);
            const direct = await rpc(server, { method, params: args, id: 1 });
            for (const shown of [text, direct.text]) {
                assert.ok(!shown.includes(siteRoot), shown);
                assert.ok(!shown.includes("Response.php"), shown);
                assert.doesNotMatch(shown, /Drupal\\\\+[A-Za-z]/);
            }
        }
        const { message, data } = (await rpc(server, { method: "null", id: 1 })).json.error;
        assert.match(message, /\[path\]/);
        assert.match(data, /\[class\].*\[path\] on line 81$/);
        await server.untilLogged(/Response\.php/); // the operator sees it
    });

    const pages = {
        "401, a page": [401, "Unauthorized", 'Basic realm="Example"'],
        "403, a page": [403, "Access denied"],
        "503, in maintenance": [503, "Site under maintenance"],
        "500, a page": [500, "The website encountered an unexpected error"],
        "404, a page": [404, "Page not found"],
        "200, a page": [200, "Log in"],
    };
    for (const [what, [status, title, challenge]] of Object.entries(pages)) {
        test(`that are answered with ${what} fail with that status and nothing of the page`, async (t) => {
            const [site, server] = await plain(t);
            await untilTool(server, "true");
            site.front = ({ target }, response) =>
                target.startsWith("/jsonrpc") && (site.showPage(response, status, title, challenge), true);
            const text = assertToolError(await callTool(server, "true", {}));
            assert.match(text, status === 200 ? /no JSON-RPC/ : new RegExp(`HTTP status ${status}`));
            assert.doesNotMatch(text, /<|Example|olivero/);
            site.front = null;
            await callToolWell(server, "true", {});
        });
    }

    test("that the site redirects fail, and are not sent elsewhere", async (t) => {
        const [site, server] = await plain(t);
        await untilTool(server, "true");
        site.front = ({ target }, response) => {
            response.writeHead(302, { Location: `/en${target}` }).end();
            return true;
        };
        assertToolError(await callTool(server, "true", {}), /HTTP status 302/);
        assert.equal(site.seen.filter(({ target }) => target.startsWith("/en")).length, 0);
    });

    test("to what is read only go as GET, above 2000 characters as POST, others as POST", async (t) => {
        const site = await startSite();
        const server = await start(t, site, {
            http_method: "AUTO",
            methods: [{ method: "echo", read_only: true }, "list"],
        });
        await untilTool(server, "echo");
        const echo = async (input) => {
            const result = await callToolWell(server, "echo", { input });
            assert.deepEqual(result.structuredContent, { result: input });
            return site.asked("/jsonrpc").at(-1);
        };
        const short = await echo("ž & /?%+ \u{1f600}");
        assert.equal(short.verb, "GET");
        assert.match(short.target, /^\/jsonrpc\?query=/);
        assert.ok((await echo("x".repeat(1000))).target.length < 2000);
        const long = await echo("x".repeat(2000));
        assert.deepEqual([long.verb, long.target], ["POST", "/jsonrpc"]);
        const wide = await echo("ž".repeat(500)); // six characters each
        assert.equal(wide.verb, "POST");
        await callToolWell(server, "list", {});
        assert.equal(site.asked("/jsonrpc").at(-1).verb, "POST");
    });

    test("that are equal and go as GET have one URL, so that caches keep one answer", async (t) => {
        const site = await startSite();
        const methods = [{ method: "echo", read_only: true }, { method: "true", read_only: true }, "list"];
        const server = await start(t, site, { http_method: "AUTO", methods });
        await untilTool(server, "echo");
        const targets = new Map();
        for (const input of ["a", "b", "a", "b", "a"]) {
            await callToolWell(server, "echo", { input });
            await callToolWell(server, "list", {});
            const asked = site.asked("/jsonrpc").findLast(({ verb }) => verb === "GET");
            targets.set(input, (targets.get(input) ?? new Set()).add(asked.target));
        }
        assert.deepEqual(
            [...targets.values()].map(({ size }) => size),
            [1, 1],
        );
        // Also with answers that are matched by their id.
        const checked = await start(t, site, { http_method: "GET", match_replies: "id", methods });
        await untilTool(checked, "true");
        site.seen.length = 0;
        await callToolWell(checked, "true", {});
        await callToolWell(checked, "true", {});
        const [first, second] = site.asked("/jsonrpc").map(({ target }) => target);
        assert.match(first, /^\/jsonrpc\?query=/);
        assert.equal(first, second);
    });

    test("give objects where the schema declares one and PHP has an empty list", async (t) => {
        const map = { type: "object", additionalProperties: { $ref: "#/definitions/names" } };
        const output = {
            type: "object",
            properties: {
                settings: { type: "object" },
                maybe: { anyOf: [{ type: "object" }, { type: "null" }] },
                either: { type: ["object", "array"] },
                list: { type: "array", items: { type: ["object", "null"], properties: { inner: { type: "object" } } } },
                map,
                open: {},
            },
            definitions: { names: { type: "object" } },
        };
        const written = {
            settings: [],
            maybe: [],
            either: [],
            list: [[], { inner: [], other: [] }, null],
            map: { a: [], b: { c: [] } },
            open: [],
            more: [],
            text: "[]",
        };
        const methods = {
            filled: { usage: "Has some.", output, run: () => written },
            nothing: { usage: "Has none.", output: { type: "object" }, run: () => [] },
            listed: { usage: "Lists.", output: { type: "array" }, run: () => [] },
            open: { usage: "Does not say.", run: () => [] },
        };
        const site = await startSite({ methods });
        const server = await start(t, site, { methods: [{ method: "*", expose_on_jsonrpc: true }] });
        await untilTool(server, "filled");
        const result = async (method) => (await rpc(server, { method, id: 1 })).json.result;
        assert.deepEqual(await result("filled"), {
            settings: {},
            maybe: {},
            either: [],
            list: [{}, { inner: {}, other: [] }, null],
            map: { a: {}, b: { c: [] } },
            open: [],
            more: [],
            text: "[]",
        });
        assert.deepEqual((await callToolWell(server, "nothing", {})).structuredContent, {});
        assert.deepEqual(await result("listed"), []);
        assert.deepEqual(await result("open"), []);
        const own = { preset: undefined, discovery: "drupal-methods", match_replies: "http_exchange" };
        const plain = await start(t, site, own); // another service means what it says
        await untilTool(plain, "nothing");
        assertToolError(await callTool(plain, "nothing", {}), /schema|declared/);
    });

    test("give objects for PHP's empty lists below patterns, places and conditions", async (t) => {
        const object = { type: "object" };
        const list = { type: "array" };
        const named = {
            type: "object",
            properties: { x_list: list },
            patternProperties: { "^x_": { type: ["object", "array"] }, "^y_": object },
            additionalProperties: { $ref: "#/$defs/names" },
            $defs: { names: object },
        };
        const placed = {
            type: "array",
            prefixItems: [list, object],
            items: { type: "object", properties: { a: object } },
        };
        const tuple = {
            $schema: "http://json-schema.org/draft-07/schema#",
            type: "array",
            items: [list, object],
            additionalItems: object,
        };
        const conditional = {
            type: "object",
            properties: { kind: {}, data: {}, extra: {} },
            if: { properties: { kind: { const: "one" } }, required: ["kind"] },
            // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
            then: { properties: { data: object } },
            else: { properties: { data: list } },
            dependentSchemas: { has: { properties: { extra: object } } },
        };
        const methods = {
            named: { usage: "By pattern.", output: named, run: () => ({ x_list: [], x_a: [], y_a: [], other: [] }) },
            placed: { usage: "By place.", output: placed, run: () => [[], [], { a: [] }, []] },
            tuple: { usage: "By place.", output: tuple, run: () => [[], [], []] },
            one: { usage: "By condition.", output: conditional, run: () => ({ kind: "one", data: [], extra: [] }) },
            many: { usage: "By condition.", output: conditional, run: () => ({ data: [], has: 1, extra: [] }) },
        };
        const site = await startSite({ methods });
        const server = await start(t, site, { methods: [{ method: "*", expose_on_jsonrpc: true }] });
        await untilTool(server, "named");
        const answers = {};
        for (const method of Object.keys(methods)) {
            answers[method] = (await rpc(server, { method, id: 1 })).json.result;
        }
        assert.deepEqual(answers, {
            named: { x_list: [], x_a: [], y_a: {}, other: {} },
            placed: [[], {}, { a: {} }, {}],
            tuple: [[], {}, {}],
            one: { kind: "one", data: {}, extra: [] },
            many: { data: [], has: 1, extra: {} },
        });
    });

    test("go to the path of each tool where the account may not use /jsonrpc", async (t) => {
        const site = await startSite({ kind: "tools" });
        site.front = ({ target }, response) => {
            const isClosed = target.startsWith("/jsonrpc");
            if (isClosed) {
                site.showPage(response, 403, "Access denied");
            }
            return isClosed;
        };
        const server = await start(t, site, {
            call_path: "/mcp/tools/{method}",
            http_method: "AUTO",
            methods: [
                { method: examples[0], name: "to_markdown" },
                { method: examples[1], read_only: true },
            ],
        });
        await untilTool(server, "to_markdown");
        await callToolWell(server, "to_markdown", { nid: 1 });
        const [posted] = site.asked(`/mcp/tools/${examples[0]}`);
        assert.deepEqual([posted.verb, posted.rpc.method], ["POST", examples[0]]);
        await callToolWell(server, examples[1], {});
        assert.match(site.asked(`/mcp/tools/${examples[1]}`)[0].target, /\?query=/);
        assert.equal(site.asked("/jsonrpc").length, 0);
    });

    test("check-112: with bad arguments do not reach the site", async (t) => {
        const [site, server] = await plain(t);
        await untilTool(server, "echo");
        for (const args of [{}, { input: 5 }, { input: "x", n: 0 }, { input: "x", n: "5" }, { input: "x", zzz: 1 }]) {
            assertToolError(await callTool(server, "echo", args));
        }
        assert.equal(site.calls.length, 0);
        const error = assertRpcError(await callTool(server, "ecko", {}), 200, -32602, 1);
        assert.match(error.message, /ecko/);
    });

    test("check-112: that fail at the site name the source or say what the site said", async (t) => {
        const [site, server] = await plain(t);
        await untilTool(server, "fail");
        assertToolError(await callTool(server, "fail", {}), /Node with ID 99999 not found/);
        await site.stop();
        assertToolError(await callTool(server, "fail", {}), /'site'/);
        await site.start();
    });

    test("fault-B30: give values, and no pretty-printed text", async (t) => {
        const site = await startSite({ kind: "tools" });
        const server = await start(t, site);
        await untilTool(server, examples[1]);
        const { content, structuredContent } = await callToolWell(server, examples[1], {});
        assert.deepEqual(structuredContent[0], { nid: 2, title: "Second article", created: 1700000100 });
        assert.doesNotMatch(content[0].text, /\n/);
        const markdown = await callToolWell(server, examples[0], { nid: 1 });
        assert.equal(markdown.content[0].text, "# First article\n\nHello world.\n\nSecond paragraph.");
        assertToolError(await callTool(server, examples[0], { nid: 99 }), /Node with ID 99 not found/);
        assertToolError(await callTool(server, examples[0], { nid: 4 }), /not an article/);
    });
});

// ---- how long a list is good ----

suite("a list that was read", { concurrency: true }, () => {
    test("check-110: is used until its time is over", async (t) => {
        const site = await startSite({ kind: "tools" });
        const server = await start(t, site);
        await untilTool(server, examples[0]);
        for (let i = 0; i < 5; i += 1) {
            await toolNames(server);
            await callToolWell(server, examples[0], { nid: 1 });
        }
        assert.equal(site.asked("/mcp/tools/list").length, 1);
        site.methods = { ...site.methods, ...manyTools(1) };
        server.child.kill("SIGHUP");
        await untilTool(server, "many.000");
        assert.equal(site.asked("/mcp/tools/list").length, 2);
    });

    test("check-110: is read again as often as the operator says", async (t) => {
        const site = await startSite({ kind: "tools" });
        const server = await start(t, site, { refresh: "300ms" });
        await untilTool(server, examples[0]);
        site.methods = { ...site.methods, ...manyTools(1) };
        await untilTool(server, "many.000");
        const { "many.000": gone, ...others } = site.methods;
        assert.ok(gone);
        site.methods = others;
        await untilTool(server, "many.000", false);
    });

    test("check-110: is not read again with refresh 0", async (t) => {
        const site = await startSite({ kind: "tools" });
        const server = await start(t, site, { refresh: 0 });
        await untilTool(server, examples[0]);
        await pause(700);
        assert.equal(site.asked("/mcp/tools/list").length, 1);
    });

    for (const refresh of ["soon", -1, "5 parsecs"]) {
        test(`check-110: a time that is none is told before the start: ${refresh}`, async () => {
            const file = writeConfig({ sources: [sourceOf({ url: "http://127.0.0.1:1/jsonrpc" }, { refresh })] });
            const { code, stderr, stdout } = await runCauseway(["config", "check", file]);
            assert.notEqual(code, 0);
            assert.match(stdout + stderr, /refresh/);
        });
    }

    test("fault-B30: survives a site that goes away, and a restart without it", async (t) => {
        const site = await startSite({ kind: "tools" });
        const folder = path.join(keepFolder(), `state-${process.pid}-b30`);
        const config = { state: { directory: folder } };
        const first = await startBridge({ plugins: [], config: { ...config, sources: [sourceOf(site)] } });
        await untilTool(first, examples[0]);
        await first.stop();
        await site.stop();
        const server = await start(t, site, {}, { config });
        await untilTool(server, examples[0]);
        assert.equal((await toolOf(server, examples[0])).title, "Get Article as Markdown");
        assert.equal((await callTool(server, examples[2], {})).status, 401);
        assertToolError(await callTool(server, examples[0], { nid: 1 }), /cannot be reached/);
        await site.start();
    });

    test("fault-B30: is waited for where the site is away at first", async (t) => {
        const site = await startSite({ kind: "tools" });
        await site.stop();
        const server = await start(t, site);
        assert.deepEqual(await toolNames(server), []);
        await site.start();
        // The catalogue reaches one loop after the other.
        const isCalled = async () => !(await callTool(server, examples[0], { nid: 1 })).json.error;
        await eventually(isCalled, "a call", 10_000);
    });
});

// ---- scopes ----

// A causeway that believes a forger, with the site's tools in it.
async function startScoped(t) {
    const scoped = (scopes, level) => ({
        usage: "Scoped",
        run: () => "ran",
        tool: { annotations: { auth: { scopes, ...(level ? { level } : {}) } } },
    });
    const site = await startSite({
        kind: "tools",
        methods: {
            "s.both": scoped(["user:read", "content:read", "user:read"], "required"),
            "s.optional": scoped(["profile"], "optional"),
            "s.none": scoped(["content:delete"], "none"),
        },
    });
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const forger = await startForger({ audience: url });
    const server = await startBridge({
        plugins: [],
        roles: { anonymous: permissions, authenticated: permissions },
        args: ["--listen", `127.0.0.1:${port}`],
        config: {
            public_url: url,
            access: { issuers: [{ issuer: forger.url, allow_private: true }] },
            sources: [sourceOf(site)],
        },
    });
    t.after(() => server.stop());
    await untilTool(server, "s.both");
    return { server, forger };
}

suite("scopes of a site's tools", () => {
    test("check-113: are announced together, sorted and once, without those of tools for all", async (t) => {
        const { server } = await startScoped(t);
        const { json } = await get(server, "/.well-known/oauth-protected-resource");
        const expected = ["content:read", "profile", "tutorial:read", "tutorial:search", "user:read"];
        assert.deepEqual(json.scopes_supported, expected);
    });

    test("check-114, fault-B30: that a caller lacks are told, with those it needs and has, by 403", async (t) => {
        const { server, forger } = await startScoped(t);
        const token = await forger.sign({ scope: "content:read profile" });
        for (const ask of [callTool, invoke]) {
            const options = ask === callTool ? { headers: bearer(token) } : bearer(token);
            const answer = await ask(server, "s.both", {}, options);
            assert.equal(answer.status, 403, answer.text);
            assert.deepEqual(answer.json.error.data, {
                required_scopes: ["user:read", "content:read"],
                missing_scopes: ["user:read"],
                current_scopes: ["content:read", "profile"],
            });
        }
        const nobody = await callTool(server, "s.both", {});
        assert.equal(nobody.status, 401, nobody.text);
        assert.match(nobody.headers.get("www-authenticate"), /scope="user:read content:read"/);
    });

    test("check-115: are read from a token's claim as a list and as a text", async (t) => {
        const { server, forger } = await startScoped(t);
        const call = async (claims) =>
            (await callTool(server, "s.both", {}, { headers: bearer(await forger.sign(claims)) })).status;
        assert.equal(await call({ scope: ["content:read", "user:read"] }), 200);
        assert.equal(await call({ scope: "content:read user:read" }), 200);
        assert.equal(await call({ scope: "content:read,user:read" }), 200);
        assert.equal(await call({ scope: "content:read, user:read" }), 200);
        assert.equal(await call({ scope: undefined, scp: ["user:read", "content:read"] }), 200);
        assert.equal(await call({ scope: undefined }), 403);
        assert.equal(await call({ scope: [] }), 403);
        const past = Math.floor(Date.now() / 1000) - 600;
        assert.equal(await call({ scope: ["content:read", "user:read"], exp: past }), 401);
        assert.equal(await call({ scope: ["content:read", "user:read"], iss: "https://other.example" }), 401);
        const stranger = await startForger({ audience: server.url });
        const forged = await stranger.sign({ iss: forger.url, scope: "content:read user:read" });
        assert.equal((await callTool(server, "s.both", {}, { headers: bearer(forged) })).status, 401);
    });
});

// Methods that the site's list would not show.
function writeManifest(names) {
    const file = path.join(keepFolder(), `manifest-${Math.random().toString(36).slice(2)}.json`);
    const methods = names.map((name) => ({ name, params: [], result: { name: "r", schema: {} } }));
    if (names.includes("echo")) {
        const schema = { type: ["array", "object"], "x-spread": true };
        methods.find(({ name }) => name === "echo").params = [{ name: "params", schema }];
    }
    writeFileSync(file, JSON.stringify({ openrpc: "1.3.2", info: { title: "x", version: "1" }, methods }));
    return file;
}
