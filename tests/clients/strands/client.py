# Strands Agents with Chat Completions: one turn, and the answer on standard output.
import json
import os

from mcp.client.stdio import StdioServerParameters, stdio_client
from strands import Agent
from strands.models.openai import OpenAIModel
from strands.tools.mcp import MCPClient


def client():
    if "MCP_URL" in os.environ:
        return MCPClient(url=os.environ["MCP_URL"])
    command, *args = json.loads(os.environ["MCP_COMMAND"])
    parameters = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    return MCPClient(lambda: stdio_client(parameters))


with client() as tools:
    options = {"base_url": os.environ["MODEL_URL"] + "/v1", "api_key": "none", "max_retries": 0}
    model = OpenAIModel(client_args=options, model_id="gpt-4.1")
    agent = Agent(model=model, tools=tools.list_tools_sync(), callback_handler=None)
    print(agent(os.environ["PROMPT"]))
