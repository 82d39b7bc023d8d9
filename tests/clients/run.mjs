// Runs clients that others wrote against the built program, and writes the table in docs/clients.md (`make clients`).
//
//   scripts/node.sh tests/clients/run.mjs [--only NAME,...] [--quick] [--mcp JSON] [--bare] [--list]
//
//   --only    clients whose name contains one of these texts
//   --quick   the clients that continuous integration runs
//   --mcp     further keys of the section `mcp` of the configuration
//   --bare    only the example plugin, without sources
//
// An agent framework gets the test model (model.mjs), an SDK makes the calls itself. A turn lists the tools, calls one,
// and calls one that fails. Without options the table is written. Transcripts are in build/clients. The exit code is 1
// if a step failed for another reason than a known fault of the client.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { both, clients } from "./clients.mjs";
import { prepare, Skip, versionOf } from "./environments.mjs";
import { errorText, judge, reportOf } from "./judge.mjs";
import { script, startModel } from "./model.mjs";
import { fetchTools } from "./rules.mjs";
import { revisionOf, startRecorder, tapped } from "./recorder.mjs";
import { startErrors, startGrant, startLateLogin, startLogin, startRestartable } from "./scenarios.mjs";
import { root, startServer } from "./server.mjs";
import { writeTable } from "./table.mjs";

const RUN_MS = 120_000;
const out = path.join(root, "build", "clients");

const { values: options } = parseArgs({
    options: {
        only: { type: "string", default: "" },
        quick: { type: "boolean", default: false },
        mcp: { type: "string" },
        bare: { type: "boolean", default: false },
        list: { type: "boolean", default: false },
    },
});

// ---- one program ----

