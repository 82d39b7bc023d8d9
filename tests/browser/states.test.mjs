// What pages show when there is nothing to show, and when the server, the database, the session or a right is gone.
import assert from "node:assert/strict";
import { existsSync, renameSync } from "node:fs";
import path from "node:path";
import { after, before, suite } from "node:test";
import { keepFolder } from "../functional/support/kept.mjs";
import { freePort } from "../functional/support/ports.mjs";
import { bearer } from "../functional/support/accounts.mjs";
import { callTool } from "../functional/support/mcp.mjs";
import { startCauseway } from "../functional/support/programs.mjs";
import { eventually } from "../functional/support/server.mjs";
import { startService } from "../functional/support/service.mjs";
import { assertAccessible, browserTests, logIn, openPage, ready, startConsole, visit } from "./support/browser.mjs";

const test = browserTests();
const text = (page, selector = "main") => page.locator(selector).textContent();

suite("nothing to show", () => {
    test("each page says why it is empty, and what to do", async () => {
        const server = await startConsole({ plugins: [], config: { audit: {} } });
        const page = await openPage(server, "/console/", { account: "alice" });
        assert.match(await text(page), /No sources\..*causeway import URL.*No calls yet\. From a terminal:/s);
        await visit(page, "/console/sources");
        assert.match(await text(page), /No sources\..*causeway import URL/s);
        await visit(page, "/console/tools");
        assert.match(await text(page), /No tools are visible\. Mark methods with tool: true/);
        await visit(page, "/console/calls");
        assert.match(await text(page), /No calls yet\. From a terminal:/);
        await visit(page, "/console/audit");
        assert.match(await text(page), /No audit is written\. Set the key:/);
        await visit(page, "/console/access/tokens");
        assert.match(await text(page), /No tokens\./);
        for (const address of ["/console/sources/none", "/console/tools/none", "/console/access/none"]) {
            await visit(page, address);
            assert.match(await text(page, ".notice"), /No |no /, address);
            await page.waitForSelector("button:text-is('Try again')");
        }
        await assertAccessible(page);
        assert.deepEqual(page.noise, []);
        await page.context().close();
        await server.stop();
    });
});

suite("something is gone", () => {
    test("a server that restarts under an open page: it is not live, and then live again by itself", async () => {
        const port = await freePort();
        const listen = ["--listen", `127.0.0.1:${port}`];
        const server = await startConsole({ args: listen, config: { timeouts: { drain: "1s", linger: 0 } } });
        const page = await openPage(server, "/console/", { account: "alice" });
        await page.waitForSelector("body[data-live=yes]");
        await server.stop();
        await page.waitForSelector("body[data-live=no]");
        assert.match(await text(page, "#live"), /Not live since .*The numbers are old\./);
        // What is asked for meanwhile is an error with a way on.
        await page.click("#menu a:text-is('Sources')");
        await page.waitForSelector(".notice");
        assert.match(await text(page, ".notice"), /could not be loaded.*The server cannot be reached\./);
        const again = await startCauseway({ args: [...listen, "--config", server.config] });
        await page.click("button:text-is('Try again')");
        await page.waitForSelector("body[data-live=yes]");
        await page.waitForSelector("td:has-text('ready')");
        await page.context().close();
        await again.stop();
    });

    test("a rate that is exceeded: pages and calls say so, and when to try again", async () => {
        const tools = ["causeway.tokens.list", "test.echo"].map((name) => ({ name, rate: "1/h" }));
        const server = await startConsole({ plugins: ["echo"], config: { limits: { tools } } });
        const page = await openPage(server, "/console/access/tokens", { account: "alice" });
        assert.equal(await page.locator(".notice").count(), 0);
        await visit(page, "/console/access/tokens");
        assert.match(await text(page, ".notice"), /could not be loaded\. Too many calls.*Try again in \d+ s\./s);
        await visit(page, "/console/tools/test.echo");
        await page.fill(".field textarea", "hello");
        for (const outcome of ["ok", "failed"]) {
            await page.click("button:text-is('Call')");
            await page.waitForSelector(`[data-outcome=${outcome}]`);
        }
        assert.match(await text(page, ".result"), /Too many calls of test\.echo: try again in \d+ s/);
        assert.deepEqual(
            page.noise.filter((line) => !/status of 429/.test(line)),
            [],
        );
        await page.context().close();
        await server.stop();
    });

    test("a difference that changed meanwhile is not approved, and the new one is shown", async () => {
        const service = await startService();
        const lock = path.join(keepFolder(), "lock-states.json");
        const source = { name: "shop", url: service.url, prefix: "shop.", methods: ["add"] };
        const server = await startConsole({
            config: { sources: [source], state: { lock }, timeouts: { drain: "1s" } },
        });
        await server.cli("source", "approve", "shop");
        const add = service.document.methods.find(({ name }) => name === "add");
        add.summary = "Adds two numbers, once";
        const page = await openPage(server, "/console/sources/shop", { account: "alice" });
        await page.waitForSelector("ins:has-text('once')");
        add.summary = "Adds two numbers, twice";
        await page.click("text=Approve the selected…");
        await page.click("dialog button:text-is('Approve')");
        await page.waitForSelector(".notice");
        assert.match(await text(page, ".notice"), /Nothing was approved\..*changed meanwhile/s);
        await page.waitForSelector("ins:has-text('twice')");
        await page.click("text=Approve the selected…");
        await page.click("dialog button:text-is('Approve')");
        await page.waitForSelector("text=All tools match their approved definitions.");
        await page.context().close();
        await server.stop();
    });
});

