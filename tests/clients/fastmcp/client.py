# The client of FastMCP 3 and 4: one turn over HTTP ($MCP_URL) or stdio ($MCP_COMMAND), reported as one line of JSON.
import asyncio
import json
import os

from fastmcp import Client
from fastmcp.client.auth import OAuth
from fastmcp.client.transports import StdioTransport


def server():
    if "MCP_URL" in os.environ:
        return os.environ["MCP_URL"]
    command, *args = json.loads(os.environ["MCP_COMMAND"])
    return StdioTransport(command=command, args=args, env=dict(os.environ))


async def failure(client, name, arguments):
    try:
        await client.call_tool(name, arguments)
        return ""
    except Exception as problem:
        return str(problem)


async def main():
    era = os.environ["ERA"]
    options = {"mode": {"legacy": "legacy", "modern": "2026-07-28"}[era]} if era else {}
    if "LOGIN" in os.environ:
        # webbrowser starts the program that $BROWSER names.
        os.environ["BROWSER"] = " ".join(json.loads(os.environ["LOGIN"])) + " %s &"
        native = {"application_type": "native", "token_endpoint_auth_method": "none"}
        options["auth"] = OAuth(callback_host="127.0.0.1", callback_timeout=30, additional_client_metadata=native)
    async with Client(server(), **options) as client:
        names = [tool.name for tool in await client.list_tools()]
        name = next(one for one in names if one.endswith("toMarkdown"))
        result = await client.call_tool(name, {"nid": 1})
        error = await failure(client, name, {"nid": 99999})
        unknown = await failure(client, "nothing", {})
        again = await client.call_tool(name, {"nid": 1})
        articles = await client.call_tool(next(one for one in names if one.endswith("articles__list")), {})
        report = {
            "tools": names,
            "result": result.content[0].text,
            "error": error,
            "unknown": unknown,
            "again": again.content[0].text,
            # The list itself, although the older revisions have it in an object.
            "unwrapped": articles.data,
        }
        if "LATER" in os.environ:
            # A tool that needs a login, in a session that began without one.
            later = next(one for one in names if one.endswith(os.environ["LATER"]))
            report["later"] = (await client.call_tool(later, {})).content[0].text
        print(json.dumps(report, default=vars))


asyncio.run(main())
