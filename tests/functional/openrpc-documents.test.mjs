// The example documents of the OpenRPC project, each as the description of a source. They are data
// that is not committed: $CAUSEWAY_TEST_DATA/openrpc.
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { modern, startBridge } from "./support/mcp.mjs";
import { get } from "./support/rest.mjs";
import { freePort } from "./support/ports.mjs";
import { eventually } from "./support/server.mjs";

const folder = path.join(process.env.CAUSEWAY_TEST_DATA ?? "", "openrpc");
const has = process.env.CAUSEWAY_TEST_DATA !== undefined && existsSync(folder);
const skip = has ? false : "no documents: set CAUSEWAY_TEST_DATA";
const files = has ? globSync("*.json", { cwd: folder }).sort() : [];

// All sources are loaded, and no other.
async function untilReady(server, n) {
    const sources = async () => (await get(server, "/readyz")).json.sources;
    await eventually(async () => (await sources())?.ready === n, `${n} sources`);
    assert.deepEqual(await sources(), { ready: n, stale: 0, down: 0 });
}

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
            await untilReady(server, 1);
            assert.doesNotMatch(server.stderr, /not loaded/);
            let tools;
            const areListed = async () => {
                tools = (await modern(server, "tools/list")).json.result.tools;
                return tools.length === methods.length;
            };
            await eventually(areListed, `${methods.length} tools`);
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
        await untilReady(server, files.length);
    });
});
