// Every door, protocol version, kind of credentials and kind of tool against a model of who may do
// what. The model is written here from the rules (docs/access.md), not from the code; what a door
// makes of a verdict is a table. No case may differ, whatever way in was taken.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { basic, bearer, call, cli, databasePath, discover } from "./support/accounts.mjs";
import { close, foreign, startForger } from "./support/issuer.mjs";
import { logIn, sameOrigin, session, sessionCookie } from "./support/login.mjs";
import { doors, message, query, toolCall, toolsetDoors } from "./support/doors.mjs";
import { allow, send, token } from "./support/oauth-server.mjs";
import { both, extensions, legacyVersions, metaKey, modern, modernVersion, ownName, post } from "./support/mcp.mjs";
import { compilePlugin } from "./support/plugins.mjs";
import { writeConfig } from "./support/programs.mjs";
import { get, startExamples } from "./support/rest.mjs";
import { EventsClient } from "./support/events.mjs";
import {
    ask,
    eventOf,
    eventSettings,
    eventSource,
    hasRun,
    judge,
    makeTools,
    pluginSource,
    sees,
} from "./support/rights-model.mjs";
import { eventually, inParallel, pause } from "./support/server.mjs";
import { startStdio } from "./support/stdio.mjs";

const tools = makeTools([[], ["p"], ["p", "q"]]);

// ---- the callers ----

const general = [discover, call];

// Two configurations. In the first the role "authenticated" has only its own permissions; in the
// second, the default, it also has those of "anonymous".
const separate = {
    name: "authenticated_only_own",
    access: { authenticated_only_own: true },
    roles: {
        anonymous: general,
        authenticated: [],
        one: [...general, "p"],
        two: [...general, "p", "q"],
        silent: [discover, "p", "q"], // may look, but not call
    },
    inherited: [],
};
const inheriting = {
    name: "authenticated inherits",
    access: {},
    roles: { anonymous: [...general, "p"], authenticated: [], one: [], two: ["q"], silent: ["q"] },
    inherited: [...general, "p"],
};
const permissionsOf = ({ roles, inherited }, name) => [...roles[name], ...roles.authenticated, ...inherited];

// Tokens of others: one issuer names accounts, of the other the token's own claims count.
const audience = "https://tools.example/mcp";
const given = { "m:b": ["q"] }; // permissions that go with a scope of the second

async function startIssuers() {
    const [accounts, claims] = await Promise.all([startForger({ audience }), startForger({ audience })]);
    const common = { audience, allow_private: true };
    const config = [
        { ...common, issuer: accounts.url, account_claim: "/preferred_username" },
        { ...common, issuer: claims.url, roles: ["/roles"], scopes: given },
    ];
    return { accounts, claims, config };
}

