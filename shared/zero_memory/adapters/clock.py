"""The machine's clock."""

import threading
import time


class SystemClock:
    """Wall-clock time that never runs backwards within a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest = 0

    def now(self) -> int:
        """Milliseconds since the epoch; a step back of the machine's clock repeats the latest."""
        with self._lock:
            self._latest = max(self._latest, time.time_ns() // 1_000_000)
            return self._latest
