import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zero_memory.retrieval.analysis import MAX_BYTES, MAX_TOKEN, query_tokens, tokens

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=400)


@pytest.mark.parametrize(
    "identifier",
    [
        "E0308",
        "ERR_CONNECTION_REFUSED",
        "--no-cache",
        "-v",
        "snake_case",
        "kebab-case",
        "dotted.name",
        "10.0.7.1",
        "v1.2.3",
        "/opt/embedding/model.py",
        "../shared/x.py",
        "~/.bashrc",
        ".env",
        "std::vector",
        "C:\\Users\\ada",
        "C++",
        "C#",
        "F#",
        "#123",
        "50%",
        "$HOME",
        "@scope/package",
        "key=value",
        "https://example.org:8080/path",
        "mem_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "TODO",
    ],
)
def test_an_identifier_stays_whole_wherever_it_stands(identifier: str) -> None:
    whole = query_tokens(identifier)[0]
    for sentence in (
        f"See {identifier} first.",
        f"It is {identifier}.",
        f"({identifier}), then",
        f"`{identifier}`: yes",
    ):
        assert whole in tokens(sentence)
    if not identifier.isalpha():
        assert whole == identifier.casefold()


@pytest.mark.parametrize(
    ("compound", "parts"),
    [
        ("snake_case_name", {"snake", "case", "name"}),
        ("--no-cache", {"no-cache", "cach"}),
        ("/opt/embedding/model.py", {"opt", "embed", "model.py", "model", "py"}),
        ("HTTPServerError", {"http", "server", "error"}),
        ("python3", {"python"}),
        ("10.0.7.1", {"10", "0", "7", "1"}),
        ("retry-after", {"retri", "after"}),
    ],
)
def test_the_parts_of_an_identifier_are_found_too(compound: str, parts: set[str]) -> None:
    assert parts <= tokens(compound).keys()


@pytest.mark.parametrize(
    ("one", "other"), [("C", "C++"), ("C++", "C#"), ("10.0.7.1", "10.07.1"), ("-v", "--v")]
)
def test_look_alikes_differ(one: str, other: str) -> None:
    assert tokens(one) != tokens(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Deploying", "deployed"),
        ("caf\u00e9", "CAFE"),
        ("\uff26\uff55\uff4c\uff4c", "full"),
        ("Ada\u2019s cache", "ada cache"),
        ("the cache", "cache"),
        ("stra\u00dfe", "STRASSE"),
        ("co\u00adoperate", "cooperate"),
    ],
)
def test_spellings_of_a_word_meet(one: str, other: str) -> None:
    assert tokens(one) == tokens(other)


def test_scripts_without_blanks_come_as_characters_and_pairs() -> None:
    assert tokens("\u6771\u4eac\u90fd").keys() == {
        "\u6771",
        "\u4eac",
        "\u90fd",
        "\u6771\u4eac",
        "\u4eac\u90fd",
    }


def test_words_of_other_scripts_stay_whole_with_their_marks() -> None:
    assert list(tokens("\u0938\u094d\u0935\u093e\u0917\u0924 \u0939\u0948\u0964")) == [
        "\u0938\u094d\u0935\u093e\u0917\u0924",
        "\u0939\u0948",
    ]


def test_emoji_are_tokens() -> None:
    assert tokens("\N{ROCKET}\N{ROCKET} go") == {"\N{ROCKET}": 2, "go": 1}


def test_frequencies_are_counted() -> None:
    assert tokens("cache, caching and the Cache") == {"cach": 3}


def test_a_blob_is_found_by_itself() -> None:
    blob = "q" * 30_000
    assert tokens(blob) == {"q" * MAX_TOKEN: 1}
    assert query_tokens(blob) == ["q" * MAX_TOKEN]


def test_what_a_passage_may_take_is_bounded() -> None:
    crowd = " ".join(chr(0x4E00 + number) * 2 + str(number) for number in range(16_000))
    found = tokens(crowd)
    assert sum(len(token.encode()) + 8 for token in found) <= MAX_BYTES


@given(any_text)
def test_any_text_gives_tokens_that_are_not_blank(text: str) -> None:
    for token, frequency in tokens(text).items():
        assert frequency > 0
        assert token
        assert not any(character.isspace() for character in token)
        assert len(token) <= MAX_TOKEN


@given(any_text)
def test_the_tokens_of_a_query_are_those_of_the_passage_that_says_the_same(text: str) -> None:
    assert query_tokens(text) == list(tokens(text))


@given(any_text)
def test_canonically_equal_texts_have_equal_tokens(text: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert tokens(composed) == tokens(decomposed)


@given(any_text, any_text)
def test_a_passage_holds_the_tokens_of_its_lines(first: str, second: str) -> None:
    assert tokens(f"{first}\n{second}").keys() == tokens(first).keys() | tokens(second).keys()
