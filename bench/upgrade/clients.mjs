// Clients of a server that is replaced while they use it: requests at a fixed rate on kept and on fresh
// connections, and streams that are opened again when they end. They read HTTP from sockets of their
// own, so that nothing is retried unnoticed.
import net from "node:net";

const version = "2026-07-28";
const legacyVersion = "2025-11-25";
const meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientCapabilities": {},
};
const accept = "Accept: application/json, text/event-stream\r\n";

function post(headers, body) {
    const text = JSON.stringify(body);
    const length = `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n`;
    return `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${accept}${length}${headers}\r\n${text}`;
}

const modernPost = (method, params, more = "") =>
    post(`MCP-Protocol-Version: ${version}\r\nMcp-Method: ${method}\r\n${more}`, {
        jsonrpc: "2.0",
        id: 1,
        method,
        params: { ...params, _meta: meta },
    });

const echo = { name: "test.echo", arguments: { message: "hello" } };
export const modernCall = modernPost("tools/call", echo, "Mcp-Name: test.echo\r\n");
const modernListen = modernPost("subscriptions/listen", { notifications: { toolsListChanged: true } });
const legacyHeaders = (session) => `Mcp-Session-Id: ${session}\r\nMCP-Protocol-Version: ${legacyVersion}\r\n`;
export const legacyCall = (session) =>
    post(legacyHeaders(session), { jsonrpc: "2.0", id: 1, method: "tools/call", params: echo });
const legacyListen = (session) =>
    `GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n${legacyHeaders(session)}\r\n`;

// On a connection of its own, which is closed: descriptors are counted later.
export function newSession(server) {
    const clientInfo = { name: "bench", version: "1" };
    const params = { protocolVersion: legacyVersion, capabilities: {}, clientInfo };
    const request = post("Connection: close\r\n", { jsonrpc: "2.0", id: 1, method: "initialize", params });
    return new Promise((resolve, reject) => {
        const socket = openSocket(server);
        let text = "";
        socket.setEncoding("latin1").on("data", (part) => (text += part));
        socket.on("error", reject).on("end", () => resolve(/\r\nmcp-session-id: (\S+)/i.exec(text)[1]));
        socket.write(request);
    });
}

function openSocket(server) {
    const [host, port] = server.address.split(":");
    return net.connect({ host, port: Number(port), noDelay: true });
}

// ---- requests ----

// The response at the start of `text`; undefined while it is incomplete.
function parse(text) {
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) {
        return undefined;
    }
    const head = text.slice(0, end);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? NaN);
    const body = text.slice(end + 4);
    if (!(Buffer.byteLength(body) >= length)) {
        return undefined;
    }
    return { status: Number(head.slice(9, 12)), body, closes: /\r\nconnection: close/i.test(head) };
}

// A client with at most one connection. A server may close it between requests, not during one.
export class Client {
    constructor(server, { isFresh }) {
        this.server = server;
        this.isFresh = isFresh;
        this.socket = null;
        this.waiting = null; // { resolve, text, timer }
    }

    get isBusy() {
        return this.waiting !== null;
    }

    connect() {
        const socket = openSocket(this.server);
        socket.setEncoding("utf8");
        socket.on("data", (text) => this.take(socket, text));
        const gone = (error) => {
            if (this.socket !== socket) {
                return;
            }
            this.socket = null;
            this.settle(`connection lost${error?.code ? `: ${error.code}` : ""}`);
            socket.destroy();
        };
        socket.on("error", gone).on("end", gone).on("close", gone);
        this.socket = socket;
    }

    settle(failure) {
        const { waiting } = this;
        if (waiting === null) {
            return;
        }
        this.waiting = null;
        clearTimeout(waiting.timer);
        waiting.resolve(failure);
    }

    take(socket, text) {
        if (this.socket !== socket || this.waiting === null) {
            return;
        }
        this.waiting.text += text;
        const response = parse(this.waiting.text);
        if (response === undefined) {
            return;
        }
        if (this.isFresh || response.closes) {
            this.socket = null;
            socket.end();
        }
        const isGood = response.status === 200 && response.body.includes("hello");
        this.settle(isGood ? undefined : `${response.status} ${response.body.slice(0, 200)}`);
    }

    // Resolves with undefined, or with what went wrong.
    send(request) {
        return new Promise((resolve) => {
            const timer = setTimeout(() => this.settle("no response within 10 s"), 10_000);
            this.waiting = { resolve, text: "", timer };
            if (this.socket === null) {
                this.connect();
            }
            this.socket.write(request);
        });
    }

    close() {
        this.socket?.destroy();
        this.socket = null;
    }
}

// ---- streams ----

// A stream that comes back after a pause, as clients do: at most a tenth of the two seconds that the
// server proposes. `onBack(ms)` has the time from its end to the first byte of the next one.
export class Stream {
    constructor(server, { session, onBack, onFailure }) {
        Object.assign(this, { server, session, onBack, onFailure });
        this.isOpen = false;
        this.isOver = false;
        this.opened = 0; // when the current one was acknowledged
        this.changed = 0; // when it was last notified of a change
        this.ends = { complete: 0, plain: 0 };
        this.closed = undefined;
        this.open();
    }

    open() {
        const socket = openSocket(this.server);
        this.socket = socket;
        let text = "";
        socket.setEncoding("utf8");
        socket.on("connect", () => socket.write(this.session ? legacyListen(this.session) : modernListen));
        socket.on("data", (part) => {
            text = (text + part).slice(-4096);
            this.take(text);
            if (part.includes("list_changed")) {
                this.changed = performance.now();
            }
            if (/\r\n0\r\n\r\n$/.test(text)) {
                socket.end();
            }
        });
        socket.on("error", (error) => this.isOver || this.onFailure(`stream: ${error.code}`));
        socket.on("close", () => this.lost(text));
    }

    take(text) {
        if (this.isOpen) {
            return;
        }
        const isGood = this.session
            ? /^HTTP\/1\.1 200 [\s\S]*\r\n\r\n/.test(text)
            : text.includes("subscriptions/acknowledged");
        if (!isGood) {
            return;
        }
        this.isOpen = true;
        this.opened = performance.now();
        if (this.closed !== undefined) {
            this.onBack(this.opened - this.closed);
        }
        this.closed = undefined;
    }

    lost(text) {
        if (this.isOver) {
            return;
        }
        const isWhole = /\r\n0\r\n\r\n$/.test(text);
        const isComplete = text.includes('"resultType":"complete"');
        if (!isWhole || (!this.session && !isComplete)) {
            this.onFailure(`stream ended with ${JSON.stringify(text.slice(-200))}`);
        }
        this.isOpen = false;
        this.closed ??= performance.now();
        setTimeout(() => this.isOver || this.open(), Math.random() * 200);
    }

    // Whether it knows of a change: it was told, or it began afterwards and its client has read its lists.
    knows(change) {
        return this.isOpen && (this.opened > change || this.changed > change);
    }

    close() {
        this.isOver = true;
        this.socket.destroy();
    }
}
