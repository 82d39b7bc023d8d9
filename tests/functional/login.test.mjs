// People with browsers: the login page, the session's cookie, and what another site's page cannot
// do with it.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { basic, bearer, databasePath, longEnough, roles, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import {
    cookiesOf,
    formCookie,
    hiddenField,
    logIn,
    openForm,
    proofOf,
    sameOrigin,
    sendForm,
    session,
    sessionCookie,
    visit,
} from "./support/login.mjs";
import {
    both,
    EventStream,
    initialize,
    legacy,
    modern,
    modernParts,
    permissions,
    rpc,
    startBridge,
} from "./support/mcp.mjs";
import {
    noDatabase,
    oneReplica,
    patience,
    replicaCount,
    runCauseway,
    slowness,
    writeConfig,
} from "./support/programs.mjs";
import { startScript } from "./support/mcp-script.mjs";
import { readAudit } from "./support/round-robin.mjs";
import { rawExchange } from "./support/raw.mjs";
import { post, send } from "./support/rest.mjs";
import { eventually, pause } from "./support/server.mjs";

const caller = { method: "test.caller", id: 1 };
const soon = patience(1_000);
const unknown = "A".repeat(43);

async function callerOf(server, headers) {
    const { status, json, text } = await rpc(server, caller, headers);
    assert.equal(status, 200, text);
    return json.result;
}

const statusOf = async (server, headers) => (await rpc(server, caller, headers)).status;
const isSession = ({ headers }) => sessionCookie in cookiesOf(headers);

// What could tell two answers apart.
const shown = ({ status, headers, text }) => ({
    status,
    text,
    headers: [...headers].filter(([name]) => name !== "date" && name !== "x-request-id"),
});

