// The prompt for a password: on a terminal, twice, without an echo.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { cli, databasePath } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { binary, runCauseway, slowness, writeConfig } from "./support/programs.mjs";

// For a prompt that never comes: a machine that stands still is waited for.
const timeout = 600_000 * slowness;
const makeConfig = () => writeConfig({ store: { path: databasePath() } });

// Runs a command on a terminal of its own. Each answer is typed when its prompt appears.
function onTerminal(words, answers) {
    return new Promise((resolve, reject) => {
        // A shell that stays would end by the interrupt itself: which shell runs the line depends on the machine.
        const line = ["exec", ...[binary, ...words].map((word) => `'${word}'`)].join(" ");
        const child = spawn("script", ["-qec", line, "/dev/null"], { stdio: ["pipe", "pipe", "inherit"] });
        let text = "";
        let typed = 0;
        child.on("error", reject);
        child.stdout.setEncoding("utf8").on("data", (piece) => {
            text += piece;
            const prompts = text.split(/(?:New password|The same again): /).length - 1;
            for (; typed < prompts; typed += 1) child.stdin.write(answers[typed]);
        });
        child.on("close", (code) => resolve({ code, text }));
    });
}

test("asks twice, shows nothing of it, and the password counts", { timeout }, async () => {
    const config = makeConfig();
    const { code, text } = await onTerminal(
        ["account", "add", "alice", "-c", config],
        ["s3cret-word\n", "s3cret-word\n"],
    );
    assert.equal(code, 0, text);
    assert.match(text, /account alice added/);
    assert.ok(!text.includes("s3cret"), text);
    const shown = JSON.parse(await cli(config, "account", "show", "alice"));
    assert.equal(shown.account.password, true);
});

test("two different answers change nothing", { timeout }, async () => {
    const config = makeConfig();
    const { code, text } = await onTerminal(["account", "add", "bob", "-c", config], ["s3cret-word\n", "other-word\n"]);
    assert.equal(code, 1, text);
    assert.match(text, /the two are not the same/);
    const { code: found } = await runCauseway(["account", "show", "bob", "-c", config]);
    assert.equal(found, 1);
});

test("an empty answer, and an interrupt, end the command", { timeout }, async () => {
    const config = makeConfig();
    const empty = await onTerminal(["account", "add", "carol", "-c", config], ["\n"]);
    assert.equal(empty.code, 1, empty.text);
    assert.match(empty.text, /the password is empty/);
    const interrupted = await onTerminal(["account", "add", "carol", "-c", config], ["\u0003"]);
    assert.equal(interrupted.code, 1, interrupted.text);
    assert.match(interrupted.text, /read the password: Interrupted system call/);
});

test("a file that cannot be read is an error", async () => {
    const config = makeConfig();
    const missing = path.join(keepFolder(), "no-password");
    const words = ["account", "add", "dave", "-c", config, "--password-file"];
    const { code, stderr } = await runCauseway([...words, missing]);
    assert.equal(code, 1);
    assert.match(stderr, /no-password'?: No such file or directory/);
    const folder = await runCauseway([...words, keepFolder()]);
    assert.equal(folder.code, 1);
    assert.match(folder.stderr, /read the password: Is a directory/);
    const dos = path.join(keepFolder(), "dos");
    writeFileSync(dos, "l0ng-enough\r\n");
    assert.equal((await runCauseway([...words, dos])).code, 0);
});
