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

    const rate = Math.max(1, Math.round(measured.ours.perSecond / 2));
    const rounds = [];
    for (let round = 0; round < (quick ? 1 : 5); round += 1) {
        rounds.push(await load(sides.ours, quick ? 1 : 4, rate));
        say(`at ${rate} calls a second: p50 ${rounds.at(-1).p50} µs, p99 ${rounds.at(-1).p99} µs`);
    }
    await ours.stop();
    await nginx.stop("SIGQUIT");

    const ratio = median(measured.ratios);
    const p99 = median(rounds.map((round) => round.p99));
    return {
        ...measured,
        half: { rate, rounds: rounds.length, p50: median(rounds.map(({ p50 }) => p50)), p99 },
        figures: [
            {
                name: "call of a plugin's echo tool: CPU, times nginx's 2 KB answer",
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
