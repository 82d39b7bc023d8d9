// Resources, templates, prompts, completion and instructions of MCP servers: real servers behind a
// bridge, real clients in front of it, in both eras on both sides.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { suite, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { keepFolder } from "./support/kept.mjs";
import { callToolWell, modern, permissions, startBridge, toolOf, untilTool } from "./support/mcp.mjs";
import { patience, root, runCauseway, startProgram } from "./support/programs.mjs";
import { eventually, pause, peakKb } from "./support/server.mjs";

const node = process.execPath;
const fixture = path.join(root, "tests/functional/support/mcp-resource-server.mjs");
const everything = path.join(root, "node_modules/@modelcontextprotocol/server-everything/dist/index.js");
const all = { methods: ["*"], resources: ["*"], templates: ["*"], prompts: ["*"] };

async function bridge(t, sources, config = {}) {
    const list = [sources].flat().map((source, i) => ({ name: `srv${i || ""}`, dialect: "mcp", ...source }));
    const server = await startBridge({ plugins: [], config: { ...config, sources: list } });
    t.after(() => server.stop());
    return server;
}

// A bridge in front of the fixture server; on standard input, or over HTTP.
async function fixtureBridge(t, mode, source = all, config = {}) {
    let upstream;
    let how = { command: [node, fixture, mode, "--stdio"] };
    if (mode.startsWith("http ")) {
        upstream = await startProgram(node, [fixture, mode.slice(5)], { name: `resources-${mode.slice(5)}` });
        t.after(() => upstream.stop().catch(() => {}));
        how = { url: `${upstream.url}/mcp` };
    }
    const server = await bridge(t, { ...how, prefix: "s.", ...source }, config);
    await untilTool(server, "s.link");
    return { server, upstream };
}

