"""Which service `zm` talks to, with which token, and as which machine.

The first of these that is there: `ZM_URL` and `ZM_TOKEN`; the service that runs in `ZM_DATA_DIR`;
what `zm login` stored; the service that runs in the default home.
"""

import json
import os
import socket

from zero_memory.client.failure import UNREACHABLE, USAGE, Failure
from zero_memory.places import config_folder, home_folder


class Connection:
    """A service's base URL and the token for it. `home` is its folder when it runs here.

    The URL of its MCP endpoint does too. `renewal` says what to do when the service does not take
    the token. Raises Failure when the URL is none, and when it holds a secret, which every message
    about it would repeat.
    """

    def __init__(self, url: str, token: str, renewal: str, home: str | None = None) -> None:
        scheme, _, rest = url.partition("://")
        host = rest.partition("/")[0]
        if scheme not in {"http", "https"} or not host:
            raise Failure(
                "The service's URL begins with http:// or https:// and a host, as in "
                "http://127.0.0.1:8737 or https://memory.example.com.",
                exit_code=USAGE,
            )
        if "@" in host:
            raise Failure(
                "The URL holds a user or a password. Leave them out: the token says who you are.",
                exit_code=USAGE,
            )
        self.url = url.rstrip("/").removesuffix("/mcp")
        self.token = token
        self.renewal = renewal
        self.home = home


def login_file() -> str:
    """Where `zm login` stores URL and token, for its owner only (mode 0600)."""
    return os.path.join(config_folder(), "login.json")


def find_connection() -> Connection:
    """The service to talk to. Raises Failure when none is known."""
    url, token = os.environ.get("ZM_URL"), os.environ.get("ZM_TOKEN")
    if url and token:
        return Connection(url, token, "It is the one in ZM_TOKEN.")
    if url:
        raise Failure(
            "ZM_URL is set without ZM_TOKEN: set both, or neither to use what zm login stored.",
            exit_code=UNREACHABLE,
        )
    if os.environ.get("ZM_DATA_DIR"):
        return _local(home_folder())
    return _logged_in() or _local(home_folder())


def machine() -> str:
    """What this machine is called: `ZM_MACHINE`, or the host's name, as a header can carry it."""
    name = os.environ.get("ZM_MACHINE") or socket.gethostname()
    return "".join(each if each.isascii() and each.isprintable() else "-" for each in name)[:200]


def _logged_in() -> Connection | None:
    """What `zm login` stored, None when it was never run here."""
    stored = _fields(login_file(), "url", "token", mend="Write it anew with: zm login URL")
    if stored is None:
        return None
    url, token = stored
    return Connection(url, token, f"Store another with: zm login {url}")


def _local(home: str) -> Connection:
    mend = "Stop zm serve and start it again, as the same user."
    ready = _fields(os.path.join(home, "serve.json"), "api_url", "token_file", mend=mend)
    if ready is None:
        raise Failure(
            f"No service runs in {home}. Start it with: zm serve\n"
            "    To use another one: zm login URL",
            exit_code=UNREACHABLE,
        )
    api_url, token_file = ready
    try:
        token = read(token_file).strip()
    except FileNotFoundError:
        raise Failure(
            f"The access token's file {token_file} is gone. Stop zm serve and start it again: it "
            "makes a new one.",
            exit_code=UNREACHABLE,
        ) from None
    except (OSError, ValueError) as error:
        raise _unreadable(token_file, error, mend) from None
    renewal = f"It is the one in {token_file}; delete that file and start zm serve again."
    return Connection(api_url, token, renewal, home)


def _fields(path: str, *names: str, mend: str) -> "list[str] | None":
    """The texts under these names in a small JSON file; None when it is not there.

    Raises Failure, which ends with how to `mend` it.
    """
    try:
        stored = json.loads(read(path))
        values = [stored[name] for name in names]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise _unreadable(path, error, mend) from None
    if not all(isinstance(value, str) for value in values):
        raise _unreadable(path, None, mend)
    return values


def _unreadable(path: str, error: "Exception | None", mend: str) -> Failure:
    why = error.strerror if isinstance(error, OSError) else "it is damaged"
    return Failure(f"{path} can't be read: {why}. {mend}", exit_code=UNREACHABLE)


def read(path: str) -> str:
    """A small text file, whole."""
    with open(path, encoding="utf-8") as file:
        return file.read()
