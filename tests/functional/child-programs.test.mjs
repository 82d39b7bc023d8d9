// Programs of sources are foreign code: what they get, what they cannot reach, and how they end.
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { suite, test } from "node:test";
import { databasePath } from "./support/accounts.mjs";
import { callToolWell, permissions, untilTool } from "./support/mcp.mjs";
import { newFolder } from "./support/plugins.mjs";
import { runCauseway, startCauseway, writeConfig } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";

const isThere = (pid) =>
    existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
const ends = (pid) => eventually(() => !isThere(pid), `the end of ${pid}`);

// Answers one method, with what this process can see.
const program = `import json, os, resource, socket, subprocess, sys
def attempt(fn, *args):
    try:
        return fn(*args)
    except OSError as e:
        return e.strerror
def read(path):
    with open(path, "rb") as f:
        return "%d bytes" % len(f.read())
def write(path):
    with open(path, "ab") as f:
        return "open"
def connect(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(b"GET /health HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
        return "%d bytes" % len(s.recv(100))
def daemon():
    ends = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(ends[1], str(os.getpid()).encode())
            os.execve("/bin/sleep", ["sleep", "600"], {})
        os._exit(0)
    os.wait()
    return int(os.read(ends[0], 20))
def server():
    pid = os.getppid()
    with open("/proc/%d/stat" % pid) as f:
        return int(f.read().rsplit(")", 1)[1].split()[1])
actions = {"read": read, "write": write, "unlink": os.unlink, "connect": connect, "list": os.listdir}
print("token=" + os.environ.get("API_TOKEN", ""), file=sys.stderr, flush=True)
def probe(p):
    out = {"pid": os.getpid(), "environment": dict(os.environ), "folder": os.getcwd()}
    out["descriptors"] = sorted(int(n) for n in os.listdir("/proc/self/fd"))[:-1]
    out["status"] = open("/proc/self/status").read()
    out["files"] = resource.getrlimit(resource.RLIMIT_NOFILE)
    out["memory"] = resource.getrlimit(resource.RLIMIT_DATA)
    out["core"] = resource.getrlimit(resource.RLIMIT_CORE)
    out["tried"] = [attempt(actions[a], path) for a, path in p.get("try", [])]
    out["server"] = attempt(read, "/proc/%d/environ" % server())
    if p.get("daemon"):
        out["daemon"] = daemon()
    return out
for line in sys.stdin:
    m = json.loads(line)
    r = probe(m.get("params", {}))
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`;

const description = {
    openrpc: "1.3.2",
    info: { title: "probe", version: "1" },
    methods: [
        {
            name: "probe",
            params: [
                { name: "try", schema: { type: "array" } },
                { name: "daemon", schema: { type: "boolean" } },
            ],
            result: { name: "seen", schema: { type: "object" } },
        },
    ],
};

// A server with a database and the program above; `entry` extends the source.
async function start(t, entry = {}) {
    const folder = newFolder("programs");
    const files = Object.fromEntries(
        ["program.py", "openrpc.json", "seal.key"].map((name) => [name, path.join(folder, name)]),
    );
    mkdirSync(path.join(folder, "shared"));
    writeFileSync(path.join(folder, "shared", "page.txt"), "a page\n");
    writeFileSync(files["program.py"], program);
    writeFileSync(files["openrpc.json"], JSON.stringify(description));
    writeFileSync(files["seal.key"], "0123456789abcdef".repeat(4));
    chmodSync(files["seal.key"], 0o600);
    const database = databasePath();
    const config = writeConfig({
        roles: { anonymous: permissions },
        store: { path: database },
        mcp: { secret_file: files["seal.key"] },
        sources: [
            {
                name: "probe",
                command: ["/usr/bin/python3", files["program.py"]],
                openrpc: files["openrpc.json"],
                methods: ["probe"],
                ...entry,
                confine: {
                    ...entry.confine,
                    ...(entry.confine?.readable && { readable: [...entry.confine.readable, files["program.py"]] }),
                },
            },
        ],
    });
    const server = await startCauseway({ args: ["--config", config], env: { ...process.env, SECRET_OF_SERVER: "x" } });
    t.after(() => server.child.exitCode === null && server.child.signalCode === null && server.stop());
    Object.assign(server, { config, database, folder, seal: files["seal.key"] });
    await untilTool(server, "probe");
    return server;
}

