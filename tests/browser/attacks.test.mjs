// Hostile services, other servers on this machine, and pages of other origins.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import http from "node:http";
import { once } from "node:events";
import path from "node:path";
import { after, before, suite } from "node:test";
import { keepFolder } from "../functional/support/kept.mjs";
import { basic } from "../functional/support/accounts.mjs";
import { modern, ownName } from "../functional/support/mcp.mjs";
import { eventually } from "../functional/support/server.mjs";
import { startService } from "../functional/support/service.mjs";
import { browserTests, openPage, password, ready, startConsole, visit } from "./support/browser.mjs";

const test = browserTests();

// Texts that run something wherever a page takes text for markup, a URL, a template or a name.
const corpus = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '"><svg onload=alert(3)>',
    "'-alert(4)-'",
    "javascript:alert(5)",
    "java\tscript:alert(6)",
    "data:text/html,<script>alert(7)</script>",
    "{{constructor.constructor('alert(8)')()}}",
    "${alert(9)}",
    '<a href="javascript:alert(10)">x</a>',
    "</textarea><script>alert(11)</script>",
    "</title><script>alert(12)</script>",
    '<iframe srcdoc="<script>alert(13)</script>">',
    "<base href=//evil.example/>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<style>@import '//evil.example/x.css'</style>",
    '<math><mi//xlink:href="data:x,<script>alert(14)</script>">',
    "__proto__",
    "<form action=//evil.example><button>log in</button></form>",
];
const all = corpus.join(" ");
// Invisible characters in a description reject the service: these are for its results.
const invisible = "\u202eevil\u202c \u200b \u{e0041}";

function hostile(service) {
    const add = service.document.methods.find(({ name }) => name === "add");
    Object.assign(add, { summary: all, description: all, result: { name: "any", schema: {} } });
    add.params = [
        {
            name: "a",
            description: all,
            schema: { type: "string", title: all, description: all, default: all, examples: corpus },
        },
        { name: "b", schema: { enum: corpus, description: all } },
        {
            name: "c",
            schema: {
                type: "object",
                properties: Object.fromEntries(corpus.map((text) => [text, { type: "string", description: text }])),
            },
        },
        {
            name: "d",
            schema: {
                oneOf: [
                    { const: 1, title: all },
                    { const: 2, title: all },
                ],
            },
        },
    ];
    service.document.info = { title: all, version: all, description: all };
    service.results = {
        add: { texts: [...corpus, invisible], link: "javascript:alert(20)", web: "https://evil.example/x", [all]: all },
    };
}

suite("a hostile service", () => {
    test("no text of it opens a dialog, loads something, or becomes markup on any page", async () => {
        const service = await startService();
        hostile(service);
        const source = { name: "shop", url: service.url, prefix: "shop.", methods: [{ method: "add", tool: true }] };
        const state = { lock: path.join(keepFolder(), "lock-hostile.json") };
        const server = await startConsole({ config: { sources: [source], state, timeouts: { drain: "1s" } } });
        await server.cli("source", "approve", "shop");
        const alice = { headers: basic("alice", password) };
        const list = async () => (await modern(server, "tools/list", {}, alice)).json.result.tools.map(ownName);
        await eventually(async () => (await list()).includes("shop.add"), "the tool is approved", 10_000);
        const page = await openPage(server, "/console/", { account: "alice" });
        for (const address of [
            "/console/",
            "/console/sources",
            "/console/sources/shop",
            "/console/tools",
            "/console/who",
        ]) {
            await visit(page, address);
        }
        await visit(page, "/console/tools/shop.add");
        await page.click("button:text-is('Call')");
        await page.waitForSelector("[data-outcome]");
        for (const tab of ["Structured", "Wire"]) {
            const found = page.locator(`.result [role=tab]:text-is('${tab}')`);
            if (await found.count()) await found.click();
        }
        await page.click("[role=tab]:text-is('As clients see it')");
        await page.click("[role=tab]:text-is('JSON')");
        assert.ok((await page.locator(".result .odd").count()) > 0);
        const links = await page.locator("main a").evaluateAll((nodes) => nodes.map((a) => a.protocol));
        assert.deepEqual(
            links.filter((protocol) => !/^https?:$/.test(protocol)),
            [],
        );
        assert.equal(await page.locator("main script, main iframe, main img, main style, main base").count(), 0);
        // Names that a client made up are in the audit.
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: all, params: {} });
        await fetch(`${server.url}/jsonrpc`, {
            method: "POST",
            body,
            headers: { "Content-Type": "application/json", "User-Agent": "<img src=x>" },
        });
        // The page looks once, and the audit is written a moment after the answer.
        const audit = path.join(keepFolder(), `audit-${path.basename(server.database)}.jsonl`);
        await eventually(() => readFileSync(audit, "utf8").includes('"kind":"refusal"'), "the record");
        await visit(page, "/console/audit?since=");
        await page.waitForSelector("td:has-text('refusal')");
        await page.click("tr:has-text('refusal') button");
        await page.waitForSelector("dialog dd:has-text('alert(1)')");
        // In the command to paste it is one quoted word.
        const pasted = await page.locator("dialog pre").textContent();
        assert.match(pasted, / --tool '<script>alert/);
        assert.match(pasted.replaceAll(/'([^']|'\\'')*'/g, "x"), /^causeway audit( --\w+ [\w.:-]+)+$/);
        await visit(page, "/console/calls");
        await page.click("tbody button >> nth=0");
        await page.waitForSelector("dialog");
        // Both sides of a difference, and a plugin's question.
        service.document.methods.find(({ name }) => name === "add").description = `${all} again`;
        await visit(page, "/console/sources/shop");
        await page.waitForSelector("ins:has-text('alert(1)')");
        await visit(page, "/console/tools/test_elicitation");
        await page.fill(".field:has(label:has-text('message')) textarea", all);
        await page.click("button:text-is('Call')");
        await page.waitForSelector(".result fieldset:has-text('alert(1)')");
        assert.deepEqual(page.noise, []);
        await page.context().close();
        await server.stop();
    });
});

