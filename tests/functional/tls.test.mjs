// TLS: versions, records cut and packed anyhow, and what is no TLS.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import nodeTls from "node:tls";
import { keepFolder, newSocketPath } from "./support/kept.mjs";
import {
    binary,
    patience,
    Program,
    runCauseway,
    slowness,
    startCauseway,
    timeLimit,
    writeConfig,
} from "./support/programs.mjs";
import {
    Connection,
    eventually,
    exchange,
    get,
    getJson,
    inParallel,
    makeCertificate,
    openFiles,
    paddedGet,
    pause,
    processorMs,
    request,
    soonEnded,
    startTestServer,
} from "./support/server.mjs";
import { execFileSync } from "node:child_process";
import { splitResponses } from "./support/raw.mjs";
import { handshakeMessage, RecordConnection } from "./support/records.mjs";

const limit = patience(400);

// That something took as long as the limit, since `from`. Too long is judged by a clock that stands still with the
// machine, which began at the same time.
function assertInTime(from, clock, what = "") {
    const ms = Date.now() - from;
    assert.ok(ms >= limit - 20, `${what}: already after ${ms} ms`);
    assert.ok(-clock() < limit + patience(1_500), `${what}: only after ${ms} ms`);
}

const tls = {};
let certificate;
let server;
const startTls = (options) =>
    startTestServer({
        listen: ["tls:127.0.0.1:0", "127.0.0.1:0"],
        certificate: certificate.certificate,
        key: certificate.key,
        ...options,
    });
const plainPort = (of) => Number(/ http:\/\/127\.0\.0\.1:(\d+)/.exec(of.stdout)[1]);

before(async () => {
    certificate = makeCertificate("localhost");
    server = await startTls({ body_size: 8_000_000 });
});
after(() => server.stop());

async function assertServes(to = server) {
    assert.equal((await exchange(to, get("/item/alive"), { tls })).text, "alive");
}

test("TLS 1.2 and 1.3 are spoken, and the handler knows", async () => {
    for (const version of ["TLSv1.2", "TLSv1.3"]) {
        const options = {
            tls: { minVersion: version, maxVersion: version, ALPNProtocols: ["http/1.1"] },
        };
        const c = await Connection.open(server, options);
        assert.equal(c.socket.getProtocol(), version);
        assert.equal(c.socket.alpnProtocol, "http/1.1");
        await c.send(get("/echo"));
        assert.equal(JSON.parse((await c.response()).text).tls, true);
        await c.assertAlive();
        c.close();
    }
});

test("threat-A12: older versions are refused", async () => {
    for (const version of ["TLSv1", "TLSv1.1"]) {
        const old = { minVersion: version, maxVersion: version, ciphers: "ALL:@SECLEVEL=0" };
        await assert.rejects(Connection.open(server, { tls: old }), /alert protocol version/i);
    }
    await assertServes();
});

test("1.3 alone where the configuration says so", async () => {
    const file = path.join(keepFolder(), "tls13.yaml");
    const listen = [{ address: "127.0.0.1:0", tls: true }];
    writeFileSync(file, JSON.stringify({ listen, tls: { ...certificate, min_version: "1.3" } }));
    const strict = await startCauseway({ args: ["--config", file], listen: false });
    assert.match(strict.url, /^https:/);
    const c = await Connection.open(strict, { tls });
    assert.equal(c.socket.getProtocol(), "TLSv1.3");
    await c.assertAlive("/healthz");
    await assert.rejects(Connection.open(strict, { tls: { maxVersion: "TLSv1.2" } }), /alert protocol version/i);
    await strict.stop();
});

const ciphersOf = async (to, ciphers) => {
    const c = await Connection.open(to, { tls: { maxVersion: "TLSv1.2", ciphers: `${ciphers}:@SECLEVEL=0` } });
    const { name } = c.socket.getCipher();
    c.close();
    return name;
};

const weak = ["ECDHE-ECDSA-AES128-SHA256", "ECDHE-ECDSA-AES256-SHA", "kRSA:DHE:PSK"];
const good = ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"];

