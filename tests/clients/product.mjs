// Runs a product in one turn without a person: product.mjs NAME
//
// `causeway install` writes the product's file in a home directory of its own, and variables of the environment lead
// the product to the test model. The current directory holds the product's npm package.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const { CAUSEWAY, MCP_COMMAND, MCP_URL, MODEL_URL, PROMPT } = process.env;
const openai = `${MODEL_URL}/v1`;
const toml = (value) => JSON.stringify(value);

// The program, its arguments, its environment, and files (below the home directory) that exist before the installation.
const products = {
    "claude-code": {
        program: "claude",
        args: ["-p", PROMPT, "--allowedTools", "mcp__causeway"],
        env: {
            ANTHROPIC_BASE_URL: MODEL_URL,
            ANTHROPIC_API_KEY: "none",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
            ENABLE_TOOL_SEARCH: "false",
        },
    },
    codex: {
        program: "codex",
        args: ["exec", "--skip-git-repo-check", "-m", "gpt-4.1", PROMPT],
        env: { FAKE_KEY: "none" },
        files: {
            ".codex/config.toml":
                'model_provider = "fake"\n\n[model_providers.fake]\nname = "fake"\n' +
                `base_url = ${toml(openai)}\nenv_key = "FAKE_KEY"\nwire_api = "responses"\n`,
        },
    },
    gemini: {
        program: "gemini",
        args: ["-p", PROMPT, "--yolo", "-m", "gemini-2.5-flash"],
        env: {
            GOOGLE_GEMINI_BASE_URL: MODEL_URL,
            GEMINI_API_KEY: "none",
            GEMINI_CLI_TRUST_WORKSPACE: "true",
            GEMINI_TELEMETRY_ENABLED: "false",
        },
        files: { ".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}\n' },
    },
    goose: {
        program: "goose",
        args: ["run", "--no-session", "-t", PROMPT],
        env: {
            GOOSE_PROVIDER: "openai",
            GOOSE_MODEL: "gpt-4.1",
            GOOSE_MODE: "auto",
            GOOSE_DISABLE_KEYRING: "true",
            OPENAI_HOST: MODEL_URL,
            OPENAI_API_KEY: "none",
        },
    },
    opencode: {
        program: "opencode",
        args: ["run", "-m", "fake/gpt-4.1", PROMPT],
        env: {
            OPENCODE_DISABLE_AUTOUPDATE: "true",
            OPENCODE_CONFIG_CONTENT: JSON.stringify({
                provider: {
                    fake: {
                        npm: "@ai-sdk/openai-compatible",
                        options: { baseURL: openai, apiKey: "none" },
                        models: { "gpt-4.1": { tool_call: true } },
                    },
                },
            }),
        },
    },
    qwen: {
        program: "qwen",
        args: ["-p", PROMPT, "--yolo", "--auth-type", "openai"],
        env: { OPENAI_BASE_URL: openai, OPENAI_API_KEY: "none", OPENAI_MODEL: "gpt-4.1" },
        // Otherwise the model must search for tools before it can call them.
        files: { ".qwen/settings.json": '{"tools": {"toolSearch": {"enabled": false}}}\n' },
    },
    continue: {
        program: "cn",
        args: ["-p", PROMPT, "--auto", "--config", "{home}/.continue/config.yaml"],
        env: { CONTINUE_TELEMETRY_ENABLED: "0" },
        files: {
            ".continue/config.yaml":
                "name: test\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: fake\n    provider: openai\n" +
                `    model: gpt-4.1\n    apiBase: ${openai}\n    apiKey: none\n    capabilities: [tool_use]\n`,
        },
    },
};

const name = process.argv[2];
const { program, args, env, files = {} } = products[name];
const home = mkdtempSync(path.join(tmpdir(), `causeway-${name}-`));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));

const kept = Object.entries(process.env).filter(([key]) => !/^(XDG_|CLAUDE|CODEX)/.test(key));
const all = { ...Object.fromEntries(kept), HOME: home, CI: "true", NO_COLOR: "1", ...env };

for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(home, file)), { recursive: true });
    writeFileSync(path.join(home, file), text);
}

const [causeway, , ...configuration] = JSON.parse(CAUSEWAY);
const how = MCP_URL ? ["--url", MCP_URL] : configuration;
const installed = spawnSync(causeway, ["install", name, "--yes", ...how], { env: all, encoding: "utf8" });
console.error(installed.stdout, installed.stderr);
if (installed.status !== 0) {
    process.exit(1);
}

// In the place of the program, a script that also records what passes (tap.mjs). The rest of the file stays as it is.
function tapFiles() {
    const tap = path.join(home, "causeway-tap");
    const words = JSON.parse(MCP_COMMAND).slice(0, -configuration.length - 1);
    writeFileSync(tap, `#!/bin/sh\nexec ${words.map((one) => `'${one}'`).join(" ")} "$@"\n`, { mode: 0o755 });
    for (const entry of readdirSync(home, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())) {
        const file = path.join(entry.parentPath, entry.name);
        const text = readFileSync(file, "utf8");
        if (file !== tap && text.includes(causeway)) {
            writeFileSync(file, text.replaceAll(causeway, tap));
        }
    }
}

if (MCP_COMMAND) {
    tapFiles();
}

const work = path.join(home, "work");
mkdirSync(work);
const bin = path.join(process.cwd(), "node_modules", ".bin", program);
const filled = args.map((one) => one.replace("{home}", home));
const child = spawn(bin, filled, { cwd: work, env: all, stdio: ["ignore", "inherit", "inherit"] });
child.on("close", (code) => process.exit(code ?? 1));