suite("the login page", () => {
    let server;
    before(async () => (server = await startAccounts()));
    after(() => server?.stop());

    test("threat-C10: is a plain form that runs nothing, is stored nowhere and cannot be framed", async () => {
        const { status, headers, text } = await visit(server, "/login");
        assert.equal(status, 200);
        assert.equal(headers.get("content-type"), "text/html; charset=utf-8");
        assert.equal(headers.get("cache-control"), "no-store");
        assert.equal(headers.get("x-frame-options"), "DENY");
        assert.equal(headers.get("x-content-type-options"), "nosniff");
        assert.equal(
            headers.get("content-security-policy"),
            "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; " +
                "base-uri 'none'; frame-ancestors 'none'",
        );
        const sheet = await visit(server, /rel="stylesheet" href="([^"]+)"/.exec(text)[1]);
        assert.deepEqual([sheet.status, sheet.headers.get("content-type")], [200, "text/css; charset=utf-8"]);
        assert.doesNotMatch(text, /<script|javascript:|\son\w+=|https?:\/\//i);
        // With "no-referrer" browsers send forms with the origin "null".
        assert.equal(headers.get("referrer-policy"), "same-origin");
    });

    test("can be used without seeing it", async () => {
        const { text } = await visit(server, "/login");
        assert.match(text, /<html lang="en">/);
        assert.match(text, /<title>[^<]+<\/title>/);
        for (const id of ["name", "password"]) {
            assert.match(text, new RegExp(`<label for="${id}">`));
            assert.match(text, new RegExp(`<input id="${id}" name="${id}"[^>]* required`));
        }
        assert.match(text, /autocomplete="username"/);
        assert.match(text, /autocomplete="current-password"/);
        const form = await openForm(server);
        const wrong = await sendForm(server, { ...form, name: "alice", password: "no" });
        assert.match(wrong.text, /<p class="notice" role="alert">/);
    });

    test("threat-C10: gives a cookie that only this host gets and no script reads", async () => {
        const { answer, cookie } = await logIn(server, "alice", "s3cret");
        const set = cookiesOf(answer.headers)[sessionCookie];
        assert.match(set.value, /^[\w-]{43}$/);
        assert.deepEqual(set.attributes, ["Path=/", "Secure", "HttpOnly", "SameSite=Lax"]);
        assert.equal(answer.headers.get("location"), "/login");
        assert.equal(answer.headers.get("cache-control"), "no-store");
        assert.deepEqual(cookiesOf(answer.headers)[formCookie].attributes[0], "Max-Age=0");
        const { text } = await visit(server, "/login", { headers: { Cookie: cookie } });
        assert.match(text, /You are logged in as <strong>alice<\/strong>/);
    });

    test("threat-C10: never takes over an identifier that was there before", async () => {
        const planted = `${sessionCookie}=${unknown}`;
        const form = await openForm(server, { headers: { Cookie: planted } });
        const cookie = `${form.cookie}; ${planted}`;
        const answer = await sendForm(server, { ...form, cookie, name: "alice", password: "s3cret" });
        assert.equal(answer.status, 303);
        assert.notEqual(cookiesOf(answer.headers)[sessionCookie].value, unknown);
        assert.equal(await statusOf(server, { Cookie: planted }), 401);
    });

    test("threat-C10: ends the session that a browser had when it logs in again", async () => {
        const first = await logIn(server, "alice", "s3cret");
        await callerOf(server, session(server, first));
        const form = await openForm(server);
        const cookie = `${form.cookie}; ${first.cookie}`;
        const answer = await sendForm(server, { ...form, cookie, name: "bob", password: "b0b" });
        assert.equal(answer.status, 303);
        assert.equal(await statusOf(server, session(server, first)), 401);
    });

    test("threat-C8: says the same of a wrong password, no such account, a blocked one and an impossible name", async () => {
        await server.cli("account", "add", "mallory", { input: "m" });
        await server.cli("account", "block", "mallory");
        await server.cli("account", "add", "token-only", "--no-password");
        const form = await openForm(server);
        const wrong = await sendForm(server, { ...form, name: "alice", password: "wrong" });
        assert.equal(wrong.status, 403);
        assert.ok(!isSession(wrong));
        for (const [name, password] of [
            ["nobody", "x"],
            ["mallory", "m"],
            ["token-only", "x"],
            ["a:b", "x"],
            ["Alice", "s3cret"],
        ]) {
            const answer = await sendForm(server, { ...form, name, password });
            assert.deepEqual(shown(answer), shown(wrong), name);
        }
    });

    test("threat-A2: takes no form that it has not given to this browser", async () => {
        const own = await openForm(server);
        const other = await openForm(server);
        const good = { name: "alice", password: "s3cret" };
        for (const [what, parts] of [
            ["no cookie", { ...own, cookie: undefined }],
            ["no token", { ...own, csrf: undefined }],
            ["an empty token", { ...own, csrf: "" }],
            ["another browser's token", { ...own, csrf: other.csrf }],
            ["two cookies", { ...own, cookie: `${own.cookie}; ${other.cookie}` }],
            ["another site", { ...own, headers: { "Sec-Fetch-Site": "cross-site" } }],
            ["another host of the site", { ...own, headers: { "Sec-Fetch-Site": "same-site" } }],
            ["an address that was typed", { ...own, headers: { "Sec-Fetch-Site": "none" } }],
            [
                "nothing that says whose page",
                {
                    ...own,
                    headers: { Origin: undefined, "Sec-Fetch-Site": undefined },
                },
            ],
        ]) {
            const answer = await sendForm(server, { ...good, ...parts });
            assert.equal(answer.status, 403, what);
            assert.ok(!isSession(answer), what);
            assert.match(answer.text, /expired, or came from another site/, what);
        }
        const foreign = { Origin: "https://evil.example", "Sec-Fetch-Site": undefined };
        assert.equal((await sendForm(server, { ...good, ...own, headers: foreign })).status, 403);
        // Browsers that say only the origin, or only the site.
        for (const name of ["Origin", "Sec-Fetch-Site"]) {
            const answer = await sendForm(server, { ...good, ...own, headers: { [name]: undefined } });
            assert.equal(answer.status, 303, name);
        }
    });

    test("takes forms only: of their type, small, each field once", async () => {
        const form = await openForm(server);
        const headers = { ...sameOrigin(server), Cookie: form.cookie };
        const body = `name=alice&password=${longEnough("s3cret")}&csrf=${form.csrf}`;
        const type = "application/x-www-form-urlencoded";
        const sent = async (text, contentType = type) =>
            await send(server, "POST", "/login", {
                headers: { ...headers, "Content-Type": contentType },
                body: text,
            });
        assert.equal((await sent(body, "text/plain")).status, 415);
        assert.equal((await sent("{}", "application/json")).status, 415);
        assert.equal((await sent(`${body}&x=${"y".repeat(16384)}`)).status, 413);
        assert.equal((await sent(`${body}&name=bob`)).status, 400);
        assert.equal((await sent(`${body}&next=%zz`)).status, 400);
        assert.equal((await sent(`csrf=${form.csrf}&name=alice&password=`)).status, 400);
        assert.equal((await sent(`csrf=${form.csrf}&password=s3cret`)).status, 400);
        assert.equal((await sent(body, `${type}; charset=UTF-8`)).status, 303);
    });

    test("sends people on to paths of this server only", async () => {
        const where = async (next) => {
            const query = `?next=${encodeURIComponent(next)}`;
            const { answer } = await logIn(server, "alice", "s3cret", { query });
            return answer.headers.get("location");
        };
        for (const next of ["/", "/mcp/tools/list?cursor=50", "/a/b#c", "/%2F%2Fevil.example"]) {
            assert.equal(await where(next), next);
        }
        for (const next of [
            "//evil.example",
            "https://evil.example/",
            "javascript:alert(1)",
            "evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/\t/evil.example",
            " //evil.example",
            `/${"x".repeat(7168)}`,
            "/caf\u00e9",
            "",
        ]) {
            assert.equal(await where(next), "/login", JSON.stringify(next));
        }
        // The field of the form is checked again, whatever the page had in it.
        const form = await openForm(server);
        const fields = { name: "alice", password: "s3cret", next: "//evil.example" };
        const answer = await sendForm(server, { ...form, ...fields });
        assert.equal(answer.headers.get("location"), "/login");
    });

    test("shows names as text", async () => {
        const name = `<b onclick="x">&'`;
        await server.cli("account", "add", name, { input: "p" });
        const { cookie } = await logIn(server, name, "p");
        const { text } = await visit(server, "/login", { headers: { Cookie: cookie } });
        assert.ok(text.includes("<strong>&lt;b onclick=&quot;x&quot;&gt;&amp;&#39;</strong>"), text);
        const { text: form } = await visit(server, `/login?next=${encodeURIComponent('/"><script>')}`);
        assert.equal(hiddenField(form, "next"), "/&quot;&gt;&lt;script&gt;");
    });
});

test("threat-C9: guessing on the page is slowed down, together with guessing elsewhere", async () => {
    const server = await startAccounts();
    const form = await openForm(server);
    let answer;
    const isRefused = async () => {
        if (answer?.status === 429) return true; // where servers take turns, once is enough
        for (let i = 0; i < 3; i += 1) {
            const wrong = await sendForm(server, { ...form, name: "alice", password: `wrong ${i}` });
            assert.equal(wrong.status, 403);
        }
        const begin = performance.now();
        for (let i = 0; i < 3; i += 1) await rpc(server, caller, basic("alice", `wrong ${i}`));
        answer = await sendForm(server, { ...form, name: "alice", password: "s3cret" });
        // The wait is a second long: on a busy machine it may be over before the form arrives.
        assert.ok(answer.status === 429 || performance.now() - begin >= 1_000, `${answer.status}`);
        return answer.status === 429;
    };
    await eventually(isRefused, "a wait after wrong passwords");
    assert.ok(Number(answer.headers.get("retry-after")) >= 1);
    assert.match(answer.text, /Too many attempts/);
    assert.ok(!isSession(answer));
    await logIn(server, "bob", "b0b");
    await server.stop();
});

