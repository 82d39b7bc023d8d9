// Administration methods about the catalogue: access, tools, audit, definitions of services.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { basic, call, discover, startAccounts } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { addPlugin, callTool, modern, ownName, pluginFile, post, rpc, untilTool } from "./support/mcp.mjs";
import { patience, runCauseway, slowness, timeLimit, writeConfig } from "./support/programs.mjs";
import { get, startMany, toolName } from "./support/rest.mjs";
import { startService } from "./support/service.mjs";
import { freePort } from "./support/ports.mjs";
import { eventually, pause, processorMs } from "./support/server.mjs";

const general = [discover, call];
const admin = "administer access";
const roles = {
    anonymous: general,
    authenticated: [],
    editor: ["access content"],
    operator: ["access content", admin, "view traffic", "view audit", "administer sources"],
    viewer: ["view traffic", "view audit"],
};

async function startOperated(config = {}) {
    const server = await startAccounts({ config: { roles, ...config } });
    addPlugin(server.plugins, "hidden");
    await untilTool(server, "hidden.challenged");
    await server.cli("account", "add", "olga", "--role", "operator", { input: "s3cret" });
    await server.cli("account", "add", "victor", "--role", "viewer", { input: "s3cret" });
    server.olga = basic("olga", "s3cret");
    server.victor = basic("victor", "s3cret");
    return server;
}

async function ask(server, method, params = {}, headers = server.olga) {
    const answer = await rpc(server, { method, params, id: 1 }, headers);
    assert.equal(answer.status, 200, answer.text);
    assert.ok(answer.json.result, answer.text);
    return answer.json.result;
}

// Run a command of the machine; what it printed, and its exit code.
const command = (server, ...words) => runCauseway([...words, "--config", server.config]);

function tokenFile(token) {
    const file = path.join(keepFolder(), `token-${Math.random()}`);
    writeFileSync(file, `${token}\n`);
    return file;
}

// ---- access ----

// All tools that a caller's lists show.
async function listedTo(server, headers) {
    const names = new Set();
    let cursor;
    do {
        const answer = await modern(server, "tools/list", cursor ? { cursor } : {}, { headers });
        if (answer.status !== 200) {
            return names;
        }
        answer.json.result.tools.forEach((tool) => names.add(ownName(tool)));
        cursor = answer.json.result.nextCursor;
    } while (cursor);
    return names;
}

// The word of the matrix for what a list and a call show.
async function shownTo(server, tool, listed, headers) {
    const unknown = "no.such.tool";
    const plain = (answer, name) => [answer.status, answer.text.replaceAll(name, "NAME")];
    const [answer, stranger] = await Promise.all(
        [tool, unknown].map((name) => callTool(server, name, {}, { headers })),
    );
    if ([401, 403].includes(answer.status) && answer.headers.get("www-authenticate")) {
        // A challenge that every name gets does not tell whether a tool exists.
        return plain(stranger, unknown)[0] !== answer.status || listed ? "asks" : "asks or hidden";
    }
    if (answer.status === 403) {
        return listed ? "listed" : "hidden";
    }
    return isDeepStrictEqual(plain(answer, tool), plain(stranger, unknown)) ? "hidden" : "yes";
}

