"""Time, as a port, so that tests decide what it is."""

from typing import Protocol


class Clock(Protocol):
    """The wall clock."""

    def now(self) -> int:
        """Milliseconds since 1970-01-01T00:00:00Z, never less than an earlier answer."""
        ...
