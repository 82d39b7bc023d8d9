// causeway plugin new, check, list, enable and disable.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { compilePlugin, host, include, newFolder, versionSource } from "./support/plugins.mjs";
import { buildFolder, runCauseway, writeConfig } from "./support/programs.mjs";

const examples = path.join(buildFolder, "plugins", "examples.so");

// Three mistakes in one plugin: all are reported.
const mistakes = `#include <causeway/plugin.h>
CW_PLUGIN("bad", "1");
static void one(cw_call *call) { (void)call; }
CW_METHOD(one, "bad.one", .params = {{"x", .schema = "{not JSON"}});
CW_TOOL(one, .annotations = CW_JSON([1, 2]));
static void two(cw_call *call) { (void)call; }
CW_METHOD(two, "bad.two");
CW_TOOL(two, .auth_level = "sometimes");
`;

// ---- new ----

test("new writes a plugin that builds without a warning, passes its test and can be published", async () => {
    const folder = newFolder("new");
    const made = await runCauseway(["plugin", "new", "my-plugin"], { cwd: folder });
    assert.equal(made.code, 0, made.stderr);
    assert.deepEqual(readdirSync(path.join(folder, "my-plugin")).sort(), ["Makefile", "my-plugin.c", "test.sh"]);
    const settings = [`CAUSEWAY_INCLUDE=${include}`, `CAUSEWAY_HOST=${host}`];
    const flags = "CFLAGS=-O2 -Wall -Wextra -Wpedantic -Wconversion -Werror";
    const output = execFileSync("make", ["-C", "my-plugin", ...settings, flags, "test"], {
        cwd: folder,
        encoding: "utf8",
        // make's own variables are not those of the make that runs this test
        env: { PATH: process.env.PATH },
    });
    assert.match(output, /^ok {3}my-plugin\.greet \{"name":"Ada"\}$/m);
    const file = path.join(folder, "my-plugin", "my-plugin.so");
    const checked = await runCauseway(["plugin", "check", file]);
    assert.equal(checked.code, 0, checked.stderr);
    assert.match(checked.stdout, /version 0\.1\.0, 1 method, 1 tool\n/);
    assert.match(checked.stdout, /\n {2}tool {9}my-plugin\.greet\n/);
});

test("the test of a new plugin fails when the plugin does not do what it says", async () => {
    const folder = newFolder("new");
    await runCauseway(["plugin", "new", "liar"], { cwd: folder });
    const source = path.join(folder, "liar", "liar.c");
    execFileSync("sed", ["-i", "s/Hello, %s/Goodbye, %s/", source]);
    const settings = [`CAUSEWAY_INCLUDE=${include}`, `CAUSEWAY_HOST=${host}`];
    assert.throws(
        () =>
            execFileSync("make", ["-C", "liar", ...settings, "test"], {
                cwd: folder,
                encoding: "utf8",
                stdio: "pipe",
                env: { PATH: process.env.PATH },
            }),
        (error) => /FAIL liar\.greet .*got "Goodbye, Ada!"/.test(error.stdout),
    );
});

test("new refuses a folder that exists and names that are none, and leaves nothing behind", async () => {
    const folder = newFolder("new");
    mkdirSync(path.join(folder, "there"));
    const exists = await runCauseway(["plugin", "new", "there"], { cwd: folder });
    assert.equal(exists.code, 1);
    assert.equal(exists.stderr, "causeway: 'there' exists already\n");
    for (const name of ["", "Upper", "9lives", "-x", "a/b", "..", "a b", "x".repeat(65), "ä"]) {
        const { code, stderr } = await runCauseway(["plugin", "new", "--", name], { cwd: folder });
        assert.equal(code, 2, name);
        assert.match(stderr, /not a name for a plugin/);
    }
    assert.equal((await runCauseway(["plugin", "new"], { cwd: folder })).code, 2);
    assert.deepEqual(readdirSync(folder), ["there"]);
    assert.deepEqual(readdirSync(path.join(folder, "there")), []);
});

// ---- check ----

test("check prints what a plugin would publish", async () => {
    const { code, stdout, stderr } = await runCauseway(["plugin", "check", examples]);
    assert.equal(code, 0, stderr);
    assert.equal(stderr, "");
    assert.match(stdout, /examples\.so: version 1\.0\.0, 5 methods, 5 tools\n/);
    for (const line of [
        "examples.contentTypes.list",
        "  tool         examples.contentTypes.list",
        "  title        List Content Types",
        "  permissions  access content",
        "  auth         required, scopes tutorial:read, tutorial:search",
        "  params       none",
        "  params       nid: integer, required - The node ID of the article",
    ]) {
        assert.ok(stdout.includes(`\n${line}\n`), `${line}\n${stdout}`);
    }
});

test("check gives the reason for a file that cannot be read", async () => {
    const { code, stderr } = await runCauseway(["plugin", "check", "/no/such.so"]);
    assert.deepEqual([code, stderr], [1, "causeway: /no/such.so: cannot be read: No such file or directory\n"]);
});