suite("a service", () => {
    test("that is destructive needs two presses; one whose calls fail is named on the overview", async () => {
        const service = await startService();
        const methods = [{ method: "secret", annotations: { destructiveHint: true } }];
        const source = { name: "shop", url: service.url, prefix: "shop.", methods, retries: 0 };
        const server = await startConsole({ config: { sources: [source] } });
        const page = await openPage(server, "/console/tools/shop.secret", { account: "alice" });
        await page.waitForSelector("button:text-is('Call')");
        await page.keyboard.down("Control");
        // A key that is held down is pressed once.
        for (let i = 0; i < 5; i += 1) await page.keyboard.down("Enter");
        await page.waitForSelector("button:has-text('press again')");
        assert.equal(await page.locator("[data-outcome]").count(), 0);
        await page.keyboard.up("Enter");
        await page.keyboard.press("Enter");
        await page.keyboard.up("Control");
        await page.waitForSelector("[data-outcome]");
        await service.stop();
        const token = (await server.cli("token", "create", "alice")).trim();
        await visit(page, "/console/");
        // The circuit breaker opens, for a short time at first.
        const isNamed = async () => {
            await callTool(server, "shop.secret", {}, { headers: bearer(token) });
            return (await page.locator(".panel a.bad:has-text('shop: it could not be reached')").count()) === 1;
        };
        await eventually(isNamed, "the overview names it", 20_000);
        await page.context().close();
        await server.stop();
    });
});

