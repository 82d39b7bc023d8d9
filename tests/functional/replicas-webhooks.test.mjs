// Webhooks behind a load balancer: a subscription ends at every server, whichever is asked to end it.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { bearer, useServer } from "./support/accounts.mjs";
import { EventsClient } from "./support/events.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";
import { patience, startCauseway } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";
import { Receiver, startWebhooks } from "./support/webhooks.mjs";

suite("a subscription of two servers", { skip: skipped }, () => {
    let postgres;
    before(async () => {
        postgres = await startPostgres();
        useServer(postgres);
    });
    after(() => postgres?.stop());

    test("that ends at one of them gets no events of the other", async (t) => {
        const { receiver, service, server, token, client, subscription } = await startWebhooks(t);
        const other = await startCauseway({ args: ["--config", server.config] });
        t.after(() => other.stop());
        await server.untilLogged(/number of servers .*others=1/, patience(10_000));
        const there = new EventsClient(other, bearer(token.token));
        await eventually(async () => (await there.list()).length === 2, "alice sees both events there");
        const stays = await new Receiver().start(t);
        await client.ask("events/subscribe", subscription("s.done"));
        await client.ask("events/subscribe", subscription("s.done", { url: stays.url }));
        await Promise.all([receiver, stays].map((one) => one.until("verification")));
        await there.ask("events/unsubscribe", { name: "s.done", arguments: {}, delivery: { url: receiver.url } });
        // Each event reaches the one that stays, and the other one until its end is known.
        let no = 0;
        const isOver = async () => {
            const { length } = receiver.of("event");
            no += 1;
            service.notify("done", { no });
            await eventually(() => stays.of("event").some(({ body }) => body.data.no === no), `event ${no}`);
            await pause(200);
            return receiver.of("event").length === length;
        };
        await eventually(isOver, "the end of the deliveries", 15_000);
        assert.ok(stays.of("event").length > receiver.of("event").length);
    });
});
