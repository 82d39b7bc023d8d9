// kill -9 in the middle of writes: what was acknowledged is there, and the server is back at once.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { basic, bearer, startAccounts } from "./support/accounts.mjs";
import { rpc } from "./support/mcp.mjs";
import { binary, Program, slowness, startCauseway } from "./support/programs.mjs";
import { pause } from "./support/server.mjs";

const cycles = 50;
const limitMs = 300;

// For how long a process was ready to run while the machine gave its processors to others: what the
// kernel has counted for its main thread, in ms.
function heldUp(process) {
    return Number(readFileSync(`/proc/${process}/schedstat`, "latin1").split(" ")[1]) / 1e6;
}

// From exec to the first request that is served. `own` leaves out what the machine held up, the
// server's main thread or ours, whichever was longer, since they may have waited at the same time: on
// a quiet machine the two are the same. Waiting for a disk, a lock or anything else that is no
// processor counts.
async function restart(config) {
    const before = heldUp("self");
    const begin = performance.now();
    const server = await startCauseway({ args: ["--config", config] });
    const { status } = await fetch(`${server.url}/healthz`);
    const wall = performance.now() - begin;
    assert.equal(status, 200);
    const own = wall - Math.max(heldUp(server.pid), heldUp("self") - before);
    return { server, wall, own };
}

// Commands one after the other, until told to stop; `acknowledged` are those that said they were done.
function startWriter(config, cycle) {
    const acknowledged = { accounts: [], roles: [], tokens: [] };
    let current;
    let stopping = false;
    const run = async (...words) => {
        current = new Program(binary, [...words, "--config", config], { name: "writer" });
        current.child.stdin.end();
        const { code } = await current.exited;
        return code === 0 ? current.stdout : undefined;
    };
    const write = async (n) => {
        const name = `c${cycle}-${n}`;
        if (await run("account", "add", name, "--no-password")) {
            acknowledged.accounts.push(name);
        }
        if (!stopping && (await run("role", "add", name))) {
            acknowledged.roles.push(name);
        }
        const token = stopping ? undefined : await run("token", "create", "alice", "-n", name);
        if (token?.endsWith("\n")) {
            acknowledged.tokens.push(token.trim());
        }
    };
    const done = (async () => {
        for (let n = 0; !stopping; n += 1) {
            await write(n);
        }
    })();
    return {
        acknowledged,
        kill: async () => {
            stopping = true;
            current?.child.kill("SIGKILL");
            await done;
        },
    };
}

test(`${cycles} kills lose nothing that was acknowledged`, { timeout: 600_000 }, async () => {
    let server = await startAccounts({ plugins: ["echo"] });
    const { config, database, cli } = server;
    const all = { accounts: [], roles: [], tokens: [] };
    const starts = [];
    // A busy machine needs more of them: a kill may come before the first write.
    for (let cycle = 0; cycle < cycles || all.accounts.length < cycles / 2; cycle += 1) {
        const writer = startWriter(config, cycle);
        await pause((20 + Math.random() * 180) * slowness);
        server.child.kill("SIGKILL");
        await writer.kill();
        await server.exited;
        for (const kind of Object.keys(all)) {
            all[kind].push(...writer.acknowledged[kind]);
        }
        const { server: next, ...times } = await restart(config);
        server = next;
        starts.push(times);
    }
    const check = execFileSync("sqlite3", [database, "PRAGMA integrity_check"], { encoding: "utf8" });
    assert.equal(check, "ok\n");
    const names = (kind) => async () => JSON.parse(await cli(kind, "list", "--json")).map(({ name }) => name);
    const accounts = new Set(await names("account")());
    const roles = new Set(await names("role")());
    assert.deepEqual(
        all.accounts.filter((name) => !accounts.has(name)),
        [],
    );
    assert.deepEqual(
        all.roles.filter((name) => !roles.has(name)),
        [],
    );
    for (const token of all.tokens) {
        const { status } = await rpc(server, { method: "test.caller", id: 1 }, bearer(token));
        assert.equal(status, 200);
    }
    const { status } = await rpc(server, { method: "test.caller", id: 1 }, basic("alice", "s3cret"));
    assert.equal(status, 200);
    await server.stop();
    starts.sort((a, b) => a.wall - b.wall);
    const shown = ({ wall, own }) => `${wall.toFixed(0)} ms (${own.toFixed(0)} of its own)`;
    console.log(
        `# ${all.accounts.length} accounts, ${all.roles.length} roles, ${all.tokens.length} tokens acknowledged`,
    );
    console.log(`# serving again: median ${shown(starts[cycles / 2])}, worst ${shown(starts.at(-1))}`);
    // A start also waits for the disk, which others may use: a few that waited long do not count.
    const late = starts.filter(({ own }) => own >= limitMs * slowness);
    assert.ok(late.length <= cycles / 10, `serving again took ${limitMs} ms or more: ${late.map(shown).join()}`);
});
