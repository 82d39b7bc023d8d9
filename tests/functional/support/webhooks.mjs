// A receiver of webhooks that checks signatures with another implementation, and a server that delivers.
import { randomBytes } from "node:crypto";
import http from "node:http";
import { Webhook } from "standardwebhooks";
import { bearer, call, discover, startAccounts } from "./accounts.mjs";
import { EventsClient, startEvents } from "./events.mjs";
import { eventually } from "./server.mjs";

const events = { done: { arguments: { queue: "/queue" } }, closed: { permissions: ["read secrets"] } };
const roles = { anonymous: [discover, call], authenticated: [discover, call], editor: ["read secrets"] };
export const newSecret = () => `whsec_${randomBytes(32).toString("base64")}`;

// What a receiver gets: { type, body, headers }. `answers(body, response)` decides the status, at once or later.
export class Receiver {
    constructor() {
        this.got = [];
        this.answers = () => 200;
        this.secrets = [];
        this.echoes = true;
        this.says = "{}";
        this.server = http.createServer((request, response) => this.receive(request, response));
    }

    async start(t) {
        await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
        this.url = `http://127.0.0.1:${this.server.address().port}/hook`;
        t.after(() => {
            this.server.closeAllConnections();
            this.server.close();
        });
        return this;
    }

    async receive(request, response) {
        let text = "";
        for await (const chunk of request) {
            text += chunk;
        }
        // Every secret that it knows must have signed.
        for (const secret of this.secrets) {
            new Webhook(secret).verify(text, request.headers);
        }
        const body = JSON.parse(text);
        this.got.push({ body, headers: request.headers, type: body.type ?? "event" });
        const status = await this.answers(body, response);
        response.writeHead(status, { "Content-Type": "application/json", Location: "http://127.0.0.1:1/" });
        const isChallenge = body.type === "verification" && this.echoes;
        response.end(isChallenge ? JSON.stringify({ challenge: body.challenge }) : this.says);
    }

    of(type) {
        return this.got.filter((one) => one.type === type);
    }

    async until(type, n = 1, ms = 10_000) {
        await eventually(() => this.of(type).length >= n, `${n} times ${type}`, ms);
        return this.of(type).at(-1);
    }
}

// `more` is put over the settings of events, `settings` over the others.
export async function startWebhooks(t, more = {}, settings = {}) {
    const receiver = await new Receiver().start(t);
    const on = { enabled: true, webhooks: ["127.0.0.1"], webhook_allow_private: true, ...more };
    const config = { roles, mcp: { events: on }, ...settings };
    const { service, server } = await startEvents(t, events, { begin: startAccounts, config });
    const token = await server.token("alice");
    const client = new EventsClient(server, bearer(token.token));
    await eventually(async () => (await client.list()).length === 2, "alice sees both events");
    const subscription = (name, { url = receiver.url, secret = newSecret(), ...rest } = {}) => ({
        name,
        arguments: {},
        cursor: null,
        ...rest,
        delivery: { mode: "webhook", url, secret },
    });
    return { receiver, service, server, token, client, subscription };
}
