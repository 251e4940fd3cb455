"""The ASGI application: HTTP in, the template's functions behind it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import Executor
from typing import Any

from zero_memory.local.deployment import Route
from zero_memory.local.functions import Invoke, without_message
from zero_memory.local.gateway import (
    NOT_FOUND,
    SERVER_ERROR,
    HttpAnswer,
    HttpRequest,
    find_route,
    http_answer,
    http_event,
)
from zero_memory.mcp.http import MAX_BODY_BYTES

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

# One byte past what handlers take, so that they see that a body is too long, and say so.
KEPT_BODY_BYTES = MAX_BODY_BYTES + 1
# Read and dropped, since most clients read no answer before their whole body is sent.
DRAINED_BODY_BYTES = 64 * 1024 * 1024

_logger = logging.getLogger(__name__)


class _ClientGone(Exception):
    """The client hung up before its request was complete."""


def application(routes: tuple[Route, ...], invoke: Invoke, executor: Executor) -> Application:
    """Serve `routes`; handlers run in `executor`, so that none holds up another."""

    async def serve(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotImplementedError(f"no {scope['type']} here")
        route = find_route(routes, scope["method"], scope["path"])
        try:
            body = await _read(receive)
        except _ClientGone:
            return
        if route is None:
            await _send(send, NOT_FOUND)
            return
        request = _request(scope, body)
        loop = asyncio.get_running_loop()
        await _send(send, await loop.run_in_executor(executor, _answer, route, request, invoke))

    return serve


def _answer(route: Route, request: HttpRequest, invoke: Invoke) -> HttpAnswer:
    event = http_event(request, route)
    try:
        return http_answer(invoke(route.function, event))
    except Exception as error:  # noqa: BLE001 - what a handler lets through is a 500, as in the cloud
        _logger.error("%s failed: %s", route.function.name, without_message(error))  # noqa: TRY400
        return SERVER_ERROR


async def _read(receive: Receive) -> bytes:
    """The body's first KEPT_BODY_BYTES; of the rest nothing is held."""
    kept = bytearray()
    seen = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _ClientGone
        chunk: bytes = message.get("body", b"")
        seen += len(chunk)
        kept += chunk[: KEPT_BODY_BYTES - len(kept)]
        if not message.get("more_body", False) or seen > DRAINED_BODY_BYTES:
            return bytes(kept)


def _request(scope: Message, body: bytes) -> HttpRequest:
    client = scope.get("client")
    return HttpRequest(
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"].decode("latin-1"),
        headers=tuple(scope["headers"]),
        body=body,
        protocol=f"HTTP/{scope['http_version']}",
        source_ip=client[0] if client else "",
    )


async def _send(send: Send, answer: HttpAnswer) -> None:
    headers = [
        *((name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers),
        (b"content-length", str(len(answer.body)).encode()),
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
