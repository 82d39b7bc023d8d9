// 100,000 hostile cursors, names and bodies, each with the answer that docs/http-api.md says. They are
// made from a seed, so that a failure can be repeated: CAUSEWAY_TEST_SEED=… with what it printed.
import assert from "node:assert/strict";
import net from "node:net";
import { after, before, suite, test } from "node:test";
import { slowness } from "./support/programs.mjs";
import { startMany, toolName } from "./support/rest.mjs";
import { openFiles, processorMs, request, residentKb } from "./support/server.mjs";
import { randomFrom } from "./support/statistics.mjs";

const seed = Number(process.env.CAUSEWAY_TEST_SEED ?? 20_261);
const tools = Array.from({ length: 12 }, (_, i) => toolName(i));
const pageSize = 5;
const atOnce = 200;
const json = { "Content-Type": "application/json" };
const nameMax = 128;

// ---- a client that sends many requests ahead and reads the answers as they come ----

class Pipeline {
    constructor(port) {
        this.socket = net.connect({ port, host: "127.0.0.1", noDelay: true });
        this.held = Buffer.alloc(0);
        this.answers = [];
        this.socket.on("data", (chunk) => this.take(chunk));
        this.socket.on("error", (error) => this.settle?.(error));
        this.socket.on("close", () => this.settle?.(new Error("the server closed the connection")));
    }

    take(chunk) {
        let bytes = this.held.length ? Buffer.concat([this.held, chunk]) : chunk;
        for (;;) {
            const end = bytes.indexOf("\r\n\r\n");
            const head = end < 0 ? "" : bytes.toString("latin1", 0, end);
            const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0;
            if (end < 0 || bytes.length < end + 4 + Number(length)) {
                break;
            }
            const text = bytes.toString("utf8", end + 4, end + 4 + Number(length));
            this.answers.push({ status: Number(head.slice(9, 12)), head, text });
            bytes = bytes.subarray(end + 4 + Number(length));
        }
        this.held = bytes;
        if (this.answers.length >= this.wanted) {
            this.settle?.();
        }
    }

    async ask(requests) {
        this.answers = [];
        this.wanted = requests.length;
        const done = new Promise((resolve, reject) => {
            this.settle = (error) => (error ? reject(error) : resolve());
        });
        this.socket.write(Buffer.concat(requests));
        await done;
        this.settle = undefined;
        return this.answers;
    }
}

// ---- chance ----

const random = randomFrom(seed);
const below = (n) => Math.floor(random() * n);
const pick = (items) => items[below(items.length)];
const text = (alphabet, n) => Array.from({ length: n }, () => pick(alphabet)).join("");
const bytesOf = (n) => Buffer.from(Array.from({ length: n }, () => below(256)));
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const base64 = (value) => Buffer.from(value, "latin1").toString("base64");
const escaped = (bytes) =>
    bytes
        .toString("latin1")
        .replaceAll(/[^A-Za-z0-9._~-]/g, (c) => `%${c.charCodeAt(0).toString(16).padStart(2, "0")}`);

// ---- what is expected: a function of the answer that throws ----

const rest = (status, code, message) => (answer) => {
    assert.equal(answer.status, status);
    assert.match(answer.head, /\r\ncache-control: no-store/i);
    const { error } = JSON.parse(answer.text);
    assert.equal(error.code, code);
    assert.equal(error.message, message ?? error.message);
};

const rpcError =
    (status, ...codes) =>
    (answer) => {
        assert.equal(answer.status, status);
        assert.ok(codes.includes(JSON.parse(answer.text).error.code), answer.text);
    };

const either =
    (...expected) =>
    (answer) => {
        const errors = [];
        for (const check of expected) {
            try {
                check(answer);
                return;
            } catch (error) {
                errors.push(error.message);
            }
        }
        assert.fail(errors.join("; "));
    };

