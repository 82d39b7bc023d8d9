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
        "## A 2 KB response from memory",
        paragraph(`
            ${connections} keep-alive connections, one server thread, \`wrk -t1\`. nginx with one worker
            returns the same bytes by \`return 200\`. Neither writes an access log. ${pairs} pairs of
            ${seconds} s after a warm-up; every other pair runs in reverse order. CPU is the time that
            the scheduler counted for all threads of the server (\`schedstat\`), including kernel time,
            divided by the number of responses. The ratios of the pairs are between ${range(ratios)}.`),
        table(["server", "CPU per request, µs", "requests/s"], rows),
        paragraph(`
            Requests per second also depend on the load generator; CPU per request does not.`),
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
    const head = ["document", "bytes", "operation", "Causeway, ns", "cJSON, ns", "jansson, ns"];
    const counted = instructions.map(({ document, perByte }) => `${document} ${perByte.toFixed(2)}`);
    return blocks(
        "## JSON",
        paragraph(`
            Causeway's parser checks UTF-8 and rejects duplicate keys. jansson is configured to reject
            them too; cJSON cannot. Medians of nine rounds; in each round the libraries take turns.`),
        table([...head, "speed, times cJSON", "speed, times jansson"], rows),
        paragraph(`Instructions per byte, measured with callgrind: ${counted.join(", ")}.`),
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
            \`make bench ARGS="--only auth"\`. The echo tool is called through \`/mcp\`, with a JWT
            (RS256, ${count(bytes)} bytes) of an earlier request and without a token, on the same
            server. CPU includes the plugin workers. ${held} connections, ${pairs} pairs of
            ${seconds} s; the ratios are between ${range(ratios)}.`),
        callRows({ "JWT in the cache": token, "no token": none }),
        paragraph(`
            Then ${count(memory.count)} calls on a new server, each with another valid JWT (ES256) of
            another subject. A loop caches at most ${count(cache.entries)} tokens and
            ${mb(cache.bytes)} of data about their callers. The resident set grew by
            ${mb(memory.filling)} with the first ${count(memory.first)}, and by ${mb(memory.rest)} with
            all others.`),
        paragraph(`
            \`bench_jwt\` measures the check alone: parsing, signature and claims, as CPU of one thread.
            Medians of nine rounds. RSA keys have 2048 bits. A cached token costs a keyed digest and a
            lookup among 5,000.`),
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
            Four 2020-12 schemas with one valid document each. They have five flat parameters, three nested
            levels with references and patterns, an array of 1,000 objects, and unevaluated properties. Times
            are the best of many batches; the three validators take turns. ajv is warmed up and validates parsed
            data. Blaze is the mean of \`jsonschema validate --fast --benchmark\`. Compile time includes
            validation against the meta-schema.`),
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
            Each connection has served one request. Memory is the growth of the server's resident set
            divided by the number of connections, without the kernel's socket buffers.`),
        table(["", "connections", "Causeway, each", "nginx, each"], weights),
        paragraph(`
            A healthy client sends 200 requests per second, every fourth on a new connection. It alternates
            between a server with the idle connections and one without. Medians of
            ${latency.ratios.length} rounds; the ratios of p99 are between ${range(latency.ratios)}.`),
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
            ${count(each)} clients of each kind run at once for ${seconds} s. They send an endless head,
            send an endless body (one byte per second each), or read ${count(bytes)} bytes at four bytes
            per second. A disconnected client reconnects within a second. Meanwhile the healthy client
            measured a p50 of ${us(healthy.p50)}, a p99 of ${us(healthy.p99)} and a maximum of ${us(healthy.max)}. ${count(healthy.ok)} of ${count(healthy.requests)} requests succeeded. The
            server used at most ${count(rss / 2 ** 20)} MB, mostly for unread responses. At the end
            ${count(stillOpen)} of ${count(3 * each)} connections were open.`),
        table(["kind", "observed disconnections", "longest connection"], rows),
        paragraph(`
            A slow reader may miss its disconnection, because the kernel still delivers buffered data.`),
    );
}

function readers({ readers: n, size, bytes, rate, seconds, rounds, ours, nginx, ratios }) {
    const ms = (value) => `${(value / 1000).toFixed(2)} ms`;
    const rows = Object.entries({ Causeway: ours, nginx }).map(([name, { p50, p99, max, cpuMs, rss }]) => [
        name,
        ...[p50, p99, max].map(ms),
        `${count(cpuMs)} ms`,
        `${count(rss / 2 ** 20)} MB`,
    ]);
    return blocks(
        "## Slow readers",
        paragraph(`
            \`make bench ARGS="--only readers"\`. A healthy client makes ${rate} calls per second for
            ${seconds} s on connections of its own. After half a second ${count(n)} other clients connect at once.
            Each asks for a tool list of ${count(size)} bytes, reads nothing for a second, and then reads
            ${count(bytes)} bytes every 100 ms. nginx sends the same bytes from a file to the same readers, and the
            healthy client fetches a small file. The readers have the lowest priority. Medians of ${rounds} rounds;
            the ratios of p99 are between ${range(ratios)}. CPU and memory include the plugin workers.`),
        table(["server", "p50", "p99", "maximum", "CPU", "memory"], rows),
    );
}

