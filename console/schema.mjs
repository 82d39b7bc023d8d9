// SPDX-License-Identifier: GPL-2.0-or-later
// A JSON Schema as a tree of fields, and what was typed into them as JSON text. No DOM is used here.
//
//     kind      typed input                            JSON
//     text      "Ada", or { empty: true }              string; "" is left out
//     number    "1.10"                                 the number as typed
//     boolean   "true", "false", ""                    boolean
//     choice    index of a value, or ""                that value
//     list      [inputs], or undefined                 array
//     group     { name: input }, or undefined          object
//     map       [[name, input]], or undefined          object
//     union     { branch, input }                      the object of that branch
//     json      JSON text                              that text
//
// null as input is an explicit null, where `isNullable`. A value that the fields cannot express has no input
// (decode returns undefined): then the caller shows JSON.
import { Num, numberPattern, parse, write } from "./json.mjs";

const limits = { fields: 200, depth: 6, refs: 8 };
const annotations = new Set([
	"title",
	"description",
	"default",
	"examples",
	"example",
	"deprecated",
	"readOnly",
	"writeOnly",
	"$comment",
	"$id",
	"$schema",
	"$anchor",
	"$defs",
	"definitions",
	"x-mcp-header",
	"format",
	"contentMediaType",
]);
// Keywords that say more than fields can.
const beyond = ["if", "not", "dependentSchemas", "dependencies", "$dynamicRef", "$recursiveRef", "patternProperties", "propertyNames", "unevaluatedProperties"];
const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
const isPlainText = (schema) => typeof schema.format === "string" || typeof schema.pattern === "string" || schema.maxLength <= 100;

function lookUp(root, ref) {
	if (typeof ref !== "string" || !ref.startsWith("#")) return undefined;
	let at = root;
	let steps;
	try {
		steps = decodeURIComponent(ref.slice(1)).split("/");
	} catch {
		return undefined;
	}
	if (steps.shift() !== "") return undefined;
	for (const step of steps) {
		const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
		at = (isObject(at) || Array.isArray(at)) && Object.hasOwn(at, name) ? at[name] : undefined;
	}
	return at;
}

// Two schemas as one, or undefined where they say different things.
function merge(a, b) {
	const out = { ...a };
	for (const [name, value] of Object.entries(b)) {
		if (name === "required" && Array.isArray(value)) out.required = [...new Set([...(out.required ?? []), ...value])];
		else if (name === "properties" && isObject(value)) {
			const own = out.properties ?? {};
			if (Object.keys(value).some((key) => Object.hasOwn(own, key))) return undefined;
			out.properties = { ...own, ...value };
		} else if (!Object.hasOwn(out, name) || annotations.has(name)) out[name] ??= value;
		else if (JSON.stringify(out[name]) !== JSON.stringify(value)) return undefined;
	}
	return out;
}

class Builder {
	constructor(root) {
		this.root = root;
		this.count = 0;
	}

	// $ref and allOf resolved; undefined: a field cannot show it. `chain` has the references on the way here.
	resolve(schema, chain) {
		let now = schema;
		while (isObject(now) && (now.$ref !== undefined || now.allOf !== undefined)) {
			const { $ref, allOf, ...rest } = now;
			const parts = [rest];
			if ($ref !== undefined) {
				if (chain.includes($ref) || chain.length >= limits.refs) return undefined;
				chain.push($ref);
				parts.push(lookUp(this.root, $ref));
			}
			for (const part of allOf ?? []) parts.push(this.resolve(part, chain));
			now = parts.reduce((a, b) => (isObject(a) && isObject(b) ? merge(a, b) : undefined));
		}
		return now;
	}

	field(schema, at) {
		const chain = [...at.chain];
		const resolved = isObject(schema) ? this.resolve(schema, chain) : undefined;
		const base = {
			name: at.name,
			pointer: at.pointer,
			isRequired: at.isRequired,
			schema,
			title: resolved?.title ?? schema?.title,
			help: resolved?.description ?? schema?.description,
			initial: resolved?.default,
		};
		this.count++;
		const made = resolved && this.count <= limits.fields && at.depth <= limits.depth ? this.kind(resolved, { ...at, chain }) : undefined;
		return { ...base, ...(made ?? { kind: "json" }) };
	}

	kind(schema, at) {
		if (beyond.some((name) => schema[name] !== undefined)) return undefined;
		if (schema.oneOf !== undefined || schema.anyOf !== undefined) return this.alternatives(schema, at);
		if (schema.const !== undefined) return { kind: "choice", values: [schema.const] };
		if (Array.isArray(schema.enum)) return { kind: "choice", values: schema.enum };
		if (Array.isArray(schema.type)) {
			const types = schema.type.filter((type) => type !== "null");
			if (types.length !== 1) return undefined;
			const made = this.kind({ ...schema, type: types[0] }, at);
			return made && { ...made, isNullable: types.length < schema.type.length };
		}
		return this.typed(schema, at);
	}

