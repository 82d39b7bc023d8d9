# LangChain with the Anthropic API: one turn, and the answer on standard output.
import asyncio
import json
import os

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_mcp_adapters.client import MultiServerMCPClient


def connection():
    if "MCP_URL" in os.environ:
        return {"transport": "streamable_http", "url": os.environ["MCP_URL"]}
    command, *args = json.loads(os.environ["MCP_COMMAND"])
    return {"transport": "stdio", "command": command, "args": args, "env": dict(os.environ)}


async def main():
    tools = await MultiServerMCPClient({"causeway": connection()}).get_tools()
    model = ChatAnthropic(model="claude-sonnet-4-5", base_url=os.environ["MODEL_URL"], api_key="none", max_retries=0)
    agent = create_agent(model, tools)
    state = await agent.ainvoke({"messages": [{"role": "user", "content": os.environ["PROMPT"]}]})
    print(state["messages"][-1].content)


asyncio.run(main())
