// causeway token inspect: tokens made by Node's own cryptography, judged by the program.
import assert from "node:assert/strict";
import { constants, createHmac, generateKeyPairSync, sign } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { bearer, startAccounts } from "./support/accounts.mjs";
import { close, secret, startForger } from "./support/issuer.mjs";
import { rpc } from "./support/mcp.mjs";
import { newFolder } from "./support/plugins.mjs";
import { runCauseway, writeConfig } from "./support/programs.mjs";

const issuer = "https://as.example";
const resource = "https://mcp.example/mcp";
const folder = newFolder("jwt");

const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
const raw = { dsaEncoding: "ieee-p1363" };
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const algorithms = {
    RS256: { ...rsa, digest: "sha256" },
    PS256: { ...rsa, digest: "sha256", options: pss },
    ES256: { ...generateKeyPairSync("ec", { namedCurve: "P-256" }), digest: "sha256", options: raw },
    ES384: { ...generateKeyPairSync("ec", { namedCurve: "P-384" }), digest: "sha384", options: raw },
    EdDSA: { ...generateKeyPairSync("ed25519"), digest: null },
};

const keys = Object.entries(algorithms).map(([alg, { publicKey }]) => ({
    ...publicKey.export({ format: "jwk" }),
    kid: alg,
    alg,
    use: "sig",
}));
const jwks = path.join(folder, "jwks.json");
writeFileSync(jwks, JSON.stringify({ keys: [...keys, { kty: "oct", kid: "shared", k: "AAAA" }] }));

const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const now = () => Math.floor(Date.now() / 1000);

function claims(changes = {}) {
    const base = { iss: issuer, aud: resource, sub: "alice", client_id: "cli", jti: "1" };
    return { ...base, iat: now(), exp: now() + 300, scope: "content:read", ...changes };
}

function makeToken(alg, payload = claims(), header = {}) {
    const { privateKey, digest, options = {} } = algorithms[alg];
    const text = `${encode({ alg, kid: alg, typ: "at+jwt", ...header })}.${encode(payload)}`;
    const signature = sign(digest, Buffer.from(text), { key: privateKey, ...options });
    return `${text}.${signature.toString("base64url")}`;
}

const all = ["--jwks", jwks, "--issuer", issuer, "--audience", "urn:other", "--audience", resource];

async function inspect(input, args = all) {
    const { code, stdout, stderr } = await runCauseway(["token", "inspect", "--json", ...args], { input });
    return { code, stderr, ...JSON.parse(stdout) };
}

const names = ({ reasons }) => reasons.map(({ reason }) => reason);

test("tokens of all five algorithms are accepted", async () => {
    for (const alg of Object.keys(algorithms)) {
        const result = await inspect(`\n ${makeToken(alg)} \r\n`);
        assert.equal(result.code, 0, JSON.stringify(result.reasons));
        assert.equal(result.accepted, true);
        assert.deepEqual(result.unchecked, []);
        assert.equal(result.header.alg, alg);
        assert.equal(result.claims.sub, "alice");
        assert.match(result.stderr, /key 6 \("shared"\) is left out: its type is not supported/);
    }
});

test("threat-C7: forged tokens are refused, each with its reason", async () => {
    const good = makeToken("RS256");
    const [header, payload, signature] = good.split(".");
    const secret = rsa.publicKey.export({ type: "spki", format: "pem" });
    const hs = `${encode({ alg: "HS256", kid: "RS256", typ: "at+jwt" })}.${payload}`;
    const mac = createHmac("sha256", secret).update(hs).digest("base64url");
    const cases = [
        ["signature_length", `${header}.${payload}.`],
        ["not_compact", `${header}.${payload}`],
        ["not_compact", `${good}.`],
        ["alg_none", `${encode({ alg: "none", typ: "at+jwt" })}.${payload}.`],
        ["alg_symmetric", `${hs}.${mac}`],
        ["key_alg", `${encode({ alg: "RS256", kid: "EdDSA", typ: "at+jwt" })}.${payload}.${signature}`],
        ["no_key", makeToken("RS256", claims(), { kid: "../RS256" })],
        ["crit", makeToken("RS256", claims(), { crit: ["exp"] })],
        ["signature", makeToken("PS256", claims(), { alg: "RS256", kid: "RS256" })],
        ["base64", `${good}=`],
        ["base64", `${header}.${payload}\0.${signature}`],
        ["too_long", `${header}.${"A".repeat(20_000)}.${signature}`],
        ["too_long", "A".repeat(100_000)],
        ["encrypted", "a.b.c.d.e"],
        ["own", `cw_${"A".repeat(43)}`],
        ["not_compact", ""],
    ];
    for (const [reason, token] of cases) {
        const result = await inspect(token);
        assert.deepEqual(names(result), [reason], token.slice(0, 100));
        assert.equal(result.code, 1);
        assert.equal(result.accepted, false);
    }
});