	typed(schema, at) {
		switch (schema.type ?? (isObject(schema.properties) ? "object" : undefined)) {
			case "string":
				return { kind: "text", isLong: !isPlainText(schema) };
			case "integer":
			case "number":
				return { kind: "number", type: schema.type };
			case "boolean":
				return { kind: "boolean" };
			case "null":
				return { kind: "choice", values: [null] };
			case "array":
				return this.list(schema, at);
			case "object":
				return this.object(schema, at);
			default:
				return undefined;
		}
	}

	list(schema, at) {
		if (schema.prefixItems !== undefined || schema.contains !== undefined || !isObject(schema.items)) return undefined;
		const item = this.field(schema.items, { ...at, name: "", pointer: `${at.pointer}/0`, isRequired: true, depth: at.depth + 1 });
		return { kind: "list", item };
	}

	object(schema, at) {
		const names = isObject(schema.properties) ? Object.keys(schema.properties) : [];
		const inside = (name, isRequired) => ({
			name,
			pointer: `${at.pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`,
			isRequired,
			depth: at.depth + 1,
			chain: at.chain,
		});
		if (names.length) {
			const required = new Set(Array.isArray(schema.required) ? schema.required : []);
			return { kind: "group", fields: names.map((name) => this.field(schema.properties[name], inside(name, required.has(name)))) };
		}
		if (schema.additionalProperties === false) return { kind: "group", fields: [] };
		if (isObject(schema.additionalProperties)) return { kind: "map", item: this.field(schema.additionalProperties, inside("", true)) };
		return at.depth === 0 && schema.additionalProperties === undefined ? { kind: "group", fields: [], isOpen: true } : undefined;
	}

	alternatives(schema, at) {
		const { oneOf, anyOf, ...rest } = schema;
		const all = oneOf ?? anyOf;
		const isAlone = Object.keys(rest).every((name) => annotations.has(name) || name === "type");
		if (!Array.isArray(all) || (oneOf && anyOf) || !isAlone || !all.length) return undefined;
		const branches = all.map((branch) => this.resolve(branch, [...at.chain]));
		if (!branches.every(isObject)) return undefined;
		const constants = branches.map((b) => (b.const !== undefined ? [b.const] : Array.isArray(b.enum) ? b.enum : b.type === "null" ? [null] : undefined));
		if (constants.every(Boolean)) return { kind: "choice", values: constants.flat(), labels: branches.flatMap((b, i) => constants[i].map(() => b.title)) };
		const others = branches.filter((b) => b.type !== "null");
		if (others.length === 1 && branches.length === 2) {
			const made = this.kind(others[0], at);
			return made && { ...made, isNullable: true };
		}
		return this.union(branches, at);
	}

	// Objects that a constant of one property tells apart.
	union(branches, at) {
		const key = Object.keys(branches[0].properties ?? {}).find((name) => branches.every((b) => isObject(b.properties) && b.properties[name]?.const !== undefined && b.required?.includes(name)));
		const constants = new Set(branches.map((b) => JSON.stringify(b.properties?.[key]?.const)));
		if (key === undefined || constants.size < branches.length) return undefined;
		const made = branches.map((b) => ({
			label: String(b.title ?? write(b.properties[key].const)),
			value: b.properties[key].const,
			field: this.field(b, { ...at, isRequired: true, depth: at.depth + 1 }),
		}));
		return made.every((b) => b.field.kind === "group") ? { kind: "union", key, branches: made } : undefined;
	}
}

export function fieldOf(schema, name = "") {
	return new Builder(schema).field(schema, { name, pointer: "", isRequired: true, depth: 0, chain: [] });
}

// ---- typed to JSON ----

