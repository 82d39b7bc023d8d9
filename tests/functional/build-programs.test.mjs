// The programs that the build runs: causeway-embed for the files of the console, causeway-manual for pages.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { keepFolder } from "./support/kept.mjs";
import { buildFolder as build, root } from "./support/programs.mjs";

const makeFolder = () => mkdtempSync(path.join(keepFolder(), "out-"));

function run(program, ...words) {
    const { status, stderr } = spawnSync(path.join(build, "src", program), words, { encoding: "utf8" });
    return { status, stderr };
}

suite("causeway-embed", () => {
    const embed = (...words) => run("embed/causeway-embed", ...words);
    // A folder with these files, and their paths.
    const write = (files) => {
        const folder = makeFolder();
        return Object.entries(files).map(([name, text]) => {
            writeFileSync(path.join(folder, name), text);
            return path.join(folder, name);
        });
    };
    // The bytes of the arrays of a C file: { plain_0: Buffer, … }.
    const arraysOf = (text) =>
        Object.fromEntries(
            [...text.matchAll(/unsigned char (\w+)\[\] = \{([^}]*)\}/g)].map(([, name, bytes]) => [
                name,
                Buffer.from(
                    bytes.split(",").filter((one) => one.trim() !== ""),
                    "utf8",
                ),
            ]),
        );
    const output = () => path.join(makeFolder(), "out.c");
    const hashOf = (text) => /cw_assets_hash\[\] = "([0-9a-f]{16})"/.exec(text)[1];

    test("writes what the build has, from the files of the console", () => {
        const meson = readFileSync(path.join(root, "console/meson.build"), "utf8");
        const names = [...meson.matchAll(/^ {4}'(\S+\.\w+)',$/gm)].map(([, name]) => path.join(root, "console", name));
        const out = output();
        assert.deepEqual(embed(out, "console.mjs", ...names), { status: 0, stderr: "" });
        assert.equal(readFileSync(out, "utf8"), readFileSync(path.join(build, "console/console_assets.c"), "utf8"));
    });

    test("joins modules, squeezes scripts and styles, and packs each file", () => {
        const style = "/* gone */\nbody {\n    color: red;\n}\n";
        const files = write({
            "a.mjs": "// gone\nexport const one = 1;\n",
            "b.mjs": 'import { one } from "./a.mjs";\n\nglobalThis.two = one + 1;\n',
            "s.css": style,
            "i.svg": "<svg>\n</svg>\n",
        });
        const out = output();
        assert.deepEqual(embed(out, "all.mjs", ...files), { status: 0, stderr: "" });
        const text = readFileSync(out, "utf8");
        const arrays = arraysOf(text);
        const plain = [0, 1, 2].map((i) => String(arrays[`plain_${i}`]));
        for (const i of [0, 1, 2]) assert.equal(String(gunzipSync(arrays[`gzip_${i}`])), plain[i]);
        assert.equal(new Function(`${plain[0]}; return globalThis.two;`)(), 2);
        assert.doesNotMatch(plain.join(), /gone/);
        assert.ok(plain[1].length < style.length && plain[1].includes("color:red"), plain[1]);
        assert.equal(plain[2], "<svg>\n</svg>\n");
        const table = [...text.matchAll(/\{CW_STR_INIT\("([^"]+)"\), CW_STR_INIT\("([^"]+)"\)/g)];
        assert.deepEqual(
            table.map(([, name, type]) => [name, type]),
            [
                ["all.mjs", "text/javascript; charset=utf-8"],
                ["s.css", "text/css; charset=utf-8"],
                ["i.svg", "image/svg+xml"],
            ],
        );
        assert.match(text, /cw_assets_n = 3;/);
        const packed = [0, 1, 2].reduce((sum, i) => sum + arrays[`gzip_${i}`].length, 0);
        assert.ok(text.endsWith(`/* gzipped: ${packed} bytes */\n`));
    });

    test("gives equal files an equal hash, and others another", () => {
        const hashes = ["1", "1", "2"].map((value) => {
            const out = output();
            assert.equal(embed(out, "all.mjs", ...write({ "a.mjs": `globalThis.x = ${value};\n` })).status, 0);
            return hashOf(readFileSync(out, "utf8"));
        });
        assert.equal(hashes[0], hashes[1]);
        assert.notEqual(hashes[0], hashes[2]);
    });

    test("writes one text as it is", () => {
        const out = output();
        const [file] = write({ "v.html": "<p>\n  ü\n" });
        assert.equal(embed(out, "=cw_view", file).status, 0);
        const text = readFileSync(out, "utf8");
        assert.equal(String(arraysOf(text).plain_0), "<p>\n  ü\n");
        assert.match(text, /^const cw_str cw_view = \{\(const char \*\)plain_0, sizeof plain_0\};$/m);
    });

    test("fails for files that it cannot use, and names them", () => {
        const good = write({ "a.mjs": "globalThis.x = 1;\n" });
        const cases = [
            [[output(), "a.mjs"], /arguments: expected an output/],
            [["/no/such/out.c", "a.mjs", ...good], /\/no\/such\/out\.c: cannot be written/],
            [["/dev/full", "a.mjs", ...good], /\/dev\/full: cannot be written/],
            [[output(), "a.mjs", "/no/such.mjs"], /\/no\/such\.mjs: cannot be read/],
            [[output(), "a.mjs", ...good, ...write({ "e.css": "" })], /e\.css: cannot be read/],
            [[output(), "a.mjs", ...good, ...write({ "x.png": "x" })], /x\.png: has no known type/],
            [[output(), "a.mjs", ...good, ...write({ "l.svg": "x".repeat(1 << 18) })], /l\.svg: .*too large/],
            [[output(), "a.mjs", ...write({ "b.mjs": 'export * from "./c.mjs";\n' })], /b\.mjs: has an import/],
            [[output(), "=x", "/no/such.html"], /\/no\/such\.html: cannot be read/],
        ];
        for (const [words, message] of cases) {
            const { status, stderr } = embed(...words);
            assert.equal(status, 1, words.join(" "));
            assert.match(stderr, message);
        }
    });
});

