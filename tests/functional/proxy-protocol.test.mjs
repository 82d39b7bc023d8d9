// The PROXY protocol: which client a balancer names, before TLS too, and headers that are refused.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { after, before, test } from "node:test";
import tls from "node:tls";
import { call, discover } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { reloadBridge, startBridge } from "./support/mcp.mjs";
import { runCauseway, timeLimit, writeConfig } from "./support/programs.mjs";
import { splitResponses } from "./support/raw.mjs";
import { eventually, get, makeCertificate, openFiles, request } from "./support/server.mjs";

const v1 = (client, port = 4711) => {
    const family = client.includes(":") ? "TCP6" : "TCP4";
    return Buffer.from(`PROXY ${family} ${client} ${family === "TCP6" ? "::1" : "192.0.2.1"} ${port} 443\r\n`);
};
const signature = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
function v2({ command = 0x21, family = 0x11, body = Buffer.alloc(0) }) {
    const length = Buffer.from([body.length >> 8, body.length & 255]);
    return Buffer.concat([signature, Buffer.from([command, family]), length, body]);
}
const v4Body = (client, tlvs = []) =>
    Buffer.from([...client.split(".").map(Number), 192, 0, 2, 1, 0x12, 0x67, 0x01, 0xbb, ...tlvs]);

// Send `header`, in pieces of one byte if `slowly`, and then a request; the response, or null.
function ask(port, header, text, { withTls = false, slowly = false, from = "127.0.0.1" } = {}) {
    return new Promise((resolve, reject) => {
        const socket = net.connect({ port, host: "127.0.0.1", localAddress: from, noDelay: true });
        const received = [];
        const left = timeLimit(10_000);
        const done = (response) => {
            clearInterval(timer);
            socket.destroy();
            resolve(response);
        };
        const timer = setInterval(() => {
            if (left() <= 0) {
                reject(new Error("no response and no end"));
                done(null);
            }
        }, 100);
        const talk = (over) => {
            over.on("data", (chunk) => {
                received.push(chunk);
                const [response] = splitResponses(Buffer.concat(received));
                if (response?.complete) {
                    done({ ...response, text: response.body.toString() });
                }
            });
            over.on("close", () => done(null)).on("error", () => done(null));
            over.write(text);
        };
        socket.on("connect", async () => {
            for (const piece of slowly ? [...header].map((byte) => Buffer.from([byte])) : [header]) {
                await new Promise((sent) => socket.write(piece, sent));
                await new Promise((turn) => setTimeout(turn, slowly ? 1 : 0));
            }
            talk(withTls ? tls.connect({ socket, rejectUnauthorized: false }) : socket);
        });
        socket.on("close", () => done(null)).on("error", () => done(null));
    });
}

let server;
let plain;
let secure;
let audit;
const list = get("/mcp/tools/list");

before(async () => {
    const certificate = makeCertificate("localhost");
    audit = path.join(keepFolder(), "audit.jsonl");
    const config = {
        listen: [
            "127.0.0.1:0",
            { address: "127.0.0.1:0", proxy_protocol: true },
            { address: "127.0.0.1:0", proxy_protocol: true, tls: true },
        ],
        tls: certificate,
        trusted_proxies: ["127.0.0.1", "198.51.100.7"],
        timeouts: { header: "5m" },
        limits: { rates: { lists: "1/h burst 3" }, connections_per_address: 40 },
        audit: { path: audit },
        roles: { anonymous: [discover, call] },
    };
    server = await startBridge({ config, roles: config.roles, listen: false });
    [, plain, secure] = [...server.stdout.matchAll(/https?:\/\/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port));
});
after(() => server.stop());

const peers = () => [...server.stderr.matchAll(/request peer="([^"]*)"/g)].map(([, peer]) => peer);

test("the client of the header counts for rates, log and audit, also before TLS", async () => {
    const statuses = [];
    const headers = [
        v1("203.0.113.1"),
        v2({ body: v4Body("203.0.113.1") }),
        v2({ body: v4Body("203.0.113.1", [0x04, 0, 2, 1, 2]) }),
        v1("::ffff:203.0.113.1"),
        v1("203.0.113.2"),
    ];
    for (const [i, header] of headers.entries()) {
        const options = { withTls: i % 2 === 1, slowly: i < 2 };
        statuses.push((await ask(options.withTls ? secure : plain, header, list, options))?.status);
    }
    assert.deepEqual(statuses, [200, 200, 200, 429, 200]);
    const v6 = v1("2001:db8::1");
    const denied = request(
        "POST",
        "/jsonrpc",
        { "Content-Type": "application/json" },
        '{"jsonrpc":"2.0","method":"no.such","id":1}',
    );
    assert.notEqual(await ask(plain, v6, denied), null);
    await eventually(() => new Set(peers()).size >= 3, "the addresses in the log");
    assert.deepEqual(new Set(peers()), new Set(["203.0.113.1", "203.0.113.2", "2001:db8::1"]));
    const records = () => readFileSync(audit, "utf8").split("\n").filter(Boolean);
    await eventually(() => records().some((line) => JSON.parse(line).address === "2001:db8::1"), "an audit record");
});

test("a header without a client leaves the address of the balancer", async () => {
    const forged = get("/healthz", { "X-Forwarded-For": "203.0.113.66" });
    const unix = Buffer.alloc(216);
    unix.write("/run/client.sock");
    const headers = [
        Buffer.from("PROXY UNKNOWN\r\n"),
        v2({ command: 0x20, family: 0 }),
        v2({ command: 0x20, body: v4Body("203.0.113.67") }),
        v2({ family: 0x31, body: unix }),
        v2({ family: 0, body: Buffer.from("anything") }),
    ];
    const seen = peers().length;
    for (const header of headers) {
        assert.equal((await ask(plain, header, forged)).status, 200);
    }
    await eventually(() => peers().length === seen + headers.length, "the lines of the log");
    assert.deepEqual(new Set(peers().slice(seen)), new Set(["127.0.0.1"]));
});

