// SPDX-License-Identifier: GPL-2.0-or-later
// The menu, the pages, keys, and the session.
import {access, audit, who} from "./access.mjs";
import {consolePath, fetchProof, goToLogin, isDemo, lastUse, loginPath, missing, prefix, problem, rpc} from "./api.mjs";
import {ask, button, byId, el, facts, input, replace, status, visible, when} from "./dom.mjs";
import {anchor, frame, link, may, writePage} from "./frame.mjs";
import {tool, tools} from "./tools.mjs";
import {about, calls, overview, source, sources} from "./traffic.mjs";

// The pages: address, functions that render them, the permission that their data needs.
const pages = [
	{path: "", label: "Overview", key: "o", render: overview, needs: "view traffic"},
	{path: "/sources", label: "Sources", key: "s", render: sources, item: source, needs: "view traffic"},
	{path: "/tools", label: "Tools", key: "t", render: tools, item: tool},
	{path: "/who", label: "Who may", key: "w", render: who, needs: "view audit"},
	{path: "/calls", label: "Calls", key: "c", render: calls, needs: "view traffic"},
	{path: "/audit", label: "Audit", key: "a", render: audit, needs: "view audit"},
	{path: "/access", label: "Access", key: "x", render: access, item: access, needs: "administer access"},
	{path: "/about", label: "About", key: "i", render: about},
];

const unknown = -32601;
const main = byId("main");
const {dataset} = document.body;
let current;
let visits = 0;

function go(address) {
	history.pushState(null, "", address);
	return show(true);
}

function find() {
	const path = location.pathname.slice(consolePath.length).replace(/\/$/, "");
	const page = pages.find(p => p.path === path) ?? pages.find(p => p.item && path.startsWith(`${p.path}/`));
	return {page, name: page && path.length > page.path.length ? decodeURIComponent(path.slice(page.path.length + 1)) : undefined};
}

const shown = () => pages.filter(p => may(p.needs));

function writeMenu(page) {
	replace(
		byId("menu"),
		shown().map(p => anchor(p.label, p.path || "/", {}, {"aria-current": p === page && "page"})),
	);
}

async function show(isNew) {
	const visit = ++visits;
	const {page, name} = find();
	dataset.ready = "no";
	current?.close?.();
	current = undefined;
	if (page?.path === "" && !may(page.needs)) return go(link("/tools"));
	writeMenu(page);
	const node = el("div");
	try {
		if (!page || !may(page.needs)) throw missing("The page does not exist, or your account lacks its permission.");
		const made = await (name === undefined ? page.render : page.item)(node, name);
		if (visit !== visits) return made?.close?.();
		current = made;
	} catch (error) {
		if (visit !== visits) return;
		// Rights may have been taken away: the menu follows.
		if (error.code === unknown && !(await learnCaller())) return;
		writeMenu(page);
		const again = button("Try again", () => show(false));
		writePage(node, error.isMissing ? "Not found" : page.label, "", problem(error), again);
	}
	replace(main, node);
	const heading = node.querySelector("h1");
	document.title = `${heading.textContent} – Causeway console`;
	if (isNew) {
		heading.setAttribute("tabindex", "-1");
		heading.focus({preventScroll: true});
		scrollTo(0, 0);
	}
	dataset.ready = "yes";
}

async function logOut() {
	await fetch(`${prefix}/logout`, {method: "POST", headers: {"X-CSRF-Token": await fetchProof()}, redirect: "manual"});
	return goToLogin();
}

function writeUser() {
	replace(byId("user"), el("span.host", location.host), button("Keys", showKeys, ".plain"), !isDemo && [el("span", visible(frame.caller.name)), button("Log out", logOut, ".plain")]);
	if (!isDemo) return;
	const text = "This is a demo: example tools without a configuration, for this machine only. Your own begins with ";
	byId("head").after(el("aside.demo", {"aria-label": "Demo"}, text, el("code", "causeway init"), "."));
}

