"""The ports together, as the composition root hands them to a tool."""

from typing import TYPE_CHECKING, Protocol

from zero_memory.ports.clock import Clock
from zero_memory.ports.table import Table

if TYPE_CHECKING:
    from zero_memory.ports.embedder import Embedder
    from zero_memory.ports.search_index import SearchIndex


class Services(Protocol):
    """Each port is made at its first use and kept for the life of the process."""

    @property
    def table(self) -> Table: ...

    @property
    def index(self) -> "SearchIndex": ...

    @property
    def embedder(self) -> "Embedder": ...

    @property
    def clock(self) -> Clock: ...
