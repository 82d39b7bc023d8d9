// Random schemas of tool arguments, and random values that are likely to match a schema. The same seed gives the
// same samples.
export const draft07 = "http://json-schema.org/draft-07/schema#";

export function randomFrom(seed) {
    let state = seed;
    const next = () => {
        state = (state + 0x6d2b79f5) | 0;
        let t = Math.imul(state ^ (state >>> 15), 1 | state);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    };
    const below = (n) => Math.floor(next() * n);
    return {
        below,
        chance: (share) => next() < share,
        pick: (list) => list[below(list.length)],
        some: (list, share = 0.5) => list.filter(() => next() < share),
    };
}

export const names = ["a", "b", "c", "$x", "é y"];
const scalars = [null, true, 0, 1, 2.5, "", "x", "yy"];
const types = ["null", "boolean", "integer", "number", "string", "array", "object"];
const small = (random) => random.below(3);

const leaves = [
    (random) => ({ type: random.pick(types) }),
    (random) => ({ type: [...new Set([random.pick(types), random.pick(types)])] }),
    (random) => ({ enum: [...new Set([random.pick(scalars), random.pick(scalars)])] }),
    (random) => ({ const: random.pick(scalars) }),
    (random) => ({ minimum: small(random) }),
    (random) => ({ type: "string", maxLength: 1 + small(random) }),
    () => ({}),
    () => true,
];

// Keywords that hold schemas: each takes a maker of smaller ones.
const arrays = [
    (random) => ({ type: "array", minItems: small(random) }),
    (_, make) => ({ type: "array", items: make() }),
    (_, make) => ({ type: "array", contains: make() }),
];
const arraysNew = [
    ...arrays,
    (_, make) => ({ prefixItems: [make(), make()] }),
    (_, make) => ({ type: "array", prefixItems: [make()], items: false }),
    (_, make) => ({ prefixItems: [make(), make()], items: make() }),
    (random, make) => ({ contains: make(), minContains: small(random), maxContains: 2 }),
    (_, make) => ({ prefixItems: [make()], unevaluatedItems: false }),
    (_, make) => ({ allOf: [{ prefixItems: [make()] }], unevaluatedItems: false }),
];
const arraysOld = [
    ...arrays,
    (_, make) => ({ items: [make(), make()] }),
    (_, make) => ({ type: "array", items: [make(), make()], additionalItems: false }),
    (_, make) => ({ items: [make()], additionalItems: make() }),
    (_, make) => ({ items: make(), prefixItems: [false] }),
];

const propertiesOf = (random, make) => Object.fromEntries(random.some(names).map((name) => [name, make()]));

const objects = [
    (random, make) => ({ properties: propertiesOf(random, make), required: random.some(names, 0.2) }),
    (random, make) => ({ properties: propertiesOf(random, make), additionalProperties: random.pick([false, make()]) }),
    (_, make) => ({ patternProperties: { "^[a-c]": make() }, additionalProperties: false }),
    (random) => ({ maxProperties: 1 + small(random) }),
    (random) => ({ propertyNames: { maxLength: 1 + small(random) } }),
];
const objectsNew = [
    ...objects,
    (random, make) => ({ properties: propertiesOf(random, make), unevaluatedProperties: false }),
    (random) => ({ dependentRequired: { [random.pick(names)]: random.some(names, 0.3) } }),
    (random, make) => ({ dependentSchemas: { [random.pick(names)]: make() } }),
];
const objectsOld = [
    ...objects,
    (random) => ({ dependencies: { [random.pick(names)]: random.some(names, 0.3) } }),
    (random, make) => ({ dependencies: { [random.pick(names)]: make() } }),
    (random) => ({ dependentRequired: { a: names }, minContains: small(random), unevaluatedProperties: false }),
];

// A keyword, not a promise.
const then = "then";

