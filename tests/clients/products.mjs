// Shows that products read the file that `causeway install` writes: products.mjs --causeway BIN [--packages DIR] [NAME...]
//
// DIR holds the npm packages of the products (`npm install` in it); a product that it lacks is skipped. Each product
// gets a home directory of its own with a file that exists already, and runs three times: it starts the program, it
// connects to a server, and it sends a token that is in the environment only. Then `--undo` must restore the file.
// Products whose command line lists servers without a connection run one turn with the test model instead.
//
// The output is one line of JSON for each product: { product, version, stdio, http, token, undo }, the steps "ok" or the
// reason of a failure; or { product, skipped }. The exit code is 1 if a step failed.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { script, startModel } from "./model.mjs";
import { startRecorder } from "./recorder.mjs";
import { stateOf } from "./server.mjs";

const RUN_MS = 120_000;
const START_MS = 20_000;
const TOKEN_VARIABLE = "CAUSEWAY_PRODUCT_TOKEN";

const { values, positionals } = parseArgs({
    options: { causeway: { type: "string" }, packages: { type: "string", default: process.cwd() } },
    allowPositionals: true,
});
if (!values.causeway) {
    console.error("usage: products.mjs --causeway BIN [--packages DIR] [NAME...]");
    process.exit(2);
}
const causeway = path.resolve(values.causeway);

// Each product: its program; the arguments that list servers, with the text of a working one; or those of a turn. `text`
// is the file before the installation, with the URL of the test model. `rewrites`: the product itself adds to the file.
const products = {
    "claude-code": {
        program: "claude",
        args: () => ["mcp", "list"],
        shows: /^causeway: .*Connected/m,
        file: ".claude.json",
        rewrites: true,
        text: () => '{"numStartups": 1}\n',
    },
    codex: {
        program: "codex",
        args: () => ["exec", "--skip-git-repo-check", "-m", "gpt-4.1", script.prompt],
        env: () => ({ FAKE_KEY: "none" }),
        file: ".codex/config.toml",
        text: (model) =>
            `# mine\nmodel_provider = "fake"\n\n[model_providers.fake]\nname = "fake"\nbase_url = "${model}/v1"\n` +
            'env_key = "FAKE_KEY"\nwire_api = "responses"\n',
    },
    continue: {
        program: "cn",
        args: (home) => ["-p", script.prompt, "--auto", "--config", path.join(home, ".continue/config.yaml")],
        env: () => ({ CONTINUE_TELEMETRY_ENABLED: "0" }),
        file: ".continue/config.yaml",
        text: (model) =>
            "name: mine # best\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: fake\n    provider: openai\n" +
            `    model: gpt-4.1\n    apiBase: ${model}/v1\n    apiKey: none\n    capabilities: [tool_use]\n`,
    },
    gemini: {
        program: "gemini",
        args: () => ["mcp", "list"],
        env: () => ({ GEMINI_CLI_TRUST_WORKSPACE: "true" }),
        shows: /causeway: .*Connected/,
        file: ".gemini/settings.json",
        text: () => '{\n  // mine\n  "ui": {"theme": "Default"}\n}\n',
    },
    goose: {
        program: "goose",
        args: () => ["run", "--no-session", "-t", script.prompt],
        env: (model) => ({
            GOOSE_PROVIDER: "openai",
            GOOSE_MODE: "auto",
            GOOSE_DISABLE_KEYRING: "true",
            OPENAI_HOST: model,
            OPENAI_API_KEY: "none",
        }),
        file: ".config/goose/config.yaml",
        text: () => "# mine\nGOOSE_MODEL: gpt-4.1 # best\n",
    },
    opencode: {
        program: "opencode",
        args: () => ["mcp", "list"],
        env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: "true" }),
        shows: /causeway.*connected/,
        file: ".config/opencode/opencode.json",
        text: () => '{\n  "$schema": "https://opencode.ai/config.json", // mine\n  "autoupdate": false,\n}\n',
    },
    qwen: {
        program: "qwen",
        args: () => ["mcp", "list"],
        shows: /causeway: .*Connected/,
        file: ".qwen/settings.json",
        rewrites: true,
        text: () => '{"ui": {"theme": "Default"} /* mine */}\n',
    },
};

// ---- the server ----

