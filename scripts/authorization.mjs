// Writes docs/authorization-server-tests.md: the tests for each requirement of the built-in authorization server.
//
//   scripts/node.sh scripts/authorization.mjs            write the page
//   scripts/node.sh scripts/authorization.mjs --check    fail if it is stale, or if a requirement has no test
//
// scripts/authorization.txt lists the requirements. A test begins its name with the numbers that it covers: "AS13 T9 …",
// "AS9, T5: …" (Node), AS10_T7_… (C).
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { listTests, readTests } from "./test-names.mjs";

process.chdir(path.resolve(import.meta.dirname, ".."));
const page = "docs/authorization-server-tests.md";
const list = "scripts/authorization.txt";

function report(where, text) {
    console.error(`${where}: ${text}`);
    process.exitCode = 1;
}

// Number -> text.
function readRequirements() {
    const lines = readFileSync(list, "utf8").split("\n");
    const found = lines.map((line) => /^((?:AS|T)\d+) (.+)$/.exec(line)).filter(Boolean);
    return new Map(found.map(([, id, text]) => [id, text]));
}

// The numbers at the start of a name; ids of threats may come before them.
function numbersOf(name) {
    const begin = /^(?:threat[-_]\w+: )?((?:(?:AS|T)\d+(?:[ ,:]+|_|$))+)/.exec(name)?.[1] ?? "";
    return begin.match(/(?:AS|T)\d+/g) ?? [];
}

// Number -> file -> names.
function collect(requirements) {
    const found = new Map([...requirements.keys()].map((id) => [id, new Map()]));
    for (const [file, names] of readTests()) {
        for (const name of names) {
            new Set(numbersOf(name)).forEach((id) => {
                const files = found.get(id);
                files?.set(file, [...(files.get(file) ?? []), name]);
            });
        }
    }
    return found;
}

function write(requirements, found) {
    const lines = [
        "# Tests of the built-in authorization server",
        "",
        "Written by `scripts/authorization.mjs`; do not edit. [authorization-server.md](authorization-server.md) describes the",
        "server. In a name, `…` stands for the part that differs from case to case.",
        "",
    ];
    for (const [id, text] of requirements) {
        lines.push(`## ${id}: ${text.replace(/\.$/, "")}`, "");
        lines.push(...[...found.get(id)].flatMap(([file, names]) => listTests(file, names)), "");
    }
    return `${lines.join("\n").trimEnd()}\n`;
}

const requirements = readRequirements();
const found = collect(requirements);
for (const [id, files] of found) {
    if (files.size === 0) report(list, `${id}: no test is named after it`);
}
const wanted = write(requirements, found);
if (!process.argv.includes("--check")) {
    writeFileSync(page, wanted);
} else if (!existsSync(page) || readFileSync(page, "utf8") !== wanted) {
    report(page, "stale: run scripts/node.sh scripts/authorization.mjs");
}
