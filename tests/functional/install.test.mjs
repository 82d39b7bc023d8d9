// causeway install: the configuration files of MCP clients, changed and changed back.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
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

// Each client: its file, what the file holds, and the text around a second entry. `others` must survive every edit.
const json = { parse: JSON.parse, format: "json" };
const products = {
    "claude-code": { ...json, file: ".claude.json", section: "mcpServers", type: "stdio" },
    "claude-desktop": { ...json, file: ".config/Claude/claude_desktop_config.json", section: "mcpServers", url: null },
    codex: { format: "toml", file: ".codex/config.toml" },
    continue: { format: "yaml", file: ".continue/config.yaml", section: "mcpServers" },
    cursor: { ...json, file: ".cursor/mcp.json", section: "mcpServers" },
    gemini: { ...json, file: ".gemini/settings.json", section: "mcpServers", url: "httpUrl" },
    goose: { format: "yaml", file: ".config/goose/config.yaml", section: "extensions" },
    "lm-studio": { ...json, file: ".lmstudio/mcp.json", section: "mcpServers" },
    opencode: { ...json, file: ".config/opencode/opencode.json", section: "mcp" },
    qwen: { ...json, file: ".qwen/settings.json", section: "mcpServers", url: "httpUrl" },
    vscode: { ...json, file: ".config/Code/User/mcp.json", section: "servers", type: "stdio" },
    windsurf: { ...json, file: ".codeium/windsurf/mcp_config.json", section: "mcpServers", url: "serverUrl" },
    zed: { ...json, file: ".config/zed/settings.json", section: "context_servers" },
};
const address = "http://127.0.0.1:8080/mcp";

// A configuration with a source whose secret is in the environment.
const configWithSecret = () =>
    writeConfig({ sources: [{ name: "api", url: "http://127.0.0.1:9/", secret: { environment: "API_KEY" } }] });

// The text of a file with this entry in it: { stdio, http }, for a program that is started and for an address.
function expected(client) {
    const { format, section, type } = products[client];
    if (client === "codex") {
        return {
            stdio: `[mcp_servers.causeway]\ncommand = "${binary}"\nargs = ["stdio"]\n`,
            http: `[mcp_servers.causeway]\nurl = "${address}"\n`,
        };
    }
    if (client === "continue") {
        const head = "name: Local Config\nversion: 1.0.0\nschema: v1\nmcpServers:\n";
        return {
            stdio: `${head}  - name: "causeway"\n    command: "${binary}"\n    args: ["stdio"]\n`,
            http: `${head}  - name: "causeway"\n    type: "streamable-http"\n    url: "${address}"\n`,
        };
    }
    if (client === "goose") {
        const entry = (type, rest) =>
            `extensions:\n  causeway:\n    enabled: true\n    type: "${type}"\n    name: "causeway"\n` +
            `    description: "Tools of Causeway"\n${rest}    timeout: 300\n`;
        return {
            stdio: entry("stdio", `    cmd: "${binary}"\n    args: ["stdio"]\n`),
            http: entry("streamable_http", `    uri: "${address}"\n`),
        };
    }
    assert.equal(format, "json");
    const head = client === "opencode" ? { $schema: "https://opencode.ai/config.json" } : {};
    const file = (causeway) => ({ ...head, [section]: { causeway } });
    if (client === "opencode") {
        return {
            stdio: file({ type: "local", command: [binary, "stdio"] }),
            http: file({ type: "remote", url: address }),
        };
    }
    const typed = (name) => (type ? { type: name } : {});
    return {
        stdio: file({ ...typed("stdio"), command: binary, args: ["stdio"] }),
        http: file({ ...typed("http"), [products[client].url ?? "url"]: address }),
    };
}

// A file with another entry, a comment where the format has them, and no line break at its end.
function otherText(client) {
    const { format, section } = products[client];
    return {
        json: `{\n\t"theme": "dark",\n\t"${section}": {\n\t\t"other": {"command": "x"}\n\t}\n}`,
        toml: '# mine\nmodel = "m" # best\n\n[mcp_servers.other]\ncommand = "x"',
        yaml:
            section === "extensions"
                ? "# mine\nGOOSE_MODEL: m # best\nextensions:\n  other:\n    cmd: x"
                : "name: mine # best\nmcpServers:\n- name: other\n  command: x",
    }[format];
}

