// A PostgreSQL server of its own for a test file, and pgbouncer in front of it.
//
//     const postgres = await startPostgres();
//     const server = await startAccounts({ config: { store: { url: postgres.newDatabase() } } });
//     await postgres.kill();
//
// Both run as an unprivileged user, in a temporary directory. Neither may be installed: skipped says so.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { freePort } from "./ports.mjs";
import { eventually } from "./server.mjs";

const versions = "/usr/lib/postgresql";
const newest = existsSync(versions) ? readdirSync(versions).sort((a, b) => b - a)[0] : undefined;
const bin = path.join(versions, newest ?? "", "bin");
const pgbouncer = "/usr/sbin/pgbouncer";

// For the option `skip` of a test.
export const skipped = existsSync(path.join(bin, "initdb")) ? false : "PostgreSQL is not installed";
export const poolerSkipped = skipped || (existsSync(pgbouncer) ? false : "pgbouncer is not installed");

// Neither program runs as root.
const isRoot = process.getuid() === 0;
const user = isRoot ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : [];

function commandOf(file, args) {
    const words = [...user, file, ...args];
    return [words[0], words.slice(1)];
}

function start(directory, file, args) {
    const child = spawn(...commandOf(file, args), { cwd: directory, stdio: "ignore" });
    child.exited = new Promise((resolve) => child.on("close", resolve));
    return child;
}

function newDirectory() {
    const directory = mkdtempSync(path.join(tmpdir(), "causeway-pg-"));
    chmodSync(directory, 0o755);
    if (isRoot) {
        execFileSync("chown", ["postgres:", directory]);
    }
    process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
    return directory;
}

class Postgres {
    databases = 0;

    constructor(directory, port) {
        this.directory = directory;
        this.port = port;
        this.data = path.join(directory, "data");
        process.on("exit", () => this.child && this.signal("SIGKILL"));
    }

    // The socket of this database server; port and host of TCP with `tcp`.
    url(database, { tcp = false, parameters = "" } = {}) {
        return tcp
            ? `postgresql://causeway@127.0.0.1:${this.port}/${database}?${parameters}`
            : `postgresql://causeway@/${database}?host=${this.directory}&port=${this.port}${parameters}`;
    }

    // `more`: further settings, such as "ssl=on".
    async start(more = this.settings ?? []) {
        this.settings = more;
        const settings = [
            `port=${this.port}`,
            `unix_socket_directories=${this.directory}`,
            "shared_buffers=16MB",
            "fsync=off", // tests kill processes, never the machine
            ...more,
        ];
        const args = settings.flatMap((setting) => ["-c", setting]);
        const run = () => start(this.directory, path.join(bin, "postgres"), ["-D", this.data, ...args]);
        this.child = run();
        // While it was away, its port may have been another's for a moment.
        const isThere = () => {
            if (this.child.exitCode !== null) {
                this.child = run();
            }
            return this.isReady();
        };
        await eventually(isThere, "PostgreSQL", 30_000);
    }

    isReady() {
        try {
            this.run("SELECT 1");
            return true;
        } catch {
            return false;
        }
    }

    // Run SQL; the rows as text.
    run(sql, database = "postgres") {
        const args = ["-qAtX", "-v", "ON_ERROR_STOP=1", "-c", sql, this.url(database)];
        return execFileSync("psql", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
    }

    // The URL of a new, empty database.
    newDatabase(options) {
        this.databases += 1;
        const name = `db${this.databases}`;
        this.run(`CREATE DATABASE ${name}`);
        return this.url(name, options);
    }

    dump(url) {
        return execFileSync("pg_dump", [url], { encoding: "latin1" });
    }

    // The server and its processes: each of those leads a group.
    pids() {
        const children = readFileSync(`/proc/${this.child.pid}/task/${this.child.pid}/children`, "latin1");
        return [this.child.pid, ...children.split(" ").filter(Boolean).map(Number)];
    }

    signal(name) {
        try {
            for (const pid of this.pids()) {
                process.kill(pid, name);
            }
        } catch {
            // It has ended.
        }
    }

    pause() {
        this.signal("SIGSTOP");
    }

    resume() {
        this.signal("SIGCONT");
    }

    async kill() {
        this.signal("SIGKILL");
        await this.child.exited;
        rmSync(path.join(this.data, "postmaster.pid"), { force: true });
    }

    async stop() {
        this.resume();
        this.child.kill("SIGINT");
        await this.child.exited;
    }
}

// A standby of `primary`, which follows it. promote() makes it the primary.
export async function startStandby(primary, more = []) {
    const directory = newDirectory();
    const standby = new Postgres(directory, await freePort());
    const options = ["-D", standby.data, "-R", "-X", "stream", "-c", "fast", "-d", primary.url("postgres")];
    const [file, args] = commandOf(path.join(bin, "pg_basebackup"), options);
    execFileSync(file, args, { cwd: directory, stdio: "ignore" });
    await standby.start(more);
    standby.promote = () => standby.run("SELECT pg_promote()");
    return standby;
}

// A certificate for `name`, with its key, in files that the database server can read.
export function makeServerCertificate(postgres, name) {
    const [certificate, key] = ["crt", "key"].map((end) => path.join(postgres.directory, `${name}.${end}`));
    const what = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2".split(" ");
    const names = ["-subj", `/CN=${name}`, "-addext", `subjectAltName=DNS:${name}`];
    execFileSync("openssl", [...what, ...names, "-keyout", key, "-out", certificate], { stdio: "pipe" });
    chmodSync(key, 0o600);
    if (isRoot) {
        execFileSync("chown", ["postgres:", key]);
    }
    return { certificate, key };
}

export async function startPostgres() {
    const directory = newDirectory();
    const postgres = new Postgres(directory, await freePort());
    const options = ["-D", postgres.data, "-A", "trust", "-U", "causeway", "-E", "UTF8", "--locale=C", "--no-sync"];
    const [file, args] = commandOf(path.join(bin, "initdb"), options);
    execFileSync(file, args, { cwd: directory, stdio: "ignore" });
    await postgres.start();
    return postgres;
}

// pgbouncer in transaction mode.
export async function startPooler(postgres) {
    const directory = newDirectory();
    const port = await freePort();
    const text = `[databases]
* = host=${postgres.directory} port=${postgres.port} user=causeway
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 100
default_pool_size = 4
`;
    writeFileSync(path.join(directory, "pgbouncer.ini"), text);
    const child = start(directory, pgbouncer, ["-q", path.join(directory, "pgbouncer.ini")]);
    process.on("exit", () => child.kill("SIGKILL"));
    const url = (database) => `postgresql://causeway@127.0.0.1:${port}/${database}`;
    await eventually(() => answers(url("postgres")), "pgbouncer", 20_000);
    return {
        url,
        stop: async () => {
            child.kill("SIGKILL");
            await child.exited;
        },
    };
}

function answers(url) {
    try {
        assert.equal(
            execFileSync("psql", ["-qAtX", "-c", "SELECT 1", url], { stdio: ["ignore", "pipe", "pipe"] })[0],
            49,
        );
        return true;
    } catch {
        return false;
    }
}
