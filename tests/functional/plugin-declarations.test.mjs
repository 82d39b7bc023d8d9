// What the declarations of a plugin mean, and what is reported when one is wrong: by `plugin check`
// and in the log of a server.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { callTool, modern, permissions, startBridge, untilTool } from "./support/mcp.mjs";
import { compilePlugin, newFolder } from "./support/plugins.mjs";
import { runCauseway } from "./support/programs.mjs";

// A plugin with these declarations, in which `run` is a function that can be declared.
const source = (name, declarations) => `#include <causeway/plugin.h>
CW_PLUGIN("${name}", "1.0");
#define RUN(f) static void f(cw_call *call) { cw_result_text(call, "ran"); }
${declarations}`;

const compile = (name, declarations) =>
    compilePlugin(newFolder(name), name, source(name, declarations));

async function check(file, ...options) {
    const { code, stdout, stderr } = await runCauseway(["plugin", "check", ...options, file]);
    return { code, stdout, stderr, lines: stderr.split("\n") };
}

suite("annotations of a tool", () => {
    const declarations = `
RUN(plain) CW_METHOD(plain, "lenient.plain", .permissions = {"access content"});
CW_TOOL(plain, .annotations = "{}");
RUN(locked) CW_METHOD(locked, "lenient.locked", .permissions = {"access content"});
CW_TOOL(locked, .annotations = CW_JSON({"auth": {"level": "required"}}));
RUN(same) CW_METHOD(same, "lenient.same", .permissions = {"access content"});
CW_TOOL(same, .auth_level = "required");
RUN(page) CW_METHOD(page, "lenient.page", .permissions = {"access content"});
CW_RESOURCE(page, .uri = "test://page", .annotations = "{}");
`;

    test("that are empty are left out, and a level of auth needs no scopes", async (t) => {
        const server = await startBridge({ plugins: [], roles: { anonymous: permissions } });
        t.after(() => server.stop());
        compilePlugin(server.plugins, "lenient", source("lenient", declarations));
        await untilTool(server, "lenient.plain");
        const { tools } = (await modern(server, "tools/list")).json.result;
        const tool = (name) => tools.find((one) => one.name === name);
        assert.ok(!("annotations" in tool("lenient.plain")));
        const { resources } = (await modern(server, "resources/list")).json.result;
        assert.ok(!("annotations" in resources.find(({ uri }) => uri === "test://page")));
        assert.equal((await callTool(server, "lenient.plain", {})).status, 200);
        const [locked, same] = [
            await callTool(server, "lenient.locked", {}),
            await callTool(server, "lenient.same", {}),
        ];
        assert.equal(locked.status, 401);
        assert.equal(locked.status, same.status);
        assert.equal(locked.text.replaceAll("locked", "same"), same.text);
    });

    test("auth that names neither scopes nor a level is refused", async () => {
        const file = compile("open", `RUN(a) CW_METHOD(a, "open.a");
CW_TOOL(a, .annotations = CW_JSON({"auth": {"description": "who knows"}}));`);
        const { code, stderr } = await check(file);
        assert.equal(code, 1);
        assert.match(stderr, /^open: method 'open\.a': annotations\.auth: scopes or level is needed$/m);
    });
});
