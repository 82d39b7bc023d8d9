// kill -9 in the middle of writes: what was acknowledged is there, and the server is back at once.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { basic, bearer, startAccounts } from "./support/accounts.mjs";
import { rpc } from "./support/mcp.mjs";
import { binary, Program, slowness, startCauseway } from "./support/programs.mjs";
import { pause } from "./support/server.mjs";

const cycles = 50;

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
    for (let cycle = 0; cycle < cycles; cycle += 1) {
        const writer = startWriter(config, cycle);
        await pause(20 + Math.random() * 180);
        server.child.kill("SIGKILL");
        await writer.kill();
        await server.exited;
        for (const kind of Object.keys(all)) {
            all[kind].push(...writer.acknowledged[kind]);
        }
        const begin = performance.now();
        server = await startCauseway({ args: ["--config", config] });
        const { status } = await fetch(`${server.url}/healthz`);
        starts.push(performance.now() - begin);
        assert.equal(status, 200);
    }
    const check = execFileSync("sqlite3", [database, "PRAGMA integrity_check"], { encoding: "utf8" });
    assert.equal(check, "ok\n");
    const names = (kind) => async () =>
        JSON.parse(await cli(kind, "list", "--json")).map(({ name }) => name);
    const accounts = new Set(await names("account")());
    const roles = new Set(await names("role")());
    assert.deepEqual(all.accounts.filter((name) => !accounts.has(name)), []);
    assert.deepEqual(all.roles.filter((name) => !roles.has(name)), []);
    assert.ok(all.accounts.length >= cycles / 2, `${all.accounts.length} accounts were made`);
    for (const token of all.tokens) {
        const { status } = await rpc(server, { method: "test.caller", id: 1 }, bearer(token));
        assert.equal(status, 200);
    }
    const { status } = await rpc(server, { method: "test.caller", id: 1 }, basic("alice", "s3cret"));
    assert.equal(status, 200);
    await server.stop();
    starts.sort((a, b) => a - b);
    const median = starts[Math.floor(starts.length / 2)];
    console.log(`# ${all.accounts.length} accounts, ${all.roles.length} roles, ${all.tokens.length} tokens acknowledged`);
    console.log(`# serving again: median ${median.toFixed(0)} ms, worst ${starts.at(-1).toFixed(0)} ms`);
    // One of them may be held up by whatever else the machine does; the figure is for a quiet one.
    const late = starts.filter((ms) => ms >= 300 * slowness);
    assert.ok(late.length <= 1, `serving again took ${late.map(Math.round)} ms`);
});
