// The process of one hostile client: attacker.mjs KIND JSON. It runs until it is killed, or until
// the bench that started it ends.
import os from "node:os";
import { kinds } from "./kinds.mjs";

const [name, given] = process.argv.slice(2);
os.setPriority(os.constants.priority.PRIORITY_LOW);
process.stdin.resume().on("end", () => process.exit(0));
await kinds.find((kind) => kind.name === name).attack({ ...JSON.parse(given), ready: () => console.log("ready") });
