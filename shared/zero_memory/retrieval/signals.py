"""What speaks for or against a memory beside its relevance: factors on the fused score."""

from zero_memory.memory.model import AUTHORITY_PROVISIONAL, Meta
from zero_memory.retrieval.ranking import Ranking

_DAY_MS = 24 * 3_600_000


def signals(meta: Meta, now: int, ranking: Ranking) -> dict[str, float]:
    """The factors of one memory at a moment (milliseconds), by name."""
    days = max(0, now - meta.created_at) / _DAY_MS
    remaining = 0.5 ** (days / ranking.half_life_days[meta.kind])
    factors = {"age": 1 - ranking.age_share * (1 - remaining)}
    if meta.authority == AUTHORITY_PROVISIONAL:
        factors["provisional"] = ranking.provisional
    if meta.dispute is not None:
        factors["disputed"] = ranking.disputed
    return factors
