// The command line: what it prints and how it exits.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { binary, root, runCauseway, writeConfig } from "./support/programs.mjs";

// All commands that help lists, such as "serve" and "config check".
function commandsOf(group) {
    const { stdout } = spawnSync(binary, ["help", ...group], { encoding: "utf8" });
    const list = /^Commands:\n((?: {2}.*\n)*)/m.exec(stdout)?.[1];
    const names = list?.match(/^ {2}[\w-]+/gm);
    return names?.flatMap((name) => commandsOf([...group, name.trim()])) ?? [group.join(" ")];
}

const commands = commandsOf([]);

// Run a shell script with the program as $0.
function shell(script, env = {}) {
    const end = spawnSync("sh", ["-c", script, binary], {
        encoding: "utf8",
        env: { ...process.env, ...env },
    });
    return { code: end.status, stdout: end.stdout, stderr: end.stderr };
}

test("version prints the name and the version on the first line", async () => {
    for (const args of [["version"], ["--version"], ["-V"], ["config", "--version"]]) {
        const { code, stdout, stderr } = await runCauseway(args);
        assert.equal(code, 0);
        assert.match(stdout, /^causeway \d+\.\d+\.\d+\nlibuv [\d.]+, OpenSSL [\d.]+, libyaml [\d.]+\n$/);
        assert.equal(stderr, "");
    }
});

test("help names every sub-command", async () => {
    for (const args of [["help"], ["--help"], ["-h"]]) {
        const { code, stdout, stderr } = await runCauseway(args);
        assert.equal(code, 0);
        assert.equal(stderr, "");
        for (const command of ["serve", "config", "plugin", "version", "help"]) {
            assert.match(stdout, new RegExp(`^  ${command} +\\w`, "m"));
        }
    }
    assert.ok(commands.length > 70, String(commands));
});

test("every group of commands explains itself within 80 columns", async () => {
    const groups = new Set(commands.map((command) => command.split(" ").slice(0, -1).join(" ")));
    assert.ok(groups.size > 10, [...groups].join());
    for (const group of groups) {
        const { code, stdout } = await runCauseway(["help", ...group.split(" ").filter(Boolean)]);
        assert.equal(code, 0, group);
        for (const line of stdout.split("\n")) {
            assert.ok(line.length < 80, line);
        }
    }
});

test("every command explains itself, in two ways and within 80 columns", async () => {
    for (const command of commands) {
        const words = command.split(" ");
        const { code, stdout, stderr } = await runCauseway([...words, "--help"]);
        assert.equal(code, 0, command);
        assert.equal(stderr, "");
        assert.ok(stdout.startsWith(`Usage: causeway ${command} [OPTION...]`), stdout);
        assert.match(stdout, /^ {2}-h, --help {14}print this help$/m);
        for (const line of stdout.split("\n")) {
            assert.ok(line.length < 80, line);
        }
        assert.equal((await runCauseway(["help", ...words])).stdout, stdout);
    }
    const { stdout } = await runCauseway(["help", "config"]);
    for (const command of ["check", "schema", "show"]) {
        assert.match(stdout, new RegExp(`^  ${command} `, "m"));
    }
});

test("docs/cli.md and the help name the same options, commands and exit codes", async () => {
    const docs = readFileSync(path.join(root, "docs", "cli.md"), "utf8");
    for (const command of commands) {
        assert.ok(docs.includes(`| \`causeway ${command}`), command);
        const { stdout } = await runCauseway(["help", ...command.split(" ")]);
        for (const [, option] of stdout.matchAll(/^ {2}(?:-\w, | {4})(--[\w-]+)/gm)) {
            assert.ok(docs.includes(option), option);
        }
    }
    const { code, stdout } = await runCauseway(["help", "exit-codes"]);
    assert.equal(code, 0);
    const words = (text) =>
        text
            .replaceAll("`", "")
            .replace(/[\s|]+/g, " ")
            .trim();
    const described = [...stdout.matchAll(/^ {2}(\d) {2}((?:.|\n {5})*)/gm)];
    assert.deepEqual(
        described.map((match) => match[1]),
        ["0", "1", "2"],
    );
    for (const [, number, text] of described) {
        assert.ok(words(docs).includes(words(`${number} ${text}`)), `exit code ${number}`);
    }
    const environment = await runCauseway(["help", "environment"]);
    const variables = [...environment.stdout.matchAll(/^ {2}([A-Z_]+) +((?:.|\n {5})*)/gm)];
    assert.ok(variables.length >= 4, environment.stdout);
    for (const [, name, text] of variables) {
        assert.ok(words(docs).includes(words(`${name} ${text}`)), name);
    }
});

