# LlamaIndex with Chat Completions: one turn, and the answer on standard output.
import asyncio
import json
import os

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec


def client():
    if "MCP_URL" in os.environ:
        return BasicMCPClient(os.environ["MCP_URL"])
    command, *args = json.loads(os.environ["MCP_COMMAND"])
    return BasicMCPClient(command, args=args, env=dict(os.environ))


async def main():
    tools = await McpToolSpec(client=client()).to_tool_list_async()
    model = OpenAILike(
        model="gpt-4.1",
        api_base=os.environ["MODEL_URL"] + "/v1",
        api_key="none",
        is_chat_model=True,
        is_function_calling_model=True,
        max_retries=0,
    )
    print(await FunctionAgent(tools=tools, llm=model).run(os.environ["PROMPT"]))


asyncio.run(main())
