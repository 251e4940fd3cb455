"""Fixtures that every suite may use: the table, in either home and in both."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.ports.table import Table


@pytest.fixture
def sqlite_table(tmp_path: Path) -> Generator[SqliteTable]:
    table = SqliteTable(tmp_path / "home" / "table.sqlite3")
    yield table
    table.close()


@pytest.fixture(scope="module")
def dynamodb_client() -> Generator[Any]:
    from tests.homes import dynamodb  # takes seconds to import; most suites do without it

    with dynamodb() as client:
        yield client


@pytest.fixture
def dynamo_table(dynamodb_client: Any) -> Generator[Table]:
    from tests.homes import dynamo_home

    yield dynamo_home(dynamodb_client)
    # Moto copies every table in each transaction.
    for name in dynamodb_client.list_tables()["TableNames"]:
        dynamodb_client.delete_table(TableName=name)


@pytest.fixture(params=["sqlite", "dynamodb"])
def table(request: pytest.FixtureRequest) -> Table:
    home = {"sqlite": "sqlite_table", "dynamodb": "dynamo_table"}[request.param]
    return request.getfixturevalue(home)
