// Resources, prompts and completion through the MCP door, in both eras, and content of tools.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { databasePath } from "./support/accounts.mjs";
import {
    addPlugin,
    assertRpcError,
    assertToolError,
    callToolWell,
    extensions,
    initialize,
    legacy,
    metaKey,
    modern,
    startBridge,
} from "./support/mcp.mjs";
import { eventually, getJson } from "./support/server.mjs";

const codes = { params: -32602, noResource: -32002 };
let server;
let plain;
before(async () => {
    [server, plain] = await Promise.all([
        startBridge({ plugins: ["conformance"] }),
        startBridge({ plugins: ["echo"] }),
    ]);
});
after(() => Promise.all([server?.stop(), plain?.stop()]));

const eras = { modern, legacy };

// The result of a request that must work, in its era's form.
async function result(era, method, params) {
    const { status, json, text } = await eras[era](server, method, params);
    assert.equal(status, 200, text);
    assert.ok(json?.result, text);
    assert.equal("resultType" in json.result, era === "modern", text);
    if (era === "modern") {
        assert.equal(json.result.resultType, "complete");
        assert.ok(json.result._meta[metaKey("serverInfo")].name);
    }
    return json.result;
}

for (const era of Object.keys(eras)) {
    suite(`${era} resources`, { concurrency: true }, () => {
        test("are listed with what their source says of them", async () => {
            const list = await result(era, "resources/list");
            const first = list.resources.find(({ uri }) => uri === "test://static-text");
            assert.deepEqual(first, {
                uri: "test://static-text",
                name: "static-text",
                title: "Static text",
                mimeType: "text/plain",
                description: "A text that stays.",
                annotations: { audience: ["user", "assistant"], priority: 0.5 },
            });
            assert.equal("ttlMs" in list, era === "modern");
            const uris = list.resources.map(({ uri }) => uri);
            assert.deepEqual(uris, [...uris].sort());
        });

        test("have templates in a list of their own", async () => {
            const { resourceTemplates } = await result(era, "resources/templates/list");
            assert.deepEqual(
                resourceTemplates.map(({ uriTemplate }) => uriTemplate),
                ["test://template/{id}/data"],
            );
        });

        test("are read as text, as bytes and through a template", async () => {
            const text = await result(era, "resources/read", { uri: "test://static-text" });
            assert.deepEqual(text.contents, [
                {
                    uri: "test://static-text",
                    mimeType: "text/plain",
                    text: "This is the content of the static text resource.",
                },
            ]);
            const bytes = await result(era, "resources/read", { uri: "test://static-binary" });
            assert.equal(bytes.contents[0].mimeType, "image/png");
            const png = Buffer.from(bytes.contents[0].blob, "base64");
            assert.equal(png.toString("latin1", 1, 4), "PNG");
            const uri = "test://template/a%20b/data";
            const { contents } = await result(era, "resources/read", { uri });
            assert.equal(contents[0].uri, uri);
            assert.equal(contents[0].mimeType, "application/json");
            assert.equal(JSON.parse(contents[0].text).id, "a b");
        });

        test("that are not there are an error with their address", async () => {
            const code = era === "modern" ? codes.params : codes.noResource;
            for (const uri of ["test://nothing", "test://template//data", "", "test://template/a/b/data"]) {
                const answer = await eras[era](server, "resources/read", { uri });
                const { data } = assertRpcError(answer, 200, code, 1);
                assert.deepEqual(data, { uri });
            }
        });

        test("need an address", async () => {
            for (const uri of [undefined, null, 1, ["x"]]) {
                const params = { uri };
                const answer = await eras[era](server, "resources/read", params, {
                    headers: { "Mcp-Name": undefined },
                });
                assertRpcError(answer, 200, codes.params, 1);
            }
        });
    });

    suite(`${era} prompts`, { concurrency: true }, () => {
        test("are listed with their arguments", async () => {
            const { prompts } = await result(era, "prompts/list");
            const one = prompts.find(({ name }) => name === "test_prompt_with_arguments");
            assert.deepEqual(one, {
                name: "test_prompt_with_arguments",
                description: "A prompt with arguments.",
                arguments: [
                    { name: "arg1", description: "First test argument", required: true },
                    { name: "arg2", description: "Second test argument", required: true },
                ],
            });
        });

        test("become messages", async () => {
            const simple = await result(era, "prompts/get", { name: "test_simple_prompt" });
            assert.equal(simple.description, "A prompt without arguments.");
            assert.deepEqual(simple.messages, [
                {
                    role: "user",
                    content: { type: "text", text: "This is a simple prompt for testing." },
                },
            ]);
            const { messages } = await result(era, "prompts/get", {
                name: "test_prompt_with_arguments",
                arguments: { arg1: "one", arg2: 'two "2"' },
            });
            assert.equal(messages[0].content.text, `Prompt with arguments: arg1='one', arg2='two "2"'`);
            const picture = await result(era, "prompts/get", { name: "test_prompt_with_image" });
            assert.deepEqual(
                picture.messages.map(({ role, content }) => [role, content.type, "role" in content]),
                [
                    ["user", "image", false],
                    ["user", "text", false],
                ],
            );
        });

        test("that are not there, or are asked for wrongly, are -32602", async () => {
            const wrong = [
                { name: "nothing" },
                { name: "test_prompt_with_arguments" },
                { name: "test_prompt_with_arguments", arguments: { arg1: "x" } },
                { name: "test_prompt_with_arguments", arguments: { arg1: "x", arg2: "y", z: "z" } },
                { name: "test_simple_prompt", arguments: [] },
                { name: "test_static_text" },
            ];
            for (const params of wrong) {
                const answer = await eras[era](server, "prompts/get", params);
                assertRpcError(answer, 200, codes.params, 1);
            }
        });
    });

    suite(`${era} completion`, { concurrency: true }, () => {
        const complete = async (ref, argument, context) =>
            (await result(era, "completion/complete", { ref, argument, context })).completion;
        const prompt = { type: "ref/prompt", name: "test_prompt_with_arguments" };
        const template = { type: "ref/resource", uri: "test://template/{id}/data" };

        test("asks the source of a prompt", async () => {
            assert.deepEqual(await complete(prompt, { name: "arg1", value: "par" }), {
                values: ["paris", "park", "party"],
                total: 3,
                hasMore: false,
            });
        });

        test("gives at most 100 values", async () => {
            const all = await complete(template, { name: "id", value: "" });
            assert.equal(all.values.length, 100);
            assert.deepEqual([all.total, all.hasMore], [250, true]);
        });

        test("has nothing for an argument that nobody completes", async () => {
            const none = { values: [], total: 0, hasMore: false };
            assert.deepEqual(await complete(prompt, { name: "arg2", value: "" }), none);
            const resource = { type: "ref/resource", uri: "test://static-text" };
            assert.deepEqual(await complete(resource, { name: "x", value: "" }), none);
        });

        test("refuses what does not exist", async () => {
            const good = { name: "arg1", value: "" };
            const wrong = [
                { ref: { type: "ref/prompt", name: "nothing" }, argument: good },
                { ref: { type: "ref/tool", name: "first_tool" }, argument: good },
                { ref: prompt, argument: { name: "arg3", value: "" } },
                { ref: prompt, argument: { name: "arg1" } },
                { ref: prompt },
                { argument: good },
                {},
            ];
            for (const params of wrong) {
                const answer = await eras[era](server, "completion/complete", params);
                assertRpcError(answer, 200, codes.params, 1);
            }
        });
    });
}

