// Completions: the hidden command `complete`, and the scripts of bash, zsh and fish in real shells.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { freePort } from "./support/ports.mjs";
import { keepFolder, newSocketPath } from "./support/kept.mjs";
import { assertWithin, timed } from "./support/mcp.mjs";
import { binary, patience, root, runCauseway, startProgram } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";

const run = promisify(execFile);
const timeout = patience(180_000);
const scripts = path.join(root, "completions");
const home = keepFolder();
const bin = path.join(home, "bin");

// A server that runs, and the same configuration without one.
let server;
const configOf = (name) => path.join(home, name, "causeway.yaml");

async function must(...words) {
    const { code, stderr } = await runCauseway(words);
    assert.equal(code, 0, stderr);
}

async function makeConfig(name) {
    const listen = `127.0.0.1:${await freePort()}`;
    await must("init", path.join(home, name), "--yes", "--examples", "--account", "kay", "--listen", listen);
    await must("account", "add", "eve@example.org", "--no-password", "--config", configOf(name));
    await must("role", "add", "chief editor", "--config", configOf(name));
}

before(async () => {
    mkdirSync(bin);
    symlinkSync(binary, path.join(bin, "causeway"));
    writeFileSync(path.join(home, "some file.yaml"), "");
    writeFileSync(path.join(home, "some.so"), "");
    await makeConfig("served");
    await makeConfig("idle");
    server = await startProgram(binary, ["serve", "--config", configOf("served")]);
    await eventually(() => server.stdout.includes("listening on"), "the server");
});
after(() => server?.stop());

// The lines that `causeway complete` prints for the last word: [word, text] pairs.
async function complete(words, config = configOf("served")) {
    const args = ["complete", "--", "causeway", ...words];
    const { code, stdout, stderr } = await runCauseway(args, { env: { CAUSEWAY_CONFIG: config, HOME: home } });
    assert.equal(code, 0);
    assert.equal(stderr, "");
    return stdout
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => line.split("\t"));
}

const wordsOf = async (...args) => (await complete(...args)).map(([word]) => word);

// A busy machine may need longer than the 300 ms that a user waits.
async function offers(words, expected, config) {
    let found;
    const isThere = async () => {
        found = await wordsOf(words, config);
        return expected.every((word) => found.includes(word));
    };
    await eventually(isThere, `${expected} for ${words}`, patience(10_000));
    return found;
}

const commandsIn = (help) =>
    [...(/^Commands:\n((?: {2}.*\n)*)/m.exec(help)?.[1].matchAll(/^ {2}(\S+)/gm) ?? [])].map((match) => match[1]);

test("each command and option of the help is completed, and nothing else", { timeout }, async () => {
    async function walk(words) {
        const { stdout } = await runCauseway([...words, "--help"]);
        const options = [...stdout.matchAll(/^ {2}(?:-\w, | {4})(--[\w-]+)/gm)].map((match) => match[1]);
        assert.deepEqual((await wordsOf([...words, "--"])).sort(), options.sort(), words.join(" "));
        const commands = commandsIn(stdout);
        if (commands.length > 0) {
            assert.deepEqual((await wordsOf([...words, ""])).sort(), commands.sort(), words.join(" "));
        }
        for (const command of commands) {
            await walk([...words, command]);
        }
        return commands.length;
    }
    assert.ok((await walk([])) > 20);
});

test("options that were given are not offered again, unless they may be repeated", { timeout }, async () => {
    const audit = await wordsOf(["audit", "--json", "-n", "3", "--kind=call", "--"]);
    for (const option of ["--json", "--limit", "--kind"]) assert.ok(!audit.includes(option), option);
    assert.ok(audit.includes("--tool"));
    assert.ok((await wordsOf(["token", "create", "--scope", "profile", "--sc"])).includes("--scope"));
    assert.deepEqual(await wordsOf(["status", "--", "--"]), [], "behind -- there are no options");
});

