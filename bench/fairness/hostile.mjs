// What hostile clients share: many connections from one address that post again and again.
import http from "node:http";
import { sleep } from "../http/servers.mjs";

export const sleepMethod = "test.sleep";
export const slowMs = 200;

export const batchOf = (n, message) => JSON.stringify(Array.from({ length: n }, () => message));
export const notification = { jsonrpc: "2.0", method: sleepMethod, params: { ms: slowMs } };

// An array of strings of 1.1 MB.
export const words = Array.from({ length: 65_000 }, () => `${"a".repeat(14)}!`);

// The address and port of a server for the functions of Node.
export function target(address) {
    const [host, port] = address.split(":");
    return { host, port: Number(port) };
}

const mostText = 4096;

// Send one request; resolves with { status, headers, text } (the start of the body) when the answer has ended,
// and with null when the connection ended without one. `options` are those of Node.
export function ask(address, from, { body, ...options }) {
    return new Promise((resolve) => {
        const request = http.request({ ...target(address), localAddress: from, ...options });
        request.on("response", (answer) => {
            let text = "";
            answer.setEncoding("latin1").on("data", (part) => (text = (text + part).slice(0, mostText)));
            answer.on("close", () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
        });
        request.on("error", () => resolve(null));
        request.end(body);
    });
}

export function post(address, from, path, { headers = {}, body }, agent) {
    const all = { "Content-Type": "application/json", ...headers };
    return ask(address, from, { method: "POST", path, headers: all, body, agent });
}

export const statusOf = (answer) => answer?.status ?? "none";

// `connections` clients, each of which calls `once` again as soon as it is over, and counts its answer.
export function flood(connections, count, once, nameOf = statusOf) {
    const forever = async () => {
        for (;;) {
            count(nameOf(await once()));
        }
    };
    return Promise.all(Array.from({ length: connections }, forever));
}

// The address that a trusted proxy believes: the n-th of a network for benchmarks (RFC 2544). Each is a network
// of its own.
export const trustedProxies = ["127.0.0.2"];
export const forwardedFor = (n) => ({
    "X-Forwarded-For": `198.18.${(n >> 8) & 255}.${n & 255}`,
    "X-Forwarded-Proto": "https",
});

const moveMs = 10_000;

// A client with many networks: `once(headers)` sends a request from one of them, until that one has to wait (429);
// then the next one has its turn. { send, moved }: the second resolves when the first network has to wait, which
// uses up what each network has free, or after ten seconds.
export function roaming(once) {
    let network = 0;
    let move;
    const first = new Promise((resolve) => (move = resolve));
    const send = async () => {
        const mine = network;
        const answer = await once(forwardedFor(mine));
        if (answer?.status === 429 && mine === network) {
            network += 1;
            move();
        }
        return answer;
    };
    return { send, moved: Promise.race([first, sleep(moveMs)]) };
}
