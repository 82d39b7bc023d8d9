// The secret that seals sessions outlives the process: mcp.secret_file, else a file of the server.
import assert from "node:assert/strict";
import {
    chmodSync,
    existsSync,
    mkdirSync,
    readdirSync,
    readFileSync,
    renameSync,
    statSync,
    symlinkSync,
    writeFileSync,
} from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { keepFolder } from "./support/kept.mjs";
import { initialize, legacy, legacyVersions, permissions, startBridge } from "./support/mcp.mjs";
import { runCauseway, startCauseway, writeConfig } from "./support/programs.mjs";
import { startStdio } from "./support/stdio.mjs";

const version = legacyVersions[0];

function secretFile(text) {
    const file = path.join(keepFolder(), `secret-${text.length}`);
    writeFileSync(file, text);
    return file;
}

// The status of a request in a session that another server with `second` as its secret began.
async function statusAfterRestart(first, second) {
    const before = await startBridge({ config: { mcp: { secret_file: first } } });
    const begun = await initialize(before, version);
    assert.equal(begun.status, 200, begun.text);
    const headers = { "Mcp-Session-Id": begun.headers.get("mcp-session-id") };
    await before.stop();
    const after = await startBridge({ config: { mcp: { secret_file: second } } });
    const answer = await legacy(after, "tools/list", {}, { version, headers });
    await after.stop();
    return answer.status;
}

test("a session survives a restart with the same secret, and none with another", async () => {
    const one = secretFile("a secret of more than thirty-two bytes");
    const other = secretFile("another secret of more than thirty-two bytes");
    assert.equal(await statusAfterRestart(one, one), 200);
    assert.equal(await statusAfterRestart(one, other), 404);
});

test("a secret that is too short, or missing, keeps the server from starting", async () => {
    for (const [file, pattern] of [
        [secretFile("short"), /mcp\.secret_file.*fewer than 32 bytes/],
        [path.join(keepFolder(), "none"), /mcp\.secret_file.*No such file/],
    ]) {
        const config = writeConfig({ mcp: { secret_file: file } });
        const { code, stderr } = await runCauseway(["serve", "--config", config, "--listen", "127.0.0.1:0"]);
        assert.notEqual(code, 0);
        assert.match(stderr, pattern);
    }
});

let homes = 0;

// Directories of their own for the state of some servers.
function newHome() {
    homes += 1;
    const home = path.join(keepFolder(), `home-${homes}`);
    mkdirSync(home);
    return home;
}

const newConfig = () => writeConfig({ roles: { anonymous: permissions } });
const serve = (config, env) => startCauseway({ args: ["--config", config], env });
const ping = async (server, headers) => (await legacy(server, "ping", undefined, { headers })).status;
const remove = async (server, headers) => (await fetch(`${server.url}/mcp`, { method: "DELETE", headers })).status;
const files = (folder, kind) => readdirSync(folder).filter((name) => name.startsWith(`${kind}-`));

async function openSession(server) {
    const answer = await initialize(server, version);
    assert.equal(answer.status, 200, answer.text);
    return { "Mcp-Session-Id": answer.headers.get("mcp-session-id") };
}