test("threat-A12: TLS 1.2 offers ECDHE with authenticated encryption only", async () => {
    for (const name of good) {
        assert.equal(await ciphersOf(server, name), name);
    }
    for (const name of weak) {
        await assert.rejects(ciphersOf(server, name), /handshake failure/i, name);
    }
    const rsa = makeCertificate("rsa", "rsa:2048");
    const other = await startTls(rsa);
    assert.equal(await ciphersOf(other, "ECDHE-RSA-AES128-GCM-SHA256"), "ECDHE-RSA-AES128-GCM-SHA256");
    for (const name of ["AES128-SHA", "AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA", "DHE-RSA-AES128-GCM-SHA256"]) {
        await assert.rejects(ciphersOf(other, name), /handshake failure/i, name);
    }
    await other.stop();
});

test("tls.ciphers offers others, and names that are none are reported", async () => {
    const listen = [{ address: "127.0.0.1:0", tls: true }];
    const started = await startCauseway({
        listen: false,
        config: { listen, tls: { ...certificate, ciphers: "ECDHE+AESGCM:ECDHE-ECDSA-AES128-SHA256" } },
    });
    assert.equal(await ciphersOf(started, weak[0]), weak[0]);
    await assert.rejects(ciphersOf(started, weak[1]), /handshake failure/i);
    await started.stop();
    for (const [ciphers, expected] of [
        ["ECDHE+AESGCM:NOSUCH", /tls\.ciphers: 'NOSUCH' is no cipher/],
        ["aNULL", /tls\.ciphers: 'aNULL' is no cipher/],
        ["TLS_AES_128_GCM_SHA256", /tls\.ciphers: 'TLS_AES_128_GCM_SHA256' is no cipher/],
        ["ECDHE+AESGCM:!ECDHE", /tls\.ciphers: no cipher of TLS 1\.2 is left/],
        ["a b", /tls\.ciphers.*a list of OpenSSL/],
    ]) {
        const file = writeConfig({ listen, tls: { ...certificate, ciphers } });
        const check = await runCauseway(["config", "check", "--config", file]);
        assert.notEqual(check.code, 0, ciphers);
        assert.match(check.stdout + check.stderr, expected);
        const serve = await runCauseway(["serve", "--config", file]);
        assert.notEqual(serve.code, 0, ciphers);
    }
});

test("a protocol that is not offered is refused", async () => {
    await assert.rejects(Connection.open(server, { tls: { ALPNProtocols: ["h2"] } }), /no application protocol/i);
    const both = await Connection.open(server, { tls: { ALPNProtocols: ["h2", "http/1.1"] } });
    assert.equal(both.socket.alpnProtocol, "http/1.1");
    await both.assertAlive();
    both.close();
});

test("curl speaks both versions", async () => {
    for (const version of ["1.2", "1.3"]) {
        const args = ["-sSk", `--tlsv${version}`, "--tls-max", version, `${server.url}/item/curl`];
        const curl = new Program("curl", args);
        assert.deepEqual(await curl.exited, { code: 0, signal: null }, curl.stderr);
        assert.equal(curl.stdout, "curl");
    }
    const verified = ["-sS", "--cacert", certificate.certificate];
    const url = server.url.replace("127.0.0.1", "localhost");
    const curl = new Program("curl", [...verified, `${url}/item/trusted`]);
    assert.deepEqual(await curl.exited, { code: 0, signal: null }, curl.stderr);
    assert.equal(curl.stdout, "trusted");
});

test("a session is taken up again", async () => {
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"]) {
        const first = await Connection.open(server, { tls: { maxVersion } });
        await first.assertAlive();
        const session = first.socket.getSession();
        const again = await Connection.open(server, { tls: { maxVersion, session } });
        assert.ok(again.socket.isSessionReused(), maxVersion);
        await again.assertAlive();
        first.close();
        again.close();
    }
});

test("pipelined requests in one record are answered in order", async () => {
    const c = await Connection.open(server, { tls });
    const ids = Array.from({ length: 150 }, (_, i) => `n${i}`);
    await c.send(ids.map((id) => get(`/item/${id}`)).join(""));
    const answers = await c.responses(ids.length);
    assert.deepEqual(
        answers.map(({ text }) => text),
        ids,
    );
    c.close();
});

test("a request may come in a record for each byte", async () => {
    const c = await Connection.open(server, { tls });
    for (const byte of request("POST", "/echo", {}, "hello")) {
        await c.send(byte);
    }
    assert.equal(JSON.parse((await c.response()).text).body, "hello");
    c.close();
});

