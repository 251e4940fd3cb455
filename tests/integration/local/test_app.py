"""The application around the handlers: routes, limits, failures."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from zero_memory.local.app import application
from zero_memory.local.deployment import Function, Route
from zero_memory.local.functions import Invoke
from zero_memory.mcp.http import MAX_BODY_BYTES

ROUTES = (
    Route("POST", "/tools/echo", Function("echo", Path("app.py"), "handler", 512, 10)),
    Route("ANY", "/mcp", Function("mcp", Path("app.py"), "handler", 512, 10)),
)


def ask(invoke: Invoke, method: str, path: str, content: bytes = b"") -> httpx.Response:
    async def one() -> httpx.Response:
        with ThreadPoolExecutor(1) as executor:
            transport = httpx.ASGITransport(app=application(ROUTES, invoke, executor))  # pyright: ignore[reportArgumentType]
            async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
                return await client.request(method, path, content=content)

    return asyncio.run(one())


def never(function: Function, event: dict[str, Any]) -> Any:
    raise AssertionError("not to be called")


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/tools/echo"), ("POST", "/tools/other"), ("POST", "/")]
)
def test_what_the_template_does_not_route_is_not_found_as_in_the_cloud(
    method: str, path: str
) -> None:
    answer = ask(never, method, path)

    assert (answer.status_code, answer.json()) == (404, {"message": "Not Found"})


def test_handlers_run_outside_of_the_loop_with_the_function_that_the_route_names() -> None:
    seen: list[tuple[str, str]] = []

    def invoke(function: Function, event: dict[str, Any]) -> Any:
        seen.append((function.name, threading.current_thread().name))
        return {"statusCode": 204}

    assert ask(invoke, "HEAD", "/mcp").status_code == 204
    assert [name for name, _ in seen] == ["mcp"]
    assert seen[0][1] != threading.main_thread().name


def test_of_a_body_of_10_mb_the_handler_sees_one_byte_more_than_it_takes() -> None:
    lengths: list[int] = []

    def invoke(function: Function, event: dict[str, Any]) -> Any:
        lengths.append(len(event["body"]) * 3 // 4)
        return {"statusCode": 400}

    assert ask(invoke, "POST", "/tools/echo", b"\xff" * 10_000_000).status_code == 400
    assert lengths[0] - (MAX_BODY_BYTES + 1) in range(3)  # base64 rounds up


def test_what_a_handler_lets_through_is_a_500_that_says_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def invoke(function: Function, event: dict[str, Any]) -> Any:
        raise ValueError("what a person wrote")

    answer = ask(invoke, "POST", "/tools/echo")

    assert (answer.status_code, answer.json()) == (500, {"message": "Internal Server Error"})
    assert "ValueError" in caplog.text
    assert "what a person wrote" not in caplog.text.replace('raise ValueError("what', "")
