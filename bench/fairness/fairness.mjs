// A healthy client's latency alone and while one hostile client of one kind works against it.
//
//   node bench/run.mjs --only fairness            every kind
//   CAUSEWAY_FAIRNESS=streams node bench/run.mjs --only fairness    these kinds only
//
// The hostile client is a process of its own with the lowest priority, so that cores are not the
// contest. It connects from 127.0.0.2, the healthy one from 127.0.0.1: they are two networks. Where a network has to
// wait after failed logins, the hostile client has many of them: the server trusts its X-Forwarded-For.
import path from "node:path";
import { Process, sleep } from "../http/servers.mjs";
import { readMetrics } from "./evidence.mjs";
import { kinds } from "./kinds.mjs";

const most = 5;

function startAttack(kind, server, given) {
    const file = path.join(import.meta.dirname, "attacker.mjs");
    const more = JSON.stringify({ address: server.address, from: "127.0.0.2", ...given });
    return new Process("load", process.execPath, [file, kind, more]);
}

// End the attack: how often it got which answer since it began to count.
async function endAttack(attacker) {
    if (attacker.end) {
        attacker.fail("the attack ended too early");
    }
    attacker.child.stdin.end();
    const lines = await attacker.finish();
    return JSON.parse(lines.at(-1));
}

// How long a healthy request takes, and how many failed: { requests, failed, p50, p99, max } in µs; and the counts
// of the attack during that time.
async function measure({ name, metrics = {} }, { server, healthy, attack }, seconds) {
    const alone = await healthy({ server, seconds });
    const attacker = startAttack(name, server, attack);
    await attacker.line(0);
    await sleep(1000);
    const before = await readMetrics(server);
    attacker.child.stdin.write("count\n");
    const attacked = await healthy({ server, seconds });
    const after = await readMetrics(server);
    const read = Object.entries(metrics).map(([what, of]) => [what, of(before, after)]);
    return { alone, attacked, counts: { ...(await endAttack(attacker)), ...Object.fromEntries(read) } };
}

async function runKind(kind, seconds) {
    const prepared = await kind.start();
    try {
        return await measure(kind, prepared, seconds);
    } finally {
        await prepared.stop();
    }
}

const median = (values) => values.toSorted((x, y) => x - y)[Math.floor(values.length / 2)];

// The medians of all rounds, and failures and answers of all of them. One p99 is the eighth slowest of 800
// requests: a single round differs from the next by a factor of three, alone too.
async function runRounds(kind, rounds, seconds) {
    const all = [];
    for (let round = 0; round < rounds; round += 1) {
        all.push(await runKind(kind, seconds));
    }
    const sum = (pick) => all.reduce((total, one) => total + pick(one), 0);
    const middle = (side) => ({
        p50: median(all.map((one) => one[side].p50)),
        p99: median(all.map((one) => one[side].p99)),
    });
    const [alone, attacked] = [middle("alone"), middle("attacked")];
    // In each round the attack got through to what it attacks.
    const bites = Object.entries(kind.least).every(([what, n]) => all.every(({ counts }) => counts[what] >= n));
    return {
        ...{ name: kind.name, about: kind.about, alone, attacked, ratio: attacked.p99 / alone.p99 },
        worst: Math.max(...all.map((one) => one.attacked.p99 / one.alone.p99)),
        failed: sum((one) => one.alone.failed + one.attacked.failed),
        requests: sum((one) => one.attacked.requests),
        ...{ bites, counts: all.at(-1).counts },
    };
}

function figureOf({ name, ratio, alone, attacked, failed, bites, counts }) {
    const ms = (us) => `${(us / 1000).toFixed(2)} ms`;
    const answers = bites ? "" : `; the attack did not get through: ${JSON.stringify(counts)}`;
    return {
        name: `hostile client, ${name}: healthy p99 against p99 alone`,
        target: `≤ ${most} ×, none fails`,
        shown: `${ratio.toFixed(2)} × (${ms(attacked.p99)}, ${ms(alone.p99)}), ${failed} failed${answers}`,
        ok: ratio <= most && failed === 0 && bites,
    };
}

export async function run({ quick, say }) {
    // Below 10 s: a connection that the pace left unused is closed then (timeouts.header).
    const seconds = quick ? 2 : 8;
    const wanted = process.env.CAUSEWAY_FAIRNESS?.split(",");
    const rounds = quick ? 1 : 3;
    const rows = [];
    for (const kind of kinds.filter(({ name }) => !wanted || wanted.includes(name))) {
        const row = await runRounds(kind, rounds, seconds);
        rows.push(row);
        say(`${kind.name}: ${figureOf(row).shown} ${JSON.stringify(row.counts)}`);
    }
    return { seconds, rounds, rows, figures: rows.map(figureOf) };
}