test("threat-C9, threat-D11: forged forms count as failed logins of their network", async () => {
    const audit = path.join(keepFolder(), "forged-audit.jsonl");
    const server = await startAccounts({ config: { loops: 1, audit: { path: audit } } });
    const form = await openForm(server);
    const statuses = [];
    for (let i = 0; i < 200; i += 1) {
        const answer = await sendForm(server, { ...form, csrf: "x", name: `user${i}`, password: "s3cret" });
        statuses.push(answer.status);
        assert.equal(answer.status === 429, answer.headers.has("retry-after"));
    }
    assert.ok(statuses.slice(0, 20).every((status) => status === 403));
    assert.ok(statuses.filter((status) => status === 429).length > 100, statuses.join(" "));
    // They count together with guesses: after one, the next must wait.
    let [guesses, isRefused] = [0, false];
    const guess = () => sendForm(server, { ...form, name: `guessed${(guesses += 1)}`, password: "wrong" });
    await eventually(async () => (isRefused ||= (await guess()).status === 429), "a guess that must wait");
    assert.ok(guesses < 5, `${guesses} guesses`);
    await server.stop();
    const records = readAudit(audit)
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
    const total = (outcome) => records.filter((r) => r.outcome === outcome).reduce((sum, r) => sum + (r.count ?? 1), 0);
    assert.equal(total("forged"), statuses.filter((status) => status === 403).length);
    assert.equal(total("too_many"), statuses.filter((status) => status === 429).length + 1);
    assert.ok(records.length < 200, `${records.length} records`);
});

