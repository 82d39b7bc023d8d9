// Hostile clients and services that make validation expensive: three kinds in one module, because
// they differ only in where the value comes from and in its schema.
import { describeMethod, startService } from "./healthy.mjs";
import { flood, post, statusOf, words } from "./hostile.mjs";

const catastrophe = { items: { not: { pattern: String.raw`^(?!x)(\w+\s?)*$` } } };
const numbers = Array.from({ length: 500_000 }, (_, i) => i % 10);
const strings = { anyOf: [{ type: "null" }, { items: { enum: ["a", "b"] } }], items: { type: "string" } };

const start = () =>
    startService({
        methods: [
            describeMethod("quick"),
            describeMethod("check", { texts: catastrophe }),
            describeMethod("words", {}, catastrophe),
            describeMethod("list", { texts: strings }),
        ],
    });

// An unknown method has the same status, but costs nothing.
const costly = /too much work to validate|\(and more\)/;
const nameOf = (answer) => (costly.test(answer?.text) ? "costly" : statusOf(answer));

const attackWith =
    (name, params) =>
    async ({ address, from, ready, count }) => {
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: `service.${name}`, params });
        ready();
        await flood(4, count, () => post(address, from, "/jsonrpc", { body }), nameOf);
    };

export const patterns = {
    name: "patterns",
    about: `4 connections send 1.1 MB of arguments that a pattern takes long to refuse; the healthy client
    calls another method.`,
    start,
    least: { costly: 5 },
    attack: attackWith("check", { texts: words }),
};

export const results = {
    name: "results",
    about: `4 connections call a method whose result is 1.1 MB that a pattern takes long to refuse; the
    healthy client calls another method of the same service.`,
    start,
    least: { costly: 5 },
    attack: attackWith("words", {}),
};

export const explanations = {
    name: "explanations",
    about: `4 connections send an array of 500,000 items that are all wrong, so that problems have to be
    explained; the healthy client calls another method.`,
    start,
    least: { costly: 5 },
    attack: attackWith("list", { texts: numbers }),
};
