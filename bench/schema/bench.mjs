// Validation next to ajv and the Blaze command line on the same documents, in the same run:
// bench_schema (C), ajv.mjs (Node) and `jsonschema validate --fast --benchmark` take turns.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
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

// Blaze weighs 85 MB, so it is not among the test packages.
const peers = path.join(root, "bench", "peers");
const blaze = path.join(peers, "node_modules", "@sourcemeta", "jsonschema", "npm", "cli.js");

function installPeers() {
    const lock = path.join(peers, "package-lock.json");
    const installed = path.join(peers, "node_modules", ".lock-installed");
    if (existsSync(installed) && readFileSync(lock).equals(readFileSync(installed))) {
        return;
    }
    const args = ["--prefix", peers, "ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    const { status, stderr } = spawnSync("npm", args, { encoding: "utf8" });
    if (status !== 0) {
        throw new Error(`npm ci in bench/peers: ${stderr}`);
    }
    cpSync(lock, installed);
}

const output = (command, ...args) => execFileSync(command, args, { encoding: "utf8", cwd: root });

// Nanoseconds of one validation, parsing not counted: "instance.json: PASS 0.128 +- 0.524 us (…)".
function measureBlaze(folder, name) {
    const file = (what) => path.join(folder, `${name}.${what}.json`);
    const loops = name === "arr1000" ? "300" : "20000";
    const options = ["--fast", "--benchmark", "--loop", loops];
    const text = output(process.execPath, blaze, "validate", file("schema"), file("instance"), ...options);
    const match = /PASS ([\d.]+) \+- [\d.]+ us/.exec(text);
    if (match === null) {
        throw new Error(`the Blaze command line says: ${text}`);
    }
    return Number(match[1]) * 1000;
}

// The best of each over the rounds: both ours and ajv's are bests of batches already.
function measure(rounds) {
    const folder = mkdtempSync(path.join(tmpdir(), "causeway-bench-schema-"));
    const best = {};
    const keep = (side, name, what, value) => {
        best[side] ??= {};
        best[side][name] ??= {};
        best[side][name][what] = Math.min(value, best[side][name][what] ?? Infinity);
    };
    const sides = {
        ours: () => JSON.parse(output(program, "--json")),
        ajv: () => JSON.parse(output(process.execPath, path.join(here, "ajv.mjs"), folder)),
        blaze: () =>
            Object.fromEntries(Object.keys(targets).map((name) => [name, { validate: measureBlaze(folder, name) }])),
    };
    try {
        output(program, "--write", folder);
        for (let round = 0; round < rounds; round++) {
            const order = Object.keys(sides);
            for (const side of round % 2 ? order.reverse() : order) {
                for (const [name, values] of Object.entries(sides[side]())) {
                    Object.entries(values).forEach(([what, value]) => keep(side, name, what, value));
                }
            }
        }
    } finally {
        rmSync(folder, { recursive: true });
    }
    return best;
}

function figuresOf(name, ours, ajv, peer) {
    const { most, least, compile } = targets[name];
    const share = ours.validate / ajv.validate;
    const others = ours.validate / peer.validate;
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
        {
            name: `schema validate, ${name}`,
            target: "≤ 1.0 × Blaze",
            shown: `${others.toFixed(2)} ×`,
            ok: others <= 1,
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

export async function run({ quick, say }) {
    buildProgram();
    installPeers();
    say("measuring schemas next to ajv and Blaze");
    const best = measure(quick ? 1 : 4);
    const names = Object.keys(targets);
    const of = (name) => [best.ours[name], best.ajv[name], best.blaze[name]];
    return {
        results: best,
        figures: names.flatMap((name) => figuresOf(name, ...of(name))),
    };
}
