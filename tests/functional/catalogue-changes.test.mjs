// A service that is asked again and offers the same is no news: neither for the log nor for clients.
import assert from "node:assert/strict";
import { test } from "node:test";
import { EventStream, reloadBridge, startBridge, untilTool } from "./support/mcp.mjs";
import { eventually, pause } from "./support/server.mjs";
import { startService } from "./support/service.mjs";

async function start(t, more = {}) {
    const service = await startService();
    const methods = ["*", "not.there"]; // a warning of each load
    const source = { name: "s", url: service.url, discovery: "openrpc", methods, ...more };
    const server = await startBridge({ plugins: ["echo"], config: { sources: [source] } });
    t.after(() => server.stop());
    await untilTool(server, "add");
    await server.untilLogged(/catalogue published[^\n]* sources=2/);
    const notifications = { toolsListChanged: true };
    const stream = await EventStream.open(server, "subscriptions/listen", { notifications });
    assert.match((await stream.next()).method, /acknowledged$/);
    return {
        server,
        service,
        source,
        stream,
        published: () => server.stderr.split("catalogue published").length - 1,
        warnings: () =>
            server.stderr.split("\n").filter((line) => /loaded with a warning.*not\.there/.test(line)).length,
        notes: () => server.stderr.split("any caller may use these methods").length - 1,
        asked: () => service.calls.filter(({ method }) => method === "rpc.discover").length,
    };
}

function withoutAdd(document) {
    return { ...document, methods: document.methods.filter(({ name }) => name !== "add") };
}

for (const [how, more, again, lines] of [
    ["after its time", { refresh: "1s" }, () => {}, 0],
    // Roles may have changed.
    ["at a reload", {}, ({ server }) => reloadBridge(server), 2],
]) {
    test(`a service that is asked again ${how} and offers the same`, async (t) => {
        const one = await start(t, more);
        const before = one.published();
        assert.equal(one.warnings(), 1);
        const notes = one.notes();
        for (let i = 0; i < 2; i += 1) {
            const asked = one.asked();
            await again(one);
            await eventually(() => one.asked() > asked, "another question", 10_000);
            // A reload ends a load under way, and the log has a writer of its own.
            const all = lines && i + 1;
            await eventually(() => one.warnings() === 1 + all && one.notes() === notes + all, "the lines", 10_000);
        }
        await pause(300);
        assert.equal(one.published(), before);
        assert.equal(one.stream.events.length, 1);
        assert.equal(one.warnings(), 1 + lines);
        assert.equal(one.notes(), notes + lines);

        one.service.document = withoutAdd(one.service.document);
        await again(one);
        assert.match((await one.stream.next(10_000)).method, /tools\/list_changed$/);
        await eventually(() => one.published() === before + 1, "the line");
        await untilTool(one.server, "add", false);
        assert.equal(one.stream.events.length, 2);
    });
}

test("another configuration of the service is news for the log alone", async (t) => {
    const one = await start(t);
    const before = one.published();
    await reloadBridge(one.server, { sources: [{ ...one.source, timeout: "21s" }] });
    await eventually(() => one.published() === before + 1, "the line");
    await pause(100);
    assert.equal(one.stream.events.length, 1);
});