function page(offset) {
    return (answer) => {
        assert.equal(answer.status, 200);
        const { tools: listed, nextCursor } = JSON.parse(answer.text);
        const end = offset + pageSize;
        assert.deepEqual(
            listed.map(({ name }) => name),
            tools.slice(offset, end),
        );
        assert.equal(nextCursor, end < tools.length ? base64(String(end)) : null);
    };
}

// ---- cursors ----

// The offset that a cursor stands for, or undefined.
function offsetOf(bytes) {
    const cursor = bytes.toString("latin1");
    if (cursor === "") {
        return 0;
    }
    const bare = cursor.replace(/=+$/, "");
    const isPadded = bare !== cursor;
    if (!/^[A-Za-z0-9+/]+$/.test(bare) || (isPadded && (cursor.length % 4 || cursor.length - bare.length > 2))) {
        return undefined;
    }
    const digits = Buffer.from(bare, "base64").toString("latin1");
    const isCanonical = /^(0|[1-9]\d{0,18})$/.test(digits) && base64(digits).replace(/=+$/, "") === bare;
    if (!isCanonical || BigInt(digits) > 2n ** 63n - 1n) {
        return undefined;
    }
    return Number(digits);
}

const cursors = [
    () => Buffer.from(base64(String(below(10 ** below(16))))),
    () => Buffer.from(base64(String(below(20))).replaceAll("=", "")),
    () =>
        Buffer.from(
            base64(`${pick(["0", "-", "+", " ", "0x", "1e", ""])}${below(100)}${pick(["", ".0", " ", "\n", "\0"])}`),
        ),
    () => Buffer.from(base64(String(2n ** 63n + BigInt(below(9) - 4)))),
    () => Buffer.from(text(alphabet, below(32) + 1) + "=".repeat(below(4))),
    () => Buffer.from("N".repeat(below(3000))),
    () => bytesOf(below(30)),
];

const badCursor = rest(400, "invalid_cursor");

function listed() {
    const cursor = pick(cursors)();
    if (below(20) === 0) {
        const forms = ["cursor[]=", "cursor[0]=", "cursor=MA==&cursor=", "cursor=%zz", "cursor=%f"];
        return [request("GET", `/mcp/tools/list?${pick(forms)}${escaped(cursor)}`), badCursor];
    }
    const offset = offsetOf(cursor);
    const expected = offset === undefined ? badCursor : page(offset);
    return [request("GET", `/mcp/tools/list?cursor=${escaped(cursor)}`), expected];
}

function discovered() {
    const cursor = pick(cursors)();
    const isFirst = offsetOf(cursor) === 0; // all of it is one page
    const expected = isFirst ? ({ status }) => assert.equal(status, 200) : badCursor;
    return [request("GET", `/jsonrpc/methods?cursor=${escaped(cursor)}`), expected];
}

const rpcBody = (method, params) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
const utf8 = (value) => Buffer.from(value).toString("latin1");

function listedByProtocol() {
    const cursor = pick(cursors)().toString("latin1");
    const expected = ({ text: body }) => assert.equal(JSON.parse(body).error.code, -32602);
    return [request("POST", "/mcp", json, utf8(rpcBody("tools/list", { cursor }))), expected];
}

// ---- names ----

const characters = () => {
    const ranges = [
        [1, 0x7f],
        [0x80, 0x7ff],
        [0x800, 0xd7ff],
        [0xe000, 0xffff],
        [0x10000, 0x10ffff],
    ];
    const [low, high] = pick(ranges);
    return String.fromCodePoint(low + below(high - low + 1));
};
const names = [
    () => Array.from({ length: below(20) + 1 }, characters).join(""),
    () => Array.from({ length: below(400) + 100 }, characters).join(""),
    () => pick(tools).toUpperCase() + pick(["", " ", ".", "\n"]),
    () => pick([" ", ".", "x", "\t", ""]) + pick(tools) + pick([" ", ".", "x", "\r\n", "'", '"', "\\"]),
    () =>
        pick([
            "list ",
            "0 ",
            "00",
            "null",
            "undefined",
            "__proto__",
            "constructor",
            "' OR 1=1 --",
            "${x}",
            "<b>",
            "%s%n",
        ]),
    () => "A".repeat(below(3000) + 1),
];

