// How clients find the endpoint: its path, the server card, the registry's entry, and what browsers
// must be told before pages of other origins may use it.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as sdk2 from "@modelcontextprotocol/client";
import {
    addPlugin,
    assertRpcError,
    initialize,
    legacyVersions,
    modernParts,
    modernVersion,
    post,
    startBridge,
} from "./support/mcp.mjs";
import { runCauseway, writeConfig } from "./support/programs.mjs";
import { assertRestError, get, send } from "./support/rest.mjs";

const cardType = "application/mcp-server-card+json";

async function start(t, config = {}) {
    // The paths of the tests' own helpers are those of the default.
    const server = await startBridge({ plugins: [], config });
    t.after(() => server.stop());
    addPlugin(server.plugins, "echo");
    return server;
}

suite("mcp.path", () => {
    test("is where the endpoint, its card and the well-known document are", async (t) => {
        const server = await start(t, { mcp: { path: "/api/v1/mcp" } });
        const { body, headers } = modernParts("tools/list");
        assert.equal((await post(server, "/api/v1/mcp", body, headers)).status, 200);
        assert.equal((await post(server, "/mcp/tools/list", body, headers)).status, 200);
        assertRestError(await send(server, "POST", "/mcp", { body: "{}" }), 404, "not_found");
        const { json } = await get(server, "/.well-known/mcp.json");
        assert.equal(json.endpoints.mcp, `${server.url}/api/v1/mcp`);
        assert.equal(json.endpoints.serverCard, `${server.url}/api/v1/mcp/server-card`);
        const card = await get(server, "/api/v1/mcp/server-card");
        assert.equal(card.json.remotes[0].url, `${server.url}/api/v1/mcp`);

        const client = new sdk2.Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "legacy" } });
        await client.connect(new sdk2.StreamableHTTPClientTransport(new URL(json.endpoints.mcp)));
        t.after(() => client.close());
        assert.ok(await client.listTools());
    });

    test("a path that another door has is refused", async (t) => {
        const server = await start(t);
        for (const path of [
            ...["/healthz", "/readyz", "/jsonrpc", "/jsonrpc/methods", "/.well-known/mcp.json"],
            ...["/mcp/tools/list", "/mcp/tools/describe", "/mcp/tools/invoke"],
            ...["/logout", "/session/token"],
        ]) {
            const { status } = await send(server, "OPTIONS", path);
            assert.equal(status, 204, `${path} is something`);
            const config = writeConfig({ mcp: { path } });
            const { code, stderr } = await runCauseway(["config", "check", config]);
            assert.equal(code, 2, stderr);
            assert.match(stderr, /mcp\.path: .* is something else already/);
        }
    });
});

suite("the server card", () => {
    test("says who we are and where, to everybody", async (t) => {
        const mcp = {
            name: "org.example/tools",
            title: "Tools",
            description: "Tools for tests",
            website: "https://example.org/about",
        };
        const server = await start(t, { mcp });
        const { status, headers, json } = await get(server, "/mcp/server-card");
        assert.equal(status, 200);
        assert.equal(headers["content-type"], cardType);
        assert.equal(headers["cache-control"], "public, max-age=3600");
        assert.equal(headers["access-control-allow-origin"], "*");
        const { version, ...others } = json;
        assert.match(version, /^\d+\.\d+\.\d+/);
        assert.deepEqual(others, {
            $schema: "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
            name: mcp.name,
            description: mcp.description,
            title: mcp.title,
            websiteUrl: mcp.website,
            remotes: [
                {
                    type: "streamable-http",
                    url: `${server.url}/mcp`,
                    supportedProtocolVersions: [modernVersion, ...legacyVersions],
                },
            ],
        });
        const again = await get(server, "/mcp/server-card", { "If-None-Match": headers.etag });
        assert.equal(again.status, 304);
        assert.equal(again.headers["access-control-allow-origin"], "*");
    });

    test("pages of every origin may read it, and nothing else", async (t) => {
        const server = await start(t);
        const headers = { Origin: "https://far.example" };
        const card = await get(server, "/mcp/server-card", headers);
        assert.equal(card.status, 200);
        assert.equal(card.headers["access-control-allow-origin"], "*");
        for (const target of ["/mcp", "/mcp/tools/list", "/.well-known/mcp.json", "/nothing"]) {
            assertRestError(await get(server, target, headers), 403, "origin_not_allowed");
        }
        const evil = { ...headers, Host: "evil.example" };
        assertRestError(await get(server, "/mcp/server-card", evil), 421, "misdirected_request");
    });
});

