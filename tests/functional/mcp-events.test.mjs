// The events extension: events/list, events/poll and events/stream, by a client written from the draft.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { bearer, call, discover, startAccounts } from "./support/accounts.mjs";
import { EventsClient, sourceOf, startEvents } from "./support/events.mjs";
import { assertRpcError, envelope, EventStream, metaKey, modern, reloadBridge, startBridge } from "./support/mcp.mjs";
import { scrape } from "./support/metrics.mjs";
import { patience, writeConfig } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";
import { StdioClient } from "./support/stdio.mjs";

const on = { mcp: { events: { enabled: true } } };
const events = {
    done: {
        method: "job.done",
        schema: { type: "object" },
        arguments: { queue: "/queue" },
        description: "A job is done",
    },
    other: {},
};
const start = (t, more = {}) => startEvents(t, events, { begin: startBridge, config: on, ...more });
const extension = metaKey("events");
const notFound = -32011;

suite("the events extension", { concurrency: true }, () => {
    test("is off by default, and its methods are unknown then", async (t) => {
        const { server } = await start(t, { config: {} });
        const { json } = await modern(server, "server/discover");
        assert.equal(json.result.capabilities.extensions?.[extension], undefined);
        assert.equal(json.result.capabilities.events, undefined);
        for (const method of ["events/list", "events/poll", "events/stream"]) {
            assertRpcError(await modern(server, method, { name: "s.done" }), 404, -32601, 1);
        }
    });

    test("is declared in both forms, and lists events page by page", async (t) => {
        const { server } = await start(t, { config: { mcp: { page_size: 1, ...on.mcp } } });
        const { json } = await modern(server, "server/discover");
        assert.deepEqual(json.result.capabilities.extensions[extension], { listChanged: true });
        assert.deepEqual(json.result.capabilities.events, {});
        const list = await new EventsClient(server).list();
        assert.deepEqual(
            list.map(({ name }) => name),
            ["s.done", "s.other"],
        );
        assert.deepEqual(list[0], {
            name: "s.done",
            description: "A job is done",
            delivery: ["poll", "push"],
            inputSchema: {
                type: "object",
                properties: { queue: { type: ["string", "number", "boolean"] } },
                additionalProperties: false,
            },
            payloadSchema: { type: "object" },
        });
    });

    test("is counted by the metrics", async (t) => {
        const roles = { anonymous: [discover, call, "view metrics"] };
        const { service, server } = await start(t, { config: { ...on, roles } });
        const client = new EventsClient(server);
        const { cursor } = await client.poll("s.done", null);
        const stream = await client.stream("s.done");
        assert.equal((await stream.message()).kind, "active");
        const value = async (name, labels) => (await scrape(server)).value(name, { source: "s", ...labels });
        assert.equal(await value("causeway_event_subscribers", { mode: "push" }), 1);
        service.notify("job.done", { no: 1 });
        assert.equal((await stream.message()).kind, "event");
        service.notify("job.done", ["not an object"]);
        await client.collect("s.done", cursor, 1);
        await modern(server, "resources/read", { uri: "events://s/done" });
        await eventually(
            async () => (await value("causeway_events_dropped_total", { reason: "schema" })) === 1,
            "the drop is counted",
        );
        assert.equal(await value("causeway_events_published_total"), 1);
        for (const mode of ["poll", "push", "resource"]) {
            assert.equal(await value("causeway_events_delivered_total", { mode }), 1, mode);
        }
        stream.close();
        await eventually(
            async () => (await value("causeway_event_subscribers", { mode: "push" })) === 0,
            "the stream has ended",
        );
    });

    test("polls from now on, then behind the cursor, with filters and limits", async (t) => {
        const { service, server } = await start(t);
        const client = new EventsClient(server);
        const { cursor: begin } = await client.poll("s.done", null);
        service.notify("job.done", { no: 0, queue: "a" });
        await client.collect("s.done", begin, 1);
        const first = await client.poll("s.done", null);
        assert.deepEqual(first.events, []);
        assert.equal(first.truncated, false);
        assert.ok(first.nextPollMs > 0);
        for (const no of [1, 2, 3, 4]) {
            service.notify("job.done", { no, queue: no % 2 ? "a" : "b" });
        }
        const { events: all, cursor } = await client.collect("s.done", first.cursor, 4);
        const numbers = all.map(({ data }) => data.no);
        assert.deepEqual(numbers, [1, 2, 3, 4]);
        assert.deepEqual((await client.poll("s.done", cursor)).events, []);
        const some = await client.collect("s.done", first.cursor, 2, { arguments: { queue: "b" } });
        assert.deepEqual(
            some.events.map(({ data }) => data.no),
            [2, 4],
        );
        const one = await client.poll("s.done", first.cursor, { maxEvents: 1 });
        assert.equal(one.events.length, 1);
        assert.equal(one.hasMore, true);
        assert.equal(one.nextPollMs, 0);
    });

    test("refuses what is wrong, with the codes of the draft", async (t) => {
        const { server } = await start(t);
        const client = new EventsClient(server);
        const poll = (params) => client.request("events/poll", { name: "s.done", cursor: null, ...params });
        assertRpcError(await poll({ name: 7 }), 200, -32602, 1);
        assertRpcError(await poll({ arguments: { nosuch: 1 } }), 200, -32602, 1);
        assertRpcError(await poll({ arguments: { queue: {} } }), 200, -32602, 1);
        assertRpcError(await poll({ arguments: [] }), 200, -32602, 1);
        assertRpcError(await poll({ cursor: "nonsense" }), 200, -32602, 1);
        assertRpcError(await poll({ maxEvents: 0 }), 200, -32602, 1);
        assertRpcError(await poll({ name: "s.nosuch" }), 200, notFound, 1);
        // A cursor of another process is a gap, not an error.
        const { cursor } = await client.poll("s.done", null);
        const old = `${cursor[0] === "0" ? "1" : "0"}${cursor.slice(1)}`;
        assert.equal((await client.poll("s.done", old)).truncated, true);
        const plain = { name: "s.done", cursor: null };
        const json = await modern(server, "events/stream", plain, { headers: { Accept: "application/json" } });
        assert.equal(json.status, 406);
    });

    test("streams: active first, then the events, a gap, and the end", async (t) => {
        const { service, server } = await start(t);
        const client = new EventsClient(server);
        const { cursor } = await client.poll("s.done", null);
        service.notify("job.done", { no: 1, queue: "a" });
        await client.collect("s.done", cursor, 1);
        const stream = await client.stream("s.done", cursor);
        const filtered = await client.stream("s.done", null, { arguments: { queue: "b" } });
        const active = await stream.message();
        assert.equal(active.kind, "active");
        assert.equal(active.truncated, false);
        const kept = await stream.message();
        assert.equal(kept.kind, "event");
        assert.deepEqual(kept.data, { no: 1, queue: "a" });
        assert.equal(kept.name, "s.done");
        assert.equal((await filtered.message()).kind, "active");
        service.notify("job.done", { no: 2, queue: "a" });
        service.notify("job.done", { no: 3, queue: "b" });
        assert.equal((await stream.message()).data.no, 2);
        assert.equal((await stream.message()).data.no, 3);
        assert.equal((await filtered.message()).data.no, 3);
        // The connection to the service is lost: what it sends meanwhile is missing.
        const { length } = service.handshakes;
        service.cut();
        await eventually(() => service.handshakes.length > length, "it is open again");
        service.notify("job.done", { no: 4, queue: "b" });
        const again = [await stream.message()];
        while (again.at(-1).kind === "active") again.push(await stream.message());
        assert.equal(again.pop().data.no, 4);
        assert.ok(again.length > 0 && again.every(({ truncated }) => truncated));
        // The event is taken away: both end, and their requests are answered.
        await reloadBridge(server, { sources: [sourceOf(service, { other: {} })] });
        const last = await stream.message();
        assert.equal(last.kind, "terminated");
        assert.equal(last.error.code, notFound);
        const [result] = await stream.rest();
        assert.deepEqual(result.result._meta[metaKey("subscriptionId")], stream.id);
        assert.equal(result.result.resultType, "complete");
        const after = await filtered.rest();
        assert.equal(after.at(-2).method, "notifications/events/terminated");
    });

    test("a stream learns of a gap although no event follows it", async (t) => {
        const { service, server } = await start(t);
        const stream = await new EventsClient(server).stream("s.done");
        assert.equal((await stream.message()).truncated, false);
        service.cut();
        const { kind, truncated } = await stream.message();
        assert.deepEqual({ kind, truncated }, { kind: "active", truncated: true });
    });

    test("a client that has learned of an outage learns of its end, too", async (t) => {
        const { service, server } = await start(t);
        const client = new EventsClient(server);
        // An event proves that the connection can be used.
        const { cursor } = await client.poll("s.done", null);
        await eventually(async () => {
            service.notify("job.done", { no: 1 });
            return (await client.poll("s.done", cursor)).events.length > 0;
        }, "an event");
        service.gate = () => 503;
        service.cut();
        let during;
        await eventually(async () => {
            during = await client.poll("s.done", cursor);
            return during.truncated;
        }, "the gap");
        // Events that the service sends now are lost.
        const { length } = service.handshakes;
        await eventually(() => service.handshakes.length > length, "a connection is refused");
        during = await client.poll("s.done", during.cursor);
        service.gate = () => undefined;
        const isTold = async () => (await client.poll("s.done", during.cursor)).truncated;
        await eventually(isTold, "the second gap", 20_000);
    });

    test("a heartbeat has the cursor", async (t) => {
        const { server } = await start(t);
        const stream = await new EventsClient(server).stream("s.done");
        const active = await stream.message();
        const beat = await stream.message(patience(25_000));
        assert.equal(beat.kind, "heartbeat");
        assert.equal(typeof beat.cursor, "string");
        assert.equal(typeof active.cursor, "string");
    });

    test("a subscriber learns that the list has changed", async (t) => {
        const { service, server } = await start(t);
        const params = { notifications: { eventsListChanged: true, toolsListChanged: false } };
        const stream = await EventStream.open(server, "subscriptions/listen", params, {});
        assert.deepEqual((await stream.next()).params.notifications, { eventsListChanged: true });
        await reloadBridge(server, { sources: [sourceOf(service, { ...events, third: {} })] });
        assert.equal((await stream.next()).method, "notifications/events/list_changed");
        const client = new EventsClient(server);
        await eventually(async () => (await client.list()).length === 3, "the third event, at each loop");
    });

    test("works on standard input and output", async (t) => {
        const { service, server } = await start(t);
        const roles = { anonymous: ["access mcp tool discovery", "use jsonrpc services", "access content"] };
        const config = writeConfig({ ...on, roles, sources: [sourceOf(service, events)] });
        const client = new StdioClient(["--config", config]);
        t.after(() => client.end());
        await eventually(() => service.sockets.size === 2, "its own connection is open");
        const params = { name: "s.done", arguments: {}, cursor: null, _meta: envelope() };
        const id = client.begin("events/stream", params, "stream-1");
        const kind = (name) => (one) => one.method === `notifications/events/${name}`;
        await client.until(kind("active"), "active");
        service.notify("job.done", { no: 5, queue: "a" });
        const event = await client.until(kind("event"), "the event");
        assert.equal(event.params._meta[metaKey("subscriptionId")], id);
        assert.deepEqual(event.params.data, { no: 5, queue: "a" });
        assert.equal(server.exitCode ?? null, null);
    });
});

