// What an MCP server gets beside calls: _meta of clients, log levels, the ends of sessions; and the
// questions that it takes back.
import assert from "node:assert/strict";
import path from "node:path";
import { suite, test } from "node:test";
import { basic, call, discover, startAccounts } from "./support/accounts.mjs";
import {
    both,
    callTool,
    callToolWell,
    EventStream,
    legacy,
    modern,
    permissions,
    post,
    reloadBridge,
    startBridge,
    untilTool,
} from "./support/mcp.mjs";
import { startForger } from "./support/issuer.mjs";
import { startScript } from "./support/mcp-script.mjs";
import { scrape } from "./support/metrics.mjs";
import { newFolder } from "./support/plugins.mjs";
import { closeIdleConnections, runCauseway, writeConfig } from "./support/programs.mjs";
import { eventually, soonEnded } from "./support/server.mjs";

const sourceOf = (upstream, more = {}) => ({
    name: "srv",
    dialect: "mcp",
    prefix: "s.",
    methods: ["*"],
    timeout: "30s",
    url: upstream.url,
    ...more,
});

async function scripted(t, options, source = {}, config = {}) {
    const upstream = await startScript(options);
    const server = await startBridge({
        plugins: [],
        roles: { anonymous: [...permissions, "view metrics"] },
        config: { ...config, sources: [sourceOf(upstream, source)] },
    });
    t.after(() => server.stop());
    await untilTool(server, "s.echo");
    return { upstream, server };
}

const textOf = (result) => result.content[0].text;
const metaOf = (upstream) => upstream.seen("tools/call").at(-1).message.params._meta;
const form = { message: "Which?", requestedSchema: { type: "object", properties: {} } };
const question = { id: "q", method: "elicitation/create", params: form };
const takenBack = { method: "notifications/cancelled", params: { requestId: "q", reason: "too late" } };

// A call of a legacy client whose answer is a stream.
function streamIn(server, session) {
    const body = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "s.echo", arguments: {} } };
    return EventStream.of(server, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "Content-Type": "application/json", ...both, ...session },
    });
}

async function openSession(server, capabilities = {}) {
    const params = { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "test", version: "1" } };
    const { headers } = await legacy(server, "initialize", params);
    return { "Mcp-Session-Id": headers.get("mcp-session-id") };
}

for (const era of ["modern", "legacy"]) {
    suite(`_meta of a client, for a ${era} server`, { concurrency: true }, () => {
        test("passes, but for the keys of one hop", async (t) => {
            const { upstream, server } = await scripted(t, { era });
            const other = { "example.org/a": { deep: [1, "two\nlines"] }, traceparent: "00-1-2-01", plain: null };
            await callToolWell(
                server,
                "s.echo",
                {},
                { meta: { ...other, "causeway/name": "x", progressToken: "mine", "io.modelcontextprotocol/own": 1 } },
            );
            const got = metaOf(upstream);
            assert.notEqual(got.progressToken, "mine");
            delete got.progressToken;
            const own = Object.keys(got).filter((key) => key.startsWith("io.modelcontextprotocol/"));
            assert.equal(own.length, era === "modern" ? 3 : 0);
            assert.ok(!own.includes("io.modelcontextprotocol/own"));
            for (const key of own) delete got[key];
            assert.deepEqual(got, other);
        });

        test("that has nothing for the server leaves no trace", async (t) => {
            const { upstream, server } = await scripted(t, { era });
            await callToolWell(server, "s.echo", {});
            assert.equal(metaOf(upstream) === undefined, era === "legacy");
        });
    });
}

test("with tracing, a server gets the span of Causeway in _meta", async (t) => {
    const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    const collector = { traces: { endpoint: "http://127.0.0.1:9/v1/traces" } };
    const { upstream, server } = await scripted(t, { era: "legacy" }, {}, collector);
    const traceparent = `00-${trace}-00f067aa0ba902b7-01`;
    await callToolWell(server, "s.echo", {}, { meta: { traceparent, tracestate: "v=1", other: 1 } });
    const got = metaOf(upstream);
    // This server does not trust the trace of the client, so the ids are its own.
    assert.match(got.traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[0-3]$/);
    assert.doesNotMatch(got.traceparent, new RegExp(trace));
    assert.equal(got.tracestate, undefined);
    assert.equal(got.other, 1);
});

