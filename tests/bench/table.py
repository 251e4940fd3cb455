"""How long the local table takes: `python -m tests.bench.table [folder]`.

Prints p50 and p95 in milliseconds of its calls, on a table of 10,000 memories in a folder of the
file system to be measured, beside a bare write and fsync there.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles

from tests.records import meta
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.memory.model import (
    AuditRecord,
    Body,
    DuplicateClaim,
    IdempotentAnswer,
    Mention,
    Meta,
    Passage,
    PendingMarker,
    SearchRecord,
    StoredWindow,
    TimelineEntry,
)
from zero_memory.ports.table import Absent, Action, Put, ref

MEMORIES = 10_000
SCOPES = 20
CALLS = 500
TOKENS = {f"token{each}": 1 + each % 3 for each in range(60)}
PASSAGE = Passage(
    "model",
    (StoredWindow(0, 400, bytes(388)),),
    {f"token{each}": 1 + each % 3 for each in range(60)},
)


def memory_id(number: int) -> str:
    return f"mem_{number:026}"


def scope_of(number: int) -> str:
    return f"scp_{number % SCOPES:026}"


def remember(number: int) -> list[Action]:
    """The eight actions of a typical remember."""
    name, scope = memory_id(number), scope_of(number)
    body = Body("A decision with its why, as long as such a statement usually is. " * 5)
    return [
        Put(meta(name, scope=scope, timeline="knowledge", body=body), Absent()),
        Put(SearchRecord(scope, name, PASSAGE)),
        Put(PendingMarker(scope, name, 1)),
        Put(DuplicateClaim(scope, f"{number:064}", name), Absent()),
        Put(Mention(scope, "sqlite", name, "SQLite", ("DynamoDB",))),
        Put(Mention(scope, "dynamodb", name, "DynamoDB", ("SQLite",))),
        Put(AuditRecord(name, f"aud_{number:026}", "remember", 1, "p_1", 1, "{}", "{}")),
        Put(IdempotentAnswer("p_1", "remember", name, "0" * 64, f'["{name}"]', 2_000_000_000)),
    ]


def report(name: str, call: Callable[[int], object]) -> None:
    took: list[float] = []
    for number in range(CALLS):
        started = time.perf_counter()
        call(number)
        took.append((time.perf_counter() - started) * 1_000)
    cuts = quantiles(took, n=100)
    print(f"{name:24} p50 {cuts[49]:8.3f} ms   p95 {cuts[94]:8.3f} ms")


def spread(number: int) -> int:
    """Some memory, far from the one before."""
    return number * 7_919 % MEMORIES


def main(folder: Path) -> None:
    table = SqliteTable(folder / "home" / "table.sqlite3")
    for start in range(0, MEMORIES, 12):
        several = range(start, min(start + 12, MEMORIES))
        table.transact([action for number in several for action in remember(number)])
    table.acknowledge(table.changes(0, 1_000_000)[-1].sequence)

    report("get", lambda each: table.get(Meta, memory_id(spread(each))))
    report(
        "get_many(16)",
        lambda each: table.get_many(
            [ref(Meta, memory_id(spread(each * 16 + other))) for other in range(16)]
        ),
    )
    report("query(100), records", lambda each: table.query(SearchRecord, scope_of(each)))
    report("query(100), view", lambda each: table.query(TimelineEntry, scope_of(each), "knowledge"))
    report("transact(8)", lambda each: table.transact(remember(MEMORIES + each)))
    table.close()

    with (folder / "bare").open("wb", buffering=0) as file:

        def fsync(_: int) -> None:
            file.write(bytes(4_096))
            os.fsync(file.fileno())

        report("write(4 KB) and fsync", fsync)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as scratch:
        main(Path(scratch))
