"""The service's HTTP API, as far as the commands need it."""

import http.client
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from zero_memory.client.connection import Connection
from zero_memory.client.failure import UNREACHABLE, Failure

TIMEOUT_S = 30.0


class Answer(NamedTuple):
    """An HTTP answer; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def post(connection: Connection, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """POST a JSON body with the token. Raises Failure when no service answers."""
    scheme, _, rest = connection.url.partition("://")
    host, _, base = rest.partition("/")
    client = _CLIENTS.get(scheme)
    if client is None or not host:
        raise Failure(f"{connection.url} is no http or https URL. Set another: zm login URL")
    sent = {
        "authorization": f"Bearer {connection.token}",
        "content-type": "application/json",
        "accept": "application/json",
        **headers,
    }
    wire = client(host, timeout=TIMEOUT_S)
    try:
        wire.request("POST", f"/{base}{path}" if base else path, body, sent)
        answer = wire.getresponse()
        names = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, names, answer.read())
    except (OSError, http.client.HTTPException) as error:
        start = (
            "Start it with: zm serve" if connection.home else "Is the URL right, and the net up?"
        )
        raise Failure(
            f"No service answers at {connection.url} ({type(error).__name__}). {start}",
            exit_code=UNREACHABLE,
        ) from None
    finally:
        wire.close()


_CLIENTS = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}


def call_tool(connection: Connection, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's structured result. Raises Failure with the service's own words when it refuses."""
    present = {name: value for name, value in arguments.items() if value is not None}
    answer = post(connection, f"/tools/{tool}", json.dumps(present).encode(), {})
    result = json_object(answer.body)
    if answer.status == http.client.OK and result is not None:
        return result
    if answer.status == http.client.UNAUTHORIZED:
        raise Failure("The service does not take this token. Store another: zm login URL")
    raise Failure(words_of(result, answer.status))


def words_of(result: Mapping[str, Any] | None, status: int) -> str:
    """What a person is told of an answer that is an error."""
    error = as_object((result or {}).get("error"))
    message = error.get("message") if error else None
    return str(message) if message else f"The service answered HTTP {status}."


def json_object(text: bytes) -> dict[str, Any] | None:
    """The JSON object of a text, or None when it holds something else."""
    try:
        return as_object(json.loads(text))
    except ValueError:
        return None


def as_object(value: object) -> dict[str, Any] | None:
    """A JSON value as the object that it is, or None."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
