// Holds prose to the rules of CONTRIBUTING.md: in the pages and in the comments of C files, few
// sentences open with a relative clause, and none speaks of nobody and somebody.
//
//     prose.mjs [--list]    --list prints every breach, also where the rate is fine
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";

process.chdir(path.resolve(import.meta.dirname, "..", ".."));
const MAX_PER_1000 = 0.5;
const list = process.argv.includes("--list");
const files = (...patterns) =>
    execFileSync("scripts/lint/files.sh", patterns, { encoding: "utf8" }).split("\0").filter(Boolean);

const OPENS = /(?:^|(?<=[.:!?*|;)] ))(?:\*\*|\* )?(What|Who|Whoever|Whom|Whose|Where|Of)(?= [a-z`])/;
const VAGUE = /\b(nobody|somebody|everybody|whoever|anybody)\b/i;

// A page without code, tables' rulers and links' targets; line numbers stay.
const pageText = (text) =>
    text
        .replace(/^(```|~~~)[\s\S]*?^\1.*$/gm, (block) => block.replace(/[^\n]/g, ""))
        .replace(/`[^`\n]*`/g, "`x`")
        .replace(/\]\([^)]*\)/g, "]");

// The comments of a C file alone; drawings and code in them are indented by four or more.
const commentText = (text) => {
    let out = "";
    let last = 0;
    for (const match of text.matchAll(/\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"/g)) {
        out += text.slice(last, match.index).replace(/[^\n]/g, "");
        out += match[0].startsWith("/*")
            ? match[0]
                  .replace(/^( *)\*(?: {4,}.*| ?$)/gm, "")
                  .replace(/^\/\*+ ?|\*\/$/g, "")
                  .replace(/^ *\* ?/gm, "")
            : "";
        last = match.index + match[0].length;
    }
    return out;
};

function check(name, group, toText) {
    const found = [];
    let words = 0;
    for (const file of group) {
        let before = ".";
        toText(readFileSync(file, "utf8"))
            .split("\n")
            .forEach((line, i) => {
                words += (line.match(/\b[A-Za-z']+\b/g) ?? []).length;
                const text = line.replace(/^[\s>#*|-]*/, "");
                const opens = OPENS.exec(text);
                // In the middle of a sentence a line may begin with any word.
                const isOpening =
                    opens !== null &&
                    (opens.index > 0 || /[.:!?|]$|^$/.test(before) || /^\s*([#|>-]|\d+\.)/.test(line)) &&
                    !/\?\s*(\||$)/.test(text);
                const vague = VAGUE.exec(text);
                if (isOpening || vague !== null) {
                    found.push({ where: `${file}:${i + 1}`, text: text.trim(), isOpening });
                }
                before = text.trim();
            });
    }
    const rate = (found.length / words) * 1000;
    const isBad = rate > MAX_PER_1000;
    console.log(
        `${name}: ${found.length} breaches in ${words} words, ${rate.toFixed(2)} per 1,000 (maximum ${MAX_PER_1000})`,
    );
    if (isBad || list) {
        found
            .slice(0, list ? Infinity : 40)
            .forEach(({ where, text }) => console.log(`  ${where}: ${text.slice(0, 100)}`));
    }
    return isBad ? name : "";
}

// Both have the same ceiling.
const enforced = ["pages", "comments"];
const bad = [
    check("pages", files("*.md"), pageText),
    check("comments", files("src/*.c", "src/*.h", "include/*.h", "plugins/*.c"), commentText),
];
process.exitCode = bad.some((name) => enforced.includes(name)) ? 1 : 0;
