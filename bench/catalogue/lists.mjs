// GET /mcp/tools/list from the cache: processor time per request, next to nginx sending the same
// bytes as a file, and out of 100,000 tools next to 100.
import path from "node:path";
import { build, median, startNginxFile } from "../http/servers.mjs";
import { getFile, pluginFolder, runPairs, startConfigured } from "../bridge/bridge.mjs";

const target = "/mcp/tools/list";
const expected = "ledger.entries000049";
const plugin = (name) => path.join(build, "bench", "catalogue", `${name}.so`);
export const few = () => pluginFolder(plugin("few"));
export const many = () => pluginFolder(...Array.from({ length: 10 }, (_, i) => plugin(`many${i}`)));

export async function fetchPage(server, cursor = "") {
    const answer = await fetch(`http://${server.address}${target}${cursor && `?cursor=${cursor}`}`);
    return await answer.text();
}

// A server with the tools of a folder of plugins, when it has all of them.
export async function startTools(folder, tools) {
    const server = await startConfigured({ plugins: { directory: folder, load_timeout: "60s" } });
    await server.said(new RegExp(`catalogue published tools=${tools} `));
    return server;
}

const figure = (name, ratio, most) => ({
    name,
    target: `≤ ${most.toFixed(1)} ×`,
    shown: `${ratio.toFixed(2)} ×`,
    ok: ratio <= most,
});

export async function run({ quick, say }) {
    const [pairs, seconds] = quick ? [2, 1] : [9, 2];
    const ours = await startTools(few(), 100);
    const page = await fetchPage(ours);
    const nginx = await startNginxFile(page);
    const file = getFile(target);
    const side = { server: ours, file, expected };
    const measured = await runPairs(
        { ours: side, nginx: { server: nginx, file: getFile("/body.json"), expected } },
        { pairs, seconds, say },
    );
    await nginx.stop("SIGQUIT");

    const large = await startTools(many(), 100_000);
    if ((await fetchPage(large)) !== page) {
        throw new Error("the two pages are not the same");
    }
    const sizes = await runPairs({ large: { server: large, file, expected }, small: side }, { pairs, seconds, say });
    await ours.stop();
    await large.stop();
    return {
        ...measured,
        bytes: page.length,
        sizes,
        figures: [
            figure("GET /mcp/tools/list, 50 tools: CPU, times nginx sending a file", median(measured.ratios), 1),
            figure("the same page out of 100,000 tools: CPU, times out of 100", median(sizes.ratios), 1.1),
        ],
    };
}