test("claims that do not fit are told, and a wrong signature beside them", async () => {
    const cases = {
        issuer: { iss: `${issuer}/` },
        audience: { aud: ["https://other.example"] },
        expired: { exp: now() - 100 },
        not_yet: { nbf: now() + 1000 },
        bound: { cnf: { jkt: "x" } },
        time: { exp: String(now() + 300) },
        missing_claim: { client_id: undefined },
    };
    for (const [reason, changes] of Object.entries(cases)) {
        const result = await inspect(makeToken("ES256", claims(changes)));
        assert.deepEqual([result.code, ...names(result)], [1, reason]);
    }
    const both = makeToken("ES256", claims({ exp: 1 })).split(".");
    both[2] = makeToken("ES256").split(".")[2];
    assert.deepEqual(names(await inspect(both.join("."))), ["signature", "expired"]);
});

test("what is not given is not checked, and said to be so", async () => {
    const token = makeToken("EdDSA");
    const { code, unchecked } = await inspect(token, ["--jwks", jwks]);
    assert.equal(code, 0);
    assert.deepEqual(unchecked, ["issuer", "audience"]);
    assert.deepEqual(names(await inspect(token, all.slice(2))), ["unchecked"]);
    const untyped = makeToken("EdDSA", claims(), { typ: "JWT" });
    assert.deepEqual(names(await inspect(untyped)), ["typ"]);
    assert.equal((await inspect(untyped, [...all, "--allow-missing-typ"])).code, 0);
});

test("threat-B10: what a terminal would act on is shown as an escape", async () => {
    const token = makeToken("EdDSA", claims({ "a\u001b[31m": "\u202e\u009b\u007f\u2028", name: "Zoë" }));
    const { code, stdout } = await runCauseway(["token", "inspect", ...all], { input: token });
    assert.equal(code, 0);
    assert.match(stdout, /^accepted\n/);
    assert.ok(stdout.includes(`"a\\u001b[31m": "\\u202e\\u009b\\u007f\\u2028"`), stdout);
    assert.ok(stdout.includes("Zoë"));
});

test("a key set that cannot be read is a failure, and a token is no argument", async () => {
    const broken = path.join(folder, "broken.json");
    writeFileSync(broken, "{}");
    for (const file of [broken, path.join(folder, "missing.json")]) {
        const { code, stderr } = await runCauseway(["token", "inspect", "--jwks", file], { input: "x" });
        assert.equal(code, 1);
        assert.match(stderr, /^causeway: .*(broken|missing)\.json/);
    }
    assert.equal((await runCauseway(["token", "inspect", makeToken("EdDSA")])).code, 2);
});

