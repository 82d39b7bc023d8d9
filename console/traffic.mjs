// SPDX-License-Identifier: GPL-2.0-or-later
// Pages of the operator: the server, its sources and its calls.
import {attempt, change, isDemo, mcpPath, missing, prefix, problem, quote, rpc} from "./api.mjs";
import {ask, button, code, copyable, count, duration, each, el, facts, grid, input, invisible} from "./dom.mjs";
import {labelled, list, panel, percent, refill, replace, row, select, span, status, table, tag, visible, when} from "./dom.mjs";
import {anchor, badge, filled, filterLink, filters, frame, live, may, query, sourceLink, toolLink, writePage} from "./frame.mjs";
import {textOf, write} from "./json.mjs";

const stateTag = ({state, since}) => [badge(state, {ready: "good", down: "bad"}[state] ?? "warn", "/sources", {q: state}), since && [" since ", when(since)]];
const outcomeLooks = {ok: "good", asks: "", cancelled: "", logout: ""};
export const outcomeTag = (outcome, page) => badge(outcome, outcomeLooks[outcome] ?? "bad", page, {...query(), outcome});
const failed = ["error", "failed", "unavailable"];
const refused = ["invalid", "hidden", "login", "scopes", "forbidden", "too_many"];
export const outcomes = ["ok", ...failed, "asks", "cancelled", ...refused];
const looks = ["good", "warn", "bad"];

const post = (path, method) => `${path} --json '{"jsonrpc":"2.0","id":1,"method":"${method}"}'`;
const second = isDemo ? post("/jsonrpc", "examples.articles.list") : "/mcp/tools/list";
const firstSteps = (origin = location.origin) => [post(mcpPath, "tools/list"), prefix + second, `${prefix}/readyz`].map(path => copyable(`curl ${origin}${path}`));

// First steps: here, in a client, in a terminal.
function welcome(origin, tools) {
	const mcp = origin + mcpPath;
	return el(
		"div.grid",
		panel(
			"Call a tool here",
			el("p.quiet", "They are called as MCP clients do."),
			list(tools.slice(0, 5), t => [toolLink(t.name), el("div.quiet", visible(t.description))]),
		),
		panel("Connect an MCP client", el("p.quiet", "The address, and commands that add it:"), [mcp, `claude mcp add --transport http causeway ${mcp}`, "causeway install --all"].map(copyable)),
		panel("In a terminal", firstSteps(origin)),
	);
}

const width = 400;
const height = 110;

// Lines over time as a picture, and the same as a table. series: [[name, values, class]]; null is a gap.
function chart(title, format) {
	const parts = el("div");
	let rows;
	const place = el("div");
	const ontoggle = () => replace(place, fold.open && rows());
	const fold = el("details", {ontoggle}, el("summary", "As a table"), place);
	const fill = ({step_s, from}, series) => {
		const steps = Math.max(2, ...series.map(([, values]) => values.length));
		const most = Math.max(0, ...series.flatMap(([, values]) => values));
		const x = i => ((i / (steps - 1)) * width).toFixed(1);
		const y = v => (height - (v / (most || 1)) * (height - 6)).toFixed(1);
		const path = values => values.map((v, i) => (v === null ? "" : (values[i - 1] ?? null) === null ? `M${x(i)} ${y(v)}h.1` : `L${x(i)} ${y(v)}`)).join("") || "M0 0";
		const at = i => when(from + i * step_s * 1000);
		const legend = series.map(([name, values, kind]) => el(`span.${kind}`, `${name} ${format(values.at(-1) ?? null)}`));
		const [, whole, look] = series[0];
		const area = whole.length > 1 && !whole.includes(null) && el(`svg:path.area.${look}`, {d: `${path(whole)}V${height}H0Z`});
		const lines = series.map(([, values, kind]) => el(`svg:path.${kind}`, {d: path(values)}));
		const label = `${title}: ${legend.map(node => node.textContent).join(", ")}`;
		replace(
			parts,
			el("figcaption", el("h2", title), el("span.quiet", `at most ${format(most)}`)),
			el("svg:svg", {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, preserveAspectRatio: "none"}, area, lines),
			el("p.axis.small", at(0), at(steps - 1)),
			el("p.legend", legend),
		);
		const times = [...Array(steps).keys()].reverse();
		const head = [["Time"], ...series.map(([name]) => [name, "n"])];
		const line = i => row(at(i), ...series.map(([, values]) => el("td.n", format(values[i] ?? null))));
		rows = () => grid(title, head, times.map(line));
		ontoggle();
	};
	return {node: el("figure.panel", parts, fold), fill};
}

