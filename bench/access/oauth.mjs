// What the built-in authorization server costs: code exchanges and refreshes, and a call with one of its access tokens
// next to the same call without one.
//
// The database is in memory (/dev/shm), so the figures are processor time and not the time of a disk: each exchange is
// one synced change. No password is hashed while it is measured.
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { callFile, permissions, pluginFolder, runPairs, startBridge, write } from "../bridge/bridge.mjs";
import { build, causeway, cpuNs, median } from "../http/servers.mjs";

const atOnce = 16;
const leastPerSecond = 1000;
const redirect = "http://127.0.0.1:9/callback";
const password = "bench-s3cret";
const secret = "a-secret-of-a-robot-in-the-benchmarks";
const form = "application/x-www-form-urlencoded";

// ---- a server ----

async function start(folder) {
    const secret_file = path.join(folder, "robot.secret");
    writeFileSync(secret_file, `${secret}\n`, { mode: 0o600 });
    const config = {
        plugins: { directory: pluginFolder(path.join(build, "bench", "bridge", "echo.so")) },
        roles: { anonymous: permissions, authenticated: permissions },
        store: { path: path.join(folder, "bench.db") },
        access: {
            server: {
                enabled: true,
                clients: [
                    { id: "app", redirect_uris: [redirect] },
                    { id: "robot", secret_file, account: "alice" },
                ],
            },
        },
    };
    const file = write("account.yaml", JSON.stringify({ store: config.store }));
    execFileSync(causeway, ["account", "add", "alice", "--config", file], { input: password });
    return await startBridge("test.echo", config);
}

// ---- requests ----

const agent = new http.Agent({ keepAlive: true, maxSockets: atOnce });

function send(server, target, { method = "GET", headers = {}, body = "" } = {}) {
    const all = { ...headers, ...(body && { "Content-Type": form, "Content-Length": Buffer.byteLength(body) }) };
    return new Promise((resolve, reject) => {
        const request = http.request(`http://${server.address}${target}`, { method, headers: all, agent }, (answer) => {
            let text = "";
            answer.setEncoding("utf8");
            answer.on("data", (part) => (text += part));
            answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
        });
        request.on("error", reject);
        request.end(body);
    });
}

async function post(server, target, fields, headers = {}) {
    return await send(server, target, { method: "POST", headers, body: new URLSearchParams(fields).toString() });
}

async function token(server, fields) {
    const { status, text } = await post(server, "/token", fields);
    if (status !== 200) server.fail(`/token: ${status} ${text}`);
    return JSON.parse(text);
}

const field = (text, name) => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1];
const cookieOf = ({ headers }) => headers["set-cookie"].map((line) => line.split(";")[0]).join("; ");

// A person logs in: the headers of their browser.
async function logIn(server) {
    const page = await send(server, "/login");
    const own = { Origin: `http://${server.address}`, "Sec-Fetch-Site": "same-origin", Cookie: cookieOf(page) };
    const fields = { name: "alice", password, csrf: field(page.text, "csrf"), next: field(page.text, "next") ?? "/" };
    const answer = await post(server, "/login", fields, own);
    if (answer.status !== 303) server.fail(`/login: ${answer.status} ${answer.text}`);
    return { ...own, Cookie: cookieOf(answer) };
}

// And allows the client.
async function allow(server, headers) {
    const verifier = randomBytes(32).toString("base64url");
    const query = new URLSearchParams({
        response_type: "code",
        client_id: "app",
        redirect_uri: redirect,
        code_challenge: createHash("sha256").update(verifier).digest("base64url"),
        code_challenge_method: "S256",
    });
    const page = await send(server, `/authorize?${query}`, { headers: { Cookie: headers.Cookie } });
    const answer = await post(
        server,
        "/authorize",
        { consent: field(page.text, "consent"), decision: "allow" },
        headers,
    );
    if (answer.status !== 303) server.fail(`/authorize: ${answer.status} ${answer.text}`);
    return { verifier, code: new URL(answer.headers.location).searchParams.get("code") };
}

