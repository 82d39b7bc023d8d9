// Messages to the service manager (sd_notify): start, reload, stop, stored sockets, watchdog, and the
// process that takes over.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { newSocketPath } from "./support/kept.mjs";
import { buildFolder, Program, runCauseway, writeConfig } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";
import { startUpgradable, stopUpgraded, upgrade } from "./support/upgrade.mjs";

// A manager, and what it has received as { pid, fds, lines }.
async function startManager(t, name = newSocketPath()) {
    const manager = new Program(path.join(buildFolder, "tests", "integration", "notifysocket"), [name]);
    await manager.until(() => manager.stdout.startsWith("ready\n"), "the socket");
    t.after(async () => {
        manager.child.kill("SIGKILL");
        await manager.exited;
    });
    const messages = () =>
        [...manager.stdout.matchAll(/^(\d+): (.*) fds=(\d+)$/gm)].map(([, pid, text, fds]) => ({
            pid: Number(pid),
            fds: Number(fds),
            lines: text.split("|"),
        }));
    const find = (line) => messages().find(({ lines }) => lines.includes(line));
    const until = async (line) => eventually(() => find(line), line, 10_000);
    return { name, messages, until };
}

suite("the service manager", { concurrency: true }, () => {
    for (const kind of ["a path", "an abstract name"]) {
        test(`is notified of start, reload and stop at ${kind}`, async (t) => {
            const name = kind === "a path" ? newSocketPath() : `@causeway-test-${process.pid}`;
            const manager = await startManager(t, name);
            const server = await startUpgradable({ env: { NOTIFY_SOCKET: name } });
            const ready = await manager.until("READY=1");
            assert.equal(ready.pid, server.pid);
            assert.match(ready.lines[1], /^STATUS=serving \d+ tools$/);
            server.child.kill("SIGHUP");
            const reloading = await manager.until("RELOADING=1");
            assert.match(reloading.lines[1], /^MONOTONIC_USEC=\d+$/);
            assert.ok(BigInt(reloading.lines[1].slice(15)) <= process.hrtime.bigint() / 1000n);
            await manager.until("STATUS=configuration read again");
            await stopUpgraded(server);
            await manager.until("STOPPING=1");
            const all = manager.messages().map(({ lines }) => lines[0]);
            assert.deepEqual(
                all.filter((line) => !line.startsWith("FDSTORE")),
                ["READY=1", "RELOADING=1", "READY=1", "STOPPING=1"],
            );
        });
    }

    test("stores the sockets of TCP listeners, one for each loop", async (t) => {
        const manager = await startManager(t);
        const config = { loops: 3, listen: ["127.0.0.1:0", `unix:${newSocketPath()}`] };
        const server = await startUpgradable({ config, env: { NOTIFY_SOCKET: manager.name } });
        const stored = await manager.until("FDSTORE=1");
        assert.deepEqual(stored.lines, ["FDSTORE=1", `FDNAME=listen-127.0.0.1_${server.port}`]);
        assert.equal(stored.fds, 3);
        await stopUpgraded(server);
        assert.equal(manager.messages().filter(({ fds }) => fds > 0).length, 1);
    });

    test("stores nothing if it cannot", async (t) => {
        const manager = await startManager(t);
        const server = await startUpgradable({ env: { NOTIFY_SOCKET: manager.name, FDSTORE: "0" } });
        await manager.until("READY=1");
        await stopUpgraded(server);
        await manager.until("STOPPING=1");
        assert.ok(manager.messages().every(({ fds }) => fds === 0));
    });

    test("gets WATCHDOG=1 while all loops run, twice an interval", async (t) => {
        const manager = await startManager(t);
        const count = () => manager.messages().filter(({ lines }) => lines[0] === "WATCHDOG=1").length;
        const env = { NOTIFY_SOCKET: manager.name, WATCHDOG_USEC: "200000" };
        const server = await startUpgradable({ env, config: { loops: 2 } });
        await eventually(() => count() >= 3, "the watchdog");
        await upgrade(server);
        // The process before it may have sent its last one meanwhile.
        const ofNext = () =>
            manager.messages().filter(({ pid, lines }) => pid === server.current && lines[0] === "WATCHDOG=1");
        await eventually(() => ofNext().length >= 3, "the watchdog of the next process");
        await stopUpgraded(server);
    });

    test("gets no WATCHDOG=1 that is meant for another process", async (t) => {
        const manager = await startManager(t);
        const env = { NOTIFY_SOCKET: manager.name, WATCHDOG_USEC: "1000", WATCHDOG_PID: "1" };
        const server = await startUpgradable({ env });
        await manager.until("READY=1");
        await stopUpgraded(server);
        await manager.until("STOPPING=1");
        assert.ok(manager.messages().every(({ lines }) => lines[0] !== "WATCHDOG=1"));
    });

    test("learns why an upgrade failed, as one line, and what came of the next one", async (t) => {
        const manager = await startManager(t);
        const server = await startUpgradable({ env: { NOTIFY_SOCKET: manager.name } });
        const config = readFileSync(server.config, "utf8");
        writeFileSync(server.config, config.replace("{", '{"page_size":"many","nonsense":1,'));
        process.kill(server.pid, "SIGUSR2");
        const isFailure = ({ lines }) => lines[0].startsWith("STATUS=upgrade failed, this process goes on: ");
        const failed = await eventually(() => manager.messages().find(isFailure), "the reason", 10_000);
        assert.match(failed.lines[0], /page_size.*nonsense/);
        assert.deepEqual([failed.pid, failed.lines.length], [server.pid, 1]);
        writeFileSync(server.config, config);
        await upgrade(server);
        await manager.until(`MAINPID=${server.current}`);
        const begun = manager.messages().filter(({ lines }) => lines[0] === "STATUS=upgrade begun");
        assert.equal(begun.length, 2);
        await stopUpgraded(server);
    });

    test("learns the process that takes over from the one before", async (t) => {
        const manager = await startManager(t);
        const server = await startUpgradable({ env: { NOTIFY_SOCKET: manager.name } });
        await upgrade(server);
        const named = await manager.until(`MAINPID=${server.current}`);
        assert.equal(named.pid, server.pid);
        assert.equal(named.lines[1], "READY=1");
        // The new one is silent until it has been named.
        const isReady = ({ pid, lines }) => pid === server.current && lines[0] === "READY=1";
        await eventually(() => manager.messages().some(isReady), "the new process");
        const all = manager.messages();
        const first = all.findIndex(({ pid }) => pid === server.current);
        assert.ok(first > all.findIndex(({ lines }) => lines[0].startsWith("MAINPID=")));
        await stopUpgraded(server);
        await manager.until("STOPPING=1");
        const stopping = manager.messages().filter(({ lines }) => lines[0] === "STOPPING=1");
        assert.equal(stopping.length, 1);
        assert.equal(stopping[0].pid, server.current);
    });
});

test("a socket of the manager that is none stops nothing", async () => {
    for (const name of ["relative", "/nonexistent/notify", `/${"x".repeat(200)}`]) {
        const server = await startUpgradable({ env: { NOTIFY_SOCKET: name } });
        await stopUpgraded(server);
    }
    const { code } = await runCauseway(["config", "check", "--config", writeConfig({})], {
        env: { NOTIFY_SOCKET: "relative" },
    });
    assert.equal(code, 0);
});
