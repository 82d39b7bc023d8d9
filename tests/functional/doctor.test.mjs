// causeway doctor: each test makes one fault and reads the finding and its remedy. A healthy set-up
// has no finding.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
    chmodSync,
    chownSync,
    copyFileSync,
    mkdirSync,
    readdirSync,
    readFileSync,
    rmSync,
    utimesSync,
    writeFileSync,
} from "node:fs";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import { after, before, suite, test } from "node:test";
import { call, cli, discover } from "./support/accounts.mjs";
import { startForger } from "./support/issuer.mjs";
import { keepFolder } from "./support/kept.mjs";
import { addPlugin } from "./support/mcp.mjs";
import { binary, Program, runCauseway, startCauseway, timeLimit, writeConfig } from "./support/programs.mjs";
import { eventually } from "./support/server.mjs";
import { shopOf, startService, writeOpenRpc } from "./support/service.mjs";
import { freePort } from "./support/ports.mjs";
import { compilePlugin } from "./support/plugins.mjs";
import { onTerminal } from "./support/terminal.mjs";
import { startWebSocket } from "./support/websocket.mjs";

const isRoot = process.getuid() === 0;
const needsRoot = isRoot ? false : "needs root, to change the owner of a file";
const nobody = 65534;

// ---- set-ups ----

let folders = 0;

function makeFolder() {
    folders += 1;
    const folder = path.join(keepFolder(), `d${folders}`);
    mkdirSync(folder, { mode: 0o755 });
    return folder;
}

// The permissions that the tools of the echo plugin require.
const plugin = ["access content", "administer site"];

// A configuration with a database and an account that can call everything. `more` is put over it;
// `accounts` and `files` prepare it.
async function setUp(more = {}, { account = true } = {}) {
    const folder = makeFolder();
    for (const name of ["plugins", "db", "state"]) mkdirSync(path.join(folder, name), { mode: 0o755 });
    const config = {
        listen: ["127.0.0.1:0"],
        limits: { connections: 100 },
        store: { path: path.join(folder, "db", "accounts.db") },
        state: { directory: path.join(folder, "state") },
        roles: { authenticated: [discover, call], editor: plugin },
        ...more,
    };
    const file = path.join(folder, "causeway.yaml");
    writeFileSync(file, JSON.stringify(config, null, 2), { mode: 0o644 });
    if (account) {
        await cli(file, "account", "add", "alice", "--role", "editor", { input: "s3cret-word" });
    }
    return { folder, config, file, database: config.store?.path, at: (...names) => path.join(folder, ...names) };
}

async function doctor(file, { args = [], env, program = [binary] } = {}) {
    const words = [...program.slice(1), "doctor", "--json", ...(file ? ["--config", file] : []), ...args];
    const run = new Program(program[0], words, { env, name: "doctor" });
    const { code } = await run.exited;
    run.assertNoReports();
    assert.equal(run.stderr, "");
    const report = JSON.parse(run.stdout);
    const count = (severity) => report.findings.filter((f) => f.severity === severity).length;
    assert.deepEqual([report.errors, report.warnings, report.notes], [count("error"), count("warning"), count("note")]);
    assert.equal(code, report.errors ? 2 : report.warnings ? 1 : 0);
    return report.findings;
}

// The one finding of this check, with these texts; others of other checks are allowed only where
// they are named.
function assertFinding(findings, check, severity, subject, problem, remedy, others = []) {
    const shown = JSON.stringify(findings, null, 2);
    const found = findings.filter((f) => f.check === check && problem.test(f.problem));
    assert.equal(found.length, 1, shown);
    const [f] = found;
    assert.equal(f.severity, severity, shown);
    assert.match(f.subject, subject);
    assert.match(f.remedy, remedy);
    const rest = findings.filter((other) => other !== f).map((other) => other.check);
    assert.deepEqual(rest, others, shown);
}

// A certificate for 127.0.0.1 with these dates: { certificate, key }.
function makeCertificate(folder, from, until) {
    const at = (name) => path.join(folder, name);
    const date = (d) => `${d.toISOString().replace(/[-:T]/g, "").slice(0, 14)}Z`;
    writeFileSync(
        at("ca.cnf"),
        "[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nnew_certs_dir=.\ndefault_md=sha256\npolicy=p\n" +
            "rand_serial=yes\nunique_subject=no\ncopy_extensions=copy\n[p]\ncommonName=supplied\n",
    );
    writeFileSync(at("index.txt"), "");
    const run = (...words) => execFileSync("openssl", words, { cwd: folder, stdio: "pipe" });
    const name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    run("req", ...kind, ...name, "-keyout", "tls.key", "-out", "tls.csr");
    const dates = ["-startdate", date(from), "-enddate", date(until)];
    const own = ["-selfsign", "-keyfile", "tls.key", "-in", "tls.csr", "-out", "tls.crt", "-notext"];
    run("ca", "-batch", "-config", "ca.cnf", ...own, ...dates);
    chmodSync(at("tls.key"), 0o600);
    return { certificate: at("tls.crt"), key: at("tls.key") };
}

const days = (n) => new Date(Date.now() + n * 86_400_000);

// The kernel's word about its clock, for a program: 0 is synchronised, 5 is not.
let kernelClock;
before(() => {
    const source = path.join(keepFolder(), "adjtimex.c");
    writeFileSync(
        source,
        "#include <stdlib.h>\n#include <sys/timex.h>\n" +
            'int ntp_adjtime(struct timex *t) { (void)t; return atoi(getenv("KERNEL_CLOCK")); }\n' +
            "int ntp_adjtime64(struct timex *t) { return ntp_adjtime(t); }\n",
    );
    const library = path.join(keepFolder(), "adjtimex.so");
    execFileSync("cc", ["-shared", "-fPIC", "-o", library, source]);
    const ours = process.env.ASAN_OPTIONS ? `${process.env.ASAN_OPTIONS}:` : "";
    kernelClock = (state) => ({
        LD_PRELOAD: library,
        KERNEL_CLOCK: String(state),
        ASAN_OPTIONS: `${ours}verify_asan_link_order=0`,
    });
});

