"""The `zm` command: finds the subcommand, and words its failures.

Everything but the standard library's smallest part is imported by the subcommand that needs it.
"""

import importlib
import io
import os
import sys

from zero_memory.client.failure import USAGE, Failure

COMMANDS = {
    "admin": ("zero_memory.admin.commands", "people, tokens and scopes, for who runs the service"),
    "export": ("zero_memory.client.exporting", "write every memory that you may read to a folder"),
    "import": ("zero_memory.client.importing", "import notes, and what zm export wrote"),
    "login": ("zero_memory.client.login", "store a service's URL and your token"),
    "mcp": ("zero_memory.client.bridge", "MCP over stdio, for clients that speak only that"),
    "recall": ("zero_memory.client.recall", "search what is remembered"),
    "scope": ("zero_memory.client.scope", "make teams, invite, accept, leave"),
    "serve": ("zero_memory.client.serve", "run the whole service on this machine"),
    "status": ("zero_memory.client.status", "state of the connection and of the service"),
    "token": ("zero_memory.client.token", "your access tokens"),
}
_CAPTURE = "zero_memory.client.capture"

_HELP = """\
usage: zm "fact" [--kind KIND | --task] [--scope SCOPE] [--project HINT]
       zm COMMAND [--help]

One long-term memory that every AI coding agent of a person or team shares.

"""


def main() -> int:
    """Run one command line; answers the exit code.

    0: done. 1: the service refused or failed. 2: the command line is wrong. 3: no service answers.
    """
    _speak_utf8()
    try:
        return _run([_as_utf8(argument) for argument in sys.argv[1:]])
    except Failure as failure:
        print(f"zm: {failure}", file=sys.stderr)
        return failure.exit_code
    except BrokenPipeError:
        # The reader (`| head`) has enough; nothing more may be flushed there at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130


def _run(arguments: list[str]) -> int:
    match arguments:
        case [] | ["-h" | "--help" | "help"]:
            print(_HELP + "\n".join(f"  {name:8} {does}" for name, (_, does) in COMMANDS.items()))
            return 0
        case ["--version"]:
            from zero_memory import __version__

            print(__version__)
            return 0
        case [name, *rest] if name in COMMANDS:
            return importlib.import_module(COMMANDS[name][0]).main(rest)
        case [word] if word.isalnum():
            raise Failure(
                f"There is no command “{word}” (zm --help lists them). "
                f"To remember a single word, name its kind: zm --kind fact {word}",
                exit_code=USAGE,
            )
        case _:
            return importlib.import_module(_CAPTURE).main(arguments)


def _speak_utf8() -> None:
    """UTF-8 on all three streams, whatever the locale and PYTHONIOENCODING say."""
    streams = ((sys.stdin, "strict"), (sys.stdout, "strict"), (sys.stderr, "backslashreplace"))
    for stream, errors in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


def _as_utf8(argument: str) -> str:
    """An argument read as UTF-8, in place of the locale's encoding."""
    try:
        return os.fsencode(argument).decode()
    except UnicodeDecodeError:
        raise Failure("The command line is not valid UTF-8.", exit_code=USAGE) from None
