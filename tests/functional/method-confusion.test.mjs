// Every door, protocol version, kind of credentials and kind of tool against a model of who may do
// what. The model is written here from the rules (docs/access.md), not from the code; what a door
// makes of a verdict is a table. No case may differ, whatever way in was taken.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { basic, bearer, call, cli, databasePath, discover } from "./support/accounts.mjs";
import { both, legacyVersions, modern, post } from "./support/mcp.mjs";
import { compilePlugin } from "./support/plugins.mjs";
import { writeConfig } from "./support/programs.mjs";
import { get, startExamples } from "./support/rest.mjs";
import { eventually, inParallel, pause } from "./support/server.mjs";

// ---- the tools: what they ask of their callers ----

const demands = [
    {},
    { level: "none", scopes: ["m:a"] },
    { level: "optional", scopes: ["m:a"] },
    { level: "optional" },
    { level: "required" },
    { level: "required", hide: true },
    { scopes: ["m:a"] },
    { scopes: ["m:a"], hide: true },
    { level: "required", scopes: ["m:a", "m:b"] },
    { level: "required", scopes: ["m:a", "m:b"], hide: true },
];
const tools = [[], ["p"], ["p", "q"]].flatMap((permissions, i) =>
    demands.map((demand, j) => ({ name: `m.t${i}${j}`, permissions, scopes: [], ...demand })),
);

function source() {
    const strings = (list) => `{${list.map((text) => JSON.stringify(text)).join(", ")}}`;
    const methods = tools.map(({ name, permissions, scopes, level, hide }, i) => {
        const parts = [`run_${i}`, '.annotations = CW_JSON({"readOnlyHint": true})'];
        if (scopes.length > 0) {
            parts.push(`.scopes = ${strings(scopes)}`);
        }
        if (level) {
            parts.push(`.auth_level = "${level}"`);
        }
        if (hide) {
            parts.push('.visibility = "hide"');
        }
        const needs = permissions.length > 0 ? `, .permissions = ${strings(permissions)}` : "";
        return `static void run_${i}(cw_call *call) { cw_result_text(call, "${name} ran"); }
CW_METHOD(run_${i}, "${name}"${needs});
CW_TOOL(${parts.join(", ")});`;
    });
    return `#include <causeway/plugin.h>\nCW_PLUGIN("model", "1");\n${methods.join("\n")}\n`;
}

// ---- the callers ----

const general = [discover, call];
const roles = {
    anonymous: general,
    authenticated: [],
    one: [...general, "p"],
    two: [...general, "p", "q"],
    silent: [discover, "p", "q"], // may look, but not call
};

async function makeCallers(config) {
    const add = (name, role) =>
        cli(config, "account", "add", name, "--role", role, { input: `pw-${name}` });
    for (const role of ["one", "two", "silent"]) {
        await add(role, role);
    }
    const token = async (account, scopes, ...more) => {
        const words = scopes.flatMap((scope) => ["--scope", scope]);
        const made = await cli(config, "token", "create", account, "--json", ...words, ...more);
        return JSON.parse(made);
    };
    const revoked = await token("two", ["m:a", "m:b"]);
    await cli(config, "token", "revoke", String(revoked.id));
    const expired = await token("two", ["m:a", "m:b"], "--expires", "1s");
    const password = (name) => ({
        headers: basic(name, `pw-${name}`),
        permissions: roles[name],
        isKnown: true,
    });
    const holder = async (name, scopes) => ({
        headers: bearer((await token(name, scopes)).token),
        permissions: roles[name],
        isKnown: true,
        hasToken: true,
        scopes,
    });
    const callers = {
        nobody: { headers: {}, permissions: roles.anonymous },
        "a password, p": password("one"),
        "a password, p and q": password("two"),
        "a password, no calls": password("silent"),
        "a token without scopes": await holder("two", []),
        "a token with one scope": await holder("two", ["m:a"]),
        "a token with both scopes": await holder("two", ["m:b", "m:a"]),
        "a token with both scopes, p": await holder("one", ["m:a", "m:b"]),
        "a revoked token": { headers: bearer(revoked.token), isWrong: true },
        "an expired token": { headers: bearer(expired.token), isWrong: true },
        "a token of nobody": { headers: bearer(`cw_${"A".repeat(43)}`), isWrong: true },
    };
    await pause(1100);
    return Object.entries(callers).map(([name, caller]) => ({ name, scopes: [], ...caller }));
}

