// Other servers on this machine, and pages of other origins.
import assert from "node:assert/strict";
import http from "node:http";
import { once } from "node:events";
import { suite } from "node:test";
import { browser, browserTests, openPage, ready, startConsole, visit } from "./support/browser.mjs";

const test = browserTests();

suite("other servers and pages", () => {
    test("two servers in one browser do not get each other's cookies", async () => {
        const first = await startConsole();
        const seen = [];
        const spy = http.createServer((request, response) => {
            seen.push(request.headers.cookie ?? "");
            response.end("<!DOCTYPE html><title>spy</title>");
        });
        spy.listen(0, "127.0.0.1");
        await once(spy, "listening");
        const page = await openPage(first, "/console/", { account: "alice" });
        for (const name of ["127.0.0.1", "localhost", "other.localhost"]) {
            const other = await page.context().newPage();
            await other.goto(`http://${name}:${spy.address().port}/`);
            await other.close();
        }
        assert.deepEqual([...new Set(seen)], [""]);
        await page.context().close();
        spy.close();
        await first.stop();
    });

    test("forms, scripts, pictures and frames of another port change nothing", async () => {
        const server = await startConsole();
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
        attacker.listen(0, "127.0.0.1");
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
        assert.equal(
            await page
                .locator("#user")
                .textContent()
                .then((text) => text.includes("alice")),
            true,
        );
        await page.context().close();
        attacker.close();
        attacker.closeAllConnections();
        await server.stop();
    });

    test("seven tabs load: no tab holds a connection while it only shows a page", async () => {
        const server = await startConsole();
        const page = await openPage(server, "/console/", { account: "alice" });
        for (let i = 0; i < 6; i++) await openPage(server, "/console/", { context: page.context() });
        assert.equal(page.context().pages().length, 7);
        assert.ok(await browser());
        await page.context().close();
        await server.stop();
    });
});