suite("without any configuration of it", { concurrency: true }, () => {
    test("sessions survive a restart, and those that were ended stay ended", async (t) => {
        const env = { XDG_STATE_HOME: newHome() };
        const config = newConfig();
        const first = await serve(config, env);
        const [kept, ended] = [await openSession(first), await openSession(first)];
        assert.equal(await remove(first, ended), 204);
        await first.stop();
        const second = await serve(config, env);
        assert.deepEqual([await ping(second, kept), await ping(second, ended)], [200, 404]);
        assert.equal(await remove(second, kept), 204);
        second.child.kill("SIGKILL");
        await second.exited;
        const third = await serve(config, env);
        t.after(() => third.stop());
        assert.deepEqual([await ping(third, kept), await ping(third, ended)], [404, 404]);
        const folder = path.join(env.XDG_STATE_HOME, "causeway");
        assert.deepEqual([files(folder, "seal").length, files(folder, "ended").length], [1, 1]);
        for (const name of readdirSync(folder)) {
            assert.equal(statSync(path.join(folder, name)).mode & 0o777, 0o600, name);
        }
    });

    test("a server without a configuration file has a key too", async () => {
        const env = { XDG_STATE_HOME: newHome() };
        const first = await startCauseway({ env });
        const session = await openSession(first);
        await first.stop();
        const second = await startCauseway({ env });
        assert.equal(await ping(second, session), 200);
        await second.stop();
    });

    test("a server with another configuration file or address has another key", async (t) => {
        const env = { XDG_STATE_HOME: newHome() };
        const config = newConfig();
        const server = await serve(config, env);
        t.after(() => server.stop());
        const session = await openSession(server);
        const other = await serve(newConfig(), env);
        t.after(() => other.stop());
        const listen = ["--listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"];
        const elsewhere = await startCauseway({ args: [...listen, "--config", config], env });
        t.after(() => elsewhere.stop());
        assert.deepEqual([await ping(other, session), await ping(elsewhere, session)], [404, 404]);
        assert.equal(files(path.join(env.XDG_STATE_HOME, "causeway"), "seal").length, 3);
    });

    test("of two that start at once both have the same key", async (t) => {
        const env = { XDG_STATE_HOME: newHome() };
        const config = newConfig();
        const servers = await Promise.all(Array.from({ length: 4 }, () => serve(config, env)));
        t.after(() => Promise.all(servers.map((server) => server.stop())));
        const session = await openSession(servers[0]);
        for (const server of servers) {
            assert.equal(await ping(server, session), 200);
        }
        // Beside the two files is the socket of the first server.
        const names = readdirSync(path.join(env.XDG_STATE_HOME, "causeway")).map((name) => name.split("-")[0]);
        assert.deepEqual(names.sort(), ["admin", "ended", "seal"]);
    });

    test("the first entry of STATE_DIRECTORY comes first, and HOME last", async () => {
        const [one, two, home] = [newHome(), newHome(), newHome()];
        const config = newConfig();
        await (await serve(config, { STATE_DIRECTORY: `${one}:${two}`, XDG_STATE_HOME: two, HOME: home })).stop();
        assert.equal(files(path.join(one, "causeway"), "seal").length, 1);
        assert.deepEqual([readdirSync(two), readdirSync(home)], [[], []]);
        await (await serve(config, { XDG_STATE_HOME: undefined, HOME: home })).stop();
        assert.equal(files(path.join(home, ".local/state/causeway"), "seal").length, 1);
    });

    test("a key that others could have written or read is refused", async () => {
        const spoil = {
            "is a link": (file) => {
                renameSync(file, `${file}-real`);
                symlinkSync(`${file}-real`, file);
            },
            "can be read or written by others": (file) => chmodSync(file, 0o640),
            "has fewer than 32 bytes": (file) => writeFileSync(file, "short"),
        };
        for (const [problem, change] of Object.entries(spoil)) {
            const env = { XDG_STATE_HOME: newHome() };
            const config = newConfig();
            const first = await serve(config, env);
            const session = await openSession(first);
            await first.stop();
            const folder = path.join(env.XDG_STATE_HOME, "causeway");
            change(path.join(folder, files(folder, "seal")[0]));
            const second = await serve(config, env);
            assert.equal(await ping(second, session), 404, problem);
            assert.equal(await ping(second, await openSession(second)), 200);
            await second.stop();
            const lines = second.stderr.split("\n").filter((line) => line.includes("sessions of clients end"));
            assert.equal(lines.length, 1, second.stderr);
            assert.ok(lines[0].includes(problem), lines[0]);
        }
    });

    test("no directory costs one log line", async () => {
        const file = path.join(newHome(), "file");
        writeFileSync(file, "");
        const server = await serve(newConfig(), { XDG_STATE_HOME: file });
        assert.equal(await ping(server, await openSession(server)), 200);
        await server.stop();
        assert.equal(server.stderr.split("ends with this process").length, 2, server.stderr);
    });

    test("causeway stdio writes none", async () => {
        const home = newHome();
        const client = startStdio({ env: { XDG_STATE_HOME: home, HOME: home } });
        await client.initialize(version);
        await client.end();
        assert.ok(!existsSync(path.join(home, "causeway")) || files(path.join(home, "causeway"), "seal").length === 0);
    });

    test("a damaged file of ends is no reason not to start", async () => {
        const env = { XDG_STATE_HOME: newHome() };
        const config = newConfig();
        const first = await serve(config, env);
        const session = await openSession(first);
        await first.stop();
        const folder = path.join(env.XDG_STATE_HOME, "causeway");
        const file = path.join(folder, files(folder, "ended")[0]);
        writeFileSync(
            file,
            Buffer.concat([Buffer.alloc(1_000, 0xff), readFileSync(process.execPath).subarray(0, 9_999)]),
        );
        const second = await serve(config, env);
        assert.equal(await ping(second, session), 200);
        assert.equal(await remove(second, session), 204);
        assert.equal(await ping(second, session), 404);
        await second.stop();
    });
});
