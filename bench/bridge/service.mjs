// A JSON-RPC service in this process, over HTTP and over a WebSocket on the same port. Each request,
// of any method, gets a result with a message of the given length.
//
//     const service = await startService(65_536);
//     service.http                http://127.0.0.1:PORT/rpc
//     service.ws                  ws://127.0.0.1:PORT/rpc
import http from "node:http";
import { cut, frame, handshakeResponse, opcodes } from "../../tests/functional/support/frames.mjs";
import { message } from "./bridge.mjs";

// Serves one WebSocket. Answers pings and the closing handshake too.
function serveSocket(socket, answer) {
    let rest = Buffer.alloc(0);
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
        const { frames, rest: behind } = cut(Buffer.concat([rest, bytes]));
        rest = behind;
        for (const { opcode, data } of frames) {
            if (opcode === opcodes.text) {
                socket.write(frame(opcodes.text, answer(data)));
            } else if (opcode === opcodes.ping) {
                socket.write(frame(opcodes.pong, data));
            } else if (opcode === opcodes.close) {
                socket.end(frame(opcodes.close, data.subarray(0, 2)));
            }
        }
    });
}

export async function startService(length) {
    const result = { message: message.repeat(Math.ceil(length / message.length)).slice(0, length) };
    const answer = (text) => JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(text).id, result });
    const sockets = new Set();
    const server = http.createServer({ keepAliveTimeout: 0 }, async (request, response) => {
        const text = answer(Buffer.concat(await request.toArray()));
        response.setHeader("Content-Type", "application/json");
        response.setHeader("Content-Length", text.length);
        response.end(text);
    });
    server.on("upgrade", (request, socket) => {
        sockets.add(socket.setNoDelay());
        socket.write(handshakeResponse(request));
        serveSocket(socket, answer);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const place = `127.0.0.1:${server.address().port}/rpc`;
    return {
        http: `http://${place}`,
        ws: `ws://${place}`,
        stop() {
            sockets.forEach((socket) => socket.destroy());
            server.closeAllConnections();
            server.close();
        },
    };
}
