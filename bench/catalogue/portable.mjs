// 10,000 tools whose schemas must be rewritten for model APIs: processor time until they are published and a second
// caller has listed them, with `mcp.schemas: portable` next to `exact`.
import { readFileSync } from "node:fs";
import { median } from "../http/servers.mjs";
import { startConfigured, write } from "../bridge/bridge.mjs";

const tools = 10_000;
const text = { type: "string" };

// Each needs another kind of rewriting.
const rules = [
    (i) => ({ "x-input": { anyOf: [{ required: ["account"] }, { required: ["fields"] }], maxProperties: i } }),
    (i) => ({ fields: { $ref: "#/$defs/list", $defs: { list: { type: "array", items: text, maxItems: i } } } }),
    (i) => ({ fields: { type: "array", maxItems: i } }),
    (i) => ({ fields: { $schema: "http://json-schema.org/draft-07/schema#", items: [text, { maximum: i }] } }),
    (i) => ({ fields: { enum: [`a${i}`, `b${i}`] } }),
];

function methodOf(i) {
    const { fields = { type: "array", items: text, maxItems: i }, ...more } = rules[i % rules.length](i);
    return {
        name: `ledger.entries${String(i).padStart(6, "0")}`,
        summary: `Finds entries of ledger ${i} by account and returns how many there are.`,
        params: [
            {
                name: "account",
                description: "Which account the entries belong to.",
                schema: { ...text, maxLength: 16 + i },
            },
            { name: "limit", description: "Most entries to count.", schema: { type: "integer", maximum: 100 + i } },
            { name: "fields", description: "Which fields to read.", schema: fields },
        ],
        result: { name: "found", schema: { type: "integer", maximum: 100 + i } },
        ...more,
    };
}

const writeDocument = () =>
    write(
        "portable.json",
        JSON.stringify({
            openrpc: "1.3.2",
            info: { title: "ledger", version: "1" },
            methods: Array.from({ length: tools }, (_, i) => methodOf(i)),
        }),
    );

async function listAll(server, name) {
    let cursor;
    let n = 0;
    do {
        const body = {
            jsonrpc: "2.0",
            id: 1,
            method: "tools/list",
            params: {
                ...(cursor && { cursor }),
                _meta: {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                    "io.modelcontextprotocol/clientInfo": { name, version: "1" },
                },
            },
        };
        const answer = await fetch(`http://${server.address}/mcp`, {
            method: "POST",
            headers: {
                "Content-Type": "application/json",
                Accept: "application/json, text/event-stream",
                "MCP-Protocol-Version": "2026-07-28",
                "Mcp-Method": "tools/list",
            },
            body: JSON.stringify(body),
        });
        const { result } = await answer.json();
        n += result.tools.length;
        cursor = result.nextCursor;
    } while (cursor);
    return n;
}

function cpuMs(server) {
    const fields = readFileSync(`/proc/${server.pid}/stat`, "latin1").split(") ").at(-1).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
}

// The second caller gets pages of its own: it has other names.
async function measure(schemas, openrpc) {
    const server = await startConfigured({
        sources: [{ name: "ledger", url: "http://127.0.0.1:9/rpc", openrpc, methods: ["*"] }],
        mcp: { schemas, clients: [{ name: "second", tool_names: "exact" }] },
    });
    await server.said(new RegExp(`catalogue published tools=${tools} `));
    const published = cpuMs(server);
    for (const name of ["first", "second"]) {
        const n = await listAll(server, name);
        if (n !== tools) {
            throw new Error(`${n} tools`);
        }
    }
    const total = cpuMs(server);
    await server.stop();
    return { published, total };
}

export async function run({ quick, say }) {
    const openrpc = writeDocument();
    const runs = [];
    for (let i = 0; i < (quick ? 1 : 5); i += 1) {
        const exact = await measure("exact", openrpc);
        const portable = await measure("portable", openrpc);
        runs.push({ exact, portable, ratio: portable.total / exact.total });
        say(`${tools} tools: exact ${exact.total} ms, portable ${portable.total} ms`);
    }
    const ratio = median(runs.map((one) => one.ratio));
    return {
        runs,
        tools,
        figures: [
            {
                name: "10,000 rewritten schemas, published and listed twice: CPU, times exact schemas",
                target: "≤ 1.3 ×",
                shown: `${ratio.toFixed(2)} ×`,
                ok: ratio <= 1.3,
            },
        ],
    };
}
