// SIGHUP: a changed configuration takes effect without dropping a connection, a wrong one does not.
import assert from "node:assert/strict";
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { databasePath } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { slowness, startCauseway } from "./support/programs.mjs";
import { Connection, eventually, exchange, get, makeCertificate, pause } from "./support/server.mjs";
import { startHostile } from "./support/hostile-plugin.mjs";
import { addPlugin, callToolWell, permissions, toolNames, untilTool, workersOf } from "./support/mcp.mjs";
import { shopOf, startService } from "./support/service.mjs";

const reloaded = /configuration read again/g;
const refused = /configuration refused, the old one stays/g;
const count = (server, pattern) => [...server.stderr.matchAll(pattern)].length;

// A server with a config file of its own that can be changed: change(config) writes it, hups, and
// waits until the log says that it was taken (or, with `to: refused`, that it was not).
async function start(config) {
    const file = path.join(keepFolder(), `reload-${process.hrtime.bigint()}.yaml`);
    const write = (value) => writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));
    write(config);
    const server = await startCauseway({ args: ["--config", file] });
    server.file = file;
    server.change = async (value, { to = reloaded } = {}) => {
        const before = count(server, to);
        if (value !== undefined) {
            write(value);
        }
        server.child.kill("SIGHUP");
        await server.until(() => count(server, to) > before, `log line ${to}`);
    };
    return server;
}

const health = (headers) => get("/healthz", headers);
const many = (fields) => health({ "X-Field": Array.from({ length: fields }, () => "x") });

suite("a changed configuration", { concurrency: true }, () => {
    test("has effect on connections that are open", async () => {
        const server = await start({});
        const c = await Connection.open(server);
        const ask = async (text) => {
            await c.send(text);
            return (await c.response()).status;
        };
        assert.equal(await ask(health({ Host: "a.example" })), 421);
        assert.equal(await ask(health({ Origin: "https://b.example" })), 403);
        assert.equal(await ask(many(50)), 200);
        await server.change({ hosts: ["localhost", "a.example"], origins: ["https://b.example"] });
        assert.equal(await ask(health({ Host: "a.example" })), 200);
        assert.equal(await ask(health({ Origin: "https://b.example" })), 200);
        await server.change({ hosts: ["a.example"], limits: { header_fields: 10 } });
        assert.equal(await ask(health()), 421);
        assert.equal(await ask(health({ Host: "a.example", Origin: "https://b.example" })), 403);
        assert.equal(await ask(many(50)), 431);
        await server.stop();
    });

    test("is logged when its roles are in force, also with those of a database", async () => {
        const service = await startService();
        const methods = [{ method: "add", permissions: ["buy things"] }, "echo"];
        const store = { path: databasePath() };
        const configOf = (...more) => ({
            roles: { anonymous: [...permissions, ...more] },
            sources: [shopOf(service, { methods })],
            store,
            log: { levels: { serve: "debug" } },
        });
        const server = await start(configOf());
        await untilTool(server, "echo");
        let nInForce = 0;
        for (let i = 0; i < 6; i++) {
            const isAllowed = i % 2 === 0;
            const from = server.stderr.length;
            await server.change(isAllowed ? configOf("buy things") : configOf());
            // A database that needs more than a second is not waited for.
            if (/state published.*configuration read again/s.test(server.stderr.slice(from))) {
                assert.deepEqual(await toolNames(server), isAllowed ? ["add", "echo"] : ["echo"]);
                nInForce += 1;
            }
            await untilTool(server, "add", isAllowed);
        }
        assert.notEqual(nInForce, 0, server.stderr);
        await server.stop();
    });

    test("keeps connections beyond a ceiling that went down", async () => {
        const server = await start({ limits: { connections: 100 } });
        const open = await Promise.all(Array.from({ length: 5 }, () => Connection.open(server)));
        await Promise.all(open.map((c) => c.assertAlive("/healthz")));
        await server.change({ limits: { connections: 2 } });
        await Promise.all(open.map((c) => c.assertAlive("/healthz")));
        assert.equal((await (await Connection.open(server)).response()).status, 503);
        await server.change({ limits: { connections: 6 } });
        assert.equal((await exchange(server, health())).status, 200);
        await server.stop();
    });

    test("shortens the time of connections that wait already, and of new ones", async () => {
        const server = await start({ timeouts: { idle: "1h", header: "1h" } });
        const idle = await Connection.open(server);
        await idle.assertAlive("/healthz");
        const silent = await Connection.open(server);
        const half = await Connection.open(server);
        await half.send("GET /healthz");
        await pause(50);
        const ms = 300 * slowness;
        await server.change({ timeouts: { idle: `${ms}ms`, header: `${ms}ms` } });
        const from = Date.now();
        // On a busy machine the time of a new one may be over before it has asked.
        const fresh = await eventually(async () => {
            const c = await Connection.open(server);
            return await c.assertAlive("/healthz").then(
                () => c,
                () => null,
            );
        }, "a connection that is served");
        await Promise.all([idle, silent, half, fresh].map((c) => c.closed(3_000)));
        assert.ok(Date.now() - from >= ms - 100);
        assert.equal((await half.response()).status, 408);
        await server.stop();
    });

    test("changes the form, the level and the place of the log", async () => {
        const server = await start({});
        await exchange(server, health());
        await server.untilLogged(/access: request .*target="\/healthz"/);
        await server.change({ log: { format: "json" } });
        await exchange(server, health());
        await server.untilLogged(/^\{.*"component":"access".*"target":"\/healthz".*\}$/m);
        const file = path.join(keepFolder(), "moved.log");
        server.stderr = "";
        writeFileSync(server.file, JSON.stringify({ log: { file, levels: { access: "off" } } }));
        server.child.kill("SIGHUP");
        await eventually(() => existsSync(file) && /read again/.test(readFileSync(file)), "moved");
        await exchange(server, health());
        // A log that was moved away is opened anew.
        renameSync(file, `${file}.1`);
        server.child.kill("SIGHUP");
        await eventually(() => existsSync(file) && /read again/.test(readFileSync(file)), "anew");
        await server.stop();
        assert.doesNotMatch(readFileSync(file, "utf8") + readFileSync(`${file}.1`), /access/);
        assert.match(readFileSync(file, "utf8"), /serve: stopped/);
    });

    test("of listen, loops and other fixed keys waits for a restart, and says so", async () => {
        const server = await start({ loops: 1 });
        await server.change({ loops: 2, limits: { token_cache_entries: 5 }, mcp: { path: "/other" } });
        await server.untilLogged(
            /warn config: changes wait for a restart keys="loops, limits\.token_cache_entries, mcp\.path"/,
        );
        assert.equal((await exchange(server, health())).status, 200);
        await server.stop();
    });

    test("fails nobody while clients keep asking", async () => {
        const server = await start({ loops: 2 });
        let stopping = false;
        let answered = 0;
        const keptAlive = async () => {
            const c = await Connection.open(server);
            while (!stopping) {
                await c.assertAlive("/healthz");
                answered += 1;
            }
        };
        const anew = async () => {
            while (!stopping) {
                assert.equal((await exchange(server, health())).status, 200);
                answered += 1;
            }
        };
        const clients = [keptAlive(), keptAlive(), anew(), anew()];
        for (let i = 0; i < 20; i++) {
            await server.change({ loops: 2, limits: { header_fields: 20 + i } });
        }
        stopping = true;
        await Promise.all(clients);
        assert.ok(answered > 20, String(answered));
        await server.stop();
    });
});