suite("causeway.access.matrix", () => {
    let server;
    // One lists and may not call, the other calls and may not list.
    const some = {
        ...Object.fromEntries(
            Object.entries(roles).map(([name, own]) => [name, name === "authenticated" ? own : [...general, ...own]]),
        ),
        mute: [discover, "access content"],
        deaf: [call, "access content"],
    };
    const config = { roles: some, access: { authenticated_only_own: true } };
    before(async () => {
        server = await startOperated(config);
        // Roles of the database count as those of the configuration do.
        await server.cli("role", "add", "author");
        for (const permission of [...general, "access content", "administer site"]) {
            await server.cli("role", "allow", "author", permission);
        }
        await eventually(async () => {
            const { tools, rows } = await ask(server, "causeway.access.matrix", { tool: "test.admin" });
            const cells = rows.find(({ name }) => name === "author")?.cells;
            return cells?.[tools.indexOf("test.admin")] === "yes";
        }, "the last permission of the role");
    });
    after(() => server?.stop());

    async function compare(result, headersOf) {
        assert.equal(result.more, false);
        const seen = new Set();
        for (const { name, discover: lists, call: calls, cells } of result.rows) {
            const headers = await headersOf(name);
            const listed = await listedTo(server, headers);
            assert.equal(lists, listed.size > 0 || lists);
            assert.equal(cells.length, result.tools.length);
            for (const [i, tool] of result.tools.entries()) {
                const what = `${name} × ${tool}`;
                const shown = await shownTo(server, tool, listed.has(tool), headers);
                seen.add(cells[i]);
                assert.equal(listed.has(tool), lists && cells[i] !== "hidden", what);
                assert.ok(shown.split(" or ").includes(cells[i]), `${what}: ${cells[i]}, shown: ${shown}`);
                assert.equal(calls || cells[i] !== "yes", true, what);
            }
        }
        return seen;
    }

    test("each cell of roles is what lists and calls show to a caller with that role", async () => {
        const result = await ask(server, "causeway.access.matrix");
        const names = result.rows.map(({ name }) => name);
        assert.deepEqual(names, [
            ...["anonymous", "authenticated", "author", "deaf", "editor", "mute", "operator", "viewer"],
        ]);
        const seen = await compare(result, async (name) => {
            if (name === "anonymous") {
                return {};
            }
            const words = name === "authenticated" ? [] : ["--role", name];
            await server.cli("account", "add", `only-${name}`, ...words, { input: "s3cret" });
            return basic(`only-${name}`, "s3cret");
        });
        assert.deepEqual([...seen].sort(), ["asks", "hidden", "listed", "yes"]);
    });

    test("each cell of accounts is what lists and calls show to it", async () => {
        await server.cli("account", "grant", "bob", "mute");
        await server.cli("account", "grant", "bob", "deaf");
        const names = ["alice", "bob", "olga", "victor"];
        const all = () => ask(server, "causeway.access.matrix", { accounts: true, names });
        const hasBoth = async () => (await all()).rows.some((row) => row.name === "bob" && row.discover && row.call);
        await eventually(hasBoth, "both roles of bob");
        const result = await all();
        assert.deepEqual(
            result.rows.map(({ name }) => name),
            names,
        );
        await compare(result, async (name) => basic(name, name === "bob" ? "b0b" : "s3cret"));
    });

    test("blocked accounts have no row, and unknown names are errors", async () => {
        await server.cli("account", "add", "ghost", { input: "s3cret" });
        await server.cli("account", "block", "ghost");
        const { rows } = await ask(server, "causeway.access.matrix", { accounts: true });
        assert.equal(
            rows.some(({ name }) => name === "ghost"),
            false,
        );
        for (const [params, message] of [
            [{ accounts: true, names: ["ghost"] }, /there is no account 'ghost', or it is blocked/],
            [{ names: ["nothing"] }, /there is no role 'nothing'/],
        ]) {
            const { json } = await rpc(server, { method: "causeway.access.matrix", params, id: 1 }, server.olga);
            assert.equal(json.error.code, -32010);
            assert.match(json.error.message, message);
        }
    });

    test("tools are selected by their names, by differences between the rows, and by number", async () => {
        const all = await ask(server, "causeway.access.matrix");
        const differ = (_, i) => new Set(all.rows.map(({ cells }) => cells[i])).size > 1;
        for (const [params, isWanted] of [
            [{ tool: "NODE" }, (name) => /node/i.test(name)],
            [{ different: true }, differ],
            [{ tool: "node", different: true }, (name, i) => /node/i.test(name) && differ(name, i)],
            [{ names: ["viewer"], different: true }, () => false],
        ]) {
            const wanted = all.tools.filter(isWanted);
            assert.ok(wanted.length < all.tools.length, JSON.stringify(params));
            for (const tools_limit of [1, all.tools.length]) {
                const { tools, tools_total, rows } = await ask(server, "causeway.access.matrix", {
                    ...params,
                    tools_limit,
                });
                assert.deepEqual(tools, wanted.slice(0, tools_limit));
                assert.equal(tools_total, wanted.length);
                for (const { name, cells } of rows) {
                    const own = all.rows.find((row) => row.name === name).cells;
                    assert.deepEqual(
                        cells,
                        tools.map((tool) => own[all.tools.indexOf(tool)]),
                    );
                }
            }
        }
    });

    test("rows behind a name follow in order", async () => {
        const all = await ask(server, "causeway.access.matrix");
        const rest = await ask(server, "causeway.access.matrix", { after: "deaf" });
        assert.deepEqual(rest.rows, all.rows.slice(4));
    });

    test("the command prints the same with a server, from afar and alone", async () => {
        const alone = writeConfig({
            ...config,
            store: { path: server.database },
            plugins: { directory: server.plugins },
            admin: { enabled: false },
        });
        const { token } = await server.token("olga");
        const ways = [
            ["--config", server.config],
            ["--config", alone],
            ["--server", server.url, "--token-file", tokenFile(token)],
        ];
        for (const words of [["--csv"], ["--json"], [], ["--accounts", "--csv"], ["--where-different"]]) {
            const outputs = [];
            for (const way of ways) {
                const { code, stdout, stderr } = await runCauseway(["access", "matrix", ...words, ...way]);
                assert.equal(code, 0, stderr);
                outputs.push(stdout);
            }
            assert.equal(outputs[1], outputs[0], words.join(" "));
            assert.equal(outputs[2], outputs[0], words.join(" "));
        }
    });

    test("the table, --json, --csv and --where-different", async () => {
        const { tools, rows } = await ask(server, "causeway.access.matrix");
        const print = async (...words) => (await command(server, "access", "matrix", ...words)).stdout;
        const json = JSON.parse(await print("--json"));
        assert.deepEqual(
            json,
            tools.map((tool, i) => ({
                tool,
                access: Object.fromEntries(rows.map(({ name, cells }) => [name, cells[i]])),
            })),
        );
        const csv = (await print("--csv")).split("\r\n");
        assert.equal(csv[0], ["tool", ...rows.map(({ name }) => name)].join(","));
        assert.equal(csv.length, tools.length + 2);
        const [heading, ...lines] = (await print()).trimEnd().split("\n");
        assert.match(heading, /^TOOL +anonymous +authenticated +author +deaf/);
        assert.deepEqual(
            lines.map((line) => line.split(/ +/)),
            tools.map((tool, i) => [tool, ...rows.map(({ cells }) => cells[i])]),
        );
        const different = JSON.parse(await print("--json", "--where-different"));
        assert.deepEqual(
            different,
            json.filter(({ access }) => new Set(Object.values(access)).size > 1),
        );
        const one = await command(server, "access", "matrix", "--json", "--csv");
        assert.equal(one.code, 2);
    });
});

