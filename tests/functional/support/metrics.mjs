// The text of GET /metrics, parsed.
//
//     const metrics = await scrape(server, bearer(token));
//     metrics.value("causeway_calls_total", { tool: "test.add", outcome: "ok" })
import assert from "node:assert/strict";
import { send } from "./rest.mjs";

const openMetrics = "application/openmetrics-text";

function readLabels(text) {
    const labels = {};
    for (const [, name, value] of text.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)) {
        labels[name] = value.replaceAll(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
    }
    return labels;
}

export class Metrics {
    constructor(text) {
        this.text = text;
        this.samples = text
            .split("\n")
            .filter((line) => line !== "" && !line.startsWith("#"))
            .map((line) => {
                const [, name, , labels = "", value] = /^([a-z_]+)(\{(.*?)\})? ([-+.e\d]+)/.exec(line) ?? [];
                assert.ok(name, line);
                return { name, labels: readLabels(labels), value: Number(value) };
            });
    }

    // Families by name, with their type.
    get families() {
        return new Map([...this.text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]));
    }

    find(name, labels = {}) {
        return this.samples.filter(
            (sample) =>
                sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
        );
    }

    // The sum of all samples that fit; undefined: none does.
    value(name, labels) {
        const found = this.find(name, labels);
        return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
    }
}

export async function scrape(server, headers = {}, { open = false } = {}) {
    const answer = await send(server, "GET", "/metrics", {
        headers: { ...headers, ...(open ? { Accept: `${openMetrics}; version=1.0.0` } : {}) },
    });
    assert.equal(answer.status, 200, answer.text);
    return new Metrics(answer.text);
}
