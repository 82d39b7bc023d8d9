// aria2: params by position, the secret as the first of them, over HTTP and over WebSocket.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { awakeMs } from "../functional/support/programs.mjs";
import { beginTask, cancelTask, getTask, openTaskSession, taskOf, untilStatus } from "../functional/support/tasks.mjs";
import { resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import {
    accepts,
    call,
    callFails,
    connect,
    freePort,
    described,
    eventually,
    makeFolder,
    patience,
    startRecipe,
    startService,
    testsOf,
    toolsOf,
    untilState,
    works,
} from "./support/services.mjs";

const test = testsOf({ aria2c: "aria2" });
const secret = "the-secret-of-this-test";
const env = { ARIA2_SECRET: secret };

async function startAria2(port = undefined) {
    const own = port ?? (await freePort());
    const folder = makeFolder("downloads");
    const rpc = ["--enable-rpc", `--rpc-listen-port=${own}`, `--rpc-secret=${secret}`];
    const quiet = ["--no-conf", "--quiet", "--enable-dht=false", `--dir=${folder}`];
    const aria2 = await startService("aria2c", [...rpc, ...quiet], { ready: () => accepts(own) });
    return Object.assign(aria2, { port: own });
}

const addresses = (port) => ({ "127.0.0.1:6800": `127.0.0.1:${port}` });

// Something to download, slowly enough to be seen.
async function startFiles(t) {
    const server = createServer((_, response) => {
        response.writeHead(200, { "Content-Length": 1000 });
        response.write("x".repeat(100));
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => {
        server.closeAllConnections();
        server.close();
    });
    return `http://127.0.0.1:${server.address().port}/file`;
}

async function assertWorks(t, bridge) {
    const client = await connect(t, bridge);
    assert.match((await call(client, "aria2.getVersion")).version, /^1\.\d+/);
    const gid = await call(client, "aria2.addUri", { uris: [await startFiles(t)] });
    assert.match(gid, /^[0-9a-f]{16}$/);
    const look = async () => {
        const args = { gid, keys: ["status", "completedLength"] };
        const status = await call(client, "aria2.tellStatus", args);
        assert.deepEqual(Object.keys(status).sort(), ["completedLength", "status"]);
        return status.status === "active";
    };
    await eventually(look, "the download runs");
    assert.equal(await call(client, "aria2.remove", { gid }), gid);
    const gone = "0123456789abcdef";
    await callFails(client, "aria2.tellStatus", { gid: gone }, /is not found/);
    return client;
}

test("aria2: its methods are found, and those of the recipe are tools", async (t) => {
    const aria2 = await startAria2();
    const bridge = await startRecipe(t, "aria2", addresses(aria2.port), { env });
    const found = await described(bridge, "aria2");
    assert.ok(Object.keys(found).length >= 36);
    for (const name of ["aria2.addUri", "aria2.shutdown", "system.multicall"]) {
        assert.deepEqual(found[name].params[0].name, "params", name);
    }
    const tools = await toolsOf(await connect(t, bridge));
    assert.deepEqual(Object.keys(tools).sort(), [
        "aria2.addUri",
        "aria2.getGlobalStat",
        "aria2.getVersion",
        "aria2.remove",
        "aria2.tellActive",
        "aria2.tellStatus",
    ]);
    const { inputSchema, annotations } = tools["aria2.tellStatus"];
    assert.deepEqual(inputSchema.required, ["gid"]);
    assert.deepEqual(Object.keys(inputSchema.properties), ["gid", "keys"]);
    assert.equal(inputSchema.properties.gid.type, "string");
    assert.equal(annotations.readOnlyHint, true);
    assert.equal(tools["aria2.remove"].annotations.destructiveHint, true);
});

test("aria2: over HTTP", async (t) => {
    const aria2 = await startAria2();
    const bridge = await startRecipe(t, "aria2", addresses(aria2.port), { env });
    const client = await assertWorks(t, bridge);
    const stat = await call(client, "aria2.getGlobalStat", {});
    assert.equal(typeof stat.downloadSpeed, "string");
});

test("aria2: over WebSocket", async (t) => {
    const aria2 = await startAria2();
    const url = { "http://127.0.0.1:6800": `ws://127.0.0.1:${aria2.port}` };
    const bridge = await startRecipe(t, "aria2", url, { env });
    const client = await assertWorks(t, bridge);
    // Answers find their callers on the one connection.
    const many = Array.from({ length: 50 }, (_, i) => i.toString(16).padStart(16, "0"));
    const texts = many.map((gid) =>
        callFails(client, "aria2.tellStatus", { gid }, new RegExp(`${Number(`0x${gid}`).toString(16)} `)),
    );
    await Promise.all(texts);
});

test("aria2: what does not fit is refused before it is sent", async (t) => {
    const aria2 = await startAria2();
    const bridge = await startRecipe(t, "aria2", addresses(aria2.port), { env });
    const client = await connect(t, bridge);
    await aria2.end();
    await callFails(client, "aria2.tellStatus", { gid: 7 }, /gid/);
    await callFails(client, "aria2.tellStatus", {}, /gid/);
    await callFails(client, "aria2.addUri", { uris: ["file:///etc/passwd"] }, /uris/);
    const options = { uris: ["http://127.0.0.1/"], options: { dir: "/etc" } };
    await callFails(client, "aria2.addUri", options, /options/);
});

test("aria2: a wrong secret is an error, and nobody hears the right one", async (t) => {
    const aria2 = await startAria2();
    const wrong = { ARIA2_SECRET: "wrong-secret" };
    const bridge = await startRecipe(t, "aria2", addresses(aria2.port), { env: wrong });
    const client = await connect(t, bridge);
    const text = await callFails(client, "aria2.getVersion", {}, /Unauthorized/);
    assert.ok(!text.includes("wrong-secret"));
    assert.ok(!bridge.stderr.includes("wrong-secret"));
});

test("aria2: is gone, and comes back", async (t) => {
    const first = await startAria2();
    const config = { ...addresses(first.port), "secret:": "timeout: 2s\n    secret:" };
    const bridge = await startRecipe(t, "aria2", config, { env });
    const client = await connect(t, bridge);
    await eventually(() => works(bridge, "aria2.getGlobalStat"), "it works", 10_000);
    await first.end("SIGKILL");
    const begun = awakeMs();
    const text = await callFails(client, "aria2.getGlobalStat", {}, /'aria2' (cannot be reached|closed)/);
    const ms = awakeMs() - begun;
    assert.ok(ms < patience(2_100), `${ms} ms: ${text}`);
    await startAria2(first.port);
    await eventually(() => works(bridge, "aria2.getVersion"), "it works again", 10_000);
});

test("aria2: its last description is used while it is down", async (t) => {
    const aria2 = await startAria2();
    const first = await startRecipe(t, "aria2", addresses(aria2.port), { env, stops: false });
    const before = await toolsOf(await connect(t, first));
    await first.stop();
    await aria2.end();
    const again = await startRecipe(t, "aria2", addresses(aria2.port), { env, state: first.state });
    const client = await connect(t, again);
    assert.deepEqual(await toolsOf(client), before);
    await callFails(client, "aria2.getGlobalStat", {}, /'aria2' cannot be reached/);
    await untilState(again, "aria2", "stale");
    await startAria2(aria2.port);
    await eventually(() => works(again, "aria2.getVersion"), "it works", 10_000);
});

test("aria2: its notifications are events", async (t) => {
    const aria2 = await startAria2();
    const events = "events: {onDownloadStart: {}, onDownloadComplete: {}, onDownloadStop: {}}";
    const changes = {
        "http://127.0.0.1:6800": `ws://127.0.0.1:${aria2.port}`,
        "secret:": `${events}\n    secret:`,
    };
    const client = await connect(t, await startRecipe(t, "aria2", changes, { env }));
    const { cursor } = await call(client, "aria2.events");
    const gid = await call(client, "aria2.addUri", { uris: [await startFiles(t)] });
    const started = await call(client, "aria2.events", { since: cursor, wait: 30 });
    const [event] = started.events;
    assert.equal(event.name, "aria2.onDownloadStart");
    assert.deepEqual(event.data, { gid });
    const waiting = call(client, "aria2.events", { since: started.cursor, wait: 30, name: "aria2.onDownloadStop" });
    await call(client, "aria2.remove", { gid });
    assert.deepEqual((await waiting).events[0].data, { gid });
    const { contents } = await client.readResource({ uri: "events://aria2/onDownloadStop" });
    assert.deepEqual(JSON.parse(contents[0].text)[0].data, { gid });
});

// A file of 200 bytes whose second half is sent when the test says so.
async function startHalves(t) {
    const waiting = [];
    const server = createServer((request, response) => {
        if (request.url === "/missing") {
            response.writeHead(404).end();
            return;
        }
        response.writeHead(200, { "Content-Length": 200 });
        response.write("x".repeat(100));
        waiting.push(response);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => {
        server.closeAllConnections();
        server.close();
    });
    const url = (name) => `http://127.0.0.1:${server.address().port}/${name}`;
    return { url, finish: () => waiting.splice(0).forEach((response) => response.end("y".repeat(100))) };
}

// A rule of the operator's own.
const ownJobs = `jobs:
      - methods: [aria2.add*]
        poll: {method: aria2.tellStatus, params: ["$job"]}
        status: /status
        done: [complete]
        failed: [error, removed]
        interval: 100ms
    secret:`;

for (const scheme of ["http", "ws"]) {
    test(`aria2: a download is a task, over ${scheme}`, async (t) => {
        const aria2 = await startAria2();
        const url = { "http://127.0.0.1:6800": `${scheme}://127.0.0.1:${aria2.port}` };
        const bridge = await startRecipe(t, "aria2", url, { env });
        const files = await startHalves(t);
        const client = await connect(t, bridge);

        // The library of the extension, from the begin to the result.
        const { client: own, session } = await openTaskSession(bridge);
        t.after(() => own.close());
        const execution = await session.callTool("aria2.addUri", { uris: [files.url("one")] });
        const taskId = await taskOf(bridge, "aria2.addUri", { uris: [files.url("two")] });
        await eventually(async () => {
            const { json } = await getTask(bridge, taskId);
            return json.result.status === "working" && /^active \(\d+ of 200\)$/.test(json.result.statusMessage);
        }, "its progress is the status message");
        files.finish();
        const done = await untilStatus(bridge, taskId, "completed");
        const status = done.result.structuredContent;
        assert.equal(status.status, "complete");
        assert.equal(status.completedLength, "200");
        assert.match(status.files[0].path, /two$/);
        const { outcome } = await execution.settle();
        assert.equal(resultFromTaskOutcome(outcome).structuredContent.status, "complete");

        // Cancel goes down to aria2.
        const third = await taskOf(bridge, "aria2.addUri", { uris: [files.url("three")] });
        const active = () => call(client, "aria2.tellActive", { keys: ["gid"] });
        await eventually(async () => (await active()).length === 1, "the download runs");
        await cancelTask(bridge, third);
        await untilStatus(bridge, third, "cancelled");
        await eventually(async () => (await active()).length === 0, "aria2 has removed it");

        // A failed download is a result with an error; a call that aria2 refuses is no task.
        const missing = await taskOf(bridge, "aria2.addUri", { uris: [files.url("missing")] });
        const failed = await untilStatus(bridge, missing, "completed");
        assert.equal(failed.result.isError, true);
        assert.match(failed.result.content[0].text, /The job has failed: .*(not found|404)/i);
        const { json } = await beginTask(bridge, "aria2.tellStatus", { gid: "0123456789abcdef" });
        assert.equal(json.result.resultType, "complete");

        // Other clients get the number.
        assert.match(await call(client, "aria2.addUri", { uris: [files.url("four")] }), /^[0-9a-f]{16}$/);
    });
}

test("aria2: the task of a download fails when aria2 dies", async (t) => {
    const aria2 = await startAria2();
    const files = await startHalves(t);
    const bridge = await startRecipe(t, "aria2", { ...addresses(aria2.port), "secret:": ownJobs }, { env });
    await connect(t, bridge);
    const taskId = await taskOf(bridge, "aria2.addUri", { uris: [files.url("one")] });
    await aria2.end("SIGKILL");
    await eventually(async () => (await getTask(bridge, taskId)).json.result.status === "failed", "it fails", 60_000);
    const { error, statusMessage } = (await getTask(bridge, taskId)).json.result;
    assert.match(error.message, /'aria2' cannot be asked about the job any more, which may still run/);
    assert.match(statusMessage, /cannot be asked/);
});

test("aria2: a method with the rule never is no task", async (t) => {
    const aria2 = await startAria2();
    const files = await startHalves(t);
    const never = { "title: Download a file": "title: Download a file\n        task: never" };
    const bridge = await startRecipe(t, "aria2", { ...addresses(aria2.port), ...never }, { env });
    await connect(t, bridge);
    const { json } = await beginTask(bridge, "aria2.addUri", { uris: [files.url("one")] });
    assert.match(json.result.content[0].text, /[0-9a-f]{16}/);
});
