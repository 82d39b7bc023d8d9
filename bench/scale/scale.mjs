// What a plan for many machines needs: the cost of an open stream, of its beginning, its keep-alive and a change that
// reaches it; of a TLS connection; and of a call behind HAProxy with one replica and with two. CPU is that of the servers.
import { once } from "node:events";
import { copyFileSync, existsSync, readFileSync, renameSync } from "node:fs";
import https from "node:https";
import path from "node:path";
import { Process, build, certificate, cpuNs, freePort, median, program, pssBytes, sleep } from "../http/servers.mjs";
import { skipped, startPostgres } from "../../tests/functional/support/postgres.mjs";
import { callFile, listenFile, load, pluginFolder, startBridge, write } from "../bridge/bridge.mjs";

const echo = path.join(build, "bench", "bridge", "echo.so");
const few = path.join(build, "bench", "catalogue", "few.so");
const haproxy = "/usr/sbin/haproxy";
const rateOfReplica = 6_000;

const us = (ns) => ns / 1000;

// ---- streams ----

async function hold(server, count) {
    const holder = new Process("load", program("listen", "bridge"), [
        server.address,
        String(count),
        listenFile(),
        "tools/list_changed",
    ]);
    await holder.line(0);
    return holder;
}

async function release(holder) {
    holder.child.stdin.end();
    await holder.finish();
}

// CPU of a change with so many streams: the load of the plugin is a part of it.
async function change(server, folder, holder) {
    const before = cpuNs(server);
    copyFileSync(few, path.join(folder, "few.part"));
    holder.child.stdin.write("now\n");
    await sleep(20);
    renameSync(path.join(folder, "few.part"), path.join(folder, "few.so"));
    const { reached } = JSON.parse(await holder.line(1));
    await sleep(300);
    return { ns: cpuNs(server) - before, reached };
}

async function streams(count, seconds) {
    const folder = pluginFolder(echo);
    const config = {
        plugins: { directory: folder },
        timeouts: { sse_keepalive: "1s" },
        limits: { subscriptions: 100_000 },
    };
    const server = await startBridge("test.echo", config);
    await release(await hold(server, 50));
    await sleep(500);
    const memory = pssBytes(server);
    let cpu = cpuNs(server);
    const holder = await hold(server, count);
    const begin = us(cpuNs(server) - cpu) / count;
    const each = (pssBytes(server) - memory) / count;
    await sleep(1_500);
    cpu = cpuNs(server);
    const began = performance.now();
    await sleep(seconds * 1_000);
    const pings = (count * (performance.now() - began)) / 1_000;
    const ping = us(cpuNs(server) - cpu) / pings;
    const changed = await change(server, folder, holder);
    if (changed.reached < count) {
        throw new Error(`only ${changed.reached} of ${count} streams were notified`);
    }
    await release(holder);
    await server.stop();
    return { begin, each, ping, changeNs: changed.ns };
}

// ---- TLS ----

function connectOnce(port) {
    return new Promise((resolve, reject) => {
        const options = { port, host: "127.0.0.1", path: "/healthz", agent: false, rejectUnauthorized: false };
        https.get(options, (answer) => answer.resume().on("end", resolve)).on("error", reject);
    });
}

async function tlsConnections(count) {
    const config = { listen: [{ address: "127.0.0.1:0", tls: true }], tls: certificate() };
    const file = write("tls.yaml", JSON.stringify({ loops: 1, access_log: false, ...config }));
    const server = new Process("server", path.join(build, "causeway"), ["serve", "--config", file]);
    const port = Number(/:(\d+)\s*$/.exec(/:\/\/(\S+)/.exec(await server.line(0))[1])[1]);
    for (let i = 0; i < 20; i += 1) {
        await connectOnce(port);
    }
    const cpu = cpuNs(server);
    for (let i = 0; i < count; i += 8) {
        await Promise.all(Array.from({ length: 8 }, () => connectOnce(port)));
    }
    const each = us(cpuNs(server) - cpu) / count;
    await server.stop();
    return each;
}

// ---- a balancer ----

async function startBalancer(servers) {
    const port = await freePort();
    const lines = servers.map((server, i) => `    server s${i} ${server.address}`);
    const text = `defaults
    mode http
    timeout connect 1s
    timeout client 75s
    timeout server 60s
    option http-no-delay
listen in
    bind 127.0.0.1:${port}
    balance roundrobin
${lines.join("\n")}
`;
    const balancer = new Process("load", haproxy, ["-db", "-f", write("haproxy.cfg", text)]);
    balancer.address = `127.0.0.1:${port}`;
    for (let tries = 0; tries < 200; tries += 1) {
        if ((await fetch(`http://${balancer.address}/healthz`).catch(() => null))?.status === 200) {
            return balancer;
        }
        await sleep(25);
    }
    throw new Error("HAProxy does not answer");
}