suite("one server", () => {
    let server;
    before(async () => (server = await startConsole()));
    after(() => server?.stop());

    test("filters that find nothing are named, and one press clears them", async () => {
        const page = await openPage(server, "/console/tools?q=zzz", { account: "alice" });
        for (const address of ["/console/tools?q=zzz", "/console/sources?q=zzz", "/console/calls?tool=zzz"]) {
            await visit(page, address);
            assert.match(await text(page, ".empty"), /No \w+ for (q|tool): zzz\./, address);
            await page.click("button:text-is('Clear the filters')");
            await page.waitForFunction(() => !/zzz/.test(document.querySelector("main").textContent));
            assert.doesNotMatch(page.url(), /zzz/);
        }
        await page.context().close();
    });

    test("a session that ended leads to the login, and back to the same address", async () => {
        const page = await openPage(server, "/console/tools?q=echo", { account: "alice" });
        await visit(page, "/console/calls?outcome=failed");
        await page.waitForSelector("body[data-live=yes]");
        const [session] = JSON.parse(await server.cli("session", "list", "--json"));
        await server.cli("session", "revoke", String(session.id));
        await page.waitForURL(/\/login\?next=/);
        await logIn(page, "alice");
        assert.match(page.url(), /\/console\/calls\?outcome=failed/);
        await page.context().close();
    });

    test("a permission that the role lost: the page that is open says so", async () => {
        await server.cli("role", "add", "watcher");
        await server.cli("role", "allow", "watcher", "view traffic");
        await server.cli("account", "grant", "bob", "watcher");
        const page = await openPage(server, "/console/", { account: "bob" });
        await page.waitForSelector("body[data-live=yes]");
        await server.cli("role", "deny", "watcher", "view traffic");
        await page.waitForFunction(() => document.querySelectorAll("#menu a").length === 2);
        await page.waitForSelector("text=lacks its permission");
        await page.context().close();
    });

    test("lost rights: the page that is open says so, and the menu has what is left", async () => {
        const page = await openPage(server, "/console/", { account: "alice" });
        await page.waitForSelector("body[data-live=yes]");
        await server.cli("account", "revoke", "alice", "operator");
        // A change of roles ends the sessions of the account.
        await page.waitForURL(/\/login\?next=/);
        await logIn(page, "alice");
        await page.waitForURL("**/console/tools");
        assert.deepEqual(await page.locator("#menu a").allTextContents(), ["Tools", "About"]);
        await server.cli("account", "grant", "alice", "operator");
        await page.context().close();
    });

    test("an answer that comes late does not replace that of a newer search", async () => {
        const page = await openPage(server, "/console/audit", { account: "alice" });
        const isOld = (request) => request.postData()?.includes('"kind":"login"');
        let release;
        let arrive;
        const held = new Promise((resolve) => (release = resolve));
        const arrived = new Promise((resolve) => (arrive = resolve));
        await page.route("**/jsonrpc", async (route) => {
            if (isOld(route.request())) {
                arrive();
                await held;
            }
            await route.continue();
        });
        const late = page.waitForResponse((answer) => isOld(answer.request()));
        await page.selectOption("select >> nth=1", "login");
        await arrived;
        await page.selectOption("select >> nth=1", "consent");
        await page.waitForSelector("main [role=status]:text-matches('^0 found')");
        release();
        const { result } = await (await late).json();
        assert.ok(result.records.length > 0, "the old search has found records");
        await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 50)));
        assert.match(await text(page, "main [role=status]"), /^0 found/);
        await page.context().close();
    });

    test("a page does not wait for the rights that it has from the last visit, and follows those of now", async () => {
        const page = await openPage(server, "/console/sources", { account: "alice" });
        page.noise.length = 0; // the session of a test before may have ended
        let release;
        const held = new Promise((resolve) => (release = resolve));
        await page.route("**/jsonrpc", async (route) => {
            if (route.request().postData().includes("causeway.whoami")) await held;
            await route.continue();
        });
        await visit(page, "/console/sources");
        await page.waitForSelector("td:has-text('plugin')");
        assert.equal(await page.locator("text=Log out").count(), 0);
        release();
        await page.waitForSelector("text=Log out");
        await page.evaluate(() => localStorage.setItem("caller", '{"name":"eve","permissions":[]}'));
        await visit(page, "/console/sources");
        await page.waitForSelector("h1:text-is('Sources')");
        await page.waitForFunction(() => document.querySelectorAll("#menu a").length === 8);
        await page.waitForSelector("#user:has-text('alice')");
        assert.deepEqual(page.noise, []);
        await page.click("text=Log out");
        await page.waitForSelector("#password");
        assert.equal(await page.evaluate(() => localStorage.getItem("caller")), null);
        server.sessions.delete("alice");
        await page.context().close();
    });

    test("a right that its owner takes away: the change is made, and the page says what it cannot show", async () => {
        await server.cli("role", "add", "ruler");
        await server.cli("role", "allow", "ruler", "administer access");
        await server.cli("account", "grant", "bob", "ruler");
        const page = await openPage(server, "/console/access/roles", { account: "bob" });
        await page.click("button[aria-label='Take administer access away from ruler']");
        await page.click("dialog button:text-is('Take away')");
        await page.waitForSelector(".notice:has-text('The list is old.')");
        const roles = JSON.parse(await server.cli("role", "list", "--json"));
        assert.deepEqual(roles.find(({ name }) => name === "ruler").permissions, []);
        await page.context().close();
    });

    test("a plugin, which is not discovered, has no button that refreshes it", async () => {
        const page = await openPage(server, "/console/sources/echo", { account: "alice" });
        await page.waitForSelector("h1:has-text('echo')");
        assert.equal(await page.locator("button:text-is('Refresh')").count(), 0);
        await page.context().close();
    });

    test("a database that is away: pages say so, nothing is changed, and all is well when it is back", async () => {
        const sides = ["", "-wal", "-shm"];
        const move = (from, to) => {
            for (const side of sides) if (existsSync(from + side)) renameSync(from + side, to + side);
        };
        const page = await openPage(server, "/console/access/roles", { account: "alice" });
        move(server.database, `${server.database}.away`);
        // The server looks for its database once a second.
        await server.untilLogged(/database unavailable/);
        await page.click("text=New role…");
        await page.fill("#new-role", "night shift");
        await page.click("dialog button:text-is('Add')");
        await page.waitForSelector(".notice");
        assert.match(await text(page, ".notice"), /Nothing was changed\./);
        move(`${server.database}.away`, server.database);
        await server.untilLogged(/the database can be used again/);
        await visit(page, "/console/access/roles");
        await ready(page);
        assert.doesNotMatch(await text(page), /night shift/);
        await page.context().close();
    });
});
