// SPDX-License-Identifier: GPL-2.0-or-later
// The sources, and one of them: its state, its differences from the approved definitions, approval.
import { change, problem, rpc } from "./api.mjs";
import { ask, count, el, facts, invisible, labelled, replace, status, table, tag, visible, when } from "./dom.mjs";
import { write } from "./json.mjs";
import { link, may, query, setQuery } from "./main.mjs";

const kinds = { ready: "good", down: "bad" };
const stateTag = (s) => tag(s.state, kinds[s.state] ?? "warn");
const needsAttention = (s) => s.state !== "ready" || s.withheld > 0 || Boolean(s.problem);

export async function render(node, name) {
	return name === undefined ? await renderList(node) : await renderOne(node, name);
}

async function renderList(node) {
	const { sources } = await rpc("causeway.sources.list");
	const { q = "", only = "" } = query();
	const search = el("input", { type: "search", value: q, placeholder: "Filter by name or problem" });
	const choice = el("select", el("option", { value: "", selected: !only }, "all"), el("option", { value: "attention", selected: only === "attention" }, "needs attention"));
	const list = table({
		caption: "Sources of methods",
		key: (s) => s.name,
		columns: [
			{ label: "Name", header: true, cell: (s) => el("a", { href: link(`/sources/${encodeURIComponent(s.name)}`) }, visible(s.name)) },
			{ label: "State", class: "fit", cell: stateTag },
			{ label: "Kind", class: "fit", cell: (s) => s.kind },
			{ label: "Tools", class: "n", cell: (s) => count(s.tools) },
			{ label: "Methods", class: "n", cell: (s) => count(s.methods) },
			{ label: "Withheld", class: "n", cell: (s) => (s.withheld ? el("strong.warn", count(s.withheld)) : "0") },
			{ label: "Described", class: "fit", cell: (s) => when(s.refreshed) },
			{ label: "Problem", cell: (s) => el("div.text", visible(s.problem ?? "")) },
		],
		empty: () =>
			sources.length
				? [el("p", "No source matches the filter."), el("button", { onclick: clear }, "Clear the filter")]
				: [el("p", "No sources. Plugins are read from plugins.directory; a JSON-RPC service is added by:"), el("pre", "causeway import URL")],
	});
	const update = () => {
		const text = search.value.toLowerCase();
		setQuery({ q: search.value, only: choice.value });
		list.fill(sources.filter((s) => `${s.name} ${s.problem ?? ""}`.toLowerCase().includes(text) && (!choice.value || needsAttention(s))));
	};
	const clear = () => {
		search.value = choice.value = "";
		update();
	};
	search.addEventListener("input", update);
	choice.addEventListener("change", update);
	replace(node, el("div.title", el("h1", "Sources")), el("div.bar", labelled("Filter", search, true), labelled("Show", choice)), el("section.panel", list.node));
	update();
}

function valueText(value) {
	return value === undefined || value === null ? "nothing" : typeof value === "string" ? value : write(value);
}

function changeNode(d) {
	const hidden = invisible(valueText(d.new)).length;
	return el(
		"div",
		el("code", visible(d.pointer)),
		" ",
		d.old !== undefined && el("del", visible(valueText(d.old))),
		" ",
		d.new !== undefined && el("ins", visible(valueText(d.new))),
		hidden > 0 && el("strong.bad", ` ${hidden} invisible`),
	);
}

