"""Fixtures that every suite may use: the table, in either home and in both.

In every suite no log record may hold a token.
"""

import logging
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.ports.table import Table

_TOKEN = re.compile(r"zm[ti]_[a-z2-7]{16}_[A-Za-z0-9_-]{43}")


@pytest.fixture(scope="session", autouse=True)
def no_token_is_logged() -> Generator[None]:
    """Whatever any logger of this process is handed, by message, argument or extra field."""
    handle = logging.Logger.handle
    shown: list[str] = []

    def watch(logger: logging.Logger, record: logging.LogRecord) -> None:
        if _TOKEN.search(f"{record.getMessage()} {record.__dict__}"):
            shown.append(f"{record.pathname}:{record.lineno}")
        handle(logger, record)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logging.Logger, "handle", watch)
        yield
    assert not shown, f"a token was logged at {shown}"


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


@pytest.fixture(scope="session")
def opensearch_url(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The address of a real OpenSearch node of this process's."""
    from tests.opensearch.node import require_node, running_node

    require_node()
    with running_node(tmp_path_factory.mktemp("opensearch")) as url:
        yield url


@pytest.fixture(scope="session")
def opensearch(opensearch_url: str) -> Generator[Any]:
    """A client of the node, which has its classes loaded."""
    from tests.opensearch.homes import warm_up
    from zero_memory.adapters.opensearch_client import opensearch_client

    client = opensearch_client(opensearch_url)
    warm_up(client)
    yield client
    client.close()


@pytest.fixture(params=["sqlite", "dynamodb"])
def table(request: pytest.FixtureRequest) -> Table:
    home = {"sqlite": "sqlite_table", "dynamodb": "dynamo_table"}[request.param]
    return request.getfixturevalue(home)