suite("a session", () => {
    let server, alice;
    before(async () => {
        server = await startAccounts({ config: { origins: ["https://listed.example"] } });
        alice = await logIn(server, "alice", "s3cret");
    });
    after(() => server?.stop());

    // The requests that do something, on every door.
    const message = JSON.stringify({ jsonrpc: "2.0", ...caller });
    const toolCall = modernParts("tools/call", { name: "test.caller", arguments: {} });
    const requests = [
        ["POST", "/jsonrpc", message],
        ["POST", "/mcp/tools/test.caller", message],
        ["POST", "/mcp/tools/invoke", '{"name":"test.caller","arguments":{}}'],
        ["POST", "/mcp", JSON.stringify(toolCall.body), toolCall.headers],
        ["DELETE", "/mcp"],
        ["GET", `/mcp/tools/test.caller?query=${encodeURIComponent(message)}`],
        ["GET", `/jsonrpc?query=${encodeURIComponent(message)}`],
    ];
    const ask = async ([method, target, body, more = {}], headers) =>
        await send(server, method, target, {
            headers: { "Content-Type": "application/json", ...more, ...headers },
            body,
        });

    test("acts for its account on every door, with its permissions and no scopes", async () => {
        const headers = session(server, alice);
        assert.equal((await callerOf(server, headers)).name, "alice");
        const called = await modern(server, "tools/call", { name: "test.caller", arguments: {} }, { headers });
        assert.equal(called.json.result.structuredContent.name, "alice");
        const rest = await post(server, "/mcp/tools/invoke", { name: "test.caller", arguments: {} }, headers);
        assert.equal(rest.json.result.name, "alice");
        const list = await send(server, "GET", "/mcp/tools/list", { headers: { Cookie: alice.cookie } });
        assert.ok(list.json.tools.some(({ name }) => name === "test.caller"));
        assert.match(list.headers.vary, /Cookie/);
        const scoped = await rpc(server, { method: "test.scoped", id: 1 }, headers);
        assert.equal(scoped.status, 401, "threat-C12: a cookie satisfies no scopes");
        const asAnonymous = await send(server, "GET", "/mcp/tools/list");
        assert.ok(!asAnonymous.json.tools.some(({ name }) => name === "test.caller"));
    });

    test("threat-A2, fault-B3: does nothing without the proof that a page of ours asks", async () => {
        const bob = await logIn(server, "bob", "b0b");
        const good = session(server, alice);
        const without = (name) => Object.fromEntries(Object.entries(good).filter(([key]) => key !== name));
        const attempts = [
            ["the cookie alone", { Cookie: alice.cookie }],
            ["no token", without("X-CSRF-Token")],
            ["an empty token", { ...good, "X-CSRF-Token": "" }],
            ["a wrong token", { ...good, "X-CSRF-Token": unknown }],
            ["another session's token", { ...good, "X-CSRF-Token": bob.csrf }],
            ["two tokens", { ...good, "X-CSRF-Token": [alice.csrf, unknown] }],
            ["the token twice", { ...good, "X-CSRF-Token": [alice.csrf, alice.csrf] }],
            ["another site", { ...good, "Sec-Fetch-Site": "cross-site" }],
            ["another host of the site", { ...good, "Sec-Fetch-Site": "same-site" }],
            ["no page", { ...good, "Sec-Fetch-Site": "none" }],
            ["nothing that says whose page", { Cookie: alice.cookie, "X-CSRF-Token": alice.csrf }],
            [
                "a page that may call, but not as somebody",
                {
                    Cookie: alice.cookie,
                    "X-CSRF-Token": alice.csrf,
                    Origin: "https://listed.example",
                },
            ],
        ];
        for (const request of requests) {
            for (const [what, headers] of attempts) {
                const answer = await ask(request, headers);
                assert.equal(answer.status, 403, `${request[0]} ${request[1]}, ${what}: ${answer.text}`);
                assert.match(answer.text, /X-CSRF-Token: see GET \/session\/token/);
                assert.equal(answer.headers["cache-control"], "no-store");
            }
            const answer = await ask(request, good);
            assert.notEqual(answer.status, 403, `${request[0]} ${request[1]}: ${answer.text}`);
        }
        const listed = await ask(requests[0], { Origin: "https://listed.example" });
        assert.notEqual(listed.status, 403);
    });

    test("is found among the cookies of others, and refused where it comes twice", async () => {
        const ask = async (...cookies) => {
            const fields = [`Host: 127.0.0.1:${server.port}`, "Connection: close"];
            fields.push(...cookies.map((cookie) => `Cookie: ${cookie}`));
            const head = `GET /mcp/tools/list HTTP/1.1\r\n${fields.join("\r\n")}\r\n\r\n`;
            const { bytes } = await rawExchange(server.port, head);
            return Number(bytes.toString().split(" ")[1]);
        };
        assert.equal(await ask("a=1", "b=2"), 200);
        assert.equal(await ask("a=1", alice.cookie, "b=2"), 200);
        assert.equal(await ask(alice.cookie, alice.cookie), 401);
    });

    test("threat-A2: simple requests of other sites are refused whatever their type", async () => {
        const headers = { Cookie: alice.cookie };
        for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
            const answer = await send(server, "POST", "/jsonrpc", {
                headers: { ...headers, "Content-Type": type },
                body: message,
            });
            assert.equal(answer.status, 403, type);
        }
    });

    test("threat-A3: a GET that calls needs the proof too, and lists do not", async () => {
        const withProof = await ask(requests[5], session(server, alice));
        assert.equal(withProof.status, 405, "it may change something");
        const list = async (more) =>
            await send(server, "GET", "/mcp/tools/list", { headers: { Cookie: alice.cookie, ...more } });
        assert.equal((await list({})).status, 200);
        assert.equal((await list({ "Sec-Fetch-Site": "same-origin" })).status, 200);
        assert.equal((await list({ "Sec-Fetch-Site": "none" })).status, 200);
        assert.equal((await list({ "Sec-Fetch-Site": "cross-site" })).status, 403);
        assert.equal((await list({ Origin: "https://listed.example" })).status, 403);
    });

    test("threat-A2: is of no use to other origins, even those that may call", async () => {
        const origin = "https://listed.example";
        const preflight = await send(server, "OPTIONS", "/mcp", {
            headers: {
                Origin: origin,
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "x-csrf-token, content-type",
            },
        });
        assert.doesNotMatch(preflight.headers["access-control-allow-headers"], /csrf/i);
        assert.equal(preflight.headers["access-control-allow-credentials"], undefined);
        for (const target of ["/session/token", "/mcp/tools/list", "/login"]) {
            const headers = { Origin: origin, Cookie: alice.cookie };
            const answer = await send(server, "GET", target, { headers });
            assert.equal(answer.headers["access-control-allow-credentials"], undefined);
        }
    });

    test("gives its proof to pages of ours only", async () => {
        const token = async (headers) => await send(server, "GET", "/session/token", { headers });
        const good = await token({ Cookie: alice.cookie });
        assert.equal(good.text, alice.csrf);
        assert.match(good.headers["content-type"], /^text\/plain/);
        assert.equal(good.headers["cache-control"], "no-store");
        assert.equal((await token({ Cookie: alice.cookie, "Sec-Fetch-Site": "cross-site" })).status, 403);
        assert.equal((await token({ Cookie: alice.cookie, Origin: "https://listed.example" })).status, 403);
        assert.equal((await token({})).status, 403);
        assert.equal((await token({ Cookie: alice.cookie, ...basic("alice", "s3cret") })).status, 403);
        assert.equal((await token({ Cookie: `${sessionCookie}=${unknown}` })).status, 401);
        assert.notEqual(alice.csrf, alice.cookie.split("=")[1]);
    });

    test("counts for nothing beside an Authorization header", async () => {
        const { token } = await server.token("bob");
        await server.cli("account", "grant", "bob", "editor");
        for (const header of [basic("bob", "b0b"), bearer(token)]) {
            // Neither needs a proof, and the account is the header's.
            await eventually(
                async () => (await rpc(server, caller, { Cookie: alice.cookie, ...header })).status === 200,
                "bob is an editor",
            );
            assert.equal((await callerOf(server, { Cookie: alice.cookie, ...header })).name, "bob");
        }
        const wrong = { ...session(server, alice), ...bearer("cw_nothing") };
        assert.equal(await statusOf(server, wrong), 401);
        // The secret of a session is none of an API token.
        const secret = alice.cookie.split("=")[1];
        assert.equal(await statusOf(server, { Authorization: `Bearer ${secret}` }), 401);
        assert.equal(await statusOf(server, { Authorization: secret }), 401);
    });

    test("that is unknown, ill-formed or there twice is 401 and removed", async () => {
        for (const cookie of [
            `${sessionCookie}=${unknown}`,
            `${sessionCookie}=`,
            `${sessionCookie}=x y`,
            `${sessionCookie}="${alice.cookie.split("=")[1]}"`,
            `${alice.cookie}; ${alice.cookie}`,
        ]) {
            const answer = await rpc(server, caller, { ...session(server, alice), Cookie: cookie });
            assert.equal(answer.status, 401, cookie);
            assert.equal(cookiesOf(answer.headers)[sessionCookie].value, "");
            const challenge = answer.headers.get("www-authenticate");
            assert.match(challenge, /^Bearer realm="MCP Tools", error="invalid_token"/);
            assert.doesNotMatch(challenge, /Basic/, "browsers would open a window");
        }
        const others = `a=b; ${alice.cookie}; __host-causeway=x; c`;
        assert.equal(await statusOf(server, { ...session(server, alice), Cookie: others }), 200);
        assert.equal((await rpc(server, { method: "test.nothing", id: 1 }, { Cookie: "a=b" })).status, 400);
    });

    test("threat-C11: is found neither in the database nor in the log", async () => {
        await callerOf(server, session(server, alice));
        for (const file of [...server.databaseFiles(), server.logFile]) {
            const text = existsSync(file) ? readFileSync(file, "latin1") : "";
            for (const secret of [alice.cookie.split("=")[1], alice.csrf]) {
                assert.ok(!text.includes(secret), `a secret in ${file}`);
            }
        }
        assert.doesNotMatch(await server.cli("session", "list", "--json"), /hash/);
    });

    test("threat-C3: a session of MCP is no login, and belongs to its account", async () => {
        const headers = session(server, alice);
        const begun = await initialize(server, "2025-11-25", headers);
        const id = begun.headers.get("mcp-session-id");
        const list = { jsonrpc: "2.0", id: 2, method: "tools/list" };
        const more = {
            "Mcp-Session-Id": id,
            "MCP-Protocol-Version": "2025-11-25",
            Accept: "application/json, text/event-stream",
        };
        assert.equal((await post(server, "/mcp", list, { ...more, ...headers })).status, 200);
        const bob = await logIn(server, "bob", "b0b");
        assert.equal((await post(server, "/mcp", list, { ...more, ...session(server, bob) })).status, 404);
    });
});

