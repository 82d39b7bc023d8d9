// Every page of docs/recipes: its configuration is right, and works against a stand-in where the
// service itself is not in Debian.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { test } from "node:test";
import { root, runCauseway, writeConfig } from "../functional/support/programs.mjs";
import { call, callFails, connect, makeFolder, recipe, startRecipe, toolsOf } from "./support/services.mjs";

const folder = path.join(root, "docs", "recipes");
const pages = readdirSync(folder)
    .filter((name) => name.endsWith(".md") && name !== "README.md")
    .map((name) => name.slice(0, -3));

for (const page of pages) {
    test(`the configuration of ${page} is right`, async () => {
        const { code, stderr } = await runCauseway(["config", "check", "--no-files", writeConfig(recipe(page))]);
        assert.equal(code, 0, stderr);
    });
}

test("the index names every page, and the pages say what they must", () => {
    const index = readFileSync(path.join(folder, "README.md"), "utf8");
    for (const page of pages) {
        assert.ok(index.includes(`(${page}.md)`), page);
        const text = readFileSync(path.join(folder, `${page}.md`), "utf8");
        assert.match(text, /^## Traps$/m, page);
        assert.match(text, /^## Dangerous$/m, page);
    }
});

// toolsOf() checks the list against the rules of model APIs.
test("each recipe has a test that lists its tools", () => {
    const files = readdirSync(path.join(root, "tests", "services")).filter((name) => name.endsWith(".test.mjs"));
    const texts = files.map((name) => readFileSync(path.join(root, "tests", "services", name), "utf8"));
    const tests = texts.flatMap((text) => (text.includes("// ---- stand-ins") ? text.split(/^test\(/m) : [text]));
    for (const page of pages) {
        const starts = new RegExp(`startRecipe\\(\\s*t,\\s*"${page}"`);
        assert.ok(
            tests.some((text) => starts.test(text) && text.includes("toolsOf(")),
            page,
        );
    }
});

// ---- stand-ins ----

// A service over HTTP: `answer({ method, params })` gives a result or throws an error; what is not
// a POST is looked up in `documents`. Everything wants the same login.
async function startStandIn(t, { login, answer, documents = {} }) {
    const seen = [];
    const wanted = login && `Basic ${Buffer.from(login).toString("base64")}`;
    const server = createServer(async (request, response) => {
        const { pathname, searchParams } = new URL(request.url, "http://localhost");
        let body = searchParams.get("query") ?? "";
        for await (const chunk of request.setEncoding("utf8")) {
            body += chunk;
        }
        const reply = (status, value) => {
            response.writeHead(status, { "Content-Type": "application/json" });
            response.end(JSON.stringify(value));
        };
        if (wanted && request.headers.authorization !== wanted) {
            reply(401, {});
        } else if (body === "") {
            const found = documents[pathname];
            reply(found ? 200 : 404, found ?? {});
        } else {
            const { id, method, params } = JSON.parse(body);
            seen.push({ http: request.method, method, params });
            try {
                reply(200, { jsonrpc: "2.0", id, result: answer({ method, params }) });
            } catch (error) {
                reply(200, { jsonrpc: "2.0", id, error });
            }
        }
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => {
        server.closeAllConnections();
        server.close();
    });
    return { address: `127.0.0.1:${server.address().port}`, seen };
}

const unknown = { code: -32601, message: "Method not found" };

function answerFrom(methods) {
    return ({ method, params }) => {
        if (!(method in methods)) {
            throw unknown;
        }
        return methods[method](params);
    };
}

test("bitcoin-core: described by its help", async (t) => {
    const login = "__cookie__:0123456789abcdef";
    const cookie = path.join(makeFolder("bitcoin"), ".cookie");
    writeFileSync(cookie, login);
    const help = [
        "== Blockchain ==",
        'getblock "blockhash" ( verbosity )',
        "getblockchaininfo",
        "getblockcount",
        "getblockhash height",
        "getmempoolinfo",
        "",
        "== Util ==",
        'estimatesmartfee conf_target ( "estimate_mode" )',
    ].join("\n");
    const answer = answerFrom({
        help: () => help,
        getblockcount: () => 900_000,
        getblockhash: ({ height }) => {
            if (height > 900_000) {
                throw { code: -8, message: "Block height out of range" };
            }
            return "0".repeat(64);
        },
        getblock: (params) => ({ asked: params }),
    });
    const node = await startStandIn(t, { login, answer });
    const bridge = await startRecipe(t, "bitcoin-core", {
        "127.0.0.1:8332": node.address,
        "/var/lib/bitcoind/.cookie": cookie,
    });
    const client = await connect(t, bridge);
    const tools = await toolsOf(client);
    assert.equal(Object.keys(tools).length, 6);
    const { inputSchema } = tools["bitcoin.getblock"];
    assert.deepEqual(inputSchema.required, ["blockhash"]);
    assert.equal(inputSchema.properties.verbosity.default, 1);
    assert.equal(await call(client, "bitcoin.getblockcount"), 900_000);
    const blockhash = await call(client, "bitcoin.getblockhash", { height: 1 });
    const block = await call(client, "bitcoin.getblock", { blockhash });
    assert.deepEqual(block, { asked: { blockhash, verbosity: 1 } });
    await callFails(client, "bitcoin.getblockhash", { height: 900_001 }, /out of range/);
    await callFails(client, "bitcoin.getblockhash", { height: "1" }, /height/);
    assert.ok(!node.seen.some(({ method }) => method === "estimatesmartfee"));
});

test("geth: described by the manifest of its page", async (t) => {
    const page = readFileSync(path.join(folder, "geth.md"), "utf8");
    const manifest = path.join(makeFolder("geth"), "geth.json");
    writeFileSync(manifest, /^```json\n([\s\S]*?)^```$/m.exec(page)[1]);
    const answer = answerFrom({
        eth_blockNumber: (params) => {
            assert.equal(params, undefined);
            return "0x10";
        },
        eth_getBalance: (params) => JSON.stringify(params),
        eth_getBlockByNumber: (params) => ({ asked: params }),
        eth_call: () => {
            throw { code: 3, message: "execution reverted", data: "0x08c379a0" };
        },
    });
    const node = await startStandIn(t, { answer });
    const bridge = await startRecipe(t, "geth", {
        "127.0.0.1:8545": node.address,
        "/etc/causeway/geth.json": manifest,
    });
    const client = await connect(t, bridge);
    assert.equal(Object.keys(await toolsOf(client)).length, 5);
    assert.equal(await call(client, "eth_blockNumber"), "0x10");
    const address = `0x${"a".repeat(40)}`;
    const balance = await call(client, "eth_getBalance", { address });
    assert.deepEqual(balance, [address, "latest"]);
    const { asked } = await call(client, "eth_getBlockByNumber", { block: "0x1" });
    assert.deepEqual(asked, ["0x1", false]);
    await callFails(client, "eth_call", { call: { to: address } }, /execution reverted/);
    await callFails(client, "eth_getBalance", { address: "me" }, /address/);
});

test("kodi: described by its introspection", async (t) => {
    const method = (description, permission, params, returns) => ({
        description,
        permission,
        params,
        returns,
        type: "method",
    });
    const library = [{ name: "limits", $ref: "List.Limits" }];
    const introspection = {
        id: "http://xbmc.org/jsonrpc/ServiceDescription.json",
        version: "13.1.0",
        types: {
            "Player.Id": { id: "Player.Id", type: "integer", minimum: 0, maximum: 2, default: -1 },
            "List.Limits": {
                id: "List.Limits",
                type: "object",
                additionalProperties: false,
                properties: { start: { type: "integer", minimum: 0 }, end: { type: "integer" } },
            },
        },
        methods: {
            "Player.GetActivePlayers": method("Returns all active players", "ReadData", [], {
                type: "array",
                items: { type: "object", properties: { playerid: { $ref: "Player.Id", required: true } } },
            }),
            "Player.GetItem": method(
                "Retrieves the currently played item",
                "ReadData",
                [{ name: "playerid", required: true, $ref: "Player.Id" }],
                { type: "object", properties: { item: { type: "object", required: true } } },
            ),
            "Player.PlayPause": method(
                "Pauses or unpauses playback",
                "ControlPlayback",
                [
                    { name: "playerid", required: true, $ref: "Player.Id" },
                    {
                        name: "play",
                        default: "toggle",
                        type: [{ type: "boolean" }, { enums: ["toggle"], type: "string" }],
                    },
                ],
                { type: "object" },
            ),
            "VideoLibrary.GetMovies": method("Retrieve all movies", "ReadData", library, { type: "object" }),
            "AudioLibrary.GetAlbums": method("Retrieve all albums", "ReadData", library, { type: "object" }),
            "Application.SetVolume": method(
                "Set the current volume",
                "ControlPlayback",
                [{ name: "volume", required: true, type: [{ type: "integer", minimum: 0 }, { type: "string" }] }],
                { type: "integer" },
            ),
            "System.Shutdown": method("Shuts the system down", "ControlPower", [], { type: "string" }),
        },
    };
    const answer = answerFrom({
        "JSONRPC.Introspect": () => introspection,
        "Player.GetActivePlayers": () => [{ playerid: 1 }],
        "Player.GetItem": ({ playerid }) => {
            if (playerid !== 1) {
                throw { code: -32602, message: "Invalid params.", data: { method: "Player.GetItem" } };
            }
            return { item: { label: "A film" } };
        },
        "Player.PlayPause": (params) => params,
        "Application.SetVolume": ({ volume }) => volume,
    });
    const kodi = await startStandIn(t, { login: "kodi:secret", answer });
    const bridge = await startRecipe(
        t,
        "kodi",
        { "127.0.0.1:8080": kodi.address },
        { env: { KODI_LOGIN: "kodi:secret" } },
    );
    const client = await connect(t, bridge);
    const tools = await toolsOf(client);
    assert.equal(Object.keys(tools).length, 6);
    assert.equal(tools["kodi.Player.GetItem"].annotations.readOnlyHint, true);
    assert.deepEqual(await call(client, "kodi.Player.GetItem", { playerid: 1 }), { label: "A film" });
    assert.deepEqual(await call(client, "kodi.Player.PlayPause", { playerid: 1, play: true }), {
        playerid: 1,
        play: true,
    });
    assert.equal(await call(client, "kodi.Application.SetVolume", { volume: 30 }), 30);
    await callFails(client, "kodi.Player.PlayPause", { playerid: 1, play: "never" }, /play/);
    await callFails(client, "kodi.Player.GetItem", { playerid: 7 }, /playerid/);
    await callFails(client, "kodi.Player.GetItem", { playerid: 2 }, /Invalid params/);
});

test("drupal: described by its list of methods", async (t) => {
    const method = (id, attributes) => ({
        type: "JsonRpcMethod",
        id,
        attributes,
        links: { self: `/jsonrpc/methods/${id}` },
    });
    const service = {
        type: "JsonRpcParameterDefinition",
        id: "service",
        attributes: { description: "The service id", required: true },
        schema: { type: "string" },
    };
    const documents = {
        "/jsonrpc/methods": {
            data: [
                method("cache.rebuild", { usage: "Rebuilds the system cache." }),
                method("plugins.list", { usage: "List defined plugins.", params: { service } }),
            ],
        },
    };
    const answer = answerFrom({
        "cache.rebuild": () => true,
        "plugins.list": (params) => {
            if (params.service !== "plugin.manager.block") {
                throw { code: -32602, message: "Invalid Params", data: "There is no such plugin manager." };
            }
            return { data: ["a", "b"] };
        },
    });
    const site = await startStandIn(t, { login: "admin:secret", answer, documents });
    const bridge = await startRecipe(
        t,
        "drupal",
        { "https://www.example.org": `http://${site.address}` },
        { env: { DRUPAL_LOGIN: "admin:secret" } },
    );
    const client = await connect(t, bridge);
    const tools = await toolsOf(client);
    assert.deepEqual(Object.keys(tools).sort(), ["cache.rebuild", "plugins.list"]);
    const block = { service: "plugin.manager.block" };
    assert.deepEqual(await call(client, "plugins.list", block), { data: ["a", "b"] });
    assert.equal(site.seen.at(-1).http, "GET");
    await callFails(client, "plugins.list", { service: "x" }, /no such plugin manager/);
    await callFails(client, "plugins.list", {}, /service/);
    await client.callTool({ name: "cache.rebuild", arguments: {} });
    assert.equal(site.seen.at(-1).http, "POST");
});
