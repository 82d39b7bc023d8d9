// Vercel AI SDK 6 with the Responses API: one turn, and the answer on standard output.
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as StdioTransport } from "@ai-sdk/mcp/mcp-stdio";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs } from "ai";

const { MCP_URL, MCP_COMMAND, MODEL_URL, PROMPT } = process.env;

function transport() {
    if (MCP_URL) {
        return { type: "http", url: MCP_URL };
    }
    const [command, ...args] = JSON.parse(MCP_COMMAND);
    return new StdioTransport({ command, args, env: process.env });
}

const client = await createMCPClient({ transport: transport() });
const openai = createOpenAI({ baseURL: `${MODEL_URL}/v1`, apiKey: "none" });
const tools = await client.tools();
const options = { model: openai("gpt-4.1"), tools, stopWhen: stepCountIs(6), maxRetries: 0, prompt: PROMPT };
console.log((await generateText(options)).text);
await client.close();
