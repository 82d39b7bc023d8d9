// mcp-use with Chat Completions: one turn, and the answer on standard output.
import { ChatOpenAI } from "@langchain/openai";
import { MCPAgent, MCPClient } from "mcp-use";

const { MCP_URL, MCP_COMMAND, MODEL_URL, PROMPT } = process.env;

function server() {
    if (MCP_URL) {
        return { url: MCP_URL };
    }
    const [command, ...args] = JSON.parse(MCP_COMMAND);
    return { command, args, env: process.env };
}

const client = MCPClient.fromDict({ mcpServers: { causeway: server() } });
const configuration = { baseURL: `${MODEL_URL}/v1` };
const llm = new ChatOpenAI({ model: "gpt-4.1", apiKey: "none", configuration, maxRetries: 0 });
const agent = new MCPAgent({ llm, client, maxSteps: 6 });
console.log(await agent.run({ prompt: PROMPT }));
await client.closeAllSessions();
process.exit(0);
