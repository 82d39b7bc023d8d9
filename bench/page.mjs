// docs/benchmarks.md: the text around the figures, and the figures of the last run.
import { writeFileSync } from "node:fs";

const columns = 120;
const row = (...cells) => `| ${cells.join(" | ")} |`;
const table = (head, rows) =>
    [row(...head), row(...head.map(() => "---")), ...rows.map((cells) => row(...cells))].join("\n");
const count = (n) => Math.round(n).toLocaleString("en");
const kb = (bytes) => `${(bytes / 1024).toFixed(2)} KB`;
const us = (value) => `${count(value)} µs`;
const range = (values) => [Math.min(...values), Math.max(...values)].map((n) => n.toFixed(2)).join(" and ");

// A paragraph, filled to the width of the page whatever its line breaks here.
function paragraph(text) {
    const lines = [""];
    for (const word of text.trim().split(/\s+/)) {
        const longer = `${lines.at(-1)} ${word}`.trimStart();
        if (longer.length <= columns) {
            lines[lines.length - 1] = longer;
        } else {
            lines.push(word);
        }
    }
    return lines.join("\n");
}

const blocks = (...all) => all.join("\n\n");

function machine({ processor, cores, memoryGb, kernel, system, pinning, packages }) {
    const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`);
    return paragraph(`
        Machine: ${processor}, ${cores} ${cores === 1 ? "core" : "cores"}, ${memoryGb} GB, Linux
        ${kernel}, ${system}; ${pinning ? "server and load pinned to one core each" : "nothing pinned"}.
        Packages: ${versions.join(", ")}.`);
}

function figures(parts) {
    const rows = parts.flatMap((part) => part.figures);
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
    return blocks(
        "## A 2 KB answer from memory",
        paragraph(`
            ${connections} keep-alive connections, one server thread, \`wrk -t1\`; nginx with one
            worker answers the same bytes by \`return 200\`; no access log on either. ${pairs} pairs
            of ${seconds} s after a warm-up, the order turned round in every other pair. Processor
            time is what the scheduler counted for all threads of the server (\`schedstat\`), kernel
            time included, divided by the answers that wrk counted. The ratios of the pairs lie
            between ${range(ratios)}.`),
        table(["server", "CPU per request, µs", "requests/s"], rows),
        paragraph(`
            Requests per second depend on the load generator as much as on the server; processor time
            per request does not.`),
    );
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
    const counted = instructions.map(({ document, perByte }) => `${document} ${perByte.toFixed(2)}`);
    return blocks(
        "## JSON",
        paragraph(`
            Our reader checks UTF-8 and refuses duplicate keys; jansson is asked to refuse them too,
            cJSON cannot. Medians of nine rounds in which the libraries take turns.`),
        table([...head, "as fast as cJSON", "as jansson"], rows),
        paragraph(`Instructions per byte of a read, by callgrind: ${counted.join(", ")}.`),
    );
}

function auth({ token, none, ratios, pairs, seconds, connections: held, bytes, ...more }) {
    const { cache, memory, checks } = more;
    const mb = (n) => `${(n / 2 ** 20).toFixed(1)} MB`;
    const rows = checks.map(({ what, bytes, median_ns: ns }) => [
        what === "cached" ? "any, in the cache" : what,
        count(bytes),
        (ns / 1000).toFixed(1),
    ]);
    return blocks(
        "## Bearer tokens",
        paragraph(`
            \`make bench ARGS="--only auth"\`. The echo tool called through \`/mcp\` with a JWT
            (RS256, ${count(bytes)} bytes) that an earlier request has shown, and without a token, on
            the same server. Processor time is that of the server and its workers together. ${held}
            connections, ${pairs} pairs of ${seconds} s; the ratios lie between ${range(ratios)}.`),
        callRows({ "JWT in the cache": token, "no token": none }),
        paragraph(`
            Then ${count(memory.count)} calls on a fresh server, each with another valid JWT (ES256)
            of another subject. A loop remembers at most ${count(cache.entries)} tokens and
            ${mb(cache.bytes)} of what is known about their callers. The first
            ${count(memory.first)} made its resident set grow by ${mb(memory.filling)}, all others by
            ${mb(memory.rest)}.`),
        paragraph(`
            The check alone, by \`bench_jwt\`: taking a token apart, its signature and its claims, in
            processor time of one thread; the median of nine rounds. RSA keys have 2048 bits. What is
            in the cache costs a keyed digest of the token and a lookup among 5,000.`),
        table(["algorithm", "bytes", "µs"], rows),
    );
}

