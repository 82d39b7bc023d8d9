// Letters between two servers of one database: a parked call, their bounds, their metric and their warning.
import assert from "node:assert/strict";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { call, databasePath, discover, startAccounts } from "./support/accounts.mjs";
import { scrape } from "./support/metrics.mjs";
import { both, callTool, EventStream, legacy, modern, post, untilTool } from "./support/mcp.mjs";
import { patience, root, startProgram } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";

const fixture = path.join(root, "tests/functional/support/mcp-server.mjs");
const everything = [discover, call, "access content", "view metrics"];

suite("letters between two servers", { timeout: 300_000 }, () => {
    let upstream, a, b;
    const began = performance.now();
    before(async () => {
        upstream = await startProgram(process.execPath, [fixture, "sessions"], { name: "mcp-sessions" });
        const config = {
            store: { path: databasePath() },
            roles: { anonymous: everything, authenticated: everything, editor: [] },
            sources: [{ name: "srv", dialect: "mcp", prefix: "s.", methods: ["*"], url: `${upstream.url}/mcp` }],
        };
        const start = (more) => startAccounts({ plugins: ["conformance"], config, ...more });
        a = await start({});
        b = await start({ accounts: false });
        await Promise.all(
            [a, b].flatMap((server) => [
                server.untilLogged(/number of servers .*others=1/, patience(10_000)),
                untilTool(server, "s.ask_form"),
                untilTool(server, "test_elicitation"),
            ]),
        );
    });
    after(async () => {
        await Promise.all([a, b].map((server) => server?.stop()));
        await upstream?.stop().catch(() => {});
    });

    const lettersOf = async (server) => (await scrape(server)).value("causeway_letters_total") ?? 0;

    async function askAt(server) {
        const capabilities = { elicitation: { form: {} } };
        const params = { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "test", version: "1" } };
        const begun = await legacy(server, "initialize", params);
        const session = { "Mcp-Session-Id": begun.headers.get("mcp-session-id") };
        const message = { name: "test_elicitation", arguments: { message: "Who?" } };
        const stream = await EventStream.of(server, {
            method: "POST",
            body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: message }),
            headers: { "Content-Type": "application/json", ...both, ...session },
        });
        const question = await stream.next();
        assert.equal(question.method, "elicitation/create");
        const answer = (to, content) =>
            post(
                to,
                "/mcp",
                { jsonrpc: "2.0", id: question.id, result: { action: "accept", content } },
                { ...both, ...session },
            );
        return { stream, answer };
    }

    test("a parked call continues at its server when the answer arrives at the other one, and runs once", async () => {
        const meta = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } };
        const starts = () => upstream.stderr.split("called ask_form").length - 1;
        for (const [first, second] of [
            [a, b],
            [b, a],
        ]) {
            const before = starts();
            const asked = await callTool(first, "s.ask_form", {}, { meta });
            assert.equal(asked.json.result.resultType, "input_required", asked.text);
            const [key] = Object.keys(asked.json.result.inputRequests);
            const retry = {
                name: "s.ask_form",
                arguments: {},
                inputResponses: { [key]: { action: "accept", content: { name: "Ada" } } },
                requestState: asked.json.result.requestState,
            };
            const done = await modern(second, "tools/call", retry, { meta });
            assert.match(done.text, /Ada/);
            await eventually(() => starts() > before, "the line of the tool");
            assert.equal(starts(), before + 1, "the tool ran once");
        }
    });

    test("are counted where they are sent", async () => {
        // A late reply to the request of the test before is a letter too.
        const lettersOfBoth = () => Promise.all([a, b].map(lettersOf));
        let before = await lettersOfBoth();
        const isQuiet = async () => {
            await pause(1_000);
            const [was, now] = [String(before), (before = await lettersOfBoth())];
            return was === String(now);
        };
        await eventually(isQuiet, "no more letters");
        const { stream, answer } = await askAt(a);
        assert.equal((await answer(b, { username: "ada", email: "e@example.org" })).status, 202);
        const [last] = await stream.rest();
        assert.match(last.result.content[0].text, /ada/);
        await eventually(async () => (await lettersOf(b)) === before[1] + 1, "the letter in the metrics");
        assert.equal(await lettersOf(a), before[0]);
    });

    test("have at most 1 MB: a longer answer is lost, and a shorter one is accepted after it", async () => {
        const { stream, answer } = await askAt(a);
        const long = { username: "x".repeat(1_100_000), email: "e@example.org" };
        assert.equal((await answer(b, long)).status, 202);
        await b.untilLogged(/a letter to another server is lost/);
        assert.equal((await answer(b, { username: "ada", email: "e@example.org" })).status, 202);
        const [last] = await stream.rest();
        assert.match(last.result.content[0].text, /ada/);
    });

    test("of more than 1 % of the answers are a warning, once", async () => {
        const { stream, answer } = await askAt(a);
        for (let n = 0; n < 100; n += 1) {
            await answer(b, { username: 7 });
        }
        await b.untilLogged(/more than 1 % of answers arrive at another server/);
        await answer(b, { username: 7 });
        assert.equal(b.stderr.split("more than 1 % of answers").length, 2);
        stream.close();
    });

    test("that are lost are at most 30 lines of the log in a minute", async () => {
        const { stream, answer } = await askAt(a);
        const long = { username: "x".repeat(1_100_000), email: "e@example.org" };
        for (let n = 0; n < 60; n += 1) {
            assert.equal((await answer(b, long)).status, 202);
        }
        await b.untilLogged(/a letter to another server is lost/);
        const minutes = Math.floor((performance.now() - began) / 60_000) + 1;
        const lines = b.stderr.match(/a letter to another server is lost reason=/g).length;
        assert.ok(lines <= 30 * minutes, `${lines} lines`);
        stream.close();
    });
});
