"""The `zm` command: finds the subcommand, and words its failures.

Everything but the standard library's smallest part is imported by the subcommand that needs it.
"""

import importlib
import io
import os
import sys

from zero_memory.client.commands import COMMANDS, nearest
from zero_memory.client.failure import REFUSED, USAGE, Failure
from zero_memory.client.terminal import HarmlessText

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

_INTERRUPTED = 130
_CAPTURE = "client.capture:main"

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
        code = _run([_as_utf8(argument) for argument in sys.argv[1:]])
        sys.stdout.flush()
    except Failure as failure:
        print(f"zm: {failure}", file=sys.stderr)
        return failure.exit_code
    except BrokenPipeError:  # the reader (`| head`) has enough
        _write_no_more()
        return 0
    except OSError as error:
        _write_no_more()
        place = f"{error.filename}: " if error.filename else ""
        print(f"zm: {place}{error.strerror or error}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)  # at once: an ordinary end waits for the calls of other threads
    return code


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
            return _call(COMMANDS[name][0], rest)
        case [word] if word.isalnum():
            meant = nearest(word)
            known = f"; did you mean zm {meant}?" if meant else " (zm --help lists them)."
            raise Failure(
                f"There is no command “{word}”{known} "
                f"To remember a single word, name its kind: zm --kind fact {word}",
                exit_code=USAGE,
            )
        case _:
            return _call(_CAPTURE, arguments)


def _call(place: str, arguments: list[str]) -> int:
    module, _, function = place.partition(":")
    command = getattr(importlib.import_module(f"zero_memory.{module}"), function)
    return command(arguments)


def _speak_utf8() -> None:
    """UTF-8 on all three streams, whatever the locale and PYTHONIOENCODING say.

    A stream that came closed reads as empty, and takes everything.
    """
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115 - for as long as the process
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - as long
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115 - as long
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8")  # pyright: ignore[reportUnknownMemberType]
    sys.stdout = _harmless(sys.stdout, "strict")
    sys.stderr = _harmless(sys.stderr, "backslashreplace")


def _harmless(stream: "TextIO", errors: str) -> "TextIO":
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    lines, through = stream.line_buffering, stream.write_through
    return HarmlessText(
        stream.detach(),  # pyright: ignore[reportUnknownArgumentType] - no stub names it
        encoding="utf-8",
        errors=errors,
        line_buffering=lines,
        write_through=through,
    )


def _write_no_more() -> None:
    """What standard output did not take is not tried again when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _as_utf8(argument: str) -> str:
    """An argument read as UTF-8, in place of the locale's encoding."""
    try:
        return os.fsencode(argument).decode()
    except UnicodeDecodeError:
        raise Failure("The command line is not valid UTF-8.", exit_code=USAGE) from None
