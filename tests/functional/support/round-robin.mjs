// Servers behind one address, where each request goes to the next of them.
//
//     const front = await startRoundRobin(servers);
//     await rpc(front, message);
//     await front.stop();
//
// HAProxy keeps the requests of a connection on one server; this keeps nothing.
import http from "node:http";

function forward(request, response, port) {
    const { method, url, headers } = request;
    const onward = http.request({ host: "127.0.0.1", port, method, path: url, headers, agent: false }, (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        response.flushHeaders();
        answer.pipe(response);
        answer.on("error", () => response.destroy());
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    request.pipe(onward);
}

export async function startRoundRobin(servers) {
    const ports = servers.map((server) => new URL(server.url).port);
    let n = 0;
    const front = http.createServer((request, response) => {
        n += 1;
        forward(request, response, ports[n % ports.length]);
    });
    await new Promise((resolve) => front.listen(0, "127.0.0.1", resolve));
    const stop = () => {
        front.closeAllConnections();
        return new Promise((resolve) => front.close(resolve));
    };
    return { url: `http://127.0.0.1:${front.address().port}`, stop };
}
