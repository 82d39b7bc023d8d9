// The official conformance suite, in every revision of the protocol: the checks that need no
// fixture, each by its name. A check that stops passing fails the test, and so does one that begins
// to: then expected.mjs is to be brought up to date.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { keepFolder } from "../functional/support/kept.mjs";
import { startBridge } from "../functional/support/mcp.mjs";
import { Program, root, slowness } from "../functional/support/programs.mjs";
import { runs } from "./expected.mjs";

const suite = path.join(root, "node_modules/@modelcontextprotocol/conformance/dist/index.js");

let server;
before(async () => (server = await startBridge()));
after(() => server?.stop());

// Run it and read what it wrote: scenario to [{ id, status, … }].
async function runSuite(name, args) {
    const out = path.join(keepFolder(), `results-${name}`);
    const all = [suite, "server", "--url", `${server.url}/mcp`, ...args, "-o", out];
    const timeout = ["--timeout", String(30_000 * slowness)];
    const program = new Program(process.execPath, [...all, ...timeout], { name: "conformance" });
    await program.exited; // its exit code counts what needs fixtures too
    const found = readdirSync(out).map((folder) => {
        // server-SCENARIO-2026-01-01T00-00-00-000Z
        const scenario = /^server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(folder)[1];
        const text = readFileSync(path.join(out, folder, "checks.json"), "utf8");
        return [scenario, JSON.parse(text)];
    });
    return Object.fromEntries(found);
}

// The checks of a scenario as expected.mjs writes them.
function summarise(checks) {
    const lines = checks.map(({ id, status }) => (status === "SUCCESS" ? id : `${id} ${status}`));
    return [...new Set(lines)]
        .map((line) => [line, lines.filter((other) => other === line).length])
        .map(([line, n]) => (n > 1 ? `${line} ×${n}` : line))
        .sort();
}

for (const [name, { args, scenarios }] of Object.entries(runs)) {
    test(`the suite for ${name} says of each scenario what is expected`, async (t) => {
        const results = await runSuite(name, args);
        for (const [scenario, expected] of Object.entries(scenarios)) {
            await t.test(`${scenario} at ${name}`, () => {
                assert.ok(results[scenario], `it was not run; there are ${Object.keys(results)}`);
                const why = results[scenario].filter(({ status }) => status !== "SUCCESS");
                const told = why.map(({ id, errorMessage }) => `${id}: ${errorMessage}`).join("\n");
                assert.deepEqual(summarise(results[scenario]), expected.toSorted(), told);
            });
        }
        await t.test(`every message at ${name} has the form that its schema wants`, () => {
            const checks = Object.values(results).flat();
            const wire = checks.filter(({ id }) => id === "wire-schema-valid");
            const bad = wire.filter(({ status }) => status !== "SUCCESS");
            assert.deepEqual(bad, []);
        });
    });
}