suite("content of tools", { concurrency: true }, () => {
    test("takes the place of the text", async () => {
        const image = await callToolWell(server, "test_image_content", {});
        assert.equal(image.content.length, 1);
        assert.equal(image.content[0].type, "image");
        assert.equal("structuredContent" in image, false);
        const mixed = await callToolWell(server, "test_multiple_content_types", {});
        assert.deepEqual(
            mixed.content.map(({ type }) => type),
            ["text", "image", "resource"],
        );
        const link = await callToolWell(server, "test_resource_link", {});
        assert.deepEqual(link.content[0].annotations, { audience: ["user"], priority: 0.5 });
    });

    test("does not hide an error", async () => {
        const answer = await modern(server, "tools/call", { name: "test_error_handling" });
        assertToolError(answer, /intentionally/);
    });
});

suite("what the server says of itself", { concurrency: true }, () => {
    const listChanged = true;
    // What /.well-known/mcp.json names.
    const named = async (to) => {
        const { capabilities } = await getJson(to, "/.well-known/mcp.json");
        assert.ok(Object.values(capabilities).every((one) => one === true));
        return Object.keys(capabilities);
    };

    test("names what the caller can use", async () => {
        const all = {
            tools: { listChanged },
            logging: {},
            prompts: { listChanged },
            resources: { listChanged, subscribe: true },
            completions: {},
        };
        const { json } = await initialize(server, "2025-11-25");
        assert.deepEqual(json.result.capabilities, all);
        assert.deepEqual((await result("modern", "server/discover")).capabilities, { ...all, extensions });
        assert.deepEqual(await named(server), Object.keys(all));
    });

    test("does not name what there is none of", async () => {
        const few = { tools: { listChanged }, logging: {} };
        const { json } = await initialize(plain, "2025-11-25");
        assert.deepEqual(json.result.capabilities, few);
        const discovered = await modern(plain, "server/discover");
        assert.deepEqual(discovered.json.result.capabilities, { ...few, extensions });
        assert.deepEqual(await named(plain), Object.keys(few));
    });

    test("follows the catalogue and what the anonymous may see, in the well-known document", async (t) => {
        const own = await startBridge({ plugins: ["echo"] });
        t.after(() => own.stop());
        const has = async (name) => (await named(own)).includes(name);
        assert.equal(await has("prompts"), false);
        addPlugin(own.plugins, "conformance");
        await eventually(() => has("prompts"), "prompts");
        await eventually(() => has("resources"), "resources"); // each loop learns of it by itself
        const blind = await startBridge({ plugins: ["conformance"], roles: {} });
        t.after(() => blind.stop());
        assert.deepEqual(await named(blind), ["tools", "logging"]);
    });

    test("answers lists of which there is nothing", async () => {
        const { json } = await modern(plain, "prompts/list");
        assert.deepEqual(json.result.prompts, []);
    });
});

