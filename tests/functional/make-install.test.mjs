// make install and make uninstall: the scripts that they run, on a folder of their own.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { keepFolder } from "./support/kept.mjs";
import { root } from "./support/programs.mjs";

const run = promisify(execFile);

// A project with the scripts, and the log of an installation into its folder `to`.
function makeProject(name) {
    const project = path.join(keepFolder(), name);
    const to = path.join(project, "to");
    mkdirSync(path.join(project, "build/release/meson-logs"), { recursive: true });
    mkdirSync(path.join(to, "lib/causeway"), { recursive: true });
    mkdirSync(path.join(to, "bin"));
    cpSync(path.join(root, "scripts"), path.join(project, "scripts"), { recursive: true });
    const files = [path.join(to, "bin/causeway"), path.join(to, "lib/causeway/examples.so")];
    for (const file of files) writeFileSync(file, "");
    const log = [...files, path.join(to, "lib/causeway"), path.join(to, "lib"), path.join(to, "bin"), to];
    writeFileSync(path.join(project, "build/release/meson-logs/install-log.txt"), `# a comment\n${log.join("\n")}\n`);
    return { project, to, files, script: (file) => run(path.join(project, "scripts", file)) };
}

test("the summary names the files and what to do next", async () => {
    const { files, script } = makeProject("summary");
    const { stdout } = await script("install-summary.sh");
    for (const file of files) assert.ok(stdout.includes(`  ${file}\n`), stdout);
    assert.match(stdout, /causeway init .*\n.*causeway serve .*\n.*make uninstall/);
});

test("uninstall removes files and empty folders, and nothing of others", async () => {
    const { to, script } = makeProject("uninstall");
    const foreign = path.join(to, "lib/other.so");
    writeFileSync(foreign, "");
    assert.match((await script("uninstall.sh")).stdout, /Removed 2 files/);
    assert.ok(existsSync(foreign));
    assert.ok(!existsSync(path.join(to, "bin")));
    assert.ok(!existsSync(path.join(to, "lib/causeway")));
    await assert.rejects(script("uninstall.sh"), /nothing was installed from this folder/);
});
