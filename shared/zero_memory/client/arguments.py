"""The parser of a command's arguments."""

import argparse


def parser(prog: str, description: str) -> argparse.ArgumentParser:
    """A parser that does not ask for the terminal's width, which imports four more modules."""
    return argparse.ArgumentParser(
        prog=prog,
        description=description,
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=80),
    )
