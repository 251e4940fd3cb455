from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zero_memory.ports.search_index import CorpusStatistics
from zero_memory.retrieval.lexical import Bm25, attainable_score, bm25_scorer, rarity

STATISTICS = CorpusStatistics(1_000, 20_000, {"cache": 400, "e0308": 2})


def test_a_rare_token_weighs_more_than_a_common_one() -> None:
    assert rarity("e0308", STATISTICS) > rarity("cache", STATISTICS) > 0


def test_the_score_is_that_of_the_textbook() -> None:
    score = bm25_scorer(["e0308", "absent"], STATISTICS, Bm25())({"e0308": 3}, 10)
    rare = log(1 + (1_000 - 2 + 0.5) / (2 + 0.5))
    assert score == pytest.approx(rare * 3 * 2.2 / (3 + 1.2 * (0.25 + 0.75 * 10 / 20)))


def test_a_memory_without_the_tokens_scores_nothing() -> None:
    assert bm25_scorer(["e0308"], STATISTICS, Bm25())({"cache": 3}, 10) == 0


@given(st.integers(1, 500), st.integers(1, 500), st.integers(1, 5_000))
def test_more_of_a_token_never_scores_less_and_a_longer_text_never_more(
    frequency: int, more: int, length: int
) -> None:
    def score(frequency: int, length: int) -> float:
        return bm25_scorer(["cache"], STATISTICS, Bm25())({"cache": frequency}, length)

    assert score(frequency + more, length) >= score(frequency, length)
    assert score(frequency, length + more) <= score(frequency, length)


@given(
    st.dictionaries(st.sampled_from(["cache", "e0308", "absent"]), st.integers(1, 10_000)),
    st.integers(0, 5_000),
)
def test_no_score_exceeds_what_is_attainable(frequencies: dict[str, int], length: int) -> None:
    asked = ["cache", "e0308"]
    score = bm25_scorer(asked, STATISTICS, Bm25())(frequencies, length)
    assert score <= attainable_score(asked, STATISTICS, Bm25())
    assert attainable_score([], STATISTICS, Bm25()) == 0


@given(st.integers(1, 9))
def test_an_empty_corpus_scores_fresh_writes(frequency: int) -> None:
    assert bm25_scorer(["cache"], CorpusStatistics(), Bm25())({"cache": frequency}, 9) > 0
