import http from "node:http";
import net from "node:net";
import { message } from "../bridge/bridge.mjs";
import { sleep } from "../http/servers.mjs";
import { level } from "./evidence.mjs";
import { repeated, startPlugin } from "./healthy.mjs";
import { flood, post, target } from "./hostile.mjs";

const mb = 2 ** 20;
const [memory, largest, healthySize] = [16 * mb, 4 * mb, mb];
export const name = "bodies";
export const about = `16 connections send most of a body of ${largest / mb} MB, and the rest slowly, where all bodies may
    have ${memory / mb} MB of memory; the healthy client calls a method with a body of ${healthySize / mb} MB.`;
export const metrics = { megabytes: (...texts) => level("causeway_body_memory_bytes")(...texts) / mb };
// A quarter of the memory. When the share is used up, the connections are refused.
export const least = { megabytes: memory / mb / 4, 503: 5 };

export async function start() {
    const call = { jsonrpc: "2.0", id: 1, method: "test.echo", params: { message } };
    const body = JSON.stringify(call).padEnd(healthySize);
    const agent = new http.Agent({ keepAlive: true });
    const once = async ({ address }) => {
        const answer = await post(address, "127.0.0.1", "/jsonrpc", { body }, agent);
        return answer?.status === 200 && answer.text.includes(message);
    };
    const limits = { body_memory: memory, body_size: largest };
    return { ...(await startPlugin({ limits })), healthy: repeated({ once, rate: 20 }) };
}

const head = [
    "POST /jsonrpc HTTP/1.1",
    "Host: localhost",
    "Content-Type: application/json",
    `Content-Length: ${largest}`,
];
const soon = Buffer.alloc(largest * 0.875, " ");
const later = Buffer.alloc(16_384, " ");

// Resolves with the status that ends it, before or after the whole body.
function sendSlowly(address, from) {
    return new Promise((resolve) => {
        const socket = net.connect({ ...target(address), localAddress: from });
        const timer = setInterval(() => socket.write(later), 1000);
        let status = "none";
        socket.on("data", (bytes) => {
            status = bytes.toString("latin1", 9, 12);
            socket.destroy();
        });
        socket.on("error", () => {});
        socket.on("close", () => {
            clearInterval(timer);
            resolve(status);
        });
        socket.write(`${head.join("\r\n")}\r\n\r\n`);
        socket.write(soon);
    });
}

export async function attack({ address, from, ready, count }) {
    ready();
    const tryOnce = async () => {
        const status = await sendSlowly(address, from);
        // Memory is the contest, not bandwidth.
        await sleep(100);
        return status;
    };
    await flood(16, count, tryOnce, (status) => status);
}
