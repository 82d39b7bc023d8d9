# The Python SDK 2.x: one turn over HTTP ($MCP_URL) or stdio ($MCP_COMMAND), reported as one line of JSON.
import asyncio
import json
import os

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

MODES = {"legacy": "legacy", "modern": "2026-07-28", "auto": "auto"}


def server():
    if "MCP_URL" in os.environ:
        return os.environ["MCP_URL"]
    command, *args = json.loads(os.environ["MCP_COMMAND"])
    return stdio_client(StdioServerParameters(command=command, args=args, env=dict(os.environ)))


async def main():
    async with Client(server(), mode=MODES[os.environ["ERA"]]) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        name = next(one for one in names if one.endswith("toMarkdown"))
        result = await client.call_tool(name, {"nid": 1})
        error = await client.call_tool(name, {"nid": 99999})
        assert error.is_error
        try:
            await client.call_tool("nothing", {})
            unknown = ""
        except Exception as problem:
            unknown = str(problem)
        again = await client.call_tool(name, {"nid": 1})
        texts = {"result": result, "error": error, "again": again}
        report = {key: value.content[0].text for key, value in texts.items()}
        print(json.dumps({"tools": names, "unknown": unknown, **report}))


asyncio.run(main())