function start({ runs, median, worst }) {
    return blocks(
        "## Start",
        paragraph(`
            \`causeway serve --listen 127.0.0.1:0\`, from the start of the process to the last byte of the
            first response: median of ${runs} runs ${median.toFixed(1)} ms, worst ${worst.toFixed(1)} ms.`),
    );
}

const callRows = (servers) =>
    table(
        ["server", "CPU per call, µs", "calls/s"],
        Object.entries(servers).map(([name, { cpuUs, perSecond }]) => [name, cpuUs.toFixed(2), count(perSecond)]),
    );

function plugin({ ours, nginx, ratios, pairs, seconds, connections, half }) {
    return blocks(
        "## Plugin tools",
        paragraph(`
            \`tools/call\` of an echo tool (2026-07-28, a message of 57 bytes) over ${connections}
            keep-alive connections and one loop. nginx returns 2 KB for a GET. CPU includes the plugin
            workers. ${pairs} pairs of ${seconds} s; the ratios are between ${range(ratios)}. Then
            ${count(half.rate)} calls per second, half the full rate, are evenly spaced, and each is timed
            from its due time. p50 is ${us(half.p50)} and p99 ${us(half.p99)}; nginx at the same rate has
            ${us(half.nginx.p50)} and ${us(half.nginx.p99)}. Medians of ${half.rounds} rounds of one
            second.`),
        callRows({ Causeway: ours, nginx }),
    );
}

function forward({ ours, nginx, ratios, pairs, seconds, connections, time, secure, slow: busy }) {
    return blocks(
        "## Forwarded calls",
        paragraph(`
            \`make bench ARGS="--only forward"\`. The same \`tools/call\`, forwarded as JSON-RPC to a
            small C program. Arguments and result are validated with the schemas of an OpenRPC file. nginx
            forwards the request unchanged to the same service (\`proxy_pass\` with keep-alive). One loop,
            one worker, ${connections} connections, ${pairs} pairs of ${seconds} s; the ratios are between
            ${range(ratios)}.`),
        callRows({ Causeway: ours, "nginx proxy_pass": nginx }),
        paragraph(`
            At ${count(time.rate)} evenly spaced calls per second, p50 is ${us(time.ours)} with Causeway,
            ${us(time.nginx)} with nginx, and ${us(time.service)} without a gateway. Causeway adds
            ${us(time.added)}, between ${range(time.ratios)} times nginx's p50. Medians of
            ${time.rounds} rounds of one second; the servers take turns.`),
        paragraph(`
            For https, another nginx terminates TLS in front of the same service; its CPU is not counted.
            Causeway and nginx both verify its certificate and reuse connections. The ratios are between
            ${range(secure.ratios)}.`),
        callRows({ "Causeway, https": secure.ours, "nginx proxy_pass, https": secure.nginx }),
        paragraph(`
            ${count(busy.calls)} concurrent calls of a service that answers after one second
            (\`connections: ${busy.calls}\`, all newly opened). The last response arrived after
            ${count(busy.ms)} ms, the median of ${busy.runs} runs; the worst run took
            ${count(busy.worst)} ms. The
            server's resident set was at most ${(busy.peak / 2 ** 20).toFixed(1)} MB.`),
    );
}

