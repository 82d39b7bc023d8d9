// Debian's Prometheus scrapes a running server; the shipped rules and dashboard work with it.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { basic, bearer, call, discover, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { callTool, legacy, modern, rpc } from "./support/mcp.mjs";
import { freePort } from "./support/ports.mjs";
import { patience, root } from "./support/programs.mjs";
import { get } from "./support/rest.mjs";
import { eventually } from "./support/server.mjs";
import { startService, writeOpenRpc } from "./support/service.mjs";

const examples = path.join(root, "examples");
const rules = path.join(examples, "prometheus", "causeway.rules.yml");

// A proxy that removes Accept: Prometheus always prefers OpenMetrics.
async function startPlainProxy(target) {
    const server = http.createServer((request, response) => {
        const { accept, ...headers } = request.headers;
        const passed = http.request(`${target}${request.url}`, { headers }, (answer) => {
            server.type = answer.headers["content-type"];
            response.writeHead(answer.statusCode, answer.headers);
            answer.pipe(response);
        });
        passed.on("error", () => response.destroy());
        passed.end();
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    return server;
}

async function startPrometheus(targets, tokenFile) {
    const folder = mkdtempSync(path.join(keepFolder(), "prometheus-"));
    const port = await freePort();
    const jobs = Object.entries(targets).map(
        ([name, target]) => `
  - job_name: ${name}
    authorization: { credentials_file: ${tokenFile} }
    static_configs: [{ targets: ["${target}"] }]`,
    );
    const file = path.join(folder, "prometheus.yml");
    writeFileSync(
        file,
        `global: { scrape_interval: 1s, evaluation_interval: 1s }\nrule_files: [${rules}]\nscrape_configs:${jobs.join("")}\n`,
    );
    const args = [
        `--config.file=${file}`,
        `--storage.tsdb.path=${path.join(folder, "data")}`,
        `--web.listen-address=127.0.0.1:${port}`,
        "--enable-feature=exemplar-storage",
        "--log.level=warn",
    ];
    const child = spawn("prometheus", args, { stdio: "ignore" });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    const url = `http://127.0.0.1:${port}`;
    const ask = async (target) => (await (await fetch(`${url}${target}`)).json()).data;
    return {
        query: async (expression) => (await ask(`/api/v1/query?query=${encodeURIComponent(expression)}`)).result,
        targets: async () => (await ask("/api/v1/targets")).activeTargets,
        rules: async () => (await ask("/api/v1/rules")).groups.flatMap((group) => group.rules),
        stop: async () => {
            child.kill("SIGTERM");
            await ended;
        },
    };
}

test("promtool accepts the rules and the scrape configuration", () => {
    execFileSync("promtool", ["check", "rules", rules]);
    const text = readFileSync(path.join(examples, "prometheus", "prometheus.yml"), "utf8");
    const folder = mkdtempSync(path.join(keepFolder(), "scrape-"));
    const token = path.join(folder, "token");
    writeFileSync(token, "secret");
    writeFileSync(path.join(folder, "causeway.rules.yml"), readFileSync(rules));
    const file = path.join(folder, "prometheus.yml");
    writeFileSync(file, text.replace("/etc/prometheus/causeway.token", token));
    execFileSync("promtool", ["check", "config", file]);
});

test("each alert fires in a test of promtool", () => {
    const file = path.join(path.dirname(rules), "causeway.rules.test.yml");
    execFileSync("promtool", ["test", "rules", path.basename(file)], { cwd: path.dirname(file) });
    const alerts = [...readFileSync(rules, "utf8").matchAll(/alert: (\w+)/g)].map(([, name]) => name);
    const tests = readFileSync(file, "utf8");
    assert.ok(alerts.length > 10);
    for (const name of alerts) {
        assert.match(tests, new RegExp(`alertname: ${name}\\s+exp_alerts`), name);
    }
});

suite("a Prometheus", () => {
    let server;
    let proxy;
    let prometheus;
    let traffic;
    before(async () => {
        const roles = {
            anonymous: [discover, call, "access content"],
            authenticated: [discover, call],
            editor: ["view metrics"],
        };
        const { url } = await startService();
        const sources = [{ name: "there", url, openrpc: writeOpenRpc(), prefix: "there.", methods: ["add"] }];
        server = await startAccounts({
            config: { roles, sources, audit: { path: path.join(keepFolder(), "prometheus-audit.log") } },
        });
        const { token } = await server.token("alice");
        const file = path.join(keepFolder(), "prometheus.token");
        writeFileSync(file, token);
        proxy = await startPlainProxy(server.url);
        const { host } = new URL(server.url);
        prometheus = await startPrometheus({ causeway: host, plain: `127.0.0.1:${proxy.address().port}` }, file);
        const client = { "io.modelcontextprotocol/clientInfo": { name: "claude-code", version: "1" } };
        // Some of everything, so that no rate is empty.
        const more = async () => {
            await callTool(server, "test.echo", { message: "hello" });
            await callTool(server, "test.echo", { message: 7 });
            await callTool(server, "test.fail", {});
            await callTool(server, "no.such.tool", {});
            await modern(server, "tools/list", {}, { meta: client });
            await legacy(server, "tools/list", {});
            await rpc(server, { method: "test.echo", params: { message: "x" }, id: 1 }, basic("bob", "b0b"));
            await get(server, "/mcp/tools/list", bearer(token));
        };
        await more();
        traffic = setInterval(() => more().catch(() => {}), 500);
    });
    after(async () => {
        clearInterval(traffic);
        await prometheus?.stop();
        proxy?.close();
        await server?.stop();
    });

    test("scrapes both formats", async () => {
        const states = async () =>
            Object.fromEntries(
                (await prometheus.targets()).map(({ labels, health, lastError }) => [labels.job, health + lastError]),
            );
        await eventually(
            async () =>
                JSON.stringify(await states().catch(() => "")) === JSON.stringify({ causeway: "up", plain: "up" }),
            "both targets",
            patience(30_000),
        );
        assert.match(proxy.type, /^text\/plain; version=0\.0\.4/);
        for (const job of ["causeway", "plain"]) {
            await eventually(
                async () =>
                    (await prometheus.query(`sum(causeway_calls_total{job="${job}",outcome="ok"}) > 0`)).length > 0,
                `calls of ${job}`,
                patience(30_000),
            );
        }
    });

    test("returns data for every query of the dashboard", async () => {
        const dashboard = JSON.parse(readFileSync(path.join(examples, "grafana", "causeway.json"), "utf8"));
        const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
            targets.map(({ expr }) => ({ title, expr })),
        );
        assert.ok(queries.length > 30);
        for (const { title, expr } of queries) {
            const asked = expr.replaceAll("$instance", ".*").replaceAll("$__rate_interval", "30s");
            await eventually(
                async () => (await prometheus.query(asked)).length > 0,
                `data for "${title}": ${asked}`,
                patience(30_000),
            );
        }
    });

    test("evaluates every rule", async () => {
        await eventually(
            async () => {
                const all = await prometheus.rules();
                return all.length > 0 && all.every(({ health }) => health === "ok");
            },
            "healthy rules",
            patience(30_000),
        );
    });
});