suite("the log level of a legacy server", { concurrency: true }, () => {
    const levels = (upstream) => upstream.seen("logging/setLevel").map(({ message }) => message.params.level);
    const callIn = (server, headers) => legacy(server, "tools/call", { name: "s.echo", arguments: {} }, { headers });

    test("is that of the client, in its session and before its call", async (t) => {
        const { upstream, server } = await scripted(t, { capabilities: { logging: {} } });
        upstream.on["logging/setLevel"] = ({ reply }) => reply({});
        const session = await openSession(server);
        await legacy(server, "logging/setLevel", { level: "warning" }, { headers: session });
        assert.equal((await callIn(server, session)).status, 200);
        assert.equal((await callIn(server, session)).status, 200);
        assert.deepEqual(levels(upstream), ["warning"]);
        await legacy(server, "logging/setLevel", { level: "debug" }, { headers: session });
        assert.equal((await callIn(server, session)).status, 200);
        assert.deepEqual(levels(upstream), ["warning", "debug"]);
        const order = upstream.requests.filter(({ headers }) => headers["mcp-session-id"] === "session-2");
        assert.deepEqual(
            order.map(({ verb, message }) => message?.method ?? verb).filter((name) => name !== "GET"),
            [
                "notifications/initialized",
                "logging/setLevel",
                "tools/call",
                "tools/call",
                "logging/setLevel",
                "tools/call",
            ],
        );
    });

    test("is set by the next call where the first one was cancelled before it was set", async (t) => {
        const { upstream, server } = await scripted(t, { capabilities: { logging: {} } });
        upstream.on["logging/setLevel"] = () => {};
        const session = await openSession(server);
        const first = callIn(server, session);
        await eventually(() => levels(upstream).length === 1, "the first level");
        upstream.on["logging/setLevel"] = ({ reply }) => reply({});
        const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
        assert.equal((await post(server, "/mcp", cancelled, { ...both, ...session })).status, 202);
        await first;
        assert.match((await callIn(server, session)).text, /done/);
        assert.match((await callIn(server, session)).text, /done/);
        assert.deepEqual(levels(upstream), ["info", "info"]);
    });

    test("that is lost with its connection is set by the next call", async (t) => {
        const { upstream, server } = await scripted(t, { capabilities: { logging: {} } });
        upstream.on["logging/setLevel"] = ({ response }) => {
            upstream.on["logging/setLevel"] = ({ reply }) => reply({});
            response.destroy();
        };
        const session = await openSession(server);
        assert.match((await callIn(server, session)).text, /done/);
        assert.match((await callIn(server, session)).text, /done/);
        assert.deepEqual(levels(upstream), ["info", "info"]);
    });

    test("is not set where the server has no log lines, or the client wants none", async (t) => {
        const [without, unwanted] = await Promise.all([
            scripted(t, {}),
            scripted(t, { capabilities: { logging: {} } }, {}, { mcp: { log_level: "off" } }),
        ]);
        for (const { upstream, server } of [without, unwanted]) {
            await callIn(server, await openSession(server));
            assert.deepEqual(levels(upstream), []);
        }
    });

    test("that it rejects does not stop the call; a session that is lost is opened again", async (t) => {
        const { upstream, server } = await scripted(t, { capabilities: { logging: {} } });
        const session = await openSession(server);
        const { text } = await callIn(server, session);
        assert.match(text, /done/);
        upstream.known.clear();
        await legacy(server, "logging/setLevel", { level: "debug" }, { headers: session });
        assert.match((await callIn(server, session)).text, /done/);
        assert.deepEqual(levels(upstream), ["info", "debug", "debug"]);
    });
});

