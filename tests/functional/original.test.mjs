// What the original system promised and its own tests looked at, from a client's side: marks, levels
// of authorisation, who sees what, calls at a tool's address, and the example tools. The numbers
// are those of docs/checks.md.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { basic, bearer, call, cli, databasePath, discover, shortToken } from "./support/accounts.mjs";
import { addPlugin, modern } from "./support/mcp.mjs";
import { compilePlugin } from "./support/plugins.mjs";
import { writeConfig } from "./support/programs.mjs";
import { allPages, assertRestError, get, invoke, post, startExamples } from "./support/rest.mjs";
import { eventually, pause } from "./support/server.mjs";

const list = "/mcp/tools/list";
const describe = (name) => `/mcp/tools/describe?name=${encodeURIComponent(name)}`;
const address = (name) => `/mcp/tools/${name}`;
const request = (method, params, id = 1) => ({ jsonrpc: "2.0", method, params, id });
const rpc = (server, method, params, headers) => post(server, "/jsonrpc", request(method, params), headers);
const namesOf = (answer) => answer.json.tools.map(({ name }) => name);
const examples = ["examples.article.toMarkdown", "examples.articles.list", "examples.contentTypes.list"];

const administer = "administer site configuration";
const alice = basic("alice", "s3cret"); // sees what needs "access content"
const root = basic("root", "r00t"); // sees everything
const stranger = basic("stranger", "str4nger"); // may nothing

const roles = {
    anonymous: [discover, call, "access content"],
    authenticated: [],
    reader: [discover, call, "access content"],
    administrator: [discover, call, "access content", administer],
};

// The examples, test plugins and accounts.
async function start({ config = {}, ...options } = {}) {
    const store = { path: databasePath() };
    const file = writeConfig({ roles: config.roles ?? roles, store });
    const add = (name, password, ...words) => cli(file, "account", "add", name, ...words, { input: password });
    await add("alice", "s3cret", "--role", "reader");
    await add("root", "r00t", "--role", "administrator");
    await add("stranger", "str4nger");
    // As in the original, an account has only what its own roles give.
    const access = { authenticated_only_own: true, ...config.access };
    const all = { roles: config.roles ?? roles, ...config, store, access };
    const server = await startExamples({ ...options, roles: all.roles, config: all });
    server.token = async (account, scopes, ...more) => {
        const words = scopes.flatMap((scope) => ["--scope", scope]);
        return JSON.parse(await cli(file, "token", "create", account, "--json", ...words, ...more));
    };
    server.revoke = ({ id }) => cli(file, "token", "revoke", String(id));
    const hasAll = async () => (await allPages(server)).length >= (options.expected ?? 3);
    await eventually(hasAll, "the tools of all plugins");
    return server;
}

// ---- marks ----

const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`key ${i}`, i]));
const marks = {
    "marks.both": {
        title: "Both of them",
        annotations: {
            category: "x",
            auth: { scopes: ["z:last", "a:first"], level: "required", description: "Says why" },
        },
    },
    "marks.title": { title: "Title alone" },
    "marks.annotations": { annotations: { destructive: false } },
    "marks.nothing": {},
    "marks.empty": { title: "" },
    "marks.nested": { annotations: { a: { b: { c: [1, { d: null }, []] } }, e: {} } },
    "marks.hundred": { annotations: many },
    "marks.special": { annotations: { "ž 'x' <&> /~": "…", "a.b-c_d": 1, 1: "one", 3: "three" } },
    "marks.none": { annotations: { auth: { scopes: ["x:y"], level: "none" } } },
    "marks.optional": { annotations: { auth: { scopes: ["x:y"], level: "optional" } } },
    "marks.empty_scopes": { annotations: { auth: { scopes: [] } } },
};