// ---- measuring ----

// Run `work` for every item, some at a time: processor time and rate.
async function measure(server, items, work) {
    let next = 0;
    const worker = async () => {
        while (next < items.length) await work(items[next++]);
    };
    const [cpu, begin] = [cpuNs(server), performance.now()];
    await Promise.all(Array.from({ length: atOnce }, worker));
    const seconds = (performance.now() - begin) / 1000;
    return { cpuUs: (cpuNs(server) - cpu) / items.length / 1000, perSecond: items.length / seconds };
}

const inParallel = (n, work) => Promise.all(Array.from({ length: n }, work));

async function measureRound(server, browser, count) {
    // Codes live for a minute, and an account has 200 grants.
    const codes = [];
    while (codes.length < count) codes.push(...(await inParallel(atOnce, () => allow(server, browser))));
    const tokens = [];
    const exchange = await measure(server, codes, async ({ code, verifier }) => {
        const fields = { grant_type: "authorization_code", code, code_verifier: verifier, client_id: "app" };
        tokens.push((await token(server, fields)).refresh_token);
    });
    const last = tokens.slice(-atOnce);
    const refresh = await measure(server, Array.from({ length: 4 * count }), async () => {
        const refresh_token = last.shift();
        last.push(
            (await token(server, { grant_type: "refresh_token", refresh_token, client_id: "app" })).refresh_token,
        );
    });
    return { exchange, refresh };
}

const middle = (runs) => ({
    cpuUs: median(runs.map(({ cpuUs }) => cpuUs)),
    perSecond: median(runs.map(({ perSecond }) => perSecond)),
});

async function measureTokens(server, { rounds, count, say }) {
    const browser = await logIn(server);
    const all = [];
    for (let round = 0; round < rounds; round += 1) {
        all.push(await measureRound(server, browser, count));
        const { exchange, refresh } = all.at(-1);
        say(`round ${round + 1}: exchange ${exchange.cpuUs.toFixed(0)}, refresh ${refresh.cpuUs.toFixed(0)} µs of CPU`);
    }
    return { exchange: middle(all.map((one) => one.exchange)), refresh: middle(all.map((one) => one.refresh)) };
}

async function compare(server, options) {
    const fields = { grant_type: "client_credentials", client_id: "robot", client_secret: secret };
    const { access_token } = await token(server, fields);
    const sides = {
        token: { server, file: callFile("test.echo", { Authorization: `Bearer ${access_token}` }) },
        none: { server, file: callFile("test.echo") },
    };
    return await runPairs(sides, options);
}

export async function run({ quick, say }) {
    const [pairs, seconds, rounds, count] = quick ? [2, 1, 1, 32] : [15, 1, 9, 128];
    const folder = mkdtempSync("/dev/shm/causeway-bench-");
    const server = await start(folder);
    const calls = await compare(server, { pairs, seconds, say });
    const tokens = await measureTokens(server, { rounds, count, say });
    agent.destroy();
    await server.stop();
    rmSync(folder, { recursive: true });
    const perCore = ({ cpuUs }) => 1e6 / cpuUs;
    const ratio = median(calls.ratios);
    const rate = (name, measured) => ({
        name: `${name}: so many a second on one core, without the disk`,
        target: `≥ ${leastPerSecond.toLocaleString("en")}`,
        shown: `${Math.round(perCore(measured)).toLocaleString("en")} (${measured.cpuUs.toFixed(0)} µs each)`,
        ok: perCore(measured) >= leastPerSecond,
    });
    return {
        ...calls,
        ...tokens,
        rounds,
        count,
        atOnce,
        figures: [
            rate("code exchange", tokens.exchange),
            rate("refresh", tokens.refresh),
            {
                name: "call with an access token of the authorization server: CPU, times the same call without one",
                target: "≤ 1.1 ×",
                shown: `${ratio.toFixed(2)} ×`,
                ok: ratio <= 1.1,
            },
        ],
    };
}
