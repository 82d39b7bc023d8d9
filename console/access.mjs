// SPDX-License-Identifier: GPL-2.0-or-later
// Pages of the security person: who may call what, audit, access.
import {attempt, change, missing, problem, quote, rpc} from "./api.mjs";
import {ask, button, code, copyable, count, duration, each, el, grid, input, offer, pageSize, replace, row, select, span, status, table, tag, visible, when} from "./dom.mjs";
import {anchor, filled, filters, link, query, setQuery, toolLink, writePage} from "./frame.mjs";
import {outcomes, outcomeTag, showRecord} from "./traffic.mjs";

// ---- who may ----

const columnsMax = 20;
const words = {yes: ["may call", "good"], asks: ["asks: a login or a token with more scopes", "warn"], listed: ["listed, but may not call", "warn"], hidden: ["hidden", "quiet"]};
const verdicts = {
	allowed: "A call is allowed.",
	login: "A call asks for a login.",
	scopes: "A call asks for a token with more scopes.",
	forbidden: "A call is refused: a permission is missing.",
	hidden: "The caller gets the answer of an unknown tool.",
};

function whyView(why, as, kind) {
	const scopes = why.rules.filter(r => !r.passes && /scope/.test(r.rule)).map(r => `--scope ${quote(r.what)}`);
	const name = quote(as);
	const command = scopes.length && kind === "account" ? `causeway token create ${name} ${scopes.join(" ")}` : `causeway why ${quote(why.tool)} --${kind} ${name}`;
	return el(
		"div",
		{role: "status"},
		el("h2", visible(why.tool), " for ", visible(as)),
		el("p", el("strong", verdicts[why.call] ?? why.call), ` In lists it is ${why.list}.`),
		each("ol", why.rules, r => el("li", tag(r.passes ? "yes" : "no", r.passes ? "good" : "bad"), ` ${r.rule} `, code(r.what))),
		el("p.quiet", "Rates are not part of this. The same from a terminal:"),
		el("pre", visible(command)),
	);
}

export async function who(node) {
	const given = query();
	const search = input("search", {placeholder: "Filter tools", value: given.tool ?? ""});
	const columns = input("search", {placeholder: `Columns (at most ${columnsMax})`});
	const kinds = select(["role", "account"]);
	const rows = select([["", "all tools"], "where they differ"]);
	const place = el("div");
	const why = el("section.panel", {hidden: true});
	const more = button("Show more tools", () => ((size += pageSize), update()));
	let size = pageSize;
	let visit = 0;

	async function explain(tool, as) {
		const kind = kinds.value;
		setQuery({tool, as, kind});
		why.hidden = false;
		await attempt(why, "The decision could not be explained.", async () => replace(why, whyView(await rpc("access.why", {tool, [kind]: as}), as, kind)));
	}

	function cell(word, tool, as) {
		const [text, look] = words[word] ?? [word, "quiet"];
		const mark = word === "hidden" ? "–" : word;
		const attrs = {
			href: link("/who", {tool, as, kind: kinds.value}),
			title: text,
			"aria-label": `${mark} ${text}: ${tool} for ${as}`,
			onclick: event => (event.preventDefault(), event.stopPropagation(), explain(tool, as)),
		};
		return el("td", el(`a.${look}`, attrs, mark));
	}

	async function update() {
		const own = ++visit;
		const wanted = {accounts: kinds.value === "account", text: columns.value, limit: columnsMax, tool: search.value, different: rows.value !== "", tools_limit: size};
		const {tools, tools_total, rows: cols, total} = await rpc("access.matrix", wanted);
		if (own !== visit) return;
		const body = tools.map((name, i) => row(toolLink(name), ...cols.map(c => cell(c.cells[i], name, c.name))));
		more.hidden = tools_total <= size;
		const caption = `yes: may call · asks: a login or scopes · –: hidden. ${count(tools.length)} of ${count(tools_total)} tools, ${cols.length} of ${count(total)} columns`;
		replace(place, grid(caption, [["Tool"], ...cols.map(c => [visible(c.name)])], body, empty("tool")));
	}
	const onFilter = () => ((size = pageSize), update());
	kinds.addEventListener("input", () => (why.hidden = true));
	const {bar, empty} = filters({q: search, columns, kind: kinds, different: rows}, onFilter, {q: "Filter tools", columns: "Filter columns", kind: "Columns", different: "Rows"});
	await update();
	writePage(node, "Who may", "", bar, why, el("section.panel", place, more));
	if (given.tool && given.as) await explain(given.tool, given.as);
}

