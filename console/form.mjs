// SPDX-License-Identifier: GPL-2.0-or-later
// Forms from JSON Schema: a schema as a tree of fields, their inputs, and what was typed as JSON text.
//
// The input of a field: text "Ada" or {empty: true}; number "1.10"; boolean "true", "false" or ""; choice the index of a value
// or ""; list [inputs]; group {name: input}; map [[name, input]]; union {branch, input}; json a text. "" and undefined are
// left out, null is null. A value without an input (decode returns undefined) is shown as JSON.
import {button, each, el, fold, input, select, visible} from "./dom.mjs";
import {Num, numberPattern, parse, textOf, write} from "./json.mjs";

const limits = {fields: 200, depth: 6, refs: 8};
const annotations = new Set("title description default examples example deprecated readOnly writeOnly $comment $id $schema $anchor $defs definitions x-mcp-header format contentMediaType".split(" "));
// Keywords that say more than fields can.
const beyond = "if not dependentSchemas dependencies $dynamicRef $recursiveRef patternProperties propertyNames unevaluatedProperties".split(" ");
const isObject = v => v !== null && typeof v === "object" && !Array.isArray(v);

const unescapeName = name => name.replaceAll("~1", "/").replaceAll("~0", "~");

// The schema that a reference in the same document leads to.
function lookUp(root, ref) {
	const step = (at, name) => (Object.hasOwn(Object(at), unescapeName(name)) ? at[unescapeName(name)] : undefined);
	try {
		const [start, ...names] = decodeURIComponent(ref).split("/");
		return start === "#" ? names.reduce(step, root) : undefined;
	} catch {}
}

// Two schemas as one, or undefined where they say different things.
function merge(a, b) {
	const out = {...a};
	for (const [name, value] of Object.entries(b)) {
		if (name === "required" && Array.isArray(value)) out.required = [...new Set([...(out.required ?? []), ...value])];
		else if (name === "properties" && isObject(value)) {
			const own = out.properties ?? {};
			if (Object.keys(value).some(key => Object.hasOwn(own, key))) return;
			out.properties = {...own, ...value};
		} else if (!Object.hasOwn(out, name) || annotations.has(name)) out[name] ??= value;
		else if (JSON.stringify(out[name]) !== JSON.stringify(value)) return;
	}
	return out;
}

// `at`: where a schema is. {name, isRequired, depth, chain: the references on the way here, root, used}.

// $ref and allOf resolved; undefined: a field cannot show it.
function resolve(schema, chain, root) {
	let now = schema;
	while (isObject(now) && ("$ref" in now || "allOf" in now)) {
		const {$ref, allOf, ...rest} = now;
		const parts = [rest];
		if ($ref !== undefined) {
			if (chain.includes($ref) || chain.length >= limits.refs) return;
			chain.push($ref);
			parts.push(lookUp(root, $ref));
		}
		for (const part of allOf ?? []) parts.push(resolve(part, chain, root));
		now = parts.reduce((a, b) => (isObject(a) && isObject(b) ? merge(a, b) : undefined));
	}
	return now;
}

function field(schema, at) {
	const chain = [...at.chain];
	const resolved = isObject(schema) ? resolve(schema, chain, at.root) : undefined;
	const {name, isRequired, depth} = at;
	const {title, description: help, default: initial} = {...schema, ...resolved};
	const made = ++at.used.fields <= limits.fields && depth <= limits.depth && resolved ? kind(resolved, {...at, chain}) : undefined;
	return {name, isRequired, schema, title, help, initial, ...(made ?? {kind: "json"})};
}

function kind(schema, at) {
	if (beyond.some(name => name in schema)) return;
	if ("oneOf" in schema || "anyOf" in schema) return alternatives(schema, at);
	if ("const" in schema) return {kind: "choice", values: [schema.const]};
	if (Array.isArray(schema.enum)) return {kind: "choice", values: schema.enum};
	if (Array.isArray(schema.type)) {
		const types = schema.type.filter(type => type !== "null");
		if (types.length !== 1) return;
		const made = kind({...schema, type: types[0]}, at);
		return made && {...made, isNullable: types.length < schema.type.length};
	}
	return typed(schema, at);
}

