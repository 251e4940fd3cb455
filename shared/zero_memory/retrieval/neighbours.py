"""What was written next to each other is about one matter, and speaks for each other."""

from collections.abc import Iterator, Mapping, Sequence

from zero_memory.memory.model import Meta
from zero_memory.retrieval.fusion import Fused
from zero_memory.retrieval.ranking import Ranking
from zero_memory.scopes.visibility import ReadSet


def support(
    fused: Sequence[Fused], metas: Mapping[str, Meta], read_set: ReadSet, ranking: Ranking
) -> dict[str, float]:
    """What its neighbours add to each candidate's score, by memory.

    A neighbour is in the same scope and was written `distance` writes before or after
    (`Meta.follows`). It gives `neighbour_weights[distance - 1]` of what its own score is above the
    lowest; of several at one distance on one side, as writers at one moment are, the best does.
    Only what a leg found counts, so that support is the same at any lag of the index. What is seen
    through a share alone has no neighbours: its reader must not infer what was written around it.
    """
    found = {each.memory_id: each.score for each in fused if each.legs}
    lowest = min(found.values(), default=0.0)
    given: dict[tuple[str, int], float] = {}
    for memory_id, step, neighbour in _neighbours(fused, metas, read_set):
        if neighbour in found:
            above = found[neighbour] - lowest
            given[memory_id, step] = max(above, given.get((memory_id, step), 0.0))
    supported = dict.fromkeys((each.memory_id for each in fused), 0.0)
    for (memory_id, step), above in given.items():
        if abs(step) <= len(ranking.neighbour_weights):
            supported[memory_id] += ranking.neighbour_weights[abs(step) - 1] * above
    return supported


def _neighbours(
    fused: Sequence[Fused], metas: Mapping[str, Meta], read_set: ReadSet
) -> Iterator[tuple[str, int, str]]:
    """Each candidate with each of its neighbours, and the step in writes to it."""
    scopes = {
        each.memory_id: scope
        for each in fused
        if (scope := metas[each.memory_id].scope) in read_set
    }
    for memory_id, scope in scopes.items():
        for distance, earlier in enumerate(metas[memory_id].follows, 1):
            if earlier != memory_id and scopes.get(earlier) == scope:
                yield memory_id, -distance, earlier
                yield earlier, distance, memory_id