test("records that came together are not forgotten while a call runs", async () => {
    // The server reads ahead, so the second record waits within TLS, where no poll sees it.
    const text = get("/later?100") + get("/item/behind") + request("POST", "/echo", {}, "0123456789");
    const first = get("/later?100").length;
    const cuts = Array.from({ length: text.length - first }, (_, i) => first + i);
    const runs = cuts.map(async (at) => {
        const c = await Connection.open(server, { tls });
        c.socket.write(text.slice(0, at), "latin1");
        c.socket.write(text.slice(at), "latin1");
        const [, second, third] = await c.responses(3);
        assert.equal(second.text, "behind", `cut at ${at}`);
        assert.equal(JSON.parse(third.text).body, "0123456789", `cut at ${at}`);
        c.close();
    });
    await Promise.all(runs);
});

test("large bodies pass in both directions", async () => {
    const c = await Connection.open(server, { tls });
    const body = "0123456789abcdef".repeat(250_000);
    await c.send(request("POST", "/echo", {}, body));
    assert.equal(JSON.parse((await c.response({ timeoutMs: 20_000 })).text).body, body);
    await c.send(get("/big?20000000"));
    const big = await c.response({ timeoutMs: 20_000 });
    assert.equal(big.body.length, 20_000_000);
    assert.ok(big.body.every((byte) => byte === 0x79));
    await c.send(get("/flood?10000000"));
    assert.equal((await c.response({ timeoutMs: 20_000 })).body.length, 10_000_000);
    await c.assertAlive();
    c.close();
});

test("a body in parts arrives whole, whatever the sizes of parts and records", async () => {
    const c = await Connection.open(server, { tls });
    for (const n of [1, 100, 5000, 16_000, 16_384, 70_000, 2_000_000]) {
        await c.send(get(`/parts?${n}`));
        c.socket.pause(); // the rest of a large one waits
        await pause(20);
        c.socket.resume();
        const { text } = await c.response({ timeoutMs: 20_000 });
        assert.ok(text === "a".repeat(n) + "b".repeat(n) + "c".repeat(n), `${n}: ${text.length}`);
    }
    await c.assertAlive();
    c.close();
});

test("a chunked body with a record for each part", async () => {
    const c = await Connection.open(server, { tls });
    await c.send(request("POST", "/echo", { "Transfer-Encoding": "chunked" }));
    for (let i = 0; i < 50; i++) {
        await c.send(`${(100).toString(16)}\r\n${"c".repeat(100)}\r\n`);
    }
    await c.send("0\r\n\r\n");
    assert.equal(JSON.parse((await c.response()).text).body.length, 5_000);
    c.close();
});

test("Expect: 100-continue", async () => {
    const c = await Connection.open(server, { tls });
    await c.send(request("POST", "/echo", { Expect: "100-continue", "Content-Length": 5 }));
    assert.equal((await c.response()).status, 100);
    await c.send("hello");
    assert.equal(JSON.parse((await c.response()).text).body, "hello");
    c.close();
});

test("events arrive one by one", async () => {
    const c = await Connection.open(server, { tls });
    await c.send(get("/events?200"));
    await c.text(/event: tick/);
    assert.ok(!c.buffer.includes("\r\n0\r\n\r\n"), "the first event comes before the last");
    assert.equal((await c.response()).text.match(/event: tick/g).length, 200);
    await c.assertAlive();
    c.close();
});

test("the last answer is followed by a proper end", async () => {
    const c = await Connection.open(server, { tls });
    await c.send(get("/item/x", { Connection: "close" }));
    assert.equal((await c.response()).text, "x");
    await c.closed();
    assert.ok(c.closedCleanly, String(c.error));
});

test("a refused request is answered and the connection closed", async () => {
    const c = await Connection.open(server, { tls });
    await c.send(`GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n${get("/canary/x")}`);
    assert.equal((await c.response()).status, 400);
    await c.closed();
    assert.ok(c.closedCleanly, String(c.error));
    assert.equal(c.buffer.length, 0);
});