const newName = () => {
    const name = pick(names)();
    return tools.includes(name) || name === "0" ? `${name}?` : name;
};

// As far as an answer repeats it.
function cut(name) {
    const bytes = Buffer.from(name);
    let n = nameMax;
    if (bytes.length <= n) {
        return name;
    }
    while ((bytes[n] & 0xc0) === 0x80) {
        n -= 1;
    }
    return `${bytes.toString("utf8", 0, n)}…`;
}

const unknownTool = (name) => rest(404, "tool_not_found", `Tool '${cut(name)}' not found or access denied`);

// An address holds none of these, however they are written.
const controls = /[\u0000-\u001f\u007f-\u009f]/;

function described() {
    const target = "/mcp/tools/describe?name=";
    const name = newName();
    if (below(10) > 0) {
        const expected = controls.test(name) ? rest(400, "invalid_arguments") : unknownTool(name);
        return [request("GET", target + escaped(Buffer.from(name))), expected];
    }
    const wrong = pick(["%00", "%ff", "%C0%80", "%ED%A0%80", "%F4%90%80%80", "%", "%4", "%zz"]);
    const forms = [
        ["", rest(400, "missing_parameter")],
        ["0", rest(400, "missing_parameter")],
        [`${wrong}x`, rest(400, "invalid_arguments")],
        [`a&name=${escaped(Buffer.from(name))}`, rest(400, "invalid_arguments")],
    ];
    const [value, expected] = pick(forms);
    return [request("GET", target + value), expected];
}

// What a path can hold as one segment.
const segment = () => {
    const name = newName().replaceAll(/[/\\]|[\u0000-\u001f\u007f-\u009f]/g, "|");
    return /^(\.+|list|describe|invoke)$/.test(name) ? "x" : name;
};

function addressed() {
    const target = `/mcp/tools/${encodeURIComponent(segment())}`;
    return [request("POST", target, json, rpcBody("x", {})), rpcError(404, -32601)];
}

function looked() {
    const target = `/jsonrpc/methods/${encodeURIComponent(segment())}`;
    return [request("GET", target), rest(404, "method_not_found")];
}

function invoked() {
    const name = newName();
    const body = JSON.stringify({ name, arguments: pick([{}, [], { x: 1 }, [name]]) });
    return [request("POST", "/mcp/tools/invoke", json, utf8(body)), unknownTool(name)];
}

function called() {
    const body = rpcBody(newName(), pick([undefined, {}, [], [1]]));
    return [request("POST", "/jsonrpc", json, utf8(body)), rpcError(400, -32601)];
}

// ---- bodies ----

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// The value, or undefined for what is no JSON.
function parse(bytes) {
    try {
        return JSON.parse(strict.decode(bytes));
    } catch {
        return undefined;
    }
}

function damaged(body) {
    let bytes = Buffer.from(body);
    for (let n = below(4); n >= 0; n -= 1) {
        const at = below(bytes.length + 1);
        const more = pick([
            bytesOf(1),
            Buffer.from(pick(['"', "{", "}", "[", "]", ",", ":", "\\", "0", "-", "\0", "e"])),
        ]);
        const end = at + pick([0, 1, 1, below(8)]);
        bytes = Buffer.concat([bytes.subarray(0, at), below(3) ? more : bytes.subarray(at, end), bytes.subarray(end)]);
    }
    return below(10) ? bytes : bytes.subarray(0, below(bytes.length + 1));
}

// Names that stand twice and halves of characters are JSON to some.
const isDoubtful = (bytes) => {
    const keys = bytes.toString("latin1").match(/"(?:[^"\\]|\\.)*"(?=\s*:)/g) ?? [];
    return new Set(keys).size !== keys.length || bytes.includes("\\");
};

