// docs/security.md has every threat once, and each test that it names is there: a test that is renamed
// or removed takes its row along. Tests say which threat they are about at the start of their names:
// threat-A1 (Node), threat_A1_ (C).
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";

process.chdir(path.resolve(import.meta.dirname, "..", ".."));
const page = "docs/security.md";
const last = { A: 12, B: 10, C: 13, D: 12 };
const all = Object.entries(last).flatMap(([letter, n]) => Array.from({ length: n }, (_, i) => `${letter}${i + 1}`));

function report(text) {
    console.log(`${page}: ${text}`);
    process.exitCode = 1;
}

// ---- the tests ----

// What a page may call a file: oauth, net/http1, kernel/plugin, tests/fuzz/fuzz_http.c.
function shortName(file) {
    return file
        .replace(/^tests\/(functional|unit)\//, "")
        .replace(/^tests\/kernel\//, "kernel/")
        .replace(/(\/|^)test_(\w+)\.c$/, "$1$2")
        .replace(/\.test\.mjs$/, "");
}

// Names of tests and suites; what differs from case to case is "…".
function nodeNames(text) {
    const called = /\b(?:test|suite)\(\s*(?:"((?:[^"\\]|\\.)*)"|`([^`]*)`)/g;
    return [...text.matchAll(called)].map(([, plain, template]) =>
        plain === undefined ? template.replace(/\$\{(?:[^{}]|\{[^}]*\})*\}/g, "…") : plain.replaceAll('\\"', '"'),
    );
}

// Functions of tests that main() names too.
function cNames(text) {
    const defined = [...text.matchAll(/^static void (\w+)\(void \*\*/gm)].map(([, name]) => name);
    return defined.filter((name) => text.match(new RegExp(`\\b${name}\\b`, "g")).length > 1);
}

function readTests() {
    const files = globSync("tests/**/{*.test.mjs,test_*.c}").sort();
    return new Map(
        files.map((file) => {
            const text = readFileSync(file, "utf8");
            return [shortName(file), file.endsWith(".c") ? cNames(text) : nodeNames(text)];
        }),
    );
}

// The threats that a name begins with, among ids of other kinds.
function threatsOf(name) {
    const inC = /^threat_([A-D]\d+)_/.exec(name);
    if (inC) {
        return [inC[1]];
    }
    const ids = /^((?:threat|check|row|fault)-\w+(?:, | to |: ))+/.exec(name)?.[0] ?? "";
    return [...ids.matchAll(/threat-(\w+)/g)].map(([, id]) => id);
}

// ---- the page ----

function readRows(text) {
    const rows = [...text.matchAll(/^\| \*\*([A-D]\d+)\*\* (.*) \|$/gm)];
    return rows.map(([, id, rest]) => ({ id, cells: rest.split(" | ") }));
}

// The tests of a cell: `file` "name", "name"; `file` all.
function readCell(id, cell, tests) {
    const shown = { names: [], whole: [] };
    let file;
    for (const [, code, quoted, word] of cell.matchAll(/`([^`]+)`|"([^"]+)"|\b(all)\b/g)) {
        if (code !== undefined) {
            file = code;
            if (!tests.has(file) && !existsSync(file)) {
                report(`${id}: there is no test file ${file}`);
            }
        } else if (word) {
            shown.whole.push(file);
        } else if (tests.get(file)?.includes(quoted)) {
            shown.names.push(quoted);
        } else {
            report(`${id}: ${file} has no test "${quoted}"`);
        }
    }
    return shown;
}

const tests = readTests();
const text = readFileSync(page, "utf8");
const rows = readRows(text);
const excused = /^## What is not defended$[\s\S]*/m.exec(text)?.[0] ?? "";
const shown = new Map();
for (const { id, cells } of rows) {
    if (shown.has(id) || !all.includes(id)) {
        report(`${id} is there twice, or no threat`);
    }
    const row = readCell(id, cells.at(-1), tests);
    shown.set(id, row);
    const names = [...row.names, ...row.whole.flatMap((file) => tests.get(file) ?? [])];
    const isNamed = names.some((name) => threatsOf(name).includes(id));
    const isExcused = cells[1].startsWith("does not apply") || excused.includes(`| ${id} |`);
    const isOut = cells.at(-1) === "–" && isExcused;
    if (!isNamed && !isOut) {
        report(`${id}: no test in its row is named after it`);
    }
}
all.filter((id) => !shown.has(id)).forEach((id) => report(`${id} is missing`));
for (const [file, names] of tests) {
    for (const name of names) {
        const missing = threatsOf(name).filter(
            (id) => !shown.get(id)?.names.includes(name) && !shown.get(id)?.whole.includes(file),
        );
        missing.forEach((id) => report(`${id}: its row lacks ${file} "${name}"`));
    }
}