// A session that is not used ends, after a warning. A key or click extends it.
function watchSession(ends) {
	if (!ends) return;
	const begun = Date.now();
	const extend = async () => {
		const fresh = await rpc("whoami").catch(goToLogin);
		replace(byId("notices"));
		watchSession(fresh.session_ends);
	};
	const warn = isShown => {
		if (lastUse.at > begun) return extend();
		if (!isShown) replace(byId("notices"), el("div.notice.soft", el("p", "Your session ends at ", when(ends), ". "), button("Continue the session")));
		setTimeout(warn, 1000, true);
	};
	setTimeout(warn, ends - begun - 120_000);
}

const hasKeys = () => localStorage.getItem("keys") !== "off";
let afterG = false;

function keys() {
	const rows = [
		["/", "search"],
		["j, k, Enter", "next row, previous row, open"],
		["space", "pause live data"],
		["Ctrl+Enter", "call the tool"],
		["Esc", "close a dialog, leave a field"],
		["?", "this list"],
		...shown().map(p => [`g ${p.key}`, p.label]),
	];
	const toggle = input("checkbox", {checked: hasKeys(), onchange: () => localStorage.setItem("keys", toggle.checked ? "on" : "off")});
	return [facts(rows.map(([key, text]) => [el("kbd", key), text])), el("p", el("label", toggle, "Use these keys"))];
}

const showKeys = () => ask("Keys", keys());

function moveRow(step) {
	const links = [...main.querySelectorAll("tbody tr")].map(tr => tr.querySelector("a, button")).filter(Boolean);
	const at = links.indexOf(document.activeElement);
	links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
}

function onKey(event) {
	const {target, key} = event;
	lastUse.at = Date.now();
	if (target.closest("dialog")) return;
	if (event.ctrlKey && key === "Enter") return event.repeat || current?.onCall?.(event);
	if (!hasKeys() || event.ctrlKey || event.metaKey || event.altKey) return;
	if (target.closest("input, textarea, select")) return key === "Escape" && target.blur();
	if (afterG) {
		afterG = false;
		const page = shown().find(p => p.key === key);
		return page && go(link(page.path || "/"));
	}
	const actions = {
		g: () => (afterG = true),
		"/": () => (event.preventDefault(), main.querySelector("input[type=search]")?.focus()),
		j: () => moveRow(1),
		k: () => moveRow(-1),
		"?": showKeys,
		" ": () => !target.closest("button, summary, a") && current?.onPause && (event.preventDefault(), current.onPause()),
	};
	return actions[key]?.();
}

// Links to pages of the console load nothing anew.
function onClick(event) {
	const anchor = event.target.closest("a[href]");
	lastUse.at = Date.now();
	const isOurs = anchor && anchor.origin === location.origin && `${anchor.pathname}/`.startsWith(`${consolePath}/`);
	if (!isOurs || event.button || event.ctrlKey || event.metaKey || event.shiftKey || anchor.target || anchor.hash) return;
	event.preventDefault();
	document.querySelector("dialog")?.remove();
	go(anchor.href);
}

// False: the console cannot be used, which is shown.
async function learnCaller() {
	try {
		const result = await rpc("whoami");
		frame.caller = result.caller;
		localStorage.setItem("caller", JSON.stringify(result.caller));
		return result;
	} catch (error) {
		visits++;
		const text = error.code === unknown ? "It needs the permission “use console”." : "";
		writePage(main, "Causeway console", "", problem(error, `The console cannot be used with this account. ${text}`), el("p", el("a", {href: loginPath}, "Log in with another account")));
		dataset.ready = "yes";
		return false;
	}
}

async function start() {
	// The rights of the last visit: the page does not wait.
	const before = localStorage.getItem("caller");
	frame.caller = JSON.parse(before);
	Object.assign(frame, {keys, refresh: () => show(false)});
	if (before) show(false);
	const result = await learnCaller();
	if (!result) return;
	watchSession(result.session_ends);
	writeUser();
	addEventListener("popstate", () => show(true));
	addEventListener("keydown", onKey);
	addEventListener("unhandledrejection", ({reason}) => status(reason.message));
	addEventListener("click", onClick);
	if (localStorage.getItem("caller") !== before) await show(false);
}

start();