async function makeJwtCallers(model, { accounts, claims }) {
    const now = Math.floor(Date.now() / 1000);
    const all = ["m:a", "m:b"];
    const known = { isKnown: true, hasToken: true };
    const ofAccount = async (name, scopes) => ({
        ...known,
        owner: name,
        headers: bearer(await accounts.sign({ preferred_username: name, scope: scopes.join(" ") })),
        permissions: permissionsOf(model, name),
        scopes,
    });
    const byClaims = async (names, scopes) => ({
        ...known,
        owner: "the subject of the second issuer",
        headers: bearer(await claims.sign({ roles: names, scope: scopes.join(" ") })),
        permissions: [
            ...permissionsOf(model, "authenticated"),
            ...names.flatMap((name) => model.roles[name]),
            ...scopes.flatMap((scope) => given[scope] ?? []),
        ],
        scopes,
    });
    // Good ones but for what is changed; they would act for "two" with both scopes.
    const good = { preferred_username: "two", scope: all.join(" ") };
    const wrong = async (changes, ...more) => ({
        headers: bearer(await accounts.sign({ ...good, ...changes }, ...more)),
        isWrong: true,
    });
    return {
        "a JWT of an account, both scopes": await ofAccount("two", all),
        "a JWT of an account, one scope": await ofAccount("two", ["m:b"]),
        "a JWT of an account without scopes": await ofAccount("two", []),
        "a JWT of an account, both scopes, p": await ofAccount("one", all),
        "a JWT of an account that may not call": await ofAccount("silent", all),
        "a JWT with a role, one scope": await byClaims(["two"], ["m:a"]),
        "a JWT with a role and a permission by scope": await byClaims(["one"], all),
        "a JWT with a role without scopes": await byClaims(["one"], []),
        "a JWT without a role": await byClaims([], all),
        "a JWT for somebody else": await wrong({ aud: foreign }),
        "an expired JWT": await wrong({ exp: now - 120 }),
        "a JWT that is not valid yet": await wrong({ nbf: now + 3_600, exp: now + 7_200 }),
        "a JWT of another issuer's key": await wrong({}, {}, claims.pair.privateKey),
        "a JWT of an account that is not there": await wrong({ preferred_username: "nobody" }),
        "a JWT that nobody signed": {
            headers: bearer(accounts.join({ alg: "none", typ: "at+jwt" }, accounts.claims(good))),
            isWrong: true,
        },
    };
}

async function makeCallers(model, config, issuers) {
    const add = (name, role) => cli(config, "account", "add", name, "--role", role, { input: `pw-${name}` });
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
        owner: name,
        headers: basic(name, `pw-${name}`),
        permissions: permissionsOf(model, name),
        isKnown: true,
    });
    const holder = async (name, scopes) => ({
        owner: name,
        headers: bearer((await token(name, scopes)).token),
        permissions: permissionsOf(model, name),
        isKnown: true,
        hasToken: true,
        scopes,
    });
    const callers = {
        nobody: { owner: "nobody", headers: {}, permissions: model.roles.anonymous },
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
        ...(await makeJwtCallers(model, issuers)),
    };
    await pause(1100);
    return Object.entries(callers).map(([name, caller]) => ({ name, scopes: [], ...caller }));
}

// Somebody who has logged in on the page of the running server. A browser sends the cookie whoever
// asks it to: without proof that a page of ours did, nothing is run.
async function makeSessionCallers(model, server) {
    const one = await logIn(server, "one", "pw-one");
    const two = await logIn(server, "two", "pw-two");
    const silent = await logIn(server, "silent", "pw-silent");
    const of = (name, login) => ({
        owner: name,
        headers: session(server, login),
        permissions: permissionsOf(model, name),
        isKnown: true,
    });
    const forged = (changes) => ({
        headers: { ...session(server, two), ...changes },
        permissions: permissionsOf(model, "two"),
        isKnown: true,
        isForged: true,
    });
    const callers = {
        "a session, p": of("one", one),
        "a session, p and q": of("two", two),
        "a session, no calls": of("silent", silent),
        "a session without anything": { ...forged(), headers: { Cookie: two.cookie } },
        "a session without a proof": forged({ "X-CSRF-Token": "" }),
        "a session with another's proof": forged({ "X-CSRF-Token": one.csrf }),
        "a session asked for by another site": forged({ "Sec-Fetch-Site": "cross-site" }),
        "a session that nobody has": {
            headers: { ...sameOrigin(server), Cookie: `${sessionCookie}=${"A".repeat(43)}` },
            isWrong: true,
        },
    };
    return Object.entries(callers).map(([name, caller]) => ({ name, scopes: [], ...caller }));
}

// Applications that "two" has allowed: one has the role "one" as its ceiling, the other one was revoked.
const redirect_uri = "http://127.0.0.1:9/callback";
const oauth = {
    enabled: true,
    clients: [
        { id: "app", redirect_uris: [redirect_uri] },
        { id: "bounded", redirect_uris: [redirect_uri], ceiling: ["one"] },
    ],
};

