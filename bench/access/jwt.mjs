// What it costs to check a JWT access token: the program of bench/access.
import { spawnSync } from "node:child_process";
import path from "node:path";
import { build, Process } from "../http/servers.mjs";

const mostColdMicroseconds = 60;
const program = path.join(build, "bench", "access", "bench_jwt");

// Only benchmarks need it, so the default build leaves it out.
function buildProgram() {
    const target = path.relative(build, program);
    const { status, stdout } = spawnSync("ninja", ["-C", build, "--quiet", target]);
    if (status !== 0) {
        throw new Error(`cannot build ${target}:\n${stdout}`);
    }
}

export async function run() {
    buildProgram();
    const bench = new Process("server", program, ["--json"]);
    const { results } = JSON.parse((await bench.finish(120_000)).join("\n"));
    const cold = results.find(({ what }) => what === "RS256").median_ns / 1000;
    return {
        results,
        figures: [
            {
                name: "JWT check, RS256, not in the cache",
                target: `≤ ${mostColdMicroseconds} µs of CPU`,
                shown: `${cold.toFixed(1)} µs`,
                ok: cold <= mostColdMicroseconds,
            },
        ],
    };
}
