// Writes pictures of the console into build/screenshots: scripts/node.sh scripts/screenshots.mjs [FOLDER]
//
// The server is the demo of `make run`, so the pictures show the example tools.
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
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

async function shoot(browser, origin, colorScheme) {
    const page = await browser.newPage({ colorScheme, viewport: { width: 1280, height: 760 } });
    const open = async (address) => {
        await page.goto(origin + address);
        await page.waitForSelector("body[data-ready=yes]");
    };
    const save = (name) => page.screenshot({ path: path.join(folder, `${name}-${colorScheme}.png`) });
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
console.log(`Pictures are in ${path.relative(root, folder)}.`);
