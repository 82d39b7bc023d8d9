// How a run is judged and shown: the steps that worked, the fault behind the rest, and the table.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { errorText, expected, judge, reportOf } from "./judge.mjs";
import { script } from "./model.mjs";
import { revisionOf } from "./recorder.mjs";
import { formatTable, replaceTable } from "./table.mjs";

const schema = { type: "object" };
const name = "examples__article__toMarkdown";
const framework = { id: "f", title: "F", api: "openai-chat" };
const record = (more = {}) => ({
    requests: [{ api: "openai-chat", tools: [name] }],
    rejections: [],
    seen: `${expected.result} ${expected.error}`,
    ...more,
});
const run = (more = {}) => ({
    code: 0,
    stdout: script.answer,
    output: script.answer,
    record: record(),
    tools: [{ name, schema }],
    ...more,
});

suite("a framework", () => {
    test("works if the model saw list, result and error, and the answer arrived", () => {
        const { works, problem } = judge(framework, run());
        assert.deepEqual(works, ["list", "call", "tool error", "answer"]);
        assert.equal(problem, null);
    });

    test("a step that is missing is a problem of unknown origin", () => {
        const { works, whose, problem } = judge(framework, run({ record: record({ seen: expected.result }) }));
        assert.deepEqual(works, ["list", "call", "answer"]);
        assert.equal(whose, "unknown");
        assert.match(problem, /^no tool error: /);
    });

    test("a program that failed has given no answer", () => {
        const { whose, problem } = judge(framework, run({ code: 1, output: "ValueError: no\n" }));
        assert.deepEqual([whose, problem], ["unknown", "no answer: ValueError: no"]);
    });

    test("a known fault of the client is the client's", () => {
        const faults = [{ step: "tool error", text: /hidden/, note: "hides errors" }];
        const missing = { record: record({ seen: expected.result }) };
        const { whose, problem, isKnown } = judge(
            { ...framework, faults },
            run({ ...missing, output: `${script.answer} hidden` }),
        );
        assert.deepEqual([whose, problem, isKnown], ["client", "hides errors", true]);
        const other = judge({ ...framework, faults }, run(missing));
        assert.deepEqual([other.whose, other.isKnown], ["unknown", undefined]);
    });

    test("a session that is gone is the server's fault", () => {
        const transcript = '> {"id":1}\n< {"error":{"message":"Session not found"},"id":1}\n';
        const { whose, problem } = judge(framework, run({ record: record({ seen: "" }), transcript }));
        assert.deepEqual([whose, problem], ["Causeway", "Session not found"]);
    });

    test("a tool of the recipe counts where the server has it", () => {
        const tools = [
            { name, schema },
            { name: "aria2__getVersion", schema },
        ];
        assert.match(judge(framework, run({ tools, transport: "http" })).problem, /^no recipe: /);
        assert.equal(judge(framework, run({ tools, transport: "restart" })).problem, null);
        const seen = `${expected.result} ${expected.error} ${expected.recipe}`;
        const { works, problem } = judge(framework, run({ tools, transport: "http", record: record({ seen }) }));
        assert.deepEqual([works[3], problem], ["recipe", null]);
    });

    test("after a restart, one session for all calls is a step, and a must for some", () => {
        const call = (session) =>
            `> POST /mcp ${JSON.stringify({ "mcp-session-id": session })}\n> {"method":"tools/call"}\n< 200 {}\n`;
        const judged = (transcript, more = {}) =>
            judge({ ...framework, ...more }, run({ transport: "restart", transcript }));
        assert.equal(judged(call("a") + call("a")).works.at(-1), "same session");
        assert.equal(judged(call("a") + call("b")).problem, null);
        assert.match(judged(call("a") + call("b"), { keepsSession: true }).problem, /^no same session: /);
        assert.match(judged("", { keepsSession: true }).problem, /^no same session: /);
    });

    const breach = { api: "openai-chat", rule: "tool name", tool: "mcp__c__a.b", text: "bad" };
    const rejected = { record: record({ rejections: [breach], seen: "" }) };

    test("a rejection is the server's fault if its own list breaks the rule", () => {
        const { whose, problem } = judge(framework, run({ ...rejected, tools: [{ name: "a.b", schema }] }));
        assert.equal(whose, "Causeway");
        assert.match(problem, /openai-chat rejects mcp__c__a\.b \(tool name\): bad/);
    });

    test("a rejection is the client's fault if it made the tool bad", () => {
        const { whose, isKnown } = judge(framework, run({ ...rejected, tools: [{ name: "a_b", schema }] }));
        assert.deepEqual([whose, isKnown], ["client", undefined]);
    });
});

