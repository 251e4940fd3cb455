"""A new search index from the table, while the old one answers and writes go on."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from zero_memory.memory.canonical import canonical
from zero_memory.memory.model import Meta, SearchRecord
from zero_memory.memory.reading import with_bodies
from zero_memory.ports.embedder import Embedder
from zero_memory.ports.search_index import DerivedIndex, SearchIndex
from zero_memory.ports.table import ConditionFailed, Present, Put, Table, ref
from zero_memory.retrieval.indexing import index_each
from zero_memory.retrieval.passages import read_passage
from zero_memory.scopes.model import Scope

R = TypeVar("R")

_AT_ONCE = 250


@dataclass(frozen=True)
class Progress:
    """How far it is: memories indexed, how many were embedded anew, and which the index refused."""

    indexed: int = 0
    embedded: int = 0
    refused: tuple[str, ...] = ()


def reindex(table: Table, embedder: Embedder, index: DerivedIndex) -> Generator[Progress]:
    """Build an index anew and put it in the old one's place; yields how far it is as it goes.

    Memories whose vectors another model made are embedded again, once: a run that was interrupted
    goes on with what is left. What is written meanwhile comes by the stream as always. A pass that
    embedded any is followed by another, for those that were moved behind it. Raises
    IndexUnavailable and TableUnavailable; then, or when the generator is closed, see
    `DerivedIndex.replacing`.
    """
    with index.replacing():
        embedded = 0
        while True:
            done = Progress(embedded=embedded)
            for done in rebuild(table, index, embedder, embedded=embedded):
                yield done
            if done.embedded == embedded:
                return
            embedded = done.embedded


def rebuild(
    table: Table, index: SearchIndex, embedder: Embedder | None = None, *, embedded: int = 0
) -> Generator[Progress]:
    """Bring the whole index up to date from the table, scope by scope.

    With an embedder, memories of another model than its own are embedded and kept again;
    `embedded` is where their count begins.
    """
    done = Progress(embedded=embedded)
    for scope in _all(table, Scope):
        for records in _pages(table, SearchRecord, scope.scope):
            anew = 0 if embedder is None else _embed_again(table, embedder, records)
            memory_ids = [record.memory_id for record in records]
            metas, refused = index_each(table, index, memory_ids)
            _erase_gone(table, index, memory_ids)
            done = Progress(
                done.indexed + len(metas), done.embedded + anew, (*done.refused, *refused)
            )
            yield done


def _embed_again(table: Table, embedder: Embedder, records: Sequence[SearchRecord]) -> int:
    """Give memories of another model the passage of this one; how many were kept.

    One that was erased or moved meanwhile keeps nothing here.
    """
    others = {each.memory_id: each for each in records if each.passage.model != embedder.model}
    if not others:
        return 0
    kept = 0
    metas = table.get_many([ref(Meta, memory_id) for memory_id in others])
    for memory in with_bodies(table, [meta for meta in metas if meta is not None]):
        passage = read_passage(embedder, canonical(memory.body.content))
        with suppress(ConditionFailed):
            table.transact(
                [Put(replace(others[memory.meta.memory_id], passage=passage), Present())]
            )
            kept += 1
    return kept


def _erase_gone(table: Table, index: SearchIndex, memory_ids: Sequence[str]) -> None:
    """Take out what was erased between reading and indexing: its own erasure came too early."""
    metas = table.get_many([ref(Meta, memory_id) for memory_id in memory_ids])
    gone = [memory_id for memory_id, meta in zip(memory_ids, metas, strict=True) if meta is None]
    if gone:
        index.erase(gone)


def _all(table: Table, record: type[R], *parts: str) -> Iterator[R]:
    for page in _pages(table, record, *parts):
        yield from page


def _pages(table: Table, record: type[R], *parts: str) -> Iterator[tuple[R, ...]]:
    after: str | None = None
    while True:
        page = table.query(record, *parts, after=after, limit=_AT_ONCE)
        yield page.records
        after = page.next
        if after is None:
            return
