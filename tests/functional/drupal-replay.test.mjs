// Every recorded request to the system that Causeway re-makes, sent to Causeway. Each difference
// between the answers must be one that support/differences.mjs explains, and each explanation must
// still be needed. docs/drupal-differences.md is written from what is found here:
//
//   CAUSEWAY_WRITE_DOCS=1 make test FILE=tests/functional/drupal-replay.test.mjs
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { basic, call, cli, databasePath, discover } from "./support/accounts.mjs";
import { Explanations, writePage } from "./support/differences.mjs";
import { untilTool } from "./support/mcp.mjs";
import { compilePlugin } from "./support/plugins.mjs";
import { root, writeConfig } from "./support/programs.mjs";
import { haveRecordings, readRecordings, readSequence, replay } from "./support/recordings.mjs";
import { startExamples } from "./support/rest.mjs";

const page = path.join(root, "docs", "drupal-differences.md");
const skip = haveRecordings ? false : "no recordings: set CAUSEWAY_TEST_DATA";

// What was on the recorded site.
const sql = `
    DELETE FROM nodes;
    DELETE FROM content_types WHERE id NOT IN ('article', 'page');
    INSERT INTO nodes (nid, type, title, published, created, body) VALUES
    (1, 'article', 'First article', 1, 1700000000, '<p>Hello world.</p><p>Second paragraph.</p>'),
    (2, 'article', 'Second article', 1, 1700000100, '<p>Other.</p>'),
    (3, 'article', 'Draft', 0, 1700000200, '<p>Draft.</p>'),
    (4, 'page', 'Page', 1, 1700000300, '<p>Page.</p>');
`;

// The 120 tools that were added for the recordings of pages.
function manySource() {
    const tools = Array.from({ length: 120 }, (_, i) => {
        const name = `many.tool${String(i).padStart(3, "0")}`;
        return `CW_METHOD(tool_${i}, "${name}", .usage = "Tool number ${i}",
          .permissions = {"access content"},
          .params = {{"text", .schema = CW_JSON({"type": "string", "maxLength": 64}),
                      .description = "Some text", .required = true},
                     {"count", .schema = CW_JSON({"type": "integer", "minimum": 0, "maximum": 100}),
                      .description = "A count"}},
          .output = CW_JSON({"type": "object", "properties": {"text": {"type": "string"},
                             "count": {"type": ["integer", "null"]}}}));
CW_TOOL(tool_${i}, .title = "Tool ${i}", .annotations = CW_JSON({"category": "many", "n": ${i}}));`;
    });
    const functions = tools.map((_, i) => `static void tool_${i}(cw_call *call) { cw_result_text(call, ""); }`);
    return `#include <causeway/plugin.h>
CW_PLUGIN("many", "1.0");
${functions.join("\n")}
${tools.join("\n")}
`;
}

const granted = [discover, call, "access content"];

suite("recorded requests", { skip }, () => {
    const explanations = new Explanations();
    let server;
    let full;
    let partial;
    let anybody;

    before(async () => {
        const store = { path: databasePath() };
        const roles = {
            anonymous: granted,
            authenticated: [],
            administrator: [...granted, "administer site configuration"],
            client: [call, "access content"],
        };
        const config = writeConfig({ roles, store });
        await cli(config, "account", "add", "admin", "--role", "administrator", { input: "admin\n" });
        await cli(config, "account", "add", "client", "--role", "client", { input: "c1ient\n" });
        const token = async (...scopes) => {
            const options = scopes.flatMap((scope) => ["--scope", scope]);
            const text = await cli(config, "token", "create", "client", "--json", ...options);
            return JSON.parse(text).token;
        };
        full = await token("tutorial:read", "tutorial:search");
        partial = await token("tutorial:read");
        // As in the recordings, an account has only what its own roles give.
        const access = { authenticated_only_own: true };
        server = await startExamples({ roles, config: { store, access }, sql });
        await untilTool(server, "examples.articles.list");
    });
    after(() => server?.stop());

    function assertExplained(found) {
        const open = found.flatMap((recording) =>
            explanations.explain(recording).map(({ where, theirs, ours }) => {
                const [left, right] = [JSON.stringify(theirs), JSON.stringify(ours)];
                return `${recording.folder}/${recording.name}: ${where}: ${left} is ${right} here`;
            }),
        );
        assert.deepEqual(open, []);
    }

    test("by anybody, who may do everything that is recorded", async () => {
        anybody = await replay(readRecordings("anon-granted-nocache"), server);
        assertExplained(anybody);
    });

    test("by an administrator, with a password", async () => {
        const login = basic("admin", "admin").Authorization;
        const found = await replay(readRecordings("admin-basic-nocache"), server, () => login);
        assertExplained(found);
        // The site refused most of these: the answers must be those that anybody gets, but for what
        // an administrator sees in addition.
        const more = found.filter(({ name, ours }) => {
            const other = anybody.find((one) => one.name === name).ours;
            return ours.status !== other.status || ours.text !== other.text;
        });
        assert.deepEqual(
            more.map(({ name }) => name).filter((name) => !/list|methods/.test(name)),
            ["79-rpc-access-denied-method"],
        );
    });

    test("with tokens of every sort", async () => {
        const damaged = full.slice(0, -1) + (full.endsWith("A") ? "B" : "A");
        const tokens = { full, partial, tampered: damaged, lowercase: full };
        const authorize = ({ name, request }) => {
            const given = request.headers.Authorization;
            const token = tokens[name.split("-")[0]];
            return token === undefined ? given : `${given.split(" ")[0]} ${token}`;
        };
        assertExplained(await replay(readRecordings("bearer-nocache"), server, authorize));
    });

    test("pages and cursors over 123 tools", async (t) => {
        const prepare = (folder) => compilePlugin(folder, "many", manySource());
        const many = await startExamples({ sql, prepare });
        t.after(() => many.stop());
        await untilTool(many, "examples.articles.list");
        await untilTool(many, "many.tool000");
        assertExplained(await replay(readRecordings("anon-granted-123tools"), many));
    });

    test("a wrong name does not spoil the description of a right one", async () => {
        for (const name of ["describe-cache-poison-1", "describe-cache-poison-2"]) {
            assertExplained(await replay(readSequence(name), server));
        }
    });

    test("every explanation is still needed", () => {
        assert.deepEqual(explanations.unused(), []);
    });

    test("docs/drupal-differences.md is current", () => {
        const text = writePage(explanations);
        if (process.env.CAUSEWAY_WRITE_DOCS && explanations.unused().length === 0) {
            writeFileSync(page, text);
        }
        assert.equal(readFileSync(page, "utf8"), text);
    });
});
