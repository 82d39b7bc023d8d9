// Refresh tokens where processes race and die: two servers with one database, and a server that is killed
// before its answer arrives.
import assert from "node:assert/strict";
import path from "node:path";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { bearer, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { logIn } from "./support/login.mjs";
import { rpc } from "./support/mcp.mjs";
import { allow, token } from "./support/oauth-server.mjs";
import { slowness, startCauseway, writeConfig } from "./support/programs.mjs";
import { eventually, pause } from "./support/server.mjs";

const redirect_uri = "http://127.0.0.1:9/callback";
const app = { client_id: "app", redirect_uri };
const kills = 10;

const secret_file = path.join(keepFolder(), "races.secret");
writeFileSync(secret_file, "a secret of more than thirty-two bytes for all");

const start = (more = {}) =>
    startAccounts({
        config: {
            mcp: { secret_file },
            access: {
                server: {
                    enabled: true,
                    clients: [{ id: "app", redirect_uris: [redirect_uri] }],
                    // The longest that is allowed: all refreshes, and starts of servers, are within it.
                    refresh_grace: "10m",
                    ...more,
                },
            },
        },
    });

async function grant(server) {
    const { cookie } = await logIn(server, "alice", "s3cret");
    const { code, verifier } = await allow(server, cookie, app);
    const fields = { grant_type: "authorization_code", code, code_verifier: verifier, client_id: "app" };
    const { status, json } = await token(server, fields);
    assert.equal(status, 200, JSON.stringify(json));
    return json;
}

const refresh = (server, refresh_token) =>
    token(server, { grant_type: "refresh_token", refresh_token, client_id: "app" });
const isGood = async (server, accessToken) =>
    (await rpc(server, { method: "test.caller", id: 1 }, bearer(accessToken))).status !== 401;

test("AS23 T25 two processes that refresh one token at once both go on, and reuse after the grace ends the grant", async (t) => {
    const one = await start();
    t.after(() => one.stop());
    const two = await startCauseway({ args: ["--config", one.config] });
    t.after(() => two.stop());
    let { refresh_token } = await grant(one);
    for (let round = 0; round < 15; round++) {
        const answers = await Promise.all([one, two, one, two].map((server) => refresh(server, refresh_token)));
        assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200], answers[0].text);
        const next = new Set(answers.map(({ json }) => json.refresh_token));
        assert.equal(next.size, 1, "one successor for all");
        for (const { json } of answers) {
            assert.ok((await isGood(one, json.access_token)) && (await isGood(two, json.access_token)));
        }
        [refresh_token] = next;
    }
    // A third one, whose grace is over at once.
    const { json } = await refresh(one, refresh_token);
    const config = JSON.parse(readFileSync(one.config, "utf8"));
    config.access.server.refresh_grace = "0s";
    const strict = await startCauseway({ args: ["--config", writeConfig(config)] });
    t.after(() => strict.stop());
    assert.equal((await refresh(strict, refresh_token)).json.error, "invalid_grant");
    assert.equal((await refresh(one, json.refresh_token)).json.error, "invalid_grant");
    for (const server of [one, two, strict]) {
        await eventually(async () => !(await isGood(server, json.access_token)), "the end of the token");
    }
});

test(`AS23 T25 after a kill -9 before the answer the same token goes on, ${kills} times`, async (t) => {
    let server = await start();
    const { config } = server;
    t.after(() => server.stop());
    let { refresh_token } = await grant(server);
    let lost = 0;
    for (let n = 0; n < kills; n++) {
        const answer = refresh(server, refresh_token).catch(() => undefined);
        await pause(((n % 5) / 2) * slowness);
        server.child.kill("SIGKILL");
        await server.exited;
        lost += (await answer) === undefined;
        server = await startCauseway({ args: ["--config", config] });
        const again = await refresh(server, refresh_token);
        assert.equal(again.status, 200, again.text);
        assert.equal(await isGood(server, again.json.access_token), true);
        ({ refresh_token } = again.json);
    }
    t.diagnostic(`${lost} answers were lost`);
});