test("threat-A11: forwarded headers count only if the client of the header is a trusted proxy", async () => {
    const forged = get("/healthz", { "X-Forwarded-For": "203.0.113.66" });
    const seen = peers().length;
    await ask(plain, v1("203.0.113.5"), forged);
    await ask(plain, v1("198.51.100.7"), forged);
    await eventually(() => peers().length === seen + 2, "the lines of the log");
    assert.deepEqual(peers().slice(seen), ["203.0.113.5", "203.0.113.66"]);
});

test("threat-A11: others than trusted proxies, and hostile headers, are refused", async () => {
    assert.equal(await ask(plain, v1("203.0.113.1"), list, { from: "127.0.0.2" }), null);
    await server.untilLogged(/connection refused: PROXY protocol peer="127\.0\.0\.2" why="the peer is not in trusted_/);
    const long = Buffer.alloc(600);
    const hostile = {
        none: Buffer.alloc(0),
        half: Buffer.from("PROXY TCP4 203.0.113.1 "),
        "too long": Buffer.from(`PROXY UNKNOWN ${"x".repeat(200)}\r\n`),
        "bad address": v1("203.0.113.256"),
        "bad port": v1("203.0.113.1", "99999"),
        "a line break alone": Buffer.from("PROXY TCP4 203.0.113.1 192.0.2.1 1 2\n"),
        "wrong version": v2({ command: 0x31, body: v4Body("203.0.113.1") }),
        "wrong command": v2({ command: 0x2f, body: v4Body("203.0.113.1") }),
        datagrams: v2({ family: 0x12, body: v4Body("203.0.113.1") }),
        short: v2({ family: 0x21, body: v4Body("203.0.113.1") }),
        "length beyond the ceiling": v2({ body: long }),
    };
    const before = openFiles(server.pid);
    for (const [name, header] of Object.entries(hostile)) {
        assert.equal(await ask(plain, header, list), null, name);
        assert.equal(await ask(secure, header, list), null, name);
    }
    // A header that stops in the middle ends with the time for a head, and nothing of it stays.
    await reloadBridge(server, { timeouts: { header: "1s" } });
    assert.equal(await ask(plain, signature, ""), null);
    await reloadBridge(server, { timeouts: { header: "5m" } });
    await eventually(() => openFiles(server.pid) <= before, "closed connections");
    const metrics = await ask(plain, v1("203.0.113.9"), get("/healthz"));
    assert.equal(metrics.status, 200);
});

// Open connections to `port` as these clients, one after another: the status of each, and their end.
function holder(port) {
    const open = [];
    const hold = (client) =>
        new Promise((resolve) => {
            const socket = net.connect(port, "127.0.0.1", () =>
                socket.write(Buffer.concat([v1(client), Buffer.from(get("/healthz"))])),
            );
            open.push(socket);
            socket.on("data", (chunk) => resolve(Number(chunk.toString("latin1", 9, 12))));
            socket.on("close", () => resolve(null)).on("error", () => resolve(null));
        });
    return { hold, closeAll: () => open.splice(0).forEach((socket) => socket.destroy()) };
}

test("connections count for the client of the header, not for the balancer", async () => {
    const { hold, closeAll } = holder(plain);
    const first = await Promise.all(Array.from({ length: 40 }, () => hold("203.0.113.20")));
    assert.deepEqual(new Set(first), new Set([200]));
    assert.equal(await hold("203.0.113.20"), 503);
    assert.equal(await hold("203.0.113.21"), 200);
    closeAll();
    await eventually(async () => (await hold("203.0.113.20")) === 200, "room for the address again");
    closeAll();
});

test("threat-A7: connections are not all held by one network of IPv6", async (t) => {
    const own = await startBridge({
        config: {
            listen: [{ address: "127.0.0.1:0", proxy_protocol: true }],
            trusted_proxies: ["127.0.0.1"],
            timeouts: { idle: "1h" },
            limits: { connections: 40, connections_per_address: 2 },
        },
        roles: {},
        listen: false,
    });
    t.after(() => own.stop());
    const { hold, closeAll } = holder(own.port);
    t.after(closeAll);
    const accepted = async (clients) => {
        let n = 0;
        for (const client of clients) {
            n += (await hold(client)) === 200;
        }
        return n;
    };
    const list = (n, client) => Array.from({ length: n }, (_, i) => client(i.toString(16)));
    assert.equal(await accepted(list(4, () => "2001:db8:1:1::1")), 2);
    assert.equal(await accepted(list(20, (i) => `2001:db8:1:${i}::1`)), 6);
    assert.equal(await accepted(list(40, (i) => `2001:db8:1:${i}00::1`)), 12);
    assert.equal(await accepted(["2001:db8:2::1", "203.0.113.30"]), 2);
    closeAll();
    await eventually(async () => (await hold("2001:db8:1:1::1")) === 200, "room for the network again");
    closeAll();
});

test("a listener with proxy_protocol needs trusted_proxies", async () => {
    const file = writeConfig({ listen: [{ address: "127.0.0.1:0", proxy_protocol: true }] });
    const { code, stderr } = await runCauseway(["config", "check", file]);
    assert.equal(code, 2);
    assert.match(stderr, /listen\[0\]: a listener with proxy_protocol needs trusted_proxies/);
});
