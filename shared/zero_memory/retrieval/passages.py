"""From a text to what retrieval keeps of it."""

from collections.abc import Sequence

from zero_memory.contracts.model import MAX_WINDOWS
from zero_memory.memory.model import Passage, StoredWindow
from zero_memory.ports.embedder import Embedder, Span
from zero_memory.retrieval.analysis import tokens
from zero_memory.retrieval.vectors import pack


def read_passage(embedder: Embedder, text: str) -> Passage:
    """The windows, vectors and tokens of a canonical text.

    Of more than `MAX_WINDOWS` windows so many are embedded, at equal distances from the first to
    the last. Tokens are those of the whole text.
    """
    spans = _spread(embedder.windows(text))
    vectors = embedder.embed_passages([text[span.start : span.end] for span in spans])
    windows = tuple(
        StoredWindow(span.start, span.end, pack(vector))
        for span, vector in zip(spans, vectors, strict=True)
    )
    return Passage(embedder.model, windows, tokens(text))


def _spread(spans: Sequence[Span]) -> Sequence[Span]:
    last, steps = len(spans) - 1, MAX_WINDOWS - 1
    return spans if last <= steps else [spans[at * last // steps] for at in range(MAX_WINDOWS)]
