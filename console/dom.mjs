// SPDX-License-Identifier: GPL-2.0-or-later
// Elements from data. Texts of services, clients and plugins only ever become text nodes.

// Controls, bidirectional overrides, zero-width and tag characters: a reader must see them.
const odd = /((?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}])/gu;
const svg = "http://www.w3.org/2000/svg";
const isNothing = value => (value ?? false) === false;

// el("p.quiet", { id: "x", onclick: f }, "text", child, [children]); "svg:path" is an element of a picture.
export function el(what, ...rest) {
	const [name, ...classes] = what.split(".");
	const node = name.startsWith("svg:") ? document.createElementNS(svg, name.slice(4)) : document.createElement(name);
	if (classes[0]) node.setAttribute("class", classes.join(" ").trim());
	const first = rest[0];
	if (first && typeof first === "object" && !Array.isArray(first) && !(first instanceof Node)) {
		set(node, rest.shift());
	}
	return add(node, rest);
}

function set(node, attrs) {
	for (const [name, value] of Object.entries(attrs)) {
		if (isNothing(value)) continue;
		if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
		else if (/^(value|checked|selected)$/.test(name)) node[name] = value;
		else node.setAttribute(name, value === true ? "" : String(value));
	}
}

export function add(node, children) {
	for (const child of children.flat(Infinity)) {
		if (!isNothing(child)) node.append(child instanceof Node ? child : String(child));
	}
	return node;
}

export const replace = (node, ...children) => (node.replaceChildren(), add(node, children));

// The same only if the state has changed: what has the focus keeps it.
export function refill(node, state, make) {
	const text = JSON.stringify(state);
	if (node.shown !== text) replace(node, make(state));
	node.shown = text;
}

export const invisible = text => String(text).match(odd) ?? [];

const spell = (part, i) => (i % 2 ? el("span.odd", `U+${part.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`) : part);
// A text of others, with what cannot be seen spelt out.
export const visible = text => el("bdi", Array.from(String(text ?? "").split(odd), spell));

export const button = (label, onclick, kind = "", attrs = {}) => el(`button${kind}`, {type: "button", onclick, ...attrs}, label);
export const input = (type, attrs) => el("input", {type, ...attrs});
export const code = text => el("code", visible(text));
export const panel = (title, ...content) => el("section.panel", el("h2", title), content);
export const fold = (label, ...content) => el("details", el("summary", label), content);
export const each = (what, items, make, attrs = {}) => el(what, attrs, [items.map(make)]);
export const list = (items, make) => each("ul", items, item => el("li", make(item)));
export const row = (head, ...cells) => el("tr", el("th", {scope: "row"}, head), cells);

// A table that a narrow window scrolls. head: [[label, class]]; rows: <tr>, or none.
export function grid(caption, head, rows, empty) {
	const labels = head.map(([label, kind]) => el(kind === "n" ? "th.n" : "th", {scope: "col"}, label));
	const body = el("tbody", rows.length ? rows : el("tr", el("td.empty", {colspan: head.length}, empty)));
	return el("div.wide", {tabindex: 0, role: "region", "aria-label": caption}, el("table", el("caption", caption), el("thead", el("tr", labels)), body));
}

export const pageSize = 50;

// A table of records, `size` of them at first. columns: [label, cell(row, context) or a member, "head", "fit" or "n"];
// rows keep their nodes by the member `key`.
export function table({caption, columns, key, empty, size = pageSize, context}) {
	let known = new Map();
	let all;
	const node = el("div");
	const head = columns.map(([label, , kind]) => [label, kind]);
	const more = button("Show more", () => ((size += pageSize), fill(all)));
	const content = (row, cell) => (typeof cell === "string" ? visible(row[cell]) : cell(row, context));
	const make = row => each("tr", columns, ([, cell, kind = ""]) => (kind === "head" ? el("th", {scope: "row"}, content(row, cell)) : el(`td.${kind}`, content(row, cell))));
	const fill = rows => {
		const next = new Map();
		all = rows;
		more.hidden = rows.length <= size;
		const made = rows.slice(0, size).map(row => {
			const id = row[key];
			const state = JSON.stringify(row);
			const old = known.get(id);
			const tr = id !== undefined && old?.state === state ? old.tr : make(row);
			next.set(id, {state, tr});
			return tr;
		});
		known = next;
		const body = node.querySelector("tbody");
		if (made.length && body && !body.querySelector(".empty")) body.replaceChildren(...made);
		else replace(node, grid(caption, head, made, empty()), more);
	};
	return {node, fill};
}

