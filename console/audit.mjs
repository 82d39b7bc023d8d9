// SPDX-License-Identifier: GPL-2.0-or-later
// Records of the audit: a search with filters in the address, and one record with each value as a filter.
import { problem, rpc } from "./api.mjs";
import { ask, count, duration, el, facts, labelled, option, replace, table, tag, visible, when } from "./dom.mjs";
import { go, link, query, setQuery } from "./main.mjs";

const step = 100;
const most = 1000;
const spans = [
	["15m", "last 15 minutes"],
	["1h", "last hour"],
	["24h", "last day"],
	["7d", "last week"],
	["", "all"],
];
const kinds = ["call", "refusal", "login", "change", "lost"];
const outcomes = ["ok", "error", "failed", "asks", "cancelled", "invalid", "unavailable", "hidden", "login", "scopes", "forbidden", "too_many", "wrong", "clear_text", "forged", "logout"];
const look = (outcome) => (outcome === "ok" ? "good" : ["asks", "cancelled", "logout"].includes(outcome) ? "" : "bad");
const filters = { caller: "caller", method: "tool", tool: "tool", outcome: "outcome", kind: "kind" };

function showRecord(record) {
	const pairs = Object.entries(record).map(([name, value]) => {
		const text = typeof value === "string" ? value : JSON.stringify(value);
		const filter = filters[name];
		return [name, filter ? el("a", { href: link("/audit", { since: query().since, [filter]: text }), title: "Only these" }, visible(text)) : visible(text)];
	});
	const words = ["caller", "kind", "outcome"].filter((name) => record[name]).map((name) => `--${name} ${record[name]}`);
	const command = `causeway audit ${words.join(" ")}${record.method ? ` --tool ${record.method}` : ""}`;
	return ask("Audit record", [facts(pairs), el("p.quiet", "From a terminal:"), el("pre", visible(command))]);
}

export async function render(node) {
	const given = query();
	const since = el(
		"select",
		spans.map(([value, label]) => option(value, label, given.since ?? "1h")),
	);
	const kind = el(
		"select",
		option("", "any", given.kind ?? ""),
		kinds.map((k) => option(k, k, given.kind)),
	);
	const outcome = el(
		"select",
		option("", "any", given.outcome ?? ""),
		outcomes.map((o) => option(o, o, given.outcome)),
	);
	const caller = el("input", { type: "text", value: given.caller ?? "", size: 12 });
	const tool = el("input", { type: "text", value: given.tool ?? "", size: 18 });
	const text = el("input", { type: "search", value: given.q ?? "", placeholder: "Search the records found" });
	const summary = el("p.quiet", { role: "status" });
	const further = el("button", { hidden: true, onclick: () => ((limit = most), load()) }, "Search further");
	const save = el("a.button", { hidden: true }, "Save as JSONL");
	const place = el("div");
	let records = [];
	let limit = step;
	let file;
	const list = table({
		caption: "Records, the newest first",
		columns: [
			{ label: "Time", class: "fit", cell: (r) => el("button.plain", { onclick: () => showRecord(r) }, when(Date.parse(r.time))) },
			{ label: "Kind", class: "fit", cell: (r) => r.kind },
			{ label: "Outcome", class: "fit", cell: (r) => r.outcome && tag(r.outcome, look(r.outcome)) },
			{ label: "Caller", cell: (r) => visible(r.caller ?? "") },
			{ label: "Method", cell: (r) => el("span.mono", visible(r.tool ?? r.method ?? "")) },
			{ label: "Door", class: "fit", cell: (r) => r.door ?? "" },
			{ label: "Address", class: "fit", cell: (r) => visible(r.address ?? "") },
			{ label: "Took", class: "n", cell: (r) => (r.us === undefined ? "" : duration(r.us)) },
			{ label: "Detail", cell: (r) => el("div.text", visible(r.detail ?? "")) },
		],
		empty: () => [el("p", "No record matches these filters."), el("button", { onclick: () => go(link("/audit", { since: "" })) }, "Clear the filters")],
	});
	place.append(list.node);

	function fill(more) {
		const words = text.value.toLowerCase();
		const found = records.filter((r) => !words || JSON.stringify(r).toLowerCase().includes(words));
		list.fill(found);
		const oldest = records.at(-1);
		replace(summary, `${count(found.length)} found`, oldest ? [", back to ", when(Date.parse(oldest.time))] : "", more ? ", older ones were not searched" : "");
		if (file) URL.revokeObjectURL(file);
		file = URL.createObjectURL(
			new Blob(
				found.map((r) => `${JSON.stringify(r)}\n`),
				{ type: "application/x-ndjson" },
			),
		);
		save.href = file;
		save.download = "audit.jsonl";
		save.hidden = !found.length;
	}

	async function load() {
		const params = { since: since.value, kind: kind.value, outcome: outcome.value, caller: caller.value, tool: tool.value };
		setQuery({ ...params, q: text.value });
		const used = Object.fromEntries(Object.entries(params).filter(([, v]) => v));
		try {
			const got = await rpc("causeway.audit.search", { ...used, limit });
			records = got.records;
			further.hidden = !got.more || limit === most;
			fill(got.more);
			if (!place.contains(list.node)) replace(place, list.node);
		} catch (error) {
			const isOff = /audit\.path/.test(error.message);
			replace(
				place,
				isOff
					? el("div.empty", el("p", "No audit is written. Set the key in the configuration:"), el("pre", "audit:\n  path: /var/lib/causeway/audit.jsonl"))
					: problem(error, "The audit could not be searched."),
			);
		}
	}
	for (const input of [since, kind, outcome, caller, tool]) input.addEventListener("change", () => ((limit = step), load()));
	text.addEventListener("input", () => (setQuery({ q: text.value }), fill(false)));
	replace(
		node,
		el("div.title", el("h1", "Audit"), save),
		el("div.bar", labelled("Time", since), labelled("Kind", kind), labelled("Outcome", outcome), labelled("Caller", caller), labelled("Tool", tool), labelled("Search", text, true)),
		el("section.panel", summary, place, further),
	);
	await load();
	return { close: () => file && URL.revokeObjectURL(file) };
}
