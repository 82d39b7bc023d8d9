// Instructions of the causeway process per call with traces, as a ratio to those without, by callgrind
// (instructions.mjs). A collector in this process takes the spans.
import http from "node:http";
import { once } from "node:events";
import { countRow, pluginCall, shown } from "./instructions.mjs";

const shares = [
    { sample: 0.05, most: 1.03 },
    { sample: 1, most: 1.15 },
];

async function startCollector() {
    const found = { bytes: 0 };
    const server = http.createServer((request, response) => {
        request.on("data", (part) => (found.bytes += part.length));
        request.on("end", () => response.writeHead(200, { "Content-Type": "application/x-protobuf" }).end());
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const stop = () => {
        server.closeAllConnections();
        server.close();
    };
    return { found, stop, url: `http://127.0.0.1:${server.address().port}/v1/traces` };
}

const withTraces = (traces) => ({
    ...pluginCall,
    config: () => ({ ...pluginCall.config(), traces: { spans_per_second: 0, ...traces } }),
});

export async function run({ quick, say }) {
    const collector = await startCollector();
    const off = await countRow(withTraces({ mode: "off" }), quick);
    say(`without traces: ${shown(off.each)} instructions`);
    const rows = [];
    for (const { sample, most } of shares) {
        collector.found.bytes = 0;
        const traces = { endpoint: collector.url, sample, failures: true };
        const { each } = await countRow(withTraces(traces), quick);
        rows.push({ sample, most, each, ratio: each / off.each, bytes: collector.found.bytes });
        say(`${sample * 100} % of traces: ${shown(each)} instructions, ${(each / off.each).toFixed(3)} times`);
    }
    collector.stop();
    const figures = rows.map(({ sample, most, ratio }) => ({
        name: `tools/call of a plugin with ${sample * 100} % of traces: instructions, to none`,
        target: `≤ ${most} ×`,
        shown: `${ratio.toFixed(3)} ×`,
        ok: ratio <= most,
    }));
    return { off: off.each, few: off.few, many: off.many, rows, figures };
}
