// From starting the program to its first answered request.
import { causeway, median, runLoad } from "./servers.mjs";

export async function run({ quick }) {
    const runs = quick ? 3 : 21;
    const serve = ["serve", "--listen", "127.0.0.1:0"];
    const { ms } = await runLoad("start", [runs, "/healthz", "ok", causeway, ...serve]);
    const middle = median(ms);
    const worst = Math.max(...ms);
    return {
        runs,
        median: middle,
        worst,
        figures: [
            {
                name: "start to the first response",
                target: "< 20 ms",
                shown: `${middle.toFixed(1)} ms (worst ${worst.toFixed(1)} ms)`,
                ok: middle < 20,
            },
        ],
    };
}
