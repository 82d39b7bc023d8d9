// An MCP server with everything besides tools, made with the official SDK: resources, templates,
// prompts, completion, instructions, icons.
//
//     node mcp-resource-server.mjs modern|legacy|sessions [--stdio]
//
// The tool `touch` updates a resource, `change` the description of one prompt and one resource and the
// instructions. Each subscription is a line "subscribed URI" on standard error.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import {
    completable,
    createMcpHandler,
    legacyStatelessFallback,
    McpServer,
    ResourceTemplate,
    WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const [mode, transport] = process.argv.slice(2);
const say = (text) => process.stderr.write(`${text}\n`);
const text = (value) => ({ content: [{ type: "text", text: value }] });
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const icons = [{ src: `data:image/png;base64,${pixel}`, mimeType: "image/png", sizes: ["1x1"] }];

let edition = 1;
let handler;
const servers = new Set();

function updated(uri) {
    if (handler?.notify) handler.notify.resourceUpdated(uri);
    for (const server of servers) server.server.sendResourceUpdated({ uri }).catch(() => {});
}

function addTools(server) {
    server.registerTool(
        "link",
        { description: "Links to notes", title: "Link", icons, _meta: { "example.org/tool": true } },
        () => ({
            content: [
                { type: "resource_link", uri: "note://1", name: "first", title: "First note" },
                { type: "resource_link", uri: "hidden://made/9", name: "made" },
                { type: "resource", resource: { uri: "note://1", mimeType: "text/plain", text: "one" } },
                { type: "audio", data: "AAAA", mimeType: "audio/wav" },
            ],
        }),
    );
    server.registerTool("touch", { inputSchema: z.object({ uri: z.string(), times: z.number() }) }, (args) => {
        for (let i = 0; i < args.times; i += 1) updated(args.uri);
        return text("touched");
    });
    server.registerTool("change", { description: "Changes descriptions" }, () => {
        edition += 1;
        return text("changed");
    });
}

function addResources(server) {
    server.registerResource(
        "first",
        "note://1",
        {
            title: "First note",
            description: `Edition ${edition}`,
            mimeType: "text/plain",
            size: 3,
            icons,
            annotations: { audience: ["user"], priority: 0.5, lastModified: "2026-01-01T00:00:00Z" },
            _meta: { "example.org/shelf": 4 },
        },
        (uri) => ({
            contents: [{ uri: uri.href, mimeType: "text/plain", text: "one" }],
            _meta: { "example.org/r": 1 },
        }),
    );
    server.registerResource("picture", "note://picture", { mimeType: "image/png" }, (uri) => ({
        contents: [{ uri: uri.href, mimeType: "image/png", blob: pixel }],
    }));
    server.registerResource("secret", "note://secret", {}, (uri) => ({
        contents: [{ uri: uri.href, text: "secret" }],
    }));
    server.registerResource(
        "shelf",
        new ResourceTemplate("shelf://{room}/{book}", {
            list: undefined,
            complete: {
                room: (value) => ["kitchen", "kiosk", "cellar"].filter((name) => name.startsWith(value)),
                book: (value, context) => [`${context?.arguments?.room}-${value}`],
            },
        }),
        { title: "Shelf", description: "Books" },
        (uri, { room, book }) => {
            if (book === "none") throw new Error("There is no such book");
            return { contents: [{ uri: uri.href, text: `${room}/${book}` }] };
        },
    );
    server.registerResource(
        "made",
        new ResourceTemplate("hidden://made/{id}", { list: undefined }),
        {},
        (uri, { id }) => ({ contents: [{ uri: uri.href, text: `made ${id}` }] }),
    );
}

function addPrompts(server) {
    server.registerPrompt(
        "review",
        {
            title: "Review",
            description: `Edition ${edition}`,
            icons,
            argsSchema: z.object({
                language: completable(z.string().describe("Of the code"), (value) =>
                    ["c", "cobol", "python"].filter((name) => name.startsWith(value)),
                ),
                style: z.string().optional(),
            }),
        },
        ({ language }) => ({
            description: "A review",
            messages: [
                { role: "user", content: { type: "text", text: `Review this ${language}` } },
                { role: "assistant", content: { type: "image", data: pixel, mimeType: "image/png" } },
                { role: "user", content: { type: "resource", resource: { uri: "note://1", text: "one" } } },
                { role: "user", content: { type: "resource_link", uri: "note://1", name: "first" } },
            ],
        }),
    );
    server.registerPrompt("plain", {}, () => ({
        messages: [{ role: "user", content: { type: "text", text: "Plain" } }],
    }));
}

function makeServer() {
    const server = new McpServer(
        { name: "resources", version: "1.0.0" },
        {
            instructions: `Read the notes first. Edition ${edition}`,
            capabilities: { resources: { subscribe: true, listChanged: true } },
        },
    );
    addTools(server);
    addResources(server);
    addPrompts(server);
    for (const method of ["resources/subscribe", "resources/unsubscribe"]) {
        server.server.setRequestHandler(method, (request) => {
            say(`${method.slice(10)}d ${request.params.uri}`);
            return {};
        });
    }
    servers.add(server);
    return server;
}

// Legacy with session ids: a transport and a server for each session.
const sessions = new Map();
async function serveSession(request) {
    const id = request.headers.get("mcp-session-id");
    if (id !== null) return await sessions.get(id).handleRequest(request);
    const made = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (session) => sessions.set(session, made),
    });
    await makeServer().connect(made);
    return await made.handleRequest(request);
}

if (transport === "--stdio") {
    serveStdio(makeServer, { legacy: mode === "modern" ? "reject" : "serve" });
} else {
    if (mode === "modern") handler = createMcpHandler(makeServer, { legacy: "reject" });
    else handler = { fetch: mode === "sessions" ? serveSession : legacyStatelessFallback(makeServer) };
    const http = createServer(toNodeHandler(handler));
    http.keepAliveTimeout = 3_600_000;
    http.listen(0, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${http.address().port}`));
    process.on("SIGTERM", () => process.exit(0));
}
