// SPDX-License-Identifier: GPL-2.0-or-later
// The state of the server, and what needs the operator.
import { isDemo, mcpPath, rpc } from "./api.mjs";
import { copy, count, el, facts, replace, span, tag, visible, when } from "./dom.mjs";
import { link } from "./main.mjs";

const every = 5000;

function figures(pairs) {
	return el(
		"dl.figures",
		pairs.map(([name, value]) => el("div", el("dt", name), el("dd", value))),
	);
}

// Each thing that an operator should look at, with the page that helps.
function needs(status, sources) {
	const out = [];
	for (const s of sources) {
		const page = link(`/sources/${encodeURIComponent(s.name)}`);
		if (s.withheld) out.push([`${s.withheld} ${s.withheld === 1 ? "tool" : "tools"} of ${s.name} withheld until approved`, page, "warn"]);
		if (s.problem) out.push([`${s.name}: ${s.problem}`, page, s.state === "down" ? "bad" : "warn"]);
	}
	if (status.restart.length) out.push([`Changed keys wait for a restart: ${status.restart.join(", ")}`, link("/about"), "warn"]);
	return out;
}

function firstSteps() {
	const base = location.origin;
	const lines = [
		`curl ${base}${mcpPath} --json '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
		`curl ${base}/jsonrpc --json '{"jsonrpc":"2.0","id":1,"method":"examples.articles.list"}'`,
		`curl ${base}/readyz`,
	];
	return el(
		"section.panel",
		el("h2", "From a terminal"),
		lines.map((line) => el("p.item", el("pre", line), el("button", { onclick: () => copy(line), "aria-label": `Copy: ${line}` }, "Copy"))),
	);
}

export async function render(node) {
	const stale = el("p.quiet");
	const top = el("div");
	const attention = el("section.panel", el("h2", "Needs you"));
	const body = el("div");
	attention.append(body);
	const list = el("section.panel", el("h2", "Sources"));
	const rows = el("div");
	list.append(rows);
	let timer;

	async function load() {
		const [status, { sources }] = await Promise.all([rpc("causeway.status"), rpc("causeway.sources.list")]);
		const states = Object.entries(status.sources).filter(([, n]) => n);
		const up = status.server.started ? span((Date.now() - status.server.started) / 1000) : undefined;
		replace(
			top,
			el(
				"p.lead",
				el("strong.good", "Serving"),
				` ${count(status.tools)} tools of ${count(status.methods)} methods · `,
				states.map(([name, n]) => `${n} ${n === 1 ? name.replace(/s$/, "") : name}`).join(", ") || "no sources",
				up && ` · up ${up}`,
				` · version ${status.server.version}`,
			),
			el(
				"section.panel",
				figures([
					["tools", count(status.tools)],
					["methods", count(status.methods)],
					["connections", count(status.connections)],
					["sources", count(sources.length)],
					["withheld tools", count(sources.reduce((n, s) => n + (s.withheld ?? 0), 0))],
				]),
			),
		);
		const wanted = needs(status, sources);
		replace(
			body,
			wanted.length
				? el(
						"ul",
						wanted.map(([text, page, kind]) => el("li", el(`a.${kind}`, { href: page }, visible(text)))),
					)
				: el("p.good", "Nothing. All sources are ready."),
		);
		replace(
			rows,
			sources.length
				? facts(
						sources.map((s) => [
							el("a", { href: link(`/sources/${encodeURIComponent(s.name)}`) }, visible(s.name)),
							[tag(s.state, s.state === "ready" ? "good" : s.state === "down" ? "bad" : "warn"), ` ${count(s.tools)} tools`],
						]),
					)
				: el("div.empty", el("p", "No sources yet. Import a JSON-RPC service:"), el("pre", "causeway import --help")),
		);
		replace(stale);
	}

	const tick = async () => {
		if (!document.hidden) {
			const since = Date.now();
			await load().catch(() => replace(stale, el("strong.bad", "Not live since "), when(since), ". The numbers below are old."));
		}
		timer = setTimeout(tick, every);
	};
	await load();
	timer = setTimeout(tick, every);
	replace(node, el("div.title", el("h1", "Overview")), stale, top, el("div.grid", attention, list), isDemo && firstSteps());
	return { close: () => clearTimeout(timer) };
}
