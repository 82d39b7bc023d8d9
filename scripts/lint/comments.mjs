// Comments in C files are written /* like this */, and the first line names the licence.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";

process.chdir(path.resolve(import.meta.dirname, "..", ".."));
const files = execFileSync("scripts/lint/files.sh", ["*.c", "*.h"], { encoding: "utf8" });

// A token that can hold "//" without being a comment of that kind, or such a comment.
const token = /\/\*[\s\S]*?\*\/|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/\/.*/g;

for (const file of files.split("\0").filter(Boolean)) {
    const text = readFileSync(file, "utf8");
    if (!text.startsWith("/* SPDX-License-Identifier: ")) {
        console.log(`${file}:1: no SPDX line`);
        process.exitCode = 1;
    }
    for (const match of text.matchAll(token)) {
        if (match[0].startsWith("//")) {
            const line = text.slice(0, match.index).split("\n").length;
            console.log(`${file}:${line}: // comment`);
            process.exitCode = 1;
        }
    }
}
