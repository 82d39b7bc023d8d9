// Mastra with Chat Completions: one turn, and the answer on standard output.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent } from "@mastra/core/agent";
import { MCPClient } from "@mastra/mcp";

const { MCP_URL, MCP_COMMAND, MODEL_URL, PROMPT } = process.env;

function server() {
    if (MCP_URL) {
        return { url: new URL(MCP_URL) };
    }
    const [command, ...args] = JSON.parse(MCP_COMMAND);
    return { command, args, env: process.env };
}

const client = new MCPClient({ servers: { causeway: server() } });
const provider = createOpenAICompatible({ name: "fake", baseURL: `${MODEL_URL}/v1`, apiKey: "none" });
const agent = new Agent({
    id: "reader",
    name: "reader",
    instructions: "Read articles.",
    model: provider("gpt-4.1"),
    tools: await client.listTools(),
});
console.log((await agent.generate(PROMPT, { maxSteps: 6 })).text);
await client.disconnect();
process.exit(0);
