# Agno with Chat Completions: one turn, and the answer on standard output.
import asyncio
import json
import os
import shlex

from agno.agent import Agent
from agno.models.openai import OpenAIChat
from agno.tools.mcp import MCPTools


def tools():
    if "MCP_URL" in os.environ:
        return MCPTools(transport="streamable-http", url=os.environ["MCP_URL"])
    return MCPTools(command=shlex.join(json.loads(os.environ["MCP_COMMAND"])), env=dict(os.environ))


async def main():
    async with tools() as toolkit:
        model = OpenAIChat(id="gpt-4.1", base_url=os.environ["MODEL_URL"] + "/v1", api_key="none", max_retries=0)
        agent = Agent(model=model, tools=[toolkit], telemetry=False)
        print((await agent.arun(os.environ["PROMPT"])).content)


asyncio.run(main())
