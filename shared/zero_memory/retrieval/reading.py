"""Reading so that one memory that cannot be read holds up no other."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from zero_memory.memory.model import SearchRecord
from zero_memory.ports.search_index import IndexUnavailable
from zero_memory.ports.table import DamagedRecord, Page, Table, TableUnavailable, ref

R = TypeVar("R")

_log = logging.getLogger(__name__)


def apart(
    do: Callable[[Sequence[str]], Sequence[R]],
    memory_ids: Sequence[str],
    *,
    fault: type[Exception] = Exception,
) -> tuple[list[R], list[str]]:
    """What `do` makes of these memories, of either half of them where it fails on all at once.

    And the ids of those that it fails on alone: they hold nobody up. `do` must bear being repeated,
    and is not asked for no memories. Raises what is no memory's `fault`: anything else, and always
    IndexUnavailable and TableUnavailable.
    """
    if not memory_ids:
        return [], []
    try:
        return [*do(memory_ids)], []
    except (IndexUnavailable, TableUnavailable):
        raise
    except fault as failure:
        if len(memory_ids) == 1:
            _log.error("%s cannot be searched: %s", *memory_ids, type(failure).__name__)
            return [], list(memory_ids)
    middle = len(memory_ids) // 2
    made, failed = apart(do, memory_ids[:middle], fault=fault)
    more_made, more_failed = apart(do, memory_ids[middle:], fault=fault)
    return [*made, *more_made], [*failed, *more_failed]


def search_records(table: Table, scopes: Mapping[str, str]) -> tuple[list[SearchRecord], list[str]]:
    """The search records of memories, given with their scopes, and the ids of the unreadable ones.

    A memory without one is left out. Raises TableUnavailable.
    """

    def read(some: Sequence[str]) -> list[SearchRecord]:
        found = table.get_many([ref(SearchRecord, scopes[each], each) for each in some])
        return [record for record in found if record is not None]

    return apart(read, list(scopes), fault=DamagedRecord)


def newest_search_records(
    table: Table, scope: str, *, after: str | None, limit: int
) -> tuple[Page[SearchRecord], list[str]]:
    """A page of a scope's search records, the newest first, and the ids of the unreadable ones.

    Pages as `Table.query`. Raises TableUnavailable.
    """
    try:
        return table.query(SearchRecord, scope, after=after, limit=limit, newest_first=True), []
    except DamagedRecord:
        # It does not say which one: they are asked one by one.
        keys = table.keys(SearchRecord, scope, after=after, limit=limit, newest_first=True)
    records, unreadable = search_records(table, dict.fromkeys(keys.records, scope))
    return Page(tuple(records), keys.next), unreadable
