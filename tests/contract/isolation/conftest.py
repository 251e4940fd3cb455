"""Two processes of one home, and the agents that call them."""

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.contract.isolation.agents import Agent, Processes, arrives_at, two_processes
from zero_memory.adapters.sqlite import SqliteTable

Arrive = Callable[[], Agent]


@pytest.fixture(scope="package")
def table_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home") / "table.sqlite3"


@pytest.fixture(scope="package")
def processes(table_file: Path) -> Generator[Processes]:
    with two_processes(table_file) as started:
        yield started


@pytest.fixture
def arrive(processes: Processes, table_file: Path) -> Generator[Arrive]:
    table = SqliteTable(table_file)
    yield lambda: arrives_at(table, processes)
    table.close()
