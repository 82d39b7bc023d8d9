// GET /mcp/tools/list and /mcp/tools/describe.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { ownName, permissions, post as postMcp } from "./support/mcp.mjs";
import { eventually } from "./support/server.mjs";
import { allPages, assertRestError, get, send, startExamples, startMany, toolName } from "./support/rest.mjs";

const examples = ["examples.article.toMarkdown", "examples.articles.list", "examples.contentTypes.list"];
const list = "/mcp/tools/list";
const describe = (name) => `/mcp/tools/describe?name=${encodeURIComponent(name)}`;
const base64 = (text) => Buffer.from(text).toString("base64");

suite("the example tools", () => {
    let server;
    before(async () => {
        server = await startExamples();
        await eventually(async () => (await get(server, list)).json.tools.length === examples.length, "the tools");
    });
    after(() => server?.stop());

    test("check-45, check-46, check-47, check-51, check-55: one page as plain JSON", async () => {
        const { status, headers, json } = await get(server, list);
        assert.equal(status, 200);
        assert.equal(headers["content-type"], "application/json");
        assert.deepEqual(Object.keys(json), ["tools", "nextCursor"]);
        assert.ok(Array.isArray(json.tools));
        assert.equal(json.nextCursor, null);
    });

    test("row-D7: nextCursor is null here and left out in the protocol", async () => {
        const { json } = await postMcp(server, "/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" });
        assert.equal("nextCursor" in json.result, false);
        assert.ok("nextCursor" in (await get(server, list)).json);
    });

    test("check-42, check-48, check-50: the three tools, nothing unmarked, each in shape", async () => {
        const { json } = await get(server, list);
        assert.deepEqual(
            json.tools.map(({ name }) => name),
            examples,
        );
        for (const tool of json.tools) {
            assert.equal(typeof tool.name, "string");
            assert.equal(typeof tool.description, "string");
            assert.equal(tool.inputSchema.type, "object");
            assert.equal(Array.isArray(tool.inputSchema.properties), false);
        }
    });

    test("check-49, row-D10, fault-B17: contentTypes.list to the letter", async () => {
        const { json } = await get(server, list);
        const tool = json.tools.find(({ name }) => name === "examples.contentTypes.list");
        assert.equal(tool.description, "Lists all available content types");
        assert.equal(tool.title, "List Content Types");
        assert.deepEqual(tool.inputSchema, { type: "object", properties: {} });
        assert.equal(tool.outputSchema.type, "array");
        const order = ["name", "description", "inputSchema", "outputSchema", "title", "annotations"];
        assert.deepEqual(Object.keys(tool), order);
    });

    test("auth is shown as it was declared", async () => {
        const { json } = await get(server, list);
        const tool = json.tools.find(({ name }) => name === "examples.contentTypes.list");
        assert.deepEqual(tool.annotations.auth.scopes, ["tutorial:read", "tutorial:search"]);
        assert.equal(tool.annotations.auth.level, "required");
        for (const { annotations: { auth } = {} } of json.tools) {
            assert.ok(auth === undefined || Array.isArray(auth.scopes));
        }
    });

    test("check-56, check-60: describe gives the entry of the list", async () => {
        const { json: all } = await get(server, list);
        for (const tool of all.tools) {
            const { status, headers, json } = await get(server, describe(tool.name));
            assert.equal(status, 200);
            assert.equal(headers["content-type"], "application/json");
            assert.deepEqual(json, { tool });
        }
    });

    test("row-D9: outputSchema is optional", async () => {
        const { json } = await get(server, describe("examples.article.toMarkdown"));
        assert.equal(json.tool.outputSchema.type, "string");
    });

    test("check-58, row-D8: an unknown name is 404", async () => {
        const answer = await get(server, describe("invalid.name"));
        const error = assertRestError(answer, 404, "tool_not_found");
        assert.equal(error.message, "Tool 'invalid.name' not found or access denied");
    });

    test("check-59: without a name it is 400", async () => {
        for (const query of ["", "?", "?name", "?name=", "?name=0", "?Name=x", "?names=x"]) {
            const answer = await get(server, `/mcp/tools/describe${query}`);
            const error = assertRestError(answer, 400, "missing_parameter");
            assert.equal(error.message, 'Required parameter "name" is missing');
        }
        for (const query of ["?name=a&name=b", "?name[]=a", "?name=%zz"]) {
            assertRestError(await get(server, `/mcp/tools/describe${query}`), 400, "invalid_arguments");
        }
    });

    test("an overlong name is cut in the answer, at a character", async () => {
        const name = "ž".repeat(1_000);
        const error = assertRestError(await get(server, describe(name)), 404, "tool_not_found");
        assert.equal(error.message, `Tool '${"ž".repeat(64)}…' not found or access denied`);
    });

    test("fault-B15: other verbs are 405 and say which there are", async () => {
        for (const target of [list, "/mcp/tools/describe", "/jsonrpc/methods", "/.well-known/mcp.json"]) {
            for (const method of ["PUT", "DELETE", "PATCH"]) {
                const answer = await send(server, method, target);
                assertRestError(answer, 405, "method_not_allowed");
                assert.match(answer.headers.allow, /\bGET\b/);
            }
        }
        const answer = await get(server, "/mcp/tools/invoke");
        assertRestError(answer, 405, "method_not_allowed");
        assert.match(answer.headers.allow, /\bPOST\b/);
    });

    test("HEAD has the headers of GET and no body", async () => {
        const whole = await get(server, list);
        const { status, headers, text } = await send(server, "HEAD", list);
        assert.equal(status, 200);
        assert.equal(text, "");
        for (const name of ["etag", "cache-control", "vary", "content-length", "content-type"]) {
            assert.equal(headers[name], whole.headers[name], name);
        }
    });

    test("row-D18: a client of the protocol that was given this address works", async () => {
        const stream = await get(server, list, { Accept: "text/event-stream" });
        assertRestError(stream, 405, "method_not_allowed");
        assert.match(stream.headers.allow, /POST/);
        for (const accept of ["*/*", "application/json", "application/json, text/event-stream"]) {
            assert.equal((await get(server, list, { Accept: accept })).status, 200);
        }
        const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
        const { status, json } = await postMcp(server, list, body);
        assert.equal(status, 200);
        // Nobody can log in here: the one that needs a login is listed by REST alone.
        assert.deepEqual(json.result.tools.map(ownName), examples.slice(0, 2));
    });

    test("wrong credentials are 401 before anything else", async () => {
        for (const target of [list, describe("nope"), "/jsonrpc/methods", `${list}?cursor=x`]) {
            const answer = await get(server, target, { Authorization: "Bearer garbage" });
            assertRestError(answer, 401, "unauthorized");
            assert.match(answer.headers["www-authenticate"], /error="invalid_token"/);
        }
    });
});

