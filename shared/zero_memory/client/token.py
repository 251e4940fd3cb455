"""`zm token`: one's own access tokens."""

from collections.abc import Sequence

from zero_memory.client import people


def main(arguments: Sequence[str]) -> int:
    """Ask the service, and print what it answers."""
    return people.main(arguments, kind="token")