suite("a question that a legacy server takes back", { concurrency: true }, () => {
    async function asking(t) {
        const { upstream, server } = await scripted(t, {});
        upstream.on["tools/call"] = async ({ session, reply }) => {
            upstream.push(question, { session });
            await eventually(() => upstream.mayTakeBack, "the question");
            upstream.push(takenBack, { session });
            await eventually(() => upstream.mayEnd, "the end");
            reply({ content: [{ type: "text", text: "without an answer" }] });
        };
        return { upstream, server };
    }

    test("is taken back at a legacy client, and its answer goes nowhere", async (t) => {
        const { upstream, server } = await asking(t);
        const session = await openSession(server, { elicitation: {} });
        const stream = await streamIn(server, session);
        const asked = await stream.next();
        assert.equal(asked.method, "elicitation/create");
        upstream.mayTakeBack = true;
        const cancelled = await stream.next();
        assert.equal(cancelled.method, "notifications/cancelled");
        assert.equal(cancelled.params.requestId, asked.id);
        const late = { jsonrpc: "2.0", id: asked.id, result: { action: "decline" } };
        assert.equal((await post(server, "/mcp", late, { ...both, ...session })).status, 202);
        upstream.mayEnd = true;
        assert.equal(textOf((await stream.next()).result), "without an answer");
        assert.equal(upstream.answerTo("q"), undefined);
    });

    test("needs no answer of a modern client: its next request gets the result", async (t) => {
        const { upstream, server } = await asking(t);
        const meta = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } };
        const first = await callTool(server, "s.echo", {}, { meta });
        assert.equal(first.json.result.resultType, "input_required", first.text);
        upstream.mayTakeBack = upstream.mayEnd = true;
        const [key] = Object.keys(first.json.result.inputRequests);
        const answers = {
            inputResponses: { [key]: { action: "decline" } },
            requestState: first.json.result.requestState,
        };
        const second = await modern(server, "tools/call", { name: "s.echo", arguments: {}, ...answers }, { meta });
        assert.equal(textOf(second.json.result), "without an answer");
        assert.equal(upstream.seen("tools/call").length, 1);
    });
});

suite("a question whose legacy client leaves", { concurrency: true }, () => {
    const running = async (server) => (await scrape(server)).value("causeway_calls_running");

    // The call asks, its client leaves, and the server gets an answer.
    async function leave(t, source, onAnswer) {
        const { upstream, server } = await scripted(t, {}, source);
        upstream.on["tools/call"] = async ({ session, reply }) => {
            upstream.push(question, { session });
            await eventually(() => upstream.answerTo("q"), "the answer", 20_000);
            onAnswer(reply);
        };
        const stream = await streamIn(server, await openSession(server, { elicitation: {} }));
        assert.equal((await stream.next()).method, "elicitation/create");
        stream.close();
        const { error } = await eventually(() => upstream.answerTo("q"), "the answer");
        assert.equal(error.message, "The client has left.");
        return server;
    }

    test("is refused, and the call goes on without an answer", async (t) => {
        const server = await leave(t, {}, (reply) => reply({ content: [] }));
        await eventually(async () => (await running(server)) === 0, "the end of the call");
    });

    test("stops the time limit no longer", async (t) => {
        const server = await leave(t, { timeout: "1s" }, () => {});
        await eventually(async () => (await running(server)) === 0, "the end of the call");
    });
});

// So many sessions have ended, and none is left. What was sent at the end of a program may be read after that.
async function untilEnded(upstream, n) {
    await eventually(() => upstream.known.size === 0, "the end of each session");
    assert.equal(upstream.seen("DELETE").length, n);
}

