// Documents of clients (client id metadata documents) whose publishers are slow, hostile or change them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { after, before, suite, test } from "node:test";
import { gzipSync } from "node:zlib";
import { startAccounts } from "./support/accounts.mjs";
import { navigate, openConsent, pkce, requestQuery, sendDecision } from "./support/authorize.mjs";
import { freePort } from "./support/ports.mjs";
import { hiddenField, logIn } from "./support/login.mjs";
import { token } from "./support/oauth-server.mjs";
import { startCauseway, timeLimit } from "./support/programs.mjs";
import { eventually, makeCertificate } from "./support/server.mjs";

const redirect = "http://127.0.0.1:51004/callback";
let files;
let publisher;
let base;
let requests;
const answers = new Map();
before(async () => {
    files = makeCertificate("publisher");
    publisher = https.createServer(
        { cert: readFileSync(files.certificate), key: readFileSync(files.key) },
        (request, response) => {
            requests.push(request.url);
            answers.get(request.url)(request, response);
        },
    );
    await new Promise((resolve) => publisher.listen(0, "127.0.0.1", resolve));
    base = `https://localhost:${publisher.address().port}`;
});
after(() => publisher.closeAllConnections() ?? publisher.close());

const document = (id, more = {}) => ({
    client_id: id,
    client_name: "A published app",
    redirect_uris: ["http://127.0.0.1/callback"],
    grant_types: ["authorization_code", "refresh_token"],
    token_endpoint_auth_method: "none",
    ...more,
});
// An answer with headers and a body, as the publisher is told to send it.
const say =
    (status, headers, body = "") =>
    (_request, response) =>
        response.writeHead(status, headers).end(body);
const publish = (name, more = {}) => {
    const id = `${base}/${name}`;
    const text = JSON.stringify(document(id, more));
    answers.set(`/${name}`, say(200, { "Content-Type": "application/json" }, text));
    return id;
};
const start = (more = {}) =>
    startAccounts({
        config: {
            access: {
                server: {
                    enabled: true,
                    client_document_allow_private: true,
                    client_document_ca_file: files.certificate,
                    ...more,
                },
            },
        },
    });
const ask = (server, browser, id, more = {}) =>
    openConsent(server, browser, requestQuery({ client_id: id }, { redirect_uri: redirect, ...more }));
const exchange = (server, client_id, { code, verifier }) =>
    token(server, { grant_type: "authorization_code", code, code_verifier: verifier, client_id });
const refresh = (server, client_id, refresh_token) =>
    token(server, { grant_type: "refresh_token", refresh_token, client_id });

// A person allows a client: the page as it was shown, and the code.
async function allow(server, browser, id) {
    const { verifier, challenge } = pkce();
    const page = await ask(server, browser, id, { code_challenge: challenge });
    assert.equal(page.status, 200, page.text);
    return { page, verifier, consent: hiddenField(page.text, "consent") };
}

async function decide(server, browser, { consent, verifier }) {
    const answer = await sendDecision(server, browser, consent);
    assert.equal(answer.status, 303, answer.text);
    return { verifier, code: new URL(answer.headers.get("location")).searchParams.get("code") };
}