// ---- audit ----

const spans = [
	["15m", "last 15 minutes"],
	["1h", "last hour"],
	["24h", "last day"],
	["7d", "last week"],
	["", "all"],
];

export async function audit(node) {
	const any = ["", "any"];
	const inputs = {
		since: select(spans, "1h"),
		kind: select([any, ..."call refusal login consent grant task change lost".split(" ")]),
		outcome: select([any, ...outcomes, ..."wrong clear_text forged logout allowed denied issued refreshed revoked reused created answered cancel completed".split(" ")]),
		caller: input("text", {size: 12, list: "callers"}),
		tool: input("text", {size: 18, list: "tools"}),
		q: input("search", {placeholder: "Search these records"}),
	};
	const summary = el("p.quiet", {role: "status"});
	const further = button("Search further", () => load(next));
	const [callers, tools] = ["callers", "tools"].map(id => el("datalist", {id}));
	const save = button("Save as JSONL", onSave, "", {hidden: true});
	const place = el("div");
	let all;
	let found;
	let next;
	let visit = 0;
	const show = r => showRecord("Audit record", r, "/audit");
	const rows = table({
		caption: "Records, the newest first",
		columns: [
			["Time", r => button(when(Date.parse(r.time)), () => show(r), ".plain"), "fit"],
			["Kind", "kind", "fit"],
			["Outcome", r => r.outcome && outcomeTag(r.outcome, "/audit"), "fit"],
			["Caller", "caller"],
			["Method", r => el("span.mono", visible(r.tool ?? r.method))],
			["Door", "door", "fit"],
			["Address", "address", "fit"],
			["Took", r => duration(r.us), "n"],
			["Detail", r => el("div.text", visible(r.detail))],
		],
		empty: () => empty("record"),
	});

	function onSave() {
		const file = URL.createObjectURL(new Blob(found.map(r => `${JSON.stringify(r)}\n`)));
		el("a", {href: file, download: "audit.jsonl"}).click();
		URL.revokeObjectURL(file);
	}

	function fill(searchedTo) {
		found = all.filter(r => JSON.stringify(r).toLowerCase().includes(inputs.q.value.toLowerCase()));
		rows.fill(found);
		replace(place, rows.node);
		replace(summary, `${count(found.length)} found`, searchedTo && [", searched back to ", when(Date.parse(searchedTo))]);
		save.hidden = !found.length;
		further.hidden = !next;
		offer(callers, all, r => r.caller);
		offer(tools, all, r => r.tool ?? r.method);
	}

	// With a cursor, earlier results stay.
	async function load(cursor) {
		const {q, ...params} = values();
		const own = ++visit;
		try {
			const got = await rpc("audit.search", filled({...params, cursor}));
			if (own !== visit) return;
			all = cursor ? all.concat(got.records) : got.records;
			next = got.next;
			fill(got.searched_to);
		} catch (error) {
			if (own !== visit) return;
			replace(summary);
			save.hidden = true;
			const off = () => el("div.empty", el("p", "No audit is written. Set the key:"), el("pre", "audit:\n  path: /var/lib/causeway/audit.jsonl"));
			replace(place, /audit\.path/.test(error.message) ? off() : problem(error, "The audit could not be searched."));
		}
	}
	const {bar, values, empty} = filters(inputs, () => load(), {since: "Time"});
	writePage(node, "Audit", save, bar, callers, tools, el("section.panel", summary, place, further));
	await load();
}

