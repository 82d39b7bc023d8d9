# CrewAI with Chat Completions: one turn, and the answer on standard output.
import json
import os

os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"
os.environ["CREWAI_TRACING_ENABLED"] = "false"

from crewai import LLM, Agent, Crew, Task
from crewai_tools import MCPServerAdapter
from mcp import StdioServerParameters


def server():
    if "MCP_URL" in os.environ:
        return {"url": os.environ["MCP_URL"], "transport": "streamable-http"}
    command, *args = json.loads(os.environ["MCP_COMMAND"])
    return StdioServerParameters(command=command, args=args, env=dict(os.environ))


with MCPServerAdapter(server()) as tools:
    model = LLM(model="openai/gpt-4.1", base_url=os.environ["MODEL_URL"] + "/v1", api_key="none", max_retries=0)
    agent = Agent(role="reader", goal="read articles", backstory="none", tools=tools, llm=model)
    task = Task(description=os.environ["PROMPT"], expected_output="a report", agent=agent)
    print(Crew(agents=[agent], tasks=[task]).kickoff().raw)
