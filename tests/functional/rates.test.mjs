// How often, and how many at once: rates and ceilings on every door.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { basic, bearer, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import {
    assertRpcError,
    assertToolError,
    callTool,
    legacy,
    modern,
    permissions,
    post,
    rpc,
    startBridge,
} from "./support/mcp.mjs";
import { runCauseway, writeConfig } from "./support/programs.mjs";
import { scrape } from "./support/metrics.mjs";
import { assertRestError, get, invoke } from "./support/rest.mjs";
import { eventually, pause } from "./support/server.mjs";
import { startStdio } from "./support/stdio.mjs";

const echo = (server, headers) => rpc(server, { method: "test.echo", params: { message: "x" }, id: 7 }, headers);
const caller = (server, headers) => rpc(server, { method: "test.caller", id: 1 }, headers);

suite("a tool that is called too often", () => {
    const text = /^Too many calls of test\.echo: try again in \d+ s$/;
    let server;
    before(async () => {
        const tools = [{ name: "test.echo", rate: "1/h burst 2" }];
        server = await startBridge({ config: { limits: { tools } } });
        assert.equal((await echo(server)).status, 200);
        assert.equal((await echo(server)).status, 200);
    });
    after(() => server?.stop());

    function assertRetry(headers) {
        const value = headers.get ? headers.get("retry-after") : headers["retry-after"];
        assert.match(value, /^\d+$/);
        assert.ok(Number(value) > 3_500 && Number(value) <= 3_600);
    }

    test("fault-B10: is 429 with Retry-After and -32000 on /jsonrpc", async () => {
        const answer = await echo(server);
        const error = assertRpcError(answer, 429, -32000, 7);
        assert.match(error.message, text);
        assert.equal(error.data.retry_after, Number(answer.headers.get("retry-after")));
        assertRetry(answer.headers);
        assert.equal(answer.headers.get("cache-control"), "no-store");
    });

    test("is too_many_requests on the REST door", async () => {
        const answer = await invoke(server, "test.echo", { message: "x" });
        assertRestError(answer, 429, "too_many_requests", text);
        assertRetry(answer.headers);
        const own = await post(server, "/mcp/tools/test.echo", {
            jsonrpc: "2.0",
            id: 7,
            method: "test.echo",
            params: { message: "x" },
        });
        assertRpcError(own, 429, -32000, 7);
        assertRetry(own.headers);
    });

    test("is a tool error on /mcp, in both eras", async () => {
        const params = { name: "test.echo", arguments: { message: "x" } };
        for (const answer of [
            await callTool(server, params.name, params.arguments, { id: 7 }),
            await legacy(server, "tools/call", params, { id: 7, version: "2025-06-18" }),
        ]) {
            assertToolError(answer, text);
            assert.equal(answer.headers.get("retry-after"), null);
            const ms = answer.json.result._meta["causeway/retryAfterMs"];
            assert.ok(ms > 3_500_000 && ms <= 3_600_000, answer.text);
        }
    });

    test("cannot hide in a batch, and other tools do not suffer", async () => {
        const messages = [1, 2].map((id) => ({
            jsonrpc: "2.0",
            id,
            method: "test.echo",
            params: { message: "x" },
        }));
        messages.push({ jsonrpc: "2.0", id: 3, method: "test.caller" });
        const { status, json } = await rpc(server, messages);
        assert.equal(status, 200);
        assert.deepEqual(
            json.map(({ error }) => error?.code),
            [-32000, -32000, undefined],
        );
    });

    test("threat-B8: a notification is refused silently", async () => {
        const notice = { method: "test.echo", params: { message: "x" } };
        assert.equal((await rpc(server, notice)).status, 204);
        await server.untilLogged(
            /call refused method="?test\.echo"? caller="?anonymous"? verdict="too many" door="?mcp"?/,
        );
    });
});

test("comes back after the time that was named", async () => {
    const server = await startBridge({ config: { limits: { rates: { tool: "1/s" } } } });
    assert.equal((await echo(server)).status, 200);
    // On a busy machine a second may pass between two calls.
    let refused;
    await eventually(async () => (refused = await echo(server)).status === 429, "a refusal");
    assert.equal(refused.headers.get("retry-after"), "1");
    await pause(1_050);
    assert.equal((await echo(server)).status, 200);
    await server.stop();
});

