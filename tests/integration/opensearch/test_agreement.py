"""Both homes answer alike, and a scope is searched as well among a thousand times as much."""

from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from opensearchpy import OpenSearch

from tests.contract.search_index.documents import MODEL, document
from tests.opensearch.homes import empty_indexes
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.opensearch_index import OpenSearchIndex
from zero_memory.ports.search_index import (
    IndexDocument,
    IndexedWindow,
    SearchAnswer,
    SearchFilter,
    SearchIndex,
)
from zero_memory.retrieval.vectors import pack, unpack

DIMENSIONS = 16
MEMORIES = 2_000
QUERIES = 20
WORDS = [f"word{number}" for number in range(300)]
ALL = SearchFilter(("scp_large", "scp_small"))


def _unit(random: np.random.Generator) -> NDArray[np.float32]:
    vector = random.standard_normal(DIMENSIONS).astype(np.float32)
    return vector / np.linalg.norm(vector).astype(np.float32)


def _documents(random: np.random.Generator) -> list[IndexDocument]:
    """Every thousandth memory is in the small scope."""
    common = 1 / np.arange(1, len(WORDS) + 1)
    return [
        document(
            f"mem_{number:04}",
            visible_in=("scp_large" if number % 1_000 else "scp_small",),
            windows=tuple(
                IndexedWindow(at * 5, at * 5 + 9, unpack(pack(_unit(random))))
                for at in range(1 + number % 3 // 2)
            ),
            tokens={
                WORDS[word]: int(random.integers(1, 4))
                for word in random.choice(
                    len(WORDS), int(random.integers(3, 90)), p=common / common.sum()
                )
            },
        )
        for number in range(MEMORIES)
    ]


@pytest.fixture(scope="module")
def homes(
    opensearch: OpenSearch, tmp_path_factory: pytest.TempPathFactory
) -> Generator[tuple[LocalIndex, OpenSearchIndex, OpenSearchIndex]]:
    """The local index, OpenSearch, and OpenSearch with nothing but the graph of vectors."""
    local = LocalIndex(Path(tmp_path_factory.mktemp("index")))
    documents = _documents(np.random.default_rng(7))
    local.apply(documents)
    with empty_indexes(opensearch, model=MODEL, dimensions=DIMENSIONS) as make:
        exact = make()
        exact.apply(documents)
        graph = OpenSearchIndex(
            opensearch, name=exact.name, model=MODEL, dimensions=DIMENSIONS, exact_documents=0
        )
        yield local, exact, graph
    local.close()


def _ask(index: SearchIndex, where: SearchFilter, query: int) -> SearchAnswer:
    random = np.random.default_rng(query)
    tokens = [str(word) for word in random.choice(WORDS, 6, replace=False)]
    return index.search(where, vector=_unit(random), tokens=tokens, limit=32)


def _ids(answer: SearchAnswer) -> tuple[list[str], list[str]]:
    return (
        [match.memory_id for match in answer.semantic][:10],
        [match.memory_id for match in answer.lexical][:10],
    )


def _overlap(one: list[str], other: list[str]) -> float:
    return len(set(one) & set(other)) / max(len(one), 1)


@pytest.mark.parametrize("query", range(QUERIES))
def test_both_homes_have_the_same_ten_best_in_the_same_order(
    homes: tuple[LocalIndex, OpenSearchIndex, OpenSearchIndex], query: int
) -> None:
    local, exact, _ = homes
    here, there = _ask(local, ALL, query), _ask(exact, ALL, query)
    assert _ids(here) == _ids(there)
    assert here.statistics == there.statistics


def test_the_graph_of_vectors_finds_nineteen_of_twenty(
    homes: tuple[LocalIndex, OpenSearchIndex, OpenSearchIndex],
) -> None:
    local, _, graph = homes
    overlaps = [
        _overlap(_ids(_ask(local, ALL, query))[0], _ids(_ask(graph, ALL, query))[0])
        for query in range(QUERIES)
    ]
    assert np.mean(overlaps) >= 0.95


@pytest.mark.parametrize("scope", ["exact", "graph"])
def test_a_scope_of_a_thousandth_of_the_index_is_found_whole(
    homes: tuple[LocalIndex, OpenSearchIndex, OpenSearchIndex], scope: str
) -> None:
    _, exact, graph = homes
    where = SearchFilter(("scp_small",))
    for query in range(QUERIES):
        found, _ = _ids(_ask({"exact": exact, "graph": graph}[scope], where, query))
        assert sorted(found) == ["mem_0000", "mem_1000"]
