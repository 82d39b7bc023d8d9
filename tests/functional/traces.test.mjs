// Traces: contexts of clients, spans of messages, and their way to a collector.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { suite, test } from "node:test";
import { bearer, startAccounts } from "./support/accounts.mjs";
import { soon, startCollector } from "./support/collector.mjs";
import { startProxy } from "./support/fault-proxy.mjs";
import { initialize, legacy, legacyVersions, modern, permissions, startBridge, untilTool } from "./support/mcp.mjs";
import { scrape } from "./support/metrics.mjs";
import { eventually } from "./support/server.mjs";
import { startService, writeOpenRpc } from "./support/service.mjs";

const trace = "0af7651916cd43dd8448eb211c80319c";
const parent = "b7ad6b7169203331";
const traceparent = (flags = "01", id = trace, span = parent) => `00-${id}-${span}-${flags}`;

async function start(t, traces = {}, { env, config, ...more } = {}) {
    const collector = await startCollector();
    t.after(() => collector.stop());
    const server = await startBridge({
        config: {
            log: { format: "json" },
            traces: { endpoint: collector.url, sample: 1, trust: "all", ...traces },
            ...config,
        },
        env: { ...process.env, ...soon, ...env },
        ...more,
    });
    t.after(() => server.stop());
    return { collector, server };
}

const echo = { name: "test.echo", arguments: { message: "x" } };
const call = (server, params = echo, options) => modern(server, "tools/call", params, options);
const isCall = ({ name }) => name.startsWith("tools/call");
// The requests with spans of calls: those of the first list come before.
const calls = ({ requests }) => requests.filter(({ body }) => body.includes("tools/call"));
const linesOf = (server) =>
    server.stderr
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line));

