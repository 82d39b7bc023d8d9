// The console without a browser: its host name, its files, its cookie, and what other pages cannot do with it.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { cli, databasePath, longEnough } from "./support/accounts.mjs";
import { freePort } from "./support/ports.mjs";
import { permissions, startBridge } from "./support/mcp.mjs";
import { runCauseway, startCauseway, writeConfig } from "./support/programs.mjs";
import { eventually, exchange, get, request } from "./support/server.mjs";

const admin = ["use console", "administer access", "view traffic"];
const roles = { anonymous: [], authenticated: permissions, operator: admin };
const password = longEnough("s3cret");
const hostOf = (server) => `console.localhost:${new URL(server.url).port}`;

async function start(config = {}) {
    const database = databasePath();
    const file = writeConfig({ roles, store: { path: database } });
    await cli(file, "account", "add", "alice", "--role", "operator", { input: password });
    return startBridge({ roles, config: { store: { path: database }, console: { enabled: true }, ...config } });
}

const sameOrigin = (server) => ({ Origin: `http://${hostOf(server)}`, "Sec-Fetch-Site": "same-origin" });
const cookieOf = (response, name) => new RegExp(`${name}=([^;]*)`).exec(response.headers.get("set-cookie"))?.[1];

// A browser at the console's name: its session cookie and its proof.
async function logIn(server, host = hostOf(server)) {
    const form = await exchange(server, get("/login", { Host: host }));
    const csrf = /name="csrf" value="([^"]+)"/.exec(form.text)[1];
    const body = new URLSearchParams({ name: "alice", password, csrf }).toString();
    const headers = {
        ...sameOrigin(server),
        Host: host,
        "Content-Type": "application/x-www-form-urlencoded",
        Cookie: `__Host-causeway-login=${cookieOf(form, "__Host-causeway-login")}`,
    };
    const answer = await exchange(server, request("POST", "/login", headers, body));
    assert.equal(answer.status, 303, answer.text);
    const cookie = `__Host-causeway-console=${cookieOf(answer, "__Host-causeway-console")}`;
    const token = get("/session/token", { Host: host, Cookie: cookie, "Sec-Fetch-Site": "same-origin" });
    return { answer, cookie, proof: (await exchange(server, token)).text };
}

const call = (server, method, headers, host = hostOf(server)) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: {} });
    return exchange(
        server,
        request("POST", "/jsonrpc", { Host: host, "Content-Type": "application/json", ...headers }, body),
    );
};

