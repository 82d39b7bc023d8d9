// A server that is upgraded while it runs: its program is a link, so that a test can put another file
// behind it, and the processes that follow each other are known by the log.
//
//     const server = await startUpgradable({ plugins: ["echo"] });
//     await upgrade(server); // by USR2; server.current is the new process
//     await stopUpgraded(server);
import assert from "node:assert/strict";
import { chmodSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { keepFolder } from "./kept.mjs";
import { makePluginFolder, permissions } from "./mcp.mjs";
import { binary, closeIdleConnections, mayDump, startProgram, writeConfig } from "./programs.mjs";

let links = 0;

// `leads`: the processes of a failed test are killed together. `socket` is a listening socket that the
// server inherits as a service manager would pass it.
export async function startUpgradable({ plugins = ["echo"], config = {}, env, socket } = {}) {
    links += 1;
    const link = path.join(keepFolder(), `program-${links}`);
    symlinkSync(binary, link);
    const folder = makePluginFolder(plugins);
    const base = { listen: ["127.0.0.1:0"], roles: { anonymous: permissions }, plugins: { directory: folder } };
    const file = writeConfig({ ...base, ...config });
    const args = ["serve", ...mayDump, "--config", file];
    const options = { name: "causeway", leads: true, env };
    const server = await (socket === undefined
        ? startProgram(link, args, options)
        : startProgram("sh", ["-c", 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"', "sh", link, ...args], {
              ...options,
              stdio: ["ignore", "pipe", "pipe", socket],
          }));
    return Object.assign(server, { link, config: file, plugins: folder, current: server.pid, generation: 1 });
}

// Put another program behind the link: a file, or the text of a shell script.
export function replaceProgram(server, { file, script }) {
    links += 1;
    const beside = path.join(keepFolder(), `program-${links}`);
    if (script === undefined) {
        symlinkSync(file, beside);
    } else {
        writeFileSync(beside, `#!/bin/sh\n${script}\n`);
        chmodSync(beside, 0o755);
    }
    renameSync(beside, server.link);
}

const takenOver = /a new process has taken over pid=(\d+)/g;
const successors = (server) => [...server.stderr.matchAll(takenOver)].map(([, pid]) => Number(pid));

// Wait until the next process has taken over.
export async function untilTakenOver(server, timeoutMs) {
    await server.until(() => successors(server).length >= server.generation, "a take-over", timeoutMs);
    server.current = successors(server)[server.generation - 1];
    server.generation += 1;
}

export async function upgrade(server) {
    process.kill(server.current, "SIGUSR2");
    await untilTakenOver(server);
}

const failed = /upgrade failed, this process goes on why="([^\n]*)"/g;
export const failures = (server) => [...server.stderr.matchAll(failed)].map(([, why]) => why);

// The pipes of the first process are those of all, so its end is that of the last one.
export async function stopUpgraded(server) {
    closeIdleConnections();
    process.kill(server.current, "SIGTERM");
    const end = await server.exited;
    server.assertNoReports();
    assert.deepEqual(end, { code: 0, signal: null }, server.stderr);
}
