"""Every search index that the contract holds for, empty."""

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from zero_memory.adapters.local_index import LocalIndex
from zero_memory.ports.search_index import SearchIndex

OpenIndex = Callable[[], SearchIndex]


@pytest.fixture(params=["local"])
def open_index(tmp_path_factory: pytest.TempPathFactory) -> Generator[OpenIndex]:
    """Makes empty indexes, as many as a test asks for."""
    opened: list[LocalIndex] = []

    def make() -> SearchIndex:
        index = LocalIndex(Path(tmp_path_factory.mktemp("index")))
        opened.append(index)
        return index

    yield make
    for index in opened:
        index.close()


@pytest.fixture
def index(open_index: OpenIndex) -> SearchIndex:
    return open_index()
