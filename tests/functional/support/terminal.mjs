// Programs that run on a terminal: script(1) gives them one.
import { spawn } from "node:child_process";
import path from "node:path";
import { keepFolder } from "./kept.mjs";
import { binary } from "./programs.mjs";

// All that `causeway WORDS` prints on a terminal. `input` is a file for standard input.
export function onTerminal(words, { cwd, env, input } = {}) {
    const line = [binary, ...words].map((word) => `'${word}'`).join(" ");
    const state = { STATE_DIRECTORY: undefined, XDG_STATE_HOME: path.join(keepFolder(), "state") };
    const options = {
        cwd,
        env: { ...process.env, ...state, TERM: "xterm", NO_COLOR: "", ...env },
        stdio: ["ignore", "pipe", "inherit"],
    };
    return new Promise((resolve, reject) => {
        const child = spawn("script", ["-qec", input ? `${line} < '${input}'` : line, "/dev/null"], options);
        let text = "";
        child.on("error", reject);
        child.stdout.setEncoding("utf8").on("data", (piece) => (text += piece));
        child.on("close", () => resolve(text));
    });
}
