// What the declarations of a plugin mean, and what is reported when one is wrong: by `plugin check`
// and in the log of a server.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { databasePath } from "./support/accounts.mjs";
import { callTool, modern, ownName, permissions, rpc, startBridge, timed, untilTool } from "./support/mcp.mjs";
import { compilePlugin, host, newFolder } from "./support/plugins.mjs";
import { runCauseway, writeConfig } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";

// A plugin with these declarations, in which `run` is a function that can be declared.
const source = (name, declarations) => `#include <causeway/plugin.h>
CW_PLUGIN("${name}", "1.0");
#define RUN(f) static void f(cw_call *call) { cw_result_text(call, "ran"); }
${declarations}`;

const compile = (name, declarations) => compilePlugin(newFolder(name), name, source(name, declarations));

async function check(file, ...options) {
    const { code, stdout, stderr } = await runCauseway(["plugin", "check", ...options, file]);
    return { code, stdout, stderr, lines: stderr.split("\n") };
}

suite("annotations of a tool", () => {
    const declarations = `
RUN(plain) CW_METHOD(plain, "lenient.plain", .permissions = {"access content"});
CW_TOOL(plain, .annotations = "{}");
RUN(locked) CW_METHOD(locked, "lenient.locked", .permissions = {"access content"});
CW_TOOL(locked, .annotations = CW_JSON({"auth": {"level": "required"}}));
RUN(same) CW_METHOD(same, "lenient.same", .permissions = {"access content"});
CW_TOOL(same, .auth_level = "required");
RUN(page) CW_METHOD(page, "lenient.page", .permissions = {"access content"});
CW_RESOURCE(page, .uri = "test://page", .annotations = "{}");
`;

    test("that are empty are left out, and a level of auth needs no scopes", async (t) => {
        const config = { store: { path: databasePath() } };
        const server = await startBridge({ plugins: [], roles: { anonymous: permissions }, config });
        t.after(() => server.stop());
        compilePlugin(server.plugins, "lenient", source("lenient", declarations));
        await untilTool(server, "lenient.plain");
        const { tools } = (await modern(server, "tools/list")).json.result;
        const tool = (name) => tools.find((one) => ownName(one) === name);
        assert.ok(!("annotations" in tool("lenient.plain")));
        const { resources } = (await modern(server, "resources/list")).json.result;
        assert.ok(!("annotations" in resources.find(({ uri }) => uri === "test://page")));
        assert.equal((await callTool(server, "lenient.plain", {})).status, 200);
        const [locked, same] = [
            await callTool(server, "lenient.locked", {}),
            await callTool(server, "lenient.same", {}),
        ];
        assert.equal(locked.status, 401);
        assert.equal(locked.status, same.status);
        assert.equal(locked.text.replaceAll("locked", "same"), same.text);
    });

    test("auth that names neither scopes nor a level is refused", async () => {
        const file = compile(
            "open",
            `RUN(a) CW_METHOD(a, "open.a");
CW_TOOL(a, .annotations = CW_JSON({"auth": {"description": "who knows"}}));`,
        );
        const { code, stderr } = await check(file);
        assert.equal(code, 1);
        assert.match(stderr, /^open: method 'open\.a': annotations\.auth: scopes or level is needed$/m);
    });
});

