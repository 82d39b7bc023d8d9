// causeway stdio: one client, a message a line, both eras.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { suite, test } from "node:test";
import { cli, databasePath, roles } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import {
    addPlugin,
    assertWithin,
    envelope,
    legacyVersions,
    makePluginFolder,
    permissions,
    pluginFile,
    workersOf,
} from "./support/mcp.mjs";
import { compilePlugin, newFolder } from "./support/plugins.mjs";
import { awakeMs, binary, runCauseway, slowness, writeConfig } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";
import { startStdio, StdioClient } from "./support/stdio.mjs";

const line = (message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
// Ended, whether or not somebody has asked how: whoever inherits a process may take its time.
const isGone = (pid) => {
    try {
        return / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
    } catch {
        return true;
    }
};

suite("both eras on lines", { concurrency: true }, () => {
    for (const version of legacyVersions) {
        test(`a client of ${version}`, async () => {
            const client = startStdio();
            const { result } = await client.initialize(version);
            assert.equal(result.protocolVersion, version);
            assert.deepEqual((await client.ask("ping")).result, {});
            const { result: list } = await client.ask("tools/list");
            assert.ok(list.tools.some(({ name }) => name === "test__echo"));
            assert.equal("resultType" in list, false);
            const { result: echoed } = await client.callTool("test.echo", { message: "hello" });
            assert.deepEqual(echoed.structuredContent, { message: "hello" });
            await client.end();
        });
    }

    test("a modern client needs no handshake and no headers", async () => {
        const client = startStdio();
        const { result: about } = await client.modern("server/discover");
        assert.deepEqual(about.supportedVersions, ["2026-07-28"]);
        const { result } = await client.modern("tools/call", {
            name: "test.echo",
            arguments: { message: "hello" },
        });
        assert.equal(result.resultType, "complete");
        assert.deepEqual(result.structuredContent, { message: "hello" });
        await client.end();
    });

    test("the era is that of each message", async () => {
        const client = startStdio();
        assert.ok((await client.modern("server/discover")).result);
        assert.ok((await client.initialize()).result);
        assert.equal((await client.modern("tools/list")).result.resultType, "complete");
        assert.equal((await client.ask("tools/list")).result.resultType, undefined);
        await client.end();
    });

    test("an unknown request is answered, before the handshake too", async () => {
        const client = startStdio();
        assert.equal((await client.ask("nothing/such")).error.code, -32601);
        assert.equal((await client.modern("nothing/such")).error.code, -32601);
        const wrong = { "io.modelcontextprotocol/protocolVersion": "2099-01-01" };
        assert.equal((await client.modern("tools/list", {}, wrong)).error.code, -32022);
        await client.end();
    });

    test("batches belong to 2025-03-26", async () => {
        const batch = [
            { jsonrpc: "2.0", id: "a", method: "ping" },
            { jsonrpc: "2.0", id: "b", method: "tools/list" },
        ];
        const old = startStdio();
        await old.initialize("2025-03-26");
        old.send(batch);
        const answers = await old.until(Array.isArray, "the answers of the batch");
        assert.deepEqual(
            answers.map(({ id }) => id),
            ["a", "b"],
        );
        await old.end();
        const newer = startStdio();
        newer.send(batch);
        assert.equal((await newer.until(({ error }) => error, "an error")).error.code, -32600);
        await newer.initialize("2025-11-25");
        newer.send(batch);
        await eventually(() => newer.messages.filter(({ error }) => error).length === 2, "a second");
        await newer.end();
    });

    test("calls run at the same time", async () => {
        const client = startStdio();
        const slow = client.begin("tools/call", {
            name: "test.progress",
            arguments: { steps: 4_000, ms: 5 },
            _meta: { progressToken: 1 },
        });
        await client.until(({ method }) => method === "notifications/progress", "its progress");
        const quick = client.begin("tools/call", { name: "test.echo", arguments: { message: "x" } });
        await client.answer(quick);
        assert.equal(
            client.messages.some(({ id }) => id === slow),
            false,
        );
        client.notify("notifications/cancelled", { requestId: slow });
        await client.end();
    });

    test("two requests with one id are two requests", async () => {
        const client = startStdio();
        client.begin("ping", undefined, 7);
        client.begin("ping", undefined, 7);
        client.begin("ping", undefined, "7");
        await client.answer("7");
        assert.equal(client.messages.filter(({ id }) => id === 7).length, 2);
        await client.end();
    });

    test("progress comes ahead of the result", async () => {
        const client = startStdio();
        const params = { name: "test.progress", arguments: { steps: 3 }, _meta: { progressToken: 5 } };
        await client.ask("tools/call", params);
        const seen = client.messages.filter(({ method }) => method === "notifications/progress");
        assert.ok(seen.length >= 1);
        assert.ok(seen.every(({ params: { progressToken } }) => progressToken === 5));
        assert.ok(client.messages.at(-1).result);
        await client.end();
    });
});

suite("cancelling", { concurrency: true }, () => {
    for (const [era, meta] of [
        ["legacy", undefined],
        ["modern", envelope()],
    ]) {
        test(`a ${era} call while it runs: nothing is answered, and the plugin hears of it`, async () => {
            // The one worker would be busy for 20 s, and a killed one would have another process id.
            const plugins = { directory: makePluginFolder(["echo"]), workers: 1 };
            const config = writeConfig({ roles: { anonymous: permissions }, plugins });
            const client = startStdio({ args: ["--config", config] });
            const id = client.begin("tools/call", {
                name: "test.progress",
                arguments: { steps: 4_000, ms: 5 },
                _meta: { ...meta, progressToken: 1 },
            });
            await client.until(({ method }) => method === "notifications/progress", "its progress");
            const workers = workersOf(client);
            client.notify("notifications/cancelled", { requestId: id, _meta: meta });
            const { result } = await client.ask("tools/call", {
                name: "test.sleep",
                arguments: { ms: 1 },
                _meta: meta,
            });
            assert.deepEqual(result.isError ?? false, false);
            // The one that told what the plugin has may have ended meanwhile.
            assert.ok(workersOf(client).every((pid) => workers.includes(pid)));
            assert.equal(
                client.messages.some((one) => one.id === id),
                false,
            );
            await client.end();
        });

        test(`a ${era} call before and after it ran`, async () => {
            const client = startStdio();
            client.notify("notifications/cancelled", { requestId: "early", _meta: meta });
            const params = { name: "test.echo", arguments: { message: "x" }, _meta: meta };
            client.begin("tools/call", params, "early");
            assert.ok((await client.answer("early")).result);
            client.notify("notifications/cancelled", { requestId: "early", _meta: meta });
            assert.ok((await client.modern("tools/list")).result);
            await client.end();
        });
    }

    test("an id of another type is another request", async () => {
        const client = startStdio();
        client.begin("tools/call", { name: "test.sleep", arguments: { ms: 300 } }, 1);
        client.notify("notifications/cancelled", { requestId: "1" });
        assert.ok((await client.answer(1)).result);
        await client.end();
    });

    test("a stream of changes", async () => {
        const client = startStdio();
        const id = client.begin("subscriptions/listen", {
            notifications: { toolsListChanged: true },
            _meta: envelope(),
        });
        const isAck = ({ method }) => method === "notifications/subscriptions/acknowledged";
        const { params } = await client.until(isAck, "the acknowledgement");
        assert.equal(params._meta["io.modelcontextprotocol/subscriptionId"], id);
        client.notify("notifications/cancelled", { requestId: id, _meta: envelope() });
        await client.modern("tools/list");
        await client.end();
        assert.equal(
            client.messages.some((one) => one.id === id),
            false,
        );
    });
});

suite("what comes unasked", { concurrency: true }, () => {
    const start = () => {
        const folder = makePluginFolder(["echo"]);
        const config = writeConfig({ roles: { anonymous: permissions }, plugins: { directory: folder } });
        return { folder, client: startStdio({ args: ["--config", config] }) };
    };
    const changed = ({ method }) => method === "notifications/tools/list_changed";

    test("a legacy client hears that the list has changed", async () => {
        const { folder, client } = start();
        await client.initialize();
        await client.ask("tools/list");
        addPlugin(folder, "faults");
        assert.equal((await client.until(changed, "the notification")).params?._meta, undefined);
        const { result } = await client.ask("tools/list");
        assert.ok(result.tools.some(({ name }) => name === "faults__ok"));
        await client.end();
    });

    test("a modern client hears it where it has asked for it", async () => {
        const { folder, client } = start();
        await client.modern("tools/list");
        addPlugin(folder, "faults");
        await pause(700);
        await client.modern("tools/list");
        assert.equal(client.messages.some(changed), false);
        const id = client.begin("subscriptions/listen", {
            notifications: { toolsListChanged: true },
            _meta: envelope(),
        });
        await client.until(({ method }) => method?.endsWith("acknowledged"), "the acknowledgement");
        addPlugin(folder, "checked");
        const { params } = await client.until(changed, "the notification");
        assert.equal(params._meta["io.modelcontextprotocol/subscriptionId"], id);
        await client.end();
        assert.equal(client.messages.at(-1).id, id, "the stream ends in good order");
    });

    test("a question goes with the call that is taken back", async () => {
        const client = startStdio({ plugin: "conformance" });
        await client.initialize("2025-11-25", { elicitation: {} });
        const id = client.begin("tools/call", {
            name: "test_elicitation",
            arguments: { message: "Who?" },
        });
        const question = await client.until(({ method }) => method === "elicitation/create", "it");
        client.notify("notifications/cancelled", { requestId: id });
        const taken = await client.until(({ method }) => method === "notifications/cancelled", "its end");
        assert.equal(taken.params.requestId, question.id);
        assert.deepEqual((await client.ask("ping")).result, {});
        assert.equal(
            client.messages.some((one) => one.id === id && !one.method),
            false,
        );
        await client.end();
    });

    test("a legacy client is asked by a request, and its answer is heard", async () => {
        const client = startStdio({ plugin: "conformance" });
        await client.initialize("2025-11-25", { elicitation: {} });
        const id = client.begin("tools/call", {
            name: "test_elicitation",
            arguments: { message: "Who are you?" },
        });
        const question = await client.until(({ method }) => method === "elicitation/create", "it");
        const content = { username: "bob", email: "bob@example.com" };
        client.send({ jsonrpc: "2.0", id: question.id, result: { action: "accept", content } });
        const { result } = await client.answer(id);
        assert.match(result.content[0].text, /bob/);
        await client.end();
    });
});

suite("questions", { concurrency: true }, () => {
    test("as many calls wait for answers as may run; others are told so", async () => {
        const folder = makePluginFolder(["conformance"]);
        const roles = { anonymous: permissions };
        const config = writeConfig({ roles, plugins: { directory: folder }, limits: { max_calls: 3 } });
        const client = startStdio({ args: ["--config", config] });
        await client.initialize("2025-11-25", { elicitation: {} });
        const begin = () => client.begin("tools/call", { name: "test_elicitation", arguments: { message: "Who?" } });
        const asked = () => client.messages.filter(({ method }) => method === "elicitation/create");
        const waiting = [begin(), begin(), begin()];
        await eventually(() => asked().length === 3, "three questions");
        const { result } = await client.answer(begin());
        assert.equal(result.isError, true);
        assert.match(result.content[0].text, /Too many calls wait for answers/);
        // Whoever is answered, or gives up, makes room.
        client.send({ jsonrpc: "2.0", id: asked()[0].id, result: { action: "decline" } });
        await eventually(
            () => waiting.some((id) => client.messages.some((one) => one.id === id && one.result)),
            "the first one's end",
        );
        begin();
        await eventually(() => asked().length === 4, "a fourth question");
        waiting.forEach((requestId) => client.notify("notifications/cancelled", { requestId }));
        begin();
        begin();
        await eventually(() => asked().length === 6, "two more");
        await client.end();
    });
});

suite("bad input", { concurrency: true }, () => {
    test("lines that are no messages are answered without an id, and the next one works", async () => {
        const client = startStdio();
        const bad = ["garbage", "{", "\u0000", '"text"', "[]", "{}", '{"jsonrpc":"2.0","id":{}}', "[1]"];
        bad.forEach((text) => client.write(`${text}\n`));
        client.write(Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a]));
        await client.ask("ping");
        const errors = client.messages.filter(({ error }) => error);
        assert.equal(errors.length, bad.length + 1);
        assert.ok(errors.every((one) => !("id" in one)));
        assert.equal(errors.at(-1).error.code, -32700, "bytes that are no UTF-8");
        await client.end();
    });

    test("empty lines mean nothing, and a line may end in CR LF", async () => {
        const client = startStdio();
        client.write("\n\r\n\n  \n \t \r\n");
        client.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}\r\n`);
        assert.deepEqual((await client.answer(1)).result, {});
        await client.end();
        assert.equal(client.messages.length, 1);
    });

    test("a message that comes byte by byte", async () => {
        const client = startStdio();
        for (const byte of line({ id: 1, method: "ping" })) {
            client.write(byte);
            await pause(1);
        }
        assert.deepEqual((await client.answer(1)).result, {});
        await client.end();
    });

    test("a line of 64 MB is refused in little memory, and the next one works", async () => {
        const client = startStdio();
        await client.ask("ping");
        const piece = Buffer.alloc(1024 * 1024, "x");
        for (let i = 0; i < 64; i += 1) {
            await new Promise((resolve) => client.program.child.stdin.write(piece, resolve));
        }
        client.write("\n");
        assert.ok((await client.ask("ping")).result);
        const [{ error, id }] = client.messages.filter((one) => one.error);
        assert.deepEqual([error.code, error.message, id], [-32600, "Request too large", undefined]);
        assert.equal(client.messages.filter((one) => one.error).length, 1);
        const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${client.pid}/status`, "utf8"))[1];
        assert.ok(slowness > 1 || Number(peak) < 40_000, `${peak} KB`);
        await client.end();
    });

    test("half a line at the end is no message", async () => {
        const client = startStdio();
        client.write('{"jsonrpc":"2.0","id":1,"meth');
        await client.end();
        assert.equal(client.messages.length, 1);
        assert.equal(client.messages[0].error.code, -32700);
    });

    test("half a line at the end is answered however long loading takes", async () => {
        const { stdout, code } = await runCauseway(["stdio", "--plugin", pluginFile("slow")], {
            input: '{"jsonrpc":"2.0","id":1,"meth',
        });
        assert.equal(code, 0);
        assert.equal(JSON.parse(stdout).error.code, -32700);
    });

    test("line breaks inside a result never break a line", async () => {
        const client = startStdio();
        const message = "one\ntwo\r\nthree\u2028";
        const { result } = await client.callTool("test.echo", { message });
        assert.equal(result.structuredContent.message, message);
        await client.end();
    });

    test("a client that does not read is not listened to, and loses nothing", async () => {
        const client = startStdio();
        await client.ask("ping");
        client.program.child.stdout.pause();
        const n = 64;
        for (let i = 0; i < n; i += 1) {
            const params = { name: "test.large", arguments: { bytes: 262_144 } };
            client.begin("tools/call", params, i);
        }
        await pause(1_500 * slowness);
        const status = readFileSync(`/proc/${client.pid}/status`, "utf8");
        assert.ok(slowness > 1 || Number(/VmRSS:\s+(\d+)/.exec(status)[1]) < 60_000, status);
        client.program.child.stdout.resume();
        await eventually(() => client.messages.length === n + 1, "all answers", 20_000);
        await client.end();
    });

    test("a client that is killed takes the server and its workers along", async () => {
        const args = [binary, "stdio", "--plugin", pluginFile("echo")];
        const shell = 'echo $$; exec 3<&0; "$@" <&3 & echo $!; exec sleep 60 <&- 3<&-';
        const parent = spawn("sh", ["-c", shell, "sh", ...args], { stdio: ["pipe", "pipe", "ignore"] });
        let text = "";
        parent.stdout.setEncoding("utf8").on("data", (piece) => (text += piece));
        await eventually(() => text.split("\n").length > 2, "the process ids");
        const pid = Number(text.split("\n")[1]);
        const params = { name: "test.sleep_deaf", arguments: { ms: 20_000 } };
        parent.stdin.write(line({ id: 1, method: "tools/call", params }));
        await eventually(() => workersOf({ pid }).length === 1, "the worker");
        const workers = workersOf({ pid });
        parent.kill("SIGKILL");
        parent.stdin.destroy();
        parent.stdout.destroy();
        await eventually(() => [pid, ...workers].every(isGone), "the end of all", 2_000);
    });
});

