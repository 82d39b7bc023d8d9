// LangChain for JavaScript with Chat Completions: one turn, and the answer on standard output.
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";

const { MCP_URL, MCP_COMMAND, MODEL_URL, PROMPT } = process.env;

function connection() {
    if (MCP_URL) {
        return { transport: "http", url: MCP_URL };
    }
    const [command, ...args] = JSON.parse(MCP_COMMAND);
    return { transport: "stdio", command, args, env: process.env };
}

const client = new MultiServerMCPClient({ mcpServers: { causeway: connection() } });
const configuration = { baseURL: `${MODEL_URL}/v1` };
const model = new ChatOpenAI({ model: "gpt-4.1", apiKey: "none", configuration, maxRetries: 0 });
const agent = createAgent({ model, tools: await client.getTools() });
const { messages } = await agent.invoke({ messages: [{ role: "user", content: PROMPT }] });
console.log(messages.at(-1).content);
await client.close();
