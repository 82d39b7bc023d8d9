// TLS 1.3 records made by hand: which bytes are in which record, which records go out together,
// and handshake messages that no client sends. Node makes the handshake and reads the answers.
//
//     const c = await RecordConnection.open(server);
//     await c.sendRecords(c.seal(get("/echo")), c.seal(get("/2k"))); // two records at once
//     const [first, second] = await c.responses(2);
import { createCipheriv, createHmac } from "node:crypto";
import { Duplex } from "node:stream";
import { connect } from "./raw.mjs";
import { Connection } from "./server.mjs";

export const handshakeMessage = 22;
const applicationData = 23;
const tagLength = 16;

// HKDF-Expand-Label of RFC 8446 for one block of SHA-256, without a context.
function expandLabel(secret, label, length) {
    const name = Buffer.from(`tls13 ${label}`, "latin1");
    const info = Buffer.concat([Buffer.from([0, length, name.length]), name, Buffer.from([0, 1])]);
    return createHmac("sha256", secret).update(info).digest().subarray(0, length);
}

// What Node's TLS takes for its socket. Beside it, records can be written to the real one.
function wrap(raw) {
    const stream = new Duplex({
        read: () => raw.resume(),
        write: (chunk, encoding, done) => raw.write(chunk, done),
        final: (done) => raw.end(done),
        destroy: (error, done) => {
            raw.destroy();
            done(error);
        },
    });
    raw.on("data", (chunk) => stream.push(chunk) || raw.pause());
    raw.on("end", () => stream.push(null));
    raw.on("error", (error) => stream.destroy(error));
    raw.on("close", () => stream.destroy());
    return stream;
}

export class RecordConnection extends Connection {
    static async open(to) {
        const raw = connect(to?.url ? to.port : to);
        const c = new RecordConnection(to?.url ? to.port : to, {
            tls: { socket: wrap(raw), minVersion: "TLSv1.3", ciphers: "TLS_AES_128_GCM_SHA256" },
        });
        c.raw = raw;
        c.sent = 0n;
        c.socket.on("keylog", (line) => {
            const [name, , secret] = line.toString("latin1").trim().split(" ");
            if (name === "CLIENT_TRAFFIC_SECRET_0") {
                c.key = expandLabel(Buffer.from(secret, "hex"), "key", 16);
                c.iv = expandLabel(Buffer.from(secret, "hex"), "iv", 12);
            }
        });
        // A ticket is the answer to the last byte of Node's handshake: from here on it writes none.
        const ready = new Promise((resolve) => c.socket.once("session", resolve));
        await c.opened;
        await ready;
        return c;
    }

    // The next record, to be sent in this order.
    seal(content, type = applicationData) {
        const plain = Buffer.concat([Buffer.from(content, "latin1"), Buffer.from([type])]);
        const length = plain.length + tagLength;
        const head = Buffer.from([applicationData, 3, 3, length >> 8, length & 0xff]);
        const nonce = Buffer.from(this.iv);
        nonce.writeBigUInt64BE(nonce.readBigUInt64BE(4) ^ this.sent, 4);
        this.sent += 1n;
        const cipher = createCipheriv("aes-128-gcm", this.key, nonce).setAAD(head);
        return Buffer.concat([head, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    }

    sendRecords(...records) {
        return new Promise((resolve) => this.raw.write(Buffer.concat(records), resolve));
    }

    close() {
        super.close();
        this.raw?.destroy();
    }

    // Throw away what comes from now on, without deciphering it.
    discardInput() {
        this.raw.removeAllListeners("data");
        this.raw.resume();
    }
}
