// make install and make uninstall: the scripts that they run, on a folder of their own, and an installation that is
// moved to another place.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { keepFolder } from "./support/kept.mjs";
import { untilSources } from "./support/mcp.mjs";
import { buildFolder, root, startProgram } from "./support/programs.mjs";

const run = promisify(execFile);

// A project with the scripts, and the log of an installation into its folder `to`.
function makeProject(name) {
    const project = path.join(keepFolder(), name);
    const to = path.join(project, "to");
    mkdirSync(path.join(project, "build/release/meson-logs"), { recursive: true });
    mkdirSync(path.join(to, "lib/causeway"), { recursive: true });
    mkdirSync(path.join(to, "bin"));
    cpSync(path.join(root, "scripts"), path.join(project, "scripts"), { recursive: true });
    mkdirSync(path.join(to, "share/man/man1"), { recursive: true });
    const completion = path.join(to, "share/causeway");
    const files = [completion, path.join(to, "bin/causeway"), path.join(to, "lib/causeway/examples.so")];
    const pages = ["causeway.1", "causeway-serve.1"].map((page) => path.join(to, "share/man/man1", page));
    for (const file of [...files, ...pages]) writeFileSync(file, "");
    const log = [...files, ...pages, path.join(to, "lib/causeway"), path.join(to, "lib"), path.join(to, "bin"), to];
    writeFileSync(path.join(project, "build/release/meson-logs/install-log.txt"), `# a comment\n${log.join("\n")}\n`);
    return { project, to, files, script: (file) => run(path.join(project, "scripts", file)) };
}

test("the summary names the files and what to do next", async () => {
    const { files, script } = makeProject("summary");
    const { stdout } = await script("install-summary.sh");
    for (const file of files) assert.ok(stdout.includes(`  ${file}\n`), stdout);
    assert.match(stdout, /to\/share\/man\/man1 \(manual pages: 2\)\n/);
    assert.match(stdout, /bin\/causeway init .*\n.*causeway serve .*\n.*make uninstall/);
});

test("manual pages and completions are installed in their folders", async () => {
    const { stdout } = await run("meson", ["introspect", "--installed", buildFolder]);
    const places = Object.values(JSON.parse(stdout)).map((place) => place.split("/share/")[1]);
    for (const place of [
        "man/man1/causeway.1",
        "man/man1/causeway-serve.1",
        "man/man1/causeway-plugin-host.1",
        "man/man3/causeway-plugin.3",
        "man/man5/causeway.yaml.5",
        "bash-completion/completions/causeway",
        "zsh/site-functions/_causeway",
        "fish/vendor_completions.d/causeway.fish",
    ]) {
        assert.ok(places.includes(place), place);
    }
});

test("uninstall removes files and empty folders, and nothing of others", async () => {
    const { to, script } = makeProject("uninstall");
    const foreign = path.join(to, "lib/other.so");
    writeFileSync(foreign, "");
    assert.match((await script("uninstall.sh")).stdout, /Removed 5 files/);
    assert.ok(existsSync(foreign));
    assert.ok(!existsSync(path.join(to, "bin")));
    assert.ok(!existsSync(path.join(to, "lib/causeway")));
    await assert.rejects(script("uninstall.sh"), /nothing was installed from this folder/);
});

// Install below a folder, as `make install DESTDIR=...` does, and move the prefix away from there. The log, from which
// `make uninstall` works, stays as it was.
async function installAndMove(name) {
    const { stdout } = await run("meson", ["introspect", "--buildoptions", buildFolder], { maxBuffer: 2 ** 24 });
    const built = JSON.parse(stdout).find((option) => option.name === "prefix").value;
    const folder = path.join(keepFolder(), name);
    const log = path.join(buildFolder, "meson-logs/install-log.txt");
    const before = existsSync(log) ? readFileSync(log) : null;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    await run("meson", ["install", "-C", buildFolder, "--no-rebuild", "--quiet", "--destdir", path.join(folder, "d")]);
    if (before === null) rmSync(log);
    else writeFileSync(log, before);
    const prefix = path.join(folder, "moved");
    renameSync(path.join(folder, "d", built), prefix);
    rmSync(path.join(folder, "d"), { recursive: true });
    return { folder, prefix, program: path.join(prefix, "bin/causeway") };
}

test("a moved installation finds its plugin host, its SDK and its examples", async () => {
    const { folder, prefix, program } = await installAndMove("moved");
    const env = { PATH: process.env.PATH };
    await run(program, ["plugin", "new", "hello"], { cwd: folder, env });
    const makefile = readFileSync(path.join(folder, "hello/Makefile"), "utf8");
    assert.ok(makefile.includes(`CAUSEWAY_INCLUDE ?= ${prefix}/include\n`), makefile);
    assert.ok(makefile.includes(`CAUSEWAY_HOST ?= ${prefix}/libexec/causeway/causeway-plugin-host\n`), makefile);
    const { stdout } = await run("make", ["-C", "hello", "test"], { cwd: folder, env });
    assert.match(stdout, /^ok {3}hello\.greet \{"name":"Ada"\}$/m);

    const state = path.join(folder, "state");
    const server = await startProgram(program, ["serve", "--listen", "127.0.0.1:0"], {
        env: { XDG_STATE_HOME: state },
    });
    await untilSources(server, 1); // a call waits ten seconds for them
    const answer = await fetch(`${server.url}/jsonrpc`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: '{"jsonrpc":"2.0","id":1,"method":"examples.articles.list","params":{"page":{"limit":1}}}',
    });
    assert.equal((await answer.json()).result[0].nid, 8);
    await server.stop();
});

test("pkg-config finds the SDK of a moved installation", async () => {
    const { folder, prefix } = await installAndMove("pkg-config");
    const env = { PATH: process.env.PATH, PKG_CONFIG_PATH: path.join(prefix, "share/pkgconfig") };
    const ask = async (what) => (await run("pkg-config", [what, "causeway-plugin"], { env })).stdout.trim();
    const source = path.join(folder, "hello.c");
    writeFileSync(source, '#include <causeway/plugin.h>\nCW_PLUGIN("hello", "1");\n');
    const flags = (await ask("--cflags")).split(" ");
    await run("cc", ["-shared", "-fPIC", ...flags, "-o", path.join(folder, "hello.so"), source]);
    assert.ok(existsSync(await ask("--variable=host")));
    assert.equal(
        path.resolve(await ask("--variable=host")),
        path.join(prefix, "libexec/causeway/causeway-plugin-host"),
    );
});
