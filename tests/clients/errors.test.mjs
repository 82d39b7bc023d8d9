// How the errors of the server are caused: what a request becomes on its way, and which answers count.
import assert from "node:assert/strict";
import { test } from "node:test";
import { changeInto, kindsOf, wrongAnswers } from "./errors.mjs";

const message = (kind) => ({
    jsonrpc: "2.0",
    id: 7,
    method: "tools/call",
    params: { name: `error-${kind}`, arguments: {}, _meta: { x: 1 } },
});
const modern = { "content-type": "application/json", "mcp-method": "tools/call", "mcp-name": "error-x" };

test("other requests pass unchanged", async () => {
    const request = { headers: modern, body: '{"method":"tools/list"}' };
    assert.deepEqual(await changeInto({}, {})(request), request);
    const unknown = { headers: modern, body: JSON.stringify(message("made-up")) };
    assert.deepEqual(await changeInto({}, {})(unknown), unknown);
});

test("a request is replaced with its id and its _meta, and the headers agree", async () => {
    const request = { headers: modern, body: JSON.stringify(message("prompt")) };
    const { headers, body } = await changeInto({}, {})(request);
    const changed = JSON.parse(body);
    assert.deepEqual([changed.id, changed.method, changed.params._meta], [7, "prompts/get", { x: 1 }]);
    assert.deepEqual([headers["mcp-method"], headers["mcp-name"]], ["prompts/get", "nothing"]);
    assert.equal(headers["content-length"], String(body.length));
    assert.equal(modern["mcp-method"], "tools/call");
});

test("an answer counts with a status of the kind and the id of the request", async () => {
    const seen = {};
    const { onAnswer } = await changeInto({}, seen)({ headers: modern, body: JSON.stringify(message("media-type")) });
    const wanted = ["media-type"];
    assert.deepEqual(wrongAnswers(seen, wanted), ['media-type: "no request"']);
    await onAnswer({ status: 415, text: '{"id":7,"error":{}}' });
    assert.deepEqual(wrongAnswers(seen, wanted), []);
    await onAnswer({ status: 415, text: '{"error":{}}' });
    assert.equal(wrongAnswers(seen, wanted).length, 1);
    await onAnswer({ status: 200, text: '{"id":7,"error":{}}' });
    assert.equal(wrongAnswers(seen, wanted).length, 1);
    await onAnswer({ status: 415, text: '{"id":7,"result":{}}' });
    assert.equal(wrongAnswers(seen, wanted).length, 1);
    await onAnswer({ status: 415, text: 'event: message\ndata: {"id":7,"error":{}}\n\n' });
    assert.deepEqual(wrongAnswers(seen, wanted), []);
});

test("an error before the message is read has no id", () => {
    assert.deepEqual(wrongAnswers({ host: { status: 421, isError: true, hasId: false } }, ["host"]), []);
    assert.equal(wrongAnswers({ host: { status: 421, isError: true, hasId: true } }, ["host"]).length, 1);
});

test("each era has its own kinds", () => {
    assert.ok(kindsOf("legacy").includes("session") && !kindsOf("legacy").includes("capability"));
    assert.ok(kindsOf("modern").includes("capability") && !kindsOf("modern").includes("session"));
    assert.ok(kindsOf("modern", true).includes("host") && !kindsOf("modern").includes("host"));
});
