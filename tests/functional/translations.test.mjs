// Titles, usage and descriptions in other languages: who gets which, and what is kept of it.
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { basic, cli, databasePath } from "./support/accounts.mjs";
import { keepFolder } from "./support/kept.mjs";
import { legacy, modern, ownName, permissions } from "./support/mcp.mjs";
import { runCauseway, writeConfig } from "./support/programs.mjs";
import { get, startExamples } from "./support/rest.mjs";
import { eventually } from "./support/server.mjs";
import { examplesPo, gettext, makeTranslations, mo, po, poFile } from "./support/translations.mjs";

const list = "/mcp/tools/list";
const describe = "/mcp/tools/describe?name=examples.articles.list";
const method = "/jsonrpc/methods/examples.articles.list";
const accept = (value) => ({ "Accept-Language": value });
const titles = ({ tools }) => Object.fromEntries(tools.map((tool) => [ownName(tool), tool.title]));
const articles = (body) => titles(body)["examples.articles.list"];
const english = "List Articles";
const german = "Artikel auflisten";
const french = "Lister les articles";

// In the byte order of other machines too.
const examples = () =>
    makeTranslations({
        "de.mo": examplesPo("de"),
        "fr/LC_MESSAGES/examples.mo": mo(examplesPo("fr"), "--endianness=big"),
    });

suite("the example tools in three languages", () => {
    let server, plain;
    before(async () => {
        const config = { debug_headers: true, loops: 1, translations: { directory: examples() } };
        server = await startExamples({ config });
        plain = await startExamples();
    });
    after(() => Promise.all([server?.stop(), plain?.stop()]));

    const answers = async (headers) => {
        const { json, headers: got } = await get(server, list, headers);
        return [articles(json), got["content-language"]];
    };

    test("row-D3: Accept-Language decides, and every document says its language", async () => {
        assert.deepEqual(await answers({}), [english, "en"]);
        assert.deepEqual(await answers(accept("de")), [german, "de"]);
        assert.deepEqual(await answers(accept("de-AT, en;q=0.5")), [german, "de"]);
        assert.deepEqual(await answers(accept("en;q=0.5, fr-CA;q=0.7, de;q=0.6")), [french, "fr"]);
        assert.deepEqual(await answers(accept("xx, *;q=0.1")), [english, "en"]);
        assert.deepEqual(await answers(accept("de;q=0, en;q=0")), [english, "en"]);
        assert.deepEqual(await answers(accept("not a language;;q=x")), [english, "en"]);
        for (const target of [list, describe, "/jsonrpc/methods", method]) {
            const { headers } = await get(server, target, accept("de"));
            assert.equal(headers["content-language"], "de", target);
            assert.match(headers.vary, /Accept-Language/, target);
            assert.match(headers["x-causeway-cache-contexts"], /languages/, target);
        }
    });

    test("fault-B20: what was kept in one language is not sent in another", async () => {
        for (const target of [list, describe, "/jsonrpc/methods", method]) {
            const seen = new Map();
            for (const language of ["en", "de", "fr", "en", "de", "fr"]) {
                const { text, headers } = await get(server, target, accept(language));
                const before = seen.get(language);
                assert.equal(headers["content-language"], language);
                assert.equal(text, before?.text ?? text);
                assert.equal(headers.etag, before?.etag ?? headers.etag);
                assert.ok(!before || headers["x-causeway-cache"] === "HIT", target);
                seen.set(language, { text, etag: headers.etag });
            }
            assert.equal(new Set([...seen.values()].map(({ etag }) => etag)).size, 3, target);
            assert.equal(new Set([...seen.values()].map(({ text }) => text)).size, 3, target);
        }
    });

    test("304 is for the language that is asked for", async () => {
        const { headers } = await get(server, list, accept("de"));
        const ask = (language) => get(server, list, { ...accept(language), "If-None-Match": headers.etag });
        const same = await ask("de");
        assert.equal(same.status, 304);
        assert.equal(same.headers["content-language"], "de");
        const other = await ask("fr");
        assert.equal(other.status, 200);
        assert.equal(articles(other.json), french);
    });

    test("usage and descriptions of parameters are translated, plain strings", async () => {
        const { json } = await get(server, describe, accept("de"));
        const { description, title, inputSchema } = json.tool;
        assert.equal(title, german);
        assert.equal(description, "Listet Artikel auf, auf Wunsch seitenweise");
        const page = inputSchema.properties.page;
        assert.equal(page.description, "Angaben zur Seite (offset und limit)");
        const { attributes } = (await get(server, method, accept("fr"))).json;
        assert.equal(attributes.usage, "Liste les articles, page par page si on le souhaite");
        assert.equal(attributes.params.page.attributes.description, "Indications de page (offset et limit)");
    });

    test("everything else is the same in every language", async () => {
        const bare = (value) =>
            JSON.stringify(value, (key, inner) =>
                ["title", "description"].includes(key) && typeof inner === "string" ? "" : inner,
            );
        const { json } = await get(plain, list);
        for (const language of ["en", "de", "fr"]) {
            assert.equal(bare((await get(server, list, accept(language))).json), bare(json));
        }
        assert.equal((await get(server, list, accept("en"))).text, (await get(plain, list)).text);
    });

    test("without translations nothing is said about languages", async () => {
        const { headers, json } = await get(plain, list, accept("de"));
        assert.equal(headers["content-language"], undefined);
        assert.equal(articles(json), english);
    });

    test("tools/list of both eras is translated", async () => {
        const { json, headers } = await modern(server, "tools/list", {}, { headers: accept("de") });
        assert.equal(articles(json.result), german);
        assert.equal(headers.get("content-language"), "de");
        const again = await modern(server, "tools/list", {}, { headers: accept("fr") });
        assert.equal(articles(again.json.result), french);
        const old = await legacy(server, "tools/list", {}, { headers: accept("de") });
        assert.equal(articles(old.json.result), german);
        const none = await modern(server, "tools/list");
        assert.equal(articles(none.json.result), english);
        const bare = await modern(plain, "tools/list", {}, { headers: accept("de") });
        assert.equal(articles(bare.json.result), english);
        assert.equal(bare.headers.get("content-language"), null);
    });
});

