// The official conformance suite in every revision of the protocol that it knows, against the
// plugin with its fixtures (tests/plugins/conformance.c), with exact names and schemas and with
// portable ones, which are the default. Nothing is expected to fail, but that portable schemas have
// no $defs and no $anchor. A Causeway in front of another passes what the other passes.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { keepFolder } from "../functional/support/kept.mjs";
import { addPlugin, untilTool } from "../functional/support/mcp.mjs";
import { Program, root, slowness, startCauseway } from "../functional/support/programs.mjs";

const suite = path.join(root, "node_modules/@modelcontextprotocol/conformance/dist/index.js");

// How many scenarios count, how many are run besides, how many checks of both pass, and how many of
// these are about schemas: a suite that looks at less than it did is noticed.
const runs = {
    "2026-07-28": { args: ["--requirements", "2026-07-28"], counted: 37, besides: 13, passed: 196, schemas: 8 },
    "2025-11-25": { args: ["--requirements", "2025-11-25"], counted: 30, besides: 3, passed: 80, schemas: 8 },
    "2025-06-18": {
        args: ["--suite", "all", "--spec-version", "2025-06-18"],
        counted: 27,
        passed: 56,
    },
    "2025-03-26": {
        args: ["--suite", "all", "--spec-version", "2025-03-26"],
        counted: 1,
        passed: 3,
    },
};

// What the suite may say other than that a check has passed: all of it says that an answer is JSON
// and no stream, since nothing is said before the answer.
const remarks = {
    "server-sse-multiple-streams": ["server-sse-streams-functional INFO"],
    // The suite has no check for it yet.
    "tasks-status-notifications": ["tasks-status-notifications SKIPPED"],
    "server-sse-polling": ["incoming-response INFO", "outgoing-request INFO", "server-sse-content-type INFO"],
};

// A relay waits for the task of a server on behalf of a client that has no tasks.
const isRelayed = (scenario) => scenario !== "tasks-required-task-error";

const aboutSchemas = "json-schema-2020-12";

async function start(form) {
    const folder = path.join(keepFolder(), form);
    const config = path.join(folder, "causeway.yaml");
    mkdirSync(path.join(folder, "plugins"), { recursive: true });
    addPlugin(path.join(folder, "plugins"), "conformance");
    const skills = path.join(folder, "plugins", "conformance.skills");
    cpSync(path.join(import.meta.dirname, "skills"), skills, { recursive: true });
    const text = readFileSync(path.join(import.meta.dirname, "causeway.yaml"), "utf8");
    const exact = "  tool_names: exact\n  schemas: exact\n"; // the file ends with a part of mcp
    writeFileSync(config, form === "exact" ? `${text}${exact}` : text);
    const server = await startCauseway({ args: ["--config", config] });
    await untilTool(server, "test_simple_text");
    return server;
}

// A server in front of another, which is its only source. Every question may be asked.
async function startRelay(behind) {
    const config = path.join(keepFolder(), "relay.yaml");
    const source = {
        name: "behind",
        dialect: "mcp",
        url: `${behind.url}/mcp`,
        methods: ["*"],
        prompts: ["*"],
        resources: ["*"],
        templates: ["*"],
        questions: ["form", "url", "sampling", "roots"],
    };
    const roles = { anonymous: ["access mcp tool discovery", "use jsonrpc services"] };
    const mcp = { tool_names: "exact", schemas: "exact" };
    writeFileSync(config, JSON.stringify({ roles, mcp, sources: [source] }));
    const server = await startCauseway({ args: ["--config", config] });
    await untilTool(server, "test_simple_text");
    return server;
}

const servers = {};
before(async () => {
    servers.exact = await start("exact");
    servers.portable = await start("portable");
    servers.relay = await startRelay(servers.exact);
});
after(() => Promise.all(Object.values(servers).map((server) => server.stop())));

// Run it and read what it wrote: scenario to [{ id, status, … }].
async function runSuite(form, name, args) {
    const out = path.join(keepFolder(), `results-${form}-${name}`);
    const all = [suite, "server", "--url", `${servers[form].url}/mcp`, ...args, "-o", out];
    // For one scenario; a machine may stand still for longer than the default.
    const timeout = ["--timeout", String(180_000 * slowness)];
    const program = new Program(process.execPath, [...all, ...timeout], { name: "conformance" });
    const { code } = await program.exited;
    const found = readdirSync(out).map((folder) => {
        // server-SCENARIO-2026-01-01T00-00-00-000Z
        const scenario = /^server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(folder)[1];
        const text = readFileSync(path.join(out, folder, "checks.json"), "utf8");
        return [scenario, JSON.parse(text)];
    });
    return { code, said: program.stdout, results: Object.fromEntries(found) };
}

