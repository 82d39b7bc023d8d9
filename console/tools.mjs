// SPDX-License-Identifier: GPL-2.0-or-later
// The catalogue of tools: all of them for callers who may view the traffic, else the caller's own view.
import { rpc } from "./api.mjs";
import { count, el, labelled, option, replace, table, tag, visible } from "./dom.mjs";
import { link, may, query, setQuery } from "./main.mjs";
import { listTools } from "./mcp.mjs";

const pageSize = 50;

// { name, title, text, source, flags, needs } of every tool.
async function load() {
	if (!may("view traffic")) {
		return (await listTools()).map((t) => ({
			name: t._meta?.["causeway/name"] ?? t.name,
			title: t.title ?? t.annotations?.title,
			text: t.description ?? "",
			source: "",
			annotations: t.annotations ?? {},
			needs: [],
		}));
	}
	const all = [];
	for (let after; ; ) {
		const { tools, more } = await rpc("causeway.tools.list", after === undefined ? {} : { after });
		all.push(
			...tools.map((t) => ({
				name: t.name,
				title: t.mark?.title,
				text: t.description ?? "",
				source: t.source,
				annotations: t.mark?.annotations ?? {},
				needs: [...(t.permissions ?? []), ...(t.scopes ?? []).map((s) => `scope ${s}`)],
			})),
		);
		if (!more) return all;
		after = tools.at(-1).name;
	}
}

export const flags = (annotations) => {
	const is = (name) => annotations[`${name}Hint`] ?? annotations[name];
	return [is("readOnly") === true && ["read only", "good"], is("destructive") === true && is("readOnly") !== true && ["destructive", "bad"]].filter(Boolean);
};

export async function render(node) {
	const all = await load();
	const { q = "", source = "" } = query();
	const sources = [...new Set(all.map((t) => t.source))].filter(Boolean).sort();
	let shown = pageSize;
	const search = el("input", { type: "search", value: q, placeholder: "Search name, text, source  ( / )" });
	const from = el(
		"select",
		option("", "all sources", source),
		sources.map((name) => option(name, visible(name), source)),
	);
	const summary = el("span.quiet", { role: "status" });
	const more = el("button", { onclick: () => ((shown += pageSize), update()) }, "Show more");
	const list = table({
		caption: "Tools",
		key: (t) => t.name,
		columns: [
			{ label: "Name", header: true, cell: (t) => el("a.mono", { href: link(`/tools/${encodeURIComponent(t.name)}`) }, visible(t.name)) },
			{ label: "Description", cell: (t) => [t.title && el("strong", visible(t.title)), el("div.cut.quiet", visible(t.text))] },
			...(sources.length ? [{ label: "Source", class: "fit", cell: (t) => el("a", { href: link(`/sources/${encodeURIComponent(t.source)}`) }, visible(t.source)) }] : []),
			{ label: "Kind", class: "fit", cell: (t) => flags(t.annotations).map(([text, kind]) => tag(text, kind)) },
			...(sources.length ? [{ label: "Needs", cell: (t) => t.needs.map((name) => tag(name)) }] : []),
		],
		empty: () =>
			all.length
				? [el("p", "No tool matches the search."), el("button", { onclick: clear }, "Clear the search")]
				: el("p", "No tools are visible. Mark methods with tool: true in the overlay of their source."),
	});
	const update = () => {
		const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
		const found = all.filter((t) => {
			const text = `${t.name} ${t.title ?? ""} ${t.text} ${t.source}`.toLowerCase();
			return (!from.value || t.source === from.value) && words.every((word) => text.includes(word));
		});
		setQuery({ q: search.value, source: from.value });
		list.fill(found.slice(0, shown));
		more.hidden = found.length <= shown;
		replace(summary, `${count(Math.min(shown, found.length))} of ${count(found.length)}`);
	};
	const clear = () => {
		search.value = from.value = "";
		update();
	};
	search.addEventListener("input", () => ((shown = pageSize), update()));
	from.addEventListener("change", () => ((shown = pageSize), update()));
	replace(node, el("div.title", el("h1", "Tools")), el("div.bar", labelled("Search", search, true), sources.length > 0 && labelled("Source", from), summary), el("section.panel", list.node, more));
	update();
}
