// Deliveries while the database is away: it may have a revocation that the server cannot read.
import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { test } from "node:test";
import { startWebhooks } from "../functional/support/webhooks.mjs";
import { eventually, pause } from "../functional/support/server.mjs";

const minute = 60_000;

test("a webhook gets nothing from a minute after the database is away until it is back", async (t) => {
    const { receiver, service, server, client, subscription } = await startWebhooks(t);
    await client.ask("events/subscribe", subscription("s.done"));
    await receiver.until("verification");
    const away = `${server.database}.away`;
    renameSync(server.database, away);
    await eventually(() => /database unavailable/.test(server.stderr), "the server has noticed");
    service.notify("done", { no: 1 });
    await receiver.until("event");
    await pause(minute + 2_000);
    service.notify("done", { no: 2 });
    await pause(5_000);
    assert.equal(receiver.of("event").length, 1);
    renameSync(away, server.database);
    const { body } = await receiver.until("event", 2, 20_000);
    assert.equal(body.data.no, 2);
});
