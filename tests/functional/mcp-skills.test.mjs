// Skills of plugins and services for MCP clients: lists, manifests, directories, files byte by byte,
// who sees them, reloads, and clients that we did not write.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { keepFolder } from "./support/kept.mjs";
import {
    assertRpcError,
    EventStream,
    initialize,
    legacy,
    metaKey,
    modern,
    startBridge,
    untilTool,
} from "./support/mcp.mjs";
import { patience, root } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";
import { startService, writeOpenRpc } from "./support/service.mjs";

const extension = metaKey("skills");
const front = (name, more = "") => `---\nname: ${name}\ndescription: About ${name}\n${more}---\n\n# ${name}\r\n`;
const sha256 = (bytes) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

// Write the files of a skill: { "path": text or bytes }.
function writeSkill(folder, name, files = {}) {
    for (const [file, bytes] of Object.entries({ "SKILL.md": front(name), ...files })) {
        const to = path.join(folder, name, file);
        mkdirSync(path.dirname(to), { recursive: true });
        writeFileSync(to, bytes);
    }
}

async function skillsOf(server) {
    const { json } = await modern(server, "skills/list");
    return json.result.skills;
}

async function read(server, uri) {
    const { json } = await modern(server, "resources/read", { uri });
    const [content] = json.result?.contents ?? [];
    if (!content) return json;
    const bytes = content.blob === undefined ? Buffer.from(content.text) : Buffer.from(content.blob, "base64");
    return { ...content, bytes };
}

const binary = Buffer.from(Array.from({ length: 1000 }, (_, i) => (i * 37) % 256));

