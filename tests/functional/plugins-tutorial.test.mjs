// The code of docs/plugins.md: every C block is compiled as its readers would, and every console
// block is run and compared with what the page says it prints.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { before, test } from "node:test";
import { keepFolder } from "./support/kept.mjs";
import { untilTool } from "./support/mcp.mjs";
import { buildFolder, root, runCauseway, startCauseway } from "./support/programs.mjs";

const host = path.join(buildFolder, "src", "host", "causeway-plugin-host");
const page = readFileSync(path.join(root, "docs", "plugins.md"), "utf8");

// The blocks of a language, each with the attributes behind it: ```c file=hello.c
const blocks = [...page.matchAll(/^```(\w+)([^\n]*)\n([\s\S]*?)^```$/gm)].map(([, language, rest, text]) => ({
    language,
    text,
    ...Object.fromEntries([...rest.matchAll(/(\w+)=(\S+)/g)].map(([, k, v]) => [k, v])),
}));
const sources = blocks.filter(({ language }) => language === "c");
const consoles = blocks.filter(({ language }) => language === "console");
const strict = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror"];

let folder;
before(() => {
    folder = path.join(keepFolder(), "tutorial");
    mkdirSync(path.join(folder, "plugins"), { recursive: true });
    for (const { file, text } of blocks.filter((block) => block.language !== "console")) {
        if (file) {
            writeFileSync(path.join(folder, file), text);
        }
    }
});

// A plugin built with a sanitizer finds it in the host.
function compile(file, compiler = "cc") {
    const object = path.join(folder, "plugins", file.replace(/\.c$/, ".so"));
    const include = path.join(root, "include");
    execFileSync(compiler, [...strict, "-shared", "-fPIC", "-I", include, "-o", object, path.join(folder, file)], {
        stdio: "pipe",
    });
    return object;
}

const has = (program) => spawnSync(program, ["--version"]).status === 0;

test("every C block names its file, and there are some", () => {
    assert.ok(sources.length >= 2);
    sources.forEach(({ file }) => assert.match(file ?? "", /^[a-z]+\.c$/));
});

for (const { file } of sources) {
    test(`${file} compiles without a warning and has no mistakes`, () => {
        for (const compiler of ["gcc", "clang", "cc"].filter(has)) {
            const object = compile(file, compiler);
            const checked = spawnSync(host, ["--check", object], { encoding: "utf8" });
            assert.equal(checked.status, 0, checked.stderr);
            const { openrpc, methods } = JSON.parse(checked.stdout);
            assert.equal(openrpc, "1.2.6");
            assert.ok(methods.length > 0);
        }
    });
}

for (const { file, call, text } of consoles) {
    // "$ causeway-plugin-host …", over several lines where they end in a backslash, then its output.
    const [, command, expected] = /^\$ ((?:[^\n]*\\\n)*[^\n]*)\n([\s\S]*)$/.exec(text);
    test(`the page's call of ${call} prints what the page says: ${command.slice(0, 70)}`, () => {
        const object = compile(file);
        assert.ok(command.includes(`--call ${call} `), command);
        const line = command.replace("causeway-plugin-host", '"$HOST"').replace(path.basename(object), '"$OBJECT"');
        const shell = spawnSync("sh", ["-c", `${line} 2>&1`], {
            encoding: "utf8",
            env: { ...process.env, HOST: host, OBJECT: object },
        });
        assert.equal(shell.stdout, expected);
    });
}

test("the page's configuration and requests work", async () => {
    sources.forEach(({ file }) => compile(file));
    const config = path.join(folder, "causeway.yaml");
    const server = await startCauseway({ args: ["--config", config, "--listen", "127.0.0.1:0"] });
    const tools = ["archive.run", "hello.greet", "notes.drop", "notes.list", "words.count"];
    for (const name of tools) {
        await untilTool(server, name);
    }
    const bodies = [...page.matchAll(/curl \S+:8080(\/\w+) --json \\?\s*'([^']*)'/g)];
    assert.equal(bodies.length, 3);
    const answers = [];
    for (const [, target, body] of bodies) {
        const answer = await fetch(`${server.url}${target}`, {
            method: "POST",
            headers: { "content-type": "application/json", accept: "application/json" },
            body,
        });
        answers.push(await answer.json());
    }
    assert.equal(answers[0].result, "Hello, Ada!");
    const names = answers[1].result.tools.map(({ name }) => name);
    // words.shout needs a login, and the page configures none.
    assert.deepEqual(
        names.sort(),
        tools.map((name) => name.replace(".", "__")),
    );
    assert.equal(answers[2].result.content[0].text, "Hello, Ada!");
    // Each command as it is printed, in the folder of the configuration.
    const commands = [...page.matchAll(/^causeway (plugin (disable|enable) .*)$/gm)];
    assert.deepEqual(
        commands.map(([, , action]) => action),
        ["disable", "enable"],
    );
    for (const [, words, action] of commands) {
        const { code, stderr } = await runCauseway(words.split(" "), {
            cwd: folder,
            env: { CAUSEWAY_CONFIG: "" },
        });
        assert.equal(code, 0, stderr);
        await untilTool(server, "hello.greet", action === "enable");
    }
    await server.stop();
});
