// Events of services: notifications that the operator enables, as a tool and as resources.
import assert from "node:assert/strict";
import http from "node:http";
import { suite, test } from "node:test";
import { call, discover } from "./support/accounts.mjs";
import { sourceOf, startEvents } from "./support/events.mjs";
import {
    assertRpcError,
    callTool,
    callToolWell,
    EventStream,
    modern,
    reloadBridge,
    startBridge,
    toolNames,
    untilTool,
} from "./support/mcp.mjs";
import { compilePlugin, newFolder } from "./support/plugins.mjs";
import { writeOpenRpc } from "./support/service.mjs";
import { runCauseway, slowness, writeConfig } from "./support/programs.mjs";
import { eventually, pause, processorMs } from "./support/server.mjs";
import { scrape } from "./support/metrics.mjs";
import { startWebSocket } from "./support/websocket.mjs";

const listOf = (n) => Array.from({ length: n }, (_, i) => i);

const start = (t, events, more = {}) => startEvents(t, events, { begin: startBridge, ...more });

const read = async (server, args = {}) => (await callToolWell(server, "s.events", args)).structuredContent;
const contentsOf = async (server, uri) => {
    const { json } = await modern(server, "resources/read", { uri });
    assert.ok(json.result, JSON.stringify(json));
    return JSON.parse(json.result.contents[0].text);
};
const untilEvents = async (server, n, args) => {
    let got;
    await eventually(async () => (got = await read(server, args)).events.length >= n, `${n} events`);
    return got;
};

// Until so many calls wait; the server lets anonymous callers view its metrics.
const untilRunning = async (server, n) => {
    const running = async () => (await scrape(server)).value("causeway_calls_running", { source: "s" });
    await eventually(async () => (await running()) === n, `${n} calls wait`);
};

const done = { method: "job.done", data: "/params/job", arguments: { id: "/id" } };

