// Ports for programs that cannot choose one themselves.
import { readFileSync } from "node:fs";
import net from "node:net";

// Ports from here on are given to those who ask for any, such as tests that run at the same time.
const [ephemeral] = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8").split(/\s/).map(Number);
const lowest = 10_240;

const isFree = (port) =>
    new Promise((resolve) => {
        const server = net.createServer();
        server.once("error", () => resolve(false));
        server.listen({ port, host: "127.0.0.1" }, () => server.close(() => resolve(true)));
    });

// A port that no program listens on. The kernel gives it to no other program, so it stays free until it
// is used.
export async function freePort() {
    for (;;) {
        const port = lowest + Math.floor(Math.random() * (ephemeral - lowest));
        if (await isFree(port)) {
            return port;
        }
    }
}
