// The built-in view of results (views/data.html) in a sandboxed frame, with the host's side of the protocol.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { patience, root } from "../functional/support/programs.mjs";
import { eventually } from "../functional/support/server.mjs";
import { browser, browserTests } from "./support/browser.mjs";

const test = browserTests();
const view = readFileSync(path.join(root, "views", "data.html"), "utf8");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// What a host does: a frame without the origin of the page, ui/initialize answered, messages kept.
function host({ html, theme }) {
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts";
    frame.title = "view";
    frame.style.width = "600px";
    window.messages = [];
    window.tell = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
    window.addEventListener("message", ({ data, source }) => {
        if (source !== frame.contentWindow) return;
        window.messages.push(data);
        if (data.method === "ui/initialize") {
            const result = {
                protocolVersion: "2026-01-26",
                hostInfo: { name: "test", version: "1" },
                hostCapabilities: {},
                hostContext: { theme },
            };
            window.tell({ id: data.id, result });
        }
    });
    frame.srcdoc = html;
    document.body.replaceChildren(frame);
}

async function openView(t, theme = "light") {
    const context = await (await browser()).newContext();
    t.after(() => context.close());
    context.setDefaultTimeout(patience(60_000));
    const page = await context.newPage();
    page.requests = [];
    page.noise = [];
    page.on("request", (request) => page.requests.push(request.url()));
    page.on("pageerror", (error) => page.noise.push(String(error)));
    page.on("console", (line) => page.noise.push(line.text()));
    page.on("dialog", (dialog) => page.noise.push(dialog.message()));
    await page.setContent("<!doctype html><html lang=en><title>host</title><body></body></html>");
    await page.evaluate(host, { html: view, theme });
    const sent = () => page.evaluate(() => window.messages);
    await eventually(
        async () => (await sent()).some(({ method }) => method === "ui/notifications/initialized"),
        "the handshake",
        20_000,
    );
    page.sent = sent;
    page.show = (params) =>
        page.evaluate((p) => window.tell({ method: "ui/notifications/tool-result", params: p }), params);
    page.view = page.frames()[1];
    return page;
}

const textOf = (page) => page.view.locator("#result").textContent();
const until = (page, pattern) => eventually(async () => pattern.test(await textOf(page)), String(pattern), 20_000);

test("a list of objects becomes a table that sorts by its columns", async (t) => {
    const page = await openView(t);
    const rows = [
        { name: "b", size: 10, tags: ["x"] },
        { name: "a", size: 9, more: { deep: true } },
    ];
    await page.show({ content: [{ type: "text", text: "two" }], structuredContent: { items: rows, total: 2 } });
    await until(page, /items: 2 rows/);
    const first = () => page.view.locator("tbody tr:first-child td:first-child").textContent();
    assert.equal(await first(), "b");
    assert.match(await textOf(page), /total: 2/);
    const button = page.view.getByRole("button", { name: "size" });
    await button.focus();
    await button.press("Enter");
    assert.equal(await first(), "a");
    assert.equal(await page.view.locator("th[aria-sort=ascending]").textContent(), "size");
    await button.press("Enter");
    assert.equal(await first(), "b");
    const sizes = async () => (await page.sent()).filter(({ method }) => method === "ui/notifications/size-changed");
    await eventually(async () => (await sizes()).length > 0, "its size", 20_000);
    assert.ok((await sizes()).every(({ params }) => params.height > 0));
});

test("anything else becomes a tree or a text, and a text is never markup", async (t) => {
    const page = await openView(t);
    const evil = "<img src=x onerror=alert(1)><script>alert(2)</script>";
    await page.show({ content: [], structuredContent: { [evil]: { text: evil, list: [evil, null, 1] } } });
    await until(page, /onerror/);
    assert.equal(await page.view.locator("#result img, #result script").count(), 0);
    await page.show({ isError: true, content: [{ type: "text", text: evil }] });
    await until(page, /reports an error/);
    await page.show({ content: [{ type: "text", text: '{"a":{"b":7}}' }] });
    await until(page, /b: 7/);
    assert.deepEqual(page.noise, []);
    assert.deepEqual(
        page.requests.filter((url) => !url.startsWith("about:") && !url.startsWith("data:")),
        [],
    );
});

test("messages of others are ignored, and unknown requests are answered", async (t) => {
    const page = await openView(t);
    await page.view.evaluate(() =>
        window.postMessage({ jsonrpc: "2.0", method: "ui/notifications/tool-result", params: { content: [] } }, "*"),
    );
    await page.evaluate(() => window.tell({ id: "q", method: "sampling/createMessage", params: {} }));
    await page.evaluate(() => window.tell({ id: "p", method: "ping" }));
    const answers = async () => (await page.sent()).filter(({ id }) => id === "q" || id === "p");
    await eventually(async () => (await answers()).length === 2, "both answers", 20_000);
    assert.equal((await answers()).find(({ id }) => id === "q").error.code, -32601);
    assert.match(await textOf(page), /Waiting/);
});

test("the view is accessible in light and dark", async (t) => {
    for (const theme of ["light", "dark"]) {
        const page = await openView(t, theme);
        await page.show({ structuredContent: { items: [{ a: 1, b: null }], note: { c: [1, 2] } } });
        await until(page, /1 row/);
        assert.equal(await page.view.evaluate(() => document.documentElement.dataset.theme), theme);
        await page.view.evaluate((source) => {
            const script = document.createElement("script");
            script.textContent = source;
            document.head.append(script);
        }, axe);
        const { violations } = await page.view.evaluate(() => window.axe.run(document));
        assert.deepEqual(
            violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]),
            [],
        );
    }
});
