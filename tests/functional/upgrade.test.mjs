// Upgrades: a new process takes the sockets over, no request fails, and a program that cannot take
// over changes nothing.
import assert from "node:assert/strict";
import http from "node:http";
import net from "node:net";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { suite, test } from "node:test";
import { newSocketPath } from "./support/kept.mjs";
import { basic, databasePath } from "./support/accounts.mjs";
import { callToolWell, EventStream, initialize, legacy, modernParts } from "./support/mcp.mjs";
import { permissions, rpc, toolRequest, untilTool } from "./support/mcp.mjs";
import { scrape } from "./support/metrics.mjs";
import { binary, patience, runCauseway, slowness } from "./support/programs.mjs";
import {
    Connection,
    eventually,
    exchange,
    get,
    makeCertificate,
    openFiles,
    pause,
    request,
} from "./support/server.mjs";
import {
    failures,
    replaceProgram,
    startUpgradable,
    stopUpgraded,
    untilTakenOver,
    upgrade,
} from "./support/upgrade.mjs";

async function start(t, options) {
    const server = await startUpgradable(options);
    t.after(() => stopUpgraded(server));
    return server;
}

const changeConfig = (server, more) =>
    writeFileSync(server.config, JSON.stringify({ ...JSON.parse(readFileSync(server.config, "utf8")), ...more }));

const status = async (server) => {
    const { stdout, stderr } = await runCauseway(["status", "--config", server.config, "--json"]);
    assert.equal(stderr, "");
    return JSON.parse(stdout);
};

async function assertServes(server) {
    const result = await callToolWell(server, "test.echo", { message: "here" });
    assert.match(JSON.stringify(result), /here/);
}

// ---- load ----

const modernCall = () => modernParts("tools/call", { name: "test.echo", arguments: { message: "hi" } });

const legacyCall = (session) => ({
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "test.echo", arguments: { message: "hi" } } },
    headers: { Accept: "application/json, text/event-stream", ...session },
});

function post(server, agent, { body, headers }) {
    return new Promise((resolve, reject) => {
        const options = { agent, method: "POST", headers: { "Content-Type": "application/json", ...headers } };
        const sent = http.request(`${server.url}/mcp`, options, async (response) => {
            try {
                resolve({ status: response.statusCode, text: (await response.toArray()).join("") });
            } catch (error) {
                reject(error);
            }
        });
        sent.on("error", reject).end(JSON.stringify(body));
    });
}

// Calls without a pause until `load.over`; whatever is not the result counts as a failure.
async function client(server, load, { isFresh, session }) {
    const agent = isFresh ? false : new http.Agent({ keepAlive: true, maxSockets: 1 });
    while (!load.over) {
        try {
            const { status, text } = await post(server, agent, session ? legacyCall(session) : modernCall());
            assert.equal(status, 200, text);
            assert.match(text, /"text":"hi"|\\"hi\\"/);
            load.calls += 1;
        } catch (error) {
            load.failures.push(`${isFresh ? "fresh" : "kept"}, ${session ? "legacy" : "modern"}: ${error}`);
        }
    }
    if (agent) {
        agent.destroy();
    }
}

// A stream that is opened again whenever it ends, as clients do. One that is opened on a connection
// which the old process still has ends at once, and the client comes back on another.
async function follower(load, open) {
    while (!load.over) {
        const stream = await open();
        assert.equal(stream.status, 200);
        stream.opened = performance.now();
        load.open.add(stream);
        await eventually(() => stream.ended || load.over, "the end of a stream", 60_000);
        load.open.delete(stream);
        if (!load.over) {
            load.ends.push(stream.error ?? stream.events.at(-1)?.json);
        }
        stream.close();
    }
}

const openModern = (server) => () =>
    EventStream.open(server, "subscriptions/listen", { notifications: { toolsListChanged: true } });

async function newSession(server) {
    const { headers } = await initialize(server, "2025-11-25");
    return { "Mcp-Session-Id": headers.get("mcp-session-id"), "MCP-Protocol-Version": "2025-11-25" };
}

async function startLoad(t, server, { clients = 4, streams = 8 } = {}) {
    const load = { calls: 0, failures: [], ends: [], open: new Set(), over: false, work: [] };
    t.after(() => (load.over = true));
    for (let i = 0; i < clients; i++) {
        const session = await newSession(server);
        for (const isFresh of [true, false]) {
            load.work.push(client(server, load, { isFresh }), client(server, load, { isFresh, session }));
        }
    }
    for (let i = 0; i < streams; i++) {
        const session = await newSession(server);
        load.work.push(follower(load, openModern(server)));
        load.work.push(follower(load, () => EventStream.get(server, session)));
    }
    await eventually(() => load.open.size === 2 * streams, "all streams are open");
    return load;
}

