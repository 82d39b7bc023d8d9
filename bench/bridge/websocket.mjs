// A service over a WebSocket for benches: it returns its params, and sends notifications.
import http from "node:http";
import { cut, frame, handshakeResponse, opcodes } from "../../tests/functional/support/frames.mjs";

// A call whose message is `hold` gets no answer.
export async function startWebSocketService() {
    const hold = "hold";
    const sockets = new Set();
    const answer = (socket, { opcode, data }) => {
        if (opcode === opcodes.ping) socket.write(frame(opcodes.pong, data));
        if (opcode === opcodes.close) socket.end(frame(opcodes.close, data.subarray(0, 2)));
        if (opcode !== opcodes.text) return;
        const { id, params } = JSON.parse(data);
        if (params.message === hold) return;
        socket.write(frame(opcodes.text, JSON.stringify({ jsonrpc: "2.0", id, result: params })));
    };
    const server = http.createServer().on("upgrade", (request, socket) => {
        let rest = Buffer.alloc(0);
        socket.setNoDelay().on("error", () => {});
        socket.write(handshakeResponse(request));
        sockets.add(socket);
        socket.on("close", () => sockets.delete(socket));
        socket.on("data", (bytes) => {
            const { frames, rest: behind } = cut(Buffer.concat([rest, bytes]));
            rest = behind;
            frames.forEach((one) => answer(socket, one));
        });
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const notify = (method, params) => {
        const text = JSON.stringify({ jsonrpc: "2.0", method, params });
        sockets.forEach((socket) => socket.write(frame(opcodes.text, text)));
    };
    const stop = () => {
        sockets.forEach((socket) => socket.destroy());
        server.closeAllConnections();
        server.close();
    };
    return { hold, notify, sockets, stop, url: `ws://127.0.0.1:${server.address().port}/rpc` };
}
