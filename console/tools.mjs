// SPDX-License-Identifier: GPL-2.0-or-later
// The catalogue of tools, and one tool: its description, and calls of it.
import {asCurl, isDemo, missing, problem, request, rpc, send, toolPages} from "./api.mjs";
import {add, button, code, copy, count, each, el, facts, fold, input, offer, pageSize, panel, replace, select, status, table, tag, visible} from "./dom.mjs";
import {fieldOf, makeForm} from "./form.mjs";
import {anchor, badge, filters, may, query, sourceLink, toolLink, writePage} from "./frame.mjs";
import {parse, plain, pretty, textOf, write} from "./json.mjs";

// A tool of a list of MCP, or of the administration methods. `shown` is what clients get.
function toolOf(t) {
	const shown = t.tool ?? t;
	const annotations = t.mark?.annotations ?? shown.annotations ?? {};
	return {
		...t,
		name: t._meta?.["causeway/name"] ?? t.name,
		portable: t.portableName ?? t.name,
		title: t.mark?.title ?? shown.title ?? annotations.title,
		input: t.input ?? shown.inputSchema,
		shown,
		annotations,
	};
}

const needsOf = ({permissions = [], scopes = []}) => [...permissions.map(needs => badge(needs, "", "/tools", {needs})), ...scopes.map(s => tag(`scope ${s}`, "warn"))];

function flags({annotations}) {
	const is = name => (annotations[`${name}Hint`] ?? annotations[name]) === true;
	if (is("readOnly")) return tag("read only", "good");
	return is("destructive") && tag("destructive", "bad");
}

// The tools with all these words, the first `size` of them behind `after`: { tools, more, total }.
const findAll = (words, chosen, after) => rpc("tools.list", {words, ...chosen, after, limit: pageSize}).then(found => ({...found, tools: found.tools.map(toolOf)}));

// The same in the caller's own view; `onMore` is called for each page.
async function findOwn(onMore) {
	const all = [];
	const pages = toolPages();
	const read = async () => {
		const {value = [], done} = await pages.next();
		all.push(...value.map(toolOf));
		return !done;
	};
	const wordsOf = t => `${t.name} ${t.title ?? ""} ${t.description ?? ""}`.toLowerCase();
	const rest = async () => {
		while (await read()) onMore();
	};
	await read();
	rest().catch(error => status(`Not all tools were loaded: ${error.message}`));
	return (words, _, after) => {
		const matching = all.filter(t => words.split(/\s+/).every(word => wordsOf(t).includes(word)));
		const from = after ? matching.findIndex(t => t.name === after) + 1 : 0;
		return {tools: matching.slice(from, from + pageSize), more: matching.length > from + pageSize, total: matching.length};
	};
}

export async function tools(node) {
	const seesAll = may("view traffic");
	let all = [];
	let visit = 0;
	const search = input("search", {placeholder: "Search name, text, source  ( / )", maxlength: 200});
	const given = query();
	// A choice whose values arrive later than that of the address.
	const choice = name => select([["", "all"], ...(given[name] ? [given[name]] : [])]);
	const choices = seesAll ? {source: choice("source"), needs: choice("needs")} : {};
	const summary = el("span.quiet", {role: "status"});
	const more = button("Show more", () => update(true));
	const found = table({
		caption: "Tools",
		key: "name",
		size: Infinity,
		columns: [
			["Name", t => toolLink(t.name), "head"],
			["Description", t => [t.title && el("strong", visible(t.title)), el("div.cut.quiet", visible(t.description))]],
			seesAll && ["Source", t => sourceLink(t.source), "fit"],
			["Kind", flags, "fit"],
			seesAll && ["Needs", needsOf],
		].filter(Boolean),
		empty: () => (Object.values(values()).some(Boolean) ? empty("tool") : el("p", "No tools are visible. Mark methods with tool: true in the overlay of their source.")),
	});
	const find = seesAll ? findAll : await findOwn(() => all.length < pageSize && update());
	async function update(isMore) {
		const own = ++visit;
		const {q, ...chosen} = values();
		const got = await find(q.trim().toLowerCase(), chosen, isMore ? all.at(-1).name : "");
		if (own !== visit) return;
		all = isMore ? all.concat(got.tools) : got.tools;
		found.fill(all);
		more.hidden = !got.more;
		replace(summary, `${count(all.length)} of ${count(got.total)}`);
	}
	const {bar, values, empty} = filters({q: search, ...choices}, () => update());
	await update();
	if (seesAll) {
		rpc("sources.list").then(({sources}) => offer(choices.source, sources, s => s.tools && s.name));
		rpc("tools.list", {permissions: true, limit: 1}).then(({permissions}) => offer(choices.needs, permissions, String));
	}
	writePage(node, "Tools", "", add(bar, [summary]), el("section.panel", found.node, more));
}

