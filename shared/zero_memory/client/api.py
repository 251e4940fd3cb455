"""The service's HTTP API, as far as the commands need it."""

import json
from collections.abc import Mapping

from zero_memory.client.connection import Connection, machine
from zero_memory.client.failure import UNREACHABLE, Failure
from zero_memory.client.wire import TIMEOUT_S, Answer, WireError
from zero_memory.client.wire import post as post_to

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing alone takes a bare Python half as long again
    from typing import Any

_OK, _UNAUTHORIZED = 200, 401


def post(
    connection: Connection,
    path: str,
    body: bytes,
    headers: Mapping[str, str],
    timeout_s: float = TIMEOUT_S,
) -> Answer:
    """POST a JSON body with the token. Raises Failure when no service answers in that time."""
    sent = {
        "authorization": f"Bearer {connection.token}",
        "content-type": "application/json",
        "accept": "application/json",
        "zm-machine": machine(),
        **headers,
    }
    try:
        return post_to(f"{connection.url}{path}", sent, body, timeout_s)
    except WireError as error:
        why = str(error)
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
    start = "Start it with: zm serve" if connection.home else "Is the URL right, and the net up?"
    raise Failure(f"No service answers at {connection.url}: {why}. {start}", exit_code=UNREACHABLE)


def call_tool(
    connection: Connection, tool: str, arguments: Mapping[str, object]
) -> "dict[str, Any]":
    """A tool's structured result. Raises Failure with the service's own words when it refuses."""
    present = {name: value for name, value in arguments.items() if value is not None}
    answer = post(connection, f"/tools/{tool}", json.dumps(present).encode(), {})
    result = json_object(answer.body)
    if answer.status == _OK and result is not None:
        return result
    raise Failure(words_of(result, answer.status, connection))


def describe(connection: Connection) -> "dict[str, Any]":
    """The service as it describes itself. Raises Failure for anything else that answers too."""
    described = call_tool(connection, "describe_scope", {})
    if as_object(described.get("home")) is None or "scopes" not in described:
        raise Failure(
            f"What answers at {connection.url} is no zero-memory. Is the URL right?",
            exit_code=UNREACHABLE,
        )
    return described


def words_of(result: "Mapping[str, Any] | None", status: int, connection: Connection) -> str:
    """What a person is told of an answer that is an error."""
    error = as_object((result or {}).get("error"))
    message = error.get("message") if error else None
    words = str(message) if message else f"The service answered HTTP {status}."
    return f"{words} {connection.renewal}" if status == _UNAUTHORIZED else words


def json_object(text: bytes) -> "dict[str, Any] | None":
    """The JSON object of a text, or None when it holds something else."""
    try:
        return as_object(json.loads(text))
    except (ValueError, RecursionError):
        return None


def as_object(value: "Any") -> "dict[str, Any] | None":
    """A JSON value as the object that it is, or None."""
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType]
