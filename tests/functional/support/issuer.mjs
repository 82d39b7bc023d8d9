// Authorization servers for the tests.
//
//     const issuer = await startProvider({ resource });          a real one, npm's oidc-provider
//     const token = await issuer.token({ scope: "content:read" });
//
//     const forger = await startForger();                        metadata, keys and tokens by hand
//     const token = await forger.sign({ sub: "x" }, { typ: "at+jwt" });
import { createHash, randomBytes } from "node:crypto";
import http from "node:http";
import { after } from "node:test";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { errors, Provider } from "oidc-provider";

export const scopes = ["content:read", "content:write", "user:read"];
export const foreign = "https://elsewhere.example/mcp";
export const secret = "tHe secret+of/client=1";

const running = new Set();
after(() => running.forEach((server) => server.closeAllConnections() ?? server.close()));

async function listen(handler, port = 0) {
    const server = http.createServer(handler);
    running.add(server);
    await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
    return server;
}

export async function close(server) {
    running.delete(server);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
}

// ---- keys ----

const algorithms = { RS256: {}, ES256: {}, EdDSA: { crv: "Ed25519" } };

async function makeKeys(generation) {
    const keys = [];
    for (const [alg, options] of Object.entries(algorithms)) {
        const pair = await generateKeyPair(alg, { extractable: true, ...options });
        const jwk = await exportJWK(pair.privateKey);
        keys.push({ ...jwk, alg, use: "sig", kid: `${alg}-${generation}` });
    }
    return keys;
}

// ---- oidc-provider ----

const confidential = (client_id, grant_types) => ({
    client_id,
    client_secret: secret,
    grant_types,
    redirect_uris: [],
    response_types: [],
    token_endpoint_auth_method: "client_secret_basic",
});

function providerOptions({ keys, alg, format, resource, ttl, offered }) {
    const on = { enabled: true };
    return {
        jwks: { keys },
        scopes: ["openid", "offline_access", ...offered],
        clients: [
            confidential("machine", ["client_credentials"]),
            confidential("causeway", []),
            {
                client_id: "person",
                token_endpoint_auth_method: "none",
                application_type: "native",
                grant_types: ["authorization_code", "refresh_token"],
                response_types: ["code"],
                redirect_uris: ["http://127.0.0.1/callback"],
            },
        ],
        clientDefaults: { id_token_signed_response_alg: "RS256" },
        pkce: { required: () => true },
        features: {
            clientCredentials: on,
            introspection: on,
            revocation: on,
            registration: on,
            devInteractions: on,
            resourceIndicators: {
                enabled: true,
                defaultResource: () => undefined,
                useGrantedResource: () => true,
                getResourceServerInfo: (ctx, wanted) => {
                    if (wanted !== resource && wanted !== foreign) {
                        throw new errors.InvalidTarget();
                    }
                    return {
                        scope: offered.join(" "),
                        audience: wanted,
                        accessTokenTTL: ttl,
                        accessTokenFormat: format,
                        jwt: { sign: { alg } },
                    };
                },
            },
        },
    };
}

export async function startProvider({ resource, alg = "RS256", format = "jwt", ttl = 300, offered = scopes }) {
    let current;
    let generation = 0;
    const seen = [];
    const server = await listen((req, res) => {
        seen.push(req.url);
        current(req, res);
    });
    const url = `http://127.0.0.1:${server.address().port}`;
    const self = { url, resource, seen, server };
    // New keys, at once; nothing that was issued before is known any more.
    self.rotate = async (options = {}) => {
        generation += 1;
        const keys = await makeKeys(generation);
        const all = { keys, alg, format, resource, ttl, offered, ...options };
        const quiet = console.warn;
        console.warn = () => {};
        current = new Provider(url, providerOptions(all)).callback();
        console.warn = quiet;
    };
    await self.rotate();
    self.post = async (path, form, client = "machine") => {
        const pair = [client, secret].map(encodeURIComponent).join(":");
        const answer = await fetch(url + path, {
            method: "POST",
            headers: { Authorization: `Basic ${Buffer.from(pair).toString("base64")}` },
            body: new URLSearchParams(form),
        });
        const text = await answer.text();
        if (answer.status !== 200) {
            throw new Error(`${path}: ${answer.status} ${text}`);
        }
        return text ? JSON.parse(text) : undefined;
    };
    self.token = async ({ scope = "content:read content:write", to = resource } = {}) => {
        const form = { grant_type: "client_credentials", scope, resource: to };
        return (await self.post("/token", form)).access_token;
    };
    self.login = (options) => login(self, options);
    return self;
}

