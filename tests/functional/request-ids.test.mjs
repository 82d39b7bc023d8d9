// Ids of requests: each response has one, and so has every log line of its request.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
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
            await eventually(() => of(id).length === 2, "two lines of the request");
            assert.deepEqual(
                of(id)
                    .map(({ component }) => component)
                    .sort(),
                ["access", "source"],
            );
            assert.equal(of(id).find(({ component }) => component === "source").text, "one line");
        }
    });

    test("of clients are in the log beside ours, if they are plain", async (t) => {
        const server = await start(t);
        const ask = (id) => fetch(`${server.url}/healthz`, { headers: { "X-Request-Id": id } });
        const named = idOf(await ask("client-7.a_B"));
        const odd = idOf(await ask('no"plain id'));
        const long = idOf(await ask("x".repeat(65)));
        assert.match(named, /^[0-9a-f]{16}$/);
        const line = (id) => linesOf(server).find(({ request_id: own }) => own === id);
        await eventually(() => line(long), "the last line");
        assert.equal(line(named).client_request_id, "client-7.a_B");
        assert.equal(line(odd).client_request_id, undefined);
        assert.equal(line(long).client_request_id, undefined);
    });
});