function schema({ results: { ours, ajv, blaze } }) {
    const ns = (value) => count(Math.round(value));
    const rows = Object.keys(ours).map((name) => [
        name,
        count(ours[name].bytes),
        ns(ours[name].validate),
        ns(ajv[name].validate),
        ns(blaze[name].validate),
        ns(ours[name].both),
        ns(ajv[name].both),
        (ours[name].compile / 1000).toFixed(1),
    ]);
    const head = ["document", "bytes", "validate, ns", "ajv", "Blaze", "parse and validate, ns"];
    return blocks(
        "## JSON Schema",
        paragraph(`
            Four schemas of 2020-12 with one valid document each: five flat parameters, three nested
            levels with references and patterns, an array of 1,000 objects, and unevaluated
            properties. Times are the best of many batches, in rounds in which the three take turns;
            ajv is warmed up and works on parsed data, Blaze is \`jsonschema validate --fast
            --benchmark\`, its mean. Compiling includes the check against the meta-schema.`),
        table([...head, "JSON.parse and ajv", "compile, µs"], rows),
    );
}

function idle({ plain, tls, nginx, latency }) {
    const weights = [
        ["plain", count(plain.held), kb(plain.each), kb(nginx.plain.each)],
        ["TLS", count(tls.held), kb(tls.each), kb(nginx.tls.each)],
    ];
    const seen = ["without", "with"].map((name) => [name, us(latency[name].p50), us(latency[name].p99)]);
    return blocks(
        "## Idle connections",
        paragraph(`
            Each connection has had one request and its answer. Memory is the growth of the server's
            resident set divided by the connections; what the kernel keeps for a socket is not in it.`),
        table(["", "connections", "Causeway, each", "nginx, each"], weights),
        paragraph(`
            A healthy client (200 requests a second, every fourth on a new connection) asks a server
            with the idle connections and one without in turn. Medians of ${latency.ratios.length}
            rounds; the ratios of p99 lie between ${range(latency.ratios)}.`),
        table(["idle connections", "p50", "p99"], seen),
    );
}

function slow({ each, seconds, bytes, healthy, thrownOut, rss, stillOpen }) {
    const names = { header: "slow header", body: "slow body", reader: "slow reader" };
    const rows = Object.entries(thrownOut).map(([kind, { thrown_out: n, longest_ms: ms }]) => [
        names[kind],
        count(n),
        n > 0 ? `${(ms / 1000).toFixed(1)} s` : "–",
    ]);
    return blocks(
        "## Slow clients",
        paragraph(`
            ${count(each)} clients of each kind at once for ${seconds} s: a head without end, a body
            without end (one byte a second each), and readers of ${count(bytes)} bytes that take four
            bytes a second. Who is thrown out comes back within a second. Meanwhile the healthy
            client's p50 was ${us(healthy.p50)}, its p99 ${us(healthy.p99)}, its slowest answer took
            ${us(healthy.max)}, and ${count(healthy.ok)} of ${count(healthy.requests)} requests were
            answered. The server used up to ${count(rss / 2 ** 20)} MB, nearly all of it answers that
            the slow readers do not take; at the end it had ${count(stillOpen)} of the
            ${count(3 * each)} connections open.`),
        table(["kind", "saw that it was thrown out", "longest stay"], rows),
        paragraph(`
            A slow reader may not see that it was given up: the kernel can go on delivering what it
            has of the answer.`),
    );
}

