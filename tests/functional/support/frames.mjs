// The bytes of a WebSocket (RFC 6455), as a server reads and writes them: the handshake and frames.
import { createHash } from "node:crypto";

const guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
export const opcodes = { text: 1, close: 8, ping: 9, pong: 10 };

// The response that accepts the handshake of this request.
export function handshakeResponse(request) {
    const key = request.headers["sec-websocket-key"];
    const accept = createHash("sha1")
        .update(key + guid)
        .digest("base64");
    return (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
        `Sec-WebSocket-Accept: ${accept}\r\n\r\n`
    );
}

// A frame as a server writes it.
export function frame(opcode, data) {
    const bytes = Buffer.from(data);
    const head =
        bytes.length < 126
            ? Buffer.from([0x80 | opcode, bytes.length])
            : Buffer.from([0x80 | opcode, 127, ...Buffer.alloc(8)]);
    if (bytes.length >= 126 && bytes.length < 65_536) {
        return Buffer.concat([Buffer.from([0x80 | opcode, 126, bytes.length >> 8, bytes.length & 255]), bytes]);
    }
    if (bytes.length >= 65_536) {
        head.writeBigUInt64BE(BigInt(bytes.length), 2);
    }
    return Buffer.concat([head, bytes]);
}

// The frames that have come whole, [{ opcode, data }], and the bytes behind them.
export function cut(bytes) {
    const frames = [];
    for (;;) {
        const short = bytes.length < 2 ? 0 : bytes[1] & 127;
        const more = short === 127 ? 8 : short === 126 ? 2 : 0;
        if (bytes.length < 6 + more) {
            return { frames, rest: bytes };
        }
        const size = more === 8 ? Number(bytes.readBigUInt64BE(2)) : more ? bytes.readUInt16BE(2) : short;
        const from = 6 + more;
        if (bytes.length < from + size) {
            return { frames, rest: bytes };
        }
        const data = Buffer.from(bytes.subarray(from, from + size));
        for (let i = 0; i < size; i += 1) {
            data[i] ^= bytes[from - 4 + (i % 4)];
        }
        frames.push({ opcode: bytes[0] & 15, data });
        bytes = bytes.subarray(from + size);
    }
}
