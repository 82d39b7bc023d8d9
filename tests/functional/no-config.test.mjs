// Without a configuration file: the example plugins, for everybody on this machine, and it says so.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { callToolWell, rpc, toolNames, untilTool } from "./support/mcp.mjs";
import { host, newFolder } from "./support/plugins.mjs";
import { invoke } from "./support/rest.mjs";
import { binary, buildFolder, Program, root, startCauseway, startProgram } from "./support/programs.mjs";

const env = { CAUSEWAY_CONFIG: "" };
const readme = readFileSync(path.join(root, "README.md"), "utf8");
const examples = ["examples.article.toMarkdown", "examples.articles.list"];
// A server with the examples. On a busy machine they may need longer than calls wait for them.
async function startOpen() {
    const server = await startCauseway({ env });
    await untilTool(server, examples[0]);
    return server;
}

const count = (server, pattern) => server.stderr.split("\n").filter((line) => pattern.test(line)).length;

test("everybody may list and call the examples, and the log says what is open", async () => {
    const server = await startOpen();
    assert.deepEqual(await toolNames(server), examples);
    const { json } = await rpc(server, { id: 1, method: "examples.articles.list" });
    assert.equal(json.result.length, 5);
    await server.untilLogged(/only this machine can connect/);
    assert.equal(count(server, /no configuration file: the example plugins are loaded folder=/), 1);
    assert.equal(count(server, /no configuration file: only this machine .* address="127\.0\.0\.1:/), 1);
    const permissions = "access content, access mcp tool discovery, use jsonrpc services";
    assert.equal(count(server, new RegExp(`no configuration file: .* permissions="${permissions}"`)), 1);
    await server.stop();
});

// The third one needs a token, and there is no login to be had.
test("every tool that is listed can be called by whoever sees it, on every door", async () => {
    const server = await startOpen();
    const listed = await (await fetch(`${server.url}/mcp/tools/list`)).json();
    assert.deepEqual(
        listed.tools.map(({ name }) => name),
        examples,
    );
    for (const name of examples) {
        const params = name.endsWith("toMarkdown") ? { nid: 2 } : {};
        const { status, json } = await rpc(server, { id: 1, method: name, params });
        assert.equal(status, 200, name);
        assert.ok(json.result.length > 0, name);
        assert.deepEqual((await callToolWell(server, name, params)).structuredContent ?? json.result, json.result);
        assert.equal((await invoke(server, name, params)).status, 200, name);
    }
    const { json } = await rpc(server, { id: 1, method: "examples.contentTypes.list" });
    assert.equal(json.error.code, -32601);
    await server.stop();
});

// A busy machine may start before its plugin is loaded.
const isLate = /starting before all sources have responded/;
const warnings = ({ stderr }) => stderr.split("\n").filter((line) => / (warn|error) /.test(line) && !isLate.test(line));

test("the first start has nothing to warn of", async () => {
    const server = await startCauseway({ env });
    await server.untilLogged(/only this machine can connect/);
    await server.stop();
    assert.deepEqual(warnings(server), []);
});

test("the example configuration has nothing to warn of, and its callers see the same tools", async () => {
    // Its plugins are those of the build that the tests run.
    const text = readFileSync(path.join(root, "examples/causeway.yaml"), "utf8");
    const config = path.join(newFolder("example"), "causeway.yaml");
    const folder = path.join(buildFolder, "plugins");
    assert.match(text, /directory: \.\.\/build\/release\/plugins\n/);
    writeFileSync(config, text.replace("../build/release/plugins", folder));
    const server = await startCauseway({ args: ["--config", config] });
    await untilTool(server, examples[0]);
    assert.deepEqual(await toolNames(server), examples);
    await server.stop();
    assert.deepEqual(warnings(server), []);
});

test("what changes something is not open", async () => {
    const server = await startOpen();
    for (const method of ["cache.rebuild", "node.create", "nothing"]) {
        const { json } = await rpc(server, { id: 1, method });
        assert.equal(json.error.code, -32601, method);
    }
    await server.stop();
});

test("it listens on 127.0.0.1:8080 and nowhere else", async () => {
    const server = new Program(binary, ["serve"], { env, name: "causeway" });
    const said = () => `${server.stdout}${server.stderr}`;
    // Somebody else may have that port here: then it says so.
    await Promise.race([server.until(() => server.stdout.includes("\n"), "its line"), server.exited]).catch(() => {});
    if (server.stdout === "") {
        assert.match(said(), /127\.0\.0\.1:8080.*in use/);
        return;
    }
    assert.equal(server.stdout, "causeway: listening on http://127.0.0.1:8080\n");
    await server.stop();
});

test("other machines are let in only by --listen, with a warning", async () => {
    const server = await startCauseway({ env, args: ["--listen", "0.0.0.0:0"] });
    await server.untilLogged(/warn.*other machines can connect and call the examples/i);
    await server.stop();
});

test("a configuration opens what it says and nothing else", async () => {
    const server = await startCauseway({ env, config: {} });
    const { status } = await fetch(`${server.url}/mcp/tools/list`);
    assert.equal(status, 403);
    await server.stop();
    assert.equal(count(server, /no configuration file/), 0);
});

// The program somewhere else, with what is named beside it.
function moved({ withHost, withPlugins }) {
    const folder = newFolder("moved");
    const program = path.join(folder, "causeway");
    copyFileSync(binary, program);
    if (withHost) {
        copyFileSync(host, path.join(folder, "causeway-plugin-host"));
    }
    if (withPlugins) {
        mkdirSync(path.join(folder, "plugins"));
        copyFileSync(path.join(buildFolder, "plugins", "examples.so"), path.join(folder, "plugins", "examples.so"));
    }
    return { folder, program };
}

const startMoved = ({ program }) =>
    startProgram(program, ["serve", "--listen", "127.0.0.1:0"], { env, name: "causeway" });

test("the examples are found beside the program and make their content", async () => {
    const place = moved({ withHost: true, withPlugins: true });
    const server = await startMoved(place);
    await untilTool(server, "examples.articles.list");
    const { json } = await rpc(server, { id: 1, method: "examples.articles.list" });
    assert.equal(json.result.length, 5);
    await server.stop();
    assert.deepEqual(readdirSync(path.join(place.folder, "plugins")).sort(), ["examples.db", "examples.so"]);
});

test("HUP without a configuration changes nothing", async () => {
    const server = await startOpen();
    server.child.kill("SIGHUP");
    await server.untilLogged(/configuration read again/);
    assert.deepEqual(await toolNames(server), examples);
    await server.stop();
});

test("the exchange in the README is what the server sends", async () => {
    const [section] = readme.match(/^## A real exchange$[\s\S]*?(?=^## )/m);
    const blocks = [...section.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language, text]) => ({
        language,
        text,
    }));
    const server = await startOpen();
    let answers;
    let compared = 0;
    for (const { language, text } of blocks) {
        if (language === "sh") {
            const commands = [...text.matchAll(/:8080(\/\w+) --json[\s\\]*'([^']*)'/g)];
            assert.ok(commands.length > 0, text);
            answers = [];
            for (const [, target, body] of commands) {
                const headers = { "Content-Type": "application/json", Accept: "application/json" };
                const answer = await fetch(`${server.url}${target}`, { method: "POST", headers, body });
                assert.equal(answer.status, 200, text);
                answers.push(await answer.text());
            }
        } else {
            assert.deepEqual(answers, [text.trim()]);
            compared += 1;
        }
    }
    assert.equal(compared, 2);
    await server.stop();
});

test("the plugin in the README compiles and is checked without a problem", () => {
    const [, source] = readme.match(/^```c\n([\s\S]*?)^```$/m);
    const folder = newFolder("readme");
    const object = path.join(folder, "hello.so");
    writeFileSync(path.join(folder, "hello.c"), source);
    const args = ["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I", path.join(root, "include"), "-o", object];
    execFileSync("cc", [...args, path.join(folder, "hello.c")], { stdio: "pipe" });
    const { methods } = JSON.parse(execFileSync(host, ["--check", object], { encoding: "utf8" }));
    assert.deepEqual(
        methods.map(({ name }) => name),
        ["hello.greet"],
    );
});

test("no command of the README writes over a file that a section before has named", () => {
    const written = [...readme.matchAll(/^[^#\n]* > ([\w./-]+\.yaml)/gm)];
    assert.ok(written.length > 0);
    for (const { 1: file, index } of written) {
        assert.ok(!new RegExp(`(?<![\\w-])${file}`).test(readme.slice(0, index)), file);
    }
});

test("the hints name an address that a client can connect to", async () => {
    for (const [listen, pattern] of [
        ["0.0.0.0:0", /curl [^\n]*http:\/\/127\.0\.0\.1:\d+\//],
        ["[::]:0", /curl [^\n]*http:\/\/\[::1\]:\d+\//],
        ["127.0.0.1:0", /curl [^\n]*http:\/\/127\.0\.0\.1:\d+\//],
    ]) {
        const server = await startCauseway({ env, args: ["--hints", "--listen", listen] });
        await server.until(() => pattern.test(server.stdout), `the hints of ${listen}`);
        await server.stop();
    }
    const socket = path.join(newFolder("socket"), "s");
    const server = new Program(binary, ["serve", "--hints", "--listen", `unix:${socket}`], { env, name: "causeway" });
    await server.until(() => server.stdout.includes("listening on"), "its line");
    assert.ok(!server.stdout.includes("curl"), server.stdout);
    await server.stop();
});

test("a program without the examples says so, and serves no tools", async () => {
    const server = await startMoved(moved({ withHost: true, withPlugins: false }));
    await server.untilLogged(/no configuration file, and no example plugins/);
    assert.deepEqual(await toolNames(server), []);
    await server.stop();
});
