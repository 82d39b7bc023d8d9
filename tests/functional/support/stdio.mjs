// A causeway on standard input and output, as a client sees it: lines of JSON both ways.
//
//     const client = startStdio({ plugin: "echo" });
//     const { result } = await client.ask("tools/list");
//     await client.end();
import assert from "node:assert/strict";
import { envelope, pluginFile } from "./mcp.mjs";
import { awakeMs, binary, Program } from "./programs.mjs";

export class StdioClient {
    constructor(args, options = {}) {
        this.program = new Program(binary, ["stdio", ...args], { name: "stdio", ...options });
        this.program.child.stdin.on("error", () => {});
        this.ids = 0;
    }

    get pid() {
        return this.program.pid;
    }

    // Whole lines that came, each parsed: anything that is no JSON fails here.
    get messages() {
        const lines = this.program.stdout.split("\n").slice(0, -1);
        return lines.map((line) => JSON.parse(line));
    }

    write(text) {
        this.program.child.stdin.write(text);
    }

    send(message) {
        this.write(`${JSON.stringify(message)}\n`);
    }

    notify(method, params) {
        this.send({ jsonrpc: "2.0", method, params });
    }

    // Send a request and leave it at that; its id.
    begin(method, params, id) {
        const own = id ?? `id-${(this.ids += 1)}`;
        this.send({ jsonrpc: "2.0", id: own, method, params });
        return own;
    }

    async until(check, what, timeoutMs) {
        let found;
        const look = () => (found = this.messages.find(check)) !== undefined;
        await this.program.until(look, what, timeoutMs);
        return found;
    }

    answer(id, timeoutMs) {
        const isAnswer = (one) => one.id === id && one.method === undefined;
        return this.until(isAnswer, `the answer to ${JSON.stringify(id)}`, timeoutMs);
    }

    ask(method, params) {
        return this.answer(this.begin(method, params));
    }

    modern(method, params = {}, meta = {}) {
        return this.ask(method, { ...params, _meta: envelope(meta) });
    }

    callTool(name, args = {}) {
        return this.ask("tools/call", { name, arguments: args });
    }

    async initialize(protocolVersion = "2025-11-25", capabilities = {}) {
        const clientInfo = { name: "test", version: "1" };
        const answer = await this.ask("initialize", { protocolVersion, capabilities, clientInfo });
        this.notify("notifications/initialized");
        return answer;
    }

    // Close its input and wait for its end: { ms }, without pauses of the whole machine.
    async end({ code = 0 } = {}) {
        const begin = awakeMs();
        this.program.child.stdin.end();
        const ended = await this.program.exited;
        this.program.assertNoReports();
        assert.deepEqual(ended, { code, signal: null }, this.program.stderr);
        return { ms: awakeMs() - begin };
    }
}

export const startStdio = ({ plugin = "echo", args, ...options } = {}) =>
    new StdioClient(args ?? ["--plugin", pluginFile(plugin)], options);
