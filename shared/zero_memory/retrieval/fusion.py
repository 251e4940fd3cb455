"""Two legs' candidates as one list of scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from zero_memory.ports.search_index import CorpusStatistics, LexicalMatch, SemanticMatch
from zero_memory.retrieval.lexical import bm25_score
from zero_memory.retrieval.ranking import Ranking

Leg = Literal["lexical", "semantic"]


@dataclass(frozen=True)
class Fused:
    """A candidate: its score, the legs that found it with their ranks, and its nearest window.

    A candidate that only the lexical leg found has the window at the text's start.
    """

    memory_id: str
    score: float
    legs: tuple[tuple[Leg, int], ...]
    factors: Mapping[str, float]
    start: int = 0
    end: int = 0


def fuse(
    semantic: Sequence[SemanticMatch],
    lexical: Sequence[LexicalMatch],
    statistics: CorpusStatistics,
    tokens: Sequence[str],
    ranking: Ranking,
) -> list[Fused]:
    """Every candidate of either leg, best first; ties by id.

    Cosine above the floor and BM25 relative to the query's best are added, weighted. A memory
    that the semantic leg did not return is taken to be as near as its last one.
    """
    nearest = sorted(semantic, key=lambda match: (-match.cosine, match.memory_id))
    scored = {
        match.memory_id: bm25_score(
            tokens, match.frequencies, match.length, statistics, ranking.bm25
        )
        for match in lexical
    }
    strongest = sorted(scored, key=lambda memory_id: (-scored[memory_id], memory_id))
    best = scored[strongest[0]] if strongest else 1.0
    windows = {match.memory_id: match for match in nearest}
    semantic_rank = {match.memory_id: at for at, match in enumerate(nearest, 1)}
    lexical_rank = {memory_id: at for at, memory_id in enumerate(strongest, 1)}
    farthest = nearest[-1].cosine if nearest else ranking.cosine_floor
    fused: list[Fused] = []
    for memory_id in windows.keys() | scored.keys():
        window = windows.get(memory_id)
        cosine = window.cosine if window else farthest
        near = max(0.0, cosine - ranking.cosine_floor) / (1 - ranking.cosine_floor)
        words = ranking.lexical_weight * scored.get(memory_id, 0.0) / best
        legs: list[tuple[Leg, int]] = []
        if memory_id in lexical_rank:
            legs.append(("lexical", lexical_rank[memory_id]))
        if memory_id in semantic_rank:
            legs.append(("semantic", semantic_rank[memory_id]))
        fused.append(
            Fused(
                memory_id=memory_id,
                score=near + words,
                legs=tuple(legs),
                factors={"semantic": near, "lexical": words},
                start=window.start if window else 0,
                end=window.end if window else 0,
            )
        )
    return sorted(fused, key=lambda each: (-each.score, each.memory_id))
