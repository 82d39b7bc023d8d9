// SPDX-License-Identifier: GPL-2.0-or-later
// JSON with exact numbers: 9007199254740993 and 1.10 stay what they are.

export const numberPattern = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

export class Num {
	constructor(text) {
		this.text = text;
	}
	toString() {
		return this.text;
	}
}

const maxDepth = 500;
const space = /[ \t\n\r]*/y;
const token = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[[\]{},:]/y;

// Objects become Maps, numbers Nums. Throws a SyntaxError with line and column.
export function parse(text) {
	let at = 0;
	let depth = 0;
	const fail = expected => {
		const before = text.slice(0, at).split("\n");
		throw new SyntaxError(`line ${before.length}, column ${before.at(-1).length + 1}: expected ${expected}`);
	};
	const peek = () => {
		space.lastIndex = at;
		space.test(text);
		at = space.lastIndex;
		return text[at];
	};
	const next = expected => {
		peek();
		token.lastIndex = at;
		const found = token.exec(text);
		if (!found) fail(expected);
		at = token.lastIndex;
		return found[0];
	};
	// What is between the brackets: `read` reads each item.
	const items = (end, read) => {
		if (++depth > maxDepth) fail("fewer levels");
		if (peek() === end) next();
		else {
			const expected = `"," or "${end}"`;
			for (let found; found !== end; ) {
				read();
				found = next(expected);
				if (found !== "," && found !== end) fail(expected);
			}
		}
		depth--;
	};
	const array = () => {
		const out = [];
		items("]", () => out.push(value()));
		return out;
	};
	// A Map keeps the order of names such as "1", and knows no __proto__.
	const object = () => {
		const out = new Map();
		items("}", () => {
			const name = next("a name in quotes");
			if (name[0] !== '"') fail("a name in quotes");
			if (next('":"') !== ":") fail('":"');
			out.set(JSON.parse(name), value());
		});
		return out;
	};
	function value() {
		const start = at;
		const found = next("a value");
		if (found === "{") return object();
		if (found === "[") return array();
		if (numberPattern.test(found)) return new Num(found);
		if (/^["a-z]/.test(found)) return JSON.parse(found);
		at = start;
		return fail("a value");
	}
	const out = value();
	if (peek() !== undefined) fail("nothing behind the value");
	return out;
}

export function write(value, indent = "", at = "") {
	const deeper = at + indent;
	const [open, end, glue, colon] = indent ? [`\n${deeper}`, `\n${at}`, `,\n${deeper}`, ": "] : ["", "", ",", ":"];
	if (value instanceof Num) return value.text;
	if (Array.isArray(value)) {
		return value.length ? `[${open}${value.map(v => write(v, indent, deeper)).join(glue)}${end}]` : "[]";
	}
	const pairs = value instanceof Map ? [...value] : value && typeof value === "object" ? Object.entries(value) : undefined;
	if (!pairs) return JSON.stringify(value);
	const members = pairs.map(([name, v]) => JSON.stringify(name) + colon + write(v, indent, deeper));
	return members.length ? `{${open}${members.join(glue)}${end}}` : "{}";
}

// A text as it is, other values as JSON.
export const textOf = value => (typeof value === "string" ? value : write(value));
export const pretty = text => write(parse(text), "  ");

function convert(value, number) {
	if (value instanceof Num) return number(value);
	if (Array.isArray(value)) return value.map(v => convert(v, number));
	if (!(value instanceof Map)) return value;
	const out = Object.create(null);
	for (const [name, v] of value) out[name] = convert(v, number);
	return out;
}

// Plain objects and numbers; `loose` keeps exact numbers.
export const plain = value => convert(value, Number);
export const loose = value => convert(value, number => number);
