// Every administration method, role, door and kind of credentials against a model of who may call
// what. The model is written here from the rules (docs/administration.md), not from the code.
import assert from "node:assert/strict";
import http from "node:http";
import { after, before, suite, test } from "node:test";
import { basic, bearer, call, cli, databasePath, discover } from "./support/accounts.mjs";
import { doors, message } from "./support/doors.mjs";
import { close, startForger } from "./support/issuer.mjs";
import { logIn, session } from "./support/login.mjs";
import { legacyVersions, modern, modernVersion, ownName, startBridge } from "./support/mcp.mjs";
import { runCauseway, writeConfig } from "./support/programs.mjs";
import { get } from "./support/rest.mjs";
import { inParallel } from "./support/server.mjs";
import { startStdio } from "./support/stdio.mjs";

const traffic = "view traffic";
const auditing = "view audit";
const sources = "administer sources";
const access = "administer access";

// Params are valid, and change nothing: what they name does not exist, or is so already.
const ghost = "ghost";
const reading = {
    "causeway.status": { needs: traffic },
    "causeway.stats": { needs: traffic },
    "causeway.calls.recent": { needs: traffic },
    "causeway.calls.running": { needs: traffic },
    "causeway.sources.list": { needs: traffic },
    "causeway.sources.diff": { needs: sources },
    "causeway.tools.list": { needs: traffic },
    "causeway.tools.describe": { needs: traffic, params: { name: "causeway.status" } },
    "causeway.access.why": { needs: auditing, params: { tool: "causeway.status" } },
    "causeway.access.matrix": { needs: auditing },
    "causeway.audit.search": { needs: auditing },
    "causeway.accounts.list": { needs: access },
    "causeway.roles.list": { needs: access },
    "causeway.tokens.list": { needs: access },
    "causeway.sessions.list": { needs: access },
    "causeway.clients.list": { needs: access },
    "causeway.grants.list": { needs: access },
    "causeway.keys.list": { needs: access },
    "causeway.replicas.list": { needs: traffic },
    "causeway.config.show": { needs: sources },
    "causeway.sources.approvals": { needs: sources },
    "causeway.tasks.list": { needs: sources },
};
const changing = {
    "causeway.sources.refresh": { needs: sources },
    "causeway.sources.approve": { needs: sources, params: { etag: ghost } },
    "causeway.accounts.add": { needs: access, params: { name: "plain" } },
    "causeway.accounts.remove": { needs: access, params: { name: ghost } },
    "causeway.accounts.block": { needs: access, params: { name: ghost } },
    "causeway.accounts.unblock": { needs: access, params: { name: ghost } },
    "causeway.accounts.grant": { needs: access, params: { name: ghost, role: "traffic" } },
    "causeway.accounts.revoke": { needs: access, params: { name: ghost, role: "traffic" } },
    "causeway.accounts.password": { needs: access, params: { name: ghost, password: "long-enough" } },
    "causeway.tokens.create": { needs: access, params: { account: ghost } },
    "causeway.tokens.revoke": { needs: access, params: { id: 999_999 } },
    "causeway.roles.add": { needs: access, params: { role: "anonymous" } },
    "causeway.roles.remove": { needs: access, params: { role: ghost } },
    "causeway.roles.allow": { needs: access, params: { role: ghost, permission: "x" } },
    "causeway.roles.deny": { needs: access, params: { role: ghost, permission: "x" } },
    "causeway.sessions.end": { needs: access, params: { id: 999_999 } },
    "causeway.clients.add": { needs: access, params: { id: "no id", redirect_uris: [] } },
    "causeway.clients.remove": { needs: access, params: { id: ghost } },
    "causeway.clients.deny": { needs: access, params: { id: "" } },
    "causeway.grants.revoke": { needs: access, params: { id: 999_999 } },
    "causeway.keys.rotate": { needs: access, params: {} },
    "causeway.tasks.cancel": { needs: sources, params: { id: ghost } },
    "causeway.log.level": { needs: sources, params: { level: "info" } },
    "causeway.cache.invalidate": { needs: sources, params: { tag: "user.permissions" } },
    "causeway.cache.rebuild": { needs: sources },
    "causeway.reload": { needs: sources },
    "causeway.upgrade": { needs: sources, params: { pid: 1 } },
};
const methods = [
    ...Object.entries(reading).map(([name, method]) => ({ name, isTool: true, ...method })),
    ...Object.entries(changing).map(([name, method]) => ({ name, isTool: false, ...method })),
];

