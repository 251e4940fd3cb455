"""People over three homes: SQLite, DynamoDB, and SQLite whose views are some writes old."""

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.clock import ManualClock
from tests.contract.memory.people import Someone, arrives
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.ports.table import Table

_VIEWS_BEHIND = 5


@pytest.fixture
def lagging_table(tmp_path: Path) -> Generator[SqliteTable]:
    table = SqliteTable(tmp_path / "lagging" / "table.sqlite3", view_delay_writes=_VIEWS_BEHIND)
    yield table
    table.close()


@pytest.fixture(params=["sqlite", "dynamodb", "sqlite with late views"])
def table(request: pytest.FixtureRequest) -> Table:
    home = {
        "sqlite": "sqlite_table",
        "dynamodb": "dynamo_table",
        "sqlite with late views": "lagging_table",
    }[request.param]
    return request.getfixturevalue(home)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def arrive(table: Table, clock: ManualClock) -> Callable[[], Someone]:
    """Makes further people."""
    return lambda: arrives(table, clock)


@pytest.fixture
def ada(arrive: Callable[[], Someone]) -> Someone:
    return arrive()


@pytest.fixture
def ben(arrive: Callable[[], Someone]) -> Someone:
    return arrive()
