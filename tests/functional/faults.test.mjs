// Faults from outside: no descriptors left, a full disk, closed pipes, peers that reset. Nothing
// crashes, nothing leaks, and the server goes on serving.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, suite, test } from "node:test";
import { binary, Program, slowness, startCauseway, startProgram } from "./support/programs.mjs";
import {
    Connection,
    eventually,
    exchange,
    get,
    getJson,
    inParallel,
    makeCertificate,
    openFiles,
    pause,
    processorMs,
    request,
    residentKb,
    startTestServer,
    testServer,
    testServerArgs,
} from "./support/server.mjs";

suite("no descriptors left", () => {
    for (const loops of [1, 2]) {
        test(`those who wait are served when others leave, with ${loops} loops`, async () => {
            const args = testServerArgs({ loops, idle_ms: 60_000, header_ms: 60_000 });
            const script = 'ulimit -n 60; exec "$@"';
            const server = await startProgram("sh", ["-c", script, "sh", testServer, ...args]);
            const files = openFiles(server.pid);
            const clients = await Promise.all(Array.from({ length: 100 }, () => Connection.open(server)));
            clients.forEach((c) => c.send(get("/item/x")));
            // Every descriptor is in use, some clients are served, the others wait in the kernel.
            await eventually(() => openFiles(server.pid) >= 55, "descriptors are used up");
            const served = () => clients.filter((c) => c.total > 0);
            await eventually(() => served().length >= 60 - files - 5, "the first ones are served");
            const before_ = processorMs(server.pid);
            await pause(1_000);
            const used = processorMs(server.pid) - before_;
            assert.ok(used < 200 * slowness, `${used} ms of processor time while waiting`);
            assert.ok(served().length < 100);
            // Each one that leaves makes room for one that waits.
            await eventually(
                () => {
                    for (const c of clients.filter(({ total }) => total > 0)) {
                        c.close();
                    }
                    return served().length === 100;
                },
                "all are served in the end",
                20_000,
            );
            await eventually(() => openFiles(server.pid) <= files, "all descriptors are free again");
            assert.equal((await exchange(server, get("/item/y"))).text, "y");
            await server.stop();
        });
    }
});

suite("a log that cannot be written", () => {
    test("to a full disk costs lines, not answers", async () => {
        const server = await startCauseway({ config: { log: { file: "/dev/full" } } });
        const before_ = processorMs(server.pid);
        for (let i = 0; i < 200; i++) {
            assert.equal((await exchange(server, get("/healthz"))).status, 200);
        }
        await pause(300);
        assert.ok(processorMs(server.pid) - before_ < 3_000, "it does not try again without a pause");
        await server.stop();
    });

    test("to a reader that has gone costs lines, not answers", async () => {
        const server = await startCauseway();
        await exchange(server, get("/healthz"));
        server.child.stderr.destroy();
        server.child.stdout.destroy();
        for (let i = 0; i < 50; i++) {
            assert.equal((await exchange(server, get("/healthz"))).status, 200);
        }
        server.child.kill("SIGTERM");
        assert.deepEqual(await server.exited, { code: 0, signal: null });
    });

    test("to a reader that does not read costs lines, not answers", async () => {
        const server = await startCauseway({ config: { log: { level: "debug" } } });
        server.child.stderr.pause();
        const c = await Connection.open(server);
        // Far more than the pipe and the queue hold.
        for (let i = 0; i < 40; i++) {
            await c.send(get(`/none/${"x".repeat(900)}`).repeat(100));
            await c.responses(100);
        }
        await c.assertAlive("/healthz");
        const rss = residentKb(server.pid);
        assert.ok(rss < 40_000 * slowness * slowness, `${rss} KB`);
        c.close();
        server.child.stderr.resume();
        await server.untilLogged(/dropped/);
        await server.stop();
    });
});

suite("standard output that cannot be written", () => {
    const listen = ["serve", "--listen", "127.0.0.1:0"];

    test("is an error with a message, not a signal", async () => {
        const full = new Program("sh", ["-c", 'exec "$@" >/dev/full', "sh", binary, ...listen]);
        assert.deepEqual(await full.exited, { code: 1, signal: null });
        assert.notEqual(full.stderr, "");
        full.assertNoReports();
        // The reader of the pipe has ended before the line is written.
        const script = '{ sleep 0.3; "$@"; echo "code $?" >&2; } | true';
        const broken = new Program("sh", ["-c", script, "sh", binary, ...listen], { leads: true });
        await broken.exited;
        assert.match(broken.stderr, /^code 1$/m);
        broken.assertNoReports();
    });

    test("after the line does not matter", async () => {
        const script = '"$@" | head -n 1 >&2';
        const args = ["-c", `trap "" TERM; ${script}`, "sh", binary, ...listen];
        const piped = new Program("sh", args, { leads: true });
        await piped.until(() => /http:\/\/[\d.]+:(\d+)/.test(piped.stderr), "the line");
        const port = Number(/http:\/\/[\d.]+:(\d+)/.exec(piped.stderr)[1]);
        await pause(100);
        assert.equal((await exchange(port, get("/healthz"))).status, 200);
        assert.equal((await exchange(port, get("/healthz"))).status, 200);
        const pid = serverBelow(piped.pid);
        process.kill(pid, "SIGTERM");
        await piped.exited;
        piped.assertNoReports();
    });
});

// The process id of the server that a shell has started.
function serverBelow(pid) {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim().split(" ");
    const isServer = (child) => readFileSync(`/proc/${child}/cmdline`, "latin1").includes("serve\0");
    return Number(children.find(isServer));
}

