"""BM25, over candidates whose corpus is given: pure, and the same for an index and fresh writes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from zero_memory.ports.search_index import CorpusStatistics

Numbers = TypeVar("Numbers", float, NDArray[np.float64])


@dataclass(frozen=True)
class Bm25:
    """BM25's parameters: `saturation` is k1 (at least 0), `length_weight` is b (0 to 1)."""

    saturation: float = 1.2
    length_weight: float = 0.75


def rarity(token: str, statistics: CorpusStatistics) -> float:
    """The weight of a token that few memories hold: its inverse document frequency, above 0."""
    holding = statistics.document_frequency.get(token, 0)
    return log(1 + (statistics.documents - holding + 0.5) / (holding + 0.5))


def term_score(
    frequency: Numbers, length: Numbers, rare: float, statistics: CorpusStatistics, bm25: Bm25
) -> Numbers:
    """What one token adds to the score of memories that hold it `frequency` times in `length`."""
    mean = statistics.length / statistics.documents if statistics.length else 1.0
    norm = bm25.saturation * (1 - bm25.length_weight + bm25.length_weight / mean * length)
    return rare * (bm25.saturation + 1) * frequency / (frequency + norm)


def attainable_score(tokens: Iterable[str], statistics: CorpusStatistics, bm25: Bm25) -> float:
    """What no memory's score for these query tokens can exceed; 0 for no tokens."""
    return sum(((bm25.saturation + 1) * rarity(token, statistics) for token in tokens), 0.0)


def bm25_score(
    tokens: Iterable[str],
    frequencies: Mapping[str, int],
    length: int,
    statistics: CorpusStatistics,
    bm25: Bm25,
) -> float:
    """The score of one memory for these query tokens; 0 when it holds none of them."""
    return sum(
        (
            term_score(
                float(frequencies[token]),
                float(length),
                rarity(token, statistics),
                statistics,
                bm25,
            )
            for token in tokens
            if token in frequencies
        ),
        0.0,
    )
