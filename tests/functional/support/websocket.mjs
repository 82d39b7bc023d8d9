// A JSON-RPC service on a WebSocket (RFC 6455), in this process: ws, or wss with a certificate.
//
//     const service = await startWebSocket({ tls: makeCertificate("x"), ca: "client-ca.crt" });
//     service.url                 wss://127.0.0.1:PORT/rpc
//     service.gate = (request) => 401 or undefined: what it answers in place of 101
//     service.mode = "silent"     it takes everything and says nothing; "closes": it closes
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { after } from "node:test";
import { cut, frame, handshakeResponse, opcodes } from "./frames.mjs";
import { answerTo, openRpc } from "./service.mjs";

const { text, close, ping, pong } = opcodes;

class WebSocketService {
    constructor({ tls, ca } = {}) {
        this.document = openRpc();
        this.calls = [];
        this.handshakes = []; // requests
        this.sockets = new Set();
        this.gate = () => undefined;
        this.mode = null;
        const files = tls && { cert: readFileSync(tls.certificate), key: readFileSync(tls.key) };
        const checks = ca && { ca: readFileSync(ca), requestCert: true, rejectUnauthorized: true };
        this.server = tls ? https.createServer({ ...files, ...checks }) : http.createServer();
        this.scheme = tls ? "wss" : "ws";
        this.server.on("upgrade", (request, socket) => this.onUpgrade(request, socket));
        this.server.on("tlsClientError", () => {});
    }

    async start() {
        await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
        this.url = `${this.scheme}://127.0.0.1:${this.server.address().port}/rpc`;
        return this;
    }

    onUpgrade(request, socket) {
        this.handshakes.push(request);
        socket.on("error", () => {});
        const status = this.gate(request);
        if (status !== undefined) {
            socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`);
            return;
        }
        socket.write(handshakeResponse(request));
        this.sockets.add(socket);
        socket.on("close", () => this.sockets.delete(socket));
        let rest = Buffer.alloc(0);
        socket.on("data", (bytes) => {
            const { frames, rest: behind } = cut(Buffer.concat([rest, bytes]));
            rest = behind;
            for (const one of frames) {
                this.onFrame(one, socket);
            }
        });
    }

    async onFrame({ opcode, data }, socket) {
        if (this.mode === "silent") {
            return;
        }
        if (this.mode === "closes") {
            const status = Buffer.from([1008 >> 8, 1008 & 255]);
            socket.end(frame(close, Buffer.concat([status, Buffer.from(this.reason ?? "")])));
        } else if (opcode === ping) {
            socket.write(frame(pong, data));
        } else if (opcode === close) {
            socket.end(frame(close, data.subarray(0, 2)));
        } else if (opcode === text) {
            socket.write(frame(text, JSON.stringify(await answerTo(JSON.parse(data), this))));
        }
    }

    // A message that no call has asked for.
    send(message) {
        this.sockets.forEach((socket) => socket.write(frame(text, JSON.stringify(message))));
    }

    notify(method, params) {
        this.send({ jsonrpc: "2.0", method, params });
    }

    // All connections end, without a word.
    cut() {
        this.sockets.forEach((socket) => socket.destroy());
    }

    async stop() {
        this.cut();
        this.server.closeAllConnections();
        await new Promise((resolve) => this.server.close(resolve));
    }
}

export async function startWebSocket(options) {
    const service = await new WebSocketService(options).start();
    after(() => service.stop());
    return service;
}
