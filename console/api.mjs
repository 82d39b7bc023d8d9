// SPDX-License-Identifier: GPL-2.0-or-later
// Requests to this server: the session's proof, JSON-RPC, errors with advice, and MCP.
import {ask, each, el, input, replace, visible} from "./dom.mjs";
import {loose, parse, plain, textOf} from "./json.mjs";

const root = document.documentElement.dataset;
// Everything before /console/-/HASH/api.mjs.
export const prefix = new URL("../../..", import.meta.url).pathname.replace(/\/$/, "");
export const isDemo = root.mode === "demo";
export const mcpPath = prefix + root.mcp;
export const consolePath = prefix + root.console;
export const loginPath = prefix + root.login;

let proof;
let login;
let ids = 0;
// The last key or click.
export const lastUse = {at: Date.now()};

export const failure = (message, members) => Object.assign(new Error(message), members);
export const missing = text => failure(text, {isMissing: true});

export function goToLogin() {
	localStorage.removeItem("caller");
	location.assign(`${loginPath}?next=${encodeURIComponent(location.pathname + location.search)}`);
	return new Promise(() => {});
}

// Whether a login has replaced the session of a request.
async function isReplaced(before) {
	await login;
	return login !== before;
}

export async function fetchProof() {
	const before = login;
	const answer = await fetch(`${prefix}/session/token`);
	if ([401, 403].includes(answer.status)) return (await isReplaced(before)) ? fetchProof() : goToLogin();
	if (!answer.ok) throw failure("The session cannot be checked at the moment.", {status: answer.status});
	return answer.text();
}

const forget = error => {
	proof = undefined;
	throw error;
};

// POST with the session, or with a token. A stale proof is fetched again. An idle page does not extend the session.
async function post(path, body, headers = {}, {signal, token} = {}) {
	const all = {"Content-Type": "application/json", ...headers};
	if (Date.now() - lastUse.at > 6e4) all["Causeway-Idle"] = "1";
	for (let attempt = 0; ; attempt++) {
		await login;
		const before = login;
		if (token) all.Authorization = `Bearer ${token}`;
		else if (!isDemo) all["X-CSRF-Token"] = await (proof ??= fetchProof().catch(forget));
		const answer = await fetch(path, {method: "POST", body, headers: all, signal, cache: "no-store", credentials: token ? "omit" : "same-origin"});
		if (token || isDemo) return answer;
		const isOver = answer.status === 401 && !answer.headers.get("WWW-Authenticate")?.includes("scope");
		if (isOver && (attempt > 0 || !(await isReplaced(before)))) return goToLogin();
		if (!isOver && (answer.status !== 403 || attempt > 0 || !(await answer.clone().text()).includes("X-CSRF-Token"))) return answer;
		proof = undefined;
	}
}

// One administration method: its result, or an error. isExact: numbers keep their text.
export async function rpc(method, params = {}, {isExact = false} = {}) {
	const answer = await post(`${prefix}/jsonrpc`, JSON.stringify({jsonrpc: "2.0", id: ++ids, method: `causeway.${method}`, params}));
	const text = await answer.text();
	let message;
	try {
		message = isExact ? loose(parse(text)) : JSON.parse(text);
	} catch {
		throw failure(`The server answered with status ${answer.status}.`, {status: answer.status});
	}
	const {error, result} = message;
	if (!error) return result;
	const detail = typeof error.data === "string" ? `${error.message}: ${error.data}` : error.message;
	throw failure(detail, {code: Number(error.code), retry: Number(answer.headers.get("Retry-After"))});
}

// A method that needs a recent login: an old session asks for the password first.
export async function change(method, params) {
	try {
		return await rpc(method, params);
	} catch (error) {
		if (error.code !== -32012) throw error;
		await confirmAgain();
		return await rpc(method, params);
	}
}

// Ask for the password again, and send the login form.
async function confirmAgain() {
	const {name} = (await rpc("whoami")).caller;
	for (let problem = ""; ; ) {
		const password = input("password", {name: "password", autocomplete: "current-password", required: true, id: "confirm"});
		const content = [
			el("p", "This change needs a recent login."),
			problem && el("p.bad", {role: "alert"}, problem),
			el("div.field", el("label", {for: "confirm"}, "Password of ", visible(name)), password),
		];
		const data = await ask("Confirm with your password", content, "Confirm");
		if (!data) throw failure("Nothing was changed: the password was not confirmed.");
		problem = await logIn(name, data.password);
		if (!problem) return;
	}
}

async function logIn(name, password) {
	const page = await fetch(`${loginPath}?again=1`, {cache: "no-store"});
	const csrf = /name="csrf" value="([^"]+)"/.exec(await page.text())?.[1];
	const body = new URLSearchParams({name, password, csrf: csrf ?? "", next: `${consolePath}/`});
	const sent = fetch(loginPath, {method: "POST", body, redirect: "manual"});
	login = sent.catch(() => {});
	const answer = await sent;
	proof = undefined;
	if (answer.type === "opaqueredirect") return "";
	if (answer.status === 429) return `Too many attempts. Wait ${answer.headers.get("Retry-After") ?? "some"} seconds.`;
	return answer.status === 403 ? "The password is wrong." : "Logging in is not possible at the moment.";
}

