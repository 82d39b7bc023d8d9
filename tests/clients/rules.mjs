// Checks tools against the rules of model APIs. An API rejects a whole request if one tool breaks a rule.
//
//   scripts/node.sh tests/clients/rules.mjs URL|FILE|-
//
// The argument is the URL of an MCP endpoint, or a file with a response to tools/list (`-`: standard input). Each
// breach is one line, and the exit code is 1 if one was found. Other tests import checkTools().
//
// The rules come from the documentation of the APIs and from public error reports.
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import Ajv2020 from "ajv/dist/2020.js";

const ajv = new Ajv2020({ strict: false, validateFormats: false });

// ---- schemas ----

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const mapsOfSchemas = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const listsOfSchemas = ["allOf", "anyOf", "oneOf", "prefixItems"];
const singleSchemas = [
    "items",
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
];

function* childrenOf(schema) {
    for (const key of mapsOfSchemas.filter((one) => isObject(schema[one]))) {
        yield* Object.entries(schema[key]).map(([name, child]) => [[key, name], child]);
    }
    for (const key of [...listsOfSchemas, "items"].filter((one) => Array.isArray(schema[one]))) {
        yield* schema[key].map((child, i) => [[key, String(i)], child]);
    }
    for (const key of singleSchemas.filter((one) => isObject(schema[one]))) {
        yield [[key], schema[key]];
    }
}

// Every schema inside a schema, each with its place. Nesting is bounded by the JSON parser's own stack.
export function* subschemas(schema, place = []) {
    if (!isObject(schema)) {
        return;
    }
    yield [place, schema];
    for (const [step, child] of childrenOf(schema)) {
        yield* subschemas(child, [...place, ...step]);
    }
}

const typesOf = ({ type }) => [type].flat().map((one) => String(one).toLowerCase());
const shown = (place) => (place.length === 0 ? "the top level" : place.join("/"));
const pythonTuple = (place) => `(${place.map((one) => `'${one}'`).join(", ")}${place.length === 1 ? "," : ""})`;

// ---- the rules: each gives a text for each breach ----

const matches = (pattern, text) =>
    function* ({ name }) {
        if (!pattern.test(name)) {
            yield text(name);
        }
    };

function topLevel(keywords, text) {
    return function* ({ schema }) {
        if (!isObject(schema) || typesOf(schema)[0] !== "object" || keywords.some((key) => key in schema)) {
            yield text(schema);
        }
    };
}

// Only the items of a draft-07 tuple are a list.
function* tuples({ name, schema }) {
    for (const [place, { items }] of subschemas(schema)) {
        if (Array.isArray(items)) {
            yield `Invalid schema for function '${name}': ${JSON.stringify(items)} at ${shown(place)} ` +
                "is not of type 'object', 'boolean'.";
        }
    }
}

function* arraysWithoutItems({ name, schema }) {
    for (const [place, one] of subschemas(schema)) {
        if (typesOf(one).includes("array") && !("items" in one)) {
            yield `Invalid schema for function '${name}': In context=${pythonTuple(place)}, array schema missing items.`;
        }
    }
}

function* strictMode({ name, schema, strict }) {
    if (strict !== true) {
        return;
    }
    const invalid = (place, text) => `Invalid schema for function '${name}': In context=${pythonTuple(place)}, ${text}`;
    for (const [place, one] of subschemas(schema)) {
        if ("$ref" in one && !/^#(\/(\$defs|definitions)\/[^/]+)?$/.test(one.$ref)) {
            yield invalid(place, `reference to component '${one.$ref}' which was not found in the schema.`);
        }
        if (!typesOf(one).includes("object")) {
            continue;
        }
        if (one.additionalProperties !== false) {
            yield invalid(place, "'additionalProperties' is required to be supplied and to be false.");
        }
        const missing = Object.keys(one.properties ?? {}).find((key) => !(one.required ?? []).includes(key));
        if (missing !== undefined) {
            yield invalid(
                place,
                "'required' is required to be supplied and to be an array including every key in properties. " +
                    `Missing '${missing}'.`,
            );
        }
    }
}

function* draft2020({ schema }) {
    const isValid = isObject(schema) && ajv.validateSchema({ ...schema, $schema: undefined });
    if (isValid !== true) {
        yield "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).";
    }
}

function* propertyNames({ schema }) {
    const bad = Object.keys(schema?.properties ?? {}).find((key) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(key));
    if (bad !== undefined) {
        yield `Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$': ${JSON.stringify(bad)}`;
    }
}

function* referencesAtTop({ schema }) {
    for (const [place, { $ref }] of subschemas(schema)) {
        if ($ref !== undefined && !/^#\/(\$defs|definitions)\/[^/]+$/.test($ref)) {
            yield `reference ${JSON.stringify($ref)} at ${shown(place)} must lead to $defs at the top level`;
        }
    }
}

