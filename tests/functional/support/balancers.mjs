// HAProxy and nginx with the files of examples/, in front of servers on this machine.
//
//     const replicas = await startReplicas(3, { store });
//     const balancer = await startHaproxy(replicas);
//     await modern(balancer, "tools/list");
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { keepFolder } from "./kept.mjs";
import { makePluginFolder, permissions } from "./mcp.mjs";
import { freePort } from "./ports.mjs";
import { binary, mayDump, root, slowness, startProgram, writeConfig } from "./programs.mjs";
import { eventually, makeCertificate } from "./server.mjs";

const haproxy = "/usr/sbin/haproxy";
const nginx = "/usr/sbin/nginx";
// For the option `skip` of a test.
export const haproxySkipped = existsSync(haproxy) ? false : "HAProxy is not installed";
export const nginxSkipped = existsSync(nginx) ? false : "nginx is not installed";

// The certificate of the balancers is self-signed.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
let certificate;
export const caFile = () => (certificate ??= makeCertificate("localhost")).certificate;

// A server that can be stopped and started again at its address.
export class Replica {
    constructor(port, config) {
        this.port = port;
        this.config = writeConfig(config);
    }

    // `env`: further variables of the process.
    async start(env) {
        const args = ["serve", ...mayDump, "--config", this.config];
        this.program = await startProgram(binary, args, { name: "replica", env });
        this.url = this.program.url;
        return this;
    }

    // Requests of clients that it has served, by its access log.
    requests(pattern = /request peer=.* target="\/mcp"/) {
        return this.program.stderr.split("\n").filter((line) => pattern.test(line)).length;
    }

    stop() {
        return this.program.stop();
    }

    async kill() {
        this.program.child.kill("SIGKILL");
        await this.program.exited;
    }
}

// `more` is put over the configuration: an object, or a function of the number of the replica.
export async function startReplicas(n, more = {}, plugins = ["echo"]) {
    const folder = makePluginFolder(plugins);
    const replicas = [];
    for (let i = 0; i < n; i += 1) {
        const port = await freePort();
        const own = typeof more === "function" ? await more(i) : more;
        const config = {
            listen: [`127.0.0.1:${port}`],
            hosts: ["localhost"],
            trusted_proxies: ["127.0.0.1"],
            timeouts: { lame_duck: `${1_000 * slowness}ms`, linger: "500ms" },
            roles: { anonymous: permissions },
            plugins: { directory: folder },
            loops: 1,
            ...own,
        };
        replicas.push(await new Replica(port, config).start());
    }
    return replicas;
}

// A file of examples/ for this machine: other addresses, and checks that are ten times as frequent.
function adapt(file, replicas, port, changes) {
    let text = readFileSync(path.join(root, "examples", file), "utf8");
    const all = {
        "bind :443": `bind 127.0.0.1:${port}`,
        "listen 443": `listen 127.0.0.1:${port}`,
        "inter 1s": "inter 200ms",
        "timeout connect 1s": "timeout connect 1s\n    timeout check 2s",
        ...changes,
    };
    for (const [from, to] of Object.entries(all)) {
        text = text.replaceAll(from, to);
    }
    replicas.forEach((replica, i) => {
        text = text.replaceAll(
            new RegExp(`10\\.0\\.0\\.${i + 1}:8\\d43|10\\.0\\.0\\.${i + 1}:8080`, "g"),
            `127.0.0.1:${replica.port}`,
        );
    });
    return text.replaceAll(/^.*10\.0\.0\.\d:8.*\n/gm, ""); // servers that are not started
}

async function run(file, args, port) {
    const output = [];
    const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.on("data", (chunk) => output.push(chunk));
    child.stderr.on("data", (chunk) => output.push(chunk));
    const exited = new Promise((resolve) => child.on("close", resolve));
    process.on("exit", () => child.kill("SIGKILL"));
    const url = `https://localhost:${port}`;
    const isReady = async () => {
        if (child.exitCode !== null) {
            throw new Error(Buffer.concat(output).toString());
        }
        return (await fetch(`${url}/readyz`).catch(() => null))?.status === 200;
    };
    await eventually(isReady, path.basename(file), 20_000);
    return {
        url,
        port,
        output: () => Buffer.concat(output).toString(),
        stop: async () => {
            child.kill("SIGTERM");
            await exited;
        },
    };
}

// `changes`: texts of the file and their replacements.
export async function startHaproxy(replicas, { name = "haproxy.cfg", changes = {} } = {}) {
    const port = await freePort();
    caFile();
    const pem = path.join(keepFolder(), "site.pem");
    writeFileSync(pem, readFileSync(certificate.certificate, "utf8") + readFileSync(certificate.key, "utf8"));
    const config = path.join(keepFolder(), name);
    writeFileSync(
        config,
        adapt(`haproxy/${name}`, replicas, port, { "/etc/haproxy/site.pem": pem, 100000: "1000", ...changes }),
    );
    execFileSync(haproxy, ["-c", "-q", "-f", config]);
    return await run(haproxy, ["-db", "-f", config], port);
}

export async function startNginx(replicas) {
    const port = await freePort();
    caFile();
    const folder = keepFolder();
    const changes = { "/etc/nginx/site.crt": certificate.certificate, "/etc/nginx/site.key": certificate.key };
    writeFileSync(path.join(folder, "causeway.conf"), adapt("nginx/causeway.conf", replicas, port, changes));
    const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
        (name) => `${name}_temp_path ${folder}/${name};`,
    );
    const main = path.join(folder, "nginx.conf");
    const user = process.getuid() === 0 ? "user root;" : "";
    writeFileSync(
        main,
        `${user} daemon off; pid ${folder}/nginx.pid; error_log stderr; events { worker_connections 500; }
        http { access_log off; ${places.join(" ")} include ${folder}/causeway.conf; }`,
    );
    return await run(nginx, ["-p", folder, "-c", main, "-e", "stderr"], port);
}
