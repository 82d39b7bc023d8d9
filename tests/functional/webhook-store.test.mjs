// Subscriptions of webhooks in the store: they survive a restart, expire, and have ceilings.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { suite, test } from "node:test";
import { basic, bearer } from "./support/accounts.mjs";
import { EventsClient } from "./support/events.mjs";
import { startForger } from "./support/issuer.mjs";
import { assertRpcError, reloadBridge } from "./support/mcp.mjs";
import { closeIdleConnections, patience, startCauseway } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";
import { Receiver, startWebhooks } from "./support/webhooks.mjs";

suite("a subscription", { concurrency: true }, () => {
    test("survives a restart, with a gap", async (t) => {
        const { receiver, service, server, client, subscription } = await startWebhooks(t);
        const { id } = await client.ask("events/subscribe", subscription("s.done"));
        service.notify("done", { no: 6 });
        await receiver.until("event");
        // That it is verified is stored beside the deliveries; nothing outside shows when.
        await pause(patience(500));
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
        const params = subscription("s.done", { ttlMs: 3_600_000 });
        await client.ask("events/subscribe", params);
        const second = await client.request("events/subscribe", subscription("s.closed"));
        assertRpcError(second, 200, -32013, 1);
        const { refreshBefore } = await client.ask("events/subscribe", { ...params, ttlMs: 1500 });
        assert.ok(Date.parse(refreshBefore) - Date.now() <= 1500);
        await eventually(() => Date.now() > Date.parse(refreshBefore) + 1500, "it has expired");
        service.notify("done", { no: 1 });
        await client.ask("events/subscribe", subscription("s.closed"));
        service.notify("closed", { no: 2 });
        const { body } = await receiver.until("event");
        assert.equal(body.data.no, 2);
        assert.equal(receiver.of("event").length, 1);
    });
});

suite("the row of a subscription that two servers have", { concurrency: true }, () => {
    // A second server with the same store, and its client.
    async function startSecond(t, { server, token }) {
        const other = await startCauseway({ args: ["--config", server.config] });
        t.after(() => other.stop());
        const client = new EventsClient(other, bearer(token.token));
        await eventually(async () => (await client.list()).length === 2, "alice sees both events there");
        return { other, client };
    }

    // Both end, and the next server reads the rows.
    async function restart(t, servers) {
        for (const server of servers) await server.stop();
        closeIdleConnections();
        const again = await startCauseway({ args: ["--config", servers[0].config] });
        t.after(() => again.stop());
    }

    test("stays removed when a verification at the other one ends later", async (t) => {
        const all = await startWebhooks(t);
        const { receiver, server, client, subscription } = all;
        let release;
        const held = new Promise((resolve) => (release = resolve));
        receiver.answers = () => held.then(() => 200);
        await client.ask("events/subscribe", subscription("s.done"));
        await receiver.until("verification");
        const second = await startSecond(t, all);
        const end = { name: "s.done", arguments: {}, delivery: { url: receiver.url } };
        await second.client.ask("events/unsubscribe", end);
        release();
        const stays = await new Receiver().start(t);
        await client.ask("events/subscribe", subscription("s.done", { url: stays.url }));
        await stays.until("verification");
        await restart(t, [server, second.other]);
        await stays.until("gap");
        assert.equal(receiver.of("gap").length, 0, "it is not there any more");
    });

    test("stays when it expires at the one that has not seen its refresh", async (t) => {
        const all = await startWebhooks(t);
        const { receiver, server, client, subscription } = all;
        const params = subscription("s.done", { ttlMs: 3000 });
        const { refreshBefore } = await client.ask("events/subscribe", params);
        await receiver.until("verification");
        const second = await startSecond(t, all);
        await second.client.ask("events/subscribe", { ...params, ttlMs: 3_600_000 });
        await eventually(() => Date.now() > Date.parse(refreshBefore) + 2000, "it has expired");
        const { length } = receiver.of("gap");
        await restart(t, [server, second.other]);
        await receiver.until("gap", length + 1);
    });
});