const sum = (stats, names) => {
	const rows = names.map(name => stats.calls[name] ?? []);
	return (stats.calls.ok ?? []).map((_, i) => rows.reduce((n, row) => n + row[i], 0) / stats.step_s);
};
const unit = text => n => count(n) + (n === null ? "" : text);

function charts() {
	const byOutcome = chart("Calls by outcome", unit("/s"));
	const durations = chart("Durations in the sources", duration);
	const idle = chart("Idle by loop", unit(" %"));
	const fill = stats => {
		byOutcome.fill(stats, [
			["ok", sum(stats, ["ok"]), "good"],
			["failed", sum(stats, failed), "bad"],
			["refused", sum(stats, refused), "warn"],
		]);
		const quantile = (name, i) => [name, stats[`${name}_us`], looks[i]];
		durations.fill(stats, ["p50", "p95", "p99"].map(quantile));
		const loop = (values, i) => [`loop ${i + 1}`, values, looks[i % 3]];
		idle.fill(stats, stats.idle.map(loop));
	};
	return {node: el("div.grid", byOutcome.node, durations.node, idle.node), fill};
}

const arraysOf = stats => [...Object.values(stats.calls), stats.p50_us, stats.p95_us, stats.p99_us, stats.running, ...stats.idle];

// Add a step of the stream, with one value in each array. False: steps are missing.
function addStep(stats, step) {
	const {calls, p50_us, p95_us, p99_us, running, idle, from, until, step_s, ...now} = step;
	const ms = stats.step_s * 1000;
	Object.assign(stats, now, {now: step});
	if (stats.step_s !== step_s) return until < stats.until + ms;
	if (until <= stats.until) return true;
	if (from !== stats.until) return false;
	const isFull = stats.running.length * step_s >= Math.min(900, stats.history_s);
	const fresh = arraysOf(step);
	arraysOf(stats).forEach((values, i) => {
		values.push(...fresh[i]);
		if (isFull) values.shift();
	});
	stats.until = until;
	stats.from += isFull ? ms : 0;
	return true;
}

const hasChanged = (sources, step) => {
	const states = new Map(sources.map(s => [s.name, s.state]));
	return step.sources.some(s => (states.get(s.name) ?? s.state) !== s.state);
};

// ---- overview ----

function figures(stats) {
	const now = names => sum(stats, names).at(-1) ?? 0;
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
	return each("dl.figures", pairs, ([name, value]) => el("div", el("dt", name), el("dd", value)));
}

// Problems, each with the page that helps.
function needs(state, sources) {
	const out = [];
	for (const s of sources) {
		const page = `/sources/${encodeURIComponent(s.name)}`;
		if (s.withheld) out.push([`${s.withheld} ${s.withheld === 1 ? "tool" : "tools"} of ${s.name} withheld until approved`, page, "warn"]);
		if (s.problem) out.push([`${s.name}: ${s.problem}`, page, /down|broken/.test(s.state) ? "bad" : "warn"]);
	}
	const left = state.certificate_ends - Date.now();
	if (state.audit === "failing") out.push(["The audit cannot be written", "/audit", "bad"]);
	if (state.certificate_ends && left < 30 * 864e5) out.push([left > 0 ? `The certificate ends in ${span(left / 1000)}` : "The certificate has ended", "/about", "bad"]);
	if (state.restart.length) out.push([`Changed keys wait for a restart: ${state.restart.join(", ")}`, "/about", "warn"]);
	return out;
}