async function load(name) {
	if (may("view traffic")) return toolOf(await rpc("tools.describe", {name}, {isExact: true}));
	for await (const page of toolPages()) {
		const found = page.map(toolOf).find(t => t.name === name || t.portable === name);
		if (found) return found;
	}
	throw missing("No tool of this name is visible to you.");
}

const most = 500;

function tree(value, name, depth = 0) {
	const label = name === undefined ? "" : el("span.k", visible(name), ": ");
	const isList = Array.isArray(value);
	const outer = depth ? "li" : "div";
	if (!isList && !(value instanceof Map)) {
		const text = textOf(value);
		return el(outer, label, el("span.s", linkOf(text) ?? visible(text)));
	}
	const pairs = isList ? value.map((v, i) => [String(i), v]) : [...value];
	const size = pairs.length;
	const inner = pairs.slice(0, most).map(([k, v]) => tree(v, k, depth + 1));
	const rest = size > most && el("li.quiet", `${size - most} more: see the wire view`);
	return el(outer, el("details", {open: depth < 3 && size <= 50}, el("summary", label, isList ? `[${size}]` : `{${size}}`), el("ul", inner, rest)));
}

// Only addresses of the web are links, without a referrer.
function linkOf(text) {
	if (text.length > 2000 || !/^https?:\/\/[!-~]+$/i.test(text) || !URL.canParse(text)) return;
	return el("a", {href: new URL(text).href, target: "_blank", rel: "noreferrer"}, text);
}

const json = value => el("pre", visible(write(value, "  ")));

function block(content) {
	if (content.type === "text") return el("pre", visible(content.text));
	if (content.type === "image" && /^image\/(png|jpeg|gif|webp)$/.test(content.mimeType)) {
		try {
			const bytes = Uint8Array.from(atob(content.data), c => c.charCodeAt(0));
			const address = URL.createObjectURL(new Blob([bytes], {type: content.mimeType}));
			return el("img", {src: address, alt: "Picture of the result", onload: () => URL.revokeObjectURL(address)});
		} catch {
			return el("p.bad", "A picture that cannot be decoded.");
		}
	}
	if (content.type === "resource_link") return el("p", "Link: ", linkOf(String(content.uri)) ?? visible(content.uri));
	return json(content);
}

// Tabs over views. views: { name: node }; `mayLeave(next)` can refuse.
function tabs(views, mayLeave = () => true) {
	const names = Object.keys(views);
	const place = el("div");
	const choose = (name, isForced) => {
		if (!isForced && !mayLeave(name)) return;
		bar.dataset.view = name;
		names.forEach((other, i) => {
			bar.children[i].setAttribute("aria-selected", String(other === name));
			bar.children[i].tabIndex = other === name ? 0 : -1;
		});
		place.replaceChildren(views[name]);
	};
	const onkeydown = event => {
		const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
		if (!step) return;
		const at = (names.indexOf(bar.dataset.view) + step + names.length) % names.length;
		choose(names[at]);
		bar.children[names.indexOf(bar.dataset.view)].focus();
	};
	const one = name => button(name, () => choose(name), "", {role: "tab"});
	const bar = each("div.tabs", names, one, {role: "tablist", "aria-label": "Views", onkeydown});
	choose(names[0], true);
	return {node: el("div", bar, place), choose};
}

// ---- one call and its result ----

function outcomeOf({error, result}) {
	if (error) return ["error", "bad"];
	if (result.isError) return ["failed", "bad"];
	return result.resultType === "input_required" ? ["asks", "warn"] : ["ok", "good"];
}

