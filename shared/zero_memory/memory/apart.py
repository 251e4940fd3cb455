"""Work on many memories so that one that cannot be worked on holds up no other."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from zero_memory.ports.search_index import IndexUnavailable
from zero_memory.ports.table import DamagedRecord, Page, Table, TableUnavailable

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
            _log.error("%s cannot be read: %s", *memory_ids, type(failure).__name__)
            return [], list(memory_ids)
    middle = len(memory_ids) // 2
    made, failed = apart(do, memory_ids[:middle], fault=fault)
    more_made, more_failed = apart(do, memory_ids[middle:], fault=fault)
    return [*made, *more_made], [*failed, *more_failed]


def readable_page(
    table: Table,
    record: type[R],
    *parts: str,
    after: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int,
    newest_first: bool = False,
) -> Page[R]:
    """A page as `Table.query` gives it, without the records that are damaged."""
    read = partial(table.query, record, *parts, since=since, until=until, newest_first=newest_first)
    try:
        return read(after=after, limit=limit)
    except DamagedRecord:
        if limit == 1:
            key = table.keys(
                record,
                *parts,
                after=after,
                since=since,
                until=until,
                limit=1,
                newest_first=newest_first,
            )
            _log.error("%s %s cannot be read", record.__name__, *key.records)
            return Page((), key.next)
    half = partial(
        readable_page,
        table,
        record,
        *parts,
        since=since,
        until=until,
        newest_first=newest_first,
    )
    first = half(after=after, limit=limit // 2)
    if first.next is None:
        return first
    rest = half(after=first.next, limit=limit - limit // 2)
    return Page((*first.records, *rest.records), rest.next)