suite("the end of a session", () => {
    let server;
    before(async () => (server = await startAccounts({ config: { loops: 2 } })));
    after(() => server?.stop());

    const ends = async (headers, what) =>
        await eventually(async () => (await statusOf(server, headers)) === 401, what, soon);

    test("threat-C10: logging out ends it at once, everywhere", async () => {
        const alice = await logIn(server, "alice", "s3cret");
        const headers = session(server, alice);
        for (let i = 0; i < 10; i += 1) {
            await callerOf(server, headers);
        }
        const page = await visit(server, "/login", { headers: { Cookie: alice.cookie } });
        const csrf = hiddenField(page.text, "csrf");
        const answer = await sendForm(server, { path: "/logout", cookie: alice.cookie, csrf });
        assert.equal(answer.status, 303);
        assert.equal(answer.headers.get("location"), "/login");
        assert.equal(cookiesOf(answer.headers)[sessionCookie].value, "");
        if (replicaCount > 1) {
            await ends(headers, "the end at all servers");
        }
        for (let i = 0; i < 10; i += 1) {
            assert.equal(await statusOf(server, headers), 401);
        }
        const again = await visit(server, "/login", { headers: { Cookie: alice.cookie } });
        assert.match(again.text, /<h2>Log in<\/h2>/);
    });

    test("threat-A2: another site cannot log a user out", async () => {
        const alice = await logIn(server, "alice", "s3cret");
        const { cookie, csrf } = alice;
        for (const parts of [
            { cookie },
            { cookie, csrf: unknown },
            { cookie, csrf, headers: { "Sec-Fetch-Site": "cross-site" } },
            { cookie, csrf, headers: { "Sec-Fetch-Site": undefined, Origin: undefined } },
        ]) {
            assert.equal((await sendForm(server, { path: "/logout", ...parts })).status, 403);
        }
        assert.equal((await visit(server, "/logout")).status, 405);
        await callerOf(server, session(server, alice));
        const headers = session(server, alice);
        const answer = await visit(server, "/logout", { method: "POST", headers });
        assert.equal(answer.status, 303, "the header is as good as the field");
        assert.equal(await statusOf(server, headers), 401);
    });

    test("threat-C13: a new password, a block, another role or the account's end is one within a second", async () => {
        await server.cli("role", "add", "reviewer");
        await server.cli("account", "add", "carol", "--role", "editor", { input: "c" });
        const changes = [
            ["account", "password", "carol", { input: "c" }],
            ["account", "block", "carol"],
            ["account", "unblock", "carol"],
            ["account", "grant", "carol", "reviewer"],
            ["account", "revoke", "carol", "reviewer"],
            ["account", "remove", "carol"],
        ];
        for (const change of changes) {
            const isBlocked = change[1] === "unblock";
            const carol = isBlocked ? null : await logIn(server, "carol", "c");
            if (carol) {
                await callerOf(server, session(server, carol));
            }
            await server.cli(...change);
            if (carol) {
                await ends(session(server, carol), change.slice(0, 3).join(" "));
            }
            if (change[1] === "block") {
                await server.cli("account", "unblock", "carol");
                await pause(600 * slowness);
                assert.equal(await statusOf(server, session(server, carol)), 401, "it stays ended");
                await server.cli("account", "block", "carol");
            }
        }
    });

    test("threat-C13: what a role may do counts within a second, and the session goes on", async () => {
        await server.cli("role", "add", "writer");
        await server.cli("account", "add", "dave", "--role", "writer", { input: "d" });
        const dave = await logIn(server, "dave", "d");
        assert.equal(await statusOf(server, session(server, dave)), 400);
        await server.cli("role", "allow", "writer", "access content");
        const may = async () => (await statusOf(server, session(server, dave))) === 200;
        await eventually(may, "the permission", soon);
    });

    test("causeway session lists and ends it", async () => {
        await server.cli("account", "add", "erin", "--role", "editor", { input: "e" });
        const erin = await logIn(server, "erin", "e");
        const [one, ...others] = JSON.parse(await server.cli("session", "list", "erin", "--json"));
        assert.deepEqual(others, []);
        assert.deepEqual(Object.keys(one), ["id", "account", "created", "used", "expires"]);
        assert.equal(one.account, "erin");
        assert.equal(Date.parse(one.expires) - Date.parse(one.used), 30 * 60_000);
        assert.match(await server.cli("session", "list"), new RegExp(`^ *${one.id}  erin `, "m"));
        assert.match(await server.cli("session", "revoke", `${one.id}`), /is ended/);
        await ends(session(server, erin), "the revoked session");
        const again = await runCauseway(["session", "revoke", `${one.id}`, "--config", server.config]);
        assert.equal(again.code, 1);
        assert.match(again.stderr, /no session/);
        assert.equal((await runCauseway(["session", "revoke", "x", "--config", server.config])).code, 2);
        const nobody = await runCauseway(["session", "list", "nobody", "--config", server.config]);
        assert.equal(nobody.code, 1);
    });

    test("threat-C13: a stream that it opened ends with its account's rights", async () => {
        const alice = await logIn(server, "alice", "s3cret");
        const wishes = { notifications: { toolsListChanged: true } };
        const headers = session(server, alice);
        const stream = await EventStream.open(server, "subscriptions/listen", wishes, { headers });
        assert.equal(stream.status, 200);
        assert.equal((await stream.next()).method, "notifications/subscriptions/acknowledged");
        await server.cli("account", "password", "alice", { input: "s3cret" });
        await stream.rest(soon);
    });
});