async function modernClient(t, server) {
    const client = new Client({ name: "new", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
    client.updates = [];
    client.setNotificationHandler("notifications/resources/updated", (n) => client.updates.push(n.params.uri));
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
    t.after(() => client.close());
    client.follow = (uri) => client.listen({ resourceSubscriptions: [uri] });
    return client;
}

async function legacyClient(t, server) {
    const client = new OldClient({ name: "old", version: "1" });
    client.updates = [];
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => client.updates.push(n.params.uri));
    await client.connect(new OldTransport(new URL(`${server.url}/mcp`)));
    t.after(() => client.close());
    client.follow = (uri) => client.subscribeResource({ uri });
    return client;
}

const clients = { modern: modernClient, legacy: legacyClient };
// What the anonymous caller sees, without a client that remembers capabilities.
const list = async (server, kind, options) => (await modern(server, `${kind}/list`, {}, options)).json.result;
const listedPrompts = async (server) => names(await list(server, "prompts"));
const listedUris = async (server) => uris(await list(server, "resources"));
const uris = ({ resources }) => resources.map(({ uri }) => uri);
const names = ({ prompts }) => prompts.map(({ name }) => name);

// What every client must see of the fixture, whichever way.
async function assertComplete(client) {
    const { resources } = await client.listResources();
    assert.deepEqual(
        resources.map(({ uri }) => uri),
        ["note://1", "note://picture", "note://secret"],
    );
    const [first] = resources;
    assert.equal(first.title, "First note");
    assert.equal(first.size, 3);
    assert.equal(first.icons[0].sizes[0], "1x1");
    assert.deepEqual(first.annotations.audience, ["user"]);
    assert.deepEqual(first._meta, { "example.org/shelf": 4 });
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.deepEqual(
        resourceTemplates.map(({ uriTemplate }) => uriTemplate),
        ["hidden://made/{id}", "shelf://{room}/{book}"],
    );
    const { prompts } = await client.listPrompts();
    assert.deepEqual(names({ prompts }), ["s.plain", "s.review"]);
    assert.equal(prompts[1].title, "Review");
    assert.equal(prompts[1].icons.length, 1);
    assert.deepEqual(prompts[1].arguments, [
        { name: "language", description: "Of the code", required: true },
        { name: "style", required: false },
    ]);

    const note = await client.readResource({ uri: "note://1" });
    assert.deepEqual(note.contents, [{ uri: "note://1", mimeType: "text/plain", text: "one" }]);
    assert.equal(note._meta["example.org/r"], 1);
    const picture = await client.readResource({ uri: "note://picture" });
    assert.match(picture.contents[0].blob, /^iVBORw0KGgo/);
    const book = await client.readResource({ uri: "shelf://kitchen/old%20book" });
    assert.equal(book.contents[0].uri, "shelf://kitchen/old%20book");
    await assert.rejects(client.readResource({ uri: "shelf://kitchen/none" }), /There is no such book/);
    await assert.rejects(client.readResource({ uri: "note://2" }), /Resource not found: note:\/\/2/);

    const review = await client.getPrompt({ name: "s.review", arguments: { language: "c" } });
    assert.equal(review.description, "A review");
    assert.deepEqual(
        review.messages.map(({ role, content }) => `${role} ${content.type}`),
        ["user text", "assistant image", "user resource", "user resource_link"],
    );
    await assert.rejects(client.getPrompt({ name: "s.review", arguments: {} }), /missing required parameter/i);
    await assert.rejects(client.getPrompt({ name: "review", arguments: { language: "c" } }), /review/);

    const ref = { type: "ref/prompt", name: "s.review" };
    const languages = await client.complete({ ref, argument: { name: "language", value: "co" } });
    assert.deepEqual(languages.completion.values, ["cobol"]);
    const shelf = { type: "ref/resource", uri: "shelf://{room}/{book}" };
    const rooms = await client.complete({ ref: shelf, argument: { name: "room", value: "ki" } });
    assert.deepEqual(rooms.completion.values, ["kitchen", "kiosk"]);
    const books = await client.complete({
        ref: shelf,
        argument: { name: "book", value: "b" },
        context: { arguments: { room: "cellar" } },
    });
    assert.deepEqual(books.completion.values, ["cellar-b"]);
}

suite("everything besides tools", { concurrency: 4 }, () => {
    for (const mode of ["modern", "legacy", "http modern", "http legacy", "http sessions"]) {
        for (const era of Object.keys(clients)) {
            test(`a ${era} client gets it from a server that is ${mode}`, async (t) => {
                const { server } = await fixtureBridge(t, mode, { ...all, relay_instructions: true });
                const client = await clients[era](t, server);
                await assertComplete(client);
                assert.match(client.getInstructions(), /srv: Read the notes first\. Edition 1$/);
                assert.ok(client.getServerCapabilities().completions);
            });
        }
    }

    test("server-everything is relayed whole", async (t) => {
        const server = await bridge(t, { command: [node, everything], ...all });
        await untilTool(server, "echo");
        const client = await modernClient(t, server);
        assert.ok(uris(await client.listResources()).includes("demo://resource/static/document/features.md"));
        const { contents } = await client.readResource({ uri: "demo://resource/dynamic/blob/3" });
        assert.match(Buffer.from(contents[0].blob, "base64").toString(), /Resource 3/);
        const prompt = await client.getPrompt({
            name: "resource-prompt",
            arguments: { resourceType: "Text", resourceId: "2" },
        });
        assert.equal(prompt.messages[1].content.resource.uri, "demo://resource/dynamic/text/2");
        // The link of a tool can be read through the bridge.
        const { content } = await callToolWell(server, "get-resource-links", { count: 2 });
        for (const { uri } of content.filter((block) => block.type === "resource_link"))
            assert.equal((await client.readResource({ uri })).contents[0].uri, uri);
        const ref = { type: "ref/prompt", name: "completable-prompt" };
        const done = await client.complete({ ref, argument: { name: "department", value: "S" } });
        assert.deepEqual(done.completion.values, ["Sales", "Support"]);
    });

    test("Causeway behind Causeway passes it twice", async (t) => {
        const { server: inner } = await fixtureBridge(t, "modern");
        const server = await bridge(t, { url: `${inner.url}/mcp`, ...all });
        await untilTool(server, "s__link");
        const client = await modernClient(t, server);
        assert.deepEqual(names(await client.listPrompts()), ["s.plain", "s.review"]);
        assert.equal((await client.readResource({ uri: "shelf://a/b" })).contents[0].text, "a/b");
    });

    test("icons and _meta of tools pass, and so do links, sounds and embedded resources", async (t) => {
        const { server } = await fixtureBridge(t, "modern");
        const tool = await toolOf(server, "s.link");
        assert.equal(tool.icons[0].mimeType, "image/png");
        assert.equal(tool._meta["example.org/tool"], true);
        const { content } = await callToolWell(server, "s.link", {});
        assert.deepEqual(
            content.map(({ type }) => type),
            ["resource_link", "resource_link", "resource", "audio"],
        );
    });
});

suite("what is exposed", { concurrency: 4 }, () => {
    test("nothing is, unless the overlay names it", async (t) => {
        const { server } = await fixtureBridge(t, "modern", { methods: ["*"] });
        const client = await modernClient(t, server);
        const { capabilities } = (await modern(server, "server/discover")).json.result;
        assert.equal(capabilities.prompts, undefined);
        assert.deepEqual(uris(await client.listResources().catch(() => ({ resources: [] }))), []);
        assert.equal(client.getInstructions().includes("Read the notes"), false);
        await assert.rejects(client.readResource({ uri: "note://1" }), /Resource not found/);
    });

    test("each entry has its permissions, and forbidden equals unknown", async (t) => {
        const { server } = await fixtureBridge(
            t,
            "modern",
            {
                methods: ["link"],
                resources: ["note://1", { uri: "note://s*", permissions: ["read secrets"] }],
                templates: [{ uri_template: "shelf://{room}/{book}", permissions: ["read secrets"] }],
                prompts: [
                    { prompt: "review", permissions: ["read secrets"] },
                    { prompt: "plain", name: "simple" },
                ],
            },
            { roles: { anonymous: permissions } },
        );
        const client = await modernClient(t, server);
        assert.deepEqual(uris(await client.listResources()), ["note://1"]);
        assert.deepEqual(names(await client.listPrompts()), ["simple"]);
        const read = async (uri) => (await modern(server, "resources/read", { uri })).text;
        const get = async (name) => (await modern(server, "prompts/get", { name })).text;
        const complete = async (ref) =>
            (await modern(server, "completion/complete", { ref, argument: { name: "room", value: "" } })).text;
        const same = (one, other, was, is) => assert.equal(one, other.replaceAll(is, was));
        same(await read("note://secret"), await read("note://absent"), "note://secret", "note://absent");
        same(await read("shelf://a/b"), await read("other://a/b"), "shelf://a/b", "other://a/b");
        same(await get("s.review"), await get("s.absent"), "s.review", "s.absent");
        const shelf = await complete({ type: "ref/resource", uri: "shelf://{room}/{book}" });
        const other = await complete({ type: "ref/resource", uri: "other://{room}/{book}" });
        same(shelf, other, "shelf://", "other://");
    });

    test("a template does not read a resource that is hidden from the caller", async (t) => {
        const { server } = await fixtureBridge(
            t,
            "modern",
            {
                methods: ["link"],
                resources: [{ uri: "note://secret", permissions: ["read secrets"] }],
                templates: [{ uri_template: "note://{+rest}", unlisted: true }],
            },
            { roles: { anonymous: permissions } },
        );
        const client = await modernClient(t, server);
        assert.equal((await client.readResource({ uri: "note://1" })).contents[0].text, "one");
        await assert.rejects(client.readResource({ uri: "note://secret" }), /Resource not found/);
        await assert.rejects(client.readResource({ uri: "note://x/../secret" }), /Resource not found/);
    });

    test("a name that the server does not have is a warning with the nearest one", async (t) => {
        const { server } = await fixtureBridge(t, "modern", { methods: ["link"], prompts: ["reviev"] });
        const { stdout } = await runCauseway(["source", "list", "--json", "--config", server.config]);
        assert.match(stdout, /prompt 'reviev': the service has no such prompt; did you mean 'review'\?/);
    });

    test("the first of two servers with one URI has it, and a name stays when another source joins", async (t) => {
        const source = { command: [node, fixture, "modern", "--stdio"], methods: ["link"], prompts: ["plain"] };
        const server = await bridge(t, [
            { ...source, prefix: "a.", resources: ["note://1"] },
            { ...source, prefix: "b.", resources: ["note://*"] },
        ]);
        await untilTool(server, "a.link");
        await untilTool(server, "b.link");
        const client = await modernClient(t, server);
        assert.deepEqual(uris(await client.listResources()), ["note://1", "note://picture", "note://secret"]);
        assert.deepEqual(names(await client.listPrompts()), ["a.plain", "b.plain"]);
        await server.untilLogged(/resource:note:\/\/1/);
    });

    test("toolsets narrow resources and prompts of sources", async (t) => {
        const { server } = await fixtureBridge(t, "modern", all, {
            toolsets: { notes: { tools: ["resource:note://1", "prompt:s.plain"] }, most: { exclude: ["resource:*"] } },
        });
        const inside = (name) => ({ path: `/mcp/x/${name}` });
        assert.deepEqual(uris(await list(server, "resources", inside("notes"))), ["note://1"]);
        assert.deepEqual(names(await list(server, "prompts", inside("notes"))), ["s.plain"]);
        assert.deepEqual(uris(await list(server, "resources", inside("most"))), []);
        assert.deepEqual(names(await list(server, "prompts", inside("most"))), ["s.plain", "s.review"]);
    });

    test("reads are in the audit", async (t) => {
        const folder = mkdtempSync(path.join(keepFolder(), "audit-"));
        const file = path.join(folder, "audit.log");
        const { server } = await fixtureBridge(t, "modern", all, { audit: { path: file } });
        const client = await modernClient(t, server);
        await client.readResource({ uri: "note://1" });
        await client.getPrompt({ name: "s.plain" });
        await eventually(() => readFileSync(file, "utf8").includes("prompt:s.plain"), "a record");
        const lines = readFileSync(file, "utf8").trim().split("\n").map(JSON.parse);
        assert.ok(lines.some(({ method, outcome }) => method === "resource:note://1" && outcome === "ok"));
    });
});

suite("updates of resources", { concurrency: 4 }, () => {
    for (const mode of ["modern", "legacy", "http modern", "http sessions"]) {
        for (const era of Object.keys(clients)) {
            test(`reach a ${era} client from a ${mode} server, coalesced`, async (t) => {
                const { server } = await fixtureBridge(t, mode);
                const client = await clients[era](t, server);
                await client.follow("note://1");
                // The subscription reaches the server on its own; until then an update is not sent.
                await eventually(
                    async () => {
                        await callToolWell(server, "s.touch", { uri: "note://1", times: 20 });
                        await pause(300);
                        return client.updates.length > 0;
                    },
                    "an update",
                    patience(10_000),
                );
                const before = client.updates.length;
                const from = performance.now();
                await callToolWell(server, "s.touch", { uri: "note://1", times: 50 });
                await eventually(() => client.updates.length > before, "a second update");
                await callToolWell(server, "s.touch", { uri: "note://picture", times: 5 });
                await pause(500);
                // A machine that stands still in between spreads them over more time.
                const most = 2 + Math.floor((performance.now() - from) / 1_000);
                assert.ok(client.updates.length <= before + most, `${client.updates.length - before} updates`);
                assert.ok(client.updates.every((uri) => uri === "note://1"));
            });
        }
    }
});

suite("commands", { concurrency: 4 }, () => {
    // The name of the program and the path of the URL have "mcp" in them, so it is tried without the preset too.
    for (const [how, preset] of [
        ["program", ["--preset", "mcp"]],
        ["HTTP server", ["--preset", "mcp"]],
        ["program that it detects", []],
        ["HTTP server that it detects", []],
    ]) {
        test(`import lists resources, templates and prompts of a ${how}, and exposes none`, async (t) => {
            const folder = mkdtempSync(path.join(keepFolder(), "import-"));
            const file = path.join(folder, "notes.yaml");
            let target = ["--exec", node, fixture, "modern", "--stdio"];
            if (how.startsWith("HTTP")) {
                const upstream = await startProgram(node, [fixture, "modern"], { name: "imported" });
                t.after(() => upstream.stop().catch(() => {}));
                target = [`${upstream.url}/mcp`];
            }
            const { code, stdout, stderr } = await runCauseway(
                ["import", "--json", ...preset, "--name", "notes", "-o", file, ...target],
                { cwd: folder },
            );
            assert.equal(code, 0, stderr);
            const kinds = JSON.parse(stdout).methods.map(({ kind }) => kind ?? "tool");
            assert.deepEqual([...new Set(kinds)], ["tool", "prompt", "resource", "template"]);
            assert.equal(JSON.parse(stdout).preset, "mcp");
            const overlay = readFileSync(file, "utf8");
            for (const line of ['- uri: "note://1"', '- uri_template: "shelf://{room}/{book}"', "- prompt: review"])
                assert.ok(overlay.includes(`${line}\n    expose: false`), overlay);
            // The file is valid as it is, and nothing of it is exposed.
            const server = await bridge(t, {
                command: [node, fixture, "modern", "--stdio"],
                methods: ["link"],
                overlay: file,
            });
            await untilTool(server, "link");
            assert.deepEqual(await listedUris(server), []);
        });
    }

    test("source list counts what is exposed", async (t) => {
        const { server } = await fixtureBridge(t, "modern", { ...all, resources: ["note://1"] });
        const run = (...args) => runCauseway(["source", "list", ...args, "--config", server.config]);
        const [{ resources, templates, prompts, tools }] = JSON.parse((await run("--json")).stdout);
        assert.deepEqual([resources, templates, prompts, tools], [1, 2, 2, 3]);
        assert.match((await run()).stdout, /PROTOCOL\s+RESOURCES\s+PROMPTS[\s\S]*modern\s+3\s+2/);
    });
});

suite("the lock", { concurrency: 4 }, () => {
    async function locked(t) {
        const folder = mkdtempSync(path.join(keepFolder(), "lock-"));
        const lock = path.join(folder, "lock.json");
        const upstream = await startProgram(node, [fixture, "modern"], { name: "locked" });
        t.after(() => upstream.stop().catch(() => {}));
        const source = { name: "srv", dialect: "mcp", url: `${upstream.url}/mcp`, ...all, relay_instructions: true };
        const server = await startBridge({
            plugins: [],
            config: { sources: [source], state: { directory: path.join(folder, "kept"), lock } },
        });
        t.after(() => server.stop());
        const cli = (...args) => runCauseway([...args, "--config", server.config]);
        return { server, lock, cli };
    }

    test("withholds what is new, and shows it when it is approved", async (t) => {
        const { server, lock, cli } = await locked(t);
        await eventually(() => server.stderr.includes("withheld"), "a warning", patience(15_000));
        assert.deepEqual(await listedUris(server), []);
        const diff = await cli("source", "diff", "srv");
        for (const name of ["prompt:review", "resource:note://1", "template:shelf://", "server:instructions"])
            assert.ok(diff.stdout.includes(name), `${name}: ${diff.stdout}`);
        assert.equal((await cli("source", "approve", "srv", "prompt:review")).code, 0);
        await cli("source", "refresh", "srv");
        await eventually(async () => (await listedPrompts(server)).length === 1, "the prompt", patience(15_000));
        assert.equal((await cli("source", "approve", "srv")).code, 0);
        await cli("source", "refresh", "srv");
        await untilTool(server, "link");
        await assertLocked(server, lock);

        // What changes is withheld; the rest stays.
        await callToolWell(server, "change", {});
        await cli("source", "refresh", "srv");
        await eventually(
            async () => !(await listedPrompts(server)).includes("review"),
            "the prompt is withheld",
            patience(15_000),
        );
        assert.deepEqual(await listedUris(server), ["note://picture", "note://secret"]);
        assert.match((await modernClient(t, server)).getInstructions(), /^((?!Edition).)*$/s);
        const changed = await cli("source", "diff", "srv");
        assert.match(changed.stdout, /Edition 2/);
        const { stdout } = await cli("source", "list", "--json");
        assert.ok(JSON.parse(stdout)[0].withheld >= 3, stdout);
        assert.equal((await cli("source", "approve", "srv", "resource:note://1")).code, 0);
        await cli("source", "refresh", "srv");
        await eventually(async () => (await listedUris(server)).length === 3, "the note", patience(15_000));
    });

    async function assertLocked(server, lock) {
        assert.equal((await listedUris(server)).length, 3);
        const entries = JSON.parse(readFileSync(lock, "utf8")).sources.srv;
        assert.equal(entries["resource:note://1"].definition.exposed.title, "First note");
        assert.equal(entries["resource:note://1"].definition.exposed.size, undefined);
        assert.equal(entries["resource:note://1"].definition.exposed.annotations.lastModified, undefined);
        assert.equal(entries["server:instructions"].definition.text, "Read the notes first. Edition 1");
        assert.equal(entries.link.definition.more.icons.length, 1);
    }

    test("of an older version is valid, and withholds icons and _meta only", async (t) => {
        const { server, lock, cli } = await locked(t);
        await eventually(() => server.stderr.includes("withheld"), "a warning", patience(15_000));
        await cli("source", "approve", "srv");
        const file = JSON.parse(readFileSync(lock, "utf8"));
        const entry = file.sources.srv.link;
        delete entry.definition.more;
        const { createHash } = await import("node:crypto");
        entry.sha256 = createHash("sha256").update(JSON.stringify(entry.definition)).digest("hex");
        writeFileSync(lock, JSON.stringify(file));
        await cli("source", "refresh", "srv");
        await untilTool(server, "link");
        const tool = await toolOf(server, "link");
        assert.equal(tool.icons, undefined);
        assert.equal(tool._meta?.["example.org/tool"], undefined);
    });
});

// A server that answers requests of the modern era with what it is given.
async function startFake(t, answers) {
    const fake = createServer((request, response) => {
        let body = "";
        request.on("data", (piece) => (body += piece));
        request.on("end", () => {
            const { id, method, params } = JSON.parse(body);
            const meta = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
            const result = answers[method]?.(params);
            response.setHeader("Content-Type", "application/json");
            const error = { code: -32601, message: "Method not found" };
            response.end(
                JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result: { ...meta, ...result } } : { error }) }),
            );
        });
    });
    await new Promise((resolve) => fake.listen(0, "127.0.0.1", resolve));
    t.after(() => fake.close());
    return `http://127.0.0.1:${fake.address().port}/mcp`;
}

