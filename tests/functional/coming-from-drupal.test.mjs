// docs/coming-from-drupal.md and what docs/drupal-differences.md says beyond the recordings, held
// against the program.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { callTool, legacy, modern, ownName, permissions, rpc, startBridge, untilTool } from "./support/mcp.mjs";
import { buildFolder, patience, root, runCauseway } from "./support/programs.mjs";
import { get, startMany } from "./support/rest.mjs";

const page = readFileSync(path.join(root, "docs", "coming-from-drupal.md"), "utf8");
const groups = ["account", "cache", "config", "plugin", "role", "scope", "source", "token", "translations"];
const markdown = "examples.article.toMarkdown";

let server;
before(async () => {
    const config = {
        debug_headers: true,
        plugins: { directory: path.join(buildFolder, "plugins") },
        roles: { anonymous: [...permissions, "access content"] },
    };
    server = await startBridge({ plugins: [], config });
    await untilTool(server, markdown);
});
after(() => server?.stop());

suite("docs/coming-from-drupal.md", { concurrency: 2 }, () => {
    test("names commands that exist", async () => {
        const found = [...page.matchAll(/`causeway ([a-z][^`]*)`/g)].map(([, words]) => words.split(" "));
        const commands = new Set(found.map((words) => words.slice(0, groups.includes(words[0]) ? 2 : 1).join(" ")));
        assert.ok(commands.size > 15, [...commands].join());
        for (const command of commands) {
            const { code, stdout } = await runCauseway(["help", ...command.split(" ")]);
            assert.equal(code, 0, command);
            assert.match(stdout, new RegExp(`^Usage: causeway ${command}`), command);
        }
    });

    test("names declarations that the SDK has", () => {
        const headers = ["plugin.h", "mcp.h"].map((name) => path.join(root, "include", "causeway", name));
        const header = headers.map((file) => readFileSync(file, "utf8")).join("");
        const names = new Set([...page.matchAll(/\b(cw_[a-z_]*[a-z]|CW_[A-Z]+)\b/g)].map(([name]) => name));
        for (const name of names) {
            assert.ok(header.includes(name), name);
        }
    });

    const launcher = path.join(root, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    const lines = [...page.matchAll(/```sh\n([\s\S]*?)```/g)]
        .flatMap(([, block]) => block.replaceAll("\\\n", " ").split("\n"))
        .filter((line) => line !== "");
    for (const line of lines) {
        test(`has a line that works: ${line.replace(/\s+/g, " ")}`, async () => {
            const command = line
                .replace(/^npx \S+/, `"${process.execPath}" "${launcher}"`)
                .replace(/^curl /, "curl -sS --fail-with-body ")
                .replaceAll("http://127.0.0.1:8080", server.url);
            const { code, stdout, stderr } = await new Promise((resolve) =>
                execFile("sh", ["-c", command], { timeout: patience(100_000) }, (error, out, err) =>
                    resolve({ code: error ? error.code : 0, stdout: out, stderr: err }),
                ),
            );
            assert.equal(code, 0, stdout + stderr);
            assert.match(stdout, /examples\.article\.toMarkdown|Building a causeway/);
        });
    }
});

suite("docs/drupal-differences.md, beyond the recordings", { concurrency: true }, () => {
    test("unknown arguments are refused with the nearest name", async () => {
        const { json } = await rpc(server, { method: markdown, params: { nid: 1, nidd: 2 }, id: 1 });
        assert.deepEqual([json.error.code, json.error.data], [-32602, "Unknown parameter: nidd; did you mean nid?"]);
    });

    test("annotations other than MCP's are in _meta on /mcp, and as they were written on the list", async () => {
        const { json } = await modern(server, "tools/list");
        const tool = json.result.tools.find((one) => ownName(one) === markdown);
        assert.deepEqual(tool.annotations, { readOnlyHint: true });
        assert.deepEqual(tool._meta["causeway/annotations"], { category: "content", returns: "markdown" });
        const list = (await get(server, "/mcp/tools/list")).json.tools;
        const { annotations } = list.find(({ name }) => name === markdown);
        assert.deepEqual(annotations, { category: "content", returns: "markdown", readOnlyHint: true });
    });

    test("a value that is no object is wrapped for legacy clients on /mcp alone", async () => {
        const name = "examples.articles.list";
        const { json } = await legacy(server, "tools/call", { name, arguments: {} });
        assert.ok(Array.isArray(json.result.structuredContent.result));
        const today = await callTool(server, name, {});
        assert.ok(Array.isArray(today.json.result.structuredContent));
        const direct = await rpc(server, { method: name, id: 1 });
        assert.ok(Array.isArray(direct.json.result));
    });

    test("a text is text alone on /mcp", async () => {
        const { json } = await callTool(server, markdown, { nid: 1 });
        assert.equal("structuredContent" in json.result, false);
        const direct = await rpc(server, { method: markdown, params: { nid: 1 }, id: 1 });
        assert.equal(json.result.content[0].text, direct.json.result);
    });

    test("pages have 50 tools on the list and 1,000 on /mcp", async (t) => {
        const many = await startMany(1010);
        t.after(() => many.stop());
        assert.equal((await get(many, "/mcp/tools/list")).json.tools.length, 50);
        const { json } = await modern(many, "tools/list");
        assert.equal(json.result.tools.length, 1000);
        assert.equal(typeof json.result.nextCursor, "string");
    });

    test("the well-known document is there, with both tags", async () => {
        const { status, headers } = await get(server, "/.well-known/mcp.json");
        assert.equal(status, 200);
        assert.deepEqual(headers["x-causeway-cache-tags"].split(/[ ,]+/), [
            "jsonrpc_mcp:discovery",
            "user.permissions",
        ]);
    });

    test("a schema is 2020-12 unless it says otherwise", async () => {
        const check = async (schema) => {
            const file = path.join(server.folder, `schema-${Math.random().toString(36).slice(2)}.json`);
            writeFileSync(file, JSON.stringify({ ...schema, prefixItems: [{ type: "string" }] }));
            const value = `${file}.value`;
            writeFileSync(value, "[1]");
            return (await runCauseway(["schema", "validate", file, value])).code;
        };
        assert.notEqual(await check({}), 0); // prefixItems counts
        assert.equal(await check({ $schema: "http://json-schema.org/draft-07/schema#" }), 0);
    });
});
