"""Text to tokens: the one analyzer, of passages and queries, in every home of the index.

Identifiers stay whole (`--no-cache`, `snake_case`, `10.0.7.1`, `E0308`, `C++`) and come in their
parts as well. Case, width and Latin diacritics are folded, English words are stemmed, and scripts
that write no blanks come as characters and pairs of them.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import Stemmer

MAX_TOKEN = 128
"""Code points; a longer token is cut, so that a pasted blob still finds itself."""

MAX_BYTES = 200_000
"""UTF-8 bytes of a passage's distinct tokens, with 8 more for each: half of what a record of the
table may hold. No prose of 32,000 characters comes near it."""

_STOP_WORDS = frozenset(
    """
    a about am an and any are as at be because been being but by can could did do does doing don't
    for from had has have having he her hers him his how i if in into is it it's its i'm i've just
    me my of on or our ours she so some such that that's the their them then there these they this
    those to too us very was we were what when where which while who whom whose why will with would
    you your yours
    """.split()  # noqa: SIM905 - a list of words
)

_LETTER = r"[\w\u0080-\U0010ffff]"
_JOINT = r"(?:://|::|:\\|//|\\\\|[-._/:@#+&=~%\\])"
_TERM = re.compile(
    rf"(?P<lead>(?<![-\w])--?|(?<![.\w])(?:[~.]|\.\.)?/\.?|(?<![.\w])\.|(?<!\w)[$@#])?"
    rf"(?P<body>{_LETTER}+(?:(?:'|{_JOINT}){_LETTER}+)*)"
    rf"(?P<trail>\+\+|[+#%](?!{_LETTER}))?"
)
_JOINTS = re.compile(_JOINT)
_SEGMENTS = re.compile(r"[/\\:=&]+")
_HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_NUMBERED = re.compile(r"([A-Za-z]{2,})\d+")
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+)"
)
_LATIN_MARKS = dict.fromkeys(range(0x300, 0x370))


def tokens(text: str) -> dict[str, int]:
    """A passage's tokens and how often each occurs, in the order in which they appear first."""
    frequencies: dict[str, int] = {}
    room = MAX_BYTES
    for token in _tokens(text):
        if token in frequencies:
            frequencies[token] += 1
            continue
        room -= len(token.encode()) + 8
        if room < 0:
            break
        frequencies[token] = 1
    return frequencies


def query_tokens(text: str) -> list[str]:
    """A query's distinct tokens, in the order in which they appear first."""
    return list(tokens(text))


def _tokens(text: str) -> Iterator[str]:
    for term in _TERM.finditer(_fold(text)):
        for token in _of_term(term["lead"] or "", term["body"], term["trail"] or ""):
            yield token[:MAX_TOKEN]


def _of_term(lead: str, body: str, trail: str) -> Iterator[str]:
    """The term as written, without what surrounds it, its segments, and its words."""
    words = [word for word in _JOINTS.split(body) if word]
    if not words:
        return
    if lead or trail:
        yield f"{lead}{body}{trail}".casefold()
    if words != [body]:
        yield body.casefold()
        segments = _SEGMENTS.split(body)
        if len(segments) > 1:
            yield from (part.casefold() for part in segments if _JOINTS.search(part))
    for word in words:
        if word.isascii():
            yield from _of_word(word)
        else:
            yield from _of_script(word)


def _of_word(word: str) -> Iterator[str]:
    folded = word.casefold()
    if folded in _STOP_WORDS:
        return
    yield _stem(folded)
    if _CAMEL.search(word):
        humps: list[str] = _HUMPS.findall(word)
        yield from (_stem(hump.casefold()) for hump in humps if len(hump) > 1)
    elif numbered := _NUMBERED.fullmatch(word):
        yield _stem(numbered[1].casefold())


def _of_script(word: str) -> Iterator[str]:
    for part in _UNSPACED.split(word):
        if not _UNSPACED.match(part):
            if part:
                yield from _of_word(part)
            continue
        yield from part
        yield from map("".join, pairwise(part))


def _fold(text: str) -> str:
    """The text with one form for each letter; only letters are left beyond ASCII."""
    if text.isascii():
        return text
    marked = unicodedata.normalize("NFKD", text)
    plain = unicodedata.normalize("NFC", marked.translate(_LATIN_MARKS))
    return plain.translate(_SEPARATORS)


class _Separators(dict[int, str]):
    """What takes the place of a character beyond ASCII, by its category, as characters are met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if character.isascii() or category[0] in "LMN":
            place = character
        elif character in "\u2018\u2019\u02bc":
            place = "'"
        elif category == "Cf":
            place = ""
        elif category == "So":
            place = f" {character} "
        else:
            place = " "
        self[code] = place
        return place


_SEPARATORS = _Separators()


class _PerThread(threading.local):
    """PyStemmer's stemmers must not be shared between threads."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english")


_per_thread = _PerThread()


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    return _per_thread.english.stemWord(word)
