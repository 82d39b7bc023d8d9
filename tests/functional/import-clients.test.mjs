// `causeway import --from-clients`: one file of each client, copied without running anything.
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { newFolder } from "./support/plugins.mjs";
import { root, runCauseway } from "./support/programs.mjs";

const files = {
    "claude-desktop.json": ".config/Claude/claude_desktop_config.json",
    "claude-code.json": ".claude.json",
    "vscode.json": ".config/Code/User/mcp.json",
    "cursor.json": ".cursor/mcp.json",
    "codex.toml": ".codex/config.toml",
    "gemini.json": ".gemini/settings.json",
    "windsurf.json": ".codeium/windsurf/mcp_config.json",
    "zed.json": ".config/zed/settings.json",
};
const secrets = /tracker-secret|cursor-secret|codex-secret|search-secret|windsurf-secret|zed-secret|project-secret/;

// A home with the files of all clients, or some.
function makeHome(names = Object.keys(files)) {
    const home = newFolder("home");
    for (const name of names) {
        const target = path.join(home, files[name]);
        mkdirSync(path.dirname(target), { recursive: true });
        cpSync(path.join(root, "tests", "functional", "clients-files", name), target);
    }
    return home;
}

const run = (home, ...args) =>
    runCauseway(["import", "--from-clients", ...args], { env: { PATH: process.env.PATH, HOME: home } });

test("shows the servers of every client and writes nothing without consent", async () => {
    const out = path.join(newFolder("out"), "sources");
    const { code, stdout, stderr } = await run(makeHome(), "-o", out);
    assert.equal(code, 2);
    assert.match(stderr, /needs --yes/);
    for (const line of [
        "desktop-files (Claude Desktop)",
        "tracker (Claude Code)",
        "site-search (Claude Code, project /srv/projects/site)",
        "tracker-claude-code (Claude Code, project /srv/projects/site)",
        "issues (Visual Studio Code)",
        "database (Cursor)",
        "docs (Codex)",
        "search (Codex, disabled there)",
        "weather (Gemini CLI)",
        "database-windsurf (Windsurf, disabled there)",
        "notes (Zed)",
    ]) {
        assert.ok(stdout.includes(`${line}\n`), `${line}\n${stdout}`);
    }
    assert.match(stdout, /causeway \(Claude Desktop\): not copied, it is Causeway itself/);
    assert.match(stdout, /old \(Claude Code\): not copied, its transport/);
    assert.match(stdout, /extension-server \(Zed\): not copied, the file has neither/);
    assert.match(stdout, /variables: DATABASE_URL/);
    assert.match(stdout, /headers: Authorization/);
    assert.doesNotMatch(stdout + stderr, secrets);
    assert.ok(!existsSync(out));
});

test("with consent it writes overlays that expose nothing, and secrets into files of mode 0600", async () => {
    const out = path.join(newFolder("out"), "sources");
    const { code, stdout, stderr } = await run(makeHome(), "--yes", "-o", out);
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stdout + stderr, secrets);
    const kept = readdirSync(path.join(out, "secrets")).sort();
    assert.deepEqual(kept, [
        "database-windsurf.X-Api-Key",
        "database.DATABASE_URL",
        "docs.DOCS_TOKEN",
        "notes.NOTES",
        "search.X-Key",
        "site-search.SITE_KEY",
        "tracker.Authorization",
    ]);
    for (const name of kept) {
        assert.equal(statSync(path.join(out, "secrets", name)).mode & 0o777, 0o600, name);
    }
    const secret = (name) => readFileSync(path.join(out, "secrets", name), "utf8");
    assert.equal(secret("docs.DOCS_TOKEN"), "codex-secret");
    assert.equal(secret("tracker.Authorization"), "Bearer tracker-secret");
    assert.equal(statSync(path.join(out, "secrets")).mode & 0o777, 0o700);
    const overlays = readdirSync(out).filter((name) => name.endsWith(".overlay.yaml"));
    assert.equal(overlays.length, 11);
    for (const name of overlays) {
        assert.match(readFileSync(path.join(out, name), "utf8"), /^methods: \[\]$/m);
    }
    assert.match(stderr, /issues: write the value of ISSUES_KEY to .*issues\.ISSUES_KEY/);
    assert.ok(stdout.includes('command: ["npx", "-y", "docs-server@2.0.1", "--verbose"]'), stdout);
    // A server of a project runs in the folder of the project, as the client starts it.
    assert.match(stdout, /command: \["site-search", "--fast"\]\n.*working_directory: "?\/srv\/projects\/site/s);

    // The entries are a configuration, in which one file of a secret is missing.
    const config = path.join(out, "causeway.yaml");
    writeFileSync(config, stdout.slice(stdout.indexOf("sources:\n")));
    const before = await runCauseway(["config", "check", "--config", config]);
    assert.notEqual(before.code, 0);
    assert.match(before.stdout + before.stderr, /ISSUES_KEY/);
    writeFileSync(path.join(out, "secrets", "issues.ISSUES_KEY"), "key");
    const after = await runCauseway(["config", "check", "--config", config]);
    assert.equal(after.code, 0, after.stdout + after.stderr);
    assert.match(after.stdout + after.stderr, /mcp-database has no fixed version/);
});

test("no server gets the name of the built-in source", async () => {
    const home = newFolder("home");
    const file = path.join(home, files["cursor.json"]);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify({ mcpServers: { causeway: { url: "https://hub.example/mcp" } } }));
    const out = path.join(newFolder("out"), "sources");
    const { code, stdout, stderr } = await run(home, "--yes", "-o", out);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^ *- name: "?causeway-cursor"?$/m);
    assert.ok(!/name: "?causeway"?$/m.test(stdout), stdout);
});

test("a second run overwrites nothing", async () => {
    const home = makeHome(["cursor.json", "zed.json"]);
    const out = newFolder("out");
    assert.equal((await run(home, "--yes", "-o", out)).code, 0);
    const overlay = path.join(out, "database.overlay.yaml");
    writeFileSync(overlay, "methods: [query]\n");
    const { code, stderr } = await run(home, "--yes", "-o", out);
    assert.equal(code, 1);
    assert.match(stderr, /database is left out: '.*database\.overlay\.yaml': File exists/);
    assert.equal(readFileSync(overlay, "utf8"), "methods: [query]\n");
});

test("a file that cannot be read is left out by name, and the others are used", async () => {
    const home = makeHome(["cursor.json", "zed.json"]);
    writeFileSync(path.join(home, ".cursor/mcp.json"), '{"mcpServers": {');
    const { code, stdout, stderr } = await run(home, "--yes", "-o", newFolder("out"));
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Cursor: .*mcp\.json is left out/);
    assert.match(stdout, /notes \(Zed\)/);
});

test("without clients there is nothing to copy", async () => {
    const { code, stdout } = await run(makeHome([]));
    assert.equal(code, 0);
    assert.match(stdout, /No MCP server to copy/);
});
