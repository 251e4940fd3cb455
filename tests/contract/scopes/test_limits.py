"""How many calls a principal may make: bounded over all processes, and cheap to count."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.clock import ManualClock
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.contracts.errors import ErrorCode, Refusal
from zero_memory.ports.table import Action, Table
from zero_memory.scopes.limits import LEASE, UNASKED, CallMemory, count_call

LIMIT = 2 * LEASE + 5


def _passes(table: Table, clock: ManualClock, memory: CallMemory, principal: str = "p_1") -> bool:
    try:
        count_call(table, clock, principal, calls_a_minute=LIMIT, memory=memory)
    except Refusal as refusal:
        return refusal.code is not ErrorCode.RATE_LIMITED
    return True


def test_a_minute_lets_through_so_many_calls_and_the_next_minute_again(
    table: Table, clock: ManualClock
):
    memory = CallMemory()
    for _ in range(2):
        answers = [_passes(table, clock, memory) for _ in range(UNASKED + LIMIT + 20)]
        assert answers == [True] * (UNASKED + LIMIT) + [False] * 20
        clock.advance(seconds=60)


def test_processes_share_one_limit(table: Table, clock: ManualClock):
    memories = [CallMemory(), CallMemory(), CallMemory()]
    passed = sum(_passes(table, clock, memory) for _ in range(LIMIT) for memory in memories)
    assert passed == LIMIT + len(memories) * UNASKED


def test_one_principal_takes_nothing_from_another(table: Table, clock: ManualClock):
    memory = CallMemory()
    while _passes(table, clock, memory, "p_1"):
        pass
    assert _passes(table, clock, memory, "p_2")


def test_a_refusal_says_when_to_come_back(table: Table, clock: ManualClock):
    memory = CallMemory()
    clock.advance(seconds=-clock.at / 1_000 % 60 + 12.5)
    while _passes(table, clock, memory):
        pass
    with pytest.raises(Refusal) as refused:
        count_call(table, clock, "p_1", calls_a_minute=LIMIT, memory=memory)
    assert refused.value.details == {"retry_after_s": 48}
    assert "48 s" in refused.value.message
    clock.advance(seconds=48)
    assert _passes(table, clock, memory)


def test_few_calls_touch_no_table_and_many_write_once_a_lease(
    table: Table, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    calls: list[str] = []
    get, transact = table.get, table.transact

    def reading(record: type[object], *parts: str) -> object:
        calls.append("get")
        return get(record, *parts)

    def writing(actions: Sequence[Action]) -> None:
        calls.append("transact")
        transact(actions)

    monkeypatch.setattr(table, "get", reading)
    monkeypatch.setattr(table, "transact", writing)
    memory = CallMemory()
    for _ in range(UNASKED):
        _passes(table, clock, memory)
    assert calls == []
    for _ in range(LIMIT + 100):
        _passes(table, clock, memory)
    assert calls == ["get", "transact"] * 3 + ["get"]


def test_the_memory_of_principals_is_bounded(table: Table, clock: ManualClock):
    memory = CallMemory(size=2)
    for _ in range(UNASKED):
        for principal in ("p_1", "p_2", "p_3"):
            assert _passes(table, clock, memory, principal)
    assert memory.take("p_3", clock.now() // 60_000)


def test_threads_and_processes_together_pass_no_more_than_the_limit(
    sqlite_table: SqliteTable, clock: ManualClock
):
    memories = [CallMemory(), CallMemory()]

    def call(number: int) -> bool:
        return _passes(sqlite_table, clock, memories[number % 2])

    with ThreadPoolExecutor(8) as threads:
        passed = sum(threads.map(call, range(4 * LIMIT)))
    assert passed == LIMIT + len(memories) * UNASKED