async function endLoad(load) {
    load.over = true;
    await Promise.all(load.work);
    assert.deepEqual(load.failures, []);
}

test("no request fails and every stream comes back, in both eras, across reloads and upgrades", async (t) => {
    const server = await start(t, { config: { loops: 2 } });
    const load = await startLoad(t, server);
    for (let i = 0; i < 3; i++) {
        process.kill(server.current, "SIGHUP");
        await pause(300);
        const [before, from] = [load.calls, performance.now()];
        await upgrade(server);
        const isBack = () => load.open.size === 16 && [...load.open].every(({ opened }) => opened > from);
        await eventually(isBack, "all streams are back", 2_000);
        await eventually(() => load.calls > before + 100, "calls go on", 10_000);
    }
    await endLoad(load);
    // A modern one ends with its result; the stream of a legacy session has none.
    assert.ok(load.ends.filter((last) => last?.result?.resultType === "complete").length >= 24);
    assert.ok(load.ends.every((last) => last === undefined || last.result?.resultType === "complete"));
    await eventually(() => server.stderr.split("serve: stopped").length === 4, "the old processes end", 10_000);
});

suite("an upgrade", { concurrency: true }, () => {
    test("lets running calls finish", async (t) => {
        const server = await start(t, { config: { roles: { anonymous: [...permissions, "view metrics"] } } });
        const kept = await Connection.open(server);
        await kept.assertAlive("/healthz");
        const ms = Math.min(patience(1_500), 10_000);
        await kept.send(toolRequest("test.sleep", { ms }));
        const calls = async () => {
            const metrics = await scrape(server);
            return metrics.value("causeway_calls_running") + (metrics.value("causeway_calls_total") ?? 0);
        };
        await eventually(async () => (await calls()) === 1, "the call is there");
        await upgrade(server);
        await assertServes(server);
        const answer = await kept.response({ timeoutMs: 20_000 });
        assert.equal(answer.status, 200);
        assert.equal(answer.headers.get("connection"), "close");
        assert.equal(JSON.parse(answer.text).result.isError ?? false, false);
    });

    test("is repeated as often as needed, with the same files open", async (t) => {
        const server = await start(t);
        const counts = [];
        for (let i = 0; i < 4; i++) {
            await upgrade(server);
            await assertServes(server);
            counts.push(await eventually(() => openFiles(server.current)));
        }
        await eventually(() => openFiles(server.current) <= counts[0], "no descriptor is left over");
    });

    test("keeps sessions, and those that were ended stay ended", async (t) => {
        const server = await start(t);
        const [lives, ended] = [await newSession(server), await newSession(server)];
        assert.equal((await fetch(`${server.url}/mcp`, { method: "DELETE", headers: ended })).status, 204);
        await upgrade(server);
        assert.equal((await legacy(server, "tools/list", {}, { headers: lives })).status, 200);
        assert.equal((await legacy(server, "tools/list", {}, { headers: ended })).status, 404);
    });

    test("knows sessions that are ended while the old process still drains", async (t) => {
        const server = await start(t, { config: { timeouts: { linger: "5m" } } });
        const kept = await Connection.open(server);
        await kept.assertAlive("/healthz");
        const session = await newSession(server);
        await upgrade(server);
        assert.equal((await legacy(server, "tools/list", {}, { headers: session })).status, 200);
        await kept.send(request("DELETE", "/mcp", session));
        const answer = await kept.response();
        assert.equal(answer.status, 204);
        assert.equal(answer.headers.get("connection"), "close");
        const ended = async () => (await legacy(server, "tools/list", {}, { headers: session })).status === 404;
        await eventually(ended, "the new process knows");
    });

    test("keeps what sessions have subscribed to", async (t) => {
        const server = await start(t, { plugins: ["conformance"] });
        await untilTool(server, "first_tool");
        const session = await newSession(server);
        const uri = "test://watched-resource";
        assert.equal((await legacy(server, "resources/subscribe", { uri }, { headers: session })).status, 200);
        for (let i = 0; i < 2; i++) {
            await upgrade(server);
        }
        // A process that is about to end would end the stream as well.
        await server.untilLogged(/(serve: stopped[\s\S]*){2}/);
        const stream = await EventStream.get(server, session);
        assert.equal(stream.status, 200);
        await callToolWell(server, "test_trigger_resource_update", {});
        const { method, params } = await stream.next();
        assert.equal(method, "notifications/resources/updated");
        assert.equal(params.uri, uri);
        stream.close();
    });

    test("keeps the delays of failed logins", async (t) => {
        const server = await start(t, { config: { store: { path: databasePath() } } });
        const guess = () => rpc(server, { method: "test.caller", id: 1 }, basic("alice", "wrong"));
        const guesses = async (most) => {
            const statuses = [];
            while (statuses.length < most && statuses.at(-1) !== 429) {
                statuses.push((await guess()).status);
            }
            return statuses;
        };
        const before = await guesses(10);
        assert.equal(before.at(-1), 429);
        await upgrade(server);
        // On a busy machine the delay may be over by now: then one more failure begins the next. A process that
        // knows of none needs as many as the old one did.
        const later = await guesses(before.length - 1);
        assert.equal(later.at(-1), 429, `${before}; ${later}`);
    });

    test("is done by causeway upgrade, which prints both processes", async (t) => {
        const server = await start(t);
        const { code, stdout, stderr } = await runCauseway(["upgrade", "--config", server.config]);
        assert.equal(stderr, "");
        assert.equal(code, 0);
        const old = server.current;
        await untilTakenOver(server);
        const line = /^server \S+ \(pid (\d+)\) was replaced by server \S+ \(pid (\d+)\)\n$/.exec(stdout);
        assert.deepEqual(line.slice(1).map(Number), [old, server.current]);
        assert.equal((await status(server)).server.pid, server.current);
        await assertServes(server);
        const json = await runCauseway(["upgrade", "--config", server.config, "--json"]);
        await untilTakenOver(server);
        assert.deepEqual(JSON.parse(json.stdout).pid, server.current);
    });

    test("needs a running server", async (t) => {
        const server = await startUpgradable();
        await stopUpgraded(server);
        const { code, stderr } = await runCauseway(["upgrade", "--config", server.config]);
        assert.equal(code, 1);
        assert.match(stderr, /no server runs/);
        t.diagnostic(stderr);
    });

    test("reads the configuration: listeners come and go, and loops change", async (t) => {
        const [stays, goes, comes] = [newSocketPath(), newSocketPath(), newSocketPath()];
        const server = await start(t, {
            config: { loops: 4, listen: ["127.0.0.1:0", `unix:${stays}`, `unix:${goes}`] },
        });
        const answers = async (file) => (await exchange({ path: file }, get("/healthz"))).status === 200;
        assert.ok((await answers(stays)) && (await answers(goes)));
        for (const [loops, listen] of [
            [1, ["127.0.0.1:0", `unix:${stays}`, `unix:${comes}`]],
            [3, [`unix:${comes}`, "127.0.0.1:0", `unix:${stays}`]],
        ]) {
            changeConfig(server, { loops, listen });
            await upgrade(server);
            await eventually(() => !existsSync(goes), "the file of a listener that is gone");
            assert.ok((await answers(stays)) && (await answers(comes)));
            for (let i = 0; i < 20; i++) {
                await assertServes(server);
                assert.equal((await exchange(server, get("/healthz"))).status, 200);
            }
        }
        const { listen } = await status(server);
        assert.deepEqual(listen, [`unix:${comes}`, `127.0.0.1:${server.port}`, `unix:${stays}`]);
    });

    test("keeps TLS listeners, and reads a new certificate", async (t) => {
        const [one, two] = [makeCertificate("localhost"), makeCertificate("localhost-2")];
        const listen = [{ address: "127.0.0.1:0", tls: true }];
        const server = await start(t, { config: { listen, tls: one, timeouts: { linger: "5m" } } });
        const nameOf = async () => {
            const c = await Connection.open(server, { tls: {} });
            await c.assertAlive("/healthz");
            const { subject } = c.socket.getPeerCertificate();
            return { c, name: subject.CN };
        };
        const old = await nameOf();
        assert.equal(old.name, "localhost");
        changeConfig(server, { tls: two });
        await upgrade(server);
        const fresh = await nameOf();
        assert.equal(fresh.name, "localhost-2");
        await old.c.send(get("/healthz"));
        assert.equal((await old.c.response()).headers.get("connection"), "close");
        await fresh.c.assertAlive("/healthz");
        fresh.c.close();
    });

    test("passes on the sockets of a service manager, and opens no others", async (t) => {
        const socket = net.createServer();
        await new Promise((resolve) => socket.listen(0, "127.0.0.1", resolve));
        const { port } = socket.address();
        const config = { loops: 2, listen: ["127.0.0.1:1", "127.0.0.1:2"] };
        const server = await start(t, { config, socket: socket._handle });
        await new Promise((resolve) => socket.close(resolve));
        assert.equal(server.port, port);
        for (const loops of [1, 3]) {
            changeConfig(server, { loops });
            await upgrade(server);
            assert.deepEqual((await status(server)).listen, [`127.0.0.1:${port}`]);
            const many = Array.from({ length: 20 }, () => exchange(server, get("/healthz")));
            assert.ok((await Promise.all(many)).every((answer) => answer.status === 200));
        }
    });

    test("has the new process read what was changed while it started", async (t) => {
        const server = await start(t);
        const reloads = () => server.stderr.split("configuration read again").length - 1;
        const gate = newSocketPath();
        replaceProgram(server, { script: `while [ ! -e "${gate}" ]; do sleep 0.1; done; exec "${binary}" "$@"` });
        process.kill(server.current, "SIGUSR2");
        await server.untilLogged(/upgrade begun/);
        process.kill(server.current, "SIGHUP");
        await server.until(() => reloads() === 1, "a reload of the old process");
        writeFileSync(gate, "");
        await untilTakenOver(server);
        await server.until(() => reloads() === 2, "a reload of each process");
        await assertServes(server);
    });

    test("is called off when the server is stopped", async () => {
        const server = await startUpgradable({ config: { timeouts: { upgrade: "30s" } } });
        replaceProgram(server, { script: "exec sleep 60" });
        process.kill(server.current, "SIGUSR2");
        await server.untilLogged(/upgrade begun/);
        await stopUpgraded(server);
        assert.deepEqual(failures(server), ["the server is stopping"]);
    });
});

