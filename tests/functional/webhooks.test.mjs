// Webhooks: signed deliveries of events to a receiver that checks them with another implementation.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { suite, test } from "node:test";
import { bearer } from "./support/accounts.mjs";
import { EventsClient } from "./support/events.mjs";
import { assertRpcError, modern, reloadBridge, startBridge } from "./support/mcp.mjs";
import { patience } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";
import { newSecret, Receiver, startWebhooks } from "./support/webhooks.mjs";

suite("a webhook", { concurrency: true }, () => {
    test("is verified, then gets events that another implementation accepts", async (t) => {
        const { receiver, service, client, subscription } = await startWebhooks(t);
        const secret = newSecret();
        receiver.secrets = [secret];
        const list = await client.list();
        assert.deepEqual(list[0].delivery, ["poll", "push", "webhook"]);
        const params = subscription("s.done", { secret, arguments: { queue: "a" } });
        const begin = Date.now();
        const first = await client.ask("events/subscribe", params);
        assert.ok(Date.parse(first.refreshBefore) > Date.now());
        assert.equal(first.truncated, false);
        assert.equal(first.deliveryStatus, undefined);
        await receiver.until("verification");
        service.notify("done", { no: 1, queue: "a" });
        service.notify("done", { no: 2, queue: "b" });
        service.notify("done", { no: 3, queue: "a" });
        await receiver.until("event", 2);
        const [one, two] = receiver.of("event");
        assert.deepEqual([one.body.data.no, two.body.data.no], [1, 3]);
        assert.equal(one.headers["webhook-id"], one.body.eventId);
        assert.equal(one.headers["x-mcp-subscription-id"], first.id);
        assert.equal(one.headers["content-type"], "application/json");
        assert.equal(one.body.name, "s.done");
        // A refresh is the same subscription; with another secret both sign.
        const other = newSecret();
        const again = await client.ask("events/subscribe", {
            ...params,
            delivery: { ...params.delivery, secret: other },
        });
        assert.equal(again.id, first.id);
        const { lastDeliveryAt, ...status } = again.deliveryStatus;
        assert.deepEqual(status, { active: true, lastError: null });
        const last = Date.parse(lastDeliveryAt);
        assert.ok(last >= begin - 1_000 && last <= Date.now(), lastDeliveryAt);
        receiver.secrets = [secret, other];
        service.notify("done", { no: 4, queue: "a" });
        const fourth = await receiver.until("event", 3);
        assert.equal(fourth.body.data.no, 4);
        assert.equal(fourth.headers["webhook-signature"].split(" ").length, 2);
        assert.equal(receiver.of("verification").length, 1);
        // The end, twice.
        const { name, arguments: args } = params;
        const end = { name, arguments: args, delivery: { url: receiver.url } };
        await client.ask("events/unsubscribe", end);
        await client.ask("events/unsubscribe", end);
        service.notify("done", { no: 5, queue: "a" });
        const { events: kept } = await client.collect("s.done", first.cursor, 5);
        assert.equal(kept.at(-1).data.no, 5);
        assert.equal(receiver.of("event").length, 3);
    });

    test("is refreshed without a loss, and the answer has the category of the last failure", async (t) => {
        const { receiver, service, client, subscription } = await startWebhooks(t);
        const params = subscription("s.done");
        const refresh = async () => (await client.ask("events/subscribe", params)).deliveryStatus;
        const error = (category) => async () => (await refresh()).lastError === category;
        receiver.echoes = false;
        await client.ask("events/subscribe", params);
        await eventually(error("challenge_failed"), "no echo");
        assert.equal((await refresh()).active, false);
        receiver.echoes = true;
        await eventually(async () => (await refresh()).active, "the receiver is verified");
        for (const [status, category] of [
            [503, "http_5xx"],
            [403, "http_4xx"],
        ]) {
            receiver.answers = () => status;
            service.notify("done", { no: status });
            await eventually(error(category), category);
            const { active, lastDeliveryAt, failedSince } = await refresh();
            assert.equal(active, true);
            assert.equal(lastDeliveryAt === null, status === 503);
            assert.ok(Date.parse(failedSince) <= Date.now());
            // The event that waits for its next attempt is sent after a refresh.
            receiver.answers = () => 200;
            await refresh();
            await eventually(error(null), "it is delivered");
            assert.equal(receiver.of("event").at(-1).body.data.no, status);
        }
        receiver.server.closeAllConnections();
        receiver.server.close();
        service.notify("done", { no: 1 });
        await eventually(error("connection_refused"), "nobody listens");
    });

    test("is told of a gap although no event follows it", async (t) => {
        const { receiver, service, client, subscription } = await startWebhooks(t);
        await client.ask("events/subscribe", subscription("s.done"));
        await receiver.until("verification");
        service.cut();
        await receiver.until("gap");
    });

    test("gets no events that are older than its client wants", async (t) => {
        const { receiver, service, client, subscription } = await startWebhooks(t);
        const { cursor } = await client.poll("s.done", null);
        service.notify("done", { no: 1 });
        await client.collect("s.done", cursor, 1);
        await pause(1200);
        const params = subscription("s.done", { cursor, maxAgeMs: 1000 });
        assert.equal((await client.ask("events/subscribe", params)).truncated, true);
        service.notify("done", { no: 2 });
        await receiver.until("event");
        assert.equal(receiver.of("event")[0].body.data.no, 2);
    });

    test("is delivered again after a failure, and never after 410 and 413", async (t) => {
        const { receiver, service, client, subscription } = await startWebhooks(t);
        let failures = 1;
        receiver.answers = ({ data }) => {
            if (data?.no === 1 && failures > 0) {
                failures -= 1;
                return 503;
            }
            return { 2: 413, 3: 301, 4: 410 }[data?.no] ?? 200;
        };
        await client.ask("events/subscribe", subscription("s.done"));
        await receiver.until("verification");
        for (const no of [1, 2, 4, 5]) {
            service.notify("done", { no });
        }
        await eventually(() => receiver.of("event").some(({ body }) => body.data.no === 5), "5", patience(10_000));
        const seen = receiver.of("event");
        assert.deepEqual(
            seen.map(({ body }) => body.data.no),
            [1, 1, 2, 4, 5],
        );
        const [early, late] = seen.map(({ headers }) => headers);
        assert.equal(early["webhook-id"], late["webhook-id"]);
        assert.notEqual(early["webhook-timestamp"], late["webhook-timestamp"]);
    });

    test("is delivered once to a receiver that answers with a long text", async (t) => {
        const { receiver, service, client, subscription } = await startWebhooks(t);
        receiver.says = "x".repeat(100_000);
        await client.ask("events/subscribe", subscription("s.done"));
        await receiver.until("verification");
        service.notify("done", { no: 1 });
        service.notify("done", { no: 2 });
        await receiver.until("event", 2);
        assert.deepEqual(
            receiver.of("event").map(({ body }) => body.data.no),
            [1, 2],
        );
    });

    test("without the echo of its challenge gets nothing", async (t) => {
        const { receiver, service, client, subscription } = await startWebhooks(t);
        receiver.echoes = false;
        await client.ask("events/subscribe", subscription("s.done"));
        service.notify("done", { no: 1 });
        await receiver.until("verification", 2);
        assert.equal(receiver.of("event").length, 0);
    });

    test("ends when its caller loses the right, and when its token is revoked", async (t) => {
        const { receiver, service, server, token, client, subscription } = await startWebhooks(t);
        await client.ask("events/subscribe", subscription("s.closed"));
        await client.ask("events/subscribe", subscription("s.done"));
        await receiver.until("verification");
        service.notify("closed", { no: 1 });
        await receiver.until("event");
        await server.cli("account", "revoke", "alice", "editor");
        service.notify("closed", { no: 2 });
        const first = await receiver.until("terminated");
        assert.equal(first.body.error.code, -32011);
        assert.equal(receiver.of("event").length, 1);
        service.notify("done", { no: 3 });
        await receiver.until("event", 2);
        await server.cli("token", "revoke", String(token.id));
        await receiver.until("terminated", 2);
        service.notify("done", { no: 4 });
        await eventually(async () => {
            const { json } = await modern(server, "tools/call", { name: "s.events", arguments: { name: "s.done" } });
            return json.result.structuredContent.events.length === 2;
        }, "the event has arrived");
        assert.equal(receiver.of("event").length, 2);
    });
});

