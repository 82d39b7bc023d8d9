// Ids of requests: each response has one, and so has every log line of its request.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { keepFolder } from "./support/kept.mjs";
import { modern, startBridge } from "./support/mcp.mjs";
import { eventually } from "./support/server.mjs";

const linesOf = (server) =>
    server.stderr
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line));

async function start(t) {
    const server = await startBridge({ config: { log: { format: "json", level: "debug" } } });
    t.after(() => server.stop());
    return server;
}

const idOf = (response) => response.headers.get("x-request-id");

suite("ids of requests", () => {
    test("are in the response and in every line of the request, and differ", async (t) => {
        const server = await start(t);
        const call = { name: "test.log", arguments: { message: "one line", level: "warn" } };
        const first = await modern(server, "tools/call", call);
        const second = await modern(server, "tools/call", call);
        const ids = [idOf(first), idOf(second)];
        assert.match(ids[0], /^[0-9a-f]{16}$/);
        assert.notEqual(ids[0], ids[1]);
        const of = (id) => linesOf(server).filter((line) => line.request_id === id);
        for (const id of ids) {
            await eventually(() => of(id).length === 5, "five lines of the request");
            assert.deepEqual(
                of(id)
                    .map(({ component }) => component)
                    .sort(),
                ["access", "call", "call", "plugin", "source"],
            );
            assert.equal(of(id).find(({ component }) => component === "source").text, "one line");
        }
    });

    test("are in the records of the audit, with the trace", async (t) => {
        const file = path.join(keepFolder(), "request-ids.jsonl");
        const server = await startBridge({
            config: { audit: { path: file }, traces: { mode: "propagate", trust: "all" } },
        });
        t.after(() => server.stop());
        const trace = "0af7651916cd43dd8448eb211c80319c";
        const headers = { traceparent: `00-${trace}-b7ad6b7169203331-01` };
        const ids = [];
        for (const name of ["test.caller", "no.such.tool"]) {
            ids.push(idOf(await modern(server, "tools/call", { name, arguments: {} }, { headers })));
        }
        const records = () =>
            readFileSync(file, "utf8")
                .split("\n")
                .slice(0, -1) // whole lines
                .map((line) => JSON.parse(line));
        await eventually(() => existsSync(file) && records().length >= 2, "two records");
        assert.deepEqual(
            records().map(({ kind, request_id, trace_id }) => ({ kind, request_id, trace_id })),
            [
                { kind: "call", request_id: ids[0], trace_id: trace },
                { kind: "refusal", request_id: ids[1], trace_id: trace },
            ],
        );
    });

    test("of clients are in the log beside ours, if they are plain", async (t) => {
        const server = await start(t);
        const ask = (id) => fetch(`${server.url}/healthz`, { headers: { "X-Request-Id": id } });
        const named = idOf(await ask("client-7.a_B"));
        const odd = idOf(await ask('no"plain id'));
        const long = idOf(await ask("x".repeat(65)));
        assert.match(named, /^[0-9a-f]{16}$/);
        const line = (id) => linesOf(server).find(({ request_id: own }) => own === id);
        await eventually(() => [named, odd, long].every(line), "the line of each request");
        assert.equal(line(named).client_request_id, "client-7.a_B");
        assert.equal(line(odd).client_request_id, undefined);
        assert.equal(line(long).client_request_id, undefined);
    });
});
