// transmission-daemon: a dialect of its own, a header that the first answer gives, HTTP Basic.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import {
    accepts,
    call,
    callFails,
    connect,
    freePort,
    described,
    eventually,
    makeFolder,
    startRecipe,
    startService,
    testsOf,
    toolsOf,
    untilState,
} from "./support/services.mjs";

const test = testsOf({ "transmission-daemon": "transmission-daemon" });
const login = "somebody:the-password-of-this-test";
const downloads = "/var/lib/transmission-daemon/downloads";

async function startTransmission() {
    const port = await freePort();
    const folder = makeFolder("transmission");
    const [name, password] = login.split(":");
    const settings = {
        "rpc-bind-address": "127.0.0.1",
        "rpc-port": port,
        "rpc-authentication-required": true,
        "rpc-username": name,
        "rpc-password": password,
        "peer-port": await freePort(),
        "bind-address-ipv4": "127.0.0.1",
        "bind-address-ipv6": "::1",
        "dht-enabled": false,
        "lpd-enabled": false,
        "pex-enabled": false,
        "utp-enabled": false,
        "port-forwarding-enabled": false,
        "download-dir": folder,
    };
    writeFileSync(path.join(folder, "settings.json"), JSON.stringify(settings));
    const args = ["--foreground", "--config-dir", folder, "--log-error"];
    const env = { HOME: folder };
    const ready = () => accepts(port);
    const daemon = await startService("transmission-daemon", args, { ready, env });
    return Object.assign(daemon, { port, folder });
}

const start = (t, daemon, env = { TRANSMISSION_LOGIN: login }) =>
    startRecipe(
        t,
        "transmission",
        { "127.0.0.1:9091": `127.0.0.1:${daemon.port}`, [downloads]: daemon.folder },
        { env },
    );

const magnet = (digit) => `magnet:?xt=urn:btih:${digit.repeat(40)}&dn=nothing`;

test("transmission: its methods are known", async (t) => {
    const bridge = await start(t, await startTransmission());
    const found = await described(bridge, "transmission");
    assert.ok("torrent-remove" in found && "session-close" in found);
    assert.deepEqual(
        found["torrent-get"].params.map(({ name, required = false }) => [name, required]),
        [
            ["fields", true],
            ["ids", false],
        ],
    );
    const tools = await toolsOf(await connect(t, bridge));
    const names = ["free-space", "session-stats", "torrent-add", "torrent-get", "torrent-start"];
    const wanted = [...names, "torrent-stop"].map((name) => `transmission.${name}`);
    assert.deepEqual(Object.keys(tools).sort(), wanted);
    const add = tools["transmission.torrent-add"].inputSchema;
    assert.deepEqual(Object.keys(add.properties), ["filename", "paused"]);
    assert.deepEqual(Object.keys(tools["transmission.free-space"].inputSchema.properties ?? {}), []);
});

test("transmission: calls and errors", async (t) => {
    const daemon = await startTransmission();
    const bridge = await start(t, daemon);
    const client = await connect(t, bridge);
    const stats = await call(client, "transmission.session-stats");
    assert.equal(stats.torrentCount, 0);
    const added = await call(client, "transmission.torrent-add", { filename: magnet("a"), paused: true });
    assert.equal(added["torrent-added"].name, "nothing");
    let torrent;
    // It is checked first, for a moment.
    const isStopped = async () => {
        [torrent] = await call(client, "transmission.torrent-get", {});
        return torrent.status === 0;
    };
    await eventually(isStopped, "the torrent is stopped");
    assert.deepEqual([torrent.name, torrent.percentDone], ["nothing", 0]);
    const named = await call(client, "transmission.torrent-get", { fields: ["hashString"], ids: [torrent.id] });
    assert.deepEqual(named, [{ hashString: "a".repeat(40) }]);
    const { path: where, "size-bytes": free } = await call(client, "transmission.free-space");
    assert.equal(where, daemon.folder);
    assert.ok(free > 0);
    const broken = { filename: "magnet:?nonsense" };
    await callFails(client, "transmission.torrent-add", broken, /invalid or corrupt|unrecognized|gotMetadata/i);
    await callFails(client, "transmission.torrent-add", { filename: "/etc/passwd" }, /filename/);
    await callFails(client, "transmission.torrent-add", { "download-dir": "/etc" }, /download-dir/);
    await callFails(client, "transmission.torrent-get", { fields: "name" }, /fields/);
});

test("transmission: each loop gets the header for itself", async (t) => {
    const bridge = await start(t, await startTransmission());
    const clients = await Promise.all(Array.from({ length: 8 }, () => connect(t, bridge)));
    const ask = (client) => call(client, "transmission.torrent-get", {});
    const answers = await Promise.all(clients.flatMap((client) => [ask(client), ask(client)]));
    assert.ok(answers.every((torrents) => torrents.length === 0));
});

test("transmission: a wrong password is told, and not shown", async (t) => {
    const daemon = await startTransmission();
    const bridge = await start(t, daemon, { TRANSMISSION_LOGIN: "somebody:wrong-password" });
    const tools = await toolsOf(await connect(t, bridge, { hasTools: false }));
    assert.deepEqual(tools, {});
    const { problem } = await untilState(bridge, "transmission", "down");
    assert.match(problem, /401/);
    const encoded = Buffer.from("somebody:wrong-password").toString("base64");
    assert.ok(!bridge.stderr.includes("wrong-password") && !bridge.stderr.includes(encoded));
});
