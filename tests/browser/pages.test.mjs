// Every page of the console in both themes: it is accessible, it makes no noise, and it fits a narrow window.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, suite } from "node:test";
import { promisify } from "node:util";
import {
    assertAccessible,
    browserTests,
    colorRules,
    filtered,
    openPage,
    ready,
    shoot,
    startConsole,
    startDemo,
    visit,
} from "./support/browser.mjs";

const test = browserTests();

const addresses = [
    "/console/",
    "/console/sources",
    "/console/sources/echo",
    "/console/tools",
    "/console/tools/test.echo",
    "/console/who",
    "/console/calls",
    "/console/audit?since=",
    "/console/access/accounts",
    "/console/access/roles",
    "/console/access/tokens",
    "/console/access/sessions",
    "/console/about",
];

suite("the pages", () => {
    let server;
    before(async () => (server = await startConsole()));
    after(() => server?.stop());

    // The window of a screen of 1280 × 800 pixels at a zoom of 200 % and 400 %; the last is the narrowest that must do.
    const windows = [
        { width: 640, height: 400 },
        { width: 320, height: 200 },
    ];

    async function assertFits(page) {
        for (const size of windows) {
            await page.setViewportSize(size);
            const wide = await page.evaluate(() => document.documentElement.scrollWidth);
            assert.ok(wide <= size.width, `${page.url()}: ${wide} pixels`);
        }
        await page.setViewportSize({ width: 1280, height: 800 });
    }

    // The other theme and the colours of the system change nothing but colours.
    async function assertColors(page, name) {
        await page.emulateMedia({ colorScheme: "dark" });
        await assertAccessible(page, colorRules);
        await shoot(page, `${name}-dark`);
        await page.emulateMedia({ colorScheme: "light", forcedColors: "active" });
        await shoot(page, `${name}-forced`);
        await page.emulateMedia({ forcedColors: "none" });
    }

    test("the login page has no violation in any theme, and fits a narrow window", async () => {
        const page = await openPage(server, "/console/");
        await assertAccessible(page);
        await shoot(page, "login-light");
        await assertColors(page, "login");
        await assertFits(page);
        await page.context().close();
    });

    test("every page has no violation in any theme, makes no noise, and fits a window at 400 %", async () => {
        const page = await openPage(server, "/console/about", { account: "alice" });
        // Nothing comes from a cache, and every file counts.
        const client = await page.context().newCDPSession(page);
        const files = new Map();
        client.on("Network.requestWillBeSent", ({ requestId, request }) => {
            if (request.url.includes("/console/-/")) files.set(requestId, 0);
        });
        client.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
            if (files.has(requestId)) files.set(requestId, encodedDataLength);
        });
        await client.send("Network.enable");
        await client.send("Network.setCacheDisabled", { cacheDisabled: true });
        for (const address of addresses) {
            files.clear();
            await visit(page, address);
            const bytes = [...files.values()].reduce((sum, size) => sum + size, 0);
            assert.ok(bytes > 1000 && bytes <= 35 * 1024, `${address}: ${bytes} bytes`);
            assert.equal(await page.locator(".notice").count(), 0, address);
            await assertAccessible(page);
            const name = address.replaceAll(/\W+/g, "-").slice(1);
            await shoot(page, `${name}-light`);
            await assertColors(page, name);
            await assertFits(page);
        }
        assert.deepEqual(page.noise, []);
        await page.context().close();
    });

    test("with the colours of the system, states and the current page are still told apart", async () => {
        const page = await openPage(server, "/console/sources", { account: "alice", forcedColors: "active" });
        for (const selector of [".tag", "#menu [aria-current]", "main button"]) {
            const { width, style } = await page
                .locator(selector)
                .first()
                .evaluate((node) => {
                    const found = getComputedStyle(node);
                    return { width: found.borderTopWidth, style: found.borderTopStyle };
                });
            assert.notEqual(`${width} ${style}`, "0px none", selector);
        }
        await page.context().close();
    });

    test("an account without permissions sees its tools, and nothing else in the menu", async () => {
        const page = await openPage(server, "/console/", { account: "bob" });
        await page.waitForURL("**/console/tools");
        assert.deepEqual(await page.locator("#menu a").allTextContents(), ["Tools", "About"]);
        await visit(page, "/console/access/accounts");
        assert.match(await page.locator("main").textContent(), /does not exist, or your account lacks/);
        await page.context().close();
    });

    test("filters are in the address, and Back returns to them", async () => {
        const page = await openPage(server, "/console/tools", { account: "alice" });
        await page.fill("input[type=search]", "echo");
        await filtered(page, "echo");
        await page.click("a:has-text('test.echo')");
        await page.waitForSelector("text=Try it");
        await page.goBack();
        await page.waitForURL("**/console/tools?q=echo");
        await ready(page);
        assert.equal(await page.inputValue("input[type=search]"), "echo");
        // The choices are those of the catalogue, and a permission in the table is one of them.
        await visit(page, "/console/tools");
        await page.click("td a:has-text('access content') >> nth=0");
        await page.waitForURL("**/console/tools?needs=access+content");
        await ready(page);
        assert.equal(await page.inputValue("label:has-text('Needs') select"), "access content");
        const needs = await page.locator("tbody tr td:last-child").allTextContents();
        assert.ok(needs.length > 0 && needs.every((text) => text.includes("access content")), needs.join());
        await page.selectOption("label:has-text('Source') select", "conformance");
        await page.waitForSelector("text=No tool for source: conformance, needs: access content.");
        await page.context().close();
    });

    const rpc = (method) =>
        fetch(`${server.url}/jsonrpc`, {
            method: "POST",
            body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: {} }),
            headers: { "Content-Type": "application/json" },
        });

    test("calls are live, with their rate; keys pause them, and open one with its values as filters", async () => {
        const page = await openPage(server, "/console/calls", { account: "alice" });
        await page.waitForSelector(".title .tag.good:has-text('live')");
        await page.waitForSelector("p:text-is('0 a second of 0')");
        await Promise.all(Array.from({ length: 30 }, () => rpc("unknown.method")));
        await page.waitForFunction(() =>
            /^[1-9]\d* a second of [1-9]\d*$/m.test(document.querySelector("main p.quiet").textContent),
        );
        assert.match(await page.locator("tbody time").first().textContent(), /^\d\d:\d\d:\d\d\.\d{3}$/);
        await page.keyboard.press(" ");
        await page.waitForSelector(".title .tag.warn:has-text('paused')");
        assert.equal(await page.evaluate(() => document.body.dataset.live), "no");
        await page.keyboard.press("j");
        await page.keyboard.press("j");
        await page.keyboard.press("k");
        await page.keyboard.press("Enter");
        const link = page.locator("dialog dt:text-is('request_id') + dd a");
        assert.match(await link.getAttribute("href"), /\/console\/audit\?q=/);
        await page.keyboard.press("Escape");
        assert.equal(await page.locator("dialog").count(), 0);
        assert.ok(await page.evaluate(() => document.activeElement === document.querySelector("tbody tr button")));
        await page.evaluate(() => document.activeElement.blur());
        await page.keyboard.press(" ");
        await page.waitForSelector(".title .tag.good:has-text('live')");
        await page.keyboard.press("?");
        await page.click("dialog label:has-text('Use these keys')");
        await page.keyboard.press("Escape");
        await page.keyboard.press("g");
        await page.keyboard.press("s");
        assert.match(page.url(), /\/console\/calls$/);
        await page.click("#menu a:text-is('About')");
        await page.click("main label:has-text('Use these keys')");
        await page.fill("label:has-text('Seconds') input", "1");
        await page.click("text=Set the level");
        await page.waitForSelector("#status:has-text('The log has the level info now.')");
        await page.evaluate(() => document.activeElement.blur());
        await page.keyboard.press("g");
        await page.keyboard.press("s");
        await page.waitForSelector("h1:text-is('Sources')");
        assert.deepEqual(page.noise, []);
        await page.context().close();
    });
});