const issuerOf = (url) => ({ issuer: url, audience: ["https://tools.example"], allow_private: true });
const sourceOf = (service, more = {}) =>
    shopOf(service, { methods: [{ method: "add", permissions: ["access content"] }], ...more });

// ---- healthy ----

suite("a healthy set-up", () => {
    test("has no finding, with every part in use, and while its server runs", async () => {
        const folder = makeFolder();
        const service = await startService();
        const issuer = await startForger();
        const secret = path.join(folder, "secret");
        writeFileSync(secret, "a secret", { mode: 0o600 });
        const tls = makeCertificate(folder, days(-1), days(60));
        const web = await startService({ tls });
        const socket = await startWebSocket({ tls });
        const trust = { tls: { ca_file: tls.certificate } };
        const { file, at } = await setUp({
            listen: [{ address: "127.0.0.1:0", tls: true }],
            tls,
            access: { issuers: [issuerOf(issuer.url)] },
            sources: [
                sourceOf(service, { secret: { as: "bearer", file: secret } }),
                sourceOf(web, { name: "web", prefix: "web.", ...trust }),
                sourceOf(socket, { name: "socket", prefix: "socket.", ...trust }),
            ],
            state: { directory: folder, lock: path.join(folder, "lock.json") },
        });
        const config = JSON.parse(readFileSync(file, "utf8"));
        writeFileSync(file, JSON.stringify({ ...config, plugins: { directory: at("plugins") } }));
        addPlugin(at("plugins"), "echo");
        await cli(file, "source", "approve");
        assert.deepEqual(await doctor(file, { env: kernelClock(0) }), []);
        const server = await startCauseway({ args: ["--config", file], listen: false });
        try {
            await untilReady(file);
            await server.untilLogged(/catalogue published[^\n]* sources=4/);
            assert.deepEqual(await doctor(file, { env: kernelClock(0) }), []);
        } finally {
            await server.stop();
        }
        const text = await runCauseway(["doctor", "--config", file], { env: kernelClock(0) });
        assert.deepEqual(text, { code: 0, signal: null, stdout: "no findings\n", stderr: "" });
    });

    test("over the network has no finding", async () => {
        const { file, url, token } = await startServer();
        assert.deepEqual(await doctor(null, { args: ["--server", url, "--token-file", token] }), []);
        assert.deepEqual(await doctor(file, { args: ["--server", url, "--token-file", token] }), []);
    });
});

// ---- output ----