suite("a subscription by a token of an issuer", { concurrency: true }, () => {
    const audience = "https://tools.example/mcp";

    // A server with so many issuers. Each has a subscription with a receiver of its own that got an event.
    async function startIssued(t, n) {
        const all = [];
        for (let i = 0; i < n; i += 1) {
            const forger = await startForger({ audience });
            const entry = { issuer: forger.url, audience, allow_private: true };
            all.push({ forger, entry, receiver: await new Receiver().start(t) });
        }
        all[0].entry.account_claim = "/sub";
        const access = { issuers: all.map(({ entry }) => entry) };
        const { service, server, subscription } = await startWebhooks(t, {}, { access });
        for (const { forger, receiver } of all) {
            const client = new EventsClient(server, bearer(await forger.sign({ sub: "alice" })));
            await client.ask("events/subscribe", subscription("s.done", { url: receiver.url }));
            await receiver.until("verification");
        }
        service.notify("done", { no: 1 });
        await Promise.all(all.map(({ receiver }) => receiver.until("event")));
        return { all, service, server };
    }

    test("ends when its key is withdrawn, or its issuer is configured otherwise or removed", async (t) => {
        const { all, service, server } = await startIssued(t, 4);
        const [stays, rotated, changed, removed] = all;
        await rotated.forger.rotate("key-2");
        const issuers = [stays.entry, rotated.entry, { ...changed.entry, leeway: "2m" }];
        await reloadBridge(server, { access: { issuers } });
        for (const { receiver } of [rotated, changed, removed]) {
            const { body } = await receiver.until("terminated");
            assert.equal(body.error.code, -32011);
        }
        service.notify("done", { no: 2 });
        const { body } = await stays.receiver.until("event", 2);
        assert.equal(body.data.no, 2);
        assert.deepEqual(
            all.map(({ receiver }) => receiver.of("event").length),
            [2, 1, 1, 1],
        );
    });

    test("ends after a restart if that happened meanwhile, and waits for the keys of its issuer", async (t) => {
        const { all, service, server } = await startIssued(t, 5);
        const [waits, stays, rotated, changed, removed] = all;
        const { length } = service.handshakes;
        await server.stop();
        closeIdleConnections();
        await rotated.forger.rotate("key-2");
        const { "/jwks": keys } = waits.forger.paths;
        waits.forger.seen.length = 0;
        delete waits.forger.paths["/jwks"];
        const issuers = [waits.entry, stays.entry, rotated.entry, { ...changed.entry, leeway: "2m" }];
        const config = JSON.parse(readFileSync(server.config, "utf8"));
        writeFileSync(server.config, JSON.stringify({ ...config, access: { issuers } }));
        const again = await startCauseway({ args: ["--config", server.config] });
        t.after(() => again.stop());
        await Promise.all([rotated, changed, removed].map(({ receiver }) => receiver.until("terminated")));
        await stays.receiver.until("gap");
        await eventually(() => service.handshakes.length > length, "it is connected again");
        service.notify("done", { no: 2 });
        assert.equal((await stays.receiver.until("event", 2)).body.data.no, 2);
        await eventually(() => waits.forger.seen.includes("/jwks"), "its keys were asked for");
        assert.deepEqual(
            waits.receiver.got.map(({ type }) => type),
            ["verification", "event"],
        );
        waits.forger.paths["/jwks"] = keys;
        await waits.receiver.until("gap");
        service.notify("done", { no: 3 });
        assert.equal((await waits.receiver.until("event", 2)).body.data.no, 3);
        for (const { receiver } of [rotated, changed, removed]) {
            assert.deepEqual(
                receiver.got.map(({ type }) => type),
                ["verification", "event", "terminated"],
            );
        }
    });
});

suite("a subscription by a password", { concurrency: true }, () => {
    // One subscription of alice and one of bob, whose receivers got an event; the server is stopped.
    async function startWithPasswords(t) {
        const { service, server, subscription } = await startWebhooks(t);
        const receivers = {};
        for (const [name, password] of [
            ["alice", "s3cret"],
            ["bob", "b0b"],
        ]) {
            const receiver = await new Receiver().start(t);
            const client = new EventsClient(server, basic(name, password));
            await client.ask("events/subscribe", subscription("s.done", { url: receiver.url }));
            await receiver.until("verification");
            receivers[name] = receiver;
        }
        service.notify("done", { no: 1 });
        await Promise.all(Object.values(receivers).map((receiver) => receiver.until("event")));
        const { length } = service.handshakes;
        await server.stop();
        closeIdleConnections();
        const restart = async () => {
            const again = await startCauseway({ args: ["--config", server.config] });
            t.after(() => again.stop());
            await eventually(() => service.handshakes.length > length, "it is connected again");
        };
        return { ...receivers, service, server, restart };
    }

    const typesOf = (receiver) => receiver.got.map(({ type }) => type);

    test("ends at the restart if the password was changed while no server ran", async (t) => {
        const { alice, bob, service, server, restart } = await startWithPasswords(t);
        // The same text is a new password too: the operator has set it.
        await server.cli("account", "password", "alice", { input: "s3cret" });
        await restart();
        await Promise.all([bob.until("gap"), alice.until("terminated")]);
        service.notify("done", { no: 2 });
        assert.equal((await bob.until("event", 2)).body.data.no, 2);
        assert.deepEqual(typesOf(alice), ["verification", "event", "terminated"]);
    });

    test("ends at the restart if its account was removed and added again", async (t) => {
        const { alice, bob, service, server, restart } = await startWithPasswords(t);
        await server.cli("account", "remove", "alice");
        await server.cli("account", "add", "alice", "--role", "editor", { input: "s3cret" });
        await restart();
        await Promise.all([bob.until("gap"), alice.until("terminated")]);
        service.notify("done", { no: 2 });
        assert.equal((await bob.until("event", 2)).body.data.no, 2);
        assert.deepEqual(typesOf(alice), ["verification", "event", "terminated"]);
    });
});
