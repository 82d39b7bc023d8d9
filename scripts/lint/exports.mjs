// Checks what the folders of src/ export: every exported function has a user outside its file, no
// function and no struct is defined twice, and each prefix belongs to one folder (prefixes.txt).
//
// The users of a function are src/, plugins/ and bench/. A function that only tests call is dead code,
// unless exports.txt lists it.
import { globSync, readFileSync } from "node:fs";
import path from "node:path";

process.chdir(path.resolve(import.meta.dirname, "..", ".."));
const problems = [];

// Comments and literals hold names that are no uses.
const strip = (text) =>
    text.replace(/\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g, (found) => found.replace(/[^\n]+/g, " "));
const read = (patterns) =>
    new Map(
        patterns
            .flatMap((pattern) => globSync(pattern))
            .sort()
            .map((file) => [file, strip(readFileSync(file, "utf8"))]),
    );
const namesIn = (text) => new Set(text.match(/\b[A-Za-z_]\w*\b/g));
const rowsOf = (file) =>
    readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"));

const sources = read(["src/**/*.{c,h}"]);
const others = read(["plugins/**/*.{c,h}", "bench/**/*.{c,h}"]);
const programOf = (file) => (file.startsWith("src/host/") ? "host" : "causeway");

const definition = /^(?!static|typedef|extern|struct \w+ \{|#|\s|CW_INLINE)[^\n;={}]*?\b(cw_\w+)\([^;{}]*\)\n\{/gm;
const exported = [...sources]
    .filter(([file]) => file.endsWith(".c"))
    .flatMap(([file, text]) => [...text.matchAll(definition)].map((match) => ({ name: match[1], file })));

// Code in headers uses functions too: macros and inline functions.
const inHeaders = namesIn(
    [...sources]
        .filter(([file]) => file.endsWith(".h"))
        .flatMap(
            ([, text]) => text.match(/^\s*#\s*define (?:.*\\\n)*.*|^(?:static inline|CW_INLINE)[\s\S]*?^}/gm) ?? [],
        )
        .join("\n"),
);
const users = [...sources, ...others]
    .filter(([file]) => file.endsWith(".c"))
    .map(([file, text]) => ({ file, names: namesIn(text) }));
// Functions of the SDK are called by plugins.
const sdk = new Set(globSync("include/**/*.h").flatMap((file) => readFileSync(file, "utf8").match(/\bcw_\w+/g)));

function checkUsers() {
    const forTests = new Set(rowsOf("scripts/lint/exports.txt").map((row) => row.split(/\s+/)[0]));
    for (const { name, file } of exported) {
        const isUsed = inHeaders.has(name) || users.some((user) => user.file !== file && user.names.has(name));
        if (!isUsed && !sdk.has(name) && !forTests.has(name)) {
            problems.push(`${file}: ${name} has no user outside this file: make it static, or remove it`);
        }
        if (isUsed && forTests.has(name)) {
            problems.push(`exports.txt: ${name} has a user`);
        }
        forTests.delete(name);
    }
    forTests.forEach((name) => problems.push(`exports.txt: there is no function ${name}`));
}

function checkTwice(what, items) {
    const seen = new Map();
    for (const { name, file } of items) {
        const key = `${programOf(file)} ${name}`;
        const before = seen.get(key);
        if (before !== undefined && before !== file) {
            problems.push(`${file}: ${what} ${name} is also defined in ${before}`);
        }
        seen.set(key, file);
    }
}

// A row of prefixes.txt: FOLDER: PREFIX...
function readOwners() {
    const owners = new Map();
    for (const row of rowsOf("scripts/lint/prefixes.txt")) {
        const [folder, prefixes] = row.split(":");
        for (const prefix of prefixes.split(/\s+/).filter(Boolean)) {
            if (owners.has(prefix)) {
                problems.push(`prefixes.txt: ${prefix} belongs to ${owners.get(prefix)} and ${folder}`);
            }
            owners.set(prefix, folder);
        }
    }
    return owners;
}

function checkPrefixes() {
    const owners = readOwners();
    const unused = new Set(owners.keys());
    for (const { name, file } of exported.filter((item) => programOf(item.file) === "causeway")) {
        const parts = name.split("_").slice(1);
        const candidates = parts.map((_, i) => parts.slice(0, parts.length - i).join("_"));
        const prefix = candidates.find((one) => owners.has(one));
        const folder = path.dirname(file).slice("src/".length);
        if (prefix === undefined) {
            problems.push(`${file}: ${name}: prefixes.txt has no prefix for it`);
        } else if (!`${folder}/`.startsWith(`${owners.get(prefix)}/`)) {
            problems.push(`${file}: ${name}: the prefix cw_${prefix} belongs to ${owners.get(prefix)}`);
        }
        unused.delete(prefix);
    }
    unused.forEach((prefix) => problems.push(`prefixes.txt: nothing begins with cw_${prefix}`));
}

checkUsers();
checkTwice("the function", exported);
checkTwice(
    "struct",
    [...sources].flatMap(([file, text]) =>
        [...text.matchAll(/^(?:typedef )?struct (cw_\w+) \{/gm)].map((match) => ({ name: match[1], file })),
    ),
);
checkPrefixes();
problems.forEach((text) => console.log(text));
process.exitCode = problems.length === 0 ? 0 : 1;
