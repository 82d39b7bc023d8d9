// The built-in authorization server as operators see it: decisions explained, and changes while it runs.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { call, discover, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { logIn } from "./support/login.mjs";
import { allow, token } from "./support/oauth-server.mjs";
import { runCauseway } from "./support/programs.mjs";

const redirect_uri = "http://127.0.0.1:9/callback";
const roles = {
    anonymous: [discover, call],
    authenticated: [discover, call],
    editor: ["access content"],
    reader: ["access content"],
};
const clients = [
    { id: "app", redirect_uris: [redirect_uri] },
    { id: "reader-app", redirect_uris: [redirect_uri], ceiling: ["reader"] },
];

async function tokenFile(server, cookie, client_id) {
    const given = await allow(server, cookie, { client_id, redirect_uri });
    const fields = { grant_type: "authorization_code", code: given.code, code_verifier: given.verifier };
    const { json } = await token(server, { ...fields, client_id, redirect_uri });
    const file = path.join(keepFolder(), `${client_id}.token`);
    writeFileSync(file, `${json.access_token}\n`, { mode: 0o600 });
    return file;
}

for (const token_format of ["opaque", "jwt"]) {
    test(`AS16, AS45: why names the grant, the client and the ceiling of an access token (${token_format})`, async (t) => {
        const server = await startAccounts({
            config: { roles, access: { server: { enabled: true, clients, token_format } } },
        });
        t.after(() => server.stop());
        const { cookie } = await logIn(server, "alice", "s3cret");
        const why = async (client, ...more) => {
            const file = await tokenFile(server, cookie, client);
            return await runCauseway(["why", "test.caller", "--token-file", file, "--config", server.config, ...more]);
        };
        const first = await why("app");
        assert.match(
            first.stdout,
            /^grant \d+ of the client app \(registered\) for \/mcp; ceiling: all but administration$/m,
        );
        const second = await why("reader-app");
        assert.match(second.stdout, /^grant \d+ of the client reader-app \(registered\) for \/mcp; ceiling: reader$/m);
        const { grant } = JSON.parse((await why("reader-app", "--json")).stdout);
        assert.deepEqual([grant.client, grant.kind, grant.ceiling], ["reader-app", "registered", ["reader"]]);
        const [{ id }] = JSON.parse(await server.cli("grant", "list", "--json"));
        assert.equal(grant.id, id);
    });
}
