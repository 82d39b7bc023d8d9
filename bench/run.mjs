// `make bench`: measures us and the peers in one run and says which figures were reached.
//
//   node bench/run.mjs [--only http,json,idle,…] [--quick] [--write-docs] [--from-results]
//
//   --only          these parts; the results of the others stay as the last run left them
//   --quick         seconds instead of minutes, to see that everything works; kept apart
//   --write-docs    write docs/benchmarks.md from the results
//   --from-results  measure nothing, take the results of the last run
//
// Results go to build/bench/results.json. A missed figure is marked but is no error; something that
// does not work is.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import * as auth from "./access/auth.mjs";
import * as matrix from "./access/matrix.mjs";
import * as oauth from "./access/oauth.mjs";
import * as stores from "./access/stores.mjs";
import * as examples from "./bridge/examples.mjs";
import * as forward from "./bridge/forward.mjs";
import * as instructions from "./bridge/instructions.mjs";
import * as listen from "./bridge/listen.mjs";
import * as mcp from "./bridge/mcp.mjs";
import * as mcpSource from "./bridge/mcp-source.mjs";
import * as plugin from "./bridge/plugin.mjs";
import * as events from "./bridge/events.mjs";
import * as tasks from "./bridge/tasks.mjs";
import * as traces from "./bridge/traces.mjs";
import * as invoke from "./catalogue/invoke.mjs";
import * as lists from "./catalogue/lists.mjs";
import * as catalogue from "./catalogue/memory.mjs";
import * as portable from "./catalogue/portable.mjs";
import * as toolsets from "./catalogue/toolsets.mjs";
import * as console_ from "./console/console.mjs";
import * as fairness from "./fairness/fairness.mjs";
import * as idle from "./http/idle.mjs";
import { pinning, root } from "./http/servers.mjs";
import * as readers from "./http/readers.mjs";
import * as slow from "./http/slow.mjs";
import * as start from "./http/start.mjs";
import * as throughput from "./http/throughput.mjs";
import * as json from "./json.mjs";
import * as metrics from "./metrics/metrics.mjs";
import * as scale from "./scale/scale.mjs";
import * as schema from "./schema/bench.mjs";
import * as upgrade from "./upgrade/upgrade.mjs";
import { mostBusy, writePage } from "./page.mjs";

const parts = {
    ...{ http: throughput, json, schema, idle, slow, readers, start, plugin, forward, mcp, listen, examples },
    ...{ auth, lists, invoke, instructions, catalogue, portable, toolsets, matrix, metrics, fairness, upgrade },
    ...{ traces, tasks, events, "mcp-source": mcpSource, oauth, console: console_, scale, stores },
};
const { values: options } = parseArgs({
    options: {
        only: { type: "string", default: "" },
        quick: { type: "boolean", default: false },
        "write-docs": { type: "boolean", default: false },
        "from-results": { type: "boolean", default: false },
    },
});
const file = path.join(root, "build", "bench", options.quick ? "quick.json" : "results.json");

const output = (...command) => {
    try {
        return execFileSync(command[0], command.slice(1), { encoding: "utf8", stdio: "pipe" }).trim();
    } catch {
        return "unknown";
    }
};

function describeMachine() {
    const system = readFileSync("/etc/os-release", "utf8");
    const packages = ["nginx-light", "wrk", "libuv1", "libssl3", "libcjson1", "libjansson4", "gcc"];
    const version = (name) => output("dpkg-query", "-W", "-f", "${Version}", name);
    return {
        processor: cpus()[0]?.model ?? "unknown",
        cores: cpus().length,
        memoryGb: Math.round(totalmem() / 2 ** 30),
        kernel: release(),
        system: /^PRETTY_NAME="?([^"\n]*)/m.exec(system)?.[1] ?? "unknown",
        pinning,
        packages: Object.fromEntries(packages.map((name) => [name, version(name)])),
    };
}

// How this process was started: a real-time class or another niceness changes every time below, so
// the results say so. See proc(5) for the fields of stat, counted here behind the name.
function describeRun() {
    const fields = readFileSync("/proc/self/stat", "latin1").split(") ").at(-1).split(" ");
    const policies = ["normal", "fifo", "round-robin", "batch", "", "idle", "deadline"];
    return {
        began: new Date().toISOString(),
        command: ["bench/run.mjs", ...process.argv.slice(2)].join(" "),
        policy: policies[Number(fields[38])],
        nice: Number(fields[16]),
        load: loadavg()[0],
    };
}

