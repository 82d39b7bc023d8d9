import { readFileSync } from "node:fs";
import net from "node:net";
import { listenFile } from "../bridge/bridge.mjs";
import { sleep } from "../http/servers.mjs";
import { startPlugin, summarise } from "./healthy.mjs";

const places = 1000;
export const name = "streams";
export const about = `One client opens subscriptions/listen streams until it is refused, and tries
    again, where the server has places for ${places.toLocaleString("en")}; the healthy client opens a
    stream, waits for its first event and closes it.`;

// Resolves with the socket when the first event is there, with null when there will be none.
function openStream(address, from, request) {
    const [host, port] = address.split(":");
    return new Promise((resolve) => {
        const socket = net.connect({ host, port: Number(port), localAddress: from });
        let text = "";
        socket.setEncoding("latin1").on("data", (part) => {
            text = text.length < 65536 ? text + part : text;
            if (text.includes("\ndata: ")) {
                resolve(socket);
            } else if (text.startsWith("HTTP/1.1 ") && !text.startsWith("HTTP/1.1 200")) {
                socket.destroy();
            }
        });
        socket.on("error", () => {}).on("close", () => resolve(null));
        socket.on("connect", () => socket.write(request));
    });
}

async function openSome({ server, seconds, request }) {
    const times = [];
    let failed = 0;
    for (const end = performance.now() + seconds * 1000; performance.now() < end; await sleep(10)) {
        const began = performance.now();
        const socket = await openStream(server.address, "127.0.0.1", request);
        if (socket) {
            times.push((performance.now() - began) * 1000);
            socket.destroy();
        } else {
            failed += 1;
        }
    }
    return summarise(times, failed);
}

export async function start() {
    const started = await startPlugin({ limits: { subscriptions: places } });
    const request = readFileSync(listenFile(), "latin1");
    const healthy = (given) => openSome({ ...given, request });
    return { ...started, healthy, attack: { request } };
}

export async function attack({ address, from, request, ready }) {
    for (let held = 0; held < places && (await openStream(address, from, request)); held += 1);
    ready();
    for (;;) {
        await openStream(address, from, request);
        await sleep(10);
    }
}