suite("causeway.access.why", () => {
    let server;
    before(async () => (server = await startOperated()));
    after(() => server?.stop());

    test("explains for accounts, roles, tokens and the anonymous", async () => {
        const { id } = await server.token("alice", "--scope", "content:read", "--scope", "content:write");
        const why = async (params) => {
            const result = await ask(server, "causeway.access.why", { tool: "test.scoped", ...params });
            return [result.caller, result.credentials, result.list, result.call];
        };
        assert.deepEqual(await why({ account: "alice" }), ["alice", "password", "shown", "login"]);
        assert.deepEqual(await why({ role: "editor" }), ["editor", "password", "shown", "login"]);
        assert.deepEqual(await why({ token: id }), ["alice", "token", "shown", "allowed"]);
        assert.deepEqual(await why({}), ["anonymous", "none", "not shown", "hidden"]);
        await server.cli("token", "revoke", String(id));
        for (const [params, code] of [
            [{ token: id }, -32010],
            [{ account: "nobody" }, -32010],
            [{ role: "nothing" }, -32010],
            [{ account: "alice", role: "editor" }, -32602],
            [{ tool: "no.such" }, -32010],
        ]) {
            const all = { tool: "test.echo", ...params };
            const { json } = await rpc(server, { method: "causeway.access.why", params: all, id: 1 }, server.olga);
            assert.equal(json.error?.code, code, JSON.stringify(params));
        }
    });

    test("a tool is found by its portable name too", async () => {
        const { tool } = await ask(server, "causeway.access.why", { tool: "test__echo" });
        assert.equal(tool, "test.echo");
    });

    test("the command asks a server elsewhere", async () => {
        const { token } = await server.token("olga");
        const words = ["why", "test.echo", "--as", "alice", "--server", server.url];
        const { code, stdout } = await runCauseway(words, { env: { CAUSEWAY_TOKEN: token } });
        assert.equal(code, 0);
        assert.match(stdout, /^test\.echo of echo, asked for by alice/);
        const { token: weak } = await server.token("alice");
        const refused = await runCauseway(words, { env: { CAUSEWAY_TOKEN: weak } });
        assert.equal(refused.code, 1);
        assert.match(refused.stderr, /offers no method causeway\.access\.why to this caller/);
    });
});

// ---- tools ----

