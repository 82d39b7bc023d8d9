// Several requests on one connection: one after the other, and sent ahead of the answers.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
    Connection,
    eventually,
    exchange,
    get,
    getJson,
    paddedGet,
    pause,
    request,
    startTestServer,
} from "./support/server.mjs";
import { splitResponses } from "./support/raw.mjs";

let server;
const patient = { idle_ms: 60_000, header_ms: 60_000, body_ms: 60_000 };
before(async () => (server = await startTestServer(patient)));
after(() => server.stop());

const later = JSON.stringify({ later: true });

test("a connection serves one request after the other", async () => {
    const c = await Connection.open(server);
    for (let i = 0; i < 50; i++) {
        await c.send(get(`/item/${i}`));
        const { status, text, headers } = await c.response();
        assert.equal(status, 200);
        assert.equal(text, String(i));
        assert.equal(headers.has("connection"), false);
    }
    c.close();
});

test("Connection: close ends the connection after the answer", async () => {
    for (const value of ["close", "Close", "keep-alive, close", "x, CLOSE"]) {
        const c = await Connection.open(server);
        await c.send(get("/item/1", { Connection: value }));
        const { status, headers } = await c.response();
        assert.equal(status, 200);
        assert.equal(headers.get("connection"), "close");
        await c.closed();
        assert.ok(c.closedCleanly);
    }
});

test("HTTP/1.0 closes unless keep-alive was asked for", async () => {
    const plain = await Connection.open(server);
    await plain.send("GET /item/a HTTP/1.0\r\n\r\n");
    const first = await plain.response();
    assert.equal(first.status, 200);
    assert.equal(first.minor, 1);
    assert.equal(first.headers.get("connection"), "close");
    await plain.closed();

    const kept = await Connection.open(server);
    for (let i = 0; i < 3; i++) {
        await kept.send("GET /item/a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        const { status, headers } = await kept.response();
        assert.equal(status, 200);
        assert.equal(headers.get("connection"), "keep-alive");
    }
    kept.close();
});

test("pipelined requests are answered in order", async () => {
    const c = await Connection.open(server);
    const ids = Array.from({ length: 200 }, (_, i) => `n${i}`);
    await c.send(ids.map((id) => get(`/item/${id}`)).join(""));
    const answers = await c.responses(ids.length);
    assert.deepEqual(
        answers.map(({ text }) => text),
        ids,
    );
    await c.assertAlive();
    c.close();
});

test("answers that come later keep their place among those that come at once", async () => {
    const c = await Connection.open(server);
    const targets = ["/item/1", "/later?80", "/item/2", "/later?1", "/later?30", "/item/3"];
    await c.send(targets.map((target) => get(target)).join(""));
    const answers = await c.responses(targets.length);
    assert.deepEqual(
        answers.map(({ text }) => text),
        ["1", later, "2", later, later, "3"],
    );
    c.close();
});

test("requests that come while one runs wait for its answer", async () => {
    const c = await Connection.open(server);
    await c.send(get("/later?150"));
    for (const id of ["a", "b", "c"]) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        await c.send(request("POST", `/canary/${id}`, {}, "x".repeat(1000)));
    }
    const answers = await c.responses(4);
    assert.deepEqual(
        answers.map(({ text }) => text),
        [later, "a", "b", "c"],
    );
    c.close();
});

test("a pipelined request may be cut anywhere while another one runs", async () => {
    const second = request("POST", "/canary/cut", {}, "0123456789");
    const cuts = Array.from({ length: second.length - 1 }, (_, i) => i + 1);
    await Promise.all(
        cuts.map(async (at) => {
            const c = await Connection.open(server);
            await c.send(get("/later?60") + second.slice(0, at));
            await new Promise((resolve) => setTimeout(resolve, 30));
            await c.send(second.slice(at));
            const [first, other] = await c.responses(2);
            assert.equal(first.text, later);
            assert.equal(other.text, "cut", `cut at ${at}`);
            c.close();
        }),
    );
});

test("a body behind a slow call is read when its turn comes", async () => {
    const c = await Connection.open(server);
    const body = "z".repeat(700_000);
    await c.send(get("/later?50") + request("POST", "/echo", {}, body) + get("/item/end"));
    const [first, second, third] = await c.responses(3, { timeoutMs: 10_000 });
    assert.equal(first.text, later);
    assert.equal(JSON.parse(second.text).body, body);
    assert.equal(third.text, "end");
    c.close();
});

