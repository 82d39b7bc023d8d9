// GET /jsonrpc/methods in the shape of Drupal's jsonrpc_discovery, and GET /.well-known/mcp.json.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { legacyVersions, modernVersion, startBridge, untilTool } from "./support/mcp.mjs";
import { assertRestError, get, startExamples, startMany, toolName } from "./support/rest.mjs";
import { eventually } from "./support/server.mjs";
import { writeOpenRpc } from "./support/service.mjs";

const methods = "/jsonrpc/methods";

suite("/jsonrpc/methods", () => {
    let server;
    before(async () => {
        server = await startExamples({ plugins: ["echo"] });
        await untilTool(server, "examples.articles.list");
        await untilTool(server, "test.echo");
    });
    after(() => server?.stop());

    test("check-106: one method, unwrapped, as Drupal prints it", async () => {
        const { status, headers, json } = await get(server, `${methods}/examples.article.toMarkdown`);
        assert.equal(status, 200);
        assert.equal(headers["content-type"], "application/json");
        const schema = { type: "integer", minimum: 1 };
        const { output, ...attributes } = json.attributes;
        assert.equal(output.type, "string");
        assert.deepEqual(
            { ...json, attributes },
            {
                type: "JsonRpcMethod",
                id: "examples.article.toMarkdown",
                attributes: {
                    usage: "Retrieves an article node and formats it as markdown",
                    params: {
                        nid: {
                            type: "JsonRpcParameterDefinition",
                            id: "nid",
                            attributes: {
                                schema,
                                description: "The node ID of the article",
                                required: true,
                            },
                            schema,
                        },
                    },
                },
                links: {
                    self: `${server.url}${methods}/examples.article.toMarkdown`,
                    collection: `${server.url}${methods}`,
                },
            },
        );
    });

    test("the collection has them all, unmarked ones too, and what is empty is left out", async () => {
        const { status, json } = await get(server, methods);
        assert.equal(status, 200);
        assert.deepEqual(json.links, { self: `${server.url}${methods}` });
        const ids = json.data.map(({ id }) => id);
        assert.deepEqual(ids, [...ids].sort());
        assert.ok(ids.includes("test.unmarked"));
        for (const method of json.data) {
            const { json: alone } = await get(server, `${methods}/${method.id}`);
            assert.deepEqual(alone, method);
            assert.equal("call" in method.attributes || "access" in method.attributes, false);
        }
        const types = json.data.find(({ id }) => id === "examples.contentTypes.list");
        assert.equal("params" in types.attributes, false);
        const articles = json.data.find(({ id }) => id === "examples.articles.list");
        assert.equal("required" in articles.attributes.params.page.attributes, false);
    });

    test("check-106: what the caller may not call is not there", async () => {
        const { json } = await get(server, methods);
        assert.equal(
            json.data.some(({ id }) => id === "test.admin"),
            false,
        );
        const texts = new Set();
        for (const id of ["test.admin", "nope", "rpc.discover"]) {
            const answer = await get(server, `${methods}/${id}`);
            assertRestError(answer, 404, "method_not_found");
            texts.add(answer.text);
        }
        assert.equal(texts.size, 1);
    });

    test("check-106: without permission to call it is 401, without that to list 403", async (t) => {
        const none = await startExamples({ roles: { anonymous: ["access content"] } });
        t.after(() => none.stop());
        const calls = { anonymous: ["access content", "use jsonrpc services"] };
        const callsOnly = await startExamples({ roles: calls });
        t.after(() => callsOnly.stop());
        for (const target of [methods, `${methods}/examples.articles.list`, `${methods}/nope`]) {
            const answer = await get(none, target);
            assertRestError(answer, 401, "unauthorized");
            assert.ok(answer.headers["www-authenticate"]);
            assertRestError(await get(callsOnly, target), 403, "access_denied");
        }
    });

    test("a cursor that is none of links.next is 400", async () => {
        for (const cursor of ["x", "NTA=", "MTAwMA==", "LTE="]) {
            assertRestError(await get(server, `${methods}?cursor=${cursor}`), 400, "invalid_cursor");
        }
    });

    test("more than 1,000 methods go on at links.next", async (t) => {
        const many = await startMany(2_100);
        t.after(() => many.stop());
        const ids = [];
        let target = methods;
        while (target) {
            const { json } = await get(many, target);
            assert.ok(json.data.length <= 1_000);
            ids.push(...json.data.map(({ id }) => id));
            target = json.links.next?.slice(many.url.length);
        }
        assert.deepEqual(
            ids,
            Array.from({ length: 2_100 }, (_, i) => toolName(i)),
        );
    });
});

suite("/.well-known/mcp.json", () => {
    let server;
    before(async () => (server = await startExamples({ roles: {} })));
    after(() => server?.stop());

    const endpoints = (base) => ({
        mcp: `${base}/mcp`,
        tools: `${base}/mcp/tools/list`,
        describe: `${base}/mcp/tools/describe`,
        invoke: `${base}/mcp/tools/invoke`,
        jsonrpc: `${base}/jsonrpc`,
        methods: `${base}/jsonrpc/methods`,
        serverCard: `${base}/mcp/server-card`,
    });

    test("row-D21: for everybody, with absolute addresses and all versions", async () => {
        const { status, headers, json } = await get(server, "/.well-known/mcp.json");
        assert.equal(status, 200);
        assert.equal(headers["content-type"], "application/json");
        assert.match(headers.etag, /^"[0-9a-f]{32}"$/);
        assert.match(json.version, /^\d+\.\d+\.\d+/);
        const { version, ...others } = json;
        assert.deepEqual(others, {
            name: "Causeway",
            capabilities: { tools: true, logging: true },
            protocolVersions: [modernVersion, ...legacyVersions],
            endpoints: endpoints(server.url),
        });
    });

    test("addresses are those of the checked Host, or of public_url", async (t) => {
        const local = await get(server, "/.well-known/mcp.json", { Host: "localhost:1" });
        assert.deepEqual(local.json.endpoints, endpoints("http://localhost:1"));
        const evil = await get(server, "/.well-known/mcp.json", { Host: "evil.example" });
        assertRestError(evil, 421, "misdirected_request");
        const url = "https://tools.example.org/causeway";
        const named = await startExamples({ config: { public_url: url } });
        t.after(() => named.stop());
        await untilTool(named, "examples.articles.list");
        const { json } = await get(named, "/.well-known/mcp.json");
        assert.deepEqual(json.endpoints, endpoints(url));
        const { json: method } = await get(named, `${methods}/examples.articles.list`);
        assert.equal(method.links.collection, `${url}${methods}`);
    });
});

test("an address has what a URL cannot hold escaped", async (t) => {
    const id = "a b?ü%20";
    const info = { title: "odd", version: "1" };
    const described = [{ name: id, params: [], result: { name: "r", schema: {} } }];
    const source = {
        name: "odd",
        url: "http://127.0.0.1:9/",
        openrpc: writeOpenRpc({ openrpc: "1.3.2", info, methods: described }),
        methods: [{ method: id, tool: false, expose_on_jsonrpc: true }],
    };
    const server = await startBridge({ plugins: [], config: { sources: [source] } });
    t.after(() => server.stop());
    const list = async () => (await get(server, methods)).json.data;
    await eventually(async () => (await list()).length === 1, "the method");
    const [{ links }] = await list();
    assert.equal(links.self, `${server.url}${methods}/a%20b%3F%C3%BC%2520`);
    assert.equal((await get(server, new URL(links.self).pathname)).json.id, id);
});
