// Reads the hostile HTTP corpus; its format is in http-corpus/README.md.
import { globSync, readFileSync } from "node:fs";
import path from "node:path";

const folder = path.resolve(import.meta.dirname, "..", "http-corpus");
const escapes = { r: "\r", n: "\n", t: "\t", "\\": "\\" };

function decode(text) {
    return text.replace(/\\(x([0-9a-fA-F]{2})|.)/g, (_, letter, hex) => {
        if (hex !== undefined) {
            return String.fromCharCode(Number.parseInt(hex, 16));
        }
        if (escapes[letter] === undefined) {
            throw new Error(`unknown escape in ${text}`);
        }
        return escapes[letter];
    });
}

function readAnswers(text) {
    const words = text.split(" ");
    const end = words.pop();
    if (!["close", "keep", "wait"].includes(end)) {
        throw new Error(`what becomes of the connection? ${text}`);
    }
    return {
        end,
        statuses: words.filter((word) => !word.endsWith("?")).map(Number),
        interim: words.some((word) => word === "100?"),
    };
}

function readSeen(text) {
    const [, method, target, body = ""] = /^(\S+) (\S+)(?: (.*))?$/s.exec(text);
    return { method, path: decode(target), body: decode(body) };
}

function readFile(name) {
    const cases = [];
    for (const line of readFileSync(path.join(folder, name), "utf8").split("\n")) {
        const text = line.slice(2);
        const one = cases.at(-1);
        switch (line[0]) {
            case undefined:
            case ";":
                break;
            case "#":
                cases.push({ file: name, name: text, bytes: "", seen: [], unseen: [] });
                break;
            case ">":
                one.bytes += decode(text);
                break;
            case "*":
                one.bytes += decode(text.slice(text.indexOf(" ") + 1)).repeat(Number.parseInt(text, 10));
                break;
            case "=":
                Object.assign(one, readAnswers(text));
                break;
            case "~":
                one.seen.push(readSeen(text));
                break;
            case "!":
                one.unseen.push(text);
                break;
            default:
                throw new Error(`${name}: what is this? ${line}`);
        }
    }
    return cases;
}

// [{ file, name, bytes (latin1 text), statuses, interim, end, seen, unseen }]
export function readCorpus() {
    return globSync("*.txt", { cwd: folder }).sort().flatMap(readFile);
}
