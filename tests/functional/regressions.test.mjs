// Mistakes that were made once. Each test fails without its fix.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { before, suite, test } from "node:test";
import { keepFolder } from "./support/kept.mjs";
import { binary, Program, patience, slowness, startCauseway, writeConfig } from "./support/programs.mjs";
import { splitResponses } from "./support/raw.mjs";
import { handshakeMessage, RecordConnection } from "./support/records.mjs";
import {
    assertError,
    Connection,
    eventually,
    exchange,
    get,
    getJson,
    inParallel,
    makeCertificate,
    pause,
    processorMs,
    request,
    startTestServer,
} from "./support/server.mjs";

let certificate;
before(() => (certificate = makeCertificate("localhost")));

let sockets = 0;
const newSocketPath = () => path.join(keepFolder(), `s${(sockets += 1)}`);

// The test server with TLS on its first port. `plainPort` of what is returned is the other one.
async function startTls(options) {
    const { certificate: file, key } = certificate;
    const listen = ["tls:127.0.0.1:0", "127.0.0.1:0"];
    const server = await startTestServer({ listen, certificate: file, key, ...options });
    server.plainPort = Number(/ http:\/\/127\.0\.0\.1:(\d+)/.exec(server.stdout)?.[1]);
    return server;
}

// A GET whose head has a length that is `size` or, with `multiple`, a multiple of it.
function paddedGet(target, size, { multiple = false } = {}) {
    const bare = get(target, { "X-Pad": "" }).length;
    const missing = multiple ? (size - (bare % size)) % size : size - bare;
    return get(target, { "X-Pad": "x".repeat(missing) });
}

// A program that must end by itself, soon: { code, stderr }.
async function soonEnded(program, withinMs) {
    let end;
    program.exited.then((how) => (end = how));
    await eventually(() => end !== undefined, `the end of ${program.name}`, withinMs);
    program.assertNoReports();
    assert.equal(end.signal, null);
    return { code: end.code, stderr: program.stderr, stdout: program.stdout };
}

