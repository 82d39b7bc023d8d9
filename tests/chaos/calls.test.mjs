// A replica is killed while it runs calls: its clients see an end, the other replicas go on, and no call runs twice.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { lostMs, rejected, startLoad, startTrio } from "../functional/support/chaos.mjs";
import { both, EventStream, legacy, post, rpc } from "../functional/support/mcp.mjs";
import { skipped, startPostgres } from "../functional/support/postgres.mjs";
import { eventually, pause } from "../functional/support/server.mjs";
import { beginTask, getTask } from "../functional/support/tasks.mjs";

const kills = 9;
const long = 600_000;

suite("a replica that is killed in a call", { skip: skipped, timeout: 1_800_000 }, () => {
    let postgres, trio;
    before(async () => {
        postgres = await startPostgres();
        trio = await startTrio(postgres.newDatabase());
    });
    after(async () => {
        await trio?.stop();
        await postgres?.stop();
    });

    async function openSession(replica) {
        const params = {
            protocolVersion: "2025-11-25",
            capabilities: { elicitation: { form: {} } },
            clientInfo: { name: "test", version: "1" },
        };
        const answer = await legacy(replica, "initialize", params);
        return { "Mcp-Session-Id": answer.headers.get("mcp-session-id") };
    }

    const callFor = (replica, session, name, args) =>
        EventStream.of(replica, {
            method: "POST",
            body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: { name, arguments: args } }),
            headers: { "Content-Type": "application/json", ...both, ...session },
        });

    // Everything that a replica can hold, and what its clients see when it is gone.
    async function hold(replica, n) {
        const session = await openSession(replica);
        const asking = await callFor(replica, session, "test_elicitation", { message: `Who ${n}?` });
        const question = await asking.next();
        assert.equal(question.method, "elicitation/create");
        const stream = await EventStream.get(replica, session);
        const listener = await EventStream.open(replica, "subscriptions/listen", {
            notifications: { toolsListChanged: true },
        });
        await listener.next();
        const call = rpc(replica, { method: "shop.wait", params: { ms: 2 * long }, id: n }).then(
            ({ status }) => status,
            () => "no response",
        );
        const task = await beginTask(replica, "shop.wait", { ms: long + n });
        assert.ok(task.json.result?.taskId, task.text);
        await eventually(() => waits(n) === 1, "the call at the service");
        return { session, question, asking, stream, listener, call, taskId: task.json.result.taskId };
    }

    const waits = (n) =>
        trio.service.calls.filter(({ params }) => JSON.stringify(params).includes(String(long + n))).length;

    test("ends for its clients, and the others answer in its place", async () => {
        const tasks = [];
        for (let n = 0; n < kills; n += 1) {
            const victim = trio.replicas[n % 3];
            const others = trio.replicas.filter((replica) => replica !== victim);
            const held = await hold(victim, n);
            const load = startLoad({ replicas: others }, { headers: trio.alice, strangers: true });
            await victim.kill();
            assert.equal(await held.call, "no response");
            for (const stream of [held.asking, held.stream, held.listener]) {
                assert.deepEqual(await stream.rest(), []);
            }
            // The session goes on at another replica, and an answer to a question that is lost changes nothing.
            assert.equal((await legacy(others[0], "ping", undefined, { headers: held.session })).status, 200);
            const answer = { id: held.question.id, result: { action: "accept", content: { username: "ada" } } };
            const sent = await post(others[1], "/mcp", { jsonrpc: "2.0", ...answer }, { ...both, ...held.session });
            assert.equal(sent.status, 202);
            await pause(200);
            await load.stop();
            assert.deepEqual(load.wrong(200), []);
            assert.deepEqual(load.wrongStrangers(...rejected), []);
            await trio.restart(victim);
            tasks.push({ id: held.taskId, n, victim });
        }
        for (const { id, n, victim } of tasks) {
            const isFailed = async () => {
                const { json, text } = await getTask(victim, id);
                assert.ok(json.result, text);
                return json.result.status === "failed";
            };
            await eventually(isFailed, "the end of a lost task", lostMs);
            assert.equal(waits(n), 1, "no call ran twice");
        }
        console.log(`# ${kills} kills in calls; ${tasks.length} tasks have failed with their replica`);
    });
});
