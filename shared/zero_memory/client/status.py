"""`zm status`: whether the connection works, and how the service is."""

import json
import os
from collections.abc import Sequence

from zero_memory.client.api import call_tool
from zero_memory.client.arguments import parsed, parser, print_json
from zero_memory.client.connection import Connection, find_connection, read
from zero_memory.client.failure import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main(arguments: Sequence[str]) -> int:
    """Print the state; exits with 0 when everything works."""
    options = parser("zm status", "State of the connection and of the service.")
    options.add_argument("--json", action="store_true", help="one line of JSON")
    chosen = parsed(options, arguments)
    try:
        connection = find_connection()
    except Failure as failure:
        return _report(_state(None, failure=failure), as_json=chosen.json, code=failure.exit_code)
    try:
        described = call_tool(connection, "describe_scope", {})
    except Failure as failure:
        return _report(
            _state(connection, failure=failure), as_json=chosen.json, code=failure.exit_code
        )
    return _report(_state(connection, described=described), as_json=chosen.json, code=0)


def _state(
    connection: Connection | None,
    *,
    described: "dict[str, Any] | None" = None,
    failure: Failure | None = None,
) -> "dict[str, Any]":
    """What is known: `set_aside` counts the changes that the indexer gave up on, here only."""
    home = connection.home if connection else None
    return {
        "ok": failure is None,
        "url": connection.url if connection else None,
        "data_dir": home,
        "problem": str(failure) if failure else None,
        "table": described["home"]["table"] if described else None,
        "search": described["home"]["search"] if described else None,
        "embedder": described["home"]["embedder"] if described else None,
        "scopes": [scope["path"] for scope in described["scopes"]] if described else [],
        "set_aside": _set_aside(home) if home else None,
    }


def _set_aside(home: str) -> int | None:
    try:
        return len(json.loads(read(os.path.join(home, "failures.json"))))
    except FileNotFoundError:
        return 0
    except ValueError:  # damaged; the service drops it within a minute
        return None


def _report(state: "dict[str, Any]", *, as_json: bool, code: int) -> int:
    if as_json:
        print_json(state)
        return code
    rows = {
        "service": state["url"] or "none",
        "data": state["data_dir"],
        "state": "works" if state["ok"] else state["problem"],
        "table": state["table"],
        "search": state["search"],
        "embedder": state["embedder"],
        "scopes": ", ".join(state["scopes"]) or None,
        "set aside": f"{state['set_aside']} changes that could not be indexed; tried every minute"
        if state["set_aside"]
        else None,
    }
    for name, value in rows.items():
        if value is not None:
            print(f"{name:10} {value}")
    return code
