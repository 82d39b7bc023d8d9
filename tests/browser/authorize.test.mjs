// The login, consent and grants pages of the authorization server in Chromium: with form-action in force, as
// forms without scripts, and with a program of this computer as the client.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { after, before, suite } from "node:test";
import { startAccounts } from "../functional/support/accounts.mjs";
import { register, requestQuery } from "../functional/support/authorize.mjs";
import { send, token } from "../functional/support/oauth-server.mjs";
import { patience } from "../functional/support/programs.mjs";
import { eventually, makeCertificate } from "../functional/support/server.mjs";
import {
    assertAccessible,
    browser,
    browserTests,
    password,
    quickFingers,
    shoot,
    startConsole,
} from "./support/browser.mjs";

const test = browserTests();

// A failed test leaves its listeners behind: they must not keep the file from ending.
const listeners = new Set();
after(() => listeners.forEach((listener) => listener.stop()));

// A program that waits for the answer on loopback; `then` is where it sends the browser next. With a certificate it is a
// site of the web.
async function startListener(then, certificate) {
    const requests = [];
    const files = certificate && {
        cert: readFileSync(certificate.certificate),
        key: readFileSync(certificate.key),
    };
    const { createServer } = certificate ? https : http;
    const listener = createServer(files ?? {}, (request, response) => {
        if (request.url.startsWith("/favicon")) {
            response.writeHead(204).end();
            return;
        }
        const { referer } = request.headers;
        requests.push(Object.assign(new URL(request.url, "http://127.0.0.1"), { referer }));
        if (then && requests.length === 1) response.writeHead(302, { Location: then(listener) }).end();
        else response.writeHead(200, { "Content-Type": "text/html" }).end("<title>done</title><p>Received.");
    });
    await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const { port } = listener.address();
    const url = `${certificate ? "https" : "http"}://127.0.0.1:${port}/callback`;
    const started = { requests, url, port, stop: () => listener.closeAllConnections() ?? listener.close() };
    listeners.add(started);
    return started;
}

