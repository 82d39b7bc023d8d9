// Clients that read slowly or come in crowds: what a connection may occupy, and what remains of it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import net from "node:net";
import { test } from "node:test";
import { modern, modernParts, reloadBridge } from "./support/mcp.mjs";
import { patience, slowness } from "./support/programs.mjs";
import { startMany } from "./support/rest.mjs";
import { eventually, exchange, get, pause, request, residentKb, startTestServer } from "./support/server.mjs";

const MB = 1024 * 1024;

// Bytes that the kernel holds for the server's end of its connections, by port of the client: sent and not acknowledged,
// or unsent.
function heldByClient(serverPort) {
    const portOf = (address) => parseInt(address.split(":")[1], 16);
    const rows = readFileSync("/proc/net/tcp", "utf8")
        .split("\n")
        .slice(1, -1)
        .map((line) => line.trim().split(/\s+/));
    const own = rows.filter(([, from]) => portOf(from) === serverPort);
    return new Map(own.map(([, , to, , queues]) => [portOf(to), parseInt(queues.split(":")[0], 16)]));
}

const heldBytes = (serverPort, clientPort) => heldByClient(serverPort).get(clientPort);

async function open(server) {
    const socket = net.connect(server.port, "127.0.0.1");
    await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    return socket;
}

test("little of an answer that is not read lies in the kernel", { timeout: patience(60_000) }, async (t) => {
    const server = await startTestServer({ loops: 1, write_ms: 600_000 });
    t.after(() => server.child.kill("SIGKILL"));
    const socket = await open(server);
    socket.pause();
    socket.write(get(`/big?${32 * MB}`));
    let held = -1;
    await eventually(() => {
        const before = held;
        held = heldBytes(server.port, socket.localPort);
        return held > 0 && held === before;
    }, "the answer to come to a stop");
    assert.ok(held < MB, `${held} bytes`);
    // The loop is free, and the answer goes on when it is read.
    assert.equal((await exchange(server, get("/item/alive"))).text, "alive");
    let got = 0;
    socket.on("data", (bytes) => (got += bytes.length)).resume();
    await eventually(() => got > 32 * MB, "the rest of the answer");
    socket.destroy();
    await server.stop();
});

const crowdSize = 200;
const tools = 4000; // more in one list than the kernel takes

// Ask for the list with an id of its own, and read nothing.
async function askForList(server, id) {
    const { body, headers } = modernParts("tools/list", {}, { id });
    const socket = await open(server);
    socket.pause();
    socket.write(request("POST", "/mcp", { "Content-Type": "application/json", ...headers }, JSON.stringify(body)));
    return socket;
}

async function readAnswer(socket) {
    let text = "";
    socket
        .setEncoding("utf8")
        .on("data", (part) => (text += part))
        .resume();
    await eventually(() => {
        const [head, body] = text.split("\r\n\r\n");
        return body?.length === Number(/^content-length: (\d+)$/im.exec(head)?.[1]);
    }, "the whole answer");
    socket.destroy();
    return text.split("\r\n\r\n")[1];
}

test("clients that do not read a list share its bytes", { timeout: patience(120_000) }, async (t) => {
    // A client that takes nothing for that long is closed; on a busy machine the others may need longer.
    const timeouts = { write: "10m" };
    const server = await startMany(tools, { loops: 1, mcp: { page_size: tools }, timeouts });
    t.after(() => server.stop());
    const { text, json } = await modern(server, "tools/list", {}, { id: 1_000_000 });
    assert.equal(json.result.tools.length, tools);
    const before = residentKb(server.pid);
    const sockets = [];
    for (let i = 0; i < crowdSize; i += 1) {
        sockets.push(await askForList(server, 1_000_001 + i));
    }
    await eventually(() => {
        const held = heldByClient(server.port);
        return sockets.every(({ localPort }) => held.get(localPort) > 0);
    }, "all answers to begin");
    const each = ((residentKb(server.pid) - before) * 1024) / crowdSize;
    assert.ok(each < text.length / 4, `${each} bytes for each answer of ${text.length}`);
    // A new catalogue does not change what is being sent. Each answer has its own id.
    await reloadBridge(server, { sources: [] });
    await eventually(async () => (await modern(server, "tools/list")).json.result.tools.length === 0, "another list");
    for (const [i, socket] of sockets.entries()) {
        assert.ok((await readAnswer(socket)) === text.replace(/1000000(?=\D*$)/, 1_000_001 + i), `answer ${i}`);
    }
});

// Sanitizers keep freed memory.
const keepsMemory = slowness > 1 && "a sanitizer keeps freed memory";
test("the memory of a crowd is given back within a minute", { skip: keepsMemory, timeout: 120_000 }, async (t) => {
    const server = await startTestServer({ loops: 1 });
    t.after(() => server.child.kill("SIGKILL"));
    const body = "x".repeat(4000);
    const crowd = async (n) => {
        const text = `POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n`;
        const sockets = [];
        for (let i = 0; i < n; i += 100) {
            sockets.push(...(await Promise.all(Array.from({ length: 100 }, () => open(server)))));
        }
        // All of them have a request at the same time.
        sockets.forEach((socket) => socket.write(text + body.slice(1)));
        await pause(500);
        await Promise.all(
            sockets.map(async (socket) => {
                const answer = new Promise((resolve) => socket.once("data", resolve));
                socket.write("x");
                await answer;
            }),
        );
        const most = residentKb(server.pid);
        sockets.forEach((socket) => socket.destroy());
        return most;
    };
    await crowd(100);
    const before = residentKb(server.pid);
    const most = await crowd(4000);
    const limit = before + (most - before) / 3;
    await eventually(() => residentKb(server.pid) < limit, `less than ${limit} KB, after ${most} KB`, 60_000);
    assert.equal((await exchange(server, get("/item/alive"))).text, "alive");
    await server.stop();
});
