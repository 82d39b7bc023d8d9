import { readFileSync } from "node:fs";
import net from "node:net";
import { listenFile } from "../bridge/bridge.mjs";
import { sleep } from "../http/servers.mjs";
import { level } from "./evidence.mjs";
import { repeated, startPlugin } from "./healthy.mjs";
import { target } from "./hostile.mjs";

const places = 1000;
export const name = "streams";
export const about = `One client opens subscriptions/listen streams until it is refused, and tries
    again, where the server has places for ${places.toLocaleString("en")}; the healthy client opens a
    stream, waits for its first event and closes it.`;
export const metrics = { open: level("causeway_streams", { kind: "listen" }) };
export const least = { open: 100, refused: 5 };

// Resolves with the socket when the first event is there, with null when there will be none.
function openStream(address, from, request) {
    return new Promise((resolve) => {
        const socket = net.connect({ ...target(address), localAddress: from });
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

async function openAndClose(server, request) {
    const socket = await openStream(server.address, "127.0.0.1", request);
    socket?.destroy();
    return socket !== null;
}

export async function start() {
    const started = await startPlugin({ limits: { subscriptions: places } });
    const request = readFileSync(listenFile(), "latin1");
    const healthy = repeated({ once: (server) => openAndClose(server, request), rate: 80 });
    return { ...started, healthy, attack: { request } };
}

export async function attack({ address, from, request, ready, count }) {
    let held = 0;
    while (held < places && (await openStream(address, from, request))) held += 1;
    ready();
    for (;;) {
        count((await openStream(address, from, request)) ? "opened" : "refused");
        await sleep(10);
    }
}