suite("spans", { concurrency: true }, () => {
    test("of a tool call have the attributes of the convention", async (t) => {
        const { collector, server } = await start(t);
        const answer = await call(server);
        assert.equal(answer.status, 200, answer.text);
        const span = await collector.span(isCall);
        assert.match(span.name, /^tools\/call test[._]+echo$/);
        assert.equal(span.kind, 2);
        assert.match(span.traceId, /^[0-9a-f]{32}$/);
        assert.equal(span.parentSpanId, "");
        assert.ok(span.endTimeUnixNano >= span.startTimeUnixNano);
        const seconds = Number(span.startTimeUnixNano) / 1e9;
        assert.ok(Math.abs(seconds - Date.now() / 1000) < 60, String(seconds));
        const { attributes: a } = span;
        assert.equal(a["mcp.method.name"], "tools/call");
        assert.equal(`tools/call ${a["gen_ai.tool.name"]}`, span.name);
        assert.equal(a["gen_ai.operation.name"], "execute_tool");
        assert.equal(a["mcp.protocol.version"], "2026-07-28");
        assert.equal(a["network.transport"], "tcp");
        assert.equal(a["client.address"], "127.0.0.1");
        assert.ok(a["client.port"] > 0);
        assert.equal(a["mcp.session.id"], undefined);
        assert.equal(a["causeway.door"], "mcp");
        assert.equal(a["causeway.outcome"], "ok");
        assert.ok(a["jsonrpc.request.id"]);
        assert.equal(a["error.type"], undefined);
        assert.ok(!span.status?.code);
        assert.equal(span.resource["service.name"], "causeway");
        assert.equal(span.resource["process.pid"], server.pid);
        assert.equal(span.scope.name, "causeway");
        const [request] = collector.requests;
        assert.equal(request.headers["content-type"], "application/x-protobuf");
        assert.match(request.headers["user-agent"], /^Causeway\/\S+ OTel-OTLP-Exporter-C\//);
    });

    test("can be decoded without their description, by protoc", async (t) => {
        const { collector, server } = await start(t);
        await call(server);
        await collector.span(isCall);
        const input = calls(collector)[0].body;
        const { stdout, status, error } = spawnSync("protoc", ["--decode_raw"], { input });
        if (error?.code === "ENOENT") {
            t.skip("protoc is not installed");
            return;
        }
        assert.equal(status, 0);
        assert.match(stdout.toString(), /5: "tools\/call test/);
        assert.match(stdout.toString(), /1: "mcp.method.name"/);
    });

    test("continue the trace of _meta before that of the header, which becomes a link", async (t) => {
        const { collector, server } = await start(t);
        const other = "1".repeat(32);
        const meta = { traceparent: traceparent(), tracestate: "vendor=1, other=2" };
        await call(server, echo, { meta, headers: { traceparent: traceparent("01", other) } });
        const span = await collector.span(isCall);
        assert.equal(span.traceId, trace);
        assert.equal(span.parentSpanId, parent);
        assert.equal(span.traceState, "vendor=1,other=2");
        assert.deepEqual(span.links, [{ traceId: other, spanId: parent }]);
        await eventually(() => linesOf(server).some((line) => line.trace_id === trace), "the line");
        const line = linesOf(server).find(({ component, trace_id: id }) => component === "access" && id === trace);
        assert.equal(line.span_id, span.spanId);
        assert.equal(line.trace_flags, "01");
    });

    test("continue the trace of the header of a legacy client", async (t) => {
        const { collector, server } = await start(t);
        await legacy(server, "tools/list", {}, { headers: { traceparent: traceparent(), tracestate: "a=1" } });
        const span = await collector.span(({ traceId }) => traceId === trace);
        assert.equal(span.name, "tools/list");
        assert.equal(span.traceState, "a=1");
    });

    test("of a legacy session have its version and a digest of its id", async (t) => {
        const { collector, server } = await start(t);
        const [version] = legacyVersions;
        const opened = await initialize(server, version);
        const session = opened.headers.get("mcp-session-id");
        const headers = { "Mcp-Session-Id": session, "MCP-Protocol-Version": version };
        await legacy(server, "tools/list", {}, { headers });
        await legacy(server, "ping", {}, { headers });
        const hasSession = ({ attributes: a }) => a["mcp.session.id"];
        const list = await collector.span((span) => span.name === "tools/list" && hasSession(span));
        const ping = await collector.span(({ name }) => name === "ping");
        assert.match(list.attributes["mcp.session.id"], /^[0-9a-f]{16}$/);
        assert.ok(!session.includes(list.attributes["mcp.session.id"]));
        assert.equal(ping.attributes["mcp.session.id"], list.attributes["mcp.session.id"]);
        assert.equal(list.attributes["mcp.protocol.version"], version);
    });

    test("of callers without a login begin a trace with a link, and are not sampled on their word", async (t) => {
        const config = { plugins: { timeout: "100ms", grace: "100ms" } };
        const { collector, server } = await start(t, { trust: "callers", sample: 0 }, { config });
        for (let i = 0; i < 5; i++) {
            await call(server, echo, { headers: { traceparent: traceparent() } });
        }
        // A failure is recorded all the same.
        const slow = { name: "test.sleep", arguments: { ms: 2000 } };
        await call(server, slow, { headers: { traceparent: traceparent() } });
        const span = await collector.span(({ name }) => /^tools\/call .*sleep/.test(name));
        assert.equal(span.attributes["causeway.outcome"], "failed");
        assert.equal(span.attributes["error.type"], "tool_error");
        assert.equal(span.status.code, 2);
        assert.notEqual(span.traceId, trace);
        assert.deepEqual(span.links, [{ traceId: trace, spanId: parent }]);
        // On a busy machine the time limit is too short for an echo, too.
        assert.ok(collector.spans.every(({ status }) => status?.code === 2));
    });

    test("follow the decision of a caller who is trusted", async (t) => {
        const { collector, server } = await start(t, { sample: 1 });
        await call(server, echo, { headers: { traceparent: traceparent("00") } });
        await call(server, echo, { headers: { traceparent: traceparent("01", "2".repeat(32)) } });
        await collector.span(isCall);
        assert.deepEqual(
            collector.spans.filter(isCall).map(({ traceId }) => traceId),
            ["2".repeat(32)],
        );
    });

    test("of failed calls are recorded although nothing is sampled", async (t) => {
        const source = { name: "dead", url: "http://127.0.0.1:1/", openrpc: writeOpenRpc(), prefix: "dead." };
        const config = { sources: [{ ...source, methods: ["*"], retries: 0 }] };
        const { collector, server } = await start(t, { sample: 0 }, { config });
        await untilTool(server, "dead.add");
        await call(server);
        await call(server, { name: "no.such.tool", arguments: {} });
        await call(server, { name: "test.echo", arguments: { message: 7 } });
        const add = { name: "dead.add", arguments: { a: 1, b: 2 } };
        const { json } = await call(server, add);
        assert.equal(json.result.isError, true);
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "dead.add", params: add.arguments });
        const headers = { "Content-Type": "application/json" };
        await (await fetch(`${server.url}/jsonrpc`, { method: "POST", headers, body })).text();
        const span = await collector.span(isCall);
        const attempt = await collector.span(({ kind, parentSpanId }) => kind === 3 && parentSpanId === span.spanId);
        assert.equal(span.name, "tools/call dead.add");
        assert.equal(span.attributes["gen_ai.tool.name"], "dead.add");
        assert.equal(span.attributes["causeway.source"], "dead");
        assert.equal(span.attributes["causeway.outcome"], "failed");
        assert.equal(span.attributes["error.type"], "tool_error");
        assert.equal(span.status.code, 2);
        assert.equal(attempt.attributes["error.type"], "connect");
        const rpc = await collector.span(({ name, kind }) => name === "dead.add" && kind === 2);
        assert.equal(rpc.attributes["causeway.source"], "dead");
        assert.equal(rpc.attributes["rpc.response.status_code"], "-32603");
        // Those of success, and of mistakes of callers, are not.
        assert.ok(collector.spans.every(({ status }) => status?.code === 2));
    });

    test("of mistakes of callers are no errors", async (t) => {
        const { collector, server } = await start(t);
        await call(server, { name: "no.such.tool", arguments: {} });
        const span = await collector.span(isCall);
        assert.equal(span.name, "tools/call");
        assert.equal(span.attributes["gen_ai.tool.name"], undefined);
        assert.equal(span.attributes["rpc.response.status_code"], "-32602");
        assert.equal(span.attributes["causeway.outcome"], "hidden");
        assert.equal(span.attributes["error.type"], undefined);
        assert.ok(!span.status?.code);
        await modern(server, "no/such/method", {});
        const other = await collector.span(({ name }) => name === "_OTHER");
        assert.equal(other.attributes["mcp.method.name"], "_OTHER");
        assert.ok(!other.status?.code);
    });

    test("of the other doors have the names of their conventions", async (t) => {
        const { collector, server } = await start(t);
        const rpc = async (body) => {
            const answer = await fetch(`${server.url}/jsonrpc`, {
                method: "POST",
                headers: { "Content-Type": "application/json" },
                body: JSON.stringify(body),
            });
            return await answer.json();
        };
        const message = (id, method) => ({ jsonrpc: "2.0", id, method, params: { message: "x" } });
        await rpc([message("a", "test.echo"), message(7, "no.such")]);
        await fetch(`${server.url}/healthz`, { headers: { traceparent: traceparent() } });
        const echoed = await collector.span(({ name }) => name === "test.echo");
        assert.equal(echoed.attributes["rpc.system.name"], "jsonrpc");
        assert.equal(echoed.attributes["jsonrpc.request.id"], "a");
        const unknown = await collector.span(({ name }) => name === "jsonrpc");
        assert.equal(unknown.attributes["rpc.method"], "_OTHER");
        assert.notEqual(unknown.traceId, echoed.traceId);
        const page = await collector.span(({ name }) => name === "GET /healthz");
        assert.equal(page.traceId, trace);
        assert.equal(page.attributes["http.response.status_code"], 200);
        assert.equal(page.attributes["http.route"], "/healthz");
    });
});

