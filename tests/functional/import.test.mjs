// causeway import: what speaks there, as a table, an overlay and an entry of the configuration.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import { suite, test } from "node:test";
import { keepFolder } from "./support/kept.mjs";
import { callToolWell, permissions, toolNames } from "./support/mcp.mjs";
import { patience, runCauseway, startCauseway, writeConfig } from "./support/programs.mjs";
import { openRpc, startService, writeOpenRpc } from "./support/service.mjs";
import { freePort } from "./support/ports.mjs";
import { onTerminal } from "./support/terminal.mjs";

let folders = 0;

// Each test works in a folder of its own.
function makeFolder() {
    folders += 1;
    const folder = path.join(keepFolder(), `work-${folders}`);
    mkdirSync(folder);
    return folder;
}

async function run(folder, ...words) {
    return await runCauseway(["import", ...words], { cwd: folder });
}

async function runWell(folder, ...words) {
    const { code, stdout, stderr } = await run(folder, ...words);
    assert.equal(code, 0, stderr);
    return stdout;
}

// The entry that it prints, in a configuration.
function configOf(stdout, more = "") {
    const entry = stdout.slice(stdout.indexOf("sources:"));
    return `roles: {anonymous: ${JSON.stringify(permissions)}}\n${more}${entry}`;
}

const describe = (name, more = {}) => ({ name, params: [], ...more });
const document = (methods) => ({ openrpc: "1.3.2", info: { title: "t", version: "1" }, methods });