test("many more requests than fit one read are all answered, each once", async () => {
    const before_ = (await getJson(server, "/canaries")).canaries;
    const other = await startTestServer({ pipelined: 100_000 });
    const c = await Connection.open(other);
    const count = 5_000;
    let text = "";
    for (let i = 0; i < count; i++) {
        text += get(`/canary/${i}`);
    }
    await c.send(text);
    await c.until(() => c.buffer.includes(`\r\n\r\n${count - 1}`), "the last answer", 20_000);
    await eventually(async () => (await getJson(other, "/canaries")).canaries === count, "every request was run once");
    const ids = [...c.buffer.toString("latin1").matchAll(/\r\n\r\n(\d+)(?=HTTP|$)/g)];
    assert.deepEqual(
        ids.map((match) => Number(match[1])),
        Array.from({ length: count }, (_, i) => i),
    );
    c.close();
    await other.stop();
    assert.equal((await getJson(server, "/canaries")).canaries, before_);
});

test("the ceiling of pipelined requests closes the connection after its answer", async () => {
    const limited = await startTestServer({ pipelined: 5 });
    const send = async (count) => {
        const c = await Connection.open(limited);
        const ids = Array.from({ length: count }, (_, i) => String(i));
        await c.send(ids.map((id) => get(`/item/${id}`)).join(""));
        return c;
    };
    // The first is not pipelined, five may wait behind it; the fifth says that it is the last.
    const below = await send(5);
    const few = await below.responses(5);
    assert.ok(few.every(({ headers }) => !headers.has("connection")));
    await below.assertAlive();

    for (const count of [6, 7, 20]) {
        const above = await send(count);
        const answers = await above.responses(6);
        assert.deepEqual(
            answers.map(({ headers }) => headers.get("connection")),
            [undefined, undefined, undefined, undefined, undefined, "close"],
        );
        await above.closed();
        assert.equal(above.buffer.length, 0);
    }

    // Waiting for each answer is not pipelining.
    const patient = await Connection.open(limited);
    for (let i = 0; i < 20; i++) {
        await patient.assertAlive();
    }
    await limited.stop();
});

test("nothing behind a request with Connection: close is run", async () => {
    const { canaries } = await getJson(server, "/canaries");
    const c = await Connection.open(server);
    await c.send(get("/item/last", { Connection: "close" }) + get("/canary/never"));
    assert.equal((await c.response()).text, "last");
    await c.closed();
    assert.equal(c.buffer.length, 0);
    assert.equal((await getJson(server, "/canaries")).canaries, canaries);
});

test("a client that ends its side after the request still gets the answer", async () => {
    const c = await Connection.open(server);
    c.socket.end(get("/item/half"));
    assert.equal((await c.response()).text, "half");
    await c.closed();
    assert.ok(c.closedCleanly);
});

test("the ceiling of pipelined ones is reached by small ones in many reads", async () => {
    const own = await startTestServer({ pipelined: 20 });
    const all = paddedGet("/item/x", 100).repeat(100);
    const c = await Connection.open(own);
    // No read ends where a request does.
    for (let at = 0; at < 9 * 930 && !c.ended; at += 930) {
        await c.send(all.slice(at, at + 930));
        await pause(10);
    }
    await c.closed();
    const answers = splitResponses(c.buffer);
    assert.equal(answers.length, 21);
    assert.ok(answers.every(({ status }) => status === 200));
    assert.equal(answers.at(-1).headers.get("connection"), "close");
    await own.stop();
});

test("a server that was stopped and continued by its shell serves on", async () => {
    const own = await startTestServer({ loops: 2 });
    const kept = await Connection.open(own);
    await kept.assertAlive();
    own.child.kill("SIGSTOP");
    const waiting = Array.from({ length: 20 }, () => exchange(own, get("/item/w")));
    await pause(200);
    own.child.kill("SIGCONT");
    for (const { text } of await Promise.all(waiting)) {
        assert.equal(text, "w");
    }
    await kept.assertAlive();
    await own.stop();
});
