"""What expired is removed by a running service, whether or not anybody writes."""

import os
import time
from pathlib import Path

from tests.clock import ManualClock
from zero_memory.adapters.files import KEPT_S, FileArtifacts
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.local.expiry import Expiry
from zero_memory.memory.model import IdempotentAnswer
from zero_memory.ports.table import Put

WAIT_S = 30


def answer(key: str, expires_at: int) -> IdempotentAnswer:
    return IdempotentAnswer("p_1", "remember", key, "h", "[]", expires_at)


def test_records_and_files_go_when_their_time_is_over(
    sqlite_table: SqliteTable, tmp_path: Path
) -> None:
    clock = ManualClock()
    now = clock.now() // 1_000
    sqlite_table.transact([Put(answer("old", now - 1)), Put(answer("young", now + 1))])
    artifacts = FileArtifacts(tmp_path / "artifacts")
    artifacts.put("p_1/old", b"")
    artifacts.put("p_1/young", b"")
    born = time.time() - KEPT_S - 1
    os.utime(tmp_path / "artifacts" / "p_1" / "old", (born, born))

    expiry = Expiry(sqlite_table, artifacts, clock)
    expiry.start()
    deadline = time.monotonic() + WAIT_S
    while artifacts.get("p_1/old") is not None:
        assert time.monotonic() < deadline, "it stays"
        time.sleep(0.01)
    expiry.stop()

    assert artifacts.get("p_1/young") == b""
    assert sqlite_table.get(IdempotentAnswer, "p_1", "remember", "old") is None
    assert sqlite_table.get(IdempotentAnswer, "p_1", "remember", "young") is not None
