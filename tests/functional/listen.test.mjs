// Listeners: several addresses, IPv6, unix sockets, free ports, and sockets from a supervisor.
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { networkInterfaces } from "node:os";
import path from "node:path";
import { suite, test } from "node:test";
import { keepFolder, newSocketPath } from "./support/kept.mjs";
import { binary, Program, runCauseway, startCauseway, writeConfig } from "./support/programs.mjs";
import { eventually, exchange, get, makeCertificate, soonEnded } from "./support/server.mjs";

const hasIpv6 = Object.values(networkInterfaces())
    .flat()
    .some(({ address }) => address === "::1");

const listeners = (server) => server.stdout.trim().split("\n");
const health = get("/healthz");

async function assertHealthy(to) {
    assert.equal((await exchange(to, health)).text, '{"status":"ok"}');
}

test("one line for each address, in order, the first one with the URL", async () => {
    const server = await startCauseway({
        args: ["--listen", "127.0.0.1:0", "--listen", "127.0.0.2:0", "--listen=127.0.0.1:0"],
    });
    const lines = listeners(server);
    assert.equal(lines.length, 3);
    const found = lines.map((line) => /^causeway: listening on http:\/\/([\d.]+):(\d+)$/.exec(line));
    assert.deepEqual(
        found.map(([, host]) => host),
        ["127.0.0.1", "127.0.0.2", "127.0.0.1"],
    );
    assert.equal(new Set(found.map(([, , port]) => port)).size, 3, "port 0 is a free port each time");
    for (const [, host, port] of found) {
        await assertHealthy({ host, port: Number(port) });
    }
    await server.stop();
});

test("IPv6 addresses", { skip: !hasIpv6 && "no ::1 here" }, async () => {
    const server = await startCauseway({ args: ["--listen", "[::1]:0"] });
    assert.match(server.stdout, /^causeway: listening on http:\/\/\[::1\]:\d+\n$/);
    await assertHealthy({ host: "::1", port: server.port });
    assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
    const host = await exchange({ host: "::1", port: server.port }, get("/healthz", { Host: "[::1]" }));
    assert.equal(host.status, 200);
    await server.stop();
});

test("an IPv6 wildcard leaves IPv4 to others", { skip: !hasIpv6 && "no ::1 here" }, async () => {
    const server = await startCauseway({ args: ["--listen", "[::]:0"] });
    const both = await startCauseway({ args: ["--listen", `0.0.0.0:${server.port}`] });
    await assertHealthy({ host: "::1", port: server.port });
    await assertHealthy({ host: "127.0.0.1", port: both.port });
    await server.stop();
    await both.stop();
});

test("an address that is taken is an error", async () => {
    const server = await startCauseway();
    for (const loops of [1, 4]) {
        const config = path.join(keepFolder(), `loops-${loops}.yaml`);
        writeFileSync(config, `loops: ${loops}\n`);
        const taken = `127.0.0.1:${server.port}`;
        const end = await runCauseway(["serve", "--listen", taken, "--config", config]);
        assert.equal(end.code, 1);
        assert.equal(end.stdout, "");
        assert.match(end.stderr, new RegExp(`cannot listen on ${taken}: Address already in use`));
    }
    await assertHealthy(server);
    await server.stop();
});

test("an address that is not ours is an error", async () => {
    const { code, stderr } = await runCauseway(["serve", "--listen", "192.0.2.1:0"]);
    assert.equal(code, 1);
    assert.match(stderr, /cannot listen on 192\.0\.2\.1:0/);
});

