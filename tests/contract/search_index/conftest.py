"""Every search index that the contract holds for, empty."""

from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from opensearchpy import OpenSearch

from tests.contract.search_index.documents import DIMENSIONS, MODEL
from tests.opensearch.homes import empty_indexes
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.ports.search_index import DerivedIndex

OpenIndex = Callable[[], DerivedIndex]


@pytest.fixture(params=["local", "opensearch"])
def open_index(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[OpenIndex]:
    """Makes empty indexes, as many as a test asks for."""
    if request.param == "opensearch":
        client: OpenSearch = request.getfixturevalue("opensearch")
        with empty_indexes(client, model=MODEL, dimensions=DIMENSIONS) as make:
            yield make
        return
    opened: list[LocalIndex] = []

    def make_local() -> DerivedIndex:
        index = LocalIndex(Path(tmp_path_factory.mktemp("index")))
        opened.append(index)
        return index

    yield make_local
    for index in opened:
        index.close()


@pytest.fixture
def index(open_index: OpenIndex) -> DerivedIndex:
    return open_index()
