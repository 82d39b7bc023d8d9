// LlamaIndex for JavaScript with Chat Completions: one turn, and the answer on standard output.
import { OpenAI } from "@llamaindex/openai";
import { mcp } from "@llamaindex/tools";
import { agent } from "@llamaindex/workflow";

const { MCP_URL, MCP_COMMAND, MODEL_URL, PROMPT } = process.env;

function connection() {
    if (MCP_URL) {
        return { url: MCP_URL };
    }
    const [command, ...args] = JSON.parse(MCP_COMMAND);
    return { command, args, env: process.env };
}

const client = mcp(connection());
const llm = new OpenAI({ model: "gpt-4.1", apiKey: "none", baseURL: `${MODEL_URL}/v1`, maxRetries: 0 });
const { data } = await agent({ tools: await client.tools(), llm }).run(PROMPT);
console.log(data.result);
await client.cleanup();
