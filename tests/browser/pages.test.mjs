// Every page of the console in both themes: it is accessible, it makes no noise, and it fits a narrow window.
import assert from "node:assert/strict";
import { after, before, suite } from "node:test";
import {
    assertAccessible,
    browserTests,
    logIn,
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

    for (const colorScheme of ["light", "dark"]) {
        test(`every page has no violation and no noise in the ${colorScheme} theme`, async () => {
            const page = await openPage(server, "/console/", { colorScheme });
            await assertAccessible(page);
            await shoot(page, `login-${colorScheme}`);
            await logIn(page, "alice");
            for (const address of addresses) {
                await visit(page, address);
                assert.equal(await page.locator(".notice").count(), 0, address);
                await assertAccessible(page);
                await shoot(page, `${address.replaceAll(/\W+/g, "-").slice(1)}-${colorScheme}`);
            }
            assert.deepEqual(page.noise, []);
            await page.context().close();
        });
    }

    test("a window of 320 pixels shows every page without scrolling sideways", async () => {
        const page = await openPage(server, "/console/", { account: "alice", viewport: { width: 320, height: 640 } });
        for (const address of addresses) {
            await visit(page, address);
            const [inner, wide] = await page.evaluate(() => [innerWidth, document.documentElement.scrollWidth]);
            assert.ok(wide <= inner, `${address}: ${wide} pixels`);
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
        await page.click("a:has-text('test.echo')");
        await page.waitForSelector("text=Try it");
        await page.goBack();
        await page.waitForURL("**/console/tools?q=echo");
        await ready(page);
        assert.equal(await page.inputValue("input[type=search]"), "echo");
        await page.context().close();
    });

    test("a page loads at most 35 KB", async () => {
        const context = (await openPage(server, "/console/about", { account: "alice" })).context();
        for (const address of addresses) {
            // A cache of its own: nothing is there yet.
            const fresh = await openPage(server, "/console/about", { storageState: await context.storageState() });
            const client = await fresh.context().newCDPSession(fresh);
            const files = new Map();
            client.on("Network.requestWillBeSent", ({ requestId, request }) => {
                if (request.url.includes("/console/-/")) files.set(requestId, 0);
            });
            client.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
                if (files.has(requestId)) files.set(requestId, encodedDataLength);
            });
            await client.send("Network.enable");
            await client.send("Network.setCacheDisabled", { cacheDisabled: true });
            await visit(fresh, address);
            const bytes = [...files.values()].reduce((sum, size) => sum + size, 0);
            assert.ok(bytes > 1000 && bytes <= 35 * 1024, `${address}: ${bytes} bytes`);
            await fresh.context().close();
        }
        await context.close();
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
        await page.click("#menu a:text-is('Tools')");
        await page.click("a:has-text('toMarkdown')");
        await page.fill(".field:has(label:has-text('nid')) input", "2");
        await page.click("button:text-is('Call')");
        await page.waitForSelector("[data-outcome=ok]");
        assert.match(await page.locator(".result").textContent(), /tide table/);
        await shoot(page, "demo-tool");
        assert.deepEqual(page.noise, []);
        await page.context().close();
        await server.stop();
    });
});