suite("rights to events", { concurrency: true }, () => {
    const closed = { open: {}, closed: { permissions: ["read secrets"] } };

    test("a hidden event is as unknown, byte for byte", async (t) => {
        const { server } = await startEvents(t, closed, { begin: startBridge, config: on });
        const client = new EventsClient(server);
        const names = (await client.list()).map(({ name }) => name);
        assert.deepEqual(names, ["s.open"]);
        for (const method of ["events/poll", "events/stream"]) {
            const of = async (name) =>
                (await client.request(method, { name, arguments: {}, cursor: null })).text.replaceAll(name, "NAME");
            assert.equal(await of("s.closed"), await of("s.nosuch"));
            assert.equal(await of("s.closed"), await of("t.closed"));
        }
    });

    test("a caller that loses them receives nothing more, in a stream and in a call that waits", async (t) => {
        const roles = {
            anonymous: [discover, call, "view metrics"],
            authenticated: [discover, call],
            editor: ["read secrets"],
        };
        const { service, server } = await startEvents(t, closed, { begin: startAccounts, config: { ...on, roles } });
        const token = bearer((await server.token("alice")).token);
        const alice = new EventsClient(server, token);
        await eventually(async () => (await alice.list()).length === 2, "alice sees both");
        const stream = await alice.stream("s.closed");
        assert.equal((await stream.message()).kind, "active");
        service.notify("closed", { no: 1 });
        assert.deepEqual((await stream.message()).data, { no: 1 });
        const { cursor } = await alice.poll("s.closed", null);
        const waiting = modern(
            server,
            "tools/call",
            { name: "s.events", arguments: { name: "s.closed", since: cursor, wait: 20 } },
            { headers: token },
        );
        const running = async () => (await scrape(server)).value("causeway_calls_running", { source: "s" });
        await eventually(async () => (await running()) === 1, "the call waits");
        await server.cli("account", "revoke", "alice", "editor");
        service.notify("closed", { no: 2 });
        const last = await stream.message();
        assert.equal(last.kind, "terminated");
        assert.equal(last.error.code, notFound);
        const { json } = await waiting;
        assert.deepEqual(json.result.structuredContent.events, []);
        const gone = await alice.request("events/poll", { name: "s.closed", cursor });
        assertRpcError(gone, 200, notFound, 1);
    });
});
