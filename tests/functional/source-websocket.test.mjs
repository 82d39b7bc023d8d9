// Services on a WebSocket, with TLS and without: what they are shown, what they may refuse, and
// what becomes of calls when the connection ends.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, suite, test } from "node:test";
import { startEvents } from "./support/events.mjs";
import { keepFolder } from "./support/kept.mjs";
import { assertToolError, callTool, callToolWell, startBridge, toolNames } from "./support/mcp.mjs";
import { timeLimit } from "./support/programs.mjs";
import { eventually, makeCertificate } from "./support/server.mjs";
import { writeOpenRpc } from "./support/service.mjs";
import { freePort } from "./support/ports.mjs";
import { startWebSocket } from "./support/websocket.mjs";

const numbers = { a: 40, b: 2 };
const certificate = makeCertificate("wss-server");
const ours = makeCertificate("wss-client");
const trust = { ca_file: certificate.certificate };
const secret = "s3cret+of/ours";

let files = 0;
function secretFile() {
    const file = path.join(keepFolder(), `websocket-secret-${(files += 1)}`);
    writeFileSync(file, `${secret}\n`);
    return file;
}

// A causeway with the service as source "s" with the prefix "s.".
async function start(t, service, more = {}) {
    const source = {
        name: "s",
        url: service.url,
        openrpc: writeOpenRpc(),
        prefix: "s.",
        timeout: "5m",
        connect_timeout: "1m",
        methods: ["*"],
        ...more,
    };
    const config = { loops: 2, log: { level: "debug" }, sources: [source] };
    const server = await startBridge({ plugins: [], config });
    t.after(() => server.stop());
    await eventually(async () => (await toolNames(server)).length > 0, "its tools", 10_000);
    return server;
}

const untilLogged = (server, pattern) => eventually(() => pattern.test(server.stderr), `${pattern} in the log`);
const sum = async (server) => (await callToolWell(server, "s.add", numbers)).structuredContent;

for (const [scheme, options, more] of [
    ["ws", {}, {}],
    ["wss", { tls: certificate }, { tls: trust }],
]) {
    suite(`a service at ${scheme}://`, { concurrency: true }, () => {
        test("is asked what it offers, and is called", async (t) => {
            const service = await startWebSocket(options);
            const server = await start(t, service, { ...more, openrpc: null, discovery: "openrpc" });
            const sums = await Promise.all(
                Array.from({ length: 50 }, (_, a) => callToolWell(server, "s.add", { a, b: 1 })),
            );
            assert.deepEqual(
                sums.map((result) => result.structuredContent),
                [...sums.keys()].map((a) => a + 1),
            );
            assert.equal(service.handshakes.length, 1);
        });

        test("gets the calls of each loop, each with its own places", async (t) => {
            const service = await startWebSocket(options);
            const server = await start(t, service, { ...more, connections: 16, queue: 0 });
            // More than the places of one loop, and most unlikely to be all on the same one.
            const calls = Array.from({ length: 18 }, (_, i) => callToolWell(server, "s.wait", { ms: 400 + i }));
            await Promise.all(calls);
        });

        test("takes and gives large messages", async (t) => {
            const service = await startWebSocket(options);
            const server = await start(t, service, { ...more, methods: [{ method: "echo", max_result_size: 0 }] });
            for (const size of [100, 70_000, 900_000]) {
                const message = "x".repeat(size);
                const result = await callToolWell(server, "s.echo", { message });
                assert.equal(result.structuredContent.message.length, size);
            }
        });

        test("gets our headers and the secret with the handshake", async (t) => {
            const service = await startWebSocket(options);
            service.gate = ({ headers }) => (headers.authorization === `Bearer ${secret}` ? undefined : 401);
            const server = await start(t, service, {
                ...more,
                headers: { "X-Tenant": "7" },
                secret: { file: secretFile() },
            });
            assert.equal(await sum(server), 42);
            assert.equal(service.handshakes[0].headers["x-tenant"], "7");
            assert.equal(service.handshakes[0].url, "/rpc");
            assert.ok(!server.stderr.includes(secret));
        });

        for (const status of [401, 403, 404, 302, 503]) {
            test(`that answers ${status} says so in the log, without the secret`, async (t) => {
                const service = await startWebSocket(options);
                service.gate = () => status;
                const server = await start(t, service, { ...more, secret: { file: secretFile() } });
                const answer = await callTool(server, "s.add", numbers);
                const isRefused = status === 401 || status === 403;
                const told = isRefused
                    ? /The service 's' refuses our credentials/
                    : /The service 's' cannot be reached/;
                assertToolError(answer, told);
                const said = isRefused ? "refuses our credentials, or asks for some" : "WebSocket";
                await untilLogged(server, new RegExp(`${said}.*HTTP ${status}`));
                assert.ok(!server.stderr.includes(secret) && !answer.text.includes(secret));
            });
        }

        test("that tells the secret in its farewell is not heard", async (t) => {
            const service = await startWebSocket(options);
            const server = await start(t, service, { ...more, secret: { file: secretFile() } });
            await sum(server);
            service.mode = "closes";
            service.reason = `not ${secret}`;
            const answer = await callTool(server, "s.add", numbers);
            assertToolError(answer);
            await untilLogged(server, /the WebSocket was closed: 1008/);
            assert.ok(!server.stderr.includes(secret) && !answer.text.includes(secret));
        });

        test("that is gone fails the calls on their way, and is found again", async (t) => {
            const service = await startWebSocket(options);
            const server = await start(t, service, more);
            await sum(server);
            const waiting = callTool(server, "s.wait", { ms: 60_000 });
            await eventually(() => service.calls.some(({ method }) => method === "wait"), "the call");
            service.cut();
            assertToolError(await waiting, /closed the connection/);
            assert.equal(await sum(server), 42);
            assert.equal(service.handshakes.length, 2);
        });
    });
}

