// Schemas as every model API accepts them: the shown schema of a tool accepts each value that its checked schema
// accepts, for readers of both drafts, and breaks no rule of the APIs.
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import Ajv from "ajv";
import Ajv2020 from "ajv/dist/2020.js";
import { checkTools, describe, subschemas, toolsOfList } from "../clients/rules.mjs";
import {
    assertToolError,
    callTool,
    callToolWell,
    metaKey,
    modern,
    permissions,
    reloadBridge,
    startBridge,
} from "./support/mcp.mjs";
import { buildFolder } from "./support/programs.mjs";
import { draft07, makeMethod, makePortable, makeValue, randomFrom } from "./support/schema-samples.mjs";
import { eventually } from "./support/server.mjs";
import { openRpc, startService, writeOpenRpc } from "./support/service.mjs";
import { freePort } from "./support/ports.mjs";

const options = { strict: false, validateFormats: false, logger: false, inlineRefs: false, validateSchema: false };
const exactClient = { meta: { [metaKey("clientInfo")]: { name: "exact", version: "1" } } };

// ---- readers ----

// Draft-07 ignores the siblings of a reference, which Ajv does not.
function withoutSiblings(schema) {
    const copy = structuredClone(schema);
    for (const [, one] of subschemas(copy)) {
        const ignored =
            "$ref" in one ? Object.keys(one).filter((key) => !/^(\$ref|definitions|\$defs)$/.test(key)) : [];
        ignored.forEach((key) => delete one[key]);
        // Keywords of 2020-12, for a reader that has a part of them.
        delete one.dependentRequired;
        delete one.dependentSchemas;
    }
    return copy;
}

const read2020 = (schema) => new Ajv2020(options).compile({ ...schema, $schema: undefined });
const read07 = (schema) => new Ajv(options).compile({ ...withoutSiblings(schema), $schema: undefined });
const readChecked = (schema) => (schema.$schema === draft07 ? read07(schema) : read2020(schema));

function tryCompile(read, schema) {
    try {
        return read(schema);
    } catch {
        return undefined;
    }
}

// ---- the server ----

async function startWith(methods) {
    const document = { openrpc: "1.3.2", info: { title: "t", version: "1" }, methods };
    const source = {
        name: "samples",
        url: `http://127.0.0.1:${await freePort()}/rpc`,
        openrpc: writeOpenRpc(document),
        methods: ["*"],
    };
    const config = { sources: [source], mcp: { clients: [{ name: "exact", schemas: "exact" }] } };
    return await startBridge({ plugins: [], config });
}

async function list(server, how) {
    const tools = [];
    let cursor;
    do {
        const { json } = await modern(server, "tools/list", cursor === undefined ? {} : { cursor }, how);
        tools.push(...json.result.tools);
        cursor = json.result.nextCursor;
    } while (cursor !== undefined);
    return tools;
}

// [checked, shown] of each tool.
async function schemasOf(server) {
    const shown = new Map((await list(server)).map((tool) => [tool.name, tool]));
    return (await list(server, exactClient)).map((tool) => [tool, shown.get(tool.name)]);
}

// ---- names ----

// Shown names by own names: the order of properties tells which is which.
function renamed(checked, shown) {
    const others = Object.keys(shown.properties).filter((name) => !(name in (checked.properties ?? {})));
    return (name) => {
        const plain = name.replace(/[^a-zA-Z0-9_.-]+/g, "_").replace(/^[^a-zA-Z0-9]+/, "");
        return /^[a-zA-Z0-9_.-]{1,64}$/.test(name) || !others.some((one) => one.startsWith(plain))
            ? name
            : (others.find((one) => one === plain) ?? others.find((one) => one.startsWith(`${plain}_`)));
    };
}

const rename = (value, toShown) => Object.fromEntries(Object.entries(value).map(([name, v]) => [toShown(name), v]));

// ---- what a schema exercises ----

const inRoot = (key) => (schema) => key in schema;
const anywhere = (matches) => (schema) => [...subschemas(schema)].some(([place, one]) => matches(one, place));
const isOld = (schema) => schema.$schema === draft07;