suite("causeway server-json", () => {
    test("prints the registry's entry", async () => {
        const config = writeConfig({
            public_url: "https://tools.example.org/causeway",
            mcp: { name: "org.example/tools", description: "Tools for tests", path: "/api" },
        });
        const { code, stdout, stderr } = await runCauseway(["server-json", "--config", config]);
        assert.equal(code, 0, stderr);
        const { version, ...others } = JSON.parse(stdout);
        assert.match(version, /^\d+\.\d+\.\d+/);
        assert.deepEqual(others, {
            $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
            name: "org.example/tools",
            description: "Tools for tests",
            title: "Causeway",
            remotes: [{ type: "streamable-http", url: "https://tools.example.org/causeway/api" }],
        });
    });

    test("needs public_url", async () => {
        const { code, stderr } = await runCauseway(["server-json", "--config", writeConfig({})]);
        assert.equal(code, 2);
        assert.match(stderr, /public_url/);
    });

    test("names and descriptions that a registry refuses are refused here", async () => {
        for (const [key, bad] of [
            ["name", "tools"],
            ["name", "org.example/a/b"],
            ["name", "org example/tools"],
            ["name", `org.example/${"x".repeat(200)}`],
            ["description", "ž".repeat(101)],
            ["description", "two\nlines"],
        ]) {
            const config = writeConfig({ mcp: { [key]: bad } });
            const { code, stderr } = await runCauseway(["config", "check", config]);
            assert.equal(code, 2, JSON.stringify(bad));
            assert.match(stderr, new RegExp(`mcp\\.${key}`));
        }
        const fits = writeConfig({ mcp: { description: "ž".repeat(100) } });
        assert.equal((await runCauseway(["config", "check", fits])).code, 0);
    });
});

suite("pages of other origins", () => {
    const page = "https://page.example";
    const asks = {
        Origin: page,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,mcp-method,mcp-param-region,x-other",
    };
    const listed = (text) => text.toLowerCase().split(/, */);

    test("that are listed may call, and read what they need", async (t) => {
        const server = await start(t, { origins: [page] });
        const { status, headers } = await send(server, "OPTIONS", "/mcp", { headers: asks });
        assert.equal(status, 204);
        assert.equal(headers["access-control-allow-origin"], page);
        assert.match(headers.vary, /Origin/);
        assert.ok(listed(headers["access-control-allow-methods"]).includes("post"));
        const allowed = listed(headers["access-control-allow-headers"]);
        for (const name of [
            "authorization",
            "content-type",
            "mcp-protocol-version",
            "mcp-method",
            "mcp-name",
            "mcp-session-id",
            "last-event-id",
            "mcp-param-region",
        ]) {
            assert.ok(allowed.includes(name), name);
        }
        assert.ok(!allowed.includes("x-other"));
        assert.equal("access-control-allow-credentials" in headers, false);

        const answer = await initialize(server, "2025-11-25", { Origin: page });
        assert.equal(answer.headers.get("access-control-allow-origin"), page);
        const exposed = listed(answer.headers.get("access-control-expose-headers"));
        assert.deepEqual(exposed, ["mcp-session-id", "www-authenticate", "x-request-id"]);
        const parts = modernParts("nothing/known");
        const failed = await post(server, "/mcp", parts.body, { ...parts.headers, Origin: page });
        assertRpcError(failed, 404, -32601, 1);
        assert.equal(failed.headers.get("access-control-allow-origin"), page);
    });

    test("that are not listed may not even ask", async (t) => {
        const server = await start(t, { origins: [page] });
        const headers = { ...asks, Origin: "https://other.example" };
        const answer = await send(server, "OPTIONS", "/mcp", { headers });
        assertRestError(answer, 403, "origin_not_allowed");
        assert.equal("access-control-allow-origin" in answer.headers, false);
    });

    test("a request without Origin is told nothing of it", async (t) => {
        const server = await start(t, { origins: [page] });
        const { headers } = await send(server, "OPTIONS", "/mcp");
        assert.deepEqual(
            Object.keys(headers).filter((name) => name.startsWith("access-control")),
            [],
        );
        assert.equal("vary" in headers, false);
    });

    test("an absurd number of headers is no trouble", async (t) => {
        const server = await start(t, { origins: [page] });
        const many = Array.from({ length: 700 }, (_, i) => `mcp-param-${i}`).join(",");
        const headers = { ...asks, "Access-Control-Request-Headers": many };
        const { status } = await send(server, "OPTIONS", "/mcp", { headers });
        assert.equal(status, 204);
    });
});