// ---- the model ----

// What becomes of a call: "wrong", "login", "forbidden", "unknown", "scopes" or "ran".
function judge(caller, tool) {
    if (caller.isWrong) {
        return "wrong";
    }
    if (!caller.permissions.includes(call)) {
        return caller.isKnown ? "forbidden" : "login";
    }
    return sees(caller, tool) ? ask(caller, tool) : "unknown";
}

const isRequired = ({ level, scopes }) => (level ? level === "required" : scopes.length > 0);

function ask(caller, tool) {
    if (!isRequired(tool)) {
        return "ran";
    }
    if (!caller.isKnown || (tool.scopes.length > 0 && !caller.hasToken)) {
        return "login";
    }
    return tool.scopes.every((scope) => caller.scopes.includes(scope)) ? "ran" : "scopes";
}

function sees(caller, tool) {
    const isAllowed = tool.permissions.every((permission) => caller.permissions.includes(permission));
    return isAllowed && !(tool.hide && ask(caller, tool) !== "ran");
}

// ---- the doors: how a verdict looks there ----

const message = (name, id = 1) => ({ jsonrpc: "2.0", method: name, params: {}, id });
const toolCall = (name, id = 1) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name, arguments: {} },
});

// Status and JSON-RPC code of each verdict.
const rpcAnswers = {
    wrong: [401],
    login: [401, -32000],
    forbidden: [403, -32000],
    scopes: [403, -32000],
    unknown: [400, -32601],
    ran: [200],
};
const mcpAnswers = { ...rpcAnswers, unknown: [200, -32602] };
const toolAnswers = { ...rpcAnswers, unknown: [404, -32601] };
const restAnswers = {
    wrong: [401, "unauthorized"],
    login: [401, "unauthorized"],
    forbidden: [403, "access_denied"],
    scopes: [403, "insufficient_scope"],
    unknown: [404, "tool_not_found"],
    ran: [200],
};

const query = (name) => encodeURIComponent(JSON.stringify(message(name)));
const legacyDoor = (version) => ({
    name: `/mcp, ${version}`,
    answers: mcpAnswers,
    send: (server, tool, headers) =>
        post(server, "/mcp", toolCall(tool.name), {
            ...both,
            "MCP-Protocol-Version": version,
            ...headers,
        }),
});

const doors = [
    {
        name: "POST /mcp/tools/invoke",
        answers: restAnswers,
        send: (server, { name }, headers) =>
            post(server, "/mcp/tools/invoke", { name, arguments: {} }, headers),
    },
    {
        name: "POST /mcp/tools/{name}",
        answers: toolAnswers,
        send: (server, { name }, headers) =>
            post(server, `/mcp/tools/${name}`, message(name), headers),
    },
    {
        name: "GET /mcp/tools/{name}",
        answers: toolAnswers,
        send: (server, { name }, headers) =>
            get(server, `/mcp/tools/${name}?query=${query(name)}`, headers),
    },
    {
        name: "POST /jsonrpc",
        answers: rpcAnswers,
        send: (server, { name }, headers) => post(server, "/jsonrpc", message(name), headers),
    },
    {
        name: "GET /jsonrpc",
        answers: rpcAnswers,
        send: (server, { name }, headers) => get(server, `/jsonrpc?query=${query(name)}`, headers),
    },
    {
        name: "/mcp, 2026-07-28",
        answers: mcpAnswers,
        send: (server, { name }, headers) =>
            modern(server, "tools/call", { name, arguments: {} }, { headers }),
    },
    {
        name: "/mcp/tools/list as the endpoint",
        answers: mcpAnswers,
        send: (server, tool, headers) =>
            post(server, "/mcp/tools/list", toolCall(tool.name), { ...both, ...headers }),
    },
    {
        name: "/mcp without a version",
        answers: mcpAnswers,
        send: (server, tool, headers) =>
            post(server, "/mcp", toolCall(tool.name), { ...both, ...headers }),
    },
    ...legacyVersions.map(legacyDoor),
];

const hasRun = (answer, { name }) => answer.text.includes(`${name} ran`);