suite("an event that is enabled", { concurrency: true }, () => {
    test("is returned by the tool and by its resource, and others are not", async (t) => {
        const { service, server } = await start(t, { done: { ...done, description: "A job is done" } });
        service.notify("job.started", { job: { id: 1 } });
        service.notify("job.done", { job: { id: 1, size: 5 }, internal: "not for clients" });
        const { events, cursor, truncated } = await untilEvents(server, 1);
        assert.equal(events.length, 1);
        assert.equal(truncated, false);
        const [event] = events;
        assert.equal(event.name, "s.done");
        assert.deepEqual(event.data, { id: 1, size: 5 });
        assert.ok(Math.abs(Date.parse(event.timestamp) - Date.now()) < 60_000);
        assert.deepEqual((await read(server, { since: cursor })).events, []);
        const { json } = await modern(server, "resources/list");
        const [resource] = json.result.resources;
        assert.equal(resource.uri, "events://s/done");
        assert.equal(resource.mimeType, "application/json");
        assert.equal(resource.description, "A job is done");
        assert.deepEqual(await contentsOf(server, resource.uri), events);
        assert.ok(!(await toolNames(server)).includes("s.events.done"));
        const { json: templates } = await modern(server, "resources/templates/list");
        assert.deepEqual(
            templates.result.resourceTemplates.map(({ uriTemplate }) => uriTemplate),
            ["events://s/{name}?since={since}"],
        );
        assert.deepEqual((await contentsOf(server, `events://s/done?since=${cursor}`)).events, []);
        service.notify("job.done", { job: { id: 2 } });
        await untilEvents(server, 2);
        const since = await contentsOf(server, `events://s/done?since=${cursor}`);
        assert.deepEqual(
            since.events.map(({ data }) => data.id),
            [2],
        );
        assert.deepEqual([since.truncated, since.hasMore], [false, false]);
        const wrong = await modern(server, "resources/read", { uri: "events://s/done?since=x" });
        assertRpcError(wrong, 200, -32602, 1);
    });

    test("reaches a call that waits, on any loop, and a wait ends", async (t) => {
        const roles = { anonymous: [discover, call, "view metrics"] };
        const { service, server } = await start(t, { done }, { roles });
        await untilTool(server, "s.events");
        const { cursor } = await read(server);
        const short = await read(server, { since: cursor, wait: 1 });
        assert.deepEqual(short.events, []);
        const waiting = listOf(6).map(() => read(server, { since: cursor, wait: 30, name: "s.done" }));
        await untilRunning(server, 6);
        service.notify("job.done", { job: { id: 7 } });
        for (const { events } of await Promise.all(waiting)) {
            assert.deepEqual(
                events.map(({ data }) => data),
                [{ id: 7 }],
            );
        }
    });

    test("is waited for while another caller waits as often as it can", async (t) => {
        const { server } = await start(t, { done }, { config: { loops: 1 } });
        const { cursor } = await read(server);
        const wait = (seconds, id) => ({
            ...{ jsonrpc: "2.0", id, method: "s.events" },
            params: { since: cursor, wait: seconds },
        });
        const fromAnother = (body) =>
            new Promise((resolve) => {
                const headers = { "Content-Type": "application/json" };
                const place = { host: "127.0.0.1", port: server.port, localAddress: "127.0.0.2", agent: false };
                const sent = http.request({ ...place, method: "POST", path: "/jsonrpc", headers }, (answer) =>
                    answer.resume().on("end", resolve),
                );
                sent.on("error", resolve).end(JSON.stringify(body));
            });
        const timed = async (work) => {
            const begin = performance.now();
            await work;
            return performance.now() - begin;
        };
        // It waits again when its time is over, as after a time in which the machine stood still.
        let isOver = false;
        const waitAgain = async () => {
            while (!isOver) {
                await fromAnother(listOf(100).map((id) => wait(30, id)));
                await pause(200);
            }
        };
        listOf(11).forEach(() => void waitAgain());
        try {
            const isRefused = async () => (await timed(fromAnother(wait(3, 1)))) < 2_500;
            await eventually(isRefused, "the last place of the other caller");
            assert.ok((await timed(read(server, { since: cursor, wait: 1 }))) > 800);
        } finally {
            isOver = true;
        }
    });

    test("is not waited for by a server that stops", async (t) => {
        const roles = { anonymous: [discover, call, "view metrics"] };
        const { server } = await start(t, { done }, { roles });
        const { cursor } = await read(server);
        const waiting = listOf(4).map(() => read(server, { since: cursor, wait: 30 }));
        await untilRunning(server, 4);
        server.child.kill("SIGTERM");
        for (const result of await Promise.all(waiting)) {
            assert.deepEqual(result, { events: [], cursor, truncated: false, hasMore: false });
        }
    });

    test("updates its resource at most once a second, for those who subscribe", async (t) => {
        const { service, server } = await start(t, { done });
        const params = { notifications: { resourceSubscriptions: ["events://s/done", "events://s/none"] } };
        const stream = await EventStream.open(server, "subscriptions/listen", params, {});
        const { params: honoured } = await stream.next();
        assert.deepEqual(honoured.notifications.resourceSubscriptions, ["events://s/done"]);
        const began = Date.now();
        for (const id of listOf(50)) {
            service.notify("job.done", { job: { id } });
        }
        for (const _ of listOf(2)) {
            const update = await stream.next();
            assert.equal(update.method, "notifications/resources/updated");
            assert.equal(update.params.uri, "events://s/done");
            service.notify("job.done", { job: { id: 99 } });
        }
        assert.ok(Date.now() - began >= 900, "the second update waits");
        assert.equal((await contentsOf(server, "events://s/done")).length >= 50, true);
    });

    test("has its own id and time; a repetition is dropped", async (t) => {
        const rule = { method: "n", id: "/params/no", time: "/params/at" };
        const { service, server } = await start(t, { n: rule });
        const at = Date.UTC(2026, 0, 2, 3, 4, 5) / 1000;
        for (const no of [1, 2, 1, 2, 3]) {
            service.notify("n", { no: `e${no}`, at });
        }
        const { events } = await untilEvents(server, 3);
        assert.deepEqual(
            events.map(({ eventId }) => eventId),
            ["e1", "e2", "e3"],
        );
        assert.equal(events[0].timestamp, "2026-01-02T03:04:05.000Z");
    });

    test("may have the name of a part of a template", async (t) => {
        const { service, server } = await start(t, { since: {} });
        await untilTool(server, "s.events");
        service.notify("since", { no: 1 });
        assert.equal((await untilEvents(server, 1)).events[0].data.no, 1);
        assert.equal((await contentsOf(server, "events://s/since")).length, 1);
    });

    test("is kept up to its count, and a gap is reported", async (t) => {
        const { service, server } = await start(t, { n: { keep: 5 }, m: {} });
        service.notify("m", { no: 0 });
        const { cursor } = await untilEvents(server, 1);
        for (const no of listOf(12)) {
            service.notify("n", { no });
        }
        await untilEvents(server, 6);
        const after = await read(server, { since: cursor });
        assert.deepEqual(
            after.events.map(({ data }) => data.no),
            [7, 8, 9, 10, 11],
        );
        assert.equal(after.truncated, true);
        assert.equal((await read(server, { since: after.cursor })).truncated, false);
    });

    test("beyond its rate is lost, and the gap is reported", async (t) => {
        const { service, server } = await start(t, { n: { per_minute: 3 } });
        const { cursor } = await read(server);
        for (const no of listOf(10)) {
            service.notify("n", { no });
        }
        const { events } = await untilEvents(server, 3, { since: cursor });
        assert.equal(events.length, 3);
        const hasGap = async () => (await read(server, { since: events.at(-1).cursor })).truncated;
        await eventually(hasGap, "a gap");
        await eventually(() => /an event is dropped/.test(server.stderr), "a line of the log");
    });

    test("that is too large, or has a secret of the source, is lost", async (t) => {
        const env = { EVENT_SECRET: "a-secret-of-this-source" };
        const more = { secret: { as: "bearer", environment: "EVENT_SECRET" } };
        const service = await startWebSocket();
        const sources = [sourceOf(service, { n: { data: "/params/data", id: "/params/id" } }, more)];
        const server = await startBridge({ plugins: [], env, config: { sources } });
        t.after(() => server.stop());
        await eventually(() => service.sockets.size === 1, "it is open");
        service.notify("n", { data: { text: "x".repeat(70_000) } });
        service.notify("n", { data: { text: `token ${env.EVENT_SECRET}` } });
        service.notify("n", { id: `id ${env.EVENT_SECRET}`, data: { text: "with a secret in its id" } });
        service.notify("n", { id: "one", data: { text: "fine" } });
        const { events } = await untilEvents(server, 1);
        assert.deepEqual(
            events.map(({ data, eventId }) => [data.text, eventId]),
            [["fine", "one"]],
        );
    });

    test("survives a reload, and comes again after the connection was lost", async (t) => {
        const { service, server } = await start(t, { done });
        service.notify("job.done", { job: { id: 1 } });
        const { cursor } = await untilEvents(server, 1);
        await reloadBridge(server, { sources: [sourceOf(service, { done, more: {} })] });
        await eventually(async () => {
            const { json } = await modern(server, "resources/list");
            return json.result.resources.length === 2;
        }, "the other event is there");
        assert.equal((await read(server)).events.length, 1);
        service.cut();
        await eventually(() => service.sockets.size === 1, "it is opened again");
        await eventually(async () => {
            service.notify("job.done", { job: { id: 2 } });
            return (await read(server, { since: cursor })).events.length > 0;
        }, "events arrive again");
        const { truncated } = await read(server, { since: cursor });
        assert.equal(truncated, true, "what came meanwhile is lost");
        await reloadBridge(server, { sources: [sourceOf(service, {})] });
        await untilTool(server, "s.events", false);
    });
});

