// SPDX-License-Identifier: GPL-2.0-or-later
// Pages of the operator: the state of the server, its sources, its calls as they end, and the server itself.
import { change, isDemo, live, mcpPath, missing, prefix, problem, rpc } from "./api.mjs";
import { ask, button, code, copyable, count, duration, el, facts, grid, invisible, labelled, list, panel, percent, replace, select, span, status, table, tag, visible, when } from "./dom.mjs";
import { write as writeJson } from "./json.mjs";
import { filters, link, may, me, query, sourceLink, toolLink, write } from "./main.mjs";

const stateKinds = { ready: "good", down: "bad" };
const stateTag = (s) => tag(s.state, stateKinds[s.state] ?? "warn");
const quietOutcomes = ["asks", "cancelled", "logout"];
export const outcomeTag = (outcome) => tag(outcome, outcome === "ok" ? "good" : quietOutcomes.includes(outcome) ? "" : "bad");
const failed = ["error", "failed", "unavailable"];
const refused = ["invalid", "hidden", "login", "scopes", "forbidden", "too_many"];
export const outcomes = ["ok", ...failed, "asks", "cancelled", ...refused];
const looks = ["good", "warn", "bad"];

const address = (path) => location.origin + prefix + path;
const firstSteps = () =>
	[
		`curl ${location.origin}${mcpPath} --json '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`,
		`curl ${address("/jsonrpc")} --json '{"jsonrpc":"2.0","id":1,"method":"examples.articles.list"}'`,
		`curl ${address("/readyz")}`,
	].map(copyable);

// ---- charts ----

const width = 400;
const height = 110;

