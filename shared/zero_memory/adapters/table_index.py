"""Search without a search engine: exact, from the table's own search records, bounded."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from zero_memory.memory.apart import readable_page
from zero_memory.memory.model import TIMELINES, Meta, SearchRecord, SharedMemory, TimelineEntry
from zero_memory.memory.reading import load_readable
from zero_memory.ports.search_index import (
    CorpusStatistics,
    IndexDocument,
    LexicalMatch,
    SearchAnswer,
    SearchFilter,
    SemanticMatch,
)
from zero_memory.ports.table import Table
from zero_memory.retrieval.gather import alive
from zero_memory.retrieval.lexical import Bm25, bm25_scorer
from zero_memory.retrieval.reading import search_record_page, search_records
from zero_memory.retrieval.vectors import SCALE_BYTES, unpack_all
from zero_memory.scopes.visibility import ReadSet, is_shared_into

Record = TypeVar("Record", SharedMemory, TimelineEntry)

_PAGE = 500


class _Corpus(Struct, frozen=True):
    """What was read for a filter.

    `unreadable` has the scopes of memories whose search records cannot be read. `kinds` has the
    kind of each memory of either that holds at the filter's moment; of `unknown` memories it can't
    be told whether they do. `complete` says whether that is all there is.
    """

    records: Sequence[SearchRecord]
    unreadable: Mapping[str, str]
    complete: bool
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    unknown: int = 0

    @property
    def read(self) -> int:
        """How many search records were read, or could not be."""
        return len(self.records) + len(self.unreadable)

    def held(self, where: SearchFilter) -> list[SearchRecord]:
        """The records that hold at the filter's moment, whatever their kinds."""
        return [each for each in self.records if self._is_held(each.memory_id, where)]

    def wanted(self, where: SearchFilter, memory_ids: Iterable[str]) -> set[str]:
        """Those among these that hold at the filter's moment and are of its kinds."""
        return {
            each
            for each in memory_ids
            if self._is_held(each, where)
            and (where.kinds is None or self.kinds[each] in where.kinds)
        }

    def _is_held(self, memory_id: str, where: SearchFilter) -> bool:
        return memory_id in self.kinds and memory_id not in where.without