// A home of its own: install(client, ...options), and the client's file.
function makeHome(more = {}) {
    const home = mkdtempSync(path.join(keepFolder(), "home-"));
    const env = { HOME: home, XDG_CONFIG_HOME: "", CAUSEWAY_CONFIG: "", ...noVariables, ...more };
    const at = (client) => path.join(home, products[client].file);
    return {
        home,
        at,
        install: (...args) => runCauseway(["install", ...args], { env }),
        text: (client) => readFileSync(at(client), "utf8"),
        read: (client) => JSON.parse(readFileSync(at(client), "utf8")),
        write: (client, text) => {
            mkdirSync(path.dirname(at(client)), { recursive: true });
            writeFileSync(at(client), text);
        },
    };
}

const noVariables = Object.fromEntries(
    ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "CONTINUE_GLOBAL_DIR", "GEMINI_CLI_HOME", "QWEN_HOME"].map((name) => [
        name,
        "",
    ]),
);

function assertHolds(client, text, wanted) {
    if (products[client].parse) {
        assert.deepEqual(products[client].parse(text), wanted);
    } else {
        assert.equal(text, wanted);
    }
}

async function installWell(home, ...args) {
    const { code, stdout, stderr } = await home.install(...args, "--yes");
    assert.equal(code, 0, stderr);
    return stdout;
}

