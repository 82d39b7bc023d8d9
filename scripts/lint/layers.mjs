// Checks the #include lines of src/ against the table in layers.txt: arrows point down only.
// Also: headers are included by their path from src/, and x_int.h only from its own folder.
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";

process.chdir(path.resolve(import.meta.dirname, "..", ".."));
const problems = [];

function readTable(file) {
    const table = new Map();
    for (const line of readFileSync(file, "utf8").split("\n")) {
        const match = /^(\w+):(.*)$/.exec(line);
        if (match !== null) {
            table.set(match[1], new Set(match[2].split(/\s+/).filter(Boolean)));
        }
    }
    for (const [folder, uses] of table) {
        if (folder !== "base" && folder !== "json") {
            uses.add("base").add("json");
        }
    }
    return table;
}

function checkInclude(table, file, number, target) {
    const folder = file.split("/")[1];
    const [used, ...rest] = target.split("/");
    const say = (text) => problems.push(`${file}:${number}: ${text}`);
    if (rest.length === 0) {
        say(`"${target}": include by the path from src/, like "${folder}/${target}"`);
    } else if (used !== folder && !table.has(used)) {
        say(`"${target}": layers.txt knows no folder ${used}`);
    } else if (used !== folder && !table.get(folder).has(used) && !table.get(folder).has("*")) {
        say(`${folder} may not use ${used} (scripts/lint/layers.txt)`);
    } else if (used !== folder && target.endsWith("_int.h")) {
        say(`"${target}" is private to ${used}`);
    }
}

function checkFile(table, file) {
    if (!table.has(file.split("/")[1])) {
        problems.push(`${file}: layers.txt knows no folder ${path.dirname(file)}`);
        return;
    }
    readFileSync(file, "utf8")
        .split("\n")
        .forEach((line, i) => {
            const match = /^\s*#\s*include\s*"([^"]+)"/.exec(line);
            if (match !== null) {
                checkInclude(table, file, i + 1, match[1]);
            }
        });
}

// Rows of the picture for people: | `src/net` | what it owns | `base`, `json` |
function checkDocument(table, file) {
    const rows = [...readFileSync(file, "utf8").matchAll(/^\| *`src\/(\w+)` *\|.*\|([^|]*)\|$/gm)];
    for (const [, folder, cell] of rows) {
        const shown = new Set(cell.match(/everything|\w+/g) ?? []);
        const uses = new Set(table.get(folder) ?? []);
        const all = uses.has("*") === shown.has("everything");
        ["base", "json", "*", "everything"].forEach((name) => {
            shown.delete(name);
            uses.delete(name);
        });
        if (!all || shown.symmetricDifference(uses).size > 0) {
            problems.push(`${file}: the row of src/${folder} differs from scripts/lint/layers.txt`);
        }
    }
}

const table = readTable("scripts/lint/layers.txt");
globSync("src/**/*.{c,h}")
    .sort()
    .forEach((file) => checkFile(table, file));
if (existsSync("docs/architecture.md")) {
    checkDocument(table, "docs/architecture.md");
}
problems.forEach((text) => console.log(text));
process.exitCode = problems.length === 0 ? 0 : 1;
