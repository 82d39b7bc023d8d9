# smolagents with Chat Completions: one turn, and the answer on standard output.
import json
import os

from mcp import StdioServerParameters
from smolagents import MCPClient, OpenAIModel, ToolCallingAgent


def server():
    if "MCP_URL" in os.environ:
        return {"url": os.environ["MCP_URL"], "transport": "streamable-http"}
    command, *args = json.loads(os.environ["MCP_COMMAND"])
    return StdioServerParameters(command=command, args=args, env=dict(os.environ))


with MCPClient(server(), structured_output=False) as tools:
    model = OpenAIModel(model_id="gpt-4.1", api_base=os.environ["MODEL_URL"] + "/v1", api_key="none")
    print(ToolCallingAgent(tools=tools, model=model, max_steps=6).run(os.environ["PROMPT"]))
