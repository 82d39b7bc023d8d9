// An MCP server made with the official SDK, as a program: what a bridge finds behind it.
//
//     node mcp-server.mjs modern|legacy|dual|sessions [--stdio]
//
// modern and legacy speak that era only, dual both; sessions is legacy with session ids. On HTTP it
// prints its URL. Every start of a tool is a line "called NAME" on standard error, and an end that
// the client caused "cancelled NAME".
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import {
    createMcpHandler,
    inputRequired,
    isLegacyRequest,
    legacyStatelessFallback,
    McpServer,
    WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const [mode, transport] = process.argv.slice(2);
const say = (text) => process.stderr.write(`${text}\n`);
const text = (value) => ({ content: [{ type: "text", text: value }] });
const json = (value) => text(JSON.stringify(value));

const questions = {
    ask_form: [
        inputRequired.elicit({ message: "Which name?", requestedSchema: z.object({ name: z.string() }) }),
        (ctx, server) =>
            server.server.elicitInput(
                {
                    mode: "form",
                    message: "Which name?",
                    requestedSchema: {
                        type: "object",
                        properties: { name: { type: "string" } },
                        required: ["name"],
                    },
                },
                { relatedRequestId: ctx.mcpReq.id },
            ),
    ],
    ask_url: [
        inputRequired.elicitUrl({ message: "Please log in", url: "https://example.org/login" }),
        (ctx, server) =>
            server.server.elicitInput(
                {
                    mode: "url",
                    message: "Please log in",
                    url: "https://example.org/login",
                    elicitationId: "e1",
                },
                { relatedRequestId: ctx.mcpReq.id },
            ),
    ],
    ask_model: [
        inputRequired.createMessage({
            messages: [{ role: "user", content: { type: "text", text: "Say something" } }],
            maxTokens: 10,
        }),
        (ctx, server) =>
            server.server.createMessage(
                {
                    messages: [{ role: "user", content: { type: "text", text: "Say something" } }],
                    maxTokens: 10,
                },
                { relatedRequestId: ctx.mcpReq.id },
            ),
    ],
    ask_roots: [
        inputRequired.listRoots(),
        (ctx, server) => server.server.listRoots({}, { relatedRequestId: ctx.mcpReq.id }),
    ],
};

// Resolves after `ms`, or when the client takes its request back.
const waitFor = (ms, ctx, name) =>
    new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        ctx.mcpReq.signal.addEventListener("abort", () => {
            clearTimeout(timer);
            say(`cancelled ${name}`);
            resolve();
        });
    });

function addQuestions(server, era) {
    for (const [name, [request, ask]] of Object.entries(questions)) {
        server.registerTool(name, { description: `Asks: ${name}` }, async (ctx) => {
            say(`called ${name}`);
            if (era === "legacy") return json(await ask(ctx, server));
            const answer = ctx.mcpReq.inputResponses?.first;
            return answer ? json(answer) : inputRequired({ inputRequests: { first: request }, requestState: "kept" });
        });
    }
}

let description = "Gives back what it got";
let announce = () => {}; // to the streams of modern clients
const open = new Set();

function makeServer({ era }) {
    const server = new McpServer(
        { name: "fixture", version: "1.0.0" },
        { capabilities: { logging: {}, tools: { listChanged: true } } },
    );
    const echo = server.registerTool(
        "echo",
        {
            title: "Echo",
            description,
            inputSchema: z.object({ message: z.string() }),
            annotations: { readOnlyHint: true },
        },
        ({ message }) => {
            say("called echo");
            return { ...text(message), _meta: { "example.org/kept": 1 } };
        },
    );
    server.registerTool(
        "sum",
        { inputSchema: z.object({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }) },
        ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
    );
    server.registerTool("fail", { description: "Fails" }, () => ({ ...text("It went wrong"), isError: true }));
    server.registerTool("steps", { inputSchema: z.object({ count: z.number() }) }, async ({ count }, ctx) => {
        const progressToken = ctx.mcpReq._meta?.progressToken;
        for (let i = 1; i <= count && progressToken !== undefined; i += 1) {
            await ctx.mcpReq.notify({
                method: "notifications/progress",
                params: { progressToken, progress: i, total: count, message: `step ${i}` },
            });
        }
        await ctx.mcpReq.log("warning", "nearly there", "steps");
        return text("done");
    });
    server.registerTool("wait", { inputSchema: z.object({ ms: z.number() }) }, async ({ ms }, ctx) => {
        say("called wait");
        await waitFor(ms, ctx, "wait");
        return text("waited");
    });
    server.registerTool("die", { description: "Ends the server" }, () => {
        process.exit(3);
    });
    server.registerTool("rename", { description: "Changes echo" }, () => {
        description = "Gives back something else";
        for (const one of open) one.update({ description });
        announce();
        return text("renamed");
    });
    server.registerTool("meta", { description: "What the client says of itself" }, (ctx) =>
        json({ meta: ctx.mcpReq._meta ?? {}, capabilities: server.server.getClientCapabilities?.() ?? {} }),
    );
    addQuestions(server, era);
    open.add(echo);
    return server;
}

// Legacy with session ids: a transport and a server for each session.
const sessions = new Map();
async function serveSession(request) {
    const id = request.headers.get("mcp-session-id");
    if (id !== null && !sessions.has(id)) {
        return Response.json(
            { jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } },
            { status: 404 },
        );
    }
    if (id !== null) return await sessions.get(id).handleRequest(request);
    const made = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (session) => {
            say(`session ${session}`);
            sessions.set(session, made);
        },
        onsessionclosed: (session) => {
            say(`closed ${session}`);
            sessions.delete(session);
        },
    });
    await makeServer({ era: "legacy" }).connect(made);
    return await made.handleRequest(request);
}
process.on("SIGUSR2", () => {
    sessions.clear();
    say("sessions forgotten");
});

function handler() {
    const modern = createMcpHandler(makeServer, mode === "dual" ? {} : { legacy: "reject" });
    announce = () => modern.notify.toolsChanged();
    if (mode === "modern" || mode === "dual") return modern;
    const legacy = mode === "sessions" ? serveSession : legacyStatelessFallback(makeServer);
    return {
        fetch: async (request) => {
            if (await isLegacyRequest(request.clone())) return await legacy(request);
            return Response.json(
                { jsonrpc: "2.0", id: null, error: { code: -32000, message: "Bad Request: Server not initialized" } },
                { status: 400 },
            );
        },
    };
}

if (transport === "--stdio") {
    serveStdio(makeServer, { legacy: mode === "modern" ? "reject" : "serve" });
} else {
    const http = createServer(toNodeHandler(handler()));
    http.keepAliveTimeout = 3_600_000;
    http.listen(0, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${http.address().port}`));
    process.on("SIGTERM", () => process.exit(0));
}
