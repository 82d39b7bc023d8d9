// What tests of the HTTP server share: the test server (tests/integration/testserver.c), connections
// that stay open, and a look at a process from outside.
//
//     const server = await startTestServer({ header_ms: 300 });
//     const c = await Connection.open(server);
//     await c.send(get("/echo"));
//     const { status, body } = await c.response();
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { after } from "node:test";
import { keepFolder } from "./kept.mjs";
import { buildFolder, replicaCount, startProgram, timeLimit } from "./programs.mjs";
import { connect, splitResponses } from "./raw.mjs";

export const testServer = path.join(buildFolder, "tests", "integration", "testserver");

// Options of the test server as an object; a list repeats its option.
export function testServerArgs(options) {
    return Object.entries(options).flatMap(([name, value]) => [value].flat().map((one) => `${name}=${one}`));
}

// `files` of what is returned: how many files the server has open while nobody is connected.
export async function startTestServer(options = {}) {
    const server = await startProgram(testServer, testServerArgs(options), { name: "testserver" });
    server.files = openFiles(server.pid);
    return server;
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Wait until `check()` gives something true, and return that. Where servers take turns, each of them has to.
export async function eventually(check, what, timeoutMs = 5_000) {
    const left = timeLimit(timeoutMs);
    for (let inARow = 0; ; ) {
        const found = await check();
        inARow = found ? inARow + 1 : 0;
        if (inARow >= replicaCount) {
            return found;
        }
        assert.ok(left() > 0, `not in time: ${what}`);
        await pause(found ? 0 : 5);
    }
}

// Run `work(item, index)` for every item, so many at a time.
export async function inParallel(items, atOnce, work) {
    let next = 0;
    const worker = async () => {
        while (next < items.length) {
            const index = next++;
            await work(items[index], index);
        }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
}

// ---- requests as text ----

export function request(method, target, headers = {}, body) {
    const all = { Host: "localhost", ...headers };
    if (body !== undefined && !("Transfer-Encoding" in all) && !("Content-Length" in all)) {
        all["Content-Length"] = Buffer.byteLength(body, "latin1");
    }
    const lines = Object.entries(all).flatMap(([name, value]) =>
        value === undefined ? [] : [value].flat().map((one) => `${name}: ${one}\r\n`),
    );
    return `${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n${body ?? ""}`;
}

export const get = (target, headers) => request("GET", target, headers);

// A GET whose head has a length that is `size` or, with `multiple`, a multiple of it.
export function paddedGet(target, size, { multiple = false } = {}) {
    const bare = get(target, { "X-Pad": "" }).length;
    const missing = multiple ? (size - (bare % size)) % size : size - bare;
    return get(target, { "X-Pad": "x".repeat(missing) });
}

// ---- a connection that stays open ----

// Those that a failed test left open must not keep its file from ending.
const open = new Set();
after(() => open.forEach((c) => c.close()));

export class Connection {
    static async open(to, options = {}) {
        const c = new Connection(typeof to?.port === "number" && to.url ? to.port : to, options);
        await c.opened;
        return c;
    }

    // With `stays` our side stays open when the server has ended its own.
    constructor(to, { tls, stays = false, ...socketOptions } = {}) {
        const where = typeof to === "object" ? to : { port: to, host: "127.0.0.1" };
        this.store = Buffer.alloc(4096); // grows by doubling
        this.start = 0;
        this.fill = 0;
        this.scan = 0; // offset of the next chunk of the answer at `start`, once it is known
        this.total = 0;
        this.ended = false; // the server will send nothing more
        this.error = null;
        this.waiting = null;
        this.socket = connect({ ...where, ...socketOptions }, tls);
        open.add(this);
        this.socket.on("close", () => open.delete(this));
        this.opened = new Promise((resolve, reject) => {
            this.socket.once(tls ? "secureConnect" : "connect", resolve);
            this.socket.once("error", reject);
        });
        this.opened.catch(() => {});
        this.socket.on("data", (chunk) => {
            this.append(chunk);
            this.total += chunk.length;
            this.waiting?.();
        });
        const end = (error) => {
            this.ended = true;
            this.error ??= error instanceof Error ? error : null;
            this.waiting?.();
        };
        this.socket.on("end", end).on("close", end).on("error", end);
        if (!stays) {
            this.socket.on("end", () => this.socket.end());
        }
    }

    get closedCleanly() {
        return this.ended && this.error === null;
    }

    // Everything that came and was not taken by response().
    get buffer() {
        return this.store.subarray(this.start, this.fill);
    }

    append(chunk) {
        if (this.fill + chunk.length > this.store.length) {
            const old = this.buffer;
            this.store = Buffer.alloc((old.length + chunk.length) * 2);
            this.fill = old.copy(this.store);
            this.start = 0;
        }
        this.fill += chunk.copy(this.store, this.fill);
    }

    send(bytes) {
        return new Promise((resolve) => {
            this.socket.write(Buffer.from(bytes, "latin1"), resolve);
        });
    }

    // Wait until the server has read all that was sent. For connections over IPv4.
    async untilRead() {
        const { localPort, remotePort } = this.socket;
        const hex = (port) => port.toString(16).toUpperCase().padStart(4, "0");
        const [ours, theirs] = [hex(localPort), hex(remotePort)];
        // What we have not handed over yet, or what the other side has not read.
        const queue = (from, to, column) => {
            const line = new RegExp(`: [0-9A-F]{8}:${from} [0-9A-F]{8}:${to} \\w+ (\\w+):(\\w+)`);
            return Number.parseInt(line.exec(readFileSync("/proc/net/tcp", "latin1"))?.[column] ?? "0", 16);
        };
        const isRead = () => queue(ours, theirs, 1) === 0 && queue(theirs, ours, 2) === 0;
        await eventually(isRead, "the server reads what was sent");
    }

    // Wait until `check()` is true; looks after each piece that comes, and at the end.
    async until(check, what, timeoutMs = 5_000) {
        const left = timeLimit(timeoutMs);
        while (!check()) {
            assert.ok(left() > 0, `not in time: ${what}; got ${shown(this.buffer)}`);
            const timer = setTimeout(() => this.waiting?.(), left());
            await new Promise((resolve) => (this.waiting = resolve));
            clearTimeout(timer);
            this.waiting = null;
        }
    }

    // Whether the last chunk of a chunked answer is here; looks at each chunk once.
    hasLastChunk() {
        const bytes = this.buffer;
        if (this.scan === 0) {
            const head = bytes.indexOf("\r\n\r\n");
            const chunked = /\r\ntransfer-encoding: chunked/i;
            if (head < 0 || !chunked.test(bytes.toString("latin1", 0, head))) {
                return true; // others tell at once whether they are complete
            }
            this.scan = head + 4;
        }
        for (;;) {
            const line = bytes.indexOf("\r\n", this.scan);
            const size = Number.parseInt(bytes.toString("latin1", this.scan, line), 16);
            if (line < 0 || line + 4 + size > bytes.length) {
                return false;
            }
            if (size === 0) {
                return true;
            }
            this.scan = line + 4 + size;
        }
    }

    // The next response that is complete, taken from the buffer; interim ones count too.
    async response({ method, timeoutMs } = {}) {
        let found;
        const look = () => {
            if (method === "HEAD" || this.ended || this.hasLastChunk()) {
                [found] = splitResponses(this.buffer, { methods: [method] });
            }
            return found?.complete || this.ended;
        };
        await this.until(look, "a complete response", timeoutMs);
        assert.ok(found?.complete, `closed before a response: ${shown(this.buffer)} ${this.error}`);
        this.start += found.end;
        this.scan = 0;
        return { ...found, text: found.body.toString("latin1") };
    }

    async responses(count, options) {
        const all = [];
        while (all.length < count) {
            all.push(await this.response(options));
        }
        return all;
    }

    async text(pattern, timeoutMs) {
        await this.until(() => pattern.test(this.buffer.toString("latin1")), pattern, timeoutMs);
        return this.buffer.toString("latin1");
    }

    async closed(timeoutMs) {
        await this.until(() => this.ended, "the end of the connection", timeoutMs);
        return this;
    }

    // That the server keeps the connection: it answers one more request.
    async assertAlive(target = "/echo", headers) {
        await this.send(get(target, headers));
        assert.equal((await this.response()).status, 200);
    }

    close() {
        this.socket.destroy();
    }
}

function shown(bytes) {
    const text = JSON.stringify(bytes.toString("latin1", 0, 400));
    return bytes.length > 400 ? `${text} and ${bytes.length - 400} bytes more` : text;
}

// One request on a connection of its own.
export async function exchange(to, text, options = {}) {
    const c = await Connection.open(to, options);
    try {
        await c.send(text);
        return await c.response(options);
    } finally {
        c.close();
    }
}

export async function getJson(to, target) {
    const { status, text } = await exchange(to, get(target));
    assert.equal(status, 200, text);
    return JSON.parse(text);
}

export function assertError(response, status, code) {
    assert.equal(response.status, status, response.text);
    assert.equal(response.headers.get("content-type"), "application/json");
    const { error } = JSON.parse(response.text);
    assert.equal(error.code, code);
    assert.equal(typeof error.message, "string");
}

// ---- a process from outside ----

export function residentKb(pid) {
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))[1]);
}

