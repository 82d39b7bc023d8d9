// OpenAI Agents SDK for JavaScript with Chat Completions: one turn, and the answer on standard output.
import {
    Agent,
    MCPServerStdio,
    MCPServerStreamableHttp,
    OpenAIChatCompletionsModel,
    run,
    setTracingDisabled,
} from "@openai/agents";
import OpenAI from "openai";

const { MCP_URL, MCP_COMMAND, MODEL_URL, PROMPT } = process.env;

function makeServer() {
    if (MCP_URL) {
        return new MCPServerStreamableHttp({ url: MCP_URL, name: "causeway" });
    }
    const [command, ...args] = JSON.parse(MCP_COMMAND);
    return new MCPServerStdio({ name: "causeway", command, args, env: process.env });
}

setTracingDisabled(true);
const server = makeServer();
await server.connect();
const openai = new OpenAI({ baseURL: `${MODEL_URL}/v1`, apiKey: "none", maxRetries: 0 });
const model = new OpenAIChatCompletionsModel(openai, "gpt-4.1");
const agent = new Agent({ name: "reader", model, mcpServers: [server] });
console.log((await run(agent, PROMPT)).finalOutput);
await server.close();
