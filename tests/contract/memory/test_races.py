"""Many writers at once, in threads and in processes: on a machine's own table, and on DynamoDB.

DynamoDB is an emulator with real concurrency here; moto loses updates under threads.
"""

import multiprocessing
from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.aws.emulator import emulated_dynamodb
from tests.contract.memory.people import Someone, arrives
from tests.contract.memory.test_erasure import partition
from tests.homes import dynamo_home
from zero_memory.adapters.clock import SystemClock
from zero_memory.adapters.dynamodb import CONFIG
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.contracts.errors import Refusal
from zero_memory.memory.erasure import erase
from zero_memory.memory.linking import link
from zero_memory.memory.model import AuditRecord, DuplicateClaim, Mention, Meta, SearchRecord
from zero_memory.memory.moving import move
from zero_memory.memory.write import Written
from zero_memory.ports.table import Table

TIMES = 100
THREADS = 16
PROCESSES = 4


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "table.sqlite3"


@pytest.fixture(scope="session")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Generator[Any]:
    with emulated_dynamodb(tmp_path_factory.mktemp("aws"), CONFIG) as client:
        yield client


@pytest.fixture(params=["sqlite", "dynamodb"])
def table(request: pytest.FixtureRequest, path: Path) -> Table:
    if request.param == "sqlite":
        return SqliteTable(path, busy_timeout=60)
    return dynamo_home(request.getfixturevalue("emulated"))


@pytest.fixture
def zoe(table: Table) -> Someone:
    return arrives(table, SystemClock())


def move_to(someone: Someone, memory_id: str, scope: str) -> None:
    move(
        someone.table,
        someone.clock,
        someone.actor,
        memory_id=memory_id,
        scope=scope,
        owner=someone.person,
    )


def relate(someone: Someone, source: str, target: str) -> None:
    link(
        someone.table,
        someone.clock,
        someone.actor,
        source=source,
        target=target,
        link_type="relates_to",
    )


def erase_memory(someone: Someone, memory_id: str) -> None:
    erase(someone.table, someone.clock, someone.actor, memory_id)


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


@pytest.mark.parametrize("table", ["sqlite"], indirect=True)
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


def test_all_gestures_at_once_leave_each_memory_whole_or_erased(zoe: Someone):
    core = zoe.access.core
    others = [zoe.knows(f"other {number}") for number in range(3)]
    memories = [zoe.knows(f"memory {number}", entities=("Redis",)) for number in range(3)]
    gestures: list[Callable[[str], Any]] = [
        zoe.forgets,
        zoe.restores,
        lambda each: move_to(zoe, each, core.scope),
        lambda each: move_to(zoe, each, zoe.scope.scope),
        lambda each: relate(zoe, each, others[0]),
        lambda each: relate(zoe, others[1], each),
        lambda each: zoe.remembers(f"after {each}", supersedes=(each,), key=each),
        lambda each: erase_memory(zoe, each),
    ]
    codes: set[str] = set()

    def act(number: int) -> None:
        memory_id = memories[number % len(memories)]
        # Two of the three are erased in the end.
        last = len(gestures) - (number % len(memories) == 0 or number < TIMES // 2)
        try:
            gestures[number // len(memories) % last](memory_id)
        except Refusal as refusal:
            codes.add(refusal.code)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(act, range(TIMES)))
    assert codes <= {"conflict", "not_found"}
    kept, *erased = memories
    meta = zoe.meta(kept)
    revisions = sorted(record.revision for record in zoe.audits(kept))
    assert revisions == list(range(1, meta.revision + 1))
    for scope in (core.scope, zoe.scope.scope):
        here = scope == meta.scope
        claim = zoe.table.get(DuplicateClaim, scope, meta.digest)
        assert (zoe.table.get(SearchRecord, scope, kept) is not None) is here
        assert (zoe.table.get(Mention, scope, "redis", kept) is not None) is here
        assert (claim is not None) is (here and meta.live)
    for memory_id in erased:
        assert [type(each) for each in partition(zoe, memory_id)] == [AuditRecord]
        for scope in (core.scope, zoe.scope.scope):
            assert zoe.table.get(SearchRecord, scope, memory_id) is None
