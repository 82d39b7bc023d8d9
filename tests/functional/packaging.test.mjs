// What packages and images are made of: versions agree, and the configurations that they install or show are valid
// and closed to strangers. `make deb`, `make oci` and `make fresh` build and try them.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { keepFolder } from "./support/kept.mjs";
import { root, runCauseway } from "./support/programs.mjs";

const read = (file) => readFileSync(path.join(root, file), "utf8");

test("the changelog of the package begins with the version of the program", () => {
    const [, version] = /^ {4}version: '(.*)',$/m.exec(read("meson.build"));
    assert.ok(read("debian/changelog").startsWith(`causeway (${version}) `));
});

// The text of a member that is written as a block (|).
function blockOf(text, name) {
    const lines = text
        .slice(text.indexOf(`${name}: |\n`))
        .split("\n")
        .slice(1);
    const indent = /^ */.exec(lines[0])[0];
    return lines.map((line) => line.slice(indent.length)).join("\n");
}

const configurations = {
    "debian/causeway.yaml": (text) => text,
    "examples/image/causeway.yaml": (text) => text,
    "examples/kubernetes/configmap.yaml": (text) => blockOf(text, "causeway.yaml"),
};

for (const [file, toText] of Object.entries(configurations)) {
    test(`${file} is valid, and strangers may do nothing`, async () => {
        const copy = path.join(keepFolder(), `${file.replaceAll("/", "-")}`);
        writeFileSync(copy, toText(read(file)));
        const checked = await runCauseway(["config", "check", "--no-files", copy]);
        assert.equal(checked.code, 0, checked.stderr);
        assert.equal(checked.stderr, "", "no warning either");
        const shown = await runCauseway(["config", "show", "--config", copy]);
        assert.match(shown.stdout, /^ {2}"?anonymous"?: \[\]$/m);
    });
}

test("the service of the package runs the configuration of the package", () => {
    const unit = read("debian/causeway.service");
    assert.match(unit, /^ExecStart=\/usr\/bin\/causeway serve --config \/etc\/causeway\/causeway\.yaml$/m);
    const socket = read("debian/causeway.socket");
    const [, address] = /^listen:\n {2}- (.*)$/m.exec(read("debian/causeway.yaml"));
    assert.ok(socket.includes(`\nListenStream=${address}\n`), "the socket replaces listen");
});

test("the service may hide its files from plugins and programs", () => {
    const source = read("src/host/landlock.c");
    const unit = read("debian/causeway.service");
    const [, allowed] = /^SystemCallFilter=(landlock_.*)$/m.exec(unit);
    const used = new Set([...source.matchAll(/SYS_(landlock_\w+)/g)].map(([, name]) => name));
    assert.deepEqual(allowed.split(" ").sort(), [...used].sort());
});

test("a service has time to end its calls before it is killed", () => {
    const drain = 30; // the default of timeouts.drain
    const [, stop] = /^TimeoutStopSec=(\d+)$/m.exec(read("debian/causeway.service"));
    const [, grace] = /^ {4}stop_grace_period: (\d+)s$/m.exec(read("examples/compose.yaml"));
    const deployment = read("examples/kubernetes/deployment.yaml");
    const [, termination] = /^ +terminationGracePeriodSeconds: (\d+)$/m.exec(deployment);
    const [, pause] = /^ +sleep: \{seconds: (\d+)\}$/m.exec(deployment);
    for (const seconds of [stop, grace, termination - pause]) assert.ok(Number(seconds) > drain, `${seconds} s`);
});