test("check --json prints the tools as clients would see them", async () => {
    const { code, stdout } = await runCauseway(["plugin", "check", "--json", examples]);
    assert.equal(code, 0);
    const report = JSON.parse(stdout);
    assert.equal(report.ok, true);
    assert.equal(report.version, "1.0.0");
    assert.deepEqual(report.problems, []);
    const markdown = report.methods.find(({ method }) => method === "examples.article.toMarkdown");
    assert.deepEqual(markdown.permissions, ["access content"]);
    assert.deepEqual(markdown.tool.inputSchema.required, ["nid"]);
});

test("check reports every mistake with the plugin's name and the member", async () => {
    const file = compilePlugin(newFolder("bad"), "bad", mistakes);
    const { code, stdout, stderr } = await runCauseway(["plugin", "check", file]);
    assert.equal(code, 1);
    assert.equal(stdout, "");
    for (const pattern of [
        /^bad: .*bad\.one.*schema/m,
        /^bad: .*annotations/m,
        /^bad: .*auth/m,
        /would not be loaded$/m,
    ]) {
        assert.match(stderr, pattern);
    }
    const json = await runCauseway(["plugin", "check", "--json", file]);
    assert.equal(json.code, 1);
    const report = JSON.parse(json.stdout);
    assert.equal(report.ok, false);
    assert.ok(report.problems.length >= 3, json.stdout);
});

test("check survives files that are no plugins, and plugins that die or hang while they load", async () => {
    const folder = newFolder("odd");
    const text = path.join(folder, "text.so");
    writeFileSync(text, "not a shared object\n");
    const plain = compilePlugin(folder, "plain", "int nothing;\n");
    const crash = compilePlugin(
        folder,
        "crash",
        `#include <stdlib.h>
__attribute__((constructor)) static void now(void) { abort(); }\n`,
    );
    for (const file of [text, plain, crash, path.join(folder, "absent.so"), folder]) {
        const { code, stdout, stderr } = await runCauseway(["plugin", "check", file]);
        assert.equal(code, 1, file);
        assert.equal(stdout, "");
        assert.match(stderr, /causeway: /);
    }
    assert.equal((await runCauseway(["plugin", "check"])).code, 2);
});

test("threat-B10: what a plugin says of itself cannot drive the terminal", async () => {
    const source = versionSource("esc", "1\\033[31m", "esc.tell").replace("Tells its version.", "\\033]0;owned\\007");
    const file = compilePlugin(newFolder("esc"), "esc", source);
    const { stdout, stderr } = await runCauseway(["plugin", "check", file]);
    assert.doesNotMatch(stdout + stderr, /[\u0007\u001b]/);
});

test("threat-D6: a plugin that is checked sees nothing of our environment", async () => {
    const source = `#include <causeway/plugin.h>
#include <stdlib.h>
CW_PLUGIN("env", "1");
static void none(cw_call *call) { (void)call; }
CW_METHOD(none, "env.none");
__attribute__((constructor)) static void look(void)
{
    if (getenv("SECRET"))
        abort();
}\n`;
    const file = compilePlugin(newFolder("env"), "env", source);
    const { code, stderr } = await runCauseway(["plugin", "check", file], { env: { SECRET: "x" } });
    assert.equal(code, 0, stderr);
});

// ---- list, enable, disable ----

function folderWith(names) {
    const folder = newFolder("plugins");
    names.forEach((name) => copyFileSync(examples, path.join(folder, name)));
    return { folder, config: writeConfig({ plugins: { directory: folder } }) };
}

test("list shows name, state, version, methods and tools", async () => {
    const { folder, config } = folderWith(["b.so", "a.so.disabled", ".hidden.so", "note.txt"]);
    writeFileSync(path.join(folder, "c.so"), "rubbish");
    const { code, stdout, stderr } = await runCauseway(["plugin", "list", "--config", config]);
    assert.equal(code, 0, stderr);
    assert.deepEqual(
        stdout.split("\n").map((line) => line.split(/\s+/)),
        [
            ["NAME", "STATE", "VERSION", "METHODS", "TOOLS"],
            ["a", "disabled", "1.0.0", "5", "5"],
            ["b", "enabled", "1.0.0", "5", "5"],
            ["c", "broken", "-", "-", "-"],
            [""],
        ],
    );
    assert.match(stderr, /^c: /m);
    const json = JSON.parse((await runCauseway(["plugin", "list", "--json", "-c", config])).stdout);
    assert.deepEqual(
        json.map(({ name, state, tools }) => [name, state, tools]),
        [
            ["a", "disabled", 5],
            ["b", "enabled", 5],
            ["c", "broken", 0],
        ],
    );
    assert.equal(json[2].problems.length, 1);
});

