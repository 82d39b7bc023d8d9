import net from "node:net";
import { runLoad, sleep } from "../http/servers.mjs";
import { growth, level } from "./evidence.mjs";
import { startPlugin } from "./healthy.mjs";
import { flood, target } from "./hostile.mjs";

const places = 512;
export const name = "connections";
export const about = `One client opens connections that stay idle until it is refused, and tries again, where an
    address may have ${places} of them; the healthy client opens a connection for each request.`;
export const metrics = {
    open: level("causeway_connections"),
    refused: growth("causeway_connections_refused_total", { reason: "address" }),
};
export const least = { open: places, refused: 20 };

async function probe({ server, seconds }) {
    const args = [server.address, "/healthz", 100, seconds, 1];
    const { ok, ...times } = await runLoad("probe", args);
    return { ...times, failed: times.requests - ok };
}

export async function start() {
    const limits = { connections: 2 * places, connections_per_address: places };
    return { ...(await startPlugin({ limits })), healthy: probe };
}

// Resolves with whether it stays open after a request.
function stay(address, from) {
    return new Promise((resolve) => {
        const socket = net.connect({ ...target(address), localAddress: from });
        socket.setEncoding("latin1").on("data", (text) => {
            const isOpen = text.startsWith("HTTP/1.1 200 ");
            if (!isOpen) socket.destroy();
            resolve(isOpen);
        });
        socket.on("error", () => {}).on("close", () => resolve(false));
        socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    });
}

export async function attack({ address, from, ready, count }) {
    let held = 0;
    while (held < 2 * places && (await stay(address, from))) held += 1;
    ready();
    const tryAgain = async () => {
        const isOpen = await stay(address, from);
        await sleep(10);
        return isOpen ? "opened" : "closed";
    };
    await flood(8, count, tryAgain, (what) => what);
}
