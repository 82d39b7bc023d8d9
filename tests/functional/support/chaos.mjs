// What the tests of faults share: three replicas on one PostgreSQL, writers, and checks of what they were told.
//
//     const trio = await startTrio(url);
//     const writers = trio.startWriters();
//     await trio.replicas[0].kill();
//     await writers.stop();
//     await trio.checkWritten(writers.written);
import assert from "node:assert/strict";
import net from "node:net";
import { basic, bearer, call, cli, discover } from "./accounts.mjs";
import { startReplicas } from "./balancers.mjs";
import { rpc } from "./mcp.mjs";
import { closeIdleConnections, patience } from "./programs.mjs";
import { eventually, inParallel, pause } from "./server.mjs";
import { Service, writeOpenRpc } from "./service.mjs";
import { beginTask, getTask } from "./tasks.mjs";

// The documented bounds (docs/store.md), in ms.
export const changeMs = 1_000;
export const graceMs = 60_000;
export const timeoutMs = 2_000;
export const lostMs = 30_000;

const caller = { method: "test.caller", id: 1 };
// The status of a call with these headers; 0: no response.
export const statusOf = async (replica, headers) =>
    (await rpc(replica, caller, headers).catch(() => ({ status: 0 }))).status;

// How a replica that reaches the database rejects a stranger. Many attempts from one address are slowed down.
export const rejected = [401, 429];

let strangers = 0;
// Credentials that no server has seen.
export const stranger = () => basic(`stranger ${(strangers += 1)}`, "x");

const permissions = [discover, call, "access content"];
const operator = ["view traffic", "administer access", "administer sources"];

function configOf(url, i, service, more) {
    return {
        hosts: ["127.0.0.1"],
        timeouts: { linger: "100ms" },
        store: { url, name: `replica-${i + 1}`, timeout: `${timeoutMs}ms` },
        roles: { anonymous: permissions, authenticated: permissions, operator },
        sources: [
            {
                name: "shop",
                url: service.url,
                openrpc: writeOpenRpc(),
                prefix: "shop.",
                timeout: "10m",
                connections: 64,
                methods: [
                    { method: "echo", task: "always" },
                    { method: "wait", task: "always" },
                ],
            },
        ],
        ...more,
    };
}

class Trio {
    constructor(replicas) {
        this.replicas = replicas;
    }

    cli(...words) {
        return cli(this.replicas[0].config, ...words);
    }

    async untilReady(replicas = this.replicas) {
        const isThere = (replica, name) => async () =>
            (await fetch(`${replica.url}/mcp/tools/describe?name=${name}`)).status === 200;
        const wait = (replica, name) => eventually(isThere(replica, name), name, 10_000);
        await Promise.all(replicas.flatMap((replica) => ["shop.echo", "test.echo"].map((name) => wait(replica, name))));
    }

    // Until all replicas reach the database: strangers are rejected, or slowed down.
    async untilBack(withinMs = 20_000) {
        const isBack = (replica) => async () =>
            (await fetch(`${replica.url}/readyz?store=1`)).status === 200 &&
            rejected.includes(await statusOf(replica, stranger()));
        await Promise.all(this.replicas.map((replica) => eventually(isBack(replica), "the database", withinMs)));
    }

    async admin(replica, method, params) {
        const { status, json } = await rpc(replica, { method: `causeway.${method}`, params, id: 1 }, this.operator);
        return status === 200 ? json.result : undefined;
    }

    async newToken(replica = this.replicas[0], account = "alice") {
        const made = await this.admin(replica, "tokens.create", { account });
        assert.ok(made?.token, "a token");
        return made;
    }

    async restart(replica, env) {
        closeIdleConnections();
        await replica.start(env);
        await this.untilReady([replica]);
    }

    // One writer for each replica, which counts what was acknowledged.
    startWriters(prefix) {
        const written = { accounts: [], roles: [], tokens: [], revoked: [], tasks: [] };
        let isOver = false;
        const work = this.replicas.map(async (replica, i) => {
            for (let n = 0; !isOver; n += 1) {
                await this.write(replica, `${prefix}-${i}-${n}`, written).catch(() => pause(10));
            }
        });
        return {
            written,
            stop: async () => {
                isOver = true;
                await Promise.all(work);
            },
        };
    }

    async write(replica, name, written) {
        if (await this.admin(replica, "accounts.add", { name, password: null })) {
            written.accounts.push(name);
        }
        if (await this.admin(replica, "roles.add", { role: name })) {
            written.roles.push(name);
        }
        const made = await this.admin(replica, "tokens.create", { account: "alice", name });
        if (made) {
            // With a revocation whose outcome is unknown, either answer is right: it is in neither list.
            const isKept = Math.random() < 0.5;
            if (isKept) {
                written.tokens.push(made.token);
            } else if (await this.admin(replica, "tokens.revoke", { id: made.id })) {
                written.revoked.push(made.token);
            }
        }
        const { json } = await beginTask(replica, "shop.echo", { message: name }, { headers: this.alice });
        if (json?.result?.taskId) {
            written.tasks.push({ id: json.result.taskId, name });
        }
    }

