import { callsOf } from "./evidence.mjs";
import { describeMethod, startService } from "./healthy.mjs";
import { batchOf, flood, notification, post } from "./hostile.mjs";

export const name = "service";
export const about = `40 connections send batches of 100 calls of a service over HTTP that answers
    after 200 ms, and that may be asked four things at once; the healthy client calls a quick method
    of the same service.`;
export const metrics = callsOf("service.slow");
export const least = { ended: 5, running: 100 };

export const start = () =>
    startService({
        methods: [describeMethod("quick"), describeMethod("slow")],
        source: { connections: 4 },
    });

export async function attack({ address, from, ready, count }) {
    const body = batchOf(100, { ...notification, method: "service.slow", params: {}, id: 1 });
    ready();
    await flood(40, count, () => post(address, from, "/jsonrpc", { body }));
}