function compare(door, caller, tool, answer, verdict) {
    const what = `${door.name}, ${caller.name}, ${JSON.stringify(tool)}: ${answer.status} ${answer.text}`;
    const [status, code] = door.answers[verdict];
    assert.equal(answer.status, status, `${verdict}: ${what}`);
    assert.equal(hasRun(answer, tool), verdict === "ran", `${verdict}: ${what}`);
    if (code !== undefined) {
        assert.equal(answer.json.error.code, code, `${verdict}: ${what}`);
    }
    const challenge = answer.headers.get?.("www-authenticate") ?? answer.headers["www-authenticate"];
    assert.equal(Boolean(challenge), [401, 403].includes(status) && verdict !== "forbidden", what);
}

suite("the model of who may do what", () => {
    let server, callers;
    const cases = [];
    before(async () => {
        const store = { path: databasePath() };
        callers = await makeCallers(writeConfig({ roles, store }));
        const prepare = (folder) => compilePlugin(folder, "model", source());
        server = await startExamples({ prepare, roles, config: { store, page_size: 1000 } });
        const isThere = async () =>
            (await get(server, "/mcp/tools/list")).json?.tools.some(({ name }) => name === "m.t00");
        await eventually(isThere, "the tools");
        for (const door of doors) {
            for (const caller of callers) {
                tools.forEach((tool) => cases.push({ door, caller, tool }));
            }
        }
    });
    after(() => server?.stop());

    test("every door, version, credential and tool: no case differs", async () => {
        assert.ok(cases.length > 3000, `${cases.length} cases`);
        await inParallel(cases, 16, async ({ door, caller, tool }) => {
            const answer = await door.send(server, tool, caller.headers);
            compare(door, caller, tool, answer, judge(caller, tool));
        });
    });

    test("a wrong password is refused by every door before anything else", async () => {
        // Each of another account: failures of one are soon too many.
        for (const [i, door] of doors.entries()) {
            const caller = { name: "a wrong password", headers: basic(`nobody-${i}`, "nonsense") };
            const answer = await door.send(server, tools[0], caller.headers);
            compare(door, caller, tools[0], answer, "wrong");
        }
    });

    test("lists and descriptions show what the model lets a caller see", async () => {
        for (const caller of callers.filter(({ isWrong }) => !isWrong)) {
            const expected = tools.filter((tool) => sees(caller, tool)).map(({ name }) => name);
            const isOurs = (name) => name.startsWith("m.t");
            const listed = (await get(server, "/mcp/tools/list", caller.headers)).json.tools;
            assert.deepEqual(listed.map(({ name }) => name).filter(isOurs), expected, caller.name);
            const { json } = await modern(server, "tools/list", {}, { headers: caller.headers });
            const names = json.result.tools.map(({ name }) => name).filter(isOurs);
            assert.deepEqual(names, expected, caller.name);
            for (const { name } of tools) {
                const target = `/mcp/tools/describe?name=${name}`;
                const { status } = await get(server, target, caller.headers);
                assert.equal(status, expected.includes(name) ? 200 : 404, `${caller.name}: ${name}`);
            }
        }
    });

    test("a call that names two tools runs neither that the caller may not call", async () => {
        const [nobody] = callers;
        const open = tools[0];
        const closed = tools.filter((tool) => judge(nobody, tool) !== "ran");
        assert.ok(closed.length > 20, `${closed.length} tools`);
        await inParallel(closed, 8, async (tool) => {
            const tries = [
                // The address names one, the body another.
                post(server, `/mcp/tools/${open.name}`, message(tool.name)),
                post(server, `/mcp/tools/${tool.name}`, message(open.name)),
                get(server, `/mcp/tools/${open.name}?query=${query(tool.name)}`),
                post(server, `/mcp/tools/${open.name}`, [message(open.name), message(tool.name, 2)]),
                // The header names one, the body another.
                modern(server, "tools/call", { name: tool.name, arguments: {} }, {
                    headers: { "Mcp-Name": open.name },
                }),
                // One of several.
                post(server, "/jsonrpc", [message(open.name), message(tool.name, 2)]),
                post(server, "/mcp", [toolCall(open.name), toolCall(tool.name, 2)], both),
                // Twice in one object.
                post(server, "/jsonrpc", `{"jsonrpc":"2.0","id":1,"method":"${open.name}","method":"${tool.name}"}`),
                post(server, "/mcp/tools/invoke", `{"name":"${open.name}","name":"${tool.name}"}`),
            ];
            for (const answer of await Promise.all(tries)) {
                assert.ok(!hasRun(answer, tool), `${nobody.name}: ${tool.name}: ${answer.text}`);
            }
        });
    });
});
