// SPDX-License-Identifier: GPL-2.0-or-later
// Who may call which tool: a matrix whose cells lead to the explanation of the decision.
import { problem, rpc } from "./api.mjs";
import { el, labelled, option, replace, tag, visible } from "./dom.mjs";
import { link, query, setQuery } from "./main.mjs";

const pageSize = 50;
const columnsMax = 20;
const words = {
	yes: ["may call", "yes"],
	asks: ["asks: a login or a token with more scopes", "asks"],
	listed: ["listed, but may not call", "asks"],
	hidden: ["hidden", "no"],
};

// The rows of all pages of the method: { tools, rows }.
async function load(accounts) {
	let tools;
	const rows = [];
	for (let after; ; ) {
		const got = await rpc("causeway.access.matrix", { ...(accounts ? { accounts: true } : {}), ...(after === undefined ? {} : { after }) });
		tools ??= got.tools;
		rows.push(...got.rows);
		if (!got.more) return { tools, rows };
		after = got.rows.at(-1).name;
	}
}

function whyView(why, as, kind) {
	const rules = el(
		"ol",
		why.rules.map((r) => el("li", tag(r.passes ? "yes" : "no", r.passes ? "good" : "bad"), ` ${r.rule} `, el("code", visible(r.what)))),
	);
	const said =
		{
			allowed: "A call is allowed.",
			login: "A call asks for a login.",
			scopes: "A call asks for a token with more scopes.",
			forbidden: "A call is refused: a permission is missing.",
			hidden: "The caller gets the answer of an unknown tool.",
		}[why.call] ?? why.call;
	const missing = why.rules.filter((r) => !r.passes && /scope/.test(r.rule)).map((r) => r.what);
	const command = missing.length && kind === "account" ? `causeway token create ${as} ${missing.map((s) => `--scope ${s}`).join(" ")}` : `causeway why ${why.tool} --${kind} ${as}`;
	return el(
		"div",
		{ role: "status" },
		el("h2", visible(why.tool), " for ", visible(as)),
		el("p", el("strong", said), ` In lists it is ${why.list}.`),
		rules,
		el("p.quiet", "Rates are not part of this. The same from a terminal:"),
		el("pre", visible(command)),
	);
}

export async function render(node) {
	const { tool = "", as = "", kind = "role", q = tool, different = "" } = query();
	let shown = pageSize;
	let data = await load(kind === "account");
	const search = el("input", { type: "search", value: q, placeholder: "Filter tools" });
	const kinds = el("select", option("role", "roles", kind), option("account", "accounts", kind));
	const only = el("input", { type: "checkbox", checked: different === "1" });
	const place = el("div");
	const why = el("section.panel", { hidden: true });
	const more = el("button", { onclick: () => ((shown += pageSize), fill()) }, "Show more tools");
	let names = "";
	const columns = el("input", { type: "search", value: names, placeholder: `Columns (at most ${columnsMax})` });

	async function explain(toolName, subject) {
		setQuery({ tool: toolName, as: subject, kind: kinds.value });
		why.hidden = false;
		try {
			replace(why, whyView(await rpc("causeway.access.why", { tool: toolName, [kinds.value]: subject }), subject, kinds.value));
		} catch (error) {
			replace(why, problem(error, "The decision could not be explained."));
		}
	}

	function cell(word, toolName, subject) {
		const [text, look] = words[word] ?? [word, "no"];
		const mark = word === "hidden" ? "–" : word;
		return el(
			"td",
			el(
				`a.cell-${look}`,
				{
					href: link("/who", { tool: toolName, as: subject, kind: kinds.value }),
					title: text,
					"aria-label": `${mark} ${text}: ${toolName} for ${subject}`,
					onclick: (event) => (event.preventDefault(), event.stopPropagation(), explain(toolName, subject)),
				},
				mark,
			),
		);
	}

	function fill() {
		const text = search.value.toLowerCase();
		names = columns.value.toLowerCase();
		setQuery({ q: search.value, kind: kinds.value, different: only.checked ? "1" : "" });
		const subjects = data.rows.filter((r) => r.name.toLowerCase().includes(names));
		const cols = subjects.slice(0, columnsMax);
		const rows = data.tools.map((name, i) => ({ name, cells: cols.map((c) => c.cells[i]) })).filter((r) => r.name.toLowerCase().includes(text) && (!only.checked || new Set(r.cells).size > 1));
		const head = el(
			"tr",
			el("th", { scope: "col" }, "Tool"),
			cols.map((c) => el("th", { scope: "col" }, visible(c.name))),
		);
		const body = rows.slice(0, shown).map((r) =>
			el(
				"tr",
				el("th", { scope: "row" }, el("a.mono", { href: link(`/tools/${encodeURIComponent(r.name)}`) }, visible(r.name))),
				r.cells.map((word, i) => cell(word, r.name, cols[i].name)),
			),
		);
		more.hidden = rows.length <= shown;
		const empty = el(
			"tr",
			el(
				"td.empty",
				{ colspan: cols.length + 1 },
				el("p", "No tool matches the filters."),
				el("button", { onclick: () => ((search.value = ""), (only.checked = false), fill()) }, "Clear the filters"),
			),
		);
		const caption = `yes: may call · asks: a login or scopes · –: hidden. ${cols.length} of ${subjects.length} columns`;
		replace(
			place,
			el("div.wide", { tabindex: 0, role: "region", "aria-label": "Who may call which tool" }, el("table", el("caption", caption), el("thead", head), el("tbody", body.length ? body : empty))),
		);
	}
	search.addEventListener("input", fill);
	columns.addEventListener("input", fill);
	only.addEventListener("change", fill);
	kinds.addEventListener("change", async () => {
		data = await load(kinds.value === "account");
		why.hidden = true;
		fill();
	});
	replace(
		node,
		el("div.title", el("h1", "Who may")),
		el("div.bar", labelled("Filter tools", search, true), labelled("Filter columns", columns, true), labelled("Columns", kinds), el("label", only, "where they differ")),
		why,
		el("section.panel", place, more),
	);
	fill();
	if (tool && as) await explain(tool, as);
}