function typed(schema, at) {
	const type = schema.type ?? (isObject(schema.properties) ? "object" : undefined);
	if (type === "array") return list(schema, at);
	if (type === "object") return object(schema, at);
	if (type === "string") return {kind: "text", isLong: !(schema.format || schema.pattern || schema.maxLength <= 100)};
	if (type === "integer" || type === "number") return {kind: "number", type};
	if (type === "null") return {kind: "choice", values: [null]};
	return type === "boolean" ? {kind: "boolean"} : undefined;
}

function list(schema, at) {
	if ("prefixItems" in schema || "contains" in schema || !isObject(schema.items)) return;
	const item = field(schema.items, {...at, name: "", isRequired: true, depth: at.depth + 1});
	return {kind: "list", item};
}

function object(schema, at) {
	const names = isObject(schema.properties) ? Object.keys(schema.properties) : [];
	const inside = (name, isRequired) => ({...at, name, isRequired, depth: at.depth + 1});
	if (names.length) {
		const required = new Set(Array.isArray(schema.required) ? schema.required : []);
		return {kind: "group", fields: names.map(name => field(schema.properties[name], inside(name, required.has(name))))};
	}
	if (schema.additionalProperties === false) return {kind: "group", fields: []};
	if (isObject(schema.additionalProperties)) return {kind: "map", item: field(schema.additionalProperties, inside("", true))};
	return at.depth === 0 && schema.additionalProperties === undefined ? {kind: "group", fields: [], isOpen: true} : undefined;
}

function alternatives(schema, at) {
	const {oneOf, anyOf, ...rest} = schema;
	const all = oneOf ?? anyOf;
	const isAlone = Object.keys(rest).every(name => annotations.has(name) || name === "type");
	if (!Array.isArray(all) || (oneOf && anyOf) || !isAlone || !all.length) return;
	const branches = all.map(branch => resolve(branch, [...at.chain], at.root));
	if (!branches.every(isObject)) return;
	const constants = branches.map(b => ("const" in b ? [b.const] : Array.isArray(b.enum) ? b.enum : b.type === "null" ? [null] : undefined));
	if (constants.every(Boolean)) return {kind: "choice", values: constants.flat(), labels: branches.flatMap((b, i) => constants[i].map(() => b.title))};
	const others = branches.filter(b => b.type !== "null");
	if (others.length === 1 && branches.length === 2) {
		const made = kind(others[0], at);
		return made && {...made, isNullable: true};
	}
	return union(branches, at);
}

// Objects that a constant of one property tells apart.
function union(branches, at) {
	const key = Object.keys(branches[0].properties ?? {}).find(name => branches.every(b => isObject(b.properties) && b.properties[name]?.const !== undefined && b.required?.includes(name)));
	const constants = new Set(branches.map(b => JSON.stringify(b.properties?.[key]?.const)));
	if (key === undefined || constants.size < branches.length) return;
	const made = branches.map(b => ({
		label: String(b.title ?? write(b.properties[key].const)),
		value: b.properties[key].const,
		field: field(b, {...at, isRequired: true, depth: at.depth + 1}),
	}));
	return made.every(b => b.field.kind === "group") ? {kind: "union", key, branches: made} : undefined;
}

export const fieldOf = (schema, name = "") => field(schema, {name, isRequired: true, depth: 0, chain: [], root: schema, used: {fields: 0}});

// ---- typed to JSON ----

