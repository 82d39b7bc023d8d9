// What healthy clients share.
import path from "node:path";
import { startBridge, callFile, pluginFolder } from "../bridge/bridge.mjs";
import { build, runLoad } from "../http/servers.mjs";

// The load gives up when there is no answer for ten seconds.
const nothing = { requests: 1, failed: 1, p50: 1e7, p99: 1e7, max: 1e7 };

// So many requests a second at even distances, each timed from when it was due (bench/bridge/load.c).
export const paced =
    ({ file, expected = "walk across", rate = 100, connections = 4 }) =>
    async ({ server, seconds }) => {
        const args = [server.address, connections, seconds, rate, file, expected];
        try {
            return await runLoad("load", args, { group: "bridge" });
        } catch (error) {
            console.error(error.message);
            return nothing;
        }
    };

// The percentiles of some times in µs.
export function summarise(times, failed) {
    if (times.length === 0) {
        return { ...nothing, requests: failed, failed };
    }
    const sorted = times.toSorted((a, b) => a - b);
    const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
    return { requests: times.length + failed, failed, p50: at(0.5), p99: at(0.99), max: at(1) };
}

// A server with a plugin that has a quick and a slow method; the healthy client calls the quick one.
export async function startPlugin(config = {}) {
    const plugins = { directory: pluginFolder(path.join(build, "tests", "plugins", "echo.so")) };
    const server = await startBridge("test.echo", { plugins, ...config });
    const healthy = paced({ file: callFile("test.echo") });
    return { server, healthy, attack: {}, stop: () => server.stop() };
}
