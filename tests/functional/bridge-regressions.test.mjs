// Faults of the bridge that were found by reading and trying: each has its test here.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import {
    addPlugin,
    assertRpcError,
    callTool,
    callToolWell,
    modernParts,
    rpc,
    startBridge,
    untilTool,
    workersOf,
} from "./support/mcp.mjs";
import { compilePlugin, newFolder, permissions, versionSource } from "./support/plugins.mjs";
import { runCauseway, slowness, writeConfig } from "./support/programs.mjs";
import { Connection, eventually, exchange, openFiles, pause, request } from "./support/server.mjs";
import { modes, startService } from "./support/service.mjs";

// Everything that a hostile plugin does here. A frame's id is 1 in the first call of a worker.
const hostile = `#include <causeway/plugin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
CW_PLUGIN("hostile", "1.0");
static size_t put(char *to, uint64_t id, const char *body)
{
    uint32_t n = (uint32_t)strlen(body);
    memcpy(to, &n, 4);
    memcpy(to + 4, &id, 8);
    memcpy(to + 12, body, n);
    return n + 12;
}
static void ok(cw_call *call)
{
    cw_result_text(call, "ok");
}
CW_METHOD(ok, "hostile.ok", .permissions = {"access content"});
CW_TOOL(ok);
static void nap(cw_call *call)
{
    usleep((useconds_t)cw_arg_int(call, "ms", 0) * 1000);
    cw_result_text(call, "rested");
}
CW_METHOD(nap, "hostile.nap", .params = {{"ms"}}, .permissions = {"access content"});
CW_TOOL(nap);
/* Frames without end, as fast as the socket takes them. */
static void flood(cw_call *call)
{
    static char all[262144], body[8192];
    size_t n = 0;
    char *at = stpcpy(body, "{\\"jsonrpc\\":\\"2.0\\",\\"method\\":\\"$/log\\",\\"params\\":{"
                            "\\"level\\":\\"debug\\",\\"message\\":\\"x\\",\\"more\\":[");
    /* Quickly written, slowly read. */
    while (at < body + sizeof body - 100)
        at = stpcpy(at, "{\\"a\\":{\\"b\\":[]}},");
    strcpy(at, "0]}}");
    while (n + sizeof body + 12 < sizeof all)
        n += put(all + n, cw_arg_bool(call, "call", true) ? 1 : 0, body);
    if (cw_arg_bool(call, "fork", false) && fork() != 0)
        _exit(0);
    for (;;) {
        for (size_t at = 0; at < n;) {
            ssize_t k = write(3, all + at, n - at);
            if (k <= 0)
                _exit(1);
            at += (size_t)k;
        }
    }
}
CW_METHOD(flood, "hostile.flood", .params = {{"call"}, {"fork"}}, .permissions = {"access content"});
CW_TOOL(flood);
`;

async function start(t, { plugins = {}, ...config } = {}) {
    const server = await startBridge({ config: { ...config, plugins } });
    t.after(() => server.child.exitCode === null && server.stop());
    compilePlugin(server.plugins, "hostile", hostile);
    await untilTool(server, "hostile.ok");
    return server;
}

// A call of a tool as bytes; `lines` are put among the headers.
function toolRequest(name, args, { lines = "", meta } = {}) {
    const { body, headers } = modernParts("tools/call", { name, arguments: args }, { meta });
    const all = { "Content-Type": "application/json", ...headers };
    const text = request("POST", "/mcp", all, JSON.stringify(body));
    return text.replace("\r\n", `\r\n${lines}`);
}

suite("the end of a call is the end of something else", () => {
    test("the last answer of a server that stops", async (t) => {
        const server = await start(t);
        const client = await Connection.open(server);
        await client.send(toolRequest("hostile.nap", { ms: 400 }, { lines: "Connection: close\r\n" }));
        await pause(150);
        const stopped = server.stop();
        assert.equal((await client.response()).status, 200);
        await stopped;
    });

    test("the time limit of a call whose source is gone", async (t) => {
        const timeout = `${600 * slowness}ms`;
        const server = await start(t, { plugins: { timeout, grace: "50ms" } });
        const nap = { method: "hostile.nap", params: { ms: 60_000 }, id: 1 };
        const calls = [1, 2, 3].map(() => rpc(server, nap));
        await pause(50);
        unlinkSync(path.join(server.plugins, "hostile.so"));
        for (const { status } of await Promise.all(calls)) {
            assert.equal(status, 500);
        }
        await callToolWell(server, "test.echo", { message: "x" });
    });
});

