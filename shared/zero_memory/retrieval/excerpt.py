"""The part of a text that answers a query."""

import re
import unicodedata
from collections.abc import Collection

from zero_memory.retrieval.analysis import query_tokens

_ELLIPSIS = "…"
_WORD = re.compile(r"\S+")
# Of an excerpt's room, what stands before its first word of the query, so that it reads on.
_LEAD = 8
# Of a run of combining marks, what a cut steps back over; nobody writes as many on one letter.
_MARKS = 16
_JOINER = "\u200d"


def excerpt(
    text: str, start: int, end: int, limit: int, wanted: Collection[str]
) -> tuple[str, bool]:
    """At most about `limit` characters of the text's window, and whether anything was left out.

    A text that fits comes whole. Of a longer one the part of the window from `start` to `end` that
    holds most of the `wanted` tokens, cut between words, with an ellipsis where the text goes on.
    When the window holds none of them but the text does, the part comes from there.
    """
    if len(text) <= limit:
        return text, False
    tokens = frozenset(wanted)
    first = _densest(text, start, end, limit, tokens)
    if first is None:
        first = _densest(text, 0, len(text), limit, tokens)
    first = min(start if first is None else first, len(text) - limit)
    last = first + limit
    if first > 0:
        blank = re.compile(r"\s").search(text, first, first + limit // 4)
        first = blank.end() if blank else _between_letters(text, first)
    if last < len(text):
        cut = max(text.rfind(blank, last - limit // 4, last + 1) for blank in " \n\t")
        last = cut if cut > first else _between_letters(text, last)
    lead = f"{_ELLIPSIS} " if first > 0 else ""
    trail = f" {_ELLIPSIS}" if last < len(text) else ""
    return f"{lead}{text[first:last].strip()}{trail}", True


def _densest(text: str, start: int, end: int, limit: int, wanted: frozenset[str]) -> int | None:
    """Where a stretch of `limit` characters begins that holds most words of the query, if any."""
    hits = [
        word.start()
        for word in _WORD.finditer(text, start, end)
        if not wanted.isdisjoint(query_tokens(word[0]))
    ]
    best, most, left = None, 0, 0
    for right, at in enumerate(hits, 1):
        while at - hits[left] > limit - 2 * limit // _LEAD:
            left += 1
        if right - left > most:
            best, most = max(0, hits[left] - limit // _LEAD), right - left
    return best


def _between_letters(text: str, at: int) -> int:
    """The nearest place before `at` that parts no letter from its marks and no joined emoji."""
    for place in range(at, max(at - _MARKS, 0), -1):
        if not (
            unicodedata.category(text[place]).startswith("M")
            or text[place] == _JOINER
            or text[place - 1] == _JOINER
        ):
            return place
    return at
