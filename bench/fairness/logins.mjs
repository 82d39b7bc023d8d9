// What the hostile clients share that work against logins: a server with accounts and an issuer.
import { execFileSync } from "node:child_process";
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import http from "node:http";
import { mkdtempSync } from "node:fs";
import path from "node:path";
import { callFile, permissions, pluginFolder, startWith, tryCall, write } from "../bridge/bridge.mjs";
import { build, causeway, folder } from "../http/servers.mjs";
import { paced, roles } from "./healthy.mjs";
import { trustedProxies } from "./hostile.mjs";

export const account = "alice";
const audience = "https://x.example";
const base64url = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
export const basic = (name, password) => `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;
export const password = "walk across";

// An issuer, each of whose keys is as costly to check with as RSA may be.
async function startIssuer() {
    const pairs = [1, 2, 3, 4].map(() => generateKeyPairSync("rsa", { modulusLength: 4096 }));
    const keys = pairs.map(({ publicKey }, i) => ({
        ...publicKey.export({ format: "jwk" }),
        kid: `key-${i + 1}`,
        use: "sig",
    }));
    const server = http.createServer((request, answer) => {
        const issuer = `http://127.0.0.1:${server.address().port}`;
        const metadata = { issuer, jwks_uri: `${issuer}/jwks` };
        answer.end(JSON.stringify(request.url === "/jwks" ? { keys } : metadata));
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${server.address().port}`;
    const token = (subject) => {
        const now = Math.floor(Date.now() / 1000);
        const claims = { iss: url, aud: audience, sub: subject, client_id: "bench", iat: now, exp: now + 3600 };
        const text = `${base64url({ alg: "RS256", typ: "at+jwt", kid: "key-1" })}.${base64url({ ...claims, jti: subject })}`;
        return `${text}.${sign("sha256", text, pairs[0].privateKey).toString("base64url")}`;
    };
    return { url, token, close: () => server.close() };
}

// A JWT without a key id, whose signature is of the right length and of no key.
export function madeUpToken(issuer) {
    const header = base64url({ alg: "RS256", typ: "at+jwt" });
    const claims = base64url({ iss: issuer, jti: randomBytes(8).toString("hex") });
    return `${header}.${claims}.${randomBytes(512).toString("base64url")}`;
}

// Accounts with the password of the first one, each with a hash of its own to verify.
function copyAccount(database, n) {
    const sql = `WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < ${n})
        INSERT INTO account (name, password, created) SELECT 'user' || n, password, created FROM account, i
        WHERE name = '${account}';`;
    execFileSync("sqlite3", ["-bail", database], { input: sql });
}

// A healthy client: requests with credentials that the server has not seen before.
export function withFresh({ scheme, next, rate }) {
    const file = callFile("test.echo", { Authorization: `${scheme} @TOKEN@` });
    return async ({ server, seconds }) => {
        const lines = Array.from({ length: seconds * rate }, next);
        const tokens = write("credentials", `${lines.join("\n")}\n`);
        return paced({ file, rate, tokens })({ server, seconds });
    };
}

// Logins a second of a healthy client: each takes some 50 ms of a core to verify.
export const loginRate = 5;

// `healthyOf({ issuer, server })` makes the healthy client.
export async function startLogins(healthyOf) {
    const issuer = await startIssuer();
    const home = mkdtempSync(path.join(folder, "logins-"));
    const plugins = { directory: pluginFolder(path.join(build, "tests", "plugins", "echo.so")) };
    const config = {
        loops: 1,
        plugins,
        access_log: false,
        store: { path: path.join(home, "accounts.db") },
        trusted_proxies: trustedProxies,
        roles: { ...roles, authenticated: [...permissions, "view traffic"] },
        access: { issuers: [{ issuer: issuer.url, audience, allow_private: true }] },
    };
    const file = write("logins.yaml", JSON.stringify(config));
    const add = ["account", "add", account, "--config", file];
    execFileSync(causeway, add, { input: password, stdio: ["pipe", "pipe", "inherit"] });
    copyAccount(config.store.path, 2000);
    const server = await startWith(file);
    await server.said(/catalogue published tools=[1-9]/);
    await tryCall(server, "test.echo");
    const healthy = await healthyOf({ issuer, server });
    // Before the first measurement: the first login of all is hashed, and the first token needs the keys.
    await healthy({ server, seconds: 1 });
    const stop = async () => {
        await server.stop();
        issuer.close();
    };
    return { server, healthy, attack: { issuer: issuer.url }, stop };
}