export const facts = pairs => {
	const known = pairs.filter(([, value]) => !isNothing(value) && value.length !== 0);
	return each("dl.facts", known, ([name, value]) => [el("dt", name), el("dd", value)]);
};

export const tag = (text, kind = "") => el(`span.tag.${kind}`, visible(text));

// A choice: values, or pairs of value and label.
const option = (value, label, selected) => el("option", {value, selected}, label);
const options = (pairs, chosen) => pairs.map(p => (Array.isArray(p) ? option(...p, p[0] === chosen) : option(p, visible(p), p === chosen)));
export const select = (pairs, chosen, attrs = {}) => el("select", attrs, options(pairs, chosen));
// Add the values of rows to a choice, or to a list of suggestions.
export const offer = (node, rows, pick) => {
	const known = Array.from(node.options, o => o.value);
	const fresh = new Set(rows.map(pick).filter(value => value && !known.includes(value)));
	node.append(...options([...fresh].sort()));
};

export const labelled = (label, input, grow = false) => el(grow ? "label.grow" : "label", el(grow ? "span.only-read" : "span", label), input);

export const byId = id => document.getElementById(id);

export function status(text) {
	const node = byId("status");
	node.textContent = text;
	clearTimeout(status.timer);
	status.timer = setTimeout(() => (node.textContent = ""), 4000);
}

export const copy = text =>
	navigator.clipboard.writeText(text).then(
		() => status("Copied."),
		() => status("The browser allows no copy."),
	);

export const copyable = text =>
	el(
		"p.item",
		el("pre", text),
		button("Copy", () => copy(text), "", {"aria-label": `Copy: ${text}`}),
	);

// A modal dialog: ask("Title", nodes, "Approve") resolves to the form's data, or to undefined.
export function ask(title, content, label, kind = ".main") {
	return new Promise(resolve => {
		const close = data => {
			dialog.close();
			dialog.remove();
			resolve(data);
		};
		const onsubmit = event => {
			event.preventDefault();
			close(Object.fromEntries(new FormData(form)));
		};
		const leave = button(label ? "Cancel" : "Close", () => close());
		const form = el("form", {method: "dialog", onsubmit}, content, el("div.bar", label && el(`button${kind}`, label), leave));
		const dialog = el("dialog", {"aria-labelledby": "dialog-title", oncancel: () => close()}, el("h2", {id: "dialog-title"}, title), form);
		document.body.append(dialog);
		dialog.showModal();
	});
}

export function span(seconds) {
	const units = {d: 86400, h: 3600, min: 60, s: 1};
	const unit = Object.keys(units).find(name => seconds >= units[name]) ?? "s";
	return `${Math.max(0, Math.floor(seconds / units[unit]))} ${unit}`;
}

// A date in ms since 1970 as time of day, or with its day; the title has all of it.
export function when(ms, isExact) {
	if (isNothing(ms)) return "never";
	const date = new Date(ms);
	const isToday = date.toDateString() === new Date().toDateString();
	const text = isToday ? date.toLocaleTimeString("en-GB") : date.toLocaleString("sv-SE").slice(0, 16);
	return el("time", {datetime: date.toISOString(), title: date.toISOString()}, text, isExact && `.${String(ms % 1000).padStart(3, 0)}`);
}

export function duration(us) {
	if (isNothing(us)) return "–";
	if (us < 1000) return `${Math.round(us)} µs`;
	if (us < 1e6) return `${(us / 1000).toFixed(us < 1e4 ? 1 : 0)} ms`;
	return `${(us / 1e6).toFixed(1)} s`;
}

export const count = n => (isNothing(n) ? "–" : n.toLocaleString("en-US", {maximumFractionDigits: n < 10 ? 1 : 0}));
export const percent = (part, all) => (all ? `${((100 * part) / all).toFixed(1)} %` : "–");
