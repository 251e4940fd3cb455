"""The ports together, as the composition root hands them to a tool."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from zero_memory.ports.clock import Clock
from zero_memory.ports.table import Table

if TYPE_CHECKING:
    from zero_memory.ports.embedder import Embedder
    from zero_memory.ports.search_index import SearchIndex


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
    search: Literal["local", "none"]
    embedder: EmbedderCard


class Services(Protocol):
    """Each port is made at its first use and kept for the life of the process."""

    @property
    def table(self) -> Table:
        """The table."""
        ...

    @property
    def index(self) -> "SearchIndex":
        """The search index."""
        ...

    @property
    def embedder(self) -> "Embedder":
        """The embedding model."""
        ...

    @property
    def clock(self) -> Clock:
        """The clock."""
        ...

    @property
    def home(self) -> HomeCard:
        """What stands behind the ports, known without making them."""
        ...
