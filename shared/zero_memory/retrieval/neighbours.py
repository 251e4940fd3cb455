"""What was written next to each other is about one matter, and speaks for each other."""

from collections.abc import Mapping, Sequence

from zero_memory.memory.model import Meta
from zero_memory.retrieval.fusion import Fused
from zero_memory.retrieval.ranking import Ranking
from zero_memory.scopes.visibility import ReadSet


def support(
    fused: Sequence[Fused], metas: Mapping[str, Meta], read_set: ReadSet, ranking: Ranking
) -> dict[str, float]:
    """What its neighbours add to each candidate's score, by memory.

    A neighbour was written to the same scope `distance` writes before or after, and gives
    `neighbour_weights[distance - 1]` of what its own score is above the lowest. Only what a leg
    found counts, so that support is the same at any lag of the index. What is seen through a share
    alone has no neighbours: how much was written between, its reader must not infer.
    """
    places = {
        each.memory_id: (meta.scope, meta.ordinal)
        for each in fused
        if (meta := metas[each.memory_id]).ordinal is not None and meta.scope in read_set
    }
    found = [each for each in fused if each.legs]
    lowest = min((each.score for each in found), default=0.0)
    above: dict[tuple[str, int], float] = {}
    for each in found:
        if place := places.get(each.memory_id):
            above[place] = max(each.score - lowest, above.get(place, 0.0))
    shares = {
        way * distance: weight
        for distance, weight in enumerate(ranking.neighbour_weights, 1)
        for way in (-1, 1)
    }
    supported = dict.fromkeys((each.memory_id for each in fused), 0.0)
    for memory_id, (scope, ordinal) in places.items():
        supported[memory_id] = sum(
            share * above.get((scope, ordinal + step), 0.0) for step, share in shares.items()
        )
    return supported
