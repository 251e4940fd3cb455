"""Which texts say the same, and which only look alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zero_memory.memory.canonical import canonical, digest, fold, fold_name, folded_digest

ANYTHING_ELSE = [
    ("The database is at 10.0.7.1", "The database is at 10.0.9.1"),
    ("The database is at 10.0.7.1", "The database is at 10.07.1"),
    ("X is blue", "X is green"),
    ("The service is written in C", "The service is written in C++"),
    ("The service is written in C++", "The service is written in C#"),
    ("Retries are on", "Retries are not on"),
    ("Retries are on", "Retries aren't on"),
    ("Use version 2.1", "Use version 2.10"),
    ("The freeze ends 2026-03-01", "The freeze ends 2026-03-02"),
    ("Run it with -v", "Run it with --v"),
    ("Set the flag FOO_BAR", "Set the flag FOOBAR"),
    ("It costs $5", "It costs 5"),
    ("Deploys happen at 5 pm", "Deploys happen at 5pm"),
    ("We use is-even", "We use is even"),
    ("Straße 5 is the office", "Strase 5 is the office"),
]

SAME_WORDS = [
    ("The deploy runs on Friday", "the deploy runs on friday."),
    ("The deploy runs on Friday", "  Deploy  runs\ton\nFriday!  "),
    ("The deploy runs on Friday", "“The deploy” runs on a Friday"),
    ("Postgres (the database) is slow", "Postgres, database, is slow"),
]


@pytest.mark.parametrize(("earlier", "later"), SAME_WORDS)
def test_the_same_words_fold_alike(earlier: str, later: str):
    assert fold(earlier) == fold(later)
    assert digest("fact", earlier) != digest("fact", later)


@pytest.mark.parametrize(("earlier", "later"), ANYTHING_ELSE)
def test_what_says_anything_else_folds_apart(earlier: str, later: str):
    assert folded_digest("fact", earlier) != folded_digest("fact", later)


def test_each_kind_has_keys_of_its_own():
    assert digest("fact", "one") != digest("gotcha", "one")
    assert folded_digest("fact", "one") != folded_digest("gotcha", "one")


def test_two_spellings_of_a_composed_letter_are_one():
    assert digest("fact", "caf\u00e9") == digest("fact", "cafe\u0301")
    assert digest("fact", "cafe") != digest("fact", "caf\u00e9")


@given(st.text(st.characters(codec="utf-8")))
def test_canonical_and_folded_forms_are_final(text: str):
    assert canonical(canonical(text)) == canonical(text)
    assert fold(fold(text)) == fold(text)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r")))
def test_line_ends_and_outer_blanks_do_not_count(text: str):
    assert digest("fact", f" \n{text}\r\n") == digest("fact", text)
    assert digest("fact", text.replace("\n", "\r\n")) == digest("fact", text)


@pytest.mark.parametrize(
    "name", ["Postgres", "POSTGRES", "postgres.", "\uff30ostgres", "the Postgres"]
)
def test_spellings_of_a_name_meet(name: str):
    assert fold_name(name) == "postgres"
