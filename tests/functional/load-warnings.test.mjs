// What is told when a source is loaded: scopes that nobody knows, and schemas of draft-07 that
// clients may read otherwise. And every schema that is published is valid for its dialect.
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { databasePath } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { addPlugin, modern, pluginFile, startBridge, untilTool } from "./support/mcp.mjs";
import { runCauseway, writeConfig } from "./support/programs.mjs";
import { get } from "./support/rest.mjs";
import { eventually } from "./support/server.mjs";
import { writeOpenRpc } from "./support/service.mjs";

const dialect = "http://json-schema.org/draft-07/schema#";

async function start(t, options) {
    const server = await startBridge({ plugins: [], roles: { anonymous: all }, ...options });
    t.after(() => server.stop());
    return server;
}
const all = ["access mcp tool discovery", "use jsonrpc services", "access content", "administer site"];
const lines = (server, text) => server.stderr.split("\n").filter((line) => line.includes(text));
const schemaText = "means something else in 2020-12";
const scopeText = "an unknown scope";

suite("in the log", () => {
    test("row-D20, fault-B22: an unknown scope is named once, with its source and method", async (t) => {
        // Callers can log in, so that a tool with scopes is listed.
        const server = await start(t, { config: { store: { path: databasePath() } } });
        addPlugin(server.plugins, "reviewed");
        await untilTool(server, "reviewed.scope");
        await eventually(() => lines(server, scopeText).length > 0, "the warning");
        const [line, ...more] = lines(server, scopeText);
        assert.deepEqual(more, []);
        assert.match(line, / warn sources: .*source="?reviewed"? method="?reviewed\.scope"? scope="?content:all/);
        // Another catalogue with the same source says nothing new.
        addPlugin(server.plugins, "echo");
        await untilTool(server, "test.echo");
        assert.equal(lines(server, scopeText).length, 1);
    });

    test("a draft-07 schema that 2020-12 reads otherwise is named with pointer and keyword", async (t) => {
        const server = await start(t);
        addPlugin(server.plugins, "reviewed");
        await untilTool(server, "reviewed.old");
        // Lines are written by a thread of their own.
        await eventually(() => lines(server, schemaText).length >= 5, "the warnings");
        const found = lines(server, schemaText).map((line) => {
            const [, schema, pointer, keyword] =
                / schema=(\S+) pointer=(\S+) keyword=(\S+)/.exec(line) ?? assert.fail(line);
            assert.match(line, /source="?reviewed"? method="?reviewed\.old/);
            return [schema, pointer, keyword].map((text) => text.replaceAll('"', ""));
        });
        assert.deepEqual(found, [
            ["(result)", "/dependencies", "dependencies"],
            ["(result)", "/properties/n/minimum", "minimum"],
            ["pair", "/items", "items"],
            ["pair", "/additionalItems", "additionalItems"],
            ["newer", "", "$schema"],
        ]);
    });

    test("a permission of an overlay that no role has is named with a suggestion", async (t) => {
        const overlay = path.join(keepFolder(), "shop.overlay.yaml");
        const methods = [
            "{method: add, permissions: [access contents]}",
            "{method: echo, permissions: [access content]}",
            "{method: fail, permissions: [entirely different]}",
        ];
        writeFileSync(overlay, `methods:\n${methods.map((line) => `  - ${line}\n`).join("")}`);
        const source = { name: "shop", url: "http://127.0.0.1:9/", openrpc: writeOpenRpc(), overlay };
        const server = await start(t, { config: { sources: [source] } });
        await untilTool(server, "echo");
        const text = "a permission that no role has";
        await eventually(() => lines(server, text).length >= 2, "the warnings");
        const [first, second, ...more] = lines(server, text);
        assert.deepEqual(more, []);
        const of = (line, method) =>
            assert.match(line, new RegExp(` warn sources: .*source="?shop"? method="?${method}"? `));
        of(first, "add");
        assert.match(first, / permission="access contents" suggestion="access content"$/);
        of(second, "fail");
        assert.match(second, / permission="entirely different"$/);
    });

    test("fault-B22: what access.scopes names is known", async (t) => {
        const config = { access: { scopes: ["content:all"] }, store: { path: databasePath() } };
        const server = await start(t, { config });
        addPlugin(server.plugins, "reviewed");
        await untilTool(server, "reviewed.scope");
        assert.deepEqual(lines(server, scopeText), []);
    });
});

suite("on the command line", () => {
    test("plugin check prints the warnings and succeeds", async () => {
        const { code, stdout } = await runCauseway(["plugin", "check", pluginFile("reviewed")]);
        assert.equal(code, 0);
        assert.match(stdout, /^warning: method 'reviewed\.scope': scope 'content:all' is not a known scope$/m);
        assert.match(stdout, /^warning: method 'reviewed\.old': param 'pair': \/items: an array/m);
        const json = await runCauseway(["plugin", "check", "--json", pluginFile("reviewed")]);
        assert.equal(JSON.parse(json.stdout).warnings.length, 6);
        const plain = await runCauseway(["plugin", "check", "--json", pluginFile("echo")]);
        assert.deepEqual(JSON.parse(plain.stdout).warnings, []);
    });

    test("schema check warns of draft-07 only, and where it matters only", async () => {
        const check = (schema) => runCauseway(["schema", "check", "-"], { input: JSON.stringify(schema) });
        const old = (schema) => check({ $schema: dialect, ...schema });
        const differing = {
            "/items": { items: [true] },
            "/dependencies": { dependencies: { a: ["b"] } },
            "/properties/items/items": { properties: { items: { items: [{}] } } },
            "/allOf/0/$id": { allOf: [{ $id: "#here" }] },
            "/not/maximum": { not: { $ref: "#/definitions/a", maximum: 3 }, definitions: { a: {} } },
            "/unevaluatedProperties": { unevaluatedProperties: false },
        };
        for (const [pointer, schema] of Object.entries(differing)) {
            const { code, stdout } = await old(schema);
            assert.equal(code, 0);
            assert.ok(stdout.startsWith(`-: warning: ${pointer}: `), `${pointer}: ${stdout}`);
            assert.ok(stdout.endsWith("-: ok\n"));
        }
        const same = [
            { items: { type: "string" }, additionalItems: false },
            { minContains: 2 },
            { $ref: "#/definitions/a", title: "t", definitions: { a: {} } },
            { properties: { dependencies: { const: { items: [1] } } } },
            { $id: "http://example.org/a#" },
        ];
        for (const schema of same) {
            assert.equal((await old(schema)).stdout, "-: ok\n", JSON.stringify(schema));
        }
        assert.equal((await check({ dependentRequired: { a: ["b"] } })).stdout, "-: ok\n");
    });
});

test("every schema that is published is valid for its dialect", async (t) => {
    const names = ["checked", "echo", "faults", "hidden", "reviewed"];
    const server = await startBridge({ plugins: names, roles: { anonymous: all } });
    t.after(() => server.stop());
    for (const name of ["checked.order", "test.echo", "faults.ok", "reviewed.old"]) {
        await untilTool(server, name);
    }
    const ajv = { old: new Ajv({ strict: false }), fresh: new Ajv2020({ strict: false }) };
    const listed = await modern(server, "tools/list");
    const { json } = await get(server, "/mcp/tools/list");
    let n = 0;
    for (const tool of [...json.tools, ...listed.json.result.tools]) {
        for (const schema of [tool.inputSchema, tool.outputSchema]) {
            if (schema === undefined) {
                continue;
            }
            const engine = schema.$schema === dialect ? ajv.old : ajv.fresh;
            assert.ok(engine.validateSchema(schema), `${tool.name}: ${engine.errorsText()}`);
            n += 1;
        }
    }
    assert.ok(n > 20, `${n} schemas`);
});

test("a configured scope must be one", async () => {
    const config = writeConfig({ access: { scopes: ["two words"] } });
    const { code, stderr } = await runCauseway(["config", "check", config]);
    assert.equal(code, 2);
    assert.match(stderr, /access\.scopes/);
});
