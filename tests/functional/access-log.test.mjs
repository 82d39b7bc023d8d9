// The access log: one line for each request, whatever the client does.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { readCorpus } from "./support/corpus.mjs";
import { keepFolder } from "./support/kept.mjs";
import { startCauseway } from "./support/programs.mjs";
import { rawExchange, splitResponses } from "./support/raw.mjs";
import {
    Connection,
    eventually,
    exchange,
    get,
    inParallel,
    pause,
    request,
    startTestServer,
} from "./support/server.mjs";

// The lines of the access log that came since `mark()`, parsed.
class AccessLog {
    constructor(server) {
        this.server = server;
        this.mark();
    }

    mark() {
        this.from = this.server.stderr.length;
    }

    get lines() {
        const text = this.server.stderr.slice(this.from);
        const whole = text.slice(0, text.lastIndexOf("\n") + 1);
        const all = whole.split("\n").filter((line) => line !== "");
        return all.map((line) => JSON.parse(line)).filter(({ component }) => component === "access");
    }

    async wait(count) {
        await eventually(() => this.lines.length >= count, `${count} lines`);
        await pause(30); // no more than that
        assert.equal(this.lines.length, count, JSON.stringify(this.lines));
        return this.lines;
    }
}

suite("lines for machines", () => {
    let server;
    let log;
    before(async () => {
        server = await startTestServer({
            access_log: 1,
            log_json: 1,
            body_size: 1000,
        });
        log = new AccessLog(server);
    });
    after(() => server.stop());

    // Run `work`, which makes one request, and check its line against what is expected.
    async function assertLine(work, expected) {
        log.mark();
        const from = Date.now();
        await work();
        const [line] = await log.wait(1);
        const { time, level, component, message, us, peer, request_id: id, ...rest } = line;
        assert.match(id, /^[0-9a-f]{16}$/);
        assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        assert.ok(Date.parse(time) >= from - 10 && Date.parse(time) <= Date.now() + 10, `${time}, not since ${from}`);
        assert.deepEqual({ level, component, message }, { level: "info", component: "access", message: "request" });
        assert.equal(peer, "127.0.0.1");
        assert.ok(Number.isInteger(us) && us >= 0 && us < 60_000_000, String(us));
        assert.deepEqual(rest, expected);
        return us;
    }

    const ask = (text, options) => () => exchange(server, text, options);

    test("say who asked for what and what came of it", async () => {
        const get_ = { method: "GET", status: 200 };
        await assertLine(ask(get("/item/abc")), { ...get_, target: "/item/abc", bytes: 3 });
        await assertLine(ask(get("/2k")), { ...get_, target: "/2k", bytes: 2048 });
        await assertLine(ask(get("/item/%25?q=%0a")), {
            ...get_,
            target: "/item/%25?",
            bytes: 1,
        });
        await assertLine(ask(get("/flood?5000")), { ...get_, target: "/flood?", bytes: 5000 });
        await assertLine(ask(get("/big?100000")), {
            ...get_,
            target: "/big?",
            bytes: 100_000,
        });
        await assertLine(ask(request("HEAD", "/2k"), { method: "HEAD" }), {
            method: "HEAD",
            target: "/2k",
            status: 200,
            bytes: 0,
        });
        await assertLine(ask(request("OPTIONS", "*")), {
            method: "OPTIONS",
            target: "*",
            status: 204,
            bytes: 0,
        });
        await assertLine(ask(get("http://localhost/item/x")), {
            ...get_,
            target: "http://localhost/item/x",
            bytes: 1,
        });
    });

    test("measure the time that a call took", async () => {
        const us = await assertLine(ask(get("/later?120")), {
            method: "GET",
            target: "/later?",
            status: 200,
            bytes: 14,
        });
        assert.ok(us >= 115_000, String(us));
    });

    test("are written for refused requests too", async () => {
        const cases = [
            [get("/none"), "GET", "/none", 404],
            [request("DELETE", "/2k"), "DELETE", "/2k", 405],
            [request("BREW", "/2k"), "BREW", "/2k", 501],
            [get("/2k", { Host: "evil.example" }), "GET", "/2k", 421],
            [get("/2k", { Origin: "null" }), "GET", "/2k", 403],
            [get("/item/%zz"), "GET", "/item/%zz", 400],
            [request("POST", "/echo", { "Content-Length": 2000 }), "POST", "/echo", 413],
            [request("POST", "/echo", { "Content-Encoding": "gzip" }, "x"), "POST", "/echo", 415],
            [get("/badheader"), "GET", "/badheader", 500],
            ["GET /2k HTTP/1.1\r\n\r\n", "-", "-", 400],
            ["GET /2k HTTP/3.0\r\n\r\n", "-", "-", 505],
            ["GET /a b HTTP/1.1\r\n\r\n", "-", "-", 400],
            [`GET /2k HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(20_000)}`, "-", "-", 431],
        ];
        for (const [text, method, target, status] of cases) {
            let bytes;
            await assertLine(
                async () => {
                    const answer = await exchange(server, text);
                    assert.equal(answer.status, status);
                    bytes = answer.body.length;
                },
                {
                    method,
                    target,
                    status,
                    get bytes() {
                        return bytes;
                    },
                },
            );
        }
    });

    test("are written for a head that did not come in time", async () => {
        const hasty = await startTestServer({ access_log: 1, log_json: 1, header_ms: 300 });
        const own = new AccessLog(hasty);
        const answer = await exchange(hasty, "GET /2k HT");
        assert.equal(answer.status, 408);
        const [{ method, target, status, bytes }] = await own.wait(1);
        assert.deepEqual([method, target, status, bytes], ["-", "-", 408, answer.body.length]);
        await hasty.stop();
    });

    test("say 499 where the client left before the answer", async () => {
        const leave = async (text) => {
            const c = await Connection.open(server);
            await c.send(text);
            await pause(50);
            c.close();
        };
        const line = { status: 499, bytes: 0 };
        await assertLine(() => leave(get("/later?60000")), {
            ...line,
            method: "GET",
            target: "/later?",
        });
        await assertLine(() => leave(`${request("POST", "/echo", { "Content-Length": 10 })}abc`), {
            ...line,
            method: "POST",
            target: "/echo",
        });
    });

    test("say how far a stream came that the client left", async () => {
        log.mark();
        const c = await Connection.open(server);
        await c.send(get("/events"));
        await c.text(/(tick[\s\S]*){10}/);
        c.close();
        const [{ status, bytes, target }] = await log.wait(1);
        assert.equal(status, 200);
        assert.equal(target, "/events");
        assert.ok(bytes > 100, String(bytes));
    });

    test("are not written for connections without a request", async () => {
        log.mark();
        for (let i = 0; i < 10; i++) {
            const c = await Connection.open(server);
            if (i % 2) {
                await c.send("GET /2k HT");
            }
            c.close();
        }
        await pause(100);
        assert.deepEqual(log.lines, []);
    });

    test("come in the order of the requests, one for each", async () => {
        log.mark();
        const c = await Connection.open(server);
        const ids = Array.from({ length: 300 }, (_, i) => `/item/${i}`);
        await c.send(ids.map((target) => get(target)).join(""));
        await c.responses(ids.length);
        const lines = await log.wait(ids.length);
        assert.deepEqual(
            lines.map(({ target }) => target),
            ids,
        );
        c.close();
    });

    test("are cut where a target is very long", async () => {
        log.mark();
        await exchange(server, get(`/item/${"t".repeat(5_000)}`));
        const [{ target, status, method }] = await log.wait(1);
        assert.equal(status, 200);
        assert.equal(method, "GET");
        assert.match(target, /^\/item\/t+\.\.\.$/);
        assert.ok(target.length <= 1_027, String(target.length));
    });

    test("threat-B10: cannot be forged by anything that a client sends", async () => {
        log.mark();
        const forged = '{"time":"x","level":"info","component":"access","message":"forged"}';
        const texts = [
            get(`/item/x%0a${encodeURIComponent(forged)}`),
            get(`/item/x?%0d%0a${encodeURIComponent(forged)}`),
            get(`/item/x?a\n${forged}\n`),
            get(`/item/x?"},${forged}`),
            get("/item/x", { "User-Agent": forged, Referer: forged, "X-Forwarded-For": forged }),
            `${forged}\r\n\r\n`,
            `GET /item/x HTTP/1.1\r\nHost: localhost\r\nX-A: a\n${forged}\r\n\r\n`,
            `GET /\u001b[2J HTTP/1.1\r\nHost: localhost\r\n\r\n`,
            `GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n`,
            get("/item/%e2%80%a8%e2%80%ae"),
        ];
        for (const text of texts) {
            await exchange(server, text);
        }
        const lines = await log.wait(texts.length);
        assert.ok(lines.every(({ message }) => message === "request"));
        assert.ok(!server.stderr.includes("\u001b"));
    });

    test("threat-B10: are written for each answer of the hostile corpus", async () => {
        log.mark();
        let answers = 0;
        await inParallel(readCorpus(), 20, async ({ bytes, end, seen }) => {
            const methods = seen.map(({ method }) => method);
            const received = await rawExchange(server.port, bytes, {
                methods,
                halfClose: end !== "close",
            });
            const all = splitResponses(received.bytes, { methods });
            answers += all.filter(({ status }) => status >= 200).length;
        });
        assert.ok(answers > 500, String(answers));
        // Some end within a body: those are lines without an answer.
        const answered = () => log.lines.filter(({ status }) => status !== 499);
        await eventually(() => answered().length >= answers, "all lines");
        assert.equal(answered().length, answers);
        assert.ok(answered().every(({ status }) => status >= 200 && status <= 505));
    });
});

