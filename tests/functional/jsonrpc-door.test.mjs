// POST /jsonrpc: JSON-RPC 2.0 to the letter, with the HTTP status that each outcome has.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { assertRpcError, post, rpc, startBridge, untilTool } from "./support/mcp.mjs";
import { eventually } from "./support/server.mjs";
import { modes, startService, writeOpenRpc } from "./support/service.mjs";
import { readFileSync } from "node:fs";
import { awakeMs, slowness } from "./support/programs.mjs";

const codes = { parse: -32700, invalid: -32600, method: -32601, params: -32602, internal: -32603 };
const messages = {
    [codes.parse]: "Parse error",
    [codes.invalid]: "Invalid Request",
    [codes.method]: "Method not found",
    [codes.params]: "Invalid params",
    [codes.internal]: "Internal error",
};
const message = "hello";
const echo = { method: "test.echo", params: { message } };

let server;
before(async () => (server = await startBridge()));
after(() => server?.stop());

function assertResult({ status, headers, text, json }, id) {
    assert.equal(status, 200, text);
    assert.match(headers.get("content-type"), /^application\/json/);
    assert.match(headers.get("cache-control"), /no-store/);
    assert.equal(json?.jsonrpc, "2.0", text);
    assert.ok("result" in json && !("error" in json), text);
    assert.deepEqual(json.id, id);
    return json.result;
}

// Standard errors have the specification's message, and what is wrong as one readable string.
function assertStandard(answer, status, code, id, data) {
    const error = assertRpcError(answer, status, code, id);
    assert.equal(error.message, messages[code]);
    if (data !== undefined) {
        assert.match(error.data, data);
    }
    return error;
}

suite("a single request", { concurrency: true }, () => {
    for (const id of [0, 1, -1, 1.5, 12345678901234567890n, "1", "", "ž", null]) {
        test(`with the id ${id === null ? "null" : id} is answered with the same`, async () => {
            const shown = typeof id === "bigint" ? String(id) : JSON.stringify(id);
            const body = `{"jsonrpc":"2.0","id":${shown},"method":"test.echo","params":{"message":"x"}}`;
            const { status, text } = await post(server, "/jsonrpc", body);
            assert.equal(status, 200, text);
            assert.ok(text.includes(`"id":${shown}`), text);
        });
    }

    test("may give its params by position", async () => {
        const byName = assertResult(await rpc(server, { ...echo, id: 1 }), 1);
        const byPosition = { ...echo, params: [message], id: 2 };
        assert.deepEqual(assertResult(await rpc(server, byPosition), 2), byName);
    });

    test("may leave params out where none are required", async () => {
        const without = assertResult(await rpc(server, { method: "test.caller", id: 1 }), 1);
        for (const params of [{}, []]) {
            const empty = await rpc(server, { method: "test.caller", params, id: 2 });
            assert.deepEqual(assertResult(empty, 2), without);
        }
    });

    test("calls an unmarked method of a plugin", async () => {
        assertResult(await rpc(server, { method: "test.unmarked", id: 1 }), 1);
    });

    test("tells the method who calls", async () => {
        const caller = assertResult(await rpc(server, { method: "test.caller", id: 1 }), 1);
        assert.equal(caller.name, "anonymous");
        assert.equal(caller.id, "0");
        assert.equal(caller.language, "en");
    });

    test("gets a large result whole", async () => {
        const bytes = 1_000_000;
        const answer = await rpc(server, { method: "test.large", params: { bytes }, id: 1 });
        assert.equal(assertResult(answer, 1).length, bytes);
    });
});

