"""What was written next to each other is about one matter, and speaks for each other."""

from collections.abc import Mapping, Sequence

from zero_memory.memory.model import Meta
from zero_memory.retrieval.fusion import Fused
from zero_memory.retrieval.ranking import Ranking


def support(
    fused: Sequence[Fused], metas: Mapping[str, Meta], ranking: Ranking
) -> dict[str, float]:
    """What its neighbours add to each candidate's score, by memory.

    A neighbour was written to the same scope `distance` writes before or after, and gives
    `neighbour_weights[distance - 1]` of what its own score is above the lowest. Only what a leg
    found counts, so that support is the same at any lag of the index.
    """
    found = [each for each in fused if each.legs]
    lowest = min((each.score for each in found), default=0.0)
    above: dict[tuple[str, int], float] = {}
    for each in found:
        meta = metas[each.memory_id]
        if meta.ordinal is not None:
            place = (meta.scope, meta.ordinal)
            above[place] = max(each.score - lowest, above.get(place, 0.0))
    shares = {
        way * distance: weight
        for distance, weight in enumerate(ranking.neighbour_weights, 1)
        for way in (-1, 1)
    }
    supported = dict.fromkeys((each.memory_id for each in fused), 0.0)
    for memory_id in supported:
        scope, ordinal = metas[memory_id].scope, metas[memory_id].ordinal
        if ordinal is not None:
            supported[memory_id] = sum(
                share * above.get((scope, ordinal + step), 0.0) for step, share in shares.items()
            )
    return supported