const discover = () => ({
    supportedVersions: ["2026-07-28"],
    capabilities: { tools: {}, prompts: {}, resources: {} },
    serverInfo: { name: "fake", version: "1" },
});
const tools = () => ({ tools: [{ name: "ok", inputSchema: { type: "object" } }] });

suite("a server that means no good", { concurrency: 4 }, () => {
    test("with 10,000 resources and lists without end is bounded", async (t) => {
        const page = (params) => Number(params.cursor ?? 0);
        const url = await startFake(t, {
            "server/discover": discover,
            "tools/list": tools,
            "prompts/list": (params) => ({
                prompts: [{ name: `p${page(params)}` }],
                nextCursor: String(page(params) + 1),
            }),
            "resources/list": (params) => ({
                resources: Array.from({ length: 1000 }, (_, i) => ({
                    uri: `r://${page(params)}/${i}`,
                    name: "r",
                    description: "x".repeat(200),
                })),
                ...(page(params) < 20 ? { nextCursor: String(page(params) + 1) } : {}),
            }),
        });
        const server = await bridge(t, { url, ...all, refresh: "0s" });
        await untilTool(server, "ok");
        const client = await modernClient(t, server);
        const first = await client.listResources();
        assert.ok(first.resources.length > 0);
        assert.equal((await client.readResource({ uri: "r://0/0" }).catch((e) => e)).code, -32601);
        await server.untilLogged(/prompts\/list does not end/);
        await server.untilLogged(/resources\/list: too long/);
        assert.ok(peakKb(server.pid) < 400_000, `${peakKb(server.pid)} kB`);
    });

    test("with wrong types, double names and control characters does not break the lists of others", async (t) => {
        const url = await startFake(t, {
            "server/discover": discover,
            "tools/list": tools,
            "prompts/list": () => ({ prompts: [{ name: 1 }, { name: "p", title: 7 }, { name: "p" }, null, "x"] }),
            "resources/list": () => ({
                resources: [
                    { uri: "a://\u0000", name: "n" },
                    { uri: "a://\n", name: "n" },
                    { uri: "a://1", name: {}, size: -1, annotations: { priority: "high" }, icons: [{}] },
                    { uri: "a://1", name: "again" },
                    { uri: "a://\u202e", name: "hidden text" },
                    { uri: "x".repeat(10_000), name: "long" },
                ],
            }),
            "resources/templates/list": () => ({
                resourceTemplates: [{ uriTemplate: "a://{" }, { uriTemplate: "a://{x}" }],
            }),
            "prompts/get": () => ({ messages: "none" }),
            "resources/read": () => ({ contents: { uri: 1 } }),
        });
        const server = await bridge(t, { url, ...all });
        await untilTool(server, "ok");
        for (const make of Object.values(clients)) {
            const client = await make(t, server);
            assert.deepEqual((await client.listResources()).resources, [{ name: "a://1", uri: "a://1" }]);
            assert.deepEqual(names(await client.listPrompts()), ["p"]);
            await assert.rejects(client.getPrompt({ name: "p" }), /no messages or contents/);
            await assert.rejects(client.readResource({ uri: "a://1" }), /no messages or contents/);
        }
    });
});
