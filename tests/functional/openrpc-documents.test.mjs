// The example documents of the OpenRPC project, each as the description of a source. They are data
// that is not committed: $CAUSEWAY_TEST_DATA/openrpc.
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { modern, startBridge } from "./support/mcp.mjs";
import { get } from "./support/rest.mjs";
import { freePort } from "./support/ports.mjs";

const folder = path.join(process.env.CAUSEWAY_TEST_DATA ?? "", "openrpc");
const has = process.env.CAUSEWAY_TEST_DATA !== undefined && existsSync(folder);
const skip = has ? false : "no documents: set CAUSEWAY_TEST_DATA";
const files = has ? globSync("*.json", { cwd: folder }).sort() : [];

const isReference = (method) => "$ref" in method;

suite("documents of OpenRPC", { skip, concurrency: true }, () => {
    test("are there", () => assert.ok(files.length >= 8, `${files.length} documents`));

    for (const file of files) {
        test(`describes a source: ${file}`, async (t) => {
            const openrpc = path.join(folder, file);
            const { methods } = JSON.parse(readFileSync(openrpc, "utf8"));
            const url = `http://127.0.0.1:${await freePort()}/rpc`;
            const source = { name: "doc", url, openrpc, methods: ["*"] };
            const server = await startBridge({ plugins: [], config: { sources: [source] } });
            t.after(() => server.stop());
            assert.doesNotMatch(server.stderr, /not loaded/);
            assert.deepEqual((await get(server, "/readyz")).json.sources, { ready: 1, stale: 0, down: 0 });
            const { json } = await modern(server, "tools/list");
            const { tools } = json.result;
            assert.equal(tools.length, methods.length);
            for (const method of methods.filter((one) => !isReference(one))) {
                const tool = tools.find(({ name }) => name === method.name);
                assert.ok(tool, method.name);
                assert.equal(tool.inputSchema.type, "object");
                // MCP clients see portable names.
                const names = method.params
                    .filter((one) => !isReference(one))
                    .map(({ name }) => name.replaceAll(/[^\w.-]+/g, "_"));
                const shown = Object.keys(tool.inputSchema.properties ?? {});
                assert.ok(
                    names.every((name) => shown.includes(name)),
                    `${method.name}: ${shown}`,
                );
            }
        });
    }

    test("describe sources of one server, with prefixes", async (t) => {
        const url = `http://127.0.0.1:${await freePort()}/rpc`;
        const sources = files.map((file, i) => ({
            name: `doc${i}`,
            url,
            openrpc: path.join(folder, file),
            prefix: `doc${i}.`,
            methods: ["*"],
        }));
        const server = await startBridge({ plugins: [], config: { sources } });
        t.after(() => server.stop());
        const { json } = await get(server, "/readyz");
        assert.deepEqual(json.sources, { ready: files.length, stale: 0, down: 0 });
    });
});
