// The manual pages and the completions have every command, option and configuration key, and nothing else. Both are made
// from the tables of the program; this check compares them with what `help` and `config schema` print. mandoc and groff
// render all pages without a warning.
import { execFileSync, spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";

process.chdir(path.resolve(import.meta.dirname, "..", ".."));
const problems = [];
const run = (file, ...args) => execFileSync(file, args, { encoding: "utf8" });
const causeway = (...args) => run("build/release/causeway", ...args);
const namesIn = (text, pattern) => [...text.matchAll(pattern)].map((match) => match[1]);

run("scripts/build.sh", "release", "causeway", "src/host/causeway-plugin-host", "src/manual/causeway.1");
const own = globSync("src/manual/*.[1-8]");
const generated = globSync("build/release/src/manual/*.[1-8]");
const pages = new Map([...own, ...generated].map((file) => [path.basename(file), readFileSync(file, "utf8")]));
const pageOf = (name) =>
    pages
        .get(name)
        ?.replaceAll("\\-", "-")
        .replaceAll(/\\[&%]/g, "") ?? "";

function compare(what, found, expected) {
    const missing = [...new Set(expected)].filter((name) => !found.includes(name));
    const extra = [...new Set(found)].filter((name) => !expected.includes(name));
    missing.forEach((name) => problems.push(`${what}: ${name} is missing`));
    extra.forEach((name) => problems.push(`${what}: ${name} is unknown to the program`));
}

// ---- commands and options ----

const optionsOfHelp = (help) => namesIn(help, /^ {2}(?:-\w, | {4})--([\w-]+)/gm);
const commandsOfHelp = (help) => namesIn(/^Commands:\n((?: {2}.*\n)*)/m.exec(help)?.[1] ?? "", /^ {2}(\S+)/gm);
const optionsOfPage = (page) => namesIn(page, /^\.It (?:Fl \w , )?Fl -([\w-]+)/gm);

function checkCompletion(words, help) {
    const offered = (word) => namesIn(causeway("complete", "--", "causeway", ...words, word), /^([^\t\n]+)\t/gm);
    const name = `completion of causeway ${words.join(" ")}`;
    compare(
        name,
        offered("--"),
        optionsOfHelp(help).map((option) => `--${option}`),
    );
    const commands = commandsOfHelp(help);
    if (commands.length > 0) {
        compare(name, offered(""), commands);
    }
}

// The options of a group's page: those of its commands in their subsections, and its own.
function checkPage(command) {
    const help = causeway(command, "--help");
    const file = `causeway-${command}.1`;
    const page = pageOf(file);
    const members = commandsOfHelp(help);
    const [, ...subsections] = page.split(/^\.Ss /m);
    const parts = new Map(subsections.map((text) => [text.split("\n")[0], text.split(/^\.Sh /m)[0]]));
    checkCompletion([command], help);
    compare(file, optionsOfPage(page.slice(page.indexOf(".Sh OPTIONS"))), optionsOfHelp(help));
    compare(
        file,
        [...parts.keys()],
        members.map((member) => `${command} ${member}`),
    );
    for (const member of members) {
        const memberHelp = causeway(command, member, "--help");
        checkCompletion([command, member], memberHelp);
        const common = optionsOfHelp(memberHelp).filter((option) => ["color", "help"].includes(option));
        const found = optionsOfPage(parts.get(`${command} ${member}`) ?? "");
        compare(`${file}: ${member}`, [...found, ...common], optionsOfHelp(memberHelp));
    }
}

const help = causeway("--help");
const commands = commandsOfHelp(help);
checkCompletion([], help);
compare("causeway.1", namesIn(pageOf("causeway.1"), /^\.It Xr causeway-(\S+) 1/gm), commands);
compare("causeway.1", optionsOfPage(pageOf("causeway.1")), optionsOfHelp(help));
compare(
    "the pages of commands",
    [...pages.keys()].filter((name) => name !== "causeway-plugin-host.1" && /^causeway-.*\.1$/.test(name)),
    commands.map((command) => `causeway-${command}.1`),
);
commands.forEach(checkPage);
compare(
    "causeway.1",
    namesIn(pageOf("causeway.1"), /^\.It Ev (\S+)/gm),
    namesIn(causeway("help", "environment"), /^ {2}([A-Z_]+) /gm),
);

// Variables for children of the program itself, of foreign programs, and for the build.
const internal = ["CAUSEWAY_TAKEOVER", "HOME", "SOURCE_DATE_EPOCH", "TMPDIR", "USER"];
const sources = globSync("src/**/*.c").map((file) => readFileSync(file, "utf8"));
const variables = namesIn(sources.join("\n"), /\bgetenv\("(\w+)"\)/g).filter((name) => !internal.includes(name));
compare("causeway help environment", namesIn(causeway("help", "environment"), /^ {2}([A-Z_]+) /gm), variables);

// ---- configuration keys ----

// Each key as the page names it: limits.body_size, sources[].name, access.issuers[].issuer.
function* keysOf(schema, prefix) {
    const branches = schema.anyOf ?? [];
    const list = branches.find((branch) => branch.type === "array");
    if (list !== undefined) {
        yield* keysOf(list, prefix);
        return;
    }
    for (const branch of branches) {
        yield* keysOf(branch, prefix);
    }
    if (schema.items !== undefined) {
        yield* keysOf(schema.items, `${prefix}[]`);
    }
    if (typeof schema.additionalProperties === "object") {
        yield* keysOf(schema.additionalProperties, `${prefix}.NAME`);
    }
    for (const [name, value] of Object.entries(schema.properties ?? {})) {
        const key = prefix === "" ? name : `${prefix}.${name}`;
        yield key;
        yield* keysOf(value, key);
    }
}

compare("causeway.yaml.5", namesIn(pageOf("causeway.yaml.5"), /^\.It Ic (\S+)/gm), [
    ...keysOf(JSON.parse(causeway("config", "schema")), ""),
]);

// ---- pages without a table ----

const hostHelp = run("build/release/src/host/causeway-plugin-host", "--help");
compare("causeway-plugin-host.1", optionsOfPage(pageOf("causeway-plugin-host.1")), namesIn(hostHelp, /--([a-z]+)/g));

// Functions and the macros that declare something. Other macros are parts of these, or constants.
const headers = globSync("include/causeway/*.h").map((file) => readFileSync(file, "utf8"));
const code = headers.join("\n").replaceAll(/\/\*[\s\S]*?\*\//g, "");
const declared = [
    ...namesIn(code.replaceAll(/^#define.*(?:\\\n.*)*/gm, ""), /\b(cw_[a-z_]+)\(/g),
    ...namesIn(code, /^#define (cw_[a-z_]+)\(/gm),
    ...["PLUGIN", "METHOD", "TOOL", "RESOURCE", "RESOURCE_TEMPLATE", "PROMPT", "COMPLETE", "JSON"].map(
        (name) => `CW_${name}`,
    ),
];
compare("causeway-plugin.3", namesIn(pageOf("causeway-plugin.3"), /\bFn (\w+)/g), declared);
declared
    .filter((name) => !code.includes(`${name}(`))
    .forEach((name) => problems.push(`causeway-plugin.3: the headers have no ${name}`));

// ---- rendering ----

// A page refers to pages that exist.
for (const [file, text] of pages) {
    for (const [, name, section] of text.replaceAll("\\-", "-").matchAll(/\bXr (\S+) (\d)/g)) {
        if (!pages.has(`${name}.${section}`)) {
            problems.push(`${file}: no page ${name}(${section})`);
        }
    }
}
const files = [...own, ...generated];
for (const [program, ...args] of [
    ["mandoc", "-Tlint", "-Wwarning"],
    ["groff", "-ww", "-z", "-mandoc", "-Tutf8"],
]) {
    const { status, stdout, stderr, error } = spawnSync(program, [...args, ...files], { encoding: "utf8" });
    const output = `${stdout ?? ""}${stderr ?? ""}`.trim();
    if (status !== 0 || output !== "") {
        problems.push(`${program}: ${error?.message ?? output}`);
    }
}

problems.forEach((text) => console.log(text));
process.exitCode = problems.length === 0 ? 0 : 1;
