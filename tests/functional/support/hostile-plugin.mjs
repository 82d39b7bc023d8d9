// A plugin that floods its socket, for tests of what one worker can do to others.
import { startBridge, untilTool } from "./mcp.mjs";
import { compilePlugin } from "./plugins.mjs";

// The id of a frame is 1 in the first call of a worker.
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

// A server with this plugin and echo, which the end of the test stops unless it has ended.
export async function startHostile(t, { plugins = {}, ...config } = {}) {
    const server = await startBridge({ config: { ...config, plugins } });
    t.after(() => server.child.exitCode === null && server.stop());
    compilePlugin(server.plugins, "hostile", hostile);
    await untilTool(server, "hostile.ok");
    return server;
}