function marksSource() {
    const quoted = (text) => JSON.stringify(text);
    const methods = Object.entries(marks).map(([name, { title, annotations }], i) => {
        const parts = [
            ...(title === undefined ? [] : [`.title = ${quoted(title)}`]),
            ...(annotations === undefined ? [] : [`.annotations = ${quoted(JSON.stringify(annotations))}`]),
        ];
        return `static void run_${i}(cw_call *call) { cw_result_text(call, "ran"); }
CW_METHOD(run_${i}, "${name}", .usage = "Says that it ran", .permissions = {"access content"});
CW_TOOL(${[`run_${i}`, ...parts].join(", ")});`;
    });
    return `#include <causeway/plugin.h>\nCW_PLUGIN("marks", "1.0");\n${methods.join("\n")}\n`;
}

suite("a mark", () => {
    let server;
    before(async () => {
        const prepare = (folder) => compilePlugin(folder, "marks", marksSource());
        server = await start({ plugins: ["echo"], prepare, expected: 20 });
    });
    after(() => server?.stop());

    const shown = async (name) => (await get(server, describe(name))).json.tool;

    test("check-1, check-3, check-5, check-9, check-23: is shown as it was written", async () => {
        for (const [name, { title, annotations }] of Object.entries(marks)) {
            const tool = await shown(name);
            assert.equal(tool.name, name);
            assert.deepEqual(tool.annotations, annotations, name);
            assert.equal("annotations" in tool, annotations !== undefined, name);
            assert.equal(tool.title, title || undefined, name);
            assert.equal("title" in tool, Boolean(title), name);
        }
    });

    test("check-37: leaves no trace in a method that has none", async () => {
        const { json } = await get(server, "/jsonrpc/methods/test.unmarked");
        assert.deepEqual(Object.keys(json.attributes), ["usage"]);
        assertRestError(await get(server, describe("test.unmarked")), 404, "tool_not_found");
    });

    test("check-44: is found under the id of its method", async () => {
        for (const { name } of await allPages(server)) {
            assert.equal((await shown(name)).name, name);
            assert.equal((await get(server, `/jsonrpc/methods/${name}`)).json.id, name);
        }
    });

    test("check-21, row-D12, fault-B13: only the level required asks for a login", async () => {
        for (const name of ["marks.none", "marks.optional", "marks.empty_scopes", "marks.title"]) {
            assert.equal((await post(server, address(name), request(name))).status, 200, name);
        }
        assert.equal((await post(server, address("marks.both"), request("marks.both"))).status, 401);
        const wrong = await post(server, address("marks.optional"), request("marks.optional"), bearer("x"));
        assert.equal(wrong.status, 401);
    });

    test("check-22: has its scopes asked for in the order in which it names them", async () => {
        const { status, headers, json } = await post(server, address("marks.both"), request("marks.both"));
        assert.equal(status, 401);
        assert.match(headers["www-authenticate"], /scope="z:last a:first"/);
        assert.deepEqual(json.error.data.required_scopes, ["z:last", "a:first"]);
        const none = await post(server, address("marks.title"), request("marks.title"));
        assert.equal(none.headers["www-authenticate"], undefined);
    });
});

// ---- who sees what ----