suite("contexts that are sent on", { concurrency: true }, () => {
    test("reach a service over HTTP, with the span of the attempt", async (t) => {
        const service = await startService();
        const proxy = await startProxy(service);
        const sources = [{ name: "s", url: proxy.url, openrpc: writeOpenRpc(), prefix: "s.", methods: ["*"] }];
        const { collector, server } = await start(t, {}, { plugins: [], config: { sources } });
        await untilTool(server, "s.add");
        const add = { name: "s.add", arguments: { a: 1, b: 2 } };
        const meta = { traceparent: traceparent(), tracestate: "vendor=1" };
        const answer = await call(server, add, { meta });
        assert.equal(answer.json.result.isError ?? false, false, answer.text);
        const own = await collector.span(isCall);
        const attempt = await collector.span(({ kind }) => kind === 3);
        assert.equal(attempt.name, "s.add");
        assert.equal(attempt.traceId, trace);
        assert.equal(attempt.parentSpanId, own.spanId);
        assert.equal(attempt.attributes["rpc.system.name"], "jsonrpc");
        assert.equal(attempt.attributes["server.address"], "127.0.0.1");
        assert.equal(attempt.attributes["network.peer.address"], "127.0.0.1");
        assert.equal(attempt.attributes["network.peer.port"], attempt.attributes["server.port"]);
        assert.equal(attempt.attributes["http.response.status_code"], 200);
        const { headers } = proxy.requests.find(({ message }) => message?.method === "add");
        assert.equal(headers.traceparent, `00-${trace}-${attempt.spanId}-01`);
        assert.equal(headers.tracestate, "vendor=1");
        // Every error of the service is one of the attempt.
        await call(server, { name: "s.fail", arguments: {} });
        const failed = await collector.span(({ name }) => name === "s.fail");
        assert.equal(failed.attributes["rpc.response.status_code"], "42");
        assert.equal(failed.status.code, 2);
    });

    test("reach a plugin, also where the call is not sampled", async (t) => {
        const { collector, server } = await start(t, {}, { plugins: ["trace"], roles: { anonymous: permissions } });
        await untilTool(server, "trace.context");
        const ask = async (options) => {
            const { json } = await call(server, { name: "trace.context", arguments: {} }, options);
            return json.result.content[0].text;
        };
        const silent = await ask({ meta: { traceparent: traceparent("00") } });
        assert.match(silent, new RegExp(`^00-${trace}-[0-9a-f]{16}-00$`));
        assert.notEqual(silent.slice(36, 52), parent);
        // The process answers its first call before the server knows its number.
        const context = await ask({ meta: { traceparent: traceparent() } });
        const span = await collector.span(({ name }) => name === "plugin trace");
        assert.equal(context, `00-${trace}-${span.spanId}-01`);
        assert.equal(span.kind, 1);
        assert.equal(span.attributes["causeway.method"], "trace.context");
        assert.ok(span.attributes["process.pid"] > 0);
    });

    test("go to params._meta of a service, or nowhere, as its source says", async (t) => {
        const service = await startService();
        const proxy = await startProxy(service);
        const source = (name, trace) => ({
            ...{ name, url: proxy.url, openrpc: writeOpenRpc(), prefix: `${name}.`, methods: ["*"], trace },
        });
        const sources = [source("meta", "meta"), source("none", "none")];
        const { collector, server } = await start(t, {}, { plugins: [], config: { sources } });
        await untilTool(server, "meta.add");
        await untilTool(server, "none.add");
        const tracestate = 'vendor="a\\b",other=2';
        const meta = { traceparent: traceparent(), tracestate };
        const add = (name) => call(server, { name: `${name}.add`, arguments: { a: 1, b: 2 } }, { meta });
        assert.equal((await add("meta")).json.result.structuredContent ?? 3, 3);
        const attempt = await collector.span(({ name, kind }) => name === "meta.add" && kind === 3);
        const sent = proxy.requests.find(({ message }) => message?.method === "add");
        const expected = { traceparent: `00-${trace}-${attempt.spanId}-01`, tracestate };
        assert.deepEqual(sent.message.params, { _meta: expected, a: 1, b: 2 });
        assert.equal(sent.headers.traceparent, undefined);
        await call(server, { name: "meta.secret", arguments: {} }, { meta });
        const empty = proxy.requests.find(({ message }) => message?.method === "secret");
        assert.equal(empty.message.params._meta.traceparent.slice(3, 35), trace);
        proxy.requests.length = 0;
        await add("none");
        await collector.span(({ name, kind }) => name === "none.add" && kind === 3);
        const [bare] = proxy.requests;
        assert.deepEqual(bare.message.params, { a: 1, b: 2 });
        assert.equal(bare.headers.traceparent, undefined);
    });

    test("are none without traces", async (t) => {
        const config = { mode: "off" };
        const { server } = await start(t, config, { plugins: ["trace"], roles: { anonymous: permissions } });
        await untilTool(server, "trace.context");
        const { json } = await call(server, { name: "trace.context", arguments: {} });
        assert.equal(json.result.content[0].text, "none");
    });
});

