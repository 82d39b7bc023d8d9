// Counts what tests did: one case is one cmocka function, one node:test test, one suite that was
// skipped as a whole, or, for a program that reports no cases, the program.

// What a cmocka program reports, or null where the output is not cmocka's.
function cmockaCounts(output) {
    if (!/^\[={10}\]/m.test(output)) {
        return null;
    }
    const sum = (pattern) => [...output.matchAll(pattern)].reduce((all, match) => all + Number(match[1]), 0);
    return {
        passed: sum(/^\[  PASSED  \] (\d+) test/gm),
        failed: sum(/^\[  FAILED  \] (?:.*: )?(\d+) test/gm),
        skipped: sum(/^\[  SKIPPED \] (?:.*: )?(\d+) test/gm),
    };
}

export class Counts {
    passed = 0;
    failed = 0;
    skipped = 0;
    failures = [];

    add(name, { passed = 0, failed = 0, skipped = 0 }) {
        this.passed += passed;
        this.failed += failed;
        this.skipped += skipped;
        if (failed > 0) {
            this.failures.push(name);
        }
    }

    // A line of Meson's testlog.json.
    addProgram({ name, result, stdout = "", stderr = "" }) {
        const counts = cmockaCounts(`${stdout}\n${stderr}`) ?? {};
        if (result === "SKIP") {
            this.add(name, { skipped: Math.max(1, counts.skipped ?? 0) });
        } else if (result !== "OK" && result !== "EXPECTEDFAIL") {
            // A crash, a leak or a timeout fails the program even where every case passed.
            this.add(name, { ...counts, failed: Math.max(1, counts.failed ?? 0) });
        } else {
            this.add(name, counts.passed + counts.skipped > 0 ? counts : { passed: 1 });
        }
    }

    // The events of node:test's run(). Its summary leaves out suites that were skipped as a whole.
    addRun(stream) {
        stream.on("test:pass", ({ skip, details }) => {
            this.skipped += Number(details.type === "suite" && skip !== undefined);
        });
        stream.on("test:fail", ({ file, name, details }) => {
            // A file whose subtests failed is reported too; the subtests say enough.
            if (details.type !== "suite" && details.error?.failureType !== "subtestsFailed") {
                this.failures.push(`${file ?? ""}: ${name}`);
            }
        });
        stream.on("test:summary", ({ file, counts, success }) => {
            if (file !== undefined) {
                return;
            }
            this.passed += counts.passed;
            this.failed += counts.failed + counts.cancelled;
            this.skipped += counts.skipped + counts.todo;
            if (!success && counts.failed + counts.cancelled === 0) {
                this.add("node tests", { failed: 1 });
            }
        });
    }

    // Whether nothing failed, and something was there to be run.
    get isGood() {
        return this.failed === 0 && this.passed + this.skipped > 0;
    }

    toString() {
        return `${this.passed} passed, ${this.failed} failed, ${this.skipped} skipped`;
    }
}