// Runs a program to its end: { code, stdout, output (standard error, too) }. One that hangs is ended with all that it has started.
function runProgram([file, ...args], { cwd, env }) {
    return new Promise((resolve) => {
        const child = spawn(file, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
        let output = "";
        let stdout = "";
        const add = (text) => (output += text);
        child.stdout.setEncoding("utf8").on("data", (text) => {
            stdout += text;
            add(text);
        });
        child.stderr.setEncoding("utf8").on("data", add);
        const end = () => {
            try {
                process.kill(-child.pid, "SIGKILL");
            } catch {
                // All of them have ended.
            }
        };
        const timer = setTimeout(() => {
            add(`\nnot finished after ${RUN_MS / 1000} s`);
            end();
        }, RUN_MS);
        child.on("error", (error) => add(error.message));
        child.on("close", (code) => {
            clearTimeout(timer);
            end();
            resolve({ code, stdout, output });
        });
    });
}

// ---- one run of a client ----

// Proxies and keys of this machine must not reach a client.
function environment(extra) {
    const kept = Object.entries(process.env).filter(([name]) => !/_(API_KEY|BASE_URL)$|^NODE_TEST|proxy$/i.test(name));
    const quiet = { PYTHONWARNINGS: "ignore", PYTHONUNBUFFERED: "1", OTEL_SDK_DISABLED: "true" };
    return { ...Object.fromEntries(kept), ...quiet, ...extra, NO_PROXY: "127.0.0.1" };
}

// Transports with a server of their own.
const scenarios = {
    login: startLogin,
    "late login": startLateLogin,
    restart: startRestartable,
    errors: startErrors,
    role: startGrant,
};

// How the client reaches the server: variables of its environment, and what must be closed afterwards.
async function connectOver(client, { transport, era }, server, transcript) {
    if (scenarios[transport] !== undefined) {
        return scenarios[transport]({ folder: path.dirname(transcript), transcript, mcp: server.mcp, era, client });
    }
    if (transport === "stdio") {
        return { env: { MCP_COMMAND: JSON.stringify(tapped(server.command, transcript)) }, close: () => {} };
    }
    const recorder = await startRecorder(server.url, transcript);
    return { env: { MCP_URL: recorder.url }, close: recorder.close };
}

async function runOnce(client, { command, cwd }, { transport, era }, server) {
    const folder = path.join(out, [client.id, transport.replace(" ", "-"), era].filter(Boolean).join("-"));
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const transcript = path.join(folder, "transcript");
    const connection = await connectOver(client, { transport, era }, server, transcript);
    const model = client.api === undefined ? null : await startModel({ onCall: connection.onCall });
    const env = environment({
        ...connection.env,
        CAUSEWAY: JSON.stringify(server.command),
        MODEL_URL: model?.url ?? "",
        PROMPT: script.prompt,
        ERA: era ?? "",
    });
    const { code, stdout, output } = await runProgram(command, { cwd, env });
    await connection.close();
    await model?.close();
    writeFileSync(path.join(folder, "output"), output);
    writeFileSync(path.join(folder, "model.json"), JSON.stringify(model?.record ?? null, null, 2));
    const text = existsSync(transcript) ? readFileSync(transcript, "utf8") : "";
    const run = { code, stdout, output, record: model?.record, tools: server.tools, transport, transcript: text };
    return { revision: revisionOf(text), ...judge(client, { ...run, serverProblem: connection.problem?.() }) };
}

// ---- all ----

const isWanted = (client) =>
    (!options.quick || client.quick) &&
    (options.only === "" || options.only.split(",").some((text) => client.id.includes(text)));

// The program of a client, or null and a row that names what is missing.
function prepareOrSkip(client, rows) {
    try {
        return prepare(client);
    } catch (error) {
        if (!(error instanceof Skip)) {
            throw error;
        }
        const row = { client, version: versionOf(client), skip: error.message, works: [], problem: null };
        rows.push(row);
        report(row);
        return null;
    }
}

// Two results as one; the first problem counts.
const joined = (run, more) => ({
    ...run,
    ...(run.problem === null && { problem: more.problem, whose: more.whose }),
    works: [...run.works, ...more.works],
});

const installations = path.join(import.meta.dirname, "products.mjs");

// A product must also send a token that is in the environment only, and `causeway install --undo` must restore its file.
async function checkInstallation(client, { cwd }, server) {
    if (client.language !== "product" || options.quick || !existsSync(installations)) {
        return { works: [], problem: null, whose: null };
    }
    const args = ["--causeway", server.command[0], "--packages", cwd, client.id];
    const { stdout, output } = await runProgram([process.execPath, installations, ...args], {
        cwd,
        env: environment({}),
    });
    const { stdio, http, ...steps } = reportOf(stdout);
    const works = ["token", "undo"].filter((step) => steps[step] === "ok");
    const failed = Object.entries({ stdio, http, token: steps.token, undo: steps.undo }).find(
        ([, text]) => text !== "ok",
    );
    const problem = failed === undefined ? null : `${failed[0]}: ${failed[1] ?? errorText(output)}`;
    return { works, problem, whose: problem === null ? null : "unknown" };
}

async function runClient(client, server, rows) {
    const program = prepareOrSkip(client, rows);
    const installation = program === null ? null : await checkInstallation(client, program, server);
    const transports = client.transports.filter((one) => !options.quick || both.includes(one));
    for (const transport of program === null ? [] : transports) {
        for (const era of client.eras ?? [undefined]) {
            const row = { client, version: versionOf(client), transport, era };
            Object.assign(row, joined(await runOnce(client, program, row, server), installation));
            rows.push(row);
            report(row);
        }
    }
}

function report({ client, version, transport, era, revision, skip, works, problem, whose, isKnown }) {
    const name = [client.id, version, transport, era].filter(Boolean).join(" ");
    if (skip !== undefined) {
        console.log(`skip  ${name}: ${skip}`);
    } else if (problem === null) {
        console.log(`ok    ${name} (${revision}): ${works.join(", ")}`);
    } else {
        console.log(`${isKnown ? "fault" : "FAIL "} ${name} (${revision}): ${works.join(", ")}; ${whose}: ${problem}`);
    }
}

async function main() {
    const wanted = clients.filter(isWanted);
    if (options.list) {
        wanted.forEach((client) => console.log(`${client.id} ${versionOf(client)}`));
        return 0;
    }
    const folder = mkdtempSync(path.join(tmpdir(), "causeway-clients-"));
    const mcp = options.mcp === undefined ? undefined : JSON.parse(options.mcp);
    const server = await startServer({ folder, mcp, bare: options.bare });
    const rows = [];
    try {
        server.tools = await fetchTools(server.url);
        for (const client of wanted) {
            await runClient(client, server, rows);
        }
    } finally {
        await server.close();
        rmSync(folder, { recursive: true, force: true });
    }
    // A part of the clients, or another configuration, is no replacement for the table.
    if (wanted.length === clients.length && mcp === undefined && !options.bare) {
        writeTable(rows);
    }
    const failed = rows.filter(({ problem, isKnown }) => (problem ?? null) !== null && !isKnown);
    const skipped = rows.filter(({ skip }) => skip !== undefined);
    console.log(
        `\n${rows.length - failed.length - skipped.length} as expected, ${failed.length} failed, ${skipped.length} skipped`,
    );
    return failed.length === 0 ? 0 : 1;
}

for (const signal of ["SIGINT", "SIGTERM"]) {
    process.on(signal, () => process.exit(1));
}
process.exitCode = await main();