suite("the pages of the authorization server", () => {
    let server;
    let context;
    before(async () => {
        const clients = [{ id: "tv", name: "Television", device: true }];
        server = await startAccounts({ config: { access: { server: { enabled: true, clients } } } });
        server.origin = server.url.replace("127.0.0.1", "localhost");
    });
    after(() => server?.stop());

    const open = async (options = {}) => {
        context = await (await browser()).newContext({ javaScriptEnabled: false, ...options });
        context.setDefaultTimeout(patience(30_000));
        const page = await context.newPage();
        page.noise = [];
        page.on("console", (m) => m.text().startsWith(quickFingers) || page.noise.push(m.text()));
        page.on("pageerror", (error) => page.noise.push(String(error)));
        return page;
    };
    const logIn = async (page, name = "alice") => {
        await page.fill("#name", name);
        await page.fill("#password", password);
        await page.click("button.main");
    };
    const begin = async (page, listener, more = {}, metadata = {}) => {
        const client = await register(server, { redirect_uris: [listener.url], ...metadata });
        const query = requestQuery(client, { redirect_uri: listener.url, ...more });
        await page.goto(`${server.origin}/authorize?${query}`);
        return client;
    };

    test("T15 AS13 login, consent and Allow lead to a program on this computer", async () => {
        const listener = await startListener();
        const page = await open();
        await begin(page, listener, { state: "a/b?c" });
        assert.match(page.url(), /\/login\?next=/);
        await logIn(page);
        await page.waitForSelector("text=Who asks");
        assert.match(await page.textContent("main"), /An unknown application that calls itself "a test"/);
        await page.click("button:text-is('Allow')");
        await page.waitForURL(`${listener.url}?**`);
        const [answer] = listener.requests;
        assert.match(answer.searchParams.get("code"), /^cwc_/);
        assert.equal(answer.referer, undefined);
        assert.equal(answer.searchParams.get("state"), "a/b?c");
        assert.equal(answer.searchParams.getAll("iss").length, 1);
        assert.deepEqual(page.noise, []);
        await context.close();
        listener.stop();
    });

    test("T15 Deny leads there too, with the error", async () => {
        const listener = await startListener();
        const page = await open();
        await begin(page, listener);
        await logIn(page);
        await page.click("button:text-is('Deny')");
        await page.waitForURL(`${listener.url}?**`);
        assert.equal(listener.requests[0].searchParams.get("error"), "access_denied");
        await context.close();
        listener.stop();
    });

    test("T15 a callback may send the browser on to another address", async () => {
        const second = await startListener();
        const listener = await startListener(() => second.url);
        const page = await open();
        await begin(page, listener);
        await logIn(page);
        await page.click("button:text-is('Allow')");
        await page.waitForURL(second.url);
        assert.equal(listener.requests.length, 1);
        assert.deepEqual(page.noise, []);
        await context.close();
        listener.stop();
        second.stop();
    });

    // A scheme of another program: Chromium has none for it, and the attempt is what can be seen.
    const opened = (page) => {
        const addresses = [];
        page.on("request", (request) => addresses.push(request.url()));
        return () => addresses.find((url) => url.startsWith("com.example.app:"));
    };

    for (const [button, name] of [
        ["Allow", "code"],
        ["Deny", "error"],
    ]) {
        test(`T15 ${button} opens another scheme`, async () => {
            const page = await open();
            const found = opened(page);
            await begin(page, { url: "com.example.app:/callback" });
            await logIn(page);
            await page.click(`button:text-is('${button}')`);
            const address = new URL(await eventually(found, "the other scheme"));
            assert.ok(address.searchParams.get(name), address.href);
            assert.equal(address.searchParams.getAll("iss").length, 1);
            assert.deepEqual(page.noise, []);
            await context.close();
        });

        test(`T15 T35 ${button} reaches an https address that sends the browser on to another scheme`, async () => {
            const listener = await startListener(() => "com.example.app:/done", makeCertificate("callback"));
            const page = await open({ ignoreHTTPSErrors: true });
            const found = opened(page);
            await begin(page, listener);
            await logIn(page);
            await page.click(`button:text-is('${button}')`);
            assert.equal(await eventually(found, "the other scheme"), "com.example.app:/done");
            const [answer] = listener.requests;
            assert.ok(answer.searchParams.get(name), answer.href);
            assert.equal(answer.referer, undefined, "the address of the page stays here");
            assert.deepEqual(page.noise, []);
            await context.close();
            listener.stop();
        });
    }

    test("T13 two tabs: both forms work, in any order", async () => {
        const listener = await startListener();
        const first = await open();
        await begin(first, listener, { state: "1" });
        await logIn(first);
        await first.waitForSelector("text=Who asks");
        const second = await context.newPage();
        await begin(second, listener, { state: "2" });
        await second.click("button:text-is('Allow')");
        await second.waitForURL(`${listener.url}?**`);
        await first.reload();
        await first.click("button:text-is('Allow')");
        await first.waitForURL(`${listener.url}?**`);
        assert.deepEqual(
            listener.requests.map((url) => url.searchParams.get("state")),
            ["2", "1"],
        );
        await context.close();
        listener.stop();
    });

    test("AS14 AS28 the pages are accessible in both themes, and grants can be ended there", async () => {
        const listener = await startListener();
        for (const colorScheme of ["light", "dark"]) {
            const page = await open({ javaScriptEnabled: true, colorScheme });
            await begin(page, listener);
            await assertAccessible(page);
            await logIn(page);
            await page.waitForSelector("text=Who asks");
            await assertAccessible(page);
            await shoot(page, `consent-${colorScheme}`);
            await page.goto(`${server.origin}/account/grants`);
            await assertAccessible(page);
            await shoot(page, `grants-${colorScheme}`);
            await page.goto(`${server.origin}/authorize?client_id=nobody`);
            await assertAccessible(page);
            await context.close();
        }
        listener.stop();
    });

    test("AS31 the pages for devices are accessible in both themes, and lead to a login", async () => {
        const { json } = await send(server, "/device_authorization", { client_id: "tv" });
        const page = await open({ javaScriptEnabled: true });
        const look = async (name) => {
            for (const colorScheme of ["light", "dark"]) {
                await page.emulateMedia({ colorScheme });
                await assertAccessible(page);
                await shoot(page, `${name}-${colorScheme}`);
            }
        };
        await page.goto(`${server.origin}/device`);
        await logIn(page);
        await page.waitForSelector("#user_code");
        await look("device");
        await page.fill("#user_code", json.user_code.toLowerCase());
        await page.click("button:text-is('Continue')");
        await page.waitForSelector("text=Who asks");
        await look("device-consent");
        await page.click("button:text-is('Allow')");
        await page.waitForSelector("text=The device is logged in");
        await look("device-end");
        const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
        const answer = await token(server, { grant_type, device_code: json.device_code, client_id: "tv" });
        assert.equal(answer.status, 200, answer.text);
        await context.close();
    });

    test("T14 a client cannot put markup on the page", async () => {
        const listener = await startListener();
        const page = await open({ javaScriptEnabled: true });
        page.on("dialog", (dialog) => {
            page.noise.push(dialog.message());
            dialog.dismiss();
        });
        const markup = `</strong><script>alert(1)</script><img src=x onerror=alert(2)>`;
        await begin(page, listener, { state: markup }, { client_name: markup });
        await logIn(page);
        await page.waitForSelector("text=Who asks");
        assert.equal(await page.locator("main script, main img").count(), 0);
        assert.deepEqual(page.noise, []);
        await context.close();
        listener.stop();
    });

    test("the keyboard alone is enough", async () => {
        const listener = await startListener();
        const page = await open();
        await begin(page, listener);
        await page.waitForSelector("#name:focus");
        await page.keyboard.type("alice");
        await page.keyboard.press("Tab");
        await page.keyboard.type(password);
        await page.keyboard.press("Enter");
        await page.waitForSelector("text=Who asks");
        await page.focus("button:text-is('Deny')");
        await page.keyboard.press("Enter");
        await page.waitForURL(`${listener.url}?**`);
        await context.close();
        listener.stop();
    });
});

