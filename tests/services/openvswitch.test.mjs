// ovsdb-server: JSON-RPC 1.0 without framing, which asks its clients whether they are there.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import {
    accepts,
    call,
    callFails,
    connect,
    described,
    eventually,
    makeFolder,
    rpc,
    socketPath,
    startRecipe,
    startService,
    testsOf,
    toolsOf,
} from "./support/services.mjs";
import { stoodStill, timed } from "../functional/support/mcp.mjs";

const test = testsOf({ "ovsdb-server": "openvswitch-common", "ovsdb-tool": "openvswitch-common" });

const column = (type, min = 1, max = 1) => ({ type: { key: type, min, max } });

// Tables of a switch, as few as the recipe needs, and one that tells the server where to listen.
const schema = {
    name: "Open_vSwitch",
    version: "1.0.0",
    tables: {
        Root: {
            columns: { managers: column({ type: "uuid", refTable: "Manager" }, 0, "unlimited") },
            isRoot: true,
        },
        Manager: {
            columns: { target: column("string"), inactivity_probe: column("integer", 0, 1) },
            isRoot: true,
        },
        Bridge: { columns: { name: column("string"), ports: column("integer") }, isRoot: true },
        Port: { columns: { name: column("string") }, isRoot: true },
        Interface: { columns: { name: column("string") }, isRoot: true },
    },
};

const insert = (table, row, name) => ({ op: "insert", table, row, "uuid-name": name });

// One that probes clients that say nothing for `probe` ms, and leaves those that do not answer for as long.
async function startOvsdb({ probe = 120_000 } = {}) {
    const folder = makeFolder("ovsdb");
    const file = (name) => path.join(folder, name);
    const socket = socketPath(folder);
    writeFileSync(file("schema"), JSON.stringify(schema));
    execFileSync("ovsdb-tool", ["create", file("db"), file("schema")], { stdio: "pipe" });
    const rows = [
        "Open_vSwitch",
        insert("Manager", { target: `punix:${socket}`, inactivity_probe: probe }, "manager"),
        insert("Root", { managers: ["named-uuid", "manager"] }),
        insert("Bridge", { name: "br0", ports: 2 }),
        insert("Bridge", { name: "br1", ports: 0 }),
    ];
    execFileSync("ovsdb-tool", ["transact", file("db"), JSON.stringify(rows)], { stdio: "pipe" });
    const server = await startService(
        "ovsdb-server",
        [
            file("db"),
            "--remote=db:Open_vSwitch,Root,managers",
            `--unixctl=${file("ctl")}`,
            `--log-file=${file("log")}`,
            "-vjsonrpc:file:dbg",
            "-vconsole:off",
        ],
        { ready: () => accepts(socket), cwd: folder },
    );
    return Object.assign(server, { socket, log: () => readFileSync(file("log"), "utf8") });
}

const start = (t, server, more = {}) =>
    startRecipe(t, "openvswitch", { "/var/run/openvswitch/db.sock": server.socket, ...more });

const select = (table, where = [], more = {}) => ({ query: { op: "select", table, where, ...more } });

test("ovsdb: databases and tables are in the schemas", async (t) => {
    const bridge = await start(t, await startOvsdb());
    const found = await described(bridge, "ovs");
    assert.deepEqual(Object.keys(found).sort(), ["echo", "get_schema", "list_dbs", "transact"]);
    const [db, operation] = found.transact.params;
    assert.ok(db.schema.enum.includes("Open_vSwitch"));
    for (const table of ["Bridge", "Port", "Interface", "Manager"]) {
        assert.ok(operation.schema.properties.table.enum.includes(table), table);
    }
    const tools = await toolsOf(await connect(t, bridge));
    assert.deepEqual(Object.keys(tools).sort(), ["ovs.get_schema", "ovs.list_dbs", "ovs.select"]);
    const { inputSchema, annotations } = tools["ovs.select"];
    assert.deepEqual(inputSchema.required, ["query"]);
    assert.deepEqual(Object.keys(inputSchema.properties), ["query", "continuation"]);
    assert.equal(annotations.readOnlyHint, true);
});