test("a client that leaves a call is noticed at once", async () => {
    for (const leave of [(c) => c.close(), (c) => c.socket.end()]) {
        for (const target of ["/later?60000", "/events?0"]) {
            const { gone } = await getJson(plainPort(server), "/gone");
            const c = await Connection.open(server, { tls });
            // The answer to the first shows that the second has arrived.
            await c.send(get("/item/first") + get(target));
            assert.equal((await c.response()).text, "first");
            await pause(50);
            leave(c);
            await eventually(
                async () => (await getJson(plainPort(server), "/gone")).gone === gone + 1,
                `${target} left`,
                1_000,
            );
            c.close();
        }
    }
});

test("a renegotiation is refused and the server goes on", async () => {
    const c = await Connection.open(server, { tls: { maxVersion: "TLSv1.2" } });
    const error = await new Promise((resolve) => {
        c.socket.on("error", resolve);
        c.socket.renegotiate({ rejectUnauthorized: false }, resolve);
    });
    assert.ok(error instanceof Error);
    await assertServes();
});

// A client hello as a real client sends it.
async function clientHello() {
    const listener = net.createServer();
    await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const received = new Promise((resolve) => {
        listener.on("connection", (socket) => {
            socket.once("data", (bytes) => {
                resolve(bytes);
                socket.destroy();
            });
        });
    });
    const client = nodeTls.connect({ port: listener.address().port, host: "127.0.0.1" });
    client.on("error", () => {});
    const bytes = await received;
    client.destroy();
    listener.close();
    return bytes.toString("latin1");
}

suite("what is no TLS", () => {
    test("a plain request to the TLS port is closed and the server goes on", async () => {
        const c = await Connection.open(server);
        await c.send(get("/canary/plain"));
        await c.closed();
        assert.doesNotMatch(c.buffer.toString("latin1"), /HTTP\/1/);
        await assertServes();
    });

    test("TLS to the plain port is answered with 400", async () => {
        const { status } = await exchange(plainPort(server), await clientHello());
        assert.equal(status, 400);
    });

    test("garbage is closed", async () => {
        const hello = await clientHello();
        const texts = Array.from({ length: 100 }, (_, i) => {
            const noise = randomBytes(1 + i * 20).toString("latin1");
            // Pure noise, noise within a record, and a hello that turns into noise.
            return [noise, `\x16\x03\x01\x02\x00${noise}`, hello.slice(0, i * 4) + noise][i % 3];
        });
        await Promise.all(
            texts.map(async (text) => {
                const c = await Connection.open(server);
                c.socket.end(text, "latin1");
                await c.closed();
            }),
        );
        await assertServes();
    });

    test("noise after the handshake is closed", async () => {
        const below = net.connect(server.port, "127.0.0.1");
        below.on("error", () => {});
        const c = await Connection.open(server, { tls: { socket: below } });
        await c.assertAlive();
        below.write(randomBytes(200));
        await c.closed();
        below.destroy();
        await assertServes();
    });

    test("a hello that is cut anywhere and then ends is closed", async () => {
        const hello = await clientHello();
        await Promise.all(
            Array.from({ length: hello.length }, async (_, at) => {
                const c = await Connection.open(server);
                c.socket.end(hello.slice(0, at), "latin1");
                await c.closed();
            }),
        );
        await assertServes();
    });

    test("a full server closes without a word", async () => {
        const full = await startTls({ connections: 1 });
        const first = await Connection.open(full, { tls });
        await first.assertAlive();
        await assert.rejects(Connection.open(full, { tls }));
        await first.assertAlive();
        first.close();
        await full.stop();
    });
});

