"""Clearing the copies of what was erased: a promise about files, kept before it is given."""

from collections.abc import Generator
from contextlib import contextmanager

from zero_memory.contracts.errors import conflict
from zero_memory.ports.artifacts import ArtifactsUnavailable
from zero_memory.ports.search_index import IndexUnavailable
from zero_memory.ports.table import TableUnavailable
from zero_memory.tools.services import Services


@contextmanager
def copies_reached() -> Generator[None]:
    """Raises Refusal `conflict` where a copy cannot be reached now, to be cleared by a repeat."""
    try:
        yield
    except (ArtifactsUnavailable, IndexUnavailable):
        raise conflict(
            "Where copies of it are kept does not answer, and one may be left; repeat this call in "
            "a moment."
        ) from None


def clear_files(services: Services) -> None:
    """Remove every export and upload of the home, then what deleted records left in its files.

    Who exported a memory is not kept, and may have left its scopes since; so all go, which are
    copies for a day at most. Raises Refusal `conflict`.
    """
    with copies_reached():
        services.artifacts.clear()
    try:
        services.table.scrub()
    except TableUnavailable:
        raise conflict(
            "It is erased, but a file that held it is in use and keeps a copy; repeat this call "
            "in a moment."
        ) from None
