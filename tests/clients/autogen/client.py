# AutoGen with Chat Completions: one turn, and the answer on standard output.
import asyncio
import json
import os

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ModelInfo
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams, StreamableHttpServerParams


def server():
    if "MCP_URL" in os.environ:
        return StreamableHttpServerParams(url=os.environ["MCP_URL"])
    command, *args = json.loads(os.environ["MCP_COMMAND"])
    return StdioServerParams(command=command, args=args, env=dict(os.environ))


async def main():
    info = ModelInfo(vision=False, function_calling=True, json_output=False, family="unknown", structured_output=False)
    url = os.environ["MODEL_URL"] + "/v1"
    model = OpenAIChatCompletionClient(model="gpt-4.1", base_url=url, api_key="none", model_info=info, max_retries=0)
    async with McpWorkbench(server()) as tools:
        agent = AssistantAgent("reader", model_client=model, workbench=tools, max_tool_iterations=5)
        print((await agent.run(task=os.environ["PROMPT"])).messages[-1].content)


asyncio.run(main())