    // Every acknowledged write is known to all replicas.
    async checkWritten({ accounts, roles, tokens, revoked, tasks }) {
        for (const replica of this.replicas) {
            const known = new Set((await this.admin(replica, "accounts.list", {})).accounts.map(({ name }) => name));
            assert.deepEqual(
                accounts.filter((name) => !known.has(name)),
                [],
                "lost accounts",
            );
            const found = new Set((await this.admin(replica, "roles.list", {})).roles.map(({ name }) => name));
            assert.deepEqual(
                roles.filter((name) => !found.has(name)),
                [],
                "lost roles",
            );
            await inParallel(tokens, 8, async (token) => assert.equal(await statusOf(replica, bearer(token)), 200));
            await inParallel(revoked, 8, async (token) => assert.equal(await statusOf(replica, bearer(token)), 401));
            await inParallel(tasks, 8, (task) => this.checkTask(replica, task));
        }
    }

    // It has ended with its own result, or has failed with its replica.
    async checkTask(replica, { id, name }) {
        const look = async () => {
            const { json, text } = await getTask(replica, id, { headers: this.alice });
            assert.ok(json?.result, `the task of ${name}: ${text}`);
            return json.result.status !== "working" && json.result;
        };
        const { status, result, error } = await eventually(look, `the end of the task of ${name}`, lostMs + 10_000);
        if (status === "completed") {
            assert.ok(JSON.stringify(result).includes(name), `${name}: ${JSON.stringify(result)}`);
        } else {
            assert.equal(status, "failed", JSON.stringify(error));
        }
    }

    // The token is refused by these replicas within the documented time.
    async untilRefused(token, replicas = this.replicas, withinMs = changeMs) {
        const begin = performance.now();
        const isRefused = (replica) => async () => (await statusOf(replica, bearer(token))) === 401;
        await Promise.all(replicas.map((replica) => eventually(isRefused(replica), "401", withinMs)));
        return performance.now() - begin;
    }

    async stop() {
        await Promise.all(this.replicas.map((replica) => replica.stop()));
        await this.service.stop();
    }
}

// `urlOf`: the URL of the database, or a function of the number of the replica. `more` is put over the configuration.
export async function startTrio(urlOf, { more = {}, plugins = ["echo", "conformance"] } = {}) {
    const service = await new Service().start();
    const own = typeof urlOf === "function" ? urlOf : () => urlOf;
    const replicas = await startReplicas(
        3,
        (i) => configOf(own(i), i, service, typeof more === "function" ? more(i) : more),
        plugins,
    );
    const trio = new Trio(replicas);
    trio.service = service;
    await trio.cli("account", "add", "root", "--role", "operator", { input: "r00t" });
    await trio.cli("account", "add", "alice", { input: "s3cret" });
    await trio.cli("account", "add", "bob", { input: "b0b" });
    const tokenOf = async (name) => bearer((await trio.cli("token", "create", name)).trim());
    trio.operator = await tokenOf("root");
    trio.alice = await tokenOf("alice");
    await trio.untilReady();
    await trio.untilBack();
    await Promise.all(
        replicas.map(({ program }) => program.untilLogged(/number of servers .*others=2/, patience(10_000))),
    );
    return trio;
}

// A way to a TCP port that can be cut: `way.cut()` lets no byte through, in either direction, and closes nothing;
// `way.heal()` ends what was open, as routers that have forgotten a connection do.
export async function startWay(port) {
    const sockets = new Set();
    let isCut = false;
    const server = net.createServer({ allowHalfOpen: true }, (near) => {
        const far = net.connect({ port, host: "127.0.0.1", allowHalfOpen: true });
        for (const [from, to] of [
            [near, far],
            [far, near],
        ]) {
            sockets.add(from);
            from.on("data", (bytes) => !isCut && to.write(bytes));
            from.on("end", () => !isCut && to.end());
            from.on("close", () => sockets.delete(from) && !isCut && to.destroy());
            from.on("error", () => {});
        }
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const destroyAll = () => sockets.forEach((socket) => socket.destroy());
    const way = {
        port: server.address().port,
        cut: () => (isCut = true),
        heal: () => {
            isCut = false;
            destroyAll();
        },
        stop: async () => {
            destroyAll();
            await new Promise((resolve) => server.close(resolve));
        },
    };
    return way;
}

// Calls at all replicas, one after the other at each, until stop(). With `strangers`, each tenth has credentials
// that no server has seen.
export function startLoad(trio, { headers = {}, strangers: hasStrangers = false }) {
    const counts = new Map();
    const strange = new Map();
    let isOver = false;
    const count = (map, status) => map.set(status, (map.get(status) ?? 0) + 1);
    const work = trio.replicas.map(async (replica) => {
        for (let n = 0; !isOver; n += 1) {
            const isStrange = hasStrangers && n % 10 === 9;
            count(isStrange ? strange : counts, await statusOf(replica, isStrange ? stranger() : headers));
            await pause(20);
        }
    });
    const wrongOf = (map, right) => [...map].filter(([status]) => !right.includes(status));
    return {
        counts: () => [...counts].map(([status, n]) => `${n} x ${status}`).join(", "),
        // Statuses other than these, with their numbers.
        wrong: (...right) => wrongOf(counts, right),
        wrongStrangers: (...right) => wrongOf(strange, right),
        stop: async () => {
            isOver = true;
            await Promise.all(work);
        },
    };
}
