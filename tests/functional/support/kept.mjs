// What a test file leaves behind: one folder for its logs, configs and transcripts, removed when
// every test of the file passed, otherwise kept and named.
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

let folder;

export function keepFolder() {
    if (folder === undefined) {
        const parent = process.env.CAUSEWAY_TEST_OUT ?? tmpdir();
        mkdirSync(parent, { recursive: true });
        const name = path.basename(process.argv[1] ?? "test", ".test.mjs");
        folder = mkdtempSync(path.join(parent, `${name}-`));
        process.on("exit", finish);
    }
    return folder;
}

// Add bytes that went over a socket to the transcript: ">" is what the test sent, "<" what came.
export function transcribe(label, direction, bytes) {
    const shown = JSON.stringify(Buffer.from(bytes).toString("latin1"));
    appendFileSync(path.join(keepFolder(), "transcript"), `${label} ${direction} ${shown}\n`);
}

function finish(code) {
    if (code === 0 && !process.exitCode) {
        rmSync(folder, { recursive: true, force: true });
    } else {
        console.error(`Transcript and logs of this failed test: ${folder}`);
    }
}

let sockets = 0;

// A path for a unix socket of this test file, short enough for its address.
export const newSocketPath = () => path.join(keepFolder(), `s${(sockets += 1)}`);
