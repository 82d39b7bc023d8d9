import http from "node:http";
import path from "node:path";
import { callFile, pluginFolder, startConfigured } from "../bridge/bridge.mjs";
import { build } from "../http/servers.mjs";
import { paced, roles } from "./healthy.mjs";
import { ask, flood } from "./hostile.mjs";

export const name = "hosts";
export const about = `8 connections ask for /jsonrpc/methods of 1,000 methods, compressed, each time
    with another port in Host; the healthy client calls a method of a plugin.`;
export const least = { 200: 20 };

export async function start() {
    const many = path.join(build, "bench", "catalogue", "many0.so");
    const echo = path.join(build, "tests", "plugins", "echo.so");
    const plugins = { directory: pluginFolder(echo, many), load_timeout: "60s" };
    const server = await startConfigured({ plugins, roles });
    await server.said(/catalogue published tools=1\d{4} /);
    return {
        server,
        healthy: paced({ file: callFile("test.echo") }),
        attack: {},
        stop: () => server.stop(),
    };
}

export async function attack({ address, from, ready, count }) {
    const agent = new http.Agent({ keepAlive: true });
    let port = 0;
    ready();
    await flood(8, count, () => {
        port = (port % 65_535) + 1;
        const headers = { Host: `localhost:${port}`, "Accept-Encoding": "gzip" };
        return ask(address, from, { agent, path: "/jsonrpc/methods", headers });
    });
}