suite("who may receive an event", { concurrency: true }, () => {
    test("is decided for each event; a hidden one is as unknown, byte for byte", async (t) => {
        const events = { open: {}, closed: { permissions: ["read secrets"] } };
        const { service, server } = await start(t, events);
        service.notify("closed", { no: 1 });
        service.notify("open", { no: 2 });
        const all = await untilEvents(server, 1);
        assert.deepEqual(
            all.events.map(({ name }) => name),
            ["s.open"],
        );
        const { json } = await modern(server, "resources/list");
        assert.deepEqual(
            json.result.resources.map(({ uri }) => uri),
            ["events://s/open"],
        );
        const same = (answer, name) => answer.text.replaceAll(name, "NAME");
        const hidden = await callTool(server, "s.events", { name: "s.closed" });
        const unknown = await callTool(server, "s.events", { name: "s.nosuch" });
        assert.equal(same(hidden, "s.closed"), same(unknown, "s.nosuch"));
        assert.match(hidden.text, /Unknown event/);
        const at = (uri) => modern(server, "resources/read", { uri: `events://s/${uri}` });
        for (const query of ["", `?since=${all.cursor}`]) {
            const unread = await at(`closed${query}`);
            assert.equal(same(unread, "closed"), same(await at(`nosuch${query}`), "nosuch"));
            assertRpcError(unread, 200, -32602, 1);
        }
    });

    test("follows from the read-only tools, if the event sets nothing", async (t) => {
        const methods = [
            { method: "add", read_only: true, permissions: ["read sums"] },
            { method: "echo", permissions: ["write things"] },
        ];
        const roles = { anonymous: ["access mcp tool discovery", "use jsonrpc services", "write things"] };
        const { server } = await start(t, { n: {} }, { roles, more: { methods } });
        assert.ok((await toolNames(server)).includes("s.echo"));
        assert.ok(!(await toolNames(server)).includes("s.events"));
        await reloadBridge(server, { roles: { anonymous: [...roles.anonymous, "read sums"] } });
        await untilTool(server, "s.events");
    });

    const widening = (add) => ({
        openrpc: writeOpenRpc({ openrpc: "1.3.2", methods: [{ name: "echo" }, ...add] }),
        methods: [
            { method: "add", read_only: true, permissions: ["read sums"] },
            { method: "echo", read_only: true },
        ],
    });
    const roles = { anonymous: ["access mcp tool discovery", "use jsonrpc services"] };

    test("does not widen because the service omits a read-only tool", async (t) => {
        const { server } = await start(t, { n: {} }, { roles, more: widening([]) });
        await untilTool(server, "s.echo");
        assert.ok(!(await toolNames(server)).includes("s.events"));
        await reloadBridge(server, { roles: { anonymous: [...roles.anonymous, "read sums"] } });
        await untilTool(server, "s.events");
    });

    test("does not widen because the service marks a read-only tool wrongly", async (t) => {
        const service = await startWebSocket();
        const more = widening([{ name: "add", "x-mcp-tool": { annotations: { auth: 5 } } }]);
        const sources = [sourceOf(service, { n: {} }, more)];
        const server = await startBridge({ plugins: [], roles, config: { sources } });
        t.after(() => server.stop());
        await untilTool(server, "s.echo");
        assert.ok(!(await toolNames(server)).includes("s.events"));
        await server.untilLogged(/event 'n': the requirements of a tool that is not offered are not known/);
    });
});

