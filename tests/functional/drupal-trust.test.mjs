// A Drupal site that stops showing what protects its tools, never showed it, or refuses our credentials.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { basic, databasePath } from "./support/accounts.mjs";
import { startSite } from "./support/drupal.mjs";
import { keepFolder } from "./support/kept.mjs";
import {
    assertToolError,
    callTool,
    callToolWell,
    reloadBridge,
    startBridge,
    toolNames,
    toolOf,
    untilTool,
} from "./support/mcp.mjs";
import { runCauseway } from "./support/programs.mjs";
import { get } from "./support/rest.mjs";
import { eventually, pause } from "./support/server.mjs";
import { writeOpenRpc } from "./support/service.mjs";

const login = basic("robot", "pa ss:word").Authorization;
const examples = ["examples.article.toMarkdown", "examples.articles.list", "examples.contentTypes.list"];

async function start(t, site, more = {}, { config, ...options } = {}) {
    const source = { name: "site", preset: "drupal", url: site.url, timeout: "5m", methods: ["*"], ...more };
    // Callers can log in, so that tools with scopes are listed.
    const all = { store: { path: databasePath() }, ...config, sources: [source] };
    const server = await startBridge({ plugins: [], ...options, config: all });
    t.after(() => server.stop());
    return server;
}

// A document with the method "echo" alone.
const echoFile = () =>
    writeOpenRpc({
        openrpc: "1.3.2",
        info: { title: "site", version: "1" },
        methods: [{ name: "echo", params: [{ name: "input", schema: {} }], result: { name: "r", schema: {} } }],
    });

let folders = 0;
const stateFolder = () => path.join(keepFolder(), `drupal-state-${(folders += 1)}`);

// The list of tools is refused, all else is as it was.
const refuseTools =
    (site, status) =>
    ({ target }, response) =>
        target.startsWith("/mcp/tools/list") && (site.showPage(response, status, "Access denied"), true);

async function listSources(server) {
    const { stdout } = await runCauseway(["source", "list", "--json", "--config", server.config]);
    return JSON.parse(stdout);
}

async function untilState(server, state) {
    const look = async () => (await listSources(server)).slice(0, 1).find((row) => row.state === state);
    return await eventually(look, `it is ${state}`);
}

const refresh = (server) => runCauseway(["source", "refresh", "--config", server.config]);
const scoped = examples[2];
const withPlain = (site) => (site.methods["no.tool"] = { usage: "Is no tool.", run: () => "ran" });

