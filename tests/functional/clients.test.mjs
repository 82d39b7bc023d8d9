// Clients that others wrote: the official SDKs of both lines, and the Inspector.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import * as sdk2 from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { addPlugin, onAllLoops, startBridge, toolNames, untilTool } from "./support/mcp.mjs";
import { buildFolder, patience, root } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";

const about = { name: "test", version: "1.0.0" };
const message = "hello";

let server;
before(async () => (server = await startBridge()));
after(() => server?.stop());

const endpoint = () => new URL(`${server.url}/mcp`);

async function assertWorks(client) {
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === "test__echo"));
    const result = await client.callTool({ name: "test__echo", arguments: { message } });
    assert.equal(result.isError ?? false, false);
    assert.match(result.content[0].text, /hello/);
    const failed = await client.callTool({ name: "test.fail", arguments: {} });
    assert.equal(failed.isError, true);
    await assert.rejects(client.callTool({ name: "test.nothing", arguments: {} }), ({ code }) => {
        assert.equal(code, -32602);
        return true;
    });
}

suite("the SDK 2.4.0", { concurrency: true }, () => {
    const connect = async (t, mode) => {
        const client = new sdk2.Client(about, { versionNegotiation: { mode } });
        await client.connect(new sdk2.StreamableHTTPClientTransport(endpoint()));
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
    }

    test("hears of progress", async (t) => {
        const client = await connect(t, { pin: "2026-07-28" });
        const seen = [];
        const params = { name: "test.progress", arguments: { steps: 3 } };
        const result = await client.callTool(params, { onprogress: (one) => seen.push(one) });
        assert.equal(result.isError ?? false, false);
        assert.ok(seen.length >= 1);
        const values = seen.map(({ progress }) => progress);
        assert.deepEqual(
            values,
            values.toSorted((a, b) => a - b),
        );
    });

    test("can leave a call", async (t) => {
        const client = await connect(t, { pin: "2026-07-28" });
        const aborter = new AbortController();
        const params = { name: "test.sleep", arguments: { ms: 20_000 } };
        const call = client.callTool(params, { signal: aborter.signal });
        setTimeout(() => aborter.abort(), 100);
        await assert.rejects(call);
        await assertWorks(client);
    });

    test("hears that the list of tools has changed", async (t) => {
        const own = await startBridge();
        t.after(() => own.stop());
        const client = new sdk2.Client(about, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
        let changes = 0;
        client.setNotificationHandler("notifications/tools/list_changed", () => (changes += 1));
        await client.connect(new sdk2.StreamableHTTPClientTransport(new URL(`${own.url}/mcp`)));
        t.after(() => client.close());
        await client.listen({ toolsListChanged: true });
        addPlugin(own.plugins, "faults");
        await eventually(() => changes > 0, "the notification");
        // Its list may come from a loop that has them a moment later.
        const isThere = async () => (await toolNames(own)).includes("faults.ok");
        await eventually(() => onAllLoops(isThere), "the tools");
        const { tools } = await client.listTools();
        assert.ok(tools.some(({ name }) => name === "faults__ok"));
    });
});

suite("the SDK 1.32.2", { concurrency: true }, () => {
    test("works", async (t) => {
        const client = new Client1(about, { capabilities: {} });
        const transport = new Http1(endpoint());
        await client.connect(transport);
        t.after(() => client.close());
        assert.equal(transport.protocolVersion, "2025-11-25");
        assert.equal(client.getServerVersion().name.length > 0, true);
        await client.ping();
        await assertWorks(client);
        await transport.terminateSession();
    });
});

suite("the Inspector 2.12.0", { concurrency: 2 }, () => {
    const launcher = path.join(root, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    const inspect = ({ url, endpoint = "/mcp" }, ...args) =>
        new Promise((resolve) => {
            const fixed = ["--cli", `${url}${endpoint}`, "--transport", "http", "--format", "json"];
            const options = { timeout: patience(60_000) };
            execFile(process.execPath, [launcher, ...fixed, ...args], options, (error, stdout, stderr) =>
                resolve({ code: error ? error.code : 0, stdout, stderr }),
            );
        });

    // What it prints when all is well.
    const read = async (...args) => {
        const { code, stdout, stderr } = await inspect(...args);
        assert.equal(code, 0, stdout + stderr);
        return stdout;
    };

    let fixtures;
    let examples;
    before(async () => {
        fixtures = await startBridge({ plugins: ["conformance", "checked"] });
        const config = { plugins: { directory: path.join(buildFolder, "plugins") } };
        examples = await startBridge({ plugins: [], config });
        await untilTool(fixtures, "test_simple_text");
        await untilTool(examples, "examples.article.toMarkdown");
    });
    after(async () => {
        await fixtures?.stop();
        await examples?.stop();
    });

    for (const era of ["legacy", "modern", "auto"]) {
        const chosen = ["--protocol-era", era];
        const strict = [...chosen, "--method", "tools/list", "--strict"];

        test(`lists tools and finds no fault with them in its ${era} era`, async () => {
            assert.match(await read(server, ...strict), /test\.echo/);
            assert.match(await read(examples, ...strict), /examples\.article\.toMarkdown/);
        });

        test(`calls a tool in its ${era} era`, async () => {
            const call = ["--method", "tools/call", "--tool-name", "test__echo"];
            assert.match(await read(server, ...chosen, ...call, "--tool-arg", `message=${message}`), /hello/);
        });

        test(`reads prompts and resources in its ${era} era`, async () => {
            const prompt = ["prompts/get", "--prompt-name", "test_prompt_with_arguments"];
            const args = ["--prompt-args", "arg1=one", "arg2=two"];
            assert.match(await read(fixtures, ...chosen, "--method", ...prompt, ...args), /arg1='one', arg2='two'/);
            const resource = ["resources/read", "--uri", "test://static-text"];
            assert.match(await read(fixtures, ...chosen, "--method", ...resource), /static text/);
        });
    }

    test("needs to be told nothing about the era", async () => {
        assert.match(await read(server, "--method", "tools/list"), /test\.echo/);
    });

    // The command that the original's documents print names the address of the list.
    test("row-D18: works with /mcp/tools/list as its endpoint", async () => {
        const other = { url: server.url, endpoint: "/mcp/tools/list" };
        for (const era of ["legacy", "modern"]) {
            const list = ["--protocol-era", era, "--method", "tools/list"];
            assert.match(await read(other, ...list), /test\.echo/);
        }
    });

    test("finds no fault with schemas of every kind", async () => {
        const found = await inspect(fixtures, "--method", "tools/list", "--strict");
        assert.equal(found.code, 0, found.stdout + found.stderr);
    });

    test("says that a tool failed", async () => {
        const { code } = await inspect(server, "--method", "tools/call", "--tool-name", "test__fail");
        assert.equal(code, 5);
    });
});