suite("deliveries", { concurrency: true }, () => {
    const each = 4; // of one caller at once

    // Responses wait for `release`; `most` is how many did at the same time.
    function hold(receiver) {
        const held = { now: 0, most: 0 };
        const gate = new Promise((resolve) => (held.release = resolve));
        receiver.answers = async (_, response) => {
            held.now += 1;
            held.most = Math.max(held.most, held.now);
            response.once("close", () => (held.now -= 1)); // also where the server has waited long enough
            await gate;
            return 200;
        };
        return held;
    }

    test("of one caller do not hold up those of another", async (t) => {
        const { receiver, service, server, client, subscription } = await startWebhooks(t);
        const healthy = await new Receiver().start(t);
        const bob = new EventsClient(server, bearer((await server.token("bob")).token));
        const held = hold(receiver);
        for (let i = 0; i < 40; i += 1) {
            await client.ask("events/subscribe", subscription("s.done", { arguments: { queue: `${i}` } }));
        }
        await receiver.until("verification", each);
        await bob.ask("events/subscribe", subscription("s.done", { url: healthy.url }));
        await healthy.until("verification");
        service.notify("done", { no: 1 });
        await healthy.until("event");
        assert.equal(held.most, each);
        held.release();
        await receiver.until("verification", 40);
    });

    test("are as few at once when all subscriptions end", async (t) => {
        const { receiver, service, server, client, subscription } = await startWebhooks(t);
        for (let i = 0; i < 20; i += 1) {
            await client.ask("events/subscribe", subscription("s.done", { url: `${receiver.url}?${i}` }));
        }
        service.notify("done", { no: 1 });
        await receiver.until("event", 20); // all are verified
        const held = hold(receiver);
        const mcp = { events: { enabled: true, webhooks: ["hooks.example.org"], webhook_allow_private: true } };
        await reloadBridge(server, { mcp });
        await receiver.until("terminated", each);
        await client.list();
        assert.equal(held.most, each);
        held.release();
        await receiver.until("terminated", 20);
    });
});

