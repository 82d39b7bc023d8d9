// Starts a program and copies both directions of its standard streams into a file, so that a run over stdio leaves a
// transcript: tap.mjs FILE PROGRAM [ARGUMENT...]
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";

const [file, program, ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const copy = (from, to, sign) => {
    from.on("data", (chunk) => {
        appendFileSync(file, `${sign} ${chunk}`);
        to.write(chunk);
    });
    from.on("end", () => to.end());
};
child.stdin.on("error", () => {});
process.stdout.on("error", () => child.stdin.end());
copy(process.stdin, child.stdin, ">");
copy(child.stdout, process.stdout, "<");
for (const signal of ["SIGTERM", "SIGINT"]) {
    process.on(signal, () => child.kill(signal));
}
child.on("close", (code) => process.exit(code ?? 1));
