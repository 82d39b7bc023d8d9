// Views of tools (MCP Apps): files of the operator, resources of plugins and MCP servers, the built-in
// view, and the checks of all of them.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { keepFolder } from "./support/kept.mjs";
import {
    assertRpcError,
    initialize,
    legacy,
    metaKey,
    modern,
    reloadBridge,
    startBridge,
    toolOf,
    untilTool,
} from "./support/mcp.mjs";
import { compilePlugin } from "./support/plugins.mjs";
import { patience, root, runCauseway } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";
import { startService, writeOpenRpc } from "./support/service.mjs";

const type = "text/html;profile=mcp-app";
const builtin = "ui://causeway/data.html";
const html = (text) => `<!DOCTYPE html>\n<html><title>${text}</title><p>${text}</p></html>\n`;

function writeFile(name, text) {
    const file = path.join(keepFolder(), name);
    writeFileSync(file, text);
    return file;
}

const plugin = `#include <causeway/plugin.h>
CW_PLUGIN("weather", "1.0");
static void today(cw_call *call) { cw_result_json(call, "{\\"degrees\\": 21}"); }
CW_METHOD(today, "weather.today");
CW_TOOL(today, .ui = CW_JSON({"resourceUri": "ui://weather/view.html", "visibility": ["app"],
                              "csp": {"connectDomains": ["https://api.example.org"]}, "prefersBorder": false}));
static void view(cw_call *call) { cw_result_text(call, "<!doctype html><p>weather</p>"); }
CW_METHOD(view, "weather.view");
CW_RESOURCE(view, .uri = "ui://weather/view.html", .mime_type = "${type}");
static void table(cw_call *call) { cw_result_json(call, "[{\\"a\\": 1}]"); }
CW_METHOD(table, "weather.table");
CW_TOOL(table, .ui = "${builtin}");
static void lost(cw_call *call) { cw_result_text(call, "x"); }
CW_METHOD(lost, "weather.lost");
CW_TOOL(lost, .ui = "ui://weather/none.html");
static void plain(cw_call *call) { cw_result_text(call, "<p>plain</p>"); }
CW_METHOD(plain, "weather.plain");
CW_RESOURCE(plain, .uri = "ui://weather/plain.html", .mime_type = "text/html");
static void wrong(cw_call *call) { cw_result_text(call, "x"); }
CW_METHOD(wrong, "weather.wrong");
CW_TOOL(wrong, .ui = "ui://weather/plain.html");
`;

const read = async (server, uri) => (await modern(server, "resources/read", { uri })).json;
const uiOf = async (server, name) => (await toolOf(server, name))._meta?.ui;

