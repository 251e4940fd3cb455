"""The retrieval pipeline: gather candidates, fuse the legs, weigh by signals, take the best."""

from collections.abc import Mapping, Sequence
from math import prod

from msgspec import Struct

from zero_memory.memory.model import Meta
from zero_memory.ports.clock import Clock
from zero_memory.ports.embedder import Embedder
from zero_memory.ports.search_index import SearchIndex
from zero_memory.ports.table import Table
from zero_memory.retrieval.analysis import query_tokens
from zero_memory.retrieval.fusion import Fused, fuse
from zero_memory.retrieval.gather import Candidates, Query, gather
from zero_memory.retrieval.neighbours import support
from zero_memory.retrieval.ranking import Ranking
from zero_memory.retrieval.signals import signals
from zero_memory.scopes.visibility import ReadSet


class Ranked(Struct, frozen=True):
    """A memory that answers, its score, and every factor that made it."""

    meta: Meta
    fused: Fused
    score: float
    factors: Mapping[str, float]


class Found(Struct, frozen=True):
    """What answers a query, best first. `degraded` says why something may be missing.

    `unreadable` might answer it too, but are damaged.
    """

    ranked: tuple[Ranked, ...]
    unreadable: tuple[str, ...]
    degraded: str | None


def ask(embedder: Embedder, text: str) -> Query:
    """A query as both legs take it."""
    return Query(embedder.model, embedder.embed_query(text), query_tokens(text))


def recall(
    table: Table,
    index: SearchIndex,
    clock: Clock,
    *,
    query: Query,
    read_set: ReadSet,
    ranking: Ranking,
    k: int,
    kinds: frozenset[str] | None = None,
    alive_at: int | None = None,
) -> Found:
    """The `k` memories of the read set that answer a query best.

    `alive_at` (milliseconds) asks what held at a moment, None what holds today.
    """
    limit = k * ranking.candidates_per_result
    candidates = gather(
        table,
        index,
        read_set=read_set,
        query=query,
        limit=limit,
        kinds=kinds,
        alive_at=alive_at,
    )
    now = clock.now() if alive_at is None else alive_at
    ranked = rank(candidates, query.tokens, read_set, ranking, now=now, limit=limit)
    return Found(tuple(ranked[:k]), candidates.unreadable, candidates.degraded)


def rank(
    candidates: Candidates,
    tokens: Sequence[str],
    read_set: ReadSet,
    ranking: Ranking,
    *,
    now: int,
    limit: int,
) -> list[Ranked]:
    """Every candidate, best first; ties by id. `limit` is how many each leg was asked for."""
    fused = fuse(
        candidates.semantic,
        candidates.lexical,
        candidates.statistics,
        tokens,
        ranking,
        limit=limit,
    )
    supported = support(fused, candidates.metas, read_set, ranking)
    ranked: list[Ranked] = []
    for each in fused:
        meta, neighbours = candidates.metas[each.memory_id], supported[each.memory_id]
        factors = signals(meta, now, ranking)
        score = (each.score + neighbours) * prod(factors.values())
        made_of = {**each.factors, "neighbours": neighbours, **factors}
        ranked.append(Ranked(meta, each, score, made_of))
    return sorted(ranked, key=lambda each: (-each.score, each.meta.memory_id))
