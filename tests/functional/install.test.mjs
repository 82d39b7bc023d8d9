// causeway install: the configuration files of MCP clients, changed and changed back.
import assert from "node:assert/strict";
import {
    chmodSync,
    existsSync,
    lstatSync,
    mkdirSync,
    mkdtempSync,
    readFileSync,
    readdirSync,
    statSync,
    symlinkSync,
    writeFileSync,
} from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { cli, databasePath } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { pluginFile } from "./support/mcp.mjs";
import { binary, runCauseway, writeConfig } from "./support/programs.mjs";

const files = {
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "claude-code": ".claude.json",
    vscode: ".config/Code/User/mcp.json",
    cursor: ".cursor/mcp.json",
};
const section = (client) => (client === "vscode" ? "servers" : "mcpServers");

// A home of its own: install(client, ...options), and the client's file.
function makeHome(more = {}) {
    const home = mkdtempSync(path.join(keepFolder(), "home-"));
    const env = { HOME: home, XDG_CONFIG_HOME: "", CAUSEWAY_CONFIG: "", ...more };
    const at = (client) => path.join(home, files[client]);
    return {
        home,
        at,
        install: (...args) => runCauseway(["install", ...args], { env }),
        read: (client) => JSON.parse(readFileSync(at(client), "utf8")),
        write: (client, text) => {
            mkdirSync(path.dirname(at(client)), { recursive: true });
            writeFileSync(at(client), text);
        },
    };
}

async function installWell(home, ...args) {
    const { code, stdout, stderr } = await home.install(...args, "--yes");
    assert.equal(code, 0, stderr);
    return stdout;
}

