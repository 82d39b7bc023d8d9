// A JSON-RPC service over HTTP for tests of remote sources, in this process. It can be told to
// misbehave: `service.mode` is the name of one of `modes`, or null.
import http from "node:http";
import https from "node:https";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after } from "node:test";
import { keepFolder } from "./kept.mjs";
import { freePort } from "./ports.mjs";

const text = { type: "string" };
const number = { type: "integer" };

// What it offers: { OpenRPC method, run(params, service) }.
const methods = {
    add: {
        about: {
            summary: "Adds two numbers",
            params: [
                { name: "a", required: true, schema: number },
                { name: "b", required: true, schema: number },
            ],
            result: { name: "sum", schema: number },
        },
        run: ({ a, b }) => a + b,
    },
    echo: {
        about: {
            summary: "Gives back what it got",
            params: [{ name: "message", required: true, schema: text }],
            result: { name: "echo", schema: { type: "object" } },
        },
        run: (params) => params,
    },
    fail: {
        about: { summary: "Reports an error", params: [], result: { name: "none", schema: {} } },
        run: () => {
            throw { code: 42, message: "no luck", data: { why: "never" } };
        },
    },
    wait: {
        about: {
            summary: "Answers late",
            params: [{ name: "ms", required: true, schema: number }],
            result: { name: "done", schema: { type: "boolean" } },
        },
        run: ({ ms }) => new Promise((resolve) => setTimeout(() => resolve(true), ms).unref()),
    },
    secret: {
        about: { summary: "Not for everybody", params: [], result: { name: "s", schema: text } },
        run: () => "secret",
    },
};

// A copy of its own: tests change it.
export function openRpc() {
    return structuredClone({
        openrpc: "1.3.2",
        info: { title: "test service", version: "1.0.0" },
        methods: Object.entries(methods).map(([name, { about }]) => ({ name, ...about })),
    });
}

export function writeOpenRpc(document = openRpc()) {
    const file = path.join(keepFolder(), `openrpc-${Math.random().toString(36).slice(2)}.json`);
    writeFileSync(file, JSON.stringify(document));
    return file;
}

// The entry of a source with two of the methods, whose description is read at the start and on request only.
export const shopOf = (service, more = {}) => ({
    name: "shop",
    url: service.url,
    refresh: "0s",
    methods: ["add", "echo"],
    ...more,
});

export async function answerTo({ jsonrpc, id, method, params = {} }, service) {
    service.calls.push({ method, params });
    if (method === "rpc.discover") {
        return { jsonrpc, id, result: service.document };
    }
    if (Object.hasOwn(service.results ?? {}, method)) {
        return { jsonrpc, id, result: service.results[method] };
    }
    const found = methods[method];
    if (found === undefined) {
        return { jsonrpc, id, error: { code: -32601, message: "Method not found" } };
    }
    const names = found.about.params.map(({ name }) => name);
    const named = Array.isArray(params) ? Object.fromEntries(params.map((value, i) => [names[i], value])) : params;
    try {
        return { jsonrpc, id, result: await found.run(named, service) };
    } catch (error) {
        return { jsonrpc, id, error };
    }
}

// How it can misbehave: each gets the parsed request and the response.
export const modes = {
    reset: (_, response) => response.socket.resetAndDestroy(),
    close: (_, response) => response.socket.end(),
    hang: () => {},
    "garbage for HTTP": (_, response) => response.socket.end("\u0000\u0001garbage\r\n\r\n"),
    "garbage for JSON": (_, response) => response.end("{nonsense"),
    "no JSON-RPC": (_, response) => response.end('{"hello":"world"}'),
    "another id": ({ id }, response) => response.end(JSON.stringify({ jsonrpc: "2.0", id: `${id}x`, result: 1 })),
    "an error page": (_, response) => {
        response.writeHead(503, { "Content-Type": "text/html" });
        response.end("<h1>Traceback (most recent call last): /srv/app/main.py</h1>");
    },
    "half an answer": ({ id }, response) => {
        response.writeHead(200, { "Content-Length": 1000 });
        response.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"res`);
        setTimeout(() => response.socket?.destroy(), 20);
    },
    "half an answer and then nothing": ({ id }, response) => {
        response.writeHead(200, { "Content-Length": 1000 });
        response.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"res`);
    },
    "too much": ({ id }, response) => {
        response.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":"`);
        const more = () => {
            while (!response.destroyed && response.write("x".repeat(65_536))) {
                // As much as it takes.
            }
        };
        response.on("drain", more);
        more();
    },
    "one byte a time": (_, response) => {
        response.writeHead(200, { "Content-Length": 1000 });
        const timer = setInterval(() => response.write(" "), 20);
        response.on("close", () => clearInterval(timer));
    },
};

export class Service {
    // With `tls`, { certificate, key } as paths, it is an https service.
    constructor({ tls } = {}) {
        this.tls = tls && { cert: readFileSync(tls.certificate), key: readFileSync(tls.key) };
        this.mode = null;
        this.document = openRpc();
        this.calls = []; // { method, params } of all requests
        this.results = {}; // of methods that are not its own
        this.headers = [];
        this.open = 0; // requests that wait for their answer
        this.gone = 0; // requests whose client left before it
        this.port = 0;
    }

    async start() {
        const on = (request, response) => this.on(request, response);
        this.http = this.tls ? https.createServer(this.tls, on) : http.createServer(on);
        this.http.on("tlsClientError", () => {});
        this.http.keepAliveTimeout = 600_000;
        this.port ||= await freePort(); // it may start again there
        await new Promise((resolve) => this.http.listen(this.port, "127.0.0.1", resolve));
        this.url = `${this.tls ? "https" : "http"}://127.0.0.1:${this.port}/rpc`;
        return this;
    }

    async on(request, response) {
        let body = "";
        this.headers.push(request.headers);
        response.on("error", () => {});
        for await (const chunk of request.setEncoding("utf8")) {
            body += chunk;
        }
        if (request.method !== "POST") {
            response.writeHead(404).end(); // it has no documents
            return;
        }
        const message = JSON.parse(body);
        this.open += 1;
        response.on("close", () => {
            this.open -= 1;
            this.gone += response.writableFinished ? 0 : 1;
        });
        response.setHeader("Content-Type", "application/json");
        if (this.mode !== null) {
            this.calls.push({ method: message.method, params: message.params });
            modes[this.mode](message, response);
            return;
        }
        response.end(JSON.stringify(await answerTo(message, this)));
    }

    // Nobody listens any more: connections are refused.
    async stop() {
        this.http.closeAllConnections();
        await new Promise((resolve) => this.http.close(resolve));
    }
}

export async function startService(options) {
    const service = await new Service(options).start();
    after(() => service.stop());
    return service;
}