suite("the end", { concurrency: true }, () => {
    // A call that does not listen to anybody.
    const withWorker = async () => {
        const client = startStdio();
        client.begin("tools/call", { name: "test.sleep_deaf", arguments: { ms: 20_000 } });
        await eventually(() => workersOf(client).length === 1, "the worker");
        await pause(50);
        return { client, workers: workersOf(client) };
    };

    test("of the input ends it and its workers within a second", async () => {
        const { client, workers } = await withWorker();
        const { ms } = await client.end();
        assertWithin(ms, 1_000, "the end");
        await eventually(() => workers.every(isGone), "the end of its workers", 1_000);
    });

    test("of the input ends it at once when nothing runs", async () => {
        const client = startStdio();
        await client.callTool("test.echo", { message: "x" });
        assertWithin((await client.end()).ms, 300, "the end");
    });

    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) {
        test(`${signal} ends it and its workers within a second`, async () => {
            const { client, workers } = await withWorker();
            const begin = awakeMs();
            await client.program.stop({ signal });
            assertWithin(awakeMs() - begin, 1_000, "the end");
            await eventually(() => workers.every(isGone), "the end of its workers", 1_000);
        });
    }

    test("comes while sources are being loaded, too", async () => {
        // A service that never answers: messages wait for it, the end does not.
        let asked = 0;
        const silent = createServer(() => (asked += 1)).listen(0, "127.0.0.1");
        await once(silent, "listening");
        const url = `http://127.0.0.1:${silent.address().port}/`;
        const config = writeConfig({ sources: [{ name: "silent", url }] });
        const begin = performance.now();
        const [one, other] = [1, 2].map(() => startStdio({ args: ["--config", config] }));
        one.begin("ping");
        other.begin("ping");
        await eventually(() => asked >= 2, "both load it", 10_000);
        await pause(100);
        // They wait for three seconds.
        const { stdout } = one.program;
        assert.ok(stdout === "" || performance.now() - begin > 3_000, stdout);
        assertWithin((await one.end()).ms, 1_000, "the end");
        assert.equal(one.messages.length, 1, "what needs no source is answered");
        const stopping = awakeMs();
        await other.program.stop();
        assertWithin(awakeMs() - stopping, 1_000, "the end");
        silent.close();
        silent.closeAllConnections();
    });

    test("of a pipe lets quick calls be answered", async () => {
        const { stdout, code } = await runCauseway(["stdio", "--plugin", pluginFile("echo")], {
            input: line({ id: 1, method: "tools/call", params: { name: "test.sleep", arguments: { ms: 50 } } }),
        });
        assert.equal(code, 0);
        assert.equal(JSON.parse(stdout).id, 1);
    });

    test("of a pipe lets the calls of a plugin be answered that takes long to load", async () => {
        const params = { name: "slow.echo", arguments: { message: "x" } };
        const { stdout, code } = await runCauseway(["stdio", "--plugin", pluginFile("slow")], {
            input: line({ id: 1, method: "tools/call", params }),
        });
        assert.equal(code, 0);
        assert.equal(JSON.parse(stdout).result.content[0].text, "x");
    });

    test("of a file comes after all its answers", async () => {
        const file = path.join(keepFolder(), "requests.txt");
        const n = 2_500; // more than may run at once
        const calls = Array.from({ length: n }, (_, id) =>
            line({ id, method: "tools/call", params: { name: "test.echo", arguments: { message: "x" } } }),
        );
        const slow = { name: "test.sleep", arguments: { ms: 1_200 } };
        calls.push(line({ id: n, method: "tools/call", params: slow }).trimEnd());
        writeFileSync(file, calls.join(""));
        const out = path.join(keepFolder(), "answers.txt");
        const child = spawn(binary, ["stdio", "--plugin", pluginFile("echo")], {
            stdio: [openSync(file, "r"), openSync(out, "w"), "ignore"],
        });
        const code = await new Promise((resolve) => child.on("exit", resolve));
        assert.equal(code, 0);
        const answers = readFileSync(out, "utf8")
            .trimEnd()
            .split("\n")
            .map((text) => JSON.parse(text));
        assert.equal(answers.length, n + 1);
        assert.equal(new Set(answers.map(({ id }) => id)).size, n + 1);
        assert.ok(
            answers.every(({ result }) => result && !result.isError),
            "no call was refused",
        );
    });
});

