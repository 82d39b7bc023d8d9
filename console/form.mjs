// SPDX-License-Identifier: GPL-2.0-or-later
// Inputs for the fields of a schema (schema.mjs). A form is built once; reading it gives JSON text.
import { el, visible } from "./dom.mjs";
import { write } from "./json.mjs";
import { decode, describe, encode } from "./schema.mjs";

let ids = 0;

// Each maker returns { node, read(), focus, write(input) }; `id` and `about` connect it with its label and help.
const makers = {
	text(field, id, about) {
		const input = field.isLong ? el("textarea", { id, "aria-describedby": about, rows: 2 }) : el("input", { id, type: "text", "aria-describedby": about, placeholder: hint(field) });
		const empty = el("input", { type: "checkbox", id: `${id}-empty` });
		empty.addEventListener("change", () => (input.disabled = empty.checked));
		const node = el("div", input, el("div.small", el("label", { for: `${id}-empty` }, empty, "empty text")));
		const set = (value) => {
			empty.checked = value?.empty === true;
			input.disabled = empty.checked;
			input.value = typeof value === "string" ? value : "";
		};
		return { node, focus: input, set, read: () => (empty.checked ? { empty: true } : input.value) };
	},
	number(field, id, about) {
		const input = el("input", { id, type: "text", inputmode: "decimal", autocomplete: "off", "aria-describedby": about, placeholder: hint(field) });
		return { node: input, focus: input, set: (value) => (input.value = value ?? ""), read: () => input.value };
	},
	boolean(field, id, about) {
		const radios = ["", "true", "false"].map((value) => el("input", { type: "radio", name: id, value, checked: value === "" }));
		const words = ["left out", "true", "false"];
		const node = el(
			"div.choices",
			{ role: "radiogroup", "aria-labelledby": `${id}-label`, "aria-describedby": about },
			radios.map((radio, i) => el("label", radio, words[i])),
		);
		const set = (value) => radios.forEach((radio) => (radio.checked = radio.value === (value ?? "")));
		return { node, focus: radios[0], set, read: () => radios.find((radio) => radio.checked)?.value ?? "" };
	},
	choice(field, id, about) {
		const options = field.values.map((value, i) => el("option", { value: String(i) }, label(value, field.labels?.[i])));
		const none = el("option", { value: "" }, field.isRequired ? "choose" : "left out");
		const select = el("select", { id, "aria-describedby": about }, none, options);
		return { node: select, focus: select, set: (value) => (select.value = value === undefined ? "" : String(value)), read: () => select.value };
	},
	list(field, id) {
		return rows(field, id, "Add an entry", (item, value) => {
			const inner = build({ ...field.item, name: "", isRequired: true, isEntry: true });
			inner.set(value);
			return { node: inner.node, read: inner.read, focus: inner.focus, fields: inner.fields };
		});
	},
	map(field, id) {
		return rows(field, id, "Add a name", (item, value) => {
			const key = el("input", { type: "text", "aria-label": "Name", value: value?.[0] ?? "" });
			const inner = build({ ...field.item, name: "", isRequired: true, isEntry: true });
			inner.set(value?.[1]);
			return { node: el("div", key, inner.node), read: () => [key.value, inner.read()], focus: key, fields: inner.fields };
		});
	},
	group(field) {
		const inner = field.fields.map((f) => build(f));
		const node = el(
			"div",
			inner.map((i) => i.node),
		);
		const set = (value) => inner.forEach((i, k) => i.set(value?.[field.fields[k].name]));
		const read = () => Object.fromEntries(inner.map((i, k) => [field.fields[k].name, i.read()]));
		return { node, focus: inner[0]?.focus, set, read, fields: inner };
	},
	union(field, id, about) {
		const select = el(
			"select",
			{ id, "aria-describedby": about },
			el("option", { value: "" }, field.isRequired ? "choose" : "left out"),
			field.branches.map((b, i) => el("option", { value: String(i) }, b.label)),
		);
		const place = el("div");
		let inner;
		const show = (value) => {
			const branch = field.branches[select.value];
			inner = branch && makers.group({ ...branch.field, fields: branch.field.fields.filter((f) => f.name !== field.key) });
			inner?.set(value);
			place.replaceChildren(...(inner ? [inner.node] : []));
		};
		select.addEventListener("change", () => show());
		const set = (value) => {
			select.value = value === undefined ? "" : String(value.branch);
			show(value?.input);
		};
		const read = () => ({ branch: select.value, input: inner && { ...inner.read(), [field.key]: 0 } });
		return { node: el("div", select, place), focus: select, set, read, inside: () => inner?.fields ?? [] };
	},
	json(field, id, about) {
		const input = el("textarea", { id, spellcheck: "false", "aria-describedby": about, rows: 4 });
		const schema = el("details", el("summary", "Schema"), el("pre", visible(write(field.schema ?? {}, "  "))));
		return { node: el("div", input, schema), focus: input, set: (value) => (input.value = value ?? ""), read: () => input.value };
	},
};

const hint = (field) => (field.initial === undefined ? undefined : `default ${write(field.initial)}`);

function label(value, title) {
	const text = typeof value === "string" ? value : write(value);
	return visible(title ? `${title} (${text})` : text || "(empty text)");
}