function mcp({ ours, sdk: peer, ratios, pairs, seconds, connections, list, memory, first }) {
    const mb = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MB`;
    return blocks(
        "## TypeScript SDK",
        paragraph(`
            The same echo tool on a server made with the TypeScript SDK 2.4.0
            (\`bench/bridge/sdk-server.mjs\`, Node 22). Causeway validates arguments and checks permissions,
            and its CPU includes the plugin workers. ${connections} connections, ${pairs} pairs of
            ${seconds} s. \`tools/call\`: Causeway serves between ${range(ratios)} times as many calls per
            second of CPU.`),
        callRows({ Causeway: ours, "TypeScript SDK": peer }),
        paragraph(`\`tools/list\`: between ${range(list.ratios)} times as many.`),
        callRows({ Causeway: list.ours, "TypeScript SDK": list.sdk }),
        paragraph(`
            Idle after one call, the proportional set size of all processes is ${mb(memory.ours)}; the SDK's
            server has ${mb(memory.sdk)}. On stdio, the time from the start of the program to the first
            response to \`tools/list\` is ${first.ours.toFixed(1)} ms; the SDK takes
            ${first.sdk.toFixed(1)} ms. These are medians; the ratios are between ${range(first.ratios)}.`),
    );
}

function listen({ count: held, runs, each, ms, worst }) {
    return blocks(
        "## Subscriptions",
        paragraph(`
            ${count(held)} connections with an open \`subscriptions/listen\` on one loop take ${kb(each)} each (the growth of the server's memory). Then a plugin with 100
            tools is added. All streams are notified after ${ms.toFixed(0)} ms, at worst
            ${worst.toFixed(0)} ms, including the load of the plugin. Medians of ${runs} runs.`),
    );
}

function examples({ processes, pss, rss, runs, median, worst }) {
    const mb = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MB`;
    return blocks(
        "## Example plugin",
        paragraph(`
            \`make run\`, idle after a few calls: ${processes} processes with a proportional set size of
            ${mb(pss)} together. Their resident sets, which count shared pages in each, are ${mb(rss)}. From the
            start of the program to the first response to \`tools/list\`: median of ${runs} runs
            ${median.toFixed(1)} ms, worst ${worst.toFixed(1)} ms.`),
    );
}

function lists({ ours, nginx, ratios, pairs, seconds, connections, bytes, sizes }) {
    return blocks(
        "## Tool lists",
        paragraph(`
            \`GET /mcp/tools/list\` of an anonymous caller: 50 tools, ${count(bytes)} bytes, cached. nginx
            sends the same bytes from a file (\`sendfile\`, \`open_file_cache\`). ${connections}
            connections, ${pairs} pairs of ${seconds} s; the ratios are between ${range(ratios)}.`),
        callRows({ Causeway: ours, nginx }),
        paragraph(`
            The same page from a server with 100,000 tools and from one with 100 tools; the ratios are
            between ${range(sizes.ratios)}.`),
        callRows({ "100,000 tools": sizes.large, "100 tools": sizes.small }),
    );
}

function invoke({ invoke: account, jsonrpc, ratios, pairs, seconds, connections }) {
    return blocks(
        "## Authenticated calls",
        paragraph(`
            The same tool with the same arguments is called in two ways. An account calls it through
            \`/mcp/tools/invoke\` (HTTP Basic with a cached login; one role grants the permission). An
            anonymous caller uses \`/jsonrpc\`. Arguments and result are validated in both. CPU includes the
            plugin workers. ${connections} connections, ${pairs} pairs of ${seconds} s; the ratios are between
            ${range(ratios)}.`),
        callRows({ "account, /mcp/tools/invoke": account, "anonymous, /jsonrpc": jsonrpc }),
    );
}

