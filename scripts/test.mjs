// Runs the tests and ends with one line, `N passed, N failed, N skipped`, over all of them.
//
//   scripts/node.sh scripts/test.mjs VARIANT [--suite NAME] [--file PATH] [--test NAME]
//
// A suite is a folder of tests/: the programs that Meson builds below it, and its *.test.mjs files.
// The variant is built already, except for a single C test, which Meson builds. counts.mjs says what is counted.
import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { parseArgs } from "node:util";
import { Counts } from "./counts.mjs";

const root = path.resolve(import.meta.dirname, "..");
const { values: options, positionals } = parseArgs({
    allowPositionals: true,
    options: {
        suite: { type: "string", default: "" },
        file: { type: "string", default: "" },
        test: { type: "string", default: "" },
    },
});
const variant = positionals[0];
const build = path.join(root, "build", variant);
const kept = path.join(root, "build", "test-out", variant);
const slowness = { asan: 3, tsan: 6, coverage: 2 }[variant] ?? 1;

// Most tests wait for most of their time. Those of sanitized programs compute more.
const atOnce = availableParallelism() + (slowness === 1 ? 2 : 1);

const total = new Counts();

function setEnvironment() {
    Object.assign(process.env, {
        CAUSEWAY_BIN: path.join(build, "causeway"),
        CAUSEWAY_BUILD: build,
        CAUSEWAY_TEST_OUT: kept,
        CAUSEWAY_TEST_SLOWNESS: String(slowness),
        ASAN_OPTIONS:
            "halt_on_error=1:abort_on_error=1:detect_leaks=1:strict_string_checks=1:" +
            "detect_stack_use_after_return=1:allocator_may_return_null=1",
        UBSAN_OPTIONS: "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
        TSAN_OPTIONS:
            "halt_on_error=1:abort_on_error=1:second_deadlock_stack=1:" +
            `suppressions=${path.join(root, "tests/support/tsan.txt")}`,
    });
}

// The tests that Meson knows, each with the folder of tests/ that its program lies in.
function mesonTests() {
    const found = spawnSync("meson", ["introspect", "--tests", build], { encoding: "utf8" });
    if (found.status !== 0) {
        throw new Error(`meson introspect failed: ${found.stderr}`);
    }
    return JSON.parse(found.stdout).map(({ name, cmd }) => {
        const inside = cmd.map((part) => path.relative(path.join(build, "tests"), part));
        const program = inside.find((part) => !part.startsWith("..")) ?? "";
        return { name, program, suite: program.split(path.sep)[0] };
    });
}

function runMesonTests(names) {
    if (names.length === 0) {
        return;
    }
    const log = path.join(build, "meson-logs", "testlog.json");
    rmSync(log, { force: true });
    const args = ["test", "-C", build, "--print-errorlogs", "--num-processes", String(atOnce)];
    if (options.test === "" && options.file === "") {
        args.push("--no-rebuild");
    }
    const { status } = spawnSync("meson", [...args, "-t", String(slowness), ...names], {
        stdio: "inherit",
    });
    const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean) : [];
    lines.forEach((line) => total.addProgram(JSON.parse(line)));
    if (lines.length < names.length) {
        total.add(`meson test ran ${lines.length} of ${names.length} programs`, { failed: 1 });
    } else if (status !== 0 && total.failed === 0) {
        total.add(`meson test ended with ${status}`, { failed: 1 });
    }
}

async function runNodeTests(files) {
    if (files.length === 0) {
        return;
    }
    // Those of faults start several servers and databases each.
    const isChaos = files.every((file) => file.startsWith("tests/chaos/"));
    const stream = run({
        files,
        concurrency: isChaos ? 1 : atOnce,
        timeout: (isChaos ? 3_600_000 : 900_000) * slowness, // ends what hangs; a busy machine must not reach it
    });
    total.addRun(stream);
    const text = stream.compose(spec);
    for await (const chunk of text) {
        process.stdout.write(chunk);
    }
}

// tests/unit/base/test_buf.c and unit/base/test_buf are the same test.
function bare(name) {
    return name.replace(/^(\.\/)?tests\//, "").replace(/\.c$/, "");
}

// What a test may be called: base/test_buf, unit/base/test_buf, test_buf, or its program's name.
function namesOf({ name, program, suite }) {
    return [name, `${suite}/${name}`, path.basename(name), path.basename(program)];
}

// Which programs and files the options ask for.
function select() {
    const programs = mesonTests();
    const files = globSync("tests/*/**/*.test.mjs", { cwd: root }).sort();
    if (options.file.endsWith(".mjs")) {
        return { names: [], files: [path.relative(root, path.resolve(options.file))] };
    }
    const wanted = options.test || options.file;
    if (wanted !== "") {
        const hits = programs.filter((program) => namesOf(program).includes(bare(wanted)));
        return { names: hits.map(({ name }) => name), files: [] };
    }
    // Tests of faults take long: only `make chaos` runs them.
    const inSuite = (suite) => (options.suite === "" ? suite !== "chaos" : suite === options.suite);
    return {
        names: programs.filter(({ suite }) => inSuite(suite)).map(({ name }) => name),
        files: files.filter((file) => inSuite(file.split(path.sep)[1])),
    };
}

function printEnd() {
    if (total.failures.length > 0) {
        const names = total.failures.map((name) => `  ${name.replace(`${root}/`, "")}`);
        console.log(`\nFailed:\n${names.join("\n")}`);
    }
    const folders = existsSync(kept) ? readdirSync(kept) : [];
    if (total.failed > 0 && folders.length > 0) {
        const where = folders.map((name) => `  ${path.relative(root, path.join(kept, name))}`);
        console.log(`\nTranscripts and logs of failed tests:\n${where.join("\n")}`);
    }
    console.log(`\n${total}`);
}

process.chdir(root);
setEnvironment();
rmSync(kept, { recursive: true, force: true });
mkdirSync(kept, { recursive: true });
const { names, files } = select();
if (names.length + files.length === 0) {
    console.error("test.mjs: no such test");
    process.exit(1);
}
runMesonTests(names);
await runNodeTests(files);
printEnd();
process.exitCode = total.isGood ? 0 : 1;
