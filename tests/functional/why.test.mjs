// causeway why: the gate's own words on who may call what.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { basic, bearer, call, discover, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { callTool, untilSources } from "./support/mcp.mjs";
import { runCauseway } from "./support/programs.mjs";

suite("causeway why", () => {
    let server;
    before(async () => {
        server = await startAccounts();
        await untilSources(server, 1);
    });
    after(() => server?.stop());

    const why = async (...words) => {
        const all = ["why", ...words, "--config", server.config];
        const { code, stdout, stderr } = await runCauseway(all);
        return { code, stdout, stderr };
    };

    function tokenFile(token) {
        const file = path.join(keepFolder(), `token-${Math.random()}`);
        writeFileSync(file, `${token}\n`);
        return file;
    }

    test("prints each rule in order, and ends with 0 when a call is let through", async () => {
        const { code, stdout } = await why("test.echo", "--as", "alice");
        assert.equal(code, 0);
        assert.equal(
            stdout,
            [
                "test.echo of echo, asked for by alice (credentials: password)",
                `yes  discover    ${discover}`,
                `yes  call        ${call}`,
                "yes  permission  access content",
                "yes  level       none",
                "list: it is shown",
                "call: allowed: the call is let through",
                "",
            ].join("\n"),
        );
    });

    test("says which permission hides a tool", async () => {
        const { code, stdout } = await why("test.admin", "--as", "alice", "--json");
        assert.equal(code, 1);
        const answer = JSON.parse(stdout);
        assert.deepEqual(answer.rules.at(-1), { rule: "permission", what: "administer site", passes: false });
        assert.deepEqual([answer.list, answer.call], ["not shown", "hidden"]);
    });

    test("follows scopes one by one", async () => {
        const { token } = await server.token("alice", "--scope", "content:read");
        const { code, stdout } = await why("test.scoped", "--token-file", tokenFile(token), "--json");
        assert.equal(code, 1);
        const { rules, call: outcome, list, credentials } = JSON.parse(stdout);
        assert.deepEqual(
            rules.map(({ rule, what, passes }) => [rule, what, passes]),
            [
                ["discover", discover, true],
                ["call", call, true],
                ["permission", "access content", true],
                ["level", "required", true],
                ["token", "scopes need a token", true],
                ["scope", "content:read", true],
                ["scope", "content:write", false],
                ["visibility", "challenge", true],
            ],
        );
        assert.deepEqual([outcome, list, credentials], ["scopes", "shown", "token"]);
        const withPassword = JSON.parse((await why("test.scoped", "--as", "alice", "--json")).stdout);
        assert.equal(withPassword.call, "login");
        const anonymous = await why("test.scoped", "--anonymous", "--json");
        assert.equal(JSON.parse(anonymous.stdout).call, "hidden");
    });

    test("threat-C1: agrees with the running server, for every caller and tool", async () => {
        const { token } = await server.token("alice", "--scope", "content:read", "--scope", "content:write");
        const who = [
            [["--as", "alice"], basic("alice", "s3cret")],
            [["--as", "bob"], basic("bob", "b0b")],
            [["--token-file", tokenFile(token)], bearer(token)],
            [["--anonymous"], {}],
        ];
        const names = ["test.echo", "test.admin", "test.scoped", "test.caller", "test.log"];
        for (const [words, headers] of who) {
            for (const name of names) {
                const args = ["test.echo", "test.log"].includes(name) ? { message: "x" } : {};
                const { status, json } = await callTool(server, name, args, { headers });
                const isAllowed = status === 200 && json.result !== undefined;
                const { code } = await why(name, ...words);
                assert.equal(code === 0, isAllowed, `${name} ${words.join(" ")}: ${status}`);
            }
        }
    });

    test("refuses what it cannot answer", async () => {
        const cases = [
            [["test.echo"], 2, /name the caller with one of --as/],
            [["test.echo", "--as", "alice", "--anonymous"], 2, /name the caller with one of --as/],
            [["--anonymous"], 2, /name the tool/],
            [["test.echo", "--as", "nobody"], 1, /there is no account 'nobody', or it is blocked/],
            [["test.nothing", "--anonymous"], 1, /no loaded source has a tool or method/],
            [["test.echo", "--token-file", tokenFile("cw_" + "A".repeat(43))], 1, /the token is refused/],
            [["test.echo", "--token-file", "/nonexistent"], 1, /cannot open/],
        ];
        for (const [words, code, pattern] of cases) {
            const answer = await why(...words);
            assert.equal(answer.code, code, words.join(" "));
            assert.match(answer.stderr, pattern);
        }
    });
});