class TableIndex:
    """`ports.search_index.SearchIndex` over the table itself: nothing to feed, nothing behind.

    Reads at most `limit` search records a query: of each of the filter's scopes, and of what is
    shared to them, the newest, in equal shares; what one does not need is the others'. An answer
    that left some out says so. Memories whose vectors are of another model than `model` (None: of
    whichever has the query's dimensions) are found by their words alone, and search records that
    cannot be read are left out; such an answer says so too.
    """

    def __init__(
        self, table: Table, *, limit: int, model: str | None = None, bm25: Bm25 | None = None
    ) -> None:
        self._table = table
        self._limit = limit
        self._model = model
        self._bm25 = bm25 or Bm25()

    def search(
        self,
        where: SearchFilter,
        *,
        vector: NDArray[np.float32],
        tokens: Sequence[str],
        limit: int,
    ) -> SearchAnswer:
        """Score every memory of the filter."""
        corpus = self._corpus(where)
        held = corpus.held(where)
        wanted_ids = corpus.wanted(where, (record.memory_id for record in held))
        wanted = [record for record in held if record.memory_id in wanted_ids]
        statistics = _statistics(held, tokens)
        comparable = [record for record in wanted if self._is_comparable(record)]
        nearest = _nearest(comparable, vector)
        matching = _lexical(wanted, tokens, statistics, self._bm25)
        chosen = {match.memory_id for match in (*nearest[:limit], *matching[:limit])}
        return SearchAnswer(
            semantic=tuple(match for match in nearest if match.memory_id in chosen),
            lexical=tuple(match for match in matching if match.memory_id in chosen),
            statistics=statistics,
            incomplete=self._left_out(corpus, others=len(wanted) - len(comparable)),
            unreadable=len(corpus.wanted(where, corpus.unreadable)) + corpus.unknown,
        )

    def _is_comparable(self, record: SearchRecord) -> bool:
        return self._model is None or record.passage.model == self._model

    def _left_out(self, corpus: "_Corpus", *, others: int) -> str | None:
        """What was left out of account, in words; `others` are of another model."""
        left_out: list[str] = []
        if not corpus.complete:
            left_out.append(f"more than {self._limit:,} memories, of which so many were searched")
        if others:
            left_out.append(
                "memories found by their words alone, as their vectors are of another model: "
                f"{others:,} (run zm admin reindex)"
            )
        return "; ".join(left_out) or None

    def apply(self, documents: Sequence[IndexDocument]) -> None:
        """Nothing to do: the table is the index."""

    def erase(self, memory_ids: Sequence[str]) -> None:
        """Nothing to do: the table is the index."""

    def facets(self, where: SearchFilter) -> Mapping[str, int]:
        """Count the memories of each kind, among those that a query would read."""
        corpus = self._corpus(where)
        counted = Counter(corpus.kinds[each.memory_id] for each in corpus.held(where))
        return {
            kind: number
            for kind, number in counted.items()
            if where.kinds is None or kind in where.kinds
        }

    def _corpus(self, where: SearchFilter) -> "_Corpus":
        shared = self._shared(where)
        reserved = min(len(shared), self._limit // (len(where.visible_in) + 1))
        corpus = self._newest(where.visible_in, self._limit - reserved)
        scopes = {record.memory_id: record.scope for record in corpus.records}
        kinds, unknown = self._kinds(where, {**scopes, **corpus.unreadable})
        left = self._limit - corpus.read
        shared_scopes = {meta.memory_id: meta.scope for meta in shared[:left]}
        read, unreadable = search_records(self._table, shared_scopes)
        return _Corpus(
            records=[*corpus.records, *read],
            unreadable={
                **corpus.unreadable,
                **{memory_id: shared_scopes[memory_id] for memory_id in unreadable},
            },
            complete=corpus.complete and len(shared) <= left,
            kinds=kinds | {meta.memory_id: meta.kind for meta in shared[:left]},
            unknown=unknown,
        )

    def _shared(self, where: SearchFilter) -> list[Meta]:
        """What is shared to the filter's scopes from others, and holds at its moment."""
        entries = (entry for scope in where.visible_in for entry in self._all(SharedMemory, scope))
        ids = dict.fromkeys(entry.memory_id for entry in islice(entries, self._limit))
        read_set = ReadSet(dict.fromkeys(where.visible_in, ""))
        metas, _ = load_readable(self._table, list(ids), read_set)
        return [
            meta
            for meta in metas.values()
            if is_shared_into(meta.scope, meta.shared_to, read_set) and alive(meta, where.alive_at)
        ]

    def _newest(self, scopes: Sequence[str], limit: int) -> "_Corpus":
        """The newest of each scope, in equal shares as far as they have so many; without kinds."""
        records: list[SearchRecord] = []
        unreadable: dict[str, str] = {}
        behind: dict[str, str | None] = dict.fromkeys(scopes)
        while behind and (left := limit - len(records) - len(unreadable)) > 0:
            share = min(max(1, left // len(behind)), _PAGE)
            for scope, after in list(behind.items())[:left]:
                page, failed = search_record_page(
                    self._table, scope, after=after, limit=share, newest_first=True
                )
                records += page.records
                unreadable |= dict.fromkeys(failed, scope)
                behind[scope] = page.next
                if page.next is None:
                    del behind[scope]
        more = (
            self._table.keys(SearchRecord, scope, after=after, limit=1, newest_first=True).records
            for scope, after in behind.items()
        )
        return _Corpus(records, unreadable, complete=not any(more))

    def _kinds(self, where: SearchFilter, scopes: Mapping[str, str]) -> tuple[dict[str, str], int]:
        """The kinds of those that hold at the filter's moment, of memories with their scopes.

        And of how many that can't be told.
        """
        if where.alive_at is not None:
            read_set = ReadSet(dict.fromkeys(where.visible_in, ""))
            metas, damaged = load_readable(self._table, list(scopes), read_set)
            held = (meta for meta in metas.values() if alive(meta, where.alive_at))
            return {meta.memory_id: meta.kind for meta in held}, len(damaged)
        oldest: dict[str, str] = {}
        for memory_id, scope in scopes.items():
            oldest[scope] = min(memory_id, oldest.get(scope, memory_id))
        return {
            entry.memory_id: entry.kind
            for scope, since in oldest.items()
            for timeline in TIMELINES
            for entry in self._all(TimelineEntry, scope, timeline, since=since)
        }, 0

    def _all(self, record: type[Record], *parts: str, since: str | None = None) -> Iterator[Record]:
        after: str | None = None
        while True:
            page = readable_page(
                self._table,
                record,
                *parts,
                after=after,
                since=since,
                limit=_PAGE,
                newest_first=True,
            )
            yield from page.records
            after = page.next
            if after is None:
                return


def _nearest(records: Sequence[SearchRecord], vector: NDArray[np.float32]) -> list[SemanticMatch]:
    """Every memory whose vectors are of the query's dimensions, by its nearest window."""
    size = len(vector)
    windows = [
        (record.memory_id, window)
        for record in records
        for window in record.passage.windows
        if len(window.vector) == size + SCALE_BYTES
    ]
    if not windows:
        return []
    cosines = unpack_all([window.vector for _, window in windows]) @ vector
    best: dict[str, SemanticMatch] = {}
    for (memory_id, window), cosine in zip(windows, cosines.tolist(), strict=True):
        if memory_id not in best or cosine > best[memory_id].cosine:
            best[memory_id] = SemanticMatch(memory_id, cosine, window.start, window.end)
    return sorted(best.values(), key=lambda match: (-match.cosine, match.memory_id))


def _statistics(records: Sequence[SearchRecord], tokens: Sequence[str]) -> CorpusStatistics:
    return CorpusStatistics(
        documents=len(records),
        length=sum(sum(record.passage.tokens.values()) for record in records),
        document_frequency={
            token: sum(token in record.passage.tokens for record in records) for token in tokens
        },
    )


def _lexical(
    records: Sequence[SearchRecord],
    tokens: Sequence[str],
    statistics: CorpusStatistics,
    bm25: Bm25,
) -> list[LexicalMatch]:
    """Every memory that holds a token of the query, by BM25."""
    score_of = bm25_scorer(tokens, statistics, bm25)
    scored: list[tuple[float, LexicalMatch]] = []
    for record in records:
        held = record.passage.tokens
        frequencies = {token: held[token] for token in tokens if token in held}
        if frequencies:
            match = LexicalMatch(record.memory_id, frequencies, sum(held.values()))
            scored.append((score_of(frequencies, match.length), match))
    scored.sort(key=lambda each: (-each[0], each[1].memory_id))
    return [match for _, match in scored]
