// GET /metrics: who may read it, its formats, and what it counts.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { bearer, call, discover, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { callTool, modern, permissions, rpc, startBridge, untilTool } from "./support/mcp.mjs";
import { scrape } from "./support/metrics.mjs";
import { root, runCauseway, writeConfig } from "./support/programs.mjs";
import { get, post } from "./support/rest.mjs";
import { eventually, inParallel } from "./support/server.mjs";
import { modes, startService, writeOpenRpc } from "./support/service.mjs";

const viewMetrics = "view metrics";
const open = { anonymous: [...permissions, viewMetrics] };

const startOpen = (config = {}) => startBridge({ config: { roles: open, ...config } });

suite("readers", () => {
    let server;
    before(async () => {
        server = await startAccounts({
            config: {
                roles: { anonymous: [discover, call], authenticated: [discover, call], editor: [viewMetrics] },
            },
        });
    });
    after(() => server.stop());

    test("the anonymous caller is asked to log in", async () => {
        const answer = await get(server, "/metrics");
        assert.equal(answer.status, 401, answer.text);
        assert.ok(answer.headers["www-authenticate"]);
    });

    test("an account without the permission is refused", async () => {
        const { token } = await server.token("bob");
        assert.equal((await get(server, "/metrics", bearer(token))).status, 403);
    });

    test("an account with the permission reads them with its token", async () => {
        const { token } = await server.token("alice");
        const metrics = await scrape(server, bearer(token));
        assert.equal(metrics.value("causeway_build_info"), 1);
        assert.equal(metrics.value("causeway_store_up"), 1);
    });

    test("a wrong token is a failed login", async () => {
        assert.equal((await get(server, "/metrics", bearer("nonsense"))).status, 401);
        const { token } = await server.token("alice");
        const metrics = await scrape(server, bearer(token));
        assert.equal(metrics.value("causeway_logins_total", { credentials: "token", outcome: "wrong" }), 1);
    });
});

suite("an address of their own", () => {
    const token = "a token of metrics";
    let server, own, file;
    before(async () => {
        file = path.join(keepFolder(), "metrics.token");
        writeFileSync(file, `${token}\n`);
        server = await startBridge({
            config: {
                roles: { anonymous: permissions },
                metrics: { listen: "127.0.0.1:0", token_file: file },
                admin: { socket: path.join(keepFolder(), "metrics.sock") },
            },
        });
        const line = () => /^causeway: metrics on (http:\S+)$/m.exec(server.stdout);
        await eventually(line, "the address");
        own = { url: line()[1] };
    });
    after(() => server.stop());

    test("answers to the token", async () => {
        const metrics = await scrape(own, bearer(token));
        assert.equal(metrics.value("causeway_build_info"), 1);
        assert.equal(metrics.value("causeway_connections", { listener: new URL(own.url).host }), 1);
    });

    test("answers nobody else", async () => {
        assert.equal((await get(own, "/metrics")).status, 401);
        assert.equal((await get(own, "/metrics", bearer(`${token}x`))).status, 401);
        assert.equal((await get(own, "/metrics", { Authorization: `Basic ${btoa(`a:${token}`)}` })).status, 401);
    });

    test("answers no other request", async () => {
        for (const target of ["/healthz", "/mcp/tools/list", "/nothing"]) {
            assert.equal((await get(own, target, bearer(token))).status, 404, target);
        }
        assert.equal((await post(own, "/jsonrpc", { jsonrpc: "2.0", method: "test.caller", id: 1 })).status, 404);
    });

    test("is the only one, beside the local socket", async () => {
        assert.equal((await get(server, "/metrics", bearer(token))).status, 404);
        assert.equal((await get(server, "/healthz")).status, 200);
        const socket = path.join(keepFolder(), "metrics.sock");
        const text = execFileSync("curl", ["-sf", "--unix-socket", socket, "http://localhost/metrics"]);
        assert.match(text.toString(), /^causeway_build_info/m);
    });

    test("a reload reads the token again, and keeps it if the file is of no use", async () => {
        writeFileSync(file, "short");
        server.child.kill("SIGHUP");
        await eventually(() => server.stderr.includes("the token of metrics stays as it was"), "the line");
        assert.equal((await get(own, "/metrics", bearer(token))).status, 200);
        writeFileSync(file, "another token of metrics");
        server.child.kill("SIGHUP");
        await eventually(
            async () => (await get(own, "/metrics", bearer("another token of metrics"))).status === 200,
            "the new token",
        );
        assert.equal((await get(own, "/metrics", bearer(token))).status, 401);
    });

    test("a token that cannot be read ends the start", async () => {
        const config = writeConfig({ listen: "127.0.0.1:0", metrics: { token_file: "/nonexistent/token" } });
        const { code, stderr } = await runCauseway(["serve", "--config", config]);
        assert.notEqual(code, 0);
        assert.match(stderr, /metrics\.token_file: .*\/nonexistent\/token/);
    });
});

