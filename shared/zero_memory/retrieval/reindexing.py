"""A new search index from the table, while the old one answers and writes go on."""

from collections.abc import Generator

from zero_memory.ports.search_index import ReplaceableIndex
from zero_memory.ports.table import Table
from zero_memory.retrieval.indexing import rebuild


def reindex(table: Table, index: ReplaceableIndex) -> Generator[int]:
    """Build an index beside the live one and put it in its place; yields counts as it goes.

    Nothing is embedded again: the table's search records have the vectors. The old index stays as
    it is when the generator is closed, and when IndexUnavailable or TableUnavailable is raised.
    """
    with index.replacing():
        yield from rebuild(table, index)
