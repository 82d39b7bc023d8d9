# The Python SDK 1.x: one turn over HTTP ($MCP_URL) or stdio ($MCP_COMMAND), reported as one line of JSON.
import asyncio
import json
import os

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


def connect():
    if "MCP_URL" in os.environ:
        return streamablehttp_client(os.environ["MCP_URL"])
    command, *args = json.loads(os.environ["MCP_COMMAND"])
    return stdio_client(StdioServerParameters(command=command, args=args, env=dict(os.environ)))


async def main():
    async with connect() as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        names = [tool.name for tool in (await session.list_tools()).tools]
        name = next(one for one in names if one.endswith("toMarkdown"))
        result = await session.call_tool(name, {"nid": 1})
        error = await session.call_tool(name, {"nid": 99999})
        assert error.isError
        try:
            await session.call_tool("nothing", {})
            unknown = ""
        except Exception as problem:
            unknown = str(problem)
        again = await session.call_tool(name, {"nid": 1})
        texts = {"result": result, "error": error, "again": again}
        report = {key: value.content[0].text for key, value in texts.items()}
        print(json.dumps({"tools": names, "unknown": unknown, **report}))


asyncio.run(main())
