// What hostile clients share: many connections from one address that post again and again.
import http from "node:http";

export const sleepMethod = "test.sleep";
export const slowMs = 200;

export const batchOf = (n, message) => JSON.stringify(Array.from({ length: n }, () => message));
export const notification = { jsonrpc: "2.0", method: sleepMethod, params: { ms: slowMs } };

// Send one request; resolves when the answer has ended or the connection has.
export function post(address, from, target, { headers = {}, body }, agent) {
    const [host, port] = address.split(":");
    return new Promise((resolve) => {
        const request = http.request({
            ...{ host, port, localAddress: from, agent, method: "POST", path: target },
            headers: { "Content-Type": "application/json", ...headers },
        });
        request.on("response", (answer) => answer.resume().on("close", () => resolve(answer)));
        request.on("error", () => resolve(null));
        request.end(body);
    });
}

// `connections` clients, each of which calls `once` again as soon as it is over.
export function flood(connections, once) {
    const forever = async () => {
        for (;;) {
            await once();
        }
    };
    return Promise.all(Array.from({ length: connections }, forever));
}
