"""What is kept of texts that have more windows than are embedded."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hashing_embedder import HashingEmbedder
from zero_memory.contracts.model import MAX_WINDOWS
from zero_memory.portability.model import Vectors, Window
from zero_memory.portability.passages import carried_passage
from zero_memory.ports.home import EmbedderCard
from zero_memory.retrieval.analysis import tokens
from zero_memory.retrieval.passages import read_passage

EMBEDDER = HashingEmbedder()
CARD = EmbedderCard(EMBEDDER.model, EMBEDDER.dimensions, EMBEDDER.languages)


def text_of(characters: int) -> str:
    return " ".join(f"word{number}" for number in range(characters // 5))[:characters].strip()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 32_000))
def test_windows_are_whole_or_spread_from_the_first_to_the_last_and_words_are_all_kept(
    characters: int,
) -> None:
    text = text_of(characters)
    whole = [(each.start, each.end) for each in EMBEDDER.windows(text)]
    passage = read_passage(EMBEDDER, text)
    kept = [(each.start, each.end) for each in passage.windows]
    assert len(kept) == min(len(whole), MAX_WINDOWS)
    places = [whole.index(each) for each in kept]
    steps = {after - before for before, after in pairwise(places)}
    assert (places[0], places[-1]) == (0, len(whole) - 1)
    assert not steps or max(steps) - min(steps) <= 1
    assert passage.tokens == tokens(text)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 32_000), st.data())
def test_vectors_that_an_export_brings_are_taken_unless_a_part_is_missing(
    characters: int, data: st.DataObject
) -> None:
    text = text_of(characters)
    passage = read_passage(EMBEDDER, text)
    windows = [Window(each.start, each.end, each.vector) for each in passage.windows]
    assert carried_passage(Vectors(passage.model, tuple(windows)), text, CARD) == passage
    del windows[data.draw(st.integers(0, len(windows) - 1))]
    # The hashing embedder's neighbours overlap, but those two away from each other do not.
    assert carried_passage(Vectors(passage.model, tuple(windows)), text, CARD) is None
