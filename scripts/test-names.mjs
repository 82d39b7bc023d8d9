// The names of all tests, read from their files, for the pages that list them.
//
//     for (const [file, names] of readTests()) …
import { globSync, readFileSync } from "node:fs";
import path from "node:path";

// Names of tests and suites. The variable parts of a template become "…".
function nodeNames(text) {
    const called = /\b(?:test|suite)\(\s*(?:"((?:[^"\\]|\\.)*)"|`([^`]*)`)/g;
    return [...text.matchAll(called)].map(([, plain, template]) =>
        plain === undefined ? template.replace(/\$\{(?:[^{}]|\{[^}]*\})*\}/g, "…") : plain.replaceAll('\\"', '"'),
    );
}

// Test functions: TEST(name), or functions that main() registers.
function cNames(text) {
    const defined = [...text.matchAll(/^(?:static void |TEST\(|TEST_WITH\()(\w+)(?:\(void \*\*|[,)])/gm)];
    const names = defined.map(([, name]) => name);
    return names.filter((name) => text.match(new RegExp(`\\b${name}\\b`, "g")).length > 1);
}

// File -> names. Paths are relative to the working folder, which is the root of the tree.
export function readTests() {
    const files = globSync("tests/**/{*.test.mjs,test_*.c}").sort();
    return new Map(
        files.map((file) => {
            const text = readFileSync(file, "utf8");
            return [file, file.endsWith(".c") ? cNames(text) : nodeNames(text)];
        }),
    );
}

// The lines of a page in docs/ for the tests of one file; null stands for the whole file.
export function listTests(file, names) {
    const link = `[${path.basename(file).replace(/\.test\.mjs$/, "")}](../${file})`;
    return names === null ? [`- ${link}`] : [`- ${link}:`, ...names.map((name) => `  - \`${name}\``)];
}
