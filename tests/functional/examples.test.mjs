// The example plugin: lists, pages, Markdown, what it changes, and what it says when something is
// not there.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { rpc, untilTool } from "./support/mcp.mjs";
import { host, newFolder, permissions } from "./support/plugins.mjs";
import { buildFolder, root, startCauseway, writeConfig } from "./support/programs.mjs";

const content = readFileSync(path.join(root, "plugins", "examples", "content.sql"), "utf8");
const quoted = (text) => `'${text.replaceAll("'", "''")}'`;

// A copy of the plugin with content of its own: `more` is SQL that comes behind content.sql.
function examplesWith(more = "") {
    const folder = newFolder("examples");
    copyFileSync(path.join(buildFolder, "plugins", "examples.so"), path.join(folder, "examples.so"));
    execFileSync("sqlite3", ["-bail", path.join(folder, "examples.db")], { input: content + more });
    return folder;
}

// Run one method the way an author would.
function call(folder, method, params) {
    const args = ["--call", method, path.join(folder, "examples.so")];
    try {
        const text = execFileSync(host, [...args, JSON.stringify(params ?? {})], {
            encoding: "utf8",
            stdio: ["ignore", "pipe", "ignore"],
        });
        return { result: JSON.parse(text) };
    } catch (error) {
        return { error: JSON.parse(error.stdout) };
    }
}

const query = (folder, sql) =>
    execFileSync("sqlite3", ["-bail", path.join(folder, "examples.db"), sql], { encoding: "utf8" });

const list = (folder, params) => call(folder, "examples.articles.list", params).result?.map(({ nid }) => nid);

test("check-91, check-92: content types with id and label", () => {
    const { result } = call(examplesWith(), "examples.contentTypes.list");
    assert.deepEqual(result, [
        { id: "article", label: "Article" },
        { id: "blog", label: "Blog post" },
        { id: "page", label: "Basic page" },
    ]);
});

test("check-93 to check-97: published articles, newest first, in pages", () => {
    const folder = examplesWith();
    assert.deepEqual(list(folder), [8, 6, 3, 2, 1]);
    assert.deepEqual(list(folder, { page: { offset: 0, limit: 3 } }), [8, 6, 3]);
    assert.deepEqual(list(folder, { page: { offset: 3, limit: 3 } }), [2, 1]);
    assert.deepEqual(list(folder, { page: { limit: 2 } }), [8, 6]);
    assert.deepEqual(list(folder, { page: { offset: 4 } }), [1]);
    assert.deepEqual(list(folder, { page: {} }), [8, 6, 3, 2, 1]);
    assert.deepEqual(list(folder, { page: { limit: 0 } }), []);
    assert.deepEqual(list(folder, { page: { offset: 99 } }), []);
    const { result } = call(folder, "examples.articles.list", { page: { limit: 1 } });
    assert.deepEqual(result, [{ nid: 8, title: "Who keeps the road", created: 1780221600 }]);
    assert.deepEqual(list(examplesWith("DELETE FROM nodes WHERE type = 'article';")), []);
});

test("pages that make no sense are refused with the member", () => {
    const folder = examplesWith();
    for (const [page, data] of [
        [{ limit: -1 }, /^\/page\/limit: /],
        [{ offset: -5 }, /^\/page\/offset: /],
        [{ limit: "three" }, /^\/page\/limit: expected integer, got string$/],
        [{ limit: 1.5 }, /^\/page\/limit: /],
    ]) {
        const { error } = call(folder, "examples.articles.list", { page });
        assert.equal(error.code, -32602);
        assert.match(error.data, data);
    }
});

test("missing, unpublished and of another type: one text, nobody learns which", () => {
    const folder = examplesWith();
    for (const nid of [4, 5, 7, 999]) {
        const { error } = call(folder, "examples.article.toMarkdown", { nid });
        assert.deepEqual(error, {
            code: -32602,
            message: "Invalid params",
            data: `Node ${nid} not found or not an article`,
        });
    }
    for (const [nid, data] of [
        [0, "/nid: expected a number of at least 1, got 0"],
        [-1, "/nid: expected a number of at least 1, got -1"],
        ["1", "/nid: expected integer, got string"],
    ]) {
        const { error } = call(folder, "examples.article.toMarkdown", { nid });
        assert.deepEqual(error, { code: -32602, message: "Invalid params", data });
    }
});