test("a configuration with events of HTTP or of a pattern that fits nothing is explained", async () => {
    const check = async (source) => {
        const { stdout, stderr } = await runCauseway(["config", "check", writeConfig({ sources: [source] })]);
        return stdout + stderr;
    };
    const http = { name: "h", url: "http://127.0.0.1:1/rpc", methods: ["*"], events: { n: {} } };
    assert.match(await check(http), /events: only for ws, wss, tcp, unix and command/);
    assert.match(await check({ ...http, url: "ws://127.0.0.1:1/", events: { "a b": {} } }), /a name of letters/);
});

test("data that does not match the schema of its event is dropped, and the readers learn of the gap", async (t) => {
    const number = { type: "object", properties: { no: { type: "integer" } }, required: ["no"] };
    const events = { n: { schema: number }, wrong: { schema: { type: "nothing" } } };
    const { service, server } = await startEvents(t, events, { begin: startBridge });
    await untilTool(server, "s.events");
    await eventually(() => /wrong.*left out.*schema/s.test(server.stderr), "a schema that is none is in the log");
    const read = async (args) => (await callToolWell(server, "s.events", args)).structuredContent;
    const { cursor } = await read({});
    service.notify("n", { no: "one" });
    service.notify("n", { no: 2 });
    const found = await read({ since: cursor, wait: 10 });
    const later = found.events.length > 0 ? found : await read({ since: found.cursor, wait: 10 });
    assert.deepEqual(
        later.events.map(({ data }) => data),
        [{ no: 2 }],
    );
    assert.ok(found.truncated);
    await eventually(() => /does not match its schema/.test(server.stderr), "the loss is in the log");
    assert.match((await callTool(server, "s.events", { name: "s.wrong" })).text, /Unknown event/);
});

