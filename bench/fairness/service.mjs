import http from "node:http";
import { startConfigured, write, writeRequest } from "../bridge/bridge.mjs";
import { sleep } from "../http/servers.mjs";
import { paced } from "./healthy.mjs";
import { batchOf, flood, notification, post, slowMs } from "./hostile.mjs";

export const name = "service";
export const about = `40 connections send batches of 100 calls of a service over HTTP that answers
    after 200 ms, and that may be asked four things at once; the healthy client calls a quick method
    of the same service.`;

// Answers `slow` after a while, everything else at once.
async function startService() {
    const server = http.createServer((request, response) => {
        let text = "";
        request.setEncoding("utf8").on("data", (part) => (text += part));
        request.on("end", async () => {
            const { id, method } = JSON.parse(text);
            await sleep(method === "slow" ? slowMs : 0);
            response.setHeader("Content-Type", "application/json");
            response.end(JSON.stringify({ jsonrpc: "2.0", id, result: "walk across" }));
        });
    });
    server.listen(0, "127.0.0.1");
    await new Promise((resolve) => server.on("listening", resolve));
    return server;
}

const method = (name) => ({ name, params: [], result: { name: "result", schema: {} } });
const description = {
    openrpc: "1.3.2",
    info: { title: "service", version: "1" },
    methods: [method("quick"), method("slow")],
};

export async function start() {
    const service = await startService();
    const url = `http://127.0.0.1:${service.address().port}/`;
    const openrpc = write("openrpc.json", JSON.stringify(description));
    const server = await startConfigured({
        sources: [{ name: "service", url, openrpc, prefix: "service.", connections: 4, methods: ["*"] }],
    });
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "service.quick" });
    const headers = { "Content-Type": "application/json" };
    const file = writeRequest("POST", "/jsonrpc", { headers, body });
    return {
        server,
        healthy: paced({ file }),
        attack: {},
        async stop() {
            await server.stop();
            service.closeAllConnections();
            service.close();
        },
    };
}

export async function attack({ address, from, ready }) {
    const body = batchOf(100, { ...notification, method: "service.slow", params: {}, id: 1 });
    ready();
    await flood(40, () => post(address, from, "/jsonrpc", { body }));
}
