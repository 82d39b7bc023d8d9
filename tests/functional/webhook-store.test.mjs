// Subscriptions of webhooks in the store: they survive a restart, expire, and have ceilings.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { assertRpcError } from "./support/mcp.mjs";
import { closeIdleConnections, startCauseway } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";
import { startWebhooks } from "./support/webhooks.mjs";

suite("a subscription", { concurrency: true }, () => {
    test("survives a restart, with a gap", async (t) => {
        const { receiver, service, server, client, subscription } = await startWebhooks(t);
        const { id } = await client.ask("events/subscribe", subscription("s.done"));
        service.notify("done", { no: 6 });
        await receiver.until("event");
        const { length } = service.handshakes;
        await server.stop();
        closeIdleConnections();
        const again = await startCauseway({ args: ["--config", server.config] });
        t.after(() => again.stop());
        await eventually(() => service.handshakes.length > length, "it is connected again");
        const gap = await receiver.until("gap");
        assert.equal(typeof gap.body.cursor, "string");
        service.notify("done", { no: 7 });
        const { body, headers } = await receiver.until("event", 2);
        assert.equal(body.data.no, 7);
        assert.equal(headers["x-mcp-subscription-id"], id);
        assert.equal(receiver.of("verification").length, 1);
    });

    test("expires unless it is refreshed, and has ceilings", async (t) => {
        const { receiver, service, client, subscription } = await startWebhooks(t, { max_webhooks_per_caller: 1 });
        const { refreshBefore } = await client.ask("events/subscribe", subscription("s.done", { ttlMs: 1500 }));
        assert.ok(Date.parse(refreshBefore) - Date.now() <= 1500);
        const second = await client.request("events/subscribe", subscription("s.closed"));
        assertRpcError(second, 200, -32013, 1);
        await eventually(() => Date.now() > Date.parse(refreshBefore) + 1500, "it has expired");
        service.notify("done", { no: 1 });
        await client.ask("events/subscribe", subscription("s.closed"));
        service.notify("closed", { no: 2 });
        const { body } = await receiver.until("event");
        assert.equal(body.data.no, 2);
        assert.equal(receiver.of("event").length, 1);
    });
});
