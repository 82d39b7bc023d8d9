import net from "node:net";
import { callsOf } from "./evidence.mjs";
import { startPlugin } from "./healthy.mjs";
import { flood, post, sleepMethod, target } from "./hostile.mjs";

export const name = "left";
const connections = 40;
export const about = `Clients of MCP 2025-11-25 call a method that takes 1 s and reset the connection at once; such a
    call goes on. The healthy client calls another method of the same plugin.`;
export const metrics = callsOf();
// More calls than connections: they go on without their clients.
export const least = { ended: 1, running: 2 * connections };
export const start = () => startPlugin();

const accept = { Accept: "application/json, text/event-stream" };

function initialize(address, from) {
    const params = {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "hostile", version: "1" },
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    return post(address, from, "/mcp", { headers: accept, body });
}

// Leaves as soon as the request is out.
function callAndLeave(address, from, bytes) {
    return new Promise((resolve) => {
        const socket = net.connect({ ...target(address), localAddress: from });
        socket.on("error", () => {}).on("close", () => resolve());
        socket.on("connect", () => socket.write(bytes, () => setTimeout(() => socket.resetAndDestroy(), 5)));
    });
}

export async function attack({ address, from, ready, count }) {
    const { headers } = await initialize(address, from);
    const body = JSON.stringify({
        ...{ jsonrpc: "2.0", id: 2, method: "tools/call" },
        params: { name: sleepMethod, arguments: { ms: 1000 } },
    });
    const lines = [
        "POST /mcp HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        `Accept: ${accept.Accept}`,
        "MCP-Protocol-Version: 2025-11-25",
        `Mcp-Session-Id: ${headers["mcp-session-id"]}`,
        `Content-Length: ${body.length}`,
    ];
    ready();
    await flood(
        connections,
        count,
        () => callAndLeave(address, from, `${lines.join("\r\n")}\r\n\r\n${body}`),
        () => "left",
    );
}