const openAiNames = matches(
    /^[a-zA-Z0-9_-]+$/,
    (name) => `Invalid tool name '${name}': string does not match pattern '^[a-zA-Z0-9_-]+$'.`,
);
const openAiSchemas = {
    "top level": topLevel(
        ["oneOf", "anyOf", "allOf", "enum", "not"],
        () => "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
    ),
    tuple: tuples,
    "array without items": arraysWithoutItems,
    "strict mode": strictMode,
};

// API -> { ceiling of tools, whether names must be unique, rules by name }
const apis = {
    "openai-chat": {
        maxTools: 128,
        rules: {
            "tool name": openAiNames,
            "name length": matches(/^.{0,64}$/s, (name) => `string too long: ${name.length} characters, maximum 64.`),
            ...openAiSchemas,
        },
    },
    "openai-responses": { maxTools: 128, rules: { "tool name": openAiNames, ...openAiSchemas } },
    anthropic: {
        isUnique: true,
        rules: {
            "tool name": matches(
                /^[a-zA-Z0-9_-]{1,128}$/,
                () => "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
            ),
            "top level": topLevel(
                ["oneOf", "anyOf", "allOf"],
                () => "input_schema does not support oneOf, allOf, or anyOf at the top level, and has type 'object'",
            ),
            tuple: draft2020,
            "property names": propertyNames,
        },
    },
    "claude-desktop": {
        rules: {
            "tool name": matches(/^[a-zA-Z0-9_-]{1,64}$/, () => "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"),
        },
    },
    gemini: {
        isUnique: true,
        rules: {
            "tool name": matches(
                /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/,
                () =>
                    "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, " +
                    "A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.",
            ),
            references: referencesAtTop,
        },
    },
    kimi: { rules: { "tool name": matches(/^[a-zA-Z]/, () => "must start with a letter") } },
    "grok-cli": { rules: { "tool name": matches(/^[^_]/, () => "must not start with an underscore") } },
    // Clients put up to 16 characters before a name, such as mcp__causeway__, and then the limit of 64 holds.
    prefixes: {
        rules: {
            "name length": matches(/^.{0,48}$/s, (name) => `${name.length} characters, maximum 48 behind a prefix.`),
        },
    },
};

export const apiNames = Object.keys(apis);

function* repeatedNames(tools) {
    const seen = new Set();
    for (const { name } of tools) {
        if (seen.has(name)) {
            yield name;
        }
        seen.add(name);
    }
}

function* breachesOf(api, tools) {
    const { maxTools = Infinity, isUnique = false, rules } = apis[api];
    if (tools.length > maxTools) {
        const text = `array too long. Expected an array with maximum length ${maxTools}, but got ${tools.length}.`;
        yield { api, rule: "tools in a request", tool: null, text };
    }
    for (const name of isUnique ? repeatedNames(tools) : []) {
        yield { api, rule: "unique names", tool: name, text: `Tool names must be unique: ${name}` };
    }
    for (const tool of tools) {
        for (const [rule, check] of Object.entries(rules)) {
            yield* [...check(tool)].map((text) => ({ api, rule, tool: tool.name, text }));
        }
    }
}

// Every breach of the rules of one API, or of all: { api, rule, tool, text }. A tool is { name, schema, strict? }.
export function checkTools(tools, api) {
    return (api === undefined ? apiNames : [api]).flatMap((one) => [...breachesOf(one, tools)]);
}

// The tools of a response to tools/list, of its result, or a list of tools.
export function toolsOfList(value) {
    const tools = Array.isArray(value) ? value : (value.result ?? value).tools;
    if (!Array.isArray(tools)) {
        throw new Error("no list of tools");
    }
    return tools.map(({ name, inputSchema }) => ({ name, schema: inputSchema }));
}

async function post(url, params) {
    const response = await fetch(url, {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params }),
    });
    const answer = await response.json();
    if (answer.error !== undefined) {
        throw new Error(`tools/list: ${answer.error.message}`);
    }
    return answer.result;
}

// All pages of the list that an MCP endpoint shows without a session.
export async function fetchTools(url) {
    const tools = [];
    let cursor;
    do {
        const page = await post(url, cursor === undefined ? {} : { cursor });
        tools.push(...toolsOfList(page));
        cursor = page.nextCursor;
    } while (cursor !== undefined);
    return tools;
}

export const describe = ({ api, rule, tool, text }) => `${api}: ${rule}: ${tool ?? "all tools"}: ${text}`;

async function main(source) {
    const isUrl = /^https?:/.test(source);
    const tools = isUrl
        ? await fetchTools(source)
        : toolsOfList(JSON.parse(readFileSync(source === "-" ? 0 : source, "utf8")));
    const breaches = checkTools(tools);
    breaches.forEach((one) => console.log(describe(one)));
    console.log(`${tools.length} tools, ${breaches.length} breaches`);
    return breaches.length === 0 ? 0 : 1;
}

if (process.argv[1] && path.resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
    process.exitCode = await main(process.argv[2] ?? "-");
}