const needLink = ([text, page, kind]) => anchor(visible(text), page, {}, {class: kind});

// Columns of tools and sources.
const rates = [
	["Calls/s", r => count(r.per_s), "n"],
	["Failed", r => percent(r.failed, r.calls), "n"],
	["p95", r => duration(r.p95_us), "n"],
];
const busiest = () =>
	table({
		caption: "Rates of the last seconds, the rest since the start",
		key: "name",
		columns: [["Tool", t => toolLink(t.name), "head"], ...rates],
		empty: () => "No calls yet.",
	});

function refusals(stats) {
	const some = Object.entries(stats.refusals_last_hour).filter(([, n]) => n > 0);
	const page = may("view audit") ? "/audit" : "/calls";
	return some.length ? list(some, ([outcome, n]) => anchor(`${outcome}: ${count(n)}`, page, {outcome, since: "1h"})) : el("p.good", "No call was refused.");
}

const failuresOf = ({sources}) => sources.flatMap(({name, failures}) => Object.entries(failures).map(([why, n]) => [n, why, name]));
const failures = all => list(all.sort((a, b) => b[0] - a[0]).slice(0, 10), ([n, why, name]) => [`${why}: ${count(n)} `, sourceLink(name)]);

function lead({server, sources, tools, methods, audit}) {
	const states = Object.entries(sources).filter(([, n]) => n);
	const word = sources.down || sources.stale ? el("strong.warn", "Serving, with problems") : el("strong.good", "Serving");
	const text = states.map(([name, n]) => `${n} ${n === 1 ? name.replace(/s$/, "") : name}`).join(", ") || "no sources";
	const up = server.started ? ` · up ${span((Date.now() - server.started) / 1000)}` : "";
	return el("p.lead", word, ` ${count(tools)} tools of ${count(methods)} methods · ${text} · audit ${audit}${up} · version ${server.version}`);
}

export async function overview(node) {
	const range = select(["15m", "24h"], "15m");
	const [top, trouble, now, needed, refusedNow, steps] = [1, 2, 3, 4, 5, 6].map(() => el("div"));
	const drawn = charts();
	const tools = busiest();
	let stats;
	let state;
	let all;
	const show = () => {
		const wanted = needs(state, all);
		const rest = wanted.length > 10 && anchor(`all ${count(wanted.length)}`, "/sources", {only: "needs attention"});
		replace(top, lead(state));
		refill(needed, [wanted, all.length], () => (wanted.length ? [list(wanted.slice(0, 10), needLink), rest] : all.length ? el("p.good", "Nothing.") : noSources()));
		replace(trouble, stats.error && problem(stats.error, "No traffic is counted."));
		numbers.hidden = Boolean(stats.error);
		drawn.node.hidden = !stats.history_s;
		if (stats.error) return;
		replace(now, figures(stats.now ?? stats));
		if (stats.history_s) drawn.fill(stats);
		tools.fill(stats.tools);
		const broken = failuresOf(stats);
		refill(refusedNow, [stats.refusals_last_hour, broken], () => [refusals(stats), broken.length > 0 && [el("h3", "Failures in sources since the start"), failures(broken)]]);
		refill(steps, !isDemo && !stats.tools.length, isEmpty => isEmpty && panel("No calls yet. From a terminal:", firstSteps()));
	};
	const load = async () => {
		const counted = rpc("stats", {range: range.value}).catch(error => ({error}));
		[stats, state, {sources: all}] = await Promise.all([counted, rpc("status"), rpc("sources.list")]);
		show();
	};
	const numbers = el("section.panel.numbers", now);
	filters({range}, load);
	await load();
	const examples = isDemo && (await rpc("tools.list", {role: "anonymous"})).tools.filter(t => t.call === "allowed");
	const feed = live({load, onStats: step => (stats.error || hasChanged(all, step) || !addStep(stats, step) ? load() : show())});
	const below = el("div.grid", panel("Needs you", needed), el("section.panel.numbers", el("h2", "Busiest tools"), tools.node), panel("Refusals of the last hour", refusedNow));
	writePage(node, "Overview", [labelled("Range", range), feed.controls], top, isDemo && welcome(`http://${state.listen[0]}`, examples), trouble, numbers, drawn.node, below, steps);
	return feed;
}