test("the program accepts each fixed value that it completes", { timeout }, async () => {
    const config = ["--config", configOf("served")];
    const rows = [
        [["version", "--color"], []],
        [["schema", "check", "--draft"], [path.join(home, "served/schema.json")]],
        [["audit", "--kind"], config],
        [["audit", "--outcome"], config],
        [["install", "cursor", "--print", "--tool-names"], []],
        [["cache", "invalidate"], config],
        [["log", "level"], config],
        [["install"], ["--print"]],
    ];
    writeFileSync(path.join(home, "served/schema.json"), "{}");
    for (const [words, rest] of rows) {
        const values = await wordsOf([...words, ""]);
        assert.ok(values.length > 1, words.join(" "));
        for (const value of values) {
            const { code, stderr } = await runCauseway([...words, value, ...rest], { env: { HOME: home } });
            assert.equal(code, 0, `${words.join(" ")} ${value}: ${stderr}`);
        }
        const { code } = await runCauseway([...words, "nonsense", ...rest], { env: { HOME: home } });
        assert.notEqual(code, 0, `${words.join(" ")} nonsense`);
    }
    for (const preset of await wordsOf(["import", "--preset", ""])) {
        const { stderr } = await runCauseway(["import", "--preset", preset, path.join(home, "none.json")]);
        assert.doesNotMatch(stderr, /preset/, preset);
    }
});

test("a value is completed in a word of its own and behind the option", { timeout }, async () => {
    assert.deepEqual(await wordsOf(["--color", "al"]), ["always"]);
    assert.deepEqual(await wordsOf(["--color=al"]), ["--color=always"]);
    assert.deepEqual(await wordsOf(["version", "--color", "n"]), ["never"]);
    assert.deepEqual(await complete(["serve", "-c", "x"]), [["", "files"]]);
    assert.deepEqual(await complete(["serve", "--config="]), [["", "files"]]);
    assert.deepEqual(await complete(["plugin", "check", ""]), [["", "files .so"]]);
    assert.deepEqual(await complete(["init", ""]), [["", "directories"]]);
    assert.deepEqual(await wordsOf(["import", "--secret-env", "CAUSEWAY_CO"]), ["CAUSEWAY_CONFIG"]);
});

test("help completes commands and topics", { timeout }, async () => {
    assert.deepEqual(await wordsOf(["help", "so"]), ["source"]);
    assert.deepEqual(await wordsOf(["help", "source", "ap"]), ["approve"]);
    assert.deepEqual(await wordsOf(["help", "e"]), ["exit-codes", "environment"]);
    assert.deepEqual(await wordsOf(["help", "serve", ""]), []);
});

test("names of a running server are completed", { timeout }, async () => {
    assert.deepEqual(await offers(["account", "show", ""], ["kay"]), ["eve@example.org", "kay"]);
    await offers(["role", "remove", ""], ["chief editor", "operator", "anonymous"]);
    await offers(["account", "grant", "kay", "ch"], ["chief editor"]);
    await offers(["role", "allow", "operator", ""], ["access content", "view audit"]);
    await offers(["token", "create", "kay", "--scope", ""], ["profile"]);
    await offers(["token", "revoke", ""], ["1"]);
    await offers(["source", "list", ""], ["examples"]);
    await offers(["source", "approve", ""], ["examples", "examples.articles.list"]);
    await offers(["plugin", "disable", ""], ["examples"]);
    await offers(["why", "--as", "k"], ["kay"]);
    const about = "Lists all available content types";
    const hasAbout = async () => (await complete(["call", "examples.contentT"]))[0]?.[1] === about;
    await eventually(hasAbout, about, patience(10_000));
    assert.deepEqual(await wordsOf(["call", "examples.contentTypes.list", ""]), [], "one argument, not two");
    await offers(["account", "show", "--config", configOf("served"), ""], ["kay"], "/nowhere");
    await offers(["account", "show", `--config=${configOf("served")}`, ""], ["kay"], "/nowhere");
});

test("without a server, names come from database and configuration, and nothing is created", { timeout }, async () => {
    const idle = configOf("idle");
    const files = () => readdirSync(path.dirname(idle)).sort();
    const all = files();
    assert.deepEqual(await offers(["account", "show", ""], ["kay"], idle), ["eve@example.org", "kay"]);
    await offers(["role", "remove", ""], ["chief editor", "operator", "anonymous"], idle);
    await offers(["role", "allow", "operator", ""], ["view audit"], idle);
    assert.deepEqual(await wordsOf(["call", ""], idle), []);
    const sources = path.join(home, "sources.yaml");
    writeFileSync(sources, "sources: [{name: far, url: 'http://127.0.0.1:1/'}]\nroles: {reader: [access content]}\n");
    assert.deepEqual(await offers(["source", "check", ""], ["far"], sources), ["far"]);
    assert.deepEqual(await offers(["role", "remove", "r"], ["reader"], sources), ["reader"]);
    assert.deepEqual(await wordsOf(["account", "show", ""], sources), []);
    const state = path.join(home, "no-state");
    const env = { CAUSEWAY_CONFIG: sources, XDG_STATE_HOME: state };
    await runCauseway(["complete", "--", "causeway", "account", "show", ""], { env });
    assert.ok(!readdirSync(home).includes("no-state"));
    assert.deepEqual(files(), all);
});