suite("spans that an operator asks for", { concurrency: true }, () => {
    test("traces.http: a span of the request is the parent of its messages", async (t) => {
        const { collector, server } = await start(t, { http: true });
        await call(server, echo, { headers: { traceparent: traceparent() } });
        const message = await collector.span(isCall);
        const request = await collector.span(({ name, traceId }) => name === "POST /mcp" && traceId === trace);
        assert.equal(request.parentSpanId, parent);
        assert.equal(message.parentSpanId, request.spanId);
        assert.equal(message.traceId, trace);
        assert.equal(request.attributes["http.response.status_code"], 200);
        assert.equal(request.attributes["http.route"], "/mcp");
        assert.ok(request.startTimeUnixNano <= message.startTimeUnixNano);
        assert.ok(request.endTimeUnixNano >= message.startTimeUnixNano);
    });

    test("traces.http: a message with a context of its own has a link to the request", async (t) => {
        const { collector, server } = await start(t, { http: true });
        await call(server, echo, { meta: { traceparent: traceparent() } });
        const message = await collector.span(isCall);
        assert.equal(message.traceId, trace);
        assert.equal(message.parentSpanId, parent);
        const [link] = message.links;
        const request = await collector.span(({ spanId }) => spanId === link.spanId);
        assert.equal(request.name, "POST /mcp");
        assert.equal(request.traceId, link.traceId);
        assert.notEqual(request.traceId, trace);
    });

    test("traces.http: the messages of a batch have one parent", async (t) => {
        const { collector, server } = await start(t, { http: true });
        const message = (id) => ({ jsonrpc: "2.0", id, method: "test.echo", params: { message: "x" } });
        await fetch(`${server.url}/jsonrpc`, {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify([message("a"), message("b")]),
        });
        const of = (id) => collector.span(({ attributes: a }) => a["jsonrpc.request.id"] === id);
        const [a, b] = [await of("a"), await of("b")];
        const request = await collector.span(({ name }) => name === "POST /jsonrpc");
        assert.equal(a.parentSpanId, request.spanId);
        assert.equal(b.parentSpanId, request.spanId);
        assert.notEqual(a.spanId, b.spanId);
    });

    test("traces.caller: a pseudonym, the same for each call of a caller", async (t) => {
        const collector = await startCollector();
        t.after(() => collector.stop());
        const server = await startAccounts({
            config: { traces: { endpoint: collector.url, sample: 1, caller: true } },
            env: { ...process.env, ...soon },
        });
        t.after(() => server.stop());
        const { token } = await server.token("alice");
        const other = await server.token("bob");
        const list = async (id, headers) => {
            await modern(server, "tools/list", {}, { headers: { ...headers, traceparent: traceparent("01", id) } });
            const linked = ({ traceId, links }) => traceId === id || links.some((link) => link.traceId === id);
            return (await collector.span(linked)).attributes;
        };
        const first = await list("1".repeat(32), bearer(token));
        const second = await list("2".repeat(32), bearer(token));
        assert.match(first["enduser.pseudo.id"], /^[0-9a-f]{16}$/);
        assert.equal(second["enduser.pseudo.id"], first["enduser.pseudo.id"]);
        assert.notEqual(
            (await list("3".repeat(32), bearer(other.token)))["enduser.pseudo.id"],
            first["enduser.pseudo.id"],
        );
        assert.equal((await list("4".repeat(32), {}))["enduser.pseudo.id"], undefined);
        assert.ok(first["causeway.login_us"] > 0);
        assert.ok(!JSON.stringify(collector.spans.map(({ attributes: a }) => a)).includes("alice"));
    });

    test("traces.arguments: arguments and results without what audit.redact names", async (t) => {
        const config = { audit: { redact: ["/message"] } };
        const { collector, server } = await start(t, { arguments: true }, { config });
        await call(server, { name: "test.echo", arguments: { message: "a password" } });
        const { attributes: a } = await collector.span(isCall);
        assert.deepEqual(JSON.parse(a["gen_ai.tool.call.arguments"]), { message: "[redacted]" });
        assert.ok(!JSON.stringify(a).includes("a password"), JSON.stringify(a));
    });

    test("traces.arguments: long values are cut, and the default is none", async (t) => {
        const { collector, server } = await start(t, { arguments: true });
        await call(server, { name: "test.echo", arguments: { message: "é".repeat(20_000) } });
        const { attributes: a } = await collector.span(isCall);
        assert.ok(a["gen_ai.tool.call.arguments"].startsWith('{"message":"éé'));
        assert.ok(Buffer.byteLength(a["gen_ai.tool.call.arguments"]) <= 4096);
        assert.ok(a["gen_ai.tool.call.result"].includes("éé"));
        const silent = await start(t);
        await call(silent.server);
        const plain = (await silent.collector.span(isCall)).attributes;
        assert.equal(plain["gen_ai.tool.call.arguments"], undefined);
        assert.equal(plain["gen_ai.tool.call.result"], undefined);
        assert.equal(plain["enduser.pseudo.id"], undefined);
    });
});

