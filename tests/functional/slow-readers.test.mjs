// Clients that read slowly or come in crowds: what a connection may occupy, and what remains of it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import net from "node:net";
import { test } from "node:test";
import { slowness } from "./support/programs.mjs";
import { eventually, exchange, get, pause, residentKb, startTestServer } from "./support/server.mjs";

const MB = 1024 * 1024;

// Bytes that the kernel holds for the server's end of a connection: sent and not acknowledged, or unsent.
function heldBytes(serverPort, clientPort) {
    const hex = (port) => port.toString(16).toUpperCase().padStart(4, "0");
    const row = readFileSync("/proc/net/tcp", "utf8")
        .split("\n")
        .map((line) => line.trim().split(/\s+/))
        .find(([, from, to]) => from?.endsWith(`:${hex(serverPort)}`) && to?.endsWith(`:${hex(clientPort)}`));
    return parseInt(row[4].split(":")[0], 16);
}

async function open(server) {
    const socket = net.connect(server.port, "127.0.0.1");
    await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    return socket;
}

test("little of an answer that is not read lies in the kernel", { timeout: 60_000 * slowness }, async (t) => {
    const server = await startTestServer({ loops: 1 });
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

// Sanitizers keep freed memory.
test("the memory of a crowd is given back within a minute", { skip: slowness > 1, timeout: 120_000 }, async (t) => {
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
    const began = Date.now();
    const limit = before + (most - before) / 3;
    await eventually(() => residentKb(server.pid) < limit, `less than ${limit} KB, after ${most} KB`, 60_000);
    assert.ok(Date.now() - began < 60_000);
    assert.equal((await exchange(server, get("/item/alive"))).text, "alive");
    await server.stop();
});
