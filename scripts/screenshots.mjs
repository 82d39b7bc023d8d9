// Writes pictures of the console into build/screenshots: scripts/node.sh scripts/screenshots.mjs [FOLDER]
//
// The server is the demo of `make run`, so the pictures show the example tools. The two of the README are in
// docs/pictures: make screenshots writes them again.
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";

const root = path.resolve(import.meta.dirname, "..");
const folder = path.resolve(process.argv[2] ?? path.join(root, "build", "screenshots"));
const program = path.join(root, "build", "release", "causeway");

function start() {
    const child = spawn(program, ["serve", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "ignore"] });
    return new Promise((resolve, reject) => {
        child.on("exit", (code) => reject(new Error(`causeway ended with ${code}`)));
        child.stdout.on("data", (text) => {
            const port = /listening on http:\/\/[^:]+:(\d+)/.exec(text)?.[1];
            if (port) resolve({ child, origin: `http://console.localhost:${port}` });
        });
    });
}

// Calls for the charts, until a step of the server has some.
async function makeTraffic(page, origin) {
    const url = origin.replace("console.localhost", "127.0.0.1");
    const call = (method, params) =>
        fetch(`${url}/jsonrpc`, {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
        });
    for (let i = 0; i < 12; i++) {
        await Promise.all([
            call("examples.articles.list", {}),
            call("examples.article.toMarkdown", { nid: 1 + (i % 2) }),
            call("examples.article.toMarkdown", i % 4 ? { nid: 2 } : { nid: "two" }),
        ]);
        await page.waitForTimeout(1000);
    }
}

async function shoot(browser, origin, colorScheme) {
    const page = await browser.newPage({ colorScheme, viewport: { width: 1280, height: 760 } });
    const open = async (address) => {
        await page.goto(origin + address);
        await page.waitForSelector("body[data-ready=yes]");
    };
    const save = (name) => page.screenshot({ path: path.join(folder, `${name}-${colorScheme}.png`), fullPage: true });
    await open("/console/");
    await makeTraffic(page, origin);
    await open("/console/");
    await save("overview");
    await open("/console/tools");
    await save("tools");
    await open(`/console/tools/examples.article.toMarkdown?args=${encodeURIComponent('{"nid":2}')}`);
    await page.click("button:text-is('Call')");
    await page.waitForSelector("[data-outcome=ok]");
    await save("call");
    await page.close();
}

const ofReadme = ["overview-light.png", "call-light.png"];

mkdirSync(folder, { recursive: true });
const { child, origin } = await start();
child.removeAllListeners("exit");
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium" });
try {
    for (const colorScheme of ["light", "dark"]) await shoot(browser, origin, colorScheme);
} finally {
    await browser.close();
    child.kill("SIGTERM");
}
for (const name of ofReadme) copyFileSync(path.join(folder, name), path.join(root, "docs", "pictures", name));
console.log(`Pictures are in ${path.relative(root, folder)}.`);
