"""A small application to speak MCP to: its tools, its person, requests to it, and an HTTP server.

The conformance suite looks tools and resources up by name; those that it names are here too.
"""

import asyncio
import base64
import contextlib
import json
import os
import threading
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest
import uvicorn
from msgspec.structs import replace
from pydantic import Field

from tests.samples import REPOSITORY
from zero_memory.contracts.errors import conflict, not_found
from zero_memory.contracts.model import Arguments, Content, Result
from zero_memory.local.app import Application, Message, Receive, Send, application
from zero_memory.local.deployment import Function, Route
from zero_memory.mcp.resource import ResourceTemplate
from zero_memory.runtime.entry import Handler
from zero_memory.scopes.caller import Caller
from zero_memory.tools.services import Services
from zero_memory.tools.tool import Annotations, Tool

WORK = REPOSITORY / ".work"

SECRET = "do not show: ghp_shibboleth"
"""What a failing tool has in hand; it must come out nowhere."""

READS = Annotations(read_only=True, destructive=False, idempotent=True)
WRITES = Annotations(read_only=False, destructive=False, idempotent=False)


class Place(Arguments):
    shelf: str
    row: Annotated[int, Field(ge=1)] = 1


class NoteArguments(Arguments):
    text: Annotated[Content, Field(description="What to note.")]
    places: Annotated[list[Place], Field(max_length=3)] | None = None
    source: dict[str, Any] | None = None


class NoteResult(Result):
    text: str
    places: list[str]
    session: str | None
    client: str | None = None


class Nothing(Arguments):
    pass


class Said(Result):
    text: str


def note(_services: Services, caller: Caller, arguments: NoteArguments) -> NoteResult:
    return NoteResult(
        text=arguments.text,
        places=[f"{place.shelf}/{place.row}" for place in arguments.places or ()],
        session=caller.transport_session,
        client=caller.client,
    )


def fail(_services: Services, _caller: Caller, _arguments: Nothing) -> Said:
    raise RuntimeError(SECRET)


def refuse(_services: Services, _caller: Caller, _arguments: Nothing) -> Said:
    raise conflict("The state changed. Read again.", {"holder": "mem_1"})


def simple(_services: Services, _caller: Caller, _arguments: Nothing) -> Said:
    return Said(text="This is a simple text response for testing.")


def read_static(_services: Services, _caller: Caller, uri: str) -> Said:
    if uri != "test://static-text":
        raise not_found("There is no such text.")
    return Said(text="This is the content of the static text resource.")


def read_template(_services: Services, _caller: Caller, uri: str) -> Said:
    return Said(text=f"Data for {uri.removeprefix('test://template/').removesuffix('/data')}")


NOTE = Tool(
    name="note",
    title="Note",
    description="Notes a text.",
    input=NoteArguments,
    output=NoteResult,
    annotations=WRITES,
    grant="memory:write",
    needs=frozenset(),
    run=note,
)


def _plain(name: str, run: Callable[[Services, Caller, Nothing], Said]) -> Tool[Nothing, Said]:
    return Tool(
        name=name,
        title=name,
        description=f"Tests {name}.",
        input=Nothing,
        output=Said,
        annotations=READS,
        grant="memory:read",
        needs=frozenset(),
        run=run,
    )


FAIL = _plain("fail", fail)
TOOLS: tuple[Tool[Any, Any], ...] = (
    _plain("test_simple_text", simple),
    _plain("test_error_handling", refuse),
    _plain("test_logging_tool", simple),
    _plain("test_streaming_elicitation", simple),
    NOTE,
    FAIL,
    replace(_plain("admin_only", simple), grant="admin"),
)
RESOURCES = (
    ResourceTemplate(
        uri_template="test://static-{kind}",
        variable="[a-z]{1,16}",
        name="static",
        title="Static",
        description="A text that is always the same.",
        grant="memory:read",
        read=read_static,
    ),
    ResourceTemplate(
        uri_template="test://template/{id}/data",
        variable="[a-z0-9]{1,16}",
        name="template",
        title="Template",
        description="A text that holds the id.",
        grant="memory:read",
        read=read_template,
    ),
)


