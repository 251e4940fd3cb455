"""The forms of a text that are compared, hashed and embedded; the text itself is kept as sent."""

import hashlib
import unicodedata

from zero_memory.memory.model import Kind

_ARTICLES = frozenset(("a", "an", "the"))
_SENTENCE_PUNCTUATION = ".,;:!?…\"'“”\u2018\u2019«»()"


def canonical(text: str) -> str:
    """The text in Unicode NFC, with line feeds for all line ends and outer blanks trimmed."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", lines).strip()


def digest(kind: Kind, text: str) -> str:
    """The exact-duplicate key within a scope: SHA-256 of kind and canonical text, in hex."""
    return hashlib.sha256(f"{kind}\n{canonical(text)}".encode()).hexdigest()


def fold(text: str) -> str:
    """The words of a text without case, articles, extra blanks and punctuation at their edges.

    Symbols and everything inside a word stay: C, C++ and C# differ, and so do 10.0.7.1 and
    10.07.1. A word that is nothing but punctuation stays too.
    """
    words: list[str] = []
    for word in canonical(text).casefold().split():
        bare = word.strip(_SENTENCE_PUNCTUATION) or word
        if bare not in _ARTICLES:
            words.append(bare)
    return " ".join(words)


def folded_digest(kind: Kind, text: str) -> str:
    """The key under which restatements of one wording meet: SHA-256 of kind and folded text."""
    return hashlib.sha256(f"{kind}\n{fold(text)}".encode()).hexdigest()


def fold_name(name: str) -> str:
    """An entity's name without differences of case, width, blanks and edge punctuation."""
    return fold(unicodedata.normalize("NFKC", name))


def speaks_of(folded_text: str, folded_name: str) -> bool:
    """Whether a folded text holds a folded name as whole words."""
    return bool(folded_name) and f" {folded_name} " in f" {folded_text} "
