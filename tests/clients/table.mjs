// Writes the table of clients in docs/clients.md, between two markers.
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const page = path.resolve(import.meta.dirname, "..", "..", "docs", "clients.md");
const BEGIN = "<!-- clients: written by `make clients` -->";
const END = "<!-- clients: end -->";

const escaped = (text) => text.replace(/\|/g, "\\|").replace(/\s+/g, " ");
// Angle brackets and stars of an error text must not become markup.
const quoted = (text) => `\`${escaped(text).replace(/`/g, "'")}\``;
const unique = (list) => [...new Set(list.filter(Boolean))];

function restOf({ skip, problem, whose }) {
    if (skip !== undefined) {
        return "not run";
    }
    return problem === null ? "–" : `${whose}: ${quoted(problem)}`;
}

// Rows of one client that differ only in transport or protocol version become one.
function merge(rows) {
    const groups = new Map();
    for (const row of rows) {
        const { client, version } = row;
        const key = [client.id, version, row.works.join(), restOf(row)].join("\n");
        groups.set(key, [...(groups.get(key) ?? []), row]);
    }
    return [...groups.values()];
}

function line(group) {
    const [{ client, version, works }] = group;
    return [
        client.title,
        version,
        unique(group.map(({ transport }) => transport)).join(", "),
        unique(group.map(({ revision }) => revision)).join(", ") || "–",
        works.join(", ") || "–",
        restOf(group[0]),
    ];
}

export function formatTable(rows) {
    const head = ["Client", "Version", "Transports", "Protocol versions", "Works", "Other results"];
    const lines = [head, head.map(() => "---"), ...merge(rows).map(line)];
    return lines.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

// The page with the table between its markers.
export function replaceTable(text, table) {
    const begin = text.indexOf(BEGIN);
    const end = text.indexOf(END);
    if (begin < 0 || end < begin) {
        throw new Error(`docs/clients.md lacks the markers ${BEGIN} and ${END}`);
    }
    return `${text.slice(0, begin + BEGIN.length)}\n\n${table}\n${text.slice(end)}`;
}

export function writeTable(rows) {
    writeFileSync(page, replaceTable(readFileSync(page, "utf8"), formatTable(rows)));
}