// Ticks of all cores together since the machine started, and of them ours: this process and every
// child that has ended, with their children. See proc(5).
function readTicks() {
    const [line] = readFileSync("/proc/stat", "latin1").split("\n");
    const all = line.split(/\s+/).slice(1, 9).map(Number);
    const own = readFileSync("/proc/self/stat", "latin1").split(") ").at(-1).split(" ");
    const sum = (values) => values.reduce((a, b) => a + b);
    return { all: sum(all), idle: all[3] + all[4], own: sum(own.slice(11, 15).map(Number)) };
}

// The part of the machine's time that other programs used between two readings. The load average
// would count our own work too.
function othersBusy(before, after) {
    const [all, idle, own] = ["all", "idle", "own"].map((name) => after[name] - before[name]);
    return Math.max(0, (all - idle - own) / all);
}

function readResults() {
    return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : { parts: {} };
}

function writeResults(results) {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
}

async function measure(names) {
    const results = readResults();
    results.machine = describeMachine();
    const run = describeRun();
    for (const name of names) {
        console.log(`== ${name}`);
        const before = readTicks();
        const say = (text) => console.log(`   ${text}`);
        try {
            const part = await parts[name].run({ quick: options.quick, say });
            const busy = othersBusy(before, readTicks());
            if (busy > mostBusy) {
                say(`other programs used ${Math.round(busy * 100)} % of the machine: figures are off`);
            }
            results.parts[name] = { run, busy, ...part };
            writeResults(results);
        } catch (error) {
            // The other parts are still worth their time.
            console.error(`${name} failed: ${error.stack}`);
            delete results.parts[name];
            process.exitCode = 1;
        }
    }
    return results;
}

function printTable(rows) {
    const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => [...row[column]].length)));
    for (const row of rows) {
        const cells = row.map((cell, column) => cell + " ".repeat(widths[column] - [...cell].length));
        console.log(cells.join(" | ").trimEnd());
    }
}

// The parts that compare processor time per request with a peer's.
function rowsOf(name, part) {
    const peer = part.sdk ? "sdk" : "nginx";
    const row = (server, { cpuUs, perSecond }) => [
        name,
        server,
        cpuUs.toFixed(2),
        Math.round(perSecond).toLocaleString("en"),
        (cpuUs / part[peer].cpuUs).toFixed(3),
    ];
    return [row("causeway", part.ours), row(peer, part[peer])];
}

function printSummary(results, names) {
    const compared = names.filter((name) => results.parts[name]?.ours?.cpuUs);
    if (compared.length > 0) {
        console.log();
        printTable([
            ["part", "server", "CPU µs per request", "requests/s", "ratio of medians"],
            ...compared.flatMap((name) => rowsOf(name, results.parts[name])),
        ]);
    }
    const figures = names.flatMap((name) => results.parts[name]?.figures ?? []);
    console.log();
    printTable([
        ["figure", "target", "measured", "ok?"],
        ...figures.map(({ name, target, shown, ok }) => [name, target, shown, ok ? "ok" : "MISSED"]),
    ]);
    const missed = figures.filter(({ ok }) => !ok).length;
    console.log(`\n${figures.length - missed} of ${figures.length} figures reached; ${file}`);
}

const names = options.only ? options.only.split(",") : Object.keys(parts);
const unknown = names.filter((name) => !(name in parts));
if (unknown.length > 0 || (options.quick && options["write-docs"])) {
    console.error(
        unknown.length > 0
            ? `no such part: ${unknown.join(", ")} (there are ${Object.keys(parts).join(", ")})`
            : "quick figures do not go into the documents",
    );
    process.exit(2);
}
const results = options["from-results"] ? readResults() : await measure(names);
printSummary(results, names);
if (options["write-docs"]) {
    writePage(path.join(root, "docs", "benchmarks.md"), results);
}
process.exit(); // a part that failed may have left a server, which would keep this process alive
