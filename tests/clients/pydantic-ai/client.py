# Pydantic AI with Chat Completions: one turn, and the answer on standard output.
import asyncio
import json
import os

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


def server():
    if "MCP_URL" in os.environ:
        return os.environ["MCP_URL"]
    command, *args = json.loads(os.environ["MCP_COMMAND"])
    return StdioTransport(command=command, args=args, env=dict(os.environ))


async def main():
    provider = OpenAIProvider(base_url=os.environ["MODEL_URL"] + "/v1", api_key="none")
    agent = Agent(OpenAIChatModel("gpt-4.1", provider=provider), toolsets=[MCPToolset(server())])
    async with agent:
        print((await agent.run(os.environ["PROMPT"])).output)


asyncio.run(main())
