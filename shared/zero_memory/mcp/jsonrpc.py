"""JSON-RPC 2.0 as MCP uses it: one request or notification a body, never a batch."""

from typing import Any, cast

from msgspec import Struct

from zero_memory.mcp.http import UnreadableBodyError, has_lone_surrogate, read_json

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
UNSUPPORTED_PROTOCOL_VERSION = -32022
RESOURCE_NOT_FOUND_2025 = -32002
"""The 2025 revisions' code; 2026-07-28 says INVALID_PARAMS instead."""

RequestId = str | int


class Message(Struct, frozen=True):
    """A request, or a notification when `id` is None."""

    method: str
    params: dict[str, Any]
    id: RequestId | None


class ProtocolError(Exception):
    """A message that gets a JSON-RPC error, under the id that could be read from it.

    The text is for a person; `data` goes to the client with it.
    """

    def __init__(self, code: int, message: str, *, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.id: RequestId | None = None


def read_message(body: bytes) -> Message:
    """The one message in a body; raises ProtocolError, with the message's id where it has one."""
    try:
        value = read_json(body)
    except UnreadableBodyError as error:
        raise ProtocolError(PARSE_ERROR, str(error)) from error
    if isinstance(value, list):
        raise ProtocolError(INVALID_REQUEST, "Batches are not part of MCP: send one message.")
    if not isinstance(value, dict):
        raise ProtocolError(INVALID_REQUEST, "The body must be one JSON-RPC message, an object.")
    fields = cast("dict[str, Any]", value)
    request_id = _readable_id(fields.get("id"))
    try:
        return _message(fields, request_id)
    except ProtocolError as error:
        error.id = request_id
        raise


def _message(fields: dict[str, Any], request_id: RequestId | None) -> Message:
    if fields.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, 'Every message carries "jsonrpc": "2.0".')
    if "id" in fields and request_id is None:
        raise ProtocolError(INVALID_REQUEST, "A request's id must be a string or an integer.")
    method = fields.get("method")
    if not isinstance(method, str):
        raise ProtocolError(INVALID_REQUEST, "A message must name its method.")
    params = fields.get("params")
    if params is None:
        params = {}
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_PARAMS, "params must be an object.")
    params = cast("dict[str, Any]", params)
    # A tool's arguments are checked with the tool, whose error a model gets to see.
    around = {name: value for name, value in params.items() if name != "arguments"}
    if has_lone_surrogate([method, around]):
        raise ProtocolError(INVALID_REQUEST, "A string holds a lone surrogate: send Unicode text.")
    return Message(method, params, request_id)


def _readable_id(value: object) -> RequestId | None:
    if isinstance(value, str) and not has_lone_surrogate(value):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return None


def result_body(request_id: RequestId | None, result: dict[str, Any]) -> dict[str, Any]:
    """The response to a request that succeeded."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_body(error: ProtocolError) -> dict[str, Any]:
    """The response to a message that failed; its id is null where none could be read."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return {"jsonrpc": "2.0", "id": error.id, "error": body}
