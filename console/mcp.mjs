// SPDX-License-Identifier: GPL-2.0-or-later
// Requests to the MCP endpoint as a modern client makes them.
import { mcpPath, post } from "./api.mjs";
import { loose, parse, plain, write } from "./json.mjs";

export const version = "2026-07-28";
const key = (name) => `io.modelcontextprotocol/${name}`;
const capabilities = { elicitation: { form: {} } };

let ids = 0;

const isPlainHeader = (text) => /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?.*\?=$/.test(text);

function headerValue(value) {
	const text = typeof value === "string" ? value : write(value);
	if (isPlainHeader(text)) return text;
	const bytes = new TextEncoder().encode(text);
	return `=?base64?${btoa(String.fromCharCode(...bytes))}?=`;
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
export function request(method, { name, raw = {}, args, schema } = {}) {
	const meta = {
		[key("protocolVersion")]: version,
		[key("clientInfo")]: { name: "causeway-console", version: "1" },
		[key("clientCapabilities")]: capabilities,
	};
	if (method === "tools/call") meta.progressToken = ++ids;
	const members = Object.entries({ ...(name === undefined ? {} : { name: JSON.stringify(name) }), ...raw, _meta: JSON.stringify(meta) });
	const params = members.map(([k, text]) => `${JSON.stringify(k)}:${text}`).join(",");
	return {
		body: `{"jsonrpc":"2.0","id":${++ids},"method":${JSON.stringify(method)},"params":{${params}}}`,
		headers: {
			Accept: "application/json, text/event-stream",
			"MCP-Protocol-Version": version,
			"Mcp-Method": method,
			...(name === undefined ? {} : { "Mcp-Name": headerValue(name) }),
			...(args ? paramHeaders(schema, args) : {}),
		},
	};
}

// The events of a stream, one data text after another.
async function* events(body) {
	const reader = body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "";
	for (;;) {
		const { done, value } = await reader.read();
		if (done) return;
		rest += value;
		const parts = rest.split(/\r?\n\r?\n/);
		rest = parts.pop();
		for (const part of parts) {
			const data = part
				.split(/\r?\n/)
				.filter((line) => line.startsWith("data:"))
				.map((line) => line.slice(5).replace(/^ /, ""));
			if (data.length) yield data.join("\n");
		}
	}
}

// Send a request. The answer: { status, requestId, text, message } with exact numbers; `onMessage` gets those before it.
export async function send({ body, headers }, { signal, token, onMessage } = {}) {
	const answer = await post(mcpPath, body, headers, { signal, token });
	const out = {
		status: answer.status,
		requestId: answer.headers.get("X-Request-Id") ?? undefined,
		challenge: answer.headers.get("WWW-Authenticate") ?? undefined,
	};
	if (answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
		for await (const text of events(answer.body)) {
			const message = parse(text);
			if (message.has("id")) Object.assign(out, { text, message });
			else onMessage?.(plain(message));
		}
		if (!out.message) throw new Error("The stream ended before the result.");
		return out;
	}
	out.text = await answer.text();
	try {
		out.message = parse(out.text);
	} catch {
		throw new Error(`The server answered with status ${answer.status}: ${out.text.slice(0, 500)}`);
	}
	return out;
}

// All tools that the caller sees.
export async function listTools() {
	const all = [];
	for (let cursor; ; ) {
		const { message } = await send(request("tools/list", { raw: cursor === undefined ? {} : { cursor: JSON.stringify(cursor) } }));
		const { result, error } = loose(message);
		if (error) throw Object.assign(new Error(error.message), { code: Number(error.code) });
		all.push(...result.tools);
		cursor = result.nextCursor;
		if (cursor === undefined) return all;
	}
}

const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

// The same request for a shell. No credentials are in it.
export function asCurl({ body, headers }) {
	const all = { "Content-Type": "application/json", ...headers };
	const lines = Object.entries(all).map(([name, value]) => `  -H ${quote(`${name}: ${value}`)} \\`);
	return [`curl -sN ${quote(location.origin + mcpPath)} \\`, ...lines, `  -d ${quote(body)}`].join("\n");
}
