// Writes docs/checks.md: the requirements taken from the Drupal module jsonrpc_mcp, and the tests for each.
//
//   scripts/node.sh scripts/checks.mjs            write the page
//   scripts/node.sh scripts/checks.mjs --check    fail if it is stale, or if a requirement has no test
//
// scripts/checks.txt lists the requirements. A test names those it covers, in its name or in a comment: check-52,
// row-D5, fault-B16; "check-93 to check-97" is a range.
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const page = path.join(root, "docs", "checks.md");
const list = path.join(root, "scripts", "checks.txt");

const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const kinds = [
    {
        kind: "check-",
        count: 115,
        title: "Behaviours",
        text: "Behaviours of the Drupal modules and of their bridge to MCP that Causeway keeps.",
    },
    {
        kind: "row-D",
        count: 21,
        title: "Contradictions",
        text: "Questions on which the original's documents contradict each other, with the answer that Causeway gives.",
    },
    {
        kind: "fault-B",
        count: 30,
        title: "Weaknesses",
        text: "Weaknesses of the original, each as the rule that prevents it in Causeway.",
    },
];
const idsOf = ({ kind, count }) => range(1, count).map((number) => `${kind}${number}`);
const allIds = kinds.flatMap(idsOf);

// id -> { text, isDropped }
function readRequirements() {
    const lines = readFileSync(list, "utf8").split("\n");
    const entries = lines.map((line) => /^((?:check-|row-D|fault-B)\d+)(!?) (.+)$/.exec(line)).filter(Boolean);
    return new Map(entries.map(([, id, mark, text]) => [id, { text, isDropped: mark === "!" }]));
}

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

function row(requirements, found, id) {
    const files = [...(found.get(id) ?? [])].map((file) => `[${path.basename(file)}](../${file})`);
    const { text, isDropped } = requirements.get(id) ?? { text: "–" };
    return `| ${id} | ${text} | ${files.join(", ") || (isDropped ? "not carried over" : "–")} |`;
}

function write(requirements, found) {
    const lines = [
        "# Requirements and their tests",
        "",
        "Causeway keeps the behaviour of the Drupal module `jsonrpc_mcp`. This page lists the requirements that follow, and the",
        "tests for each. Tests refer to a requirement by its id. Written by `scripts/checks.mjs`; do not edit.",
        "",
    ];
    for (const group of kinds) {
        const ids = idsOf(group);
        const tested = ids.filter((id) => found.has(id)).length;
        lines.push(`## ${group.title}`, "", `${group.text} Tested: ${tested} of ${ids.length}.`, "");
        lines.push("| Id | Requirement | Tests |", "| --- | --- | --- |");
        lines.push(...ids.map((id) => row(requirements, found, id)), "");
    }
    return lines.join("\n").trimEnd() + "\n";
}

// What is wrong with the requirements and their tests.
function findProblems(requirements, found) {
    const unknown = [...new Set([...requirements.keys(), ...found.keys()])].filter((id) => !allIds.includes(id));
    const untexted = allIds.filter((id) => !requirements.has(id));
    const untested = allIds.filter((id) => !found.has(id) && !requirements.get(id)?.isDropped);
    return [
        unknown.length > 0 && `unknown ids: ${unknown.join(", ")}`,
        untexted.length > 0 && `scripts/checks.txt lacks ${untexted.join(", ")}`,
        untested.length > 0 && `no test covers ${untested.join(", ")}`,
    ].filter(Boolean);
}

const requirements = readRequirements();
const found = collect();
const text = write(requirements, found);
if (!process.argv.includes("--check")) {
    writeFileSync(page, text);
} else {
    const problems = findProblems(requirements, found);
    if (!existsSync(page) || readFileSync(page, "utf8") !== text) {
        problems.push("docs/checks.md is stale: run scripts/node.sh scripts/checks.mjs");
    }
    problems.forEach((problem) => console.error(problem));
    process.exitCode = problems.length > 0 ? 1 : 0;
}