test("ovsdb: calls and errors", async (t) => {
    const bridge = await start(t, await startOvsdb());
    const client = await connect(t, bridge);
    assert.ok((await call(client, "ovs.list_dbs")).includes("Open_vSwitch"));
    const got = await call(client, "ovs.get_schema", { db_name: "Open_vSwitch" });
    assert.equal(got.version, "1.0.0");
    const where = [["name", "==", "br0"]];
    const { rows } = await call(client, "ovs.select", select("Bridge", where, { columns: ["ports"] }));
    assert.deepEqual(rows, [{ ports: 2 }]);
    await callFails(client, "ovs.get_schema", { db_name: "nothing" }, /db_name/);
    await callFails(client, "ovs.select", select("Nothing"), /table/);
    const remove = { query: { op: "delete", table: "Bridge", where: [] } };
    await callFails(client, "ovs.select", remove, /op/);
    const wrong = await call(client, "ovs.select", select("Bridge", [["colour", "==", "red"]]));
    assert.match(JSON.stringify(wrong), /No column colour/);
    const all = await call(client, "ovs.select", select("Bridge"));
    assert.equal(all.rows.length, 2);
});

test("ovsdb: errors of the server itself are readable", async (t) => {
    const server = await startOvsdb();
    const manifest = path.join(makeFolder("manifest"), "ovs.json");
    const any = { name: "transact", params: { db_name: {}, operation: {} }, required: ["db_name"] };
    const names = ["list_dbs", "get_schema"].map((name) => ({ name, params: { db_name: {} } }));
    writeFileSync(manifest, JSON.stringify({ methods: [...names, any, { name: "nothing" }] }));
    const bridge = await startRecipe(t, "openvswitch", {
        "/var/run/openvswitch/db.sock": server.socket,
        "prefix: ovs.": `prefix: ovs.\n    openrpc: ${manifest}`,
        "- list_dbs": "- list_dbs\n      - nothing",
    });
    const client = await connect(t, bridge);
    await callFails(client, "ovs.nothing", {}, /unknown method/);
    await callFails(client, "ovs.get_schema", { db_name: "other" }, /unknown database|no database/);
    const listed = await rpc(bridge, { method: "ovs.nothing", params: { params: [1] }, id: 2 });
    assert.equal(listed.json.error.code, -32000);
});

test("ovsdb: its echo requests are answered", async (t) => {
    const server = await startOvsdb({ probe: 1_000 }); // the shortest time that it takes
    const bridge = await start(t, server);
    const client = await connect(t, bridge);
    const times = (text, pattern) => (text.match(pattern) ?? []).length;
    // What was logged until it has asked three times, and two of these were answered.
    const watch = async () => {
        const [begin, own] = [server.log().length, bridge.stderr.length];
        await call(client, "ovs.list_dbs");
        const log = () => server.log().slice(begin);
        const asked = () => times(log(), /send request, method="echo"/g);
        await eventually(() => asked() >= 3, "three requests", 20_000);
        return { log: log(), asked: asked(), bridge: bridge.stderr.slice(own) };
    };
    // A client that cannot run for a second does not answer in time.
    let took = await timed(watch);
    for (let i = 0; i < 5 && stoodStill(took); i += 1) {
        took = await timed(watch);
    }
    const { log, asked, bridge: said } = took.value;
    assert.ok(times(log, /received reply/g) >= asked - 1, log);
    assert.doesNotMatch(log, /no response to inactivity probe/);
    assert.doesNotMatch(said, /connection ended/);
    assert.ok((await call(client, "ovs.list_dbs")).includes("Open_vSwitch"));
});

test("ovsdb: changes of rows are events", async (t) => {
    const server = await startOvsdb();
    const bridge = await start(t, server, { "prefix: ovs.": 'prefix: ovs.\n    events: {"row.*": {}}' });
    const client = await connect(t, bridge);
    const { cursor } = await call(client, "ovs.events");
    const change = (...operations) =>
        execFileSync(
            "ovsdb-client",
            ["transact", `unix:${server.socket}`, JSON.stringify(["Open_vSwitch", ...operations])],
            { stdio: "pipe" },
        );
    const where = [["name", "==", "br9"]];
    change(insert("Bridge", { name: "br9", ports: 1 }, "new"));
    change({ op: "update", table: "Bridge", where, row: { ports: 5 } });
    change({ op: "delete", table: "Bridge", where });
    const found = [];
    for (let since = cursor; found.length < 3; ) {
        const next = await call(client, "ovs.events", { since, wait: 30 });
        found.push(...next.events);
        since = next.cursor;
    }
    const names = found.map(({ name }) => name);
    assert.deepEqual(names, ["ovs.row.insert", "ovs.row.modify", "ovs.row.delete"]);
    const [inserted, modified, deleted] = found.map(({ data }) => data);
    assert.equal(inserted.table, "Bridge");
    assert.equal(inserted.new.name, "br9");
    assert.equal(modified.old.ports, 1);
    assert.equal(modified.new.ports, 5);
    assert.equal(deleted.uuid, inserted.uuid);
});