suite("views", () => {
    let server;
    let service;
    let file;
    before(async () => {
        service = await startService();
        file = writeFile("view.html", html("first"));
        const names = ["add", "echo", "hidden"].map((name) => ({ name, summary: name, params: [] }));
        const document = { openrpc: "1.3.2", info: { title: "x", version: "1" }, methods: names };
        const csp = { resourceDomains: ["https://*.example.org"] };
        const methods = [
            { method: "add", ui_file: file, ui: { csp, prefersBorder: true } },
            { method: "echo", ui: { resourceUri: builtin } },
            { method: "hidden", ui_file: file, permissions: ["see it"] },
        ];
        const source = { name: "svc", url: service.url, openrpc: writeOpenRpc(document), methods };
        server = await startBridge({ plugins: [], config: { sources: [source] } });
        compilePlugin(server.plugins, "weather", plugin);
        await untilTool(server, "weather.today");
        await untilTool(server, "add");
    });
    after(async () => {
        await server?.stop();
        await service?.stop();
    });

    test("are declared in both eras", async () => {
        const { json } = await modern(server, "server/discover");
        assert.deepEqual(json.result.capabilities.extensions[metaKey("ui")], {});
        const old = await initialize(server, "2025-11-25");
        assert.deepEqual(old.json.result.capabilities.extensions, { [metaKey("ui")]: {} });
        assert.ok(old.json.result.capabilities.resources);
    });

    test("of files are read with their type, bytes and metadata", async () => {
        const tool = await toolOf(server, "add");
        assert.deepEqual(tool._meta.ui, { resourceUri: "ui://svc/add.html" });
        assert.equal(tool._meta["ui/resourceUri"], "ui://svc/add.html");
        const { result } = await read(server, "ui://svc/add.html");
        assert.deepEqual(result.contents, [
            {
                uri: "ui://svc/add.html",
                mimeType: type,
                text: html("first"),
                _meta: { ui: { csp: { resourceDomains: ["https://*.example.org"] }, prefersBorder: true } },
            },
        ]);
        const headers = (await initialize(server, "2025-11-25")).headers;
        const session = { "Mcp-Session-Id": headers.get("mcp-session-id") };
        const old = await legacy(server, "resources/read", { uri: "ui://svc/add.html" }, { headers: session });
        assert.deepEqual(old.json.result.contents, result.contents);
    });

    test("of plugins are their resources, with the metadata of the tool", async () => {
        const ui = await uiOf(server, "weather.today");
        assert.deepEqual(ui, { resourceUri: "ui://weather/view.html", visibility: ["app"] });
        const [content] = (await read(server, "ui://weather/view.html")).result.contents;
        assert.equal(content.mimeType, type);
        assert.equal(content.text, "<!doctype html><p>weather</p>");
        const csp = { connectDomains: ["https://api.example.org"] };
        assert.deepEqual(content._meta, { ui: { csp, prefersBorder: false } });
    });

    test("that no resource of the source offers are not shown", async () => {
        for (const name of ["weather.lost", "weather.wrong"]) {
            const { _meta } = await toolOf(server, name);
            assert.deepEqual(_meta.ui, {});
            assert.equal(_meta["ui/resourceUri"], undefined);
        }
    });

    test("of hidden tools do not exist", async () => {
        const hidden = await read(server, "ui://svc/hidden.html");
        const unknown = await read(server, "ui://svc/nobody.html");
        const text = JSON.stringify(hidden).replaceAll("hidden", "nobody");
        assert.equal(text, JSON.stringify(unknown));
        assert.equal(hidden.error.code, -32602);
    });

    test("can be the built-in one, which needs no other server", async () => {
        assert.deepEqual(await uiOf(server, "weather.table"), { resourceUri: builtin });
        assert.deepEqual(await uiOf(server, "echo"), { resourceUri: builtin });
        const [content] = (await read(server, builtin)).result.contents;
        assert.equal(content.mimeType, type);
        assert.match(content.text, /^<!doctype html>/);
        assert.match(content.text, /default-src 'none'/);
        assert.doesNotMatch(content.text, /https?:\/\//);
        assert.equal(content._meta.ui.csp, undefined);
    });

    test("are read again after a reload", async () => {
        writeFileSync(file, html("second"));
        server.child.kill("SIGHUP");
        const isNew = async () => (await read(server, "ui://svc/add.html")).result?.contents[0].text === html("second");
        await eventually(isNew, "the new document", 10_000);
    });

    test("are what the Inspector 2.12.0 reads with --app-info", async () => {
        const launcher = path.join(
            root,
            "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
        );
        const args = ["--cli", `${server.url}/mcp`, "--transport", "http", "--format", "json"];
        const inspect = (name) =>
            new Promise((resolve) => {
                const all = [launcher, ...args, "--method", "tools/call", "--tool-name", name, "--app-info"];
                execFile(process.execPath, all, { timeout: patience(60_000) }, (error, stdout, stderr) =>
                    resolve({ code: error ? error.code : 0, text: stdout + stderr, stdout }),
                );
            });
        const { name } = await toolOf(server, "weather.today");
        const found = await inspect(name);
        assert.equal(found.code, 0, found.text);
        assert.match(found.stdout, /"hasApp": ?true/);
        assert.match(found.stdout, /api\.example\.org/);
        const none = await inspect((await toolOf(server, "weather.lost")).name);
        assert.equal(none.code, 2, none.text);
    });
});

test("a view with a mistake is refused with the member", async (t) => {
    const service = await startService();
    t.after(() => service.stop());
    const methods = [{ name: "add", summary: "add", params: [] }];
    const openrpc = writeOpenRpc({ openrpc: "1.3.2", info: { title: "x", version: "1" }, methods });
    const server = await startBridge({ plugins: [] });
    t.after(() => server.stop());
    const text = writeFile("text.html", "<p>no doctype</p>");
    const cases = [
        [{ ui_file: text }, /ui_file '.*text.html': it does not begin with <!doctype html>/],
        [{ ui_file: path.join(keepFolder(), "none.html") }, /none.html/],
        [{ ui: { resourceUri: "https://example.org/" } }, /ui: resourceUri must be a URI ui:\/\//],
        [{ ui: { resourceUri: builtin, csp: { connectDomains: ["*"] } } }, /csp.connectDomains: expected origins/],
        [{ ui: { resourceUri: builtin, permissions: { usb: {} } } }, /permissions: expected camera/],
        [{ ui: { resourceUri: builtin, visibility: ["all"] } }, /visibility must be a list/],
        [{ ui: { resourceUri: builtin, color: "red" } }, /unknown member 'color'/],
        [{ ui: { prefersBorder: true } }, /resourceUri is missing/],
    ];
    const sources = cases.map(([more], i) => ({
        name: `s${i}`,
        prefix: `s${i}.`,
        url: service.url,
        openrpc,
        methods: [{ method: "add", ...more }],
    }));
    const { reloadBridge } = await import("./support/mcp.mjs");
    await reloadBridge(server, { sources });
    for (const [i, [, pattern]] of cases.entries()) {
        const line = () => server.stderr.split("\n").find((l) => l.includes(`source="s${i}"`) && pattern.test(l));
        await server.until(() => line() !== undefined, `a line about s${i} like ${pattern}`);
    }
    assertRpcError(await modern(server, "resources/read", { uri: builtin }), 200, -32602, 1);
});

test("views of MCP servers pass with their own resources, and with no others", async (t) => {
    const fixture = path.join(root, "tests/functional/support/mcp-app-server.mjs");
    const uri = "ui://shop/cart.html";
    const source = (name, more) => ({
        name,
        prefix: `${name}.`,
        dialect: "mcp",
        command: [process.execPath, fixture, name],
        methods: ["*"],
        ...more,
    });
    const sources = [source("open", { resources: ["ui://*"] }), source("closed", {})];
    const server = await startBridge({ plugins: [], config: { sources } });
    t.after(() => server.stop());
    for (const { name } of sources) await untilTool(server, `${name}.cart`);
    // The one that publishes an address first owns it.
    await reloadBridge(server, { sources: [...sources, source("late", { resources: ["*"] })] });
    await untilTool(server, "late.cart");
    const own = (await toolOf(server, "open.cart"))._meta;
    assert.deepEqual(own.ui, { resourceUri: uri, visibility: ["model", "app"] });
    assert.equal(own["ui/resourceUri"], uri);
    const [content] = (await read(server, uri)).result.contents;
    assert.equal(content.mimeType, type);
    assert.match(content.text, /^<!doctype html><p>open<\/p>$/);
    assert.deepEqual(content._meta.ui.csp, { connectDomains: ["https://shop.example.org"] });
    // One exposes no resource, the other's address belongs to the first.
    for (const name of ["closed", "late"]) {
        const { _meta } = await toolOf(server, `${name}.cart`);
        assert.deepEqual(_meta.ui, { visibility: ["model", "app"] }, name);
        assert.equal(_meta["ui/resourceUri"], undefined, name);
        assert.equal(_meta["example.org/kept"], 1, name);
    }
});

suite("a view of an MCP server", () => {
    const fixture = path.join(root, "tests/functional/support/mcp-app-server.mjs");
    const uri = "ui://shop/cart.html";
    const page = "ui://shop/pages/1";

    async function locked(t, more) {
        const folder = mkdtempSync(path.join(keepFolder(), "lock-"));
        const file = path.join(mkdtempSync(path.join(keepFolder(), "text-")), "text"); // a program cannot read the folder of the lock
        const source = {
            name: "shop",
            dialect: "mcp",
            command: [process.execPath, fixture, "first", file],
            methods: ["*"],
            resources: ["ui://*"],
            templates: ["ui://*"],
            ...more,
        };
        const lock = path.join(folder, "lock.json");
        const config = { sources: [source], state: { directory: path.join(folder, "kept"), lock } };
        const server = await startBridge({ plugins: [], config });
        t.after(() => server.stop());
        const cli = (...args) => runCauseway([...args, "--config", server.config]);
        const approve = async (...names) => {
            assert.equal((await cli("source", "approve", ...names)).code, 0);
            await cli("source", "refresh", "shop");
        };
        await approve("shop");
        await untilTool(server, "cart");
        return { server, file, lock, cli, approve };
    }
    const shown = async (server) => (await uiOf(server, "cart")).resourceUri;

    test("is passed on as it was approved, and withheld when it changes", async (t) => {
        const { server, file, lock, cli, approve } = await locked(t);
        await eventually(async () => (await shown(server)) === uri, "the view");
        const entry = JSON.parse(readFileSync(lock, "utf8")).sources.shop[`resource:${uri}`];
        assert.match(entry.definition.view, /^[0-9a-f]{64}$/);
        assert.match((await read(server, uri)).result.contents[0].text, /<p>first</);
        // The document of a template is not known before it is read.
        assert.match((await read(server, page)).error.message, /not the one that the operator approved/);

        // Another document at the address, and the server has not been described again.
        writeFileSync(file, "second");
        const { error } = await read(server, uri);
        assert.match(error.message, /not the one that the operator approved/);
        writeFileSync(file, "first");
        assert.match((await read(server, uri)).result.contents[0].text, /<p>first</);

        writeFileSync(file, "second");
        await cli("source", "refresh", "shop");
        await eventually(async () => (await shown(server)) === undefined, "the view is withheld");
        assert.equal((await read(server, uri)).error.code, -32602);
        assert.match((await cli("source", "diff")).stdout, /cart\.html[\s\S]*view/);
        await approve("shop", `resource:${uri}`);
        await eventually(async () => (await shown(server)) === uri, "the view is approved");
        assert.match((await read(server, uri)).result.contents[0].text, /<p>second</);
    });

    test("changes with a warning if the source only warns", async (t) => {
        const { server, file } = await locked(t, { on_change: "warn" });
        await eventually(async () => (await shown(server)) === uri, "the view");
        writeFileSync(file, "second");
        assert.match((await read(server, uri)).result.contents[0].text, /<p>second</);
        assert.match((await read(server, page)).result.contents[0].text, /<p>second</);
    });
});
