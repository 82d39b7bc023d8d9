// Checks the Markdown pages: links and anchors lead somewhere, files and functions that a page names
// exist, and docs/README.md lists every page of docs/ once.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

process.chdir(path.resolve(import.meta.dirname, "..", ".."));
const tracked = execFileSync("scripts/lint/files.sh", { encoding: "utf8" }).split("\0").filter(Boolean);
const pages = tracked.filter((file) => file.endsWith(".md"));
const problems = [];

const withoutCode = (text) => text.replace(/^(```|~~~)[\s\S]*?^\1/gm, (block) => block.replace(/[^\n]/g, " "));

// GitHub's rule: lower case, without punctuation, blanks as hyphens, a number behind repetitions.
function anchorsOf(page) {
    const anchors = new Set();
    const count = new Map();
    for (const [, title] of withoutCode(readFileSync(page, "utf8")).matchAll(/^#{1,6} +(.*?)#*$/gm)) {
        const plain = title
            .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
            .replace(/[`*]/g, "")
            .trim()
            .toLowerCase();
        const slug = plain.replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
        const n = count.get(slug) ?? 0;
        anchors.add(n === 0 ? slug : `${slug}-${n}`);
        count.set(slug, n + 1);
    }
    for (const [, id] of readFileSync(page, "utf8").matchAll(/<a (?:id|name)="([^"]+)"/g)) {
        anchors.add(id);
    }
    return anchors;
}

function checkLinks(page, text) {
    const prose = withoutCode(text).replace(/`[^`\n]*`/g, "");
    const targets = [
        ...prose.matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)/g),
        ...prose.matchAll(/^\[[^\]]+\]: *(\S+)/gm),
    ].map((match) => match[1]);
    for (const target of targets.filter((link) => !/^[a-z]+:/.test(link))) {
        const [file, anchor] = target.split("#");
        const full = file === "" ? page : path.join(path.dirname(page), file);
        if (!existsSync(full)) {
            problems.push(`${page}: link to ${target}: no such file`);
        } else if (anchor && statSync(full).isFile() && full.endsWith(".md") && !anchorsOf(full).has(anchor)) {
            problems.push(`${page}: link to ${target}: no such heading`);
        }
    }
}

const names = new Set(tracked.map((file) => path.basename(file)));
const code = new Set(
    tracked
        .filter((file) => /^(src|include|plugins|tests|bench)\/.*\.[ch]$/.test(file))
        .flatMap((file) => readFileSync(file, "utf8").match(/\b(?:cw|CW)_\w+/g) ?? []),
);

// `net/server/conn.c: on_poll`, `read_in_turn`: the file has these names, outside comments.
function checkMembers(page, text) {
    for (const [, file, first, others] of text.matchAll(/`([\w/-]+\.[ch]): (\w+)`((?:, `\w+`)*)/g)) {
        const full = tracked.find((known) => known === file || known.endsWith(`/${file}`));
        const code = full ? readFileSync(full, "utf8").replace(/\/\*[\s\S]*?\*\//g, "") : "";
        for (const name of [first, ...(others.match(/\w+/g) ?? [])]) {
            if (full && !new RegExp(`\\b${name}\\b`).test(code)) {
                problems.push(`${page}: ${full} has no ${name}`);
            }
        }
    }
}

// `src/net/loop.c`, `net/loop.c`, `loop.c: cw_loop_run`, `cw_loop_run`
function checkNames(page, text) {
    for (const [, quoted] of text.matchAll(/`([^`\n]+)`/g)) {
        for (const [file] of quoted.matchAll(/(?<![\w./-])[\w/-]+\.(?:c|h|mjs|sh)(?![\w/])/g)) {
            const isThere = file.includes("/")
                ? tracked.some((known) => known === file || known.endsWith(`/${file}`))
                : names.has(file);
            if (!isThere && !/^(my|your|hello|FILE)/.test(file) && !example(page, file)) {
                problems.push(`${page}: \`${quoted}\`: no file ${file}`);
            }
        }
        for (const [name] of quoted.matchAll(/\bcw_\w*[a-z0-9]\b(?!\*|_)/g)) {
            if (!code.has(name) && ![...code].some((known) => known.startsWith(name))) {
                problems.push(`${page}: \`${quoted}\`: nothing is called ${name}`);
            }
        }
    }
}

// Files that a page tells its reader to write.
const example = (page, file) =>
    new RegExp(`(^|[\\s'"=/])${file.replace(/[.]/g, "\\.")}`, "m").test(
        (readFileSync(page, "utf8").match(/^(```|~~~)[\s\S]*?^\1/gm) ?? []).join("\n"),
    );

function checkIndex(index) {
    const links = readFileSync(index, "utf8").match(/\]\([^)\s#]+\)/g) ?? [];
    const listed = links.map((link) => path.join(path.dirname(index), link.slice(2, -1)));
    for (const page of pages.filter((one) => one.startsWith("docs/") && one !== index)) {
        const n = listed.filter((one) => one === page).length;
        if (n !== 1) {
            problems.push(`${index}: lists ${page} ${n} times, not once`);
        }
    }
}

checkIndex("docs/README.md");
for (const page of pages) {
    const text = readFileSync(page, "utf8");
    checkLinks(page, text);
    if (page !== "CHANGELOG.md") {
        checkNames(page, withoutCode(text));
        checkMembers(page, withoutCode(text));
    }
}
problems.forEach((text) => console.log(text));
process.exitCode = problems.length === 0 ? 0 : 1;
