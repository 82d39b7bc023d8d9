// The start: one line, at once, and an answer right behind it.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { suite, test } from "node:test";
import { binary, Program, patience, startCauseway, startProgram } from "./support/programs.mjs";
import { exchange, get, pause } from "./support/server.mjs";

test("the first line names the URL, and nothing else is printed", async () => {
    const server = await startCauseway({ config: {} });
    assert.match(server.stdout, /^causeway: listening on http:\/\/127\.0\.0\.1:\d+\n$/);
    assert.equal(server.stderr, "");
    assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
    await server.stop();
});

test("the health documents are JSON that nobody may keep", async () => {
    const server = await startCauseway();
    for (const [target, status] of [
        ["/healthz", "ok"],
        ["/readyz", "ready"],
    ]) {
        const answer = await exchange(server, get(target));
        assert.equal(answer.status, 200);
        assert.deepEqual(JSON.parse(answer.text), { status });
        assert.equal(answer.headers.get("content-type"), "application/json");
        assert.equal(answer.headers.get("cache-control"), "no-store");
    }
    await server.stop();
});

test("the line comes when the server answers, within half a second", async () => {
    const times = [];
    for (let i = 0; i < 5; i++) {
        const start = performance.now();
        const server = await startCauseway();
        assert.equal((await exchange(server, get("/healthz"))).status, 200);
        times.push(performance.now() - start);
        await server.stop();
    }
    const best = Math.min(...times);
    assert.ok(best < patience(500), `${times.map(Math.round)} ms`);
});

test("the line comes at once into a pipe, not when a buffer is full", async () => {
    const server = new Program(binary, ["serve", "--listen", "127.0.0.1:0"]);
    await server.until(() => server.stdout.endsWith("\n"), "the line");
    await server.stop();
});

test("ten servers start side by side, each on a port of its own", async () => {
    const servers = await Promise.all(Array.from({ length: 10 }, () => startCauseway()));
    assert.equal(new Set(servers.map(({ port }) => port)).size, 10);
    await Promise.all(servers.map((server) => exchange(server, get("/healthz"))));
    await Promise.all(servers.map((server) => server.stop()));
});

// What the kernel lets nobody but root look into belongs to root in /proc, so the server must not be
// root's here.
test("threat-C11: the memory of a server is in no core dump and open to no other process", async () => {
    const nobody = 65534;
    const isRoot = process.getuid() === 0;
    const user = isRoot ? nobody : process.getuid();
    const other = ["--reuid", nobody, "--regid", nobody, "--clear-groups", binary].map(String);
    for (const [args, owner, limit] of [
        [[], 0, /^Max core file size +0 +0 /m],
        [["--core-dumps"], user, /^Max core file size/m],
    ]) {
        const all = ["serve", "--listen", "127.0.0.1:0", ...args];
        const server = isRoot
            ? await startProgram("setpriv", [...other, ...all], { name: "causeway", cwd: "/" })
            : await startProgram(binary, all, { name: "causeway" });
        assert.equal(statSync(`/proc/${server.pid}/status`).uid, owner, args.join());
        assert.match(readFileSync(`/proc/${server.pid}/limits`, "latin1"), limit);
        assert.equal((await exchange(server, get("/healthz"))).status, 200);
        await server.stop();
    }
});

suite("standard output that cannot be written", () => {
    const listen = ["serve", "--listen", "127.0.0.1:0"];

    test("is an error with a message, not a signal", async () => {
        const full = new Program("sh", ["-c", 'exec "$@" >/dev/full', "sh", binary, ...listen]);
        assert.deepEqual(await full.exited, { code: 1, signal: null });
        assert.notEqual(full.stderr, "");
        full.assertNoReports();
        // The reader of the pipe has ended before the line is written: another program could not write to it.
        const script = '{ while env echo 2>/dev/null; do sleep 0.1; done; "$@"; echo "code $?" >&2; } | true';
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
