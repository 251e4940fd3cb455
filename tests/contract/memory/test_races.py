"""Many writers at once, in threads and in processes, on a machine's own table."""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.contract.memory.people import Someone, arrives
from zero_memory.adapters.clock import SystemClock
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.contracts.errors import Refusal
from zero_memory.memory.model import Meta
from zero_memory.memory.write import Written

TIMES = 100
THREADS = 16
PROCESSES = 4


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "table.sqlite3"


@pytest.fixture
def zoe(path: Path) -> Someone:
    return arrives(SqliteTable(path, busy_timeout=60), SystemClock())


def at_once(what: Callable[[int], Written]) -> list[Written]:
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(what, range(TIMES)))


@pytest.mark.parametrize("key", [None, "k"])
def test_the_same_remember_at_once_leaves_one_memory(zoe: Someone, key: str | None):
    written = at_once(lambda _: zoe.remembers("Deploys run on Friday", key=key))
    assert len({each.memory_id for each in written}) == 1
    assert zoe.lists() == [written[0].memory_id]
    assert len(zoe.audits(written[0].memory_id)) == 1
    fresh = sum(not each.deduplicated for each in written)
    assert fresh == (1 if key is None else TIMES)


def _remember(path: Path, someone: Someone, number: int) -> list[str]:
    table = SqliteTable(path, busy_timeout=60)
    here = Someone(table, SystemClock(), someone.person, someone.principal, someone.scope)
    try:
        return [here.remembers("Deploys run on Friday").memory_id for _ in range(TIMES // 10)]
    finally:
        table.close()


def test_the_same_remember_from_many_processes_leaves_one_memory(zoe: Someone, path: Path):
    # What a process gets of a person; it opens the table itself.
    alone = Someone(None, None, zoe.person, zoe.principal, zoe.scope)  # pyright: ignore[reportArgumentType]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=context) as processes:
        runs = list(processes.map(partial(_remember, path, alone), range(PROCESSES)))
    ids = {memory_id for run in runs for memory_id in run}
    assert zoe.lists() == list(ids)
    assert len(ids) == 1


def test_a_race_to_supersede_leaves_one_successor_and_honest_losers(zoe: Someone):
    target = zoe.knows("Deploys run on Monday")
    written = at_once(
        lambda number: zoe.remembers(f"Deploys run on day {number}", supersedes=(target,))
    )
    winners = [each for each in written if each.superseded == (target,)]
    assert len(winners) == 1
    assert zoe.meta(target).superseded_by == winners[0].memory_id
    assert len(zoe.audits(target)) == 2
    for loser in written:
        if loser is not winners[0]:
            assert loser.superseded == ()
            assert loser.skipped == ((target, "dead"),)
    assert set(zoe.lists()) == {each.memory_id for each in written}


def test_two_memories_never_supersede_each_other(zoe: Someone):
    for number in range(20):
        one, two = zoe.knows(f"one {number}"), zoe.knows(f"two {number}")
        with ThreadPoolExecutor(2) as threads:
            forth = threads.submit(zoe.remembers, f"one {number}", supersedes=(two,))
            back = threads.submit(zoe.remembers, f"two {number}", supersedes=(one,))
            forth.result()
            back.result()
        for each in (one, two):
            # Each is live, or followed by what is live in the end.
            successors = [each]
            while (successor := zoe.meta(successors[-1]).superseded_by) is not None:
                assert successor not in successors
                successors.append(successor)
            assert zoe.meta(successors[-1]).live


def test_forgetting_and_restoring_at_once_leaves_a_state_that_the_audit_explains(zoe: Someone):
    memory_id = zoe.knows("one")

    conflicts: list[str] = []

    def flip(number: int) -> None:
        try:
            (zoe.forgets if number % 2 else zoe.restores)(memory_id)
        except Refusal as refusal:
            conflicts.append(refusal.code)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(flip, range(30)))
    assert set(conflicts) <= {"conflict"}
    meta = zoe.table.get(Meta, memory_id)
    assert meta is not None
    audits = zoe.audits(memory_id)
    assert [each.revision for each in sorted(audits, key=lambda each: each.revision)] == list(
        range(1, meta.revision + 1)
    )
