// Replicas behind HAProxy and nginx, with the files of examples/: clients, streams, routing, restarts, a killed replica.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import * as sdk2 from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { caFile, haproxySkipped, nginxSkipped, startHaproxy, startNginx, startReplicas } from "./support/balancers.mjs";
import { callTool, EventStream, initialize, legacy, modern } from "./support/mcp.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";
import { makeCertificate } from "./support/server.mjs";
import { patience, root } from "./support/programs.mjs";
import { Connection, eventually, get, pause } from "./support/server.mjs";

const about = { name: "test", version: "1.0.0" };
const message = "hello";

async function assertWorks(client) {
    for (let i = 0; i < 4; i += 1) {
        const { tools } = await client.listTools();
        assert.ok(tools.some(({ name }) => name === "test__echo"));
        const result = await client.callTool({ name: "test__echo", arguments: { message } });
        assert.match(result.content[0].text, /hello/);
    }
}

async function assertSdksWork(balancer) {
    const endpoint = new URL(`${balancer.url}/mcp`);
    for (const mode of [{ pin: "2026-07-28" }, "legacy"]) {
        const client = new sdk2.Client(about, { versionNegotiation: { mode } });
        await client.connect(new sdk2.StreamableHTTPClientTransport(endpoint));
        await assertWorks(client);
        await client.close();
    }
    const client = new Client1(about, { capabilities: {} });
    const transport = new Http1(endpoint);
    await client.connect(transport);
    await assertWorks(client);
    await transport.terminateSession();
    await client.close();
}