function resultView(answer, sent, took, onQuestion) {
	const message = plain(answer.message);
	const {result, error} = message;
	const exact = answer.message.get("result");
	const word = outcomeOf(message);
	const ids = ["request", "trace"].map(name => answer[name] && [` · ${name} `, code(answer[name])]);
	const line = el("p", {role: "status", "data-outcome": word[0]}, tag(...word), `${took} ms · ${new Blob([answer.text]).size} bytes · HTTP ${answer.status}`, ids);
	if (word[0] === "asks") return [line, onQuestion(exact)];
	const trouble = () => [
		el("p.bad", visible(error.message)),
		error.data !== undefined && tree(answer.message.get("error").get("data")),
		answer.challenge && el("p.quiet", "Challenge: ", code(answer.challenge)),
		answer.retry && el("p", `Try again in ${answer.retry} s.`),
	];
	const views = {Result: el("div", error ? trouble() : (result.content ?? []).map(block))};
	if (exact instanceof Map && exact.has("structuredContent")) views.Structured = el("div.json", tree(exact.get("structuredContent")));
	views.Wire = el("div", el("h3", "Request"), el("pre", visible(pretty(sent.body))), el("h3", "Response"), json(answer.message));
	return [line, tabs(views).node];
}

// The questions of a tool. `onAnswer` gets inputResponses as JSON text.
function questions(exact, source, onAnswer) {
	const asked = [...exact.get("inputRequests")].map(([key, value]) => {
		const {method, params} = plain(value);
		const schema = method === "elicitation/create" && params.requestedSchema;
		return {key, text: params?.message ?? method, form: schema ? makeForm(fieldOf(schema)) : undefined};
	});
	const legend = `${source || "The tool"} asks`;
	const nodes = asked.map(({text, form}) => el("fieldset", el("legend", visible(legend)), el("p", visible(text)), form?.node ?? el("p.warn", "The console cannot answer this kind of question.")));
	const answer = action => () => {
		const responses = [];
		for (const {key, form} of asked) {
			const content = action === "accept" ? form?.read() : undefined;
			if (action === "accept" && form && content === undefined) return;
			responses.push(`${JSON.stringify(key)}:{"action":"${form ? action : "decline"}"${content === undefined ? "" : `,"content":${content}`}}`);
		}
		onAnswer(`{${responses.join(",")}}`);
	};
	return el("div", nodes, el("div.bar", button("Answer", answer("accept"), ".main"), button("Decline", answer("decline")), button("Cancel the question", answer("cancel"))));
}

function argumentsView(described) {
	const form = makeForm(fieldOf(described.input ?? {type: "object"}));
	const text = el("textarea.code", {spellcheck: "false", "aria-label": "Arguments as JSON"});
	const warning = el("p.warn", {role: "status"});
	// Run with text that may be no JSON.
	const tryJson = use => {
		try {
			return use();
		} catch (error) {
			replace(warning, `This is no JSON: ${error.message}.`);
		}
	};
	// A text that the form cannot show stays text.
	const showInForm = () => {
		const isShown = tryJson(() => form.write(parse(text.value || "{}")));
		if (isShown === false) replace(warning, "The form cannot show these arguments. They stay as JSON.");
		return isShown;
	};
	let isText = false;
	const mayLeave = next => {
		replace(warning);
		if (next === "Form" && isText && !showInForm()) return false;
		if (next === "JSON" && !isText) text.value = pretty(form.read() ?? "{}");
		isText = next === "JSON" || (isText && next !== "Form");
		return true;
	};
	const views = {Form: form.node, JSON: el("div", el("p.quiet.small", "Sent as it is written here."), text), "As clients see it": json(described.shown)};
	const all = tabs(views, mayLeave);
	return {
		node: el("div", all.node, warning),
		read: () => (isText ? tryJson(() => write(parse(text.value || "{}"))) : form.read()),
		complain: (pointer, message) => !isText && form.complain(pointer, message),
		preset(args) {
			try {
				text.value = pretty(args);
			} catch {
				return status("The arguments in the address are no JSON.");
			}
			if (showInForm()) return;
			isText = true;
			return all.choose("JSON", true);
		},
	};
}