suite("the list", () => {
    let server;
    before(async () => (server = await start({ plugins: ["original"], expected: 6 })));
    after(() => server?.stop());

    test("check-39, check-69: shows auth as it was declared, and no level that only follows", async () => {
        const tools = new Map((await get(server, list)).json.tools.map((tool) => [tool.name, tool]));
        assert.deepEqual(tools.get("test.methodWithAuth").annotations.auth, {
            scopes: ["content:read", "content:write"],
            level: "required",
            description: "Reads and writes content",
        });
        assert.deepEqual(tools.get("test.methodWithInferredAuth").annotations.auth, {
            scopes: ["user:read"],
            description: "Reads users",
        });
        assert.deepEqual(tools.get("test.methodWithoutAuth").annotations, { category: "testing" });
    });

    test("check-40, check-70: every auth has its shape", async () => {
        const { json } = await get(server, list, root);
        const all = json.tools.map(({ annotations }) => annotations?.auth).filter(Boolean);
        assert.ok(all.length >= 3);
        for (const { scopes, level, description, ...others } of all) {
            assert.ok(Array.isArray(scopes) && scopes.every((scope) => typeof scope === "string"));
            assert.ok([undefined, "none", "optional", "required"].includes(level));
            assert.ok(["undefined", "string"].includes(typeof description));
            assert.deepEqual(others, {});
        }
    });

    test("check-43: has a tool for those only who have all its permissions", async () => {
        const admin = ["test.adminOnly", "test.authenticated"];
        for (const headers of [{}, alice]) {
            const names = namesOf(await get(server, list, headers));
            assert.ok(examples.every((name) => names.includes(name)));
            assert.equal(
                names.some((name) => admin.includes(name)),
                false,
            );
        }
        const names = namesOf(await get(server, list, root));
        assert.ok(admin.every((name) => names.includes(name)));
    });

    test("check-54, check-57, check-86: is 403 without the permission, 401 for a wrong token", async () => {
        const { token } = await server.token("alice", []);
        assert.equal((await get(server, list, bearer(token))).status, 200);
        assertRestError(await get(server, describe("nope"), bearer(token)), 404, "tool_not_found");
        for (const target of [list, describe("nope"), describe(examples[0])]) {
            assertRestError(await get(server, target, stranger), 403, "access_denied");
            assertRestError(await get(server, target, bearer("wrong")), 401, "unauthorized");
        }
    });

    test("check-106: of methods is filtered in the same way", async () => {
        const ids = async (headers) => {
            const { status, json } = await get(server, "/jsonrpc/methods", headers);
            assert.equal(status, 200);
            return json.data.map(({ id }) => id);
        };
        assert.equal((await ids(alice)).includes("test.adminOnly"), false);
        assert.ok((await ids(root)).includes("test.adminOnly"));
        const one = "/jsonrpc/methods/test.adminOnly";
        assert.equal((await get(server, one, root)).status, 200);
        assertRestError(await get(server, one, alice), 404, "method_not_found");
    });
});

test("check-42, check-53: anybody and an account with both permissions see the three examples", async (t) => {
    const server = await start();
    t.after(() => server.stop());
    assert.deepEqual(namesOf(await get(server, list)), examples);
    assert.equal((await get(server, list, alice)).text, (await get(server, list)).text);
    assert.deepEqual(namesOf(await get(server, list, alice)), examples);
});

test("check-64, check-65, check-66: a plugin that comes or goes is a MISS, for every caller", async (t) => {
    const server = await start({ config: { debug_headers: true, loops: 1 } });
    t.after(() => server.stop());
    const kept = ({ headers }) => ["tags", "contexts", "max-age"].map((name) => headers[`x-causeway-cache-${name}`]);
    assert.deepEqual(kept(await get(server, list, root)), kept(await get(server, list, alice)));
    // The state of the first answer that has, or no longer has, the tool.
    const whenChanged = async (there) => {
        let answer;
        const look = async () => {
            answer = await get(server, list, alice);
            return namesOf(answer).includes("test.methodWithoutAuth") === there;
        };
        await eventually(look, "the changed list");
        assert.deepEqual(
            namesOf(answer).filter((name) => examples.includes(name)),
            examples,
        );
        return answer.headers["x-causeway-cache"];
    };
    for (const there of [true, false]) {
        // A server that has just started may still read the database, which drops what it kept.
        const isKept = async () => (await get(server, list, alice)).headers["x-causeway-cache"] === "HIT";
        await eventually(isKept, "the list to be kept");
        if (there) {
            addPlugin(server.plugins, "original");
        } else {
            rmSync(path.join(server.plugins, "original.so"));
        }
        assert.equal(await whenChanged(there), "MISS");
    }
});

// ---- at the address of a tool ----