function rows(field, id, more, make) {
	const list = el("div");
	let entries = [];
	const drop = (entry) => {
		entries = entries.filter((e) => e !== entry);
		entry.row.remove();
		button.focus();
	};
	const append = (value) => {
		const entry = make(field.item, value);
		entry.row = el("div.item", entry.node, el("button", { type: "button", onclick: () => drop(entry) }, "Remove"));
		entries.push(entry);
		list.append(entry.row);
		return entry;
	};
	const button = el("button", { type: "button", id, onclick: () => append().focus?.focus() }, more);
	const none = el("input", { type: "checkbox", id: `${id}-none` });
	const node = el("div", list, button, " ", !field.isRequired && el("label.small", none, "send it without entries"));
	const set = (value) => {
		list.replaceChildren();
		entries = [];
		none.checked = value?.length === 0;
		value?.forEach(append);
	};
	const read = () => (entries.length || none.checked || field.isRequired ? entries.map((e) => e.read()) : undefined);
	return { node, focus: button, set, read, inside: () => entries.flatMap((e, i) => [{ ...e, at: i }]) };
}

const wide = new Set(["group", "list", "map", "union"]);

// One field with its label, help, null switch and place for a problem.
export function build(field) {
	const id = `field-${++ids}`;
	const help = [describe(field), field.help].filter(Boolean);
	const made = makers[field.kind](field, id, `${id}-help`);
	const problem = el("p.problem", { id: `${id}-problem`, hidden: true });
	const name = [visible(field.name || field.title || "entry"), field.isRequired ? el("span.bad", { title: "required" }, " *") : el("span.quiet", " optional")];
	const about = help.length ? el("p.help", { id: `${id}-help` }, visible(help.join(". "))) : undefined;
	const nothing = field.isNullable ? el("input", { type: "checkbox", id: `${id}-null` }) : undefined;
	const isOptionalGroup = field.kind === "group" && !field.isRequired;
	const present = isOptionalGroup ? el("input", { type: "checkbox", id: `${id}-in` }) : undefined;
	const nullSwitch = nothing && el("label.small", nothing, "null");
	const body = [present && el("label.small", present, "fill in"), made.node, nullSwitch, about, problem];
	if (present) {
		made.node.hidden = true;
		present.addEventListener("change", () => (made.node.hidden = !present.checked));
	}
	let node;
	if (field.isEntry && !wide.has(field.kind)) {
		made.focus.setAttribute("aria-label", "Entry");
		node = el("div.field", made.node, nullSwitch, problem);
	} else if (wide.has(field.kind)) {
		if (made.focus && field.kind === "union") made.focus.setAttribute("aria-label", String(field.name || "kind"));
		node = el("fieldset", el("legend", name), body);
	} else {
		const head = field.kind === "boolean" ? el("div.label", { id: `${id}-label` }, name) : el("label", { for: id }, name);
		node = el("div.field", head, body);
	}
	const read = () => {
		if (nothing?.checked) return null;
		return present && !present.checked ? undefined : made.read();
	};
	const set = (value) => {
		if (nothing) nothing.checked = value === null;
		if (present) {
			present.checked = value !== undefined && value !== null;
			made.node.hidden = !present.checked;
		}
		made.set(value === null ? undefined : value);
	};
	const complain = (text) => {
		problem.textContent = text;
		problem.hidden = !text;
		if (made.focus) made.focus.setAttribute("aria-invalid", text ? "true" : "false");
		if (text && made.focus) made.focus.setAttribute("aria-describedby", `${id}-problem`);
	};
	return { node, read, set, complain, focus: made.focus, fields: made.fields, inside: made.inside, name: field.name, isGroup: field.kind === "group" };
}

// The built field at a JSON pointer, or the nearest one above it.
function find(built, steps) {
	if (!steps.length) return built;
	const name = steps[0].replaceAll("~1", "/").replaceAll("~0", "~");
	const inner = (built.fields ?? built.inside?.() ?? []).find((f) => f.name === name || String(f.at) === name);
	return inner?.read && (inner.complain || inner.fields) ? find(inner, steps.slice(1)) : built;
}

// The form of a root field.
export function makeForm(field) {
	const root = field.kind === "group" ? makers.group(field) : build({ ...field, name: "arguments" });
	const all = (built) => [built, ...(built.fields ?? built.inside?.() ?? []).flatMap(all)];
	const clear = () => all(root).forEach((built) => built.complain?.(""));
	const complain = (pointer, text) => {
		const built = find(root, pointer.split("/").slice(1));
		built.complain?.(text);
		built.focus?.focus();
		return Boolean(built.complain);
	};
	return {
		node: el("div", root.node, field.kind === "group" && !field.fields.length && el("p.quiet", "This tool takes no arguments.")),
		complain,
		clear,
		// The JSON text of the arguments; undefined: the form has problems, which it shows.
		read() {
			const out = [];
			clear();
			const text = encode(field, root.read(), "", out);
			[...out].reverse().forEach((p) => complain(p.pointer, p.message));
			return out.length ? undefined : (text ?? "{}");
		},
		// False: the fields cannot show this value.
		write(value) {
			const input = decode(field, value);
			if (input === undefined) return false;
			root.set(input);
			return true;
		},
	};
}
