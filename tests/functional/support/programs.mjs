// Starts programs for black-box tests and stops them: the built causeway, and test servers that
// announce themselves the same way (the first line of standard output names the URL).
//
//     const server = await startCauseway({ config: { log: { level: "debug" } } });
//     const answer = await fetch(`${server.url}/healthz`);
//     await server.stop(); // asserts exit code 0 and a log without sanitizer reports
//
// Each started program has a folder with its config and log; see kept.mjs for what becomes of it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import http from "node:http";
import https from "node:https";
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { after } from "node:test";
import { keepFolder } from "./kept.mjs";

export const root = path.resolve(import.meta.dirname, "..", "..", "..");
export const binary = process.env.CAUSEWAY_BIN ?? path.join(root, "build", "causeway");
export const buildFolder = process.env.CAUSEWAY_BUILD ?? path.join(root, "build", "release");

// Sanitizer builds are slower: every wait is multiplied by this.
export const slowness = Number(process.env.CAUSEWAY_TEST_SLOWNESS ?? 1);
// For programs that change their user: then the kernel keeps the sanitizer's check for leaks from reading them.
export const withoutLeakCheck = { ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ""}:detect_leaks=0` };

// How many servers answer the requests of a test in turn (round-robin.mjs). 1: one server, without a front.
export const replicaCount = Number(process.env.CAUSEWAY_TEST_REPLICAS ?? 1);
// For the option `skip`, where servers take turns: tests about the files, the signals or the memory of one process;
// about state that only the server has that got a request (docs/replicas.md); about a server without a database.
export const oneProcess = replicaCount > 1 && "is about one process";
export const oneReplica = replicaCount > 1 && "is about what each server counts or remembers for itself";
export const noDatabase = replicaCount > 1 && "is about a server without a database";

// How many programs share a core: the average of the last minute, or those that can run right now.
// An idle machine is 1.
function busyness() {
    const [average, , , now] = readFileSync("/proc/loadavg", "utf8").split(" ");
    const waiting = Math.max(Number(average), Number(now.split("/")[0]));
    return Math.min(Math.max(1, waiting / availableParallelism()), 20);
}

// What takes `ms` at most on an idle machine may take this long here and now. For upper bounds only:
// on an idle machine they are as tight as written, on a busy one the scheduler is not what is tested.
export const patience = (ms) => Math.round(ms * slowness * busyness());

// A clock that stands still with the machine: a pause that stops this program as well is not time that a server had.
const ticks = { passed: 0, last: performance.now() };
setInterval(() => {
    const now = performance.now();
    ticks.passed += Math.min(now - ticks.last, 100);
    ticks.last = now;
}, 20).unref();

// Milliseconds by that clock: two of them compare how long something took, without pauses of the machine.
export const awakeMs = () => ticks.passed + Math.min(performance.now() - ticks.last, 100);

// A function that returns the ms since now by that clock.
export function stopwatch() {
    const begin = awakeMs();
    return () => awakeMs() - begin;
}

// A function that returns how much of this patience is left, in ms.
export function timeLimit(ms) {
    const end = ticks.passed + patience(ms);
    return () => end - ticks.passed;
}

const sanitizerReport = /(Address|Leak|Memory|Thread|UndefinedBehavior)Sanitizer|: runtime error: /;
const urlLine = /(https?):\/\/(\[[^\]]+\]|[^\s:/]+):(\d+)/;

let started = 0;
const running = new Set();

// A failed test leaves its programs behind: they must not keep the file from ending, and end with
// it. They are not killed before, since this hook runs ahead of those that stop them properly.
const letGo = (child) => [child, ...child.stdio].forEach((handle) => handle?.unref?.());
const killNow = ({ pid, leads }) => {
    try {
        process.kill(leads ? -pid : pid, "SIGKILL");
    } catch {
        // It has ended by itself.
    }
};
after(() => running.forEach(letGo));
process.on("exit", () => running.forEach(killNow));
process.on("SIGTERM", () => process.exit(143)); // how the test runner ends a file that hangs

// The connections that fetch and node:http keep open would make a server that stops linger for their next
// request. Requests that run are not disturbed: the old dispatcher of fetch finishes them.
export function closeIdleConnections() {
    for (const { freeSockets } of [http.globalAgent, https.globalAgent]) {
        Object.values(freeSockets)
            .flat()
            .forEach((socket) => socket.destroy());
    }
    const key = Symbol.for("undici.globalDispatcher.1");
    const old = globalThis[key];
    if (old) {
        globalThis[key] = new old.constructor();
        old.close();
    }
}

export class Program {
    // A shell that `leads` takes what it has started along when it is killed.
    constructor(file, args, options = {}) {
        const { env = {}, name = path.basename(file), cwd = root, stdio, leads = false } = options;
        started += 1;
        this.folder = path.join(keepFolder(), `${started}-${name}`);
        mkdirSync(this.folder, { recursive: true });
        this.name = name;
        this.stdout = "";
        this.stderr = "";
        this.logFile = path.join(this.folder, "log");
        const log = createWriteStream(this.logFile);
        // Keys and ends of sessions do not go to the state of the user who runs the tests.
        const state = { STATE_DIRECTORY: undefined, XDG_STATE_HOME: path.join(keepFolder(), "state") };
        const all = { ...process.env, ...state, ...env };
        this.child = spawn(file, args, { cwd, stdio, env: all, detached: leads });
        this.child.leads = leads;
        running.add(this.child);
        this.child.stdout.setEncoding("utf8").on("data", (text) => {
            this.stdout += text;
        });
        this.child.stderr.setEncoding("utf8").on("data", (text) => {
            this.stderr += text;
            log.write(text);
        });
        // "close" comes after the last output, so nothing of a report made at exit is missed.
        this.exited = new Promise((resolve, reject) => {
            this.child.on("error", reject);
            this.child.on("close", (code, signal) => {
                running.delete(this.child);
                log.end();
                resolve({ code, signal });
            });
        });
        this.exited.catch(() => running.delete(this.child));
    }

    get pid() {
        return this.child.pid;
    }

    // Wait until `check()` is true, looking after each piece of output; fails when the program ends.
    async until(check, what, timeoutMs = 10_000) {
        const left = timeLimit(timeoutMs);
        let ended = false;
        this.exited.then(
            () => (ended = true),
            () => (ended = true),
        );
        while (!check()) {
            assert.ok(!ended, `${this.name} ended before ${what}:\n${this.stdout}${this.stderr}`);
            assert.ok(left() > 0, `${this.name}: no ${what} in time:\n${this.stderr}`);
            await new Promise((resolve) => setTimeout(resolve, 5));
        }
    }

    async untilUrl() {
        await this.until(() => this.stdout.includes("\n"), "the line that names the URL");
        const match = urlLine.exec(this.stdout.split("\n")[0]);
        assert.ok(match, `the first line names no URL: ${JSON.stringify(this.stdout)}`);
        this.url = match[0];
        this.port = Number(match[3]);
    }

    async untilLogged(pattern, timeoutMs) {
        await this.until(() => pattern.test(this.stderr), `log line ${pattern}`, timeoutMs);
    }

    // Stop with SIGTERM, once fetch has let go of its idle connections, after `timeoutMs` with SIGKILL, and check how it ended.
    async stop({ signal = "SIGTERM", timeoutMs = 15_000, code = 0 } = {}) {
        closeIdleConnections();
        this.child.kill(signal);
        const left = timeLimit(timeoutMs);
        let late = false;
        const timer = setInterval(() => {
            late ||= left() <= 0;
            if (late) this.child.kill("SIGKILL");
        }, 20);
        const end = await this.exited;
        clearInterval(timer);
        this.assertNoReports();
        assert.ok(!late, `${this.name} did not stop in time after ${signal}`);
        assert.deepEqual(end, { code, signal: null }, `${this.name}: how it ended\n${this.stderr}`);
    }

    assertNoReports() {
        const line = this.stderr.split("\n").find((text) => sanitizerReport.test(text));
        assert.equal(line, undefined, `${this.name}: sanitizer report, see ${this.logFile}`);
    }
}

// Start any program that prints a URL first.
export async function startProgram(file, args = [], options = {}) {
    const program = new Program(file, args, options);
    await program.untilUrl();
    return program;
}

// Only root may look at the descriptors of a server that keeps its memory to itself.
export const mayDump = process.getuid() === 0 ? [] : ["--core-dumps"];

// Start `causeway serve` on a free port. `config` is an object or YAML text; `args` are added.
// Where `args` name listeners, or `listen` is false because the config does, none is added.
export async function startCauseway({ args = [], config, env, listen = true } = {}) {
    const all = ["serve", ...mayDump, ...args];
    if (listen && !args.some((arg) => arg.startsWith("--listen"))) {
        all.push("--listen", "127.0.0.1:0");
    }
    if (config !== undefined) {
        all.push("--config", writeConfig(config));
    }
    return await startProgram(binary, all, { env, name: "causeway" });
}

// Write a config file that lives as long as the test file runs; returns its path.
export function writeConfig(config) {
    started += 1;
    const file = path.join(keepFolder(), `${started}-config.yaml`);
    writeFileSync(file, typeof config === "string" ? config : JSON.stringify(config, null, 2));
    return file;
}

// Run causeway to its end: { code, signal, stdout, stderr }.
export async function runCauseway(args, { env, input = "", cwd } = {}) {
    const program = new Program(binary, args, { env, cwd, name: `causeway-${args[0] ?? ""}` });
    program.child.stdin.on("error", () => {}).end(input);
    const end = await program.exited;
    program.assertNoReports();
    return { ...end, stdout: program.stdout, stderr: program.stderr };
}