const mistakes = [
    [[], `a command is missing; see "causeway --help"`],
    [["srve"], `unknown command "srve"; did you mean "causeway serve"?`],
    [["frobnicate"], `unknown command "frobnicate"; see "causeway --help"`],
    [[""], `unknown command ""; see "causeway --help"`],
    [["\u001b[31mred"], String.raw`unknown command "\u001b[31mred"; see "causeway --help"`],
    [["--frobnicate"], `unknown option "--frobnicate"; see "causeway --help"`],
    [["--versoin"], `unknown option "--versoin"; did you mean "--version"?`],
    [["config"], `a command is missing; see "causeway config --help"`],
    [["config", "showw"], `unknown command "showw"; did you mean "causeway config show"?`],
    [["config", "check", "--confg=x"], `unknown option "--confg"; did you mean "--config"?`],
    [["config", "check"], "name a file to check, or set CAUSEWAY_CONFIG"],
    [["config", "schema", "x"], `unexpected argument "x"; see "causeway config schema --help"`],
    [["config", "show", "--", "-x"], `unexpected argument "-x"; see "causeway config show --help"`],
    [["serve", "--config"], `option "--config" needs a value: --config FILE`],
    [["serve", "--config="], `option "--config" needs a value: --config FILE`],
    [["serve", "-c"], `option "--config" needs a value: --config FILE`],
    [["serve", "-ca", "-c", "b"], `option "--config" may be given only once`],
    [["serve", "--conf", "a"], `unknown option "--conf"; did you mean "--config"?`],
    [["serve", "-x"], `unknown option "-x"; see "causeway serve --help"`],
    [["serve", "-hx"], `unknown option "-hx"; see "causeway serve --help"`],
    [["serve", "--help=yes"], `option "--help" takes no value`],
    [["serve", "extra"], `unexpected argument "extra"; see "causeway serve --help"`],
    [["serve", "--color=blue"], `option "--color" takes auto, always or never, not "blue"`],
    [["--color", "blue", "help"], `option "--color" takes auto, always or never, not "blue"`],
    [["help", "srve"], `unknown command "srve"; did you mean "causeway serve"?`],
    [["help", "a", "b", "c"], `unexpected argument "c"; see "causeway help --help"`],
    [
        ["serve", ...Array.from({ length: 17 }, (_, i) => `--listen=127.0.0.1:${i}`)],
        `option "--listen" may be given 16 times`,
    ],
];

test("a wrong command line is explained, with exit code 2", async () => {
    for (const [args, message] of mistakes) {
        const { code, stdout, stderr } = await runCauseway(args, { env: { CAUSEWAY_CONFIG: "" } });
        assert.equal(stderr, `causeway: ${message}\n`);
        assert.equal(code, 2, message);
        assert.equal(stdout, "");
    }
});

test("options may stand anywhere, in every GNU spelling", async () => {
    const file = path.join(root, "docs", "causeway.schema.json"); // no configuration: named in errors
    for (const args of [
        ["--config", file],
        [`--config=${file}`],
        ["-c", file],
        [`-c${file}`],
        ["--color=never", "-c", file],
    ]) {
        const { code, stderr } = await runCauseway(["config", "show", ...args]);
        assert.equal(code, 2);
        assert.ok(stderr.startsWith(`${file}:2:`), stderr);
    }
    const { stderr } = await runCauseway(["config", "check", "one", "--color", "never", "two"]);
    assert.match(stderr, /'one'.*\n.*'two'/);
    const dashed = await runCauseway(["config", "check", "--", "--config"]);
    assert.match(dashed.stderr, /cannot open '--config': No such file/);
});