test("lines for people have the same fields", async () => {
    const server = await startCauseway();
    await exchange(server, get("/healthz"));
    await exchange(server, get("/nothing?a=%22"));
    const lines = () => server.stderr.split("\n").slice(0, -1);
    const lineOf = (target) =>
        eventually(() => lines().find((l) => l.includes(" access: ") && l.includes(target)), target);
    const [first, second] = [await lineOf("/healthz"), await lineOf("/nothing")];
    const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;
    const line = (rest) =>
        new RegExp(`^${time} info access: request peer="127\\.0\\.0\\.1" ${rest} us=\\d+ request_id=[0-9a-f]{16}$`);
    assert.match(first, line('method="GET" target="/healthz" status=200 bytes=15'));
    assert.match(second, line('method="GET" target="/nothing\\?" status=404 bytes=\\d+'));
    await server.stop();
});

test("peers of other kinds are named", async () => {
    const socket = path.join(keepFolder(), "log.sock");
    const server = await startTestServer({
        access_log: 1,
        log_json: 1,
        listen: ["127.0.0.1:0", `unix:${socket}`],
    });
    const log = new AccessLog(server);
    await exchange({ path: socket }, get("/2k"));
    await exchange(server, get("/2k"), { localAddress: "127.0.0.9" });
    assert.deepEqual(
        (await log.wait(2)).map(({ peer }) => peer),
        ["unix", "127.0.0.9"],
    );
    await server.stop();
});

test("a log file gets the same lines, and only whole ones", async () => {
    const file = path.join(keepFolder(), "access.log");
    const server = await startCauseway({ config: { log: { file, format: "json" }, loops: 4 } });
    const count = 400;
    await inParallel(Array.from({ length: count }), 20, (_, i) => exchange(server, get(`/healthz/${i}?${i}`)));
    await server.stop();
    const lines = readFileSync(file, "utf8").trim().split("\n");
    const targets = lines.map((line) => JSON.parse(line)).filter(({ component }) => component === "access");
    // What a client asks behind the question mark is its own.
    assert.ok(targets.every(({ target }) => /^\/healthz\/\d+\?$/.test(target)));
    assert.equal(new Set(targets.map(({ target }) => target)).size, count);
    assert.equal(targets.length, count);
    assert.equal(server.stderr, "");
});

test("no line is written where the access log is off", async () => {
    for (const config of [{ access_log: false }, { log: { levels: { access: "off" } } }, { log: { level: "warn" } }]) {
        const server = await startCauseway({ config });
        await exchange(server, get("/healthz"));
        await server.stop();
        assert.doesNotMatch(server.stderr, /access/);
    }
});