test("the language of the account goes before Accept-Language", async (t) => {
    const translations = { directory: examples(), default: "fr" };
    const roles = { anonymous: permissions, authenticated: permissions };
    const config = { store: { path: databasePath() }, translations };
    const file = writeConfig({ ...config, roles });
    const add = (name, ...words) => cli(file, "account", "add", name, ...words, { input: name });
    await add("dora", "--language", "de-CH");
    await add("nils", "--language", "nl");
    await add("eve");
    const server = await startExamples({ config, roles });
    t.after(() => server.stop());
    const read = async (name, value) => {
        const headers = { ...(name && basic(name, name)), ...(value && accept(value)) };
        const answer = await get(server, list, headers);
        assert.equal(answer.status, 200, answer.text);
        return answer.headers["content-language"];
    };
    assert.equal(await read("dora", "en"), "de");
    assert.equal(await read("dora"), "de");
    assert.equal(await read("eve", "en"), "en");
    assert.equal(await read("eve"), "fr");
    // Nobody has translated to Dutch.
    assert.equal(await read("nils", "de"), "de");
    assert.equal(await read("nils"), "fr");
    assert.equal(await read(undefined, "de"), "de");
    assert.equal(await read(), "fr");
});

test("a text may differ between methods by its context", async (t) => {
    const pairs = [
        ["Lists all available content types", "allgemein"],
        [["examples.contentTypes.list", "Lists all available content types"], "eigens"],
        [["node.create", english], "von einem anderen"],
    ];
    const server = await startExamples({
        config: { translations: { directory: makeTranslations({ "de.mo": po(pairs) }) } },
    });
    t.after(() => server.stop());
    const { json } = await get(server, list, accept("de"));
    const usage = json.tools.find(({ name }) => name === "examples.contentTypes.list").description;
    assert.equal(usage, "eigens");
    assert.equal(articles(json), english);
});