suite("skills of a plugin", () => {
    let server;
    let folder;
    before(async () => {
        server = await startBridge({ config: { mcp: { page_size: 2 } } });
        folder = path.join(server.plugins, "echo.skills");
        const more = 'license: MIT\nmetadata:\n  version: "1.0"\n  owner: ~\n';
        // Written elsewhere and renamed: the server never sees a part of it.
        const whole = path.join(keepFolder(), "whole-skills");
        writeSkill(whole, "refunds", {
            "SKILL.md": front("refunds", more),
            "templates/mail.md": "Dear\u0000 \u{1F600}\r\n",
            "templates/deep/a b.bin": binary,
            "scripts/run.sh": "#!/bin/sh\n",
        });
        renameSync(whole, folder);
        await eventually(async () => (await skillsOf(server)).length === 1, "the skill", 10_000);
    });
    after(() => server.stop());

    test("are declared, with the capability for resources", async () => {
        const { json } = await modern(server, "server/discover");
        assert.deepEqual(json.result.capabilities.extensions[extension], { directoryRead: true });
        assert.ok(json.result.capabilities.resources);
        assert.match(json.result.instructions, /- skill:\/\/echo\/refunds\/SKILL\.md: About refunds/);
    });

    test("are listed with their frontmatter and all files", async () => {
        const [skill] = await skillsOf(server);
        assert.equal(skill.uri, "skill://echo/refunds/SKILL.md");
        const metadata = { version: "1.0", owner: null };
        const description = "About refunds";
        assert.deepEqual(skill.frontmatter, { name: "refunds", description, license: "MIT", metadata });
        const names = skill.resources.map(({ uri }) => uri.slice("skill://echo/refunds/".length));
        assert.deepEqual(names, ["SKILL.md", "scripts/run.sh", "templates/deep/a%20b.bin", "templates/mail.md"]);
        const { json } = await modern(server, "skills/get", { uri: skill.uri });
        assert.deepEqual(json.result.skill, skill);
        assert.equal(json.result.nextCursor, undefined);
    });

    test("have files that are read byte by byte", async () => {
        const [skill] = await skillsOf(server);
        for (const { uri, digest, size } of skill.resources) {
            const { bytes } = await read(server, uri);
            assert.equal(bytes.length, size);
            assert.equal(sha256(bytes), digest);
        }
        const own = await read(server, skill.uri);
        assert.equal(own.mimeType, "text/markdown");
        const blob = await read(server, "skill://echo/refunds/templates/deep/a%20b.bin");
        assert.equal(blob.mimeType, "application/octet-stream");
        assert.ok(blob.bytes.equals(binary));
    });

    test("have directories", async () => {
        const list = async (uri) => (await modern(server, "resources/directory/read", { uri })).json.result.resources;
        const names = (await list("skill://echo/refunds")).map(({ name, mimeType }) => `${name} ${mimeType}`);
        assert.deepEqual(names, ["refunds text/markdown", "scripts inode/directory", "templates inode/directory"]);
        const below = await list("skill://echo/refunds/templates");
        assert.deepEqual(
            below.map(({ uri }) => uri),
            ["skill://echo/refunds/templates/deep", "skill://echo/refunds/templates/mail.md"],
        );
    });

    test("answer what does not exist with -32602", async () => {
        const unknown = async (method, uri) => assertRpcError(await modern(server, method, { uri }), 200, -32602, 1);
        for (const uri of [
            "skill://echo/none/SKILL.md",
            "skill://echo/refunds",
            "skill://echo/refunds/templates/mail.md",
            "skill://echo/refunds/../refunds/SKILL.md",
            "skill://other/refunds/SKILL.md",
            "skill://",
        ]) {
            await unknown("skills/get", uri);
        }
        await unknown("resources/directory/read", "skill://echo/refunds/SKILL.md");
        await unknown("resources/directory/read", "skill://echo/refunds/");
        await unknown("resources/directory/read", "skill://echo");
        await unknown("resources/read", "skill://echo/refunds/templates");
        await unknown("resources/read", "skill://echo/refunds/templates/../SKILL.md");
        await unknown("skills/get", 7);
        assertRpcError(await modern(server, "skills/list", { cursor: "x" }), 200, -32602, 1);
    });

    test("are read again when their directory changes, and clients are told", async (t) => {
        const wanted = { notifications: { resourcesListChanged: true } };
        const stream = await EventStream.open(server, "subscriptions/listen", wanted);
        t.after(() => stream.close());
        writeSkill(folder, "added", { "x.txt": "1" });
        const isThere = async () => (await skillsOf(server))[0].resources.length === 2;
        await eventually(isThere, "another skill with both files", 10_000);
        const told = () => stream.events.some(({ json }) => json.method === "notifications/resources/list_changed");
        await eventually(told, "news", 10_000);
        const before = (await skillsOf(server))[0];
        writeSkill(folder, "added", { "x.txt": "2" });
        const changed = async () => (await skillsOf(server))[0].resources[1].digest !== before.resources[1].digest;
        await eventually(changed, "another digest", 10_000);
        rmSync(path.join(folder, "added"), { recursive: true });
        await eventually(async () => (await skillsOf(server)).length === 1, "one skill", 10_000);
    });

    test("with a problem are left out, and the log has the reason", async () => {
        writeSkill(folder, "wrong", { "SKILL.md": front("another") });
        writeSkill(folder, "linked");
        symlinkSync("/etc/passwd", path.join(folder, "linked", "passwd"));
        await server.until(() => /skill="linked" problem="'passwd' is a symbolic link"/.test(server.stderr));
        await server.until(() => /skill="wrong" problem="its name in SKILL.md is 'another'"/.test(server.stderr));
        assert.equal((await skillsOf(server)).length, 1);
        rmSync(path.join(folder, "linked"), { recursive: true });
        rmSync(path.join(folder, "wrong"), { recursive: true });
    });

    test("come in pages, and their instructions behind the other resources", async () => {
        for (const name of ["b1", "b2", "b3"]) writeSkill(folder, name);
        const uris = (name) => `skill://echo/${name}/SKILL.md`;
        const all = ["b1", "b2", "b3", "refunds"].map(uris);
        const pages = async (method, member) => {
            const found = [];
            let cursor;
            do {
                const { json } = await modern(server, method, cursor ? { cursor } : {});
                assert.ok(json.result[member].length <= 2);
                found.push(...json.result[member].map(({ uri }) => uri));
                cursor = json.result.nextCursor;
            } while (cursor);
            return found;
        };
        await eventually(async () => (await pages("skills/list", "skills")).length === 4, "four skills", 10_000);
        assert.deepEqual(await pages("skills/list", "skills"), all);
        assert.deepEqual(await pages("resources/list", "resources"), all);
        for (const name of ["b1", "b2", "b3"]) rmSync(path.join(folder, name), { recursive: true });
        await eventually(async () => (await skillsOf(server)).length === 1, "one skill", 10_000);
    });

    test("are ordinary resources for a legacy client", async () => {
        const hello = await initialize(server, "2025-11-25");
        assert.ok(hello.json.result.capabilities.resources);
        assert.equal(hello.json.result.capabilities.extensions, undefined);
        const old = { version: "2025-11-25", headers: { "Mcp-Session-Id": hello.headers.get("mcp-session-id") } };
        const { json } = await legacy(server, "resources/list", {}, old);
        assert.ok(json.result.resources.some(({ uri }) => uri === "skill://echo/refunds/SKILL.md"));
        const params = { uri: "skill://echo/refunds/SKILL.md" };
        const content = (await legacy(server, "resources/read", params, old)).json.result.contents[0];
        assert.equal(content.mimeType, "text/markdown");
        assertRpcError(await legacy(server, "skills/list", {}, old), 200, -32601, 1);
    });

    test("pass the verification of the Inspector 2.12.0", async () => {
        const launcher = path.join(
            root,
            "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
        );
        const args = ["--cli", `${server.url}/mcp`, "--transport", "http", "--protocol-era", "modern"];
        const all = [launcher, ...args, "--method", "skills/list", "--verify", "--format", "json"];
        const { code, stdout, stderr } = await new Promise((resolve) =>
            execFile(process.execPath, all, { timeout: patience(60_000) }, (error, stdout, stderr) =>
                resolve({ code: error ? error.code : 0, stdout, stderr }),
            ),
        );
        assert.equal(code, 0, stdout + stderr);
        assert.match(stdout, /refunds/);
    });
});

