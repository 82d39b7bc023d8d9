// Clients of many kinds for the soak: polite ones, hasty ones, rude ones. Each function is one
// visit; it throws when the server did anything but what is right.
import assert from "node:assert/strict";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import { sleep } from "./servers.mjs";

const timeoutMs = 20_000;
const below = (n) => Math.floor(Math.random() * n);
const pick = (all) => all[below(all.length)];

const keepAlive = {
    "http:": new http.Agent({ keepAlive: true, maxSockets: 8 }),
    "https:": new https.Agent({ keepAlive: true, maxSockets: 4, rejectUnauthorized: false }),
};

// One request by Node's client; `onData` may end it early by returning false.
function ask(url, { method = "GET", body, agent, onData = () => true } = {}) {
    const { request } = url.startsWith("https:") ? https : http;
    return new Promise((resolve, reject) => {
        const options = { method, agent, rejectUnauthorized: false, timeout: timeoutMs };
        const asked = request(url, options, (answer) => {
            const parts = [];
            answer.on("data", (part) => {
                parts.push(part);
                if (onData(part, answer) === false) {
                    asked.destroy();
                    resolve({ status: answer.statusCode, left: true });
                }
            });
            answer.on("end", () => resolve({ status: answer.statusCode, body: Buffer.concat(parts) }));
            answer.on("error", reject);
        });
        asked.on("timeout", () => asked.destroy(new Error("no answer in time")));
        asked.on("error", reject);
        asked.end(body);
    });
}

// Bytes in, everything that comes back until the server closes or `enough(text)`.
function exchange(port, bytes, enough = () => false) {
    return new Promise((resolve, reject) => {
        const socket = net.connect({ port, host: "127.0.0.1", noDelay: true });
        let text = "";
        const timer = setTimeout(() => socket.destroy(new Error("no end in time")), timeoutMs);
        socket.setEncoding("latin1");
        socket.on("connect", () => socket.write(bytes, "latin1"));
        socket.on("data", (part) => {
            text += part;
            if (enough(text)) {
                socket.destroy();
            }
        });
        socket.on("error", reject);
        socket.on("close", () => {
            clearTimeout(timer);
            resolve(text);
        });
    });
}

