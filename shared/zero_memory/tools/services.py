"""The ports together, as the composition root hands them to a tool."""

from typing import TYPE_CHECKING, Protocol

from zero_memory.ports.artifacts import Artifacts
from zero_memory.ports.clock import Clock
from zero_memory.ports.home import HomeCard
from zero_memory.ports.table import Table

if TYPE_CHECKING:
    from zero_memory.ports.embedder import Embedder
    from zero_memory.ports.search_index import SearchIndex
    from zero_memory.retrieval.ranking import Ranking


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
    def artifacts(self) -> Artifacts:
        """The store of files that are too large for a request or an answer."""
        ...

    @property
    def clock(self) -> Clock:
        """The clock."""
        ...

    @property
    def home(self) -> HomeCard:
        """What stands behind the ports, known without making them."""
        ...

    @property
    def ranking(self) -> "Ranking":
        """How candidates become an order."""
        ...
