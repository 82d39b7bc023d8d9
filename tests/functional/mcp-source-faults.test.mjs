// MCP servers that fail or lie: each fault ends in its time, and another source beside it does not notice.
import assert from "node:assert/strict";
import path from "node:path";
import { suite, test } from "node:test";
import {
    assertToolError,
    assertWithin,
    callTool,
    callToolWell,
    envelope,
    modern,
    ownName,
    permissions,
    startBridge,
    timed,
    toolNames,
    untilTool,
} from "./support/mcp.mjs";
import { echoTool, startScript } from "./support/mcp-script.mjs";
import { keepFolder } from "./support/kept.mjs";
import { scrape } from "./support/metrics.mjs";
import { writeConfig } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";
import { startStdio } from "./support/stdio.mjs";

const textOf = (result) => result.content[0].text;
const source = (name, upstream, more = {}) => ({
    name,
    dialect: "mcp",
    prefix: `${name}.`,
    methods: ["*"],
    timeout: "60s",
    url: upstream.url,
    ...more,
});

// A server that fails, one that works, and a bridge in front of both.
async function beside(t, options = {}, more = {}) {
    const bad = await startScript(options);
    const good = await startScript({ era: "modern" });
    const server = await startBridge({
        plugins: [],
        config: { sources: [source("bad", bad, more), source("good", good)] },
    });
    t.after(() => server.stop());
    await untilTool(server, "bad.echo");
    await untilTool(server, "good.echo");
    // `ms` by the clock on the wall; `awake` without pauses of the whole machine.
    const call = async (name, args = {}) => {
        const { value, ms, awake } = await timed(() => callTool(server, name, args));
        return { ...value, ms, awake };
    };
    // The other source answers while `work` runs.
    const unnoticed = async (work) => {
        const running = work();
        const { json, awake } = await call("good.echo", { message: "there" });
        assert.equal(textOf(json.result), "there");
        assertWithin(awake, 1_500, "the other source");
        return await running;
    };
    return { bad, good, server, call, unnoticed };
}

