"""Candidates for a query: what the index holds, and what was written since, scored alike."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from zero_memory.memory.model import Meta, PendingMarker, SearchRecord
from zero_memory.memory.reading import load_readable
from zero_memory.ports.search_index import (
    CorpusStatistics,
    IndexUnavailable,
    LexicalMatch,
    SearchAnswer,
    SearchFilter,
    SearchIndex,
    SemanticMatch,
)
from zero_memory.ports.table import Table
from zero_memory.retrieval.reading import search_records
from zero_memory.retrieval.vectors import cosines
from zero_memory.scopes.visibility import ReadSet, scope_filter

# A read looks at this many pending writes of each scope; more is said as `index_behind`.
_PENDING_READ = 200


class Query(Struct, frozen=True):
    """A query as both legs take it, and the model that its vector is of."""

    model: str
    vector: NDArray[np.float32]
    tokens: Sequence[str]


class Candidates(Struct, frozen=True):
    """What may answer a query: both legs' matches among memories that the caller may see.

    `unreadable` are those among these that are damaged in the table. `degraded` names every reason
    why candidates may be missing, None when none can be.
    """

    semantic: tuple[SemanticMatch, ...]
    lexical: tuple[LexicalMatch, ...]
    statistics: CorpusStatistics
    metas: Mapping[str, Meta]
    unreadable: tuple[str, ...]
    degraded: str | None


def gather(
    table: Table,
    index: SearchIndex,
    *,
    read_set: ReadSet,
    query: Query,
    limit: int,
    kinds: frozenset[str] | None = None,
    alive_at: int | None = None,
) -> Candidates:
    """Each leg's `limit` best candidates of the index, merged with every pending write.

    Markers are read before the index, so that a write which the indexer settles in between is in
    one of the two. The index answers as if it did not hold the pending memories, so that an answer
    is the same at any lag.
    """
    pending, behind = _pending(table, read_set)
    where = SearchFilter(
        visible_in=scope_filter(read_set),
        kinds=tuple(sorted(kinds)) if kinds is not None else None,
        alive_at=alive_at,
        without=tuple(pending),
    )
    unavailable: IndexUnavailable | None = None
    try:
        found = index.search(where, vector=query.vector, tokens=query.tokens, limit=limit)
    except IndexUnavailable as failure:
        found = SearchAnswer((), (), CorpusStatistics())
        unavailable = failure
    ids = [match.memory_id for match in (*found.semantic, *found.lexical)]
    seen, damaged = load_readable(table, [*ids, *pending], read_set)
    metas = {memory_id: meta for memory_id, meta in seen.items() if alive(meta, alive_at)}
    fresh, unsearchable = search_records(
        table, {each: metas[each].scope for each in pending if each in metas}
    )
    wanted = {each for each in pending if each in metas and _is_of(metas[each], kinds)}
    matching = [each for each in fresh if each.memory_id in wanted]
    return Candidates(
        semantic=(
            *(match for match in found.semantic if match.memory_id in metas),
            *_semantic(matching, query),
        ),
        lexical=(
            *(match for match in found.lexical if match.memory_id in metas),
            *_lexical(matching, query),
        ),
        statistics=_with_fresh(found.statistics, fresh, query),
        metas=metas,
        unreadable=tuple(damaged),
        degraded=_degraded(
            unavailable=unavailable,
            incomplete=found.incomplete,
            unreadable=found.unreadable + len(damaged) + len(wanted.intersection(unsearchable)),
            behind=behind,
        ),
    )


def alive(meta: Meta, at: int | None) -> bool:
    """Whether a memory holds at a moment (None: today)."""
    if at is None:
        return meta.live
    return any(each.start <= at and (each.end is None or at < each.end) for each in meta.alive)


def _is_of(meta: Meta, kinds: frozenset[str] | None) -> bool:
    return kinds is None or meta.kind in kinds


def _degraded(
    *, unavailable: IndexUnavailable | None, incomplete: str | None, unreadable: int, behind: bool
) -> str | None:
    """Every reason, the gravest first."""
    reasons: list[str] = []
    if unavailable is not None:
        reasons.append(f"index_unavailable: {unavailable}")
    if incomplete is not None:
        reasons.append(f"index_incomplete: {incomplete}")
    if unreadable:
        reasons.append(f"index_incomplete: unreadable memories left out: {unreadable:,}")
    if behind:
        reasons.append("index_behind")
    return "; ".join(each.removesuffix(".") for each in reasons) or None


def _pending(table: Table, read_set: ReadSet) -> tuple[list[str], bool]:
    ids: list[str] = []
    behind = False
    for scope in scope_filter(read_set):
        page = table.keys(PendingMarker, scope, limit=_PENDING_READ, newest_first=True)
        ids.extend(page.records)
        behind = behind or page.next is not None
    return list(dict.fromkeys(ids)), behind


def _semantic(fresh: Sequence[SearchRecord], query: Query) -> list[SemanticMatch]:
    """Each memory by its nearest window, the first of equally near ones."""
    windows = [
        (record.memory_id, window)
        for record in fresh
        if record.passage.model == query.model
        for window in record.passage.windows
    ]
    scores = cosines(query.vector, [window.vector for _, window in windows]) if windows else ()
    nearest: dict[str, SemanticMatch] = {}
    for (memory_id, window), score in zip(windows, map(float, scores), strict=True):
        if memory_id not in nearest or score > nearest[memory_id].cosine:
            nearest[memory_id] = SemanticMatch(memory_id, score, window.start, window.end)
    return list(nearest.values())


def _lexical(fresh: Sequence[SearchRecord], query: Query) -> list[LexicalMatch]:
    matches: list[LexicalMatch] = []
    for record in fresh:
        tokens = record.passage.tokens
        frequencies = {token: tokens[token] for token in query.tokens if token in tokens}
        if frequencies:
            matches.append(LexicalMatch(record.memory_id, frequencies, sum(tokens.values())))
    return matches


def _with_fresh(
    statistics: CorpusStatistics, fresh: Sequence[SearchRecord], query: Query
) -> CorpusStatistics:
    """The corpus with the fresh writes counted in."""
    if not fresh:
        return statistics
    held = dict(statistics.document_frequency)
    for record in fresh:
        for token in query.tokens:
            if token in record.passage.tokens:
                held[token] = held.get(token, 0) + 1
    return CorpusStatistics(
        documents=statistics.documents + len(fresh),
        length=statistics.length + sum(sum(each.passage.tokens.values()) for each in fresh),
        document_frequency=held,
    )