// ---- a person with a browser ----

class Browser {
    #cookies = new Map();

    // One request without following redirects.
    async go(url, form) {
        const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
        const answer = await fetch(url, {
            method: form ? "POST" : "GET",
            body: form && new URLSearchParams(form),
            headers: { Cookie: cookie },
            redirect: "manual",
        });
        for (const line of answer.headers.getSetCookie()) {
            const [name, value] = line.split(";")[0].split("=");
            this.#cookies.set(name, value);
        }
        const location = answer.headers.get("location");
        return { text: await answer.text(), next: location && new URL(location, url) };
    }

    // Log in and consent on the provider's own pages; where it sends the browser in the end.
    async authorize(url, name) {
        let at = new URL(url);
        const host = at.host;
        for (let step = 0; step < 20; step++) {
            let { text, next } = await this.go(at);
            if (!next) {
                const action = new URL(/action="([^"]+)"/.exec(text)[1], at);
                const prompt = /name="prompt" value="(\w+)"/.exec(text)[1];
                ({ next } = await this.go(action, { prompt, login: name, password: "any" }));
            }
            if (next.host !== host) {
                return next;
            }
            at = next;
        }
        throw new Error("no end of redirects");
    }
}

export const authorize = (url, name) => new Browser().authorize(url, name);

// Authorization code with PKCE; the tokens.
async function login(issuer, { name = "alice", scope = "openid content:read" } = {}) {
    const verifier = randomBytes(48).toString("base64url");
    const redirect_uri = "http://127.0.0.1:9/callback";
    const query = new URLSearchParams({
        client_id: "person",
        response_type: "code",
        redirect_uri,
        scope,
        prompt: "consent",
        resource: issuer.resource,
        state: "s1",
        code_challenge: createHash("sha256").update(verifier).digest("base64url"),
        code_challenge_method: "S256",
    });
    const back = await authorize(`${issuer.url}/auth?${query}`, name);
    const form = {
        grant_type: "authorization_code",
        client_id: "person",
        code: back.searchParams.get("code"),
        code_verifier: verifier,
        redirect_uri,
        resource: issuer.resource,
    };
    const answer = await fetch(`${issuer.url}/token`, {
        method: "POST",
        body: new URLSearchParams(form),
    });
    return await answer.json();
}

// ---- by hand ----

export const base64url = (value) =>
    Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

// An issuer whose every word a test can change: `forger.metadata`, `forger.keys`, `forger.paths`
// (what is answered where), and the tokens.
export async function startForger({ audience, alg = "ES256" } = {}) {
    const seen = [];
    const self = { seen, paths: {} };
    const server = await listen((req, res) => {
        seen.push(req.url);
        const answer = self.paths[req.url];
        if (!answer) {
            res.writeHead(404).end("{}");
            return;
        }
        answer(req, res);
    });
    self.server = server;
    self.url = `http://127.0.0.1:${server.address().port}`;
    self.publish = (name, value) => {
        self.paths[name] = (req, res) => res.setHeader("Content-Type", "application/json").end(JSON.stringify(value()));
    };
    self.metadata = { issuer: self.url, jwks_uri: `${self.url}/jwks` };
    self.publish("/.well-known/oauth-authorization-server", () => self.metadata);
    self.publish("/jwks", () => ({ keys: self.keys }));
    self.rotate = async (kid) => {
        self.pair = await generateKeyPair(alg, { extractable: true });
        self.publicJwk = { ...(await exportJWK(self.pair.publicKey)), alg, use: "sig", kid };
        self.kid = kid;
        self.keys = [self.publicJwk];
    };
    await self.rotate("key-1");
    const now = () => Math.floor(Date.now() / 1000);
    // The claims of a token that is good; undefined takes one away.
    self.claims = (changes = {}) => ({
        iss: self.url,
        aud: audience,
        sub: "sam",
        client_id: "app",
        jti: randomBytes(8).toString("hex"),
        iat: now(),
        exp: now() + 3_600,
        scope: "content:read content:write",
        ...changes,
    });
    self.header = (changes = {}) => ({ alg, typ: "at+jwt", kid: self.kid, ...changes });
    self.sign = (claims = {}, header = {}, key = self.pair.privateKey) =>
        new SignJWT(self.claims(claims)).setProtectedHeader(self.header(header)).sign(key);
    // Parts that nobody signed.
    self.join = (header, claims, signature = "") => [base64url(header), base64url(claims), signature].join(".");
    return self;
}
