"""How many memories a second `zm import` brings in, and that killing it loses and doubles none.

`python -m tests.bench.importing [SIZE]` (default 100,000) writes SIZE memories of eight words to
one file of JSON Lines, as `zm export --format jsonl` does but without vectors, and imports it by
the command. After a third of them the command is killed, after two thirds the service, at once as
by `kill -9`; each time the import is run again. In the end every memory is there once, in the table
and in the index, and importing the same file once more changes nothing.

While it runs, the resident memory of service and command is looked at (their own, without mapped
files). The share of embedding is the processor time of as many embeddings, measured in this
process, of the service's whole. Exits with 1 when a memory is missing or doubled.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ulid import ULID

from tests.bench.latency import (
    Home,
    Phrases,
    footprint,
    processor_seconds,
    resident_bytes,
    timed,
)
from tests.service import ZM, Service
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.memory.ages import timestamp
from zero_memory.memory.model import PendingMarker, SearchRecord
from zero_memory.ports.embedder import Embedder
from zero_memory.ports.search_index import DerivedIndex
from zero_memory.retrieval.passages import read_passage

SIZE = 100_000
WORDS = 8
BORN_MS = 1_767_225_600_000  # 2026-01-01
LOOKED_EVERY_S = 2.0
TOLD_EVERY_S = 20.0
EMBEDDED = 200
PAGE = 1_000
REFUSED_OR_AWAY = {1, 3}


def written(file: Path, size: int, phrases: Phrases) -> list[str]:
    """The ids of as many memories, a millisecond apart, one a line of the file."""
    ids: list[str] = []
    with file.open("w", encoding="utf-8") as lines:
        for born in range(BORN_MS, BORN_MS + size):
            ids.append(f"mem_{ULID.from_timestamp(born)}")
            at = timestamp(born)
            memory = {
                "zero_memory": 1,
                "id": ids[-1],
                "kind": "fact",
                "scope": "me",
                "state": "live",
                "created_at": at,
                "author": "me",
                "alive": [{"start": at}],
                "follows": ids[-3:-1][::-1],
                "content": phrases.one(WORDS),
            }
            lines.write(json.dumps(memory) + "\n")
    return ids


@dataclass
class Watched:
    """What was seen while it ran: seconds, the service's of the processor, and the most memory."""

    seconds: float = 0.0
    processor: float = 0.0
    service_bytes: int = 0
    command_bytes: int = 0
    told_at: float = 0.0


class Stored:
    """The memories of the home's only person, as another process sees them."""

    def __init__(self, home: Home) -> None:
        self._table = SqliteTable(home.folder / "table.sqlite3")
        with home.opened() as composed:
            (place,) = home.destinations(composed)
        self._scope = place.scope

    def ids(self, record: type[object] = SearchRecord) -> list[str]:
        found: list[str] = []
        after: str | None = None
        while True:
            page = self._table.keys(record, self._scope, after=after, limit=PAGE)
            found += page.records
            after = page.next
            if after is None:
                return found

    def close(self) -> None:
        self._table.close()


@contextmanager
def command(service: Service, file: Path) -> Generator[subprocess.Popen[bytes]]:
    """`zm import` of the file, which is killed when the block ends."""
    with subprocess.Popen(
        [ZM, "import", file, "--scope", "personal"],
        env=service.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def imports(
    service: Service, file: Path, stored: Stored, watched: Watched, *, until: int | None = None
) -> int | None:
    """Import until so many memories are there (None: all); the command's exit code, if it ended."""
    pid = service.ready["pid"]
    started, before = time.perf_counter(), processor_seconds(pid)
    with command(service, file) as process:
        while (ended := process.poll()) is None:
            time.sleep(LOOKED_EVERY_S)
            here = resident_bytes(pid)[0]
            watched.service_bytes = max(watched.service_bytes, here)
            there = resident_bytes(process.pid)[0] if process.poll() is None else 0
            watched.command_bytes = max(watched.command_bytes, there)
            count = len(stored.ids())
            if time.perf_counter() >= watched.told_at + TOLD_EVERY_S:
                watched.told_at = time.perf_counter()
                print(
                    f"  {count:,} there, {len(stored.ids(PendingMarker)):,} to be indexed; memory: "
                    f"service {here / 1e6:.0f} MB, command {there / 1e6:.0f} MB",
                    flush=True,
                )
            if until is not None and count >= until:
                break
    watched.seconds += time.perf_counter() - started
    watched.processor += processor_seconds(pid) - before
    return ended


def interrupted(home: Home, file: Path, size: int, stored: Stored) -> Watched:
    """The whole file's import, with the command killed in it, and then the service."""
    watched = Watched()
    with home.serving() as service:
        imports(service, file, stored, watched, until=size // 3)
        print(f"the command was killed at {len(stored.ids()):,}", flush=True)
        imports(service, file, stored, watched, until=size * 2 // 3)
        with command(service, file) as process:
            time.sleep(LOOKED_EVERY_S)
            service.kill()
            if process.wait() not in REFUSED_OR_AWAY:
                raise AssertionError("the command did not say that the service went away")
        print(f"the service was killed at {len(stored.ids()):,}", flush=True)
    with home.serving() as service:
        if imports(service, file, stored, watched) != 0:
            raise AssertionError("the import was not done")
        while stored.ids(PendingMarker):
            time.sleep(LOOKED_EVERY_S)
        print(footprint(home, service), flush=True)
        again = Watched()
        imports(service, file, stored, again)
        print(f"once more: {size / again.seconds:.0f} memories a second unchanged", flush=True)
    return watched


def embedding_seconds(embedder: Embedder, phrases: Phrases) -> float:
    """Of the processor, for one memory."""
    texts = [phrases.one(WORDS) for _ in range(EMBEDDED)]
    calls: Sequence[Callable[[], object]] = [
        lambda t=text: read_passage(embedder, t) for text in texts
    ]
    return timed(calls).processor / 1_000


def indexed(index: DerivedIndex) -> list[str]:
    found: list[str] = []
    while page := index.stored(after=found[-1] if found else "", limit=PAGE):
        found += page
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", nargs="?", type=int, default=SIZE)
    size: int = parser.parse_args(arguments).size
    phrases = Phrases()
    with tempfile.TemporaryDirectory() as folder:
        home, file = Home(Path(folder) / "home"), Path(folder) / "memories.jsonl"
        ids = written(file, size, phrases)
        with home.serving():
            pass  # makes the person and the token
        stored = Stored(home)
        watched = interrupted(home, file, size, stored)
        whole = stored.ids() == ids
        stored.close()
        with home.opened() as composed:
            whole = whole and indexed(cast("DerivedIndex", composed.derived_index)) == ids
            embedding = embedding_seconds(composed.embedder, phrases)
        print(
            f"{size:,} memories, {size / watched.seconds:.1f} a second; the service took "
            f"{watched.processor / size * 1_000:.1f} ms of the processor for each, embedding "
            f"{embedding * 1_000:.1f} ({embedding * size / watched.processor:.0%}); at most "
            f"{watched.service_bytes / 1e6:.0f} MB in the service and "
            f"{watched.command_bytes / 1e6:.0f} MB in the command"
        )
        print("every memory is there once" if whole else "MEMORIES ARE MISSING OR DOUBLED")
        return int(not whole)


if __name__ == "__main__":
    sys.exit(main())
