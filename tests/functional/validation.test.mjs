// Arguments and results against their JSON Schemas: the same verdict and the same words at every
// door, and a result that breaks its schema never leaves.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, suite, test } from "node:test";
import {
    assertRpcError,
    assertToolError,
    callTool,
    callToolWell,
    legacy,
    legacyVersions,
    modern,
    modernVersion,
    rpc,
    startBridge,
    toolNames,
    untilTool,
} from "./support/mcp.mjs";
import { get } from "./support/rest.mjs";
import { compilePlugin } from "./support/plugins.mjs";
import { startService, writeOpenRpc } from "./support/service.mjs";
import { eventually } from "./support/server.mjs";

const badResult = "The method returned a result that does not match its declared schema.";

const start = (config = {}) => startBridge({ plugins: ["echo", "checked"], config });

let server;
before(async () => (server = await start()));
after(() => server?.stop());

// Every door that calls: each gives the text of a refusal.
const doors = {
    "/jsonrpc": async (method, params, on = server) => {
        const error = assertRpcError(await rpc(on, { method, params, id: 1 }), 400, -32602, 1);
        assert.equal(error.message, "Invalid params");
        return error.data;
    },
    [`/mcp, ${modernVersion}`]: async (method, params, on = server) =>
        assertToolError(await callTool(on, method, params)),
    ...Object.fromEntries(
        [legacyVersions[0], legacyVersions.at(-1)].map((version) => [
            `/mcp, ${version}`,
            async (method, params, on = server) =>
                assertToolError(await legacy(on, "tools/call", { name: method, arguments: params }, { version })),
        ]),
    ),
};

const wrong = [
    [{ id: "7" }, "/id: expected integer, got string"],
    [{ id: 0 }, "/id: expected a number of at least 1, got 0"],
    [{ id: null }, "/id: expected integer, got null"],
    [{ id: 1, day: "2023-02-29" }, `/day: expected the format 'date', got "2023-02-29"`],
    [{ id: 1, tags: ["red", "gren"] }, /^\/tags\/1: expected one of .*"green".*did you mean 'green'\?$/],
    [{ id: 1, tags: ["red", "red"] }, "/tags: expected different items, got 1 equal to 0"],
    [{ id: 1, size: "middling" }, /^\/size: expected one of "small", "large", got "middling"/],
    // Draft-07: a list of items is a tuple.
    [{ id: 1, point: [1, "2"] }, "/point/1: expected number, got string"],
    [{ id: 1, point: [1, 2, 3] }, /^\/point\/2: /],
    [{ id: "7", day: 5 }, "/id: expected integer, got string; /day: expected string, got integer"],
    // Names are looked at first.
    [{}, "Missing required parameter: id"],
    [{ id: "x", dag: "x" }, "Unknown parameter: dag; did you mean day?"],
];

