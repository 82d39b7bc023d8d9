// causeway call, list and describe: tools from a terminal, by the rules that clients have.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { suite, test } from "node:test";
import { promisify } from "node:util";
import { call, cli, databasePath, discover } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { makePluginFolder, permissions } from "./support/mcp.mjs";
import { binary, runCauseway, writeConfig } from "./support/programs.mjs";
import { startService } from "./support/service.mjs";
import { freePort } from "./support/ports.mjs";
import { onTerminal } from "./support/terminal.mjs";

const methods = ["add", "echo", "fail", "wait"];

const service = await startService();

const shop = (more = {}) => ({ name: "shop", url: service.url, prefix: "shop.", methods, ...more });

function configure(more = {}) {
    return writeConfig({ roles: { anonymous: permissions }, sources: [shop()], ...more });
}

async function run(config, ...words) {
    const { code, stdout, stderr } = await runCauseway([...words, "--config", config]);
    return { code, stdout, stderr };
}

suite("call", { concurrency: true }, () => {
    test("prints the result as JSON", async () => {
        const words = ["call", "shop.add", "--arg", "a=40", "--arg", "b=2"];
        assert.deepEqual(await run(configure(), ...words), { code: 0, stdout: "42\n", stderr: "" });
    });

    test("takes a value as JSON where the parameter is no text", async () => {
        const config = configure();
        const { stdout } = await run(config, "call", "shop.echo", "-a", "message=17");
        assert.deepEqual(JSON.parse(stdout), { message: "17" });
        const wrong = await run(config, "call", "shop.add", "-a", "a=x", "-a", "b=2");
        assert.equal(wrong.code, 2);
        assert.match(wrong.stderr, /--arg "a": its value must be JSON/);
        const text = await run(config, "call", "shop.add", "-a", 'a="1"', "-a", "b=2");
        assert.equal(text.code, 1);
        assert.match(text.stderr, /shop.add: \/a: expected integer, got string/);
    });

    test("takes all arguments at once", async () => {
        const config = configure();
        const { stdout } = await run(config, "call", "shop.add", "--json", '{"a":1,"b":2}');
        assert.equal(stdout, "3\n");
        for (const [words, pattern] of [
            [["--json", "{}", "-a", "a=1"], /not with both/],
            [["--json", '{"a":1'], /^causeway: --json: /],
            [["--json", "3"], /arguments are an object/],
        ]) {
            const { code, stderr } = await run(config, "call", "shop.add", ...words);
            assert.equal(code, 2, words.join(" "));
            assert.match(stderr, pattern);
        }
    });

    test("takes as many arguments as a tool could have, up to a ceiling", async () => {
        const pairs = (n) => Array.from({ length: n }, (_, i) => [`p${i}`, i]);
        const wide = await startService();
        const echo = wide.document.methods.find(({ name }) => name === "echo");
        echo.params = pairs(256).map(([name]) => ({ name, schema: { type: "integer" } }));
        echo.paramStructure = "by-name";
        const config = configure({ sources: [shop({ url: wide.url })] });
        const words = (n) => pairs(n).flatMap(([name, value]) => ["-a", `${name}=${value}`]);
        for (const n of [17, 256]) {
            const { code, stdout, stderr } = await run(config, "call", "shop.echo", ...words(n));
            assert.equal(code, 0, stderr);
            assert.deepEqual(JSON.parse(stdout), Object.fromEntries(pairs(n)));
        }
        const unknown = await run(config, "call", "shop.echo", ...words(1_024));
        assert.equal(unknown.code, 1);
        assert.match(unknown.stderr, /Unknown parameter: p256/);
        const { code, stdout, stderr } = await run(config, "call", "shop.echo", ...words(1_025));
        assert.deepEqual([code, stdout], [2, ""]);
        assert.equal(stderr, 'causeway: option "--arg" may be given 1024 times; --json takes them all at once\n');
        const twice = await run(config, "call", "shop.echo", ...words(1_023), "-a", "p7=1");
        assert.equal(twice.code, 2);
        assert.match(twice.stderr, /--arg "p7": given twice/);
    });

    test("reports what goes wrong on standard error, and ends with 1", async () => {
        const config = configure();
        for (const [words, pattern] of [
            [["shop.fail"], /^causeway: shop.fail: no luck \(code 42\)\ndata: \{"why":"never"\}\n$/],
            [["shop.add", "-a", "a=1"], /shop.add: Missing required parameter: b/],
            [["shop.add", "-a", "a=1", "-a", "b=2", "-a", "c=3"], /Unknown parameter: c/],
            [["shop.ad"], /there is no tool "shop.ad" for anonymous; did you mean "shop.add"\?/],
            [["shop.secret"], /there is no tool "shop.secret" for anonymous; see "causeway list"/],
        ]) {
            const { code, stdout, stderr } = await run(config, "call", ...words);
            assert.deepEqual([code, stdout], [1, ""], words.join(" "));
            assert.match(stderr, pattern);
        }
        assert.equal((await run(config, "call")).code, 2);
    });

    test("like every command that reads creates no database", async () => {
        const path = databasePath();
        const config = configure({ store: { path } });
        for (const [code, ...words] of [
            [0, "call", "shop.add", "-a", "a=1", "-a", "b=2"],
            [1, "call", "shop.add", "-a", "a=1", "-a", "b=2", "--as", "alice"],
            [0, "list"],
            [0, "describe", "shop.add"],
            [0, "why", "shop.add", "--anonymous"],
            [0, "access", "matrix"],
            [1, "access", "matrix", "--accounts"],
            [1, "account", "list"],
            [1, "role", "list"],
            [1, "token", "list"],
            [1, "session", "list"],
            [1, "status"],
            [0, "source", "check"],
        ]) {
            const { code: ended, stderr } = await run(config, ...words);
            assert.equal(ended, code, `${words.join(" ")}: ${stderr}`);
            assert.equal(existsSync(path), false, words.join(" "));
        }
    });

    test("says that a service is not there", async () => {
        const url = `http://127.0.0.1:${await freePort()}/`;
        const config = configure({ sources: [shop({ url }), shop({ name: "other", prefix: "o." })] });
        const dead = await run(config, "call", "shop.add", "-a", "a=1", "-a", "b=2");
        assert.equal(dead.code, 1);
        assert.match(dead.stderr, /source="shop" problem=.*Connection refused/);
        const words = ["call", "o.add", "-a", "a=1", "-a", "b=2"];
        assert.equal((await run(config, ...words)).stdout, "3\n");
    });

    test("is bound by the rights of whoever asks, and recorded", async () => {
        const roles = { anonymous: [discover], authenticated: [discover, call] };
        const store = { path: databasePath() };
        const audit = { path: `${keepFolder()}/audit.log` };
        const config = configure({ roles, store, audit });
        await cli(config, "account", "add", "alice", { input: "s3cret" });
        const words = ["call", "shop.add", "-a", "a=1", "-a", "b=2"];
        const refused = await run(config, ...words);
        assert.deepEqual([refused.code, refused.stdout], [1, ""]);
        assert.match(
            refused.stderr,
            /anonymous may not call tools: .*'use jsonrpc services'.*; or name an account with --as/,
        );
        assert.equal((await run(config, ...words, "--as", "alice")).stdout, "3\n");
        const nobody = await run(config, ...words, "--as", "mallory");
        assert.equal(nobody.code, 1);
        assert.match(nobody.stderr, /no account 'mallory'/);
        const records = (await cli(config, "audit", "--json")).trim().split("\n").map(JSON.parse);
        const calls = records.filter(({ method }) => method === "shop.add");
        assert.ok(calls.every(({ door }) => door === "cli"));
        assert.deepEqual(
            calls.map(({ caller, method, outcome }) => [caller, method, outcome]),
            [
                ["anonymous", "shop.add", "login"],
                ["alice", "shop.add", "ok"],
            ],
        );
        const without = configure({ roles });
        assert.equal((await run(without, ...words, "--as", "alice")).code, 2);
    });

    test("says what is missing, and only what would help", async () => {
        const auth = (more) => ({ method: "add", annotations: { auth: more } });
        const scoped = [auth({ scopes: ["stock:read"] })];
        const closed = [auth({ level: "required" })];
        const roles = { anonymous: permissions };
        const store = { path: databasePath() };
        const words = ["call", "shop.add", "-a", "a=1", "-a", "b=2"];
        const token = /shop\.add requires scopes, which only a client with a token has; see "causeway why shop\.add /;
        const known = configure({
            roles: { ...roles, authenticated: permissions },
            store,
            sources: [shop({ methods: scoped })],
        });
        await cli(known, "account", "add", "alice", { input: "s3cret" });
        for (const [config, more, pattern] of [
            [known, ["--as", "alice"], new RegExp(`${token.source}--as NAME"`)],
            [known, [], new RegExp(`${token.source}--anonymous"`)],
            [
                configure({ roles: { anonymous: [discover] } }),
                [],
                /anonymous may not call tools: .*'use jsonrpc services', under `roles` of the configuration\n$/,
            ],
            [configure({ roles, sources: [shop({ methods: closed })] }), [], /requires a login: .*store\.path/],
            [
                configure({ roles, store, sources: [shop({ methods: closed })] }),
                [],
                /requires a login: name an account with --as\n$/,
            ],
        ]) {
            const { code, stdout, stderr } = await run(config, ...words, ...more);
            assert.deepEqual([code, stdout], [1, ""]);
            assert.match(stderr, pattern);
        }
    });

    test("sends no other text than it was given", async () => {
        const config = configure();
        // Node writes words as UTF-8: the shell makes the byte.
        const line = `exec "$0" call shop.echo --arg message="$(printf 'a\\377')" --config "$1"`;
        const { code, stdout, stderr } = await promisify(execFile)("sh", ["-c", line, binary, config]).catch((e) => e);
        assert.deepEqual([code, stdout], [2, ""]);
        assert.match(stderr, /--arg "message": not UTF-8/);
    });

    test("names another tool only where it is nearly the same", async () => {
        const config = configure({ sources: [shop({ prefix: "", methods: [{ method: "add", name: "n" }] })] });
        const { stderr } = await run(config, "call", "zz");
        assert.match(stderr, /there is no tool "zz" for anonymous; see "causeway list"/);
    });

    test("runs tools of plugins too", async () => {
        const config = configure({ sources: [], plugins: { directory: makePluginFolder(["echo"]) } });
        const { code, stdout, stderr } = await run(config, "call", "test.echo", "-a", "message=hi");
        assert.equal(code, 0, stderr);
        assert.match(stdout, /"hi"/);
    });

    test("shows on a terminal, and only there, that it takes long", async () => {
        const config = configure();
        const words = ["call", "shop.wait", "--arg", "ms=1500", "--config", config];
        const shown = await onTerminal(words);
        assert.match(shown, /calling shop.wait \(\d+ s\)/);
        // The line is taken away before the result is printed.
        assert.match(shown, /\r\u001b\[Ktrue\r\n$/);
        assert.deepEqual(await runCauseway(words), { code: 0, signal: null, stdout: "true\n", stderr: "" });
    });
});

suite("list and describe", { concurrency: true }, () => {
    test("print the tools that somebody sees", async () => {
        const config = configure();
        const { stdout } = await run(config, "list");
        assert.deepEqual(stdout.split("\n").slice(0, 2), [
            "NAME       PORTABLE NAME  SOURCE  DESCRIPTION",
            "shop.add   shop__add      shop    Adds two numbers",
        ]);
        const all = JSON.parse((await run(config, "list", "--json")).stdout);
        assert.deepEqual(all[0], {
            name: "shop.add",
            portableName: "shop__add",
            source: "shop",
            method: "shop.add",
            description: "Adds two numbers",
        });
        assert.equal(all.length, methods.length);
    });

    test("take the portable name of a tool as well", async () => {
        const config = configure();
        assert.match((await run(config, "describe", "shop__add")).stdout, /^shop\.add of shop\n/);
        assert.equal((await run(config, "call", "shop__add", "--json", '{"a":1,"b":2}')).stdout, "3\n");
        assert.match((await run(config, "why", "shop__add", "--anonymous")).stdout, /shop\.add/);
    });

    test("print a tool with its parameters", async () => {
        const config = configure();
        assert.equal(
            (await run(config, "describe", "shop.add")).stdout,
            [
                "shop.add of shop",
                "portable name: shop__add",
                "Adds two numbers",
                "permissions: none: any caller",
                "scopes: none",
                "level: none",
                "parameters:",
                "  a  required  integer",
                "  b  required  integer",
                "",
            ].join("\n"),
        );
        const tool = JSON.parse((await run(config, "describe", "shop.add", "--json")).stdout);
        assert.deepEqual(tool.inputSchema.required, ["a", "b"]);
        assert.equal((await run(config, "describe", "shop.nix")).code, 1);
        assert.equal((await run(config, "describe")).code, 2);
    });

    test("leave what is odd about sources to those who check them", async () => {
        const env = { CAUSEWAY_CONFIG: "" };
        for (const words of [["list"], ["describe", "examples.articles.list"], ["call", "examples.articles.list"]]) {
            const { code, stderr } = await runCauseway(words, { env });
            assert.deepEqual([code, stderr], [0, ""], words.join(" "));
        }
    });

    test("show nothing to those who may not look", async () => {
        const config = configure({ roles: { anonymous: [call] } });
        for (const words of [["list"], ["describe", "shop.add"]]) {
            const { code, stdout, stderr } = await run(config, ...words);
            assert.deepEqual([code, stdout], [1, ""]);
            assert.match(
                stderr,
                /anonymous may not list tools: .*'access mcp tool discovery', under `roles` of the configuration\n$/,
            );
        }
        const { stderr } = await run(config, "call", "shop.ad");
        assert.ok(!stderr.includes("did you mean"), stderr);
    });
});