suite("what a session has opened", { concurrency: true }, () => {
    const isOver = "The call was ended: its caller's session is over.";
    const progress = { name: "test.progress", arguments: { steps: 12_000, ms: 50 } }; // ten minutes
    const settings = { loops: 2, roles: { ...roles, authenticated: permissions }, plugins: { timeout: "20m" } };
    const start = async (t, config = {}) => {
        const server = await startAccounts({ plugins: ["echo", "conformance"], config: { ...settings, ...config } });
        t.after(() => server.stop());
        return server;
    };

    async function listen(server, headers) {
        const wishes = { notifications: { toolsListChanged: true } };
        const stream = await EventStream.open(server, "subscriptions/listen", wishes, { headers });
        assert.equal((await stream.next()).method, "notifications/subscriptions/acknowledged");
        return stream;
    }

    async function get(server, headers) {
        const begun = await initialize(server, "2025-11-25", headers);
        const id = begun.headers.get("mcp-session-id");
        const stream = await EventStream.get(server, { ...headers, "Mcp-Session-Id": id });
        assert.equal(stream.status, 200);
        return stream;
    }

    async function callSlowly(server, headers) {
        const meta = { progressToken: 1 };
        const stream = await EventStream.open(server, "tools/call", progress, { headers, meta });
        assert.equal((await stream.next()).method, "notifications/progress");
        return stream;
    }

    // A legacy call that waits for an answer to its question.
    async function ask(server, headers) {
        const hello = {
            protocolVersion: "2025-11-25",
            capabilities: { elicitation: {} },
            clientInfo: { name: "test", version: "1" },
        };
        const begun = await legacy(server, "initialize", hello, { headers });
        const own = { ...both, ...headers, "Mcp-Session-Id": begun.headers.get("mcp-session-id") };
        const params = { name: "test_elicitation", arguments: { message: "Who?" } };
        const stream = await EventStream.of(server, {
            method: "POST",
            headers: { "Content-Type": "application/json", ...own },
            body: JSON.stringify({ jsonrpc: "2.0", id: 5, method: "tools/call", params }),
        });
        assert.equal((await stream.next()).method, "elicitation/create");
        return stream;
    }

    const openAll = async (server, headers) => ({
        listening: await listen(server, headers),
        got: await get(server, headers),
        running: await callSlowly(server, headers),
        asking: await ask(server, headers),
    });

    async function assertEnd({ listening, got, running, asking }) {
        assert.equal((await listening.rest(soon))[0].result.resultType, "complete");
        assert.deepEqual(await got.rest(soon), []);
        for (const stream of [running, asking]) {
            const last = (await stream.rest(soon)).at(-1);
            assert.equal(last.result.isError, true);
            assert.equal(last.result.content[0].text, isOver);
        }
        assert.ok(asking.events.some(({ json }) => json.method === "notifications/cancelled"));
    }

    test("threat-C13: ends within a second when its owner logs out, and what others have does not", async (t) => {
        const server = await start(t);
        const alice = await logIn(server, "alice", "s3cret");
        const others = [
            session(server, await logIn(server, "alice", "s3cret")),
            session(server, await logIn(server, "bob", "b0b")),
            basic("alice", "s3cret"),
            {},
        ];
        const kept = [];
        for (const headers of others) {
            kept.push(await listen(server, headers), await get(server, headers));
        }
        kept.push(await callSlowly(server, others[0]));
        const streams = await openAll(server, session(server, alice));
        const { cookie, csrf } = alice;
        assert.equal((await sendForm(server, { path: "/logout", cookie, csrf })).status, 303);
        await assertEnd(streams);
        const again = await rpc(server, caller, session(server, alice));
        assert.equal(again.status, 401);
        await pause(600);
        assert.ok(kept.every((stream) => !stream.ended));
        kept.forEach((stream) => stream.close());
    });

    test("threat-C13: ends also if it is a request that continues a call after a question", async (t) => {
        const upstream = await startScript();
        upstream.on["tools/call"] = ({ response }) => {
            const params = { message: "?", requestedSchema: { type: "object", properties: {} } };
            const question = { jsonrpc: "2.0", id: 1, method: "elicitation/create", params };
            response.writeHead(200, { "Content-Type": "text/event-stream" });
            response.write(`data: ${JSON.stringify(question)}\n\n`);
        };
        const sources = [{ name: "srv", dialect: "mcp", prefix: "s.", methods: ["*"], url: upstream.url }];
        const server = await start(t, { sources });
        const alice = await logIn(server, "alice", "s3cret");
        const meta = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } };
        const ask = (more) =>
            modern(
                server,
                "tools/call",
                { name: "s.echo", arguments: {}, ...more },
                { headers: session(server, alice), meta },
            );
        let asked;
        await eventually(
            async () => (asked = (await ask()).json.result)?.resultType === "input_required",
            "the question",
        );
        const [key] = Object.keys(asked.inputRequests);
        const inputResponses = { [key]: { action: "accept", content: {} } };
        const waiting = ask({ inputResponses, requestState: asked.requestState });
        await eventually(() => upstream.answerTo(1), "the answer");
        const { cookie, csrf } = alice;
        assert.equal((await sendForm(server, { path: "/logout", cookie, csrf })).status, 303);
        assert.equal((await waiting).json.result.content[0].text, isOver);
    });

    test("threat-C13: ends when it is revoked, or its account changes", async (t) => {
        const server = await start(t);
        const revoke = async () => {
            const [{ id }] = JSON.parse(await server.cli("session", "list", "alice", "--json"));
            await server.cli("session", "revoke", `${id}`);
        };
        const change = async () => await server.cli("account", "password", "alice", { input: "s3cret" });
        for (const end of [revoke, change]) {
            const bob = await callSlowly(server, session(server, await logIn(server, "bob", "b0b")));
            const alice = await logIn(server, "alice", "s3cret");
            const streams = await openAll(server, session(server, alice));
            await end();
            await assertEnd(streams);
            assert.ok(!bob.ended, "a call of somebody else goes on");
            bob.close();
        }
    });

    test("threat-C13: ends when the browser logs in anew, or was not used for access.login.idle", async (t) => {
        const server = await start(t);
        const alice = await logIn(server, "alice", "s3cret");
        const first = await openAll(server, session(server, alice));
        const form = await openForm(server);
        const cookie = `${form.cookie}; ${alice.cookie}`;
        const answer = await sendForm(server, { ...form, cookie, name: "alice", password: "s3cret" });
        assert.equal(answer.status, 303);
        await assertEnd(first);
        const idle = Math.ceil(patience(3_000) / 1_000);
        const other = await start(t, { access: { login: { idle: `${idle}s` } } });
        const fresh = await logIn(other, "alice", "s3cret");
        const stream = await listen(other, session(other, fresh));
        await stream.rest(idle * 1_000 + soon);
        assert.equal(await statusOf(other, session(other, fresh)), 401);
    });
});