function start({ runs, median, worst }) {
    return blocks(
        "## Start",
        paragraph(`
            \`causeway serve --listen 127.0.0.1:0\`, from starting the process to the last byte of the
            answer to its first request: median of ${runs} runs ${median.toFixed(1)} ms, worst
            ${worst.toFixed(1)} ms.`),
    );
}

const callRows = (servers) =>
    table(
        ["server", "CPU per call, µs", "calls/s"],
        Object.entries(servers).map(([name, { cpuUs, perSecond }]) => [name, cpuUs.toFixed(2), count(perSecond)]),
    );

function plugin({ ours, nginx, ratios, pairs, seconds, connections, half }) {
    return blocks(
        "## A tool of a plugin",
        paragraph(`
            \`tools/call\` of an echo tool (2026-07-28, a message of 57 bytes) over ${connections}
            keep-alive connections, one loop; nginx answers a GET with 2 KB by \`return\`. Processor
            time is that of the server and its workers together. ${pairs} pairs of ${seconds} s; the
            ratios lie between ${range(ratios)}. At half the full rate (${count(half.rate)} calls a
            second, evenly spaced, each timed from when it was due) p50 is ${us(half.p50)} and p99
            ${us(half.p99)}; nginx at the same rate, in turn: ${us(half.nginx.p50)} and
            ${us(half.nginx.p99)}. Medians of ${half.rounds} rounds of a second.`),
        callRows({ Causeway: ours, nginx }),
    );
}

function forward({ ours, nginx, ratios, pairs, seconds, connections, time, secure, slow: busy }) {
    return blocks(
        "## A forwarded call",
        paragraph(`
            \`make bench ARGS="--only forward"\`. The same \`tools/call\`, forwarded as JSON-RPC
            to a service that is a small C program; arguments and result are validated by the schemas
            of an OpenRPC file. nginx passes the request as it is on to the same service
            (\`proxy_pass\` with keep-alive). One loop, one worker, ${connections} connections,
            ${pairs} pairs of ${seconds} s; the ratios lie between ${range(ratios)}.`),
        callRows({ Causeway: ours, "nginx proxy_pass": nginx }),
        paragraph(`
            At ${count(time.rate)} calls a second, evenly spaced, p50 is ${us(time.ours)}, with nginx
            ${us(time.nginx)}, and ${us(time.service)} when the service is asked without anybody
            between: Causeway adds ${us(time.added)}. Medians of ${time.rounds} rounds of a second, in
            turn; in them what it adds is between ${range(time.ratios)} times nginx's p50.`),
        paragraph(`
            Over https another nginx, which is not counted, takes TLS off in front of the same
            service. Causeway and nginx both verify its certificate and keep their connections; the
            ratios lie between ${range(secure.ratios)}.`),
        callRows({ "Causeway, https": secure.ours, "nginx proxy_pass, https": secure.nginx }),
        paragraph(`
            ${count(busy.calls)} calls at once of a service that answers after a second
            (\`connections: ${busy.calls}\`, all opened for them): the last answer came after
            ${count(busy.ms)} ms, the median of ${busy.runs} runs, at worst after
            ${count(busy.worst)} ms, and the server's resident set was
            ${(busy.peak / 2 ** 20).toFixed(1)} MB at most.`),
    );
}

