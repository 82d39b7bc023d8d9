# Semantic Kernel with Chat Completions: one turn, and the answer on standard output.
import asyncio
import json
import os

from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.connectors.mcp import MCPStdioPlugin, MCPStreamableHttpPlugin


def plugin():
    if "MCP_URL" in os.environ:
        return MCPStreamableHttpPlugin(name="causeway", url=os.environ["MCP_URL"])
    command, *args = json.loads(os.environ["MCP_COMMAND"])
    return MCPStdioPlugin(name="causeway", command=command, args=args, env=dict(os.environ))


async def main():
    client = AsyncOpenAI(base_url=os.environ["MODEL_URL"] + "/v1", api_key="none", max_retries=0)
    service = OpenAIChatCompletion(ai_model_id="gpt-4.1", async_client=client)
    async with plugin() as tools:
        agent = ChatCompletionAgent(service=service, name="reader", plugins=[tools])
        print(await agent.get_response(messages=os.environ["PROMPT"]))


asyncio.run(main())
