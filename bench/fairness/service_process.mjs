// The process of the service that healthy and hostile clients call: service_process.mjs. It prints its address.
// `slow` is answered after a while, `words` with 1.1 MB, everything else at once and shortly.
import http from "node:http";
import { sleep } from "../http/servers.mjs";
import { slowMs, words } from "./hostile.mjs";

// The large answer is made once: the service must not be what the two clients wait for.
const large = Buffer.from(`"result":${JSON.stringify(words)}}`);
const small = Buffer.from(`"result":"walk across"}`);

const server = http.createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (part) => (text += part));
    request.on("end", async () => {
        const { id, method } = JSON.parse(text);
        if (method === "slow") await sleep(slowMs);
        const begin = Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},`);
        const end = method === "words" ? large : small;
        const size = begin.length + end.length;
        response.writeHead(200, { "Content-Type": "application/json", "Content-Length": size });
        response.write(begin);
        response.end(end);
    });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
