# Microsoft Agent Framework with Chat Completions: one turn, and the answer on standard output.
import asyncio
import json
import os

from agent_framework import Agent, MCPStdioTool, MCPStreamableHTTPTool
from agent_framework.openai import OpenAIChatCompletionClient


def tools():
    if "MCP_URL" in os.environ:
        return MCPStreamableHTTPTool(name="causeway", url=os.environ["MCP_URL"])
    command, *args = json.loads(os.environ["MCP_COMMAND"])
    return MCPStdioTool(name="causeway", command=command, args=args, env=dict(os.environ))


async def main():
    client = OpenAIChatCompletionClient("gpt-4.1", base_url=os.environ["MODEL_URL"] + "/v1", api_key="none")
    async with tools() as toolkit:
        print((await Agent(client, tools=toolkit).run(os.environ["PROMPT"])).text)


asyncio.run(main())
