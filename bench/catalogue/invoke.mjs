// A call through /mcp/tools/invoke by an account, its password known from an earlier request: what
// it costs beside the same call of nobody in particular through /jsonrpc.
import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import path from "node:path";
import { connections, runPairs, startWith, write, writeRequest } from "../bridge/bridge.mjs";
import { causeway, folder, median } from "../http/servers.mjs";
import { few } from "./lists.mjs";

const name = "ledger.entries000007";
const args = { account: "4711", limit: 12, fields: ["amount", "date"] };
const expected = '"found":12';
const permissions = ["access mcp tool discovery", "use jsonrpc services"];

// Both may call; the tool wants "access content" besides.
function configure() {
    const home = mkdtempSync(path.join(folder, "accounts-"));
    const config = {
        loops: 1,
        access_log: false,
        store: { path: path.join(home, "accounts.db") },
        plugins: { directory: few() },
        roles: { anonymous: [...permissions, "access content"], reader: ["access content"] },
    };
    config.roles.authenticated = permissions;
    const file = write("accounts.yaml", JSON.stringify(config));
    const add = ["account", "add", "alice", "--role", "reader", "--config", file];
    execFileSync(causeway, add, { input: "s3cret-pw\n", stdio: ["pipe", "pipe", "inherit"] });
    return file;
}

const json = { "Content-Type": "application/json" };
const basic = { Authorization: `Basic ${Buffer.from("alice:s3cret-pw").toString("base64")}` };

const requests = () => ({
    invoke: writeRequest("POST", "/mcp/tools/invoke", {
        headers: { ...json, ...basic },
        body: JSON.stringify({ name, arguments: args }),
    }),
    jsonrpc: writeRequest("POST", "/jsonrpc", {
        headers: json,
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: name, params: args }),
    }),
});

export async function run({ quick, say }) {
    const [pairs, seconds] = quick ? [2, 1] : [9, 2];
    const server = await startWith(configure());
    await server.said(/catalogue published tools=100 /);
    const files = requests();
    const side = (kind) => ({ server, file: files[kind], expected });
    const measured = await runPairs({ invoke: side("invoke"), jsonrpc: side("jsonrpc") }, { pairs, seconds, say });
    await server.stop();
    const ratio = median(measured.ratios);
    return {
        ...measured,
        connections,
        figures: [
            {
                name: "call by an account through /mcp/tools/invoke: CPU, times anonymous /jsonrpc",
                target: "≤ 1.3 ×",
                shown: `${ratio.toFixed(2)} ×`,
                ok: ratio <= 1.3,
            },
        ],
    };
}
