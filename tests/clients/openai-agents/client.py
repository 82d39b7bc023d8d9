# OpenAI Agents SDK with the Responses API: one turn, and the answer on standard output.
import asyncio
import json
import os

from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai import AsyncOpenAI


def server():
    if "MCP_URL" in os.environ:
        return MCPServerStreamableHttp(params={"url": os.environ["MCP_URL"]})
    command, *args = json.loads(os.environ["MCP_COMMAND"])
    return MCPServerStdio(params={"command": command, "args": args, "env": dict(os.environ)})


async def main():
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=os.environ["MODEL_URL"] + "/v1", api_key="none", max_retries=0)
    async with server() as tools:
        model = OpenAIResponsesModel(model="gpt-4.1", openai_client=client)
        agent = Agent(name="reader", model=model, mcp_servers=[tools])
        print((await Runner.run(agent, os.environ["PROMPT"])).final_output)


asyncio.run(main())
