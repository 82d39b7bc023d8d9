// SPDX-License-Identifier: GPL-2.0-or-later
// Elements from data. Texts of services, clients and plugins only ever become text nodes.

// Controls, bidirectional overrides, zero-width and tag characters: a reader must see them.
const odd = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

// el("p.quiet", { id: "x", onclick: f }, "text", child, [children])
export function el(what, ...rest) {
	const [name, ...classes] = what.split(".");
	const node = document.createElement(name);
	if (classes.length) node.className = classes.join(" ");
	const first = rest[0];
	if (first && typeof first === "object" && !Array.isArray(first) && !(first instanceof Node)) {
		set(node, rest.shift());
	}
	add(node, rest);
	return node;
}

function set(node, attributes) {
	for (const [name, value] of Object.entries(attributes)) {
		if (value === undefined || value === null || value === false) continue;
		if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
		else if (name === "value" || name === "checked" || name === "selected" || name === "indeterminate") node[name] = value;
		else node.setAttribute(name, value === true ? "" : String(value));
	}
}

export function add(node, children) {
	for (const child of children.flat(Infinity)) {
		if (child === undefined || child === null || child === false) continue;
		node.append(child instanceof Node ? child : String(child));
	}
	return node;
}

export const replace = (node, ...children) => {
	node.replaceChildren();
	return add(node, children);
};

// The code points of a text that cannot be seen.
export const invisible = (text) => String(text).match(odd) ?? [];

// A text of others, with what cannot be seen spelt out.
export function visible(text) {
	const out = el("bdi");
	let at = 0;
	const all = String(text ?? "");
	for (const found of all.matchAll(odd)) {
		out.append(all.slice(at, found.index));
		const code = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
		out.append(el("span.odd", `U+${code}`));
		at = found.index + found[0].length;
	}
	out.append(all.slice(at));
	return out;
}

// A table with a caption. columns: [{ label, cell(row), class, header }]; rows keep their nodes by key.
export function table({ caption, columns, key, empty, rows: initial }) {
	const body = el("tbody");
	const known = new Map();
	const head = el(
		"tr",
		columns.map((c) => el(`th${c.class ? "." + c.class : ""}`, { scope: "col" }, c.label)),
	);
	const node = el("div.wide", { tabindex: 0, role: "region", "aria-label": caption });
	const grid = el("table", el("caption", caption), el("thead", head), body);
	node.append(grid);
	const make = (row) =>
		el(
			"tr",
			{ "data-key": key?.(row) },
			columns.map((c) => el(`${c.header ? "th" : "td"}${c.class ? "." + c.class : ""}`, c.header ? { scope: "row" } : {}, c.cell(row))),
		);
	const fill = (rows) => {
		const next = rows.map((row) => {
			const id = key ? key(row) : undefined;
			const state = JSON.stringify(row);
			const old = id === undefined ? undefined : known.get(id);
			const tr = old?.state === state ? old.tr : make(row);
			if (id !== undefined) known.set(id, { state, tr });
			return tr;
		});
		if (!next.length && empty) next.push(el("tr", el("td.empty", { colspan: columns.length }, empty())));
		body.replaceChildren(...next);
		const there = new Set(rows.map((row) => key?.(row)));
		for (const id of known.keys()) if (!there.has(id)) known.delete(id);
	};
	if (initial) fill(initial);
	return { node, fill };
}

export const facts = (pairs) =>
	el(
		"dl.facts",
		pairs.filter(([, value]) => value !== undefined && value !== null && value !== "").map(([name, value]) => [el("dt", name), el("dd", value)]),
	);

export const tag = (text, kind = "") => el(`span.tag${kind ? "." + kind : ""}`, visible(text));

export function option(value, label, chosen) {
	return el("option", { value, selected: value === chosen }, label);
}

export function labelled(label, input, grow = false) {
	const node = el(grow ? "label.grow" : "label", el(grow ? "span.only-read" : "span", label), input);
	return node;
}

export function status(text) {
	const node = document.getElementById("status");
	node.textContent = text;
	clearTimeout(status.timer);
	status.timer = setTimeout(() => (node.textContent = ""), 4000);
}

export async function copy(text) {
	await navigator.clipboard.writeText(text).then(
		() => status("Copied."),
		() => status("The browser did not allow to copy."),
	);
}

// A modal dialog: ask("Title", nodes, "Approve") resolves to the form's data, or to undefined.
export function ask(title, content, button, { danger = false } = {}) {
	return new Promise((resolve) => {
		const close = (data) => {
			dialog.close();
			dialog.remove();
			resolve(data);
		};
		const form = el(
			"form",
			{ method: "dialog", onsubmit: (event) => (event.preventDefault(), close(new FormData(form))) },
			content,
			el("div.bar", button && el(danger ? "button.danger" : "button.main", button), el("button", { type: "button", onclick: () => close() }, button ? "Cancel" : "Close")),
		);
		const dialog = el("dialog", { "aria-labelledby": "dialog-title", oncancel: (event) => (event.preventDefault(), close()) }, el("h2", { id: "dialog-title" }, title), form);
		document.body.append(dialog);
		dialog.showModal();
	});
}

const units = [
	[86400, "d"],
	[3600, "h"],
	[60, "min"],
];

export function span(seconds) {
	for (const [size, name] of units) {
		if (seconds >= size) return `${Math.floor(seconds / size)} ${name}`;
	}
	return `${Math.max(0, Math.floor(seconds))} s`;
}

// A date in ms since 1970 as time of day, or with its day; the title has all of it.
export function when(ms) {
	if (ms === null || ms === undefined) return "never";
	const date = new Date(ms);
	const today = date.toDateString() === new Date().toDateString();
	const text = today ? date.toLocaleTimeString("en-GB") : date.toLocaleString("sv-SE").slice(0, 16);
	return el("time", { datetime: date.toISOString(), title: date.toISOString() }, text);
}

export function duration(us) {
	if (us === null || us === undefined) return "–";
	if (us < 1000) return `${Math.round(us)} µs`;
	if (us < 1e6) return `${(us / 1000).toFixed(us < 1e4 ? 1 : 0)} ms`;
	return `${(us / 1e6).toFixed(1)} s`;
}

export const count = (n) => (n === null || n === undefined ? "–" : n.toLocaleString("en-US"));
export const percent = (part, all) => (all ? `${((100 * part) / all).toFixed(1)} %` : "–");
