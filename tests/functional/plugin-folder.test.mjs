// The plugin folder of a running server: plugins come, go and change without a restart.
import assert from "node:assert/strict";
import { copyFileSync, readdirSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { addPlugin, callTool, rpc, startBridge, toolNames, untilTool } from "./support/mcp.mjs";
import { scrape } from "./support/metrics.mjs";
import { compilePlugin, newFolder, permissions, versionSource } from "./support/plugins.mjs";
import { binary, buildFolder, closeIdleConnections, Program, runCauseway } from "./support/programs.mjs";
import { patience, slowness, startCauseway, timeLimit, writeConfig } from "./support/programs.mjs";
import { eventually, openFiles, pause } from "./support/server.mjs";
import { execFileSync } from "node:child_process";
import { startHostile } from "./support/hostile-plugin.mjs";

const roles = { anonymous: [...permissions, "view metrics"] };

async function start(folder, more = {}) {
    const file = writeConfig({ plugins: { directory: folder, ...more.plugins }, roles, ...more.top });
    const server = await startCauseway({ args: ["--config", file] });
    server.config = file;
    return server;
}

const tell = async (server, method, params) =>
    (await rpc(server, { id: 1, method, ...(params ? { params } : {}) })).json;

// The tools that are listed, once those are that a busy machine loads after the start.
const untilTools = (server, ...names) =>
    eventually(async () => (await toolNames(server)).join() === names.join(), `the tools ${names}`, 10_000);

const untilCalls = (server, n) =>
    eventually(async () => {
        const metrics = await scrape(server);
        return metrics.value("causeway_calls_running") + (metrics.value("causeway_calls_total") ?? 0) >= n;
    }, `${n} calls`);

const version = async (server, method) => (await tell(server, method)).result;

// All processes that the server started, and theirs.
function descendants(pid) {
    return readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name))
        .filter((name) => {
            try {
                const stat = readFileSync(`/proc/${name}/stat`, "utf8");
                return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === pid;
            } catch {
                return false;
            }
        })
        .flatMap((child) => [Number(child), ...descendants(Number(child))]);
}

const lives = (pid) => {
    try {
        process.kill(pid, 0);
        return true;
    } catch {
        return false;
    }
};

test("the first list has the plugins' tools: the start waits for them", async () => {
    const folder = newFolder("plugins");
    compilePlugin(folder, "one", versionSource("one", "1.0", "one.tell"));
    const server = await start(folder);
    const names = await toolNames(server);
    // It does not wait for a machine that needs more than three seconds.
    if (!/starting before all sources have responded/.test(server.stderr)) {
        assert.deepEqual(names, ["one.tell"]);
    }
    await server.untilLogged(/catalogue published tools=1 methods=1 sources=1/);
    await server.stop();
});

test("a file that comes is a plugin half a second later, and gone when it goes", async () => {
    const folder = newFolder("plugins");
    const server = await start(folder);
    assert.deepEqual(await toolNames(server), []);
    const file = compilePlugin(folder, "late", versionSource("late", "1.0", "late.tell"));
    // Noticed within half a second; loading takes a moment more.
    await eventually(async () => (await toolNames(server)).length === 1, "the new tool", 1_000);
    assert.equal(await version(server, "late.tell"), "1.0");
    rmSync(file);
    await eventually(async () => (await toolNames(server)).length === 0, "no tool");
    assert.equal((await tell(server, "late.tell")).error.code, -32601);
    await server.stop();
});

test("disable and enable act on a running server", async () => {
    const folder = newFolder("plugins");
    compilePlugin(folder, "one", versionSource("one", "1.0", "one.tell"));
    const server = await start(folder);
    const args = ["one", "--config", server.config];
    assert.equal((await runCauseway(["plugin", "disable", ...args])).code, 0);
    await eventually(async () => (await toolNames(server)).length === 0, "no tool");
    assert.equal((await runCauseway(["plugin", "enable", ...args])).code, 0);
    await eventually(async () => (await toolNames(server)).length === 1, "the tool again");
    assert.equal(await version(server, "one.tell"), "1.0");
    await server.stop();
});