// CPU of the servers for each call, in µs. A rate of 0 is as many calls as the machine can do.
async function behind({ servers, balancer }, seconds, rate = 0) {
    const sum = () => servers.reduce((ns, server) => ns + cpuNs(server), 0);
    const before = sum();
    const { requests } = await load({ server: balancer, file: callFile("test.echo") }, seconds, rate);
    return us(sum() - before) / requests;
}

// One replica and two of one database. At an equal rate for each replica, the ratio is the cost of sharing the work.
// As many calls as the machine can do, over the same connections, leave each of two replicas half of the work: a loop
// then finds fewer requests in each turn, and caches are shared by more processes.
async function balanced(runs, seconds, say) {
    const postgres = await startPostgres();
    const url = postgres.newDatabase();
    const start = () => startBridge("test.echo", { store: { url }, plugins: { directory: pluginFolder(echo) } });
    const servers = [await start(), await start()];
    const sides = { one: { servers: servers.slice(0, 1) }, two: { servers } };
    const found = { one: [], two: [], oneFull: [], twoFull: [] };
    for (const side of Object.values(sides)) {
        side.balancer = await startBalancer(side.servers);
        await behind(side, 1);
    }
    for (let i = 0; i < runs; i += 1) {
        for (const name of i % 2 ? ["two", "one"] : ["one", "two"]) {
            const side = sides[name];
            found[name].push(await behind(side, seconds, rateOfReplica * side.servers.length));
            found[`${name}Full`].push(await behind(side, seconds));
        }
        const last = Object.entries(found).map(([name, all]) => `${name} ${all.at(-1).toFixed(1)}`);
        say(`behind HAProxy: ${last.join(", ")} µs per call`);
    }
    for (const { child } of Object.values(sides).map((side) => side.balancer)) {
        child.kill("SIGKILL"); // its status after SIGTERM is not 0
        await once(child, "close");
    }
    for (const server of servers) {
        await server.stop();
    }
    await postgres.stop();
    const ratio = (two, one) => median(two.map((n, i) => n / one[i]));
    return {
        ...Object.fromEntries(Object.entries(found).map(([name, all]) => [name, median(all)])),
        rate: rateOfReplica,
        ratio: ratio(found.two, found.one),
        fullRatio: ratio(found.twoFull, found.oneFull),
    };
}

// ---- the kernel ----

// Objects of the kernel for one accepted connection, by their sizes in /proc/slabinfo; null: not readable.
function kernelBytes() {
    try {
        const text = readFileSync("/proc/slabinfo", "latin1");
        const size = (name) => Number(new RegExp(`^${name}\\s+\\d+\\s+\\d+\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0);
        const sum = ["TCP", "sock_inode_cache", "filp", "dentry", "eventpoll_epi"].reduce(
            (n, name) => n + size(name),
            0,
        );
        return sum || null;
    } catch {
        return null;
    }
}

export async function run({ quick, say }) {
    const [small, count, seconds, runs] = quick ? [100, 500, 2, 1] : [500, 5_000, 10, 5];
    const few_ = await streams(small, 1);
    const many = await streams(count, seconds);
    const perChange = us(many.changeNs - few_.changeNs) / (count - small);
    say(
        `a stream: ${many.each.toFixed(0)} bytes, ${many.begin.toFixed(1)} µs to begin, ${many.ping.toFixed(1)} µs a keep-alive, ${perChange.toFixed(1)} µs a change`,
    );
    const tls = await tlsConnections(quick ? 80 : 800);
    say(`a TLS connection: ${tls.toFixed(0)} µs`);
    const calls = existsSync(haproxy) && !skipped ? await balanced(runs, quick ? 1 : 3, say) : null;
    const figures = [];
    if (calls) {
        figures.push({
            name: "tools/call behind HAProxy: CPU with two replicas at twice the rate, to one",
            target: "≤ 1.1 ×",
            shown: `${calls.ratio.toFixed(2)} ×`,
            ok: calls.ratio <= 1.1,
        });
    }
    return { count, ...many, perChange, tls, kernel: kernelBytes(), calls, figures };
}