suite("time limits over TLS", { concurrency: true }, () => {
    test("a handshake that stalls is cut off by the limit for a head", async () => {
        const slow = await startTls({ header_ms: limit, idle_ms: 60_000 });
        const hello = await clientHello();
        const stalls = {
            "before the first byte": async () => {},
            "within the hello": (c) => c.send(hello.slice(0, 50)),
            "after the hello": (c) => c.send(hello),
            "byte by byte": async (c) => {
                for (let i = 0; i < hello.length && !c.ended; i++) {
                    await c.send(hello[i]);
                    await pause(limit / 40);
                }
            },
        };
        await Promise.all(
            Object.entries(stalls).map(async ([where, stall]) => {
                const [from, clock] = [Date.now(), timeLimit(0)];
                const c = await Connection.open(slow);
                stall(c);
                await c.closed(5_000);
                assertInTime(from, clock, where);
            }),
        );
        await eventually(() => openFiles(slow.pid) === slow.files, "nothing left");
        await slow.stop();
    });

    test("a client that shakes hands and then says nothing is cut off likewise", async () => {
        const slow = await startTls({ header_ms: limit, idle_ms: 60_000 });
        const [from, clock] = [Date.now(), timeLimit(0)];
        const [silent, half] = await Promise.all([Connection.open(slow, { tls }), Connection.open(slow, { tls })]);
        await half.send("GET /echo");
        assert.equal((await half.response()).status, 408);
        await Promise.all([silent.closed(), half.closed()]);
        assertInTime(from, clock);
        await slow.stop();
    });

    test("an idle connection is closed after the limit for idle ones", async () => {
        const idle = await startTls({ header_ms: 60_000, idle_ms: limit });
        const c = await Connection.open(idle, { tls });
        await pause(limit / 2); // before the first request the limit for a head counts
        // The server is idle some time before its answer was read here.
        const [from, clock] = [Date.now(), timeLimit(0)];
        await c.assertAlive();
        await c.closed();
        assert.ok(c.closedCleanly, String(c.error));
        assertInTime(from, clock);
        await idle.stop();
    });
});

test("a stop waits for a call over TLS and ends it properly", async () => {
    const one = await startTls();
    const idle = await Connection.open(one, { tls });
    await idle.assertAlive();
    const c = await Connection.open(one, { tls });
    // Long enough to run when the signal arrives, and over before the limit of a stop (30 s).
    await c.send(get(`/later?${Math.min(patience(3_000), 15_000)}`));
    await c.untilRead();
    one.child.kill("SIGTERM");
    const { status, headers } = await c.response({ timeoutMs: 20_000 });
    assert.equal(status, 200);
    assert.equal(headers.get("connection"), "close");
    await Promise.all([c.closed(), idle.closed()]);
    assert.ok(idle.closedCleanly, String(idle.error));
    assert.deepEqual(await one.exited, { code: 0, signal: null });
    one.assertNoReports();
});

test("files that are wrong are named at the start", async () => {
    const other = makeCertificate("other");
    const broken = path.join(keepFolder(), "broken.pem");
    writeFileSync(broken, "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n");
    const cases = [
        [{ certificate: "/no/such.crt", key: certificate.key }, /TLS certificate '\/no\/such\.crt'/],
        [{ certificate: certificate.certificate, key: "/no/such.key" }, /TLS key '\/no\/such\.key'/],
        [{ certificate: broken, key: certificate.key }, /TLS certificate '.*broken\.pem'/],
        [{ certificate: certificate.certificate, key: other.key }, /TLS key '.*other\.key'/],
    ];
    for (const [i, [files, expected]] of cases.entries()) {
        const file = path.join(keepFolder(), `wrong-${i}.yaml`);
        const listen = [{ address: "127.0.0.1:0", tls: true }];
        writeFileSync(file, JSON.stringify({ listen, tls: files }));
        const { code, stderr } = await runCauseway(["serve", "--config", file]);
        assert.equal(code, 1);
        assert.match(stderr, expected);
    }
});

test("an answer given from another connection's handler leaves its bytes alone", async () => {
    const own = await startTls();
    const secret = get("/item/SECRET-OF-B");
    const b = await RecordConnection.open(own);
    // The second record lies in the TLS library while the first request waits.
    await b.sendRecords(b.seal(get("/item/first") + get("/park")), b.seal(secret.repeat(20)));
    assert.equal((await b.response()).text, "first");
    await pause(100 * slowness);
    const a = await Connection.open(plainPort(own));
    // Where B's bytes would overwrite A's, a request of B would begin where one of A does.
    const release = paddedGet("/release", secret.length, { multiple: true });
    await a.send(release + get("/item/aaaa").repeat(6));
    assert.equal((await a.response()).text, '"released"');
    for (let i = 0; i < 6; i++) {
        assert.equal((await a.response()).text, "aaaa");
    }
    assert.equal((await b.response()).text, '"parked"');
    for (let i = 0; i < 20; i++) {
        assert.equal((await b.response()).text, "SECRET-OF-B");
    }
    await a.assertAlive();
    assert.equal(a.buffer.length + b.buffer.length, 0);
    a.close();
    b.close();
    await own.stop();
});

