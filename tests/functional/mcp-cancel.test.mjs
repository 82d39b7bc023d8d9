// Taking a request back: before, while and after it runs; from the same client and from others.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { both, callToolWell, initialize, legacy, post, startBridge } from "./support/mcp.mjs";
import { timeLimit } from "./support/programs.mjs";
import { inParallel } from "./support/server.mjs";

const long = 600_000;

// Calls have more time than `long`, also on a machine that stands still for a while.
async function start(t) {
    const server = await startBridge({ config: { loops: 2, plugins: { workers: 4, timeout: "20m" } } });
    t.after(() => server.stop());
    return server;
}

async function openSession(server) {
    const answer = await initialize(server, "2025-11-25");
    return { "Mcp-Session-Id": answer.headers.get("mcp-session-id") };
}

const sleep = (server, session, id, ms) =>
    legacy(server, "tools/call", { name: "test.sleep", arguments: { ms } }, { id, headers: session });

const cancel = (server, session, requestId) =>
    post(
        server,
        "/mcp",
        { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason: "enough" } },
        { ...both, ...session },
    );

// Again and again until it has met the call: nobody knows when that has begun.
async function cancelUntil(server, session, id, running) {
    let done = false;
    running.finally(() => {
        done = true;
    });
    while (!done) {
        assert.equal((await cancel(server, session, id)).status, 202);
    }
    return await running;
}

suite("a cancelled request", { concurrency: true }, () => {
    test("ends at once and without an answer, whichever loop hears of it", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        await inParallel(
            Array.from({ length: 20 }, (_, i) => i),
            4,
            async (i) => {
                const id = i % 2 ? i : `ä"${i}`;
                const left = timeLimit(5_000);
                const answer = await cancelUntil(server, session, id, sleep(server, session, id, long));
                assert.equal(answer.text, "");
                assert.equal(answer.status, 202);
                assert.ok(left() > 0, `${-left()} ms too late`);
            },
        );
        // The workers are free again: they would sleep for ten minutes otherwise.
        const left = timeLimit(1_000);
        await callToolWell(server, "test.echo", { message: "still here" });
        assert.ok(left() > 0, `the echo: ${-left()} ms too late`);
    });

    test("is not found under another session, without one, or under another id", async (t) => {
        const server = await start(t);
        const [mine, others] = [await openSession(server), await openSession(server)];
        const running = sleep(server, mine, 1, 1_000);
        for (let i = 0; i < 20; i++) {
            await cancel(server, others, 1);
            await cancel(server, {}, 1);
            await cancel(server, mine, "1");
            await cancel(server, mine, 2);
        }
        const answer = await running;
        assert.equal(answer.status, 200);
        assert.equal(answer.json.id, 1);
        assert.equal(answer.json.result.isError ?? false, false);
    });

    test("may be cancelled before it is sent and after it was answered", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        await cancel(server, session, 5);
        const answer = await sleep(server, session, 5, 1);
        assert.equal(answer.json.id, 5);
        assert.equal((await cancel(server, session, 5)).status, 202);
        for (const wrong of [null, 1.5, {}, undefined]) {
            assert.equal((await cancel(server, session, wrong)).status, 202);
        }
    });

    test("is found whatever the spelling of its id", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        const spellings = [
            ['"a"', String.raw`"\u0061"`],
            [String.raw`"\u00e4\/"`, '"ä/"'],
            ["1.0", "1"],
            ["12", "1.2e1"],
            ["123456789012345678901234567890", "12345678901234567890123456789e1"],
        ];
        const params = `{"name":"test.sleep","arguments":{"ms":${long}}}`;
        for (const [id, requestId] of spellings) {
            const running = post(
                server,
                "/mcp",
                `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`,
                { ...both, ...session },
            );
            let done = false;
            running.finally(() => (done = true));
            const left = timeLimit(5_000);
            while (!done && left() > 0) {
                const taken = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${requestId}}}`;
                assert.equal((await post(server, "/mcp", taken, { ...both, ...session })).status, 202);
            }
            assert.ok(done, `${requestId} ends ${id}`);
            assert.equal((await running).status, 202);
        }
    });

    test("may stand in one batch with its cancel", async (t) => {
        const server = await start(t);
        const answer = await initialize(server, "2025-03-26");
        const session = { "Mcp-Session-Id": answer.headers.get("mcp-session-id") };
        const params = { name: "test.sleep", arguments: { ms: long } };
        const batch = [
            { jsonrpc: "2.0", id: 7, method: "tools/call", params },
            { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } },
            { jsonrpc: "2.0", id: 8, method: "ping" },
        ];
        const { json } = await post(server, "/mcp", batch, { ...both, ...session });
        assert.deepEqual(json, [{ jsonrpc: "2.0", result: {}, id: 8 }]);
    });

    test("takes all with it that use its id in the same session", async (t) => {
        const server = await start(t);
        const session = await openSession(server);
        const two = Promise.all([sleep(server, session, 9, long), sleep(server, session, 9, long)]);
        const answers = await cancelUntil(server, session, 9, two);
        assert.deepEqual(
            answers.map(({ status, text }) => [status, text]),
            [
                [202, ""],
                [202, ""],
            ],
        );
    });
});