test("with --config the configured issuers decide, by their keys and rules", async () => {
    const forger = await startForger({ audience: "https://tools.example/mcp" });
    const configOf = (...issuers) => [
        "--config",
        writeConfig({ public_url: "https://tools.example", access: { issuers } }),
    ];
    const ours = { issuer: forger.url, allow_private: true };
    const config = configOf({ issuer: "https://other.example" }, ours);
    const good = await inspect(await forger.sign(), config);
    assert.deepEqual([good.code, good.accepted, good.unchecked], [0, true, []], JSON.stringify(good));
    assert.equal(good.claims.sub, "sam");
    // The other issuer was not asked, ours once.
    assert.deepEqual(forger.seen, ["/.well-known/oauth-authorization-server", "/jwks"]);
    const cases = [
        ["audience", await forger.sign({ aud: "https://elsewhere.example" })],
        ["expired", await forger.sign({ exp: now() - 100 })],
        ["no_key", await forger.sign({}, { kid: "unknown" })],
        ["signature", (await forger.sign()).replace(/....$/, "AAAA")],
        ["issuer", makeToken("RS256")],
        ["own", `cw_${"A".repeat(43)}`],
        ["refused", "opaque"],
    ];
    for (const [reason, token] of cases) {
        const result = await inspect(token, config);
        assert.deepEqual([result.code, ...names(result)], [1, reason]);
    }
    // The rules for what may be fetched hold here too.
    const token = await forger.sign();
    const careful = await inspect(
        token,
        configOf({ ...ours, issuer: forger.url, allow_private: true, jwks_uri: "http://169.254.169.254/jwks" }),
    );
    assert.deepEqual([careful.code, ...names(careful)], [1, "unreachable"]);
    assert.match(careful.stderr, /keys of an issuer cannot be fetched.*169\.254\.169\.254/);
    const both = await runCauseway(["token", "inspect", ...config, "--issuer", "x"], { input: token });
    assert.equal(both.code, 2);
    await close(forger.server);
});

test("with --config an opaque token is asked about", async () => {
    const forger = await startForger({ audience: "https://tools.example/mcp" });
    const file = path.join(folder, "secret");
    writeFileSync(file, secret);
    forger.metadata.introspection_endpoint = `${forger.url}/introspect`;
    let active = true;
    forger.publish("/introspect", () => (active ? { active, ...forger.claims() } : { active }));
    const issuer = { issuer: forger.url, allow_private: true, client_id: "us", client_secret_file: file };
    const config = ["--config", writeConfig({ public_url: "https://tools.example", access: { issuers: [issuer] } })];
    const good = await inspect("opaque", config);
    assert.deepEqual([good.code, good.claims?.sub], [0, "sam"], JSON.stringify(good));
    active = false;
    assert.deepEqual(names(await inspect("opaque", config)), ["refused"]);
    delete forger.paths["/introspect"];
    const down = await inspect("opaque", config);
    assert.deepEqual([down.code, ...names(down)], [1, "unreachable"]);
    assert.match(down.stderr, /the answer is 404/);
    await close(forger.server);
});

test("it and a server agree on whose a token is", async () => {
    const audience = "https://tools.example/mcp";
    const [plain, accounts] = await Promise.all([startForger({ audience }), startForger({ audience })]);
    const common = { audience, allow_private: true, allow_missing_typ: true };
    const issuers = [
        { ...common, issuer: plain.url },
        { ...common, issuer: accounts.url, account_claim: "/preferred_username" },
    ];
    const server = await startAccounts({ config: { access: { issuers } } });
    await server.cli("account", "block", "bob");
    const without = { sub: undefined, jti: undefined };
    const untyped = { typ: undefined };
    for (const [forger, claims, reasons] of [
        [plain, {}, []],
        [plain, without, []],
        [plain, { ...without, client_id: undefined }, ["no_subject"]],
        [accounts, { ...without, client_id: undefined, preferred_username: "alice" }, []],
        [accounts, { preferred_username: "bob" }, ["account"]],
        [accounts, { preferred_username: "mallory" }, ["account"]],
        [accounts, {}, ["account"]],
        [accounts, { preferred_username: 7 }, ["account"]],
    ]) {
        const token = await forger.sign(claims, untyped);
        const told = await inspect(token, ["--config", server.config]);
        const { status } = await rpc(server, { method: "test.caller", id: 1 }, bearer(token));
        const what = `${JSON.stringify(claims)}: ${status}, ${JSON.stringify(told.reasons)}`;
        assert.deepEqual(names(told), reasons, what);
        assert.equal(status === 401, reasons.length > 0, what);
    }
    await server.stop();
    await Promise.all([plain, accounts].map(({ server: own }) => close(own)));
});
