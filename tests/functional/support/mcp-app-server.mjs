// An MCP server on standard input with a tool that has a view, made with the official SDK.
//
//     node mcp-app-server.mjs TEXT
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const uri = "ui://shop/cart.html";
const type = "text/html;profile=mcp-app";
const [text] = process.argv.slice(2);

serveStdio(() => {
    const server = new McpServer({ name: "shop", version: "1.0.0" });
    const ui = { resourceUri: uri, visibility: ["model", "app"] };
    const about = { description: "Shows the cart", _meta: { ui, "ui/resourceUri": uri, "example.org/kept": 1 } };
    server.registerTool("cart", about, () => ({ content: [{ type: "text", text: "empty" }] }));
    server.registerResource("cart view", uri, { mimeType: type, _meta: { ui: { prefersBorder: true } } }, () => ({
        contents: [
            {
                uri,
                mimeType: type,
                text: `<!doctype html><p>${text}</p>`,
                _meta: { ui: { csp: { connectDomains: ["https://shop.example.org"] } } },
            },
        ],
    }));
    return server;
});
