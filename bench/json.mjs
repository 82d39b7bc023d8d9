// The JSON benchmark program of bench/json, and instructions per byte by callgrind.
import { spawnSync } from "node:child_process";
import path from "node:path";
import { build, Process, root } from "./http/servers.mjs";

const targets = [
    { what: "read", peer: "cJSON", least: 4 },
    { what: "read", peer: "jansson", least: 15 },
    { what: "round", peer: "cJSON", least: 4 },
];
const verbs = { read: "read", round: "read and write" };
const instructionsDocument = "list";
const mostInstructions = 12;

const program = path.join(build, "bench", "json", "bench_json");

// Only benchmarks need it, so the default build leaves it out.
function buildProgram() {
    const target = path.relative(build, program);
    const { status, stdout } = spawnSync("ninja", ["-C", build, "--quiet", target]);
    if (status !== 0) {
        throw new Error(`cannot build ${target}:\n${stdout}`);
    }
}

async function runProgram() {
    const bench = new Process("server", program, ["--json"]);
    return JSON.parse((await bench.finish(600_000)).join("\n")).results;
}

// Lines like "list  30000 B  300000 instructions  10.00 per byte"
async function countInstructions(documents) {
    const script = path.join(root, "bench", "json", "instructions.sh");
    const counted = new Process("server", script, [program, ...documents]);
    const line = /^(\S+)\s+(\d+) B\s+(\d+) instructions\s+([\d.]+) per byte/;
    return (await counted.finish(600_000)).map((text) => {
        const match = line.exec(text) ?? counted.fail(`not understood: ${text}`);
        return { document: match[1], bytes: Number(match[2]), perByte: Number(match[4]) };
    });
}

function speedFigures(results) {
    return targets.flatMap(({ what, peer, least }) =>
        results
            .filter((result) => result.what === what)
            .map(({ document, bytes, times_as_fast: ratios }) => {
                const ratio = ratios[peer];
                return {
                    name: `JSON ${verbs[what]}, ${document} (${bytes.toLocaleString("en")} B)`,
                    target: `≥ ${least} × ${peer}`,
                    shown: ratio === undefined ? "no such library" : `${ratio.toFixed(1)} ×`,
                    ok: ratio >= least,
                };
            }),
    );
}

export async function run({ quick, say }) {
    buildProgram();
    const results = await runProgram();
    say("counting instructions under valgrind");
    const documents = quick ? [instructionsDocument] : results.map(({ document }) => document);
    const instructions = await countInstructions([...new Set(documents)]);
    const list = instructions.find(({ document }) => document === instructionsDocument);
    return {
        results,
        instructions,
        figures: [
            ...speedFigures(results),
            {
                name: `JSON read, ${list.document} (${list.bytes.toLocaleString("en")} B)`,
                target: `≤ ${mostInstructions} instructions/B`,
                shown: list.perByte.toFixed(2),
                ok: list.perByte <= mostInstructions,
            },
        ],
    };
}