suite("a publisher", () => {
    let server;
    let alice;
    let bob;
    before(async () => {
        requests = [];
        server = await start();
        alice = await logIn(server, "alice", "s3cret");
        bob = await logIn(server, "bob", "b0b");
    });
    after(() => server?.stop());

    test("AS18 T18 unusual answers, closed ports and other protocols lead to one and the same page", async (t) => {
        const plain = http.createServer((_request, response) => response.end("{}"));
        await new Promise((resolve) => plain.listen(0, "127.0.0.1", resolve));
        t.after(() => plain.close());
        const json = { "Content-Type": "application/json" };
        const packed = (id, padding) => gzipSync(JSON.stringify(document(id, { padding })));
        const kinds = {
            "not-modified": () => say(304, json),
            "no-content": () => say(204, json),
            partial: (id) => say(206, json, JSON.stringify(document(id))),
            gzip: (id) => say(200, { ...json, "Content-Encoding": "gzip" }, packed(id, "")),
            bomb: (id) => say(200, { ...json, "Content-Encoding": "gzip" }, packed(id, "x".repeat(1 << 21))),
            chunked: (id) => (_request, response) => {
                response.writeHead(200, json);
                response.write(JSON.stringify(document(id, { padding: "x".repeat(5000) })));
                response.end();
            },
            reset: () => (request) => request.socket.destroy(),
        };
        const seen = new Set();
        const look = async (id) => {
            const { status, text } = await ask(server, alice, id);
            assert.equal(status, 400, id);
            seen.add(text);
        };
        for (const [name, make] of Object.entries(kinds)) {
            const id = `${base}/${name}`;
            answers.set(`/${name}`, make(id));
            await look(id);
        }
        await look(`https://localhost:${await freePort()}/closed`);
        await look(`https://localhost:${plain.address().port}/clear`);
        assert.equal(seen.size, 1);
        assert.deepEqual(requests, [...Object.keys(kinds).map((name) => `/${name}`)]);
    });

    test("AS17 T23 a document that prefers another method but lists none completes, and nothing else is fetched", async () => {
        requests.length = 0;
        const id = publish("chat.json", {
            client_name: "Chat",
            token_endpoint_auth_method: "private_key_jwt",
            token_endpoint_auth_methods_supported: ["private_key_jwt", "none"],
            jwks_uri: `${base}/jwks.json`,
            logo_uri: `${base}/logo.png`,
            grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
        });
        const { status, json } = await exchange(server, id, await decide(server, bob, await allow(server, bob, id)));
        assert.equal(status, 200, JSON.stringify(json));
        assert.equal((await refresh(server, id, json.refresh_token)).status, 200);
        assert.deepEqual(requests, ["/chat.json"]);
    });

    test("AS18 T18 T33 one that hangs ends after five seconds, and holds up no other request", async () => {
        requests.length = 0;
        const hung = [1, 2, 3].map((n) => `${base}/hang-${n}`);
        for (const id of hung) {
            const { pathname } = new URL(id);
            answers.set(pathname, (_request, response) => response.on("close", () => requests.push(`end ${pathname}`)));
        }
        const begin = performance.now();
        const waiting = hung.slice(0, 2).map((id) => ask(server, bob, id));
        await eventually(() => requests.length >= 2, "two requests that hang");
        // Another person and programs meanwhile.
        const good = publish("prompt.json");
        const left = timeLimit(2_500);
        assert.equal((await fetch(`${server.url}/.well-known/oauth-authorization-server`)).status, 200);
        const page = await ask(server, alice, good);
        assert.equal(page.status, 200, page.text);
        assert.ok(left() > 0, `others waited ${-left()} ms too long`);
        // An account may not take all the places there are: its third request comes after the end of another one.
        const third = await ask(server, bob, hung[2]);
        const late = requests.indexOf("/hang-3");
        assert.equal(third.status, late < 0 ? 429 : 400);
        assert.ok(late < 0 || requests.slice(0, late).some((text) => text.startsWith("end ")), requests.join());
        const pages = await Promise.all(waiting);
        assert.deepEqual(
            pages.map(({ status }) => status),
            [400, 400],
        );
        const all = performance.now() - begin;
        assert.ok(all >= 4_900, `${all} ms`);
    });
});

test("AS17 T19 a document that changes after the page was shown changes neither code nor grant", async (t) => {
    requests = [];
    let server = await start();
    const { config } = server;
    t.after(() => server.stop());
    // A server that was just started has no document.
    const forget = async () => {
        await server.stop();
        server = await startCauseway({ args: ["--config", config] });
    };
    const id = publish("changing.json", { client_name: "The first name" });
    const browser = await logIn(server, "alice", "s3cret");
    const shown = await allow(server, browser, id);
    assert.match(shown.page.text, /The first name/);
    publish("changing.json", { client_name: "The second name", redirect_uris: ["https://other.example/cb"] });
    await forget();
    const asked = await decide(server, browser, shown);
    const { status, json } = await exchange(server, id, asked);
    assert.equal(status, 200, JSON.stringify(json));
    answers.set("/changing.json", say(404, {}));
    await forget();
    const fresh = await refresh(server, id, json.refresh_token);
    assert.equal(fresh.status, 200, fresh.text);
    const grants = await navigate(server, "/account/grants", { headers: { Cookie: browser.cookie } });
    assert.match(grants.text, /The first name/);
    assert.deepEqual(requests, ["/changing.json"], "nobody asked again");
    publish("changing.json", { client_name: "The second name", redirect_uris: ["https://other.example/cb"] });
    const old = await ask(server, browser, id);
    assert.equal(old.status, 400, "the address is not in the document any more");
    const now = await ask(server, browser, id, { redirect_uri: "https://other.example/cb" });
    assert.match(now.text, /The second name/);
});

test("AS17 client_document_hosts limits the hosts of documents", async (t) => {
    requests = [];
    const id = publish("hosted.json");
    for (const [hosts, status] of [
        [["claude.ai", "*.example.org"], 400],
        [["LOCALHOST"], 200],
    ]) {
        const server = await start({ client_document_hosts: hosts });
        t.after(() => server.stop());
        const browser = await logIn(server, "alice", "s3cret");
        const page = await ask(server, browser, id);
        assert.equal(page.status, status, page.text);
        assert.equal(requests.length, status === 200 ? 1 : 0);
    }
});

test("AS4 AS17 without client_documents none is announced, fetched or accepted, but for those of the configuration", async (t) => {
    requests = [];
    const id = publish("off.json");
    const pinned = "https://pinned.example/client.json";
    const clients = [{ id: pinned, name: "Pinned", redirect_uris: [redirect] }];
    const server = await start({ client_documents: false, clients });
    t.after(() => server.stop());
    const metadata = await (await fetch(`${server.url}/.well-known/oauth-authorization-server`)).json();
    assert.equal("client_id_metadata_document_supported" in metadata, false);
    const browser = await logIn(server, "alice", "s3cret");
    assert.equal((await ask(server, browser, id)).status, 400);
    const page = await ask(server, browser, pinned);
    assert.equal(page.status, 200, page.text);
    assert.match(page.text, /pinned\.example/);
    assert.deepEqual(requests, []);
});