const features = {
    "anyOf at the top": inRoot("anyOf"),
    "oneOf at the top": inRoot("oneOf"),
    "allOf at the top": inRoot("allOf"),
    "not at the top": inRoot("not"),
    "if at the top": inRoot("if"),
    "$ref at the top": inRoot("$ref"),
    "dependentSchemas at the top": inRoot("dependentSchemas"),
    "unevaluatedProperties beside anyOf": (schema) => "unevaluatedProperties" in schema && "anyOf" in schema,
    reference: anywhere((one, place) => "$ref" in one && place[0] === "properties"),
    "draft-07 tuple": anywhere((one) => Array.isArray(one.items)),
    "draft-07 reference with siblings": (schema) =>
        isOld(schema) && anywhere((one) => "$ref" in one && Object.keys(one).length > 1)(schema),
    "draft-07 dependencies": anywhere((one) => "dependencies" in one),
    prefixItems: (schema) => !isOld(schema) && anywhere((one) => "prefixItems" in one)(schema),
    "contains from 0": anywhere((one) => one.minContains === 0),
    "array without items": anywhere((one) => [one.type].flat().includes("array") && !("items" in one)),
    "list of types": anywhere((one) => Array.isArray(one.type)),
    "enum without type": anywhere((one) => "enum" in one && !("type" in one)),
    "negation of what drafts read differently": (schema) =>
        !isOld(schema) &&
        anywhere(({ not, if: when }) => not?.prefixItems || when?.prefixItems || when?.contains)(schema),
    "unusual name": (schema) => Object.keys(schema.properties ?? {}).some((name) => !/^[\w.-]+$/.test(name)),
};

// A schema that leads to itself for ever is a stack that overflows.
function isAccepted(accepts, value) {
    try {
        return accepts(value);
    } catch (error) {
        assert.ok(error instanceof RangeError, error);
        return false;
    }
}

// Check values against a pair of schemas; the number of values that the checked one accepts.
function compare(checkedTool, shownTool, values) {
    const checked = checkedTool.inputSchema;
    const shown = shownTool.inputSchema;
    const accepts = tryCompile(readChecked, checked);
    if (accepts === undefined) {
        return 0;
    }
    const toShown = renamed(checked, shown);
    const readers = { "2020-12": read2020(shown), "draft-07": read07(shown) };
    const valid = values.filter((value) => isAccepted(accepts, value));
    for (const value of valid) {
        const asShown = rename(value, toShown);
        for (const [draft, reads] of Object.entries(readers)) {
            assert.ok(
                reads(asShown),
                `${draft} rejects ${JSON.stringify(asShown)}: ${JSON.stringify(reads.errors)}\n` +
                    `checked: ${JSON.stringify(checked)}\nshown: ${JSON.stringify(shown)}`,
            );
        }
    }
    return valid.length;
}

const schemaRules = new Set(["top level", "tuple", "array without items", "property names", "references"]);

function assertRules(tools) {
    const breaches = checkTools(toolsOfList(tools)).filter(({ rule }) => schemaRules.has(rule));
    assert.deepEqual(breaches.map(describe), []);
    for (const { name, inputSchema } of tools) {
        const [place] = [...subschemas(inputSchema)].find(([, { type }]) => Array.isArray(type)) ?? [];
        assert.equal(place, undefined, `${name}: a list of types at ${place?.join("/")}`);
    }
}

suite("the shown schema", () => {
    const random = randomFrom(20261116);
    const methods = [
        ...Array.from({ length: 400 }, (_, i) => makeMethod(random, `m${i}`)),
        ...Array.from({ length: 50 }, (_, i) => makePortable(random, `portable${i}`)),
    ];
    let server;
    let pairs;
    before(async () => {
        server = await startWith(methods);
        pairs = await schemasOf(server);
        assert.ok(pairs.length > 0.95 * methods.length, `${pairs.length} tools`);
    });
    after(() => server?.stop());

    test("accepts each value that the checked schema accepts", () => {
        const counts = Object.fromEntries(Object.keys(features).map((name) => [name, 0]));
        for (const [checked, shown] of pairs) {
            const values = Array.from({ length: 30 }, () => makeValue(random, checked.inputSchema));
            const n = compare(checked, shown, values);
            for (const [name, has] of Object.entries(features)) {
                counts[name] += has(checked.inputSchema) ? n : 0;
            }
        }
        for (const [name, n] of Object.entries(counts)) {
            assert.ok(n >= 50, `${n} values for: ${name}`);
        }
    });

    test("breaks no rule of model APIs", () => {
        assertRules(pairs.map(([, shown]) => shown));
        assert.ok(checkTools(toolsOfList(pairs.map(([checked]) => checked))).length > 300);
    });

    test("is the checked one, byte for byte, where that is portable", () => {
        const same = pairs.filter(([{ name }]) => name.startsWith("portable"));
        assert.equal(same.length, 50);
        for (const [checked, shown] of same) {
            assert.equal(JSON.stringify(shown.inputSchema), JSON.stringify(checked.inputSchema));
            assert.equal(shown.description, checked.description);
        }
    });
});