suite("causeway-manual", () => {
    const manual = (...words) => run("manual/causeway-manual", ...words);
    const made = globSync("causeway*.[15]", { cwd: path.join(build, "src/manual") });

    test("writes what the build has, a page for each command", () => {
        const folder = makeFolder();
        const read = (...where) => readFileSync(path.join(...where), "utf8").replace(/^\.Dd .*\n/, "");
        assert.deepEqual(manual(...made.map((name) => path.join(folder, name))), { status: 0, stderr: "" });
        for (const name of made) {
            const text = read(folder, name);
            assert.equal(text, read(build, "src/manual", name), name);
            assert.match(text, /^\.Sh NAME$/m);
        }
        assert.match(read(folder, "causeway-task.1"), /^\.Nm causeway task cancel$/m);
        assert.match(read(folder, "causeway.yaml.5"), /lame_duck/);
    });

    test("fails for a command without a page, and for a page of no command", () => {
        const folder = makeFolder();
        const paths = made.map((name) => path.join(folder, name));
        const missing = manual(...paths.filter((name) => !name.endsWith("causeway-why.1")));
        assert.equal(missing.status, 1);
        assert.match(missing.stderr, /add 'why' to the list in src\/manual\/meson\.build/);
        for (const name of ["causeway-nope.1", "other.1", "causeway-why.7"]) {
            const unknown = manual(...paths, path.join(folder, name));
            assert.equal(unknown.status, 1, name);
            assert.match(unknown.stderr, /no such page/);
        }
        const full = manual(...paths.slice(1), "/no/such/causeway.1", paths[0]);
        assert.equal(full.status, 1);
        assert.match(full.stderr, /\/no\/such\/causeway\.1: No such file/);
    });
});