// HTML of a body, and the Markdown behind the title.
const conversions = [
    // check-98
    ["<p>First paragraph.</p><p>Second paragraph.</p>", "First paragraph.\n\nSecond paragraph."],
    ["<p>With <strong>bold</strong> and <em>italic</em>.</p>", "With **bold** and *italic*."],
    ["", ""],
    ["No paragraph tags.", "No paragraph tags."],
    ["<div><p>Nested <span>in <b>tags</b></span></p></div>", "Nested in **tags**"],
    ["<p>One</p>\n<p>Two</p>   <p>Three</p>", "One\n\nTwo\n\nThree"],
    [`<p class="a">One</p><p style='x>y' id=z>Two</p>`, "One\n\nTwo"],
    // fault-B24: what the original got wrong
    ["<P>One</P><P>Two</P>", "One\n\nTwo"],
    ["<p>1 &lt; 2 &amp; 3&nbsp;&#x41;&#66;</p>", "1 \\< 2 & 3 AB"],
    ["<script>alert(1)</script><style>p{}</style><!-- no -->x", "x"],
    ["<ul><li>a</li><li>b</li></ul>", "- a\n- b"],
    // and the rest
    ["<h1>A</h1><h3>B</h3>c", "# A\n\n### B\n\nc"],
    ["<ol><li>x<ul><li>y</li></ul></li><li>z</li></ol>end", "1. x\n   - y\n2. z\n\nend"],
    ["<ol><li>x<li>y</ol>", "1. x\n2. y"],
    ["<ul><li><p>one</p><p>more</p></li></ul>", "- one\n\n  more"],
    ["<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n>\n> b\n\nc"],
    [`<a href="/x?a=1&amp;b=2">link</a> <a>none</a>`, "[link](/x?a=1&b=2) none"],
    ["<img src=i.png alt='a b'>", "![a b](i.png)"],
    ["x <code>a&lt;b</code> <code>`</code>", "x `a<b` `` ` ``"],
    ["<pre><code>if (x)\n\n  y();\n</code></pre>z", "```\nif (x)\n\n  y();\n```\n\nz"],
    ["<pre>```</pre>", "````\n```\n````"],
    ["a<br>b<br/>c<hr>d", "a\\\nb\\\nc\n\n---\n\nd"],
    ["<b></b><i> spaced </i>next", "*spaced* next"],
    ["<b>a <i>b</b> c</i>", "**a *b*** *c*"],
    ["<b>x<p>y</p></b>z", "**x**\n\n**y**\n\nz"],
    ["# not *a* heading_1", "\\# not \\*a\\* heading\\_1"],
    ["- no list", "\\- no list"],
    ["1 < 2 <3", "1 \\< 2 \\<3"],
    ["a<b", "a"],
    ["</p></ul></b>x", "x"],
    ["<blockquote>".repeat(100) + "deep", `${"> ".repeat(32)}deep`],
];

test("check-98: HTML becomes Markdown", () => {
    const rows = conversions.map(([html], i) => `(${100 + i}, 'article', 'T', 1, 0, ${quoted(html)})`);
    const folder = examplesWith(`INSERT INTO nodes VALUES ${rows.join(",")};`);
    conversions.forEach(([html, markdown], i) => {
        const { result } = call(folder, "examples.article.toMarkdown", { nid: 100 + i });
        assert.equal(result, `# T\n\n${markdown}`, html);
    });
});

// ---- where the content is ----

const bare = (more) => {
    const folder = examplesWith();
    rmSync(path.join(folder, "examples.db"));
    return more ? [folder, newFolder(more)] : folder;
};

async function start(plugins, anonymous = permissions) {
    const config = writeConfig({ plugins, roles: { anonymous } });
    const server = await startCauseway({ args: ["--config", config] });
    await untilTool(server, "examples.articles.list");
    return server;
}

