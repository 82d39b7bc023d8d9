// The same echo tool here and on a server made with the official TypeScript SDK: calls and lists per
// second of processor time, memory when idle, and the time of a cold start on stdio.
import path from "node:path";
import { build, causeway, median, Process, pssBytes, runLoad, sleep } from "../http/servers.mjs";
import { callFile, listFile, lineFile, pluginFolder, runPairs } from "./bridge.mjs";
import { startBridge, tryCall } from "./bridge.mjs";

const plugin = path.join(build, "bench", "bridge", "echo.so");
const script = path.join(import.meta.dirname, "sdk-server.mjs");

async function startPeer() {
    const server = new Process("server", process.execPath, [script]);
    server.address = /:\/\/(\S+)/.exec(await server.line(0))[1];
    await tryCall(server, "test.echo");
    return server;
}

const startOurs = () => startBridge("test.echo", { plugins: { directory: pluginFolder(plugin) } });

// How many times less than the peer: pair by pair, and their median.
function timesOf(measured) {
    const times = measured.ratios.map((ratio) => 1 / ratio);
    return { ...measured, ratios: times, times: median(times) };
}

// Memory of all processes of each, fresh, after one call, when nothing has happened for a while.
async function weigh(rounds) {
    const weights = { ours: [], sdk: [] };
    for (let round = 0; round < rounds; round += 1) {
        const both = { ours: await startOurs(), sdk: await startPeer() };
        await sleep(1500);
        for (const [name, server] of Object.entries(both)) {
            weights[name].push(pssBytes(server));
            await server.stop();
        }
    }
    const [ours, sdk] = [median(weights.ours), median(weights.sdk)];
    return { ours, sdk, times: sdk / ours };
}

// From starting the program to the end of its first answer to tools/list, in turn.
async function start({ rounds, say }) {
    const programs = {
        ours: [causeway, "stdio", "--plugin", plugin],
        sdk: [process.execPath, script, "--stdio"],
    };
    const file = lineFile();
    const ms = { ours: [], sdk: [] };
    for (let round = 0; round < rounds; round += 1) {
        for (const name of round % 2 ? ["sdk", "ours"] : ["ours", "sdk"]) {
            const args = [3, file, "test.echo", ...programs[name]];
            const found = await runLoad("stdio", args, { group: "bridge" });
            ms[name].push(median(found.ms));
        }
        say(`round ${round + 1}: first list ${ms.ours.at(-1)} ms, SDK ${ms.sdk.at(-1)} ms`);
    }
    const ratios = ms.ours.map((one, i) => ms.sdk[i] / one);
    return { ours: median(ms.ours), sdk: median(ms.sdk), ratios, times: median(ratios) };
}

const figure = (name, times, least) => ({
    name: `${name}, times the TypeScript SDK 2.4.0`,
    target: `≥ ${least} ×`,
    shown: `${times.toFixed(times < 20 ? 1 : 0)} ×`,
    ok: times >= least,
});

export async function run({ quick, say }) {
    const [pairs, seconds, rounds] = quick ? [2, 1, 1] : [5, 3, 5];
    const ours = await startOurs();
    const sdk = await startPeer();
    const side = (file, expected) => ({
        ours: { server: ours, file, expected },
        sdk: { server: sdk, file, expected },
    });
    const options = { pairs, seconds, say };
    const call = timesOf(await runPairs(side(callFile("test.echo")), options));
    const list = timesOf(await runPairs(side(listFile(), "test.echo"), options));
    await ours.stop();
    await sdk.stop();
    const memory = await weigh(rounds);
    say(`idle: ${(memory.ours / 2 ** 20).toFixed(1)} MB, SDK ${(memory.sdk / 2 ** 20).toFixed(1)} MB`);
    const first = await start({ rounds, say });
    return {
        ...call,
        list,
        memory,
        first,
        figures: [
            figure("tools/call per CPU second", call.times, 30),
            figure("tools/list per CPU second", list.times, 50),
            figure("cold start to the first tools/list on stdio: speed", first.times, 15),
            {
                name: "idle with one tool: memory (PSS), part of the TypeScript SDK's",
                target: "≤ 1/8",
                shown: `1/${memory.times.toFixed(1)}`,
                ok: memory.times >= 8,
            },
        ],
    };
}
