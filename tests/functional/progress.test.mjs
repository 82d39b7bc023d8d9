// Long work shows a line on a terminal, erases it, and is quiet elsewhere. The lines of `import`, `call`
// and `doctor` are in the tests of these commands.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { call, discover, startAccounts } from "./support/accounts.mjs";
import { startForger } from "./support/issuer.mjs";
import { keepFolder } from "./support/kept.mjs";
import { patience, runCauseway, writeConfig } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";
import { startService } from "./support/service.mjs";
import { onTerminal } from "./support/terminal.mjs";

const timeout = patience(120_000);
const slow = 1_500; // ms that the work takes; a line is drawn after half a second
const roles = { anonymous: [discover, call] };
const erased = "\r\u001b[K";

let files = 0;
function keep(text) {
    files += 1;
    const file = path.join(keepFolder(), `progress-${files}`);
    writeFileSync(file, text);
    return file;
}

// A configuration with a service that does not answer in time.
async function hanging(more = {}) {
    const service = await startService();
    const source = { name: "shop", url: service.url, methods: ["add"], timeout: `${slow}ms`, ...more };
    service.mode = "hang";
    const state = { lock: path.join(keepFolder(), `progress-lock-${service.port}`) };
    return { service, source, config: writeConfig({ roles, sources: [source], state }) };
}

// The command draws `line` on a terminal and takes it away; a pipe and a dumb terminal get nothing of it.
async function assertProgress(line, words, { input } = {}) {
    const drawn = new RegExp(`${line} \\(\\d+ s\\)`);
    const shown = await onTerminal(words, { input });
    assert.match(shown, drawn);
    const after = shown.slice(shown.lastIndexOf(" s)"));
    assert.ok(after.includes(erased), JSON.stringify(after));
    const [dumb, piped] = await Promise.all([
        onTerminal(words, { input, env: { TERM: "dumb" } }),
        runCauseway(words, { input: input ? readFileSync(input) : "" }),
    ]);
    assert.doesNotMatch(dumb, drawn);
    assert.ok(!dumb.includes("\u001b"), JSON.stringify(dumb));
    for (const text of [piped.stdout, piped.stderr]) {
        assert.doesNotMatch(text, drawn);
        assert.doesNotMatch(text, /[\r\u001b]/);
    }
}

suite("progress", { concurrency: 4 }, () => {
    for (const words of [
        ["list"],
        ["describe", "shop.add"],
        ["why", "shop.add", "--anonymous"],
        ["access", "matrix"],
        ["translations", "extract"],
    ]) {
        test(`of ${words.join(" ")}: sources are loaded`, { timeout }, async () => {
            const { config } = await hanging();
            await assertProgress("loading the sources", [...words, "--config", config]);
        });
    }

    for (const command of ["check", "diff", "approve"]) {
        test(`of source ${command}: services are asked`, { timeout }, async () => {
            const { config } = await hanging();
            await assertProgress("asking shop", ["source", command, "--config", config]);
        });
    }

    test("of source check: credentials are tested", { timeout }, async () => {
        const info = { title: "shop", version: "1" };
        const methods = [{ name: "add", params: [], result: { name: "r", schema: {} } }];
        const openrpc = keep(JSON.stringify({ openrpc: "1.3.2", info, methods }));
        const { config } = await hanging({ openrpc, secret: { file: keep("s3cret"), as: "bearer" } });
        await assertProgress("testing the credentials of shop", ["source", "check", "--config", config]);
    });

    test("of source refresh: the server does the work", { timeout }, async (t) => {
        const { service, source } = await hanging();
        service.mode = null;
        const server = await startAccounts({ config: { sources: [source] } });
        t.after(() => server.stop());
        service.mode = "hang";
        const words = ["source", "refresh", "--config", server.config];
        await assertProgress("waiting for the server", words);
        await assertProgress("waiting for the server", [...words, "--json"]);
        service.mode = null;
        // On a busy machine the service may need longer than its time once more.
        let shop;
        const isReady = async () => {
            const { stdout } = await runCauseway([...words, "--json"]);
            const [first, ...others] = JSON.parse(stdout);
            assert.deepEqual(others, []);
            shop = first;
            return shop.state === "ready";
        };
        await eventually(isReady, "the source is ready");
        assert.deepEqual([shop.name, shop.state, shop.tools, shop.problem], ["shop", "ready", 1, null]);
        assert.equal(shop.pid, server.pid);
        const listed = JSON.parse((await runCauseway(["source", "list", "--json", "--config", server.config])).stdout);
        assert.deepEqual(Object.keys(shop), Object.keys(listed[0]));
    });

    test("of token inspect: the issuer is asked", { timeout }, async () => {
        const forger = await startForger({ audience: "https://tools.example/mcp" });
        const answer = forger.paths["/jwks"];
        forger.paths["/jwks"] = (...both) => setTimeout(() => answer(...both), slow);
        const issuers = [{ issuer: forger.url, allow_private: true }];
        const config = writeConfig({ public_url: "https://tools.example", access: { issuers } });
        const input = keep(await forger.sign());
        await assertProgress("asking the issuer", ["token", "inspect", "--config", config], { input });
    });
});
