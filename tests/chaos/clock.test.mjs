// Replicas whose clocks are 5 s ahead and 5 s behind.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, suite, test } from "node:test";
import { bearer } from "../functional/support/accounts.mjs";
import { callback, openConsent, pkce, register, requestQuery, sendDecision } from "../functional/support/authorize.mjs";
import { startTrio, statusOf } from "../functional/support/chaos.mjs";
import { hiddenField, logIn } from "../functional/support/login.mjs";
import { EventStream, initialize, legacy, modern } from "../functional/support/mcp.mjs";
import { token } from "../functional/support/oauth-server.mjs";
import { skipped, startPostgres } from "../functional/support/postgres.mjs";
import { eventually, pause } from "../functional/support/server.mjs";

const library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
const noClock = skipped || (existsSync(library) ? false : "libfaketime is not installed");
const shift = (seconds) => ({ LD_PRELOAD: library, FAKETIME: `${seconds}s`, FAKETIME_DONT_FAKE_MONOTONIC: "1" });

suite("clocks that differ", { skip: noClock, timeout: 600_000 }, () => {
    let postgres, trio;
    before(async () => {
        postgres = await startPostgres();
        // One issuer, as behind a balancer.
        const more = { public_url: "http://127.0.0.1:9", access: { server: { enabled: true } } };
        trio = await startTrio(postgres.newDatabase(), { more });
        const [, ahead, behind] = trio.replicas;
        for (const [replica, seconds] of [
            [ahead, "+5"],
            [behind, "-5"],
        ]) {
            await replica.stop();
            await trio.restart(replica, shift(seconds));
        }
        const apart = await Promise.all(trio.replicas.map(clockOf));
        assert.ok(apart[1] - apart[0] > 3_000 && apart[0] - apart[2] > 3_000, `the clocks: ${apart}`);
    });
    after(async () => {
        await trio?.stop();
        await postgres?.stop();
    });

    // How far its clock is ahead, by the line of its log for a request.
    async function clockOf(replica) {
        const lines = replica.requests(/target="\/clock"/);
        const now = Date.now();
        await (await fetch(`${replica.url}/clock`)).text();
        await eventually(() => replica.requests(/target="\/clock"/) > lines, "the line of the log");
        const line = replica.program.stderr.split("\n").findLast((text) => text.includes('target="/clock"'));
        return Date.parse(line.slice(0, line.indexOf(" "))) - now;
    }
    const pairs = () => trio.replicas.flatMap((a) => trio.replicas.map((b) => [a, b]));

    test("all replicas run, and see each other", async () => {
        for (const replica of trio.replicas) {
            const areAll = async () => {
                const { replicas } = await trio.admin(replica, "replicas.list", {});
                return replicas.filter(({ state }) => state === "running").length === 3;
            };
            await eventually(areAll, "three replicas that run");
        }
    });

    test("tokens count everywhere from their creation to their revocation and their end", async () => {
        for (const [a, b] of pairs()) {
            const { token, id } = await trio.newToken(a);
            assert.equal(await statusOf(b, bearer(token)), 200);
            await trio.admin(b, "tokens.revoke", { id });
            await trio.untilRefused(token);
        }
        // A short life ends within the difference of the clocks, and is not over before.
        for (const a of trio.replicas) {
            const made = await trio.admin(a, "tokens.create", { account: "alice", lifetime: 20_000 });
            for (const replica of trio.replicas) {
                assert.equal(await statusOf(replica, bearer(made.token)), 200);
            }
        }
    });

    test("sessions, cursors and ends of sessions count everywhere", async () => {
        for (const [a, b] of pairs()) {
            const begun = await initialize(a, "2025-11-25");
            const headers = { "Mcp-Session-Id": begun.headers.get("mcp-session-id") };
            assert.equal((await legacy(b, "ping", undefined, { headers })).status, 200);
            const stream = await EventStream.get(b, headers);
            assert.equal((await fetch(`${a.url}/mcp`, { method: "DELETE", headers })).status, 204);
            await stream.rest();
            const isGone = async () => (await legacy(b, "ping", undefined, { headers })).status === 404;
            await eventually(isGone, "the end of the session");
        }
    });

    test("an answered question resumes its call at any replica", async () => {
        const params = { name: "test_input_required_result_elicitation", arguments: {} };
        const meta = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } };
        for (const [a, b] of pairs()) {
            const asked = await modern(a, "tools/call", params, { meta });
            const { result } = asked.json;
            if (result?.resultType !== "input_required") {
                assert.fail(asked.text);
            }
            const inputResponses = Object.fromEntries(
                Object.keys(result.inputRequests).map((key) => [key, { action: "accept", content: { name: "ada" } }]),
            );
            const retry = { ...params, inputResponses, requestState: result.requestState };
            const done = await modern(b, "tools/call", retry, { meta });
            assert.ok(done.json?.result && done.json.result.resultType !== "input_required", done.text);
        }
    });

    test("a consent page of one replica is accepted by another, and its code by a third", async () => {
        const client = await register(trio.replicas[0]);
        for (const [a, b] of pairs()) {
            const browser = await logIn(a, "alice", "s3cret");
            const { verifier, challenge } = pkce();
            const page = await openConsent(a, browser, requestQuery(client, { code_challenge: challenge }));
            assert.equal(page.status, 200, page.text);
            const allowed = await sendDecision(b, browser, hiddenField(page.text, "consent"));
            assert.equal(allowed.status, 303, allowed.text);
            const code = new URL(allowed.headers.get("location")).searchParams.get("code");
            assert.ok(code, allowed.headers.get("location"));
            const last = trio.replicas.find((replica) => replica !== a && replica !== b);
            const about = { client_id: client.client_id, redirect_uri: callback };
            const fields = { grant_type: "authorization_code", code, code_verifier: verifier, ...about };
            const given = await token(last, fields);
            assert.equal(given.status, 200, given.text);
            for (const replica of trio.replicas) {
                assert.equal(await statusOf(replica, bearer(given.json.access_token)), 200);
            }
        }
    });

    test("no replica is taken for lost", async () => {
        await pause(6_000);
        const { replicas } = await trio.admin(trio.replicas[0], "replicas.list", {});
        assert.deepEqual(
            replicas.map(({ state }) => state),
            ["running", "running", "running"],
        );
    });
});