// Semantic Kernel takes one word for a type, and fails on a list.
test("a list of types accepts and rejects the same values as an anyOf", async (t) => {
    const schemas = [
        { type: ["array", "object"] },
        { type: ["string", "null"], minLength: 2, pattern: "^a" },
        { type: ["integer", "number", "string"], minimum: 2, multipleOf: 0.5, maxLength: 1 },
        { type: ["array", "null"], items: { type: ["integer", "boolean"] }, minItems: 1, uniqueItems: true },
        { type: ["object", "string"], properties: { a: { type: ["null", "string"] } }, additionalProperties: false },
        { type: ["object", "array"], required: ["a"], contains: { type: "string" }, maxProperties: 1 },
        { type: ["string", "number"], enum: ["aa", 2, null, [1]] },
        { type: ["string", "object"], anyOf: [{ minLength: 2 }, { required: ["a"] }], oneOf: [{ maxLength: 3 }] },
        { not: { type: ["string", "array"], maxLength: 1, maxItems: 1 } },
        { type: ["boolean", "integer"], if: { type: ["boolean", "null"] }, else: { minimum: 2 } },
    ];
    const values = [null, true, false, 0, 1, 2, 2.25, 2.5, "", "a", "aa", "ab", "baaa", [], [1], [1, 1], [true, 2]];
    values.push(["a"], ["a", "b"], {}, { a: null }, { a: "x" }, { a: 1 }, { b: 1 }, { a: "x", b: 1 });
    const server = await startWith(schemas.map((schema, i) => ({ name: `m${i}`, params: [{ name: "p", schema }] })));
    t.after(() => server.stop());
    const pairs = await schemasOf(server);
    assert.equal(pairs.length, schemas.length);
    assertRules(pairs.map(([, shown]) => shown));
    for (const [{ inputSchema: checked }, { inputSchema: shown }] of pairs) {
        const readers = [readChecked(checked), read2020(shown), read07(shown)];
        const accepted = readers.map((reads) => values.filter((p) => reads({ p })).map((p) => JSON.stringify(p)));
        assert.ok(accepted[0].length > 0 && accepted[0].length < values.length, JSON.stringify(checked));
        assert.deepEqual(accepted[1], accepted[0], JSON.stringify(shown));
        assert.deepEqual(accepted[2], accepted[0], JSON.stringify(shown));
    }
});

const folder = path.join(process.env.CAUSEWAY_TEST_DATA ?? "", "json-schema-test-suite", "tests");
const skip = process.env.CAUSEWAY_TEST_DATA && existsSync(folder) ? false : "no suite: set CAUSEWAY_TEST_DATA";

suite("schemas of the JSON Schema suite", { skip }, () => {
    // Each schema as that of a parameter, with the values that the suite has for it.
    function methodsOf(draft) {
        return globSync(`${draft}/*.json`, { cwd: folder }).flatMap((file) =>
            JSON.parse(readFileSync(path.join(folder, file), "utf8"))
                // Sources reject control characters and hidden text.
                .filter(
                    ({ schema }) =>
                        typeof schema === "object" && !/\\[bfnrtu]|[^\x20-\x7e]/.test(JSON.stringify(schema)),
                )
                .map(({ schema, tests }, i) => ({
                    name: `${draft === "draft7" ? "old" : "new"}.${path.basename(file, ".json")}${i}`,
                    schema: draft === "draft7" ? { $schema: draft07, ...schema } : schema,
                    values: tests.map(({ data }) => ({ p: data })),
                })),
        );
    }

    test("accept what they accepted", async (t) => {
        const cases = [...methodsOf("draft7"), ...methodsOf("draft2020-12")];
        const methods = cases.map(({ name, schema }) => ({ name, params: [{ name: "p", schema }] }));
        const server = await startWith(methods);
        t.after(() => server.stop());
        const pairs = await schemasOf(server);
        const byName = new Map(cases.map((one) => [one.name.replaceAll(".", "__"), one]));
        let n = 0;
        for (const [checked, shown] of pairs) {
            n += compare(checked, shown, byName.get(shown.name).values);
        }
        assert.ok(n > 800, `${n} values`);
        assertRules(pairs.map(([, shown]) => shown));
    });
});