suite("other servers and pages", () => {
    let server;
    before(async () => (server = await startConsole()));
    after(() => server?.stop());

    test("two servers in one browser do not get each other's cookies", async () => {
        const seen = [];
        const spy = http.createServer((request, response) => {
            seen.push(request.headers.cookie ?? "");
            response.end("<!DOCTYPE html><title>spy</title>");
        });
        spy.listen(0, "127.0.0.1");
        await once(spy, "listening");
        const page = await openPage(server, "/console/", { account: "alice" });
        for (const name of ["127.0.0.1", "localhost", "other.localhost"]) {
            const other = await page.context().newPage();
            await other.goto(`http://${name}:${spy.address().port}/`);
            await other.close();
        }
        assert.deepEqual([...new Set(seen)], [""]);
        await page.context().close();
        spy.close();
    });

    test("forms, scripts, pictures and frames of another port change nothing", async () => {
        const message = JSON.stringify({
            jsonrpc: "2.0",
            id: 1,
            method: "causeway.roles.add",
            params: { role: "planted" },
        });
        const attack = `<!DOCTYPE html><title>attack</title>
            <form id="form" method="post" enctype="text/plain" action="${server.origin}/jsonrpc" target="hidden">
            <input name='${message.slice(0, -1)},"x":"' value='"}'></form>
            <form id="out" method="post" action="${server.origin}/logout" target="hidden"></form>
            <iframe name="hidden"></iframe><iframe id="frame" src="${server.origin}/console/"></iframe>
            <img src="${server.origin}/mcp/tools/list">
            <script>
            document.getElementById("form").submit();
            document.getElementById("out").submit();
            for (const credentials of ["include", "omit"])
                fetch("${server.origin}/jsonrpc", { method: "POST", credentials, mode: "no-cors", body: ${JSON.stringify(message)} }).catch(() => {}).finally(() => (document.title += "."));
            </script>`;
        const attacker = http.createServer((_, response) => response.end(attack));
        attacker.listen(0, "127.0.0.1").unref(); // a test that fails ends all the same
        await once(attacker, "listening");
        const page = await openPage(server, "/console/", { account: "alice" });
        // Another port of the same name is the same site: its requests carry the cookie.
        for (const name of ["console.localhost", "127.0.0.1"]) {
            const other = await page.context().newPage();
            await other.goto(`http://${name}:${attacker.address().port}/`);
            await other.waitForFunction(() => document.title === "attack..");
            const inside = await other
                .frames()
                .find((f) => f.parentFrame() && f.name() !== "hidden")
                ?.locator("nav")
                .count()
                .catch(() => 0);
            assert.equal(inside ?? 0, 0);
            await other.close();
        }
        await visit(page, "/console/access/roles");
        await ready(page);
        assert.doesNotMatch(await page.locator("main").textContent(), /planted/);
        await page.waitForSelector("#user:has-text('alice')"); // the page does not wait for it
        await page.context().close();
        attacker.close();
        attacker.closeAllConnections();
    });

    test("seven tabs load: four of them hold a stream, and the others report that they are not live", async () => {
        const page = await openPage(server, "/console/", { account: "alice" });
        for (let i = 0; i < 6; i++) await openPage(server, "/console/", { context: page.context() });
        const pages = page.context().pages();
        assert.equal(pages.length, 7);
        for (const one of pages) await one.waitForSelector("body[data-live]");
        // A tab may lose its stream on a busy machine, and get it back.
        const states = () => Promise.all(pages.map((one) => one.evaluate(() => document.body.dataset.live)));
        const areFour = async () => (await states()).sort().join() === "no,no,no,yes,yes,yes,yes";
        await eventually(areFour, "four tabs are live, and three are not", 15_000);
        const text = await Promise.all(pages.map((one) => one.locator("#live").textContent()));
        assert.equal(text.filter((line) => /Not live since .*other tabs/.test(line)).length, 3);
        await page.context().close();
    });
});
