// causeway import against real services: each is found without being told what it is, its overlay
// exposes nothing, and the entry that is printed works in a configuration.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { permissions } from "../functional/support/mcp.mjs";
import { runCauseway, writeConfig } from "../functional/support/programs.mjs";
import { accepts, freePort, makeFolder, socketPath, startService, testsOf } from "./support/services.mjs";

// Import, look at what was found, and load the entry: { stdout, methods }.
async function importWell(words, { preset, methods, env = {} }) {
    const cwd = makeFolder("import");
    const json = await runCauseway(["import", "--json", "--output", "o.yaml", ...words], { cwd, env });
    assert.equal(json.code, 0, json.stderr);
    const found = JSON.parse(json.stdout);
    assert.equal(found.preset, preset);
    const guesses = Object.fromEntries(found.methods.map(({ name, guess }) => [name, guess]));
    for (const [name, guess] of Object.entries(methods)) {
        assert.equal(guesses[name], guess, name);
    }
    const roles = `roles: {anonymous: ${JSON.stringify(permissions)}}\n`;
    const config = writeConfig(roles + found.configuration);
    const args = ["source", "check", "--json", "--config", config];
    const checked = await runCauseway(args, { env });
    const [{ ok, tools, methods: n, problems }] = JSON.parse(checked.stdout);
    assert.deepEqual([ok, tools, n, problems], [true, 0, found.methods.length, []]);
    return { config, ...found };
}

testsOf({ aria2c: "aria2" })("aria2 is known by its methods", async () => {
    const port = await freePort();
    const args = ["--enable-rpc", `--rpc-listen-port=${port}`, "--rpc-secret=s3cret", "--no-conf"];
    await startService("aria2c", args, { ready: () => accepts(port) });
    const env = { ARIA2_SECRET: "s3cret" };
    const words = [`http://127.0.0.1:${port}/jsonrpc`, "--secret-env", "ARIA2_SECRET"];
    const methods = {
        // Its parameters are not known, so its name proves nothing.
        "aria2.getVersion": "changes",
        "aria2.addUri": "changes",
        "aria2.remove": "destroys",
    };
    const { config, overlay } = await importWell(words, { preset: "aria2", methods, env });
    // What is exposed then can be called.
    writeFileSync(overlay, "methods: [aria2.getVersion]\n");
    const { stdout } = await runCauseway(["call", "aria2.getVersion", "--config", config], { env });
    assert.match(JSON.parse(stdout).version, /^\d+\.\d+/);
});

testsOf({ "qemu-system-x86_64": "qemu-system-x86" })("QEMU is known by its greeting", async () => {
    const socket = socketPath(makeFolder("qemu"));
    const args = ["-machine", "none", "-S", "-display", "none"];
    args.push("-qmp", `unix:${socket},server=on,wait=off`);
    await startService("qemu-system-x86_64", args, { ready: () => accepts(socket) });
    const methods = { "query-status": "reads", quit: "destroys" };
    await importWell([`unix:${socket}`], { preset: "qmp", methods });
});

testsOf({ "ovsdb-server": "openvswitch-common", "ovsdb-tool": "openvswitch-common" })(
    "ovsdb-server is known by its databases",
    async () => {
        const folder = makeFolder("ovsdb");
        const socket = socketPath(folder);
        const schema = path.join(folder, "schema");
        const columns = { name: { type: "string" } };
        const tables = { Port: { columns } };
        writeFileSync(schema, JSON.stringify({ name: "Test", version: "1.0.0", tables }));
        const file = path.join(folder, "db");
        const made = await startService("ovsdb-tool", ["create", file, schema], { ready: () => true });
        await made.exited;
        const control = path.join(folder, "ctl");
        const args = [file, `--remote=punix:${socket}`, `--unixctl=${control}`, "-vconsole:off"];
        await startService("ovsdb-server", args, { ready: () => accepts(socket) });
        await importWell([`unix:${socket}`], { preset: "ovsdb", methods: { list_dbs: "reads" } });
    },
);

testsOf({ clangd: "clangd" })("clangd is known as a language server", async () => {
    const methods = { "textDocument/hover": "reads", "textDocument/didOpen": "changes" };
    await importWell(["--name", "cpp", "--exec", "clangd", "--log=error"], { preset: "lsp", methods });
});

testsOf({ "transmission-daemon": "transmission-daemon" })("Transmission is known", async () => {
    const port = await freePort();
    const folder = makeFolder("transmission");
    const args = ["--foreground", "--config-dir", folder, "--port", String(port), "--no-auth"];
    await startService("transmission-daemon", args, { ready: () => accepts(port) });
    const methods = { "torrent-get": "reads", "torrent-remove": "destroys" };
    const url = `http://127.0.0.1:${port}/transmission/rpc`;
    await importWell([url], { preset: "transmission", methods });
});