async function probe(server, args = {}) {
    return (await callToolWell(server, "probe", args)).structuredContent;
}

suite("a program of a source", () => {
    test("threat-D13: gets its own environment and descriptors, limits, and no privilege", async (t) => {
        const seen = await probe(await start(t, { environment: { OWN: "1" } }));
        const names = Object.keys(seen.environment).sort();
        assert.deepEqual(
            names.filter((name) => !["PATH", "HOME", "LANG", "TMPDIR", "LC_CTYPE"].includes(name)),
            ["CAUSEWAY_CHILD", "OWN"],
        );
        assert.deepEqual(seen.descriptors, [0, 1, 2]);
        assert.match(seen.status, /^NoNewPrivs:\s+1$/m);
        assert.match(seen.status, /^CapEff:\s+0+$/m);
        assert.match(seen.status, /^CapBnd:\s+0+$/m);
        assert.deepEqual(seen.files, [4096, 4096]);
        assert.deepEqual(seen.memory, [2 ** 32, 2 ** 32]);
        assert.deepEqual(seen.core, [0, 0]);
    });

    test("threat-D13: has the limits of its entry", async (t) => {
        const seen = await probe(await start(t, { confine: { max_memory: "1GB", max_open_files: 64 } }));
        assert.deepEqual(seen.memory, [2 ** 30, 2 ** 30]);
        assert.deepEqual(seen.files, [64, 64]);
    });

    test("gets variables out of files, which the log does not repeat", async (t) => {
        const file = path.join(newFolder("secrets"), "token");
        writeFileSync(file, "hunter2-of-the-program\n");
        const server = await start(t, { environment_files: { API_TOKEN: file } });
        const seen = await probe(server);
        assert.equal(seen.environment.API_TOKEN, "hunter2-of-the-program");
        await eventually(() => server.stderr.includes("standard error"), "its line");
        assert.doesNotMatch(server.stderr, /hunter2/);
    });

    test("threat-D13: cannot read or change the configuration, the database and keys, nor inspect the server", async (t) => {
        const server = await start(t);
        const own = [server.config, server.database, server.seal];
        const attempts = own.flatMap((file) => ["read", "write", "unlink"].map((action) => [action, file]));
        const seen = await probe(server, {
            try: [...attempts, ["read", path.join(server.folder, "shared", "page.txt")]],
        });
        assert.deepEqual(seen.tried, [...attempts.map(() => "Permission denied"), "7 bytes"]);
        assert.equal(seen.server, "Permission denied");
        assert.ok(own.every(existsSync));
    });

    test("threat-D13: cannot use the socket of commands, which the same user can", async (t) => {
        const server = await start(t);
        const socket = `${server.database}.sock`;
        const { tried } = await probe(server, { try: [["connect", socket]] });
        assert.match(tried[0], /^0 bytes$|reset|Broken pipe/);
        await eventually(
            () => server.stderr.includes("a program of this server was refused on the local socket"),
            "the line",
        );
        assert.equal((await runCauseway(["status", "--config", server.config])).code, 0);
    });

    test("threat-D13: sees nothing but listed files where a list exists", async (t) => {
        const list = newFolder("listed");
        writeFileSync(path.join(list, "in.txt"), "in\n");
        const server = await start(t, {
            working_directory: list,
            environment: { TMPDIR: newFolder("temporary") },
            confine: { readable: [list] },
        });
        const tries = [
            ["read", path.join(list, "in.txt")],
            ["write", path.join(list, "in.txt")],
            ["read", path.join(server.folder, "shared", "page.txt")],
            ["read", "/etc/hostname"],
            ["unlink", "/etc/hostname"],
        ];
        const { tried } = await probe(server, { try: tries });
        assert.equal(tried[0], "3 bytes");
        assert.deepEqual(tried.slice(1, 3), ["Permission denied", "Permission denied"]);
        assert.match(tried[3], /bytes$/);
        assert.equal(tried[4], "Permission denied");
    });

    test("threat-D13: ends with everything that it has started, detached and without environment too", async (t) => {
        const server = await start(t);
        const stopped = await probe(server, { daemon: true });
        assert.ok(isThere(stopped.daemon));
        await server.stop();
        await ends(stopped.daemon);
        const killed = await start(t);
        const last = await probe(killed, { daemon: true });
        killed.child.kill("SIGKILL");
        await killed.exited;
        await ends(last.pid);
        await ends(last.daemon);
    });

    test("that does not exist is an error that names it", async () => {
        const config = writeConfig({ sources: [{ name: "none", command: ["no-such-program"], discovery: "openrpc" }] });
        const { code, stdout, stderr } = await runCauseway(["source", "check", "--config", config]);
        assert.notEqual(code, 0);
        assert.match(stdout + stderr, /start 'no-such-program': No such file or directory/);
    });
});

