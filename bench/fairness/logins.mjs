// What the hostile clients share that work against logins: a server with an account whose owner has
// logged in, and calls.
import { execFileSync } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import http from "node:http";
import { mkdtempSync } from "node:fs";
import path from "node:path";
import { callFile, permissions, pluginFolder, startWith, tryCall, write } from "../bridge/bridge.mjs";
import { build, causeway, folder } from "../http/servers.mjs";
import { paced } from "./healthy.mjs";

export const account = "alice";
export const basic = (name, password) => `Basic ${Buffer.from(`${name}:${password}`).toString("base64")}`;
const password = "walk across";

// Keys of an issuer, each of them as costly to check with as RSA may be.
export function startIssuer() {
    const keys = [1, 2, 3, 4].map((i) => ({
        ...generateKeyPairSync("rsa", { modulusLength: 4096 }).publicKey.export({ format: "jwk" }),
        kid: `key-${i}`,
        use: "sig",
    }));
    const server = http.createServer((request, answer) => {
        const issuer = `http://127.0.0.1:${server.address().port}`;
        const metadata = { issuer, jwks_uri: `${issuer}/jwks` };
        answer.end(JSON.stringify(request.url === "/jwks" ? { keys } : metadata));
    });
    return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

// A JWT that nobody signed: without a key id, and with a signature of the right length.
export function madeUpToken(issuer) {
    const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const header = encode({ alg: "RS256", typ: "at+jwt" });
    const claims = encode({ iss: issuer, jti: randomBytes(8).toString("hex") });
    return `${header}.${claims}.${randomBytes(512).toString("base64url")}`;
}

export async function startLogins() {
    const issuer = await startIssuer();
    const url = `http://127.0.0.1:${issuer.address().port}`;
    const home = mkdtempSync(path.join(folder, "logins-"));
    const plugins = { directory: pluginFolder(path.join(build, "tests", "plugins", "echo.so")) };
    const config = {
        plugins,
        access_log: false,
        store: { path: path.join(home, "accounts.db") },
        roles: { anonymous: permissions },
        access: { issuers: [{ issuer: url, audience: "https://x.example", allow_private: true }] },
    };
    const file = write("logins.yaml", JSON.stringify(config));
    const add = ["account", "add", account, "--config", file];
    execFileSync(causeway, add, { input: password, stdio: ["pipe", "pipe", "inherit"] });
    const server = await startWith(file);
    await server.said(/catalogue published tools=[1-9]/);
    await tryCall(server, "test.echo");
    const healthy = paced({
        file: callFile("test.echo", { Authorization: basic(account, password) }),
    });
    // Logged in before the first measurement: the first login of all is hashed.
    await healthy({ server, seconds: 1 });
    const stop = async () => {
        await server.stop();
        issuer.close();
    };
    return { server, healthy, attack: { issuer: url }, stop };
}
