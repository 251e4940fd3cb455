"""What a stream's consumers gave up on, as a file: its on-failure queue, and what they park."""

import json
import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from zero_memory.adapters.schema import address_of
from zero_memory.local.files import write_atomically
from zero_memory.memory.model import Meta
from zero_memory.ports.parking import ParkingUnavailable

PARKED = "PARKED"
"""The event of what a consumer left itself, in place of the stream's own words."""

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
        self.put_all([Failure(function, event, pk, sk, sequence, _now())])

    def put_all(self, failures: Sequence[Failure]) -> None:
        """As `put`, all of them at once."""
        keys = {_key(one) for one in failures}
        with self._lock:
            others = [one for one in self._read() if _key(one) not in keys]
            self._write([*others, *failures])

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


class FailureParking:
    """`ports.parking.Parking` among the failures, for `functions`, which the stream calls."""

    def __init__(self, failures: FailureQueue, functions: Sequence[str]) -> None:
        self._failures = failures
        self._functions = functions

    def park(self, memory_ids: Sequence[str]) -> None:
        """See the port."""
        addresses = [address_of(Meta, (memory_id,)) for memory_id in memory_ids]
        try:
            self._failures.put_all(
                [
                    Failure(function, PARKED, address.pk, address.sk, 0, _now())
                    for function in self._functions
                    for address in addresses
                ]
            )
        except OSError as failure:
            raise ParkingUnavailable(type(failure).__name__) from failure
        _logger.error("set aside, to be tried again every minute: %s", ", ".join(memory_ids))


def _key(one: Failure) -> tuple[str, str, str]:
    return one.function, one.pk, one.sk


def _now() -> int:
    return int(time.time() * 1000)