suite("a package without a fixed version", () => {
    const unpinned = [
        ["npx", "-y", "@scope/server"],
        ["npx", "-y", "@scope/server@latest", "/data"],
        ["npx", "--package", "server", "run-it"],
        ["/usr/bin/npx", "server@^1.2.3"],
        ["npx", "server@1.2"],
        ["uvx", "mcp-server-git", "--repository", "/x@1.2.3"],
        ["uvx", "--python", "3.12", "--from", "server", "run"],
        ["bunx", "server"],
        ["pnpm", "dlx", "server"],
        ["uv", "tool", "run", "server@latest"],
    ];
    const pinned = [
        ["npx", "-y", "@scope/server@1.2.3", "latest"],
        ["npx", "--package=server@1.2.3-beta.1", "run-it"],
        ["npx", "./server.tgz"],
        ["uvx", "server==1.2"],
        ["uvx", "--from", "server@2026.8.31", "run"],
        ["pnpm", "dlx", "server@1.2.3"],
        ["pnpm", "run", "server"],
        ["node", "server.js"],
    ];
    const entries = (commands) => commands.map((command, i) => ({ name: `s${i}`, command }));

    test("threat-D13: is a warning of config check, and a fixed one is not", async () => {
        const config = writeConfig({ sources: entries([...unpinned, ...pinned]) });
        const { code, stdout, stderr } = await runCauseway(["config", "check", "--config", config]);
        assert.equal(code, 0, stderr);
        const named = [...(stdout + stderr).matchAll(/sources\[(\d+)\]\.command: warning: \S+ has no fixed version/g)];
        assert.deepEqual(
            named.map(([, i]) => Number(i)),
            unpinned.map((_, i) => i),
        );
    });

    test("is a finding of doctor and a line of the log", async (t) => {
        const folder = newFolder("bin");
        const npx = path.join(folder, "npx");
        writeFileSync(npx, "#!/bin/sh\nexec cat >/dev/null\n");
        chmodSync(npx, 0o755);
        const config = writeConfig({
            sources: [{ name: "drifting", command: [npx, "-y", "server"], discovery: "openrpc" }],
        });
        const doctor = await runCauseway(["doctor", "--config", config]);
        assert.match(doctor.stdout, /the package server has no fixed version/);
        const server = await startCauseway({ args: ["--config", config] });
        t.after(() => server.stop());
        await eventually(
            () =>
                /a package without a fixed version is downloaded source="?drifting"? package="?server"?/.test(
                    server.stderr,
                ),
            "the line",
        );
    });
});
