// The rule checker: each rule of each API, with a tool that keeps it and one that breaks it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { suite, test } from "node:test";
import { apiNames, checkTools, subschemas, toolsOfList } from "./rules.mjs";

const object = (properties = {}, more = {}) => ({ type: "object", properties, ...more });
const tool = (name, schema = object(), more = {}) => ({ name, schema, ...more });
const rulesBroken = (tools, api) => checkTools([tools].flat(), api).map(({ rule }) => rule);
const breaks = (one, api, rule) => assert.deepEqual(rulesBroken(one, api), [rule]);
const keeps = (one, ...apis) => apis.forEach((api) => assert.deepEqual(rulesBroken(one, api), []));

test("a plain tool keeps every rule", () => {
    const schema = object({ nid: { type: "integer" }, tags: { type: "array", items: { type: "string" } } });
    assert.deepEqual(checkTools([tool("examples__article__toMarkdown", schema)]), []);
});

suite("names", () => {
    test("a dot is for Gemini only", () => {
        const broken = checkTools([tool("a.b")]).map(({ api, rule }) => `${api}: ${rule}`);
        assert.deepEqual(broken, [
            "openai-chat: tool name",
            "openai-responses: tool name",
            "anthropic: tool name",
            "claude-desktop: tool name",
        ]);
    });

    test("a breach names the tool", () => {
        const [breach] = checkTools([tool("fine"), tool("not.fine")], "openai-chat");
        assert.equal(breach.tool, "not.fine");
        assert.match(breach.text, /not\.fine.*pattern/);
    });

    for (const [api, most] of [
        ["openai-chat", 64],
        ["anthropic", 128],
        ["claude-desktop", 64],
        ["gemini", 64],
        ["prefixes", 48],
    ]) {
        test(`${api} accepts ${most} characters and no more`, () => {
            keeps(tool("x".repeat(most)), api);
            assert.equal(rulesBroken(tool("x".repeat(most + 1)), api).length, 1);
        });
    }

    test("the first character counts for Gemini, Kimi and Grok CLI", () => {
        breaks(tool("1a"), "gemini", "tool name");
        keeps(tool("_a"), "gemini", "openai-chat", "anthropic");
        breaks(tool("_a"), "kimi", "tool name");
        breaks(tool("1a"), "kimi", "tool name");
        breaks(tool("_a"), "grok-cli", "tool name");
    });

    test("an empty name breaks the pattern of every API but Grok CLI's length rules", () => {
        for (const api of ["openai-chat", "openai-responses", "anthropic", "claude-desktop", "gemini", "kimi"]) {
            assert.ok(rulesBroken(tool(""), api).includes("tool name"), api);
        }
    });

    test("a repeated name is refused by Anthropic and Gemini", () => {
        breaks([tool("a"), tool("a")], "anthropic", "unique names");
        breaks([tool("a"), tool("a")], "gemini", "unique names");
        keeps([tool("a"), tool("a")], "openai-chat");
    });
});

test("OpenAI accepts 128 tools", () => {
    const many = (count) => Array.from({ length: count }, (_, i) => tool(`t${i}`));
    keeps(many(128), "openai-chat", "openai-responses");
    breaks(many(129), "openai-chat", "tools in a request");
    keeps(many(500), "anthropic", "gemini");
});

