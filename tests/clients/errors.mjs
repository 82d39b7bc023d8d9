// Errors that the server sends with the id of a request, caused on the way to it; and some without one. Not here: errors
// for want of memory, for too many subscriptions or sessions, of forged forms, and of passwords without TLS.
//
// An SDK calls a tool named `error-KIND`. The recorder (recorder.mjs) changes that request so that the server answers
// with this error. The same session must be able to make another call afterwards.
import { existsSync, renameSync } from "node:fs";

const AWAY_MS = 10_000;
const version = "io.modelcontextprotocol/protocolVersion";
const capabilities = "io.modelcontextprotocol/clientCapabilities";

const basic = (name, password) => `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;

// Another request in the place of the call. The headers of newer versions repeat the method and the name.
function replace({ headers, message }, method, params) {
    message.method = method;
    message.params = { _meta: message.params._meta, ...params };
    if (headers["mcp-method"] !== undefined) {
        headers["mcp-method"] = method;
        delete headers["mcp-name"];
        const name = params.name ?? params.uri;
        if (typeof name === "string") {
            headers["mcp-name"] = name;
        }
    }
}

function rename(from, to) {
    ["", "-wal", "-shm"].filter((end) => existsSync(from + end)).forEach((end) => renameSync(from + end, to + end));
}

// The status of another request to the server.
async function post(url, headers, message) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...message });
    const all = { "content-type": "application/json", ...headers };
    const answer = await fetch(url, { method: "POST", headers: all, body });
    await answer.arrayBuffer();
    return answer.status;
}

// Waits until a login with an unknown account has this status.
async function untilStatus(url, status) {
    const deadline = Date.now() + AWAY_MS;
    for (let n = 0; Date.now() < deadline; n += 1) {
        const headers = { authorization: basic(`unknown-${status}-${n}`, "wrong") };
        if ((await post(url, headers, { method: "ping" })) === status) {
            return;
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`no status ${status} after ${AWAY_MS} ms`);
}

// kind: { statuses, eras (both unless stated), change({ headers, message }, server), after(server), withoutId }.
// `server` has its url, its database, and tokens of accounts: `plain` has no scope, `poor` no permission.
const kinds = {
    "unknown-tool": { statuses: [200, 400], change: () => {} },
    "unknown-method": { statuses: [200, 404], change: (one) => replace(one, "nothing/such", {}) },
    "name-type": { statuses: [200, 400], change: (one) => replace(one, "tools/call", { name: 5 }) },
    cursor: { statuses: [200, 400], change: (one) => replace(one, "tools/list", { cursor: "x" }) },
    resource: { statuses: [200, 400, 404], change: (one) => replace(one, "resources/read", { uri: "nothing:such" }) },
    prompt: { statuses: [200, 400], change: (one) => replace(one, "prompts/get", { name: "nothing" }) },
    "prompt-argument": {
        statuses: [200, 400],
        change: (one) => replace(one, "prompts/get", { name: "test_prompt_with_arguments", arguments: {} }),
    },
    completion: {
        statuses: [200, 400],
        change: (one) => replace(one, "completion/complete", { ref: { type: "ref/nothing" }, argument: {} }),
    },
    rate: {
        statuses: [429],
        change: async (one, { url }) => {
            const params = { name: "test_simple_prompt" };
            await post(url, {}, { method: "prompts/get", params });
            replace(one, "prompts/get", params);
        },
    },
    handshake: { eras: ["legacy"], statuses: [200], change: (one) => replace(one, "initialize", {}) },
    "log-level": {
        eras: ["legacy"],
        statuses: [200],
        change: (one) => replace(one, "logging/setLevel", { level: "nothing" }),
    },
    subscription: {
        eras: ["legacy"],
        statuses: [200],
        change: (one) => replace(one, "resources/subscribe", { uri: "nothing:such" }),
    },
    filter: {
        eras: ["modern"],
        statuses: [200, 400],
        change: (one) => replace(one, "subscriptions/listen", { notifications: 5 }),
    },
    capability: {
        eras: ["modern"],
        statuses: [400],
        change: (one) => {
            const name = "test_input_required_result_elicitation";
            replace(one, "tools/call", { name, arguments: {} });
            one.message.params._meta[capabilities] = {};
        },
    },
    "media-type": { statuses: [415], change: ({ headers }) => (headers["content-type"] = "text/plain") },
    "needs-login": {
        statuses: [401],
        change: (one) => replace(one, "tools/call", { name: "examples__contentTypes__list", arguments: {} }),
    },
    credentials: { statuses: [401], change: ({ headers }) => (headers.authorization = "Bearer wrong") },
    scope: {
        statuses: [403],
        change: (one, { tokens }) => {
            replace(one, "tools/call", { name: "examples__contentTypes__list", arguments: {} });
            one.headers.authorization = `Bearer ${tokens.plain}`;
        },
    },
    permission: {
        statuses: [403],
        change: (one, { tokens }) => {
            replace(one, "tools/list", {});
            one.headers.authorization = `Bearer ${tokens.poor}`;
        },
    },
    "login-limit": {
        statuses: [429],
        change: async ({ headers }, { url }) => {
            headers.authorization = basic("limited", "wrong");
            for (let n = 0; n < 6; n += 1) {
                await post(url, { authorization: headers.authorization }, { method: "ping" });
            }
        },
    },
    database: {
        statuses: [503],
        change: async ({ headers }, { url, database }) => {
            rename(database, `${database}.away`);
            await untilStatus(url, 503);
            headers.authorization = basic("another", "wrong");
        },
        after: async ({ url, database }) => {
            rename(`${database}.away`, database);
            await untilStatus(url, 401);
        },
    },
    "method-header": { statuses: [400], change: ({ headers }) => (headers["mcp-method"] = "tools/list") },
    "name-header": { statuses: [400], change: ({ headers }) => (headers["mcp-name"] = "another") },
    "version-header": { statuses: [400], change: ({ headers }) => (headers["mcp-protocol-version"] = "2020-01-01") },
    "other-version": {
        eras: ["legacy"],
        statuses: [400],
        change: ({ headers }) => (headers["mcp-protocol-version"] = "2025-03-26"),
    },
    "no-envelope": { eras: ["modern"], statuses: [400], change: ({ message }) => delete message.params._meta },
    "no-capabilities": {
        eras: ["modern"],
        statuses: [400],
        change: ({ message }) => delete message.params._meta[capabilities],
    },
    version: {
        eras: ["modern"],
        statuses: [400],
        change: ({ headers, message }) => {
            message.params._meta[version] = "2099-01-01";
            headers["mcp-protocol-version"] = "2099-01-01";
        },
    },
    accept: {
        eras: ["modern"],
        statuses: [406],
        change: (one) => {
            replace(one, "subscriptions/listen", { notifications: { toolsListChanged: true } });
            one.headers.accept = "application/json";
        },
    },
    "too-large": {
        statuses: [413],
        change: ({ message }) => (message.params.arguments = { filler: "x".repeat(5 << 20) }),
    },
    session: {
        eras: ["legacy"],
        statuses: [404],
        change: ({ headers }) => (headers["mcp-session-id"] = "unknown"),
    },
    // Refused before a message is read.
    host: { statuses: [421], withoutId: true, change: ({ headers }) => (headers.host = "elsewhere.example") },
    origin: {
        statuses: [403],
        withoutId: true,
        change: ({ headers }) => (headers.origin = "https://elsewhere.example"),
    },
};

// The kinds of one era: those with an id, and the others if `all` is set.
export const kindsOf = (era, all) =>
    Object.keys(kinds).filter((kind) => {
        const { eras = [era], withoutId = false } = kinds[kind];
        return eras.includes(era) && (all || !withoutId);
    });

// The message of a response, as JSON or as an event.
function messageOf(text) {
    try {
        return JSON.parse(/^data: (\{.*)/m.exec(text)?.[1] ?? text);
    } catch {
        return {};
    }
}

// The function `change` of startRecorder. `seen` gets what the server sent for each kind: { status, isError, hasId }.
export const changeInto =
    (server, seen) =>
    async ({ headers, body }) => {
        const kind = /"error-([a-z-]+)"/.exec(body)?.[1];
        if (kinds[kind] === undefined) {
            return { headers, body };
        }
        const one = { headers: { ...headers }, message: JSON.parse(body) };
        await kinds[kind].change(one, server);
        const changed = JSON.stringify(one.message);
        one.headers["content-length"] = String(Buffer.byteLength(changed));
        const onAnswer = async ({ status, text }) => {
            const { id, error } = messageOf(text);
            seen[kind] = { status, isError: error !== undefined, hasId: id === one.message.id };
            await kinds[kind].after?.(server);
        };
        return { headers: one.headers, body: changed, onAnswer };
    };

const isExpected = ({ statuses, withoutId = false }, answer) =>
    statuses.includes(answer?.status) && answer.isError && answer.hasId === !withoutId;

// Answers of the server to these kinds that are not the error of the kind, as text.
export const wrongAnswers = (seen, wanted) =>
    wanted
        .filter((kind) => !isExpected(kinds[kind], seen[kind]))
        .map((kind) => `${kind}: ${JSON.stringify(seen[kind] ?? "no request")}`);
