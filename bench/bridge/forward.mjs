// A call forwarded to a JSON-RPC service over plain HTTP: processor time, next to nginx passing the
// same request on to the same service over kept-alive connections.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { folder, median, Process, program, startNginxProxy } from "../http/servers.mjs";
import { callFile, runPairs, startBridge } from "./bridge.mjs";

function writeOpenRpc() {
    const file = path.join(folder, "service.json");
    const schema = { type: "string" };
    const echo = {
        name: "echo",
        description: "Gives back what it got",
        params: [{ name: "message", required: true, schema }],
        result: { name: "result", schema: { type: "object" } },
    };
    const info = { title: "upstream", version: "1" };
    writeFileSync(file, JSON.stringify({ openrpc: "1.3.2", info, methods: [echo] }));
    return file;
}

export async function run({ quick, say }) {
    const [pairs, seconds] = quick ? [2, 1] : [9, 2];
    const upstream = new Process("load", program("upstream", "bridge"), []);
    upstream.address = /:\/\/(\S+)/.exec(await upstream.line(0))[1];
    const ours = await startBridge("service.echo", {
        sources: [
            {
                name: "service",
                url: `http://${upstream.address}/rpc`,
                openrpc: writeOpenRpc(),
                prefix: "service.",
                methods: [{ method: "echo" }],
            },
        ],
    });
    const nginx = await startNginxProxy(upstream.address);
    const file = callFile("service.echo");
    const sides = { ours: { server: ours, file }, nginx: { server: nginx, file } };
    const measured = await runPairs(sides, { pairs, seconds, say });
    await ours.stop();
    await nginx.stop("SIGQUIT");
    upstream.child.kill("SIGKILL");

    const ratio = median(measured.ratios);
    return {
        ...measured,
        figures: [
            {
                name: "forwarded call: CPU, times nginx proxy_pass",
                target: "≤ 2.0 ×",
                shown: `${ratio.toFixed(2)} ×`,
                ok: ratio <= 2,
            },
        ],
    };
}
