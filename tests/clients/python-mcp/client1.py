# The Python SDK 1.x: one turn over HTTP ($MCP_URL) or stdio ($MCP_COMMAND), reported as one line of JSON.
import asyncio
import json
import os
import subprocess
from urllib.parse import parse_qs, urlsplit

from mcp import ClientSession, StdioServerParameters
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.shared.auth import OAuthClientMetadata


class Storage(TokenStorage):
    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Browser:
    async def open(self, url):
        command = json.loads(os.environ["LOGIN"]) + [url]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
        address = next(line for line in done.stdout.splitlines() if line.startswith("http"))
        self.answer = parse_qs(urlsplit(address).query)

    async def callback(self):
        return self.answer["code"][0], self.answer["state"][0]


class Metadata(OAuthClientMetadata):
    application_type: str = "native"


def login():
    if "LOGIN" not in os.environ:
        return None
    metadata = Metadata(
        client_name="client", redirect_uris=["http://127.0.0.1:9/callback"], token_endpoint_auth_method="none"
    )
    browser = Browser()
    return OAuthClientProvider(os.environ["MCP_URL"], metadata, Storage(), browser.open, browser.callback)


def connect():
    if "MCP_URL" in os.environ:
        return streamablehttp_client(os.environ["MCP_URL"], auth=login())
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
        if "LATER" in os.environ:
            # A tool that needs a login, in a session that began without one.
            later = next(one for one in names if one.endswith(os.environ["LATER"]))
            texts["later"] = await session.call_tool(later, {})
        report = {key: value.content[0].text for key, value in texts.items()}
        print(json.dumps({"tools": names, "unknown": unknown, **report}))


asyncio.run(main())
