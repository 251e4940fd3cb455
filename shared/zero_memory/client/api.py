"""The service's HTTP API, as far as the commands need it."""

import json
from collections.abc import Mapping

from zero_memory.client.connection import Connection, machine
from zero_memory.client.failure import UNREACHABLE, Failure
from zero_memory.client.wire import TIMEOUT_S, Answer, WireError
from zero_memory.client.wire import post as post_to
from zero_memory.client.wording import at_a_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing alone takes a bare Python half as long again
    from typing import Any

_OK, _UNAUTHORIZED = 200, 401
_REDIRECTS = range(300, 400)
_SERVER_ERRORS = range(500, 600)
_FOR_NOW = {408, 429}
_TOO_LONG = 413

DAMAGED = "It is damaged where it is stored; ask who runs the service to mend it."

ANSWERS = {
    "close_loop": {"id", "changed"},
    "describe_scope": {"scopes", "more_scopes", "home", "limits", "session"},
    "erase_memory": {"id"},
    "export_memories": {"format", "memories", "files"},
    "forget": {"id", "changed"},
    "import_memory": {"items"},
    "list_memories": {"memories", "session"},
    "manage_scope": {"scope"},
    "manage_tokens": {"tokens"},
    "memory_history": {"id", "versions", "audit"},
    "recall": {"hits", "memories", "missing", "degraded", "session"},
    "remember": {"id", "scope", "deduplicated", "similar_existing"},
    "restore_memory": {"id", "live", "changed"},
    "revise": {"id", "changed"},
}
"""What each tool always answers, by which its answer is told from another service's."""


def post(
    connection: Connection,
    path: str,
    body: bytes,
    headers: Mapping[str, str],
    timeout_s: float = TIMEOUT_S,
) -> Answer:
    """POST a JSON body with the token. Raises Failure when no whole answer comes in that time."""
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
    except TimeoutError:
        why = f"no whole answer came within {timeout_s:.0f} s"
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
    return result_of(connection, tool, answer)


def result_of(connection: Connection, tool: str, answer: Answer) -> "dict[str, Any]":
    """The structured result that an answer is. Raises Failure, for another service's answer too."""
    result = json_object(answer.body)
    if answer.status == _OK and result is not None and result.keys() >= ANSWERS[tool]:
        return result
    raise failure_of(connection, answer)


def failure_of(connection: Connection, answer: Answer) -> Failure:
    """What a person is told of an answer that is no result."""
    status = answer.status
    error = as_object((json_object(answer.body) or {}).get("error"))
    message = error.get("message") if error else None
    if error and isinstance(message, str):
        message = at_a_terminal(message, as_object(error.get("details")))
        return Failure(f"{message} {connection.renewal}" if status == _UNAUTHORIZED else message)
    if status == _TOO_LONG:
        return Failure(f"This is too long for one call to {connection.url}. Send less at once.")
    if status in _SERVER_ERRORS or status in _FOR_NOW:
        return Failure(f"The service at {connection.url} answered HTTP {status}. Try again later.")
    elsewhere = _origin(answer.headers.get("location", "")) if status in _REDIRECTS else ""
    if elsewhere and elsewhere != _origin(connection.url):
        return Failure(
            f"{connection.url} sends callers on to {elsewhere}. If you know that one, use its URL.",
            exit_code=UNREACHABLE,
        )
    return Failure(
        f"What answers at {connection.url} is no zero-memory (HTTP {status}). Is the URL right?",
        exit_code=UNREACHABLE,
    )


def _origin(url: str) -> str:
    """Scheme and host of an http or https URL, without the secrets that others may hold."""
    scheme, separator, rest = url.partition("://")
    host = rest.partition("/")[0].partition("?")[0].partition("#")[0].rpartition("@")[2]
    return f"{scheme}{separator}{host}" if scheme in {"http", "https"} and host else ""


def json_object(text: bytes) -> "dict[str, Any] | None":
    """The JSON object of a text, or None when it holds something else."""
    try:
        return as_object(json.loads(text))
    except (ValueError, RecursionError):
        return None


def as_object(value: "Any") -> "dict[str, Any] | None":
    """A JSON value as the object that it is, or None."""
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType]
