// Answers that a modern client sends with its first call, before it was asked anything.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { metaKey, modern, startBridge, untilTool } from "./support/mcp.mjs";

const meta = { [metaKey("clientCapabilities")]: { elicitation: {}, sampling: {}, roots: {} } };

let server;
before(async () => {
    server = await startBridge({ plugins: ["conformance"] });
    await untilTool(server, "test_simple_text");
});
after(() => server?.stop());

const accepted = (content) => ({ action: "accept", content });

async function call(name, inputResponses, to = server) {
    const params = { name, arguments: {}, inputResponses };
    const { status, json, text } = await modern(to, "tools/call", params, { meta });
    assert.equal(status, 200, text);
    return json.result;
}

const keysOf = ({ resultType, inputRequests }) => {
    assert.equal(resultType, "input_required");
    return Object.keys(inputRequests);
};

test("they count as far as they answer what is asked then", async () => {
    const name = "test_input_required_result_elicitation";
    const responses = { user_name: accepted({ name: "Ada" }), other: accepted({ name: "Eve" }) };
    const result = await call(name, responses);
    assert.equal(result.resultType, "complete");
    assert.equal(result.content[0].text, "Hello, Ada!");
});

test("they count for later rounds, too", async () => {
    const name = "test_input_required_result_multi_round";
    const first = accepted({ name: "Ada" });
    const both = await call(name, { step1: first, step2: accepted({ color: "blue" }) });
    assert.equal(both.resultType, "complete");
    assert.match(both.content[1].text, /blue/);
    assert.deepEqual(keysOf(await call(name, { step1: first })), ["step2"]);
});

test("they keep the state of the method", async () => {
    const name = "test_input_required_result_request_state";
    const result = await call(name, { confirm: accepted({ ok: true }) });
    assert.equal(result.content[0].text, "state-ok");
});

test("all or nothing: where one is missing or makes no sense, all are asked for", async () => {
    const name = "test_input_required_result_multiple_inputs";
    const good = accepted({ name: "Ada" });
    const roots = { roots: [] };
    for (const responses of [
        { user_name: good },
        { user_name: good, greeting: 5, client_roots: roots },
        { user_name: accepted({ name: 5 }), greeting: good, client_roots: roots },
        [],
        null,
    ]) {
        assert.equal(keysOf(await call(name, responses)).length, 3);
    }
});

test("the call that goes on with them takes the place of the one that asked", async (t) => {
    for (const limits of [{ calls_per_tool: 1 }, { calls_per_source: 1 }, { max_calls: 1 }]) {
        const own = await startBridge({ plugins: ["conformance"], config: { loops: 1, limits } });
        t.after(() => own.stop());
        const name = "test_input_required_result_multi_round";
        const both = { step1: accepted({ name: "Ada" }), step2: accepted({ color: "blue" }) };
        assert.equal((await call(name, both, own)).resultType, "complete");
    }
});
