// A call forwarded to a JSON-RPC service over HTTP and over https: processor time, next to nginx
// passing the same request on to the same service over kept-alive connections; how much later the
// answer comes; and a thousand calls at once of a service that takes a second.
import { certificate, median, peakBytes, Process, program } from "../http/servers.mjs";
import { runLoad, startNginxProxy } from "../http/servers.mjs";
import { callFile, load, runPairs, startBridge, write } from "./bridge.mjs";

const slowCalls = 1000;
const slowMs = 1000;
const mb = 2 ** 20;

// Arguments and results are both checked.
function writeOpenRpc(maxLength) {
    const schema = { type: "string", maxLength };
    const result = { type: "object", properties: { message: schema }, required: ["message"] };
    const echo = {
        name: "echo",
        description: "Gives back what it got",
        params: [{ name: "message", required: true, schema }],
        result: { name: "result", schema: result },
    };
    const info = { title: "upstream", version: "1" };
    return write("service.json", JSON.stringify({ openrpc: "1.3.2", info, methods: [echo] }));
}

// The source "service" with the method service.echo, whose texts have at most `maxLength` characters.
export const echoSource = (url, maxLength = 1000) => ({
    name: "service",
    url,
    openrpc: writeOpenRpc(maxLength),
    prefix: "service.",
    methods: [{ method: "echo", max_result_size: 0 }], // results of 64 KB are passed on as they are
});

// ---- who takes part ----

async function startUpstream(...args) {
    const upstream = new Process("load", program("upstream", "bridge"), args.map(String));
    upstream.address = /:\/\/(\S+)/.exec(await upstream.line(0))[1];
    return upstream;
}

const startOurs = (url, more = {}) => startBridge("service.echo", { sources: [{ ...echoSource(url), ...more }] });

const sidesOf = (servers) => {
    const file = callFile("service.echo");
    return Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, { server, file }]));
};

// ---- measuring ----

// How long an answer takes at half the rate that the slower of the two reaches, in turn with nginx
// and with the service itself.
export async function timeCalls(sides, rate, { rounds, say }) {
    const names = Object.keys(sides);
    const found = Object.fromEntries(names.map((name) => [name, []]));
    for (let round = 0; round < rounds; round += 1) {
        for (const name of round % 2 ? names.toReversed() : names) {
            found[name].push((await load(sides[name], 1, rate)).p50);
        }
        say(`at ${rate} calls a second, p50: ${names.map((n) => `${n} ${found[n].at(-1)}`).join(", ")} µs`);
    }
    const p50 = Object.fromEntries(names.map((name) => [name, median(found[name])]));
    // What each adds to the time of the service, round by round.
    const added = (name) => found[name].map((us, i) => us - found.service[i]);
    const ratios = added("ours").map((us, i) => us / found.nginx[i]);
    const [ours, nginx] = ["ours", "nginx"].map((name) => median(added(name)));
    return { rate, rounds, ...p50, added: ours, addedByNginx: nginx, ratios, times: median(ratios) };
}

async function measurePlain({ quick, say, pairs, seconds }) {
    const upstream = await startUpstream();
    const ours = await startOurs(`http://${upstream.address}/rpc`);
    const nginx = await startNginxProxy(upstream.address);
    const sides = sidesOf({ ours, nginx, service: upstream });
    const { service, ...both } = sides;
    const measured = await runPairs(both, { pairs, seconds, say });
    const slower = Math.min(measured.ours.perSecond, measured.nginx.perSecond);
    const rate = Math.max(1, Math.round(slower / 2));
    const time = await timeCalls({ ...both, service }, rate, { rounds: quick ? 1 : 9, say });
    await ours.stop();
    await nginx.stop("SIGQUIT");
    upstream.child.kill("SIGKILL");
    return { ...measured, time };
}

// Another nginx takes TLS off in front of the service, for both; both check its certificate.
async function measureSecure({ say, pairs, seconds }) {
    const tls = certificate();
    const upstream = await startUpstream();
    const front = await startNginxProxy(upstream.address, { tls, role: "load" });
    const ours = await startOurs(`https://${front.address}/rpc`, {
        tls: { ca_file: tls.certificate, server_name: "localhost" },
    });
    const nginx = await startNginxProxy(front.address, { trust: tls.certificate });
    const measured = await runPairs(sidesOf({ ours, nginx }), { pairs, seconds, say });
    await ours.stop();
    await nginx.stop("SIGQUIT");
    await front.stop("SIGQUIT");
    upstream.child.kill("SIGKILL");
    return measured;
}

async function callSlowly(say) {
    const upstream = await startUpstream(slowMs);
    const ours = await startOurs(`http://${upstream.address}/rpc`, { connections: slowCalls });
    const args = [ours.address, slowCalls, 1, 0, callFile("service.echo"), "walk across"];
    const { requests, failed, perSecond, said } = await runLoad("load", args, { group: "bridge" });
    const found = { ms: (requests / perSecond) * 1000, peak: peakBytes(ours) };
    await ours.stop();
    upstream.child.kill("SIGKILL");
    if (failed > 0 || requests !== slowCalls) {
        throw new Error(`${failed} of ${requests} slow calls went wrong\n${said}`);
    }
    say(`${requests} slow calls: ${found.ms.toFixed(0)} ms, ${(found.peak / mb).toFixed(1)} MB`);
    return found;
}

// A fresh server each time: it has to open its connections too.
async function measureSlow({ runs, say }) {
    const found = [];
    for (let i = 0; i < runs; i += 1) {
        found.push(await callSlowly(say));
    }
    const all = found.map(({ ms }) => ms);
    const peak = Math.max(...found.map((one) => one.peak));
    return { calls: slowCalls, runs, ms: median(all), worst: Math.max(...all), peak };
}

// ---- the part ----

const times = (name, most, value, more = "") => ({
    name,
    target: `≤ ${most.toFixed(1)} ×`,
    shown: `${value.toFixed(2)} ×${more}`,
    ok: value <= most,
});

export async function run({ quick, say }) {
    const options = { quick, say, ...(quick ? { pairs: 2, seconds: 1 } : { pairs: 9, seconds: 2 }) };
    const plain = await measurePlain(options);
    const secure = await measureSecure(options);
    const slow = await measureSlow({ runs: quick ? 1 : 5, say });
    const many = slowCalls.toLocaleString("en");
    return {
        ...plain,
        secure,
        slow,
        figures: [
            times("forwarded call: CPU, times nginx proxy_pass", 2.2, median(plain.ratios)),
            times("the same over https: CPU, times nginx proxy_pass", 3.5, median(secure.ratios)),
            times("forwarded call: p50 added, times nginx's p50", 1.5, plain.time.times),
            {
                name: `${many} calls at once of a service that takes 1 s: all answered`,
                target: "< 1.5 s",
                shown: `${(slow.ms / 1000).toFixed(2)} s (worst ${(slow.worst / 1000).toFixed(2)} s)`,
                ok: slow.ms < 1500,
            },
            {
                name: `${many} calls at once of a service that takes 1 s: peak memory (VmHWM)`,
                target: "< 60 MB",
                shown: `${(slow.peak / mb).toFixed(1)} MB`,
                ok: slow.peak < 60 * mb,
            },
        ],
    };
}
