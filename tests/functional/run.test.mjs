// What `make run` prints can be pasted and works.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createServer } from "node:net";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { freePort } from "./support/ports.mjs";
import { buildFolder, Program, root } from "./support/programs.mjs";

const run = promisify(execFile);

const runScript = (port) =>
    new Program(path.join(root, "scripts", "run.sh"), ["--listen", `127.0.0.1:${port}`], {
        env: { CAUSEWAY_BUILD: buildFolder, CAUSEWAY_CONFIG: "" },
    });

async function startRun(port) {
    const program = runScript(port);
    await program.until(() => /mcpServers.*\n/.test(program.stdout), "what to try");
    return program;
}

// The indented lines, as somebody would paste them.
const printed = (program, begin) =>
    program.stdout
        .split("\n")
        .filter((line) => line.startsWith(`  ${begin}`))
        .map((line) => line.trim());

test("the printed curl lines list and call the example tools", async () => {
    const port = await freePort();
    const program = await startRun(port);
    const lines = printed(program, "curl ");
    assert.equal(lines.length, 3);
    const answers = [];
    for (const line of lines) {
        const { stdout } = await run("sh", ["-c", line]);
        answers.push(JSON.parse(stdout));
    }
    assert.deepEqual(
        answers[0].result.tools.map(({ name }) => name),
        ["examples__article__toMarkdown", "examples__articles__list"],
    );
    assert.match(answers[1].result, /^# Reading the tide table\n\n/);
    assert.equal(answers[2].result[0].nid, 8);
    await program.stop();
});

test("the printed Inspector line names a method and this server", async () => {
    const port = await freePort();
    const program = await startRun(port);
    const [line] = printed(program, "npx ");
    const words = line.split(" ");
    assert.equal(words[2], "@modelcontextprotocol/inspector@2.12.0");
    const launcher = path.join(root, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    // As npx would run it, with the version that is installed here.
    const { stdout } = await run(process.execPath, [launcher, ...words.slice(3)], { cwd: root });
    assert.match(stdout, /examples\.articles\.list/);
    await program.stop();
});

test("the printed snippet for Claude Desktop is JSON that names this server", async () => {
    const port = await freePort();
    const program = await startRun(port);
    const [line] = printed(program, `{"mcpServers"`);
    assert.deepEqual(JSON.parse(line), {
        mcpServers: {
            causeway: { command: "npx", args: ["-y", "mcp-remote", `http://127.0.0.1:${port}/mcp`] },
        },
    });
    await program.stop();
});

test("a busy port is one line, before anything else is printed", async () => {
    const holder = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => holder.once("listening", resolve));
    const { port } = holder.address();
    const program = runScript(port);
    assert.deepEqual(await program.exited, { code: 1, signal: null });
    assert.equal(program.stdout, "");
    assert.match(program.stderr, /^causeway: cannot listen on 127\.0\.0\.1:\d+: .* in use; .*--listen.*\n$/);
    holder.close();
});

test("the lines that are printed name the address that was bound", async () => {
    const program = await startRun(0);
    const [, url] = /^causeway: listening on (\S+)/.exec(program.stdout);
    assert.equal(printed(program, "curl ").filter((line) => line.includes(` ${url}/`)).length, 3);
    await program.stop();
});
