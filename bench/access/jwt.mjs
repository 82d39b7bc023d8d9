// What it costs to check a JWT access token, by itself: the program of bench/access.
import { spawnSync } from "node:child_process";
import path from "node:path";
import { build, Process } from "../http/servers.mjs";

const program = path.join(build, "bench", "access", "bench_jwt");

// Only benchmarks need it, so the default build leaves it out.
function buildProgram() {
    const target = path.relative(build, program);
    const { status, stdout } = spawnSync("ninja", ["-C", build, "--quiet", target]);
    if (status !== 0) {
        throw new Error(`cannot build ${target}:\n${stdout}`);
    }
}

// By algorithm, and "cached": { what, bytes, median_ns }.
export async function measureChecks() {
    buildProgram();
    const bench = new Process("server", program, ["--json"]);
    return JSON.parse((await bench.finish(120_000)).join("\n")).results;
}