// The most memory that a process ever had, in KB. What was given back meanwhile does not count.
export const peakKb = (pid) => Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))[1]);

export function openFiles(pid) {
    return readdirSync(`/proc/${pid}/fd`).length;
}

// Milliseconds of processor time so far, user and system.
export function processorMs(pid) {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
}

// A program that must end by itself, soon: { code, stdout, stderr }.
export async function soonEnded(program, withinMs) {
    let end;
    program.exited.then((how) => (end = how));
    await eventually(() => end !== undefined, `the end of ${program.name}`, withinMs);
    program.assertNoReports();
    assert.equal(end.signal, null);
    return { code: end.code, stderr: program.stderr, stdout: program.stdout };
}

// ---- certificates ----

// A self-signed certificate for localhost: { certificate, key } as paths.
export function makeCertificate(name, kind = "ec") {
    const certificate = path.join(keepFolder(), `${name}.crt`);
    const key = path.join(keepFolder(), `${name}.key`);
    const curve = kind === "ec" ? ["-pkeyopt", "ec_paramgen_curve:P-256"] : [];
    const wanted = ["-newkey", kind, ...curve, "-nodes", "-days", "2"];
    const names = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    const files = ["-keyout", key, "-out", certificate];
    execFileSync("openssl", ["req", "-x509", ...wanted, ...names, ...files], { stdio: "pipe" });
    return { certificate, key };
}