function mcp({ ours, sdk: peer, ratios, pairs, seconds, connections, list, memory, first }) {
    const mb = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MB`;
    return blocks(
        "## The official SDK",
        paragraph(`
            The same echo tool on a server made with the TypeScript SDK 2.4.0
            (\`bench/bridge/sdk-server.mjs\`, Node 22). Arguments are validated and permissions
            checked, and the processes of the plugin are counted. ${connections} connections,
            ${pairs} pairs of ${seconds} s. \`tools/call\`: calls per second of processor time are
            between ${range(ratios)} times the SDK's.`),
        callRows({ Causeway: ours, "TypeScript SDK": peer }),
        paragraph(`\`tools/list\`: between ${range(list.ratios)} times.`),
        callRows({ Causeway: list.ours, "TypeScript SDK": list.sdk }),
        paragraph(`
            Idle after one call, all processes have a proportional set size of ${mb(memory.ours)}, the
            SDK's server ${mb(memory.sdk)}. On stdio, from starting the program to the end of its
            first answer to \`tools/list\`: ${first.ours.toFixed(1)} ms, SDK ${first.sdk.toFixed(1)} ms
            (medians of rounds in turn; the ratios lie between ${range(first.ratios)}).`),
    );
}

function listen({ count: held, runs, each, ms, worst }) {
    return blocks(
        "## Streams that wait for changes",
        paragraph(`
            ${count(held)} connections with an open \`subscriptions/listen\` at one loop:
            ${kb(each)} each, the growth of the server's memory divided by the streams. Then a plugin
            with 100 tools is put into the folder: all of them have been told after
            ${ms.toFixed(0)} ms, at worst ${worst.toFixed(0)} ms, loading of the plugin included.
            Medians of ${runs} runs.`),
    );
}

function examples({ processes, pss, rss, runs, median, worst }) {
    const mb = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MB`;
    return blocks(
        "## With the example plugins",
        paragraph(`
            What \`make run\` starts, after a few calls and idle since: ${processes}
            processes with a proportional set size of ${mb(pss)} together (resident sets: ${mb(rss)},
            shared pages counted in each). From starting the program to the end of the first answer
            to \`tools/list\`: median of ${runs} runs ${median.toFixed(1)} ms, worst
            ${worst.toFixed(1)} ms.`),
    );
}

function lists({ ours, nginx, ratios, pairs, seconds, connections, bytes, sizes }) {
    return blocks(
        "## A page of tools",
        paragraph(`
            \`GET /mcp/tools/list\` of an anonymous caller, 50 tools, ${count(bytes)} bytes, warm;
            nginx sends the same bytes as a file (\`sendfile\`, \`open_file_cache\`). ${connections}
            connections, ${pairs} pairs of ${seconds} s; the ratios lie between ${range(ratios)}.`),
        callRows({ Causeway: ours, nginx }),
        paragraph(`
            The same page of a server with 100,000 tools, in turn with the one that has 100; the
            ratios lie between ${range(sizes.ratios)}.`),
        callRows({ "100,000 tools": sizes.large, "100 tools": sizes.small }),
    );
}

function invoke({ invoke: account, jsonrpc, ratios, pairs, seconds, connections }) {
    return blocks(
        "## A call by an account",
        paragraph(`
            The same tool with the same arguments, which are validated as its result is: through
            \`/mcp/tools/invoke\` by an account (HTTP Basic, the password known from an earlier
            request; one role gives the permission that the tool wants), and through \`/jsonrpc\`
            without an account. Processor time is that of the server and its workers together.
            ${connections} connections, ${pairs} pairs of ${seconds} s; the ratios lie between
            ${range(ratios)}.`),
        callRows({ "account, /mcp/tools/invoke": account, "anonymous, /jsonrpc": jsonrpc }),
    );
}

function catalogue({ runs, tools, definition }) {
    const mb = (n) => `${(n / 2 ** 20).toFixed(1)} MB`;
    return blocks(
        "## A large catalogue",
        paragraph(`
            ${count(tools)} tools, no two alike, of ten plugins; a tool is ${Math.round(definition)}
            bytes as clients read it, with three parameters and a result, each with a schema of its
            own that is checked. Processor time is the server's, from its start until everything is
            published, less that of a server with 100 tools; memory is the growth of its resident
            set against that server. Then all ten plugins are replaced at once. Limit of the memory:
            1 KB and 1.5 times the bytes of the tool.`),
        table(
            ["built in", "memory of a tool", "after the reload", "steady", "peak of the reload"],
            runs.map((one) => [
                `${(one.buildMs / 1000).toFixed(2)} s`,
                `${Math.round(one.bytes)} B`,
                `${Math.round(one.afterBytes)} B`,
                mb(one.steady),
                mb(one.peak),
            ]),
        ),
    );
}

