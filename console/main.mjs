// SPDX-License-Identifier: GPL-2.0-or-later
// The frame of all pages: menu, addresses, filters, keys, and the session. The address is the state of a page.
import { consolePath, fetchProof, goToLogin, isDemo, loginPath, missing, prefix, problem, rpc } from "./api.mjs";
import { ask, button, el, facts, replace, visible, when } from "./dom.mjs";

// Each page: its address below the console, the function that renders it, the permission that its data needs.
const pages = [
	{ path: "", label: "Overview", key: "o", file: "./traffic.mjs", render: "overview", needs: "view traffic" },
	{ path: "/sources", label: "Sources", key: "s", file: "./traffic.mjs", render: "sources", item: "source", needs: "view traffic" },
	{ path: "/tools", label: "Tools", key: "t", file: "./tools.mjs", render: "tools", item: "tool" },
	{ path: "/who", label: "Who may", key: "w", file: "./access.mjs", render: "who", needs: "administer access" },
	{ path: "/calls", label: "Calls", key: "c", file: "./traffic.mjs", render: "calls", needs: "view traffic" },
	{ path: "/audit", label: "Audit", key: "a", file: "./access.mjs", render: "audit", needs: "view audit" },
	{ path: "/access", label: "Access", key: "x", file: "./access.mjs", render: "access", item: "access", needs: "administer access" },
	{ path: "/about", label: "About", key: "i", file: "./traffic.mjs", render: "about" },
];

const byId = (id) => document.getElementById(id);
const main = byId("main");
let caller;
let current;
let visits = 0;

export const may = (permission) => !permission || caller.permissions.includes(permission);
export const me = () => caller;
export const link = (path, query = {}) => {
	const text = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== undefined && v !== "")).toString();
	return `${consolePath}${path}${text ? `?${text}` : ""}`;
};
const item = (folder, name) => link(`/${folder}/${encodeURIComponent(name)}`);
export const toolLink = (name) => el("a.mono", { href: item("tools", name) }, visible(name));
export const sourceLink = (name) => el("a", { href: item("sources", name) }, visible(name));
export const query = () => Object.fromEntries(new URLSearchParams(location.search));

// Put values into the address without a new entry of the history.
export const setQuery = (changes) => history.replaceState(null, "", link(location.pathname.slice(consolePath.length), { ...query(), ...changes }));

// Inputs whose values are in the address. `update` runs soon after a change.
export function filters(inputs, update) {
	const given = query();
	const values = () => Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value]));
	let timer;
	const changed = () => {
		setQuery(values());
		clearTimeout(timer);
		timer = setTimeout(update, 100);
	};
	for (const [name, input] of Object.entries(inputs)) {
		if (given[name] !== undefined) input.value = given[name];
		input.addEventListener("input", changed);
	}
	const clear = button("Clear the filters", () => {
		for (const input of Object.values(inputs)) input.value = "";
		setQuery(values());
		update();
	});
	const used = () =>
		Object.entries(values())
			.filter(([, value]) => value)
			.map(([name, value]) => `${name}: ${value}`)
			.join(", ");
	return { values, empty: (what) => [el("p", `No ${what} for `, visible(used() || "these filters"), "."), clear] };
}

// The heading of a page and what is below it.
export const write = (node, title, actions, ...content) => replace(node, el("div.title", el("h1", title), actions), content);

export function go(address) {
	history.pushState(null, "", address);
	return show(true);
}

function find() {
	const path = location.pathname.slice(consolePath.length).replace(/\/$/, "");
	const page = pages.find((p) => p.path === path) ?? pages.find((p) => p.item && path.startsWith(`${p.path}/`));
	return { page, name: page && path.length > page.path.length ? decodeURIComponent(path.slice(page.path.length + 1)) : undefined };
}

const shown = () => pages.filter((p) => may(p.needs));