test("a call that waits without credentials has the rights of the moment", async (t) => {
    const roles = (more) => ({ anonymous: [discover, call, "view metrics", ...more] });
    const events = { secret: { permissions: ["see it"] } };
    const { service, server } = await startEvents(t, events, { begin: startBridge, roles: roles(["see it"]) });
    await untilTool(server, "s.events");
    const wait = callToolWell(server, "s.events", { wait: 15 });
    await untilRunning(server, 1);
    await reloadBridge(server, { roles: roles([]) });
    await untilTool(server, "s.events", false);
    service.notify("secret", { no: 1 });
    assert.deepEqual((await wait).structuredContent.events, []);
});

const emitter = `#include <causeway/plugin.h>
CW_PLUGIN("emitter", "1");
static void emit(cw_call *call)
{
    const char *name = cw_arg_text(call, "name", ""), *data = cw_arg_text(call, "data", "");
    const char *id = cw_arg_text(call, "id", NULL);
    cw_emit_event(call, name, data, id);
    cw_result_text(call, "emitted");
}
CW_METHOD(emit, "emitter.emit", .usage = "Emits an event.",
          .params = {{"name", .schema = CW_JSON({"type": "string"}), .required = true},
                     {"data", .schema = CW_JSON({"type": "string"}), .required = true},
                     {"id", .schema = CW_JSON({"type": "string"})}});
CW_TOOL(emit, .title = "Emit");
`;

// The dropped events of a source by reason; the server lets anonymous callers view its metrics.
const droppedOf = async (server, source) => {
    const metrics = await scrape(server);
    const value = (reason) => metrics.value("causeway_events_dropped_total", { source, reason }) ?? 0;
    return { schema: value("schema"), limit: value("limit") };
};
const viewers = { anonymous: [discover, call, "view metrics", "access content"] };

// That all of n events were dropped, and few were validated: one a minute.
const assertFewValidated = async (server, source, n, began) => {
    let dropped;
    const all = async () => {
        dropped = await droppedOf(server, source);
        return dropped.schema + dropped.limit === n;
    };
    await eventually(all, `${n} events are dropped`);
    const minutes = Math.floor((Date.now() - began) / 60_000);
    assert.ok(dropped.schema >= 1 && dropped.schema <= 1 + minutes, JSON.stringify(dropped));
};

const lostFor = (problem) => new RegExp(`an event is dropped.* event="?n"? .*${problem}`);

