"""Listing live memories, newest first, and counting them."""

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from zero_memory.memory.canonical import fold_name
from zero_memory.memory.model import (
    TIMELINES,
    Kind,
    Mention,
    Meta,
    PendingMarker,
    Timeline,
    TimelineEntry,
    timeline_of,
)
from zero_memory.memory.reading import load_visible
from zero_memory.ports.table import Table
from zero_memory.scopes.visibility import ReadSet, scope_filter

_PAGE = 100
# What one call looks at, at most, when its filters let few memories through.
_EXAMINED = 1_000
_COUNTED = 200


@dataclass(frozen=True)
class Wanted:
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


@dataclass(frozen=True)
class Listed:
    """A page: its memories, newest first, and the id behind which the next one starts."""

    memories: tuple[Meta, ...]
    behind: str | None


def list_live(table: Table, read_set: ReadSet, wanted: Wanted, *, limit: int) -> Listed:
    """One page of the read set's live memories, newest first.

    A page may be short while more follows, when filters let few of the memories through that one
    call may look at.
    """
    ids = _distinct(heapq.merge(*_streams(table, read_set, wanted), reverse=True))
    page: list[Meta] = []
    examined = 0
    while batch := list(islice(ids, limit)):
        loaded = load_visible(table, batch, read_set)
        metas = (loaded.get(memory_id) for memory_id in batch)
        page += [meta for meta in metas if meta is not None and wanted.lets_through(meta)]
        if len(page) > limit:
            return Listed(tuple(page[:limit]), page[limit - 1].memory_id)
        examined += len(batch)
        if examined >= _EXAMINED:
            return Listed(tuple(page), batch[-1])
    return Listed(tuple(page), None)


def count_live(table: Table, scope: str) -> dict[Kind, str]:
    """How many live memories of each kind a scope has, as its views tell, capped: `12`, `200+`.

    Of each class of kinds the newest 200 are counted; a `+` says that there are more.
    """
    counts: dict[Kind, str] = {}
    for timeline in TIMELINES:
        page = table.query(TimelineEntry, scope, timeline, limit=_COUNTED, newest_first=True)
        more = "+" if page.next else ""
        counted: Counter[Kind] = Counter(entry.kind for entry in page.records)
        for kind, number in sorted(counted.items()):
            counts[kind] = f"{number}{more}"
    return counts


def _streams(table: Table, read_set: ReadSet, wanted: Wanted) -> Iterator[Iterator[str]]:
    """Every source of ids that the list is merged from, each newest first."""
    for scope in scope_filter(read_set):
        if wanted.entity is not None:
            yield _ids(table, Mention, (scope, fold_name(wanted.entity)), wanted)
            continue
        for timeline in _timelines(wanted.kinds):
            yield _ids(table, TimelineEntry, (scope, timeline), wanted)
        # Views may be some writes old; the newest writes are always among the markers.
        yield _ids(table, PendingMarker, (scope,), wanted)


def _timelines(kinds: frozenset[Kind] | None) -> Sequence[Timeline]:
    if kinds is None:
        return TIMELINES
    return sorted({timeline_of(kind) for kind in kinds})


def _ids(
    table: Table,
    record: type[TimelineEntry | PendingMarker | Mention],
    parts: tuple[str, ...],
    wanted: Wanted,
) -> Iterator[str]:
    after: str | None = None
    while True:
        page = table.query(
            record,
            *parts,
            after=after,
            since=wanted.since,
            until=wanted.behind or wanted.until,
            limit=_PAGE,
            newest_first=True,
        )
        for each in page.records:
            if each.memory_id != wanted.behind:
                yield each.memory_id
        after = page.next
        if after is None:
            return


def _distinct(ids: Iterator[str]) -> Iterator[str]:
    previous = None
    for memory_id in ids:
        if memory_id != previous:
            yield memory_id
        previous = memory_id
