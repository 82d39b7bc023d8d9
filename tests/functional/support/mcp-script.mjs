// An MCP server over HTTP in this process, written message by message: for faults that no SDK has.
//
//     const upstream = await startScript({ era: "legacy" });
//     upstream.on["tools/call"] = ({ message, reply }) => reply({ content: [] });
//     upstream.requests                 what came: { verb, headers, message }
//     upstream.push({ method: … })      to all streams that are open, or that of { session }
import http from "node:http";
import { after } from "node:test";
import { freePort } from "./ports.mjs";

const modernVersion = "2026-07-28";

export const echoTool = (name = "echo", description = "Gives back what it got") => ({
    name,
    description,
    inputSchema: { type: "object", properties: { message: { type: "string" } } },
});

const textResult = (text) => ({ resultType: "complete", content: [{ type: "text", text }] });

class Script {
    constructor({ era = "legacy", sessions = era === "legacy", tools = [echoTool()], capabilities } = {}) {
        Object.assign(this, { era, sessions, tools });
        this.capabilities = { tools: { listChanged: true }, ...capabilities };
        this.on = {};
        this.requests = [];
        this.known = new Set();
        this.streams = new Set();
        this.nextSession = 1;
        this.http = http.createServer((request, response) => this.receive(request, response));
    }

    // Those with this method of JSON-RPC, or this verb of HTTP.
    seen(what) {
        return this.requests.filter(({ verb, message }) => message?.method === what || (verb === what && !message));
    }

    // The answers of the client to our own request with this id.
    answerTo(id) {
        return this.requests.map(({ message }) => message).find((m) => m && !m.method && m.id === id);
    }

    push(message, { id, retry, session } = {}) {
        const head = `${id === undefined ? "" : `id: ${id}\n`}${retry === undefined ? "" : `retry: ${retry}\n`}`;
        for (const stream of this.streams)
            if (session === undefined || stream.session === session)
                stream.write(`${head}data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
    }

    async receive(request, response) {
        let body = "";
        for await (const piece of request) body += piece;
        const message = body ? JSON.parse(body) : undefined;
        const entry = { verb: request.method, headers: request.headers, message };
        this.requests.push(entry);
        const session = request.headers["mcp-session-id"];
        const reply = (result, headers = {}) => this.send(response, 200, { id: message.id, result }, headers);
        const fail = (code, text, status = 200) =>
            this.send(response, status, { id: message?.id, error: { code, message: text } });
        const context = { ...entry, request, response, session, reply, fail };
        const own = this.on[message ? (message.method ?? "answer") : request.method];
        if (own && (await own(context)) !== "default") return;
        if (session !== undefined && !this.known.has(session)) {
            this.send(response, 404, { error: { code: -32001, message: "Session not found" } });
            return;
        }
        this.handle(context);
    }

    send(response, status, message, headers = {}) {
        response.writeHead(status, { "Content-Type": "application/json", ...headers });
        response.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
    }

    openStream(response, session, first = "") {
        response.session = session;
        response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
        response.flushHeaders();
        if (first) response.write(first);
        this.streams.add(response);
        response.on("close", () => this.streams.delete(response));
    }

    handle({ verb, message, response, session, reply, fail }) {
        if (verb === "GET") this.openStream(response, session);
        else if (verb === "DELETE") {
            this.known.delete(session);
            response.writeHead(200).end();
        } else if (message.method === "server/discover" && this.era === "modern") {
            reply({
                resultType: "complete",
                supportedVersions: [modernVersion],
                capabilities: this.capabilities,
                ttlMs: 0,
                cacheScope: "private",
            });
        } else if (message.method === "subscriptions/listen" && this.era === "modern") {
            const meta = { "io.modelcontextprotocol/subscriptionId": message.id };
            const params = { notifications: message.params.notifications, _meta: meta };
            const first = { jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params };
            this.openStream(response, session, `data: ${JSON.stringify(first)}\n\n`);
        } else if (message.method === "initialize" && this.era === "legacy") {
            const headers = {};
            if (this.sessions) {
                headers["Mcp-Session-Id"] = `session-${this.nextSession++}`;
                this.known.add(headers["Mcp-Session-Id"]);
            }
            reply(
                {
                    protocolVersion: message.params.protocolVersion,
                    capabilities: this.capabilities,
                    serverInfo: { name: "script", version: "1" },
                },
                headers,
            );
        } else if (message.id === undefined || message.method === undefined) response.writeHead(202).end();
        else if (message.method === "tools/list")
            reply({ resultType: "complete", ttlMs: 0, cacheScope: "private", tools: this.tools });
        else if (message.method === "tools/call") reply(textResult(message.params.arguments?.message ?? "done"));
        else fail(-32601, "Method not found");
    }

    // Without an answer to anybody, as a server that was killed.
    async stop() {
        this.http.closeAllConnections();
        await new Promise((resolve) => this.http.close(resolve));
    }
}

// `socket` is what net.Server.listen takes; without it the script has a port, and may start again there.
export async function startScript(options = {}, socket = null) {
    const script = new Script(options);
    const listen = socket ?? { port: await freePort(), host: "127.0.0.1" };
    await new Promise((resolve) => script.http.listen(listen, resolve));
    const { port } = script.http.address();
    script.url = listen.path ? `unix:${listen.path}:/mcp` : `http://127.0.0.1:${port}/mcp`;
    script.port = port;
    after(() => script.stop());
    return script;
}