test("a missing or invalid configuration gives no names and no message", { timeout }, async () => {
    const broken = path.join(home, "broken.yaml");
    writeFileSync(broken, "nonsense: [");
    for (const config of ["/nowhere/causeway.yaml", broken]) {
        assert.deepEqual(await wordsOf(["account", "show", ""], config), []);
    }
    assert.deepEqual(await wordsOf(["nonsense", ""]), []);
    assert.deepEqual(await wordsOf(["account", "show", "--server", "http://127.0.0.1:1", ""]), []);
});

test("a server that does not answer gives no names, and the user waits no longer than 300 ms", {
    timeout,
}, async () => {
    process.kill(server.pid, "SIGSTOP");
    try {
        const { value, ms, awake } = await timed(() => wordsOf(["call", ""]));
        assert.deepEqual(value, []);
        assert.ok(ms > 250, `${ms} ms`);
        assertWithin(awake, 2_000, "the completion");
    } finally {
        process.kill(server.pid, "SIGCONT");
    }
});

test("names and texts of a server cannot drive the terminal", { timeout }, async (t) => {
    const socket = newSocketPath();
    const tools = [
        { name: "good", description: "red \u001b[31m, \u202eright to left,\nnext line" },
        { name: "bad\u001b[2J", description: "clears the screen" },
        { name: "two\nlines", description: "" },
        { name: "\ttab", description: "" },
        { name: "long", description: `${"ä".repeat(40)} and more` },
        { name: 7, description: [] },
        "nonsense",
    ];
    const answer = JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools, more: "no" } });
    const fake = http.createServer((request, response) => response.end(answer)).listen(socket);
    t.after(() => fake.close());
    await once(fake, "listening");
    const config = path.join(home, "fake.yaml");
    writeFileSync(config, `admin: {socket: '${socket}'}\n`);
    let found;
    const isThere = async () => (found = await complete(["call", ""], config)).length > 0;
    await eventually(isThere, "the tools", patience(10_000));
    assert.deepEqual(found, [
        ["good", "red  [31m,    right to left, next line"],
        ["long", `${"ä".repeat(30)}...`],
        ["7", ""],
    ]);
});

// ---- shells ----

// What the user types, and the line after the Tab key. In all shells the result is the same.
const typed = () => [
    ["causeway sou", "causeway source"],
    ["causeway source ap", "causeway source approve"],
    ["causeway audit --ki", "causeway audit --kind"],
    ["causeway audit --kind=ca", "causeway audit --kind=call"],
    ["causeway account show e", "causeway account show eve@example.org"],
    ["causeway account show eve@", "causeway account show eve@example.org"],
    ["causeway describe examples.cont", "causeway describe examples.contentTypes.list"],
    ["causeway role remove chief", "causeway role remove chief\\ editor"],
    ["causeway role allow 'chief editor' view\\ tr", "causeway role allow 'chief editor' view\\ traffic"],
    ["causeway cache invalidate jsonrpc_mcp:d", "causeway cache invalidate jsonrpc_mcp:discovery"],
    ["causeway import --secret-as he", "causeway import --secret-as header:"],
    ["causeway serve --config some\\ f", "causeway serve --config some\\ file.yaml"],
    ["causeway serve --config=some\\ f", "causeway serve --config=some\\ file.yaml"],
    ["causeway plugin check so", "causeway plugin check some.so"],
    ["causeway init serve", "causeway init served/"],
    ["X=1 causeway li", "X=1 causeway list"],
    // Without a server, from the database and the configuration.
    ["causeway account show -c idle/causeway.yaml e", "causeway account show -c idle/causeway.yaml eve@example.org"],
    [
        "causeway account show -c ~/idle/causeway.yaml e",
        "causeway account show -c ~/idle/causeway.yaml eve@example.org",
    ],
];