const combinators = [
    (_, make) => ({ allOf: [make(), make()] }),
    (_, make) => ({ anyOf: [make(), make()] }),
    (_, make) => ({ oneOf: [make(), make()] }),
    (_, make) => ({ not: make() }),
    (_, make) => ({ if: make(), [then]: make(), else: make() }),
    (_, make) => ({ if: make(), else: make() }),
];
const closing = (_, make) => ({ anyOf: [make(), make()], unevaluatedProperties: false });

// A schema; references lead to definitions d0 to d2.
function makeSchema(random, isOld, depth) {
    const make = () => makeSchema(random, isOld, depth - 1);
    if (depth <= 0 || random.chance(0.3)) {
        return random.pick(leaves)(random);
    }
    if (random.chance(0.2)) {
        const ref = { $ref: `#/${isOld ? "definitions" : "$defs"}/d${random.below(3)}` };
        return random.pick([ref, { ...ref, description: "text" }, { ...ref, ...random.pick(leaves)(random) }]);
    }
    const rows = isOld
        ? [...arraysOld, ...objectsOld, ...combinators]
        : [...arraysNew, ...objectsNew, ...combinators, closing];
    return random.pick(rows)(random, make);
}

// What a branch of the top level says: mostly about properties.
function makeBranch(random, isOld) {
    const make = () => makeSchema(random, isOld, 1);
    return random.pick([
        () => ({ required: random.some(names, 0.4) }),
        () => ({ properties: propertiesOf(random, make), required: random.some(names, 0.3) }),
        () => ({ properties: propertiesOf(random, make), additionalProperties: false }),
        () => ({ properties: { a: { const: random.pick(scalars) } }, required: ["a", "b"] }),
        () => ({ patternProperties: { "^[a-c]": make() } }),
        () => ({ additionalProperties: make() }),
        () => makeSchema(random, isOld, 2),
    ])();
}

const tops = [
    (make) => ({ anyOf: [make(), make()] }),
    (make) => ({ oneOf: [make(), make(), make()] }),
    (make) => ({ allOf: [make(), make()] }),
    (make) => ({ not: make() }),
    (make) => ({ if: make(), [then]: make() }),
    (make) => ({ if: make(), [then]: make(), else: make() }),
    (make) => ({ anyOf: [make(), make()], additionalProperties: false }),
    (make) => ({ allOf: [{ anyOf: [make(), make()] }, make()] }),
    () => ({}),
    () => ({ additionalProperties: false }),
    () => ({ patternProperties: { "^_": false } }),
];
const topsNew = [
    ...tops,
    (make) => ({ anyOf: [make(), make()], unevaluatedProperties: false }),
    (make) => ({ $ref: "#/$defs/d0", unevaluatedProperties: false, allOf: [make()] }),
    (make) => ({ $ref: "#/$defs/top", allOf: [make()] }),
    () => ({ $ref: "#/$defs/top", unevaluatedProperties: false }),
    (make) => ({ dependentSchemas: { a: make(), b: make() } }),
    () => ({ dependentRequired: { a: ["b"], $x: ["a"] } }),
];
const topsOld = [...tops, (make) => ({ dependencies: { a: make(), b: ["c"] } })];

// A method of an OpenRPC document: its params, and the rules of all of them together.
export function makeMethod(random, name) {
    const isOld = random.chance(0.4);
    const make = () => makeSchema(random, isOld, 3);
    const definitions = Object.fromEntries([0, 1, 2].map((i) => [`d${i}`, makeSchema(random, isOld, 2)]));
    definitions.top = { properties: propertiesOf(random, () => makeSchema(random, isOld, 1)) };
    const withDefinitions = { [isOld ? "definitions" : "$defs"]: definitions };
    const top = random.pick(isOld ? topsOld : topsNew)(() => makeBranch(random, isOld));
    const dialect = isOld ? { $schema: draft07 } : {};
    const asObject = (schema) => (typeof schema === "object" ? schema : {});
    const params = random.some(names, 0.7).map((one) => ({
        name: one,
        required: random.chance(0.2),
        schema: { ...asObject(make()), ...withDefinitions, ...dialect },
    }));
    return { name, params, "x-input": { ...top, ...withDefinitions, ...dialect } };
}