async function show(isNew) {
	const visit = ++visits;
	const { page, name } = find();
	document.body.dataset.ready = "no";
	current?.close?.();
	current = undefined;
	if (page?.path === "" && !may(page.needs)) return go(link("/tools"));
	replace(
		byId("menu"),
		shown().map((p) => el("a", { href: link(p.path || "/"), "aria-current": p === page && "page" }, p.label)),
	);
	const node = el("div");
	try {
		if (!page || !may(page.needs)) throw missing("The page does not exist, or your account lacks its permission.");
		const module = await import(page.file);
		const made = await module[name === undefined ? page.render : page.item](node, name);
		if (visit !== visits) return made?.close?.();
		current = made;
	} catch (error) {
		if (visit !== visits) return;
		write(
			node,
			error.isMissing ? "Not found" : page.label,
			"",
			problem(error),
			button("Try again", () => show(false)),
		);
	}
	replace(main, node);
	const heading = node.querySelector("h1");
	document.title = `${heading.textContent} – Causeway console`;
	if (isNew) {
		heading.setAttribute("tabindex", "-1");
		heading.focus({ preventScroll: true });
		scrollTo(0, 0);
	}
	document.body.dataset.ready = "yes";
}

// ---- the user ----

async function logOut() {
	await fetch(`${prefix}/logout`, { method: "POST", headers: { "X-CSRF-Token": await fetchProof() }, redirect: "manual" });
	return goToLogin();
}

function writeUser() {
	replace(byId("user"), button("Keys", showKeys, ".plain"), !isDemo && [el("span", visible(caller.name)), button("Log out", logOut, ".plain")]);
	if (!isDemo) return;
	const text = "A demo without a configuration: the example tools, open to this machine only. Nothing can be administered here. ";
	byId("head").append(el("p.demo", text, el("span.quiet", "To run your own: causeway init.")));
}

// A session that is not used ends. The warning comes in time to go on.
function watchSession(ends) {
	if (!ends) return;
	const early = 120_000;
	const extend = async () => {
		const fresh = await rpc("causeway.whoami").catch(goToLogin);
		replace(byId("notices"));
		watchSession(fresh.session_ends);
	};
	const warn = () => replace(byId("notices"), el("div.notice.soft", el("p", "Your session ends at ", when(ends), ". "), button("Continue the session", extend)));
	setTimeout(warn, Math.max(0, Math.min(ends - Date.now() - early, 2 ** 31 - 1)));
}

// ---- keys ----

const hasKeys = () => localStorage.getItem("keys") !== "off";
let afterG = false;

function showKeys() {
	const rows = [
		["/", "search"],
		["j, k, Enter", "next row, previous row, open it"],
		["space", "pause live data"],
		["Ctrl+Enter", "call the tool"],
		["Esc", "close a dialog, leave a field"],
		["?", "this list"],
		...shown().map((p) => [`g ${p.key}`, p.label]),
	];
	const toggle = el("input", { type: "checkbox", checked: hasKeys(), id: "keys-on" });
	toggle.addEventListener("change", () => localStorage.setItem("keys", toggle.checked ? "on" : "off"));
	return ask("Keys", [facts(rows.map(([key, text]) => [el("kbd", key), text])), el("p", el("label", { for: "keys-on" }, toggle, "Use these keys"))]);
}

function moveRow(step) {
	const links = [...main.querySelectorAll("tbody tr")].map((tr) => tr.querySelector("a, button")).filter(Boolean);
	const at = links.indexOf(document.activeElement);
	links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
}

function onKey(event) {
	const { target, key } = event;
	if (event.ctrlKey && key === "Enter") return current?.onCall?.(event);
	if (!hasKeys() || event.ctrlKey || event.metaKey || event.altKey || target.closest("dialog")) return;
	if (target.closest("input, textarea, select")) return key === "Escape" && target.blur();
	if (afterG) {
		afterG = false;
		const page = shown().find((p) => p.key === key);
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
	const isOurs = anchor && anchor.origin === location.origin && (anchor.pathname === consolePath || anchor.pathname.startsWith(`${consolePath}/`));
	if (!isOurs || event.button || event.ctrlKey || event.metaKey || event.shiftKey || anchor.target || anchor.hash) return;
	event.preventDefault();
	document.querySelector("dialog")?.close();
	document.querySelector("dialog")?.remove();
	go(anchor.href);
}

async function start() {
	try {
		const result = await rpc("causeway.whoami");
		caller = result.caller;
		watchSession(result.session_ends);
	} catch (error) {
		const text = error.code === -32601 ? "It needs the permission “use console”." : "";
		write(main, "Causeway console", "", problem(error, `The console cannot be used with this account. ${text}`), el("p", el("a", { href: loginPath }, "Log in with another account")));
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
