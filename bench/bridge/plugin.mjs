// A call of an echo tool that a plugin worker runs: processor time of server and workers together,
// next to nginx answering 2 KB from memory, and how long a call takes at half the full rate.
import { median, startNginx } from "../http/servers.mjs";
import { callFile, getFile, load, runPairs, startEcho } from "./bridge.mjs";

export async function run({ quick, say }) {
    const [pairs, seconds] = quick ? [2, 1] : [9, 2];
    const ours = await startEcho();
    const nginx = await startNginx("x".repeat(2048));
    const file = callFile("test.echo");
    const sides = {
        ours: { server: ours, file },
        nginx: { server: nginx, file: getFile(), expected: "xxx" },
    };
    const measured = await runPairs(sides, { pairs, seconds, say });

    // Short rounds, in turn with nginx: where the machine itself stalls for milliseconds, both show it.
    const rate = Math.max(1, Math.round(measured.ours.perSecond / 2));
    const rounds = { ours: [], nginx: [] };
    for (let round = 0; round < (quick ? 1 : 15); round += 1) {
        const order = round % 2 ? ["nginx", "ours"] : ["ours", "nginx"];
        for (const name of order) {
            rounds[name].push(await load(sides[name], 1, rate));
        }
        const p99 = (name) => rounds[name].at(-1).p99;
        say(`at ${rate} calls a second: p99 ${p99("ours")} µs, nginx ${p99("nginx")} µs`);
    }
    await ours.stop();
    await nginx.stop("SIGQUIT");

    const ratio = median(measured.ratios);
    const middle = (name, what) => median(rounds[name].map((round) => round[what]));
    const p99 = middle("ours", "p99");
    return {
        ...measured,
        half: {
            rate,
            rounds: rounds.ours.length,
            p50: middle("ours", "p50"),
            p99,
            nginx: { p50: middle("nginx", "p50"), p99: middle("nginx", "p99") },
        },
        figures: [
            {
                name: "call of a plugin's echo tool: CPU, times nginx's 2 KB response",
                target: "≤ 2.5 ×",
                shown: `${ratio.toFixed(2)} ×`,
                ok: ratio <= 2.5,
            },
            {
                name: "call of a plugin's echo tool at half the full rate: p99",
                target: "< 5 ms",
                shown: `${(p99 / 1000).toFixed(2)} ms`,
                ok: p99 < 5000,
            },
        ],
    };
}