suite("a program that cannot take over leaves the old process serving", { concurrency: true }, () => {
    const cases = {
        "that exits": [{ script: "exit 3" }, /exited with 3/],
        "that is killed": [{ script: "kill -9 $$" }, /killed by SIGKILL/],
        "that hangs": [{ script: "exec sleep 60" }, /does not take over: it is of an older version, or hangs/],
        "that is no program": [{ file: "/etc/passwd" }, /start '/],
        "that does not exist": [{ file: "/nonexistent/causeway" }, /start '/],
        "that sends nonsense": [{ script: "echo nonsense >&3; exec sleep 60" }, /./],
    };
    for (const [name, [program, why]] of Object.entries(cases)) {
        test(name, async (t) => {
            // The time is short only where a program lets it pass.
            const upgradeTime = program.script?.includes("sleep") ? `${1_000 * slowness}ms` : "1m";
            const server = await start(t, { config: { timeouts: { upgrade: upgradeTime } } });
            const kept = await Connection.open(server);
            await kept.assertAlive("/healthz");
            replaceProgram(server, program);
            const { code, stderr } = await runCauseway(["upgrade", "--config", server.config]);
            assert.equal(code, 1);
            assert.match(stderr, /^causeway: upgrade failed, the server goes on: /);
            assert.match(stderr, why);
            await kept.assertAlive("/healthz");
            await assertServes(server);
            assert.equal((await status(server)).server.pid, server.pid);
            replaceProgram(server, { file: binary });
            changeConfig(server, { timeouts: { upgrade: "1m" } });
            process.kill(server.current, "SIGHUP");
            await server.untilLogged(/configuration read again/);
            await upgrade(server);
            await assertServes(server);
        });
    }

    test("whose configuration is wrong, which is the reason that is printed", async (t) => {
        const socket = newSocketPath();
        const server = await start(t, { config: { listen: ["127.0.0.1:0", `unix:${socket}`] } });
        changeConfig(server, { page_size: "many" });
        const { code, stderr } = await runCauseway(["upgrade", "--config", server.config]);
        assert.notEqual(code, 0);
        changeConfig(server, { page_size: undefined, listen: ["127.0.0.1:0", `unix:${socket}`, "192.0.2.1:1"] });
        const second = await runCauseway(["upgrade", "--config", server.config]);
        assert.equal(second.code, 1);
        assert.match(second.stderr, /goes on: cannot listen on 192\.0\.2\.1:1/);
        await assertServes(server);
        assert.equal((await exchange({ path: socket }, get("/healthz"))).status, 200);
        changeConfig(server, { listen: ["127.0.0.1:0", `unix:${socket}`] });
        await upgrade(server);
        assert.equal((await exchange({ path: socket }, get("/healthz"))).status, 200);
        assert.match(stderr, /page_size/);
    });
});
