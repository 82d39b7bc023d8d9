// Validation next to ajv: bench_schema (C) and ajv.mjs (Node) on the same documents, in the same run.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build, root } from "../http/servers.mjs";

// Most times ajv's time for validation alone, least times as fast with parsing.
const targets = {
    flat5: { most: 0.9, least: 3.5, compile: 12_000 },
    nested3: { most: 0.5, least: 3.5, compile: 50_000 },
    uneval: { most: 1.35, least: 3.5 },
    arr1000: { most: 1.15, least: 2.5 },
};

const here = path.join(root, "bench", "schema");
const program = path.join(build, "bench", "schema", "bench_schema");

function buildProgram() {
    const target = path.relative(build, program);
    const { status, stdout } = spawnSync("ninja", ["-C", build, "--quiet", target]);
    if (status !== 0) {
        throw new Error(`cannot build ${target}:\n${stdout}`);
    }
}

const output = (command, ...args) => execFileSync(command, args, { encoding: "utf8", cwd: root });

function measure() {
    const folder = mkdtempSync(path.join(tmpdir(), "causeway-bench-schema-"));
    try {
        output(program, "--write", folder);
        const ajv = JSON.parse(output(process.execPath, path.join(here, "ajv.mjs"), folder));
        return { ours: JSON.parse(output(program, "--json")), ajv };
    } finally {
        rmSync(folder, { recursive: true });
    }
}

function figuresOf(name, ours, ajv) {
    const { most, least, compile } = targets[name];
    const share = ours.validate / ajv.validate;
    const faster = ajv.both / ours.both;
    const figures = [
        {
            name: `schema validate, ${name}`,
            target: `≤ ${most} × ajv`,
            shown: `${share.toFixed(2)} × (${ours.validate.toFixed(0)} ns)`,
            ok: share <= most,
        },
        {
            name: `schema parse and validate, ${name}`,
            target: `≥ ${least} × as fast as JSON.parse and ajv`,
            shown: `${faster.toFixed(1)} × (${ours.both.toFixed(0)} ns)`,
            ok: faster >= least,
        },
    ];
    if (compile) {
        figures.push({
            name: `schema compile, ${name}`,
            target: `≤ ${compile / 1000} µs`,
            shown: `${(ours.compile / 1000).toFixed(1)} µs`,
            ok: ours.compile <= compile,
        });
    }
    return figures;
}

export async function run({ say }) {
    buildProgram();
    say("measuring schemas next to ajv");
    const { ours, ajv } = measure();
    const names = Object.keys(targets);
    return {
        results: { ours, ajv },
        figures: names.flatMap((name) => figuresOf(name, ours[name], ajv[name])),
    };
}