suite("arguments", { concurrency: true }, () => {
    for (const [door, refusal] of Object.entries(doors)) {
        for (const [params, expected] of wrong) {
            test(`${door} refuses ${JSON.stringify(params)}`, async () => {
                const text = await refusal("checked.order", params);
                if (typeof expected === "string") {
                    assert.equal(text, expected);
                } else {
                    assert.match(text, expected);
                }
            });
        }
    }

    test("that match are passed on", async () => {
        const args = { id: 12345678901234567890n, day: "2024-02-29", tags: ["green"], point: [1, -2.5] };
        const shown = JSON.stringify({ ...args, id: 0 }).replace('"id":0', `"id":${args.id}`);
        const body = `{"jsonrpc":"2.0","id":1,"method":"checked.order","params":${shown}}`;
        const answer = await fetch(`${server.url}/jsonrpc`, {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body,
        });
        const text = await answer.text();
        assert.equal(answer.status, 200, text);
        assert.ok(text.includes(`"id":${args.id}`), text);
        assert.ok(text.includes(`"size":"small"`), text);
        const result = await callToolWell(server, "checked.order", { id: 1, point: [1] });
        assert.deepEqual(result.structuredContent, { id: 1, point: [1], size: "small" });
    });

    test("by position are told by their names", async () => {
        const order = (params) => rpc(server, { method: "checked.order", params, id: 1 });
        assert.equal((await order([7, "2024-01-01", ["red"]])).json.result?.id, 7);
        const error = assertRpcError(await order([7, "today"]), 400, -32602, 1);
        assert.equal(error.data, `/day: expected the format 'date', got "today"`);
        assert.equal(assertRpcError(await order([]), 400, -32602, 1).data, "Missing required parameter: id");
    });

    test("of a method without a mark are checked too", async () => {
        const answer = await rpc(server, { method: "checked.quiet", params: ["x"], id: 1 });
        assert.equal(assertRpcError(answer, 400, -32602, 1).data, "/result: expected integer, got string");
    });

    test("of one call in a batch are its own matter", async () => {
        const call = (id, params) => ({ jsonrpc: "2.0", method: "checked.order", params, id });
        const { status, json } = await rpc(server, [call(1, { id: 1 }), call(2, { id: "x" })]);
        assert.equal(status, 200);
        assert.deepEqual(json[0].result, { id: 1, size: "small" });
        assert.equal(json[1].error.data, "/id: expected integer, got string");
    });
});

suite("a result that breaks its schema", { concurrency: true }, () => {
    const lies = [{ id: "s3cret" }, "s3cret", { mail: "s3cret" }, ["s3cret"], [1, 2], null, 5];

    for (const lie of lies) {
        test(`threat-D5, check-104: ${JSON.stringify(lie)} stays in the server`, async () => {
            const params = { result: lie };
            const answer = await rpc(server, { method: "checked.claim", params, id: 1 });
            const error = assertRpcError(answer, 500, -32603, 1);
            assert.equal(error.message, "Internal error");
            assert.equal(error.data, badResult);
            const modernly = await callTool(server, "checked.claim", params);
            assert.equal(assertToolError(modernly), badResult);
            assert.equal("structuredContent" in modernly.json.result, false);
            const call = { name: "checked.claim", arguments: params };
            for (const version of [legacyVersions[0], legacyVersions.at(-1)]) {
                assert.equal(assertToolError(await legacy(server, "tools/call", call, { version })), badResult);
            }
            for (const { text } of [answer, modernly]) {
                assert.ok(!text.includes("s3cret"), text);
            }
        });
    }

    test("is logged with its source, its method and what is wrong", async () => {
        await rpc(server, { method: "checked.claim", params: [{ id: "odd" }], id: 1 });
        const line =
            /call failed source="checked" method="checked.claim" fault="schema" .*detail="\/id: expected integer, got string"/;
        await eventually(() => line.test(server.stderr), "the line in the log");
    });

    test("leaves others alone", async () => {
        for (const result of [{}, { id: 1, mail: "a@example.org" }, [1], []]) {
            const { structuredContent } = await callToolWell(server, "checked.claim", { result });
            assert.deepEqual(structuredContent, result);
        }
    });
});

suite("what is published", () => {
    test("says the dialect of a parameter where it counts", async () => {
        const { json } = await get(server, "/mcp/tools/describe?name=checked.order");
        const { inputSchema } = json.tool;
        assert.equal(inputSchema.$schema, "http://json-schema.org/draft-07/schema#");
        assert.equal(inputSchema.properties.size.$ref, "#/properties/size/$defs/size");
    });
});

