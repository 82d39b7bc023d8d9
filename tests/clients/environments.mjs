// Installs what clients need: an environment of its own for each, outside the repository. Nothing is installed twice.
//
// $CAUSEWAY_CLIENTS_CACHE is the directory of all environments, ~/.cache/causeway/clients by default. An environment is
// a copy of the client's directory with its packages. Its name has a digest of the files that name the packages.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, globSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";

const here = import.meta.dirname;
const cache = process.env.CAUSEWAY_CLIENTS_CACHE ?? path.join(homedir(), ".cache", "causeway", "clients");
const INSTALL_MS = Number(process.env.CAUSEWAY_CLIENTS_INSTALL_SECONDS ?? 1200) * 1000;
const OUTPUT_BYTES = 32 * 1024 * 1024;

// A client that cannot be run here, with the reason. It is reported by name and does not fail the run.
export class Skip extends Error {}

function run(command, args, options = {}) {
    const [file, all] = process.platform === "linux" ? ["nice", ["-n", "10", command, ...args]] : [command, args];
    const done = spawnSync(file, all, { encoding: "utf8", timeout: INSTALL_MS, maxBuffer: OUTPUT_BYTES, ...options });
    if (done.status !== 0) {
        const output = `${done.error?.message ?? ""}\n${done.stdout ?? ""}\n${done.stderr ?? ""}`;
        const lines = output.split("\n").filter((line) => /[a-z]/i.test(line.replace("npm error", "")));
        throw new Skip(`cannot be installed: ${path.basename(command)}: ${lines.slice(0, 3).join(" ").slice(0, 300)}`);
    }
    return done.stdout;
}

function attempt(work) {
    try {
        return { value: work() };
    } catch (error) {
        return { error };
    }
}

const has = (program, option = "--version") => spawnSync(program, [option]).status === 0;

function need(program, option) {
    if (!has(program, option)) {
        throw new Skip(`${program} is not installed`);
    }
}

// ---- Python ----

const PYTHON = ">=3.11,<3.14";
const pythonIn = (folder) => path.join(folder, "venv", "bin", "python");

// uv installs an environment in seconds and shares files between them. pip installs it.
function installUv() {
    const folder = path.join(cache, "uv");
    const program = path.join(folder, "bin", "uv");
    if (!has(program)) {
        need("python3");
        run("python3", ["-m", "venv", folder]);
        run(path.join(folder, "bin", "pip"), ["install", "--quiet", "--retries", "1", "-r", path.join(here, "uv.txt")]);
    }
    return program;
}

let triedUv = null;

// What failed once is not tried again for the next client.
function uv() {
    triedUv ??= attempt(installUv);
    if (triedUv.error !== undefined) {
        throw triedUv.error;
    }
    return triedUv.value;
}

function installPython(folder, { requirements = "requirements.txt" }) {
    const env = { ...process.env, UV_CACHE_DIR: path.join(cache, "uv-files"), VIRTUAL_ENV: "" };
    const program = uv();
    run(program, ["venv", "--quiet", "--no-python-downloads", "--python", PYTHON, path.join(folder, "venv")], { env });
    // The file lists every package, so nothing has to be resolved.
    const args = ["pip", "install", "--quiet", "--no-deps", "--python", pythonIn(folder), "-r", requirements];
    run(program, args, { cwd: folder, env });
}

// ---- the other languages ----

// `npm ci` rejects lock files that npm itself has written for some packages; `install` keeps to them, too.
const npm = ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
const impatient = ["--fetch-retries=1", "--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=1000"];

// `setup` is the script of the package itself that puts its binary in place; those of other packages do not run.
function installProduct(folder, { package: name, setup }) {
    need("npm");
    run("npm", [...npm, ...impatient], { cwd: folder });
    if (setup !== undefined) {
        run(process.execPath, [setup], { cwd: path.join(folder, "node_modules", name) });
    }
}

function buildJava(folder) {
    need("mvn");
    run("mvn", ["-q", "-B", "package", "dependency:copy-dependencies"], { cwd: folder });
}

const languages = {
    python: { install: installPython, command: (folder, { file }) => [pythonIn(folder), file] },
    javascript: {
        install: (folder) => (need("npm"), run("npm", [...npm, ...impatient], { cwd: folder })),
        command: (folder, { file }) => [process.execPath, file],
    },
    product: {
        install: installProduct,
        command: (folder, { id }) => [process.execPath, path.join(here, "product.mjs"), id],
    },
    go: {
        install: (folder) => (need("go", "version"), run("go", ["build", "-o", "client", "."], { cwd: folder })),
        command: () => ["./client"],
    },
    rust: {
        install: (folder) => (need("cargo"), run("cargo", ["build", "--quiet"], { cwd: folder })),
        command: () => ["target/debug/client"],
    },
    java: {
        install: buildJava,
        command: () => ["java", "-cp", "target/classes:target/dependency/*", "Main"],
    },
};

// ---- environments ----

// Files that decide what is installed; the client's own program is copied before each run.
function digestOf({ language, requirements }, directory) {
    const isProgram = ["python", "javascript", "product"].includes(language);
    const names = globSync(isProgram ? "*.{txt,json}" : "**/*", { cwd: directory }).filter(
        (name) => path.extname(name) !== "" && (!isProgram || requirements === undefined || name === requirements),
    );
    const hash = createHash("sha256");
    names.sort().forEach((name) => hash.update(name).update(readFileSync(path.join(directory, name))));
    return hash.digest("hex").slice(0, 12);
}

// Makes the environment beside its place and moves it there, so that a run never sees one that is incomplete.
function makeEnvironment(folder, directory, client) {
    const unfinished = `${folder}.${process.pid}`;
    console.log(`Installing ${client.id}.`);
    try {
        cpSync(directory, unfinished, { recursive: true });
        languages[client.language].install(unfinished, client);
        // Another run may have been quicker.
        if (!existsSync(folder)) {
            renameSync(unfinished, folder);
        }
    } finally {
        rmSync(unfinished, { recursive: true, force: true });
    }
}

// { command, cwd } of a client. Throws Skip if it cannot be installed.
export function prepare(client) {
    const { id, language, source = id, file } = client;
    const directory = path.join(here, source);
    const folder = path.join(cache, `${id}-${digestOf(client, directory)}`);
    if (!existsSync(folder)) {
        makeEnvironment(folder, directory, client);
    }
    if (file !== undefined) {
        cpSync(path.join(directory, file), path.join(folder, file));
    }
    return { command: languages[language].command(folder, client), cwd: folder };
}

// The version of a package as the client's files pin it.
export function versionOf({ id, source = id, language, package: name, requirements = "requirements.txt" }) {
    const files = {
        python: [requirements, (text) => new RegExp(`^${name}==(\\S+)`, "m").exec(text)],
        product: ["package.json", (text) => [null, JSON.parse(text).dependencies[name]]],
        javascript: ["package.json", (text) => [null, JSON.parse(text).dependencies[name]]],
        go: ["go.mod", (text) => new RegExp(`${name} v(\\S+)`).exec(text)],
        rust: ["Cargo.toml", (text) => new RegExp(`^${name} = .*"=([0-9.]+)"`, "m").exec(text)],
        java: ["pom.xml", (text) => new RegExp(`<artifactId>${name}</artifactId>\\s*<version>([^<]+)`).exec(text)],
    };
    const [file, find] = files[language];
    return find(readFileSync(path.join(here, source, file), "utf8"))[1];
}
