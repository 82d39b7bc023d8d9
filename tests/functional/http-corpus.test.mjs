// Every request of the hostile corpus over a real socket: whole, cut in two at every byte, and byte
// by byte. Behind each lies a well-formed request, the canary: after a request that closes the
// connection it must never run, after one that keeps it exactly once.
import assert from "node:assert/strict";
import net from "node:net";
import { after, before, test } from "node:test";
import { readCorpus } from "./support/corpus.mjs";
import { timeLimit } from "./support/programs.mjs";
import { splitResponses } from "./support/raw.mjs";
import { eventually, exchange, get, getJson, inParallel, openFiles, startTestServer } from "./support/server.mjs";

const corpus = readCorpus();
const longest = 3_000; // longer requests are cut at every 101st byte only

let server;
let sent = 0; // canaries
let expected = 0; // canaries that must run
before(async () => (server = await startTestServer({ header_ms: 60_000, body_ms: 60_000 })));
after(() => server.stop());

const asksForClose = /HTTP\/1\.0\r\n|\r\nconnection:[^\r]*close/i;
const turn = () => new Promise(setImmediate);

// The server closes as soon as it has answered a request that asks for the close. A client that
// sends more after that may be reset (RFC 9112, 9.6), so no cut lies behind such a request.
const closingRequest = /^[\s\S]*?\r\nconnection: close\r\n(?:[\s\S]*?\r\n)?\r\n(?=GET )/i;

// The offsets where a request is cut.
function cutsOf({ bytes }) {
    const step = bytes.length > longest ? 101 : 1;
    const end = closingRequest.exec(bytes)?.[0].length ?? bytes.length;
    const count = Math.ceil(end / step) - 1;
    return Array.from({ length: count }, (_, i) => (i + 1) * step);
}

// Send the parts with a turn of our loop between them; then what `end` needs.
async function sendAll(socket, one, cuts, canary) {
    const edges = [0, ...cuts, one.bytes.length];
    const parts = edges.slice(1).map((end, i) => one.bytes.slice(edges[i], end));
    const behind = one.end === "wait" ? "" : get(`/canary/${canary}`, { Connection: "close" });
    if (one.end === "close" && (one.statuses.at(-1) < 400 || asksForClose.test(one.bytes))) {
        // Whoever sends more after asking for the close may be reset, unless it comes at once.
        parts.push(parts.pop() + behind);
    } else {
        parts.push(behind);
    }
    for (const part of parts) {
        socket.write(part, "latin1");
        await turn();
    }
    if (one.end === "wait") {
        // An end is the only thing that can follow half a request without completing it.
        socket.end();
    }
}

// Everything that comes until the server closes, and how it closed.
function converse(one, cuts, canary) {
    return new Promise((resolve) => {
        const socket = net.connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true });
        const received = [];
        let timer;
        let hasEnded = false;
        const finish = (how) => {
            hasEnded = true;
            clearTimeout(timer);
            socket.destroy();
            resolve({ bytes: Buffer.concat(received), how });
        };
        socket.setNoDelay(true);
        socket.on("data", (chunk) => received.push(chunk));
        socket.on("end", () => finish("closed"));
        socket.on("error", ({ code }) => finish(code));
        socket.on("connect", async () => {
            await sendAll(socket, one, cuts, canary);
            const left = timeLimit(5_000);
            const look = () => {
                if (left() > 0) timer = setTimeout(look, left());
                else finish("not closed in time");
            };
            if (!hasEnded) look();
        });
    });
}

function sameText(shown, latin1) {
    // The application shows bytes that are no UTF-8 in another way.
    const text = Buffer.from(latin1, "latin1").toString("utf8");
    return text.includes("\ufffd") || shown === text;
}

// What is wrong with the answers, or nothing.
function judge(one, bytes, canary) {
    const methods = one.seen.map(({ method }) => method);
    const all = splitResponses(bytes, { methods });
    const answers = all.filter(({ status }) => status >= 200);
    const wanted = one.end === "keep" ? [...one.statuses, 200] : one.statuses;
    const got = answers.map(({ status }) => status);
    if (got.join() !== wanted.join() || !all.every(({ complete }) => complete)) {
        return `expected ${wanted.join()}, got ${got.join() || "nothing"}`;
    }
    if (all.length - answers.length > (one.interim ? 1 : 0)) {
        return "an interim answer that nobody asked for";
    }
    if (one.end === "keep" && answers.pop().body.toString("latin1") !== canary) {
        return "the canary came back changed";
    }
    const accepted = answers.filter(({ status }) => status === 200);
    for (const [i, { method, path, body }] of one.seen.entries()) {
        if (method === "HEAD") {
            continue;
        }
        const shown = JSON.parse(accepted[i].body);
        if (shown.method !== method || !sameText(shown.path, path) || !sameText(shown.body, body)) {
            return `the application saw ${JSON.stringify(shown)}`;
        }
        if (one.unseen.some((name) => name in shown)) {
            return `the application saw a field that it must not see: ${JSON.stringify(shown)}`;
        }
    }
    return undefined;
}

test("the corpus is large enough and names each case once", () => {
    const refused = corpus.filter(({ statuses }) => statuses.some((status) => status >= 400));
    assert.ok(refused.length >= 150, String(refused.length));
    assert.ok(corpus.some(({ statuses, end }) => statuses[0] === 200 && end === "keep"));
    assert.equal(new Set(corpus.map(({ file, name }) => `${file} ${name}`)).size, corpus.length);
    assert.ok(corpus.every(({ bytes, end }) => bytes.length > 0 && end !== undefined));
});

async function runAll(runs, atOnce) {
    const wrong = [];
    await inParallel(runs, atOnce, async ({ one, cuts }) => {
        if (wrong.length >= 10) {
            return;
        }
        const canary = `c${(sent += 1)}`;
        expected += one.end === "keep" ? 1 : 0;
        const { bytes, how } = await converse(one, cuts, canary);
        const problem = how === "closed" ? judge(one, bytes, canary) : how;
        if (problem !== undefined) {
            const shown = JSON.stringify(bytes.toString("latin1", 0, 300));
            wrong.push(`${one.file}: ${one.name} (cut ${cuts}): ${problem}; received ${shown}`);
        }
    });
    assert.deepEqual(wrong, []);
}

test("threat-A4: every request of the corpus gets its answer", async () => {
    await runAll(
        corpus.map((one) => ({ one, cuts: [] })),
        50,
    );
});

test("every request cut in two, at every byte, gets the same answer", async () => {
    const runs = corpus.flatMap((one) => cutsOf(one).map((at) => ({ one, cuts: [at] })));
    await runAll(runs, 100);
});

test("every request sent byte by byte gets the same answer", async () => {
    await runAll(
        corpus.map((one) => ({ one, cuts: cutsOf(one) })),
        corpus.length,
    );
});

test("threat-A4: the canary ran once behind each request that keeps the connection, else never", async () => {
    assert.equal((await getJson(server, "/canaries")).canaries, expected);
});

test("the server is alive after the corpus and holds no connection", async () => {
    assert.equal((await exchange(server, get("/echo"))).status, 200);
    await eventually(() => openFiles(server.pid) <= server.files, "all connections closed");
});
