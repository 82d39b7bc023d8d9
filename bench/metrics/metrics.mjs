// The cost of metrics: counting one call, and writing one scrape. The program of bench/metrics.
import { spawnSync } from "node:child_process";
import path from "node:path";
import { build, Process } from "../http/servers.mjs";

const program = path.join(build, "bench", "metrics", "bench_metrics");
const callTarget = 100; // ns
const scrapeTarget = 5; // ms

export async function run({ quick, say }) {
    const target = path.relative(build, program);
    const { status, stdout } = spawnSync("ninja", ["-C", build, "--quiet", target]);
    if (status !== 0) {
        throw new Error(`cannot build ${target}:\n${stdout}`);
    }
    const runs = [];
    for (let i = 0; i < (quick ? 1 : 5); i += 1) {
        const bench = new Process("server", program, []);
        runs.push(JSON.parse((await bench.finish(120_000)).join("\n")));
        say(JSON.stringify(runs.at(-1)));
    }
    const worst = (name) => Math.max(...runs.map((one) => one[name]));
    return {
        runs,
        figures: [
            {
                name: "metrics: CPU of all counts of a call",
                target: `≤ ${callTarget} ns`,
                shown: `${worst("call_ns")} ns`,
                ok: worst("call_ns") <= callTarget,
            },
            {
                name: "metrics: memory that counting calls allocates",
                target: "0 bytes",
                shown: `${worst("call_bytes")} bytes`,
                ok: worst("call_bytes") === 0,
            },
            {
                name: "metrics: CPU of a scrape of 200 tools and 50 sources",
                target: `≤ ${scrapeTarget} ms`,
                shown: `${(worst("scrape_us") / 1000).toFixed(1)} ms`,
                ok: worst("scrape_us") <= scrapeTarget * 1000,
            },
        ],
    };
}
