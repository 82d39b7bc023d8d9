// Debian's Chromium, driven by playwright-core, and servers whose console it opens.
//
//     const test = browserTests();                     skipped where Chromium is not installed, but not in CI
//     const server = await startConsole();
//     const page = await openPage(server, "/console/tools", { account: "alice" });
//     await assertAccessible(page);
//     assert.deepEqual(page.noise, []);
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import nodeTest, { after } from "node:test";
import { chromium } from "playwright-core";
import { cli, databasePath, longEnough } from "../../functional/support/accounts.mjs";
import { keepFolder } from "../../functional/support/kept.mjs";
import { permissions, startBridge } from "../../functional/support/mcp.mjs";
import { patience, root, startCauseway, writeConfig } from "../../functional/support/programs.mjs";

const executablePath = "/usr/bin/chromium";
export const isInstalled = existsSync(executablePath);

// In CI a missing browser is a failure, not a skip.
export const browserTests = () => (isInstalled || process.env.CI ? nodeTest : nodeTest.skip);

export const screenshots = path.join(root, "build", "screenshots");

// Chromium starts no work of its own in the background: every foreign request of a test is the page's.
const args = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

let started;
export function browser() {
    started ??= chromium.launch({ executablePath, args, timeout: patience(60_000) });
    return started;
}
after(async () => (await started)?.close());

// ---- servers ----

const everything = [
    ...permissions,
    "use console",
    "view traffic",
    "view audit",
    "view arguments",
    "administer sources",
    "administer access",
];
export const password = longEnough("s3cret");

// A server with a console, the account alice who may do everything, and bob who may call tools.
export async function startConsole({ plugins = ["echo", "conformance"], config = {}, ...options } = {}) {
    const database = databasePath();
    const roles = { anonymous: [], authenticated: [...permissions, "use console"], operator: everything };
    const file = writeConfig({ roles, store: { path: database } });
    await cli(file, "account", "add", "alice", "--role", "operator", { input: password });
    await cli(file, "account", "add", "bob", { input: password });
    const server = await startBridge({
        ...options,
        plugins,
        roles,
        config: {
            store: { path: database },
            console: { enabled: true },
            audit: { path: path.join(keepFolder(), `audit-${path.basename(database)}.jsonl`) },
            ...config,
        },
    });
    server.cli = (...words) => cli(server.config, ...words);
    server.database = database;
    return addOrigin(server);
}

export async function startDemo(options = {}) {
    return addOrigin(await startCauseway(options));
}

function addOrigin(server) {
    server.origin = `http://console.localhost:${new URL(server.url).port}`;
    return server;
}

// ---- pages ----

const noNoise = ["Failed to load resource: the server responded with a status of 403"];

// A test may type before the browser has moved the focus to the first field.
export const quickFingers = "Autofocus processing was blocked because a document already has a focused element";

// A page in a context of its own. page.noise collects what must not happen: messages of the console (violations of
// the CSP are among them), errors, dialogs, and requests to other origins. An account logs in once for each server; later
// pages have the cookie of its session.
export async function openPage(server, address, { account, context, quiet = noNoise, ...options } = {}) {
    server.sessions ??= new Map();
    const own =
        context ??
        (await (
            await browser()
        ).newContext({
            reducedMotion: "reduce",
            viewport: { width: 1280, height: 800 },
            storageState: server.sessions.get(account),
            ...options,
        }));
    const page = await own.newPage();
    page.setDefaultTimeout(Math.min(patience(15_000), 60_000));
    page.noise = [];
    page.on(
        "console",
        (m) =>
            [...quiet, quickFingers].some((text) => m.text().startsWith(text)) ||
            page.noise.push(`${m.type()}: ${m.text()}`),
    );
    page.on("pageerror", (error) => page.noise.push(String(error)));
    page.on("dialog", (dialog) => {
        page.noise.push(`dialog: ${dialog.message()}`);
        dialog.dismiss();
    });
    page.on("request", (request) => {
        const url = request.url();
        if (!url.startsWith(server.origin) && !url.startsWith("blob:")) page.noise.push(`foreign: ${url}`);
    });
    await page.goto(server.origin + address);
    await settled(page);
    if (account && (await page.locator("body.login").count())) {
        await logIn(page, account);
        server.sessions.set(account, await own.storageState());
    }
    return page;
}

export async function logIn(page, account) {
    await page.waitForSelector("#password");
    await page.fill("#name", account);
    await page.fill("#password", password);
    await page.click("button");
    await ready(page);
}

// The page is loaded, or the login page has taken its place.
export const settled = (page) => page.waitForSelector("body[data-ready=yes], body.login #password");

export const ready = (page) => page.waitForSelector("body[data-ready=yes]");

// A filter is used a moment after it was typed: until then a click may meet a row that is replaced under it.
export const filtered = (page, text) =>
    page.waitForFunction(
        (wanted) => [...document.querySelectorAll("tbody tr")].every((row) => row.textContent.includes(wanted)),
        text,
    );

export async function visit(page, address) {
    await page.goto(new URL(page.url()).origin + address);
    await ready(page);
}

const axe = () => readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const everyRule = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
export const colorRules = ["color-contrast", "link-in-text-block"];

// The script comes through the debugger, so that the page's CSP does not apply to it.
export async function assertAccessible(page, rules = everyRule) {
    if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe());
    const { violations } = await page.evaluate((runOnly) => window.axe.run(document, { runOnly }), rules);
    const found = violations.map((v) => [v.id, v.nodes.map((n) => `${n.target}: ${n.failureSummary}`)]);
    assert.deepEqual(found, [], page.url());
}

export async function shoot(page, name) {
    mkdirSync(screenshots, { recursive: true });
    await page.screenshot({ path: path.join(screenshots, `${name}.png`) });
}
