// SPDX-License-Identifier: GPL-2.0-or-later
// Requests to this server: the session's proof, JSON-RPC, and errors that say what to do.
import { ask, el, visible } from "./dom.mjs";
import { loose, parse } from "./json.mjs";

const root = document.documentElement.dataset;
// Everything before /console/-/HASH/api.mjs.
export const prefix = new URL("../../..", import.meta.url).pathname.replace(/\/$/, "");
export const isDemo = root.mode === "demo";
export const mcpPath = prefix + root.mcp;
export const consolePath = `${prefix}/console`;

let proof;
let ids = 0;

export class ApiError extends Error {
	constructor(message, { code, status, data, retry } = {}) {
		super(message);
		Object.assign(this, { code, status, data, retry });
	}
}

export function goToLogin() {
	const next = location.pathname + location.search;
	location.assign(`${prefix}${root.login}?next=${encodeURIComponent(next)}`);
	return new Promise(() => {});
}

async function fetchProof() {
	const answer = await fetch(`${prefix}/session/token`, { cache: "no-store" });
	if (answer.status === 401 || answer.status === 403) return goToLogin();
	if (!answer.ok) throw new ApiError("The session cannot be checked at the moment.", { status: answer.status });
	proof = await answer.text();
	return proof;
}

// POST to a door of this server with the session, or with a token instead. A proof that has become stale is
// fetched once again.
export async function post(path, body, headers = {}, { signal, token } = {}) {
	const all = { "Content-Type": "application/json", ...headers };
	for (let attempt = 0; ; attempt++) {
		if (token) all.Authorization = `Bearer ${token}`;
		else if (!isDemo) all["X-CSRF-Token"] = proof ?? (await fetchProof());
		const options = { method: "POST", body, headers: all, signal, cache: "no-store", credentials: token ? "omit" : "same-origin" };
		const answer = await fetch(path, options);
		if (token || isDemo) return answer;
		if (answer.status === 401 && !answer.headers.get("WWW-Authenticate")?.includes("scope")) return goToLogin();
		if (answer.status !== 403 || attempt > 0 || !(await answer.clone().text()).includes("X-CSRF-Token")) return answer;
		proof = undefined;
	}
}

function fail(answer, error) {
	const retry = Number(answer?.headers.get("Retry-After")) || undefined;
	const detail = typeof error.data === "string" ? `${error.message}: ${error.data}` : error.message;
	throw new ApiError(detail, { code: error.code, status: answer?.status, data: error.data, retry });
}

async function readJson(answer, isExact) {
	const text = await answer.text();
	try {
		return isExact ? loose(parse(text)) : JSON.parse(text);
	} catch {
		throw new ApiError(`The server answered with status ${answer.status}.`, { status: answer.status });
	}
}

// One administration method: its result, or an ApiError. isExact: numbers are objects that keep their text.
export async function rpc(method, params = {}, { isExact = false } = {}) {
	const body = JSON.stringify({ jsonrpc: "2.0", id: ++ids, method, params });
	const answer = await post(`${prefix}/jsonrpc`, body);
	const message = await readJson(answer, isExact);
	if (message.error) fail(answer, message.error);
	return message.result;
}

// A method that needs a recent login: an old session is sent to the login page, which returns here.
export async function change(method, params) {
	try {
		return await rpc(method, params);
	} catch (error) {
		if (error.code !== -32012) throw error;
		await confirmAgain();
		return await rpc(method, params);
	}
}

// Ask for the password again, in place: the login form of this server, sent by the script. Nothing is
// changed until it has succeeded.
export async function confirmAgain() {
	const { name } = (await rpc("causeway.whoami")).caller;
	for (let problem = ""; ; ) {
		const password = el("input", { type: "password", name: "password", autocomplete: "current-password", required: true, id: "confirm" });
		const data = await ask(
			"Confirm with your password",
			[
				el("p", "This change needs a recent login. Nothing was changed yet."),
				problem && el("p.bad", { role: "alert" }, problem),
				el("div.field", el("label", { for: "confirm" }, "Password of ", visible(name)), password),
			],
			"Confirm",
		);
		if (!data) throw new ApiError("Nothing was changed: the password was not confirmed.");
		problem = await logIn(name, data.get("password"));
		if (!problem) return;
	}
}

async function logIn(name, password) {
	const page = await fetch(`${prefix}${root.login}?again=1`, { cache: "no-store" });
	const csrf = /name="csrf" value="([^"]+)"/.exec(await page.text())?.[1];
	const body = new URLSearchParams({ name, password, csrf: csrf ?? "", next: `${prefix}/console/` });
	const answer = await fetch(`${prefix}${root.login}`, { method: "POST", body, redirect: "manual" });
	proof = undefined;
	if (answer.type === "opaqueredirect") return "";
	if (answer.status === 429) return `Too many attempts. Wait ${answer.headers.get("Retry-After") ?? "some"} seconds.`;
	return answer.status === 403 ? "The password is wrong." : "Logging in is not possible at the moment.";
}

// An error for a page: what happened, what was not done, what to do.
export function problem(error, what = "This page could not be loaded.") {
	const advice = {
		"-32601": "The method is unknown, or your account lacks its permission.",
		"-32011": "It has changed meanwhile. Load the page again and look at the changes.",
		"-32013": "The database or a file cannot be used. Nothing was changed.",
	}[error.code];
	return el("div.notice", { role: "alert" }, el("p", el("strong", what), " ", visible(error.message)), advice && el("p", advice), error.retry && el("p", `Try again in ${error.retry} s.`));
}