suite("lists of plugins", () => {
    const examples = { plugins: [], config: { plugins: { directory: path.join(buildFolder, "plugins") } } };
    const started = [
        ["examples", examples],
        ...["echo", "checked", "conformance", "faults"].map((name) => [name, { plugins: [name] }]),
    ];
    for (const [plugin, how] of started) {
        test(`break no rule: ${plugin}`, async (t) => {
            const server = await startBridge({ ...how, roles: { anonymous: permissions } });
            t.after(() => server.stop());
            let tools = [];
            await eventually(async () => (tools = await list(server)).length > 0, "tools in the list");
            assert.deepEqual(checkTools(toolsOfList(tools)).map(describe), []);
        });
    }
});

suite("properties under portable names", { concurrency: true }, () => {
    const params = [
        { name: "$x", required: true, schema: { type: "integer", minimum: 1 } },
        { name: "a/b", schema: { type: "object", properties: { c: { type: "string" } } } },
        { name: "plain", schema: { type: "string" } },
    ];
    async function start(t) {
        const service = await startService();
        const document = openRpc();
        const echo = document.methods.find(({ name }) => name === "echo");
        Object.assign(echo, { params, "x-input": { dependentRequired: { plain: ["a/b"] } } });
        const source = { name: "s", url: service.url, openrpc: writeOpenRpc(document), methods: ["echo"] };
        const config = { sources: [source], mcp: { clients: [{ name: "exact", schemas: "exact" }] } };
        const server = await startBridge({ plugins: [], config });
        t.after(() => server.stop());
        return { server, service };
    }

    test("are shown, accepted, and in messages", async (t) => {
        const { server, service } = await start(t);
        const [{ inputSchema }] = await list(server);
        assert.deepEqual(Object.keys(inputSchema.properties), ["x", "a_b", "plain"]);
        assert.deepEqual(inputSchema.required, ["x"]);
        assert.deepEqual(inputSchema.dependentRequired, { plain: ["a_b"] });
        for (const args of [
            { x: 5, a_b: { c: "$x" } },
            { $x: 5, "a/b": { c: "$x" } },
        ]) {
            await callToolWell(server, "echo", args);
            assert.deepEqual(service.calls.at(-1).params, { $x: 5, "a/b": { c: "$x" } });
        }
        // Null for what was left out, after the names.
        await callToolWell(server, "echo", { x: 5, a_b: null });
        assert.deepEqual(service.calls.at(-1).params, { $x: 5 });
        const problems = [
            [{}, /Missing required parameter: x$/],
            [{ x: 0 }, /^\/x: expected/],
            [{ x: "$x" }, /^\/x: expected integer, got string/],
            [{ x: 1, a_b: { c: 1 } }, /^\/a_b\/c: expected string/],
            [{ x: 1, plain: "p" }, /missing property 'a_b', which 'plain' requires/],
            [{ x: 1, $y: 1 }, /Unknown parameter: \$y; did you mean x\?/],
            [{ x: 1, $x: 1 }, /two names/],
        ];
        for (const [args, pattern] of problems) {
            const answer = await callTool(server, "echo", args);
            assertToolError(answer);
            assert.match(answer.json.result.content[0].text, pattern);
        }
    });

    test("are shown after a reload that changes only mcp.schemas", async (t) => {
        const params = [{ name: "x y", schema: { type: "string" } }];
        const openrpc = writeOpenRpc({
            openrpc: "1.3.2",
            info: { title: "t", version: "1" },
            methods: [{ name: "echo", params }],
        });
        const sources = [{ name: "shop", url: "http://127.0.0.1:1/rpc", openrpc, methods: ["*"] }];
        const server = await startBridge({ plugins: [], config: { sources, mcp: { schemas: "exact" } } });
        t.after(() => server.stop());
        const shown = async () =>
            (await modern(server, "tools/list")).json.result.tools.flatMap((tool) =>
                Object.keys(tool.inputSchema.properties),
            );
        await eventually(async () => (await shown())[0] === "x y", "the exact schema");
        await reloadBridge(server, { mcp: { schemas: "portable" } });
        await eventually(async () => (await shown())[0] === "x_y", "the portable schema");
    });

    test("are unknown to clients with exact schemas", async (t) => {
        const { server } = await start(t);
        const [{ inputSchema }] = await list(server, exactClient);
        assert.deepEqual(Object.keys(inputSchema.properties), ["$x", "a/b", "plain"]);
        assertToolError(await callTool(server, "echo", { x: 5 }, exactClient), /Missing|Unknown/);
        const answer = await callTool(server, "echo", { $x: 0 }, exactClient);
        assert.match(answer.json.result.content[0].text, /^\/\$x: expected/);
    });
});
