// What healthy clients share.
import path from "node:path";
import {
    callFile,
    permissions,
    pluginFolder,
    startBridge,
    startConfigured,
    write,
    writeRequest,
} from "../bridge/bridge.mjs";
import { build, Process, runLoad, sleep } from "../http/servers.mjs";

// The evidence of attacks is in the metrics.
export const roles = { anonymous: [...permissions, "view metrics"] };

// The load gives up when there is no answer for ten seconds.
const nothing = { requests: 1, failed: 1, p50: 1e7, p99: 1e7, max: 1e7 };

// So many requests a second at even distances, each timed from when it was due (bench/bridge/load.c).
export const paced =
    ({ file, expected = "walk across", rate = 100, connections = 4, tokens }) =>
    async ({ server, seconds }) => {
        const args = [server.address, connections, seconds, rate, file, expected];
        if (tokens) args.push(tokens);
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

const patienceMs = 10_000;

// The same for requests that the load cannot send, one after another: `once(server)` resolves with whether one went
// well. A request that waited for its predecessor is timed from when it was due. A request without an answer for ten
// seconds has failed, and so have those that are not sent ten seconds after the time is over.
export const repeated =
    ({ once, rate }) =>
    async ({ server, seconds }) => {
        const times = [];
        const n = seconds * rate;
        const first = performance.now();
        for (let i = 0; i < n && performance.now() < first + seconds * 1000 + patienceMs; i += 1) {
            const due = first + (i * 1000) / rate;
            const isLate = performance.now() >= due;
            if (!isLate) await sleep(due - performance.now());
            const began = isLate ? due : performance.now();
            if (await Promise.race([once(server), sleep(patienceMs)])) {
                times.push((performance.now() - began) * 1000);
            }
        }
        return summarise(times, n - times.length);
    };

// A server with a service over HTTP, which is a process of its own; the healthy client calls its method
// `quick`. `methods` describe it, `source` is more of its configuration.
export async function startService({ methods, source = {} }) {
    const service = new Process("load", process.execPath, [path.join(import.meta.dirname, "service_process.mjs")]);
    const url = await service.line(0);
    const openrpc = write("openrpc.json", JSON.stringify({ openrpc: "1.3.2", info, methods }));
    const server = await startConfigured({
        roles,
        sources: [{ name: "service", url, openrpc, prefix: "service.", methods: ["*"], ...source }],
    });
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "service.quick" });
    const headers = { "Content-Type": "application/json" };
    const file = writeRequest("POST", "/jsonrpc", { headers, body });
    const stop = async () => {
        await server.stop();
        service.child.kill("SIGKILL");
    };
    return { server, healthy: paced({ file }), attack: {}, stop };
}

const info = { title: "service", version: "1" };
export const describeMethod = (name, params = {}, result = {}) => ({
    name,
    params: Object.entries(params).map(([param, schema]) => ({ name: param, schema })),
    result: { name: "result", schema: result },
});

// A server with a plugin that has a quick and a slow method; the healthy client calls the quick one.
export async function startPlugin(config = {}) {
    const plugins = { directory: pluginFolder(path.join(build, "tests", "plugins", "echo.so")) };
    const server = await startBridge("test.echo", { plugins, roles, ...config });
    const healthy = paced({ file: callFile("test.echo") });
    return { server, healthy, attack: {}, stop: () => server.stop() };
}