suite("a server with a console", () => {
    let server;
    before(async () => (server = await start()));
    after(() => server?.stop());

    test("serves its pages under the name of the console only", async () => {
        for (const path of ["/console", "/console/", "/console/tools/x.y", "/console/access/tokens"]) {
            const page = await exchange(server, get(path, { Host: hostOf(server) }));
            assert.equal(page.status, 200, path);
            assert.equal((await exchange(server, get(path))).status, 404, path);
        }
        assert.equal((await exchange(server, get("/console/nothing", { Host: hostOf(server) }))).status, 404);
        assert.equal((await exchange(server, get("/console/", { Host: "console.example.org" }))).status, 421);
    });

    test("sends a document that runs its own files only, is stored nowhere and cannot be framed", async () => {
        const { headers, text: body } = await exchange(server, get("/console/", { Host: hostOf(server) }));
        assert.equal(
            headers.get("content-security-policy"),
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob:; " +
                "media-src blob:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
                "require-trusted-types-for 'script'; trusted-types 'none'",
        );
        assert.equal(headers.get("cache-control"), "no-store");
        assert.equal(headers.get("x-frame-options"), "DENY");
        assert.doesNotMatch(body, /<style|\sstyle=|\son\w+=|<script>|https?:\/\//);
    });

    test("has immutable files, gzipped for clients that accept it", async () => {
        const { text: body } = await exchange(server, get("/console/", { Host: hostOf(server) }));
        const address = /src="([^"]+console\.mjs)"/.exec(body)[1];
        const plain = await exchange(server, get(address));
        assert.match(plain.headers.get("cache-control"), /immutable/);
        assert.match(plain.headers.get("content-type"), /^text\/javascript/);
        const answer = await fetch(server.url + address);
        assert.equal(answer.headers.get("content-encoding"), "gzip");
        assert.equal(await answer.text(), plain.body.toString("utf8"));
        assert.equal((await exchange(server, get(address.replace("console.mjs", "index.html")))).status, 404);
        assert.equal((await exchange(server, get(address.replace(/-\/\w+/, "-/0000000000000000")))).status, 404);
    });

    test("threat-C10: has a session cookie of its own, which is strict", async () => {
        const { answer } = await logIn(server);
        const line = answer.headers
            .get("set-cookie")
            .split(", ")
            .find((text) => text.startsWith("__Host-causeway-console="));
        assert.match(line, /; Path=\/; Secure; HttpOnly; SameSite=Strict$/);
    });

    test("has no login page and no sessions under other names", async () => {
        const { cookie, proof } = await logIn(server);
        assert.equal((await exchange(server, get("/login"))).status, 404);
        const elsewhere = await call(server, "causeway.whoami", { Cookie: cookie, "X-CSRF-Token": proof }, "127.0.0.1");
        const here = await call(server, "causeway.whoami", {
            ...sameOrigin(server),
            Cookie: cookie,
            "X-CSRF-Token": proof,
        });
        assert.equal(JSON.parse(here.text).result.caller.name, "alice");
        assert.doesNotMatch(elsewhere.text, /alice/);
    });

    test("rejects requests with the cookie that a page of another origin or port makes", async () => {
        const { cookie, proof } = await logIn(server);
        const host = hostOf(server);
        const good = { ...sameOrigin(server), Cookie: cookie, "X-CSRF-Token": proof };
        const statusOf = async (headers) => (await call(server, "causeway.status", headers)).status;
        assert.equal(await statusOf(good), 200);
        assert.equal(await statusOf({ ...good, "X-CSRF-Token": undefined }), 403);
        assert.equal(await statusOf({ ...good, "X-CSRF-Token": "A".repeat(43) }), 403);
        for (const site of ["same-site", "cross-site", "none", undefined]) {
            assert.equal(await statusOf({ ...good, "Sec-Fetch-Site": site }), 403, site);
        }
        assert.equal(await statusOf({ ...good, Origin: "http://console.localhost:1" }), 403);
        // Reading too: a list is not shown to a page that only includes it.
        const read = (site) =>
            exchange(server, get("/mcp/tools/list", { Host: host, Cookie: cookie, "Sec-Fetch-Site": site }));
        assert.equal((await read("same-origin")).status, 200);
        assert.equal((await read("same-site")).status, 403);
        assert.equal((await read("none")).status, 403);
    });

    test("describes its caller: permissions, the end of the session, and of the recent login", async () => {
        const { cookie, proof } = await logIn(server);
        const { result } = JSON.parse(
            (await call(server, "causeway.whoami", { ...sameOrigin(server), Cookie: cookie, "X-CSRF-Token": proof }))
                .text,
        );
        assert.deepEqual(result.caller.permissions, [...permissions, ...admin].sort());
        // A session that is not used from now on ends after 15 minutes, or a little earlier.
        assert.ok(result.session_ends > Date.now() + 780_000 && result.session_ends <= Date.now() + 900_000);
        assert.ok(result.recent_until > Date.now() && result.recent_until <= Date.now() + 600_000);
    });

    test("shows the form again to a page that must confirm the password, and keeps the session", async () => {
        const { cookie } = await logIn(server);
        const answer = await exchange(server, get("/login?again=1", { Host: hostOf(server), Cookie: cookie }));
        assert.match(answer.text, /id="password"/);
        assert.doesNotMatch(answer.headers.get("set-cookie"), /__Host-causeway-console/);
    });

    test("says at / what it is, and redirects to the console under its name", async () => {
        const text = await exchange(server, get("/"));
        assert.equal(text.status, 200);
        assert.match(text.headers.get("content-type"), /^text\/plain/);
        assert.match(text.text, /\/mcp .*\n.*\/jsonrpc/);
        const there = await exchange(server, get("/", { Host: hostOf(server) }));
        assert.deepEqual([there.status, there.headers.get("location")], [302, `http://${hostOf(server)}/console/`]);
    });
});

test("threat-C10: requests that the page sends by itself do not extend the session", async (t) => {
    const server = await start({ console: { enabled: true, session: { idle: "2s" } } });
    t.after(() => server.stop());
    const { cookie, proof } = await logIn(server);
    const headers = { ...sameOrigin(server), Cookie: cookie, "X-CSRF-Token": proof, "Causeway-Idle": "1" };
    const isOver = async () => (await call(server, "causeway.whoami", headers)).status === 401;
    await eventually(isOver, "the end of the session", 10_000);
});

