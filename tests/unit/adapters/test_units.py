"""The units that calls are charged, by DynamoDB's published rules."""

import pytest

from tests.bench.units import CountingTable, Units
from tests.records import meta
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.memory.model import Body, Meta, StoredBody, TimelineEntry
from zero_memory.ports.table import Absent, Delete, Put, ref
from zero_memory.scopes.model import ScopePath


@pytest.fixture
def table(sqlite_table: SqliteTable) -> CountingTable:
    return CountingTable(sqlite_table)


def units(table: CountingTable) -> tuple[float, float, int]:
    counted, table.units = table.units, Units()
    return counted.read, counted.written, counted.requests


def body(kilobytes: float) -> StoredBody:
    return StoredBody("mem_1", Body("x" * int(kilobytes * 1_000)))


def test_a_write_is_charged_by_the_begun_kilobyte_and_doubly_in_a_transaction(
    table: CountingTable,
) -> None:
    table.transact([Put(body(0.1))])
    assert units(table) == (0, 1, 1)
    table.transact([Put(body(2.5))])
    assert units(table) == (0, 3, 1)
    table.transact([Put(body(2.5)), Put(ScopePath("a", "scp_1"))])
    assert units(table) == (0, 8, 1)
    table.transact([Put(ScopePath("b", "scp_1"), Absent())])
    assert units(table) == (0, 2, 1)
    table.transact([Delete(ref(ScopePath, "b"))])
    assert units(table) == (0, 1, 1)


def test_an_entry_in_an_index_is_charged_beside_its_item(table: CountingTable) -> None:
    table.transact([Put(meta(timeline="knowledge"))])
    assert units(table) == (0, 2, 1)


def test_a_read_is_charged_by_the_begun_four_kilobytes_and_so_is_nothing(
    table: CountingTable,
) -> None:
    table.transact([Put(body(5)), Put(meta(timeline="knowledge"))])
    units(table)
    assert table.get(StoredBody, "mem_1")
    assert units(table) == (2, 0, 1)
    assert table.get(StoredBody, "mem_2") is None
    assert units(table) == (1, 0, 1)
    table.get_many([ref(Meta, f"mem_{number}") for number in range(120)])
    assert units(table) == (120, 0, 2)
    assert table.query(TimelineEntry, "scp_1", "knowledge").records
    assert units(table) == (0.5, 0, 1)
