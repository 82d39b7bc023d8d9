// Recorded exchanges with the system that Causeway re-makes, replayed against Causeway, and what is
// not the same in the answers.
//
//     const found = await replay(readRecordings("anon-granted-nocache"), server);
//     found.flatMap(({ differences }) => differences); // [{ where, theirs, ours }]
//
// The recordings are data that is not committed: $CAUSEWAY_TEST_DATA/drupal-live.
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { get, send } from "./rest.mjs";

const data = process.env.CAUSEWAY_TEST_DATA ?? "";
export const recordings = path.join(data, "drupal-live");
export const haveRecordings = data !== "" && existsSync(recordings);

// What a client can act on. Not compared: the framework's own marks (X-…, Expires, Server), and
// what belongs to a connection or a moment (Date, Content-Length).
const headerNames = [
    "content-type",
    "cache-control",
    "www-authenticate",
    "allow",
    "etag",
    "vary",
    "access-control-allow-origin",
    "access-control-allow-methods",
];

// ---- reading ----

// Lines `>>>` are the request, `<<<` the head of the answer; its body follows.
function parseRecording(folder, file) {
    const lines = readFileSync(path.join(recordings, folder, file), "utf8").split("\n");
    const marked = (mark) => {
        const end = lines.findIndex((line) => !line.startsWith(mark));
        return lines.splice(0, end).map((line) => line.slice(mark.length + 1));
    };
    const asked = marked(">>>");
    const answered = marked("<<<");
    const [method, target] = asked[0].split(" ");
    const blank = asked.indexOf("", 1);
    const [head, body] =
        blank < 0 ? [asked.slice(1), undefined] : [asked.slice(1, blank), asked.slice(blank + 1).join("\n")];
    const text = lines.join("\n").trim();
    const request = { method, target, headers: parseHeaders(head, (name) => name), body };
    const status = Number(answered[0].split(" ")[1]);
    const headers = parseHeaders(answered.slice(1), (name) => name.toLowerCase());
    return { folder, name: path.basename(file, ".txt"), request, theirs: { status, headers, text } };
}

function parseHeaders(lines, fold) {
    const pairs = lines.filter((line) => line !== "").map((line) => /^([^:]+): ?(.*)$/.exec(line));
    return Object.fromEntries(pairs.map(([, name, value]) => [fold(name), value]));
}

export function readRecordings(folder) {
    const files = globSync("*.txt", { cwd: path.join(recordings, folder) }).sort();
    assert.ok(files.length > 0, `recordings in ${folder}`);
    return files.map((file) => parseRecording(folder, file));
}

