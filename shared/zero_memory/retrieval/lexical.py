"""BM25, over candidates whose corpus is given: pure, and the same for an index and fresh writes."""

from collections.abc import Callable, Iterable, Mapping
from math import log
from typing import TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from zero_memory.ports.search_index import CorpusStatistics

Numbers = TypeVar("Numbers", float, NDArray[np.float64])


class Bm25(Struct, frozen=True):
    """BM25's parameters: `saturation` is k1 (at least 0), `length_weight` is b (0 to 1)."""

    saturation: float = 1.2
    length_weight: float = 0.75


def rarity(token: str, statistics: CorpusStatistics) -> float:
    """The weight of a token that few memories hold: its inverse document frequency, above 0."""
    holding = statistics.document_frequency.get(token, 0)
    return log(1 + (statistics.documents - holding + 0.5) / (holding + 0.5))


def term_weight(token: str, statistics: CorpusStatistics, bm25: Bm25) -> float:
    """What a token adds to no score more than."""
    return (bm25.saturation + 1) * rarity(token, statistics)


def length_norm(length: Numbers, statistics: CorpusStatistics, bm25: Bm25) -> Numbers:
    """How often memories of this length hold a token that adds half of its weight."""
    mean = statistics.length / statistics.documents if statistics.length else 1.0
    return bm25.saturation * (1 - bm25.length_weight + bm25.length_weight / mean * length)


def term_score(frequency: Numbers, norm: Numbers, weight: float) -> Numbers:
    """What one token adds to the score of memories that hold it `frequency` times."""
    return weight * frequency / (frequency + norm)


def attainable_score(tokens: Iterable[str], statistics: CorpusStatistics, bm25: Bm25) -> float:
    """What no memory's score for these query tokens can exceed; 0 for no tokens."""
    return sum((term_weight(token, statistics, bm25) for token in tokens), 0.0)


Scorer = Callable[[Mapping[str, int], int], float]
"""A memory's score by its frequencies and its length; 0 when it holds no token of the query."""


def bm25_scorer(tokens: Iterable[str], statistics: CorpusStatistics, bm25: Bm25) -> Scorer:
    """BM25 for these query tokens in a corpus, whose weights are computed once."""
    weights = {token: term_weight(token, statistics, bm25) for token in tokens}

    def score(frequencies: Mapping[str, int], length: int) -> float:
        norm = length_norm(float(length), statistics, bm25)
        total = 0.0
        for token, weight in weights.items():
            frequency = frequencies.get(token)
            if frequency:
                total += term_score(float(frequency), norm, weight)
        return total

    return score
