// What the database server costs next to the file: a caller that is cached, and the lookup of a token that is not.
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import path from "node:path";
import { skipped, startPostgres } from "../../tests/functional/support/postgres.mjs";
import { callFile, connections, message, permissions, pluginFolder, runPairs } from "../bridge/bridge.mjs";
import { startBridge, write } from "../bridge/bridge.mjs";
import { build, cpuNs, folder, median, runLoad } from "../http/servers.mjs";

const mostCached = 1.03;
const mostLookup = 4;
const bearer = (token) => ({ Authorization: `Bearer ${token}` });
const newToken = () => `cw_${randomBytes(32).toString("base64url")}`;
const digest = (token) => createHash("sha256").update(token).digest("hex");

const start = (store) =>
    startBridge("test.echo", {
        store,
        plugins: { directory: pluginFolder(path.join(build, "bench", "bridge", "echo.so")) },
        roles: { anonymous: permissions, authenticated: permissions, editor: ["edit content", "view drafts"] },
    });

// An account with a role, and tokens of it with a scope, in both databases.
function fill(sides, tokens) {
    const list = (write_) =>
        tokens.map((token, i) => `(${i + 1}, 1, 'bench', ${write_(digest(token))}, 1, 0)`).join(",\n");
    const scopes = tokens.map((_, i) => `(${i + 1}, 'content:read')`).join(",\n");
    const sql = (write_) => `INSERT INTO account (id, name, created) VALUES (1, 'alice', 1);
INSERT INTO account_role (account, role) VALUES (1, 'editor');
INSERT INTO token (id, account, name, hash, created, expires) VALUES ${list(write_)};
INSERT INTO token_scope (token, scope) VALUES ${scopes};\n`;
    execFileSync("sqlite3", [sides.file.database], { input: sql((hex) => `x'${hex}'`) });
    const file = write(
        "tokens.sql",
        sql((hex) => `'\\x${hex}'`),
    );
    execFileSync("psql", ["-qX", "-v", "ON_ERROR_STOP=1", "-f", file, sides.server.database], { stdio: "pipe" });
}

// CPU of a call with a token that the server has not seen, in µs.
async function spend({ server }, tokens) {
    const file = callFile("test.echo", bearer("@TOKEN@"));
    const list = write("tokens", `${tokens.join("\n")}\n`);
    const before = cpuNs(server);
    const args = [server.address, connections, 120, 0, file, message, list];
    const { requests, failed, said } = await runLoad("load", args, { group: "bridge" });
    if (failed > 0 || requests !== tokens.length) {
        server.fail(`${failed} of ${requests} calls went wrong\n${said}`);
    }
    return (cpuNs(server) - before) / requests / 1000;
}

async function lookups(sides, tokens, { rounds, each, say }) {
    const found = { file: [], server: [] };
    for (let i = 0; i < rounds; i += 1) {
        const some = tokens.slice(i * each, (i + 1) * each);
        for (const name of i % 2 ? ["server", "file"] : ["file", "server"]) {
            found[name].push(await spend(sides[name], some));
        }
        say(`tokens: file ${found.file.at(-1).toFixed(1)}, server ${found.server.at(-1).toFixed(1)} µs per call`);
    }
    return found;
}

export async function run({ quick, say }) {
    if (skipped) {
        throw new Error(skipped);
    }
    const [pairs, seconds, rounds, each] = quick ? [3, 1, 3, 500] : [15, 1, 9, 2_000];
    const postgres = await startPostgres();
    const sides = { server: { database: postgres.newDatabase() }, file: { database: path.join(folder, "stores.db") } };
    sides.server.server = await start({ url: sides.server.database });
    sides.file.server = await start({ path: sides.file.database });
    const tokens = Array.from({ length: 1 + rounds * each }, newToken);
    fill(sides, tokens);
    for (const side of Object.values(sides)) {
        side.file = callFile("test.echo", bearer(tokens[0]));
    }
    const cached = await runPairs(sides, { pairs, seconds, say });
    const cold = await lookups(sides, tokens.slice(1), { rounds, each, say });
    for (const { server } of Object.values(sides)) {
        await server.stop();
    }
    await postgres.stop();
    const lookup = Object.fromEntries(
        Object.keys(sides).map((name) => [name, cold[name].map((us) => us - cached[name].cpuUs)]),
    );
    const ratio = median(cached.ratios);
    const lookupRatio = median(lookup.server.map((us, i) => us / lookup.file[i]));
    const figures = [
        {
            name: "cached caller: CPU with PostgreSQL, to SQLite",
            target: `≤ ${mostCached} ×`,
            shown: `${ratio.toFixed(2)} ×`,
            ok: ratio <= mostCached,
        },
        {
            name: "lookup of a token: CPU with PostgreSQL, to SQLite",
            target: `≤ ${mostLookup} ×`,
            shown: `${lookupRatio.toFixed(2)} ×`,
            ok: lookupRatio <= mostLookup,
        },
    ];
    const middle = { file: median(lookup.file), server: median(lookup.server) };
    return { cached, ratio, lookup: middle, lookupRatio, rounds, each, figures };
}