test("the end of a subscription counts against the rate, as its begin does", async (t) => {
    const { server, client, subscription } = await startWebhooks(t);
    await reloadBridge(server, { limits: { rates: { lists: "1/h burst 3" } } });
    const statuses = [];
    for (const method of ["subscribe", "unsubscribe", "unsubscribe", "unsubscribe", "subscribe"]) {
        statuses.push((await client.request(`events/${method}`, subscription("s.done"))).status);
    }
    assert.deepEqual(statuses, [200, 200, 200, 429, 429]);
});

suite("a webhook is refused", { concurrency: true }, () => {
    test("to the anonymous caller, and where it is not configured", async (t) => {
        const { server, client, subscription } = await startWebhooks(t, { webhooks: [] });
        assertRpcError(await client.request("events/subscribe", subscription("s.done")), 200, -32014, 1);
        const anonymous = await modern(server, "events/subscribe", subscription("s.done"));
        assert.equal(anonymous.status, 401);
        await eventually(() => /call refused.*s\.done/.test(server.stderr), "its refusal in the log");
        const plain = await startBridge({ plugins: [] });
        t.after(() => plain.stop());
        assertRpcError(await modern(plain, "events/subscribe", subscription("s.done")), 404, -32601, 1);
    });

    test("for a wrong URL, host, secret, mode or event", async (t) => {
        const { client, subscription } = await startWebhooks(t);
        const ask = (params) => client.request("events/subscribe", params);
        for (const url of [
            "ftp://127.0.0.1/",
            "http://10.0.0.1/",
            "https://evil.example/",
            "http://127.0.0.1@evil.example/",
        ]) {
            assertRpcError(await ask(subscription("s.done", { url })), 200, -32015, 1);
        }
        for (const secret of ["whsec_c2hvcnQ=", "secret", `whsec_${randomBytes(65).toString("base64")}`]) {
            assertRpcError(await ask(subscription("s.done", { secret })), 200, -32602, 1);
        }
        const { delivery, ...rest } = subscription("s.done");
        assertRpcError(await ask({ ...rest, delivery: { ...delivery, mode: "email" } }), 200, -32014, 1);
        assertRpcError(await ask(subscription("s.done", { ttlMs: -1 })), 200, -32602, 1);
        const hidden = await ask(subscription("s.nosuch"));
        assertRpcError(hidden, 200, -32011, 1);
    });

    test("at the connection: a private address behind an allowed name, in every form", async (t) => {
        // localhost is a name that leads to this machine, as a rebound one would.
        const hosts = ["localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254"];
        const { receiver, service, server, client, subscription } = await startWebhooks(t, {
            webhooks: hosts,
            webhook_allow_private: false,
        });
        const { port } = new URL(receiver.url);
        for (const host of hosts) {
            const url = `https://${host}:${port}/hook`;
            await client.ask("events/subscribe", subscription("s.done", { url }));
        }
        const plain = await client.request("events/subscribe", subscription("s.done"));
        assertRpcError(plain, 200, -32015, 1);
        service.notify("done", { no: 1 });
        const refused = () => server.stderr.match(/a webhook receiver cannot be reached.*(private|never)/g) ?? [];
        await eventually(() => refused().length >= hosts.length, "each is refused");
        assert.equal(receiver.got.length, 0);
    });

    test("by a redirect: it is not followed", async (t) => {
        const { receiver, service, client, subscription } = await startWebhooks(t);
        const other = await new Receiver().start(t);
        await client.ask("events/subscribe", subscription("s.done"));
        await receiver.until("verification");
        receiver.answers = () => 307;
        service.notify("done", { no: 1 });
        await receiver.until("event", 2);
        assert.equal(other.got.length, 0);
    });

    test("when its host is taken off the list", async (t) => {
        const { receiver, service, server, client, subscription } = await startWebhooks(t);
        await client.ask("events/subscribe", subscription("s.done"));
        service.notify("done", { no: 0 });
        await receiver.until("event");
        const mcp = { events: { enabled: true, webhooks: ["hooks.example.org"], webhook_allow_private: true } };
        await reloadBridge(server, { mcp });
        await receiver.until("terminated");
        service.notify("done", { no: 1 });
        await client.list();
        assert.equal(receiver.of("event").length, 1);
    });
});