suite("a unix socket", () => {
    let count = 0;
    const newPath = () => path.join(keepFolder(), `s${(count += 1)}`);
    // The TCP listener comes first, since the first line must name a URL.
    const start = (socket) => startCauseway({ args: ["--listen", "127.0.0.1:0", "--listen", `unix:${socket}`] });

    test("is served like an address, and removed at the end", async () => {
        const socket = newPath();
        const server = await start(socket);
        assert.equal(listeners(server)[1], `causeway: listening on unix:${socket}`);
        await assertHealthy({ path: socket });
        const viaHttp = await new Promise((resolve, reject) => {
            http.get({ socketPath: socket, path: "/healthz" }, resolve).on("error", reject);
        });
        viaHttp.resume();
        assert.equal(viaHttp.statusCode, 200);
        assert.equal(statSync(socket).mode & 0o777, 0o660);
        await server.stop();
        assert.equal(existsSync(socket), false);
    });

    test("alone is enough", async () => {
        const socket = newPath();
        const server = new Program(binary, ["serve", "--listen", `unix:${socket}`]);
        await server.until(() => server.stdout.includes("\n"), "its line");
        assert.equal(server.stdout, `causeway: listening on unix:${socket}\n`);
        await assertHealthy({ path: socket });
        await server.stop();
    });

    test("left behind by a killed server is replaced", async () => {
        const socket = newPath();
        const killed = await start(socket);
        killed.child.kill("SIGKILL");
        await killed.exited;
        assert.ok(existsSync(socket));
        const server = await start(socket);
        await assertHealthy({ path: socket });
        await server.stop();
        assert.equal(existsSync(socket), false);
    });

    test("that another server answers on is an error", async () => {
        const socket = newPath();
        const server = await start(socket);
        const { code, stderr } = await runCauseway(["serve", "--listen", `unix:${socket}`]);
        assert.equal(code, 1);
        assert.match(stderr, /cannot listen on unix:.*: Address already in use/);
        await assertHealthy({ path: socket });
        await server.stop();
    });

    test("never replaces a file", async () => {
        const socket = newPath();
        writeFileSync(socket, "precious");
        const { code } = await runCauseway(["serve", "--listen", `unix:${socket}`]);
        assert.equal(code, 1);
        assert.equal(readFileSync(socket, "utf8"), "precious");
    });

    test("in a folder that is not there is an error", async () => {
        const { code, stderr } = await runCauseway(["serve", "--listen", `unix:${newPath()}/x/y`]);
        assert.equal(code, 1);
        assert.match(stderr, /cannot listen on unix:/);
    });

    test("belongs to those who may enter its folder", async () => {
        const folder = `${newPath()}.d`;
        mkdirSync(folder);
        chmodSync(folder, 0o700);
        const server = await start(path.join(folder, "s"));
        await assertHealthy({ path: path.join(folder, "s") });
        await server.stop();
    });

    // A listening socket that nobody accepts from, since its process is busy.
    const deafListener = `
        require("node:net").createServer().listen({ path: process.argv[1], backlog: 1 }, () => {
            require("node:fs").writeSync(1, "ready\\n");
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60000);
        });`;

    test("with a full queue does not make the start wait", async (t) => {
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
});

suite("sockets from a supervisor", () => {
    // A listening socket that this process does not accept from: it is handed to a child and closed
    // here. The child is a shell, so that LISTEN_PID can be its own number. `args` may be a function of
    // the port.
    async function withSocket(script, args = [], { ready = true } = {}) {
        const socket = net.createServer();
        await new Promise((resolve) => socket.listen(0, "127.0.0.1", resolve));
        const { port } = socket.address();
        const words = typeof args === "function" ? args(port) : args;
        const program = new Program("sh", ["-c", script, "sh", binary, ...words], {
            name: "supervised",
            leads: true,
            stdio: ["ignore", "pipe", "pipe", socket._handle],
        });
        await new Promise((resolve) => socket.close(resolve));
        if (ready) {
            await program.untilUrl();
        }
        return { program, port };
    }

    const serve = 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"';

    test("are served instead of those of the configuration", async () => {
        const { program, port } = await withSocket(serve, ["serve", "--listen", "127.0.0.1:1"]);
        assert.equal(program.stdout, `causeway: listening on http://127.0.0.1:${port}\n`);
        await assertHealthy(port);
        const many = Array.from({ length: 20 }, () => exchange(port, health));
        assert.ok((await Promise.all(many)).every(({ status }) => status === 200));
        await program.stop();
    });

    test("are not ours when the number of the process is another", async () => {
        const script = 'LISTEN_FDS=1 LISTEN_PID=1 exec "$@"';
        const { program, port } = await withSocket(script, ["serve", "--listen", "127.0.0.1:0"]);
        assert.notEqual(program.port, port);
        await assertHealthy(program);
        await program.stop();
    });

    test("that are none are an error", async () => {
        const script = 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@" 3</dev/null';
        const { program } = await withSocket(script, ["serve"], { ready: false });
        assert.deepEqual(await program.exited, { code: 1, signal: null });
        assert.match(program.stderr, /descriptor 3/);
    });

    test("more of them than there are is an error", async () => {
        const script = 'LISTEN_FDS=2 LISTEN_PID=$$ exec "$@" 4<&-';
        const { program } = await withSocket(script, ["serve"], { ready: false });
        assert.deepEqual(await program.exited, { code: 1, signal: null });
        assert.match(program.stderr, /descriptor 4/);
    });

    test("make restarts that refuse nobody", async () => {
        // The shell keeps the socket and starts the server again whenever it has ended.
        const script = `while [ ! -e "$0" ]; do
            sh -c 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"' sh "$@" || exit
        done`;
        const done = path.join(keepFolder(), "no-more-restarts");
        // Clients may need longer between their connection and their request.
        const config = writeConfig({ timeouts: { linger: "10m", header: "10m", drain: "10m" } });
        const { program, port } = await withSocket(script.replace("$0", done), ["serve", "--config", config]);
        const started = () => program.stdout.split("listening").length - 1;
        const childOf = (pid) => {
            const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1");
            return Number(text.trim().split(" ")[0]);
        };
        let answered = 0;
        let stopping = false;
        const failures = [];
        const client = async () => {
            while (!stopping) {
                try {
                    assert.equal((await exchange(port, health)).status, 200);
                    answered += 1;
                } catch (error) {
                    failures.push(error.message);
                }
            }
        };
        const clients = Array.from({ length: 4 }, client);
        for (let restart = 1; restart <= 5; restart++) {
            await eventually(() => started() === restart, `start ${restart}`);
            const goal = answered + 30;
            await eventually(() => answered > goal, "clients are served");
            process.kill(childOf(program.pid), "SIGTERM");
        }
        await eventually(() => started() === 6, "the last start");
        stopping = true;
        await Promise.all(clients);
        writeFileSync(done, "");
        process.kill(childOf(program.pid), "SIGTERM");
        assert.deepEqual(await program.exited, { code: 0, signal: null });
        program.assertNoReports();
        assert.deepEqual(failures, []);
    });

    // LISTEN_FDNAMES is the name that the server has given to a socket when it had it stored.
    const stored = 'LISTEN_FDS=1 LISTEN_PID=$$ LISTEN_FDNAMES=listen-x exec "$@"';

    test("that an earlier process has stored are used for their address", async () => {
        const config = (port) => writeConfig({ loops: 2, listen: [`127.0.0.1:${port}`, "127.0.0.1:0"] });
        const { program, port } = await withSocket(stored, (at) => ["serve", "--config", config(at)]);
        assert.equal(program.port, port);
        await program.until(() => program.stdout.split("listening").length === 3, "the other listener");
        const many = Array.from({ length: 20 }, () => exchange(port, health));
        assert.ok((await Promise.all(many)).every(({ status }) => status === 200));
        await program.stop();
    });

    test("that an earlier process has stored are closed if they are not configured", async () => {
        const { program, port } = await withSocket(stored, ["serve", "--listen", "127.0.0.1:0"]);
        assert.notEqual(program.port, port);
        await assertHealthy(program);
        const refusal = () =>
            exchange(port, health).then(
                () => "",
                ({ code }) => code,
            );
        await eventually(async () => (await refusal()) === "ECONNREFUSED", "the end of the socket");
        await program.stop();
    });

    test("of which it is not known which have TLS are refused", async () => {
        const listen = ["127.0.0.1:0", { address: "127.0.0.1:0", tls: true }];
        const config = writeConfig({ listen, tls: makeCertificate("inherited") });
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

test("curl speaks to every kind of listener", async () => {
    const socket = path.join(keepFolder(), "curl.sock");
    const server = await startCauseway({
        args: ["--listen", "127.0.0.1:0", "--listen", `unix:${socket}`],
    });
    const curl = async (...args) => {
        const program = new Program("curl", ["-sS", "-o", "/dev/null", "-w", "%{http_code}\n", ...args]);
        assert.deepEqual(await program.exited, { code: 0, signal: null }, program.stderr);
        return program.stdout.trim();
    };
    assert.equal(await curl(`${server.url}/healthz`), "200");
    assert.equal(await curl("-I", `${server.url}/healthz`), "200");
    assert.equal(await curl("--http1.0", `${server.url}/healthz`), "200");
    assert.equal(await curl("-X", "OPTIONS", `${server.url}/healthz`), "204");
    assert.equal(await curl("-d", "x=y", `${server.url}/healthz`), "405");
    assert.equal(await curl("--unix-socket", socket, "http://localhost/healthz"), "200");
    assert.equal(await curl("--unix-socket", socket, "http://elsewhere.example/healthz"), "421");
    await server.stop();
});