suite("install", { concurrency: true }, () => {
    for (const client of Object.keys(products)) {
        test(`${client}: makes the file, and removes it`, async () => {
            const home = makeHome();
            assert.match(await installWell(home, client), /^\+.*causeway/m);
            assertHolds(client, home.text(client), expected(client).stdio);
            assert.equal(statSync(home.at(client)).mode & 0o777, 0o600);
            await installWell(home, client, "--undo");
            assert.deepEqual(readdirSync(path.dirname(home.at(client))), []);
        });

        test(`${client}: other entries stay, and the file comes back to the byte`, async () => {
            const home = makeHome();
            const text = otherText(client);
            home.write(client, text);
            chmodSync(home.at(client), 0o640);
            await installWell(home, client);
            assert.ok(home.text(client).includes(binary));
            for (const line of text.split("\n")) {
                assert.ok(home.text(client).includes(line), line);
            }
            assert.equal(statSync(home.at(client)).mode & 0o777, 0o640);
            assert.equal(readFileSync(`${home.at(client)}.causeway-backup`, "utf8"), text);
            assert.match(await installWell(home, client), /no change is needed/);
            await installWell(home, client, "--undo");
            assert.equal(home.text(client), text);
            assert.equal(readdirSync(path.dirname(home.at(client))).length, 1, "no backup is left");
        });

        test(`${client}: a later change of others survives --undo`, async () => {
            const home = makeHome();
            home.write(client, otherText(client));
            await installWell(home, client);
            const later = home.text(client).replace("other", "later");
            home.write(client, later);
            await installWell(home, client, "--undo");
            assert.match(home.text(client), /later/);
            assert.doesNotMatch(home.text(client), /causeway/);
        });

        if (products[client].url !== null) {
            test(`${client}: the address of a running server`, async () => {
                const home = makeHome();
                await installWell(home, client, "--url", address);
                assertHolds(client, home.text(client), expected(client).http);
                const { stdout, code } = await home.install(client, "--url", address, "--print");
                assert.equal(code, 0);
                assert.equal(stdout, home.text(client));
            });
        }
    }

    for (const [client, pattern] of [
        ["claude-code", /"Authorization": "Bearer \$\{MY_TOKEN\}"/],
        ["codex", /^bearer_token_env_var = "MY_TOKEN"$/m],
        ["continue", /requestOptions: \{"headers": \{"Authorization": "Bearer \$\{\{ secrets\.MY_TOKEN \}\}"\}\}/],
        ["cursor", /"Authorization": "Bearer \$\{env:MY_TOKEN\}"/],
        ["gemini", /"Authorization": "Bearer \$\{MY_TOKEN\}"/],
        ["goose", /env_keys: \["MY_TOKEN"\]\n {4}headers: \{"Authorization": "Bearer \$\{MY_TOKEN\}"\}/],
        ["opencode", /"Authorization": "Bearer \{env:MY_TOKEN\}"/],
        ["qwen", /"Authorization": "Bearer \$\{MY_TOKEN\}"/],
        ["vscode", /"Authorization": "Bearer \$\{env:MY_TOKEN\}"/],
        ["windsurf", /"Authorization": "Bearer \$\{env:MY_TOKEN\}"/],
    ]) {
        test(`${client}: a token is the name of a variable`, async () => {
            const home = makeHome({ MY_TOKEN: "cw_secret" });
            await installWell(home, client, "--url", address, "--token-env", "MY_TOKEN");
            assert.match(home.text(client), pattern);
            assert.doesNotMatch(home.text(client), /cw_secret/);
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
        assert.match(await installWell(home, "cursor"), /no change is needed/);
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
            ["alice", /account 'alice' does not exist/],
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

    test("--token-file without a database or issuer is refused, as stdio refuses it", async () => {
        const home = makeHome();
        const file = path.join(keepFolder(), "unchecked-token");
        writeFileSync(file, "cw_secret\n", { mode: 0o600 });
        for (const words of [["--config", writeConfig({})], []]) {
            const { code, stdout, stderr } = await home.install("cursor", "--yes", ...words, "--token-file", file);
            assert.deepEqual([code, stdout], [2, ""], stderr);
            assert.match(stderr, /a token cannot be checked: set store\.path or access\.issuers/);
        }
        assert.deepEqual(readdirSync(home.home), []);
    });

    test("--tool-names is an argument of the program", async () => {
        const home = makeHome();
        await installWell(home, "opencode", "--tool-names", "exact");
        assert.deepEqual(home.read("opencode").mcp.causeway.command, [binary, "stdio", "--tool-names", "exact"]);
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

    for (const [client, variable, inside] of [
        ["claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"],
        ["codex", "CODEX_HOME", "config.toml"],
        ["continue", "CONTINUE_GLOBAL_DIR", "config.yaml"],
        ["gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"],
        ["qwen", "QWEN_HOME", "settings.json"],
        ["zed", "XDG_CONFIG_HOME", "zed/settings.json"],
        ["goose", "XDG_CONFIG_HOME", "goose/config.yaml"],
        ["opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"],
    ]) {
        test(`${client}: ${variable} names the directory`, async () => {
            const folder = mkdtempSync(path.join(keepFolder(), "elsewhere-"));
            const home = makeHome({ [variable]: folder });
            await installWell(home, client);
            assert.ok(readFileSync(path.join(folder, inside), "utf8").includes(binary));
            assert.deepEqual(readdirSync(home.home), []);
        });
    }

    test("a relative directory in a variable is an error", async () => {
        const home = makeHome({ CODEX_HOME: "relative" });
        const { code, stderr } = await home.install("codex", "--yes");
        assert.equal(code, 1);
        assert.match(stderr, /cannot find the files of Codex: CODEX_HOME is not an absolute path/);
    });

    test("a file under the product's second name is used where only that exists", async () => {
        const home = makeHome();
        const file = path.join(home.home, ".config/opencode/opencode.jsonc");
        mkdirSync(path.dirname(file), { recursive: true });
        writeFileSync(file, "{ // mine\n}\n");
        await installWell(home, "opencode");
        assert.match(readFileSync(file, "utf8"), /^\{ \/\/ mine\n.*"mcp"/s);
        await installWell(home, "opencode", "--undo");
        assert.deepEqual(readdirSync(path.dirname(file)), ["opencode.jsonc"]);
    });

    test("continue: an old config.json is not put out of use", async () => {
        const home = makeHome();
        mkdirSync(path.join(home.home, ".continue"));
        writeFileSync(path.join(home.home, ".continue/config.json"), "{}");
        const { code, stderr } = await home.install("continue", "--yes");
        assert.equal(code, 1);
        assert.match(stderr, /Continue would ignore 'config\.json' if 'config\.yaml' existed/);
    });

    test("two entries in one file come and go on their own", async () => {
        const home = makeHome();
        home.write("cursor", "{}\n");
        await installWell(home, "cursor", "--name", "one");
        const one = home.text("cursor");
        await installWell(home, "cursor", "--name", "two");
        await installWell(home, "cursor", "--name", "one", "--undo");
        assert.deepEqual(Object.keys(home.read("cursor").mcpServers), ["two"]);
        await installWell(home, "cursor", "--name", "one");
        await installWell(home, "cursor", "--name", "two", "--undo");
        assert.deepEqual(home.read("cursor"), JSON.parse(one));
        await installWell(home, "cursor", "--name", "one", "--undo");
        assert.ok(existsSync(home.at("cursor")));
        assert.deepEqual(home.read("cursor").mcpServers ?? {}, {});
    });

    test("--undo removes an entry that was written twice", async () => {
        const home = makeHome();
        await installWell(home, "codex", "--plugin", pluginFile("echo"));
        await installWell(home, "codex");
        assert.equal(home.text("codex"), expected("codex").stdio);
        await installWell(home, "codex", "--undo");
        assert.deepEqual(readdirSync(path.dirname(home.at("codex"))), []);
    });

    test("--undo keeps a file that install did not make", async () => {
        const home = makeHome();
        const { stdout } = await home.install("cursor", "--print");
        home.write("cursor", stdout);
        await installWell(home, "cursor", "--undo");
        assert.deepEqual(home.read("cursor"), { mcpServers: {} });
    });

    test("--undo keeps a file that install made and others use since", async () => {
        const home = makeHome();
        await installWell(home, "codex");
        writeFileSync(home.at("codex"), `model = "m"\n${home.text("codex")}`);
        await installWell(home, "codex", "--undo");
        assert.equal(home.text("codex"), 'model = "m"\n');
        assert.deepEqual(readdirSync(path.dirname(home.at("codex"))), ["config.toml"]);
    });

    test("--all writes to every client that is there, and reports the rest", async () => {
        const home = makeHome();
        mkdirSync(path.join(home.home, ".claude"));
        mkdirSync(path.join(home.home, ".config/Claude"), { recursive: true });
        home.write("codex", 'model = "m"\n');
        home.write("goose", "extensions: [\n");
        const first = await home.install("--all", "--yes", "--url", address);
        assert.equal(first.code, 1, "a broken file is a failure");
        assert.match(first.stdout, /^Claude Code: entry written\./m);
        assert.match(first.stdout, /^Claude Desktop starts its servers itself/m);
        assert.match(first.stdout, /^Codex: entry written\./m);
        assert.match(first.stdout, /^Not found: Continue, Cursor, Gemini CLI, .*, Zed$/m);
        assert.match(first.stderr, /goose\/config\.yaml' is left unchanged/);
        assert.equal(home.text("goose"), "extensions: [\n");
        home.write("goose", "extensions: {}\n");
        assert.match(await installWell(home, "--all"), /^Goose: entry written\./m);
        const all = ["claude-code", "claude-desktop", "codex", "goose"];
        const texts = all.map(home.text);
        const again = await installWell(home, "--all");
        assert.equal(again.match(/: no change is needed\.$/gm).length, 4);
        assert.deepEqual(all.map(home.text), texts);
        assert.match(await installWell(home, "--all", "--undo"), /^Codex: entry removed\./m);
        assert.match(await installWell(home, "--all", "--undo"), /^Goose: no entry\.$/m);
        assert.equal(home.text("goose"), "extensions: {}\n");
        assert.equal(home.text("codex"), 'model = "m"\n');
    });

    test("--all without a client is an error", async () => {
        const { code, stderr } = await makeHome().install("--all", "--yes");
        assert.equal(code, 1);
        assert.match(stderr, /no client was found/);
    });

    test("--help lists every client", async () => {
        const { stdout } = await makeHome().install("--help");
        for (const client of Object.keys(products)) {
            assert.ok(stdout.includes(client), client);
        }
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

    for (const [client, text] of [
        ["codex", 'model = "m\n'],
        ["continue", "mcpServers: {a: b}\n"],
        ["goose", "extensions:\n\ta: b\n"],
        ["zed", '{"context_servers": {}} // }\n]'],
    ]) {
        test(`${client}: a file that cannot be edited is left unchanged`, async () => {
            const home = makeHome();
            home.write(client, text);
            const { code, stdout, stderr } = await home.install(client, "--yes");
            assert.equal(code, 1);
            assert.match(stderr, /is left unchanged: /);
            // The entry, to be added by hand.
            assert.match(stdout, /^The entry, for a file that you edit yourself:\n/);
            assert.equal(stdout.slice(stdout.indexOf("\n") + 1), (await home.install(client, "--print")).stdout);
            assert.equal(home.text(client), text);
            assert.equal(readdirSync(path.dirname(home.at(client))).length, 1);
        });
    }

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
            assert.match(stderr, /is left unchanged/);
            assert.equal(readFileSync(home.at("cursor"), "utf8"), text);
            assert.deepEqual(readdirSync(path.dirname(home.at("cursor"))), ["mcp.json"]);
        });
    }

    for (const [args, pattern] of [
        [[], /name one client, or give --all: claude-code, .*, zed/],
        [["emacs"], /unknown client 'emacs'; name one client/],
        [["cursor", "--all"], /name one client/],
        [["claude-desktop", "--url", "http://x"], /Claude Desktop starts its servers itself/],
        [["zed", "--url", "http://x", "--token-env", "T"], /Zed reads no token from the environment/],
        [["cursor", "--token-env", "T"], /--token-env needs --url/],
        [["cursor", "--url", "http://x", "--token-env", "1T"], /not the name of an environment variable/],
        [["cursor", "--url", "http://x", "--token-env", "a-b"], /not the name of an environment variable/],
        [["cursor", "--print", "--undo"], /--print excludes/],
        [["--all", "--print"], /--print excludes/],
        [["cursor", "--url", "ftp://x"], /http/],
        [["cursor", "--url", "http://x", "--config", "y"], /leave out/],
        [["cursor", "--url", "http://x", "--tool-names", "exact"], /leave out/],
        [["cursor", "--tool-names", "short"], /--tool-names is portable or exact, not short/],
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

    // What the entry has for the variable API_KEY that a configuration reads.
    for (const [client, pattern] of [
        ["claude-code", /"env": \{\s*"API_KEY": "\$\{API_KEY\}"\s*\}/],
        ["codex", /^env_vars = \["API_KEY"\]$/m],
        ["continue", /^ +env: \{"API_KEY": "\$\{\{ secrets\.API_KEY \}\}"\}$/m],
        ["cursor", /"env": \{\s*"API_KEY": "\$\{env:API_KEY\}"\s*\}/],
        ["gemini", /"env": \{\s*"API_KEY": "\$\{API_KEY\}"\s*\}/],
        ["goose", /^ {4}env_keys: \["API_KEY"\]$/m],
        ["opencode", /"environment": \{\s*"API_KEY": "\{env:API_KEY\}"\s*\}/],
        ["qwen", /"env": \{\s*"API_KEY": "\$\{API_KEY\}"\s*\}/],
        ["vscode", /"env": \{\s*"API_KEY": "\$\{env:API_KEY\}"\s*\}/],
        ["windsurf", /"env": \{\s*"API_KEY": "\$\{env:API_KEY\}"\s*\}/],
    ]) {
        test(`${client}: the entry refers to the variable of a secret, and --undo takes it back`, async () => {
            const home = makeHome({ API_KEY: "very-secret" });
            const text = otherText(client);
            home.write(client, text);
            const { code, stdout, stderr } = await home.install(client, "--yes", "--config", configWithSecret());
            assert.equal(code, 0, stderr);
            assert.match(home.text(client), pattern);
            assert.doesNotMatch(home.text(client) + stdout + stderr, /very-secret/);
            assert.match(stderr, /reads the variable API_KEY: the client must have it in its environment/);
            await installWell(home, client, "--undo");
            assert.equal(home.text(client), text);
        });
    }

    for (const client of ["claude-desktop", "lm-studio", "zed"]) {
        test(`${client}: the value of a secret is copied on request, and never shown`, async () => {
            const home = makeHome({ API_KEY: 'very-"secret' });
            const config = configWithSecret();
            const plain = await home.install(client, "--yes", "--config", config);
            assert.equal(plain.code, 0, plain.stderr);
            assert.match(plain.stderr, /reads the variable API_KEY: give --copy-env/);
            assert.doesNotMatch(home.text(client), /very-/);
            const copied = await home.install(client, "--yes", "--copy-env", "--config", config);
            assert.equal(copied.code, 0, copied.stderr);
            assert.equal(copied.stderr, "");
            const entry = home.read(client)[products[client].section].causeway;
            assert.deepEqual(entry.env, { API_KEY: 'very-"secret' });
            assert.equal(statSync(home.at(client)).mode & 0o777, 0o600);
            assert.match(copied.stdout, /"API_KEY": "\*{8}"/);
            const undone = await installWell(home, client, "--undo");
            assert.doesNotMatch(copied.stdout + undone, /very-/);
            assert.deepEqual(readdirSync(path.dirname(home.at(client))), []);
        });
    }

    test("--copy-env needs the variable and a configuration", async () => {
        const home = makeHome();
        for (const [words, pattern] of [
            [["--config", configWithSecret()], /--copy-env: the variable API_KEY is not set/],
            [["--url", address], /--copy-env needs a configuration/],
        ]) {
            const { code, stderr } = await home.install("zed", "--yes", "--copy-env", ...words);
            assert.equal(code, 2, stderr);
            assert.match(stderr, pattern);
        }
        assert.deepEqual(readdirSync(home.home), []);
    });

    test("--print without a client has the form that most clients read", async () => {
        const home = makeHome();
        const program = await home.install("--print");
        assert.equal(program.code, 0, program.stderr);
        const entry = { type: "stdio", command: binary, args: ["stdio"] };
        assert.deepEqual(JSON.parse(program.stdout), { mcpServers: { causeway: entry } });
        const { stdout } = await home.install("--print", "--url", address, "--token-env", "T");
        const headers = { Authorization: "Bearer ${T}" };
        assert.deepEqual(JSON.parse(stdout), { mcpServers: { causeway: { type: "http", url: address, headers } } });
        assert.deepEqual(readdirSync(home.home), []);
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
            .map((line) => line.match(/^warning: .*variable (\w+): the client must have it/)?.[1]);
        assert.deepEqual(named, ["SHOP_TOKEN", "SHOP_OAUTH"]);
    });

    test("there is nothing to take back", async () => {
        const { code, stderr } = await makeHome().install("cursor", "--undo", "--yes");
        assert.equal(code, 1);
        assert.match(stderr, /no entry/);
    });
});

// Runs the command on a terminal of its own, and calls answer() when it asks.
function onTerminal(home, words, answer) {
    return new Promise((resolve, reject) => {
        const line = ["exec", ...[binary, "install", ...words].map((word) => `'${word}'`)].join(" ");
        const env = { ...process.env, ...noVariables, HOME: home.home, XDG_CONFIG_HOME: "", CAUSEWAY_CONFIG: "" };
        const child = spawn("script", ["-qec", line, "/dev/null"], { env, stdio: ["pipe", "pipe", "inherit"] });
        let text = "";
        let isAsked = false;
        child.on("error", reject);
        child.stdout.setEncoding("utf8").on("data", (piece) => {
            text += piece;
            if (!isAsked && text.includes("Write this change? [y/N] ")) {
                isAsked = true;
                child.stdin.write(answer());
            }
        });
        child.on("close", (code) => resolve({ code, text }));
    });
}

suite("install, on a terminal", { concurrency: true }, () => {
    test("the change is written after a yes", async () => {
        const home = makeHome();
        const { code, text } = await onTerminal(home, ["codex"], () => "y\n");
        assert.equal(code, 0, text);
        assert.match(text, /\+\[mcp_servers\.causeway\]/);
        assert.equal(home.text("codex"), expected("codex").stdio);
    });

    test("nothing is written after a no", async () => {
        const home = makeHome();
        const { code, text } = await onTerminal(home, ["codex"], () => "\n");
        assert.equal(code, 1, text);
        assert.match(text, /nothing was changed/);
        assert.deepEqual(readdirSync(home.home), []);
    });

    test("a file that the client writes meanwhile is not replaced", async () => {
        const home = makeHome();
        home.write("claude-code", "{}\n");
        const { code, text } = await onTerminal(home, ["claude-code"], () => {
            home.write("claude-code", '{"numStartups": 2}\n');
            return "y\n";
        });
        assert.equal(code, 1, text);
        assert.match(text, /has changed meanwhile: run the command again/);
        assert.deepEqual(home.read("claude-code"), { numStartups: 2 });
        assert.deepEqual(readdirSync(home.home), [".claude.json"]);
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
