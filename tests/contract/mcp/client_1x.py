"""Drives a server through the official client 1.x, in that client's own environment.

Called with a URL and a token; prints what it saw as JSON.
"""

import asyncio
import json
import sys
from typing import Any

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def visit(url: str, token: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {token}"}
    # The environment that the types are checked in holds another major of this library.
    http: Any = httpx.AsyncClient(headers=headers)
    async with (
        http,
        streamable_http_client(url, http_client=http) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        opened: Any = await session.initialize()
        await session.send_ping()
        listed = await session.list_tools()
        noted: Any = await session.call_tool("note", {"text": "grün 🌱"})
        refused: Any = await session.call_tool("note", {"text": ""})
        resource: Any = await session.read_resource("test://static-text")
        return {
            "revision": opened.protocolVersion,
            "tools": [tool.name for tool in listed.tools],
            "noted": noted.structuredContent,
            "refused": json.loads(refused.content[0].text),
            "resource": resource.contents[0].text,
        }


sys.stdout.write(json.dumps(asyncio.run(visit(*sys.argv[1:3]))))
