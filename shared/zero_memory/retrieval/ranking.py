"""Every number that ranking depends on, in one place."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct, field

from zero_memory.memory.model import Kind
from zero_memory.retrieval.lexical import Bm25

FusionName = Literal["added_scores", "reciprocal_rank"]

HALF_LIFE_DAYS: Mapping[Kind, int] = MappingProxyType(
    {
        "fact": 365,
        "decision": 3650,
        "preference": 1825,
        "convention": 3650,
        "gotcha": 1095,
        "reference": 1825,
        "episode": 30,
        "task": 14,
        "open-question": 14,
    }
)
"""Days after which a memory has lost half of what age can take from it."""


class Ranking(Struct, frozen=True):
    """How candidates become an order.

    Each leg gives `candidates_per_result` candidates for every result asked for; `fusion` names
    the function that makes one score of two. For `added_scores`: a cosine of `cosine_floor` or
    less is worth nothing; `lexical_weight` is what the best lexical match of a query is worth
    beside a cosine of 1, if its BM25 is at least `full_coverage` (0 to 1) of what is attainable
    for the query, and proportionally less below. From the tenth to the ninetieth percentile of
    the retrieval benchmark's queries the best match reaches 0.33 to 0.50 of it for keywords and
    0.12 to 0.44 in chat, but 0.06 to 0.14 for paraphrases without a shared word, by accident:
    0.2 and 0.3 differ by less than half a point on either set. For `reciprocal_rank`:
    `rank_constant` is added to each rank.

    `neighbour_weights` are the shares of its neighbours' scores that a memory gets, by distance in
    writes (`retrieval.neighbours`); half as much of the second as of the first does as well as any.

    Age takes at most `age_share` of a score, so that a direct hit is found however old it is; a
    provisional memory keeps `provisional` of it, and one under an open dispute `disputed`.
    """

    candidates_per_result: int = 4
    fusion: FusionName = "added_scores"
    cosine_floor: float = 0.65
    lexical_weight: float = 0.3
    full_coverage: float = 0.3
    rank_constant: int = 60
    neighbour_weights: tuple[float, ...] = (0.15, 0.075)
    age_share: float = 0.1
    provisional: float = 0.9
    disputed: float = 0.8
    bm25: Bm25 = field(default_factory=Bm25)
    half_life_days: Mapping[Kind, int] = field(default_factory=lambda: HALF_LIFE_DAYS)
