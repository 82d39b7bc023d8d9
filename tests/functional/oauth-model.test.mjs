// Grants of OAuth clients against the model of who may do what: accounts, clients, ceilings of clients and of the
// server, scopes that were allowed and that a refresh asked for, and grants that have ended. Many tools are called in one
// batch, so 20,000 cases are cheap. method-confusion.test.mjs tries every door.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { bearer, call, cli, databasePath, discover } from "./support/accounts.mjs";
import { openConsent, pkce, sendDecision } from "./support/authorize.mjs";
import { message, toolCall } from "./support/doors.mjs";
import { hiddenField, logIn } from "./support/login.mjs";
import { both, modern, ownName, post } from "./support/mcp.mjs";
import { send, token } from "./support/oauth-server.mjs";
import { compilePlugin } from "./support/plugins.mjs";
import { writeConfig } from "./support/programs.mjs";
import { get, startExamples } from "./support/rest.mjs";
import { judge, makeTools, pluginSource, sees } from "./support/rights-model.mjs";
import { eventually, inParallel } from "./support/server.mjs";

const things = "administer things";
const tools = makeTools([[], ["p"], ["p", "q"], [things], ["view audit", "p"], ["view arguments"]]);
const general = [discover, call];
const redirect_uri = "http://127.0.0.1:9/callback";

// Accounts have one role or two. The name of a client says which roles bound it.
const accounts = { reader: ["one"], writer: ["two"], ruler: ["two", "rule"], silent: ["look"] };
const ceilings = {
    plain: [],
    one: ["one"],
    both: ["one", "rule"],
    rule: ["rule"],
    look: ["look"],
    nothing: ["nothing"],
};
const models = [
    {
        name: "no ceiling of the server",
        ceiling: [],
        roles: {
            anonymous: general,
            authenticated: ["p"],
            one: ["p"],
            two: ["p", "q"],
            rule: [things, "view audit", "view arguments"],
            look: ["q"],
            nothing: [],
        },
    },
    {
        name: "a ceiling of the server, and nothing without a login",
        ceiling: ["one", "look"],
        roles: {
            anonymous: [],
            authenticated: [discover],
            one: [call, "p"],
            two: [call, "p", "q"],
            rule: [call, things, "view audit"],
            look: [discover, "q"],
            nothing: [],
        },
    },
];

// ---- the model of a grant ----

const isAdministration = (permission) =>
    permission.startsWith("administer ") || ["view audit", "view arguments"].includes(permission);

function permissionsOf({ roles, ceiling: ofServer }, account, client) {
    const { anonymous, authenticated } = roles;
    const all = [...anonymous, ...authenticated, ...accounts[account].flatMap((role) => roles[role])];
    const bounds = ceilings[client].length > 0 ? ceilings[client] : ofServer;
    if (bounds.length === 0) return all.filter((permission) => !isAdministration(permission));
    const most = [...anonymous, ...bounds.flatMap((role) => roles[role])];
    return all.filter((permission) => most.includes(permission));
}

// What a person ticks, and what a refresh asks for of it.
const choices = [
    { ticked: [] },
    { ticked: ["m:a"] },
    { ticked: ["m:a", "m:b"] },
    { ticked: ["m:a", "m:b"], refreshed: "m:b" },
];

// ---- grants ----

async function allow(server, browser, client_id, ticked) {
    const { verifier, challenge } = pkce();
    const query = new URLSearchParams({
        response_type: "code",
        client_id,
        redirect_uri,
        scope: "m:a m:b offline_access",
        code_challenge: challenge,
        code_challenge_method: "S256",
    });
    const page = await openConsent(server, browser, query);
    assert.equal(page.status, 200, page.text);
    const answer = await sendDecision(server, browser, hiddenField(page.text, "consent"), { scopes: ticked });
    const code = new URL(answer.headers.get("location")).searchParams.get("code");
    const fields = { grant_type: "authorization_code", code, code_verifier: verifier, client_id };
    const { status, json } = await token(server, fields);
    assert.equal(status, 200, JSON.stringify(json));
    return json;
}

async function makeCallers(model, server) {
    const callers = [];
    for (const account of Object.keys(accounts)) {
        const browser = await logIn(server, account, `pw-${account}`);
        for (const client of Object.keys(ceilings)) {
            for (const { ticked, refreshed } of choices) {
                let tokens = await allow(server, browser, client, ticked);
                if (refreshed) {
                    const { refresh_token } = tokens;
                    const fields = { grant_type: "refresh_token", refresh_token, client_id: client, scope: refreshed };
                    tokens = (await token(server, fields)).json;
                }
                callers.push({
                    name: `${account}, ${client}, ${ticked.join("+") || "no scope"} ${refreshed ?? ""}`,
                    headers: bearer(tokens.access_token),
                    tokens,
                    client,
                    permissions: permissionsOf(model, account, client),
                    scopes: refreshed ? [refreshed] : ticked,
                    isKnown: true,
                    hasToken: true,
                });
            }
        }
    }
    // Two end: the token of one, the grant of the other.
    const revoke = ({ client }, text) => send(server, "/revoke", { token: text, client_id: client });
    const [one, two] = callers;
    const gone = [await revoke(one, one.tokens.access_token), await revoke(two, two.tokens.refresh_token)];
    assert.deepEqual(
        gone.map(({ status }) => status),
        [200, 200],
    );
    one.isWrong = two.isWrong = true;
    return callers;
}