suite("somebody without permissions", { concurrency: true }, () => {
    test("is refused, whatever it names", async (t) => {
        const roles = { anonymous: [] };
        const [closed, without] = await Promise.all(
            [{ store: { path: databasePath() } }, {}].map((config) =>
                startBridge({ plugins: ["conformance"], roles, config }),
            ),
        );
        t.after(() => Promise.all([closed.stop(), without.stop()]));
        const asks = [
            ["prompts/list", {}],
            ["resources/list", {}],
            ["resources/templates/list", {}],
            ["prompts/get", { name: "test_simple_prompt" }],
            ["prompts/get", { name: "nothing" }],
            ["resources/read", { uri: "test://static-text" }],
            ["resources/read", { uri: "test://nothing" }],
            ["completion/complete", { ref: { type: "ref/prompt", name: "nothing" } }],
        ];
        for (const [method, params] of asks) {
            const answer = await modern(closed, method, params);
            assertRpcError(answer, 401, -32000, 1);
            // No challenge where it would lead nowhere.
            const other = await modern(without, method, params);
            assert.equal(other.headers.get("www-authenticate"), null);
            if (method.endsWith("/list")) {
                const [empty] = Object.values(other.json.result).filter(Array.isArray);
                assert.deepEqual(empty, [], other.text);
            } else {
                assert.match(assertRpcError(other, 200, -32000, 1).message, /^This request requires a login/);
            }
        }
        const { json } = await modern(without, "server/discover");
        assert.deepEqual(Object.keys(json.result.capabilities), ["tools", "logging", "extensions"]);
    });
});

suite("content that a version does not have", { concurrency: true }, () => {
    const typesOf = async (name, version) => {
        const { json, text } = await legacy(server, "tools/call", { name }, { version });
        assert.ok(json?.result?.content, text);
        return json.result.content;
    };

    test("is a text for its clients: links before 2025-06-18", async () => {
        const now = await typesOf("test_resource_link", "2025-06-18");
        const link = now.find(({ type }) => type === "resource_link");
        for (const version of ["2025-03-26", "2024-11-05", undefined]) {
            const content = await typesOf("test_resource_link", version);
            assert.ok(!content.some(({ type }) => type === "resource_link"), version);
            const texts = content.filter(({ type }) => type === "text").map(({ text }) => text);
            assert.ok(texts.includes(link.uri), JSON.stringify(content));
        }
    });

    test("is a text for its clients: sounds before 2025-03-26", async () => {
        const [sound] = await typesOf("test_audio_content", "2025-03-26");
        assert.equal(sound.type, "audio");
        const [instead] = await typesOf("test_audio_content", "2024-11-05");
        assert.deepEqual(instead, { type: "text", text: sound.mimeType });
    });
});
