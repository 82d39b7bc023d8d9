// How long an event takes from its service to all subscribers: a thousand streams of events/stream, each
// with a connection of its own, in one client process.
import net from "node:net";
import { median, sleep } from "../http/servers.mjs";
import { mcpRequest, startBridge } from "./bridge.mjs";
import { echoSource } from "./forward.mjs";
import { startWebSocketService } from "./websocket.mjs";

const most = { ms: 200, subscribers: 1000 };

// One stream. `onEvent` is called with the number of each event.
function subscribe(server, onActive, onEvent) {
    const { headers, body } = mcpRequest("events/stream", { name: "service.tick", arguments: {}, cursor: null });
    const lines = Object.entries({ ...headers, Host: server.address, "Content-Length": Buffer.byteLength(body) });
    const [host, port] = server.address.split(":");
    const socket = net.connect(Number(port), host);
    let rest = "";
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
        rest += bytes.toString("latin1");
        for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
            const message = rest.slice(0, end);
            rest = rest.slice(end + 2);
            if (message.includes("notifications/events/active")) onActive();
            const [, number] = /"data":\{"no":(\d+)\}/.exec(message) ?? [];
            if (number !== undefined) onEvent(Number(number));
        }
    });
    socket.write(`POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`);
    return socket;
}

async function until(check) {
    while (!check()) await sleep(2);
}

export async function run({ quick, say }) {
    const service = await startWebSocketService();
    const source = { ...echoSource(service.url), events: { tick: { per_minute: 600_000 } } };
    const server = await startBridge("service.echo", {
        sources: [source],
        mcp: { events: { enabled: true } },
    });
    const [n, rounds] = quick ? [100, 3] : [most.subscribers, 50];
    await until(() => service.sockets.size > 0);
    let active = 0;
    let got = 0;
    const streams = [];
    for (let i = 0; i < n; i += 1) {
        streams.push(
            subscribe(
                server,
                () => (active += 1),
                () => (got += 1),
            ),
        );
        if (i % 50 === 49) await sleep(5);
    }
    await until(() => active === n);
    const times = [];
    for (let no = 0; no <= rounds; no += 1) {
        got = 0;
        const began = performance.now();
        service.notify("tick", { no });
        await until(() => got === n);
        if (no > 0) times.push(performance.now() - began); // the first one warms up
    }
    const ms = median(times);
    const worst = Math.max(...times);
    say(`an event to ${n} subscribers: ${ms.toFixed(1)} ms, worst ${worst.toFixed(1)} ms`);
    streams.forEach((socket) => socket.destroy());
    await server.stop();
    service.stop();
    const figures = [
        {
            name: `an event reaches ${n.toLocaleString("en")} subscribers`,
            target: `< ${most.ms} ms`,
            shown: `${ms.toFixed(1)} ms`,
            ok: ms < most.ms,
        },
    ];
    return { subscribers: n, rounds, ms, worst, figures };
}