const encoders = {
	text: (_, input) => JSON.stringify(input.empty ? "" : input),
	number(_, input, at, out) {
		if (numberPattern.test(input)) return input;
		out.push({pointer: at, message: "This is no number. Write it as in JSON: 12, -0.5 or 1e6."});
	},
	boolean: (_, input) => input,
	choice: (field, input) => write(field.values[input]),
	list: (field, input, at, out) => `[${input.map((item, i) => encode({...field.item, isRequired: true}, item, `${at}/${i}`, out) ?? "null").join(",")}]`,
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
			if (seen.has(name)) out.push({pointer: at, message: `The name ${JSON.stringify(name)} stands twice.`});
			seen.add(name);
			return `${JSON.stringify(name)}:${encode(field.item, value, `${at}/${escapeName(name)}`, out) ?? "null"}`;
		});
		return `{${members.join(",")}}`;
	},
	union: (field, input, at, out) => (input.branch === "" ? missing(field, at, out) : encode(field.branches[input.branch].field, input.input, at, out)),
	json(_, input, at, out) {
		try {
			return write(parse(input));
		} catch (error) {
			out.push({pointer: at, message: `This is no JSON: ${error.message}.`});
		}
	},
};

const escapeName = name => name.replaceAll("~", "~0").replaceAll("/", "~1");

function missing(field, at, out) {
	if (field.isRequired) out.push({pointer: at, message: "A value is required."});
}

// The JSON text of an input; undefined: it is left out. Problems are added to `out`.
export function encode(field, input, at = "", out = []) {
	if (input === null) return "null";
	const text = typeof input === "string" && field.kind !== "text" ? input.trim() : input;
	if (text === undefined || text === "") return missing(field, at, out);
	return encoders[field.kind](field, text, at, out);
}

// ---- JSON to typed ----

const same = (a, b) => write(a) === write(b);

const decoders = {
	text: (field, value) => (typeof value !== "string" || (field.isLong ? /\r/ : /[\r\n]/).test(value) ? undefined : value === "" ? {empty: true} : value),
	number: (_, value) => (value instanceof Num ? value.text : undefined),
	boolean: (_, value) => (typeof value === "boolean" ? String(value) : undefined),
	choice(field, value) {
		const at = field.values.findIndex(v => same(v, value));
		return at < 0 ? undefined : at;
	},
	list(field, value) {
		const all = Array.isArray(value) ? value.map(v => decode(field.item, v)) : [undefined];
		return all.includes(undefined) ? undefined : all;
	},
	group(field, value) {
		if (!(value instanceof Map)) return;
		const out = {};
		for (const [name, v] of value) {
			const inner = field.fields.find(f => f.name === name);
			const input = inner && decode(inner, v);
			if (input === undefined) return;
			Object.defineProperty(out, name, {value: input, enumerable: true});
		}
		return out;
	},
	map(field, value) {
		if (!(value instanceof Map)) return;
		const all = [...value].map(([name, v]) => [name, decode(field.item, v)]);
		return all.some(([name, v]) => v === undefined || /[\r\n]/.test(name)) ? undefined : all;
	},
	union(field, value) {
		const branch = value instanceof Map ? field.branches.findIndex(b => same(b.value, value.get(field.key))) : -1;
		const input = branch < 0 ? undefined : decode(field.branches[branch].field, value);
		return input === undefined ? undefined : {branch, input};
	},
	json: (_, value) => write(value, "  "),
};

// The input that stands for a value of json.mjs; undefined: none does.
export function decode(field, value) {
	if (value === null && field.isNullable) return null;
	return decoders[field.kind](field, value);
}

const limitWords = {
	minimum: "at least",
	exclusiveMinimum: "more than",
	maximum: "at most",
	exclusiveMaximum: "less than",
	multipleOf: "a multiple of",
	minLength: "minimum length",
	maxLength: "maximum length",
	pattern: "matches",
	minItems: "minimum entries",
	maxItems: "maximum entries",
};

function describe(field) {
	const s = Object(field.schema);
	const type = {number: field.type, text: s.format ?? "text", list: "list", map: "names and values", json: "JSON"}[field.kind];
	const told = Object.entries(limitWords).map(([name, text]) => s[name] !== undefined && `${text} ${s[name]}`);
	return [type, ...told].filter(Boolean).join(", ");
}

let ids = 0;