// Lines over time as a picture, and the same as a table. series: [[name, values, class]]; null is a gap.
function chart(title, { step_s, from }, series, format) {
	const steps = Math.max(2, ...series.map(([, values]) => values.length));
	const top = Math.max(1, ...series.flatMap(([, values]) => values));
	const x = (i) => ((i / (steps - 1)) * width).toFixed(1);
	const y = (v) => (height - (v / top) * (height - 6)).toFixed(1);
	const path = (values) => values.map((v, i) => (v === null ? "" : `${values[i - 1] === undefined || values[i - 1] === null ? "M" : "L"}${x(i)} ${y(v)}`)).join("") || "M0 0";
	const last = (values) => format(values.at(-1) ?? null);
	const at = (i) => when(from + i * step_s * 1000);
	const fold = el("details", { ontoggle: () => fold.children.length < 2 && fold.append(rows()) }, el("summary", "As a table"));
	const rows = () => {
		const times = [...Array(steps).keys()].reverse().map((i) =>
			el(
				"tr",
				el("th", { scope: "row" }, at(i)),
				series.map(([, values]) => el("td.n", format(values[i] ?? null))),
			),
		);
		return grid(title, [["Time"], ...series.map(([name]) => [name, "n"])], times);
	};
	return el(
		"figure.panel",
		el("figcaption", el("h2", title), el("span.quiet", `at most ${format(top)}`)),
		el(
			"svg:svg",
			{ viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${series.map(([name, values]) => `${name} ${last(values)}`).join(", ")}`, preserveAspectRatio: "none" },
			series.map(([, values, kind]) => el(`svg:path.${kind}`, { d: path(values) })),
		),
		el(
			"p.legend",
			series.map(([name, values, kind]) => el(`span.${kind}`, `${name} ${last(values)}`)),
		),
		fold,
	);
}

const sum = (stats, names) => {
	const rows = names.map((name) => stats.calls[name] ?? []);
	return (stats.calls.ok ?? []).map((_, i) => rows.reduce((n, row) => n + row[i], 0) / stats.step_s);
};
const rate = (n) => (n === null ? "–" : `${count(n)}/s`);

function charts(stats) {
	const byOutcome = [
		["ok", sum(stats, ["ok"]), "good"],
		["failed", sum(stats, failed), "bad"],
		["refused", sum(stats, refused), "warn"],
	];
	const durations = ["p50", "p95", "p99"].map((name, i) => [name, stats[`${name}_us`], looks[i]]);
	const idle = stats.idle?.map((values, i) => [`loop ${i + 1}`, values, looks[i % 3]]);
	return el(
		"div.grid",
		chart("Calls by outcome", stats, byOutcome, rate),
		chart("Durations in the sources", stats, durations, duration),
		idle?.length > 0 && chart("Idle by loop", stats, idle, (n) => (n === null ? "–" : `${count(n)} %`)),
	);
}

// ---- overview ----

function figures(stats) {
	const now = (names) => sum(stats, names).at(-1) ?? 0;
	const all = now(Object.keys(stats.calls));
	const pairs = [
		["calls a second", count(all)],
		["failed", percent(now(failed), all)],
		["refused", percent(now(refused), all)],
		["p50", duration(stats.p50_us.at(-1))],
		["p95", duration(stats.p95_us.at(-1))],
		["running", `${count(stats.running_now)} of ${count(stats.max_calls)}`],
		["connections", count(stats.connections)],
	];
	return el(
		"dl.figures",
		pairs.map(([name, value]) => el("div", el("dt", name), el("dd", value))),
	);
}

// Each thing that an operator should look at, with the page that helps.
function needs(state, sources) {
	const out = [];
	for (const s of sources) {
		const page = link(`/sources/${encodeURIComponent(s.name)}`);
		if (s.withheld) out.push([`${s.withheld} ${s.withheld === 1 ? "tool" : "tools"} of ${s.name} withheld until approved`, page, "warn"]);
		if (s.problem) out.push([`${s.name}: ${s.problem}`, page, s.state === "down" ? "bad" : "warn"]);
	}
	if (state.restart.length) out.push([`Changed keys wait for a restart: ${state.restart.join(", ")}`, link("/about"), "warn"]);
	return out;
}

const busiest = (tools) =>
	table({
		caption: "Rates of the last seconds, the rest since the start",
		rows: tools,
		columns: [
			["Tool", (t) => toolLink(t.name), "head"],
			["Calls/s", (t) => count(t.per_s), "n"],
			["Failed", (t) => percent(t.failed, t.calls), "n"],
			["p95", (t) => duration(t.p95_us), "n"],
		],
		empty: () => [el("p", "No calls yet. From a terminal:"), firstSteps()],
	}).node;

function refusals(stats) {
	const some = Object.entries(stats.refusals_last_hour ?? stats.refusals).filter(([, n]) => n > 0);
	const page = (outcome) => (may("view audit") ? link("/audit", { outcome, since: "1h" }) : link("/calls", { outcome }));
	if (!some.length) return el("p.good", "No call was refused.");
	return list(some, ([outcome, n]) => el("a", { href: page(outcome) }, `${outcome}: ${count(n)}`));
}

function lead({ server, sources, tools, methods }) {
	const states = Object.entries(sources).filter(([, n]) => n);
	const word = sources.down || sources.stale ? el("strong.warn", "Serving, with problems") : el("strong.good", "Serving");
	const text = states.map(([name, n]) => `${n} ${n === 1 ? name.replace(/s$/, "") : name}`).join(", ") || "no sources";
	const up = server.started ? ` · up ${span((Date.now() - server.started) / 1000)}` : "";
	return el("p.lead", word, ` ${count(tools)} tools of ${count(methods)} methods · ${text}${up} · version ${server.version}`);
}

// Call `load` as often as the numbers of the server change, until the page is closed; load(true): more has changed.
function keepFresh(load, onCalls, wanted) {
	let isBusy = false;
	const again = async () => {
		if (document.hidden || isBusy || document.body.dataset.live === "no") return;
		isBusy = true;
		await load(false).catch(() => {});
		isBusy = false;
	};
	const timer = setInterval(again, 5000);
	const close = live({ wanted, onCalls, onChange: () => load(true).catch(() => {}) });
	return () => {
		clearInterval(timer);
		close();
	};
}

export async function overview(node) {
	const range = select(["15m", "24h"], "15m");
	const place = el("div");
	let known;
	const load = async (isChanged = true) => {
		const stats = await rpc("causeway.stats", { range: range.value }).catch((error) => ({ error }));
		// The state of sources changes rarely: not every tick asks for it.
		if (isChanged || Date.now() > known.until) known = { until: Date.now() + 20_000, state: await rpc("causeway.status"), all: (await rpc("causeway.sources.list")).sources };
		const { state, all } = known;
		const wanted = needs(state, all);
		const open = [...place.querySelectorAll("details")].map((d) => d.open);
		replace(
			place,
			lead(state),
			stats.error ? problem(stats.error, "No traffic is counted.") : [el("section.panel.numbers", figures(stats)), charts(stats)],
			el(
				"div.grid",
				panel("Needs you", wanted.length ? list(wanted, ([text, page, kind]) => el(`a.${kind}`, { href: page }, visible(text))) : el("p.good", "Nothing. All sources are ready.")),
				!stats.error && el("section.panel.numbers", el("h2", "Busiest tools"), busiest(stats.tools)),
				!stats.error && panel("Refusals", refusals(stats)),
				panel(
					"Sources",
					all.length ? facts(all.slice(0, 12).map((s) => [sourceLink(s.name), [stateTag(s), ` ${count(s.tools)} tools`]])) : noSources(),
					all.length > 12 && el("a", { href: link("/sources") }, `all ${all.length}`),
				),
			),
			isDemo && panel("From a terminal", firstSteps()),
		);
		place.querySelectorAll("details").forEach((d, i) => (d.open = open[i] ?? false));
	};
	filters({ range }, load);
	await load();
	write(node, "Overview", labelled("Range", range), place);
	return { close: keepFresh(load) };
}

// ---- sources ----

const noSources = () => [el("p", "No sources. Plugins are read from plugins.directory; a JSON-RPC service is added by:"), el("pre", "causeway import URL")];
const needsAttention = (s) => s.state !== "ready" || s.withheld > 0 || Boolean(s.problem);

export async function sources(node) {
	let all;
	const search = el("input", { type: "search", placeholder: "Filter by name or problem" });
	const only = select([["", "all"], "needs attention"]);
	const update = () => {
		const text = search.value.toLowerCase();
		found.fill(all.filter((s) => `${s.name} ${s.problem ?? ""}`.toLowerCase().includes(text) && (!only.value || needsAttention(s))));
	};
	const { empty } = filters({ q: search, only }, update);
	const found = table({
		caption: "Sources of methods",
		key: (s) => s.name,
		columns: [
			["Name", (s) => sourceLink(s.name), "head"],
			["State", stateTag, "fit"],
			["Kind", (s) => s.kind, "fit"],
			["Tools", (s) => count(s.tools), "n"],
			["Withheld", (s) => (s.withheld ? el("strong.warn", count(s.withheld)) : "0"), "n"],
			["Calls/s", (s) => count(s.per_s), "n"],
			["Failed", (s) => percent(s.failed, s.calls), "n"],
			["p95", (s) => duration(s.p95_us), "n"],
			["Queue", (s) => count(s.queue), "n"],
			["Described", (s) => when(s.refreshed), "fit"],
			["Problem", (s) => el("div.text", visible(s.problem ?? ""))],
		],
		empty: () => (all?.length ? empty("source") : noSources()),
	});
	const load = async () => {
		const [listed, stats] = await Promise.all([rpc("causeway.sources.list"), rpc("causeway.stats").catch(() => ({ sources: [] }))]);
		const byName = new Map(stats.sources.map((s) => [s.name, s]));
		all = listed.sources.map((s) => ({ ...byName.get(s.name), ...s }));
		update();
	};
	await load();
	write(node, "Sources", "", el("div.bar", labelled("Filter", search, true), labelled("Show", only)), el("section.panel.numbers", found.node));
	return { close: keepFresh(load) };
}

const valueText = (value) => (value === undefined || value === null ? "nothing" : typeof value === "string" ? value : writeJson(value));
const looksDestructive = (d) => /(^|[._/-])(delete|remove|drop|wipe|purge|destroy|truncate|reset|shutdown|kill)/i.test(d.method);
const changeKinds = { new: "warn", gone: "" };

function changeNode(d) {
	const hidden = invisible(valueText(d.new)).length;
	return el(
		"div",
		code(d.pointer),
		" ",
		d.old !== undefined && el("del", visible(valueText(d.old))),
		" ",
		d.new !== undefined && el("ins", visible(valueText(d.new))),
		hidden > 0 && el("strong.bad", ` ${hidden} invisible`),
	);
}

const stateFacts = (s) =>
	facts([
		["State", [stateTag(s), s.since && [" since ", when(s.since)]]],
		["Kind", s.kind],
		["Tools", el("a", { href: link("/tools", { source: s.name }) }, `${count(s.tools)} tools of ${count(s.methods)} methods`)],
		["Withheld", s.withheld ? el("strong.warn", `${s.withheld}, until approved`) : "none"],
		["Described", when(s.refreshed)],
		["Problem", s.problem && el("span.bad", visible(s.problem))],
	]);

// The differences from the approved definitions, each with a box; `onApprove` gets those that are checked.
function differences(own, onApprove) {
	const boxes = own.map((d) => el("input", { type: "checkbox", checked: d.change !== "gone" && !looksDestructive(d), "aria-label": `Approve ${d.method}` }));
	const rows = own.map((d, i) =>
		el(
			"tr",
			el("td.fit", boxes[i]),
			el("th", { scope: "row" }, visible(d.method)),
			el("td.fit", tag(d.change, changeKinds[d.change] ?? "bad"), looksDestructive(d) && tag("destructive by its name", "bad")),
			el("td", (d.differences ?? []).map(changeNode)),
		),
	);
	return [
		grid("Differences from the approved definitions", [["Approve"], ["Method"], ["Difference"], ["Members"]], rows),
		button("Approve the selected…", () => onApprove(own.filter((_, i) => boxes[i].checked)), ".main"),
	];
}

export async function source(node, name) {
	const place = el("div");
	const state = el("div");
	const refresh = button("Refresh", onRefresh);
	const mayChange = may("administer sources");

	async function onRefresh() {
		refresh.disabled = true;
		status("Discovery runs.");
		await rpc("causeway.sources.refresh", { names: [name] }).then(load, (error) => replace(place, problem(error, "The source was not refreshed.")));
		refresh.disabled = false;
	}

	async function load() {
		const found = (await rpc("causeway.sources.list")).sources.find((s) => s.name === name);
		if (!found) throw missing("No source has this name.");
		replace(state, stateFacts(found));
		if (mayChange && found.kind !== "plugin") await loadDifferences();
		return found;
	}

	async function loadDifferences() {
		try {
			const { differences: all, problems = [], etag } = await rpc("causeway.sources.diff", { names: [name] });
			const own = all.filter((d) => d.source === name);
			replace(
				place,
				problems.map((p) => el("div.notice.soft", el("p", visible(p.problem)))),
				own.length ? differences(own, (chosen) => approve(chosen, etag)) : el("p.good", "All tools match their approved definitions."),
			);
		} catch (error) {
			const isOff = /state\.lock/.test(error.message);
			replace(
				place,
				isOff ? el("p.quiet", "No definitions are checked. Set state.lock to withhold changed tools until they are approved.") : problem(error, "The definitions could not be compared."),
			);
		}
	}

	async function approve(chosen, etag) {
		if (!chosen.length) return status("Select what to approve.");
		const all = list(chosen, (d) => [el("strong", visible(d.method)), ` ${d.change}`, (d.differences ?? []).map(changeNode)]);
		if (!(await ask(`Approve ${chosen.length} of ${name}?`, [el("p", "Callers with their permissions can use these tools at once, as described here."), all], "Approve"))) return;
		try {
			await change("causeway.sources.approve", { names: [name], etag, methods: chosen.map((d) => d.method) });
			status("Approved.");
		} catch (error) {
			return place.prepend(problem(error, "Nothing was approved."));
		}
		return load();
	}

	const found = await load();
	write(node, visible(name), mayChange && refresh, el("section.panel", state), mayChange && found.kind !== "plugin" && panel("Definitions", place));
}

// ---- calls ----

const most = 200;
const callFilters = { tool: "tool", outcome: "outcome", caller: "caller" };

// A record with each value as a filter, and the command that finds it.
export function showRecord(title, record, page, filterOf, more) {
	const pairs = Object.entries(record).map(([name, value]) => {
		const text = typeof value === "string" ? value : JSON.stringify(value);
		const filter = filterOf[name];
		return [name, filter ? el("a", { href: link(page, { since: query().since, [filter]: text }), title: "Only these" }, visible(text)) : visible(text)];
	});
	const words = ["caller", "kind", "outcome"].filter((name) => record[name]).map((name) => ` --${name} ${record[name]}`);
	const tool = record.tool ?? record.method;
	return ask(title, [facts(pairs), more, el("p.quiet", "From a terminal:"), el("pre", visible(`causeway audit${words.join("")}${tool ? ` --tool ${tool}` : ""}`))]);
}

function showCall(call, all) {
	const same = all.filter((c) => call.trace_id && c.trace_id === call.trace_id && c !== call);
	return showRecord(
		"Call",
		call,
		"/calls",
		callFilters,
		same.length > 0 && [el("p", "Others of the same trace:"), list(same, (c) => [outcomeTag(c.outcome), toolLink(c.tool), ` ${duration(c.us)}`])],
	);
}

export async function calls(node) {
	const tool = el("input", { type: "search", placeholder: "Tool  ( / )" });
	const caller = el("input", { type: "text", size: 12 });
	const outcome = select([["", "any"], ...outcomes]);
	const inputs = { tool, outcome, caller };
	const wanted = () => Object.fromEntries(Object.entries(inputs).flatMap(([name, { value }]) => (value ? [[name, value]] : [])));
	const summary = el("p.quiet");
	const running = el("div");
	let all = [];
	let isPaused = false;
	let close;
	const { empty } = filters(inputs, () => start());
	const rows = table({
		caption: "Calls, the newest first",
		key: (c) => c.seq,
		columns: [
			["Time", (c) => button(when(c.at), () => showCall(c, all), ".plain"), "fit"],
			["Outcome", (c) => outcomeTag(c.outcome), "fit"],
			["Tool", (c) => c.tool && toolLink(c.tool), "head"],
			["Caller", (c) => visible(c.caller || "anonymous")],
			["Door", (c) => visible([c.door, c.version, c.client].filter(Boolean).join(" ")), "fit"],
			["Took", (c) => duration(c.us), "n"],
			["Reason", (c) => visible(c.reason ?? "")],
		],
		empty: () => (Object.keys(wanted()).length ? empty("call") : [el("p", "No calls yet. From a terminal:"), firstSteps()]),
	});
	const pause = button("Pause", () => {
		isPaused = !isPaused;
		pause.textContent = isPaused ? "Go on" : "Pause";
		if (!isPaused) rows.fill(all);
	});
	const onCalls = ({ calls: fresh, left_out }) => {
		const newest = all[0]?.seq ?? 0;
		all = fresh
			.filter((c) => c.seq > newest)
			.concat(all)
			.slice(0, most);
		replace(summary, `${count(fresh.length)} of ${count(fresh.length + left_out)} calls of the last second are shown.`);
		if (!isPaused) rows.fill(all);
	};
	const load = async () => {
		const stats = await rpc("causeway.stats");
		const busy = stats.sources.filter((s) => s.running > 0);
		replace(running, el("p", `${count(stats.running_now)} of ${count(stats.max_calls)} calls run now`, busy.length ? [": ", busy.map((s) => [sourceLink(s.name), ` ${count(s.running)} `])] : "."));
	};
	const start = async () => {
		close?.();
		close = undefined;
		const got = await rpc("causeway.calls.recent", wanted());
		all = got.calls;
		rows.fill(all);
		replace(summary);
		close = keepFresh(load, onCalls, wanted());
	};
	await Promise.all([load(), start()]);
	write(node, "Calls", pause, el("div.bar", labelled("Tool", tool, true), labelled("Outcome", outcome), labelled("Caller", caller)), el("section.panel.numbers", running, summary, rows.node));
	return { close: () => close?.(), onPause: () => pause.click() };
}

// ---- about ----

function logLevel() {
	const level = select(["error", "warn", "info", "debug", "off"], "info");
	const components = el("input", { type: "text", placeholder: "net=debug,access=off" });
	const trouble = el("div");
	const set = async () => {
		replace(trouble);
		try {
			const got = await change("causeway.log.level", { level: level.value, ...(components.value ? { components: components.value } : {}) });
			status(`The log has the level ${got.level} now.`);
		} catch (error) {
			replace(trouble, problem(error, "The level was not changed."));
		}
	};
	const bar = el("div.bar", labelled("Level", level), labelled("Components", components), button("Set the level", set));
	return panel("Log level", el("p.quiet", "In force until the next reload or restart."), trouble, bar);
}

const serverFacts = ({ server, listen, config, restart }) =>
	facts([
		["Version", server.version],
		["Process", server.pid],
		["Started", when(server.started)],
		["Addresses", listen.join(", ")],
		["Configuration", visible(config || "none")],
		["Waits for a restart", restart.join(", ") || "nothing"],
	]);

export async function about(node) {
	const state = may("view traffic") ? serverFacts(await rpc("causeway.status")) : el("p.quiet", "Your account may not view the traffic.");
	const doors = { "MCP clients": location.origin + mcpPath, "JSON-RPC": address("/jsonrpc"), REST: address("/mcp/tools/list") };
	const configuration = async () => {
		const { config } = await rpc("causeway.config.show", {}, { isExact: true });
		const note = el("p.quiet", "Values that may hold secrets are masked. The console never writes the file.");
		return [logLevel(), panel("Configuration in force", note, el("details", el("summary", "Show it"), el("pre", visible(writeJson(config, "  ")))))];
	};
	const you = facts([
		["Account", visible(me().name)],
		["Permissions", list(me().permissions, visible)],
	]);
	const panels = [panel("Server", state), panel("Addresses for clients", facts(Object.entries(doors).map(([name, text]) => [name, code(text)]))), panel("You", you)];
	write(node, "About", "", el("div.grid", panels), may("administer sources") && (await configuration()));
}
