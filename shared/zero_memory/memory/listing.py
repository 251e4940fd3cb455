"""Listing live memories, newest first, and counting them."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

from msgspec import Struct

from zero_memory.memory.apart import readable_page
from zero_memory.memory.canonical import fold_name
from zero_memory.memory.entities import distinct_names
from zero_memory.memory.model import (
    TIMELINES,
    Kind,
    Mention,
    Meta,
    PendingMarker,
    SharedMemory,
    Timeline,
    TimelineEntry,
    timeline_of,
)
from zero_memory.memory.reading import load_readable
from zero_memory.ports.table import Page, Table
from zero_memory.scopes.visibility import ReadSet, scope_filter

R = TypeVar("R")

_PAGE = 100
# What one call looks at, at most, when its filters let few memories through.
_EXAMINED = 1_000
_COUNTED = 200


class Wanted(Struct, frozen=True):
    """Which live memories to list: ids from `since` to `until`, and those born before `behind`."""

    kinds: frozenset[Kind] | None = None
    author: str | None = None
    entity: str | None = None
    since: str | None = None
    until: str | None = None
    behind: str | None = None

    def lets_through(self, meta: Meta) -> bool:
        """Whether a memory is one of those."""
        return (
            meta.live
            and (self.kinds is None or meta.kind in self.kinds)
            and (self.author is None or meta.author == self.author)
        )


class Listed(Struct, frozen=True):
    """A page: its memories, newest first, and the id behind which the next one starts.

    `unreadable` are the ids of those in its stretch that are damaged, filters or not.
    """

    memories: tuple[Meta, ...]
    behind: str | None
    unreadable: tuple[str, ...] = ()


def list_live(table: Table, read_set: ReadSet, wanted: Wanted, *, limit: int) -> Listed:
    """One page of the read set's live memories, newest first.

    A page may be short while more follows, when filters let few of the memories through that one
    call may look at.
    """
    ids = _distinct(heapq.merge(*_streams(table, read_set, wanted), reverse=True))
    page: list[Meta] = []
    unreadable: list[str] = []
    examined = 0
    while batch := list(islice(ids, limit)):
        loaded, damaged = load_readable(table, batch, read_set)
        metas = (loaded.get(memory_id) for memory_id in batch)
        page += [meta for meta in metas if meta is not None and wanted.lets_through(meta)]
        unreadable += damaged
        if len(page) > limit:
            last = page[limit - 1].memory_id
            before = (each for each in unreadable if each > last)
            return Listed(tuple(page[:limit]), last, tuple(before))
        examined += len(batch)
        if examined >= _EXAMINED:
            return Listed(tuple(page), batch[-1], tuple(unreadable))
    return Listed(tuple(page), None, tuple(unreadable))


def count_live(table: Table, scope: str) -> dict[Kind, str]:
    """How many live memories of each kind a scope has, as its views tell, capped: `12`, `200+`.

    Of each class of kinds the newest 200 are counted, and of those shared to the scope; a `+` says
    that there are more.
    """
    shared = table.keys(SharedMemory, scope, limit=_COUNTED, newest_first=True)
    here, _ = load_readable(table, shared.records, ReadSet({scope: scope}))
    counted = Counter[Kind](meta.kind for meta in here.values() if meta.live)
    capped = {kind for kind in counted if shared.next}
    for timeline in TIMELINES:
        page = readable_page(
            table, TimelineEntry, scope, timeline, limit=_COUNTED, newest_first=True
        )
        kinds = Counter[Kind](entry.kind for entry in page.records)
        counted += kinds
        capped |= {kind for kind in kinds if page.next}
    return {
        kind: f"{number}{'+' if kind in capped else ''}" for kind, number in sorted(counted.items())
    }


def _streams(table: Table, read_set: ReadSet, wanted: Wanted) -> Iterator[Iterator[str]]:
    """Every source of ids that the list is merged from, each newest first."""
    for scope in scope_filter(read_set):
        yield _shared_ids(table, scope, wanted)
        if wanted.entity is not None:
            if name := fold_name(wanted.entity):
                yield _ids(table, Mention, (scope, name), wanted)
            continue
        for timeline in _timelines(wanted.kinds):
            yield _ids(table, TimelineEntry, (scope, timeline), wanted)
        # Views may be some writes old; the newest writes are always among the markers.
        yield _ids(table, PendingMarker, (scope,), wanted)


def _timelines(kinds: frozenset[Kind] | None) -> Sequence[Timeline]:
    if kinds is None:
        return TIMELINES
    return sorted({timeline_of(kind) for kind in kinds})


def _shared_ids(table: Table, scope: str, wanted: Wanted) -> Iterator[str]:
    entity = None if wanted.entity is None else fold_name(wanted.entity)
    if entity is None:
        yield from _ids(table, SharedMemory, (scope,), wanted)
        return
    for page in _pages(partial(readable_page, table, SharedMemory, scope), wanted):
        for each in page:
            if each.memory_id != wanted.behind and entity in distinct_names(each.entities):
                yield each.memory_id


def _ids(
    table: Table,
    record: type[TimelineEntry | PendingMarker | Mention | SharedMemory],
    parts: tuple[str, ...],
    wanted: Wanted,
) -> Iterator[str]:
    for page in _pages(partial(table.keys, record, *parts), wanted):
        yield from (memory_id for memory_id in page if memory_id != wanted.behind)


def _pages(read: Callable[..., Page[R]], wanted: Wanted) -> Iterator[Sequence[R]]:
    after: str | None = None
    while True:
        page = read(
            after=after,
            since=wanted.since,
            until=wanted.behind or wanted.until,
            limit=_PAGE,
            newest_first=True,
        )
        yield page.records
        after = page.next
        if after is None:
            return


def _distinct(ids: Iterator[str]) -> Iterator[str]:
    previous = None
    for memory_id in ids:
        if memory_id != previous:
            yield memory_id
        previous = memory_id