const launcher = path.join(root, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
function inspect({ url }, ...args) {
    const fixed = ["--cli", `${url}/mcp`, "--transport", "http", "--format", "json"];
    const options = { timeout: patience(60_000), env: { ...process.env, NODE_EXTRA_CA_CERTS: caFile() } };
    return new Promise((resolve, reject) => {
        execFile(process.execPath, [launcher, ...fixed, ...args], options, (error, stdout, stderr) =>
            error ? reject(new Error(stdout + stderr)) : resolve(stdout),
        );
    });
}

async function assertStreams(balancer) {
    const params = { name: "test.progress", arguments: { steps: 3, ms: 200 } };
    const stream = await EventStream.open(balancer, "tools/call", params, { meta: { progressToken: 1 } });
    assert.match(stream.type, /^text\/event-stream/);
    assert.equal((await stream.next()).method, "notifications/progress");
    stream.close();
    // A stream without events stays open, and its first event arrives at once.
    const listener = await EventStream.open(balancer, "subscriptions/listen", {
        notifications: { toolsListChanged: true },
    });
    assert.equal(listener.status, 200);
    assert.equal((await listener.next()).method, "notifications/subscriptions/acknowledged");
    listener.close();
}

const served = (replicas) => replicas.map((replica) => replica.requests());
const grown = (before, after) => after.map((n, i) => n - before[i]).filter((n) => n > 0);

const total = (replicas) => served(replicas).reduce((a, b) => a + b);

// One round may be spread: a balancer leaves a server whose checks are late, or one that is still busy.
async function assertOnOne(replicas, ask) {
    const round = async () => {
        const before = served(replicas);
        const first = total(replicas);
        for (let i = 0; i < 12; i += 1) {
            await ask();
        }
        // The line of a stream that has just ended may be among those of the others.
        await eventually(() => total(replicas) - first >= 12, "12 lines");
        return Math.max(...grown(before, served(replicas))) >= 12;
    };
    await eventually(round, "12 requests on one replica");
}

async function assertRoutes(balancer, replicas) {
    const first = total(replicas);
    const begun = await initialize(balancer, "2025-11-25");
    await eventually(() => total(replicas) > first, "the line of the log");
    const id = begun.headers.get("mcp-session-id");
    await assertOnOne(replicas, () => legacy(balancer, "tools/list", {}, { headers: { "Mcp-Session-Id": id } }));
    const headers = { "Mcp-Method": "tasks/get", "Mcp-Name": "a-task" };
    await assertOnOne(replicas, () => modern(balancer, "tasks/get", { taskId: "a-task" }, { headers }));
    const before = served(replicas);
    for (let i = 0; i < 24; i += 1) {
        await modern(balancer, "tools/list");
    }
    await eventually(() => grown(before, served(replicas)).length > 1, "requests without a session on several");
}

async function assertClientIsKnown(balancer, replicas) {
    const c = await Connection.open({ host: "127.0.0.1", port: balancer.port, localAddress: "127.0.0.9" }, { tls: {} });
    await c.assertAlive("/healthz");
    c.close();
    await eventually(
        () => replicas.some((replica) => / peer="127\.0\.0\.9" /.test(replica.program.stderr)),
        "the client",
    );
}

// Calls without a pause, so many at a time, until `work` has ended: those that failed.
async function underLoad(balancer, work, atOnce = 4) {
    const failed = [];
    let isOver = false;
    let n = 0;
    const call = async () => {
        while (!isOver) {
            const text = `call ${(n += 1)}`;
            const { status, json } = await callTool(balancer, "test__echo", { message: text }).catch((error) => ({
                status: error.cause?.code ?? String(error),
            }));
            if (status !== 200 || !JSON.stringify(json).includes(text)) {
                failed.push(status);
            }
            await pause(5);
        }
    };
    const calls = Array.from({ length: atOnce }, call);
    try {
        await work();
    } finally {
        isOver = true;
        await Promise.all(calls);
    }
    assert.ok(n > 5, `${n} calls`);
    return failed;
}

async function restartAll(replicas) {
    for (const replica of replicas) {
        await replica.stop();
        await replica.start();
        await eventually(() => replica.requests() > 2, "requests at the new process", 15_000);
    }
}

suite("replicas", { skip: skipped, timeout: patience(300_000) }, () => {
    let postgres;
    let replicas = [];
    before(async () => {
        postgres = await startPostgres();
        // Late checks of a busy balancer notice that a server stops.
        const timeouts = { lame_duck: `${Math.min(patience(1_000), 5_000)}ms`, linger: "500ms" };
        replicas = await startReplicas(3, { store: { url: postgres.newDatabase() }, timeouts });
    });
    after(async () => {
        await Promise.all(replicas.map((replica) => replica.stop()));
        await postgres?.stop();
    });

    suite("behind HAProxy", { skip: haproxySkipped }, () => {
        let balancer;
        before(async () => (balancer = await startHaproxy(replicas)));
        after(() => balancer?.stop());

        test("serve SDK clients of both eras and the Inspector, each request on another one", async (t) => {
            const changes = { "balance leastconn": "balance roundrobin", use_backend: "# use_backend" };
            const unpinned = await startHaproxy(replicas, { changes });
            t.after(() => unpinned.stop());
            const before = served(replicas);
            await assertSdksWork(unpinned);
            for (const era of ["legacy", "modern"]) {
                const call = ["--protocol-era", era, "--method", "tools/call", "--tool-name", "test__echo"];
                assert.match(await inspect(unpinned, ...call, "--tool-arg", `message=${message}`), /hello/);
            }
            await eventually(() => grown(before, served(replicas)).length === 3, "requests at each of them");
        });

        test("stream events", () => assertStreams(balancer));
        // By leastconn, requests that follow each other could be on one server without a rule.
        test("are chosen by Mcp-Session-Id and Mcp-Name", async (t) => {
            const changes = { "balance leastconn": "balance roundrobin" };
            const inTurn = await startHaproxy(replicas, { changes });
            t.after(() => inTurn.stop());
            await assertRoutes(inTurn, replicas);
        });

        test("know their clients", () => assertClientIsKnown(balancer, replicas));

        test("are restarted one after the other without a failed request", async () => {
            assert.deepEqual(await underLoad(balancer, () => restartAll(replicas)), []);
        });

        test("survive one that is killed: only what it was answering fails", async () => {
            const [victim, ...others] = replicas;
            const failed = await underLoad(balancer, async () => {
                await eventually(() => victim.requests() > 2, "requests at the victim");
                await victim.kill();
                const before = served(others);
                await eventually(() => grown(before, served(others)).length === 2, "requests at the others");
                await pause(500);
            });
            assert.ok(failed.length <= 4, String(failed));
            await victim.start();
            assert.deepEqual(await underLoad(balancer, () => eventually(() => victim.requests() > 2, "work")), []);
        });
    });

    suite("behind nginx", { skip: nginxSkipped }, () => {
        let balancer;
        before(async () => (balancer = await startNginx(replicas)));
        after(() => balancer?.stop());

        test("serve SDK clients of both eras", () => assertSdksWork(balancer));
        test("stream events", () => assertStreams(balancer));
        test("are chosen by Mcp-Session-Id and Mcp-Name", () => assertRoutes(balancer, replicas));
        test("know their clients", () => assertClientIsKnown(balancer, replicas));
        test("are restarted one after the other without a failed request", async () => {
            assert.deepEqual(await underLoad(balancer, () => restartAll(replicas)), []);
        });
    });
});

test("HAProxy passes TLS through and names the client", { skip: haproxySkipped }, async (t) => {
    const tls = makeCertificate("replica");
    const [replica] = await startReplicas(1, { tls });
    await replica.stop();
    const listen = [{ address: `127.0.0.1:${replica.port}`, tls: true, proxy_protocol: true }];
    const [secure] = await startReplicas(1, { listen, tls, timeouts: {} });
    t.after(() => secure.stop());
    secure.port = replica.port;
    const balancer = await startHaproxy([secure], { name: "passthrough.cfg" });
    t.after(() => balancer.stop());
    const c = await Connection.open({ host: "127.0.0.1", port: balancer.port, localAddress: "127.0.0.9" }, { tls: {} });
    assert.equal(c.socket.getPeerCertificate().subject.CN, "replica");
    await c.send(get("/healthz"));
    assert.equal((await c.response()).status, 200);
    c.close();
    await eventually(() => / peer="127\.0\.0\.9" /.test(secure.program.stderr), "the client in the log");
});
