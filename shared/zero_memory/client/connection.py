"""Which service `zm` talks to, with which token, and as which machine.

The first of these that is there: `ZM_URL` and `ZM_TOKEN`; the service that runs in `ZM_DATA_DIR`;
what `zm login` stored; the service that runs in the default home.
"""

import json
import os
import socket

from zero_memory.client.failure import UNREACHABLE, Failure
from zero_memory.places import config_folder, data_folder


class Connection:
    """A service's base URL and the token for it. `home` is its folder when it runs here."""

    def __init__(self, url: str, token: str, home: str | None = None) -> None:
        self.url = url
        self.token = token
        self.home = home


def login_file() -> str:
    """Where `zm login` stores URL and token, for its owner only (mode 0600)."""
    return os.path.join(config_folder(), "login.json")


def find_connection() -> Connection:
    """The service to talk to. Raises Failure when none is known."""
    url = os.environ.get("ZM_URL")
    if url:
        return Connection(url.rstrip("/"), os.environ.get("ZM_TOKEN", ""))
    home = os.environ.get("ZM_DATA_DIR")
    if home:
        return _local(home)
    try:
        stored = json.loads(read(login_file()))
    except FileNotFoundError:
        return _local(data_folder())
    return Connection(stored["url"], stored["token"])


def machine() -> str:
    """What this machine is called: `ZM_MACHINE`, or the host's name, as a header can carry it."""
    name = os.environ.get("ZM_MACHINE") or socket.gethostname()
    return "".join(each if each.isascii() and each.isprintable() else "-" for each in name)[:200]


def _local(home: str) -> Connection:
    try:
        ready = json.loads(read(os.path.join(home, "serve.json")))
        token = read(ready["token_file"]).strip()
    except FileNotFoundError:
        raise Failure(
            f"No service runs in {home}. Start it with: zm serve\n"
            "    To use another one: zm login URL",
            exit_code=UNREACHABLE,
        ) from None
    return Connection(ready["api_url"], token, home)


def read(path: str) -> str:
    """A small text file, whole."""
    with open(path, encoding="utf-8") as file:
        return file.read()