const advice = {
	"-32601": "The method is unknown, or your account lacks its permission.",
	"-32011": "It has changed meanwhile. Load the page again and look at the changes.",
	"-32013": "The database or a file cannot be used. Nothing was changed.",
};

// An error for a page, with advice.
export function problem(error, what = "This page could not be loaded.") {
	const text = error.name === "TypeError" ? "The server cannot be reached." : error.message;
	const more = [advice[error.code], error.retry > 0 && `Try again in ${error.retry} s.`].filter(Boolean);
	return each("div.notice", [[el("strong", what), " ", visible(text)], ...more], line => el("p", line), {role: "alert"});
}

// Run it; an error is shown in `place`.
export async function attempt(place, what, run) {
	try {
		replace(place);
		return await run();
	} catch (error) {
		replace(place, problem(error, what));
	}
}

// ---- MCP, as a modern client speaks it ----

const version = "2026-07-28";
const key = name => `io.modelcontextprotocol/${name}`;

function headerValue(value) {
	const text = textOf(value);
	if (/^[!-~]([ -~]*[!-~])?$/.test(text) && !/^=\?.*\?=$/.test(text)) return text;
	return `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(text)))}?=`;
}

// Mcp-Param-… of the properties that the tool's schema marks.
function paramHeaders(schema, args, out = {}) {
	for (const [name, property] of Object.entries(schema?.properties ?? {})) {
		const value = args instanceof Map ? args.get(name) : undefined;
		if (value === undefined || value === null) continue;
		if (typeof property?.["x-mcp-header"] === "string") out[`Mcp-Param-${property["x-mcp-header"]}`] = headerValue(value);
		else paramHeaders(property, value, out);
	}
	return out;
}

// The body and headers of a request; `raw` members are JSON text.
export function request(method, {name, raw = {}, args, schema} = {}) {
	const meta = {[key("protocolVersion")]: version, [key("clientInfo")]: {name: "causeway-console", version: "1"}, [key("clientCapabilities")]: {elicitation: {form: {}}}};
	const isCall = method === "tools/call";
	const trace = isCall && crypto.randomUUID().replaceAll("-", "");
	if (isCall) meta.progressToken = ++ids;
	const members = Object.entries({...(isCall && {name: JSON.stringify(name)}), ...raw, _meta: JSON.stringify(meta)});
	const params = members.map(([k, text]) => `${JSON.stringify(k)}:${text}`).join(",");
	return {
		trace,
		body: `{"jsonrpc":"2.0","id":${++ids},"method":${JSON.stringify(method)},"params":{${params}}}`,
		headers: {
			Accept: "application/json, text/event-stream",
			"MCP-Protocol-Version": version,
			"Mcp-Method": method,
			...(isCall && {"Mcp-Name": headerValue(name), traceparent: `00-${trace}-${trace.slice(16)}-01`, ...paramHeaders(schema, args)}),
		},
	};
}

async function* events(body) {
	const reader = body.pipeThrough(new TextDecoderStream()).getReader();
	for (let rest = ""; ; ) {
		const {done, value} = await reader.read();
		if (done) return;
		const parts = (rest + value).split(/\r?\n\r?\n/);
		rest = parts.pop();
		for (const part of parts) {
			const data = part.split(/\r?\n/).filter(line => line.startsWith("data:"));
			if (data.length) yield data.map(line => line.slice(5).replace(/^ /, "")).join("\n");
		}
	}
}

// Send a request. The answer has exact numbers; `onMessage` gets the messages before it.
export async function send({body, headers, trace}, {signal, token, onMessage} = {}) {
	const answer = await post(mcpPath, body, headers, {signal, token});
	const header = name => answer.headers.get(name);
	const out = {trace, status: answer.status, request: header("X-Request-Id"), challenge: header("WWW-Authenticate"), retry: header("Retry-After")};
	if (header("Content-Type")?.startsWith("text/event-stream")) {
		for await (const text of events(answer.body)) {
			const message = parse(text);
			if (message.has("id")) Object.assign(out, {text, message});
			else onMessage?.(plain(message));
		}
		if (!out.message) throw failure("The stream ended before the result.");
		return out;
	}
	out.text = await answer.text();
	try {
		out.message = parse(out.text);
	} catch {
		throw failure(`The server answered with status ${answer.status}: ${out.text.slice(0, 500)}`);
	}
	return out;
}

export async function* toolPages() {
	for (let raw = {}; ; ) {
		const {result, error} = loose((await send(request("tools/list", {raw}))).message);
		if (error) throw failure(error.message, {code: Number(error.code)});
		yield result.tools;
		if (result.nextCursor === undefined) return;
		raw = {cursor: JSON.stringify(result.nextCursor)};
	}
}

export const quote = text => (/^[\w.:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

// The same request for a shell. No credentials are in it.
export function asCurl({body, headers}) {
	const all = {"Content-Type": "application/json", ...headers};
	const lines = Object.entries(all).map(([name, value]) => `  -H ${quote(`${name}: ${value}`)} \\`);
	return [`curl -sN ${quote(location.origin + mcpPath)} \\`, ...lines, `  -d ${quote(body)}`].join("\n");
}