suite("control characters in names", () => {
    // The escapes are those of C.
    const broken = (more) =>
        String.raw`RUN(a) CW_METHOD(a, "broken.a\nb", .permissions = {"access content"},
    .params = {{"p\nq", .schema = CW_JSON({"type": "integer"})${more}}});
CW_TOOL(a, .scopes = {"odd:x"}, .annotations = CW_JSON({"we\nird": 1}));`;

    test("do not split the warnings of plugin check", async () => {
        const file = compile("broken", broken(""));
        const { code, stdout } = await check(file);
        assert.equal(code, 0);
        assert.deepEqual(
            stdout.split("\n").filter((line) => line.startsWith("warning: ")),
            [
                String.raw`warning: method 'broken.a\u000ab': scope 'odd:x' is not a known scope`,
                String.raw`warning: method 'broken.a\u000ab': annotation 'we\u000aird' is not known`,
            ],
        );
        assert.equal(JSON.parse((await check(file, "--json")).stdout).warnings.length, 2);
    });

    test("do not split the mistakes of a plugin", async () => {
        const { code, lines: found } = await check(compile("broken", broken(`, .default_value = CW_JSON("ten")`)));
        assert.equal(code, 1);
        assert.match(found[0], /^broken: method 'broken\.a\\u000ab': param 'p\\u000aq': default: expected integer/);
        assert.match(found[1], /would not be loaded$/);
    });
});

const lines = (server, text) => server.stderr.split("\n").filter((line) => line.includes(text));

async function startWith(t, name, declarations, more = "") {
    const server = await startBridge({ plugins: ["echo"] });
    t.after(() => server.stop());
    compilePlugin(server.plugins, name, source(name, declarations) + more);
    return server;
}