const folder = mkdtempSync(path.join(tmpdir(), "causeway-products-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

function run(program, args, env = process.env, cwd = folder) {
    return new Promise((resolve) => {
        const child = spawn(program, args, { env, cwd, stdio: ["ignore", "pipe", "pipe"] });
        const timer = setTimeout(() => child.kill("SIGKILL"), RUN_MS);
        let output = "";
        child.on("error", (error) => resolve({ code: -1, output: error.message }));
        for (const stream of [child.stdout, child.stderr]) {
            stream.setEncoding("utf8").on("data", (text) => (output += text));
        }
        child.on("close", (code) => {
            clearTimeout(timer);
            resolve({ code, output });
        });
    });
}

function must(args) {
    const done = spawnSync(causeway, args, { encoding: "utf8" });
    if (done.status !== 0) {
        throw new Error(`causeway ${args.join(" ")}: ${done.stderr}`);
    }
    return done.stdout;
}

// Only the owner of the token may use tools.
async function startServer(name, roles) {
    const config = path.join(folder, `${name}.yaml`);
    const plugins = path.join(path.dirname(causeway), "plugins");
    const store = { path: path.join(folder, `${name}.db`) };
    writeFileSync(config, JSON.stringify({ listen: "127.0.0.1:0", roles, store, plugins: { directory: plugins } }));
    must(["account", "add", "alice", "--no-password", "--config", config]);
    const token = must(["token", "create", "alice", "--config", config]).match(/\bcw_\S+/)[0];
    const env = { ...process.env, ...stateOf(config) };
    const child = spawn(causeway, ["serve", "--config", config], { env, stdio: ["ignore", "pipe", "pipe"] });
    process.on("exit", () => child.kill());
    child.stderr.resume();
    const url = await new Promise((resolve, reject) => {
        let output = "";
        const timer = setTimeout(() => reject(new Error(`causeway did not start:\n${output}`)), START_MS);
        child.stdout.setEncoding("utf8").on("data", (text) => {
            output += text;
            const match = /listening on (http:\S+)/.exec(output);
            if (match) {
                clearTimeout(timer);
                resolve(`${match[1]}/mcp`);
            }
        });
    });
    return { url, token, close: () => child.kill() };
}

// ---- steps ----

// The reason of a failure, or "ok".
async function step(product, home, env, model, options) {
    const installed = await run(causeway, ["install", product.name, "--yes", ...options], env);
    if (installed.code !== 0) {
        return `install: ${installed.output.trim()}`;
    }
    const before = model.record.requests.length;
    const { output } = await run(product.bin, product.args(home), env, path.join(home, "work"));
    if (product.shows) {
        return product.shows.test(output) ? "ok" : output.trim().slice(-400);
    }
    const offered = model.record.requests
        .slice(before)
        .some(({ tools }) => tools.some((name) => script.isTarget({ name })));
    return offered ? "ok" : `no request offers the tools: ${output.trim().slice(-400)}`;
}

const kept = Object.entries(process.env).filter(
    ([key]) => !/^(XDG_|CLAUDE|CODEX|GEMINI|GOOSE|QWEN|CONTINUE|OPENCODE)/.test(key),
);

// The environment of a product, without variables that lead it to files of the person who runs this.
function environmentOf(product, home, token, model) {
    const own = { HOME: home, CI: "true", NO_COLOR: "1", CAUSEWAY_CONFIG: "", [TOKEN_VARIABLE]: token };
    return { ...Object.fromEntries(kept), ...own, ...product.env?.(model.url) };
}

// The token must arrive, but must not be in the file.
async function checkToken(product, { home, env, model, closed, file }) {
    const transcript = path.join(home, "transcript");
    const recorder = await startRecorder(closed.url, transcript);
    const result = await step(product, home, env, model, ["--url", recorder.url, "--token-env", TOKEN_VARIABLE]);
    recorder.close();
    if (readFileSync(file, "utf8").includes(closed.token)) {
        return "the file holds the token";
    }
    const isSent = existsSync(transcript) && readFileSync(transcript, "utf8").includes(`Bearer ${closed.token}`);
    return isSent ? result : `the token was not sent: ${result}`;
}

async function check(product, model, open, closed) {
    const home = mkdtempSync(path.join(folder, `${product.name}-`));
    const file = path.join(home, product.file);
    const text = product.text(model.url);
    mkdirSync(path.join(home, "work"));
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
    const env = environmentOf(product, home, closed.token, model);
    const version = await run(product.bin, ["--version"], env);
    const stdio = await step(product, home, env, model, []);
    const http = await step(product, home, env, model, ["--url", open.url]);
    const token = await checkToken(product, { home, env, model, closed, file });
    const undone = await run(causeway, ["install", product.name, "--undo", "--yes"], env);
    const now = existsSync(file) ? readFileSync(file, "utf8") : "";
    const isRestored = now === text || (product.rewrites && !now.includes("causeway"));
    const undo = isRestored ? "ok" : `${undone.output.trim()}\n${now}`;
    return { version: /\d+\.\d+\.\d+/.exec(version.output)?.[0], stdio, http, token, undo };
}

// ---- all products ----

const permissions = ["access mcp tool discovery", "access content", "use jsonrpc services"];
const open = await startServer("open", { anonymous: permissions });
const closed = await startServer("closed", { authenticated: permissions });
const model = await startModel();
let isFailed = false;
for (const [name, product] of Object.entries(products)) {
    const bin = path.join(values.packages, "node_modules", ".bin", product.program);
    if (positionals.length > 0 && !positionals.includes(name)) {
        continue;
    }
    if (!existsSync(bin)) {
        console.log(JSON.stringify({ product: name, skipped: `${product.program} is not installed` }));
        continue;
    }
    const result = await check({ ...product, name, bin }, model, open, closed);
    isFailed ||= ["stdio", "http", "token", "undo"].some((one) => result[one] !== "ok");
    console.log(JSON.stringify({ product: name, ...result }));
}
open.close();
closed.close();
await model.close();
process.exit(isFailed ? 1 : 0);
