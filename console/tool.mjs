// SPDX-License-Identifier: GPL-2.0-or-later
// One tool: its description, and a call of it through the MCP endpoint, as any client makes it.
import { isDemo, problem, rpc } from "./api.mjs";
import { copy, el, facts, replace, status, tag, visible } from "./dom.mjs";
import { makeForm } from "./form.mjs";
import { Num, parse, plain, pretty, write } from "./json.mjs";
import { link, may } from "./main.mjs";
import { asCurl, listTools, request, send } from "./mcp.mjs";
import { fieldOf } from "./schema.mjs";
import { flags } from "./tools.mjs";

// { name, portable, title, text, source, input, output, shown, ... }
async function load(name) {
	if (may("view traffic")) {
		const all = await rpc("causeway.tools.describe", { name }, { isExact: true });
		const t = all.tool ?? {};
		return {
			...all,
			portable: all.portableName ?? name,
			title: all.mark?.title ?? t.title,
			text: all.description,
			input: all.input ?? t.inputSchema,
			shown: t,
			annotations: all.mark?.annotations ?? t.annotations ?? {},
		};
	}
	const found = (await listTools()).find((t) => t.name === name || t._meta?.["causeway/name"] === name);
	if (!found) throw Object.assign(new Error("No tool of this name is visible to you."), { isMissing: true });
	return {
		name,
		portable: found.name,
		title: found.title,
		text: found.description,
		input: found.inputSchema,
		output: found.outputSchema,
		shown: found,
		annotations: found.annotations ?? {},
	};
}

// ---- values ----

// A folding view of a value of json.mjs.
export function tree(value, name, depth = 0) {
	const label = name === undefined ? "" : el("span.k", visible(name), ": ");
	const isList = Array.isArray(value);
	if (!isList && !(value instanceof Map)) {
		const text = value instanceof Num ? value.text : typeof value === "string" ? value : write(value);
		return el(depth ? "li" : "div", label, el("span.s", linkOf(text) ?? visible(text)));
	}
	const size = isList ? value.length : value.size;
	const pairs = isList ? value.map((v, i) => [String(i), v]) : [...value];
	const limit = 500;
	const inner = el("details", { open: depth < 3 && size <= 50 }, el("summary", label, isList ? `[${size}]` : `{${size}}`));
	const list = el(
		"ul",
		pairs.slice(0, limit).map(([k, v]) => tree(v, k, depth + 1)),
		size > limit && el("li.quiet", `${size - limit} more: see the wire view`),
	);
	inner.append(list);
	return el(depth ? "li" : "div", inner);
}

// Only addresses of the web are links, and they learn nothing about this page.
function linkOf(text) {
	if (text.length > 2000 || !/^https?:\/\/[!-~]+$/i.test(text) || !URL.canParse(text)) return undefined;
	return el("a", { href: new URL(text).href, target: "_blank", rel: "noopener noreferrer" }, text);
}

const pictures = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