for (const era of ["legacy", "modern"]) {
    suite(`a ${era} server`, { concurrency: true }, () => {
        test("that dies in a call fails the call at once", async (t) => {
            const { bad, server, call, unnoticed } = await beside(t, { era });
            bad.on["tools/call"] = ({ request }) => request.socket.destroy();
            const answer = await unnoticed(() => call("bad.echo"));
            assertToolError(answer);
            assertWithin(answer.awake, 1_500, "the call");
            assert.equal(bad.seen("tools/call").length, 1, "a call that may have run is not repeated");
            assert.ok((await toolNames(server)).includes("bad.echo"), "its tools stay in the list");
        });

        test("that does not answer a call fails it after its time, and the call is cancelled", async (t) => {
            const { bad, call, unnoticed } = await beside(t, { era }, { timeout: "2s" });
            let gone = false;
            bad.on["tools/call"] = ({ response }) => response.on("close", () => (gone = true));
            const answer = await unnoticed(() => call("bad.echo"));
            assertToolError(answer);
            assert.ok(answer.ms >= 1_900, `${answer.ms} ms`);
            assertWithin(answer.awake, 4_000, "the call");
            await eventually(() => gone, "the end of the request");
            if (era === "legacy")
                await eventually(() => bad.seen("notifications/cancelled").length === 1, "the cancel");
        });

        test("that answers one request twice, and others that were not asked, gives each call its own answer", async (t) => {
            const { bad, call } = await beside(t, { era });
            bad.on["tools/call"] = ({ message, response }) => {
                const line = (id, text) =>
                    `data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", content: [{ type: "text", text }] } })}\n\n`;
                response.writeHead(200, { "Content-Type": "text/event-stream" });
                response.write(line(message.id + 1_000, "another's"));
                response.write(line(message.id, message.params.arguments.message));
                response.end(line(message.id, "once more"));
            };
            const answers = await Promise.all(["a", "b", "c"].map((message) => call("bad.echo", { message })));
            assert.deepEqual(
                answers.map(({ json }) => textOf(json.result)),
                ["a", "b", "c"],
            );
        });

        for (const [what, status, type, body] of [
            ["503", 503, "application/json", '{"jsonrpc":"2.0","error":{"code":-32000,"message":"later"}}'],
            ["a page of HTML", 200, "text/html", "<html><title>Login</title></html>"],
            ["half a message", 200, "application/json", '{"jsonrpc":"2.0","id":'],
            ["an event that is no message", 200, "text/event-stream", "data: {oops\n\n"],
        ]) {
            test(`that returns ${what} fails the call, which is sent once`, async (t) => {
                const { bad, call, unnoticed } = await beside(t, { era });
                bad.on["tools/call"] = ({ response }) => response.writeHead(status, { "Content-Type": type }).end(body);
                const answer = await unnoticed(() => call("bad.echo"));
                const text = assertToolError(answer);
                assert.doesNotMatch(text, /<html|oops/);
                assertWithin(answer.awake, 1_500, "the call");
                assert.equal(bad.seen("tools/call").length, 1);
            });
        }

        test("that returns a result of an unknown type fails the call", async (t) => {
            const { bad, call } = await beside(t, { era });
            for (const resultType of ["later", "", 5, null]) {
                bad.on["tools/call"] = ({ reply }) => reply({ resultType, content: [{ type: "text", text: "half" }] });
                const text = assertToolError(await call("bad.echo"), /a type that is not known/);
                assert.doesNotMatch(text, /half/);
            }
        });

        test("that returns 401 is not asked again and again", async (t) => {
            const { bad, call } = await beside(t, { era });
            bad.on["tools/call"] = ({ response }) => response.writeHead(401, { "WWW-Authenticate": "Bearer" }).end();
            assertToolError(await call("bad.echo"));
            assert.equal(bad.seen("tools/call").length, 1);
        });

        test("that floods the stream of a call fails the call", async (t) => {
            const { bad, call, unnoticed } = await beside(t, { era });
            const event = `data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x" } })}\n\n`;
            bad.on["tools/call"] = ({ response }) => {
                response.writeHead(200, { "Content-Type": "text/event-stream" });
                response.write(event.repeat(30_000));
            };
            const answer = await unnoticed(() => call("bad.echo"));
            assertToolError(answer);
            assertWithin(answer.awake, 1_900, "the call");
        });
    });
}

// ---- credentials that the server rejects ----

const unauthorized = { jsonrpc: "2.0", id: null, error: { code: -32_000, message: "Unauthorized" } };

// From now on all requests get this status and body.
function deny(upstream, status, body) {
    const all = ["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call", "GET"];
    for (const what of all)
        upstream.on[what] = ({ response }) => {
            response.writeHead(status, { "Content-Type": "application/json" });
            response.end(JSON.stringify(body));
        };
}

suite("credentials that a server rejects when a session is opened", { concurrency: true }, () => {
    const headers = { Authorization: "Bearer wrong" };

    for (const [status, protocol, body] of [
        [401, "auto", unauthorized],
        [401, "legacy", unauthorized],
        [401, "legacy", { error: "invalid_token" }],
        [403, "auto", { error: "insufficient_scope" }],
    ])
        test(`with ${status} and ${JSON.stringify(body)} are not tried again, protocol ${protocol}`, async (t) => {
            const upstream = await startScript();
            deny(upstream, status, body);
            const sources = [source("bad", upstream, { headers, protocol })];
            const server = await startBridge({ plugins: [], config: { sources } });
            t.after(() => server.stop());
            await server.untilLogged(/error sources: not loaded .*it refuses our credentials/);
            const tried = upstream.requests.length;
            assert.ok(tried <= 2, `${tried} requests`);
            // Other failures are tried again after 1 and 2 s.
            await pause(3_500);
            assert.equal(upstream.requests.length, tried);
        });

    test("are not tried by calls either", async (t) => {
        const { bad, call } = await beside(t, {}, { headers, session: "call" });
        await call("bad.echo", { message: "1" });
        deny(bad, 401, { error: "invalid_token" });
        bad.requests.length = 0;
        for (let i = 0; i < 12; i += 1) {
            assertToolError(await call("bad.echo"), /our credentials/);
            await pause(200);
        }
        assert.ok(bad.requests.filter(({ verb }) => verb === "POST").length <= 4, `${bad.requests.length} requests`);
    });
});

