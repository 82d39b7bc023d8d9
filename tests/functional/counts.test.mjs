// What `make test` counts: what was skipped is never counted as passed, nor left out.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { Counts } from "../../scripts/counts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { root } from "./support/programs.mjs";

const cmocka = (...lines) => ["[==========] Running 3 test(s).", ...lines].join("\n");

test("a suite that is skipped as a whole counts as skipped", async () => {
    const file = path.join(keepFolder(), "skipped.mjs");
    writeFileSync(
        file,
        `import { suite, test } from "node:test";
suite("not installed", { skip: "no such program" }, () => test("never", () => {}));
suite("here", () => {
    test("runs", () => {});
    test("does not", { skip: "no reason" }, () => {});
});
`,
    );
    // A run inside a run does nothing: a process of its own.
    const runner = path.join(keepFolder(), "runner.mjs");
    writeFileSync(
        runner,
        `import { run } from "node:test";
import { Counts } from ${JSON.stringify(path.join(root, "scripts", "counts.mjs"))};
const total = new Counts();
const stream = run({ files: [${JSON.stringify(file)}] });
total.addRun(stream);
stream.on("end", () => console.log(String(total), total.isGood)).resume();
`,
    );
    const { NODE_TEST_CONTEXT, ...env } = process.env;
    const { stdout } = spawnSync(process.execPath, [runner], { env, encoding: "utf8" });
    assert.equal(stdout, "1 passed, 0 failed, 2 skipped true\n");
});

test("a program whose cases were all skipped has passed nothing", () => {
    const total = new Counts();
    total.addProgram({
        name: "a",
        result: "OK",
        stdout: cmocka("[  PASSED  ] 0 test(s).", "[  SKIPPED ] tests: 3 test(s), listed below:"),
    });
    assert.equal(String(total), "0 passed, 0 failed, 3 skipped");
    total.addProgram({ name: "b", result: "SKIP" });
    assert.equal(String(total), "0 passed, 0 failed, 4 skipped");
});

test("a program without cases is one, and a crash is a failure whatever passed before", () => {
    const total = new Counts();
    total.addProgram({ name: "a", result: "OK", stdout: "fine" });
    total.addProgram({ name: "b", result: "FAIL", stdout: cmocka("[  PASSED  ] 3 test(s).") });
    assert.equal(String(total), "4 passed, 1 failed, 0 skipped");
    assert.deepEqual(total.failures, ["b"]);
});

test("a run in which there was nothing to run is no success", () => {
    assert.equal(new Counts().isGood, false);
});
