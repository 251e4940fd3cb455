"""Two legs' candidates as one list of scores."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from zero_memory.ports.search_index import CorpusStatistics, LexicalMatch, SemanticMatch
from zero_memory.retrieval.lexical import attainable_score, bm25_scorer
from zero_memory.retrieval.ranking import FusionName, Ranking

Leg = Literal["lexical", "semantic"]


class Fused(Struct, frozen=True):
    """A candidate: its score, the legs that found it with their ranks, and its nearest window.

    `factors` are what each leg added to the score. A candidate without a vector to compare has
    the window at the text's start.
    """

    memory_id: str
    score: float
    legs: tuple[tuple[Leg, int], ...]
    factors: Mapping[str, float]
    start: int = 0
    end: int = 0


class Legs(Struct, frozen=True):
    """Both legs by memory: cosine, BM25 (above 0), and rank from 1 among the leg's `limit` best.

    `attainable` is a BM25 that no memory exceeds for this query.
    """

    cosines: Mapping[str, float]
    scores: Mapping[str, float]
    semantic_ranks: Mapping[str, int]
    lexical_ranks: Mapping[str, int]
    attainable: float


Worth = tuple[float, float]
"""What the semantic and the lexical leg add to a candidate's score."""

Fusion = Callable[[Legs, Ranking], Mapping[str, Worth]]


def added_scores(legs: Legs, ranking: Ranking) -> dict[str, Worth]:
    """The cosine above the floor, and the square of BM25 relative to the query's best.

    Squared, half as good a match is worth a quarter, so that sharing common words with the query
    says little (a point of recall@10 on the retrieval benchmark). The best match itself is worth
    its share of what is attainable, up to `full_coverage`: a paraphrase shares no word with its
    answer, and what then matches best does so by accident. A memory whose vector is not comparable
    is taken to be as near as the farthest.
    """
    farthest = min(legs.cosines.values(), default=ranking.cosine_floor)
    best = max(legs.scores.values(), default=1.0)
    weight = ranking.lexical_weight
    if best < ranking.full_coverage * legs.attainable:
        weight *= best / (ranking.full_coverage * legs.attainable)
    worth: dict[str, Worth] = {}
    for memory_id in legs.cosines.keys() | legs.scores.keys():
        cosine = legs.cosines.get(memory_id, farthest)
        near = max(0.0, cosine - ranking.cosine_floor) / (1 - ranking.cosine_floor)
        words = (legs.scores.get(memory_id, 0.0) / best) ** 2
        worth[memory_id] = (near, weight * words)
    return worth


def reciprocal_rank(legs: Legs, ranking: Ranking) -> dict[str, Worth]:
    """1 / (constant + rank) for each leg that found it, as retrieval's origin does."""
    worth: dict[str, Worth] = {}
    for memory_id in legs.semantic_ranks.keys() | legs.lexical_ranks.keys():
        semantic, lexical = legs.semantic_ranks.get(memory_id), legs.lexical_ranks.get(memory_id)
        worth[memory_id] = (
            1 / (ranking.rank_constant + semantic) if semantic else 0.0,
            1 / (ranking.rank_constant + lexical) if lexical else 0.0,
        )
    return worth


FUSIONS: Mapping[FusionName, Fusion] = MappingProxyType(
    {"added_scores": added_scores, "reciprocal_rank": reciprocal_rank}
)


def fuse(
    semantic: Sequence[SemanticMatch],
    lexical: Sequence[LexicalMatch],
    statistics: CorpusStatistics,
    tokens: Sequence[str],
    ranking: Ranking,
    *,
    limit: int,
) -> list[Fused]:
    """Every candidate of either leg, best first; ties by id.

    The legs come in any order, from the index and from fresh writes alike. A leg found what is
    among its `limit` best; what it says of the other leg's candidates counts as well.
    """
    windows = {match.memory_id: match for match in semantic}
    cosines = {match.memory_id: match.cosine for match in semantic}
    score = bm25_scorer(tokens, statistics, ranking.bm25)
    scores = {match.memory_id: score(match.frequencies, match.length) for match in lexical}
    legs = Legs(
        cosines,
        scores,
        _ranks(cosines, limit),
        _ranks(scores, limit),
        attainable_score(tokens, statistics, ranking.bm25),
    )
    fused: list[Fused] = []
    for memory_id, (near, words) in FUSIONS[ranking.fusion](legs, ranking).items():
        window = windows.get(memory_id)
        fused.append(
            Fused(
                memory_id=memory_id,
                score=near + words,
                legs=_found_by(memory_id, legs),
                factors={"semantic": near, "lexical": words},
                start=window.start if window else 0,
                end=window.end if window else 0,
            )
        )
    return sorted(fused, key=lambda each: (-each.score, each.memory_id))


def _ranks(scores: Mapping[str, float], limit: int) -> dict[str, int]:
    best = sorted(scores, key=lambda memory_id: (-scores[memory_id], memory_id))
    return {memory_id: rank for rank, memory_id in enumerate(best[:limit], 1)}


def _found_by(memory_id: str, legs: Legs) -> tuple[tuple[Leg, int], ...]:
    ranks: tuple[tuple[Leg, int | None], ...] = (
        ("lexical", legs.lexical_ranks.get(memory_id)),
        ("semantic", legs.semantic_ranks.get(memory_id)),
    )
    return tuple((leg, rank) for leg, rank in ranks if rank is not None)
