// A 2 KB JSON answer from memory over 64 keep-alive connections: processor time per request, next
// to nginx, in alternating pairs.
import { cpuNs, median, Process, startNginx, startOurs } from "./servers.mjs";

const connections = 64;

async function fetchOnce(server) {
    const answer = await fetch(`http://${server.address}/2k`);
    return { type: answer.headers.get("content-type"), body: await answer.text() };
}

// wrk counts answers; anything but a clean 200 makes the figure worthless.
export async function runWrk(address, seconds, path = "/2k") {
    const args = ["-t1", `-c${connections}`, `-d${seconds}s`, `http://${address}${path}`];
    const wrk = new Process("load", "wrk", args);
    const text = (await wrk.finish((seconds + 30) * 1000)).join("\n");
    if (/Socket errors|Non-2xx/.test(text)) {
        wrk.fail("not every request was answered well");
    }
    return {
        requests: Number(/(\d+) requests in/.exec(text)[1]),
        perSecond: Number(/Requests\/sec:\s*([\d.]+)/.exec(text)[1]),
    };
}

async function measure(server, seconds) {
    const before = cpuNs(server);
    const { requests, perSecond } = await runWrk(server.address, seconds);
    return { cpuUs: (cpuNs(server) - before) / requests / 1000, perSecond };
}

const middle = (runs) => ({
    cpuUs: median(runs.map((run) => run.cpuUs)),
    perSecond: median(runs.map((run) => run.perSecond)),
});

export async function run({ quick, say }) {
    const [pairs, seconds] = quick ? [2, 1] : [9, 2];
    const ours = await startOurs();
    const { type, body } = await fetchOnce(ours);
    const nginx = await startNginx(body);
    const theirs = await fetchOnce(nginx);
    if (theirs.body !== body || theirs.type !== type) {
        throw new Error("the two servers do not answer the same");
    }
    await runWrk(ours.address, 1);
    await runWrk(nginx.address, 1);

    const runs = { ours: [], nginx: [] };
    for (let pair = 0; pair < pairs; pair += 1) {
        const order = pair % 2 ? ["nginx", "ours"] : ["ours", "nginx"];
        for (const name of order) {
            runs[name].push(await measure(name === "ours" ? ours : nginx, seconds));
        }
        const [a, b] = [runs.ours.at(-1), runs.nginx.at(-1)];
        say(`pair ${pair + 1}: ${a.cpuUs.toFixed(2)} and ${b.cpuUs.toFixed(2)} µs per request`);
    }
    await ours.stop();
    await nginx.stop("SIGQUIT");

    const ratios = runs.ours.map(({ cpuUs }, i) => cpuUs / runs.nginx[i].cpuUs);
    const ratio = median(ratios);
    return {
        pairs,
        seconds,
        connections,
        ours: middle(runs.ours),
        nginx: middle(runs.nginx),
        ratios,
        figures: [
            {
                name: "2 KB response: CPU per request, times nginx",
                target: "≤ 1.0 ×",
                shown: `${ratio.toFixed(2)} ×`,
                ok: ratio <= 1,
            },
        ],
    };
}
