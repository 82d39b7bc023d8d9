// Faults of the bridge that were found by reading and trying: each has its test here.
import assert from "node:assert/strict";
import { unlinkSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { callToolWell, modernParts, rpc, startBridge, untilTool } from "./support/mcp.mjs";
import { compilePlugin } from "./support/plugins.mjs";
import { slowness } from "./support/programs.mjs";
import { Connection, pause, request } from "./support/server.mjs";

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
    static char all[65536];
    size_t n = 0;
    const char *body = cw_arg_bool(call, "call", true)
        ? "{\\"jsonrpc\\":\\"2.0\\",\\"method\\":\\"$/started\\"}"
        : "{\\"jsonrpc\\":\\"2.0\\",\\"method\\":\\"$/log\\",\\"params\\":{\\"level\\":\\"debug\\",\\"message\\":\\"x\\"}}";
    while (n + 200 < sizeof all)
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
    compilePlugin(server.plugins, "hostile", hostile);
    await untilTool(server, "hostile.ok");
    t.after(() => server.child.exitCode === null && server.stop());
    return server;
}

function send(server, name, args, headers = {}) {
    const parts = modernParts("tools/call", { name, arguments: args });
    const all = { "Content-Type": "application/json", ...parts.headers, ...headers };
    return request("POST", "/mcp", all, JSON.stringify(parts.body));
}

suite("the end of a call is the end of something else", () => {
    test("the last answer of a server that stops", async (t) => {
        const server = await start(t);
        const client = await Connection.open(server);
        client.send(send(server, "hostile.nap", { ms: 400 }, { Connection: "close" }));
        await pause(150);
        const stopped = server.stop();
        const answer = await client.response();
        assert.equal(answer.status, 200);
        await stopped;
    });

    test("the time limit of a call whose source is gone", async (t) => {
        const server = await start(t, { plugins: { timeout: `${400 * slowness}ms`, grace: "50ms" } });
        const calls = [1, 2, 3].map(() => rpc(server, { method: "hostile.nap", params: { ms: 60_000 }, id: 1 }));
        await pause(100 * slowness);
        unlinkSync(path.join(server.plugins, "hostile.so"));
        for (const { status } of await Promise.all(calls)) {
            assert.equal(status, 500);
        }
        await callToolWell(server, "test.echo", { message: "x" });
        await server.stop();
    });
});

suite("a worker that writes without end", () => {
    for (const params of [{ call: true }, { call: false }, { call: false, fork: true }]) {
        test(`does not keep its loop busy for ever: ${JSON.stringify(params)}`, async (t) => {
            const server = await start(t, {
                loops: 1,
                plugins: { timeout: `${300 * slowness}ms`, grace: `${100 * slowness}ms` },
            });
            const flood = rpc(server, { method: "hostile.flood", params, id: 1 });
            const until = performance.now() + 1_500 * slowness;
            while (performance.now() < until) {
                const late = AbortSignal.timeout(2_000 * slowness);
                await callToolWell(server, "test.echo", { message: "x" }, { fetch: { signal: late } });
                await pause(50);
            }
            assert.equal((await flood).status, 500);
        });
    }
});
