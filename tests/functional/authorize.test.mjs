// The authorization endpoint, registrations, and the pages of the built-in authorization server.
import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { after, before, suite, test } from "node:test";
import { cli, startAccounts } from "./support/accounts.mjs";
import {
    authorize,
    callback,
    navigate,
    openConsent,
    pkce,
    postRegistration,
    register,
    requestQuery,
    sendDecision,
} from "./support/authorize.mjs";
import { cookiesOf, hiddenField, logIn, openForm, sameOrigin, sendForm, visit } from "./support/login.mjs";
import { oneReplica } from "./support/programs.mjs";
import { Connection, request } from "./support/server.mjs";

const address = Object.values(networkInterfaces())
    .flat()
    .find(({ internal, family }) => !internal && family === "IPv4")?.address;

const start = (server = {}, more = {}) =>
    startAccounts({ config: { access: { server: { enabled: true, ...server } }, ...more } });

const page = async (server, browser, query) => {
    const answer = await openConsent(server, browser, query);
    return { ...answer, consent: hiddenField(answer.text, "consent") };
};

suite("the authorization endpoint", () => {
    let server;
    let client;
    let browser;
    before(async () => {
        server = await start();
        client = await register(server);
        browser = await logIn(server, "alice", "s3cret");
    });
    after(() => server?.stop());

    test("AS13 T9 without a session the login page comes first, and leads back", async () => {
        const query = requestQuery(client);
        const first = await navigate(server, `/authorize?${query}`);
        assert.equal(first.status, 303);
        const location = new URL(first.headers.get("location"), server.url);
        assert.equal(location.pathname, "/login");
        const form = await openForm(server, { query: location.search });
        assert.match(form.next, /^\/authorize\?r=[\w-]+$/);
        const answer = await sendForm(server, { ...form, name: "alice", password: "s3cret" });
        assert.equal(answer.status, 303);
        assert.equal(answer.headers.get("location"), form.next);
        const cookie = Object.entries(cookiesOf(answer.headers))
            .map(([name, { value }]) => `${name}=${value}`)
            .join("; ");
        const consent = await navigate(server, form.next, { headers: { Cookie: cookie } });
        assert.equal(consent.status, 200, consent.text);
        assert.match(consent.text, /An unknown application that calls itself/);
    });

    test("AS10 AS11 AS15 T17 an approval is a 303 with code, state and one iss", async () => {
        const { location } = await authorize(server, client);
        assert.equal(`${location.origin}${location.pathname}`, callback);
        assert.match(location.searchParams.get("code"), /^cwc_/);
        assert.equal(location.searchParams.get("state"), "xyz");
        assert.deepEqual(location.searchParams.getAll("iss"), [new URL(server.url).origin]);
    });

    test("AS11 T17 a query of the redirect URI is kept byte for byte", async () => {
        const redirect = "http://127.0.0.1:1/cb?a=%7e&b";
        const other = await register(server, { redirect_uris: [redirect] });
        const { consent } = await page(server, browser, requestQuery(other, { redirect_uri: redirect }));
        const answer = await sendDecision(server, browser, consent);
        assert.ok(answer.headers.get("location").startsWith(`${redirect}&code=cwc_`), answer.headers.get("location"));
    });

    test("a denial is a 303 with access_denied", async () => {
        const { consent } = await page(server, browser, requestQuery(client, { state: "a b&c=é" }));
        const answer = await sendDecision(server, browser, consent, { decision: "deny" });
        assert.equal(answer.status, 303);
        const location = new URL(answer.headers.get("location"));
        assert.equal(location.searchParams.get("error"), "access_denied");
        assert.equal(location.searchParams.get("state"), "a b&c=é");
        assert.equal(location.searchParams.get("code"), null);
    });

    test("AS28 a client that is denied while its page is open gets no code", async () => {
        const other = await register(server, { redirect_uris: [callback], client_name: "Denied soon" });
        const { consent } = await page(server, browser, requestQuery(other));
        await server.cli("client", "deny", other.client_id);
        const answer = await sendDecision(server, browser, consent);
        assert.equal(answer.status, 403, answer.text);
        assert.equal(answer.headers.get("location"), null);
        assert.match(answer.text, /start again in the application/);
    });

    test("threat-C6: AS8 T1 an unknown client or redirect URI is a page without a link", async () => {
        const other = await register(server, { redirect_uris: ["https://other.example/cb"] });
        for (const query of [
            requestQuery({ client_id: "nobody" }),
            requestQuery({ client_id: "dcr.AAAA" }),
            requestQuery({ client_id: `${client.client_id}A` }),
            requestQuery(client, { redirect_uri: "https://evil.example/" }),
            requestQuery(client, { redirect_uri: "https://other.example/cb" }),
            requestQuery(client, { redirect_uri: "http://localhost:51004/callback" }),
            requestQuery(client, { redirect_uri: `${callback}/../x` }),
            requestQuery(other),
            requestQuery(client, { client_id: undefined }),
            `${requestQuery(client)}&client_id=x`,
            `${requestQuery(client)}&redirect_uri=https%3A%2F%2Fevil.example%2F`,
        ]) {
            const answer = await page(server, browser, query);
            assert.equal(answer.status, 400, query);
            assert.equal(answer.headers.get("location"), null);
            assert.doesNotMatch(answer.text, /evil|<a /);
        }
    });

    test("AS7 T4 the port of a loopback address does not count, everything else does", async () => {
        const good = await page(server, browser, requestQuery(client, { redirect_uri: "http://127.0.0.1:9/callback" }));
        assert.equal(good.status, 200, good.text);
        const bad = await page(
            server,
            browser,
            requestQuery(client, { redirect_uri: "http://127.0.0.1:9/callback?x" }),
        );
        assert.equal(bad.status, 400);
    });

    test("AS9 T5 a wrong request is a page whose link tells the client", async () => {
        for (const [more, error] of [
            [{ code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
            [{ code_challenge_method: undefined }, "invalid_request"],
            [{ code_challenge_method: "plain" }, "invalid_request"],
            [{ code_challenge_method: "S512" }, "invalid_request"],
            [{ code_challenge: "short" }, "invalid_request"],
            [{ response_type: undefined }, "invalid_request"],
            [{ response_type: "token" }, "unsupported_response_type"],
            [{ response_mode: "fragment" }, "invalid_request"],
            [{ resource: "https://other.example/mcp" }, "invalid_target"],
            [{ scope: "no:such also:not" }, "invalid_scope"],
        ]) {
            const answer = await page(server, browser, requestQuery(client, more));
            assert.equal(answer.status, 400, JSON.stringify(more));
            assert.equal(answer.headers.get("location"), null);
            const link = /<a href="([^"]*)"/.exec(answer.text)[1].replaceAll("&amp;", "&");
            const { searchParams } = new URL(link);
            assert.equal(searchParams.get("error"), error, JSON.stringify(more));
            assert.equal(searchParams.get("state"), "xyz");
            assert.equal(searchParams.getAll("iss").length, 1);
        }
        const repeated = await page(server, browser, `${requestQuery(client)}&scope=a&scope=b`);
        assert.match(repeated.text, /error=invalid_request/);
    });

    test("AS6 no page of another origin may read it, and unknown parameters are ignored", async () => {
        const answer = await openConsent(server, browser, `${requestQuery(client)}&unknown=1&unknown=2`);
        assert.equal(answer.status, 200);
        assert.equal(answer.headers.get("access-control-allow-origin"), null);
        const elsewhere = await navigate(server, "/authorize", { headers: { Origin: "https://evil.example" } });
        assert.equal(elsewhere.status, 403);
    });

    test("AS14 the page says who asks, for whom and where the answer goes, and cannot be framed", async () => {
        const answer = await openConsent(server, browser, requestQuery(client));
        assert.match(answer.text, /logged in as <strong>alice<\/strong>/);
        assert.match(answer.text, /calls itself <strong>&quot;a test&quot;/);
        assert.match(answer.text, /Any program there can receive it/);
        assert.match(answer.text, /Administration of this server is not included/);
        const policy = answer.headers.get("content-security-policy");
        assert.match(policy, /frame-ancestors 'none'/);
        assert.match(policy, /default-src 'none'/);
        assert.doesNotMatch(policy, /form-action/);
        assert.equal(answer.headers.get("referrer-policy"), "same-origin");
        assert.equal(answer.headers.get("x-frame-options"), "DENY");
        assert.equal(answer.headers.get("cache-control"), "no-store");
        assert.doesNotMatch(answer.text, /<script/);
    });

    test("threat-C6: T10 T12 a form counts only for the session that it was shown to", async () => {
        const { consent } = await page(server, browser, requestQuery(client));
        const other = await logIn(server, "bob", "b0b");
        const again = await logIn(server, "alice", "s3cret");
        for (const [who, form, headers, status] of [
            [other, consent, {}, 403],
            [again, consent, {}, 403],
            [{ cookie: "x=y" }, consent, {}, 403],
            [browser, `${consent}A`, {}, 403],
            [browser, "", {}, 403],
            [browser, consent, { Origin: "https://evil.example", "Sec-Fetch-Site": "cross-site" }, 403],
            [browser, consent, { "Sec-Fetch-Site": "same-site" }, 403],
            [browser, consent, { "Sec-Fetch-Site": "none" }, 403],
        ]) {
            const answer = await sendDecision(server, who, form, { headers });
            assert.equal(answer.status, status, JSON.stringify(headers));
            assert.equal(answer.headers.get("location"), null);
        }
        assert.equal((await sendDecision(server, browser, consent, { decision: "perhaps" })).status, 400);
        assert.equal((await sendDecision(server, browser, consent)).status, 303);
    });

    test("T10 after a logout a form is worth nothing", async () => {
        const own = await logIn(server, "alice", "s3cret");
        const { consent } = await page(server, own, requestQuery(client));
        const out = await visit(server, "/logout", {
            method: "POST",
            headers: { ...sameOrigin(server), Cookie: own.cookie, "X-CSRF-Token": own.csrf },
        });
        assert.equal(out.status, 303);
        const answer = await sendDecision(server, own, consent);
        assert.equal(answer.status, 403);
        assert.equal(answer.headers.get("location"), null);
    });

    test("T13 two tabs and a reload: every form works", async () => {
        const one = await page(server, browser, requestQuery(client, { state: "1" }));
        const two = await page(server, browser, requestQuery(client, { state: "2" }));
        for (const [consent, state] of [
            [two.consent, "2"],
            [one.consent, "1"],
        ]) {
            const answer = await sendDecision(server, browser, consent);
            assert.equal(new URL(answer.headers.get("location")).searchParams.get("state"), state);
        }
    });

    test("threat-C6: T11 a cross-site link with a known client still asks", async () => {
        const answer = await navigate(server, `/authorize?${requestQuery(client)}`, {
            headers: {
                Cookie: browser.cookie,
                "Sec-Fetch-Site": "cross-site",
                "Sec-Fetch-Mode": "navigate",
                "Sec-Fetch-Dest": "document",
            },
        });
        assert.equal(answer.status, 200);
        assert.ok(hiddenField(answer.text, "consent"));
    });

    test("T16 framed, prefetched and fetched: nothing", async () => {
        for (const headers of [
            { "Sec-Fetch-Dest": "iframe", "Sec-Fetch-Mode": "navigate" },
            { "Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors" },
            { "Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate", "Sec-Purpose": "prefetch" },
        ]) {
            const answer = await navigate(server, `/authorize?${requestQuery(client)}`, {
                headers: { Cookie: browser.cookie, ...headers },
            });
            assert.equal(answer.status, 403);
            assert.equal(hiddenField(answer.text, "consent"), undefined);
        }
    });

    test("T14 markup in names, states and scopes stays text", async () => {
        const markup = `"><script>alert(1)</script>'&`;
        const named = await register(server, { client_name: markup });
        const shown = await page(server, browser, requestQuery(named, { state: markup }));
        assert.equal(shown.status, 200);
        assert.doesNotMatch(shown.text, /<script/);
        const failed = await page(server, browser, requestQuery(named, { state: markup, scope: markup }));
        assert.equal(failed.status, 400);
        assert.doesNotMatch(failed.text, /<script/);
    });

    test("a request that is too long is refused", async () => {
        const long = await page(server, browser, requestQuery(client, { state: "s".repeat(2049) }));
        assert.equal(long.status, 400);
        const longest = `${"s".repeat(2046)}é`;
        const { consent } = await page(server, browser, requestQuery(client, { state: longest }));
        const answer = await sendDecision(server, browser, consent);
        assert.equal(new URL(answer.headers.get("location")).searchParams.get("state"), longest);
    });

    test("AS16 only scopes that exist, were shown and are ticked are granted", async () => {
        const exchange = async (scopes) => {
            const { verifier, challenge } = pkce();
            const scope = "content:read no:such offline_access";
            const query = requestQuery(client, { scope, code_challenge: challenge });
            const { text, consent } = await page(server, browser, query);
            assert.match(text, /<input type="checkbox" name="scope" value="content:read" checked>/);
            assert.doesNotMatch(text, /no:such/);
            const answer = await sendDecision(server, browser, consent, { scopes });
            const got = await fetch(`${server.url}/token`, {
                method: "POST",
                body: new URLSearchParams({
                    grant_type: "authorization_code",
                    code: new URL(answer.headers.get("location")).searchParams.get("code"),
                    code_verifier: verifier,
                    client_id: client.client_id,
                }),
            });
            assert.equal(got.status, 200);
            return (await got.json()).scope ?? "";
        };
        assert.equal(await exchange(["content:read"]), "content:read");
        assert.equal(await exchange([]), "");
        assert.equal(await exchange(["content:write", "admin:access"]), "");
    });

    test("AS28 people see what they allowed, and end it", async () => {
        const own = await logIn(server, "bob", "b0b");
        const empty = await navigate(server, "/account/grants", { headers: { Cookie: own.cookie } });
        assert.match(empty.text, /not allowed any application/);
        const named = await register(server, { client_name: "to be ended" });
        const { location, verifier } = await authorize(server, named, { account: "bob", password: "b0b" });
        const exchange = await fetch(`${server.url}/token`, {
            method: "POST",
            body: new URLSearchParams({
                grant_type: "authorization_code",
                code: location.searchParams.get("code"),
                code_verifier: verifier,
                client_id: named.client_id,
                redirect_uri: callback,
            }),
        });
        const tokens = await exchange.json();
        assert.equal(exchange.status, 200, JSON.stringify(tokens));
        const list = await navigate(server, "/account/grants", { headers: { Cookie: own.cookie } });
        assert.match(list.text, /to be ended/);
        assert.doesNotMatch(list.text, /cw[acr]_/);
        const fields = { csrf: hiddenField(list.text, "csrf"), grant: hiddenField(list.text, "grant") };
        const post = (who, form, headers = {}) =>
            navigate(server, "/account/grants", {
                method: "POST",
                headers: { ...sameOrigin(server), Cookie: who.cookie, ...headers },
                form,
            });
        assert.equal((await post(own, { ...fields, csrf: "x" })).status, 403);
        assert.equal((await post(own, fields, { "Sec-Fetch-Site": "cross-site" })).status, 403);
        assert.equal((await post(browser, { ...fields, csrf: browser.csrf })).status, 303, "not hers: no effect");
        const still = await navigate(server, "/account/grants", { headers: { Cookie: own.cookie } });
        assert.match(still.text, /to be ended/);
        assert.equal((await post(own, fields)).status, 303);
        const gone = await navigate(server, "/account/grants", { headers: { Cookie: own.cookie } });
        assert.doesNotMatch(gone.text, /to be ended/);
    });

    test("the page of grants needs a login", async () => {
        const answer = await navigate(server, "/account/grants");
        assert.equal(answer.status, 303);
        assert.equal(answer.headers.get("location"), "/login?next=%2Faccount%2Fgrants");
    });
});