// A shell in a terminal, to which keys are sent.
async function openTerminal(t, shell, command) {
    const socket = path.join(home, `tmux-${shell}`);
    const env = {
        ...process.env,
        HOME: home,
        CAUSEWAY_CONFIG: configOf("served"),
        PATH: `${bin}:${process.env.PATH}`,
        TERM: "xterm",
        PS1: "> ",
        SHELL: "/bin/sh",
    };
    const tmux = async (...words) =>
        (await run("tmux", ["-S", socket, "-f", "/dev/null", ...words], { env, cwd: home })).stdout;
    await tmux("new-session", "-d", "-x", "160", "-y", "50", command);
    t.after(() => tmux("kill-server"));
    const screen = async () => (await tmux("capture-pane", "-p")).replaceAll(/\s+$/gm, "");
    const keys = (...names) => tmux("send-keys", ...names);
    await eventually(async () => (await screen()).endsWith(">"), `${shell}: a prompt`, patience(10_000));
    const clear = async () => {
        await keys("C-u", "C-l");
        await eventually(async () => (await screen()) === ">", `${shell}: an empty line`, patience(10_000));
    };
    const type = async (line, ...more) => {
        await clear();
        await keys("-l", line);
        await keys(...more);
    };
    return { type, screen, keys };
}

// Press Tab behind a line until the screen is as expected: names may take longer on a busy machine.
async function press(terminal, line, isExpected, tabs = ["Tab"]) {
    const deadline = Date.now() + patience(20_000);
    for (;;) {
        await terminal.type(line, ...tabs);
        const end = Date.now() + patience(1_500);
        while (Date.now() < end) {
            if (isExpected(await terminal.screen())) return;
            await new Promise((resolve) => setTimeout(resolve, 30));
        }
        assert.ok(Date.now() < deadline, `${line}<Tab>:\n${await terminal.screen()}`);
    }
}

async function tryKeys(terminal) {
    for (const [line, expected] of typed()) {
        await press(terminal, line, (screen) => screen === `> ${expected}`);
    }
    await press(terminal, "causeway call ", (screen) => /cache\.rebuild[\s\S]*node\.create/.test(screen), [
        "Tab",
        "Tab",
    ]);
}

test("bash completes by the Tab key", { timeout }, async (t) => {
    const terminal = await openTerminal(t, "bash", "bash --noprofile --norc");
    await terminal.type(`source '${scripts}/causeway.bash'; PS1='> '`, "Enter");
    await tryKeys(terminal);
    await press(
        terminal,
        'causeway role remove "chief',
        (screen) => screen === '> causeway role remove "chief editor"',
    );
    await press(terminal, "true; causeway li", (screen) => screen === "> true; causeway list");
});

test("zsh completes by the Tab key, with a text about each completion", { timeout }, async (t) => {
    const terminal = await openTerminal(t, "zsh", "zsh -f -i");
    await terminal.type(
        `PS1='> '; fpath=('${scripts}' $fpath); autoload -Uz compinit; compinit -u -d '${home}/zcompdump'`,
        "Enter",
    );
    await tryKeys(terminal);
    await press(
        terminal,
        'causeway role remove "chief',
        (screen) => screen === '> causeway role remove "chief editor"',
    );
    await press(terminal, "causeway source a", (screen) => /approve +-- approve the current/.test(screen), [
        "Tab",
        "Tab",
    ]);
});

test("fish completes, with a text about each completion", { timeout }, async () => {
    const lines = typed().map(([line, expected]) => [line, expected.replaceAll("\\ ", " ")]);
    const env = {
        ...process.env,
        HOME: home,
        CAUSEWAY_CONFIG: configOf("served"),
        PATH: `${bin}:${process.env.PATH}`,
    };
    const ask = async (line) => {
        const script = `source '${scripts}/causeway.fish'; complete -C $argv[1]`;
        return (await run("fish", ["--no-config", "-c", script, line], { env, cwd: home })).stdout;
    };
    for (const [line, expected] of lines) {
        const isThere = async () => {
            const found = (await ask(line)).split("\n").filter(Boolean);
            return found.length === 1 && expected.endsWith(found[0].split("\t")[0]);
        };
        await eventually(isThere, `${line} → ${expected}`, patience(10_000));
    }
    assert.match(await ask("causeway source ap"), /^approve\tapprove the current definitions of tools$/m);
});
