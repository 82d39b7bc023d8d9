// causeway call, list and describe: tools from a terminal, by the rules that clients have.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { suite, test } from "node:test";
import { call, cli, databasePath, discover } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { makePluginFolder, permissions } from "./support/mcp.mjs";
import { binary, runCauseway, writeConfig } from "./support/programs.mjs";
import { deadPort, startService } from "./support/service.mjs";

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
        for (const words of [["--json", "{}", "-a", "a=1"], ["--json", "{"], ["--json", "3"]]) {
            assert.equal((await run(config, "call", "shop.add", ...words)).code, 2, words.join(" "));
        }
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

    test("says that a service is not there", async () => {
        const url = `http://127.0.0.1:${await deadPort()}/`;
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
        assert.match(refused.stderr, /logged in: name an account with --as/);
        assert.equal((await run(config, ...words, "--as", "alice")).stdout, "3\n");
        const nobody = await run(config, ...words, "--as", "mallory");
        assert.equal(nobody.code, 1);
        assert.match(nobody.stderr, /no account 'mallory'/);
        const records = (await cli(config, "audit", "--json")).trim().split("\n").map(JSON.parse);
        const calls = records.filter(({ method }) => method === "shop.add");
        assert.ok(calls.every(({ door }) => door === "cli"));
        assert.deepEqual(calls.map(({ caller, method, outcome }) => [caller, method, outcome]), [
            ["anonymous", "shop.add", "login"],
            ["alice", "shop.add", "ok"],
        ]);
        const without = configure({ roles });
        assert.equal((await run(without, ...words, "--as", "alice")).code, 2);
    });

    test("runs tools of plugins too", async () => {
        const config = configure({ sources: [], plugins: { folder: makePluginFolder(["echo"]) } });
        const { code, stdout, stderr } = await run(config, "call", "test.echo", "-a", "message=hi");
        assert.equal(code, 0, stderr);
        assert.match(stdout, /"hi"/);
    });

    test("shows on a terminal, and only there, that it takes long", async () => {
        const config = configure();
        const words = ["call", "shop.wait", "--arg", "ms=1500", "--config", config];
        const shown = await new Promise((resolve, reject) => {
            const line = [binary, ...words].map((word) => `'${word}'`).join(" ");
            const child = spawn("script", ["-qec", line, "/dev/null"]);
            let text = "";
            child.on("error", reject);
            child.stdout.setEncoding("utf8").on("data", (piece) => (text += piece));
            child.on("close", () => resolve(text));
        });
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
            "NAME       SOURCE  DESCRIPTION",
            "shop.add   shop    Adds two numbers",
        ]);
        const all = JSON.parse((await run(config, "list", "--json")).stdout);
        assert.deepEqual(all[0], {
            name: "shop.add",
            source: "shop",
            method: "shop.add",
            description: "Adds two numbers",
        });
        assert.equal(all.length, methods.length);
    });

    test("print a tool with its parameters", async () => {
        const config = configure();
        assert.equal((await run(config, "describe", "shop.add")).stdout, [
            "shop.add of shop",
            "Adds two numbers",
            "parameters:",
            "  a  required  integer",
            "  b  required  integer",
            "",
        ].join("\n"));
        const tool = JSON.parse((await run(config, "describe", "shop.add", "--json")).stdout);
        assert.deepEqual(tool.inputSchema.required, ["a", "b"]);
        assert.equal((await run(config, "describe", "shop.nix")).code, 1);
        assert.equal((await run(config, "describe")).code, 2);
    });

    test("show nothing to those who may not look", async () => {
        const config = configure({ roles: { anonymous: [call] } });
        for (const words of [["list"], ["describe", "shop.add"]]) {
            const { code, stdout, stderr } = await run(config, ...words);
            assert.deepEqual([code, stdout], [1, ""]);
            assert.match(stderr, /anonymous may not look at tools: .*'access mcp tool discovery'/);
        }
        const { stderr } = await run(config, "call", "shop.ad");
        assert.ok(!stderr.includes("did you mean"), stderr);
    });
});
