// The forms of the console: fields from any JSON Schema, and JSON text that is what was typed.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { parse, pretty, write } from "../../console/json.mjs";
import { decode, encode, fieldOf } from "../../console/form.mjs";
import { assertForms, methodsOf, validate } from "./support/forms.mjs";
import { makeMethod, makePortable, makeValue, randomFrom } from "./support/schema-samples.mjs";

const typed = (schema, input) => {
    const problems = [];
    const text = encode(fieldOf(schema), input, "", problems);
    return problems.length ? problems : text;
};
const object = (properties, required = []) => ({ type: "object", properties, required });

suite("exact JSON", () => {
    test("numbers keep their text, and objects the order of their names", () => {
        for (const text of [
            "9007199254740993",
            "1.10",
            "-0",
            "1e400",
            '{"2":1,"1":2,"__proto__":3}',
            '[1.0,{"a":[]}]',
            '"\\ud800"',
        ]) {
            assert.equal(write(parse(text)), text);
        }
        assert.equal(pretty('{"a":[1.50,{}]}'), '{\n  "a": [\n    1.50,\n    {}\n  ]\n}');
    });

    test("mistakes are reported with line and column", () => {
        for (const text of ["", "{", "[1,]", "{a:1}", "01", "1 2", '"\n"', "nul", "[1 2]"]) {
            assert.throws(() => parse(text), /^SyntaxError: line \d+, column \d+: expected/, JSON.stringify(text));
        }
        assert.throws(() => parse("[".repeat(1000)), /fewer levels/);
    });
});

suite("fields", () => {
    const kinds = (schema) => {
        const field = fieldOf(schema);
        return field.kind === "group" ? Object.fromEntries(field.fields.map((f) => [f.name, f.kind])) : field.kind;
    };

    test("types, choices, references and unions have fields; all else is JSON", () => {
        const schema = {
            ...object({
                text: { type: "string" },
                count: { $ref: "#/$defs/count" },
                flag: { type: "boolean" },
                word: { enum: ["a", 1, null] },
                titled: { oneOf: [{ const: 1, title: "one" }, { const: 2 }] },
                maybe: { anyOf: [{ type: "number" }, { type: "null" }] },
                both: { allOf: [object({ a: { type: "string" } }), object({ b: { type: "string" } })] },
                rows: { type: "array", items: { type: "string" } },
                names: { type: "object", additionalProperties: { type: "integer" } },
                pet: {
                    oneOf: [
                        object({ kind: { const: "cat" }, age: { type: "integer" } }, ["kind"]),
                        object({ kind: { const: "dog" } }, ["kind"]),
                    ],
                },
                node: { $ref: "#/$defs/node" },
                pair: { type: "array", prefixItems: [{}, {}] },
                any: {},
                mixed: { type: ["string", "integer"] },
                odd: { type: "object", patternProperties: { x: {} } },
                clash: { allOf: [{ type: "string" }, { type: "integer" }] },
            }),
            $defs: { count: { type: "integer" }, node: object({ next: { $ref: "#/$defs/node" } }) },
        };
        assert.deepEqual(kinds(schema), {
            text: "text",
            count: "number",
            flag: "boolean",
            word: "choice",
            titled: "choice",
            maybe: "number",
            both: "group",
            rows: "list",
            names: "map",
            pet: "union",
            node: "group",
            pair: "json",
            any: "json",
            mixed: "json",
            odd: "json",
            clash: "json",
        });
        assert.equal(fieldOf(schema).fields.find((f) => f.name === "node").fields[0].kind, "json");
    });

    test("a schema of any size has at most 200 fields and 6 levels before JSON takes over", () => {
        const wide = fieldOf(
            object(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`p${i}`, { type: "string" }]))),
        );
        assert.equal(wide.fields.filter((f) => f.kind === "text").length, 199);
        let deep = { type: "string" };
        for (let i = 0; i < 20; i++) deep = object({ in: deep });
        let level = 0;
        for (let at = fieldOf(deep); at.kind === "group"; at = at.fields[0]) level++;
        assert.equal(level, 7);
    });

    test("what is typed is sent: exact numbers, left out fields, null and empty text", () => {
        const schema = object(
            {
                n: { type: "number" },
                s: { type: "string" },
                b: { type: "boolean" },
                m: { type: ["integer", "null"] },
                c: { enum: [1, "1", 1.5] },
            },
            ["n"],
        );
        assert.equal(typed(schema, { n: "9007199254740993" }), '{"n":9007199254740993}');
        assert.equal(typed(schema, { n: "1.10", s: "", b: "", m: null, c: 1 }), '{"n":1.10,"m":null,"c":"1"}');
        assert.equal(
            typed(schema, { n: "1e3", s: { empty: true }, b: "false", c: 2 }),
            '{"n":1e3,"s":"","b":false,"c":1.5}',
        );
        assert.deepEqual(typed(schema, { n: "" }), [{ pointer: "/n", message: "A value is required." }]);
        assert.match(typed(schema, { n: "0x10" })[0].message, /no number/);
        assert.match(typed(object({ j: {} }), { j: "{" })[0].message, /no JSON: line 1/);
    });

    test("numbers in a choice are exact too", () => {
        const field = fieldOf({ enum: [parse("9007199254740993")] });
        assert.equal(encode(field, 0), "9007199254740993");
    });
});