const has = (permissions, needed) => needed === undefined || permissions.includes(needed);

// ---- the callers ----

const roles = {
    anonymous: [discover, call],
    authenticated: [],
    traffic: [traffic],
    auditor: [auditing, "view arguments"],
    sources: [sources],
    access: [access],
    everything: [traffic, auditing, "view arguments", sources, access],
};
const accounts = {
    plain: [],
    ...Object.fromEntries(
        Object.keys(roles)
            .slice(2)
            .map((role) => [role, roles[role]]),
    ),
};
const audience = "https://tools.example/mcp";

async function makeCallers(server, file, forger) {
    const callers = [
        { name: "nobody", headers: {}, permissions: [] },
        { name: "a token of nobody", headers: bearer(`cw_${"A".repeat(43)}`), verdict: "wrong" },
        {
            name: "a JWT of nobody",
            headers: bearer(await forger.sign({ preferred_username: ghost })),
            verdict: "wrong",
        },
    ];
    for (const [name, permissions] of Object.entries(accounts)) {
        const { token } = JSON.parse(await cli(file, "token", "create", name, "--json"));
        const login = await logIn(server, name, `pw-${name}`);
        const add = (kind, headers, more) =>
            callers.push({ name: `${kind} of ${name}`, headers, permissions, ...more });
        add("a password", basic(name, `pw-${name}`));
        add("a token", bearer(token));
        add("a JWT", bearer(await forger.sign({ preferred_username: name, scope: "" })));
        add("a session", session(server, login));
        add("a session without a proof", { ...session(server, login), "X-CSRF-Token": "" }, { verdict: "forged" });
    }
    return callers;
}

// ---- the model ----

function judge(caller, method, door) {
    if (caller.verdict) return caller.verdict;
    const isThere = has(caller.permissions, method.needs) && (door.takesMethods || method.isTool);
    if (!isThere) return "unknown";
    return door.name.startsWith("GET ") && !method.isTool ? "post" : "ran";
}

// What GET answers for a method that changes something, to those who may call it.
const useOfPost = [405, -32600];

// The method itself answered: a result, or an error of its own.
const own = [-32010, -32011, -32012, -32013, -32602];

function hasRun(door, answer) {
    const json = door.isBatch ? answer.json?.[0] : answer.json;
    if (!door.takesMethods) return JSON.stringify(json ?? "").includes('"pid"');
    return Boolean(json?.result) || own.includes(json?.error?.code);
}

function compare(door, caller, method, answer) {
    const verdict = judge(caller, method, door);
    const what = `${verdict}: ${door.name}, ${caller.name}, ${method.name}: ${answer.status} ${answer.text}`;
    const [status, code] = door.answers[verdict] ?? useOfPost;
    assert.equal(answer.status, status, what);
    assert.equal(hasRun(door, answer), verdict === "ran", what);
    if (code !== undefined) {
        const { error } = door.isBatch ? answer.json[0] : answer.json;
        assert.equal(error.code, code, what);
    }
}

function overSocket(socketPath, body) {
    return new Promise((resolve, reject) => {
        const headers = { "Content-Type": "application/json" };
        const options = { socketPath, method: "POST", path: "/jsonrpc", headers };
        const request = http.request(options, async (response) => {
            const text = (await response.toArray()).join("");
            resolve({ status: response.statusCode, text, json: JSON.parse(text) });
        });
        request.on("error", reject).end(JSON.stringify(body));
    });
}

