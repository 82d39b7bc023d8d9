// causeway-plugin-host --serve without the server that starts it: it must refuse, not hang.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { buildFolder, patience } from "./support/programs.mjs";

const host = path.join(buildFolder, "src", "host", "causeway-plugin-host");
const timeout = patience(60_000);

// Runs the host with these descriptors from 3 on ("pipe" is a socket).
function serve(args, descriptors, { closes = false } = {}) {
    return new Promise((resolve, reject) => {
        const stdio = ["ignore", "ignore", "pipe", ...descriptors];
        const child = spawn(host, ["--serve", "--name", "x", ...args], { stdio });
        let stderr = "";
        child.on("error", reject);
        child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
        if (closes) {
            child.stdio[3].destroy();
        }
        child.on("close", (code) => {
            child.stdio[3]?.destroy?.();
            resolve({ code, stderr });
        });
    });
}

test("descriptor 3 must be open", { timeout }, async () => {
    const { code, stderr } = await serve([], []);
    assert.equal(code, 1);
    assert.match(stderr, /descriptor 3 is no socket/);
});

test("a limit that the system does not allow is an error", { timeout }, async () => {
    const { code, stderr } = await serve(["--files", "1000000000000"], ["pipe", "ignore"]);
    assert.equal(code, 1);
    assert.match(stderr, /limit of descriptors: /);
});

test("a server that is gone ends it without a word", { timeout }, async () => {
    const { code, stderr } = await serve([], ["pipe", "ignore"], { closes: true });
    assert.notEqual(code, 0);
    assert.equal(stderr, "");
});