test("output that cannot be written is exit code 1", () => {
    for (const command of ["config schema", "config show", "version", "help", "serve --help"]) {
        const full = shell(`"$0" ${command} >/dev/full`);
        assert.equal(full.stderr, "causeway: cannot write to standard output: No space left on device\n");
        assert.equal(full.code, 1);
        const closed = shell(`"$0" ${command} >&-`);
        assert.equal(closed.stderr, "causeway: cannot write to standard output: Bad file descriptor\n");
        assert.equal(closed.code, 1);
    }
    // It begins when the reader has gone.
    const untilGone = `(trap "" PIPE; while echo x 2>/dev/null; do sleep 0.05; done)`;
    const gone = shell(`{ ${untilGone}; "$0" config schema; echo "code $?" >&2; } | :`);
    assert.equal(gone.stderr, "causeway: cannot write to standard output: Broken pipe\ncode 1\n");
});

test("closed standard input and standard error do no harm", () => {
    assert.equal(shell(`"$0" version <&- 2>&-`).code, 0);
    assert.equal(shell(`"$0" frobnicate <&- 2>&-`).code, 2);
    assert.equal(shell(`"$0" frobnicate <&- >&- 2>&-`).code, 2);
});

test("versions and checks are there for programs too", async () => {
    const { stdout } = await runCauseway(["version", "--json"]);
    const { version, libraries } = JSON.parse(stdout);
    const text = `causeway ${version}\nlibuv ${libraries.libuv}, OpenSSL ${libraries.OpenSSL}, libyaml ${libraries.libyaml}\n`;
    assert.equal((await runCauseway(["version"])).stdout, text);
    const good = writeConfig({ page_size: 7 });
    const bad = writeConfig("page_size: many\nnix: 1\n");
    const warned = writeConfig({ listen: [{ address: "0.0.0.0:1" }], roles: { anonymous: ["x"] } });
    const missing = `${good}.none`;
    const check = await runCauseway(["config", "check", "--json", good, bad, warned, missing]);
    const plain = await runCauseway(["config", "check", good, bad, warned, missing]);
    assert.deepEqual([check.code, check.stderr, plain.code], [2, "", 2]);
    const files = JSON.parse(check.stdout);
    assert.deepEqual(
        files.map(({ file, ok, problems, warnings }) => [file, ok, problems.length, warnings.length > 0]),
        [
            [good, true, 0, false],
            [bad, false, 2, false],
            [warned, true, 0, true],
            [missing, false, 1, false],
        ],
    );
    assert.deepEqual(
        files[1].problems.map(({ line, column }) => [line, column]),
        [
            [1, 12],
            [2, 1],
        ],
    );
    assert.equal(files[3].problems[0].line, null);
    // The same sentences as for people.
    for (const { problems, warnings } of files) {
        for (const { text: line } of [...problems, ...warnings]) {
            assert.ok(plain.stderr.includes(line), line);
        }
    }
    assert.equal((await runCauseway(["config", "check", "--json", good])).code, 0);
});

test("colours are for terminals", async (t) => {
    const colour = "\u001b[";
    for (const args of [["help"], ["--color=auto", "help"], ["--color=never", "help"]]) {
        assert.ok(!(await runCauseway(args)).stdout.includes(colour));
    }
    assert.ok((await runCauseway(["--color=always", "--help"])).stdout.includes(colour));
    assert.ok((await runCauseway(["serve", "--help", "--color=always"])).stdout.includes(colour));
    const mistake = await runCauseway(["--color", "always", "frobnicate"]);
    assert.ok(mistake.stderr.startsWith(`${colour}1;31mcauseway:${colour}0m unknown`));

    if (spawnSync("script", ["--version"]).error) {
        t.skip("script(1), which gives a program a terminal, is missing");
        return;
    }
    const onTerminal = (env, args) =>
        shell(`script -qec "'$0' ${args}" /dev/null </dev/null`, { TERM: "xterm", NO_COLOR: "", ...env });
    assert.ok(onTerminal({}, "help").stdout.includes(colour));
    assert.ok(onTerminal({}, "frobnicate").stdout.includes(colour));
    for (const [env, args] of [
        [{ NO_COLOR: "1" }, "help"],
        [{ TERM: "dumb" }, "help"],
        [{}, "--color=never help"],
    ]) {
        const { stdout } = onTerminal(env, args);
        assert.ok(stdout.includes("Usage: causeway"), stdout);
        assert.ok(!stdout.includes(colour), `${JSON.stringify(env)} ${args}`);
    }
});
