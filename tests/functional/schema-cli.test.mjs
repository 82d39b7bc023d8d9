// causeway schema validate and check.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { newFolder } from "./support/plugins.mjs";
import { runCauseway } from "./support/programs.mjs";

const folder = newFolder("schema");

function write(name, content) {
    const file = path.join(folder, name);
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
    return file;
}

const schema = write("schema.json", {
    type: "object",
    properties: { nid: { type: "integer", minimum: 1 }, when: { format: "date" } },
    required: ["nid"],
    additionalProperties: false,
});
const good = write("good.json", { nid: 1 });
const bad = write("bad.json", `{"nid": "x",\n  "nids": 2}\n`);

const validate = (...args) => runCauseway(["schema", "validate", ...args]);

test("valid instances exit with 0, others with 1, each problem with its place", async () => {
    const first = await validate(schema, good);
    assert.equal(first.code, 0, first.stderr);
    assert.equal(first.stdout, `${good}: valid\n`);
    const { code, stdout } = await validate(schema, bad, good);
    assert.equal(code, 1);
    assert.deepEqual(stdout.split("\n"), [
        `${bad}:1:9: /nid: expected integer, got string`,
        `${bad}:2:11: /nids: unknown property 'nids'`,
        `${good}: valid`,
        "",
    ]);
});

test("broken schemas and unreadable files exit with 2", async () => {
    const broken = write("broken.json", { properties: { a: { type: "strin" } } });
    const results = [
        await validate(broken, good),
        await validate(schema, path.join(folder, "missing.json")),
        await validate(schema, write("text.json", "{")),
        await runCauseway(["schema", "check", broken, schema]),
        await validate(schema),
        await validate("--draft", "4", schema, good),
        await validate("--output", "xml", schema, good),
    ];
    for (const { code, stderr } of results) {
        assert.equal(code, 2, stderr);
        assert.match(stderr, /^causeway: /);
    }
    assert.match(results[0].stderr, /broken\.json: \/properties\/a\/type: /);
    assert.equal(results[3].stdout, `${schema}: ok\n`);
    assert.equal((await runCauseway(["schema", "check", schema])).code, 0);
});

test("formats assert only when asked to, drafts only change schemas without $schema", async () => {
    const dated = write("dated.json", { nid: 1, when: "soon" });
    assert.equal((await validate(schema, dated)).code, 0);
    assert.equal((await validate("--format-assertion", schema, dated)).code, 1);
    const tuple = write("tuple.json", { prefixItems: [{ type: "string" }] });
    const list = write("list.json", [1]);
    assert.equal((await validate(tuple, list)).code, 1);
    assert.equal((await validate("--draft=7", tuple, list)).code, 0);
});

test("output has the standard's formats", async () => {
    const parse = async (format) => JSON.parse((await validate("-o", format, schema, bad)).stdout);
    assert.deepEqual(await parse("flag"), { valid: false });
    for (const format of ["basic", "detailed"]) {
        const { valid, errors } = await parse(format);
        assert.equal(valid, false);
        assert.deepEqual(
            errors.map((error) => [error.keywordLocation, error.instanceLocation]),
            [
                ["/properties/nid/type", "/nid"],
                ["/additionalProperties", "/nids"],
            ],
        );
    }
});

test("lines of schema and instance are answered line by line", async () => {
    const lines = [
        { schema: { type: "string" }, instance: "x" },
        { schema: { type: "string" }, instance: 1 },
        { schema: { type: 5 }, instance: 1 },
        { schema: { $ref: "http://example.com/\n" }, instance: 1 },
        { instance: 1 },
    ];
    const input = `${lines.map((line) => JSON.stringify(line)).join("\n")}\nno JSON\n`;
    const { code, stdout } = await runCauseway(["schema", "validate", "--jsonl"], { input });
    assert.equal(code, 0);
    const [first, second, ...errors] = stdout.trimEnd().split("\n");
    assert.equal(first, "true");
    assert.equal(second, "false");
    assert.equal(errors.length, 4);
    for (const line of errors) {
        assert.match(line, /^error: \S/);
    }
});