async function makeGrantCallers(model, server) {
    const { cookie } = await logIn(server, "two", "pw-two");
    const most = [...model.roles.anonymous, ...model.roles.one];
    const grant = async (client_id, scope) => {
        const { code, verifier } = await allow(server, cookie, { client_id, redirect_uri, scope });
        const fields = { grant_type: "authorization_code", code, code_verifier: verifier, client_id };
        return (await token(server, fields)).json.access_token;
    };
    const holder = (access_token) => ({
        owner: "two",
        headers: bearer(access_token),
        permissions: permissionsOf(model, "two"),
        isKnown: true,
        hasToken: true,
    });
    const ended = await grant("app", "m:a m:b");
    await send(server, "/revoke", { token: ended, client_id: "app" });
    const bounded = holder(await grant("bounded", "m:a m:b"));
    bounded.permissions = bounded.permissions.filter((permission) => most.includes(permission));
    const callers = {
        "a grant with a ceiling, both scopes": { ...bounded, scopes: ["m:a", "m:b"] },
        "a token of a grant that was revoked": { headers: bearer(ended), isWrong: true },
    };
    return Object.entries(callers).map(([name, caller]) => ({ name, scopes: [], ...caller }));
}

// ---- the model ----

// Toolsets: one has all tools, one a third of them. Their addresses are doors of their own.
const toolsets = { all: {}, some: { tools: ["m.t1*"], exclude: ["m.t14"] } };
const isInSome = ({ name }) => name.startsWith("m.t1") && name !== "m.t14";
const addresses = [
    ...toolsetDoors("/mcp/x/all", () => true),
    ...toolsetDoors("/mcp/x/some", isInSome),
    ...toolsetDoors("/mcp/x/some/readonly", isInSome),
];

function compare(door, caller, tool, answer, verdict) {
    const what = `${door.name}, ${caller.name}, ${JSON.stringify(tool)}: ${answer.status} ${answer.text}`;
    const [status, code] = door.answers[verdict];
    assert.equal(answer.status, status, `${verdict}: ${what}`);
    assert.equal(hasRun(answer, tool), verdict === "ran", `${verdict}: ${what}`);
    if (code !== undefined) {
        const { error } = door.isBatch ? answer.json[0] : answer.json;
        assert.equal(error.code, code, `${verdict}: ${what}`);
    }
    const challenge = answer.headers.get?.("www-authenticate") ?? answer.headers["www-authenticate"];
    const isChallenged = [401, 403].includes(status) && !["forbidden", "forged"].includes(verdict);
    assert.equal(Boolean(challenge), isChallenged, what);
}