suite("a description that loses something", { concurrency: 3 }, () => {
    test("or never had it: the list of methods is used for what is named, and that is said", async (t) => {
        const site = await startSite({ kind: "tools" });
        site.front = refuseTools(site, 403);
        const config = { state: { directory: stateFolder() } };
        const server = await start(t, site, { methods: [examples[0]] }, { config });
        await untilTool(server, examples[0]);
        await server.untilLogged(/does not show its list of tools to these credentials/);
        assert.equal((await toolOf(server, examples[0])).title, examples[0]);
        const [row] = await listSources(server);
        assert.equal(row.state, "ready");
        assert.match(row.problem, /the list of tools cannot be read with these credentials: .*scopes are not known/);
    });

    test("while what is stored is of another site: each of the two warnings has its line", async (t) => {
        const config = { state: { directory: stateFolder() } };
        const first = await start(t, await startSite({ kind: "tools" }), { methods: [examples[0]] }, { config });
        await untilTool(first, examples[0]);
        await first.stop();
        const site = await startSite({ kind: "tools" });
        site.front = refuseTools(site, 403);
        const server = await start(t, site, { methods: [examples[0]] }, { config });
        await server.untilLogged(/\bwarning\W{1,4}the stored description is of another url/);
        await server.untilLogged(/\bwarning\W{1,4}the site does not show its list of tools/);
    });

    for (const status of [401, 403, 404]) {
        test(`threat-D3: by ${status} keeps scopes and tools as they were, also after a restart, until it is accepted`, async (t) => {
            const site = await startSite({ kind: "tools" });
            withPlain(site);
            const config = { state: { directory: stateFolder() }, store: { path: databasePath() } };
            const server = await start(t, site, { refresh: "300ms" }, { config });
            await untilTool(server, scoped);
            assert.equal((await callTool(server, scoped, {})).status, 401);
            const names = await toolNames(server);
            site.front = refuseTools(site, status);
            const row = await untilState(server, "stale");
            assert.match(row.problem, /the description is 'drupal-methods' and was 'drupal-tools'/);
            assert.match(row.problem, /`causeway source accept site`/);
            const isAsBefore = async (one) => {
                assert.deepEqual(await toolNames(one), names);
                assert.equal((await callTool(one, scoped, {})).status, 401);
            };
            await isAsBefore(server);
            assert.deepEqual((await get(server, "/readyz")).json.sources, { ready: 0, stale: 1, down: 0 });
            await server.stop();
            const again = await startBridge({ plugins: [], args: [], config: JSON.parse(readFileSync(server.config)) });
            t.after(() => again.stop());
            await untilTool(again, scoped);
            await untilState(again, "stale");
            await isAsBefore(again);
            const accepted = await runCauseway(["source", "accept", "site", "--config", again.config]);
            assert.equal(accepted.code, status === 404 ? 0 : 1, accepted.stderr);
            if (status !== 404) {
                assert.match(accepted.stderr, /'\*' fits nothing.*credentials.*discovery: drupal-methods/);
                return isAsBefore(again);
            }
            assert.match(accepted.stdout, /^site: the description is 'drupal-methods'[\s\S]*\nsite: accepted/);
            await untilTool(again, "no.tool");
            assert.equal((await callTool(again, scoped, {})).status, 200);
            await untilState(again, "ready");
        });
    }

    test("threat-D3: without a state folder the running server keeps the last good one", async (t) => {
        const site = await startSite({ kind: "tools" });
        withPlain(site);
        const server = await start(t, site, { refresh: "300ms", methods: ["*", scoped] });
        await untilTool(server, scoped);
        const names = await toolNames(server);
        site.front = refuseTools(site, 403);
        await server.untilLogged(/the older version stays.*the description is 'drupal-methods'/);
        assert.deepEqual(await toolNames(server), names);
        assert.equal((await callTool(server, scoped, {})).status, 401);
        site.front = null;
        const ready = async () => (await get(server, "/readyz")).json.sources.ready === 1;
        await eventually(ready, "it is ready again");
    });

    for (const [what, auth] of [
        ["scopes", { scopes: ["tutorial:read"], level: "required" }],
        ["the level", { scopes: ["tutorial:read", "tutorial:search"], level: "optional" }],
        ["everything", undefined],
    ]) {
        test(`threat-D3: that drops ${what} of a tool is not used until it is accepted`, async (t) => {
            const site = await startSite({ kind: "tools" });
            const config = { state: { directory: stateFolder() }, store: { path: databasePath() } };
            const server = await start(t, site, { refresh: "300ms" }, { config });
            await untilTool(server, scoped);
            const { tool, ...method } = site.methods[scoped];
            site.methods = { ...site.methods, [scoped]: { ...method, tool: { title: "New", annotations: { auth } } } };
            const { problem } = await untilState(server, "stale");
            assert.match(problem, /method 'examples\.contentTypes\.list': the service no longer asks for/);
            assert.equal((await callTool(server, scoped, {})).status, 401);
            assert.equal((await toolOf(server, scoped)).title, tool.title);
            const { code, stdout } = await runCauseway(["source", "accept", "site", "--config", server.config]);
            assert.equal(code, 0);
            assert.match(stdout, /no longer asks for .*\nsite: accepted/);
            await untilState(server, "ready");
            await eventually(async () => (await toolOf(server, scoped)).title === "New", "it is used");
        });
    }

    test("threat-D3: a tool that goes and comes back asks for what it asked", async (t) => {
        const site = await startSite({ kind: "tools" });
        const config = { state: { directory: stateFolder() } };
        const server = await start(t, site, { refresh: "300ms" }, { config });
        await untilTool(server, scoped);
        const { [scoped]: gone, ...others } = site.methods;
        site.methods = others;
        await untilTool(server, scoped, false);
        site.methods = { ...others, [scoped]: { ...gone, tool: { title: "Back" } } };
        await untilState(server, "stale");
        assert.ok(!(await toolNames(server)).includes(scoped));
    });

    const withoutScope = (site) => {
        const { tool, ...method } = site.methods[scoped];
        site.methods = { ...site.methods, [scoped]: { ...method, tool: { title: tool.title } } };
    };
    test("threat-D3: a scope that is dropped while its tool is not selected protects it when it is selected again", async (t) => {
        const site = await startSite({ kind: "tools" });
        const config = { state: { directory: stateFolder() } };
        const server = await start(t, site, {}, { config });
        await untilTool(server, scoped);
        const { sources } = JSON.parse(readFileSync(server.config));
        const select = (methods) => reloadBridge(server, { sources: [{ ...sources[0], methods }] });
        await select([examples[0]]);
        await untilTool(server, scoped, false);
        withoutScope(site);
        assert.match((await refresh(server)).stdout, /site: ready/);
        await select(["*"]);
        await untilTool(server, scoped);
        assert.match(
            (await untilState(server, "stale")).problem,
            /contentTypes\.list': the service no longer asks for/,
        );
        assert.equal((await callTool(server, scoped, {})).status, 401);
        // Nor without the service.
        site.front = (_request, response) => (site.showPage(response, 503, "away"), true);
        await refresh(server);
        assert.equal((await callTool(server, scoped, {})).status, 401);
        site.front = null;
        assert.equal((await runCauseway(["source", "accept", "site", "--config", server.config])).code, 0);
        await eventually(async () => (await callTool(server, scoped, {})).status === 200, "it is accepted");
    });

    test("threat-D3: a scope that could not be written to the state folder is not forgotten", async (t) => {
        const site = await startSite({ kind: "tools" });
        const parent = stateFolder();
        mkdirSync(parent);
        const config = { state: { directory: path.join(parent, "state") } };
        const server = await start(t, site, {}, { config });
        await untilTool(server, scoped);
        const all = site.methods;
        withoutScope(site);
        assert.equal((await runCauseway(["source", "accept", "site", "--config", server.config])).code, 0);
        await eventually(async () => (await callTool(server, scoped, {})).status === 200, "it has no scope");
        renameSync(parent, `${parent}-away`);
        site.methods = all;
        await refresh(server);
        await server.untilLogged(/the description could not be kept/);
        assert.equal((await callTool(server, scoped, {})).status, 401);
        renameSync(`${parent}-away`, parent);
        withoutScope(site);
        // Each time again, and after a restart: the file is written when that is possible again.
        for (let times = 0; times < 2; times += 1) {
            assert.match((await refresh(server)).stdout, /site: stale, .*no longer asks for/);
            assert.equal((await callTool(server, scoped, {})).status, 401);
        }
        await server.stop();
        const again = await startBridge({ plugins: [], args: [], config: JSON.parse(readFileSync(server.config)) });
        t.after(() => again.stop());
        await untilTool(again, scoped);
        assert.match((await untilState(again, "stale")).problem, /no longer asks for/);
        assert.equal((await callTool(again, scoped, {})).status, 401);
    });

    test("threat-D3: a scope that is dropped while the lock is lost protects its tool afterwards", async (t) => {
        const site = await startSite({ kind: "tools" });
        const lock = path.join(keepFolder(), `lost-lock-${(folders += 1)}.json`);
        const config = { state: { directory: stateFolder(), lock } };
        const server = await start(t, site, { on_change: "warn" }, { config });
        assert.equal((await runCauseway(["source", "approve", "--config", server.config])).code, 0);
        await untilTool(server, scoped);
        const text = readFileSync(lock);
        rmSync(lock);
        withoutScope(site);
        assert.match((await refresh(server)).stdout, /site: withheld, 0 tools/);
        writeFileSync(lock, text);
        assert.match((await refresh(server)).stdout, /site: stale, .*no longer asks for/);
        await untilTool(server, scoped);
        assert.equal((await callTool(server, scoped, {})).status, 401);
    });

    test("threat-D3: a kept description that is damaged is not taken for none", async (t) => {
        const site = await startSite({ kind: "tools" });
        const folder = stateFolder();
        const config = { state: { directory: folder }, store: { path: databasePath() } };
        const server = await start(t, site, {}, { config });
        await untilTool(server, scoped);
        await server.stop();
        const file = path.join(folder, "site.description.json");
        writeFileSync(file, readFileSync(file, "utf8").slice(0, 100));
        const again = await startBridge({ plugins: [], config: JSON.parse(readFileSync(server.config)) });
        t.after(() => again.stop());
        const { problem } = await untilState(again, "down");
        assert.match(problem, /what the service asked of callers is not known: .*site\.description\.json/);
        assert.deepEqual(await toolNames(again), []);
        assert.equal((await runCauseway(["source", "accept", "site", "--config", again.config])).code, 0);
        await untilTool(again, scoped);
        assert.equal((await callTool(again, scoped, {})).status, 401);
    });

    test("threat-D2: a list that cannot be read gives wildcards nothing; the other list is asked for by its name", async (t) => {
        const site = await startSite({ kind: "tools" });
        withPlain(site);
        site.front = refuseTools(site, 403);
        const folder = stateFolder();
        const config = { state: { directory: folder } };
        const server = await start(t, site, { methods: ["*", examples[0]] }, { config });
        await untilTool(server, examples[0]);
        assert.deepEqual(await toolNames(server), [examples[0]]);
        const [row] = await listSources(server);
        assert.match(row.problem, /'\*' fits nothing, since the list of tools cannot be read with these credentials/);
        await server.stop();
        // What is kept does not open it either, while the site is away.
        await site.stop();
        const away = await startBridge({ plugins: [], config: JSON.parse(readFileSync(server.config)) });
        await untilTool(away, examples[0]);
        assert.deepEqual(await toolNames(away), [examples[0]]);
        await away.stop();
        await site.start();
        const wide = await start(t, site, { methods: ["*"], discovery: "drupal-methods" }, { config });
        await untilTool(wide, "no.tool");
    });

    test("threat-D2: a list that is missing after it was rejected opens nothing until it is accepted", async (t) => {
        const site = await startSite({ kind: "tools" });
        withPlain(site);
        site.front = refuseTools(site, 403);
        const config = { state: { directory: stateFolder() }, store: { path: databasePath() } };
        const server = await start(t, site, { methods: ["*", examples[0]] }, { config });
        await untilTool(server, examples[0]);
        site.front = refuseTools(site, 404);
        assert.match(
            (await refresh(server)).stdout,
            /site: stale, .*the list of tools was rejected before, and is missing now/,
        );
        assert.deepEqual(await toolNames(server), [examples[0]]);
        const { code, stdout } = await runCauseway(["source", "accept", "site", "--config", server.config]);
        assert.equal(code, 0);
        assert.match(stdout, /is missing now: .*\nsite: accepted/);
        await untilTool(server, "no.tool");
    });

    test("threat-D2: what cannot be read is said by an import", async () => {
        const site = await startSite({ kind: "tools" });
        site.front = refuseTools(site, 403);
        const output = path.join(keepFolder(), `import-${(folders += 1)}.yaml`);
        const { code, stderr } = await runCauseway(["import", site.url, "--preset", "drupal", "--output", output]);
        assert.equal(code, 0, stderr);
        assert.match(
            stderr,
            /warning: the site does not show its list of tools to these credentials \(it never does with Basic\)/,
        );
        assert.match(readFileSync(output, "utf8"), /^# warning: the site does not show its list of tools/m);
    });

    test("threat-D2: a service does not lower the level of what the operator protects", async (t) => {
        const open = { usage: "Open", run: () => "ran", tool: { annotations: { auth: { level: "none" } } } };
        const site = await startSite({ kind: "tools", methods: { "is.open": open, "is.scoped": open } });
        const methods = ["is.open", { method: "is.scoped", scopes: ["own:scope"] }];
        const server = await start(t, site, { methods });
        await untilTool(server, "is.open");
        assert.equal((await callTool(server, "is.open", {})).status, 200);
        assert.equal((await callTool(server, "is.scoped", {})).status, 401);
    });

    test("threat-D2: a tool whose annotations are no object is withheld, as what they require is not known", async (t) => {
        const open = (annotations) => ({ usage: "Open", run: () => "ran", tool: { annotations } });
        const methods = { "a.text": open('{"auth":{"scopes":["a"]}}'), "a.list": open([{}]), "is.empty": open([]) };
        const site = await startSite({ kind: "tools", methods });
        const server = await start(t, site);
        await untilTool(server, "is.empty");
        await server.untilLogged(/method 'a\.text': it is withheld, since marks of the service are wrong/);
        assert.deepEqual(
            (await toolNames(server)).filter((name) => name.startsWith("a.")),
            [],
        );
    });
});

// ---- credentials that are refused ----

suite("credentials that the site refuses", { concurrency: 3 }, () => {
    const wrong = { secret: { environment: "SITE_LOGIN" } };
    const env = { SITE_LOGIN: "robot:wrong" };

    for (const status of [401, 403]) {
        test(`by ${status} are tried once, then by order only, and every message says so`, async (t) => {
            const site = await startSite({ login });
            site.front = ({ headers }, response) =>
                headers.authorization !== login && (site.showPage(response, status, "Refused"), true);
            const config = { state: { directory: stateFolder() }, store: { path: databasePath() } };
            const server = await start(t, site, wrong, { config, env });
            await server.untilLogged(/error sources: not loaded .*it refuses our credentials/);
            const tried = site.seen.length;
            assert.ok(tried <= 2, `${tried} requests`);
            await pause(3500);
            assert.equal(site.seen.length, tried);
            const row = await untilState(server, "down");
            assert.match(row.problem, /credentials/);
            await runCauseway(["source", "refresh", "--config", server.config]);
            await eventually(() => site.seen.length > tried, "it is asked by order");
            assert.equal((await get(server, "/readyz")).status, 503);
        });
    }

    test("at a start with a kept description cost one request for it and one call", async (t) => {
        const site = await startSite({ login });
        const config = { state: { directory: stateFolder() }, store: { path: databasePath() } };
        const first = await start(t, site, wrong, { config, env: { SITE_LOGIN: "robot:pa ss:word" } });
        await untilTool(first, "echo");
        await first.stop();
        site.login = basic("robot", "another").Authorization;
        site.seen.length = 0;
        const server = await start(t, site, wrong, { config, env });
        await server.untilLogged(/its last description is used.*credentials/);
        await untilTool(server, "echo");
        const tried = site.seen.length;
        assert.ok(tried <= 2, `${tried} requests`);
        for (let i = 0; i < 12; i += 1) {
            assertToolError(await callTool(server, "echo", { input: "x" }), /our credentials/);
            await pause(250);
        }
        assert.equal(site.seen.length, tried + 1);
    });

    const headerFile = () => {
        const file = path.join(keepFolder(), `login-${(folders += 1)}`);
        writeFileSync(file, login);
        return file;
    };
    const inFile = () => ({ header_files: { Authorization: headerFile() } });
    for (const [from, credentials] of [
        ["a secret", () => wrong],
        ["a file of a header", inFile],
    ]) {
        test(`while it runs, from ${from}, are not tried by calls either, until they are right`, async (t) => {
            const site = await startSite({ login });
            const config = { state: { directory: stateFolder() }, store: { path: databasePath() } };
            const good = { SITE_LOGIN: "robot:pa ss:word" };
            const server = await start(t, site, credentials(), { config, env: good });
            await untilTool(server, "echo");
            await callToolWell(server, "echo", { input: "x" });
            site.login = basic("robot", "another").Authorization;
            site.seen.length = 0;
            for (let i = 0; i < 12; i += 1) {
                assertToolError(await callTool(server, "echo", { input: "x" }), /our credentials/);
                await pause(200);
            }
            assert.ok(site.seen.length <= 3, `${site.seen.length} requests`);
            await server.untilLogged(/its last description is used.*credentials/);
            site.login = login;
            await runCauseway(["source", "refresh", "--config", server.config]);
            await untilState(server, "ready");
            await callToolWell(server, "echo", { input: "x" });
        });
    }

    for (const [what, more] of [
        ["discovered", () => ({})],
        ["described by a file", () => ({ openrpc: echoFile() })],
    ]) {
        test(`are replaced by those of a changed file of a header at a reload, if the site is ${what}`, async (t) => {
            const site = await startSite({ login });
            const file = headerFile();
            const source = { header_files: { Authorization: file }, methods: ["echo"], ...more() };
            const server = await start(t, site, source);
            await untilTool(server, "echo");
            await callToolWell(server, "echo", { input: "x" });
            const [{ refreshed }] = await listSources(server);
            site.login = basic("robot", "another").Authorization;
            writeFileSync(file, site.login);
            await reloadBridge(server);
            const isLoaded = async () => (await listSources(server))[0].refreshed !== refreshed;
            await eventually(isLoaded, "it is read again");
            await untilState(server, "ready");
            await callToolWell(server, "echo", { input: "x" });
            await refresh(server);
            await callToolWell(server, "echo", { input: "x" });
        });
    }

    test("that are refused for one method only leave the others alone", async (t) => {
        const site = await startSite({ login });
        const server = await start(t, site, wrong, { env: { SITE_LOGIN: "robot:pa ss:word" } });
        await untilTool(server, "echo");
        site.front = ({ rpc }, response) =>
            rpc?.method === "list" && (site.showPage(response, 403, "Not this one"), true);
        assertToolError(await callTool(server, "list", {}), /HTTP status 403: it refuses our credentials/);
        const isWell = async () => (await callTool(server, "echo", { input: "x" })).json.result?.isError !== true;
        await eventually(isWell, "others work");
        for (let i = 0; i < 5; i += 1) {
            assertToolError(await callTool(server, "list", {}), /403/);
            await callToolWell(server, "echo", { input: "x" });
        }
    });
});
