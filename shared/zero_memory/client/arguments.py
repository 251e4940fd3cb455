"""What the command lines share: the parser, where to look, texts from standard input, JSON."""

import argparse
import json
import os
import sys
from collections.abc import Sequence

from zero_memory.client.failure import USAGE, Failure

LONGEST_TEXT = 1_048_576
"""Characters; the service takes no body of so many bytes, and some input never ends."""


def parser(prog: str, description: str) -> argparse.ArgumentParser:
    """A parser that does not ask for the terminal's width, which imports four more modules."""
    return argparse.ArgumentParser(
        prog=prog,
        description=description,
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=80),
    )


def parsed(
    options: argparse.ArgumentParser, arguments: Sequence[str], *, more: str = ""
) -> argparse.Namespace:
    """The command line. `more` says what to do when there are more words than it takes.

    Raises Failure then: most often they are one text without quotes.
    """
    chosen, left = options.parse_known_args(arguments)
    if left:
        raise too_many(options, left, more)
    return chosen


def too_many(options: argparse.ArgumentParser, left: Sequence[str], more: str = "") -> Failure:
    """What is said of words that a command does not take."""
    if left[0].startswith("-"):
        said = f"There is no option {left[0]}: {options.prog} --help lists them."
    else:
        said = more or f"{options.prog} takes no “{left[0]}”: see {options.prog} --help."
    return Failure(said, exit_code=USAGE)


def add_place(options: argparse.ArgumentParser) -> None:
    """The options `--scope` and `--project` of a command that reads."""
    options.add_argument("--scope", action="append", help="only here; * is all (repeatable)")
    options.add_argument(
        "--project", help="git remote, path or name (default: that of the working directory)"
    )


def path_of(argument: str) -> str:
    """A path on the command line, as this system's own calls take it in any locale.

    Raises Failure for none, which would be the working directory.
    """
    if not argument:
        raise Failure("A path is empty: is a variable not set?", exit_code=USAGE)
    return os.fsdecode(argument.encode())


def text_of(argument: str) -> str:
    """The text that an argument is; `-` reads it from standard input."""
    if argument != "-":
        return argument
    try:
        text = sys.stdin.read(LONGEST_TEXT)
    except UnicodeDecodeError:
        raise Failure("Standard input is not valid UTF-8.", exit_code=USAGE) from None
    if len(text) == LONGEST_TEXT:
        raise Failure("Standard input is longer than any memory: use zm import.", exit_code=USAGE)
    return text.strip()


def print_json(value: object) -> None:
    """One line of JSON."""
    print(json.dumps(value, ensure_ascii=False))