// The counts of calls at commit 3fdfced, in the order of the rows behind the lists.
const formerCalls = [20_040, 15_641, 24_177, 444_831, 26_174, 535_087];

function comparedCalls(rows) {
    const calls = rows.slice(-formerCalls.length);
    const more = Math.max(...calls.map(({ each }, i) => each / formerCalls[i])) - 1;
    const percent = (Math.abs(more) * 100).toFixed(1);
    return more > 0
        ? `A call costs at most ${percent} % more than there.`
        : `Each call costs at least ${percent} % less than there.`;
}

function instructions({ rows }) {
    return blocks(
        "## Instructions",
        paragraph(`
            \`make bench ARGS="--only instructions"\`. Instructions of the \`causeway\` process per
            request, counted by callgrind. The kernel, the plugin workers and the service do not count.
            One client sends requests one after the other over one connection; the server has one event
            loop. Each value is the difference between two runs, divided by the difference of their
            numbers of requests. Start-up therefore does not count.`),
        table(
            ["request", "requests in the two runs", "instructions"],
            rows.map(({ name, few, many, each }) => [name, `${count(few)} and ${count(many)}`, count(each)]),
        ),
        paragraph(`
            Counts of the same part at commit 3fdfced, before portable names and schemas were the default: call of
            a plugin 20,040, \`/jsonrpc\` 15,641, forwarded over HTTP 24,177 and 444,831, forwarded over a WebSocket
            26,174 and 535,087. ${comparedCalls(rows)}`),
    );
}

