// Hostile clients and services that make validation expensive: three kinds in one module, because
// they differ only in where the value comes from and in its schema.
import http from "node:http";
import { startConfigured, write, writeRequest } from "../bridge/bridge.mjs";
import { paced } from "./healthy.mjs";
import { flood, post } from "./hostile.mjs";

const catastrophe = { items: { not: { pattern: String.raw`^(?!x)(\w+\s?)*$` } } };
const words = Array.from({ length: 65_000 }, () => `${"a".repeat(14)}!`); // 1.1 MB
const numbers = Array.from({ length: 500_000 }, (_, i) => i % 10);
const strings = { anyOf: [{ type: "null" }, { items: { enum: ["a", "b"] } }], items: { type: "string" } };

// Answers `words` with many words, everything else shortly. The large answer is made once: the
// service must not be what the two clients wait for.
async function startService() {
    const large = Buffer.from(`"result":${JSON.stringify(words)}}`);
    const small = Buffer.from(`"result":"walk across"}`);
    const server = http.createServer((request, response) => {
        let text = "";
        request.setEncoding("utf8").on("data", (part) => (text += part));
        request.on("end", () => {
            const { id, method } = JSON.parse(text);
            const begin = Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},`);
            const end = method === "words" ? large : small;
            const size = begin.length + end.length;
            response.writeHead(200, { "Content-Type": "application/json", "Content-Length": size });
            response.write(begin);
            response.end(end);
        });
    });
    server.listen(0, "127.0.0.1");
    await new Promise((resolve) => server.on("listening", resolve));
    return server;
}

const method = (name, params, result = {}) => ({
    name,
    params: Object.entries(params).map(([param, schema]) => ({ name: param, schema })),
    result: { name: "result", schema: result },
});
const description = {
    openrpc: "1.3.2",
    info: { title: "service", version: "1" },
    methods: [
        method("quick", {}),
        method("check", { texts: catastrophe }),
        method("words", {}, catastrophe),
        method("list", { texts: strings }),
    ],
};

async function start() {
    const service = await startService();
    const url = `http://127.0.0.1:${service.address().port}/`;
    const openrpc = write("openrpc.json", JSON.stringify(description));
    const server = await startConfigured({
        sources: [{ name: "service", url, openrpc, prefix: "service.", methods: ["*"] }],
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

const attackWith =
    (name, params) =>
    async ({ address, from, ready }) => {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: `service.${name}`, params });
        ready();
        await flood(4, () => post(address, from, "/jsonrpc", { body }));
    };

export const patterns = {
    name: "patterns",
    about: `4 connections send 1.1 MB of arguments that a pattern takes long to refuse; the healthy client
    calls another method.`,
    start,
    attack: attackWith("check", { texts: words }),
};

export const results = {
    name: "results",
    about: `4 connections call a method whose result is 1.1 MB that a pattern takes long to refuse; the
    healthy client calls another method of the same service.`,
    start,
    attack: attackWith("words", {}),
};

export const explanations = {
    name: "explanations",
    about: `4 connections send an array of 500,000 items that are all wrong, so that problems have to be
    explained; the healthy client calls another method.`,
    start,
    attack: attackWith("list", { texts: numbers }),
};