test("content that is missing is made, once, whoever asks for it first", async () => {
    const [folder, data] = bare("data");
    const server = await start({ directory: folder, data, workers: 8 });
    const ask = () => rpc(server, { id: 1, method: "examples.articles.list" });
    const answers = await Promise.all(Array.from({ length: 40 }, ask));
    for (const { json } of answers) {
        assert.deepEqual(
            json.result?.map(({ nid }) => nid),
            [8, 6, 3, 2, 1],
            JSON.stringify(json),
        );
    }
    await server.stop();
    assert.deepEqual(readdirSync(folder), ["examples.so"]);
    assert.deepEqual(readdirSync(data), ["examples.db"]);
});

test("content that is damaged is an error of the call and heals by itself", async () => {
    const folder = examplesWith();
    const file = path.join(folder, "examples.db");
    writeFileSync(file, "no database ".repeat(1000));
    const server = await start({ directory: folder });
    const ask = () => rpc(server, { id: 1, method: "examples.articles.list" });
    const { json } = await ask();
    assert.equal(json.error.code, -32603);
    assert.equal(json.error.data, "The content cannot be used");
    await server.untilLogged(/examples\.db/);
    assert.equal(readFileSync(file, "utf8").slice(0, 11), "no database");
    rmSync(file);
    assert.equal((await ask()).json.result.length, 5);
    await server.stop();
});

test("content that another process has locked for long is an error of the call", () => {
    const folder = examplesWith();
    const file = path.join(folder, "examples.db");
    const script = path.join(folder, "create.sh");
    const params = `'{"title":"x","type":"page"}'`;
    writeFileSync(script, `${host} --call node.create ${folder}/examples.so ${params}\n`);
    const input = `BEGIN EXCLUSIVE;\n.shell sh ${script}\n`;
    const stdio = ["pipe", "pipe", "ignore"];
    const printed = execFileSync("sqlite3", [file], { input, stdio, encoding: "utf8" });
    assert.match(printed, /"The content cannot be used"/);
    assert.equal(query(folder, "SELECT count(*) FROM nodes"), "8\n");
    assert.deepEqual(create(folder, "x", "page"), { result: 9 });
});

// ---- node.create ----

const create = (folder, title, type) => call(folder, "node.create", { title, type });

test("a node that is created is there, published as its type says", () => {
    const folder = examplesWith();
    assert.deepEqual(create(folder, "A new road", "article"), { result: 9 });
    assert.deepEqual(create(folder, "A new *page*", "page"), { result: 10 });
    assert.deepEqual(create(folder, "A new diary", "blog"), { result: 11 });
    const { result } = call(folder, "examples.articles.list", { page: { limit: 1 } });
    assert.equal(result[0].nid, 9);
    assert.equal(result[0].title, "A new road");
    assert.ok(Math.abs(result[0].created - Date.now() / 1000) < 60);
    const markdown = call(folder, "examples.article.toMarkdown", { nid: 9 });
    assert.deepEqual(markdown, { result: "# A new road\n\n" });
    const rows = query(folder, "SELECT nid, type, published, title FROM nodes WHERE nid > 8");
    assert.equal(rows, "9|article|1|A new road\n10|page|1|A new *page*\n11|blog|0|A new diary\n");
});

test("a draft is nobody's to read", () => {
    const folder = examplesWith("UPDATE content_types SET publish = 0 WHERE id = 'article';");
    assert.deepEqual(create(folder, "Not yet", "article"), { result: 9 });
    assert.deepEqual(list(folder), [8, 6, 3, 2, 1]);
    const { error } = call(folder, "examples.article.toMarkdown", { nid: 9 });
    assert.equal(error.data, "Node 9 not found or not an article");
});

