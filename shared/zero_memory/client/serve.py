"""`zm serve`: runs the service here, and says where it is."""

import logging
import os
import shlex
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from zero_memory.client.arguments import parser
from zero_memory.local.home import CannotServe, Ready
from zero_memory.local.serve import serve
from zero_memory.places import data_folder

DEFAULT_PORT = 8737
"""In no registry of services; fixed, since clients keep the URL in their configuration."""


def main(arguments: Sequence[str]) -> int:
    """Run until it is stopped; answers the exit code."""
    options = parser("zm serve", "The whole service on this machine, on the loopback interface.")
    options.add_argument(
        "--home", type=Path, default=Path(data_folder()), help="where the data lies (%(default)s)"
    )
    options.add_argument(
        "--port", type=_port, default=DEFAULT_PORT, help="0: any free one (%(default)s)"
    )
    options.add_argument(
        "--json",
        action="store_true",
        help="standard output gets one line of JSON when ready: mcp_url, api_url, token_file, pid",
    )
    chosen = options.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    say = _as_json if chosen.json else _for_people
    with _standard_output() as out:
        try:
            serve(chosen.home, chosen.port, lambda ready: print(say(ready), file=out, flush=True))
        except CannotServe as refused:
            print(f"zm: {refused}", file=sys.stderr)
            return 1
    return 0


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 65_535:  # noqa: PLR2004 - the range of ports
        raise ValueError
    return number


@contextmanager
def _standard_output() -> Generator[TextIO]:
    """The real standard output. Whatever else this process prints goes to standard error."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        yield out


def _as_json(ready: Ready) -> str:
    return ready.as_json()


def _for_people(ready: Ready) -> str:
    return f"""zero-memory is ready.

  MCP    {ready.mcp_url}
  token  {ready.token_file}

Connect Claude Code:

  claude mcp add --transport http --scope user zero-memory {ready.mcp_url} \\
    --header "Authorization: Bearer $(cat {shlex.quote(ready.token_file)})"

Stop with Ctrl-C."""
