"""A clock that tests set."""

from dataclasses import dataclass


@dataclass
class ManualClock:
    """Stands still until a test moves it."""

    at: int = 1_800_000_000_000

    def now(self) -> int:
        return self.at

    def advance(self, *, seconds: float = 0, hours: float = 0) -> None:
        self.at += round(seconds * 1_000 + hours * 3_600_000)
