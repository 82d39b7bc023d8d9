// Starts what is measured (our test server, nginx) and what measures it, and reads from /proc what
// a process has used. Everything started here is ended, by its process id, when this process ends.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

export const root = path.resolve(import.meta.dirname, "..", "..");
export const build = path.resolve(process.env.CAUSEWAY_BUILD ?? path.join(root, "build", "release"));
export const testserver = path.join(build, "tests", "integration", "testserver");
export const causeway = path.join(build, "causeway");
export const program = (name, group = "http") => path.join(build, "bench", group, `bench_${name}`);

// One folder for configs, keys and logs; gone at the end.
export const folder = mkdtempSync(path.join(tmpdir(), "causeway-bench-"));
const running = new Set();

process.on("exit", () => {
    running.forEach((child) => child.kill(child.lastSignal ?? "SIGKILL"));
    rmSync(folder, { recursive: true, force: true });
});
for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143 })) {
    process.on(signal, () => process.exit(code));
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export function median(values) {
    const sorted = values.toSorted((a, b) => a - b);
    const middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// ---- cores ----

// "0-3,8" to [0, 1, 2, 3, 8]
function allowedCores() {
    const status = readFileSync("/proc/self/status", "latin1");
    const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(status)[1];
    return list.split(",").flatMap((range) => {
        const [first, last = first] = range.split("-").map(Number);
        return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    });
}

const cores = allowedCores();
export const pinning = cores.length >= 2 ? { server: cores[0], load: cores[1] } : null;

// taskset replaces itself by the program, so the process id is the program's.
function pinned(role, file, args) {
    return pinning && role ? ["taskset", ["-c", String(pinning[role]), file, ...args]] : [file, args];
}

// ---- processes ----

// A program that runs until it is told to stop. `lines` are what it prints to standard output.
export class Process {
    constructor(role, file, args, options = {}) {
        const [command, all] = pinned(role, file, args);
        this.name = path.basename(file);
        this.stderr = "";
        this.text = "";
        const env = { ...process.env, XDG_STATE_HOME: path.join(folder, "state") };
        this.child = spawn(command, all, { stdio: ["pipe", "pipe", "pipe"], env, ...options });
        running.add(this.child);
        this.child.stdin.on("error", () => {});
        this.child.stdout.setEncoding("utf8").on("data", (text) => (this.text += text));
        this.child.stderr.setEncoding("utf8").on("data", (text) => {
            this.stderr = (this.stderr + text).slice(-4096);
        });
        this.ended = new Promise((resolve) => {
            this.child.on("error", (error) => resolve({ code: null, error }));
            this.child.on("close", (code, signal) => resolve({ code, signal }));
        }).then((end) => {
            running.delete(this.child);
            return (this.end = end);
        });
    }

    get pid() {
        return this.child.pid;
    }

    get lines() {
        return this.text.split("\n").slice(0, -1);
    }

    fail(what) {
        throw new Error(`${this.name}: ${what}\n${this.text}${this.stderr}`);
    }

    async line(index, timeoutMs = 120_000) {
        const deadline = Date.now() + timeoutMs;
        while (this.lines.length <= index) {
            if (this.end || Date.now() > deadline) {
                this.fail(this.end ? "ended too early" : "says nothing");
            }
            await sleep(5);
        }
        return this.lines[index];
    }

    // Wait for something that it logs.
    async said(pattern, timeoutMs = 120_000) {
        const deadline = Date.now() + timeoutMs;
        while (!pattern.test(this.stderr)) {
            if (this.end || Date.now() > deadline) {
                this.fail(`does not say ${pattern}`);
            }
            await sleep(5);
        }
    }

    // Wait for its end and check that it went well.
    async finish(timeoutMs = 60_000) {
        const timer = setTimeout(() => this.child.kill("SIGKILL"), timeoutMs);
        const { code, signal, error } = await this.ended;
        clearTimeout(timer);
        if (code !== 0) {
            this.fail(error?.message ?? `ended with ${signal ?? code}`);
        }
        return this.lines;
    }

    async stop(signal = "SIGTERM") {
        this.child.kill(signal);
        return await this.finish();
    }
}

// Run one of the load programs to its end; it prints JSON lines, the last one is returned.
export async function runLoad(name, args, { timeoutMs = 600_000, group } = {}) {
    const load = new Process("load", program(name, group), args.map(String));
    const result = JSON.parse((await load.finish(timeoutMs)).at(-1));
    return load.stderr ? { ...result, said: load.stderr } : result;
}

// ---- servers ----

export async function startOurs(options = {}) {
    const words = { loops: 1, listen: "127.0.0.1:0", ...options };
    const args = Object.entries(words).map(([name, value]) => `${name}=${value}`);
    const server = new Process("server", testserver, args);
    server.address = /:\/\/(\S+)/.exec(await server.line(0))[1];
    return server;
}

export async function freePort() {
    const server = net.createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.on("listening", resolve));
    const { port } = server.address();
    await new Promise((resolve) => server.close(resolve));
    return port;
}

async function untilAnswering(server, port) {
    for (let tries = 0; tries < 500 && !server.end; tries += 1) {
        const open = await new Promise((resolve) => {
            const socket = net.connect(port, "127.0.0.1");
            socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
            socket.on("connect", () => socket.destroy());
        });
        if (open) {
            return;
        }
        await sleep(10);
    }
    server.fail("does not listen");
}

// One worker, no access log, files in our folder. `inside` stands in the location, `outside` before
// the server.
function nginxConfig(home, port, { inside, outside = "", tls }) {
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    return `${process.getuid() === 0 ? "user root;\n" : ""}worker_processes 1;
worker_rlimit_nofile ${hardFileLimit()};
daemon off;
pid ${home}/pid;
error_log ${home}/error.log crit;
events {
    worker_connections ${hardFileLimit() - 100};
}
http {
    access_log off;
    keepalive_timeout 3600s;
    keepalive_requests 1000000000;
    default_type application/json;
${temporary.map((name) => `    ${name}_temp_path ${home}/${name};`).join("\n")}
    ${outside}
    server {
        listen 127.0.0.1:${port}${tls ? " ssl" : ""};
${tls ? `        ssl_certificate ${tls.certificate};\n        ssl_certificate_key ${tls.key};\n` : ""}
        location / {
            ${inside}
        }
    }
}
`;
}

// `role` decides the core: "load" for one that stands behind what is measured.
async function startNginxWith(what, role = "server") {
    const port = await freePort();
    const home = path.join(folder, `nginx-${port}`);
    mkdirSync(home);
    writeFileSync(path.join(home, "nginx.conf"), nginxConfig(home, port, what));
    const args = ["-p", home, "-c", path.join(home, "nginx.conf"), "-e", path.join(home, "log")];
    const server = new Process(role, "nginx", args);
    server.address = `127.0.0.1:${port}`;
    server.child.lastSignal = "SIGTERM"; // killed, it would leave its worker behind
    await untilAnswering(server, port);
    return server;
}

// Answers `body` from memory.
export const startNginx = (body, tls) => startNginxWith({ inside: `return 200 '${body}';`, tls });

// Sends files, by name, that it keeps open.
export function startNginxFiles(files) {
    const home = mkdtempSync(path.join(folder, "files-"));
    Object.entries(files).forEach(([name, body]) => writeFileSync(path.join(home, name), body));
    return startNginxWith({
        outside: "sendfile on; tcp_nopush on; open_file_cache max=100 inactive=1h; open_file_cache_valid 1h;",
        inside: `root ${home};`,
    });
}

export const startNginxFile = (body) => startNginxFiles({ "body.json": body });

// Passes everything on to `address` over kept-alive connections; over TLS, checking the certificate,
// when it is told whom to `trust` (a PEM file).
export function startNginxProxy(address, { trust, tls, role } = {}) {
    const checks = `proxy_ssl_verify on; proxy_ssl_trusted_certificate ${trust};
            proxy_ssl_name localhost; proxy_ssl_server_name on;`;
    const what = {
        outside: `upstream service { server ${address}; keepalive 128; keepalive_requests 1000000000; }`,
        inside: `proxy_pass ${trust ? "https" : "http"}://service; proxy_http_version 1.1;
            proxy_set_header Connection ''; ${trust ? checks : ""}`,
        tls,
    };
    return startNginxWith(what, role);
}

// A certificate for localhost with a P-256 key, made once per run.
let made;
export function certificate() {
    if (made === undefined) {
        made = { certificate: path.join(folder, "cert.pem"), key: path.join(folder, "key.pem") };
        const what = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2";
        const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
        const files = ["-keyout", made.key, "-out", made.certificate];
        execFileSync("openssl", [...what.split(" "), ...names, ...files], { stdio: "pipe" });
    }
    return made;
}

// ---- what a process has used ----

function tasksOf(pid) {
    return readdirSync(`/proc/${pid}/task`).map((tid) => `/proc/${pid}/task/${tid}`);
}

// The process and its descendants.
function treeOf(pid) {
    const children = tasksOf(pid).flatMap((task) =>
        readFileSync(`${task}/children`, "latin1").split(" ").filter(Boolean).map(Number),
    );
    return [pid, ...children.flatMap(treeOf)];
}

const sum = (values) => values.reduce((all, value) => all + value, 0);

// Processor time of all threads in nanoseconds, by the scheduler's own count.
export function cpuNs(server) {
    const tasks = treeOf(server.pid).flatMap(tasksOf);
    return sum(tasks.map((task) => Number(readFileSync(`${task}/schedstat`, "latin1").split(" ")[0])));
}

// smaps_rollup counts pages; the counters of /proc/PID/status lag behind.
function memoryBytes(server, kind) {
    const one = (pid) => {
        const text = readFileSync(`/proc/${pid}/smaps_rollup`, "latin1");
        return Number(new RegExp(`^${kind}:\\s*(\\d+) kB`, "m").exec(text)[1]) * 1024;
    };
    return sum(treeOf(server.pid).map(one));
}

// Resident memory in bytes.
export const rssBytes = (server) => memoryBytes(server, "Rss");
// The same with pages that several processes share divided among them.
export const pssBytes = (server) => memoryBytes(server, "Pss");
// The most resident memory that it ever had, in bytes.
export function peakBytes(server) {
    const one = (pid) => {
        const text = readFileSync(`/proc/${pid}/status`, "latin1");
        return Number(/^VmHWM:\s*(\d+) kB/m.exec(text)[1]) * 1024;
    };
    return sum(treeOf(server.pid).map(one));
}
export const countProcesses = (server) => treeOf(server.pid).length;

export function countFiles(server) {
    return sum(treeOf(server.pid).map((pid) => readdirSync(`/proc/${pid}/fd`).length));
}

export function hardFileLimit() {
    const line = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "latin1"));
    return line[1] === "unlimited" ? 1_000_000 : Math.min(Number(line[1]), 1_000_000);
}