function catalogue({ runs, tools, definition }) {
    const mb = (n) => `${(n / 2 ** 20).toFixed(1)} MB`;
    return blocks(
        "## Large catalogue",
        paragraph(`
            ${count(tools)} different tools of ten plugins. The definition of a tool has
            ${Math.round(definition)} bytes, with three parameters and a result, each with its own validated
            schema. CPU is the server's, from its start until all tools are published, minus that of a server
            with 100 tools. Memory is the growth of the resident set against that server. Then all ten plugins
            are replaced at once. The memory limit is 1 KB plus 1.5 times the bytes of the tool.`),
        table(
            ["build time", "memory per tool", "after a reload", "steady state", "peak of the reload"],
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

function portable({ runs, tools }) {
    const ms = (n) => `${count(n)} ms`;
    return blocks(
        "## Rewritten schemas",
        paragraph(`
            \`make bench ARGS="--only portable"\`. ${count(tools)} tools of one source, each with a schema that
            must be rewritten for model APIs. CPU is the server's, from its start until all tools are published,
            and until two callers have listed all of them. \`mcp.schemas\` is \`exact\` and \`portable\` in turn.`),
        table(
            ["exact: published", "exact: listed", "portable: published", "portable: listed", "ratio"],
            runs.map(({ exact, portable: other, ratio }) => [
                ...[exact.published, exact.total, other.published, other.total].map(ms),
                `${ratio.toFixed(2)} ×`,
            ]),
        ),
    );
}

function mcpSource({ calls, lists: many }) {
    const { ours, nginx, ratios, pairs, seconds, connections, time } = calls;
    return blocks(
        "## MCP servers as sources",
        paragraph(`
            \`make bench ARGS="--only mcp-source"\`. A \`tools/call\` through Causeway to an MCP server, which is a second
            Causeway with the echo plugin. nginx forwards the call unchanged to the same server. One loop,
            ${connections} connections, ${pairs} pairs of ${seconds} s; the ratios are between ${range(ratios)}.`),
        callRows({ Causeway: ours, "nginx proxy_pass": nginx }),
        paragraph(`
            At ${count(time.rate)} evenly spaced calls per second, p50 is ${us(time.ours)} with Causeway,
            ${us(time.nginx)} with nginx, and ${us(time.service)} without a relay. A list of ${count(many.tools)}
            tools from ten MCP servers takes between ${range(many.ratios)} times the CPU of a list from one.`),
    );
}

function toolsets({ sources, lean, hits, queryMs, questions, searched }) {
    const percent = (part) => `${(part * 100).toFixed(1)} %`;
    const measured = Object.entries(lean).filter(([, one]) => one);
    return blocks(
        "## Toolsets",
        paragraph(`
            \`make bench ARGS="--only toolsets"\`. A list of ${count(sources.tools)} tools costs
            ${sources.ratio.toFixed(2)} × as much CPU from ten sources as from one. Tokens are bytes / 4. A lean list
            has \`output_schemas: none\`, \`descriptions: short\` and \`input_schemas: signature\`. Delta Chat is
            measured where \`deltachat-rpc-server\` is installed.`),
        table(
            ["list", "client", "tools", "full, tokens", "lean, tokens", "part"],
            measured.flatMap(([name, one]) =>
                Object.entries({ legacy: one, modern: one.modern }).map(([era, { full, lean: less }]) => [
                    ...[name, era],
                    ...[one.tools, full, less].map(count),
                    percent(less / full),
                ]),
            ),
        ),
        paragraph(`
            ${questions} questions (bench/catalogue/questions.json) for tools of a generated catalogue of
            ${count(searched)}, with sixteen tools for each thing. Half are made from the tools' own texts. The other
            half are requests of a user, in other words than the name and the description of the tool where English has
            them. The table has the part whose tool is among the first results. The goal is 95 % among the first 8. A
            query among 10,000 tools takes ${queryMs.toFixed(2)} ms of CPU, with its HTTP request.`),
        table(
            ["questions", "first", "first 5", "first 8"],
            [
                ["all", ...hits.all.map(percent)],
                ["own texts", ...hits.own.map(percent)],
                ["paraphrased", ...hits.paraphrased.map(percent)],
                ["held out", ...hits.heldOut.map(percent)],
                ["held out, later", ...hits.later.map(percent)],
            ],
        ),
        paragraph(`
            The phrases, the topics and the weights of the search were made after the misses among the paraphrased
            questions had been read, and with the subjects of this catalogue in mind. So the line of the paraphrased
            questions is too good. The held-out lines show what other requests can expect: the goal is missed for them.
            Nothing was changed because of them:`),
        `- The 100 held-out requests (held-out-questions.json) have another author than the thesaurus of today. They were not read, and
  were measured four times: 76.0 %, 78.0 %, and twice the line above.
- The 80 later requests (later-questions.json) are for tools that were drawn at random, and were written last. Their
  misses were read after the first measurement, the later ones had the same result. 80 others, at 82.5 % first, had been read
  and used before.`,
        paragraph(`
            Most misses need knowledge of the world ("until when must we keep quiet" for an embargo), which a search by
            words lacks.`),
    );
}

function matrix({ runs, tools, roles, bytes }) {
    return blocks(
        "## Access matrix",
        paragraph(`
            \`make bench ARGS="--only matrix"\`. One call of \`causeway.access.matrix\` on \`/jsonrpc\`, for
            ${count(tools)} tools and ${roles} roles. Each tool requires a permission of its own. CPU is the
            server's, with the gate, the validation of the result and its ${count(bytes)} bytes.`),
        table(
            ["CPU of a call"],
            runs.map((ms) => [`${ms.toFixed(1)} ms`]),
        ),
    );
}

function metrics({ runs, hold: { packed, plain } }) {
    const us = (ms) => `${ms.toFixed(0)} µs`;
    const [{ tools, sources, scrape_bytes: bytes }] = runs;
    return blocks(
        "## Metrics",
        paragraph(`
            \`make bench ARGS="--only metrics"\`. All counts of one tool call over MCP, with one reading of the clock;
            and one scrape in OpenMetrics of ${tools} tools and ${sources} sources (${count(bytes)} bytes before
            gzip), summed over 5 threads. CPU time of one thread, the median of 9 rounds. No count allocates memory.
            A scrape is summed, written and compressed on a thread of libuv's pool.`),
        table(
            ["counts of a call", "allocated", "scrape"],
            runs.map((one) => [
                `${one.call_ns} ns`,
                `${one.call_bytes} bytes`,
                `${(one.scrape_us / 1000).toFixed(2)} ms`,
            ]),
        ),
        paragraph(`
            The event loop receives the request and sends the response, at most 64 KB in one turn. CPU time of its
            thread for one scrape of a server with 50 services and 200 tools that were called, in all turns together:`),
        table(
            ["response", "bytes", "CPU of the loop"],
            [
                ["gzip", count(packed.bytes), us(packed.us)],
                ["not compressed", count(plain.bytes), us(plain.us)],
            ],
        ),
    );
}

function fairness({ seconds, rounds, rows }) {
    const ms = (us) => `${(us / 1000).toFixed(2)} ms`;
    const cells = rows.map(({ name, about, alone, attacked, ratio, worst, failed, requests, counts }) => [
        `\`${name}\`: ${about.replaceAll(/\s+/g, " ")}`,
        ms(alone.p99),
        ms(attacked.p99),
        `${ratio.toFixed(2)} ×`,
        `${worst.toFixed(2)} ×`,
        `${count(failed)} of ${count(requests)}`,
        Object.entries(counts)
            .map(([what, n]) => `${what}: ${count(n)}`)
            .join(", "),
    ]);
    return blocks(
        "## Hostile clients",
        paragraph(`
            \`make bench ARGS="--only fairness"\`. A healthy client asks for ${seconds} s alone, and for
            ${seconds} s while one hostile client of one kind works against it. The hostile client has
            another address and the lowest priority, so that cores are not the contest; the server has
            one event loop. Times are those of the healthy client, each the median of ${rounds} rounds. The
            last column shows that the attack got through during these ${seconds} s: the answers to the hostile
            client by status or kind, and its calls, streams, connections and memory in the metrics of the
            server, all in the last round.`),
        table(["hostile client", "p99 alone", "p99 meanwhile", "ratio", "worst round", "failed", "attack"], cells),
    );
}

function upgrade({ reloads, upgrades, streams, requests, perSecond, failed, missed, before, after, away, ...times }) {
    const ms = (value) => `${value.toFixed(1)} ms`;
    const mb = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MB`;
    return blocks(
        "## Upgrades",
        paragraph(`
            \`make bench ARGS="--only upgrade"\`. A server with two loops is reloaded ${reloads} times and replaced
            ${upgrades} times by a new process, while ${count(perSecond)} requests per second call a tool: half on
            kept-alive and half on fresh connections, half of modern and half of legacy clients. Of ${count(streams)}
            notification streams half are modern; each is opened again up to 0.2 s after its end. Every reload
            also changes the list of tools. A stream has missed a change if it was neither notified nor opened
            again. Descriptors and memory are those of the process at the time, with all streams open; memory
            includes the workers of the plugin.`),
        table(
            [
                "requests",
                "failed",
                "p50",
                "p99",
                "p99.9",
                "longest",
                "streams back, median",
                "longest",
                "missed changes",
            ],
            [
                [
                    count(requests),
                    String(failed),
                    ms(times.p50),
                    ms(times.p99),
                    ms(times.p999),
                    ms(times.longest),
                    ms(away.median),
                    ms(away.longest),
                    String(missed),
                ],
            ],
        ),
        table(
            ["", "descriptors", "resident memory"],
            [
                ["before", String(before.files), mb(before.bytes)],
                ["after", String(after.files), mb(after.bytes)],
            ],
        ),
    );
}

function traces({ off, few, many, rows }) {
    return blocks(
        "## Traces",
        paragraph(`
            \`make bench ARGS="--only traces"\`. Instructions of the \`causeway\` process per \`tools/call\`
            of a plugin, counted as above with ${count(few)} and ${count(many)} requests. A collector takes the
            spans: two of each recorded call.`),
        table(
            ["traces", "instructions", "ratio"],
            [
                ["off", count(off), "1"],
                ...rows.map(({ sample, each, ratio }) => [`${sample * 100} %`, count(each), ratio.toFixed(3)]),
            ],
        ),
    );
}

function oauth({ token, none, ratios, pairs, seconds, connections: held, ...more }) {
    const { exchange, refresh, rounds, count: codes, atOnce } = more;
    const row = (name, { cpuUs, perSecond }) => [name, cpuUs.toFixed(0), count(Math.round(perSecond))];
    return blocks(
        "## Authorization server",
        paragraph(`
            \`make bench ARGS="--only oauth"\`. The echo tool is called through \`/mcp\`, with an access token of the
            built-in authorization server and without one, on the same server. CPU includes the plugin workers.
            ${held} connections, ${pairs} pairs of ${seconds} s; the ratios are between ${range(ratios)}.`),
        callRows({ "access token": token, "no token": none }),
        paragraph(`
            Codes are exchanged and refresh tokens used on ${atOnce} connections: ${codes} codes and
            ${count(4 * codes)} refreshes in a round, medians of ${rounds} rounds. CPU is that of all threads of the
            server. The database is in memory, and no password is hashed. On a disk each of them is one synced change.`),
        table(["", "CPU, µs", "a second"], [row("code exchange", exchange), row("refresh", refresh)]),
    );
}

function tasks({ cost, memory }) {
    return blocks(
        "## Tasks",
        paragraph(`
            \`make bench ARGS="--only tasks"\`. A client creates a task of a service that answers at once, and reads its
            result. The database is a SQLite file. Medians of ${cost.rounds} rounds with ${count(cost.n)} calls of each
            kind, in turn, on 50 connections.`),
        table(
            ["", "CPU per call", "ratio"],
            [
                ["plain call", `${cost.plainUs.toFixed(1)} µs`, "1"],
                ["task, created, finished and read once", `${cost.taskUs.toFixed(1)} µs`, cost.ratio.toFixed(2)],
            ],
        ),
        paragraph(`
            With ${count(memory.tasks)} tasks that wait for a service, resident memory grows by
            ${count(memory.each)} bytes for each.`),
    );
}

function events({ subscribers, rounds, ms, worst }) {
    return blocks(
        "## Events",
        paragraph(`
            \`make bench ARGS="--only events"\`. A service sends a notification over a WebSocket, and
            ${count(subscribers)} clients of \`events/stream\` in one process receive it as an event. From the notification
            to the last client it takes ${ms.toFixed(1)} ms (median of ${rounds} events; ${worst.toFixed(1)} ms at worst).`),
    );
}

function consolePages({ painted, heap, percent, seconds, times, rounds }) {
    return blocks(
        "## Console",
        paragraph(`
            \`make bench ARGS="--only console"\`. A server with 10,000 tools of 500 sources, and 1,000 calls of a
            plugin's tool a second. Chromium loads each page without a cache: the time from the navigation to the frame with
            the data of the page, the median and the longest of ${times}, and the processor time of the page's
            main thread until then, which other programs on the machine do not lengthen. The login page of the same
            server has no script, and shows what the browser takes for any page. The heap is that of a live page after
            ${seconds} s and a garbage collection. \`make soak\` measures it after 10 minutes. The processor
            time for a console is the difference with and without 20 streams of the page Calls, the median of
            ${rounds}: ${percent.toFixed(2)} % of a core.`),
        table(
            ["page", "first useful paint", "longest", "processor", "heap"],
            Object.entries(painted).map(([name, { median: ms, worst, cpuMs }]) => [
                name,
                `${Math.round(ms)} ms`,
                `${Math.round(worst)} ms`,
                `${Math.round(cpuMs)} ms`,
                heap[name] === undefined ? "" : `${heap[name].toFixed(1)} MB`,
            ]),
        ),
    );
}

function scale({ count: held, each, kernel, begin, ping, perChange, tls, calls }) {
    const micro = (n) => `${n.toFixed(1)} µs`;
    return blocks(
        "## Costs of scale",
        paragraph(`
            \`make bench ARGS="--only scale"\`. ${count(held)} \`subscriptions/listen\` streams on one loop, with a keep-alive
            each second. CPU is that of the server; times and memory are those of this run. The kernel's objects of one
            connection are its slab sizes, without buffers. The replicas share one PostgreSQL, the clients 32 connections.
            Two replicas that share the work of one find fewer requests in each turn of a loop, so a call costs more.
            [scaling.md](scaling.md) uses these figures.`),
        table(
            ["", "cost"],
            [
                ["memory of an open stream", kb(each)],
                ...(kernel ? [["objects of the kernel for its connection", kb(kernel)]] : []),
                ["CPU to open it", micro(begin)],
                ["CPU of a keep-alive comment", micro(ping)],
                ["CPU of a change that reaches it", micro(perChange)],
                ["CPU of a new TLS connection with one request", micro(tls)],
                ...(calls
                    ? [
                          [
                              `CPU of a call behind HAProxy, one replica, ${count(calls.rate)} a second`,
                              micro(calls.one),
                          ],
                          [
                              "the same with two replicas and twice the rate",
                              `${micro(calls.two)}, ${calls.ratio.toFixed(2)} ×`,
                          ],
                          ["as many as the machine can do, one replica", micro(calls.oneFull)],
                          ["the same calls, two replicas", `${micro(calls.twoFull)}, ${calls.fullRatio.toFixed(2)} ×`],
                      ]
                    : []),
            ],
        ),
    );
}

function stores({ cached, ratio, lookup, lookupRatio, rounds, each }) {
    const micro = (n) => `${n.toFixed(1)} µs`;
    return blocks(
        "## Database server and file",
        paragraph(`
            \`make bench ARGS="--only stores"\`. Two servers with equal rows, one on PostgreSQL and one on an SQLite file, take
            turns. CPU is that of causeway. A cached caller uses one token, in ${cached.pairs} pairs. A lookup is a call with
            a token that was not used before, without the cost of the cached call: ${rounds} rounds of ${count(each)} tokens.`),
        table(
            ["", "SQLite", "PostgreSQL", "ratio"],
            [
                [
                    "call of a cached caller",
                    micro(cached.file.cpuUs),
                    micro(cached.server.cpuUs),
                    `${ratio.toFixed(2)} ×`,
                ],
                ["lookup of a token", micro(lookup.file), micro(lookup.server), `${lookupRatio.toFixed(2)} ×`],
            ],
        ),
    );
}

const sections = {
    ...{ http, json, schema, idle, slow, readers, start, plugin, forward, mcp, listen, examples },
    ...{ auth, lists, invoke, instructions, catalogue, portable, toolsets, matrix, metrics, fairness, upgrade },
    ...{ traces, tasks, events, "mcp-source": mcpSource, oauth, console: consolePages, scale, stores },
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
            Last run: ${first.began.slice(0, 10)}, \`${first.command}\`. The load average at its start was
            ${first.load.toFixed(2)}. Other programs used at most ${percent(busiest)} of the machine during a
            part.`);
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
            **Preliminary:** these figures do not come from one run on a quiet machine at normal priority.
            Times and tails are inaccurate; ratios within a part are less affected.`),
        table(["part", "start (UTC)", "command", "priority", "used by other programs"], rows),
    );
}

export function writePage(file, { machine: where, parts }) {
    const present = Object.keys(sections).filter((name) => name in parts);
    const text = blocks(
        "# Benchmarks",
        "<!-- Written by bench/run.mjs --write-docs; the text is in bench/page.mjs. -->",
        paragraph(`
            \`make bench\` measures Causeway and its peers in the same run, in turn. On a shared machine only
            ratios within one run are meaningful. \`make bench ARGS="--only http,json"\` measures a part.
            \`ARGS=--quick\` only checks that everything works, and \`ARGS=--write-docs\` writes this page.
            The raw results are in \`build/bench/results.json\`. \`make soak\` runs for a long time and checks
            memory and descriptors.`),
        origin(present.map((name) => [name, parts[name]])),
        machine(where),
        figures(present.map((name) => parts[name])),
        ...present.map((name) => sections[name](parts[name])),
    );
    writeFileSync(file, `${text}\n`);
    console.log(`wrote ${file}`);
}