test("a caller's rate is its own, over all its credentials and tools", async () => {
    const server = await startAccounts({ config: { limits: { rates: { caller: "1/h burst 3" } } } });
    const { token } = await server.token("alice");
    const alice = basic("alice", "s3cret");
    assert.equal((await echo(server, alice)).status, 200);
    assert.equal((await caller(server, alice)).status, 200);
    assert.equal((await caller(server, bearer(token))).status, 200);
    const refused = await echo(server, bearer(token));
    assert.match(assertRpcError(refused, 429, -32000, 7).message, /^Too many calls by this caller: /);
    // Nobody else is held up.
    await server.cli("account", "add", "carol", "--role", "editor", { input: "c4rol" });
    assert.equal((await caller(server, basic("carol", "c4rol"))).status, 200);
    // What the gate refuses is not counted.
    const bob = basic("bob", "b0b");
    for (let i = 0; i < 5; i += 1) {
        assert.equal((await caller(server, bob)).status, 400);
    }
    await server.stop();
});

test("an address and the whole server have rates too, and a reload changes them", async () => {
    const server = await startBridge({ config: { limits: { rates: { address: "1/h" } } } });
    assert.equal((await caller(server)).status, 200);
    assert.match((await caller(server)).json.error.message, /^Too many calls from this address: /);
    const config = {
        roles: { anonymous: ["access mcp tool discovery", "use jsonrpc services", "access content"] },
        plugins: { directory: server.plugins },
        limits: { rates: { global: "1/h burst 2" } },
    };
    writeFileSync(server.config, JSON.stringify(config));
    server.child.kill("SIGHUP");
    await server.untilLogged(/configuration read again/);
    const statuses = [];
    for (let i = 0; i < 4; i += 1) {
        statuses.push((await caller(server)).status);
    }
    assert.deepEqual(statuses, [200, 200, 429, 429]);
    assert.match((await caller(server)).json.error.message, /^Too many calls to this server: /);
    await server.stop();
});

test("so many calls of a tool, and of a source, run at once", async () => {
    const limits = {
        tools: [{ name: "test.sleep", calls: 2 }],
        sources: [{ name: "echo", calls: 3 }],
    };
    const roles = { anonymous: [...permissions, "view metrics"] };
    const server = await startBridge({ config: { limits, roles, plugins: { workers: 8, timeout: "10m" } } });
    const running = async () => (await scrape(server)).value("causeway_calls_running", { source: "echo" });
    const untilRunning = (n) => eventually(async () => (await running()) === n, `${n} calls that run`);
    const sleep = (method, ms = 1) => rpc(server, { method, params: { ms }, id: 1 });
    // A call that runs until its client leaves.
    const begin = (method) => {
        const stop = new AbortController();
        const message = { jsonrpc: "2.0", method, params: { ms: 500_000 }, id: 1 };
        const left = assert.rejects(post(server, "/jsonrpc", message, {}, { signal: stop.signal }));
        return async () => {
            stop.abort();
            await left;
        };
    };
    const two = [begin("test.sleep"), begin("test.sleep")];
    await untilRunning(2);
    const third = await sleep("test.sleep");
    assert.match(
        assertRpcError(third, 429, -32000, 1).message,
        /^Too many calls of test\.sleep are running: try again in 1 s$/,
    );
    const other = begin("test.sleep_deaf");
    await untilRunning(3);
    const fourth = await sleep("test.sleep_deaf");
    assert.match(assertRpcError(fourth, 429, -32000, 1).message, /^Too many calls of the source echo are running: /);
    // Their places are free again when their clients have left, and those of calls that have ended, too.
    await Promise.all([...two, other].map((leave) => leave()));
    await untilRunning(0);
    for (let i = 0; i < 3; i += 1) {
        const again = await Promise.all([sleep("test.sleep"), sleep("test.sleep")]);
        assert.deepEqual(
            again.map(({ status }) => status),
            [200, 200],
        );
    }
    await server.stop();
});

