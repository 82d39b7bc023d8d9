// The processes of plugins and of programs behind stdio sources, seen from outside: their output is a
// field of log lines, their children end with them, and log lines after a cancel are not lost.
import assert from "node:assert/strict";
import { existsSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { callTool, callToolWell, modern, permissions, startBridge, untilTool } from "./support/mcp.mjs";
import { compilePlugin, newFolder } from "./support/plugins.mjs";
import { startCauseway, writeConfig } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";

const forged = "2026-11-16T08:00:00.000Z error access: forged";

const source = `#include <causeway/plugin.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
CW_PLUGIN("loud", "1");
__attribute__((constructor)) static void load(void) { puts("loaded\\n${forged}"); }
static void print(cw_call *call)
{
    printf("to output\\n${forged}\\n\\033[31mred\\n");
    fprintf(stderr, "to error\\n${forged}\\n");
    fprintf(stderr, "%0700d\\n", 7);
    cw_result_text(call, "printed");
}
CW_METHOD(print, "loud.print", .permissions = {"access content"});
CW_TOOL(print);
static void flood(cw_call *call)
{
    for (int i = 0; i < 5000; i++)
        printf("line %d of many\\n", i);
    cw_result_text(call, "flooded");
}
CW_METHOD(flood, "loud.flood", .permissions = {"access content"});
CW_TOOL(flood);
static void start(cw_call *call)
{
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    if (cw_arg_bool(call, "crash", false)) {
        fprintf(stderr, "child=%d\\n", (int)child);
        raise(SIGSEGV);
    }
    cw_result_format(call, "%d", (int)child);
}
CW_METHOD(start, "loud.start", .permissions = {"access content"},
          .params = {{"crash", .schema = CW_JSON({"type": "boolean"})}});
CW_TOOL(start);
static void detach(cw_call *call)
{
    int ends[2];
    pid_t daemon = 0;
    if (pipe(ends) != 0)
        return;
    if (fork() == 0) {
        setsid();
        daemon = fork();
        if (daemon == 0)
            for (;;)
                pause();
        if (write(ends[1], &daemon, sizeof daemon) != sizeof daemon)
            abort();
        _exit(0);
    }
    if (read(ends[0], &daemon, sizeof daemon) != sizeof daemon)
        return;
    cw_result_format(call, "%d", (int)daemon);
}
CW_METHOD(detach, "loud.detach", .permissions = {"access content"});
CW_TOOL(detach);
static void late(cw_call *call)
{
    cw_call_log(NULL, CW_LEVEL_WARN, "a line of no call");
    cw_call_log(call, CW_LEVEL_INFO, "waiting");
    while (!cw_call_cancelled(call))
        usleep(1000);
    cw_call_log(call, CW_LEVEL_WARN, "cleaned up after the cancel");
}
CW_METHOD(late, "loud.late", .permissions = {"access content"});
CW_TOOL(late);
`;

async function start(t, options = {}) {
    const server = await startBridge({ plugins: [], roles: { anonymous: permissions }, ...options });
    t.after(() => server.stop());
    compilePlugin(server.plugins, "loud", source);
    await untilTool(server, "loud.print");
    return server;
}

// Whole lines only.
const lines = (server, text) =>
    server.stderr
        .split("\n")
        .slice(0, -1)
        .filter((line) => line.includes(text));
const isThere = (pid) => existsSync(`/proc/${pid}`);
const textOf = (result) => result.content[0].text;
const ends = (pid) => eventually(() => !isThere(pid), `the end of ${pid}`);

suite("the output of a plugin", () => {
    test("is a field of log lines and forges none", async (t) => {
        const server = await start(t);
        await callToolWell(server, "loud.print", {});
        await eventually(() => lines(server, "to error").length > 0, "its standard error");
        await eventually(() => lines(server, "to output").length > 0, "its standard output");
        await eventually(() => lines(server, "forged").length >= 3, "all lines");
        for (const line of lines(server, "forged")) {
            assert.match(line, /^\S+ info plugin: output plugin="?loud"? text=".*error access: forged"$/);
        }
        assert.ok(lines(server, "loaded").every((line) => line.includes("info plugin: output")));
        assert.doesNotMatch(server.stderr, /\u001b/);
        await eventually(() => lines(server, "000000").length > 0, "the long line");
        assert.ok(lines(server, "000000").every((line) => line.length < 700));
    });

    test("has a ceiling of lines a minute", async (t) => {
        const server = await start(t);
        await callToolWell(server, "loud.flood", {});
        await eventually(() => lines(server, "of many").length > 50, "its lines");
        renameSync(path.join(server.plugins, "loud.so"), path.join(server.plugins, "loud.off"));
        // What is left out is reported at the end of the plugin, and before that for each minute that is over.
        const counts = () =>
            lines(server, "lines of output left out").map((line) =>
                Number(/plugin="?loud"? lines=(\d+)/.exec(line)?.[1] ?? assert.fail(line)),
            );
        const shown = () => lines(server, "of many").length;
        const sum = () => counts().reduce((a, b) => a + b, shown());
        await eventually(() => sum() >= 5000, "the count");
        assert.ok(shown() <= 100 * counts().length, `${shown()} lines, ${counts()} left out`);
        assert.ok(sum() < 5100, `${shown()} lines, ${counts()} left out`);
    });
});

suite("the children of a plugin", () => {
    for (const tool of ["loud.start", "loud.detach"]) {
        test(`end with it: ${tool}`, async (t) => {
            const server = await start(t);
            const stopped = Number(textOf(await callToolWell(server, tool, {})));
            assert.ok(isThere(stopped));
            renameSync(path.join(server.plugins, "loud.so"), path.join(server.plugins, "loud.off"));
            await ends(stopped);
            renameSync(path.join(server.plugins, "loud.off"), path.join(server.plugins, "loud.so"));
            await untilTool(server, tool);
            const last = Number(textOf(await callToolWell(server, tool, {})));
            assert.ok(isThere(last));
            await server.stop();
            await ends(last);
        });
    }

    test("end with a worker that crashes", async (t) => {
        const server = await start(t);
        await callToolWell(server, "loud.print", {});
        await callTool(server, "loud.start", { crash: true });
        const [, pid] = await eventually(() => /child=(\d+)/.exec(server.stderr), "its number");
        await ends(Number(pid));
    });
});

suite("the children of a program behind a stdio source", () => {
    const program = `import os, sys, subprocess
detached = os.fork()
if detached == 0:
    os.setsid()
    os.execvp("sleep", ["sleep", "600"])
plain = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
print("children=%d,%d." % (detached, plain.pid), file=sys.stderr, flush=True)
for line in sys.stdin:
    pass
`;
    test("end with it, those that left its group too", async (t) => {
        const file = path.join(newFolder("program"), "program.py");
        writeFileSync(file, program);
        const command = ["/usr/bin/python3", file];
        // It does not answer, and is not ended for that as long as the test runs.
        const source = { name: "kids", command, discovery: "system", methods: ["a.b"], timeout: "20m" };
        const config = writeConfig({ sources: [source] });
        const server = await startCauseway({ args: ["--config", config] });
        t.after(() => server.stop());
        const [, ...pids] = await eventually(() => /children=(\d+),(\d+)\./.exec(server.stderr), "the children");
        assert.ok(pids.every(isThere));
        await server.stop();
        for (const pid of pids) {
            await ends(Number(pid));
        }
    });
});

test("a line that a method logs after a cancel reaches the log, like one of no call", async (t) => {
    // A machine that stands still does not end the process before the method has noticed the cancel.
    const server = await start(t, { config: { plugins: { timeout: "20m", grace: "20m" } } });
    const caller = new AbortController();
    const call = modern(
        server,
        "tools/call",
        { name: "loud.late", arguments: {} },
        { fetch: { signal: caller.signal } },
    );
    call.catch(() => {});
    await eventually(() => lines(server, "waiting").length > 0, "the first line");
    caller.abort();
    const [line] = await eventually(() => {
        const found = lines(server, "cleaned up after the cancel");
        return found.length > 0 && found;
    }, "the last line");
    assert.match(line, / warn source: logged source="?loud"? method="?loud\.late"? text="cleaned up/);
    await eventually(() => lines(server, "a line of no call").length > 0, "the line of no call");
    assert.match(lines(server, "a line of no call")[0], / warn source: logged source="?loud"? text=/);
});