const box = attrs => input("checkbox", attrs);
const hint = field => (field.initial === undefined ? undefined : `default ${write(field.initial)}`);
const valueIn = input => ({focus: input, set: value => (input.value = value ?? ""), read: () => input.value});

function label(value, title) {
	const text = textOf(value);
	return visible(title ? `${title} (${text})` : text || "(empty text)");
}

const none = field => ["", field.isRequired ? "choose" : "left out"];
// A choice by index; "" is none.
const choices = (field, labels, attrs) => select([none(field), ...labels.map((text, i) => [String(i), text])], "", attrs);

// Each maker returns {node, focus, set(input), read(), fields or inside()}; `attrs` connect it with label and help.
const makers = {
	text(field, attrs) {
		const input = field.isLong ? el("textarea", {...attrs, rows: 2}) : el("input", {...attrs, type: "text", placeholder: hint(field)});
		const empty = box({onchange: () => (input.disabled = empty.checked)});
		const set = value => {
			input.disabled = empty.checked = value?.empty === true;
			input.value = typeof value === "string" ? value : "";
		};
		return {node: el("div", input, el("label.small", empty, "empty text")), focus: input, set, read: () => (empty.checked ? {empty: true} : input.value)};
	},
	number(field, attrs) {
		const node = el("input", {...attrs, type: "text", inputmode: "decimal", autocomplete: "off", placeholder: hint(field)});
		return {node, ...valueIn(node)};
	},
	boolean(field, attrs) {
		const node = select([none(field), "true", "false"], "", attrs);
		return {node, ...valueIn(node)};
	},
	choice(field, attrs) {
		const labels = field.values.map((value, i) => label(value, field.labels?.[i]));
		const node = choices(field, labels, attrs);
		return {node, ...valueIn(node)};
	},
	list: (field, attrs) => rows(field, attrs, "Add an entry", (inner, value) => (inner.set(value), inner)),
	map: (field, attrs) =>
		rows(field, attrs, "Add a name", (inner, value) => {
			const key = input("text", {"aria-label": "Name", value: value?.[0] ?? ""});
			inner.set(value?.[1]);
			return {...inner, node: el("div", key, inner.node), read: () => [key.value, inner.read()], focus: key};
		}),
	group(field) {
		const fields = field.fields.map(build);
		const node = each("div", fields, f => f.node);
		const set = value => fields.forEach(f => f.set(value?.[f.name]));
		return {node, focus: fields[0]?.focus, set, read: () => Object.fromEntries(fields.map(f => [f.name, f.read()])), fields};
	},
	union(field, attrs) {
		const node = choices(
			field,
			field.branches.map(b => b.label),
			{...attrs, "aria-label": String(field.name || "kind"), onchange: () => show()},
		);
		const place = el("div");
		let inner;
		const show = value => {
			const branch = field.branches[node.value];
			inner = branch && makers.group({fields: branch.field.fields.filter(f => f.name !== field.key)});
			inner?.set(value);
			place.replaceChildren(...(inner ? [inner.node] : []));
		};
		const set = value => {
			node.value = value?.branch ?? "";
			show(value?.input);
		};
		const read = () => ({branch: node.value, input: inner && {...inner.read(), [field.key]: 0}});
		return {node: el("div", node, place), focus: node, set, read, inside: () => inner?.fields ?? []};
	},
	json(field, attrs) {
		const input = el("textarea", {...attrs, spellcheck: "false", rows: 4});
		return {node: el("div", input, fold("Schema", el("pre", visible(write(field.schema ?? {}, "  "))))), ...valueIn(input)};
	},
};