test("standard input gets the same text as a tool error", async () => {
    const server = await startBridge();
    const file = writeConfig({
        roles: { anonymous: ["access mcp tool discovery", "use jsonrpc services", "access content"] },
        plugins: { directory: server.plugins },
        limits: { rates: { tool: "1/h" } },
    });
    await server.stop();
    const client = startStdio({ args: ["--config", file] });
    const call = () => client.modern("tools/call", { name: "test.caller", arguments: {} });
    assert.ok((await call()).result);
    const { result } = await call();
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /^Too many calls of test\.caller: try again in \d+ s$/);
    assert.ok(result._meta["causeway/retryAfterMs"] > 3_500_000);
    await client.end();
});

test("a rate that is none is refused with an example", async () => {
    for (const rate of ["10", "10/d", "0/s", "10/s burst", "-1/s", 10]) {
        const file = writeConfig({ limits: { rates: { global: rate } } });
        const { code, stderr } = await runCauseway(["config", "check", "--config", file]);
        assert.equal(code, 2, String(rate));
        assert.match(stderr, /limits\.rates\.global: expected a rate such as "10\/s" or "600\/m burst 20"/);
    }
});

suite("lists and descriptions", () => {
    test("have a rate of their own: each caller, and each network of those who have not logged in", async () => {
        const limits = { rates: { lists: "1/h burst 3" } };
        const config = {
            ...{ limits, trusted_proxies: ["127.0.0.0/8"], access: { allow_plaintext_passwords: true } },
            roles: { anonymous: permissions, editor: [] },
            mcp: { events: { enabled: true } },
            toolsets: { found: { mode: "search", tools: ["test.*"] } },
        };
        const server = await startAccounts({ config });
        const { token } = await server.token("alice");
        const doors = {
            list: (headers) => get(server, "/mcp/tools/list", headers),
            describe: (headers) => get(server, "/mcp/tools/describe?name=test.echo", headers),
            methods: (headers) => get(server, "/jsonrpc/methods", headers),
            mcp: (headers) => modern(server, "tools/list", {}, { headers }),
            method: (headers) => get(server, "/jsonrpc/methods/test.echo", headers),
            search: (headers) =>
                modern(
                    server,
                    "tools/call",
                    { name: "find_tools", arguments: { query: "echo" } },
                    { path: "/mcp/x/found", headers },
                ),
        };
        const asked = {
            "prompts/list": {},
            "resources/list": {},
            "resources/templates/list": {},
            "events/list": {},
            "events/poll": { name: "test.event", arguments: {}, cursor: null },
        };
        for (const [method, params] of Object.entries(asked)) {
            doors[method] = (headers) => modern(server, method, params, { headers });
        }
        const alice = { ...bearer(token), "X-Forwarded-For": "192.0.2.1" };
        for (const door of ["list", "mcp", "methods"]) {
            assert.equal((await doors[door](alice)).status, 200, door);
        }
        for (const [door, ask] of Object.entries(doors)) {
            const answer = await ask(alice);
            assert.equal(answer.status, 429, `${door}: ${answer.text}`);
            const retryAfter = answer.headers.get?.("retry-after") ?? answer.headers["retry-after"];
            assert.ok(Number(retryAfter) > 1000, door);
            assert.match(answer.text, /Too many lists and descriptions for this caller: try again in/);
        }
        // Each counts, also alone.
        for (const [i, [door, ask]] of Object.entries(doors).entries()) {
            const refused = [];
            for (let n = 1; n <= 4; n += 1) {
                const { status, text } = await ask({ "X-Forwarded-For": `198.51.100.${i + 1}` });
                refused.push(status === 429);
                assert.ok(status === 200 || status === 429 || door === "events/poll", `${door}: ${text}`);
            }
            assert.deepEqual(refused, [false, false, false, true], door);
        }
        await server.untilLogged(/list refused caller="?alice"? address="?192\.0\.2\.1"?/);
        // Calls are counted elsewhere, and others have rates of their own.
        assert.equal((await caller(server, alice)).status, 200);
        const from = (address) => doors.list({ "X-Forwarded-For": address });
        const statuses = [];
        for (const address of ["192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"]) {
            statuses.push((await from(address)).status);
        }
        assert.deepEqual(statuses, [200, 200, 200, 429, 200]);
        await server.stop();
    });
});

