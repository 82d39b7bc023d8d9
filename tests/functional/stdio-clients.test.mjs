// Clients that others wrote, over standard input and output: the official SDKs and the Inspector.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { suite, test } from "node:test";
import { Client as Client2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { addPlugin, makePluginFolder, permissions, pluginFile } from "./support/mcp.mjs";
import { binary, root, patience, stopwatch, writeConfig } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";

const about = { name: "test", version: "1.0.0" };
const server = { command: binary, args: ["stdio", "--plugin", pluginFile("echo")], stderr: "ignore" };

async function assertWorks(client) {
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === "test__echo"));
    const result = await client.callTool({ name: "test__echo", arguments: { message: "hello" } });
    assert.equal(result.isError ?? false, false);
    assert.match(result.content[0].text, /hello/);
    const failed = await client.callTool({ name: "test.fail", arguments: {} });
    assert.equal(failed.isError, true);
    await assert.rejects(client.callTool({ name: "test.nothing", arguments: {} }), ({ code }) => {
        assert.equal(code, -32602);
        return true;
    });
}

suite("the client 2.4.0 over stdio", { concurrency: true }, () => {
    const connect = async (t, mode, parameters = server) => {
        const client = new Client2(about, { versionNegotiation: { mode } });
        await client.connect(new Stdio2(parameters));
        t.after(() => client.close());
        return client;
    };

    for (const [mode, era, version] of [
        [{ pin: "2026-07-28" }, "modern", "2026-07-28"],
        ["auto", "modern", "2026-07-28"],
        ["legacy", "legacy", "2025-11-25"],
    ]) {
        test(`works with ${JSON.stringify(mode)}`, async (t) => {
            const client = await connect(t, mode);
            assert.equal(client.getProtocolEra(), era);
            assert.equal(client.getNegotiatedProtocolVersion(), version);
            await assertWorks(client);
        });

        test(`hears of progress and can leave a call with ${JSON.stringify(mode)}`, async (t) => {
            const client = await connect(t, mode);
            const seen = [];
            // Progress that it reads together with the result the client forgets: it gets the time to be scheduled.
            const ms = Math.min(patience(200), 4_000);
            const params = { name: "test.progress", arguments: { steps: 3, ms } };
            await client.callTool(params, { onprogress: (one) => seen.push(one) });
            assert.ok(seen.length >= 1);
            const aborter = new AbortController();
            const slow = { name: "test.sleep", arguments: { ms: 500_000 } };
            const call = client.callTool(slow, { signal: aborter.signal });
            setTimeout(() => aborter.abort(), 200);
            await assert.rejects(call);
            // At once, not when the first one would have ended.
            const elapsed = stopwatch();
            await client.callTool({ name: "test.sleep", arguments: { ms: 1 } });
            assert.ok(elapsed() < patience(5_000), `${elapsed()} ms`);
        });
    }

    test("hears that the list of tools has changed", async (t) => {
        const folder = makePluginFolder(["echo"]);
        const config = writeConfig({ roles: { anonymous: permissions }, plugins: { directory: folder } });
        const parameters = { ...server, args: ["stdio", "--config", config] };
        const client = await connect(t, { pin: "2026-07-28" }, parameters);
        let changes = 0;
        client.setNotificationHandler("notifications/tools/list_changed", () => (changes += 1));
        await client.listen({ toolsListChanged: true });
        addPlugin(folder, "faults");
        await eventually(() => changes > 0, "the notification");
    });
});

suite("the SDK 1.32.2 over stdio", { concurrency: true }, () => {
    test("works", async (t) => {
        const client = new Client1(about, { capabilities: {} });
        await client.connect(new Stdio1(server));
        t.after(() => client.close());
        await client.ping();
        await assertWorks(client);
    });
});

suite("the Inspector 2.12.0 over stdio", { concurrency: true }, () => {
    const launcher = path.join(root, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    const file = writeConfig({ mcpServers: { causeway: { command: binary, args: server.args } } });
    const inspect = (...args) =>
        new Promise((resolve) => {
            const fixed = ["--cli", "--config", file, "--server", "causeway", "--format", "json"];
            const options = { timeout: patience(120_000) };
            execFile(process.execPath, [launcher, ...fixed, ...args], options, (error, stdout, stderr) =>
                resolve({ code: error ? error.code : 0, stdout, stderr }),
            );
        });

    for (const era of [[], ["--protocol-era", "modern"], ["--protocol-era", "auto"]]) {
        const name = era[1] ?? "default";

        test(`lists tools in its ${name} era, without a fault of the schemas`, async () => {
            const args = [...era, "--method", "tools/list", "--strict"];
            const { code, stdout, stderr } = await inspect(...args);
            assert.equal(code, 0, stdout + stderr);
            assert.ok(stdout.includes("test__echo"), stdout);
        });

        test(`calls a tool in its ${name} era`, async () => {
            const call = ["--method", "tools/call", "--tool-name", "test__echo"];
            const { code, stdout, stderr } = await inspect(...era, ...call, "--tool-arg", "message=hello");
            assert.equal(code, 0, stderr);
            assert.match(stdout, /hello/);
        });
    }

    test("says that a tool failed", async () => {
        const { code } = await inspect("--method", "tools/call", "--tool-name", "test__fail");
        assert.equal(code, 5);
    });
});
