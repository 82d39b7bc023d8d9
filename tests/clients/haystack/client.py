# Haystack with Chat Completions: one turn, and the answer on standard output.
import json
import os

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret
from haystack_integrations.tools.mcp import MCPToolset, StdioServerInfo, StreamableHttpServerInfo


def server():
    if "MCP_URL" in os.environ:
        return StreamableHttpServerInfo(url=os.environ["MCP_URL"])
    command, *args = json.loads(os.environ["MCP_COMMAND"])
    return StdioServerInfo(command=command, args=args, env=dict(os.environ))


tools = MCPToolset(server_info=server(), eager_connect=True)
generator = OpenAIChatGenerator(
    model="gpt-4.1",
    api_base_url=os.environ["MODEL_URL"] + "/v1",
    api_key=Secret.from_token("none"),
    max_retries=0,
)
agent = Agent(chat_generator=generator, tools=tools)
print(agent.run(messages=[ChatMessage.from_user(os.environ["PROMPT"])])["messages"][-1].text)
tools.close()
