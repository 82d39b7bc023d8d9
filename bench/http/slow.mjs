// Slow heads, slow bodies and slow readers, all at once, while a healthy client asks 200 times a
// second. It runs long enough that the server throws out every kind.
import { countFiles, Process, program, rssBytes, runLoad, sleep, startOurs } from "./servers.mjs";

export async function run({ quick, say }) {
    const [each, seconds] = quick ? [100, 3] : [1000, 36];
    // More than the kernel takes off the server's hands, little enough for small machines.
    const bytes = 200_000;
    const server = await startOurs();
    const files = countFiles(server);
    const slow = new Process("load", program("slow"), [server.address, each, each, each, bytes].map(String));
    await slow.line(0);
    await sleep(1000);
    say(`${3 * each} slow clients are connected, the server has ${countFiles(server)} files open`);
    let rss = 0;
    const watching = setInterval(() => (rss = Math.max(rss, rssBytes(server))), 1000);
    const healthy = await runLoad("probe", [server.address, "/2k", 200, seconds, 4]);
    clearInterval(watching);
    const stillOpen = countFiles(server) - files;
    slow.child.stdin.end();
    const thrownOut = JSON.parse((await slow.finish()).at(-1));

    // Whatever the clients left behind must go: lingering closes take a moment.
    let left = Infinity;
    for (let tries = 0; tries < 100 && left > 0; tries += 1) {
        left = countFiles(server) - files;
        await sleep(left > 0 ? 100 : 0);
    }
    const after = await runLoad("probe", [server.address, "/2k", 200, 1, 4]);
    await server.stop();
    if (left > 0 || after.ok < after.requests) {
        throw new Error(`after the slow clients: ${left} descriptors left, ${after.ok} answers`);
    }
    const p99 = healthy.p99 / 1000;
    const answered = (healthy.ok / healthy.requests) * 100;
    const name = `${each.toLocaleString("en")} slow clients of each kind`;
    return {
        each,
        seconds,
        bytes,
        healthy,
        thrownOut,
        rss,
        stillOpen,
        figures: [
            {
                name: `${name}: healthy p99`,
                target: "< 20 ms",
                shown: `${p99.toFixed(2)} ms`,
                ok: p99 < 20,
            },
            {
                name: `${name}: healthy requests answered`,
                target: "100 %",
                shown: `${answered.toFixed(2)} %`,
                ok: healthy.ok === healthy.requests,
            },
        ],
    };
}
