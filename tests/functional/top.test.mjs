// causeway top in a terminal of 80 by 24, and the methods that it uses.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { freePort } from "./support/ports.mjs";
import { keepFolder } from "./support/kept.mjs";
import { callTool, permissions, rpc, startBridge, untilTool } from "./support/mcp.mjs";
import { binary, patience, runCauseway } from "./support/programs.mjs";
import { eventually, makeCertificate } from "./support/server.mjs";

const socket = `causeway-top-${process.pid}`;
const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const tmux = (...words) => execFileSync("tmux", ["-L", socket, "-f", "/dev/null", ...words], { encoding: "utf8" });

suite("top", () => {
    let server;
    before(async () => {
        server = await startBridge({
            config: {
                roles: { anonymous: [...permissions, "view traffic"] },
                traces: { mode: "propagate", trust: "all" },
                admin: { socket: path.join(keepFolder(), "top.sock") },
            },
        });
        for (let i = 0; i < 4; i += 1) {
            await callTool(server, "test.echo", { message: "hello" });
        }
        const client = { "io.modelcontextprotocol/clientInfo": { name: "claude-code", version: "1" } };
        const traced = { headers: { traceparent }, meta: client };
        await callTool(server, "test.echo", { message: "hello" }, traced);
        await callTool(server, "test.fail", {});
        await callTool(server, "no.such.tool", {});
    });
    after(() => server.stop());

    const ask = async (method, params = {}) => {
        const answer = await rpc(server, { method, params, id: 1 });
        assert.ok(answer.json.result, answer.text);
        return answer.json.result;
    };

    test("causeway.calls.recent returns the last calls, the newest first", async () => {
        const { calls, last, left_out } = await ask("causeway.calls.recent");
        assert.equal(last, 7);
        assert.equal(left_out, 0);
        assert.deepEqual(
            calls.map(({ seq }) => seq),
            [7, 6, 5, 4, 3, 2, 1],
        );
        assert.equal(calls[0].outcome, "hidden");
        const { us, at, request_id, trace_id, ...call } = calls[2];
        assert.deepEqual(call, {
            seq: 5,
            outcome: "ok",
            tool: "test.echo",
            caller: "",
            door: "mcp",
            version: "2026-07-28",
            client: "claude-code",
        });
        assert.match(request_id, /^[0-9a-f]{16}$/);
        assert.equal(trace_id, traceparent.slice(3, 35));
        assert.ok(us > 0 && Math.abs(Date.now() - at) < patience(60_000));
    });

    test("causeway.calls.recent selects", async () => {
        const failed = await ask("causeway.calls.recent", { outcome: "error" });
        assert.deepEqual(
            failed.calls.map(({ tool }) => tool),
            ["test.fail"],
        );
        assert.equal((await ask("causeway.calls.recent", { after: 6 })).calls.length, 1);
        assert.equal((await ask("causeway.calls.recent", { limit: 2 })).calls.length, 2);
        assert.equal((await ask("causeway.calls.recent", { caller: "nobody" })).calls.length, 0);
    });

    test("causeway.stats returns steps, tools and sources", async () => {
        const isWhole = ({ tools, refusals, refusals_last_hour }) =>
            tools.length === 2 && refusals.hidden > 0 && refusals_last_hour.hidden > 0;
        await eventually(async () => isWhole(await ask("causeway.stats")), "a sample", patience(15_000));
        const stats = await ask("causeway.stats");
        assert.equal(stats.step_s, 5);
        assert.equal(stats.tools[0].name, "test.echo");
        assert.equal(stats.tools[0].calls, 5);
        const echo = stats.sources.find(({ name }) => name === "echo");
        assert.equal(echo.state, "ready");
        assert.ok(echo.calls >= 6);
        assert.deepEqual(echo.failures, {});
        assert.equal(stats.refusals.hidden, 1);
        assert.equal(stats.refusals_last_hour.hidden, 1);
        assert.ok(stats.idle.length >= 1);
        await eventually(async () => (await ask("causeway.stats")).idle[0].length > 0, "a step", patience(15_000));
        const { idle } = await ask("causeway.stats");
        assert.ok(idle.every((loop) => loop.every((share) => share >= 0 && share <= 100)));
        assert.ok(idle[0][0] > 0);
        assert.equal(stats.calls.ok.length, stats.running.length);
        assert.equal((await ask("causeway.stats", { range: "24h" })).step_s, 300);
    });

    test("the screen has sources, tools and calls in 80 by 24", async (t) => {
        const command = `${binary} top --config ${server.config} --interval 1`;
        tmux("new-session", "-d", "-x", "80", "-y", "24", "-s", "top", command);
        t.after(() => {
            try {
                tmux("kill-server");
            } catch {
                // It has ended with its last window.
            }
        });
        const screen = () => tmux("capture-pane", "-p", "-t", "top");
        const shown = await eventually(
            () => {
                const text = screen();
                return /test\.echo .* 5 +0/.test(text) && /^LAST CALLS[\s\S]*^test\.fail /m.test(text) && text;
            },
            "a screen",
            patience(20_000),
        );
        const lines = shown.split("\n");
        assert.match(lines[0], /^causeway top: server \S+ \(pid \d+\) {2}\d\d:\d\d:\d\d UTC$/);
        assert.match(lines[1], /^running 0 of \d+ calls, \d+ connections$/);
        assert.match(lines[3], /^SOURCE +STATE +CALLS\/S +CALLS +FAILED +P50 +P95 RUN$/);
        assert.match(lines[4], /^echo +ready +\d+\.\d +\d+ +0 +\S+ms +\S+ms +0$/);
        assert.match(lines[6], /^TOOL +CALLS\/S +CALLS +FAILED +P50 +P95$/);
        assert.match(lines[7], /^test\.echo +\d+\.\d +5 +0 /);
        const heading = lines.findIndex((line) => line.startsWith("LAST CALLS"));
        assert.match(lines[heading + 1], /^no\.such\.tool +\d\d:\d\d:\d\d hidden +mcp /);
        assert.match(lines[heading + 2], /^test\.fail +\d\d:\d\d:\d\d error +mcp +\S+ms -$/);
        assert.ok(lines.every((line) => line.length <= 80));
        tmux("send-keys", "-t", "top", "q");
        await eventually(
            () => {
                try {
                    return !tmux("list-sessions").includes("top");
                } catch {
                    return true;
                }
            },
            "its end",
            patience(10_000),
        );
    });

    test("--once prints the view without a terminal", async () => {
        const { code, stdout } = await runCauseway(["top", "--once", "--config", server.config]);
        assert.equal(code, 0);
        assert.match(stdout, /^TOOL /m);
        assert.ok(!stdout.includes("\u001b"));
    });

    test("an interval that is no number is refused", async () => {
        const { code, stderr } = await runCauseway(["top", "--interval", "soon", "--config", server.config]);
        assert.equal(code, 2);
        assert.match(stderr, /--interval: expected a number of seconds from 1 to 3600/);
    });
});

