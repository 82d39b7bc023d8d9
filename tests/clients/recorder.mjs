// Between a client and the server: addresses and commands that record what passes.
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import path from "node:path";

// An HTTP server on a free port: { port, close() }.
export async function listen(handler) {
    const server = createServer(handler);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const close = () => {
        server.closeAllConnections();
        server.close();
    };
    return { port: server.address().port, close };
}

export async function textOf(stream) {
    const chunks = [];
    for await (const chunk of stream) {
        chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString("utf8");
}

// An address that passes everything on to the server and writes a transcript. With `change` a POST is read to its end
// first: change({ headers, body }) returns the headers and the body that the server receives, and `onAnswer`. That is
// called with the status and the body of the response, and awaited before the client gets it.
export async function startRecorder(url, file, change) {
    const to = new URL(url);
    const note = (sign) => (chunk) => appendFileSync(file, `${sign} ${chunk}\n`);

    async function passBack(answer, response, onAnswer) {
        note("<")(`${answer.statusCode} ${JSON.stringify(answer.headers)}`);
        const { connection, ...passed } = answer.headers;
        if (onAnswer !== undefined) {
            const text = await textOf(answer);
            note("<")(text);
            await onAnswer({ status: answer.statusCode, text });
            return response.writeHead(answer.statusCode, passed).end(text);
        }
        response.writeHead(answer.statusCode, passed);
        response.flushHeaders();
        answer.on("error", () => response.destroy());
        return answer.on("data", note("<")).pipe(response);
    }

    function passOn(request, response, { headers, body, onAnswer }) {
        const options = { host: to.hostname, port: to.port, method: request.method, path: request.url, headers };
        // A server may answer and close before it has read all of a request; the client must be able to read the answer.
        const drain = () => request.unpipe(onward).resume();
        const onward = httpRequest(options, (answer) => {
            answer.on("end", drain);
            passBack(answer, response, onAnswer).catch(() => response.destroy());
        });
        onward.on("error", () => {
            drain();
            if (!response.headersSent) {
                response.destroy();
            }
        });
        response.on("close", () => onward.destroy());
        if (body === undefined) {
            request.on("data", note(">")).pipe(onward);
        } else {
            onward.end(body);
        }
    }

    const { port, close } = await listen(async (request, response) => {
        note(">")(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
        const headers = { ...request.headers, host: to.host };
        if (change === undefined || request.method !== "POST") {
            return passOn(request, response, { headers });
        }
        const body = await textOf(request);
        note(">")(body);
        try {
            return passOn(request, response, await change({ headers, body }));
        } catch (error) {
            note("!")(error.message);
            return response.destroy();
        }
    });
    return { url: `http://127.0.0.1:${port}${to.pathname}`, close };
}

// The command of a program behind tap.mjs.
export const tapped = (command, file) => [
    process.execPath,
    path.join(import.meta.dirname, "tap.mjs"),
    file,
    ...command,
];

// The protocol version of a transcript: a modern request names it, else the response to `initialize` does.
export function revisionOf(transcript) {
    const lines = transcript.split("\n");
    const named = (pattern, line) => pattern.exec(line)?.[1];
    const modern = lines
        .filter((line) => /"tools\/(call|list)"/.test(line))
        .map((line) => named(/"io\.modelcontextprotocol\/protocolVersion"\s*:\s*"([0-9-]+)"/, line));
    const legacy = lines
        .filter((line) => line.startsWith("<"))
        .map((line) => named(/"protocolVersion"\s*:\s*"([0-9-]+)"/, line));
    return [...modern, ...legacy].find((version) => version !== undefined) ?? null;
}
