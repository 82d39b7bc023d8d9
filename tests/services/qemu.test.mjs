// QEMU's monitor: a unix socket, a greeting, a prelude, commands with full schemas.
import assert from "node:assert/strict";
import { assertForms, methodsOf } from "../functional/support/forms.mjs";
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
    timed,
    toolsOf,
    works,
} from "./support/services.mjs";

const test = testsOf({ "qemu-system-x86_64": "qemu-system-x86" });

// A machine without anything in it, which never runs.
async function startQemu(socket = socketPath(makeFolder("qemu"))) {
    const machine = ["-machine", "none", "-S", "-display", "none", "-nodefaults"];
    const disk = ["-blockdev", "null-co,node-name=empty,size=1048576"];
    const monitor = ["-qmp", `unix:${socket},server=on,wait=off`];
    const ready = () => accepts(socket);
    const qemu = await startService("qemu-system-x86_64", [...machine, ...disk, ...monitor], { ready });
    return Object.assign(qemu, { socket });
}

const start = (t, qemu, more) => startRecipe(t, "qemu", { "/run/vm1.qmp": qemu.socket, ...more });

test("qemu: its commands are found with their types", async (t) => {
    const bridge = await start(t, await startQemu());
    const found = described(bridge, "vm1");
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

test("qemu: is gone, and comes back", async (t) => {
    const first = await startQemu();
    const bridge = await start(t, first, { "timeout: 10s": "timeout: 2s" });
    const client = await connect(t, bridge);
    await call(client, "vm1.query-status");
    await first.end("SIGKILL");
    const { ms } = await timed(() => callFails(client, "vm1.query-status", {}, /'vm1' (cannot be reached|closed)/));
    assert.ok(ms < patience(2_100), `${ms} ms`);
    const stopped = await startQemu(first.socket);
    await eventually(() => works(bridge, "vm1.query-status"), "it works again", 20_000);
    // One that is there and says nothing.
    process.kill(stopped.pid, "SIGSTOP");
    const silent = await timed(() => callFails(client, "vm1.stop", {}, /longer than 2 s|in time/));
    assert.ok(silent.ms < patience(2_100), `${silent.ms} ms`);
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
