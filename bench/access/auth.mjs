// What bearer tokens cost: a call with a JWT that is in the cache next to the same call without one,
// the check of one that is not, and the memory that many different ones take.
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import http from "node:http";
import path from "node:path";
import { callFile, connections, message, permissions } from "../bridge/bridge.mjs";
import { pluginFolder, runPairs, startBridge, write } from "../bridge/bridge.mjs";
import { build, median, rssBytes, runLoad, sleep } from "../http/servers.mjs";
import { measureChecks } from "./jwt.mjs";

const mostColdMicroseconds = 60;
const audience = "https://mcp.example/mcp";
const lifetime = 3600;
// What src/access/issuer/token_cache.h sets: tokens that a loop remembers, and bytes of their callers.
const cache = { entries: 10_000, bytes: 16 * 2 ** 20 };
const mb = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MB`;

// ---- an issuer ----

const base64url = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

// RS256 is what most issuers use; ES256 is quicker to sign by the hundred thousand.
const algorithms = {
    RS256: { pair: () => generateKeyPairSync("rsa", { modulusLength: 2048 }), how: {} },
    ES256: {
        pair: () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
        how: { dsaEncoding: "ieee-p1363" },
    },
};

function makeKeys() {
    return Object.entries(algorithms).map(([alg, { pair, how }]) => {
        const { publicKey, privateKey } = pair();
        const jwk = { ...publicKey.export({ format: "jwk" }), alg, use: "sig", kid: alg };
        return { alg, jwk, key: { key: privateKey, ...how } };
    });
}

async function startIssuer() {
    const keys = makeKeys();
    const server = http.createServer((request, response) => {
        response.setHeader("Content-Type", "application/json");
        response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }));
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${server.address().port}`;
    const now = Math.floor(Date.now() / 1000);
    // Every subject has tokens of its own.
    const token = (alg, subject) => {
        const { key } = keys.find((one) => one.alg === alg);
        const text = [
            base64url({ alg, typ: "at+jwt", kid: alg }),
            base64url({
                iss: url,
                aud: audience,
                sub: createHash("md5").update(subject).digest("hex"),
                client_id: "inspector",
                iat: now,
                exp: now + lifetime,
                jti: subject,
                scope: "profile content:read content:write",
            }),
        ].join(".");
        return `${text}.${sign("sha256", text, key).toString("base64url")}`;
    };
    return { url, token, close: () => server.close() };
}

// Who has no token may call the tool as well as who has one.
const start = (issuer) =>
    startBridge("test.echo", {
        plugins: { directory: pluginFolder(path.join(build, "bench", "bridge", "echo.so")) },
        roles: { anonymous: permissions, authenticated: permissions },
        public_url: "https://mcp.example",
        hosts: ["localhost", "127.0.0.1"],
        access: {
            issuers: [{ issuer: issuer.url, jwks_uri: `${issuer.url}/jwks`, allow_private: true }],
        },
    });

const bearer = (token) => ({ Authorization: `Bearer ${token}` });

// ---- measuring ----

// The server must look at tokens at all: one that is not signed by the issuer is refused.
async function checkRefusal(server, token) {
    const bad = `${token.slice(0, -8)}AAAAAAAA`;
    const answer = await fetch(`http://${server.address}/mcp`, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...bearer(bad) },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
    });
    await answer.text();
    if (answer.status !== 401) {
        server.fail(`a token with a wrong signature got ${answer.status}`);
    }
}

async function compare(issuer, { pairs, seconds, say }) {
    const server = await start(issuer);
    const token = issuer.token("RS256", "somebody");
    await checkRefusal(server, token);
    const sides = {
        token: { server, file: callFile("test.echo", bearer(token)) },
        none: { server, file: callFile("test.echo") },
    };
    const measured = await runPairs(sides, { pairs, seconds, say });
    await server.stop();
    return { ...measured, bytes: token.length };
}

async function spend(server, tokens) {
    const file = callFile("test.echo", bearer("@TOKEN@"));
    const list = write("tokens", `${tokens.join("\n")}\n`);
    const args = [server.address, connections, 120, 0, file, message, list];
    const { requests, failed, said } = await runLoad("load", args, { group: "bridge" });
    if (failed > 0 || requests !== tokens.length) {
        server.fail(`${failed} of ${requests} calls went wrong\n${said}`);
    }
    await sleep(200);
    return rssBytes(server);
}

// Twice as many as there is room for fill the cache; the others must find room in it.
async function weigh(issuer, count, say) {
    const tokens = Array.from({ length: count }, (_, i) => issuer.token("ES256", `subject-${i}`));
    const first = Math.min(2 * cache.entries, count / 2);
    const server = await start(issuer);
    await spend(server, [issuer.token("ES256", "first")]);
    await runLoad("load", [server.address, connections, 1, 0, callFile("test.echo"), message], {
        group: "bridge",
    });
    const before = rssBytes(server);
    const full = await spend(server, tokens.slice(0, first));
    const after = await spend(server, tokens.slice(first));
    await server.stop();
    const found = { count, first, growth: after - before, filling: full - before, rest: after - full };
    say(`${count} tokens: ${mb(found.growth)} more, ${mb(found.rest)} of it after the first ${first}`);
    return found;
}

export async function run({ quick, say }) {
    const [pairs, seconds, count] = quick ? [2, 1, 4000] : [15, 1, 100_000];
    const issuer = await startIssuer();
    const measured = await compare(issuer, { pairs, seconds, say });
    const memory = await weigh(issuer, count, say);
    issuer.close();
    const checks = await measureChecks();
    const cold = checks.find(({ what }) => what === "RS256").median_ns / 1000;
    const ratio = median(measured.ratios);
    return {
        ...measured,
        cache,
        memory,
        checks,
        figures: [
            {
                name: "call with a JWT that is in the cache: CPU, times the same call without a token",
                target: "≤ 1.1 ×",
                shown: `${ratio.toFixed(2)} ×`,
                ok: ratio <= 1.1,
            },
            {
                name: "JWT check, RS256, not in the cache",
                target: `≤ ${mostColdMicroseconds} µs of CPU`,
                shown: `${cold.toFixed(1)} µs`,
                ok: cold <= mostColdMicroseconds,
            },
            {
                name: `${count.toLocaleString("en")} different valid JWTs: growth of memory`,
                target: `≤ ${mb(cache.bytes)} (the cache)`,
                shown: `${mb(memory.growth)}, ${mb(memory.rest)} of it after the first ${memory.first.toLocaleString("en")}`,
                ok: memory.growth <= cache.bytes,
            },
        ],
    };
}
