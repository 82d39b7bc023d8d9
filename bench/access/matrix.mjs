// The access matrix of 1,000 tools and 50 roles: processor time of one call of causeway.access.matrix. Each tool has a
// permission of its own, so no two share a verdict.
import { readFileSync } from "node:fs";
import { startConfigured, write } from "../bridge/bridge.mjs";
import { median } from "../http/servers.mjs";

const tools = 1_000;
const roles = 50;
const target = 100; // ms

const nameOf = (i) => `ledger.entries${String(i).padStart(4, "0")}`;
const permissionOf = (i) => `read ledger ${i}`;
const range = (n) => Array.from({ length: n }, (_, i) => i);

function writeDocument() {
    const methods = range(tools).map((i) => ({
        name: nameOf(i),
        summary: `Finds entries of ledger ${i}.`,
        params: [],
        result: { name: "found", schema: { type: "integer" } },
    }));
    const info = { title: "ledger", version: "1" };
    return write("matrix.json", JSON.stringify({ openrpc: "1.3.2", info, methods }));
}

// `anonymous` and `authenticated` are two of the roles.
function configure() {
    const general = ["access mcp tool discovery", "use jsonrpc services", "administer access"];
    const others = range(roles - 2).map((i) => [
        `role-${i}`,
        range(tools)
            .filter((j) => j % (roles - 2) <= i)
            .map(permissionOf),
    ]);
    const methods = range(tools).map((i) => ({ method: nameOf(i), permissions: [permissionOf(i)] }));
    return {
        roles: { anonymous: general, authenticated: [], ...Object.fromEntries(others) },
        sources: [{ name: "ledger", url: "http://127.0.0.1:9/rpc", openrpc: writeDocument(), methods }],
    };
}

function cpuMs(server) {
    const fields = readFileSync(`/proc/${server.pid}/stat`, "latin1").split(") ").at(-1).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function readMatrix(server) {
    const answer = await fetch(`http://${server.address}/jsonrpc`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "causeway.access.matrix", params: {} }),
    });
    const text = await answer.text();
    const { result } = JSON.parse(text);
    if (result?.tools.length !== tools || result.rows.length !== roles) {
        throw new Error(text.slice(0, 200));
    }
    return text.length;
}

export async function run({ quick, say }) {
    const times = quick ? 2 : 20;
    const server = await startConfigured(configure());
    await server.said(new RegExp(`catalogue published tools=${tools} `));
    const bytes = await readMatrix(server);
    const runs = [];
    for (let i = 0; i < (quick ? 1 : 5); i += 1) {
        const begun = cpuMs(server);
        for (let j = 0; j < times; j += 1) {
            await readMatrix(server);
        }
        runs.push((cpuMs(server) - begun) / times);
        say(`${tools} tools, ${roles} roles: ${runs.at(-1)} ms`);
    }
    await server.stop();
    const ms = median(runs);
    return {
        runs,
        tools,
        roles,
        bytes,
        figures: [
            {
                name: "access matrix of 1,000 tools and 50 roles: CPU of a call",
                target: `< ${target} ms`,
                shown: `${ms.toFixed(1)} ms`,
                ok: ms < target,
            },
        ],
    };
}
