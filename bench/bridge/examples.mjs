// What `make run` starts, the example plugins included: its memory when idle, and the time from
// starting it to its first list of tools.
import { causeway, countProcesses, median, pssBytes, rssBytes } from "../http/servers.mjs";
import { runLoad, sleep } from "../http/servers.mjs";
import { listFile, startWith, tryCall, writeExamplesConfig } from "./bridge.mjs";

// In the very first list: a figure for an empty one would mean nothing.
const tool = "examples.articles.list";

// Memory after a call of the tools that anybody may call, when nothing has happened for a while.
async function weigh(file) {
    const server = await startWith(file);
    await tryCall(server, tool, {}, "nid");
    await tryCall(server, "examples.article.toMarkdown", { nid: 2 }, "#");
    await sleep(1500);
    const weight = {
        processes: countProcesses(server),
        pss: pssBytes(server),
        rss: rssBytes(server),
    };
    await server.stop();
    return weight;
}

export async function run({ quick, say }) {
    const runs = quick ? 3 : 21;
    const file = writeExamplesConfig();
    const weight = await weigh(file);
    say(`${weight.processes} processes, ${(weight.pss / 2 ** 20).toFixed(1)} MB`);
    const serve = [causeway, "serve", "--config", file, "--listen", "127.0.0.1:0"];
    const { ms } = await runLoad("start", [runs, `@${listFile()}`, tool, ...serve]);
    const middle = median(ms);
    const worst = Math.max(...ms);
    return {
        ...weight,
        runs,
        median: middle,
        worst,
        figures: [
            {
                name: "idle with the examples: memory of all processes (PSS)",
                target: "≤ 15 MB",
                shown: `${(weight.pss / 2 ** 20).toFixed(1)} MB`,
                ok: weight.pss <= 15 * 2 ** 20,
            },
            {
                name: "start with the examples to the first list of tools",
                target: "≤ 60 ms",
                shown: `${middle.toFixed(1)} ms (worst ${worst.toFixed(1)} ms)`,
                ok: middle <= 60,
            },
        ],
    };
}
