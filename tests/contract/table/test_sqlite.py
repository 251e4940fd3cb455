"""What the table's file on a machine promises beyond the port."""

# pyright: reportPrivateUsage=false

import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.records import meta
from zero_memory.adapters import sqlite
from zero_memory.adapters.sqlite import Change, NewerSchema, SqliteTable
from zero_memory.memory.model import (
    Body,
    EntityName,
    IdempotentAnswer,
    Mention,
    Meta,
    PendingMarker,
    StoredBody,
    TimelineEntry,
)
from zero_memory.ports.table import (
    Absent,
    AttributeIs,
    ConditionFailed,
    Delete,
    Put,
    RevisionIs,
    TableUnavailable,
    ref,
)

FILE = "home/table.sqlite3"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / FILE


def listed(table: SqliteTable) -> list[str]:
    page = table.query(TimelineEntry, "scp_1", "knowledge")
    return [entry.memory_id for entry in page.records]


# ------------------------------------------------------------------ durability

WRITE_FOR_EVER = """
import sys
from pathlib import Path
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.memory.model import Body, PendingMarker, StoredBody
from zero_memory.ports.table import Put

table = SqliteTable(Path(sys.argv[1]))
number = 0
while True:
    name = f"mem_{number:06}"
    table.transact([
        Put(StoredBody(name, Body("x" * 3_000))),
        Put(PendingMarker("scp_1", name, number)),
    ])
    print(number, flush=True)
    number += 1
"""


def test_a_process_killed_in_the_middle_of_writes_loses_none_that_was_acknowledged(file: Path):
    acknowledged = -1
    for _ in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", WRITE_FOR_EVER, str(file)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for _ in range(40):
                acknowledged = int(process.stdout.readline())
            process.kill()
            acknowledged = max(acknowledged, *map(int, process.stdout.read().split()), 0)
        table = SqliteTable(file)
        for number in range(acknowledged + 1):
            marker = table.get(PendingMarker, "scp_1", f"mem_{number:06}")
            assert marker == PendingMarker("scp_1", f"mem_{number:06}", number)
        markers = table.query(PendingMarker, "scp_1", limit=1_000).records
        bodies = table.get_many([ref(StoredBody, each.memory_id) for each in markers])
        assert None not in bodies
        assert len(table.changes(0, 10_000)) == 2 * len(markers)
        table.close()


def test_a_commit_waits_for_the_disk(sqlite_table: SqliteTable):
    sqlite_table.acknowledge(0)
    with sqlite_table._writing() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


COUNT_UP = """
import sys
from pathlib import Path
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.memory.model import PendingMarker
from zero_memory.ports.table import ConditionFailed, Put, RevisionIs

table = SqliteTable(Path(sys.argv[1]))
done = 0
while done < 100:
    found = table.get(PendingMarker, "scp_1", "mem_1")
    up = PendingMarker("scp_1", "mem_1", found.revision + 1)
    try:
        table.transact([Put(up, RevisionIs(found.revision))])
        done += 1
    except ConditionFailed:
        pass
table.close()
"""


def test_two_processes_lose_no_update_of_each_other(file: Path):
    table = SqliteTable(file)
    table.transact([Put(PendingMarker("scp_1", "mem_1", 0))])
    processes = [subprocess.Popen([sys.executable, "-c", COUNT_UP, str(file)]) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert table.get(PendingMarker, "scp_1", "mem_1") == PendingMarker("scp_1", "mem_1", 200)
    table.close()


def test_threads_lose_no_update_of_each_other(sqlite_table: SqliteTable):
    sqlite_table.transact([Put(PendingMarker("scp_1", "mem_1", 0))])

    def count_up(_: int) -> None:
        while True:
            found = sqlite_table.get(PendingMarker, "scp_1", "mem_1")
            assert found is not None
            up = PendingMarker("scp_1", "mem_1", found.revision + 1)
            try:
                return sqlite_table.transact([Put(up, RevisionIs(found.revision))])
            except ConditionFailed:
                continue

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(count_up, range(80)))
    found = sqlite_table.get(PendingMarker, "scp_1", "mem_1")
    assert found == PendingMarker("scp_1", "mem_1", 80)


