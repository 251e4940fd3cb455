"""The words of the contract that name kinds of memories and of links."""

from typing import Literal

Kind = Literal[
    "fact",
    "decision",
    "preference",
    "convention",
    "gotcha",
    "reference",
    "episode",
    "task",
    "open-question",
]
LinkType = Literal["relates_to", "supersedes", "contradicts", "derived_from"]
AuthorKind = Literal["human", "agent"]