test("the folder comes from CAUSEWAY_CONFIG too, and must be configured and there", async () => {
    const { config } = folderWith(["a.so"]);
    const found = await runCauseway(["plugin", "list"], { env: { CAUSEWAY_CONFIG: config } });
    assert.match(found.stdout, /^a +enabled/m);
    const none = await runCauseway(["plugin", "list"], { env: { CAUSEWAY_CONFIG: "" } });
    assert.equal(none.code, 2);
    assert.match(none.stderr, /plugins\.directory/);
    const gone = writeConfig({ plugins: { directory: path.join(newFolder("gone"), "x") } });
    const absent = await runCauseway(["plugin", "list", "-c", gone]);
    assert.equal(absent.code, 1);
    assert.match(absent.stderr, /No such file or directory/);
});

test("disable and enable rename the file, and say what is wrong otherwise", async () => {
    const { folder, config } = folderWith(["alpha.so", "both.so", "both.so.disabled"]);
    const run = async (...args) => {
        const { code, stdout, stderr } = await runCauseway(["plugin", ...args, "-c", config]);
        return [code, stdout + stderr];
    };
    const files = () => readdirSync(folder).sort().join(" ");
    assert.deepEqual(await run("disable", "alpha"), [0, "alpha: disabled\n"]);
    assert.equal(files(), "alpha.so.disabled both.so both.so.disabled");
    assert.deepEqual(await run("disable", "alpha"), [1, "causeway: alpha is disabled already\n"]);
    assert.deepEqual(await run("enable", "alpha"), [0, "alpha: enabled\n"]);
    assert.deepEqual(await run("enable", "alpha"), [1, "causeway: alpha is enabled already\n"]);
    assert.deepEqual(await run("enable", "alhpa"), [1, `causeway: no plugin "alhpa"; did you mean "alpha"?\n`]);
    assert.match((await run("disable", "nothing-like-it"))[1], /no plugin "nothing-like-it" in/);
    for (const action of ["enable", "disable"]) {
        const [code, text] = await run(action, "both");
        assert.equal(code, 1);
        assert.match(text, /exists already/);
    }
    assert.equal((await run("enable", "../alpha"))[0], 2);
    assert.equal((await run("enable"))[0], 2);
    assert.equal(files(), "alpha.so both.so both.so.disabled");
});

test("a host that is not there is named, with the key that says where it is", async () => {
    const { folder } = folderWith(["a.so"]);
    const absent = path.join(folder, "no-host");
    const config = writeConfig({ plugins: { directory: folder, host: absent } });
    assert.equal(existsSync(absent), false);
    for (const args of [
        ["plugin", "list"],
        ["serve", "--listen", "127.0.0.1:0"],
    ]) {
        const { code, stderr } = await runCauseway([...args, "--config", config]);
        assert.equal(code, 1);
        assert.match(stderr, /no-host: No such file or directory; set plugins\.host to the path/);
    }
});

test("list and check do not wait for a pipe, nor show a name as it is", async () => {
    const folder = newFolder("odd");
    execFileSync("mkfifo", [path.join(folder, "pipe.so")]);
    mkdirSync(path.join(folder, "folder.so"));
    const source = versionSource("odd", "1.0", "odd.tell");
    compilePlugin(folder, "odd", source, { as: "a\u001b[31m\nb.so" });
    const config = writeConfig({ plugins: { directory: folder } });
    const list = await runCauseway(["plugin", "list", "--config", config]);
    assert.equal(list.code, 0, list.stderr);
    assert.equal(list.stdout.trimEnd().split("\n").length, 2, list.stdout);
    assert.ok(list.stdout.includes("a\\u001b[31m\\u000ab"), list.stdout);
    assert.ok(!list.stdout.includes("\u001b[31m"));
    const check = await runCauseway(["plugin", "check", path.join(folder, "pipe.so")]);
    assert.equal(check.code, 1);
    assert.match(check.stderr, /pipe\.so: not a file/);
});

test("a plugin that writes too much, or ends, while it is loaded spoils only itself", async () => {
    const folder = newFolder("loud");
    const loud = (code) => `#include <stdio.h>
#include <stdlib.h>
${versionSource("loud", "1.0", "loud.tell")}
__attribute__((constructor)) static void now(void)
{
${code}
}`;
    const lines = 'for (int i = 0; i < 2000000; i++) puts("0123456789012345678901234567890123456789");';
    compilePlugin(folder, "loud", loud(lines));
    compilePlugin(folder, "ends", loud("exit(0);"));
    compilePlugin(folder, "good", versionSource("good", "2.0", "good.tell"));
    const config = writeConfig({ plugins: { directory: folder } });
    const list = await runCauseway(["plugin", "list", "--config", config, "--json"]);
    assert.equal(list.code, 0, list.stderr);
    const states = JSON.parse(list.stdout).map(({ name, state }) => [name, state]);
    const expected = { ends: "broken", good: "enabled", loud: "broken" };
    assert.deepEqual(Object.fromEntries(states), expected);
    assert.match(list.stdout, /ended while it was loaded: exited with 0/);
});