def test_many_processes_may_make_the_file_at_once(file: Path):
    make = "import sys; from pathlib import Path; "
    make += "from zero_memory.adapters.sqlite import SqliteTable; "
    make += "SqliteTable(Path(sys.argv[1])).close()"
    processes = [subprocess.Popen([sys.executable, "-c", make, str(file)]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4


# ------------------------------------------------------------------ outbox


def test_the_outbox_names_every_change_in_order(sqlite_table: SqliteTable):
    at = ref(Meta, "mem_1")
    sqlite_table.transact([Put(meta()), Put(PendingMarker("scp_1", "mem_1", 1))])
    sqlite_table.transact([Put(meta(revision=2))])
    sqlite_table.transact([Delete(at)])
    assert sqlite_table.changes(0, 10) == [
        Change(1, "INSERT", "M#mem_1", "META"),
        Change(2, "INSERT", "S#scp_1", "P#mem_1"),
        Change(3, "MODIFY", "M#mem_1", "META"),
        Change(4, "REMOVE", "M#mem_1", "META"),
    ]
    assert [change.sequence for change in sqlite_table.changes(1, 2)] == [2, 3]


def test_what_changes_nothing_is_not_in_the_outbox(sqlite_table: SqliteTable):
    sqlite_table.transact([Put(meta())])
    sqlite_table.transact([Put(meta()), Delete(ref(Meta, "mem_2"))])
    with pytest.raises(ConditionFailed):
        sqlite_table.transact([Put(meta(revision=2)), Put(meta("mem_3"), RevisionIs(1))])
    assert len(sqlite_table.changes(0, 10)) == 1


def test_who_delivers_the_outbox_is_told_of_what_is_new_in_it_and_of_nothing_else(
    sqlite_table: SqliteTable,
):
    told: list[int] = []
    sqlite_table.committed = lambda: told.append(len(sqlite_table.changes(0, 100)))
    marker = PendingMarker("scp_1", "mem_1", 1)
    sqlite_table.transact([Put(marker)])
    sqlite_table.transact([Put(marker)])
    with pytest.raises(ConditionFailed):
        sqlite_table.transact([Put(marker, Absent())])
    assert told == [1]


def test_acknowledged_changes_are_let_go_and_stay_acknowledged(file: Path):
    table = SqliteTable(file)
    assert table.acknowledged() == 0
    table.transact([Put(meta(f"mem_{each}")) for each in range(5)])
    assert table.acknowledged() == 0
    table.acknowledge(3)
    table.acknowledge(2)
    assert table.acknowledged() == 3
    assert [change.sequence for change in table.changes(0, 10)] == [4, 5]
    table.acknowledge(5)
    table.close()

    again = SqliteTable(file)
    assert again.acknowledged() == 5
    again.transact([Put(meta("mem_9"))])
    assert again.acknowledged() == 5
    assert [change.sequence for change in again.changes(5, 10)] == [6]
    again.close()


# ------------------------------------------------------------------ expiry


def test_expired_records_are_removed_oldest_first_and_at_most_so_many(sqlite_table: SqliteTable):
    answers = [IdempotentAnswer("p", "tool", f"{each}", "h", "[]", each) for each in (30, 10, 20)]
    sqlite_table.transact([Put(answer) for answer in answers])
    sqlite_table.acknowledge(3)
    assert sqlite_table.remove_expired(now=10) == 0
    assert sqlite_table.remove_expired(now=40, limit=2) == 2
    left = [sqlite_table.get(IdempotentAnswer, "p", "tool", key) for key in ("30", "10", "20")]
    assert left == [answers[0], None, None]
    assert [change.event for change in sqlite_table.changes(3, 10)] == ["REMOVE", "REMOVE"]
    assert sqlite_table.remove_expired(now=40) == 1


def test_a_renewed_record_lives_until_its_new_end(sqlite_table: SqliteTable):
    for end in (10, 30):
        sqlite_table.transact([Put(IdempotentAnswer("p", "tool", "key", "h", "[]", end))])
    assert sqlite_table.remove_expired(now=20) == 0
    assert sqlite_table.remove_expired(now=40) == 1


# ------------------------------------------------------------------ views


@pytest.fixture
def lagging(file: Path) -> Generator[SqliteTable]:
    table = SqliteTable(file, view_lag_ms=5_000, view_delay_writes=2)
    yield table
    table.close()


def test_views_may_be_served_some_writes_old(lagging: SqliteTable):
    assert lagging.view_lag_ms == 5_000
    for each in range(4):
        lagging.transact([Put(meta(f"mem_{each}", timeline="knowledge"))])
    assert listed(lagging) == ["mem_0", "mem_1"]
    assert lagging.get(Meta, "mem_3") is not None
    lagging.transact([Put(meta("mem_0", revision=2))])
    lagging.transact([Delete(ref(Meta, "mem_1"))])
    assert listed(lagging) == ["mem_0", "mem_1", "mem_2", "mem_3"]
    lagging.transact([Put(meta("mem_8"))])
    lagging.transact([Put(meta("mem_9"))])
    assert listed(lagging) == ["mem_2", "mem_3"]


def test_views_are_as_new_as_the_table_by_default(sqlite_table: SqliteTable):
    assert sqlite_table.view_lag_ms == 0
    sqlite_table.transact([Put(meta("mem_1", timeline="knowledge"))])
    assert listed(sqlite_table) == ["mem_1"]


# ------------------------------------------------------------------ the file


def test_only_its_owner_may_read_folder_and_files(file: Path):
    table = SqliteTable(file)
    table.transact([Put(meta())])
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in file.parent.iterdir()}
    suffixes = ("", "-wal", "-shm")
    assert modes == {file.name + suffix: 0o600 for suffix in suffixes}
    table.close()


def test_a_file_of_a_newer_version_is_refused_and_left_alone(file: Path):
    SqliteTable(file).close()
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = file.read_bytes()
    with pytest.raises(NewerSchema, match="install the newer version"):
        SqliteTable(file)
    assert file.read_bytes() == before


def test_a_file_of_an_older_version_is_migrated_with_what_it_holds(
    file: Path, monkeypatch: pytest.MonkeyPatch
):
    old = SqliteTable(file)
    old.transact([Put(meta())])
    old.close()
    newer = (*sqlite._MIGRATIONS, ("CREATE TABLE more (x TEXT) STRICT",))
    monkeypatch.setattr(sqlite, "_MIGRATIONS", newer)
    for _ in range(2):
        table = SqliteTable(file)
        assert table.get(Meta, "mem_1") == meta()
        with table._connection() as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (2,)
            assert connection.execute("SELECT count(*) FROM more").fetchone() == (0,)
        table.close()


def test_no_byte_of_what_was_erased_is_in_any_file(file: Path):
    table = SqliteTable(file)
    needle = "the words that must go"

    def write(number: int, *, secret: bool) -> None:
        words = (needle if secret else "quite ordinary text") * (1 + number * number % 90)
        name = f"mem_{number:03}"
        table.transact(
            [
                Put(meta(name, timeline="knowledge", body=Body(words[:400]), superseded_by=words)),
                Put(StoredBody(name, Body(words))),
                Put(Mention("scp_1", words[:50], name, words[:50])),
                Put(EntityName("scp_1", f"{words[:50]}{number}", words[:50])),
            ]
        )

    def on_disk() -> bool:
        return any(needle.encode() in each.read_bytes() for each in file.parent.iterdir())

    for number in range(150):
        write(number, secret=number % 3 == 0)
    assert on_disk()
    for number in range(0, 150, 3):
        name = f"mem_{number:03}"
        spoken = (needle * (1 + number * number % 90))[:50]
        table.transact(
            [
                Put(meta(name, body=Body("gone"))) if number % 2 else Delete(ref(Meta, name)),
                Delete(ref(StoredBody, name)),
                Delete(ref(Mention, "scp_1", spoken, name)),
                Delete(ref(EntityName, "scp_1", f"{spoken}{number}")),
            ]
        )
    table.scrub()
    assert not on_disk()
    assert len(listed(table)) == 100
    table.close()


def test_scrubbing_waits_for_readers_only_so_long(file: Path):
    table = SqliteTable(file, busy_timeout=0.05)
    table.transact([Put(meta())])
    with table._reading() as reader:
        reader.execute("SELECT * FROM items").fetchone()
        table.transact([Put(meta(revision=2))])
        with pytest.raises(TableUnavailable, match="repeat later"):
            table.scrub()
    table.scrub()
    table.close()


def test_a_writer_waits_for_another_process_only_so_long(file: Path):
    table = SqliteTable(file, busy_timeout=0.05)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(TableUnavailable):
        table.transact([Put(meta())])
    other.execute("ROLLBACK")
    other.close()
    table.transact([Put(meta(), Absent())])
    table.close()


def test_closing_closes_connections_in_use_when_their_calls_return(file: Path):
    table = SqliteTable(file)
    entered, closed = threading.Event(), threading.Event()

    def read() -> int:
        with table._reading() as connection:
            entered.set()
            assert closed.wait(10)
            return connection.execute("SELECT count(*) FROM items").fetchone()[0]

    with ThreadPoolExecutor(1) as thread:
        reading = thread.submit(read)
        assert entered.wait(10)
        table.close()
        closed.set()
        assert reading.result() == 0
    assert [each.name for each in file.parent.iterdir()] == [file.name]
    with pytest.raises(TableUnavailable, match="closed"):
        table.get(Meta, "mem_1")


def test_a_flag_is_not_a_number(sqlite_table: SqliteTable):
    sqlite_table.transact([Put(meta(windows=1))])
    with pytest.raises(ConditionFailed):
        sqlite_table.transact([Put(meta(windows=2), AttributeIs("windows", True))])