function bytesOf(base64) {
	return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

function block(content) {
	if (content.type === "text") return el("pre", visible(content.text));
	if (content.type === "image" && pictures.has(content.mimeType)) {
		try {
			const address = URL.createObjectURL(new Blob([bytesOf(content.data)], { type: content.mimeType }));
			return el("img", { src: address, alt: "Picture of the result", onload: () => URL.revokeObjectURL(address) });
		} catch {
			return el("p.bad", "A picture that cannot be decoded.");
		}
	}
	if (content.type === "resource_link") return el("p", "Link: ", linkOf(String(content.uri)) ?? visible(content.uri));
	return el("pre", visible(write(content, "  ")));
}

// ---- one call and its result ----

function tabs(all) {
	const place = el("div");
	const bar = el("div.tabs", { role: "tablist" });
	const choose = (i) => {
		[...bar.children].forEach((b, k) => {
			b.setAttribute("aria-selected", String(k === i));
			b.tabIndex = k === i ? 0 : -1;
		});
		replace(place, all[i][1]());
	};
	const onkeydown = (event) => {
		const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
		if (!step) return;
		const at = ([...bar.children].indexOf(event.target) + step + all.length) % all.length;
		choose(at);
		bar.children[at].focus();
	};
	all.forEach(([name], i) => bar.append(el("button", { type: "button", role: "tab", onclick: () => choose(i), onkeydown }, name)));
	choose(0);
	return el("div", bar, place);
}

function resultView(answer, sent, took, onQuestion) {
	const message = plain(answer.message);
	const { result, error } = message;
	const exact = answer.message.get("result");
	const size = new Blob([answer.text]).size;
	const word = error ? ["error", "bad"] : result.isError ? ["failed", "bad"] : result.resultType === "input_required" ? ["asks", "warn"] : ["ok", "good"];
	const line = el(
		"p",
		{ role: "status", "data-outcome": word[0] },
		tag(...word),
		`${took} ms · ${size} bytes · HTTP ${answer.status}`,
		answer.requestId && [" · request ", el("code", visible(answer.requestId))],
	);
	if (result?.resultType === "input_required") return [line, onQuestion(exact)];
	const views = [];
	if (error)
		views.push([
			"Result",
			() => [
				el("p.bad", visible(error.message)),
				error.data !== undefined && tree(answer.message.get("error").get("data")),
				answer.challenge && el("p.quiet", "Challenge: ", el("code", visible(answer.challenge))),
			],
		]);
	else views.push(["Result", () => (result.content ?? []).map(block)]);
	if (exact instanceof Map && exact.has("structuredContent")) views.push(["Structured", () => el("div.json", tree(exact.get("structuredContent")))]);
	views.push(["Wire", () => [el("h3", "Request"), el("pre", visible(pretty(sent.body))), el("h3", "Response"), el("pre", visible(write(answer.message, "  ")))]]);
	return [line, tabs(views)];
}

export async function render(node, name) {
	const tool = await load(name);
	const schema = tool.input ?? { type: "object" };
	const form = makeForm(fieldOf(schema));
	const text = el("textarea.code", { spellcheck: "false", "aria-label": "Arguments as JSON" });
	const formView = el("div", form.node);
	const jsonView = el("div", { hidden: true }, el("p.quiet.small", "The arguments as JSON, sent as they are written here."), text);
	const shownView = el("div", { hidden: true }, el("pre", visible(write(tool.shown, "  "))));
	const views = { Form: formView, JSON: jsonView, "As clients see it": shownView };
	const warning = el("p.warn", { role: "status" });
	let view = "Form";
	let running;
	let isArmed = false;

	const bar = el("div.tabs", { role: "tablist", "aria-label": "Views of the arguments" });
	function choose(next) {
		if (next === view) return;
		replace(warning);
		if (view === "Form" && next === "JSON") text.value = pretty(form.read() ?? "{}");
		if (next === "Form" && !showInForm()) return;
		view = next;
		for (const button of bar.children) button.setAttribute("aria-selected", String(button.textContent === view));
		for (const [name, part] of Object.entries(views)) part.hidden = name !== view;
	}
	// A text that the form cannot show stays text.
	function showInForm() {
		if (jsonView.hidden && text.value === "") return true;
		try {
			if (form.write(parse(text.value || "{}"))) return true;
			replace(warning, "The form cannot show these arguments. They stay as JSON.");
		} catch (error) {
			replace(warning, `This is no JSON: ${error.message}.`);
		}
		return false;
	}
	for (const label of Object.keys(views)) bar.append(el("button", { type: "button", role: "tab", "aria-selected": String(label === view), onclick: () => choose(label) }, label));

	function argumentsText() {
		if (view !== "JSON") return form.read();
		try {
			return write(parse(text.value || "{}"));
		} catch (error) {
			replace(warning, `This is no JSON: ${error.message}.`);
			text.focus();
			return undefined;
		}
	}

	const compose = (args, more = {}) => request("tools/call", { name: tool.portable, raw: { arguments: args, ...more }, args: parse(args), schema: tool.shown?.inputSchema });

	const isDestructive = flags(tool.annotations).some(([word]) => word === "destructive");
	const callButton = el("button.main", { type: "button", onclick: onCall, title: "Ctrl+Enter" }, "Call");
	const cancel = el("button", { type: "button", hidden: true, onclick: () => running?.abort() }, "Cancel");
	const progress = el("p", { hidden: true, role: "status" });
	const result = el("div.result", { hidden: true });
	const token = el("input", { type: "password", autocomplete: "off", placeholder: "optional", id: "token" });

	function onCall() {
		const args = argumentsText();
		if (args === undefined || running) return;
		if (isDestructive && !isArmed) {
			isArmed = true;
			callButton.textContent = "Call: press again, this tool is destructive";
			setTimeout(disarm, 5000);
			return;
		}
		disarm();
		call(args);
	}
	const disarm = () => {
		isArmed = false;
		callButton.textContent = "Call";
	};

	async function call(args, more) {
		const sent = compose(args, more);
		const begun = performance.now();
		running = new AbortController();
		callButton.disabled = true;
		cancel.hidden = false;
		progress.hidden = false;
		replace(progress, "Running…");
		result.hidden = true;
		try {
			const answer = await send(sent, { signal: running.signal, token: token.value.trim() || undefined, onMessage: showProgress });
			showAnswer(answer, sent, Math.round(performance.now() - begun), args);
		} catch (error) {
			const wasCancelled = error.name === "AbortError";
			result.hidden = false;
			replace(
				result,
				wasCancelled
					? el("p", { role: "status", "data-outcome": "cancelled" }, tag("cancelled", "warn"), "The call was cancelled. The tool may have done part of its work.")
					: problem(error, "The call failed."),
			);
		}
		running = undefined;
		callButton.disabled = false;
		cancel.hidden = progress.hidden = true;
	}

	function showProgress({ method, params }) {
		if (method !== "notifications/progress") return;
		const total = params.total;
		replace(
			progress,
			el("progress", { value: params.progress, max: total ?? undefined, "aria-label": "Progress" }),
			` ${params.progress}${total === undefined ? "" : ` of ${total}`} `,
			params.message && visible(params.message),
		);
	}

	function showAnswer(answer, sent, took, args) {
		result.hidden = false;
		replace(
			result,
			el("h2", "Result"),
			resultView(answer, sent, took, (exact) => questions(exact, args)),
		);
		// "/nid: expected integer, got string" belongs to a field.
		const failure = plain(answer.message).result;
		const found = failure?.isError && /^(\/\S*): (.+)$/s.exec(failure.content?.[0]?.text ?? "");
		if (found && view === "Form") form.complain(found[1], found[2]);
	}

	// The questions of a tool in the place of its result.
	function questions(exact, args) {
		const asked = [...exact.get("inputRequests")].map(([key, value]) => ({ key, ...plain(value), form: undefined }));
		const nodes = asked.map((q) => {
			const isForm = q.method === "elicitation/create" && q.params.requestedSchema;
			if (isForm) q.form = makeForm(fieldOf(q.params.requestedSchema));
			return el(
				"fieldset",
				el("legend", visible(tool.source ? `${tool.source} asks` : "The tool asks")),
				el("p", visible(q.params?.message ?? q.method)),
				isForm ? q.form.node : el("p.warn", "The console cannot answer this kind of question."),
			);
		});
		const answer = (action) => {
			const responses = [];
			for (const q of asked) {
				const content = action === "accept" && q.form ? q.form.read() : undefined;
				if (action === "accept" && q.form && content === undefined) return;
				responses.push(`${JSON.stringify(q.key)}:{"action":"${q.form ? action : "decline"}"${content === undefined ? "" : `,"content":${content}`}}`);
			}
			call(args, {
				inputResponses: `{${responses.join(",")}}`,
				...(exact.has("requestState") ? { requestState: write(exact.get("requestState")) } : {}),
			});
		};
		return el(
			"div",
			nodes,
			el(
				"div.bar",
				el("button.main", { type: "button", onclick: () => answer("accept") }, "Answer"),
				el("button", { type: "button", onclick: () => answer("decline") }, "Decline"),
				el("button", { type: "button", onclick: () => answer("cancel") }, "Cancel the question"),
			),
		);
	}

	const withArguments = (use) => {
		const args = argumentsText();
		if (args !== undefined) use(args);
	};
	const preset = new URLSearchParams(location.search).get("args");
	if (preset) {
		try {
			text.value = pretty(preset);
			jsonView.hidden = false;
			if (!showInForm()) choose("JSON");
			else jsonView.hidden = true;
		} catch {
			status("The arguments in the address are no JSON.");
		}
	}
	const needs = [...(tool.permissions ?? []).map((p) => tag(p)), ...(tool.scopes ?? []).map((s) => tag(`scope ${s}`, "warn"))];
	replace(
		node,
		el("div.title", el("h1", tool.title ? visible(tool.title) : visible(name)), may("administer access") && el("a", { href: link("/who", { tool: name }) }, "Who may call it")),
		el(
			"div.split",
			el(
				"section.panel",
				el("h2", "About"),
				el("p", visible(tool.text ?? "")),
				facts(
					[
						["Name", el("code", visible(name))],
						["For models", tool.portable !== name && el("code", visible(tool.portable))],
						["Source", tool.source && el("a", { href: link(`/sources/${encodeURIComponent(tool.source)}`) }, visible(tool.source))],
						["Kind", flags(tool.annotations).map(([word, kind]) => tag(word, kind))],
						["Needs", needs.length ? needs : "no permission of its own"],
					].filter(([, v]) => v && v.length !== 0),
				),
				el(
					"details",
					el("summary", "Schemas"),
					el("h3", "Arguments"),
					el("pre", visible(write(schema, "  "))),
					tool.output && [el("h3", "Result"), el("pre", visible(write(tool.output, "  ")))],
				),
			),
			el(
				"section.panel",
				el("h2", "Try it"),
				bar,
				formView,
				jsonView,
				shownView,
				warning,
				!isDemo &&
					el(
						"details",
						el("summary", "Call with a token"),
						el(
							"form.field",
							{ onsubmit: (event) => (event.preventDefault(), onCall()) },
							el("label", { for: "token" }, "Token"),
							token,
							el("p.help", "A session has no scopes. The token stays in this tab and is not stored."),
						),
					),
				el(
					"div.bar",
					callButton,
					cancel,
					el("button", { type: "button", onclick: () => withArguments((args) => copy(asCurl(compose(args)))) }, "Copy as curl"),
					el(
						"button",
						{
							type: "button",
							onclick: () => withArguments((args) => copy(location.origin + link(`/tools/${encodeURIComponent(name)}`, { args }))),
						},
						"Copy link",
					),
				),
				progress,
				result,
			),
		),
	);
	return { close: () => running?.abort(), onCall };
}
