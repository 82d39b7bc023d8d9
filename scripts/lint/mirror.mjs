// Unit tests mirror the sources: tests/unit/FOLDER/test_NAME.c tests src/FOLDER/NAME.c, or one part of it when a word
// follows the name (test_client_pool.c tests client.c). Tests of the examples and of tests/support have roots of their own.
import { execFileSync } from "node:child_process";
import path from "node:path";

process.chdir(path.resolve(import.meta.dirname, "..", ".."));
const list = execFileSync("scripts/lint/files.sh", ["*.c", "*.h"], { encoding: "utf8" });
const files = new Set(list.split("\0").filter(Boolean));
const roots = { "tests/unit/plugins": "plugins/examples", "tests/unit/support": "tests/support" };

// read_members: read_members, then read.
function* prefixes(name) {
    const words = name.split("_");
    for (let n = words.length; n > 0; n--) {
        yield words.slice(0, n).join("_");
    }
}

const exists = (stem) => files.has(`${stem}.c`) || files.has(`${stem}.h`);

for (const file of files) {
    const [, folder, name] = /^(tests\/unit\/.*)\/test_(\w+)\.c$/.exec(file) ?? [];
    if (name === undefined) {
        continue;
    }
    const source = roots[folder] ?? folder.replace("tests/unit", "src");
    if (![...prefixes(name)].some((stem) => exists(`${source}/${stem}`))) {
        console.log(`${file}: tests no file of ${source}`);
        process.exitCode = 1;
    }
}