suite("threat-B5: the data of an event", { concurrency: true }, () => {
    test("that is too much work to validate is dropped with a line of the log, and a reload changes the limit", async (t) => {
        const limits = (validation_steps) => ({ limits: { validation_steps } });
        const events = { n: { schema: { properties: { list: { items: { type: "integer" } } } } } };
        const { service, server } = await start(t, events, { config: limits(5_000) });
        const list = Array(6_000).fill(1);
        const { cursor } = await read(server);
        service.notify("n", { no: 1, list });
        service.notify("n", { no: 2, list: [1] });
        const { events: found } = await untilEvents(server, 1, { since: cursor });
        assert.deepEqual(
            found.map(({ data }) => data.no),
            [2],
        );
        const line = lostFor("too much work to validate \\(limits\\.validation_steps\\)");
        await eventually(() => line.test(server.stderr), "the reason in the log");
        await reloadBridge(server, { ...limits(1_000_000), sources: [sourceOf(service, events)] });
        await eventually(async () => {
            service.notify("n", { no: 3, list });
            return (await read(server)).events.some(({ data }) => data.no === 3);
        }, "an event of the same size");
    });

    test("costs less once many expensive ones of its source have failed", async (t) => {
        const items = { anyOf: [{ pattern: "^(?!x)(\\w+\\s?)*$" }, { type: "string" }] };
        const schema = { properties: { list: { items }, no: { maximum: 0 } } };
        const { service, server } = await start(t, { n: { schema } }, { roles: viewers });
        const list = Array(1_000).fill("aaaaaaaaaaaaaa!");
        const before = processorMs(server.pid);
        listOf(150).forEach((no) => service.notify("n", { list, no: no + 1 }));
        await eventually(async () => (await droppedOf(server, "s")).schema === 150, "they are dropped");
        const ms = processorMs(server.pid) - before;
        assert.ok(ms < 1_500 * slowness, `they took ${ms} ms of CPU`);
    });

    test("is not validated above the rate, or if it is too large", async (t) => {
        const events = { n: { per_minute: 1, schema: { type: "object" } }, m: { schema: { maxProperties: 0 } } };
        const { service, server } = await start(t, events, { roles: viewers });
        const began = Date.now();
        listOf(50).forEach(() => service.notify("n", ["not an object"]));
        await assertFewValidated(server, "s", 50, began);
        const { schema } = await droppedOf(server, "s");
        service.notify("m", { text: "x".repeat(70_000) });
        await eventually(async () => (await droppedOf(server, "s")).limit === 51 - schema, "it is dropped");
        assert.equal((await droppedOf(server, "s")).schema, schema);
        for (const problem of ["does not match its schema", "there are too many"]) {
            await server.untilLogged(lostFor(problem));
        }
    });

    test("is not validated above the rate of a plugin either", async (t) => {
        const folder = newFolder("emitter");
        compilePlugin(folder, "emitter", emitter);
        const events = {
            "emitter.n": { per_minute: 1, schema: { type: "object" } },
            "emitter.m": { schema: { items: { type: "integer" } } },
        };
        const config = { limits: { validation_steps: 5_000 }, plugins: { directory: folder, events } };
        const server = await startBridge({ plugins: [], roles: viewers, config });
        t.after(() => server.stop());
        await untilTool(server, "emitter.events");
        const began = Date.now();
        for (const _ of listOf(10)) {
            await callToolWell(server, "emitter.emit", { name: "n", data: "[]" });
        }
        await assertFewValidated(server, "emitter", 10, began);
        const { schema } = await droppedOf(server, "emitter");
        await callToolWell(server, "emitter.emit", { name: "m", data: JSON.stringify(Array(6_000).fill(1)) });
        await eventually(() => /event="?m"? .*too much work to validate/.test(server.stderr), "the reason in the log");
        assert.equal((await droppedOf(server, "emitter")).schema, schema + 1);
        assert.match(server.stderr, lostFor("there are too many"));
    });
});

test("a plugin emits events, and the operator publishes some", async (t) => {
    const folder = newFolder("emitter");
    compilePlugin(folder, "emitter", emitter);
    const events = { "emitter.tick": { arguments: { no: "/no" } } };
    const server = await startBridge({ plugins: [], config: { plugins: { directory: folder, events } } });
    t.after(() => server.stop());
    await untilTool(server, "emitter.events");
    const emit = (name, data, id) =>
        callTool(server, "emitter.emit", { name, data, ...(id === undefined ? {} : { id }) });
    await emit("tock", '{"no":0}');
    await emit("tick", '{"no": 1}', "a");
    await emit("tick", '{"no": 2}', "a");
    await emit("tick", '{"no": 3}');
    const { structuredContent: all } = await callToolWell(server, "emitter.events", {});
    assert.deepEqual(
        all.events.map(({ name, data }) => [name, data.no]),
        [
            ["emitter.tick", 1],
            ["emitter.tick", 3],
        ],
    );
    for (const [name, data, problem] of [
        ["a b", "{}", /the name has 1 to 48/],
        ["tick", "{", /the data is no JSON/],
        ["tick", `"${"x".repeat(66_000)}"`, /more than 65536 bytes/],
    ]) {
        await emit(name, data);
        await eventually(() => problem.test(server.stderr), `${problem} in the log`);
    }
    await reloadBridge(server, { plugins: { directory: folder } });
    await untilTool(server, "emitter.events", false);
});