// ---- sources ----

const noSources = () => [el("p", "No sources. Plugins are read from plugins.directory; a JSON-RPC service is added by:"), el("pre", "causeway import URL")];
const needsAttention = s => s.state !== "ready" || s.withheld > 0 || s.problem;

export async function sources(node) {
	let all;
	let numbers;
	const search = input("search", {placeholder: "Name, state or problem"});
	const only = select([["", "all"], "needs attention"]);
	const update = () => {
		const text = search.value.toLowerCase();
		const byName = new Map(numbers.map(s => [s.name, s]));
		const wanted = all.filter(s => `${s.name} ${s.state} ${s.problem ?? ""}`.toLowerCase().includes(text) && (!only.value || needsAttention(s)));
		found.fill(wanted.map(s => ({...byName.get(s.name), ...s})));
	};
	const {bar, empty} = filters({q: search, only}, update, {only: "Show"});
	const found = table({
		caption: "Sources of methods",
		key: "name",
		columns: [
			["Name", s => sourceLink(s.name), "head"],
			["State", stateTag, "fit"],
			["Kind", "kind", "fit"],
			["Tools", s => count(s.tools), "n"],
			["Withheld", s => (s.withheld ? el("strong.warn", count(s.withheld)) : "0"), "n"],
			...rates,
			["Queue", s => count(s.queue), "n"],
			["Described", s => when(s.refreshed), "fit"],
			["Problem", s => el("div.text", visible(s.problem))],
		],
		empty: () => (all?.length ? empty("source") : noSources()),
	});
	const load = async () => {
		const counted = rpc("stats").catch(() => ({sources: []}));
		[{sources: all}, {sources: numbers}] = await Promise.all([rpc("sources.list"), counted]);
		update();
	};
	await load();
	const feed = live({load, onStats: step => (hasChanged(all, step) ? load() : ((numbers = step.sources), update()))});
	writePage(node, "Sources", feed.controls, bar, el("section.panel.numbers", found.node));
	return feed;
}

const valueText = value => ((value ?? null) === null ? "nothing" : textOf(value));
const looksDestructive = d => /(^|[._/-])(delete|remove|drop|wipe|purge|destroy|truncate|reset|shutdown|kill)/i.test(d.method);
const changeKinds = {new: "warn", gone: ""};

function changeNode(d) {
	const hidden = invisible(valueText(d.new)).length;
	const side = (what, value) => value !== undefined && [" ", el(what, visible(valueText(value)))];
	return el("div", code(d.pointer), side("del", d.old), side("ins", d.new), hidden > 0 && el("strong.bad", ` ${hidden} invisible`));
}

const approval = ({approved_at, approved_by}) => approved_at && [when(approved_at), approved_by && [" by ", visible(approved_by)]];
const stateFacts = s =>
	facts([
		["State", stateTag(s)],
		["Kind", s.kind],
		["Tools", anchor(`${count(s.tools)} of ${count(s.methods)} methods`, "/tools", {source: s.name})],
		["Withheld", s.withheld ? el("strong.warn", `${s.withheld}, until approved`) : "none"],
		["Described", when(s.refreshed)],
		["Approved", approval(s)],
		["Problem", s.problem && el("span.bad", visible(s.problem))],
	]);

