// A proxy between Causeway and a service (service.mjs) that spoils what passes through it.
//
//     const proxy = await startProxy(service);                       http
//     const proxy = await startProxy(service, { tls: certificate }); https
//     const proxy = await startProxy(service, { framing: "lines" }); a TCP stream of lines
//     proxy.fault = "reset";              one of `faults` or `streamFaults`; null: none
//     proxy.times = 2;                    only the next two requests
//
// `proxy.requests` has every message that came, `proxy.gate` may answer in front of everything.
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import { after } from "node:test";
import { freePort } from "./ports.mjs";

const giga = 1024 * 1024 * 1024;
const later = (ms, work) => setTimeout(work, ms).unref();

// Write `total` bytes as fast as the other side takes them.
function flood(stream, total) {
    const chunk = Buffer.alloc(65_536, "x");
    let left = total;
    const more = () => {
        while (left > 0 && !stream.destroyed) {
            left -= chunk.length;
            if (!stream.write(chunk)) {
                return;
            }
        }
    };
    stream.on("drain", more);
    more();
}

function drip(stream, text, ms = 40) {
    let at = 0;
    const timer = setInterval(() => {
        stream.write(text[at % text.length]);
        at += 1;
    }, ms);
    stream.on("close", () => clearInterval(timer));
}