suite("a tool that needs scopes", () => {
    const name = "test.methodWithAuth";
    const scopes = ["content:read", "content:write"];
    let server;
    before(async () => (server = await start({ plugins: ["original"], expected: 6 })));
    after(() => server?.stop());
    const send = (headers) => post(server, address(name), request(name, { input: "x" }), headers);

    test("check-77: challenges the anonymous", async () => {
        const { status, headers, json } = await send();
        assert.equal(status, 401);
        assert.match(headers["www-authenticate"], /^Bearer realm="MCP Tools"/);
        assert.doesNotMatch(headers["www-authenticate"], /error=/);
        assert.deepEqual(json.error.data, { required_scopes: scopes, missing_scopes: scopes });
    });

    test("check-78, check-79, check-80: refuses garbage, expired and revoked tokens alike", async () => {
        const isGood = async (token) => (await send(bearer(token))).status === 200;
        const short = await shortToken((...words) => server.token("alice", scopes, ...words), isGood);
        const revoked = await server.token("alice", scopes);
        assert.ok(await isGood(revoked.token));
        await server.revoke(revoked);
        const isRefused = async () => (await send(bearer(revoked.token))).status === 401;
        await eventually(isRefused, "the token's end");
        await pause(Math.max(0, Date.parse(short.expires) - Date.now()) + 50);
        const plain = ({ status, text, headers: { date, "x-request-id": id, ...headers } }) => ({
            status,
            text,
            headers,
        });
        const garbage = plain(await send(bearer("garbage")));
        assert.equal(garbage.status, 401);
        const text =
            'Bearer realm="MCP Tools", error="invalid_token", error_description="The access token is invalid or expired"';
        assert.ok(garbage.headers["www-authenticate"].startsWith(text));
        for (const { token } of [short, revoked]) {
            assert.deepEqual(plain(await send(bearer(token))), garbage);
        }
    });

    test("check-81: names the scope that a token lacks, and only that", async () => {
        for (const [has, lacks] of [scopes, [...scopes].reverse()]) {
            const { token } = await server.token("alice", [has]);
            const { status, headers, json } = await send(bearer(token));
            assert.equal(status, 403);
            const challenge = `Bearer realm="MCP Tools", error="insufficient_scope", scope="${lacks}"`;
            assert.equal(headers["www-authenticate"], challenge);
            const data = { required_scopes: scopes, missing_scopes: [lacks], current_scopes: [has] };
            assert.deepEqual(json.error.data, data);
        }
    });

    test("check-82: runs for a token with all of them", async () => {
        const { token } = await server.token("alice", [...scopes, "profile"]);
        const { status, json } = await send(bearer(token));
        assert.equal(status, 200);
        assert.deepEqual(json, { jsonrpc: "2.0", result: { result: "success" }, id: 1 });
    });

    test("check-84: does not take a password for a token", async () => {
        for (const login of [alice, root]) {
            const { status, headers } = await send(login);
            assert.equal(status, 401);
            assert.match(headers["www-authenticate"], /^Bearer realm="MCP Tools", scope="content:read content:write"/);
        }
    });

    test("row-D15: is refused at /mcp/tools/invoke with the scopes in the body too", async () => {
        const { token } = await server.token("alice", [scopes[0]]);
        const answer = await invoke(server, name, { input: "x" }, bearer(token));
        assert.equal(answer.status, 403);
        assert.equal(answer.json.error.code, "insufficient_scope");
        assert.deepEqual(answer.json.error.data.missing_scopes, [scopes[1]]);
        assert.match(answer.headers["www-authenticate"], /scope="content:write"$/);
    });

    // What each door says to a caller, in one word.
    function verdict({ status, headers, json }) {
        const challenge = headers["www-authenticate"] ?? headers.get?.("www-authenticate") ?? "";
        if (status === 403) {
            return challenge.includes("insufficient_scope") ? "scopes" : "forbidden";
        }
        const isUnknown = [-32601, -32602, "tool_not_found"].includes(json?.error?.code);
        return status === 401 ? "login" : isUnknown ? "hidden" : json?.result === undefined ? "?" : "runs";
    }

    test("fault-B2, fault-B8, fault-B11, fault-B12: every verdict of the gate is the same at every door", async () => {
        const one = bearer((await server.token("alice", [scopes[0]])).token);
        const both = bearer((await server.token("alice", scopes)).token);
        const args = { [name]: { input: "x" } };
        for (const [caller, tool, expected] of [
            [{}, "test.methodWithoutAuth", "runs"],
            [{}, name, "login"],
            [{}, "test.methodWithInferredAuth", "login"],
            [{}, "test.adminOnly", "hidden"],
            [{}, "test.nope", "hidden"],
            [alice, "test.methodWithoutAuth", "runs"],
            [alice, name, "login"],
            [alice, "test.adminOnly", "hidden"],
            [alice, "test.authenticated", "hidden"],
            [one, name, "scopes"],
            [both, name, "runs"],
            [both, "test.methodWithInferredAuth", "scopes"],
            [both, "test.adminOnly", "hidden"],
            [root, "test.adminOnly", "runs"],
            [root, "test.authenticated", "runs"],
            [stranger, "test.methodWithoutAuth", "forbidden"],
            [stranger, "test.adminOnly", "forbidden"],
        ]) {
            const params = args[tool] ?? {};
            const answers = [
                await invoke(server, tool, params, caller),
                await post(server, address(tool), request(tool, params), caller),
                await rpc(server, tool, params, caller),
                await modern(server, "tools/call", { name: tool, arguments: params }, { headers: caller }),
            ];
            const label = `${tool} for ${JSON.stringify(caller).slice(0, 40)}`;
            assert.deepEqual(answers.map(verdict), Array(4).fill(expected), label);
        }
    });
});

