// Lines about calls: one for each call (log.calls), and every step of chosen calls (log.focus).
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { basic, startAccounts } from "./support/accounts.mjs";
import { callTool, reloadBridge, rpc, startBridge, untilTool } from "./support/mcp.mjs";
import { eventually } from "./support/server.mjs";
import { startService, writeOpenRpc } from "./support/service.mjs";

const linesOf = (server) =>
    server.stderr
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line));
const ofRequest = (server, answer) => {
    const id = answer.headers.get?.("x-request-id") ?? answer.headers["x-request-id"];
    return linesOf(server).filter(({ request_id: request }) => request === id);
};
const start = async (t, log, more = {}) => {
    const { config, ...options } = more;
    const server = await startBridge({ config: { log: { format: "json", ...log }, ...config }, ...options });
    t.after(() => server.stop());
    return server;
};
const client = { "io.modelcontextprotocol/clientInfo": { name: "claude-code", version: "1" } };

suite("log.calls", { concurrency: true }, () => {
    test("writes a line with what a call was and how it ended, and without its arguments", async (t) => {
        const server = await start(t, { calls: true });
        const answer = await callTool(server, "test.echo", { message: "a private text" }, { meta: client });
        const line = () => ofRequest(server, answer).find(({ component }) => component === "call");
        await eventually(() => line(), "the line of the call");
        const {
            time,
            us,
            source_us: sourceUs,
            bytes_out: out,
            request_id: id,
            tool,
            queue_us: queue,
            ...fields
        } = line();
        assert.deepEqual(fields, {
            ...{ level: "info", component: "call", message: "call", door: "mcp", method: "test.echo" },
            ...{ source: "echo", outcome: "ok", bytes_in: '{"message":"a private text"}'.length },
            ...{ protocol: "2026-07-28", client: "claude-code" },
        });
        assert.match(tool, /^test[._]+echo$/);
        assert.match(time, /^\d{4}-/);
        assert.match(id, /^[0-9a-f]{16}$/);
        assert.ok(us >= sourceUs && sourceUs >= queue && sourceUs > 0 && out > 0, JSON.stringify(line()));
        assert.ok(!server.stderr.includes("a private text"));
    });

    test("writes a line for errors and for each message of a batch", async (t) => {
        const server = await start(t, { calls: true });
        await callTool(server, "test.fail", {});
        const message = (id) => ({ jsonrpc: "2.0", id, method: "test.echo", params: { message: "x" } });
        await rpc(server, [message(1), message(2)]);
        const lines = () => linesOf(server).filter(({ component, outcome }) => component === "call" && outcome);
        await eventually(() => lines().length === 3, "three lines");
        const [failed, echoed] = lines();
        assert.equal(failed.outcome, "error");
        assert.equal(typeof failed.code, "number");
        assert.equal(echoed.door, "jsonrpc");
        assert.equal(echoed.caller, undefined);
    });

    test("has the name of the caller with log.callers", async (t) => {
        const server = await startAccounts({ config: { log: { format: "json", calls: true, callers: true } } });
        t.after(() => server.stop());
        await rpc(server, { method: "test.echo", params: { message: "x" }, id: 1 }, basic("alice", "s3cret"));
        const isHers = ({ caller, outcome }) => caller === "alice" && outcome === "ok";
        await eventually(() => linesOf(server).some(isHers), "her line");
    });

    test("is off by default", async (t) => {
        const server = await start(t, {});
        const answer = await callTool(server, "test.echo", { message: "x" });
        await eventually(() => ofRequest(server, answer).length > 0, "the line of the request");
        assert.deepEqual(
            ofRequest(server, answer).map(({ component }) => component),
            ["access"],
        );
    });
});

suite("log.focus", { concurrency: true }, () => {
    const steps = (lines) => lines.filter(({ level }) => level === "debug").map(({ message }) => message);

    test("logs every step of the calls of one tool, and of no other", async (t) => {
        const server = await start(t, { level: "warn", focus: { tools: ["test.echo"] } });
        const other = await callTool(server, "test.caller", {});
        const answer = await callTool(server, "test.echo", { message: "x" });
        await eventually(() => steps(ofRequest(server, answer)).includes("call"), "the last step");
        assert.deepEqual(steps(ofRequest(server, answer)), ["call begins", "call sent to a process", "call"]);
        assert.deepEqual(ofRequest(server, other), []);
    });

    test("logs the requests to a service", async (t) => {
        const service = await startService();
        const sources = [{ name: "s", url: service.url, openrpc: writeOpenRpc(), prefix: "s.", methods: ["*"] }];
        const server = await start(t, { focus: { sources: ["s"] } }, { plugins: [], config: { sources } });
        await untilTool(server, "s.add");
        const answer = await callTool(server, "s.add", { a: 1, b: 2 });
        await eventually(() => steps(ofRequest(server, answer)).includes("call"), "the last step");
        assert.deepEqual(steps(ofRequest(server, answer)), [
            "call begins",
            "request to the service",
            "response of the service",
            "call",
        ]);
    });

    test("logs the calls of one caller, also after a reload", async (t) => {
        const server = await startAccounts({ config: { log: { format: "json" } } });
        t.after(() => server.stop());
        const call = () =>
            rpc(server, { method: "test.echo", params: { message: "x" }, id: 1 }, basic("alice", "s3cret"));
        const before = await call();
        await reloadBridge(server, { log: { format: "json", focus: { callers: ["alice"] } } });
        const isLogged = async () => {
            const answer = await call();
            return steps(ofRequest(server, answer)).includes("call begins");
        };
        await eventually(isLogged, "her steps");
        assert.deepEqual(steps(ofRequest(server, before)), []);
    });

    test("anonymous stands for callers without a login", async (t) => {
        const server = await start(t, { focus: { callers: ["anonymous"] } });
        const answer = await callTool(server, "test.echo", { message: "x" });
        await eventually(() => steps(ofRequest(server, answer)).length === 3, "the steps");
    });
});

test("a source that is away has some lines and a count, not a line for each call", async (t) => {
    const service = await startService();
    const source = { name: "s", url: service.url, openrpc: writeOpenRpc(), prefix: "s.", methods: ["*"], retries: 0 };
    const server = await start(t, {}, { plugins: [], config: { sources: [source] } });
    await untilTool(server, "s.add");
    await service.stop();
    const perInterval = 30;
    const began = Date.now();
    const batch = Array.from({ length: 100 }, (_, id) => ({
        ...{ jsonrpc: "2.0", id, method: "s.add", params: { a: 1, b: 2 } },
    }));
    await rpc(server, batch);
    await rpc(server, batch);
    const intervals = 1 + Math.floor((Date.now() - began) / 60_000);
    await server.stop();
    for (const message of ["call failed", "call not started"]) {
        const all = linesOf(server).filter(({ message: text }) => text.startsWith(message));
        const lines = all.filter(({ count }) => count === undefined);
        assert.ok(lines.length <= perInterval * intervals, `${lines.length} lines: ${message}`);
        assert.ok(all.every(({ source: name }) => name === "s"));
    }
    const failed = linesOf(server).filter(({ message: text }) => /^call (failed|not started)/.test(text));
    assert.equal(
        failed.reduce((sum, { count = 1 }) => sum + count, 0),
        200,
    );
});
