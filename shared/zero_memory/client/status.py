"""`zm status`: whether the connection works, and how the service is."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zero_memory.client.api import call_tool
from zero_memory.client.connection import Connection, find_connection
from zero_memory.client.failure import Failure


def main(arguments: Sequence[str]) -> int:
    """Print the state; exits with 0 when everything works."""
    parser = argparse.ArgumentParser(
        prog="zm status", description="State of the connection and of the service."
    )
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    chosen = parser.parse_args(arguments)
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
    described: dict[str, Any] | None = None,
    failure: Failure | None = None,
) -> dict[str, Any]:
    """What is known: `set_aside` counts the changes that the indexer gave up on, here only."""
    home = connection.home if connection else None
    return {
        "ok": failure is None,
        "url": connection.url if connection else None,
        "data_dir": str(home) if home else None,
        "problem": str(failure) if failure else None,
        "table": described["home"]["table"] if described else None,
        "search": described["home"]["search"] if described else None,
        "embedder": described["home"]["embedder"] if described else None,
        "scopes": [scope["path"] for scope in described["scopes"]] if described else [],
        "set_aside": _set_aside(home) if home else None,
    }


def _set_aside(home: Path) -> int:
    try:
        return len(json.loads((home / "failures.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return 0


def _report(state: dict[str, Any], *, as_json: bool, code: int) -> int:
    if as_json:
        print(json.dumps(state, ensure_ascii=False))
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
