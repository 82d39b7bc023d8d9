// What a caller may not see differs neither in bytes nor, as far as can be measured, in time from
// what is not there: tools on every door, and accounts.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { basic, bearer, call, roles, startAccounts } from "./support/accounts.mjs";
import { both, envelope, modernVersion } from "./support/mcp.mjs";
import { patience } from "./support/programs.mjs";
import { Connection, request } from "./support/server.mjs";
import { compareRanks, median, randomFrom, shuffled } from "./support/statistics.mjs";

const rounds = 800;
const timeout = patience(180_000);
// By chance alone a share is so far from one half once in a hundred thousand runs.
const deviations = 4.5;

const json = { "Content-Type": "application/json" };
const rpcBody = (method, params) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

// Each asks for a tool of this name.
const doors = {
    describe: (name) => request("GET", `/mcp/tools/describe?name=${name}`),
    "per tool": (name) => request("POST", `/mcp/tools/${name}`, json, rpcBody(name, {})),
    "per tool, GET": (name) => request("GET", `/mcp/tools/${name}?query=${encodeURIComponent(rpcBody(name, {}))}`),
    invoke: (name) => request("POST", "/mcp/tools/invoke", json, JSON.stringify({ name, arguments: {} })),
    jsonrpc: (name) => request("POST", "/jsonrpc", json, rpcBody(name, {})),
    methods: (name) => request("GET", `/jsonrpc/methods/${name}`),
    "tools/call": (name) => {
        const headers = {
            ...json,
            ...both,
            "MCP-Protocol-Version": modernVersion,
            "Mcp-Method": "tools/call",
            "Mcp-Name": name,
        };
        return request("POST", "/mcp", headers, rpcBody("tools/call", { name, arguments: {}, _meta: envelope() }));
    },
    "tools/call, legacy": (name) =>
        request("POST", "/mcp", { ...json, ...both }, rpcBody("tools/call", { name, arguments: {} })),
};

// The time of one exchange in ms, and what came.
async function timed(c, text) {
    const begin = performance.now();
    c.socket.write(text);
    const answer = await c.response();
    return { ms: performance.now() - begin, answer };
}

// What of an answer could tell one name from another.
function shownOf({ status, headers, text }, name) {
    const { date, "x-request-id": id, ...others } = Object.fromEntries(headers);
    return { status, text: text.replaceAll(name, "NAME"), headers: others };
}

// The times of each kind, asked in turn and in no order.
async function measure(c, kinds, random, count = rounds) {
    const times = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, []]));
    for (let round = 0; round < count; round += 1) {
        for (const kind of shuffled(Object.keys(kinds), random)) {
            times[kind].push((await timed(c, kinds[kind])).ms);
        }
    }
    return times;
}

function assertAlike(a, b, what) {
    const { share, noise } = compareRanks(a, b);
    const text = `${what}: medians ${median(a).toFixed(3)} and ${median(b).toFixed(3)} ms, share ${share.toFixed(3)}`;
    assert.ok(Math.abs(share - 0.5) < deviations * noise, text);
    return text;
}

test("threat-C2: forbidden is as unknown on every door, in bytes and in time", { timeout }, async (t) => {
    const server = await startAccounts(); // bob lacks the permission that all tools of "echo" need
    const { token } = await server.token("bob");
    const random = randomFrom(1);
    for (const headers of [{}, bearer(token)]) {
        const who = headers.Authorization ? "an account" : "anonymous";
        for (const [door, plain] of Object.entries(doors)) {
            const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
            const ask = (name) => plain(name).replace("\r\n", `\r\n${lines.join("")}`);
            const c = await Connection.open(server);
            const names = { forbidden: "test.echo", unknown: "test.ecko", other: "zest.echo" };
            const shown = [];
            for (const name of Object.values(names)) {
                shown.push(shownOf((await timed(c, ask(name))).answer, name));
            }
            assert.deepEqual(shown[0], shown[1], door);
            assert.deepEqual(shown[0], shown[2], door);
            const kinds = Object.fromEntries(Object.entries(names).map(([kind, name]) => [kind, ask(name)]));
            const times = await measure(c, kinds, random, headers.Authorization ? rounds / 4 : rounds);
            c.close();
            assertAlike(times.unknown, times.other, `${door}, ${who}: two unknown ones`);
            t.diagnostic(assertAlike(times.forbidden, times.unknown, `${door}, ${who}`));
        }
    }
    await server.stop();
});