suite("causeway.tools", () => {
    let server;
    before(async () => (server = await startOperated()));
    after(() => server?.stop());

    test("list has every tool with both names and its requirements", async () => {
        const { tools, more } = await ask(server, "causeway.tools.list", {}, server.victor);
        const { tools: all } = await ask(server, "causeway.access.matrix");
        assert.equal(more, false);
        assert.deepEqual(
            tools.map(({ name }) => name),
            all,
        );
        const scoped = tools.find(({ name }) => name === "test.scoped");
        assert.deepEqual(scoped, {
            name: "test.scoped",
            portableName: "test__scoped",
            source: "echo",
            method: "test.scoped",
            description: "Only for tokens with both scopes.",
            permissions: ["access content"],
            scopes: ["content:read", "content:write"],
            level: "required",
            visibility: "challenge",
            mark: scoped.mark,
        });
        assert.equal(scoped.mark.title, "Scoped");
        assert.equal(scoped.mark.annotations.auth.level, "required");
        assert.equal(tools.find(({ name }) => name === "hidden.scoped").visibility, "hide");
        const some = await ask(server, "causeway.tools.list", { source: "hidden" });
        assert.deepEqual(
            some.tools,
            tools.filter(({ source }) => source === "hidden"),
        );
        const needs = "access content";
        const content = await ask(server, "causeway.tools.list", { needs, permissions: true });
        assert.deepEqual(
            content.tools,
            tools.filter(({ permissions }) => permissions.includes(needs)),
        );
        assert.deepEqual(
            content.permissions.toSorted(),
            [...new Set(tools.flatMap(({ permissions }) => permissions))].sort(),
        );
        const later = await ask(server, "causeway.tools.list", { after: "test.log" });
        assert.deepEqual(later.tools, tools.slice(all.indexOf("test.log") + 1));
    });

    test("describe has marks and schemas, of tools and of methods that are none", async () => {
        const echo = await ask(server, "causeway.tools.describe", { name: "test__echo" }, server.victor);
        assert.equal(echo.name, "test.echo");
        assert.deepEqual(
            echo.params.map(({ name, required }) => [name, required]),
            [["message", true]],
        );
        assert.equal(echo.params[0].schema.type, "string");
        assert.deepEqual(echo.tool.inputSchema.required, ["message"]);
        const own = await ask(server, "causeway.tools.describe", { name: "causeway.tools.describe" });
        assert.deepEqual([own.name, own.mark, own.callable], ["", null, true]);
        assert.deepEqual(own.permissions, ["view traffic"]);
        const params = { name: "no.such" };
        const { json } = await rpc(server, { method: "causeway.tools.describe", params, id: 1 }, server.victor);
        assert.equal(json.error.code, -32010);
    });

    test("list --as reports what cannot be called and why; describe prints the requirements", async () => {
        const list = JSON.parse(await server.cli("list", "--as", "alice", "--json"));
        const marked = list.filter((tool) => tool.call !== undefined);
        assert.deepEqual(
            marked.map(({ name, call: outcome, reason }) => [name, outcome, reason]),
            [
                ["hidden.challenged", "login", "asks: needs a token with content:read"],
                ["test.scoped", "login", "asks: needs a token with content:read content:write"],
            ],
        );
        const table = (await server.cli("list", "--as", "alice")).split("\n");
        assert.match(table[0], /^NAME +PORTABLE NAME +SOURCE +CALL +DESCRIPTION$/);
        assert.match(
            table.find((line) => line.startsWith("test.echo ")),
            / echo +yes +Returns the message\.$/,
        );
        const text = await server.cli("describe", "test.scoped", "--as", "alice");
        assert.match(text, /\npermissions: access content\nscopes: content:read, content:write\nlevel: required\n/);
    });

    test("list and describe of a caller need the right to see access, except of the anonymous role", async () => {
        const params = { role: "anonymous" };
        const anonymous = await ask(server, "causeway.tools.list", params, server.victor);
        assert.deepEqual(anonymous.caller, { name: "anonymous", anonymous: true, discover: true });
        assert.deepEqual(new Set(anonymous.tools.map(({ name }) => name)), await listedTo(server, {}));
        for (const caller of [
            { account: "alice" },
            { role: "editor" },
            { token: 1 },
            { ...params, account: "alice" },
        ]) {
            for (const [method, more] of [
                ["causeway.tools.list", {}],
                ["causeway.tools.describe", { name: "test.echo" }],
            ]) {
                const message = { method, params: { ...caller, ...more }, id: 1 };
                const { json } = await rpc(server, message, server.victor);
                assert.equal(json.error.code, -32602, JSON.stringify(caller));
                assert.match(json.error.message, /permission 'administer access'/);
            }
        }
        const alice = await ask(server, "causeway.tools.list", { account: "alice" });
        assert.deepEqual(alice.caller, { name: "alice", anonymous: false, discover: true });
        assert.deepEqual(
            new Set(alice.tools.map(({ name }) => name)),
            await listedTo(server, basic("alice", "s3cret")),
        );
        const echo = await ask(server, "causeway.tools.describe", { name: "test.echo", role: "editor" });
        assert.deepEqual([echo.name, echo.call], ["test.echo", "allowed"]);
        const hidden = { name: "hidden.scoped", account: "alice" };
        const { json } = await rpc(server, { method: "causeway.tools.describe", params: hidden, id: 1 }, server.olga);
        assert.equal(json.error.code, -32010);
        assert.match(json.error.message, /there is no tool "hidden\.scoped" for alice/);
    });

    test("list and describe print the same with the running server, with one elsewhere and alone", async () => {
        // The server answers: this configuration has its database, but no plugins.
        const near = ["--config", writeConfig({ store: { path: server.database } })];
        const { token } = await server.token("olga");
        const far = ["--server", server.url, "--token-file", tokenFile(token)];
        const alone = writeConfig({
            roles,
            store: { path: server.database },
            plugins: { directory: server.plugins },
            admin: { socket: path.join(keepFolder(), "nowhere.sock") },
        });
        for (const words of [
            ["list"],
            ["list", "--json"],
            ["list", "--as", "alice"],
            ["list", "--as", "alice", "--json"],
            ["list", "--as", "mallory"],
            ["describe", "test.echo", "--as", "alice"],
            ["describe", "test__echo", "--as", "alice", "--json"],
            ["describe", "test.scoped", "--as", "alice"],
            ["describe", "test.scoped", "--as", "alice", "--json"],
            ["describe", "test.ecko", "--as", "alice"],
            ["describe", "hidden.scoped", "--as", "alice"],
            ["describe", "causeway.tools.list", "--as", "olga"],
            ["describe", "causeway.tools.list", "--as", "olga", "--json"],
        ]) {
            const own = await runCauseway([...words, "--config", alone]);
            for (const where of [near, far]) {
                const other = await runCauseway([...words, ...where]);
                assert.deepEqual(other, own, `${words.join(" ")} ${where[0]}`);
            }
        }
        assert.match(
            (await runCauseway(["list", "--as", "alice", ...near])).stdout,
            /^test\.echo +test__echo +echo +/m,
        );
        const { token: weak } = await server.token("victor");
        const refused = await runCauseway(["list", "--as", "alice", "--server", server.url], {
            env: { CAUSEWAY_TOKEN: weak },
        });
        assert.equal(refused.code, 2);
        assert.match(refused.stderr, /permission 'administer access'/);
        const gone = await runCauseway(["list", "--server", `http://127.0.0.1:${await freePort()}`, ...far.slice(2)]);
        assert.deepEqual([gone.code, gone.stdout], [1, ""]);
    });

    test("list has several pages of a large catalogue", async (t) => {
        const many = await startMany(1_100);
        t.after(() => many.stop());
        const { stdout } = await runCauseway(["list", "--json", "--config", many.config]);
        const names = JSON.parse(stdout).map(({ name }) => name);
        assert.ok(names.length > 1000);
        assert.deepEqual(names, [...new Set(names)].sort());
        assert.deepEqual(new Set(names), await listedTo(many, {}));
    });

    test("list reports a caller who may not call at all", async () => {
        const config = writeConfig({
            roles: { anonymous: [discover, "access content"] },
            plugins: { directory: server.plugins },
        });
        const { stdout } = await runCauseway(["list", "--json", "--config", config]);
        const echo = JSON.parse(stdout).find(({ name }) => name === "test.echo");
        assert.deepEqual([echo.call, echo.reason], ["login", "asks: needs a login"]);
    });
});

