// QEMU's monitor: a unix socket, a greeting, a prelude, commands with full schemas.
import assert from "node:assert/strict";
import { assertForms, methodsOf } from "../functional/support/forms.mjs";
import { awakeMs } from "../functional/support/programs.mjs";
import { cancelTask, getTask, taskOf, untilStatus } from "../functional/support/tasks.mjs";
import {
    accepts,
    call,
    callFails,
    connect,
    described,
    eventually,
    makeFolder,
    rpc,
    patience,
    socketPath,
    startRecipe,
    startService,
    stateFile,
    testsOf,
    toolsOf,
    works,
} from "./support/services.mjs";

const test = testsOf({ "qemu-system-x86_64": "qemu-system-x86" });

// A machine without anything in it, which never runs.
async function startQemu(socket = socketPath(makeFolder("qemu")), more = []) {
    const machine = ["-machine", "none", "-S", "-display", "none", "-nodefaults"];
    const disk = ["-blockdev", "null-co,node-name=empty,size=1048576"];
    const monitor = ["-qmp", `unix:${socket},server=on,wait=off`];
    const ready = () => accepts(socket);
    const qemu = await startService("qemu-system-x86_64", [...machine, ...disk, ...more, ...monitor], { ready });
    return Object.assign(qemu, { socket });
}

// The machine may stand still for longer than the recipe waits for an answer.
const start = (t, qemu, more) =>
    startRecipe(t, "qemu", { "/run/vm1.qmp": qemu.socket, "timeout: 10s": "timeout: 60s", ...more });

test("qemu: its commands are found with their types", async (t) => {
    const bridge = await start(t, await startQemu());
    const found = await described(bridge, "vm1");
    assert.ok(Object.keys(found).length > 150);
    const [id] = found.device_del.params;
    assert.deepEqual(id, { name: "id", required: true, schema: { type: "string" } });
    const resize = Object.fromEntries(found.block_resize.params.map((param) => [param.name, param]));
    assert.deepEqual(resize.size, { name: "size", required: true, schema: { type: "integer" } });
    assert.equal(resize.device.required ?? false, false);
    assert.equal(found["netdev_add"].params[0].name, "params");
    const tools = await toolsOf(await connect(t, bridge));
    assert.deepEqual(Object.keys(tools).sort(), [
        "vm1.cont",
        "vm1.device_del",
        "vm1.query-block",
        "vm1.query-named-block-nodes",
        "vm1.query-status",
        "vm1.query-version",
        "vm1.stop",
    ]);
    assert.equal(tools["vm1.query-status"].annotations.readOnlyHint, true);
    assert.deepEqual(tools["vm1.device_del"].inputSchema.required, ["id"]);
});

test("qemu: the console has a form for each command, and the validator accepts what it sends", async (t) => {
    const bridge = await start(t, await startQemu());
    await described(bridge, "vm1");
    const methods = methodsOf(stateFile(bridge, "vm1.description.json").openrpc, "QMP");
    assert.ok(methods.length > 150, String(methods.length));
    assert.equal(await assertForms(methods), methods.length);
});

test("qemu: calls and errors", async (t) => {
    const bridge = await start(t, await startQemu());
    const client = await connect(t, bridge);
    const { status, running } = await call(client, "vm1.query-status");
    assert.deepEqual({ status, running }, { status: "prelaunch", running: false });
    assert.ok((await call(client, "vm1.query-version")).qemu.major >= 7);
    await callFails(client, "vm1.device_del", { id: "none" }, /'none' not found/);
    await callFails(client, "vm1.device_del", { id: 7 }, /id/);
    await callFails(client, "vm1.device_del", {}, /id/);
    const answer = await rpc(bridge, { method: "vm1.device_del", params: { id: "none" }, id: 1 });
    assert.equal(answer.json.error.data, "DeviceNotFound");
    await assert.rejects(client.callTool({ name: "vm1.quit", arguments: {} }), { code: -32602 });
});

test("qemu: events do not disturb anybody", async (t) => {
    const bridge = await start(t, await startQemu());
    const client = await connect(t, bridge);
    for (let i = 0; i < 5; i += 1) {
        await call(client, "vm1.cont");
        assert.equal((await call(client, "vm1.query-status")).running, true);
        await call(client, "vm1.stop");
        assert.equal((await call(client, "vm1.query-status")).running, false);
    }
});

test("qemu: calls of two loops at once get their own answers", async (t) => {
    const loops = { "listen: ": "loops: 2\nlisten: " };
    const bridge = await start(t, await startQemu(), loops);
    // Every client has connections of its own; some are taken by one loop, some by the other.
    const clients = await Promise.all(Array.from({ length: 8 }, () => connect(t, bridge)));
    const ask = async (client, i) => {
        for (let k = 0; k < 25; k += 1) {
            const id = `device-${i}-${k}`;
            await callFails(client, "vm1.device_del", { id }, new RegExp(`'${id}' not found`));
            assert.equal((await call(client, "vm1.query-status")).status, "prelaunch");
        }
    };
    await Promise.all(clients.map(ask));
});

// Within the timeout of two seconds, on a clock that stands still with the machine.
async function failsSoon(work) {
    const begun = awakeMs();
    await work();
    const ms = awakeMs() - begun;
    assert.ok(ms < patience(2_100), `${ms} ms`);
}

