// Ten thousand idle keep-alive connections: memory for each, plain and TLS, and what a healthy
// client notices of them.
import { certificate, median, Process, program, rssBytes, runLoad } from "./servers.mjs";
import { sleep, startNginx, startOurs } from "./servers.mjs";

const patient = { idle_ms: 3_600_000, connections: 60_000 };

// The first requests make a server touch pages that do not belong to any connection.
async function warmUp(server) {
    if (!server.tls) {
        await runLoad("probe", [server.address, "/2k", 1000, 1, 2]);
        return;
    }
    const few = await hold(server, 50);
    await few.release();
}

async function hold(server, count) {
    const args = [server.address, String(count), ...(server.tls ? ["tls"] : [])];
    const holder = new Process("load", program("holder"), args);
    const { held } = JSON.parse(await holder.line(0));
    const release = async () => {
        holder.child.stdin.end();
        const { closed } = JSON.parse((await holder.finish()).at(-1));
        return closed;
    };
    return { held, release };
}

// Memory per connection; the connections stay open until release().
async function weigh(server, count) {
    await warmUp(server);
    await sleep(300);
    const before = rssBytes(server);
    const held = await hold(server, count);
    await sleep(300);
    return { ...held, each: (rssBytes(server) - before) / held.held };
}

async function weighOnce(server, count, stopSignal) {
    const { held, each, release } = await weigh(server, count);
    const closed = await release();
    await server.stop(stopSignal);
    if (closed > 0) {
        throw new Error(`${server.name} closed ${closed} of ${held} idle connections`);
    }
    return { held, each };
}

const probe = (server, seconds) => runLoad("probe", [server.address, "/2k", 200, seconds, 4]);

// Two servers side by side, one of them with the idle connections, asked in turn.
async function compare(count, { rounds, seconds, say }) {
    const alone = await startOurs(patient);
    const crowded = await startOurs(patient);
    const { held, each, release } = await weigh(crowded, count);
    await warmUp(alone);
    const runs = { without: [], with: [] };
    for (let round = 0; round < rounds; round += 1) {
        const order = round % 2 ? ["with", "without"] : ["without", "with"];
        for (const name of order) {
            runs[name].push(await probe(name === "with" ? crowded : alone, seconds));
        }
        const [a, b] = [runs.without.at(-1), runs.with.at(-1)];
        say(`round ${round + 1}: p99 ${a.p99} µs without, ${b.p99} µs with ${held} idle`);
    }
    const closed = await release();
    await alone.stop();
    await crowded.stop();
    const failed = [...runs.without, ...runs.with].filter(({ ok, requests }) => ok < requests);
    if (closed > 0 || failed.length > 0) {
        throw new Error(`${closed} idle connections closed, ${failed.length} probes with failures`);
    }
    const middle = (all) => ({
        p50: median(all.map((run) => run.p50)),
        p99: median(all.map((run) => run.p99)),
    });
    const ratios = runs.with.map(({ p99 }, i) => p99 / runs.without[i].p99);
    return { held, each, ratios, without: middle(runs.without), with: middle(runs.with) };
}

export async function run({ quick, say }) {
    const count = quick ? 500 : 10_000;
    const rounds = quick ? { rounds: 1, seconds: 1, say } : { rounds: 9, seconds: 4, say };
    const body = "x".repeat(2048);
    const tls = certificate();

    const latency = await compare(count, rounds);
    if (latency.held < count) {
        say(`the limit of open files allows only ${latency.held} connections`);
    }
    const plain = { held: latency.held, each: latency.each };
    say(`plain: ${plain.each.toFixed(0)} bytes each`);
    const nginxPlain = await weighOnce(await startNginx(body), count, "SIGQUIT");
    say(`nginx, plain: ${nginxPlain.each.toFixed(0)} bytes each`);
    const oursTls = await startOurs({ ...patient, listen: "tls:127.0.0.1:0", ...tls });
    oursTls.tls = true;
    const secure = await weighOnce(oursTls, count);
    say(`TLS: ${secure.each.toFixed(0)} bytes each`);
    const theirsTls = Object.assign(await startNginx(body, tls), { tls: true });
    const nginxSecure = await weighOnce(theirsTls, count, "SIGQUIT");
    say(`nginx, TLS: ${nginxSecure.each.toFixed(0)} bytes each`);

    const ratio = median(latency.ratios);
    const kb = (bytes) => `${(bytes / 1024).toFixed(2)} KB`;
    const thousands = (n) => n.toLocaleString("en");
    return {
        asked: count,
        plain,
        tls: secure,
        nginx: { plain: nginxPlain, tls: nginxSecure },
        latency: { without: latency.without, with: latency.with, ratios: latency.ratios },
        figures: [
            {
                name: `${thousands(plain.held)} idle connections: memory each`,
                target: "≤ 2 KB",
                shown: kb(plain.each),
                ok: plain.each <= 2 * 1024,
            },
            {
                name: `${thousands(secure.held)} idle TLS connections: memory each`,
                target: "≤ 24 KB",
                shown: kb(secure.each),
                ok: secure.each <= 24 * 1024,
            },
            {
                name: `${thousands(plain.held)} idle connections: healthy p99, times without them`,
                target: "≤ 2 ×",
                shown: `${ratio.toFixed(2)} ×`,
                ok: ratio <= 2,
            },
        ],
    };
}
