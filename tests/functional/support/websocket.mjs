// A JSON-RPC service on a WebSocket (RFC 6455), in this process: ws, or wss with a certificate.
//
//     const service = await startWebSocket({ tls: makeCertificate("x"), ca: "client-ca.crt" });
//     service.url                 wss://127.0.0.1:PORT/rpc
//     service.gate = (request) => 401 or undefined: what it answers in place of 101
//     service.mode = "silent"     it takes everything and says nothing; "closes": it closes
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { after } from "node:test";
import { answerTo, openRpc } from "./service.mjs";

const guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const text = 1;
const close = 8;
const ping = 9;
const pong = 10;

// A frame as a server writes it.
function frame(opcode, data) {
    const bytes = Buffer.from(data);
    const head =
        bytes.length < 126
            ? Buffer.from([0x80 | opcode, bytes.length])
            : Buffer.from([0x80 | opcode, 127, ...Buffer.alloc(8)]);
    if (bytes.length >= 126 && bytes.length < 65_536) {
        return Buffer.concat([Buffer.from([0x80 | opcode, 126, bytes.length >> 8, bytes.length & 255]), bytes]);
    }
    if (bytes.length >= 65_536) {
        head.writeBigUInt64BE(BigInt(bytes.length), 2);
    }
    return Buffer.concat([head, bytes]);
}

// The frames that have come whole, [{ opcode, data }], and the bytes behind them.
function cut(bytes) {
    const frames = [];
    for (;;) {
        const short = bytes.length < 2 ? 0 : bytes[1] & 127;
        const more = short === 127 ? 8 : short === 126 ? 2 : 0;
        if (bytes.length < 6 + more) {
            return { frames, rest: bytes };
        }
        const size = more === 8 ? Number(bytes.readBigUInt64BE(2)) : more ? bytes.readUInt16BE(2) : short;
        const from = 6 + more;
        if (bytes.length < from + size) {
            return { frames, rest: bytes };
        }
        const data = Buffer.from(bytes.subarray(from, from + size));
        for (let i = 0; i < size; i += 1) {
            data[i] ^= bytes[from - 4 + (i % 4)];
        }
        frames.push({ opcode: bytes[0] & 15, data });
        bytes = bytes.subarray(from + size);
    }
}

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
        const key = request.headers["sec-websocket-key"];
        const accept = createHash("sha1")
            .update(key + guid)
            .digest("base64");
        socket.write(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
                `Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
        );
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
