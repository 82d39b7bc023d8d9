// Arguments for the forms of the console: typed into the fields of a schema, sent, and validated by the server's own code.
//
//     await assertForms(methods)     methods: [{ label, schema }]; returns how many of them the form shows
import assert from "node:assert/strict";
import { parse, Num, write } from "../../../console/json.mjs";
import { decode, encode, fieldOf } from "../../../console/form.mjs";
import { runCauseway } from "./programs.mjs";

// JavaScript cannot hold this one.
const large = "9007199254740993";
const words = ["Ada", "a", "0x1", "1", "2026-11-17", "A1", "a@example.org", "https://example.org/"];

const at = (root, ref) =>
    ref
        .slice(2)
        .split("/")
        .reduce((from, name) => from?.[decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~")], root);

function numberOf(schema, typed) {
    const low = schema.minimum ?? schema.exclusiveMinimum ?? -Infinity;
    const high = schema.maximum ?? schema.exclusiveMaximum ?? Infinity;
    const fits = [typed, "1", "0", String(low), String(high)].find((text) => {
        const n = Number(text);
        return Number.isFinite(n) && n >= low && n <= high && (!schema.multipleOf || n % schema.multipleOf === 0);
    });
    return new Num(fits ?? "1");
}

function textOf(schema) {
    const least = "x".repeat(schema.minLength ?? 0);
    const most = schema.maxLength ?? Infinity;
    const fits = [...words, least].filter((word) => word.length >= least.length && word.length <= most);
    return fits.find((word) => !schema.pattern || new RegExp(schema.pattern, "u").test(word)) ?? least;
}

function objectOf(schema, root, depth) {
    const required = new Set(schema.required ?? []);
    const names = Object.keys(schema.properties ?? {}).filter((name) => depth < 3 || required.has(name));
    const pairs = names.map((name) => [name, sampleOf(schema.properties[name], root, depth + 1)]);
    for (const name of required) if (!names.includes(name)) pairs.push([name, "Ada"]);
    const more = schema.additionalProperties;
    if (!pairs.length && more && typeof more === "object") pairs.push(["name", sampleOf(more, root, depth + 1)]);
    return new Map(pairs);
}

// A value of json.mjs that the schema accepts.
export function sampleOf(schema, root = schema, depth = 0) {
    if (typeof schema !== "object" || depth > 8) return null;
    if (schema.$ref) return sampleOf(at(root, schema.$ref), root, depth + 1);
    if (schema.const !== undefined) return parse(JSON.stringify(schema.const));
    if (schema.enum) return parse(JSON.stringify(schema.enum.at(-1)));
    const branch = (schema.oneOf ?? schema.anyOf)?.[0];
    if (branch) return sampleOf({ ...schema, oneOf: undefined, anyOf: undefined, ...branch }, root, depth + 1);
    if (schema.allOf) {
        const parts = schema.allOf.map((part) => sampleOf(part, root, depth + 1));
        const own = schema.properties ? [objectOf(schema, root, depth)] : [];
        return parts[0] instanceof Map ? new Map([...parts, ...own].flatMap((part) => [...part])) : parts[0];
    }
    const type = [schema.type].flat().find((name) => name !== "null") ?? (schema.properties ? "object" : undefined);
    if (type === "object") return objectOf(schema, root, depth);
    if (type === "integer") return numberOf(schema, large);
    if (type === "number") return numberOf(schema, "1.10");
    if (type === "string") return textOf(schema);
    if (type === "boolean") return false;
    if (type !== "array") return null;
    const items = Array.isArray(schema.prefixItems ?? schema.items) ? (schema.prefixItems ?? schema.items) : undefined;
    if (items) return items.map((item) => sampleOf(item, root, depth + 1));
    return Array.from({ length: Math.max(1, schema.minItems ?? 1) }, () =>
        sampleOf(schema.items ?? true, root, depth + 1),
    );
}

// What was typed into the fields is sent, byte for byte; undefined: the form cannot show it.
export function sent(schema, value, label) {
    const field = fieldOf(schema);
    const input = decode(field, value);
    if (input === undefined) return undefined;
    const problems = [];
    const text = encode(field, input, "", problems);
    assert.deepEqual(problems, [], label);
    assert.equal(text, write(value), label);
    return text;
}

// The answers of our validator: lines of { schema, instance }, both JSON texts.
export async function validate(pairs) {
    const input = pairs.map(({ schema, text }) => `{"schema":${schema},"instance":${text}}\n`).join("");
    const { stdout, stderr } = await runCauseway(["schema", "validate", "--jsonl"], { input });
    const lines = stdout.trimEnd().split("\n");
    assert.equal(lines.length, pairs.length, stderr);
    return lines;
}

export async function assertForms(methods) {
    const pairs = [];
    for (const { label, schema } of methods) {
        const text = sent(schema, sampleOf(schema), label);
        if (text !== undefined) pairs.push({ label, schema: JSON.stringify(schema), text });
    }
    const answers = await validate(pairs);
    const refused = pairs
        .map(({ label, text }, i) => [label, text, answers[i]])
        .filter(([, , answer]) => answer !== "true");
    assert.deepEqual(refused, []);
    return pairs.length;
}

// Each method of an OpenRPC document with the schema of its arguments, which is of draft 7.
export function methodsOf(document, file = "") {
    const resolve = (value) => (value?.$ref ? at(document, value.$ref) : value);
    return (document.methods ?? []).map(resolve).map((method) => {
        const params = (method.params ?? []).map(resolve).filter((p) => p?.name && p.schema);
        const schema = {
            $schema: "http://json-schema.org/draft-07/schema#",
            type: "object",
            properties: Object.fromEntries(params.map((p) => [p.name, p.schema])),
            required: params.filter((p) => p.required).map((p) => p.name),
            components: document.components,
        };
        return { label: `${file} ${method.name}`, schema };
    });
}
