// A client of the events extension, written from the draft (SEP-3415), and a service with events.
import assert from "node:assert/strict";
import { EventStream, metaKey, modern } from "./mcp.mjs";
import { eventually } from "./server.mjs";
import { writeOpenRpc } from "./service.mjs";
import { startWebSocket } from "./websocket.mjs";

// A source "s" of a service on a WebSocket, with these events.
export function sourceOf(service, events, more = {}) {
    return { name: "s", url: service.url, openrpc: writeOpenRpc(), prefix: "s.", methods: ["*"], events, ...more };
}

// A server with it, whose connection to the service is open; `begin` starts the server.
export async function startEvents(t, events, { begin, more, config = {}, ...options }) {
    const service = await startWebSocket();
    const sources = [sourceOf(service, events, more)];
    const server = await begin({ plugins: [], ...options, config: { loops: 2, ...config, sources } });
    t.after(() => server.stop());
    await eventually(() => service.sockets.size === 1, "the connection is open without a call");
    return { service, server };
}

export class EventsClient {
    constructor(server, headers = {}) {
        this.server = server;
        this.headers = headers;
        this.ids = 100;
    }

    request(method, params) {
        return modern(this.server, method, params, { headers: this.headers });
    }

    async ask(method, params) {
        const { json, text } = await this.request(method, params);
        assert.equal(json.result?.resultType, "complete", text);
        return json.result;
    }

    async list() {
        const all = [];
        for (let cursor; ; ) {
            const page = await this.ask("events/list", cursor === undefined ? {} : { cursor });
            all.push(...page.events);
            cursor = page.nextCursor;
            if (cursor === undefined) {
                return all;
            }
        }
    }

    poll(name, cursor, more = {}) {
        return this.ask("events/poll", { name, arguments: {}, cursor, ...more });
    }

    // All events behind a cursor, poll by poll, until there are n of them.
    async collect(name, cursor, n, more = {}) {
        const found = { events: [], truncated: false, cursor };
        const look = async () => {
            const page = await this.poll(name, found.cursor, more);
            found.events.push(...page.events);
            found.cursor = page.cursor;
            found.truncated ||= page.truncated;
            return found.events.length >= n;
        };
        await eventually(look, `${n} events of ${name}`);
        return found;
    }

    async stream(name, cursor = null, more = {}) {
        const id = (this.ids += 1);
        const params = { name, arguments: {}, cursor, ...more };
        const stream = await EventStream.open(this.server, "events/stream", params, { id, headers: this.headers });
        assert.equal(stream.status, 200);
        return Object.assign(stream, {
            id,
            // The next message: its short name and params, with the subscription checked.
            async message(ms) {
                const { method, params: got } = await stream.next(ms);
                const { _meta, ...rest } = got;
                assert.deepEqual(_meta, { [metaKey("subscriptionId")]: id });
                return { kind: method.replace("notifications/events/", ""), ...rest };
            },
        });
    }
}
