"""An embedder for tests: deterministic, quick, and near for texts that share words."""

import functools
import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zero_memory.ports.embedder import Span

_WINDOW = 1_000
_STRIDE = 800


class HashingEmbedder:
    """`ports.embedder.Embedder` that adds up one pseudo-random direction a word."""

    model = "hashing-embedder@1"
    dimensions = 64
    languages = ("en",)

    def windows(self, text: str) -> list[Span]:
        last = max(len(text) - (_WINDOW - _STRIDE), 1)
        return [Span(at, min(at + _WINDOW, len(text))) for at in range(0, last, _STRIDE)]

    def embed_passages(self, passages: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(passages), self.dimensions), np.float32)
        for row, passage in enumerate(passages):
            vectors[row] = self.embed_query(passage)
        return vectors

    def embed_query(self, query: str) -> NDArray[np.float32]:
        summed = np.sum([_direction(word) for word in query.lower().split() or [""]], axis=0)
        return (summed / np.linalg.norm(summed)).astype(np.float32)


@functools.lru_cache(maxsize=10_000)
def _direction(word: str) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8])
    return np.random.default_rng(seed).standard_normal(HashingEmbedder.dimensions)