suite("install", { concurrency: true }, () => {
    for (const client of Object.keys(files)) {
        test(`${client}: makes the file, and takes it back`, async () => {
            const home = makeHome();
            const stdout = await installWell(home, client);
            assert.match(stdout, /^\+.*"causeway"/m);
            const entry = home.read(client)[section(client)].causeway;
            assert.equal(entry.command, binary);
            assert.deepEqual(entry.args, ["stdio"]);
            assert.equal(statSync(home.at(client)).mode & 0o777, 0o600);
            await installWell(home, client, "--undo");
            assert.equal(existsSync(home.at(client)), false);
        });

        test(`${client}: other entries stay, and the file comes back to the byte`, async () => {
            const home = makeHome();
            const text = `{\n\t"theme": "dark",\n\t"${section(client)}": {\n\t\t"other": {"command": "x"}\n\t}\n}`;
            home.write(client, text);
            chmodSync(home.at(client), 0o640);
            await installWell(home, client);
            assert.deepEqual(home.read(client)[section(client)].other, { command: "x" });
            assert.equal(home.read(client).theme, "dark");
            assert.equal(statSync(home.at(client)).mode & 0o777, 0o640);
            assert.equal(readFileSync(`${home.at(client)}.causeway-backup`, "utf8"), text);
            assert.match(readFileSync(home.at(client), "utf8"), /\n\t\t"causeway": \{\n\t\t\t"/);
            await installWell(home, client, "--undo");
            assert.equal(readFileSync(home.at(client), "utf8"), text);
            assert.equal(readdirSync(path.dirname(home.at(client))).length, 1, "no backup is left");
        });
    }

    test("comments and commas at the end stay", async () => {
        const home = makeHome();
        const text = '// mine\n{\n  "servers": {\n    "a": {"command": "x"}, // a, "b": {\n  }, /* end */\n}\n';
        home.write("vscode", text);
        await installWell(home, "vscode", "--url", "http://127.0.0.1:8080/mcp");
        const now = readFileSync(home.at("vscode"), "utf8");
        for (const line of text.split("\n")) {
            assert.ok(now.includes(line), line);
        }
        assert.match(now, /"type": "http",\n {6}"url": "http:\/\/127.0.0.1:8080\/mcp"/);
        await installWell(home, "vscode", "--undo");
        assert.equal(readFileSync(home.at("vscode"), "utf8"), text);
    });

    test("what others change later stays when the entry is taken back", async () => {
        const home = makeHome();
        home.write("cursor", '{"mcpServers": {"causeway": {"command": "old"}}}');
        await installWell(home, "cursor");
        const now = home.read("cursor");
        now.mcpServers.later = { command: "y" };
        home.write("cursor", JSON.stringify(now));
        await installWell(home, "cursor", "--undo");
        assert.deepEqual(home.read("cursor").mcpServers, {
            causeway: { command: "old" },
            later: { command: "y" },
        });
    });

    test("a second time with the same changes nothing, with another it replaces", async () => {
        const home = makeHome();
        home.write("cursor", "{}");
        const config = writeConfig({ store: { path: databasePath() } });
        await cli(config, "account", "add", "alice", "--no-password");
        await installWell(home, "cursor");
        assert.match(await installWell(home, "cursor"), /Nothing has to be changed/);
        await installWell(home, "cursor", "--config", config, "--as", "alice");
        const { args } = home.read("cursor").mcpServers.causeway;
        assert.deepEqual(args, ["stdio", "--config", config, "--as", "alice"]);
        await installWell(home, "cursor", "--undo");
        assert.equal(readFileSync(home.at("cursor"), "utf8"), "{}");
    });

    test("--as an account that does not exist, or is blocked, is refused", async () => {
        const home = makeHome();
        const config = writeConfig({ store: { path: databasePath() } });
        await cli(config, "account", "add", "bob", "--no-password");
        await cli(config, "account", "block", "bob");
        for (const [name, pattern] of [
            ["alice", /there is no account 'alice'/],
            ["bob", /the account 'bob' is blocked/],
        ]) {
            const words = ["cursor", "--yes", "--config", config, "--as", name];
            const { code, stdout, stderr } = await home.install(...words);
            assert.deepEqual([code, stdout], [1, ""], stderr);
            assert.match(stderr, pattern);
        }
        assert.deepEqual(readdirSync(home.home), []);
    });

    test("--token-file stands in the arguments, and the token does not", async () => {
        const home = makeHome();
        const config = writeConfig({ store: { path: databasePath() } });
        const file = path.join(keepFolder(), "install-token");
        writeFileSync(file, "cw_secret\n", { mode: 0o600 });
        await installWell(home, "cursor", "--config", config, "--token-file", file);
        const { args } = home.read("cursor").mcpServers.causeway;
        assert.deepEqual(args, ["stdio", "--config", config, "--token-file", file]);
    });

    test("--plugin and --name", async () => {
        const home = makeHome();
        await installWell(home, "claude-code", "--plugin", pluginFile("echo"), "--name", "echo-1");
        const entry = home.read("claude-code").mcpServers["echo-1"];
        assert.deepEqual(entry.args, ["stdio", "--plugin", pluginFile("echo")]);
        assert.equal(entry.type, "stdio");
    });

    test("XDG_CONFIG_HOME, and the configuration that the environment names", async () => {
        const folder = mkdtempSync(path.join(keepFolder(), "xdg-"));
        const config = writeConfig({});
        const home = makeHome({ XDG_CONFIG_HOME: folder, CAUSEWAY_CONFIG: config });
        await installWell(home, "claude-desktop");
        const file = path.join(folder, "Claude/claude_desktop_config.json");
        const { args } = JSON.parse(readFileSync(file, "utf8")).mcpServers.causeway;
        assert.deepEqual(args, ["stdio", "--config", config]);
    });

    test("--dry-run writes nothing, and without a terminal nothing is written unasked", async () => {
        const home = makeHome();
        const dry = await home.install("cursor", "--dry-run");
        assert.equal(dry.code, 0);
        assert.match(dry.stdout, /^\+.*"causeway"/m);
        const unasked = await home.install("cursor");
        assert.equal(unasked.code, 2);
        assert.match(unasked.stderr, /--yes/);
        assert.deepEqual(readdirSync(home.home), []);
    });

    test("a link stays a link", async () => {
        const home = makeHome();
        writeFileSync(path.join(home.home, "real.json"), "{}");
        symlinkSync("real.json", home.at("claude-code"));
        await installWell(home, "claude-code");
        assert.ok(lstatSync(home.at("claude-code")).isSymbolicLink());
        assert.ok(home.read("claude-code").mcpServers.causeway);
    });

    for (const [name, text] of [
        ["broken JSON", '{"mcpServers": '],
        ["a list", "[]"],
        ["a section that is no object", '{"mcpServers": []}'],
        ["duplicate keys", '{"mcpServers": {}, "mcpServers": {}}'],
    ]) {
        test(`${name} is left as it is`, async () => {
            const home = makeHome();
            home.write("cursor", text);
            const { code, stderr } = await home.install("cursor", "--yes");
            assert.equal(code, 1);
            assert.match(stderr, /is left as it is/);
            assert.equal(readFileSync(home.at("cursor"), "utf8"), text);
            assert.deepEqual(readdirSync(path.dirname(home.at("cursor"))), ["mcp.json"]);
        });
    }

    for (const [args, pattern] of [
        [[], /which client/],
        [["emacs"], /which client/],
        [["claude-desktop", "--url", "http://x"], /leave out --url/],
        [["cursor", "--url", "ftp://x"], /http/],
        [["cursor", "--url", "http://x", "--config", "y"], /leave out/],
        [["cursor", "--name", "a b"], /a name has/],
        [["cursor", "--yes", "--dry-run"], /exclude/],
    ]) {
        test(`refused: install ${args.join(" ")}`, async () => {
            const { code, stderr } = await makeHome().install(...args);
            assert.equal(code, 2);
            assert.match(stderr, pattern);
        });
    }

    test("what stdio would refuse is not written", async () => {
        const home = makeHome();
        const bad = writeConfig({ limits: { header_sise: 1 } });
        for (const [words, pattern] of [
            [["--config", bad], /limits\.header_sise: unknown key; did you mean "header_size"/],
            [["--config", "/no/such/file.yaml"], /No such file/],
            [["--config", writeConfig({}), "--as", "alice"], /--as needs a database: set store\.path/],
            [["--as", "alice"], /--as needs a database/],
        ]) {
            const { code, stdout, stderr } = await home.install("cursor", "--yes", ...words);
            assert.deepEqual([code, stdout], [2, ""], stderr);
            assert.match(stderr, pattern);
        }
        assert.deepEqual(readdirSync(home.home), []);
        // A configuration that has gone bad since is no reason to keep the entry.
        await installWell(home, "cursor");
        const undone = await home.install("cursor", "--undo", "--yes", "--config", bad);
        assert.equal(undone.code, 0, undone.stderr);
    });

    test("variables that the client must set are named once", async () => {
        const source = (name, more) => ({ name, url: "http://127.0.0.1:9/", ...more });
        const secret = { environment: "SHOP_TOKEN" };
        const oauth = { token_url: "https://x.example/", client_id: "c", client_secret_environment: "SHOP_OAUTH" };
        const sources = [source("a", { secret }), source("b", { secret }), source("c", { oauth })];
        const home = makeHome();
        const { code, stderr } = await home.install("cursor", "--yes", "--config", writeConfig({ sources }));
        assert.equal(code, 0, stderr);
        const named = stderr
            .trim()
            .split("\n")
            .map((line) => line.match(/^warning: .*variable (\w+): the client must/)?.[1]);
        assert.deepEqual(named, ["SHOP_TOKEN", "SHOP_OAUTH"]);
    });

    test("there is nothing to take back", async () => {
        const { code, stderr } = await makeHome().install("cursor", "--undo", "--yes");
        assert.equal(code, 1);
        assert.match(stderr, /no entry/);
    });
});

suite("install, where files cannot be written", { concurrency: true }, () => {
    test("a home that is a file is an error, and nothing is written", async () => {
        const home = makeHome();
        const file = path.join(home.home, "file");
        writeFileSync(file, "x");
        const other = makeHome({ HOME: file });
        const { code, stderr } = await other.install("cursor", "--yes");
        assert.equal(code, 1);
        assert.match(stderr, /file\/.*Not a directory/);
        assert.equal(readFileSync(file, "utf8"), "x");
    });

    test("a dangling link in place of a directory is an error", async () => {
        const home = makeHome();
        symlinkSync(path.join(home.home, "nowhere", "deep"), path.join(home.home, ".cursor"));
        const { code, stderr } = await home.install("cursor", "--yes");
        assert.equal(code, 1);
        assert.match(stderr, /\.cursor.*No such file or directory/);
    });

    test("a home that is too long or relative is an error", async () => {
        for (const HOME of [`/${"a/".repeat(2_200)}`, "relative"]) {
            const { code, stderr } = await makeHome({ HOME }).install("cursor", "--yes");
            assert.notEqual(code, 0);
            assert.match(stderr, /cannot find the files of Cursor: HOME/);
        }
    });
});