// ---- access ----

const field = ([name, label, attrs = {}, help]) =>
	el("div.field", el("label", {for: `new-${name}`}, label), el("input", {id: `new-${name}`, name, type: "text", autocomplete: "off", ...attrs}), help && el("p.help", help));
const split = (text, by) => text.split(by).flatMap(word => word.trim() || []);
const secret = {type: "password", autocomplete: "new-password"};
const required = {required: true};
const stateColumn = ["State", ({state}) => tag(state, state === "active" ? "good" : "warn"), "fit"];
const roleNames = ["roles", "Roles", {}, "Names with commas between them"];
const expiry = t => (t.expires === null ? el("span.warn", "never !") : t.expires < Date.now() ? "expired" : `in ${span((t.expires - Date.now()) / 1000)}`);
const lastUse = t => {
	const isIdle = Date.now() - (t.used ?? t.created) > 90 * 864e5;
	return el(isIdle ? "span.warn" : "span", when(t.used), t.used_from && [", ", visible(t.used_from)], isIdle && ", not in 90 days !");
};
const yaml = ({name, permissions}) => `roles:\n  ${JSON.stringify(name)}: ${JSON.stringify(permissions)}`;
const isStored = r => !/config/.test(r.from);

const setRoles =
	(name, own) =>
	async (run, {roles}) => {
		const wanted = split(roles, ",");
		for (const role of wanted.filter(r => !own.includes(r))) if (!(await run("accounts.grant", {name, role}))) return;
		for (const role of own.filter(r => !wanted.includes(r))) if (!(await run("accounts.revoke", {name, role}))) return;
	};

function takeAway(role, permission, confirm) {
	const take = ["Take away", `Callers with the role ${role} lose it with their next request.`, "roles.deny", {role, permission}];
	return button("×", () => confirm(take, `“${permission}”`), ".plain", {"aria-label": `Take ${permission} away from ${role}`});
}

async function createToken(run, {account, name, scopes, days}) {
	const params = filled({account, scopes: split(scopes, /[\s,]+/), name, lifetime: days > 0 ? Math.round(days * 864e5) : ""});
	const made = await run("tokens.create", params);
	const unknown = made?.unknown_scopes?.join(", ");
	if (made) await ask("The new token", [el("p", "It is shown once. The server stores only its hash."), copyable(made.token), unknown && el("p.warn", "Unknown scopes: ", visible(unknown))]);
}

