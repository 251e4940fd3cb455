"""What expired goes after a while, on one machine: DynamoDB's time to live, the bucket's rule."""

import logging
import threading

from zero_memory.adapters.files import FileArtifacts
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.ports.artifacts import ArtifactsUnavailable
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import TableUnavailable

EVERY_S = 600.0

_logger = logging.getLogger(__name__)


class Expiry:
    """Removes what expired on a thread of its own, at the start and then every ten minutes."""

    def __init__(self, table: SqliteTable, artifacts: FileArtifacts, clock: Clock) -> None:
        self._table = table
        self._artifacts = artifacts
        self._clock = clock
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="expiry", daemon=True)

    def start(self) -> None:
        """Start removing."""
        self._thread.start()

    def stop(self) -> None:
        """End after the page in hand."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                # A page at a time, since each holds the table's only writer.
                while self._table.remove_expired(self._clock.now() // 1000):
                    if self._stopping.is_set():
                        return
                self._artifacts.remove_expired()
            except (TableUnavailable, ArtifactsUnavailable) as away:
                _logger.warning("what expired stays for now: %s", away)
            self._stopping.wait(EVERY_S)