test("call --plugin loads one plugin, with all permissions", async () => {
    const file = pluginFile("echo");
    const run = (...words) => runCauseway(["call", ...words], { env: { CAUSEWAY_CONFIG: "/nonexistent" } });
    const echo = await run("--plugin", file, "test.echo", "--arg", "message=hi");
    assert.deepEqual([echo.code, JSON.parse(echo.stdout)], [0, { message: "hi" }]);
    assert.equal((await run("-p", file, "test.scoped")).code, 0);
    for (const [words, code, message] of [
        [["--plugin", file, "test.nothing"], 1, /there is no tool "test\.nothing" for local/],
        [["--plugin", "/nonexistent.so", "test.echo"], 2, /No such file/],
        [["--plugin", "echo.c", "test.echo"], 2, /a plugin is a file that ends in \.so/],
        [["--plugin", file, "--as", "alice", "test.echo"], 2, /--plugin cannot be combined with --as/],
        [["--plugin", file, "--config", "x", "test.echo"], 2, /--plugin cannot be combined with --config/],
    ]) {
        const answer = await run(...words);
        assert.equal(answer.code, code, words.join(" "));
        assert.match(answer.stderr, message);
    }
});

// ---- audit ----

suite("causeway.audit.search", () => {
    let server;
    let file;
    before(async () => {
        file = path.join(keepFolder(), "search.audit");
        const sees = { ...roles, operator: [...roles.operator, "view arguments"] };
        server = await startOperated({
            roles: sees,
            audit: { path: file, arguments: true, rotate_size: "4KB", files: 50 },
        });
        const echo = (message) =>
            rpc(server, { method: "test.echo", params: { message }, id: 1 }, basic("alice", "s3cret"));
        // Many records may be written at once: then a file grows beyond its size.
        const isRotated = async () => {
            await Promise.all(Array.from({ length: 20 }, (_, i) => echo(`secret-${i}`)));
            return existsSync(`${file}.2`);
        };
        await eventually(isRotated, "rotated files", 20_000);
        await echo("secret-last");
        await callTool(server, "test.admin", {}, { headers: basic("alice", "s3cret") });
        await eventually(async () => (await records()).some(({ outcome }) => outcome === "hidden"), "all records");
    });
    after(() => server?.stop());

    // All that the files hold, oldest first.
    async function records(...words) {
        const lines = (await server.cli("audit", "--json", ...words)).trimEnd().split("\n");
        return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
    }

    test("returns the newest records first, across rotated files", async () => {
        const params = { tool: "test.echo", kind: "call" };
        const { records: some } = await ask(server, "causeway.audit.search", { ...params, limit: 5 });
        const all = (await records("--tool", "test.echo", "--kind", "call")).reverse();
        assert.deepEqual(some, all.slice(0, 5));
        assert.ok(all.length > 8, `${all.length} records are left`);
        const whole = await ask(server, "causeway.audit.search", { ...params, limit: 1000 });
        assert.deepEqual(whole.records, all);
        assert.deepEqual([whole.more, whole.damaged], [false, 0]);
        assert.equal((await ask(server, "causeway.audit.search", { ...params, limit: 5 })).more, true);
    });

    test("a cursor goes on where a search ended, across rotated files", async () => {
        const params = { tool: "test.echo", kind: "call", limit: 3 };
        const all = (await records("--tool", "test.echo", "--kind", "call")).reverse();
        const found = [];
        let page = await ask(server, "causeway.audit.search", params);
        while (page.next) {
            // Records of other kinds may have been read after the last one that was found.
            assert.ok(page.searched_to <= page.records.at(-1).time, page.searched_to);
            found.push(...page.records);
            page = await ask(server, "causeway.audit.search", { ...params, cursor: page.next });
        }
        assert.deepEqual([...found, ...page.records], all);
        assert.equal(page.more, false);
        for (const cursor of ["x", "1-2", "0-0-0", "1-0-5-6"]) {
            const answer = await rpc(
                server,
                { method: "causeway.audit.search", params: { cursor }, id: 1 },
                server.olga,
            );
            assert.match(answer.json.error.data ?? answer.json.error.message, /cursor: expected the member next/);
        }
        // A file that is gone: so are the older ones.
        const gone = await ask(server, "causeway.audit.search", { ...params, cursor: "1-0-10" });
        assert.deepEqual([gone.records, gone.next], [[], null]);
    });

    test("filters as the command does", async () => {
        for (const [params, words] of [
            [{ caller: "alice" }, ["--caller", "alice"]],
            [{ outcome: "hidden" }, ["--outcome", "hidden"]],
            [{ kind: "login" }, ["--kind", "login"]],
            [{ since: "1h", tool: "test.echo" }, ["--since", "1h", "--tool", "test.echo"]],
            [{ since: "2100-01-01", caller: "alice" }, ["--since", "2100-01-01", "--caller", "alice"]],
        ]) {
            const found = await ask(server, "causeway.audit.search", { ...params, limit: 1000 });
            // What was recorded meanwhile comes behind.
            const shown = (await records(...words)).slice(0, found.records.length);
            assert.deepEqual(found.records.toReversed(), shown, words.join(" "));
        }
        for (const params of [{ kind: "nix" }, { outcome: "nix" }, { since: "soon" }, { limit: 0 }, { limit: 1001 }]) {
            const answer = await rpc(server, { method: "causeway.audit.search", params, id: 1 }, server.olga);
            assert.equal(answer.json.error.code, -32602, JSON.stringify(params));
        }
    });

    test("many searches leave threads to other work, and callers take turns", async (t) => {
        const large = path.join(keepFolder(), "large.audit");
        const record = { time: "2026-11-17T00:00:00.000Z", kind: "call", caller: "nobody", detail: "x".repeat(300) };
        // Long enough to be seen, and far below the time that a call may take, with sanitizers too.
        writeFileSync(large, `${JSON.stringify(record)}\n`.repeat(100_000 / slowness ** 2), { mode: 0o600 });
        const more = { ...roles, viewer: [...roles.viewer, "view metrics"] };
        const other = await startOperated({ roles: more, audit: { path: large } });
        t.after(() => other.stop());
        // On a clock that stands still with the machine.
        const left = timeLimit(0);
        const timed = async (work) => {
            const begin = left();
            return [await work, begin - left()];
        };
        // Passwords are verified on the same threads, for each caller once.
        await get(other, "/metrics", other.victor);
        await get(other, "/metrics", other.olga);
        const search = (id) => ({ jsonrpc: "2.0", id, method: "causeway.audit.search", params: { caller: "eve" } });
        const many = timed(
            post(
                other,
                "/jsonrpc",
                Array.from({ length: 80 }, (_, i) => search(i + 1)),
                other.olga,
            ),
        );
        await pause(100);
        // The fastest of some at once: a busy machine may delay one of them, and full threads delay all.
        const scrapes = Array.from({ length: 3 }, () => timed(get(other, "/metrics", other.victor)));
        const [metrics, metricsMs] = await Promise.race(scrapes);
        const [one, oneMs] = await timed(post(other, "/jsonrpc", search(1), other.victor));
        const [answers, ms] = await many;
        assert.deepEqual([metrics.status, one.status, answers.status], [200, 200, 200]);
        assert.ok(
            answers.json.every(({ result }) => result.records.length === 0),
            answers.text,
        );
        assert.ok(metricsMs < ms / 2 && oneMs < ms / 2, `${metricsMs} and ${oneMs} of ${ms} ms`);
    });

    test("arguments and their hashes need a permission of their own", async () => {
        const params = { tool: "test.echo", limit: 3 };
        const whole = await ask(server, "causeway.audit.search", params);
        const part = await ask(server, "causeway.audit.search", params, server.victor);
        assert.equal(whole.records[0].arguments.message, "secret-last");
        assert.doesNotMatch(JSON.stringify(part), /secret-|arguments/);
        assert.deepEqual(
            part.records,
            whole.records.map(({ arguments: _, arguments_hash: __, ...rest }) => rest),
        );
    });

    test("the command takes the newest with --limit, here and from afar", async () => {
        const words = ["audit", "--tool", "test.echo", "--limit", "4"];
        const all = await records("--tool", "test.echo");
        const near = await runCauseway([...words, "--json", "--config", server.config]);
        const { token } = await server.token("olga");
        const far = await runCauseway([...words, "--json", "--server", server.url], {
            env: { CAUSEWAY_TOKEN: token },
        });
        for (const { code, stdout, stderr } of [near, far]) {
            assert.equal(code, 0, stderr);
            const lines = stdout.trimEnd().split("\n");
            assert.deepEqual(
                lines.map((line) => JSON.parse(line)),
                all.slice(-4),
            );
            assert.match(stderr, /older records are left out/);
        }
        const text = await command(server, ...words);
        assert.match(text.stdout, /^2\S+ +call +ok +jsonrpc +alice +test\.echo/);
        for (const wrong of [
            ["--limit", "0"],
            ["--limit", "5", "--follow"],
        ]) {
            assert.equal((await command(server, "audit", ...wrong)).code, 2);
        }
    });

    test("works without a server on the files", async () => {
        const config = writeConfig({ audit: { path: file, files: 50 } });
        const { code, stdout } = await runCauseway(["audit", "-n", "1", "--kind", "call", "--config", config]);
        assert.equal(code, 0);
        assert.match(stdout, / call +ok /);
    });
});

