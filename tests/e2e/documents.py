"""This repository's own documents, and ten questions about them in other words."""

import re
from dataclasses import dataclass

from tests.samples import REPOSITORY

DOCUMENTS = (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md")))

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Question:
    """A question, and words that one paragraph alone holds: the one that answers it."""

    asks: str
    answer: str


QUESTIONS = (
    Question("How does a script learn that the command was refused?", "command line is wrong"),
    Question("How are the tests started?", "runs every gate"),
    Question("Why not use the vendor's kit for the wire format?", "The protocol layer is ours"),
    Question(
        "Why does starting up take a second before anything is accepted?",
        "loaded before the service",
    ),
    Question(
        "How does a program learn that the first request may come?",
        "exactly one line when the first request",
    ),
    Question(
        "How does a read find a statement that the index does not hold yet?",
        "finds the memory by its marker",
    ),
    Question(
        "Who gets the first access right on a fresh machine?",
        "makes the first person and their token",
    ),
    Question("What must a saved copy of a home contain?", "what a backup must hold"),
    Question(
        "Which dependency directions are forbidden between modules?",
        "The domain imports no adapter",
    ),
    Question(
        "What becomes of a copy in the cloud's nightly saves after destruction?",
        "must have its erasures made again",
    ),
)


def paragraphs() -> list[str]:
    """Every paragraph, list and table of the documents; headings and code are left out."""
    found: list[str] = []
    for document in DOCUMENTS:
        prose = _FENCED.sub("", document.read_text(encoding="utf-8"))
        blocks = (block.strip() for block in prose.split("\n\n"))
        found.extend(block for block in blocks if block and not block.startswith("#"))
    return found


def answers(paragraph: str, question: Question) -> bool:
    """Whether a paragraph is the one that answers a question."""
    return question.answer in " ".join(paragraph.split())
