// SPDX-License-Identifier: GPL-2.0-or-later
// Shared by pages: caller, addresses, filters, heading, and the live stream of this tab.
import {consolePath, failure, request, send} from "./api.mjs";
import {button, byId, each, el, labelled, replace, tag, visible, when} from "./dom.mjs";
import {plain} from "./json.mjs";

// caller: whose session it is; refresh(): show the page anew; keys(): the list of them.
export const frame = {};
export const may = permission => !permission || frame.caller.permissions.includes(permission);
export const filled = values => Object.fromEntries(Object.entries(values).filter(([, v]) => v !== undefined && v !== ""));
export const link = (path, query = {}) => {
	const text = new URLSearchParams(filled(query)).toString();
	return `${consolePath}${path}${text ? `?${text}` : ""}`;
};
export const anchor = (label, path, query, attrs) => el("a", {href: link(path, query), ...attrs}, label);
export const filterLink = (label, path, query) => anchor(label, path, query, {title: "Only these"});
export const badge = (text, kind, path, query) => filterLink(tag(text, kind), path, query);
const item = (folder, name) => anchor(visible(name), `/${folder}/${encodeURIComponent(name)}`);
export const toolLink = name => el("span.mono", item("tools", name));
export const sourceLink = name => item("sources", name);
export const query = () => Object.fromEntries(new URLSearchParams(location.search));

// Put values into the address without a new entry of the history.
export const setQuery = changes => history.replaceState(null, "", link(location.pathname.slice(consolePath.length), {...query(), ...changes}));

// Inputs whose values are in the address, and a bar with them. `update` runs soon after a change.
export function filters(inputs, update, labels = {}) {
	const given = query();
	const all = Object.entries(inputs);
	const values = () => Object.fromEntries(all.map(([name, input]) => [name, input.value]));
	let timer;
	const run = () => Promise.resolve(update()).catch(frame.refresh);
	const changed = () => {
		setQuery(values());
		clearTimeout(timer);
		timer = setTimeout(run, 100);
	};
	for (const [name, input] of all) {
		input.value = given[name] ?? input.value;
		input.addEventListener("input", changed);
	}
	const clear = button("Clear the filters", () => {
		for (const [, input] of all) input.value = "";
		setQuery(values());
		run();
	});
	const used = () => Object.entries(values()).flatMap(([name, value]) => (value ? [`${name}: ${value}`] : []));
	const label = name => ({q: "Search", ...labels})[name] ?? name[0].toUpperCase() + name.slice(1);
	const bar = each("div.bar", all, ([name, input]) => labelled(label(name), input, input.type === "search"));
	return {bar, values, empty: what => [el("p", `No ${what} for `, visible(used().join(", ") || "these filters"), "."), clear]};
}

export const writePage = (node, title, actions, ...content) => replace(node, el("div.title", el("h1", title), actions), content);

// Browsers have six connections: some are left for requests.
const streamsMax = 4;

// The one stream of this tab: `onCalls` gets calls as they end, `onStats` each step of the statistics, and `load` is called
// when more has changed. A tab that is hidden or paused has none.
export function live({wanted = {}, onCalls, onStats, load}) {
	const note = byId("live");
	const light = el("span");
	const {dataset} = document.body;
	let chosen = wanted;
	let stream;
	let timer;
	let wait = 1;
	let lostAt;
	let isPaused = false;
	// Server errors and lost rights concern the whole page. A lost connection comes back.
	const run = (use, value) => Promise.resolve(use?.(value)).catch(error => error.code && frame.refresh());
	const onMessage = ({method, params}) => {
		if (method === "notifications/causeway/traffic") return run(onCalls, params);
		if (method === "notifications/causeway/stats") return run(onStats, params.stats);
		if (method === "notifications/tools/list_changed") return run(load);
		if (!params.notifications["causeway/traffic"]) return frame.refresh();
		if (lostAt) run(load);
		lostAt = undefined;
		wait = 1;
		dataset.live = "yes";
		replace(light, tag("● live", "good"));
		return replace(note);
	};
	const stop = (...text) => {
		lostAt ??= Date.now();
		dataset.live = "no";
		replace(light, tag(text[0].toLowerCase(), "warn"));
		replace(note, el("strong.bad", text[0], " since "), when(lostAt), text.slice(1));
	};
	const lose = error => {
		const why = error && error.name !== "TypeError" ? `: ${error.message}` : "";
		stop("Not live", visible(why), ". The numbers are old. ", button("Connect", open));
		timer = setTimeout(open, wait * 1000);
		wait = Math.min(30, wait * 2);
	};
	const close = () => {
		clearTimeout(timer);
		stream?.abort();
		stream = undefined;
	};
	async function open() {
		close();
		const own = new AbortController();
		stream = own;
		const notifications = JSON.stringify({toolsListChanged: true, "causeway/traffic": {...chosen, calls: Boolean(onCalls), stats: true}});
		let ended = failure("other tabs of this browser are live");
		const listen = async lock => {
			if (!lock) return false;
			try {
				const {message} = await send(request("subscriptions/listen", {raw: {notifications}}), {signal: own.signal, onMessage});
				ended = plain(message).error;
			} catch (error) {
				ended = error;
			}
			return true;
		};
		for (let i = 0; i < streamsMax && stream === own; i++) {
			if (await navigator.locks.request(`live-${i}`, {ifAvailable: true}, listen)) break;
		}
		if (stream === own) lose(ended);
	}
	const start = () => !document.hidden && !isPaused && open();
	const onVisible = () => {
		if (!document.hidden) return start();
		lostAt ??= Date.now();
		return close();
	};
	const pause = button("Pause", () => {
		isPaused = !isPaused;
		pause.textContent = isPaused ? "Go on" : "Pause";
		if (!isPaused) return start();
		close();
		return stop("Paused", ". ");
	});
	document.addEventListener("visibilitychange", onVisible);
	addEventListener("pagehide", close);
	// The first paint does not wait for the stream.
	timer = setTimeout(start, 50);
	return {
		controls: [light, pause],
		onPause: () => pause.click(),
		select(next) {
			chosen = next;
			start();
		},
		close() {
			document.removeEventListener("visibilitychange", onVisible);
			removeEventListener("pagehide", close);
			close();
			replace(note);
			delete dataset.live;
		},
	};
}
