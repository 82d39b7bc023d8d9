// Mopidy: described by core.describe, params by name, errors with tracebacks.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import {
    accepts,
    assertClean,
    call,
    callFails,
    connect,
    freePort,
    described,
    makeFolder,
    rpc,
    startRecipe,
    startService,
    testsOf,
    toolsOf,
} from "./support/services.mjs";

const test = testsOf({ mopidy: "mopidy" });

// Everything it writes lies in a folder of the test; nothing of the machine's own is read.
async function startMopidy() {
    const port = await freePort();
    const folder = makeFolder("mopidy");
    const config = path.join(folder, "mopidy.conf");
    const home = { HOME: folder, XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: folder, XDG_DATA_HOME: folder };
    writeFileSync(
        config,
        [
            ["[core]", `cache_dir = ${folder}/cache`, `config_dir = ${folder}`, `data_dir = ${folder}/data`],
            ["[http]", "enabled = true", "hostname = 127.0.0.1", `port = ${port}`, "zeroconf ="],
            ["[audio]", "mixer = software", "output = fakesink"],
            ["[file]", "enabled = true", `media_dirs = ${folder}`],
            ["[m3u]", "enabled = true"],
        ]
            .flat()
            .join("\n"),
    );
    const ready = () => accepts(port);
    const mopidy = await startService("mopidy", ["--config", config], { ready, env: home });
    return Object.assign(mopidy, { port });
}

test("mopidy", async (t) => {
    const mopidy = await startMopidy();
    const address = { "127.0.0.1:6680": `127.0.0.1:${mopidy.port}` };
    const bridge = await startRecipe(t, "mopidy", address);
    const client = await connect(t, bridge);

    await t.test("its methods are found with their params", async () => {
        const found = await described(bridge, "mopidy");
        assert.ok(Object.keys(found).length >= 60);
        const { params, description } = found["core.tracklist.add"];
        assert.match(description, /tracklist/);
        const names = params.map(({ name }) => name);
        assert.deepEqual(names, ["tracks", "at_position", "uris"]);
        assert.ok(params.every(({ required = false, schema }) => !required && schema.default === null));
        assert.equal(found["core.mixer.set_volume"].params[0].required, true);
    });

    await t.test("tools show what the recipe says", async () => {
        const tools = await toolsOf(client);
        assert.equal(Object.keys(tools).length, 10);
        const { inputSchema } = tools["core.tracklist.add"];
        assert.deepEqual(Object.keys(inputSchema.properties), ["at_position", "uris"]);
        assert.deepEqual(tools["core.mixer.set_volume"].inputSchema.required, ["volume"]);
        assert.equal(tools["core.playback.get_state"].annotations.readOnlyHint, true);
        assert.match(tools["core.library.search"].description, /search/i);
    });

    await t.test("calls work", async () => {
        assert.equal(await call(client, "core.playback.get_state"), "stopped");
        assert.equal(await call(client, "core.mixer.set_volume", { volume: 42 }), true);
        assert.equal(await call(client, "core.mixer.get_volume"), 42);
        assert.deepEqual(await call(client, "core.tracklist.get_tl_tracks"), []);
        const browsed = await call(client, "core.library.browse", { uri: null });
        assert.equal(browsed[0].type, "directory");
    });

    await t.test("what does not fit is refused before it is sent", async () => {
        await callFails(client, "core.mixer.set_volume", { volume: 101 }, /volume/);
        await callFails(client, "core.mixer.set_volume", {}, /volume/);
        await callFails(client, "core.tracklist.add", { tracks: [] }, /tracks/);
        assert.equal(await call(client, "core.mixer.get_volume"), 42);
    });

    await t.test("errors are readable, without tracebacks and paths", async () => {
        await callFails(client, "core.library.browse", { uri: "no uri" }, /a valid URI, not 'no uri'/);
        const params = { uri: "no uri" };
        const { text, json } = await rpc(bridge, { method: "core.library.browse", params, id: 1 });
        assert.match(json.error.message, /a valid URI/);
        assert.doesNotMatch(JSON.stringify(json.error.data), /traceback/i);
        assertClean(text);
        await bridge.untilLogged(/Traceback/);
    });
});

test("mopidy: its events over WebSocket", async (t) => {
    const mopidy = await startMopidy();
    const bridge = await startRecipe(t, "mopidy", {
        "http://127.0.0.1:6680/mopidy/rpc": `ws://127.0.0.1:${mopidy.port}/mopidy/ws`,
        "preset: mopidy": 'preset: mopidy\n    events: {"volume_*": {}}',
    });
    const client = await connect(t, bridge);
    const { cursor } = await call(client, "mopidy.events");
    await call(client, "core.mixer.set_volume", { volume: 17 });
    const { events } = await call(client, "mopidy.events", { since: cursor, wait: 30 });
    assert.equal(events[0].name, "mopidy.volume_changed");
    assert.equal(events[0].data.volume, 17);
});