test("a replaced plugin serves new calls, and the old one finishes those that run", async () => {
    const folder = newFolder("plugins");
    compilePlugin(folder, "one", versionSource("one", "1.0", "one.tell"));
    const second = compilePlugin(newFolder("ready"), "one", versionSource("one", "2.0", "one.tell"));
    const server = await start(folder);
    await untilTools(server, "one.tell");
    const running = tell(server, "one.tell", { wait: Math.min(patience(1_500), 15_000) });
    await untilCalls(server, 1);
    copyFileSync(second, path.join(folder, ".one.new"));
    renameSync(path.join(folder, ".one.new"), path.join(folder, "one.so"));
    await eventually(async () => (await version(server, "one.tell")) === "2.0", "version 2.0");
    assert.equal((await running).result, "1.0");
    // The worker of the old version goes with its last call.
    await eventually(() => descendants(server.pid).length <= 2, "the old worker's end");
    await server.stop();
});

test("the gauge of workers does not count those of a replaced plugin", async (t) => {
    const folder = newFolder("plugins");
    compilePlugin(folder, "one", versionSource("one", "1.0", "one.tell"));
    const second = compilePlugin(newFolder("ready"), "one", versionSource("one", "2.0", "one.tell"));
    const server = await start(folder, { top: { loops: 1 } });
    t.after(() => server.stop());
    await untilTools(server, "one.tell");
    const workers = async () => (await scrape(server)).value("causeway_plugin_workers");
    assert.equal(await version(server, "one.tell"), "1.0");
    assert.equal(await workers(), 1);
    copyFileSync(second, path.join(folder, ".one.new"));
    renameSync(path.join(folder, ".one.new"), path.join(folder, "one.so"));
    await eventually(async () => (await version(server, "one.tell")) === "2.0", "version 2.0");
    await eventually(async () => (await workers()) === 1, "one worker in the gauge");
});

test("no call is lost while a plugin is replaced again and again", async () => {
    const folder = newFolder("plugins");
    const sources = ["1.0", "2.0"].map((v) => versionSource("one", v, "one.tell"));
    const ready = sources.map((source, i) => {
        const file = compilePlugin(newFolder("ready"), "one", source, { as: `${i}.so` });
        return file;
    });
    copyFileSync(ready[0], path.join(folder, "one.so"));
    const server = await start(folder);
    await untilTools(server, "one.tell");
    let done = false;
    const seen = new Set();
    const caller = async () => {
        while (!done) {
            const { result, error } = await tell(server, "one.tell");
            assert.equal(error, undefined, JSON.stringify(error));
            seen.add(result);
        }
    };
    const callers = Promise.all(Array.from({ length: 4 }, caller));
    callers.catch(() => (done = true));
    try {
        // A busy machine may not notice each of them; the last one stays.
        for (let i = 1; i <= 7; i++) {
            copyFileSync(ready[i % 2], path.join(folder, ".one.new"));
            renameSync(path.join(folder, ".one.new"), path.join(folder, "one.so"));
            await pause(400);
        }
        await eventually(() => done || seen.has("2.0"), "version 2.0");
    } finally {
        done = true;
    }
    await callers;
    assert.deepEqual([...seen].sort(), ["1.0", "2.0"]);
    await server.stop();
});

test("a broken version leaves the old one running and is logged", async () => {
    const folder = newFolder("plugins");
    const file = compilePlugin(folder, "one", versionSource("one", "1.0", "one.tell"));
    const server = await start(folder);
    await untilTools(server, "one.tell");
    const whole = readFileSync(file);
    // As if it were being copied. The rest of the file could be what only debuggers read; the start cannot.
    rmSync(file);
    writeFileSync(file, whole.subarray(0, 512));
    await server.untilLogged(/not loaded, the older version stays source="one"/);
    assert.equal(await version(server, "one.tell"), "1.0");
    compilePlugin(folder, "one", versionSource("one", "2.0", "one.tell"));
    await eventually(async () => (await version(server, "one.tell")) === "2.0", "version 2.0");
    await server.stop();
});

