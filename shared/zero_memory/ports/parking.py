"""Where the indexer leaves what it cannot do now, as a port."""

from collections.abc import Sequence
from typing import Protocol


class ParkingUnavailable(Exception):
    """The queue did not take everything; what it took may come twice."""


class Parking(Protocol):
    """A queue of memories to look at again later, with an alarm on what waits in it."""

    def park(self, memory_ids: Sequence[str]) -> None:
        """Leave memories, by their ids alone. Raises ParkingUnavailable."""
        ...
