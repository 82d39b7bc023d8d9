// Servers behind one address, where each request goes to the next of them.
//
//     const front = await startRoundRobin(servers);
//     await rpc(front, message);
//     await front.stop();
//
// HAProxy keeps the requests of a connection on one server; this keeps nothing. With CAUSEWAY_TEST_REPLICAS=3 the
// servers of startBridge() and startAccounts() are three of one PostgreSQL behind such an address:
//
//     CAUSEWAY_TEST_REPLICAS=3 make test FILE=tests/functional/login.test.mjs
import { existsSync, readFileSync } from "node:fs";
import http from "node:http";
import { startPostgres } from "./postgres.mjs";
import { patience, replicaCount, startCauseway, writeConfig } from "./programs.mjs";

const isOfConnection = (name) => ["connection", "keep-alive"].includes(name.toLowerCase());

// Names and values as they were sent, without those of one connection.
function passedOn(raw) {
    return raw.filter((_, i) => !isOfConnection(raw[i - (i % 2)]));
}

// The server sees the address of the client, and is asked at the address that the client has used.
function forward(request, response, port) {
    const { method, url: path, rawHeaders, socket } = request;
    const headers = [...passedOn(rawHeaders), "Connection", "close"];
    const way = { host: socket.localAddress, localAddress: socket.remoteAddress, port, agent: false };
    const onward = http.request({ ...way, method, path, headers, setHost: false }, (answer) => {
        response.sendDate = false;
        response.writeHead(answer.statusCode, answer.statusMessage, passedOn(answer.rawHeaders));
        response.flushHeaders();
        answer.pipe(response);
        answer.on("error", () => response.destroy());
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    request.pipe(onward);
}

export async function startRoundRobin(servers, atPort = 0) {
    const ports = servers.map((server) => new URL(server.url).port);
    let n = 0;
    const front = http.createServer((request, response) => {
        n += 1;
        forward(request, response, ports[n % ports.length]);
    });
    await new Promise((resolve) => front.listen(atPort, "0.0.0.0", resolve));
    front.unref(); // a failed test leaves it behind
    const stop = () => {
        front.closeAllConnections();
        return new Promise((resolve) => front.close(resolve));
    };
    const { port } = front.address();
    return { url: `http://127.0.0.1:${port}`, port, stop };
}

// ---- a test server that is several ----

let postgres;
// One database server for the test file. It ends with the process.
export async function sharedServer() {
    postgres ??= startPostgres();
    (await postgres).child.unref();
    return await postgres;
}

export const newSharedStore = async () => ({ url: (await sharedServer()).newDatabase() });

// What a test does with one server (Program of programs.mjs), done with all of them.
class Replicated {
    constructor(servers, front) {
        this.servers = servers;
        this.front = front;
        this.url = front.url;
        this.port = front.port;
        this.pid = servers[0].pid;
        this.name = "replicas";
        this.logFile = servers[0].logFile;
        this.child = { kill: (signal) => servers.forEach(({ child }) => child.kill(signal)) };
        this.exited = Promise.all(servers.map(({ exited }) => exited)).then(([first]) => first);
    }

    get stdout() {
        return this.servers.map(({ stdout }) => stdout).join("");
    }

    get stderr() {
        return this.servers.map(({ stderr }) => stderr).join("");
    }

    until(...args) {
        return this.servers[0].until(...args);
    }

    untilLogged(pattern, timeoutMs) {
        return this.until(() => pattern.test(this.stderr), `log line ${pattern}`, timeoutMs);
    }

    assertNoReports() {
        this.servers.forEach((server) => server.assertNoReports());
    }

    async stop(options) {
        await Promise.all(this.servers.map((server) => server.stop(options)));
        await this.front.stop();
    }
}

// An audit file belongs to one process.
function configOf(file, i) {
    const config = JSON.parse(readFileSync(file, "utf8"));
    if (i === 0 || !config.audit?.path) {
        return file;
    }
    return writeConfig({ ...config, audit: { ...config.audit, path: auditFile(config.audit.path, i) } });
}

const auditFile = (path, i) => (i === 0 ? path : `${path}.replica-${i}`);

// The audit of all servers that share this path in their configuration, in the order of their times.
export function readAudit(path) {
    if (replicaCount === 1) {
        return readFileSync(path, "utf8");
    }
    const files = Array.from({ length: replicaCount }, (_, i) => auditFile(path, i)).filter((file) => existsSync(file));
    const lines = files.flatMap((file) => readFileSync(file, "utf8").split(/(?<=\n)/));
    const timeOf = (line) => /"time":"([^"]*)"/.exec(line)?.[1] ?? "";
    return lines.sort((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1)).join("");
}

// The port that a test has chosen for its server is that of the front.
function takePort(args) {
    const at = args.indexOf("--listen");
    const [, address, port] = /^(.*):(\d+)$/.exec(args[at + 1] ?? "") ?? [];
    return at < 0 ? { port: 0, rest: args } : { port: Number(port), rest: args.with(at + 1, `${address}:0`) };
}

export async function startReplicated({ file, args, ...options }) {
    const { port, rest } = takePort(args);
    const start = (i) => startCauseway({ ...options, args: [...rest, "--config", configOf(file, i)] });
    const first = await start(0); // makes the tables
    const others = await Promise.all(Array.from({ length: replicaCount - 1 }, (_, i) => start(i + 1)));
    const servers = [first, ...others];
    const know = new RegExp(`number of servers .*others=${replicaCount - 1}`);
    await Promise.all(servers.map((server) => server.untilLogged(know, patience(10_000))));
    return new Replicated(servers, await startRoundRobin(servers, port));
}