suite("the configuration of the console", () => {
    const problems = async (config) => (await runCauseway(["config", "check", "--config", writeConfig(config)])).stderr;

    test("needs a database, and a name of its own", async () => {
        const store = { path: databasePath() };
        assert.match(await problems({ console: { enabled: true } }), /console\.enabled: needs store\.path/);
        assert.match(await problems({ store, console: { enabled: true, host: "localhost" } }), /is an entry of hosts/);
        assert.match(
            await problems({ store, console: { enabled: true, host: "a:1" } }),
            /console\.host: .*without a port/,
        );
        const open = { store, listen: "0.0.0.0:8080", console: { enabled: true } };
        assert.match(await problems(open), /console\.host: missing; console\.localhost is for listeners on loopback/);
        const named = { ...open, console: { enabled: true, host: "console.example.org" } };
        assert.equal((await runCauseway(["config", "check", "--config", writeConfig(named)])).code, 0);
    });

    test("is off by default", async () => {
        const server = await startBridge();
        assert.equal((await exchange(server, get("/console/"))).status, 404);
        assert.equal((await exchange(server, get("/console/", { Host: hostOf(server) }))).status, 421);
        await server.stop();
    });
});

suite("a server without a configuration", () => {
    test("shows the console to this machine, under its name and not through a proxy", async () => {
        const server = await startCauseway();
        const host = hostOf(server);
        const status = async (headers) => (await exchange(server, get("/console/", headers))).status;
        assert.equal(await status({ Host: host }), 200);
        assert.equal(await status({}), 404);
        for (const name of ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Via"]) {
            assert.equal(await status({ Host: host, [name]: "192.0.2.1" }), 404, name);
            assert.match((await call(server, "causeway.status", { [name]: "192.0.2.1" })).text, /Method not found/);
        }
        const there = await exchange(server, get("/"));
        assert.deepEqual([there.status, there.headers.get("location")], [302, `http://console.localhost/console/`]);
        await server.stop();
    });

    test("lets it see traffic and tools, and administer nothing", async () => {
        const server = await startCauseway();
        const seen = async (method, host) => JSON.parse((await call(server, method, {}, host)).text);
        assert.ok((await seen("causeway.status")).result.tools > 0);
        assert.equal((await seen("causeway.status", "127.0.0.1")).error.code, -32601);
        for (const method of [
            "causeway.audit.search",
            "causeway.accounts.list",
            "causeway.reload",
            "causeway.config.show",
        ]) {
            assert.equal((await seen(method)).error.code, -32601, method);
        }
        await server.stop();
    });

    test("has no console if other machines can connect", async () => {
        const server = await startCauseway({ args: ["--listen", "0.0.0.0:0"] });
        assert.equal((await exchange(server, get("/console/", { Host: hostOf(server) }))).status, 421);
        assert.equal((await exchange(server, get("/"))).status, 200);
        await server.stop();
    });
});

test("console.listen: the other addresses have no pages for browsers, and no login", async () => {
    const port = await freePort();
    const server = await start({ console: { enabled: true, listen: `127.0.0.1:${port}` } });
    assert.match(server.stdout, new RegExp(`console on http://127\\.0\\.0\\.1:${port}`));
    const own = { url: `http://127.0.0.1:${port}`, port };
    const status = async (at, path) => (await exchange(at, get(path, { Host: hostOf(at) }))).status;
    for (const path of ["/console/", "/console/tools", "/login"]) {
        assert.equal(await status(own, path), 200, path);
        assert.equal(await status(server, path), 404, path);
    }
    assert.equal(await status(server, "/session/token"), 404);
    const { cookie, proof } = await logIn(own);
    const answer = await call(own, "causeway.whoami", { ...sameOrigin(own), Cookie: cookie, "X-CSRF-Token": proof });
    assert.equal(JSON.parse(answer.text).result.caller.name, "alice");
    await server.stop();
});

test("console.listen with the authorization server: its users log in where they are", async () => {
    const port = await freePort();
    const server = await start({
        console: { enabled: true, listen: `127.0.0.1:${port}` },
        access: { server: { enabled: true } },
    });
    assert.equal((await exchange(server, get("/login", { Host: hostOf(server) }))).status, 200);
    assert.equal((await exchange(server, get("/console/", { Host: hostOf(server) }))).status, 404);
    await server.stop();
});
