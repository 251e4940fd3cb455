"""What stands behind the ports, as cards that are known without making them."""

from typing import Literal

from msgspec import Struct


class EmbedderCard(Struct, frozen=True):
    """An embedding model's name and revision, its dimensions and languages (BCP 47)."""

    model: str
    dimensions: int
    languages: tuple[str, ...]


class HomeCard(Struct, frozen=True):
    """Where memories live: which table, which search index, which embedder."""

    table: Literal["sqlite", "dynamodb"]
    search: Literal["local", "domain", "none"]
    embedder: EmbedderCard
