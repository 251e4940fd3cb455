"""`zm login`: connect this machine to a service."""

import json
import os
import sys
from collections.abc import Sequence

from zero_memory.client.api import call_tool
from zero_memory.client.arguments import parsed, parser
from zero_memory.client.connection import Connection, login_file
from zero_memory.client.failure import USAGE, Failure
from zero_memory.client.files import replacing


def main(arguments: Sequence[str]) -> int:
    """Try URL and token, and store them when the service takes them."""
    options = parser(
        "zm login",
        "Store a service's URL and your token, which is asked for (or read from "
        "standard input), so that it stands in no shell history.",
    )
    options.add_argument("url", help="the service's base URL, as in https://memory.example.com")
    chosen = parsed(options, arguments)
    connection = Connection(chosen.url, "", "Nothing was stored.")
    connection.token = _token()
    call_tool(connection, "describe_scope", {})
    _store(connection)
    print(f"Connected to {connection.url}; stored in {login_file()}")
    return 0


def _token() -> str:
    if sys.stdin.isatty():
        import getpass

        token = getpass.getpass("Token (zmt_…): ")
    else:
        token = sys.stdin.readline()
    token = token.strip()
    if not token.startswith("zmt_") or not token.isascii() or not token.isprintable():
        raise Failure("That is no token: it begins with zmt_ and is plain ASCII.", exit_code=USAGE)
    return token


def _store(connection: Connection) -> None:
    path = login_file()
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with replacing(path) as file:
        file.write(json.dumps({"url": connection.url, "token": connection.token}).encode())