suite("TLS", () => {
    test("an answer given from another connection's handler leaves its bytes alone", async () => {
        const server = await startTls();
        const secret = get("/item/SECRET-OF-B");
        const b = await RecordConnection.open(server);
        // The second record lies in the TLS library while the first request waits.
        await b.sendRecords(b.seal(get("/park")), b.seal(secret.repeat(20)));
        await pause(100 * slowness);
        const a = await Connection.open(server.plainPort);
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
        await server.stop();
    });

    test("a client that pipelines without a break leaves time to the others", async () => {
        const server = await startTls({ pipelined: 4_000_000_000 });
        const greedy = await RecordConnection.open(server);
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
            const from = Date.now();
            assert.equal((await exchange(server.plainPort, get("/item/x"))).text, "x");
            longest = Math.max(longest, Date.now() - from);
            answered += 1;
            await pause(20);
        }
        assert.ok(records > begun, "the flood ran all the time");
        greedy.close();
        assert.ok(longest < patience(500), `an answer took ${longest} ms, of ${answered}`);
        await server.stop();
    });

    test("half a handshake message behind half a head burns no processor time", async () => {
        const times = { header_ms: 300 * slowness, write_ms: 1_500 * slowness };
        const server = await startTls(times);
        const c = await RecordConnection.open(server);
        await c.sendRecords(c.seal("GET /2k HTT"));
        await pause(50);
        // A KeyUpdate without its last byte: the answer 408 cannot be written before it came.
        const keyUpdate = Buffer.from([24, 0, 0, 1]);
        await c.sendRecords(c.seal(keyUpdate, handshakeMessage));
        const before = processorMs(server.pid);
        await pause(1_200 * slowness);
        const used = processorMs(server.pid) - before;
        assert.ok(used < 150 * slowness, `${used} ms of processor time`);
        await c.closed();
        await server.stop();
    });

    test("100 Continue on a full socket never spoils an answer", async () => {
        const socket = newSocketPath();
        const listen = ["127.0.0.1:0", `tls:unix:${socket}`];
        const server = await startTls({ listen });
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
        await server.stop();
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
});

suite("requests", () => {
    test("heads that are cut across reads have their own time each", async () => {
        const server = await startTestServer({ header_ms: 400 * slowness });
        const text = paddedGet("/item/x", 200);
        const half = text.length / 2;
        const c = await Connection.open(server);
        await c.send(text.slice(0, half));
        for (let i = 0; i < 12; i++) {
            await pause(100 * slowness);
            await c.send(text.slice(half) + text.slice(0, half));
            assert.equal((await c.response()).status, 200);
        }
        await c.send(text.slice(half));
        assert.equal((await c.response()).status, 200);
        // One that is slow by itself is still refused.
        await c.send(text.slice(0, half));
        assertError(await c.response(), 408, "request_timeout");
        await server.stop();
    });

    test("the ceiling of pipelined ones is reached by small ones in many reads", async () => {
        const server = await startTestServer({ pipelined: 20 });
        const all = paddedGet("/item/x", 100).repeat(100);
        const c = await Connection.open(server);
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
        await server.stop();
    });

    test("a handle finds nothing while the answer is still being sent", async () => {
        const server = await startTestServer();
        const size = 12_000_000; // more than the kernel takes at once
        const slow = await Connection.open(server);
        slow.socket.pause();
        await slow.send(get(`/late-find?${size}`));
        await pause(200 * slowness);
        assert.deepEqual(await getJson(server, "/late-finds"), { found: 0 });
        slow.socket.resume();
        assert.equal((await slow.response({ timeoutMs: 20_000 })).body.length, size);
        await slow.assertAlive();
        slow.close();
        await server.stop();
    });

    test("large bodies at once get 503 above the ceiling of their memory", async () => {
        const size = 200_000;
        const server = await startTestServer({ body_size: size, body_memory: 300_000 });
        const body = "b".repeat(size);
        for (let round = 0; round < 4; round++) {
            const clients = await Promise.all(Array.from({ length: 4 }, () => Connection.open(server)));
            // All but the last byte: two of these are too much.
            await Promise.all(clients.map((c) => c.send(request("POST", "/echo", {}, body).slice(0, -1))));
            const refused = () => clients.filter(({ buffer }) => buffer.length > 0);
            await eventually(() => refused().length === 3, "three are refused");
            for (const c of refused()) {
                assertError(await c.response(), 503, "unavailable");
                await c.closed();
            }
            const last = clients.find(({ ended }) => !ended);
            if (round % 2) {
                await last.send("b");
                const { status, text } = await last.response();
                assert.equal(status, 200);
                assert.equal(JSON.parse(text).body, body);
                await last.assertAlive();
            }
            clients.forEach((c) => c.close());
            await pause(20);
        }
        await server.stop();
    });

    test("one body of the greatest size always fits", async () => {
        const size = 200_000;
        const server = await startTestServer({ body_size: size, body_memory: 1 });
        const c = await Connection.open(server);
        for (let i = 0; i < 5; i++) {
            await c.send(request("POST", "/echo", {}, "b".repeat(size)));
            assert.equal((await c.response()).status, 200);
        }
        c.close();
        await server.stop();
    });

    test("a body that nobody wanted is no reason to reset the connection", async () => {
        const server = await startTestServer();
        const half = "x".repeat(150_000);
        for (let i = 0; i < 5; i++) {
            const c = await Connection.open(server, { stays: true });
            const headers = { Connection: "close", "Content-Length": 2 * half.length };
            await c.send(request("POST", "/nothing", headers));
            assertError(await c.response(), 404, "not_found");
            for (const part of [half, half]) {
                await c.send(part);
                await pause(10);
            }
            assert.equal(c.error, null);
            c.close();
        }
        await server.stop();
    });

    test("HEAD on a stream says that the connection will close", async () => {
        const server = await startTestServer();
        const c = await Connection.open(server);
        await c.send(request("HEAD", "/events?3"));
        const { status, headers } = await c.response({ method: "HEAD" });
        assert.equal(status, 200);
        assert.equal(headers.get("connection"), "close");
        await c.closed();
        assert.equal(c.buffer.length, 0);
        await server.stop();
    });
});

suite("the end", () => {
    test("a draining server leaves the unix socket of its successor alone", async () => {
        const socket = newSocketPath();
        const start = () => startTestServer({ listen: ["127.0.0.1:0", `unix:${socket}`] });
        const old = await start();
        const c = await Connection.open({ path: socket });
        await c.send(get(`/later?${800 * slowness}`));
        await pause(100 * slowness);
        old.child.kill("SIGTERM");
        await pause(100 * slowness);
        const successor = await start();
        assert.equal((await exchange({ path: socket }, get("/item/new"))).text, "new");
        assert.equal(old.child.exitCode, null, "it still drains");
        assert.equal((await c.response()).text, '{"later":true}');
        assert.equal((await soonEnded(old)).code, 0);
        assert.ok(existsSync(socket));
        assert.equal((await exchange({ path: socket }, get("/item/still"))).text, "still");
        await successor.stop();
        assert.equal(existsSync(socket), false);
    });

    test("signals in the last phase of a stop do not kill", async () => {
        for (let i = 0; i < 12; i++) {
            const server = await startCauseway();
            server.child.kill("SIGTERM");
            // Without a pause, until it has surely ended.
            const until = Date.now() + 60 * slowness;
            while (Date.now() < until) {
                ["SIGTERM", "SIGINT", "SIGHUP"].forEach((name) => server.child.kill(name));
            }
            assert.equal((await soonEnded(server)).code, 0);
        }
    });

    test("a stream that begins after the order to stop hears of it", async () => {
        const server = await startTestServer({ drain_ms: 60_000 });
        const fresh = await Connection.open(server);
        await pause(50);
        server.child.kill("SIGTERM");
        await pause(200 * slowness);
        await fresh.send(get("/events"));
        const { status, complete } = await fresh.response();
        assert.equal(status, 200);
        assert.ok(complete);
        assert.equal((await soonEnded(server, 4_000)).code, 0);
    });
});

suite("the start", () => {
    // A listening socket that nobody accepts from, since its process is busy.
    const deafListener = `
        require("node:net").createServer().listen({ path: process.argv[1], backlog: 1 }, () => {
            require("node:fs").writeSync(1, "ready\\n");
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60000);
        });`;

    test("a unix socket with a full queue does not make it wait", async (t) => {
        const socket = newSocketPath();
        const deaf = new Program(process.execPath, ["-e", deafListener, socket], { name: "deaf" });
        await deaf.until(() => deaf.stdout.includes("ready"), "its socket");
        const waiting = [];
        t.after(() => waiting.forEach((c) => c.destroy()));
        const connects = () =>
            new Promise((resolve) => {
                const c = net.connect({ path: socket }, () => resolve(true));
                c.on("error", () => resolve(false));
                waiting.push(c);
            });
        while (await connects()) {
            assert.ok(waiting.length < 10, "its queue is never full");
        }
        const program = new Program(binary, ["serve", "--listen", `unix:${socket}`]);
        const { code, stderr } = await soonEnded(program, 2_000);
        assert.equal(code, 1);
        assert.match(stderr, /cannot listen on unix:.*: Address already in use/);
        assert.ok(existsSync(socket));
        deaf.child.kill("SIGKILL");
        await deaf.exited;
    });

    test("inherited sockets of which nobody knows which have TLS are refused", async () => {
        const listen = ["127.0.0.1:0", { address: "127.0.0.1:0", tls: true }];
        const config = writeConfig({ listen, tls: certificate });
        const socket = net.createServer();
        await new Promise((resolve) => socket.listen(0, "127.0.0.1", resolve));
        const script = 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"';
        const args = ["-c", script, "sh", binary, "serve", "--config", config];
        const stdio = ["ignore", "pipe", "pipe", socket._handle];
        const program = new Program("sh", args, { name: "inheriting", leads: true, stdio });
        await new Promise((resolve) => socket.close(resolve));
        const { code, stdout, stderr } = await soonEnded(program, 3_000);
        assert.equal(code, 1);
        assert.equal(stdout, "");
        assert.match(stderr, /1 sockets were inherited for 2 entries of listen/);
    });
});