// ---- definitions of services ----

suite("causeway.sources.diff and approve", () => {
    const usage = (service, method, summary) =>
        (service.document.methods.find(({ name }) => name === method).summary = summary);

    async function startLocked(t, more = {}) {
        const service = await startService();
        const lock = path.join(keepFolder(), `lock-${Math.random()}.json`);
        const source = { name: "shop", url: service.url, prefix: "shop.", methods: ["add", "echo"], ...more };
        const timeouts = { drain: "1s" };
        const server = await startOperated({ sources: [source], state: { lock }, timeouts });
        t.after(() => server.stop());
        return { service, server, lock };
    }
    const fails = async (server, method, params, headers = server.olga) =>
        (await rpc(server, { method, params, id: 1 }, headers)).json.error;
    const tools = async (server) =>
        (await ask(server, "causeway.tools.list", { source: "shop" })).tools.map(({ name }) => name);

    test("approving takes the etag of the differences that were seen", async (t) => {
        const { service, server, lock } = await startLocked(t);
        const first = await ask(server, "causeway.sources.diff");
        assert.deepEqual(
            first.differences.map(({ source, method, change }) => [source, method, change]),
            [
                ["shop", "add", "new"],
                ["shop", "echo", "new"],
            ],
        );
        assert.deepEqual(first.problems, []);
        assert.match(first.etag, /^[0-9a-f]{64}$/);
        assert.deepEqual(await tools(server), []);
        // The service changes its mind between the review and the approval.
        usage(service, "add", "Deletes all files");
        const error = await fails(server, "causeway.sources.approve", { etag: first.etag });
        assert.equal(error.code, -32011, error.message);
        assert.match(error.message, /changed since they were shown/);
        assert.equal(existsSync(lock), false);
        const second = await ask(server, "causeway.sources.diff");
        assert.notEqual(second.etag, first.etag);
        const done = await ask(server, "causeway.sources.approve", { etag: second.etag });
        assert.deepEqual(done.approved, [
            { source: "shop", method: "add", change: "new" },
            { source: "shop", method: "echo", change: "new" },
        ]);
        // The server uses them when the call ends.
        assert.deepEqual(await tools(server), ["shop.add", "shop.echo"]);
        const third = await ask(server, "causeway.sources.diff");
        assert.deepEqual(third.differences, []);
        const { approvals } = await ask(server, "causeway.sources.approvals");
        const [stamp] = approvals;
        assert.ok(stamp.approved_at <= Date.now() && stamp.approved_at > Date.now() - patience(60_000));
        assert.deepEqual(approvals, [
            { ...stamp, source: "shop", method: "add" },
            { ...stamp, source: "shop", method: "echo" },
        ]);
        const [row] = (await ask(server, "causeway.sources.list")).sources.filter(({ name }) => name === "shop");
        assert.deepEqual([row.approved_at, row.approved_by], [stamp.approved_at, stamp.approved_by]);
        usage(service, "echo", "Returns another text");
        const changed = await ask(server, "causeway.sources.diff", { names: ["shop"] });
        assert.deepEqual(changed.differences, [
            {
                ...stamp,
                source: "shop",
                method: "echo",
                change: "changed",
                differences: [{ pointer: "/usage", old: "Gives back what it got", new: "Returns another text" }],
            },
        ]);
    });

    test("methods are approved one by one", async (t) => {
        const { server } = await startLocked(t);
        const { etag } = await ask(server, "causeway.sources.diff");
        const unknown = await fails(server, "causeway.sources.approve", { etag, methods: ["nix"] });
        assert.equal(unknown.code, -32010);
        const { approved } = await ask(server, "causeway.sources.approve", { etag, methods: ["echo"] });
        assert.deepEqual(approved, [{ source: "shop", method: "echo", change: "new" }]);
        assert.deepEqual(await tools(server), ["shop.echo"]);
    });

    test("services out of reach are named, and unknown ones are errors", async (t) => {
        const { server } = await startLocked(t, { url: `http://127.0.0.1:${await freePort()}/rpc` });
        const { differences, problems, etag } = await ask(server, "causeway.sources.diff");
        assert.deepEqual(differences, []);
        assert.equal(problems[0].source, "shop");
        assert.ok(problems[0].problem.length > 5);
        const done = await ask(server, "causeway.sources.approve", { etag });
        assert.deepEqual([done.approved, done.problems.length], [[], 1]);
        assert.equal((await fails(server, "causeway.sources.diff", { names: ["nix"] })).code, -32010);
    });

    test("without the permission, or a lock file, there is nothing to review", async (t) => {
        const { server } = await startLocked(t);
        for (const [method, params] of [
            ["causeway.sources.diff", {}],
            ["causeway.sources.approve", { etag: "x" }],
        ]) {
            assert.equal((await fails(server, method, params, server.victor)).code, -32601);
        }
        assert.equal((await fails(server, "causeway.sources.approve", {})).code, -32602);
        const other = await startOperated();
        t.after(() => other.stop());
        assert.match((await fails(other, "causeway.sources.diff", {})).message, /set state\.lock/);
        // A mistake of the configuration has the exit code 2, with the server and without.
        const review = async (command) => {
            const { code, stderr } = await runCauseway(["source", command, "--config", other.config]);
            assert.deepEqual([code, /set state\.lock/.test(stderr)], [2, true], stderr);
        };
        await review("diff");
        await review("approve");
        await other.stop();
        await review("diff");
        await review("approve");
    });

    test("a server that stops gives a review up", async (t) => {
        const { service, server } = await startLocked(t);
        service.mode = "hang";
        const waiting = rpc(server, { method: "causeway.sources.diff", params: {}, id: 1 }, server.olga);
        waiting.catch(() => {});
        await eventually(() => service.open > 0, "the question to arrive");
        await server.stop();
    });

    test("the commands use the running server, and print the same without one", async (t) => {
        const { service, server, lock } = await startLocked(t);
        const alone = writeConfig({
            sources: [{ name: "shop", url: service.url, prefix: "shop.", methods: ["add", "echo"] }],
            state: { lock },
            admin: { enabled: false },
        });
        const both = async (...words) => {
            const near = await command(server, ...words);
            const own = await runCauseway([...words, "--config", alone]);
            assert.deepEqual([near.code, near.stdout, near.stderr], [own.code, own.stdout, own.stderr]);
            return near;
        };
        const first = await both("source", "diff");
        assert.equal(first.code, 1);
        assert.match(first.stdout, /^shop: add: new\n/);
        await both("source", "diff", "--json");
        // The service changes its mind between the review and the approval.
        const { etag } = JSON.parse((await both("source", "diff", "--json")).stdout);
        usage(service, "echo", "Deletes all files");
        const late = await both("source", "approve", "--etag", etag);
        assert.deepEqual([late.code, existsSync(lock)], [1, false]);
        assert.match(late.stderr, /changed since they were shown/);
        const seen = /\netag: ([0-9a-f]{64})\n$/.exec((await both("source", "diff")).stdout)[1];
        const approved = await command(server, "source", "approve", "add", "--etag", seen);
        assert.match(approved.stdout, /^shop: add: new\napproved in .* by server \d\S+ \(pid \d+\)\n$/);
        assert.deepEqual(await tools(server), ["shop.add"]);
        usage(service, "add", "Adds");
        // From another machine, without a configuration.
        const { token } = await server.token("olga");
        const far = ["--server", server.url, "--token-file", tokenFile(token)];
        const elsewhere = await runCauseway(["source", "diff", "shop", ...far]);
        assert.deepEqual([elsewhere.code, elsewhere.stderr], [1, ""]);
        assert.equal(elsewhere.stdout, (await command(server, "source", "diff", "shop")).stdout);
        assert.equal((await runCauseway(["source", "diff", "nix", ...far])).code, 2);
        assert.equal(
            (await runCauseway(["source", "approve", "shop", "echo", ...far])).stdout.split(" by ")[0],
            "shop: echo: new\napproved",
        );
        assert.match((await runCauseway(["source", "list", ...far])).stdout, /^NAME.*\nshop +ready +1 /);
        assert.match((await runCauseway(["source", "refresh", ...far])).stdout, /^shop: ready, /);
        assert.match((await both("source", "diff")).stdout, /shop: add: changed\n {2}\/usage: "[^"]*" → "Adds"\n/);
        const rest = await command(server, "source", "approve", "--json");
        assert.deepEqual(JSON.parse(rest.stdout), [{ source: "shop", method: "add", change: "changed" }]);
        assert.equal((await both("source", "diff")).code, 0);
        assert.match((await command(server, "source", "approve")).stdout, /nothing to approve/);
        assert.equal((await command(server, "source", "approve", "nix")).code, 1);
    });
});