suite("output", () => {
    test("is all that it leaves behind, with a database and before there is one", async () => {
        for (const account of [true, false]) {
            const { file, folder } = await setUp({ sources: [sourceOf(await startService())] }, { account });
            const list = () => readdirSync(folder, { recursive: true }).toSorted();
            const earlier = list();
            await doctor(file);
            assert.deepEqual(list(), earlier);
        }
    });

    test("groups findings by check, the gravest first, with colours on request", async () => {
        const { file, at } = await setUp({ sources: [] });
        chmodSync(file, 0o666);
        chmodSync(at("db"), 0o777);
        const plain = await runCauseway(["doctor", "-c", file]);
        assert.equal(plain.code, 2);
        assert.deepEqual(plain.stdout.split("\n"), [
            "files",
            `  error    ${at("db")}: other users can write to the directory of the database`,
            `           -> chmod go-w '${at("db")}'`,
            `  warning  ${file}: other users can write to this file`,
            `           -> chmod go-w '${file}'`,
            "server",
            `  error    ${at("db", "accounts.db.sock")}: others may write to '${at("db")}', so they could replace the administration socket`,
            "           -> use chmod go-w, or set admin.socket to a path in another folder",
            "2 errors, 1 warning, 0 notes",
            "",
        ]);
        assert.equal(plain.stderr, "");
        const bright = await runCauseway(["doctor", "-c", file, "--color", "always"]);
        assert.match(bright.stdout, /\u001b\[1mfiles\u001b\[0m\n {2}\u001b\[1;31merror +\u001b\[0m/);
        const { stdout } = await runCauseway(["doctor", "-c", file], { env: { NO_COLOR: "1" } });
        assert.equal(stdout, plain.stdout);
    });

    test("shows its progress on a terminal only, and not on a dumb one", async () => {
        const { file } = await setUp();
        const words = ["doctor", "--json", "-c", file];
        const drawn = await onTerminal(words);
        for (const check of ["configuration", "database", "rights", "server"]) {
            assert.ok(drawn.includes(`\r\u001b[Kchecking: ${check}`), drawn);
        }
        const dumb = await onTerminal(words, { env: { TERM: "dumb" } });
        assert.ok(!dumb.includes("\u001b") && !dumb.includes("checking"), JSON.stringify(dumb));
        assert.equal(JSON.parse(dumb).errors, 0);
        assert.equal((await runCauseway(words)).stderr, "");
    });

    test("needs a configuration or a server", async () => {
        const env = { CAUSEWAY_CONFIG: "", CAUSEWAY_TOKEN: "" };
        const none = await runCauseway(["doctor"], { env });
        assert.equal(none.code, 2);
        assert.match(none.stderr, /name a configuration with --config, or a server with --server/);
        const tokenless = await runCauseway(["doctor", "--server", "http://127.0.0.1:1"], { env });
        assert.equal(tokenless.code, 2);
        assert.match(tokenless.stderr, /--server needs a token/);
    });
});

// ---- configuration and files ----

suite("configuration", () => {
    test("a wrong key has its line and column", async () => {
        const file = writeConfig("listen: ['127.0.0.1:0']\nlimits:\n  connectionz: 5\n");
        const findings = await doctor(file);
        assertFinding(
            findings,
            "configuration",
            "error",
            /config\.yaml:3:3$/,
            /^limits\.connectionz: /,
            /did you mean/,
        );
    });

    test("a value of a source that does not exist is found", async () => {
        const file = writeConfig("sources:\n  - name: shop\n    url: http://127.0.0.1:1/\n    dialect: klingon\n");
        const findings = await doctor(file);
        assertFinding(findings, "configuration", "error", /config\.yaml:2/, /dialect/, /./);
    });

    test("a file that does not exist", async () => {
        const findings = await doctor("/no/such.yaml");
        assertFinding(findings, "configuration", "error", /such\.yaml/, /No such file/, /check the path/);
    });
});

suite("files", () => {
    test("a file that the configuration names and that is missing", async () => {
        const { file } = await setUp({ tls: { certificate: "/no/such.crt", key: "/no/such.key" } });
        const findings = await doctor(file);
        const problem = /tls\.certificate: TLS certificate '\/no\/such\.crt': No such file/;
        assertFinding(findings, "files", "error", /causeway\.yaml:\d+:\d+$/, problem, /check the path/);
    });

    test("what config check warns of, once", async () => {
        const params = [{ name: "x", schema: { type: "tex" } }];
        const openrpc = writeOpenRpc({ openrpc: "1.3.2", methods: [{ name: "a", params }] });
        const { file } = await setUp({
            sources: [
                { name: "odd", command: ["/no/npx", "-y", "odd-server"], openrpc, working_directory: "/no/work" },
            ],
            toolsets: { shop: { sources: ["no-such"] } },
            admin: { socket: path.join(makeFolder(), "none", "socket") },
        });
        const { stderr } = await runCauseway(["config", "check", file]);
        assert.equal(stderr.match(/: warning: /g).length, 5, stderr);
        const findings = await doctor(file);
        for (const [problem, remedy] of [
            [
                /^sources\[0\]\.working_directory: cannot open the directory '\/no\/work': No such/,
                /^create it, or name/,
            ],
            [/^sources\[0\]\.openrpc: method 'a': param 'x': schema: \/type/, /^correct it in the file$/],
            [/^toolsets\.shop\.sources: no plugin and no entry of sources has the name 'no-such'$/, /^correct the/],
            [/^admin\.socket: cannot create a file in '.*none'/, /^create the directory before the start/],
            [/odd-server has no fixed version/, /PACKAGE@1\.2\.3$/],
        ]) {
            const found = findings
                .filter((f) => problem.test(f.problem))
                .map((f) => [f.severity, remedy.test(f.remedy)]);
            assert.deepEqual(found, [["warning", true]], JSON.stringify(findings, null, 2));
        }
        assert.equal(findings.filter(({ check }) => check === "files").length, 4, JSON.stringify(findings, null, 2));
    });

    test("a secret and a key that every user can read", async () => {
        const folder = makeFolder();
        const tls = makeCertificate(folder, days(-1), days(60));
        const seal = path.join(folder, "seal");
        const service = await startService();
        const [header, variable, metrics] = ["header", "variable", "metrics"].map((name) => path.join(folder, name));
        for (const secret of [seal, header, variable, metrics]) {
            writeFileSync(secret, "x".repeat(32), { mode: 0o600 });
        }
        const { file } = await setUp({
            tls,
            mcp: { secret_file: seal },
            metrics: { token_file: metrics },
            sources: [sourceOf(service, { header_files: { "X-Key": header }, environment_files: { KEY: variable } })],
        });
        for (const secret of [seal, tls.key, header, variable, metrics]) {
            chmodSync(secret, 0o644);
            const findings = await doctor(file);
            chmodSync(secret, 0o600);
            const remedy = new RegExp(`^chmod o-rwx '${secret}'$`);
            assertFinding(findings, "files", "error", new RegExp(secret), /can read this secret \(mode 0644\)/, remedy);
        }
    });

    test("directories that other users can write to", async () => {
        for (const [name, what] of [
            ["plugins", "plugins"],
            ["state", "the server's state"],
        ]) {
            const { file, at, config } = await setUp();
            writeFileSync(file, JSON.stringify({ ...config, plugins: { directory: at("plugins") } }));
            chmodSync(at(name), 0o777);
            const problem = new RegExp(`can write to the directory of ${what}$`);
            assertFinding(
                await doctor(file),
                "files",
                "error",
                new RegExp(`${name}$`),
                problem,
                new RegExp(`^chmod go-w '.*${name}'$`),
            );
        }
    });

    test("a configuration that other users can write to", async () => {
        const { file } = await setUp();
        chmodSync(file, 0o646);
        assertFinding(
            await doctor(file),
            "files",
            "warning",
            /causeway\.yaml$/,
            /other users can write to this file/,
            /^chmod go-w /,
        );
    });

    test("files with CA certificates that other users can write to", async () => {
        const folder = makeFolder();
        const tls = makeCertificate(folder, days(-1), days(60));
        const [hooks, clients] = ["hooks.pem", "clients.pem"].map((name) => path.join(folder, name));
        for (const file of [hooks, clients]) copyFileSync(tls.certificate, file);
        const { file } = await setUp({
            mcp: { events: { webhook_ca_file: hooks } },
            access: { server: { client_document_ca_file: clients } },
        });
        for (const shared of [hooks, clients]) {
            chmodSync(shared, 0o646);
            const problem = /^other users can write to this file$/;
            assertFinding(await doctor(file), "files", "warning", new RegExp(`${shared}$`), problem, /^chmod go-w /);
            chmodSync(shared, 0o644);
        }
    });

    test("a lock file that is missing, and one that cannot be read", async () => {
        const lock = path.join(makeFolder(), "lock.json");
        const { file } = await setUp({
            sources: [sourceOf(await startService())],
            state: { lock },
        });
        const missing = await doctor(file);
        assertFinding(missing, "files", "error", /lock\.json$/, /does not exist/, /causeway source approve/);
        writeFileSync(lock, "{nonsense");
        assertFinding(await doctor(file), "files", "error", /lock\.json$/, /withheld: /, /restore it from a backup/);
    });

    test("files of another user", { skip: needsRoot }, async (t) => {
        const { file, folder, database } = await setUp();
        chmodSync(keepFolder(), 0o755);
        execFileSync("chown", ["-R", String(nobody), folder]);
        const user = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
        const program = [...user, binary];
        // A program that counts its lines writes the counters where this user may write.
        const env = { HOME: folder, GCOV_PREFIX: path.join(folder, "counters") };
        const reads = `test -x '${binary}' && test -r '${file}'`;
        if (spawnSync(user[0], [...user.slice(1), "sh", "-c", reads]).status !== 0) {
            t.skip("another user cannot reach the files of this test");
            return;
        }
        chownSync(file, nobody - 1, nobody - 1);
        const findings = await doctor(file, { program, env });
        const remedy = new RegExp(`^chown ${nobody} '`);
        assertFinding(findings, "files", "warning", /causeway\.yaml$/, /belongs to another user \(uid 65533\)/, remedy);
        chownSync(file, nobody, nobody);
        assert.deepEqual(await doctor(file, { program, env }), []);
        // Root checks the set-up of another user.
        assert.deepEqual(await doctor(file), []);
        // And a database of another one.
        chownSync(database, nobody - 1, nobody - 1);
        const owned = await doctor(file, { program, env });
        const found = owned.filter((f) => f.check === "database");
        assert.ok(
            found.some(
                (f) => /belongs to another user \(uid 65533\)/.test(f.problem) && /^chown 65534 /.test(f.remedy),
            ),
            JSON.stringify(owned),
        );
    });
});

// ---- certificates ----

suite("certificates", () => {
    for (const [name, from, until, severity, problem, remedy] of [
        [
            "expired",
            -9,
            -1,
            "error",
            /^the certificate expired on \d{4}-/,
            /^renew the certificate, then run "causeway/,
        ],
        ["not yet valid", 1, 9, "error", /^the certificate is not valid before \d{4}-/, /^check the clock/],
        ["about to expire", -9, 10, "warning", /^the certificate expires on \d{4}-/, /^renew the certificate/],
    ]) {
        test(`a certificate of the server that is ${name}`, async () => {
            const tls = makeCertificate(makeFolder(), days(from), days(until));
            const { file } = await setUp({ tls });
            assertFinding(await doctor(file), "certificates", severity, /tls\.crt$/, problem, remedy);
        });
    }

    test("a key of another certificate", async () => {
        const one = makeCertificate(makeFolder(), days(-1), days(60));
        const other = makeCertificate(makeFolder(), days(-1), days(60));
        const { file } = await setUp({ tls: { certificate: one.certificate, key: other.key } });
        const problem = /tls\.key: .*is not the key of the first certificate/;
        assertFinding(await doctor(file), "files", "error", /causeway\.yaml:/, problem, /files that belong together/);
    });

    test("a client certificate for a source that is expired", async () => {
        const tls = makeCertificate(makeFolder(), days(-9), days(-1));
        const { file } = await setUp({ sources: [sourceOf(await startService(), { tls })] });
        const findings = await doctor(file);
        const remedy = /new client certificate for the source "shop"/;
        assertFinding(findings, "certificates", "error", /tls\.crt$/, /expired on/, remedy);
    });

    for (const [kind, start] of [
        ["https", startService],
        ["wss", startWebSocket],
    ]) {
        const check = async (from, until) => {
            const tls = makeCertificate(makeFolder(), days(from), days(until));
            const service = await start({ tls });
            assert.ok(service.url.startsWith(`${kind}:`));
            const { file } = await setUp({ sources: [sourceOf(service, { tls: { ca_file: tls.certificate } })] });
            return await doctor(file);
        };
        const subject = /^source "shop"$/;
        const remedy = /^renew the certificate on the machine of the service/;

        test(`one of a service over ${kind} that expires soon`, async () => {
            const day = days(10).toISOString().slice(0, 10);
            const problem = new RegExp(`^the certificate expires on ${day}T`);
            assertFinding(await check(-9, 10), "certificates", "warning", subject, problem, remedy);
        });

        test(`one of a service over ${kind} that is expired`, async () => {
            const day = days(-1).toISOString().slice(0, 10);
            const problem = new RegExp(`^the certificate expired on ${day}T`);
            const others = ["sources", "rights"];
            assertFinding(await check(-9, -1), "certificates", "error", subject, problem, remedy, others);
        });
    }
});

// ---- database ----

suite("database", () => {
    const sql = (database, text) => execFileSync("sqlite3", [database, text]);

    test("one that other users can use", async () => {
        const { file, database } = await setUp();
        chmodSync(database, 0o640);
        const remedy = new RegExp(`^chmod 600 '${database}'$`);
        assertFinding(await doctor(file), "database", "error", /accounts\.db$/, /other users can use .*0640/, remedy);
    });

    test("one that is damaged", async () => {
        const { file, database } = await setUp();
        sql(database, "PRAGMA journal_mode=DELETE");
        const whole = readFileSync(database);
        // A page in the middle, then the rest of the file.
        writeFileSync(
            database,
            Buffer.concat([whole.subarray(0, 8192), Buffer.alloc(4096, 0xff), whole.subarray(12_288)]),
        );
        assertFinding(await doctor(file), "database", "error", /accounts\.db$/, /is damaged: /, /restore a backup/);
        writeFileSync(database, whole.subarray(0, 8192));
        assertFinding(await doctor(file), "database", "error", /accounts\.db$/, /is damaged: /, /restore a backup/);
    });

    test("one of a newer version, and one of another program", async () => {
        const { file, database } = await setUp();
        sql(database, "PRAGMA user_version=99");
        const newer = /made by a newer version/;
        assertFinding(await doctor(file), "database", "error", /accounts\.db$/, newer, /in store\.path, or restore/);
        sql(database, "PRAGMA user_version=10; PRAGMA application_id=7");
        const other = /belongs to another program/;
        assertFinding(await doctor(file), "database", "error", /accounts\.db$/, other, /in store\.path, or restore/);
    });

    test("one of an older version is a note, and stays as it is", async () => {
        const { file, database } = await setUp();
        sql(database, "PRAGMA user_version=4");
        const problem = /has version 4, this program uses version \d+; rights are not checked/;
        assertFinding(await doctor(file), "database", "note", /accounts\.db$/, problem, /^make a copy of the file/);
        assert.equal(sql(database, "PRAGMA user_version").toString(), "4\n");
    });
});

// ---- clock and system ----

suite("clock and system", () => {
    test("a clock before the date of the program", async () => {
        const { file } = await setUp({}, { account: false });
        const copy = path.join(makeFolder(), "causeway");
        copyFileSync(binary, copy);
        utimesSync(copy, days(400), days(400));
        const findings = await doctor(file, { program: [copy] });
        rmSync(copy);
        assertFinding(findings, "clock", "error", /^clock$/, /but this program is from /, /keep it synchronised/);
    });

    test("a clock that the kernel does not report as synchronised, with issuers", async () => {
        const issuer = await startForger();
        const { file } = await setUp({ access: { issuers: [issuerOf(issuer.url)] } });
        const findings = await doctor(file, { env: kernelClock(5) });
        assertFinding(findings, "clock", "note", /^clock$/, /kernel does not report/, /keep it synchronised/);
    });

    test("too few open files for the connections", async () => {
        const { file } = await setUp({ limits: { connections: 1000 } });
        const program = ["sh", "-c", 'ulimit -n 1200; exec "$0" "$@"', binary];
        const findings = await doctor(file, { program });
        const remedy = /^raise the hard limit to 1512 \(LimitNOFILE=/;
        assertFinding(findings, "system", "warning", /^open files$/, /hard limit is 1200, but 1000 conn/, remedy);
    });
});

// ---- sources, issuers, plugins ----

suite("sources", () => {
    test("a service that does not answer", async () => {
        const url = `http://127.0.0.1:${await freePort()}/`;
        const { file } = await setUp({ sources: [sourceOf({ url })] });
        const remedy = /^start the service, .*"causeway source check shop"/;
        assertFinding(await doctor(file), "sources", "error", /^shop$/, /refused/, remedy, ["rights"]);
    });

    test("a service that rejects the credentials", async () => {
        const secret = path.join(makeFolder(), "secret");
        writeFileSync(secret, "wrong", { mode: 0o600 });
        const server = http.createServer((_, response) => response.writeHead(401).end());
        await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
        after(() => server.close());
        const url = `http://127.0.0.1:${server.address().port}/`;
        const more = { openrpc: writeOpenRpc(), secret: { as: "bearer", file: secret } };
        const { file } = await setUp({ sources: [sourceOf({ url }, more)] });
        const problem = /rejects the credentials: HTTP status 401/;
        assertFinding(await doctor(file), "sources", "error", /^shop$/, problem, /^put the right secret into/);
    });

    test("a service is asked once for its description, and once whether it accepts the credentials", async () => {
        const secret = path.join(makeFolder(), "secret");
        writeFileSync(secret, "a secret", { mode: 0o600 });
        const [guarded, web, socket] = [await startService(), await startService(), await startWebSocket()];
        const { file } = await setUp({
            sources: [
                sourceOf(guarded, { secret: { as: "bearer", file: secret } }),
                sourceOf(web, { name: "web", prefix: "web." }),
                sourceOf(socket, { name: "socket", prefix: "socket." }),
            ],
        });
        assert.deepEqual(await doctor(file), []);
        const calls = [guarded, web, socket].map((service) => service.calls.length);
        assert.deepEqual(calls, [2, 1, 1]);
        assert.equal(socket.handshakes.length, 1);
    });

    test("two sources that offer the same method", async () => {
        const service = await startService();
        const { file } = await setUp({ sources: [sourceOf(service), sourceOf(service, { name: "copy" })] });
        const problem = /method 'add'.*'shop'/;
        assertFinding(await doctor(file), "sources", "error", /^copy$/, problem, /^set a prefix/);
    });

    test("a tool that differs from the lock file", async () => {
        const service = await startService();
        const folder = makeFolder();
        const { file } = await setUp({ sources: [sourceOf(service)], state: { lock: path.join(folder, "lock.json") } });
        await cli(file, "source", "approve");
        assert.deepEqual(await doctor(file), []);
        service.document.methods.find(({ name }) => name === "add").summary = "Adds, and more";
        const remedy = /"causeway source diff shop", then run "causeway source approve shop"/;
        assertFinding(await doctor(file), "sources", "warning", /^shop$/, /^1 tool is withheld/, remedy);
    });

    test("a method that the configuration names and the service lacks", async () => {
        const methods = [
            { method: "add", permissions: ["access content"] },
            { method: "gone", permissions: ["access content"] },
        ];
        const { file } = await setUp({ sources: [sourceOf(await startService(), { methods })] });
        assertFinding(await doctor(file), "sources", "warning", /^shop$/, /gone/, /"causeway source check shop"/);
    });

    test("a tool with a weak description is a note", async () => {
        const methods = [{ method: "add", permissions: ["access content"], scopes: ["no:such"] }];
        const { file } = await setUp({ sources: [sourceOf(await startService(), { methods })] });
        const problem = /'add': scope 'no:such' is not a known scope/;
        assertFinding(await doctor(file), "sources", "note", /^shop$/, problem, /"causeway source check shop"/);
    });
});

suite("issuers", () => {
    const check = async (issuer) => {
        const { file } = await setUp({ access: { issuers: [issuerOf(issuer.url)] } });
        return await doctor(file, { env: kernelClock(0) });
    };

    test("one that does not answer, and one whose metadata is of another", async () => {
        const url = `http://127.0.0.1:${await freePort()}`;
        const remedy = /^check the URL in access\.issuers/;
        assertFinding(await check({ url }), "issuers", "error", new RegExp(url), /well-known.*: /, remedy);
        const issuer = await startForger();
        issuer.metadata.issuer = "https://other.example";
        const problem = /the metadata is of another issuer/;
        assertFinding(await check(issuer), "issuers", "error", new RegExp(issuer.url), problem, remedy);
    });

    test("one without a key that can be used", async () => {
        const issuer = await startForger();
        issuer.keys = [];
        const remedy = /access\.issuers\[\]\.algorithms/;
        assertFinding(await check(issuer), "issuers", "error", /^http/, /publishes no key that can be used/, remedy);
    });

    test("one whose clock differs", async () => {
        const issuer = await startForger();
        const late = issuer.paths["/jwks"];
        issuer.paths["/jwks"] = (req, res) => late(req, res.setHeader("Date", days(-1).toUTCString()));
        const problem = /clock is 8\d{4} seconds behind the clock of this machine/;
        assertFinding(await check(issuer), "issuers", "warning", /^http/, problem, /^synchronise the clocks/);
    });
});

suite("plugins", () => {
    const withPlugins = async () => {
        const made = await setUp();
        writeFileSync(made.file, JSON.stringify({ ...made.config, plugins: { directory: made.at("plugins") } }));
        return made;
    };

    test("one that cannot be loaded", async () => {
        const { file, at } = await withPlugins();
        writeFileSync(at("plugins", "broken.so"), "no library", { mode: 0o644 });
        const remedy = /"causeway plugin check .*broken\.so"/;
        const problem = /^the plugin cannot be loaded: /;
        assertFinding(await doctor(file), "plugins", "error", /broken\.so$/, problem, remedy, ["rights"]);
    });

    test("one with a schema that no rewrite makes fit for every model API", async () => {
        const { file, at } = await withPlugins();
        // Written out without references it would have 4^8 leaves.
        const level = (i) =>
            `"l${i}":{"type":"object","properties":{${["a", "b", "c", "d"]
                .map((name) => `"${name}":${i ? `{"$ref":"#/$defs/l${i - 1}"}` : '{"type":"string"}'}`)
                .join(",")}}}`;
        const deep = `{"$ref":"#/$defs/l8","$defs":{${Array.from({ length: 9 }, (_, i) => level(i)).join(",")}}}`;
        const source = `#include <causeway/plugin.h>
CW_PLUGIN("deep", "1");
static void run(cw_call *call) { cw_result_text(call, "ran"); }
CW_METHOD(run, "deep.run", .params = {{"a", .schema = ${JSON.stringify(deep)}}}, .permissions = {"access content"});
CW_TOOL(run);
`;
        compilePlugin(at("plugins"), "deep", source);
        const findings = await doctor(file);
        assertFinding(
            findings,
            "rights",
            "note",
            /^tool "deep\.run"$/,
            /^the schema is too large/,
            /simplify the schema/,
        );
    });

    test("one that other users can write to", async () => {
        const { file, at } = await withPlugins();
        addPlugin(at("plugins"), "echo");
        chmodSync(at("plugins", "echo.so"), 0o757);
        const problem = /^other users can write to this plugin$/;
        assertFinding(await doctor(file), "plugins", "error", /echo\.so$/, problem, /^chmod go-w '.*echo\.so'$/);
    });
});

// ---- rights ----

suite("rights", () => {
    const withRoles = async (roles, more = {}, options = {}) => {
        const made = await setUp({ sources: [sourceOf(await startService())], roles, ...more }, options);
        return await doctor(made.file);
    };
    const editor = { editor: plugin };

    test("rights without a login on an address that other machines reach", async () => {
        const findings = await withRoles(
            { ...editor, anonymous: [discover, call], authenticated: [discover, call] },
            { listen: ["0.0.0.0:0"] },
        );
        const problem = /other machines reach 0\.0\.0\.0:0 and can call tools without a login/;
        assertFinding(findings, "rights", "warning", /role "anonymous"/, problem, /^listen on 127\.0\.0\.1, or move/);
    });

    test("an account with fewer rights than callers without a login", async () => {
        const findings = await withRoles(
            { ...editor, anonymous: [discover, call, "access content"], authenticated: [] },
            { access: { authenticated_only_own: true } },
        );
        const problem = /fewer rights than callers without a login \(1\): "alice"/;
        const remedy = /^give the role "authenticated" the permissions of "anonymous"/;
        assertFinding(findings, "rights", "warning", /^accounts$/, problem, remedy, ["rights"]);
    });

    test("a permission that no role has, with and without a similar one", async () => {
        const far = await withRoles({ authenticated: [discover, call], editor: [] });
        const problem = /no role has it, but tools require it \(1\): "add"/;
        const subject = /^permission "access content"$/;
        assertFinding(far, "rights", "warning", subject, problem, /"causeway role allow"/);
        const near = await withRoles({ authenticated: [discover, call], editor: ["access kontent"] });
        const found = near.filter((f) => f.check === "rights").map(({ remedy }) => remedy);
        assert.deepEqual(found.toSorted(), [
            'correct the name, probably to "access content"',
            'correct the name: a role has "access kontent"',
        ]);
    });

    test("a permission of a role that no method requires, but a similar one", async () => {
        const roles = { authenticated: [discover, call], editor: ["access content", "access contents"] };
        const problem = /no method requires its permission "access contents"/;
        const remedy = /probably to "access content"$/;
        assertFinding(await withRoles(roles), "rights", "warning", /^role "editor"$/, problem, remedy);
    });

    test("sources that are not loaded are named, and nothing is concluded from their absence", async () => {
        const roles = { authenticated: [discover, call], editor: ["access content", "access contents"] };
        const dead = sourceOf({ url: `http://127.0.0.1:${await freePort()}/` }, { name: "dead" });
        const { file, at, config } = await setUp({ sources: [sourceOf(await startService()), dead], roles });
        const plugins = { directory: at("plugins") };
        writeFileSync(file, JSON.stringify({ ...config, plugins }));
        writeFileSync(at("plugins", "broken.so"), "no library", { mode: 0o644 });
        const problem = /^they are not loaded, so the rights to their tools are not checked \(2\): "broken", "dead"$/;
        const remedy = /^correct the findings about these sources, then run "causeway doctor" again$/;
        const others = ["sources", "plugins"];
        assertFinding(await doctor(file), "rights", "warning", /^sources$/, problem, remedy, others);
    });

    test("a tool that no caller can call", async () => {
        const roles = { authenticated: [discover, call], editor: ["access content"] };
        const findings = await withRoles(roles, {}, { account: false });
        const problem = /^no caller can call these tools \(1\): "add"/;
        assertFinding(findings, "rights", "warning", /^tools$/, problem, /"causeway account grant".*"causeway why"/);
        // A token of an issuer may name any role.
        const issuer = await startForger();
        const made = await setUp(
            { sources: [sourceOf(await startService())], roles, access: { issuers: [issuerOf(issuer.url)] } },
            { account: false },
        );
        assert.deepEqual(await doctor(made.file, { env: kernelClock(0) }), []);
    });

    test("a tool that every caller can call: a note, and a warning beyond loopback", async () => {
        const open = { ...editor, anonymous: [discover, call, "access content"], authenticated: [discover, call] };
        const remedy = /^require a permission for them in the overlay/;
        const here = /^every caller on this machine can call these tools \(1\): "add"/;
        assertFinding(await withRoles(open), "rights", "note", /^tools$/, here, remedy);
        const far = await withRoles(open, { listen: ["0.0.0.0:0"] });
        const there = /^every caller, on other machines too, can call these tools \(1\): "add"/;
        assertFinding(far, "rights", "warning", /^tools$/, there, remedy, ["rights"]);
    });
});

// ---- the server ----

let seen = 0;

// The running server of this configuration has loaded its sources.
const untilReady = (file) =>
    eventually(async () => {
        const sources = JSON.parse(await cli(file, "source", "list", "--json"));
        return sources.every(({ state }) => state === "ready");
    }, "its sources");

// A server with TLS off, and a token that may see its state.
async function startServer(more = {}) {
    const made = await setUp({
        roles: { authenticated: [discover, call], editor: plugin, operator: ["view traffic"] },
        ...more,
    });
    await cli(made.file, "account", "grant", "alice", "operator");
    const { token } = JSON.parse(await cli(made.file, "token", "create", "--json", "alice"));
    const file = path.join(made.folder, `token-${(seen += 1)}`);
    writeFileSync(file, token, { mode: 0o600 });
    const server = await startCauseway({ args: ["--config", made.file], listen: false });
    after(() => server.stop());
    await untilReady(made.file);
    return { ...made, server, url: server.url, token: file };
}

// A program that answers administration calls as a server of version `version` would.
async function startFake({ version, date, sources = [] }) {
    const server = http.createServer(async (request, response) => {
        let body = "";
        for await (const chunk of request.setEncoding("utf8")) body += chunk;
        if (date) response.setHeader("Date", date.toUTCString());
        response.setHeader("Content-Type", "application/json");
        const { id } = body ? JSON.parse(body) : {};
        const result = { server: { version, pid: 1, started: 1 }, restart: [], sources };
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    after(() => server.close());
    return `http://127.0.0.1:${server.address().port}`;
}

// A server that sends a beginning, and then single bytes without an end.
async function startDripping(beginning) {
    const server = net.createServer((socket) => {
        const timer = setInterval(() => socket.write("a"), 100);
        socket.on("error", () => {});
        socket.on("close", () => clearInterval(timer));
        socket.resume();
        socket.write(beginning);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    after(() => server.close());
    return `127.0.0.1:${server.address().port}`;
}

const ownVersion = async () => /^causeway (\S+)/.exec((await runCauseway(["version"])).stdout)[1];
const over = (url) => doctor(null, { args: ["--server", url], env: { CAUSEWAY_TOKEN: "cw_x" } });

suite("the local socket", () => {
    test("a path that is too long", async () => {
        // In a directory of others, and in one of the user beside the database.
        const beside = path.join(makeFolder(), "x".repeat(120));
        for (const socket of [`/tmp/${"x".repeat(120)}`, beside]) {
            const { file } = await setUp({ admin: { socket } });
            const problem = new RegExp(`at most 107 bytes, this one has ${socket.length}`);
            assertFinding(await doctor(file), "server", "error", /./, problem, /set admin\.socket to a/);
        }
    });

    test("a directory that others can write to, and one of another user", { skip: needsRoot }, async () => {
        const folder = makeFolder();
        const { file } = await setUp({ admin: { socket: path.join(folder, "s") } });
        chmodSync(folder, 0o777);
        assertFinding(await doctor(file), "server", "error", /s$/, /others may write to/, /use chmod go-w/);
        chmodSync(folder, 0o755);
        chownSync(folder, nobody, nobody);
        const problem = /belongs to another user, who could replace/;
        assertFinding(await doctor(file), "server", "error", /s$/, problem, /^set admin\.socket to a path in a folder/);
    });

    test("a file that is no socket", async () => {
        const socket = path.join(makeFolder(), "s");
        const { file } = await setUp({ admin: { socket } });
        writeFileSync(socket, "");
        assertFinding(await doctor(file), "server", "error", /s$/, /is not a socket/, /^set admin\.socket/);
    });
});

suite("the running server", () => {
    test("a source that is not ready, and keys that wait for a restart", async () => {
        const service = await startService();
        const { file, config, server } = await startServer({ sources: [sourceOf(service)] });
        assert.deepEqual(await doctor(file), []);
        const waits = { ...config, page_size: 7, mcp: { path: "/elsewhere" } };
        writeFileSync(file, JSON.stringify(waits));
        await cli(file, "reload");
        const findings = await doctor(file);
        const problem = /^new values wait for a restart: mcp\.path$/;
        assertFinding(findings, "server", "warning", /^running server$/, problem, /^restart the server$/);
        writeFileSync(file, JSON.stringify(config));
        await cli(file, "reload");
        assert.deepEqual(await doctor(file), []);
        // A service that the server cannot load, in a configuration that is read again.
        const dead = sourceOf({ url: `http://127.0.0.1:${await freePort()}/` }, { name: "dead" });
        writeFileSync(file, JSON.stringify({ ...config, sources: [...config.sources, dead] }));
        await cli(file, "reload");
        await server.untilLogged(/dead/);
        const broken = await doctor(file);
        const state = /^the server reports the state "(down|loading)"/;
        const remedy = /"causeway source check dead" on the server's machine/;
        assertFinding(broken, "server", "warning", /^dead$/, state, remedy, ["sources", "rights"]);
    });
});

suite("a server over the network", () => {
    test("one that does not answer, and one that rejects the token", async () => {
        const dead = `http://127.0.0.1:${await freePort()}`;
        const remedy = /^check the URL, that the server runs, and that the token's account has/;
        assertFinding(await over(dead), "server", "error", new RegExp(dead), /refused/, remedy);
        const { url } = await startServer();
        assertFinding(await over(url), "server", "error", new RegExp(url), /rejects the token/, remedy);
    });

    test("one that sends single bytes does not hold the command", async () => {
        const left = timeLimit(60_000);
        const plain = startDripping("HTTP/1.1 200 OK\r\nX-Slow: ").then((at) => over(`http://${at}`));
        const record = Buffer.from([0x16, 0x03, 0x03, 0x3f, 0x01]);
        const secure = startDripping(record).then((at) => over(`https://${at}`));
        const remedy = /^check the URL, that the server runs/;
        assertFinding(await plain, "server", "error", /^http:/, /no complete answer within 10 s/, remedy);
        assertFinding(await secure, "server", "error", /^https:/, /time/, remedy);
        assert.ok(left() > 0, "it was held");
    });

    test("one of another version", async () => {
        const url = await startFake({ version: "9.9.9" });
        const problem = /the server has version "9\.9\.9", this command has version \d/;
        assertFinding(await over(url), "server", "warning", new RegExp(url), problem, /commands of its version/);
    });

    test("one whose clock differs", async () => {
        const url = await startFake({ version: await ownVersion(), date: days(1) });
        const problem = /clock is 8\d{4} seconds ahead of the clock of this machine/;
        assertFinding(await over(url), "server", "warning", new RegExp(url), problem, /^synchronise the clocks/);
    });

    test("one with a plugin and a service that are not ready", async () => {
        const sources = [
            { name: "notes", kind: "plugin", state: "broken", problem: "no symbol\nmore" },
            { name: "shop", kind: "service", state: "ready" },
            { name: "files", kind: "service", state: "down", problem: "refused" },
        ];
        const findings = await over(await startFake({ version: await ownVersion(), sources }));
        assert.deepEqual(
            findings.map(({ severity, subject, problem }) => [severity, subject, problem]),
            [
                ["warning", "notes", 'the server reports the state "broken": no symbol'],
                ["warning", "files", 'the server reports the state "down": refused'],
            ],
        );
        assert.match(findings[0].remedy, /"causeway plugin check"/);
        assert.match(findings[1].remedy, /"causeway source refresh files"/);
    });

    test("one with an expired certificate", async () => {
        const tls = makeCertificate(makeFolder(), days(-9), days(-1));
        const { url, token } = await startServer({ listen: [{ address: "127.0.0.1:0", tls: true }], tls });
        const findings = await doctor(null, { args: ["--server", url, "--token-file", token] });
        const remedy = /^renew the certificate on the server's machine/;
        assertFinding(findings, "server", "error", /^https:/, /^the certificate expired on/, remedy, ["server"]);
        assert.match(findings.find(({ problem }) => !/expired on/.test(problem)).problem, /certificate/);
    });
});
