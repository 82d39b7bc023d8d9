// Runs the tests and ends with one line, `N passed, N failed, N skipped`, over all of them.
//
//   scripts/node.sh scripts/test.mjs VARIANT [--suite NAME] [--file PATH] [--test NAME]
//
// A suite is a folder of tests/: the programs that Meson builds below it, and its *.test.mjs files.
// The variant is built already. One case is one cmocka function, one node:test test, or, for a
// program that reports no cases, the program.
import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { parseArgs } from "node:util";

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

const total = { passed: 0, failed: 0, skipped: 0 };
const failures = [];

function count(name, { passed = 0, failed = 0, skipped = 0 }) {
    total.passed += passed;
    total.failed += failed;
    total.skipped += skipped;
    if (failed > 0) {
        failures.push(name);
    }
}

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
        TSAN_OPTIONS: "halt_on_error=1:abort_on_error=1:second_deadlock_stack=1",
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

// What a cmocka program says it did, or null where the output is not cmocka's.
function cmockaCounts(output) {
    if (!/^\[={10}\]/m.test(output)) {
        return null;
    }
    const sum = (pattern) =>
        [...output.matchAll(pattern)].reduce((all, match) => all + Number(match[1]), 0);
    return {
        passed: sum(/^\[  PASSED  \] (\d+) test/gm),
        failed: sum(/^\[  FAILED  \] (?:.*: )?(\d+) test/gm),
        skipped: sum(/^\[  SKIPPED \] (?:.*: )?(\d+) test/gm),
    };
}

function countMesonTest({ name, result, stdout = "", stderr = "" }) {
    const counts = cmockaCounts(`${stdout}\n${stderr}`) ?? {};
    if (result === "SKIP") {
        count(name, { skipped: 1 });
    } else if (result !== "OK" && result !== "EXPECTEDFAIL") {
        // A crash, a leak or a timeout fails the program even where every case passed.
        count(name, { ...counts, failed: Math.max(1, counts.failed ?? 0) });
    } else {
        count(name, counts.passed > 0 ? counts : { passed: 1 });
    }
}

function runMesonTests(names) {
    if (names.length === 0) {
        return;
    }
    const log = path.join(build, "meson-logs", "testlog.json");
    rmSync(log, { force: true });
    const args = ["test", "-C", build, "--no-rebuild", "--print-errorlogs"];
    const { status } = spawnSync("meson", [...args, "-t", String(slowness), ...names], {
        stdio: "inherit",
    });
    const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean) : [];
    lines.map((line) => JSON.parse(line)).forEach(countMesonTest);
    if (lines.length < names.length) {
        count(`meson test ran ${lines.length} of ${names.length} programs`, { failed: 1 });
    } else if (status !== 0 && total.failed === 0) {
        count(`meson test ended with ${status}`, { failed: 1 });
    }
}

async function runNodeTests(files) {
    if (files.length === 0) {
        return;
    }
    const stream = run({
        files,
        concurrency: Math.max(2, availableParallelism() - 1),
        timeout: 120_000 * slowness,
    });
    let summary = null;
    stream.on("test:fail", ({ file, name, details }) => {
        // A file whose subtests failed is reported too; the subtests say enough.
        if (details.type !== "suite" && details.error?.failureType !== "subtestsFailed") {
            failures.push(`${path.relative(root, file ?? "")}: ${name}`);
        }
    });
    stream.on("test:summary", (data) => {
        summary = data.file === undefined ? data : summary;
    });
    const text = stream.compose(spec);
    for await (const chunk of text) {
        process.stdout.write(chunk);
    }
    const { passed, failed, cancelled, skipped, todo } = summary.counts;
    total.passed += passed;
    total.failed += failed + cancelled;
    total.skipped += skipped + todo;
    if (!summary.success && failed + cancelled === 0) {
        count("node tests", { failed: 1 });
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
    const inSuite = (suite) => options.suite === "" || suite === options.suite;
    return {
        names: programs.filter(({ suite }) => inSuite(suite)).map(({ name }) => name),
        files: files.filter((file) => inSuite(file.split(path.sep)[1])),
    };
}

function printEnd() {
    if (failures.length > 0) {
        console.log(`\nFailed:\n${failures.map((name) => `  ${name}`).join("\n")}`);
    }
    const folders = existsSync(kept) ? readdirSync(kept) : [];
    if (total.failed > 0 && folders.length > 0) {
        const where = folders.map((name) => `  ${path.relative(root, path.join(kept, name))}`);
        console.log(`\nTranscripts and logs of failed tests:\n${where.join("\n")}`);
    }
    console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
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
process.exitCode = total.failed === 0 ? 0 : 1;