@dataclass(frozen=True)
class Answer:
    """A handler's answer, taken apart."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass(frozen=True)
class Client:
    """Calls a handler with the events that API Gateway would make."""

    handler: Handler
    token: str
    host: str = "127.0.0.1:8000"
    path: str = "/mcp"

    def send(
        self,
        body: bytes | str | object = b"",
        headers: Mapping[str, str | None] = {},
        method: str = "POST",
        path: str | None = None,
    ) -> Answer:
        """Send a body; a header of None is left out."""
        whole = {
            "host": self.host,
            "authorization": f"Bearer {self.token}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **{name.lower(): value for name, value in headers.items()},
        }
        if not isinstance(body, bytes):
            body = body if isinstance(body, str) else json.dumps(body)
            body = body.encode()
        event = http_event(method, path or self.path, whole, body)
        answer = self.handler(event, None)
        assert answer["isBase64Encoded"] is False
        return Answer(answer["statusCode"], answer["headers"], answer["body"])

    def rpc(
        self,
        revision: str,
        method: str,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] = {},
        request_id: int | str = 7,
    ) -> Answer:
        """Send a request as a well-behaved client of the revision does."""
        body: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}
        body["params"] = dict(params or {})
        sent: dict[str, str | None] = {"mcp-protocol-version": revision}
        if revision == "2026-07-28":
            body["params"].setdefault("_meta", META)
            sent["mcp-method"] = method
            name = body["params"].get("name", body["params"].get("uri"))
            if isinstance(name, str):
                sent["mcp-name"] = name
        return self.send(body, {**sent, **headers})


META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def http_event(
    method: str, path: str, headers: Mapping[str, str | None], body: bytes
) -> dict[str, Any]:
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": f"{method} {path}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {name: value for name, value in headers.items() if value is not None},
        "requestContext": {
            "http": {"method": method, "path": path, "sourceIp": "127.0.0.1"},
            "requestId": "req-1",
        },
        "isBase64Encoded": False,
    }
    try:
        event["body"] = body.decode()
    except UnicodeDecodeError:
        event["body"] = base64.b64encode(body).decode()
        event["isBase64Encoded"] = True
    return event


@dataclass
class HttpServer:
    """A running server: where it is, and the requests that it saw."""

    url: str
    seen: list[str] = field(default_factory=list[str])


@contextlib.contextmanager
def http_server(handler: Handler, token: str | None = None) -> Generator[HttpServer]:
    """Serve a handler at `/mcp` on a free port, as a machine does.

    With a token, requests that carry none are sent on with it: some test tools can send none.
    """
    function = Function("mcp", REPOSITORY, "handler", 512, 30)
    route = Route("ANY", "/mcp", function)
    with ThreadPoolExecutor(4) as executor:
        app = application((route,), lambda _function, event: handler(event, None), executor)
        served = HttpServer("")
        config = uvicorn.Config(
            _watched(app, served, token), host="127.0.0.1", port=0, log_level="error", ws="none"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the server did not start"
                thread.join(0.01)
            port = server.servers[0].sockets[0].getsockname()[1]
            served.url = f"http://127.0.0.1:{port}/mcp"
            yield served
        finally:
            server.should_exit = True
            thread.join()


def _watched(app: Application, served: HttpServer, token: str | None) -> Application:
    async def watch(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            served.seen.append(scope["method"])
            names = {name for name, _ in scope["headers"]}
            if token is not None and b"authorization" not in names:
                bearer = (b"authorization", f"Bearer {token}".encode())
                scope["headers"] = [*scope["headers"], bearer]
        await app(scope, receive, send)

    return watch


def require(path: Path) -> Path:
    """A test tool's place; without it the test is skipped, or fails in CI."""
    if not path.exists():
        message = f"{path.relative_to(REPOSITORY)} is missing: run tests/contract/mcp/install"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return path