suite("a session", { concurrency: true }, () => {
    test("that the server lost is opened once more, and the call is sent once more", async (t) => {
        const { bad, call } = await beside(t);
        await call("bad.echo", { message: "1" });
        const before = bad.seen("initialize").length;
        bad.known.clear();
        const { json } = await call("bad.echo", { message: "2" });
        assert.equal(textOf(json.result), "2");
        // One for the caller; our own stream opens a session of its own again.
        await eventually(() => bad.seen("initialize").length >= before + 1, "initialize");
        assert.equal(
            bad.seen("tools/call").filter(({ message }) => message.params.arguments.message === "2").length,
            2,
        );
    });

    test("that is lost again and again fails the call after one repeat", async (t) => {
        const { bad, call } = await beside(t);
        bad.on["tools/call"] = ({ fail }) => fail(-32001, "Session not found", 404);
        assertToolError(await call("bad.echo"));
        assert.equal(bad.seen("tools/call").length, 2);
    });

    test("a request id of one server does not reach the call of another", async (t) => {
        const one = await startScript();
        const two = await startScript();
        const server = await startBridge({
            plugins: [],
            config: { sources: [source("one", one), source("two", two)] },
        });
        t.after(() => server.stop());
        await untilTool(server, "one.echo");
        await untilTool(server, "two.echo");
        const question = {
            id: 1,
            method: "elicitation/create",
            params: { message: "?", requestedSchema: { type: "object", properties: {} } },
        };
        for (const [upstream, name] of [
            [one, "one"],
            [two, "two"],
        ]) {
            upstream.on["tools/call"] = async ({ message, response }) => {
                response.writeHead(200, { "Content-Type": "text/event-stream" });
                response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...question })}\n\n`);
                const answer = await eventually(() => upstream.answerTo(1), "an answer");
                const text = `${name}: ${answer.result.content.who}`;
                const result = { content: [{ type: "text", text }] };
                response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id: message.id, result })}\n\n`);
            };
        }
        const meta = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } };
        const ask = async (name) => {
            const { json, text } = await callTool(server, `${name}.echo`, {}, { meta });
            assert.equal(json.result.resultType, "input_required", text);
            return json.result;
        };
        const asked = { one: await ask("one"), two: await ask("two") };
        for (const name of ["two", "one"]) {
            const [key] = Object.keys(asked[name].inputRequests);
            const inputResponses = { [key]: { action: "accept", content: { who: name } } };
            const params = {
                name: `${name}.echo`,
                arguments: {},
                inputResponses,
                requestState: asked[name].requestState,
            };
            const { json } = await modern(server, "tools/call", params, { meta });
            assert.equal(textOf(json.result), `${name}: ${name}`);
        }
    });
});

