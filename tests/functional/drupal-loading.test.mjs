// A Drupal site that answers late: how its lists are read, and what becomes of calls meanwhile.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { login, sourceOf, startSite, startWithSite as start } from "./support/drupal.mjs";
import { keepFolder } from "./support/kept.mjs";
import {
    assertRpcError,
    assertWithin,
    callTool,
    modern,
    permissions,
    rpc,
    startBridge,
    timed,
    untilTool,
} from "./support/mcp.mjs";
import { scrape } from "./support/metrics.mjs";
import { patience } from "./support/programs.mjs";
import { invoke, post } from "./support/rest.mjs";
import { eventually, pause } from "./support/server.mjs";

// Requests to the site wait until `open` is called; `most` have waited at the same time.
function holdSite(site, isHeld) {
    const held = [];
    const gate = { most: 0, isOpen: false };
    site.front = (asked, response) => {
        if (gate.isOpen || !isHeld(asked)) {
            return false;
        }
        held.push(() => site.route(asked.verb, new URL(asked.target, site.url), asked.rpc, response));
        gate.most = Math.max(gate.most, held.length);
        gate.onHeld?.(held);
        return true;
    };
    gate.open = () => {
        gate.isOpen = true;
        held.splice(0).forEach((answer) => answer());
    };
    return gate;
}

suite("a site that is loaded slowly", { concurrency: true }, () => {
    const slow = { timeout: "60s" };

    test("has the pages of its methods asked for side by side, 8 at most", async (t) => {
        const site = await startSite({ hidesParams: true, login });
        const gate = holdSite(site, ({ target }) => target.startsWith("/jsonrpc/methods/"));
        gate.onHeld = (held) => {
            clearTimeout(gate.timer); // all that come without an answer have come
            const ms = held.length < 8 ? patience(1_000) : 100;
            gate.timer = setTimeout(() => held.splice(0).forEach((answer) => answer()), ms);
        };
        const file = path.join(keepFolder(), "side-by-side");
        writeFileSync(file, "robot:pa ss:word");
        const server = await start(t, site, { ...slow, secret: { file } });
        await untilTool(server, "echo");
        assert.equal(gate.most, 8);
    });

    // Calls at every door while the site is held, and then not: { early, answers }; `early` were answered before.
    // Undefined: it took longer than the 10 seconds for which calls wait.
    async function callEarly(t) {
        const site = await startSite();
        const gate = holdSite(site, ({ target }) => target.startsWith("/jsonrpc/methods"));
        const methods = [{ method: "*", expose_on_jsonrpc: true }];
        const begun = performance.now();
        const server = await start(t, site, { ...slow, methods });
        let answered = 0;
        const calls = [
            callTool(server, "true", {}),
            invoke(server, "true", {}),
            rpc(server, { method: "true", id: 7 }),
            rpc(server, [
                { jsonrpc: "2.0", method: "true", id: 1 },
                { jsonrpc: "2.0", method: "nope", id: 2 },
            ]),
            post(server, "/mcp/tools/true", { jsonrpc: "2.0", method: "true", id: 9 }),
            callTool(server, "nope", {}),
            post(server, "/mcp/tools/nope", { jsonrpc: "2.0", method: "nope", id: 9 }),
        ].map((call) => call.finally(() => (answered += 1)));
        assert.equal((await modern(server, "tools/list")).json.result.tools.length, 0); // lists do not wait
        await pause(300);
        const early = answered;
        gate.open();
        const answers = await Promise.all(calls);
        return performance.now() - begun < 9_500 ? { early, answers } : undefined;
    }

    test("has calls at every door wait for it, and answered when it is there", async (t) => {
        const { early, answers } = await eventually(() => callEarly(t), "calls within 10 seconds", 60_000);
        assert.equal(early, 0);
        const [tool, rest, one, batch, address, unknown, nowhere] = answers;
        assert.equal(tool.json.result.structuredContent, true, tool.text);
        assert.equal(rest.json.result, true, rest.text);
        assert.deepEqual(one.json, { jsonrpc: "2.0", result: true, id: 7 });
        assert.deepEqual([batch.json[0].result, batch.json[1].error.code], [true, -32601]);
        assert.equal(address.json.result, true, address.text);
        assertRpcError(unknown, 200, -32602, 1);
        assert.equal(nowhere.status, 404);
    });

    test("keeps no call waiting that its client took back, nor a server from stopping", async () => {
        const site = await startSite();
        const gate = holdSite(site, ({ target }) => target.startsWith("/jsonrpc/methods"));
        const server = await startBridge({
            plugins: [],
            roles: { anonymous: [...permissions, "view metrics"] },
            config: { sources: [sourceOf(site, slow)] },
        });
        const leaving = new AbortController();
        const left = fetch(`${server.url}/mcp/tools/invoke`, {
            method: "POST",
            signal: leaving.signal,
            headers: { "Content-Type": "application/json" },
            body: JSON.stringify({ name: "true", arguments: {} }),
        });
        const kept = callTool(server, "true", {});
        const received = async () => (await scrape(server)).value("causeway_mcp_messages_total") > 0;
        await eventually(received, "the call that is kept");
        await pause(200);
        leaving.abort();
        await assert.rejects(left, { name: "AbortError" });
        const stopped = server.stop();
        assertRpcError(await kept, 200, -32602, 1);
        await stopped;
        gate.open();
        assert.equal(site.asked("/jsonrpc").filter(({ rpc }) => rpc?.method === "true").length, 0);
    });

    test("keeps calls waiting for 10 seconds at most", { timeout: patience(60_000) }, async (t) => {
        const site = await startSite();
        holdSite(site, ({ target }) => target.startsWith("/jsonrpc/methods"));
        const begun = performance.now();
        const server = await start(t, site, slow);
        const call = () => timed(() => callTool(server, "true", {}));
        const first = await call();
        const ms = performance.now() - begun;
        assertRpcError(first.value, 200, -32602, 1);
        assert.ok(ms > 9_900, `${ms} ms`);
        assertWithin(first.awake, 10_500, "the first call");
        const again = await call();
        assertRpcError(again.value, 200, -32602, 1);
        assertWithin(again.awake, 1_000, "the next call");
    });
});