function fairness({ seconds, rows }) {
    const ms = (us) => `${(us / 1000).toFixed(2)} ms`;
    const cells = rows.map(({ name, about, alone, attacked, ratio }) => [
        `\`${name}\`: ${about.replaceAll(/\s+/g, " ")}`,
        ms(alone.p99),
        ms(attacked.p99),
        `${ratio.toFixed(2)} ×`,
        `${count(attacked.failed)} of ${count(attacked.requests)}`,
    ]);
    return blocks(
        "## A hostile client",
        paragraph(`
            \`make bench ARGS="--only fairness"\`. A healthy client asks for ${seconds} s alone, and for
            ${seconds} s while one hostile client of one kind works against it. The hostile client has
            another address and the lowest priority, so that cores are not the contest; the server has
            one event loop. Times are those of the healthy client.`),
        table(["hostile client", "p99 alone", "p99 meanwhile", "ratio", "failed"], cells),
    );
}

const sections = {
    ...{ http, json, schema, idle, slow, start, plugin, forward, mcp, listen, examples },
    ...{ auth, lists, invoke, catalogue, fairness },
};
// Above this part of the machine used by others, figures are only preliminary.
export const mostBusy = 0.1;

// Where the figures come from: one line when one quiet run made them all, otherwise every part by
// itself and a warning.
function origin(parts) {
    const [first] = parts.map(([, { run }]) => run);
    const plain = ({ policy, nice }) => policy === "normal" && nice === 0;
    const one = parts.every(([, { run }]) => run.began === first.began);
    const percent = (busy) => `${Math.round(busy * 100)} %`;
    const busiest = Math.max(...parts.map(([, { busy }]) => busy));
    if (one && plain(first) && busiest <= mostBusy) {
        return paragraph(`
            Last run: ${first.began.slice(0, 10)}, \`${first.command}\`; load average at its begin
            ${first.load.toFixed(2)}, at most ${percent(busiest)} of the machine used by other programs
            during a part.`);
    }
    const rows = parts.map(([name, { run, busy }]) => [
        name,
        run.began.slice(0, 16).replace("T", " "),
        `\`${run.command}\``,
        plain(run) ? "normal" : `${run.policy}, nice ${run.nice}`,
        percent(busy),
    ]);
    return blocks(
        paragraph(`
            **Preliminary:** these figures do not come from one run on a quiet machine at normal
            priority. Times and tails are off; ratios within a part are less so.`),
        table(["part", "begun (UTC)", "command", "priority", "used by others"], rows),
    );
}

export function writePage(file, { machine: where, parts }) {
    const present = Object.keys(sections).filter((name) => name in parts);
    const text = blocks(
        "# Benchmarks",
        "<!-- Written by bench/run.mjs --write-docs; the text is in bench/page.mjs. -->",
        paragraph(`
            \`make bench\` measures Causeway and its peers in the same run, in turn: on a shared
            machine only ratios within one run mean much. \`make bench ARGS="--only http,json"\`
            measures a part, \`ARGS=--quick\` only tries whether everything works, and
            \`ARGS=--write-docs\` writes this page. The raw results are in
            \`build/bench/results.json\`. \`make soak\` is the long run that watches memory and
            descriptors.`),
        origin(present.map((name) => [name, parts[name]])),
        machine(where),
        figures(present.map((name) => parts[name])),
        ...present.map((name) => sections[name](parts[name])),
    );
    writeFileSync(file, `${text}\n`);
    console.log(`wrote ${file}`);
}