// A method whose schema breaks no rule.
export function makePortable(random, name) {
    const schemas = [
        () => ({ type: random.pick(types.filter((one) => one !== "array")) }),
        () => ({ type: "array", items: { type: random.pick(types.slice(0, 5)) }, maxItems: small(random) }),
        () => ({ type: "object", properties: { x: { anyOf: [{ type: "null" }, { minimum: small(random) }] } } }),
        () => ({ type: "string", enum: ["x", "y"], description: 'a "text"' }),
    ];
    const some = random.some(["a", "b-c", "d.e_1"], 0.7);
    const params = some.map((one) => ({ name: one, required: random.chance(0.3), schema: random.pick(schemas)() }));
    return { name, params, ...(random.chance(0.5) ? { "x-input": { additionalProperties: false } } : {}) };
}

// ---- values ----

const at = (root, ref) =>
    ref
        .slice(2)
        .split("/")
        .reduce((value, step) => value?.[step.replaceAll("~1", "/").replaceAll("~0", "~")], root);

function ofType(random, type, sample) {
    switch (type) {
        case "null":
            return null;
        case "boolean":
            return random.chance(0.5);
        case "integer":
            return random.below(4);
        case "number":
            return random.pick([0, 1, 2.5]);
        case "string":
            return random.pick(["", "x", "yy"]);
        case "array":
            return Array.from({ length: random.below(3) }, () => sample(true));
        default:
            return {};
    }
}

function arrayOf(random, schema, sample) {
    const positions = schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : []);
    const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
    const fixed = positions.slice(0, random.below(positions.length + 1)).map(sample);
    const isWhole = fixed.length === positions.length && rest !== false && schema.unevaluatedItems !== false;
    const more = isWhole ? Array.from({ length: random.below(3) }, () => sample(rest ?? schema.contains ?? true)) : [];
    return [...fixed, ...more];
}

function objectOf(random, schema, sample) {
    const all = schema.properties ?? {};
    const own = Object.keys(all).filter((name) => schema.required?.includes(name) || random.chance(0.5));
    const missing = (schema.required ?? []).filter((name) => !(name in all));
    const extra = schema.additionalProperties === false ? [] : random.some(names, 0.15);
    return {
        ...Object.fromEntries(extra.map((name) => [name, sample(true)])),
        ...Object.fromEntries(missing.map((name) => [name, sample(true)])),
        ...Object.fromEntries(own.map((name) => [name, sample(all[name])])),
    };
}

// A value that a schema may accept. Rules beside each other are followed one at a time, objects are joined.
export function makeValue(random, root, schema = root, depth = 0) {
    const sample = (one) => makeValue(random, root, one, depth + 1);
    if (typeof schema !== "object" || depth > 4) {
        return random.pick(scalars);
    }
    const branches = [
        ...random.some(schema.allOf ?? [], 0.8),
        ...[schema.anyOf, schema.oneOf].filter(Boolean).map((list) => random.pick(list)),
        ...["then", "else", "if"].filter((one) => one in schema && random.chance(0.5)).map((one) => schema[one]),
        ...(schema.$ref?.startsWith("#/") ? [at(root, schema.$ref)] : []),
    ].map((one) => makeValue(random, root, one ?? true, depth + 1));
    const isObject = schema.type === "object" || schema.properties || schema.required || schema.additionalProperties;
    const isArray = schema.type === "array" || schema.items !== undefined || schema.prefixItems;
    let own;
    if ("const" in schema) {
        own = schema.const;
    } else if (schema.enum) {
        own = random.pick(schema.enum);
    } else if (isArray) {
        own = arrayOf(random, schema, sample);
    } else if (isObject) {
        own = objectOf(random, schema, sample);
    } else if (schema.type) {
        own = ofType(random, random.pick([schema.type].flat()), sample);
    }
    const isMap = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
    if (depth === 0 || isMap(own)) {
        return Object.assign({}, ...branches.filter(isMap), own);
    }
    return own ?? (branches.length > 0 ? random.pick(branches) : random.pick(scalars));
}
