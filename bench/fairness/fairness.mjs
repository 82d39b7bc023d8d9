// A healthy client's latency alone and while one hostile client of one kind works against it.
//
//   node bench/run.mjs --only fairness            every kind
//   CAUSEWAY_FAIRNESS=streams node bench/run.mjs --only fairness    these kinds only
//
// The hostile client is a process of its own with the lowest priority, so that cores are not the
// contest. It connects from 127.0.0.2, the healthy one from 127.0.0.1: they are two networks.
import path from "node:path";
import { Process, sleep } from "../http/servers.mjs";
import { kinds } from "./kinds.mjs";

const most = 5;

function startAttack(kind, server, given) {
    const file = path.join(import.meta.dirname, "attacker.mjs");
    const more = JSON.stringify({ address: server.address, from: "127.0.0.2", ...given });
    return new Process("load", process.execPath, [file, kind, more]);
}

// How long a healthy request takes, and how many failed: { requests, failed, p50, p99, max } in µs.
async function measure(name, { server, healthy, attack }, seconds) {
    const alone = await healthy({ server, seconds });
    const attacker = startAttack(name, server, attack);
    await attacker.line(0);
    await sleep(1000);
    const attacked = await healthy({ server, seconds });
    const gone = attacker.end;
    attacker.child.kill("SIGKILL");
    await attacker.ended;
    if (gone) {
        attacker.fail("the attack ended too early");
    }
    return { alone, attacked };
}

async function runKind(kind, seconds) {
    const prepared = await kind.start();
    try {
        return await measure(kind.name, prepared, seconds);
    } finally {
        await prepared.stop();
    }
}

function figureOf({ name, ratio, alone, attacked }) {
    const ms = (us) => `${(us / 1000).toFixed(2)} ms`;
    const failed = alone.failed + attacked.failed;
    return {
        name: `hostile client, ${name}: healthy p99 against p99 alone`,
        target: `≤ ${most} ×, none fails`,
        shown: `${ratio.toFixed(2)} × (${ms(attacked.p99)}, ${ms(alone.p99)}), ${failed} failed`,
        ok: ratio <= most && failed === 0,
    };
}

export async function run({ quick, say }) {
    // Below 10 s: a connection that the pace left unused is closed then (timeouts.header).
    const seconds = quick ? 2 : 8;
    const wanted = process.env.CAUSEWAY_FAIRNESS?.split(",");
    const rows = [];
    for (const kind of kinds.filter(({ name }) => !wanted || wanted.includes(name))) {
        const { alone, attacked } = await runKind(kind, seconds);
        const row = { name: kind.name, about: kind.about, alone, attacked };
        row.ratio = attacked.p99 / alone.p99;
        rows.push(row);
        say(`${kind.name}: ${figureOf(row).shown}`);
    }
    return { seconds, rows, figures: rows.map(figureOf) };
}