function rows(field, {id}, more, make) {
	const place = el("div");
	let entries = [];
	const append = value => {
		const entry = make(build({...field.item, name: "", isRequired: true, isEntry: true}), value);
		const drop = () => {
			entries = entries.filter(e => e !== entry);
			row.remove();
			another.focus();
		};
		const row = el("div.item", entry.node, button("Remove", drop));
		entries.push(entry);
		place.append(row);
		return entry;
	};
	const another = button(more, () => append().focus?.focus(), "", {id});
	const none = box();
	const set = value => {
		place.replaceChildren();
		entries = [];
		none.checked = value?.length === 0;
		value?.forEach(v => append(v));
	};
	const read = () => (entries.length || none.checked || field.isRequired ? entries.map(e => e.read()) : undefined);
	const node = el("div", place, another, " ", !field.isRequired && el("label.small", none, "send it without entries"));
	return {node, focus: another, set, read, inside: () => entries.map((e, at) => ({...e, at}))};
}

// One field with its label, help, null switch and place for a problem.
function build(field) {
	const id = `field-${++ids}`;
	const isWide = ["group", "list", "map", "union"].includes(field.kind);
	const help = [describe(field), field.help].filter(Boolean).join(". ");
	const made = makers[field.kind](field, {id, "aria-describedby": help && !field.isEntry ? `${id}-help` : undefined});
	const problem = el("p.problem", {id: `${id}-problem`, hidden: true});
	const nothing = field.isNullable && box();
	const present = field.kind === "group" && !field.isRequired && box({onchange: () => show()});
	const nullSwitch = nothing && el("label.small", nothing, "null");
	const show = () => (made.node.hidden = present && !present.checked);
	show();
	const name = [visible(field.name || field.title || "entry"), field.isRequired ? el("span.bad", {title: "required"}, " *") : el("span.quiet", " optional")];
	const about = help && el("p.help", {id: `${id}-help`}, visible(help));
	const body = [present && el("label.small", present, "fill in"), made.node, nullSwitch, about, problem];
	const isPlainEntry = field.isEntry && !isWide;
	if (isPlainEntry) made.focus.setAttribute("aria-label", "Entry");
	const node = isWide ? el("fieldset", el("legend", name), body) : el("div.field", isPlainEntry ? [made.node, nullSwitch, problem] : [el("label", {for: id}, name), body]);
	const read = () => {
		if (nothing?.checked) return null;
		return present && !present.checked ? undefined : made.read();
	};
	const set = value => {
		if (nothing) nothing.checked = value === null;
		if (present) present.checked = value !== undefined && value !== null;
		show();
		made.set(value === null ? undefined : value);
	};
	const complain = text => {
		problem.textContent = text;
		problem.hidden = !text;
		made.focus?.setAttribute("aria-invalid", String(Boolean(text)));
		if (text) made.focus?.setAttribute("aria-describedby", problem.id);
	};
	return {node, read, set, complain, focus: made.focus, fields: made.fields, inside: made.inside, name: field.name};
}

const partsOf = built => built.fields ?? built.inside?.() ?? [];

// The built field at a JSON pointer, or the nearest one above it.
function find(built, steps) {
	if (!steps.length) return built;
	const name = unescapeName(steps[0]);
	const inner = partsOf(built).find(f => f.name === name || String(f.at) === name);
	return inner?.complain || inner?.fields ? find(inner, steps.slice(1)) : built;
}

export function makeForm(field) {
	const root = field.kind === "group" ? makers.group(field) : build({...field, name: "arguments"});
	const clear = built => {
		built.complain?.("");
		partsOf(built).forEach(clear);
	};
	const complain = (pointer, text) => {
		const built = find(root, pointer.split("/").slice(1));
		built.complain?.(text);
		built.focus?.focus();
	};
	return {
		node: el("div", root.node, field.kind === "group" && !field.fields.length && el("p.quiet", "This tool takes no arguments.")),
		complain,
		// The JSON text of the arguments; undefined: the form has problems, which it shows.
		read() {
			const out = [];
			clear(root);
			const text = encode(field, root.read(), "", out);
			out.reverse().forEach(p => complain(p.pointer, p.message));
			return out.length ? undefined : (text ?? "{}");
		},
		// False: the fields cannot show this value.
		write(value) {
			const input = decode(field, value);
			if (input !== undefined) root.set(input);
			return input !== undefined;
		},
	};
}
