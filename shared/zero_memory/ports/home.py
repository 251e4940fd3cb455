"""What stands behind the ports, as cards that are known without making them."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class EmbedderCard:
    """An embedding model's name and revision, its dimensions and languages (BCP 47)."""

    model: str
    dimensions: int
    languages: tuple[str, ...]


@dataclass(frozen=True)
class HomeCard:
    """Where memories live: which table, which search index, which embedder."""

    table: Literal["sqlite", "dynamodb"]
    search: Literal["local", "domain", "none"]
    embedder: EmbedderCard
