# Google's Agent Development Kit with the Gemini API: one turn, and the answer on standard output.
import asyncio
import json
import os

os.environ["GOOGLE_GEMINI_BASE_URL"] = os.environ["MODEL_URL"]
os.environ["GOOGLE_API_KEY"] = "none"

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams, StreamableHTTPConnectionParams
from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
from google.genai import types
from mcp import StdioServerParameters


def connection():
    if "MCP_URL" in os.environ:
        return StreamableHTTPConnectionParams(url=os.environ["MCP_URL"])
    command, *args = json.loads(os.environ["MCP_COMMAND"])
    parameters = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    return StdioConnectionParams(server_params=parameters, timeout=30)


async def main():
    tools = McpToolset(connection_params=connection())
    runner = InMemoryRunner(agent=LlmAgent(name="reader", model="gemini-2.5-flash", tools=[tools]), app_name="reader")
    session = await runner.session_service.create_session(app_name="reader", user_id="user")
    message = types.Content(role="user", parts=[types.Part(text=os.environ["PROMPT"])])
    async for event in runner.run_async(user_id="user", session_id=session.id, new_message=message):
        for part in event.content.parts if event.content and event.content.parts else []:
            print(part.text or "")
    await tools.close()


asyncio.run(main())
