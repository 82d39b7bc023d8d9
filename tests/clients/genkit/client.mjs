// Genkit with the Gemini API: one turn, and the answer on standard output.
import { googleAI } from "@genkit-ai/google-genai";
import { createMcpHost } from "@genkit-ai/mcp";
import { genkit } from "genkit";

const { MCP_URL, MCP_COMMAND, MODEL_URL, PROMPT } = process.env;

function server() {
    if (MCP_URL) {
        return { url: MCP_URL };
    }
    const [command, ...args] = JSON.parse(MCP_COMMAND);
    return { command, args, env: process.env };
}

const host = createMcpHost({ name: "reader", mcpServers: { causeway: server() } });
const ai = genkit({ plugins: [googleAI({ apiKey: "none", baseUrl: MODEL_URL })] });
const tools = await host.getActiveTools(ai);
const { text } = await ai.generate({ model: googleAI.model("gemini-2.5-flash"), prompt: PROMPT, tools });
console.log(text);
await host.close();
process.exit(0);