function trial(described) {
	const args = argumentsView(described);
	const isDestructive = flags(described)?.textContent === "destructive";
	const callButton = button("Call", onCall, ".main", {title: "Ctrl+Enter"});
	const cancel = button("Cancel", () => running?.abort(), "", {hidden: true});
	const progress = el("p", {hidden: true, role: "status"});
	const result = el("div.result", {hidden: true});
	const token = input("password", {autocomplete: "off", placeholder: "optional", id: "token"});
	let running;
	let isArmed = false;

	const compose = (text, more = {}) => request("tools/call", {name: described.portable, raw: {arguments: text, ...more}, args: parse(text), schema: described.shown.inputSchema});
	const arm = armed => {
		isArmed = armed;
		callButton.textContent = armed ? "Call: press again, this tool is destructive" : "Call";
	};

	function onCall() {
		const text = args.read();
		if (text === undefined || running) return;
		const isFirst = isDestructive && !isArmed;
		arm(isFirst);
		if (isFirst) setTimeout(arm, 5000, false);
		else call(text);
	}

	async function call(text, more) {
		const sent = compose(text, more);
		const begun = performance.now();
		running = new AbortController();
		callButton.disabled = result.hidden = true;
		cancel.hidden = progress.hidden = false;
		replace(progress, "Running…");
		try {
			const answer = await send(sent, {signal: running.signal, token: token.value.trim() || undefined, onMessage});
			const took = Math.round(performance.now() - begun);
			const state = exact => (exact.has("requestState") ? {requestState: write(exact.get("requestState"))} : {});
			const onQuestion = exact => questions(exact, described.source, inputResponses => call(text, {inputResponses, ...state(exact)}));
			replace(result, el("h2", "Result"), resultView(answer, sent, took, onQuestion));
			// "/nid: expected integer, got string" belongs to a field.
			const told = plain(answer.message).result;
			const found = told?.isError && /^(\/\S*): (.+)$/s.exec(told.content?.[0]?.text ?? "");
			if (found) args.complain(found[1], found[2]);
		} catch (error) {
			const cancelled = () => el("p", {role: "status", "data-outcome": "cancelled"}, tag("cancelled", "warn"), "The call was cancelled. The tool may have done part of its work.");
			replace(result, error.name === "AbortError" ? cancelled() : problem(error, "The call failed."));
		}
		running = undefined;
		callButton.disabled = result.hidden = false;
		cancel.hidden = progress.hidden = true;
	}

	function onMessage({method, params}) {
		if (method !== "notifications/progress") return;
		const {progress: done, total, message} = params;
		replace(progress, el("progress", {value: done, max: total, "aria-label": "Progress"}), ` ${done}${total === undefined ? "" : ` of ${total}`} `, message && visible(message));
	}

	const withArguments = use => () => {
		const text = args.read();
		if (text !== undefined) copy(use(text));
	};
	const onsubmit = event => (event.preventDefault(), onCall());
	const help = el("p.help", "A session has no scopes. The token stays in this tab and is not stored.");
	const withToken = fold("Call with a token", el("form.field", {onsubmit}, el("label", {for: "token"}, "Token"), token, help));
	const address = text => `${location.origin}${location.pathname}?${new URLSearchParams({args: text})}`;
	const curl = text => asCurl(compose(text));
	const bar = el("div.bar", callButton, cancel, button("Copy as curl", withArguments(curl)), button("Copy link", withArguments(address)));
	const preset = query().args;
	if (preset) args.preset(preset);
	return {node: panel("Try it", args.node, !isDemo && withToken, bar, progress, result), close: () => running?.abort(), onCall};
}

export async function tool(node, name) {
	const described = await load(name);
	const {title, description, portable, source} = described;
	const needs = needsOf(described);
	const tried = trial(described);
	const about = panel(
		"About",
		el("p", visible(description)),
		facts([
			["Name", code(name)],
			["For models", portable !== name && code(portable)],
			["Source", source && sourceLink(source)],
			["Kind", flags(described)],
			["Needs", needs.length ? needs : "no permission of its own"],
		]),
	);
	writePage(node, visible(title || name), may("view audit") && anchor("Who may call it", "/who", {tool: name}), el("div.grid.half", about, tried.node));
	return tried;
}
