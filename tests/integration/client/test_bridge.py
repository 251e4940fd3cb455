"""`zm mcp`: the protocol over standard input and output."""

import asyncio
import json
import subprocess
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.service import ZM, Service


def carry(lines: list[bytes], environment: dict[str, str]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [ZM, "mcp"],
        input=b"".join(line + b"\n" for line in lines),
        env=environment,
        capture_output=True,
        timeout=60,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def request(method: str, **params: Any) -> bytes:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return json.dumps(body, ensure_ascii=False).encode()


INITIALIZE = request(
    "initialize",
    protocolVersion="2025-11-25",
    capabilities={},
    clientInfo={"name": "test", "version": "1"},
)


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_the_official_client_works_through_it(service: Service, mode: str) -> None:
    async def converse() -> tuple[list[str], Any]:
        bridge = stdio_client(
            StdioServerParameters(command=str(ZM), args=["mcp"], env=service.environment)
        )
        async with Client(bridge, mode=mode) as client:  # pyright: ignore[reportArgumentType]
            listed = await client.list_tools()
            stored = await client.call_tool(
                "remember", {"content": f"Said over stdio: ö 橋 {mode}.", "scope": "personal"}
            )
            return [tool.name for tool in listed.tools], stored

    names, stored = asyncio.run(converse())

    assert "recall" in names
    assert not stored.is_error
    assert stored.structured_content["id"].startswith("mem_")


def test_a_session_of_2025_is_kept(service: Service) -> None:
    initialized, listed = carry([INITIALIZE, request("tools/list")], service.environment)

    assert initialized["result"]["protocolVersion"] == "2025-11-25"
    assert listed["result"]["tools"]


def test_notifications_and_empty_lines_get_no_answer(service: Service) -> None:
    notification = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'

    answers = carry([INITIALIZE, notification, b"", b"  ", request("ping")], service.environment)

    assert [answer["id"] for answer in answers] == [1, 1]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000 + b"]" * 100_000, -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', -32600),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_line_that_is_no_message_is_an_error_and_no_end(
    service: Service, line: bytes, code: int
) -> None:
    refused, pong = carry([line, request("ping")], service.environment)

    assert (refused["id"], refused["error"]["code"]) == (None, code)
    assert "result" in pong


def test_a_lone_surrogate_in_what_goes_into_headers_is_refused_in_words(service: Service) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28\ud800"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "\ud800", "params": {"_meta": meta}}

    refused, pong = carry([json.dumps(body).encode(), request("ping")], service.environment)

    assert (refused["id"], refused["error"]["code"]) == (1, -32600)
    assert "surrogate" in refused["error"]["message"]
    assert "result" in pong


@pytest.mark.parametrize(("sent", "told"), [('"\\ud800"', "\ud800"), ("NaN", None), ("[1]", None)])
def test_without_a_service_an_odd_id_gets_an_error_too(
    service: Service, tmp_path: Any, sent: str, told: str | None
) -> None:
    environment = {**service.environment, "ZM_DATA_DIR": str(tmp_path)}

    (answer,) = carry([f'{{"id": {sent}, "method": "ping"}}'.encode()], environment)

    assert answer["id"] == told


def test_without_a_service_each_request_gets_an_error(service: Service, tmp_path: Any) -> None:
    environment = {**service.environment, "ZM_DATA_DIR": str(tmp_path)}

    (answer,) = carry([INITIALIZE], environment)

    assert answer["id"] == 1
    assert "zm serve" in answer["error"]["message"]


def test_a_wrong_token_is_an_error_in_words(service: Service) -> None:
    environment = {
        **service.environment,
        "ZM_URL": service.ready["api_url"],
        "ZM_TOKEN": "zmt_wrong",
    }

    (answer,) = carry([INITIALIZE], environment)

    assert answer["id"] == 1
    assert "token" in answer["error"]["message"]
