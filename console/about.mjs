// SPDX-License-Identifier: GPL-2.0-or-later
// Version, configuration in force, and the level of the log.
import { change, mcpPath, prefix, problem, rpc } from "./api.mjs";
import { el, facts, labelled, option, replace, status, visible, when } from "./dom.mjs";
import { write } from "./json.mjs";
import { may, me } from "./main.mjs";

const levels = ["error", "warn", "info", "debug", "off"];

function logLevel() {
	const level = el(
		"select",
		levels.map((l) => option(l, l, "info")),
	);
	const components = el("input", { type: "text", placeholder: "net=debug,access=off" });
	const trouble = el("div");
	const set = async () => {
		replace(trouble);
		try {
			const got = await change("causeway.log.level", { level: level.value, ...(components.value ? { components: components.value } : {}) });
			status(`The log has the level ${got.level} now.`);
		} catch (error) {
			replace(trouble, problem(error, "The level was not changed."));
		}
	};
	return el(
		"section.panel",
		el("h2", "Log level"),
		el("p.quiet", "In force until the next reload or restart."),
		trouble,
		el("div.bar", labelled("Level", level), labelled("Components", components), el("button", { onclick: set }, "Set the level")),
	);
}

export async function render(node) {
	const parts = [el("div.title", el("h1", "About"))];
	const server = may("view traffic") ? await rpc("causeway.status") : undefined;
	const doors = [
		["MCP clients", location.origin + mcpPath],
		["JSON-RPC", `${location.origin}${prefix}/jsonrpc`],
		["REST", `${location.origin}${prefix}/mcp/tools/list`],
	];
	parts.push(
		el(
			"div.grid",
			el(
				"section.panel",
				el("h2", "Server"),
				server
					? facts([
							["Version", server.server.version],
							["Process", server.server.pid],
							["Started", when(server.server.started)],
							["Addresses", server.listen.join(", ")],
							["Configuration", visible(server.config || "none")],
							["Waits for a restart", server.restart.join(", ") || "nothing"],
						])
					: el("p.quiet", "Your account may not view the traffic."),
			),
			el("section.panel", el("h2", "Addresses for clients"), facts(doors.map(([name, address]) => [name, el("code", address)]))),
			el(
				"section.panel",
				el("h2", "You"),
				facts([
					["Account", visible(me().name)],
					[
						"Permissions",
						el(
							"ul",
							me().permissions.map((p) => el("li", visible(p))),
						),
					],
				]),
			),
		),
	);
	if (may("administer sources")) {
		const { config } = await rpc("causeway.config.show", {}, { isExact: true });
		parts.push(
			logLevel(),
			el(
				"section.panel",
				el("h2", "Configuration in force"),
				el("p.quiet", "Values that may hold secrets are masked. The console never writes the file."),
				el("details", el("summary", "Show it"), el("pre", visible(write(config, "  ")))),
			),
		);
	}
	replace(node, parts);
}
