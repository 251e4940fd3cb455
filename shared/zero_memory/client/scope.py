"""`zm scope`: one's own scopes."""

from collections.abc import Sequence

from zero_memory.client import people


def main(arguments: Sequence[str]) -> int:
    """Ask the service, and print what it answers."""
    return people.main(arguments, kind="scope")
