// Runs the examples of docs/http-api.md: each request block and the answer block behind it.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { untilSources } from "./support/mcp.mjs";
import { root } from "./support/programs.mjs";
import { send, startExamples } from "./support/rest.mjs";
import { examplesPo, makeTranslations } from "./support/translations.mjs";

const file = path.join(root, "docs", "http-api.md");
const page = readFileSync(file, "utf8");
const blocks = [...page.matchAll(/^```http\n(.*?)^```$/gms)].map(([, text]) => text);

// The first line, the headers, and the body without line breaks.
function take(block) {
    const [head, body = ""] = block.split("\n\n");
    const [first, ...lines] = head.trimEnd().split("\n");
    const headers = Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2)));
    return { first, headers, body: body.replaceAll("\n", "") };
}

// "…" stands for any bytes.
function assertLike(text, expected) {
    const parts = expected.split("…").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    assert.match(text, new RegExp(`^${parts.join(".*")}$`, "s"));
}

let server;
before(async () => {
    const folder = makeTranslations({ "de.mo": examplesPo("de") });
    server = await startExamples({ config: { translations: { directory: folder } } });
    await untilSources(server, 1);
});
after(() => server?.stop());

test("every request block has its answer", () => {
    assert.ok(blocks.length >= 30);
    assert.equal(blocks.length % 2, 0);
    blocks.forEach((block, i) => {
        assert.equal(block.startsWith("HTTP/1.1 "), i % 2 === 1, block);
    });
});

for (let i = 0; i + 1 < blocks.length; i += 2) {
    const { first, headers, body } = take(blocks[i]);
    test(`${first} (example ${i / 2 + 1})`, async () => {
        const [method, target] = first.split(" ");
        const answer = await send(server, method, target, { headers, body });
        const expected = take(blocks[i + 1]);
        assert.equal(String(answer.status), expected.first.split(" ")[1], answer.text);
        for (const [name, value] of Object.entries(expected.headers)) {
            assert.equal(answer.headers[name.toLowerCase()], value, name);
        }
        assertLike(answer.text, expected.body);
    });
}

test("every error code that these doors give is in the table", () => {
    const documented = [...page.matchAll(/^\| \d{3} \| `([a-z_]+)` \|/gm)].map(([, code]) => code);
    const folder = path.join(root, "src", "door", "rest");
    const given = new Set();
    for (const name of readdirSync(folder).filter((one) => one.endsWith(".c"))) {
        const text = readFileSync(path.join(folder, name), "utf8");
        for (const [, code] of text.matchAll(/fail\((?:req|item), \d+, "([a-z_]+)"/g)) {
            given.add(code);
        }
    }
    assert.ok(given.size >= 8, [...given].join());
    given.forEach((code) => assert.ok(documented.includes(code), code));
});