suite("what is wrong", { concurrency: true }, () => {
    for (const text of ["", "{", "[", '{"jsonrpc":"2.0",}', "nil", '[{"jsonrpc":"2.0"},', "{}{}"]) {
        test(`with the JSON of ${JSON.stringify(text)} is -32700 and 400`, async () => {
            assertStandard(await post(server, "/jsonrpc", text), 400, codes.parse, null);
        });
    }

    test("threat-B2: with bytes that are not UTF-8 is -32700", async () => {
        const bytes = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff"}', "latin1");
        assertStandard(await post(server, "/jsonrpc", bytes), 400, codes.parse, null);
    });

    test("threat-B2: with a key that stands twice is -32700", async () => {
        const text = '{"jsonrpc":"2.0","id":1,"id":2,"method":"test.echo"}';
        assertStandard(await post(server, "/jsonrpc", text), 400, codes.parse, null);
    });

    test("threat-B1: with JSON that is nested too deep is -32700", async () => {
        const deep = `${"[".repeat(5_000)}${"]".repeat(5_000)}`;
        const answer = await post(server, "/jsonrpc", deep);
        assert.equal(answer.status, 400);
        assert.equal(answer.json.error.code, codes.parse);
    });

    for (const [what, text, id] of [
        ["a number", "1", null],
        ["a string", '"test.echo"', null],
        ["an object without anything", "{}", null],
        ["an empty array", "[]", null],
        ["another version", '{"jsonrpc":"1.0","id":1,"method":"test.echo"}', 1],
        ["a version that is a number", '{"jsonrpc":2.0,"id":1,"method":"test.echo"}', 1],
        ["no version", '{"id":"a","method":"test.echo"}', "a"],
        ["a method that is a number", '{"jsonrpc":"2.0","id":1,"method":1}', 1],
        ["no method", '{"jsonrpc":"2.0","id":1}', 1],
        ["params that are a string", '{"jsonrpc":"2.0","id":1,"method":"test.echo","params":"x"}', 1],
        ["params that are null", '{"jsonrpc":"2.0","id":1,"method":"test.echo","params":null}', 1],
        ["an id that is an object", '{"jsonrpc":"2.0","id":{},"method":"test.echo"}', null],
        ["an id that is true", '{"jsonrpc":"2.0","id":true,"method":"test.echo"}', null],
    ]) {
        test(`with ${what} for a request is -32600 and 400`, async () => {
            assertStandard(await post(server, "/jsonrpc", text), 400, codes.invalid, id);
        });
    }

    test("with the name of a method is -32601 and 400", async () => {
        for (const method of ["test.ech", "", "TEST.ECHO", "rpc.nothing", "x".repeat(10_000)]) {
            assertStandard(await rpc(server, { method, id: 1 }), 400, codes.method, 1);
        }
    });

    test("is the same bytes for a method that is unknown and one that is forbidden", async () => {
        const forbidden = await rpc(server, { method: "test.admin", id: 1 });
        const unknown = await rpc(server, { method: "test.admim", id: 1 });
        assertStandard(forbidden, 400, codes.method, 1);
        assert.equal(forbidden.text, unknown.text);
        const kept = ({ headers }) => [...headers].filter(([name]) => !["date", "x-request-id"].includes(name));
        assert.deepEqual(kept(forbidden), kept(unknown));
    });

    test("with a missing parameter names it", async () => {
        const answer = await rpc(server, { method: "test.echo", params: {}, id: 1 });
        const error = assertStandard(answer, 400, codes.params, 1);
        assert.equal(error.data, "Missing required parameter: message");
    });

    test("threat-B9: with an unknown parameter suggests the nearest right one", async () => {
        const params = { message, massage: 1 };
        const answer = await rpc(server, { method: "test.echo", params, id: 1 });
        assertStandard(answer, 400, codes.params, 1, /massage.*message/);
    });

    test("with too many parameters by position is -32602", async () => {
        const params = [message, ...Array.from({ length: 20 }, (_, i) => i)];
        const answer = await rpc(server, { method: "test.echo", params, id: 1 });
        assertStandard(answer, 400, codes.params, 1, /[Tt]oo many/);
    });

    test("with what the method itself reports is 200 with the method's error", async () => {
        const params = { code: 7, message: "no luck", data: [1, { a: null }] };
        const answer = await rpc(server, { method: "test.fail", params, id: 1 });
        assert.deepEqual(assertRpcError(answer, 200, 7, 1), params);
    });

    test("with a content type that is not JSON is 415", async () => {
        const body = { jsonrpc: "2.0", ...echo, id: 1 };
        const answer = await post(server, "/jsonrpc", body, { "Content-Type": "text/plain" });
        assert.equal(answer.status, 415);
    });

    test("with credentials is 401, before anything else", async () => {
        const headers = { Authorization: "Bearer nobody" };
        for (const body of ["{", { jsonrpc: "2.0", ...echo, id: 1 }]) {
            const answer = await post(server, "/jsonrpc", body, headers);
            assert.equal(answer.status, 401, answer.text);
            assert.match(answer.headers.get("www-authenticate") ?? "", /Bearer/);
        }
    });

    test("with a scope that is missing is 401 with -32000 and the scopes", async () => {
        const answer = await rpc(server, { method: "test.scoped", id: 1 });
        const error = assertRpcError(answer, 401, -32000, 1);
        assert.ok(error.data.required_scopes.length > 0);
        assert.deepEqual(error.data.missing_scopes, error.data.required_scopes);
        assert.match(answer.headers.get("www-authenticate"), /^Bearer/);
    });

    for (const method of ["PUT", "DELETE"]) {
        test(`with ${method} is 405`, async () => {
            const answer = await fetch(`${server.url}/jsonrpc`, { method });
            assert.equal(answer.status, 405);
            assert.match(answer.headers.get("allow"), /POST/);
            await answer.body.cancel();
        });
    }

    test("with a method that could not be run to its end is -32603 and 500", async (t) => {
        const faults = await startBridge({ plugins: ["faults"] });
        t.after(() => faults.stop());
        const answer = await rpc(faults, { method: "faults.segv", id: 1 });
        assertStandard(answer, 500, codes.internal, 1);
        assert.doesNotMatch(answer.text, /\.so|\/proc|SIGSEGV.*0x/);
    });
});