test("a client that pipelines without a break leaves time to the others", async () => {
    const own = await startTls({ pipelined: 4_000_000_000 });
    const greedy = await RecordConnection.open(own);
    greedy.discardInput();
    // Fewer requests in a record than are served in a row.
    const record = paddedGet("/item/a", 950).repeat(17);
    let records = 0;
    const flood = () => {
        // So much ahead that the server always finds more when it has served a record.
        while (!greedy.raw.destroyed && greedy.raw.writableLength < 8_000_000) {
            greedy.sendRecords(greedy.seal(record)).then(flood);
            records += 1;
        }
    };
    flood();
    await eventually(() => records > 500, "the flood runs");
    const begun = records;
    const until = Date.now() + 1_500;
    let longest = 0;
    let answered = 0;
    while (Date.now() < until) {
        const clock = timeLimit(0);
        assert.equal((await exchange(plainPort(own), get("/item/x"))).text, "x");
        longest = Math.max(longest, -clock());
        answered += 1;
        await pause(20);
    }
    assert.ok(records > begun, "the flood ran all the time");
    greedy.close();
    assert.ok(longest < patience(500), `an answer took ${longest} ms, of ${answered}`);
    await own.stop();
});

test("half a handshake message behind half a head burns no processor time", async () => {
    // The handshake and half a head have to arrive within the first.
    const header_ms = patience(300);
    const own = await startTls({ header_ms, write_ms: header_ms + 1_500 * slowness });
    const c = await RecordConnection.open(own);
    await c.sendRecords(c.seal("GET /2k HTT"));
    await pause(50);
    // A KeyUpdate without its last byte: the answer 408 cannot be written before it came.
    const keyUpdate = Buffer.from([24, 0, 0, 1]);
    await c.sendRecords(c.seal(keyUpdate, handshakeMessage));
    const before = processorMs(own.pid);
    await pause(header_ms + 900 * slowness);
    const used = processorMs(own.pid) - before;
    assert.ok(used < 150 * slowness, `${used} ms of processor time`);
    await c.closed();
    await own.stop();
});

test("100 Continue on a full socket never spoils an answer", async () => {
    const socket = newSocketPath();
    const listen = ["127.0.0.1:0", `tls:unix:${socket}`];
    const own = await startTls({ listen });
    const expecting = { Expect: "100-continue", Connection: "close" };
    const post = request("POST", "/echo", expecting, "hello");
    const seen = new Map();
    // Somewhere in these sizes the answer before fills the socket but for a few bytes.
    const sizes = Array.from({ length: 90 }, (_, i) => 20_000 + 4_096 * i);
    await inParallel(sizes, 12, async (size) => {
        const c = await RecordConnection.open({ path: socket });
        c.raw.pause();
        await c.sendRecords(c.seal(get(`/big?${size}`) + post));
        await pause(60 * slowness);
        c.raw.resume();
        await c.closed();
        const [first, ...rest] = splitResponses(c.buffer);
        assert.equal(first.body.length, size);
        const statuses = rest.map(({ status }) => status).join(" ");
        // A connection that could not say it whole is closed.
        assert.ok(["100 200", "200", ""].includes(statuses), statuses);
        seen.set(statuses, (seen.get(statuses) ?? 0) + 1);
        c.close();
    });
    assert.ok(seen.get("100 200") > 0);
    await own.stop();
});

test("an encrypted key is refused at the start, and nobody is asked", async () => {
    const key = path.join(keepFolder(), "encrypted.key");
    const args = ["pkey", "-in", certificate.key, "-aes256", "-passout", "pass:sesame"];
    execFileSync("openssl", [...args, "-out", key], { stdio: "pipe" });
    const listen = [{ address: "127.0.0.1:0", tls: true }];
    const config = writeConfig({ listen, tls: { certificate: certificate.certificate, key } });
    // Without a terminal the question would be put to standard input, where the answer lies.
    const program = new Program(binary, ["serve", "--config", config], { leads: true });
    program.child.stdin.on("error", () => {}).write("sesame\n");
    const { code, stdout, stderr } = await soonEnded(program, 3_000);
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.match(stderr, /TLS key '[^']*encrypted\.key': /);
    assert.doesNotMatch(stderr, /pass ?phrase:/i);
});
