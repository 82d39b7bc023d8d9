// Parked calls whose process or server is gone: the request that continues one gets an error.
import assert from "node:assert/strict";
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { call, databasePath, discover, startAccounts } from "./support/accounts.mjs";
import { callTool, modern, startBridge, untilTool } from "./support/mcp.mjs";
import { newFolder } from "./support/plugins.mjs";
import { patience, root, startProgram } from "./support/programs.mjs";

const fixture = path.join(root, "tests/functional/support/mcp-server.mjs");
const meta = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } };
const isOver = /The call that asked is over/;

suite("a request that continues a parked call", { timeout: 120_000 }, () => {
    let upstream;
    before(async () => {
        upstream = await startProgram(process.execPath, [fixture, "sessions"], { name: "mcp-sessions" });
    });
    after(() => upstream?.stop().catch(() => {}));

    const sources = () => [{ name: "srv", dialect: "mcp", prefix: "s.", methods: ["*"], url: `${upstream.url}/mcp` }];

    // The params of the request that continues the call.
    async function park(server) {
        const headers = { Connection: "close" };
        const { json, text } = await callTool(server, "s.ask_form", {}, { meta, headers });
        assert.equal(json.result.resultType, "input_required", text);
        const [key] = Object.keys(json.result.inputRequests);
        return {
            name: "s.ask_form",
            arguments: {},
            inputResponses: { [key]: { action: "accept", content: { name: "Ada" } } },
            requestState: json.result.requestState,
        };
    }
    const resume = async (server, params) => (await modern(server, "tools/call", params, { meta })).text;

    test("fails if the loop of the call is none of the next process", async () => {
        const secret_file = path.join(newFolder("seal"), "seal.key");
        fs.writeFileSync(secret_file, crypto.randomBytes(32), { mode: 0o600 });
        const start = async (loops) => {
            const server = await startBridge({
                plugins: [],
                config: { loops, mcp: { secret_file }, sources: sources() },
            });
            await untilTool(server, "s.ask_form");
            return server;
        };
        const before = await start(8);
        const parked = [];
        for (let n = 0; n < 8; n += 1) parked.push(await park(before));
        await before.stop();
        const next = await start(1);
        for (const text of await Promise.all(parked.map((params) => resume(next, params)))) assert.match(text, isOver);
        await next.stop();
    });

    async function startTwo() {
        const everything = [discover, call];
        const config = {
            store: { path: databasePath() },
            roles: { anonymous: everything, authenticated: everything, editor: [] },
            sources: sources(),
        };
        const servers = [];
        for (const accounts of [true, false]) servers.push(await startAccounts({ plugins: [], config, accounts }));
        await Promise.all(
            servers.flatMap((server) => [
                server.untilLogged(/number of servers .*others=1/, patience(10_000)),
                untilTool(server, "s.ask_form"),
            ]),
        );
        return servers;
    }

    test("fails if the server of the call has stopped", async () => {
        const [a, b] = await startTwo();
        const params = await park(a);
        await a.stop();
        assert.match(await resume(b, params), isOver);
        await b.stop();
    });
});
