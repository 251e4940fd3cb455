"""The passage of an imported memory: from its own vectors where they are this home's, else anew."""

from itertools import pairwise

from zero_memory.contracts.model import MAX_WINDOWS
from zero_memory.memory.model import Passage, StoredWindow
from zero_memory.portability.model import Vectors
from zero_memory.ports.home import EmbedderCard
from zero_memory.retrieval.analysis import tokens
from zero_memory.retrieval.vectors import SCALE_BYTES, pack, unpack


def carried_passage(vectors: Vectors | None, text: str, card: EmbedderCard) -> Passage | None:
    """The passage of a canonical text by the vectors that came with it.

    None when there are none, when another model made them, or when they are not what it makes:
    windows that leave out a part of the text, though there are fewer than `MAX_WINDOWS`, or vectors
    of another length. Tokens are the analyzer's of today.
    """
    if vectors is None or vectors.model != card.model or not _fit(vectors, text, card):
        return None
    windows = tuple(StoredWindow(each.start, each.end, each.vector) for each in vectors.windows)
    return Passage(vectors.model, windows, tokens(text))


def _fit(vectors: Vectors, text: str, card: EmbedderCard) -> bool:
    windows = vectors.windows
    if not windows or windows[0].start != 0 or windows[-1].end != len(text):
        return False
    gaps = len(windows) == MAX_WINDOWS
    return all(
        one.start < other.start and (gaps or other.start <= one.end)
        for one, other in pairwise(windows)
    ) and all(_is_packed(window.vector, card.dimensions) for window in windows)


def _is_packed(vector: bytes, dimensions: int) -> bool:
    if len(vector) != SCALE_BYTES + dimensions:
        return False
    try:
        return pack(unpack(vector)) == vector
    except ValueError:  # no direction
        return False
