// Three servers on one database, and each request goes to the next one: accounts, rights, tokens, sessions and questions
// work as with one server.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { basic, bearer, startAccounts } from "./support/accounts.mjs";
import { logIn, sendForm, session } from "./support/login.mjs";
import { both, callTool, EventStream, legacy, modern, modernParts, ownName } from "./support/mcp.mjs";
import { metaKey, post, rpc } from "./support/mcp.mjs";
import { skipped, startPostgres } from "./support/postgres.mjs";
import { patience } from "./support/programs.mjs";
import { startRoundRobin } from "./support/round-robin.mjs";
import { eventually } from "./support/server.mjs";

const caller = { method: "test.caller", id: 1 };
const alice = basic("alice", "s3cret");
const bob = basic("bob", "b0b");
const rounds = 6;

suite("three servers in turn", { skip: skipped, timeout: 300_000 }, () => {
    let postgres;
    let front;
    const servers = [];
    before(async () => {
        postgres = await startPostgres();
        const config = { loops: 1, store: { url: postgres.newDatabase() } };
        for (let i = 0; i < 3; i += 1) {
            servers.push(await startAccounts({ plugins: ["echo", "conformance"], config, accounts: i === 0 }));
        }
        const isKnown = (server) => server.untilLogged(/number of servers .*others=2/, patience(10_000));
        await isKnown(servers[2]);
        const hasTools = async (server) => {
            const { json } = await modern(server, "tools/list", {}, { headers: alice });
            const names = json.result.tools.map(ownName);
            return names.includes("test.echo") && names.includes("test_elicitation");
        };
        for (const server of servers) {
            await eventually(() => hasTools(server), "the tools", 10_000);
        }
        front = await startRoundRobin(servers);
    });
    after(async () => {
        await front?.stop();
        await Promise.all(servers.map((server) => server.stop()));
        await postgres?.stop();
    });

    // So many answers that each server has given two.
    const statuses = async (headers) => {
        const all = [];
        for (let i = 0; i < rounds; i += 1) {
            all.push((await rpc(front, caller, headers)).status);
        }
        return all;
    };
    const untilAll = (headers, ...expected) =>
        eventually(
            async () => (await statuses(headers)).every((status) => expected.includes(status)),
            `${expected} of all`,
            3_000,
        );
    const assertAll = async (headers, status) => assert.deepEqual(await statuses(headers), Array(rounds).fill(status));

    test("accounts and rights: a change counts at all of them within a second", async () => {
        await servers[0].cli("account", "add", "carol", { input: "carol-s3cret" });
        const carol = basic("carol", "carol-s3cret");
        // What a caller may not use does not exist for it.
        await assertAll(carol, 400);
        await servers[0].cli("account", "grant", "carol", "editor");
        await untilAll(carol, 200);
        await servers[1].cli("account", "block", "carol");
        // These failures delay the account, too.
        await untilAll(carol, 401, 429);
    });

    test("tokens: one that was created or revoked anywhere", async () => {
        const { token, id } = await servers[1].token("alice");
        await assertAll(bearer(token), 200);
        await servers[2].cli("token", "revoke", String(id));
        await untilAll(bearer(token), 401);
    });

    test("browser sessions: form, login, requests and logout at different servers", async () => {
        const browser = await logIn(front, "alice", "s3cret");
        const headers = session(front, browser);
        await assertAll(headers, 200);
        const { cookie, csrf } = browser;
        assert.equal((await sendForm(front, { path: "/logout", cookie, csrf })).status, 303);
        await untilAll(headers, 401);
    });

    test("modern MCP: lists and calls are the same everywhere", async () => {
        const lists = [];
        for (let i = 0; i < 3; i += 1) {
            lists.push((await modern(front, "tools/list", {}, { headers: alice })).json.result.tools.map(ownName));
        }
        assert.deepEqual(lists[1], lists[0]);
        assert.deepEqual(lists[2], lists[0]);
        assert.ok(lists[0].includes("test.echo"));
        assert.ok(!(await modern(front, "tools/list", {}, { headers: bob })).text.includes("test.caller"));
    });

    test("modern MCP: a question of one server is answered at another", async () => {
        const meta = { [metaKey("clientCapabilities")]: { elicitation: { form: {} } } };
        const args = { message: "Who?" };
        const inputResponses = { user: { action: "accept", content: { username: "ada", email: "e@example.org" } } };
        for (let i = 0; i < 3; i += 1) {
            const first = await callTool(front, "test_elicitation", args, { meta, headers: alice });
            assert.equal(first.json.result.resultType, "input_required", first.text);
            const { requestState } = first.json.result;
            const params = { name: "test_elicitation", arguments: args, requestState, inputResponses };
            const { body, headers } = modernParts("tools/call", params, { id: 2, meta, headers: alice });
            const answer = await post(front, "/mcp", body, headers);
            assert.match(answer.json.result.content[0].text, /ada/, answer.text);
        }
    });

    test("legacy MCP: a session lives at all servers until its end, and its questions are answered anywhere", async () => {
        const capabilities = { elicitation: { form: {} } };
        const params = { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "test", version: "1" } };
        const opened = await legacy(front, "initialize", params, { headers: alice });
        const headers = { ...alice, "Mcp-Session-Id": opened.headers.get("mcp-session-id") };
        const list = () => legacy(front, "tools/list", {}, { headers, version: "2025-11-25" });
        for (let i = 0; i < 3; i += 1) {
            assert.equal((await list()).status, 200);
            const message = { jsonrpc: "2.0", id: 10 + i, method: "tools/call" };
            const stream = await EventStream.of(front, {
                method: "POST",
                body: JSON.stringify({
                    ...message,
                    params: { name: "test_elicitation", arguments: { message: "Who?" } },
                }),
                headers: { "Content-Type": "application/json", ...both, ...headers },
            });
            const question = await stream.next();
            assert.equal(question.method, "elicitation/create");
            const result = { action: "accept", content: { username: `ada${i}`, email: "e@example.org" } };
            const reply = await post(
                front,
                "/mcp",
                { jsonrpc: "2.0", id: question.id, result },
                { ...both, ...headers },
            );
            assert.equal(reply.status, 202, reply.text);
            const [last] = await stream.rest();
            assert.match(last.result.content[0].text, new RegExp(`ada${i}`));
        }
        const ended = await fetch(`${front.url}/mcp`, { method: "DELETE", headers });
        assert.ok(ended.status < 300, String(ended.status));
        const isGone = async () => {
            const answers = [await list(), await list(), await list()];
            return answers.every(({ status }) => status === 404);
        };
        await eventually(isGone, "404 of all", 3_000);
    });
});