suite("registrations", () => {
    let server;
    before(async () => (server = await start()));
    after(() => server?.stop());

    test("AS19 T20 equal registrations get one id, others another one", async () => {
        const one = await register(server);
        const two = await register(server);
        const other = await register(server, { client_name: "another" });
        assert.match(one.client_id, /^dcr\.[\w-]+$/);
        assert.ok(one.client_id.length <= 600, `${one.client_id.length}`);
        assert.equal(one.client_id, two.client_id);
        assert.notEqual(one.client_id, other.client_id);
        assert.deepEqual(one.grant_types, ["authorization_code", "refresh_token"]);
        assert.equal(one.token_endpoint_auth_method, "none");
        assert.equal(one.client_secret, undefined);
    });

    test("AS19 T21 unusable URIs are left out, and the others register", async () => {
        const cursor = "cursor://anysphere.cursor-mcp/oauth/callback";
        const { redirect_uris: uris } = await register(server, {
            redirect_uris: ["http://localhost:8787/callback", "evil://x", cursor],
        });
        assert.deepEqual(uris, ["http://localhost:8787/callback", cursor]);
    });

    test("AS20 T22 without a method, and with client_secret_post, a secret is made", async () => {
        for (const method of [undefined, "client_secret_post", "client_secret_basic"]) {
            const client = await register(server, { token_endpoint_auth_method: method });
            assert.match(client.client_secret, /^[\w-]{43}$/);
            assert.equal(client.client_secret_expires_at, 0);
        }
    });

    test("AS22 errors have the codes of RFC 7591", async () => {
        for (const [metadata, error] of [
            ["{", "invalid_client_metadata"],
            ["[]", "invalid_client_metadata"],
            ['{"redirect_uris":["https://a.example/"],"redirect_uris":[]}', "invalid_client_metadata"],
            [{ redirect_uris: [callback], token_endpoint_auth_method: "private_key_jwt" }, "invalid_client_metadata"],
            [{ redirect_uris: [callback], padding: "x".repeat(4096) }, "invalid_client_metadata"],
            [{}, "invalid_redirect_uri"],
            [{ redirect_uris: [] }, "invalid_redirect_uri"],
            [{ redirect_uris: [7] }, "invalid_redirect_uri"],
            [{ redirect_uris: ["http://evil.example/"] }, "invalid_redirect_uri"],
            [{ redirect_uris: Array(11).fill(callback) }, "invalid_redirect_uri"],
            [
                { redirect_uris: [...Array(9).keys()].map((n) => `https://a.example/${n}${"x".repeat(150)}`) },
                "invalid_client_metadata",
            ],
        ]) {
            const { status, json, headers } = await postRegistration(server, metadata);
            assert.equal(status, 400, JSON.stringify(metadata));
            assert.equal(json.error, error, JSON.stringify([metadata, json]));
            assert.match(json.error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
            assert.equal(headers.get("cache-control"), "no-store");
        }
    });

    test("T14 characters that control or reorder text leave the name", async () => {
        const { client_name: name } = await register(server, { client_name: ` a\u202eb\u0000c\n${"d".repeat(80)} ` });
        assert.equal(name, `abc${"d".repeat(61)}`);
    });

    test("pages of every origin may register", async () => {
        const { status, headers } = await postRegistration(
            server,
            { redirect_uris: [callback] },
            { Origin: "https://inspector.example" },
        );
        assert.equal(status, 201);
        assert.equal(headers.get("access-control-allow-origin"), "*");
        const preflight = await fetch(`${server.url}/register`, {
            method: "OPTIONS",
            headers: {
                Origin: "https://inspector.example",
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "content-type",
            },
        });
        assert.equal(preflight.status, 204);
        assert.equal(preflight.headers.get("access-control-allow-origin"), "*");
        assert.match(preflight.headers.get("access-control-allow-methods"), /POST/);
        assert.match(preflight.headers.get("access-control-allow-headers"), /content-type/i);
    });

    test("T2 an accepted URI has the host that browsers read", async () => {
        const hosts = [
            "localhost",
            "127.0.0.1",
            "[::1]",
            "a.example",
            "0x7f.1",
            "1",
            "a.example.",
            "a%2eb",
            "A.example",
        ];
        const middles = [
            "",
            ":80",
            ":",
            ":0",
            "@evil.example",
            ":80@evil.example",
            "\\@evil.example",
            "\t",
            ".evil.example",
        ];
        const ends = ["/cb", "", "/../x", "/..;/x", "?code=1", "#f"];
        const all = hosts.flatMap((host) =>
            middles.flatMap((middle) => ends.map((end) => [host, `${host}${middle}${end}`])),
        );
        const uris = all.flatMap(([host, rest]) => ["http", "https"].map((scheme) => [host, `${scheme}://${rest}`]));
        let accepted = 0;
        for (let i = 0; i < uris.length && i < 10 * 40; i += 10) {
            const part = uris.slice(i, i + 10);
            const { json } = await postRegistration(server, { redirect_uris: part.map(([, uri]) => uri) });
            for (const uri of json.redirect_uris ?? []) {
                const [host] = part.find(([, text]) => text === uri);
                const read = new URL(uri).hostname;
                assert.ok(read === host.toLowerCase() || read === `${host}.evil.example`, `${uri}: ${read}`);
                accepted++;
            }
        }
        assert.ok(accepted > 10);
    });
});

suite("limits and switches", () => {
    test("AS19 AS30 T20 10,000 registrations of 200 networks leave the database as it was", async (t) => {
        const server = await start({}, { trusted_proxies: ["127.0.0.1"] });
        t.after(() => server.stop());
        await register(server);
        const before = server.dump();
        const connection = await Connection.open(server);
        const ids = new Set();
        for (let network = 0; network < 200; network++) {
            const requests = Array.from({ length: 50 }, (_, i) =>
                request(
                    "POST",
                    "/register",
                    {
                        "Content-Type": "application/json",
                        "X-Forwarded-For": `198.51.${network}.7`,
                        "X-Forwarded-Host": "localhost",
                    },
                    JSON.stringify({ client_name: `client ${i % 25} of ${network}`, redirect_uris: [callback] }),
                ),
            );
            await connection.send(requests.join(""));
            for (const { status, text } of await connection.responses(50, { timeoutMs: 20_000 })) {
                assert.equal(status, 201, text);
                ids.add(JSON.parse(text).client_id);
            }
        }
        connection.close();
        assert.equal(ids.size, 5_000, "equal ones have one id");
        assert.equal(server.dump(), before);
    });

    test("AS7 T3 a server on the way cannot read an answer: clear text only to this computer", async (t) => {
        const server = await start();
        t.after(() => server.stop());
        for (const uri of [
            "http://evil.example/cb",
            "http://127.0.0.1.evil.example/cb",
            "http://localhost.evil.example/cb",
            "http://127.0.0.2/cb",
            "http://[::2]/cb",
            "http://0.0.0.0/cb",
            "http://192.168.0.1/cb",
            "http://LOCALHOST.evil/cb",
        ]) {
            const { status, json } = await postRegistration(server, { redirect_uris: [uri] });
            assert.deepEqual([status, json.error], [400, "invalid_redirect_uri"], uri);
        }
    });

    test("a page that needs a session comes over encrypted connections, or to this computer", {
        skip: !address,
    }, async (t) => {
        const server = await startAccounts({
            config: { hosts: ["*"], public_url: "https://example.org", access: { server: { enabled: true } } },
            args: ["--listen", "0.0.0.0:0"],
        });
        t.after(() => server.stop());
        const near = { url: `http://127.0.0.1:${server.port}` };
        const outside = { url: `http://${address}:${server.port}` };
        const query = requestQuery(await register(near));
        for (const path of ["/account/grants", "/device", `/authorize?${query}`]) {
            assert.equal((await navigate(near, path)).status, 303, path);
            const answer = await navigate(outside, path);
            assert.deepEqual([answer.status, answer.headers.get("location")], [403, null], path);
            assert.match(answer.text, /needs an encrypted connection/);
        }
    });

    test("AS30 a network may register 60 clients in a minute", { skip: oneReplica }, async () => {
        const server = await start();
        // All at once: one by one they may take longer than a minute.
        const connection = await Connection.open(server);
        const body = JSON.stringify({ redirect_uris: [callback] });
        await connection.send(request("POST", "/register", { "Content-Type": "application/json" }, body).repeat(61));
        const answers = await connection.responses(61, { timeoutMs: 20_000 });
        connection.close();
        assert.deepEqual([...new Set(answers.slice(0, 60).map(({ status }) => status))], [201]);
        const last = answers[60];
        assert.equal(last.status, 429);
        assert.equal(JSON.parse(last.text).error, "temporarily_unavailable");
        assert.ok(Number(last.headers.get("retry-after")) > 0);
        await server.stop();
    });

    test("AS1 without access.server no page of it exists", async () => {
        const server = await startAccounts();
        assert.equal((await navigate(server, "/authorize")).status, 404);
        assert.equal((await navigate(server, "/account/grants")).status, 404);
        assert.notEqual((await postRegistration(server, { redirect_uris: [callback] })).status, 201);
        await server.stop();
    });

    test("a server without dynamic registration refuses it", async () => {
        const server = await start({ dynamic_registration: false });
        const { status, json } = await postRegistration(server, { redirect_uris: [callback] });
        assert.equal(status, 403);
        assert.equal(json.error, "access_denied");
        await server.stop();
    });

    test("a client of the configuration is shown as the operator's", async () => {
        const redirect = "https://app.example/cb";
        const server = await start({ clients: [{ id: "app", name: "The app", redirect_uris: [redirect] }] });
        const browser = await logIn(server, "alice", "s3cret");
        const { text, status } = await openConsent(
            server,
            browser,
            requestQuery({ client_id: "app" }, { redirect_uri: undefined, code_challenge: pkce().challenge }),
        );
        assert.equal(status, 200, text);
        assert.match(text, /The app<\/strong>, registered by the operator/);
        assert.match(text, /To the site <strong>app.example<\/strong>/);
        await server.stop();
    });

    test("T32 a form of an account that was blocked is worth nothing", async () => {
        const server = await start();
        const client = await register(server);
        const browser = await logIn(server, "alice", "s3cret");
        const { consent } = await page(server, browser, requestQuery(client));
        await cli(server.config, "account", "block", "alice");
        const answer = await sendDecision(server, browser, consent);
        assert.equal(answer.status, 403);
        await server.stop();
    });
});