suite("mistakes of a plugin", () => {
    // Some that the host finds, some that only the schema engine does.
    const declarations = `
RUN(one) CW_METHOD(one, "wrong.one", .permissions = {"access content"},
    .params = {{"a", .schema = CW_JSON({"type": "strin"})},
               {"b", .schema = CW_JSON({"type": "integer"}), .default_value = CW_JSON("ten")},
               {"c", .schema = CW_JSON({"minimum": "1"})}},
    .output = CW_JSON({"required": 5}));
CW_TOOL(one, .auth_level = "sometimes");
RUN(two) CW_METHOD(two, "wrong.two", .permissions = {"access content"},
    .params = {{"d", .schema = CW_JSON({"type": "integer", "minimum": 3}), .default_value = "1"}});
CW_TOOL(two, .scopes = {"two words"});
`;
    const expected = [
        /method 'wrong\.one': auth_level: must be/,
        /method 'wrong\.one': param 'a': schema: .*\/type/,
        /method 'wrong\.one': param 'b': default: expected integer/,
        /method 'wrong\.one': param 'c': schema: .*\/minimum/,
        /method 'wrong\.one': result: schema: .*\/required/,
        /method 'wrong\.two': param 'd': default: /,
        /method 'wrong\.two': scope 'two words': must be printable ASCII/,
    ];

    test("are all printed at once by plugin check", async () => {
        const { code, lines: found } = await check(compile("wrong", declarations));
        assert.equal(code, 1);
        for (const pattern of expected) {
            const matching = found.filter((line) => pattern.test(line));
            assert.equal(matching.length, 1, `${pattern}\n${found.join("\n")}`);
            assert.match(matching[0], /^wrong: /);
        }
    });

    test("are all in the log of a server at once", async (t) => {
        const server = await startWith(t, "wrong", declarations);
        for (const pattern of expected) {
            await eventually(() => lines(server, "not loaded").some((line) => pattern.test(line)), `${pattern}`);
        }
    });

    test("in the marks of a method hide none in its other parts", async () => {
        const { code, lines: found } = await check(
            compile(
                "parts",
                `
RUN(one) CW_METHOD(one, "parts.one", .input = CW_JSON({"allOf": 5}), .permissions = {"a\\tb"});
CW_TOOL(one, .title = "\\xff", .scopes = {"a b"}, .ui = CW_JSON({"resourceUri": "ui://parts/one", "frame": 1}));
RUN(two) CW_METHOD(two, "parts.two", .input = CW_JSON({"type": "object"}));
CW_TOOL(two, .task = "soon", .visibility = "hide", .ui = "ui://");
RUN(three) CW_METHOD(three, "parts.three", .params = {{"x", .schema = "{"}});
CW_TOOL(three, .annotations = CW_JSON({"auth": {"scopes": ["a b"], "levels": "none"}}));
RUN(four) CW_METHOD(four, "parts.four");
CW_RESOURCE(four, .uri = "docs://four", .annotations = CW_JSON({"audience": 5, "priority": 7}));
`,
            ),
        );
        assert.equal(code, 1);
        const expected = [
            /^parts: method 'parts\.one': input: schema: \/allOf: /,
            /^parts: method 'parts\.one': permission 'a\?b': must not have control characters$/,
            /^parts: method 'parts\.one': title: not UTF-8$/,
            /^parts: method 'parts\.one': scope 'a b': must be printable ASCII/,
            /^parts: method 'parts\.one': x-mcp-tool: ui: unknown member 'frame'$/,
            /^parts: method 'parts\.two': input: type, properties and required follow from the params$/,
            /^parts: method 'parts\.two': task: must be /,
            /^parts: method 'parts\.two': visibility: "hide" needs scopes or the level "required"$/,
            /^parts: method 'parts\.two': x-mcp-tool: ui: resourceUri must be a URI ui:/,
            /^parts: method 'parts\.three': param 'x': schema: /,
            /^parts: method 'parts\.three': annotations\.auth: scope 'a b': must be printable ASCII/,
            /^parts: method 'parts\.three': annotations\.auth: member 'levels': is not known$/,
            /^parts: method 'parts\.four': resource: annotations: "audience" must be /,
            /^parts: method 'parts\.four': resource: annotations: "priority" must be /,
        ];
        for (const pattern of expected) {
            assert.equal(found.filter((line) => pattern.test(line)).length, 1, `${pattern}\n${found.join("\n")}`);
        }
        assert.equal(found.filter((line) => line.startsWith("parts: ")).length, expected.length, found.join("\n"));
    });

    test("in names of tools are all printed, with and without other mistakes", async () => {
        const long = "x".repeat(129);
        const names = `
RUN(a) CW_METHOD(a, "a b/x"); CW_TOOL(a);
RUN(b) CW_METHOD(b, "a b.x"); CW_TOOL(b);
RUN(c) CW_METHOD(c, "c d/x"); CW_TOOL(c);
RUN(d) CW_METHOD(d, "c d.x"); CW_TOOL(d, .ui = "ui://names/d");
RUN(e) CW_METHOD(e, "${long}"); CW_TOOL(e);
`;
        const expected = [
            /^names: method 'a b\.x': tool name 'a_x20b\.x' is taken by method 'a b\/x' of 'names'$/,
            /^names: method 'c d\.x': tool name 'c_x20d\.x' is taken by method 'c d\/x' of 'names'$/,
            /^names: method 'x+': its tool name would be longer than 128 characters$/,
        ];
        for (const [declarations, more] of [
            [names, []],
            [
                `${names}RUN(f) CW_METHOD(f, "f", .params = {{"x", .schema = CW_JSON({"type": 5})}});`,
                [/^names: .*type/],
            ],
            [`${names}RUN(f) CW_METHOD(f, "f", .output = "["); CW_TOOL(f);`, [/^names: .*output/]],
        ]) {
            const { code, lines: found } = await check(compile("names", declarations));
            assert.equal(code, 1);
            const all = found.filter((line) => line.startsWith("names: "));
            for (const pattern of [...expected, ...more]) {
                assert.equal(all.filter((line) => pattern.test(line)).length, 1, `${pattern}\n${found.join("\n")}`);
            }
            assert.equal(all.length, expected.length + more.length, found.join("\n"));
        }
    });

    test("in schemas alone are all in the log, and a wrong default keeps a plugin out", async (t) => {
        const schemas = `
RUN(a) CW_METHOD(a, "schemas.a", .params = {{"x", .schema = CW_JSON({"type": 1})}});
RUN(b) CW_METHOD(b, "schemas.b", .params = {{"y", .schema = CW_JSON({"maximum": []})}});`;
        const server = await startWith(t, "schemas", schemas);
        for (const pattern of [/schemas\.a': param 'x': schema/, /schemas\.b': param 'y': schema/]) {
            await eventually(() => lines(server, "left out").some((line) => pattern.test(line)), `${pattern}`);
        }
        const value = `RUN(a) CW_METHOD(a, "value.a",
            .params = {{"x", .schema = CW_JSON({"type": "string"}), .default_value = "7"}});`;
        compilePlugin(server.plugins, "value", source("value", value));
        await eventually(
            () => lines(server, "not loaded").some((line) => /value\.a': param 'x': default: /.test(line)),
            "the default",
        );
    });

    test("a crash while it is loaded names the plugin and the signal, with its last words", async (t) => {
        const crash = `
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void now(void) { fputs("last words\\n", stderr); abort(); }
RUN(a) CW_METHOD(a, "crash.a");`;
        const { code, stderr } = await check(compile("crash", crash));
        assert.equal(code, 1);
        assert.match(stderr, /^crash: crashed while it was loaded: killed by SIGABRT$/m);
        assert.match(stderr, /^crash: it wrote: last words$/m);
        const server = await startWith(t, "crash", crash);
        await eventually(
            () => lines(server, "not loaded").some((line) => /source="?crash"? .*SIGABRT/.test(line)),
            "the signal in the log",
        );
    });

    test("a child of a plugin that is checked does not hold it up", async () => {
        const file = compile(
            "parent",
            `
#include <unistd.h>
__attribute__((constructor)) static void now(void) { if (fork() == 0) { sleep(60); _exit(0); } }
RUN(a) CW_METHOD(a, "parent.a");`,
        );
        const { value, awake } = await timed(() => check(file));
        assert.equal(value.code, 0);
        assert.ok(awake < 50_000, "it waited for the child");
    });
});

suite("what may be meant otherwise", () => {
    const declarations = `
RUN(a) CW_METHOD(a, "odd.a", .permissions = {"access contents"});
CW_TOOL(a, .annotations = CW_JSON({"readonlyHint": true, "destructiveHint": "no", "colour": "red", "open_world": true}));
RUN(b) CW_METHOD(b, "odd.b");
CW_TOOL(b);
RUN(c) CW_METHOD(c, "odd.c");
CW_TOOL(c, .auth_level = "required");
`;
    test("unknown annotations are named by plugin check", async () => {
        const { code, stdout } = await check(compile("odd", declarations));
        assert.equal(code, 0);
        const warning = (text) => assert.ok(stdout.includes(`warning: method 'odd.a': ${text}\n`), stdout);
        warning("annotation 'readonlyHint' is not known; did you mean 'readOnlyHint'?");
        warning("annotation 'destructiveHint' must be true or false");
        warning("annotation 'colour' is not known");
        assert.doesNotMatch(stdout, /warning:.*open_world/); // another name of a hint
    });

    test("unknown annotations of a resource are named by plugin check", async () => {
        const { code, stdout } = await check(
            compile(
                "near",
                `
RUN(a) CW_METHOD(a, "near.a", .permissions = {"access content"});
CW_RESOURCE(a, .uri = "docs://a", .annotations = CW_JSON({"Priority": 0.5, "audience": ["user"], "colour": "red"}));
RUN(b) CW_METHOD(b, "near.b", .permissions = {"access content"}, .params = {{"x"}});
CW_RESOURCE_TEMPLATE(b, .uri_template = "docs://b/{x}", .annotations = CW_JSON({"lastmodified": "2026-01-01"}));
`,
            ),
        );
        assert.equal(code, 0);
        assert.deepEqual(
            stdout.split("\n").filter((line) => line.startsWith("warning: ")),
            [
                "warning: method 'near.a': annotation 'Priority' is not known; did you mean 'priority'?",
                "warning: method 'near.a': annotation 'colour' is not known",
                "warning: method 'near.b': annotation 'lastmodified' is not known; did you mean 'lastModified'?",
            ],
        );
    });

    test("and in the log, with the methods that any caller may use", async (t) => {
        const server = await startWith(t, "odd", declarations);
        await untilTool(server, "odd.b");
        await eventually(() => lines(server, "any caller").length > 0, "the open methods");
        assert.match(
            lines(server, "any caller")[0],
            / info sources: any caller may use these methods source="?odd"? count=1 methods="?odd\.b"?$/,
        );
        await eventually(() => lines(server, "unusual annotation").length === 2, "annotations");
        const described = await runCauseway(["describe", "odd.b", "--config", server.config]);
        assert.match(described.stdout, /^permissions: none: any caller$/m);
        const echo = await runCauseway(["describe", "test.echo", "--config", server.config]);
        assert.match(echo.stdout, /^permissions: access content$/m);
    });

    test("plugin check says who may use a method", async () => {
        const { stdout } = await check(compile("odd", declarations));
        assert.match(stdout, /^odd\.b\n(?: .*\n)*? {2}permissions {2}none: any caller$/m);
        assert.match(stdout, /^odd\.c\n(?: .*\n)*? {2}permissions {2}none: any caller that its auth admits$/m);
        const json = JSON.parse((await check(compile("odd", declarations), "--json")).stdout);
        assert.deepEqual(
            json.methods.map(({ any_caller: any }) => any),
            [false, true, false],
        );
    });
});

test("plugin check prints everything that a plugin publishes, and quotes as they are", async () => {
    const file = compile(
        "all",
        `
RUN(a) CW_METHOD(a, "all.a", .usage = "Says \\"hi\\".", .permissions = {"access content"},
    .params = {{"x", .schema = CW_JSON({"enum": ["a", "b"]})}},
    .input = CW_JSON({"minProperties": 1}),
    .output = CW_JSON({"type": "string", "pattern": "^r"}));
CW_TOOL(a, .annotations = CW_JSON({"readOnlyHint": true}));
RUN(b) CW_METHOD(b, "all.b", .usage = "Reads.", .permissions = {"access content"});
CW_RESOURCE(b, .uri = "test://b", .title = "B", .mime_type = "text/plain",
            .annotations = CW_JSON({"priority": 1}));
RUN(c) CW_METHOD(c, "all.c", .permissions = {"access content"},
    .params = {{"name", .schema = CW_JSON({"type": "string"}), .required = true}});
CW_RESOURCE_TEMPLATE(c, .uri_template = "test://c/{name}");
RUN(d) CW_METHOD(d, "all.d", .permissions = {"access content"});
CW_PROMPT(d, .name = "dee", .title = "Dee");`,
    );
    const { code, stdout, stderr } = await check(file);
    assert.equal(code, 0, stderr);
    for (const line of [
        '  usage        Says "hi".',
        '  annotations  {"readOnlyHint":true}',
        '  params       x: {"enum":["a","b"]}',
        '  output       {"type":"string","pattern":"^r"}',
        "  resource     test://b",
        "               title: B",
        "               mimeType: text/plain",
        '               annotations: {"priority":1}',
        "  template     test://c/{name}",
        "  prompt       dee",
        "               title: Dee",
    ]) {
        assert.ok(stdout.includes(`\n${line}\n`), `${line}\n${stdout}`);
    }
    assert.match(stdout, /^ {2}input {8}\{.*"minProperties":1/m);
    assert.ok(!stdout.includes("\\"), stdout);
    const { methods } = JSON.parse((await check(file, "--json")).stdout);
    assert.equal(methods[1].resource.uri, "test://b");
    assert.equal(methods[2].template.uriTemplate, "test://c/{name}");
    assert.equal(methods[3].prompt.name, "dee");
    assert.deepEqual(methods[0].output, { type: "string", pattern: "^r" });
});

test("plugin check prints whether calls of a tool are tasks, and its view", async () => {
    const file = compile(
        "shown",
        `
RUN(a) CW_METHOD(a, "shown.a", .permissions = {"access content"});
CW_TOOL(a, .task = "always", .ui = "ui://causeway/data.html");
RUN(b) CW_METHOD(b, "shown.b", .permissions = {"access content"});
CW_TOOL(b, .ui = CW_JSON({"resourceUri": "ui://causeway/data.html", "visibility": ["app"], "prefersBorder": true}));
RUN(c) CW_METHOD(c, "shown.c", .permissions = {"access content"});
CW_TOOL(c);`,
    );
    const { code, stdout, stderr } = await check(file);
    assert.equal(code, 0, stderr);
    const [, a, b, c] = stdout.split(/^(?=shown\.)/m);
    assert.ok(a.includes("\n  task         always\n"), stdout);
    assert.ok(a.includes("\n  view         ui://causeway/data.html\n"), stdout);
    assert.ok(b.includes("\n  view         ui://causeway/data.html\n"), stdout);
    assert.ok(b.includes('\n               visibility: ["app"]\n'), stdout);
    assert.ok(b.includes("\n               prefersBorder: true\n"), stdout);
    assert.doesNotMatch(b, /^ {2}task/m);
    assert.doesNotMatch(c, /^ {2}(task|view)/m);
    const { methods } = JSON.parse((await check(file, "--json")).stdout);
    assert.deepEqual(
        methods.map(({ task, view }) => [task, view]),
        [
            ["always", { resourceUri: "ui://causeway/data.html" }],
            [undefined, { resourceUri: "ui://causeway/data.html", visibility: ["app"], prefersBorder: true }],
            [undefined, undefined],
        ],
    );
});

test("plugin check prints the skills beside a plugin, and those that would be left out", async () => {
    const file = compile("skilled", `RUN(a) CW_METHOD(a, "skilled.a", .permissions = {"access content"});`);
    const none = await check(file);
    assert.doesNotMatch(none.stdout, /skill\b/);
    assert.deepEqual(JSON.parse((await check(file, "--json")).stdout).skills, []);
    const folder = file.replace(/\.so$/, ".skills");
    for (const [name, text] of [
        ["refunds", "---\nname: refunds\ndescription: How to refund\n---\n"],
        ["broken", "---\nname: other\ndescription: x\n---\n"],
    ]) {
        mkdirSync(path.join(folder, name), { recursive: true });
        writeFileSync(path.join(folder, name, "SKILL.md"), text);
    }
    const { code, stdout } = await check(file);
    assert.equal(code, 0);
    assert.match(stdout, /version 1\.0, 1 method, 0 tools, 1 skill\n/);
    assert.ok(stdout.includes("\n  skill        refunds - How to refund\n"), stdout);
    assert.match(stdout, /^warning: skill 'broken' would be left out: its name in SKILL\.md is 'other'$/m);
    const json = JSON.parse((await check(file, "--json")).stdout);
    assert.deepEqual(json.skills, [{ name: "refunds", description: "How to refund", uri: "skill://skilled/refunds" }]);
    assert.equal(json.warnings.filter((line) => line.startsWith("skill 'broken'")).length, 1);
    rmSync(folder, { recursive: true });
    writeFileSync(folder, "no directory");
    assert.match((await check(file)).stdout, /^warning: skills cannot be read: .*skilled\.skills'/m);
});

suite("causeway-plugin-host --call", () => {
    const declarations = `
static void echo(cw_call *call) { cw_put_json(call, NULL, cw_value_json(call, cw_arg(call, "x"))); }
CW_METHOD(echo, "call.echo", .permissions = {"access content"},
    .params = {{"x", .schema = CW_JSON({"type": "integer", "maximum": 9}), .required = true},
               {"y", .schema = CW_JSON({"type": "string"}), .default_value = CW_JSON("why")}},
    .output = CW_JSON({"type": "integer", "maximum": 5}));
CW_TOOL(echo);
static void filled(cw_call *call) { cw_result_text(call, cw_arg_text(call, "y", "none")); }
CW_METHOD(filled, "call.filled", .permissions = {"access content"},
    .params = {{"y", .schema = CW_JSON({"type": "string"}), .default_value = CW_JSON("why")}});
`;
    test("validates arguments and results as the server does", async (t) => {
        const server = await startWith(t, "call", declarations);
        await untilTool(server, "call.echo");
        const file = compile("call", declarations);
        const run = (method, params) => {
            const { status, stdout } = spawnSync(host, ["--call", method, file, JSON.stringify(params)], {
                encoding: "utf8",
            });
            return { status, json: JSON.parse(stdout) };
        };
        assert.deepEqual(run("call.echo", { x: 3 }), { status: 0, json: 3 });
        assert.deepEqual(run("call.filled", {}), { status: 0, json: "why" });
        // By position, in the order of the declaration.
        assert.deepEqual(run("call.echo", [3, "z"]), { status: 0, json: 3 });
        assert.deepEqual(run("call.filled", ["z"]), { status: 0, json: "z" });
        assert.deepEqual(run("call.filled", []), { status: 0, json: "why" });
        for (const params of [{}, { x: "a" }, { x: 12 }, { x: 1, z: 2 }, { x: 1.5, y: 7 }, [], ["a"], [1, "b", 2]]) {
            const { json } = await rpc(server, { method: "call.echo", params, id: 1 });
            const own = run("call.echo", params);
            assert.equal(own.status, 1);
            assert.deepEqual(own.json, json.error, JSON.stringify(params));
        }
        const text = spawnSync(host, ["--call", "call.echo", file, '"Ada"'], { encoding: "utf8" });
        assert.deepEqual(
            [text.status, text.stderr],
            [1, "causeway-plugin-host: params: must be an object or an array\n"],
        );
        const bad = run("call.echo", { x: 7 });
        assert.equal(bad.status, 1);
        assert.equal(bad.json.code, -32603);
        assert.match(bad.json.data, /^the result does not match \.output: .*5/);
    });
});

suite("a permission", () => {
    const declarations = `
RUN(a) CW_METHOD(a, "perm.a", .permissions = {"access contents"});
CW_TOOL(a);`;

    test("that no role has is named with a suggestion, by plugin check and in the log", async (t) => {
        const file = compile("perm", declarations);
        const config = writeConfig({ roles: { editor: ["access content"] } });
        const { stdout } = await check(file, "--config", config);
        const text = "permission 'access contents' is a permission that no role has; did you mean 'access content'?";
        assert.ok(stdout.includes(`warning: method 'perm.a': ${text}\n`), stdout);
        const server = await startWith(t, "perm", declarations);
        const found = () => lines(server, "permission that no role has").filter((line) => line.includes("perm.a"));
        await eventually(() => found().length > 0, "the warning");
        assert.match(
            found()[0],
            / warn sources: .*method="?perm\.a"? permission="access contents" suggestion="access content"$/,
        );
    });

    test("that nothing asks for is named at the start, and by role allow", async (t) => {
        const server = await startBridge({
            plugins: ["echo"],
            roles: { anonymous: permissions, editor: ["access contents", "entirely different"] },
        });
        t.after(() => server.stop());
        await eventually(() => lines(server, "that no method requires").length === 2, "both");
        const [first, second] = lines(server, "that no method requires");
        assert.match(first, / warn config: .*permission="access contents" suggestion="access content"$/);
        assert.match(second, / info config: .*permission="entirely different"$/);

        const config = writeConfig({
            plugins: { directory: server.plugins },
            store: { path: `${newFolder("store")}/causeway.db` },
        });
        const allow = (permission) => runCauseway(["role", "allow", "anonymous", permission, "--config", config]);
        const wrong = await allow("access contents");
        assert.equal(wrong.code, 0, wrong.stderr);
        assert.match(wrong.stdout, /no method requires access contents; did you mean "access content"\?$/m);
        assert.doesNotMatch((await allow("access content")).stdout, /no method requires/);
        assert.doesNotMatch((await allow("use jsonrpc services")).stdout, /no method requires/);
    });
});
