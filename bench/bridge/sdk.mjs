// tools/call of the same echo tool: calls per second of processor time, next to a server made with
// the official TypeScript SDK.
import path from "node:path";
import { median, Process } from "../http/servers.mjs";
import { callFile, runPairs, startEcho, tryCall } from "./bridge.mjs";

async function startPeer() {
    const script = path.join(import.meta.dirname, "sdk-server.mjs");
    const server = new Process("server", process.execPath, [script]);
    server.address = /:\/\/(\S+)/.exec(await server.line(0))[1];
    await tryCall(server, "test.echo");
    return server;
}

export async function run({ quick, say }) {
    const [pairs, seconds] = quick ? [2, 1] : [5, 3];
    const ours = await startEcho();
    const sdk = await startPeer();
    const file = callFile("test.echo");
    const sides = { ours: { server: ours, file }, sdk: { server: sdk, file } };
    const measured = await runPairs(sides, { pairs, seconds, say });
    await ours.stop();
    await sdk.stop();

    const times = measured.ratios.map((ratio) => 1 / ratio);
    const ratio = median(times);
    return {
        ...measured,
        ratios: times,
        figures: [
            {
                name: "tools/call per CPU second, times the TypeScript SDK 2.4.0",
                target: "≥ 30 ×",
                shown: `${ratio.toFixed(0)} ×`,
                ok: ratio >= 30,
            },
        ],
    };
}
