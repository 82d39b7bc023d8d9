// SPDX-License-Identifier: GPL-2.0-or-later
// The frame of all pages: menu, addresses, keys, and the session. The address is the state of a page.
import { consolePath, goToLogin, isDemo, prefix, problem, rpc } from "./api.mjs";
import { ask, el, replace, visible, when } from "./dom.mjs";

// Each page: its address below /console, its module, the permission that its data needs.
const pages = [
	{ path: "", label: "Overview", key: "o", file: "./overview.mjs", needs: "view traffic" },
	{ path: "/sources", label: "Sources", key: "s", file: "./sources.mjs", needs: "view traffic", hasItems: true },
	{ path: "/tools", label: "Tools", key: "t", file: "./tools.mjs", items: "./tool.mjs", hasItems: true },
	{ path: "/who", label: "Who may", key: "w", file: "./who.mjs", needs: "administer access" },
	{ path: "/audit", label: "Audit", key: "a", file: "./audit.mjs", needs: "view audit" },
	{ path: "/access", label: "Access", key: "x", file: "./access.mjs", needs: "administer access", hasItems: true },
	{ path: "/about", label: "About", key: "i", file: "./about.mjs" },
];

const main = document.getElementById("main");
let caller;
let current;
let visits = 0;

export const may = (permission) => !permission || caller.permissions.includes(permission);
export const me = () => caller;
export const link = (path, query = {}) => {
	const text = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== undefined && v !== "")).toString();
	return `${consolePath}${path}${text ? `?${text}` : ""}`;
};
export const query = () => Object.fromEntries(new URLSearchParams(location.search));

// Put filters into the address without a new entry of the history.
export function setQuery(changes) {
	const all = { ...query(), ...changes };
	history.replaceState(null, "", link(location.pathname.slice(consolePath.length), all));
}

export function go(address) {
	history.pushState(null, "", address);
	return show(true);
}

function find() {
	const path = location.pathname.slice(consolePath.length).replace(/\/$/, "");
	const page = pages.find((p) => p.path === path) ?? pages.find((p) => p.hasItems && path.startsWith(`${p.path}/`));
	const item = page && path.length > page.path.length ? decodeURIComponent(path.slice(page.path.length + 1)) : undefined;
	return { page, item };
}

function writeMenu(active) {
	const items = pages.filter((p) => may(p.needs)).map((p) => el("a", { href: link(p.path || "/"), "aria-current": p === active ? "page" : undefined }, p.label));
	replace(document.getElementById("menu"), items);
}

async function show(isNew) {
	const visit = ++visits;
	const { page, item } = find();
	document.body.dataset.ready = "no";
	current?.close?.();
	current = undefined;
	if (page?.path === "" && !may(page.needs)) return go(link("/tools"));
	writeMenu(page);
	const node = el("div");
	try {
		if (!page || !may(page.needs)) throw Object.assign(new Error("The page does not exist, or your account lacks its permission."), { isMissing: true });
		const module = await import(item !== undefined && page.items ? page.items : page.file);
		const made = await module.render(node, item);
		if (visit !== visits) {
			made?.close?.();
			return undefined;
		}
		current = made;
	} catch (error) {
		if (visit !== visits) return undefined;
		replace(node, el("h1", error.isMissing ? "Not found" : page.label), problem(error), el("p", el("button", { onclick: () => show(false) }, "Try again")));
	}
	replace(main, node);
	const title = node.querySelector("h1")?.textContent ?? "";
	document.title = `${title} – Causeway console`;
	if (isNew) {
		const heading = node.querySelector("h1");
		heading?.setAttribute("tabindex", "-1");
		heading?.focus({ preventScroll: true });
		scrollTo(0, 0);
	}
	document.body.dataset.ready = "yes";
	return undefined;
}

// ---- the user ----

async function logOut() {
	const answer = await fetch(`${prefix}/session/token`);
	const csrf = await answer.text();
	await fetch(`${prefix}/logout`, { method: "POST", headers: { "X-CSRF-Token": csrf }, redirect: "manual" });
	return goToLogin();
}