// Values go into the form and come out as the same text; what the form cannot show stays JSON.
function assertRoundTrip(schema, text, label) {
    const value = parse(text);
    const field = fieldOf(schema);
    const input = decode(field, value);
    if (input === undefined) return false;
    const problems = [];
    const out = encode(field, input, "", problems);
    assert.deepEqual(problems, [], label);
    assert.deepEqual(JSON.parse(out), JSON.parse(text), label);
    const numbers = (t) => (t.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d[\d.eE+-]*/g) ?? []).sort();
    assert.deepEqual(numbers(out), numbers(text), label);
    return true;
}

// Schemas of arguments, hostile and plain ones in turn.
function* generated(random) {
    for (let i = 0; ; i++) {
        const { params } = (i % 2 ? makePortable : makeMethod)(random, `m${i}`);
        for (const { schema } of params) yield schema;
    }
}

test("200 generated schemas: a value goes through the form unchanged, and the validator answers the same", async () => {
    const random = randomFrom(20);
    const pairs = [];
    let shown = 0;
    let count = 0;
    for (const schema of generated(random)) {
        if (count++ === 200) break;
        const texts = Array.from({ length: 5 }, () => JSON.stringify(makeValue(random, schema)));
        for (const text of texts) {
            if (!assertRoundTrip(schema, text, JSON.stringify({ schema, text }))) continue;
            const field = fieldOf(schema);
            const typedIn = encode(field, decode(field, parse(text)));
            for (const one of [text, typedIn]) pairs.push({ schema: JSON.stringify(schema), text: one });
            shown++;
        }
    }
    const answers = await validate(pairs);
    for (let i = 0; i < pairs.length; i += 2) assert.equal(answers[i + 1], answers[i], JSON.stringify(pairs[i]));
    assert.ok(shown > 300, `${shown} of 1000`);
    assert.ok(answers.filter((answer) => answer === "true").length > 300);
});

const data = process.env.CAUSEWAY_TEST_DATA;

test("every method of the public OpenRPC documents has a form, and the validator accepts what it sends", {
    skip: !data || !existsSync(path.join(data ?? "", "openrpc")),
}, async () => {
    const files = globSync(path.join(data, "openrpc", "**", "*.json"));
    const methods = files.flatMap((file) => methodsOf(JSON.parse(readFileSync(file, "utf8")), path.basename(file)));
    for (const { label, schema } of methods) {
        assert.equal(fieldOf(schema).fields?.length, Object.keys(schema.properties).length, label);
    }
    assert.equal(await assertForms(methods), methods.length);
    assert.ok(methods.length > 20, String(methods.length));
});

const deltaChat = spawnSync("deltachat-rpc-server", ["--openrpc"], { maxBuffer: 2 ** 24 });

test("Delta Chat: every method has a form, and the validator accepts what it sends", {
    skip: deltaChat.error && "deltachat-rpc-server is not installed",
}, async () => {
    const methods = methodsOf(JSON.parse(deltaChat.stdout), "Delta Chat");
    assert.ok(methods.length > 150, String(methods.length));
    assert.equal(await assertForms(methods), methods.length);
});
