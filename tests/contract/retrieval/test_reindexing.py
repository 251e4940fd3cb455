"""A new index from the table: after a change of the model, and after what interrupts it."""

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from msgspec import structs
from numpy.typing import NDArray
from opensearchpy import OpenSearch

from tests.contract.retrieval.conftest import Agent, arrives
from tests.hashing_embedder import HashingEmbedder
from tests.opensearch.homes import empty_indexes
from tests.ports import Ports
from zero_memory.adapters.fallback_index import FallbackIndex
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.opensearch_index import OpenSearchIndex
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.adapters.table_index import TableIndex
from zero_memory.local.search_files import catch_up
from zero_memory.memory.model import SearchRecord
from zero_memory.ports.search_index import DerivedIndex, IndexUnavailable, SearchFilter
from zero_memory.ports.table import Put
from zero_memory.retrieval.reindexing import Progress, rebuild, reindex
from zero_memory.scopes.access import access_of

FACTS = ("The staging database is rebuilt on Mondays", "Releases are cut from main")


class NextEmbedder(HashingEmbedder):
    """Another model, of the same dimensions; counts what it embeds."""

    model = "hashing-embedder@2"

    def __init__(self) -> None:
        self.embedded = 0

    def embed_query(self, query: str) -> NDArray[np.float32]:
        return -super().embed_query(query)

    def embed_passages(self, passages: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += len(passages)
        return super().embed_passages(passages)


Upgrade = Callable[[], tuple[Agent, DerivedIndex | None]]


@pytest.fixture(params=["local", "opensearch", "none"])
def upgrade(
    request: pytest.FixtureRequest, sqlite_table: SqliteTable, tmp_path: Path
) -> Generator[Upgrade]:
    """An agent whose memories one model embedded, as another one finds them."""
    with ExitStack() as stack:
        make: Callable[[str], DerivedIndex | None] = lambda _: None  # noqa: E731
        if request.param == "local":

            def make_local(model: str) -> DerivedIndex:
                index = LocalIndex(tmp_path / "index", model=model)
                stack.callback(index.close)
                return index

            make = make_local
        elif request.param == "opensearch":
            client: OpenSearch = request.getfixturevalue("opensearch")
            dimensions = HashingEmbedder.dimensions
            made = stack.enter_context(
                empty_indexes(client, model=HashingEmbedder.model, dimensions=dimensions)
            )()
            make = lambda model: OpenSearchIndex(  # noqa: E731
                client, name=made.name, model=model, dimensions=dimensions
            )

        def upgraded() -> tuple[Agent, DerivedIndex | None]:
            before = make(HashingEmbedder.model)
            ada = arrives(Ports(sqlite_table, before or TableIndex(sqlite_table, limit=500)))
            ada.remembers(FACTS[0])
            ada.remembers(FACTS[1], scope="core")
            ada.indexed()
            if isinstance(before, LocalIndex):
                before.close()
            after = make(NextEmbedder.model)
            table_index = TableIndex(sqlite_table, limit=500, model=NextEmbedder.model)
            index = table_index if after is None else FallbackIndex(after, table_index)
            ports = replace(ada.ports, index=index, embedder=NextEmbedder())
            return Agent(ports, ada.caller), after

        yield upgraded


def building(ada: Agent, index: DerivedIndex | None) -> Generator[Progress]:
    ports = ada.ports
    if index is None:
        return rebuild(ports.table, ports.index, ports.embedder)
    return reindex(ports.table, ports.embedder, index)


def models(ada: Agent) -> set[str]:
    table = ada.ports.table
    return {
        record.passage.model
        for membership in access_of(table, ada.caller.person).memberships
        for record in table.query(SearchRecord, membership.scope).records
    }


def test_a_changed_model_is_said_and_finds_by_words_until_all_is_embedded_again(
    upgrade: Upgrade,
) -> None:
    ada, index = upgrade()
    before = ada.recalls(FACTS[0])
    assert before.hits
    assert before.degraded
    assert "zm admin reindex" in (before.degraded_reason or "")
    *_, done = building(ada, index)
    assert (done.embedded, done.indexed, done.refused) == (2, 2, ())
    assert models(ada) == {NextEmbedder.model}
    for fact in FACTS:
        found = ada.recalls(fact)
        assert not found.degraded
        assert {leg.leg for leg in found.hits[0].legs} == {"semantic", "lexical"}
    *_, again = building(ada, index)
    assert (again.embedded, again.indexed) == (0, 2)


@pytest.mark.parametrize("broken", ["meta", "search record"])
def test_a_memory_of_another_model_that_cannot_be_read_is_named_and_the_others_are_embedded(
    upgrade: Upgrade, broken: str
) -> None:
    ada, index = upgrade()
    odd, unreadable = ada.finds(FACTS[1])[0], cast("Any", 7)
    meta = ada.meta(odd)
    ada.ports.table.transact(
        [
            Put(structs.replace(meta, owner=unreadable))
            if broken == "meta"
            else Put(SearchRecord(meta.scope, odd, unreadable))
        ]
    )
    *_, done = building(ada, index)
    assert (done.embedded, done.indexed, done.refused) == (1, 1, (odd,))


def test_what_was_embedded_before_an_interruption_is_not_embedded_again(upgrade: Upgrade) -> None:
    ada, index = upgrade()
    embedder = ada.ports.embedder
    assert isinstance(embedder, NextEmbedder)
    started = building(ada, index)
    while next(started).embedded < 1:
        pass
    started.close()
    list(building(ada, index))
    assert embedder.embedded == len(FACTS)
    assert not ada.recalls(FACTS[0]).degraded


def test_search_files_are_not_built_from_memories_of_another_model_and_say_so(
    sqlite_table: SqliteTable, tmp_path: Path
) -> None:
    index = LocalIndex(tmp_path / "index", model=NextEmbedder.model)
    ada = arrives(Ports(sqlite_table, index))
    ada.remembers(FACTS[0])
    sqlite_table.acknowledge(sqlite_table.changes(0, 1_000)[-1].sequence)
    catch_up(sqlite_table, index)
    where = SearchFilter((ada.meta(ada.remembers(FACTS[1])).scope,))
    query = NextEmbedder().embed_query("staging")
    with pytest.raises(IndexUnavailable, match="zm admin reindex"):
        index.search(where, vector=query, tokens=["staging"], limit=5)
    list(reindex(sqlite_table, NextEmbedder(), index))
    assert index.search(where, vector=query, tokens=["staging"], limit=5).semantic
    index.close()
