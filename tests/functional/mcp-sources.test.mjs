// MCP servers as sources: real servers behind a bridge, real clients in front of it. The matrix of
// docs/mcp-sources.md (client era × server era) is the table of tests here.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
    ElicitRequestSchema,
    CreateMessageRequestSchema,
    ListRootsRequestSchema,
    ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { keepFolder } from "./support/kept.mjs";
import {
    assertToolError,
    callTool,
    callToolWell,
    permissions,
    startBridge,
    toolNames,
    toolOf,
    untilTool,
} from "./support/mcp.mjs";
import { scrape } from "./support/metrics.mjs";
import { freePort } from "./support/ports.mjs";
import { Program, root, runCauseway, startProgram } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";

const node = process.execPath;
const fixture = path.join(root, "tests/functional/support/mcp-server.mjs");
const inspector = path.join(root, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
const packaged = (name) => path.join(root, "node_modules/@modelcontextprotocol", name, "dist/index.js");

const startServer = (mode) => startProgram(node, [fixture, mode], { name: `mcp-${mode}` });

// A bridge in front of one source; its tools are those of the source, with the prefix "s.".
async function bridge(t, source, config = {}) {
    const server = await startBridge({
        plugins: [],
        config: {
            ...config,
            sources: [{ name: "srv", dialect: "mcp", prefix: "s.", methods: ["*"], timeout: "60s", ...source }],
        },
    });
    t.after(() => server.stop());
    return server;
}

// The same for the fixture server in one of its modes.
async function fixtureBridge(t, mode, { stdio = false, source = {}, config } = {}) {
    if (stdio) {
        const server = await bridge(t, { command: [node, fixture, mode, "--stdio"], ...source }, config);
        await untilTool(server, "s.echo");
        return { server };
    }
    const upstream = await startServer(mode);
    t.after(() => upstream.stop().catch(() => {}));
    const server = await bridge(t, { url: `${upstream.url}/mcp`, ...source }, config);
    await untilTool(server, "s.echo");
    return { server, upstream };
}

async function listSources(server) {
    const { stdout } = await runCauseway(["source", "list", "--json", "--config", server.config]);
    return JSON.parse(stdout);
}

const textOf = (result) => result.content[0].text;

// ---- clients ----

const answers = {
    form: { action: "accept", content: { name: "Ada" } },
    url: { action: "accept" },
    model: { role: "assistant", model: "m", content: { type: "text", text: "Something" } },
    roots: { roots: [{ uri: "file:///home/ada", name: "home" }] },
};

const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const elicited = (request) => (request.params.mode === "url" ? answers.url : answers.form);

async function modernClient(t, server) {
    const client = new Client(
        { name: "new", version: "1" },
        { capabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    client.setRequestHandler("elicitation/create", elicited);
    client.setRequestHandler("sampling/createMessage", () => answers.model);
    client.setRequestHandler("roots/list", () => answers.roots);
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
    t.after(() => client.close());
    return client;
}

async function legacyClient(t, server) {
    const client = new OldClient({ name: "old", version: "1" }, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, elicited);
    client.setRequestHandler(CreateMessageRequestSchema, () => answers.model);
    client.setRequestHandler(ListRootsRequestSchema, () => answers.roots);
    await client.connect(new OldTransport(new URL(`${server.url}/mcp`)));
    t.after(() => client.close());
    return client;
}

const clients = { modern: modernClient, legacy: legacyClient };
const listChanged = { modern: "notifications/tools/list_changed", legacy: ToolListChangedNotificationSchema };
const call = (client, name, args = {}, options) => client.callTool({ name, arguments: args }, undefined, options);
const callNew = (client, name, args = {}, options) => client.callTool({ name, arguments: args }, options);
const caller = (era) => (era === "modern" ? callNew : call);

// ---- real servers ----

suite("servers from npm", { concurrency: true }, () => {
    for (const how of ["stdio", "HTTP"]) {
        test(`server-everything over ${how} is listed and called`, async (t) => {
            let source = { command: [node, packaged("server-everything")] };
            if (how === "HTTP") {
                const port = await freePort();
                const upstream = new Program(node, [packaged("server-everything"), "streamableHttp"], {
                    env: { PORT: String(port) },
                    name: "everything",
                });
                t.after(() => upstream.stop().catch(() => {}));
                await upstream.until(() => upstream.stderr.includes("listening"), "a port", 30_000);
                source = { url: `http://127.0.0.1:${port}/mcp` };
            }
            const server = await bridge(t, source);
            await untilTool(server, "s.echo");
            assert.equal(textOf(await callToolWell(server, "s.echo", { message: "ž" })), "Echo: ž");
            const image = await callToolWell(server, "s.get-tiny-image", {});
            assert.ok(image.content.some((block) => block.type === "image" && block.mimeType === "image/png"));
            const links = await callToolWell(server, "s.get-resource-links", { count: 2 });
            assert.equal(links.content.filter((block) => block.type === "resource_link").length, 2);
            const structured = await callToolWell(server, "s.get-structured-content", { location: "Chicago" });
            assert.equal(typeof structured.structuredContent.temperature, "number");
            assertToolError(await callTool(server, "s.get-sum", { a: "x", b: 2 }), /expected number/);
            assert.equal((await listSources(server))[0].protocol, "legacy");
        });
    }

    test("server-filesystem reads a file", async (t) => {
        const folder = mkdtempSync(path.join(keepFolder(), "files-"));
        writeFileSync(path.join(folder, "a.txt"), "hello");
        const server = await bridge(t, { command: [node, packaged("server-filesystem"), folder] });
        await untilTool(server, "s.read_text_file");
        const result = await callToolWell(server, "s.read_text_file", { path: path.join(folder, "a.txt") });
        assert.equal(textOf(result), "hello");
        assertToolError(await callTool(server, "s.read_text_file", { path: "/etc/passwd" }), /[Aa]ccess denied/);
    });

    test("server-memory keeps what it is told", async (t) => {
        // Beside the configuration, which is hidden from programs, it could create no file.
        const folder = path.join(keepFolder(), "memory");
        mkdirSync(folder);
        const server = await bridge(t, {
            command: [node, packaged("server-memory")],
            environment: { MEMORY_FILE_PATH: path.join(folder, "memory.json") },
        });
        await untilTool(server, "s.create_entities");
        const entities = [{ name: "Ada", entityType: "person", observations: ["writes programs"] }];
        await callToolWell(server, "s.create_entities", { entities });
        const found = await callToolWell(server, "s.search_nodes", { query: "Ada" });
        assert.match(textOf(found), /writes programs/);
    });

    test("server-memory is used by the Inspector", async (t) => {
        const environment = { MEMORY_FILE_PATH: path.join(keepFolder(), "no-memory.json") };
        const server = await bridge(t, { command: [node, packaged("server-memory")], environment });
        await untilTool(server, "s.read_graph");
        const address = [`${server.url}/mcp`, "--transport", "http"];
        const inspect = async (...words) =>
            JSON.parse((await promisify(execFile)(node, [inspector, "--cli", ...address, ...words])).stdout);
        const { tools } = await inspect("--method", "tools/list");
        assert.ok(
            tools.some(({ name }) => name === "s__read_graph"),
            JSON.stringify(tools.map(({ name }) => name)),
        );
        const result = await inspect("--method", "tools/call", "--tool-name", "s__read_graph");
        assert.deepEqual(result.structuredContent, { entities: [], relations: [] });
    });

    test("a Causeway behind a Causeway is a modern server", async (t) => {
        const behind = await startBridge({ plugins: ["echo"] });
        t.after(() => behind.stop());
        const server = await bridge(t, { url: `${behind.url}/mcp` });
        await untilTool(server, "s.test__echo");
        const result = await callToolWell(server, "s.test__echo", { message: "through two" });
        assert.match(JSON.stringify(result.content), /through two/);
        assert.equal((await listSources(server))[0].protocol, "modern");
    });
});

// ---- eras ----

suite("the era of a server", { concurrency: true }, () => {
    const found = { modern: "modern", legacy: "legacy", dual: "modern", sessions: "legacy" };
    for (const [mode, era] of Object.entries(found)) {
        test(`a server that is ${mode} over HTTP is ${era}`, async (t) => {
            const { server } = await fixtureBridge(t, mode);
            assert.equal((await listSources(server))[0].protocol, era);
            assert.equal(textOf(await callToolWell(server, "s.echo", { message: "x" })), "x");
        });
    }
    for (const [mode, era] of [
        ["modern", "modern"],
        ["dual", "modern"],
    ]) {
        test(`a server that is ${mode} on lines is ${era}`, async (t) => {
            const { server } = await fixtureBridge(t, mode, { stdio: true });
            assert.equal((await listSources(server))[0].protocol, era);
            assert.equal(textOf(await callToolWell(server, "s.echo", { message: "x" })), "x");
        });
    }
    test("a modern server that starts late, and refuses initialize first, is modern", async (t) => {
        const command = ["sh", "-c", 'sleep 3 && exec "$@"', "sh", node, fixture, "modern", "--stdio"];
        const server = await bridge(t, { command });
        await untilTool(server, "s.echo");
        assert.equal((await listSources(server))[0].protocol, "modern");
        assert.equal(textOf(await callToolWell(server, "s.echo", { message: "x" })), "x");
    });
    for (const stdio of [false, true]) {
        test(`can be pinned to legacy ${stdio ? "on lines" : "over HTTP"}`, async (t) => {
            const { server } = await fixtureBridge(t, "dual", { stdio, source: { protocol: "legacy" } });
            assert.equal((await listSources(server))[0].protocol, "legacy");
            assert.equal(textOf(await callToolWell(server, "s.echo", { message: "x" })), "x");
        });
    }
});

suite("a tool of a server", { concurrency: true }, () => {
    test("is exposed only where it is named", async (t) => {
        const { server } = await fixtureBridge(t, "modern", { source: { methods: ["echo"] } });
        assert.deepEqual(await toolNames(server), ["s.echo"]);
        assert.equal((await callTool(server, "s.sum", { a: 1, b: 2 })).json.error.code, -32602);
    });

    test("has title, description, schemas and annotations of the server", async (t) => {
        const { server } = await fixtureBridge(t, "modern");
        const echo = await toolOf(server, "s.echo");
        assert.equal(echo.title, "Echo");
        assert.equal(echo.description, "Gives back what it got");
        assert.deepEqual(echo.inputSchema.required, ["message"]);
        assert.equal(echo.annotations.readOnlyHint, true);
        assert.equal((await toolOf(server, "s.sum")).outputSchema.properties.sum.type, "number");
    });

    test("has its result passed on as it came, with the _meta that is not a hop's own", async (t) => {
        const { server } = await fixtureBridge(t, "modern");
        const result = await callToolWell(server, "s.echo", { message: "x" });
        assert.equal(result._meta["example.org/kept"], 1);
        assert.equal(result._meta["io.modelcontextprotocol/serverInfo"].name, "Causeway");
        const sum = await callToolWell(server, "s.sum", { a: 40, b: 2 });
        assert.deepEqual(sum.structuredContent, { sum: 42 });
    });

    test("reports an error as the server does", async (t) => {
        const { server } = await fixtureBridge(t, "modern");
        assert.equal(assertToolError(await callTool(server, "s.fail", {})), "It went wrong");
    });
});

// ---- the matrix ----

for (const clientEra of ["modern", "legacy"]) {
    for (const mode of ["modern", "sessions"]) {
        const serverEra = mode === "modern" ? "modern" : "legacy";
        const invoke = caller(clientEra);
        suite(`a ${clientEra} client and a ${serverEra} server`, { concurrency: true }, () => {
            const begin = async (t, options) => {
                const { server, upstream } = await fixtureBridge(t, mode, {
                    source: { questions: ["form", "url", "sampling", "roots"] },
                    ...options,
                });
                return { server, upstream, client: await clients[clientEra](t, server) };
            };

            test("call", async (t) => {
                const { client } = await begin(t);
                assert.equal(textOf(await invoke(client, "s.echo", { message: "hi" })), "hi");
            });

            test("progress", async (t) => {
                const { client } = await begin(t);
                const seen = [];
                await invoke(
                    client,
                    "s.steps",
                    { count: 3 },
                    { onprogress: (p) => seen.push([p.progress, p.total, p.message]) },
                );
                assert.deepEqual(seen, [
                    [1, 3, "step 1"],
                    [2, 3, "step 2"],
                    [3, 3, "step 3"],
                ]);
            });

            test("cancel", async (t) => {
                const { client, upstream } = await begin(t);
                const stop = new AbortController();
                const running = invoke(client, "s.wait", { ms: 60_000 }, { signal: stop.signal });
                running.catch(() => {});
                await upstream.until(() => upstream.stderr.includes("called wait"), "the call");
                stop.abort("no longer wanted");
                await assert.rejects(running);
                await upstream.until(() => upstream.stderr.includes("cancelled wait"), "the cancel");
            });

            for (const [name, answer] of [
                ["ask_form", answers.form],
                ["ask_url", answers.url],
                ["ask_model", answers.model],
                ["ask_roots", answers.roots],
            ]) {
                test(`question: ${name}`, async (t) => {
                    const { client, upstream } = await begin(t);
                    const result = await invoke(client, `s.${name}`);
                    const got = JSON.parse(textOf(result));
                    for (const [key, value] of Object.entries(answer)) assert.deepEqual(got[key], value);
                    // A legacy tool never runs twice.
                    const expected = serverEra === "legacy" ? 1 : 2;
                    const runs = () => upstream.stderr.split(`called ${name}`).length - 1;
                    await upstream.until(() => runs() >= expected, "the calls");
                    assert.equal(runs(), expected);
                });
            }

            test("list_changed", async (t) => {
                const config = { roles: { anonymous: [...permissions, "view metrics"] } };
                const { client, server } = await begin(t, { config });
                let changes = 0;
                client.setNotificationHandler(listChanged[clientEra], () => (changes += 1));
                if (clientEra === "modern") await client.listen({ toolsListChanged: true });
                // A legacy client opens its stream at some time after the handshake.
                const kind = clientEra === "modern" ? "listen" : "get";
                const streams = async () => (await scrape(server)).value("causeway_streams", { kind });
                await eventually(async () => (await streams()) === 1, "the stream");
                await invoke(client, "s.rename");
                await eventually(() => changes > 0, "the notification", 10_000);
                const { tools } = await client.listTools();
                const echo = tools.find((tool) => tool._meta?.["causeway/name"] === "s.echo");
                assert.equal(echo.description, "Gives back something else");
                assert.equal(changes, 1);
            });

            test("error", async (t) => {
                const { client } = await begin(t);
                const result = await invoke(client, "s.fail");
                assert.equal(result.isError, true);
                assert.equal(textOf(result), "It went wrong");
            });

            test("server death", async (t) => {
                const { client, upstream } = await begin(t);
                const result = await invoke(client, "s.die");
                assert.equal(result.isError, true);
                await upstream.exited;
                assert.equal((await invoke(client, "s.echo", { message: "x" })).isError, true);
                assert.ok((await client.listTools()).tools.length > 5, "the list stays");
            });
        });
    }
}

// ---- questions that may not be asked ----

suite("a question", { concurrency: true }, () => {
    test("by URL, of a model or for roots is not passed on unless it is configured", async (t) => {
        for (const mode of ["modern", "sessions"]) {
            const { server } = await fixtureBridge(t, mode);
            const client = await modernClient(t, server);
            for (const name of ["ask_url", "ask_model", "ask_roots"]) {
                const result = await callNew(client, `s.${name}`).catch((error) => ({ isError: true, error }));
                assert.equal(result.isError, true, name);
            }
            assert.match(textOf(await callNew(client, "s.ask_form")), /Ada/);
        }
    });
});

// ---- sessions ----

suite("sessions with a legacy server", { concurrency: true }, () => {
    test("a session that the server lost is opened again, and the call is sent once more", async (t) => {
        const { server, upstream } = await fixtureBridge(t, "sessions");
        await callToolWell(server, "s.echo", { message: "1" });
        upstream.child.kill("SIGUSR2");
        await upstream.until(() => upstream.stderr.includes("sessions forgotten"), "the signal");
        assert.equal(textOf(await callToolWell(server, "s.echo", { message: "2" })), "2");
        const called = () => upstream.stderr.split("called echo").length - 1;
        await upstream.until(() => called() >= 2, "the calls");
        assert.equal(called(), 2);
    });

    test("mode call opens a session for each call and ends it", async (t) => {
        const { server, upstream } = await fixtureBridge(t, "sessions", { source: { session: "call" } });
        const opened = () => upstream.stderr.split("session ").length - 1;
        await upstream.until(() => opened() > 0, "the session of the discovery");
        const before = opened();
        for (let i = 0; i < 3; i += 1) await callToolWell(server, "s.echo", { message: "x" });
        await upstream.until(() => opened() - before >= 3, "the sessions");
        assert.equal(opened() - before, 3);
        await upstream.until(() => upstream.stderr.split("closed ").length - 1 >= 3, "the ends of sessions");
    });

    test("mode shared uses one session for all calls", async (t) => {
        const { server, upstream } = await fixtureBridge(t, "sessions", { source: { session: "shared" } });
        const opened = () => upstream.stderr.split("session ").length - 1;
        const before = opened();
        for (let i = 0; i < 5; i += 1) await callToolWell(server, "s.echo", { message: "x" });
        assert.ok(opened() - before <= 1);
    });
});
