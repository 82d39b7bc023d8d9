// Checks the #include lines of src/ against the table in layers.txt, and the table itself for cycles.
// A folder may include its own headers, those of the folders above it, and those of the folders in
// its row. Headers are included by their path from src/; x_int.h only from its own folder and those below.
import { globSync, readFileSync } from "node:fs";
import path from "node:path";

process.chdir(path.resolve(import.meta.dirname, "..", ".."));
const TABLE = "scripts/lint/layers.txt";
const COMMON = ["base", "json"];
const problems = [];

const includes = new Map(); // file of src/, without "src/" -> [{ line, target }]
for (const file of globSync("src/**/*.{c,h}").sort()) {
    const lines = readFileSync(file, "utf8").split("\n");
    includes.set(
        file.slice(4),
        lines.flatMap((text, i) => {
            const match = /^\s*#\s*include\s*"([^"]+)"/.exec(text);
            return match === null ? [] : [{ line: i + 1, target: match[1] }];
        }),
    );
}
const folders = new Set([...includes.keys()].map((file) => path.dirname(file)));

// A row names folders; "net/*" stands for every folder below net, "*" for every folder.
function expand(name) {
    if (name === "*") {
        return [...folders];
    }
    if (name.endsWith("/*")) {
        return [...folders].filter((folder) => folder.startsWith(name.slice(0, -1)));
    }
    return [name];
}

function readTable() {
    const table = new Map();
    for (const line of readFileSync(TABLE, "utf8").split("\n")) {
        const match = /^([\w/]+):(.*)$/.exec(line);
        if (match !== null) {
            const uses = match[2].split(/\s+/).filter(Boolean).flatMap(expand);
            uses.filter((used) => !folders.has(used)).forEach((used) =>
                problems.push(`${TABLE}: ${match[1]}: no folder ${used}`),
            );
            table.set(match[1], new Set([...uses, ...(COMMON.includes(match[1]) ? [] : COMMON)]));
        }
    }
    for (const folder of folders) {
        if (!table.has(folder)) {
            problems.push(`${TABLE}: no row for ${folder}`);
            table.set(folder, new Set());
        }
    }
    [...table.keys()]
        .filter((folder) => !folders.has(folder))
        .forEach((folder) => problems.push(`${TABLE}: no folder ${folder}`));
    return table;
}

const isAbove = (above, folder) => folder.startsWith(`${above}/`);

function checkInclude(table, file, { line, target }) {
    const folder = path.dirname(file);
    const used = path.dirname(target);
    const report = (text) => problems.push(`src/${file}:${line}: ${text}`);
    if (used === ".") {
        report(`"${target}": include by the path from src/, like "${folder}/${target}"`);
    } else if (used === folder) {
        return;
    } else if (!isAbove(used, folder) && !table.get(folder).has(used)) {
        report(`${folder} may not use ${used} (${TABLE})`);
    } else if (target.endsWith("_int.h") && !isAbove(used, folder)) {
        report(`"${target}" is private to ${used}`);
    }
}

// Folders that reach themselves through the rows; a row that is not used is out of date.
function checkTable(table) {
    const edges = new Map([...folders].map((folder) => [folder, new Set()]));
    for (const [file, targets] of includes) {
        const folder = path.dirname(file);
        targets
            .map(({ target }) => path.dirname(target))
            .filter((used) => used !== folder && !isAbove(used, folder) && folders.has(used))
            .forEach((used) => edges.get(folder).add(used));
    }
    const state = new Map();
    const visit = (folder, trail) => {
        if (state.get(folder) === "done") {
            return;
        }
        if (state.get(folder) === "open") {
            problems.push(`cycle: ${[...trail.slice(trail.indexOf(folder)), folder].join(" -> ")}`);
            return;
        }
        state.set(folder, "open");
        edges.get(folder).forEach((used) => visit(used, [...trail, folder]));
        state.set(folder, "done");
    };
    folders.forEach((folder) => visit(folder, []));
    for (const [folder, uses] of table) {
        const rowIsOpen = new RegExp(`^${folder}:.*\\*`, "m").test(readFileSync(TABLE, "utf8"));
        [...uses]
            .filter(
                (used) => !rowIsOpen && !COMMON.includes(used) && folders.has(folder) && !edges.get(folder).has(used),
            )
            .forEach((used) => problems.push(`${TABLE}: ${folder} does not use ${used}`));
    }
}

// Rows of the table for people: | `src/net` | what it owns | `base`, `json` |
function checkDocument(table, file) {
    for (const [, layer, cell] of readFileSync(file, "utf8").matchAll(/^\| *`src\/(\w+)` *\|.*\|([^|]*)\|$/gm)) {
        const shown = new Set(cell.match(/everything|\w+/g) ?? []);
        const uses = new Set();
        for (const [folder, row] of table) {
            if (folder.split("/")[0] === layer) {
                row.forEach((used) => uses.add(used.split("/")[0]));
            }
        }
        [...COMMON, layer].forEach((name) => [shown, uses].forEach((set) => set.delete(name)));
        const isOpen = shown.delete("everything");
        if (!isOpen && shown.symmetricDifference(uses).size > 0) {
            problems.push(`${file}: the row of src/${layer} differs from ${TABLE}: ${[...uses].sort().join(", ")}`);
        }
    }
}

const table = readTable();
includes.forEach((targets, file) => targets.forEach((entry) => checkInclude(table, file, entry)));
checkTable(table);
checkDocument(table, "docs/architecture.md");
problems.forEach((text) => console.log(text));
process.exitCode = problems.length === 0 ? 0 : 1;
