// The evidence that an attack got through, from the server's metrics: what a kind counts there.
import { sleepMethod } from "./hostile.mjs";

// Adds up the samples of this name with these labels; 0 if there are none.
function sumOf(text, name, labels) {
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    return text
        .split("\n")
        .filter((line) => /^[a-z_]+/.exec(line)?.[0] === name && wanted.every((label) => line.includes(label)))
        .reduce((sum, line) => sum + Number(/^[a-z_]+(?:\{.*\})? ([-+.e\d]+)/.exec(line)[1]), 0);
}

// How much a counter grew while the healthy client was measured, and a gauge at the end of that time.
export const growth =
    (name, labels = {}) =>
    (before, after) =>
        sumOf(after, name, labels) - sumOf(before, name, labels);
export const level =
    (name, labels = {}) =>
    (before, after) =>
        sumOf(after, name, labels);

// Calls of a method that ended well, and calls of all methods that wait or run.
export const callsOf = (tool = sleepMethod) => ({
    ended: growth("causeway_calls_total", { tool, outcome: "ok" }),
    running: level("causeway_calls_running"),
});

export async function readMetrics(server) {
    const answer = await fetch(`http://${server.address}/metrics`);
    const text = await answer.text();
    if (answer.status !== 200) {
        server.fail(`its metrics were answered with ${answer.status} ${text}`);
    }
    return text;
}