suite("the configuration", { concurrency: true }, () => {
    test("schema.assert_formats: false makes formats a remark, from a reload on", async (t) => {
        const lenient = await start();
        t.after(() => lenient.stop());
        const order = () => callTool(lenient, "checked.order", { id: 1, day: "today" });
        assertToolError(await order(), /date/);
        const config = JSON.parse(readFileSync(lenient.config, "utf8"));
        writeFileSync(lenient.config, JSON.stringify({ ...config, schema: { assert_formats: false } }));
        lenient.child.kill("SIGHUP");
        const isTaken = async () => !(await order()).json.result.isError;
        await eventually(isTaken, "formats are a remark");
        for (const refusal of Object.values(doors)) {
            assert.equal(await refusal("checked.order", { id: "1" }, lenient), "/id: expected integer, got string");
        }
    });

    test("schema.default_draft says how schemas without $schema are read", async (t) => {
        const service = await startService();
        const document = {
            openrpc: "1.3.2",
            info: { title: "pairs", version: "1" },
            methods: [
                {
                    name: "echo",
                    params: [{ name: "message", schema: { items: [{ $ref: "#/components/schemas/Text" }] } }],
                    result: { name: "echo", schema: {} },
                },
            ],
            components: { schemas: { Text: { type: "string" } } },
        };
        const config = {
            sources: [{ name: "old", url: service.url, openrpc: writeOpenRpc(document), methods: ["echo"] }],
        };
        const old = await start({ ...config, schema: { default_draft: "draft-07" } });
        t.after(() => old.stop());
        await untilTool(old, "echo");
        await callToolWell(old, "echo", { message: ["x", 5] });
        assert.equal(
            assertToolError(await callTool(old, "echo", { message: [5] })),
            "/message/0: expected string, got integer",
        );
        const fresh = await start(config);
        t.after(() => fresh.stop());
        await eventually(
            () =>
                /source="old" warning="a schema that cannot be used .*param 'message': schema: \/items: /.test(
                    fresh.stderr,
                ),
            "the warning in the log",
        );
        // Better a tool that takes anything than none.
        await untilTool(fresh, "echo");
        await callToolWell(fresh, "echo", { message: [5] });
    });
});

suite("a plugin with a bad schema", () => {
    const source = (schema) => `#include <causeway/plugin.h>
CW_PLUGIN("bad", "1.0");
static void run(cw_call *call) { cw_put_null(call, NULL); }
CW_METHOD(run, "bad.run", .usage = "Never runs.", .params = {{"x", .schema = CW_JSON(${schema})}},
          .permissions = {"access content"});
CW_TOOL(run);
`;

    test("is left out with the pointer, and comes when it is right", async () => {
        compilePlugin(server.plugins, "bad", source(`{"type": "integer", "minimum": "1"}`));
        const line = `left out source="bad" problem="method 'bad.run': param 'x': schema: /minimum: must be a number"`;
        await eventually(() => server.stderr.includes(line), "the problem in the log", 10_000);
        assert.ok(!(await toolNames(server)).includes("bad.run"));
        await callToolWell(server, "test.echo", { message: "still here" });
        compilePlugin(server.plugins, "bad", source(`{"type": "integer", "minimum": 1}`));
        await untilTool(server, "bad.run");
        assert.match(
            assertToolError(await callTool(server, "bad.run", { x: 0 })),
            /^\/x: expected a number of at least 1/,
        );
        // A worse version does not replace a good one.
        compilePlugin(server.plugins, "bad", source(`{"type": "integer", "multipleOf": 0}`));
        const older = `left out, the older version stays source="bad"`;
        await eventually(() => server.stderr.includes(older), "the older version stays", 10_000);
        assert.ok((await toolNames(server)).includes("bad.run"));
    });
});

