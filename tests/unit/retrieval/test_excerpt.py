import pytest
from hypothesis import given
from hypothesis import strategies as st

from zero_memory.retrieval.analysis import query_tokens
from zero_memory.retrieval.excerpt import excerpt

SENTENCE = "The deploy fails when the cache is cold, so warm it first. "
LONG = SENTENCE * 20 + "Set --max-old-space-size to 4096 on the runner. " + SENTENCE * 20


def test_a_text_that_fits_comes_whole() -> None:
    assert excerpt(SENTENCE, 0, len(SENTENCE), 600, []) == (SENTENCE, False)


def test_the_part_with_the_words_of_the_query_comes_with_ellipses() -> None:
    wanted = query_tokens("--max-old-space-size on the runner")
    text, truncated = excerpt(LONG, 0, len(LONG), 200, wanted)
    assert truncated
    assert "--max-old-space-size to 4096" in text
    assert text.startswith("\N{HORIZONTAL ELLIPSIS} ")
    assert text.endswith(" \N{HORIZONTAL ELLIPSIS}")


def test_without_words_in_common_the_window_that_matched_comes() -> None:
    start = len(SENTENCE) * 20
    text, _ = excerpt(LONG, start, len(LONG), 100, [])
    assert text.startswith("\N{HORIZONTAL ELLIPSIS} ")
    assert "old-space-size" in text


def test_no_ellipsis_stands_where_the_text_begins_or_ends() -> None:
    beginning, _ = excerpt(LONG, 0, 100, 100, [])
    end, _ = excerpt(LONG, len(LONG) - 100, len(LONG), 100, [])
    assert beginning.startswith("The deploy")
    assert end.endswith("first.")


@pytest.mark.parametrize(
    "letter",
    ["e\u0301\u0323", "\N{WOMAN}\u200d\N{GIRL}", "\u0938\u094d", "\N{HEAVY BLACK HEART}\ufe0f"],
)
@pytest.mark.parametrize("start", range(90, 96))
def test_no_letter_is_cut_from_its_marks(letter: str, start: int) -> None:
    text, truncated = excerpt(letter * 200, start, len(letter) * 200, 100, [])
    kept = text.strip("\N{HORIZONTAL ELLIPSIS} ")
    assert truncated
    assert kept == letter * (len(kept) // len(letter))


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=300),
    st.integers(0, 300),
    st.integers(0, 300),
    st.integers(20, 100),
)
def test_an_excerpt_is_a_part_of_its_text(text: str, one: int, other: int, limit: int) -> None:
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    found, truncated = excerpt(text, start, end, limit, query_tokens(text[:9]))
    assert truncated == (len(text) > limit)
    if truncated:
        inner = found.removeprefix("\N{HORIZONTAL ELLIPSIS} ").removesuffix(
            " \N{HORIZONTAL ELLIPSIS}"
        )
        assert inner in text
        assert len(found) <= limit + 4 + 16
