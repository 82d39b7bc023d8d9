// An MCP server on standard input with a tool that has a view, made with the official SDK.
//
//     node mcp-app-server.mjs TEXT [FILE]     FILE: has the text of the view from now on; also a template of views
import { existsSync, readFileSync } from "node:fs";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const uri = "ui://shop/cart.html";
const type = "text/html;profile=mcp-app";
const [text, file] = process.argv.slice(2);
const document = () => `<!doctype html><p>${file && existsSync(file) ? readFileSync(file, "utf8") : text}</p>`;

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
                text: document(),
                _meta: { ui: { csp: { connectDomains: ["https://shop.example.org"] } } },
            },
        ],
    }));
    if (file) {
        const pages = new ResourceTemplate("ui://shop/pages/{name}", { list: undefined });
        server.registerResource("pages", pages, { mimeType: type }, (address) => ({
            contents: [{ uri: address.href, mimeType: type, text: document() }],
        }));
    }
    return server;
});
