// A log that cannot be written: lines are lost, responses are not.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { slowness, startCauseway } from "./support/programs.mjs";
import { Connection, exchange, get, pause, processorMs, residentKb } from "./support/server.mjs";

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