suite("peers that vanish", () => {
    let certificate;
    let server;
    before(async () => {
        certificate = makeCertificate("faults");
        server = await startTestServer({
            loops: 2,
            listen: ["127.0.0.1:0", "tls:127.0.0.1:0"],
            certificate: certificate.certificate,
            key: certificate.key,
        });
    });
    after(() => server.stop());

    const requests = [
        get("/2k"),
        get("/item/a") + get("/item/b") + get("/2k"),
        request("POST", "/echo", {}, "b".repeat(3_000)),
        request("POST", "/echo", { "Transfer-Encoding": "chunked" }, "5\r\nhello\r\n0\r\n\r\n"),
        request("POST", "/echo", { Expect: "100-continue", "Content-Length": 5 }, "hello"),
        get("/later?20"),
        get("/later?60000") + get("/2k"),
        get("/events"),
        get("/events?0"),
        get("/hold?10"),
        get("/flood?50000000"),
        get("/big?3000000"),
        "GET / HTTP/1.1\r\nbad header\r\n\r\n" + get("/2k"),
    ];

    // Small and repeatable: the same seed gives the same run.
    function random(seed) {
        let state = seed;
        return (below) => {
            state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
            return Math.floor((state / 0x80000000) * below);
        };
    }

    // Send a part of a request, read a part of the answer perhaps, and leave in some way.
    async function vanish(roll, to, options) {
        const text = requests[roll(requests.length)];
        const c = new Connection(to, options);
        try {
            await c.opened;
        } catch {
            return;
        }
        const whole = roll(3) === 0;
        await c.send(whole ? text : text.slice(0, roll(text.length + 1)));
        if (roll(2)) {
            await pause(roll(15));
        }
        if (roll(4) === 0) {
            c.socket.end();
            await pause(roll(5));
        }
        if (options?.tls === undefined && roll(3) > 0) {
            c.socket.resetAndDestroy();
        } else {
            c.close();
        }
    }

    const rounds = async (count, seed, to, options) => {
        const roll = random(seed);
        await inParallel(Array.from({ length: count }), 50, () => vanish(roll, to, options));
        await eventually(() => openFiles(server.pid) <= server.files, "no descriptor is left open");
    };

    test("two thousand times at random bytes: no leak, and the server goes on", async () => {
        await rounds(500, 1, server.port);
        const before_ = residentKb(server.pid);
        for (let seed = 2; seed < 5; seed++) {
            await rounds(500, seed, server.port);
        }
        const grown = residentKb(server.pid) - before_;
        if (slowness === 1) {
            assert.ok(grown < 6_000, `${grown} KB more`);
        }
        assert.equal((await exchange(server, get("/item/alive"))).text, "alive");
    });

    test("over TLS likewise", async () => {
        const port = Number(/https:\/\/127\.0\.0\.1:(\d+)/.exec(server.stdout)[1]);
        await rounds(150, 10, port, { tls: {} });
        const before_ = residentKb(server.pid);
        await rounds(300, 11, port, { tls: {} });
        const grown = residentKb(server.pid) - before_;
        if (slowness === 1) {
            assert.ok(grown < 6_000, `${grown} KB more`);
        }
        assert.equal((await exchange(port, get("/item/alive"), { tls: {} })).text, "alive");
    });

    test("right after connecting", async () => {
        await inParallel(Array.from({ length: 1_000 }), 50, async (_, i) => {
            const c = await Connection.open(server);
            if (i % 2) {
                c.socket.resetAndDestroy();
            } else {
                c.close();
            }
        });
        await eventually(() => openFiles(server.pid) <= server.files, "no descriptor is left open");
        assert.equal((await exchange(server, get("/item/alive"))).text, "alive");
    });

    test("in the middle of a body, which no handler sees", async () => {
        const { canaries } = await getJson(server, "/canaries");
        await inParallel(Array.from({ length: 300 }), 50, async (_, i) => {
            const c = await Connection.open(server);
            const body = "x".repeat(1_000);
            const text = request("POST", "/canary/half", { "Content-Length": 1_001 }, body);
            await c.send(text);
            await pause(i % 5);
            if (i % 3 === 0) {
                c.socket.resetAndDestroy();
            } else if (i % 3 === 1) {
                c.socket.end();
                await c.closed();
            } else {
                c.close();
            }
        });
        await eventually(() => openFiles(server.pid) <= server.files, "no descriptor is left open");
        assert.equal((await getJson(server, "/canaries")).canaries, canaries);
    });

    test("well-behaved ones leave nothing behind either", async () => {
        const round = async () => {
            await inParallel(Array.from({ length: 300 }), 30, async (_, i) => {
                const c = await Connection.open(server);
                await c.send(request("POST", "/echo", {}, "y".repeat(i * 10)));
                await c.response();
                await c.send(get("/big?50000"));
                await c.response();
                c.close();
            });
            await eventually(() => openFiles(server.pid) <= server.files, "all closed");
        };
        await round();
        const before_ = residentKb(server.pid);
        await round();
        await round();
        const grown = residentKb(server.pid) - before_;
        if (slowness === 1) {
            assert.ok(grown < 4_000, `${grown} KB more`);
        }
    });
});

test("a server that was stopped and continued by its shell serves on", async () => {
    const server = await startTestServer({ loops: 2 });
    const kept = await Connection.open(server);
    await kept.assertAlive();
    server.child.kill("SIGSTOP");
    const waiting = Array.from({ length: 20 }, () => exchange(server, get("/item/w")));
    await pause(200);
    server.child.kill("SIGCONT");
    for (const { text } of await Promise.all(waiting)) {
        assert.equal(text, "w");
    }
    await kept.assertAlive();
    await server.stop();
});