suite("who asks", { concurrency: true }, () => {
    const folder = () => makePluginFolder(["echo"]);

    test("--plugin alone: whoever starts it may call everything", async () => {
        const client = startStdio();
        const { result } = await client.ask("tools/list");
        const names = result.tools.map(({ name }) => name);
        assert.ok(names.includes("test__admin") && names.includes("test__scoped"));
        assert.ok((await client.callTool("test.scoped")).result);
        assert.ok((await client.callTool("test.admin")).result);
        await client.end();
    });

    test("--plugin takes one file and no other of its folder", async () => {
        const plugins = makePluginFolder(["echo", "faults"]);
        const client = startStdio({ args: ["--plugin", path.join(plugins, "faults.so")] });
        const { result } = await client.ask("tools/list");
        assert.ok(result.tools.length > 1);
        assert.ok(result.tools.every(({ name }) => name.startsWith("faults__")));
        await client.end();
    });

    test("--config: the anonymous role", async () => {
        const config = writeConfig({ roles, plugins: { directory: folder() } });
        const client = startStdio({ args: ["--config", config] });
        assert.deepEqual((await client.ask("tools/list")).result.tools, []);
        await client.end();
    });

    test("--as: an account of the database, and no other", async () => {
        const store = { path: databasePath() };
        const config = writeConfig({ roles, store, plugins: { directory: folder() } });
        await cli(config, "account", "add", "alice", "--role", "editor", { input: "s3cret\n" });
        const client = startStdio({ args: ["--config", config, "--as", "alice"] });
        const { result } = await client.callTool("test.caller");
        assert.equal(JSON.parse(result.content[0].text).name, "alice");
        // What the account may do counts as it is now.
        await cli(config, "account", "block", "alice");
        const refused = async () => (await client.callTool("test.caller")).result?.isError;
        await eventually(refused, "the refusal");
        await client.end();
        const nobody = new StdioClient(["--config", config, "--as", "mallory"]);
        await nobody.end({ code: 1 });
        assert.match(nobody.program.stderr, /no account 'mallory'/);
        assert.equal(nobody.program.stdout, "");
    });

    test("--token-file and CAUSEWAY_TOKEN: the caller of a token, with its scopes", async () => {
        const store = { path: databasePath() };
        const config = writeConfig({ roles, store, plugins: { directory: folder() } });
        await cli(config, "account", "add", "alice", "--role", "editor", { input: "s3cret\n" });
        const create = async (...words) =>
            JSON.parse(await cli(config, "token", "create", "alice", "--json", ...words));
        const scoped = await create("--scope", "content:read", "--scope", "content:write");
        const file = path.join(keepFolder(), "stdio-token");
        writeFileSync(file, `${scoped.token}\n`, { mode: 0o600 });
        const plain = startStdio({ args: ["--config", config, "--as", "alice"] });
        const answer = (await plain.callTool("test.scoped")).result;
        assert.equal(answer.isError, true, "an account alone has no scopes");
        assert.match(answer.content[0].text, /^This tool requires a login or scopes/);
        const { tools } = (await plain.ask("tools/list")).result;
        assert.ok(!tools.some(({ name }) => name === "test__scoped"));
        await plain.end();
        for (const options of [
            { args: ["--config", config, "--token-file", file] },
            { args: ["--config", config], env: { CAUSEWAY_TOKEN: scoped.token } },
        ]) {
            const client = startStdio(options);
            const { result, error } = await client.callTool("test.scoped");
            assert.ok(result && !result.isError, JSON.stringify(error ?? result));
            await client.end();
        }
        // A revoked token ends what its caller may do.
        const client = startStdio({ args: ["--config", config, "--token-file", file] });
        assert.ok((await client.callTool("test.scoped")).result);
        await cli(config, "token", "revoke", String(scoped.id));
        const isRefused = ({ result, error }) => error !== undefined || result.isError === true;
        await eventually(async () => isRefused(await client.callTool("test.scoped")), "the refusal");
        await client.end();
        const refused = new StdioClient(["--config", config, "--token-file", file]);
        await refused.end({ code: 1 });
        assert.match(refused.program.stderr, /the token is refused/);
        assert.equal(refused.program.stdout, "");
    });

    test("a token or an account that is refused is no caller without a login", async () => {
        const plugins = newFolder("open");
        const open = 'CW_METHOD(run, "open.run");\nCW_TOOL(run);\n';
        const source = `#include <causeway/plugin.h>\nCW_PLUGIN("open", "1");\n`;
        compilePlugin(plugins, "open", `${source}static void run(cw_call *call) { (void)call; }\n${open}`);
        const config = writeConfig({ roles, store: { path: databasePath() }, plugins: { directory: plugins } });
        await cli(config, "account", "add", "alice", "--role", "editor", { input: "s3cret\n" });
        const { token } = JSON.parse(await cli(config, "token", "create", "alice", "--json"));
        for (const [options, code] of [
            [{ env: { CAUSEWAY_TOKEN: "bad" } }, 1],
            [{ args: ["--as", "mallory"] }, 1],
            [{ env: { CAUSEWAY_TOKEN: token } }, 0],
            [{ args: ["--as", "alice"] }, 0],
        ]) {
            const client = new StdioClient(["--config", config, ...(options.args ?? [])], { env: options.env });
            await client.end({ code });
            assert.doesNotMatch(client.program.stderr, /MCP clients see no tools|not listed to MCP clients/);
        }
    });

    test("without anything: the example plugins", async () => {
        const client = startStdio({ args: [] });
        const { result } = await client.ask("tools/list");
        assert.ok(result.tools.some(({ name }) => name.startsWith("examples__")));
        await client.end();
    });

    for (const [args, code, pattern] of [
        [["--plugin", "/nowhere/x.so"], 2, /nowhere/],
        [["--plugin", "x.txt"], 2, /\.so/],
        [["--plugin", "x.so", "--config", "y"], 2, /cannot be combined with --config/],
        [["--plugin", pluginFile("broken-many")], 1, /could not be loaded/],
        [["--as", "x", "--config", "/nowhere.yaml"], 2, /nowhere/],
        [["--as", "x", "--token-file", "y"], 2, /--as and --token-file cannot be combined/],
        [["--plugin", "x.so", "--token-file", "y"], 2, /cannot be combined with --token-file/],
        [["--token-file", "/nowhere/token"], 1, /nowhere/],
        [["--token-file", "/dev/null"], 2, /set store\.path or access\.issuers/],
        [["extra"], 2, /extra/],
    ]) {
        test(`refused: ${args.map((arg) => path.basename(arg)).join(" ")}`, async () => {
            const { stdout, stderr, code: got } = await runCauseway(["stdio", ...args]);
            assert.equal(got, code, stderr);
            assert.equal(stdout, "");
            assert.match(stderr, pattern);
        });
    }
});