// A file of another form: a line for each of some requests that were sent in this order, with the
// status and the beginning of the body.
export function readSequence(name) {
    const lines = readFileSync(path.join(recordings, `${name}.txt`), "utf8")
        .trim()
        .split("\n");
    return lines.map((line, i) => {
        const [, query, status, code] = /^GET describe(\S*) -> (\d+) .*?\{"(?:error":\{"code":")?(\w+)/.exec(line);
        return {
            folder: name,
            name: String(i + 1),
            request: { method: "GET", target: `/mcp/tools/describe${query}`, headers: {} },
            theirs: { status: Number(status), kind: code === "tool" ? "tool" : `error ${code}` },
        };
    });
}

// ---- comparing ----

function parseJson(text) {
    try {
        return JSON.parse(text);
    } catch {
        return undefined;
    }
}

const rpcKind = ({ error }) => (error === undefined ? "result" : `error ${error.code}`);

// A word for what a body is; two bodies of one kind are compared member by member.
function kindOf(text) {
    if (text === "") {
        return "nothing";
    }
    const json = parseJson(text);
    if (json === undefined) {
        return /<html/i.test(text) ? "page" : "text";
    }
    if (Array.isArray(json)) {
        return "batch";
    }
    if (json.jsonrpc !== undefined) {
        return rpcKind(json);
    }
    const marks = { error: () => `error ${json.error.code}`, tools: () => "list", tool: () => "tool" };
    const found = Object.keys(marks).find((name) => name in json);
    return found === undefined ? "object" : marks[found]();
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isAnswer = (value) => isObject(value) && "jsonrpc" in value;

// Lists whose members have a name are compared by name; `all` finds members of other pages.
const named = { "/tools": "name", "/data": "id" };

class Comparison {
    constructor(catalogue) {
        this.catalogue = catalogue;
        this.found = [];
    }

    add(where, theirs, ours) {
        if (!isDeepStrictEqual(theirs, ours)) {
            this.found.push({ where, theirs, ours });
        }
    }

    lists(at, theirs, ours) {
        const key = named[at];
        if (key === undefined) {
            this.add(`body ${at} length`, theirs.length, ours.length);
            theirs.slice(0, ours.length).forEach((one, i) => this.values(`${at}/*`, one, ours[i]));
            return;
        }
        const names = (list) => list.map((one) => one[key]);
        const sorted = (list) => names(list).sort();
        const same = isDeepStrictEqual(sorted(theirs), sorted(ours));
        this.add(`body ${at} ${same ? "order" : "members"}`, names(theirs), names(ours));
        for (const one of theirs) {
            const other = this.catalogue.find((entry) => entry[key] === one[key]);
            if (other !== undefined) {
                this.values(`${at}/*`, one, other);
            }
        }
    }

    values(at, theirs, ours) {
        if (isAnswer(theirs) && isAnswer(ours) && rpcKind(theirs) !== rpcKind(ours)) {
            this.add(`body ${at}`.trim(), rpcKind(theirs), rpcKind(ours));
            return;
        }
        if (Array.isArray(theirs) && Array.isArray(ours)) {
            this.lists(at, theirs, ours);
            return;
        }
        if (!isObject(theirs) || !isObject(ours)) {
            this.add(`body ${at}`.trim(), theirs, ours);
            return;
        }
        for (const name of new Set([...Object.keys(theirs), ...Object.keys(ours)])) {
            this.values(`${at}/${name}`, theirs[name], ours[name]);
        }
    }
}

function compare(theirs, ours, catalogue) {
    const comparison = new Comparison(catalogue);
    comparison.add("status", theirs.status, ours.status);
    const [left, right] = [theirs.kind ?? kindOf(theirs.text), kindOf(ours.text)];
    for (const name of theirs.headers === undefined ? [] : headerNames) {
        comparison.add(name, theirs.headers[name], ours.headers[name]);
    }
    if (left !== right || theirs.text === undefined) {
        comparison.add("body", left, right);
    } else if (parseJson(theirs.text) !== undefined) {
        comparison.values("", parseJson(theirs.text), parseJson(ours.text));
    }
    return comparison.found;
}

// ---- replaying ----

// Every tool and every method that the caller sees, the ones of later pages too.
async function readCatalogue(server, headers) {
    const members = [];
    for (let cursor = ""; cursor !== null; ) {
        const { json } = await get(server, `/mcp/tools/list?cursor=${cursor}`, headers);
        members.push(...(json.tools ?? []));
        cursor = json.nextCursor ?? null;
    }
    const { json } = await get(server, "/jsonrpc/methods", headers);
    return [...members, ...(json.data ?? [])];
}

// Send every request; `authorize(recording)` may give another Authorization than the recorded one.
// Where the site names itself, our address stands for its own.
export async function replay(list, server, authorize = ({ request }) => request.headers.Authorization) {
    const found = [];
    const catalogues = new Map();
    const translate = (text) => text.replaceAll(server.url, "http://127.0.0.1");
    for (const recording of list) {
        const { method, target, headers: given, body } = recording.request;
        const authorization = authorize(recording);
        const login = authorization === undefined ? {} : { Authorization: authorization };
        const lists = recording.theirs.status === 200 && /list|methods/i.test(target);
        if (lists && !catalogues.has(authorization)) {
            const text = JSON.stringify(await readCatalogue(server, login));
            catalogues.set(authorization, JSON.parse(translate(text)));
        }
        const answer = await send(server, method, target, { headers: { ...given, ...login }, body });
        const ours = { ...answer, text: translate(answer.text) };
        const differences = compare(recording.theirs, ours, catalogues.get(authorization) ?? []);
        found.push({ ...recording, ours, differences });
    }
    return found;
}