suite("a notification", { concurrency: true }, () => {
    test("is run and answered with 204 and nothing", async () => {
        const { status, text } = await rpc(server, echo);
        assert.equal(status, 204);
        assert.equal(text, "");
    });

    test("threat-B8: is not told what is wrong with its method or its params", async () => {
        const wrong = [
            { method: "no.such" },
            { method: "test.admin" },
            { method: "test.scoped" },
            { method: "test.echo", params: {} },
            { method: "test.fail" },
        ];
        for (const one of wrong) {
            const { status, text } = await rpc(server, one);
            assert.equal(status, 204, text);
            assert.equal(text, "");
        }
    });

    test("does not wait for the method", async () => {
        const sleep = { method: "test.sleep", params: { ms: 3_000 } };
        const begun = awakeMs();
        assert.equal((await rpc(server, sleep)).status, 204);
        const ms = awakeMs() - begun;
        assert.ok(ms < 2_900, `${ms} ms`);
    });
});

suite("a batch", { concurrency: true }, () => {
    const full = (one) => ({ jsonrpc: "2.0", ...one });

    test("is answered by a batch in the same order", async () => {
        const sleep = { method: "test.sleep", params: { ms: 60 }, id: "slow" };
        const batch = [sleep, { ...echo, id: 1 }, { ...echo, id: 2 }].map(full);
        const { status, json } = await rpc(server, batch);
        assert.equal(status, 200);
        assert.deepEqual(
            json.map(({ id }) => id),
            ["slow", 1, 2],
        );
        assert.ok(json.every((one) => "result" in one));
    });

    test("has each mistake answered in its place and nothing for notifications", async () => {
        const batch = [1, full(echo), full({ ...echo, id: 5 }), {}, full({ method: "x", id: 6 }), []];
        const { status, json } = await rpc(server, batch);
        assert.equal(status, 200);
        assert.deepEqual(
            json.map(({ id, error }) => [id, error?.code]),
            [
                [null, codes.invalid],
                [5, undefined],
                [null, codes.invalid],
                [6, codes.method],
                [null, codes.invalid],
            ],
        );
    });

    test("of notifications alone is 204", async () => {
        const { status, text } = await rpc(server, [full(echo), full({ method: "no.such" })]);
        assert.equal(status, 204);
        assert.equal(text, "");
    });

    test("of one is still a batch", async () => {
        const { json } = await rpc(server, [full({ ...echo, id: 1 })]);
        assert.ok(Array.isArray(json));
        assert.equal(json.length, 1);
    });

    test("that is longer than the limit is refused as a whole", async (t) => {
        const small = await startBridge({ config: { limits: { batch: 3 } } });
        t.after(() => small.stop());
        const batch = (n) => Array.from({ length: n }, (_, id) => full({ ...echo, id }));
        assert.equal((await rpc(small, batch(3))).json.length, 3);
        assertStandard(await rpc(small, batch(4)), 400, codes.invalid, null, /3/);
    });

    test("whose answers will not be sent does not keep them", async (t) => {
        const own = await startBridge({ config: { loops: 1, plugins: { workers: 2 } } });
        t.after(() => own.stop());
        const bytes = 15_000_000;
        const one = (id) => ({ jsonrpc: "2.0", id, method: "test.large", params: { bytes } });
        const { status, json } = await rpc(
            own,
            Array.from({ length: 40 }, (_, id) => one(id)),
        );
        assert.equal(status, 500);
        assert.equal(json.error.code, -32603);
        const most = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${own.pid}/status`))[1]);
        // A sanitizer keeps what was freed.
        assert.ok(most < 300_000 || slowness > 1, `${most} KB at most`);
    });
});

suite("under limits", { concurrency: true }, () => {
    const add = { jsonrpc: "2.0", method: "shop.add", params: { a: 1, b: 2 } };

    // A server that runs so many calls at once. Those of shop.add run until the test ends them: `running` does that.
    async function startSmall(t, max_calls) {
        const running = [];
        const mode = `held, ${max_calls}`;
        modes[mode] = ({ id }, response) =>
            running.push(() => response.end(JSON.stringify({ jsonrpc: "2.0", id, result: 3 })));
        const service = await startService();
        const shop = { name: "shop", url: service.url, openrpc: writeOpenRpc(), prefix: "shop.", methods: ["add"] };
        const sources = [{ ...shop, timeout: "10m" }];
        const small = await startBridge({ config: { loops: 1, limits: { max_calls }, sources } });
        t.after(() => small.stop());
        await untilTool(small, "shop.add");
        service.mode = mode;
        return { small, running };
    }

    test("more calls than may run at once are refused, and room is made by those that end", async (t) => {
        const { small, running } = await startSmall(t, 4);
        const calls = Array.from({ length: 4 }, (_, id) => rpc(small, { ...add, id }));
        await eventually(() => running.length === 4, "four calls run");
        const others = Array.from({ length: 8 }, (_, id) => rpc(small, { ...add, id }));
        for (const { status, text, json } of await Promise.all(others)) {
            assert.notEqual(status, 200, text);
            assert.equal(json.error.code, codes.internal);
        }
        running.forEach((end) => end());
        (await Promise.all(calls)).forEach((answer, id) => assertResult(answer, id));
        assertResult(await rpc(small, { ...echo, id: 1 }), 1);
    });

    test("a caller who leaves gives its place back", async (t) => {
        const { small, running } = await startSmall(t, 1);
        const aborter = new AbortController();
        const left = post(small, "/jsonrpc", { ...add, id: 1 }, {}, { signal: aborter.signal });
        left.catch(() => {});
        await eventually(() => running.length === 1, "the call runs");
        assert.equal((await rpc(small, { ...echo, id: 1 })).status, 500);
        aborter.abort();
        const free = async () => (await rpc(small, { ...echo, id: 1 })).status === 200;
        await eventually(free, "the place is free again", 1_000);
    });
});
