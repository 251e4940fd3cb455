"""Frontmatter: what is written above a text comes back as it was."""

from hypothesis import given
from hypothesis import strategies as st

from zero_memory.portability.frontmatter import Fronted, read_frontmatter, with_frontmatter

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    | st.sampled_from("\x85\u2028\u2029\ufeff\r\n\t'\"#:- "),
    max_size=8,
)


@given(st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, max_size=3), max_size=3), TEXTS)
def test_any_texts_come_back(fields: dict[str, str | list[str]], body: str) -> None:
    assert read_frontmatter(with_frontmatter(fields, body)) == Fronted(fields, body)
