"""`zm mcp`: MCP over stdio, for clients that speak only that.

Each line that comes in is a JSON-RPC message; it goes to the service's MCP endpoint as it is, and
its answer comes out as one line. The service is looked up for every message, so it may start later
than the client, or move.
"""

import base64
import json
import sys
from collections.abc import Sequence

from zero_memory.client.api import as_object, failure_of, json_object, post
from zero_memory.client.connection import Connection, find_connection
from zero_memory.client.failure import USAGE, Failure
from zero_memory.client.wire import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600
_INTERNAL_ERROR = -32603

_META_VERSION = "io.modelcontextprotocol/protocolVersion"
_NAMED_BY = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}


def main(arguments: Sequence[str]) -> int:
    """Carry messages until standard input ends."""
    if arguments:
        print("usage: zm mcp\n\nMCP over stdio; it takes no arguments.", file=sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else USAGE
    bridge = Bridge()
    for line in sys.stdin.buffer:
        if line.strip():
            answer = bridge.carry(line)
            if answer is not None:
                sys.stdout.buffer.write(answer + b"\n")
                sys.stdout.buffer.flush()
    return 0


class Bridge:
    """What a 2025 revision's connection remembers: the version agreed on, and the session."""

    def __init__(self) -> None:
        self._version: str | None = None
        self._session: str | None = None

    def carry(self, line: bytes) -> bytes | None:
        """The answer to one message, on one line; None when there is none to give."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _error(None, _PARSE_ERROR, "The line is not valid JSON.")
        message = as_object(message)
        if message is None:
            return _error(None, _INVALID_REQUEST, "A message is one JSON object.")
        request_id = _id(message)
        expects = "id" in message and "method" in message
        try:
            connection = find_connection()
            answer = post(connection, "/mcp", line.strip(), self._headers(message))
        except Failure as failure:
            print(f"zm: {failure}", file=sys.stderr)
            return _error(request_id, _INTERNAL_ERROR, str(failure)) if expects else None
        self._remember(message, answer)
        return _reply(request_id, answer, connection) if expects else None

    def _headers(self, message: "dict[str, Any]") -> dict[str, str]:
        """What the message says, repeated in headers, as its revision asks."""
        headers = {"accept": "application/json, text/event-stream"}
        method = message.get("method")
        params = as_object(message.get("params")) or {}
        stated = (as_object(params.get("_meta")) or {}).get(_META_VERSION)
        if isinstance(stated, str) and isinstance(method, str):
            headers["mcp-protocol-version"] = _header(stated)
            headers["mcp-method"] = _header(method)
            name = params.get(_NAMED_BY.get(method, ""))
            if isinstance(name, str):
                headers["mcp-name"] = _header(name)
        elif method != "initialize":
            if self._version is not None:
                headers["mcp-protocol-version"] = self._version
            if self._session is not None:
                headers["mcp-session-id"] = self._session
        return headers

    def _remember(self, message: "dict[str, Any]", answer: Answer) -> None:
        if message.get("method") != "initialize":
            return
        result = as_object((json_object(answer.body) or {}).get("result"))
        if result is not None:
            self._version = result.get("protocolVersion")
            self._session = answer.headers.get("mcp-session-id")


def _id(message: "dict[str, Any]") -> "str | int | None":
    """The id that an answer repeats; None where it is none."""
    value = message.get("id")
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def _reply(request_id: "str | int | None", answer: Answer, connection: Connection) -> bytes:
    value = json_object(answer.body)
    if value is not None and "jsonrpc" in value:
        return _line(value)
    return _error(request_id, _INTERNAL_ERROR, str(failure_of(connection, answer)))


def _header(value: str) -> str:
    """A value as a header can carry it: as it is, or in base64 between marks."""
    plain = value.isascii() and value.isprintable() and value == value.strip()
    if plain and not value.startswith("=?base64?"):
        return value
    # A lone surrogate goes as it came: the service refuses it in the body, in words.
    encoded = base64.b64encode(value.encode(errors="surrogatepass")).decode("ascii")
    return f"=?base64?{encoded}?="


def _error(request_id: "str | int | None", code: int, message: str) -> bytes:
    error = {"code": code, "message": message}
    return _line({"jsonrpc": "2.0", "id": request_id, "error": error})


def _line(message: "dict[str, Any]") -> bytes:
    """One line of ASCII, which no client can read wrongly, whatever stands in it."""
    return json.dumps(message, separators=(",", ":")).encode("ascii")