suite("formats", () => {
    let server;
    before(async () => {
        server = await startOpen();
        await callTool(server, "test.echo", { message: "hello" });
    });
    after(() => server.stop());

    test("promtool accepts the text format", async () => {
        const { text } = await scrape(server);
        execFileSync("promtool", ["check", "metrics"], { input: text });
    });

    test("the content types name their versions", async () => {
        const plain = await get(server, "/metrics");
        assert.equal(plain.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
        const accept = "application/openmetrics-text;version=1.0.0;q=0.75,text/plain;version=0.0.4;q=0.5";
        const answer = await get(server, "/metrics", { Accept: accept });
        assert.equal(answer.headers["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8");
        assert.equal(answer.headers["cache-control"], "no-store");
    });

    test("OpenMetrics names counters without their suffix, has units and an end", async () => {
        const { text } = await scrape(server, {}, { open: true });
        assert.match(text, /^# TYPE causeway_calls counter$/m);
        assert.match(text, /^causeway_calls_total\{/m);
        assert.match(text, /^# UNIT http_server_request_duration_seconds seconds$/m);
        assert.ok(text.endsWith("\n# EOF\n"));
    });

    test("gzip is sent to those who accept it", async () => {
        const answer = await get(server, "/metrics", { "Accept-Encoding": "gzip" });
        assert.equal(answer.headers["content-encoding"], "gzip");
        assert.match(gunzipSync(answer.bytes).toString(), /^# TYPE causeway_calls_total counter$/m);
    });

    test("buckets are cumulative, and the last one is the count", async () => {
        const metrics = await scrape(server);
        const name = "http_server_request_duration_seconds";
        const labels = { http_route: "/mcp", http_request_method: "POST", http_response_status_code: "200" };
        const buckets = metrics.find(`${name}_bucket`, labels).map(({ value }) => value);
        assert.equal(buckets.length, 19);
        assert.deepEqual(
            buckets,
            buckets.toSorted((a, b) => a - b),
        );
        assert.equal(buckets.at(-1), metrics.value(`${name}_count`, labels));
    });

    test("the documentation lists every metric, and no other", async () => {
        const page = readFileSync(path.join(root, "docs", "observability.md"), "utf8");
        const listed = [...page.matchAll(/^\| `([a-z_]+)` \| (counter|gauge|histogram) \|/gm)];
        const { families } = await scrape(server);
        assert.deepEqual(new Map(listed.map(([, name, type]) => [name, type])), families);
    });
});

suite("counts", () => {
    test("calls are counted by tool, door and outcome", async () => {
        const server = await startOpen();
        await callTool(server, "test.echo", { message: "hello" });
        await callTool(server, "test.echo", { message: 7 });
        await callTool(server, "no.such.tool", {});
        await rpc(server, { method: "test.echo", params: { message: "hello" }, id: 1 });
        // A loop may count the end of a call after its answer was read.
        let metrics;
        const areCounted = async () => {
            metrics = await scrape(server);
            return metrics.value("causeway_calls_total") === 4 && metrics.value("causeway_calls_running") === 0;
        };
        await eventually(areCounted, "all calls are counted");
        const calls = (labels) => metrics.value("causeway_calls_total", labels);
        assert.equal(calls({ tool: "test.echo", door: "mcp", outcome: "ok" }), 1);
        assert.equal(calls({ tool: "test.echo", door: "mcp", outcome: "invalid" }), 1);
        assert.equal(calls({ tool: "_OTHER", door: "mcp", outcome: "hidden" }), 1);
        assert.equal(calls({ tool: "test.echo", door: "jsonrpc", outcome: "ok" }), 1);
        assert.equal(metrics.value("causeway_refusals_total", { door: "mcp", reason: "hidden" }), 1);
        assert.equal(metrics.value("causeway_schema_failures_total", { tool: "test.echo", side: "arguments" }), 1);
        assert.equal(metrics.value("causeway_source_attempts_total", { source: "echo", result: "ok" }), 2);
        assert.equal(metrics.value("causeway_source_call_duration_seconds_count", { source: "echo" }), 2);
        assert.equal(metrics.value("causeway_call_overhead_seconds_count"), 2);
        assert.equal(metrics.value("causeway_calls_running"), 0);
        assert.ok(metrics.value("causeway_mcp_messages_total", { mcp_protocol_version: "2026-07-28" }) >= 3);
        assert.ok(metrics.value("causeway_tokens_total", { direction: "returned" }) > 0);
        await server.stop();
    });

    test("a running call is counted until it ends", async () => {
        const service = await startService();
        const source = { name: "there", url: service.url, openrpc: writeOpenRpc(), prefix: "there.", timeout: "10m" };
        const server = await startOpen({ sources: [{ ...source, methods: ["add"] }] });
        await untilTool(server, "there.add");
        const running = async () => (await scrape(server)).value("causeway_calls_running", { source: "there" });
        let release;
        modes.held = ({ jsonrpc, id }, response) => {
            release = () => response.end(JSON.stringify({ jsonrpc, id, result: 3 }));
        };
        service.mode = "held";
        const slow = callTool(server, "there.add", { a: 1, b: 2 });
        await eventually(() => release, "the call has reached the service");
        await eventually(async () => (await running()) === 1, "one running call");
        release();
        await slow;
        await eventually(async () => (await running()) === 0, "no running call");
        await server.stop();
    });

    test("a service that goes away is in another state", async () => {
        const service = await startService();
        const server = await startOpen({
            sources: [
                {
                    name: "there",
                    url: service.url,
                    openrpc: writeOpenRpc(),
                    prefix: "there.",
                    retries: 0,
                    methods: ["add"],
                },
            ],
        });
        const state = async (name) =>
            (await scrape(server)).value("causeway_source_state", { source: "there", state: name });
        await eventually(async () => (await state("ready")) === 1, "ready");
        await rpc(server, { method: "there.add", params: { a: 1, b: 2 }, id: 1 });
        const open = (await scrape(server)).value("causeway_source_connections", { source: "there" });
        assert.equal(open, 1);
        await service.stop();
        let metrics;
        await eventually(async () => {
            await rpc(server, { method: "there.add", params: { a: 1, b: 2 }, id: 1 });
            metrics = await scrape(server);
            return metrics.value("causeway_source_state", { source: "there", state: "broken" }) === 1;
        }, "broken");
        assert.equal(metrics.value("causeway_source_state", { source: "there" }), 1);
        assert.ok(metrics.value("causeway_source_breaker_opens_total", { source: "there" }) >= 1);
        assert.equal(metrics.value("causeway_source_breaker_open", { source: "there" }), 1);
        assert.equal(metrics.value("causeway_source_connections", { source: "there" }), 0);
        assert.ok(metrics.value("causeway_source_attempts_total", { source: "there", result: "connect" }) >= 1);
        await server.stop();
    });

    test("known clients have their names, others do not", async () => {
        const server = await startOpen();
        for (const name of ["claude-code", 'x"} 1\nevil', "another"]) {
            await modern(
                server,
                "tools/list",
                {},
                { meta: { "io.modelcontextprotocol/clientInfo": { name, version: "1" } } },
            );
        }
        const metrics = await scrape(server);
        assert.equal(metrics.value("causeway_mcp_clients_total", { client: "claude-code" }), 1);
        assert.ok(metrics.value("causeway_mcp_clients_total", { client: "_OTHER" }) >= 2);
        assert.ok(!metrics.text.includes("evil"));
        await server.stop();
    });

    test("nothing is there when metrics are switched off", async () => {
        const server = await startOpen({ metrics: { enabled: false } });
        assert.equal((await get(server, "/metrics")).status, 404);
        await server.stop();
    });
});

test("exemplars have the ids of recorded traces", async () => {
    const server = await startOpen({ traces: { mode: "on", endpoint: "http://127.0.0.1:9/v1/traces", trust: "all" } });
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await callTool(server, "test.echo", { message: "hello" }, { headers: { traceparent } });
    const line =
        /^mcp_server_operation_duration_seconds_bucket\{.*# \{trace_id="0af7651916cd43dd8448eb211c80319c",span_id="[0-9a-f]{16}"\} \S+ \S+$/m;
    await eventually(async () => line.test((await scrape(server, {}, { open: true })).text), "the exemplar");
    assert.ok(!(await scrape(server)).text.includes("trace_id"));
    await server.stop();
});

suite("bounds", () => {
    test("100,000 unknown names add no series", async () => {
        const server = await startOpen();
        await callTool(server, "test.echo", { message: "hello" });
        await callTool(server, "no.such.tool", {});
        await rpc(server, { method: "no.such.method", id: 1 });
        await post(server, "/jsonrpc", [{ jsonrpc: "2.0", method: "nothing", id: 1 }]);
        const before = await scrape(server);
        const batches = Array.from({ length: 1000 }, (_, i) => i);
        await inParallel(batches, 8, async (i) => {
            const batch = Array.from({ length: 100 }, (_, k) => ({
                jsonrpc: "2.0",
                method: `guess"${i}\n.${k}`,
                id: k,
            }));
            const answer = await post(server, "/jsonrpc", batch);
            assert.equal(answer.json.length, 100);
        });
        const after = await scrape(server);
        assert.equal(after.value("causeway_calls_total", { door: "jsonrpc", outcome: "hidden" }), 100_002);
        assert.ok(!after.text.includes("guess"));
        const series = (metrics) => new Set(metrics.samples.map(({ name, labels }) => JSON.stringify([name, labels])));
        const added = [...series(after)].filter((one) => !series(before).has(one) && !one.includes("/metrics"));
        assert.deepEqual(added, []);
        await server.stop();
    });

    test("tools beyond metrics.tools count as _OTHER", async () => {
        const server = await startOpen({ metrics: { tools: 1 } });
        await callTool(server, "test.echo", { message: "hello" });
        await callTool(server, "test.caller", {});
        await callTool(server, "test.caller", {});
        const metrics = await scrape(server);
        assert.equal(metrics.value("causeway_calls_total", { tool: "test.echo", outcome: "ok" }), 1);
        assert.equal(metrics.value("causeway_calls_total", { tool: "_OTHER", outcome: "ok" }), 2);
        assert.equal(metrics.value("causeway_metrics_folded_total"), 1);
        await server.stop();
    });
});