// Differences from the approved definitions, each with a box; `onApprove` gets the checked ones.
function differences(own, onApprove) {
	const boxes = own.map(d => input("checkbox", {checked: d.change !== "gone" && !looksDestructive(d), "aria-label": `Approve ${d.method}`}));
	const rows = own.map((d, i) =>
		el(
			"tr",
			el("td.fit", boxes[i]),
			el("th", {scope: "row"}, visible(d.method)),
			el("td.fit", tag(d.change, changeKinds[d.change] ?? "bad"), looksDestructive(d) && tag("destructive by its name", "bad"), d.approved_at && el("div.quiet.small", "approved ", approval(d))),
			el("td", d.differences?.map(changeNode)),
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
	let mayChange;

	async function onRefresh() {
		refresh.disabled = true;
		status("Discovery runs.");
		await attempt(place, "The source was not refreshed.", () => rpc("sources.refresh", {names: [name]}).then(load));
		refresh.disabled = false;
	}

	async function load() {
		const found = (await rpc("sources.list")).sources.find(s => s.name === name);
		if (!found) throw missing("No source has this name.");
		replace(state, stateFacts(found));
		mayChange = may("administer sources") && found.kind !== "plugin";
		if (mayChange) await loadDifferences();
		return found;
	}

	async function loadDifferences() {
		try {
			const {differences: all, problems = [], etag} = await rpc("sources.diff", {names: [name]});
			const own = all.filter(d => d.source === name);
			replace(
				place,
				problems.map(p => el("div.notice.soft", el("p", visible(p.problem)))),
				own.length ? differences(own, chosen => approve(chosen, etag)) : el("p.good", "All tools match their approved definitions."),
			);
		} catch (error) {
			const off = () => el("p.quiet", "No definitions are checked. Set state.lock to withhold changed tools until they are approved.");
			replace(place, /state\.lock/.test(error.message) ? off() : problem(error, "The definitions could not be compared."));
		}
	}

	async function approve(chosen, etag) {
		if (!chosen.length) return status("Select what to approve.");
		const all = list(chosen, d => [el("strong", visible(d.method)), ` ${d.change}`, d.differences?.map(changeNode)]);
		if (!(await ask(`Approve ${chosen.length} of ${name}?`, [el("p", "Callers with their permissions can use these tools at once, as described here."), all], "Approve"))) return;
		try {
			await change("sources.approve", {names: [name], etag, methods: chosen.map(d => d.method)});
			status("Approved.");
		} catch (error) {
			await loadDifferences();
			return place.prepend(problem(error, "Nothing was approved."));
		}
		return load();
	}

	await load();
	writePage(node, visible(name), mayChange && refresh, el("section.panel", state), mayChange && panel("Definitions", place));
}

// ---- calls ----

const kept = 200;
const filterOf = {caller: "caller", method: "tool", tool: "tool", outcome: "outcome", kind: "kind"};

// A record: its values as filters or searches, and the command that finds it.
export function showRecord(title, record, page, more) {
	const pairs = Object.entries(record).map(([name, value]) => {
		const text = textOf(value);
		const filter = filterOf[name] ?? (may("view audit") && "q");
		return [name, filter ? filterLink(visible(text), filter === "q" ? "/audit" : page, {since: query().since, [filter]: text}) : visible(text)];
	});
	const words = ["caller", "kind", "outcome"].filter(name => record[name]).map(name => ` --${name} ${quote(record[name])}`);
	const tool = record.tool ?? record.method;
	return ask(title, [facts(pairs), more, el("p.quiet", "From a terminal:"), el("pre", visible(`causeway audit${words.join("")}${tool ? ` --tool ${quote(tool)}` : ""}`))]);
}

function showCall(call, all) {
	const same = all.filter(c => call.trace_id && c.trace_id === call.trace_id && c !== call);
	return showRecord("Call", call, "/calls", same.length > 0 && [el("p", "Others of the same trace:"), list(same, c => [outcomeTag(c.outcome, "/calls"), toolLink(c.tool), ` ${duration(c.us)}`])]);
}

export async function calls(node) {
	const inputs = {tool: input("search", {placeholder: "Tool  ( / )"}), outcome: select([["", "any"], ...outcomes]), caller: input("text", {size: 12})};
	const wanted = () => filled(values());
	const summary = el("p.quiet");
	const running = el("div");
	let all = [];
	let counted = 0;
	let feed;
	const {bar, values, empty} = filters(inputs, () => load().then(() => feed.select(wanted())));
	const rows = table({
		caption: "Calls, the newest first",
		key: "seq",
		columns: [
			["Time", c => button(when(c.at, true), () => showCall(c, all), ".plain"), "fit"],
			["Outcome", c => outcomeTag(c.outcome, "/calls"), "fit"],
			["Tool", c => c.tool && toolLink(c.tool), "head"],
			["Caller", c => visible(c.caller || "anonymous")],
			["Door", c => visible([c.door, c.version, c.client].filter(Boolean).join(" ")), "fit"],
			["Took", c => duration(c.us), "n"],
			["Reason", "reason"],
		],
		empty: () => (Object.keys(wanted()).length ? empty("call") : [el("p", "No calls yet. From a terminal:"), firstSteps()]),
	});
	const showRate = (shown, ended) => replace(summary, `${count(shown)} a second of ${count(ended)}`);
	const onCalls = ({calls: fresh, left_out}) => {
		const newest = all[0]?.seq ?? 0;
		all = [...fresh.filter(c => c.seq > newest), ...all].slice(0, kept);
		counted = Date.now();
		showRate(fresh.length, fresh.length + left_out);
		rows.fill(all);
	};
	const onStats = stats => {
		// A second without calls has no message.
		if (Date.now() - counted > 2000) showRate(0, 0);
		const busy = stats.sources.filter(s => s.running > 0);
		replace(
			running,
			el(
				"p",
				`${count(stats.running_now)} of ${count(stats.max_calls)} calls run now`,
				busy.map(s => [" · ", sourceLink(s.name), ` ${count(s.running)}`]),
			),
		);
	};
	const load = async () => {
		all = (await rpc("calls.recent", wanted())).calls;
		rows.fill(all);
	};
	rpc("stats").then(onStats, () => {});
	await load();
	feed = live({wanted: wanted(), onCalls, onStats, load});
	writePage(node, "Calls", feed.controls, bar, el("section.panel.numbers", running, summary, rows.node));
	return feed;
}

// ---- about ----

function logLevel() {
	const level = select(["error", "warn", "info", "debug", "off"], "info");
	const components = input("text", {placeholder: "net=debug,access=off"});
	const seconds = input("text", {inputmode: "numeric", size: 6});
	const trouble = el("div");
	const set = () =>
		attempt(trouble, "The level was not changed.", async () => {
			const got = await change("log.level", filled({level: level.value, components: components.value, for_s: seconds.value && Number(seconds.value)}));
			status(`The log has the level ${got.level} now.`);
		});
	const bar = el("div.bar", labelled("Level", level), labelled("Components", components), labelled("Seconds", seconds), button("Set the level", set));
	return panel("Log level", el("p.quiet", "Without seconds: until the next reload or restart."), trouble, bar);
}

const serverFacts = ({server, listen, config, restart}) =>
	facts([
		["Version", server.version],
		["Process", server.pid],
		["Started", when(server.started)],
		["Addresses", listen.join(", ")],
		["Configuration", visible(config || "none")],
		["Waits for a restart", restart.join(", ") || "nothing"],
	]);

export async function about(node) {
	const state = may("view traffic") ? serverFacts(await rpc("status")) : el("p.quiet", "Your account may not view the traffic.");
	const doors = {"MCP clients": mcpPath, "JSON-RPC": `${prefix}/jsonrpc`, REST: `${prefix}/mcp/tools/list`};
	const text = el("pre");
	const show = async () => replace(text, visible(write((await rpc("config.show", {}, {isExact: true})).config, "  ")));
	const note = "Values that may hold secrets are masked. The console never writes the file.";
	const configuration = () => [logLevel(), panel("Configuration in force", el("p.quiet", note), el("details", {ontoggle: show}, el("summary", "Show it"), text))];
	const you = facts([
		["Account", visible(frame.caller.name)],
		["Permissions", list(frame.caller.permissions, visible)],
	]);
	const addresses = facts(Object.entries(doors).map(([name, path]) => [name, code(location.origin + path)]));
	const panels = el("div.grid", panel("Server", state), panel("Addresses for clients", addresses), panel("You", you), panel("Keys", frame.keys()));
	writePage(node, "About", "", panels, may("administer sources") && configuration());
}