function invokedBadly() {
    const bytes = damaged(
        JSON.stringify({ name: "no.such.tool", arguments: { a: [1, 2.5e3, null, "ü"], b: { c: true } } }),
    );
    const value = parse(bytes);
    const isContainer = (one) => typeof one === "object" && one !== null;
    let expected;
    if (value === undefined || !isContainer(value)) {
        expected = rest(400, "invalid_json");
    } else if (isDoubtful(bytes)) {
        expected = either(rest(400, "invalid_json"), rest(400, "missing_parameter"), rest(404, "tool_not_found"));
    } else if (typeof value.name === "string" && isContainer(value.arguments)) {
        expected = unknownTool(value.name);
    } else {
        expected = rest(400, "missing_parameter");
    }
    return [request("POST", "/mcp/tools/invoke", json, bytes.toString("latin1")), expected];
}

function calledBadly() {
    const bytes = damaged(rpcBody("no.such.method", { a: [1, 2.5e3, null, "ü"] }));
    const isBad = parse(bytes) === undefined;
    const codes = isDoubtful(bytes) ? [-32600, -32601, -32602, -32700] : [-32600, -32601, -32602];
    const nothing = ({ status, text: body }) => assert.equal(`${status}${body}`, "204");
    const expected = isBad ? rpcError(400, -32700) : either(rpcError(400, ...codes), nothing);
    return [request("POST", "/jsonrpc", json, bytes.toString("latin1")), expected];
}

const nested = () => {
    const depth = pick([65, 100, 1000, 10_000]);
    const body = pick(["[", '{"a":', '{"name":[', "[[],"]).repeat(depth);
    return [request("POST", "/mcp/tools/invoke", json, body), rest(400, "invalid_json")];
};

// ---- the test ----

suite("hostile input", () => {
    let server;
    before(async () => (server = await startMany(tools.length, { page_size: pageSize })));
    after(() => server?.stop());

    const kinds = [
        ["cursors of a list", 30_000, listed],
        ["cursors of the methods", 5_000, discovered],
        ["cursors of the protocol", 5_000, listedByProtocol],
        ["names to describe", 15_000, described],
        ["names in a path", 8_000, addressed],
        ["methods in a path", 4_000, looked],
        ["names to invoke", 8_000, invoked],
        ["methods to call", 5_000, called],
        ["bodies to invoke", 10_000, invokedBadly],
        ["bodies to call", 9_900, calledBadly],
        ["bodies without end", 100, nested],
    ];
    const total = kinds.reduce((sum, [, count]) => sum + count, 0);

    test(`${total} times the documented answer, seed ${seed}`, { timeout: 300_000 * slowness }, async (t) => {
        const pipeline = new Pipeline(server.port);
        const cpu = processorMs(server.pid);
        const begin = performance.now();
        for (const [kind, count, make] of kinds) {
            for (let left = count; left > 0; left -= atOnce) {
                const asked = Array.from({ length: Math.min(left, atOnce) }, make);
                const answers = await pipeline.ask(asked.map(([bytes]) => Buffer.from(bytes, "latin1")));
                asked.forEach(([bytes, check], i) => {
                    try {
                        check(answers[i]);
                    } catch (error) {
                        const { head, text: body } = answers[i];
                        error.message = `${kind}, seed ${seed}: ${JSON.stringify(bytes)}\n${head}\n\n${body}\n${error.message}`;
                        throw error;
                    }
                });
            }
        }
        pipeline.socket.destroy();
        const seconds = (performance.now() - begin) / 1000;
        const used = (processorMs(server.pid) - cpu) / 1000;
        t.diagnostic(`${seconds.toFixed(1)} s, of which the server worked ${used.toFixed(1)} s`);
        assert.equal(total, 100_000);
        assert.ok(used < 20 * slowness, `the server worked for ${used} s`);
        assert.ok(residentKb(server.pid) < 200_000 * slowness, `${residentKb(server.pid)} KB`);
        assert.ok(openFiles(server.pid) < 100);
    });
});
