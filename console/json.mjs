// SPDX-License-Identifier: GPL-2.0-or-later
// JSON with exact numbers: 9007199254740993 and 1.10 stay what they are. No DOM is used here.

export const numberPattern = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;

// A number as its text.
export class Num {
	constructor(text) {
		this.text = text;
	}
	valueOf() {
		return Number(this.text);
	}
	toJSON() {
		return Number(this.text);
	}
	toString() {
		return this.text;
	}
}

const maxDepth = 500;
const space = /[ \t\n\r]*/y;
const token = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|[[\]{},:]/y;

class Reader {
	constructor(text) {
		this.text = text;
		this.at = 0;
		this.depth = 0;
	}
	fail(expected) {
		const before = this.text.slice(0, this.at).split("\n");
		throw new SyntaxError(`line ${before.length}, column ${before.at(-1).length + 1}: expected ${expected}`);
	}
	skip() {
		space.lastIndex = this.at;
		space.test(this.text);
		this.at = space.lastIndex;
	}
	next(expected) {
		this.skip();
		token.lastIndex = this.at;
		const found = token.exec(this.text);
		if (!found) this.fail(expected);
		this.at = token.lastIndex;
		return found[0];
	}
	peek() {
		this.skip();
		return this.text[this.at];
	}
	value() {
		const start = this.at;
		const found = this.next("a value");
		if (found === "{" || found === "[") {
			if (++this.depth > maxDepth) this.fail("fewer levels");
			const out = found === "{" ? this.object() : this.array();
			this.depth--;
			return out;
		}
		if (found[0] === '"') return JSON.parse(found);
		if (found === "true") return true;
		if (found === "false") return false;
		if (found === "null") return null;
		if (numberPattern.test(found)) return new Num(found);
		this.at = start;
		return this.fail("a value");
	}
	// What is between the brackets: `read` reads each item.
	items(end, read) {
		if (this.peek() === end) return this.next();
		for (;;) {
			read();
			const expected = `"," or "${end}"`;
			const found = this.next(expected);
			if (found === end) return found;
			if (found !== ",") this.fail(expected);
		}
	}
	array() {
		const out = [];
		this.items("]", () => out.push(this.value()));
		return out;
	}
	// A Map keeps the order of names such as "1", and knows no __proto__.
	object() {
		const out = new Map();
		this.items("}", () => {
			const name = this.next("a name in quotes");
			if (name[0] !== '"') this.fail("a name in quotes");
			if (this.next('":"') !== ":") this.fail('":"');
			out.set(JSON.parse(name), this.value());
		});
		return out;
	}
}

// Objects become Maps, numbers Nums. Throws a SyntaxError with line and column.
export function parse(text) {
	const reader = new Reader(text);
	const value = reader.value();
	if (reader.peek() !== undefined) reader.fail("nothing behind the value");
	return value;
}

export function write(value, indent = "", at = "") {
	const deeper = at + indent;
	const [open, end, glue, colon] = indent ? [`\n${deeper}`, `\n${at}`, `,\n${deeper}`, ": "] : ["", "", ",", ":"];
	if (value instanceof Num) return value.text;
	if (Array.isArray(value)) {
		return value.length ? `[${open}${value.map((v) => write(v, indent, deeper)).join(glue)}${end}]` : "[]";
	}
	const pairs = value instanceof Map ? [...value] : value && typeof value === "object" ? Object.entries(value) : undefined;
	if (!pairs) return JSON.stringify(value);
	const members = pairs.map(([name, v]) => JSON.stringify(name) + colon + write(v, indent, deeper));
	return members.length ? `{${open}${members.join(glue)}${end}}` : "{}";
}

export const pretty = (text) => write(parse(text), "  ");

function convert(value, number) {
	if (value instanceof Num) return number(value);
	if (Array.isArray(value)) return value.map((v) => convert(v, number));
	if (!(value instanceof Map)) return value;
	const out = Object.create(null);
	for (const [name, v] of value) out[name] = convert(v, number);
	return out;
}

// Plain objects and numbers, for code that reads single members; `loose` keeps exact numbers.
export const plain = (value) => convert(value, Number);
export const loose = (value) => convert(value, (number) => number);