test("skills of a service are seen by those who see one of its tools", async (t) => {
    const service = await startService();
    t.after(() => service.stop());
    const folder = path.join(keepFolder(), "service-skills");
    writeSkill(folder, "usage");
    const methods = [{ name: "echo", summary: "Echo", params: [] }];
    const openrpc = writeOpenRpc({ openrpc: "1.3.2", info: { title: "x", version: "1" }, methods });
    const source = { name: "svc", url: service.url, openrpc, skills: folder };
    const guarded = [{ method: "echo", permissions: ["see it"] }];
    const open = await startBridge({ plugins: [], config: { sources: [{ ...source, methods: ["echo"] }] } });
    t.after(() => open.stop());
    await untilTool(open, "echo");
    await eventually(async () => (await skillsOf(open)).length === 1, "the skill", 10_000);
    assert.equal((await skillsOf(open))[0].uri, "skill://svc/usage/SKILL.md");
    const closed = await startBridge({ config: { sources: [{ ...source, methods: guarded }] } });
    t.after(() => closed.stop());
    await closed.until(() => /skills read source="svc"/.test(closed.stderr));
    await closed.until(() => /catalogue published .*sources=2/.test(closed.stderr));
    assert.deepEqual(await skillsOf(closed), []);
    const { json } = await modern(closed, "server/discover");
    assert.equal(json.result.capabilities.extensions[extension], undefined);
    const same = async (method, a, b) => {
        const [x, y] = [await modern(closed, method, { uri: a }), await modern(closed, method, { uri: b })];
        assert.equal(x.text.replaceAll(a, ""), y.text.replaceAll(b, ""));
    };
    await same("skills/get", "skill://svc/usage/SKILL.md", "skill://svc/other/SKILL.md");
    await same("resources/read", "skill://svc/usage/SKILL.md", "skill://svc/other/SKILL.md");
    await same("resources/directory/read", "skill://svc/usage", "skill://svc/other");
});