test("a reload reads the files again; a broken one is named, and the old ones stay", async (t) => {
    const folder = makeTranslations({ "de.mo": examplesPo("de") });
    const server = await startExamples({ config: { translations: { directory: folder } } });
    t.after(() => server.stop());
    const title = async () => articles((await get(server, list, accept("de"))).json);
    assert.equal(await title(), german);
    writeFileSync(path.join(folder, "de.mo"), mo(po([[english, "Neu"]])));
    server.child.kill("SIGHUP");
    await eventually(async () => (await title()) === "Neu", "the new title");
    writeFileSync(path.join(folder, "de.mo"), "no .mo file");
    server.child.kill("SIGHUP");
    await eventually(() => /de\.mo': it is no \.mo file/.test(server.stderr), "a line in the log");
    assert.equal(await title(), "Neu");
    rmSync(path.join(folder, "de.mo"));
    server.child.kill("SIGHUP");
    await eventually(async () => (await title()) === english, "the original");
});

test("a server with files that are not right does not start, and says which", async () => {
    const bad = mo(examplesPo("de"));
    bad.writeUInt32LE(0xfffffff0, 8);
    const cases = [
        [{ "de.mo": bad }, {}, /de\.mo': a table reaches behind the end of the file/],
        [{ "deutsch.mo": examplesPo("de") }, {}, /'deutsch\.mo': its name is no language/],
        [{ "de.mo": examplesPo("de") }, { default: "fr" }, /there is no language 'fr'/],
        [{ "de.mo": examplesPo("de") }, { max_size: 1024 }, /de\.mo': with it the files have more than 1024/],
        [{}, { directory: "/nonexistent" }, /'\/nonexistent': No such file/],
    ];
    for (const [files, more, expected] of cases) {
        const translations = { directory: makeTranslations(files), ...more };
        const file = writeConfig({ listen: "127.0.0.1:0", translations });
        const { code, stderr } = await runCauseway(["serve", "--config", file]);
        assert.equal(code, 1, stderr);
        assert.match(stderr, expected);
    }
});

suite("causeway translations extract", () => {
    let server, template;
    before(async () => {
        server = await startExamples();
        template = await cli(server.config, "translations", "extract");
    });
    after(() => server?.stop());

    test("prints what gettext's tools take, and our translations are complete", () => {
        assert.match(template, /#\. examples\.articles\.list: title\nmsgid "List Articles"\nmsgstr ""\n/);
        const folder = path.join(keepFolder(), "pot");
        mkdirSync(folder, { recursive: true });
        const pot = path.join(folder, "examples.pot");
        writeFileSync(pot, template);
        const n = template.match(/^msgid "./gm).length;
        for (const language of ["de", "fr"]) {
            const merged = gettext("msgmerge", ["--quiet", "--no-fuzzy-matching", poFile(language), pot]);
            const empty = gettext("msgattrib", ["--untranslated", "--no-obsolete", "-"], merged);
            const stale = gettext("msgattrib", ["--only-obsolete", "-"], merged);
            assert.equal(`${empty}${stale}`, "", language);
            const done = gettext("msgattrib", ["--translated", "-"], merged).toString();
            assert.equal(done.match(/^msgid "./gm).length, n);
        }
    });

    test("writes a text that two methods have once, or once for each with its context", async () => {
        const methods = ["a.one", "b.two"].map((name) => ({
            name,
            summary: 'Says "hi"\nand\tbye \\',
            params: [],
            result: { name: "r", schema: {} },
        }));
        const openrpc = path.join(keepFolder(), "twice.json");
        const info = { title: "twice", version: "1" };
        writeFileSync(openrpc, JSON.stringify({ openrpc: "1.3.2", info, methods }));
        const names = methods.map(({ name }) => name);
        const source = { name: "twice", url: "http://127.0.0.1:9/", openrpc, methods: names };
        const file = writeConfig({ sources: [source] });
        const once = await cli(file, "translations", "extract");
        const text = 'msgid ""\n"Says \\"hi\\"\\n"\n"and\\tbye \\\\"\n';
        assert.ok(once.includes(`#. a.one: usage\n#. b.two: usage\n${text}msgstr ""\n`), once);
        const each = await cli(file, "translations", "extract", "--contexts");
        for (const name of names) {
            assert.ok(each.includes(`#. ${name}: usage\nmsgctxt "${name}"\n${text}`), each);
        }
        // Both are taken by msgfmt.
        assert.ok(mo(once).length > 0 && mo(each).length > 0);
    });
});