// ---- permissions and tools ----

suite("permissions and marks", () => {
    const readers = [
        "causeway.access.matrix",
        "causeway.access.why",
        "causeway.audit.search",
        "causeway.sources.diff",
        "causeway.sources.list",
        "causeway.tools.describe",
        "causeway.tools.list",
    ];
    const params = {
        "causeway.access.why": { tool: "test.echo" },
        "causeway.tools.describe": { name: "test.echo" },
    };
    const needs = {
        "causeway.access.matrix": "view audit",
        "causeway.access.why": "view audit",
        "causeway.audit.search": "view audit",
        "causeway.sources.diff": "administer sources",
    };
    let server;
    before(async () => {
        const audit = { path: path.join(keepFolder(), "marks.audit") };
        const state = { lock: path.join(keepFolder(), "marks.lock") };
        server = await startOperated({ admin: { tools: readers }, audit, state });
    });
    after(() => server?.stop());

    test("callers without the permission get the answer of an unknown method", async () => {
        const callers = { olga: server.olga, victor: server.victor, alice: basic("alice", "s3cret"), nobody: {} };
        for (const method of readers) {
            for (const [name, headers] of Object.entries(callers)) {
                const message = { method, params: params[method] ?? {}, id: 1 };
                const answer = await rpc(server, message, headers);
                const own = roles[{ olga: "operator", victor: "viewer", alice: "editor" }[name]] ?? [];
                const may = own.includes(needs[method] ?? "view traffic");
                assert.equal(answer.json.result !== undefined, may, `${name} ${method}: ${answer.text}`);
                if (!may) {
                    const unknown = `causeway.nothing${"x".repeat(method.length - 16)}`;
                    const other = await rpc(server, { ...message, method: unknown }, headers);
                    assert.equal(answer.text.replaceAll(method, unknown), other.text);
                }
            }
        }
    });

    test("a reading method is a tool, for callers with its permission only", async () => {
        const names = async (headers) =>
            [...(await listedTo(server, headers))].filter((name) => name.startsWith("causeway."));
        assert.deepEqual((await names(server.olga)).sort(), readers);
        assert.deepEqual(
            (await names(server.victor)).sort(),
            readers.filter((name) => roles.viewer.includes(needs[name] ?? "view traffic")),
        );
        assert.deepEqual(await names({}), []);
        const { status, json } = await callTool(
            server,
            "causeway__access__why",
            { tool: "test.echo", account: "alice" },
            { headers: server.olga },
        );
        assert.equal(status, 200);
        assert.equal(json.result.structuredContent.call, "allowed");
    });

    test("a changing method is refused as a tool with line and column", async () => {
        for (const method of ["causeway.sources.approve", "causeway.sources.refresh", "causeway.reload"]) {
            const config = path.join(keepFolder(), `marked-${method}.yaml`);
            writeFileSync(config, `admin:\n  tools:\n    - ${method}\n`);
            const { code, stderr } = await runCauseway(["config", "check", config]);
            assert.equal(code, 2);
            assert.match(stderr, /:3:7: admin\.tools/, method);
        }
    });
});