test("qemu: is gone, and comes back", async (t) => {
    const first = await startQemu();
    const bridge = await start(t, first, { "timeout: 10s": "timeout: 2s" });
    const client = await connect(t, bridge);
    await eventually(() => works(bridge, "vm1.query-status"), "it works", 20_000);
    await first.end("SIGKILL");
    await failsSoon(() => callFails(client, "vm1.query-status", {}, /'vm1' (cannot be reached|closed)/));
    const stopped = await startQemu(first.socket);
    await eventually(() => works(bridge, "vm1.query-status"), "it works again", 20_000);
    // One that is there and says nothing.
    process.kill(stopped.pid, "SIGSTOP");
    await failsSoon(() => callFails(client, "vm1.stop", {}, /longer than 2 s|in time/));
    process.kill(stopped.pid, "SIGCONT");
    await eventually(() => works(bridge, "vm1.query-status"), "it works once more", 20_000);
});

test("qemu: its events have the times of QEMU", async (t) => {
    const events = { "timeout: 10s": 'timeout: 10s\n    events: {"*": {}, NIC_RX_FILTER_CHANGED: {}}' };
    const client = await connect(t, await start(t, await startQemu(), events));
    const { cursor } = await call(client, "vm1.events");
    await call(client, "vm1.cont");
    await call(client, "vm1.stop");
    const seen = [];
    for (let since = cursor; !seen.includes("vm1.STOP"); ) {
        const next = await call(client, "vm1.events", { since, wait: 30 });
        for (const { name, timestamp, data } of next.events) {
            seen.push(name);
            assert.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 60_000);
            assert.deepEqual(data, {});
        }
        since = next.cursor;
    }
    assert.deepEqual(seen, ["vm1.RESUME", "vm1.STOP"]);
});

// Disks that are copied slowly, and commands that begin such copies.
const disks = [
    "-blockdev",
    "null-co,node-name=from,size=67108864,read-zeroes=on",
    "-blockdev",
    "null-co,node-name=to,size=67108864",
];
const withJobs = {
    "methods:": "methods:\n      - blockdev-backup\n      - blockdev-create\n      - query-jobs\n      - job-resume",
};

test("qemu: a job is a task", async (t) => {
    const bridge = await start(t, await startQemu(undefined, disks), withJobs);
    const client = await connect(t, bridge);
    const backup = { device: "from", target: "to", sync: "full" };

    // The job ends before it is asked about, and is not listed then: its last event has the end.
    const first = await taskOf(bridge, "vm1.blockdev-backup", { ...backup, "job-id": "first" });
    const done = await untilStatus(bridge, first, "completed");
    assert.equal(done.result.isError ?? false, false);
    const { device, type, len, offset } = done.result.structuredContent;
    assert.deepEqual(
        { device, type, len, offset },
        { device: "first", type: "backup", len: 67108864, offset: 67108864 },
    );

    // A slow one has progress, and is cancelled in QEMU.
    const slow = { ...backup, "job-id": "slow", speed: 131072 };
    const second = await taskOf(bridge, "vm1.blockdev-backup", slow);
    await eventually(async () => {
        const { json } = await getTask(bridge, second);
        return /^running \(\d+ of 67108864\)$/.test(json.result.statusMessage ?? "");
    }, "its progress is the status message");
    await cancelTask(bridge, second);
    await untilStatus(bridge, second, "cancelled");
    await eventually(async () => (await call(client, "vm1.query-jobs")).length === 0, "QEMU has no job", 10_000);

    // One that fails stays in the list of QEMU until it is dismissed.
    const third = await taskOf(bridge, "vm1.blockdev-create", {
        "job-id": "third",
        options: { driver: "file", filename: "/nonexistent/disk", size: 1048576 },
    });
    const failed = await untilStatus(bridge, third, "completed");
    assert.equal(failed.result.isError, true);
    assert.match(failed.result.content[0].text, /The job has failed: .*(No such file|Could not create)/);
    await eventually(async () => (await call(client, "vm1.query-jobs")).length === 0, "it is dismissed", 10_000);

    // Other clients get what QEMU returns.
    assert.deepEqual(await call(client, "vm1.blockdev-backup", { ...backup, "job-id": "plain" }), {});
});

test("qemu: the task of a job fails when QEMU dies", async (t) => {
    const qemu = await startQemu(undefined, disks);
    const rule = `jobs:
      - methods: [blockdev-backup]
        id_param: /job-id
        poll: {method: query-jobs}
        item: /id
        status: /status
        done: [concluded]
        error: /error
        interval: 100ms
    methods:
      - blockdev-backup`;
    const bridge = await start(t, qemu, { "methods:": rule });
    await connect(t, bridge);
    const slow = { device: "from", target: "to", sync: "full", "job-id": "slow", speed: 1048576 };
    const taskId = await taskOf(bridge, "vm1.blockdev-backup", slow);
    await qemu.end("SIGKILL");
    await eventually(async () => (await getTask(bridge, taskId)).json.result.status === "failed", "it fails", 30_000);
    assert.match((await getTask(bridge, taskId)).json.result.error.message, /'vm1' cannot be asked about the job/);
});