suite("how long a session lasts", () => {
    test("threat-C10: without use, not longer than access.login.idle; with use, longer", async () => {
        const idle = Math.ceil(patience(2_000) / 1_000);
        const server = await startAccounts({ config: { access: { login: { idle: `${idle}s` } } } });
        const bob = await logIn(server, "bob", "b0b");
        // Use a session for longer than that. False: the machine stood still, and so it was not used for that long.
        let [alice, wasKept] = [null, false];
        const isKept = async () => {
            alice = await logIn(server, "alice", "s3cret");
            const start = Date.now();
            for (let last = start, begin; Date.now() - start < 1_600 * idle; last = begin) {
                begin = Date.now();
                const status = await statusOf(server, session(server, alice));
                if (status === 401 && Date.now() - last >= 1_000 * idle) return false;
                assert.equal(status, 200);
                await pause(100);
            }
            return true;
        };
        await eventually(async () => (wasKept ||= await isKept()), "a session that is used all the time", 20_000);
        assert.equal(await statusOf(server, session(server, bob)), 401);
        await pause(1_050 * idle);
        assert.equal(await statusOf(server, session(server, alice)), 401);
        await server.stop();
    });

    test("threat-C10: not longer than access.login.lifetime, however it is used", async () => {
        const lifetime = Math.ceil(patience(2_000) / 1_000);
        const server = await startAccounts({ config: { access: { login: { lifetime: `${lifetime}s` } } } });
        const start = Date.now();
        const alice = await logIn(server, "alice", "s3cret");
        const isOver = async () => (await statusOf(server, session(server, alice))) === 401;
        await eventually(isOver, "the end of the session", lifetime * 1_000 + 4_000);
        assert.ok(Date.now() - start >= 950 * lifetime);
        await server.stop();
    });

    test("an account has so many, and the oldest goes for another", async () => {
        const server = await startAccounts({ config: { access: { login: { sessions: 2 } } } });
        const all = [];
        for (let i = 0; i < 3; i += 1) {
            all.push(await logIn(server, "alice", "s3cret"));
        }
        const bob = await logIn(server, "bob", "b0b");
        const statuses = await Promise.all(all.map((one) => statusOf(server, session(server, one))));
        assert.deepEqual(statuses, [401, 200, 200]);
        assert.equal(await statusOf(server, session(server, bob)), 400);
        assert.equal(JSON.parse(await server.cli("session", "list", "--json")).length, 3);
        await server.stop();
    });

    test("it outlives the server's process, and not its being switched off", async () => {
        const database = databasePath();
        const first = await startAccounts({ config: { store: { path: database } } });
        const alice = await logIn(first, "alice", "s3cret");
        await first.stop();
        const config = { store: { path: database } };
        const second = await startAccounts({ config, accounts: false });
        assert.equal((await callerOf(second, session(second, alice))).name, "alice");
        await second.stop();
        const off = { ...config, access: { login: { enabled: false } } };
        const third = await startAccounts({ config: off, accounts: false });
        // The cookie means nothing then: its sender is anonymous.
        const answer = await rpc(third, caller, { Cookie: alice.cookie });
        assert.equal(answer.status, 400);
        for (const [method, target] of [
            ["GET", "/login"],
            ["POST", "/login"],
            ["POST", "/logout"],
            ["GET", "/session/token"],
        ]) {
            const { status, json } = await send(third, method, target);
            assert.equal(status, 404);
            assert.equal(json.error.code, "not_found");
        }
        await third.stop();
    });
});