const head = (length, more = "") =>
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n${more}\r\n`;

function sendPage(response, status, headers = {}) {
    response.writeHead(status, { "Content-Type": "text/html", ...headers });
    response.end("<!DOCTYPE html><title>Oops</title><pre>Traceback: /srv/app/main.py, line 7</pre>");
}

// Each gets { response, socket, answer } where `answer()` is what the service says, and `proxy`.
export const faults = {
    "a delay": ({ proxy, pass }) => later(proxy.ms, pass),
    "a reset": ({ socket, proxy }) => proxy.reset(socket),
    "a close": ({ socket }) => socket.end(),
    "garbage for HTTP": ({ socket }) => socket.end("\u0000\u0001\u0002 garbage\r\n\r\n"),
    "garbage for JSON": ({ response }) => response.end("{nonsense"),
    "half an answer": async ({ socket, answer }) => {
        const text = await answer();
        socket.write(head(text.length) + text.slice(0, text.length / 2));
        later(20, () => socket.destroy());
    },
    "half an answer and then nothing": async ({ socket, answer }) => {
        const text = await answer();
        socket.write(head(text.length) + text.slice(0, text.length / 2));
    },
    "half a head": ({ socket }) => socket.write("HTTP/1.1 200 OK\r\nContent-Ty"),
    "a slow drip": ({ socket }) => {
        socket.write(head(100_000));
        drip(socket, " ");
    },
    "a slow drip of the head": ({ socket }) => drip(socket, "HTTP/1.1 200 OK\r\nX-Slow: yes, very\r\n"),
    "too small a length": async ({ socket, answer }) => {
        const text = await answer();
        socket.write(head(text.length - 5) + text);
    },
    "too large a length": async ({ socket, answer }) => {
        const text = await answer();
        socket.write(head(text.length + 50) + text);
    },
    "two lengths": async ({ socket, answer }) => {
        const text = await answer();
        socket.write(head(text.length, `Content-Length: ${text.length + 1}\r\n`) + text);
    },
    silence: () => {},
    "a page of HTML": ({ response }) => sendPage(response, 200),
    "a page of HTML with status 502": ({ response }) => sendPage(response, 502),
    "1 GB": ({ socket }) => {
        socket.write(head(giga));
        flood(socket, giga);
    },
    "1 GB in chunks": ({ response }) => {
        response.writeHead(200, { "Content-Type": "application/json" });
        flood(response, giga);
    },
    "a redirect": ({ response, proxy }) => sendPage(response, 302, { Location: proxy.elsewhere }),
};

// Each gets { socket, answer }.
export const streamFaults = {
    "a delay": ({ proxy, pass }) => later(proxy.ms, pass),
    "a reset": ({ socket }) => socket.resetAndDestroy(),
    "a close": ({ socket }) => socket.end(),
    garbage: ({ socket }) => socket.write("\u0000\u0001 garbage {]\n"),
    "half an answer": async ({ socket, answer }) => {
        const text = await answer();
        socket.write(text.slice(0, text.length / 2));
        later(20, () => socket.destroy());
    },
    "half an answer and then nothing": async ({ socket, answer }) => {
        const text = await answer();
        socket.write(text.slice(0, text.length / 2));
    },
    "a slow drip": ({ socket }) => drip(socket, " "),
    "the answer to another": async ({ socket, answer }) => {
        const text = JSON.parse(await answer());
        socket.write(`${JSON.stringify({ ...text, id: text.id + 1000 })}\n`);
    },
    silence: () => {},
    "1 GB": ({ socket }) => flood(socket, giga),
};

class FaultProxy {
    constructor(service, { tls, framing } = {}) {
        Object.assign(this, { service, tls, framing });
        this.fault = null;
        this.times = Infinity;
        this.ms = 0;
        this.requests = []; // { headers, verb, message }
        this.sockets = new Set();
        this.gate = null; // (request, response, message) => true where it has answered
        this.elsewhere = service.url;
        this.port = 0;
    }

    async start() {
        this.server = this.make();
        this.server.on("connection", (socket) => this.sockets.add(socket.on("error", () => {})));
        this.port ||= await freePort(); // it may start again there
        await new Promise((resolve) => this.server.listen(this.port, "127.0.0.1", resolve));
        const scheme = this.framing ? "tcp" : this.tls ? "https" : "http";
        this.url = `${scheme}://127.0.0.1:${this.port}${this.framing ? "" : "/rpc"}`;
        return this;
    }

    make() {
        if (this.framing) {
            return net.createServer((socket) => this.onStream(socket));
        }
        const handler = (request, response) => this.onRequest(request, response);
        const options = { keepAliveTimeout: 600_000 };
        if (this.tls === undefined) {
            return http.createServer(options, handler);
        }
        const files = { key: readFileSync(this.tls.key), cert: readFileSync(this.tls.certificate) };
        return https.createServer({ ...options, ...files }, handler);
    }

    async stop() {
        this.sockets.forEach((socket) => socket.destroy());
        await new Promise((resolve) => this.server.close(resolve));
    }

    // What is below TLS can be reset.
    reset({ remotePort }) {
        [...this.sockets].find((socket) => socket.remotePort === remotePort)?.resetAndDestroy();
    }

    // What the service says; nothing where it goes away meanwhile.
    async ask(message) {
        const body = JSON.stringify(message);
        const answer = fetch(this.service.url, { method: "POST", body });
        return await answer.then((found) => found.text()).catch(() => "");
    }

    takeFault() {
        if (this.fault === null || this.times <= 0) {
            return null;
        }
        this.times -= 1;
        return this.fault;
    }

    async onRequest(request, response) {
        let body = "";
        response.on("error", () => {});
        for await (const chunk of request.setEncoding("utf8")) {
            body += chunk;
        }
        const message = body === "" ? null : JSON.parse(body);
        this.requests.push({ headers: request.headers, verb: request.method, message });
        if (await this.gate?.(request, response, message)) {
            return;
        }
        const { socket } = response;
        const answer = () => this.ask(message);
        const pass = async () => {
            response.setHeader("Content-Type", "application/json");
            response.end(await answer());
        };
        const fault = this.takeFault();
        await (fault === null ? pass() : faults[fault]({ response, socket, answer, pass, proxy: this }));
    }

    onStream(socket) {
        let text = "";
        socket.setEncoding("utf8").on("data", (chunk) => {
            const lines = (text + chunk).split("\n");
            text = lines.pop();
            lines.filter((line) => line.trim() !== "").forEach((line) => this.onLine(socket, JSON.parse(line)));
        });
    }

    async onLine(socket, message) {
        this.requests.push({ message });
        const answer = () => this.ask(message);
        const pass = async () => socket.write(`${await answer()}\n`);
        const fault = this.takeFault();
        await (fault === null ? pass() : streamFaults[fault]({ socket, answer, pass, proxy: this }));
    }
}

export async function startProxy(service, options) {
    const proxy = await new FaultProxy(service, options).start();
    after(() => proxy.stop());
    return proxy;
}

// A port where TLS goes wrong: connections that speak none, end, or wait for ever.
export const tlsFaults = {
    "no TLS": (socket) => socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    "a reset in the handshake": (socket) => socket.once("data", () => socket.resetAndDestroy()),
    "a handshake that never ends": () => {},
    "garbage in the handshake": (socket) => socket.once("data", () => socket.end("\u0016\u0003\u0001 what")),
};

export async function startBrokenTls(kind) {
    const sockets = new Set();
    const server = net.createServer((socket) => {
        sockets.add(socket.on("error", () => {}));
        tlsFaults[kind](socket);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    after(() => {
        sockets.forEach((socket) => socket.destroy());
        server.close();
    });
    return { url: `https://127.0.0.1:${server.address().port}/rpc` };
}
