// What tools cost in lists, where commands show it: import, config check, doctor.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { permissions } from "./support/mcp.mjs";
import { newFolder } from "./support/plugins.mjs";
import { runCauseway, writeConfig } from "./support/programs.mjs";

// A description with methods get0, get1, …; the last one has a long text.
function writeDocument(n) {
    const methods = Array.from({ length: n }, (_, i) => ({
        name: `get${i}`,
        summary: i === n - 1 ? "Reads a thing. ".repeat(100) : "Reads a thing.",
        params: [{ name: "id", required: true, schema: { type: "integer" } }],
        result: { name: "thing", schema: { type: "object" } },
    }));
    const file = path.join(newFolder("cost"), "openrpc.json");
    writeFileSync(file, JSON.stringify({ openrpc: "1.3.2", info: { title: "Things", version: "1" }, methods }));
    return file;
}

const configOf = (n, more = {}) =>
    writeConfig({
        roles: { anonymous: permissions },
        sources: [{ name: "things", url: "http://127.0.0.1:9/rpc", openrpc: writeDocument(n), methods: ["*"] }],
        ...more,
    });

test("import prints what all methods would cost, and which cost most", async () => {
    const output = path.join(newFolder("overlay"), "things.yaml");
    const { code, stdout, stderr } = await runCauseway(["import", writeDocument(50), "-o", output]);
    assert.equal(code, 0, stderr);
    const [, tokens] = /all of them would cost about (\d+) tokens in a list \(bytes \/ 4\)/.exec(stdout);
    assert.ok(tokens > 50 * 20 && tokens < 50 * 100, tokens);
    const [, largest] = /^The largest: get49 \((\d+)\), get\d+ \(\d+\), get\d+ \(\d+\)\.$/m.exec(stdout);
    assert.ok(largest > 375, largest);
    assert.match(stdout, /Do not expose all of them at one address: Cursor uses about 40/);
});

test("import prints the cost of each method as JSON", async () => {
    const output = path.join(newFolder("overlay"), "things.yaml");
    const { stdout } = await runCauseway(["import", writeDocument(3), "-o", output, "--json"]);
    const { methods } = JSON.parse(stdout);
    assert.ok(methods[0].tokens > 20);
    assert.ok(methods[2].tokens > methods[0].tokens + 300);
});

test("config check --cost checks the file, then prints what list --cost prints", async () => {
    const config = configOf(3);
    const { code, stdout, stderr } = await runCauseway(["config", "check", "--cost", config]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /: ok\n/);
    assert.match(stdout, /3 tools, about \d+ tokens \(bytes \/ 4\)/);
    const list = await runCauseway(["list", "--cost", "--config", config]);
    assert.ok(stdout.endsWith(list.stdout));
    const wrong = await runCauseway(["config", "check", "--cost", "--json", config]);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /cannot be combined with --json/);
    const broken = await runCauseway(["config", "check", "--cost", writeConfig({ no_such_key: 1 })]);
    assert.equal(broken.code, 2);
    assert.doesNotMatch(broken.stdout, /tokens/);
});

test("doctor reports addresses with more tools than clients use", async () => {
    const findings = async (config) => {
        const { stdout, stderr } = await runCauseway(["doctor", "--json", "--config", config]);
        return JSON.parse(stdout || assert.fail(stderr)).findings.filter(({ problem }) =>
            /^it has \d+ tools/.test(problem),
        );
    };
    const [many] = await findings(configOf(130));
    assert.equal(many.severity, "warning");
    assert.equal(many.subject, "/mcp");
    assert.match(many.problem, /^it has 130 tools: VS Code and Copilot reject more than 128$/);
    assert.match(many.remedy, /mode: search/);
    const toolsets = { some: { tools: ["get1*"] }, most: { exclude: ["get1*"] }, found: { mode: "search" } };
    const some = await findings(configOf(130, { toolsets }));
    // get1, get10 to get19, get100 to get129 are 41.
    assert.deepEqual(
        some.map(({ subject, severity }) => [subject, severity]),
        [
            ['toolset "some"', "note"],
            ['toolset "most"', "note"],
        ],
    );
    assert.deepEqual(await findings(configOf(40)), []);
});