for (const model of [separate, inheriting]) {
    suite(`the model of who may do what: ${model.name}`, () => {
        let server, callers, issuers;
        const cases = [];
        before(async () => {
            const store = { path: databasePath() };
            issuers = await startIssuers();
            const { roles, access } = model;
            callers = await makeCallers(model, writeConfig({ roles, store, access }), issuers);
            const prepare = (folder) => compilePlugin(folder, "model", pluginSource(tools) + eventSource(tools));
            const config = {
                store,
                toolsets,
                page_size: 1000,
                plugins: { events: eventSettings(tools) },
                mcp: { page_size: 1000, events: { enabled: true, webhooks: ["hooks.example"] } },
                access: { ...access, issuers: issuers.config, server: oauth },
            };
            server = await startExamples({ prepare, roles, config });
            const isThere = async () =>
                (await get(server, "/mcp/tools/list")).json?.tools.some(({ name }) => name === "m.t00");
            await eventually(isThere, "the tools");
            callers.push(...(await makeSessionCallers(model, server)), ...(await makeGrantCallers(model, server)));
            for (const door of [...doors, ...addresses]) {
                for (const caller of callers) {
                    tools.forEach((tool) => cases.push({ door, caller, tool }));
                }
            }
        });
        after(async () => {
            await server?.stop();
            await Promise.all([issuers.accounts, issuers.claims].map(({ server }) => close(server)));
        });

        test("threat-C1: every door, version, credential and tool: no case differs", async () => {
            assert.ok(cases.length > 10_000, `${cases.length} cases`);
            await inParallel(cases, 32, async ({ door, caller, tool }) => {
                const answer = await door.send(server, tool, caller.headers);
                compare(door, caller, tool, answer, judge(caller, tool, door.has));
            });
        });

        // Whoever started it is the caller: nobody, or the account of --as, which has no token.
        test("threat-C1: standard input, every version, account and tool: no case differs", async () => {
            const starts = [undefined, "one", "two", "silent"].flatMap((account) =>
                [modernVersion, ...legacyVersions].map((version) => ({ account, version })),
            );
            // Nobody can log in on standard input: what needs a login or scopes is a result with a sentence.
            const codes = { forbidden: -32000, unknown: -32602 };
            await inParallel(starts, 4, async ({ account, version }) => {
                const caller = account
                    ? { permissions: permissionsOf(model, account), isKnown: true, scopes: [] }
                    : { permissions: model.roles.anonymous, scopes: [] };
                const as = account ? ["--as", account] : [];
                const client = startStdio({ args: ["--config", server.config, ...as] });
                const isModern = version === modernVersion;
                if (!isModern) {
                    await client.initialize(version);
                }
                const send = (method, params) =>
                    isModern ? client.modern(method, params) : client.ask(method, params);
                for (const tool of tools) {
                    const verdict = judge(caller, tool);
                    const answer = await send("tools/call", { name: tool.name, arguments: {} });
                    const what = `${version}, ${account}, ${JSON.stringify(tool)}: ${JSON.stringify(answer)}`;
                    assert.equal(answer.error?.code, codes[verdict], `${verdict}: ${what}`);
                    const isGated = verdict === "login" || verdict === "scopes";
                    assert.equal(answer.result?.isError === true, isGated, `${verdict}: ${what}`);
                    const text = answer.result?.content[0].text;
                    assert.equal(text === `${tool.name} ran`, verdict === "ran", `${verdict}: ${what}`);
                }
                const { result } = await send("tools/list", {});
                const names = result.tools.map(ownName).filter((name) => name.startsWith("m.t"));
                const isListed = (tool) => sees(caller, tool) && ask(caller, tool) === "ran";
                const expected = tools.filter(isListed).map(({ name }) => name);
                assert.deepEqual(names, expected, `${version}, ${account}`);
                await client.end();
            });
        });

        // A task is its owner's, whatever the credentials, as long as they would let the call begin.
        test("threat-C1: every task, its owner and all others: no case differs", async () => {
            const meta = { [metaKey("clientCapabilities")]: { extensions } };
            const ask = async (method, params, { headers }) => {
                const { status, text, json } = await modern(server, method, params, { meta, headers });
                return { status, json, bytes: `${status} ${text.replaceAll(params.taskId, "ID")}` };
            };
            const owners = [...new Set(callers.map(({ owner }) => owner))].filter(Boolean);
            const some = tools.filter((_, i) => i % 3 === 0);
            const made = owners.flatMap((owner) =>
                some.map((tool) => ({
                    tool,
                    owner,
                    by: callers.find((one) => one.owner === owner && judge(one, tool) === "ran"),
                })),
            );
            const tasks = made.filter(({ by }) => by);
            assert.ok(tasks.length > 15, `${tasks.length} tasks`);
            await inParallel(tasks, 8, async (task) => {
                const { json } = await ask("tools/call", { name: task.tool.name, arguments: {} }, task.by);
                task.id = json.result.taskId;
                assert.match(task.id, /^[0-9a-f]{68}$/, JSON.stringify(json));
            });
            const methods = ["tasks/get", "tasks/update", "tasks/cancel"];
            const unknown = new Map();
            await inParallel(callers, 8, async (caller) => {
                for (const method of methods) {
                    const params = { taskId: "0".repeat(68), inputResponses: {} };
                    unknown.set(`${method} ${caller.name}`, (await ask(method, params, caller)).bytes);
                }
            });
            const all = tasks.flatMap((task) => callers.map((caller) => ({ ...task, caller })));
            await inParallel(all, 16, async ({ id, tool, owner, caller }) => {
                const isOwn = caller.owner === owner && judge(caller, tool) === "ran";
                const what = `${caller.name}, a task of ${owner}, ${JSON.stringify(tool)}`;
                const answer = await ask("tasks/get", { taskId: id }, caller);
                assert.equal(answer.json?.result?.taskId === id, isOwn, `${what}: ${answer.bytes}`);
                for (const method of isOwn ? [] : methods) {
                    const found = await ask(method, { taskId: id, inputResponses: {} }, caller);
                    assert.equal(found.bytes, unknown.get(`${method} ${caller.name}`), `${method}: ${what}`);
                }
            });
        });

        // An event has the demands of a tool: the tool of its source, its resource and the extension agree.
        test("threat-C1: every event, way to read it and caller: no case differs", async () => {
            const door = doors.find(({ name }) => name === "/mcp, 2026-07-28");
            const able = callers.find((one) => tools.every((tool) => judge(one, tool) === "ran"));
            const { cursor } = await new EventsClient(server, able.headers).poll(eventOf(tools[0]), null);
            const emitted = await post(server, "/jsonrpc", message("m.emit"));
            assert.match(emitted.text, /"emitted"/);
            const ask = async (method, params, name, { headers }) => {
                const answer = await modern(server, method, params, { headers });
                const bytes = `${answer.status} ${answer.text}`
                    .replaceAll(name, "NAME")
                    .replaceAll(name.replace(".", "/"), "NAME");
                return { ...answer, bytes };
            };
            const delivery = { mode: "webhook", url: "https://hooks.example/x", secret: `whsec_${"A".repeat(43)}=` };
            const ways = [
                ["events/poll", (name) => ({ name, cursor })],
                ["events/stream", (name) => ({ name, cursor })],
                ["events/subscribe", (name) => ({ name, cursor: null, delivery })],
                ["resources/read", (name) => ({ uri: `events://${name.replace(".", "/")}` })],
                ["tools/call", (name) => ({ name: "model.events", arguments: { name, since: cursor } })],
            ];
            const isRefused = (way, verdict) => way !== "tools/call" || !["login", "scopes"].includes(verdict);
            await inParallel(callers, 8, async (caller) => {
                const unknown = new Map();
                for (const [way, params] of ways) {
                    unknown.set(way, (await ask(way, params("model.none"), "model.none", caller)).bytes);
                }
                for (const tool of tools) {
                    const name = eventOf(tool);
                    const verdict = judge(caller, tool);
                    for (const [way, params] of ways) {
                        const what = `${way}, ${caller.name}, ${verdict}, ${JSON.stringify(tool)}`;
                        // A stream and a subscription have tests of their own; here they must not begin.
                        if (verdict === "ran" && ["events/stream", "events/subscribe"].includes(way)) {
                            continue;
                        }
                        const answer = await ask(way, params(name), name, caller);
                        const hasEvent = answer.text.includes(`event of ${tool.name}`);
                        assert.equal(hasEvent, verdict === "ran", `${what}: ${answer.bytes}`);
                        if (verdict === "unknown" || !isRefused(way, verdict)) {
                            assert.equal(answer.bytes, unknown.get(way), what);
                        } else {
                            assert.equal(answer.status, door.answers[verdict][0], `${what}: ${answer.bytes}`);
                        }
                    }
                }
                await compareLists(caller);
            });
        });

        // The list of events, and the tool without a name.
        async function compareLists(caller) {
            const { headers } = caller;
            const isShown = !caller.isWrong && !caller.isForged && caller.permissions.includes(discover);
            const listed = await modern(server, "events/list", {}, { headers });
            const seen = listed.json?.result?.events.map(({ name }) => name) ?? [];
            const expected = isShown ? tools.filter((tool) => sees(caller, tool)).map(eventOf) : [];
            assert.deepEqual(seen, expected, `${caller.name}: ${listed.text}`);
            const { json } = await modern(server, "tools/call", { name: "model.events", arguments: {} }, { headers });
            const got = json?.result?.structuredContent.events.map(({ name }) => name) ?? [];
            const received = tools.filter((tool) => judge(caller, tool) === "ran").map(eventOf);
            assert.deepEqual(new Set(got), new Set(received), caller.name);
        }

        test("a wrong password is refused by every door before anything else", async () => {
            // Each of another account: failures of one are soon too many.
            for (const [i, door] of doors.entries()) {
                const caller = { name: "a wrong password", headers: basic(`nobody-${i}`, "nonsense") };
                const answer = await door.send(server, tools[0], caller.headers);
                compare(door, caller, tools[0], answer, "wrong");
            }
        });

        test("threat-C2: lists and descriptions show what the model lets a caller see", async () => {
            // A page of another site may not even look; without a word of where it is from, it may.
            const [stranger] = callers.filter(({ name }) => name.includes("another site"));
            assert.equal((await get(server, "/mcp/tools/list", stranger.headers)).status, 403);
            for (const caller of callers.filter((one) => !one.isWrong && one !== stranger)) {
                const expected = tools.filter((tool) => sees(caller, tool)).map(({ name }) => name);
                const isOurs = (name) => name.startsWith("m.t");
                const mayLook = caller.permissions.includes(discover);
                const listed = await get(server, "/mcp/tools/list", caller.headers);
                const shown = await modern(server, "tools/list", {}, { headers: caller.headers });
                if (mayLook) {
                    const ours = (list) => list.map(ownName).filter(isOurs);
                    assert.deepEqual(ours(listed.json.tools), expected, caller.name);
                    // What is asked for by POST needs the proof, whatever it is.
                    assert.equal(shown.status, caller.isForged ? 403 : 200, caller.name);
                    const seen = caller.isForged ? expected : ours(shown.json.result.tools);
                    assert.deepEqual(seen, expected, caller.name);
                } else {
                    assert.deepEqual([listed.status, shown.status], [403, 403], caller.name);
                }
                for (const { name } of tools) {
                    const target = `/mcp/tools/describe?name=${name}`;
                    const { status } = await get(server, target, caller.headers);
                    const isThere = expected.includes(name) ? 200 : 404;
                    assert.equal(status, mayLook ? isThere : 403, `${caller.name}: ${name}`);
                }
            }
        });

        test("threat-A6: a call that names two tools runs neither that the caller may not call", async () => {
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
                    modern(
                        server,
                        "tools/call",
                        { name: tool.name, arguments: {} },
                        {
                            headers: { "Mcp-Name": open.name },
                        },
                    ),
                    // One of several.
                    post(server, "/jsonrpc", [message(open.name), message(tool.name, 2)]),
                    post(server, "/mcp", [toolCall(open.name), toolCall(tool.name, 2)], both),
                    // Twice in one object.
                    post(
                        server,
                        "/jsonrpc",
                        `{"jsonrpc":"2.0","id":1,"method":"${open.name}","method":"${tool.name}"}`,
                    ),
                    post(server, "/mcp/tools/invoke", `{"name":"${open.name}","name":"${tool.name}"}`),
                ];
                for (const answer of await Promise.all(tries)) {
                    assert.ok(!hasRun(answer, tool), `${nobody.name}: ${tool.name}: ${answer.text}`);
                }
            });
        });
    });
}