suite("a server with a console", () => {
    test("a request at another host name leads to the login under the name of the console, and back", async () => {
        const server = await startConsole({ config: { access: { server: { enabled: true } } } });
        const listener = await startListener();
        const client = await register(server, { redirect_uris: [listener.url] });
        const context = await (await browser()).newContext({ javaScriptEnabled: false });
        context.setDefaultTimeout(patience(30_000));
        const page = await context.newPage();
        await page.goto(`${server.url}/authorize?${requestQuery(client, { redirect_uri: listener.url })}`);
        assert.ok(page.url().startsWith(`${server.origin}/login?next=`), page.url());
        await page.fill("#name", "bob");
        await page.fill("#password", password);
        await page.click("button.main");
        await page.waitForSelector("text=Who asks");
        assert.ok(page.url().startsWith(`${server.origin}/authorize?r=`), page.url());
        await page.click("button:text-is('Allow')");
        await page.waitForURL(`${listener.url}?**`);
        const [answer] = listener.requests;
        assert.match(answer.searchParams.get("code"), /^cwc_/);
        assert.equal(answer.searchParams.get("iss"), server.url, "the issuer as the client knows it");
        // A page of another site opens the next request: the strict cookie is not lost on the way.
        const second = requestQuery(client, { redirect_uri: listener.url, state: "again" });
        const site = http.createServer((_, response) =>
            response
                .writeHead(200, { "Content-Type": "text/html" })
                .end(
                    `<title>site</title><a href="${server.url}/authorize?${second}">connect</a>`.replaceAll(
                        "&",
                        "&amp;",
                    ),
                ),
        );
        await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
        await page.goto(`http://127.0.0.1:${site.address().port}/`);
        await page.click("a");
        await page.waitForSelector("text=Who asks");
        await page.click("button:text-is('Allow')");
        await page.waitForURL(`${listener.url}?**`);
        assert.equal(listener.requests.at(-1).searchParams.get("state"), "again");
        site.close();
        await context.close();
        listener.stop();
        await server.stop();
    });
});