suite("standard streams of all kinds", { concurrency: true }, () => {
    const command = `"${binary}" stdio --plugin "${pluginFile("echo")}"`;
    const shell = (script, options = {}) =>
        new Promise((resolve) => {
            const child = spawn("bash", ["-c", script], { stdio: ["ignore", "pipe", "pipe"], ...options });
            let stdout = "";
            child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
            child.on("close", (code) => resolve({ code, stdout }));
        });

    test("no input", async () => {
        assert.deepEqual(await shell(`${command} </dev/null 2>/dev/null`), { code: 0, stdout: "" });
        assert.deepEqual(await shell(`${command} <&- 2>/dev/null`), { code: 0, stdout: "" });
    });

    test("nobody reads", async () => {
        const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
        const own = "exit ${PIPESTATUS[1]}"; // not that of the end of the pipe
        for (const script of [
            `(echo '${ping}'; sleep 2) | ${command} 2>/dev/null | true; ${own}`,
            `echo '${ping}' | ${command} >/dev/full 2>/dev/null; ${own}`,
            `echo '${ping}' | ${command} >&- 2>/dev/null; ${own}`,
        ]) {
            const { code, stdout } = await shell(script);
            // It may complain, but neither crash nor be killed.
            assert.ok(code !== null && code < 128 && code !== 99, `${script}: ${code}`);
            assert.equal(stdout, "");
        }
    });

    test("a terminal keeps its flags", async () => {
        const probe = 'import fcntl,os;print("nonblock" if fcntl.fcntl(0,fcntl.F_GETFL)&os.O_NONBLOCK else "block")';
        const python = `python3 -c '${probe}'`;
        const inner = `${command} 2>/dev/null & sleep 0.5; ${python}; kill -TERM $!; wait $!; ${python}`;
        const file = path.join(keepFolder(), "inner.sh");
        writeFileSync(file, inner);
        const { stdout } = await shell(`script -qec 'bash ${file}' /dev/null </dev/null`);
        assert.equal(stdout.match(/\bblock/g)?.length, 2, stdout);
        assert.doesNotMatch(stdout, /nonblock/);
    });
});
