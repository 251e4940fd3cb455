"""A new search index from the table, while the old one answers and writes go on."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from zero_memory.memory.apart import apart
from zero_memory.memory.canonical import canonical
from zero_memory.memory.model import Meta, SearchRecord
from zero_memory.memory.reading import with_bodies
from zero_memory.ports.embedder import Embedder
from zero_memory.ports.search_index import DerivedIndex, IndexWriter
from zero_memory.ports.table import ConditionFailed, DamagedRecord, Present, Put, Table, ref
from zero_memory.retrieval.indexing import index_each
from zero_memory.retrieval.passages import read_passage
from zero_memory.retrieval.reading import search_records
from zero_memory.scopes.model import Scope

_AT_ONCE = 250


class Progress(Struct, frozen=True):
    """How far it is: memories indexed, how many were embedded anew, which could not be indexed.

    Of the `refused`, the `damaged` can't be read in the table.
    """

    indexed: int = 0
    embedded: int = 0
    refused: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()


def reindex(table: Table, embedder: Embedder, index: DerivedIndex) -> Generator[Progress]:
    """Build an index anew and put it in the old one's place; yields how far it is as it goes.

    Memories whose vectors another model made are embedded again, once: a run that was interrupted
    goes on with what is left. What is written meanwhile comes by the stream as always. A pass that
    embedded any is followed by another, for those that were moved behind it. Raises
    IndexUnavailable and TableUnavailable; then, or when the generator is closed, see
    `DerivedIndex.replacing`.
    """
    with index.replacing() as anew:
        embedded = 0
        while True:
            done = Progress(embedded=embedded)
            for done in rebuild(table, anew, embedder, embedded=embedded):
                yield done
            if done.embedded == embedded:
                return
            embedded = done.embedded


def rebuild(
    table: Table, index: IndexWriter, embedder: Embedder | None = None, *, embedded: int = 0
) -> Generator[Progress]:
    """Bring the whole index up to date from the table, scope by scope.

    With an embedder, memories of another model than its own are embedded and kept again;
    `embedded` is where their count begins.
    """
    done = Progress(embedded=embedded)
    for scope in chain.from_iterable(_pages(table, Scope)):
        for memory_ids in _pages(table, SearchRecord, scope):
            anew, unread = _embedded_again(table, embedder, scope, memory_ids)
            readable = [each for each in memory_ids if each not in unread]
            metas, refused = index_each(table, index, readable)
            _erase_gone(table, index, readable)
            refused = [*unread, *refused]
            done = Progress(
                done.indexed + len(metas),
                done.embedded + len(anew),
                (*done.refused, *refused),
                (*done.damaged, *_damaged(table, scope, refused)),
            )
            yield done


def _damaged(table: Table, scope: str, memory_ids: Sequence[str]) -> set[str]:
    """Those of these memories whose records can't be read."""

    def metas(some: Sequence[str]) -> list[Meta]:
        found = table.get_many([ref(Meta, each) for each in some])
        return [each for each in found if each is not None]

    _, damaged = apart(metas, memory_ids, fault=DamagedRecord)
    _, unsearchable = search_records(table, dict.fromkeys(memory_ids, scope))
    return {*damaged, *unsearchable}


def _embedded_again(
    table: Table, embedder: Embedder | None, scope: str, memory_ids: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Those of another model that got the passage of this one, and those that can't be read.

    One that was erased or moved meanwhile keeps nothing here.
    """
    kept: list[str] = []

    def embed(some: Sequence[str]) -> Sequence[str]:
        if embedder is None:
            return ()
        records = table.get_many([ref(SearchRecord, scope, each) for each in some])
        others = {
            each.memory_id: each
            for each in records
            if each is not None and each.passage.model != embedder.model
        }
        metas = table.get_many([ref(Meta, memory_id) for memory_id in others])
        for memory in with_bodies(table, [meta for meta in metas if meta is not None]):
            passage = read_passage(embedder, canonical(memory.body.content))
            memory_id = memory.meta.memory_id
            with suppress(ConditionFailed):
                table.transact([Put(replace(others[memory_id], passage=passage), Present())])
                kept.append(memory_id)
        return ()

    _, unread = apart(embed, memory_ids)
    return kept, unread


def _erase_gone(table: Table, index: IndexWriter, memory_ids: Sequence[str]) -> None:
    """Take out what was erased between reading and indexing: its own erasure came too early."""

    def missing(some: Sequence[str]) -> list[str]:
        metas = table.get_many([ref(Meta, each) for each in some])
        return [each for each, meta in zip(some, metas, strict=True) if meta is None]

    gone, _ = apart(missing, memory_ids)
    if gone:
        index.erase(gone)


def _pages(table: Table, record: type[object], *parts: str) -> Iterator[tuple[str, ...]]:
    after: str | None = None
    while True:
        page = table.keys(record, *parts, after=after, limit=_AT_ONCE)
        if page.records:
            yield page.records
        after = page.next
        if after is None:
            return
