// Writes docs/security-tests.md: the tests for each threat of docs/security.md.
//
//   scripts/node.sh scripts/threats.mjs            write the page
//   scripts/node.sh scripts/threats.mjs --check    fail if it is stale, or if a threat has no test
//
// A test starts its name with the threats it covers: threat-A1 (Node), threat_A1_ (C). scripts/threats.txt lists
// further tests.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { listTests, readTests } from "./test-names.mjs";

process.chdir(path.resolve(import.meta.dirname, ".."));
const threatsPage = "docs/security.md";
const page = "docs/security-tests.md";
const list = "scripts/threats.txt";
const last = { A: 12, B: 10, C: 13, D: 13 };
const all = Object.entries(last).flatMap(([letter, n]) => Array.from({ length: n }, (_, i) => `${letter}${i + 1}`));

function report(where, text) {
    console.error(`${where}: ${text}`);
    process.exitCode = 1;
}

// ---- tests ----

// The threats at the start of a name, among other kinds of ids.
function threatsOf(name) {
    const inC = /^threat_([A-D]\d+)[_:]/.exec(name);
    if (inC) {
        return [inC[1]];
    }
    const ids = /^((?:threat|check|row|fault)-\w+(?:, | to |: ))+/.exec(name)?.[0] ?? "";
    return [...ids.matchAll(/threat-(\w+)/g)].map(([, id]) => id);
}

// ---- docs/security.md ----

// id -> the text of its row's first cell; every threat is present once.
function readThreats(text) {
    const titles = new Map();
    for (const [, id, title] of text.matchAll(/^\| \*\*([A-D]\d+)\*\* (.*?) \|/gm)) {
        if (titles.has(id) || !all.includes(id)) {
            report(threatsPage, `${id} is a duplicate or not a threat`);
        }
        titles.set(id, title);
    }
    all.filter((id) => !titles.has(id)).forEach((id) => report(threatsPage, `${id} is missing`));
    return titles;
}

// A threat may lack tests if it does not apply or if the page admits the gap.
function isExcused(text, id) {
    const gaps = /^## Known gaps$[\s\S]*/m.exec(text)?.[0] ?? "";
    return new RegExp(`^\\| \\*\\*${id}\\*\\* [^|]*\\| does not apply`, "m").test(text) || gaps.includes(`| ${id} |`);
}

// ---- the tests of each threat ----

// id -> file -> names, or null for the whole file.
function collect(tests) {
    const found = new Map(all.map((id) => [id, new Map()]));
    for (const [file, names] of tests) {
        for (const name of names) {
            threatsOf(name).forEach((id) => {
                const files = found.get(id);
                files?.set(file, [...(files.get(file) ?? []), name]);
            });
        }
    }
    return found;
}

function addListed(found, tests) {
    for (const line of readFileSync(list, "utf8").split("\n")) {
        const [, id, file, name] = /^([A-D]\d+) (\S+?)(?:: (.+))?$/.exec(line) ?? [];
        const files = found.get(id);
        if (!files) {
            if (line !== "" && !line.startsWith("#")) {
                report(list, `cannot read "${line}"`);
            }
        } else if (!existsSync(file)) {
            report(list, `${id}: no file ${file}`);
        } else if (name === undefined) {
            files.set(file, null);
        } else if (!tests.get(file)?.includes(name)) {
            report(list, `${id}: ${file} has no test "${name}"`);
        } else if (files.get(file) !== null) {
            files.set(file, [...(files.get(file) ?? []), name]);
        }
    }
}

// Each threat has a test that is named after it, also where a whole file is listed.
function checkNamed(text, tests) {
    const named = new Set([...tests.values()].flat().flatMap(threatsOf));
    all.filter((id) => !named.has(id) && !isExcused(text, id)).forEach((id) =>
        report(threatsPage, `${id}: no test is named after it`),
    );
    [...named].filter((id) => !all.includes(id)).forEach((id) => report("tests", `threat ${id} does not exist`));
}

// ---- docs/security-tests.md ----

function write(titles, found) {
    const lines = [
        "# Tests for each threat",
        "",
        "Written by `scripts/threats.mjs`; do not edit. [security.md](security.md) describes the threats and their",
        "defences. A file without test names counts as a whole. In a name, `…` stands for the part that differs from case",
        "to case.",
        "",
    ];
    for (const id of all) {
        lines.push(`## ${id}: ${titles.get(id)}`, "");
        const files = [...found.get(id)].sort(([a], [b]) => (a < b ? -1 : 1));
        lines.push(
            ...(files.length > 0 ? files.flatMap(([file, names]) => listTests(file, names)) : ["No tests."]),
            "",
        );
    }
    return lines.join("\n").trimEnd() + "\n";
}

const tests = readTests();
const text = readFileSync(threatsPage, "utf8");
const titles = readThreats(text);
const found = collect(tests);
addListed(found, tests);
checkNamed(text, tests);
const wanted = write(titles, found);
if (!process.argv.includes("--check")) {
    writeFileSync(page, wanted);
} else if (!existsSync(page) || readFileSync(page, "utf8") !== wanted) {
    report(page, "stale: run scripts/node.sh scripts/threats.mjs");
}