suite("sessions with a legacy server", () => {
    test("end with DELETE when the source is removed", async (t) => {
        const { upstream, server } = await scripted(t, {});
        await callToolWell(server, "s.echo", {});
        assert.equal(upstream.known.size, 2);
        await reloadBridge(server, { sources: [] });
        await eventually(() => upstream.known.size === 0, "the ends of both sessions");
        assert.equal(upstream.seen("DELETE").length, 2);
    });

    for (const words of [
        ["source", "check"],
        ["source", "diff"],
        ["list"],
        ["call", "s.echo"],
        ["config", "check", "--cost"],
    ]) {
        test(`of \`causeway ${words.join(" ")}\` end with it`, async (t) => {
            const upstream = await startScript({});
            const state = { lock: path.join(newFolder("lock"), "causeway.lock") };
            const config = writeConfig({
                roles: { anonymous: [discover, call] },
                sources: [sourceOf(upstream)],
                ...(words.includes("diff") ? { state } : {}),
            });
            const { stdout, stderr } = await runCauseway([...words, "--config", config]);
            const opened = upstream.seen("initialize").length;
            assert.ok(opened > 0, stdout + stderr);
            await untilEnded(upstream, opened);
        });
    }

    test("of `causeway import` end with it", async () => {
        const upstream = await startScript({});
        const folder = newFolder("import");
        const { code, stderr } = await runCauseway(["import", upstream.url, "--preset", "mcp", "--name", "srv"], {
            cwd: folder,
        });
        assert.equal(code, 0, stderr);
        const opened = upstream.seen("initialize").length;
        assert.ok(opened > 0);
        await untilEnded(upstream, opened);
    });

    test("that a server does not end keep a command for two seconds at most", async () => {
        const upstream = await startScript({});
        upstream.on.DELETE = () => {};
        const config = writeConfig({ sources: [sourceOf(upstream)] });
        const { code, stdout, stderr } = await runCauseway(["source", "check", "--config", config]);
        assert.equal(code, 0, stdout + stderr);
        await eventually(() => upstream.seen("DELETE").length === 1, "the end of its session");
    });

    test("end with DELETE when Causeway stops", async (t) => {
        const { upstream, server } = await scripted(t, {});
        await callToolWell(server, "s.echo", {});
        await server.stop();
        await untilEnded(upstream, 2);
    });

    test("do not delay a stop where the server does not respond", async (t) => {
        const { upstream, server } = await scripted(t, {});
        upstream.on.DELETE = () => {};
        await callToolWell(server, "s.echo", {});
        closeIdleConnections(); // a stop waits for their next request
        server.child.kill("SIGTERM");
        await soonEnded(server, 4_000);
        await eventually(() => upstream.seen("DELETE").length === 2, "the ends of both sessions");
    });

    test("of the mode `caller`: each account has its own, with its own state", async (t) => {
        const upstream = await startScript({});
        upstream.on["tools/call"] = ({ session, reply }) => reply({ content: [{ type: "text", text: session }] });
        const all = [discover, call, "access content"];
        const server = await startAccounts({
            config: {
                roles: { anonymous: all, authenticated: all, editor: [] },
                sources: [sourceOf(upstream, { session: "caller" })],
            },
        });
        t.after(() => server.stop());
        await untilTool(server, "s.echo");
        const sessionFor = async (headers) => textOf(await callToolWell(server, "s.echo", {}, { headers }));
        const alice = basic("alice", "s3cret");
        const bob = basic("bob", "b0b");
        const used = [];
        for (const headers of [alice, bob, {}, bob, alice, {}]) used.push(await sessionFor(headers));
        assert.equal(new Set(used).size, 3);
        assert.deepEqual(used.slice(0, 3), [used[4], used[3], used[5]]);
    });

    test("have at most 64 streams: that of a session without a call ends for another", async (t) => {
        const upstream = await startScript({});
        const audience = "https://causeway.example/mcp";
        const forger = await startForger({ audience });
        const server = await startBridge({
            plugins: [],
            roles: { anonymous: [discover], authenticated: [discover, call] },
            config: {
                access: { issuers: [{ issuer: forger.url, audience, allow_private: true }] },
                sources: [sourceOf(upstream, { session: "caller", connections: 200 })],
            },
        });
        t.after(() => server.stop());
        await untilTool(server, "s.echo");
        let most = 0;
        const look = () => (most = Math.max(most, upstream.streams.size));
        for (let i = 0; i < 70; i += 1) {
            const token = await forger.sign({ sub: `caller-${i}`, aud: audience });
            await callToolWell(server, "s.echo", {}, { headers: { Authorization: `Bearer ${token}` } });
            look();
        }
        assert.equal(upstream.known.size, 71);
        // Streams are opened beside the calls.
        await eventually(() => look() > 60, "more than 60 streams");
        await eventually(() => upstream.streams.size <= 64, "the bound");
    });
});

for (const [what, respond, reason] of [
    ["rejects", ({ fail }) => fail(-32602, "No such resource"), /No such resource/],
    ["does not carry out", ({ response }) => response.writeHead(503).end("busy"), /503/],
])
    test(`a subscription that the server ${what} is logged`, async (t) => {
        const upstream = await startScript({ capabilities: { resources: { subscribe: true } } });
        upstream.on["resources/list"] = ({ reply }) => reply({ resources: [{ uri: "note://1", name: "one" }] });
        upstream.on["resources/templates/list"] = ({ reply }) => reply({ resourceTemplates: [] });
        upstream.on["resources/subscribe"] = respond;
        const server = await startBridge({
            plugins: [],
            config: { sources: [sourceOf(upstream, { resources: ["*"] })] },
        });
        t.after(() => server.stop());
        await untilTool(server, "s.echo");
        const stream = await EventStream.open(server, "subscriptions/listen", {
            notifications: { resourceSubscriptions: ["note://1"] },
        });
        await server.untilLogged(/updates of a resource are not reported.*note:\/\/1/);
        assert.match(server.stderr, reason);
        stream.close();
    });