suite("who may see what", () => {
    const start = (roles) => startExamples({ plugins: ["echo"], roles });

    test("check-54, check-57, check-86, row-D2: without the permission it is 403, for every name", async (t) => {
        const server = await start({ anonymous: ["use jsonrpc services", "access content"] });
        t.after(() => server.stop());
        const texts = new Set();
        for (const target of [list, describe("examples.articles.list"), describe("nope")]) {
            const answer = await get(server, target);
            assertRestError(answer, 403, "access_denied");
            texts.add(answer.text);
        }
        assert.equal(texts.size, 1);
    });

    test("check-41, check-43, fault-B4: forbidden is as unknown, to the byte", async (t) => {
        const server = await start({ anonymous: ["access mcp tool discovery"] });
        t.after(() => server.stop());
        assert.deepEqual((await get(server, list)).json, { tools: [], nextCursor: null });
        const [forbidden, unknown] = await Promise.all([
            get(server, describe("examples.articles.list")),
            get(server, describe("examples.articlez.list")),
        ]);
        assertRestError(forbidden, 404, "tool_not_found");
        assert.equal(forbidden.text.replace("articles", "articlez"), unknown.text);
        const plain = ({ headers: { date, "x-request-id": id, ...others } }) => others;
        assert.deepEqual(plain(forbidden), plain(unknown));
    });

    test("check-41: an unmarked method is not listed, whoever asks", async (t) => {
        const server = await start({ anonymous: [...permissions, "administer site"] });
        t.after(() => server.stop());
        const read = async () => (await allPages(server)).map(({ name }) => name);
        const names = await eventually(async () => {
            const all = await read();
            return all.includes("test.admin") && all;
        }, "test.admin");
        assert.equal(names.includes("test.unmarked"), false);
        assertRestError(await get(server, describe("test.unmarked")), 404, "tool_not_found");
    });
});