test("a node that makes no sense is refused with the member, and nothing is written", () => {
    const folder = examplesWith();
    for (const [title, type, data] of [
        ["", "page", "/title: a title cannot be blank"],
        ["   ", "page", "/title: a title cannot be blank"],
        ["a\nb", "page", "/title: a title is one line without control characters"],
        ["x".repeat(256), "page", "/title: a title has at most 255 characters"],
        ["x", "story", "/type: there is no content type 'story'"],
        ["x", "", "/type: there is no content type ''"],
        ["x", "PAGE", "/type: there is no content type 'PAGE'"],
        ["x", "page' OR 1 --", "/type: there is no content type 'page' OR 1 --'"],
        [7, "page", "/title: expected string, got integer"],
    ]) {
        const { error } = create(folder, title, type);
        assert.deepEqual(error, { code: -32602, message: "Invalid params", data });
    }
    assert.equal(create(folder, "a\u0000b", "page").error.code, -32602);
    const { error } = call(folder, "node.create", { title: "x" });
    assert.equal(error.code, -32602);
    assert.equal(query(folder, "SELECT count(*) FROM nodes"), "8\n");
    assert.deepEqual(create(folder, "é".repeat(255), "page"), { result: 9 });
});

test("nodes that are created at the same time are all there, each with a number of its own", async () => {
    const folder = examplesWith();
    const server = await start({ directory: folder, workers: 8 }, [...permissions, "create content"]);
    const params = (i) => ({ title: `Node ${i}`, type: "article" });
    // On a busy disk, some may wait too long for the lock of the database, and write nothing then.
    const one = async (_, i) => {
        for (let tries = 1; ; tries += 1) {
            const answer = await rpc(server, { id: i + 1, method: "node.create", params: params(i) });
            if (answer.json.result !== undefined || tries === 5) {
                return answer;
            }
        }
    };
    const answers = await Promise.all(Array.from({ length: 60 }, one));
    const numbers = answers.map(({ json }) => json.result);
    assert.equal(new Set(numbers).size, 60, JSON.stringify(answers.map(({ json }) => json)));
    assert.ok(numbers.every(Number.isInteger));
    assert.equal((await rpc(server, { id: 1, method: "examples.articles.list" })).json.result.length, 65);
    await server.stop();
});

// ---- cache.rebuild ----

test("cache.rebuild keeps the published articles as Markdown, and a change drops what is kept", () => {
    const folder = examplesWith();
    const kept = () => query(folder, "SELECT group_concat(nid) FROM markdown_cache ORDER BY nid").trim();
    const markdown = (nid) => call(folder, "examples.article.toMarkdown", { nid }).result;
    const before = [1, 2, 3, 6, 8].map(markdown);
    assert.equal(kept(), "");
    assert.deepEqual(call(folder, "cache.rebuild"), { result: true });
    assert.equal(kept(), "1,2,3,6,8");
    assert.deepEqual([1, 2, 3, 6, 8].map(markdown), before);
    query(folder, "UPDATE markdown_cache SET markdown = 'stale' WHERE nid = 1");
    assert.equal(markdown(1), "stale");
    query(folder, "UPDATE nodes SET title = 'New' WHERE nid = 2; DELETE FROM nodes WHERE nid = 3");
    assert.equal(kept(), "1,6,8");
    assert.match(markdown(2), /^# New\n/);
    query(folder, "INSERT INTO markdown_cache VALUES (4, 'secret')");
    assert.equal(call(folder, "examples.article.toMarkdown", { nid: 4 }).error.code, -32602);
    assert.deepEqual(call(folder, "cache.rebuild"), { result: true });
    assert.equal(kept(), "1,2,6,8");
    assert.equal(markdown(1), before[0]);
});

test("anonymous sees the scoped tool and is challenged on calling it", async () => {
    const config = writeConfig({
        plugins: { directory: path.join(buildFolder, "plugins") },
        roles: { anonymous: permissions },
    });
    const server = await startCauseway({ args: ["--config", config] });
    await untilTool(server, "examples.articles.list");
    const answer = await rpc(server, { id: 1, method: "examples.contentTypes.list" });
    assert.equal(answer.status, 401);
    assert.deepEqual(answer.json.error.data.missing_scopes, ["tutorial:read", "tutorial:search"]);
    await server.stop();
});
