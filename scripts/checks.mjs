// Writes docs/checks.md: which test shows which behaviour of the system that Causeway re-makes.
//
//   scripts/node.sh scripts/checks.mjs            write the page
//   scripts/node.sh scripts/checks.mjs --check    fail when it is not current
//
// A test names what it shows: check-52 (a behaviour), row-D5 (where the old documents disagree),
// fault-B16 (a weakness that must not come back); "check-93 to check-97" is a range.
import { globSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const page = path.join(root, "docs", "checks.md");

const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const numbers = { "check-": range(1, 115), "row-D": range(1, 21), "fault-B": range(1, 30) };
// DECISIONS of the project: not carried over.
const dropped = { "check-36": "placeholders in texts are not carried over", "check-105": "response headers of methods are not carried over" };
const titles = {
    "check-": "Behaviours",
    "row-D": "Where the documents disagree",
    "fault-B": "Weaknesses that must not come back",
};

// id -> the files with a test that names it.
function collect() {
    const found = new Map();
    const files = globSync("tests/**/*.{mjs,c,h}", { cwd: root }).sort();
    for (const file of files) {
        const text = readFileSync(path.join(root, file), "utf8");
        const mention = /\b(check-|row-D|fault-B)(\d+)(?: to \1(\d+))?\b/g;
        for (const [, kind, first, last] of text.matchAll(mention)) {
            for (const number of range(Number(first), Number(last ?? first))) {
                const id = `${kind}${number}`;
                found.set(id, (found.get(id) ?? new Set()).add(file));
            }
        }
    }
    return found;
}

function write(found) {
    const lines = ["# What is shown by which test", ""];
    lines.push("Written by `scripts/checks.mjs`; do not edit. `–`: not yet.", "");
    for (const [kind, all] of Object.entries(numbers)) {
        const shown = all.filter((number) => found.has(`${kind}${number}`)).length;
        lines.push(`## ${titles[kind]}: ${shown} of ${all.length}`, "", "| | test |", "| --- | --- |");
        for (const number of all) {
            const id = `${kind}${number}`;
            const files = [...(found.get(id) ?? [])].map((file) => `[${path.basename(file)}](../${file})`);
            lines.push(`| ${id} | ${files.join(", ") || dropped[id] || "–"} |`);
        }
        lines.push("");
    }
    return lines.join("\n");
}

const text = write(collect());
if (process.argv.includes("--check")) {
    let old = "";
    try {
        old = readFileSync(page, "utf8");
    } catch {
        // There is none yet.
    }
    if (old !== text) {
        console.error("docs/checks.md is not current: run scripts/node.sh scripts/checks.mjs");
        process.exit(1);
    }
} else {
    writeFileSync(page, text);
}