function writeUser() {
	const help = el("button.plain", { onclick: showKeys, "aria-keyshortcuts": "?" }, "Keys");
	if (isDemo) {
		replace(document.getElementById("user"), help);
		const text = "A demo without a configuration: the example tools, open to this machine only. Nothing can be administered here. ";
		const more = "To run your own: causeway init.";
		document.getElementById("head").append(el("p.demo", text, el("span.quiet", more)));
		return;
	}
	replace(document.getElementById("user"), help, el("span", visible(caller.name)), el("button.plain", { onclick: logOut }, "Log out"));
}

// A session that is not used ends. The warning comes in time to go on.
function watchSession(ends) {
	if (!ends) return;
	const early = 120_000;
	const notices = document.getElementById("notices");
	const extend = async () => {
		const fresh = await rpc("causeway.whoami").catch(goToLogin);
		replace(notices);
		watchSession(fresh.session_ends);
	};
	const warn = () => replace(notices, el("div.notice.soft", el("p", "Your session ends at ", when(ends), ". "), el("button", { onclick: extend }, "Continue the session")));
	setTimeout(warn, Math.max(0, Math.min(ends - Date.now() - early, 2 ** 31 - 1)));
}

// ---- keys ----

const hasKeys = () => localStorage.getItem("keys") !== "off";
let afterG = false;

function showKeys() {
	const rows = [
		["/", "search"],
		["j, k, Enter", "next row, previous row, open it"],
		["Ctrl+Enter", "call the tool"],
		["?", "this list"],
		...pages.filter((p) => may(p.needs)).map((p) => [`g ${p.key}`, p.label]),
	];
	const toggle = el("input", { type: "checkbox", checked: hasKeys(), id: "keys-on" });
	toggle.addEventListener("change", () => localStorage.setItem("keys", toggle.checked ? "on" : "off"));
	const list = el(
		"dl.facts",
		rows.map(([key, text]) => [el("dt", el("kbd", key)), el("dd", text)]),
	);
	return ask("Keys", [list, el("p", el("label", { for: "keys-on" }, toggle, "Use these keys"))]);
}

function moveRow(step) {
	const links = [...main.querySelectorAll("tbody tr")].map((tr) => tr.querySelector("a, button")).filter(Boolean);
	const at = links.indexOf(document.activeElement);
	links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
}

function onKey(event) {
	const inField = event.target.closest("input, textarea, select, dialog");
	if (event.ctrlKey && event.key === "Enter") return current?.onCall?.(event);
	if (!hasKeys() || inField || event.ctrlKey || event.metaKey || event.altKey) return undefined;
	if (afterG) {
		afterG = false;
		const page = pages.find((p) => p.key === event.key && may(p.needs));
		return page && go(link(page.path || "/"));
	}
	const actions = {
		g: () => (afterG = true),
		"/": () => (event.preventDefault(), main.querySelector("input[type=search]")?.focus()),
		j: () => moveRow(1),
		k: () => moveRow(-1),
		"?": showKeys,
	};
	return actions[event.key]?.();
}

// Links to pages of the console load nothing anew.
function onClick(event) {
	const anchor = event.target.closest("a[href]");
	const isOurs = anchor && anchor.origin === location.origin && (anchor.pathname === consolePath || anchor.pathname.startsWith(`${consolePath}/`));
	if (!isOurs || event.button || event.ctrlKey || event.metaKey || event.shiftKey || anchor.target || anchor.hash) return;
	event.preventDefault();
	go(anchor.href);
}

async function start() {
	try {
		const result = await rpc("causeway.whoami");
		caller = result.caller;
		watchSession(result.session_ends);
	} catch (error) {
		replace(
			main,
			el("h1", "Causeway console"),
			problem(error, "The console cannot be used with this account."),
			el("p", el("a", { href: `${prefix}${document.documentElement.dataset.login}` }, "Log in with another account")),
		);
		document.body.dataset.ready = "yes";
		return;
	}
	writeUser();
	addEventListener("popstate", () => show(true));
	addEventListener("keydown", onKey);
	addEventListener("click", onClick);
	await show(false);
}

start();