suite("pages", () => {
    let server;
    before(async () => (server = await startMany(120)));
    after(() => server?.stop());

    test("check-52, row-D6: following the cursors gives every tool once, in order", async () => {
        const sizes = [];
        const cursors = [];
        const tools = await allPages(server, ({ json }) => {
            sizes.push(json.tools.length);
            cursors.push(json.nextCursor);
        });
        assert.deepEqual(sizes, [50, 50, 20]);
        assert.deepEqual(cursors, ["NTA=", "MTAw", null]);
        assert.deepEqual(
            tools.map(({ name }) => name),
            Array.from({ length: 120 }, (_, i) => toolName(i)),
        );
    });

    test("row-D5: a cursor may have padding or not, and stand empty for page one", async () => {
        const [padded, plain, escaped] = await Promise.all(
            ["NTA=", "NTA", "NTA%3D"].map((cursor) => get(server, `${list}?cursor=${cursor}`)),
        );
        assert.equal(padded.json.tools[0].name, toolName(50));
        assert.equal(plain.text, padded.text);
        assert.equal(escaped.text, padded.text);
        const first = await get(server, list);
        for (const query of ["?cursor=", "?cursor", "?", "?x=1", "?cursor=MA=="]) {
            assert.equal((await get(server, list + query)).text, first.text, query);
        }
    });

    test("any offset begins a page; behind the end it is empty", async () => {
        const { json } = await get(server, `${list}?cursor=${base64("7")}`);
        assert.equal(json.tools[0].name, toolName(7));
        assert.equal(json.nextCursor, base64("57"));
        for (const offset of ["120", "121", "1000000", "9223372036854775807"]) {
            const { status, json: end } = await get(server, `${list}?cursor=${base64(offset)}`);
            assert.equal(status, 200);
            assert.deepEqual(end, { tools: [], nextCursor: null });
        }
    });

    test("row-D5, fault-B16: every other cursor is 400, none is page one again", async () => {
        const wrong = ["abc", "!!!", "NTB4", "MWU5", "LTEw", "NTB", "NTA==", "MDUw", "IDUw", "%00"];
        const far = ["9223372036854775808", "18446744073709551616", "-1", "+1", "0x10", "1.0", " 1"];
        for (const cursor of [...wrong, ...far.map(base64)]) {
            const answer = await get(server, `${list}?cursor=${cursor.replaceAll("+", "%2B")}`);
            assertRestError(answer, 400, "invalid_cursor");
        }
        for (const query of ["?cursor[]=x", "?cursor[0]=NTA=", "?cursor=NTA=&cursor=NTA=", "?cursor=%zz"]) {
            assertRestError(await get(server, list + query), 400, "invalid_cursor");
        }
    });

    test("page_size is configurable", async (t) => {
        const small = await startMany(7, { page_size: 3 });
        t.after(() => small.stop());
        const sizes = [];
        await allPages(small, ({ json }) => sizes.push(json.tools.length));
        assert.deepEqual(sizes, [3, 3, 1]);
    });
});