suite("an SDK", () => {
    const report = { tools: [name], result: expected.result, error: expected.error, unknown: "Unknown tool: nothing" };
    const sdk = { id: "s", title: "S" };

    test("works if its report has every step", () => {
        const stdout = `noise\n${JSON.stringify({ ...report, again: expected.result })}\n`;
        assert.deepEqual(judge(sdk, { code: 0, stdout, output: stdout, tools: [] }).works, [
            "list",
            "call",
            "tool error",
            "unknown tool",
            "call after errors",
        ]);
    });

    test("a request that is too large counts if the program sends one", () => {
        const judged = (large) => {
            const stdout = JSON.stringify({ ...report, large, again: expected.result });
            return judge(sdk, { code: 0, stdout, output: stdout, tools: [] });
        };
        assert.equal(judged("Request too large").problem, null);
        assert.equal(judged("EOF").problem, "large request: EOF");
    });

    const judged = (transport, more, run = {}) => {
        const stdout = JSON.stringify({ ...report, again: expected.result, ...more });
        return judge(sdk, { code: 0, stdout, output: stdout, tools: [], transport, ...run });
    };

    test("after a late login the tool that needs it must have worked", () => {
        assert.equal(judged("late login", { later: expected.later }).problem, null);
        assert.equal(
            judged("late login", { later: "Authentication required" }).works.includes("call after login"),
            false,
        );
        assert.equal(judged("late login", {}).whose, "unknown");
    });

    test("a wrapped result must arrive as it was before", () => {
        assert.equal(judged("http", { unwrapped: [{ nid: 8 }] }).problem, null);
        assert.match(judged("http", { unwrapped: { result: [{ nid: 8 }] } }).problem, /^unwrapped result: /);
    });

    test("each error must be reported, and the call after it must work", () => {
        const errors = (error, after = expected.result) => ({ errors: { cursor: [error, after] } });
        assert.equal(judged("errors", errors("Invalid params")).problem, null);
        assert.equal(
            judged("errors", errors("Invalid params", "client is closing")).problem,
            "call after each error: cursor: Invalid params / client is closing",
        );
        assert.match(judged("errors", errors("the call waits for ever")).problem, /^each error: cursor: /);
        assert.match(judged("errors", errors(expected.result)).problem, /^each error: /);
        assert.notEqual(judged("errors", {}).problem, null);
    });

    test("an answer of the server that is not the expected error is its own fault", () => {
        const { whose, problem } = judged(
            "errors",
            { errors: { a: ["no", expected.result] } },
            { serverProblem: "a: 200" },
        );
        assert.deepEqual([whose, problem], ["Causeway", "a: 200"]);
    });

    test("a role that was granted must lead to a longer list", () => {
        assert.equal(judged("role", { granted: [name, "more"] }).problem, null);
        assert.notEqual(judged("role", { granted: [name] }).problem, null);
        assert.notEqual(judged("role", { granted: null }).problem, null);
    });

    test("does not work without a report", () => {
        assert.deepEqual(
            judge(sdk, { code: 0, stdout: JSON.stringify(report), output: "", tools: [] }).works.length,
            4,
        );
        assert.deepEqual(judge(sdk, { code: 1, stdout: "", output: "panic: no", tools: [] }).works, []);
        assert.deepEqual(reportOf("{ not JSON"), {});
    });
});

test("the text of an error begins with the last line that names one", () => {
    assert.equal(errorText("Traceback\nFirstError: a\nLastError: b\n  more\n\n"), "LastError: b more");
    assert.equal(errorText("1 validation error\ntype\nFor further information visit"), "1 validation error type");
    assert.equal(errorText("one\ntwo\n"), "two");
    assert.equal(errorText(""), "no output");
    assert.equal(errorText("Error: no '/srv/some/where/file.js:3'"), "Error: no 'file.js:3'");
});

test("the protocol version is that of the requests, or of the handshake", () => {
    const handshake = '< {"result":{"protocolVersion":"2025-11-25"}}\n';
    const modern =
        '> {"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}\n';
    assert.equal(revisionOf(handshake), "2025-11-25");
    assert.equal(revisionOf(handshake + modern), "2026-07-28");
    assert.equal(revisionOf('> {"method":"initialize","params":{"protocolVersion":"2025-11-25"}}'), null);
});

suite("the table", () => {
    const row = (more) => ({
        client: { id: "a", title: "A" },
        version: "1.0",
        works: ["list"],
        problem: null,
        ...more,
    });

    test("runs that differ only in transport and version of the protocol are one line", () => {
        const rows = [
            row({ transport: "http", revision: "2025-11-25" }),
            row({ transport: "http", revision: "2026-07-28" }),
            row({ transport: "stdio", revision: "2026-07-28" }),
        ];
        const lines = formatTable(rows).trim().split("\n");
        assert.equal(lines.length, 3);
        assert.equal(lines[2], "| A | 1.0 | http, stdio | 2025-11-25, 2026-07-28 | list | – |");
    });

    test("a problem stands beside its owner, and breaks no cell", () => {
        const lines = formatTable([row({ transport: "http", problem: "a|b\n`c`", whose: "client" })]).split("\n");
        assert.ok(lines[2].endsWith("| list | client: `a\\|b 'c'` |"), lines[2]);
    });

    test("a client that did not run is named", () => {
        assert.match(
            formatTable([row({ transport: "http", works: [], skip: "go is not installed" })]),
            /\| – \| – \| not run \|/,
        );
    });

    test("stands between the markers, and nothing else changes", () => {
        const begin = "<!-- clients: written by `make clients` -->";
        const end = "<!-- clients: end -->";
        const text = `before\n${begin}\nold\n${end}\nafter\n`;
        assert.equal(replaceTable(text, "new\n"), `before\n${begin}\n\nnew\n\n${end}\nafter\n`);
        assert.throws(() => replaceTable("no markers", "new"), /lacks the markers/);
    });
});