test("a matrix of 1,000 tools and 50 roles takes less than 100 ms of processor time", async (t) => {
    const names = Array.from({ length: 1_000 }, (_, i) => toolName(i));
    const methods = names.map((method, i) => ({ method, permissions: [`use ${i}`] }));
    const many = Object.fromEntries(
        Array.from({ length: 48 }, (_, i) => [
            `role-${i}`,
            names.map((_, j) => `use ${j}`).filter((_, j) => j % 48 <= i),
        ]),
    );
    const server = await startMany(methods, {
        roles: { anonymous: [...general, "view audit", "use 0"], authenticated: [], ...many },
    });
    t.after(() => server.stop());
    const first = await ask(server, "causeway.access.matrix", {}, {});
    assert.equal(first.tools.length, 1_000);
    assert.equal(first.rows.length, 50);
    const row = first.rows.find(({ name }) => name === "role-10");
    assert.deepEqual(
        row.cells,
        names.map((_, j) => (j % 48 <= 10 ? "yes" : "hidden")),
    );
    const times = 10;
    const begun = processorMs(server.pid);
    for (let i = 0; i < times; i++) {
        await ask(server, "causeway.access.matrix", {}, {});
    }
    const each = (processorMs(server.pid) - begun) / times;
    t.diagnostic(`${each} ms`);
    assert.ok(each < 100 * slowness, `${each} ms`);
});