test("a plugin with mistakes is left out, with its name and the member, and nothing else", async () => {
    const folder = newFolder("plugins");
    compilePlugin(folder, "good", versionSource("good", "1.0", "good.tell"));
    compilePlugin(folder, "bad", versionSource("bad", "1.0", "bad.tell").replace(`{"readOnlyHint": true}`, "[1]"));
    compilePlugin(folder, "twice", versionSource("twice", "1.0", "good.tell"));
    writeFileSync(path.join(folder, "text.so"), "no plugin");
    const server = await start(folder);
    await untilTools(server, "good.tell");
    await server.untilLogged(/error sources: not loaded source="bad" problem="bad: .*annotations/);
    await server.untilLogged(/error sources: not loaded source="text"/);
    await server.untilLogged(/error sources: left out source="twice" problem=".*good\.tell.*good/);
    await server.stop();
});

test("a plugin that hangs while it is loaded does not keep the server from starting", async () => {
    const folder = newFolder("plugins");
    compilePlugin(folder, "good", versionSource("good", "1.0", "good.tell"));
    compilePlugin(
        folder,
        "stuck",
        versionSource("stuck", "1.0", "stuck.tell").replace(
            "static void tell",
            "__attribute__((constructor)) static void hang(void) { pause(); }\nstatic void tell",
        ),
    );
    const before = performance.now();
    const server = await start(folder, { plugins: { load_timeout: "1m" } });
    assert.ok(performance.now() - before > 2900);
    await untilTools(server, "good.tell");
    await server.untilLogged(/starting before all sources have responded/);
    const children = descendants(server.pid);
    assert.ok(children.length >= 1);
    await server.stop();
    await eventually(() => !children.some(lives), "the end of all children");
});

test("a signal during the start ends it", async () => {
    const folder = newFolder("plugins");
    const source = versionSource("stuck", "1.0", "stuck.tell").replace(
        "static void tell",
        "__attribute__((constructor)) static void hang(void) { pause(); }\nstatic void tell",
    );
    compilePlugin(folder, "stuck", source);
    const file = writeConfig({ plugins: { directory: folder, load_timeout: "1m" }, roles });
    const server = new Program(binary, ["serve", "--config", file, "--listen", "127.0.0.1:0"]);
    await eventually(() => descendants(server.pid).length > 0, "a worker");
    const children = descendants(server.pid);
    const left = timeLimit(2_000);
    await server.stop();
    assert.ok(left() > 0, "it did not end at once");
    // The start lasts three seconds at most; the machine may have stood still meanwhile.
    if (!/starting before all sources have responded/.test(server.stderr)) {
        assert.equal(server.stdout, "");
    }
    await eventually(() => !children.some(lives), "the end of all children");
});

test("no process is left behind by a stop, not even one that is busy", async () => {
    const folder = newFolder("plugins");
    compilePlugin(folder, "one", versionSource("one", "1.0", "one.tell"));
    const server = await start(folder, { top: { timeouts: { drain: "100ms" } } });
    const calls = Array.from({ length: 6 }, () => tell(server, "one.tell", { wait: 30_000 }).catch(() => null));
    await eventually(() => descendants(server.pid).length > 0, "workers");
    await pause(300);
    const children = descendants(server.pid);
    await server.stop();
    await Promise.all(calls);
    await eventually(() => !children.some(lives), "the end of all children");
});

test("a reload changes roles, folder and limits, and an unusable one changes nothing", async () => {
    const first = newFolder("plugins");
    const second = newFolder("plugins");
    compilePlugin(first, "one", versionSource("one", "1.0", "one.tell"));
    compilePlugin(second, "two", versionSource("two", "1.0", "two.tell"));
    const server = await start(first);
    await untilTools(server, "one.tell");
    const reload = async (config) => {
        writeFileSync(server.config, JSON.stringify(config));
        const seen = server.stderr.length;
        process.kill(server.pid, "SIGHUP");
        const done = /configuration read again|configuration refused/;
        await server.until(() => done.test(server.stderr.slice(seen)), "the reload");
    };
    await reload({ plugins: { directory: first }, roles: { anonymous: permissions.slice(0, 2) } });
    await eventually(async () => (await toolNames(server)).length === 0, "no tool for anonymous");
    await reload({ plugins: { directory: first, workers: 7 }, roles });
    await eventually(async () => (await toolNames(server)).includes("one.tell"), "the tool");
    assert.equal(await version(server, "one.tell"), "1.0");
    await reload({ plugins: { directory: second }, roles });
    await eventually(async () => (await toolNames(server)).join() === "two.tell", "the other one");
    await reload({ plugins: { directory: 7 }, roles });
    assert.deepEqual(await toolNames(server), ["two.tell"]);
    await reload({ roles });
    await eventually(async () => (await toolNames(server)).length === 0, "none");
    await server.stop();
});

test("with the examples the first list comes soon after the start, in little memory", async () => {
    const server = await start(path.join(buildFolder, "plugins"));
    await untilTool(server, "examples.articles.list");
    for (const method of ["examples.articles.list", "examples.article.toMarkdown"]) {
        await rpc(server, { id: 1, method, params: method.endsWith("n") ? { nid: 1 } : {} });
    }
    const pss = [server.pid, ...descendants(server.pid)]
        .map((pid) => readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))
        .reduce((sum, text) => sum + Number(/^Pss:\s+(\d+)/m.exec(text)[1]), 0);
    if (slowness === 1) {
        assert.ok(pss <= 15 * 1024, `${pss} KB`);
    }
    await server.stop();
});

test("a call whose plugin is gone ends at its time limit", async (t) => {
    const timeout = `${600 * slowness}ms`;
    const server = await startHostile(t, { roles, plugins: { timeout, grace: "50ms" } });
    const nap = { method: "hostile.nap", params: { ms: 60_000 }, id: 1 };
    const calls = [1, 2, 3].map(() => rpc(server, nap));
    await untilCalls(server, 3);
    unlinkSync(path.join(server.plugins, "hostile.so"));
    for (const { status } of await Promise.all(calls)) {
        assert.equal(status, 500);
    }
    // A busy machine may need longer than this limit to start the other plugin.
    await eventually(
        () => callTool(server, "test.echo", { message: "x" }).then(({ json }) => !json.result.isError),
        "x",
    );
});

// Connections that the server still has, by the kernel's list.
function connectionsTo({ port }) {
    const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
    const [established, closeWait] = ["01", "08"];
    const rows = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1, -1);
    const fields = rows.map((row) => row.trim().split(/\s+/));
    return fields.filter(([, at, , state]) => at.endsWith(local) && [established, closeWait].includes(state)).length;
}

const limitFiles = (server, n) => execFileSync("prlimit", ["--pid", String(server.pid), `--nofile=${n}:`]);

test("a plugin for which there was no descriptor is tried again", async (t) => {
    const server = await startBridge();
    t.after(() => server.stop());
    const usual = 1_000;
    // A connection that ends later would leave a descriptor.
    closeIdleConnections();
    await eventually(() => connectionsTo(server) === 0, "the end of all connections");
    limitFiles(server, openFiles(server.pid) + 1); // for looking at the folder
    addPlugin(server.plugins, "faults");
    await server.untilLogged(/not loaded source="faults" problem=".*Too many open files/);
    limitFiles(server, usual);
    await untilTool(server, "faults.ok");
});

test("many plugins at once are loaded with few descriptors", async (t) => {
    const many = 60;
    const folder = newFolder("many");
    const file = compilePlugin(folder, "p00", versionSource("p00", "1.0", "p00.tell"));
    const bytes = readFileSync(file).toString("latin1");
    const config = { plugins: { directory: folder, load_timeout: "5m" }, roles: { anonymous: permissions } };
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
