// The tests of accounts, rights, tokens, sessions, questions and tasks once more, with three servers on one PostgreSQL:
// each request goes to the next server (support/round-robin.mjs). FILES=login,accounts runs these alone.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { suite, test } from "node:test";
import { skipped } from "../functional/support/postgres.mjs";
import { root } from "../functional/support/programs.mjs";

const replicas = 3;
const files = process.env.FILES?.split(",") ?? [
    "accounts",
    "authorize",
    "authorize-clients",
    "login",
    "mcp-cancel",
    "mcp-elicitation",
    "mcp-elicitation-early",
    "mcp-expiry",
    "mcp-legacy",
    "mcp-rights",
    "mcp-session-callers",
    "mcp-sessions",
    "mcp-tasks",
    "mcp-tasks-legacy",
    "oauth-assertion",
    "oauth-device",
    "oauth-jwt",
    "oauth-races",
    "oauth-server",
    "stream-rights",
    "visibility",
];

// The tests of a file, in a process of their own: { code, text }.
async function runFile(name) {
    const file = path.join(root, "tests", "functional", `${name}.test.mjs`);
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const child = spawn(process.execPath, ["--test", "--test-reporter=spec", file], {
        env: { ...env, CAUSEWAY_TEST_REPLICAS: String(replicas) },
        stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding("utf8").on("data", (part) => (text += part));
    }
    const code = await new Promise((resolve) => child.on("close", resolve));
    return { code, text };
}

const countOf = (text, what) => Number(new RegExp(`^ℹ ${what} (\\d+)`, "m").exec(text)?.[1]);

suite("three servers in turn", { skip: skipped }, () => {
    for (const name of files) {
        test(`${name}.test.mjs`, async (t) => {
            const { code, text } = await runFile(name);
            assert.equal(code, 0, text);
            // A file whose tests all skip themselves shows nothing.
            assert.ok(countOf(text, "pass") > 0, text);
            t.diagnostic(`${countOf(text, "pass")} passed, ${countOf(text, "skipped")} skipped`);
        });
    }
});