suite("a flood of refused calls", () => {
    // The lines with `name`, and the counts of those that were left out, by network.
    const read = (server, name) => {
        const lines = server.stderr.split("\n").filter((line) => line.includes(" call refused"));
        const counts = {};
        for (const line of lines) {
            const [, count, network] = / count=(\d+) seconds=\d+ network="(.*)"$/.exec(line) ?? [];
            if (count) counts[network] = (counts[network] ?? 0) + Number(count);
        }
        return { lines: lines.filter((line) => line.includes(name)), counts };
    };
    const refuse = async (server, n, name, address, more = {}) => {
        const headers = { "X-Forwarded-For": address, "X-Forwarded-Proto": "https", ...more };
        for (let i = 0; i < n; i += 20) {
            const batch = Array.from({ length: 20 }, (_, k) => ({ jsonrpc: "2.0", method: name, id: k }));
            await rpc(server, batch, headers);
        }
    };
    const perInterval = 30;

    test("has some lines and a count for each network, and hides no other network", async () => {
        const server = await startBridge({ config: { trusted_proxies: ["127.0.0.0/8"] } });
        const began = Date.now();
        await refuse(server, 1_000, "no.such", "192.0.2.1");
        await server.untilLogged(/call refused method="?no\.such/);
        // Another network is not hidden by the flood: its line comes at once.
        await refuse(server, 20, "not.there", "192.0.2.2");
        await server.untilLogged(/call refused method="?not\.there/);
        const intervals = 1 + Math.floor((Date.now() - began) / 60_000);
        await server.stop();
        const { lines, counts } = read(server, "no.such");
        assert.ok(lines.length >= perInterval && lines.length <= perInterval * intervals, `${lines.length} lines`);
        assert.deepEqual(counts, { "192.0.2.1": 1_000 - lines.length });
        assert.equal(read(server, "not.there").lines.length, 20);
        assert.match(server.stderr, /call refused: \d+ more like this in the last \d+ seconds /);
    });

    test("loses no record of the audit", async () => {
        const file = path.join(keepFolder(), "flood.jsonl");
        const config = { trusted_proxies: ["127.0.0.0/8"], audit: { path: file } };
        const server = await startAccounts({ config });
        await refuse(server, 200, "no.such", "192.0.2.1", basic("bob", "b0b"));
        await server.stop();
        const records = readFileSync(file, "utf8")
            .split("\n")
            .filter((line) => line.includes('"no.such"'));
        assert.equal(records.length, 200);
        const { lines, counts } = read(server, "no.such");
        assert.ok(lines.length < 200);
        assert.deepEqual(counts, { "192.0.2.1": 200 - lines.length });
    });
});

test("a refused call is one line in the log, with caller and tool, on every door", async () => {
    const server = await startAccounts();
    const bob = basic("bob", "b0b");
    const name = "test.nowhere";
    const refusals = {
        jsonrpc: () => rpc(server, { method: name, id: 1 }, bob),
        mcp: () => modern(server, "tools/call", { name, arguments: {} }, { headers: bob }),
        rest: () => invoke(server, name, {}, bob),
    };
    for (const [door, ask] of Object.entries(refusals)) {
        await ask();
        const pattern = new RegExp(
            `call refused method="?${name}"? caller="?bob"? verdict="?hidden"? door="?${door}"?`,
            "g",
        );
        await server.untilLogged(pattern);
        assert.equal(server.stderr.match(pattern).length, 1, door);
    }
    // Logins with scopes are checked by the call itself.
    await rpc(server, { method: "test.scoped", id: 1 }, basic("alice", "s3cret"));
    await server.untilLogged(
        /call refused method="?test\.scoped"? caller="?alice"? verdict="?login"? door="?jsonrpc"?/,
    );
    // A name of any length is cut.
    await rpc(server, { method: "x".repeat(100_000), id: 1 }, bob);
    await server.untilLogged(/call refused method="?x{100,}/);
    assert.ok(Math.max(...server.stderr.split("\n").map((line) => line.length)) < 2_000);
    await server.stop();
});