function assertPassed(scenario, checks) {
    assert.ok(checks.length > 0, "nothing was checked");
    const others = checks.filter(({ status }) => status !== "SUCCESS");
    const told = others.map(({ id, errorMessage }) => `${id}: ${errorMessage}`);
    const seen = others.map(({ id, status }) => `${id} ${status}`).sort();
    assert.deepEqual(seen, remarks[scenario] ?? [], told.join("\n"));
}

const countPassed = (lists) => lists.flat().filter(({ status }) => status === "SUCCESS").length;

for (const [name, { args, counted, besides = 0, passed, schemas = 0 }] of Object.entries(runs)) {
    test(`the suite for ${name} finds nothing wrong`, async (t) => {
        const { code, said, results } = await runSuite("exact", name, args);
        const offered = Object.entries(results);
        for (const [scenario, checks] of offered) {
            await t.test(`${scenario} at ${name}`, () => assertPassed(scenario, checks));
        }
        await t.test(`${passed} checks pass at ${name}, ${schemas} of them about schemas`, () => {
            assert.equal(countPassed(offered.map(([, checks]) => checks)), passed);
            assert.equal(countPassed([results[aboutSchemas] ?? []]), schemas);
        });
        await t.test(`${counted} scenarios count at ${name}`, () => {
            const unscored = Number(/^Not scored for .*: (\d+) scenario/m.exec(said)?.[1] ?? 0);
            assert.equal(unscored, besides);
            assert.equal(Object.keys(results).length - unscored, counted);
            assert.equal(code, 0, said);
        });
    });

    test(`the suite for ${name} finds nothing wrong with the defaults, but for the form of schemas`, async (t) => {
        const { results } = await runSuite("portable", name, args);
        const offered = Object.entries(results);
        assert.equal(offered.length, counted + besides);
        for (const [scenario, checks] of offered.filter(([one]) => one !== aboutSchemas)) {
            await t.test(`${scenario} at ${name} with the defaults`, () => assertPassed(scenario, checks));
        }
        await t.test(`${passed - schemas} checks besides pass at ${name} with the defaults`, () => {
            const others = offered.filter(([one]) => one !== aboutSchemas).map(([, checks]) => checks);
            assert.equal(countPassed(others), passed - schemas);
        });
    });
}

// Scenarios of an extension that no list of requirements has, and how many checks of each pass.
const skills = { enumeration: 32, manifest: 6, directory: 7 };
for (const [part, passed] of Object.entries(skills)) {
    test(`the suite finds nothing wrong with skills: ${part}`, async () => {
        const scenario = `sep-2640-skills-${part}`;
        const { code, said, results } = await runSuite("exact", scenario, ["--scenario", scenario]);
        assert.equal(code, 0, said);
        assertPassed(scenario, results[scenario]);
        assert.equal(countPassed([results[scenario]]), passed);
    });
}

// The two newest revisions: every check that passes alone passes through a relay.
for (const name of ["2026-07-28", "2025-11-25"]) {
    test(`through another Causeway the suite for ${name} finds what it finds without`, async (t) => {
        const alone = await runSuite("exact", `${name}-alone`, runs[name].args);
        const through = await runSuite("relay", name, runs[name].args);
        for (const [scenario, checks] of Object.entries(alone.results).filter(([one]) => isRelayed(one))) {
            await t.test(`${scenario} at ${name} through two`, () => {
                const wanted = checks.filter(({ status }) => status === "SUCCESS");
                const found = through.results[scenario] ?? [];
                const told = found
                    .filter(({ status }) => status !== "SUCCESS")
                    .map(({ id, errorMessage }) => `${id}: ${errorMessage}`);
                assert.deepEqual(
                    wanted
                        .map(({ id }) => id)
                        .filter((id) => !found.some((one) => one.id === id && one.status === "SUCCESS")),
                    [],
                    told.join("\n"),
                );
            });
        }
    });
}
