"""What retrieval relies on in an embedder."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zero_memory.ports.embedder import Embedder

PLAIN = "The deploy fails when the cache is cold, so warm it first."
TEXTS = {
    "empty": "",
    "blank": " \n\t ",
    "plain": PLAIN,
    "long": PLAIN * 300,
    "one word of 32,000 characters": "x" * 32_000,
    "32,000 emoji": "\N{ROCKET}" * 32_000,
    "CJK": "\u6771\u4eac\u306e\u5929\u6c17" * 3_000,
    "combining marks": "e\u0301\u0323" * 5_000,
    "punctuation": "." * 20_000,
    "joined emoji": "\N{WOMAN}\u200d\N{GIRL} " * 2_000,
    "special tokens": "[CLS] [SEP] [MASK] [PAD] " * 500,
    "identifiers": "snake_case --no-cache /opt/x/y.py E0308 " * 400,
}

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=3_000)
quick = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_windows_cover_every_code_point_in_order(embedder: Embedder, text: str) -> None:
    _assert_covers(embedder, text)


@quick
@given(text=any_text, times=st.integers(1, 40))
def test_windows_cover_any_text(embedder: Embedder, text: str, times: int) -> None:
    _assert_covers(embedder, text * times)


def _assert_covers(embedder: Embedder, text: str) -> None:
    spans = embedder.windows(text)
    assert spans[0].start == 0
    assert spans[-1].end == len(text)
    for before, after in pairwise(spans):
        assert before.start < after.start <= before.end < after.end


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_each_window_is_embedded_whole(embedder: Embedder, text: str) -> None:
    spans = embedder.windows(text)
    ends = [spans[0], spans[len(spans) // 2], spans[-1]]
    vectors = embedder.embed_passages([text[span.start : span.end] for span in ends])
    assert vectors.shape == (len(ends), embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_a_short_text_is_one_window(embedder: Embedder) -> None:
    assert [(span.start, span.end) for span in embedder.windows(PLAIN)] == [(0, len(PLAIN))]
    assert [(span.start, span.end) for span in embedder.windows("")] == [(0, 0)]


def test_neighbouring_windows_overlap(embedder: Embedder) -> None:
    spans = embedder.windows(TEXTS["long"])
    assert len(spans) > 1
    assert all(after.start < before.end for before, after in pairwise(spans))


def test_a_vector_depends_on_its_text_alone(embedder: Embedder) -> None:
    alone = embedder.embed_passages([PLAIN])[0]
    among = embedder.embed_passages([TEXTS["identifiers"][:900], PLAIN, "short"])[1]
    assert np.array_equal(alone, among)


def test_threads_get_the_vectors_of_their_texts(embedder: Embedder) -> None:
    texts = [f"{PLAIN} Attempt {number}." for number in range(12)]
    expected = embedder.embed_passages(texts)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(embedder.embed_passages, [[text] for text in texts]))
    assert np.allclose(expected, np.concatenate(found), atol=1e-6)


@pytest.mark.parametrize("query", TEXTS.values(), ids=TEXTS)
def test_a_query_of_any_length_has_a_vector(embedder: Embedder, query: str) -> None:
    vector = embedder.embed_query(query)
    assert vector.shape == (embedder.dimensions,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_a_passage_is_nearest_to_a_query_in_its_words(embedder: Embedder) -> None:
    passages = [PLAIN, "Our office moved to another street.", "Tea tastes better than coffee."]
    cosines = embedder.embed_passages(passages) @ embedder.embed_query("deploy fails, cache cold")
    assert int(np.argmax(cosines)) == 0


def test_no_passages_are_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed_passages([]).shape == (0, embedder.dimensions)


def test_an_embedder_says_what_it_is(embedder: Embedder) -> None:
    assert embedder.model
    assert embedder.languages