const get = (path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const port = (url) => Number(new URL(url).port);

async function expectOk(url, options) {
    const { status, body } = await ask(url, options);
    assert.equal(status, 200, url);
    return body;
}

const agentFor = (url) => keepAlive[new URL(url).protocol];

async function polite({ product, secure, test }) {
    const url = pick([`${product}/healthz`, `${product}/readyz`, `${secure}/healthz`, `${test}/2k`]);
    await expectOk(url, { agent: agentFor(url) });
}

async function posting({ test }) {
    const body = "b".repeat(below(30_000));
    const echoed = await expectOk(`${test}/echo`, { method: "POST", body, agent: agentFor(test) });
    assert.equal(JSON.parse(echoed).body.length, body.length, "echoed length");
}

async function fresh({ product, secure, test }) {
    const url = pick([`${product}/healthz`, `${product}/healthz`, `${secure}/healthz`, `${test}/2k`]);
    await expectOk(url, { agent: false });
}

async function pipelining({ product, test }) {
    const [url, path] = pick([
        [product, "/healthz"],
        [test, "/item/1"],
    ]);
    const count = 1 + below(40);
    const good = (text) => text.split("HTTP/1.1 200 OK\r\n").length - 1;
    // The last one asks for the close, so that all answers are there at the end.
    const last = get(path).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    const text = await exchange(port(url), get(path).repeat(count) + last);
    assert.equal(good(text), count + 1, "pipelined answers");
}

async function listening({ test }) {
    const count = 1 + below(10);
    const body = await expectOk(`${test}/events?${count}`, { agent: agentFor(test) });
    assert.equal(body.toString().split("event: tick").length - 1, count, "events");
}

async function hangingUp({ test }) {
    let events = 1 + below(4);
    const { status } = await ask(`${test}/events`, { agent: false, onData: () => --events > 0 });
    assert.equal(status, 200, "events");
}

async function impatient({ test }) {
    const asked = http.get(`${test}/later?300`, { agent: false });
    const ended = new Promise((resolve) => asked.on("close", resolve).on("error", () => {}));
    await sleep(below(50));
    asked.destroy();
    await ended;
}

// Goes away at a random byte of a request, half of the time without a goodbye.
async function cutOff({ product, test }) {
    const [url, request] = pick([
        [product, get("/healthz")],
        [test, "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\nhalf of it"],
        [test, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"],
        [test, get("/flood?1000000")],
    ]);
    const socket = net.connect({ port: port(url), host: "127.0.0.1" });
    const ended = new Promise((resolve) => socket.on("close", resolve).on("error", () => {}));
    socket.on("connect", () => socket.write(request.slice(0, 1 + below(request.length))));
    await sleep(below(20));
    if (below(2)) {
        socket.resetAndDestroy();
    } else {
        socket.destroy();
    }
    await ended;
}

const bad = [
    "GET / HTTP/1.1\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    "GET / HTTP/1.1\nHost: localhost\n\n",
    "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "G\u0000T / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: localhost\r\nA: b\r\n c\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1, 2\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    `GET /${"x".repeat(9000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: localhost\r\nA: ${"x".repeat(40_000)}\r\n\r\n`,
];

async function malformed({ product, test }) {
    const request = pick(bad);
    const text = await exchange(port(pick([product, test])), request);
    assert.match(text, /^HTTP\/1\.1 4\d\d /, `to ${JSON.stringify(request.slice(0, 60))}`);
}

async function refused({ product }) {
    const foreign = get("/healthz").replace("localhost", "evil.test");
    const text = await exchange(port(product), foreign, (sofar) => sofar.includes("\r\n\r\n"));
    assert.match(text, /^HTTP\/1\.1 4\d\d /, "a foreign host");
    const { status } = await ask(`${product}/nothing`, { agent: agentFor(product) });
    assert.equal(status, 404, "an unknown path");
}

// Stops reading for a while; the server has to wait, and loses nothing.
async function dawdling({ test }) {
    const [kind, size] = [pick(["flood", "big"]), 500_000 + below(1_000_000)];
    let rest = true;
    const onData = (_, answer) => {
        if (rest) {
            rest = false;
            answer.pause();
            setTimeout(() => answer.resume(), below(100));
        }
    };
    const body = await expectOk(`${test}/${kind}?${size}`, { agent: false, onData });
    assert.equal(body.length, size, `bytes of ${kind}`);
}

// How many of each are on their way at once, and how long each rests between visits.
const kinds = [
    { visit: polite, clients: 12, restMs: 10 },
    { visit: posting, clients: 2, restMs: 20 },
    { visit: fresh, clients: 3, restMs: 20 },
    { visit: pipelining, clients: 2, restMs: 30 },
    { visit: listening, clients: 6, restMs: 10 },
    { visit: hangingUp, clients: 6, restMs: 10 },
    { visit: impatient, clients: 4, restMs: 10 },
    { visit: cutOff, clients: 4, restMs: 10 },
    { visit: malformed, clients: 2, restMs: 20 },
    { visit: refused, clients: 1, restMs: 50 },
    { visit: dawdling, clients: 2, restMs: 200 },
];

// Visit until `until()` says so. Returns how often each kind came; what went wrong is told to
// `onFailure`.
export async function visitAll(where, until, onFailure) {
    const visits = {};
    const client = async ({ visit, restMs }) => {
        while (!until()) {
            visits[visit.name] = (visits[visit.name] ?? 0) + 1;
            await visit(where).catch((error) => onFailure(`${visit.name}: ${error.message}`));
            await sleep(restMs / 2 + below(restMs));
        }
    };
    await Promise.all(kinds.flatMap((kind) => Array.from({ length: kind.clients }, () => client(kind))));
    Object.values(keepAlive).forEach((agent) => agent.destroy());
    return visits;
}