// ---- the example tools, through /jsonrpc ----

const html = `<div class="x"><h2>Part</h2><p>Text with <a href="/a?b=1&amp;c=2">a <em>link</em></a>,
<br>a break and <code>code</code>.</p><ul><li>one<ol><li>two</li></ol></li></ul><table><tr><td>cell</td></tr>
</table><blockquote>said</blockquote><script>alert("no")</script><!-- no --></div>`;

suite("the example tools by password", () => {
    const sql = `
        DELETE FROM nodes;
        INSERT INTO nodes (nid, type, title, published, created, body) VALUES
        (1, 'article', 'Test Article', 1, 100, '<p>First paragraph.</p><p>Second paragraph.</p>'),
        (2, 'page', 'A page', 1, 500, '<p>Page.</p>'),
        (3, 'article', 'Complex', 1, 300, '${html}'),
        (4, 'article', 'Not yet', 0, 900, '<p>Draft.</p>'),
        (5, 'article', 'Twin', 1, 200, ''),
        (6, 'article', 'Twin', 1, 200, ''),
        (7, 'article', 'Stars *and* <b>', 1, 50, 'x');`;
    let server;
    before(async () => (server = await start({ sql })));
    after(() => server?.stop());

    const result = async (method, params, headers = alice) => {
        const { status, json, text } = await rpc(server, method, params, headers);
        assert.equal(status, 200, text);
        assert.deepEqual(Object.keys(json).sort(), ["id", "jsonrpc", "result"]);
        return json.result;
    };
    const toMarkdown = (nid) => result("examples.article.toMarkdown", { nid });
    const nids = async (params) => (await result("examples.articles.list", params)).map(({ nid }) => nid);

    test("check-87, check-90: an article is a string, however complex its HTML", async () => {
        assert.equal(await toMarkdown(1), "# Test Article\n\nFirst paragraph.\n\nSecond paragraph.");
        const complex = await toMarkdown(3);
        assert.equal(typeof complex, "string");
        for (const part of ["# Complex", "## Part", "[a *link*](/a?b=1&c=2)", "`code`", "cell", "> said"]) {
            assert.ok(complex.includes(part), part);
        }
        assert.doesNotMatch(complex, /alert|<\/?\w/);
    });

    test("fault-B24: a title is text, not Markdown", async () => {
        assert.equal(await toMarkdown(7), "# Stars \\*and\\* \\<b>\n\nx");
    });

    test("check-88, check-89: what is no article is said to be none", async () => {
        for (const [nid, word] of [
            [99_999, "not found"],
            [2, "article"],
        ]) {
            const { json } = await rpc(server, "examples.article.toMarkdown", { nid }, alice);
            assert.ok(`${json.error.message} ${json.error.data}`.includes(word));
        }
    });

    test("check-91, check-92: content types, without params, by a token with both scopes", async () => {
        const { token } = await server.token("alice", ["tutorial:read", "tutorial:search"]);
        const types = await result("examples.contentTypes.list", undefined, bearer(token));
        assert.equal(types.length, 3);
        assert.ok(types.some(({ id, label }) => id === "article" && label === "Article"));
    });

    test("check-93 to check-97: articles that are published, newest first, by pages", async () => {
        const all = [3, 6, 5, 1, 7];
        assert.deepEqual(await nids({ page: { offset: 0, limit: 3 } }), all.slice(0, 3));
        assert.deepEqual(await nids([]), all);
        assert.deepEqual(await nids(undefined), all);
        assert.equal((await nids({})).includes(4), false);
    });

    test("check-96: none is an empty array", async (t) => {
        const empty = await start({ sql: "DELETE FROM nodes;" });
        t.after(() => empty.stop());
        const { json } = await rpc(empty, "examples.articles.list", {}, alice);
        assert.deepEqual(json.result, []);
    });

    test("fault-B23: equal times have an order, and half a page is one", async () => {
        const all = await nids();
        for (let i = 0; i < all.length; i++) {
            assert.deepEqual(await nids({ page: { limit: 1, offset: i } }), [all[i]]);
        }
        assert.deepEqual(await nids({ page: { limit: 2 } }), all.slice(0, 2));
        assert.deepEqual(await nids({ page: { offset: 2 } }), all.slice(2));
        assert.deepEqual(await nids({ page: {} }), all);
    });

    test("fault-B29: what the original answered against JSON-RPC 2.0", async () => {
        const article = "examples.article.toMarkdown";
        const lacks = { code: -32602, message: "Invalid params", data: "Missing required parameter: nid" };
        const one = { jsonrpc: "2.0", result: "# Twin\n\n", id: 1 };
        const good = request(article, { nid: 5 });
        const invalid = (answer, id) => ({ error: answer.error?.code, id: answer.id, expected: id });
        for (const [body, status, code, id] of [
            ["{", 400, -32700, null],
            ["", 400, -32700, null],
            ["5", 400, -32600, null],
            ["[]", 400, -32600, null],
            [{ ...good, jsonrpc: "1.0" }, 400, -32600, 1],
            [{ method: article, id: 1 }, 400, -32600, 1],
            [request("nope", {}, 0), 400, -32601, 0],
            [request(article, { nid: "5" }, 7), 400, -32602, 7],
            [request(article, { nid: 99_999 }, 7), 200, -32602, 7],
        ]) {
            const answer = await post(server, "/jsonrpc", body, alice);
            assert.equal(answer.status, status, answer.text);
            assert.deepEqual(invalid(answer.json, id), { error: code, id, expected: id }, answer.text);
        }
        const { status, json } = await post(
            server,
            "/jsonrpc",
            [
                good,
                request("nope", {}, 2),
                { jsonrpc: "2.0", method: "nope" },
                { jsonrpc: "2.0", method: article },
                request(article, {}, 3),
                { method: article },
                1,
            ],
            alice,
        );
        assert.equal(status, 200);
        assert.deepEqual(json[0], one);
        assert.deepEqual(
            json.map(({ id }) => id),
            [1, 2, 3, null, null],
        );
        assert.deepEqual(json[2].error, lacks);
        const nothing = await post(server, "/jsonrpc", [{ jsonrpc: "2.0", method: "nope" }], alice);
        assert.deepEqual([nothing.status, nothing.text], [204, ""]);
        const byPosition = await rpc(server, article, [5], alice);
        assert.deepEqual(byPosition.json, one);
        const none = await rpc(server, "examples.articles.list", {}, alice);
        assert.equal(none.status, 200);
    });
});