// That the measure above can tell: a tool that is run takes a little longer than one that is not there.
test("the measure finds a difference that is there", async () => {
    const server = await startAccounts({ config: { roles: { ...roles, anonymous: [call, "access content"] } } });
    const c = await Connection.open(server);
    const kinds = { seen: doors.jsonrpc("test.caller"), unknown: doors.jsonrpc("test.callex") };
    const random = randomFrom(2);
    const times = { seen: [], unknown: [] };
    const differs = () => {
        const { share, noise } = compareRanks(times.seen, times.unknown);
        return Math.abs(share - 0.5) >= deviations * noise;
    };
    // A busy machine hides it for longer, not for ever: twice as often as above at most.
    do {
        const more = await measure(c, kinds, random, rounds / 4);
        times.seen.push(...more.seen);
        times.unknown.push(...more.unknown);
    } while (!differs() && times.seen.length < rounds * 2);
    c.close();
    assert.throws(() => assertAlike(times.seen, times.unknown, "a call"), /medians/);
    await server.stop();
});

// Accounts have a few free guesses each, and so has an address: there are many of both. A hash takes
// long, so that those which can differ in one way only are tried less often.
test("threat-C8: accounts that exist, are blocked or have no password are as unknown ones", { timeout }, async (t) => {
    const server = await startAccounts();
    const counts = { existing: 20, unknown: 20, blocked: 5, without: 5 };
    const perName = 4;
    const copy = (name, blocked) =>
        `INSERT INTO account (name, password, created, blocked) SELECT '${name}', password, 0, ${blocked} FROM account WHERE name = 'alice';`;
    const rows = Array.from({ length: 5 }, (_, i) => [
        copy(`existing${i}`, 0),
        copy(`blocked${i}`, 1),
        `INSERT INTO account (name, created) VALUES ('without${i}', 0);`,
    ]);
    execFileSync("sqlite3", [server.database], { input: rows.flat().join("\n") });
    const order = Object.entries(counts).flatMap(([kind, n]) => Array.from({ length: n }, (_, i) => [kind, i]));
    const times = Object.fromEntries(Object.keys(counts).map((kind) => [kind, []]));
    const shown = new Set();
    for (const [n, [kind, i]] of shuffled(order, randomFrom(3)).entries()) {
        const from = { port: server.port, host: "127.0.0.1", localAddress: `127.0.1.${n + 1}` };
        const name = `${kind}${Math.floor(i / perName)}`;
        const c = await Connection.open(from);
        const headers = { ...json, ...basic(name, `guess ${i}`) };
        const { ms, answer } = await timed(c, request("POST", "/jsonrpc", headers, rpcBody("test.echo", {})));
        c.close();
        assert.equal(answer.status, 401, answer.text);
        shown.add(JSON.stringify(shownOf(answer, name)));
        times[kind].push(ms);
    }
    assert.equal(shown.size, 1, [...shown].join("\n"));
    t.diagnostic(assertAlike(times.existing, times.unknown, "existing"));
    for (const kind of ["blocked", "without"]) {
        const shortest = Math.min(...times[kind]);
        assert.ok(shortest > Math.min(...times.unknown) / 2, `${kind}: ${shortest} ms`);
    }
    await server.stop();
});

// Whoever guesses a token letter by letter would see how many are right.
test("threat-C8: a wrong token takes as long however much of it is right", { timeout }, async (t) => {
    const server = await startAccounts();
    const { token } = await server.token("alice");
    const random = randomFrom(4);
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const guess = (n) => Array.from({ length: n }, () => letters[Math.floor(random() * 64)]).join("");
    const length = token.length - 3;
    // Another one each time: what was refused is remembered for a while.
    const kinds = {
        near: () => token.slice(0, -6) + guess(6),
        far: () => `cw_${guess(length)}`,
        other: () => `cw_${guess(length)}`,
    };
    const times = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, []]));
    const c = await Connection.open(server);
    const ask = (one) => request("POST", "/jsonrpc", { ...json, ...bearer(one) }, rpcBody("test.caller", {}));
    for (let round = 0; round < rounds; round += 1) {
        for (const kind of shuffled(Object.keys(kinds), random)) {
            const { ms, answer } = await timed(c, ask(kinds[kind]()));
            assert.equal(answer.status, 401, answer.text);
            times[kind].push(ms);
        }
    }
    c.close();
    assertAlike(times.far, times.other, "two far ones");
    t.diagnostic(assertAlike(times.near, times.far, "near"));
    await server.stop();
});
