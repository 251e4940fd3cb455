"""Text to vectors, as a port."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray


class Span(Struct, frozen=True):
    """A window's half-open range of code points in its text."""

    start: int
    end: int


class Embedder(Protocol):
    """A sentence-embedding model.

    A passage's vector is a function of the passage alone: it never depends on the texts embedded
    beside it. Vectors have unit length, so a dot product is a cosine.
    """

    @property
    def model(self) -> str:
        """The name and revision of the model; vectors of two models are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """How many numbers a vector holds."""
        ...

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages (BCP 47) that the model was trained for."""
        ...

    def windows(self, text: str) -> list[Span]:
        """Overlapping windows that cover every code point of `text`, each within the model's limit.

        A text that fits has exactly one, the whole of it; an empty text has one empty window.
        """
        ...

    def embed_passages(self, passages: Sequence[str]) -> "NDArray[np.float32]":
        """Vectors of texts to be found, shape (len(passages), dimensions)."""
        ...

    def embed_query(self, query: str) -> "NDArray[np.float32]":
        """The vector of a text to find others by, shape (dimensions,); cut at the model's limit."""
        ...