suite("a worker that writes without end", { concurrency: 2 }, () => {
    for (const params of [{ call: true }, { call: false }, { call: false, fork: true }]) {
        test(`does not keep its loop from others: ${JSON.stringify(params)}`, async (t) => {
            const server = await start(t, {
                loops: 1,
                plugins: { timeout: `${300 * slowness}ms`, grace: `${100 * slowness}ms` },
            });
            const flood = rpc(server, { method: "hostile.flood", params, id: 1 });
            const until = performance.now() + 1_000 * slowness;
            while (performance.now() < until) {
                const fetch = { signal: AbortSignal.timeout(2_000 * slowness) };
                await callToolWell(server, "test.echo", { message: "x" }, { fetch });
                await pause(20);
            }
            assert.equal((await flood).status, 500);
        });
    }
});

suite("headers", { concurrency: true }, () => {
    const cases = {
        "Mcp-Name twice": "Mcp-Name: test.echo",
        "another Mcp-Name behind the right one": "mcp-name: test.fail",
        "Mcp-Method twice": "Mcp-Method: tools/call",
        "MCP-Protocol-Version twice": "MCP-Protocol-Version: 2026-07-28",
        "a legacy version beside the modern one": "MCP-Protocol-Version: 2025-06-18",
    };
    for (const [name, line] of Object.entries(cases)) {
        test(`${name} is refused as a mismatch`, async (t) => {
            const server = await startBridge();
            t.after(() => server.stop());
            const text = toolRequest("test.echo", { message: "x" });
            const twice = text.replace("\r\n\r\n", `\r\n${line}\r\n\r\n`);
            const answer = await exchange(server, twice);
            assertRpcError({ ...answer, json: JSON.parse(answer.text) }, 400, -32020, 1);
        });
    }

    test("two legacy versions are refused", async (t) => {
        const server = await startBridge();
        t.after(() => server.stop());
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
        const version = { "MCP-Protocol-Version": "2025-06-18", "mcp-protocol-version": "2025-11-25" };
        const headers = { "Content-Type": "application/json", ...version };
        const answer = await exchange(server, request("POST", "/mcp", headers, body));
        assertRpcError({ ...answer, json: JSON.parse(answer.text) }, 400, -32020, 1);
    });

    test("a stream says Cache-Control once", async (t) => {
        const server = await startBridge();
        t.after(() => server.stop());
        const client = await Connection.open(server);
        await client.send(toolRequest("test.progress", {}, { meta: { progressToken: 1 } }));
        const head = await client.text(/\r\n\r\n/);
        assert.match(head, /^content-type: text\/event-stream\r$/im);
        const lines = head.match(/^cache-control: .*$/gim);
        assert.deepEqual(lines, ["Cache-Control: no-store, no-transform"]);
        client.close();
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
    await server.untilLogged(/without its details source="shop" method="fail".*\/srv\/shop.*line 7/);
});

test("the answers of a batch that will not be sent are not kept", async (t) => {
    const server = await startBridge({ config: { loops: 1, plugins: { workers: 2 } } });
    t.after(() => server.stop());
    const bytes = 15_000_000;
    const one = (id) => ({ jsonrpc: "2.0", id, method: "test.large", params: { bytes } });
    const { status, json } = await rpc(
        server,
        Array.from({ length: 40 }, (_, id) => one(id)),
    );
    assert.equal(status, 500);
    assert.equal(json.error.code, -32603);
    const most = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.pid}/status`))[1]);
    // A sanitizer keeps what was freed.
    assert.ok(most < 300_000 || slowness > 1, `${most} KB at most`);
});

suite("plugin files", { concurrency: true }, () => {
    test("plugin list and check do not wait for a pipe, nor show a name as it is", async () => {
        const folder = newFolder("odd");
        execFileSync("mkfifo", [path.join(folder, "pipe.so")]);
        mkdirSync(path.join(folder, "folder.so"));
        const source = versionSource("odd", "1.0", "odd.tell");
        compilePlugin(folder, "odd", source, { as: "a\u001b[31m\nb.so" });
        const config = writeConfig({ plugins: { folder } });
        const list = await runCauseway(["plugin", "list", "--config", config]);
        assert.equal(list.code, 0, list.stderr);
        assert.equal(list.stdout.trimEnd().split("\n").length, 2, list.stdout);
        assert.ok(list.stdout.includes("a\\u001b[31m\\u000ab"), list.stdout);
        assert.ok(!list.stdout.includes("\u001b[31m"));
        const check = await runCauseway(["plugin", "check", path.join(folder, "pipe.so")]);
        assert.equal(check.code, 1);
        assert.match(check.stderr, /pipe\.so: not a file/);
    });

    test("one that writes too much, or ends, while it is loaded spoils only itself", async () => {
        const folder = newFolder("loud");
        const loud = (code) => `#include <stdio.h>
#include <stdlib.h>
${versionSource("loud", "1.0", "loud.tell")}
__attribute__((constructor)) static void now(void)
{
    ${code}
}`;
        const lines = 'for (int i = 0; i < 2000000; i++) puts("0123456789012345678901234567890123456789");';
        compilePlugin(folder, "loud", loud(lines));
        compilePlugin(folder, "ends", loud("exit(0);"));
        compilePlugin(folder, "good", versionSource("good", "2.0", "good.tell"));
        const config = writeConfig({ plugins: { folder } });
        const list = await runCauseway(["plugin", "list", "--config", config, "--json"]);
        assert.equal(list.code, 0, list.stderr);
        const states = JSON.parse(list.stdout).map(({ name, state }) => [name, state]);
        const expected = { ends: "broken", good: "enabled", loud: "broken" };
        assert.deepEqual(Object.fromEntries(states), expected);
        assert.match(list.stdout, /ended while it was loaded: exited with 0/);
    });

    const limitFiles = (server, n) => execFileSync("prlimit", ["--pid", String(server.pid), `--nofile=${n}:`]);

    test("one for which there was no descriptor is tried again", async (t) => {
        const server = await startBridge();
        t.after(() => server.stop());
        const usual = 1_000;
        limitFiles(server, openFiles(server.pid) + 1); // for looking at the folder
        addPlugin(server.plugins, "faults");
        await server.untilLogged(/not loaded source="faults" problem=".*Too many open files/);
        limitFiles(server, usual);
        await untilTool(server, "faults.ok");
    });

    test("many at once are loaded with few descriptors", async (t) => {
        const many = 60;
        const folder = newFolder("many");
        const file = compilePlugin(folder, "p00", versionSource("p00", "1.0", "p00.tell"));
        const bytes = readFileSync(file).toString("latin1");
        const config = { plugins: { folder }, roles: { anonymous: permissions } };
        const server = await startBridge({ plugins: [], config });
        t.after(() => server.stop());
        await untilTool(server, "p00.tell");
        // One for each that is loaded, and some for those that are being loaded.
        limitFiles(server, openFiles(server.pid) + many + 60);
        for (let i = 1; i < many; i++) {
            const name = `p${String(i).padStart(2, "0")}`;
            writeFileSync(path.join(folder, `.${name}`), bytes.replaceAll("p00", name), "latin1");
            renameSync(path.join(folder, `.${name}`), path.join(folder, `${name}.so`));
        }
        await untilTool(server, `p${many - 1}.tell`);
        await untilTool(server, "p30.tell");
        assert.doesNotMatch(server.stderr, /not loaded/);
    });
});

test("reloads and new files all the time: no call fails, nothing is left behind", async (t) => {
    const service = await startService();
    const server = await start(t, {
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