suite("modes", { concurrency: true }, () => {
    test("off: contexts are not read, and nothing is sent", async (t) => {
        const { collector, server } = await start(t, { mode: "off" });
        const answer = await call(server, echo, { headers: { traceparent: traceparent() } });
        const id = answer.headers.get("x-request-id");
        await eventually(() => linesOf(server).some((line) => line.request_id === id), "the line");
        assert.equal(linesOf(server).find((line) => line.request_id === id).trace_id, undefined);
        await server.stop();
        assert.deepEqual(collector.requests, []);
    });

    test("propagate: contexts are in log lines, and nothing is sent", async (t) => {
        const { collector, server } = await start(t, { mode: "propagate" });
        await call(server, echo, { headers: { traceparent: traceparent() } });
        await eventually(() => linesOf(server).some((line) => line.trace_id === trace), "the line");
        await server.stop();
        assert.deepEqual(collector.requests, []);
    });

    test("on by the environment alone, with its endpoint, headers, service and sampler", async (t) => {
        const collector = await startCollector();
        t.after(() => collector.stop());
        const server = await startBridge({
            env: {
                ...process.env,
                ...soon,
                OTEL_EXPORTER_OTLP_ENDPOINT: collector.url.replace("/v1/traces", ""),
                OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=a%20secret",
                OTEL_SERVICE_NAME: "gateway",
                OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
                OTEL_TRACES_SAMPLER: "always_on",
            },
        });
        t.after(() => server.stop());
        await call(server);
        const span = await collector.span(isCall);
        assert.equal(span.resource["service.name"], "gateway");
        assert.equal(span.resource["deployment.environment.name"], "test");
        assert.equal(collector.requests[0].url, "/v1/traces");
        assert.equal(collector.requests[0].headers["x-api-key"], "a secret");
    });
});