suite("schemas", () => {
    test("the top level is an object without combinators", () => {
        for (const key of ["oneOf", "anyOf", "allOf"]) {
            const one = tool("a", object({}, { [key]: [{ required: [] }] }));
            breaks(one, "openai-chat", "top level");
            breaks(one, "openai-responses", "top level");
            breaks(one, "anthropic", "top level");
            keeps(one, "gemini");
        }
        breaks(tool("a", object({}, { not: {} })), "openai-chat", "top level");
        keeps(tool("a", object({}, { not: {} })), "anthropic");
        breaks(tool("a", { properties: {} }), "openai-chat", "top level");
        breaks(tool("a", { properties: {} }), "anthropic", "top level");
        keeps(tool("a", object({ deep: { anyOf: [{ type: "string" }] } })), "openai-chat", "anthropic", "gemini");
    });

    test("a draft-07 tuple is refused by OpenAI and Anthropic, at any depth", () => {
        const tuple = { type: "array", items: [{ type: "string" }] };
        for (const schema of [object({ a: tuple }), object({ a: { anyOf: [object({ b: tuple })] } })]) {
            breaks(tool("a", schema), "openai-chat", "tuple");
            breaks(tool("a", schema), "anthropic", "tuple");
            keeps(tool("a", schema), "gemini");
        }
        const modern = { type: "array", prefixItems: [{ type: "string" }], items: { type: "string" } };
        keeps(tool("a", object({ a: modern })), "openai-chat", "anthropic");
    });

    test("Anthropic validates against 2020-12 whatever $schema is", () => {
        const $schema = "http://json-schema.org/draft-07/schema#";
        keeps(tool("a", object({}, { $schema })), "anthropic");
        breaks(tool("a", object({ a: { items: [{}] } }, { $schema })), "anthropic", "tuple");
        breaks(tool("a", object({ a: { type: "text" } })), "anthropic", "tuple");
    });

    test("an array without items is refused by OpenAI", () => {
        const one = tool("a", object({ list: { type: ["array", "null"] } }));
        breaks(one, "openai-chat", "array without items");
        assert.match(checkTools([one], "openai-chat")[0].text, /'properties', 'list'/);
        keeps(one, "anthropic", "gemini");
        keeps(tool("a", object({ list: { type: "array", items: {} } })), "openai-chat");
    });

    test("names of properties at the top count for Anthropic", () => {
        breaks(tool("a", object({ $x: {} })), "anthropic", "property names");
        breaks(tool("a", object({ ["x".repeat(65)]: {} })), "anthropic", "property names");
        keeps(tool("a", object({ "a.b-c_d": {}, deep: object({ $x: {} }) })), "anthropic");
        keeps(tool("a", object({ $x: {} })), "openai-chat", "gemini");
    });

    test("references lead to definitions at the top for Gemini", () => {
        const $defs = { one: { type: "string" } };
        keeps(tool("a", object({ a: { $ref: "#/$defs/one" } }, { $defs })), "gemini", "anthropic");
        const inner = object({ a: { $ref: "#/properties/b/$defs/one" }, b: { $defs } });
        breaks(tool("a", inner), "gemini", "references");
        keeps(tool("a", inner), "anthropic");
    });

    test("strict mode wants every property required and no others", () => {
        const strict = (schema) => tool("a", schema, { strict: true });
        const whole = { additionalProperties: false, required: ["a"] };
        keeps(strict(object({ a: { type: "string" } }, whole)), "openai-chat", "openai-responses");
        breaks(strict(object({ a: {} }, { required: ["a"] })), "openai-chat", "strict mode");
        breaks(strict(object({ a: {}, b: {} }, whole)), "openai-responses", "strict mode");
        breaks(strict(object({ a: { $ref: "#/properties/a" } }, whole)), "openai-chat", "strict mode");
        keeps(tool("a", object({ a: {}, b: {} })), "openai-chat");
    });
});

test("every schema inside a schema is visited", () => {
    const leaf = { title: "leaf" };
    const schema = {
        properties: { a: leaf },
        patternProperties: { b: leaf },
        $defs: { c: leaf },
        items: leaf,
        prefixItems: [leaf],
        not: leaf,
        if: leaf,
        allOf: [{ additionalProperties: leaf }],
    };
    const places = [...subschemas(schema)].filter(([, one]) => one.title === "leaf").map(([place]) => place.join("/"));
    assert.deepEqual(places, [
        "properties/a",
        "patternProperties/b",
        "$defs/c",
        "allOf/0/additionalProperties",
        "prefixItems/0",
        "items",
        "not",
        "if",
    ]);
    assert.deepEqual([...subschemas({ properties: { not: true } })].length, 1);
});

suite("the command", () => {
    const file = path.join(import.meta.dirname, "rules.mjs");
    const run = (list) => {
        const { status, stdout } = spawnSync(process.execPath, [file, "-"], {
            input: JSON.stringify(list),
            encoding: "utf8",
        });
        return { status, lines: stdout.trim().split("\n") };
    };

    test("prints each breach and exits with 1", () => {
        const { status, lines } = run({
            jsonrpc: "2.0",
            id: 1,
            result: { tools: [{ name: "a.b", inputSchema: object() }] },
        });
        assert.equal(status, 1);
        assert.equal(lines.length, 5);
        assert.match(lines[0], /^openai-chat: tool name: a\.b: /);
        assert.equal(lines[4], "1 tools, 4 breaches");
    });

    test("exits with 0 for a list that keeps all rules", () => {
        const { status, lines } = run([{ name: "a", inputSchema: object() }]);
        assert.equal(status, 0);
        assert.deepEqual(lines, ["1 tools, 0 breaches"]);
    });

    test("a response without tools is an error", () => {
        assert.throws(() => toolsOfList({ result: {} }), /no list of tools/);
        assert.notEqual(run({ result: {} }).status, 0);
    });
});

test("the APIs are the ones that the documentation lists", () => {
    assert.deepEqual(apiNames, [
        "openai-chat",
        "openai-responses",
        "anthropic",
        "claude-desktop",
        "gemini",
        "kimi",
        "grok-cli",
        "prefixes",
    ]);
});
