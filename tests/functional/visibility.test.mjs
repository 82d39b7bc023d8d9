// visibility: hide: whoever lacks a tool's scopes gets the same bytes as for a tool that is not
// there, on every door.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { basic, bearer, startAccounts } from "./support/accounts.mjs";
import { addPlugin, callTool, modern, ownName, permissions, rpc, untilTool } from "./support/mcp.mjs";
import { get, invoke, send } from "./support/rest.mjs";
import { eventually } from "./support/server.mjs";

const roles = { anonymous: permissions, authenticated: permissions, editor: [] };
const hidden = "hidden.scoped";
// As long as the other, so that nothing but the name differs.
const missing = "hidden.nobody";

let server;
const callers = {};

before(async () => {
    server = await startAccounts({ plugins: ["echo"], config: { roles } });
    addPlugin(server.plugins, "hidden");
    await untilTool(server, "hidden.challenged");
    callers.anonymous = {};
    callers["with a password"] = basic("bob", "b0b");
    const token = async (...scopes) =>
        bearer((await server.token("bob", ...scopes.flatMap((one) => ["--scope", one]))).token);
    callers["with another scope"] = await token("user:read");
    callers.right = await token("content:read", "user:read");
});
after(() => server?.stop());

// What each door says about a tool; its name and what differs in each answer are taken out.
const doors = {
    describe: (name, headers) => get(server, `/mcp/tools/describe?name=${name}`, headers),
    invoke: (name, headers) => invoke(server, name, {}, headers),
    "the tool's own address": (name, headers) => {
        const query = JSON.stringify({ jsonrpc: "2.0", id: 1, method: name });
        return get(server, `/mcp/tools/${name}?query=${encodeURIComponent(query)}`, headers);
    },
    "a method's address": (name, headers) => get(server, `/jsonrpc/methods/${name}`, headers),
    jsonrpc: (name, headers) => rpc(server, { method: name, id: 1 }, headers),
    mcp: (name, headers) => callTool(server, name, {}, { headers }),
};

function strip(answer, name) {
    const headers = Object.fromEntries(
        answer.headers instanceof Headers ? answer.headers : Object.entries(answer.headers),
    );
    delete headers.date;
    delete headers["x-request-id"];
    return { status: answer.status, headers, text: answer.text.replaceAll(name, "NAME") };
}

for (const who of ["anonymous", "with a password", "with another scope"]) {
    suite(who, () => {
        for (const [door, ask] of Object.entries(doors)) {
            test(`${door}: as if it were not there`, async () => {
                const answers = [];
                for (const name of [hidden, missing]) {
                    answers.push(strip(await ask(name, callers[who]), name));
                }
                assert.deepEqual(answers[0], answers[1]);
                assert.equal(answers[0].headers["www-authenticate"], undefined);
            });
        }

        test("no list has it, but the one that challenges", async () => {
            const { json } = await get(server, "/mcp/tools/list", callers[who]);
            const methods = await get(server, "/jsonrpc/methods", callers[who]);
            const listed = await modern(server, "tools/list", {}, { headers: callers[who] });
            for (const names of [
                json.tools.map(({ name }) => name),
                methods.json.data.map(({ id }) => id),
                listed.json.result.tools.map(ownName),
            ]) {
                assert.ok(!names.includes(hidden));
                assert.ok(names.includes("hidden.challenged"));
                assert.equal(names.includes("hidden.member"), who !== "anonymous");
            }
        });

        test("the one that challenges does", async () => {
            const { status, headers } = await invoke(server, "hidden.challenged", {}, callers[who]);
            assert.equal(status, who === "with another scope" ? 403 : 401);
            assert.match(headers["www-authenticate"], /Bearer/);
        });
    });
}

test("a token with the scope sees it and can call it on every door", async () => {
    for (const [door, ask] of Object.entries(doors)) {
        const answer = await ask(hidden, callers.right);
        assert.equal(answer.status, 200, door);
        assert.equal(answer.json.error, undefined, `${door}: ${answer.text}`);
    }
    const { json } = await get(server, "/mcp/tools/list", callers.right);
    const tool = json.tools.find(({ name }) => name === hidden);
    // What hides it is nobody's business but ours.
    assert.doesNotMatch(JSON.stringify(tool), /visibility|hide"/);
});

test("threat-C13: a revoked token sees it no longer", async () => {
    const { id, token } = await server.token("bob", "--scope", "content:read");
    const look = () => get(server, `/mcp/tools/describe?name=${hidden}`, bearer(token));
    assert.equal((await look()).status, 200);
    await server.cli("token", "revoke", String(id));
    await eventually(async () => (await look()).status === 401, "a refused token");
});

test("an anonymous caller learns nothing of what is only for those who have logged in", async () => {
    const ask = (headers) => send(server, "GET", "/mcp/tools/describe?name=hidden.member", { headers });
    assert.equal((await ask({})).status, 404);
    assert.equal((await ask(callers["with a password"])).status, 200);
});