suite("a collector", { concurrency: true }, () => {
    test("gets the last spans when the server stops", async (t) => {
        const { collector, server } = await start(t, {}, { env: { OTEL_BSP_SCHEDULE_DELAY: "60000" } });
        await call(server);
        await server.stop();
        assert.equal(collector.spans.filter(isCall).length, 1);
    });

    test("that asks to wait gets the same spans again", async (t) => {
        const { collector, server } = await start(t);
        const statuses = [429, 503];
        collector.answer = () => {
            const status = calls(collector).length ? (statuses.shift() ?? 200) : 200;
            return { status, headers: { "Retry-After": "0" } };
        };
        await call(server);
        await collector.span(isCall);
        assert.deepEqual(
            calls(collector).map(({ status }) => status),
            [429, 503, 200],
        );
        assert.ok(calls(collector)[0].body.equals(calls(collector)[2].body));
    });

    test("gets compressed requests if the environment asks for them", async (t) => {
        const { collector, server } = await start(t, {}, { env: { OTEL_EXPORTER_OTLP_COMPRESSION: "gzip" } });
        await call(server);
        await collector.span(isCall);
        assert.ok(collector.requests.every(({ headers }) => headers["content-encoding"] === "gzip"));
    });

    test("that stays away is given up after OTEL_BSP_EXPORT_TIMEOUT", async (t) => {
        const { collector, server } = await start(t, {}, { env: { OTEL_BSP_EXPORT_TIMEOUT: "300" } });
        collector.answer = () => ({ status: 503 });
        await call(server);
        const dropped = () => linesOf(server).find(({ message }) => message.startsWith("spans cannot be exported"));
        await eventually(dropped, "the line about dropped spans");
        assert.equal(dropped().status, 503);
        assert.equal(calls(collector).length <= 1, true);
    });

    test("that refuses spans does not get them again", async (t) => {
        const { collector, server } = await start(t);
        collector.answer = () => ({ status: calls(collector).length === 1 ? 400 : 200 });
        await call(server);
        const dropped = () => linesOf(server).find(({ message }) => message.startsWith("spans cannot be exported"));
        await eventually(dropped, "the line about dropped spans");
        assert.equal(dropped().status, 400);
        await call(server);
        await collector.span(isCall);
        assert.equal(calls(collector).length, 2);
        await eventually(
            () => linesOf(server).some(({ message }) => message === "spans are exported again"),
            "the line",
        );
    });

    test("with a partial success does not get them again", async (t) => {
        const { collector, server } = await start(t);
        collector.answer = () => ({ status: 200, rejected: calls(collector).length });
        await call(server);
        const line = () => linesOf(server).find(({ message }) => message === "the collector rejected spans");
        await eventually(line, "the line about rejected spans");
        assert.equal(line().spans, 1);
        assert.equal(calls(collector).length, 1);
    });

    test("on a dead port delays no call and no stop, and its spans are counted as dropped", async (t) => {
        const server = await startBridge({
            config: {
                log: { format: "json" },
                roles: { anonymous: [...permissions, "view metrics"] },
                traces: { endpoint: "http://127.0.0.1:9/v1/traces", sample: 1, trust: "all" },
            },
            env: { ...process.env, ...soon, OTEL_BSP_EXPORT_TIMEOUT: "200", OTEL_BSP_MAX_QUEUE_SIZE: "8" },
        });
        t.after(() => server.stop());
        for (let i = 0; i < 40; i++) {
            assert.equal((await call(server)).status, 200);
        }
        const dropped = async (result) => (await scrape(server)).value("causeway_spans_total", { result });
        await eventually(async () => (await dropped("failed")) > 0, "spans that could not be sent");
        assert.equal(await dropped("sent"), 0);
        const lines = linesOf(server).filter(({ message }) => message.startsWith("spans cannot be exported"));
        assert.equal(lines.length, 1);
        await server.stop();
    });

    test("that is slow or dead delays no call, and spans beyond the queue are dropped", async (t) => {
        // The request that is held must not end by its own time limit.
        const limits = { OTEL_EXPORTER_OTLP_TIMEOUT: "600000", OTEL_BSP_EXPORT_TIMEOUT: "600000" };
        const { collector, server } = await start(t, {}, { env: { OTEL_BSP_MAX_QUEUE_SIZE: "8", ...limits } });
        const held = [];
        collector.answer = () =>
            calls(collector).length === 0
                ? { status: 200 }
                : new Promise((resolve) => held.push(() => resolve({ status: 200 })));
        await call(server);
        await eventually(() => calls(collector).length === 1, "the request that is held");
        for (let i = 0; i < 40; i++) {
            const answer = await call(server);
            assert.equal(answer.status, 200);
        }
        assert.equal(calls(collector).length, 1);
        collector.answer = () => ({ status: 200 });
        for (const release of held) {
            release();
        }
        await eventually(() => collector.spans.filter(isCall).length >= 2, "the spans that were kept");
        assert.ok(collector.spans.length < 41, `${collector.spans.length} spans were kept`);
    });
});
