// The peer of the `mcp` part: the official TypeScript SDK with one echo tool. On HTTP in its own
// default form (a server per request, no session): prints its URL, ends with SIGTERM. With --stdio
// on standard input and output.
import { createServer } from "node:http";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

function makeServer() {
    const server = new McpServer({ name: "peer", version: "1.0.0" });
    const about = {
        description: "Gives back what it got",
        inputSchema: z.object({ message: z.string() }),
    };
    server.registerTool("test.echo", about, ({ message }) => ({
        content: [{ type: "text", text: message }],
    }));
    return server;
}

// Each way loads only what it needs.
if (process.argv[2] === "--stdio") {
    const { serveStdio } = await import("@modelcontextprotocol/server/stdio");
    serveStdio(makeServer);
} else {
    const { toNodeHandler } = await import("@modelcontextprotocol/node");
    const http = createServer(toNodeHandler(createMcpHandler(makeServer)));
    http.keepAliveTimeout = 3_600_000;
    http.listen(0, "127.0.0.1", () => {
        console.log(`listening on http://127.0.0.1:${http.address().port}`);
    });
    process.on("SIGTERM", () => process.exit(0));
}
