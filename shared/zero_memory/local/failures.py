"""The on-failure queue of a stream's consumers, as a file: changes that a consumer gave up on."""

import json
import logging
import threading
import time
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from zero_memory.local.files import write_atomically

_logger = logging.getLogger(__name__)


class Failure(Struct, frozen=True):
    """A change that `function` failed on, by its key; `since` in milliseconds since the epoch."""

    function: str
    event: str
    pk: str
    sk: str
    sequence: int
    since: int


class FailureQueue:
    """Keeps failures across restarts. Safe to call from several threads of one process.

    A damaged file is dropped.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def all(self) -> list[Failure]:
        """What waits, oldest first."""
        with self._lock:
            return self._read()

    def put(self, function: str, event: str, pk: str, sk: str, sequence: int) -> None:
        """Keep a change; the same key waits once a function, at its newest sequence."""
        failure = Failure(function, event, pk, sk, sequence, int(time.time() * 1000))
        with self._lock:
            others = [one for one in self._read() if not _same(one, failure)]
            self._write([*others, failure])

    def remove(self, failure: Failure) -> None:
        """Drop a failure that was mended; one that came anew meanwhile stays."""
        with self._lock:
            self._write([one for one in self._read() if one != failure])

    def _read(self) -> list[Failure]:
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        try:
            return [Failure(**one) for one in json.loads(text)]
        except (ValueError, TypeError):
            # It must not hold up the stream; the schedule that compares table and index finds them.
            _logger.warning("%s is damaged, and dropped with what it named", self._path)
            self._path.unlink()
            return []

    def _write(self, failures: list[Failure]) -> None:
        write_atomically(self._path, json.dumps([asdict(one) for one in failures]))


def _same(one: Failure, other: Failure) -> bool:
    return (one.function, one.pk, one.sk) == (other.function, other.pk, other.sk)