// Writes questions and results of calls as events, when the test wants them.
function scriptQuestions(upstream) {
    const running = [];
    let last = 0;
    upstream.on["tools/call"] = ({ message, response }) => {
        const send = (more) => response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...more })}\n\n`);
        response.writeHead(200, { "Content-Type": "text/event-stream" });
        const ask = () => {
            last += 1;
            const params = { message: "?", requestedSchema: { type: "object", properties: {} } };
            send({ id: last, method: "elicitation/create", params });
            return last;
        };
        const end = (text) => {
            send({ id: message.id, result: { content: [{ type: "text", text }] } });
            response.end();
        };
        running.push({ ask, end, asked: ask() });
    };
    return running;
}

suite("a call that has asked its client", () => {
    const meta = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } };
    const begin = async (server) => {
        const { json, text } = await callTool(server, "bad.echo", {}, { meta });
        assert.equal(json.result.resultType, "input_required", text);
        return json.result;
    };
    // On a connection of its own, so that any loop may get it.
    const resume = (server, { inputRequests, requestState }) => {
        const [key] = Object.keys(inputRequests);
        const inputResponses = { [key]: { action: "accept", content: {} } };
        const params = { name: "bad.echo", arguments: {}, inputResponses, requestState };
        return modern(server, "tools/call", params, { meta, headers: { Connection: "close" } });
    };

    test("goes on for the request that waits after the catalogue has changed, on any loop", async (t) => {
        const bad = await startScript();
        const running = scriptQuestions(bad);
        const sources = [source("bad", bad, { timeout: "60s" })];
        const server = await startBridge({ plugins: [], config: { loops: 4, sources } });
        t.after(() => server.stop());
        await untilTool(server, "bad.echo");
        for (let round = 0; round < 8; round += 1) {
            const waiting = resume(server, await begin(server));
            const call = running[round];
            await eventually(() => bad.answerTo(call.asked), "the answer");
            bad.tools = [echoTool(), echoTool(`other${round}`)];
            bad.push({ method: "notifications/tools/list_changed" });
            await untilTool(server, `bad.other${round}`);
            call.ask();
            const again = await waiting;
            assert.equal(again.json.result.resultType, "input_required", again.text);
            const last = resume(server, again.json.result);
            await eventually(() => bad.answerTo(call.asked + 1), "the second answer");
            bad.tools = [echoTool()];
            bad.push({ method: "notifications/tools/list_changed" });
            await untilTool(server, `bad.other${round}`, false);
            call.end(`round ${round}`);
            assert.equal(textOf((await last).json.result), `round ${round}`);
        }
    });

    test("is cancelled by the client on lines whose next request waits for it", async (t) => {
        const bad = await startScript();
        const running = scriptQuestions(bad);
        const config = { roles: { anonymous: permissions }, sources: [source("bad", bad, { timeout: "60s" })] };
        const client = startStdio({ args: ["--config", writeConfig(config)] });
        t.after(() => client.end());
        const tools = async () => (await client.modern("tools/list")).result.tools.map(ownName);
        await eventually(async () => (await tools()).includes("bad.echo"), "the tool");
        const call = { name: "bad.echo", arguments: {}, _meta: envelope(meta) };
        const { result, error } = await client.ask("tools/call", call);
        assert.equal(result?.resultType, "input_required", JSON.stringify(error ?? result));
        const [key] = Object.keys(result.inputRequests);
        const inputResponses = { [key]: { action: "accept", content: {} } };
        const id = client.begin("tools/call", { ...call, inputResponses, requestState: result.requestState });
        await eventually(() => bad.answerTo(running[0].asked), "the answer");
        client.notify("notifications/cancelled", { requestId: id, _meta: envelope() });
        await eventually(() => bad.seen("notifications/cancelled").length === 1, "the cancel");
        assert.equal(
            client.messages.some((one) => one.id === id),
            false,
        );
    });

    test("and ends without the answer holds a share of memory for its client, and no more", async (t) => {
        const bad = await startScript();
        const running = scriptQuestions(bad);
        const server = await startBridge({
            plugins: [],
            roles: { anonymous: [...permissions, "view metrics"] },
            config: { sources: [source("bad", bad, { timeout: "60s" })] },
        });
        t.after(() => server.stop());
        await untilTool(server, "bad.echo");
        const asked = [];
        for (let n = 0; n < 16; n += 1) {
            asked.push(await begin(server));
            running[n].end("x".repeat(4 << 20));
        }
        const left = async () => (await scrape(server)).value("causeway_calls_running");
        await eventually(async () => (await left()) === 0, "the end of the calls");
        const texts = [];
        for (const one of asked) texts.push((await resume(server, one)).text);
        const kept = texts.filter((text) => /xxxx/.test(text)).length;
        const lost = texts.filter((text) => /The call that asked is over/.test(text)).length;
        assert.ok(kept >= 4 && kept <= 8, `${kept} of 16`);
        assert.equal(kept + lost, 16);
        // Room that a client has taken is free again.
        const last = await begin(server);
        running[16].end("again");
        assert.match((await resume(server, last)).text, /again/);
    });
});

suite("discovery", { concurrency: true }, () => {
    test("a server that hangs at initialize keeps nobody waiting", async (t) => {
        const bad = await startScript();
        bad.on.initialize = () => {};
        bad.on["server/discover"] = () => {};
        const good = await startScript({ era: "modern" });
        const server = await startBridge({
            plugins: [],
            config: { sources: [source("bad", bad, { timeout: "2s" }), source("good", good)] },
        });
        t.after(() => server.stop());
        await untilTool(server, "good.echo");
        assert.equal(textOf(await callToolWell(server, "good.echo", { message: "x" })), "x");
        await server.untilLogged(/"?source"?[=:]"?bad/, 20_000);
        assert.deepEqual((await toolNames(server)).sort(), ["good.echo"]);
    });

    test("of many servers runs at once: one that is slow delays none of the others", async (t) => {
        const slow = await startScript({ era: "modern" });
        const release = [];
        slow.on["tools/list"] = () => new Promise((resolve) => release.push(() => resolve("default")));
        const others = await Promise.all(
            Array.from({ length: 8 }, (_, i) => startScript({ era: i % 2 ? "modern" : "legacy" })),
        );
        const sources = [source("slow", slow, { timeout: "5m" }), ...others.map((one, i) => source(`s${i}`, one))];
        const server = await startBridge({ plugins: [], config: { sources } });
        t.after(() => server.stop());
        await eventually(async () => (await toolNames(server)).length === 8, "the tools of the others", 10_000);
        assert.ok(release.length > 0, "the slow one was asked, and waits");
        for (const go of release) go();
        slow.on = {};
        await untilTool(server, "slow.echo");
    });

    test("a server that dies afterwards neither slows nor empties the list, and comes back by itself", async (t) => {
        const { bad, good, server } = await beside(t, { era: "modern" }, { refresh: "1s" });
        assert.ok(good);
        await bad.stop();
        assertToolError(await callTool(server, "bad.echo", { message: "x" }));
        const { value, awake } = await timed(() => modern(server, "tools/list"));
        assertWithin(awake, 500, "the list");
        const { json } = value;
        assert.deepEqual(json.result.tools.map(ownName).sort(), ["bad.echo", "good.echo"]);
        bad.tools = [echoTool(), echoTool("new")];
        await new Promise((resolve) => bad.http.listen(bad.port, "127.0.0.1", resolve));
        await untilTool(server, "bad.new");
    });
});

suite("a source", { concurrency: true }, () => {
    test("may be a server behind a unix socket", async (t) => {
        const upstream = await startScript({}, { path: path.join(keepFolder(), "mcp.sock") });
        const server = await startBridge({ plugins: [], config: { sources: [source("u", upstream)] } });
        t.after(() => server.stop());
        await untilTool(server, "u.echo");
        assert.equal(textOf(await callToolWell(server, "u.echo", { message: "socket" })), "socket");
        upstream.tools = [echoTool(), echoTool("late")];
        upstream.push({ method: "notifications/tools/list_changed" });
        await untilTool(server, "u.late");
    });

    for (const output of ["relay", "strict"]) {
        test(`with output: ${output} ${output === "strict" ? "rejects" : "passes on"} a result that is not of its own schema`, async (t) => {
            const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
            const upstream = await startScript({ era: "modern", tools: [{ ...echoTool(), outputSchema: schema }] });
            upstream.on["tools/call"] = ({ message, reply }) =>
                reply({
                    resultType: "complete",
                    content: [],
                    structuredContent: { n: message.params.arguments.message === "right" ? 1 : "one" },
                });
            const server = await startBridge({ plugins: [], config: { sources: [source("s", upstream, { output })] } });
            t.after(() => server.stop());
            await untilTool(server, "s.echo");
            assert.deepEqual((await callToolWell(server, "s.echo", { message: "right" })).structuredContent, { n: 1 });
            const wrong = await callTool(server, "s.echo", { message: "wrong" });
            if (output === "strict") assertToolError(wrong);
            else assert.deepEqual(wrong.json.result.structuredContent, { n: "one" });
        });
    }
});
