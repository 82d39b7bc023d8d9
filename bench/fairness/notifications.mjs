import { callsOf } from "./evidence.mjs";
import { startPlugin } from "./healthy.mjs";
import { batchOf, flood, notification, post } from "./hostile.mjs";

export const name = "notifications";
export const about = `40 connections send batches of 100 notifications of a method that takes 200 ms;
    the healthy client calls another method of the same plugin.`;
export const metrics = callsOf();
export const least = { ended: 5, running: 100 };
export const start = () => startPlugin();

export async function attack({ address, from, ready, count }) {
    const body = batchOf(100, notification);
    ready();
    await flood(40, count, () => post(address, from, "/jsonrpc", { body }));
}