suite("a wrong configuration", { concurrency: true }, () => {
    const good = { hosts: ["localhost", "a.example"] };

    async function assertOldStays(server) {
        assert.equal((await exchange(server, health({ Host: "a.example" }))).status, 200);
        assert.equal((await exchange(server, health({ Host: "b.example" }))).status, 421);
    }

    test("is refused with where and what, and the old one stays", async () => {
        const server = await start(good);
        const c = await Connection.open(server);
        await c.assertAlive("/healthz");
        const wrong = "hosts: [localhost, b.example]\nlimits:\n  header_sise: 5\ntimeouts:\n  idle: soon\n";
        await server.change(wrong, { to: refused });
        await server.untilLogged(/error config: .*\.yaml:3:3: limits\.header_sise: /);
        await server.untilLogged(/error config: .*\.yaml:5:9: timeouts\.idle: /);
        await assertOldStays(server);
        await c.assertAlive("/healthz");
        await server.change({ hosts: ["localhost", "b.example"] });
        assert.equal((await exchange(server, health({ Host: "b.example" }))).status, 200);
        await server.stop();
    });

    for (const [what, text] of Object.entries({
        "that is no YAML": "hosts: [localhost",
        "with a host that is none": "hosts: ['ex ample']",
        "with a certificate that is not there": "tls: {certificate: none.crt, key: none.key}",
        "that is empty text": "just a word",
    })) {
        test(`${what} is refused`, async () => {
            const server = await start(good);
            await server.change(text, { to: refused });
            await assertOldStays(server);
            await server.stop();
        });
    }

    test("that is blank, as while it is written in place, is refused", async () => {
        const server = await start({ hosts: ["a.example"] });
        const hostOf = async (host) => (await exchange(server, health({ Host: host }))).status;
        for (const blank of ["", " \n\n"]) {
            await server.change(blank, { to: refused });
            assert.match(server.stderr, /reload-\d+\.yaml: the file is blank; write it again/);
            assert.deepEqual([await hostOf("a.example"), await hostOf("localhost")], [200, 421]);
        }
        await server.change("# defaults\n");
        assert.deepEqual([await hostOf("a.example"), await hostOf("localhost")], [421, 200]);
        await server.stop();
    });

    test("that was blank at the start already may be blank", async () => {
        const server = await start("");
        await server.change("\n");
        await server.stop();
    });

    test("that is not there any more is refused", async () => {
        const server = await start(good);
        rmSync(server.file);
        await server.change(undefined, { to: refused });
        await assertOldStays(server);
        await server.stop();
    });

    test("whose log cannot be opened keeps the old log", async () => {
        const server = await start(good);
        const bad = { ...good, log: { file: path.join(keepFolder(), "no", "such", "folder") } };
        writeFileSync(server.file, JSON.stringify(bad));
        server.child.kill("SIGHUP");
        await server.untilLogged(/error config: /);
        await assertOldStays(server);
        await server.untilLogged(/access: request .*target="\/healthz"/);
        await server.stop();
    });

    test("hurts nobody when SIGHUP comes in masses", async () => {
        const server = await start(good);
        for (let i = 0; i < 100; i++) {
            server.child.kill("SIGHUP");
        }
        await assertOldStays(server);
        await server.stop();
    });
});

