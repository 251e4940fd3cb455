"""From a text to what retrieval keeps of it."""

from zero_memory.memory.model import Passage, StoredWindow
from zero_memory.ports.embedder import Embedder
from zero_memory.retrieval.analysis import tokens
from zero_memory.retrieval.vectors import pack


def read_passage(embedder: Embedder, text: str) -> Passage:
    """The windows, vectors and tokens of a canonical text."""
    spans = embedder.windows(text)
    vectors = embedder.embed_passages([text[span.start : span.end] for span in spans])
    windows = tuple(
        StoredWindow(span.start, span.end, pack(vector))
        for span, vector in zip(spans, vectors, strict=True)
    )
    return Passage(embedder.model, windows, tokens(text))