suite("TLS of a WebSocket", { concurrency: true }, () => {
    for (const [what, tls, said] of [
        ["an authority that we do not know", {}, /TLS with '127\.0\.0\.1': .*self-signed/],
        ["another name", { ...trust, server_name: "other.example" }, /other\.example/],
        ["a file that is not there", { ca_file: "/nowhere/ca.pem" }, /\/nowhere\/ca\.pem/],
    ]) {
        test(`ends before a byte of ours is sent: ${what}`, async (t) => {
            const service = await startWebSocket({ tls: certificate });
            const server = await start(t, service, { tls, secret: { file: secretFile() } });
            assertToolError(await callTool(server, "s.add", numbers), /cannot be reached/);
            await untilLogged(server, said);
            assert.equal(service.handshakes.length, 0);
        });
    }

    test("shows a certificate of ours, and fails without", async (t) => {
        const service = await startWebSocket({ tls: certificate, ca: ours.certificate });
        const server = await start(t, service, { tls: { ...trust, ...ours } });
        assert.equal(await sum(server), 42);
        const other = await start(t, service, { tls: trust });
        assertToolError(await callTool(other, "s.add", numbers), /cannot be reached/);
        assert.equal(service.handshakes.length, 1);
    });

    test("has the same limits: nobody there, nobody who answers", async (t) => {
        const port = await freePort();
        const refused = await start(t, { url: `wss://127.0.0.1:${port}/` }, { tls: trust });
        assertToolError(await callTool(refused, "s.add", numbers), /cannot be reached/);
        await untilLogged(refused, /connect to 127\.0\.0\.1:\d+: Connection refused/);
        const silent = await startWebSocket({ tls: certificate });
        silent.server.removeAllListeners("upgrade");
        silent.server.on("upgrade", () => {});
        const server = await start(t, silent, { tls: trust, connect_timeout: "300ms" });
        const left = timeLimit(2_000);
        assertToolError(await callTool(server, "s.add", numbers), /cannot be reached/);
        assert.ok(left() > 0, "it took too long");
        await untilLogged(server, /no answer to the WebSocket's handshake/);
    });
});

suite("a token for a WebSocket", { concurrency: true }, () => {
    // Hands out token-1, token-2, …
    async function startTokens() {
        const self = { count: 0 };
        const server = http.createServer((request, response) => {
            request.resume();
            self.count += 1;
            response.writeHead(200, { "Content-Type": "application/json" });
            response.end(JSON.stringify({ access_token: `token-${self.count}`, expires_in: 3600 }));
        });
        await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
        after(() => server.closeAllConnections() ?? server.close());
        self.oauth = {
            token_url: `http://127.0.0.1:${server.address().port}/token`,
            client_id: "us",
            client_secret_file: secretFile(),
        };
        return self;
    }
    // Both sides have ended their connections: by the kernel's list, none is open or waits to be closed.
    const untilEnded = (service) =>
        eventually(() => {
            const port = `:${service.server.address().port.toString(16).toUpperCase().padStart(4, "0")}`;
            const rows = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1, -1);
            const fields = rows.map((row) => row.trim().split(/\s+/));
            return !fields.some(([, , to, state]) => to.endsWith(port) && ["01", "08"].includes(state));
        }, "the end of the connection");
    const shown = (service) => service.handshakes.map(({ headers }) => headers.authorization);

    test("goes with the handshake, is kept, and is renewed when it is refused", async (t) => {
        const tokens = await startTokens();
        const service = await startWebSocket();
        const server = await start(t, service, { oauth: tokens.oauth });
        assert.equal(await sum(server), 42);
        service.cut();
        await untilEnded(service);
        assert.equal(await sum(server), 42);
        assert.deepEqual(shown(service), ["Bearer token-1", "Bearer token-1"]);
        service.gate = ({ headers }) => (headers.authorization === "Bearer token-1" ? 401 : undefined);
        service.cut();
        await untilEnded(service);
        assert.equal(await sum(server), 42, "the call waits for the other token");
        assert.deepEqual(shown(service).slice(2), ["Bearer token-1", "Bearer token-2"]);
        assert.equal(tokens.count, 2);
        assert.doesNotMatch(server.stderr, /token-\d/);
        assert.ok(!server.stderr.includes(secret));
    });

    test("that is refused is renewed for events, although no call waits", async (t) => {
        const tokens = await startTokens();
        const { service } = await startEvents(
            t,
            { changed: {} },
            { begin: startBridge, more: { oauth: tokens.oauth } },
        );
        service.gate = ({ headers }) => (headers.authorization === "Bearer token-1" ? 401 : undefined);
        service.cut();
        await eventually(() => shown(service).includes("Bearer token-2"), "the other token", 20_000);
        await eventually(() => service.sockets.size === 1, "the connection is open again");
    });

    test("that the service says again is covered before callers see it", async (t) => {
        const tokens = await startTokens();
        const server = await start(t, await startWebSocket(), { oauth: tokens.oauth });
        await sum(server);
        const { structuredContent } = await callToolWell(server, "s.echo", { message: "it is token-1!" });
        assert.equal(structuredContent.message, "it is *******!");
    });

    test("that is never taken is an error, not a loop", async (t) => {
        const tokens = await startTokens();
        const service = await startWebSocket();
        service.gate = () => 401;
        const server = await start(t, service, { oauth: tokens.oauth });
        assertToolError(await callTool(server, "s.add", numbers), /refuses our credentials/);
        assert.equal(service.handshakes.length, tokens.count);
        assert.ok(tokens.count <= 2, `${tokens.count} tokens`);
        assert.doesNotMatch(server.stderr, /token-\d/);
    });
});
