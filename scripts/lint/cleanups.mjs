// A variable with CW_CLEANUP is initialised before the first return: its function runs at every one.
//
// The compiler does not warn where it sets such variables to zero (-ftrivial-auto-var-init), and
// only that build is safe then.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";

process.chdir(path.resolve(import.meta.dirname, "..", ".."));
const files = execFileSync("scripts/lint/files.sh", ["*.c"], { encoding: "utf8" });

// A declaration without a value, and the name that it declares.
const declaration = /^\s+CW_CLEANUP\(\w+\)[^=]*?(\w+);$/;

// Whether the function returns before the lines from `at` on mention the name.
function returnsFirst(lines, at, name) {
    const mention = new RegExp(`\\b${name}\\b`);
    const next = lines.slice(at).find((line) => /^}|\breturn\b/.test(line) || mention.test(line));
    return next !== undefined && !mention.test(next) && !next.startsWith("}");
}

for (const file of files.split("\0").filter(Boolean)) {
    const lines = readFileSync(file, "utf8").split("\n");
    lines.forEach((line, i) => {
        const name = declaration.exec(line)?.[1];
        if (name !== undefined && returnsFirst(lines, i + 1, name)) {
            console.log(`${file}:${i + 1}: '${name}' is cleaned up by a return before it has a value`);
            process.exitCode = 1;
        }
    });
}