suite("the demo", () => {
    test("shows tools and state to browsers of this machine, and nothing to administer", async () => {
        const server = await startDemo();
        const page = await openPage(server, "/console/");
        assert.deepEqual(await page.locator("#menu a").allTextContents(), [
            "Overview",
            "Sources",
            "Tools",
            "Calls",
            "About",
        ]);
        await assertAccessible(page);
        await shoot(page, "demo");
        const page320 = { width: 320, height: 640 };
        await page.setViewportSize(page320);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= page320.width);
        await page.setViewportSize({ width: 1280, height: 800 });
        // A newcomer finds a tool, a client and a terminal on the first page, and what is to be copied is true.
        const commands = await page.locator(".item pre").allTextContents();
        assert.equal(commands[0], `${server.url}/mcp`);
        for (const line of commands.filter((text) => text.startsWith("curl "))) {
            const { stdout } = await promisify(execFile)("sh", ["-c", `${line} --silent --fail`]);
            assert.ok(JSON.parse(stdout), line);
        }
        // Each tool of the first page can be called: others are hidden from anonymous callers.
        const offered = await page.locator(".panel:has-text('Call a tool here') li a").allTextContents();
        assert.deepEqual(offered, ["examples.article.toMarkdown", "examples.articles.list"]);
        await page.click("a:has-text('toMarkdown')");
        await page.fill(".field:has(label:has-text('nid')) input", "2");
        await page.click("button:text-is('Call')");
        await page.waitForSelector("[data-outcome=ok]");
        assert.match(await page.locator(".result").textContent(), /tide table/);
        // The copied command makes the same call.
        await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
        await page.click("button:text-is('Copy as curl')");
        await page.waitForFunction(() => /^Copied/.test(document.getElementById("status").textContent));
        const copied = await page.evaluate(() => navigator.clipboard.readText());
        assert.match((await promisify(execFile)("sh", ["-c", copied])).stdout, /tide table/);
        await page.hover("button:text-is('Call')");
        // The pointer is on the button.
        await assertAccessible(page, colorRules);
        await shoot(page, "demo-tool");
        assert.deepEqual(page.noise, []);
        await page.context().close();
        await server.stop();
    });
});