// Each section: the columns of its list, the form that adds to it, forms and actions of a row. A form: [label, button,
// fields, use(run, data), text]. An action: [label, text, method, params].
const sections = {
	accounts: {
		caption: "Accounts",
		key: "name",
		columns: [
			["Name", a => anchor(visible(a.name), "/audit", {caller: a.name, since: "24h"}, {title: "Its records"}), "head"],
			stateColumn,
			["Roles", a => a.roles.map(r => tag(r))],
			["Password", a => (a.password ? "yes" : "no, tokens only"), "fit"],
			["Created", a => when(a.created), "fit"],
		],
		add: [
			"New account",
			"Add",
			[["name", "Name", required], ["password", "Password", secret, "Without one: tokens only"], roleNames],
			(run, {name, password, roles}) => run("accounts.add", {name, password: password || null, roles: split(roles, ",")}),
		],
		forms: ({name, roles}) => [
			["Roles", "Save", [["roles", "Roles", {value: roles.join(", ")}, roleNames[3]]], setRoles(name, roles), "The account has exactly these roles then. Its sessions end."],
			["Password", "Set the password", [["password", "New password", {...secret, ...required}]], (run, {password}) => run("accounts.password", {name, password})],
		],
		actions: ({name, state}) => [
			state === "blocked"
				? ["Unblock", "Its logins are accepted again.", "accounts.unblock", {name}]
				: ["Block", "Its logins are rejected, and its sessions and streams end.", "accounts.block", {name}],
			["Remove", "The account and its tokens are removed. This cannot be undone.", "accounts.remove", {name}],
		],
	},
	roles: {
		caption: "Roles and their permissions",
		key: "name",
		columns: [
			["Role", "name", "head"],
			["From", "from", "fit"],
			["Permissions", (r, confirm) => r.permissions.map(p => [tag(p), isStored(r) && takeAway(r.name, p, confirm)])],
		],
		add: ["New role", "Add", [["role", "Name", required]], (run, params) => run("roles.add", params)],
		forms: r => (isStored(r) ? [["Allow", "Allow", [["permission", "Permission", required]], (run, {permission}) => run("roles.allow", {role: r.name, permission})]] : []),
		actions: r => (isStored(r) ? [["Remove", "Accounts lose the permissions of this role.", "roles.remove", {role: r.name}]] : []),
	},
	tokens: {
		caption: "API tokens",
		key: "id",
		columns: [
			["Token", "id", "head"],
			["Account", "account"],
			["Name", "name"],
			stateColumn,
			["Scopes", t => t.scopes.map(s => tag(s))],
			["Created", t => when(t.created), "fit"],
			["Expires", expiry, "fit"],
			["Last used", lastUse],
		],
		add: [
			"New token",
			"Create",
			[
				["account", "Account", required],
				["name", "Name", {}, "What it is for"],
				["scopes", "Scopes", {}, "With spaces between them"],
				["days", "Days until it expires", {inputmode: "numeric", value: "90"}, "Empty: it does not expire"],
			],
			createToken,
		],
		actions: t => (t.revoked ? [] : [["Revoke", "Requests with it are rejected at once, and its streams end.", "tokens.revoke", {id: t.id}]]),
	},
	sessions: {
		caption: "Browser sessions",
		key: "id",
		columns: [
			["Session", "id", "head"],
			["Account", "account"],
			["Began", s => when(s.created), "fit"],
			["Used", s => when(s.used), "fit"],
			["Ends", s => when(s.expires), "fit"],
		],
		actions: s => [["End", "Its browser must log in again.", "sessions.end", {id: s.id}]],
	},
};

export async function access(node, name = "accounts") {
	const section = sections[name];
	if (!Object.hasOwn(sections, name)) throw missing("No such section.");
	const trouble = el("div");

	const run = async (method, params) => {
		const result = await attempt(trouble, "Nothing was changed.", () => change(method, params));
		if (result) await attempt(trouble, "The list is old.", () => (status("Done."), load()));
		return result;
	};

	async function confirm([label, text, method, params], what) {
		if (await ask(`${label} ${what}?`, el("p", text), label, ".danger")) await run(method, params);
	}

	const open = ([label, save, fields, use, text], what = "") =>
		button(`${label}…`, async () => {
			const data = await ask(`${label} ${what}`, [text && el("p", text), fields.map(field)], save);
			if (data) await use(run, data);
		});

	const rowActions = row => {
		const what = row.name ?? row.id;
		const all = [...(section.forms?.(row) ?? []).map(form => open(form, what)), ...section.actions(row).map(action => button(`${action[0]}…`, () => confirm(action, what), ".danger"))];
		if (row.revoked) return "";
		return all.length
			? all.flatMap(one => [one, " "])
			: button("To paste…", () => ask(`${what} is in the configuration file`, [el("p", "The console does not edit it. Change this there:"), copyable(yaml(row))]));
	};
	const rows = table({...section, context: confirm, columns: [...section.columns, ["Actions", rowActions, "fit"]], empty: () => el("p", `No ${name}.`)});

	async function load() {
		rows.fill((await rpc(`${name}.list`))[name]);
	}

	const tabs = Object.keys(sections).map(s => anchor(s[0].toUpperCase() + s.slice(1), `/access/${s}`, {}, {"aria-current": s === name && "page"}));
	await load();
	writePage(node, `Access: ${name}`, "", el("nav.tabs", {"aria-label": "Access"}, tabs), trouble, el("div.bar", section.add && open(section.add)), el("section.panel", rows.node));
}