suite("the model of administration", () => {
    let server, callers, forger, store;
    before(async () => {
        store = { path: databasePath() };
        forger = await startForger({ audience });
        const issuers = [{ issuer: forger.url, audience, allow_private: true, account_claim: "/preferred_username" }];
        const file = writeConfig({ roles, store });
        for (const name of Object.keys(accounts)) {
            const role = name === "plain" ? [] : ["--role", name];
            await cli(file, "account", "add", name, ...role, { input: `pw-${name}` });
        }
        const admin = { tools: Object.keys(reading) };
        const audit = { path: `${store.path}.audit` };
        const state = { lock: `${store.path}.lock` };
        server = await startBridge({ roles, config: { roles, store, access: { issuers }, admin, audit, state } });
        callers = await makeCallers(server, file, forger);
    });
    after(async () => {
        await server?.stop();
        await close(forger.server);
    });

    test("has every method that there is", async () => {
        const { json } = await overSocket(`${store.path}.sock`, message("causeway.tools.list", 1, {}));
        assert.ok(json.result);
        const all = await get(
            server,
            "/jsonrpc/methods",
            callers.find(({ name }) => name === "a token of everything").headers,
        );
        const names = JSON.stringify(all.json).match(/causeway\.[a-z.]+/g);
        assert.deepEqual([...new Set(names)].sort(), methods.map(({ name }) => name).sort());
    });

    test("threat-C1: every method, role, door and credential: no case differs", async () => {
        const cases = doors.flatMap((door) =>
            callers.flatMap((caller) => methods.map((method) => ({ door, caller, method }))),
        );
        assert.ok(cases.length > 5_000, `${cases.length} cases`);
        await inParallel(cases, 32, async ({ door, caller, method }) => {
            compare(door, caller, method, await door.send(server, method, caller.headers));
        });
    });

    // The process has one caller: the anonymous role, or the account of --as.
    test("threat-C1: standard input, every method and account: no case differs", async () => {
        const starts = [undefined, ...Object.keys(accounts)].flatMap((account) =>
            [modernVersion, legacyVersions[0]].map((version) => ({ account, version })),
        );
        await inParallel(starts, 4, async ({ account, version }) => {
            const as = account ? ["--as", account] : [];
            const client = startStdio({ args: ["--config", server.config, ...as] });
            const isModern = version === modernVersion;
            if (!isModern) await client.initialize(version);
            const send = (method, params) => (isModern ? client.modern(method, params) : client.ask(method, params));
            for (const { name, needs, isTool, params = {} } of methods) {
                const isThere = isTool && has(accounts[account] ?? [], needs);
                const answer = await send("tools/call", { name, arguments: params });
                const what = `${version}, ${account}, ${name}: ${JSON.stringify(answer)}`;
                assert.equal(answer.error?.code, isThere ? undefined : -32602, what);
                assert.equal(Boolean(answer.result), isThere, what);
                const bare = await send(name, params);
                assert.equal(bare.error?.code, -32601, `${what}: ${JSON.stringify(bare)}`);
            }
            await client.end();
        });
    });

    test("the local socket offers every method to the user of the server", async () => {
        for (const { name, params = {} } of methods) {
            const { json, text } = await overSocket(`${store.path}.sock`, message(name, 1, params));
            assert.ok(json.result || own.includes(json.error.code), `${name}: ${text}`);
        }
    });

    test("threat-C2: lists show each caller the reading methods of its permissions", async () => {
        for (const caller of callers.filter(({ verdict }) => !verdict)) {
            const expected = methods.filter(({ isTool, needs }) => isTool && has(caller.permissions, needs));
            const { json } = await modern(server, "tools/list", {}, { headers: caller.headers });
            const names = json.result.tools.map(ownName).filter((name) => name.startsWith("causeway."));
            assert.deepEqual(names.sort(), expected.map(({ name }) => name).sort(), caller.name);
        }
    });

    test("a method that changes something cannot be a tool: refused at load, with line and column", async () => {
        for (const name of [...Object.keys(changing), "causeway.nonsense"]) {
            const file = writeConfig(`admin:\n  tools:\n    - causeway.status\n    - ${name}\n`);
            const { code, stderr } = await runCauseway(["serve", "--config", file]);
            assert.equal(code, 2, name);
            assert.match(stderr, /:4:7: admin\.tools\[1\]: .*methods that change something cannot be tools/, name);
        }
    });
});