test("a renewed certificate is used for new connections, old ones go on", async () => {
    const first = makeCertificate("first");
    const second = makeCertificate("second");
    const live = {
        certificate: path.join(keepFolder(), "live.crt"),
        key: path.join(keepFolder(), "live.key"),
    };
    const install = ({ certificate, key }) => {
        copyFileSync(certificate, live.certificate);
        copyFileSync(key, live.key);
    };
    install(first);
    const file = path.join(keepFolder(), "tls.yaml");
    const config = { listen: [{ address: "127.0.0.1:0", tls: true }], tls: live };
    writeFileSync(file, JSON.stringify(config));
    const server = await startCauseway({ args: ["--config", file], listen: false });
    assert.match(server.url, /^https:/);
    const subject = async () => {
        const c = await Connection.open(server, { tls: {} });
        const { CN } = c.socket.getPeerCertificate().subject;
        await c.assertAlive("/healthz");
        c.close();
        return CN;
    };
    const old = await Connection.open(server, { tls: {} });
    await old.assertAlive("/healthz");
    assert.equal(await subject(), "first");

    install(second);
    assert.equal(await subject(), "first", "not before it is told");
    server.child.kill("SIGHUP");
    await server.untilLogged(/configuration read again/);
    assert.equal(await subject(), "second");
    await old.assertAlive("/healthz");
    assert.equal(old.socket.getPeerCertificate().subject.CN, "first");

    // A key that does not belong to the certificate is refused as a whole.
    copyFileSync(first.key, live.key);
    server.child.kill("SIGHUP");
    await server.untilLogged(/configuration refused/);
    assert.equal(await subject(), "second");
    writeFileSync(live.certificate, "no certificate");
    server.stderr = "";
    server.child.kill("SIGHUP");
    await server.untilLogged(/configuration refused/);
    assert.equal(await subject(), "second");
    await old.assertAlive("/healthz");
    await server.stop();
});

test("reloads and new files all the time: no call fails, nothing is left behind", async (t) => {
    const service = await startService();
    const server = await startHostile(t, {
        sources: [{ name: "shop", url: service.url, methods: [{ method: "add", tool: true }] }],
    });
    await untilTool(server, "add");
    let go = true;
    const kinds = [
        () => callToolWell(server, "test.echo", { message: "x" }),
        () => callToolWell(server, "add", { a: 1, b: 2 }),
        () => callToolWell(server, "hostile.nap", { ms: 5 }),
    ];
    const run = async (i) => {
        for (let n = 0; go; n++) {
            await kinds[(i + n) % kinds.length]();
        }
        return true;
    };
    const callers = Promise.all([0, 1, 2, 3, 4, 5].map(run));
    callers.catch(() => (go = false));
    const hostileFile = path.join(server.plugins, "hostile.so");
    for (let i = 0; i < 25 && go; i++) {
        process.kill(server.pid, "SIGHUP");
        copyFileSync(hostileFile, `${hostileFile}.part`);
        renameSync(`${hostileFile}.part`, hostileFile);
        addPlugin(server.plugins, "echo");
        await pause(100);
    }
    go = false;
    await callers;
    const workers = workersOf(server);
    await server.stop();
    const left = () => workers.filter((pid) => existsSync(`/proc/${pid}`));
    await eventually(() => left().length === 0, "the end of all workers");
});