test("calls that run are on the screen, the oldest first", async (t) => {
    const server = await startBridge({
        config: {
            roles: { anonymous: [...permissions, "view traffic"] },
            admin: { socket: path.join(keepFolder(), "running.sock") },
            plugins: { grace: "0s", timeout: "20m" },
            timeouts: { drain: "0s" },
        },
    });
    const running = async () => {
        const { json, text } = await rpc(server, { method: "causeway.calls.running", id: 1 });
        assert.ok(json.result, text);
        return json.result.calls.filter(({ state }) => state === "running");
    };
    assert.deepEqual(await running(), []);
    const first = callTool(server, "test.sleep", { ms: 600_000 });
    await eventually(async () => (await running()).length === 1, "the first call");
    const second = rpc(server, { method: "test.sleep", params: { ms: 600_000 }, id: 1 });
    const ended = Promise.allSettled([first, second]);
    await eventually(async () => (await running()).length === 2, "the second call");
    const calls = await running();
    assert.ok(calls[0].us >= calls[1].us && calls[1].us > 0);
    const { us: _, request_id: id, ...call } = calls[0];
    assert.deepEqual(call, { tool: "test.sleep", source: "echo", caller: "", door: "mcp", state: "running" });
    assert.match(id, /^[0-9a-f]{16}$/);
    tmux("new-session", "-d", "-x", "80", "-y", "24", "-s", "running", `${binary} top --config ${server.config}`);
    t.after(() => {
        try {
            tmux("kill-server");
        } catch {
            // It has ended with its last window.
        }
    });
    const screen = () => tmux("capture-pane", "-p", "-t", "running");
    const shown = await eventually(
        () => {
            const text = screen();
            return /^RUNNING CALLS[\s\S]*^LAST CALLS/m.test(text) && text;
        },
        "the running calls",
        patience(20_000),
    );
    const lines = shown.split("\n");
    const heading = lines.findIndex((line) => line.startsWith("RUNNING CALLS"));
    assert.match(lines[1], /^running 2 of \d+ calls, \d+ connections$/);
    assert.match(lines[heading], /^RUNNING CALLS +SOURCE +STATE +DOOR +TIME +CALLER$/);
    assert.match(lines[heading + 1], /^test\.sleep +echo +running +mcp +\S+s -$/);
    assert.match(lines[heading + 2], /^test\.sleep +echo +running +jsonrpc +\S+s -$/);
    assert.match(lines[heading + 3], /^LAST CALLS/);
    assert.ok(lines.every((line) => line.length <= 80));
    tmux("send-keys", "-t", "running", "q");
    await server.stop();
    await ended;
});

test("the audit, the certificate and the reasons of failures are reported", async () => {
    const tls = makeCertificate("top");
    const method = { name: "find", params: [], result: { name: "found", schema: {} } };
    const openrpc = path.join(keepFolder(), "top-openrpc.json");
    const info = { title: "ledger", version: "1" };
    writeFileSync(openrpc, JSON.stringify({ openrpc: "1.3.2", info, methods: [method] }));
    const url = `http://127.0.0.1:${await freePort()}/rpc`;
    const folder = path.join(keepFolder(), "top-audit");
    mkdirSync(folder);
    const server = await startBridge({
        config: {
            roles: { anonymous: [...permissions, "view traffic"] },
            tls,
            audit: { path: path.join(folder, "audit.jsonl") },
            sources: [{ name: "ledger", url, openrpc, prefix: "ledger.", methods: ["find"] }],
        },
    });
    const ask = async (name) => (await rpc(server, { method: name, params: {}, id: 1 })).json.result;
    assert.equal((await ask("causeway.status")).audit, "ok");
    await untilTool(server, "ledger.find");
    renameSync(folder, `${folder}.gone`);
    await callTool(server, "ledger.find", {});
    const { failures } = (await ask("causeway.stats")).sources.find(({ name }) => name === "ledger");
    assert.deepEqual(failures, { connect: 1 });
    await eventually(async () => (await ask("causeway.status")).audit === "failing", "a record that fails");
    const { validTo } = new X509Certificate(readFileSync(tls.certificate));
    assert.equal((await ask("causeway.status")).certificate_ends, Date.parse(validTo));
    await server.stop();
});
