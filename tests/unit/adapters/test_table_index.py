"""Search from the table alone, of which it may not or cannot read everything."""

import tempfile
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract.search_index.documents import NORTH
from tests.records import meta
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.adapters.table_index import TableIndex
from zero_memory.memory.model import Interval, Passage, SearchRecord, SharedMemory, StoredWindow
from zero_memory.ports.search_index import SearchAnswer, SearchFilter
from zero_memory.ports.table import Put, Table
from zero_memory.retrieval.vectors import pack

UNREADABLE: Any = 7
PASSAGE = Passage("model@1", (StoredWindow(0, 9, pack(NORTH)),), {"cache": 1})


@contextmanager
def holding(sizes: Sequence[int]) -> Generator[Table]:
    """A table with scopes of so many memories; a later one of a scope has a higher id."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(SqliteTable(Path(folder) / "table.sqlite3")) as table,
    ):
        for scope, size in enumerate(sizes):
            for number in range(size):
                put(table, f"scp_{scope}", f"mem_{scope}_{number:03}")
        yield table


def put(table: Table, scope: str, memory_id: str, **fields: Any) -> None:
    made = meta(memory_id, scope=scope, **{"timeline": "knowledge", **fields})
    table.transact(
        [
            Put(made),
            Put(SearchRecord(scope, memory_id, PASSAGE)),
            *(Put(SharedMemory(each, memory_id)) for each in made.shared_to),
        ]
    )


def damage(table: Table, scope: str, memory_id: str) -> None:
    table.transact([Put(SearchRecord(scope, memory_id, UNREADABLE))])


def searched(table: Table, limit: int, scopes: Sequence[str]) -> SearchAnswer:
    where = SearchFilter(tuple(scopes))
    return TableIndex(table, limit=limit).search(where, vector=NORTH, tokens=["cache"], limit=999)


def ids(answer: SearchAnswer) -> list[str]:
    return sorted(match.memory_id for match in answer.lexical)


@settings(max_examples=30, deadline=None)
@given(sizes=st.lists(st.integers(0, 12), min_size=1, max_size=6), limit=st.integers(1, 30))
def test_every_scope_has_its_share_of_the_newest_and_what_is_left_out_is_said(
    sizes: list[int], limit: int
) -> None:
    with holding(sizes) as table:
        answer = searched(table, limit, [f"scp_{scope}" for scope in range(len(sizes))])
    found = Counter(int(each.split("_")[1]) for each in ids(answer))
    assert found.total() == min(limit, sum(sizes))
    for scope, size in enumerate(sizes):
        assert found[scope] >= min(size, limit // len(sizes))
        newest = [f"mem_{scope}_{number:03}" for number in range(size - found[scope], size)]
        assert [each for each in ids(answer) if each.startswith(f"mem_{scope}_")] == newest
    assert (answer.incomplete is not None) == (sum(sizes) > limit)


def test_what_is_shared_has_a_share_beside_a_large_scope() -> None:
    with holding([20]) as table:
        put(table, "scp_9", "mem_shared", shared_to=("scp_0",))
        answer = searched(table, 10, ["scp_0"])
        assert "mem_shared" in ids(answer)
        assert len(ids(answer)) == 10
        assert answer.incomplete is not None


@settings(max_examples=30, deadline=None)
@given(
    size=st.integers(1, 9),
    damaged=st.sets(st.integers(0, 8)),
    shared_is_damaged=st.booleans(),
    limit=st.integers(12, 20),
)
def test_what_cannot_be_read_is_left_out_and_counted_and_holds_nobody_up(
    size: int, damaged: set[int], shared_is_damaged: bool, limit: int
) -> None:
    where = SearchFilter(("scp_0",))
    with holding([size]) as table:
        put(table, "scp_9", "mem_shared", shared_to=("scp_0",))
        odd = {f"mem_0_{number:03}": "scp_0" for number in damaged if number < size}
        if shared_is_damaged:
            odd["mem_shared"] = "scp_9"
        for memory_id, scope in odd.items():
            damage(table, scope, memory_id)
        answer = searched(table, limit, where.visible_in)
        counted = TableIndex(table, limit=limit).facets(where)
    whole = {*(f"mem_0_{number:03}" for number in range(size)), "mem_shared"} - odd.keys()
    assert set(ids(answer)) == whole
    assert answer.statistics.documents == sum(counted.values()) == len(whole)
    assert (answer.unreadable, answer.incomplete) == (len(odd), None)


GONE = Interval(1, 5)
"""When a memory was live that is not any more."""


@pytest.mark.parametrize(
    ("where", "counted"),
    [
        (SearchFilter(("scp_0",)), 2),
        (SearchFilter(("scp_0",), kinds=("fact",)), 1),
        (SearchFilter(("scp_0",), without=("mem_fact",)), 1),
        (SearchFilter(("scp_0",), alive_at=4), 3),
        (SearchFilter(("scp_0",), alive_at=4, kinds=("decision",)), 1),
    ],
)
def test_of_what_cannot_be_read_only_what_a_query_asks_for_is_counted(
    where: SearchFilter, counted: int
) -> None:
    with holding([1]) as table:
        put(table, "scp_0", "mem_fact")
        put(table, "scp_0", "mem_decision", kind="decision")
        put(table, "scp_0", "mem_gone", alive=(GONE,), timeline=None)
        for each in ("mem_fact", "mem_decision", "mem_gone"):
            damage(table, "scp_0", each)
        index = TableIndex(table, limit=9)
        answer = index.search(where, vector=NORTH, tokens=["cache"], limit=9)
    assert (answer.unreadable, answer.incomplete) == (counted, None)
