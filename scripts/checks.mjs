// Writes docs/checks.md: which test shows which behaviour of the system that Causeway re-makes.
//
//   scripts/node.sh scripts/checks.mjs            write the page
//   scripts/node.sh scripts/checks.mjs --check    fail when it is not current, or something has no test
//
// A test names what it shows: check-52 (a behaviour), row-D5 (where the old documents disagree),
// fault-B16 (a weakness that must not come back); "check-93 to check-97" is a range.
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const page = path.join(root, "docs", "checks.md");

const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const numbers = { "check-": range(1, 115), "row-D": range(1, 21), "fault-B": range(1, 30) };
// Decided: not carried over.
const dropped = {
    "check-36": "not carried over: placeholders in texts",
    "check-105": "not carried over: response headers that methods declare",
    "row-D19": "not seen from outside: names of files and services",
};
// Not built yet; a test may be there before.
const later = {
    "fault-B25": "issue 6",
    "fault-B26": "issue 6",
    "fault-B27": "issue 6",
};
const titles = {
    "check-": "Behaviours",
    "row-D": "Where the documents disagree",
    "fault-B": "Weaknesses that must not come back",
};

// id -> the files with a test that names it.
function collect() {
    const found = new Map();
    const files = globSync("tests/**/{*.test.mjs,test_*.c}", { cwd: root }).sort();
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

const allIds = Object.entries(numbers).flatMap(([kind, all]) => all.map((number) => `${kind}${number}`));
const isMissing = (found, id) => !found.has(id) && !(id in dropped) && !(id in later);

function cell(found, id) {
    const files = [...(found.get(id) ?? [])].map((file) => `[${path.basename(file)}](../${file})`);
    return files.join(", ") || dropped[id] || later[id] || "–";
}

function write(found) {
    const lines = ["# What is shown by which test", ""];
    lines.push("Written by `scripts/checks.mjs`; do not edit.", "");
    for (const [kind, all] of Object.entries(numbers)) {
        const shown = all.filter((number) => found.has(`${kind}${number}`)).length;
        lines.push(`## ${titles[kind]}: ${shown} of ${all.length}`, "", "| | test |", "| --- | --- |");
        lines.push(...all.map((number) => `| ${kind}${number} | ${cell(found, `${kind}${number}`)} |`), "");
    }
    return lines.join("\n");
}

const found = collect();
const text = write(found);
if (process.argv.includes("--check")) {
    const old = existsSync(page) ? readFileSync(page, "utf8") : "";
    const missing = allIds.filter((id) => isMissing(found, id));
    if (old !== text) {
        console.error("docs/checks.md is not current: run scripts/node.sh scripts/checks.mjs");
    }
    if (missing.length > 0) {
        console.error(`no test shows ${missing.join(", ")}`);
    }
    process.exit(old === text && missing.length === 0 ? 0 : 1);
}
writeFileSync(page, text);