const encoders = {
	text(field, input, at, out) {
		if (isObject(input) && input.empty) return '""';
		return input === "" ? missing(field, at, out) : JSON.stringify(input);
	},
	number(field, input, at, out) {
		const typed = input.trim();
		if (typed === "") return missing(field, at, out);
		if (numberPattern.test(typed)) return typed;
		out.push({ pointer: at, message: "This is no number. Write it as in JSON: 12, -0.5 or 1e6." });
		return undefined;
	},
	boolean: (field, input, at, out) => (input === "" ? missing(field, at, out) : input),
	choice: (field, input, at, out) => (input === "" ? missing(field, at, out) : write(field.values[input])),
	list: (field, input, at, out) => `[${input.map((item, i) => encode({ ...field.item, isRequired: true }, item, `${at}/${i}`, out) ?? "null").join(",")}]`,
	group(field, input, at, out) {
		const members = [];
		for (const inner of field.fields) {
			const text = encode(inner, Object.hasOwn(input, inner.name) ? input[inner.name] : undefined, `${at}/${escapeName(inner.name)}`, out);
			if (text !== undefined) members.push(`${JSON.stringify(inner.name)}:${text}`);
		}
		return `{${members.join(",")}}`;
	},
	map(field, input, at, out) {
		const seen = new Set();
		const members = input.map(([name, value]) => {
			if (seen.has(name)) out.push({ pointer: at, message: `The name ${JSON.stringify(name)} stands twice.` });
			seen.add(name);
			return `${JSON.stringify(name)}:${encode(field.item, value, `${at}/${escapeName(name)}`, out) ?? "null"}`;
		});
		return `{${members.join(",")}}`;
	},
	union: (field, input, at, out) => (input.branch === "" ? missing(field, at, out) : encode(field.branches[input.branch].field, input.input, at, out)),
	json(field, input, at, out) {
		if (input.trim() === "") return missing(field, at, out);
		try {
			return write(parse(input));
		} catch (error) {
			out.push({ pointer: at, message: `This is no JSON: ${error.message}.` });
			return undefined;
		}
	},
};

const escapeName = (name) => name.replaceAll("~", "~0").replaceAll("/", "~1");

function missing(field, at, out) {
	if (field.isRequired) out.push({ pointer: at, message: "A value is required." });
	return undefined;
}

// The JSON text of an input; undefined: it is left out. Problems are added to `out`.
export function encode(field, input, at = "", out = []) {
	if (input === null) return "null";
	if (input === undefined) return missing(field, at, out);
	return encoders[field.kind](field, input, at, out);
}

// ---- JSON to typed ----

const same = (a, b) => write(a) === write(b);

const decoders = {
	text: (field, value) => (typeof value !== "string" || value.includes("\r") || (!field.isLong && value.includes("\n")) ? undefined : value === "" ? { empty: true } : value),
	number: (field, value) => (value instanceof Num ? value.text : undefined),
	boolean: (field, value) => (typeof value === "boolean" ? String(value) : undefined),
	choice(field, value) {
		const at = field.values.findIndex((v) => same(v, value));
		return at < 0 ? undefined : at;
	},
	list(field, value) {
		const all = Array.isArray(value) ? value.map((v) => decode(field.item, v)) : [undefined];
		return all.includes(undefined) ? undefined : all;
	},
	group(field, value) {
		if (!(value instanceof Map)) return undefined;
		const out = {};
		for (const [name, v] of value) {
			const inner = field.fields.find((f) => f.name === name);
			const input = inner && decode(inner, v);
			if (input === undefined) return undefined;
			Object.defineProperty(out, name, { value: input, enumerable: true });
		}
		return out;
	},
	map(field, value) {
		if (!(value instanceof Map)) return undefined;
		const all = [...value].map(([name, v]) => [name, decode(field.item, v)]);
		return all.some(([name, v]) => v === undefined || name.includes("\n") || name.includes("\r")) ? undefined : all;
	},
	union(field, value) {
		const branch = value instanceof Map ? field.branches.findIndex((b) => same(b.value, value.get(field.key))) : -1;
		const input = branch < 0 ? undefined : decode(field.branches[branch].field, value);
		return input === undefined ? undefined : { branch, input };
	},
	json: (field, value) => write(value, "  "),
};

// The input that stands for a value of json.mjs; undefined: none does.
export function decode(field, value) {
	if (value === null && field.isNullable) return null;
	return decoders[field.kind](field, value);
}

// What a field expects, in words.
export function describe(field) {
	const s = isObject(field.schema) ? field.schema : {};
	const type = field.kind === "number" ? field.type : { text: s.format ?? "text", list: "list", map: "names and values", json: "JSON" }[field.kind];
	const said = [type];
	const limit = (name, text) => s[name] !== undefined && said.push(`${text} ${s[name]}`);
	limit("minimum", "at least");
	limit("exclusiveMinimum", "more than");
	limit("maximum", "at most");
	limit("exclusiveMaximum", "less than");
	limit("multipleOf", "a multiple of");
	limit("minLength", "minimum length");
	limit("maxLength", "maximum length");
	limit("pattern", "matches");
	limit("minItems", "minimum entries");
	limit("maxItems", "maximum entries");
	return said.filter(Boolean).join(", ");
}
