// docs/benchmarks.md: the text around the figures, and the figures of the last run.
import { writeFileSync } from "node:fs";

const row = (...cells) => `| ${cells.join(" | ")} |`;
const table = (head, rows) =>
    [row(...head), row(...head.map(() => "---")), ...rows.map((cells) => row(...cells))].join("\n");
const count = (n) => Math.round(n).toLocaleString("en");
const kb = (bytes) => `${(bytes / 1024).toFixed(2)} KB`;
const us = (value) => `${count(value)} µs`;

function machine({ processor, cores, memoryGb, kernel, system, pinning, packages }) {
    const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`);
    const cpus = `${cores} ${cores === 1 ? "core" : "cores"}`;
    const pinned = pinning ? "the server pinned to one core, the load to another" : "nothing pinned";
    return `${processor}, ${cpus}, ${memoryGb} GB, Linux ${kernel}, ${system}; ${pinned}.
Packages: ${versions.join(", ")}.`;
}

function figures(parts) {
    const rows = Object.values(parts).flatMap((part) => part.figures);
    return table(
        ["figure", "target", "measured", ""],
        rows.map(({ name, target, shown, ok }) => [name, target, shown, ok ? "ok" : "**missed**"]),
    );
}

function http({ ours, nginx, ratios, pairs, seconds, connections }) {
    const rows = Object.entries({ Causeway: ours, nginx }).map(([name, { cpuUs, perSecond }]) => [
        name,
        cpuUs.toFixed(2),
        count(perSecond),
    ]);
    const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map((n) => n.toFixed(2));
    return `## A 2 KB answer from memory

${connections} keep-alive connections, one server thread, \`wrk -t1\`; nginx with one worker answers the same bytes by
\`return 200\`; no access log on either. ${pairs} pairs of ${seconds} s after a warm-up, the order turned round in every other
pair. Processor time is what the scheduler counted for all threads of the server (\`schedstat\`), kernel time included,
divided by the answers that wrk counted. The ratios of the pairs lie between ${least} and ${most}.

${table(["server", "CPU per request, µs", "requests/s"], rows)}

Requests per second depend on the load generator as much as on the server; processor time per request does not.`;
}

function json({ results, instructions }) {
    const ns = (value) => (value === undefined ? "–" : count(value));
    const times = (value) => (value === undefined ? "–" : `${value.toFixed(1)} ×`);
    const rows = results.map(({ document, bytes, what, median_ns: m, times_as_fast: t }) => [
        document,
        count(bytes),
        what === "read" ? "read" : "read and write",
        ns(m.causeway),
        ns(m.cJSON),
        ns(m.jansson),
        times(t.cJSON),
        times(t.jansson),
    ]);
    const head = ["document", "bytes", "what", "ours, ns", "cJSON, ns", "jansson, ns"];
    return `## JSON

Our reader checks UTF-8 and refuses duplicate keys; jansson is asked to refuse them too, cJSON cannot. Median of nine
rounds in which the libraries take turns.

${table([...head, "as fast as cJSON", "as jansson"], rows)}

Instructions per byte of a read, by callgrind: ${instructions
        .map(({ document, perByte }) => `${document} ${perByte.toFixed(2)}`)
        .join(", ")}.`;
}

function idle({ plain, tls, nginx, latency }) {
    const rows = [
        ["plain", count(plain.held), kb(plain.each), kb(nginx.plain.each)],
        ["TLS 1.3", count(tls.held), kb(tls.each), kb(nginx.tls.each)],
    ];
    const seen = [
        ["without", us(latency.without.p50), us(latency.without.p99)],
        ["with", us(latency.with.p50), us(latency.with.p99)],
    ];
    return `## Idle connections

Each connection has had one request and its answer. Memory is the growth of the server's resident set divided by the
connections; what the kernel keeps for a socket is not in it.

${table(["", "connections", "Causeway, each", "nginx, each"], rows)}

A healthy client (200 requests a second, every fourth on a new connection), on a server with the idle connections and on one
without, asked in turn:

${table(["idle connections", "p50", "p99"], seen)}`;
}

function slow({ each, seconds, bytes, healthy, thrownOut, rss }) {
    const names = { header: "slow header", body: "slow body", reader: "slow reader" };
    const rows = Object.entries(thrownOut).map(([kind, { thrown_out: n, longest_ms: ms }]) => [
        names[kind],
        count(n),
        n > 0 ? `${(ms / 1000).toFixed(1)} s` : "–",
    ]);
    return `## Slow clients

${count(each)} clients of each kind at once for ${seconds} s: a head without end, a body without end (one byte a second each),
and readers of ${count(bytes)} bytes that take four bytes a second. Who is thrown out comes back within a second. Meanwhile the healthy
client's p50 was ${us(healthy.p50)}, its p99 ${us(healthy.p99)}, its slowest answer ${us(healthy.max)}, and ${healthy.ok} of ${healthy.requests} requests
were answered. The server used ${count(rss / 2 ** 20)} MB, nearly all of it answers that the slow readers do not take.

${table(["kind", "thrown out", "longest stay"], rows)}

The kernel keeps on delivering what it has of an answer after the server has given a slow reader up, so such a client may not
notice.`;
}

function start({ runs, median, worst }) {
    return `## Start

\`causeway serve --listen 127.0.0.1:0\`, from starting the process to the last byte of the answer to its first request:
median of ${runs} runs ${median.toFixed(1)} ms, worst ${worst.toFixed(1)} ms.`;
}

const sections = { http, json, idle, slow, start };

export function writePage(file, { machine: where, parts }) {
    const dates = Object.values(parts).map(({ at }) => at.slice(0, 10));
    const busy = Math.max(...Object.values(parts).map(({ load }) => load));
    const present = Object.entries(sections).filter(([name]) => name in parts);
    const text = `# Benchmarks

<!-- Written by bench/run.mjs --write-docs; change the text in bench/page.mjs. -->

\`make bench\` measures Causeway and its peers in the same run, in turn, because on a shared machine only ratios within one run
mean anything. \`make bench ARGS="--only http,json"\` measures a part, \`ARGS=--quick\` only tries whether everything works, and
\`ARGS=--write-docs\` writes this page. The raw results are in \`build/bench/results.json\`. \`make soak\` is the long run that
watches memory and descriptors.

Last run: ${dates.sort().at(-1)}, \`make bench ARGS=--write-docs\`, load average before a part at most ${busy.toFixed(2)}.

${machine(where)}

${figures(Object.fromEntries(present.map(([name]) => [name, parts[name]])))}

${present.map(([name, section]) => section(parts[name])).join("\n\n")}
`;
    writeFileSync(file, text);
    console.log(`wrote ${file}`);
}
