# The Python SDK 2.x: one turn over HTTP ($MCP_URL) or stdio ($MCP_COMMAND), reported as one line of JSON.
import asyncio
import json
import os
import subprocess
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

MODES = {"legacy": "legacy", "modern": "2026-07-28", "auto": "auto"}


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
        self.answer = {key: values[0] for key, values in parse_qs(urlsplit(address).query).items()}

    async def callback(self):
        return AuthorizationCodeResult(**self.answer)


def login():
    metadata = OAuthClientMetadata(
        client_name="client", redirect_uris=["http://127.0.0.1:9/callback"], token_endpoint_auth_method="none"
    )
    browser = Browser()
    auth = OAuthClientProvider(os.environ["MCP_URL"], metadata, Storage(), browser.open, browser.callback)
    return streamable_http_client(os.environ["MCP_URL"], http_client=httpx2.AsyncClient(auth=auth, timeout=30))


def server():
    if "LOGIN" in os.environ:
        return login()
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
        if "LATER" in os.environ:
            # A tool that needs a login, in a session that began without one.
            later = next(one for one in names if one.endswith(os.environ["LATER"]))
            texts["later"] = await client.call_tool(later, {})
        report = {key: value.content[0].text for key, value in texts.items()}
        print(json.dumps({"tools": names, "unknown": unknown, **report}))


asyncio.run(main())
