// MCP clients of others log in: from our 401 alone they find the authorization server, register,
// send a person there and come back with a token.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import * as client2 from "@modelcontextprotocol/client";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { call, discover } from "./support/accounts.mjs";
import { authorize, close, startProvider } from "./support/issuer.mjs";
import { freePort } from "./support/ports.mjs";
import { startBridge } from "./support/mcp.mjs";
import { patience, root } from "./support/programs.mjs";

const about = { name: "causeway-tests", version: "1.0.0" };

let issuer;
let server;
before(async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    issuer = await startProvider({ resource: `${url}/mcp` });
    server = await startBridge({
        // Nobody sees anything without logging in.
        roles: { authenticated: [discover, call, "access content"] },
        args: ["--listen", `127.0.0.1:${port}`],
        config: {
            public_url: url,
            access: { issuers: [{ issuer: issuer.url, allow_private: true }] },
        },
    });
    await server.untilLogged(/catalogue published tools=[1-9]/);
});
after(async () => {
    await server?.stop();
    await close(issuer.server);
});

// What an application keeps; where it would open a browser, the address is noted.
class Application {
    redirectUrl = "http://127.0.0.1:9/callback";
    clientMetadata = {
        client_name: "causeway-tests",
        application_type: "native",
        redirect_uris: [this.redirectUrl],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
    };
    clientInformation = () => this.client;
    saveClientInformation = (client) => void (this.client = client);
    tokens = () => this.kept;
    saveTokens = (tokens) => void (this.kept = tokens);
    redirectToAuthorization = (url) => void (this.opened = url);
    saveCodeVerifier = (verifier) => void (this.verifier = verifier);
    codeVerifier = () => this.verifier;
}

const kinds = {
    "SDK 1.32.2": [Client1, Http1, UnauthorizedError, (url) => url.searchParams.get("code")],
    "client 2.4.0": [
        client2.Client,
        client2.StreamableHTTPClientTransport,
        client2.UnauthorizedError,
        (url) => url.searchParams,
    ],
};

for (const [name, [Client, Transport, Unauthorized, givenBack]] of Object.entries(kinds)) {
    test(`${name} logs in and calls a scoped tool`, async (t) => {
        const authProvider = new Application();
        const endpoint = new URL(`${server.url}/mcp`);
        const first = new Transport(endpoint, { authProvider });
        const stranger = new Client(about);
        // The first request is challenged: nothing is visible without a login.
        await assert.rejects(stranger.connect(first), Unauthorized);
        const ask = (client) => client.callTool({ name: "test.scoped", arguments: {} });
        assert.equal(authProvider.opened.origin, issuer.url);
        assert.equal(authProvider.opened.searchParams.get("resource"), `${server.url}/mcp`);
        // The newer client adds offline_access by itself.
        const scope = authProvider.opened.searchParams.get("scope");
        assert.ok(scope.startsWith("content:read content:write"), scope);
        const back = await authorize(authProvider.opened, "alice");
        await first.finishAuth(givenBack(back));
        const client = new Client(about);
        await client.connect(new Transport(endpoint, { authProvider }));
        t.after(() => client.close());
        const { content } = await ask(client);
        assert.equal(content[0].text, "in scope");
    });
}

suite("the Inspector 2.12.0", () => {
    const launcher = path.join(root, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    const inspect = (...args) =>
        new Promise((resolve) => {
            // Without a limit of its own for connecting.
            const fixed = [launcher, "--cli", `${server.url}/mcp`, "--transport", "http", "--connect-timeout", "0"];
            const options = { timeout: patience(120_000) };
            execFile(process.execPath, [...fixed, ...args], options, (error, stdout, stderr) =>
                resolve({ code: error ? error.code : 0, output: stdout + stderr }),
            );
        });

    test("ends with 3 without a token", async () => {
        const { code, output } = await inspect("--method", "tools/list", "--stored-auth-only");
        assert.equal(code, 3, output);
    });

    test("works with one", async () => {
        const header = `Authorization: Bearer ${await issuer.token()}`;
        const { code, output } = await inspect(
            ...["--method", "tools/call", "--tool-name", "test__scoped", "--header", header],
        );
        assert.equal(code, 0, output);
        assert.match(output, /in scope/);
    });
});
