// Thousands of open subscriptions/listen streams: memory for each, and how long a change of the
// catalogue takes to reach all of them.
import { copyFileSync, renameSync } from "node:fs";
import path from "node:path";
import { build, median, Process, program, pssBytes, sleep } from "../http/servers.mjs";
import { listenFile, pluginFolder, startBridge } from "./bridge.mjs";

const echo = path.join(build, "bench", "bridge", "echo.so");
const few = path.join(build, "bench", "catalogue", "few.so");

async function hold(server, count) {
    const args = [server.address, String(count), listenFile(), "tools/list_changed"];
    const holder = new Process("load", program("listen", "bridge"), args);
    await holder.line(0);
    return holder;
}

async function release(holder) {
    holder.child.stdin.end();
    await holder.finish();
}

async function once(count) {
    const folder = pluginFolder(echo);
    const server = await startBridge("test.echo", { plugins: { directory: folder }, loops: 1 });
    await release(await hold(server, 50));
    await sleep(500);
    const before = pssBytes(server);
    const holder = await hold(server, count);
    await sleep(500);
    const each = (pssBytes(server) - before) / count;
    // A plugin with 100 tools appears.
    copyFileSync(few, path.join(folder, "few.part"));
    holder.child.stdin.write("now\n");
    await sleep(20);
    renameSync(path.join(folder, "few.part"), path.join(folder, "few.so"));
    const { reached, ms } = JSON.parse(await holder.line(1));
    await release(holder);
    await server.stop();
    if (reached < count) {
        throw new Error(`only ${reached} of ${count} streams were told`);
    }
    return { each, ms };
}

export async function run({ quick, say }) {
    const [count, runs] = quick ? [500, 1] : [5000, 5];
    const found = [];
    for (let i = 0; i < runs; i += 1) {
        found.push(await once(count));
        say(`${found.at(-1).each.toFixed(0)} bytes each, told after ${found.at(-1).ms} ms`);
    }
    const each = median(found.map((one) => one.each));
    const worst = Math.max(...found.map(({ ms }) => ms));
    const many = count.toLocaleString("en");
    return {
        count,
        runs,
        each,
        ms: median(found.map(({ ms }) => ms)),
        worst,
        figures: [
            {
                name: `${many} open subscriptions/listen streams: memory each`,
                target: "≤ 6 KB",
                shown: `${(each / 1024).toFixed(2)} KB`,
                ok: each <= 6 * 1024,
            },
            {
                name: `a change of the catalogue has reached all ${many} streams`,
                target: "< 1 s",
                shown: `${worst.toFixed(0)} ms (worst of ${runs})`,
                ok: worst < 1000,
            },
        ],
    };
}
