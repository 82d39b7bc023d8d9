// SPDX-License-Identifier: GPL-2.0-or-later
// Accounts, roles, tokens and sessions. Each change is one administration method.
import { change, problem, rpc } from "./api.mjs";
import { ask, copy, el, replace, span, status, table, tag, visible, when } from "./dom.mjs";
import { link } from "./main.mjs";

const sections = ["accounts", "roles", "tokens", "sessions"];
const day = 86400000;

const field = (name, label, attributes = {}, help) =>
	el("div.field", el("label", { for: `new-${name}` }, label), el("input", { id: `new-${name}`, name, type: "text", autocomplete: "off", ...attributes }), help && el("p.help", help));
const list = (text) => text.split(/[\s,]+/).filter(Boolean);

export async function render(node, section = "accounts") {
	if (!sections.includes(section)) throw Object.assign(new Error("No such section."), { isMissing: true });
	const place = el("div");
	const actions = el("div.bar");
	const trouble = el("div");

	// Make a change, tell the outcome, and show the list again.
	async function run(method, params, what, done) {
		replace(trouble);
		try {
			const result = await change(method, params);
			status(done);
			await load();
			return result;
		} catch (error) {
			replace(trouble, problem(error, what));
			return undefined;
		}
	}

	async function confirm(title, text, button, method, params, done) {
		if (await ask(title, el("p", text), button, { danger: true })) await run(method, params, "Nothing was changed.", done);
	}

	const act = (label, onclick, isDanger) => el(isDanger ? "button.danger" : "button", { onclick }, label);

	const show = {
		async accounts() {
			const { accounts } = await rpc("causeway.accounts.list");
			const edit = async (a) => {
				const data = await ask(
					`Roles of ${a.name}`,
					[
						el("p", "Each role on this list is granted, each other one is taken away. Sessions of the account end."),
						field("roles", "Roles", { value: a.roles.join(", ") }, "Names with commas between them"),
					],
					"Save",
				);
				if (!data) return;
				const wanted = data
					.get("roles")
					.split(",")
					.map((r) => r.trim())
					.filter(Boolean);
				for (const role of wanted.filter((r) => !a.roles.includes(r))) if (!(await run("causeway.accounts.grant", { name: a.name, role }, "The role was not granted.", "Granted."))) return;
				for (const role of a.roles.filter((r) => !wanted.includes(r)))
					if (!(await run("causeway.accounts.revoke", { name: a.name, role }, "The role was not taken away.", "Taken away."))) return;
			};
			const setPassword = async (a) => {
				const data = await ask(`Password of ${a.name}`, [field("password", "New password", { type: "password", autocomplete: "new-password", required: true })], "Set the password");
				if (data) await run("causeway.accounts.password", { name: a.name, password: data.get("password") }, "The password was not changed.", "The password was changed.");
			};
			replace(
				actions,
				act("New account…", async () => {
					const data = await ask(
						"New account",
						[
							field("name", "Name", { required: true }),
							field("password", "Password", { type: "password", autocomplete: "new-password" }, "Without one the account logs in with tokens only"),
							field("roles", "Roles", {}, "Names with commas between them"),
						],
						"Add",
					);
					if (data)
						await run(
							"causeway.accounts.add",
							{
								name: data.get("name"),
								password: data.get("password") || null,
								roles: data
									.get("roles")
									.split(",")
									.map((r) => r.trim())
									.filter(Boolean),
							},
							"The account was not added.",
							"Added.",
						);
				}),
			);
			return table({
				caption: "Accounts",
				key: (a) => a.name,
				columns: [
					{
						label: "Name",
						header: true,
						cell: (a) => el("a", { href: link("/audit", { caller: a.name, since: "24h" }), title: "Its records" }, visible(a.name)),
					},
					{ label: "State", class: "fit", cell: (a) => tag(a.state, a.state === "active" ? "good" : "warn") },
					{ label: "Roles", cell: (a) => a.roles.map((r) => tag(r)) },
					{ label: "Password", class: "fit", cell: (a) => (a.password ? "yes" : "no, tokens only") },
					{ label: "Created", class: "fit", cell: (a) => when(a.created) },
					{
						label: "Actions",
						class: "fit",
						cell: (a) => [
							act("Roles…", () => edit(a)),
							" ",
							act("Password…", () => setPassword(a)),
							" ",
							a.state === "blocked"
								? act("Unblock", () => run("causeway.accounts.unblock", { name: a.name }, "The account is still blocked.", "Unblocked."))
								: act(
										"Block…",
										() =>
											confirm(`Block ${a.name}?`, "Its logins are rejected, and its sessions and streams end.", "Block", "causeway.accounts.block", { name: a.name }, "Blocked."),
										true,
									),
							" ",
							act(
								"Remove…",
								() =>
									confirm(`Remove ${a.name}?`, "The account and its tokens are removed. This cannot be undone.", "Remove", "causeway.accounts.remove", { name: a.name }, "Removed."),
								true,
							),
						],
					},
				],
				empty: () => el("p", "No accounts."),
				rows: accounts,
			});
		},

		async roles() {
			const { roles } = await rpc("causeway.roles.list");
			replace(
				actions,
				act("New role…", async () => {
					const data = await ask("New role", field("role", "Name", { required: true }), "Add");
					if (data) await run("causeway.roles.add", { role: data.get("role") }, "The role was not added.", "Added.");
				}),
			);
			const allow = async (r) => {
				const data = await ask(`Allow ${r.name}`, field("permission", "Permission", { required: true }), "Allow");
				if (data) await run("causeway.roles.allow", { role: r.name, permission: data.get("permission") }, "The permission was not given.", "Allowed.");
			};
			const isStored = (r) => !/config/.test(String(r.from));
			return table({
				caption: "Roles and their permissions",
				key: (r) => r.name + r.from,
				columns: [
					{ label: "Role", header: true, cell: (r) => visible(r.name) },
					{ label: "From", class: "fit", cell: (r) => visible(r.from) },
					{
						label: "Permissions",
						cell: (r) =>
							r.permissions.map((p) => [
								tag(p),
								isStored(r) &&
									el(
										"button.plain",
										{
											"aria-label": `Take ${p} away from ${r.name}`,
											onclick: () =>
												confirm(
													`Take “${p}” away?`,
													`Callers with the role ${r.name} lose it with their next request.`,
													"Take away",
													"causeway.roles.deny",
													{ role: r.name, permission: p },
													"Taken away.",
												),
										},
										"×",
									),
							]),
					},
					{
						label: "Actions",
						class: "fit",
						cell: (r) =>
							isStored(r)
								? [
										act("Allow…", () => allow(r)),
										" ",
										act(
											"Remove…",
											() => confirm(`Remove ${r.name}?`, "Accounts lose the permissions of this role.", "Remove", "causeway.roles.remove", { role: r.name }, "Removed."),
											true,
										),
									]
								: el("span.quiet", "in the configuration file"),
					},
				],
				empty: () => el("p", "No roles."),
				rows: roles,
			});
		},

		async tokens() {
			const { tokens } = await rpc("causeway.tokens.list");
			replace(
				actions,
				act("New token…", async () => {
					const data = await ask(
						"New token",
						[
							field("account", "Account", { required: true }),
							field("name", "Name", {}, "What it is for"),
							field("scopes", "Scopes", {}, "With spaces between them"),
							field("days", "Days until it expires", { inputmode: "numeric", value: "90" }, "Empty: it does not expire"),
						],
						"Create",
					);
					if (!data) return;
					const days = Number(data.get("days"));
					const params = {
						account: data.get("account"),
						...(data.get("name") ? { name: data.get("name") } : {}),
						scopes: list(data.get("scopes")),
						...(days > 0 ? { lifetime: Math.round(days * day) } : {}),
					};
					const made = await run("causeway.tokens.create", params, "No token was created.", "Created.");
					if (made)
						await ask("The new token", [
							el("p", "It is shown once. The server stores only its hash."),
							el("p.item", el("code", made.token), el("button", { type: "button", onclick: () => copy(made.token) }, "Copy")),
							made.unknown_scopes?.length > 0 && el("p.warn", "Unknown scopes: ", visible(made.unknown_scopes.join(", "))),
						]);
				}),
			);
			const expiry = (t) => (t.expires === null ? el("span.warn", "never !") : t.expires < Date.now() ? "expired" : `in ${span((t.expires - Date.now()) / 1000)}`);
			return table({
				caption: "API tokens",
				key: (t) => t.id,
				columns: [
					{ label: "Token", header: true, cell: (t) => t.id },
					{ label: "Account", cell: (t) => visible(t.account) },
					{ label: "Name", cell: (t) => visible(t.name ?? "") },
					{ label: "State", class: "fit", cell: (t) => tag(t.state, t.state === "active" || t.state === "valid" ? "good" : "warn") },
					{ label: "Scopes", cell: (t) => t.scopes.map((s) => tag(s)) },
					{ label: "Expires", class: "fit", cell: expiry },
					{ label: "Created", class: "fit", cell: (t) => when(t.created) },
					{
						label: "Actions",
						class: "fit",
						cell: (t) =>
							t.revoked
								? el("span.quiet", "revoked")
								: act(
										"Revoke…",
										() =>
											confirm(
												`Revoke token ${t.id}?`,
												"Requests with it are rejected at once, and its streams end.",
												"Revoke",
												"causeway.tokens.revoke",
												{ id: t.id },
												"Revoked.",
											),
										true,
									),
					},
				],
				empty: () => el("p", "No tokens."),
				rows: tokens,
			});
		},

		async sessions() {
			const { sessions } = await rpc("causeway.sessions.list");
			replace(actions);
			return table({
				caption: "Browser sessions",
				key: (s) => s.id,
				columns: [
					{ label: "Session", header: true, cell: (s) => s.id },
					{ label: "Account", cell: (s) => visible(s.account) },
					{ label: "Began", class: "fit", cell: (s) => when(s.created) },
					{ label: "Used", class: "fit", cell: (s) => when(s.used) },
					{ label: "Ends", class: "fit", cell: (s) => when(s.expires) },
					{
						label: "Actions",
						class: "fit",
						cell: (s) => act("End…", () => confirm(`End session ${s.id}?`, "Its browser must log in again.", "End", "causeway.sessions.end", { id: s.id }, "Ended."), true),
					},
				],
				empty: () => el("p", "No sessions."),
				rows: sessions,
			});
		},
	};

	async function load() {
		const made = await show[section]();
		replace(place, made.node);
	}

	const tabsBar = el(
		"nav.tabs",
		{ "aria-label": "Access" },
		sections.map((s) => el("a", { href: link(`/access/${s}`), "aria-current": s === section ? "page" : undefined }, s[0].toUpperCase() + s.slice(1))),
	);
	replace(node, el("div.title", el("h1", "Access: ", section)), tabsBar, trouble, actions, el("section.panel", place));
	await load();
}
