// Services behind a proxy that spoils what they say (support/fault-proxy.mjs): every call ends in its
// time with a clear error, and whoever is next to them does not notice.
import assert from "node:assert/strict";
import { copyFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { faults, startBrokenTls, startProxy, streamFaults, tlsFaults } from "./support/fault-proxy.mjs";
import { keepFolder } from "./support/kept.mjs";
import {
    assertSoon,
    assertToolError,
    callTool,
    callToolWell,
    modern,
    pluginFile,
    reloadBridge,
    startBridge,
    timed,
    toolNames,
    untilTool,
} from "./support/mcp.mjs";
import { newFolder } from "./support/plugins.mjs";
import { patience, slowness } from "./support/programs.mjs";
import { get } from "./support/rest.mjs";
import { eventually, makeCertificate, pause, peakKb, residentKb } from "./support/server.mjs";
import { modes, openRpc, startService, writeOpenRpc } from "./support/service.mjs";
import { freePort } from "./support/ports.mjs";

// Sanitizers keep what was freed.
const isSanitized = slowness > 1;
const timeout = patience(500);
const answerSize = 4; // MB
const numbers = { a: 40, b: 2 };
// For sources whose calls must be answered, whatever the machine does meanwhile.
const patient = { timeout: "60s" };
const wellOf = (service) => sourceOf("well", service.url, patient);

const sourceOf = (name, url, more = {}) => ({
    name,
    url,
    openrpc: writeOpenRpc(),
    prefix: `${name}.`,
    timeout: `${timeout}ms`,
    retries: 0,
    methods: ["add", "echo", "wait"],
    ...more,
});

const start = (sources, config = {}) =>
    startBridge({
        plugins: [],
        config: { limits: { max_result_size: `${answerSize}MB` }, ...config, sources },
    });

// Calls to a service that is well, one after another, while something else is done: how long each
// took.
async function measureWell(server, work) {
    const times = [];
    let goes = true;
    const calling = (async () => {
        while (goes) {
            const { awake } = await timed(() => callToolWell(server, "well.add", numbers));
            times.push(awake);
        }
    })();
    try {
        await work();
    } finally {
        goes = false;
        await calling;
    }
    return times.sort((a, b) => a - b);
}

// None waited for the time of the other service, and most for nothing at all.
function assertUnnoticed(times) {
    assert.ok(times.length > 0);
    const [middle, last] = [times[Math.floor(times.length / 2)], times.at(-1)];
    const text = `a healthy service took ${middle} to ${last} ms`;
    assert.ok(last <= timeout / 2, text);
    assert.ok(middle <= patience(50) || times.length < 5, text);
}

// Several calls at once, all of which must fail in time with a text that says something.
async function assertAllFail(server, tool, args, count = 4) {
    const calls = () => Promise.all(Array.from({ length: count }, () => callTool(server, tool, args)));
    for (const answer of await assertSoon(timeout + patience(100), calls)) {
        const text = assertToolError(answer, /./);
        assert.match(text, /service|in time|within|timed out|took/i);
        assert.doesNotMatch(text, /Traceback|main\.py|127\.0\.0\.1|<|Oops/);
    }
}

// One source for each fault, and one that is well, in one server.
async function startAll(t, kinds, transport) {
    const service = await startService();
    const proxies = [];
    const sources = [wellOf(service)];
    for (const [i, kind] of kinds.entries()) {
        const proxy = await startProxy(service, transport.proxy);
        proxy.name = `bad${i}`;
        proxy.kind = kind;
        proxies.push(proxy);
        sources.push(sourceOf(proxy.name, proxy.url, transport.source));
    }
    const server = await start(sources);
    t.after(() => server.stop());
    return { server, service, proxies };
}

const certificate = makeCertificate("fault-proxy");
const transports = {
    http: { faults, proxy: {} },
    https: { faults, proxy: { tls: certificate }, source: { tls: { ca_file: certificate.certificate } } },
    "a stream": { faults: streamFaults, proxy: { framing: "lines" }, source: { framing: "lines" } },
};

for (const [name, transport] of Object.entries(transports)) {
    test(`threat-D8: a service over ${name} that fails in any way fails alone, and in its time`, async (t) => {
        const kinds = Object.keys(transport.faults);
        const { server, service, proxies } = await startAll(t, kinds, transport);
        for (const { name: source } of proxies) {
            const isAnswered = async () => !(await callTool(server, `${source}.add`, numbers)).json.result.isError;
            await eventually(isAnswered, `an answer of ${source}`);
        }
        for (const proxy of proxies) {
            await t.test(proxy.kind, async () => {
                proxy.fault = proxy.kind;
                proxy.ms = timeout * 2;
                const isHuge = proxy.kind.startsWith("1 GB");
                const memory = peakKb(server.pid);
                const attack = () => assertAllFail(server, `${proxy.name}.add`, numbers, isHuge ? 1 : 4);
                let times = await measureWell(server, attack);
                // A server that waits for another service does so each time; a machine that stood still does not.
                for (let again = 0; again < 2 && times.at(-1) > timeout / 2; again += 1) {
                    times = await measureWell(server, attack);
                }
                assertUnnoticed(times);
                if (isHuge) {
                    const grown = peakKb(server.pid) - memory;
                    assert.ok(grown <= 8 * answerSize * 1024 || isSanitized, `${grown} KB for 1 GB`);
                }
                proxy.fault = null;
                await eventually(
                    async () => {
                        const { json } = await callTool(server, `${proxy.name}.add`, numbers);
                        return json.result.structuredContent === 42;
                    },
                    "it is used again",
                    10_000,
                );
            });
        }
        assert.ok(service.calls.length > proxies.length);
    });
}

suite("a service that cannot be reached", () => {
    const cases = {
        ...Object.fromEntries(
            Object.keys(tlsFaults).map((kind) => [kind, async () => (await startBrokenTls(kind)).url]),
        ),
        "a port where nobody listens": async () => `http://127.0.0.1:${await freePort()}/rpc`,
        "a name that nobody has": () => "http://nobody.invalid/rpc",
        "a name that nobody has, over https": () => "https://nobody.invalid/rpc",
        "a socket that is not there": () => "unix:/nonexistent/socket:/rpc",
        "a stream where nobody listens": async () => `tcp://127.0.0.1:${await freePort()}`,
    };
    for (const [kind, urlOf] of Object.entries(cases)) {
        test(`fails alone, and in its time: ${kind}`, async (t) => {
            const service = await startService();
            const server = await start([wellOf(service), sourceOf("bad", await urlOf())]);
            t.after(() => server.stop());
            const times = await measureWell(server, () => assertAllFail(server, "bad.add", numbers));
            assertUnnoticed(times);
        });
    }

    for (const [kind, source] of Object.entries({
        "a certificate that nobody vouches for": () => ({}),
        "a certificate for another name": ({ certificate: ca_file }) => ({
            tls: { ca_file, server_name: "other.example" },
        }),
    })) {
        test(`fails alone, and gets nothing: ${kind}`, async (t) => {
            const service = await startService();
            const proxy = await startProxy(service, { tls: certificate });
            const server = await start([sourceOf("bad", proxy.url, source(certificate))]);
            t.after(() => server.stop());
            await assertAllFail(server, "bad.add", numbers);
            assert.equal(proxy.requests.length, 0);
        });
    }
});

test("threat-D8: an answer of 1 GB is cut while it comes in, many times over", async (t) => {
    const service = await startService();
    const proxy = await startProxy(service);
    const server = await start([sourceOf("bad", proxy.url, patient)], { loops: 1 });
    t.after(() => server.stop());
    await callToolWell(server, "bad.add", numbers);
    proxy.fault = "1 GB in chunks";
    assertToolError(await callTool(server, "bad.add", numbers), /too large/);
    const memory = residentKb(server.pid);
    for (let i = 0; i < 10; i += 1) {
        assertToolError(await callTool(server, "bad.add", numbers), /too large/);
    }
    const grown = residentKb(server.pid) - memory;
    assert.ok(grown <= 2 * answerSize * 1024 || isSanitized, `${grown} KB`);
});

test("a redirect is not followed", async (t) => {
    const service = await startService();
    const other = await startProxy(service);
    const proxy = await startProxy(service);
    const server = await start([sourceOf("bad", proxy.url, patient)]);
    t.after(() => server.stop());
    proxy.fault = "a redirect";
    proxy.elsewhere = other.url;
    assertToolError(await callTool(server, "bad.add", numbers), /HTTP status 302/);
    assert.equal(other.requests.length, 0);
});

test("bytes behind an answer are not taken for the next", async (t) => {
    const service = await startService();
    const proxy = await startProxy(service);
    const server = await start([sourceOf("bad", proxy.url, patient)], { loops: 1 });
    t.after(() => server.stop());
    proxy.gate = (request, response, { id }) => {
        const body = JSON.stringify({ jsonrpc: "2.0", id, result: 1 });
        const next = JSON.stringify({ jsonrpc: "2.0", id: id + 1, result: 666 });
        const text = (one) => `HTTP/1.1 200 OK\r\nContent-Length: ${one.length}\r\n\r\n${one}`;
        response.socket.write(text(body) + text(next));
        proxy.gate = null;
        return true;
    };
    const first = await callTool(server, "bad.add", numbers);
    assert.notEqual(first.json.result.structuredContent, 666);
    assert.equal((await callToolWell(server, "bad.add", numbers)).structuredContent, 42);
});

// ---- the breaker ----

test("a service that fails again and again", async (t) => {
    const service = await startService();
    const proxy = await startProxy(service);
    // Long enough for a call that is answered on a busy machine.
    const more = { timeout: `${1000 * slowness}ms` };
    const server = await start([wellOf(service), sourceOf("bad", proxy.url, more)]);
    t.after(() => server.stop());
    const call = () => timed(() => callTool(server, "bad.add", numbers));
    const counts = async () => (await get(server, "/readyz")).json.sources;

    await t.test("is left alone for a while, and said to be down", async () => {
        await eventually(async () => !(await call()).value.json.result.isError, "an answer");
        assert.deepEqual(await counts(), { ready: 2, stale: 0, down: 0 });
        proxy.fault = "silence";
        const silent = await Promise.all(Array.from({ length: 5 }, () => call()));
        silent.forEach(({ value }) => assertToolError(value));
        // One that comes a second later tries the service again.
        await eventually(
            async () => {
                const asked = proxy.requests.length;
                const { value, awake } = await call();
                if (!/'bad' is not available at the moment/.test(assertToolError(value))) {
                    assert.ok(proxy.requests.length > asked);
                    return false;
                }
                assert.ok(awake < patience(100), `${awake} ms`);
                assert.equal(proxy.requests.length, asked);
                return true;
            },
            "a call that is refused at once",
            10_000,
        );
        await callToolWell(server, "well.add", numbers);
        // The first pause of a second may be over before it is looked at. Calls that fail make longer ones.
        const isDown = async () => (await call()) && (await counts()).down === 1;
        await eventually(isDown, "it is said to be down", 10_000);
    });

    await t.test("is tried once in a while, by one call", async () => {
        const asked = proxy.requests.length;
        await eventually(
            async () => {
                await Promise.all(Array.from({ length: 4 }, () => call()));
                return proxy.requests.length > asked;
            },
            "it is tried",
            30_000,
        );
        assert.equal(proxy.requests.length, asked + 1);
    });

    await t.test("is used again when it answers", async () => {
        proxy.fault = null;
        await eventually(async () => !(await call()).value.json.result.isError, "it is used", 30_000);
        const areAnswered = async () => {
            const many = await Promise.all(Array.from({ length: 10 }, () => call()));
            return many.every(({ value }) => !value.json.result.isError);
        };
        await eventually(areAnswered, "ten calls at once");
        await eventually(() => counts().then(({ ready }) => ready === 2), "it is said to be ready");
    });
});

test("what is known of a dead service outlives the source that is made anew of its last description", async (t) => {
    const service = await startService();
    const more = { openrpc: undefined, discovery: "openrpc", refresh: "1h" };
    const config = { state: { directory: path.join(keepFolder(), "state-breaker") } };
    const server = await start([sourceOf("bad", service.url, more)], config);
    t.after(() => server.stop());
    await untilTool(server, "bad.add");
    await service.stop();
    const call = async () => assertToolError(await callTool(server, "bad.add", numbers));
    for (let i = 0; i < 5; i += 1) {
        assert.match(await call(), /cannot be reached/);
    }
    await reloadBridge(server);
    await server.untilLogged(/its last description is used/);
    const { value: said, ms } = await timed(async () => [
        await call(),
        await call(),
        await call(),
        await call(),
        await call(),
    ]);
    await service.start(); // for whoever stops it
    // One may have been let through to see whether it is there, and the next one two seconds later.
    const most = 1 + Math.floor(ms / 2_000);
    assert.ok(said.filter((text) => /cannot be reached/.test(text)).length <= most, said.join());
});

// ---- reloads ----

suite("a reload", { concurrency: true }, () => {
    const lines = { framing: "lines" };
    const asked = { openrpc: undefined, discovery: "openrpc" };
    const openStreams = (proxy) => [...proxy.sockets].filter(({ destroyed }) => !destroyed).length;
    const published = (server) => server.stderr.split("catalogue published").length;

    test("that takes a source away while it is asked what it offers ends its connection", async (t) => {
        const proxy = await startProxy(await startService(), lines);
        proxy.fault = "silence";
        const bad = sourceOf("bad", proxy.url, { ...lines, ...asked });
        const server = await start([]);
        t.after(() => server.stop());
        for (let i = 0; i < 2; i += 1) {
            await reloadBridge(server, { sources: [{ ...bad, timeout: `${3000 * slowness}ms` }] });
            await eventually(() => openStreams(proxy) === 1, "it is asked");
            await reloadBridge(server, { sources: [] });
            await eventually(() => openStreams(proxy) === 0, "its connection has ended", 1_000);
        }
        await reloadBridge(server, { sources: [bad] });
        await eventually(() => openStreams(proxy) === 1, "it is asked");
        await server.stop();
        assert.ok(await eventually(() => openStreams(proxy) === 0, "the connection has ended"));
    });

    test("that takes a tool away does so whatever became of the load before", async (t) => {
        const proxy = await startProxy(await startService());
        const bad = sourceOf("bad", proxy.url, { ...asked, ...patient });
        const server = await start([bad]);
        t.after(() => server.stop());
        await untilTool(server, "bad.add");
        let count = 0;
        proxy.gate = async (_, response, message) => {
            count += message?.method === "rpc.discover";
            if (message?.method !== "rpc.discover" || count > 1) {
                response.writeHead(500).end();
                return true;
            }
            await pause(300 * slowness);
            return false;
        };
        await reloadBridge(server);
        await eventually(() => count > 0, "it is asked again");
        await reloadBridge(server, { sources: [{ ...bad, methods: ["echo"] }] });
        await eventually(() => count > 1, "it is asked with the new configuration");
        await pause(500 * slowness);
        assert.ok(!(await toolNames(server)).includes("bad.add"));
    });

    test("lets calls end that run on a stream, and takes new ones all the while", async (t) => {
        const proxy = await startProxy(await startService(), lines);
        const more = { ...lines, timeout: "120s" };
        const server = await start([sourceOf("s", proxy.url, more)]);
        t.after(() => server.stop());
        const running = callToolWell(server, "s.wait", { ms: 800 * slowness });
        await eventually(() => proxy.requests.length === 1, "it is under way");
        for (const timeout of ["121s", "122s"]) {
            const before = published(server);
            await reloadBridge(server, { sources: [sourceOf("s", proxy.url, { ...more, timeout })] });
            while (published(server) === before) {
                assert.equal((await callToolWell(server, "s.add", numbers)).structuredContent, 42);
            }
        }
        await callToolWell(server, "s.add", numbers);
        const taken = callToolWell(server, "s.wait", { ms: 400 * slowness });
        await eventually(() => proxy.requests.at(-1).message.method === "wait", "it is under way");
        await reloadBridge(server, { sources: [] });
        await running;
        await taken;
        await eventually(() => openStreams(proxy) === 0, "the connections have ended");
    });

    test("changes what a stream answers to requests of the service, and what it hears", async (t) => {
        const proxy = await startProxy(await startService(), lines);
        const more = { ...lines, ...asked, ...patient };
        const server = await start([sourceOf("s", proxy.url, { ...more, answers_to_service: { ping: "old" } })]);
        t.after(() => server.stop());
        await untilTool(server, "s.add");
        await callToolWell(server, "s.add", numbers);
        const changed = { ...more, answers_to_service: { ping: "new" }, change_notifications: ["changed"] };
        await reloadBridge(server, { sources: [sourceOf("s", proxy.url, changed)] });
        await eventually(() => openStreams(proxy) === 1 && proxy.sockets.size === 2, "it has another connection");
        await callToolWell(server, "s.add", numbers);
        const socket = [...proxy.sockets].at(-1);
        const count = proxy.requests.length;
        socket.write('{"jsonrpc":"2.0","id":"p","method":"ping"}\n');
        await eventually(() => proxy.requests.length > count, "an answer");
        assert.deepEqual(proxy.requests[count].message, { jsonrpc: "2.0", id: "p", result: "new" });
        socket.write('{"jsonrpc":"2.0","method":"changed"}\n');
        const isAsked = () => proxy.requests.slice(count).some(({ message }) => message.method === "rpc.discover");
        await eventually(isAsked, "it is asked what has changed");
    });
});

// ---- sources next to each other ----

suite("two services with one name", { concurrency: true }, () => {
    const discovered = { openrpc: undefined, discovery: "openrpc", ...patient };
    // This service gets the calls of b.add, as this method. Each loop learns of a new catalogue by itself.
    const untilAsked = (server, service, method) => {
        const count = () => service.calls.filter((one) => one.method === method).length;
        return eventually(async () => {
            const before = count();
            await callToolWell(server, "b.add", numbers);
            return count() > before;
        }, `a call of ${method}`);
    };
    const b = (service) => sourceOf("b", service.url, { ...discovered, methods: ["add", "echo"] });
    const a = (service) => sourceOf("a", service.url, { ...discovered, prefix: undefined, methods: ["*"] });
    // It offers what is the other one's.
    function take(service) {
        const [add] = openRpc().methods;
        service.document.methods = [
            { ...add, name: "a.own" },
            { ...add, name: "b.add" },
        ];
    }

    // The list as bytes, on both doors, with its ETag.
    async function listOf(server) {
        const { headers, text } = await get(server, "/mcp/tools/list");
        return [(await modern(server, "tools/list")).text, text, headers.etag];
    }

    test("threat-D4: the first of the configuration has it, whichever came first", async (t) => {
        const [taker, owner] = [await startService(), await startService()];
        take(taker);
        taker.results = { "b.add": 42 };
        const server = await start([b(owner), a(taker)]);
        t.after(() => server.stop());
        await untilTool(server, "b.echo");
        owner.mode = "an error page";
        const late = await start([b(owner), a(taker)]);
        t.after(() => late.stop());
        await untilTool(late, "b.add");
        await untilAsked(late, taker, "b.add"); // while the first is away
        owner.mode = null;
        await reloadBridge(late);
        for (const each of [server, late]) {
            await untilTool(each, "b.echo");
            await each.untilLogged(/methods are left out source="a" problem="method 'b\.add': also offered by 'b'"/);
            await untilAsked(each, owner, "add");
        }
        assert.deepEqual(await listOf(late), await listOf(server));
        // The other order of the configuration, by a reload, has another owner.
        await reloadBridge(late, { sources: [a(taker), b(owner)] });
        await late.untilLogged(/methods are left out source="b" problem="method 'b\.add': also offered by 'a'"/);
        await untilAsked(late, taker, "b.add");
    });

    test("lose no other method when they start together", async (t) => {
        const [taker, owner] = [await startService(), await startService()];
        take(taker);
        const server = await start([a(taker), b(owner)]);
        t.after(() => server.stop());
        await untilTool(server, "a.own");
        await untilTool(server, "b.echo");
        assert.deepEqual((await toolNames(server)).sort(), ["a.own", "b.add", "b.echo"]);
        await server.untilLogged(
            /methods are left out source="[ab]" problem="method 'b\.add': also offered by '[ab]'"/,
        );
    });
});

suite("sources next to a dead one", () => {
    test("are there, and it is counted", async (t) => {
        const service = await startService();
        const dead = sourceOf("dead", `http://127.0.0.1:${await freePort()}/rpc`, { openrpc: undefined });
        const { value: server, awake } = await timed(() => start([dead, wellOf(service)]));
        t.after(() => server.stop());
        assert.ok(awake < patience(3000), `${awake} ms to start`);
        await untilTool(server, "well.add");
        await callToolWell(server, "well.add", numbers);
        const isCounted = async () => (await get(server, "/readyz")).json.sources?.down === 1;
        await eventually(isCounted, "the dead one is counted");
        const { status, json } = await get(server, "/readyz");
        assert.equal(status, 200);
        assert.deepEqual(json, { status: "ready", sources: { ready: 1, stale: 0, down: 1 } });
    });

    test("are not there when every one is dead: not ready, unless a plugin is loaded", async (t) => {
        const service = await startService();
        const named = (name) => sourceOf(name, service.url, { openrpc: undefined, discovery: "openrpc" });
        await service.stop();
        const server = await start([named("one"), named("two")]);
        t.after(() => server.stop());
        const ready = async () => {
            const { status, json } = await get(server, "/readyz");
            return [status, json];
        };
        const isDown = async () => (await ready())[1].sources?.down === 2;
        await eventually(isDown, "both are down");
        const sources = { ready: 0, stale: 0, down: 2 };
        assert.deepEqual(await ready(), [503, { status: "unavailable", sources }]);
        assert.equal((await get(server, "/healthz")).status, 200);
        const other = await startBridge({ config: { sources: [named("one"), named("two")] } });
        t.after(() => other.stop());
        const answer = await get(other, "/readyz");
        assert.deepEqual([answer.status, answer.json.status], [200, "ready"]);
        await service.start();
        await eventually(async () => (await ready())[0] === 200, "one is back");
        assert.equal((await ready())[1].status, "ready");
    });

    test("are not there when no plugin can be loaded: not ready, until one is there or all are gone", async (t) => {
        const folder = newFolder("plugins");
        writeFileSync(path.join(folder, "broken.so"), "no plugin");
        const server = await startBridge({ plugins: [], config: { plugins: { directory: folder } } });
        t.after(() => server.stop());
        const ready = async () => {
            const { status, json } = await get(server, "/readyz");
            return [status, json];
        };
        await eventually(async () => (await ready())[0] === 503, "it is not ready");
        assert.deepEqual((await ready())[1], { status: "unavailable", plugins: { loaded: 0, failed: 1 } });
        copyFileSync(pluginFile("echo"), path.join(folder, "echo.part"));
        renameSync(path.join(folder, "echo.part"), path.join(folder, "echo.so"));
        await eventually(async () => (await ready())[0] === 200, "one is loaded");
        assert.deepEqual((await ready())[1], { status: "ready", plugins: { loaded: 1, failed: 1 } });
        // One that fails later is counted too, and so is one whose methods another plugin has.
        const failed = (n) => eventually(async () => (await ready())[1].plugins.failed === n, `${n} have failed`);
        writeFileSync(path.join(folder, "later.so"), "no plugin either");
        await failed(2);
        copyFileSync(path.join(folder, "echo.so"), path.join(folder, "twin.part"));
        renameSync(path.join(folder, "twin.part"), path.join(folder, "twin.so"));
        await failed(3);
        assert.deepEqual((await ready())[1], { status: "ready", plugins: { loaded: 1, failed: 3 } });
        for (const name of ["broken", "echo", "later", "twin"]) rmSync(path.join(folder, `${name}.so`));
        await eventually(async () => !(await ready())[1].plugins, "nothing has failed");
        assert.deepEqual(await ready(), [200, { status: "ready" }]);
    });

    test("are there while one does not answer when it is asked what it offers", async (t) => {
        const service = await startService();
        const proxy = await startProxy(service);
        proxy.fault = "silence";
        const slow = sourceOf("slow", proxy.url, { openrpc: undefined, timeout: "5m" });
        const { value: server, awake } = await timed(() => start([slow, wellOf(service)]));
        t.after(() => server.stop());
        assert.ok(awake < patience(8000), `${awake} ms to start`);
        await untilTool(server, "well.add");
        await callToolWell(server, "well.add", numbers);
    });

    test("stay when one goes away, and so do its tools", async (t) => {
        const service = await startService();
        const proxy = await startProxy(service);
        const more = { openrpc: undefined, discovery: "openrpc", refresh: "300ms", ...patient };
        const bad = sourceOf("bad", proxy.url, more);
        const server = await start([bad, wellOf(service)]);
        t.after(() => server.stop());
        await untilTool(server, "bad.add");
        const before_ = proxy.requests.length;
        proxy.fault = "garbage for JSON";
        await eventually(() => proxy.requests.length > before_ + 2, "it was asked again");
        const { json } = await get(server, "/mcp/tools/list");
        const names = json.tools.map(({ name }) => name);
        assert.ok(names.includes("bad.add") && names.includes("well.add"), names.join());
        proxy.fault = null;
        await callToolWell(server, "bad.add", numbers);
    });
});

test("what is scrubbed from the error of a service is in the log", async (t) => {
    const service = await startService();
    const server = await startBridge({
        config: {
            sources: [{ name: "shop", url: service.url, methods: [{ method: "fail", tool: true }] }],
        },
    });
    t.after(() => server.stop());
    await untilTool(server, "fail");
    const error = { code: 5, message: "no such table in /srv/shop/data.db", data: { trace: "line 7" } };
    modes.telling = ({ id }, response) => response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
    service.mode = "telling";
    const { text } = await callTool(server, "fail", {});
    assert.doesNotMatch(text, /srv|line 7/);
    await server.untilLogged(/error details withheld from the caller source="shop" method="fail".*\/srv\/shop.*line 7/);
});
