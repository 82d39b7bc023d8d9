// Bytes over a socket, exactly as given, and what comes back: for requests that no client makes.
//
//     const { bytes, closed } = await rawExchange(port, "GET / HTTP/1.1\r\n\r\n");
//     const [first] = splitResponses(bytes);
//     assert.equal(first.status, 400);
import net from "node:net";
import tls from "node:tls";
import { slowness, timeLimit } from "./programs.mjs";
import { transcribe } from "./kept.mjs";

let exchanges = 0;

function pieces(bytes, { splitEvery, splitAt }) {
    const cuts = splitAt ?? [];
    for (let at = splitEvery ?? Infinity; at < bytes.length; at += splitEvery) {
        cuts.push(at);
    }
    const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
    return edges.slice(1).map((end, i) => bytes.subarray(edges[i], end));
}

// Each piece is handed to the kernel before the next one is written, so the server can see it alone.
async function send(socket, parts, delayMs) {
    for (const part of parts) {
        if (socket.destroyed || !socket.writable) {
            return;
        }
        await new Promise((resolve) => socket.write(part, resolve));
        await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
}

export function connect(to, tlsOptions) {
    const where = typeof to === "object" ? to : { port: to, host: "127.0.0.1" };
    const options = { ...where, allowHalfOpen: true, noDelay: true };
    return tlsOptions === undefined
        ? net.connect(options)
        : tls.connect({ ...options, rejectUnauthorized: false, ...tlsOptions });
}

// Send `request` (text is taken byte for byte, as latin1) to a port or to {host, port} or {path}.
//
//   splitEvery, splitAt   write in pieces of so many bytes, or cut at these offsets
//   delayMs               pause after each piece (default 0: one turn of the event loop)
//   responses             stop when so many responses are complete and the server has kept the
//                         connection open for settleMs more; without it, wait for the server to close
//   methods               the methods of the requests, as splitResponses takes them
//   halfClose             end our side after the last byte
//   timeoutMs             give up waiting; what came so far is returned with timedOut
//   tls                   options of tls.connect
//
// Returns { bytes, closed, reset, timedOut }: closed when the server ended the connection.
export async function rawExchange(to, request, options = {}) {
    const { delayMs = 0, responses, methods, settleMs = 25, halfClose = false } = options;
    const left = timeLimit(options.timeoutMs ?? 5_000);
    const input = Buffer.from(request, "latin1");
    const label = `#${(exchanges += 1)}`;
    const received = [];
    const state = { closed: false, reset: false, timedOut: false };
    const socket = connect(to, options.tls);

    const finished = new Promise((resolve) => {
        const timer = setInterval(() => left() <= 0 && resolve((state.timedOut = true)), 20);
        let settled;
        socket.on("data", (chunk) => {
            received.push(chunk);
            clearTimeout(settled);
            const enough = () =>
                splitResponses(Buffer.concat(received), { methods }).filter(
                    ({ complete, status }) => complete && status >= 200,
                ).length >= responses;
            if (responses !== undefined && enough()) {
                settled = setTimeout(resolve, settleMs * slowness);
            }
        });
        socket.on("end", () => resolve((state.closed = true)));
        socket.on("error", ({ code }) => {
            state.reset = code === "ECONNRESET" || code === "EPIPE";
            state.closed = true;
            resolve();
        });
        socket.on("close", () => clearInterval(timer));
    });

    transcribe(label, ">", input);
    await Promise.race([finished, send(socket, pieces(input, options), delayMs)]);
    if (halfClose) {
        socket.end();
    }
    await finished;
    socket.destroy();
    const bytes = Buffer.concat(received);
    transcribe(label, state.closed ? "< (then closed)" : "<", bytes);
    return { bytes, ...state };
}

// The body of a chunked message that starts at `at`: { body, end } or null while incomplete.
function readChunks(bytes, at) {
    const parts = [];
    for (;;) {
        const lineEnd = bytes.indexOf("\r\n", at, "latin1");
        if (lineEnd < 0) {
            return null;
        }
        const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
        at = lineEnd + 2;
        if (size === 0) {
            const trailers = bytes.indexOf("\r\n\r\n", lineEnd, "latin1");
            return trailers < 0 ? null : { body: Buffer.concat(parts), end: trailers + 4 };
        }
        if (!(at + size + 2 <= bytes.length)) {
            return null;
        }
        parts.push(bytes.subarray(at, at + size));
        at += size + 2;
    }
}

function readBody(bytes, at, { status, headers }, method) {
    if (method === "HEAD" || status < 200 || status === 204 || status === 304) {
        return { body: Buffer.alloc(0), end: at };
    }
    if (/chunked/i.test(headers.get("transfer-encoding") ?? "")) {
        return readChunks(bytes, at);
    }
    const length = headers.get("content-length");
    if (length === undefined) {
        return { body: bytes.subarray(at), end: bytes.length };
    }
    const end = at + Number(length);
    return end <= bytes.length ? { body: bytes.subarray(at, end), end } : null;
}

function readHead(text) {
    const [first, ...lines] = text.split("\r\n");
    const match = /^HTTP\/1\.([01]) (\d{3}) ?(.*)$/.exec(first);
    if (match === null) {
        throw new Error(`not a status line: ${JSON.stringify(first)}`);
    }
    const headers = new Map();
    for (const line of lines) {
        const colon = line.indexOf(":");
        const name = line.slice(0, colon).toLowerCase();
        const value = line.slice(colon + 1).trim();
        headers.set(name, headers.has(name) ? `${headers.get(name)}, ${value}` : value);
    }
    return { minor: Number(match[1]), status: Number(match[2]), reason: match[3], headers };
}

// Split what a server sent into its responses, pipelined ones too: [{ status, reason, minor,
// headers (a Map, names in lower case), body (a Buffer), complete, end (offset behind it) }].
// `methods` names the method of each request, since an answer to HEAD has no body; interim (1xx)
// responses use none up.
export function splitResponses(bytes, { methods = [] } = {}) {
    const found = [];
    let at = 0;
    let request = 0;
    while (at < bytes.length) {
        const headEnd = bytes.indexOf("\r\n\r\n", at, "latin1");
        if (headEnd < 0) {
            found.push({ status: 0, headers: new Map(), body: bytes.subarray(at), complete: false });
            break;
        }
        const head = readHead(bytes.toString("latin1", at, headEnd));
        const body = readBody(bytes, headEnd + 4, head, methods[request]);
        if (body === null) {
            found.push({ ...head, body: bytes.subarray(headEnd + 4), complete: false });
            break;
        }
        found.push({ ...head, body: body.body, complete: true, end: body.end });
        at = body.end;
        request += head.status >= 200 ? 1 : 0;
    }
    return found;
}
