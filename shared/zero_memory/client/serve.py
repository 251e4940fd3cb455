"""`zm serve`: runs the service here, and says where it is."""

import argparse
import logging
import os
import shlex
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from zero_memory.client.arguments import parsed, parser, path_of
from zero_memory.places import home_folder

if TYPE_CHECKING:
    from zero_memory.local.home import Ready

DEFAULT_PORT = 8737
"""In no registry of services; fixed, since clients keep the URL in their configuration."""
_LAST_PORT = 65_535


def main(arguments: Sequence[str]) -> int:
    """Run until it is stopped; answers the exit code."""
    options = parser("zm serve", "The whole service on this machine, on the loopback interface.")
    options.add_argument(
        "--home",
        type=lambda text: Path(path_of(text)),
        default=Path(home_folder()),
        help="where the data lies (%(default)s)",
    )
    options.add_argument(
        "--port", type=_port, default=DEFAULT_PORT, help="0: any free one (%(default)s)"
    )
    options.add_argument(
        "--json",
        action="store_true",
        help="standard output gets one line of JSON when ready: mcp_url, api_url, token_file, pid",
    )
    options.add_argument(
        "--log",
        action=argparse.BooleanOptionalAction,
        default=not sys.stderr.isatty(),
        help="every call as a line of JSON on standard error (unless that is a terminal)",
    )
    chosen = parsed(options, arguments)
    # A wrong command line is told at once: what follows takes seconds to import.
    from zero_memory.local.home import CannotServe
    from zero_memory.local.serve import serve

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    say = _as_json if chosen.json else _for_people
    with _standard_output() as out:
        try:
            serve(
                chosen.home,
                chosen.port,
                lambda ready: print(say(ready), file=out, flush=True),
                log_calls=chosen.log,
            )
        except CannotServe as refused:
            print(f"zm: {refused}", file=sys.stderr)
            return 1
    return 0


def _port(text: str) -> int:
    if text.isascii() and text.isdecimal() and int(text) <= _LAST_PORT:
        return int(text)
    raise argparse.ArgumentTypeError(f"a port is a number from 0 to {_LAST_PORT}, not {text!r}")


@contextmanager
def _standard_output() -> Generator[TextIO]:
    """The real standard output. Whatever else this process prints goes to standard error."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        yield out


def _as_json(ready: "Ready") -> str:
    return ready.as_json()


def _for_people(ready: "Ready") -> str:
    return f"""zero-memory is ready.

  MCP    {ready.mcp_url}
  token  {ready.token_file}

Connect Claude Code:

  claude mcp add --transport http --scope user zero-memory {ready.mcp_url} \\
    --header "Authorization: Bearer $(cat {shlex.quote(ready.token_file)})"

Stop with Ctrl-C."""