// Validation costs steps, and steps are time. The server's own CPU is what is measured, so that a
// busy machine does not matter.
suite("work that validation may cost", () => {
    const catastrophe = String.raw`^(?!x)(\w+\s?)*$`;
    const words = (n, text) => Array.from({ length: n }, () => text);
    const tooMuch = /too much work to validate/;
    const trusted_proxies = ["127.0.0.1"];

    // "echo" of a service, with these schemas.
    const startEcho = async (t, argument, result, config = {}) => {
        const service = await startService();
        const document = {
            openrpc: "1.3.2",
            info: { title: "work", version: "1" },
            methods: [
                {
                    name: "echo",
                    params: [{ name: "message", schema: argument }],
                    result: { name: "echo", schema: { properties: { message: result } } },
                },
            ],
        };
        const bridge = await start({
            sources: [{ name: "work", url: service.url, openrpc: writeOpenRpc(document), methods: ["echo"] }],
            ...config,
        });
        t.after(() => bridge.stop());
        await untilTool(bridge, "echo");
        return bridge;
    };

    // "echo" of a plugin, with this schema of a member of the result.
    const startEchoPlugin = async (t, result, config) => {
        const bridge = await start(config);
        t.after(() => bridge.stop());
        const output = JSON.stringify(JSON.stringify({ properties: { message: result } }));
        compilePlugin(
            bridge.plugins,
            "work",
            `#include <causeway/plugin.h>
            CW_PLUGIN("work", "1.0");
            static void echo(cw_call *call)
            {
                cw_open_object(call, NULL);
                cw_put_value(call, "message", cw_arg(call, "message"));
                cw_close(call);
            }
            CW_METHOD(echo, "echo", .usage = "Returns it.", .params = {{"message"}}, .output = ${output});
            CW_TOOL(echo);
            `,
        );
        await untilTool(bridge, "echo");
        return bridge;
    };

    const cpuMs = (bridge) => {
        const stat = readFileSync(`/proc/${bridge.child.pid}/stat`, "utf8");
        const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        return (Number(fields[11]) + Number(fields[12])) * 10;
    };

    const assertCheap = async (bridge, run) => {
        const before = cpuMs(bridge);
        await run();
        const ms = cpuMs(bridge) - before;
        assert.ok(ms < 1500, `it took ${ms} ms of CPU`);
    };

    test("threat_B5: a pattern and 1.1 MB of arguments", async (t) => {
        const bridge = await startEcho(t, { items: { not: { pattern: catastrophe } } }, {});
        for (const [door, refusal] of Object.entries(doors)) {
            await assertCheap(bridge, async () => {
                for (const n of [14, 40, 60_000]) {
                    const text = `${"a".repeat(n)}!`;
                    const message = words(Math.floor(1_100_000 / text.length), text);
                    assert.match(await refusal("echo", { message }, bridge), tooMuch, door);
                }
            });
        }
    });

    test("threat_B5: a pattern and a result of 1.1 MB", async (t) => {
        const bridge = await startEcho(t, {}, { items: { not: { pattern: catastrophe } } });
        await assertCheap(bridge, async () => {
            const message = words(70_000, `${"a".repeat(14)}!`);
            assert.match(assertToolError(await callTool(bridge, "echo", { message })), tooMuch);
        });
        const line = /fault="schema".*too much work to validate \(limits.validation_steps\)/;
        await eventually(() => line.test(bridge.stderr), "the reason in the log");
        await callToolWell(bridge, "echo", { message: ["!"] });
    });

    // Each loop counts for itself.
    const oneLoop = { loops: 1, trusted_proxies };
    const costlyItems = { items: { not: { pattern: catastrophe } } };
    const kinds = {
        service: (t) => startEcho(t, {}, costlyItems, oneLoop),
        plugin: (t) => startEchoPlugin(t, costlyItems, oneLoop),
    };
    for (const [kind, startKind] of Object.entries(kinds)) {
        test(`results of a ${kind} that waste work lower the limit of their caller alone`, async (t) => {
            const bridge = await startKind(t);
            const callFrom = async (address, message) => {
                const headers = { "X-Forwarded-For": address, "X-Forwarded-Proto": "https" };
                const { json } = await callTool(bridge, "echo", { message }, { headers });
                return json.result.isError ? json.result.content[0].text : "well";
            };
            const costly = words(2_000, `${"a".repeat(14)}!`);
            const large = words(40_000, "!");
            assert.equal(await callFrom("198.51.100.1", large), "well");
            const isLimited = async () => {
                for (let i = 0; i < 6; i += 1) {
                    assert.match(await callFrom("198.51.100.1", costly), tooMuch);
                }
                return tooMuch.test(await callFrom("198.51.100.1", large));
            };
            await eventually(isLimited, "the lower limit of the caller", 20_000);
            // One of 256 others shares the slot of the caller.
            const others = [2, 3, 4].map((n) => callFrom(`198.51.100.${n}`, large));
            assert.ok((await Promise.all(others)).includes("well"));
        });
    }

    test("threat_B5: the problems of 1.1 MB that do not match", async (t) => {
        const bridge = await startEcho(t, { items: { pattern: catastrophe } }, {});
        await assertCheap(bridge, async () => {
            const message = words(70_000, `${"a".repeat(14)}!`);
            const text = assertToolError(await callTool(bridge, "echo", { message }));
            assert.match(text, /^\/message\/0: expected text that matches .* \(and more\)$/);
        });
    });

    test("a run that PCRE2 does not count is counted", async (t) => {
        const bridge = await startEcho(t, { items: { not: { pattern: "(?=a)a+b" } } }, {});
        await assertCheap(bridge, async () => {
            const message = words(18, `${"a".repeat(60_000)}cb`);
            assert.match(assertToolError(await callTool(bridge, "echo", { message })), tooMuch);
        });
    });

    test("the problems of a large array are found until there are enough", async (t) => {
        const anyOf = [{ items: { type: "string" } }, { items: { minimum: 5 } }];
        const bridge = await startEcho(
            t,
            { anyOf: [{ type: "null" }, { items: { type: "string" } }], allOf: anyOf },
            {},
        );
        await assertCheap(bridge, async () => {
            const text = assertToolError(await callTool(bridge, "echo", { message: words(1_000_000, 1) }));
            assert.match(text, /^\/message: expected one of 2 alternatives.* \(and more\)$/);
        });
    });

    test("names with xn--", async (t) => {
        const bridge = await startEcho(t, { items: { format: "hostname" } }, {});
        await assertCheap(bridge, async () => {
            const name = `${"xn--bcher-kva.".repeat(17)}example`;
            const message = words(10_000, name);
            assert.match(assertToolError(await callTool(bridge, "echo", { message })), tooMuch);
        });
        await assertCheap(bridge, async () => {
            const message = ["xn--bcher-kva.".repeat(200_000)];
            assert.match(
                assertToolError(await callTool(bridge, "echo", { message })),
                /expected the format 'hostname'/,
            );
        });
    });

    test("is shared by the calls of a batch", async (t) => {
        const config = { limits: { validation_steps: 5000 } };
        const bridge = await startEcho(t, { items: { type: "integer" } }, {}, config);
        const call = (id) => ({ jsonrpc: "2.0", id, method: "echo", params: { message: words(2000, 1) } });
        const { json } = await rpc(bridge, [1, 2, 3].map(call));
        assert.deepEqual(
            json.map(({ error }) => error?.code),
            [undefined, undefined, -32602],
        );
        assert.equal(json[2].error.data, "/message: too much work to validate (limits.validation_steps)");
        // The next request has its own.
        assert.ok((await rpc(bridge, call(4))).json.result);
        const text = assertToolError(await callTool(bridge, "echo", { message: words(6000, 1) }));
        assert.match(text, tooMuch);
    });

    test("a client's name has a length", async () => {
        const clientInfo = { name: "x".repeat(257), version: "1" };
        const problem = /clientInfo.name is longer than 256 bytes/;
        const old = await legacy(server, "initialize", {
            protocolVersion: legacyVersions[0],
            capabilities: {},
            clientInfo,
        });
        assert.match(JSON.stringify(old.json.error), problem);
        const meta = { "io.modelcontextprotocol/clientInfo": clientInfo };
        const { json } = await modern(server, "tools/list", {}, { meta });
        assert.match(JSON.stringify(json.error), problem);
    });
});