async function renderOne(node, name) {
	const { sources } = await rpc("causeway.sources.list");
	const source = sources.find((s) => s.name === name);
	if (!source) throw Object.assign(new Error("No source has this name."), { isMissing: true });
	const place = el("div");
	const definitions = el("section.panel", el("h2", "Definitions"), place);
	const refresh = el("button", { onclick: onRefresh }, "Refresh");
	const isService = source.kind !== "plugin";

	async function onRefresh() {
		refresh.disabled = true;
		status("Discovery runs.");
		await rpc("causeway.sources.refresh", { names: [name] }).then(
			() => load(),
			(error) => replace(place, problem(error, "The source was not refreshed.")),
		);
		refresh.disabled = false;
	}

	async function load() {
		const fresh = (await rpc("causeway.sources.list")).sources.find((s) => s.name === name) ?? source;
		replace(state, stateFacts(fresh));
		if (may("administer sources") && isService) await loadDiff();
	}

	async function loadDiff() {
		replace(place, el("p.quiet", "Comparing with the approved definitions…"));
		let diff;
		try {
			diff = await rpc("causeway.sources.diff", { names: [name] });
		} catch (error) {
			const isOff = /state\.lock/.test(error.message);
			replace(
				place,
				isOff ? el("p.quiet", "No definitions are checked. Set state.lock to withhold changed tools until they are approved.") : problem(error, "The definitions could not be compared."),
			);
			return;
		}
		showDiff(diff);
	}

	function showDiff({ differences, problems, etag }) {
		const own = differences.filter((d) => d.source === name);
		if (problems?.length)
			replace(
				place,
				problems.map((p) => el("div.notice.soft", el("p", visible(p.problem)))),
			);
		else replace(place);
		if (!own.length) {
			place.append(el("p.good", "All tools match their approved definitions."));
			return;
		}
		const boxes = own.map((d) => el("input", { type: "checkbox", checked: d.change !== "gone" && !looksDestructive(d), "aria-label": `Approve ${d.method}` }));
		const rows = own.map((d, i) =>
			el(
				"tr",
				el("td.fit", boxes[i]),
				el("th", { scope: "row" }, visible(d.method)),
				el("td.fit", tag(d.change, d.change === "new" ? "warn" : d.change === "gone" ? "" : "bad"), looksDestructive(d) && tag("destructive by its name", "bad")),
				el("td", (d.differences ?? []).map(changeNode)),
			),
		);
		const head = el(
			"tr",
			["Approve", "Method", "Difference", "Members"].map((text) => el("th", { scope: "col" }, text)),
		);
		place.append(
			el("div.wide", { tabindex: 0, role: "region", "aria-label": "Differences" }, el("table", el("caption", "Differences from the approved definitions"), el("thead", head), el("tbody", rows))),
			el(
				"p",
				el(
					"button.main",
					{
						onclick: () =>
							approve(
								own.filter((_, i) => boxes[i].checked),
								etag,
							),
					},
					"Approve the selected…",
				),
			),
		);
	}

	async function approve(chosen, etag) {
		if (!chosen.length) {
			status("Select what to approve.");
			return;
		}
		const list = el(
			"ul",
			chosen.map((d) => el("li", el("strong", visible(d.method)), ` ${d.change}`, (d.differences ?? []).map(changeNode))),
		);
		const answer = await ask(`Approve ${chosen.length} of ${name}?`, [el("p", "Callers with their permissions can use these tools at once, as described here."), list], "Approve");
		if (!answer) return;
		try {
			await change("causeway.sources.approve", { names: [name], etag, methods: chosen.map((d) => d.method) });
			status("Approved.");
		} catch (error) {
			place.prepend(problem(error, "Nothing was approved."));
			return;
		}
		await load();
	}

	const state = el("div");
	const stateFacts = (s) =>
		facts([
			["State", [stateTag(s), s.since ? [" since ", when(s.since)] : ""]],
			["Kind", s.kind],
			["Tools", el("a", { href: link("/tools", { source: name }) }, `${count(s.tools)} tools of ${count(s.methods)} methods`)],
			["Withheld", s.withheld ? el("strong.warn", `${s.withheld}, until approved`) : "none"],
			["Described", when(s.refreshed)],
			["Problem", s.problem && el("span.bad", visible(s.problem))],
		]);
	replace(node, el("div.title", el("h1", visible(name)), may("administer sources") && refresh), el("section.panel", state), may("administer sources") && isService && definitions);
	await load();
}

const looksDestructive = (d) => /(^|[._/-])(delete|remove|drop|wipe|purge|destroy|truncate|reset|shutdown|kill)/i.test(d.method);