test("threat-D11: logins, failures, forgeries and logouts have records", { skip: oneReplica }, async () => {
    const audit = path.join(keepFolder(), "login-audit.jsonl");
    const server = await startAccounts({ config: { loops: 1, audit: { path: audit } } });
    const form = await openForm(server);
    await sendForm(server, { ...form, name: "alice", password: "wrong" });
    await sendForm(server, { ...form, csrf: "x", name: "alice", password: "s3cret" });
    const alice = await logIn(server, "alice", "s3cret");
    await rpc(server, caller, { Cookie: alice.cookie });
    await sendForm(server, { path: "/logout", cookie: alice.cookie, csrf: alice.csrf });
    await server.stop();
    const records = readAudit(audit)
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
    const seen = records
        .filter(({ kind }) => kind === "login")
        .map(({ door, outcome, caller: who, detail }) => [door, outcome, who, detail].join(" "));
    assert.deepEqual(seen, [
        "login wrong alice password",
        "login forged alice password",
        "login ok alice password",
        "rest ok alice session",
        "jsonrpc forged  session",
        "login logout alice password",
    ]);
    assert.ok(!JSON.stringify(records).includes(alice.csrf));
});

suite("where people can log in", () => {
    test("nowhere without a database", { skip: noDatabase }, async () => {
        const server = await startBridge({});
        assert.equal((await visit(server, "/login")).status, 404);
        assert.equal((await visit(server, "/session/token")).status, 404);
        await server.stop();
    });

    test("at another path, and behind a proxy with a path of its own", async () => {
        const page = "/people/in";
        const server = await startAccounts({
            config: {
                public_url: "https://example.org/tools",
                hosts: ["127.0.0.1", "example.org"],
                access: { login: { path: page } },
            },
        });
        assert.equal((await visit(server, "/login")).status, 404);
        assert.match((await visit(server, page)).text, /action="\/tools\/people\/in"/);
        const { cookie, csrf } = await openForm(server, { path: page });
        const body = new URLSearchParams({ name: "alice", password: longEnough("s3cret"), csrf }).toString();
        const sent = async (headers) =>
            await send(server, "POST", page, {
                headers: { Cookie: cookie, "Content-Type": "application/x-www-form-urlencoded", ...headers },
                body,
            });
        // Only the address that people see is our own origin.
        assert.equal((await sent({ Origin: server.url })).status, 403);
        const answer = await sent({ Origin: "https://example.org", Host: "example.org" });
        assert.equal(answer.status, 303);
        assert.equal(answer.headers.location, "/tools/people/in");
        await server.stop();
    });

    test("paths that are taken, and lives that are none, are refused with their place", async () => {
        for (const [login, message] of [
            [{ path: "/jsonrpc" }, /access\.login\.path: \/jsonrpc is something else already/],
            [{ path: "/logout" }, /access\.login\.path: \/logout is something else already/],
            [{ path: "/mcp" }, /access\.login\.path: \/mcp is mcp\.path already/],
            [{ path: "login" }, /access\.login\.path: expected a path/],
            [{ idle: "0s" }, /access\.login\.idle: /],
            [{ sessions: 0 }, /access\.login\.sessions: /],
            [{ enable: true }, /access\.login\.enable: unknown key; did you mean "enabled"/],
        ]) {
            const file = writeConfig({ access: { login } });
            const { code, stderr } = await runCauseway(["config", "check", file]);
            assert.equal(code, 2, JSON.stringify(login));
            assert.match(stderr, message);
            assert.match(stderr, /-config\.yaml:\d+:\d+: /);
        }
    });

    const address = Object.values(networkInterfaces())
        .flat()
        .find(({ internal, family }) => !internal && family === "IPv4")?.address;

    test("threat-A12: over encrypted connections, or on this machine", { skip: !address }, async () => {
        const server = await startAccounts({
            config: { hosts: ["*"], roles },
            args: ["--listen", "0.0.0.0:0"],
        });
        const near = { url: `http://127.0.0.1:${server.port}` };
        const alice = await logIn(near, "alice", "s3cret");
        const outside = { url: `http://${address}:${server.port}` };
        const page = await visit(outside, "/login");
        assert.equal(page.status, 403);
        assert.match(page.text, /needs an encrypted connection/);
        assert.equal(page.headers.getSetCookie().length, 0);
        const form = await openForm(near);
        const sent = await sendForm(outside, { ...form, name: "alice", password: "s3cret" });
        assert.equal(sent.status, 403);
        assert.ok(!isSession(sent));
        const answer = await rpc(outside, caller, session(outside, alice));
        assert.equal(answer.status, 403);
        assert.match(answer.text, /only taken over encrypted connections/);
        await server.stop();
    });
});

test("the proof of a session is the same each time, and of no other", async () => {
    const server = await startAccounts();
    const [one, two] = [await logIn(server, "alice", "s3cret"), await logIn(server, "alice", "s3cret")];
    assert.equal(await proofOf(server, one.cookie), one.csrf);
    assert.notEqual(one.csrf, two.csrf);
    await server.stop();
});