suite("an overlay", { concurrency: true }, () => {
    test("lists every method and exposes none, and works in a configuration", async (t) => {
        const service = await startService();
        const folder = makeFolder();
        const stdout = await runWell(folder, service.url, "--name", "shop");
        assert.match(stdout, /^METHOD +PARAMS +GUESS +DESCRIPTION$/m);
        assert.match(stdout, /^add +a, b +changes +Adds two numbers$/m);
        assert.match(stdout, /5 methods, found by openrpc/);
        const file = path.join(folder, "shop.overlay.yaml");
        const overlay = readFileSync(file, "utf8");
        const names = openRpc().methods.map(({ name }) => name);
        for (const name of names) {
            assert.match(overlay, new RegExp(`^  - method: ${name}\n    tool: false$`, "m"));
        }
        assert.match(overlay, /^ {2}# Adds two numbers\n {2}- method: add$/m);

        // What it prints is all that is needed.
        assert.match(stdout, /^roles: # accounts have the permissions of anonymous, too$/m);
        const config = stdout.slice(stdout.indexOf("\nroles:") + 1);
        const closed = await startCauseway({ config });
        assert.deepEqual(await toolNames(closed), []);
        await closed.stop();
        writeFileSync(file, overlay.replace("method: add\n    tool: false", "method: add\n    tool: true"));
        const server = await startCauseway({ config });
        t.after(() => server.stop());
        assert.deepEqual(await toolNames(server), ["add"]);
        const { structuredContent } = await callToolWell(server, "add", { a: 1, b: 2 });
        assert.equal(structuredContent, 3);
    });

    test("says what only reads and what looks destructive, by hints and else by names", async () => {
        const hint = (annotations) => ({ "x-mcp-tool": { annotations } });
        const file = writeOpenRpc(
            document([
                describe("user.get"),
                describe("user.delete"),
                describe("user.add"),
                describe("user.find", hint({ destructiveHint: true })),
                describe("user.purge", hint({ readOnlyHint: true })),
                describe("user.list", hint({ readOnlyHint: false })),
            ]),
        );
        const folder = makeFolder();
        const { methods } = JSON.parse(await runWell(folder, file, "--name", "u", "--json"));
        assert.deepEqual(Object.fromEntries(methods.map(({ name, guess }) => [name, guess])), {
            "user.get": "reads",
            "user.delete": "destroys",
            "user.add": "changes",
            "user.find": "destroys",
            "user.purge": "reads",
            "user.list": "changes",
        });
        const overlay = readFileSync(path.join(folder, "u.overlay.yaml"), "utf8");
        assert.deepEqual(overlay.slice(overlay.indexOf("methods:")).split("\n"), [
            "methods:",
            "  - method: user.get",
            "    tool: false",
            "    read_only: true",
            "  # looks destructive",
            "  - method: user.delete",
            "    tool: false",
            "  - method: user.add",
            "    tool: false",
            "  # looks destructive",
            "  - method: user.find",
            "    tool: false",
            "  - method: user.purge",
            "    tool: false",
            "    read_only: true",
            "  - method: user.list",
            "    tool: false",
            "",
        ]);
    });

    test("calls nothing read-only by its name alone where it takes parameters", async () => {
        const takes = (name, schema, more) => describe(name, { params: [{ name: "x", schema }], ...more });
        const unknown = { type: ["array", "object"], "x-spread": true };
        const file = writeOpenRpc(
            document([
                describe("maintenance_mode.status"),
                takes("maintenance_mode.isEnabled", { type: "boolean" }), // it sets what it is given
                takes("user.get", { type: "integer" }),
                takes("user.info", unknown),
                takes("user.list", {}, { "x-mcp-tool": { annotations: { readOnlyHint: true } } }),
                takes("user.purge", {}),
                // A param that cannot be read is left out, and params may be described together.
                describe("cache.isEnabled", { params: [{ name: "x", schema: {}, required: "yes" }] }),
                describe("cache.hasItem", { "x-input": { patternProperties: { x: {} } } }),
            ]),
        );
        const folder = makeFolder();
        const { methods } = JSON.parse(await runWell(folder, file, "--name", "u", "--json"));
        assert.deepEqual(Object.fromEntries(methods.map(({ name, guess }) => [name, guess])), {
            "maintenance_mode.status": "reads",
            "maintenance_mode.isEnabled": "changes",
            "user.get": "changes",
            "user.info": "changes",
            "user.list": "reads", // the service says so itself
            "user.purge": "destroys",
            "cache.isEnabled": "changes",
            "cache.hasItem": "changes",
        });
        const overlay = readFileSync(path.join(folder, "u.overlay.yaml"), "utf8");
        assert.equal(overlay.match(/read_only: true/g).length, 2, overlay);
        assert.match(overlay, /isEnabled\n {4}tool: false\n {2}- /);
    });

    test("leaves out what cannot be used, and says so", async () => {
        const broken = { $ref: "#/components/schemas/None" };
        const params = [{ name: "x", schema: broken }];
        const file = writeOpenRpc(
            document([
                describe("user.get", { params }),
                describe("user.setStatus", { params: [{ name: "x", schema: "string" }] }),
                { $ref: "other.json#/methods/x" },
            ]),
        );
        const { code, stdout, stderr } = await run(makeFolder(), file, "--name", "u", "--json");
        assert.equal(code, 0, stderr);
        const { methods } = JSON.parse(stdout);
        assert.deepEqual(
            methods.map(({ name, guess }) => [name, guess]),
            [
                ["user.get", "changes"],
                ["user.setStatus", "changes"],
            ],
        );
        assert.match(
            stderr,
            /method 'user\.get': param 'x': schema: \$ref '#\/components\/schemas\/None' leads nowhere/,
        );
        assert.match(stderr, /method 'user\.setStatus': param 'x': schema: expected an object, got string/);
        assert.match(stderr, /methods\[2\]: \$ref 'other\.json#\/methods\/x': only/);
    });

    test("cannot be made to expose anything by what a service says", async () => {
        const folder = makeFolder();
        const file = writeOpenRpc(
            document([
                describe("a: b", { description: "x\n  - method: evil\n    tool: true" }),
                describe("null"),
                describe("1.5"),
                describe("- x"),
                describe("#x", { description: "\u001b[31mred\u2028  - method: evil" }),
                describe('"'),
                describe("with *"),
                describe("a\nb", { description: "\r\n  tool: true" }),
            ]),
        );
        const stdout = await runWell(folder, file, "--name", "odd");
        assert.ok(!stdout.includes("\u001b["));
        const overlay = readFileSync(path.join(folder, "odd.overlay.yaml"), "utf8");
        assert.ok(!overlay.includes("\u001b") && !overlay.includes("\u2028"));
        assert.doesNotMatch(overlay, /^[^#]*tool: true/m);
        assert.match(overlay, /^ {2}- method: "null"$/m);
        assert.match(overlay, /cannot be named here: "with \*"/);
        const config = writeConfig(configOf(stdout));
        const checked = await runCauseway(["source", "check", "--json", "--config", config]);
        const [{ ok, methods, tools, problems }] = JSON.parse(checked.stdout);
        assert.deepEqual([ok, methods, tools, problems], [true, 8, 0, []]);
    });

    test("replaces no file unless it is told to, and says so before it asks", async () => {
        const service = await startService();
        const folder = makeFolder();
        const file = path.join(folder, "mine.yaml");
        writeFileSync(file, "mine");
        const kept = await run(folder, service.url, "--output", "mine.yaml");
        assert.equal(kept.code, 1);
        assert.match(kept.stderr, /"mine.yaml" exists already; --force replaces it/);
        assert.equal(readFileSync(file, "utf8"), "mine");
        assert.deepEqual(service.calls, []);
        await runWell(folder, service.url, "--output", "mine.yaml", "--force");
        assert.match(readFileSync(file, "utf8"), /- method: echo/);
        // The name of the file that is chosen is known at the end only.
        await runWell(folder, service.url, "--name", "x");
        assert.equal((await run(folder, service.url, "--name", "x")).code, 1);
    });
});

// A service that speaks lines on standard input and output.
const program = `
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        const list = { result: ["system.listMethods", "disk.free"] };
        const other = { error: { code: -32601, message: "Method not found" } };
        const answer = method === "system.listMethods" ? list : other;
        process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...answer }) + "\\n");
    });`;

// A service that answers whom it lets in; `shown` has the credentials of all requests.
async function startGuarded(t, letsIn, status = 401) {
    const shown = [];
    const server = http.createServer(async (request, response) => {
        const texts = [];
        for await (const piece of request) {
            texts.push(piece);
        }
        const { id, method } = texts.length ? JSON.parse(texts.join("")) : {};
        shown.push(request.headers.authorization);
        if (!letsIn(request.headers)) {
            response.writeHead(status).end("no");
            return;
        }
        const found = { result: openRpc() };
        const other = { error: { code: -32601, message: "Method not found" } };
        response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(method === "rpc.discover" ? found : other) }));
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => server.close());
    return { url: `http://127.0.0.1:${server.address().port}/`, shown };
}

suite("a secret", { concurrency: true }, () => {
    const basic = `Basic ${Buffer.from("bob:pw").toString("base64")}`;
    const env = { PAIR: "bob:pw", TOKEN: "t0ken" };
    const importWith = (folder, url, ...words) =>
        runCauseway(["import", url, "--name", "g", "--force", ...words], { cwd: folder, env });

    test("that is missing is asked for with one failed login", async (t) => {
        const { url, shown } = await startGuarded(t, () => false);
        const { code, stderr } = await importWith(makeFolder(), url);
        assert.equal(code, 1);
        assert.deepEqual(shown, [undefined]);
        assert.match(stderr, /the service requires credentials: name the secret with --secret-env or --secret-file\n$/);
        assert.ok(!stderr.includes("--preset"), stderr);
        assert.equal(stderr.trim().split("\n").length, 2, stderr);
    });

    test("with a colon is shown as Basic, and the entry says so", async (t) => {
        const { url, shown } = await startGuarded(t, ({ authorization }) => authorization === basic);
        const { code, stdout, stderr } = await importWith(makeFolder(), url, "--secret-env", "PAIR");
        assert.equal(code, 0, stderr);
        assert.deepEqual([...new Set(shown)], [basic]);
        assert.match(stdout, /secret:\n {6}as: basic\n {6}environment: PAIR\n/);
        const config = writeConfig(configOf(stdout));
        const checked = await runCauseway(["source", "check", "--config", config], { env });
        assert.equal(checked.code, 0, checked.stdout);
    });

    test("that is refused is shown once, and in no other way", async (t) => {
        for (const [variable, name, authorization] of [
            ["PAIR", "basic", basic],
            ["TOKEN", "bearer", "Bearer t0ken"],
        ]) {
            const { url, shown } = await startGuarded(t, () => false);
            const { code, stderr } = await importWith(makeFolder(), url, "--secret-env", variable);
            assert.equal(code, 1);
            assert.deepEqual(shown, [authorization]);
            assert.match(stderr, new RegExp(`rejects the credentials, sent as ${name}; --secret-as takes `));
            assert.ok(!stderr.includes(env[variable]), stderr);
        }
    });

    test("is shown as --secret-as says, and the entry says it where it must", async (t) => {
        const key = (headers) => headers["x-key"] === "t0ken" && headers.authorization === undefined;
        for (const [words, letsIn, entry] of [
            [["--secret-as", "basic"], ({ authorization }) => authorization === basic, /as: basic\n/],
            [
                ["--secret-as=bearer"],
                ({ authorization }) => authorization === "Bearer bob:pw",
                /secret:\n {6}environment/,
            ],
            [["--secret-as", "header:X-Key"], key, /as: header\n {6}name: X-Key\n/],
        ]) {
            const { url } = await startGuarded(t, letsIn);
            const variable = words.join().includes("header") ? "TOKEN" : "PAIR";
            const { code, stdout, stderr } = await importWith(makeFolder(), url, "--secret-env", variable, ...words);
            assert.equal(code, 0, stderr);
            assert.match(stdout, entry);
            const config = writeConfig(configOf(stdout));
            const checked = await runCauseway(["source", "check", "--config", config], { env });
            assert.equal(checked.code, 0, checked.stdout);
        }
        const service = await startService();
        for (const [how, entry, params] of [
            ["first_param", /params: positional\n[\s\S]*as: first_param\n/, ["t0ken", "hi"]],
            ["param:auth", /as: param\n {6}name: auth\n/, { auth: "t0ken", message: "hi" }],
        ]) {
            const folder = makeFolder();
            const words = ["--secret-env", "TOKEN", "--secret-as", how];
            const { code, stdout, stderr } = await importWith(folder, service.url, ...words);
            assert.equal(code, 0, stderr);
            assert.match(stdout, entry);
            const overlay = path.join(folder, "g.overlay.yaml");
            writeFileSync(overlay, "methods: [echo]");
            const config = writeConfig(configOf(stdout));
            await runCauseway(["call", "echo", "--arg", "message=hi", "--config", config], { env });
            assert.deepEqual(service.calls.at(-1), { method: "echo", params });
        }
    });

    test("needs to be told how where there are no headers", async () => {
        const folder = makeFolder();
        for (const [words, pattern] of [
            [["ws://127.0.0.1:1/", "--secret-env", "TOKEN"], /--secret-as first_param or param:NAME, or --preset/],
            [["http://x/", "--secret-as", "basic"], /--secret-as needs --secret-env or --secret-file/],
            [
                ["http://x/", "--secret-env", "TOKEN", "--secret-as", "cookie"],
                /--secret-as takes bearer, .*not "cookie"/,
            ],
            [
                ["http://x/", "--secret-env", "TOKEN", "--secret-as", "header"],
                /--secret-as header needs a name: header:NAME/,
            ],
            [["http://x/", "--secret-env", "TOKEN", "--secret-as", "basic:x"], /--secret-as takes/],
        ]) {
            const { code, stderr } = await runCauseway(["import", ...words], { cwd: folder, env });
            assert.equal(code, 2, `${words}: ${stderr}`);
            assert.match(stderr, pattern);
        }
    });
});

suite("what is imported", { concurrency: true }, () => {
    test("may be a file, with the place that it names", async () => {
        const folder = makeFolder();
        const servers = [{ url: "https://api.example.org/rpc" }];
        const known = await runWell(folder, writeOpenRpc({ ...openRpc(), servers }), "--name", "k");
        assert.match(known, /^ {4}url: "https:\/\/api.example.org\/rpc"$/m);
        const unknown = await runWell(folder, writeOpenRpc(), "--name", "u");
        assert.match(unknown, /# the description has no address of the service/);
        assert.match(unknown, /5 methods, found by file/);
        const config = writeConfig(configOf(known));
        assert.equal((await runCauseway(["config", "check", config])).code, 0);
    });

    test("may be a program with arguments of its own", async (t) => {
        const folder = makeFolder();
        const words = ["--name", "disk", "--exec", process.execPath, "-e", program];
        const stdout = await runWell(folder, ...words);
        assert.match(stdout, /^disk.free +params\? +changes$/m);
        assert.match(stdout, /^ {4}framing: json$/m);
        assert.match(stdout, /^ {4}discovery: system$/m);
        const server = await startCauseway({ config: configOf(stdout) });
        t.after(() => server.stop());
        assert.deepEqual(await toolNames(server), []);
    });

    test("is shown a secret that is printed nowhere", async () => {
        const service = await startService();
        const folder = makeFolder();
        const all = ["import", service.url, "--name", "s", "--secret-env", "SHOP_TOKEN"];
        const env = { SHOP_TOKEN: "hunter2" };
        const { code, stdout, stderr } = await runCauseway(all, { cwd: folder, env });
        assert.equal(code, 0, stderr);
        assert.equal(service.headers[0].authorization, "Bearer hunter2");
        assert.match(stdout, /secret:\n {6}environment: SHOP_TOKEN\n/);
        const overlay = readFileSync(path.join(folder, "s.overlay.yaml"), "utf8");
        assert.ok(!`${stdout}${stderr}${overlay}`.includes("hunter2"));
    });

    test("is nothing that is known: it says what was tried, and writes nothing", async (t) => {
        const folder = makeFolder();
        const { url } = await startGuarded(t, () => false, 404);
        const { code, stdout, stderr } = await run(folder, url, "--name", "n");
        assert.equal(code, 1);
        assert.equal(stdout, "");
        assert.match(stderr, /HTTP status 404/);
        assert.match(stderr, /no service of a known kind answers.*--preset \(aria2, /);
        assert.ok(!existsSync(path.join(folder, "n.overlay.yaml")));
    });

    test("may be named by host and port alone: HTTP at / and /jsonrpc, then lines", async (t) => {
        const paths = [];
        const answer = ({ id, method }) =>
            method === "rpc.discover"
                ? { jsonrpc: "2.0", id, result: openRpc() }
                : { jsonrpc: "2.0", id, error: { code: -32601, message: "no" } };
        const web = http.createServer(async (request, response) => {
            paths.push(request.url);
            const body = (await request.setEncoding("utf8").toArray()).join("");
            const isHere = request.url === "/jsonrpc" && request.method === "POST";
            response.writeHead(isHere ? 200 : 404).end(isHere ? JSON.stringify(answer(JSON.parse(body))) : "none");
        });
        const lines = net.createServer((socket) => {
            socket.on("error", () => {});
            socket.setEncoding("utf8").on("data", (text) => {
                if (text.startsWith("{")) {
                    socket.write(`${JSON.stringify(answer(JSON.parse(text.split("\n")[0])))}\n`);
                } else {
                    socket.end("what?\n");
                }
            });
        });
        for (const server of [web, lines]) {
            await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
            t.after(() => server.close());
        }
        const place = (server) => `127.0.0.1:${server.address().port}`;
        const folder = makeFolder();
        const overHttp = await runWell(folder, place(web), "--name", "w");
        assert.match(overHttp, new RegExp(`url: "http://${place(web)}/jsonrpc"`));
        assert.equal(paths[0], "/");
        assert.match(await runWell(folder, `${place(web)}/jsonrpc`, "--name", "x"), /5 methods/);
        assert.match(await runWell(folder, place(lines), "--name", "l"), new RegExp(`url: "tcp://${place(lines)}"`));
        // A file of that name is a file.
        writeFileSync(path.join(folder, "local:80"), JSON.stringify(openRpc()));
        assert.match(await runWell(folder, "local:80", "--name", "f"), /found by file/);
    });

    test("is called by its own name in messages", async () => {
        const folder = makeFolder();
        const place = `127.0.0.1:${await freePort()}`;
        for (const [words, name] of [
            [[place], place],
            [[`http://${place}/rpc`], place],
            [[`tcp://${place}`], place],
            [["--exec", "/no/such/program"], "program"],
            [[place, "--name", "shop"], "shop"],
        ]) {
            const { code, stderr } = await run(folder, ...words);
            assert.equal(code, 1);
            assert.ok(stderr.includes(`The service '${name}' cannot be reached.`), stderr);
        }
    });

    test("may be a program that does not speak JSON-RPC: one line says so", async () => {
        const folder = makeFolder();
        for (const [words, cause] of [
            [["echo", "hello"], / \(exited with 0\)/],
            [["sh", "-c", "echo hello; cat >&2"], /(?:)/],
            [["false"], / \(exited with 1\)/],
        ]) {
            const { code, stdout, stderr } = await run(folder, "--exec", ...words);
            assert.deepEqual([code, stdout], [1, ""]);
            assert.match(
                stderr,
                new RegExp(`^causeway: this program does not speak JSON-RPC: "${words[0]}"${cause.source}\n$`),
            );
        }
    });

    test("gets nothing else to read when it speaks JSON-RPC but does not describe itself", async () => {
        const folder = makeFolder();
        const log = path.join(folder, "read.log");
        const program = `
            const { appendFileSync } = require("node:fs");
            require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
                appendFileSync(${JSON.stringify(log)}, line + "\\n");
                const { id } = JSON.parse(line); // a traceback for whatever is no JSON
                console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }));
            });`;
        const { code, stderr } = await run(folder, "--exec", process.execPath, "-e", program);
        assert.equal(code, 1);
        assert.match(
            stderr,
            /the service speaks JSON-RPC, but has no description.*--preset mcp.*OpenRPC document.*--preset/,
        );
        const read = readFileSync(log, "utf8").trim().split("\n");
        assert.ok(read.length >= 5);
        read.forEach((line) => assert.equal(JSON.parse(line).jsonrpc, "2.0", line));
        // Such a service may have a method of this name that changes something.
        assert.ok(!read.some((line) => JSON.parse(line).method === "initialize"));
    });

    test("is not there: it says that alone", async () => {
        const folder = makeFolder();
        const dead = await freePort();
        const none = "http://127.0.0.1:1/";
        for (const [words, pattern] of [
            [[`http://127.0.0.1:${dead}/`], /Connection refused/],
            [[`tcp://127.0.0.1:${dead}`], /Connection refused/i],
            [["http://no-such-host.invalid/"], /no-such-host\.invalid|name|host/i],
            [["unix:missing.sock"], /No such file/i],
            [["unix:missing.sock:/rpc"], /No such file/i],
            [["--exec", "/no/such/program"], /No such file/i],
            [[none, "--secret-env", "CAUSEWAY_UNSET"], /the variable CAUSEWAY_UNSET is not set/],
            [[none, "--secret-file", "missing.txt"], /missing\.txt.*No such file/],
        ]) {
            const { code, stdout, stderr } = await run(folder, ...words);
            assert.deepEqual([code, stdout], [1, ""], words.join(" "));
            assert.match(stderr, pattern);
            assert.equal(stderr.trim().split("\n").length, 1, stderr);
        }
    });

    test("must be said rightly", async () => {
        const folder = makeFolder();
        for (const [words, pattern] of [
            [[], /to import/],
            [["--exec"], /--exec needs a program/],
            [["http://x/", "--exec", "cat"], /cannot be combined with --exec/],
            [["http://"], /http:/],
            [["gopher://x/"], /gopher/],
            [["http://x/", "--name", "A B"], /not the name of a source: "A B"/],
            [["http://x/", "--name", "causeway"], /"causeway" is the name of the built-in source; choose/],
            [["http://x/", "--preset", "aria3"], /no preset "aria3"; there are aria2/],
            [
                ["http://x/", "--secret-env", "A", "--secret-file", "b"],
                /--secret-env and --secret-file cannot be combined/,
            ],
        ]) {
            const { code, stderr } = await run(folder, ...words);
            assert.equal(code, 2, `${words}: ${stderr}`);
            assert.match(stderr, pattern);
        }
        const missing = await run(folder, "missing.json");
        assert.equal(missing.code, 1);
        assert.match(missing.stderr, /missing.json.*No such file/);
    });
});

test("progress is shown on a terminal, and only there", { timeout: patience(120_000) }, async () => {
    const folder = makeFolder();
    const words = ["import", "--exec", "sleep", "4"];
    const shown = await onTerminal(words, { cwd: folder });
    assert.match(shown, /asking as JSON-RPC 2.0, 0 answers \(\d+ s\)/);
    const { stderr } = await runCauseway(words, { cwd: folder });
    assert.ok(!stderr.includes("asking as"), stderr);
});