suite("what services say their own way", () => {
    const bound = { type: "integer", minimum: 5, exclusiveMinimum: true };
    // "echo" of a service that describes itself so.
    const startOld = async (t) => {
        const service = await startService();
        const methods = [
            {
                name: "echo",
                params: [
                    { name: "message", schema: {} },
                    { name: "n", schema: bound },
                ],
                result: { name: "echo", schema: {} },
            },
        ];
        const document = { openrpc: "1.3.2", info: { title: "old", version: "1" }, methods };
        const bridge = await start({
            sources: [{ name: "old", url: service.url, openrpc: writeOpenRpc(document), methods: ["echo"] }],
        });
        t.after(() => bridge.stop());
        await untilTool(bridge, "echo");
        return bridge;
    };

    test("draft-04's exclusiveMinimum: true keeps its meaning", async (t) => {
        const bridge = await startOld(t);
        const { json } = await modern(bridge, "tools/list");
        const { inputSchema } = json.result.tools.find(({ name }) => name === "echo");
        assert.deepEqual(inputSchema.properties.n, { type: "integer", exclusiveMinimum: 5 });
        await callToolWell(bridge, "echo", { message: "x", n: 6 });
        assert.equal(
            assertToolError(await callTool(bridge, "echo", { message: "x", n: 5 })),
            "/n: expected a number greater than 5, got 5",
        );
        assert.ok(!bridge.stderr.includes("a schema that cannot be used"));
    });

    test("a default that its schema rejects is left out with a warning, and one of the operator is a mistake", async (t) => {
        const service = await startService();
        const params = [
            { name: "message", schema: {} },
            { name: "n", schema: { type: "integer", default: "ten" } },
        ];
        const methods = [{ name: "echo", params, result: { name: "echo", schema: {} } }];
        const openrpc = writeOpenRpc({ openrpc: "1.3.2", info: { title: "old", version: "1" }, methods });
        const entry = (name, more = {}) => ({ name, url: service.url, openrpc, ...more });
        const wrong = { method: "echo", params: { n: { default: "eleven" } } };
        const bridge = await start({
            sources: [entry("old", { methods: ["echo"] }), entry("own", { methods: [wrong], prefix: "own." })],
        });
        t.after(() => bridge.stop());
        await untilTool(bridge, "echo");
        // The service gets what the caller has given, and its own default counts.
        await callToolWell(bridge, "echo", { message: "x" });
        assert.deepEqual(service.calls.at(-1), { method: "echo", params: { message: "x" } });
        const { json } = await modern(bridge, "tools/list");
        const { inputSchema } = json.result.tools.find(({ name }) => name === "echo");
        assert.deepEqual(inputSchema.properties.n, { type: "integer" });
        const left =
            /source="old" warning="a default that cannot be used is left out: method 'echo': param 'n': expected/;
        const refused =
            /not loaded source="own" problem="method 'echo': param 'n': default: expected integer, got string"/;
        await eventually(() => left.test(bridge.stderr) && refused.test(bridge.stderr), "both in the log");
    });

    test("JSON in content.text is compact UTF-8", async (t) => {
        const bridge = await startOld(t);
        // Bytes of our own: JSON.stringify would write neither the space nor the escapes.
        const body = String.raw`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":
            {"message" : { "k\u00e9y" : [ 1 , "\u4f60\ud83d\ude00\n\u0022" , {} , [ ] ] } },"_meta":{
            "io.modelcontextprotocol/protocolVersion":"${modernVersion}",
            "io.modelcontextprotocol/clientCapabilities":{}}}}`;
        const answer = await fetch(`${bridge.url}/mcp`, {
            method: "POST",
            headers: {
                "Content-Type": "application/json",
                Accept: "application/json, text/event-stream",
                "MCP-Protocol-Version": modernVersion,
                "Mcp-Method": "tools/call",
                "Mcp-Name": "echo",
            },
            body,
        });
        const { result } = await answer.json();
        const value = { message: { "k\u00e9y": [1, '\u4f60\u{1f600}\n"', {}, []] } };
        assert.equal(result.content[0].text, JSON.stringify(value));
        assert.deepEqual(result.structuredContent, value);
    });
});
