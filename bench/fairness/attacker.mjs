// The process of one hostile client: attacker.mjs KIND JSON. It runs until its input ends, and prints how often
// the server gave which answer. Any input sets the counts back: from then on the healthy client is measured.
import os from "node:os";
import { kinds } from "./kinds.mjs";

const [name, given] = process.argv.slice(2);
let counts = {};
const count = (what) => (counts[what] = (counts[what] ?? 0) + 1);
os.setPriority(os.constants.priority.PRIORITY_LOW);
process.stdin.on("data", () => (counts = {}));
process.stdin.on("end", () => {
    process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit(0));
});
const ready = () => console.log("ready");
await kinds.find((kind) => kind.name === name).attack({ ...JSON.parse(given), ready, count });