// ---- what is compared ----

const codes = { login: -32000, forbidden: -32000, scopes: -32000 };
const ways = {
    "a batch to /jsonrpc": {
        codes: { ...codes, unknown: -32601 },
        send: (server, headers) =>
            post(
                server,
                "/jsonrpc",
                tools.map(({ name }, i) => message(name, i)),
                headers,
            ),
    },
    "a batch to /mcp": {
        codes: { ...codes, unknown: -32602 },
        send: (server, headers) =>
            post(
                server,
                "/mcp",
                tools.map(({ name }, i) => toolCall(name, i)),
                { ...both, "MCP-Protocol-Version": "2025-03-26", ...headers },
            ),
    },
};
const lists = {
    "GET /mcp/tools/list": async (server, headers) => {
        const { status, json } = await get(server, "/mcp/tools/list", headers);
        return { status, names: json?.tools?.map(ownName) };
    },
    "tools/list": async (server, headers) => {
        const { status, json } = await modern(server, "tools/list", {}, { headers });
        return { status, names: json?.result?.tools.map(ownName) };
    },
};

for (const model of models) {
    suite(`grants and their ceilings: ${model.name}`, () => {
        let server;
        let callers;
        let cases = 0;
        before(async () => {
            const store = { path: databasePath() };
            const { roles, ceiling } = model;
            const file = writeConfig({ roles, store });
            for (const [name, [role, second]] of Object.entries(accounts)) {
                const more = second ? ["--role", second] : [];
                await cli(file, "account", "add", name, "--role", role, ...more, { input: `pw-${name}` });
            }
            const clients = Object.entries(ceilings).map(([id, own]) => ({
                id,
                redirect_uris: [redirect_uri],
                ceiling: own,
            }));
            const prepare = (folder) => compilePlugin(folder, "model", pluginSource(tools));
            const config = {
                store,
                page_size: 1000,
                access: { server: { enabled: true, ceiling, clients } },
            };
            server = await startExamples({ prepare, roles, config });
            const { token: key } = JSON.parse(await cli(file, "token", "create", "ruler", "--json"));
            const isThere = async () => {
                const { json } = await get(server, "/mcp/tools/list", bearer(key));
                return json?.tools?.some((tool) => ownName(tool) === "m.t00");
            };
            await eventually(isThere, "the tools", 20_000);
            callers = await makeCallers(model, server);
        });
        after(() => server?.stop());

        test("threat-C1: AS16 every account, client, ceiling, scope and tool: no case differs", async () => {
            for (const [way, { codes: expected, send: ask }] of Object.entries(ways)) {
                await inParallel(callers, 8, async (caller) => {
                    const answer = await ask(server, caller.headers);
                    assert.equal(answer.status, caller.isWrong ? 401 : 200, `${way}, ${caller.name}: ${answer.text}`);
                    for (const [i, tool] of tools.entries()) {
                        const verdict = judge(caller, tool);
                        const own = caller.isWrong ? undefined : answer.json.find(({ id }) => id === i);
                        const what = `${verdict}: ${way}, ${caller.name}, ${JSON.stringify(tool)}: ${JSON.stringify(own)}`;
                        const hasRun = JSON.stringify(own ?? "").includes(`${tool.name} ran`);
                        assert.equal(hasRun, verdict === "ran", what);
                        assert.equal(own?.error?.code, expected[verdict], what);
                        cases++;
                    }
                });
            }
        });

        test("threat-C2: AS16 every list shows what a grant may see", async () => {
            for (const [way, look] of Object.entries(lists)) {
                await inParallel(callers, 8, async (caller) => {
                    const { status, names } = await look(server, caller.headers);
                    const mayLook = caller.permissions.includes(discover);
                    const denied = caller.isWrong ? 401 : 403;
                    assert.equal(status, caller.isWrong || !mayLook ? denied : 200, `${way}, ${caller.name}`);
                    for (const tool of status === 200 ? tools : []) {
                        const what = `${way}, ${caller.name}, ${JSON.stringify(tool)}`;
                        assert.equal(names.includes(tool.name), sees(caller, tool), what);
                    }
                    cases += tools.length;
                });
            }
            assert.ok(cases >= 20_000, `${cases} cases`);
        });
    });
}
