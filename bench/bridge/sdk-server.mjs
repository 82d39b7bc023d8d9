// The peer of the `sdk` part: the official TypeScript SDK with one echo tool, in its own default
// form for HTTP (a server per request, no session). Prints its URL, ends with SIGTERM.
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
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

const http = createServer(toNodeHandler(createMcpHandler(makeServer)));
http.keepAliveTimeout = 3_600_000;
http.listen(0, "127.0.0.1", () => {
    console.log(`listening on http://127.0.0.1:${http.address().port}`);
});
process.on("SIGTERM", () => process.exit(0));
