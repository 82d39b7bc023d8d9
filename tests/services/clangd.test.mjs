// clangd: a child process that speaks the language server protocol.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { workersOf } from "../functional/support/mcp.mjs";
import {
    call,
    callFails,
    connect,
    described,
    eventually,
    makeFolder,
    startRecipe,
    testsOf,
    toolsOf,
    works,
} from "./support/services.mjs";

const test = testsOf({ clangd: "clangd" });

const text = `/* The answer to everything. */
int answer(void) { return 42; }

int main(void) { return answer(); }
`;

const start = async (t) => {
    const folder = makeFolder("project");
    // The machine may stand still for longer than the recipe waits for an answer.
    const bridge = await startRecipe(t, "clangd", { "/srv/project": folder, "timeout: 20s": "timeout: 60s" });
    const uri = pathToFileURL(path.join(folder, "main.c")).href;
    return { bridge, uri, client: await connect(t, bridge) };
};

const document = (uri) => ({ textDocument: { uri, languageId: "c", version: 1, text } });
const at = (uri, line, character) => ({ textDocument: { uri }, position: { line, character } });

test("clangd: what language servers have in common is found", async (t) => {
    const { bridge, client } = await start(t);
    const found = await described(bridge, "clangd");
    assert.equal(found["textDocument/didOpen"]["x-notification"], true);
    assert.deepEqual(
        found["textDocument/hover"].params.map(({ name, required }) => [name, required]),
        [
            ["textDocument", true],
            ["position", true],
        ],
    );
    const tools = await toolsOf(client);
    const names = ["close", "definition", "hover", "open", "references", "symbols"];
    assert.deepEqual(
        Object.keys(tools).sort(),
        names.map((name) => `code.${name}`),
    );
    assert.deepEqual(tools["code.hover"].inputSchema.required, ["textDocument", "position"]);
    assert.equal(tools["code.hover"].annotations.readOnlyHint, true);
});

test("clangd: a document is opened, asked about and closed", async (t) => {
    const { client, uri } = await start(t);
    await call(client, "code.open", document(uri));
    const symbols = await call(client, "code.symbols", { textDocument: { uri } });
    assert.deepEqual(
        symbols.map(({ name }) => name),
        ["answer", "main"],
    );
    const hover = await call(client, "code.hover", at(uri, 3, 25));
    assert.match(JSON.stringify(hover.contents), /The answer to everything/);
    const [definition] = await call(client, "code.definition", at(uri, 3, 25));
    assert.equal(definition.range.start.line, 1);
    const references = await call(client, "code.references", {
        ...at(uri, 1, 5),
        context: { includeDeclaration: false },
    });
    assert.equal(references.length, 1);
    await call(client, "code.close", { textDocument: { uri } });
    await callFails(client, "code.symbols", { textDocument: { uri } }, /document/);
});

test("clangd: errors are readable", async (t) => {
    const { client, uri } = await start(t);
    await callFails(client, "code.symbols", { textDocument: { uri } }, /non-added document/);
    await callFails(client, "code.symbols", {}, /textDocument/);
    await callFails(client, "code.hover", at(uri, -1, 0), /line/);
    await callFails(client, "code.open", { textDocument: { uri } }, /languageId/);
});

test("clangd: its process is started again after it ended, and ends with causeway", async (t) => {
    const { bridge, client, uri } = await start(t);
    await call(client, "code.open", document(uri));
    const [first] = workersOf(bridge);
    process.kill(first, "SIGKILL");
    await bridge.untilLogged(/connection ended/);
    const opens = () => works(bridge, "code.open", document(uri));
    await eventually(opens, "a document can be opened", 10_000);
    const asks = () => works(bridge, "code.symbols", { textDocument: { uri } });
    await eventually(asks, "it answers", 10_000);
    const [second] = workersOf(bridge);
    assert.notEqual(second, first);
    t.after(() => {
        const left = readdirSync("/proc").filter((pid) => pid === String(second));
        const name = left.map((pid) => readFileSync(`/proc/${pid}/comm`, "latin1"));
        assert.deepEqual(name, []);
    });
});
